//! Read disturb: every read of a block disturbs its other pages, so after a number of reads they have to move (Wu, Ma and
//! Chang, "Flash Read Disturb Management Using Adaptive Cell Bit-Density with In-Place Reprogramming", DATE 2018).
//!
//! A unit is regular, a monitor, or one for read-hot pages; its state is the class of the stream that filled it. Refreshing a
//! unit moves pages along the arrows of the paper's Figure 4 (`refresh`); a monitor has a read counter for each page
//! (`counters`). What "for read-hot pages" means is the scheme's, a file of `schemes` each: a shadow unit, of which a few pages
//! are used; a unit of low density, whose guard levels are programmed with the data; or a unit at full density that is
//! reprogrammed in place when it needs refreshing (`inside`). Units that hold less than they could are withheld from the victim
//! policy, and limited to a share of each domain (`quota`).
//!
//! The kernel knows that a unit is withheld and why a collection exists; that reads are behind it is known here alone.

mod counters;
mod inside;
mod quota;
mod refresh;
mod refusals;
mod saved;
mod schemes;
mod states;
#[cfg(test)]
mod tests;

use base::{Cause, Cell, Domain, Geometry, Lpn, Page, Ppn, ProgramOrder, ReadLimits, Slot, Unit};

use counters::{Monitors, ReadCounters};
use refresh::{Intervals, RefreshWork};
pub(crate) use refusals::{check, in_words};
pub(crate) use saved::bytes_of_state;
pub use schemes::SEAM;
use schemes::{DisturbOptions, DisturbScheme, Shares};
use states::States;

use super::{
    Agenda, Arrival, Combined, Keepers, NewPage, OwnWork, PageOrigin, Picked, Placing, Planned, Reported, Restart,
    RoomSource, VictimEnd,
};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{AXES, Axis, Job, Kept, Kernel, Needs, Saved, Stream, Why, streams_of_victim};
use crate::ops::Way;
use crate::scan::Scanned;
use crate::victim::UnitState;
use crate::{Bytes, Figures, OutOfMemory, Policies, ProgramUnit};

/// The axis of block states.
const AXIS: usize = 3;

/// Pages that the host wrote or garbage collection moved.
const REGULAR: usize = 0;
/// Pages whose reads are counted.
const MONITOR: usize = 1;
/// Read-hot pages.
const HOT: usize = 2;
/// Pages that move inside their own unit.
const INSIDE: usize = 3;

/// The stream of pages that move inside their own unit.
fn stream_inside(kernel: &Kernel) -> Stream {
    let mut classes = [0; AXES];
    classes[AXIS] = INSIDE;
    kernel.streams().at(classes)
}

/// Reads of a block that its refresh takes, at most: each page once or, where the block is reprogrammed, every top page once
/// to move and every page once more.
fn reads_of_refresh(scheme: DisturbScheme, geometry: &Geometry, cell: Cell) -> u32 {
    let pages = geometry.pages_per_block;
    if scheme == DisturbScheme::Reprogrammed { pages + pages / cell.bits() } else { pages }
}

/// How often a lower page is read for one upper page of its wordline, at most, where lower pages are backed up.
///
/// Before a page is programmed, the lower pages of all wordlines that one command may complete have to be covered: those of its
/// own plane and of the ones behind it. A page of the last plane is so looked at once for each plane of the unit, and what covered
/// it may be gone each time: other active blocks fill the backup block, which is erased when it is full. That may also be in the
/// middle, where several pages are backed up one after the other; they begin anew then, and find room for all (`paired` refuses
/// blocks with fewer LSB pages than that). A parity is made of the lower page of a later wordline too, where there is one.
fn reads_of_one_backup(policies: &Policies<'_>, geometry: &Geometry) -> u32 {
    if !policies.guards_pages() {
        return 0;
    }
    let planes = geometry.unit_width;
    let begins_anew = (policies.cell.bits() - 1) * planes > 1;
    let is_in_pairs = policies.paired_page.name == "parity-backup" && policies.program_order == ProgramOrder::Shadow;
    planes * (1 + u32::from(begins_anew)) * (1 + u32::from(is_in_pairs))
}

