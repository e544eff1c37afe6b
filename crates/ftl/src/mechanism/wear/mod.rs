//! Wear leveling: when cold data are moved off little-worn units, and where to.

mod refusals;
mod swap;

use base::{Choice, Domain, Geometry, Lpn, Param, ParamKind, Seam, Selection, Unit};

pub(crate) use refusals::check;
use swap::Swap;

use super::{Agenda, Arrival, Placing, Planned, Reported, Restart};
use crate::allocation::Allocation;
use crate::kernel::{AXES, Kernel, Needs, Stream, Why, shape_of};
use crate::victim::{UnitRecord, UnitShape, UnitState};
use crate::{Bytes, OutOfMemory, Policies};

const fn threshold(doc: &'static str) -> Param {
    Param { name: "threshold", kind: ParamKind::Integer { default: 20, min: 1, max: 1_000_000 }, doc }
}

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "No wear leveling.", params: &[] },
    Choice {
        name: "static",
        doc: "Empties the least worn unit of a domain when it lags the most worn one by a threshold, in effective P/E cycles, once \
              for every sixteenth of the domain's units that was erased. Its data go where copies go.",
        params: &[threshold(
            "Difference in effective P/E cycles, between the most and the least worn unit of a domain, that starts a move.",
        )],
    },
    Choice {
        name: "swap",
        doc: "After any erase that leaves the erased unit a threshold more worn than the least worn one in use, the data of that one, \
              which are cold, move into the most worn free unit: they have active blocks of their own.",
        params: &[threshold(
            "Difference in effective P/E cycles, between the unit that was erased and the least worn one in use, that starts a move.",
        )],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "wear_leveling", doc: "When cold data are moved to even out the wear.", choices: CHOICES };

/// True if cold data that are moved have active blocks of their own.
pub fn separates(selection: &Selection) -> bool {
    selection.name == "swap"
}

/// Wear leveling in force.
#[derive(Clone)]
pub(crate) enum WearLeveling {
    /// By a threshold on erase counts.
    Static(Static),
    /// Into worn units, as often as units are erased.
    Swap(Swap),
}

/// Static wear leveling.
///
/// Finding the least erased closed unit means looking at all of them, so a domain is looked at once per
/// 1/16 of its units erased: a constant cost per erase. Where few units take all erases, one move for so many does not keep
/// up with them.
#[derive(Clone)]
pub(crate) struct Static {
    threshold: u32,
    period: u32,
    shape: UnitShape,
    since_check: Vec<u32>,
}

/// Erases of a domain between two looks at all of its units.
fn period(shape: UnitShape) -> u32 {
    (shape.units_per_domain / 16).max(1)
}

/// The wear of the most worn of some units that are in use. What was retired is behind nobody.
fn most_worn(units: &[UnitRecord], of: impl Iterator<Item = Unit>, wear: impl Fn(Unit) -> u32) -> Option<u32> {
    of.filter(|&unit| units[unit.index()].state != UnitState::Retired).map(wear).max()
}

impl WearLeveling {
    /// # Panics
    /// If the selection is not from this registry.
    fn of(selection: &Selection, shape: UnitShape) -> Option<WearLeveling> {
        match selection.name {
            "none" => None,
            "static" => Some(WearLeveling::Static(Static {
                threshold: selection.integer("threshold"),
                period: period(shape),
                shape,
                since_check: vec![0; shape.domains as usize],
            })),
            "swap" => Some(WearLeveling::Swap(Swap::new(selection.integer("threshold"), shape))),
            name => panic!("`{name}` is not a wear leveling"),
        }
    }
}

impl Planned for WearLeveling {
    fn needs(policies: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        (policies.wear_leveling.name != "none").then_some(Needs::NONE)
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, _: u64, _: bool) -> Bytes {
        let shape = shape_of(geometry);
        let bytes = match policies.wear_leveling.name {
            "none" => 0,
            "swap" => Swap::bytes(shape),
            _ => u64::from(shape.domains) * 4,
        };
        Bytes { blocks: bytes, renewed: bytes, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<WearLeveling>, OutOfMemory> {
        Ok(WearLeveling::of(policies.wear_leveling, shape_of(kernel.geometry())))
    }
}

impl Placing for WearLeveling {
    /// Cold data that are moved have active blocks of their own, where these are told apart.
    #[inline]
    fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival, _: &mut [usize; AXES]) -> Option<Stream> {
        if arrival != Arrival::Copy {
            return None;
        }
        kernel.streams().of_cold().filter(|_| kernel.is_leveled_now(lpn))
    }

    /// Erases for wear leveling's own sake do not count, nor those of backups.
    fn erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, why: Option<Why>) -> bool {
        if why.is_some_and(|why| why != Why::Level) {
            match self {
                WearLeveling::Static(leveling) => leveling.since_check[domain.index()] += 1,
                WearLeveling::Swap(leveling) => leveling.erased(domain, kernel.wear_of(unit)),
            }
        }
        false
    }
}

