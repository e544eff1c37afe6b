//! Reclaim units across dies: units of all domains that a stream filled one after the other are chosen as one.
//!
//! A superblock of a drive, or a reclaim unit of flexible data placement, has a block on every die. Each die is sent commands of
//! its own, so the blocks fill side by side and not in step. Here a *group* is made of the units of the domains when they are full:
//! the next unit of a stream in a domain joins the next group of that stream. A domain may be one group ahead of another; one that
//! is further behind has no unit in the groups that it missed.
//!
//! A policy of the registry chooses among groups that are complete, by the valid pages of all members. Each domain then empties its
//! own members in the order in which their groups were chosen, when it needs room. A domain without a member in the chosen group leaves
//! it to the others and goes on to the next. What a domain needs comes first: where its member of the chosen group would gain nothing,
//! its emptiest unit is taken, and the group of that. And it is taken by itself where another domain has many members before it still.
//!
//! Where the drive has several reclaim groups, all this holds for the domains of each, which the policy has as one domain: a *set*.

use std::collections::VecDeque;

use base::{Choice, Domain, Seam, Unit};

use super::{AnyVictim, UnitRecord, UnitShape, UnitState, VictimPolicy, VictimView, chance_by_domain};
use crate::refusals::{FtlSetup, Refusal};
use crate::stream::{MAX_STREAMS, Stream};
use crate::{Figures, Policies};

static CHOICES: &[Choice] = &[
    Choice {
        name: "none",
        doc: "Each domain chooses among its own: planes, or with twin blocks dies, collect for themselves.",
        params: &[],
    },
    Choice {
        name: "dies",
        doc: "The units of all dies that a stream filled one after the other are chosen as one, by their valid pages together: so drives \
              collect superblocks. Each die empties its own part with commands of its own.",
        params: &[],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "reclaim_across", doc: "Whose reclaim units are chosen together as victims.", choices: CHOICES };

/// Groups of a stream that units can join: a domain may be one ahead of the others.
const OPEN_GROUPS: u32 = 2;

/// With so many members of chosen groups before one domain, no further group is chosen for another.
const MOST_WAITING: usize = 4;

/// Valid pages of a group are told to the policy as those of one member, in parts of a page where a unit has fewer slots than this.
const RESOLUTION: u32 = 1024;

/// True if units of all domains are chosen together.
pub fn is_across(policies: &Policies<'_>) -> bool {
    policies.reclaim_across.name == "dies"
}

/// Refuses what chooses victims by rules of its own.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.reclaim_across", message: format!("`dies` {message}"), help: help.into() })
    };
    if !is_across(setup.policies) {
        return Ok(());
    }
    if setup.policies.is_hybrid() {
        return refuse(
            "has the victim policy choose among blocks of all dies, and `mapping = \"fast\"` recycles log blocks in their order",
            "set `ftl.mapping = \"page\"`, or `ftl.reclaim_across = \"none\"`",
        );
    }
    if setup.policies.separation.name == "midas" {
        return refuse(
            "has the victim policy choose, and under `separation = \"midas\"` the sizes of its groups say which block is collected",
            "use another separation, or `ftl.reclaim_across = \"none\"`",
        );
    }
    Ok(())
}

/// The group of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Membership {
    group: u32,
    /// Numbers of groups are used again; this is not.
    serial: u64,
}

/// Where a group is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum GroupStage {
    /// There is none of this number.
    #[default]
    Free,
    /// Units may still join.
    Open,
    /// The policy may choose it.
    Complete,
    /// It was chosen, and its members are emptied.
    Chosen,
}

/// Units that are chosen together.
#[derive(Clone, Debug, Default)]
struct UnitGroup {
    stage: GroupStage,
    serial: u64,
    /// Domains whose units have joined.
    joined: u32,
    /// Units of the group that are closed.
    members: Vec<Unit>,
    /// Their valid pages.
    valid: u32,
}

/// The groups of a stream.
#[derive(Clone, Debug)]
struct StreamGroups {
    /// By domain: the number of the group that its next unit joins, if that is open still.
    next: Vec<u32>,
    /// The number of the oldest group that is open.
    oldest: u32,
    /// The open groups from there on; nothing: none of their units is full yet.
    open: VecDeque<Option<u32>>,
}

