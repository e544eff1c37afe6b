//! The mappings behind one set of calls, so that executors need not know which is in force.
//!
//! A call is a branch that the processor predicts, and inlines into the executor.

use base::{Cause, Choice, Geometry, Instant, Lpn, Ppn, Seam};

use crate::allocation::Allocation;
use crate::collection::{Erasure, GcSink, GcStep};
use crate::dftl;
use crate::fast::{self, Fast, Merges};
use crate::group::Group;
use crate::layer::{self, Bytes, OutOfMemory, Policies};
use crate::paired::Figures;
use crate::recovery::{Recovery, Rescue, Scanned};
use crate::saved::Saved;

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "mapping",
    doc: "How logical pages are translated.",
    choices: &[
        Choice { name: "page", doc: "A flat page map, 4 bytes per logical page, held in DRAM.", params: &[] },
        dftl::CHOICE,
        fast::CHOICE,
    ],
};

/// The flash translation layer, under any mapping.
pub struct Ftl {
    /// Shape and allocation are asked for several times per event: without a branch.
    geometry: Geometry,
    allocation: Allocation,
    mapping: Mapping,
}

#[allow(clippy::large_enum_variant)] // There is one of it.
enum Mapping {
    Page(layer::Ftl),
    Fast(Fast),
}

/// A call that is not for hybrid mapping reached it.
const PAGE_ALONE: &str = "the configuration check allows this to page mapping alone";

/// The largest user space, in pages, that the FTL can keep writable for ever under these policies.
pub fn largest_user_pages(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    if policies.mapping.name == fast::CHOICE.name {
        fast::largest_user_pages(geometry, policies.mapping.get("log_blocks") as u32, policies.reserve())
    } else {
        layer::largest_user_pages(geometry, policies)
    }
}

/// What the parts of an FTL take; `keeps_spares`: where pages have spare areas.
pub fn bytes(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>, keeps_spares: bool) -> Bytes {
    if policies.mapping.name == fast::CHOICE.name {
        let options = fast::Options::new(policies.mapping, policies.reserve(), geometry, user_pages);
        Fast::bytes(geometry, user_pages, options, policies.block_allocation)
    } else {
        layer::Ftl::bytes(geometry, user_pages, policies, keeps_spares)
    }
}

/// Calls the mapping in force.
macro_rules! forward {
    ($mapping:expr, $ftl:ident => $call:expr) => {
        match $mapping {
            Mapping::Page($ftl) => $call,
            Mapping::Fast($ftl) => $call,
        }
    };
    ($mapping:expr, page $page:ident => $of_page:expr, fast $fast:pat => $of_fast:expr) => {
        match $mapping {
            Mapping::Page($page) => $of_page,
            Mapping::Fast($fast) => $of_fast,
        }
    };
}

// What both mappings have.
impl Ftl {
    /// Logical pages.
    #[inline]
    pub fn user_pages(&self) -> u32 {
        forward!(&self.mapping, ftl => ftl.user_pages())
    }

    /// The device's shape.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Plane allocation.
    #[inline]
    pub fn allocation(&self) -> &Allocation {
        &self.allocation
    }

