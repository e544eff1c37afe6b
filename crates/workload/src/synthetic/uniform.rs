//! Every slot equally likely.

use base::Choice;
use engine::Chance;

use super::Pattern;

pub(super) const CHOICE: Choice =
    Choice { name: "uniform", doc: "Every address of the footprint equally likely", params: &[] };

pub(super) struct Uniform {
    slots: u64,
}

impl Uniform {
    pub fn new(slots: u64) -> Uniform {
        Uniform { slots }
    }
}

impl Pattern for Uniform {
    #[inline]
    fn next(&mut self, stream: &mut Chance) -> u64 {
        stream.below(self.slots)
    }
}
