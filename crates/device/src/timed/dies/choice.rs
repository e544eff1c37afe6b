//! What a free die does next.

use base::{Lpn, Ppn};

use super::Timed;
use crate::scheduler::NOT_URGENT;
use crate::timed::queues::Transaction;
use crate::timed::schedule::Standing;

/// Waiting writes that a shared queue passes over at most in search of one that is ready.
const MAX_PASSED: usize = 64;

/// What the first of a die's reads waits for.
#[derive(Clone, Copy)]
pub(super) enum Read {
    /// This page.
    Page(u32, Ppn),
    /// Its map entry: the domain has steps to do.
    Entry(u32),
}

/// A write in a queue that can be programmed, behind its predecessor in the queue.
pub(super) type Found = (Option<u32>, u32);

/// What a free die could do, besides reads.
#[derive(Clone, Copy)]
pub(super) enum Task {
    /// Program the first write of a domain's own queue.
    Program(u32),
    /// Program from a shared queue, beginning with this write.
    ProgramShared(u32, Found),
    /// The next step of a domain's collection.
    Collect(u32),
}

impl Timed<'_, '_> {
    /// Lets every die that is free and may have work choose.
    pub(in crate::timed) fn dispatch(&mut self) {
        loop {
            if self.device.ftl.allocation().dynamic().is_some() {
                self.offer_shared_writes();
            }
            while let Some(die) = self.awake.pop() {
                self.dies[die as usize].awake = false;
                self.choose(die);
            }
            if !self.device.has_owners || !self.answer_calls() {
                return;
            }
        }
    }

    /// Wakes the dies of domains that have got something to do for others. Returns whether there are any, or a map entry
    /// came that a write may have waited for.
    #[cold]
    fn answer_calls(&mut self) -> bool {
        let mut any = false;
        while let Some(domain) = self.device.ftl.take_woken() {
            self.wake(self.device.ftl.geometry().die_of_domain(domain));
            any = true;
        }
        any
    }

    /// Offers waiting writes of a dynamic allocation to free dies, round robin.
    pub(super) fn offer_shared_writes(&mut self) {
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

    pub(in crate::timed) fn wake(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        if !state.awake {
            state.awake = true;
            self.awake.push(die);
        }
    }

    /// A queue of writes has something new. Shared queues are looked at anyway.
    pub(in crate::timed) fn wake_queue(&mut self, queue: u32) {
        if self.device.ftl.allocation().dynamic().is_none() {
            self.wake(self.device.ftl.geometry().die_of_domain(queue));
        }
    }

    pub(in crate::timed) fn queue_read(&mut self, die: u32, read: u32) {
        self.dies[die as usize].reads.push(&mut self.pool, read);
        self.wake(die);
    }

    pub(super) fn choose(&mut self, die: u32) {
        if !self.dies[die as usize].is_idle() {
            return;
        }
        let read = self.oldest_read(die);
        let mut other = self.oldest_task(die);
        if !self.forward.is_threshold()
            && let Some((_, Task::Program(domain))) = other
            && self.device.ftl.is_busy(domain)
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
            (_, Some((_, Task::ProgramShared(queue, found)))) => self.issue_shared_program(die, queue, found),
            (_, Some((_, Task::Collect(domain)))) => self.issue_collection(die, domain),
            (None, None) => {
                if !self.forward.is_threshold() && self.fill_idle_time(die) {
                    self.wake(die);
                }
            }
        }
    }

    /// The first waiting read, translated now. Reads whose page moved to another die go there; reads whose
    /// page was trimmed are answered. A read whose map entry is in flash waits for it on the die of the entry, and the
    /// reads behind it.
    pub(super) fn oldest_read(&mut self, die: u32) -> Option<Read> {
        loop {
            let read = self.dies[die as usize].reads.first()?;
            let Transaction { lpn, translated, .. } = *self.pool.get(read);
            if self.device.map_in_flash && !translated && !self.device.ftl.prepare_read(lpn) {
                let home = self.device.ftl.owner_of(lpn);
                let at_home = self.device.ftl.geometry().die_of_domain(home);
                if at_home == die {
                    return self.await_entry(die, home);
                }
                self.dies[die as usize].reads.remove(&mut self.pool, None, read);
                self.queue_read(at_home, read);
                continue;
            }
            let found = self.device.ftl.lookup(lpn);
            if let Some(ppn) = found
                && self.device.ftl.geometry().die_of(ppn) == die
            {
                return Some(Read::Page(read, ppn));
            }
            self.dies[die as usize].reads.remove(&mut self.pool, None, read);
            // By the time of its turn there the entry may have made way for another.
            self.pool.get_mut(read).translated = true;
            match found {
                Some(ppn) => self.queue_read(self.device.ftl.geometry().die_of(ppn), read),
                None => self.read_vanished(read),
            }
        }
    }

