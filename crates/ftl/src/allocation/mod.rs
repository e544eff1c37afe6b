//! Plane allocation: which planes may take a host page.
//!
//! Pages wait in *queues*. A static order has one queue per domain, and a formula of the LPN names it. The
//! dynamic allocations share queues: a die that is free takes the next page, so a busy die is skipped
//! by construction (the "busy-aware round robin" of SSDSim and TBM), and what they look at is time.

mod dynamic;
mod groups;
mod striped;
mod table;
mod turns;

use base::scope::{Area, Scope};
use base::{Choice, Domain, Geometry, Lpn, Queue, Seam, Selection};

use crate::Policies;

pub use dynamic::Dynamic;
pub use groups::GroupedNamespace;
pub(crate) use groups::{OverfullGroup, ReclaimGroups, shape_of_group};
pub use striped::Striped;
pub use table::DomainTable;
pub use turns::{DieTurns, IdleDies};

/// Any registered plane allocation.
#[derive(Clone)]
pub enum Allocation {
    /// A static order.
    Striped(Striped),
    /// F, D or F2.
    Dynamic(Dynamic),
    /// A static one of the user's own.
    Own(DomainTable),
}

macro_rules! orders {
    ($($name:literal),+ $(,)?) => {
        /// The static orders first (the first is the default), then the dynamic allocations.
        static CHOICES: &[Choice] = &[
            $(Choice {
                name: $name,
                doc: "Static striping by LPN over C(hannel), W(ay: chip), D(ie), P(lane); the first letter varies fastest.",
                params: &[],
            },)+
            dynamic::F, dynamic::D, dynamic::F2,
        ];
    };
}

orders!(
    "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", "WCDP", "WCPD", "WDCP", "WDPC", "WPCD", "WPDC", "DCWP", "DCPW",
    "DWCP", "DWPC", "DPCW", "DPWC", "PCWD", "PCDW", "PWCD", "PWDC", "PDCW", "PDWC",
);

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "allocation",
    doc: "Which channel, chip, die and plane take a host page: one of these, or a class of your own in Python, \
              `FILE.py:CLASS`, or `FILE.py:CLASS(w=4)`; that file is code, and is run.",
    choices: CHOICES,
};

/// True if the allocation of that name binds pages to channels dynamically.
pub fn is_dynamic(name: &str) -> bool {
    [dynamic::F.name, dynamic::D.name, dynamic::F2.name].contains(&name)
}

/// Consecutive logical pages, of which a static order gives each plane a flash page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Its length.
    pub pages: u32,
    /// Pages of it before the one that was asked for.
    pub before: u32,
    /// The page before which the stripes that follow end.
    pub end: Lpn,
}

impl Allocation {
    /// The allocation that was chosen, with the reclaim groups that the separation has.
    ///
    /// # Panics
    /// If the selection is not from this registry, or a group has no room for its pages, which the configuration check refuses.
    pub fn of(policies: &Policies<'_>, geometry: &Geometry, user_pages: u64) -> Allocation {
        let has_several = policies.reclaim_groups() > 1;
        let groups = || Allocation::groups(policies, geometry, user_pages).expect("groups with room for their pages");
        Allocation::over(policies.allocation, geometry, has_several.then(groups))
    }

    /// The logical pages of each reclaim group.
    pub(crate) fn groups(
        policies: &Policies<'_>,
        geometry: &Geometry,
        user_pages: u64,
    ) -> Result<ReclaimGroups, OverfullGroup> {
        let count = policies.reclaim_groups();
        let most = groups::room_of_group(geometry, count, user_pages, is_dynamic(policies.allocation.name));
        ReclaimGroups::new(count, &policies.namespaces, user_pages, most)
    }

    /// The allocation that was chosen, over all dies.
    ///
    /// # Panics
    /// If the selection is not from this registry.
    pub fn build(selection: &Selection, geometry: &Geometry) -> Allocation {
        Allocation::over(selection, geometry, None)
    }

    fn over(selection: &Selection, geometry: &Geometry, groups: Option<ReclaimGroups>) -> Allocation {
        if let Some(own) = &selection.own {
            return Allocation::Own(DomainTable::new(own, geometry.domains()));
        }
        assert!(SEAM.find(selection.name).is_some(), "`{}` is not a plane allocation", selection.name);
        if is_dynamic(selection.name) {
            Allocation::Dynamic(Dynamic::new(selection.name, geometry, groups))
        } else {
            Allocation::Striped(Striped::new(selection.name, geometry, groups))
        }
    }