/// Reads of a block, at most, for backups of its lower pages while it is filled: each for every upper page of its wordline.
fn reads_of_backups(policies: &Policies<'_>, geometry: &Geometry) -> u32 {
    let lowers = geometry.pages_per_block * (policies.cell.bits() - 1) / 2;
    lowers * reads_of_one_backup(policies, geometry)
}

/// Reads of a block for updates of translation pages while it is filled: each flash page may be the next version of one that lies there.
fn reads_of_updates(geometry: &Geometry) -> u32 {
    geometry.pages_per_block / geometry.parts
}

/// Reads of a block, at most, that nobody but the FTL asks for.
fn reads_owed(scheme: DisturbScheme, policies: &Policies<'_>, geometry: &Geometry) -> u32 {
    let updates = if policies.has_map() { reads_of_updates(geometry) } else { 0 };
    let of_refresh = reads_of_refresh(scheme, geometry, policies.cell) + reads_after_fault(policies, geometry);
    of_refresh + reads_of_backups(policies, geometry) + updates
}

/// Reads of a block for pages whose copies wait for others, all of which a fault can destroy. One that was programmed by itself is paid for
/// by the margin.
fn reads_after_fault(policies: &Policies<'_>, geometry: &Geometry) -> u32 {
    let ProgramUnit { slots, programs } = policies.program;
    if policies.program == ProgramUnit::PAGE { 0 } else { slots / geometry.parts * programs }
}

/// By page offset: reads of a block for backups from there on, each of which reads a page so often.
fn backups_ahead(kernel: &Kernel, reads: u32) -> Vec<u32> {
    let geometry = kernel.geometry();
    let mut ahead = vec![0; geometry.pages_per_block as usize + 1];
    for page in (0..geometry.pages_per_block).rev() {
        let lowers = kernel.wordlines().lowers_of(geometry.slot_at(Page::new(page), 0));
        ahead[page as usize] = ahead[page as usize + 1] + lowers * reads;
    }
    ahead
}

/// Units that the pages of one refresh open at most; none where none is refreshed.
pub(crate) fn opens(policies: &Policies<'_>, geometry: &Geometry, axes: [Axis; AXES]) -> u32 {
    let Some(scheme) = DisturbScheme::of(policies.read_disturb.name) else { return 0 };
    // Refreshed pages have their whole quota again, so the other axes are those of any victim.
    let others = streams_of_victim(axes) as u32;
    match scheme {
        DisturbScheme::Refresh => others,
        _ => others * (1 + Shares::of(policies, geometry).opened.max(1)),
    }
}

/// Work for read disturb since preconditioning.
#[derive(Clone, Debug, Default)]
struct DisturbFigures {
    refreshes: u64,
    /// Blocks that became monitors.
    monitored: u64,
    /// Units that became shadow or low-density ones, and those that made room.
    kept: u64,
    evicted: u64,
    /// Read-hot units that became of low density in place, and those that could not for lying outside the pool.
    reprogrammed: u64,
    skipped: u64,
    /// Shadow units erased, and how often their pages had moved inside.
    shadows: u64,
    rounds: u64,
    /// Low-density units erased, by twentieths of their read limit that were used.
    used_reads: [u64; 20],
}

/// Management of read disturb in force.
#[derive(Clone)]
pub(crate) struct Disturb {
    scheme: DisturbScheme,
    options: DisturbOptions,
    shares: Shares,
    units_per_domain: u32,
    limits: ReadLimits,
    cell: Cell,
    /// True if lower pages are to be safe from programs above them.
    guards_pages: bool,
    /// By page offset: reads that are set aside for backups of a block's lower pages while it is filled from there on.
    of_backups: Vec<u32>,
    /// Reads that are set aside for pages that have to be read once more.
    after_fault: u32,
    counters: ReadCounters,
    monitors: Monitors,
    states: States,
    /// By domain.
    domains: Vec<DomainState>,
    /// Pages that the host read and wrote: the time of intervals and rates.
    clock: u64,
    intervals: Intervals,
    done: DisturbFigures,
}

