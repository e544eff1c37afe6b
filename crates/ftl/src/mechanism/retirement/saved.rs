//! Bad blocks in a device state, and after a restart.

use std::slice;

use base::{Slot, Unit};

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

    /// Takes over the units that have failed. Nothing if a state has none in use of such a number.
    pub(super) fn adopt_failing(&mut self, kernel: &Kernel, words: &mut slice::Iter<'_, u32>) -> Option<()> {
        for _ in 0..*words.next()? {
            let unit = Unit::new(*words.next().filter(|&&unit| unit < kernel.geometry().units())?);
            if !matches!(kernel.state_of(unit), UnitState::Collecting | UnitState::Aside) {
                return None;
            }
            let domain = kernel.geometry().domain_of_unit(unit);
            self.domains[domain.index()].failing.insert(unit);
            self.look(domain);
        }
        Some(())
    }

    /// Adds the units that are retired, and as words those that have failed and are in a mechanism's hands: how many, and each.
    ///
    /// # Panics
    /// If one waits to be emptied: a state is saved when nothing is left to be done.
    pub(super) fn save_units(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        assert!(self.domains.iter().all(|spare| spare.waiting.is_empty()), "a state is saved when all is done");
        saved.of_mechanisms.push(self.domains.iter().map(|spare| spare.failing.len() as u32).sum());
        let failing = self.domains.iter().flat_map(|spare| &spare.failing);
        saved.of_mechanisms.extend(failing.map(|unit| unit.number()));
        let units = kernel.geometry().all_units().filter(|&unit| kernel.state_of(unit) == UnitState::Retired);
        saved.kept.extend(units.map(|unit| Kept { unit, how: Keeping::Retired, filled: Slot::FIRST }));
    }
}
