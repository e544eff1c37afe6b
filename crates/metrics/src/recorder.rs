//! The one object that stages report to.

use base::{Cause, Instant, OpKind, RequestKind};

use crate::counters::Counters;
use crate::latency::Latency;
use crate::series::{self, Axis, FIRST_STEP_BYTES, FIRST_STEP_NS, Sample};
use crate::table::{Column, Table};
use crate::utilisation::Lane;

/// What the recorder must know of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Channels of the device.
    pub channels: u32,
    /// Dies of the device.
    pub dies: u32,
    /// Whether operations take simulated time. Without, there are no latencies, rates or utilisation.
    pub timed: bool,
    /// Bytes that the host may address.
    pub capacity_bytes: u64,
}

/// Collects counters, latencies, busy times and the series of one run.
///
/// Call [`Recorder::reset`] where preconditioning ends and [`Recorder::finish`] where the run ends; the
/// summary and the tables describe what lies between.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// What happened since the start of the measurement. The device counts flash operations here directly.
    pub counters: Counters,
    shape: Shape,
    /// By request kind.
    latencies: [Latency; 4],
    /// By channel; classes are causes.
    channels: Vec<Lane<7>>,
    /// By die; classes are kinds of operation.
    dies: Vec<Lane<3>>,
    start: Instant,
    end: Instant,
    /// When the row by time closes.
    time_due: Instant,
    /// At how many bytes written the row by volume closes.
    volume_due: u64,
    by_time: Axis,
    by_volume: Axis,
}

impl Recorder {
    /// A recorder that starts at time zero, with all its memory allocated (about 3 MB).
    pub fn new(shape: Shape) -> Recorder {
        Recorder {
            counters: Counters::default(),
            shape,
            latencies: std::array::from_fn(|_| Latency::new()),
            channels: vec![Lane::IDLE; shape.channels as usize],
            dies: vec![Lane::IDLE; shape.dies as usize],
            start: Instant::ZERO,
            end: Instant::ZERO,
            time_due: Instant(FIRST_STEP_NS),
            volume_due: FIRST_STEP_BYTES,
            by_time: Axis::new(Instant::ZERO, FIRST_STEP_NS),
            by_volume: Axis::new(Instant::ZERO, FIRST_STEP_BYTES),
        }
    }

    /// Forgets everything and starts to measure at `now`: the end of preconditioning. Work reported
    /// before, even if it reaches past `now`, is not counted.
    pub fn reset(&mut self, now: Instant) {
        self.counters = Counters::default();
        self.latencies.iter_mut().for_each(Latency::clear);
        self.channels.fill(Lane::IDLE);
        self.dies.fill(Lane::IDLE);
        self.start = now;
        self.end = now;
        self.time_due = Instant(now.0 + FIRST_STEP_NS);
        self.volume_due = FIRST_STEP_BYTES;
        self.by_time.restart(now, FIRST_STEP_NS);
        self.by_volume.restart(now, FIRST_STEP_BYTES);
    }

    /// A host request of `bytes` bytes completed. `arrived` is when its latency begins: its own time in an
    /// open loop, its issue in a closed one.
    #[inline]
    pub fn completed(&mut self, kind: RequestKind, arrived: Instant, now: Instant, bytes: u64) {
        // First, so that a request that completes on the boundary belongs to the row that begins there.
        self.tick(now);
        self.counters.request(kind, bytes);
        if self.shape.timed {
            self.record_latency(kind, arrived, now);
        }
        if self.counters.bytes_written >= self.volume_due {
            self.close_volume_row(now);
        }
    }

    #[inline]
    fn record_latency(&mut self, kind: RequestKind, arrived: Instant, now: Instant) {
        debug_assert!(arrived <= now, "a request completed before it arrived");
        let ns = now.0.saturating_sub(arrived.0);
        self.latencies[kind as usize].record(ns);
        if matches!(kind, RequestKind::Read | RequestKind::Write) {
            self.by_time.max_ns = self.by_time.max_ns.max(ns);
            self.by_volume.max_ns = self.by_volume.max_ns.max(ns);
        }
    }

    /// A channel is taken from `from` to `to`. Report it when the work starts or is booked, in order.
    #[inline]
    pub fn channel_busy(&mut self, channel: u32, cause: Cause, from: Instant, to: Instant) {
        self.channels[channel as usize].add(cause as usize, from, to);
    }

    /// A die's array is taken from `from` to `to`. Report it when the work starts or is booked, in order.
    #[inline]
    pub fn die_busy(&mut self, die: u32, kind: OpKind, from: Instant, to: Instant) {
        self.dies[die as usize].add(kind as usize, from, to);
    }

    /// Lets the series know the time. Call it before an event is handled, so that the event's figures
    /// belong to the right row; a comparison unless a row is due.
    #[inline]
    pub fn tick(&mut self, now: Instant) {
        if now >= self.time_due {
            self.close_time_rows(now);
        }
    }

    /// Ends the measurement at `now`, when nothing that should count is in flight any more.
    pub fn finish(&mut self, now: Instant) {
        self.tick(now);
        self.end = self.end.max(now);
        let sample = self.sample(now);
        self.by_time.finish(now, sample, true);
        self.by_volume.finish(now, sample, false);
    }

    #[cold]
    fn close_time_rows(&mut self, now: Instant) {
        while now >= self.time_due {
            if self.by_time.is_full() {
                self.by_time.coarsen();
            } else {
                let sample = self.sample(self.time_due);
                self.by_time.close(self.time_due, sample);
            }
            let rows = self.by_time.rows.len() as u64;
            self.time_due = Instant(self.start.0.saturating_add((rows + 1).saturating_mul(self.by_time.step())));
        }
    }

