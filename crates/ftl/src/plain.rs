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

    /// Where the page goes that the collection of a domain has read, if that is into the unit that is open and does not fill it: nothing
    /// is opened. And the page that it moves after that one, which is where [`PlainPages::next_page`] found it; the memory is asked for
    /// what moving it will change.
    #[inline(always)]
    pub fn look_ahead(self, ftl: &Ftl, domain: Domain) -> Option<(Ppn, Option<PageAddress>)> {
        let page = ftl.plain_pages();
        let kernel = &page.kernel;
        let frontier = kernel.frontier(domain, Stream::FIRST)?;
        if kernel.geometry().slots_left(frontier.slot) <= 1 {
            return None;
        }
        let next = kernel.job(domain).and_then(|&Job { unit, cursor, .. }| {
            kernel.next_valid(unit, cursor.next()).map(|slot| asked_for(page, unit, slot))
        });
        Some((kernel.geometry().ppn(frontier.unit, frontier.slot), next))
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
