//! Cost-benefit: the unit with the largest age × (1 − u) / 2u, where u is its valid fraction (Kawaguchi,
//! Nishioka and Motoda, USENIX 1995, section 3).
//!
//! Time is logical: pages the host has written. The age is the time since the unit last changed, an
//! invalidation included, as Kawaguchi et al. have it, or the time since it was filled. Either way the oldest
//! unit of each valid count is at hand, so a choice looks at one unit per valid count, not at every unit: with
//! the first age a unit enters the list of its valid count exactly when it changed, with the second the lists
//! keep the order of filling.
//!
//! SepBIT's simulator and prototype (Wang et al., FAST 2022; github.com/fallfish/sepbit) have √age × (1 − u) / u in place of that, of the time since
//! the segment was last appended to. A root grows with its age too, so the oldest of a list still comes first.

use base::{Choice, Domain, Param, Selection, Unit};
use engine::Chance;

use super::buckets::Buckets;
use super::ranks::Ranks;
use super::{UnitShape, VictimPolicy, VictimView};

/// See the module.
#[derive(Clone)]
pub struct CostBenefit {
    by_valid: AgedUnits,
    /// By unit: since when its age counts.
    since: Vec<u64>,
    slots: u32,
    growth: Growth,
}

/// How a unit's worth grows with its age.
#[derive(Clone, Copy)]
enum Growth {
    Linear,
    Root,
}

impl Growth {
    /// Age and valid pages as two factors, whose first ÷ second orders units as their worth does. Of a root they are squares.
    fn factors(self, age: u64, valid: u32, slots: u32) -> (u128, u128) {
        let [age, free, valid] = [age, u64::from(slots - valid), u64::from(valid)].map(u128::from);
        match self {
            Growth::Linear => (age * free, valid),
            Growth::Root => (age * free * free, valid * valid),
        }
    }
}

/// Closed units by valid count, the oldest first.
#[derive(Clone)]
enum AgedUnits {
    Changed(Buckets),
    Filled(Ranks),
}

impl CostBenefit {
    pub(super) const CHOICE: Choice = Choice {
        name: "cost-benefit",
        doc: "Largest age × (1 − u) / 2u, u the valid fraction (Kawaguchi et al. 1995); age in host pages written.",
        params: &[
            Param::word(
                "age",
                &["changed", "filled"],
                "Event from which the age of a block is counted: `changed`, its last change, an invalidation included; \
                 `filled`, the program of its last page.",
            ),
            Param::word(
                "growth",
                &["linear", "root"],
                "Term of the age: `linear`, the age itself; `root`, its square root, as in SepBIT's simulator.",
            ),
        ],
    };

    pub(super) fn bytes(selection: &Selection, shape: UnitShape) -> u64 {
        let rows = shape.slots + 1;
        let by_valid = match selection.word("age") == "changed" {
            true => Buckets::bytes(shape.domains, rows, shape.units()),
            false => Ranks::bytes(shape.domains, rows, shape.units_per_domain),
        };
        by_valid + u64::from(shape.units()) * 8
    }

    pub(super) fn build(selection: &Selection, shape: UnitShape, _random: Vec<Chance>) -> CostBenefit {
        let units = shape.domains * shape.units_per_domain;
        let rows = shape.slots + 1;
        CostBenefit {
            by_valid: if selection.word("age") == "changed" {
                AgedUnits::Changed(Buckets::new(shape.domains, rows, units))
            } else {
                AgedUnits::Filled(Ranks::new(shape.domains, rows, shape.units_per_domain))
            },
            since: vec![0; units as usize],
            slots: shape.slots,
            growth: if selection.word("growth") == "root" { Growth::Root } else { Growth::Linear },
        }
    }
}

impl VictimPolicy for CostBenefit {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        let mut best: Option<(Unit, (u128, u128))> = None;
        for valid in 0..=self.slots {
            let first = match &self.by_valid {
                AgedUnits::Changed(rows) => rows.first(view.domain, valid),
                AgedUnits::Filled(rows) => rows.first(view.domain, valid),
            };
            let Some(unit) = first else { continue };
            if valid == 0 {
                return Some(unit);
            }
            let age = view.now - self.since[unit.index()];
            // Compared by cross-multiplication in integers; a tie keeps the emptier unit, which came first.
            let worth = self.growth.factors(age, valid, self.slots);
            if best.is_none_or(|(_, best)| worth.0 * best.1 > best.0 * worth.1) {
                best = Some((unit, worth));
            }
        }
        best.map(|(unit, _)| unit)
    }

    #[inline]
    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.since[unit.index()] = now;
        match &mut self.by_valid {
            AgedUnits::Changed(rows) => rows.push(domain, valid, unit),
            AgedUnits::Filled(rows) => rows.push(domain, valid, unit),
        }
    }

    fn on_returned(&mut self, domain: Domain, unit: Unit, valid: u32, _now: u64) {
        let since = &self.since;
        let is_younger = |other: Unit| since[other.index()] > since[unit.index()];
        match &mut self.by_valid {
            AgedUnits::Changed(rows) => rows.insert(domain, valid, unit, is_younger),
            AgedUnits::Filled(rows) => rows.insert(domain, valid, unit, is_younger),
        }
    }

    #[inline]
    fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        match &mut self.by_valid {
            AgedUnits::Changed(rows) => {
                self.since[unit.index()] = now;
                rows.remove(domain, valid + 1, unit);
                rows.push(domain, valid, unit);
            }
            AgedUnits::Filled(rows) => rows.move_to(domain, valid, unit),
        }
    }

    #[inline]
    fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
        match &mut self.by_valid {
            AgedUnits::Changed(rows) => rows.remove(domain, valid, unit),
            AgedUnits::Filled(rows) => rows.remove(domain, unit),
        }
    }
}
