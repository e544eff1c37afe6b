//! Refresh by age and errors: the data of a unit move before they are so old that reads of them take long, or cannot be corrected.
//!
//! A unit is *due* when its oldest data have reached an age, or when a read of it needed more retries than allowed. Patrol
//! reads find such units that nobody reads: a flash page of each domain at a time, so that all are read once in a period. A unit that is
//! due is collected, as for want of room, and its pages have a new age.
//!
//! How reads of the host, of collections and of a patrol went, the executor says; so is the time told. The refresh of what reads disturb is
//! a mechanism of its own (`disturb/`), which counts reads and knows no age.

mod refusals;

use std::collections::VecDeque;
use std::mem;

use base::{Cause, Choice, Domain, Duration, Geometry, Instant, Param, ParamKind, Ppn, Seam, Slot, Unit};

pub(crate) use refusals::check;

use super::{Agenda, NewPage, OwnWork, Placing, Planned, Reported, Restart};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{AXES, Axis, Kernel, Needs, Why, streams_of_victim};
use crate::ops::{Op, Step};
use crate::victim::UnitState;
use crate::{Bytes, Figures, OutOfMemory, Policies};

const DAY: Duration = Duration(86_400_000_000_000);

const fn days(name: &'static str, days: u64, doc: &'static str) -> Param {
    let kind =
        ParamKind::Time { default: Duration(DAY.0 * days), min: Duration(1_000_000), max: Duration(DAY.0 * 3650) };
    Param { name, kind, doc }
}

const RETRIES: Param = Param {
    name: "retries",
    kind: ParamKind::Integer { default: 3, min: 0, max: 63 },
    doc: "Retries that a read of a page may need.",
};
const LEAST_AGE: Param =
    days("least_age", 1, "Data that are younger stay: a refresh does not help where they fail at once.");

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "Data stay where they are, however old they become.", params: &[] },
    Choice {
        name: "age",
        doc: "The data of a block move when the oldest of them have reached an age. Blocks are looked at 128 times within it, and so few of \
              a plane are taken at a time that all take half of it.",
        params: &[days("age", 30, "Age at which the data of a block move.")],
    },
    Choice {
        name: "errors",
        doc: "The data of a block move when a read of a page of it, whoever it is for, needed more retries than allowed.",
        params: &[RETRIES, LEAST_AGE],
    },
    Choice {
        name: "patrol",
        doc: "As `errors`; besides, each page with data of a full block is read once in a period for that alone \
              (patrol scrub).",
        params: &[days("period", 14, "Time in which all pages are read once."), RETRIES, LEAST_AGE],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "refresh",
    doc: "When data move because they have become old, or reads of them need many retries.",
    choices: CHOICES,
};

/// Units are looked at so often within the age at which they are due.
const LOOKS: u64 = 128;

/// Flash pages of a domain that the patrol comes to between two looks, at most.
const PATROLLED_AT_ONCE: u64 = 16;

/// Turns of the agenda in which a domain does what a refresh has left behind, at most.
const TURNS_TO_REST: u32 = 64;

/// The rule that says which units are due.
#[derive(Clone, Copy)]
enum RefreshRule {
    /// Units whose data are as old as this.
    Age(Duration),
    /// Units of which a page needed more than `retries`, if their data are older than `least_age`.
    Errors { retries: u32, least_age: Duration },
}

/// Refresh by age and errors, in force.
#[derive(Clone)]
pub(crate) struct Refresh {
    rule: RefreshRule,
    /// Time between two looks at the ages of all units, or between two patrol reads of a domain; nothing where there are none.
    interval: Option<Duration>,
    /// How old the data are that were there before the first instant.
    stated_age: Duration,
    now: Instant,
    /// When the next look or patrol read is due.
    next: Instant,
    /// When units that reads have found are taken in hand; never where there are none, or all their domains have work at hand.
    takes_found: Instant,
    /// By unit: when its oldest data were programmed, in ns; before the first instant, less than 0.
    born: Vec<i64>,
    domains: Vec<DomainDue>,
    done: RefreshFigures,
}

