//! The choices of the seam `read_disturb`, and what a choice says.

use base::{Choice, Geometry, Param, ParamKind, Seam, Selection};

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
    doc: "Whether reads of a plane wait until its refresh is over, as in the simulator of the paper.",
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
const HOT_PAGES: Param = Param {
    name: "hot_pages",
    kind: ParamKind::Integer { default: 30, min: 1, max: 65_535 },
    doc: "Read-hot pages that a shadow block holds; rounded up to whole wordlines.",
};
const SHADOW: Param = share("shadow", 0.15, "Share of a plane's blocks that are shadow blocks, at most.");
const LOW_DENSITY: Param = share("low_density", 0.15, "Share of a plane's blocks that are of low density, at most.");
const POOL: Param = Param {
    name: "pool",
    kind: ParamKind::Number { default: 0.2, min: 0.0, max: 1.0 },
    doc: "Share of a plane's blocks, at its highest addresses, that read-hot pages go to first and that alone are reprogrammed.",
};
const POOL_VICTIMS: Param = Param::word(
    "pool_victims",
    &["any", "gaining"],
    "Which blocks of the pool are collected for read-hot pages, those of low density, read-hot ones and leveled ones aside: \
     `any`: the emptiest, also if all of its pages are valid, as the paper lists no other; `gaining`: only one with an invalid page.",
);
const RECENT: Param = Param {
    name: "recent",
    kind: ParamKind::Number { default: 0.0625, min: 0.0, max: 1000.0 },
    doc: "How long a block counts as recently involved in wear leveling, which is no victim of the pool then: until so many blocks \
          were filled after it, as a share of all.",
};
const AT_ONCE: Param = Param {
    name: "at_once",
    kind: ParamKind::Integer { default: 1, min: 1, max: 3 },
    doc: "Read-hot blocks that are reprogrammed together: the one that needs it, and the most read of the others that have \
          taken half of their reads.",
};

static CHOICES: &[Choice] = &[
    Choice {
        name: "ignore",
        doc: "Nothing is done. Where blocks have a `read_limit`, the run fails at the first read past it.",
        params: &[],
    },
    Choice {
        name: "refresh",
        doc: "The valid pages of a block move to another one before its read limit (Baseline).",
        params: &[MARGIN, ATTRIBUTION, BLOCKS_READS],
    },
    Choice {
        name: "redftl",
        doc: "Read-hot pages go to shadow blocks, of which each holds a few (Ha et al., RedFTL).",
        params: &[HOT_PAGES, SHADOW, MONITOR, FULL, EVICTED, AVERAGE, MARGIN, ATTRIBUTION, BLOCKS_READS],
    },
    Choice {
        name: "read-leveling",
        doc: "Read-hot pages go to shadow blocks and move on through the unused pages of these (Liu et al., Read Leveling).",
        params: &[HOT_PAGES, SHADOW, MONITOR, FULL, EVICTED, AVERAGE, MARGIN, ATTRIBUTION, BLOCKS_READS],
    },
    Choice {
        name: "hot-low-density",
        doc: "Read-hot pages go to blocks of low density, whose guard levels are programmed with the data (Wu et al., HotLD).",
        params: &[LOW_DENSITY, MONITOR, FULL, EVICTED, AVERAGE, MARGIN, ATTRIBUTION, BLOCKS_READS],
    },
    Choice {
        name: "ipr",
        doc: "Read-hot pages go to read-hot blocks, which are reprogrammed to low density in place (Wu et al., IPR).",
        params: &[
            LOW_DENSITY,
            MONITOR,
            POOL,
            POOL_VICTIMS,
            RECENT,
            AT_ONCE,
            FULL,
            EVICTED,
            AVERAGE,
            MARGIN,
            ATTRIBUTION,
            BLOCKS_READS,
        ],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "read_disturb",
    doc: "What is done about pages that are read often: every read of a block disturbs its other pages.",
    choices: CHOICES,
};

/// What is done with read-hot pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DisturbScheme {
    /// Nothing: their blocks are refreshed like others.
    Refresh,
    /// Shadow blocks; `moves_on`: inside which they move on.
    Shadow { moves_on: bool },
    /// Blocks of low density by programming.
    Guarded,
    /// Blocks of low density by reprogramming.
    Reprogrammed,
}

impl DisturbScheme {
    /// Nothing for `ignore`.
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

    /// Classes of pages on the axis of block states: see [`super::REGULAR`] and those behind it.
    pub(super) fn classes(self) -> usize {
        match self {
            DisturbScheme::Refresh => 1,
            DisturbScheme::Shadow { moves_on: true } => 4,
            DisturbScheme::Shadow { moves_on: false } | DisturbScheme::Guarded | DisturbScheme::Reprogrammed => 3,
        }
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
        let (units, slots, bits) = (geometry.units_per_domain(), geometry.unit_slots(), policies.cell.bits());
        let count = |share: f64| (f64::from(units) * share) as u32;
        let low_density = slots - slots / bits;
        let monitors = |selection: &Selection| count(selection.number("monitor"));
        match DisturbScheme::of(selection.name) {
            None | Some(DisturbScheme::Refresh) => {
                Shares { monitors: 0, kept: 0, capacity: slots, opened: 0, pool: units, recent: 0 }
            }
            Some(DisturbScheme::Shadow { .. }) => {
                let whole = selection.integer("hot_pages").next_multiple_of(bits);
                let capacity = (whole * geometry.unit_width).min(slots);
                Shares {
                    monitors: monitors(selection),
                    kept: count(selection.number("shadow")),
                    capacity,
                    // Fewer than half of a unit's pages are read more often than the average, or nearly.
                    opened: (slots / 2).div_ceil(capacity).min(4),
                    pool: units,
                    recent: 0,
                }
            }
            Some(DisturbScheme::Guarded) => Shares {
                monitors: monitors(selection),
                kept: count(selection.number("low_density")),
                capacity: low_density,
                opened: 2,
                pool: units,
                recent: 0,
            },
            Some(DisturbScheme::Reprogrammed) => Shares {
                monitors: monitors(selection),
                kept: count(selection.number("low_density")),
                capacity: low_density,
                opened: 1,
                pool: units - count(selection.number("pool")),
                recent: (selection.number("recent") * f64::from(geometry.units())) as u32,
            },
        }
    }

    /// Units that the shares leave without use at most, as whole ones.
    pub(super) fn wasted(&self, slots: u32) -> u32 {
        (self.kept * (slots - self.capacity)).div_ceil(slots)
    }
}

/// What a choice says besides.
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
