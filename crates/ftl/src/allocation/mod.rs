//! Plane allocation: which planes may take a host page.
//!
//! Pages wait in *queues*. A static order has one queue per domain, and a formula of the LPN names it. The
//! dynamic allocations share queues: a die that is free takes the next page, so a busy die is skipped
//! by construction (the "busy-aware round robin" of SSDSim and TBM), and what they look at is time.

mod dynamic;
mod striped;
mod table;
mod turns;

use base::{Choice, Domain, Geometry, Lpn, Queue, Seam, Selection};

pub use dynamic::Dynamic;
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

/// Whether the allocation of that name binds pages to channels dynamically.
pub fn is_dynamic(name: &str) -> bool {
    [dynamic::F.name, dynamic::D.name, dynamic::F2.name].contains(&name)
}

impl Allocation {
    /// The allocation that was chosen.
    ///
    /// # Panics
    /// If the selection is not from this registry.
    pub fn build(selection: &Selection, geometry: &Geometry) -> Allocation {
        if let Some(own) = &selection.own {
            return Allocation::Own(DomainTable::new(own, geometry.domains()));
        }
        assert!(SEAM.find(selection.name).is_some(), "`{}` is not a plane allocation", selection.name);
        if is_dynamic(selection.name) {
            Allocation::Dynamic(Dynamic::new(selection.name, geometry))
        } else {
            Allocation::Striped(Striped::new(selection.name, geometry))
        }
    }

    /// How many queues host pages wait in.
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

#[cfg(test)]
mod tests {
    use super::*;
    use base::Dimensions;

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
}
