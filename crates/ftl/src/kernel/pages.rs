//! The map and the reverse map.

use std::ops::Range;

use base::{Lpn, Ppn, Slot, Unit};

use super::{Kernel, NONE, PREFETCH_DISTANCE};
use crate::victim::{UnitState, VictimPolicy};

/// Words of four bytes in what the processor loads at once.
const WORDS_OF_LINE: usize = 16;

impl Kernel {
    /// Logical pages of the host.
    #[inline]
    pub(crate) fn user_pages(&self) -> u32 {
        self.user_pages
    }

    /// Logical pages of the host and, behind them, those of a map in flash.
    pub(crate) fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    /// True if a logical page is one of a map in flash.
    #[inline]
    pub(crate) fn is_of_map(&self, lpn: Lpn) -> bool {
        lpn.0 >= self.user_pages
    }

    /// Where a logical page is, if it was ever written (and not trimmed since).
    #[inline]
    pub(crate) fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map.get(lpn.index());
        (ppn != NONE).then_some(Ppn(ppn))
    }

    /// True if a logical page is somewhere.
    #[inline]
    pub(crate) fn is_mapped(&self, lpn: Lpn) -> bool {
        self.map.get(lpn.index()) != NONE
    }

    /// The logical page whose current data a physical page holds.
    #[inline]
    pub(crate) fn lpn_at(&self, ppn: Ppn) -> Option<Lpn> {
        let lpn = self.reverse.get(ppn.index());
        (lpn != NONE).then_some(Lpn(lpn))
    }

    /// The logical pages whose current data `pages` physical pages from `first` on hold.
    #[inline]
    pub(crate) fn lpns_from(&self, first: Ppn, pages: u32) -> impl DoubleEndedIterator<Item = Option<Lpn>> {
        let lpns = self.reverse.range(first.index()..first.index() + pages as usize);
        lpns.map(|lpn| (lpn != NONE).then_some(Lpn(lpn)))
    }

    /// True if a physical page holds current data.
    #[inline]
    pub(crate) fn is_valid(&self, ppn: Ppn) -> bool {
        self.reverse.get(ppn.index()) != NONE
    }

    /// Asks for the map entry of a page that will be looked up or written soon.
    #[inline]
    pub(crate) fn prefetch_map(&self, lpn: Lpn) {
        self.map.prefetch(lpn.index());
    }

    /// Asks for what a coming write of the page will invalidate. Best some time after [`Kernel::prefetch_map`].
    #[inline]
    pub(crate) fn prefetch_old(&self, lpn: Lpn) {
        let ppn = self.map.get(lpn.index());
        if ppn != NONE {
            self.reverse.prefetch(ppn as usize);
            engine::prefetch(&self.units, self.geometry.unit_of(Ppn(ppn)).index());
        }
    }

    /// Asks for the map entry that moving a page will change.
    #[inline]
    pub(crate) fn prefetch_copy(&self, from: Ppn) {
        let lpn = self.reverse.get(from.index());
        if lpn != NONE {
            self.map.prefetch(lpn as usize);
        }
    }

    /// Asks for what pages hold that will be looked at soon, one after the other.
    #[inline]
    pub(crate) fn prefetch_pages(&self, pages: Range<Ppn>) {
        (pages.start.index()..pages.end.index()).step_by(WORDS_OF_LINE).for_each(|page| self.reverse.prefetch(page));
    }

    /// The first valid slot of a unit from a slot on, if there is one.
    #[inline(always)]
    pub(crate) fn next_valid(&self, unit: Unit, from: Slot) -> Option<Slot> {
        let first = self.geometry.ppn(unit, Slot::FIRST).index();
        let mut slots = self.geometry.slots_from(from);
        let mut pages = self.reverse.range(first + from.index()..first + self.geometry.unit_slots() as usize);
        // A loop, which is part of its caller wherever that is; a search by closure is a call where there are several callers.
        let slot = loop {
            let slot = slots.next()?;
            if pages.next()? != NONE {
                break slot;
            }
        };
        // Steps lie far apart in time: by the next one but a few, its line is no longer expected.
        self.reverse.prefetch(first + self.geometry.slot_ahead(slot, PREFETCH_DISTANCE).index());
        Some(slot)
    }

    /// A page is no longer current: its data were overwritten or trimmed, or are written anew elsewhere.
    #[inline(always)] // Once per page of the host.
    pub(crate) fn invalidate(&mut self, ppn: Ppn) {
        debug_assert!(self.is_valid(ppn), "a page becomes invalid once");
        self.reverse.set(ppn.index(), NONE);
        let unit = self.geometry.unit_of(ppn);
        let domain = self.geometry.domain_of_unit(unit);
        let owner = &mut self.domains[domain.index()];
        owner.valid -= 1;
        let state = &mut self.units[unit.index()];
        state.valid -= 1;
        if state.state == UnitState::Closed {
            self.victim.on_invalidated(domain, unit, u32::from(state.valid), owner.clock);
        }
    }

    /// A page of a victim leaves its place, to be placed in the same domain at once; the page that it held.
    #[inline(always)]
    pub(crate) fn detach(&mut self, unit: Unit, from: Ppn) -> Option<Lpn> {
        let lpn = self.reverse.get(from.index());
        if lpn == NONE {
            return None;
        }
        self.reverse.set(from.index(), NONE);
        let unit = &mut self.units[unit.index()];
        debug_assert!(unit.state != UnitState::Closed, "only pages of a unit in work are moved");
        unit.valid -= 1;
        Some(Lpn(lpn))
    }

    /// The copy of a page was not programmed, or is lost: it is where it was copied from, in a unit that is in work still, or where its backup
    /// is, in a unit that was set aside.
    pub(crate) fn return_copy(&mut self, lpn: Lpn, copy: Ppn, from: Ppn) {
        let state = self.state_of(self.geometry.unit_of(from));
        assert!(matches!(state, UnitState::Collecting | UnitState::Aside), "unit {state:?} keeps what was copied");
        self.invalidate(copy);
        self.adopt_page(lpn, from);
    }

    /// Empties the map entry of a page. Returns where it was.
    pub(crate) fn forget(&mut self, lpn: Lpn) -> Option<Ppn> {
        let old = self.map.get(lpn.index());
        if old == NONE {
            return None;
        }
        self.map.set(lpn.index(), NONE);
        self.invalidate(Ppn(old));
        Some(Ppn(old))
    }

    /// After a restart: the page that was found to be the newest of a logical page.
    pub(crate) fn adopt_page(&mut self, lpn: Lpn, at: Ppn) {
        self.map.set(lpn.index(), at.0);
        self.reverse.set(at.index(), lpn.0);
        let unit = self.geometry.unit_of(at);
        self.units[unit.index()].valid += 1;
        self.domains[self.geometry.domain_of_unit(unit).index()].valid += 1;
    }

    /// Points the map at a page and the page back.
    #[inline]
    pub(super) fn bind(&mut self, lpn: Lpn, ppn: Ppn) {
        self.map.set(lpn.index(), ppn.0);
        self.reverse.set(ppn.index(), lpn.0);
    }
}
