//! Pareto's law as fio has it: of the slots a fraction h gets a fraction 1 − h of the requests, and so on within that fraction.
//!
//! The rank is `slots × u^(ln h ÷ ln (1 − h))` for a uniform u (fio, `lib/zipf.c`, after Gray et al., SIGMOD 1994). Ranks are scattered
//! as those of Zipf's law.

use base::{Choice, Param, ParamKind};
use engine::Chance;

use super::zipf::Scatter;
use super::{Pattern, PlacesByLaw};

pub(super) const CHOICE: Choice = Choice {
    name: "pareto",
    doc: "A fraction `h` of the footprint gets a fraction 1 − `h` of the requests, and within it again; ranks are scattered",
    params: &[Param {
        name: "h",
        kind: ParamKind::Number { default: 0.2, min: 0.001, max: 0.999 },
        doc: "0.2: a fifth of the addresses gets four fifths of the requests; 0.5 is uniform",
    }],
};

pub(super) struct Pareto {
    slots: u64,
    power: f64,
    scatter: Scatter,
}

impl Pareto {
    pub fn new(slots: u64, h: f64) -> Pareto {
        Pareto { slots, power: libm::log(h) / libm::log(1.0 - h), scatter: Scatter::new(slots) }
    }

    fn rank(&self, stream: &mut Chance) -> u64 {
        let rank = self.slots as f64 * libm::pow(stream.fraction(), self.power);
        (rank as u64).min(self.slots - 1)
    }
}

impl PlacesByLaw for Pareto {
    fn place(&self, stream: &mut Chance) -> u64 {
        let rank = self.rank(stream);
        self.scatter.place(rank)
    }
}

impl Pattern for Pareto {
    fn next(&mut self, stream: &mut Chance) -> u64 {
        self.place(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_of_the_slots_gets_the_rest_of_the_requests() {
        const DRAWS: usize = 1_000_000;
        for h in [0.1, 0.2, 0.5] {
            let (pareto, mut stream) = (Pareto::new(10_000, h), Chance::new(7, "pareto"));
            let mut part = |below: f64| {
                let below = (10_000.0 * below) as u64;
                (0..DRAWS).filter(|_| pareto.rank(&mut stream) < below).count() as f64 / DRAWS as f64
            };
            // And within that fraction again.
            for (found, expected) in [(part(h), 1.0 - h), (part(h * h), (1.0 - h) * (1.0 - h))] {
                assert!((found - expected).abs() < 0.004, "{h}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn one_slot_is_enough() {
        let (mut pareto, mut stream) = (Pareto::new(1, 0.2), Chance::new(7, "pareto"));
        assert!((0..100).all(|_| pareto.next(&mut stream) == 0));
    }
}
