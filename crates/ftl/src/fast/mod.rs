//! FAST: a page-mapped log in front of block-mapped data (Lee, Park, Chung, Lee, Park and Song, "A log buffer-based
//! flash translation layer using fully-associative sector translation", ACM TECS 6(3), 2007).
//!
//! Each domain is self-contained. The pages that the allocation sends to it, in the order of their LPNs, form *logical
//! blocks* of as many pages as a reclaim unit has slots. A logical block has at most one *data block*, in which a page
//! lies at its own offset. The host writes to *log blocks* only:
//!
//! - A write to the first page of a logical block opens the domain's one sequential-write log block; writes that go on
//!   from there are appended to it. When it holds the whole logical block it becomes the data block and the old one is
//!   erased: a *switch merge*, without a copy.
//! - All other writes go to the random-write log blocks, whichever logical block they belong to ("fully associative").
//!   When the log has no block left the oldest of them is recycled by a *full merge*: each logical block that has a
//!   newest page in it is gathered from all log blocks and its data block into a fresh block, and its old data block
//!   is erased; then the log block is erased. Whether other log blocks give their pages too is a parameter, [`Gather`].
//! - A sequential-write log block is broken off by a write that starts another one, or that belongs to its logical
//!   block and is not the next one. What becomes of it is a parameter, [`Broken`]; one reading is the *partial merge*,
//!   which copies the rest of the logical block behind what is there.
//!
//! Readings of what the paper leaves open:
//!
//! - A full merge begins as soon as the next write may find no log block, not when one does. The log so holds almost a
//!   block less, and a write never waits for a merge that could have been known of. See [`Start`].
//! - The victim is the oldest random-write log block, by the time it became one, full or not.
//! - When a full merge meets the logical block that the open sequential-write log block belongs to, the gathered pages
//!   go behind those, as in a partial merge; their order allows it and it saves copies.
//! - Pages that were never written, or were trimmed, have no newest version. Blocks are programmed without gaps, so a
//!   dummy page is programmed in their place, except behind the last written page of a logical block. The same goes for
//!   pages that stay in another log block ([`Gather::Victim`]): their version in the data block is never read again, so
//!   copying it would cost a read more than the dummy and leave a stale page that looks like data.
//! - Host writes never go to a data block, also where it has erased pages at its end.
//!
//! All state is whole between any two calls. A full merge can rest between two logical blocks ([`Fast::may_suspend`]),
//! and host writes may go on meanwhile: this is a preemption point of Wen and Chang's GC forwarding (Figure 5).

mod calls;
mod invariants;
mod merge;
mod refusals;

use std::collections::BTreeSet;

use base::{Choice, Domain, FastDiv, Geometry, Lpn, Param, ParamKind, Ppn, Selection, Slot, Unit};
use engine::FlatArray;

pub use refusals::NO_STATES;
pub(crate) use refusals::{SCOPE, check, in_words};

use crate::allocation::Allocation;
use crate::kernel::shape_of;
use crate::ops::{PagePayload, Placed};
use crate::pool::{AnyPool, FreePool};
use crate::{Bytes, OutOfMemory};

pub use merge::Merges;
use merge::{MergeKind, placed};

/// "No page" in the maps, "no unit" in tables of units.
const NONE: u32 = u32::MAX;

/// The fewest log blocks with which a domain can go on for ever: one sequential, one random.
pub const LEAST_LOG_BLOCKS: u32 = 2;

/// The end of a sequential-write log block that is broken off before it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It is filled up as a random-write log block (Wen and Chang, section 4.2: "reuses these SW log blocks as RW log
    /// blocks to better use free flash space").
    Fill,
    /// It is completed at once by a partial merge and becomes the data block (Lee et al.).
    Merge,
    /// It counts as a full random-write log block; its remaining pages are not used until it is erased.
    Waste,
}

/// When the first page of a logical block opens a sequential-write log block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Always (Lee et al.). The log is full when its last block is opened, whatever room its other blocks have.
    Always,
    /// While a log block is free for it; else the page is a random write. The log is full when its last block is open
    /// and all random-write log blocks are full.
    IfSpare,
    /// Unless so many log blocks that were broken off still have room: then the page is a random write, which fills them.
    /// The log is full when its last block is opened and fewer have room.
    Bounded(u32),
}

