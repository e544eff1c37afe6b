//! Commands: what goes into one, and what changes with it in the FTL and in the array.

use base::{Cause, Lpn, OpKind, Ppn};
use ftl::{Coming, Group, How, Op, Peek, Placed, Put, Step};

use super::choice::{Found, Read};
use super::{Collection, Timed};
use crate::device::{copy_back, count_move};
use crate::flash::Content;
use crate::timed::queues::Transaction;
use crate::timed::schedule::Standing;

impl Timed<'_, '_> {
    pub(super) fn serve_read(&mut self, die: u32, read: Read) {
        match read {
            Read::Page(read, ppn) => self.issue_read(die, read, ppn),
            Read::Entry(domain) => self.issue_collection(die, domain),
        }
    }

    pub(super) fn issue_read(&mut self, die: u32, read: u32, ppn: Ppn) {
        let cause = self.read_cause(read);
        self.dies[die as usize].begin(OpKind::Read, cause);
        self.dies[die as usize].reads.remove(&mut self.pool, None, read);
        self.add_read(die, read, ppn);
        if self.device.ftl.geometry().planes_per_die > 1 {
            self.join_reads(die, read, ppn, cause);
        }
        self.start(die);
    }

    pub(super) fn add_read(&mut self, die: u32, read: u32, ppn: Ppn) {
        let content = self.device.flash.read(ppn);
        let Transaction { lpn, version, .. } = *self.pool.get(read);
        self.device.ftl.read(lpn);
        self.device.check_read(lpn, version, content);
        self.dies[die as usize].add(ppn, read);
    }

