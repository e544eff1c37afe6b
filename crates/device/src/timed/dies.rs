//! Dies and channels: what a free die does next, and how a command goes through array and bus.

use base::{Cause, Duration, InStep, Instant, Lpn, OpKind, PageLayout, Ppn};
use config::model;
use ftl::{GcStep, Group};
use metrics::Track;

use super::Timed;
use super::queues::{List, Transaction};
use super::schedule::Standing;
use crate::device::{count_collection, count_move};
use crate::flash::Content;
use crate::scheduler::NOT_URGENT;

/// Planes that a multi-plane command covers at most; the configuration allows no more per die.
const MAX_PLANES: usize = 16;

/// Waiting writes that a shared queue passes over at most in search of one that is ready.
const MAX_PASSED: usize = 64;

/// How long things take.
pub(super) struct Timing {
    /// By page offset.
    read: Vec<Duration>,
    /// By page offset.
    program: Vec<Duration>,
    erase: Duration,
    transfer: Duration,
    command: Duration,
    /// Time that a page takes of the controller's DRAM.
    dram: Duration,
    ecc: Duration,
}

impl Timing {
    /// The times of pages as the FTL sees them. Channels in step carry their parts of a superpage at the same time;
    /// planes in step take command cycles and data one after the other, and all go through one DRAM.
    pub(super) fn new(device: &model::Device, in_step: InStep, layout: &PageLayout) -> Timing {
        let timing = &device.timing;
        let by_page = |times: &[Duration]| {
            (0..device.pages_per_block).map(|page| times[usize::from(layout.page_type(page).0)]).collect()
        };
        let at_rate = |pages: u32, rate: u64| {
            let bytes = u128::from(device.page_size) * u128::from(pages);
            Duration((bytes * 1_000_000_000).div_ceil(u128::from(rate)) as u64)
        };
        Timing {
            read: by_page(&timing.read),
            program: by_page(&timing.program),
            erase: timing.erase,
            transfer: at_rate(in_step.planes, timing.channel_rate),
            command: timing.command_overhead * u64::from(in_step.planes),
            dram: timing.dram_bandwidth.map_or(Duration::ZERO, |rate| at_rate(in_step.lanes(), rate)),
            ecc: timing.ecc_latency,
        }
    }
}

/// Where a die's command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No command.
    Idle,
    /// Command and address cycles, and the data of a program: needs the channel.
    Command,
    /// The array works.
    Array,
    /// The data of a read: needs the channel, page by page.
    DataOut,
}

/// One page (or block) of a command.
#[derive(Clone, Copy, Debug)]
struct Item {
    ppn: Ppn,
    /// The transaction, or the domain of a collection.
    what: u32,
}

/// A die and the command it carries out.
///
/// Laid out so that a command of a page or two touches one cache line: with all dies at work, theirs and
/// those of the collections are most of what the processor's first cache has to hold.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Die {
    phase: Phase,
    kind: OpKind,
    cause: Cause,
    /// Pages of the command.
    count: u8,
    /// Pages of a read that have left the die.
    sent: u8,
    awake: bool,
    /// Pages of its collections that are on their way or being corrected.
    correcting: u8,
    reads: List,
    items: [Item; MAX_PLANES],
}

impl Die {
    pub(super) const IDLE: Die = Die {
        phase: Phase::Idle,
        kind: OpKind::Read,
        cause: Cause::Host,
        count: 0,
        sent: 0,
        awake: false,
        correcting: 0,
        reads: List::EMPTY,
        items: [Item { ppn: Ppn(0), what: 0 }; MAX_PLANES],
    };

    fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    fn begin(&mut self, kind: OpKind, cause: Cause) {
        (self.kind, self.cause, self.count, self.sent) = (kind, cause, 0, 0);
    }

    fn add(&mut self, ppn: Ppn, what: u32) {
        self.items[usize::from(self.count)] = Item { ppn, what };
        self.count += 1;
    }
}

/// A channel: who holds it, and who waits for it in order of asking.
#[derive(Clone, Default)]
pub(super) struct Channel {
    holder: Option<u32>,
    /// Dies that wait to be sent a command without data. They go first: a command is short, and until it has
    /// it the die's array stands still.
    commands: std::collections::VecDeque<u32>,
    waiting: std::collections::VecDeque<u32>,
}

/// What a collection has in the controller between a read and a program, besides their contents. Laid out with
/// what every step touches first.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Collection {
    /// What is done with the group.
    step: GcStep,
    /// How many of the group's pages were read.
    read: u8,
    /// How many of them are on their way or being corrected.
    correcting: u8,
    /// The pages that move together.
    group: Group,
}

impl Collection {
    pub(super) const NONE: Collection = Collection { step: GcStep::Copy, read: 0, correcting: 0, group: Group::EMPTY };

    /// Whether nothing was read that is not programmed.
    pub(super) fn is_between_groups(&self) -> bool {
        self.read == 0
    }

    /// Drops the pages that were to be read next.
    pub(super) fn forget_group(&mut self) {
        self.group.clear();
    }
}

/// What the pages that collections have read store, by domain and place in its group. Apart from
/// [`Collection`], where room for the widest group would keep those of neighbouring domains far apart.
pub(super) struct Contents {
    /// Pages of a group at most.
    lanes: usize,
    pages: Vec<Content>,
}

