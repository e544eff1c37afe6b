//! Active blocks: the unit that each stream of a domain fills, and the slot that comes next.

use base::{Domain, Geometry, Lpn, Ppn, Slot, Unit};

use super::{Density, Kernel, NONE, PREFETCH_DISTANCE, Stream};
use crate::pool::FreePool;
use crate::victim::UnitState;

/// Where a stream's next page goes: a slot of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    pub(crate) unit: Unit,
    pub(crate) slot: Slot,
}

/// A frontier as the flat arrays keep it, in eight bytes: the word for a unit or for none, and the slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedFrontier {
    unit: u32,
    slot: Slot,
}

impl PackedFrontier {
    /// No unit is open.
    pub(super) const NONE: PackedFrontier = PackedFrontier { unit: Unit::to_word(None), slot: Slot::FIRST };

    #[inline]
    fn unpack(self) -> Option<Frontier> {
        let unit = Unit::from_word(self.unit)?;
        Some(Frontier { unit, slot: self.slot })
    }
}

/// Pages that moved from one unit to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedRun {
    pub(crate) pages: u32,
    /// Where the last of them was.
    pub(crate) last: Ppn,
    /// Where the first of them is.
    pub(crate) to: Ppn,
    /// The slot of the old unit up to which they moved.
    pub(crate) next: Slot,
    /// The unit that they came to, if they filled it.
    pub(crate) filled: Option<Unit>,
}

/// Where pages of a row were placed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedRun {
    /// The first of them.
    pub(crate) first: Ppn,
    pub(crate) pages: u32,
    /// The unit, if they filled it.
    pub(crate) filled: Option<Unit>,
}

/// Blocks that a unit has at most: a die has no more planes.
const LANES: usize = 16;

/// The flash pages that pages of a unit are read with, one after the other.
pub(crate) struct RunReads {
    /// The last one, counted over the device.
    last: Option<u32>,
    /// The number of flash pages read, by block of the unit.
    pub(crate) of_lane: [u32; LANES],
}

impl RunReads {
    /// None.
    pub(crate) const NONE: RunReads = RunReads { last: None, of_lane: [0; LANES] };

    /// A page is read before it moves. Returns true if its flash page was not the last one.
    #[inline(always)]
    fn note(&mut self, geometry: &Geometry, page: Ppn) -> bool {
        let flash_page = Some(geometry.flash_page_of(page));
        let is_new = std::mem::replace(&mut self.last, flash_page) != flash_page;
        if is_new {
            let (_, slot) = geometry.unit_and_slot(page);
            self.of_lane[geometry.lane_of_slot(slot) as usize] += 1;
        }
        is_new
    }
}

/// Pages between the one that moves and the one whose own entries are asked for.
pub(crate) const FAR_AHEAD: u32 = 512;

/// Pages between the one that moves and the one whose map entry is asked for.
const AHEAD: usize = PREFETCH_DISTANCE as usize;

/// Where a page was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) at: Ppn,
    /// The unit, if the page filled it.
    pub(crate) filled: Option<Unit>,
}

impl Kernel {
    /// The active block of a stream, if one is open.
    #[inline]
    pub(crate) fn frontier(&self, domain: Domain, stream: Stream) -> Option<Frontier> {
        if stream.is_first() {
            self.domains[domain.index()].first.unpack()
        } else {
            self.others[domain.index() * (self.streams.count() - 1) + stream.index() - 1].unpack()
        }
    }

    #[inline]
    fn packed_frontier_mut(&mut self, domain: Domain, stream: Stream) -> &mut PackedFrontier {
        if stream.is_first() {
            &mut self.domains[domain.index()].first
        } else {
            let others = self.streams.count() - 1;
            &mut self.others[domain.index() * others + stream.index() - 1]
        }
    }

    /// Gives a stream an active block, or none. Returns the one before.
    pub(super) fn replace_frontier(
        &mut self,
        domain: Domain,
        stream: Stream,
        frontier: Option<Frontier>,
    ) -> Option<Frontier> {
        let packed = frontier.map_or(PackedFrontier::NONE, |Frontier { unit, slot }| PackedFrontier {
            unit: Unit::to_word(Some(unit)),
            slot,
        });
        std::mem::replace(self.packed_frontier_mut(domain, stream), packed).unpack()
    }

    /// True if a stream has an active block.
    #[inline]
    pub(crate) fn is_open(&self, domain: Domain, stream: Stream) -> bool {
        self.frontier(domain, stream).is_some()
    }

