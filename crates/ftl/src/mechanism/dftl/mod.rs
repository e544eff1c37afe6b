//! DFTL: page mapping of which only a part is in DRAM (Gupta, Kim and Urgaonkar, "DFTL: a flash translation layer
//! employing demand-based selective caching of page-level address mappings", ASPLOS 2009).
//!
//! The map lies in flash, on *translation pages* of consecutive entries; a *global translation directory* in DRAM knows
//! where each of them is. A *cached mapping table* holds the entries that are in use. A page that is read or written
//! needs its entry there: a miss *fetches* the translation page, and evicts the entry that was used least recently. If
//! that one is dirty its translation page is written back first, with all dirty entries of that page (*batch update*).
//! A collection that moves a page changes its entry in the table if it is there (*lazy copying*); the others' translation
//! pages are updated before the victim is erased, each once.
//!
//! How it is built: the kernel's page map stays in the simulator's memory as what is true; here is what the
//! controller knows of it. Translation pages are logical pages behind the user's, so that the directory is the end of
//! that map, and map, reverse map, collections and victims treat them as any page. They have a stream of their own, so
//! a block holds translation pages or data. A domain is an instance of its own: the cache is divided evenly, and a
//! domain's translation pages hold the entries of the LPNs that it *owns*, in their order.
//!
//! A translation page is what the array programs at once: a flash page or, where map units are parts of one and rows of twin
//! blocks are programmed as a whole, a row. It is as many logical pages as that has map units. They are placed together, so that
//! they become invalid together and move together.
//!
//! A static allocation has a page and its entry in one domain. Under a dynamic one a page lies anywhere, and a formula
//! names the owner of its entry, so that its translation page can be found. Then a collection may move pages whose
//! entries other domains own: when its victim is empty it is *parked*, the owners are asked for the updates, and it goes
//! on to the erase when these are in flash. Meanwhile the domain is at the others' service, but collects no further data.
//!
//! Readings of what the paper leaves open:
//!
//! - The cache is LRU; the paper's is a segmented LRU.
//! - A write of a page needs its old entry, as a read does (the paper's algorithm). Where no translation page was ever
//!   written there is nothing to fetch.
//! - An update is a read of the translation page and a program of the new one, also where all entries are at hand.
//! - While a domain is collected no entry is written back, so that the room that the collection needs stays: a read that
//!   misses evicts the oldest clean entry, and waits if there is none.
//! - A trim changes cached entries in the cache; translation pages of others are updated at once, each once.

mod cache;
mod check;
mod map_ops;
mod owners;
mod refusals;
mod restart;
mod saved;

use std::ops::Range;
use std::slice;

use base::{Cause, Choice, Domain, FastDiv, Geometry, Lpn, Param, ParamKind, Ppn, Slot, Unit};

use super::{
    Agenda, Combined, Keepers, NewPage, OwnWork, PageOrigin, Pending, Placing, Planned, Product, Reported, Restart,
    RoomSource, VictimEnd,
};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{Job, Kept, Kernel, Needs, Saved, Stream, Why};
use crate::ops::Step;
use crate::{Bytes, Figures, OutOfMemory, Policies};
use cache::{Cache, NONE};
pub(crate) use refusals::{check, in_words};

/// Bytes of an entry in a translation page: a physical page number, its place being the logical one.
pub const ENTRY_BYTES: u32 = 4;

/// Bytes of an entry in the cache: a logical and a physical page number.
pub const CACHED_ENTRY_BYTES: u32 = 8;

/// The fewest entries of a domain: with one, a read and a write that wait for theirs could evict each other's for ever.
pub const LEAST_ENTRIES: u32 = 2;

/// Units that a domain holds free besides `free_blocks`, and besides what updates may open: the collection that compacts
/// translation units after them may open another.
const RESERVE_TO_COMPACT: u32 = 1;

/// Collections that the victim policy may choose between two host pages of a domain that is short of free units, before
/// translation units are compacted instead. A policy that looks at neither would otherwise not gain room for ever.
const PATIENCE: u32 = 8;