/// The state of a domain.
#[derive(Clone, Debug, Default)]
struct DomainState {
    /// Units whose pages have to move, oldest first.
    due: Vec<Unit>,
    /// The work of the collection in progress, if it is one of ours.
    work: Option<RefreshWork>,
    /// Monitor units.
    monitors: u32,
    /// Shadow or low-density units.
    kept: u32,
    /// Units that have failed for good.
    gone: u32,
    /// Streams whose next page gets guard levels, by bits.
    guards: u64,
    /// Streams whose active block is full enough, by bits.
    closes: u64,
    /// Pages that refreshes programmed, less those that their erases gave back.
    debt: i64,
    /// True if the pool was collected for the unit that comes next.
    has_tried_pool: bool,
}

impl Disturb {
    /// The scheme that was chosen, unless nothing is done.
    fn of(kernel: &Kernel, policies: &Policies<'_>) -> Option<Disturb> {
        let scheme = DisturbScheme::of(policies.read_disturb.name)?;
        let limits = policies.reads.clone().expect("a management of read disturb knows the limits");
        let geometry = *kernel.geometry();
        let shares = Shares::of(policies, &geometry);
        let options = DisturbOptions::of(policies.read_disturb, scheme);
        let owed = reads_owed(scheme, policies, &geometry);
        Some(Disturb {
            scheme,
            options,
            shares,
            units_per_domain: geometry.units_per_domain(),
            cell: policies.cell,
            guards_pages: policies.guards_pages(),
            after_fault: reads_after_fault(policies, &geometry),
            of_backups: backups_ahead(kernel, reads_of_one_backup(policies, &geometry)),
            counters: ReadCounters::new(&geometry, limits.full.saturating_sub(owed + options.margin)),
            monitors: Monitors::new(&geometry, shares.monitors * geometry.domains()),
            states: States::new(&geometry),
            domains: vec![DomainState::default(); geometry.domains() as usize],
            limits,
            clock: 0,
            intervals: Intervals::default(),
            done: DisturbFigures::default(),
        })
    }

    /// Shadow or low-density units of a domain at most: a share of the units that have not failed.
    fn kept_share(&self, domain: Domain) -> u32 {
        self.share_of_good(domain, self.shares.kept)
    }

    /// Monitor units of a domain at most, likewise.
    fn monitor_share(&self, domain: Domain) -> u32 {
        self.share_of_good(domain, self.shares.monitors)
    }

    fn share_of_good(&self, domain: Domain, of_all: u32) -> u32 {
        let (units, gone) = (u64::from(self.units_per_domain), u64::from(self.domain(domain).gone));
        (u64::from(of_all) * units.saturating_sub(gone) / units) as u32
    }

    fn domain(&self, domain: Domain) -> &DomainState {
        &self.domains[domain.index()]
    }

    fn domain_mut(&mut self, domain: Domain) -> &mut DomainState {
        &mut self.domains[domain.index()]
    }

    /// The class of the pages of a unit.
    fn class_of(&self, kernel: &Kernel, unit: Unit) -> usize {
        if self.scheme == DisturbScheme::Refresh || kernel.holds_map(unit) {
            return REGULAR;
        }
        match kernel.streams().class(kernel.stream_of(unit), AXIS) {
            INSIDE => HOT,
            class => class,
        }
    }

    /// True if a unit lies in the pool for read-hot pages.
    fn is_in_pool(&self, kernel: &Kernel, unit: Unit) -> bool {
        let units = kernel.geometry().units_per_domain();
        unit.number() % units >= self.shares.pool
    }

