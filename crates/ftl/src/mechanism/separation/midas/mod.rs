//! MiDAS: a chain of groups by age, whose number and sizes follow a model of the workload (Oh et al., FAST 2024).
//!
//! Pages of the host go to the group of hot pages, 0, or to group 1; a page that survives a collection goes on to the next group. A group has a
//! size: when it holds more units the oldest is collected. The last group has all that is left, and is collected greedily. Once in an
//! epoch the [`model`] says which number of groups, and which sizes, would cost least. Where a group does not do as the model said,
//! it and all behind it become one that is collected greedily, in which pages are told apart by how often they survived.
//!
//! Logs are as in SepBIT. Which unit is in which group is known here; the streams of the kernel are where pages of a group go.

mod hot;
mod model;

use base::{Domain, Lpn, Param, ParamKind, Unit};

use super::AXIS;
use crate::kernel::{Kernel, Stream, Why};
use crate::mechanism::{Arrival, NewPage, PageOrigin};
use crate::victim::UnitState;
use crate::{Figures, Policies};
use hot::HotFilter;
pub(super) use model::MAX_GROUPS;
use model::{BINS, Configuration, GroupModel};

/// Groups among which an irregular last group tells pages apart.
const IRREGULAR: usize = 4;

/// Victims between two pages of the host before sizes are given up.
const MOST_VICTIMS: u32 = 25;

/// A group is irregular if its victims hold this much more than was expected.
const MOST_OFF: f64 = 0.1;

/// The share of an epoch after which groups are held against what was expected.
const CHECKED: f64 = 0.3;

/// A unit in no group: free, or of the map.
const NO_GROUP: u8 = u8::MAX;

/// A unit that is not full.
const NOT_FULL: u64 = u64::MAX;

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "groups",
        kind: ParamKind::Integer { default: 8, min: 4, max: MAX_GROUPS as u32 },
        doc: "Groups, at most: one of hot pages, and those of a chain by age.",
    },
    Param {
        name: "epoch",
        kind: ParamKind::Integer { default: 4, min: 1, max: 16 },
        doc: "The capacity is written so many times between two configurations of the groups.",
    },
];

/// The notes about a page.
#[derive(Clone, Copy, Debug)]
struct PageNote {
    /// When it was written.
    written: u64,
    unit: u32,
    /// How hot it is.
    counter: u8,
    /// It was written once in this epoch.
    is_new: bool,
}

/// The notes about a unit.
#[derive(Clone, Copy, Debug)]
struct UnitNote {
    filled: u64,
    /// Pages that its collection has moved.
    moved: u32,
    group: u8,
}

impl UnitNote {
    const FREE: UnitNote = UnitNote { filled: NOT_FULL, moved: 0, group: NO_GROUP };
}

/// The notes about a domain.
#[derive(Clone, Copy, Debug, Default)]
struct DomainNote {
    /// Victims since the last page of the host, and the group of the last one.
    victims: u32,
    group: usize,
    /// Groups that are not in use any more may have active blocks.
    is_stale: bool,
}

/// The collections of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Collected {
    units: u32,
    /// The sum of their valid shares.
    valid: f64,
}

/// The comparison of groups with the valid shares that were expected of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum GroupWatch {
    /// They are not: no configuration is in force.
    Not,
    /// Not before a unit of each was collected; a bit for each of which that was.
    Waits(u16),
    /// Since this time.
    Since(u64),
}

/// A log: a clock, the groups in force, and what the next configuration will be made of.
#[derive(Clone, Debug)]
struct GroupLog {
    /// Pages that the host wrote, and those that were there.
    clock: u64,
    /// Pages of the host that it can hold.
    capacity: u64,
    /// Pages that fill a unit in each of its domains.
    span: u64,
    /// The last group; those before it have sizes.
    last: usize,
    /// The last group tells pages apart by how often they survived.
    is_irregular: bool,
    sizes: [u32; MAX_GROUPS],
    expected: [f64; MAX_GROUPS],
    hot: HotFilter,
    /// When the epoch begins, or began, and the pages of the host that it lasts.
    begins: u64,
    epoch: u64,
    /// By update interval in bins, in this epoch: overwrites.
    intervals: Vec<u64>,
    /// Pages that were written once in this epoch.
    once: u64,
    /// Pages programmed by the host and by collections since the write amplification was taken last, and that.
    written: u64,
    copied: u64,
    waf: f64,
    watch: GroupWatch,
    collected: [Collected; MAX_GROUPS],
}

