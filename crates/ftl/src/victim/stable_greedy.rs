//! Stable Greedy: greedy among the units whose pages have stopped becoming invalid (Chang, Liu and Lin, "Stable Greedy: Adaptive
//! Garbage Collection for Durable Page-Mapping Multichannel SSDs", ACM TECS 2016).
//!
//! The paper's text is not at hand: this is our reading of its idea, to leave young units alone until their invalidation settles.
//! A unit is young while a page of it became invalid, or it was closed, during the last `settle`; not if it holds no valid page,
//! for then nothing of it can become invalid any more. Of the settled units the one with the fewest valid pages is taken, and among
//! equals the one that settled first. If no settled unit has an invalid page, it is plain greedy among all.
//!
//! Young units are also in a queue by their last change. A choice first takes from its front those that have settled; each change
//! puts a unit into the queue once, so that a choice takes no longer than a greedy one, on average.

use base::{Choice, Domain, Param, ParamKind, Selection, Unit};
use engine::Chance;

use super::buckets::Buckets;
use super::greedy::Greedy;
use super::{UnitShape, VictimPolicy, VictimView};

/// See the module.
#[derive(Clone)]
pub struct StableGreedy {
    all: Box<Greedy>,
    settled: Box<Greedy>,
    /// By last change; one list per domain.
    young: Buckets,
    /// By unit: its last change, and whether it is in the queue of young units.
    changed: Vec<u64>,
    is_young: Vec<bool>,
    /// Host pages after which a unit has settled.
    settle: u64,
    slots: u32,
}

impl StableGreedy {
    pub(super) const CHOICE: Choice = Choice {
        name: "stable-greedy",
        doc: "Fewest valid pages among the units that have settled: no page of them became invalid of late (our reading of Chang, \
              Liu and Lin 2016). If none of those has an invalid page, greedy among all.",
        params: &[Param {
            name: "settle",
            kind: ParamKind::Number { default: 0.01, min: 0.0, max: 1.0 },
            doc: "How long after its last invalidated page a unit has settled: so many pages written by the host to the domain \
                  as a share of its pages.",
        }],
    };

    pub(super) fn bytes(selection: &Selection, shape: UnitShape) -> u64 {
        let of_units = (size_of::<u64>() + size_of::<bool>()) as u64 * u64::from(shape.units());
        2 * Greedy::bytes(selection, shape) + Buckets::bytes(shape.domains, 1, shape.units()) + of_units
    }

    pub(super) fn build(selection: &Selection, shape: UnitShape, _random: Vec<Chance>) -> StableGreedy {
        let units = shape.units() as usize;
        let pages = f64::from(shape.units_per_domain) * f64::from(shape.slots);
        StableGreedy {
            all: Box::new(Greedy::build(selection, shape, Vec::new())),
            settled: Box::new(Greedy::build(selection, shape, Vec::new())),
            young: Buckets::new(shape.domains, 1, shape.units()),
            changed: vec![0; units],
            is_young: vec![false; units],
            settle: (selection.number("settle") * pages) as u64,
            slots: shape.slots,
        }
    }

    fn has_settled(&self, unit: Unit, now: u64) -> bool {
        self.changed[unit.index()] + self.settle <= now
    }

    fn grow_up(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.young.remove(domain, 0, unit);
        self.is_young[unit.index()] = false;
        self.settled.on_closed(domain, unit, valid, now);
    }

    /// A unit changed, and is in no list of young or settled units.
    #[inline]
    fn enter(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.changed[unit.index()] = now;
        self.is_young[unit.index()] = valid > 0;
        if valid > 0 {
            self.young.push(domain, 0, unit);
        } else {
            self.settled.on_closed(domain, unit, valid, now);
        }
    }

    /// Takes a unit with so many valid pages out of its list of young or settled units.
    #[inline]
    fn leave(&mut self, domain: Domain, unit: Unit, valid: u32) {
        if self.is_young[unit.index()] {
            self.young.remove(domain, 0, unit);
        } else {
            self.settled.on_removed(domain, unit, valid);
        }
    }
}

impl VictimPolicy for StableGreedy {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        while let Some(unit) = self.young.first(view.domain, 0).filter(|&unit| self.has_settled(unit, view.now)) {
            self.grow_up(view.domain, unit, view.valid[unit.index()].valid.into(), view.now);
        }
        let stable = self.settled.choose(view).filter(|unit| u32::from(view.valid[unit.index()].valid) < self.slots);
        stable.or_else(|| self.all.choose(view))
    }

    #[inline]
    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.all.on_closed(domain, unit, valid, now);
        self.enter(domain, unit, valid, now);
    }

    fn on_returned(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        // That pages of it were moved is no sign of its age.
        self.all.on_closed(domain, unit, valid, now);
        let is_young = valid > 0 && !self.has_settled(unit, now);
        self.is_young[unit.index()] = is_young;
        if is_young {
            let (changed, since) = (&self.changed, self.changed[unit.index()]);
            self.young.insert(domain, 0, unit, |other| changed[other.index()] > since);
        } else {
            self.settled.on_closed(domain, unit, valid, now);
        }
    }

    #[inline]
    fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.all.on_invalidated(domain, unit, valid, now);
        self.leave(domain, unit, valid + 1);
        self.enter(domain, unit, valid, now);
    }

    #[inline]
    fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
        self.all.on_removed(domain, unit, valid);
        self.leave(domain, unit, valid);
    }
}