    /// Reads that a unit takes, besides those of its own refresh; negative when that has to hurry.
    fn left(&self, kernel: &Kernel, unit: Unit) -> i64 {
        let state = self.states.of(unit);
        let limit = if state.is_low { self.limits.low } else { self.limits.full };
        i64::from(limit) - i64::from(self.counters.taken(unit)) - i64::from(self.owed(kernel, unit))
    }

    /// Reads that the refresh of a unit still takes of its blocks, and what is set aside for those before it.
    fn owed(&self, kernel: &Kernel, unit: Unit) -> u32 {
        let (geometry, domain) = (kernel.geometry(), kernel.geometry().domain_of_unit(unit));
        let (while_filled, comes) = self.owed_while_filled(kernel, unit);
        let before = while_filled + self.after_fault;
        if let Some(RefreshWork::Inside(work)) = &self.domain(domain).work
            && work.unit == unit
        {
            return before + work.reads_left(kernel, self.cell);
        }
        let is_reprogrammed = self.scheme == DisturbScheme::Reprogrammed
            && !self.states.of(unit).is_low
            && self.class_of(kernel, unit) == HOT
            && self.is_in_pool(kernel, unit);
        before
            + if is_reprogrammed {
                reads_of_refresh(self.scheme, geometry, self.cell)
            } else {
                (kernel.valid_of(unit) + comes).min(geometry.pages_per_block)
            }
    }

    /// Reads that are owed because pages still come to a unit, and the pages that its refresh will move besides.
    ///
    /// Both are zero where none come any more. Otherwise a unit that took its reads while it was filled would be due as soon as it is
    /// full, and so would the one that its pages move to: refreshes would make refreshes, for ever.
    fn owed_while_filled(&self, kernel: &Kernel, unit: Unit) -> (u32, u32) {
        let geometry = kernel.geometry();
        let state = self.states.of(unit);
        let is_open = kernel.state_of(unit) == UnitState::Open;
        // The pages of a shadow unit go on inside it.
        let moves_on = self.scheme == DisturbScheme::Shadow { moves_on: true } && self.class_of(kernel, unit) == HOT;
        if !is_open && !moves_on {
            return (0, 0);
        }
        let backups = self.of_backups[geometry.page_of_slot(state.end).index()];
        if !is_open {
            return (backups, 0);
        }
        // An update of a page of the map may place its next version in the block that it is read from.
        let updates = if kernel.holds_map(unit) { reads_of_updates(geometry) } else { 0 };
        // Pages move in the order in which they were programmed, so that a page suffers no reads of those behind it. Of twin
        // blocks, those that are alone at their offset move last.
        let comes = if geometry.unit_width > 1 { geometry.slots_left(state.end) } else { 0 };
        (backups + updates, comes)
    }

    /// A page was read: it may be time to move its unit's pages.
    #[cold]
    #[inline(never)]
    fn look_at(&mut self, kernel: &mut Kernel, unit: Unit) {
        let left = self.left(kernel, unit);
        let margin = i64::from(self.options.margin);
        if left > margin {
            self.counters.look_after(unit, (left - margin) as u32);
            return;
        }
        let domain = kernel.geometry().domain_of_unit(unit);
        if !self.can_be_refreshed(kernel, domain, unit) {
            return;
        }
        let due = &mut self.domain_mut(domain).due;
        if !due.contains(&unit) {
            due.push(unit);
            kernel.wake(domain);
        }
    }

    /// A page came to a unit that has taken many reads, for which it takes a read fewer. If reads wait from now on, none of them will say so.
    /// A unit that is due and has to wait for others may get pages meanwhile, up to the last one that can still be read to move.
    #[cold]
    fn look_before_reads(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        let left = self.left(kernel, unit);
        if left <= i64::from(self.options.margin / 2) {
            self.look_at(kernel, unit);
        }
        if left <= 1 && kernel.state_of(unit) == UnitState::Open && kernel.free(domain) > 1 {
            self.domain_mut(domain).closes |= 1 << kernel.stream_of(unit).byte();
        }
    }

