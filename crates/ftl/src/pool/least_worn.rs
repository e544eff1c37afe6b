//! Least worn: the free unit with the fewest erases, by address among equals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::{Choice, Domain, Unit};

use super::FreePool;
use crate::victim::UnitShape;

/// See the module.
#[derive(Clone)]
pub struct LeastWorn {
    units_per_domain: u32,
    free: Vec<BinaryHeap<Reverse<(u32, Unit)>>>,
}

impl LeastWorn {
    pub(super) const CHOICE: Choice = Choice {
        name: "least-worn",
        doc: "The free unit with the fewest erases (dynamic wear leveling).",
        params: &[],
    };

    pub(super) fn bytes(shape: UnitShape) -> u64 {
        let heap = size_of::<BinaryHeap<Reverse<(u32, Unit)>>>() as u64;
        u64::from(shape.domains) * (heap + u64::from(shape.units_per_domain) * size_of::<(u32, Unit)>() as u64)
    }

    pub(super) fn new(shape: UnitShape) -> LeastWorn {
        let empty = || BinaryHeap::with_capacity(shape.units_per_domain as usize);
        LeastWorn { units_per_domain: shape.units_per_domain, free: (0..shape.domains).map(|_| empty()).collect() }
    }
}

impl FreePool for LeastWorn {
    fn put(&mut self, domain: Domain, unit: Unit, erases: u32) {
        self.free[domain.index()].push(Reverse((erases, unit)));
    }

    fn take(&mut self, domain: Domain) -> Option<Unit> {
        self.free[domain.index()].pop().map(|Reverse((_, unit))| unit)
    }

    /// Looks at all free units: it is asked for once per unit that is filled with read-hot pages.
    fn take_from(&mut self, domain: Domain, offset: u32) -> Option<Unit> {
        let first = domain.number() * self.units_per_domain + offset;
        let heap = &mut self.free[domain.index()];
        let found = heap.iter().filter(|Reverse((_, unit))| unit.number() >= first).map(|Reverse(free)| *free).min()?;
        heap.retain(|Reverse(free)| *free != found);
        Some(found.1)
    }

    /// Looks at all free units: it is asked for once per unit that is filled with cold data.
    fn take_worn(&mut self, domain: Domain) -> Option<Unit> {
        let heap = &mut self.free[domain.index()];
        let found = heap.iter().map(|Reverse(free)| *free).max_by_key(|&(wear, unit)| (wear, Reverse(unit)))?;
        heap.retain(|Reverse(free)| *free != found);
        Some(found.1)
    }
}
