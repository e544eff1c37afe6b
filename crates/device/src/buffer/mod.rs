//! The write buffer: which pages it holds, which of them a write or a read finds there, and which leaves next.
//!
//! It is shared by all channels. It knows logical pages and the queues they will be written through, and
//! neither time nor flash: the executors ask for a page when they can program one.
//!
//! Pages are in one list over the whole buffer and in one per queue, oldest first. The order between two
//! versions of one page never changes: a page that waits is overwritten in place, and one that is being
//! programmed is out of the lists, so that its next version is a page of its own behind it.

mod choices;
mod lists;
mod pieces;
#[cfg(test)]
mod tests;

use base::{Instant, Lpn, Queue, Selection};
use config::Config;
use engine::Index;

pub(crate) use self::choices::{SCOPE, SEAM, check, is_protected, largest_unit};
use self::lists::{Links, Lists, OF_QUEUE};
pub(crate) use self::pieces::{Pieces, Written};
use crate::device::Device;
use crate::pages::{Parts, Share, Span};
use crate::timed::chip::one_shot;

/// Where a buffered page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageState {
    /// It waits in the buffer.
    Waiting,
    /// It was handed to its queue as this transaction, and is not being programmed yet.
    Handed(u32),
    /// It is being programmed; its data stay until that is done.
    Programming,
}

/// A buffered page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferedPage {
    pub(crate) lpn: Lpn,
    /// The version that it carries.
    pub(crate) version: u32,
    /// The queue that it is written through.
    pub(crate) queue: Queue,
    pub(crate) state: PageState,
    /// Its valid pieces; the rest is in flash.
    pub(crate) valid: u128,
    /// The flash pages of it with data of the host, a bit each.
    parts: u64,
    /// Where the host wants it.
    pub(crate) hint: u16,
    /// Flushes that had begun when it entered.
    pub(crate) flushes: u32,
    /// It leaves at once: a write with FUA.
    urgent: bool,
    /// It is being programmed and takes no room any more.
    released: bool,
    links: Links,
}

/// The facts of the device that the buffer has to know.
#[derive(Clone)]
struct BufferShape {
    /// Queues of the allocation.
    queues: u32,
    /// By queue its channel, or empty where pages have none before they are programmed.
    channels: Vec<u32>,
    /// As many pages as can be on their way at once.
    planes: u32,
    /// Pages that the array programs together.
    row: u32,
}

/// The buffer.
#[derive(Clone)]
pub(crate) struct Buffer {
    capacity: u32,
    /// Pages that take room: waiting, handed over, and being programmed.
    fill: u32,
    /// Pages being programmed that take no room any more.
    released: u32,
    /// True if room is free as soon as the data are in the chip.
    releases_early: bool,
    /// Reads wait behind writes that wait for room.
    pub(crate) reads_wait: bool,
    /// Pages accepted so far.
    accepted: u64,
    moves_hits: bool,
    one_order: bool,
    /// The buffer is full, or a write waits for room: pages may leave.
    pub(crate) flushing: bool,
    /// True if pages leave whenever a die is free and there are as many as it programs together.
    pub(crate) drains: bool,
    /// Pages that are programmed together; one where pages leave in one order over all dies.
    row: u32,
    /// By queue: pages that are still to leave for a row that others have left for.
    open: Vec<u32>,
    /// True if buffered data are durable.
    pub(crate) is_protected: bool,
    pages: Vec<BufferedPage>,
    free: Vec<u32>,
    /// By LPN: the newest version that is buffered.
    index: Index,
    lists: Lists,
    /// By queue, its channel; empty where the allocation does not bind pages to channels.
    channels: Vec<u32>,
    /// By channel: pages that take room.
    dirty: Vec<u32>,
    flushes: u32,
    pub(crate) pieces: Pieces,
}

impl Buffer {
    /// The buffer that was chosen.
    fn new(selection: &Selection, parts: Parts, shape: BufferShape) -> Buffer {
        let capacity = (selection.size("size") / parts.page_size()) as u32;
        assert!(capacity > 0, "a buffer holds a page");
        let BufferShape { queues, channels, planes, row } = shape;
        let one_order = selection.word("order") == "global";
        let releases_early = selection.word("release") == "transferred";
        // What takes no room any more still has its place.
        let places = capacity as usize + if releases_early { planes as usize } else { 0 };
        let dirty = vec![0; channels.iter().max().map_or(0, |last| *last as usize + 1)];
        Buffer {
            capacity,
            fill: 0,
            released: 0,
            releases_early,
            reads_wait: selection.word("reads") == "wait",
            accepted: 0,
            moves_hits: selection.name == "lru",
            one_order,
            flushing: false,
            drains: selection.word("flush") == "free",
            row: if one_order { 1 } else { row },
            open: vec![0; queues as usize],
            is_protected: is_protected(selection),
            pages: Vec::with_capacity(places),
            free: Vec::with_capacity(places),
            index: Index::new(places as u64),
            lists: Lists::new(queues),
            channels,
            dirty,
            flushes: 0,
            pieces: Pieces::new(parts),
        }
    }