/// How groups were chosen, since the policies were made.
#[derive(Clone, Copy, Debug, Default)]
struct GroupFigures {
    /// Groups that were chosen.
    chosen: u64,
    /// Their members.
    members: u64,
    /// Units that were chosen by themselves, since their domain gained by no group.
    alone: u64,
    /// The most chosen units that one domain had before it at a time.
    most_waiting: u32,
}

/// See the module.
#[derive(Clone)]
pub struct Across {
    policy: Box<AnyVictim>,
    shape: UnitShape,
    /// Domains of a set.
    of_set: u32,
    /// Groups that a set can have.
    groups_of_set: u32,
    /// Parts of a page in which the policy hears of valid pages.
    parts: u32,
    groups: Vec<UnitGroup>,
    /// Their records, as the policy sees them.
    seen: Vec<UnitRecord>,
    erases: Vec<u32>,
    /// By set.
    free: Vec<Vec<u32>>,
    serials: u64,
    /// By stream, and in that by set.
    streams: Vec<StreamGroups>,
    /// By unit: the stream that filled it.
    filled_by: Vec<Stream>,
    /// By unit: the group that it is a member of, or was when it was taken as victim.
    membership: Vec<Option<Membership>>,
    /// By domain: its members of chosen groups.
    waiting: Vec<VecDeque<Unit>>,
    /// Steps of the policy's time for a page that the host writes to a domain.
    pace: u64,
    now: u64,
    figures: GroupFigures,
}

impl Across {
    /// The shape of the groups of so many sets, as the policy has it, and [`Across::parts`]. There are no more groups than units, and those
    /// that units may join have none at times: a whole multiple of the units of a domain.
    fn shape_of_groups(shape: UnitShape, sets: u32) -> (UnitShape, u32) {
        let of_set = shape.domains / sets;
        let parts = (RESOLUTION / shape.slots).clamp(1, of_set);
        let joined = (OPEN_GROUPS * MAX_STREAMS as u32).div_ceil(shape.units_per_domain);
        let most = (of_set + joined) * shape.units_per_domain;
        (UnitShape { domains: sets, units_per_domain: most, slots: shape.slots * parts }, parts)
    }

    /// Logical time goes on. Where a policy counts it in the pages of a domain, that has as many more of these as there may be groups.
    fn pass(&mut self, now: u64) {
        self.now = self.now.max(now * self.pace);
    }

    pub(crate) fn bytes(policies: &Policies<'_>, shape: UnitShape) -> u64 {
        let of_groups = Across::shape_of_groups(shape, policies.reclaim_groups()).0;
        let of_group = size_of::<UnitGroup>() + size_of::<UnitRecord>() + 2 * size_of::<u32>();
        // With its places among the members of a group, and among those that wait.
        let of_unit = size_of::<Stream>() + size_of::<Option<Membership>>() + 2 * size_of::<Unit>();
        let own = u64::from(of_groups.units()) * of_group as u64 + u64::from(shape.units()) * of_unit as u64;
        own + AnyVictim::bytes(policies.victim, of_groups)
    }

