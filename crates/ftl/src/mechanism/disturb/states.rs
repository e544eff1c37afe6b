//! The facts that are known of every unit.

use base::{Domain, Geometry, Slot, Unit};

use super::refresh::Intervals;
use super::{Disturb, DisturbScheme, HOT, MONITOR};
use crate::kernel::{Kernel, Why};
use crate::scan::{PageFound, Scanned};
use crate::victim::UnitState;

/// The facts that are known of a unit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnitFacts {
    /// When its first page was programmed since its erase.
    pub(super) begun: u64,
    /// When it became a shadow or low-density unit.
    pub(super) kept_since: u64,
    /// Its reads then.
    pub(super) reads_then: u32,
    /// Slots before this one are used.
    pub(super) end: Slot,
    /// How often its pages moved on inside it.
    pub(super) rounds: u32,
    /// P/E cycles with reprogramming, since preconditioning and before.
    pub(super) reprograms: u32,
    pub(super) reprograms_before: u32,
    /// Erases since preconditioning.
    pub(super) cycles: u32,
    /// True if its pages take as many reads as those of low density.
    pub(super) is_low: bool,
    /// True if it counts against the share of shadow or low-density units.
    pub(super) is_kept: bool,
    /// True if it is withheld from the victim policy.
    pub(super) is_withheld: bool,
    /// True if it was erased for wear leveling last.
    pub(super) is_leveled: bool,
    /// True if it is reprogrammed before it has to be, along with another one.
    pub(super) is_early: bool,
    /// True if it was found beyond the share of shadow or low-density units, and has to make room.
    pub(super) is_extra: bool,
    /// True if it has failed for good: it is retired with its next erase.
    pub(super) is_going: bool,
    /// True if it was found with some wordlines reprogrammed and others not.
    pub(super) is_halfway: bool,
}

/// Bytes of a unit.
pub(super) const BYTES_OF_UNIT: u64 = size_of::<UnitFacts>() as u64;

/// The facts of all units.
#[derive(Clone)]
pub(super) struct States(Vec<UnitFacts>);

impl States {
    pub(super) fn new(geometry: &Geometry) -> States {
        States(vec![UnitFacts::default(); geometry.units() as usize])
    }

    #[inline]
    pub(super) fn of(&self, unit: Unit) -> &UnitFacts {
        &self.0[unit.index()]
    }

    #[inline]
    pub(super) fn of_mut(&mut self, unit: Unit) -> &mut UnitFacts {
        &mut self.0[unit.index()]
    }

    /// P/E cycles with reprogramming, and all P/E cycles, of the units that ever had one of those since preconditioning.
    pub(super) fn cycles(&self) -> [u64; 2] {
        let used = self.0.iter().filter(|unit| unit.reprograms > 0);
        used.fold([0, 0], |[reprograms, cycles], unit| {
            // The last cycle may not have come to its erase.
            let all = unit.cycles.max(unit.reprograms);
            [reprograms + u64::from(unit.reprograms), cycles + u64::from(all)]
        })
    }

    /// Preconditioning is over: what a device state does not hold is forgotten.
    fn renew(&mut self) {
        for unit in &mut self.0 {
            let UnitFacts { is_low, is_withheld, is_leveled, is_going, end, rounds, .. } = *unit;
            let reprograms_before = unit.reprograms + unit.reprograms_before;
            let kept = UnitFacts { is_low, is_withheld, is_leveled, is_going, end, rounds, ..UnitFacts::default() };
            *unit = UnitFacts { reprograms_before, ..kept };
        }
    }
}

impl Disturb {
    /// A unit was erased.
    pub(super) fn note_erase(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, why: Option<Why>) {
        let state = *self.states.of(unit);
        if state.is_low {
            let used = u64::from(self.counters.of_unit(unit)) * 20 / u64::from(self.limits.low);
            self.done.used_reads[used.min(19) as usize] += 1;
        }
        if matches!(self.scheme, DisturbScheme::Shadow { .. }) && self.class_of(kernel, unit) == HOT {
            self.done.shadows += 1;
            self.done.rounds += u64::from(state.rounds);
        }
        if self.class_of(kernel, unit) == MONITOR && state.end != Slot::FIRST {
            self.domain_mut(domain).monitors -= 1;
        }
        if state.is_kept {
            self.domain_mut(domain).kept -= 1;
        }
        self.monitors.end(unit);
        self.counters.erased(unit);
        self.forget_due(domain, unit);
        let own = self.domain_mut(domain);
        if own.work.as_ref().is_some_and(|work| work.unit() == unit) {
            own.work = None;
            own.debt -= i64::from(kernel.geometry().unit_slots());
        }
        *self.states.of_mut(unit) = UnitFacts {
            reprograms: state.reprograms,
            reprograms_before: state.reprograms_before,
            cycles: state.cycles + 1,
            is_leveled: why == Some(Why::Level),
            ..Default::default()
        };
    }

