//! The schemes: a file each, with its choice of the seam, its shares of a domain, its refusals and figures, and the end of a unit of
//! read-hot pages that is due. What all of them have is here.

mod hot_low_density;
mod ipr;
mod read_leveling;
mod redftl;
mod refresh;

use base::{Choice, Geometry, Param, ParamKind, ReadLimits, Seam, Selection};

use crate::Policies;

const fn share(name: &'static str, default: f64, doc: &'static str) -> Param {
    Param { name, kind: ParamKind::Number { default, min: 0.0, max: 0.5 }, doc }
}

const MARGIN: Param = Param {
    name: "margin",
    kind: ParamKind::Integer { default: 32, min: 12, max: 1_000_000 },
    doc: "Reads that a block takes besides those of its refresh when that begins. With half of them left, reads of its pages \
          wait until these have moved.",
};
const ATTRIBUTION: Param = Param::word(
    "attribution",
    &["asker", "debt"],
    "Whose the collections are that make room: `asker`: of the refresh or the host page that waits for it; `debt`: of refresh, \
     too, while it has programmed more pages than its erases gave back.",
);
const BLOCKS_READS: Param = Param {
    name: "blocks_reads",
    kind: ParamKind::Flag { default: false },
    doc: "`true`: reads of a plane wait until its refresh is over, as in the simulator of the paper.",
};
const MONITOR: Param = share("monitor", 0.1, "Share of a plane's blocks whose pages have read counters, at most.");
const FULL: Param = Param::word(
    "full",
    &["evict", "refuse"],
    "When the share is used up: `evict`: the block with the smallest reading rate makes room; `refuse`: no further block.",
);
const EVICTED: Param = Param::word(
    "evicted",
    &["regular", "read-hot"],
    "Where the pages of an evicted block go: to regular blocks, or on as read-hot ones (where no block is of that state, to a \
     monitor block).",
);
const AVERAGE: Param = Param::word(
    "average",
    &["all", "regular"],
    "Which blocks' refreshing intervals make the average: those of all, or of regular ones alone.",
);
static CHOICES: &[Choice] = &[
    Choice {
        name: "ignore",
        doc: "No measure is taken. Where blocks have a `read_limit`, the run fails at the first read past it.",
        params: &[],
    },
    refresh::CHOICE,
    redftl::CHOICE,
    read_leveling::CHOICE,
    hot_low_density::CHOICE,
    ipr::CHOICE,
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "read_disturb",
    doc: "Measure against read disturb: every read of a block disturbs its other pages.",
    choices: CHOICES,
};

/// The treatment of read-hot pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DisturbScheme {
    /// None of their own: their blocks are refreshed like others.
    Refresh,
    /// Shadow blocks; `moves_on`: inside which they move on.
    Shadow { moves_on: bool },
    /// Blocks of low density by programming.
    Guarded,
    /// Blocks of low density by reprogramming.
    Reprogrammed,
}

impl DisturbScheme {
    /// The scheme of that name; `None` for `ignore`.
    pub(super) fn of(name: &str) -> Option<DisturbScheme> {
        match name {
            "ignore" => None,
            "refresh" => Some(DisturbScheme::Refresh),
            "redftl" => Some(DisturbScheme::Shadow { moves_on: false }),
            "read-leveling" => Some(DisturbScheme::Shadow { moves_on: true }),
            "hot-low-density" => Some(DisturbScheme::Guarded),
            "ipr" => Some(DisturbScheme::Reprogrammed),
            name => panic!("`{name}` is not a management of read disturb"),
        }
    }

    /// The reason why a device cannot have this scheme, and what would help.
    pub(super) fn refusal(
        self,
        policies: &Policies<'_>,
        geometry: &Geometry,
        limits: &ReadLimits,
    ) -> Option<(String, &'static str)> {
        match self {
            DisturbScheme::Shadow { moves_on: true } => read_leveling::refusal(policies),
            DisturbScheme::Reprogrammed => ipr::refusal(policies, geometry, limits),
            DisturbScheme::Refresh | DisturbScheme::Shadow { .. } | DisturbScheme::Guarded => None,
        }
    }