    #[cold]
    fn close_volume_row(&mut self, now: Instant) {
        if self.by_volume.is_full() {
            self.by_volume.coarsen();
            let written = self.by_volume.rows.last().map_or(0, |row| row.volume);
            self.volume_due = written + self.by_volume.step();
            if self.counters.bytes_written < self.volume_due {
                return;
            }
        }
        let sample = self.sample(now);
        self.by_volume.close(now, sample);
        self.volume_due = self.counters.bytes_written + self.by_volume.step();
    }

    fn sample(&self, at: Instant) -> Sample {
        Sample {
            counters: self.counters,
            read_ns: self.latency(RequestKind::Read).sum_ns(),
            write_ns: self.latency(RequestKind::Write).sum_ns(),
            channel_ns: self.channels.iter().map(|lane| lane.busy_until(at)).sum(),
            die_ns: self.dies.iter().map(|lane| lane.busy_until(at)).sum(),
        }
    }

    /// The device's shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Where the measurement began.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Where [`Recorder::finish`] ended it.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Nanoseconds from start to end.
    pub fn elapsed_ns(&self) -> u64 {
        self.end.0 - self.start.0
    }

    /// The latencies of one kind of request.
    pub fn latency(&self, kind: RequestKind) -> &Latency {
        &self.latencies[kind as usize]
    }

    /// The latencies of reads and writes together.
    pub fn host_latency(&self) -> Latency {
        self.latency(RequestKind::Read).merged(self.latency(RequestKind::Write))
    }

    /// By channel, the fraction of the measurement that it spent on each cause (in the order of
    /// [`Cause::ALL`]); `None` where operations take no time.
    pub fn channel_fractions(&self) -> Option<Vec<[f64; 7]>> {
        self.has_utilisation().then(|| self.channels.iter().map(|lane| lane.fractions(self.start, self.end)).collect())
    }

    /// By die, the fraction of the measurement that it spent reading, programming and erasing; `None`
    /// where operations take no time.
    pub fn die_fractions(&self) -> Option<Vec<[f64; 3]>> {
        self.has_utilisation().then(|| self.dies.iter().map(|lane| lane.fractions(self.start, self.end)).collect())
    }

    fn has_utilisation(&self) -> bool {
        self.shape.timed && self.elapsed_ns() > 0
    }

    /// The table `series`: figures by interval, on the axis `volume` (host bytes written) and, where
    /// simulated time passes, on the axis `time`. Times count from the start of the measurement; GB is
    /// 10^9 bytes; fractions are 0..1; NaN where a figure is not defined.
    pub fn series(&self) -> Table {
        let by_time = if self.elapsed_ns() > 0 { self.by_time.rows.as_slice() } else { &[] };
        series::table(&self.shape, self.start, &[("volume", &self.by_volume.rows), ("time", by_time)])
    }

    /// The table `latency`: by kind of request (`all` is reads and writes) the occupied classes of the
    /// histogram, with upper bound, count, and the fraction of requests up to it. No rows under `count`.
    pub fn latency_table(&self) -> Table {
        let all = self.host_latency();
        let kinds = [
            ("all", &all),
            ("read", self.latency(RequestKind::Read)),
            ("write", self.latency(RequestKind::Write)),
            ("trim", self.latency(RequestKind::Trim)),
            ("flush", self.latency(RequestKind::Flush)),
        ];
        let (mut names, mut bounds, mut counts, mut fractions) = (vec![], vec![], vec![], vec![]);
        for (name, latency) in kinds {
            let mut below = 0;
            for (bound_ns, count) in latency.classes() {
                below += count;
                names.push(name);
                bounds.push(crate::latency::us(bound_ns));
                counts.push(count);
                fractions.push(below as f64 / latency.count() as f64);
            }
        }
        let columns = vec![
            ("kind", Column::Text(names)),
            ("latency_us", Column::F64(bounds)),
            ("count", Column::U64(counts)),
            ("cumulative_fraction", Column::F64(fractions)),
        ];
        Table { name: "latency", columns }
    }

    /// The table `utilisation`: per channel the fraction of time by cause, per die by kind of operation,
    /// with the sum and the rest. No rows under `count`.
    pub fn utilisation_table(&self) -> Table {
        let channels = self.channel_fractions().unwrap_or_default();
        let dies = self.die_fractions().unwrap_or_default();
        let resources = channels.iter().map(|_| "channel").chain(dies.iter().map(|_| "die")).collect();
        let indices = (0..channels.len() as u64).chain(0..dies.len() as u64).collect();
        let mut columns = vec![("resource", Column::Text(resources)), ("index", Column::U64(indices))];
        let undefined = |n: usize| std::iter::repeat_n(f64::NAN, n);
        for cause in Cause::ALL {
            let values = channels.iter().map(|lane| lane[cause as usize]).chain(undefined(dies.len()));
            columns.push((cause.name(), Column::F64(values.collect())));
        }
        for (kind, name) in [(OpKind::Read, "read"), (OpKind::Program, "program"), (OpKind::Erase, "erase")] {
            let values = undefined(channels.len()).chain(dies.iter().map(|lane| lane[kind as usize]));
            columns.push((name, Column::F64(values.collect())));
        }
        let busy: Vec<f64> = channels
            .iter()
            .map(|lane| lane.iter().sum::<f64>())
            .chain(dies.iter().map(|lane| lane.iter().sum::<f64>()))
            .collect();
        let idle = busy.iter().map(|busy| (1.0 - busy).max(0.0)).collect();
        columns.push(("busy", Column::F64(busy)));
        columns.push(("idle", Column::F64(idle)));
        Table { name: "utilisation", columns }
    }
}