    /// After a restart: what a scan found of a unit.
    pub(crate) fn adopt_found(&mut self, kernel: &Kernel, unit: Unit, found: &Scanned) {
        let last = found.pages.iter().rposition(|page| *page != PageFound::Empty);
        let Some(last) = last else { return };
        let is_guard = |slot: &Slot| found.pages[slot.index()] == PageFound::Guard;
        let slots = kernel.geometry().end_slot().all_before();
        let tops = slots.clone().filter(|&slot| kernel.wordlines().is_top(slot) && slot.index() <= last);
        let guards = tops.clone().filter(is_guard).count();
        // Wordlines in which nothing is left to be read need no guard levels.
        let holds = |slot: Slot| matches!(found.pages[slot.index()], PageFound::Holds(_));
        let has_lower = |top: Slot| top.all_before().any(|lower| kernel.wordlines().share(lower, top) && holds(lower));
        let without = tops.filter(|top| !is_guard(top) && has_lower(*top)).count();
        self.counters.adopt(unit, found.reads, 0);
        let state = self.states.of_mut(unit);
        state.end = Slot::new(last as u32 + 1);
        state.is_low = guards > 0 && without == 0;
        state.is_halfway = guards > 0 && without > 0;
    }

    /// A run begins, over a device that was aged or loaded: time, intervals and debts begin with it, and so do the counts of single
    /// pages. So both are the same run.
    pub(super) fn begin_anew(&mut self, kernel: &mut Kernel) {
        (self.clock, self.intervals) = (0, Intervals::default());
        self.states.renew();
        kernel.geometry().all_units().for_each(|unit| self.monitors.end(unit));
        for state in &mut self.domains {
            (state.debt, state.has_tried_pool) = (0, false);
        }
        self.take_stock(kernel);
    }

    /// After a restart, and over a device that was aged or loaded: which units are of which state, and which are to be refreshed.
    pub(super) fn take_stock(&mut self, kernel: &mut Kernel) {
        for domain in kernel.geometry().all_domains() {
            let going = kernel.geometry().units_of_domain(domain).filter(|&unit| self.states.of(unit).is_going);
            let gone = kernel.retired(domain) + going.count() as u32;
            let state = self.domain_mut(domain);
            (state.monitors, state.kept, state.gone) = (0, 0, gone);
            state.due.clear();
            for unit in kernel.geometry().units_of_domain(domain) {
                self.take_stock_of(kernel, domain, unit);
            }
        }
    }

    /// After a restart nobody knows the reads before a reprogram, with which reads begin anew. No unit took more than leave room for its
    /// refresh, so that those beyond came before.
    pub(super) fn trust_reads(&mut self, kernel: &Kernel) {
        for unit in kernel.geometry().all_units() {
            let beyond = -self.left(kernel, unit);
            if beyond > 0 && self.may_have_begun_anew(kernel, unit) {
                self.counters.discount(unit, beyond as u32);
            }
        }
    }

    /// True if reads of a unit may have begun anew before the restart. All reads of others count, though more may be owed now: one that was
    /// closed early is open again, and pages count whose copies went with the power.
    fn may_have_begun_anew(&self, kernel: &Kernel, unit: Unit) -> bool {
        let is_hot = self.class_of(kernel, unit) == HOT && kernel.state_of(unit) != UnitState::Open;
        is_hot
            && match self.scheme {
                DisturbScheme::Reprogrammed => self.limits.restarts && self.states.of(unit).is_low,
                DisturbScheme::Shadow { moves_on } => moves_on,
                DisturbScheme::Refresh | DisturbScheme::Guarded => false,
            }
    }

