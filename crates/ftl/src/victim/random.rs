//! Random: any closed unit, each equally likely, whatever it holds.

use base::{Choice, Selection};
use engine::Stream;

use super::rga::ClosedSets;
use super::{Shape, VictimPolicy, View};

/// See the module.
pub struct Random {
    closed: ClosedSets,
    random: Stream,
}

impl Random {
    pub(super) const CHOICE: Choice =
        Choice { name: "random", doc: "Any closed unit, each equally likely.", params: &[] };

    pub(super) fn build(_selection: &Selection, shape: Shape, random: Stream) -> Random {
        Random { closed: ClosedSets::new(shape), random }
    }
}

impl VictimPolicy for Random {
    fn choose(&mut self, view: View<'_>) -> Option<u32> {
        self.closed.draw(view.domain, &mut self.random)
    }

    #[inline]
    fn on_closed(&mut self, domain: u32, unit: u32, _valid: u32, _now: u64) {
        self.closed.insert(domain, unit);
    }

    #[inline]
    fn on_removed(&mut self, domain: u32, unit: u32, _valid: u32) {
        self.closed.remove(domain, unit);
    }
}