/// Units that a domain holds free besides, where pages lie elsewhere than their entries: room to compact translation pages
/// that it updates for others while its own victim waits.
pub const RESERVE_FOR_OTHERS: u32 = 1;

/// The mapping, for the configuration reader.
pub(crate) const CHOICE: Choice = Choice {
    name: "dftl",
    doc: "Page mapping with the map in flash (DFTL): translation pages, and a cached mapping table in DRAM.",
    params: &[Param {
        name: "cache",
        kind: ParamKind::Size { default: 65_536, min: 1, max: 1_000_000_000_000 },
        doc: "The cached mapping table of the whole device, 8 bytes per entry, divided evenly among the planes (with twin \
              blocks: the dies).",
    }],
};

/// Map units of a translation page, each a logical page.
fn parts(geometry: &Geometry) -> u32 {
    if geometry.parts == 1 { 1 } else { geometry.row_slots() }
}

/// Entries of a translation page.
pub fn entries_per_page(geometry: &Geometry) -> u32 {
    (geometry.page_size * parts(geometry) / ENTRY_BYTES).max(1)
}

/// Entries of a domain's cache.
pub fn cached_entries(geometry: &Geometry, bytes: u64) -> u64 {
    bytes / u64::from(CACHED_ENTRY_BYTES) / u64::from(geometry.domains())
}

/// Translation pages of a domain for so many logical pages of it.
fn pages_for(geometry: &Geometry, pages: u64) -> u64 {
    pages.div_ceil(u64::from(entries_per_page(geometry)))
}

/// The most data pages of a domain that holds at most so many valid pages, those of the map among them.
pub(crate) fn most_data_pages(geometry: &Geometry, valid: u64) -> u64 {
    let (entries, parts) = (u64::from(entries_per_page(geometry)), u64::from(parts(geometry)));
    let rest = valid % (entries + parts);
    let data = valid / (entries + parts) * entries + rest.saturating_sub(parts);
    let all = |data| data + pages_for(geometry, data) * parts;
    debug_assert!(all(data) <= valid && all(data + 1) > valid);
    data
}

/// Free units that the pages of one victim may open for translation pages. A collection updates those of its own pages, and those
/// that one before it, which was suspended, has left. With schedules that put nothing down half as many would do; but then they could
/// not be compared with the others.
///
/// An SLC buffer of paired pages backs nothing up: above an update that lies in a lower page its wordline is filled with dummy pages.
pub(crate) fn opens(policies: &Policies<'_>, geometry: &Geometry) -> u32 {
    let of_update = if policies.paired_page.name == "slc-buffer" { policies.cell.bits() } else { 1 };
    units_opened(geometry, of_update)
}

/// Units that pages of the map may open, where an update takes the places of `of_update` translation pages.
fn units_opened(geometry: &Geometry, of_update: u32) -> u32 {
    let slots = u64::from(geometry.unit_slots());
    let updates = slots.min(pages_for(geometry, u64::from(geometry.units_per_domain()) * slots));
    (2 * updates * u64::from(parts(geometry) * of_update)).div_ceil(slots).max(2) as u32
}

/// Why a translation page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// An entry is to be evicted.
    WriteBack,
    /// A collection moved pages whose entries are not cached.
    Moved,
    /// Pages were trimmed whose entries are not cached.
    Trimmed,
}

/// An operation of a domain for its map. From the moment it is named until it is done it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapOp {
    /// Read a translation page for the entry that is wanted.
    Fetch(u32),
    /// Read a translation page, if it was ever written, and write its next version.
    Update(u32, Reason),
}

/// The next thing that a domain needs for its map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapNeed {
    Nothing,
    MapOp(MapOp),
    /// An operation that takes a place for a translation page, which has to be made first.
    Room,
}