    fn take_stock_of(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        if matches!(kernel.state_of(unit), UnitState::Free | UnitState::Retired) {
            let kept = *self.states.of(unit);
            *self.states.of_mut(unit) = UnitFacts {
                reprograms: kept.reprograms,
                reprograms_before: kept.reprograms_before,
                cycles: kept.cycles,
                is_leveled: kept.is_leveled,
                ..Default::default()
            };
            self.counters.erased(unit);
            return;
        }
        if self.states.of(unit).is_low && self.holds_incomplete(kernel, unit) {
            // A page that had moved out counts again, for the power went off during a program that took its copy along.
            let state = self.states.of_mut(unit);
            (state.is_low, state.is_halfway) = (false, true);
        }
        let class = self.class_of(kernel, unit);
        if class == MONITOR {
            self.domain_mut(domain).monitors += 1;
            self.monitors.begin(unit);
        }
        if self.states.of(unit).is_going {
            self.look_anew(kernel, unit);
            return;
        }
        let is_hot = class == HOT && (self.scheme != DisturbScheme::Reprogrammed || self.states.of(unit).is_low);
        self.states.of_mut(unit).is_kept = false;
        if is_hot && self.domain(domain).kept >= self.kept_share(domain) {
            // The power went off while its pages were on their way.
            self.states.of_mut(unit).is_extra = true;
            self.domain_mut(domain).due.push(unit);
            return;
        }
        if is_hot {
            self.count_kept(domain, unit);
            if kernel.state_of(unit) == UnitState::Closed {
                self.withhold(kernel, domain, unit);
            }
        } else {
            self.states.of_mut(unit).is_low = false;
        }
        self.look_anew(kernel, unit);
    }

    /// Counts a unit among the shadow or low-density ones.
    pub(super) fn count_kept(&mut self, domain: Domain, unit: Unit) {
        let (clock, reads) = (self.clock, self.counters.of_unit(unit));
        let state = self.states.of_mut(unit);
        (state.is_kept, state.kept_since, state.reads_then) = (true, clock, reads);
        self.domain_mut(domain).kept += 1;
        self.done.kept += 1;
    }

    /// Counts it no longer: its pages move.
    pub(super) fn discount_kept(&mut self, domain: Domain, unit: Unit) {
        if std::mem::take(&mut self.states.of_mut(unit).is_kept) {
            self.domain_mut(domain).kept -= 1;
        }
    }

    /// A unit has failed for good: nobody counts on it any more, and others empty it. The shares are those of the units that are left, so that
    /// another one may have to make room.
    #[cold]
    pub(super) fn lets_go(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        let state = self.states.of_mut(unit);
        state.is_withheld = false;
        if std::mem::replace(&mut state.is_going, true) {
            return;
        }
        self.discount_kept(domain, unit);
        self.domain_mut(domain).gone += 1;
        self.hold_share(kernel, domain);
    }

    /// Keeps a closed unit from the victim policy.
    pub(super) fn withhold(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        kernel.withhold(domain, unit);
        self.states.of_mut(unit).is_withheld = true;
    }

    /// Checks what is known against the kernel's state, and that no share and no limit is passed.
    pub(super) fn check_states(&self, kernel: &Kernel) -> Result<(), String> {
        for domain in kernel.geometry().all_domains() {
            let units = kernel.geometry().units_of_domain(domain);
            let count = |is: &dyn Fn(Unit) -> bool| units.clone().filter(|&unit| is(unit)).count() as u32;
            let kept = count(&|unit| self.states.of(unit).is_kept);
            let is_monitor = |unit| self.states.of(unit).end > Slot::FIRST && self.class_of(kernel, unit) == MONITOR;
            let own = self.domain(domain);
            if kept != own.kept || count(&is_monitor) != own.monitors {
                return Err(format!(
                    "domain {domain} counts {} units of read-hot pages and {} monitors, and has {kept} and {}",
                    own.kept,
                    own.monitors,
                    count(&is_monitor)
                ));
            }
            if own.kept > self.shares.kept {
                return Err(format!(
                    "domain {domain} has {} units of read-hot pages of {}",
                    own.kept, self.shares.kept
                ));
            }
            for unit in units {
                let state = self.states.of(unit);
                let limit = if state.is_low { self.limits.low } else { self.limits.full };
                let taken = self.counters.taken(unit);
                if taken > limit && kernel.valid_of(unit) > 0 {
                    return Err(format!("unit {unit} took {taken} reads of {limit}"));
                }
            }
        }
        Ok(())
    }
}
