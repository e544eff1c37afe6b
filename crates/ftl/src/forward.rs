//! Collections ahead of need, under page mapping: begun, put down and taken up by the executor (Wen and Chang, GC
//! forwarding, sections 3.2 to 3.4).
//!
//! A collection that is put down gives its unit back to the victim policy, which may choose another one next time
//! (section 3.3): pages that were written meanwhile can have changed what is best. Nothing else remembers it. A
//! collection that keeps step with another domain's may also pass its empty unit over, that is, leave its erase for
//! later and go on with the next victim.

use crate::collection::Job;
use crate::layer::{Ftl, NONE};
use crate::victim::{UnitState, VictimPolicy};

/// What domains remember of collections ahead of need; nothing where the schedule has none.
#[derive(Default)]
pub(crate) struct Forward {
    /// By domain: when the unit in work was filled, in filled units.
    pub(crate) closed_at: Vec<u32>,
    /// By domain: empty units that were passed over and wait for their erase.
    pub(crate) emptied: Vec<Vec<Job>>,
}

impl Forward {
    pub(crate) fn new(domains: u32, is_threshold: bool) -> Forward {
        let domains = if is_threshold { 0 } else { domains as usize };
        Forward { closed_at: vec![0; domains], emptied: vec![Vec::new(); domains] }
    }
}

impl Ftl {
    /// Units that can be written before garbage has to be collected.
    #[inline]
    pub fn spare_units(&self, domain: u32) -> u32 {
        self.domains[domain as usize].free
    }

    /// Whether a mandatory garbage collection is in progress, of data or of translation pages.
    #[inline]
    pub fn needs_room(&self, domain: u32) -> bool {
        self.domains[domain as usize].job.is_some_and(|job| !job.forward && job.cause != base::Cause::Wear)
    }

    /// Whether a collection ahead of need is in progress.
    #[inline]
    pub fn is_forward(&self, domain: u32) -> bool {
        self.domains[domain as usize].job.is_some_and(|job| job.forward)
    }

    /// Begins a collection ahead of need. Returns whether there is a unit worth it, and room to empty it.
    pub fn begin_forward(&mut self, domain: u32) -> bool {
        if self.is_collecting(domain) {
            return false;
        }
        if self.take_emptied(domain, true) {
            return true;
        }
        let Some(unit) = self.forward_victim(domain) else { return false };
        self.begin(domain, unit, base::Cause::Gc, true);
        true
    }

    /// The victim of a collection ahead of need.
    fn forward_victim(&mut self, domain: u32) -> Option<u32> {
        if self.domains[domain as usize].free < self.units_for_a_victim() {
            return None;
        }
        let unit = self.choose(domain)?;
        (u32::from(self.units[unit as usize].valid) < self.geometry.unit_slots()).then_some(unit)
    }

    /// Free units that the pages of a victim may open: they fill up an open one and, at most, another. Where copies go
    /// to several streams it may be one in each; translation pages may open two, for what a collection before has left to
    /// update and for this one's.
    pub(crate) fn units_for_a_victim(&self) -> u32 {
        let of_map = if self.dftl.is_some() { 2 } else { 0 };
        if self.is_careful { self.streams as u32 + of_map } else { 1 }
    }

    /// Makes the erase of a unit that was passed over the domain's collection.
    pub(crate) fn take_emptied(&mut self, domain: u32, forward: bool) -> bool {
        let Some(job) = self.forward.emptied.get_mut(domain as usize).and_then(|emptied| emptied.pop()) else {
            return false;
        };
        self.domains[domain as usize].job = Some(Job { forward, ..job });
        true
    }

    /// Whether a collection stands where it can be put down, as far as the mapping knows.
    pub fn rests(&self, _domain: u32) -> bool {
        true
    }

    /// Whether a collection ahead of need can be put down between two groups of pages: a mandatory one finds a free
    /// unit then, the host's next page has a place, and twin blocks are in step.
    pub fn may_pause(&self, domain: u32) -> bool {
        let state = &self.domains[domain as usize];
        let host_has_room = self.is_careful || state.frontiers[0].unit != NONE || state.free > self.reserve;
        let has_room = state.free >= self.units_for_a_victim() && host_has_room;
        self.is_forward(domain) && has_room && (self.geometry.unit_width == 1 || self.copies_in_step(domain))
    }

    /// Puts a collection down; the victim policy hears of the unit again.
    ///
    /// # Panics
    /// Unless [`Ftl::may_pause`].
    pub fn pause(&mut self, domain: u32) {
        assert!(self.may_pause(domain), "collections ahead of need are put down, between two groups of pages");
        let Some(job) = self.domains[domain as usize].job.take() else { return };
        self.forget_moved_step(domain);
        if self.units[job.unit as usize].valid == 0 {
            self.forward.emptied[domain as usize].push(job);
        } else {
            self.give_back(domain, job);
        }
    }

    fn give_back(&mut self, domain: u32, job: Job) {
        let now = self.domains[domain as usize].clock;
        let unit = job.unit as usize;
        self.units[unit].state = UnitState::Closed;
        self.closed_at[unit] = self.forward.closed_at[domain as usize];
        self.victim.on_returned(domain, job.unit, u32::from(self.units[unit].valid), now);
        self.note_closed(domain, job.unit, UnitState::Closed);
    }

    /// Whether an empty unit waits for its erase.
    pub fn has_emptied(&self, domain: u32) -> bool {
        let job = self.domains[domain as usize].job;
        job.is_some_and(|job| self.is_emptied(domain, job.unit)) || !self.forward.emptied[domain as usize].is_empty()
    }

    /// Whether only the erase of a victim is left.
    fn is_emptied(&self, domain: u32, unit: u32) -> bool {
        self.units[unit as usize].valid == 0 && !self.awaits_updates(domain, unit)
    }

    /// Makes the erase of an empty unit the next step of a collection ahead of need.
    ///
    /// # Panics
    /// Unless [`Ftl::has_emptied`].
    pub fn erase_emptied(&mut self, domain: u32) {
        let Some(job) = self.domains[domain as usize].job else { return };
        if self.units[job.unit as usize].valid > 0 {
            self.domains[domain as usize].job = None;
            self.give_back(domain, job);
            assert!(self.take_emptied(domain, true), "an empty unit waits for its erase");
        }
    }

    /// Has a collection ahead of need go on with pages to copy: where its unit is empty, leaves the erase for later
    /// and begins with the next victim. Returns whether there are such pages.
    pub fn pass_over(&mut self, domain: u32) -> bool {
        let Some(job) = self.domains[domain as usize].job else { return false };
        if !self.is_emptied(domain, job.unit) {
            return true;
        }
        let Some(unit) = self.forward_victim(domain).filter(|_| self.domains[domain as usize].free > self.reserve)
        else {
            return false;
        };
        self.forward.emptied[domain as usize].push(job);
        self.begin(domain, unit, base::Cause::Gc, true);
        true
    }
}
