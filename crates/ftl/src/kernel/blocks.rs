//! Units: their states, erases, and the free ones.

use base::{Block, Domain, Slot, Unit};

use super::{Frontier, Kernel, Stream};
use crate::pool::FreePool;
use crate::victim::{Across, UnitRecord, UnitState, VictimPolicy};

/// The units of a domain by state.
pub(crate) struct Scan<'a> {
    kernel: &'a Kernel,
    domain: Domain,
}

impl<'a> Scan<'a> {
    pub(super) fn new(kernel: &'a Kernel, domain: Domain) -> Scan<'a> {
        Scan { kernel, domain }
    }

    /// Units in a state, in order.
    pub(crate) fn in_state(&self, state: UnitState) -> impl Iterator<Item = Unit> + use<'a> {
        let kernel = self.kernel;
        kernel.geometry.units_of_domain(self.domain).filter(move |&unit| kernel.state_of(unit) == state)
    }
}

impl Kernel {
    /// Valid pages of a unit.
    #[inline]
    pub(crate) fn valid_of(&self, unit: Unit) -> u32 {
        u32::from(self.units[unit.index()].valid)
    }

    /// Where a unit is in its life.
    #[inline]
    pub(crate) fn state_of(&self, unit: Unit) -> UnitState {
        self.units[unit.index()].state
    }

    /// True if a unit uses its LSB pages only.
    #[inline]
    pub(crate) fn is_lsb_only(&self, unit: Unit) -> bool {
        self.units[unit.index()].lsb_only
    }

    /// The stream that filled a unit last.
    #[inline]
    pub(crate) fn stream_of(&self, unit: Unit) -> Stream {
        self.filled_by[unit.index()]
    }

    /// True if a unit holds pages of a map in flash.
    #[inline]
    pub(crate) fn holds_map(&self, unit: Unit) -> bool {
        self.streams.is_map(self.stream_of(unit))
    }

    /// The states of all units.
    pub(crate) fn units(&self) -> &[UnitRecord] {
        &self.units
    }

    /// Erases by unit.
    pub(crate) fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Effective P/E cycles of a unit, whole ones: its erases, what other operations wear, less what cycles in SLC mode spare.
    #[inline]
    pub(crate) fn wear_of(&self, unit: Unit) -> u32 {
        self.erases[unit.index()].wrapping_add_signed(self.more_wear_of(unit).div_euclid(1000))
    }

    /// Wear of a unit besides one P/E cycle for each erase, in thousandths of a cycle.
    pub(crate) fn more_wear_of(&self, unit: Unit) -> i32 {
        self.more_wear.get(unit.index()).copied().unwrap_or(0)
    }

    /// An operation wears a unit by so many thousandths of a P/E cycle more, or less.
    pub(crate) fn note_wear(&mut self, unit: Unit, thousandths: i32) {
        if self.more_wear.is_empty() {
            self.more_wear = vec![0; self.units.len()];
        }
        self.more_wear[unit.index()] += thousandths;
    }

    /// The number of units, of all domains, that were filled after this one.
    pub(crate) fn filled_after(&self, unit: Unit) -> u32 {
        self.closings - self.closed_at[unit.index()]
    }

    /// Free units of a domain: what can be written before garbage has to be collected.
    #[inline]
    pub(crate) fn free(&self, domain: Domain) -> u32 {
        self.domains[domain.index()].free
    }

    /// Valid pages of a domain.
    #[inline]
    pub(crate) fn valid(&self, domain: Domain) -> u32 {
        self.domains[domain.index()].valid
    }

    /// True if a domain is down to its reserve.
    #[inline]
    pub(crate) fn is_short(&self, domain: Domain) -> bool {
        self.domains[domain.index()].free <= self.budget.reserve
    }

    /// True if a domain has to make room, also where its active block takes pages: a power cut left it too little.
    #[inline]
    pub(crate) fn is_low(&self, domain: Domain) -> bool {
        self.domains[domain.index()].free < self.budget.floor
    }

    /// Takes a free unit out of the pool, of which only LSB pages are used and which is no victim.
    pub(crate) fn set_aside(&mut self, domain: Domain) -> Frontier {
        let unit = self.pool.take(domain).expect("the limit on the user space leaves a unit to set aside");
        self.domains[domain.index()].free -= 1;
        self.units[unit.index()] = UnitRecord { valid: 0, state: UnitState::Aside, lsb_only: true };
        Frontier { unit, slot: Slot::FIRST }
    }

    /// Sets aside a free unit from an offset of a domain on, if there is one.
    pub(crate) fn set_aside_from(&mut self, domain: Domain, offset: u32) -> Option<Unit> {
        let unit = self.pool.take_from(domain, offset)?;
        self.domains[domain.index()].free -= 1;
        self.units[unit.index()] = UnitRecord { valid: 0, state: UnitState::Aside, lsb_only: true };
        Some(unit)
    }

