//! Hybrid mapping, as the façade calls it.

use base::{Domain, Lpn, Ppn, Unit};

use super::Fast;
use crate::facade::{CollectsAhead, Mapping, check_programmed};
use crate::group::Group;
use crate::kernel::Why;
use crate::ops::{AheadPhase, Array, Erasure, Placed, Step};
use crate::{Figures, Policies};

impl Mapping for Fast {
    #[inline]
    fn user_pages(&self) -> u32 {
        Fast::user_pages(self)
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        Fast::lookup(self, lpn)
    }

    #[inline]
    fn is_valid(&self, at: Ppn) -> bool {
        Fast::is_valid(self, at)
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
    fn is_busy(&self, domain: Domain) -> bool {
        Fast::is_busy(self, domain)
    }

    #[inline]
    fn why(&self, domain: Domain) -> Option<Why> {
        Fast::why(self, domain)
    }

    #[inline]
    fn spare_units(&self, domain: Domain) -> u32 {
        self.spare_log_blocks(domain)
    }

    #[inline]
    fn domain_without_time(&mut self, lpn: Lpn) -> Domain {
        self.domain_of(lpn)
    }

    /// Nothing comes before a page of the host but merges.
    #[inline]
    fn prepare(&mut self, domain: Domain, _: Lpn) -> bool {
        !Fast::is_busy(self, domain)
    }

    #[inline]
    fn write_if(&mut self, domain: Domain, lpn: Lpn, suits: impl FnOnce(Ppn) -> bool) -> Option<Placed> {
        Fast::write_if(self, domain, lpn, suits)
    }

    fn trim(&mut self, lpn: Lpn) -> bool {
        Fast::trim(self, lpn)
    }

    #[inline]
    fn advance(&mut self, domain: Domain) {
        Fast::advance(self, domain);
    }

    #[inline]
    fn op(&self, domain: Domain, group: &mut Group) -> Option<Step> {
        Fast::op(self, domain, group)
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
    fn erased(&mut self, domain: Domain, unit: Unit) -> Erasure {
        Fast::erased(self, domain, unit)
    }

    fn collect(&mut self, domain: Domain, array: &mut impl Array) {
        Fast::collect(self, domain, array);
    }

    fn renew_policies(&mut self, policies: &Policies<'_>, _: u64) {
        self.renew_pool(policies.block_allocation);
    }

    fn figures(&self) -> Figures {
        Fast::figures(self)
    }

    fn check(&self, is_programmed: &dyn Fn(Ppn) -> bool) -> Result<(), String> {
        Fast::check(self)?;
        check_programmed(self, Fast::user_pages(self), is_programmed)
    }

    fn in_words(&self, domain: Domain) -> String {
        Fast::in_words(self, domain)
    }
}

impl CollectsAhead for Fast {
    fn begin_forward(&mut self, domain: Domain) -> bool {
        Fast::begin_forward(self, domain)
    }

    fn is_forward(&self, domain: Domain) -> bool {
        Fast::is_forward(self, domain)
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

    fn carry_out_next(&mut self, domain: Domain, group: &mut Group, array: &mut impl Array) -> bool {
        Fast::carry_out_next(self, domain, group, array)
    }
}
