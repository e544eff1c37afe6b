//! Merges, step by step.

use base::{Cause, Domain, Lpn, Ppn, Slot, Unit};

use super::{Fast, Gather, LogDomain, Merge, NONE, Recycling, UnitRole};
use crate::group::Group;
use crate::kernel::Why;
use crate::ops::{Array, Erasure, How, Op, PagePayload, Placed, Step, Way};
use crate::pool::FreePool;

/// A page that was placed. Spare areas hold nothing: a log in order of writing says by itself what is newest, and nothing
/// restarts from it.
pub(super) fn placed(at: Ppn, holds: PagePayload) -> Placed {
    Placed { at, holds, tag: 0, way: Way::Plain }
}

/// Programs fail only where the mapping can repair it, which is checked first.
pub(super) const NO_FAULTS: &str = "hybrid mapping is not exposed to faults";

/// Pages by which a merge asks memory ahead for what is known of a page.
const AHEAD: u32 = 2;

/// Which merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeKind {
    /// A full sequential-write log block becomes the data block.
    Switch,
    /// A sequential-write log block is completed from elsewhere, then becomes the data block.
    Partial,
    /// A logical block is gathered for the sake of a random-write log block.
    Full,
}

/// The work of merges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    /// Switch merges.
    pub switch: u64,
    /// Partial merges.
    pub partial: u64,
    /// Random-write log blocks that were recycled by full merges.
    pub full: u64,
    /// Of these, begun ahead of need.
    pub forward: u64,
    /// Logical blocks that full merges gathered.
    pub gathered: u64,
    /// Pages copied.
    pub copied: u64,
    /// Dummy pages programmed.
    pub padded: u64,
}

impl Fast {
    /// True if a domain is busy with merges, so that it takes no host page.
    #[inline]
    pub fn is_busy(&self, domain: Domain) -> bool {
        let LogDomain { merge, erase, recycling, .. } = &self.domains[domain.index()];
        merge.is_some() || erase.is_some() || recycling.is_some_and(|recycling| !recycling.suspended)
    }

    /// True if the merges in progress were begun ahead of need.
    pub fn is_forward(&self, domain: Domain) -> bool {
        let LogDomain { merge, recycling, .. } = &self.domains[domain.index()];
        let is_full = merge.is_none_or(|merge| merge.kind == MergeKind::Full);
        is_full && recycling.is_some_and(|recycling| recycling.forward && !recycling.suspended)
    }

    /// Begins to recycle the oldest random-write log block ahead of need, or goes on with it. Returns whether there is
    /// one that takes no more pages.
    pub fn begin_forward(&mut self, domain: Domain) -> bool {
        if let Some(recycling) = &mut self.domains[domain.index()].recycling {
            recycling.suspended = false;
            return true;
        }
        // Moves the mark past blocks that were filled since.
        self.random_log_block(domain);
        if self.domains[domain.index()].filled == 0 {
            return false;
        }
        self.begin_recycling(domain, true);
        true
    }

    /// True if the domain stands between two logical blocks of a full merge, or in no merge at all, and its log has
    /// room, so that it may take host pages.
    pub fn may_suspend(&mut self, domain: Domain) -> bool {
        let LogDomain { merge, erase, .. } = &self.domains[domain.index()];
        merge.is_none() && erase.is_none() && self.has_room(domain)
    }

    /// Suspends the full merge. It goes on when the log has no room left, or with [`Fast::begin_forward`]; always
    /// with the same log block, which is still the oldest.
    ///
    /// # Panics
    /// Unless [`Fast::may_suspend`].
    pub fn suspend(&mut self, domain: Domain) {
        assert!(self.may_suspend(domain), "merges rest between two logical blocks only");
        if let Some(recycling) = &mut self.domains[domain.index()].recycling {
            recycling.suspended = true;
        }
    }

