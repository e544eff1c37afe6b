//! The choices of the pseudo-SLC cache.

use base::{Choice, Param, ParamKind, Seam, Selection};

use crate::Policies;

const BLOCKS: Param = Param {
    name: "blocks",
    kind: ParamKind::Integer { default: 4, min: 1, max: 65_536 },
    doc: "Blocks of a plane that are set apart: the last ones. They never hold more than one bit a cell.",
};
const SHARE: Param = Param {
    name: "share",
    kind: ParamKind::Number { default: 1.0, min: 0.0, max: 1.0 },
    doc: "Part of a plane's free blocks that is lent at most, those that are lent included.",
};
const LEAVE: Param = Param {
    name: "leave",
    kind: ParamKind::Integer { default: 2, min: 1, max: 65_536 },
    doc: "Free blocks of a plane that are not lent, besides `free_blocks` of the GC schedule and what other choices hold free.",
};
const WHEN_FULL: Param = Param::word(
    "when_full",
    &["direct", "fold-through"],
    "A write that finds the cache full. `direct`: it goes to blocks at full density; `fold-through`: it waits until a \
     block of the cache was folded.",
);
const FOLD_DOC: &str = "When blocks of the cache are folded besides: `mark`: before a write, as long as less than `low_mark` of the cache is \
                        empty; `need`: not at all, until free blocks run short or a write waits for it; `idle`: when a die has been idle, \
                        which takes `gc_schedule = \"background\"` (where no time passes, at the mark).";
/// Of a cache with fixed blocks, which no want of room empties.
const FOLD: Param = Param::word("fold", &["mark", "need", "idle"], FOLD_DOC);
/// Of one whose blocks are all lent.
const FOLD_LENT: Param = Param::word("fold", &["need", "mark", "idle"], FOLD_DOC);
const LOW_MARK: Param = Param {
    name: "low_mark",
    kind: ParamKind::Number { default: 0.25, min: 0.0, max: 1.0 },
    doc: "Part of the cache's blocks that is kept empty where they are folded at the mark.",
};

static CHOICES: &[Choice] = &[
    Choice { name: "off", doc: "All blocks store all bits of a cell.", params: &[] },
    Choice {
        name: "static",
        doc: "Host writes go first to blocks that are set apart, which store one bit a cell.",
        params: &[BLOCKS, WHEN_FULL, FOLD, LOW_MARK],
    },
    Choice {
        name: "dynamic",
        doc: "Host writes go first to free blocks, which store one bit a cell until they are folded: the cache shrinks as the device \
              fills.",
        params: &[SHARE, LEAVE, WHEN_FULL, FOLD_LENT, LOW_MARK],
    },
    Choice {
        name: "both",
        doc: "Blocks that are set apart come first, then free ones.",
        params: &[BLOCKS, SHARE, LEAVE, WHEN_FULL, FOLD, LOW_MARK],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "slc_cache", doc: "The pseudo-SLC cache, to which host writes go first.", choices: CHOICES };

/// Blocks of a plane that the cache has for itself; nothing without a cache.
pub fn fixed_blocks(selection: &Selection) -> Option<u32> {
    match selection.name {
        "off" => None,
        "dynamic" => Some(0),
        _ => Some(selection.integer("blocks")),
    }
}

/// When units are folded besides need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Need,
    Mark,
    Idle,
}

/// A cache as it was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheOptions {
    /// Fixed blocks of a plane.
    pub(super) blocks: u32,
    /// Part of the free units that may be lent.
    pub(super) share: f64,
    /// Free units that are not, besides the reserve.
    pub(super) leave: u32,
    /// A write waits for the cache when that is full.
    pub(super) is_through: bool,
    pub(super) fold: Fold,
    pub(super) low_mark: f64,
}

impl CacheOptions {
    /// The options of a choice; nothing without a cache.
    pub(super) fn of(policies: &Policies<'_>) -> Option<CacheOptions> {
        let selection = policies.slc_cache;
        let (is_fixed, is_lent) = match selection.name {
            "off" => return None,
            "static" => (true, false),
            "dynamic" => (false, true),
            "both" => (true, true),
            name => panic!("`{name}` is not a pseudo-SLC cache"),
        };
        Some(CacheOptions {
            blocks: if is_fixed { selection.integer("blocks") } else { 0 },
            share: if is_lent { selection.number("share") } else { 0.0 },
            leave: if is_lent { selection.integer("leave") } else { 0 },
            is_through: selection.word("when_full") == "fold-through",
            fold: match selection.word("fold") {
                "mark" => Fold::Mark,
                "idle" if !policies.timeless => Fold::Idle,
                "idle" => Fold::Mark,
                _ => Fold::Need,
            },
            low_mark: selection.number("low_mark"),
        })
    }

    /// Writes wait for folds where the cache takes no more.
    pub(super) fn waits_for_folds(&self) -> bool {
        self.is_through || self.fold == Fold::Mark
    }
}
