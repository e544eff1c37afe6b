//! Wear leveling: when cold data are moved off little-worn units.

use base::{Choice, Param, ParamKind, Seam, Selection};

use super::Mechanism;
use crate::kernel::{Kernel, Why};
use crate::victim::{Shape, Unit, UnitState};

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "No wear leveling.", params: &[] },
    Choice {
        name: "static",
        doc: "Empties the least erased unit of a domain when it lags the most erased one by a threshold.",
        params: &[Param {
            name: "threshold",
            kind: ParamKind::Integer { default: 20, min: 1, max: 1_000_000 },
            doc: "Difference in erases, between the most and the least erased unit of a domain, that starts a move.",
        }],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "wear_leveling", doc: "When cold data are moved to even out the wear.", choices: CHOICES };

/// Wear leveling in force.
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
pub(crate) struct Static {
    threshold: u32,
    period: u32,
    units_per_domain: u32,
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
                units_per_domain: shape.units_per_domain,
                since_check: vec![0; shape.domains as usize],
            }),
            name => panic!("`{name}` is not a wear leveling"),
        }
    }
}

impl Mechanism for WearLeveling {
    /// Erases for wear leveling's own sake do not count, nor those of backups.
    fn erased(&mut self, _: &mut Kernel, domain: u32, _: u32, why: Option<Why>) -> bool {
        if let WearLeveling::Static(leveling) = self
            && why.is_some_and(|why| why != Why::Level)
        {
            leveling.since_check[domain as usize] += 1;
        }
        false
    }

    fn due(&mut self, kernel: &Kernel, domain: u32) -> Option<(u32, Why)> {
        match self {
            WearLeveling::None => None,
            WearLeveling::Static(leveling) => {
                leveling.due(domain, kernel.units(), kernel.erases()).map(|unit| (unit, Why::Level))
            }
        }
    }
}

impl Static {
    /// The closed unit of a domain to empty now, if any; asked between collections. `erases` is by unit.
    fn due(&mut self, domain: u32, units: &[Unit], erases: &[u32]) -> Option<u32> {
        let since = &mut self.since_check[domain as usize];
        if *since < self.period {
            return None;
        }
        *since = 0;
        let range = domain * self.units_per_domain..(domain + 1) * self.units_per_domain;
        let most = range.clone().map(|unit| erases[unit as usize]).max()?;
        let coldest = range
            .filter(|&unit| units[unit as usize].state == UnitState::Closed)
            .min_by_key(|&unit| erases[unit as usize])?;
        (most - erases[coldest as usize] >= self.threshold).then_some(coldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_the_least_erased_closed_unit_past_the_threshold() {
        let shape = Shape { domains: 1, units_per_domain: 4, slots: 4 };
        let mut selection = Selection::default_of(SEAM.find("static").unwrap());
        selection.set("threshold", 5.into());
        let WearLeveling::Static(mut leveling) = WearLeveling::build(&selection, shape) else { unreachable!() };
        let unit = |state| Unit { valid: 1, state, lsb_only: false };
        let units = [unit(UnitState::Closed), unit(UnitState::Free), unit(UnitState::Closed), unit(UnitState::Closed)];
        assert_eq!(leveling.due(0, &units, &[5, 0, 6, 10]), None, "nothing was erased since");
        leveling.since_check[0] += 1;
        assert_eq!(leveling.due(0, &units, &[5, 0, 6, 9]), None, "4 apart, the free unit does not count");
        leveling.since_check[0] += 1;
        assert_eq!(leveling.due(0, &units, &[5, 0, 6, 10]), Some(0));
    }
}
