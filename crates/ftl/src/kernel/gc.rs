//! Jobs: collections in progress, why they exist, and which unit comes next.

use base::{Cause, Domain, Lpn, Slot, Unit};

use super::{Kernel, Scan};
use crate::victim::{UnitState, VictimPolicy, VictimView};

/// Why a collection exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The domain needs room before it takes another host page.
    Room,
    /// Another domain needs room, and this one soon will.
    Along,
    /// Time that would be idle is filled.
    Forward,
    /// Host pages need pages to lie over.
    Pairing,
    /// Pages leave the buffer that host writes went to.
    Merge,
    /// Cold data keep a unit from being worn.
    Level,
    /// Reads have disturbed a unit for so long that its pages have to move.
    Refresh,
    /// The data of a unit are old, or reads of them need many retries.
    Renew,
    /// A block of the unit has failed.
    Retire,
    /// Pages leave the pseudo-SLC cache: for room, or a write waits for it.
    Fold,
    /// They do, ahead of need.
    FoldAhead,
}

impl Why {
    /// The cause of its operations on data.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Why::Room | Why::Along | Why::Forward | Why::Pairing | Why::Merge | Why::Retire => Cause::Gc,
            Why::Level => Cause::Wear,
            Why::Refresh | Why::Renew => Cause::Refresh,
            Why::Fold | Why::FoldAhead => Cause::Fold,
        }
    }

    /// True if the host waits for it.
    pub(crate) fn is_foreground(self) -> bool {
        !matches!(self, Why::Along | Why::Forward | Why::FoldAhead)
    }

    /// True if it was begun ahead of need.
    pub(crate) fn is_forward(self) -> bool {
        matches!(self, Why::Forward | Why::FoldAhead)
    }

    /// True if it was begun because room ran out.
    pub(crate) fn is_for_room(self) -> bool {
        matches!(self, Why::Room | Why::Pairing | Why::Merge | Why::Fold)
    }
}

/// A collection in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// The unit that is emptied.
    pub(crate) unit: Unit,
    pub(crate) why: Why,
    /// Garbage collection, wear leveling, or garbage collection of the map's pages.
    pub(crate) cause: Cause,
    /// Slots of the unit that were invalid when the collection began.
    pub(crate) gain: u32,
    /// Slots before this one are done; where pages move in groups, page offsets.
    pub(crate) cursor: Slot,
    /// Where pages move in groups: page offsets before this one have no lone page left.
    pub(crate) lone_cursor: Slot,
    /// True if the host asked for little when it began ([`Kernel::note_calm`]).
    pub(crate) calm: bool,
    /// When the unit was filled, in filled units: its age, should it be given back.
    pub(super) filled_at: u32,
}

impl Job {
    /// The job with another reason.
    pub(crate) fn because(self, why: Why) -> Job {
        Job { why, ..self }
    }
}

impl Kernel {
    /// The collection in progress in a domain.
    #[inline]
    pub(crate) fn job(&self, domain: Domain) -> Option<&Job> {
        self.domains[domain.index()].job.as_ref()
    }

    /// The collection in progress in a domain, to move its cursors on.
    #[inline]
    pub(crate) fn job_mut(&mut self, domain: Domain) -> Option<&mut Job> {
        self.domains[domain.index()].job.as_mut()
    }

    /// True if a page lies in the unit that wear leveling empties now.
    pub(crate) fn is_leveled_now(&self, lpn: Lpn) -> bool {
        self.lookup(lpn).is_some_and(|at| {
            let unit = self.geometry.unit_of(at);
            let job = self.job(self.geometry.domain_of_unit(unit));
            job.is_some_and(|job| job.why == Why::Level && job.unit == unit)
        })
    }

    /// Takes the collection out of a domain's hands: it ends, or waits elsewhere.
    #[inline]
    pub(crate) fn take_job(&mut self, domain: Domain) -> Option<Job> {
        self.domains[domain.index()].job.take()
    }