/// Which log blocks a merge takes the newest pages of its logical block from, beside the old data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    /// All of them (Lee et al.).
    All,
    /// The one that the merge is for: the recycled log block in a full merge (Wen and Chang, section 3.3: "collects valid
    /// page data from the old data block and the victim block"), the sequential-write log block in a partial one. Newest
    /// pages in other log blocks stay there, and are merged when their block is recycled.
    Victim,
}

/// The parameters of the mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// Log blocks of a domain, with the sequential one. At least [`LEAST_LOG_BLOCKS`].
    pub log_blocks: u32,
    /// Blocks of a domain that are neither data nor log, at least one: the destination of a merge.
    pub reserve: u32,
    /// The end of broken sequential-write log blocks.
    pub broken: Broken,
    /// When a sequential-write log block is opened.
    pub start: Start,
    /// Where a merge takes pages from.
    pub gather: Gather,
}

/// The mapping, for the configuration reader.
pub(crate) const CHOICE: Choice = Choice {
    name: "fast",
    doc: "Hybrid mapping (FAST): writes go to page-mapped log blocks, which are merged into block-mapped data blocks.",
    params: &[
        Param {
            name: "log_blocks",
            kind: ParamKind::Integer { default: 0, min: 0, max: 16_777_216 },
            doc: "Log blocks of each plane, with the sequential-write log block; 0: all spare blocks but `free_blocks`.",
        },
        Param::word(
            "broken",
            &["merge", "fill", "waste"],
            "A sequential-write log block that is broken off before it is full is merged at once (Lee et al. 2007), \
             filled up with random writes (GC forwarding, section 4.2), or left as it is until it is recycled.",
        ),
        Param::word(
            "start",
            &["always", "if-spare", "bounded"],
            "The first page of a logical block opens a sequential-write log block always; or while a log block is free, and \
             merges wait until the log has no room at all; or unless `reused_blocks` log blocks have room, and merges wait \
             until fewer have.",
        ),
        Param {
            name: "reused_blocks",
            kind: ParamKind::Integer { default: 4, min: 1, max: 16_777_216 },
            doc: "Under `start = \"bounded\"`: log blocks that were broken off and still have room, from which on a first \
                  page opens no other.",
        },
        Param::word(
            "gather",
            &["all", "victim"],
            "A merge takes the newest pages of its logical block from all log blocks (Lee et al. 2007), or only from the \
             one that it is for (GC forwarding, section 3.3, to the letter); those in other log blocks stay there until \
             these are recycled.",
        ),
    ],
};

impl LogOptions {
    /// The parameters under a selection of this mapping, beside a user space.
    pub fn new(mapping: &Selection, reserve: u32, geometry: &Geometry, user_pages: u64) -> LogOptions {
        let log_blocks = match mapping.integer("log_blocks") {
            0 => most_log_blocks(geometry, user_pages, reserve),
            some => some,
        };
        let reused_blocks = mapping.integer("reused_blocks");
        LogOptions {
            log_blocks,
            reserve,
            broken: match mapping.word("broken") {
                "merge" => Broken::Merge,
                "fill" => Broken::Fill,
                _ => Broken::Waste,
            },
            start: match mapping.word("start") {
                "always" => Start::Always,
                "if-spare" => Start::IfSpare,
                _ => Start::Bounded(reused_blocks),
            },
            gather: if mapping.word("gather") == "all" { Gather::All } else { Gather::Victim },
        }
    }
}

/// The use of a reclaim unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnitRole {
    Free,
    Data,
    Log,
    /// A merge fills it.
    Destination,
    /// A data block whose pages have all been merged elsewhere: it waits to be erased.
    Spent,
}

/// The open sequential-write log block.
#[derive(Clone, Copy, Debug)]
struct SequentialLog {
    unit: Unit,
    /// Logical block, counted in the domain.
    block: u32,
    /// Pages of the logical block.
    pages: u32,
}

