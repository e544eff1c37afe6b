//! The façade: what executors ask of the FTL and tell it, under any mapping.
//!
//! A call is a branch that the processor predicts, and inlines into the executor.

use base::{Die, Domain, Geometry, Lpn, Ppn, Queue, Seam, Unit};

use crate::allocation::Allocation;
use crate::fast::{self, Fast};
use crate::group::Group;
use crate::kernel::{Saved, Why};
use crate::mechanism::{Agenda as _, All, Mechanisms as _, Placing as _, Plain, Plan, dftl, disturb, paired};
use crate::ops::{Array, Coming, Demands, Done, Finished, Going, MapPlace, Phase, Placed, Put, Step, Told};
use crate::page::Page;
use crate::plain::PlainPages;
use crate::recovery::Recovery;
use crate::scan::Scanned;
use crate::{Bytes, Figures, OutOfMemory, Policies};

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "mapping",
    doc: "How logical pages are translated.",
    choices: &[
        base::Choice { name: "page", doc: "A flat page map, 4 bytes per logical page, held in DRAM.", params: &[] },
        dftl::CHOICE,
        fast::CHOICE,
    ],
};

/// The flash translation layer, under any mapping. A copy goes on as the original would; with a victim policy of the user's own
/// there is none.
#[derive(Clone)]
pub struct Ftl {
    /// Shape and allocation are asked for several times per event: without a branch.
    geometry: Geometry,
    allocation: Allocation,
    mapping: Mapping,
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // There is one of it.
enum Mapping {
    /// Page mapping without any mechanism.
    Plain(PlainPages),
    /// Page mapping with mechanisms.
    Page(Page<All>),
    /// Hybrid mapping.
    Fast(Fast),
}

/// The largest user space, in pages, that the FTL can keep writable for ever under these policies.
pub fn largest_user_pages(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    if policies.is_hybrid() {
        fast::largest_user_pages(geometry, policies.mapping.integer("log_blocks"), policies.free_blocks())
    } else {
        Plan::new(policies, geometry).largest_user_pages(geometry)
    }
}

/// Active blocks that a domain may have at once under these policies, as [`Saved`] has them.
pub fn streams(geometry: &Geometry, policies: &Policies<'_>) -> usize {
    Plan::new(policies, geometry).streams()
}

/// Logical pages of a map in flash beside so many of the host under these policies, as [`Saved`] has them; none where the map
/// is in DRAM.
pub fn map_pages(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>) -> u64 {
    Plan::new(policies, geometry).map_pages(geometry, user_pages)
}

/// Bytes of what mechanisms have of their own in a [`Saved`], at most.
pub fn bytes_of_state(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>) -> u64 {
    let of_map = if policies.has_map() { dftl::bytes_of_state(geometry, user_pages, policies) } else { 0 };
    of_map + paired::bytes_of_state(geometry, policies) + disturb::bytes_of_state(geometry, policies)
}

/// What the parts of an FTL take; `keeps_spares`: where pages have spare areas.
pub fn bytes(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>, keeps_spares: bool) -> Bytes {
    if policies.is_hybrid() {
        let options = fast::Options::new(policies.mapping, policies.free_blocks(), geometry, user_pages);
        return Fast::bytes(geometry, user_pages, options, policies.block_allocation);
    }
    let mut bytes = Plan::new(policies, geometry).bytes(geometry, user_pages, policies, keeps_spares);
    let allocation = Allocation::build(policies.allocation, geometry);
    if let Allocation::Own(_) = allocation {
        bytes.maps += user_pages * size_of::<Domain>() as u64;
    }
    bytes.blocks += if Plan::is_plain(policies, geometry) {
        Page::<Plain>::bytes(geometry, &allocation)
    } else {
        Page::<All>::bytes(geometry, &allocation)
    };
    bytes
}

/// Calls the mapping in force.
/// Any place suits: see [`Ftl::place`].
pub const ANYWHERE: Option<fn(Ppn) -> bool> = None;

macro_rules! delegate {
    ($mapping:expr, $ftl:ident => $call:expr) => {
        match $mapping {
            Mapping::Plain(PlainPages($ftl)) => $call,
            Mapping::Page($ftl) => $call,
            Mapping::Fast($ftl) => $call,
        }
    };
    ($mapping:expr, page $page:ident => $of_page:expr, fast $fast:pat => $of_fast:expr) => {
        match $mapping {
            Mapping::Plain(PlainPages($page)) => $of_page,
            Mapping::Page($page) => $of_page,
            Mapping::Fast($fast) => $of_fast,
        }
    };
}

// Set-up, and what outlives a run.
impl Ftl {
    /// An FTL over a pristine array. `seed` is the run's; with `keeps_spares` pages have spare areas, from which a restart
    /// finds everything again.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    ///
    /// # Panics
    /// If the user space is larger than [`largest_user_pages`], which the configuration check refuses.
    pub fn new(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        keeps_spares: bool,
    ) -> Result<Ftl, OutOfMemory> {
        let mapping = if policies.is_hybrid() {
            let options = fast::Options::new(policies.mapping, policies.free_blocks(), &geometry, user_pages);
            let own = Allocation::build(policies.allocation, &geometry);
            Mapping::Fast(Fast::new(geometry, user_pages, options, own, policies.block_allocation)?)
        } else if Plan::is_plain(policies, &geometry) {
            Mapping::Plain(PlainPages(Page::new(geometry, user_pages, policies, seed, keeps_spares)?))
        } else {
            Mapping::Page(Page::new(geometry, user_pages, policies, seed, keeps_spares)?)
        };
        Ok(Ftl { geometry, allocation: Allocation::build(policies.allocation, &geometry), mapping })
    }