    /// Pages that it can hold.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Pages that are not programmed yet, whether or not they take room.
    pub(crate) fn unprogrammed(&self) -> u32 {
        self.fill + self.released
    }

    /// True if room is free as soon as the data are in the chip, and not when they are programmed.
    #[inline]
    pub(crate) fn releases_early(&self) -> bool {
        self.releases_early
    }

    /// Pages that it has room for.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.capacity - self.fill
    }

    /// By channel, the pages that take room; empty under a dynamic allocation.
    pub(crate) fn dirty(&self) -> &[u32] {
        &self.dirty
    }

    /// Pages accepted so far: what stands for time where none passes.
    pub(crate) fn age(&self) -> Instant {
        Instant(self.accepted)
    }

    /// The number of pages of a span that need room: they would not overwrite a buffered one.
    pub(crate) fn need(&self, span: Span) -> u32 {
        span.pages().filter(|(lpn, _)| self.find_open(*lpn).is_none()).count() as u32
    }

    /// The channel of a page, if the allocation binds it to one.
    pub(crate) fn channel_of(&self, page: u32) -> Option<u32> {
        self.channels.get(self.pages[page as usize].queue.index()).copied()
    }

    pub(crate) fn page(&self, page: u32) -> &BufferedPage {
        &self.pages[page as usize]
    }

    /// The parts that the program of a page concerns: the flash pages with data of the host, and those of whose old version
    /// something is needed.
    pub(crate) fn share(&self, page: &BufferedPage) -> Share {
        let missing = self.pieces.all() & !page.valid;
        let touched = if self.pieces.are_of_one_part() { 1 } else { page.parts.count_ones() as u8 };
        Share { touched, old: self.pieces.parts_of(missing) }
    }

    /// Asks for the index entry of a page that will be looked for.
    pub(crate) fn prefetch(&self, lpn: Lpn) {
        self.index.prefetch(lpn.0);
    }

    /// The newest buffered version of a page, wherever it stands.
    #[inline]
    pub(crate) fn find(&self, lpn: Lpn) -> Option<u32> {
        self.index.get(lpn.0)
    }

    /// The buffered page that a write of `lpn` would overwrite in place.
    #[inline]
    pub(crate) fn find_open(&self, lpn: Lpn) -> Option<u32> {
        self.find(lpn).filter(|&page| self.pages[page as usize].state != PageState::Programming)
    }

    /// Overwrites a buffered page in place.
    pub(crate) fn merge(&mut self, page: u32, version: u32, written: Written) {
        let entry = &mut self.pages[page as usize];
        assert!(entry.state != PageState::Programming, "a page that is being programmed has left the buffer");
        entry.version = version;
        entry.valid |= written.valid;
        entry.parts |= written.parts;
        entry.hint = written.hint;
        self.touch(page);
    }

    /// A page was used: under LRU it moves to the young end. One that has to leave anyway keeps its place, or a
    /// flush could wait for ever.
    pub(crate) fn touch(&mut self, page: u32) {
        if self.moves_hits && self.pages[page as usize].state == PageState::Waiting && !self.is_due(page) {
            self.lists.remove(&mut self.pages, page);
            self.lists.put_youngest(&mut self.pages, page);
        }
    }

    /// Takes a page in, for which there is room.
    pub(crate) fn insert(&mut self, lpn: Lpn, version: u32, written: Written, queue: Queue) -> u32 {
        assert!(self.fill < self.capacity, "the buffer is full");
        debug_assert!(self.find_open(lpn).is_none(), "a page is buffered once");
        let entry = BufferedPage {
            lpn,
            version,
            queue,
            state: PageState::Waiting,
            valid: written.valid,
            parts: written.parts,
            hint: written.hint,
            flushes: self.flushes,
            urgent: false,
            released: false,
            links: Links::ALONE,
        };
        let page = match self.free.pop() {
            Some(page) => {
                self.pages[page as usize] = entry;
                page
            }
            None => {
                self.pages.push(entry);
                self.pages.len() as u32 - 1
            }
        };
        self.index.set(lpn.0, page);
        self.fill += 1;
        if let Some(channel) = self.channel_of(page) {
            self.dirty[channel as usize] += 1;
        }
        self.lists.put_youngest(&mut self.pages, page);
        page
    }

    /// A page leaves as soon as its queue can take it, before all others.
    pub(crate) fn hurry(&mut self, page: u32) {
        if self.pages[page as usize].state == PageState::Waiting {
            self.lists.remove(&mut self.pages, page);
            self.lists.put_oldest(&mut self.pages, page);
        }
        self.pages[page as usize].urgent = true;
    }

    /// All that is buffered has to leave; what enters from now on has not. Returns the number of the flush:
    /// it waits for the pages whose `flushes` is smaller.
    pub(crate) fn flush(&mut self) -> u32 {
        self.flushes += 1;
        self.flushes
    }

    /// True if a page leaves without waiting for the buffer to be full. Such pages are the oldest of each list.
    fn is_due(&self, page: u32) -> bool {
        let BufferedPage { urgent, flushes, .. } = self.pages[page as usize];
        urgent || flushes < self.flushes
    }

    /// The page that may leave through a queue now.
    #[inline]
    pub(crate) fn next_of(&self, queue: Queue) -> Option<u32> {
        let page = self.lists.oldest_of(queue)?;
        let leaves = (self.flushing || self.fills_row(queue) || self.is_due(page))
            && !(self.one_order && self.oldest() != Some(page));
        leaves.then_some(page)
    }

    /// Pages of a queue complete a row that was begun, or are a row.
    #[inline]
    fn fills_row(&self, queue: Queue) -> bool {
        self.open[queue.index()] > 0 || self.drains && self.lists.waiting(queue) >= self.row
    }

    /// The row is filled up that pages of a queue had left for.
    pub(crate) fn close_row(&mut self, queue: Queue) {
        self.open[queue.index()] = 0;
    }

    /// The logical pages of the two oldest waiting pages of a queue, which leave next.
    #[inline]
    pub(crate) fn coming_of(&self, queue: Queue) -> [Option<Lpn>; 2] {
        let next = self.lists.oldest_of(queue);
        let behind = next.and_then(|page| self.pages[page as usize].links.younger(OF_QUEUE));
        [next, behind].map(|page| page.map(|page| self.pages[page as usize].lpn))
    }

    /// The oldest waiting page of all, whether or not it may leave.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.lists.oldest()
    }

    /// Waiting logical pages, the oldest of all first.
    pub(crate) fn coming(&self) -> impl Iterator<Item = Lpn> {
        let pages = std::iter::successors(self.oldest(), |&page| self.lists.behind(&self.pages, page));
        pages.map(|page| self.pages[page as usize].lpn)
    }

    /// The oldest waiting page of all, if it is due.
    pub(crate) fn oldest_due(&self) -> Option<u32> {
        self.oldest().filter(|&page| self.is_due(page))
    }

    /// True if pages leave in one order over all channels.
    pub(crate) fn is_in_one_order(&self) -> bool {
        self.one_order
    }

    /// True if a queue has waiting pages.
    pub(crate) fn has_waiting(&self, queue: Queue) -> bool {
        self.lists.oldest_of(queue).is_some()
    }

    /// Hands a waiting page to its queue as `transaction`; it takes room until [`Buffer::remove`].
    pub(crate) fn hand_over(&mut self, page: u32, transaction: u32) {
        assert_eq!(self.pages[page as usize].state, PageState::Waiting, "a page leaves once");
        self.lists.remove(&mut self.pages, page);
        let open = &mut self.open[self.pages[page as usize].queue.index()];
        *open = if *open == 0 { self.row } else { *open } - 1;
        self.pages[page as usize].state = PageState::Handed(transaction);
    }

    /// A page that was handed over is being programmed: it can no longer be overwritten.
    #[inline]
    pub(crate) fn begin_program(&mut self, page: u32) {
        self.pages[page as usize].state = PageState::Programming;
    }

    /// A page that has left the lists can no longer be overwritten or read: it was trimmed.
    pub(crate) fn close(&mut self, page: u32) {
        let entry = &mut self.pages[page as usize];
        entry.state = PageState::Programming;
        self.index.clear(entry.lpn.0);
    }

    /// All pieces of a page are in the buffer: its old version has arrived.
    pub(crate) fn complete(&mut self, page: u32) {
        self.pages[page as usize].valid = self.pieces.all();
    }

    /// Frees the room of a page whose data are in the chip. It can be read here until it is programmed, and is not
    /// durable before.
    fn release(&mut self, page: u32) {
        let entry = &mut self.pages[page as usize];
        assert_eq!(entry.state, PageState::Programming, "only what is being programmed is elsewhere");
        assert!(!std::mem::replace(&mut entry.released, true), "room is freed once");
        self.released += 1;
        self.free_room(page);
    }

    fn free_room(&mut self, page: u32) {
        if let Some(channel) = self.channel_of(page) {
            self.dirty[channel as usize] -= 1;
        }
        self.fill -= 1;
    }

    /// Frees the place of a page, with its room: it is programmed, or was dropped while it waited.
    #[inline]
    pub(crate) fn remove(&mut self, page: u32) -> BufferedPage {
        let entry = self.pages[page as usize];
        if entry.state == PageState::Waiting {
            self.lists.remove(&mut self.pages, page);
        }
        // A newer version may have taken its place in the index.
        if self.index.get(entry.lpn.0) == Some(page) {
            self.index.clear(entry.lpn.0);
        }
        if entry.released {
            self.released -= 1;
        } else {
            self.free_room(page);
        }
        self.free.push(page);
        entry
    }
}