    /// Why a log block is being recycled, if one is. A merge of the sequential-write log block alone is no collection.
    #[inline]
    pub fn why(&self, domain: Domain) -> Option<Why> {
        if self.is_forward(domain) {
            return Some(Why::Forward);
        }
        let recycling = self.domains[domain.index()].recycling?;
        (!recycling.forward && !recycling.suspended).then_some(Why::Room)
    }

    /// True if merges stand between two logical blocks.
    pub fn rests(&self, domain: Domain) -> bool {
        let LogDomain { merge, erase, .. } = &self.domains[domain.index()];
        merge.is_none() && erase.is_none()
    }

    /// True if a log block that holds nothing newest any more waits for its erase.
    pub fn has_emptied(&self, domain: Domain) -> bool {
        let LogDomain { recycling, emptied, .. } = &self.domains[domain.index()];
        recycling.is_some() && (*emptied > 0 || self.valid[self.random_at(domain, 0).index()] == 0)
    }

    /// Makes the erase of the oldest emptied log block the next step.
    ///
    /// # Panics
    /// Unless [`Fast::has_emptied`] and [`Fast::rests`].
    pub fn erase_emptied(&mut self, domain: Domain) {
        assert!(self.has_emptied(domain) && self.rests(domain), "an emptied log block waits for its erase");
        if let Some(recycling) = &mut self.domains[domain.index()].recycling {
            recycling.erases = true;
        }
    }

    /// Has the recycling go on with pages to merge: where its log block is empty, leaves the erase for later and goes
    /// on with the next one (Wen and Chang, section 3.4.1). Returns whether there are such pages.
    pub fn defer_erase(&mut self, domain: Domain) -> bool {
        // Moves the mark past blocks that were filled since.
        self.random_log_block(domain);
        let LogDomain { recycling, emptied, filled, .. } = self.domains[domain.index()];
        let Some(recycling) = recycling else { return false };
        for behind in emptied..filled {
            let cursor = if behind == emptied { recycling.cursor } else { Slot::FIRST };
            if self.next_valid(self.random_at(domain, behind), cursor).is_some() {
                let state = &mut self.domains[domain.index()];
                state.emptied = behind;
                state.recycling = Some(Recycling { cursor, ..recycling });
                return true;
            }
        }
        false
    }

    /// Begins with the next logical block where the last one is done.
    pub fn advance(&mut self, domain: Domain) {
        let LogDomain { merge, erase, recycling, emptied, .. } = self.domains[domain.index()];
        let Some(recycling) = recycling.filter(|recycling| !recycling.suspended) else { return };
        if erase.is_some() || merge.is_some() || emptied > 0 && (recycling.erases || !recycling.forward) {
            return;
        }
        let victim = self.random_at(domain, emptied);
        if let Some((slot, lpn)) = self.next_valid(victim, recycling.cursor) {
            self.gather(domain, victim, slot, lpn);
        }
    }

    /// The next operation of a domain's merges; `None` when there is none. The page to copy is put into `group`.
    pub fn op(&self, domain: Domain, group: &mut Group) -> Option<Step> {
        group.clear();
        let LogDomain { merge, erase, recycling, .. } = self.domains[domain.index()];
        let op = if let Some(spent) = erase {
            Op::Erase(spent)
        } else if let Some(merge) = merge {
            match self.to_merge(domain, &merge, merge.cursor) {
                None => Op::Pad,
                Some(from) => {
                    group.push(from);
                    // Newest versions lie all over the log; whether they are valid still is asked for in the next steps.
                    if merge.cursor + AHEAD < merge.end {
                        self.prefetch_old(self.lpn(domain, merge.block, merge.cursor + AHEAD));
                    }
                    Op::Move(How::OffChip)
                }
            }
        } else {
            recycling.filter(|recycling| !recycling.suspended)?;
            Op::Erase(self.random_at(domain, 0))
        };
        Some(Step::new(op, Cause::Gc))
    }

