//! The reads that are counted: of every block since its erase, and of every page of monitor blocks.

use base::{Geometry, Slot, Unit};

/// The reads of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockReads {
    /// Page reads since its erase.
    pub(super) reads: u32,
    /// From so many on it is looked at: its pages may have to move.
    pub(super) look_at: u32,
    /// Reads before the first of the pages that count was programmed.
    base: u32,
}

/// Bytes of a block.
pub(super) const BYTES_OF_BLOCK: u64 = size_of::<BlockReads>() as u64;

/// The reads of all blocks, by unit and lane.
#[derive(Clone)]
pub(super) struct ReadCounters {
    width: u32,
    blocks: Vec<BlockReads>,
    /// When an erased block is looked at.
    first_look: u32,
}

impl ReadCounters {
    pub(super) fn new(geometry: &Geometry, first_look: u32) -> ReadCounters {
        let blocks = vec![BlockReads { reads: 0, look_at: first_look, base: 0 }; geometry.blocks() as usize];
        ReadCounters { width: geometry.unit_width, blocks, first_look }
    }

    #[inline]
    fn index(&self, unit: Unit, lane: u32) -> usize {
        unit.index() * self.width as usize + lane as usize
    }

    /// A block is read soon.
    #[inline]
    pub(super) fn prefetch(&self, unit: Unit, lane: u32) {
        engine::prefetch(&self.blocks, self.index(unit, lane));
    }

    /// Counts a read. Returns whether the block is to be looked at.
    #[inline]
    pub(super) fn count(&mut self, unit: Unit, lane: u32) -> bool {
        let index = self.index(unit, lane);
        let block = &mut self.blocks[index];
        block.reads += 1;
        block.reads >= block.look_at
    }

    /// Counts reads of a block, as long as it need not be looked at. Returns how many.
    #[inline]
    pub(super) fn count_most(&mut self, unit: Unit, lane: u32, reads: u32) -> u32 {
        let index = self.index(unit, lane);
        let block = &mut self.blocks[index];
        let reads = reads.min(block.look_at.saturating_sub(block.reads + 1));
        block.reads += reads;
        reads
    }

    /// True if nothing is to be looked at about a block.
    #[inline]
    pub(super) fn is_fine(&self, unit: Unit, lane: u32) -> bool {
        let block = self.blocks[self.index(unit, lane)];
        block.reads < block.look_at
    }

    /// The reads of the most read block of a unit.
    pub(super) fn of_unit(&self, unit: Unit) -> u32 {
        self.lanes(unit).iter().map(|block| block.reads).max().unwrap_or(0)
    }

    /// The reads that pages of a unit took, at most, since they were programmed.
    pub(super) fn taken(&self, unit: Unit) -> u32 {
        self.lanes(unit).iter().map(|block| block.reads - block.base).max().unwrap_or(0)
    }

    /// The reads of a unit's blocks: those before pages that are programmed from now on.
    pub(super) fn marks(&self, unit: Unit) -> Vec<u32> {
        self.lanes(unit).iter().map(|block| block.reads).collect()
    }

    /// Reads up to these marks do not count any more.
    pub(super) fn start_from(&mut self, unit: Unit, marks: &[u32]) {
        for (block, &mark) in self.lanes_mut(unit).iter_mut().zip(marks) {
            block.base = mark;
        }
    }

    /// Takes `reads` back from the disturb counts of a unit's blocks.
    pub(super) fn discount(&mut self, unit: Unit, reads: u32) {
        self.lanes_mut(unit).iter_mut().for_each(|block| block.base = block.reads.min(block.base + reads));
    }

    /// Each block of a unit, for a state: its reads, and those that do not count.
    pub(super) fn saved(&self, unit: Unit) -> impl Iterator<Item = [u32; 2]> {
        self.lanes(unit).iter().map(|block| [block.reads, block.base])
    }

    fn lanes(&self, unit: Unit) -> &[BlockReads] {
        &self.blocks[self.index(unit, 0)..][..self.width as usize]
    }

    fn lanes_mut(&mut self, unit: Unit) -> &mut [BlockReads] {
        let first = self.index(unit, 0);
        &mut self.blocks[first..][..self.width as usize]
    }