impl Contents {
    /// A group has a page per lane of the unit, or the two that a parity covers.
    pub(super) fn new(domains: u32, unit_width: u32) -> Contents {
        let lanes = (unit_width as usize).max(2);
        Contents { lanes, pages: vec![Content::EMPTY; domains as usize * lanes] }
    }

    #[inline]
    fn of(&self, domain: u32) -> &[Content] {
        &self.pages[domain as usize * self.lanes..][..self.lanes]
    }

    #[inline]
    fn of_mut(&mut self, domain: u32) -> &mut [Content] {
        &mut self.pages[domain as usize * self.lanes..][..self.lanes]
    }
}

/// Where corrected data go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delivery {
    Transaction(u32),
    Collection(u32),
}

/// What the first of a die's reads waits for.
#[derive(Clone, Copy)]
enum Read {
    /// This page.
    Page(u32, Ppn),
    /// Its map entry: the domain has steps to do.
    Entry(u32),
}

/// What a free die could do, besides reads.
#[derive(Clone, Copy)]
enum Task {
    /// Program the first write of a domain's own queue.
    Program(u32),
    /// Program from a shared queue.
    ProgramShared(u32),
    /// The next step of a domain's collection.
    Collect(u32),
}

// What a free die does next.
impl Timed<'_, '_> {
    /// Lets every die that is free and may have work choose.
    pub(super) fn dispatch(&mut self) {
        if self.device.ftl.allocation().dynamic().is_some() {
            self.offer_shared_writes();
        }
        while let Some(die) = self.awake.pop() {
            self.dies[die as usize].awake = false;
            self.choose(die);
        }
    }

    /// Offers waiting writes of a dynamic allocation to free dies, round robin.
    fn offer_shared_writes(&mut self) {
        for queue in 0..self.writes.len() as u32 {
            while self.has_writes(queue) {
                let Some(die) = self.device.ftl.next_die_of(queue, self.idle.of(queue)) else { break };
                self.choose(die);
                if self.dies[die as usize].is_idle() {
                    break;
                }
            }
        }
    }

    pub(super) fn wake(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !state.awake {
            state.awake = true;
            self.awake.push(die);
        }
    }

    /// A queue of writes has something new. Shared queues are looked at anyway.
    pub(super) fn wake_queue(&mut self, queue: u32) {
        if self.device.ftl.allocation().dynamic().is_none() {
            self.wake(self.device.ftl.geometry().die_of_domain(queue));
        }
    }

    pub(super) fn queue_read(&mut self, die: u32, read: u32) {
        self.dies[die as usize].reads.push(&mut self.pool, read);
        self.wake(die);
    }

    fn choose(&mut self, die: u32) {
        if !self.dies[die as usize].is_idle() {
            return;
        }
        let read = self.oldest_read(die);
        let mut other = self.oldest_task(die);
        if !self.forward.is_threshold()
            && let Some((_, Task::Program(domain))) = other
            && self.device.ftl.is_collecting(domain)
        {
            // Preparing another plane's write began a collection there, and this plane fills its time.
            other = self.next_oldest_task(die);
        }
        match (read, other) {
            (Some(read), None) => self.serve_read(die, read),
            (Some(read), Some((age, _)))
                if self.dies[die as usize]
                    .reads
                    .first_age()
                    .is_some_and(|first| self.scheduler.read_first(first, age)) =>
            {
                self.serve_read(die, read);
            }
            (_, Some((_, Task::Program(domain)))) => self.issue_program(die, domain),
            (_, Some((_, Task::ProgramShared(queue)))) => self.issue_shared_program(die, queue),
            (_, Some((_, Task::Collect(domain)))) => self.issue_collection(die, domain),
            (None, None) => {
                if !self.forward.is_threshold() && self.fill_idle_time(die) {
                    self.wake(die);
                }
            }
        }
    }

    /// The first waiting read, translated now. Reads whose page moved to another die go there; reads whose
    /// page was trimmed are answered. A read whose map entry is in flash waits for it, and the reads behind it.
    fn oldest_read(&mut self, die: u32) -> Option<Read> {
        loop {
            let read = self.dies[die as usize].reads.first()?;
            let lpn = self.pool.get(read).lpn;
            if self.device.map_in_flash && !self.device.ftl.prepare_read(lpn) {
                return self.await_entry(die, lpn);
            }
            let found = self.device.ftl.lookup(lpn);
            if let Some(ppn) = found
                && self.device.ftl.geometry().die_of(ppn) == die
            {
                return Some(Read::Page(read, ppn));
            }
            self.dies[die as usize].reads.remove(&mut self.pool, None, read);
            match found {
                Some(ppn) => self.queue_read(self.device.ftl.geometry().die_of(ppn), read),
                None => self.read_vanished(read),
            }
        }
    }

    /// What the domain of a read has to do for its map entry, unless that is under way.
    #[cold]
    fn await_entry(&self, die: u32, lpn: Lpn) -> Option<Read> {
        let domain = self.device.ftl.allocation().queue_of(lpn);
        (!self.is_correcting(die, domain)).then_some(Read::Entry(domain))
    }

