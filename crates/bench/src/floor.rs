//! The floor: the least that simulates the benchmark's device with time, event by event.
//!
//! It has the device, the workload and the choices of the engine's `cwdp-greedy` rows: dies that do one thing at a
//! time, channels, closed-loop requests in queues by plane, reads before all else, collections as urgent as what waits for
//! them, multi-plane commands, the array's rule that pages are programmed in order, and counters. It comes to the IOPS and
//! the write amplification of the engine. It has nothing that can be configured, so it shows what an event-driven
//! simulator could reach, where the limit loop ([`crate::limit`]) shows what memory allows.
//!
//! A plane's next work is a key that is compared; a victim's valid pages are gathered when it is chosen; who asks for a channel
//! is told at once when it is his; and pending events are a tournament over one key for each die.

use std::collections::VecDeque;

use metrics::Stopwatch;

use crate::Failure;
use crate::cases::{Mix, Size};
use crate::child::Measurement;
use crate::limit::{
    BATCH, DIES_PER_CHANNEL, ERASE_NS, MemorySpeed, NONE, NOT_CLOSED, PAGES, PLANES_PER_DIE, PROGRAM_NS, READ_NS,
    RESERVE, TRANSFER_NS,
};

const PLANES: u32 = 64;
const DIES: u32 = PLANES / PLANES_PER_DIE;
const CHANNELS: u32 = DIES / DIES_PER_CHANNEL;
/// Waiting reads that are passed over for one that fits a command.
const MAX_SKIPPED: usize = 64;
/// No event, and nothing that presses.
const NEVER: u64 = u64::MAX;

/// The work of a die.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DieWork {
    Nothing,
    HostRead,
    /// Pages of a host read leave the die.
    HostOut,
    HostProgram,
    CopyRead,
    CopyOut,
    CopyProgram,
    Erase,
}

#[derive(Clone, Copy)]
struct DieState {
    doing: DieWork,
    /// Pages of the command, or those that have not left the die.
    pages: u8,
    /// The planes of the command, as bits.
    planes: u8,
}

/// The next step of a collection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CollectionStep {
    /// There is none.
    None,
    Read,
    Program,
    Erase,
}

struct Plane {
    /// Writes: age and logical page.
    writes: VecDeque<(u64, u32)>,
    step: CollectionStep,
    /// Number of the collection.
    begun: u64,
    victim: u32,
    cursor: u32,
    count: u32,
    /// Pages of the victim that were valid when it was chosen. None of them is overwritten meanwhile: writes wait.
    offsets: [u8; PAGES as usize],
}

impl Plane {
    /// The least key is that of what is done first: the oldest write, or what it waits for; then by order of beginning.
    #[inline(always)]
    fn key(&self) -> (u64, u64) {
        let age = self.writes.front().map_or(NEVER, |&(age, _)| age);
        match self.step {
            CollectionStep::None if age == NEVER => (NEVER, NEVER),
            CollectionStep::None => (age, 0),
            _ => (age, self.begun),
        }
    }

    #[inline(always)]
    fn page(&self) -> u32 {
        u32::from(self.offsets[self.cursor as usize])
    }
}

/// Pending events, one for each die: a tournament over times, with the die in the low bits.
struct Events([u64; 2 * DIES as usize]);

impl Events {
    #[inline(always)]
    fn set(&mut self, die: u32, at: u64) {
        let mut node = (DIES + die) as usize;
        self.0[node] = if at == NEVER { NEVER } else { at * u64::from(DIES) + u64::from(die) };
        while node > 1 {
            self.0[node / 2] = self.0[node].min(self.0[node ^ 1]);
            node /= 2;
        }
    }

    #[inline(always)]
    fn first(&self) -> (u64, u32) {
        (self.0[1] / u64::from(DIES), (self.0[1] % u64::from(DIES)) as u32)
    }
}

#[derive(Clone, Copy, Default)]
struct FloorCounts {
    host_reads: u64,
    host_writes: u64,
    copies: u64,
    erases: u64,
}

impl FloorCounts {
    fn ops(&self) -> u64 {
        self.host_reads + self.host_writes + 2 * self.copies + self.erases
    }
}