/// A logical block on its way into a new data block.
#[derive(Clone, Copy, Debug)]
struct Merge {
    kind: MergeKind,
    /// Logical block, counted in the domain.
    block: u32,
    destination: Unit,
    /// The log block that it is for; the destination itself, unless it is a full merge.
    log: Unit,
    /// The next offset to program.
    cursor: u32,
    /// No page of the logical block at or behind this offset is merged.
    end: u32,
    /// True if the page before that offset is known to be merged: it was looked for since the merge began.
    is_trimmed: bool,
}

/// The recycling of the oldest random-write log block.
#[derive(Clone, Copy, Debug)]
struct Recycling {
    /// Slots of the log block before this one are done.
    cursor: Slot,
    /// Ahead of need.
    forward: bool,
    /// Put down between two logical blocks.
    suspended: bool,
    /// The erase of an emptied log block comes before anything else.
    erases: bool,
}

#[derive(Clone, Debug)]
struct LogDomain {
    sequential: Option<SequentialLog>,
    /// Where the ring of random-write log blocks begins: the oldest one.
    head: u32,
    /// Random-write log blocks.
    random: u32,
    /// Random-write log blocks, from the oldest on, that take no more pages.
    filled: u32,
    /// The free unit that is used next, once it was asked for.
    next: Option<Unit>,
    merge: Option<Merge>,
    /// The spent data block that has to be erased before anything else.
    erase: Option<Unit>,
    recycling: Option<Recycling>,
    /// Random-write log blocks, from the oldest on, without any newest version. They stand before the one that is
    /// recycled, and wait for their erase.
    emptied: u32,
}

impl LogDomain {
    const PRISTINE: LogDomain = LogDomain {
        sequential: None,
        head: 0,
        random: 0,
        filled: 0,
        next: None,
        merge: None,
        erase: None,
        recycling: None,
        emptied: 0,
    };

    /// Log blocks in use.
    fn log_blocks(&self) -> u32 {
        self.random + u32::from(self.sequential.is_some())
    }
}

/// The hybrid-mapped flash translation layer.
#[derive(Clone)]
pub struct Fast {
    geometry: Geometry,
    options: LogOptions,
    slots: FastDiv,
    allocation: Allocation,
    stripe: FastDiv,
    /// By domain: its place in a stripe of LPNs.
    position: Vec<u32>,
    /// PPN of the newest version, by LPN.
    map: FlatArray,
    /// LPN by PPN, where the page is the newest version of one.
    reverse: FlatArray,
    /// By unit: what it is used for.
    roles: Vec<UnitRole>,
    /// By unit: pages that are the newest version of theirs.
    valid: Vec<u16>,
    /// By log unit: the next slot to write.
    used: Vec<u16>,
    erases: Vec<u32>,
    /// Logical blocks of a domain.
    logical_blocks: u32,
    /// Data block by domain and logical block: the word for a unit or for none.
    data: Vec<u32>,
    /// By domain: the random-write log blocks, a ring of `log_blocks` places. What a place holds that is not in use means
    /// nothing.
    ring: Vec<Unit>,
    domains: Vec<LogDomain>,
    pool: AnyPool,
    merges: Merges,
    /// Pages whose data could not be corrected when a merge read them, unless they were written since.
    lost: BTreeSet<Lpn>,
}

/// Logical blocks that a domain needs for a user space.
fn logical_blocks(geometry: &Geometry, user_pages: u64) -> u64 {
    user_pages.div_ceil(u64::from(geometry.domains())).div_ceil(u64::from(geometry.unit_slots()))
}

/// The most log blocks that a domain can have beside a user space and a reserve.
pub fn most_log_blocks(geometry: &Geometry, user_pages: u64, reserve: u32) -> u32 {
    let taken = logical_blocks(geometry, user_pages) + u64::from(reserve);
    u64::from(geometry.units_per_domain()).saturating_sub(taken) as u32
}