impl GroupLog {
    /// The last group of pages that survive.
    fn top(&self, groups: usize) -> usize {
        let last = if self.is_irregular { self.last + IRREGULAR - 1 } else { self.last };
        last.min(groups - 1)
    }

    /// An overwrite or a trim ends the life of a page.
    fn ends(&mut self, page: &mut PageNote) {
        if self.clock < self.begins || page.written < self.begins || page.written >= self.clock {
            return;
        }
        let bin = ((self.clock - page.written) * BINS / self.span).min(self.intervals.len() as u64 - 1);
        self.intervals[bin as usize] += 1;
        self.once -= u64::from(std::mem::take(&mut page.is_new));
    }
}

/// MiDAS in force.
#[derive(Clone)]
pub(crate) struct Midas {
    groups: usize,
    logs: Vec<GroupLog>,
    /// By LPN.
    pages: Vec<PageNote>,
    units: Vec<UnitNote>,
    domains: Vec<DomainNote>,
    /// Pages placed since preconditioning, by group.
    placed: [u64; MAX_GROUPS],
    configurations: u64,
    irregular: u64,
}

impl Midas {
    pub(super) fn new(kernel: &Kernel, policies: &Policies<'_>) -> Midas {
        let geometry = kernel.geometry();
        let is_one_log = crate::allocation::is_dynamic(policies.allocation.name);
        let logs = if is_one_log { 1 } else { geometry.domains() };
        let capacity = u64::from(kernel.user_pages() / logs).max(1);
        let span = u64::from(geometry.unit_slots()) * u64::from(geometry.domains() / logs);
        let epoch = capacity * u64::from(policies.separation.integer("epoch"));
        let log = GroupLog {
            clock: 0,
            capacity,
            span,
            last: 1,
            is_irregular: true,
            sizes: [0; MAX_GROUPS],
            expected: [0.0; MAX_GROUPS],
            hot: HotFilter::new(capacity),
            begins: 2 * capacity,
            epoch,
            intervals: vec![0; bins(epoch, span) as usize],
            once: 0,
            written: 0,
            copied: 0,
            waf: 0.0,
            watch: GroupWatch::Not,
            collected: [Collected::default(); MAX_GROUPS],
        };
        let page = PageNote { written: 0, unit: 0, counter: 0, is_new: false };
        let mut midas = Midas {
            groups: policies.separation.integer("groups") as usize,
            logs: vec![log; logs as usize],
            pages: vec![page; kernel.user_pages() as usize],
            units: vec![UnitNote::FREE; geometry.units() as usize],
            domains: vec![DomainNote::default(); geometry.domains() as usize],
            placed: [0; MAX_GROUPS],
            configurations: 0,
            irregular: 0,
        };
        midas.look_around(kernel);
        midas
    }

    /// By LPN, and by unit.
    pub(super) fn bytes(policies: &Policies<'_>, geometry: &base::Geometry, user_pages: u64) -> [u64; 2] {
        let is_one_log = crate::allocation::is_dynamic(policies.allocation.name);
        let logs = u64::from(if is_one_log { 1 } else { geometry.domains() });
        let span = u64::from(geometry.unit_slots()) * u64::from(geometry.domains()) / logs;
        let epoch = user_pages / logs * u64::from(policies.separation.integer("epoch"));
        // With the sums that the model is made of, while there is one.
        let of_log = size_of::<GroupLog>() as u64 + bins(epoch, span) * 8;
        let of_units = u64::from(geometry.units()) * size_of::<UnitNote>() as u64;
        let of_domains = u64::from(geometry.domains()) * size_of::<DomainNote>() as u64;
        [user_pages * size_of::<PageNote>() as u64, logs * of_log + bins(epoch, span) * 32 + of_units + of_domains]
    }

