//! Greedy: the unit with the fewest valid pages; among equals, the one that has been so for longest.
//!
//! Units with few valid pages are kept in one list per count, so a choice is a look at the lowest list in use. Most pages that become
//! invalid lie in units that are far from being chosen. Those are in no list: a unit enters one when it has come down to the domain's
//! bound. When the lists are empty the domain is gone through once, for a bound below which there are some again.

use base::{Choice, Domain, Selection, Unit};
use engine::Chance;

use super::buckets::Buckets;
use super::{UnitShape, VictimPolicy, VictimView};

/// When a domain is gone through, lists reach at least so far above its least count.
const MARGIN: u32 = 4;

/// And at least one in so many of its units is put into one, so that it is gone through seldom.
const LISTED: usize = 16;

/// See the module.
#[derive(Clone)]
pub struct Greedy {
    by_valid: Buckets,
    domains: Vec<OfDomain>,
    /// By unit: the number of its last change; 0 where it may not be chosen.
    changed: Vec<u64>,
    /// Changes so far.
    changes: u64,
    shape: UnitShape,
}

/// Which lists of a domain there are.
#[derive(Clone, Copy)]
struct OfDomain {
    /// No list below this one is in use.
    lowest: u32,
    /// Units with more valid pages are in no list.
    bound: u32,
    /// How far the bound was above the least count when the domain was gone through last.
    span: u32,
    /// Units that may be chosen.
    closed: u32,
}

impl Greedy {
    pub(super) const CHOICE: Choice = Choice {
        name: "greedy",
        doc: "Fewest valid pages (Wu and Zwaenepoel 1994). Ties: the block whose valid count changed longest ago.",
        params: &[],
    };

    pub(super) fn bytes(_selection: &Selection, shape: UnitShape) -> u64 {
        let (domains, units) = (u64::from(shape.domains), u64::from(shape.units()));
        let lists = Buckets::bytes(shape.domains, shape.slots + 1, shape.units());
        lists + domains * size_of::<OfDomain>() as u64 + units * size_of::<u64>() as u64
    }

    pub(super) fn build(_selection: &Selection, shape: UnitShape, _random: Vec<Chance>) -> Greedy {
        Greedy {
            by_valid: Buckets::new(shape.domains, shape.slots + 1, shape.units()),
            domains: vec![OfDomain { lowest: 1, bound: 0, span: 0, closed: 0 }; shape.domains as usize],
            changed: vec![0; shape.units() as usize],
            changes: 0,
            shape,
        }
    }

    /// A unit changed now.
    #[inline(always)]
    fn note_change(&mut self, unit: Unit) {
        self.changes += 1;
        self.changed[unit.index()] = self.changes;
    }

    /// True if units of a domain with that many valid pages are in a list.
    #[inline(always)]
    fn has_list(&self, domain: Domain, valid: u32) -> bool {
        valid <= self.domains[domain.index()].bound
    }

    /// Puts a unit with that many valid pages, which changed last of all, into their list.
    #[inline]
    fn enter(&mut self, domain: Domain, unit: Unit, valid: u32) {
        let lowest = &mut self.domains[domain.index()].lowest;
        *lowest = (*lowest).min(valid);
        self.by_valid.push(domain, valid, unit);
    }

    /// A unit lost a page, and units with as many as it has left are in a list.
    #[inline(never)]
    fn move_down(&mut self, domain: Domain, unit: Unit, valid: u32) {
        if self.has_list(domain, valid + 1) {
            self.by_valid.remove(domain, valid + 1, unit);
        }
        self.enter(domain, unit, valid);
    }

    /// The first unit of the lowest list in use, and its valid pages.
    fn first(&mut self, domain: Domain) -> Option<(Unit, u32)> {
        let OfDomain { lowest, bound, .. } = &mut self.domains[domain.index()];
        while *lowest <= *bound {
            if let Some(unit) = self.by_valid.first(domain, *lowest) {
                return Some((unit, *lowest));
            }
            *lowest += 1;
        }
        None
    }

