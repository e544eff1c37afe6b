//! Wear of blocks: how many copybacks in a row a page takes before its errors cannot be corrected any more.
//!
//! A copyback leaves the errors of a page as they are and adds some. How many depends on the P/E cycles and the quality of
//! the block that it is copied from (Hong et al., "Improving SSD Performance Using Adaptive Restricted-Copyback Operations",
//! DATE 2019, Table I).

use crate::choice::{Choice, Param, ParamKind};
use crate::ids::Block;

/// The errors of a page that ECC can correct at most. A multiple of every number up to 16, so that as many copybacks as a
/// threshold allows use it up exactly.
pub const ECC_LIMIT: u32 = 720_720;

/// The quality of a block: 0 is the best one, [`Quality::WORST`] the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quality(pub u32);

impl Quality {
    /// The best block.
    pub const BEST: Quality = Quality(0);
    /// The median block.
    pub const MEDIAN: Quality = Quality(1 << 14);
    /// The worst block.
    pub const WORST: Quality = Quality(1 << 16);
}

/// How the qualities of blocks are spread.
pub static QUALITIES: &[Choice] = &[
    Choice {
        name: "shares",
        doc: "Blocks are of three kinds, drawn with these shares; the rest are median blocks.",
        params: &[
            share("best", 0.25, "Share of the best blocks."),
            share("worst", 0.1, "Share of the worst blocks; at most the rest."),
        ],
    },
    Choice {
        name: "tail",
        doc: "Any quality between best and worst, most of them near the median, with a long tail towards the worst: the square \
              of the mean of three uniform numbers. Thresholds between two rows of the table are interpolated.",
        params: &[],
    },
];

const fn share(name: &'static str, default: f64, doc: &'static str) -> Param {
    Param { name, kind: ParamKind::Number { default, min: 0.0, max: 1.0 }, doc }
}

/// Copyback thresholds: how many copybacks in a row a page takes, by P/E cycles and quality of the block it is copied from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopybackTable {
    /// By band: the most P/E cycles of its blocks, ascending.
    pub bands: Vec<u32>,
    /// By band: the threshold of the best blocks.
    pub best: Vec<u32>,
    /// By band: that of median blocks.
    pub median: Vec<u32>,
    /// By band: that of the worst blocks.
    pub worst: Vec<u32>,
}

impl CopybackTable {
    /// Thresholds of a block's quality, as a fraction. Past the last band no copyback is allowed.
    fn fraction(&self, pe_cycles: u32, quality: Quality) -> (u64, u64) {
        let Some(band) = self.bands.iter().position(|&most| pe_cycles <= most) else { return (0, 1) };
        let between = |better: u32, worse: u32, at: u32, of: u32| {
            (u64::from(better) * u64::from(of - at) + u64::from(worse) * u64::from(at), u64::from(of))
        };
        let median = Quality::MEDIAN.0;
        if quality <= Quality::MEDIAN {
            between(self.best[band], self.median[band], quality.0, median)
        } else {
            between(self.median[band], self.worst[band], quality.0 - median, Quality::WORST.0 - median)
        }
    }

    /// Copybacks in a row that a page takes from such blocks; 0: none.
    pub fn threshold(&self, pe_cycles: u32, quality: Quality) -> u32 {
        let (part, whole) = self.fraction(pe_cycles, quality);
        (part / whole) as u32
    }

    /// The errors that a copyback from such a block adds, of [`ECC_LIMIT`]. More than the limit where none is allowed.
    pub fn cost(&self, pe_cycles: u32, quality: Quality) -> u32 {
        let (part, whole) = self.fraction(pe_cycles, quality);
        let cost = (u64::from(ECC_LIMIT) * whole).checked_div(part);
        cost.map_or(ECC_LIMIT + 1, |cost| cost.min(u64::from(ECC_LIMIT) + 1) as u32)
    }
}

/// The wear of a device's blocks when it is built, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wear {
    /// P/E cycles of every block before its first erase here.
    pub pe_cycles: u32,
    /// Copyback thresholds.
    pub table: CopybackTable,
    /// By block.
    pub qualities: Vec<Quality>,
}

impl Wear {
    /// The errors that a copyback from a block adds, after so many erases.
    pub fn cost(&self, block: Block, erases: u32) -> u32 {
        self.table.cost(self.pe_cycles.saturating_add(erases), self.qualities[block.index()])
    }

    /// Copybacks in a row that a page takes from a block, after so many erases.
    pub fn threshold(&self, block: Block, erases: u32) -> u32 {
        self.table.threshold(self.pe_cycles.saturating_add(erases), self.qualities[block.index()])
    }

    /// Copybacks in a row that a page takes from the worst possible block, after so many erases.
    pub fn worst_threshold(&self, erases: u32) -> u32 {
        self.table.threshold(self.pe_cycles.saturating_add(erases), Quality::WORST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> CopybackTable {
        CopybackTable { bands: vec![400, 1000], best: vec![5, 4], median: vec![5, 3], worst: vec![3, 0] }
    }

    #[test]
    fn as_many_copybacks_as_allowed_use_up_the_limit() {
        let table = table();
        for (pe_cycles, quality) in [(0, Quality::BEST), (400, Quality::WORST), (401, Quality::MEDIAN)] {
            let threshold = table.threshold(pe_cycles, quality);
            assert_eq!(table.cost(pe_cycles, quality) * threshold, ECC_LIMIT, "{threshold}");
        }
        for (pe_cycles, quality) in [(1000, Quality::WORST), (1001, Quality::BEST)] {
            assert_eq!((table.threshold(pe_cycles, quality), table.cost(pe_cycles, quality)), (0, ECC_LIMIT + 1));
        }
    }

    #[test]
    fn between_two_rows_a_copyback_costs_no_more_than_the_whole_threshold_says() {
        let table = table();
        let mut before = 0;
        for quality in (0..=Quality::WORST.0).step_by(97).map(Quality) {
            let (threshold, cost) = (table.threshold(700, quality), table.cost(700, quality));
            assert!(cost >= before, "worse blocks cost more");
            assert!(threshold == 0 || cost * threshold <= ECC_LIMIT, "{quality:?}: {threshold} of {cost}");
            before = cost;
        }
        assert!(before > ECC_LIMIT / 2);
    }
}