    /// The stripe of a page, of `parts` pages for each plane. Only a static order has stripes: a table of the user's own is taken as if it
    /// were one.
    pub fn stripe_of(&self, lpn: Lpn, parts: u32) -> Stripe {
        let pages = self.queues() * parts;
        match self {
            Allocation::Striped(striped) => striped.stripe_of(lpn),
            Allocation::Dynamic(_) | Allocation::Own(_) => Stripe { pages, before: lpn.0 % pages, end: Lpn(u32::MAX) },
        }
    }

    /// The number of queues in which host pages wait.
    pub fn queues(&self) -> u32 {
        match self {
            Allocation::Striped(striped) => striped.domains(),
            Allocation::Dynamic(dynamic) => dynamic.queues(),
            Allocation::Own(table) => table.domains(),
        }
    }

    /// All queues.
    pub fn all_queues(&self) -> impl Iterator<Item = Queue> + Clone + use<> {
        (0..self.queues()).map(Queue::new)
    }

    /// The queue a page waits in. Static: its domain.
    #[inline]
    pub fn queue_of(&self, lpn: Lpn) -> Queue {
        match self {
            Allocation::Striped(striped) => Queue::of_domain(striped.domain_of(lpn)),
            Allocation::Dynamic(dynamic) => dynamic.queue_of(lpn),
            Allocation::Own(table) => Queue::of_domain(table.domain_of(lpn)),
        }
    }

    /// The domain a page lies in, under a static order.
    #[inline]
    pub fn domain_of(&self, lpn: Lpn) -> Option<Domain> {
        match self {
            Allocation::Striped(striped) => Some(striped.domain_of(lpn)),
            Allocation::Dynamic(_) => None,
            Allocation::Own(table) => Some(table.domain_of(lpn)),
        }
    }

    /// The dynamic allocation, if it is one.
    #[inline]
    pub fn dynamic(&self) -> Option<&Dynamic> {
        match self {
            Allocation::Striped(_) | Allocation::Own(_) => None,
            Allocation::Dynamic(dynamic) => Some(dynamic),
        }
    }
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Ftl,
    name: "Allocation",
    keys: &["ftl.binding", "ftl.allocation", "ftl.block_allocation"],
    modelled: "Pages go to planes by 24 static orders, three dynamic ones or a table of the user; free blocks are taken first-fit or by wear.",
    not_modelled: &["A collection keeps pages in their plane, or with twin blocks in their die."],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use base::{Cell, Die, Dimensions};

    /// 2 channels × 2 chips × 2 dies × 2 planes; domain = ((channel × 2 + chip) × 2 + die) × 2 + plane.
    fn geometry() -> Geometry {
        Geometry::new(Dimensions {
            channels: 2,
            chips_per_channel: 2,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            ..Dimensions::ONE_PAGE
        })
    }

    fn queues_of(name: &str, lpns: std::ops::Range<u32>) -> Vec<u32> {
        let selection = Selection::default_of(SEAM.find(name).unwrap());
        let allocation = Allocation::build(&selection, &geometry());
        lpns.map(|lpn| allocation.queue_of(Lpn(lpn)).number()).collect()
    }

    #[test]
    fn static_orders_stripe_as_they_are_spelt() {
        assert_eq!(queues_of("CWDP", 0..5), [0, 8, 4, 12, 2]);
        assert_eq!(queues_of("PDWC", 0..5), [0, 1, 2, 3, 4]);
        assert_eq!(queues_of("PCWD", 0..5), [0, 1, 8, 9, 4]);
        for choice in SEAM.choices.iter().filter(|choice| !is_dynamic(choice.name)) {
            let mut domains = queues_of(choice.name, 16..32);
            domains.sort_unstable();
            assert_eq!(domains, (0..16).collect::<Vec<_>>(), "{}", choice.name);
        }
    }

    /// Every page of a namespace lies on dies of its reclaim group, and so does every page beside them: all of them, one by one.
    #[test]
    fn pages_lie_on_dies_of_their_group() {
        let geometry = geometry();
        let namespaces = [(400, 500, 1), (1000, 300, 0)].map(|(first, pages, group)| GroupedNamespace {
            first: Lpn(first),
            pages,
            group,
        });
        let most = 1200;
        for choice in SEAM.choices {
            let groups = ReclaimGroups::new(2, &namespaces, 2 * most, most).expect("room");
            let allocation = Allocation::over(&Selection::default_of(choice), &geometry, Some(groups));
            let mut of_group = [0, 0];
            for lpn in (0..2 * most as u32).map(Lpn) {
                let queue = allocation.queue_of(lpn);
                let group = match allocation.dynamic() {
                    Some(dynamic) => {
                        let groups: Vec<u32> = dynamic.dies(queue).iter().map(|die| die.number() / 4).collect();
                        assert!(groups.iter().all(|group| *group == groups[0]), "{}: {groups:?}", choice.name);
                        groups[0]
                    }
                    None => queue.number() / 8,
                };
                let named = namespaces.iter().find(|of| (of.first.0..of.first.0 + of.pages).contains(&lpn.0));
                // The first group has room for 900 pages beside its namespace, and takes them before the second takes any.
                let beside = lpn.0
                    - [500, 300]
                        .iter()
                        .zip([900, 1300])
                        .fold(0, |sum, (pages, end)| sum + if lpn.0 >= end { *pages } else { 0 });
                let expected = named.map_or(u32::from(beside >= 900), |of| of.group);
                assert_eq!(group, expected, "{}: page {}", choice.name, lpn.0);
                of_group[group as usize] += 1;
            }
            assert_eq!(of_group, [most, most], "{}", choice.name);
        }
    }

