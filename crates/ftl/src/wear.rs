//! Wear leveling: when cold data are moved off little-worn units.

use base::{Choice, Param, ParamKind, Seam, Selection};

use crate::victim::{Shape, Unit, UnitState};

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "No wear leveling.", params: &[] },
    Choice {
        name: "static",
        doc: "Empties the least erased unit of a domain when it lags the most erased one by a threshold.",
        params: &[Param {
            name: "threshold",
            default: 20.0,
            min: 1.0,
            max: 1e6,
            kind: ParamKind::Whole,
            doc: "Difference in erases, between the most and the least erased unit of a domain, that starts a move.",
        }],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "wear_leveling", doc: "When cold data are moved to even out the wear.", choices: CHOICES };

/// Wear leveling in force.
pub enum WearLeveling {
    /// None.
    None,
    /// By a threshold on erase counts.
    Static(Static),
}

/// Static wear leveling.
///
/// Finding the least erased closed unit means looking at all of them, so a domain is looked at once per
/// 1/16 of its units erased: a constant cost per erase, and far more often than the counts can drift apart.
pub struct Static {
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
    pub fn build(selection: &Selection, shape: Shape) -> WearLeveling {
        match selection.name {
            "none" => WearLeveling::None,
            "static" => WearLeveling::Static(Static {
                threshold: selection.get("threshold") as u32,
                period: (shape.units_per_domain / 16).max(1),
                units_per_domain: shape.units_per_domain,
                since_check: vec![0; shape.domains as usize],
            }),
            name => panic!("`{name}` is not a wear leveling"),
        }
    }

    /// A unit of the domain was erased by garbage collection.
    pub fn on_erased(&mut self, domain: u32) {
        if let WearLeveling::Static(leveling) = self {
            leveling.since_check[domain as usize] += 1;
        }
    }

    /// The closed unit of a domain to empty now, if any; asked between collections. `erases` is by unit.
    pub fn due(&mut self, domain: u32, units: &[Unit], erases: &[u32]) -> Option<u32> {
        match self {
            WearLeveling::None => None,
            WearLeveling::Static(leveling) => leveling.due(domain, units, erases),
        }
    }
}

impl Static {
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
        selection.params[0].1 = 5.0;
        let mut leveling = WearLeveling::build(&selection, shape);
        let unit = |state| Unit { valid: 1, state, lsb_only: false };
        let units = [unit(UnitState::Closed), unit(UnitState::Free), unit(UnitState::Closed), unit(UnitState::Closed)];
        assert_eq!(leveling.due(0, &units, &[5, 0, 6, 10]), None, "nothing was erased since");
        leveling.on_erased(0);
        assert_eq!(leveling.due(0, &units, &[5, 0, 6, 9]), None, "4 apart, the free unit does not count");
        leveling.on_erased(0);
        assert_eq!(leveling.due(0, &units, &[5, 0, 6, 10]), Some(0));
    }
}
