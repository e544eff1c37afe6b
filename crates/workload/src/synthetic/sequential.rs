//! Slot after slot, and around.

use base::Choice;
use engine::Chance;

use super::Pattern;

pub(super) const CHOICE: Choice =
    Choice { name: "sequential", doc: "Addresses in order, from 0 again at the end of the footprint", params: &[] };

pub(super) struct Sequential {
    slots: u64,
    next: u64,
}

impl Sequential {
    pub fn new(slots: u64) -> Sequential {
        Sequential { slots, next: 0 }
    }
}

impl Pattern for Sequential {
    #[inline]
    fn next(&mut self, _stream: &mut Chance) -> u64 {
        let slot = self.next;
        self.next = if slot + 1 == self.slots { 0 } else { slot + 1 };
        slot
    }
}