/// The state of a domain.
#[derive(Clone, Default)]
struct DomainDue {
    /// Units whose data are to move, in the order in which they were found.
    due: Vec<Unit>,
    /// Units that a read has found.
    found: Vec<Unit>,
    /// Pages that the patrol is to read.
    to_read: VecDeque<Ppn>,
    /// The flash page that the patrol comes to next, counted from the first one of the domain.
    patrolled: u32,
    /// Flash pages that the patrol should have come to by now.
    behind: u64,
    /// Its work was a patrol when it had some last.
    patrolled_last: bool,
    /// When the work at hand was found; nothing where there is none.
    begun: Option<Instant>,
    /// The earliest instant of new work.
    rests_until: Instant,
    /// How long the last work took, and so does the rest after it.
    worked: Duration,
    /// Turns of the agenda in which a domain that is busy has not begun its rest.
    turns_to_rest: u32,
}

impl DomainDue {
    /// While it does what a refresh has left behind, as updates of the map and erases that waited, it does not rest. Where it is busy for
    /// others all the time the rest begins nevertheless.
    fn note_busy(&mut self, now: Instant, is_busy: bool) {
        if is_busy && self.turns_to_rest > 0 {
            self.rests_until = self.rests_until.max(now + self.worked);
        }
    }

    /// True if it has done what was found before this instant, and had its rest.
    fn has_rested(&self, now: Instant) -> bool {
        self.begun.is_none_or(|begun| begun == now) && self.rests_until <= now
    }

    /// There is work at hand.
    fn begin(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
        self.turns_to_rest = 0;
    }

    /// The work at hand is done. What was found at once would leave nothing for the host where more is due than there is time for: the domain
    /// rests for as long as it worked.
    fn rest(&mut self, now: Instant) {
        if let Some(begun) = self.begun.take() {
            self.worked = (now - begun).max(Duration(1));
            self.rests_until = now + self.worked;
            self.turns_to_rest = TURNS_TO_REST;
        }
    }
}

/// Work since preconditioning.
#[derive(Clone, Copy, Default)]
struct RefreshFigures {
    refreshes: u64,
    patrol_reads: u64,
}

/// Streams that the pages of one refresh may open; none where nothing is refreshed.
pub(crate) fn opens(policies: &Policies<'_>, axes: [Axis; AXES]) -> u32 {
    if policies.refresh.name == "none" { 0 } else { streams_of_victim(axes) as u32 }
}

/// Flash pages of a unit.
fn rows(geometry: &Geometry) -> u32 {
    geometry.unit_slots() / geometry.parts
}

impl Refresh {
    fn of(kernel: &Kernel, policies: &Policies<'_>) -> Option<Refresh> {
        let selection = policies.refresh;
        let geometry = kernel.geometry();
        let by_errors =
            || RefreshRule::Errors { retries: selection.integer("retries"), least_age: selection.time("least_age") };
        let (rule, interval) = match selection.name {
            "none" => return None,
            "age" => {
                let age = selection.time("age");
                (RefreshRule::Age(age), Some(Duration(age.ns() / LOOKS)))
            }
            "errors" => (by_errors(), None),
            "patrol" => {
                let pages = u64::from(geometry.units_per_domain()) * u64::from(rows(geometry));
                (by_errors(), Some(Duration((selection.time("period").ns() / pages).max(1))))
            }
            name => panic!("`{name}` is not a refresh"),
        };
        let mut refresh = Refresh {
            rule,
            interval,
            stated_age: policies.data_age.unwrap_or(Duration::ZERO),
            now: Instant::ZERO,
            next: Instant::ZERO,
            takes_found: Instant::NEVER,
            born: vec![0; geometry.units() as usize],
            domains: vec![DomainDue::default(); geometry.domains() as usize],
            done: RefreshFigures::default(),
        };
        refresh.begin_anew();
        Some(refresh)
    }

    /// Time begins, with data of the stated age.
    fn begin_anew(&mut self) {
        (self.now, self.done) = (Instant::ZERO, RefreshFigures::default());
        self.next = self.interval.map_or(Instant::NEVER, |interval| Instant::ZERO + interval);
        self.takes_found = Instant::NEVER;
        self.born.fill(-(self.stated_age.ns() as i64));
        self.domains.fill(DomainDue::default());
    }