/// The largest user space, in pages, beside so many log blocks in each domain and a reserve.
pub fn largest_user_pages(geometry: &Geometry, log_blocks: u32, reserve: u32) -> u64 {
    let taken = u64::from(reserve) + u64::from(log_blocks.max(LEAST_LOG_BLOCKS));
    let blocks = u64::from(geometry.units_per_domain()).saturating_sub(taken);
    blocks * u64::from(geometry.unit_slots()) * u64::from(geometry.domains())
}

// What the host sees.
impl Fast {
    /// The memory of its parts.
    pub(crate) fn bytes(
        geometry: &Geometry,
        user_pages: u64,
        options: LogOptions,
        block_allocation: &Selection,
    ) -> Bytes {
        let shape = shape_of(geometry);
        let (units, domains) = (u64::from(shape.units()), u64::from(shape.domains));
        let blocks = logical_blocks(geometry, user_pages) + u64::from(options.log_blocks);
        let of_unit = (size_of::<UnitRole>() + 2 * size_of::<u16>() + size_of::<u32>()) as u64;
        let of_domain = size_of::<LogDomain>() as u64 + (1 + blocks) * 4;
        Bytes {
            maps: FlatArray::bytes(user_pages) + FlatArray::bytes(geometry.pages()),
            blocks: units * of_unit + domains * of_domain + AnyPool::bytes(block_allocation, shape),
            renewed: AnyPool::bytes(block_allocation, shape),
            ..Bytes::default()
        }
    }

    /// An FTL over a pristine array, under a static allocation.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    ///
    /// # Panics
    /// If the allocation is dynamic, or the log blocks are too few, or too many beside the user space.
    pub fn new(
        geometry: Geometry,
        user_pages: u64,
        options: LogOptions,
        allocation: Allocation,
        block_allocation: &Selection,
    ) -> Result<Fast, OutOfMemory> {
        assert!(allocation.dynamic().is_none(), "a logical block lies in one domain, which a formula has to name");
        assert!(options.log_blocks >= LEAST_LOG_BLOCKS, "a domain needs two log blocks");
        assert!(options.reserve >= 1, "a merge needs a block to go to");
        let most = most_log_blocks(&geometry, user_pages, options.reserve);
        assert!(options.log_blocks <= most, "no room for the log blocks");
        let shape = shape_of(&geometry);
        let mut position = vec![0; shape.domains as usize];
        for at in 0..shape.domains {
            position[allocation.domain_of(Lpn(at)).expect("a static order").index()] = at;
        }
        let units = geometry.units() as usize;
        let logical_blocks = logical_blocks(&geometry, user_pages) as u32;
        let memory = |reason| OutOfMemory { megabytes: (geometry.pages() + user_pages) * 4 / 1_000_000, reason };
        let mut fast = Fast {
            map: FlatArray::filled(user_pages as usize, NONE).map_err(memory)?,
            reverse: FlatArray::filled(geometry.pages() as usize, NONE).map_err(memory)?,
            slots: FastDiv::new(shape.slots),
            stripe: FastDiv::new(shape.domains),
            position,
            allocation,
            roles: vec![UnitRole::Free; units],
            valid: vec![0; units],
            used: vec![0; units],
            erases: vec![0; units],
            logical_blocks,
            data: vec![Unit::to_word(None); (logical_blocks * shape.domains) as usize],
            ring: vec![Unit::new(0); (options.log_blocks * shape.domains) as usize],
            domains: vec![LogDomain::PRISTINE; shape.domains as usize],
            pool: AnyPool::build(block_allocation, shape),
            merges: Merges::default(),
            lost: BTreeSet::new(),
            options,
            geometry,
        };
        fast.renew_pool(block_allocation);
        Ok(fast)
    }

    /// Makes the block allocation anew and forgets what merges did: preconditioning ends with this.
    pub fn renew_pool(&mut self, block_allocation: &Selection) {
        self.pool = AnyPool::build(block_allocation, shape_of(&self.geometry));
        for unit in self.geometry.all_units() {
            if self.roles[unit.index()] == UnitRole::Free {
                self.pool.put(self.geometry.domain_of_unit(unit), unit, self.erases[unit.index()]);
            }
        }
        for domain in &mut self.domains {
            domain.next = None;
        }
        self.merges = Merges::default();
    }