    /// True if a refresh of a unit can begin once its domain is free for it. The pages of others move already.
    fn can_be_refreshed(&self, kernel: &Kernel, domain: Domain, unit: Unit) -> bool {
        match kernel.state_of(unit) {
            UnitState::Closed | UnitState::Open | UnitState::Withheld => true,
            UnitState::Collecting => kernel.pairing(domain).is_some_and(|job| job.unit == unit),
            UnitState::Free | UnitState::Aside | UnitState::Retired => false,
        }
    }

    /// When a unit is looked at next, after its limit or its pages changed.
    fn look_anew(&mut self, kernel: &mut Kernel, unit: Unit) {
        self.counters.look_after(unit, 0);
        self.look_at(kernel, unit);
    }

    /// A page comes to lie in a slot of a unit.
    fn note_slot(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        let class = self.class_of(kernel, unit);
        if self.states.of(unit).end == Slot::FIRST {
            self.states.of_mut(unit).begun = self.clock;
            if class == MONITOR {
                self.domain_mut(domain).monitors += 1;
                self.done.monitored += 1;
                self.monitors.begin(unit);
            } else if class == HOT && self.scheme != DisturbScheme::Reprogrammed {
                self.count_kept(domain, unit);
                self.hold_share(kernel, domain);
            }
        }
        self.counters.page_comes(unit);
        let end = slot.next();
        self.states.of_mut(unit).end = end.max(self.states.of(unit).end);
        if class == HOT {
            self.note_hot_slot(kernel, domain, unit, end);
        }
    }

    /// Takes note of what has to come behind a page in a unit of read-hot pages.
    fn note_hot_slot(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, end: Slot) {
        let stream = kernel.stream_of(unit);
        let is_open = kernel.frontier(domain, stream).is_some_and(|frontier| frontier.unit == unit);
        let is_full_enough = self.is_full_shadow(end);
        let gets_guard = is_open && self.gets_guard(kernel, end);
        let bit = 1 << stream.byte();
        let state = self.domain_mut(domain);
        state.guards = state.guards & !bit | if gets_guard { bit } else { 0 };
        state.closes = state.closes & !bit | if is_full_enough && is_open { bit } else { 0 };
    }

    /// Has a unit take no part in anything: it was erased, or its pages move.
    fn forget_due(&mut self, domain: Domain, unit: Unit) {
        self.domain_mut(domain).due.retain(|&due| due != unit);
    }
}

// What is asked besides.
impl Disturb {
    /// A page of the array is read soon.
    #[inline]
    pub(crate) fn prefetch_read(&self, kernel: &Kernel, at: Ppn) {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        self.monitors.prefetch(unit);
        self.counters.prefetch(unit, kernel.geometry().lane_of_slot(slot));
    }

    /// The host reads a page.
    #[inline]
    pub(crate) fn host_read(&mut self) {
        self.clock += 1;
    }

    /// A page of the array is read.
    #[inline]
    pub(crate) fn page_read(&mut self, kernel: &mut Kernel, at: Ppn) {
        self.pages_read(kernel, at, 1);
    }

    /// Pages of the array are read: one or, where units are blocks, some of this many that follow each other in one, until it is to be
    /// looked at. Returns how many.
    #[inline]
    pub(crate) fn pages_read(&mut self, kernel: &mut Kernel, first: Ppn, most: u32) -> u32 {
        let (unit, slot) = kernel.geometry().unit_and_slot(first);
        let lane = kernel.geometry().lane_of_slot(slot);
        let pages = self.counters.count_most(unit, lane, most);
        self.monitors.count(unit, slot, pages.max(1));
        if pages == 0 {
            self.count_last(kernel, unit, lane);
        }
        pages.max(1)
    }

    /// Counts the read of a block with which it is to be looked at.
    #[cold]
    fn count_last(&mut self, kernel: &mut Kernel, unit: Unit, lane: u32) {
        if self.counters.count(unit, lane) {
            self.look_at(kernel, unit);
        }
    }

