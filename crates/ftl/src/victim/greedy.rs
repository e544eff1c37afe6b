//! Greedy: the unit with the fewest valid pages; among equals, the one that has been so for longest.
//!
//! Units are kept in one list per valid count, so a choice is a look at the lowest list in use.

use base::{Choice, Domain, Selection, Unit};
use engine::Chance;

use super::buckets::Buckets;
use super::{Shape, VictimPolicy, View};

/// See the module.
#[derive(Clone)]
pub struct Greedy {
    by_valid: Buckets,
    /// No list of the domain below this one is in use.
    lowest: Vec<u32>,
    slots: u32,
}

impl Greedy {
    pub(super) const CHOICE: Choice = Choice {
        name: "greedy",
        doc: "Fewest valid pages (Wu and Zwaenepoel 1994); among equals the one that has been so for longest.",
        params: &[],
    };

    pub(super) fn bytes(_selection: &Selection, shape: Shape) -> u64 {
        Buckets::bytes(shape.domains, shape.slots + 1, shape.units()) + u64::from(shape.domains) * 4
    }

    pub(super) fn build(_selection: &Selection, shape: Shape, _random: Vec<Chance>) -> Greedy {
        Greedy {
            by_valid: Buckets::new(shape.domains, shape.slots + 1, shape.domains * shape.units_per_domain),
            lowest: vec![shape.slots + 1; shape.domains as usize],
            slots: shape.slots,
        }
    }

    #[inline]
    fn enter(&mut self, domain: Domain, unit: Unit, valid: u32) {
        self.by_valid.push(domain, valid, unit);
        let lowest = &mut self.lowest[domain.index()];
        *lowest = (*lowest).min(valid);
    }
}

impl VictimPolicy for Greedy {
    fn choose(&mut self, view: View<'_>) -> Option<Unit> {
        let lowest = &mut self.lowest[view.domain.index()];
        while *lowest <= self.slots {
            if let Some(unit) = self.by_valid.first(view.domain, *lowest) {
                return Some(unit);
            }
            *lowest += 1;
        }
        None
    }

    #[inline]
    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, _now: u64) {
        self.enter(domain, unit, valid);
    }

    #[inline]
    fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, _now: u64) {
        self.by_valid.remove(domain, valid + 1, unit);
        self.enter(domain, unit, valid);
    }

    #[inline]
    fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
        self.by_valid.remove(domain, valid, unit);
    }
}