    /// The FTL of a device of which nothing is known but the array, and what is left to be done by [`Ftl::resume`]; nothing
    /// under hybrid mapping, which leaves no spare areas to find pages by. `scan` is by unit.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub fn recover(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        scan: &[Scanned],
    ) -> Result<Option<(Ftl, Recovery)>, OutOfMemory> {
        if policies.is_hybrid() {
            return Ok(None);
        }
        let (mapping, recovery) = if Plan::is_plain(policies, &geometry) {
            let (page, recovery) = Page::recover(geometry, user_pages, policies, seed, scan)?;
            (Mapping::Plain(PlainPages(page)), recovery)
        } else {
            let (page, recovery) = Page::recover(geometry, user_pages, policies, seed, scan)?;
            (Mapping::Page(page), recovery)
        };
        let ftl = Ftl { geometry, allocation: Allocation::build(policies.allocation, &geometry), mapping };
        Ok(Some((ftl, recovery)))
    }

    /// Does what is left to be done after a restart. Returns the domains that have collections to do then.
    pub fn resume(&mut self, recovery: &Recovery, array: &mut impl Array) -> Vec<Domain> {
        delegate!(&mut self.mapping, page ftl => ftl.resume(recovery, array), fast _ => Vec::new())
    }

    /// Deals with the failed program of a page: of a host page, or of a copy of another page. Returns whether this mapping
    /// can: hybrid mapping cannot.
    pub fn repair(&mut self, at: Ppn, copied_from: Option<Ppn>, array: &mut impl Array) -> bool {
        delegate!(&mut self.mapping, page ftl => { ftl.repair(at, copied_from, array); true }, fast _ => false)
    }

    /// What is where, and how worn, for a state file. Nothing under hybrid mapping, which has no states.
    ///
    /// # Panics
    /// If a collection is in progress.
    pub fn save(&self) -> Option<Saved<'_>> {
        delegate!(&self.mapping, page ftl => Some(ftl.save()), fast _ => None)
    }

    /// Whether a unit uses its LSB pages only.
    pub fn is_lsb_only(&self, unit: Unit) -> bool {
        delegate!(&self.mapping, page ftl => ftl.is_lsb_only(unit), fast _ => false)
    }

    /// Takes over the saved state that `read` gives, then makes all policies anew as [`Ftl::renew_policies`] does. The maps'
    /// memory is let go of first, so that a large device is not in memory twice.
    ///
    /// # Errors
    /// What `read` says, or that the maps do not fit in memory: either leaves the FTL without maps. Inside: what of the
    /// mechanisms' own part is not theirs, or that hybrid mapping has no states.
    ///
    /// # Panics
    /// If the state is of another shape; the reader of state files checks that first. Under a map in flash, if this is not
    /// as new.
    pub fn restore<E: From<OutOfMemory>>(
        &mut self,
        read: impl FnOnce() -> Result<Saved<'static>, E>,
        policies: &Policies<'_>,
        seed: u64,
    ) -> Result<Result<(), String>, E> {
        delegate!(&mut self.mapping, page ftl => ftl.restore(read, policies, seed),
            fast _ => Ok(Err("hybrid mapping, which has no states".into())))
    }

    /// Makes every policy anew and forgets figures: preconditioning ends with this, whether it was run or loaded from a
    /// file. So a run that starts from a saved state equals one that aged the device itself, and a state can be used under
    /// other policies.
    pub fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64) {
        delegate!(&mut self.mapping,
            page ftl => ftl.renew_policies(policies, seed),
            fast ftl => ftl.renew_pool(policies.block_allocation));
    }

    /// What mapping and mechanisms did since preconditioning.
    pub fn figures(&self) -> Figures {
        delegate!(&self.mapping, ftl => ftl.figures())
    }

    /// Checks the whole state: that map and reverse map mirror each other, that valid counts and free counts add up, that
    /// every unit is where its state says, and that every logical page lies where `is_programmed` holds.
    ///
    /// # Errors
    /// A sentence that names the first disagreement.
    pub fn check(&self, is_programmed: &dyn Fn(Ppn) -> bool) -> Result<(), String> {
        delegate!(&self.mapping, ftl => ftl.check())?;
        let logical_pages =
            delegate!(&self.mapping, page ftl => ftl.kernel.logical_pages(), fast ftl => ftl.user_pages());
        let astray = (0..logical_pages).map(Lpn).find_map(|lpn| {
            let at = self.lookup(lpn).filter(|&at| !is_programmed(at))?;
            Some(format!("LPN {} maps to PPN {}, which is not programmed", lpn.0, at.0))
        });
        astray.map_or(Ok(()), Err)
    }
}