/// The mapping of one domain.
#[derive(Clone, Debug)]
struct Instance {
    /// The entry that a read or write waits for.
    wanted: Option<Lpn>,
    /// On a read-only device: an entry that was fetched for a read, and found no place in the cache.
    passing: Option<Lpn>,
    /// With owners elsewhere: whether it is a write that waits.
    for_write: bool,
    /// With owners elsewhere: an entry that came for a write and stays until the page is placed. Until then no other
    /// is fetched, which could make way for itself with this one.
    held: Option<Lpn>,
    /// With owners elsewhere: the entry that a read wants next.
    next: Option<Lpn>,
    map_op: Option<MapOp>,
    /// Translation pages to update before the victim is erased: of pages that the collection moved.
    moved: Vec<u32>,
    /// True if some of them were moved by a collection before, which was suspended: they are updated first.
    carries: bool,
    /// True if some were moved under pages of the host.
    is_paired: bool,
    /// Translation pages to update, of pages that were trimmed.
    trimmed: Vec<u32>,
    /// Translation pages that could not be read: they join those with the next page of the host. On a medium that loses what is written
    /// to it at once, they would be written for ever otherwise, where each update reads another one.
    unreadable: Vec<u32>,
    /// Translation pages that collections elsewhere wait for.
    requested: Vec<u32>,
    /// A collection that waits for updates.
    parked: Option<Parked>,
    /// Logical pages of translation pages that were never written: room is kept for them.
    unwritten: u32,
    /// A translation page that is being programmed.
    in_flight: Option<u32>,
    /// Parts of it that are not placed yet.
    parts_left: u32,
    /// Closed units of translation pages.
    closed: Vec<Unit>,
    /// How often the victim policy was heard while free units were short since the last host page, and when that was, in host
    /// pages.
    heard: u32,
    heard_at: u64,
    /// When wear leveling was last asked for a unit to move, in host pages.
    levelled: u64,
}

/// A collection that has moved all pages and waits for updates before it erases its victim.
#[derive(Clone, Debug)]
struct Parked {
    job: Job,
    /// Translation pages, and how many updates of each have to be in flash.
    awaits: Vec<(u32, u32)>,
}

/// How often a translation page was updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Updates {
    /// Updates that were placed.
    placed: u32,
    /// Of these, how many are in flash.
    committed: u32,
}

/// For what a translation page is to be updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Causes {
    moved: bool,
    trimmed: bool,
}

/// The work of the mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct MapFigures {
    /// Entries that reads and writes of pages used.
    lookups: u64,
    /// Of these, how often an entry was not in the cache.
    misses: u64,
    /// Translation pages read for an entry.
    fetches: u64,
    /// Translation pages written for an entry that was to be evicted.
    write_backs: u64,
    /// Dirty entries that these wrote.
    entries_written_back: u64,
    /// Translation pages written for pages that a collection moved.
    gc_updates: u64,
    /// Entries of moved pages: changed in the cache alone, and changed by these updates.
    moved_cached: u64,
    /// See [`MapFigures::moved_cached`].
    moved_uncached: u64,
    /// Translation pages written for pages that were trimmed.
    trim_updates: u64,
}

/// DFTL in force.
#[derive(Clone)]
pub(crate) struct Dftl {
    /// Logical pages of the host; those of translation pages follow them.
    user_pages: u32,
    /// Logical pages of a translation page.
    parts: u32,
    /// Translation pages of a domain.
    pages: u32,
    /// Logical pages of a stripe: a flash page's of each domain.
    stripe: FastDiv,
    /// Logical pages of a stripe in one domain.
    run: FastDiv,
    entries: FastDiv,
    /// True if pages lie in other domains than their entries.
    has_owners_elsewhere: bool,
    /// By translation page.
    updates: Vec<Updates>,
    /// By domain: its first place in a stripe of LPNs.
    position: Vec<u32>,
    /// By place in a stripe: the domain.
    domain_at: Vec<Domain>,
    cache: Cache,
    instances: Vec<Instance>,
    /// By translation page.
    causes: Vec<Causes>,
    done: MapFigures,
    /// The entries that translation pages in flash have, by LPN; kept where pages have payloads, to check the rest against.
    in_flash: Option<Vec<Option<base::Ppn>>>,
}

/// Bytes of what a device state holds besides the maps.
pub(crate) fn bytes_of_state(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>) -> u64 {
    let domains = u64::from(geometry.domains());
    let entries = capacity(geometry, user_pages, policies.mapping.size("cache")) * domains;
    saved::bytes(entries, domains) + translation_pages(geometry, user_pages) * 4
}

