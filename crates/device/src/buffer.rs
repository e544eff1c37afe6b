//! The write buffer: which pages it holds, which of them a write or a read finds there, and which leaves next.
//!
//! It is shared by all channels. It knows logical pages and the queues they will be written through, and
//! neither time nor flash: the executors ask for a page when they can program one.
//!
//! Pages are in one list over the whole buffer and in one per queue, oldest first. The order between two
//! versions of one page never changes: a page that waits is overwritten in place, and one that is being
//! programmed is out of the lists, so that its next version is a page of its own behind it.

use base::{Choice, Instant, Lpn, Param, ParamKind, Queue, Seam, Selection};
use config::Config;
use config::model::Executor;
use engine::FlatArray;
use ftl::OutOfMemory;

use crate::device::Device;
use crate::pages::{Parts, Share, Span, bits};
use crate::{Refusal, RunError};

/// "No page" in a link and in the index.
const NONE: u32 = u32::MAX;

const PARAMS: &[Param] = &[
    Param {
        name: "size",
        kind: ParamKind::Size { default: 2_097_152, min: 512, max: 1_099_511_627_776 },
        doc: "Bytes of the buffer; whole pages, and no more than the user capacity.",
    },
    Param::word(
        "order",
        &["channel", "global"],
        "`channel`: a channel that is free takes the oldest of its own pages; `global`: pages leave in one order over \
         all channels, so the oldest page holds up the others while its channel is busy or collects.",
    ),
    Param::word(
        "release",
        &["programmed", "transferred"],
        "When the room of a page is free again: when it is `programmed`, so that a program that fails can be repeated, \
         or when its data were `transferred` into the chip's register. Without time they are the same.",
    ),
    Param::word(
        "flush",
        &["full", "free"],
        "When pages leave: while the buffer is `full` or a write waits for room, or whenever a die is `free` to take them. How \
         full the buffer is then tells how much the host asks for.",
    ),
    Param::word(
        "power_loss",
        &["volatile", "protected"],
        "What becomes of it when the power goes off. `volatile`: it is lost, so a FLUSH waits until all that is buffered is \
         programmed, and a write with FUA until it is; `protected`: capacitors give the time to save it, and both are done at \
         once.",
    ),
];

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "A write completes when it is programmed.", params: &[] },
    Choice {
        name: "fifo",
        doc: "Shared by all channels; a write completes when it is buffered; flushed when full, in order of arrival \
              (GC forwarding, section 3.1).",
        params: PARAMS,
    },
    Choice {
        name: "lru",
        doc: "As `fifo`, but a page that is written again or read moves to the young end.",
        params: PARAMS,
    },
];

/// The seam, for the configuration reader.
pub(crate) static SEAM: Seam = Seam { key: "write_buffer", doc: "Write buffer in DRAM.", choices: CHOICES };

/// Refuses a buffer that no device can have.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let selection = config.ftl.get("write_buffer");
    if selection.name == "none" {
        return Ok(());
    }
    let refuse = |message: String, help: String| Err(Refusal { key: "ftl.write_buffer", message, help });
    if selection.word("flush") == "free" && config.run.executor == Executor::Count {
        return refuse(
            format!("`{}` flushes whenever a die is free, and under `count` no time passes", selection.name),
            format!("set `run.executor = \"timed\"`, or `write_buffer.{}.flush = \"full\"`", selection.name),
        );
    }
    let (size, page) = (selection.size("size"), crate::gang::page_size(config));
    let (print, pages) = (config::print_size, crate::gang::pages_in_words(config));
    if size % page != 0 || size == 0 {
        let below = size / page * page;
        let near = if below == 0 { String::new() } else { format!("{} and ", print(below)) };
        return refuse(
            format!("a write buffer of {} is not a whole number of {pages}", print(size)),
            format!("the nearest: {near}{}", print(below + page)),
        );
    }
    if size > config.device.user_capacity {
        return refuse(
            format!("a write buffer of {} is larger than the user capacity", print(size)),
            format!("`size` can be at most {}", print(config.device.user_capacity)),
        );
    }
    Ok(())
}

