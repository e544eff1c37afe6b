//! Read Leveling (Liu et al.): read-hot pages go to shadow blocks, as in RedFTL, and move on through the unused pages of these.

use base::{Choice, ProgramOrder, Unit};

use super::super::Disturb;
use super::super::inside::Inside;
use super::super::refresh::{RefreshPlan, RefreshWork};
use super::redftl::{HOT_PAGES, SHADOW};
use super::{ATTRIBUTION, AVERAGE, BLOCKS_READS, EVICTED, FULL, MARGIN, MONITOR};
use crate::Policies;
use crate::kernel::Kernel;

pub(super) const CHOICE: Choice = Choice {
    name: "read-leveling",
    doc: "Read-hot pages go to shadow blocks and move on through the unused pages of these (Liu et al., Read Leveling).",
    params: &[HOT_PAGES, SHADOW, MONITOR, FULL, EVICTED, AVERAGE, MARGIN, ATTRIBUTION, BLOCKS_READS],
};

pub(super) fn refusal(policies: &Policies<'_>) -> Option<(String, &'static str)> {
    let is_exposed = policies.cell.bits() > 1 && policies.program_order == ProgramOrder::Shadow;
    is_exposed.then(|| {
        let message = "fills a block in rounds, and in shadow order a round programs upper pages over lower ones that hold the data of the \
             last round: one failed program would lose both";
        (message.into(), "set `device.program_order = \"consecutive\"`, or use `redftl`")
    })
}

impl Disturb {
    /// The pages of a shadow unit move on inside it.
    pub(in crate::mechanism::disturb) fn move_on(&self, unit: Unit) -> RefreshPlan {
        let work = Inside::moving_on(unit, self.states.of(unit).end, self.counters.marks(unit));
        RefreshPlan::Move(RefreshWork::Inside(work))
    }

    /// True if the pages of a shadow unit have room behind them in the same unit: its pages are used in as many rounds as
    /// shares of read-hot pages fit into it.
    pub(in crate::mechanism::disturb) fn fits_behind(&self, kernel: &Kernel, unit: Unit) -> bool {
        let state = self.states.of(unit);
        let geometry = kernel.geometry();
        let rounds = geometry.unit_slots() / self.shares.capacity;
        // A wordline that is not complete holds pages that have not moved yet.
        let begins_wordline = state.end < geometry.end_slot()
            && kernel.wordlines().is_lsb(state.end)
            && geometry.row_of_slot(state.end).1 == 0;
        state.rounds + 1 < rounds
            && begins_wordline
            && kernel.valid_of(unit) > 0
            && kernel.valid_of(unit) <= kernel.geometry().slots_left(state.end)
    }
}
