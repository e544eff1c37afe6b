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
    queue_count: FastDiv,
}

impl Dynamic {
    pub(super) fn new(name: &str, geometry: &Geometry) -> Dynamic {
        let fixed_die = name == D.name;
        let queues = if fixed_die { geometry.dies_per_chip } else { 1 };
        Dynamic {
            dies: (0..queues).map(|die| dies_of(die, fixed_die, geometry)).collect(),
            burst: geometry.parts * if name == F.name { 1 } else { geometry.planes_per_die },
            planes: FastDiv::new(geometry.planes_per_die * geometry.parts),
            queue_count: FastDiv::new(queues),
        }
    }

    pub(super) fn queues(&self) -> u32 {
        self.queue_count.divisor()
    }

    #[inline]
    pub(crate) fn queue_of(&self, lpn: Lpn) -> Queue {
        let number = if self.queues() == 1 { 0 } else { self.queue_count.split(self.planes.quotient(lpn.0)).1 };
        Queue::new(number)
    }

    /// The dies that serve a queue, in round-robin order.
    pub fn dies(&self, queue: Queue) -> &[Die] {
        &self.dies[queue.index()]
    }

    /// The queue that a die serves, given its number inside its chip.
    #[inline]
    pub fn queue_of_die(&self, die: Die) -> Queue {
        Queue::new(self.queue_count.split(die.number()).1)
    }

    /// Pages that a free die takes at once, at most.
    pub fn burst(&self) -> u32 {
        self.burst
    }
}

/// The dies of a queue: channel fastest, then chip, then the die of the chip, unless that is fixed.
fn dies_of(die: u32, fixed_die: bool, geometry: &Geometry) -> Vec<Die> {
    let wanted = if fixed_die { die..die + 1 } else { 0..geometry.dies_per_chip };
    let mut dies = Vec::new();
    for die in wanted {
        for chip in 0..geometry.chips_per_channel {
            for channel in 0..geometry.channels {
                dies.push(Die::new((channel * geometry.chips_per_channel + chip) * geometry.dies_per_chip + die));
            }
        }
    }
    dies
}
