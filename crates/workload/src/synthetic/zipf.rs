//! Zipf's law: the slot of rank r is asked for in proportion to r^-z; z = 0 is uniform.
//!
//! Ranks are grouped into buckets whose bounds grow geometrically. A bucket is drawn from an alias table
//! (Walker 1977, Vose 1991) over its envelope, the mass it would have if all its ranks were as likely as
//! its first; then a rank of it uniformly, kept with probability (rank ÷ first)^-z, else all is drawn
//! again. The result is exact. As a bucket's bounds are close, most draws pass below the least such
//! probability of the bucket and need no power.
//!
//! Popular ranks are not neighbours on a disk, so a fixed bijection scatters ranks over the footprint.

use base::{Choice, Param, ParamKind};
use engine::Chance;

use super::{Pattern, PlacesByLaw};

pub(super) const CHOICE: Choice = Choice {
    name: "zipf",
    doc: "Zipf's law over the footprint: the address of rank r is asked for in proportion to r^-z; ranks are scattered",
    params: &[Param {
        name: "z",
        kind: ParamKind::Number { default: 0.9, min: 0.0, max: 4.0 },
        doc: "exponent; 0 is uniform",
    }],
};

/// A bucket is as wide as its first rank divided by this, at least one rank: narrow enough that few draws
/// need a power, wide enough that the table stays in the first-level cache (27 KiB for 30 million ranks).
const NARROW: u64 = 64;

struct Bucket {
    /// First rank, from 1.
    first: u64,
    width: u32,
    /// 64-bit draws up to this are kept without a power.
    sure: u64,
    /// The alias table: draws below keep this bucket, others go to `alias`.
    keep: u64,
    alias: u32,
}

pub(super) struct Zipf {
    z: f64,
    buckets: Vec<Bucket>,
    scatter: Scatter,
}

/// First ranks and widths.
fn bounds(slots: u64) -> Vec<(u64, u32)> {
    let mut bounds = Vec::new();
    let mut first = 1;
    while first <= slots {
        let width = (first / NARROW).clamp(1, u64::from(u32::MAX)).min(slots - first + 1);
        bounds.push((first, width as u32));
        first += width;
    }
    bounds
}

/// A fraction as a threshold for 64-bit draws.
fn fixed(fraction: f64) -> u64 {
    // 2^64 does not fit: 1 becomes the largest threshold, which is a bias of 2^-64.
    let scaled = fraction * 18_446_744_073_709_551_616.0;
    scaled as u64
}

impl Zipf {
    pub fn new(slots: u64, z: f64) -> Zipf {
        let bounds = bounds(slots);
        let envelope: Vec<f64> =
            bounds.iter().map(|&(first, width)| f64::from(width) * libm::pow(first as f64, -z)).collect();
        let table = alias_table(&envelope);
        let buckets = bounds.iter().zip(table).map(|(&(first, width), (keep, alias))| {
            let least = libm::pow((first + u64::from(width) - 1) as f64 / first as f64, -z);
            Bucket { first, width, sure: fixed(least), keep, alias }
        });
        Zipf { z, buckets: buckets.collect(), scatter: Scatter::new(slots) }
    }

    /// A rank from 0, by Zipf's law.
    #[inline]
    fn rank(&self, stream: &mut Chance) -> u64 {
        loop {
            let (index, rest) = split(stream.next(), self.buckets.len() as u64);
            // Half of the draws go to the alias and nothing predicts which: a choice of value, not of path.
            let kept = &self.buckets[index as usize];
            let index = std::hint::select_unpredictable(rest > kept.keep, kept.alias, index as u32);
            let bucket = &self.buckets[index as usize];
            let (offset, rest) = split(stream.next(), u64::from(bucket.width));
            let rank = bucket.first + offset;
            if rest <= bucket.sure || rest < fixed(libm::pow(rank as f64 / bucket.first as f64, -self.z)) {
                return rank - 1;
            }
        }
    }
}

