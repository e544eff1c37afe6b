//! The closed unit with the fewest valid pages, found by looking at all of them. To begin a policy with: docs/adding-a-policy.md.

use base::{Choice, Domain, Selection, Unit};
use engine::Chance;

use super::{UnitShape, VictimPolicy, VictimView};

/// The policy, with the state that its notes keep in step.
#[derive(Clone)]
pub struct Blank {
    /// By domain, the closed units in the order in which they were closed.
    closed: Vec<Vec<Unit>>,
}

impl Blank {
    pub(super) const CHOICE: Choice =
        Choice { name: "blank", doc: "The unit with the fewest valid pages.", params: &[] };

    pub(super) fn bytes(_selection: &Selection, shape: UnitShape) -> u64 {
        u64::from(shape.units()) * size_of::<Unit>() as u64
    }

    pub(super) fn build(_selection: &Selection, shape: UnitShape, _random: Vec<Chance>) -> Blank {
        Blank { closed: (0..shape.domains).map(|_| Vec::with_capacity(shape.units_per_domain as usize)).collect() }
    }
}

impl VictimPolicy for Blank {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        let closed = self.closed[view.domain.index()].iter().copied();
        closed.min_by_key(|unit| view.valid[unit.index()].valid) // The line that makes the policy.
    }

    fn on_closed(&mut self, domain: Domain, unit: Unit, _valid: u32, _now: u64) {
        self.closed[domain.index()].push(unit);
    }

    fn on_removed(&mut self, domain: Domain, unit: Unit, _valid: u32) {
        self.closed[domain.index()].retain(|&closed| closed != unit);
    }
}

#[test]
fn keeps_its_word() {
    let selection = Selection::default_of(&Blank::CHOICE);
    let shape = super::conformance::SHAPE;
    assert_eq!(super::conformance::conform(&mut Blank::build(&selection, shape, Vec::new()), 1, || true), Ok(()));
    assert_eq!(Blank::bytes(&selection, shape), 4 * u64::from(shape.units()));
}
