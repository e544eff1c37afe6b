//! The figures over time and over the volume written, in a bounded number of rows.
//!
//! Each axis starts with a fine step. When its rows are full, neighbours are merged in pairs and the step
//! doubles; a row holds differences of counters, so that merging adds and nothing is lost. The result
//! depends only on what was reported, never on the speed of the machine.

use base::{Cause, Instant, OpKind};

use crate::counters::{Counters, ratio};
use crate::recorder::RecordedShape;
use crate::table::{Column, Table};

/// Rows of an axis at most. Even, so that all rows have a neighbour to merge with.
pub const MAX_ROWS: usize = 1000;

/// The first step by simulated time: 1 ms.
pub const FIRST_STEP_NS: u64 = 1_000_000;

/// The first step by volume written: 1 MiB.
pub const FIRST_STEP_BYTES: u64 = 1 << 20;

/// Everything that a row shows the difference of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SeriesSample {
    pub(crate) counters: Counters,
    /// Sum of read latencies.
    pub(crate) read_ns: u128,
    /// Sum of write latencies.
    pub(crate) write_ns: u128,
    /// Busy time of all channels.
    pub(crate) channel_ns: u128,
    /// Busy time of all dies.
    pub(crate) die_ns: u128,
    /// Pages in the write buffer × time.
    pub(crate) buffer_page_ns: u128,
}

impl SeriesSample {
    fn plus(&self, other: &SeriesSample) -> SeriesSample {
        SeriesSample {
            counters: self.counters + other.counters,
            read_ns: self.read_ns + other.read_ns,
            write_ns: self.write_ns + other.write_ns,
            channel_ns: self.channel_ns + other.channel_ns,
            die_ns: self.die_ns + other.die_ns,
            buffer_page_ns: self.buffer_page_ns + other.buffer_page_ns,
        }
    }

    fn minus(&self, other: &SeriesSample) -> SeriesSample {
        SeriesSample {
            counters: self.counters - other.counters,
            read_ns: self.read_ns - other.read_ns,
            write_ns: self.write_ns - other.write_ns,
            channel_ns: self.channel_ns - other.channel_ns,
            die_ns: self.die_ns - other.die_ns,
            buffer_page_ns: self.buffer_page_ns - other.buffer_page_ns,
        }
    }
}

/// One interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    /// Host bytes written from the start of the measurement to the end of the row.
    pub(crate) volume: u64,
    pub(crate) delta: SeriesSample,
    pub(crate) max_ns: u64,
}

impl Interval {
    /// The counters, in pages and blocks of the flash.
    fn counters(&self, shape: &RecordedShape) -> Counters {
        self.delta.counters.physical(shape.in_step, shape.has_units)
    }

    fn merged(&self, next: &Interval) -> Interval {
        Interval {
            start: self.start,
            end: next.end,
            volume: next.volume,
            delta: self.delta.plus(&next.delta),
            max_ns: self.max_ns.max(next.max_ns),
        }
    }
}

/// The rows along one axis, and when the next one closes.
#[derive(Clone, Debug)]
pub(crate) struct TimeAxis {
    pub(crate) rows: Vec<Interval>,
    /// The longest read or write latency since the last row.
    pub(crate) max_ns: u64,
    step: u64,
    /// Where the last row ended.
    last: SeriesSample,
    last_end: Instant,
}

impl TimeAxis {
    pub(crate) fn new(start: Instant, step: u64) -> TimeAxis {
        TimeAxis { rows: Vec::with_capacity(MAX_ROWS), max_ns: 0, step, last: SeriesSample::default(), last_end: start }
    }

    /// Length of a full row, in the unit of the axis.
    pub(crate) fn step(&self) -> u64 {
        self.step
    }

    pub(crate) fn restart(&mut self, start: Instant, step: u64) {
        self.rows.clear();
        self.max_ns = 0;
        self.step = step;
        self.last = SeriesSample::default();
        self.last_end = start;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.rows.len() >= MAX_ROWS
    }

