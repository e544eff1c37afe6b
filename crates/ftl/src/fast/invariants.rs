//! The whole-state check: slow, complete, and without effect on the state.

use std::collections::BTreeSet;

use base::{Domain, Lpn, Ppn, Unit};

use super::{Fast, NONE, Start, UnitRole};

impl Fast {
    /// Checks that map and reverse map mirror each other, that every newest page is where its block's role allows it,
    /// that counts add up, and that enough units are free.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check(&self) -> Result<(), String> {
        self.check_pages()?;
        self.check_units()?;
        self.geometry.all_domains().try_for_each(|domain| self.check_domain(domain))
    }

    fn check_pages(&self) -> Result<(), String> {
        let mut mapped = 0;
        for lpn in (0..self.user_pages()).map(Lpn) {
            let Some(ppn) = self.lookup(lpn) else { continue };
            mapped += 1;
            if self.reverse.get(ppn.index()) != Some(&lpn.0) {
                return Err(format!("LPN {} maps to PPN {}, which does not map back", lpn.0, ppn.0));
            }
            self.check_place(lpn, ppn)?;
        }
        let reverse = self.reverse.iter().filter(|&&lpn| lpn != NONE).count();
        if mapped != reverse {
            return Err(format!("{mapped} logical pages are mapped but {reverse} physical pages are valid"));
        }
        Ok(())
    }

    /// A page lies in its own domain, and in a data block or the destination of a merge at its own offset.
    fn check_place(&self, lpn: Lpn, ppn: Ppn) -> Result<(), String> {
        let (unit, slot) = self.geometry.unit_and_slot(ppn);
        let domain = self.domain_of(lpn);
        let (block, offset) = self.block_and_offset(lpn);
        if self.geometry.domain_of_unit(unit) != domain || self.lpn(domain, block, offset) != lpn {
            return Err(format!("LPN {} is not in its domain {domain}", lpn.0));
        }
        let state = &self.domains[domain.index()];
        let fits = match self.roles[unit.index()] {
            UnitRole::Data => slot.number() == offset && self.data_of(domain, block) == Some(unit),
            UnitRole::Destination => {
                state.merge.is_some_and(|m| m.destination == unit && m.block == block && slot.number() == offset)
            }
            UnitRole::Log => match state.sequential {
                Some(open) if open.unit == unit => open.block == block && slot.number() == offset,
                _ => true,
            },
            UnitRole::Free | UnitRole::Spent => false,
        };
        if fits { Ok(()) } else { Err(format!("LPN {} is at PPN {}, where it does not belong", lpn.0, ppn.0)) }
    }

    fn data_of(&self, domain: Domain, block: u32) -> Option<Unit> {
        Unit::from_word(self.data[(domain.number() * self.logical_blocks + block) as usize])
    }

    fn check_units(&self) -> Result<(), String> {
        let slots = self.geometry.unit_slots() as usize;
        for (unit, pages) in self.reverse.chunks_exact(slots).enumerate() {
            let valid = pages.iter().filter(|&&lpn| lpn != NONE).count();
            if valid != usize::from(self.valid[unit]) {
                return Err(format!("unit {unit} counts {} valid pages and has {valid}", self.valid[unit]));
            }
            let written = if self.roles[unit] == UnitRole::Log { usize::from(self.used[unit]) } else { slots };
            if pages[written..].iter().any(|&lpn| lpn != NONE) {
                return Err(format!("log block {unit} has a valid page ahead of its frontier"));
            }
        }
        Ok(())
    }

    fn check_domain(&self, domain: Domain) -> Result<(), String> {
        let state = &self.domains[domain.index()];
        let range = self.geometry.units_of_domain(domain);
        let with = |role: UnitRole| -> BTreeSet<Unit> {
            range.clone().filter(|&unit| self.roles[unit.index()] == role).collect()
        };
        let log: BTreeSet<Unit> = (0..state.random)
            .map(|age| self.random_at(domain, age))
            .chain(state.sequential.map(|open| open.unit))
            .collect();
        if log != with(UnitRole::Log) || log.len() as u32 != state.log_blocks() {
            return Err(format!("domain {domain} lists log blocks {log:?} and has {:?}", with(UnitRole::Log)));
        }
        let blocks = (0..self.logical_blocks).map(|block| self.data_of(domain, block));
        let data: Vec<Unit> = blocks.flatten().collect();
        let distinct: BTreeSet<Unit> = data.iter().copied().collect();
        if distinct != with(UnitRole::Data) || distinct.len() != data.len() {
            return Err(format!("domain {domain} lists data blocks {data:?} and has {:?}", with(UnitRole::Data)));
        }
        let spent: BTreeSet<Unit> = state.erase.into_iter().collect();
        let destination: BTreeSet<Unit> = state.merge.iter().map(|merge| merge.destination).collect();
        if spent != with(UnitRole::Spent) || destination != with(UnitRole::Destination) {
            return Err(format!("domain {domain} has a merge and blocks of merges that disagree"));
        }
        self.check_room(domain, with(UnitRole::Free).len() as u32)
    }

    /// A domain that takes host pages can open every log block that it may, and still merge.
    fn check_room(&self, domain: Domain, free: u32) -> Result<(), String> {
        let state = &self.domains[domain.index()];
        if state.random > self.options.log_blocks || state.filled > state.random {
            return Err(format!("domain {domain} has a log of {} blocks, {} filled", state.random, state.filled));
        }
        let emptied = (0..state.emptied).map(|age| self.random_at(domain, age));
        if state.emptied > state.filled || emptied.into_iter().any(|unit| self.valid[unit.index()] > 0) {
            return Err(format!("domain {domain} waits to erase {} log blocks that are not empty", state.emptied));
        }
        let spare = self.spare_log_blocks(domain);
        if self.is_busy(domain) {
            return Ok(());
        }
        let slots = self.geometry.unit_slots() as u16;
        let has_room = |&age: &u32| self.used[self.random_at(domain, age).index()] < slots;
        let open = (state.filled..state.random).filter(has_room).count() as u32;
        let room = spare > 0
            || match self.options.start {
                Start::Always => false,
                Start::IfSpare => open > 0,
                Start::Bounded(most) => open >= most,
            };
        if !room || free < spare + self.options.reserve {
            return Err(format!("domain {domain} takes host pages with {free} free and {spare} spare log blocks"));
        }
        Ok(())
    }
}