    /// The most urgent program or collection step of a die, with its age.
    ///
    /// A mandatory collection is as old as the oldest write that its plane could take: the first in the
    /// plane's queue or, under a dynamic allocation, in the shared one. So it goes before the host's writes to
    /// the die, as urgent collection does in the papers; were it to wait until the other planes are full too,
    /// all would begin fresh blocks together, and the planes of a die would never drift apart. Equally old
    /// collections, and those that nobody waits for, are served in the order in which they began: any fixed
    /// preference would let one plane of the die take all writes of a dynamic allocation, fill up with valid
    /// pages and collect for ever.
    fn oldest_task(&mut self, die: u32) -> Option<(u64, Task)> {
        let mut best: Option<(u64, u64, Task)> = None;
        let mut offer = |age: u64, begun: u64, task: Task| {
            if best.is_none_or(|(oldest, first, _)| (age, begun) < (oldest, first)) {
                best = Some((age, begun, task));
            }
        };
        let dynamic = self.device.ftl.allocation().dynamic().map(|dynamic| dynamic.queue_of_die(die));
        let mut accepts = false;
        // Pages that were read together may be programmed together: a collection waits, for the time of a
        // correction at most, until those of the die's other collections are correct too.
        let correcting = self.scheduler.merges_collections() && self.dies[die as usize].correcting > 0;
        for domain in self.device.ftl.domains_of_die(die) {
            let mut collects = self.device.ftl.is_collecting(domain);
            if collects && !self.forward.is_threshold() {
                match self.standing(domain) {
                    Standing::Goes => {}
                    Standing::Waits => continue,
                    Standing::PutDown => collects = false,
                }
            }
            if collects {
                if !correcting && !self.is_correcting(die, domain) {
                    let begun = self.begun[domain as usize];
                    // A page that waits for the end of a collection ahead of need, or for its next rest, presses too.
                    let is_mandatory = self.device.ftl.is_mandatory(domain) || !self.forward.is_threshold();
                    let queue = dynamic.unwrap_or(domain);
                    let age = match self.writes[queue as usize].first_age().filter(|_| is_mandatory) {
                        Some(age) => age,
                        // Pages in the write buffer that would leave now are older than any read that waits.
                        None if is_mandatory && self.has_buffered(queue) => 0,
                        None => NOT_URGENT,
                    };
                    offer(age, begun, Task::Collect(domain));
                }
            } else if dynamic.is_some() {
                accepts |= self.device.ftl.accepts(domain);
            } else if let Some((age, lpn)) = self.ready_write(domain) {
                if self.device.ftl.prepare(domain, lpn) {
                    offer(age, 0, Task::Program(domain));
                } else {
                    self.note_collections(domain);
                    offer(age, self.begun[domain as usize], Task::Collect(domain));
                }
            }
        }
        if let Some(queue) = dynamic
            && accepts
            && let Some((_, write)) = self.ready_shared_write(queue)
        {
            // Behind collections that the same write waits for.
            offer(self.pool.get(write).age, u64::MAX, Task::ProgramShared(queue));
        }
        best.map(|(age, _, task)| (age, task))
    }

    /// The same once more; out of line, so that the common call is compiled into its place.
    #[cold]
    #[inline(never)]
    fn next_oldest_task(&mut self, die: u32) -> Option<(u64, Task)> {
        self.oldest_task(die)
    }

    /// Whether pages of a domain's collection are on their way or being corrected.
    #[inline]
    fn is_correcting(&self, die: u32, domain: u32) -> bool {
        self.dies[die as usize].correcting > 0 && self.collections[domain as usize].correcting > 0
    }

    /// The age and the page of the first write of a domain's queue, if it can be programmed. Writes of one
    /// domain keep their order.
    #[inline]
    fn ready_write(&mut self, queue: u32) -> Option<(u64, Lpn)> {
        let waiting = &self.writes[queue as usize];
        if waiting.first_is_plain() {
            return waiting.first_age().zip(waiting.first_lpn());
        }
        if waiting.first().is_none() && self.buffer.is_none() {
            return None;
        }
        self.prepare_write(queue)
    }

    /// The first write, if it can be programmed, where that takes a look at it.
    #[inline(never)]
    fn prepare_write(&mut self, queue: u32) -> Option<(u64, Lpn)> {
        self.run_trims(queue);
        if self.device.map_in_flash && self.device.ftl.is_collecting(queue) {
            return None;
        }
        let write = match self.writes[queue as usize].first() {
            Some(write) => write,
            None => self.supply(queue)?,
        };
        let Transaction { age, lpn, .. } = *self.pool.get(write);
        self.is_ready(write).then_some((age, lpn))
    }

    fn is_ready(&mut self, write: u32) -> bool {
        let Transaction { waiting, partial, .. } = *self.pool.get(write);
        if waiting {
            return false;
        }
        // A page that was unmapped when its write arrived may have been written since.
        let fetching = partial && self.fetch_old(write);
        !fetching
    }