    /// Where a logical page is, if it was ever written (and not trimmed since).
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        forward!(&self.mapping, ftl => ftl.lookup(lpn))
    }

    /// Asks for the map entry of a page that will be looked up or written soon.
    #[inline]
    pub fn prefetch_map(&self, lpn: Lpn) {
        forward!(&self.mapping, ftl => ftl.prefetch_map(lpn));
    }

    /// Asks for what a coming write of the page will invalidate. Best some time after [`Ftl::prefetch_map`].
    #[inline]
    pub fn prefetch_old(&self, lpn: Lpn) {
        forward!(&self.mapping, ftl => ftl.prefetch_old(lpn));
    }

    /// Whether a domain has steps to do before it takes host pages: a collection, or what its protection of
    /// paired pages asks for.
    #[inline]
    pub fn is_collecting(&self, domain: u32) -> bool {
        forward!(&self.mapping, ftl => ftl.is_collecting(domain))
    }

    /// Where the next host page of a domain goes; opens a unit if none is open.
    ///
    /// # Panics
    /// If the domain is being collected.
    #[inline]
    pub fn next_host_page(&mut self, domain: u32, lpn: Lpn) -> Ppn {
        forward!(&mut self.mapping, ftl => ftl.next_host_page(domain, lpn))
    }

    /// Places a page that the host writes, and makes its old version invalid.
    ///
    /// A collection may begin ([`Ftl::is_collecting`]): it has to end before the domain takes another host page.
    ///
    /// # Panics
    /// If the domain is being collected, or there is no such page.
    #[inline]
    pub fn write(&mut self, domain: u32, lpn: Lpn) -> Ppn {
        forward!(&mut self.mapping, ftl => ftl.write(domain, lpn))
    }

    /// Forgets a logical page. Returns whether it was mapped.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        forward!(&mut self.mapping, ftl => ftl.trim(lpn))
    }

    /// Logical pages and, behind them, the translation pages of a map in flash.
    pub fn logical_pages(&self) -> u32 {
        forward!(&self.mapping, page ftl => ftl.logical_pages(), fast ftl => ftl.user_pages())
    }

    /// Whether the map entry of a page that is to be read is at hand. If not, its domain has steps to do first
    /// ([`Ftl::step`]).
    #[inline]
    pub fn prepare_read(&mut self, lpn: Lpn) -> bool {
        forward!(&mut self.mapping, page ftl => ftl.prepare_read(lpn), fast _ => true)
    }

    /// Whether the map entry of a page is at hand; asking changes nothing.
    #[inline]
    pub fn is_known(&self, lpn: Lpn) -> bool {
        forward!(&self.mapping, page ftl => ftl.is_known(lpn), fast _ => true)
    }

    /// The map entry of a page was used to read it.
    #[inline]
    pub fn used(&mut self, lpn: Lpn) {
        forward!(&mut self.mapping, page ftl => ftl.used(lpn), fast _ => {});
    }

    /// Gets the map entry of a page that is to be written, if that takes no step. Returns whether it is at hand; if not,
    /// [`Ftl::home_of`] has steps to do first.
    #[inline]
    pub fn prepare_entry(&mut self, lpn: Lpn) -> bool {
        forward!(&mut self.mapping, page ftl => ftl.prepare_entry(lpn), fast _ => true)
    }

    /// Whether pages lie in other domains than their map entries: the map is in flash, and the allocation dynamic.
    pub fn is_apart(&self) -> bool {
        forward!(&self.mapping, page ftl => ftl.is_apart(), fast _ => false)
    }

    /// The domain that has the map entry of a page.
    #[inline]
    pub fn home_of(&self, lpn: Lpn) -> u32 {
        forward!(&self.mapping, page ftl => ftl.home_of(lpn), fast ftl => ftl.domain_of(lpn))
    }

    /// The translation page that [`Ftl::update`] placed in a domain is in flash.
    pub fn landed(&mut self, domain: u32) {
        forward!(&mut self.mapping, page ftl => ftl.landed(domain), fast _ => {});
    }

    /// Whether a map entry came, since this was last asked, that took no step.
    pub fn take_arrived(&mut self) -> bool {
        forward!(&mut self.mapping, page ftl => ftl.take_arrived(), fast _ => false)
    }

    /// A domain that was given something to do for another one, or may go on, since it was last named; only where pages
    /// lie in other domains than their map entries.
    #[inline]
    pub fn take_called(&mut self) -> Option<u32> {
        forward!(&mut self.mapping, page ftl => ftl.take_called(), fast _ => None)
    }

    /// Whether a physical page holds current data.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        forward!(&self.mapping, ftl => ftl.is_valid(ppn))
    }

    /// The next step of a domain's collection; `None` when none is in progress. The pages to copy are put
    /// into `group`. Asking changes nothing that can be seen.
    #[inline]
    pub fn step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        forward!(&mut self.mapping, ftl => ftl.step(domain, group))
    }

    /// Moves a page that was read for a collection: its logical page and new place, or `None` if it was
    /// overwritten or trimmed since and there is nothing to move.
    #[inline]
    pub fn copy(&mut self, domain: u32, from: Ppn) -> Option<(Lpn, Ppn)> {
        forward!(&mut self.mapping, ftl => ftl.copy(domain, from))
    }

    /// The place of a dummy page, which [`Group::pads`] or [`GcStep::Fill`] asked for.
    pub fn pad(&mut self, domain: u32) -> Ppn {
        forward!(&mut self.mapping, ftl => ftl.pad(domain))
    }

    /// What the erase of a unit means.
    pub fn erasure(&self, domain: u32, unit: u32) -> Erasure {
        forward!(&self.mapping, ftl => ftl.erasure(domain, unit))
    }

    /// A unit that [`GcStep::Erase`] named was erased. The next collection of the domain may begin at once.
    ///
    /// # Panics
    /// If the unit was not to be erased or still holds valid pages.
    pub fn erased(&mut self, domain: u32, unit: u32) {
        forward!(&mut self.mapping, ftl => ftl.erased(domain, unit));
    }

    /// Carries out whatever collections a domain needs, at once.
    pub fn collect(&mut self, domain: u32, sink: &mut impl GcSink) {
        forward!(&mut self.mapping, ftl => ftl.collect(domain, sink));
    }

    /// Erases by unit.
    pub fn erases(&self) -> &[u32] {
        forward!(&self.mapping, ftl => ftl.erases())
    }

    /// Checks that map and reverse map mirror each other, that valid counts and free counts add up, and that
    /// every unit is where its state says.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check_invariants(&self) -> Result<(), String> {
        forward!(&self.mapping, ftl => ftl.check_invariants())
    }
}