/// Bytes of the write buffer of a configuration.
pub(crate) fn bytes(config: &Config, planes: u32) -> u64 {
    let selection = config.ftl.get("write_buffer");
    if selection.name == "none" {
        return 0;
    }
    let places = selection.size("size") / crate::gang::page_size(config) + u64::from(planes);
    places * (size_of::<BufferedPage>() + size_of::<u32>()) as u64 + Index::bytes(places)
}

/// The write buffer of a configuration, if it has one; the figures hear of it.
pub(crate) fn build(config: &Config, device: &mut Device) -> Option<Buffer> {
    let selection = config.ftl.get("write_buffer");
    if selection.name == "none" {
        return None;
    }
    let allocation = &device.allocation;
    let geometry = device.flash.geometry();
    let channel_of = |queue: Queue| geometry.channel_of_die(geometry.die_of_domain(queue.domain()));
    let channels = match allocation.dynamic() {
        None => allocation.all_queues().map(channel_of).collect(),
        Some(_) => Vec::new(),
    };
    let row = one_shot::program_unit(config).slots;
    let shape = BufferShape { queues: allocation.queues(), channels, planes: geometry.planes(), row };
    let buffer = Buffer::new(selection, device.parts, shape);
    device.recorder.watch_buffer(buffer.capacity, buffer.dirty.len());
    Some(buffer)
}