    /// The first write of a shared queue that can be programmed, with its predecessor in the queue. Writes
    /// that wait for their old data are passed over, but never a write of the same page.
    fn ready_shared_write(&mut self, queue: u32) -> Option<(Option<u32>, u32)> {
        let waiting = &self.writes[queue as usize];
        if waiting.first_is_plain() {
            return waiting.first().map(|write| (None, write));
        }
        let mut passed = [Lpn(0); MAX_PASSED];
        let mut count = 0;
        let mut previous = None;
        let mut at = waiting.first();
        while let Some(write) = at.or_else(|| if self.buffer.is_none() { None } else { self.supply(queue) }) {
            let Transaction { lpn, waiting, .. } = *self.pool.get(write);
            // Most that are passed over wait; only the others are worth a search among the pages passed.
            if !waiting && !passed[..count].contains(&lpn) && self.is_ready(write) {
                return Some((previous, write));
            }
            if count == MAX_PASSED {
                return None;
            }
            passed[count] = lpn;
            count += 1;
            previous = Some(write);
            at = self.writes[queue as usize].after(&self.pool, write);
        }
        None
    }
}

// Commands.
impl Timed<'_, '_> {
    fn serve_read(&mut self, die: u32, read: Read) {
        match read {
            Read::Page(read, ppn) => self.issue_read(die, read, ppn),
            Read::Entry(domain) => self.issue_collection(die, domain),
        }
    }

    fn issue_read(&mut self, die: u32, read: u32, ppn: Ppn) {
        let cause = self.read_cause(read);
        self.dies[die as usize].begin(OpKind::Read, cause);
        self.dies[die as usize].reads.remove(&mut self.pool, None, read);
        self.add_read(die, read, ppn);
        if self.device.ftl.geometry().planes_per_die > 1 {
            self.join_reads(die, read, ppn, cause);
        }
        self.start(die);
    }

    fn add_read(&mut self, die: u32, read: u32, ppn: Ppn) {
        let content = self.device.flash.read(ppn);
        let Transaction { lpn, version, .. } = *self.pool.get(read);
        if self.device.map_in_flash {
            self.device.ftl.used(lpn);
        }
        self.device.check_read(lpn, version, content);
        self.dies[die as usize].add(ppn, read);
    }

    /// Adds waiting reads of other planes that fit the first one's address.
    fn join_reads(&mut self, die: u32, first: u32, ppn: Ppn, cause: Cause) {
        let planes = self.device.ftl.geometry().planes_per_die as usize;
        let mut last_age = self.pool.get(first).age;
        let mut previous = None;
        let mut at = self.dies[die as usize].reads.first();
        let mut passed = 0;
        while let Some(read) = at
            && usize::from(self.dies[die as usize].count) < planes
            && passed <= self.scheduler.passes_over()
        {
            at = self.dies[die as usize].reads.after(&self.pool, read);
            let Transaction { age, lpn, .. } = *self.pool.get(read);
            let found = self.device.ftl.lookup(lpn).filter(|&other| {
                (!self.device.map_in_flash || self.device.ftl.is_known(lpn))
                    && self.read_cause(read) == cause
                    && self.scheduler.may_join(last_age, age)
                    && self.device.flash.may_share_command(ppn, other)
                    && self.is_new_plane(die, other)
            });
            match found {
                Some(other) => {
                    self.dies[die as usize].reads.remove(&mut self.pool, previous, read);
                    self.add_read(die, read, other);
                    last_age = age;
                }
                None => {
                    previous = Some(read);
                    passed += 1;
                }
            }
        }
    }

    /// Whether a page is on the die, on a plane that its command does not use yet.
    fn is_new_plane(&self, die: u32, ppn: Ppn) -> bool {
        let geometry = self.device.ftl.geometry();
        let plane = geometry.place(ppn).plane;
        let state = &self.dies[die as usize];
        plane / geometry.planes_per_die == die
            && state.items[..usize::from(state.count)].iter().all(|item| geometry.place(item.ppn).plane != plane)
    }

    /// Programs the first write of a domain, and with it the first writes of other domains of the die that
    /// fit its address.
    fn issue_program(&mut self, die: u32, first: u32) {
        self.dies[die as usize].begin(OpKind::Program, Cause::Host);
        let lpn = self.writes[first as usize].first_lpn().expect("a ready write");
        let lead = self.device.ftl.next_host_page(first, lpn);
        let mut last_age = self.program_from(die, first, first);
        for domain in self.device.ftl.domains_of_die(die) {
            if domain == first || self.device.ftl.is_collecting(domain) {
                continue;
            }
            let Some((age, lpn)) = self.ready_write(domain) else { continue };
            let fits = self.scheduler.may_join(last_age, age)
                && self.device.ftl.prepare(domain, lpn)
                && self.fits_host_frontier(lead, domain, lpn);
            self.note_need(domain);
            if fits {
                last_age = self.program_from(die, domain, domain);
            }
        }
        self.start(die);
    }

    fn fits_host_frontier(&mut self, lead: Ppn, domain: u32, lpn: Lpn) -> bool {
        let next = self.device.ftl.next_host_page(domain, lpn);
        self.device.flash.may_share_command(lead, next)
    }