// What differs.
impl Ftl {
    /// An FTL over a pristine array. `seed` is the run's.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    ///
    /// # Panics
    /// If the user space is larger than [`largest_user_pages`], which the configuration check refuses.
    pub fn new(geometry: Geometry, user_pages: u64, policies: &Policies<'_>, seed: u64) -> Result<Ftl, OutOfMemory> {
        let allocation = Allocation::build(policies.allocation, &geometry);
        let mapping = if policies.mapping.name == fast::CHOICE.name {
            let options = fast::Options::new(policies.mapping, policies.reserve(), &geometry, user_pages);
            let own = Allocation::build(policies.allocation, &geometry);
            Mapping::Fast(Fast::new(geometry, user_pages, options, own, policies.block_allocation)?)
        } else {
            Mapping::Page(layer::Ftl::new(geometry, user_pages, policies, seed)?)
        };
        Ok(Ftl { geometry, allocation, mapping })
    }

    /// What the cached mapping table did since preconditioning, where the map is in flash, and its entries and the
    /// translation pages of all domains.
    pub fn dftl_figures(&self) -> Option<(dftl::Figures, (u64, u64))> {
        forward!(&self.mapping, page ftl => ftl.dftl_figures(), fast _ => None)
    }

    /// What merges did since preconditioning, under hybrid mapping, and the log blocks of a domain.
    pub fn merges(&self) -> Option<(Merges, u32)> {
        forward!(&self.mapping, page _ftl => None, fast ftl => Some((ftl.merges(), ftl.log_blocks())))
    }

    /// Frontiers of a domain, which a device state holds.
    pub fn streams(&self) -> usize {
        self.page().streams()
    }

    /// Units that can be written before garbage has to be collected: free ones or, under hybrid mapping, log blocks
    /// that are not in use.
    #[inline]
    pub fn spare_units(&self, domain: u32) -> u32 {
        forward!(&self.mapping, page ftl => ftl.spare_units(domain), fast ftl => ftl.spare_log_blocks(domain))
    }

    /// Whether a domain collects because it has run out of room.
    #[inline]
    pub fn needs_room(&self, domain: u32) -> bool {
        forward!(&self.mapping, ftl => ftl.needs_room(domain))
    }

    /// Whether a domain collects ahead of need.
    #[inline]
    pub fn is_forward(&self, domain: u32) -> bool {
        forward!(&self.mapping, ftl => ftl.is_forward(domain))
    }

    /// Begins a collection ahead of need, or goes on with one that was put down. Returns whether there is anything
    /// to collect.
    pub fn begin_forward(&mut self, domain: u32) -> bool {
        forward!(&mut self.mapping, page ftl => ftl.begin_forward(domain),
            fast ftl => !ftl.is_collecting(domain) && ftl.begin_forward(domain))
    }

