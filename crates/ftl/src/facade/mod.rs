//! The façade: the doors between executors and the FTL. [`mapping`] has the calls that every mapping answers; what some have and
//! others have not is a part ([`Capabilities`]), which comes with the FTL.

/// Calls page mapping, with mechanisms or without; hybrid mapping gave no part that asks so.
macro_rules! of_pages {
    ($mapping:expr, $page:ident => $call:expr) => {
        match $mapping {
            crate::facade::InForce::Plain($page) => $call,
            crate::facade::InForce::Page($page) => $call,
            crate::facade::InForce::Fast(_) => crate::facade::not_given(),
        }
    };
}

mod ahead;
mod dynamic;
mod map_in_flash;
mod mapping;
mod page;
mod pages;
mod told;

pub use ahead::Ahead;
pub use dynamic::DynamicAllocation;
pub use map_in_flash::MapInFlash;
pub use mapping::{ANYWHERE, ArrayView, Nowhere};
pub use pages::PageMapping;
pub use told::{CountedReads, Elsewhere, HostReads, JudgedReads, Time};

pub(crate) use ahead::CollectsAhead;
pub(crate) use mapping::{Mapping, check_programmed};

use base::{Domain, Geometry, Seam};

use crate::allocation::Allocation;
use crate::fast::{self, Fast};
use crate::mechanism::forwarding::Schedule;
use crate::mechanism::separation::Separation;
use crate::mechanism::{All, Mechanisms as _, Plain, SpacePlan, dftl, disturb, paired, slc};
use crate::ops::Array;
use crate::paced::HostPace;
use crate::page::PageMap;
use crate::plain::PlainPages;
use crate::recovery::Recovery;
use crate::scan::Scan;
use crate::{Bytes, OutOfMemory, Policies};

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
    mapping: InForce,
    /// With more spare units in a domain no collection ahead of need begins there; `None`: the schedule begins none anywhere.
    most_spare: Option<u32>,
}

#[derive(Clone)]
#[allow(clippy::large_enum_variant)] // There is one of it.
enum InForce {
    /// Page mapping without any mechanism.
    Plain(PageMap<Plain>),
    /// Page mapping with mechanisms.
    Page(PageMap<All>),
    /// Hybrid mapping.
    Fast(Fast),
}

/// The largest user space, in pages, that the FTL can keep writable for ever under these policies.
pub fn largest_user_pages(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    if policies.is_hybrid() {
        fast::largest_user_pages(geometry, policies.mapping.integer("log_blocks"), policies.free_blocks())
    } else {
        SpacePlan::new(policies, geometry).largest_user_pages(geometry)
    }
}

/// Active blocks that a domain may have at once under these policies, as [`Saved`] has them.
pub fn streams(geometry: &Geometry, policies: &Policies<'_>) -> usize {
    SpacePlan::new(policies, geometry).streams()
}

/// Logical pages of a map in flash beside so many of the host under these policies, as [`Saved`] has them; none where the map
/// is in DRAM.
pub fn map_pages(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>) -> u64 {
    SpacePlan::new(policies, geometry).map_pages(geometry, user_pages)
}

/// Bytes of what mechanisms have of their own in a [`Saved`], at most.
pub fn bytes_of_state(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>) -> u64 {
    let of_map = if policies.has_map() { dftl::bytes_of_state(geometry, user_pages, policies) } else { 0 };
    let of_lost = if policies.bad_blocks.is_some() { (user_pages + 1) * 4 } else { 0 };
    let of_slc = slc::bytes_of_state(geometry, policies);
    of_map + of_lost + of_slc + paired::bytes_of_state(geometry, policies) + disturb::bytes_of_state(geometry, policies)
}

/// Bytes of the parts of an FTL; `keeps_spares`: where pages have spare areas.
pub fn bytes(geometry: &Geometry, user_pages: u64, policies: &Policies<'_>, keeps_spares: bool) -> Bytes {
    if policies.is_hybrid() {
        let options = fast::LogOptions::new(policies.mapping, policies.free_blocks(), geometry, user_pages);
        return Fast::bytes(geometry, user_pages, options, policies.block_allocation);
    }
    let mut bytes = SpacePlan::new(policies, geometry).bytes(geometry, user_pages, policies, keeps_spares);
    if let Allocation::Own(_) = Allocation::build(policies.allocation, geometry) {
        bytes.maps += user_pages * size_of::<Domain>() as u64;
    }
    bytes.blocks += if SpacePlan::is_plain(policies, geometry) {
        PageMap::<Plain>::bytes(geometry)
    } else {
        PageMap::<All>::bytes(geometry) + HostPace::bytes(SpacePlan::paced(policies), geometry)
    };
    bytes
}

/// The parts that a mapping has: what some mappings can do, and others cannot. Executors get them along with the FTL, and call a part
/// with the one that it came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Logical pages of the host.
    pub user_pages: u32,
    /// Page mapping, with mechanisms or without.
    pub pages: Option<PageMapping>,
    /// Dynamic allocation.
    pub dynamic: Option<DynamicAllocation>,
    /// A map in flash; else all entries are in DRAM.
    pub map: Option<MapInFlash>,
    /// Collections ahead of need.
    pub ahead: Option<Ahead>,
    /// Reads that are counted: a mechanism hears of every page that is read, and has a say in it.
    pub reads: Option<CountedReads>,
    /// Reads by what ECC made of them, which a mechanism hears of, and the instants at which it has something to do.
    pub judged_reads: Option<JudgedReads>,
    /// Reads of the host, which a mechanism hears of.
    pub host_reads: Option<HostReads>,
    /// The time, which a mechanism wants to know.
    pub time: Option<Time>,
    /// True if pages are placed by the hints of their writes.
    pub hints: bool,
    /// Work of domains for each other.
    pub elsewhere: Option<Elsewhere>,
    /// True if domains collect and do nothing besides: none is busy but with a collection.
    pub only_collects: bool,
    /// Page mapping without mechanisms.
    pub plain: Option<PlainPages>,
}