    /// Programs the first ready writes of a shared queue: one, or as many as the allocation gives a die at
    /// once and as fit one command.
    fn issue_shared_program(&mut self, die: u32, queue: u32) {
        let burst = self.device.ftl.allocation().dynamic().map_or(1, ftl::allocation::Dynamic::burst);
        let first = self.device.ftl.next_domain_of(die).expect("a domain of the die accepts pages");
        let found = self.ready_shared_write(queue).expect("a ready write");
        let lpn = self.pool.get(found.1).lpn;
        if !self.device.ftl.prepare(first, lpn) {
            self.note_collections(first);
            self.issue_collection(die, first);
            return;
        }
        self.dies[die as usize].begin(OpKind::Program, Cause::Host);
        let lead = self.device.ftl.next_host_page(first, lpn);
        let mut last_age = self.program_shared(die, queue, found, first);
        for _ in 1..burst {
            let Some(found) = self.ready_shared_write(queue) else { break };
            let Transaction { age, lpn, .. } = *self.pool.get(found.1);
            if !self.scheduler.may_join(last_age, age) {
                break;
            }
            let Some(domain) = self.device.ftl.peek_domain_of(die) else { break };
            if !self.device.ftl.prepare(domain, lpn) || !self.fits_host_frontier(lead, domain, lpn) {
                break;
            }
            let next = self.device.ftl.next_host_page(domain, lpn);
            if !self.is_new_plane(die, next) {
                break;
            }
            let taken = self.device.ftl.next_domain_of(die);
            debug_assert_eq!(taken, Some(domain));
            last_age = self.program_shared(die, queue, found, domain);
        }
        self.start(die);
    }

    /// Takes the first write of a queue and programs it in a domain. Returns its age.
    fn program_from(&mut self, die: u32, queue: u32, domain: u32) -> u64 {
        let write = self.writes[queue as usize].first().expect("a ready write");
        self.writes[queue as usize].remove(&mut self.pool, None, write);
        self.program(die, domain, write)
    }

    /// Takes what [`Timed::ready_shared_write`] found in a queue, and programs it in a domain. Returns its age.
    fn program_shared(&mut self, die: u32, queue: u32, (previous, write): (Option<u32>, u32), domain: u32) -> u64 {
        self.writes[queue as usize].remove(&mut self.pool, previous, write);
        self.program(die, domain, write)
    }

    fn program(&mut self, die: u32, domain: u32, write: u32) -> u64 {
        let Transaction { lpn, version, age, .. } = *self.pool.get(write);
        let ppn = self.device.ftl.write(domain, lpn);
        self.device.use_lsb_only(ppn);
        let content = self.device.content(lpn, version, ppn);
        self.device.flash.program(ppn, content).expect_done();
        self.begin_program(write);
        self.dies[die as usize].add(ppn, write);
        self.note_collections(domain);
        age
    }

    /// Notes which collections begin; called wherever one of this domain may.
    pub(super) fn note_collections(&mut self, domain: u32) {
        if self.device.ftl.is_collecting(domain) {
            self.note_collection(domain);
        }
        for neighbour in self.device.ftl.take_early() {
            self.note_collection(neighbour);
            self.wake(self.device.ftl.geometry().die_of_domain(neighbour));
        }
        self.note_need(domain);
    }

    fn note_collection(&mut self, domain: u32) {
        self.collections_begun += 1;
        self.begun[domain as usize] = self.collections_begun;
    }

    /// The next step of a domain's collection, and with it equal steps of the die's other collections that
    /// fit its address.
    fn issue_collection(&mut self, die: u32, domain: u32) {
        let turn = self.turn_of(domain);
        let Some((kind, cause, lead)) = self.collection_step(domain) else {
            // What was to be protected is stale by now; the host's page can go.
            self.wake(die);
            return;
        };
        self.count_turn(domain, turn);
        if self.device.map_in_flash {
            // A step for the map may have begun a collection.
            self.note_need(domain);
        }
        self.dies[die as usize].begin(kind, cause);
        self.add_collection(die, domain, kind, lead);
        if self.scheduler.merges_collections() {
            for other in self.device.ftl.domains_of_die(die) {
                if other == domain || self.is_correcting(die, other) || !self.device.ftl.is_collecting(other) {
                    continue;
                }
                if !self.forward.is_threshold() && !matches!(self.standing(other), Standing::Goes) {
                    continue;
                }
                let turn = self.turn_of(other);
                let Some((other_kind, other_cause, ppn)) = self.collection_step(other) else { continue };
                let fits = (kind, cause) == (other_kind, other_cause)
                    && match kind {
                        OpKind::Erase => {
                            let unit_of = |ppn| self.device.ftl.geometry().unit_of(ppn);
                            self.device.flash.may_share_erase(unit_of(lead), unit_of(ppn))
                        }
                        OpKind::Read | OpKind::Program => self.device.flash.may_share_command(lead, ppn),
                    };
                if fits {
                    self.add_collection(die, other, kind, ppn);
                }
                if fits || !self.device.ftl.rests(other) {
                    self.count_turn(other, turn);
                }
            }
        }
        self.start(die);
    }

