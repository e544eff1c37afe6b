//! The state that outlives a run: the one that a file holds, and policies made anew over it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base::{Domain, Slot, Unit};
use engine::FlatMap;
use serde::{Deserialize, Serialize};

use super::{Density, Frontier, Job, Kernel, Maps, NONE, Stream, Why, shape_of};
use crate::pool::AnyPool;
use crate::victim::{AnyVictim, UnitRecord, UnitState};
use crate::{OutOfMemory, Policies};

/// The state that outlives a run: what is where, and how worn. Policies' own figures are not in it. As it is written, so it is
/// in a state file, whose reader checks it.
#[derive(Serialize, Deserialize)]
pub struct Saved<'a> {
    /// The map and the reverse map.
    pub maps: Maps<'a>,
    /// Erases by unit.
    pub erases: Cow<'a, [u32]>,
    /// By unit, wear besides one P/E cycle for each erase, in thousandths of a cycle; empty where there is none.
    pub more_wear: Vec<i32>,
    /// When each unit was filled, in filled units.
    pub closed_at: Cow<'a, [u32]>,
    /// The stream that filled each unit last.
    pub filled_by: Vec<u32>,
    /// By domain and stream: unit and slot of the active block.
    pub frontiers: Vec<Option<(Unit, Slot)>>,
    /// Units that mechanisms keep from the victim policy.
    pub kept: Vec<Kept>,
    /// The mechanisms' own words.
    pub of_mechanisms: Vec<u32>,
    /// The numbers of the newest write and of the newest program, above which a device goes on whose spare areas have them; a state file is
    /// without.
    #[serde(skip)]
    pub numbers: (u64, u64),
}

/// A unit that a mechanism keeps from the victim policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The unit.
    pub unit: Unit,
    /// How it is kept.
    pub how: Keeping,
    /// Slots before this one are used.
    pub filled: Slot,
}

/// How a mechanism keeps a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keeping {
    /// It is in work.
    InWork,
    /// It was set aside, for LSB pages only.
    Aside,
    /// It is withheld from the victim policy, with the data that it holds.
    Withheld,
    /// It may be a victim like any other, and was closed before it was full.
    Sealed,
    /// It is used no more.
    Retired,
}

impl Keeping {
    fn state(self) -> UnitState {
        match self {
            Keeping::InWork => UnitState::Collecting,
            Keeping::Aside => UnitState::Aside,
            Keeping::Withheld => UnitState::Withheld,
            Keeping::Sealed => UnitState::Closed,
            Keeping::Retired => UnitState::Retired,
        }
    }
}

impl Saved<'_> {
    /// Copies what is borrowed, so that the state stands by itself.
    pub fn into_owned(self) -> Saved<'static> {
        let own = |array: Cow<'_, [u32]>| Cow::Owned(array.into_owned());
        Saved {
            maps: self.maps.into_owned(),
            erases: own(self.erases),
            more_wear: self.more_wear,
            closed_at: own(self.closed_at),
            filled_by: self.filled_by,
            frontiers: self.frontiers,
            kept: self.kept,
            of_mechanisms: self.of_mechanisms,
            numbers: self.numbers,
        }
    }
}