// What is asked; nothing changes.
impl Ftl {
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

    /// Logical pages of the host.
    #[inline]
    pub fn user_pages(&self) -> u32 {
        delegate!(&self.mapping, page ftl => ftl.kernel.user_pages(), fast ftl => ftl.user_pages())
    }

    /// Page mapping without mechanisms, if that is in force.
    #[inline(always)]
    pub(crate) fn plain_pages(&mut self) -> Option<&mut PlainPages> {
        if let Mapping::Plain(pages) = &mut self.mapping { Some(pages) } else { None }
    }

    /// What the executor has to know before it begins.
    pub fn demands(&self) -> Demands {
        let Mapping::Page(ftl) = &self.mapping else {
            let is_plain = matches!(self.mapping, Mapping::Plain(_));
            return Demands {
                map: MapPlace::Dram,
                fill: false,
                time: false,
                reads: false,
                only_collects: is_plain,
                is_plain,
            };
        };
        let parts = ftl.mechanisms.parts();
        let map = match parts.map {
            None => MapPlace::Dram,
            Some(map) if map.has_owners() => MapPlace::WithOwners,
            Some(_) => MapPlace::Flash,
        };
        Demands {
            map,
            fill: parts.load.is_some_and(|load| load.selects()),
            time: ftl.hears_of_time,
            reads: parts.reads.is_some(),
            only_collects: !ftl.on_demand,
            is_plain: false,
        }
    }

