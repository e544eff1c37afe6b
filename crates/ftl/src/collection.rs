//! Collections under page mapping: when one begins, which unit it empties, and its steps.

use base::{Cause, Lpn, Ppn};

use crate::failure::Source;
use crate::group::Group;
use crate::layer::{Frontier, Ftl, NONE, PREFETCH_DISTANCE};
use crate::paired::Cover;
use crate::pool::FreePool;
use crate::spare::Kind;
use crate::victim::{Unit, UnitState, VictimPolicy, View};

/// A collection in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The unit that is emptied.
    pub unit: u32,
    /// Garbage collection or wear leveling.
    pub cause: Cause,
    /// Ahead of need, along with another die of the chip.
    pub forward: bool,
    /// Slots of the unit that were invalid when the collection began.
    pub(crate) gain: u32,
    /// Slots (twin blocks: page offsets) before this one are done.
    pub(crate) cursor: u32,
    /// Twin blocks: page offsets before this one have no lone page left.
    pub(crate) lone_cursor: u32,
}

/// What a collection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcStep {
    /// Read the pages of the group, then program them where [`Ftl::copy`](crate::Ftl::copy) and
    /// [`Ftl::pad`](crate::Ftl::pad) say.
    Copy,
    /// Read the pages of the group, then program what protects them where
    /// [`Ftl::back_up`](crate::Ftl::back_up) says: the page itself or, of two pages, their exclusive-or.
    Backup,
    /// Program a dummy page where [`Ftl::pad`](crate::Ftl::pad) says.
    Fill,
    /// Read the translation page of the group, then tell [`Ftl::fetched`](crate::Ftl::fetched).
    Fetch,
    /// Read the translation page of the group, if it has one, then program its next version where
    /// [`Ftl::update`](crate::Ftl::update) says.
    Update,
    /// Nothing valid is left: erase this unit, then tell [`Ftl::erased`](crate::Ftl::erased).
    Erase(u32),
}

/// What the erase of a unit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// The unit.
    pub unit: u32,
    /// Garbage collection, wear leveling, or a full backup block.
    pub cause: Cause,
    /// Whether the collection was ahead of need.
    pub forward: bool,
    /// Whether a collection ends with it; a merge erases further units.
    pub ends: bool,
}

/// Carries out the commands of a whole collection at once, for executors without time.
pub trait GcSink {
    /// Of an erased unit only LSB pages are used from now on.
    fn uses_lsb_only(&mut self, unit: u32);
    /// A valid page was moved. Its spare area is the old one's identity with `tag` ([`crate::IDENTITY`]).
    /// Returns whether the program succeeded, as the next two do.
    fn copied(&mut self, cause: Cause, from: Ppn, to: Ppn, tag: u128) -> bool;
    /// A dummy page is to be programmed.
    fn padded(&mut self, cause: Cause, at: Ppn, tag: u128) -> bool;
    /// The exclusive-or of the pages (of a single page: its copy) is to be programmed.
    fn backed_up(&mut self, pages: &[Ppn], at: Ppn, tag: u128) -> bool;
    /// A translation page was read for one of its entries.
    fn fetched(&mut self, from: Ppn);
    /// The next version of a translation page is to be programmed, after a read of the one before if there is one.
    /// Its spare area is `tag`. Returns whether the program succeeded.
    fn updated(&mut self, from: Option<Ppn>, lpn: Lpn, to: Ppn, tag: u128) -> bool;
    /// After a failed program, a page is to be read and programmed anew. Returns whether its data were still
    /// there.
    fn rewritten(&mut self, cause: Cause, source: Source, at: Ppn, tag: u128) -> bool;
    /// A unit is to be erased.
    fn erased(&mut self, erasure: Erasure);
}