/// Logical pages of the translation pages of a device.
pub(crate) fn map_pages(geometry: &Geometry, user_pages: u64) -> u64 {
    translation_pages(geometry, user_pages) * u64::from(parts(geometry))
}

/// Translation pages of a device, all domains together.
fn translation_pages(geometry: &Geometry, user_pages: u64) -> u64 {
    pages_for(geometry, entries_of_domain(geometry, user_pages)) * u64::from(geometry.domains())
}

/// Entries that a domain owns at most: logical pages of a flash page follow each other in it.
fn entries_of_domain(geometry: &Geometry, user_pages: u64) -> u64 {
    let run = u64::from(geometry.parts);
    user_pages.div_ceil(u64::from(geometry.domains()) * run) * run
}

/// Entries of a domain's cache of so many bytes in all: those that a domain has pages for at most.
fn capacity(geometry: &Geometry, user_pages: u64, bytes: u64) -> u64 {
    cached_entries(geometry, bytes).min(entries_of_domain(geometry, user_pages)).max(u64::from(LEAST_ENTRIES))
}

/// Translation pages that one collection asks to be updated at most.
fn most_moved(geometry: &Geometry, pages: u64, has_owners_elsewhere: bool) -> usize {
    let slots = u64::from(geometry.unit_slots());
    (if has_owners_elsewhere { slots } else { slots.min(pages) }) as usize
}

impl Dftl {
    fn new(geometry: &Geometry, user_pages: u64, bytes: u64, allocation: &Allocation) -> std::io::Result<Dftl> {
        let has_owners_elsewhere = allocation.dynamic().is_some();
        let (domains, run) = (geometry.domains(), geometry.parts);
        let pages = pages_for(geometry, entries_of_domain(geometry, user_pages)) as u32;
        let capacity = capacity(geometry, user_pages, bytes) as u32;
        let domain_at: Vec<Domain> =
            (0..domains * run).map(|at| allocation.domain_of(Lpn(at)).unwrap_or(Domain::new(at / run))).collect();
        let mut position = vec![0; domains as usize];
        for (at, &domain) in domain_at.iter().enumerate().step_by(run as usize) {
            position[domain.index()] = at as u32;
        }
        let most_moved = most_moved(geometry, u64::from(pages), has_owners_elsewhere);
        let instance = || Instance {
            wanted: None,
            passing: None,
            for_write: false,
            held: None,
            next: None,
            map_op: None,
            moved: Vec::with_capacity(most_moved),
            carries: false,
            is_paired: false,
            trimmed: Vec::new(),
            unreadable: Vec::new(),
            requested: Vec::new(),
            parked: None,
            unwritten: pages * parts(geometry),
            in_flight: None,
            parts_left: 0,
            closed: Vec::with_capacity(geometry.units_per_domain() as usize),
            heard: 0,
            heard_at: u64::MAX,
            levelled: u64::MAX,
        };
        let all = pages as usize * domains as usize;
        Ok(Dftl {
            user_pages: user_pages as u32,
            parts: parts(geometry),
            pages,
            has_owners_elsewhere,
            updates: vec![Updates::default(); all],
            stripe: FastDiv::new(domains * run),
            run: FastDiv::new(run),
            entries: FastDiv::new(entries_per_page(geometry)),
            position,
            domain_at,
            cache: Cache::new(capacity, domains, user_pages as usize, all)?,
            instances: (0..domains).map(|_| instance()).collect(),
            causes: vec![Causes::default(); all],
            done: MapFigures::default(),
            in_flash: None,
        })
    }

    /// The domain that owns the entry of a page of the host.
    #[inline]
    pub(crate) fn owner_of(&self, lpn: Lpn) -> Domain {
        self.domain_at[self.stripe.split(lpn.0).1 as usize]
    }

    /// The translation page of an entry.
    #[inline]
    fn page_of(&self, lpn: Lpn) -> u32 {
        let (stripe, at) = self.stripe.split(lpn.0);
        let local = stripe * self.run.divisor() + self.run.split(at).1;
        self.domain_at[at as usize].number() * self.pages + self.entries.quotient(local)
    }

