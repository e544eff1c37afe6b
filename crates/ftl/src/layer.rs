//! The page-mapped FTL: map, reverse map, frontiers, and the steps of a collection.
//!
//! Everything that is touched once per page is a flat array. A domain (a plane, for single blocks) is
//! self-contained: its frontiers, free units and collection never look at another domain.

use base::{Cause, Cell, Geometry, Instant, Lpn, PageLayout, Ppn, ProgramOrder, Selection};
use engine::FlatArray;

use crate::allocation::Allocation;
use crate::dftl::{self, Dftl};
use crate::failure::Source;
use crate::forward::Forward;
use crate::group::Group;
use crate::paired::{Cover, Errand, Figures, Protection, Scheme, Wordlines};
use crate::pool::{AnyPool, FreePool};
use crate::schedule::Schedule;
use crate::separation::{MAX_STREAMS, Separation};
use crate::spare::Kind;
use crate::twin::Twin;
use crate::victim::{AnyVictim, Shape, Unit, UnitState, VictimPolicy, View, chance_by_domain};
use crate::wear::WearLeveling;

/// "No page" in the maps and "no unit" in a frontier.
pub(crate) const NONE: u32 = u32::MAX;

/// How often the workload's locality is taken.
const LOCALITY_PERIOD: Instant = Instant(1_000_000_000);

/// How far ahead of its use a map entry is asked for while a victim is emptied.
pub(crate) const PREFETCH_DISTANCE: u32 = 24;

/// The maps do not fit in memory.
#[derive(Debug, thiserror::Error)]
#[error("the maps of this device need {megabytes} MB of memory, which the operating system refuses: {reason}")]
pub struct OutOfMemory {
    /// What was asked for.
    pub megabytes: u64,
    /// What the operating system said.
    pub reason: std::io::Error,
}

/// The choices made at the FTL's seams.
pub struct Policies<'a> {
    /// Mapping.
    pub mapping: &'a Selection,
    /// Plane allocation.
    pub allocation: &'a Selection,
    /// Block allocation.
    pub block_allocation: &'a Selection,
    /// Victim policy.
    pub victim: &'a Selection,
    /// Reclaim unit.
    pub reclaim_unit: &'a Selection,
    /// GC schedule.
    pub gc_schedule: &'a Selection,
    /// Data separation.
    pub separation: &'a Selection,
    /// Paired-page protection.
    pub paired_page: &'a Selection,
    /// Wear leveling.
    pub wear_leveling: &'a Selection,
    /// Bits per cell.
    pub cell: Cell,
    /// The order in which the pages of a block are programmed.
    pub program_order: ProgramOrder,
}

impl Policies<'_> {
    /// Units that a domain holds free while collection keeps up.
    pub(crate) fn reserve(&self) -> u32 {
        self.gc_schedule.get("free_blocks") as u32
    }

    /// Whether the map is in flash.
    fn is_dftl(&self) -> bool {
        self.mapping.name == dftl::CHOICE.name
    }

    /// Units that a page-mapped domain holds free while collection keeps up.
    fn free_units(&self) -> u32 {
        self.reserve() + if self.is_dftl() { dftl::reserve(self.gc_schedule) } else { 0 }
    }

    /// Frontiers of a domain for data; another one is for translation pages.
    fn streams(&self) -> usize {
        match self.separation.name {
            "dac" => self.separation.get("regions") as usize,
            "host-gc" => 2,
            _ if self.paired_page.name == "slc-buffer" => 2,
            _ => 1,
        }
    }

    /// Units of a domain that never hold pages which count against its limit.
    fn units_aside(&self, geometry: &Geometry) -> u32 {
        let of_streams = u32::from(self.separation.name == "dac");
        Protection::units_aside(self.paired_page, &self.wordlines(geometry)) + of_streams
    }

    fn wordlines(&self, geometry: &Geometry) -> Wordlines {
        Wordlines::new(self.cell, &PageLayout::new(self.cell, self.program_order, geometry.pages_per_block))
    }
}

/// The open place of a stream: the next page goes to `slot` of `unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frontier {
    pub(crate) unit: u32,
    pub(crate) slot: u32,
}

/// A collection in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The unit that is emptied.
    pub unit: u32,
    /// Garbage collection or wear leveling.
    pub cause: Cause,
    /// Ahead of need, along with another die of the chip.
    pub forward: bool,
    /// Slots of the unit that were invalid when the collection began.
    pub(crate) gain: u32,
    /// Slots (twin blocks: page offsets) before this one are done.
    pub(crate) cursor: u32,
    /// Twin blocks: page offsets before this one have no lone page left.
    pub(crate) lone_cursor: u32,
}

/// What a collection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GcStep {
    /// Read the pages of the group, then program them where [`Ftl::copy`](crate::Ftl::copy) and
    /// [`Ftl::pad`](crate::Ftl::pad) say.
    Copy,
    /// Read the pages of the group, then program what protects them where
    /// [`Ftl::back_up`](crate::Ftl::back_up) says: the page itself or, of two pages, their exclusive-or.
    Backup,
    /// Program a dummy page where [`Ftl::pad`](crate::Ftl::pad) says.
    Fill,
    /// Read the translation page of the group, then tell [`Ftl::fetched`](crate::Ftl::fetched).
    Fetch,
    /// Read the translation page of the group, if it has one, then program its next version where
    /// [`Ftl::update`](crate::Ftl::update) says.
    Update,
    /// Nothing valid is left: erase this unit, then tell [`Ftl::erased`](crate::Ftl::erased).
    Erase(u32),
}