    /// Slots that can be filled before a unit has to be erased: of free units, and of active blocks.
    pub(crate) fn free_slots(&self, domain: Domain) -> u64 {
        let of_frontiers: u32 = (0..self.streams.count())
            .filter_map(|stream| self.frontier(domain, Stream::new(stream)))
            .map(|frontier| self.geometry.slots_left(frontier.slot))
            .sum();
        u64::from(self.free(domain)) * u64::from(self.geometry.unit_slots()) + u64::from(of_frontiers)
    }

    /// The active block of a stream, opened if need be.
    #[inline]
    pub(crate) fn open_frontier(&mut self, domain: Domain, stream: Stream) -> Frontier {
        match self.frontier(domain, stream) {
            Some(frontier) => frontier,
            None => self.open(domain, stream),
        }
    }

    #[cold]
    fn open(&mut self, domain: Domain, stream: Stream) -> Frontier {
        let unit = self.take_free(domain, stream).expect("the reserve keeps a free unit for every frontier");
        self.units[unit.index()].state = UnitState::Open;
        self.units[unit.index()].lsb_only = self.streams.density(stream) == Density::LsbOnly;
        self.filled_by[unit.index()] = stream;
        self.domains[domain.index()].free -= 1;
        let frontier = Frontier { unit, slot: Slot::FIRST };
        self.replace_frontier(domain, stream, Some(frontier));
        frontier
    }

    /// Has a stream of LSB pages fill an empty unit that was set aside.
    ///
    /// # Panics
    /// If the stream fills another one, or the unit is not empty and set aside.
    pub(crate) fn open_aside(&mut self, domain: Domain, stream: Stream, unit: Unit) {
        let record = &mut self.units[unit.index()];
        assert_eq!((record.state, record.valid), (UnitState::Aside, 0), "an empty unit that was set aside is opened");
        record.state = UnitState::Open;
        self.filled_by[unit.index()] = stream;
        let before = self.replace_frontier(domain, stream, Some(Frontier { unit, slot: Slot::FIRST }));
        assert_eq!(before, None, "a stream fills one unit at a time");
    }

    /// A free unit for a stream.
    fn take_free(&mut self, domain: Domain, stream: Stream) -> Option<Unit> {
        if self.streams.is_cold(stream) {
            return self.pool.take_worn(domain);
        }
        let of_high = self.streams.high(stream).and_then(|offset| self.pool.take_from(domain, offset));
        of_high.or_else(|| self.pool.take(domain))
    }

    /// True if a unit at that offset of a domain, or behind it, is free.
    pub(crate) fn has_free_from(&self, domain: Domain, offset: u32) -> bool {
        let units = self.geometry.units_of_domain(domain).skip(offset as usize);
        units.into_iter().any(|unit| self.state_of(unit) == UnitState::Free)
    }

    /// Has a stream fill a unit in work from a slot on: its pages move inside it. Nothing: no longer.
    pub(crate) fn fill_in_work(&mut self, domain: Domain, stream: Stream, frontier: Option<Frontier>) {
        if let Some(Frontier { unit, .. }) = frontier {
            assert_eq!(self.state_of(unit), UnitState::Collecting, "pages move inside a unit in work");
        }
        self.replace_frontier(domain, stream, frontier);
    }

    /// Where the next page of a stream goes; opens a unit if none is open.
    #[inline]
    pub(crate) fn next_place(&mut self, domain: Domain, stream: Stream) -> Ppn {
        let frontier = self.open_frontier(domain, stream);
        self.geometry.ppn(frontier.unit, frontier.slot)
    }

    /// Places a page of the host, or of the map: logical time goes on with the host's.
    #[inline(always)] // Once per page of the host.
    pub(crate) fn place_new(&mut self, domain: Domain, stream: Stream, lpn: Lpn, is_host: bool) -> Placement {
        let state = &mut self.domains[domain.index()];
        state.clock += u64::from(is_host);
        state.valid += 1;
        self.numbers.writes += u64::from(is_host);
        self.place(domain, stream, lpn)
    }

    /// Places a page at a frontier and points the map at it. Its old version was detached.
    #[inline(always)] // With a stream that is known, most of it is decided when it is compiled.
    pub(crate) fn place(&mut self, domain: Domain, stream: Stream, lpn: Lpn) -> Placement {
        let (Frontier { unit, slot }, filled) = self.fill_slot(domain, stream, lpn);
        Placement { at: self.geometry.ppn(unit, slot), filled }
    }