    /// Gives lists to units again where all are empty; returns the one that is chosen.
    #[cold]
    fn gather(&mut self, view: VictimView<'_>) -> Option<(Unit, u32)> {
        if self.domains[view.domain.index()].closed == 0 {
            return None;
        }
        let valid = |unit: Unit| u32::from(view.valid[unit.index()].valid);
        let units = self.shape.units_of_domain(view.domain);
        let mut found: Vec<Unit> = units.filter(|unit| self.changed[unit.index()] > 0).collect();
        let listed = found.len().div_ceil(LISTED);
        let (_, &mut last, _) = found.select_nth_unstable_by_key(listed - 1, |&unit| valid(unit));
        let least = found[..listed].iter().map(|&unit| valid(unit)).min()?;
        let bound = valid(last).max(least + MARGIN).min(self.shape.slots);
        found.retain(|&unit| valid(unit) <= bound);
        found.sort_unstable_by_key(|unit| self.changed[unit.index()]);
        for &unit in &found {
            self.by_valid.push(view.domain, valid(unit), unit);
        }
        let of_domain = &mut self.domains[view.domain.index()];
        (of_domain.lowest, of_domain.bound, of_domain.span) = (least, bound, bound - least);
        self.first(view.domain)
    }

    /// Takes the lists above a count away.
    #[cold]
    fn lower(&mut self, domain: Domain, bound: u32) {
        let before = std::mem::replace(&mut self.domains[domain.index()].bound, bound);
        for row in bound + 1..=before {
            while let Some(unit) = self.by_valid.first(domain, row) {
                self.by_valid.remove(domain, row, unit);
            }
        }
    }
}

impl VictimPolicy for Greedy {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        let (unit, valid) = self.first(view.domain).or_else(|| self.gather(view))?;
        let OfDomain { bound, span, .. } = self.domains[view.domain.index()];
        if bound > valid + span + MARGIN {
            self.lower(view.domain, valid + span);
        }
        Some(unit)
    }

    #[inline]
    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, _now: u64) {
        self.domains[domain.index()].closed += 1;
        self.note_change(unit);
        if self.has_list(domain, valid) {
            self.enter(domain, unit, valid);
        }
    }

    #[inline(always)] // Once per page of the host.
    fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, _now: u64) {
        self.note_change(unit);
        if self.has_list(domain, valid) {
            self.move_down(domain, unit, valid);
        }
    }

    #[inline]
    fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
        self.domains[domain.index()].closed -= 1;
        if self.has_list(domain, valid) {
            self.by_valid.remove(domain, valid, unit);
        }
        self.changed[unit.index()] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{UnitRecord, UnitState};
    use super::*;

    const SHAPE: UnitShape = UnitShape { domains: 2, units_per_domain: 90, slots: 40 };

    /// Against its definition: units fill and lose pages at paces that change, so that the least count rises and falls.
    #[test]
    fn it_takes_what_a_look_at_all_units_would() {
        for seed in 1..=6 {
            let mut random = Chance::new(seed, "greedy");
            let mut policy = Greedy::build(&Selection::default_of(&Greedy::CHOICE), SHAPE, Vec::new());
            let mut units = vec![UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false }; 180];
            let mut since = vec![0; 180];
            let mut chosen = [0u32; 41];
            for step in 1..60_000u64 {
                let domain = Domain::new(random.below_u32(2));
                let unit = Unit::new(domain.number() * 90 + random.below_u32(90));
                let UnitRecord { valid, state, .. } = &mut units[unit.index()];
                let losses = [1, 20, 3, 30][(step / 15_000) as usize];
                match *state {
                    UnitState::Free => {
                        (*valid, *state) = (20 + random.below_u32(21) as u16, UnitState::Closed);
                        since[unit.index()] = step;
                        policy.on_closed(domain, unit, u32::from(*valid), step);
                    }
                    _ => {
                        for _ in 0..random.below(losses) {
                            if let Some(left) = valid.checked_sub(1) {
                                (*valid, since[unit.index()]) = (left, step);
                                policy.on_invalidated(domain, unit, left.into(), step);
                            }
                        }
                    }
                }
                if random.below(2 * losses) > 0 {
                    continue;
                }
                let own = SHAPE.units_of_domain(domain).filter(|unit| units[unit.index()].state == UnitState::Closed);
                let expected = own.min_by_key(|unit| (units[unit.index()].valid, since[unit.index()]));
                let choice = policy.choose(VictimView { domain, valid: &units, erases: &[0; 180], now: step });
                assert_eq!(choice, expected, "seed {seed}, step {step}");
                if let Some(unit) = choice {
                    chosen[usize::from(units[unit.index()].valid)] += 1;
                    policy.on_removed(domain, unit, units[unit.index()].valid.into());
                    units[unit.index()] = UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false };
                }
            }
            assert!(chosen[..8].iter().sum::<u32>() > 100 && chosen[16..].iter().sum::<u32>() > 100, "{chosen:?}");
        }
    }
}