/// The device: maps and blocks are those of the limit loop.
struct Floor {
    limit: MemorySpeed<PLANES>,
    /// Requests in the device.
    depth: u32,
    planes: Vec<Plane>,
    dies: [DieState; DIES as usize],
    /// By die: logical pages that are to be read.
    reads: Vec<VecDeque<u32>>,
    channels: [u64; CHANNELS as usize],
    events: Events,
    /// By block: pages programmed.
    programmed: Vec<u16>,
    /// Dies that look for work, as bits.
    woken: u32,
    now: u64,
    ages: u64,
    collections: u64,
    /// Requests that were drawn and have not been sent.
    drawn: Vec<(u32, bool)>,
    /// Reads among 2^32 requests.
    read_share: u64,
    counts: FloorCounts,
}

impl Floor {
    /// From the steady state of the limit loop.
    fn new(limit: MemorySpeed<PLANES>, blocks: u32, depth: u32) -> Floor {
        let plane = || Plane {
            writes: VecDeque::new(),
            step: CollectionStep::None,
            begun: 0,
            victim: 0,
            cursor: 0,
            count: 0,
            offsets: [0; PAGES as usize],
        };
        let mut programmed = vec![PAGES as u16; blocks as usize];
        for free in limit.free.iter().flatten() {
            programmed[*free as usize] = 0;
        }
        for &frontier in &limit.frontier {
            programmed[(frontier / PAGES) as usize] = (frontier % PAGES) as u16;
        }
        Floor {
            limit,
            depth,
            planes: (0..PLANES).map(|_| plane()).collect(),
            dies: [DieState { doing: DieWork::Nothing, pages: 0, planes: 0 }; DIES as usize],
            reads: (0..DIES).map(|_| VecDeque::new()).collect(),
            channels: [0; CHANNELS as usize],
            events: Events([NEVER; 2 * DIES as usize]),
            programmed,
            woken: 0,
            now: 0,
            ages: 0,
            collections: 0,
            drawn: Vec::with_capacity(BATCH),
            read_share: 0,
            counts: FloorCounts::default(),
        }
    }

    /// Runs `requests` requests, in a closed loop.
    #[inline(never)]
    fn run(&mut self, requests: u64) {
        let end = self.counts.host_reads + self.counts.host_writes + requests;
        let sent = if self.ages == 0 { self.depth } else { 0 };
        (0..sent).for_each(|_| self.send());
        while self.counts.host_reads + self.counts.host_writes < end {
            while self.woken != 0 {
                let die = self.woken.trailing_zeros();
                self.woken &= self.woken - 1;
                self.choose(die);
            }
            self.now = self.events.first().0;
            while self.events.first().0 == self.now {
                let die = self.events.first().1;
                self.happen(die);
            }
        }
    }

    /// The host sends its next request.
    #[inline(always)]
    fn send(&mut self) {
        if self.drawn.is_empty() {
            for _ in 0..BATCH {
                let lpn = self.limit.draw();
                let is_read = self.read_share > 0 && {
                    self.limit.draw();
                    (self.limit.random >> 32) < self.read_share
                };
                self.limit.map.0.prefetch(lpn as usize);
                self.drawn.push((lpn, is_read));
            }
        }
        let (lpn, is_read) = self.drawn.pop().expect("some were drawn");
        let plane = lpn % PLANES;
        let die = plane / PLANES_PER_DIE;
        self.ages += 1;
        if is_read {
            self.reads[die as usize].push_back(lpn);
        } else {
            self.limit.reverse.0.prefetch(self.limit.map.get(lpn) as usize);
            self.planes[plane as usize].writes.push_back((self.ages, lpn));
        }
        self.wake(die);
    }

    #[inline(always)]
    fn wake(&mut self, die: u32) {
        if self.dies[die as usize].doing == DieWork::Nothing {
            self.woken |= 1 << die;
        }
    }