    /// Finds what there is: groups are streams, and all units but those of hot pages are of the last group.
    pub(super) fn look_around(&mut self, kernel: &Kernel) {
        let geometry = kernel.geometry();
        for unit in geometry.all_units() {
            let state = kernel.state_of(unit);
            let note = &mut self.units[unit.index()];
            *note = UnitNote::FREE;
            if matches!(state, UnitState::Free | UnitState::Retired) || kernel.holds_map(unit) {
                continue;
            }
            note.group = kernel.streams().class(kernel.stream_of(unit), AXIS) as u8;
            if state != UnitState::Open {
                note.filled = 0;
            }
        }
        let mut mapped = vec![0; self.logs.len()];
        for lpn in (0..kernel.user_pages()).map(Lpn) {
            let Some(at) = kernel.lookup(lpn) else { continue };
            let unit = geometry.unit_of(at);
            self.pages[lpn.index()].unit = unit.index() as u32;
            mapped[self.log_of(geometry.domain_of_unit(unit))] += 1;
        }
        // What is there counts as written when this begins.
        self.logs.iter_mut().zip(mapped).for_each(|(log, mapped)| log.clock = mapped);
    }

    #[inline]
    fn log_of(&self, domain: Domain) -> usize {
        if self.logs.len() == 1 { 0 } else { domain.index() }
    }