    /// Logical pages.
    pub fn user_pages(&self) -> u32 {
        self.map.len() as u32
    }

    /// The work of merges so far.
    pub(crate) fn figures(&self) -> crate::Figures {
        let (mut figures, merges) = (crate::Figures::default(), &self.merges);
        let mut count = |name, count| figures.count("mapping", name, count);
        count("log_blocks", u64::from(self.options.log_blocks));
        count("switch_merges", merges.switch);
        count("partial_merges", merges.partial);
        count("full_merges", merges.full);
        count("padded_pages", merges.padded);
        // Logical blocks that a full merge gathers: its associativity.
        figures.ratio("mapping", "blocks_per_full_merge", merges.gathered, merges.full);
        figures
    }

    /// The work of merges since preconditioning.
    pub fn merges(&self) -> Merges {
        self.merges
    }

    /// Erases by unit.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// The domain of a logical page.
    #[inline]
    pub fn domain_of(&self, lpn: Lpn) -> Domain {
        self.allocation.domain_of(lpn).expect("a static order")
    }

    /// Where a logical page is, if it was ever written (and not trimmed since).
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let ppn = self.map[lpn.index()];
        (ppn != NONE).then_some(Ppn(ppn))
    }

    /// Asks for what a coming write of the page will invalidate. Best some time after its map entry was asked for.
    #[inline]
    pub fn prefetch_old(&self, lpn: Lpn) {
        if let Some(ppn) = self.lookup(lpn) {
            self.reverse.prefetch(ppn.index());
        }
    }

    /// True if a physical page holds current data.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.reverse[ppn.index()] != NONE
    }

    /// The logical page whose newest version a physical page is.
    fn lpn_at(&self, at: Ppn) -> Option<Lpn> {
        Some(self.reverse[at.index()]).filter(|&lpn| lpn != NONE).map(Lpn)
    }

    /// Log blocks of a domain that are free. Blocks are merged when none is left.
    #[inline]
    pub fn spare_log_blocks(&self, domain: Domain) -> u32 {
        self.options.log_blocks - self.domains[domain.index()].log_blocks()
    }

    /// Where the next host page of a domain goes.
    ///
    /// # Panics
    /// If the domain is busy with a merge.
    fn next_host_page(&mut self, domain: Domain, lpn: Lpn) -> Ppn {
        assert!(!self.is_busy(domain), "a domain takes no host pages while it merges");
        let (block, offset) = self.block_and_offset(lpn);
        let sequential = self.domains[domain.index()].sequential;
        let place = match sequential {
            Some(open) if self.continues(open, block, offset) => Some(open.unit),
            _ if self.starts(domain, offset) => None,
            Some(open) if open.block == block && self.options.broken == Broken::Fill => {
                self.random_log_block(domain).or(Some(open.unit))
            }
            _ => self.random_log_block(domain),
        };
        match place {
            Some(unit) => self.geometry.ppn(unit, self.next_slot(unit)),
            None => {
                let unit = self.next_unit(domain);
                self.geometry.ppn(unit, Slot::FIRST)
            }
        }
    }

    /// Places a page that the host writes, and makes its old version invalid.
    ///
    /// Merges may begin ([`Fast::is_busy`]): they have to end, or to rest, before the domain takes another page.
    ///
    /// # Panics
    /// If the domain is busy with a merge, or there is no such page.
    #[inline]
    pub fn write(&mut self, domain: Domain, lpn: Lpn) -> Placed {
        assert!(!self.is_busy(domain), "a domain takes no host pages while it merges");
        debug_assert_eq!(self.domain_of(lpn), domain, "the formula names the domain");
        let (block, offset) = self.block_and_offset(lpn);
        self.invalidate(lpn);
        let unit = match self.domains[domain.index()].sequential {
            Some(open) if self.continues(open, block, offset) => open.unit,
            open => {
                let starts = self.starts(domain, offset);
                if let Some(open) = open
                    && (starts || open.block == block)
                {
                    self.break_off(domain, open);
                }
                if starts { self.open_sequential(domain, block) } else { self.open_random(domain) }
            }
        };
        let slot = self.next_slot(unit);
        self.used[unit.index()] += 1;
        let at = self.place_at(unit, slot, lpn);
        self.settle(domain);
        placed(at, PagePayload::Data(lpn))
    }

    /// Writes a page of the host, if its place suits.
    pub fn write_if(&mut self, domain: Domain, lpn: Lpn, suits: impl FnOnce(Ppn) -> bool) -> Option<Placed> {
        suits(self.next_host_page(domain, lpn)).then(|| self.write(domain, lpn))
    }

    /// Forgets a logical page. Returns whether it was mapped.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        let was_mapped = self.invalidate(lpn);
        if was_mapped {
            self.settle(self.domain_of(lpn));
        }
        was_mapped
    }
}

