//! Read disturb: how many reads of its block a page takes, and what it costs a block to take more.
//!
//! A block whose wordlines have guard levels takes more reads and holds less. A wordline gets its guard levels when it is
//! programmed, or later, by programming its MSB page anew; that wears the block (Wu, Ma and Chang, "Flash Read Disturb
//! Management Using Adaptive Cell Bit-Density with In-Place Reprogramming", DATE 2018).

use crate::Cell;

/// Page reads of a block that its pages take, and what reprogramming costs.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadLimits {
    /// Page reads of its block that a page takes after it was programmed, with all levels of its cells in use.
    pub full: u32,
    /// Page reads that a page takes whose wordline has guard levels; at least `full`.
    pub low: u32,
    /// Reads count anew once all wordlines of a full block are reprogrammed.
    pub restarts: bool,
    /// The wear of P/E cycles with reprogramming.
    pub wear: ReprogramWear,
}

/// The published limits of a cell, at full and at low density; nothing where none are published.
pub fn read_limits(cell: Cell) -> Option<[u32; 2]> {
    match cell {
        // It has no levels to leave out.
        Cell::Slc => Some([1_000_000, 1_000_000]),
        Cell::Mlc => Some([100_000, 1_000_000]),
        Cell::Tlc => Some([10_000, 100_000]),
        Cell::Qlc => None,
    }
}

/// The wear of a P/E cycle in which the block was reprogrammed, by the share of its cycles that had that. One without
/// wears a block by 1.
#[derive(Clone, Debug, PartialEq)]
pub struct ReprogramWear {
    /// Shares of cycles, ascending.
    pub rates: Vec<f64>,
    /// By share, the wear; between two shares it is interpolated, outside it is that of the nearest.
    pub wear: Vec<f64>,
}

impl ReprogramWear {
    /// The wear of the last of some cycles, in thousandths, if so many of them had reprogramming, the last one included.
    pub fn thousandths(&self, reprogrammed: u32, cycles: u32) -> u64 {
        (self.at(f64::from(reprogrammed) / f64::from(cycles.max(1))) * 1000.0).round() as u64
    }

    fn at(&self, rate: f64) -> f64 {
        let above = self.rates.partition_point(|&known| known < rate);
        match (above.checked_sub(1), self.rates.get(above)) {
            (None, _) => self.wear[0],
            (Some(below), None) => self.wear[below],
            (Some(below), Some(end)) => {
                let part = (rate - self.rates[below]) / (end - self.rates[below]);
                self.wear[below] + (self.wear[above] - self.wear[below]) * part
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wear_follows_the_curve() {
        let curve = ReprogramWear { rates: vec![0.1, 0.2], wear: vec![2.0, 1.2] };
        for (reprogrammed, cycles, wear) in [(1, 100, 2000), (1, 10, 2000), (3, 20, 1600), (1, 5, 1200), (9, 9, 1200)] {
            assert_eq!(curve.thousandths(reprogrammed, cycles), wear, "{reprogrammed} of {cycles}");
        }
        let flat = ReprogramWear { rates: vec![0.5], wear: vec![1.25] };
        assert_eq!([0, 1, 2].map(|reprogrammed| flat.thousandths(reprogrammed, 2)), [1250; 3]);
    }
}