    #[test]
    fn dynamic_allocations_share_queues() {
        assert_eq!(queues_of("F", 0..6), [0; 6]);
        assert_eq!(queues_of("F2", 0..6), [0; 6]);
        // Two pages of one multi-plane pair go to the same die of whichever chip is free.
        assert_eq!(queues_of("D", 0..6), [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn dies_are_offered_channel_first() {
        let of = |name: &str, queue| {
            let selection = Selection::default_of(SEAM.find(name).unwrap());
            let allocation = Allocation::build(&selection, &geometry());
            let dynamic = allocation.dynamic().unwrap();
            let dies: Vec<u32> = dynamic.dies(Queue::new(queue)).iter().map(|die| die.number()).collect();
            (dies, dynamic.burst())
        };
        assert_eq!(of("F", 0), (vec![0, 4, 2, 6, 1, 5, 3, 7], 1));
        assert_eq!(of("F2", 0), (vec![0, 4, 2, 6, 1, 5, 3, 7], 2));
        assert_eq!(of("D", 1), (vec![1, 5, 3, 7], 2));
    }

    fn in_groups(name: &str, groups: u32, namespaces: Vec<GroupedNamespace>) -> Allocation {
        let chosen: [sample::Chosen<'_>; 2] =
            [("allocation", name, &[]), ("separation", "fdp", &[("reclaim_groups", groups.into())])];
        let policies = Policies { namespaces, ..sample::policies(&chosen, Cell::Slc) };
        Allocation::of(&policies, &geometry(), 160)
    }

    #[test]
    fn a_group_has_a_stripe_over_its_own_dies() {
        // A channel has the domains 0 to 7, and half a channel 0 to 3.
        let namespace = GroupedNamespace { first: Lpn(10), pages: 30, group: 1 };
        let queues = |allocation: &Allocation, lpns: std::ops::Range<u32>| -> Vec<u32> {
            lpns.map(|lpn| allocation.queue_of(Lpn(lpn)).number()).collect()
        };
        let striped = in_groups("CWDP", 2, vec![namespace]);
        assert_eq!(queues(&striped, 10..15), [8, 12, 10, 14, 9]);
        assert_eq!(
            (queues(&striped, 9..10), queues(&striped, 40..41)),
            (vec![4], vec![2]),
            "one behind the other in its group"
        );
        assert_eq!(striped.stripe_of(Lpn(12), 1), Stripe { pages: 8, before: 2, end: Lpn(40) });
        assert_eq!(queues(&in_groups("PDWC", 4, Vec::new()), 38..42), [2, 3, 4, 5]);
        let dynamic = in_groups("F", 2, vec![namespace]);
        assert_eq!((dynamic.queues(), queues(&dynamic, 9..11), queues(&dynamic, 39..41)), (2, vec![0, 1], vec![1, 0]));
        let fixed_die = in_groups("D", 2, vec![namespace]);
        assert_eq!((fixed_die.queues(), queues(&fixed_die, 10..16)), (4, vec![2, 2, 3, 3, 2, 2]));
    }

    #[test]
    fn every_die_serves_the_pages_of_its_group() {
        for (name, groups) in [("F", 2), ("F2", 4), ("D", 2), ("D", 8)] {
            let allocation = in_groups(name, groups, Vec::new());
            let dynamic = allocation.dynamic().unwrap();
            let mut dies: Vec<Die> = Vec::new();
            for queue in allocation.all_queues() {
                let of_queue = dynamic.dies(queue);
                assert!(of_queue.iter().all(|&die| dynamic.queue_of_die(die) == queue), "{name} {groups}");
                dies.extend(of_queue);
            }
            dies.sort_unstable();
            assert_eq!(dies, geometry().all_dies().collect::<Vec<_>>(), "{name} {groups}");
        }
    }
}
