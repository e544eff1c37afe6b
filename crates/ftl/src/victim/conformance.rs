//! Does a victim policy keep its word? Units are closed, invalidated, chosen and removed at random, as an FTL would.

use base::{Domain, Unit};
use engine::Chance;

use super::{UnitRecord, UnitShape, UnitState, VictimPolicy, VictimView};

/// The device that is imitated.
pub const SHAPE: UnitShape = UnitShape { domains: 3, units_per_domain: 9, slots: 6 };

/// Steps of a life.
pub const STEPS: u64 = 3000;

const FREE: UnitRecord = UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false };

/// Holds a policy to its word for a life: a choice is a closed unit of its domain, and there is one whenever a unit is
/// closed. `go_on` is asked after each step.
///
/// # Errors
/// The policy broke its word; the text says how.
pub fn conform(policy: &mut dyn VictimPolicy, seed: u64, mut go_on: impl FnMut() -> bool) -> Result<(), String> {
    let mut life = Life {
        random: Chance::new(seed, "victims"),
        units: vec![FREE; SHAPE.units() as usize],
        erases: vec![0; SHAPE.units() as usize],
    };
    for now in 0..STEPS {
        life.step(policy, now)?;
        if !go_on() {
            break;
        }
    }
    Ok(())
}

struct Life {
    random: Chance,
    units: Vec<UnitRecord>,
    erases: Vec<u32>,
}

impl Life {
    fn step(&mut self, policy: &mut dyn VictimPolicy, now: u64) -> Result<(), String> {
        let domain = Domain::new(self.random.below_u32(SHAPE.domains));
        self.change(policy, domain, now);
        let Some(choice) = self.choice(policy, domain, now)? else { return Ok(()) };
        if self.random.below(6) == 0 {
            self.collect(policy, domain, choice, now);
        }
        Ok(())
    }

    /// A unit is opened, filled, loses a page, or is free again.
    fn change(&mut self, policy: &mut dyn VictimPolicy, domain: Domain, now: u64) {
        let first = domain.number() * SHAPE.units_per_domain;
        let unit = Unit::new(first + self.random.below_u32(SHAPE.units_per_domain));
        let state = &mut self.units[unit.index()];
        match (state.state, self.random.below(4)) {
            (UnitState::Free, _) => state.state = UnitState::Open,
            (UnitState::Open, _) => {
                let valid = self.random.below_u32(SHAPE.slots + 1) as u16;
                *state = UnitRecord { valid, state: UnitState::Closed, lsb_only: false };
                policy.on_closed(domain, unit, u32::from(valid), now);
            }
            (UnitState::Closed, 0..=2) if state.valid > 0 => {
                state.valid -= 1;
                policy.on_invalidated(domain, unit, u32::from(state.valid), now);
            }
            (UnitState::Closed, _) => {}
            (UnitState::Collecting | UnitState::Aside | UnitState::Withheld | UnitState::Retired, _) => {
                *state = FREE;
                self.erases[unit.index()] += 1;
            }
        }
    }

    /// The policy's choice, if it is right.
    fn choice(&self, policy: &mut dyn VictimPolicy, domain: Domain, now: u64) -> Result<Option<Unit>, String> {
        let is_closed = |unit: Unit| self.units[unit.index()].state == UnitState::Closed;
        let closed = SHAPE.units_of_domain(domain).filter(|&unit| is_closed(unit)).count();
        let choice = policy.choose(VictimView { domain, valid: &self.units, erases: &self.erases, now });
        match choice {
            None if closed > 0 => {
                Err(format!("nothing was chosen, with {closed} units closed: a choice is made whenever there is one"))
            }
            Some(unit) if !SHAPE.units_of_domain(domain).any(|own| own == unit) => {
                Err(format!("unit {unit} was chosen, which is of another domain than {domain}"))
            }
            Some(unit) if !is_closed(unit) => {
                Err(format!("unit {unit} was chosen, which is {:?}", self.units[unit.index()].state))
            }
            choice => Ok(choice),
        }
    }

    /// The unit is taken; now and then its collection is suspended when some of its pages are moved.
    fn collect(&mut self, policy: &mut dyn VictimPolicy, domain: Domain, unit: Unit, now: u64) {
        let state = &mut self.units[unit.index()];
        policy.on_removed(domain, unit, u32::from(state.valid));
        if self.random.below(2) == 0 {
            state.valid -= state.valid.min(self.random.below_u32(3) as u16);
            policy.on_returned(domain, unit, u32::from(state.valid), now);
        } else {
            state.state = UnitState::Collecting;
        }
    }
}