/// A whole number below `bound` and what is left of the draw, as 64 bits.
#[inline]
fn split(draw: u64, bound: u64) -> (u64, u64) {
    let product = u128::from(draw) * u128::from(bound);
    ((product >> 64) as u64, product as u64)
}

/// For each weight: the threshold below which a draw keeps it, and where the others go.
fn alias_table(weights: &[f64]) -> Vec<(u64, u32)> {
    let total: f64 = weights.iter().sum();
    let mut scaled: Vec<f64> = weights.iter().map(|weight| weight * weights.len() as f64 / total).collect();
    let mut table: Vec<(u64, u32)> = (0..weights.len()).map(|index| (u64::MAX, index as u32)).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|&index| scaled[index] < 1.0);
    while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
        small.pop();
        table[less] = (fixed(scaled[less]), more as u32);
        scaled[more] -= 1.0 - scaled[less];
        if scaled[more] < 1.0 {
            large.pop();
            small.push(more);
        }
    }
    table
}

/// A fixed bijection of `0..slots`: multiplications and shifts on the next power of two, walked until the
/// result is inside.
pub(super) struct Scatter {
    slots: u64,
    mask: u64,
    shift: u32,
}

impl Scatter {
    pub(super) fn new(slots: u64) -> Scatter {
        let bits = (64 - (slots - 1).leading_zeros()).max(2);
        Scatter { slots, mask: u64::MAX >> (64 - bits), shift: bits.div_ceil(2) }
    }

    #[inline]
    pub(super) fn place(&self, rank: u64) -> u64 {
        let mut x = rank;
        loop {
            // Odd multipliers and a shift of half the bits or more are invertible modulo a power of two.
            x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x632b_e59b_d9b4_e019) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(0xd6e8_feb8_6659_fd93) & self.mask;
            x ^= x >> self.shift;
            if x < self.slots {
                return x;
            }
        }
    }
}

impl PlacesByLaw for Zipf {
    #[inline]
    fn place(&self, stream: &mut Chance) -> u64 {
        let rank = self.rank(stream);
        self.scatter.place(rank)
    }
}

impl Pattern for Zipf {
    #[inline]
    fn next(&mut self, stream: &mut Chance) -> u64 {
        self.place(stream)
    }
}

/// Zipf's law over a footprint that is a multiple of the slots: so many neighbours by rank are one slot. Neighbours are asked for about
/// as often as each other, so a slot is asked for as often, in its own requests, as each of them in all.
pub(super) struct Folded {
    whole: Zipf,
    one_in: u64,
    scatter: Scatter,
}

impl Folded {
    pub fn new(slots: u64, one_in: u64, z: f64) -> Folded {
        Folded { whole: Zipf::new(slots * one_in, z), one_in, scatter: Scatter::new(slots) }
    }
}