    /// The newest version of the page at an offset of a logical block, if the merge takes it along.
    #[inline]
    fn to_merge(&self, domain: Domain, merge: &Merge, offset: u32) -> Option<Ppn> {
        let from = self.lookup(self.lpn(domain, merge.block, offset))?;
        let taken = match self.options.gather {
            Gather::All => true,
            Gather::Victim => {
                let unit = self.geometry.unit_of(from);
                // A page in a data block is in that of its own logical block, which the merge replaces.
                unit == merge.log || self.roles[unit.index()] == UnitRole::Data
            }
        };
        taken.then_some(from)
    }

    /// The next slot of a unit with a newest version, and whose.
    fn next_valid(&self, unit: Unit, from: Slot) -> Option<(Slot, Lpn)> {
        if self.valid[unit.index()] == 0 {
            return None;
        }
        let first = self.geometry.ppn(unit, Slot::FIRST).index();
        let slots = &self.reverse[first..first + self.geometry.unit_slots() as usize];
        let slot = self.geometry.slots_from(from).find(|&slot| slots[slot.index()] != NONE)?;
        Some((slot, Lpn(slots[slot.index()])))
    }

    /// Begins to gather the logical block of a page in the log block that is recycled.
    fn gather(&mut self, domain: Domain, victim: Unit, slot: Slot, lpn: Lpn) {
        if let Some(recycling) = &mut self.domains[domain.index()].recycling {
            recycling.cursor = slot;
        }
        let (block, _) = self.block_and_offset(lpn);
        let open = self.domains[domain.index()].sequential.filter(|open| open.block == block);
        if let Some(open) = open {
            // Its pages are the newest ones of their offsets: a write to any of them would have broken it off.
            self.domains[domain.index()].sequential = None;
            let cursor = u32::from(self.used[open.unit.index()]);
            self.begin_merge(domain, MergeKind::Full, block, open.unit, victim, cursor);
        } else {
            let destination = self.take_next(domain, UnitRole::Destination);
            self.begin_merge(domain, MergeKind::Full, block, destination, victim, 0);
        }
    }

    /// Where the next page of the merge in progress goes.
    ///
    /// # Panics
    /// If no logical block is being merged.
    pub(super) fn next_copy_page(&self, domain: Domain) -> Ppn {
        let merge = self.domains[domain.index()].merge.expect("a logical block is being merged");
        self.geometry.ppn(merge.destination, Slot::new(merge.cursor))
    }

    /// Moves a page that was read for a merge: its logical page and new place, or `None` if it was trimmed since and
    /// there is nothing to move.
    ///
    /// # Panics
    /// If it is not this page's turn.
    fn copy(&mut self, domain: Domain, from: Ppn) -> Option<Placed> {
        let lpn = self.reverse[from.index()];
        if lpn == NONE {
            return None;
        }
        let lpn = Lpn(lpn);
        let merge = self.domains[domain.index()].merge.as_mut().expect("a logical block is being merged");
        let Merge { block, destination, cursor, end, is_trimmed, .. } = *merge;
        merge.cursor += 1;
        assert_eq!(self.block_and_offset(lpn), (block, cursor), "pages are merged in the order of their offsets");
        self.invalidate(lpn);
        let at = self.place_at(destination, Slot::new(cursor), lpn);
        self.merges.copied += 1;
        // Else the last page is still to be merged, and the log has as much room as before.
        if cursor + 1 == end || !is_trimmed {
            self.settle(domain);
        }
        Some(placed(at, PagePayload::Data(lpn)))
    }

    /// The place of a dummy page, which [`Op::Pad`] asked for.
    ///
    /// # Panics
    /// If no logical block is being merged.
    fn pad(&mut self, domain: Domain) -> Placed {
        let at = self.next_copy_page(domain);
        if let Some(merge) = &mut self.domains[domain.index()].merge {
            merge.cursor += 1;
        }
        self.merges.padded += 1;
        self.settle(domain);
        placed(at, PagePayload::Nothing)
    }