    /// Whether a collection stands at a preemption point (Wen and Chang, section 3.3), as far as the mapping knows: what
    /// was read for it is programmed first.
    #[inline]
    pub fn rests(&self, domain: u32) -> bool {
        forward!(&self.mapping, ftl => ftl.rests(domain))
    }

    /// Whether a collection ahead of need can be put down now, so that the domain takes host pages.
    #[inline]
    pub fn may_pause(&mut self, domain: u32) -> bool {
        forward!(&mut self.mapping, ftl => ftl.may_pause(domain))
    }

    /// Puts a collection ahead of need down.
    ///
    /// # Panics
    /// Unless [`Ftl::may_pause`].
    pub fn pause(&mut self, domain: u32) {
        forward!(&mut self.mapping, ftl => ftl.pause(domain));
    }

    /// Whether a unit that was emptied ahead of need waits for its erase.
    pub fn has_emptied(&self, domain: u32) -> bool {
        forward!(&self.mapping, ftl => ftl.has_emptied(domain))
    }

    /// Makes the erase of an emptied unit the next step of a collection ahead of need, which has to rest.
    ///
    /// # Panics
    /// Unless [`Ftl::has_emptied`].
    pub fn erase_emptied(&mut self, domain: u32) {
        forward!(&mut self.mapping, ftl => ftl.erase_emptied(domain));
    }

    /// Has a collection ahead of need go on with pages to copy, if need be in another unit, so that the erase of an
    /// emptied one is left for later. Returns whether there are such pages.
    pub fn pass_over(&mut self, domain: u32) -> bool {
        forward!(&mut self.mapping, ftl => ftl.pass_over(domain))
    }

    /// Whether the host's pages wait for the collection in progress: it was not begun ahead of need.
    #[inline]
    pub fn is_mandatory(&self, domain: u32) -> bool {
        forward!(&self.mapping,
            page ftl => ftl.job(domain).is_none_or(|job| !job.forward),
            fast ftl => !ftl.is_forward(domain))
    }

    /// Whether a dynamic allocation may give a page to a domain now.
    #[inline]
    pub fn accepts(&self, domain: u32) -> bool {
        forward!(&self.mapping, page ftl => ftl.accepts(domain), fast ftl => !ftl.is_collecting(domain))
    }

    /// Whether a domain can take the host page now. If not, it has steps to do first ([`Ftl::step`]).
    #[inline]
    pub fn prepare(&mut self, domain: u32, lpn: Lpn) -> bool {
        forward!(&mut self.mapping, page ftl => ftl.prepare(domain, lpn), fast ftl => !ftl.is_collecting(domain))
    }

    /// Where a page goes that a collection copies next.
    #[inline]
    pub fn next_copy_page(&mut self, domain: u32, from: Ppn) -> Ppn {
        forward!(&mut self.mapping, page ftl => ftl.next_copy_page(domain, from), fast ftl => ftl.next_copy_page(domain))
    }

    /// Where the next dummy page goes.
    pub fn next_dummy_page(&mut self, domain: u32) -> Ppn {
        forward!(&mut self.mapping, page ftl => ftl.next_dummy_page(domain), fast ftl => ftl.next_copy_page(domain))
    }

    /// Asks for the map entry that moving a page will change.
    #[inline]
    pub fn prefetch_copy(&self, from: Ppn) {
        forward!(&self.mapping, page ftl => ftl.prefetch_copy(from), fast _ => {});
    }

    /// Why a step is done.
    pub fn cause_of(&self, domain: u32, step: GcStep) -> Cause {
        forward!(&self.mapping, page ftl => ftl.cause_of(domain, step), fast _ => Cause::Gc)
    }

    /// Domains whose collection began along with another's since the last call, in the order of beginning.
    #[inline]
    pub fn take_early(&mut self) -> impl Iterator<Item = u32> + use<> {
        forward!(&mut self.mapping, page ftl => Some(ftl.take_early()), fast _ => None).into_iter().flatten()
    }

    /// The domain that takes a page when no time passes.
    #[inline]
    pub fn domain_without_time(&mut self, lpn: Lpn) -> u32 {
        forward!(&mut self.mapping, page ftl => ftl.domain_without_time(lpn), fast ftl => ftl.domain_of(lpn))
    }

