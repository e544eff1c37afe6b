//! The dynamic plane allocations of SSDSim and TBM: F, D and F2.
//!
//! All three hand a page to the next free die, round robin with the channel varying fastest, then the chip,
//! then the die; planes of a die take turns. They differ in what two consecutive pages of a queue prefer:
//!
//! * **F**: a free die takes one page, so the second goes to the next free die.
//! * **F2**: a free die takes a page for each of its planes, so the second goes to the next plane.
//! * **D**: the die inside the chip is fixed, `(LPN / planes of a die) mod dies of a chip`; channel and chip
//!   are still free. With no other die to prefer, a free die takes a page for each of its planes, as in F2.

use base::{Choice, Die, FastDiv, Geometry, Lpn, Queue};

use super::groups::{InGroup, ReclaimGroups, shape_of_group};

pub(super) const F: Choice = Choice {
    name: "F",
    doc: "Dynamic: the next free die, one page each (Hu et al. 2011; TBM section 3).",
    params: &[],
};
pub(super) const D: Choice = Choice {
    name: "D",
    doc: "Dynamic channel and chip; the die of the chip is (LPN / planes) mod dies (TBM section 3).",
    params: &[],
};
pub(super) const F2: Choice = Choice {
    name: "F2",
    doc: "Dynamic: the next free die, one page for each of its planes (TBM section 6).",
    params: &[],
};

/// F, D or F2.
#[derive(Clone)]
pub struct Dynamic {
    /// Dies by queue, in round-robin order.
    dies: Vec<Vec<Die>>,
    burst: u32,
    planes: FastDiv,
    /// Queues of a reclaim group, where there are several, or of the device.
    queues: FastDiv,
    /// Dies of a reclaim group.
    of_group: FastDiv,
    groups: Option<Box<ReclaimGroups>>,
}

impl Dynamic {
    pub(super) fn new(name: &str, geometry: &Geometry, groups: Option<ReclaimGroups>) -> Dynamic {
        let fixed_die = name == D.name;
        let count = groups.as_ref().map_or(1, ReclaimGroups::count);
        let shape = shape_of_group(geometry, count).expect("dies that can be divided");
        let queues = if fixed_die { shape[2] } else { 1 };
        let of_group = geometry.dies() / count;
        Dynamic {
            dies: (0..count * queues)
                .map(|queue| dies_of(queue / queues * of_group, fixed_die.then_some(queue % queues), shape))
                .collect(),
            burst: geometry.parts * if name == F.name { 1 } else { geometry.planes_per_die },
            planes: FastDiv::new(geometry.planes_per_die * geometry.parts),
            queues: FastDiv::new(queues),
            of_group: FastDiv::new(of_group),
            groups: groups.map(Box::new),
        }
    }

    pub(super) fn queues(&self) -> u32 {
        self.dies.len() as u32
    }

    #[inline]
    pub(crate) fn queue_of(&self, lpn: Lpn) -> Queue {
        let Some(groups) = &self.groups else { return Queue::new(self.queue_in_group(lpn.0)) };
        let InGroup { group, position, .. } = groups.find(lpn);
        Queue::new(group * self.queues.divisor() + self.queue_in_group(position))
    }

    #[inline]
    fn queue_in_group(&self, position: u32) -> u32 {
        if self.queues.divisor() == 1 { 0 } else { self.queues.split(self.planes.quotient(position)).1 }
    }

    /// The dies that serve a queue, in round-robin order.
    pub fn dies(&self, queue: Queue) -> &[Die] {
        &self.dies[queue.index()]
    }

    /// The queue that a die serves, by its group and its number inside its chip.
    #[inline]
    pub fn queue_of_die(&self, die: Die) -> Queue {
        let (group, in_group) = self.of_group.split(die.number());
        Queue::new(group * self.queues.divisor() + self.queues.split(in_group).1)
    }

    /// Pages that a free die takes at once, at most.
    pub fn burst(&self) -> u32 {
        self.burst
    }
}

/// The dies of a queue, from one on: channel fastest, then chip, then the die of the chip, unless that is fixed. `shape`: the channels, the
/// chips of one and the dies of one.
fn dies_of(first: u32, fixed: Option<u32>, [channels, chips, dies, _]: [u32; 4]) -> Vec<Die> {
    let wanted = fixed.map_or(0..dies, |die| die..die + 1);
    let mut found = Vec::new();
    for die in wanted {
        for chip in 0..chips {
            for channel in 0..channels {
                found.push(Die::new(first + (channel * chips + chip) * dies + die));
            }
        }
    }
    found
}
