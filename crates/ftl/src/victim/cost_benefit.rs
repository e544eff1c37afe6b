//! Cost-benefit: the unit with the largest age × (1 − u) / 2u, where u is its valid fraction and its age
//! the time since it last changed (Kawaguchi, Nishioka and Motoda, USENIX 1995, section 3).
//!
//! Time is logical: pages the host has written. A unit enters the list of its valid count exactly when it
//! changed, so within a list the first is the oldest, and the best unit is one of the lists' firsts: a
//! choice looks at one unit per valid count, not at every unit.

use base::{Choice, Selection};
use engine::Stream;

use super::buckets::Buckets;
use super::{Shape, VictimPolicy, View};

/// See the module.
pub struct CostBenefit {
    by_valid: Buckets,
    changed_at: Vec<u64>,
    slots: u32,
}

impl CostBenefit {
    pub(super) const CHOICE: Choice = Choice {
        name: "cost-benefit",
        doc: "Largest age × (1 − u) / 2u, u the valid fraction (Kawaguchi et al. 1995); age in host pages written.",
        params: &[],
    };

    pub(super) fn build(_selection: &Selection, shape: Shape, _random: Vec<Stream>) -> CostBenefit {
        let units = shape.domains * shape.units_per_domain;
        CostBenefit {
            by_valid: Buckets::new(shape.domains, shape.slots + 1, units),
            changed_at: vec![0; units as usize],
            slots: shape.slots,
        }
    }
}

impl VictimPolicy for CostBenefit {
    fn choose(&mut self, view: View<'_>) -> Option<u32> {
        let mut best: Option<(u32, u64, u32)> = None;
        for valid in 0..=self.slots {
            let Some(unit) = self.by_valid.first(view.domain, valid) else { continue };
            if valid == 0 {
                return Some(unit);
            }
            let age = view.now - self.changed_at[unit as usize];
            // age × (slots − valid) / valid, compared by cross-multiplication in integers; a tie keeps the
            // emptier unit, which came first.
            let gain = age * u64::from(self.slots - valid);
            let better = match best {
                None => true,
                Some((_, best_gain, best_valid)) => {
                    u128::from(gain) * u128::from(best_valid) > u128::from(best_gain) * u128::from(valid)
                }
            };
            if better {
                best = Some((unit, gain, valid));
            }
        }
        best.map(|(unit, _, _)| unit)
    }

    #[inline]
    fn on_closed(&mut self, domain: u32, unit: u32, valid: u32, now: u64) {
        self.changed_at[unit as usize] = now;
        self.by_valid.push(domain, valid, unit);
    }

    #[inline]
    fn on_invalidated(&mut self, domain: u32, unit: u32, valid: u32, now: u64) {
        self.changed_at[unit as usize] = now;
        self.by_valid.remove(domain, valid + 1, unit);
        self.by_valid.push(domain, valid, unit);
    }

    #[inline]
    fn on_removed(&mut self, domain: u32, unit: u32, valid: u32) {
        self.by_valid.remove(domain, valid, unit);
    }
}