/// Whether a buffer keeps its pages when the power goes off.
pub(crate) fn is_protected(selection: &Selection) -> bool {
    selection.name != "none" && selection.word("power_loss") == "protected"
}

/// Bytes of the write buffer of a configuration.
pub(crate) fn bytes(config: &Config, user_pages: u64, planes: u32) -> u64 {
    let selection = config.ftl.get("write_buffer");
    if selection.name == "none" {
        return 0;
    }
    let places = selection.size("size") / crate::gang::page_size(config) + u64::from(planes);
    places * (size_of::<Page>() + size_of::<u32>()) as u64 + FlatArray::bytes(user_pages)
}

/// The write buffer of a configuration, if it has one; the figures hear of it.
pub(crate) fn build(config: &Config, device: &mut Device) -> Result<Option<Buffer>, RunError> {
    let selection = config.ftl.get("write_buffer");
    if selection.name == "none" {
        return Ok(None);
    }
    let allocation = device.ftl.allocation();
    let geometry = device.ftl.geometry();
    let channel_of = |queue: Queue| geometry.channel_of_die(geometry.die_of_domain(queue.domain()));
    let channels = match allocation.dynamic() {
        None => allocation.all_queues().map(channel_of).collect(),
        Some(_) => Vec::new(),
    };
    let user_pages = device.ftl.user_pages();
    let shape = Shape { queues: allocation.queues(), channels, planes: geometry.planes() };
    let buffer = Buffer::new(selection, device.parts, user_pages, shape).map_err(|reason| {
        let error = OutOfMemory { megabytes: u64::from(user_pages) * 4 / 1_000_000, reason };
        RunError::Failed(error.to_string())
    })?;
    device.recorder.watch_buffer(buffer.capacity, buffer.dirty.len());
    Ok(Some(buffer))
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
            let page = buffer.insert(lpn, version, written, device.ftl.allocation().queue_of(lpn));
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
pub(crate) fn leave(device: &mut Device, buffer: &mut Buffer, page: u32, now: Instant) -> Page {
    let left = buffer.remove(page);
    device.recorder.counters.buffer_evictions += 1;
    report(device, buffer, page, now);
    left
}

/// A trim drops a page that waits.
pub(crate) fn drop_page(device: &mut Device, buffer: &mut Buffer, page: u32, now: Instant) -> Page {
    let dropped = buffer.remove(page);
    device.recorder.counters.buffer_drops += 1;
    report(device, buffer, page, now);
    dropped
}

fn report(device: &mut Device, buffer: &Buffer, page: u32, now: Instant) {
    let channel = buffer.channel_of(page).map(|channel| (channel, buffer.dirty()[channel as usize]));
    device.recorder.buffer_fill(now, buffer.fill, channel);
}

/// Answers a read of the pieces `needed` of a page from the buffer, or says of which version the array's page
/// must be at least, and how many flash pages of it are needed. What is partly buffered and partly in flash needs flash.
pub(crate) fn read(device: &mut Device, buffer: &mut Buffer, lpn: Lpn, needed: u128) -> Option<(u32, u8)> {
    let Some(page) = buffer.find(lpn) else { return Some((device.read_floor(lpn), buffer.pieces.parts_of(needed))) };
    let Page { version, valid, .. } = buffer.pages[page as usize];
    let missing = needed & !valid;
    if missing != 0 && device.ftl.lookup(lpn).is_some() {
        return Some((device.array_floor(lpn), buffer.pieces.parts_of(missing)));
    }
    device.check_read(lpn, device.read_floor(lpn), device.expected(lpn, version));
    device.recorder.counters.buffer_read_hits += 1;
    buffer.touch(page);
    None
}

/// Which pieces of a page are meant: a bit for each of at most 128 pieces of whole sectors. No piece lies on two flash
/// pages, so that whole flash pages are exact however many a superpage has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    parts: Parts,
    piece: u64,
    /// Units of a flash page.
    per_part: u64,
}

/// What a write brings of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// The pieces that it covers wholly.
    pub(crate) valid: u128,
    /// The flash pages that it touches, a bit each.
    pub(crate) parts: u64,
}

