//! Collections ahead of need under page mapping: begun, suspended and resumed by the executor, which knows who is idle (Wen
//! and Chang, GC forwarding, sections 3.2 to 3.4).
//!
//! A collection that is suspended gives its unit back to the victim policy, which may choose another one next time
//! (section 3.3): pages that were written meanwhile can have changed what is best. Nothing else remembers it. A
//! collection that keeps step with another domain's may also defer the erase of its empty unit and go on with the next
//! victim.

use base::{Domain, Slot, Unit};

use crate::facade::CollectsAhead;
use crate::kernel::{Job, Stream, Why};
use crate::mechanism::{Agenda as _, All, Mechanisms};
use crate::ops::AheadPhase;
use crate::page::PageMap;

impl CollectsAhead for PageMap<All> {
    /// None where a cache is to be emptied.
    fn spare_units(&self, domain: Domain) -> u32 {
        let folds = self.mechanisms.parts().cache.is_some_and(|cache| cache.folds_when_idle(domain));
        if folds { 0 } else { self.kernel.free(domain) }
    }

    fn begin_forward(&mut self, domain: Domain, written: u32) -> bool {
        if self.pace.is_some() { self.begin_in_step(domain, written) } else { self.begin_next(domain) }
    }

    /// It does so between any two groups of pages.
    fn next_phase(&self, domain: Domain) -> Option<AheadPhase> {
        Some(if self.has_emptied(domain) { AheadPhase::Erase } else { AheadPhase::Copy })
    }

    fn has_emptied(&self, domain: Domain) -> bool {
        let job = self.kernel.job(domain);
        job.is_some_and(|job| self.is_emptied(domain, job.unit)) || self.has_deferred(domain)
    }

    fn may_suspend(&mut self, domain: Domain) -> bool {
        if !self.has_kept_pace(domain) {
            return false;
        }
        let host_has_room =
            self.on_demand || self.kernel.is_open(domain, Stream::FIRST) || !self.kernel.is_short(domain);
        let has_room = self.kernel.free(domain) >= self.kernel.budget().for_a_victim && host_has_room;
        self.is_forward(domain) && has_room && self.copies_in_step(domain) && !self.mechanisms.goes_on(domain)
    }

    fn suspend(&mut self, domain: Domain) {
        assert!(self.may_suspend(domain), "collections ahead of need are suspended, between two groups of pages");
        let Some(job) = self.kernel.take_job(domain) else { return };
        self.put_by(domain, false);
        if self.kernel.valid_of(job.unit) == 0 {
            self.defer(domain, job);
        } else {
            self.give_back(domain, &job);
        }
    }

    fn defer_erase(&mut self, domain: Domain) -> bool {
        let Some(&job) = self.kernel.job(domain) else { return false };
        if !self.is_emptied(domain, job.unit) {
            return true;
        }
        let Some(unit) = self.victim_forward(domain).filter(|_| !self.kernel.is_short(domain)) else { return false };
        self.kernel.take_job(domain);
        self.defer(domain, job);
        self.kernel.begin(domain, unit, Why::Forward);
        true
    }

    fn erase_emptied(&mut self, domain: Domain) {
        let Some(&job) = self.kernel.job(domain) else { return };
        if self.kernel.valid_of(job.unit) > 0 {
            self.kernel.take_job(domain);
            self.put_by(domain, true);
            self.give_back(domain, &job);
            assert!(self.take_deferred(domain, Why::Forward), "an empty unit waits for its erase");
        }
    }
}

impl<M: Mechanisms> PageMap<M> {
    /// Begins a collection ahead of need, where a unit is worth it, or an erase that was left for later. Returns whether there is one.
    pub(crate) fn begin_next(&mut self, domain: Domain) -> bool {
        if self.take_deferred(domain, Why::Forward) || self.fold_ahead(domain) {
            return true;
        }
        let Some(unit) = self.victim_forward(domain) else { return false };
        self.kernel.begin(domain, unit, Why::Forward);
        true
    }