    /// A free die begins what presses most.
    #[inline(always)]
    fn choose(&mut self, die: u32) {
        if !self.reads[die as usize].is_empty() {
            return self.read(die);
        }
        let first = die * PLANES_PER_DIE;
        let least = (first..first + PLANES_PER_DIE).map(|plane| (self.planes[plane as usize].key(), plane)).min();
        let Some(((_, begun), plane)) = least else { return };
        match self.planes[plane as usize].step {
            CollectionStep::None if begun == NEVER => {}
            CollectionStep::None => self.program(die, plane),
            CollectionStep::Read => self.copy_read(die, plane),
            CollectionStep::Program => self.copy_program(die, plane),
            CollectionStep::Erase => self.erase(die),
        }
    }

    /// The other planes of a die.
    #[inline(always)]
    fn others(plane: u32) -> impl Iterator<Item = u32> {
        let first = plane / PLANES_PER_DIE * PLANES_PER_DIE;
        (first..first + PLANES_PER_DIE).filter(move |&other| other != plane)
    }

    #[inline(always)]
    fn begin(&mut self, die: u32, doing: DieWork, pages: u8, planes: u8, until: u64) {
        self.dies[die as usize] = DieState { doing, pages, planes };
        self.events.set(die, until);
    }

    /// When so many pages have passed the channel of a die, which is told who comes when in the order of asking.
    #[inline(always)]
    fn transfer(&mut self, die: u32, pages: u8) -> u64 {
        let channel = &mut self.channels[(die / DIES_PER_CHANNEL) as usize];
        *channel = (*channel).max(self.now) + TRANSFER_NS * u64::from(pages);
        *channel
    }

    /// The first read of a die, and the first that fits it.
    fn read(&mut self, die: u32) {
        let reads = &mut self.reads[die as usize];
        let lead = self.limit.map.get(reads.pop_front().expect("a read"));
        let fits = |&lpn: &u32| {
            let ppn = self.limit.map.get(lpn);
            ppn % PAGES == lead % PAGES
                && ppn / PAGES / self.limit.blocks_per_plane != lead / PAGES / self.limit.blocks_per_plane
        };
        let joins = reads.iter().take(MAX_SKIPPED + 1).position(fits).and_then(|at| reads.remove(at));
        assert!(self.programmed[(lead / PAGES) as usize] > (lead % PAGES) as u16);
        let pages = 1 + u8::from(joins.is_some());
        self.counts.host_reads += u64::from(pages);
        self.begin(die, DieWork::HostRead, pages, 0, self.now + READ_NS);
    }

    /// The first write of a plane, and those of the die's others that fit it.
    #[inline(always)]
    fn program(&mut self, die: u32, plane: u32) {
        let offset = self.program_first(plane);
        let mut pages = 1;
        for other in Floor::others(plane) {
            let Plane { step, writes, .. } = &self.planes[other as usize];
            if *step == CollectionStep::None && !writes.is_empty() && self.offset(other) == offset {
                self.program_first(other);
                pages += 1;
            }
        }
        let until = self.transfer(die, pages) + PROGRAM_NS;
        self.begin(die, DieWork::HostProgram, pages, 0, until);
    }

    /// Where a plane's next page goes in its block.
    #[inline(always)]
    fn offset(&mut self, plane: u32) -> u32 {
        if self.limit.frontier[plane as usize] == NONE {
            self.limit.open(plane);
        }
        self.limit.frontier[plane as usize] % PAGES
    }

    /// Programs the first write of a plane. Returns the offset of its page.
    #[inline(always)]
    fn program_first(&mut self, plane: u32) -> u32 {
        let (_, lpn) = self.planes[plane as usize].writes.pop_front().expect("a write");
        let old = self.limit.map.get(lpn);
        self.limit.reverse.set(old, NONE);
        self.limit.valid[(old / PAGES) as usize] -= 1;
        self.counts.host_writes += 1;
        let offset = self.place(plane, lpn);
        if self.limit.frontier[plane as usize] == NONE {
            self.collect_if_short(plane);
        }
        offset
    }

