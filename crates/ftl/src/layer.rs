//! The page-mapped FTL: map, reverse map, frontiers, and where the host's pages go.
//!
//! Everything that is touched once per page is a flat array. A domain (a plane, for single blocks) is
//! self-contained: its frontiers, free units and collection never look at another domain.

use base::{Cell, Geometry, Instant, Lpn, PageLayout, Ppn, ProgramOrder, Selection};
use engine::FlatArray;

use crate::allocation::Allocation;
use crate::collection::Job;
use crate::dftl::{self, Dftl};
use crate::forward::Forward;
use crate::paired::{Cover, Errand, Figures, Protection, Scheme, Wordlines};
use crate::pool::{AnyPool, FreePool};
use crate::schedule::Schedule;
use crate::separation::{MAX_STREAMS, Separation};
use crate::twin::Twin;
use crate::victim::{AnyVictim, Shape, Unit, UnitState, VictimPolicy, chance_by_domain};
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

/// What the parts of an FTL take, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Map and reverse map.
    pub maps: u64,
    /// With a map in flash: the cached mapping table, and what is known of translation pages.
    pub cached_map: u64,
    /// What is known of reclaim units and of domains, with the policies' own structures.
    pub blocks: u64,
    /// Regions of logical pages.
    pub regions: u64,
    /// What comes besides when preconditioning ends: policies made anew beside the old ones.
    pub renewed: u64,
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
        let of_map = match self.is_dftl() {
            false => 0,
            true if crate::allocation::is_dynamic(self.allocation.name) => dftl::RESERVE + dftl::RESERVE_APART,
            true => dftl::RESERVE,
        };
        self.reserve() + of_map
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

/// What a domain has, laid out so that what every page touches lies in one cache line: with all domains at work, theirs
/// are much of what the processor's first cache has to hold.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Domain {
    /// Logical time: pages the host has written here since the policies were made.
    pub(crate) clock: u64,
    pub(crate) job: Option<Job>,
    /// Units in the free pool.
    pub(crate) free: u32,
    /// Valid pages.
    pub(crate) valid: u32,
    /// Victims in a row that had no invalid page.
    pub(crate) fruitless: u32,
    pub(crate) frontiers: [Frontier; MAX_STREAMS],
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
    pub(crate) allocation: Allocation,
    pub(crate) pool: AnyPool,
    pub(crate) victim: AnyVictim,
    pub(crate) wear: WearLeveling,
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
    pub(crate) early: Vec<u32>,
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
    pub(crate) next_die: Vec<u32>,
    pub(crate) burst_left: Vec<u32>,
    /// Dynamic allocation: by die, whose turn it is among its domains.
    pub(crate) next_domain: Vec<u32>,
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
    /// What its parts take; `keeps_spares`: where pages have spare areas.
    pub(crate) fn bytes(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>, keeps_spares: bool) -> Bytes {
        let shape = shape_of(geometry);
        let (units, domains) = (u64::from(shape.units()), u64::from(shape.domains));
        let of_map = if policies.is_dftl() { dftl::translation_pages(geometry, user_pages) } else { 0 };
        let cached_map = if policies.is_dftl() {
            let cache = policies.mapping.get("cache") as u64;
            let is_apart = crate::allocation::is_dynamic(policies.allocation.name);
            Dftl::bytes(geometry, user_pages, cache, is_apart, keeps_spares)
        } else {
            0
        };
        let chosen = AnyPool::bytes(policies.block_allocation, shape)
            + AnyVictim::bytes(policies.victim, shape)
            + WearLeveling::bytes(policies.wear_leveling, shape);
        let of_unit = (size_of::<Unit>() + 2 * size_of::<u32>() + size_of::<u8>()) as u64;
        let of_domain = (size_of::<Domain>() + size_of::<Vec<Job>>() + 2 * size_of::<u32>()) as u64;
        let regions = Separation::bytes(policies.separation, user_pages);
        Bytes {
            maps: FlatArray::bytes(user_pages + of_map) + FlatArray::bytes(geometry.pages()),
            cached_map,
            blocks: units * of_unit + domains * of_domain + Protection::bytes(policies.paired_page, domains) + chosen,
            regions,
            // With a list of the closed units.
            renewed: chosen + regions + units * 4,
        }
    }

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

    pub(crate) fn has_errand(&self, domain: u32) -> bool {
        self.has_map_errand(domain)
            || self.protection.guards.get(domain as usize).is_some_and(|guard| guard.errand.is_some())
    }

    /// Whether a dynamic allocation may give a page to a domain now.
    #[inline]
    pub fn accepts(&self, domain: u32) -> bool {
        let unwritten = self.dftl.as_ref().map_or(0, |dftl| dftl.unwritten(domain));
        self.domains[domain as usize].valid + unwritten < self.max_valid && !self.is_collecting(domain)
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
    pub(crate) fn copy_stream(&self, domain: u32, from: Ppn) -> usize {
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
            self.entry_written(lpn);
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

    /// Erases by unit.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Writes `lpn` at a frontier and points the map at it. The caller has dealt with the old version.
    #[inline]
    pub(crate) fn append(&mut self, domain: u32, stream: usize, lpn: Lpn) -> Ppn {
        let Frontier { unit, slot } = self.open_frontier(domain, stream);
        let ppn = self.geometry.ppn(unit, slot);
        self.map[lpn.index()] = ppn.0;
        self.reverse[ppn.index()] = lpn.0;
        // Programs of a unit lie far apart in time, as steps of a collection do.
        let coming = (slot + PREFETCH_DISTANCE).min(self.geometry.unit_slots() - 1);
        self.reverse.prefetch(self.geometry.ppn(unit, coming).index());
        self.units[unit as usize].valid += 1;
        self.advance(domain, stream, unit, slot);
        ppn
    }

    /// Moves a frontier past a slot.
    #[inline]
    pub(crate) fn advance(&mut self, domain: u32, stream: usize, unit: u32, slot: u32) {
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

    /// Gives every domain a unit for backups, where the protection keeps one.
    fn open_backups(&mut self) {
        if self.protection.scheme.keeps_backups() {
            (0..self.geometry.domains()).for_each(|domain| self.open_backup(domain));
        }
    }
}

pub(crate) fn shape_of(geometry: &Geometry) -> Shape {
    Shape { domains: geometry.domains(), units_per_domain: geometry.units_per_domain(), slots: geometry.unit_slots() }
}
