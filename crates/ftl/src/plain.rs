//! Page mapping without mechanisms, for an executor that knows it to be in force: what collections that only move pages ask at
//! every step, without asking which mapping it is.

use base::{Domain, Ppn, Slot, Unit};

use crate::facade::Ftl;
use crate::kernel::{Job, Stream};
use crate::mechanism::Plain;
use crate::page::Page;

/// A page of the array, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The page.
    pub at: Ppn,
    /// Its unit.
    pub unit: Unit,
    /// Its slot there.
    pub slot: Slot,
}

/// Page mapping without mechanisms.
#[derive(Clone)]
pub struct PlainPages(pub(crate) Page<Plain>);

impl PlainPages {
    /// The page that the collection of a domain moves next. `None`: there is no collection, or nothing is left in its unit.
    #[inline(always)]
    pub fn next_page(&mut self, domain: Domain) -> Option<Spot> {
        let (unit, slot) = self.0.advance_cursor(domain)?;
        Some(self.spot(unit, slot))
    }

    /// Asks the memory for what moving a page will change.
    #[inline(always)]
    pub fn prefetch_copy(&self, from: Ppn) {
        self.0.kernel.prefetch_copy(from);
    }

    /// Where the next page of a domain goes; opens a unit if none is open.
    #[inline]
    pub fn next_place(&mut self, domain: Domain) -> Ppn {
        self.0.kernel.next_place(domain, Stream::FIRST)
    }

    /// Moves a page that the collection of a domain has read, where pages have no spare areas: its new place, or `None` if it
    /// was overwritten or trimmed since. As [`Ftl::place`]. `next`: the page after it, where that is known.
    #[inline(always)]
    pub fn move_page(&mut self, domain: Domain, from: Ppn, next: Option<Spot>) -> Option<Spot> {
        let kernel = &mut self.0.kernel;
        debug_assert!(!kernel.keeps_spares(), "a copy takes its spare area along");
        let unit = kernel.job(domain)?.unit;
        debug_assert_eq!(unit, kernel.geometry().unit_of(from));
        let lpn = kernel.detach(unit, from)?;
        let frontier = kernel.fill_slot(domain, Stream::FIRST, lpn).0;
        if let Some(next) = next {
            kernel.job_mut(domain)?.cursor = next.slot;
        }
        Some(self.spot(frontier.unit, frontier.slot))
    }

    /// Where the next page of a domain goes, if that is into the unit that is open and does not fill it. Nothing is opened.
    #[inline(always)]
    pub fn place_in_unit(&self, domain: Domain) -> Option<Spot> {
        let kernel = &self.0.kernel;
        let frontier = kernel.frontier(domain, Stream::FIRST)?;
        (kernel.geometry().slots_left(frontier.slot) > 1).then(|| self.spot(frontier.unit, frontier.slot))
    }

    /// The page that the collection of a domain moves after its next one, while that is where [`PlainPages::next_page`] found it.
    #[inline(always)]
    pub fn page_after_next(&self, domain: Domain) -> Option<Spot> {
        let &Job { unit, cursor, .. } = self.0.kernel.job(domain)?;
        let slot = self.0.kernel.next_valid(unit, cursor.next())?;
        Some(self.spot(unit, slot))
    }

    #[inline(always)]
    fn spot(&self, unit: Unit, slot: Slot) -> Spot {
        Spot { at: self.0.kernel.geometry().ppn(unit, slot), unit, slot }
    }
}

impl Ftl {
    /// Page mapping without mechanisms.
    ///
    /// # Panics
    /// If another mapping is in force; see [`crate::Capabilities::is_plain`].
    #[inline(always)]
    pub fn plain(&mut self) -> &mut PlainPages {
        self.plain_pages().expect("page mapping without mechanisms")
    }
}