    /// Places a page of the merge in progress, if the place of the page suits. `None` if not, or if it was to be copied, and was
    /// trimmed since.
    ///
    /// # Panics
    /// If it is not this page's turn.
    pub fn place(
        &mut self,
        domain: Domain,
        step: Step,
        pages: &[Ppn],
        suits: Option<impl FnOnce(Ppn) -> bool>,
    ) -> Option<Placed> {
        if let Some(suits) = suits
            && !suits(self.next_copy_page(domain))
        {
            return None;
        }
        match (step.op, pages) {
            (Op::Move(_), &[from]) => self.copy(domain, from),
            (Op::Pad, []) => Some(self.pad(domain)),
            (op, _) => unreachable!("{op:?} is no step of a merge that places {pages:?}"),
        }
    }

    /// A unit that [`Op::Erase`] named was erased. Further merges of the domain may begin at once.
    ///
    /// # Panics
    /// If it is another unit, or something in it is valid.
    pub fn erased(&mut self, domain: Domain, unit: Unit) -> Erasure {
        let erasure = self.erasure(domain, unit);
        let state = &mut self.domains[domain.index()];
        if state.erase == Some(unit) {
            state.erase = None;
        } else {
            let recycling = state.recycling.expect("a log block is recycled");
            assert!(state.merge.is_none() && !recycling.suspended, "a log block is erased when its pages are merged");
            assert_eq!(self.random_at(domain, 0), unit, "the oldest log block is recycled");
            self.merges.full += 1;
            self.merges.forward += u64::from(recycling.forward);
            self.end_recycling(domain, recycling);
        }
        assert_eq!(self.valid[unit.index()], 0, "a unit is erased only when nothing in it is valid");
        self.roles[unit.index()] = UnitRole::Free;
        self.erases[unit.index()] += 1;
        self.pool.put(domain, unit, self.erases[unit.index()]);
        self.settle(domain);
        erasure
    }

    /// The oldest log block was erased. One that was begun behind it is gone on with, at once or later.
    fn end_recycling(&mut self, domain: Domain, recycling: Recycling) {
        self.pop_random(domain);
        let state = &mut self.domains[domain.index()];
        let was_behind = state.emptied > 0;
        state.emptied = state.emptied.saturating_sub(1);
        state.recycling = was_behind.then_some(Recycling {
            forward: true,
            suspended: !recycling.forward,
            erases: false,
            ..recycling
        });
    }

    /// The erase of a unit, for the executor: that of an old data block in a full merge ends no collection.
    fn erasure(&self, domain: Domain, unit: Unit) -> Erasure {
        let LogDomain { erase, recycling, .. } = &self.domains[domain.index()];
        let is_gathered = *erase == Some(unit) && recycling.is_some_and(|recycling| !recycling.suspended);
        Erasure { unit, cause: Cause::Gc, forward: self.is_forward(domain), ends: !is_gathered, retires: false }
    }

    /// Carries out the merges that a domain needs, at once: so many operations at most. Returns whether there may be more.
    pub fn collect(&mut self, domain: Domain, most: u32, array: &mut impl Array) -> bool {
        let mut group = Group::EMPTY;
        (0..most).all(|_| self.carry_out_next(domain, &mut group, array))
    }

    /// Carries out the next operation of a domain's merges at once. Returns whether there was one.
    fn carry_out_next(&mut self, domain: Domain, group: &mut Group, array: &mut impl Array) -> bool {
        self.advance(domain);
        let Some(Step { op, cause }) = self.op(domain, group) else { return false };
        match op {
            Op::Move(_) => {
                let from = group.pages()[0];
                let placed = self.copy(domain, from).expect("nothing changes in between");
                assert!(array.moved(cause, How::OffChip, from, placed), "{NO_FAULTS}");
            }
            Op::Pad => {
                let placed = self.pad(domain);
                assert!(array.combined(cause, &[], placed), "{NO_FAULTS}");
            }
            Op::Erase(unit) => {
                assert!(array.erased(self.erasure(domain, unit)), "{NO_FAULTS}");
                self.erased(domain, unit);
            }
            Op::Combine | Op::Read | Op::Reprogram => {
                unreachable!("merges protect no pages, and the whole map is in DRAM")
            }
        }
        true
    }