    /// What a collection does next, and where: the first page to read, the first place to program, or the
    /// first page of the unit to erase.
    fn collection_step(&mut self, domain: u32) -> Option<(OpKind, Cause, Ppn)> {
        self.forget_stale_pages(domain);
        let Collection { group, step, read, .. } = &mut self.collections[domain as usize];
        let ftl = &mut self.device.ftl;
        let cause = ftl.cause_of(domain, *step);
        if let Some(&from) = group.pages().get(usize::from(*read)) {
            return Some((OpKind::Read, cause, from));
        }
        if *read > 0 {
            let to = match step {
                GcStep::Backup => ftl.next_backup_page(domain),
                GcStep::Update => ftl.next_update_page(domain),
                _ => ftl.next_copy_page(domain, group.pages()[0]),
            };
            return Some((OpKind::Program, cause, to));
        }
        *step = ftl.step(domain, group)?;
        let cause = ftl.cause_of(domain, *step);
        Some(match *step {
            GcStep::Copy | GcStep::Backup | GcStep::Fetch => (OpKind::Read, cause, group.pages()[0]),
            GcStep::Update => match group.pages() {
                [page] => (OpKind::Read, cause, *page),
                _ => (OpKind::Program, cause, ftl.next_update_page(domain)),
            },
            GcStep::Fill => (OpKind::Program, cause, ftl.next_dummy_page(domain)),
            GcStep::Erase(unit) => (OpKind::Erase, cause, ftl.geometry().ppn(unit, 0)),
        })
    }

    /// Drops pages that were overwritten or trimmed since the collection chose them.
    fn forget_stale_pages(&mut self, domain: u32) {
        let collection = &mut self.collections[domain as usize];
        let mut at = 0;
        while let Some(&page) = collection.group.pages().get(at) {
            if self.device.ftl.is_valid(page) {
                at += 1;
            } else {
                collection.group.remove(at);
                collection.read -= u8::from(at < usize::from(collection.read));
                self.contents.of_mut(domain).copy_within(at + 1.., at);
            }
        }
    }

    fn add_collection(&mut self, die: u32, domain: u32, kind: OpKind, lead: Ppn) {
        match kind {
            OpKind::Read => self.add_collection_reads(die, domain, lead),
            OpKind::Program => self.add_collection_programs(die, domain),
            OpKind::Erase => {
                let unit = self.device.ftl.geometry().unit_of(lead);
                for lane in 0..self.device.ftl.geometry().unit_width {
                    let block = self.device.ftl.geometry().ppn(unit, lane);
                    self.dies[die as usize].add(block, domain);
                }
            }
        }
    }

    /// Reads the group's next page, and with it those that fit its address.
    fn add_collection_reads(&mut self, die: u32, domain: u32, lead: Ppn) {
        loop {
            let Collection { group, read, .. } = &self.collections[domain as usize];
            let at = usize::from(*read);
            let Some(&page) = group.pages().get(at) else { return };
            let joins = page == lead || self.device.flash.may_share_command(lead, page) && self.is_new_plane(die, page);
            if !joins {
                return;
            }
            self.device.ftl.prefetch_copy(page);
            self.contents.of_mut(domain)[at] = self.device.flash.read(page);
            let collection = &mut self.collections[domain as usize];
            collection.read += 1;
            collection.correcting += 1;
            self.dies[die as usize].correcting += 1;
            self.dies[die as usize].add(page, domain);
        }
    }

    /// Programs the group, which lands on one page offset; or what protects it, or a dummy page.
    fn add_collection_programs(&mut self, die: u32, domain: u32) {
        match self.collections[domain as usize].step {
            GcStep::Backup => self.add_backup(die, domain),
            GcStep::Fill => self.add_dummy(die, domain),
            GcStep::Update => self.add_update(die, domain),
            GcStep::Fetch => unreachable!("nothing is programmed for a fetch"),
            GcStep::Copy | GcStep::Erase(_) => self.add_copies(die, domain),
        }
        let collection = &mut self.collections[domain as usize];
        collection.group.clear();
        collection.read = 0;
    }

    fn add_backup(&mut self, die: u32, domain: u32) {
        let group = &self.collections[domain as usize].group;
        let contents = &self.contents.of(domain)[..group.pages().len()];
        let parity = contents.iter().fold(Content::EMPTY, |parity, &page| parity ^ page);
        let tag = self.device.ftl.backup_tag(group);
        let at = self.device.ftl.back_up(domain, group);
        self.device.use_lsb_only(at);
        self.device.flash.program(at, parity.tagged(tag)).expect_done();
        self.device.ftl.backed_up(domain);
        self.dies[die as usize].add(at, domain);
    }

    fn add_dummy(&mut self, die: u32, domain: u32) {
        let at = self.device.ftl.pad(domain);
        let spare = self.device.ftl.dummy_spare(at);
        self.device.flash.program(at, Content { spare, ..Content::EMPTY }).expect_done();
        self.dies[die as usize].add(at, domain);
    }

    /// Programs the next version of a translation page.
    #[cold]
    fn add_update(&mut self, die: u32, domain: u32) {
        let (lpn, at) = self.device.ftl.update(domain);
        let content = self.device.translation_content(lpn, at);
        self.device.flash.program(at, content).expect_done();
        self.dies[die as usize].add(at, domain);
    }