/// What the erase of a unit means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// The unit.
    pub unit: u32,
    /// Garbage collection, wear leveling, or a full backup block.
    pub cause: Cause,
    /// Whether the collection was ahead of need.
    pub forward: bool,
    /// Whether a collection ends with it; a merge erases further units.
    pub ends: bool,
}

/// Carries out the commands of a whole collection at once, for executors without time.
pub trait GcSink {
    /// Of an erased unit only LSB pages are used from now on.
    fn uses_lsb_only(&mut self, unit: u32);
    /// A valid page was moved. Its spare area is the old one's identity with `tag` ([`crate::IDENTITY`]).
    /// Returns whether the program succeeded, as the next two do.
    fn copied(&mut self, cause: Cause, from: Ppn, to: Ppn, tag: u128) -> bool;
    /// A dummy page is to be programmed.
    fn padded(&mut self, cause: Cause, at: Ppn, tag: u128) -> bool;
    /// The exclusive-or of the pages (of a single page: its copy) is to be programmed.
    fn backed_up(&mut self, pages: &[Ppn], at: Ppn, tag: u128) -> bool;
    /// A translation page was read for one of its entries.
    fn fetched(&mut self, from: Ppn);
    /// The next version of a translation page is to be programmed, after a read of the one before if there is one.
    /// Its spare area is `tag`. Returns whether the program succeeded.
    fn updated(&mut self, from: Option<Ppn>, lpn: Lpn, to: Ppn, tag: u128) -> bool;
    /// After a failed program, a page is to be read and programmed anew. Returns whether its data were still
    /// there.
    fn rewritten(&mut self, cause: Cause, source: Source, at: Ppn, tag: u128) -> bool;
    /// A unit is to be erased.
    fn erased(&mut self, erasure: Erasure);
}

#[derive(Clone, Debug)]
pub(crate) struct Domain {
    pub(crate) frontiers: [Frontier; MAX_STREAMS],
    /// Units in the free pool.
    pub(crate) free: u32,
    /// Valid pages.
    pub(crate) valid: u32,
    /// Logical time: pages the host has written here since the policies were made.
    pub(crate) clock: u64,
    pub(crate) job: Option<Job>,
    /// Victims in a row that had no invalid page.
    pub(crate) fruitless: u32,
}

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

/// The flash translation layer.
pub struct Ftl {
    pub(crate) geometry: Geometry,
    pub(crate) map: FlatArray,
    pub(crate) reverse: FlatArray,
    /// Where the map is in flash: what the controller has of it. Translation pages are logical pages behind the host's.
    pub(crate) dftl: Option<Box<Dftl>>,
    pub(crate) units: Vec<Unit>,
    pub(crate) erases: Vec<u32>,
    pub(crate) closed_at: Vec<u32>,
    pub(crate) domains: Vec<Domain>,
    allocation: Allocation,
    pub(crate) pool: AnyPool,
    pub(crate) victim: AnyVictim,
    wear: WearLeveling,
    /// Units kept free in each domain while collection keeps up.
    pub(crate) reserve: u32,
    /// Streams of data. With DFTL the next one is that of translation pages.
    pub(crate) streams: usize,
    pub(crate) separation: Separation,
    pub(crate) protection: Protection,
    /// Whether room is made before each host page instead of after a frontier was filled ([`Ftl::prepare`]).
    pub(crate) is_careful: bool,
    /// When ω is taken next.
    next_locality: Instant,
    pub(crate) twin: Twin,
    pub(crate) forward: Forward,
    /// Domains whose collection began along with another's, until the executor takes note.
    early: Vec<u32>,
    /// A domain with as many valid pages takes no more from a dynamic allocation.
    max_valid: u32,
    pub(crate) closings: u32,
    /// By unit: the stream that filled it last.
    pub(crate) unit_streams: Vec<u8>,
    /// Whether pages have spare areas.
    pub(crate) keeps_spares: bool,
    /// Host writes, as spare areas number them.
    pub(crate) writes: u64,
    /// Programs, as spare areas number them.
    pub(crate) order: u64,
    /// Pages whose data failed programs destroyed.
    pub(crate) lost_pages: u64,
    /// Dynamic allocation: by queue, where the round robin over its dies stands and what is left of a burst.
    next_die: Vec<u32>,
    burst_left: Vec<u32>,
    /// Dynamic allocation: by die, whose turn it is among its domains.
    next_domain: Vec<u32>,
}

/// The most valid pages with which a domain can always make room.
///
/// When collection starts, `reserve` units are free and the host's frontier is full. With two frontiers the
/// other one may be open. With regions each has its frontier, and collection goes on until one unit more
/// than the reserve is free. Some units may be set aside. All other units are closed, and one of them has to
/// have an invalid page.
fn max_valid(units: u32, slots: u32, reserve: u32, streams: usize, aside: u32) -> u64 {
    let closed = i64::from(units) - i64::from(reserve) - (streams as i64 - 1) - i64::from(aside);
    (closed * i64::from(slots) - 1).max(0) as u64
}