    /// Gives a domain a collection to go on with.
    ///
    /// # Panics
    /// If it has one already.
    pub(crate) fn resume_job(&mut self, domain: Domain, job: Job) {
        assert_eq!(self.domains[domain.index()].job, None, "a domain does one collection at a time");
        assert_eq!(self.units[job.unit.index()].state, UnitState::Collecting, "a unit in work is collected");
        self.domains[domain.index()].job = Some(job);
    }

    /// The victim, by the policy. A policy that has offered as many units without an invalid page as the
    /// domain has units is overruled once, so that every policy makes progress.
    pub(crate) fn choose(&mut self, domain: Domain) -> Option<Unit> {
        let now = self.domains[domain.index()].clock;
        let view = VictimView { domain, valid: &self.units, erases: &self.erases, now };
        let units = self.geometry.units_per_domain();
        let unit = if self.domains[domain.index()].fruitless < units {
            self.victim.choose(view)?
        } else {
            self.geometry
                .units_of_domain(domain)
                .filter(|&unit| self.units[unit.index()].state == UnitState::Closed)
                .min_by_key(|&unit| self.units[unit.index()].valid)?
        };
        let full = self.gain_of(unit) == 0;
        let fruitless = &mut self.domains[domain.index()].fruitless;
        *fruitless = if full { *fruitless + 1 } else { 0 };
        Some(unit)
    }

    /// Slots for data that the collection of a unit gains.
    pub(crate) fn gain_of(&self, unit: Unit) -> u32 {
        self.budget.slots.saturating_sub(self.valid_of(unit))
    }

    /// The next victims are the emptiest units, whatever the policy says: space may be short.
    pub(crate) fn overrule_policy(&mut self) {
        let units = self.geometry.units_per_domain();
        self.domains.iter_mut().for_each(|domain| domain.fruitless = units);
    }

    /// Takes a closed unit in work, or one that was set aside or withheld.
    ///
    /// # Panics
    /// If it is none of these.
    pub(crate) fn take_victim(&mut self, domain: Domain, unit: Unit, why: Why) -> Job {
        let filled_at = std::mem::replace(&mut self.closed_at[unit.index()], 0);
        let state = &mut self.units[unit.index()];
        match state.state {
            UnitState::Closed => self.victim.on_removed(domain, unit, u32::from(state.valid)),
            UnitState::Aside | UnitState::Withheld => {}
            other => panic!("only closed units are collected, and unit {unit} is {other:?}"),
        }
        state.state = UnitState::Collecting;
        let gain = self.gain_of(unit);
        let is_map = self.holds_map(unit);
        let cause = if is_map && why.cause() == Cause::Gc { Cause::Mapping } else { why.cause() };
        let put_down = self.put_down[domain.index()].take();
        let cursor = put_down.filter(|&(of, _)| of == unit).map_or(Slot::FIRST, |(_, cursor)| cursor);
        self.reverse.prefetch(self.geometry.ppn(unit, cursor).index());
        Job { unit, why, cause, gain, cursor, lone_cursor: Slot::FIRST, calm: self.calm, filled_at }
    }

    /// Begins a collection.
    ///
    /// # Panics
    /// If the domain has one already, or the unit cannot be taken in work.
    pub(crate) fn begin(&mut self, domain: Domain, unit: Unit, why: Why) {
        let job = self.take_victim(domain, unit, why);
        self.resume_job(domain, job);
    }

