//! What a domain has to do before it takes a host page, step by step.
//!
//! This is how domains work whose GC has to know where the next page goes: under a protection that keeps
//! track of lower pages, and with several streams for host pages. Before each host page the executor asks
//! [`Ftl::prepare`]; while the answer is no, it carries out [`Ftl::step`].

use base::{Cause, Lpn, Ppn};

use super::{Cover, Errand, Scheme};
use crate::collection::{Erasure, GcStep, Job};
use crate::group::Group;
use crate::layer::{Frontier, Ftl, NONE};
use crate::pool::FreePool;
use crate::victim::UnitState;

impl Ftl {
    /// Whether a domain can take the host page now. If not, it has steps to do first ([`Ftl::step`]).
    ///
    /// Always true for FTLs that collect by themselves when a frontier is full.
    #[inline]
    pub fn prepare(&mut self, domain: u32, lpn: Lpn) -> bool {
        !self.is_careful || self.prepare_carefully(domain, lpn)
    }

    fn prepare_carefully(&mut self, domain: u32, lpn: Lpn) -> bool {
        if self.is_collecting(domain) || !self.prepare_entry(lpn) {
            return false;
        }
        let is_mapped = self.map[lpn.index()] != NONE;
        let stream = self.separation.host_stream(lpn, is_mapped);
        let opens = self.domains[domain as usize].frontiers[stream].unit == NONE;
        if (opens || !self.can_empty_any_victim(domain)) && self.make_room(domain, stream) {
            return false;
        }
        if !self.protection.scheme.keeps_track() {
            return true;
        }
        self.protection.guards[domain as usize].errand = Some(Errand::Ready(stream));
        let mut group = Group::EMPTY;
        self.careful_step(domain, &mut group).is_none()
    }

    /// Whether there is room to empty any victim after the next host page, whichever streams its pages go to.
    ///
    /// Where all copies go to one stream, or a unit holds pages of one stream, they open one unit at most, and the
    /// reserve has it. With regions and mixing a victim's pages go to several streams and may open a unit in each.
    /// Emptying it fills no more slots than its erase gives back, so what counts is slots: as many as all frontiers can
    /// keep open, and those that the host page and the copies under it take.
    fn can_empty_any_victim(&self, domain: u32) -> bool {
        let streams = self.streams as u32;
        let state = &self.domains[domain as usize];
        let spreads = self.protection.scheme == Scheme::Mixing && self.separation.has_regions();
        if !spreads || state.free > streams {
            return true;
        }
        let slots = self.geometry.unit_slots();
        let open =
            state.frontiers.iter().filter(|frontier| frontier.unit != NONE).map(|frontier| slots - frontier.slot);
        state.free * slots + open.sum::<u32>() > streams * slots + self.protection.wordlines.most_open()
    }

    /// Begins whatever has to be done before a frontier can open; `false` if it may open now.
    pub(crate) fn make_room(&mut self, domain: u32, stream: usize) -> bool {
        if self.domains[domain as usize].free > self.reserve {
            let guard = self.protection.guards.get(domain as usize);
            let is_full = guard.is_some_and(|guard| guard.buffers.len() as u32 >= self.protection.buffer_units.max(1));
            if self.protection.scheme == Scheme::SlcBuffer && stream == 0 && is_full {
                self.merge_oldest_buffer(domain);
                return true;
            }
            return false;
        }
        if self.take_emptied(domain, false) {
            return true;
        }
        if let Some(guard) = self.protection.guards.get_mut(domain as usize) {
            if !guard.held.is_empty() && self.protection.scheme.keeps_backups() {
                // Space is short: what leans on the held units is backed up instead when its turn comes.
                let slots = self.geometry.unit_slots();
                for &unit in &guard.held {
                    guard.lowers.uncover(unit, slots);
                }
                guard.errand = Some(Errand::Erase);
                return true;
            }
            if let Some(mix) = guard.mix.take() {
                self.domains[domain as usize].job = Some(Job {
                    unit: mix.unit,
                    cause: Cause::Gc,
                    forward: false,
                    gain: mix.gain,
                    cursor: mix.cursor,
                    lone_cursor: 0,
                });
                return true;
            }
        }
        // A buffer unit gives the most room, but merged early it holds pages that would have been overwritten.
        // So it comes second, and then in any case: the victim policy may offer full units only.
        let guard = self.protection.guards.get_mut(domain as usize);
        let merge =
            guard.is_some_and(|guard| std::mem::replace(&mut guard.was_short, true) && !guard.buffers.is_empty());
        let forced = self.forced_victim(domain);
        match forced.or_else(|| if merge { None } else { self.choose(domain) }) {
            Some(unit) => {
                self.begin(domain, unit, Cause::Gc, false);
                self.begin_neighbours(domain);
            }
            None => self.merge_oldest_buffer(domain),
        }
        true
    }

