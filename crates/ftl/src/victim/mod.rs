//! Which reclaim unit is collected next: the trait, the registry, and one file per policy.
//!
//! Only *closed* units (full, not being collected) can be chosen. A policy keeps its own structures in
//! step through the notes it is given; it never reads the map and never issues an operation.

mod across;
#[cfg(test)]
mod blank;
mod buckets;
pub mod conformance;
mod cost_benefit;
mod fifo;
mod greedy;
mod own;
mod random;
mod ranks;
mod rga;
mod stable_greedy;

use base::scope::{Area, Scope};
use base::{Choice, Domain, Seam, Selection, Unit};
use engine::Chance;

use crate::Policies;
use crate::stream::Stream;

pub(crate) use across::check as check_across;
pub use across::{Across, SEAM as RECLAIM_ACROSS, is_across};
pub use cost_benefit::CostBenefit;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use own::{Maker, OwnVictim};
pub use random::Random;
pub use rga::Rga;
pub use stable_greedy::StableGreedy;

/// The view that a policy chooses by.
#[derive(Clone, Copy)]
pub struct VictimView<'a> {
    /// The domain to choose in.
    pub domain: Domain,
    /// Valid pages of every unit of the device, by unit.
    pub valid: &'a [UnitRecord],
    /// By unit: how often it was erased.
    pub erases: &'a [u32],
    /// Logical time: pages the host has written to the domain so far.
    pub now: u64,
}

/// The state of a reclaim unit, as the FTL knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitRecord {
    /// Slots that hold current data.
    pub valid: u16,
    /// Where the unit is in its life.
    pub state: UnitState,
    /// True if only its LSB pages are used.
    pub lsb_only: bool,
}

/// The life of a reclaim unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum UnitState {
    /// Erased, in the free pool.
    Free,
    /// A frontier is filling it.
    Open,
    /// Full; may be chosen as victim.
    Closed,
    /// Its valid pages are being moved, or it is empty and its erase is held back.
    Collecting,
    /// It holds backups, or host pages that were not merged yet: not for the victim policy.
    Aside,
    /// Full, or no longer filled, and a mechanism keeps it from the victim policy.
    Withheld,
    /// A block of it is bad: it is used no more.
    Retired,
}

/// The number of units of the device, and their division into domains.
#[derive(Clone, Copy, Debug)]
pub struct UnitShape {
    /// Domains of the device.
    pub domains: u32,
    /// Units of a domain, which follow each other.
    pub units_per_domain: u32,
    /// Slots of a unit.
    pub slots: u32,
}

impl UnitShape {
    /// The units of a domain.
    pub fn units_of_domain(self, domain: Domain) -> impl Iterator<Item = Unit> + Clone {
        (domain.number() * self.units_per_domain..(domain.number() + 1) * self.units_per_domain).map(Unit::new)
    }

    /// Units of the device.
    pub fn units(self) -> u32 {
        self.domains * self.units_per_domain
    }
}

/// A victim policy.
pub trait VictimPolicy {
    /// The unit to collect among the closed ones of `view.domain`; `None` if none is closed.
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit>;
    /// A unit was filled; it may be chosen from now on.
    fn on_closed(&mut self, _domain: Domain, _unit: Unit, _valid: u32, _now: u64) {}
    /// A unit that was chosen, of which `valid` pages are left, is closed again as if it had never been chosen: its
    /// collection was suspended.
    fn on_returned(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.on_closed(domain, unit, valid, now);
    }
    /// A page of a closed unit became invalid; `valid` pages remain.
    fn on_invalidated(&mut self, _domain: Domain, _unit: Unit, _valid: u32, _now: u64) {}
    /// A closed unit, with `valid` pages, is being collected; it may not be chosen any more.
    fn on_removed(&mut self, _domain: Domain, _unit: Unit, _valid: u32) {}
}