impl Pattern for Folded {
    #[inline]
    fn next(&mut self, stream: &mut Chance) -> u64 {
        let rank = self.whole.rank(stream);
        self.scatter.place(rank / self.one_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scattering_is_a_bijection() {
        for slots in [1u64, 2, 3, 5, 64, 100, 1000, 4096, 65_537] {
            let scatter = Scatter::new(slots);
            let mut seen = vec![false; slots as usize];
            (0..slots).for_each(|rank| seen[scatter.place(rank) as usize] = true);
            assert!(seen.iter().all(|&seen| seen), "{slots}");
        }
    }

    #[test]
    fn frequencies_follow_the_law() {
        const DRAWS: u64 = 4_000_000;
        for (seed, z) in [0.0, 0.2, 0.5, 0.9, 0.99, 1.0, 1.2, 2.0, 2.2, 4.0].into_iter().enumerate() {
            for slots in [1u64, 7, 33, 50_000] {
                let zipf = Zipf::new(slots, z);
                let mut stream = Chance::new(seed as u64, "zipf");
                let mut counts = vec![0u64; slots as usize];
                (0..DRAWS).for_each(|_| counts[zipf.rank(&mut stream) as usize] += 1);
                let weights: Vec<f64> = (1..=slots).map(|rank| libm::pow(rank as f64, -z)).collect();
                let (statistic, freedom) = chi_squared(&counts, &weights, DRAWS as f64);
                // Mean and standard deviation of chi-squared are its freedom and sqrt(2 x freedom); five of them.
                let limit = freedom + 5.0 * libm::sqrt(2.0 * freedom) + 1e-9;
                assert!(statistic <= limit, "z {z}, {slots} slots: {statistic} of {freedom}");
            }
        }
    }

    #[test]
    fn a_folded_slot_has_the_share_of_its_ranks() {
        const DRAWS: u64 = 2_000_000;
        for z in [0.5, 0.9, 1.2] {
            let (slots, one_in) = (500, 64);
            let mut folded = Folded::new(slots, one_in, z);
            let mut stream = Chance::new(5, "folded");
            let mut counts = vec![0u64; slots as usize];
            (0..DRAWS).for_each(|_| counts[folded.next(&mut stream) as usize] += 1);
            let group = |group: u64| group * one_in + 1..=(group + 1) * one_in;
            let weights: Vec<f64> =
                (0..slots).map(|index| group(index).map(|rank| libm::pow(rank as f64, -z)).sum()).collect();
            let by_rank: Vec<u64> = (0..slots).map(|rank| counts[folded.scatter.place(rank) as usize]).collect();
            let (statistic, freedom) = chi_squared(&by_rank, &weights, DRAWS as f64);
            assert!(statistic <= freedom + 5.0 * libm::sqrt(2.0 * freedom), "z {z}: {statistic} of {freedom}");
        }
    }

    #[test]
    fn ranks_of_a_bucket_are_not_alike() {
        // Over all buckets, the share of their first halves: 0.4 % of it is what the rejection makes.
        const DRAWS: u64 = 10_000_000;
        let zipf = Zipf::new(50_000, 1.0);
        let wide = || zipf.buckets.iter().filter(|bucket| bucket.width > 1);
        let half = |bucket: &Bucket| bucket.first..bucket.first + u64::from(bucket.width / 2);
        let all = |bucket: &Bucket| bucket.first..bucket.first + u64::from(bucket.width);
        let mass = |ranks: &dyn Fn(&Bucket) -> std::ops::Range<u64>| -> f64 {
            wide().flat_map(ranks).map(|rank| 1.0 / rank as f64).sum()
        };
        let expected = mass(&half) / mass(&all);
        let mut side = vec![None; 50_001];
        wide().for_each(|bucket| all(bucket).for_each(|rank| side[rank as usize] = Some(half(bucket).contains(&rank))));
        let mut stream = Chance::new(3, "zipf halves");
        let (mut first, mut both) = (0u64, 0u64);
        for _ in 0..DRAWS {
            if let Some(lower) = side[zipf.rank(&mut stream) as usize + 1] {
                first += u64::from(lower);
                both += 1;
            }
        }
        let deviation = libm::sqrt(expected * (1.0 - expected) / both as f64);
        let share = first as f64 / both as f64;
        assert!((share - expected).abs() < 4.0 * deviation, "{share} for {expected} ± {deviation}");
    }

    /// Pearson's statistic over neighbouring ranks joined until 50 are expected.
    fn chi_squared(counts: &[u64], weights: &[f64], draws: f64) -> (f64, f64) {
        let total: f64 = weights.iter().sum();
        let (mut statistic, mut cells, mut seen, mut expected) = (0.0, 0.0, 0.0, 0.0);
        for (index, (&count, weight)) in counts.iter().zip(weights).enumerate() {
            seen += count as f64;
            expected += draws * weight / total;
            if expected >= 50.0 || index + 1 == counts.len() {
                statistic += (seen - expected) * (seen - expected) / expected;
                cells += 1.0;
                (seen, expected) = (0.0, 0.0);
            }
        }
        (statistic, cells - 1.0)
    }
}