    /// Places a page as [`Kernel::place`] does, by unit and slot. Returns the unit as well, if the page filled it.
    #[inline(always)]
    pub(crate) fn fill_slot(&mut self, domain: Domain, stream: Stream, lpn: Lpn) -> (Frontier, Option<Unit>) {
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        self.bind(lpn, self.geometry.ppn(unit, slot));
        // Programs of a unit lie far apart in time, as steps of a collection do.
        let coming = self.geometry.slot_ahead(slot, PREFETCH_DISTANCE);
        self.reverse.prefetch(self.geometry.ppn(unit, coming).index());
        self.units[unit.index()].valid += 1;
        (Frontier { unit, slot }, self.advance(domain, stream, unit, slot))
    }

    /// Places copies of valid pages of a unit in work where the next pages of a stream go, in order and as many as its row takes. `None`
    /// where spare areas are kept, or the stream skips slots: there each page is placed by itself.
    #[inline]
    pub(crate) fn place_run(&mut self, domain: Domain, stream: Stream, pages: &[Ppn]) -> Option<PlacedRun> {
        if self.keeps_spares() || self.streams.density(stream) != Density::Full {
            return None;
        }
        let Frontier { unit: target, slot } = self.open_frontier(domain, stream);
        let (unit, to) = (self.geometry.unit_of(pages[0]), self.geometry.ppn(target, slot));
        let left = self.geometry.row_slots() - self.geometry.row_of_slot(slot).1;
        let count = (pages.len() as u32).min(left);
        for (&from, at) in pages[..count as usize].iter().zip(to.0..) {
            debug_assert_eq!(self.geometry.unit_of(from), unit, "pages of one unit");
            let lpn = self.reverse.get(from.index());
            assert!(lpn != NONE, "stale pages were dropped");
            self.reverse.set(from.index(), NONE);
            self.bind(Lpn(lpn), Ppn(at));
        }
        let coming = self.geometry.slot_ahead(slot, PREFETCH_DISTANCE);
        self.reverse.prefetch(self.geometry.ppn(target, coming).index());
        self.units[unit.index()].valid -= count as u16;
        self.units[target.index()].valid += count as u16;
        let filled = self.advance(domain, stream, target, Slot::new(slot.number() + count - 1));
        Some(PlacedRun { first: to, pages: count, filled })
    }

    /// Moves valid pages of a unit in work, from a slot on and in order, to where the next pages of a stream go, as many as its active
    /// block takes. `None` if no valid page is left. The flash pages that they are read with are counted where these have `PARTS`.
    #[inline]
    pub(crate) fn move_run<const PARTS: bool>(
        &mut self,
        domain: Domain,
        stream: Stream,
        (unit, from): (Unit, Slot),
        reads: &mut RunReads,
    ) -> Option<MovedRun> {
        let from = self.next_valid(unit, from)?;
        let Frontier { unit: target, slot } = self.open_frontier(domain, stream);
        let (first, to) = (self.geometry.ppn(unit, from), self.geometry.ppn(target, slot));
        let (end, full) = (first.0 + self.geometry.slots_left(from), to.0 + self.geometry.slots_left(slot));
        let Kernel { map, reverse, geometry, .. } = self;
        // Words as they are stored.
        let map = map.stored_mut();
        let [old, new] = reverse
            .stored_mut()
            .get_disjoint_mut([first.index()..end as usize, to.index()..full as usize])
            .expect("no victim is an active block");
        let ask = |map: &[u32], stored: u32| {
            if stored != !NONE {
                engine::prefetch(map, !stored as usize);
            }
        };
        old.iter().take(AHEAD).for_each(|&stored| ask(map, stored));
        let (mut at, mut last, mut pages) = (0, 0, 0);
        while at < old.len() && pages < new.len() {
            if let Some(&coming) = old.get(at + AHEAD) {
                ask(map, coming);
            }
            let stored = std::mem::replace(&mut old[at], !NONE);
            if stored != !NONE {
                // Further ones are asked for: a unit may be larger than what the processor keeps nearest.
                let far = at + FAR_AHEAD as usize;
                if PARTS && reads.note(geometry, Ppn(first.0 + at as u32)) && far < old.len() {
                    engine::prefetch(old, far);
                }
                new[pages] = stored;
                map[!stored as usize] = !(to.0 + pages as u32);
                (pages, last) = (pages + 1, at);
            }
            at += 1;
        }
        let (pages, last) = (pages as u32, Ppn(first.0 + last as u32));
        self.units[unit.index()].valid -= pages as u16;
        self.units[target.index()].valid += pages as u16;
        let filled = self.advance(domain, stream, target, Slot::new(slot.number() + pages - 1));
        Some(MovedRun { pages, last, to, next: Slot::new(from.number() + at as u32), filled })
    }