// Log blocks.
impl Fast {
    /// Says in words a domain's free blocks, its job and its next operation.
    pub(crate) fn in_words(&self, domain: Domain) -> String {
        let of = &self.domains[domain.index()];
        let random = of.random;
        let begun = [
            (of.merge.is_some(), "a merge"),
            (of.erase.is_some(), "the erase of a data block"),
            (of.recycling.is_some(), "the recycling of a log block"),
        ];
        let begun: Vec<&str> = begun.into_iter().filter_map(|(is, name)| is.then_some(name)).collect();
        format!("{random} log blocks for random writes; in hand: {}", begun.join(", "))
    }

    /// True if a write goes on with the open sequential-write log block.
    #[inline]
    fn continues(&self, open: SequentialLog, block: u32, offset: u32) -> bool {
        open.block == block && u32::from(self.used[open.unit.index()]) == offset
    }

    /// True if a write opens a sequential-write log block.
    #[inline]
    fn starts(&mut self, domain: Domain, offset: u32) -> bool {
        offset == 0
            && match self.options.start {
                Start::Always => true,
                Start::IfSpare => self.spare_log_blocks(domain) > 0,
                Start::Bounded(most) => self.with_room(domain) < most,
            }
    }

    /// True if the log takes a page, whichever it is, without a merge.
    #[inline]
    fn has_room(&mut self, domain: Domain) -> bool {
        self.spare_log_blocks(domain) > 0
            || match self.options.start {
                Start::Always => false,
                Start::IfSpare => self.random_log_block(domain).is_some(),
                Start::Bounded(most) => self.with_room(domain) >= most,
            }
    }

    /// Random-write log blocks that have room, where all behind the first one have: none of them is wasted.
    #[inline]
    fn with_room(&mut self, domain: Domain) -> u32 {
        self.random_log_block(domain);
        let LogDomain { filled, random, .. } = self.domains[domain.index()];
        random - filled
    }

    #[cold]
    fn break_off(&mut self, domain: Domain, open: SequentialLog) {
        match self.options.broken {
            Broken::Merge => self.close_sequential(domain, MergeKind::Partial),
            Broken::Fill | Broken::Waste => {
                if self.options.broken == Broken::Waste {
                    self.used[open.unit.index()] = self.geometry.unit_slots() as u16;
                }
                self.domains[domain.index()].sequential = None;
                self.push_random(domain, open.unit);
            }
        }
    }

    /// The open sequential-write log block becomes the data block of its logical block, once that is whole in it.
    fn close_sequential(&mut self, domain: Domain, kind: MergeKind) {
        let open = self.domains[domain.index()].sequential.take().expect("a sequential-write log block is open");
        let cursor = u32::from(self.used[open.unit.index()]);
        self.begin_merge(domain, kind, open.block, open.unit, open.unit, cursor);
    }

    #[cold]
    fn open_sequential(&mut self, domain: Domain, block: u32) -> Unit {
        let unit = self.take_next(domain, UnitRole::Log);
        let pages = self.pages_of(domain, block);
        self.domains[domain.index()].sequential = Some(SequentialLog { unit, block, pages });
        unit
    }