    /// Merges the rows in pairs and doubles the step.
    pub(crate) fn coarsen(&mut self) {
        debug_assert!(self.rows.len().is_multiple_of(2), "every row has a neighbour");
        let half = self.rows.len() / 2;
        for i in 0..half {
            self.rows[i] = self.rows[2 * i].merged(&self.rows[2 * i + 1]);
        }
        self.rows.truncate(half);
        self.step *= 2;
    }

    /// Closes a row at `end`.
    pub(crate) fn close(&mut self, end: Instant, sample: SeriesSample) {
        let row = Interval {
            start: self.last_end,
            end,
            volume: sample.counters.bytes_written,
            delta: sample.minus(&self.last),
            max_ns: std::mem::take(&mut self.max_ns),
        };
        self.rows.push(row);
        self.last = sample;
        self.last_end = end;
    }

    /// Closes the last row, which may be short. What happened in no time joins the row before.
    pub(crate) fn finish(&mut self, end: Instant, sample: SeriesSample, join: bool) {
        if sample == self.last && end == self.last_end {
            return;
        }
        if self.is_full() {
            self.coarsen();
        }
        self.close(end, sample);
        if join && self.rows.len() >= 2 && self.rows[self.rows.len() - 1].start == end {
            let short = self.rows.pop().expect("two rows");
            let before = self.rows.pop().expect("two rows");
            self.rows.push(before.merged(&short));
        }
    }
}

/// WAF in bytes in each of so many equal parts of the volume, to the row in which a part ends.
pub(crate) fn waf_by_part(shape: &RecordedShape, rows: &[Interval], parts: u64) -> Vec<Option<f64>> {
    let all = u128::from(rows.last().map_or(0, |row| row.volume));
    let is_by = |row: &&Interval, part: u64| u128::from(row.volume) * u128::from(parts) <= all * u128::from(part);
    let until = |part| rows.partition_point(|row| is_by(&row, part));
    (0..parts)
        .map(|part| {
            let of_part = rows[until(part)..until(part + 1)].iter().map(|row| row.counters(shape));
            of_part.reduce(|one, other| one + other)?.waf(shape.page_bytes)
        })
        .collect()
}