    /// True if a page may be read for the host before it moves.
    #[inline]
    pub(crate) fn may_read(&self, kernel: &Kernel, at: Ppn) -> bool {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        if self.options.blocks_reads {
            let domain = kernel.geometry().domain_of_unit(unit);
            if kernel.job(domain).is_some_and(|job| job.why == Why::Refresh) {
                return false;
            }
        }
        self.counters.is_fine(unit, kernel.geometry().lane_of_slot(slot))
            || self.left(kernel, unit) > i64::from(self.options.margin / 2)
    }

    /// The class of a page that is about to be copied.
    #[inline]
    fn class_of_copy(&self, kernel: &Kernel, lpn: Lpn) -> usize {
        let Some(from) = kernel.lookup(lpn) else { return REGULAR };
        let (unit, slot) = kernel.geometry().unit_and_slot(from);
        match &self.domain(kernel.geometry().domain_of_unit(unit)).work {
            Some(work) if work.unit() == unit => work.class(slot),
            _ => REGULAR,
        }
    }

    /// Whose a collection is that begins for want of room.
    pub(crate) fn cause_of_room(&mut self, kernel: &Kernel, domain: Domain, asked: bool) -> Option<Cause> {
        if !self.options.follows_debt {
            return asked.then_some(Cause::Refresh);
        }
        let gain = kernel.job(domain).map_or(0, |job| job.gain);
        let debt = &mut self.domain_mut(domain).debt;
        let owes = *debt > 0;
        if owes {
            *debt -= i64::from(gain);
        }
        owes.then_some(Cause::Refresh)
    }
}

impl Planned for Disturb {
    fn needs(policies: &Policies<'_>, geometry: &Geometry) -> Option<Needs> {
        let scheme = DisturbScheme::of(policies.read_disturb.name)?;
        let shares = Shares::of(policies, geometry);
        let has_states = scheme != DisturbScheme::Refresh;
        let axis = Axis {
            classes: scheme.classes(),
            splits: has_states,
            first_alone: has_states,
            high: (scheme == DisturbScheme::Reprogrammed).then_some((HOT, shares.pool)),
            ..Axis::ONE
        };
        let aside = shares.wasted(geometry.unit_slots());
        Some(Needs { aside, on_demand: true, ..Needs::of_axis(AXIS, axis) })
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, _: u64, _: bool) -> Bytes {
        if DisturbScheme::of(policies.read_disturb.name).is_none() {
            return Bytes::default();
        }
        let counters = u64::from(Shares::of(policies, geometry).monitors) * u64::from(geometry.domains());
        let of_units = (states::BYTES_OF_UNIT + 4) * u64::from(geometry.units());
        let of_domains = size_of::<DomainState>() as u64 * u64::from(geometry.domains());
        let of_blocks = u64::from(geometry.blocks()) * counters::BYTES_OF_BLOCK;
        let of_pages = counters * u64::from(geometry.unit_slots() / geometry.parts) * 2;
        let blocks = of_blocks + of_units + of_domains + of_pages;
        Bytes { blocks, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Disturb>, OutOfMemory> {
        Ok(Disturb::of(kernel, policies))
    }
}

impl Placing for Disturb {
    #[inline]
    fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival, classes: &mut [usize; AXES]) -> Option<Stream> {
        if arrival == Arrival::Copy {
            classes[AXIS] = self.class_of_copy(kernel, lpn);
        }
        (classes[AXIS] == INSIDE).then(|| stream_inside(kernel))
    }

    /// A dummy page of a unit for read-hot pages gets guard levels, where these are programmed with the data.
    #[inline]
    fn way(&self, kernel: &Kernel, at: Ppn, is_dummy: bool) -> Option<Way> {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        (is_dummy && self.gets_guard(kernel, slot) && self.class_of(kernel, unit) == HOT).then_some(Way::Guard)
    }

    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        match page.origin {
            PageOrigin::Host { .. } => self.clock += 1,
            PageOrigin::Copy(from, _) => self.check_arrow(kernel, from, page.at),
            PageOrigin::Map | PageOrigin::Anew(_) => {}
        }
        self.note_slot(kernel, page.domain, page.at);
        self.note_debt(kernel, page.domain);
        let (unit, slot) = kernel.geometry().unit_and_slot(page.at);
        if !self.counters.is_fine(unit, kernel.geometry().lane_of_slot(slot)) {
            self.look_before_reads(kernel, page.domain, unit);
        }
    }