#[cold]
fn not_given() -> ! {
    panic!("a part is called with the FTL that gave it")
}

// Set-up, and the parts.
impl Ftl {
    /// An FTL over a pristine array, and the parts that its mapping has. `seed` is the run's; with `keeps_spares` pages have spare
    /// areas, from which a restart finds everything again.
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
    ) -> Result<(Ftl, Capabilities), OutOfMemory> {
        let mapping = if policies.is_hybrid() {
            let options = fast::LogOptions::new(policies.mapping, policies.free_blocks(), &geometry, user_pages);
            let own = Allocation::build(policies.allocation, &geometry);
            InForce::Fast(Fast::new(geometry, user_pages, options, own, policies.block_allocation)?)
        } else if SpacePlan::is_plain(policies, &geometry) {
            InForce::Plain(PageMap::new(geometry, user_pages, policies, seed, keeps_spares)?)
        } else {
            InForce::Page(PageMap::new(geometry, user_pages, policies, seed, keeps_spares)?)
        };
        Ok(Ftl::over(policies, &geometry, mapping))
    }

    /// The FTL of a device of which nothing is known but the array, where the erases and rescues that this calls for are done; nothing
    /// under hybrid mapping, which leaves no spare areas to find pages by. The power may go off again in the middle of it; then the rest is
    /// for the next restart.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub fn recover(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        array: &mut (impl Array + Scan),
    ) -> Result<Option<(Ftl, Capabilities, Recovery)>, OutOfMemory> {
        if policies.is_hybrid() {
            return Ok(None);
        }
        let (mapping, recovery) = if SpacePlan::is_plain(policies, &geometry) {
            let (page, recovery) = PageMap::recover(geometry, user_pages, policies, seed, array)?;
            (InForce::Plain(page), recovery)
        } else {
            let (page, recovery) = PageMap::recover(geometry, user_pages, policies, seed, array)?;
            (InForce::Page(page), recovery)
        };
        let (ftl, has) = Ftl::over(policies, &geometry, mapping);
        Ok(Some((ftl, has, recovery)))
    }

    fn over(policies: &Policies<'_>, geometry: &Geometry, mapping: InForce) -> (Ftl, Capabilities) {
        let schedule = Schedule::new(policies.gc_schedule);
        let most_spare = match schedule.stock() {
            0 => (!schedule.is_threshold()).then_some(schedule.spare_units),
            stock => Some(SpacePlan::new(policies, geometry).reserve() + stock - 1),
        };
        let ftl = Ftl { mapping, most_spare };
        let has = ftl.capabilities();
        (ftl, has)
    }

    fn capabilities(&self) -> Capabilities {
        let plain = matches!(self.mapping, InForce::Plain(_)).then_some(PlainPages(()));
        Capabilities {
            user_pages: match &self.mapping {
                InForce::Plain(page) => page.kernel.user_pages(),
                InForce::Page(page) => page.kernel.user_pages(),
                InForce::Fast(fast) => fast.user_pages(),
            },
            pages: PageMapping::of(self),
            dynamic: DynamicAllocation::of(self),
            map: MapInFlash::of(self),
            ahead: Ahead::of(self),
            reads: CountedReads::of(self),
            judged_reads: JudgedReads::of(self),
            host_reads: HostReads::of(self),
            hints: self
                .page()
                .is_some_and(|page| page.mechanisms.parts().separation.is_some_and(Separation::is_by_hints)),
            time: Time::of(self),
            elsewhere: Elsewhere::of(self),
            only_collects: plain.is_some() || self.page().is_some_and(|page| !page.on_demand),
            plain,
        }
    }

    /// Page mapping without mechanisms, for the part that it gave.
    #[inline(always)]
    pub(crate) fn plain_pages(&self) -> &PageMap<Plain> {
        if let InForce::Plain(page) = &self.mapping { page } else { not_given() }
    }

    #[inline(always)]
    pub(crate) fn plain_pages_mut(&mut self) -> &mut PageMap<Plain> {
        if let InForce::Plain(page) = &mut self.mapping { page } else { not_given() }
    }

    /// Page mapping with mechanisms, if that is in force.
    fn page(&self) -> Option<&PageMap<All>> {
        if let InForce::Page(page) = &self.mapping { Some(page) } else { None }
    }

    /// Page mapping with mechanisms, for a part that it gave.
    #[inline(always)]
    fn with_mechanisms(&self) -> &PageMap<All> {
        if let InForce::Page(page) = &self.mapping { page } else { not_given() }
    }

    #[inline(always)]
    fn with_mechanisms_mut(&mut self) -> &mut PageMap<All> {
        if let InForce::Page(page) = &mut self.mapping { page } else { not_given() }
    }
}