impl Ftl {
    /// The next step of a domain's collection; `None` when none is in progress. The pages to copy are put
    /// into `group`. Asking changes nothing that can be seen.
    #[inline]
    pub fn step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        if self.is_careful {
            return self.careful_step(domain, group);
        }
        if self.geometry.unit_width > 1 {
            return self.twin_step(domain, group);
        }
        let slots = self.geometry.unit_slots();
        let job = self.domains[domain as usize].job.as_mut()?;
        let first = job.unit * slots;
        while job.cursor < slots {
            if self.reverse[(first + job.cursor) as usize] != NONE {
                // Steps lie far apart in time: by the next one but a few, its line is no longer expected.
                self.reverse.prefetch((first + (job.cursor + PREFETCH_DISTANCE).min(slots - 1)) as usize);
                group.clear();
                group.push(Ppn(first + job.cursor));
                return Some(GcStep::Copy);
            }
            job.cursor += 1;
        }
        Some(GcStep::Erase(job.unit))
    }

    /// Moves a page that was read for a collection: its logical page and new place, or `None` if it was
    /// overwritten or trimmed since and there is nothing to move.
    pub fn copy(&mut self, domain: u32, from: Ppn) -> Option<(Lpn, Ppn)> {
        let lpn = self.reverse[from.index()];
        if lpn == NONE {
            return None;
        }
        let stream = self.copy_stream(domain, from);
        self.reverse[from.index()] = NONE;
        self.units[self.geometry.unit_of(from) as usize].valid -= 1;
        if !self.is_careful {
            return Some((Lpn(lpn), self.append(domain, stream, Lpn(lpn))));
        }
        if lpn < self.user_pages() {
            self.separation.copy(Lpn(lpn));
        }
        let to = self.append(domain, stream, Lpn(lpn));
        self.entry_moved(domain, lpn);
        if self.protection.scheme.keeps_track() {
            self.note_program(domain, to, Cover::Copy(from));
            self.settle(domain);
        }
        Some((Lpn(lpn), to))
    }

    /// Ends an errand that has nothing left to do.
    fn settle(&mut self, domain: u32) {
        if self.domains[domain as usize].job.is_none() && self.has_errand(domain) {
            self.careful_step(domain, &mut Group::EMPTY.clone());
        }
    }

    /// The place of a dummy page, which [`Group::pads`] or [`GcStep::Fill`] asked for.
    pub fn pad(&mut self, domain: u32) -> Ppn {
        let stream = if self.is_careful { self.stream_of_step(domain, None) } else { self.streams - 1 };
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        self.advance(domain, stream, unit, slot);
        let at = self.geometry.ppn(unit, slot);
        if self.protection.scheme.keeps_track() {
            self.note_program(domain, at, Cover::None);
            self.settle(domain);
        }
        at
    }

    /// The pages of a group were read and their backup was programmed where [`Ftl::back_up`] said.
    pub fn backed_up(&mut self, domain: u32) {
        self.settle(domain);
    }

    /// Domains whose collection began along with another's since the last call, in the order of beginning.
    pub fn take_early(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.early).into_iter()
    }

    /// A unit that [`GcStep::Erase`] named was erased. The next collection of the domain may begin at once.
    ///
    /// # Panics
    /// If the unit was not to be erased or still holds valid pages.
    pub fn erased(&mut self, domain: u32, unit: u32) {
        assert_eq!(self.units[unit as usize].valid, 0, "a unit is erased only when nothing in it is valid");
        let Some(job) = self.domains[domain as usize].job.take_if(|job| job.unit == unit) else {
            self.erased_aside(domain, unit);
            return;
        };
        self.check_moved(domain, unit);
        self.free_unit(domain, unit);
        if !self.is_careful {
            self.collect_if_needed(domain);
        }
        if job.cause == Cause::Wear {
            return;
        }
        self.wear.on_erased(domain);
        if !self.is_collecting(domain)
            && self.may_level(domain)
            && let Some(cold) = self.wear.due(domain, &self.units, &self.erases)
        {
            self.begin(domain, cold, Cause::Wear, false);
        }
    }

    /// A unit was erased that was held back, or that held backups.
    fn erased_aside(&mut self, domain: u32, unit: u32) {
        let guard = &mut self.protection.guards[domain as usize];
        if guard.backup.unit == unit {
            self.renew_backup(domain, unit);
        } else {
            let before = guard.held.len();
            guard.held.retain(|&held| held != unit);
            assert_eq!(guard.held.len() + 1, before, "only units that were to be erased are erased");
            self.free_unit(domain, unit);
            self.wear.on_erased(domain);
        }
        self.settle(domain);
    }

    /// Puts an erased unit among the free ones.
    pub(crate) fn free_unit(&mut self, domain: u32, unit: u32) {
        self.units[unit as usize] = Unit { valid: 0, state: UnitState::Free, lsb_only: false };
        self.erases[unit as usize] += 1;
        self.pool.put(domain, unit, self.erases[unit as usize]);
        self.domains[domain as usize].free += 1;
    }

    /// Carries out whatever collections a domain needs, at once.
    pub fn collect(&mut self, domain: u32, sink: &mut impl GcSink) {
        if self.is_careful {
            self.carry_out(domain, sink);
            return;
        }
        while let Some(job) = self.domains[domain as usize].job {
            if self.geometry.unit_width > 1 {
                self.empty_by_groups(domain, job.cause, sink);
            } else {
                self.empty(domain, job, sink);
            }
            sink.erased(Erasure { unit: job.unit, cause: job.cause, forward: job.forward, ends: true });
            self.erased(domain, job.unit);
        }
    }

    /// Does a domain's steps until it takes a host page again and, where it waits for others, theirs.
    fn carry_out(&mut self, domain: u32, sink: &mut impl GcSink) {
        self.carry_out_alone(domain, sink);
        while let Some(called) = self.take_called() {
            self.carry_out_alone(called, sink);
        }
    }

    /// Does a domain's steps, one after the other.
    fn carry_out_alone(&mut self, domain: u32, sink: &mut impl GcSink) {
        let mut group = Group::EMPTY;
        let mut steps = 0u64;
        while let Some(step) = self.careful_step(domain, &mut group) {
            steps += 1;
            debug_assert!(steps < 1_000_000, "room is made in so many steps");
            let cause = self.cause_of(domain, step);
            match step {
                GcStep::Copy => self.move_group(domain, cause, &group, sink),
                GcStep::Backup => {
                    let tag = self.backup_tag(&group);
                    let at = self.back_up(domain, &group);
                    self.announce_lsb_only(at, sink);
                    if !sink.backed_up(group.pages(), at, tag) {
                        self.repair(at, None, sink);
                    }
                    self.backed_up(domain);
                }
                GcStep::Fill => self.fill_up(domain, cause, sink),
                GcStep::Fetch => {
                    sink.fetched(group.pages()[0]);
                    self.fetched(domain);
                }
                GcStep::Update => {
                    let (lpn, to) = self.update(domain);
                    let tag = self.tag(Kind::Data, Some(lpn), to);
                    let done = sink.updated(group.pages().first().copied(), lpn, to, tag);
                    assert!(done, "the configuration check allows no faults where the map is in flash");
                    self.landed(domain);
                }
                GcStep::Erase(unit) => {
                    sink.erased(self.erasure(domain, unit));
                    self.erased(domain, unit);
                }
            }
        }
    }

    /// Tells of the first page of a unit that uses its LSB pages only.
    pub(crate) fn announce_lsb_only(&self, at: Ppn, sink: &mut impl GcSink) {
        let (unit, slot) = self.geometry.unit_and_slot(at);
        if slot == 0 && self.units[unit as usize].lsb_only {
            sink.uses_lsb_only(unit);
        }
    }

    /// Moves every valid page of a domain's victim, step by step.
    fn empty_by_groups(&mut self, domain: u32, cause: Cause, sink: &mut impl GcSink) {
        let mut group = Group::EMPTY;
        while let Some(GcStep::Copy) = self.step(domain, &mut group) {
            self.move_group(domain, cause, &group, sink);
        }
    }

    /// Moves the pages of a group, and fills up behind them.
    fn move_group(&mut self, domain: u32, cause: Cause, group: &Group, sink: &mut impl GcSink) {
        for &from in group.pages() {
            let (lpn, to) = self.copy(domain, from).expect("nothing changes in between");
            let tag = self.tag(Kind::Data, Some(lpn), to);
            if !sink.copied(cause, from, to, tag) {
                self.repair(to, Some(from), sink);
            }
        }
        for _ in 0..group.pads {
            self.fill_up(domain, cause, sink);
        }
    }

    /// Programs a dummy page.
    fn fill_up(&mut self, domain: u32, cause: Cause, sink: &mut impl GcSink) {
        let at = self.pad(domain);
        let tag = self.tag(Kind::Dummy, None, at);
        if !sink.padded(cause, at, tag) {
            self.repair(at, None, sink);
        }
    }

    /// Moves every valid page of a job's unit.
    fn empty(&mut self, domain: u32, job: Job, sink: &mut impl GcSink) {
        let slots = self.geometry.unit_slots();
        let first = job.unit * slots;
        let stream = self.streams - 1;
        for slot in job.cursor..(job.cursor + PREFETCH_DISTANCE).min(slots) {
            self.prefetch_copy(Ppn(first + slot));
        }
        for slot in job.cursor..slots {
            if slot + PREFETCH_DISTANCE < slots {
                self.prefetch_copy(Ppn(first + slot + PREFETCH_DISTANCE));
            }
            let lpn = self.reverse[(first + slot) as usize];
            if lpn == NONE {
                continue;
            }
            self.reverse[(first + slot) as usize] = NONE;
            let to = self.append(domain, stream, Lpn(lpn));
            let tag = self.tag(Kind::Data, Some(Lpn(lpn)), to);
            if !sink.copied(job.cause, Ppn(first + slot), to, tag) {
                self.repair(to, Some(Ppn(first + slot)), sink);
            }
        }
        self.units[job.unit as usize].valid = 0;
    }

    /// Begins a collection if the host's frontier is full and the domain is down to its reserve.
    pub(crate) fn collect_if_needed(&mut self, domain: u32) {
        let state = &self.domains[domain as usize];
        if state.job.is_some() || state.frontiers[0].unit != NONE || state.free > self.reserve {
            return;
        }
        if self.take_emptied(domain, false) {
            return;
        }
        let unit = self.choose(domain).expect("collection starts with closed units");
        self.begin(domain, unit, Cause::Gc, false);
        self.begin_neighbours(domain);
    }

    /// Collects other dies of the chip along, when they are near their own threshold (TBM section 5.2).
    pub(crate) fn begin_neighbours(&mut self, domain: u32) {
        if self.geometry.unit_width == 1 || self.twin.neighbours == 0.0 {
            return;
        }
        let slots = self.geometry.unit_slots();
        let threshold = f64::from(self.reserve * slots);
        let dies = self.geometry.dies_per_chip;
        let first = domain / dies * dies;
        for other in (first..first + dies).filter(|&other| other != domain) {
            let state = &self.domains[other as usize];
            let frontier = state.frontiers[0];
            let open = if frontier.unit == NONE { 0 } else { slots - frontier.slot };
            let free_pages = f64::from(state.free * slots + open);
            let is_idle = state.job.is_none() && !(self.is_careful && self.has_errand(other));
            if is_idle && free_pages <= threshold * (1.0 + self.twin.neighbours) {
                let forced = self.forced_victim(other);
                // Near the threshold by a large measure, it may not have filled a unit yet.
                let Some(unit) = forced.or_else(|| self.choose(other)) else { continue };
                self.begin(other, unit, Cause::Gc, true);
                self.early.push(other);
            }
        }
    }

    /// The victim, by the policy. A policy that has offered as many units without an invalid page as the
    /// domain has units is overruled once, so that every policy makes progress.
    pub(crate) fn choose(&mut self, domain: u32) -> Option<u32> {
        let now = self.domains[domain as usize].clock;
        let view = View { domain, valid: &self.units, slots: self.geometry.unit_slots(), now };
        let units = self.geometry.units_per_domain();
        let unit = if self.domains[domain as usize].fruitless < units {
            self.victim.choose(view)?
        } else {
            (domain * units..(domain + 1) * units)
                .filter(|&unit| self.units[unit as usize].state == UnitState::Closed)
                .min_by_key(|&unit| self.units[unit as usize].valid)?
        };
        let full = u32::from(self.units[unit as usize].valid) == self.geometry.unit_slots();
        let fruitless = &mut self.domains[domain as usize].fruitless;
        *fruitless = if full { *fruitless + 1 } else { 0 };
        Some(unit)
    }

    pub(crate) fn begin(&mut self, domain: u32, unit: u32, cause: Cause, forward: bool) {
        if forward && let Some(closed_at) = self.forward.closed_at.get_mut(domain as usize) {
            *closed_at = self.closed_at[unit as usize];
        }
        self.take_closed(domain, unit);
        self.carry_moves(domain);
        let cause = if cause == Cause::Gc && self.is_translation_unit(unit) { Cause::Mapping } else { cause };
        let gain = self.geometry.unit_slots() - u32::from(self.units[unit as usize].valid);
        self.domains[domain as usize].job = Some(Job { unit, cause, forward, gain, cursor: 0, lone_cursor: 0 });
        self.reverse.prefetch(self.geometry.ppn(unit, 0).index());
    }

    /// Takes a closed unit out of the victim policy's hands.
    pub(crate) fn take_closed(&mut self, domain: u32, unit: u32) {
        let state = &mut self.units[unit as usize];
        assert_eq!(state.state, UnitState::Closed, "only closed units are collected");
        state.state = UnitState::Collecting;
        self.closed_at[unit as usize] = 0;
        self.victim.on_removed(domain, unit, u32::from(state.valid));
        self.note_closed(domain, unit, UnitState::Collecting);
    }
}
