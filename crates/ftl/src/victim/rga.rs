//! RGA, the randomised greedy algorithm, also called d-choices: of `d` closed units drawn uniformly with
//! replacement, the one with the fewest valid pages (Van Houdt, SIGMETRICS 2013; Li et al., SIGMETRICS 2013).

use base::{Choice, Domain, Param, ParamKind, Selection, Unit};
use engine::Chance;

use super::{UnitShape, VictimPolicy, VictimView};

/// See the module.
#[derive(Clone)]
pub struct Rga {
    draws: u32,
    closed: ClosedSets,
    /// By domain, so that the order in which domains collect moves nobody's numbers.
    random: Vec<Chance>,
}

impl Rga {
    pub(super) const CHOICE: Choice = Choice {
        name: "rga",
        doc: "Fewest valid pages among d closed units drawn at random (Li et al. 2013; d-choices, Van Houdt 2013).",
        params: &[Param {
            name: "d",
            kind: ParamKind::Integer { default: 10, min: 1, max: 65_536 },
            doc: "Number of units that are drawn, with replacement.",
        }],
    };

    pub(super) fn bytes(_selection: &Selection, shape: UnitShape) -> u64 {
        ClosedSets::bytes(shape)
    }

    pub(super) fn build(selection: &Selection, shape: UnitShape, random: Vec<Chance>) -> Rga {
        Rga { draws: selection.integer("d"), closed: ClosedSets::new(shape), random }
    }
}

impl VictimPolicy for Rga {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        let mut best = self.closed.draw(view.domain, &mut self.random[view.domain.index()])?;
        for _ in 1..self.draws {
            let unit = self.closed.draw(view.domain, &mut self.random[view.domain.index()])?;
            if view.valid[unit.index()].valid < view.valid[best.index()].valid {
                best = unit;
            }
        }
        Some(best)
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

/// The closed units of each domain as a dense array, so that one can be drawn in constant time.
#[derive(Clone)]
pub(super) struct ClosedSets {
    units_per_domain: u32,
    members: Vec<Unit>,
    lengths: Vec<u32>,
    /// Where in `members` each unit is.
    position: Vec<u32>,
}

impl ClosedSets {
    pub(super) fn bytes(shape: UnitShape) -> u64 {
        (2 * u64::from(shape.units()) + u64::from(shape.domains)) * 4
    }

    pub(super) fn new(shape: UnitShape) -> ClosedSets {
        let units = (shape.domains * shape.units_per_domain) as usize;
        ClosedSets {
            units_per_domain: shape.units_per_domain,
            members: vec![Unit::new(0); units],
            lengths: vec![0; shape.domains as usize],
            position: vec![0; units],
        }
    }

    #[inline]
    pub(super) fn draw(&self, domain: Domain, random: &mut Chance) -> Option<Unit> {
        let length = self.lengths[domain.index()];
        if length == 0 {
            return None;
        }
        Some(self.members[(domain.number() * self.units_per_domain + random.below_u32(length)) as usize])
    }

    #[inline]
    pub(super) fn insert(&mut self, domain: Domain, unit: Unit) {
        let length = &mut self.lengths[domain.index()];
        let at = domain.number() * self.units_per_domain + *length;
        *length += 1;
        self.members[at as usize] = unit;
        self.position[unit.index()] = at;
    }

    #[inline]
    pub(super) fn remove(&mut self, domain: Domain, unit: Unit) {
        let length = &mut self.lengths[domain.index()];
        *length -= 1;
        let last = self.members[(domain.number() * self.units_per_domain + *length) as usize];
        let hole = self.position[unit.index()];
        self.members[hole as usize] = last;
        self.position[last.index()] = hole;
    }
}