    /// What the home of a read's map entry has to do, unless that is under way or an entry is held for a write.
    #[cold]
    pub(super) fn await_entry(&mut self, die: u32, domain: u32) -> Option<Read> {
        let has_step = !self.is_correcting(die, domain) && (!self.device.has_owners || self.has_step(domain));
        has_step.then_some(Read::Entry(domain))
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
    pub(super) fn oldest_task(&mut self, die: u32) -> Option<(u64, Task)> {
        let mut best: Option<(u64, u64, Task)> = None;
        let mut offer = |age: u64, begun: u64, task: Task| {
            if best.is_none_or(|(oldest, first, _)| (age, begun) < (oldest, first)) {
                best = Some((age, begun, task));
            }
        };
        let dynamic = self.device.ftl.allocation().dynamic().map(|dynamic| dynamic.queue_of_die(die));
        // Pages that were read together may be programmed together: a collection waits, for the time of a
        // correction at most, until those of the die's other collections are correct too.
        let correcting = self.scheduler.merges_collections() && self.dies[die as usize].correcting > 0;
        for domain in self.device.ftl.geometry().domains_of_die(die) {
            let mut collects = self.device.ftl.is_busy(domain);
            if collects && self.device.has_owners && !self.is_correcting(die, domain) && !self.has_step(domain) {
                // It waits for others, unless what it had to do was found to be done.
                collects = self.device.ftl.is_busy(domain);
                if collects {
                    continue;
                }
            }
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
                    let is_foreground = self.device.ftl.why(domain).is_none_or(ftl::Why::is_foreground);
                    let is_mandatory = is_foreground || !self.forward.is_threshold();
                    let queue = dynamic.unwrap_or(domain);
                    let age = match self.writes[queue as usize].first_age().filter(|_| is_mandatory) {
                        Some(age) => age,
                        // Pages in the write buffer that would leave now are older than any read that waits.
                        None if is_mandatory && self.has_buffered(queue) => 0,
                        None => NOT_URGENT,
                    };
                    offer(age, begun, Task::Collect(domain));
                }
            } else if dynamic.is_none()
                && let Some((age, lpn)) = self.ready_write(domain)
            {
                if self.device.ftl.prepare(domain, lpn) {
                    offer(age, 0, Task::Program(domain));
                } else {
                    self.note_collections(domain);
                    offer(age, self.begun[domain as usize], Task::Collect(domain));
                }
            }
        }
        if let Some(queue) = dynamic
            && self.device.ftl.peek_domain_of(die).is_some()
            && let Some(found) = self.ready_shared_write(queue)
            // Writes that were passed over may just have sent a plane for their map entries.
            && (!self.device.has_owners || self.device.ftl.peek_domain_of(die).is_some())
        {
            // Behind collections that the same write waits for.
            offer(self.pool.get(found.1).age, u64::MAX, Task::ProgramShared(queue, found));
        }
        best.map(|(age, _, task)| (age, task))
    }

    /// The same once more; out of line, so that the common call is compiled into its place.
    #[cold]
    #[inline(never)]
    pub(super) fn next_oldest_task(&mut self, die: u32) -> Option<(u64, Task)> {
        self.oldest_task(die)
    }

    /// Whether pages of a domain's collection are on their way or being corrected.
    #[inline]
    pub(super) fn is_correcting(&self, die: u32, domain: u32) -> bool {
        self.dies[die as usize].correcting > 0 && self.collections[domain as usize].correcting > 0
    }

    /// The age and the page of the first write of a domain's queue, if it can be programmed. Writes of one
    /// domain keep their order.
    #[inline]
    pub(super) fn ready_write(&mut self, queue: u32) -> Option<(u64, Lpn)> {
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
    pub(super) fn prepare_write(&mut self, queue: u32) -> Option<(u64, Lpn)> {
        self.run_trims(queue);
        if self.device.map_in_flash && self.device.ftl.is_busy(queue) {
            return None;
        }
        let write = match self.writes[queue as usize].first() {
            Some(write) => write,
            None => self.supply(queue)?,
        };
        let Transaction { age, lpn, .. } = *self.pool.get(write);
        self.is_ready(write).then_some((age, lpn))
    }

    pub(super) fn is_ready(&mut self, write: u32) -> bool {
        let Transaction { waiting, partial, lpn, .. } = *self.pool.get(write);
        if waiting {
            return false;
        }
        // A page that was unmapped when its write arrived may have been written since.
        let fetching = partial && self.fetch_old(write);
        !fetching && (!self.device.has_owners || self.device.ftl.prepare_entry(lpn))
    }

    /// The first write of a shared queue that can be programmed, with its predecessor in the queue. Writes
    /// that wait for their old data or their map entry are passed over, but never a write of the same page.
    pub(super) fn ready_shared_write(&mut self, queue: u32) -> Option<Found> {
        let waiting = &self.writes[queue as usize];
        if waiting.first_is_plain() && !self.device.has_owners {
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
