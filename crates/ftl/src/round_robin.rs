//! Where the round robins of a dynamic allocation stand.

use base::Geometry;

use crate::allocation::Allocation;

/// Where the round robins stand.
#[derive(Clone)]
pub(crate) struct RoundRobin {
    /// By queue: the die whose turn is next.
    pub(crate) next_die: Vec<u32>,
    /// By queue: what is left of a burst.
    pub(crate) burst_left: Vec<u32>,
    /// No time passes: pages are programmed as soon as they are placed. Executors with time ask for dies, and others for domains.
    pub(crate) is_timeless: bool,
    /// By die: whose turn it is among its domains, times the parts of a flash page; and how many of these it has had.
    pub(crate) next_domain: Vec<u32>,
}

impl RoundRobin {
    /// Bytes for a device.
    pub(crate) fn bytes(geometry: &Geometry, allocation: &Allocation) -> u64 {
        (2 * u64::from(allocation.queues()) + u64::from(geometry.dies())) * 4
    }

    pub(crate) fn new(geometry: &Geometry, allocation: &Allocation) -> RoundRobin {
        let queues = allocation.queues() as usize;
        RoundRobin {
            next_die: vec![0; queues],
            burst_left: vec![0; queues],
            is_timeless: false,
            next_domain: vec![0; geometry.dies() as usize],
        }
    }

    /// Begins anew.
    pub(crate) fn restart(&mut self) {
        self.next_die.fill(0);
        self.burst_left.fill(0);
        self.next_domain.fill(0);
        self.is_timeless = false;
    }
}