    /// The domains of a die.
    #[inline]
    pub fn domains_of_die(&self, die: u32) -> std::ops::Range<u32> {
        let count = self.geometry().domains_per_die();
        die * count..(die + 1) * count
    }

    /// Makes every policy anew; preconditioning ends with this. See `layer::Ftl::renew_policies`.
    pub fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64) {
        forward!(&mut self.mapping,
            page ftl => ftl.renew_policies(policies, seed),
            fast ftl => ftl.renew_pool(policies.block_allocation));
    }

    /// Tells the time to policies that look at it; ω, when it is taken.
    #[inline]
    pub fn tell_time(&mut self, now: Instant) -> Option<f64> {
        forward!(&mut self.mapping, page ftl => ftl.tell_time(now), fast _ => None)
    }

    /// Page mapping, for calls that the configuration check allows to it alone.
    #[inline]
    fn page(&self) -> &layer::Ftl {
        forward!(&self.mapping, page ftl => ftl, fast _ => panic!("{PAGE_ALONE}"))
    }

    #[inline]
    fn page_mut(&mut self) -> &mut layer::Ftl {
        forward!(&mut self.mapping, page ftl => ftl, fast _ => panic!("{PAGE_ALONE}"))
    }
}

// What faults and restarts call for: page mapping alone keeps spare areas, and can repair and recover.
impl Ftl {
    /// Has the FTL number its writes, for devices whose pages have spare areas.
    pub fn keep_spares(&mut self) {
        forward!(&mut self.mapping, page ftl => ftl.keep_spares(), fast _ => {});
    }

    /// The spare area of the host page that was placed last.
    #[inline]
    pub fn host_spare(&mut self, lpn: Lpn, at: Ppn) -> u128 {
        forward!(&mut self.mapping, page ftl => ftl.host_spare(lpn, at), fast _ => 0)
    }

    /// The spare area of the copy of a page, which was placed last. `old` is that of the page.
    #[inline]
    pub fn copy_spare(&mut self, old: u128, lpn: Lpn, to: Ppn) -> u128 {
        forward!(&mut self.mapping, page ftl => ftl.copy_spare(old, lpn, to), fast _ => 0)
    }

    /// The spare area of a dummy page, which was placed last.
    pub fn dummy_spare(&mut self, at: Ppn) -> u128 {
        forward!(&mut self.mapping, page ftl => ftl.dummy_spare(at), fast _ => 0)
    }

    /// The spare area of a backup of the pages of a group, but for the identity: the exclusive-or of theirs.
    pub fn backup_tag(&mut self, group: &Group) -> u128 {
        self.page_mut().backup_tag(group)
    }

    /// Deals with the failed program of a page: of a host page, or of a copy of another page.
    pub fn repair(&mut self, at: Ppn, copied_from: Option<Ppn>, sink: &mut impl GcSink) {
        self.page_mut().repair(at, copied_from, sink);
    }

    /// Pages whose data were lost to failed programs.
    pub fn lost_pages(&self) -> u64 {
        forward!(&self.mapping, page ftl => ftl.lost_pages(), fast _ => 0)
    }

    /// The FTL of a device of which nothing is known but the array. `scan` is by unit.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub fn recover(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        scan: &[Scanned],
    ) -> Result<(Ftl, Recovery), OutOfMemory> {
        assert_eq!(policies.mapping.name, SEAM.choices[0].name, "{PAGE_ALONE}");
        let (page, recovery) = layer::Ftl::recover(geometry, user_pages, policies, seed, scan)?;
        let allocation = Allocation::build(policies.allocation, &geometry);
        Ok((Ftl { geometry, allocation, mapping: Mapping::Page(page) }, recovery))
    }

    /// A unit of [`Recovery::erase`] was erased.
    pub fn reclaim(&mut self, unit: u32) {
        self.page_mut().reclaim(unit);
    }

    /// After [`Recovery::erase`]: gives every domain its backup unit back.
    pub fn reopen_backups(&mut self) {
        self.page_mut().reopen_backups();
    }

    /// Places a rescued page; returns where, and its spare area but for the identity.
    pub fn rescue(&mut self, rescue: &Rescue) -> (Ppn, u128) {
        self.page_mut().rescue(rescue)
    }

    /// After the rescues: begins the collections that domains need. Returns which.
    pub fn resume(&mut self) -> Vec<u32> {
        self.page_mut().resume()
    }
}

