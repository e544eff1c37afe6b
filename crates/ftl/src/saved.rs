//! What outlives a run: the state that a file holds, and policies made anew over it.

use base::Lpn;
use engine::FlatArray;

use crate::layer::{Frontier, Ftl, NONE, OutOfMemory, Policies, shape_of};
use crate::pool::{AnyPool, FreePool};
use crate::separation::{MAX_STREAMS, Separation};
use crate::victim::{AnyVictim, Unit, UnitState, VictimPolicy, chance_by_domain};
use crate::wear::WearLeveling;

/// The state that outlives a run: what is where, and how worn. Policies' own figures are not in it.
pub struct Saved {
    /// PPN by LPN. [`Ftl::save`](crate::Ftl::save) leaves the maps out; [`Ftl::restore`](crate::Ftl::restore) wants them.
    pub map: Vec<u32>,
    /// LPN by PPN.
    pub reverse: Vec<u32>,
    /// Erases by unit.
    pub erases: Vec<u32>,
    /// When each unit was filled, in filled units.
    pub closed_at: Vec<u32>,
    /// By domain and stream: unit and slot of the frontier.
    pub frontiers: Vec<(u32, u32)>,
}

impl Ftl {
    /// What is where, and how worn, for a state file; without the maps, which are large ([`Ftl::maps`]).
    ///
    /// # Panics
    /// If a collection is in progress.
    pub fn save(&self) -> Saved {
        assert!(self.domains.iter().all(|domain| domain.job.is_none()), "saved between collections only");
        Saved {
            map: Vec::new(),
            reverse: Vec::new(),
            erases: self.erases.clone(),
            closed_at: self.closed_at.clone(),
            frontiers: self.domains.iter().flat_map(|domain| domain.frontiers).map(|f| (f.unit, f.slot)).collect(),
        }
    }

    /// Lets go of the maps' memory; [`Ftl::restore`] has to follow.
    ///
    /// # Errors
    /// When not even an empty map fits in memory.
    pub fn release_maps(&mut self) -> Result<(), OutOfMemory> {
        self.map = flat(Vec::new())?;
        self.reverse = flat(Vec::new())?;
        Ok(())
    }

    /// PPN by LPN and LPN by PPN, as [`Saved`] has them.
    pub fn maps(&self) -> (&[u32], &[u32]) {
        (&self.map, &self.reverse)
    }

    /// Takes over a saved state, then makes all policies anew as [`Ftl::renew_policies`] does.
    ///
    /// # Panics
    /// If the state is of another shape; the reader of state files checks that first.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub fn restore(&mut self, mut saved: Saved, policies: &Policies<'_>, seed: u64) -> Result<(), OutOfMemory> {
        // One map after the other, so that a large device is not in memory twice.
        self.map = flat(std::mem::take(&mut saved.map))?;
        self.reverse = flat(std::mem::take(&mut saved.reverse))?;
        self.erases.copy_from_slice(&saved.erases);
        self.closed_at.copy_from_slice(&saved.closed_at);
        self.closings = saved.closed_at.iter().copied().max().unwrap_or(0);
        for (index, &(unit, slot)) in saved.frontiers.iter().enumerate() {
            self.domains[index / MAX_STREAMS].frontiers[index % MAX_STREAMS] = Frontier { unit, slot };
        }
        self.recount(&saved);
        self.renew_policies(policies, seed);
        Ok(())
    }

    /// Rebuilds unit states and counts from the maps and frontiers.
    fn recount(&mut self, saved: &Saved) {
        let slots = self.geometry.unit_slots() as usize;
        let open: std::collections::BTreeSet<u32> = saved.frontiers.iter().map(|&(unit, _)| unit).collect();
        for domain in &mut self.domains {
            (domain.free, domain.valid) = (0, 0);
        }
        for unit in 0..self.units.len() {
            let pages = &self.reverse[unit * slots..][..slots];
            let valid = pages.iter().filter(|&&lpn| lpn != NONE).count() as u32;
            // A unit that was filled since its last erase carries the time; an erase clears it.
            let state = if open.contains(&(unit as u32)) {
                UnitState::Open
            } else if self.closed_at[unit] != 0 {
                UnitState::Closed
            } else {
                UnitState::Free
            };
            self.units[unit] = Unit { valid: valid as u16, state, lsb_only: false };
            let domain = &mut self.domains[self.geometry.domain_of_unit(unit as u32) as usize];
            domain.valid += valid;
            domain.free += u32::from(state == UnitState::Free);
        }
    }

    /// Makes every policy anew and tells it what is closed, in the order it was filled.
    ///
    /// Preconditioning ends with this, whether it was run or loaded from a file: so a run that starts from
    /// a saved state equals one that aged the device itself, and a state can be used under other policies.
    pub fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64) {
        let shape = shape_of(&self.geometry);
        self.pool = AnyPool::build(policies.block_allocation, shape);
        self.victim = AnyVictim::build(policies.victim, shape, chance_by_domain(seed, shape.domains));
        self.wear = WearLeveling::build(policies.wear_leveling, shape);
        self.separation = Separation::build(policies.separation, self.user_pages() as usize);
        if policies.separation.name == "dac" {
            for lpn in (0..self.user_pages()).map(Lpn).filter(|lpn| self.map[lpn.index()] != NONE) {
                self.separation.adopt(lpn, 0);
            }
        }
        self.protection.restart();
        if let Some(dftl) = &mut self.dftl {
            dftl.restart();
        }
        self.next_die.fill(0);
        self.burst_left.fill(0);
        self.next_domain.fill(0);
        self.fill_pool();
        let mut closed: Vec<u32> =
            (0..self.units.len() as u32).filter(|&unit| self.units[unit as usize].state == UnitState::Closed).collect();
        closed.sort_unstable_by_key(|&unit| self.closed_at[unit as usize]);
        for domain in &mut self.domains {
            (domain.clock, domain.fruitless) = (0, 0);
        }
        for unit in closed {
            let domain = self.geometry.domain_of_unit(unit);
            self.victim.on_closed(domain, unit, u32::from(self.units[unit as usize].valid), 0);
        }
    }

    /// Puts a free unit into the pool.
    pub(crate) fn put_free(&mut self, domain: u32, unit: u32) {
        self.pool.put(domain, unit, self.erases[unit as usize]);
    }

    /// Empties the pool.
    pub(crate) fn restart_pool(&mut self) {
        for domain in 0..self.geometry.domains() {
            while self.pool.take(domain).is_some() {}
        }
    }

    /// Tells the victim policy of a closed unit.
    pub(crate) fn announce(&mut self, domain: u32, unit: u32) {
        self.victim.on_closed(domain, unit, u32::from(self.units[unit as usize].valid), 0);
    }

    /// Puts every free unit into the pool.
    pub(crate) fn fill_pool(&mut self) {
        for unit in 0..self.units.len() as u32 {
            if self.units[unit as usize].state == UnitState::Free {
                self.pool.put(self.geometry.domain_of_unit(unit), unit, self.erases[unit as usize]);
            }
        }
    }
}

/// A map as a flat array.
fn flat(words: Vec<u32>) -> Result<FlatArray, OutOfMemory> {
    let memory = |reason| OutOfMemory { megabytes: words.len() as u64 * 4 / 1_000_000, reason };
    let mut array = FlatArray::filled(words.len(), NONE).map_err(memory)?;
    array.copy_from_slice(&words);
    Ok(array)
}