    fn add_copies(&mut self, die: u32, domain: u32) {
        for at in 0..self.collections[domain as usize].group.pages().len() {
            let from = self.collections[domain as usize].group.pages()[at];
            let content = self.contents.of(domain)[at];
            let (lpn, to) = self.device.ftl.copy(domain, from).expect("stale pages were dropped");
            let spare = self.device.ftl.copy_spare(content.spare, lpn, to);
            self.device.flash.program(to, Content { spare, ..content }).expect_done();
            count_move(&mut self.device.recorder.counters, self.dies[die as usize].cause);
            self.dies[die as usize].add(to, domain);
        }
        for _ in 0..self.collections[domain as usize].group.pads {
            self.add_dummy(die, domain);
        }
    }
}

// A command's way through channel and array.
impl Timed<'_, '_> {
    /// Counts the command and starts it.
    fn start(&mut self, die: u32) {
        self.idle.remove(die);
        self.end_idle_time(die);
        let Die { kind, cause, count, ref items, .. } = self.dies[die as usize];
        self.device.recorder.counters.command(cause, kind, u64::from(count));
        if count > 1 {
            let ppns = items.map(|item| item.ppn);
            self.device.flash.check_shared(kind, &ppns[..usize::from(count)]);
        }
        if self.device.lanes.are_several() && matches!(cause, Cause::Host | Cause::Rmw) {
            self.note_bystanders(die);
        }
        if kind == OpKind::Program || self.timing.command > Duration::ZERO {
            self.dies[die as usize].phase = Phase::Command;
            self.ask_channel(die);
        } else {
            self.start_array(die);
        }
    }

    /// Of the superpages of a command that was counted, the host is concerned with some lanes only.
    #[inline(never)]
    fn note_bystanders(&mut self, die: u32) {
        let Die { kind, cause, count, ref items, .. } = self.dies[die as usize];
        let items = &items[..usize::from(count)];
        let touched: u64 = items.iter().map(|item| u64::from(self.pool.get(item.what).share.touched)).sum();
        let all = u64::from(count) * u64::from(self.device.lanes.count);
        self.device.recorder.counters.bystand(cause, kind, all - touched, count > 1);
    }

    fn ask_channel(&mut self, die: u32) {
        let number = self.device.ftl.geometry().channel_of_die(die);
        let Die { phase, kind, .. } = self.dies[die as usize];
        let channel = &mut self.channels[number as usize];
        if channel.holder.is_some() {
            let line = if phase == Phase::Command && kind != OpKind::Program {
                &mut channel.commands
            } else {
                &mut channel.waiting
            };
            line.push_back(die);
        } else {
            self.grant(number, die);
        }
    }

    /// Gives a channel to a die for its next transfer.
    fn grant(&mut self, number: u32, die: u32) {
        self.channels[number as usize].holder = Some(die);
        let Die { phase, kind, cause, count, sent, .. } = self.dies[die as usize];
        let (cycles, pages) = match (phase, kind) {
            (Phase::Command, OpKind::Program) => (u64::from(count), u64::from(count)),
            (Phase::Command, _) => (u64::from(count), 0),
            _ => (0, 1),
        };
        let on_bus = self.now + self.timing.command * cycles + self.timing.transfer * pages;
        let until = on_bus.max(self.through_dram(pages));
        self.set_transfer(number, die, until);
        if !self.draining {
            self.device.recorder.channel_busy(number, cause, self.now, until);
        }
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(self.now, until)
        {
            let name = if pages == 0 {
                "command"
            } else if kind == OpKind::Read {
                "data out"
            } else {
                "data in"
            };
            let ppn = u64::from(self.dies[die as usize].items[usize::from(sent)].ppn.0);
            timeline.span(Track::Channel(number), name, cause, self.now, until, &[("ppn", ppn), ("pages", pages)]);
        }
    }

    /// When the controller's DRAM, which all channels share, has moved that many pages more.
    fn through_dram(&mut self, pages: u64) -> Instant {
        if self.timing.dram == Duration::ZERO || pages == 0 {
            return self.now;
        }
        self.dram_free = self.dram_free.max(self.now) + self.timing.dram * pages;
        self.dram_free
    }

    pub(super) fn transfer_done(&mut self, number: u32) {
        let die = self.channels[number as usize].holder.expect("a transfer has a die");
        let state = &mut self.dies[die as usize];
        if state.phase == Phase::Command {
            self.release(number);
            self.data_moved(die);
            self.start_array(die);
            return;
        }
        let item = state.items[usize::from(state.sent)];
        state.sent += 1;
        let more = state.sent < state.count;
        let collects = !matches!(state.cause, Cause::Host | Cause::Rmw);
        if more {
            self.grant(number, die);
        } else {
            self.release(number);
            self.become_idle(die);
        }
        self.correct(if collects { Delivery::Collection(item.what) } else { Delivery::Transaction(item.what) });
    }

    /// The data of a program are in the chip's register: the write buffer may give their room to other pages.
    fn data_moved(&mut self, die: u32) {
        let Die { kind, cause, count, .. } = self.dies[die as usize];
        if self.buffer.as_ref().is_none_or(|buffer| !buffer.releases_early())
            || (kind, cause) != (OpKind::Program, Cause::Host)
        {
            return;
        }
        for at in 0..usize::from(count) {
            let write = self.dies[die as usize].items[at].what;
            self.page_transferred(self.pool.get(write).owner);
        }
    }

