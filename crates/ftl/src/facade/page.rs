//! Page mapping, as the façade calls it.

use base::{Domain, Lpn, Ppn, Unit};

use super::mapping::{Mapping, check_programmed};
use crate::group::Group;
use crate::kernel::Why;
use crate::mechanism::Mechanisms;
use crate::ops::{Array, Erasure, Op, Placed, Step};
use crate::page::Page;
use crate::{Figures, Policies};

impl<M: Mechanisms> Mapping for Page<M> {
    #[inline]
    fn user_pages(&self) -> u32 {
        self.kernel.user_pages()
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.kernel.lookup(lpn)
    }

    #[inline]
    fn is_valid(&self, at: Ppn) -> bool {
        self.kernel.is_valid(at)
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.kernel.prefetch_map(lpn);
        self.mechanisms.prefetch(lpn);
    }

    #[inline]
    fn prefetch_old(&self, lpn: Lpn) {
        self.kernel.prefetch_old(lpn);
        if let Some(reads) = self.mechanisms.parts().reads
            && let Some(at) = self.kernel.lookup(lpn)
        {
            reads.prefetch_read(&self.kernel, at);
        }
    }

    #[inline(always)]
    fn is_busy(&self, domain: Domain) -> bool {
        Page::is_busy(self, domain)
    }

    #[inline]
    fn why(&self, domain: Domain) -> Option<Why> {
        self.kernel.job(domain).map(|job| job.why)
    }

    #[inline]
    fn spare_units(&self, domain: Domain) -> u32 {
        self.kernel.free(domain)
    }

    #[inline(always)]
    fn domain_without_time(&mut self, lpn: Lpn) -> Domain {
        Page::domain_without_time(self, lpn)
    }

    #[inline(always)]
    fn prepare(&mut self, domain: Domain, lpn: Lpn) -> bool {
        Page::prepare(self, domain, lpn)
    }

    #[inline]
    fn write_if(&mut self, domain: Domain, lpn: Lpn, suits: impl FnOnce(Ppn) -> bool) -> Option<Placed> {
        Page::write_if(self, domain, lpn, suits)
    }

    fn trim(&mut self, lpn: Lpn) -> bool {
        if !self.kernel.is_mapped(lpn) {
            return false;
        }
        self.mechanisms.lost(&mut self.kernel, lpn);
        self.kernel.forget(lpn);
        true
    }

    #[inline(always)]
    fn advance(&mut self, domain: Domain) {
        Page::advance(self, domain);
    }

    #[inline(always)]
    fn op(&self, domain: Domain, group: &mut Group) -> Option<Step> {
        Page::op(self, domain, group)
    }

    #[inline(always)]
    fn place(
        &mut self,
        domain: Domain,
        Step { op, cause }: Step,
        pages: &[Ppn],
        suits: Option<impl FnOnce(Ppn) -> bool>,
    ) -> Option<Placed> {
        if let Op::Combine | Op::Reprogram = op {
            let mut suits = suits;
            return self.combine(domain, cause, pages, &mut |at| suits.take().is_none_or(|suits| suits(at)));
        }
        if let Some(suits) = suits
            && !suits(self.next_place(domain))
        {
            return None;
        }
        match (op, pages) {
            (Op::Move(how), &[from]) => self.copy(domain, from, how),
            (Op::Move(_) | Op::Pad, []) => Some(self.pad(domain)),
            _ => unreachable!("{op:?} places nothing of {pages:?}"),
        }
    }

    #[inline]
    fn erased(&mut self, domain: Domain, unit: Unit) -> Erasure {
        let erasure = self.erasure(domain, unit);
        self.unit_erased(domain, unit);
        erasure
    }

    fn collect(&mut self, domain: Domain, array: &mut impl Array) {
        Page::collect(self, domain, array);
    }

    fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64) {
        Page::renew_policies(self, policies, seed);
    }

    fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        self.mechanisms.figures(&mut figures);
        figures
    }

    fn check(&self, is_programmed: &dyn Fn(Ppn) -> bool) -> Result<(), String> {
        self.kernel.check()?;
        self.kernel.geometry().all_domains().try_for_each(|domain| self.check_keepers(domain))?;
        self.mechanisms.check(&self.kernel)?;
        check_programmed(self, self.kernel.logical_pages(), is_programmed)
    }

    fn in_words(&self, domain: Domain) -> String {
        Page::in_words(self, domain)
    }
}
