//! Page mapping, as the façade calls it.

use base::{Domain, Lpn, OpKind, Page, Ppn, Unit};

use super::mapping::{ArrayView, Mapping, Nowhere, check_programmed};
use crate::group::Group;
use crate::mechanism::Mechanisms;
use crate::ops::{Array, Erasure, HostWrite, Op, Placed, Step};
use crate::page::PageMap;
use crate::work::DomainWork;
use crate::{Figures, Policies};

impl<M: Mechanisms> Mapping for PageMap<M> {
    #[inline]
    fn lookup(&self, lpn: Lpn) -> Result<Ppn, Nowhere> {
        self.kernel.lookup(lpn).ok_or_else(|| self.why_nowhere(lpn))
    }

    #[inline]
    fn is_valid(&self, at: Ppn) -> bool {
        self.kernel.is_valid(at)
    }

    #[inline]
    fn valid_mark(&self, unit: Unit) -> Option<u32> {
        // Where programs fail, pages return to units.
        let none_returns = !self.kernel.keeps_spares() && self.mechanisms.parts().retirement.is_none();
        none_returns.then(|| self.kernel.valid_of(unit))
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.kernel.prefetch_map(lpn);
        if !self.is_quiet() {
            self.mechanisms.prefetch(lpn);
        }
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
    fn work(&self, domain: Domain) -> Option<DomainWork> {
        match self.kernel.job(domain) {
            Some(job) => Some(DomainWork::Collection(job.why)),
            None => self.is_busy(domain).then_some(DomainWork::Other),
        }
    }

    #[inline(always)]
    fn prepare(&mut self, domain: Domain, page: HostWrite) -> bool {
        PageMap::prepare(self, domain, page)
    }

    #[inline(always)] // Of plain page mapping little is left where pages store nothing.
    fn write(&mut self, domain: Domain, page: HostWrite, suits: Option<impl FnOnce(Ppn) -> bool>) -> Option<Placed> {
        if M::IS_PLAIN { PageMap::write(self, domain, page, suits) } else { self.write_with_care(domain, page, suits) }
    }

    fn trim(&mut self, lpn: Lpn) -> bool {
        self.lost.remove(&lpn);
        if !self.kernel.is_mapped(lpn) {
            return false;
        }
        self.mechanisms.lost(&mut self.kernel, lpn);
        self.kernel.forget(lpn);
        true
    }

    fn lose(&mut self, at: Ppn) -> bool {
        self.lose_at(at)
    }

    #[inline(always)]
    fn next_step(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        PageMap::next_step(self, domain, group)
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

    #[inline(always)]
    fn place_run(&mut self, domain: Domain, pages: &[Ppn]) -> Option<(Ppn, u32)> {
        self.copy_run(domain, pages)
    }

    #[inline]
    fn erased(&mut self, domain: Domain, unit: Unit, has_failed: bool) -> Erasure {
        if has_failed {
            self.wears_out(unit, OpKind::Erase);
        }
        let erasure = self.erasure(domain, unit);
        self.unit_erased(domain, unit);
        erasure
    }

    fn collect(&mut self, domain: Domain, most: u32, array: &mut impl Array) -> bool {
        PageMap::collect(self, domain, most, array)
    }

    fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64) {
        PageMap::renew_policies(self, policies, seed);
    }

    fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        self.mechanisms.figures(&mut figures);
        if let Some(separation) = self.mechanisms.parts().separation {
            separation.report_available(&self.kernel, &mut figures);
        }
        if let Some(across) = self.kernel.across() {
            across.report(&mut figures);
        }
        if let Some(retirement) = self.mechanisms.parts().retirement {
            let lost = self.lost.iter().filter(|&&lpn| self.is_lost(lpn)).count();
            retirement.count_lost(&mut figures, lost as u64);
        }
        figures
    }

    fn check(&self, array: &dyn ArrayView) -> Result<(), String> {
        if !array.is_of_file() {
            self.kernel.check_maps()?;
        }
        self.kernel.check_counts()?;
        self.kernel.geometry().all_domains().try_for_each(|domain| self.check_keepers(domain))?;
        self.mechanisms.check(&self.kernel)?;
        self.check_densities(array)?;
        if array.is_of_file() { Ok(()) } else { check_programmed(self, self.kernel.logical_pages(), array) }
    }

    fn in_words(&self, domain: Domain) -> String {
        PageMap::in_words(self, domain)
    }
}

impl<M: Mechanisms> PageMap<M> {
    #[cold]
    fn why_nowhere(&self, lpn: Lpn) -> Nowhere {
        if self.is_lost(lpn) { Nowhere::Lost } else { Nowhere::Unwritten }
    }

    #[inline(never)]
    fn write_with_care(
        &mut self,
        domain: Domain,
        page: HostWrite,
        suits: Option<impl FnOnce(Ppn) -> bool>,
    ) -> Option<Placed> {
        PageMap::write(self, domain, page, suits)
    }

    /// Units of which only LSB pages are used are just those that the array has as such.
    fn check_densities(&self, array: &dyn ArrayView) -> Result<(), String> {
        let geometry = self.kernel.geometry();
        let astray = geometry.all_units().find(|&unit| {
            let is_lsb_only = self.kernel.is_lsb_only(unit);
            let mut lanes =
                (0..geometry.unit_width).map(|lane| geometry.ppn(unit, geometry.slot_at(Page::FIRST, lane)));
            lanes.any(|at| array.is_lsb_only(at).is_some_and(|found| found != is_lsb_only))
        });
        astray.map_or(Ok(()), |unit| {
            Err(format!("unit {unit} uses its LSB pages only, or the array has it so, but not both"))
        })
    }
}