    /// Places a page and programs it. Returns its offset.
    #[inline(always)]
    fn place(&mut self, plane: u32, lpn: u32) -> u32 {
        let offset = self.offset(plane);
        let ppn = self.limit.frontier[plane as usize];
        let block = (ppn / PAGES) as usize;
        self.limit.map.set(lpn, ppn);
        self.limit.reverse.set(ppn, lpn);
        assert_eq!(u32::from(self.programmed[block]), offset, "pages of a block are programmed in order");
        self.programmed[block] += 1;
        self.limit.frontier[plane as usize] = ppn + 1;
        if offset == PAGES - 1 {
            self.limit.valid[block] -= NOT_CLOSED;
            self.limit.frontier[plane as usize] = NONE;
        }
        offset
    }

    /// Begins a collection where a plane is down to its reserve and no block is open.
    #[cold]
    fn collect_if_short(&mut self, plane: u32) {
        if self.limit.free[plane as usize].len() > RESERVE {
            return;
        }
        let victim = self.limit.victim(plane);
        self.limit.valid[victim as usize] += NOT_CLOSED;
        self.collections += 1;
        let own = &mut self.planes[plane as usize];
        (own.victim, own.begun, own.cursor, own.count) = (victim, self.collections, 0, 0);
        for page in 0..PAGES {
            own.offsets[(own.count & (PAGES - 1)) as usize] = page as u8;
            own.count += u32::from(self.limit.reverse.get(victim * PAGES + page) != NONE);
        }
        own.step = if own.count == 0 { CollectionStep::Erase } else { CollectionStep::Read };
    }

    /// The next page of a collection, and those of the die's others that fit it.
    #[inline(always)]
    fn copy_read(&mut self, die: u32, plane: u32) {
        let page = self.planes[plane as usize].page();
        let (mut pages, mut planes) = (0, 0);
        let others = Floor::others(plane);
        for plane in std::iter::once(plane).chain(others) {
            let own = &mut self.planes[plane as usize];
            if own.step == CollectionStep::Read && own.page() == page {
                own.step = CollectionStep::Program;
                assert!(self.programmed[own.victim as usize] > page as u16);
                let lpn = self.limit.reverse.get(own.victim * PAGES + page);
                self.limit.map.0.prefetch(lpn as usize);
                (pages, planes) = (pages + 1, planes | 1 << (plane % PLANES_PER_DIE));
            }
        }
        self.begin(die, DieWork::CopyRead, pages, planes, self.now + READ_NS);
    }

    #[inline(always)]
    fn copy_program(&mut self, die: u32, plane: u32) {
        let offset = self.offset(plane);
        let mut pages = 0;
        let others = Floor::others(plane);
        for plane in std::iter::once(plane).chain(others) {
            if self.planes[plane as usize].step == CollectionStep::Program && self.offset(plane) == offset {
                let own = &mut self.planes[plane as usize];
                let lpn = self.limit.reverse.get(own.victim * PAGES + own.page());
                own.cursor += 1;
                own.step = if own.cursor == own.count { CollectionStep::Erase } else { CollectionStep::Read };
                self.place(plane, lpn);
                self.counts.copies += 1;
                pages += 1;
            }
        }
        let until = self.transfer(die, pages) + PROGRAM_NS;
        self.begin(die, DieWork::CopyProgram, pages, 0, until);
    }

    fn erase(&mut self, die: u32) {
        let first = die * PLANES_PER_DIE;
        let planes = (0..PLANES_PER_DIE)
            .filter(|&plane| self.planes[(first + plane) as usize].step == CollectionStep::Erase)
            .fold(0, |planes, plane| planes | 1 << plane);
        self.counts.erases += u64::from(u8::count_ones(planes));
        self.begin(die, DieWork::Erase, 0, planes, self.now + ERASE_NS);
    }

    /// The event of a die.
    #[inline(always)]
    fn happen(&mut self, die: u32) {
        let DieState { doing, pages, planes } = self.dies[die as usize];
        match doing {
            DieWork::HostRead => {
                let last = self.transfer(die, pages);
                self.begin(die, DieWork::HostOut, pages, 0, last - TRANSFER_NS * u64::from(pages - 1));
                return;
            }
            DieWork::CopyRead => {
                let until = self.transfer(die, pages);
                self.begin(die, DieWork::CopyOut, 0, planes, until);
                return;
            }
            DieWork::HostOut if pages > 1 => {
                self.begin(die, DieWork::HostOut, pages - 1, 0, self.now + TRANSFER_NS);
                return self.send();
            }
            DieWork::HostOut => self.send(),
            DieWork::HostProgram => (0..pages).for_each(|_| self.send()),
            DieWork::Erase => self.erased(die, planes),
            DieWork::CopyOut | DieWork::CopyProgram | DieWork::Nothing => {}
        }
        self.dies[die as usize].doing = DieWork::Nothing;
        self.events.set(die, NEVER);
        self.woken |= 1 << die;
    }