    /// The domain that writes a translation page.
    fn owner_of_page(&self, page: u32) -> Domain {
        Domain::new(page / self.pages)
    }

    /// The translation pages of a domain.
    fn pages_of(&self, domain: Domain) -> Range<u32> {
        domain.number() * self.pages..(domain.number() + 1) * self.pages
    }

    /// All domains of the device.
    fn all_domains(&self) -> impl Iterator<Item = Domain> + use<> {
        (0..self.instances.len() as u32).map(Domain::new)
    }

    /// A translation page as a logical page: the first one of its parts.
    #[inline]
    fn lpn_of(&self, page: u32) -> Lpn {
        Lpn(self.user_pages + page * self.parts)
    }

    /// The logical pages of a translation page.
    fn parts_of(&self, page: u32) -> impl Iterator<Item = Lpn> + use<> {
        let first = self.lpn_of(page).0;
        (first..first + self.parts).map(Lpn)
    }

    /// The translation page of which a logical page is a part.
    fn page_with(&self, part: Lpn) -> u32 {
        (part.0 - self.user_pages) / self.parts
    }

    /// The entries of a translation page.
    fn entries_of(&self, page: u32) -> impl Iterator<Item = Lpn> + use<> {
        let (domain, number) = (self.owner_of_page(page), page % self.pages);
        let (entries, stripe, user_pages) = (self.entries.divisor(), self.stripe.divisor(), self.user_pages);
        let (position, run) = (self.position[domain.index()], self.run);
        (0..entries)
            .map(move |entry| run.split(number * entries + entry))
            .map(move |(before, at)| u64::from(before) * u64::from(stripe) + u64::from(position + at))
            .take_while(move |&lpn| lpn < u64::from(user_pages))
            .map(|lpn| Lpn(lpn as u32))
    }

    /// True if a logical page is a translation page, or a part of one.
    #[inline]
    fn is_translation(&self, lpn: u32) -> bool {
        lpn >= self.user_pages
    }

    /// Logical pages of a domain's translation pages that are not valid yet.
    #[inline]
    pub(crate) fn unwritten(&self, domain: Domain) -> u32 {
        self.instances[domain.index()].unwritten
    }

    /// True if pages lie in other domains than their map entries.
    #[inline]
    pub(crate) fn has_owners(&self) -> bool {
        self.has_owners_elsewhere
    }
}

impl Planned for Dftl {
    fn needs(policies: &Policies<'_>, geometry: &Geometry) -> Option<Needs> {
        let is_dynamic = crate::allocation::is_dynamic(policies.allocation.name);
        let opens = opens(policies, geometry);
        let reserve = opens + RESERVE_TO_COMPACT + if is_dynamic { RESERVE_FOR_OTHERS } else { 0 };
        policies.has_map().then_some(Needs { reserve, opens, on_demand: true, ..Needs::NONE })
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, user_pages: u64, keeps_spares: bool) -> Bytes {
        if !policies.has_map() {
            return Bytes::default();
        }
        let domains = u64::from(geometry.domains());
        let all = translation_pages(geometry, user_pages);
        let of_cache = policies.mapping.size("cache");
        let cache = Cache::bytes(capacity(geometry, user_pages, of_cache), domains, user_pages, all);
        let has_owners_elsewhere = crate::allocation::is_dynamic(policies.allocation.name);
        let moved = most_moved(geometry, all / domains, has_owners_elsewhere) as u64;
        let lists = moved + u64::from(geometry.units_per_domain());
        // With its place in a stripe, and the domain of each of its places there.
        let instances = domains * (size_of::<Instance>() as u64 + (lists + 1 + u64::from(geometry.parts)) * 4);
        // What translation pages say is kept beside the map there.
        let in_flash = if keeps_spares { user_pages * size_of::<Option<Ppn>>() as u64 } else { 0 };
        let cached_map = cache + instances + all * (size_of::<Updates>() + size_of::<Causes>()) as u64 + in_flash;
        Bytes { cached_map, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, allocation: &Allocation) -> Result<Option<Dftl>, OutOfMemory> {
        if !policies.has_map() {
            return Ok(None);
        }
        let bytes = policies.mapping.size("cache");
        let pages = u64::from(kernel.user_pages());
        let memory = |reason| OutOfMemory { megabytes: pages * 4 / 1_000_000, reason };
        let mut dftl = Dftl::new(kernel.geometry(), pages, bytes, allocation).map_err(memory)?;
        if kernel.keeps_spares() {
            dftl.keep_contents();
        }
        Ok(Some(dftl))
    }
}

impl Placing for Dftl {
    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.prefetch_entry(lpn);
    }