impl Pieces {
    fn new(parts: Parts) -> Pieces {
        let piece = 512 * (parts.size / 512).div_ceil(128 / u64::from(parts.count));
        Pieces { parts, piece, per_part: parts.size.div_ceil(piece) }
    }

    /// The whole page.
    pub(crate) fn all(self) -> u128 {
        bits(0, self.per_part * u64::from(self.parts.count))
    }

    /// The piece in which a byte of the page lies.
    fn piece_of(self, byte: u64) -> u64 {
        byte / self.parts.size * self.per_part + byte % self.parts.size / self.piece
    }

    /// The first piece that begins at a byte of the page or behind it.
    fn piece_from(self, byte: u64) -> u64 {
        byte / self.parts.size * self.per_part + (byte % self.parts.size).div_ceil(self.piece)
    }

    /// What a request of `size` bytes at `offset` touches of the page: what a read needs.
    pub(crate) fn touched(self, lpn: Lpn, offset: u64, size: u64) -> u128 {
        let (from, to) = self.parts.range(lpn, offset, size);
        bits(self.piece_of(from), self.piece_from(to))
    }

    /// What a write of `size` bytes at `offset` brings; `partial`: it does not cover the page.
    #[inline]
    pub(crate) fn written(self, lpn: Lpn, partial: bool, offset: u64, size: u64) -> Written {
        if !partial {
            return Written { valid: self.all(), parts: self.parts.all() };
        }
        let (from, to) = self.parts.range(lpn, offset, size);
        let valid = bits(self.piece_from(from), self.piece_of(to));
        Written { valid, parts: self.parts.touched(lpn, offset, size) }
    }

    /// In how many flash pages some of these pieces lie.
    fn parts_of(self, pieces: u128) -> u8 {
        let part = |part: u8| bits(u64::from(part) * self.per_part, u64::from(part + 1) * self.per_part);
        (0..self.parts.count).filter(|&number| pieces & part(number) != 0).count() as u8
    }
}

/// Where a buffered page stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It waits in the buffer.
    Waiting,
    /// It was handed to its queue as this transaction, and is not being programmed yet.
    Handed(u32),
    /// It is being programmed; its data stay until that is done.
    Programming,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    older: u32,
    younger: u32,
}

const ALONE: Link = Link { older: NONE, younger: NONE };

/// The two lists a waiting page is in.
const OF_QUEUE: usize = 0;
const OF_ALL: usize = 1;

/// A buffered page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(crate) lpn: Lpn,
    /// The version that it carries.
    pub(crate) version: u32,
    /// The queue that it is written through.
    pub(crate) queue: Queue,
    pub(crate) state: State,
    /// Its valid pieces; the rest is in flash.
    pub(crate) valid: u128,
    /// The flash pages of it with data of the host, a bit each.
    parts: u64,
    /// How many flushes had begun when it entered.
    pub(crate) flushes: u32,
    /// It leaves at once: a write with FUA.
    urgent: bool,
    /// It is being programmed and takes no room any more.
    released: bool,
    links: [Link; 2],
}

#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    youngest: u32,
}

const EMPTY: Ends = Ends { oldest: NONE, youngest: NONE };

/// What the buffer has to know of the device.
#[derive(Clone)]
struct Shape {
    /// Queues of the allocation.
    queues: u32,
    /// By queue its channel, or empty where pages have none before they are programmed.
    channels: Vec<u32>,
    /// As many pages as can be on their way at once.
    planes: u32,
}

/// The buffer.
#[derive(Clone)]
pub(crate) struct Buffer {
    capacity: u32,
    /// Pages that take room: waiting, handed over, and being programmed.
    fill: u32,
    /// Pages being programmed that take no room any more.
    released: u32,
    /// Whether room is free as soon as the data are in the chip.
    releases_early: bool,
    /// Pages accepted so far.
    accepted: u64,
    moves_hits: bool,
    one_order: bool,
    /// The buffer is full, or a write waits for room: pages may leave.
    pub(crate) flushing: bool,
    /// Whether pages leave whenever a die is free.
    pub(crate) drains: bool,
    /// Whether what is buffered is durable.
    pub(crate) is_protected: bool,
    pages: Vec<Page>,
    free: Vec<u32>,
    /// By LPN: the newest version that is buffered.
    index: FlatArray,
    queues: Vec<Ends>,
    all: Ends,
    /// By queue, its channel; empty where the allocation does not bind pages to channels.
    channels: Vec<u32>,
    /// By channel: pages that take room.
    dirty: Vec<u32>,
    flushes: u32,
    pub(crate) pieces: Pieces,
}