    /// Adds waiting reads of other planes that fit the first one's address.
    pub(super) fn join_reads(&mut self, die: u32, first: u32, ppn: Ppn, cause: Cause) {
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
            let Transaction { age, lpn, translated, .. } = *self.pool.get(read);
            let found = self.device.ftl.lookup(lpn).filter(|&other| {
                (!self.device.map_in_flash || translated || self.device.ftl.is_known(lpn))
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
    pub(super) fn is_new_plane(&self, die: u32, ppn: Ppn) -> bool {
        let geometry = self.device.ftl.geometry();
        let plane = geometry.place(ppn).plane;
        let state = &self.dies[die as usize];
        plane / geometry.planes_per_die == die
            && state.items[..usize::from(state.count)].iter().all(|item| geometry.place(item.ppn).plane != plane)
    }

    /// Programs the first write of a domain, and with it the first writes of other domains of the die that
    /// fit its address.
    pub(super) fn issue_program(&mut self, die: u32, first: u32) {
        self.dies[die as usize].begin(OpKind::Program, Cause::Host);
        let lpn = self.writes[first as usize].first_lpn().expect("a ready write");
        let lead = self.device.ftl.peek(first, Peek::Host(lpn));
        let mut last_age = self.program_from(die, first, first);
        for _ in 1..self.device.ftl.geometry().unit_width {
            let Some(age) = self.join_program(die, first, lead, last_age) else { break };
            last_age = age;
        }
        for domain in self.device.ftl.geometry().domains_of_die(die) {
            if domain == first || self.device.ftl.is_busy(domain) {
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

    /// Adds the next write of a domain whose units lie on all planes of the die, if it fits the first one's address, and
    /// returns its age. Such a unit is filled plane by plane; but a page of another stream goes to another unit, perhaps on a
    /// plane that the command has already.
    ///
    /// Apart from the loop over the other domains, which does the same: called for both, that one was slower by 3 %.
    #[inline(never)]
    fn join_program(&mut self, die: u32, domain: u32, lead: Ppn, last_age: u64) -> Option<u64> {
        if self.device.ftl.is_busy(domain) {
            return None;
        }
        let (age, lpn) = self.ready_write(domain)?;
        let fits = self.scheduler.may_join(last_age, age) && self.device.ftl.prepare(domain, lpn) && {
            let next = self.device.ftl.peek(domain, Peek::Host(lpn));
            self.device.flash.may_share_command(lead, next) && self.is_new_plane(die, next)
        };
        self.note_need(domain);
        fits.then(|| self.program_from(die, domain, domain))
    }

    pub(super) fn fits_host_frontier(&mut self, lead: Ppn, domain: u32, lpn: Lpn) -> bool {
        let next = self.device.ftl.peek(domain, Peek::Host(lpn));
        self.device.flash.may_share_command(lead, next)
    }

    /// Programs the first ready writes of a shared queue: one, which was found, or as many as the allocation gives a die at
    /// once and as fit one command.
    pub(super) fn issue_shared_program(&mut self, die: u32, queue: u32, found: Found) {
        let burst = self.device.ftl.allocation().dynamic().map_or(1, ftl::allocation::Dynamic::burst);
        let first = self.device.ftl.next_domain_of(die).expect("a domain of the die accepts pages");
        let lpn = self.pool.get(found.1).lpn;
        if !self.device.ftl.prepare(first, lpn) {
            self.note_collections(first);
            self.issue_collection(die, first);
            return;
        }
        self.dies[die as usize].begin(OpKind::Program, Cause::Host);
        let lead = self.device.ftl.peek(first, Peek::Host(lpn));
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
            let next = self.device.ftl.peek(domain, Peek::Host(lpn));
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
    pub(super) fn program_from(&mut self, die: u32, queue: u32, domain: u32) -> u64 {
        let write = self.writes[queue as usize].first().expect("a ready write");
        self.writes[queue as usize].remove(&mut self.pool, None, write);
        if let Some(next) = self.writes[queue as usize].first_lpn() {
            // In a deep queue it has waited for so long that nothing of it is near any more.
            self.device.ftl.prefetch(Coming::Lookup(next));
        }
        self.program(die, domain, write)
    }

    /// Takes what [`Timed::ready_shared_write`] found in a queue, and programs it in a domain. Returns its age.
    pub(super) fn program_shared(&mut self, die: u32, queue: u32, (previous, write): Found, domain: u32) -> u64 {
        self.writes[queue as usize].remove(&mut self.pool, previous, write);
        self.program(die, domain, write)
    }

    pub(super) fn program(&mut self, die: u32, domain: u32, write: u32) -> u64 {
        let Transaction { lpn, version, age, .. } = *self.pool.get(write);
        let placed = self.device.ftl.write(domain, lpn);
        let content = self.device.content_of(placed, self.device.expected(lpn, version));
        self.device.program_placed(placed, content).expect_done();
        self.begin_program(write);
        self.dies[die as usize].add(placed.at, write);
        self.note_collections(domain);
        age
    }

    /// Notes which collections begin; called wherever one of this domain may.
    pub(in crate::timed) fn note_collections(&mut self, domain: u32) {
        if self.device.ftl.is_busy(domain) {
            self.note_collection(domain);
        }
        self.note_neighbours();
        self.note_need(domain);
    }

    /// Notes which collections began along with another one.
    fn note_neighbours(&mut self) {
        for neighbour in self.device.ftl.take_early() {
            self.note_collection(neighbour);
            self.wake(self.device.ftl.geometry().die_of_domain(neighbour));
        }
    }

    pub(super) fn note_collection(&mut self, domain: u32) {
        self.collections_begun += 1;
        self.begun[domain as usize] = self.collections_begun;
    }

    /// The next step of a domain's collection, and with it equal steps of the die's other collections that
    /// fit its address.
    pub(super) fn issue_collection(&mut self, die: u32, domain: u32) {
        let turn = self.turn_of(domain);
        let Some((kind, cause, lead)) = self.collection_step(domain) else {
            // What was to be protected is stale by now and the host's page can go; or the victim is held, and its
            // collection is over.
            self.note_need(domain);
            self.wake(die);
            return;
        };
        self.count_turn(domain, turn);
        if self.device.map_in_flash {
            // A step for the map may have begun a collection.
            self.note_neighbours();
            self.note_need(domain);
        }
        self.dies[die as usize].begin(kind, cause);
        let mut sources = self.sources(domain);
        self.add_collection(die, domain, kind, lead);
        if self.scheduler.merges_collections() {
            for other in self.device.ftl.geometry().domains_of_die(die) {
                if other == domain || self.is_correcting(die, other) || !self.device.ftl.is_busy(other) {
                    continue;
                }
                if !self.forward.is_threshold() && !matches!(self.standing(other), Standing::Goes) {
                    continue;
                }
                let turn = self.turn_of(other);
                let Some((other_kind, other_cause, ppn)) = self.collection_step(other) else {
                    self.note_need(other);
                    continue;
                };
                let fits = (kind, cause) == (other_kind, other_cause)
                    && match kind {
                        OpKind::Erase => {
                            let unit_of = |ppn| self.device.ftl.geometry().unit_of(ppn);
                            self.device.flash.may_share_erase(unit_of(lead), unit_of(ppn))
                        }
                        OpKind::Read | OpKind::Program => self.device.flash.may_share_command(lead, ppn),
                    }
                    && self.may_share_sources(&sources, &self.sources(other));
                if fits {
                    self.sources(other).pages().iter().for_each(|&page| sources.push(page));
                    self.add_collection(die, other, kind, ppn);
                }
                if fits || !self.device.ftl.rests(other) {
                    self.count_turn(other, turn);
                }
            }
        }
        if !sources.pages().is_empty() {
            self.device.flash.check_shared(OpKind::Read, sources.pages());
            self.dies[die as usize].copies = self.timing.copies_from(&self.device.flash, sources.pages());
        }
        self.start(die);
    }

    /// The pages that a domain's step copies inside their planes.
    fn sources(&self, domain: u32) -> Group {
        let Collection { group, step, .. } = &self.collections[domain as usize];
        if step.op == Op::Move(How::Copyback) { *group } else { Group::EMPTY }
    }

    /// Whether two steps are copybacks that one command can hold, or neither is one.
    fn may_share_sources(&self, first: &Group, second: &Group) -> bool {
        match (first.pages(), second.pages()) {
            ([], []) => true,
            ([first, ..], [second, ..]) => self.device.flash.may_share_command(*first, *second),
            _ => false,
        }
    }

    /// Whether a domain's collection has a step to do, and does not wait for other domains.
    #[cold]
    pub(super) fn has_step(&mut self, domain: u32) -> bool {
        self.forget_stale_pages(domain);
        !self.collections[domain as usize].group.pages().is_empty() || self.next_step(domain).is_some()
    }

    /// Has the FTL decide what a domain does next, and takes it in hand.
    fn next_step(&mut self, domain: u32) -> Option<Step> {
        self.device.ftl.advance(domain);
        let Collection { group, step, .. } = &mut self.collections[domain as usize];
        *step = self.device.ftl.op(domain, group)?;
        Some(*step)
    }

    /// What a collection does next, and where: the first page to read, the first place to program, or the
    /// first page of the unit to erase.
    pub(super) fn collection_step(&mut self, domain: u32) -> Option<(OpKind, Cause, Ppn)> {
        self.forget_stale_pages(domain);
        let Collection { group, step: Step { op, cause }, read, .. } = &self.collections[domain as usize];
        if let Some(&from) = group.pages().get(usize::from(*read)) {
            if *op == Op::Move(How::Copyback) {
                return Some((OpKind::Program, *cause, self.device.ftl.peek(domain, Peek::Copy(from))));
            }
            return Some((OpKind::Read, *cause, from));
        }
        if *read > 0 {
            let whose = if *op == Op::Combine { Peek::Combined(*cause) } else { Peek::Copy(group.pages()[0]) };
            return Some((OpKind::Program, *cause, self.device.ftl.peek(domain, whose)));
        }
        let Step { op, cause } = self.next_step(domain)?;
        let first = self.collections[domain as usize].group.pages().first().copied();
        let ftl = &mut self.device.ftl;
        Some(match (op, first) {
            (Op::Erase(unit), _) => (OpKind::Erase, cause, ftl.geometry().ppn(unit, 0)),
            (Op::Pad, _) => (OpKind::Program, cause, ftl.peek(domain, Peek::Dummy)),
            (Op::Move(How::Copyback), Some(page)) => (OpKind::Program, cause, ftl.peek(domain, Peek::Copy(page))),
            (_, Some(page)) => (OpKind::Read, cause, page),
            (_, None) => (OpKind::Program, cause, ftl.peek(domain, Peek::Combined(cause))),
        })
    }

    /// Drops pages that were overwritten or trimmed since the collection chose them.
    pub(super) fn forget_stale_pages(&mut self, domain: u32) {
        let collection = &mut self.collections[domain as usize];
        let mut at = 0;
        while let Some(&page) = collection.group.pages().get(at) {
            if self.device.ftl.is_valid(page) {
                at += 1;
            } else {
                if collection.step.op == Op::Move(How::Copyback) {
                    // Those behind it would land in other planes.
                    collection.step.op = Op::Move(How::OffChip);
                }
                collection.group.remove(at);
                collection.read -= u8::from(at < usize::from(collection.read));
                self.contents.remove(domain, at);
            }
        }
    }

    pub(super) fn add_collection(&mut self, die: u32, domain: u32, kind: OpKind, lead: Ppn) {
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
    pub(super) fn add_collection_reads(&mut self, die: u32, domain: u32, lead: Ppn) {
        loop {
            let Collection { group, read, .. } = &self.collections[domain as usize];
            let at = usize::from(*read);
            let Some(&page) = group.pages().get(at) else { return };
            let joins = page == lead || self.device.flash.may_share_command(lead, page) && self.is_new_plane(die, page);
            if !joins {
                return;
            }
            self.device.ftl.prefetch(Coming::Copy(page));
            self.contents.set(domain, at, self.device.flash.read(page));
            let collection = &mut self.collections[domain as usize];
            collection.read += 1;
            collection.correcting += 1;
            self.dies[die as usize].correcting += 1;
            self.dies[die as usize].add(page, domain);
        }
    }

    /// Programs what the operation in hand programs: the group, which lands on one page offset, or a page that is made of
    /// it, or a dummy page.
    pub(super) fn add_collection_programs(&mut self, die: u32, domain: u32) {
        match self.collections[domain as usize].step.op {
            Op::Move(How::OffChip) => self.add_copies(die, domain),
            Op::Move(How::Copyback) => self.add_copybacks(die, domain),
            Op::Combine => self.add_combined(die, domain),
            Op::Pad => self.add_dummy(die, domain),
            Op::Read | Op::Erase(_) => unreachable!("these program nothing"),
        }
        let collection = &mut self.collections[domain as usize];
        collection.group.clear();
        collection.read = 0;
    }

    /// Programs a page that is made of the pages of the group: their exclusive-or, or the next version of a page of the map.
    #[cold]
    pub(super) fn add_combined(&mut self, die: u32, domain: u32) {
        let Collection { group, step, .. } = &self.collections[domain as usize];
        let pages = (0..group.pages().len()).map(|at| self.contents.get(domain, at));
        let parity = pages.fold(Content::EMPTY, |parity, page| parity ^ page);
        let placed = self.device.ftl.place(domain, Put::Combined(step.cause, group)).expect("it is not a copy");
        self.add_program(die, domain, placed, parity);
    }

    pub(super) fn add_dummy(&mut self, die: u32, domain: u32) {
        let placed = self.device.ftl.place(domain, Put::Dummy).expect("it is not a copy");
        self.add_program(die, domain, placed, Content::EMPTY);
    }

    pub(super) fn add_copies(&mut self, die: u32, domain: u32) {
        for at in 0..self.collections[domain as usize].group.pages().len() {
            let from = self.collections[domain as usize].group.pages()[at];
            let content = self.contents.get(domain, at);
            let placed = self.device.ftl.place(domain, Put::Copy(from)).expect("stale pages were dropped");
            count_move(&mut self.device.recorder.counters, self.dies[die as usize].cause);
            self.add_program(die, domain, placed, content);
        }
        for _ in 0..self.collections[domain as usize].group.pads {
            self.add_dummy(die, domain);
        }
    }

    /// Copies the pages of the group inside their planes.
    fn add_copybacks(&mut self, die: u32, domain: u32) {
        for at in 0..self.collections[domain as usize].group.pages().len() {
            let from = self.collections[domain as usize].group.pages()[at];
            let placed = self.device.ftl.place(domain, Put::Copy(from)).expect("stale pages were dropped");
            count_move(&mut self.device.recorder.counters, self.dies[die as usize].cause);
            copy_back(&mut self.device.flash, from, placed).expect_done();
            self.dies[die as usize].add(placed.at, domain);
        }
    }

    /// Programs a page that a domain placed, made of `data`.
    #[inline(always)]
    fn add_program(&mut self, die: u32, domain: u32, placed: Placed, data: Content) {
        let content = self.device.content_of(placed, data);
        self.device.program_placed(placed, content).expect_done();
        self.dies[die as usize].add(placed.at, domain);
    }
}
