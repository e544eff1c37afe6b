//! The flash translation layer.
//!
//! It owns the map, the free space and the choice of what moves where, and nothing else: no clock, no bytes,
//! no queues. The executors ask it where a page goes, which page garbage collection moves next and which
//! unit is erased, and carry the answers out on the array. Decisions are made at the moment a die takes the
//! command, so the FTL's state and the array's never disagree.

mod agenda;
pub mod allocation;
mod collect;
mod dynamic;
mod facade;
pub mod fast;
mod figures;
mod forward;
mod group;
mod kernel;
pub mod map_unit;
mod mechanism;
mod ops;
mod paced;
mod page;
mod plain;
mod policies;
pub mod pool;
mod recovery;
mod refusals;
mod repair;
#[cfg(test)]
mod sample;
mod scan;
mod stream;
mod undo;
pub mod victim;
mod work;

pub use crate::facade::{
    ANYWHERE, Ahead, ArrayView, Capabilities, CountedReads, DynamicAllocation, Elsewhere, Ftl, HostReads, JudgedReads,
    MapInFlash, Nowhere, PageMapping, Time, bytes, bytes_of_state, largest_user_pages, map_pages, streams,
};
pub use crate::figures::{Figure, Figures};
pub use crate::group::{Group, MAX_PAGES};
pub use crate::kernel::{IDENTITY, Keeping, Kept, Maps, Saved, Why, page_of, write_of};
pub use crate::mechanism::{
    dftl, disturb, forwarding as schedule, migration, paired, renewal, retirement, separation, slc, wear,
};
pub use crate::ops::{
    AheadPhase, Array, DataSource, Erasure, HostWrite, How, Op, PagePayload, Placed, Rewriter, Rewritten, Step, Way,
};
pub use crate::plain::{PageAddress, PlainPages};
pub use crate::policies::{Bytes, OutOfMemory, Policies, ProgramUnit};
pub use crate::recovery::Recovery;
pub use crate::refusals::{FtlSetup, Refusal, besides_in_words, check};
pub use crate::scan::{PageFound, Scan, Scanned};
pub use crate::work::DomainWork;

use base::scope::{Area, Scope};
use base::{Choice, Param, ParamKind, Seam};

/// Channel binding.
pub static BINDING: Seam = Seam {
    key: "binding",
    doc: "Binding of a page to a channel by its LPN; follows from the allocation.",
    choices: &[
        Choice { name: "static", doc: "A formula of the LPN names the channel (the static orders).", params: &[] },
        Choice { name: "dynamic", doc: "Any free channel takes the page (F, D, F2).", params: &[] },
    ],
};

/// Reclaim unit.
pub static RECLAIM_UNIT: Seam = Seam {
    key: "reclaim_unit",
    doc: "The blocks that are opened, filled, chosen as victim and erased together.",
    choices: &[
        Choice { name: "block", doc: "One block; free space is managed per plane.", params: &[] },
        Choice {
            name: "twin",
            doc: "The blocks of one offset on all planes of a die, filled, collected and erased together (TBM section 5).",
            params: &[
                Param {
                    name: "pad",
                    kind: ParamKind::Flag { default: true },
                    doc: "`true`: a collection that ends between two planes fills the page offset with a dummy page, so that \
                          the next pages start in step; `false`: they start out of step.",
                },
                Param::word(
                    "lone",
                    &["gather", "single"],
                    "Pages of a victim that are the only valid one of their page offset: `gather`: as many as fill an offset are \
                     moved by one multi-plane program; `single`: each by a program of its own (Algorithm 2).",
                ),
                Param {
                    name: "neighbours",
                    kind: ParamKind::Number { default: 0.05, min: 0.0, max: 100.0 },
                    doc: "Other dies of the chip are collected along when their free pages exceed the threshold by at most \
                          this fraction of it; 0: never.",
                },
            ],
        },
        Choice {
            name: "superblock",
            doc: "Channels or planes in step, as one of which pages and blocks are that many times larger; a write of \
                  part of such a page reads and programs all of it (SYNC of GC forwarding, section 2.2).",
            params: &[Param::word(
                "over",
                &["channels", "planes", "channels-and-planes"],
                "Parts that work in step: all channels, the planes of each die, or both.",
            )],
        },
    ],
};

/// The keys of seams that take a policy of the user's own.
pub const TAKE_OWN: &[&str] = &[victim::SEAM.key, allocation::SEAM.key];

/// The scopes of the FTL and of its parts; the first of an area is that of the whole.
pub fn scopes() -> Vec<&'static Scope> {
    let parts = [&SCOPE, &map_unit::SCOPE, &fast::SCOPE, &allocation::SCOPE, &victim::SCOPE, &schedule::SCOPE];
    parts.into_iter().chain([&recovery::SCOPE]).chain(mechanism::scopes()).collect()
}

/// The FTL's seams, in the order of the data flow. The scheduler's own seam is not among them.
pub fn seams() -> Vec<&'static Seam> {
    vec![
        &facade::SEAM,
        &map_unit::SEAM,
        &BINDING,
        &allocation::SEAM,
        &pool::SEAM,
        &RECLAIM_UNIT,
        &victim::SEAM,
        &victim::RECLAIM_ACROSS,
        &schedule::SEAM,
        &migration::SEAM,
        &separation::SEAM,
        &paired::SEAM,
        &disturb::SEAM,
        &renewal::SEAM,
        &wear::SEAM,
        &slc::SEAM,
    ]
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Ftl,
    name: "Flash translation layer",
    keys: &["ftl.mapping"],
    modelled: "Page mapping with its map in DRAM or in flash, hybrid mapping, garbage collection ahead of need, and the mechanisms of five papers, alone and together.",
    not_modelled: &[
        "There is no parity across dies (RAIN).",
        "Data are neither compressed nor deduplicated.",
        "There are no zoned namespaces and no open channels.",
    ],
};