    /// Puts an erased unit among the free ones.
    ///
    /// # Panics
    /// If something in it is valid, or the array has nothing newer of a page; or if it was not to be erased.
    pub(crate) fn free_unit(&mut self, domain: Domain, unit: Unit) {
        self.check_erased(unit);
        self.end_cycle(unit);
        self.units[unit.index()] = UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false };
        self.closed_at[unit.index()] = 0;
        self.pool.put(domain, unit, self.wear_of(unit));
        self.domains[domain.index()].free += 1;
    }

    /// A unit was erased, in the mode that it had until now.
    #[inline]
    fn end_cycle(&mut self, unit: Unit) {
        self.erases[unit.index()] += 1;
        if self.spared_wear > 0 && self.is_lsb_only(unit) {
            self.note_wear(unit, -(self.spared_wear as i32));
        }
    }

    /// A unit was to be erased.
    #[inline]
    fn check_erased(&self, unit: Unit) {
        let UnitRecord { valid, state, .. } = self.units[unit.index()];
        assert_eq!(valid, 0, "a unit is erased only when nothing in it is valid");
        let is_needed = self.needs_superseded(self.geometry.ppn(unit, Slot::FIRST), self.geometry.unit_slots());
        assert!(!is_needed, "a unit is erased only when newer versions of its pages are programmed");
        assert!(
            matches!(state, UnitState::Collecting | UnitState::Aside),
            "only units that were to be erased are erased"
        );
    }

    /// Takes an erased unit out of use, instead: a block of it has failed.
    ///
    /// # Panics
    /// As [`Kernel::free_unit`].
    pub(crate) fn retire_unit(&mut self, unit: Unit) {
        self.check_erased(unit);
        self.end_cycle(unit);
        self.units[unit.index()] = UnitRecord { valid: 0, state: UnitState::Retired, lsb_only: false };
        self.closed_at[unit.index()] = 0;
    }

    /// Over a pristine array: units that have a bad block are never used.
    pub(super) fn exclude(&mut self, is_bad: impl Fn(Block) -> bool) {
        for unit in self.geometry.all_units() {
            if (0..self.geometry.unit_width).any(|lane| is_bad(self.geometry.block_of(unit, lane))) {
                self.units[unit.index()].state = UnitState::Retired;
                self.domains[self.geometry.domain_of_unit(unit).index()].free -= 1;
            }
        }
    }

    /// Units of a domain that are used no more.
    pub(crate) fn retired(&self, domain: Domain) -> u32 {
        self.scan(domain).in_state(UnitState::Retired).count() as u32
    }

    /// Puts every free unit into the pool.
    pub(super) fn fill_pool(&mut self) {
        for unit in self.geometry.all_units() {
            if self.units[unit.index()].state == UnitState::Free {
                self.pool.put(self.geometry.domain_of_unit(unit), unit, self.wear_of(unit));
            }
        }
    }

    /// After a restart: what was found of a unit. `age` is its place in the order of last programs, from 1 on; 0 for
    /// one that was not programmed.
    pub(crate) fn adopt_unit(&mut self, unit: Unit, state: UnitState, lsb_only: bool, erases: u32, age: u32) {
        self.erases[unit.index()] = erases;
        self.units[unit.index()] = UnitRecord { valid: 0, state, lsb_only };
        self.closed_at[unit.index()] = age;
        self.closings = self.closings.max(age);
    }

    /// After a restart: the stream that filled a unit.
    pub(crate) fn adopt_stream(&mut self, unit: Unit, stream: Stream) {
        self.filled_by[unit.index()] = stream;
    }

    /// After a restart: a unit goes on being filled from a slot on. The one that its stream filled before is closed.
    pub(crate) fn adopt_frontier(&mut self, domain: Domain, stream: Stream, frontier: Frontier) {
        if let Some(before) = self.replace_frontier(domain, stream, Some(frontier)) {
            let state = &mut self.units[before.unit.index()];
            state.state = if state.lsb_only { UnitState::Aside } else { UnitState::Closed };
            self.closed_at[before.unit.index()] = self.closings;
        }
        self.filled_by[frontier.unit.index()] = stream;
        self.units[frontier.unit.index()].state = UnitState::Open;
        self.closed_at[frontier.unit.index()] = 0;
    }

    /// After a restart: a unit that is filled and is no victim, or one that is to be erased.
    pub(crate) fn adopt_state(&mut self, unit: Unit, state: UnitState) {
        self.units[unit.index()].state = state;
        if state == UnitState::Aside {
            self.closed_at[unit.index()] = 0;
        }
    }

    /// After a restart: counts the free units and tells the victim policy of the closed ones, in the order in which
    /// they were filled.
    pub(crate) fn adopt_free_space(&mut self) {
        for domain in self.geometry.all_domains() {
            while self.pool.take(domain).is_some() {}
            self.domains[domain.index()].free = 0;
        }
        for unit in self.by_age() {
            let domain = self.geometry.domain_of_unit(unit);
            match self.units[unit.index()].state {
                UnitState::Free => {
                    self.domains[domain.index()].free += 1;
                    self.pool.put(domain, unit, self.wear_of(unit));
                }
                UnitState::Closed => self.tell_closed(unit, 0),
                UnitState::Open
                | UnitState::Collecting
                | UnitState::Aside
                | UnitState::Withheld
                | UnitState::Retired => {}
            }
        }
        self.overrule_policy();
    }

    /// The victim policy hears that a unit was filled, when the domain's clock was there.
    pub(super) fn tell_closed(&mut self, unit: Unit, clock: u64) {
        self.victim.note_stream(unit, self.stream_of(unit));
        self.victim.on_closed(self.geometry.domain_of_unit(unit), unit, self.valid_of(unit), clock);
    }

    /// The units of all dies that are chosen together, where they are.
    pub(crate) fn across(&self) -> Option<&Across> {
        self.victim.across()
    }

    /// All units, in the order in which they were filled; those that are not come first.
    pub(crate) fn by_age(&self) -> Vec<Unit> {
        let mut by_age: Vec<Unit> = self.geometry.all_units().collect();
        by_age.sort_by_key(|&unit| self.closed_at[unit.index()]);
        by_age
    }
}