// What only page mapping has.
impl Ftl {
    /// The next die of a queue, round robin, that is idle and has a domain that accepts pages. `idle` has one
    /// bit per die of the queue, in the order of [`crate::allocation::Dynamic::dies`]: on a busy device few
    /// are set, and this is asked after every event.
    pub fn next_die_of(&mut self, queue: u32, idle: &[u64]) -> Option<u32> {
        self.page_mut().next_die_of(queue, idle)
    }

    /// The domain of a die whose turn it is, round robin over those that accept pages.
    pub fn peek_domain_of(&self, die: u32) -> Option<u32> {
        self.page().peek_domain_of(die)
    }

    /// Takes the turn of [`Ftl::peek_domain_of`].
    pub fn next_domain_of(&mut self, die: u32) -> Option<u32> {
        self.page_mut().next_domain_of(die)
    }

    /// Where the next backup page of a domain goes.
    pub fn next_backup_page(&self, domain: u32) -> Ppn {
        self.page().next_backup_page(domain)
    }

    /// Places the backup of the pages of a group.
    pub fn back_up(&mut self, domain: u32, group: &Group) -> Ppn {
        self.page_mut().back_up(domain, group)
    }

    /// The pages of a group were read and their backup was programmed where [`Ftl::back_up`] said.
    pub fn backed_up(&mut self, domain: u32) {
        self.page_mut().backed_up(domain);
    }

    /// The translation page that [`GcStep::Fetch`] named was read. Returns whose entry it was read for.
    pub fn fetched(&mut self, domain: u32) -> Lpn {
        self.page_mut().fetched(domain)
    }

    /// Where the next translation page of a domain goes.
    #[cold]
    pub fn next_update_page(&mut self, domain: u32) -> Ppn {
        self.page_mut().next_update_page(domain)
    }

    /// Places the next version of the translation page that [`GcStep::Update`] named. Returns its logical page, behind
    /// those of the host, and its place.
    #[cold]
    pub fn update(&mut self, domain: u32) -> (Lpn, Ppn) {
        self.page_mut().update(domain)
    }

    /// Whether units may come up of which only LSB pages are used.
    #[inline]
    pub fn uses_lsb_only_units(&self) -> bool {
        forward!(&self.mapping, page ftl => ftl.uses_lsb_only_units(), fast _ => false)
    }

    /// Whether a unit uses its LSB pages only.
    pub fn is_lsb_only(&self, unit: u32) -> bool {
        forward!(&self.mapping, page ftl => ftl.is_lsb_only(unit), fast _ => false)
    }

    /// Valid pages by region, coldest first; empty without regions.
    pub fn valid_by_region(&self) -> &[u64] {
        self.page().valid_by_region()
    }

    /// What the protection of paired pages did so far.
    pub fn protection_figures(&self) -> Figures {
        self.page().protection_figures()
    }

    /// What is where, and how worn, for a state file; without the maps, which are large ([`Ftl::maps`]).
    ///
    /// # Panics
    /// If a collection is in progress.
    pub fn save(&self) -> Saved {
        self.page().save()
    }

    /// PPN by LPN and LPN by PPN, as [`Saved`] has them.
    pub fn maps(&self) -> (&[u32], &[u32]) {
        self.page().maps()
    }

    /// Lets go of the maps' memory; [`Ftl::restore`] has to follow.
    ///
    /// # Errors
    /// When not even an empty map fits in memory.
    pub fn release_maps(&mut self) -> Result<(), OutOfMemory> {
        self.page_mut().release_maps()
    }

    /// Takes over a saved state, then makes all policies anew as [`Ftl::renew_policies`] does.
    ///
    /// # Panics
    /// If the state is of another shape; the reader of state files checks that first.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub fn restore(&mut self, saved: Saved, policies: &Policies<'_>, seed: u64) -> Result<(), OutOfMemory> {
        self.page_mut().restore(saved, policies, seed)
    }
}