    fn padded(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) {
        self.note_slot(kernel, domain, at);
        self.note_debt(kernel, domain);
    }

    /// Low-density units that are full and shadow units that are full enough are no victims. What was given back to the victim
    /// policy may have to be refreshed.
    fn filled(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        let bit = 1 << kernel.stream_of(unit).byte();
        self.domain_mut(domain).closes &= !bit;
        if kernel.state_of(unit) != UnitState::Closed {
            return;
        }
        if self.class_of(kernel, unit) == HOT && self.scheme != DisturbScheme::Reprogrammed {
            self.domain_mut(domain).guards &= !bit;
            let is_whole = self.states.of(unit).end == kernel.geometry().end_slot();
            self.states.of_mut(unit).is_low = self.scheme == DisturbScheme::Guarded && is_whole;
            self.withhold(kernel, domain, unit);
        }
        self.look_anew(kernel, unit);
    }

    fn sealed(&mut self, _: &Kernel, domain: Domain, unit: Unit) {
        if let Some(RefreshWork::Inside(work)) = &mut self.domain_mut(domain).work
            && work.unit == unit
        {
            // A failed program in the unit in work.
            work.is_broken = true;
        }
    }

    fn erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, why: Option<Why>) -> bool {
        self.note_erase(kernel, domain, unit, why);
        false
    }
}

impl Agenda for Disturb {
    #[inline]
    fn is_pending(&self, domain: Domain) -> bool {
        let state = self.domain(domain);
        !state.due.is_empty() || state.guards != 0 || state.closes != 0
    }

    fn goes_on(&self, domain: Domain) -> bool {
        let state = self.domain(domain);
        state.guards != 0 || state.closes != 0
    }

    fn take_up(&mut self, kernel: &mut Kernel, domain: Domain, may_begin: bool, group: &mut Group) -> Option<OwnWork> {
        if kernel.job(domain).is_none() && !may_begin {
            return None;
        }
        self.next(kernel, domain, group)
    }

    fn pick(
        &self,
        kernel: &Kernel,
        domain: Domain,
        job: &mut Job,
        _: &dyn Fn(Lpn) -> Stream,
        group: &mut Group,
    ) -> Option<Picked> {
        let Some(RefreshWork::Inside(work)) = &self.domain(domain).work else { return None };
        if work.unit != job.unit {
            return None;
        }
        work.next_moves(kernel).for_each(|page| group.push(page));
        Some(if group.pages().is_empty() { Picked::Stays } else { Picked::Group })
    }

    /// A unit of which nothing moves any more is in use again.
    fn end(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, group: &mut Group) -> Option<VictimEnd> {
        match &self.domain(domain).work {
            Some(RefreshWork::Inside(work)) if work.unit == unit => {
                if let Some(step) = self.fills_up_inside(kernel, domain, group) {
                    return Some(VictimEnd::Act(step));
                }
                self.end_inside(kernel, domain);
                Some(VictimEnd::Over)
            }
            _ => None,
        }
    }

    fn room(&mut self, kernel: &mut Kernel, domain: Domain, _: Stream, source: RoomSource) -> bool {
        match source {
            RoomSource::Forced => self.victims_gain_little(kernel, domain) && self.evict_for_room(kernel, domain),
            RoomSource::LastResort => self.evict_for_room(kernel, domain),
            RoomSource::Early | RoomSource::Kept | RoomSource::InWork | RoomSource::Buffered => false,
        }
    }