    pub(crate) fn build(policies: &Policies<'_>, shape: UnitShape, seed: u64) -> Across {
        let sets = policies.reclaim_groups();
        let (of_groups, parts) = Across::shape_of_groups(shape, sets);
        let (units, groups) = (shape.units() as usize, of_groups.units() as usize);
        let policy = AnyVictim::build(policies.victim, of_groups, chance_by_domain(seed, sets));
        let free_of =
            |set: u32| (set * of_groups.units_per_domain..(set + 1) * of_groups.units_per_domain).rev().collect();
        Across {
            policy: Box::new(policy),
            shape,
            of_set: shape.domains / sets,
            groups_of_set: of_groups.units_per_domain,
            parts,
            groups: vec![UnitGroup::default(); groups],
            seen: vec![UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false }; groups],
            erases: vec![0; groups],
            free: (0..sets).map(free_of).collect(),
            serials: 0,
            streams: Vec::new(),
            filled_by: vec![Stream::FIRST; units],
            membership: vec![None; units],
            waiting: vec![VecDeque::new(); shape.domains as usize],
            pace: u64::from(parts) * u64::from(of_groups.units_per_domain / shape.units_per_domain),
            now: 0,
            figures: GroupFigures::default(),
        }
    }

    /// A unit that closes now was filled by this stream.
    pub(crate) fn note_stream(&mut self, unit: Unit, stream: Stream) {
        self.filled_by[unit.index()] = stream;
    }

    /// The number of a unit's group, which no other group ever has.
    pub(crate) fn group_of(&self, unit: Unit) -> Option<u64> {
        self.membership[unit.index()].map(|it| it.serial)
    }

    fn domain_of(&self, unit: Unit) -> Domain {
        Domain::new(unit.number() / self.shape.units_per_domain)
    }

    /// The set of a domain, as the policy has it.
    pub(crate) fn set_of(&self, domain: Domain) -> Domain {
        Domain::new(domain.number() / self.of_set)
    }

    /// The set of a group, likewise.
    fn set_of_group(&self, group: u32) -> Domain {
        Domain::new(group / self.groups_of_set)
    }

    /// Where the groups of a stream are that units of a domain join.
    fn joining(&self, domain: Domain, stream: Stream) -> usize {
        stream.index() * self.free.len() + self.set_of(domain).index()
    }

    /// The valid pages of a group, as the policy hears of them: those of a member, on average.
    fn told(&self, group: u32) -> u32 {
        let UnitGroup { members, valid, .. } = &self.groups[group as usize];
        (u64::from(*valid) * u64::from(self.parts)).div_ceil(members.len().max(1) as u64) as u32
    }

    /// The group that this one is a number of still.
    fn group_in(&self, membership: Option<Membership>) -> Option<u32> {
        let Membership { group, serial } = membership?;
        let UnitGroup { stage, serial: own, .. } = self.groups[group as usize];
        (stage != GroupStage::Free && own == serial).then_some(group)
    }

    /// The group that the next unit of a stream in a domain joins, which is now full.
    fn join(&mut self, domain: Domain, stream: Stream) -> u32 {
        let (set, in_set) = (self.joining(domain, stream), (domain.number() % self.of_set) as usize);
        while self.streams.len() <= set {
            let next = vec![0; self.of_set as usize];
            self.streams.push(StreamGroups { next, oldest: 0, open: VecDeque::new() });
        }
        let of_stream = &mut self.streams[set];
        let number = of_stream.next[in_set].max(of_stream.oldest);
        of_stream.next[in_set] = number + 1;
        // A domain that is further ahead than that ends the groups of those behind.
        let mut ended = Vec::new();
        while number >= of_stream.oldest + OPEN_GROUPS {
            of_stream.oldest += 1;
            ended.extend(of_stream.open.pop_front().flatten());
        }
        let at = (number - of_stream.oldest) as usize;
        while of_stream.open.len() <= at {
            of_stream.open.push_back(None);
        }
        let found = of_stream.open[at];
        for group in ended {
            self.complete(group);
        }
        found.unwrap_or_else(|| {
            let group = self.make(domain, GroupStage::Open);
            self.streams[set].open[at] = Some(group);
            group
        })
    }

    fn make(&mut self, domain: Domain, stage: GroupStage) -> u32 {
        let set = self.set_of(domain);
        let group = self.free[set.index()].pop().expect("there are fewer groups than that");
        self.serials += 1;
        self.groups[group as usize] = UnitGroup { stage, serial: self.serials, ..UnitGroup::default() };
        group
    }

    /// No more units join a group: the policy may choose it, if it has members left.
    fn complete(&mut self, group: u32) {
        if self.groups[group as usize].members.is_empty() {
            return self.dissolve(group);
        }
        self.groups[group as usize].stage = GroupStage::Complete;
        let valid = self.told(group);
        self.seen[group as usize] = UnitRecord { valid: valid as u16, state: UnitState::Closed, lsb_only: false };
        self.policy.on_closed(self.set_of_group(group), Unit::new(group), valid, self.now);
    }

    fn dissolve(&mut self, group: u32) {
        self.groups[group as usize].stage = GroupStage::Free;
        let set = self.set_of_group(group);
        self.free[set.index()].push(group);
    }

    /// Adds a unit to a group.
    fn add(&mut self, group: u32, unit: Unit, valid: u32) {
        let of_group = &mut self.groups[group as usize];
        of_group.members.push(unit);
        of_group.valid += valid;
        self.membership[unit.index()] = Some(Membership { group, serial: of_group.serial });
    }

    /// Has the policy know of a complete group as if it had changed a moment ago, after `change`.
    fn change(&mut self, group: u32, change: impl FnOnce(&mut Across)) {
        let is_complete = self.groups[group as usize].stage == GroupStage::Complete;
        if is_complete {
            let told = u32::from(self.seen[group as usize].valid);
            self.policy.on_removed(self.set_of_group(group), Unit::new(group), told);
        }
        change(self);
        if is_complete && !self.groups[group as usize].members.is_empty() {
            let valid = self.told(group);
            self.seen[group as usize].valid = valid as u16;
            self.policy.on_returned(self.set_of_group(group), Unit::new(group), valid, self.now);
        }
    }

    /// A group was chosen: each domain has its member before it.
    fn choose_group(&mut self, group: u32) {
        let told = u32::from(self.seen[group as usize].valid);
        self.policy.on_removed(self.set_of_group(group), Unit::new(group), told);
        self.seen[group as usize].state = UnitState::Collecting;
        self.groups[group as usize].stage = GroupStage::Chosen;
        let members = self.groups[group as usize].members.clone();
        self.figures.chosen += 1;
        self.figures.members += members.len() as u64;
        for unit in members {
            let domain = self.domain_of(unit);
            let waiting = &mut self.waiting[domain.index()];
            waiting.push_back(unit);
            self.figures.most_waiting = self.figures.most_waiting.max(waiting.len() as u32);
        }
    }

    /// The first member of a chosen group that a domain gains by.
    fn waiting_of(&self, view: &VictimView<'_>) -> Option<Unit> {
        let gains = |unit: &&Unit| u32::from(view.valid[unit.index()].valid) < self.shape.slots;
        self.waiting[view.domain.index()].iter().find(gains).copied()
    }

    /// True if a domain that asks for a victim has used up more of them than another one, which still has some before it. Were more groups
    /// chosen for it, members of the other would lose pages while they wait, and its own would not: it would need ever more.
    fn is_ahead(&self, domain: Domain) -> bool {
        let first = self.set_of(domain).number() * self.of_set;
        let others = (first..first + self.of_set).filter(|&other| other != domain.number());
        others.into_iter().any(|other| self.waiting[other as usize].len() >= MOST_WAITING)
    }

    /// The unit of a domain that would be emptied with the fewest copies, if any is closed.
    fn emptiest(&self, view: &VictimView<'_>) -> Option<Unit> {
        let units = self.shape.units_of_domain(view.domain);
        let closed = units.filter(|unit| view.valid[unit.index()].state == UnitState::Closed);
        closed.min_by_key(|unit| view.valid[unit.index()].valid)
    }

    /// Figures of the summary.
    pub(crate) fn report(&self, figures: &mut Figures) {
        let GroupFigures { chosen, members, alone, most_waiting } = self.figures;
        figures.count(SEAM.key, "chosen", chosen);
        figures.ratio(SEAM.key, "blocks_of_each", members, chosen);
        figures.count(SEAM.key, "blocks_alone", alone);
        figures.count(SEAM.key, "most_waiting", most_waiting.into());
    }

    /// Checks the groups against the units of the device.
    pub(crate) fn check(&self, units: &[UnitRecord]) -> Result<(), String> {
        let mut valid = vec![0; self.groups.len()];
        let mut members = vec![0; self.groups.len()];
        for (number, record) in units.iter().enumerate().filter(|(_, record)| record.state == UnitState::Closed) {
            let group = self.group_in(self.membership[number]);
            let Some(group) =
                group.filter(|&group| self.groups[group as usize].members.contains(&Unit::new(number as u32)))
            else {
                return Err(format!("unit {number} is closed, and no group of reclaim units has it"));
            };
            valid[group as usize] += u32::from(record.valid);
            members[group as usize] += 1;
        }
        for (number, group) in self.groups.iter().enumerate().filter(|(_, group)| group.stage != GroupStage::Free) {
            if (group.valid, group.members.len()) != (valid[number], members[number]) {
                return Err(format!(
                    "a group of {} reclaim units counts {} valid pages, and its {} closed ones have {}",
                    group.members.len(),
                    group.valid,
                    members[number],
                    valid[number]
                ));
            }
            if group.stage == GroupStage::Complete && u32::from(self.seen[number].valid) != self.told(number as u32) {
                return Err("the victim policy has heard of other valid pages than a group has".into());
            }
        }
        Ok(())
    }

    fn sees_erases(&mut self, erases: &[u32]) {
        if !matches!(*self.policy, AnyVictim::Own(_)) {
            return;
        }
        for (group, of_group) in self.groups.iter().enumerate() {
            self.erases[group] = of_group.members.iter().map(|unit| erases[unit.index()]).max().unwrap_or(0);
        }
    }
}