    #[inline]
    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        match page.origin {
            PageOrigin::Host { .. } => self.entry_written(kernel, page.lpn),
            PageOrigin::Copy(..) => {
                self.entry_moved(page.domain, page.lpn.0);
                if kernel.job(page.domain).is_none() {
                    let instance = &mut self.instances[page.domain.index()];
                    (instance.carries, instance.is_paired) = (true, true);
                }
            }
            PageOrigin::Anew(_) => self.entry_rewritten(kernel, page.lpn),
            PageOrigin::Map => {}
        }
    }

    fn filled(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        if kernel.holds_map(unit) {
            self.note_filled(kernel, domain, unit);
        }
    }

    fn lost(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        if self.is_translation(lpn.0) {
            self.translation_page_lost(lpn);
        } else {
            self.entry_trimmed(kernel, lpn);
        }
    }

    fn erased(&mut self, kernel: &mut Kernel, _: Domain, unit: Unit, _: Option<Why>) -> bool {
        self.check_contents(kernel, unit);
        false
    }
}

impl Agenda for Dftl {
    #[inline]
    fn is_pending(&self, domain: Domain) -> bool {
        let instance = &self.instances[domain.index()];
        instance.wanted.is_some()
            || instance.map_op.is_some()
            || !instance.trimmed.is_empty()
            || self.has_owners_elsewhere && (instance.parked.is_some() || !instance.requested.is_empty())
    }

    #[inline]
    fn pending(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        has_room: bool,
        may_fetch: bool,
        group: &mut Group,
    ) -> Option<Pending> {
        self.next_map_op(kernel, domain, has_room, may_fetch, group)
    }

    /// A collection that waited for updates goes on.
    fn take_up(&mut self, kernel: &mut Kernel, domain: Domain, _: bool, _: &mut Group) -> Option<OwnWork> {
        self.unpark(kernel, domain);
        None
    }

    fn before_copies(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<Step> {
        self.carried_update(kernel, domain, group)
    }

    fn end(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, group: &mut Group) -> Option<VictimEnd> {
        self.end_of_unit(kernel, domain, unit, group)
    }

    fn room(&mut self, kernel: &mut Kernel, domain: Domain, _: Stream, source: RoomSource) -> bool {
        source == RoomSource::Forced && self.compact(kernel, domain, Why::Room)
    }

    fn combine(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        cause: Cause,
        _: &[Ppn],
        suits: &mut dyn FnMut(Ppn) -> bool,
    ) -> Option<Combined> {
        let is_ours = !matches!(cause, Cause::Backup | Cause::Refresh);
        let goes = is_ours && suits(kernel.next_place(domain, kernel.streams().of_map()));
        goes.then(|| self.update(kernel, domain))
    }
}

impl Restart for Dftl {
    /// The content of translation pages is not looked at: each is written anew.
    fn adopt_page(&mut self, lpn: Lpn, _: u8, _: u64) {
        self.adopt_found(lpn);
    }

    fn adopt_open(&mut self, kernel: &mut Kernel, _: Domain, unit: Unit, next: Slot) -> bool {
        kernel.holds_map(unit) && !next.number().is_multiple_of(self.parts)
    }

    fn reopen(&mut self, kernel: &mut Kernel) {
        self.forget_torn_pages(kernel);
        self.all_domains().for_each(|domain| self.find_closed(kernel, domain));
    }

    fn save(&self, _: &Kernel, saved: &mut Saved<'_>) {
        saved.of_mechanisms.extend(self.words());
    }

    fn restore(&mut self, kernel: &mut Kernel, _: &[Kept], words: &mut slice::Iter<'_, u32>) -> Result<(), String> {
        self.adopt_words(kernel, &mut words.copied())
    }

