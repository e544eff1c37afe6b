//! Page mapping without mechanisms, as a part, for an executor that knows it to be in force: what collections that only move pages ask at
//! every step.

use base::{Domain, Ppn, Slot, Unit};

use crate::facade::Ftl;
use crate::kernel::{Job, Stream};
use crate::mechanism::Plain;
use crate::page::PageMap;

/// A page of the array, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageAddress {
    /// The page.
    pub at: Ppn,
    /// Its unit.
    pub unit: Unit,
    /// Its slot there.
    pub slot: Slot,
}

/// Page mapping without mechanisms: what a domain does next follows from its victim alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainPages(pub(crate) ());

impl PlainPages {
    /// The page that the collection of a domain moves next, of which the memory is asked for what moving it will change. `None`: there
    /// is no collection, or nothing is left in its unit.
    #[inline(always)]
    pub fn next_page(self, ftl: &mut Ftl, domain: Domain) -> Option<PageAddress> {
        let page = ftl.plain_pages_mut();
        let (unit, slot) = page.advance_cursor(domain)?;
        Some(asked_for(page, unit, slot))
    }

    /// Moves a page that the collection of a domain has read, where pages have no spare areas: its new place, or `None` if it
    /// was overwritten or trimmed since, or the place does not suit; as [`Ftl::place`]. `next`: the page after it, where that is known.
    #[inline(always)]
    pub fn move_page(
        self,
        ftl: &mut Ftl,
        domain: Domain,
        from: Ppn,
        next: Option<PageAddress>,
        suits: Option<impl FnOnce(Ppn) -> bool>,
    ) -> Option<PageAddress> {
        let page = ftl.plain_pages_mut();
        let kernel = &mut page.kernel;
        debug_assert!(!kernel.keeps_spares(), "a copy takes its spare area along");
        if let Some(suits) = suits
            && !suits(kernel.next_place(domain, Stream::FIRST))
        {
            return None;
        }
        let unit = kernel.job(domain)?.unit;
        debug_assert_eq!(unit, kernel.geometry().unit_of(from));
        let lpn = kernel.detach(unit, from)?;
        let frontier = kernel.fill_slot(domain, Stream::FIRST, lpn).0;
        if let Some(next) = next {
            kernel.job_mut(domain)?.cursor = next.slot;
        }
        Some(spot(page, frontier.unit, frontier.slot))
    }

    /// Where the next page of a domain goes, if that is into the unit that is open and does not fill it. Nothing is opened.
    #[inline(always)]
    pub fn place_in_unit(self, ftl: &Ftl, domain: Domain) -> Option<PageAddress> {
        let page = ftl.plain_pages();
        let frontier = page.kernel.frontier(domain, Stream::FIRST)?;
        (page.kernel.geometry().slots_left(frontier.slot) > 1).then(|| spot(page, frontier.unit, frontier.slot))
    }

    /// The page that the collection of a domain moves after its next one, while that is where [`PlainPages::next_page`] found it. The
    /// memory is asked for what moving it will change.
    #[inline(always)]
    pub fn page_after_next(self, ftl: &Ftl, domain: Domain) -> Option<PageAddress> {
        let page = ftl.plain_pages();
        let &Job { unit, cursor, .. } = page.kernel.job(domain)?;
        let slot = page.kernel.next_valid(unit, cursor.next())?;
        Some(asked_for(page, unit, slot))
    }
}

#[inline(always)]
fn spot(page: &PageMap<Plain>, unit: Unit, slot: Slot) -> PageAddress {
    PageAddress { at: page.kernel.geometry().ppn(unit, slot), unit, slot }
}

#[inline(always)]
fn asked_for(page: &PageMap<Plain>, unit: Unit, slot: Slot) -> PageAddress {
    let found = spot(page, unit, slot);
    page.kernel.prefetch_copy(found.at);
    found
}