    /// Begins to move the pages of the oldest buffer unit into full blocks.
    fn merge_oldest_buffer(&mut self, domain: u32) {
        let guard = &mut self.protection.guards[domain as usize];
        let unit = guard.buffers.pop_front().expect("collection starts with closed units");
        let state = &mut self.units[unit as usize];
        state.state = UnitState::Collecting;
        self.closed_at[unit as usize] = 0;
        let gain = self.geometry.unit_slots() - u32::from(state.valid);
        self.domains[domain as usize].job =
            Some(Job { unit, cause: Cause::Gc, forward: false, gain, cursor: 0, lone_cursor: 0 });
    }

    /// The next step of a domain that works carefully.
    pub(crate) fn careful_step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        group.clear();
        if let Some(unit) = self.unit_to_erase(domain) {
            return Some(GcStep::Erase(unit));
        }
        if let Some(step) = self.map_step(domain, group) {
            return Some(step);
        }
        if self.is_parked(domain) {
            self.unpark(domain);
        }
        if let Some(job) = self.domains[domain as usize].job
            && let Some(step) = self.job_step(domain, job, group)
        {
            return Some(step);
        }
        let guard = self.protection.guards.get_mut(domain as usize)?;
        match guard.errand? {
            Errand::Erase => guard.errand = None,
            Errand::Ready(stream) => {
                if let Some(step) = self.errand_step(domain, stream, group) {
                    return Some(step);
                }
                self.protection.guards[domain as usize].errand = None;
            }
        }
        None
    }

    /// A held unit that nothing leans on any more.
    pub(crate) fn unit_to_erase(&self, domain: u32) -> Option<u32> {
        let guard = self.protection.guards.get(domain as usize)?;
        let slots = self.geometry.unit_slots();
        let hold = self.protection.watermarks.is_none_or(|watermarks| watermarks.hold);
        guard.held.iter().copied().find(|&unit| !hold || !guard.lowers.lean_on(unit, slots, |page| self.is_valid(page)))
    }

    fn job_step(&mut self, domain: u32, job: Job, group: &mut Group) -> Option<GcStep> {
        if let Some(step) = self.carried_step(domain, job.unit, group) {
            return Some(step);
        }
        if self.units[job.unit as usize].valid == 0 {
            if !self.is_translation_unit(job.unit) && self.park(domain) {
                return self.careful_step(domain, group);
            }
            if !self.is_translation_unit(job.unit)
                && let Some(step) = self.moved_step(domain, group)
            {
                return Some(step);
            }
            return self.last_step(domain, job.unit);
        }
        if self.geometry.unit_width > 1 {
            // Of what works carefully, only a map in flash has twin blocks, and it guards nothing.
            self.take_group(domain, job.unit, group);
            return Some(GcStep::Copy);
        }
        let slots = self.geometry.unit_slots();
        let first = job.unit * slots;
        let mut cursor = job.cursor;
        while self.reverse[(first + cursor) as usize] == NONE {
            cursor += 1;
        }
        if let Some(job) = &mut self.domains[domain as usize].job {
            job.cursor = cursor;
        }
        self.reverse.prefetch((first + (cursor + crate::layer::PREFETCH_DISTANCE).min(slots - 1)) as usize);
        let from = Ppn(first + cursor);
        let stream = self.stream_of_copy(self.reverse[from.index()]);
        if let Some(step) = self.guard_step(domain, stream, group) {
            return Some(step);
        }
        group.push(from);
        Some(GcStep::Copy)
    }

    /// The end of a collection: its unit is erased, unless pages lean on it that cannot be backed up. Then it
    /// is held until further copies have completed their wordlines, which takes no more units than lower
    /// pages can be open ([`super::Wordlines::most_open`]).
    fn last_step(&mut self, domain: u32, unit: u32) -> Option<GcStep> {
        let slots = self.geometry.unit_slots();
        if let Some(guard) = self.protection.guards.get_mut(domain as usize) {
            let reverse = &self.reverse;
            if self.protection.scheme.keeps_backups() {
                // Backed up when its wordline goes on.
                guard.lowers.uncover(unit, slots);
            } else if guard.lowers.lean_on(unit, slots, |page| reverse[page.index()] != NONE) {
                guard.held.push(unit);
                self.domains[domain as usize].job = None;
                return None;
            }
        }
        Some(GcStep::Erase(unit))
    }

    /// The stream that copies of a stream's pages go to: apart from the host's where that is a buffer.
    #[inline]
    pub(crate) fn copies_to(&self, stream: usize) -> usize {
        if self.protection.scheme == Scheme::SlcBuffer { 1 } else { stream }
    }

    /// The stream that a copy of a logical page goes to.
    #[inline]
    fn stream_of_copy(&self, lpn: u32) -> usize {
        match &self.dftl {
            Some(dftl) if dftl.is_translation(lpn) => self.streams,
            _ => self.copies_to(self.separation.copy_stream(Lpn(lpn))),
        }
    }

    fn errand_step(&mut self, domain: u32, stream: usize, group: &mut Group) -> Option<GcStep> {
        if let Some(step) = self.guard_step(domain, stream, group) {
            return Some(step);
        }
        if self.protection.scheme != Scheme::Mixing {
            return None;
        }
        let slot = self.domains[domain as usize].frontiers[stream].slot;
        if self.protection.wordlines.is_top(self.geometry.page_of_slot(slot)) {
            return None;
        }
        match self.page_to_pair(domain) {
            Some(from) => {
                group.push(from);
                Some(GcStep::Copy)
            }
            None => self.unit_to_erase(domain).map(GcStep::Erase),
        }
    }

    /// What has to be done before the next page of a stream may be programmed.
    pub(crate) fn guard_step(&mut self, domain: u32, stream: usize, group: &mut Group) -> Option<GcStep> {
        if !self.protection.scheme.keeps_track() {
            return None;
        }
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        let page = self.geometry.page_of_slot(slot);
        if self.protection.wordlines.is_lsb(page) {
            return None;
        }
        let at = self.geometry.ppn(unit, slot);
        let slots = self.geometry.unit_slots();
        let guard = &self.protection.guards[domain as usize];
        let mut bare = None;
        for lower in guard.lowers.below(at, &self.protection.wordlines, slots) {
            match lower.cover {
                Cover::Lost => return Some(GcStep::Fill),
                Cover::None if bare.is_none() && self.is_valid(lower.at) => bare = Some(lower.at),
                _ => {}
            }
        }
        let bare = bare?;
        if !self.protection.scheme.keeps_backups() {
            // A buffer's merge leaves nothing bare; after a restart nothing is merged onto what it left.
            return Some(GcStep::Fill);
        }
        if guard.backup.slot >= slots {
            return Some(GcStep::Erase(guard.backup.unit));
        }
        group.push(bare);
        if self.protection.scheme == Scheme::ParityBackup
            && let Some(other) = self.parity_partner(domain, bare)
        {
            group.push(other);
        }
        Some(GcStep::Backup)
    }

    /// Another bare lower page, in a unit, that one parity page can protect together with a page: the next
    /// one in program order, if its own MSB page comes later.
    fn parity_partner(&self, domain: u32, page: Ppn) -> Option<Ppn> {
        let slots = self.geometry.unit_slots();
        let guard = &self.protection.guards[domain as usize];
        guard
            .lowers
            .iter()
            .filter(|lower| lower.cover == Cover::None && lower.at.0 / slots == page.0 / slots && lower.at.0 > page.0)
            .map(|lower| lower.at)
            .filter(|&at| self.is_valid(at))
            .min()
    }

    /// Places the backup of the pages of a group.
    pub fn back_up(&mut self, domain: u32, group: &Group) -> Ppn {
        let guard = &mut self.protection.guards[domain as usize];
        let Frontier { unit, slot } = guard.backup;
        let to = self.geometry.ppn(unit, slot);
        match group.pages() {
            [page] => guard.lowers.cover(*page, Cover::Copy(to)),
            [first, second] => {
                guard.lowers.cover(*first, Cover::Parity { parity: to, other: *second });
                guard.lowers.cover(*second, Cover::Parity { parity: to, other: *first });
            }
            pages => unreachable!("a backup of {} pages", pages.len()),
        }
        let page = self.geometry.page_of_slot(slot);
        let next = self.protection.wordlines.next_lsb(page);
        guard.backup.slot = next;
        to
    }

    /// Where the next backup page of a domain goes.
    pub fn next_backup_page(&self, domain: u32) -> Ppn {
        let Frontier { unit, slot } = self.protection.guards[domain as usize].backup;
        self.geometry.ppn(unit, slot)
    }

    /// Where the next dummy page of a domain goes.
    pub fn next_dummy_page(&mut self, domain: u32) -> Ppn {
        let stream = if self.is_careful { self.stream_of_step(domain, None) } else { self.streams - 1 };
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        self.geometry.ppn(unit, slot)
    }

    /// Whether units may come up of which only LSB pages are used.
    #[inline]
    pub fn uses_lsb_only_units(&self) -> bool {
        self.is_careful && self.protection.scheme.keeps_track()
    }

    /// Whether a unit uses its LSB pages only.
    #[inline]
    pub fn is_lsb_only(&self, unit: u32) -> bool {
        self.units[unit as usize].lsb_only
    }

    /// The stream that the coming copy or dummy page of a domain goes to.
    pub(crate) fn stream_of_step(&self, domain: u32, from: Option<Ppn>) -> usize {
        if self.domains[domain as usize].job.is_none()
            && let Some(guard) = self.protection.guards.get(domain as usize)
            && let Some(Errand::Ready(stream)) = guard.errand
        {
            return stream;
        }
        let lpn = from.map(|from| self.reverse[from.index()]).filter(|&lpn| lpn != NONE);
        match lpn {
            Some(lpn) => self.stream_of_copy(lpn),
            None => self.dummy_stream(domain),
        }
    }

    /// The stream whose wordlines a job fills up with dummy pages: that of its copies.
    fn dummy_stream(&self, domain: u32) -> usize {
        let Some(job) = self.domains[domain as usize].job else { return self.streams - 1 };
        if self.is_translation_unit(job.unit) {
            return self.streams;
        }
        let slots = self.geometry.unit_slots();
        let first = job.unit * slots + job.cursor.min(slots - 1);
        let lpn = self.reverse[first as usize];
        if lpn == NONE { self.streams - 1 } else { self.stream_of_copy(lpn) }
    }

    /// Why a step is done.
    pub fn cause_of(&self, domain: u32, step: GcStep) -> Cause {
        let of_job = self.domains[domain as usize].job.map(|job| job.cause);
        match step {
            GcStep::Backup => Cause::Backup,
            GcStep::Copy => of_job.unwrap_or(Cause::Gc),
            GcStep::Fetch | GcStep::Update => Cause::Mapping,
            GcStep::Fill => of_job.unwrap_or(Cause::Backup),
            GcStep::Erase(unit) => self.erasure(domain, unit).cause,
        }
    }

    /// What the erase of a unit means.
    pub fn erasure(&self, domain: u32, unit: u32) -> Erasure {
        match self.domains[domain as usize].job {
            Some(job) if job.unit == unit => Erasure { unit, cause: job.cause, forward: job.forward, ends: true },
            _ => {
                let is_backup = self.units[unit as usize].state == UnitState::Aside;
                Erasure { unit, cause: if is_backup { Cause::Backup } else { Cause::Gc }, forward: false, ends: true }
            }
        }
    }

    /// A backup unit is full and was erased: another free unit takes its place.
    pub(crate) fn renew_backup(&mut self, domain: u32, unit: u32) {
        let slots = self.geometry.unit_slots();
        self.protection.guards[domain as usize].lowers.uncover(unit, slots);
        self.erases[unit as usize] += 1;
        self.units[unit as usize].state = UnitState::Free;
        self.units[unit as usize].lsb_only = false;
        self.pool.put(domain, unit, self.erases[unit as usize]);
        self.domains[domain as usize].free += 1;
        self.open_backup(domain);
    }

    /// Takes a free unit for backups.
    pub(crate) fn open_backup(&mut self, domain: u32) {
        let unit = self.pool.take(domain).expect("the limit on the user space leaves a unit for backups");
        self.domains[domain as usize].free -= 1;
        self.units[unit as usize].state = UnitState::Aside;
        self.units[unit as usize].lsb_only = true;
        self.protection.guards[domain as usize].backup = Frontier { unit, slot: 0 };
    }

    /// Takes note of a program: of a host page or a dummy (covered by nothing), or of a copy.
    #[inline]
    pub(crate) fn note_program(&mut self, domain: u32, at: Ppn, cover: Cover) {
        let unit = self.geometry.unit_of(at);
        if !self.units[unit as usize].lsb_only {
            let slots = self.geometry.unit_slots();
            self.protection.guards[domain as usize].lowers.programmed(at, cover, &self.protection.wordlines, slots);
        }
    }
}
