//! Wear leveling: when cold data are moved off little-worn units.

use base::{Choice, Domain, Param, ParamKind, Seam, Selection, Unit};

use super::Mechanism;
use crate::Policies;
use crate::kernel::{Kernel, Why};
use crate::victim::{Shape, UnitRecord, UnitState};

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "No wear leveling.", params: &[] },
    Choice {
        name: "static",
        doc: "Empties the least worn unit of a domain when it lags the most worn one by a threshold, in effective P/E cycles.",
        params: &[Param {
            name: "threshold",
            kind: ParamKind::Integer { default: 20, min: 1, max: 1_000_000 },
            doc: "Difference in effective P/E cycles, between the most and the least worn unit of a domain, that starts a move.",
        }],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "wear_leveling", doc: "When cold data are moved to even out the wear.", choices: CHOICES };

/// Wear leveling in force.
#[derive(Clone)]
pub(crate) enum WearLeveling {
    /// None.
    None,
    /// By a threshold on erase counts.
    Static(Static),
}

/// Static wear leveling.
///
/// Finding the least erased closed unit means looking at all of them, so a domain is looked at once per
/// 1/16 of its units erased: a constant cost per erase, and far more often than the counts can drift apart.
#[derive(Clone)]
pub(crate) struct Static {
    threshold: u32,
    period: u32,
    shape: Shape,
    since_check: Vec<u32>,
}

impl WearLeveling {
    /// Bytes of the wear leveling that was chosen.
    pub fn bytes(selection: &Selection, shape: Shape) -> u64 {
        if selection.name == "none" { 0 } else { u64::from(shape.domains) * 4 }
    }

    /// The wear leveling that was chosen.
    ///
    /// # Panics
    /// If the selection is not from this registry.
    pub(crate) fn build(selection: &Selection, shape: Shape) -> WearLeveling {
        match selection.name {
            "none" => WearLeveling::None,
            "static" => WearLeveling::Static(Static {
                threshold: selection.integer("threshold"),
                period: (shape.units_per_domain / 16).max(1),
                shape,
                since_check: vec![0; shape.domains as usize],
            }),
            name => panic!("`{name}` is not a wear leveling"),
        }
    }
}

impl Mechanism for WearLeveling {
    /// Erases for wear leveling's own sake do not count, nor those of backups.
    fn erased(&mut self, _: &mut Kernel, domain: Domain, _: Unit, why: Option<Why>) -> bool {
        if let WearLeveling::Static(leveling) = self
            && why.is_some_and(|why| why != Why::Level)
        {
            leveling.since_check[domain.index()] += 1;
        }
        false
    }

    /// A run from a saved state begins like the run that aged the device.
    fn renew(&mut self, _: &mut Kernel, _: &Policies<'_>) {
        if let WearLeveling::Static(leveling) = self {
            leveling.since_check.fill(0);
        }
    }

    fn due(&mut self, kernel: &Kernel, domain: Domain) -> Option<(Unit, Why)> {
        match self {
            WearLeveling::None => None,
            WearLeveling::Static(leveling) => leveling.due(kernel, domain).map(|unit| (unit, Why::Level)),
        }
    }
}

impl Static {
    /// The closed unit of a domain to empty now, if any; asked between collections.
    fn due(&mut self, kernel: &Kernel, domain: Domain) -> Option<Unit> {
        self.due_of(domain, kernel.units(), |unit| kernel.wear_of(unit))
    }

    /// The same for units that are so worn.
    fn due_of(&mut self, domain: Domain, units: &[UnitRecord], wear: impl Fn(Unit) -> u32) -> Option<Unit> {
        let since = &mut self.since_check[domain.index()];
        if *since < self.period {
            return None;
        }
        *since = 0;
        let range = self.shape.units_of_domain(domain);
        let most = range.clone().map(&wear).max()?;
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
        let shape = Shape { domains: 1, units_per_domain: 4, slots: 4 };
        let mut selection = Selection::default_of(SEAM.find("static").unwrap());
        selection.set("threshold", 5.into());
        let WearLeveling::Static(mut leveling) = WearLeveling::build(&selection, shape) else { unreachable!() };
        let unit = |state| UnitRecord { valid: 1, state, lsb_only: false };
        let units = [unit(UnitState::Closed), unit(UnitState::Free), unit(UnitState::Closed), unit(UnitState::Closed)];
        let due = |leveling: &mut Static, erases: [u32; 4]| leveling.due_of(FIRST, &units, |unit| erases[unit.index()]);
        assert_eq!(due(&mut leveling, [5, 0, 6, 10]), None, "nothing was erased since");
        leveling.since_check[0] += 1;
        assert_eq!(due(&mut leveling, [5, 0, 6, 9]), None, "4 apart, the free unit does not count");
        leveling.since_check[0] += 1;
        assert_eq!(due(&mut leveling, [5, 0, 6, 10]), Some(Unit::new(0)));
    }
}