    /// It is so late. The clock of another run begins anew.
    #[inline]
    fn note_time(&mut self, now: Instant) {
        if now < self.now {
            let done = self.done;
            self.begin_anew();
            self.done = done;
        }
        self.now = now;
    }

    fn is_older(&self, unit: Unit, age: Duration) -> bool {
        self.now.ns() as i64 - self.born[unit.index()] >= age.ns() as i64
    }

    /// A place was taken: with the first one of a unit its data begin.
    fn note_place(&mut self, kernel: &Kernel, at: Ppn) {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        if slot == Slot::FIRST {
            self.born[unit.index()] = self.now.ns() as i64;
        }
    }

    /// True if a refresh of a unit can begin once its domain is free for it. What others have taken in hand is theirs.
    fn can_be_refreshed(kernel: &Kernel, unit: Unit) -> bool {
        kernel.valid_of(unit) > 0 && matches!(kernel.state_of(unit), UnitState::Closed | UnitState::Open)
    }

    /// True if a page holds data, and the array has them: pages of a unit that is filled may wait for their program.
    fn can_be_patrolled(kernel: &Kernel, at: Ppn) -> bool {
        kernel.is_valid(at) && kernel.state_of(kernel.geometry().unit_of(at)) == UnitState::Closed
    }

    fn make_due(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        let state = &mut self.domains[domain.index()];
        if Refresh::can_be_refreshed(kernel, unit) && !state.due.contains(&unit) {
            state.due.push(unit);
            state.begin(self.now);
            kernel.wake(domain);
        }
    }

    /// A read says that a unit is due. A read by the FTL itself may say so of one after the other, so that there would be no end: a unit waits until
    /// what is at hand is done, and the domain has had its rest.
    fn find(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        let state = &mut self.domains[domain.index()];
        if Refresh::can_be_refreshed(kernel, unit) && !state.due.contains(&unit) && !state.found.contains(&unit) {
            state.found.push(unit);
            self.takes_found = self.takes_found.min(self.has_time_at(kernel.geometry(), domain));
        }
    }

    /// True if a domain has time for more. Those of a die work and rest together: if they took turns, there would always be work that goes before
    /// pages which any of them could take.
    fn has_time(&mut self, geometry: &Geometry, domain: Domain, busy: &[bool]) -> bool {
        let of_die = geometry.domains_of_die(geometry.die_of_domain(domain));
        let now = self.now;
        of_die.clone().for_each(|domain| self.domains[domain.index()].note_busy(now, busy[domain.index()]));
        self.domains[domain.index()].begun.is_none()
            && of_die.into_iter().all(|domain| self.domains[domain.index()].has_rested(now))
    }

    /// When a domain has time for more; never as long as its die has work at hand.
    fn has_time_at(&self, geometry: &Geometry, domain: Domain) -> Instant {
        let of_die =
            geometry.domains_of_die(geometry.die_of_domain(domain)).map(|domain| &self.domains[domain.index()]);
        let at = |state: &DomainDue| if state.begun.is_none() { state.rests_until } else { Instant::NEVER };
        of_die.map(at).max().unwrap_or(Instant::NEVER)
    }

    /// Units that were found are due now where a domain has time for them.
    #[cold]
    fn take_found(&mut self, kernel: &mut Kernel, busy: &[bool]) {
        self.takes_found = Instant::NEVER;
        let geometry = *kernel.geometry();
        for domain in geometry.all_domains() {
            let mut has_time = self.has_time(&geometry, domain, busy);
            if has_time && !self.domains[domain.index()].patrolled_last {
                // The patrol has its turns where reads find more than there is time for.
                self.patrol(kernel, domain, 0, true);
                has_time = self.domains[domain.index()].begun.is_none();
            }
            let state = &mut self.domains[domain.index()];
            if has_time {
                state.patrolled_last = false;
                for unit in mem::take(&mut state.found) {
                    self.make_due(kernel, domain, unit);
                }
            } else if !state.found.is_empty() {
                self.takes_found = self.takes_found.min(self.has_time_at(&geometry, domain));
            }
        }
    }

