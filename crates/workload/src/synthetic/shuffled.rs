//! Every slot once in random order, and again in another: as fio asks for blocks, which keeps a map of those that it had.
//!
//! A pass is a bijection of the slots and takes no memory: a Feistel network (Luby and Rackoff 1988) on the next power of four, walked
//! until the result is inside, with keys of its own.

use base::Choice;
use engine::Chance;

use super::Pattern;

pub(super) const CHOICE: Choice = Choice {
    name: "shuffled",
    doc: "Every address of the footprint once in random order, then again in another order",
    params: &[],
};

/// Three make a pseudorandom permutation of a random function; one more covers for the mixing of each, which is not one.
const ROUNDS: usize = 4;

pub(super) struct Shuffled {
    slots: u64,
    /// Slots of this pass that are over.
    passed: u64,
    keys: [u64; ROUNDS],
    /// Bits of half of a slot's number.
    half: u32,
}

impl Shuffled {
    pub fn new(slots: u64) -> Shuffled {
        let bits = 64 - (slots - 1).leading_zeros();
        Shuffled { slots, passed: slots, keys: [0; ROUNDS], half: bits.div_ceil(2).max(1) }
    }

    fn place(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let mut x = number;
        loop {
            let (mut left, mut right) = (x >> self.half, x & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mixed(right ^ key) & mask));
            }
            x = left << self.half | right;
            if x < self.slots {
                return x;
            }
        }
    }
}

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014).
#[inline]
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Pattern for Shuffled {
    fn next(&mut self, stream: &mut Chance) -> u64 {
        if self.passed == self.slots {
            self.passed = 0;
            self.keys = std::array::from_fn(|_| stream.next());
        }
        self.passed += 1;
        self.place(self.passed - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two passes of a footprint.
    fn passes(slots: u64, seed: u64) -> [Vec<u64>; 2] {
        let (mut pattern, mut stream) = (Shuffled::new(slots), Chance::new(seed, "shuffled"));
        std::array::from_fn(|_| (0..slots).map(|_| pattern.next(&mut stream)).collect())
    }

    #[test]
    fn a_pass_has_every_slot_once_and_the_next_another_order() {
        for slots in [1u64, 2, 3, 4, 5, 63, 64, 1000, 65_537] {
            let [one, other] = passes(slots, slots);
            for pass in [&one, &other] {
                let mut sorted = pass.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..slots), "{slots}");
            }
            assert!(slots < 63 || one != other, "{slots}");
        }
    }

    /// As in a random permutation: neighbours lie a third of the footprint apart, and one slot in each pass is where it was.
    #[test]
    fn an_order_is_as_good_as_random() {
        const SLOTS: u64 = 10_000;
        let (mut apart, mut stays) = (0.0, 0);
        for seed in 0..40 {
            let [pass, _] = passes(SLOTS, seed);
            apart += pass.windows(2).map(|two| two[0].abs_diff(two[1]) as f64).sum::<f64>() / SLOTS as f64;
            stays += pass.iter().zip(0..).filter(|(slot, number)| **slot == *number).count();
        }
        let apart = apart / 40.0 / SLOTS as f64;
        assert!((apart - 1.0 / 3.0).abs() < 0.003, "{apart}");
        // 40 expected, with a standard deviation of 6.3.
        assert!((15..=65).contains(&stays), "{stays}");
    }
}
