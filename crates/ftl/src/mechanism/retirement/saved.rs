//! Bad blocks in a device state, and after a restart.

use base::Slot;

use super::Retirement;
use crate::kernel::{Keeping, Kept, Kernel, Saved};
use crate::victim::UnitState;

impl Retirement {
    /// Counts the retired units of a kernel that was restored, or found after a restart.
    pub(super) fn recount(&mut self, kernel: &Kernel) {
        for domain in kernel.geometry().all_domains() {
            let spare = &mut self.domains[domain.index()];
            spare.retired = kernel.retired(domain);
            spare.failing.clear();
            spare.waiting.clear();
            self.look(domain);
        }
    }

    /// Adds the units that are retired.
    ///
    /// # Panics
    /// If one has failed that is not retired yet: a state is saved when nothing is left to be done.
    pub(super) fn save_units(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        assert!(self.domains.iter().all(|spare| spare.failing.is_empty()), "a state is saved when all is done");
        let units = kernel.geometry().all_units().filter(|&unit| kernel.state_of(unit) == UnitState::Retired);
        saved.kept.extend(units.map(|unit| Kept { unit, how: Keeping::Retired, filled: Slot::FIRST }));
    }
}