/// The most valid pages of a domain under these policies, translation pages among them.
fn most_valid(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    let streams = policies.streams() + usize::from(policies.is_dftl());
    let aside = policies.units_aside(geometry);
    max_valid(geometry.units_per_domain(), geometry.unit_slots(), policies.free_units(), streams, aside)
}

/// The largest user space, in pages, that the FTL can keep writable for ever under these policies.
pub fn largest_user_pages(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    let per_domain = most_valid(geometry, policies);
    let per_domain = if policies.is_dftl() { dftl::most_data_pages(geometry, per_domain) } else { per_domain };
    let all = per_domain * u64::from(geometry.domains());
    if crate::allocation::is_dynamic(policies.allocation.name) {
        // Some domain always has to accept the next page, also where a formula fixes the die.
        all.saturating_sub(u64::from(geometry.dies_per_chip * geometry.planes_per_die))
    } else {
        all
    }
}

impl Ftl {
    /// An FTL over a pristine array. `seed` is the run's.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    ///
    /// # Panics
    /// If the user space is larger than [`largest_user_pages`], which the configuration check refuses.
    pub fn new(geometry: Geometry, user_pages: u64, policies: &Policies<'_>, seed: u64) -> Result<Ftl, OutOfMemory> {
        assert!(user_pages <= largest_user_pages(&geometry, policies), "user space too large for the spare space");
        let shape = shape_of(&geometry);
        let units = geometry.units() as usize;
        let allocation = Allocation::build(policies.allocation, &geometry);
        let queues = allocation.queues() as usize;
        let (reserve, streams) = (policies.free_units(), policies.streams());
        let idle = Frontier { unit: NONE, slot: 0 };
        let protection = Protection::new(policies.paired_page, reserve, shape.domains, policies.wordlines(&geometry));
        let separation = Separation::build(policies.separation, user_pages as usize);
        let domain = Domain {
            frontiers: [idle; MAX_STREAMS],
            free: shape.units_per_domain,
            valid: 0,
            clock: 0,
            job: None,
            fruitless: 0,
        };
        let of_map = if policies.is_dftl() { dftl::translation_pages(&geometry, user_pages) } else { 0 };
        let logical_pages = user_pages + of_map;
        let memory = |reason| OutOfMemory { megabytes: (geometry.pages() + logical_pages) * 4 / 1_000_000, reason };
        let dftl = match policies.is_dftl() {
            true => {
                let bytes = policies.mapping.get("cache") as u64;
                Some(Box::new(Dftl::new(&geometry, user_pages, bytes, &allocation).map_err(memory)?))
            }
            false => None,
        };
        let mut ftl = Ftl {
            map: FlatArray::filled(logical_pages as usize, NONE).map_err(memory)?,
            reverse: FlatArray::filled(geometry.pages() as usize, NONE).map_err(memory)?,
            units: vec![Unit { valid: 0, state: UnitState::Free, lsb_only: false }; units],
            erases: vec![0; units],
            closed_at: vec![0; units],
            domains: vec![domain; geometry.domains() as usize],
            pool: AnyPool::build(policies.block_allocation, shape),
            victim: AnyVictim::build(policies.victim, shape, chance_by_domain(seed, shape.domains)),
            wear: WearLeveling::build(policies.wear_leveling, shape),
            reserve,
            streams,
            is_careful: protection.scheme.keeps_track() || policies.separation.name == "dac" || dftl.is_some(),
            dftl,
            next_locality: if policies.separation.name == "dac" { LOCALITY_PERIOD } else { Instant::NEVER },
            separation,
            protection,
            twin: Twin::new(policies.reclaim_unit),
            forward: Forward::new(shape.domains, Schedule::new(policies.gc_schedule).is_threshold()),
            early: Vec::new(),
            max_valid: most_valid(&geometry, policies).min(u64::from(NONE)) as u32,
            closings: 0,
            unit_streams: vec![0; units],
            keeps_spares: false,
            writes: 0,
            order: 0,
            lost_pages: 0,
            next_die: vec![0; queues],
            burst_left: vec![0; queues],
            next_domain: vec![0; geometry.dies() as usize],
            allocation,
            geometry,
        };
        ftl.fill_pool();
        ftl.open_backups();
        Ok(ftl)
    }

    /// Logical pages.
    pub fn user_pages(&self) -> u32 {
        self.dftl.as_ref().map_or(self.map.len() as u32, |dftl| dftl.user_pages())
    }

    /// Logical pages and, behind them, translation pages.
    pub fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    /// Frontiers that a domain may have open.
    pub fn streams(&self) -> usize {
        self.streams + usize::from(self.dftl.is_some())
    }

    /// What the cached mapping table did, and its entries and the translation pages of all domains; nothing where the
    /// map is in DRAM.
    pub fn dftl_figures(&self) -> Option<(dftl::Figures, (u64, u64))> {
        self.dftl.as_ref().map(|dftl| (dftl.figures(), dftl.size()))
    }