    /// The random-write log block that takes the next page.
    #[inline]
    fn open_random(&mut self, domain: Domain) -> Unit {
        if let Some(unit) = self.random_log_block(domain) {
            return unit;
        }
        let unit = self.take_next(domain, UnitRole::Log);
        self.push_random(domain, unit);
        unit
    }

    /// The oldest random-write log block that takes pages.
    #[inline]
    fn random_log_block(&mut self, domain: Domain) -> Option<Unit> {
        loop {
            let LogDomain { filled, random, .. } = self.domains[domain.index()];
            if filled == random {
                return None;
            }
            let unit = self.random_at(domain, filled);
            if u32::from(self.used[unit.index()]) < self.geometry.unit_slots() {
                return Some(unit);
            }
            self.domains[domain.index()].filled += 1;
        }
    }

    /// The random-write log block of that age; 0 is the oldest.
    #[inline]
    fn random_at(&self, domain: Domain, age: u32) -> Unit {
        self.ring[self.ring_place(domain, age)]
    }

    #[inline]
    fn ring_place(&self, domain: Domain, age: u32) -> usize {
        let places = self.options.log_blocks;
        let at = self.domains[domain.index()].head + age;
        (domain.number() * places + if at >= places { at - places } else { at }) as usize
    }

    fn push_random(&mut self, domain: Domain, unit: Unit) {
        let place = self.ring_place(domain, self.domains[domain.index()].random);
        self.ring[place] = unit;
        self.domains[domain.index()].random += 1;
    }

    /// Takes the oldest random-write log block out of the ring.
    fn pop_random(&mut self, domain: Domain) {
        let places = self.options.log_blocks;
        let state = &mut self.domains[domain.index()];
        state.head = if state.head + 1 == places { 0 } else { state.head + 1 };
        state.random -= 1;
        state.filled -= 1;
    }

    /// The free unit that will be used next.
    fn next_unit(&mut self, domain: Domain) -> Unit {
        let (next, pool) = (&mut self.domains[domain.index()].next, &mut self.pool);
        *next.get_or_insert_with(|| pool.take(domain).expect("a block beside data and log is free"))
    }

    fn take_next(&mut self, domain: Domain, role: UnitRole) -> Unit {
        let unit = self.next_unit(domain);
        self.domains[domain.index()].next = None;
        self.roles[unit.index()] = role;
        self.used[unit.index()] = 0;
        unit
    }
}

// Pages.
impl Fast {
    /// Logical block, counted in the page's domain, and offset in it.
    #[inline]
    fn block_and_offset(&self, lpn: Lpn) -> (u32, u32) {
        self.slots.split(self.stripe.quotient(lpn.0))
    }

    /// The page at an offset of a logical block.
    #[inline]
    fn lpn(&self, domain: Domain, block: u32, offset: u32) -> Lpn {
        Lpn((block * self.geometry.unit_slots() + offset) * self.stripe.divisor() + self.position[domain.index()])
    }

    /// Pages of a logical block: the last one of a domain may have fewer than a unit.
    fn pages_of(&self, domain: Domain, block: u32) -> u32 {
        let first = self.lpn(domain, block, 0).0;
        let left = (self.user_pages() - first).div_ceil(self.stripe.divisor());
        left.min(self.geometry.unit_slots())
    }

    /// The next slot to write of a log block.
    #[inline]
    fn next_slot(&self, unit: Unit) -> Slot {
        Slot::new(u32::from(self.used[unit.index()]))
    }

    #[inline]
    fn place_at(&mut self, unit: Unit, slot: Slot, lpn: Lpn) -> Ppn {
        let ppn = self.geometry.ppn(unit, slot);
        self.map[lpn.index()] = ppn.0;
        self.reverse[ppn.index()] = lpn.0;
        self.valid[unit.index()] += 1;
        ppn
    }

    /// Forgets where a page is. Returns whether it was mapped.
    #[inline]
    fn invalidate(&mut self, lpn: Lpn) -> bool {
        let old = std::mem::replace(&mut self.map[lpn.index()], NONE);
        if old == NONE {
            return false;
        }
        self.reverse[old as usize] = NONE;
        self.valid[self.geometry.unit_of(Ppn(old)).index()] -= 1;
        true
    }
}
