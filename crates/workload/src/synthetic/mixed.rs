//! A sequential stream and random requests, interleaved.

use base::{Choice, Param, ParamKind};
use engine::Stream;

use super::Pattern;
use super::hot_cold::threshold;

pub(super) const CHOICE: Choice = Choice {
    name: "mixed",
    doc: "A fraction of the requests belongs to a sequential stream that now and then moves elsewhere; the rest is uniform",
    params: &[
        Param {
            name: "sequential",
            kind: ParamKind::Number { default: 0.5, min: 0.0, max: 1.0 },
            doc: "fraction of requests that belong to the sequential stream, 0..1",
        },
        Param {
            name: "run",
            kind: ParamKind::Number { default: 64.0, min: 1.0, max: 1e9 },
            doc: "mean length of a run in requests (geometrically distributed), after which the stream moves to a random place",
        },
    ],
};

pub(super) struct Mixed {
    slots: u64,
    sequential: u64,
    /// A draw of 53 bits below this ends the run.
    end: u64,
    next: Option<u64>,
}

impl Mixed {
    pub fn new(slots: u64, sequential: f64, run: f64) -> Mixed {
        Mixed { slots, sequential: threshold(sequential), end: threshold(1.0 / run), next: None }
    }
}

impl Pattern for Mixed {
    #[inline]
    fn next(&mut self, stream: &mut Stream) -> u64 {
        if stream.next() >> 11 >= self.sequential {
            return stream.below(self.slots);
        }
        let slot = match self.next {
            Some(slot) => slot,
            None => stream.below(self.slots),
        };
        let ends = stream.next() >> 11 < self.end;
        self.next = if ends { None } else { Some(if slot + 1 == self.slots { 0 } else { slot + 1 }) };
        slot
    }
}