    /// A domain has done what was at hand.
    fn rest(&mut self, geometry: &Geometry, domain: Domain) {
        self.domains[domain.index()].rest(self.now);
        let mut of_die = geometry.domains_of_die(geometry.die_of_domain(domain));
        if of_die.any(|domain| !self.domains[domain.index()].found.is_empty()) {
            self.takes_found = self.takes_found.min(self.has_time_at(geometry, domain));
        }
    }

    /// Time has come for a look at the ages of all units, or for patrol reads.
    #[cold]
    fn look(&mut self, kernel: &mut Kernel, busy: &[bool]) {
        let Some(interval) = self.interval else { return };
        let looks = (self.now - self.next).ns() / interval.ns() + 1;
        self.next += Duration(interval.ns() * looks);
        let geometry = *kernel.geometry();
        for domain in geometry.all_domains() {
            let has_time = self.has_time(&geometry, domain, busy);
            match self.rule {
                RefreshRule::Age(age) if has_time => self.look_at_ages(kernel, domain, age),
                RefreshRule::Age(_) => {}
                RefreshRule::Errors { .. } => self.patrol(kernel, domain, looks, has_time),
            }
        }
    }

    /// The oldest units of a domain are due, so few that a pass over all takes half the age: the host's pages come in between. Units that are
    /// open are among them, lest copies come to old data.
    fn look_at_ages(&mut self, kernel: &mut Kernel, domain: Domain, age: Duration) {
        let units = kernel.geometry().units_of_domain(domain);
        let is_old = |&unit: &Unit| Refresh::can_be_refreshed(kernel, unit) && self.is_older(unit, age);
        let mut old: Vec<Unit> = units.filter(is_old).collect();
        let is_closed = |unit: Unit| kernel.state_of(unit) != UnitState::Open;
        old.sort_by_key(|&unit| (is_closed(unit), self.born[unit.index()]));
        let open = old.iter().take_while(|&&unit| !is_closed(unit)).count();
        let most = (u64::from(kernel.geometry().units_per_domain())).div_ceil(LOOKS / 2) as usize;
        for unit in old.into_iter().take(open + most) {
            self.make_due(kernel, domain, unit);
        }
    }

    /// The patrol should come to so many more flash pages of a domain. They are taken a few at a time, so that the host's pages come in
    /// between where there is no time for all. Of several map units of a page one is read, with which the others come.
    fn patrol(&mut self, kernel: &mut Kernel, domain: Domain, pages: u64, has_time: bool) {
        let geometry = *kernel.geometry();
        let state = &mut self.domains[domain.index()];
        state.behind += pages;
        if !has_time {
            return;
        }
        for _ in 0..state.behind.min(PATROLLED_AT_ONCE) {
            let (unit, row) = (state.patrolled / rows(&geometry), state.patrolled % rows(&geometry));
            let unit = Unit::new(domain.number() * geometry.units_per_domain() + unit);
            let mut parts = (0..geometry.parts).map(|part| geometry.ppn(unit, Slot::new(row * geometry.parts + part)));
            state.to_read.extend(parts.find(|&at| Refresh::can_be_patrolled(kernel, at)));
            state.patrolled = (state.patrolled + 1) % (geometry.units_per_domain() * rows(&geometry));
            state.behind -= 1;
        }
        if !state.to_read.is_empty() {
            state.patrolled_last = true;
            state.begin(self.now);
            kernel.wake(domain);
        }
    }
}

// What the executor says and asks.
impl Refresh {
    /// A page was read, whoever for, and needed so many retries.
    #[inline]
    pub(crate) fn page_read(&mut self, kernel: &Kernel, at: Ppn, retries: u32) {
        let unit = kernel.geometry().unit_of(at);
        let domain = kernel.geometry().domain_of_unit(unit);
        let to_read = &mut self.domains[domain.index()].to_read;
        if to_read.front() == Some(&at) {
            to_read.pop_front();
            self.done.patrol_reads += 1;
        }
        if let RefreshRule::Errors { retries: most, least_age } = self.rule
            && retries > most
            && self.is_older(unit, least_age)
        {
            self.find(kernel, domain, unit);
        }
    }