    /// Forgets the figures; the cache stays, as the data do.
    fn renew(&mut self, _: &mut Kernel, _: &Policies<'_>) {
        self.done = MapFigures::default();
    }
}

impl Reported for Dftl {
    fn figures(&self, figures: &mut Figures) {
        let (domains, done) = (self.instances.len() as u64, &self.done);
        let mut count = |name, count| figures.count("mapping", name, count);
        count("cached_entries", u64::from(self.cache.capacity) * domains);
        count("translation_pages", u64::from(self.pages) * domains);
        count("lookups", done.lookups);
        count("fetches", done.fetches);
        count("write_backs", done.write_backs);
        count("gc_updates", done.gc_updates);
        count("trim_updates", done.trim_updates);
        let mut ratio = |name, part, whole| figures.ratio("mapping", name, part, whole);
        ratio("hit_fraction", done.lookups.saturating_sub(done.misses), done.lookups);
        ratio("entries_per_write_back", done.entries_written_back, done.write_backs);
        ratio("entries_per_gc_update", done.moved_uncached, done.gc_updates);
        ratio("moved_cached_fraction", done.moved_cached, done.moved_cached + done.moved_uncached);
    }

    fn kept(&self, _: &Kernel, domain: Domain, keepers: &mut Keepers) {
        keepers.in_work.extend(self.instances[domain.index()].parked.as_ref().map(|parked| parked.job.unit));
    }

    fn check(&self, kernel: &Kernel) -> Result<(), String> {
        self.check_state(kernel)
    }
}

// What page mapping asks of a map in flash, and tells it.
impl Dftl {
    /// True if something has to be done before an empty unit is erased.
    pub(crate) fn delays_erase(&self, kernel: &Kernel, domain: Domain, unit: Unit) -> bool {
        self.awaits_updates(domain) && !kernel.holds_map(unit)
    }

    /// True if wear leveling may move a unit now. It takes updates of translation pages, and these take room: one unit for each
    /// host page at most, or it could use up all that collections gain.
    pub(crate) fn may_level(&mut self, kernel: &Kernel, domain: Domain) -> bool {
        let clock = kernel.clock(domain);
        let before = &mut self.instances[domain.index()].levelled;
        kernel.free(domain) >= kernel.budget().reserve && std::mem::replace(before, clock) != clock
    }

    /// The places of the translation page that is wanted, if it was ever written.
    pub(crate) fn wanted_page(&self, kernel: &Kernel, domain: Domain) -> impl Iterator<Item = Ppn> {
        let wanted = self.instances[domain.index()].wanted;
        let parts = wanted.into_iter().flat_map(|wanted| self.parts_of(self.page_of(wanted)));
        parts.filter_map(|part| kernel.lookup(part))
    }

    /// A collection is suspended; if that is for the erase of another unit, what it was about to do is done first. Updates are left
    /// for later: they would pile up with those of the next collection.
    pub(crate) fn suspended(&mut self, domain: Domain, is_for_erase: bool) {
        let instance = &mut self.instances[domain.index()];
        if !is_for_erase {
            instance.map_op.take_if(|map_op| matches!(map_op, MapOp::Update(_, Reason::Moved)));
        }
        instance.carries = !instance.moved.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Dimensions, Selection};

    /// A cache of three entries in each of two planes, with pages of four entries.
    pub(super) fn dftl() -> Dftl {
        with_parts(1)
    }

    /// A map in flash with `parts` map units to a flash page.
    pub(super) fn with_parts(parts: u32) -> Dftl {
        let geometry = Geometry::new(Dimensions {
            planes_per_die: 2,
            blocks_per_plane: 8,
            pages_per_block: 8 * parts,
            page_size: 16 / parts,
            parts,
            ..Dimensions::ONE_PAGE
        });
        let selection = Selection::default_of(crate::allocation::SEAM.find("PCWD").unwrap());
        Dftl::new(&geometry, 42, 48, &Allocation::build(&selection, &geometry)).unwrap()
    }

