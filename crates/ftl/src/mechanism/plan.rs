//! How the space of a domain is shared among those who need of it, before a device is built.

use base::Geometry;

use super::forwarding::Schedule;
use super::{All, Planned as _, dftl, disturb, renewal, separation, wear};
use crate::kernel::{Budget, Kernel, Needs, Streams, Wordlines};
use crate::{Bytes, Policies};

/// How the space of a domain is shared among those who need of it, under the policies that were chosen.
pub(crate) struct SpacePlan {
    free_blocks: u32,
    needs: Needs,
    has_map: bool,
    /// True if cold data have a stream of their own.
    has_cold: bool,
    is_dynamic: bool,
    /// Parts of the dies with pages of their own.
    reclaim_groups: u32,
    /// Units above the reserve that are to be free at times.
    stock: u32,
    next_lsb: Vec<u16>,
}

impl SpacePlan {
    pub(crate) fn new(policies: &Policies<'_>, geometry: &Geometry) -> SpacePlan {
        let mut needs = All::needs(policies, geometry).unwrap_or(Needs::NONE);
        let axes = needs.axes;
        let of_pairs = if policies.has_map() && needs.beside { dftl::opens(policies, geometry) } else { 0 };
        needs.reserve += of_pairs;
        let mut of_victim = crate::kernel::streams_of_victim(axes) as u32 + needs.opens;
        let of_copies = crate::kernel::streams_of_copies(axes);
        let pads = policies.program.pads();
        if pads > 0 {
            // A victim's pages and these must fit into what it gives back, and into one unit more than they may fill; and into another
            // one where the host goes on before a collection ends.
            needs.without_data += pads * crate::kernel::streams_of_victim(axes) as u32;
            let reserve = if policies.gc_schedule.name == "threshold" { 2u32 } else { 3 };
            needs.reserve += reserve.saturating_sub(policies.free_blocks() + needs.reserve);
            // The copies of the next victim fill a unit, and another cut may tear some of them.
            needs.floor = needs.floor.max(2);
        }
        if needs.held > 0 && of_copies > 1 {
            // A held victim gives its room back when copies go on in its stream. Before that, victims whose pages go to other
            // streams may open a unit in each of them.
            let of_all = of_copies + needs.opens;
            of_victim = of_victim.max(of_all);
            needs.reserve += of_all.saturating_sub(policies.free_blocks() + needs.reserve);
        }
        // After a unit was refreshed, a victim can be emptied.
        let of_refresh = disturb::opens(policies, geometry, axes).max(renewal::opens(policies, axes));
        if of_refresh > 0 {
            // Pages of a map are updated for those that a refresh moves, too, and for those that went under host pages before.
            let of_map = if policies.has_map() { dftl::opens(policies, geometry) } else { 0 };
            needs.for_refresh = of_victim + of_refresh + of_map + of_pairs;
            needs.reserve += needs.for_refresh.saturating_sub(policies.free_blocks() + needs.reserve);
        }
        SpacePlan {
            free_blocks: policies.free_blocks(),
            needs,
            has_map: policies.has_map(),
            has_cold: wear::separates(policies.wear_leveling),
            is_dynamic: crate::allocation::is_dynamic(policies.allocation.name),
            reclaim_groups: separation::reclaim_groups(policies.separation),
            stock: Schedule::new(policies.gc_schedule).stock(),
            next_lsb: Wordlines::new(policies.cell, policies.program_order, geometry).next_lsb_by_slot(),
        }
    }

    /// True if page mapping can do without any mechanism.
    pub(crate) fn is_plain(policies: &Policies<'_>, geometry: &Geometry) -> bool {
        policies.mapping.name == "page"
            && geometry.parts == 1
            && policies.gc_schedule.name == "threshold"
            && All::needs(policies, geometry).is_none()
    }

    /// Where collections keep step with the host: so many units above the reserve they begin.
    pub(crate) fn paced(policies: &Policies<'_>) -> Option<u32> {
        Schedule::new(policies.gc_schedule).paced()
    }

    /// True if room is made before each host page, instead of after an active block was filled.
    pub(crate) fn on_demand(&self) -> bool {
        self.needs.on_demand
    }

    /// True if a mechanism wants to know the time.
    pub(crate) fn hears_of_time(&self) -> bool {
        self.needs.time
    }

    /// Streams and budget of a domain.
    pub(crate) fn shares(&self, geometry: &Geometry) -> (Streams, Budget) {
        let streams = Streams::new(self.needs.axes, self.has_map, self.has_cold, || self.next_lsb.clone());
        (streams, self.budget(geometry))
    }

    fn budget(&self, geometry: &Geometry) -> Budget {
        self.budget_of(geometry, self.free_blocks)
    }

    fn budget_of(&self, geometry: &Geometry, free_blocks: u32) -> Budget {
        Budget::new(geometry, free_blocks, &self.needs, self.has_map, self.has_cold)
    }

    /// Units that a domain holds free while collection keeps up.
    pub(crate) fn reserve(&self) -> u32 {
        self.free_blocks + self.needs.reserve
    }

    /// Units that a domain keeps for victims that are held, where their pages go to several streams.
    pub(crate) fn for_held(&self) -> u32 {
        let of_copies = crate::kernel::streams_of_copies(self.needs.axes);
        if of_copies == 1 || self.needs.held == 0 { 0 } else { self.needs.held * of_copies + self.needs.reserve }
    }

    /// Streams that a domain would have.
    pub(crate) fn streams(&self) -> usize {
        Streams::product(self.needs.axes) + usize::from(self.has_map) + usize::from(self.has_cold)
    }

    /// Pages of a map in flash beside so many of the host; none where the map is in DRAM.
    pub(crate) fn map_pages(&self, geometry: &Geometry, user_pages: u64) -> u64 {
        if self.has_map { dftl::map_pages(geometry, user_pages) } else { 0 }
    }

    /// The memory of kernel and mechanisms.
    pub(crate) fn bytes(
        &self,
        geometry: &Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        keeps_spares: bool,
    ) -> Bytes {
        let logical_pages = user_pages + self.map_pages(geometry, user_pages);
        let kernel = Kernel::bytes(geometry, logical_pages, self.streams() as u64, policies);
        let mechanisms = All::bytes(policies, geometry, user_pages, keeps_spares);
        Bytes {
            maps: kernel.maps,
            cached_map: mechanisms.cached_map,
            blocks: kernel.blocks + mechanisms.blocks,
            regions: mechanisms.regions,
            renewed: kernel.renewed + mechanisms.renewed,
        }
    }

    /// The largest user space, in pages, that can be kept writable for ever.
    pub(crate) fn largest_user_pages(&self, geometry: &Geometry) -> u64 {
        let valid = self.budget_of(geometry, self.free_blocks + self.stock).max_valid;
        let data = if self.has_map { dftl::most_data_pages(geometry, valid) } else { valid };
        let all = data * u64::from(geometry.domains());
        if self.is_dynamic {
            // Some domain of each reclaim group always has to accept the next page, also where a formula fixes the die: by rows of flash
            // pages.
            let of_group = geometry.dies_per_chip * geometry.planes_per_die * geometry.parts;
            all.saturating_sub(u64::from(of_group * self.reclaim_groups))
        } else {
            all
        }
    }
}