    /// The instant from which on it finds something; nothing if it waits for reads alone.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        let next = self.next.min(self.takes_found);
        (next != Instant::NEVER).then_some(next)
    }

    /// It is so late. Returns whether something is to be found.
    #[inline]
    pub(crate) fn comes_to(&mut self, now: Instant) -> bool {
        self.note_time(now);
        self.next().is_some_and(|next| next <= self.now)
    }

    /// Finds what is due by now. Of each domain, whether it is busy is said.
    #[cold]
    pub(crate) fn find_due(&mut self, kernel: &mut Kernel, busy: &[bool]) {
        if self.takes_found <= self.now {
            self.take_found(kernel, busy);
        }
        if self.next <= self.now {
            self.look(kernel, busy);
        }
    }
}

impl Planned for Refresh {
    fn needs(policies: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        (policies.refresh.name != "none").then_some(Needs { on_demand: true, time: true, ..Needs::NONE })
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, _: u64, _: bool) -> Bytes {
        if policies.refresh.name == "none" {
            return Bytes::default();
        }
        let of_domains = u64::from(geometry.domains()) * size_of::<DomainDue>() as u64;
        Bytes { blocks: u64::from(geometry.units()) * (8 + 2 * 4) + of_domains, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Refresh>, OutOfMemory> {
        Ok(Refresh::of(kernel, policies))
    }
}

impl Placing for Refresh {
    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        self.note_place(kernel, page.at);
    }

    fn padded(&mut self, kernel: &Kernel, _: Domain, at: Ppn) {
        self.note_place(kernel, at);
    }

    fn erased(&mut self, _: &mut Kernel, domain: Domain, unit: Unit, _: Option<Why>) -> bool {
        let state = &mut self.domains[domain.index()];
        state.due.retain(|&due| due != unit);
        state.found.retain(|&found| found != unit);
        false
    }
}

impl Agenda for Refresh {
    #[inline]
    fn is_pending(&self, domain: Domain) -> bool {
        self.domains[domain.index()].begun.is_some()
    }

    /// Reads the next page of the patrol, or begins with the unit that has been due for longest.
    fn take_up(&mut self, kernel: &mut Kernel, domain: Domain, may_begin: bool, group: &mut Group) -> Option<OwnWork> {
        let state = &mut self.domains[domain.index()];
        state.turns_to_rest = state.turns_to_rest.saturating_sub(1);
        if !may_begin || kernel.job(domain).is_some() {
            return None;
        }
        while let Some(&at) = state.to_read.front() {
            if Refresh::can_be_patrolled(kernel, at) {
                group.push(at);
                return Some(OwnWork::Act(Step::new(Op::Read, Cause::Refresh)));
            }
            state.to_read.pop_front();
        }
        state.due.retain(|&unit| Refresh::can_be_refreshed(kernel, unit));
        // Copies are not to come to old data.
        if let Some(&open) = state.due.iter().find(|&&unit| kernel.state_of(unit) == UnitState::Open) {
            return Some(OwnWork::Close(kernel.stream_of(open)));
        }
        let Some(&unit) = state.due.first() else {
            self.rest(kernel.geometry(), domain);
            return None;
        };
        if kernel.free(domain) < kernel.budget().for_refresh {
            return Some(OwnWork::Room);
        }
        state.due.remove(0);
        kernel.begin(domain, unit, Why::Renew);
        self.done.refreshes += 1;
        Some(OwnWork::Changed)
    }

    #[inline]
    fn tell(&mut self, _: &mut Kernel, now: Instant) -> Option<f64> {
        self.note_time(now);
        None
    }
}

impl Restart for Refresh {
    /// A run begins with data of the stated age.
    fn renew(&mut self, _: &mut Kernel, _: &Policies<'_>) {
        self.begin_anew();
    }
}

impl Reported for Refresh {
    fn figures(&self, figures: &mut Figures) {
        figures.count(SEAM.key, "refreshes", self.done.refreshes);
        figures.count(SEAM.key, "patrol_reads", self.done.patrol_reads);
    }
}
