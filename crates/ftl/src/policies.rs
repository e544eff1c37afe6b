//! The choices at the FTL's seams, their memory, and an error for want of it.

use std::sync::Arc;

use base::{Cell, Duration, ProgramOrder, ReadLimits, Selection, Wear};

use crate::allocation::GroupedNamespace;
use crate::separation::HostPage;
use crate::{dftl, fast};

/// The maps do not fit in memory.
#[derive(Debug, thiserror::Error)]
#[error("the maps of this device need {megabytes} MB of memory, which the operating system refuses: {reason}")]
pub struct OutOfMemory {
    /// The memory that was asked for.
    pub megabytes: u64,
    /// The reason that the operating system gave.
    pub reason: std::io::Error,
}

/// The memory of the parts of an FTL, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Map and reverse map.
    pub maps: u64,
    /// With a map in flash: the cached mapping table, and what is known of translation pages.
    pub cached_map: u64,
    /// Facts of reclaim units and domains, with the policies' own structures.
    pub blocks: u64,
    /// Regions of logical pages.
    pub regions: u64,
    /// Memory besides when preconditioning ends: policies made anew beside the old ones.
    pub renewed: u64,
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(parts: I) -> Bytes {
        parts.fold(Bytes::default(), |sum, part| Bytes {
            maps: sum.maps + part.maps,
            cached_map: sum.cached_map + part.cached_map,
            blocks: sum.blocks + part.blocks,
            regions: sum.regions + part.regions,
            renewed: sum.renewed + part.renewed,
        })
    }
}

/// The choices made at the FTL's seams.
pub struct Policies<'a> {
    /// Mapping.
    pub mapping: &'a Selection,
    /// How much of the host's space has one map entry.
    pub map_unit: &'a Selection,
    /// Plane allocation.
    pub allocation: &'a Selection,
    /// Block allocation.
    pub block_allocation: &'a Selection,
    /// Victim policy.
    pub victim: &'a Selection,
    /// Reclaim unit.
    pub reclaim_unit: &'a Selection,
    /// Whose reclaim units are chosen together.
    pub reclaim_across: &'a Selection,
    /// GC schedule.
    pub gc_schedule: &'a Selection,
    /// Data separation.
    pub separation: &'a Selection,
    /// Namespaces that lie in a reclaim group each, where the separation has several; none overlap.
    pub namespaces: Vec<GroupedNamespace>,
    /// Paired-page protection.
    pub paired_page: &'a Selection,
    /// Migration.
    pub migration: &'a Selection,
    /// Management of read disturb.
    pub read_disturb: &'a Selection,
    /// Refresh by age and errors.
    pub refresh: &'a Selection,
    /// Wear leveling.
    pub wear_leveling: &'a Selection,
    /// Pseudo-SLC cache.
    pub slc_cache: &'a Selection,
    /// Bits per cell.
    pub cell: Cell,
    /// The order in which the pages of a block are programmed.
    pub program_order: ProgramOrder,
    /// The blocks' wear and quality, as the FTL knows them; `None` where no page moves by copyback.
    pub wear: Option<Arc<Wear>>,
    /// The reads that pages take, as the FTL knows them; `None` where reads disturb nothing.
    pub reads: Option<ReadLimits>,
    /// Thousandths of a P/E cycle that one in SLC mode spares a block.
    pub spared_wear: u32,
    /// Time in which the host fills a block.
    pub block_write: Duration,
    /// Pages that the array programs together.
    pub program: ProgramUnit,
    /// By block: it is bad from the factory; `None` where no block is bad, and none fails.
    pub bad_blocks: Option<Arc<[bool]>>,
    /// How old the data are that are there when a run begins; `None` where every page is correct at once, however old.
    pub data_age: Option<Duration>,
    /// No time passes, so that nothing is ever idle.
    pub timeless: bool,
    /// All that the host will do with pages from now on, in order; nothing where nobody knows it.
    pub future: &'a [HostPage],
}

/// Pages that the array programs together, in how many programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramUnit {
    /// Slots of a reclaim unit that are filled before the first of them can be programmed.
    pub slots: u32,
    /// Programs until it can be read: the second one comes when as many slots behind are filled.
    pub programs: u32,
}

impl ProgramUnit {
    /// A page, which is programmed by itself.
    pub const PAGE: ProgramUnit = ProgramUnit { slots: 1, programs: 1 };

    /// Dummy pages at most with which an active block is filled up, so that all that is placed there is programmed.
    pub(crate) fn pads(self) -> u32 {
        self.programs * self.slots - 1
    }
}

impl Policies<'_> {
    /// Units that a domain holds free while collection keeps up, by choice.
    pub(crate) fn free_blocks(&self) -> u32 {
        self.gc_schedule.integer("free_blocks")
    }

    /// True if lower pages are made safe before others are programmed over them, which may read them for backups.
    pub(crate) fn guards_pages(&self) -> bool {
        crate::mechanism::paired::keeps_track(self.paired_page.name)
    }

    /// Equal parts of the dies, each with logical pages of its own.
    pub(crate) fn reclaim_groups(&self) -> u32 {
        crate::separation::reclaim_groups(self.separation)
    }

    /// True if the map is in flash.
    pub(crate) fn has_map(&self) -> bool {
        self.mapping.name == dftl::CHOICE.name
    }

    /// True if mapping is hybrid.
    pub(crate) fn is_hybrid(&self) -> bool {
        self.mapping.name == fast::CHOICE.name
    }
}
