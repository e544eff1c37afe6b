//! Random numbers. Each consumer has a sequence of its own, derived from the seed and the consumer's name, so
//! that a new consumer does not move anyone else's numbers.
//!
//! The generator is xoshiro256++; bounded integers and fractions are made here, in integer arithmetic,
//! so that a sequence is the same on every platform and in every version of the libraries.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A named, seeded sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Chance {
    generator: Xoshiro256PlusPlus,
}

impl Chance {
    /// The sequence of that name under a run's seed.
    pub fn new(seed: u64, name: &str) -> Chance {
        // FNV-1a keeps sequences of different names apart; `seed_from_u64` spreads the bits (SplitMix64).
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mixed = (seed ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash.rotate_left(32);
        Chance { generator: Xoshiro256PlusPlus::seed_from_u64(mixed) }
    }

    /// 64 random bits.
    #[allow(clippy::should_implement_trait)] // It has no end, so it is no `Iterator`.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A whole number in `0..bound`.
    ///
    /// By the high half of a product; the bias is below `bound / 2^64`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A whole number in `0..bound`, 32 bits.
    #[inline]
    pub fn below_u32(&mut self, bound: u32) -> u32 {
        self.below(u64::from(bound)) as u32
    }

    /// A fraction in `0..1`, a multiple of 2^-53.
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned_and_apart() {
        let mut a = Chance::new(1, "workload");
        let mut b = Chance::new(1, "victim");
        let mut c = Chance::new(2, "workload");
        let first: Vec<u64> = (0..3).map(|_| a.next()).collect();
        assert_eq!(first, [1_410_875_650_971_986_504, 5_698_811_422_029_484_531, 13_310_211_022_108_724_069]);
        assert_ne!(first[0], b.next());
        assert_ne!(first[0], c.next());
    }

    #[test]
    fn bounded_numbers_cover_their_range_evenly() {
        let mut stream = Chance::new(7, "test");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[stream.below_u32(10) as usize] += 1;
        }
        // Standard deviation of a count is 95; five of them.
        assert!(counts.iter().all(|&count| (9_525..=10_475).contains(&count)), "{counts:?}");
        let mean: f64 = (0..100_000).map(|_| stream.fraction()).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