    /// Uses up a slot of a frontier for a page that holds nothing.
    pub(crate) fn place_dummy(&mut self, domain: Domain, stream: Stream) -> Placement {
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        Placement { at: self.geometry.ppn(unit, slot), filled: self.advance(domain, stream, unit, slot) }
    }

    /// Moves a frontier past a slot. Returns the unit if it is filled.
    #[inline(always)]
    fn advance(&mut self, domain: Domain, stream: Stream, unit: Unit, slot: Slot) -> Option<Unit> {
        let next = self.streams.slot_after(stream, slot);
        if next == self.geometry.end_slot() {
            self.close(domain, stream);
            return Some(unit);
        }
        self.packed_frontier_mut(domain, stream).slot = next;
        None
    }

    /// Ends the filling of a stream's active block, full or not. Returns the unit.
    ///
    /// # Panics
    /// If none is open.
    #[cold]
    pub(crate) fn close(&mut self, domain: Domain, stream: Stream) -> Unit {
        let Frontier { unit, .. } = self.replace_frontier(domain, stream, None).expect("an active block is closed");
        self.closings += 1;
        self.closed_at[unit.index()] = self.closings;
        let state = &mut self.units[unit.index()];
        if state.state == UnitState::Collecting {
            // Its pages move inside it.
        } else if state.lsb_only {
            state.state = UnitState::Aside;
        } else {
            state.state = UnitState::Closed;
            let now = self.domains[domain.index()].clock;
            self.tell_closed(unit, now);
        }
        unit
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, Dimensions};
    use engine::Chance;

    use super::*;
    use crate::kernel::Why;
    use crate::sample::{self, FIRST};

    /// On units of two planes and flash pages of two parts, with pages of the host between the copies.
    #[test]
    fn copies_that_are_placed_at_once_lie_where_single_ones_do() {
        let dimensions = Dimensions {
            planes_per_die: 2,
            blocks_per_plane: 8,
            pages_per_block: 6,
            unit_width: 2,
            parts: 2,
            ..Dimensions::ONE_PAGE
        };
        let policies = sample::policies(&[("reclaim_unit", "twin", &[])], Cell::Slc);
        for seed in 0..50 {
            let mut random = Chance::new(seed, "runs");
            let (mut kernel, _) = sample::kernel(Geometry::new(dimensions), 24, &policies);
            let first = sample::write(&mut kernel, Stream::FIRST, 0..12)[0];
            let unit = kernel.geometry().unit_of(first);
            let stale: Vec<u32> = (0..12).filter(|_| random.below(3) == 0).collect();
            stale.iter().for_each(|&lpn| assert!(kernel.forget(Lpn(lpn)).is_some()));
            kernel.take_victim(FIRST, unit, Why::Room);
            let (mut singly, mut host) = (kernel.clone(), 12);
            let valid: Vec<Ppn> = (first.0..first.0 + 12).map(Ppn).filter(|&page| kernel.is_valid(page)).collect();
            let mut next = 0;
            while next < valid.len() {
                let group = &valid[next..valid.len().min(next + 1 + random.below_u32(6) as usize)];
                let run = kernel.place_run(FIRST, Stream::FIRST, group).expect("no spare areas are kept");
                let row = kernel.geometry().row_around(run.first);
                assert!(row.contains(&(run.first.0 + run.pages - 1)), "pages of one row");
                for (number, &from) in group[..run.pages as usize].iter().enumerate() {
                    let lpn = singly.detach(unit, from).expect("a valid page");
                    let placed = singly.place(FIRST, Stream::FIRST, lpn);
                    assert_eq!(placed.at, Ppn(run.first.0 + number as u32));
                    let is_last = number + 1 == run.pages as usize;
                    assert_eq!(placed.filled, run.filled.filter(|_| is_last));
                }
                next += run.pages as usize;
                if random.below(2) == 0 && host < 24 {
                    for kernel in [&mut kernel, &mut singly] {
                        sample::write(kernel, Stream::FIRST, [host]);
                    }
                    host += 1;
                }
                let of_map = |kernel: &Kernel| (0..24).map(|lpn| kernel.lookup(Lpn(lpn))).collect::<Vec<_>>();
                assert_eq!(of_map(&kernel), of_map(&singly));
                assert_eq!(kernel.valid_of(unit), singly.valid_of(unit));
                assert_eq!(kernel.frontier(FIRST, Stream::FIRST), singly.frontier(FIRST, Stream::FIRST));
            }
            assert_eq!(kernel.valid_of(unit), 0);
            for kernel in [&kernel, &singly] {
                assert_eq!((kernel.check_maps(), kernel.check_counts()), (Ok(()), Ok(())));
            }
        }
    }
}
