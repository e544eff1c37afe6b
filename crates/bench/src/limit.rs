//! The limit: only the memory accesses that no page-mapped FTL with greedy collection can do without.
//!
//! It keeps a map, a reverse map with invalid pages marked in it, and a valid count per block; it places
//! pages by a static stripe, collects the block with the fewest valid pages when a plane is down to the
//! same reserve as the engine's, and so has the engine's write amplification. It has no commands, rules,
//! figures, queues or choices. What helps memory is there: huge pages, and map entries asked for ahead.
//! With `CLOCKS` every operation also advances a clock of its die and of its channel, which is the least
//! that a simulation with time could do.

use engine::FlatArray;
use metrics::Stopwatch;

use crate::Failure;
use crate::cases::{HUGE_IS_AGED, Mix, Size};
use crate::child::Measurement;

pub(crate) const PLANES_PER_DIE: u32 = 2;
pub(crate) const DIES_PER_CHANNEL: u32 = 8;
/// Pages of a block.
pub(crate) const PAGES: u32 = 256;
/// Blocks that a plane holds free, as the engine's default threshold.
pub(crate) const RESERVE: usize = 2;
/// Host requests whose map entries are asked for together.
pub(crate) const BATCH: usize = 64;
/// How far ahead of its change a map entry is asked for during a copy.
const AHEAD: usize = 24;
/// Logical pages of which a third are written in a measured part, at most.
const MOST_PAGES: u64 = 240 << 17;
pub(crate) const NONE: u32 = u32::MAX;
/// Added to the valid count of a block that may not be chosen: open or free.
pub(crate) const NOT_CLOSED: u16 = 1 << 15;

pub(crate) const READ_NS: u64 = 75_000;
pub(crate) const PROGRAM_NS: u64 = 1_600_000;
pub(crate) const ERASE_NS: u64 = 5_000_000;
pub(crate) const TRANSFER_NS: u64 = 40_960;

/// The flat arrays. All indices come from the loop's own arithmetic, so reads and writes are not checked
/// in optimised code: a bounds check per access would make the limit lower than the machine's.
pub(crate) struct FlatWords(pub(crate) FlatArray);

impl FlatWords {
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> u32 {
        debug_assert!((index as usize) < self.0.len());
        // SAFETY: logical pages are drawn below the map's length, physical pages are block × 256 + page of
        // blocks that exist; checked above in unoptimised code.
        unsafe { *self.0.get_unchecked(index as usize) }
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, index: u32, value: u32) {
        debug_assert!((index as usize) < self.0.len());
        // SAFETY: as in `get`.
        unsafe { *self.0.get_unchecked_mut(index as usize) = value }
    }
}

/// Over so many planes, a power of two.
pub(crate) struct MemorySpeed<const PLANES: u32> {
    pub(crate) map: FlatWords,
    pub(crate) reverse: FlatWords,
    /// By block: valid pages, plus [`NOT_CLOSED`]. A block is opened with all pages counted as valid, and
    /// each page that is invalidated takes one off; so programming a page touches no count.
    pub(crate) valid: Vec<u16>,
    /// By plane: the page that is programmed next.
    pub(crate) frontier: Vec<u32>,
    pub(crate) free: Vec<Vec<u32>>,
    pub(crate) blocks_per_plane: u32,
    pub(crate) user_pages: u32,
    pub(crate) random: u64,
    dies: Vec<u64>,
    channels: Vec<u64>,
    host_reads: u64,
    host_writes: u64,
    copies: u64,
    erases: u64,
}

impl<const PLANES: u32> MemorySpeed<PLANES> {
    pub(crate) fn new(size: Size) -> Result<MemorySpeed<PLANES>, Failure> {
        assert!(PLANES == size.planes() && PLANES.is_power_of_two());
        let memory = |error| Failure(format!("no memory for the limit loop: {error}"));
        let blocks = size.blocks_per_plane();
        let mut limit = MemorySpeed {
            map: FlatWords(FlatArray::filled(size.user_pages() as usize, NONE).map_err(memory)?),
            reverse: FlatWords(FlatArray::filled(size.physical_pages() as usize, NONE).map_err(memory)?),
            valid: vec![NOT_CLOSED; (PLANES * blocks) as usize],
            frontier: vec![0; PLANES as usize],
            free: (0..PLANES).map(|plane| (plane * blocks..(plane + 1) * blocks).rev().collect()).collect(),
            blocks_per_plane: blocks,
            user_pages: size.user_pages(),
            random: 1,
            dies: vec![0; (PLANES / PLANES_PER_DIE) as usize],
            channels: vec![0; (PLANES / PLANES_PER_DIE / DIES_PER_CHANNEL) as usize],
            host_reads: 0,
            host_writes: 0,
            copies: 0,
            erases: 0,
        };
        for plane in 0..PLANES {
            limit.open(plane);
        }
        Ok(limit)
    }

