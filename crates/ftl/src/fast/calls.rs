//! Hybrid mapping, as the façade calls it.

use base::{Domain, Lpn, Ppn, Unit};

use super::Fast;
use super::merge::NO_FAULTS;
use crate::facade::{ArrayView, CollectsAhead, Mapping, Nowhere, check_programmed};
use crate::group::Group;
use crate::ops::{AheadPhase, Array, Erasure, HostWrite, Placed, Step};
use crate::work::DomainWork;
use crate::{Figures, Policies};

impl Mapping for Fast {
    #[inline]
    fn lookup(&self, lpn: Lpn) -> Result<Ppn, Nowhere> {
        let why = || if self.lost.contains(&lpn) { Nowhere::Lost } else { Nowhere::Unwritten };
        Fast::lookup(self, lpn).ok_or_else(why)
    }

    #[inline]
    fn is_valid(&self, at: Ppn) -> bool {
        Fast::is_valid(self, at)
    }

    fn valid_mark(&self, _: Unit) -> Option<u32> {
        None
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.map.prefetch(lpn.index());
    }

    #[inline]
    fn prefetch_old(&self, lpn: Lpn) {
        Fast::prefetch_old(self, lpn);
    }

    #[inline]
    fn work(&self, domain: Domain) -> Option<DomainWork> {
        let work = || self.why(domain).map_or(DomainWork::Other, DomainWork::Collection);
        self.is_busy(domain).then(work)
    }

    /// True unless merges come before the page: they alone do.
    #[inline]
    fn prepare(&mut self, domain: Domain, _: HostWrite) -> bool {
        !Fast::is_busy(self, domain)
    }

    #[inline]
    fn write(&mut self, domain: Domain, page: HostWrite, suits: Option<impl FnOnce(Ppn) -> bool>) -> Option<Placed> {
        match suits {
            Some(suits) => self.write_if(domain, page.lpn, suits),
            None => Some(Fast::write(self, domain, page.lpn)),
        }
    }

    fn trim(&mut self, lpn: Lpn) -> bool {
        self.lost.remove(&lpn);
        Fast::trim(self, lpn)
    }

    fn lose(&mut self, at: Ppn) -> bool {
        let Some(lpn) = self.lpn_at(at) else { return false };
        self.lost.insert(lpn);
        Fast::trim(self, lpn)
    }

    #[inline]
    fn next_step(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        self.advance(domain);
        self.op(domain, group)
    }

    #[inline]
    fn place(
        &mut self,
        domain: Domain,
        step: Step,
        pages: &[Ppn],
        suits: Option<impl FnOnce(Ppn) -> bool>,
    ) -> Option<Placed> {
        Fast::place(self, domain, step, pages, suits)
    }

    #[inline]
    fn place_run(&mut self, _: Domain, _: &[Ppn]) -> Option<(Ppn, u32)> {
        None
    }

    #[inline]
    fn erased(&mut self, domain: Domain, unit: Unit, has_failed: bool) -> Erasure {
        assert!(!has_failed, "{NO_FAULTS}");
        Fast::erased(self, domain, unit)
    }

    fn collect(&mut self, domain: Domain, most: u32, array: &mut impl Array) -> bool {
        Fast::collect(self, domain, most, array)
    }

    fn renew_policies(&mut self, policies: &Policies<'_>, _: u64) {
        self.renew_pool(policies.block_allocation);
    }

    fn figures(&self) -> Figures {
        Fast::figures(self)
    }

    fn check(&self, array: &dyn ArrayView) -> Result<(), String> {
        Fast::check(self)?;
        check_programmed(self, self.user_pages(), array)
    }

    fn in_words(&self, domain: Domain) -> String {
        Fast::in_words(self, domain)
    }
}

impl CollectsAhead for Fast {
    fn spare_units(&self, domain: Domain) -> u32 {
        self.spare_log_blocks(domain)
    }

    /// No schedule keeps step with the host here.
    fn begin_forward(&mut self, domain: Domain, _: u32) -> bool {
        Fast::begin_forward(self, domain)
    }

    fn next_phase(&self, domain: Domain) -> Option<AheadPhase> {
        let phase = || if Fast::has_emptied(self, domain) { AheadPhase::Erase } else { AheadPhase::Copy };
        self.rests(domain).then(phase)
    }

    fn has_emptied(&self, domain: Domain) -> bool {
        Fast::has_emptied(self, domain)
    }

    fn may_suspend(&mut self, domain: Domain) -> bool {
        Fast::may_suspend(self, domain)
    }

    fn suspend(&mut self, domain: Domain) {
        Fast::suspend(self, domain);
    }

    fn defer_erase(&mut self, domain: Domain) -> bool {
        Fast::defer_erase(self, domain)
    }

    fn erase_emptied(&mut self, domain: Domain) {
        Fast::erase_emptied(self, domain);
    }
}