/// The table `series`. `axes` are the name of an axis and its rows; `buffered`: there is a write buffer.
pub(crate) fn table(
    shape: &RecordedShape,
    start: Instant,
    axes: &[(&'static str, &[Interval])],
    buffered: bool,
) -> Table {
    let figures = |row| RowFigures { row, counters: Interval::counters(row, shape), shape, start };
    let rows: Vec<(&'static str, RowFigures<'_>)> =
        axes.iter().flat_map(|(name, rows)| rows.iter().map(move |row| (*name, figures(row)))).collect();
    let count = |f: &dyn Fn(&Counters) -> u64| Column::U64(rows.iter().map(|(_, row)| f(&row.counters)).collect());
    let figure = |f: &dyn Fn(&RowFigures<'_>) -> Option<f64>| {
        Column::F64(rows.iter().map(|(_, row)| f(row).unwrap_or(f64::NAN)).collect())
    };
    // Whole numbers where programs are counted in pages of the flash.
    let pages = |f: &dyn Fn(&Counters) -> u64| match shape.page_bytes == shape.flash_page_bytes {
        true => count(f),
        false => figure(&|row| Some(shape.flash_pages(f(&row.counters)))),
    };
    let columns = vec![
        ("axis", Column::Text(rows.iter().map(|(name, _)| *name).collect())),
        ("start_s", figure(&|f| Some(f.since_start(f.row.start)))),
        ("end_s", figure(&|f| Some(f.since_start(f.row.end)))),
        ("host_written_gb", figure(&|f| Some(f.row.volume as f64 / 1e9))),
        ("capacities_written", figure(&|f| ratio(f.row.volume, f.shape.capacity_bytes))),
        ("reads", count(&|c| c.host_reads)),
        ("writes", count(&|c| c.host_writes)),
        ("trims", count(&|c| c.host_trims)),
        ("iops", figure(&|f| f.per_second(f.counters.host_reads + f.counters.host_writes))),
        (
            "throughput_mb_s",
            figure(&|f| f.per_second(f.counters.bytes_read + f.counters.bytes_written).map(|b| b / 1e6)),
        ),
        (
            "latency_mean_us",
            figure(&|f| {
                let delta = &f.row.delta;
                f.mean_us(delta.read_ns + delta.write_ns, delta.counters.host_reads + delta.counters.host_writes)
            }),
        ),
        ("read_latency_mean_us", figure(&|f| f.mean_us(f.row.delta.read_ns, f.counters.host_reads))),
        ("write_latency_mean_us", figure(&|f| f.mean_us(f.row.delta.write_ns, f.counters.host_writes))),
        ("latency_max_us", figure(&|f| f.max_us())),
        ("waf", figure(&|f| f.counters.waf(f.shape.page_bytes))),
        ("waf_units", figure(&|f| f.counters.waf_units(f.shape.has_wide_units))),
        ("gc_invocations", count(&|c| c.gc_invocations)),
        ("gc_per_s", figure(&|f| f.rate(f.counters.gc_invocations))),
        ("gc_per_gb", figure(&|f| ratio(f.counters.gc_invocations, f.counters.bytes_written).map(|r| r * 1e9))),
        ("gc_moved_pages", count(&|c| c.gc_moved_pages)),
        ("page_reads", count(&Counters::page_reads)),
        ("page_programs", pages(&Counters::page_programs)),
        ("host_page_reads", count(&|c| c.of(Cause::Host, OpKind::Read))),
        ("host_page_programs", pages(&|c| c.of(Cause::Host, OpKind::Program))),
        ("erases", count(&Counters::block_erases)),
        ("refresh_erases", count(&|c| c.of(Cause::Refresh, OpKind::Erase))),
        ("multiplane_read_fraction", figure(&|f| f.counters.multiplane_fraction(OpKind::Read))),
        ("multiplane_program_fraction", figure(&|f| f.counters.multiplane_fraction(OpKind::Program))),
        ("channel_busy", figure(&|f| f.busy(f.row.delta.channel_ns, f.shape.channels))),
        ("die_busy", figure(&|f| f.busy(f.row.delta.die_ns, f.shape.dies))),
        ("buffer_pages", figure(&|f| if buffered { f.buffer_pages() } else { None })),
    ];
    Table { name: "series", columns }
}

/// The arithmetic of one row.
struct RowFigures<'a> {
    row: &'a Interval,
    /// In pages and blocks of the flash.
    counters: Counters,
    shape: &'a RecordedShape,
    start: Instant,
}

impl RowFigures<'_> {
    fn since_start(&self, at: Instant) -> f64 {
        at.0.saturating_sub(self.start.0) as f64 / 1e9
    }

    fn elapsed_ns(&self) -> u64 {
        self.row.end.0.saturating_sub(self.row.start.0)
    }

    /// Per second of simulated time, under any executor.
    fn rate(&self, count: u64) -> Option<f64> {
        ratio(count, self.elapsed_ns()).map(|per_ns| per_ns * 1e9)
    }

    /// Per second, where the device's speed is simulated.
    fn per_second(&self, count: u64) -> Option<f64> {
        if self.shape.timed { self.rate(count) } else { None }
    }

    fn mean_us(&self, sum_ns: u128, count: u64) -> Option<f64> {
        (self.shape.timed && count > 0).then(|| sum_ns as f64 / count as f64 / 1e3)
    }

    fn max_us(&self) -> Option<f64> {
        let requests = self.counters.host_reads + self.counters.host_writes;
        (self.shape.timed && requests > 0).then(|| crate::latency::us(self.row.max_ns))
    }

    fn buffer_pages(&self) -> Option<f64> {
        let elapsed_ns = self.elapsed_ns();
        (self.shape.timed && elapsed_ns > 0).then(|| self.row.delta.buffer_page_ns as f64 / elapsed_ns as f64)
    }

    fn busy(&self, busy_ns: u128, of: u32) -> Option<f64> {
        let elapsed_ns = u128::from(self.elapsed_ns()) * u128::from(of);
        (self.shape.timed && elapsed_ns > 0).then(|| busy_ns as f64 / elapsed_ns as f64)
    }
}