impl Buffer {
    /// The buffer that was chosen.
    fn new(selection: &Selection, parts: Parts, user_pages: u32, shape: Shape) -> std::io::Result<Buffer> {
        let capacity = (selection.size("size") / parts.page_size()) as u32;
        assert!(capacity > 0, "a buffer holds a page");
        let Shape { queues, channels, planes } = shape;
        let releases_early = selection.word("release") == "transferred";
        // What takes no room any more still has its place.
        let places = capacity as usize + if releases_early { planes as usize } else { 0 };
        let dirty = vec![0; channels.iter().max().map_or(0, |last| *last as usize + 1)];
        Ok(Buffer {
            capacity,
            fill: 0,
            released: 0,
            releases_early,
            accepted: 0,
            moves_hits: selection.name == "lru",
            one_order: selection.word("order") == "global",
            flushing: false,
            drains: selection.word("flush") == "free",
            is_protected: is_protected(selection),
            pages: Vec::with_capacity(places),
            free: Vec::with_capacity(places),
            index: FlatArray::filled(user_pages as usize, NONE)?,
            queues: vec![EMPTY; queues as usize],
            all: EMPTY,
            channels,
            dirty,
            flushes: 0,
            pieces: Pieces::new(parts),
        })
    }

    /// Pages that it can hold.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Pages that are not programmed yet, whether or not they take room.
    pub(crate) fn unprogrammed(&self) -> u32 {
        self.fill + self.released
    }

    /// Whether room is free as soon as the data are in the chip, and not when they are programmed.
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

    /// How many pages of a span need room: those that would not overwrite a buffered one.
    pub(crate) fn need(&self, span: Span) -> u32 {
        span.pages().filter(|(lpn, _)| self.find_open(*lpn).is_none()).count() as u32
    }

    /// The channel of a page, if the allocation binds it to one.
    pub(crate) fn channel_of(&self, page: u32) -> Option<u32> {
        self.channels.get(self.pages[page as usize].queue.index()).copied()
    }

    pub(crate) fn page(&self, page: u32) -> &Page {
        &self.pages[page as usize]
    }

    /// What the program of a page concerns: the flash pages with data of the host, and those of whose old version
    /// something is needed.
    pub(crate) fn share(&self, page: &Page) -> Share {
        let missing = self.pieces.all() & !page.valid;
        Share { touched: page.parts.count_ones() as u8, old: self.pieces.parts_of(missing) }
    }

    /// Asks for the index entry of a page that will be looked for.
    pub(crate) fn prefetch(&self, lpn: Lpn) {
        self.index.prefetch(lpn.index());
    }

    /// The newest buffered version of a page, wherever it stands.
    #[inline]
    pub(crate) fn find(&self, lpn: Lpn) -> Option<u32> {
        let page = self.index[lpn.index()];
        (page != NONE).then_some(page)
    }

    /// The buffered page that a write of `lpn` would overwrite in place.
    #[inline]
    pub(crate) fn find_open(&self, lpn: Lpn) -> Option<u32> {
        self.find(lpn).filter(|&page| self.pages[page as usize].state != State::Programming)
    }

    /// Overwrites a buffered page in place.
    pub(crate) fn merge(&mut self, page: u32, version: u32, written: Written) {
        let entry = &mut self.pages[page as usize];
        assert!(entry.state != State::Programming, "a page that is being programmed has left the buffer");
        entry.version = version;
        entry.valid |= written.valid;
        entry.parts |= written.parts;
        self.touch(page);
    }

    /// A page was used: under LRU it moves to the young end. One that has to leave anyway keeps its place, or a
    /// flush could wait for ever.
    pub(crate) fn touch(&mut self, page: u32) {
        if self.moves_hits && self.pages[page as usize].state == State::Waiting && !self.is_due(page) {
            self.unlink(page);
            self.link_youngest(page);
        }
    }

