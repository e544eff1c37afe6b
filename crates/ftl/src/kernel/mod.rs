//! The kernel of page mapping: what is where, which units are open, free, filled or collected, and how much room there
//! has to be.
//!
//! It names no technique. Its fields are private; state changes through a few calls that assert what must hold. Two rules
//! follow from there: a mechanism can break nothing that a call does not let it break, and what two mechanisms share is a
//! fact that stands here (why a job exists, which stream filled a unit, which units are set aside).

mod blocks;
mod budget;
mod check;
mod fill;
mod gc;
mod maps;
mod pages;
mod place;
mod saved;
mod spare;
mod streams;
mod superseded;
mod wordlines;

use base::{Domain, Geometry, Slot, Unit};
use engine::FlatMap;

use crate::pool::AnyPool;
use crate::victim::{AnyVictim, UnitRecord, UnitShape, UnitState};
use crate::{Bytes, OutOfMemory, Policies};

pub(crate) use blocks::Scan;
pub(crate) use budget::{Budget, Needs, streams_of_copies, streams_of_victim};
use fill::FillUps;
pub(crate) use gc::Job;
pub use gc::Why;
pub use maps::Maps;
use place::PackedFrontier;
pub(crate) use place::{FAR_AHEAD, Frontier, Placement, RunReads};
pub use saved::{Keeping, Kept, Saved};
pub use spare::{IDENTITY, page_of, write_of};
pub(crate) use spare::{PageKind, Spare, parity_home};
pub(crate) use streams::{AXES, Axis, Density, Streams};
use superseded::Superseded;

pub(crate) use crate::stream::{MAX_STREAMS, Stream};
pub(crate) use wordlines::Wordlines;

/// "No page" in the maps; it does not leave the kernel.
const NONE: u32 = u32::MAX;

/// How far ahead of its use a page's entry is asked for while a victim is emptied.
pub(crate) const PREFETCH_DISTANCE: u32 = 24;

/// The state of a domain, laid out so that what every page touches lies in one cache line: with all domains at work, theirs
/// are much of what the processor's first cache has to hold.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct DomainRecord {
    /// Logical time: pages the host has written here since the policies were made.
    clock: u64,
    job: Option<Job>,
    /// Units in the free pool.
    free: u32,
    /// Valid pages.
    valid: u32,
    /// Victims in a row that had no invalid page.
    fruitless: u32,
    /// The active block of the first stream.
    first: PackedFrontier,
}

/// The state of page mapping.
#[derive(Clone)]
pub(crate) struct Kernel {
    geometry: Geometry,
    /// PPN by LPN. Logical pages of the host, and behind them those of a map in flash.
    map: FlatMap,
    /// LPN by PPN, where the page is valid.
    reverse: FlatMap,
    user_pages: u32,
    units: Vec<UnitRecord>,
    erases: Vec<u32>,
    /// Thousandths of a P/E cycle that one in SLC mode spares a unit.
    spared_wear: u32,
    /// By unit: wear besides erases, in thousandths of a P/E cycle; empty where there is none.
    more_wear: Vec<i32>,
    /// By unit: when it was filled, in filled units; 0 for one that is not.
    closed_at: Vec<u32>,
    closings: u32,
    /// By unit: the stream that filled it last.
    filled_by: Vec<Stream>,
    domains: Vec<DomainRecord>,
    /// By domain, the active blocks of the streams behind the first.
    others: Vec<PackedFrontier>,
    streams: Streams,
    budget: Budget,
    wordlines: Wordlines,
    pool: AnyPool,
    victim: AnyVictim,
    numbers: spare::Numbers,
    superseded: Superseded,
    fill_ups: FillUps,
    /// By domain: the victim whose pages go under host pages, where they do.
    pairing: Vec<Option<Job>>,
    /// By domain: the victim that was given back last, and the slot before which it had no valid page then. It is often taken up again,
    /// where collections are put down for the host.
    put_down: Vec<Option<(Unit, Slot)>>,
    /// The workload's locality, as it was last taken.
    locality: Option<f64>,
    /// True if the host asks for little.
    calm: bool,
    /// Domains that have something to do since the executor was told of them last: what they do began elsewhere.
    woken: Vec<Domain>,
}