    /// Where a logical page is, if it was ever written (and not trimmed since).
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        delegate!(&self.mapping, page ftl => ftl.kernel.lookup(lpn), fast ftl => ftl.lookup(lpn))
    }

    /// The host reads a page and those behind it, of `most` logical pages, that follow it in its block, as many as call for nothing.
    /// Returns where the first one is, and how many are read; `None` if it was never written. Only where map entries are in DRAM
    /// and units are blocks; hybrid mapping reads none.
    #[inline]
    pub fn read_run(&mut self, first: Lpn, most: u32) -> Option<(Ppn, u32)> {
        delegate!(&mut self.mapping, page ftl => ftl.read_run(first, most), fast _ => None)
    }

    /// Whether a physical page holds current data.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        delegate!(&self.mapping, page ftl => ftl.kernel.is_valid(ppn), fast ftl => ftl.is_valid(ppn))
    }

    /// Asks the memory for what is needed soon.
    #[inline]
    pub fn prefetch(&self, coming: Coming) {
        match coming {
            Coming::Lookup(lpn) => {
                delegate!(&self.mapping, page ftl => ftl.prefetch_map(lpn), fast ftl => ftl.prefetch_map(lpn));
            }
            Coming::Overwrite(lpn) => {
                delegate!(&self.mapping, page ftl => ftl.kernel.prefetch_old(lpn), fast ftl => ftl.prefetch_old(lpn));
            }
            Coming::Read(at) => {
                delegate!(&self.mapping, page ftl => ftl.prefetch_read(at), fast _ => {});
            }
            Coming::Copy(from) => {
                delegate!(&self.mapping, page ftl => ftl.prefetch_copy(from), fast _ => {});
            }
        }
    }

    /// Whether a domain has something to do before it takes host pages: a collection, or what a mechanism asks for.
    #[inline(always)]
    pub fn is_busy(&self, domain: Domain) -> bool {
        delegate!(&self.mapping, ftl => ftl.is_busy(domain))
    }

    /// Says in words a domain's free blocks, its job and its next operation.
    pub fn in_words(&self, domain: Domain) -> String {
        delegate!(&self.mapping, page ftl => ftl.in_words(domain), fast ftl => ftl.in_words(domain))
    }

    /// Why a domain is collected, if it is.
    #[inline]
    pub fn why(&self, domain: Domain) -> Option<Why> {
        delegate!(&self.mapping, ftl => ftl.why(domain))
    }

    /// Whether a page of the array may be read for the host now; if not, it has to move first, and its domain has something to
    /// do.
    #[inline]
    pub fn may_read(&self, at: Ppn) -> bool {
        match &self.mapping {
            Mapping::Page(ftl) => ftl.mechanisms.parts().reads.is_none_or(|reads| reads.may_read(&ftl.kernel, at)),
            Mapping::Plain(_) | Mapping::Fast(_) => true,
        }
    }

    /// Whether the map entry of a page can be read: it is in DRAM, or there is none.
    #[inline]
    pub fn is_known(&self, lpn: Lpn) -> bool {
        match &self.mapping {
            Mapping::Page(ftl) => ftl.mechanisms.parts().map.is_none_or(|map| map.is_known(&ftl.kernel, lpn)),
            Mapping::Plain(_) | Mapping::Fast(_) => true,
        }
    }

    /// The domain that owns the map entry of a page, where the map is in flash.
    #[inline]
    pub fn owner_of(&self, lpn: Lpn) -> Option<Domain> {
        match &self.mapping {
            Mapping::Page(ftl) => ftl.mechanisms.parts().map.map(|map| map.owner_of(lpn)),
            Mapping::Plain(_) | Mapping::Fast(_) => None,
        }
    }

    /// Units that can be written before garbage has to be collected: free ones or, under hybrid mapping, log blocks
    /// that are not in use.
    #[inline]
    pub fn spare_units(&self, domain: Domain) -> u32 {
        delegate!(&self.mapping, page ftl => ftl.kernel.free(domain), fast ftl => ftl.spare_log_blocks(domain))
    }

    /// What is left of a collection that keeps step with the host: a step for each page, and one for the erase.
    pub fn steps_left(&self, domain: Domain) -> u32 {
        delegate!(&self.mapping, page ftl => ftl.steps_left(domain), fast _ => 0)
    }

    /// Whether a collection stands at a preemption point (Wen and Chang, section 3.3), as far as the mapping knows: what
    /// was read for it is programmed first. If so, whether a unit that was emptied ahead of need waits for its erase, or pages
    /// are copied next.
    #[inline]
    pub fn rests(&self, domain: Domain) -> Option<Phase> {
        let rests = delegate!(&self.mapping, page _ftl => true, fast ftl => ftl.rests(domain));
        let has_emptied = || delegate!(&self.mapping, ftl => ftl.has_emptied(domain));
        rests.then(|| if has_emptied() { Phase::Erase } else { Phase::Copy })
    }

    /// What a domain does next, and with which pages, which are put into `group`. [`Ftl::advance`] comes first: it begins
    /// and ends what is due.
    #[inline(always)]
    pub fn op(&self, domain: Domain, group: &mut Group) -> Option<Step> {
        delegate!(&self.mapping, ftl => ftl.op(domain, group))
    }

    /// The domain of a die whose turn it is, round robin over those that accept pages from a dynamic allocation.
    pub fn peek_domain_of(&self, die: Die) -> Option<Domain> {
        delegate!(&self.mapping, page ftl => ftl.peek_domain_of(die), fast _ => None)
    }
}

// The host's pages.
impl Ftl {
    /// Has a domain do what has to come before a host page. Returns whether that is nothing, so that it can be written; if
    /// not, it has something to do first ([`Ftl::advance`]).
    #[inline(always)]
    pub fn prepare(&mut self, domain: Domain, lpn: Lpn) -> bool {
        delegate!(&mut self.mapping, page ftl => ftl.prepare(domain, lpn), fast ftl => !ftl.is_busy(domain))
    }

