//! Does a victim policy keep its word? Every registered one, over units that are closed, invalidated, chosen and removed at
//! random. Broken policies prove that the harness can fail.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Choice, Domain, Unit};
use common::{seam, selection};
use engine::Chance;
use ftl::victim::{AnyVictim, Shape, UnitRecord, UnitState, VictimPolicy, View};

const SHAPE: Shape = Shape { domains: 3, units_per_domain: 9, slots: 6 };

/// Closes, invalidates, chooses and removes units at random, as an FTL would, and holds a policy to its
/// word: a choice is a closed unit of its domain, and there is one whenever a unit is closed.
fn conform(policy: &mut impl VictimPolicy, seed: u64) {
    let mut random = Chance::new(seed, "victims");
    let mut units = vec![UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false }; 27];
    for now in 0..3000u64 {
        let number = random.below_u32(SHAPE.domains);
        let domain = Domain::new(number);
        let unit = Unit::new(number * SHAPE.units_per_domain + random.below_u32(SHAPE.units_per_domain));
        let state = &mut units[unit.index()];
        match (state.state, random.below(4)) {
            (UnitState::Free, _) => state.state = UnitState::Open,
            (UnitState::Open, _) => {
                *state = UnitRecord {
                    valid: random.below_u32(SHAPE.slots + 1) as u16,
                    state: UnitState::Closed,
                    lsb_only: false,
                };
                policy.on_closed(domain, unit, u32::from(state.valid), now);
            }
            (UnitState::Closed, 0..=2) if state.valid > 0 => {
                state.valid -= 1;
                policy.on_invalidated(domain, unit, u32::from(state.valid), now);
            }
            (UnitState::Closed, _) => {}
            (UnitState::Collecting | UnitState::Aside | UnitState::Withheld, _) => {
                *state = UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false }
            }
        }
        let range = (number * SHAPE.units_per_domain) as usize..((number + 1) * SHAPE.units_per_domain) as usize;
        let closed = units[range.clone()].iter().filter(|unit| unit.state == UnitState::Closed).count();
        let before = units.clone();
        let choice = policy.choose(View { domain, valid: &units, now });
        assert_eq!(units, before);
        assert_eq!(choice.is_some(), closed > 0, "a choice is made whenever there is one");
        let Some(choice) = choice else { continue };
        assert!(range.contains(&choice.index()), "unit {choice} is of another domain than {domain}");
        assert_eq!(units[choice.index()].state, UnitState::Closed, "unit {choice} was chosen");
        if random.below(6) == 0 {
            let state = &mut units[choice.index()];
            policy.on_removed(domain, choice, u32::from(state.valid));
            if random.below(2) == 0 {
                // Its collection is suspended when some of its pages are moved.
                state.valid -= state.valid.min(random.below_u32(3) as u16);
                policy.on_returned(domain, choice, u32::from(state.valid), now);
            } else {
                state.state = UnitState::Collecting;
            }
        }
    }
}

fn built(choice: &'static Choice, seed: u64) -> AnyVictim {
    let chance = (0..SHAPE.domains).map(|domain| Chance::new(seed, &format!("victim {domain}"))).collect();
    AnyVictim::build(&selection(choice), SHAPE, chance)
}

#[test]
fn every_registered_victim_policy_keeps_its_word() {
    for choice in seam("victim").choices {
        for seed in 0..20 {
            let run = || conform(&mut built(choice, seed), seed);
            assert!(catch_unwind(AssertUnwindSafe(run)).is_ok(), "broken: {}, seed {seed}", choice.name);
        }
    }
}

/// Policies with one fault each, around one that is right.
enum Fault {
    /// Goes on offering a unit that is being collected.
    ForgetsRemovals,
    /// Offers a unit that is being filled.
    OffersOpenUnits,
    /// Looks at another domain.
    MixesDomains,
    /// Gives up although there is something to choose.
    GivesUp,
}

struct Broken {
    sound: AnyVictim,
    fault: Fault,
}

impl VictimPolicy for Broken {
    fn choose(&mut self, view: View<'_>) -> Option<Unit> {
        let sound = self.sound.choose(view)?;
        let in_state = |state| SHAPE.units_of_domain(view.domain).find(|&unit| view.valid[unit.index()].state == state);
        match self.fault {
            Fault::ForgetsRemovals => in_state(UnitState::Collecting).or(Some(sound)),
            Fault::OffersOpenUnits => in_state(UnitState::Open).or(Some(sound)),
            Fault::MixesDomains => Some(Unit::new((sound.number() + SHAPE.units_per_domain) % view.valid.len() as u32)),
            Fault::GivesUp => (!view.now.is_multiple_of(50)).then_some(sound),
        }
    }

    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.sound.on_closed(domain, unit, valid, now);
    }

    fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.sound.on_invalidated(domain, unit, valid, now);
    }

    fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
        self.sound.on_removed(domain, unit, valid);
    }
}

#[test]
fn broken_victim_policies_are_caught() {
    let cases = [
        (Fault::ForgetsRemovals, "was chosen"),
        (Fault::OffersOpenUnits, "was chosen"),
        (Fault::MixesDomains, "is of another domain"),
        (Fault::GivesUp, "a choice is made whenever there is one"),
    ];
    for (fault, expected) in cases {
        let mut broken = Broken { sound: built(&seam("victim").choices[0], 1), fault };
        let panic = catch_unwind(AssertUnwindSafe(|| conform(&mut broken, 1))).expect_err("the harness can fail");
        let text = panic.downcast::<String>().expect("a message");
        assert!(text.contains(expected), "{text}");
    }
}