    /// Has the blocks of a unit looked at when they took so many reads more.
    pub(super) fn look_after(&mut self, unit: Unit, reads: u32) {
        self.lanes_mut(unit).iter_mut().for_each(|block| block.look_at = block.reads + reads);
    }

    /// A page comes to lie in a unit, which takes a read more for its refresh: it is looked at one read sooner. The first look counts all
    /// pages already; so does every one at a unit of several blocks, for the slots that are left.
    #[inline]
    pub(super) fn page_comes(&mut self, unit: Unit) {
        if self.width == 1 {
            let block = &mut self.blocks[unit.index()];
            block.look_at -= u32::from(block.look_at > self.first_look);
        }
    }

    /// A unit was erased.
    pub(super) fn erased(&mut self, unit: Unit) {
        let erased = BlockReads { reads: 0, look_at: self.first_look, base: 0 };
        self.lanes_mut(unit).fill(erased);
    }

    /// Takes over what a state says of a block.
    pub(super) fn adopt_block(&mut self, unit: Unit, lane: u32, reads: u32, base: u32) {
        let block = &mut self.lanes_mut(unit)[lane as usize];
        (block.reads, block.base) = (reads, base);
    }

    /// Takes over what is known of a unit's reads from elsewhere: no block of it took more.
    pub(super) fn adopt(&mut self, unit: Unit, reads: u32, base: u32) {
        self.lanes_mut(unit).iter_mut().for_each(|block| (block.reads, block.base) = (reads, base));
    }
}

/// The read counters of the flash pages of monitor units: two bytes each.
#[derive(Clone)]
pub(super) struct Monitors {
    /// Flash pages of a unit.
    slots: usize,
    /// Pages of a flash page: what is read of one, is read of all.
    parts: usize,
    /// By unit: its place, from 1 on; 0 for none.
    places: Vec<u32>,
    counts: Vec<u16>,
    free: Vec<u32>,
}

impl Monitors {
    pub(super) fn new(geometry: &Geometry, units: u32) -> Monitors {
        let parts = geometry.parts as usize;
        let slots = geometry.unit_slots() as usize / parts;
        let places = if units == 0 { Vec::new() } else { vec![0; geometry.units() as usize] };
        Monitors { slots, parts, places, counts: vec![0; units as usize * slots], free: (1..=units).rev().collect() }
    }

    /// Begins to count the reads of a unit's pages.
    pub(super) fn begin(&mut self, unit: Unit) {
        if self.places[unit.index()] == 0 {
            // A failed program can end a unit early, so that there is one more for a while.
            let place = self.free.pop().unwrap_or_else(|| {
                self.counts.resize(self.counts.len() + self.slots, 0);
                (self.counts.len() / self.slots) as u32
            });
            self.places[unit.index()] = place;
            self.counts_of(place).fill(0);
        }
    }

    /// Ends it.
    pub(super) fn end(&mut self, unit: Unit) {
        if let Some(place) = self.places.get_mut(unit.index())
            && *place != 0
        {
            self.free.push(std::mem::take(place));
        }
    }

    fn counts_of(&mut self, place: u32) -> &mut [u16] {
        &mut self.counts[(place as usize - 1) * self.slots..][..self.slots]
    }

    /// A page of a unit is read soon.
    #[inline]
    pub(super) fn prefetch(&self, unit: Unit) {
        if unit.index() < self.places.len() {
            engine::prefetch(&self.places, unit.index());
        }
    }

    /// Counts reads of `pages` flash pages of a unit, from `first` on.
    #[inline]
    pub(super) fn count(&mut self, unit: Unit, first: Slot, pages: u32) {
        if let Some(&place) = self.places.get(unit.index())
            && place != 0
        {
            let first = (place as usize - 1) * self.slots + first.index() / self.parts;
            let counts = &mut self.counts[first..first + pages as usize];
            counts.iter_mut().for_each(|count| *count = count.saturating_add(1));
        }
    }

    /// The reads of a page of a monitor unit.
    pub(super) fn of(&self, unit: Unit, slot: Slot) -> u16 {
        match self.places[unit.index()] {
            0 => 0,
            place => self.counts[(place as usize - 1) * self.slots + slot.index() / self.parts],
        }
    }
}