    /// Has the owner of a map entry get it for a write, if that takes no operation. Returns whether it is at hand; if not,
    /// [`Ftl::owner_of`] has something to do first.
    #[inline]
    pub fn prepare_entry(&mut self, lpn: Lpn) -> bool {
        delegate!(&mut self.mapping, page ftl => ftl.prepare_entry(lpn), fast _ => true)
    }

    /// Has the owner of a map entry get it for a read. Returns whether it is at hand.
    #[inline]
    pub fn prepare_read(&mut self, lpn: Lpn) -> bool {
        match &mut self.mapping {
            Mapping::Page(ftl) => ftl.prepare_read(lpn),
            Mapping::Plain(_) | Mapping::Fast(_) => true,
        }
    }

    /// Places a page that the host writes, and makes its old version invalid.
    ///
    /// A collection may begin ([`Ftl::is_busy`]): it has to end before the domain takes another host page.
    ///
    /// # Panics
    /// If the domain is busy, or there is no such page.
    #[inline(always)] // Of plain page mapping little is left where pages store nothing.
    pub fn write(&mut self, domain: Domain, lpn: Lpn) -> Placed {
        match &mut self.mapping {
            Mapping::Plain(PlainPages(page)) => page.write(domain, lpn),
            _ => self.write_with_care(domain, lpn),
        }
    }

    #[inline(never)]
    fn write_with_care(&mut self, domain: Domain, lpn: Lpn) -> Placed {
        delegate!(&mut self.mapping, ftl => ftl.write(domain, lpn))
    }

    /// The same, if the place that the page would get suits. It is asked for once, and a unit is open for it then, whether
    /// it suits or not.
    #[inline]
    pub fn write_if(&mut self, domain: Domain, lpn: Lpn, suits: impl FnOnce(Ppn) -> bool) -> Option<Placed> {
        delegate!(&mut self.mapping, ftl => ftl.write_if(domain, lpn, suits))
    }

    /// Forgets a logical page. Returns whether it was mapped.
    pub fn trim(&mut self, lpn: Lpn) -> bool {
        delegate!(&mut self.mapping, ftl => ftl.trim(lpn))
    }

    /// The domain that takes a page when no time passes.
    #[inline(always)]
    pub fn domain_without_time(&mut self, lpn: Lpn) -> Domain {
        delegate!(&mut self.mapping, page ftl => ftl.domain_without_time(lpn), fast ftl => ftl.domain_of(lpn))
    }

    /// The next die of a queue, round robin, that is idle and has a domain that accepts pages. `idle` has one
    /// bit per die of the queue, in the order of [`crate::allocation::Dynamic::dies`]: on a busy device few
    /// are set, and this is asked after every event.
    pub fn next_die_of(&mut self, queue: Queue, idle: &[u64]) -> Option<Die> {
        delegate!(&mut self.mapping, page ftl => ftl.next_die_of(queue, idle), fast _ => None)
    }

    /// A domain of a die gets a page: the round robin of [`Ftl::peek_domain_of`] goes on behind it.
    pub fn rotate(&mut self, die: Die, domain: Domain) {
        delegate!(&mut self.mapping, page ftl => ftl.rotate(die, domain), fast _ => {});
    }
}

// Operations.
impl Ftl {
    /// Begins and ends what is due in a domain, so that [`Ftl::op`] has an answer.
    #[inline(always)]
    pub fn advance(&mut self, domain: Domain) {
        delegate!(&mut self.mapping, ftl => ftl.advance(domain));
    }

    /// Places a page of the operation in hand, if the place that it would get suits. `None` if that does not, or if the page
    /// was to be copied, and was overwritten or trimmed since. `suits` is asked once, if at all, and a unit is open for the
    /// page then; [`ANYWHERE`] takes any place.
    #[inline(always)]
    pub fn place<S: FnOnce(Ppn) -> bool>(&mut self, domain: Domain, put: Put<'_>, suits: Option<S>) -> Option<Placed> {
        match suits {
            None => delegate!(&mut self.mapping, ftl => ftl.place(domain, put)),
            Some(suits) => delegate!(&mut self.mapping, ftl => ftl.place_if(domain, put, suits)),
        }
    }

    /// Something that the FTL asked for is done.
    ///
    /// # Panics
    /// If it was not asked for.
    #[inline]
    pub fn finish(&mut self, domain: Domain, done: Done) -> Finished {
        delegate!(&mut self.mapping, ftl => ftl.finish(domain, done))
    }

