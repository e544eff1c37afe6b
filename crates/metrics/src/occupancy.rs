//! How full the write buffer is, and whose pages fill it.

use base::Instant;
use serde_json::{Value, json};

use crate::counters::Counters;
use crate::series::FIRST_STEP_NS;
use crate::table::{Column, Table};

/// Rows of the table at most, for each channel.
const MAX_ROWS: usize = 1000;

/// A number that changes in steps, with its mean and its largest value.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    value: u32,
    max: u32,
    since: u64,
    /// Sum of value × time up to `since`.
    sum: u128,
}

impl Level {
    #[inline]
    fn set(&mut self, value: u32, now: u64) {
        // Many pages come or leave at one time.
        if now > self.since {
            self.sum = self.sum_until(now);
            self.since = now;
        }
        self.value = value;
        self.max = self.max.max(value);
    }

    fn sum_until(&self, now: u64) -> u128 {
        self.sum + u128::from(self.value) * u128::from(now.saturating_sub(self.since))
    }
}

/// The content of the write buffer over time: in all, and by channel where pages are bound to channels.
///
/// Time is simulated time or, where none passes, the number of pages accepted.
#[derive(Clone, Debug)]
pub struct Occupancy {
    capacity: u32,
    start: u64,
    end: Option<u64>,
    fill: Level,
    channels: Vec<Level>,
    /// Channels that are in step: each has what the one that is watched has.
    in_step: u32,
    /// Pages that had left when the level changed last.
    left: u64,
    step: u64,
    /// When the next row closes.
    due: u64,
    /// Ends of rows, with the pages that had left the buffer by then.
    rows: Vec<(u64, u64)>,
    /// By row and channel: the sum up to the end of the row.
    sums: Vec<u128>,
}

impl Occupancy {
    /// Bytes for so many channels.
    pub(crate) fn bytes(channels: u64) -> u64 {
        channels * (size_of::<Level>() + MAX_ROWS * size_of::<u128>()) as u64
            + (MAX_ROWS * size_of::<(u64, u64)>()) as u64
    }

    pub(crate) fn new(capacity: u32, channels: usize, in_step: u32, start: Instant) -> Occupancy {
        Occupancy {
            capacity,
            start: start.0,
            end: None,
            fill: Level { since: start.0, ..Level::default() },
            channels: vec![Level { since: start.0, ..Level::default() }; channels],
            in_step,
            left: 0,
            step: FIRST_STEP_NS,
            due: start.0 + FIRST_STEP_NS,
            rows: Vec::with_capacity(MAX_ROWS),
            sums: Vec::with_capacity(MAX_ROWS * channels),
        }
    }

    /// The buffer holds `fill` pages from `now` on, `dirty` of them of `channel`. `left`: pages that were
    /// programmed from it so far.
    #[inline]
    pub(crate) fn set(&mut self, now: u64, fill: u32, channel: Option<(u32, u32)>, left: u64) {
        if self.end.is_some() {
            return;
        }
        if now >= self.due {
            self.close_rows(now);
        }
        self.left = left;
        self.fill.set(fill, now);
        if let Some((channel, dirty)) = channel {
            self.channels[channel as usize].set(dirty, now);
        }
    }

    /// The measurement ends; what is flushed later does not count.
    pub(crate) fn finish(&mut self, now: u64, left: u64) {
        if self.end.is_none() {
            self.close_rows(now);
            self.left = left;
            if now > self.rows.last().map_or(self.start, |row| row.0) {
                self.close_row(now);
            }
            self.end = Some(now);
        }
    }

    #[cold]
    fn close_rows(&mut self, now: u64) {
        while now >= self.due {
            if self.rows.len() >= MAX_ROWS {
                self.coarsen();
            } else {
                self.close_row(self.due);
            }
            self.due = self.start + (self.rows.len() as u64 + 1) * self.step;
        }
    }

    fn close_row(&mut self, at: u64) {
        self.rows.push((at, self.left));
        self.sums.extend(self.channels.iter().map(|level| level.sum_until(at)));
    }

    /// Joins rows in pairs: sums are up to the end of a row, so that of the second is the sum of both.
    fn coarsen(&mut self) {
        let (channels, half) = (self.channels.len(), self.rows.len() / 2);
        for row in 0..half {
            let second = 2 * row + 1;
            self.rows[row] = self.rows[second];
            self.sums.copy_within(second * channels..(second + 1) * channels, row * channels);
        }
        self.rows.truncate(half);
        self.sums.truncate(half * channels);
        self.step *= 2;
    }

    pub(crate) fn fill_sum(&self, at: Instant) -> u128 {
        self.fill.sum_until(at.0.min(self.end.unwrap_or(u64::MAX)))
    }

    /// Every channel's level; those in step share one.
    fn each_channel(&self) -> impl Iterator<Item = &Level> {
        (0..self.in_step).flat_map(|_| &self.channels)
    }

