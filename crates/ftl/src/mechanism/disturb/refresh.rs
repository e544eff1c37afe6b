//! Refreshing: which unit's pages move next because reads disturbed them, and where each goes (Figure 4 of the paper).

use base::{Cause, Domain, Ppn, Slot, Unit};

use super::inside::Inside;
use super::schemes::DisturbScheme;
use super::states::UnitFacts;
use super::{AXIS, Disturb, HOT, MONITOR, REGULAR};
use crate::group::Group;
use crate::kernel::{Kernel, Stream, Why};
use crate::mechanism::OwnWork;
use crate::ops::{Op, Step};
use crate::victim::UnitState;

/// Where the collection of a unit puts its pages.
#[derive(Clone, Debug)]
pub(super) enum RefreshWork {
    /// All of them go to a class.
    All(Unit, usize),
    /// The read-hot ones of a monitor go to units for such pages, the others to regular ones.
    Split(Unit, HotSlots),
    /// They stay, or move inside the unit, or some of them do.
    Inside(Inside),
}

impl RefreshWork {
    pub(super) fn unit(&self) -> Unit {
        match self {
            RefreshWork::All(unit, _) | RefreshWork::Split(unit, _) => *unit,
            RefreshWork::Inside(work) => work.unit,
        }
    }

    /// The class that the page in a slot is copied to.
    pub(super) fn class(&self, slot: Slot) -> usize {
        match self {
            RefreshWork::All(_, class) => *class,
            RefreshWork::Split(_, hot) => {
                if hot.has(slot) {
                    HOT
                } else {
                    REGULAR
                }
            }
            RefreshWork::Inside(work) => work.class,
        }
    }
}

/// Slots of a unit, by bits.
#[derive(Clone, Debug)]
pub(super) struct HotSlots(Vec<u64>);

impl HotSlots {
    fn of(slots: impl Iterator<Item = Slot>, end: Slot) -> HotSlots {
        let mut bits = vec![0; end.index().div_ceil(64)];
        slots.for_each(|slot| bits[slot.index() / 64] |= 1 << (slot.index() % 64));
        HotSlots(bits)
    }

    fn has(&self, slot: Slot) -> bool {
        self.0[slot.index() / 64] >> (slot.index() % 64) & 1 != 0
    }
}

/// The average refreshing interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Intervals {
    sum: u128,
    pub(super) count: u64,
}

impl Intervals {
    fn add(&mut self, interval: u64) {
        self.sum += u128::from(interval);
        self.count += 1;
    }

    /// True if an interval is shorter than the average of those before it.
    fn is_short(&self, interval: u64) -> bool {
        u128::from(interval) * u128::from(self.count) < self.sum
    }
}

/// Where the pages of a unit may be copied to (Figure 4 of the paper, and section III.C for read-hot ones): from a class, for
/// being read too often or for want of room, to classes. Pages of an evicted unit may begin anew as read-hot ones, or where
/// their reads are counted.
const ARROWS: [(usize, Why, &[usize]); 6] = [
    (REGULAR, Why::Refresh, &[REGULAR, MONITOR]),
    (MONITOR, Why::Refresh, &[REGULAR, HOT]),
    (HOT, Why::Refresh, &[REGULAR, MONITOR, HOT]),
    (REGULAR, Why::Room, &[REGULAR]),
    (MONITOR, Why::Room, &[REGULAR]),
    (HOT, Why::Room, &[REGULAR]),
];

/// The next step for a unit that is due.
pub(super) enum RefreshPlan {
    /// Its pages move.
    Move(RefreshWork),
    /// This unit makes room among the shadow or low-density ones first.
    Evict(Unit),
    /// This unit of the pool is collected first, for the read-hot pages.
    FromPool(Unit),
}