    /// Begins to fold the oldest block of a cache. Returns whether there is one.
    fn fold_ahead(&mut self, domain: Domain) -> bool {
        if self.kernel.free(domain) < self.kernel.budget().for_a_victim {
            return false;
        }
        // In step with the host room is made, and nothing else.
        let is_for_room = self.pace.is_some();
        let cache = self.mechanisms.parts_mut().cache;
        let oldest = cache.and_then(|cache| cache.take_oldest(&self.kernel, domain, is_for_room));
        oldest.inspect(|&unit| self.kernel.begin(domain, unit, Why::FoldAhead)).is_some()
    }

    fn is_forward(&self, domain: Domain) -> bool {
        self.kernel.job(domain).is_some_and(|job| !job.why.is_foreground())
    }

    /// The victim of a collection ahead of need.
    fn victim_forward(&mut self, domain: Domain) -> Option<Unit> {
        if self.kernel.free(domain) < self.kernel.budget().for_a_victim {
            return None;
        }
        let unit = self.kernel.choose(domain)?;
        (self.kernel.gain_of(unit) > 0).then_some(unit)
    }

    /// True if the next page that a collection copies begins a page offset, where pages of several planes are kept in step.
    fn copies_in_step(&self, domain: Domain) -> bool {
        if self.kernel.geometry().unit_width == 1 || self.kernel.geometry().parts > 1 {
            return true;
        }
        let stream =
            self.kernel.job(domain).map_or(Stream::FIRST, |job| self.stream_of_victim(domain, job.unit, job.cursor));
        self.kernel
            .frontier(domain, stream)
            .is_none_or(|frontier| self.kernel.geometry().lane_of_slot(frontier.slot) == 0)
    }

    /// The stream of the next page that is copied from a victim.
    fn stream_of_victim(&self, domain: Domain, unit: Unit, from: Slot) -> Stream {
        let slot = self.kernel.next_valid(unit, from).or_else(|| self.kernel.next_valid(unit, Slot::FIRST));
        match slot {
            Some(slot) => self.stream_of_copy(domain, self.kernel.geometry().ppn(unit, slot)),
            None if self.kernel.holds_map(unit) => self.kernel.streams().of_map(),
            None => self.kernel.streams().last_of_data(),
        }
    }

    /// The map in flash hears that a collection is suspended, for the erase of another unit or for longer.
    fn put_by(&mut self, domain: Domain, is_for_erase: bool) {
        if let Some(map) = self.mechanisms.parts_mut().map {
            map.suspended(domain, is_for_erase);
        }
    }

    /// Leaves the erase of an empty unit for later.
    ///
    /// # Panics
    /// If something in it is valid.
    fn defer(&mut self, domain: Domain, job: Job) {
        assert_eq!(self.kernel.valid_of(job.unit), 0, "only the erase of an empty unit is deferred");
        self.deferred[domain.index()].push(job);
    }

    /// The erase of a unit was left for later.
    fn has_deferred(&self, domain: Domain) -> bool {
        self.deferred.get(domain.index()).is_some_and(|jobs| !jobs.is_empty())
    }

    /// Makes an erase that was left for later the domain's collection. Returns whether there is one.
    pub(crate) fn take_deferred(&mut self, domain: Domain, why: Why) -> bool {
        let Some(job) = self.deferred.get_mut(domain.index()).and_then(Vec::pop) else { return false };
        self.kernel.resume_job(domain, job.because(why));
        true
    }

    fn give_back(&mut self, domain: Domain, job: &Job) {
        self.kernel.give_back(domain, job);
        if let Some(retirement) = self.mechanisms.parts_mut().retirement {
            retirement.given_back(&mut self.kernel, domain, job.unit);
        }
        self.mechanisms.filled(&mut self.kernel, domain, job.unit);
    }

    /// True if only the erase of a victim is left.
    fn is_emptied(&self, domain: Domain, unit: Unit) -> bool {
        self.kernel.valid_of(unit) == 0 && !self.delays_erase(domain, unit)
    }
}
