//! The whole-state check: slow, complete, and without effect on the state.

use std::collections::BTreeSet;

use base::{Domain, Ppn, Unit};

use super::{Kernel, NONE};
use crate::victim::UnitState;

impl Kernel {
    /// Checks that valid counts and free counts add up, and that open units are those of the frontiers.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub(crate) fn check_counts(&self) -> Result<(), String> {
        self.check_units()?;
        if let Some(across) = self.across() {
            across.check(&self.units)?;
        }
        self.geometry.all_domains().try_for_each(|domain| self.check_domain(domain))
    }

    /// Checks that map and reverse map mirror each other.
    ///
    /// # Errors
    /// A sentence that names the first page where they do not.
    pub(crate) fn check_maps(&self) -> Result<(), String> {
        let mut mapped = 0usize;
        for (lpn, ppn) in self.map.range(0..self.map.len()).enumerate() {
            if ppn == NONE {
                continue;
            }
            mapped += 1;
            if ppn as usize >= self.reverse.len() {
                return Err(format!("LPN {lpn} maps past the device, to {ppn}"));
            }
            let back = self.reverse.get(ppn as usize);
            if back as usize != lpn {
                return Err(format!("LPN {lpn} maps to PPN {ppn}, which maps back to {back}"));
            }
        }
        let reverse = self.reverse.range(0..self.reverse.len()).filter(|&lpn| lpn != NONE).count();
        if mapped != reverse {
            return Err(format!("{mapped} logical pages are mapped but {reverse} physical pages are valid"));
        }
        Ok(())
    }

    fn check_units(&self) -> Result<(), String> {
        let slots = self.geometry.unit_slots();
        for (unit, state) in self.units.iter().enumerate() {
            let first = unit * slots as usize;
            let valid = self.reverse.range(first..first + slots as usize).filter(|&lpn| lpn != NONE).count();
            if valid != usize::from(state.valid) {
                return Err(format!("unit {unit} counts {} valid pages and has {valid}", state.valid));
            }
            if matches!(state.state, UnitState::Free | UnitState::Retired) && valid != 0 {
                let state = if state.state == UnitState::Free { "free" } else { "retired" };
                return Err(format!("unit {unit} is {state} and has {valid} valid pages"));
            }
        }
        Ok(())
    }

    fn check_domain(&self, number: Domain) -> Result<(), String> {
        let domain = &self.domains[number.index()];
        let free = self.scan(number).in_state(UnitState::Free).count();
        if free != domain.free as usize {
            return Err(format!("domain {number} counts {} free units and has {free}", domain.free));
        }
        let valid: u32 = self.geometry.units_of_domain(number).map(|unit| self.valid_of(unit)).sum();
        if valid != domain.valid {
            return Err(format!("domain {number} counts {} valid pages and has {valid}", domain.valid));
        }
        let open: BTreeSet<Unit> = self.scan(number).in_state(UnitState::Open).collect();
        let frontiers = self.streams.all().filter_map(|stream| self.frontier(number, stream));
        // A unit in work is filled where its pages move inside it.
        let in_work = self.job(number).map(|job| job.unit);
        let filled = frontiers.clone().map(|frontier| frontier.unit).filter(|&unit| Some(unit) != in_work);
        let filled: BTreeSet<Unit> = filled.collect();
        if open != filled {
            return Err(format!("domain {number} has open units {open:?} and frontiers {filled:?}"));
        }
        for frontier in frontiers {
            let ahead = self.geometry.slots_from(frontier.slot).map(|slot| self.geometry.ppn(frontier.unit, slot));
            if let Some(Ppn(ppn)) = ahead.into_iter().find(|&ppn| self.is_valid(ppn)) {
                return Err(format!("PPN {ppn} is valid but lies ahead of its frontier"));
            }
        }
        Ok(())
    }
}