    /// In its steady state, as nearly as the engine is at that size.
    pub(crate) fn aged(size: Size) -> Result<MemorySpeed<PLANES>, Failure> {
        let mut limit = MemorySpeed::new(size)?;
        limit.fill();
        // After three capacities of random writes the write amplification holds still.
        let capacities = if size.is_huge() { HUGE_IS_AGED } else { 3.0 };
        limit.run::<false>((capacities * f64::from(size.user_pages())) as u64, 0);
        Ok(limit)
    }

    /// A logical page, uniformly at random, from the high half of a linear congruential generator.
    #[inline(always)]
    pub(crate) fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.random >> 32) * u64::from(self.user_pages)) >> 32) as u32
    }

    pub(crate) fn open(&mut self, plane: u32) {
        let block = self.free[plane as usize].pop().expect("the reserve keeps a free block");
        self.valid[block as usize] = NOT_CLOSED + PAGES as u16;
        self.frontier[plane as usize] = block * PAGES;
    }

    #[inline(always)]
    fn write<const CLOCKS: bool>(&mut self, lpn: u32) {
        let plane = lpn % PLANES;
        let old = self.map.get(lpn);
        if old != NONE {
            self.reverse.set(old, NONE);
            self.valid[(old / PAGES) as usize] -= 1;
        }
        let ppn = self.frontier[plane as usize];
        self.map.set(lpn, ppn);
        self.reverse.set(ppn, lpn);
        self.host_writes += 1;
        if CLOCKS {
            self.program_clock(plane);
        }
        if ppn % PAGES == PAGES - 1 {
            self.close::<CLOCKS>(plane, ppn / PAGES);
        } else {
            self.frontier[plane as usize] = ppn + 1;
        }
    }

    #[inline(always)]
    fn read<const CLOCKS: bool>(&mut self, lpn: u32) {
        let ppn = self.map.get(lpn);
        self.host_reads += 1;
        if CLOCKS {
            // The plane of a page takes a division here, as it does in any device whose blocks per plane
            // are not a power of two.
            self.read_clock(ppn / PAGES / self.blocks_per_plane);
        } else {
            std::hint::black_box(ppn);
        }
    }

    /// A frontier is full: the next one, with collections before it when the plane is down to its reserve.
    #[cold]
    fn close<const CLOCKS: bool>(&mut self, plane: u32, block: u32) {
        self.valid[block as usize] -= NOT_CLOSED;
        while self.free[plane as usize].len() <= RESERVE {
            let victim = self.victim(plane);
            self.open(plane);
            let copied = self.copy::<CLOCKS>(plane, victim);
            self.valid[victim as usize] = NOT_CLOSED;
            self.free[plane as usize].insert(0, victim);
            self.erases += 1;
            if CLOCKS {
                self.dies[(plane / PLANES_PER_DIE) as usize] += ERASE_NS;
            }
            if copied < PAGES {
                self.frontier[plane as usize] += copied;
                return;
            }
            self.valid[(self.frontier[plane as usize] / PAGES) as usize] -= NOT_CLOSED;
        }
        self.open(plane);
    }

    /// The closed block of a plane with the fewest valid pages. The counts of a plane are a few kilobytes
    /// side by side, gone through once per collection; lists in order would be touched at every invalidation.
    pub(crate) fn victim(&self, plane: u32) -> u32 {
        let first = plane * self.blocks_per_plane;
        let counts = &self.valid[first as usize..][..self.blocks_per_plane as usize];
        let least = counts.iter().copied().fold(u16::MAX, u16::min);
        first + counts.iter().position(|&count| count == least).expect("a plane has blocks") as u32
    }

    /// Copies what is valid to the plane's frontier, a fresh block. Returns how many pages that were.
    #[inline(always)]
    fn copy<const CLOCKS: bool>(&mut self, plane: u32, victim: u32) -> u32 {
        let (from, to) = (victim * PAGES, self.frontier[plane as usize]);
        let mut lpns = [0u32; PAGES as usize];
        let mut count = 0;
        for page in 0..PAGES {
            let lpn = self.reverse.get(from + page);
            lpns[count & (PAGES as usize - 1)] = lpn;
            count += usize::from(lpn != NONE);
        }
        for &lpn in lpns[..count].iter().take(AHEAD) {
            self.map.0.prefetch(lpn as usize);
        }
        for (index, &lpn) in lpns[..count].iter().enumerate() {
            if let Some(&ahead) = lpns[..count].get(index + AHEAD) {
                self.map.0.prefetch(ahead as usize);
            }
            self.map.set(lpn, to + index as u32);
            self.reverse.set(to + index as u32, lpn);
            if CLOCKS {
                self.read_clock(plane);
                self.program_clock(plane);
            }
        }
        self.copies += count as u64;
        count as u32
    }

    #[inline(always)]
    fn read_clock(&mut self, plane: u32) {
        let die = &mut self.dies[(plane / PLANES_PER_DIE) as usize];
        let channel = &mut self.channels[(plane / PLANES_PER_DIE / DIES_PER_CHANNEL) as usize];
        *channel = (*channel).max(*die + READ_NS) + TRANSFER_NS;
        *die = *channel;
    }

    #[inline(always)]
    fn program_clock(&mut self, plane: u32) {
        let die = &mut self.dies[(plane / PLANES_PER_DIE) as usize];
        let channel = &mut self.channels[(plane / PLANES_PER_DIE / DIES_PER_CHANNEL) as usize];
        *channel = (*channel).max(*die) + TRANSFER_NS;
        *die = *channel + PROGRAM_NS;
    }

    /// Every page once, in order.
    pub(crate) fn fill(&mut self) {
        for lpn in 0..self.user_pages {
            self.write::<false>(lpn);
        }
    }

    /// Host requests at random, of which `reads` in 2^32 are reads.
    #[inline(never)]
    fn run<const CLOCKS: bool>(&mut self, requests: u64, reads: u64) {
        let mut batch = [0u32; BATCH];
        for _ in 0..requests / BATCH as u64 {
            for slot in &mut batch {
                *slot = self.draw();
                self.map.0.prefetch(*slot as usize);
            }
            let mut is_read = [false; BATCH];
            if reads > 0 {
                for slot in &mut is_read {
                    self.draw();
                    *slot = (self.random >> 32) < reads;
                }
            }
            for (&lpn, &is_read) in batch.iter().zip(&is_read) {
                let old = self.map.get(lpn);
                if !is_read && old != NONE {
                    self.reverse.0.prefetch(old as usize);
                }
            }
            for (&lpn, &is_read) in batch.iter().zip(&is_read) {
                if is_read { self.read::<CLOCKS>(lpn) } else { self.write::<CLOCKS>(lpn) }
            }
        }
    }

    fn ops(&self) -> u64 {
        self.host_reads + self.host_writes + 2 * self.copies + self.erases
    }

    /// One measured part: its figures are named after what was run.
    fn section<const CLOCKS: bool>(&mut self, mix: Mix, figures: &mut Measurement) {
        let requests = u64::from(self.user_pages).min(MOST_PAGES) / 3 * if mix == Mix::Mixed { 2 } else { 1 };
        let (ops, writes, copies) = (self.ops(), self.host_writes, self.copies);
        let stopwatch = Stopwatch::start();
        self.run::<CLOCKS>(requests, (mix.read_fraction() * 4_294_967_296.0) as u64);
        std::hint::black_box((&self.dies, &self.channels));
        let cpu_s = stopwatch.usage().cpu_s;
        let written = (self.host_writes - writes) as f64;
        let name = format!("{}{}", mix.name(), if CLOCKS { "_clocks" } else { "" });
        figures.set(format!("{name}.ops_per_s"), (self.ops() - ops) as f64 / cpu_s);
        figures.set(format!("{name}.writes_per_s"), written / cpu_s);
        figures.set(format!("{name}.waf"), 1.0 + (self.copies - copies) as f64 / written);
    }
}

