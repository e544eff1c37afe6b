//! Read disturb in a device state: the reads of blocks, the states of units, and which of them are withheld. Read
//! counters of pages are not in it.

use std::slice;

use base::{Geometry, Slot, Unit};

use super::Disturb;
use super::schemes::DisturbScheme;
use super::states::UnitFacts;
use crate::Policies;
use crate::kernel::{Keeping, Kept, Kernel, Saved};
use crate::victim::UnitState;

/// Words of a unit, besides two for each of its blocks.
const WORDS: u64 = 4;

/// Bytes of what a state holds of read disturb.
pub(crate) fn bytes_of_state(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    match DisturbScheme::of(policies.read_disturb.name) {
        None => 0,
        Some(_) => (u64::from(geometry.units()) * WORDS + u64::from(geometry.blocks()) * 2) * 4,
    }
}

impl Disturb {
    pub(super) fn save_states(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        for unit in kernel.geometry().all_units() {
            let state = self.states.of(unit);
            if state.is_withheld {
                saved.kept.push(Kept { unit, how: Keeping::Withheld, filled: state.end });
            } else if kernel.state_of(unit) == UnitState::Closed && state.end < kernel.geometry().end_slot() {
                saved.kept.push(Kept { unit, how: Keeping::Sealed, filled: state.end });
            }
            saved.of_mechanisms.extend([
                u32::from(state.is_low) | u32::from(state.is_withheld) << 1 | u32::from(state.is_leveled) << 2,
                state.end.number(),
                state.rounds,
                state.reprograms + state.reprograms_before,
            ]);
            saved.of_mechanisms.extend(self.counters.saved(unit).flatten());
        }
    }

    /// Takes over the states of all units; `None` if the words cannot be states.
    pub(super) fn restore_states(
        &mut self,
        kernel: &mut Kernel,
        kept: &[Kept],
        words: &mut slice::Iter<'_, u32>,
    ) -> Option<()> {
        let end = kernel.geometry().end_slot();
        for unit in kernel.geometry().all_units() {
            let mut next = || words.next().copied();
            let [flags, used, rounds, reprograms] = [next()?, next()?, next()?, next()?];
            let is_withheld = flags & 2 != 0;
            let is_plausible =
                flags < 8 && used <= end.number() && is_withheld == (kernel.state_of(unit) == UnitState::Withheld);
            if !is_plausible {
                return None;
            }
            for lane in 0..kernel.geometry().unit_width {
                let [reads, base] = [next()?, next()?];
                if base > reads || reads > u32::MAX / 2 {
                    return None;
                }
                self.counters.adopt_block(unit, lane, reads, base);
            }
            *self.states.of_mut(unit) = UnitFacts {
                is_low: flags & 1 != 0,
                is_withheld,
                is_leveled: flags & 4 != 0,
                end: Slot::new(used),
                rounds,
                reprograms_before: reprograms,
                ..UnitFacts::default()
            };
        }
        let mut sealed = kept.iter().filter(|kept| kept.how == Keeping::Sealed);
        if !sealed.all(|kept| self.states.of(kept.unit).end == kept.filled) {
            return None;
        }
        let withheld = kept.iter().filter(|kept| kept.how == Keeping::Withheld).map(|kept| kept.unit);
        let is_own = |unit: Unit| self.states.of(unit).is_withheld;
        if !withheld.into_iter().all(is_own) {
            return None;
        }
        Some(())
    }
}