    /// Takes a page in, for which there is room.
    pub(crate) fn insert(&mut self, lpn: Lpn, version: u32, written: Written, queue: Queue) -> u32 {
        assert!(self.fill < self.capacity, "the buffer is full");
        debug_assert!(self.find_open(lpn).is_none(), "a page is buffered once");
        let entry = Page {
            lpn,
            version,
            queue,
            state: State::Waiting,
            valid: written.valid,
            parts: written.parts,
            flushes: self.flushes,
            urgent: false,
            released: false,
            links: [ALONE; 2],
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
        self.index[lpn.index()] = page;
        self.fill += 1;
        if let Some(channel) = self.channel_of(page) {
            self.dirty[channel as usize] += 1;
        }
        self.link_youngest(page);
        page
    }

    /// A page leaves as soon as its queue can take it, before all others.
    pub(crate) fn hurry(&mut self, page: u32) {
        if self.pages[page as usize].state == State::Waiting {
            self.unlink(page);
            self.link_oldest(page);
        }
        self.pages[page as usize].urgent = true;
    }

    /// All that is buffered has to leave; what enters from now on has not. Returns the number of the flush:
    /// it waits for the pages whose `flushes` is smaller.
    pub(crate) fn flush(&mut self) -> u32 {
        self.flushes += 1;
        self.flushes
    }

    /// Whether a page leaves without waiting for the buffer to be full. Such pages are the oldest of each list.
    fn is_due(&self, page: u32) -> bool {
        let Page { urgent, flushes, .. } = self.pages[page as usize];
        urgent || flushes < self.flushes
    }

    /// The page that may leave through a queue now.
    #[inline]
    pub(crate) fn next_of(&self, queue: Queue) -> Option<u32> {
        let page = self.queues[queue.index()].oldest;
        let leaves =
            page != NONE && (self.flushing || self.is_due(page)) && !(self.one_order && self.all.oldest != page);
        leaves.then_some(page)
    }

    /// The oldest waiting page of all, whether or not it may leave.
    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.all.oldest != NONE).then_some(self.all.oldest)
    }

    /// The oldest waiting page of all, if it is due.
    pub(crate) fn oldest_due(&self) -> Option<u32> {
        self.oldest().filter(|&page| self.is_due(page))
    }

    /// Whether pages leave in one order over all channels.
    pub(crate) fn is_in_one_order(&self) -> bool {
        self.one_order
    }

    /// Whether a queue has waiting pages.
    pub(crate) fn has_waiting(&self, queue: Queue) -> bool {
        self.queues[queue.index()].oldest != NONE
    }

    /// Hands a waiting page to its queue as `transaction`; it takes room until [`Buffer::remove`].
    pub(crate) fn hand_over(&mut self, page: u32, transaction: u32) {
        assert_eq!(self.pages[page as usize].state, State::Waiting, "a page leaves once");
        self.unlink(page);
        self.pages[page as usize].state = State::Handed(transaction);
    }

    /// A page that was handed over is being programmed: it can no longer be overwritten.
    #[inline]
    pub(crate) fn begin_program(&mut self, page: u32) {
        self.pages[page as usize].state = State::Programming;
    }

    /// A page that has left the lists can no longer be overwritten or read: it was trimmed.
    pub(crate) fn close(&mut self, page: u32) {
        let entry = &mut self.pages[page as usize];
        entry.state = State::Programming;
        self.index[entry.lpn.index()] = NONE;
    }

    /// All pieces of a page are in the buffer: its old version has arrived.
    pub(crate) fn complete(&mut self, page: u32) {
        self.pages[page as usize].valid = self.pieces.all();
    }

    /// Frees the room of a page whose data are in the chip. It can be read here until it is programmed, and is not
    /// durable before.
    fn release(&mut self, page: u32) {
        let entry = &mut self.pages[page as usize];
        assert_eq!(entry.state, State::Programming, "only what is being programmed is elsewhere");
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
    pub(crate) fn remove(&mut self, page: u32) -> Page {
        let entry = self.pages[page as usize];
        if entry.state == State::Waiting {
            self.unlink(page);
        }
        // A newer version may have taken its place in the index.
        if self.index[entry.lpn.index()] == page {
            self.index[entry.lpn.index()] = NONE;
        }
        if entry.released {
            self.released -= 1;
        } else {
            self.free_room(page);
        }
        self.free.push(page);
        entry
    }

    fn ends(&mut self, list: usize, queue: Queue) -> &mut Ends {
        if list == OF_ALL { &mut self.all } else { &mut self.queues[queue.index()] }
    }

    fn link_youngest(&mut self, page: u32) {
        let queue = self.pages[page as usize].queue;
        for list in [OF_QUEUE, OF_ALL] {
            let ends = self.ends(list, queue);
            let older = std::mem::replace(&mut ends.youngest, page);
            match older {
                NONE => ends.oldest = page,
                _ => self.pages[older as usize].links[list].younger = page,
            }
            self.pages[page as usize].links[list] = Link { older, younger: NONE };
        }
    }

    fn link_oldest(&mut self, page: u32) {
        let queue = self.pages[page as usize].queue;
        for list in [OF_QUEUE, OF_ALL] {
            let ends = self.ends(list, queue);
            let younger = std::mem::replace(&mut ends.oldest, page);
            match younger {
                NONE => ends.youngest = page,
                _ => self.pages[younger as usize].links[list].older = page,
            }
            self.pages[page as usize].links[list] = Link { older: NONE, younger };
        }
    }

    fn unlink(&mut self, page: u32) {
        let queue = self.pages[page as usize].queue;
        for list in [OF_QUEUE, OF_ALL] {
            let Link { older, younger } = self.pages[page as usize].links[list];
            match older {
                NONE => self.ends(list, queue).oldest = younger,
                _ => self.pages[older as usize].links[list].younger = younger,
            }
            match younger {
                NONE => self.ends(list, queue).youngest = older,
                _ => self.pages[younger as usize].links[list].older = older,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use base::ParamValue;
    use engine::Chance;

    use super::*;

    const LANES: u32 = 2;
    const LPNS: u32 = 12;
    const QUEUES: u32 = 3;

    /// A buffer of so many pages, of three queues that program a page each at a time, beside what it should do.
    struct Model {
        buffer: Buffer,
        early: bool,
        /// By LPN, the versions accepted and programmed last.
        accepted: Vec<u32>,
        programmed: Vec<u32>,
        /// By queue, the pages handed to it, in order; whether the first is being programmed, with which version,
        /// and whether its data are in the chip.
        handed: Vec<std::collections::VecDeque<u32>>,
        programming: Vec<Option<(u32, bool)>>,
        versions: u32,
    }

    impl Model {
        fn new(policy: &str, params: [(&'static str, ParamValue); 3]) -> Model {
            let mut selection = Selection::default_of(SEAM.find(policy).expect("a choice"));
            params.iter().for_each(|(name, value)| selection.set(name, *value));
            let shape = Shape { queues: QUEUES, channels: vec![0, 1, 1], planes: QUEUES };
            let mut buffer = Buffer::new(&selection, Parts::new(LANES, 512), LPNS, shape).expect("memory");
            buffer.flushing = true;
            let none = || vec![0; LPNS as usize];
            Model {
                early: buffer.releases_early(),
                buffer,
                accepted: none(),
                programmed: none(),
                handed: vec![Default::default(); QUEUES as usize],
                programming: vec![None; QUEUES as usize],
                versions: 0,
            }
        }

        /// Something that a host or a die does, if it can be done now.
        fn step(&mut self, random: &mut Chance) {
            let queue = Queue::new(random.below_u32(QUEUES));
            let (lpn, at) = (Lpn(random.below_u32(LPNS)), queue.index());
            match random.below(5) {
                0 | 1 => self.accept(lpn, random.below(3) == 0),
                2 => self.hand_over(queue),
                3 => self.go_on_programming(at),
                _ => self.end_program(at),
            }
        }

        fn hand_over(&mut self, queue: Queue) {
            if let Some(page) = self.buffer.next_of(queue) {
                self.buffer.hand_over(page, 7);
                self.handed[queue.index()].push_back(page);
            }
        }

        /// Begins a program, or ends its transfer.
        fn go_on_programming(&mut self, queue: usize) {
            let Some(&page) = self.handed[queue].front() else { return };
            let version = self.buffer.page(page).version;
            match self.programming[queue] {
                None => {
                    self.buffer.begin_program(page);
                    self.programming[queue] = Some((version, false));
                }
                Some((version, false)) => {
                    if self.early {
                        self.buffer.release(page);
                    }
                    self.programming[queue] = Some((version, true));
                }
                Some((_, true)) => {}
            }
        }

        fn accept(&mut self, lpn: Lpn, hurries: bool) {
            let written = self.buffer.pieces.written(lpn, false, 0, 0);
            let version = self.versions + 1;
            let page = match self.buffer.find_open(lpn) {
                Some(page) => {
                    self.buffer.merge(page, version, written);
                    page
                }
                None if self.buffer.room() == 0 => return,
                None => self.buffer.insert(lpn, version, written, Queue::new(lpn.0 % QUEUES)),
            };
            if hurries {
                self.buffer.hurry(page);
            }
            (self.versions, self.accepted[lpn.index()]) = (version, version);
        }

        fn end_program(&mut self, queue: usize) {
            let Some((version, true)) = self.programming[queue] else { return };
            self.programming[queue] = None;
            let page = self.handed[queue].pop_front().expect("a page is programmed");
            let left = self.buffer.remove(page);
            assert_eq!(left.version, version, "a page that is being programmed does not change");
            let before = std::mem::replace(&mut self.programmed[left.lpn.index()], version);
            assert!(before < version, "version {version} of LPN {} comes after {before}", left.lpn.0);
        }

        fn check(&self) {
            for lpn in 0..LPNS as usize {
                let found = self.buffer.find(Lpn(lpn as u32)).map(|page| self.buffer.page(page).version);
                let waits = self.accepted[lpn] > self.programmed[lpn];
                assert_eq!(found, waits.then_some(self.accepted[lpn]), "the newest version is found until programmed");
            }
            let released =
                self.programming.iter().filter(|state| self.early && matches!(state, Some((_, true)))).count();
            assert_eq!(self.buffer.unprogrammed() - released as u32, self.buffer.capacity() - self.buffer.room());
            assert_eq!(self.buffer.dirty().iter().sum::<u32>(), self.buffer.capacity() - self.buffer.room());
        }
    }

    #[test]
    fn no_write_of_a_page_is_lost_or_overtaken() {
        let mut most = [0; 2];
        for seed in 0..400u64 {
            let mut random = Chance::new(seed, "buffer");
            let capacity = 1 + random.below(5);
            let params = [
                ("size", ParamValue::Size(capacity * u64::from(LANES) * 512)),
                ("order", ["channel", "global"][(seed / 2 % 2) as usize].into()),
                ("release", ["programmed", "transferred"][(seed % 2) as usize].into()),
            ];
            let policies = &SEAM.choices[1..];
            let mut model = Model::new(policies[seed as usize / 4 % policies.len()].name, params);
            for _ in 0..400 {
                model.step(&mut random);
                model.check();
                let beyond = model.buffer.unprogrammed().saturating_sub(model.buffer.capacity());
                most[seed as usize % 2] = most[seed as usize % 2].max(beyond);
            }
            // A flush makes everything leave.
            model.buffer.flushing = false;
            model.buffer.flush();
            while model.buffer.unprogrammed() > 0 {
                for queue in (0..QUEUES).map(Queue::new) {
                    model.hand_over(queue);
                    model.go_on_programming(queue.index());
                    model.end_program(queue.index());
                    model.check();
                }
            }
            assert_eq!(model.programmed, model.accepted, "seed {seed}");
            assert_eq!((model.buffer.unprogrammed(), model.buffer.room()), (0, model.buffer.capacity()));
        }
        assert_eq!(most, [0, QUEUES], "only what is in the chips goes beyond the buffer, and all of it does");
    }
}