impl VictimPolicy for Across {
    fn choose(&mut self, view: VictimView<'_>) -> Option<Unit> {
        if let Some(unit) = self.waiting_of(&view) {
            return Some(unit);
        }
        self.pass(view.now);
        self.sees_erases(view.erases);
        // A group without a unit here is what the others empty next.
        while !self.is_ahead(view.domain) {
            let domain = self.set_of(view.domain);
            let of_groups = VictimView { domain, valid: &self.seen, erases: &self.erases, now: self.now };
            let Some(group) = self.policy.choose(of_groups) else { break };
            let members = &self.groups[group.index()].members;
            let own = members.iter().copied().find(|&unit| self.domain_of(unit) == view.domain);
            if own.is_some_and(|unit| u32::from(view.valid[unit.index()].valid) == self.shape.slots) {
                break;
            }
            self.choose_group(group.number());
            if own.is_some() {
                return own;
            }
        }
        let unit = self.emptiest(&view)?;
        match self.group_in(self.membership[unit.index()]) {
            Some(group) if self.groups[group as usize].stage == GroupStage::Complete && !self.is_ahead(view.domain) => {
                self.choose_group(group);
            }
            _ => self.figures.alone += 1,
        }
        Some(unit)
    }

    fn on_closed(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.pass(now);
        let stream = self.filled_by[unit.index()];
        let group = self.join(domain, stream);
        self.add(group, unit, valid);
        self.groups[group as usize].joined += 1;
        if self.groups[group as usize].joined == self.of_set {
            let set = self.joining(domain, stream);
            let open = self.streams[set].open.iter_mut();
            open.filter(|open| **open == Some(group)).for_each(|open| *open = None);
            self.complete(group);
        }
    }