macro_rules! victims {
    ($($variant:ident),+ $(,)?) => {
        /// Any registered victim policy, as a closed set so that notes need no indirect call.
        #[derive(Clone)]
        pub enum AnyVictim {
            $(#[doc = concat!("See [`", stringify!($variant), "`].")] $variant($variant),)+
            /// One of the user's own.
            Own(OwnVictim),
            /// Any of them, over units of all dies that are chosen together.
            Across(Box<Across>),
        }

        /// The registered choices, the default first.
        static CHOICES: &[Choice] = &[$($variant::CHOICE),+];

        impl AnyVictim {
            /// Bytes of the policy that was chosen.
            ///
            /// # Panics
            /// If the selection is not from this registry.
            pub fn bytes(selection: &Selection, shape: UnitShape) -> u64 {
                let streams = u64::from(shape.domains) * size_of::<Chance>() as u64;
                if selection.own.is_some() {
                    return OwnVictim::bytes(shape);
                }
                streams + match selection.name {
                    $(name if name == $variant::CHOICE.name => $variant::bytes(selection, shape),)+
                    name => panic!("`{name}` is not a victim policy"),
                }
            }

            /// The policy that was chosen; `random` has a stream for each domain.
            ///
            /// # Panics
            /// If the selection is not from this registry.
            pub fn build(selection: &Selection, shape: UnitShape, random: Vec<Chance>) -> AnyVictim {
                if let Some(own) = &selection.own {
                    return AnyVictim::Own(OwnVictim::build(own, shape));
                }
                match selection.name {
                    $(name if name == $variant::CHOICE.name => {
                        AnyVictim::$variant($variant::build(selection, shape, random))
                    })+
                    name => panic!("`{name}` is not a victim policy"),
                }
            }
        }

        impl VictimPolicy for AnyVictim {
            #[inline]
            fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
                match self {
                    $(AnyVictim::$variant(policy) => policy.choose(view),)+
                    AnyVictim::Own(policy) => policy.choose(view),
                    AnyVictim::Across(policy) => policy.choose(view),
                }
            }
            #[inline]
            fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
                match self {
                    $(AnyVictim::$variant(policy) => policy.on_closed(domain, unit, valid, now),)+
                    AnyVictim::Own(policy) => policy.on_closed(domain, unit, valid, now),
                    AnyVictim::Across(policy) => policy.on_closed(domain, unit, valid, now),
                }
            }
            fn on_returned(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
                match self {
                    $(AnyVictim::$variant(policy) => policy.on_returned(domain, unit, valid, now),)+
                    AnyVictim::Own(policy) => policy.on_returned(domain, unit, valid, now),
                    AnyVictim::Across(policy) => policy.on_returned(domain, unit, valid, now),
                }
            }
            #[inline(always)]
            fn on_invalidated(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
                match self {
                    $(AnyVictim::$variant(policy) => policy.on_invalidated(domain, unit, valid, now),)+
                    AnyVictim::Own(policy) => policy.on_invalidated(domain, unit, valid, now),
                    AnyVictim::Across(policy) => policy.on_invalidated(domain, unit, valid, now),
                }
            }
            #[inline]
            fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
                match self {
                    $(AnyVictim::$variant(policy) => policy.on_removed(domain, unit, valid),)+
                    AnyVictim::Own(policy) => policy.on_removed(domain, unit, valid),
                    AnyVictim::Across(policy) => policy.on_removed(domain, unit, valid),
                }
            }
        }
    };
}

impl AnyVictim {
    /// Bytes of what is chosen by.
    pub(crate) fn bytes_under(policies: &Policies<'_>, shape: UnitShape) -> u64 {
        if is_across(policies) { Across::bytes(policies, shape) } else { AnyVictim::bytes(policies.victim, shape) }
    }

    /// The policy, over the units of each domain or over those of all.
    pub(crate) fn under(policies: &Policies<'_>, shape: UnitShape, seed: u64) -> AnyVictim {
        if is_across(policies) {
            AnyVictim::Across(Box::new(Across::build(policies, shape, seed)))
        } else {
            AnyVictim::build(policies.victim, shape, chance_by_domain(seed, shape.domains))
        }
    }

    /// The units of all dies that are chosen together, where they are.
    pub(crate) fn across(&self) -> Option<&Across> {
        if let AnyVictim::Across(across) = self { Some(across) } else { None }
    }

