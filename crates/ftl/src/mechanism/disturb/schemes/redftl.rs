//! RedFTL (Ha et al.): read-hot pages go to shadow blocks, of which each holds a few.

use base::{Choice, Param, ParamKind, Slot};

use super::super::Disturb;
use super::{ATTRIBUTION, AVERAGE, BLOCKS_READS, DisturbScheme, EVICTED, FULL, MARGIN, MONITOR, Of, Shares, share};
use crate::Figures;

pub(super) const HOT_PAGES: Param = Param {
    name: "hot_pages",
    kind: ParamKind::Integer { default: 30, min: 1, max: 65_535 },
    doc: "Read-hot flash pages that a shadow block holds; rounded up to whole wordlines.",
};
pub(super) const SHADOW: Param = share("shadow", 0.15, "Share of a plane's blocks that are shadow blocks, at most.");

pub(super) const CHOICE: Choice = Choice {
    name: "redftl",
    doc: "Read-hot pages go to shadow blocks, of which each holds a few (Ha et al., RedFTL).",
    params: &[HOT_PAGES, SHADOW, MONITOR, FULL, EVICTED, AVERAGE, MARGIN, ATTRIBUTION, BLOCKS_READS],
};

pub(super) fn shares(of: Of<'_>) -> Shares {
    let slots = of.geometry.unit_slots();
    let whole = of.selection.integer("hot_pages").next_multiple_of(of.bits);
    let capacity = (u64::from(whole) * u64::from(of.geometry.row_slots())).min(slots.into()) as u32;
    Shares {
        monitors: of.units("monitor"),
        kept: of.units("shadow"),
        capacity,
        // Fewer than half of a unit's pages are read more often than the average, or nearly.
        opened: (slots / 2).div_ceil(capacity).min(4),
        pool: of.geometry.units_per_domain(),
        recent: 0,
    }
}

impl Disturb {
    /// A shadow unit that is used up to a slot holds as many pages as it is to.
    pub(in crate::mechanism::disturb) fn is_full_shadow(&self, end: Slot) -> bool {
        matches!(self.scheme, DisturbScheme::Shadow { .. }) && end.number() >= self.shares.capacity
    }

    pub(in crate::mechanism::disturb) fn figures_of_shadows(&self, figures: &mut Figures) {
        figures.ratio("read_disturb", "reuse", self.done.rounds, self.done.shadows);
    }
}