    /// It is with the others of its group again, if there are any.
    fn on_returned(&mut self, domain: Domain, unit: Unit, valid: u32, now: u64) {
        self.pass(now);
        let Some(group) = self.group_in(self.membership[unit.index()]) else {
            let group = self.make(domain, GroupStage::Open);
            self.add(group, unit, valid);
            return self.complete(group);
        };
        self.change(group, |this| this.add(group, unit, valid));
        if self.groups[group as usize].stage == GroupStage::Chosen {
            self.waiting[domain.index()].push_front(unit);
        }
    }

    #[inline]
    fn on_invalidated(&mut self, _: Domain, unit: Unit, _: u32, now: u64) {
        let Some(Membership { group, .. }) = self.membership[unit.index()] else { return };
        self.groups[group as usize].valid -= 1;
        self.pass(now);
        if self.groups[group as usize].stage == GroupStage::Complete {
            let told = self.told(group);
            while u32::from(self.seen[group as usize].valid) > told {
                self.seen[group as usize].valid -= 1;
                let valid = self.seen[group as usize].valid.into();
                self.policy.on_invalidated(self.set_of_group(group), Unit::new(group), valid, self.now);
            }
        }
    }

    fn on_removed(&mut self, domain: Domain, unit: Unit, valid: u32) {
        let group = self.group_in(self.membership[unit.index()]).expect("a closed unit has a group");
        self.change(group, |this| {
            let of_group = &mut this.groups[group as usize];
            of_group.members.retain(|&member| member != unit);
            of_group.valid -= valid;
        });
        self.waiting[domain.index()].retain(|&member| member != unit);
        let UnitGroup { stage, members, .. } = &self.groups[group as usize];
        if *stage != GroupStage::Open && members.is_empty() {
            self.dissolve(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, ParamValue};

    use super::super::conformance::{self, conform};
    use super::*;
    use crate::sample::{self, FIRST, SECOND};

    const SHAPE: UnitShape = UnitShape { domains: 2, units_per_domain: 6, slots: 8 };

    /// Groups of units, and the units that the policy is told of.
    struct Device {
        across: Across,
        units: Vec<UnitRecord>,
        now: u64,
    }

    impl Device {
        fn new() -> Device {
            let policies = sample::policies(&[("reclaim_across", "dies", &[])], Cell::Slc);
            let free = UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false };
            Device { across: Across::build(&policies, SHAPE, 1), units: vec![free; SHAPE.units() as usize], now: 0 }
        }

        /// Units that the first stream fills, one after the other.
        fn close(&mut self, units: &[u32]) {
            self.close_in(Stream::FIRST, units);
        }

        fn close_in(&mut self, stream: Stream, units: &[u32]) {
            for &number in units {
                self.now += 8;
                let unit = Unit::new(number);
                self.units[unit.index()] = UnitRecord { valid: 8, state: UnitState::Closed, lsb_only: false };
                self.across.note_stream(unit, stream);
                self.across.on_closed(self.across.domain_of(unit), unit, 8, self.now);
            }
        }

        fn lose(&mut self, unit: u32, pages: u16) {
            for _ in 0..pages {
                self.now += 1;
                let record = &mut self.units[unit as usize];
                record.valid -= 1;
                let unit = Unit::new(unit);
                self.across.on_invalidated(self.across.domain_of(unit), unit, record.valid.into(), self.now);
            }
        }

        fn choose(&mut self, domain: Domain) -> Option<u32> {
            assert_eq!(self.across.check(&self.units), Ok(()));
            let erases = vec![0; self.units.len()];
            let view = VictimView { domain, valid: &self.units, erases: &erases, now: self.now };
            self.across.choose(view).map(Unit::number)
        }

        /// Has a domain choose, and takes that.
        fn take(&mut self, domain: Domain) -> Option<u32> {
            let unit = self.choose(domain)?;
            self.units[unit as usize].state = UnitState::Collecting;
            let valid = self.units[unit as usize].valid.into();
            self.across.on_removed(domain, Unit::new(unit), valid);
            Some(unit)
        }
    }

    #[test]
    fn the_group_with_the_fewest_valid_pages_of_all_members_is_chosen_by_every_die() {
        let mut device = Device::new();
        device.close(&[0, 6, 1, 7, 2, 8]);
        // By itself the first die would take unit 0; of all pages the group of 1 and 7 has the fewest.
        device.lose(0, 5);
        device.lose(1, 4);
        device.lose(7, 4);
        device.lose(8, 3);
        assert_eq!(device.take(FIRST), Some(1));
        assert_eq!(device.choose(FIRST), Some(0), "the other die has not taken its part yet, and this one goes on");
        assert_eq!(device.take(SECOND), Some(7));
    }

    #[test]
    fn each_die_empties_its_parts_in_the_order_in_which_they_were_chosen() {
        let mut device = Device::new();
        device.close(&[0, 6, 1, 7, 2, 8]);
        for (unit, pages) in [(0, 2), (6, 2), (1, 7), (7, 1), (2, 6), (8, 6)] {
            device.lose(unit, pages);
        }
        assert_eq!([device.take(FIRST), device.take(FIRST), device.take(FIRST)], [Some(2), Some(1), Some(0)]);
        device.lose(6, 6);
        assert_eq!(
            [device.take(SECOND), device.take(SECOND), device.take(SECOND)],
            [Some(8), Some(7), Some(6)],
            "though the last has no valid page any more"
        );
        assert_eq!([device.choose(FIRST), device.choose(SECOND)], [None, None]);
        assert!(device.across.groups.iter().all(|group| group.stage == GroupStage::Free), "nothing is left of them");
    }

    #[test]
    fn units_of_two_streams_have_no_group_in_common() {
        let mut device = Device::new();
        device.close_in(Stream::new(1), &[0]);
        device.close(&[6, 1]);
        device.close_in(Stream::new(1), &[7]);
        let group = |device: &Device, unit| device.across.group_of(Unit::new(unit)).expect("a closed unit");
        assert_eq!(group(&device, 0), group(&device, 7));
        assert_eq!(group(&device, 6), group(&device, 1));
        assert_ne!(group(&device, 0), group(&device, 1));
    }

    #[test]
    fn reclaim_groups_choose_by_themselves() {
        let sets: [sample::Chosen<'_>; 2] =
            [("reclaim_across", "dies", &[]), ("separation", "fdp", &[("reclaim_groups", 2.into())])];
        let policies = sample::policies(&sets, Cell::Slc);
        let shape = UnitShape { domains: 4, ..SHAPE };
        let free = UnitRecord { valid: 0, state: UnitState::Free, lsb_only: false };
        let units = vec![free; shape.units() as usize];
        let mut device = Device { across: Across::build(&policies, shape, 1), units, now: 0 };
        device.close(&[0, 6, 12, 18, 1, 7]);
        let group = |device: &Device, unit| device.across.group_of(Unit::new(unit)).expect("a closed unit");
        assert_eq!((group(&device, 0), group(&device, 12)), (group(&device, 6), group(&device, 18)));
        assert_ne!(group(&device, 0), group(&device, 12));
        // The emptiest units of all are those of the second group, which the first one has nothing of.
        device.lose(12, 7);
        device.lose(18, 7);
        device.lose(1, 2);
        device.lose(7, 1);
        assert_eq!((device.take(FIRST), device.take(Domain::new(3))), (Some(1), Some(18)));
        assert_eq!(device.across.figures.chosen, 2);
        assert_eq!((device.take(SECOND), device.take(Domain::new(2))), (Some(7), Some(12)));
    }

    #[test]
    fn a_die_that_is_left_behind_has_no_part_in_the_groups_that_it_missed() {
        let mut device = Device::new();
        device.close(&[0, 1]);
        device.lose(0, 8);
        assert_eq!(device.choose(FIRST), Some(0), "by itself, as the other die may join its group still");
        device.close(&[2, 6]);
        // The first die is in its third group, so that the second one joins that before it.
        assert_eq!(device.across.group_of(Unit::new(6)), device.across.group_of(Unit::new(1)));
        assert_eq!(device.take(FIRST), Some(0));
        assert_eq!(device.choose(SECOND), Some(6));
    }

    #[test]
    fn a_die_that_gains_nothing_by_the_chosen_group_takes_its_emptiest_unit_and_the_group_of_that() {
        let mut device = Device::new();
        device.close(&[0, 6, 1, 7]);
        device.lose(6, 7);
        device.lose(1, 1);
        assert_eq!(device.take(FIRST), Some(1));
        assert_eq!(device.take(SECOND), Some(6), "its part of the group of 1 is full, and another one may be chosen");
        assert_eq!(device.across.figures.chosen, 2);
    }

    #[test]
    fn a_unit_whose_collection_was_suspended_is_with_its_group_again() {
        let mut device = Device::new();
        device.close(&[0, 6, 1, 7]);
        device.lose(0, 3);
        device.lose(1, 2);
        assert_eq!(device.take(FIRST), Some(0));
        device.units[0] = UnitRecord { valid: 4, state: UnitState::Closed, lsb_only: false };
        device.across.on_returned(FIRST, Unit::new(0), 4, device.now);
        assert_eq!(device.take(FIRST), Some(0), "it is gone on with");
        // Taken by others before its group was chosen, as wear leveling does.
        device.across.on_removed(SECOND, Unit::new(7), 8);
        device.units[7].state = UnitState::Collecting;
        assert_eq!(device.across.check(&device.units), Ok(()));
        device.units[7].state = UnitState::Closed;
        device.across.on_returned(SECOND, Unit::new(7), 8, device.now);
        assert_eq!(device.across.group_of(Unit::new(7)), device.across.group_of(Unit::new(1)));
        assert_eq!(device.across.check(&device.units), Ok(()));
    }

    /// Every policy of the registry, on units of which one in several thousand steps is closed, chosen, returned or lost.
    #[test]
    fn every_policy_keeps_its_word_across_dies() {
        for choice in super::super::SEAM.choices {
            for seed in 0..20 {
                let chosen: [sample::Chosen<'_>; 2] =
                    [("reclaim_across", "dies", &[]), ("victim", choice.name, &[] as &[(&str, ParamValue)])];
                let policies = sample::policies(&chosen, Cell::Slc);
                let mut policy = AnyVictim::under(&policies, conformance::SHAPE, seed);
                let result = conform(&mut policy, seed, || true);
                assert_eq!(result, Ok(()), "{}, seed {seed}", choice.name);
            }
        }
    }

    #[test]
    fn a_count_that_is_off_is_found() {
        let mut device = Device::new();
        device.close(&[0, 6, 1, 7]);
        assert_eq!(device.across.check(&device.units), Ok(()));
        device.units[6].valid -= 1;
        let found = device.across.check(&device.units).unwrap_err();
        assert!(found.contains("counts 16 valid pages, and its 2 closed ones have 15"), "{found}");
        device.units[6].valid += 1;
        device.units[8].state = UnitState::Closed;
        assert!(device.across.check(&device.units).unwrap_err().contains("no group"));
    }
}