    /// Classes of pages on the axis of block states: see `REGULAR` and those behind it.
    pub(super) fn classes(self) -> usize {
        match self {
            DisturbScheme::Refresh => 1,
            DisturbScheme::Shadow { moves_on: true } => 4,
            DisturbScheme::Shadow { moves_on: false } | DisturbScheme::Guarded | DisturbScheme::Reprogrammed => 3,
        }
    }
}

/// A choice, and the shape that its shares follow from.
#[derive(Clone, Copy)]
struct Of<'a> {
    selection: &'a Selection,
    geometry: &'a Geometry,
    /// Bits of a cell.
    bits: u32,
}

impl Of<'_> {
    /// Units of a domain that a share of them makes.
    fn units(self, share: &str) -> u32 {
        (f64::from(self.geometry.units_per_domain()) * self.selection.number(share)) as u32
    }

    /// Slots of a unit of low density that hold data.
    fn low_density(self) -> u32 {
        let slots = self.geometry.unit_slots();
        slots - slots / self.bits
    }
}

/// The numbers of a choice, for one plane (or die, where units are twin blocks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// Monitor units at most.
    pub(super) monitors: u32,
    /// Shadow or low-density units at most.
    pub(super) kept: u32,
    /// Slots of such a unit that hold data.
    pub(super) capacity: u32,
    /// Such units that one refresh opens at most.
    pub(super) opened: u32,
    /// The first unit of the pool for read-hot pages; behind the last one where there is none.
    pub(super) pool: u32,
    /// Units filled after one, in all domains, up to which wear leveling had to do with it recently.
    pub(super) recent: u32,
}

impl Shares {
    pub(super) fn of(policies: &Policies<'_>, geometry: &Geometry) -> Shares {
        let selection = policies.read_disturb;
        let of = Of { selection, geometry, bits: policies.cell.bits() };
        match DisturbScheme::of(selection.name) {
            None | Some(DisturbScheme::Refresh) => refresh::shares(of),
            Some(DisturbScheme::Shadow { .. }) => redftl::shares(of),
            Some(DisturbScheme::Guarded) => hot_low_density::shares(of),
            Some(DisturbScheme::Reprogrammed) => ipr::shares(of),
        }
    }

    /// Units that the shares leave without use at most, as whole ones.
    pub(super) fn wasted(&self, slots: u32) -> u32 {
        (self.kept * (slots - self.capacity)).div_ceil(slots)
    }
}

/// The other facts of a choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct DisturbOptions {
    pub(super) margin: u32,
    pub(super) follows_debt: bool,
    pub(super) blocks_reads: bool,
    pub(super) evicts: bool,
    pub(super) evicted_stay_hot: bool,
    pub(super) averages_regular_alone: bool,
    pub(super) at_once: u32,
    /// True if blocks of the pool that gain nothing are collected for read-hot pages.
    pub(super) takes_full_of_pool: bool,
}

impl DisturbOptions {
    pub(super) fn of(selection: &Selection, scheme: DisturbScheme) -> DisturbOptions {
        let has_states = scheme != DisturbScheme::Refresh;
        let is = |name: &str, word: &str| has_states && selection.word(name) == word;
        DisturbOptions {
            margin: selection.integer("margin"),
            follows_debt: selection.word("attribution") == "debt",
            blocks_reads: selection.flag("blocks_reads"),
            evicts: is("full", "evict"),
            evicted_stay_hot: is("evicted", "read-hot"),
            averages_regular_alone: is("average", "regular"),
            at_once: if scheme == DisturbScheme::Reprogrammed { selection.integer("at_once") } else { 1 },
            takes_full_of_pool: scheme == DisturbScheme::Reprogrammed && selection.word("pool_victims") == "any",
        }
    }
}
