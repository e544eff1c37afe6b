//! Wear leveling that keeps up: one move of cold data after every erase, as long as there is a unit that lags.

use base::{Domain, Unit};

use super::{most_worn, period};
use crate::victim::{UnitRecord, UnitShape, UnitState};

/// See the module.
///
/// The units that lag are listed at one look at all of them for every sixteenth of the units that is erased, and each erase
/// takes the next one from the list: a constant cost per erase.
#[derive(Clone)]
pub(crate) struct Swap {
    threshold: u32,
    period: u32,
    shape: UnitShape,
    domains: Vec<Lagging>,
}

/// The state of a domain.
#[derive(Clone, Default)]
struct Lagging {
    since_look: u32,
    /// How worn the unit is that was erased last, until somebody asks what is due.
    erased: Option<u32>,
    /// Units in use that lagged at the last look, with their wear then; the least worn one is the last.
    units: Vec<(u32, Unit)>,
}

impl Swap {
    pub(super) fn new(threshold: u32, shape: UnitShape) -> Swap {
        // The first erase looks.
        let begin = Lagging { since_look: period(shape), ..Lagging::default() };
        Swap { threshold, period: period(shape), shape, domains: vec![begin; shape.domains as usize] }
    }

    pub(super) fn bytes(shape: UnitShape) -> u64 {
        let of_unit = u64::from(shape.units_per_domain) * size_of::<(u32, Unit)>() as u64;
        u64::from(shape.domains) * (size_of::<Lagging>() as u64 + of_unit)
    }

    pub(super) fn renew(&mut self) {
        *self = Swap::new(self.threshold, self.shape);
    }

    /// A unit that is now so worn was erased.
    pub(super) fn erased(&mut self, domain: Domain, wear: u32) {
        let own = &mut self.domains[domain.index()];
        own.since_look += 1;
        own.erased = Some(wear);
    }

    /// The unit of a domain to empty now, if any, of units that are so worn; asked between collections.
    pub(super) fn due_of(&mut self, domain: Domain, units: &[UnitRecord], wear: impl Fn(Unit) -> u32) -> Option<Unit> {
        let worn = self.domains[domain.index()].erased.take()?;
        let is_closed = |unit: Unit| units[unit.index()].state == UnitState::Closed;
        if let Some(listed) = self.next_listed(domain, |unit, then| is_closed(unit) && wear(unit) == then) {
            return self.take_if_lagging(domain, listed, worn);
        }
        if self.domains[domain.index()].since_look < self.period {
            return None;
        }
        let range = self.shape.units_of_domain(domain);
        let most = most_worn(units, range.clone(), &wear)?;
        let lag = |unit: &Unit| is_closed(*unit) && wear(*unit) + self.threshold <= most;
        let mut lagging: Vec<(u32, Unit)> = range.filter(lag).map(|unit| (wear(unit), unit)).collect();
        lagging.sort_unstable_by(|one, other| other.cmp(one));
        let own = &mut self.domains[domain.index()];
        (own.since_look, own.units) = (0, lagging);
        let listed = *self.domains[domain.index()].units.last()?;
        self.take_if_lagging(domain, listed, worn)
    }

    /// The last of the list that is still as it was.
    fn next_listed(&mut self, domain: Domain, is_as_it_was: impl Fn(Unit, u32) -> bool) -> Option<(u32, Unit)> {
        let listed = &mut self.domains[domain.index()].units;
        while let Some(&(then, unit)) = listed.last() {
            if is_as_it_was(unit, then) {
                return Some((then, unit));
            }
            listed.pop();
        }
        None
    }

    /// The last of the list, if it lags what was erased.
    fn take_if_lagging(&mut self, domain: Domain, (wear, unit): (u32, Unit), worn: u32) -> Option<Unit> {
        if worn < wear + self.threshold {
            return None;
        }
        self.domains[domain.index()].units.pop();
        Some(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{FIRST, SECOND};

    const SHAPE: UnitShape = UnitShape { domains: 2, units_per_domain: 32, slots: 4 };

    fn closed() -> Vec<UnitRecord> {
        vec![UnitRecord { valid: 1, state: UnitState::Closed, lsb_only: false }; 64]
    }

    /// Erases a unit that is so worn, and asks what is due.
    fn after(leveling: &mut Swap, units: &[UnitRecord], wear: &[u32; 64], worn: u32) -> Option<u32> {
        leveling.erased(FIRST, worn);
        leveling.due_of(FIRST, units, |unit| wear[unit.index()]).map(Unit::number)
    }

    #[test]
    fn every_erase_of_a_worn_unit_moves_the_next_lagging_one() {
        let (mut leveling, mut units) = (Swap::new(4, SHAPE), closed());
        let mut wear = [9; 64];
        (wear[3], wear[7], wear[12], wear[20]) = (2, 1, 5, 6);
        units[12].state = UnitState::Free;
        assert_eq!(leveling.due_of(FIRST, &units, |unit| wear[unit.index()]), None, "nothing was erased");
        assert_eq!(after(&mut leveling, &units, &wear, 9), Some(7), "the least worn first");
        assert_eq!(leveling.due_of(FIRST, &units, |unit| wear[unit.index()]), None, "one for an erase");
        units[7].state = UnitState::Free;
        assert_eq!(after(&mut leveling, &units, &wear, 5), None, "what was erased is hardly more worn");
        assert_eq!(after(&mut leveling, &units, &wear, 6), Some(3));
        units[3].state = UnitState::Free;
        assert_eq!(after(&mut leveling, &units, &wear, 9), None, "6 is 3 behind, 5 is free");
    }

    #[test]
    fn what_changed_since_it_was_listed_is_left_out() {
        let (mut leveling, mut units) = (Swap::new(4, SHAPE), closed());
        let mut wear = [9; 64];
        (wear[3], wear[7], wear[8], wear[40]) = (2, 1, 3, 0);
        assert_eq!(after(&mut leveling, &units, &wear, 9), Some(7));
        units[3].state = UnitState::Collecting;
        wear[8] = 4;
        assert_eq!(after(&mut leveling, &units, &wear, 9), None, "one in work, one erased and filled since");
        leveling.erased(SECOND, 9);
        let of_other = leveling.due_of(SECOND, &units, |unit| wear[unit.index()]).map(Unit::number);
        assert_eq!(of_other, Some(40), "each domain has its own");
    }
}