impl Kernel {
    /// The map and the wear, for a state file.
    ///
    /// # Panics
    /// If a collection is in progress.
    pub(crate) fn save(&self) -> Saved<'_> {
        assert!(self.domains.iter().all(|domain| domain.job.is_none()), "saved between collections only");
        let streams = self.streams.all();
        let domains = self.geometry.all_domains();
        let frontiers = domains.flat_map(|domain| streams.clone().map(move |stream| self.frontier(domain, stream)));
        Saved {
            maps: Maps { map: Cow::Borrowed(&self.map), reverse: Cow::Borrowed(&self.reverse) },
            erases: Cow::Borrowed(&self.erases),
            more_wear: self.more_wear.clone(),
            closed_at: Cow::Borrowed(&self.closed_at),
            filled_by: self.filled_by.iter().map(|stream| u32::from(stream.byte())).collect(),
            frontiers: frontiers.map(|frontier| frontier.map(|open| (open.unit, open.slot))).collect(),
            kept: Vec::new(),
            of_mechanisms: Vec::new(),
            numbers: self.numbers(),
        }
    }

    /// Lets go of the maps' memory; [`Kernel::restore`] has to follow.
    ///
    /// # Errors
    /// When not even an empty map fits in memory.
    pub(crate) fn release_maps(&mut self) -> Result<(), OutOfMemory> {
        self.map = no_map()?;
        self.reverse = no_map()?;
        Ok(())
    }

    /// Takes over a saved state, all but what policies and mechanisms know.
    ///
    /// # Panics
    /// If the state is of another shape; the reader of state files checks that first.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub(crate) fn restore(&mut self, saved: &mut Saved<'_>) -> Result<(), OutOfMemory> {
        let none = Maps { map: Cow::Owned(no_map()?), reverse: Cow::Owned(no_map()?) };
        let Maps { map, reverse } = std::mem::replace(&mut saved.maps, none).into_owned();
        (self.map, self.reverse) = (map.into_owned(), reverse.into_owned());
        self.erases.copy_from_slice(&saved.erases);
        self.more_wear = std::mem::take(&mut saved.more_wear);
        self.closed_at.copy_from_slice(&saved.closed_at);
        self.closings = saved.closed_at.iter().copied().max().unwrap_or(0);
        self.filled_by = saved.filled_by.iter().map(|&stream| Stream::new(stream as usize)).collect();
        let streams = self.streams.count();
        for (index, &open) in saved.frontiers.iter().enumerate() {
            let (domain, stream) = (Domain::new((index / streams) as u32), Stream::new(index % streams));
            self.replace_frontier(domain, stream, open.map(|(unit, slot)| Frontier { unit, slot }));
            if let Some((unit, _)) = open {
                self.filled_by[unit.index()] = stream;
            }
        }
        self.recount(saved);
        self.adopt_numbers(saved.numbers.0, saved.numbers.1);
        Ok(())
    }

    /// Rebuilds unit states and counts from the maps and frontiers.
    fn recount(&mut self, saved: &Saved<'_>) {
        let slots = self.geometry.unit_slots() as usize;
        let open: BTreeSet<Unit> = saved.frontiers.iter().flatten().map(|&(unit, _)| unit).collect();
        let kept: BTreeMap<Unit, Keeping> = saved.kept.iter().map(|kept| (kept.unit, kept.how)).collect();
        for domain in &mut self.domains {
            (domain.free, domain.valid) = (0, 0);
        }
        for unit in self.geometry.all_units() {
            let first = self.geometry.ppn(unit, Slot::FIRST).index();
            let valid = self.reverse.range(first..first + slots).filter(|&lpn| lpn != NONE).count() as u32;
            // A unit that was filled since its last erase carries the time; an erase clears it.
            let state = if let Some(how) = kept.get(&unit) {
                how.state()
            } else if open.contains(&unit) {
                UnitState::Open
            } else if self.closed_at[unit.index()] != 0 {
                UnitState::Closed
            } else {
                UnitState::Free
            };
            let is_buffer = self.streams.density(self.stream_of(unit)) == Density::LsbOnly;
            let is_used = !matches!(state, UnitState::Free | UnitState::Retired);
            let lsb_only = state == UnitState::Aside || is_used && is_buffer;
            self.units[unit.index()] = UnitRecord { valid: valid as u16, state, lsb_only };
            let domain = &mut self.domains[self.geometry.domain_of_unit(unit).index()];
            domain.valid += valid;
            domain.free += u32::from(state == UnitState::Free);
        }
    }

    /// The victim whose pages go under host pages, for a state.
    pub(crate) fn save_pairing(&self, domain: Domain) -> [u32; 5] {
        let words =
            |job: &Job| [job.unit.number(), job.gain, job.cursor.number(), job.lone_cursor.number(), job.filled_at];
        self.pairing(domain).map_or([Unit::to_word(None), 0, 0, 0, 0], words)
    }

    /// Takes that over. Nothing if there can be no such victim.
    pub(crate) fn restore_pairing(
        &mut self,
        domain: Domain,
        [unit, gain, cursor, lone_cursor, filled_at]: [u32; 5],
    ) -> Option<()> {
        let Some(unit) = Unit::from_word(unit) else {
            self.set_pairing(domain, None);
            return Some(());
        };
        let slots = self.geometry.unit_slots();
        let is_own = unit.number() < self.geometry.units()
            && self.geometry.domain_of_unit(unit) == domain
            && self.state_of(unit) == UnitState::Collecting;
        if !is_own || gain > slots - self.valid_of(unit) || cursor.max(lone_cursor) > slots || filled_at > u32::MAX / 2
        {
            return None;
        }
        let (cursor, lone_cursor) = (Slot::new(cursor), Slot::new(lone_cursor));
        let why = Why::Pairing;
        let job = Job { unit, why, cause: why.cause(), gain, cursor, lone_cursor, calm: false, filled_at };
        self.set_pairing(domain, Some(job));
        Some(())
    }

    /// Makes every policy anew and tells it what is closed, in the order it was filled.
    ///
    /// Preconditioning ends with this, whether it was run or loaded from a file: so a run that starts from
    /// a saved state equals one that aged the device itself, and a state can be used under other policies.
    pub(crate) fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64) {
        let shape = shape_of(&self.geometry);
        self.pool = AnyPool::build(policies.block_allocation, shape);
        self.victim = AnyVictim::under(policies, shape, seed);
        self.fill_pool();
        // What domains had to do for each other was done without time.
        self.woken.clear();
        for domain in &mut self.domains {
            (domain.clock, domain.fruitless) = (0, 0);
        }
        for unit in self.by_age() {
            if self.state_of(unit) == UnitState::Closed {
                self.tell_closed(unit, 0);
            }
        }
    }
}

/// A map of no pages.
fn no_map() -> Result<FlatMap, OutOfMemory> {
    FlatMap::empty(0).map_err(|reason| OutOfMemory { megabytes: 0, reason })
}