impl Kernel {
    /// Its memory, with so many logical pages of host and map and so many streams in a domain.
    pub(crate) fn bytes(geometry: &Geometry, logical_pages: u64, streams: u64, policies: &Policies<'_>) -> Bytes {
        let shape = shape_of(geometry);
        let (units, domains) = (u64::from(shape.units()), u64::from(shape.domains));
        let chosen = AnyPool::bytes(policies.block_allocation, shape) + AnyVictim::bytes_under(policies, shape);
        // Erases and times of closing; the streams that filled them last.
        let of_unit = (size_of::<UnitRecord>() + 2 * size_of::<u32>() + size_of::<u8>()) as u64;
        let of_others = (streams - 1) * size_of::<PackedFrontier>() as u64;
        // With the victim whose pages go under host pages, and the one that was put down.
        let of_victims = size_of::<(Option<Job>, Option<(Unit, Slot)>)>();
        let of_domain = (size_of::<DomainRecord>() + of_victims) as u64 + of_others;
        Bytes {
            maps: FlatMap::bytes(logical_pages) + FlatMap::bytes(geometry.pages()),
            blocks: units * of_unit + domains * of_domain + chosen,
            // With a list of the closed units.
            renewed: chosen + units * 4,
            ..Bytes::default()
        }
    }

    /// The state over a pristine array, with so many logical pages behind the host's.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    ///
    /// # Panics
    /// If the user space is larger than the budget allows, which the configuration check refuses.
    pub(crate) fn new(
        geometry: Geometry,
        user_pages: u64,
        of_map: u64,
        (streams, budget): (Streams, Budget),
        policies: &Policies<'_>,
        seed: u64,
    ) -> Result<Kernel, OutOfMemory> {
        let shape = shape_of(&geometry);
        let units = geometry.units() as usize;
        let logical_pages = user_pages + of_map;
        let memory = |reason| OutOfMemory { megabytes: (geometry.pages() + logical_pages) * 4 / 1_000_000, reason };
        let domain = DomainRecord {
            clock: 0,
            job: None,
            free: shape.units_per_domain,
            valid: 0,
            fruitless: 0,
            first: PackedFrontier::NONE,
        };
        let others = (streams.count() - 1) * shape.domains as usize;
        let mut kernel = Kernel {
            map: FlatMap::empty(logical_pages as usize).map_err(memory)?,
            reverse: FlatMap::empty(geometry.pages() as usize).map_err(memory)?,
            user_pages: user_pages as u32,
            units: vec![UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false }; units],
            erases: vec![0; units],
            spared_wear: policies.spared_wear,
            more_wear: Vec::new(),
            closed_at: vec![0; units],
            closings: 0,
            filled_by: vec![Stream::FIRST; units],
            domains: vec![domain; geometry.domains() as usize],
            others: vec![PackedFrontier::NONE; others],
            streams,
            budget,
            wordlines: Wordlines::new(policies.cell, policies.program_order, &geometry),
            pool: AnyPool::build(policies.block_allocation, shape),
            victim: AnyVictim::under(policies, shape, seed),
            numbers: spare::Numbers::default(),
            superseded: Superseded::new(&geometry),
            fill_ups: FillUps::new(policies.program, geometry.row_slots(), shape.domains),
            pairing: vec![None; shape.domains as usize],
            put_down: vec![None; shape.domains as usize],
            locality: None,
            calm: false,
            woken: Vec::new(),
            geometry,
        };
        if let Some(bad) = &policies.bad_blocks {
            kernel.exclude(|block| bad[block.index()]);
        }
        kernel.fill_pool();
        Ok(kernel)
    }

    /// The device's shape.
    #[inline]
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Which streams there are.
    #[inline]
    pub(crate) fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Which pages of a unit share cells.
    #[inline]
    pub(crate) fn wordlines(&self) -> &Wordlines {
        &self.wordlines
    }

    /// How much room there has to be.
    #[inline]
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Logical time of a domain: pages the host has written there since the policies were made.
    #[inline]
    pub(crate) fn clock(&self, domain: Domain) -> u64 {
        self.domains[domain.index()].clock
    }

    /// Has the executor look at a domain that got something to do because of another one.
    pub(crate) fn wake(&mut self, domain: Domain) {
        if !self.woken.contains(&domain) {
            self.woken.push(domain);
        }
    }

    /// A domain that was woken since it was last named.
    pub(crate) fn take_woken(&mut self) -> Option<Domain> {
        self.woken.pop()
    }

    /// The workload's locality, as it was last taken.
    pub(crate) fn locality(&self) -> Option<f64> {
        self.locality
    }

    /// Takes note of the workload's locality.
    pub(crate) fn note_locality(&mut self, locality: Option<f64>) {
        self.locality = locality;
    }

    /// Takes note of whether the host asks for little: collections begun from now on say so.
    pub(crate) fn note_calm(&mut self, calm: bool) {
        self.calm = calm;
    }
}

pub(crate) fn shape_of(geometry: &Geometry) -> UnitShape {
    UnitShape {
        domains: geometry.domains(),
        units_per_domain: geometry.units_per_domain(),
        slots: geometry.unit_slots(),
    }
}