/// Takes a page of a write in, over its buffered version if there is one; otherwise there is room.
pub(crate) fn accept(device: &mut Device, buffer: &mut Buffer, lpn: Lpn, written: Written, now: Instant) -> u32 {
    let version = device.admit_write(lpn);
    let page = match buffer.find_open(lpn) {
        Some(page) => {
            buffer.merge(page, version, written);
            device.recorder.counters.buffer_hits += 1;
            page
        }
        None => {
            let page = buffer.insert(lpn, version, written, device.allocation.queue_of(lpn));
            report(device, buffer, page, now);
            page
        }
    };
    buffer.accepted += 1;
    device.write_completed(lpn, version);
    page
}

/// The data of a page that is being programmed are in the chip: if that is what room waits for, it is free.
pub(crate) fn release(device: &mut Device, buffer: &mut Buffer, page: u32, now: Instant) {
    buffer.release(page);
    report(device, buffer, page, now);
}

/// A page leaves to be programmed, or was programmed: its room is free.
#[inline]
pub(crate) fn leave(device: &mut Device, buffer: &mut Buffer, page: u32, now: Instant) -> BufferedPage {
    let left = buffer.remove(page);
    device.recorder.counters.buffer_evictions += 1;
    report(device, buffer, page, now);
    left
}

/// A trim drops a page that waits.
pub(crate) fn drop_page(device: &mut Device, buffer: &mut Buffer, page: u32, now: Instant) -> BufferedPage {
    let dropped = buffer.remove(page);
    device.recorder.counters.buffer_drops += 1;
    report(device, buffer, page, now);
    dropped
}

#[inline]
fn report(device: &mut Device, buffer: &Buffer, page: u32, now: Instant) {
    let channel = buffer.channel_of(page).map(|channel| (channel, buffer.dirty()[channel as usize]));
    device.recorder.buffer_fill(now, buffer.fill, channel);
}

/// Answers a read of `size` bytes at `offset` of a page from the buffer, or says of which version the array's page
/// must be at least, and how many flash pages of it are needed. What is partly buffered and partly in flash needs flash.
#[inline]
pub(crate) fn read(
    device: &mut Device,
    buffer: &mut Buffer,
    lpn: Lpn,
    (offset, size): (u64, u64),
) -> Option<(u32, u8)> {
    let pieces = buffer.pieces;
    let Some(page) = buffer.find(lpn) else {
        return Some((device.read_floor(lpn), pieces.parts_of_read(lpn, offset, size)));
    };
    let BufferedPage { version, valid, .. } = buffer.pages[page as usize];
    let missing = pieces.touched(lpn, offset, size) & !valid;
    if missing != 0 && device.ftl.lookup(lpn).is_ok() {
        return Some((device.array_floor(lpn), pieces.parts_of(missing)));
    }
    device.check_read(lpn, device.read_floor(lpn), device.expected(lpn, version));
    device.recorder.counters.buffer_read_hits += 1;
    buffer.touch(page);
    None
}
