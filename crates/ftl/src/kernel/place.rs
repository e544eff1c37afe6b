//! Active blocks: the unit that each stream of a domain fills, and the slot that comes next.

use base::{Lpn, Ppn};

use super::{Density, Kernel, NONE, PREFETCH_DISTANCE};
use crate::pool::FreePool;
use crate::victim::{UnitState, VictimPolicy};

/// Where a stream's next page goes: a slot of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    pub(crate) unit: u32,
    pub(crate) slot: u32,
}

impl Frontier {
    /// No unit is open.
    pub(super) const NONE: Frontier = Frontier { unit: NONE, slot: 0 };

    /// Whether a unit is open.
    #[inline]
    pub(super) fn is_open(self) -> bool {
        self.unit != NONE
    }
}

/// Where a page was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: Ppn,
    /// The unit, if the page filled it.
    pub(crate) filled: Option<u32>,
}

impl Kernel {
    #[inline]
    pub(super) fn raw_frontier(&self, domain: u32, stream: usize) -> Frontier {
        if stream == 0 {
            self.domains[domain as usize].first
        } else {
            self.others[domain as usize * (self.streams.count() - 1) + stream - 1]
        }
    }

    #[inline]
    pub(super) fn raw_frontier_mut(&mut self, domain: u32, stream: usize) -> &mut Frontier {
        if stream == 0 {
            &mut self.domains[domain as usize].first
        } else {
            let others = self.streams.count() - 1;
            &mut self.others[domain as usize * others + stream - 1]
        }
    }

    /// The active block of a stream, if one is open.
    #[inline]
    pub(crate) fn frontier(&self, domain: u32, stream: usize) -> Option<Frontier> {
        let frontier = self.raw_frontier(domain, stream);
        frontier.is_open().then_some(frontier)
    }

    /// Whether a stream has an active block.
    #[inline]
    pub(crate) fn is_open(&self, domain: u32, stream: usize) -> bool {
        self.raw_frontier(domain, stream).is_open()
    }

    /// The active block of a stream, opened if need be.
    #[inline]
    pub(crate) fn open_frontier(&mut self, domain: u32, stream: usize) -> Frontier {
        let frontier = self.raw_frontier(domain, stream);
        if frontier.is_open() { frontier } else { self.open(domain, stream) }
    }

    #[cold]
    fn open(&mut self, domain: u32, stream: usize) -> Frontier {
        let unit = self.pool.take(domain).expect("the reserve keeps a free unit for every frontier");
        self.units[unit as usize].state = UnitState::Open;
        self.units[unit as usize].lsb_only = self.streams.density(stream) == Density::LsbOnly;
        self.filled_by[unit as usize] = stream as u8;
        self.domains[domain as usize].free -= 1;
        let frontier = Frontier { unit, slot: 0 };
        *self.raw_frontier_mut(domain, stream) = frontier;
        frontier
    }

    /// Where the next page of a stream goes; opens a unit if none is open.
    #[inline]
    pub(crate) fn next_place(&mut self, domain: u32, stream: usize) -> Ppn {
        let frontier = self.open_frontier(domain, stream);
        self.geometry.ppn(frontier.unit, frontier.slot)
    }

    /// Places a page of the host, or of the map: logical time goes on with the host's.
    #[inline]
    pub(crate) fn place_new(&mut self, domain: u32, stream: usize, lpn: Lpn, is_host: bool) -> Place {
        let state = &mut self.domains[domain as usize];
        state.clock += u64::from(is_host);
        state.valid += 1;
        self.numbers.writes += u64::from(is_host);
        self.place(domain, stream, lpn)
    }

    /// Places a page at a frontier and points the map at it. Its old version was detached.
    #[inline(always)] // With a stream that is known, most of it is decided when it is compiled.
    pub(crate) fn place(&mut self, domain: u32, stream: usize, lpn: Lpn) -> Place {
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        let at = self.geometry.ppn(unit, slot);
        self.bind(lpn, at);
        // Programs of a unit lie far apart in time, as steps of a collection do.
        let coming = (slot + PREFETCH_DISTANCE).min(self.geometry.unit_slots() - 1);
        self.reverse.prefetch(self.geometry.ppn(unit, coming).index());
        self.units[unit as usize].valid += 1;
        Place { at, filled: self.advance(domain, stream, unit, slot) }
    }

    /// Uses up a slot of a frontier for a page that holds nothing.
    pub(crate) fn place_dummy(&mut self, domain: u32, stream: usize) -> Place {
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        Place { at: self.geometry.ppn(unit, slot), filled: self.advance(domain, stream, unit, slot) }
    }

    /// Moves a frontier past a slot. Returns the unit if it is filled.
    #[inline]
    fn advance(&mut self, domain: u32, stream: usize, unit: u32, slot: u32) -> Option<u32> {
        let next = self.streams.slot_after(stream, slot);
        if next == self.geometry.unit_slots() {
            self.close(domain, stream);
            return Some(unit);
        }
        self.raw_frontier_mut(domain, stream).slot = next;
        None
    }

    /// Ends the filling of a stream's active block, full or not. Returns the unit.
    ///
    /// # Panics
    /// If none is open.
    #[cold]
    pub(crate) fn close(&mut self, domain: u32, stream: usize) -> u32 {
        let unit = std::mem::replace(self.raw_frontier_mut(domain, stream), Frontier::NONE).unit;
        assert_ne!(unit, NONE, "an active block is closed");
        self.closings += 1;
        self.closed_at[unit as usize] = self.closings;
        let state = &mut self.units[unit as usize];
        if state.lsb_only {
            state.state = UnitState::Aside;
        } else {
            state.state = UnitState::Closed;
            let now = self.domains[domain as usize].clock;
            self.victim.on_closed(domain, unit, u32::from(state.valid), now);
        }
        unit
    }
}
