//! How worn the blocks are.

use base::Geometry;
use serde_json::{Value, json};

use crate::table::{Column, Table};

/// The array's knowledge of each block, in the order of global block numbers (plane-major).
#[derive(Clone, Copy, Debug)]
pub struct Wear<'a> {
    /// Where a block number is.
    pub geometry: &'a Geometry,
    /// Erases of each block.
    pub erases: &'a [u32],
    /// Erases weighted by the wear that a policy says they cause; `None`: every erase counts 1.
    pub effective: Option<&'a [f64]>,
    /// Page reads of each block since its last erase; `None` where nobody counts them.
    pub reads_since_erase: Option<&'a [u32]>,
}

impl Wear<'_> {
    /// Bytes of the table of so many blocks.
    pub fn table_bytes(blocks: u64) -> u64 {
        const COLUMNS: u64 = 9;
        blocks * COLUMNS * 8
    }

    /// `{min, mean, max, stddev}` of the erases.
    pub fn erases_json(&self) -> Value {
        let n = self.erases.len() as u128;
        if n == 0 {
            return nothing();
        }
        // In integers, so that the order of blocks cannot reach the result.
        let sum: u128 = self.erases.iter().map(|&e| u128::from(e)).sum();
        let squares: u128 = self.erases.iter().map(|&e| u128::from(e) * u128::from(e)).sum();
        let stddev = ((n * squares - sum * sum) as f64).sqrt() / n as f64;
        json!({
            "min": self.erases.iter().min(),
            "mean": sum as f64 / n as f64,
            "max": self.erases.iter().max(),
            "stddev": stddev,
        })
    }

    /// `{min, mean, max, stddev}` of the effective erases.
    pub fn effective_json(&self) -> Value {
        let Some(effective) = self.effective else { return self.erases_json() };
        if effective.is_empty() {
            return nothing();
        }
        let n = effective.len() as f64;
        let mean = effective.iter().sum::<f64>() / n;
        let variance = effective.iter().map(|e| (e - mean) * (e - mean)).sum::<f64>() / n;
        json!({
            "min": effective.iter().copied().fold(f64::INFINITY, f64::min),
            "mean": mean,
            "max": effective.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            "stddev": variance.sqrt(),
        })
    }

    /// The table `wear`, a row per block. `chip` counts inside the channel, `die` inside the chip, `plane`
    /// inside the die.
    pub fn table(&self) -> Table {
        let g = self.geometry;
        let blocks = self.erases.len();
        let column = |f: &dyn Fn(u32) -> u32| Column::U64((0..blocks as u32).map(|b| u64::from(f(b))).collect());
        let plane = |block: u32| block / g.blocks_per_plane;
        let die = |block: u32| plane(block) / g.planes_per_die;
        let chip = |block: u32| die(block) / g.dies_per_chip;
        let widen = |values: &[u32]| Column::U64(values.iter().map(|&v| u64::from(v)).collect());
        let mut columns = vec![
            ("block", column(&|b| b)),
            ("channel", column(&|b| chip(b) / g.chips_per_channel)),
            ("chip", column(&|b| chip(b) % g.chips_per_channel)),
            ("die", column(&|b| die(b) % g.dies_per_chip)),
            ("plane", column(&|b| plane(b) % g.planes_per_die)),
            ("block_in_plane", column(&|b| b % g.blocks_per_plane)),
            ("erases", widen(self.erases)),
        ];
        if let Some(effective) = self.effective {
            columns.push(("effective_erases", Column::F64(effective.to_vec())));
        }
        if let Some(reads) = self.reads_since_erase {
            columns.push(("reads_since_erase", widen(reads)));
        }
        Table { name: "wear", columns }
    }
}

fn nothing() -> Value {
    json!({ "min": null, "mean": null, "max": null, "stddev": null })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Dimensions;

    #[test]
    fn the_spread_of_erases() {
        let g = Geometry::new(Dimensions { blocks_per_plane: 4, pages_per_block: 4, ..Dimensions::ONE_PAGE });
        let mut wear = Wear { geometry: &g, erases: &[2, 4, 4, 6], effective: None, reads_since_erase: None };
        let expected = json!({"min": 2, "mean": 4.0, "max": 6, "stddev": 2f64.sqrt()});
        assert_eq!(wear.erases_json(), expected);
        assert_eq!(wear.effective_json(), expected, "every erase counts 1");
        wear.effective = Some(&[1.0, 1.5, 2.0, 2.5]);
        assert_eq!(
            wear.effective_json(),
            json!({"min": 1.0, "mean": 1.75, "max": 2.5, "stddev": 0.3125f64.sqrt()}),
            "variance (0.75² + 0.25²) × 2 / 4"
        );
        wear.erases = &[];
        wear.effective = Some(&[]);
        assert_eq!(wear.erases_json().to_string(), r#"{"min":null,"mean":null,"max":null,"stddev":null}"#);
        assert_eq!(wear.effective_json(), wear.erases_json());
    }

    #[test]
    fn a_block_is_where_its_number_says() {
        // 2 channels × 3 chips × 2 dies × 2 planes × 5 blocks.
        let g = Geometry::new(Dimensions {
            channels: 2,
            chips_per_channel: 3,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 5,
            pages_per_block: 4,
            ..Dimensions::ONE_PAGE
        });
        let erases: Vec<u32> = (0..g.blocks()).collect();
        let reads = vec![9; erases.len()];
        let wear = Wear { geometry: &g, erases: &erases, effective: None, reads_since_erase: Some(&reads) };
        let table = wear.table();
        assert_eq!(table.rows(), 120);
        // Block 88: plane 17, so die 8 and plane 1 of it; die 8 is die 0 of chip 4, which is chip 1 of channel 1.
        let row: Vec<(&str, u64)> = table
            .columns
            .iter()
            .map(|(name, column)| match column {
                Column::U64(values) => (*name, values[88]),
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        let expected = [
            ("block", 88),
            ("channel", 1),
            ("chip", 1),
            ("die", 0),
            ("plane", 1),
            ("block_in_plane", 3),
            ("erases", 88),
            ("reads_since_erase", 9),
        ];
        assert_eq!(row, expected);
    }
}