    /// Begins a merge, for the sake of a log block, into a unit that holds the first `cursor` pages of the logical block.
    pub(super) fn begin_merge(
        &mut self,
        domain: Domain,
        kind: MergeKind,
        block: u32,
        destination: Unit,
        log: Unit,
        cursor: u32,
    ) {
        let end = self.pages_of(domain, block);
        self.roles[destination.index()] = UnitRole::Destination;
        let state = &mut self.domains[domain.index()];
        assert!(state.merge.is_none() && state.erase.is_none(), "one logical block is merged at a time");
        state.merge = Some(Merge { kind, block, destination, log, cursor, end, is_trimmed: false });
        let data = self.data.get((domain.number() * self.logical_blocks + block) as usize);
        if let Some(data) = data.and_then(|&word| Unit::from_word(word)) {
            self.reverse.prefetch(self.geometry.ppn(data, self.geometry.slot_ahead(Slot::new(cursor), 0)).index());
        }
    }

    fn begin_recycling(&mut self, domain: Domain, forward: bool) {
        let state = &mut self.domains[domain.index()];
        // The block takes no more pages, should it not be full.
        state.filled = state.filled.max(1);
        state.recycling = Some(Recycling { cursor: Slot::FIRST, forward, suspended: false, erases: false });
    }

    /// Finishes a completed merge; starts the next switch or full merge if one is due.
    #[inline]
    pub(super) fn settle(&mut self, domain: Domain) {
        self.end_merge(domain);
        let LogDomain { sequential, merge, erase, .. } = &self.domains[domain.index()];
        if let Some(open) = sequential
            && u32::from(self.used[open.unit.index()]) == open.pages
            && merge.is_none()
            && erase.is_none()
        {
            self.close_sequential(domain, MergeKind::Switch);
            self.end_merge(domain);
        }
        if !self.has_room(domain) {
            self.recycle_now(domain);
        }
    }

    #[cold]
    fn recycle_now(&mut self, domain: Domain) {
        match &mut self.domains[domain.index()].recycling {
            None => self.begin_recycling(domain, false),
            Some(recycling) => (recycling.forward, recycling.suspended) = (false, false),
        }
    }

    /// Ends the merge of a logical block when no page is left to move.
    #[inline]
    fn end_merge(&mut self, domain: Domain) {
        let Some(mut merge) = self.domains[domain.index()].merge else { return };
        while merge.end > merge.cursor && self.to_merge(domain, &merge, merge.end - 1).is_none() {
            merge.end -= 1;
        }
        merge.is_trimmed = true;
        self.domains[domain.index()].merge = Some(merge);
        if merge.cursor >= merge.end {
            self.conclude(domain, merge);
        }
    }

    /// The destination becomes the data block; the old one is to be erased.
    fn conclude(&mut self, domain: Domain, merge: Merge) {
        let data = &mut self.data[(domain.number() * self.logical_blocks + merge.block) as usize];
        let state = &mut self.domains[domain.index()];
        state.merge = None;
        let new = if merge.cursor == 0 {
            // Every page was trimmed while the merge began: the destination is as fresh as it was.
            self.roles[merge.destination.index()] = UnitRole::Free;
            state.next = Some(merge.destination);
            None
        } else {
            self.roles[merge.destination.index()] = UnitRole::Data;
            Some(merge.destination)
        };
        if let Some(old) = Unit::from_word(std::mem::replace(data, Unit::to_word(new))) {
            self.roles[old.index()] = UnitRole::Spent;
            state.erase = Some(old);
        }
        match merge.kind {
            MergeKind::Switch => self.merges.switch += 1,
            MergeKind::Partial => self.merges.partial += 1,
            MergeKind::Full => self.merges.gathered += 1,
        }
    }
}