/// The limit at one size: each workload with and without clocks, from one steady state.
pub(crate) fn measure(size: Size) -> Result<Measurement, Failure> {
    match size.planes() {
        64 => measure_over::<64>(size),
        512 => measure_over::<512>(size),
        2048 => measure_over::<2048>(size),
        planes => Err(Failure(format!("the limit loop is not compiled for {planes} planes"))),
    }
}

fn measure_over<const PLANES: u32>(size: Size) -> Result<Measurement, Failure> {
    let mut limit = MemorySpeed::<PLANES>::aged(size)?;
    let mut figures = Measurement::default();
    limit.section::<false>(Mix::Write, &mut figures);
    limit.section::<true>(Mix::Write, &mut figures);
    limit.section::<false>(Mix::Mixed, &mut figures);
    limit.section::<true>(Mix::Mixed, &mut figures);
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maps_stay_each_others_inverse_and_counts_exact() {
        let mut limit = MemorySpeed::<64>::new(Size::Small).unwrap();
        limit.fill();
        limit.run::<true>(u64::from(Size::Small.user_pages()) * 3, 0);
        assert!(limit.erases > 1000, "collection ran");
        for lpn in 0..limit.user_pages {
            assert_eq!(limit.reverse.get(limit.map.get(lpn)), lpn);
        }
        for block in 0..limit.valid.len() as u32 {
            if limit.valid[block as usize] < NOT_CLOSED {
                let valid = (block * PAGES..(block + 1) * PAGES)
                    .filter(|&ppn| {
                        let lpn = limit.reverse.get(ppn);
                        lpn != NONE && limit.map.get(lpn) == ppn
                    })
                    .count();
                assert_eq!(usize::from(limit.valid[block as usize]), valid);
            }
        }
    }
}