    /// Where a logical page is, if it was ever written (and not trimmed since).
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.index()];
        (ppn != NONE).then_some(Ppn(ppn))
    }

    /// Asks for the map entry of a page that will be looked up or written soon.
    #[inline]
    pub fn prefetch_map(&self, lpn: Lpn) {
        self.map.prefetch(lpn.index());
    }

    /// Asks for what a coming write of the page will invalidate. Best some time after [`Ftl::prefetch_map`].
    #[inline]
    pub fn prefetch_old(&self, lpn: Lpn) {
        let ppn = self.map[lpn.index()];
        if ppn != NONE {
            self.reverse.prefetch(ppn as usize);
        }
    }

    /// The collection in progress in a domain.
    #[inline]
    pub fn job(&self, domain: u32) -> Option<Job> {
        self.domains[domain as usize].job
    }

    /// Whether a domain has steps to do before it takes host pages: a collection, or what its protection of
    /// paired pages asks for.
    #[inline]
    pub fn is_collecting(&self, domain: u32) -> bool {
        self.domains[domain as usize].job.is_some() || self.is_careful && self.has_errand(domain)
    }

    fn has_errand(&self, domain: u32) -> bool {
        self.has_map_errand(domain)
            || self.protection.guards.get(domain as usize).is_some_and(|guard| guard.errand.is_some())
    }

    /// Whether a dynamic allocation may give a page to a domain now.
    #[inline]
    pub fn accepts(&self, domain: u32) -> bool {
        self.domains[domain as usize].valid < self.max_valid && !self.is_collecting(domain)
    }

    /// Where the next host page of a domain goes; opens a unit if none is open.
    ///
    /// # Panics
    /// If the domain is being collected.
    #[inline]
    pub fn next_host_page(&mut self, domain: u32, lpn: Lpn) -> Ppn {
        assert!(!self.is_collecting(domain), "a domain takes no host pages while it is collected");
        let stream = self.separation.host_stream(lpn, self.map[lpn.index()] != NONE);
        let frontier = self.open_frontier(domain, stream);
        self.geometry.ppn(frontier.unit, frontier.slot)
    }

    /// Where the next copied page of a domain goes; opens a unit if none is open.
    #[inline]
    pub fn next_copy_page(&mut self, domain: u32, from: Ppn) -> Ppn {
        let stream = self.copy_stream(domain, from);
        let frontier = self.open_frontier(domain, stream);
        self.geometry.ppn(frontier.unit, frontier.slot)
    }

    #[inline]
    fn copy_stream(&self, domain: u32, from: Ppn) -> usize {
        if self.is_careful { self.stream_of_step(domain, Some(from)) } else { self.streams - 1 }
    }

    /// Places a page that the host writes, and makes its old version invalid.
    ///
    /// A collection may begin ([`Ftl::job`]): it has to end before the domain takes another host page.
    ///
    /// # Panics
    /// If the domain is being collected, or there is no such page.
    #[inline]
    pub fn write(&mut self, domain: u32, lpn: Lpn) -> Ppn {
        assert!(!self.is_collecting(domain), "a domain takes no host pages while it is collected");
        let old = self.map[lpn.index()];
        let stream = self.separation.write(lpn, old != NONE);
        if old != NONE {
            self.invalidate(old);
        }
        let state = &mut self.domains[domain as usize];
        state.clock += 1;
        state.valid += 1;
        self.writes += 1;
        let ppn = self.append(domain, stream, lpn);
        if self.is_careful {
            self.entry_written(domain, lpn);
            self.after_host_page(domain, ppn);
        } else if self.domains[domain as usize].frontiers[0].unit == NONE {
            self.collect_if_needed(domain);
        }
        ppn
    }

    /// What a protection makes of a host page that was written.
    fn after_host_page(&mut self, domain: u32, ppn: Ppn) {
        if !self.protection.scheme.keeps_track() {
            return;
        }
        self.note_program(domain, ppn, Cover::None);
        let guard = &self.protection.guards[domain as usize];
        let is_paired = guard.lowers.done().iter().any(|lower| match lower.cover {
            Cover::Copy(page) => !self.units[self.geometry.unit_of(page) as usize].lsb_only,
            _ => false,
        });
        let mix = guard.mix;
        self.protection.guards[domain as usize].was_short = false;
        self.protection.figures.host_pages += 1;
        self.protection.figures.paired += u64::from(is_paired);
        if let Some(mix) = mix
            && self.units[mix.unit as usize].valid == 0
        {
            self.hold(domain, mix.unit);
        }
        if self.unit_to_erase(domain).is_some() {
            self.protection.guards[domain as usize].errand = Some(Errand::Erase);
        }
    }

    /// Valid pages by region, coldest first; empty without regions.
    pub fn valid_by_region(&self) -> &[u64] {
        self.separation.valid_by_region()
    }

    /// What the protection of paired pages did so far.
    pub fn protection_figures(&self) -> Figures {
        self.protection.figures
    }

    /// Tells the time; every simulated second it returns the workload's locality ω, if regions are kept and
    /// pages were overwritten (GCMix, equations 1 to 4).
    #[inline]
    pub fn tell_time(&mut self, now: Instant) -> Option<f64> {
        if now < self.next_locality { None } else { self.take_locality(now) }
    }

    #[cold]
    fn take_locality(&mut self, now: Instant) -> Option<f64> {
        let period = LOCALITY_PERIOD.ns();
        self.next_locality = Instant((now.ns() / period + 1) * period);
        let omega = self.separation.locality()?;
        self.protection.omega = Some(omega);
        Some(omega)
    }

    /// Forgets a logical page. Returns whether it was mapped.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        let old = std::mem::replace(&mut self.map[lpn.index()], NONE);
        if old == NONE {
            return false;
        }
        self.separation.trim(lpn);
        self.entry_trimmed(lpn);
        self.invalidate(old);
        true
    }

    /// The next step of a domain's collection; `None` when none is in progress. The pages to copy are put
    /// into `group`. Asking changes nothing that can be seen.
    #[inline]
    pub fn step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        if self.geometry.unit_width > 1 {
            return self.twin_step(domain, group);
        }
        if self.is_careful {
            return self.careful_step(domain, group);
        }
        let slots = self.geometry.unit_slots();
        let job = self.domains[domain as usize].job.as_mut()?;
        let first = job.unit * slots;
        while job.cursor < slots {
            if self.reverse[(first + job.cursor) as usize] != NONE {
                // Steps lie far apart in time: by the next one but a few, its line is no longer expected.
                self.reverse.prefetch((first + (job.cursor + PREFETCH_DISTANCE).min(slots - 1)) as usize);
                group.clear();
                group.push(Ppn(first + job.cursor));
                return Some(GcStep::Copy);
            }
            job.cursor += 1;
        }
        Some(GcStep::Erase(job.unit))
    }

    /// Whether a physical page holds current data.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.reverse[ppn.index()] != NONE
    }

    /// Asks for the map entry that moving a page will change.
    #[inline]
    pub fn prefetch_copy(&self, from: Ppn) {
        let lpn = self.reverse[from.index()];
        if lpn != NONE {
            self.map.prefetch(lpn as usize);
        }
    }

    /// Moves a page that was read for a collection: its logical page and new place, or `None` if it was
    /// overwritten or trimmed since and there is nothing to move.
    pub fn copy(&mut self, domain: u32, from: Ppn) -> Option<(Lpn, Ppn)> {
        let lpn = self.reverse[from.index()];
        if lpn == NONE {
            return None;
        }
        let stream = self.copy_stream(domain, from);
        self.reverse[from.index()] = NONE;
        self.units[self.geometry.unit_of(from) as usize].valid -= 1;
        if !self.is_careful {
            return Some((Lpn(lpn), self.append(domain, stream, Lpn(lpn))));
        }
        if lpn < self.user_pages() {
            self.separation.copy(Lpn(lpn));
        }
        let to = self.append(domain, stream, Lpn(lpn));
        self.entry_moved(domain, lpn);
        if self.protection.scheme.keeps_track() {
            self.note_program(domain, to, Cover::Copy(from));
            self.settle(domain);
        }
        Some((Lpn(lpn), to))
    }

    /// Ends an errand that has nothing left to do.
    fn settle(&mut self, domain: u32) {
        if self.domains[domain as usize].job.is_none() && self.has_errand(domain) {
            self.careful_step(domain, &mut Group::EMPTY.clone());
        }
    }

    /// The place of a dummy page, which [`Group::pads`] or [`GcStep::Fill`] asked for.
    pub fn pad(&mut self, domain: u32) -> Ppn {
        let stream = if self.is_careful { self.stream_of_step(domain, None) } else { self.streams - 1 };
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        self.advance(domain, stream, unit, slot);
        let at = self.geometry.ppn(unit, slot);
        if self.protection.scheme.keeps_track() {
            self.note_program(domain, at, Cover::None);
            self.settle(domain);
        }
        at
    }

    /// The pages of a group were read and their backup was programmed where [`Ftl::back_up`] said.
    pub fn backed_up(&mut self, domain: u32) {
        self.settle(domain);
    }

    /// Domains whose collection began along with another's since the last call, in the order of beginning.
    pub fn take_early(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.early).into_iter()
    }

    /// A unit that [`GcStep::Erase`] named was erased. The next collection of the domain may begin at once.
    ///
    /// # Panics
    /// If the unit was not to be erased or still holds valid pages.
    pub fn erased(&mut self, domain: u32, unit: u32) {
        assert_eq!(self.units[unit as usize].valid, 0, "a unit is erased only when nothing in it is valid");
        let Some(job) = self.domains[domain as usize].job.take_if(|job| job.unit == unit) else {
            self.erased_aside(domain, unit);
            return;
        };
        self.check_moved(domain, unit);
        self.free_unit(domain, unit);
        if !self.is_careful {
            self.collect_if_needed(domain);
        }
        if job.cause == Cause::Wear {
            return;
        }
        self.wear.on_erased(domain);
        if !self.is_collecting(domain)
            && self.may_level(domain)
            && let Some(cold) = self.wear.due(domain, &self.units, &self.erases)
        {
            self.begin(domain, cold, Cause::Wear, false);
        }
    }

    /// A unit was erased that was held back, or that held backups.
    fn erased_aside(&mut self, domain: u32, unit: u32) {
        let guard = &mut self.protection.guards[domain as usize];
        if guard.backup.unit == unit {
            self.renew_backup(domain, unit);
        } else {
            let before = guard.held.len();
            guard.held.retain(|&held| held != unit);
            assert_eq!(guard.held.len() + 1, before, "only units that were to be erased are erased");
            self.free_unit(domain, unit);
            self.wear.on_erased(domain);
        }
        self.settle(domain);
    }

    /// Puts an erased unit among the free ones.
    pub(crate) fn free_unit(&mut self, domain: u32, unit: u32) {
        self.units[unit as usize] = Unit { valid: 0, state: UnitState::Free, lsb_only: false };
        self.erases[unit as usize] += 1;
        self.pool.put(domain, unit, self.erases[unit as usize]);
        self.domains[domain as usize].free += 1;
    }

    /// Carries out whatever collections a domain needs, at once.
    pub fn collect(&mut self, domain: u32, sink: &mut impl GcSink) {
        if self.is_careful {
            self.carry_out(domain, sink);
            return;
        }
        while let Some(job) = self.domains[domain as usize].job {
            if self.geometry.unit_width > 1 {
                self.empty_by_groups(domain, job.cause, sink);
            } else {
                self.empty(domain, job, sink);
            }
            sink.erased(Erasure { unit: job.unit, cause: job.cause, forward: job.forward, ends: true });
            self.erased(domain, job.unit);
        }
    }

    /// Does a domain's steps, one after the other, until it takes a host page again.
    fn carry_out(&mut self, domain: u32, sink: &mut impl GcSink) {
        let mut group = Group::EMPTY;
        let mut steps = 0u64;
        while let Some(step) = self.careful_step(domain, &mut group) {
            steps += 1;
            debug_assert!(steps < 1_000_000, "room is made in so many steps");
            let cause = self.cause_of(domain, step);
            match step {
                GcStep::Copy => {
                    for &from in group.pages() {
                        let (lpn, to) = self.copy(domain, from).expect("nothing changes in between");
                        let tag = self.tag(Kind::Data, Some(lpn), to);
                        if !sink.copied(cause, from, to, tag) {
                            self.repair(to, Some(from), sink);
                        }
                    }
                }
                GcStep::Backup => {
                    let tag = self.backup_tag(&group);
                    let at = self.back_up(domain, &group);
                    self.announce_lsb_only(at, sink);
                    if !sink.backed_up(group.pages(), at, tag) {
                        self.repair(at, None, sink);
                    }
                    self.backed_up(domain);
                }
                GcStep::Fill => {
                    let at = self.pad(domain);
                    let tag = self.tag(Kind::Dummy, None, at);
                    if !sink.padded(cause, at, tag) {
                        self.repair(at, None, sink);
                    }
                }
                GcStep::Fetch => {
                    sink.fetched(group.pages()[0]);
                    self.fetched(domain);
                }
                GcStep::Update => {
                    let (lpn, to) = self.update(domain);
                    let tag = self.tag(Kind::Data, Some(lpn), to);
                    let done = sink.updated(group.pages().first().copied(), lpn, to, tag);
                    assert!(done, "the configuration check allows no faults where the map is in flash");
                }
                GcStep::Erase(unit) => {
                    sink.erased(self.erasure(domain, unit));
                    self.erased(domain, unit);
                }
            }
        }
    }

    /// Tells of the first page of a unit that uses its LSB pages only.
    pub(crate) fn announce_lsb_only(&self, at: Ppn, sink: &mut impl GcSink) {
        let (unit, slot) = self.geometry.unit_and_slot(at);
        if slot == 0 && self.units[unit as usize].lsb_only {
            sink.uses_lsb_only(unit);
        }
    }

    /// Moves every valid page of a domain's victim, step by step.
    fn empty_by_groups(&mut self, domain: u32, cause: Cause, sink: &mut impl GcSink) {
        let mut group = Group::EMPTY;
        while let Some(GcStep::Copy) = self.step(domain, &mut group) {
            for &from in group.pages() {
                let (lpn, to) = self.copy(domain, from).expect("nothing changes in between");
                let tag = self.tag(Kind::Data, Some(lpn), to);
                if !sink.copied(cause, from, to, tag) {
                    self.repair(to, Some(from), sink);
                }
            }
            for _ in 0..group.pads {
                let at = self.pad(domain);
                let tag = self.tag(Kind::Dummy, None, at);
                if !sink.padded(cause, at, tag) {
                    self.repair(at, None, sink);
                }
            }
        }
    }

    /// Moves every valid page of a job's unit.
    fn empty(&mut self, domain: u32, job: Job, sink: &mut impl GcSink) {
        let slots = self.geometry.unit_slots();
        let first = job.unit * slots;
        let stream = self.streams - 1;
        for slot in job.cursor..(job.cursor + PREFETCH_DISTANCE).min(slots) {
            self.prefetch_copy(Ppn(first + slot));
        }
        for slot in job.cursor..slots {
            if slot + PREFETCH_DISTANCE < slots {
                self.prefetch_copy(Ppn(first + slot + PREFETCH_DISTANCE));
            }
            let lpn = self.reverse[(first + slot) as usize];
            if lpn == NONE {
                continue;
            }
            self.reverse[(first + slot) as usize] = NONE;
            let to = self.append(domain, stream, Lpn(lpn));
            let tag = self.tag(Kind::Data, Some(Lpn(lpn)), to);
            if !sink.copied(job.cause, Ppn(first + slot), to, tag) {
                self.repair(to, Some(Ppn(first + slot)), sink);
            }
        }
        self.units[job.unit as usize].valid = 0;
    }

    /// The domain that takes a page when no time passes: static orders by their formula, dynamic
    /// allocations round robin over what accepts pages.
    ///
    /// # Panics
    /// If no domain accepts pages, which the limit on the user space rules out.
    #[inline]
    pub fn domain_without_time(&mut self, lpn: Lpn) -> u32 {
        let queue = self.allocation.queue_of(lpn);
        let Some(dynamic) = self.allocation.dynamic() else { return queue };
        let burst = dynamic.burst();
        let dies = dynamic.dies(queue).len() as u32;
        for _ in 0..=dies {
            let left = &mut self.burst_left[queue as usize];
            if *left > 0 {
                *left -= 1;
                let turn = self.next_die[queue as usize];
                let die = self.allocation.dynamic().expect("checked").dies(queue)[turn as usize];
                if let Some(domain) = self.next_domain_of(die) {
                    return domain;
                }
            }
            self.burst_left[queue as usize] = burst;
            let turn = &mut self.next_die[queue as usize];
            *turn = if *turn + 1 == dies { 0 } else { *turn + 1 };
        }
        panic!("no plane accepts a page: the user space exceeds what the spare space can serve");
    }

    /// The next die of a queue, round robin, that is idle and has a domain that accepts pages. `idle` has one
    /// bit per die of the queue, in the order of [`crate::allocation::Dynamic::dies`]: on a busy device few
    /// are set, and this is asked after every event.
    pub fn next_die_of(&mut self, queue: u32, idle: &[u64]) -> Option<u32> {
        let dies = self.allocation.dynamic()?.dies(queue);
        let start = self.next_die[queue as usize] as usize;
        let (first, below_start) = (start / 64, (1u64 << (start % 64)) - 1);
        // The word with the start comes first, from the start on, and last, up to the start.
        for step in 0..=idle.len() {
            let word = if first + step >= idle.len() { first + step - idle.len() } else { first + step };
            let mut bits = match step {
                0 => idle[word] & !below_start,
                last if last == idle.len() => idle[word] & below_start,
                _ => idle[word],
            };
            while bits != 0 {
                let turn = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let die = dies[turn];
                if self.domains_of_die(die).any(|domain| self.accepts(domain)) {
                    self.next_die[queue as usize] = if turn + 1 == dies.len() { 0 } else { turn as u32 + 1 };
                    return Some(die);
                }
            }
        }
        None
    }

    /// The domain of a die whose turn it is, round robin over those that accept pages.
    pub fn peek_domain_of(&self, die: u32) -> Option<u32> {
        let count = self.geometry.domains_per_die();
        let start = self.next_domain[die as usize];
        (0..count).map(|offset| die * count + (start + offset) % count).find(|&domain| self.accepts(domain))
    }

    /// Takes the turn of [`Ftl::peek_domain_of`].
    pub fn next_domain_of(&mut self, die: u32) -> Option<u32> {
        let domain = self.peek_domain_of(die)?;
        let count = self.geometry.domains_per_die();
        self.next_domain[die as usize] = (domain - die * count + 1) % count;
        Some(domain)
    }

    /// The domains of a die.
    pub fn domains_of_die(&self, die: u32) -> std::ops::Range<u32> {
        let count = self.geometry.domains_per_die();
        die * count..(die + 1) * count
    }

    /// Erases by unit.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

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
    fn fill_pool(&mut self) {
        for unit in 0..self.units.len() as u32 {
            if self.units[unit as usize].state == UnitState::Free {
                self.pool.put(self.geometry.domain_of_unit(unit), unit, self.erases[unit as usize]);
            }
        }
    }

    /// Writes `lpn` at a frontier and points the map at it. The caller has dealt with the old version.
    #[inline]
    pub(crate) fn append(&mut self, domain: u32, stream: usize, lpn: Lpn) -> Ppn {
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        let ppn = self.geometry.ppn(unit, slot);
        self.map[lpn.index()] = ppn.0;
        self.reverse[ppn.index()] = lpn.0;
        self.units[unit as usize].valid += 1;
        self.advance(domain, stream, unit, slot);
        ppn
    }

    /// Moves a frontier past a slot.
    #[inline]
    fn advance(&mut self, domain: u32, stream: usize, unit: u32, slot: u32) {
        let next = if self.is_buffer(stream) { self.protection.wordlines.next_lsb(slot) } else { slot + 1 };
        if next == self.geometry.unit_slots() {
            self.close(domain, stream, unit);
        } else {
            self.domains[domain as usize].frontiers[stream].slot = next;
        }
    }

    /// The frontier of a stream, opened if need be.
    #[inline]
    pub(crate) fn open_frontier(&mut self, domain: u32, stream: usize) -> Frontier {
        let frontier = self.domains[domain as usize].frontiers[stream];
        if frontier.unit != NONE { frontier } else { self.open(domain, stream) }
    }

    #[cold]
    fn open(&mut self, domain: u32, stream: usize) -> Frontier {
        let unit = self.pool.take(domain).expect("the reserve keeps a free unit for every frontier");
        self.units[unit as usize].state = UnitState::Open;
        let state = &mut self.domains[domain as usize];
        state.free -= 1;
        state.frontiers[stream] = Frontier { unit, slot: 0 };
        let frontier = state.frontiers[stream];
        self.units[unit as usize].lsb_only = self.is_buffer(stream);
        self.unit_streams[unit as usize] = stream as u8;
        frontier
    }

    /// Whether a stream fills LSB pages only.
    #[inline]
    fn is_buffer(&self, stream: usize) -> bool {
        self.protection.scheme == Scheme::SlcBuffer && stream == 0
    }

    #[cold]
    pub(crate) fn close(&mut self, domain: u32, stream: usize, unit: u32) {
        let now = self.domains[domain as usize].clock;
        self.domains[domain as usize].frontiers[stream] = Frontier { unit: NONE, slot: 0 };
        self.closings += 1;
        self.closed_at[unit as usize] = self.closings;
        let state = &mut self.units[unit as usize];
        if state.lsb_only {
            state.state = UnitState::Aside;
            self.protection.guards[domain as usize].buffers.push_back(unit);
            return;
        }
        state.state = UnitState::Closed;
        self.victim.on_closed(domain, unit, u32::from(state.valid), now);
        self.note_closed(domain, unit, UnitState::Closed);
    }

    #[inline]
    pub(crate) fn invalidate(&mut self, ppn: u32) {
        self.reverse[ppn as usize] = NONE;
        let unit = self.geometry.unit_of(Ppn(ppn));
        let domain = self.geometry.domain_of_unit(unit);
        let owner = &mut self.domains[domain as usize];
        owner.valid -= 1;
        let state = &mut self.units[unit as usize];
        state.valid -= 1;
        if state.state == UnitState::Closed {
            self.victim.on_invalidated(domain, unit, u32::from(state.valid), owner.clock);
        }
    }

    /// Begins a collection if the host's frontier is full and the domain is down to its reserve.
    pub(crate) fn collect_if_needed(&mut self, domain: u32) {
        let state = &self.domains[domain as usize];
        if state.job.is_some() || state.frontiers[0].unit != NONE || state.free > self.reserve {
            return;
        }
        if self.take_emptied(domain, false) {
            return;
        }
        let unit = self.choose(domain).expect("collection starts with closed units");
        self.begin(domain, unit, Cause::Gc, false);
        self.begin_neighbours(domain);
    }

    /// Collects other dies of the chip along, when they are near their own threshold (TBM section 5.2).
    fn begin_neighbours(&mut self, domain: u32) {
        if self.geometry.unit_width == 1 || self.twin.neighbours == 0.0 {
            return;
        }
        let slots = self.geometry.unit_slots();
        let threshold = f64::from(self.reserve * slots);
        let dies = self.geometry.dies_per_chip;
        let first = domain / dies * dies;
        for other in (first..first + dies).filter(|&other| other != domain) {
            let state = &self.domains[other as usize];
            let frontier = state.frontiers[0];
            let open = if frontier.unit == NONE { 0 } else { slots - frontier.slot };
            let free_pages = f64::from(state.free * slots + open);
            if state.job.is_none() && free_pages <= threshold * (1.0 + self.twin.neighbours) {
                let unit = self.choose(other).expect("a full domain has closed units");
                self.begin(other, unit, Cause::Gc, true);
                self.early.push(other);
            }
        }
    }

    /// The victim, by the policy. A policy that has offered as many units without an invalid page as the
    /// domain has units is overruled once, so that every policy makes progress.
    pub(crate) fn choose(&mut self, domain: u32) -> Option<u32> {
        let now = self.domains[domain as usize].clock;
        let view = View { domain, valid: &self.units, slots: self.geometry.unit_slots(), now };
        let units = self.geometry.units_per_domain();
        let unit = if self.domains[domain as usize].fruitless < units {
            self.victim.choose(view)?
        } else {
            (domain * units..(domain + 1) * units)
                .filter(|&unit| self.units[unit as usize].state == UnitState::Closed)
                .min_by_key(|&unit| self.units[unit as usize].valid)?
        };
        let full = u32::from(self.units[unit as usize].valid) == self.geometry.unit_slots();
        let fruitless = &mut self.domains[domain as usize].fruitless;
        *fruitless = if full { *fruitless + 1 } else { 0 };
        Some(unit)
    }

    pub(crate) fn begin(&mut self, domain: u32, unit: u32, cause: Cause, forward: bool) {
        if forward && let Some(closed_at) = self.forward.closed_at.get_mut(domain as usize) {
            *closed_at = self.closed_at[unit as usize];
        }
        self.take_closed(domain, unit);
        self.carry_moves(domain);
        let cause = if cause == Cause::Gc && self.is_translation_unit(unit) { Cause::Mapping } else { cause };
        let gain = self.geometry.unit_slots() - u32::from(self.units[unit as usize].valid);
        self.domains[domain as usize].job = Some(Job { unit, cause, forward, gain, cursor: 0, lone_cursor: 0 });
        self.reverse.prefetch(self.geometry.ppn(unit, 0).index());
    }

    /// Takes a closed unit out of the victim policy's hands.
    pub(crate) fn take_closed(&mut self, domain: u32, unit: u32) {
        let state = &mut self.units[unit as usize];
        assert_eq!(state.state, UnitState::Closed, "only closed units are collected");
        state.state = UnitState::Collecting;
        self.closed_at[unit as usize] = 0;
        self.victim.on_removed(domain, unit, u32::from(state.valid));
        self.note_closed(domain, unit, UnitState::Collecting);
    }

    /// Gives every domain a unit for backups, where the protection keeps one.
    fn open_backups(&mut self) {
        if self.protection.scheme.keeps_backups() {
            (0..self.geometry.domains()).for_each(|domain| self.open_backup(domain));
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

pub(crate) fn shape_of(geometry: &Geometry) -> Shape {
    Shape { domains: geometry.domains(), units_per_domain: geometry.units_per_domain(), slots: geometry.unit_slots() }
}
