//! Page mapping without mechanisms, for an executor that knows it to be in force: what collections that only move pages ask at
//! every step, without asking which mapping it is.

use base::{Domain, Ppn, Slot, Unit};

use crate::facade::Ftl;
use crate::kernel::Stream;
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
        Some(Spot { at: self.0.kernel.geometry().ppn(unit, slot), unit, slot })
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
    /// was overwritten or trimmed since. As [`Ftl::place`].
    #[inline(always)]
    pub fn move_page(&mut self, domain: Domain, from: Ppn) -> Option<Spot> {
        let kernel = &mut self.0.kernel;
        debug_assert!(!kernel.keeps_spares(), "a copy takes its spare area along");
        let unit = kernel.job(domain)?.unit;
        debug_assert_eq!(unit, kernel.geometry().unit_of(from));
        let lpn = kernel.detach(unit, from)?;
        let frontier = kernel.fill_slot(domain, Stream::FIRST, lpn).0;
        Some(Spot { at: kernel.geometry().ppn(frontier.unit, frontier.slot), unit: frontier.unit, slot: frontier.slot })
    }

    /// Whether the next page of a domain goes into the unit that is open, and does not fill it.
    #[inline(always)]
    pub fn stays_in_unit(&self, domain: Domain) -> bool {
        let kernel = &self.0.kernel;
        kernel.frontier(domain, Stream::FIRST).is_some_and(|frontier| kernel.geometry().slots_left(frontier.slot) > 1)
    }

    /// Cancels the last move of a domain's collection, which stayed in a unit.
    pub fn cancel_move(&mut self, domain: Domain, from: Ppn, to: Ppn) {
        self.0.kernel.move_back(domain, from, to);
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