    /// A unit closes now that was filled by this stream.
    pub(crate) fn note_stream(&mut self, unit: Unit, stream: Stream) {
        if let AnyVictim::Across(across) = self {
            across.note_stream(unit, stream);
        }
    }
}

/// A stream of chance for each domain.
pub(crate) fn chance_by_domain(seed: u64, domains: u32) -> Vec<Chance> {
    (0..domains).map(|domain| Chance::new(seed, &format!("victim {domain}"))).collect()
}

victims!(Greedy, Rga, CostBenefit, Fifo, Random, StableGreedy);

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "victim",
    doc: "Which reclaim unit garbage collection takes next: one of these, or a class of your own in Python, \
          `FILE.py:CLASS`, or `FILE.py:CLASS(w=4)`; that file is code, and is run.",
    choices: CHOICES,
};

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Ftl,
    name: "Victims",
    keys: &["ftl.victim", "ftl.reclaim_across"],
    modelled: "A plane chooses its victim by one of six policies or a policy of the user, or with groups of units across dies.",
    not_modelled: &["Without such groups no victim is compared with those of other planes."],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{FIRST, SECOND};
    use base::ParamValue;

    const SHAPE: UnitShape = UnitShape { domains: 2, units_per_domain: 4, slots: 8 };

    /// A domain whose units were closed in the order 0, 1, 2, 3 at times 10, 20, 30, 40, and then lost
    /// pages: (unit, valid pages left, time).
    fn chosen(name: &str, losses: &[(u32, u16, u64)], now: u64) -> u32 {
        chosen_with(name, &[], losses, now)
    }

    fn chosen_with(name: &str, params: &[(&str, ParamValue)], losses: &[(u32, u16, u64)], now: u64) -> u32 {
        let mut selection = Selection::default_of(SEAM.find(name).unwrap());
        for (param, value) in params {
            selection.set(param, *value);
        }
        let mut policy = AnyVictim::build(&selection, SHAPE, chance_by_domain(1, SHAPE.domains));
        let mut units = [UnitRecord { valid: 8, state: UnitState::Closed, lsb_only: false }; 8];
        for unit in 0..4 {
            policy.on_closed(FIRST, Unit::new(unit), 8, 10 + 10 * u64::from(unit));
        }
        for &(unit, left, at) in losses {
            let unit = Unit::new(unit);
            while units[unit.index()].valid > left {
                units[unit.index()].valid -= 1;
                policy.on_invalidated(FIRST, unit, u32::from(units[unit.index()].valid), at);
            }
        }
        let view = VictimView { domain: FIRST, valid: &units, erases: &[0; 8], now };
        let first = policy.choose(view).unwrap();
        // A unit that was taken is not offered again, and the other domain is not touched.
        policy.on_removed(FIRST, first, u32::from(units[first.index()].valid));
        for _ in 0..20 {
            assert_ne!(policy.choose(view), Some(first), "{name}");
        }
        assert_eq!(policy.choose(VictimView { domain: SECOND, ..view }), None, "{name}");
        first.number()
    }

    #[test]
    fn each_policy_takes_what_its_definition_says() {
        // greedy: the fewest valid pages; among equals the one that has been so for longest.
        assert_eq!(chosen("greedy", &[(1, 5, 50), (3, 2, 60), (2, 3, 70)], 80), 3);
        assert_eq!(chosen("greedy", &[(2, 3, 50), (1, 3, 60)], 80), 2);
        // stable-greedy: of the units that have not changed for 2 pages (of 32), the fewest valid ones.
        let stable =
            |losses: &[(u32, u16, u64)], now| chosen_with("stable-greedy", &[("settle", 0.0625.into())], losses, now);
        assert_eq!(stable(&[(1, 5, 50), (2, 3, 70), (3, 2, 79)], 80), 2, "unit 3 is young");
        assert_eq!(stable(&[(1, 5, 50), (2, 3, 70), (3, 2, 78)], 80), 3, "unit 3 has settled");
        assert_eq!(
            stable(&[(1, 5, 50), (2, 3, 60), (3, 3, 70)], 80),
            2,
            "among equals, the one that has been so for longest"
        );
        assert_eq!(stable(&[(1, 5, 79), (3, 2, 80)], 80), 3, "nothing settled has an invalid page");
        assert_eq!(stable(&[(1, 5, 50), (3, 0, 80)], 80), 3, "nothing more of it can become invalid");
        // fifo: the first closed, whatever it holds.
        assert_eq!(chosen("fifo", &[(3, 0, 50)], 80), 0);
        // cost-benefit: age × (1 - u) / 2u. Unit 0: (1000 - 60) × 2/12; unit 3: (1000 - 990) × 6/4.
        assert_eq!(chosen("cost-benefit", &[(0, 6, 60), (3, 2, 990)], 1000), 0);
        // An empty unit costs nothing.
        assert_eq!(chosen("cost-benefit", &[(0, 6, 60), (3, 0, 990)], 1000), 3);
        // Counted from its filling, unit 0 is the oldest by far: (1000 - 10) × 2/12 against 960 × 5/6.
        assert_eq!(chosen_with("cost-benefit", &[("age", "filled".into())], &[(0, 6, 999), (3, 3, 999)], 1000), 3);
        assert_eq!(chosen_with("cost-benefit", &[("age", "filled".into())], &[(3, 3, 60), (0, 3, 999)], 1000), 0);
        assert_eq!(chosen("cost-benefit", &[(3, 3, 60), (0, 3, 999)], 1000), 3);
        // The root of an age counts less: unit 0 has 40 × 2/6 = 13.3 and √40 × 2/6 = 2.1, unit 3 has 10 × 4/4 = 10 and √10 × 4/4 = 3.2.
        let by_growth = |growth: &'static str| {
            let params = [("age", "filled".into()), ("growth", growth.into())];
            chosen_with("cost-benefit", &params, &[(0, 6, 45), (3, 4, 45)], 50)
        };
        assert_eq!(["linear", "root"].map(by_growth), [0, 3]);
        // random and rga choose among the closed ones.
        assert!(chosen("random", &[], 80) < 4);
        // Eight or more draws out of four see the emptiest with near certainty; the seed is fixed.
        assert_eq!(chosen("rga", &[(2, 1, 50)], 80), 2);
    }

    /// Random units against the definition in floating point, over all of them.
    #[test]
    fn cost_benefit_takes_what_the_plain_computation_does() {
        let mut random = Chance::new(5, "cost-benefit");
        for (growth, exponent) in [("linear", 1.0), ("root", 0.5)] {
            for case in 0..400 {
                let params = [("age", ["changed", "filled"][case % 2].into()), ("growth", growth.into())];
                let mut losses: Vec<(u32, u16, u64)> = Vec::new();
                for unit in 0..4 {
                    losses.push((unit, 1 + random.below(8) as u16, 41 + u64::from(unit)));
                }
                let now = 45 + random.below(60);
                let taken = chosen_with("cost-benefit", &params, &losses, now);
                let worth = |&(unit, valid, at): &(u32, u16, u64)| {
                    let since = if case % 2 == 1 || valid == 8 { 10 + 10 * u64::from(unit) } else { at };
                    ((now - since) as f64).powf(exponent) * f64::from(8 - valid) / f64::from(valid)
                };
                let best = losses.iter().map(worth).fold(0.0, f64::max);
                let own = worth(&losses[taken as usize]);
                assert!(own > best - 1e-9, "{growth}, case {case}: {own} of unit {taken}, and {best}: {losses:?}");
            }
        }
    }

    #[test]
    fn nothing_closed_means_nothing_to_choose() {
        for choice in SEAM.choices {
            let mut policy =
                AnyVictim::build(&Selection::default_of(choice), SHAPE, chance_by_domain(1, SHAPE.domains));
            let units = [UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false }; 8];
            let view = VictimView { domain: FIRST, valid: &units, erases: &[0; 8], now: 0 };
            assert_eq!(policy.choose(view), None, "{}", choice.name);
        }
    }
}