impl Agenda for WearLeveling {
    fn due(&mut self, kernel: &Kernel, domain: Domain) -> Option<(Unit, Why)> {
        let wear = |unit| kernel.wear_of(unit);
        let unit = match self {
            WearLeveling::Static(leveling) => leveling.due_of(domain, kernel.units(), wear),
            WearLeveling::Swap(leveling) => leveling.due_of(domain, kernel.units(), wear),
        };
        unit.map(|unit| (unit, Why::Level))
    }
}

impl Restart for WearLeveling {
    /// A run from a saved state begins like the run that aged the device.
    fn renew(&mut self, _: &mut Kernel, _: &Policies<'_>) {
        match self {
            WearLeveling::Static(leveling) => leveling.since_check.fill(0),
            WearLeveling::Swap(leveling) => leveling.renew(),
        }
    }
}

impl Reported for WearLeveling {}

impl Static {
    /// The closed unit of a domain to empty now, if any, of units that are so worn; asked between collections.
    fn due_of(&mut self, domain: Domain, units: &[UnitRecord], wear: impl Fn(Unit) -> u32) -> Option<Unit> {
        let since = &mut self.since_check[domain.index()];
        if *since < self.period {
            return None;
        }
        *since = 0;
        let range = self.shape.units_of_domain(domain);
        let most = most_worn(units, range.clone(), &wear)?;
        let coldest =
            range.filter(|&unit| units[unit.index()].state == UnitState::Closed).min_by_key(|&unit| wear(unit))?;
        (most - wear(coldest) >= self.threshold).then_some(coldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::FIRST;

    #[test]
    fn moves_the_least_erased_closed_unit_past_the_threshold() {
        let shape = UnitShape { domains: 1, units_per_domain: 4, slots: 4 };
        let mut selection = Selection::default_of(SEAM.find("static").unwrap());
        selection.set("threshold", 5.into());
        let Some(WearLeveling::Static(mut leveling)) = WearLeveling::of(&selection, shape) else { unreachable!() };
        let unit = |state| UnitRecord { valid: 1, state, lsb_only: false };
        let units = [unit(UnitState::Closed), unit(UnitState::Free), unit(UnitState::Closed), unit(UnitState::Closed)];
        let due = |leveling: &mut Static, erases: [u32; 4]| leveling.due_of(FIRST, &units, |unit| erases[unit.index()]);
        assert_eq!(due(&mut leveling, [5, 0, 6, 10]), None, "nothing was erased since");
        leveling.since_check[0] += 1;
        assert_eq!(due(&mut leveling, [5, 0, 6, 9]), None, "4 apart, the free unit does not count");
        leveling.since_check[0] += 1;
        assert_eq!(due(&mut leveling, [5, 0, 6, 10]), Some(Unit::new(0)));
    }

    /// A unit that was retired is used no more, however worn it is.
    #[test]
    fn what_was_retired_is_no_measure() {
        let shape = UnitShape { domains: 1, units_per_domain: 4, slots: 4 };
        let unit = |state| UnitRecord { valid: 1, state, lsb_only: false };
        let units = [UnitState::Closed, UnitState::Retired, UnitState::Free, UnitState::Closed].map(unit);
        for name in ["static", "swap"] {
            let mut selection = Selection::default_of(SEAM.find(name).unwrap());
            selection.set("threshold", 5.into());
            for (free, expected) in [(4, None), (5, Some(Unit::new(0)))] {
                let wear = |unit: Unit| [0, 90, free, 2][unit.index()];
                let due = match WearLeveling::of(&selection, shape).expect("a wear leveling") {
                    WearLeveling::Static(mut leveling) => {
                        leveling.since_check[0] += 1;
                        leveling.due_of(FIRST, &units, wear)
                    }
                    WearLeveling::Swap(mut leveling) => {
                        leveling.erased(FIRST, free);
                        leveling.due_of(FIRST, &units, wear)
                    }
                };
                assert_eq!(due, expected, "{name}: the most worn unit in use has {free} cycles");
            }
        }
    }
}