    /// Frees a channel and gives it to the die that has waited longest.
    fn release(&mut self, number: u32) {
        let channel = &mut self.channels[number as usize];
        channel.holder = None;
        let next = channel.commands.pop_front().or_else(|| channel.waiting.pop_front());
        if let Some(die) = next {
            self.grant(number, die);
        }
    }

    fn start_array(&mut self, die: u32) {
        let Die { kind, cause, count, .. } = self.dies[die as usize];
        self.dies[die as usize].phase = Phase::Array;
        let time = if count > 1 && self.device.flash.planes_are_independent() {
            // The array is done when the slowest page is.
            let items = &self.dies[die as usize].items[..usize::from(count)];
            items.iter().map(|item| self.array_time(kind, item.ppn)).max().expect("pages of a command")
        } else {
            // Pages of one command share their offset, hence their type.
            self.array_time(kind, self.dies[die as usize].items[0].ppn)
        };
        let until = self.now + time;
        self.set_array(die, until);
        if !self.draining {
            self.device.recorder.die_busy(die, kind, self.now, until);
        }
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(self.now, until)
        {
            let name = match kind {
                OpKind::Read => "read",
                OpKind::Program => "program",
                OpKind::Erase => "erase",
            };
            timeline.span(Track::Die(die), name, cause, self.now, until, &[("pages", u64::from(count))]);
            for item in &self.dies[die as usize].items[..usize::from(count)] {
                let plane = self.device.ftl.geometry().place(item.ppn).plane;
                let ppn = u64::from(item.ppn.0);
                timeline.span(Track::Plane(plane), name, cause, self.now, until, &[("ppn", ppn)]);
            }
        }
    }

    #[inline]
    fn array_time(&self, kind: OpKind, ppn: Ppn) -> Duration {
        let offset = self.device.flash.page_offset(ppn) as usize;
        match kind {
            OpKind::Read => self.timing.read[offset],
            OpKind::Program => self.timing.program[offset],
            OpKind::Erase => self.timing.erase,
        }
    }

    /// A die's command is done.
    fn become_idle(&mut self, die: u32) {
        self.dies[die as usize].phase = Phase::Idle;
        self.idle.insert(die);
        self.wake(die);
    }

    pub(super) fn array_done(&mut self, die: u32) {
        let Die { phase, kind, cause, count, .. } = self.dies[die as usize];
        if phase == Phase::Idle {
            self.idle_expired(die);
            return;
        }
        if kind == OpKind::Read {
            self.dies[die as usize].phase = Phase::DataOut;
            self.ask_channel(die);
            return;
        }
        self.become_idle(die);
        // One item per block of an erase; a unit's blocks are in a row.
        let width = if kind == OpKind::Erase { self.device.ftl.geometry().unit_width as usize } else { 1 };
        for at in (0..usize::from(count)).step_by(width) {
            let Item { ppn, what } = self.dies[die as usize].items[at];
            match (kind, cause) {
                (OpKind::Erase, _) => self.erase_done(what, ppn),
                (_, Cause::Host) => self.write_done(what),
                _ => {}
            }
        }
    }

    fn erase_done(&mut self, domain: u32, first: Ppn) {
        let unit = self.device.ftl.geometry().unit_of(first);
        let erasure = self.device.ftl.erasure(domain, unit);
        self.device.flash.erase(unit);
        self.device.ftl.erased(domain, unit);
        self.note_collections(domain);
        if !self.forward.is_threshold() && erasure.forward && !self.device.ftl.is_collecting(domain) {
            self.follow_up(domain);
        }
        count_collection(&mut self.device.recorder.counters, erasure);
        self.device.after_collection();
    }

    /// Data have left a die: they are delivered once they are corrected.
    fn correct(&mut self, delivery: Delivery) {
        if self.timing.ecc == Duration::ZERO {
            self.deliver(delivery);
            return;
        }
        let ready = self.now + self.timing.ecc;
        if self.correcting.is_empty() {
            self.set_correction(ready);
        }
        self.correcting.push_back((ready, delivery));
    }

    pub(super) fn corrected(&mut self) {
        let (_, delivery) = self.correcting.pop_front().expect("a page under correction");
        if let Some(&(ready, _)) = self.correcting.front() {
            self.set_correction(ready);
        }
        self.deliver(delivery);
    }

    /// A translation page was read. Nothing is programmed: the step ends with its read.
    #[cold]
    fn fetch_done(&mut self, domain: u32) {
        let collection = &mut self.collections[domain as usize];
        collection.group.clear();
        collection.read = 0;
        self.device.ftl.fetched(domain);
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Transaction(read) => self.read_done(read),
            Delivery::Collection(domain) => {
                let die = self.device.ftl.geometry().die_of_domain(domain);
                let collection = &mut self.collections[domain as usize];
                collection.correcting -= 1;
                if matches!(collection.step, GcStep::Fetch) {
                    self.fetch_done(domain);
                }
                self.dies[die as usize].correcting -= 1;
                self.wake(die);
            }
        }
    }
}