    /// Carries out whatever a domain has to do, at once.
    pub fn collect(&mut self, domain: Domain, array: &mut impl Array) {
        delegate!(&mut self.mapping, ftl => ftl.collect(domain, array));
    }

    /// Domains whose collection began along with another's since the last call, in the order of beginning.
    #[inline]
    pub fn take_early(&mut self) -> impl Iterator<Item = Domain> + use<> {
        let early = match &mut self.mapping {
            Mapping::Page(ftl) => std::mem::take(&mut ftl.early),
            Mapping::Plain(_) | Mapping::Fast(_) => Vec::new(),
        };
        early.into_iter()
    }

    /// A domain that has something to do because of another one, or may go on, since it was last named.
    #[inline]
    pub fn take_woken(&mut self) -> Option<Domain> {
        match &mut self.mapping {
            Mapping::Page(ftl) => ftl.kernel.take_woken(),
            Mapping::Plain(_) | Mapping::Fast(_) => None,
        }
    }

    /// Tells mechanisms the time, how full the write buffer is from now on, or what is read; a sample of the workload's locality, when one
    /// is taken.
    #[inline]
    pub fn tell(&mut self, told: Told) -> Option<f64> {
        match (&mut self.mapping, told) {
            (Mapping::Page(ftl), Told::Time(now)) => ftl.mechanisms.tell(&mut ftl.kernel, now),
            (Mapping::Page(ftl), Told::Fill(now, fill)) => {
                if let Some(load) = ftl.mechanisms.parts_mut().load {
                    load.tell_fill(&mut ftl.kernel, now, fill);
                }
                None
            }
            (Mapping::Page(ftl), Told::HostRead(lpn)) => {
                ftl.mechanisms.read(lpn);
                None
            }
            (Mapping::Page(ftl), Told::ArrayRead(at)) => {
                ftl.page_read(at);
                None
            }
            (Mapping::Plain(_) | Mapping::Fast(_), _) => None,
        }
    }
}

// Collections ahead of need.
impl Ftl {
    /// Begins a collection ahead of need, or goes on with one that was suspended. Returns whether there is anything
    /// to collect.
    pub fn begin_forward(&mut self, domain: Domain) -> bool {
        delegate!(&mut self.mapping, page ftl => ftl.begin_forward(domain),
            fast ftl => !ftl.is_busy(domain) && ftl.begin_forward(domain))
    }

    /// Begins a collection that keeps step with the host, or goes on with the one of `last`, if free space has come down to `low`
    /// units above the reserve; the host has just written so many pages to the domain. Hybrid mapping has none.
    pub fn begin_paced(&mut self, domain: Domain, low: u32, written: u32, last: Option<Going>) -> Option<Going> {
        delegate!(&mut self.mapping, page ftl => ftl.begin_paced(domain, low, written, last), fast _ => None)
    }

    /// Carries out a collection ahead of need at once, and suspends it after so many operations, as soon as that can be done. Where
    /// it defers erases, it leaves that of an emptied unit for later and goes on with the next one. Hybrid mapping has none
    /// without time. Returns whether it was suspended.
    pub fn collect_ahead(&mut self, domain: Domain, operations: u32, defers: bool, array: &mut impl Array) -> bool {
        delegate!(&mut self.mapping, page ftl => ftl.collect_ahead(domain, operations, defers, array), fast _ => false)
    }

    /// Suspends a collection ahead of need, so that the domain takes host pages, if that can be done now. Returns whether
    /// it was.
    pub fn suspend(&mut self, domain: Domain) -> bool {
        delegate!(&mut self.mapping, ftl => {
            let may = ftl.may_suspend(domain);
            if may {
                ftl.suspend(domain);
            }
            may
        })
    }

    /// Has a collection ahead of need, which has to rest, go on with the erase of an emptied unit, or with pages to copy: if
    /// need be in another unit, so that the erase of an emptied one is left for later. Returns whether it does.
    pub fn go_on_with(&mut self, domain: Domain, phase: Phase) -> bool {
        match phase {
            Phase::Copy => delegate!(&mut self.mapping, ftl => ftl.defer_erase(domain)),
            Phase::Erase => {
                let has_emptied = delegate!(&self.mapping, ftl => ftl.has_emptied(domain));
                if has_emptied {
                    delegate!(&mut self.mapping, ftl => ftl.erase_emptied(domain));
                }
                has_emptied
            }
        }
    }
}