    /// The domains of a log.
    fn domains_of<'a>(&self, kernel: &'a Kernel, number: usize) -> impl Iterator<Item = Domain> + use<'a> {
        let is_one = self.logs.len() == 1;
        kernel.geometry().all_domains().filter(move |domain| is_one || domain.index() == number)
    }

    /// The counter of a page that the host writes in a domain, when it has.
    #[inline]
    fn counter_of_write(&self, log: &GroupLog, lpn: Lpn, is_mapped: bool) -> u8 {
        let page = &self.pages[lpn.index()];
        if !is_mapped {
            return page.counter;
        }
        let unit = &self.units[page.unit as usize];
        log.hot.overwritten(page.counter, unit.group, log.clock.saturating_sub(unit.filled))
    }

    #[inline]
    pub(super) fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival) -> usize {
        match arrival {
            Arrival::Host { domain, is_mapped, .. } => {
                let log = &self.logs[self.log_of(domain)];
                usize::from(!HotFilter::is_hot(self.counter_of_write(log, lpn, is_mapped)))
            }
            Arrival::Copy => {
                let Some(at) = kernel.lookup(lpn) else { return self.groups - 1 };
                let unit = kernel.geometry().unit_of(at);
                let domain = kernel.geometry().domain_of_unit(unit);
                let group = usize::from(self.units[unit.index()].group);
                // Only a page that survives garbage collection has grown old.
                let survives = kernel.job(domain).is_some_and(|job| is_garbage_collection(job.why));
                group.saturating_add(usize::from(survives)).min(self.logs[self.log_of(domain)].top(self.groups))
            }
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        if lpn.index() < self.pages.len() {
            engine::prefetch(&self.pages, lpn.index());
        }
    }

    #[inline]
    pub(super) fn placed(&mut self, kernel: &Kernel, page: &NewPage) {
        let unit = kernel.geometry().unit_of(page.at);
        let group = kernel.streams().class(kernel.stream_of(unit), AXIS);
        self.placed[group] += 1;
        let number = self.log_of(page.domain);
        match page.origin {
            PageOrigin::Host { was_mapped, .. } => {
                let counter = self.counter_of_write(&self.logs[number], page.lpn, was_mapped);
                let (log, note) = (&mut self.logs[number], &mut self.pages[page.lpn.index()]);
                note.counter = counter;
                if was_mapped {
                    log.ends(note);
                }
                if log.clock >= log.begins {
                    let is_first = !was_mapped || note.written < log.begins;
                    note.is_new = is_first;
                    log.once += u64::from(is_first);
                }
                note.written = log.clock;
                log.clock += 1;
                log.written += 1;
                let (units, domain) = (&self.units, page.domain);
                let hot_units = || {
                    let of_domain = kernel.geometry().units_of_domain(domain);
                    let is_hot =
                        |unit: &Unit| kernel.state_of(*unit) == UnitState::Closed && units[unit.index()].group == 0;
                    of_domain.filter(is_hot).count() as f64
                };
                self.logs[number].hot.wrote(was_mapped, group == 0, hot_units);
                self.domains[page.domain.index()].victims = 0;
                self.go_on(kernel, number);
            }
            PageOrigin::Copy(from, _) => {
                let source = &mut self.units[kernel.geometry().unit_of(from).index()];
                source.moved += 1;
                let (from, log, note) = (source.group, &mut self.logs[number], &mut self.pages[page.lpn.index()]);
                if kernel.job(page.domain).is_some_and(|job| is_garbage_collection(job.why)) {
                    note.counter = log.hot.copied(note.counter, from);
                    log.copied += 1;
                }
            }
            PageOrigin::Map | PageOrigin::Anew(_) => {}
        }
        self.pages[page.lpn.index()].unit = unit.index() as u32;
        let note = &mut self.units[unit.index()];
        if note.group == NO_GROUP {
            note.group = group as u8;
        }
    }

    pub(super) fn lost(&mut self, kernel: &Kernel, lpn: Lpn) {
        let Some(page) = self.pages.get(lpn.index()) else { return };
        let domain = kernel.geometry().domain_of_unit(Unit::new(page.unit));
        let number = self.log_of(domain);
        let page = &mut self.pages[lpn.index()];
        self.logs[number].ends(page);
        // It is written first again.
        page.written = 0;
    }

    /// A unit was filled, or takes no more pages; one that is given back is as old as it was.
    pub(super) fn filled(&mut self, domain: Domain, unit: Unit) {
        let clock = self.logs[self.log_of(domain)].clock;
        let note = &mut self.units[unit.index()];
        if note.filled == NOT_FULL {
            note.filled = clock;
        }
    }

    pub(super) fn erased(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, why: Option<Why>) {
        let note = std::mem::replace(&mut self.units[unit.index()], UnitNote::FREE);
        if !why.is_some_and(is_garbage_collection) || note.group == NO_GROUP {
            return;
        }
        let number = self.log_of(domain);
        let log = &mut self.logs[number];
        let valid = f64::from(note.moved) / f64::from(kernel.geometry().unit_slots());
        let age = log.clock.saturating_sub(note.filled);
        let group = usize::from(note.group).min(log.last);
        if group == 0 {
            log.hot.collected(age, valid);
        }
        match &mut log.watch {
            GroupWatch::Not => {}
            GroupWatch::Waits(seen) => {
                *seen |= 1 << group;
                if *seen == (2 << log.last) - 1 {
                    log.watch = GroupWatch::Since(log.clock);
                    log.collected = [Collected::default(); MAX_GROUPS];
                }
            }
            GroupWatch::Since(_) => {
                log.collected[group].units += 1;
                log.collected[group].valid += valid;
            }
        }
    }

    /// Begins the collection that is due by the sizes of groups, or a greedy one of the last group. Returns whether there is one; where
    /// all are one group, the victim policy chooses.
    pub(super) fn make_room(&mut self, kernel: &mut Kernel, domain: Domain) -> bool {
        let number = self.log_of(domain);
        self.domains[domain.index()].victims += 1;
        let DomainNote { victims, group, .. } = self.domains[domain.index()];
        if victims > MOST_VICTIMS && self.logs[number].last > 1 {
            self.merge(kernel, number, group);
            self.domains[domain.index()].victims = 0;
        }
        while self.logs[number].last > 1 {
            if let Some((unit, group)) = self.victim(kernel, domain, &self.logs[number]) {
                self.domains[domain.index()].group = group;
                kernel.begin(domain, unit, Why::Room);
                return true;
            }
            // Nothing is gained in the last group.
            self.merge(kernel, number, self.logs[number].last - 1);
        }
        false
    }

    /// The next victim, and its group: the oldest unit of the first group that is too large, or the emptiest of the last.
    fn victim(&self, kernel: &Kernel, domain: Domain, log: &GroupLog) -> Option<(Unit, usize)> {
        let mut counts = [0; MAX_GROUPS];
        let mut oldest: [Option<(u64, Unit)>; MAX_GROUPS] = [None; MAX_GROUPS];
        let mut emptiest: Option<(u32, u64, Unit)> = None;
        for unit in kernel.geometry().units_of_domain(domain) {
            if kernel.state_of(unit) != UnitState::Closed {
                continue;
            }
            let note = &self.units[unit.index()];
            let group = usize::from(note.group);
            if group < log.last {
                counts[group] += 1;
                if oldest[group].is_none_or(|(filled, _)| note.filled < filled) {
                    oldest[group] = Some((note.filled, unit));
                }
            } else if emptiest.is_none_or(|(valid, filled, _)| (kernel.valid_of(unit), note.filled) < (valid, filled)) {
                emptiest = Some((kernel.valid_of(unit), note.filled, unit));
            }
        }
        // One unit of a group is being filled.
        let over = (0..log.last).find(|&group| counts[group] > log.sizes[group].saturating_sub(1));
        match over {
            Some(group) => oldest[group].map(|(_, unit)| (unit, group)),
            None => emptiest.map(|(_, _, unit)| (unit, log.last)).filter(|&(unit, _)| kernel.gain_of(unit) > 0),
        }
    }

    /// A stream whose active block is to be closed, since its group is not in use any more.
    pub(super) fn stale_stream(&mut self, kernel: &Kernel, domain: Domain) -> Option<Stream> {
        if !self.domains[domain.index()].is_stale {
            return None;
        }
        let top = self.logs[self.log_of(domain)].top(self.groups);
        let streams = kernel.streams();
        let is_stale = |&stream: &Stream| streams.class(stream, AXIS) > top && kernel.is_open(domain, stream);
        let found = streams.all_of_data().find(is_stale);
        self.domains[domain.index()].is_stale = found.is_some();
        found
    }

    /// Time goes on in a log.
    #[inline]
    fn go_on(&mut self, kernel: &Kernel, number: usize) {
        let log = &mut self.logs[number];
        if log.written == log.capacity {
            log.waf = (log.written + log.copied) as f64 / log.written as f64;
            (log.written, log.copied) = (0, 0);
        }
        if log.clock >= log.begins + log.epoch {
            self.configure(kernel, number);
        }
        let log = &self.logs[number];
        if let GroupWatch::Since(begun) = log.watch
            && (log.clock - begun) as f64 > CHECKED * log.epoch as f64
        {
            self.hold_against_expected(kernel, number);
        }
    }

    /// The end of an epoch: sizes groups as the model says, where it expects to do better.
    #[cold]
    fn configure(&mut self, kernel: &Kernel, number: usize) {
        let (mut valid, mut still) = (0, 0);
        let log = &self.logs[number];
        let geometry = kernel.geometry();
        for unit in self.domains_of(kernel, number).flat_map(|domain| geometry.units_of_domain(domain)) {
            let (note, pages) = (&self.units[unit.index()], u64::from(kernel.valid_of(unit)));
            if note.group != NO_GROUP {
                valid += pages;
                let is_still = usize::from(note.group) >= log.last && pages == u64::from(geometry.unit_slots());
                still += if is_still { pages } else { 0 };
            }
        }
        let log = &mut self.logs[number];
        *log.intervals.last_mut().expect("a bin") += log.once;
        let measured = log.hot.take_measured();
        let in_units = |pages: u64| pages as f64 / log.span as f64;
        let units = geometry.units_per_domain().saturating_sub(kernel.budget().reserve);
        let made = if measured.is_useless() {
            None
        } else {
            GroupModel::new(units, in_units(valid), in_units(still), &log.intervals).best(measured, self.groups)
        };
        log.intervals.fill(0);
        log.once = 0;
        log.begins = log.clock;
        if let Some(made) = made.filter(|made| made.waf <= log.waf) {
            self.apply(kernel, number, &made);
        }
    }

    /// Has a configuration take force.
    fn apply(&mut self, kernel: &Kernel, number: usize, made: &Configuration) {
        self.configurations += 1;
        let log = &mut self.logs[number];
        let before = std::mem::replace(&mut log.last, made.groups - 1);
        (log.is_irregular, log.sizes, log.expected) = (false, made.sizes, made.valid);
        log.watch = GroupWatch::Waits(0);
        let last = log.last;
        self.regroup(kernel, number, before.min(last), last);
        for domain in self.domains_of(kernel, number) {
            for group in 0..last {
                let is_own = |&unit: &Unit| {
                    usize::from(self.units[unit.index()].group) == group && kernel.state_of(unit) == UnitState::Closed
                };
                let mut own: Vec<Unit> = kernel.geometry().units_of_domain(domain).filter(is_own).collect();
                own.sort_by_key(|unit| self.units[unit.index()].filled);
                // The oldest of a group that is too large now are of the last.
                let keeps = made.sizes[group].saturating_sub(1) as usize;
                let over = own.len().saturating_sub(keeps);
                own[..over].iter().for_each(|unit| self.units[unit.index()].group = last as u8);
            }
        }
    }

    /// Holds the groups against what was expected: the first that is irregular becomes one with all behind it.
    #[cold]
    fn hold_against_expected(&mut self, kernel: &Kernel, number: usize) {
        let log = &mut self.logs[number];
        let collected = std::mem::take(&mut log.collected);
        log.watch = GroupWatch::Since(log.clock);
        let checked = if log.is_irregular { 1..log.last } else { 1..log.last + 1 };
        let is_off = |group: &usize| {
            let Collected { units, valid } = collected[*group];
            units > 0 && valid / f64::from(units) >= log.expected[*group] + MOST_OFF
        };
        if let Some(group) = checked.clone().find(is_off) {
            self.merge(kernel, number, group);
        }
    }

    /// Makes one group of a group and all behind it, which is collected greedily and in which pages are told apart by how often they survived.
    fn merge(&mut self, kernel: &Kernel, number: usize, into: usize) {
        self.irregular += 1;
        let log = &mut self.logs[number];
        log.last = into.clamp(1, log.last);
        log.is_irregular = true;
        if log.last == 1 {
            log.watch = GroupWatch::Not;
        }
        let last = log.last;
        self.regroup(kernel, number, last, last);
    }

    /// Has all units of a log from a group on be of another, and active blocks of groups that are not in use be closed.
    fn regroup(&mut self, kernel: &Kernel, number: usize, from: usize, to: usize) {
        for domain in self.domains_of(kernel, number) {
            self.domains[domain.index()].is_stale = true;
            for unit in kernel.geometry().units_of_domain(domain) {
                let note = &mut self.units[unit.index()];
                let is_open = kernel.state_of(unit) == UnitState::Open;
                if note.group != NO_GROUP && usize::from(note.group) >= from && !is_open {
                    note.group = to as u8;
                }
            }
        }
    }

    pub(super) fn figures(&self, figures: &mut Figures) {
        figures.counts("separation", "placed_pages", &self.placed[..self.groups]);
        figures.count("separation", "configurations", self.configurations);
        figures.count("separation", "irregular", self.irregular);
    }
}

/// Bins of an epoch.
fn bins(epoch: u64, span: u64) -> u64 {
    (epoch * BINS).div_ceil(span).max(2)
}

/// True for collections that tell of ages; a unit that reads, wear or faults empty does not.
fn is_garbage_collection(why: Why) -> bool {
    matches!(why, Why::Room | Why::Along | Why::Forward | Why::Pairing)
}
