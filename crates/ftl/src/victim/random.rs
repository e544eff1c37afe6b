//! Random: any closed unit, each equally likely, whatever it holds.

use base::{Choice, Domain, Selection, Unit};
use engine::Chance;

use super::rga::ClosedSets;
use super::{UnitShape, VictimPolicy, VictimView};

/// See the module.
#[derive(Clone)]
pub struct Random {
    closed: ClosedSets,
    /// By domain, so that the order in which domains collect moves nobody's numbers.
    random: Vec<Chance>,
}

impl Random {
    pub(super) const CHOICE: Choice =
        Choice { name: "random", doc: "Any closed unit, each equally likely.", params: &[] };

    pub(super) fn bytes(_selection: &Selection, shape: UnitShape) -> u64 {
        ClosedSets::bytes(shape)
    }

    pub(super) fn build(_selection: &Selection, shape: UnitShape, random: Vec<Chance>) -> Random {
        Random { closed: ClosedSets::new(shape), random }
    }
}

impl VictimPolicy for Random {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        self.closed.draw(view.domain, &mut self.random[view.domain.index()])
    }

    #[inline]
    fn on_closed(&mut self, domain: Domain, unit: Unit, _valid: u32, _now: u64) {
        self.closed.insert(domain, unit);
    }

    #[inline]
    fn on_removed(&mut self, domain: Domain, unit: Unit, _valid: u32) {
        self.closed.remove(domain, unit);
    }
}
