//! Block allocation: which free reclaim unit a frontier opens next. One file per policy.

mod first_fit;
mod least_worn;

use base::{Choice, Domain, Seam, Selection, Unit};

use crate::victim::UnitShape;
pub use first_fit::FirstFit;
pub use least_worn::LeastWorn;

/// The free units of every domain, and the order in which they are used.
pub trait FreePool {
    /// A unit was erased `erases` times so far and is free.
    fn put(&mut self, domain: Domain, unit: Unit, erases: u32);
    /// The unit to open next, taken out of the pool.
    fn take(&mut self, domain: Domain) -> Option<Unit>;
    /// The unit to open next among those from that offset of the domain on, taken out of the pool.
    fn take_from(&mut self, domain: Domain, offset: u32) -> Option<Unit>;
    /// The most worn unit, for data that keep it from being worn; the unit to open next where wear is not looked at.
    fn take_worn(&mut self, domain: Domain) -> Option<Unit>;
}

/// Any registered block allocation.
#[derive(Clone)]
pub enum AnyPool {
    /// See [`FirstFit`].
    FirstFit(FirstFit),
    /// See [`LeastWorn`].
    LeastWorn(LeastWorn),
}

static CHOICES: &[Choice] = &[FirstFit::CHOICE, LeastWorn::CHOICE];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "block_allocation", doc: "Which free reclaim unit a frontier opens next.", choices: CHOICES };

impl AnyPool {
    /// Bytes of the pool that was chosen.
    ///
    /// # Panics
    /// If the selection is not from this registry.
    pub fn bytes(selection: &Selection, shape: UnitShape) -> u64 {
        match selection.name {
            name if name == FirstFit::CHOICE.name => FirstFit::bytes(shape),
            name if name == LeastWorn::CHOICE.name => LeastWorn::bytes(shape),
            name => panic!("`{name}` is not a block allocation"),
        }
    }

    /// The pool that was chosen, empty.
    ///
    /// # Panics
    /// If the selection is not from this registry.
    pub fn build(selection: &Selection, shape: UnitShape) -> AnyPool {
        match selection.name {
            name if name == FirstFit::CHOICE.name => AnyPool::FirstFit(FirstFit::new(shape)),
            name if name == LeastWorn::CHOICE.name => AnyPool::LeastWorn(LeastWorn::new(shape)),
            name => panic!("`{name}` is not a block allocation"),
        }
    }
}

impl FreePool for AnyPool {
    fn put(&mut self, domain: Domain, unit: Unit, erases: u32) {
        match self {
            AnyPool::FirstFit(pool) => pool.put(domain, unit, erases),
            AnyPool::LeastWorn(pool) => pool.put(domain, unit, erases),
        }
    }

    fn take(&mut self, domain: Domain) -> Option<Unit> {
        match self {
            AnyPool::FirstFit(pool) => pool.take(domain),
            AnyPool::LeastWorn(pool) => pool.take(domain),
        }
    }

    fn take_from(&mut self, domain: Domain, offset: u32) -> Option<Unit> {
        match self {
            AnyPool::FirstFit(pool) => pool.take_from(domain, offset),
            AnyPool::LeastWorn(pool) => pool.take_from(domain, offset),
        }
    }

    fn take_worn(&mut self, domain: Domain) -> Option<Unit> {
        match self {
            AnyPool::FirstFit(pool) => pool.take_worn(domain),
            AnyPool::LeastWorn(pool) => pool.take_worn(domain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{FIRST, SECOND};

    const SHAPE: UnitShape = UnitShape { domains: 2, units_per_domain: 70, slots: 4 };

    #[test]
    fn first_fit_goes_round() {
        let mut pool = FirstFit::new(SHAPE);
        let unit = Unit::new;
        for number in [72, 75, 139] {
            pool.put(SECOND, unit(number), 0);
        }
        assert_eq!(pool.take(SECOND), Some(unit(72)));
        pool.put(SECOND, unit(70), 5);
        assert_eq!((pool.take(SECOND), pool.take(SECOND)), (Some(unit(75)), Some(unit(139))));
        assert_eq!((pool.take(SECOND), pool.take(SECOND), pool.take(FIRST)), (Some(unit(70)), None, None));
    }

    #[test]
    fn units_of_high_addresses_are_found() {
        let mut pools = [AnyPool::FirstFit(FirstFit::new(SHAPE)), AnyPool::LeastWorn(LeastWorn::new(SHAPE))];
        for pool in &mut pools {
            for (number, erases) in [(71, 0), (100, 9), (120, 3), (130, 5)] {
                pool.put(SECOND, Unit::new(number), erases);
            }
        }
        let taken = pools
            .each_mut()
            .map(|pool| [50, 50, 50, 0, 0].map(|offset| pool.take_from(SECOND, offset).map(Unit::number)));
        assert_eq!(taken[0], [Some(120), Some(130), None, Some(71), Some(100)]);
        assert_eq!(taken[1], [Some(120), Some(130), None, Some(71), Some(100)]);
    }

    #[test]
    fn the_most_worn_free_unit_is_found() {
        let free = [(3, 7), (5, 2), (9, 7), (1, 4)];
        let mut pool = LeastWorn::new(SHAPE);
        free.iter().for_each(|&(unit, erases)| pool.put(FIRST, Unit::new(unit), erases));
        let worn: Vec<_> = std::iter::from_fn(|| pool.take_worn(FIRST)).map(Unit::number).collect();
        assert_eq!(worn, [3, 9, 1, 5]);
        let mut round = FirstFit::new(SHAPE);
        free.iter().for_each(|&(unit, erases)| round.put(FIRST, Unit::new(unit), erases));
        assert_eq!(round.take_worn(FIRST).map(Unit::number), Some(1));
    }

    #[test]
    fn least_worn_takes_the_least_erased() {
        let mut pool = LeastWorn::new(SHAPE);
        for (unit, erases) in [(3, 7), (5, 2), (9, 2), (1, 4)] {
            pool.put(FIRST, Unit::new(unit), erases);
        }
        let taken: Vec<_> = std::iter::from_fn(|| pool.take(FIRST)).map(Unit::number).collect();
        assert_eq!(taken, [5, 9, 1, 3]);
    }
}
