//! Shadow and low-density units hold less than they could: a share of each domain is theirs, and they make room when it is
//! used up, or when garbage collection gains nothing elsewhere.

use base::{Domain, Unit};

use super::refresh::RefreshWork;
use super::{Disturb, DisturbScheme, HOT, MONITOR, REGULAR};
use crate::kernel::{Kernel, Why};
use crate::victim::UnitState;

impl Disturb {
    /// The number of read-hot pages that find room in shadow or low-density units, or the unit that has to make room first.
    pub(super) fn room_for_hot(&self, kernel: &Kernel, domain: Domain, wanted: u32) -> Result<u32, Unit> {
        let streams = (kernel.streams().all_of_data().count() / self.scheme.classes()) as u32;
        let open = self.room_in_open(kernel, domain);
        let free = self.kept_share(domain).saturating_sub(self.domain(domain).kept);
        // Each stream of read-hot pages may open a unit.
        let units = if free >= streams { (free / streams).min(self.shares.opened) } else { 0 };
        let room = open + units * self.shares.capacity;
        let needs_more = wanted > room && units < self.shares.opened.min(wanted.div_ceil(self.shares.capacity));
        match self.evictable(kernel, domain) {
            Some(other) if needs_more && self.options.evicts => Err(other),
            _ => Ok(room),
        }
    }

    /// Read-hot pages that the active block for them still takes.
    fn room_in_open(&self, kernel: &Kernel, domain: Domain) -> u32 {
        let slots = self.room_in(kernel, domain, HOT);
        let all = kernel.geometry().unit_slots();
        if slots == 0 {
            return 0;
        }
        match self.scheme {
            DisturbScheme::Shadow { .. } => self.shares.capacity.saturating_sub(all - slots),
            _ => slots * self.shares.capacity / all,
        }
    }

    /// The withheld unit with the smallest reading rate since it became one.
    pub(super) fn evictable(&self, kernel: &Kernel, domain: Domain) -> Option<Unit> {
        let rate = |unit: Unit| {
            let state = self.states.of(unit);
            let reads = u64::from(self.counters.of_unit(unit) - state.reads_then);
            (reads as u128 * u128::from(u32::MAX)) / u128::from((self.clock - state.kept_since).max(1))
        };
        let units = kernel.geometry().units_of_domain(domain);
        let is_own = |unit: &Unit| self.states.of(*unit).is_withheld;
        units.filter(is_own).min_by_key(|&unit| rate(unit))
    }

    /// A failed program ended a unit early, and its pages took another one; or a unit has failed, and the share is smaller. If there is one
    /// too many, another makes room.
    pub(super) fn hold_share(&mut self, kernel: &Kernel, domain: Domain) {
        if self.domain(domain).kept > self.kept_share(domain)
            && let Some(other) = self.evictable(kernel, domain)
        {
            self.discount_kept(domain, other);
            self.states.of_mut(other).is_extra = true;
            self.forget_due(domain, other);
            self.domain_mut(domain).due.push(other);
        }
    }

    /// Has a unit make room among its like.
    pub(super) fn evict(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        self.done.evicted += 1;
        let class = match (self.options.evicted_stay_hot, self.scheme) {
            (false, _) => REGULAR,
            (true, DisturbScheme::Reprogrammed) => HOT,
            (true, _) if self.domain(domain).monitors < self.monitor_share(domain) => MONITOR,
            (true, _) => REGULAR,
        };
        self.forget_due(domain, unit);
        let has_tried = self.domain(domain).has_tried_pool;
        self.begin_moving(kernel, domain, RefreshWork::All(unit, class));
        self.domain_mut(domain).has_tried_pool = has_tried;
    }

    /// True if the units that are not withheld have hardly an invalid page between them.
    pub(super) fn victims_gain_little(&self, kernel: &Kernel, domain: Domain) -> bool {
        if self.domain(domain).kept == 0 {
            return false;
        }
        let units = kernel.geometry().units_of_domain(domain);
        let closed = units.filter(|&unit| kernel.state_of(unit) == UnitState::Closed);
        let gain: u32 = closed.map(|unit| kernel.gain_of(unit)).sum();
        gain < kernel.geometry().unit_slots()
    }

    /// Has a withheld unit collected as a victim. Returns whether there is one.
    pub(super) fn evict_for_room(&mut self, kernel: &mut Kernel, domain: Domain) -> bool {
        let Some(unit) = self.evictable(kernel, domain) else { return false };
        self.done.evicted += 1;
        self.forget_due(domain, unit);
        self.states.of_mut(unit).is_withheld = false;
        self.discount_kept(domain, unit);
        kernel.begin(domain, unit, Why::Room);
        true
    }

    /// Pages that refreshes programmed and erases did not give back yet.
    pub(super) fn note_debt(&mut self, kernel: &Kernel, domain: Domain) {
        if kernel.job(domain).is_some_and(|job| job.why == Why::Refresh) {
            self.domain_mut(domain).debt += 1;
        }
    }
}
