//! `[device.wear]`: cycles, quality, and the tables of limits.

use base::{Cell, CopybackTable, ReprogramWear, Selection};

use crate::document::{Node, Value};
use crate::keys::{Kind, Word};
use crate::model::{Retention, Wear};
use crate::reader::{READS_MAX, Reader, expected};

/// Table I of Hong et al.: best, median and worst blocks, by band.
fn table_one(retention: Retention) -> [[u32; 6]; 3] {
    match retention {
        Retention::Year => [[5, 4, 4, 3, 3, 2], [5, 4, 3, 3, 2, 1], [3, 2, 2, 1, 1, 0]],
        Retention::ThreeMonths => [[6, 5, 4, 4, 3, 2], [6, 5, 4, 3, 3, 2], [4, 3, 2, 2, 1, 1]],
    }
}

pub(super) fn wear(reader: &mut Reader<'_>, cell: Option<Cell>) -> Option<Wear> {
    let pe_cycles = reader.count32("device.wear.pe_cycles");
    let cycles_per_erase = reader.count32("device.wear.cycles_per_erase");
    let retention = reader.word("device.wear.retention");
    let quality = reader.choice("device.wear.quality", "quality of blocks").and_then(|quality| shares(reader, quality));
    let copyback = retention.and_then(|retention| copyback_table(reader, retention));
    let read_limit = read_limit(reader, cell);
    let reprogram_restarts = reader.flag("device.wear.reprogram_restarts");
    let reprogram = reprogram_wear(reader);
    Some(Wear {
        pe_cycles: pe_cycles?,
        cycles_per_erase: cycles_per_erase?,
        quality: quality?,
        retention: retention?,
        copyback: copyback?,
        read_limit: read_limit?,
        reprogram_restarts: reprogram_restarts?,
        reprogram: reprogram?,
    })
}

const READ_LIMIT: &str = "device.wear.read_limit";

/// The limits of reads at full and at low density; the inner `None` is `none`.
fn read_limit(reader: &mut Reader<'_>, cell: Option<Cell>) -> Option<Option<[u32; 2]>> {
    let node = reader.raw(READ_LIMIT)?;
    match &node.value {
        Value::String(text) if text == "none" => return Some(None),
        Value::String(text) if text == "cell" => {
            let published = base::disturb::read_limits(cell?);
            if published.is_none() {
                let title = format!("no read limits are published for cells of type {}", cell?.word());
                let label = "expected [full, low] with limits of your own";
                reader.clash(&[READ_LIMIT, "device.cell"], title, label);
            }
            return published.map(Some);
        }
        Value::Array(items) => {
            let number = |node: &Node| match node.value {
                Value::Integer(number) => number.and_then(|number| u32::try_from(number).ok()),
                _ => None,
            };
            if let [full, low] = items[..].iter().map(number).collect::<Vec<_>>()[..]
                && let (Some(full), Some(low)) = (full, low)
                && (1..=low).contains(&full)
                && low <= READS_MAX
            {
                return Some(Some([full, low]));
            }
            let title = "`device.wear.read_limit` is not a pair of limits";
            reader.problem(&node.place, title, format!("expected {}", expected(Kind::ReadLimit)));
        }
        _ => reader.unexpected(READ_LIMIT, &node),
    }
    None
}

const REPROGRAM_RATES: &str = "device.wear.reprogram_rates";
const REPROGRAM_WEAR: &str = "device.wear.reprogram_wear";

/// The wear of cycles with reprogramming, by their share.
fn reprogram_wear(reader: &mut Reader<'_>) -> Option<ReprogramWear> {
    let (rates, wear) = (reader.numbers(REPROGRAM_RATES), reader.numbers(REPROGRAM_WEAR));
    let (rates, wear) = (rates?, wear?);
    if rates.is_empty() || !rates.is_sorted_by(|low, high| low < high) {
        let label = "expected one or more shares of cycles, each above the one before";
        reader.refuse(REPROGRAM_RATES, "the shares of cycles with reprogramming do not ascend", label);
        return None;
    }
    if rates.len() != wear.len() {
        let title = format!("`{REPROGRAM_WEAR}` has {} numbers and there are {} shares", wear.len(), rates.len());
        let label = "expected one for each share of `reprogram_rates`";
        reader.clash(&[REPROGRAM_WEAR, REPROGRAM_RATES], title, label);
        return None;
    }
    Some(ReprogramWear { rates, wear })
}

/// Shares of blocks are of all of them.
fn shares(reader: &mut Reader<'_>, quality: Selection) -> Option<Selection> {
    if quality.name != "shares" || quality.number("best") + quality.number("worst") <= 1.0 {
        return Some(quality);
    }
    let (best, worst) = (quality.number("best"), quality.number("worst"));
    let label = format!("best {best} and worst {worst}; expected shares that add up to 1 at most");
    reader.refuse("device.wear.quality", "the shares of best and worst blocks are more than all blocks", label);
    None
}

const BANDS: &str = "device.wear.copyback_bands";
const ROWS: [&str; 3] = ["device.wear.copyback_best", "device.wear.copyback_median", "device.wear.copyback_worst"];

/// The copyback thresholds that were given, and those of the paper where none were.
fn copyback_table(reader: &mut Reader<'_>, retention: Retention) -> Option<CopybackTable> {
    let bands = reader.counts(BANDS);
    let defaults = table_one(retention);
    let rows = [0, 1, 2].map(|row| match reader.tree.has(ROWS[row]) {
        true => reader.counts(ROWS[row]),
        false => Some(defaults[row].to_vec()),
    });
    let (bands, [best, median, worst]) = (bands?, rows);
    let table = CopybackTable { bands, best: best?, median: median?, worst: worst? };
    if table.bands.is_empty() || !table.bands.is_sorted_by(|low, high| low < high) {
        let label = "expected the most P/E cycles of each band, each above the one before";
        reader.refuse(BANDS, "the bands of P/E cycles do not ascend", label);
        return None;
    }
    for (path, row) in ROWS.iter().zip([&table.best, &table.median, &table.worst]) {
        if row.len() != table.bands.len() {
            let title = format!("`{path}` has {} thresholds and there are {} bands", row.len(), table.bands.len());
            let label = "expected one for each band of `copyback_bands`; where bands are given, all three rows are";
            reader.clash(&[path, BANDS], title, label);
            return None;
        }
    }
    for (better, worse, path) in [(&table.best, &table.median, ROWS[1]), (&table.median, &table.worst, ROWS[2])] {
        if let Some(band) = (0..better.len()).find(|&band| worse[band] > better[band]) {
            let title = format!("`{path}` allows more copybacks than better blocks have");
            let (worse, better) = (worse[band], better[band]);
            let label = format!("{worse} up to {} P/E cycles; expected at most {better}", table.bands[band]);
            reader.clash(&[path, ROWS[0], ROWS[1]], title, label);
            return None;
        }
    }
    Some(table)
}
