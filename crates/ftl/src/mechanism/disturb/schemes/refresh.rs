//! Baseline: the pages of a block move before its read limit, and nothing is done about those that are read often.

use base::Choice;

use super::{ATTRIBUTION, BLOCKS_READS, MARGIN, Of, Shares};

pub(super) const CHOICE: Choice = Choice {
    name: "refresh",
    doc: "The valid pages of a block move to another one before its read limit (Baseline).",
    params: &[MARGIN, ATTRIBUTION, BLOCKS_READS],
};

pub(super) fn shares(of: Of<'_>) -> Shares {
    let units = of.geometry.units_per_domain();
    Shares { monitors: 0, kept: 0, capacity: of.geometry.unit_slots(), opened: 0, pool: units, recent: 0 }
}