    fn combine(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        cause: Cause,
        _: &[Ppn],
        suits: &mut dyn FnMut(Ppn) -> bool,
    ) -> Option<Combined> {
        let is_ours = cause == Cause::Refresh && suits(self.next_guard(domain));
        is_ours.then(|| self.reprogrammed(kernel, domain))
    }
}

impl Restart for Disturb {
    /// Others empty a unit that has failed.
    fn fails(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) -> bool {
        self.lets_go(kernel, domain, unit);
        false
    }

    /// The lower pages of a wordline whose reprogram fails can be read as before: a cell stays between two levels that agree
    /// in them. What the unit holds moves like that of any other.
    ///
    /// Pages do not move on inside a shadow unit in which a wordline failed: those that are programmed in two passes follow each other.
    fn failed(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) -> bool {
        if self.after_fault > 0 && matches!(self.scheme, DisturbScheme::Shadow { .. }) {
            self.states.of_mut(kernel.geometry().unit_of(at)).end = kernel.geometry().end_slot();
        }
        match &mut self.domain_mut(domain).work {
            Some(RefreshWork::Inside(work)) if work.is_at(at) => {
                work.is_broken = true;
                true
            }
            _ => false,
        }
    }

    fn adopt_open(&mut self, kernel: &mut Kernel, _: Domain, unit: Unit, _: Slot) -> bool {
        let state = self.states.of(unit);
        let is_inside = self.scheme != DisturbScheme::Refresh
            && !kernel.holds_map(unit)
            && kernel.streams().class(kernel.stream_of(unit), AXIS) == INSIDE;
        let is_shadow = self.is_full_shadow(state.end) && self.class_of(kernel, unit) == HOT;
        state.is_low || is_inside || is_shadow
    }

    fn adopt_frontier(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, next: Slot, _: &Scanned) {
        if self.class_of(kernel, unit) == HOT {
            self.note_hot_slot(kernel, domain, unit, next);
        }
    }

    fn reopen(&mut self, kernel: &mut Kernel) {
        self.take_stock(kernel);
        self.trust_reads(kernel);
    }

    fn save(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        self.save_states(kernel, saved);
    }

    fn restore(
        &mut self,
        kernel: &mut Kernel,
        kept: &[Kept],
        words: &mut std::slice::Iter<'_, u32>,
    ) -> Result<(), String> {
        self.restore_states(kernel, kept, words).ok_or("the reads of blocks".into())
    }

    fn renew(&mut self, kernel: &mut Kernel, _: &Policies<'_>) {
        self.begin_anew(kernel);
        self.done = DisturbFigures::default();
    }
}

impl Reported for Disturb {
    fn figures(&self, figures: &mut Figures) {
        let done = &self.done;
        figures.count("read_disturb", "refreshes", done.refreshes);
        if self.scheme == DisturbScheme::Refresh {
            return;
        }
        figures.count("read_disturb", "monitored", done.monitored);
        figures.count("read_disturb", "read_hot_blocks", done.kept);
        figures.count("read_disturb", "evicted", done.evicted);
        match self.scheme {
            DisturbScheme::Shadow { .. } => self.figures_of_shadows(figures),
            DisturbScheme::Reprogrammed => self.figures_of_reprograms(figures),
            DisturbScheme::Refresh | DisturbScheme::Guarded => {
                figures.counts("read_disturb", "used_reads", &done.used_reads);
            }
        }
    }

    fn kept(&self, kernel: &Kernel, domain: Domain, keepers: &mut Keepers) {
        let is_withheld = |unit: &Unit| self.states.of(*unit).is_withheld;
        keepers.withheld.extend(kernel.geometry().units_of_domain(domain).filter(is_withheld));
    }

    fn check(&self, kernel: &Kernel) -> Result<(), String> {
        self.check_states(kernel)
    }
}