impl Disturb {
    /// A page was copied: there is an arrow for it.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn check_arrow(&self, kernel: &Kernel, from: Ppn, to: Ppn) {
        if self.scheme == DisturbScheme::Refresh {
            return;
        }
        let class = |page| self.class_of(kernel, kernel.geometry().unit_of(page));
        let domain = kernel.geometry().domain_of_unit(kernel.geometry().unit_of(from));
        let is_refresh = kernel.job(domain).is_some_and(|job| job.why == Why::Refresh);
        let why = if is_refresh { Why::Refresh } else { Why::Room };
        let (before, after) = (class(from), class(to));
        let may = ARROWS.iter().any(|(class, reason, to)| (*class, *reason) == (before, why) && to.contains(&after));
        assert!(may, "pages of class {before} are not copied to class {after} for {why:?}");
    }

    /// The work that reads call for in a domain.
    pub(super) fn next(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<OwnWork> {
        if let Some(stream) = lowest(self.domain(domain).guards) {
            group.stream = stream;
            return Some(OwnWork::Act(Step::new(Op::Pad, Cause::Refresh)));
        }
        if let Some(stream) = lowest(self.domain(domain).closes) {
            return Some(OwnWork::Close(stream));
        }
        match kernel.job(domain) {
            Some(job) if job.why == Why::Refresh => self.go_on(kernel, domain, group),
            Some(_) => None,
            None => self.begin(kernel, domain),
        }
    }

    /// Begins with the unit that has been due for longest. Where lower pages are backed up, those that pages still come to are
    /// closed before that: its pages may be programmed there, and others read again for that.
    fn begin(&mut self, kernel: &mut Kernel, domain: Domain) -> Option<OwnWork> {
        if self.guards_pages
            && let Some(open) = self.open_and_due(kernel, domain)
        {
            return Some(OwnWork::Close(kernel.stream_of(open)));
        }
        while let Some(&unit) = self.domain(domain).due.first() {
            let UnitFacts { is_early, is_extra, .. } = *self.states.of(unit);
            if !self.can_be_refreshed(kernel, domain, unit)
                || !is_early && !is_extra && self.left(kernel, unit) > i64::from(self.options.margin)
            {
                self.forget_due(domain, unit);
                self.look_anew(kernel, unit);
                continue;
            }
            if kernel.state_of(unit) == UnitState::Open {
                return Some(OwnWork::Close(kernel.stream_of(unit)));
            }
            if kernel.free(domain) < kernel.budget().for_refresh {
                return Some(OwnWork::Room);
            }
            if is_extra {
                self.evict(kernel, domain, unit);
                return Some(OwnWork::Changed);
            }
            match self.plan(kernel, domain, unit) {
                RefreshPlan::Evict(other) => self.evict(kernel, domain, other),
                RefreshPlan::FromPool(other) => {
                    kernel.begin(domain, other, Why::Room);
                    if let Some(job) = kernel.job_mut(domain) {
                        job.cause = Why::Refresh.cause();
                    }
                }
                RefreshPlan::Move(work) => self.begin_work(kernel, domain, work),
            }
            return Some(OwnWork::Changed);
        }
        None
    }

    /// An active block that is due.
    fn open_and_due(&self, kernel: &Kernel, domain: Domain) -> Option<Unit> {
        let margin = i64::from(self.options.margin);
        let mut due = self.domain(domain).due.iter().copied();
        due.find(|&unit| {
            let UnitFacts { is_early, is_extra, .. } = *self.states.of(unit);
            kernel.state_of(unit) == UnitState::Open && (is_early || is_extra || self.left(kernel, unit) <= margin)
        })
    }

    fn begin_work(&mut self, kernel: &mut Kernel, domain: Domain, work: RefreshWork) {
        let unit = work.unit();
        self.note_interval(kernel, unit);
        self.forget_due(domain, unit);
        self.states.of_mut(unit).is_early = false;
        self.done.refreshes += 1;
        let is_reprogrammed = matches!(&work, RefreshWork::Inside(work) if work.reprograms);
        if is_reprogrammed {
            self.done.reprogrammed += 1;
            self.take_along(kernel, domain, unit);
        }
        self.begin_moving(kernel, domain, work);
    }

    /// Takes a unit in work.
    pub(super) fn begin_moving(&mut self, kernel: &mut Kernel, domain: Domain, work: RefreshWork) {
        let unit = work.unit();
        if kernel.pairing(domain).is_some_and(|job| job.unit == unit) {
            // Its pages were to go under host pages, and cannot wait for these.
            let job = kernel.set_pairing(domain, None).expect("the victim of the pairing");
            kernel.resume_job(domain, job.because(Why::Refresh));
            if let Some(job) = kernel.job_mut(domain) {
                job.cause = Why::Refresh.cause();
            }
        } else {
            kernel.begin(domain, unit, Why::Refresh);
        }
        self.states.of_mut(unit).is_withheld = false;
        if let RefreshWork::Inside(work) = &work {
            work.open(kernel, domain);
            if !self.states.of(unit).is_kept {
                self.count_kept(domain, unit);
            }
        } else {
            self.discount_kept(domain, unit);
        }
        let state = self.domain_mut(domain);
        (state.work, state.has_tried_pool) = (Some(work), false);
    }

    /// The next step for a unit, by its state.
    fn plan(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) -> RefreshPlan {
        let class = self.class_of(kernel, unit);
        let all = |class| RefreshPlan::Move(RefreshWork::All(unit, class));
        if class == REGULAR {
            return all(self.class_of_regular(kernel, domain, unit));
        }
        if class == MONITOR {
            return self.split(kernel, domain, unit);
        }
        if self.states.of(unit).is_going {
            return all(REGULAR);
        }
        match self.scheme {
            DisturbScheme::Refresh => all(REGULAR),
            DisturbScheme::Shadow { moves_on } if moves_on && self.fits_behind(kernel, unit) => self.move_on(unit),
            DisturbScheme::Shadow { .. } => all(HOT),
            DisturbScheme::Guarded => self.plan_guarded(unit),
            DisturbScheme::Reprogrammed => self.plan_reprogram(kernel, domain, unit),
        }
    }

    /// Where the pages of a regular unit go: to a monitor, if it was read faster than the average.
    fn class_of_regular(&self, kernel: &Kernel, domain: Domain, unit: Unit) -> usize {
        let is_fast = self.intervals.is_short(self.interval_of(unit));
        let is_regular_alone = self.scheme == DisturbScheme::Refresh || kernel.holds_map(unit);
        if is_regular_alone || !is_fast {
            return REGULAR;
        }
        let has_room = self.domain(domain).monitors < self.monitor_share(domain)
            || self.room_in(kernel, domain, MONITOR) >= kernel.valid_of(unit);
        if has_room { MONITOR } else { REGULAR }
    }

    /// How long a unit has been in use: if it is refreshed now, its refreshing interval.
    fn interval_of(&self, unit: Unit) -> u64 {
        self.clock - self.states.of(unit).begun
    }

    /// Takes note of the refreshing interval of a unit, once a refresh: other units may have to make room for it first.
    fn note_interval(&mut self, kernel: &Kernel, unit: Unit) {
        if !self.options.averages_regular_alone || self.class_of(kernel, unit) == REGULAR {
            self.intervals.add(self.interval_of(unit));
        }
    }

    /// Free slots of the active blocks of a class.
    pub(super) fn room_in(&self, kernel: &Kernel, domain: Domain, class: usize) -> u32 {
        let streams = kernel.streams().all_of_data().filter(|&stream| kernel.streams().class(stream, AXIS) == class);
        let frontiers = streams.filter_map(|stream| kernel.frontier(domain, stream));
        let room = frontiers.map(|frontier| kernel.geometry().slots_left(frontier.slot)).sum();
        let streams_of_class = kernel.streams().all_of_data().count() / self.scheme.classes();
        // Which of several streams a page goes to is not known here.
        if streams_of_class == 1 { room } else { 0 }
    }

    /// A monitor: pages that are read more often than its average are read-hot.
    fn split(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) -> RefreshPlan {
        let end = kernel.geometry().end_slot();
        let valid = end.all_before().filter(|&slot| kernel.is_valid(kernel.geometry().ppn(unit, slot)));
        let counts: Vec<(u16, Slot)> = valid.map(|slot| (self.monitors.of(unit, slot), slot)).collect();
        let sum: u64 = counts.iter().map(|&(count, _)| u64::from(count)).sum();
        let mut hot: Vec<(u16, Slot)> =
            counts.iter().copied().filter(|&(count, _)| u64::from(count) * counts.len() as u64 > sum).collect();
        let wanted = hot.len() as u32;
        if self.scheme != DisturbScheme::Reprogrammed {
            let room = match self.room_for_hot(kernel, domain, wanted) {
                Ok(room) => room,
                Err(other) => return RefreshPlan::Evict(other),
            };
            // The most read ones go first.
            hot.sort_by_key(|&(count, slot)| (std::cmp::Reverse(count), slot));
            hot.truncate(room as usize);
        } else if wanted > 0
            && let Some(victim) = self.victim_of_pool(kernel, domain, wanted)
        {
            return RefreshPlan::FromPool(victim);
        }
        RefreshPlan::Move(RefreshWork::Split(unit, HotSlots::of(hot.into_iter().map(|(_, slot)| slot), end)))
    }
}

/// The first stream of some, by bits.
fn lowest(streams: u64) -> Option<Stream> {
    (streams != 0).then(|| Stream::new(streams.trailing_zeros() as usize))
}
