//! FIFO: the unit that was filled first, whatever it holds (a circular log).

use base::{Choice, Domain, Selection, Unit};
use engine::Chance;

use super::buckets::Buckets;
use super::{UnitShape, VictimPolicy, VictimView};

/// See the module.
#[derive(Clone)]
pub struct Fifo {
    in_order: Buckets,
}

impl Fifo {
    pub(super) const CHOICE: Choice =
        Choice { name: "fifo", doc: "The unit filled first, whatever it holds (a circular log).", params: &[] };

    pub(super) fn bytes(_selection: &Selection, shape: UnitShape) -> u64 {
        Buckets::bytes(shape.domains, 1, shape.units())
    }

    pub(super) fn build(_selection: &Selection, shape: UnitShape, _random: Vec<Chance>) -> Fifo {
        Fifo { in_order: Buckets::new(shape.domains, 1, shape.domains * shape.units_per_domain) }
    }
}

impl VictimPolicy for Fifo {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        self.in_order.first(view.domain, 0)
    }

    #[inline]
    fn on_closed(&mut self, domain: Domain, unit: Unit, _valid: u32, _now: u64) {
        self.in_order.push(domain, 0, unit);
    }

    fn on_returned(&mut self, domain: Domain, unit: Unit, _valid: u32, _now: u64) {
        // It was the first, and nothing has come before it since.
        self.in_order.insert(domain, 0, unit, |_| true);
    }

    #[inline]
    fn on_removed(&mut self, domain: Domain, unit: Unit, _valid: u32) {
        self.in_order.remove(domain, 0, unit);
    }
}