    /// The buffer in the summary. Fill and dirty pages are means and maxima over the measurement; dirty pages by
    /// channel are `null` where pages are not bound to channels before they are programmed.
    pub fn to_json(&self, counters: &Counters) -> Value {
        let end = self.end.unwrap_or(self.start);
        let mean = |level: &Level| (end > self.start).then(|| level.sum_until(end) as f64 / (end - self.start) as f64);
        let means: Vec<Option<f64>> = self.each_channel().map(mean).collect();
        let maxima: Vec<u32> = self.each_channel().map(|level| level.max).collect();
        let by_channel = if self.channels.is_empty() { Value::Null } else { json!({ "mean": means, "max": maxima }) };
        json!({
            "capacity_pages": self.capacity,
            "hits": counters.buffer_hits,
            "read_hits": counters.buffer_read_hits,
            "evictions": counters.buffer_evictions,
            "drops": counters.buffer_drops,
            "fill_pages": { "mean": mean(&self.fill), "max": self.fill.max },
            "dirty_pages_by_channel": by_channel,
        })
    }

    /// The table `buffer`: by interval and channel the mean number of dirty pages in the buffer, with the pages
    /// that had left it, for all channels, by the end of the interval. No rows where pages are not bound to
    /// channels before they are programmed.
    pub fn table(&self) -> Table {
        let channels = self.channels.len();
        let (mut starts, mut ends, mut numbers, mut means, mut left) = (vec![], vec![], vec![], vec![], vec![]);
        let mut from = self.start;
        for (row, &(end, evictions)) in self.rows.iter().enumerate() {
            for (number, channel) in (0..self.in_step).flat_map(|_| 0..channels).enumerate() {
                let before = row.checked_sub(1).map_or(0, |row| self.sums[row * channels + channel]);
                let pages = (self.sums[row * channels + channel] - before) as f64 / (end - from) as f64;
                starts.push((from - self.start) as f64 / 1e9);
                ends.push((end - self.start) as f64 / 1e9);
                numbers.push(number as u64);
                means.push(pages);
                left.push(evictions);
            }
            from = end;
        }
        let columns = vec![
            ("start_s", Column::F64(starts)),
            ("end_s", Column::F64(ends)),
            ("channel", Column::U64(numbers)),
            ("dirty_pages", Column::F64(means)),
            ("evictions", Column::U64(left)),
        ];
        Table { name: "buffer", columns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn means_are_over_time_and_end_with_the_measurement() {
        let mut occupancy = Occupancy::new(8, 2, 1, Instant(0));
        occupancy.set(0, 1, Some((0, 1)), 0);
        occupancy.set(MS, 3, Some((1, 2)), 0);
        occupancy.set(3 * MS, 2, Some((1, 1)), 1);
        occupancy.finish(4 * MS, 1);
        occupancy.set(5 * MS, 0, Some((0, 0)), 3);
        let json = occupancy.to_json(&Counters::default());
        assert_eq!(json["fill_pages"], json!({ "mean": (1.0 + 2.0 * 3.0 + 2.0) / 4.0, "max": 3 }));
        assert_eq!(json["dirty_pages_by_channel"], json!({ "mean": [1.0, 1.25], "max": [1, 2] }));
        let table = occupancy.table();
        assert_eq!(table.column("dirty_pages"), Some(&Column::F64(vec![1.0, 0.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0])));
        assert_eq!(
            table.column("end_s"),
            Some(&Column::F64([1, 1, 2, 2, 3, 3, 4, 4].map(|ms| f64::from(ms) / 1e3).to_vec()))
        );
        // What happens at the end of a row counts to the next, as its pages do.
        assert_eq!(table.column("evictions"), Some(&Column::U64(vec![0, 0, 0, 0, 0, 0, 1, 1])));
    }

    #[test]
    fn channels_in_step_have_the_same_pages() {
        let mut occupancy = Occupancy::new(8, 1, 3, Instant(0));
        occupancy.set(0, 2, Some((0, 2)), 0);
        occupancy.finish(MS, 0);
        let json = occupancy.to_json(&Counters::default());
        assert_eq!(json["dirty_pages_by_channel"], json!({ "mean": [2.0, 2.0, 2.0], "max": [2, 2, 2] }));
        let table = occupancy.table();
        assert_eq!(table.column("channel"), Some(&Column::U64(vec![0, 1, 2])));
        assert_eq!(table.column("dirty_pages"), Some(&Column::F64(vec![2.0; 3])));
    }

    #[test]
    fn many_rows_become_coarser_and_lose_nothing() {
        let mut occupancy = Occupancy::new(8, 1, 1, Instant(0));
        for step in 0..5000u64 {
            let pages = (step % 7) as u32;
            occupancy.set(step * MS, pages, Some((0, pages)), step);
        }
        occupancy.finish(5000 * MS, 5000);
        let table = occupancy.table();
        assert!(table.rows() <= MAX_ROWS + 1, "{} rows", table.rows());
        let Some(Column::F64(means)) = table.column("dirty_pages") else { panic!("no column") };
        let (Some(Column::F64(starts)), Some(Column::F64(ends))) = (table.column("start_s"), table.column("end_s"))
        else {
            panic!("no columns")
        };
        let sum: f64 = means.iter().zip(starts.iter().zip(ends)).map(|(mean, (start, end))| mean * (end - start)).sum();
        let expected: u64 = (0..5000).map(|step| step % 7).sum();
        assert!((sum - expected as f64 / 1e3).abs() < 1e-6, "{sum}");
    }
}
