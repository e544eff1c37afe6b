//! The whole-state check: slow, complete, and without effect on the state.

use std::collections::BTreeSet;

use base::Ppn;

use crate::layer::{Domain, Ftl, NONE};
use crate::victim::UnitState;

impl Ftl {
    /// Checks that map and reverse map mirror each other, that valid counts and free counts add up, and that
    /// every unit is where its state says.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check_invariants(&self) -> Result<(), String> {
        self.check_maps()?;
        self.check_units()?;
        self.check_domains()?;
        self.check_translation()
    }

    fn check_maps(&self) -> Result<(), String> {
        let mut mapped = 0usize;
        for (lpn, &ppn) in self.map.iter().enumerate() {
            if ppn == NONE {
                continue;
            }
            mapped += 1;
            let Some(&back) = self.reverse.get(ppn as usize) else {
                return Err(format!("LPN {lpn} maps past the device, to {ppn}"));
            };
            if back as usize != lpn {
                return Err(format!("LPN {lpn} maps to PPN {ppn}, which maps back to {back}"));
            }
        }
        let reverse = self.reverse.iter().filter(|&&lpn| lpn != NONE).count();
        if mapped != reverse {
            return Err(format!("{mapped} logical pages are mapped but {reverse} physical pages are valid"));
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), String> {
        let slots = self.geometry.unit_slots();
        for (unit, state) in self.units.iter().enumerate() {
            let first = unit * slots as usize;
            let valid = self.reverse[first..first + slots as usize].iter().filter(|&&lpn| lpn != NONE).count();
            if valid != usize::from(state.valid) {
                return Err(format!("unit {unit} counts {} valid pages and has {valid}", state.valid));
            }
            if state.state == UnitState::Free && valid != 0 {
                return Err(format!("unit {unit} is free and has {valid} valid pages"));
            }
        }
        Ok(())
    }

    fn check_domains(&self) -> Result<(), String> {
        let units = self.geometry.units_per_domain();
        let slots = self.geometry.unit_slots();
        for (number, domain) in self.domains.iter().enumerate() {
            let range = number as u32 * units..(number as u32 + 1) * units;
            let free = range.clone().filter(|&unit| self.units[unit as usize].state == UnitState::Free).count();
            if free != domain.free as usize {
                return Err(format!("domain {number} counts {} free units and has {free}", domain.free));
            }
            let valid: u32 = range.clone().map(|unit| u32::from(self.units[unit as usize].valid)).sum();
            if valid != domain.valid {
                return Err(format!("domain {number} counts {} valid pages and has {valid}", domain.valid));
            }
            self.check_guard(number, domain)?;
            let open: BTreeSet<u32> =
                range.filter(|&unit| self.units[unit as usize].state == UnitState::Open).collect();
            let frontiers: BTreeSet<u32> =
                domain.frontiers.iter().map(|frontier| frontier.unit).filter(|&unit| unit != NONE).collect();
            if open != frontiers {
                return Err(format!("domain {number} has open units {open:?} and frontiers {frontiers:?}"));
            }
            for frontier in domain.frontiers.iter().filter(|frontier| frontier.unit != NONE) {
                let ahead = (frontier.slot..slots).map(|slot| self.geometry.ppn(frontier.unit, slot));
                if let Some(Ppn(ppn)) = ahead.into_iter().find(|ppn| self.reverse[ppn.index()] != NONE) {
                    return Err(format!("PPN {ppn} is valid but lies ahead of its frontier"));
                }
            }
        }
        Ok(())
    }

    /// Units that a protection keeps aside are just those it knows of, and empty units are held only by it.
    fn check_guard(&self, number: usize, domain: &Domain) -> Result<(), String> {
        let units = self.geometry.units_per_domain();
        let range = number as u32 * units..(number as u32 + 1) * units;
        let in_state = |state| -> BTreeSet<u32> {
            range.clone().filter(|&unit| self.units[unit as usize].state == state).collect()
        };
        let mut aside = BTreeSet::new();
        let mut collecting: BTreeSet<u32> = domain.job.iter().map(|job| job.unit).collect();
        collecting.extend(self.forward.emptied.get(number).into_iter().flatten().map(|job| job.unit));
        collecting.extend(self.dftl.as_ref().and_then(|dftl| dftl.parked_unit(number as u32)));
        if let Some(guard) = self.protection.guards.get(number) {
            aside.extend(guard.buffers.iter().copied());
            aside.extend((guard.backup.unit != NONE).then_some(guard.backup.unit));
            collecting.extend(guard.mix.map(|mix| mix.unit));
            collecting.extend(guard.held.iter().copied());
        }
        if in_state(UnitState::Aside) != aside {
            return Err(format!("domain {number} keeps {:?} aside and knows of {aside:?}", in_state(UnitState::Aside)));
        }
        if in_state(UnitState::Collecting) != collecting {
            let found = in_state(UnitState::Collecting);
            return Err(format!("domain {number} is collecting {found:?} and knows of {collecting:?}"));
        }
        Ok(())
    }
}