    #[test]
    fn data_and_translation_pages_share_the_space() {
        for (page_size, parts) in [(4, 1), (16, 1), (4096, 1), (4, 2), (4, 4), (16, 8), (4096, 4)] {
            let geometry = Geometry::new(Dimensions {
                blocks_per_plane: 8,
                pages_per_block: 8 * parts,
                page_size,
                parts,
                ..Dimensions::ONE_PAGE
            });
            for valid in 0..200 {
                let data = most_data_pages(&geometry, valid);
                let entries = u64::from(entries_per_page(&geometry));
                let all = |data: u64| data + data.div_ceil(entries) * u64::from(parts);
                assert!(all(data) <= valid && all(data + 1) > valid, "{data} of {valid}, in {parts} parts");
            }
        }
    }

    /// A block has 32 units. Each may have its entry on another translation page, which is a flash page; but a plane of 8 blocks has so
    /// many only where these are small.
    #[test]
    fn a_victim_opens_as_many_units_as_its_updates_fill() {
        let of_updates = |page_size, parts, blocks_per_plane, of_update| {
            let sizes = Dimensions { blocks_per_plane, pages_per_block: 32, page_size, parts, ..Dimensions::ONE_PAGE };
            units_opened(&Geometry::new(sizes), of_update)
        };
        let opens = |page_size, parts, blocks_per_plane| of_updates(page_size, parts, blocks_per_plane, 1);
        assert_eq!((opens(4, 1, 8), opens(4, 4, 8), opens(4096, 1, 8), opens(4096, 4, 8)), (2, 8, 2, 2));
        // 256 units are on 16 pages of 16 entries: 64 units, and those of a victim before it once more.
        assert_eq!((opens(16, 4, 8), opens(16, 4, 16)), (4, 8));
        // A dummy page above each.
        assert_eq!((of_updates(4, 1, 8, 2), of_updates(4096, 1, 8, 2)), (4, 2));
    }

    #[test]
    fn a_translation_page_is_as_many_logical_pages_as_a_flash_page_has_units() {
        let dftl = with_parts(4);
        assert_eq!((dftl.pages, dftl.entries.divisor(), dftl.instances[0].unwritten), (6, 4, 24));
        assert_eq!(dftl.parts_of(5).collect::<Vec<_>>(), [62, 63, 64, 65].map(Lpn));
        // A flash page's four units in a row belong to one plane.
        let first = [0, 1, 2, 3].map(Lpn);
        assert_eq!(dftl.entries_of(0).collect::<Vec<_>>(), first);
        let mut seen = vec![0; 42];
        for page in 0..12 {
            assert!(dftl.parts_of(page).all(|part| dftl.page_with(part) == page && dftl.is_translation(part.0)));
            for lpn in dftl.entries_of(page) {
                assert_eq!((dftl.page_of(lpn), dftl.owner_of(lpn)), (page, Domain::new(page / 6)));
                seen[lpn.index()] += 1;
            }
        }
        assert_eq!(seen, [1; 42]);
    }

    #[test]
    fn a_translation_page_holds_the_entries_of_its_domain_in_order() {
        // Four domains, pages of four entries.
        let geometry = Geometry::new(Dimensions {
            channels: 2,
            planes_per_die: 2,
            blocks_per_plane: 8,
            pages_per_block: 8,
            page_size: 16,
            ..Dimensions::ONE_PAGE
        });
        let selection = Selection::default_of(crate::allocation::SEAM.find("PCWD").unwrap());
        let dftl = Dftl::new(&geometry, 42, 1000, &Allocation::build(&selection, &geometry)).unwrap();
        assert_eq!((dftl.pages, dftl.cache.capacity), (3, 11));
        let mut seen = vec![0; 42];
        for page in 0..12 {
            let lpns: Vec<Lpn> = dftl.entries_of(page).collect();
            assert!(lpns.len() <= 4 && lpns.is_sorted());
            for lpn in lpns {
                assert_eq!((dftl.page_of(lpn), dftl.owner_of(lpn)), (page, Domain::new(page / 3)));
                seen[lpn.index()] += 1;
            }
        }
        assert_eq!(seen, [1; 42]);
    }
}