    /// Gives a unit in work back to the victim policy, as old as it was; one that was set aside, to whoever set it aside.
    pub(crate) fn give_back(&mut self, domain: Domain, job: &Job) {
        let unit = job.unit.index();
        assert_eq!(self.units[unit].state, UnitState::Collecting, "a unit in work is given back");
        self.closed_at[unit] = job.filled_at;
        if self.units[unit].lsb_only {
            self.units[unit].state = UnitState::Aside;
            return;
        }
        self.units[unit].state = UnitState::Closed;
        // Pages of a row of twin blocks may be left behind the cursor, where rows are not picked as a whole.
        let is_in_order = self.geometry.parts > 1 || self.geometry.unit_width == 1;
        self.put_down[domain.index()] = is_in_order.then_some((job.unit, job.cursor));
        let now = self.domains[domain.index()].clock;
        self.victim.on_returned(domain, job.unit, u32::from(self.units[unit].valid), now);
    }

    /// Keeps a closed unit from the victim policy from now on, or one that was set aside from whoever did that.
    ///
    /// # Panics
    /// If it is neither.
    pub(crate) fn withhold(&mut self, domain: Domain, unit: Unit) {
        let state = &mut self.units[unit.index()];
        match state.state {
            UnitState::Closed => self.victim.on_removed(domain, unit, u32::from(state.valid)),
            UnitState::Aside => {}
            other => panic!("a closed unit is withheld, and unit {unit} is {other:?}"),
        }
        state.state = UnitState::Withheld;
    }

    /// Ends a domain's collection with its unit in use: it holds pages still, and is withheld from the victim policy.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn keep_in_use(&mut self, domain: Domain) -> Job {
        let job = self.take_job(domain).expect("a collection that ends");
        self.units[job.unit.index()].state = UnitState::Withheld;
        self.closed_at[job.unit.index()] = job.filled_at;
        job
    }

    /// The victim whose pages go under host pages.
    #[inline]
    pub(crate) fn pairing(&self, domain: Domain) -> Option<&Job> {
        self.pairing[domain.index()].as_ref()
    }

    /// Changes the victim whose pages go under host pages, or its cursors. Returns the one before.
    pub(crate) fn set_pairing(&mut self, domain: Domain, job: Option<Job>) -> Option<Job> {
        std::mem::replace(&mut self.pairing[domain.index()], job)
    }

    /// The units of a domain that are in work, for the whole-state check.
    pub(crate) fn scan(&self, domain: Domain) -> Scan<'_> {
        Scan::new(self, domain)
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, Dimensions, Geometry};

    use super::*;
    use crate::kernel::Stream;
    use crate::mechanism::All;
    use crate::sample::{self, FIRST};

    /// Where rows of twin blocks are not picked as a whole, pages may be left behind, and the search begins anew.
    #[test]
    fn a_victim_that_is_taken_up_again_goes_on_where_it_was_put_down() {
        for (unit_width, goes_on) in [(1, true), (2, false)] {
            let dimensions = Dimensions { planes_per_die: unit_width, blocks_per_plane: 8, ..Dimensions::ONE_PAGE };
            let geometry = Geometry::new(Dimensions { pages_per_block: 8, unit_width, ..dimensions });
            let policies = sample::policies(&[], Cell::Slc);
            let (mut kernel, _): (Kernel, All) = sample::kernel(geometry, u64::from(8 * 3 * unit_width), &policies);
            let pages = sample::write(&mut kernel, Stream::FIRST, 0..16 * unit_width);
            let [first, other] = [0, 8 * unit_width as usize].map(|at| kernel.geometry().unit_of(pages[at]));
            let put_down = |kernel: &mut Kernel, unit: Unit| {
                let mut job = kernel.take_victim(FIRST, unit, Why::Forward);
                job.cursor = Slot::new(3);
                kernel.give_back(FIRST, &job);
            };
            put_down(&mut kernel, first);
            let expected = if goes_on { Slot::new(3) } else { Slot::FIRST };
            let again = kernel.take_victim(FIRST, first, Why::Forward);
            assert_eq!(again.cursor, expected);
            kernel.give_back(FIRST, &again);
            put_down(&mut kernel, other);
            assert_eq!(kernel.take_victim(FIRST, first, Why::Forward).cursor, Slot::FIRST, "another one came between");
        }
    }
}
