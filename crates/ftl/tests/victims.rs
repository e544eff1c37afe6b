//! Does a victim policy keep its word? Every registered one, over units that are closed, invalidated, chosen and removed at
//! random. Broken policies prove that the harness can fail.

mod common;

use base::{Choice, Domain, Unit};
use common::{seam, selection};
use engine::Chance;
use ftl::victim::conformance::{SHAPE, conform};
use ftl::victim::{AnyVictim, UnitState, VictimPolicy, VictimView};

fn built(choice: &'static Choice, seed: u64) -> AnyVictim {
    let chance = (0..SHAPE.domains).map(|domain| Chance::new(seed, &format!("victim {domain}"))).collect();
    AnyVictim::build(&selection(choice), SHAPE, chance)
}

#[test]
fn every_registered_victim_policy_keeps_its_word() {
    for choice in seam("victim").choices {
        for seed in 0..20 {
            let kept = conform(&mut built(choice, seed), seed, || true);
            assert_eq!(kept, Ok(()), "{}, seed {seed}", choice.name);
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
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
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
        (Fault::ForgetsRemovals, "was chosen, which is Collecting"),
        (Fault::OffersOpenUnits, "was chosen, which is Open"),
        (Fault::MixesDomains, "is of another domain"),
        (Fault::GivesUp, "a choice is made whenever there is one"),
    ];
    for (fault, expected) in cases {
        let mut broken = Broken { sound: built(&seam("victim").choices[0], 1), fault };
        let text = conform(&mut broken, 1, || true).expect_err("the harness can fail");
        assert!(text.contains(expected), "{text}");
    }
}