    #[cold]
    fn erased(&mut self, die: u32, planes: u8) {
        for plane in (0..PLANES_PER_DIE).filter(|plane| planes >> plane & 1 == 1) {
            let plane = die * PLANES_PER_DIE + plane;
            let own = &mut self.planes[plane as usize];
            own.step = CollectionStep::None;
            self.programmed[own.victim as usize] = 0;
            self.limit.valid[own.victim as usize] = NOT_CLOSED;
            self.limit.free[plane as usize].insert(0, own.victim);
            if self.limit.frontier[plane as usize] == NONE {
                self.collect_if_short(plane);
            }
        }
    }

    /// One measured part: its figures are named after what was run.
    fn section(&mut self, mix: Mix, figures: &mut Measurement) {
        self.read_share = (mix.read_fraction() * 4_294_967_296.0) as u64;
        // What was drawn for the mix before, and what fills the queues.
        self.run(u64::from(self.limit.user_pages) / 16);
        let (before, from) = (self.counts, self.now);
        let requests = u64::from(self.limit.user_pages) / 3 * if mix == Mix::Mixed { 2 } else { 1 };
        let stopwatch = Stopwatch::start();
        self.run(requests);
        let cpu_s = stopwatch.usage().cpu_s;
        let FloorCounts { host_reads, host_writes, copies, .. } = self.counts;
        let written = (host_writes - before.host_writes) as f64;
        let sent = written + (host_reads - before.host_reads) as f64;
        let name = mix.name();
        figures.set(format!("{name}.ops_per_s"), (self.counts.ops() - before.ops()) as f64 / cpu_s);
        figures.set(format!("{name}.writes_per_s"), written / cpu_s);
        figures.set(format!("{name}.waf"), 1.0 + (copies - before.copies) as f64 / written);
        figures.set(format!("{name}.iops"), sent * 1e9 / (self.now - from) as f64);
    }
}

/// The floor at one size and queue depth: each workload, from one steady state.
pub(crate) fn measure(size: Size, depth: u32) -> Result<Measurement, Failure> {
    let limit = MemorySpeed::<PLANES>::aged(size)?;
    let mut floor = Floor::new(limit, PLANES * size.blocks_per_plane(), depth);
    let mut figures = Measurement::default();
    floor.section(Mix::Write, &mut figures);
    floor.section(Mix::Mixed, &mut figures);
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_stay_where_the_maps_say_and_every_request_is_answered() {
        let mut limit = MemorySpeed::<PLANES>::new(Size::Small).unwrap();
        limit.fill();
        let mut floor = Floor::new(limit, PLANES * Size::Small.blocks_per_plane(), 32);
        floor.read_share = 1 << 30;
        floor.run(u64::from(Size::Small.user_pages()));
        let Floor { limit, counts, planes, reads, .. } = &floor;
        assert!(counts.erases > 1000 && counts.copies > 10_000, "collection ran");
        let read = counts.host_reads as f64 / (counts.host_reads + counts.host_writes) as f64;
        assert!((read - 0.25).abs() < 0.01, "{read}");
        for lpn in 0..limit.user_pages {
            let ppn = limit.map.get(lpn);
            assert_eq!(limit.reverse.get(ppn), lpn);
            assert!(u32::from(floor.programmed[(ppn / PAGES) as usize]) > ppn % PAGES);
        }
        // Those that a die has begun are counted already.
        let waiting = planes.iter().map(|plane| plane.writes.len()).sum::<usize>()
            + reads.iter().map(VecDeque::len).sum::<usize>();
        assert!(waiting <= floor.depth as usize);
        assert_eq!(floor.ages - counts.host_reads - counts.host_writes, waiting as u64);
    }
}
