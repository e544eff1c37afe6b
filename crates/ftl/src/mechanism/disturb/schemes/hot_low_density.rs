//! HotLD (Wu et al.): read-hot pages go to blocks of low density, whose guard levels are programmed with the data.

use base::{Choice, Param, Slot, Unit};

use super::super::inside::Inside;
use super::super::refresh::{RefreshPlan, RefreshWork};
use super::super::{Disturb, HOT};
use super::{ATTRIBUTION, AVERAGE, BLOCKS_READS, DisturbScheme, EVICTED, FULL, MARGIN, MONITOR, Of, Shares, share};
use crate::kernel::Kernel;

pub(super) const LOW_DENSITY: Param =
    share("low_density", 0.15, "Share of a plane's blocks that are of low density, at most.");

pub(super) const CHOICE: Choice = Choice {
    name: "hot-low-density",
    doc: "Read-hot pages go to blocks of low density, whose guard levels are programmed with the data (Wu et al., HotLD).",
    params: &[LOW_DENSITY, MONITOR, FULL, EVICTED, AVERAGE, MARGIN, ATTRIBUTION, BLOCKS_READS],
};

pub(super) fn shares(of: Of<'_>) -> Shares {
    Shares {
        monitors: of.units("monitor"),
        kept: of.units("low_density"),
        capacity: of.low_density(),
        opened: 2,
        pool: of.geometry.units_per_domain(),
        recent: 0,
    }
}

impl Disturb {
    /// The page in a slot of a unit of read-hot pages is one of guard levels.
    pub(in crate::mechanism::disturb) fn gets_guard(&self, kernel: &Kernel, slot: Slot) -> bool {
        self.scheme == DisturbScheme::Guarded && kernel.wordlines().is_top(slot)
    }

    /// A unit of low density moves whole. One whose active block was closed before it was full has guard levels in its whole wordlines,
    /// and keeps what lies there.
    pub(in crate::mechanism::disturb) fn plan_guarded(&self, unit: Unit) -> RefreshPlan {
        let state = self.states.of(unit);
        RefreshPlan::Move(if state.is_low {
            RefreshWork::All(unit, HOT)
        } else {
            RefreshWork::Inside(Inside::keeping(unit, state.end, HOT))
        })
    }
}
