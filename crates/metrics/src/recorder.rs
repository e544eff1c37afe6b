//! The one object that stages report to.

use serde_json::Value;

use base::{CAUSES, Cause, Die, Duration, InStep, Instant, Lpn, OpKind, RequestKind};

use crate::admission::Admission;
use crate::counters::Counters;
use crate::latency::Latency;
use crate::occupancy::Occupancy;
use crate::series::{self, FIRST_STEP_BYTES, FIRST_STEP_NS, SeriesSample, TimeAxis};
use crate::split::SplitLatencies;
use crate::table::{Column, Table};
use crate::tenants::{TenantFigures, TenantsFigures};
use crate::utilisation::BusyTime;
use crate::windows::{WindowEnd, WindowFigures};

/// The shape of the device, as far as the recorder needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedShape {
    /// Channels of the device.
    pub channels: u32,
    /// Dies of the device.
    pub dies: u32,
    /// Operations take simulated time. Without, there are no latencies, rates or utilisation.
    pub timed: bool,
    /// Bytes that the host may address.
    pub capacity_bytes: u64,
    /// Bytes of a page as programs are counted: of the flash, whatever is in step; or of a map unit below it.
    pub page_bytes: u64,
    /// Bytes of a page of the flash.
    pub flash_page_bytes: u64,
    /// Channels and planes in step. `channels` and `dies` count those that are in step with each other once.
    pub in_step: InStep,
    /// Pages are map units below the flash page.
    pub has_units: bool,
    /// A map unit has all the flash pages in step.
    pub has_wide_units: bool,
}

impl RecordedShape {
    /// Converts a count of map units to pages of the flash. A page with units for several causes counts for each by its part.
    pub fn flash_pages(&self, counted: u64) -> f64 {
        (counted * self.page_bytes) as f64 / self.flash_page_bytes as f64
    }
}

/// Programs and erases that were suspended for reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suspends {
    /// Suspends of programs.
    pub programs: u64,
    /// Suspends of erases.
    pub erases: u64,
    /// Nanoseconds in which an array neither did its operation nor took reads: the latencies of suspends and the times of
    /// resumes.
    pub overhead_ns: u64,
}

/// Commands that a die took in cache mode, before the one before was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheMode {
    /// Reads of the array while data of another one left the die.
    pub reads: u64,
    /// Programs whose data came while the array programmed another one.
    pub programs: u64,
}

/// Pages that had to be read again, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retried {
    /// All of them.
    pub pages: u64,
    /// Of these, the ones that were decoded softly.
    pub soft: u64,
    /// Of those, the ones that could not be corrected even so.
    pub uncorrectable: u64,
    /// Of those, pages of the host that were to be moved, and are lost.
    pub lost: u64,
}

/// Collects counters, latencies, busy times and the series of one run.
///
/// Call [`Recorder::reset`] where preconditioning ends and [`Recorder::finish`] where the run ends; the
/// summary and the tables describe what lies between.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// The counters since the start of the measurement. The device counts flash operations here directly, in pages
    /// and blocks as the FTL sees them.
    pub counters: Counters,
    suspends: Suspends,
    cache_mode: CacheMode,
    retried: Retried,
    shape: RecordedShape,
    /// By request kind.
    latencies: [Latency; 4],
    /// By channel; classes are causes.
    channels: Vec<BusyTime<CAUSES>>,
    /// By die; classes are kinds of operation.
    dies: Vec<BusyTime<3>>,
    buffer: Option<Occupancy>,
    /// Latencies by what they went to, where that is asked for.
    pub split: Option<Box<SplitLatencies>>,
    /// Waits of requests for a place in the device, in an open loop.
    pub admission: Option<Box<Admission>>,
    /// By tenant, where several hosts share the device.
    tenants: TenantsFigures,
    /// Of deterministic windows, where the drive promises any.
    pub windows: Option<Box<WindowFigures>>,
    start: Instant,
    end: Instant,
    /// When the row by time closes.
    time_due: Instant,
    /// At how many bytes written the row by volume closes.
    volume_due: u64,
    by_time: TimeAxis,
    by_volume: TimeAxis,
}

impl Recorder {
    const BYTES_OF_DIE: u64 = size_of::<BusyTime<3>>() as u64;

    /// Bytes of a recorder, with the figures of a write buffer.
    pub fn bytes(shape: &RecordedShape) -> u64 {
        let channels = u64::from(shape.channels);
        let resources =
            channels * size_of::<BusyTime<CAUSES>>() as u64 + u64::from(shape.dies) * Recorder::BYTES_OF_DIE;
        resources + Occupancy::bytes(channels) + 3_000_000
    }

    /// A recorder that starts at time zero, with all its memory allocated (about 3 MB).
    pub fn new(shape: RecordedShape) -> Recorder {
        Recorder {
            counters: Counters::default(),
            suspends: Suspends::default(),
            cache_mode: CacheMode::default(),
            retried: Retried::default(),
            shape,
            latencies: std::array::from_fn(|_| Latency::new()),
            channels: vec![BusyTime::IDLE; shape.channels as usize],
            dies: vec![BusyTime::IDLE; shape.dies as usize],
            buffer: None,
            split: None,
            admission: None,
            tenants: TenantsFigures::default(),
            windows: None,
            start: Instant::ZERO,
            end: Instant::ZERO,
            time_due: Instant(FIRST_STEP_NS),
            volume_due: FIRST_STEP_BYTES,
            by_time: TimeAxis::new(Instant::ZERO, FIRST_STEP_NS),
            by_volume: TimeAxis::new(Instant::ZERO, FIRST_STEP_BYTES),
        }
    }

    /// Forgets everything and starts to measure at `now`: the end of preconditioning. Work reported
    /// before, even if it reaches past `now`, is not counted.
    pub fn reset(&mut self, now: Instant) {
        self.counters = Counters::default();
        self.suspends = Suspends::default();
        self.cache_mode = CacheMode::default();
        self.retried = Retried::default();
        self.latencies.iter_mut().for_each(Latency::clear);
        self.channels.fill(BusyTime::IDLE);
        self.dies.fill(BusyTime::IDLE);
        self.start = now;
        self.end = now;
        self.time_due = Instant(now.0 + FIRST_STEP_NS);
        self.volume_due = FIRST_STEP_BYTES;
        self.by_time.restart(now, FIRST_STEP_NS);
        self.by_volume.restart(now, FIRST_STEP_BYTES);
    }

    /// A host request of `bytes` bytes completed. `arrived` is when its latency begins: its own time in an
    /// open loop, its issue in a closed one.
    #[inline(always)] // Where the kind is known, and that no time passes, little of it is left.
    pub fn completed(&mut self, kind: RequestKind, arrived: Instant, now: Instant, bytes: u64) {
        // First, so that a request that completes on the boundary belongs to the row that begins there.
        self.tick(now);
        self.counters.request(kind, bytes);
        if self.shape.timed {
            self.record_latency(kind, arrived, now);
            if let Some(windows) = &mut self.windows {
                windows.completed(kind, arrived, now, bytes);
            }
        }
        if kind == RequestKind::Write && self.counters.bytes_written >= self.volume_due {
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

    /// Several hosts share the device, from now on.
    pub fn watch_tenants(&mut self, tenants: Vec<TenantFigures>) {
        self.tenants = TenantsFigures::new(tenants);
    }

    /// A tenant that waited for others has begun: its requests are in its figures from then on.
    pub fn tenant_begins(&mut self, tenant: usize, from: Instant) {
        self.tenants.each[tenant].begins(from);
        if let Some(split) = &mut self.split {
            split.tenant_begins(tenant, from);
        }
    }

    /// The figures of a tenant are steady, by which it ends.
    pub fn tenant_is_steady(&mut self, tenant: usize, at: Instant) {
        self.tenants.each[tenant].is_steady(at);
    }

    /// Several hosts share the device.
    #[inline]
    pub fn has_tenants(&self) -> bool {
        !self.tenants.each.is_empty()
    }

    /// A page was placed for the host, or a copy of one.
    #[inline]
    pub fn placed_of_tenant(&mut self, lpn: Lpn, is_copy: bool) {
        self.tenants.placed(lpn, is_copy);
    }

    /// A request of a tenant is complete. Call it beside [`Recorder::completed`].
    pub fn completed_of(&mut self, tenant: usize, kind: RequestKind, arrived: Instant, now: Instant, bytes: u64) {
        self.tenants.each[tenant].completed(kind, arrived, now, bytes);
    }

    /// The figures of the hosts that share the device; `None`: there is one.
    pub fn tenants(&self) -> Option<Value> {
        let of_each = self.tenants.each.iter().map(|tenant| tenant.to_json(self.start, self.shape.page_bytes));
        (!self.tenants.each.is_empty()).then(|| of_each.collect())
    }

    /// In an open loop: of a request that was complete after `latency_ns`, so much was the wait for a place in the device.
    #[inline]
    pub fn waited_outside(&mut self, kind: RequestKind, latency_ns: u64, outside_ns: u64) {
        if let Some(admission) = &mut self.admission {
            admission.add(kind, latency_ns, outside_ns);
        }
    }

    /// In an open loop: the device holds so many requests.
    #[inline]
    pub fn holds(&mut self, requests: usize) {
        if let Some(admission) = &mut self.admission {
            admission.most = admission.most.max(requests);
        }
    }

    /// A channel is taken from `from` to `to`. Report it when the work starts or is booked, in order.
    #[inline(always)]
    pub fn channel_busy(&mut self, channel: u32, cause: Cause, from: Instant, to: Instant) {
        self.channels[channel as usize].add(cause as usize, from.max(self.start), to);
    }

    /// A die's array is taken from `from` to `to`. Report it when the work starts or is booked, in order.
    #[inline(always)]
    pub fn die_busy(&mut self, die: Die, kind: OpKind, from: Instant, to: Instant) {
        self.dies[die.index()].add(kind as usize, from.max(self.start), to);
    }

    /// When the row by time closes: what has begun before is to be reported by then.
    #[inline]
    pub fn row_due(&self) -> Instant {
        self.time_due
    }

    /// True if a request that completes closes the row by volume.
    #[inline]
    pub fn closes_row(&self, kind: RequestKind, bytes: u64) -> bool {
        kind == RequestKind::Write && self.counters.bytes_written + bytes >= self.volume_due
    }

    /// The measurement ends `now`: what a die does later, of that kind, and was reported ahead is no part of it.
    pub fn leave_out_of_die(&mut self, die: Die, kind: OpKind, now: Instant) {
        self.dies[die.index()].leave_out_after(kind as usize, now);
    }

    /// A transfer that takes a channel from `from` to `to`, and was reported ahead, is no part of the measurement, which ends before;
    /// nor are those behind it.
    pub fn leave_out_of_channel(&mut self, channel: u32, cause: Cause, from: Instant, to: Instant) {
        self.channels[channel as usize].leave_out(cause as usize, from, to);
    }

    /// The operation of a die, of that kind and reported before, is suspended `now`; the array takes reads from `ready` on.
    pub fn die_suspended(&mut self, die: Die, kind: OpKind, now: Instant, ready: Instant) {
        self.dies[die.index()].cut(kind as usize, now.max(self.start));
        self.die_busy(die, kind, now, ready);
        let of_kind = if kind == OpKind::Erase { &mut self.suspends.erases } else { &mut self.suspends.programs };
        *of_kind += 1;
        self.suspends.overhead_ns += (ready - now).0;
    }

    /// The suspended operation goes on `now` and ends at `until`; for that the array takes the time `resume` besides.
    pub fn die_resumed(&mut self, die: Die, kind: OpKind, now: Instant, resume: Duration, until: Instant) {
        self.die_busy(die, kind, now, until);
        self.suspends.overhead_ns += resume.0;
    }

    /// Programs and erases that were suspended, on all dies; `None` where operations take no time. Channels in step do the same,
    /// each with its dies.
    pub fn suspends(&self) -> Option<Suspends> {
        let Suspends { programs, erases, overhead_ns } = self.suspends;
        let parts = u64::from(self.shape.in_step.channels);
        let all = Suspends { programs: programs * parts, erases: erases * parts, overhead_ns: overhead_ns * parts };
        self.shape.timed.then_some(all)
    }

    /// A die takes a read or a program in cache mode.
    pub fn die_cached(&mut self, kind: OpKind) {
        match kind {
            OpKind::Read => self.cache_mode.reads += 1,
            _ => self.cache_mode.programs += 1,
        }
    }

    /// Commands that dies took in cache mode; `None` where operations take no time. Channels in step do the same, each with its
    /// dies.
    pub fn cache_mode(&self) -> Option<CacheMode> {
        let CacheMode { reads, programs } = self.cache_mode;
        let parts = u64::from(self.shape.in_step.channels);
        self.shape.timed.then_some(CacheMode { reads: reads * parts, programs: programs * parts })
    }

    /// A page has to be read again: it is decoded softly in the end, or not even that corrects it.
    pub fn page_retried(&mut self, is_soft: bool, is_uncorrectable: bool) {
        self.retried.pages += 1;
        self.retried.soft += u64::from(is_soft);
        self.retried.uncorrectable += u64::from(is_uncorrectable);
    }

    /// A page of the host that was to be moved is lost.
    pub fn page_lost(&mut self) {
        self.retried.lost += 1;
    }

    /// Pages that had to be read again; `None` where operations take no time.
    pub fn retried(&self) -> Option<Retried> {
        self.shape.timed.then_some(self.retried)
    }

    /// There is a write buffer of so many pages, empty now; `channels` is the number of channels, or 0 where
    /// pages are not bound to one.
    pub fn watch_buffer(&mut self, capacity: u32, channels: usize) {
        self.buffer = Some(Occupancy::new(capacity, channels, self.shape.in_step.channels, self.start));
    }

    /// The write buffer holds `fill` pages from `now` on; where pages are bound to channels, with the channel
    /// whose number of pages changed and that number. Without time, `now` is the number of pages accepted.
    #[inline]
    pub fn buffer_fill(&mut self, now: Instant, fill: u32, channel: Option<(u32, u32)>) {
        if let Some(buffer) = &mut self.buffer {
            buffer.set(now.0, fill, channel, self.counters.buffer_evictions);
        }
    }

    /// The content of the write buffer does not count from `now` on: the last request completed.
    pub fn buffer_finish(&mut self, now: Instant) {
        if let Some(buffer) = &mut self.buffer {
            buffer.finish(now.0, self.counters.buffer_evictions);
        }
    }

    /// The occupancy of the write buffer, if there is one.
    pub fn buffer(&self) -> Option<&Occupancy> {
        self.buffer.as_ref()
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
        if let Some(windows) = &mut self.windows {
            windows.ends(now, WindowEnd::Time);
        }
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

    fn sample(&self, at: Instant) -> SeriesSample {
        SeriesSample {
            counters: self.counters,
            read_ns: self.latency(RequestKind::Read).sum_ns(),
            write_ns: self.latency(RequestKind::Write).sum_ns(),
            channel_ns: self.channels.iter().map(|resource| u128::from(resource.busy_until(at))).sum(),
            die_ns: self.dies.iter().map(|resource| u128::from(resource.busy_until(at))).sum(),
            buffer_page_ns: match &self.buffer {
                Some(buffer) if self.shape.timed => buffer.fill_sum(at),
                _ => 0,
            },
        }
    }

    /// The counters, in pages and blocks of the flash.
    pub fn totals(&self) -> Counters {
        self.counters.physical(self.shape.in_step, self.shape.has_units)
    }

    /// The device's shape.
    pub fn shape(&self) -> &RecordedShape {
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
    pub fn channel_fractions(&self) -> Option<Vec<[f64; CAUSES]>> {
        self.has_utilisation().then(|| self.of_each(&self.channels))
    }

    /// By die, the fraction of the measurement that it spent reading, programming and erasing; `None`
    /// where operations take no time.
    pub fn die_fractions(&self) -> Option<Vec<[f64; 3]>> {
        self.has_utilisation().then(|| self.of_each(&self.dies))
    }

    /// Fractions of every resource. Channels in step do the same, each with its dies: their resource is there once for each.
    fn of_each<const N: usize>(&self, resources: &[BusyTime<N>]) -> Vec<[f64; N]> {
        let fractions: Vec<[f64; N]> =
            resources.iter().map(|resource| resource.fractions(self.start, self.end)).collect();
        fractions.repeat(self.shape.in_step.channels as usize)
    }

    fn has_utilisation(&self) -> bool {
        self.shape.timed && self.elapsed_ns() > 0
    }

    /// WAF in bytes in each of so many equal parts of what the host wrote, as finely as the rows of the series are; `None` where the
    /// host wrote nothing in one.
    pub fn waf_by_part(&self, parts: u64) -> Vec<Option<f64>> {
        series::waf_by_part(&self.shape, &self.by_volume.rows, parts)
    }

    /// The table `series`: figures by interval, on the axis `volume` (host bytes written) and, where
    /// simulated time passes, on the axis `time`. Times count from the start of the measurement; GB is
    /// 10^9 bytes; fractions are 0..1; NaN where a figure is not defined.
    pub fn series(&self) -> Table {
        let by_time = if self.elapsed_ns() > 0 { self.by_time.rows.as_slice() } else { &[] };
        series::table(
            &self.shape,
            self.start,
            &[("volume", &self.by_volume.rows), ("time", by_time)],
            self.buffer.is_some(),
        )
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
        Table { name: "latency", columns: latency_columns(kinds) }
    }

    /// The table `tenant_latency`: as `latency`, for each of several hosts, by its place among them; `None`: there is one.
    pub fn tenant_latency_table(&self) -> Option<Table> {
        let columns = |tenant: &TenantFigures| latency_columns(tenant.latencies());
        let mut of_each = self.tenants.each.iter().map(columns).zip(0..).map(|(columns, number)| {
            let tenant = Column::U64(vec![number; columns[0].1.len()]);
            std::iter::once(("tenant", tenant)).chain(columns).collect::<Vec<_>>()
        });
        let mut columns = of_each.next()?;
        for more in of_each {
            columns.iter_mut().zip(more).for_each(|((_, column), (_, more))| column.append(more));
        }
        Some(Table { name: "tenant_latency", columns })
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
            let values = channels.iter().map(|resource| resource[cause as usize]).chain(undefined(dies.len()));
            columns.push((cause.name(), Column::F64(values.collect())));
        }
        for (kind, name) in [(OpKind::Read, "read"), (OpKind::Program, "program"), (OpKind::Erase, "erase")] {
            let values = undefined(channels.len()).chain(dies.iter().map(|resource| resource[kind as usize]));
            columns.push((name, Column::F64(values.collect())));
        }
        let busy: Vec<f64> = channels
            .iter()
            .map(|resource| resource.iter().sum::<f64>())
            .chain(dies.iter().map(|resource| resource.iter().sum::<f64>()))
            .collect();
        let idle = busy.iter().map(|busy| (1.0 - busy).max(0.0)).collect();
        columns.push(("busy", Column::F64(busy)));
        columns.push(("idle", Column::F64(idle)));
        Table { name: "utilisation", columns }
    }
}

/// The occupied classes of histograms by kind: upper bound, count, and the fraction of requests up to it.
fn latency_columns<'a>(kinds: impl IntoIterator<Item = (&'static str, &'a Latency)>) -> Vec<(&'static str, Column)> {
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
    vec![
        ("kind", Column::Text(names)),
        ("latency_us", Column::F64(bounds)),
        ("count", Column::U64(counts)),
        ("cumulative_fraction", Column::F64(fractions)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::MAX_ROWS;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const MIB: u64 = 1 << 20;

    fn shape(timed: bool) -> RecordedShape {
        RecordedShape {
            channels: 2,
            dies: 4,
            timed,
            capacity_bytes: 100 * MIB,
            page_bytes: 16384,
            flash_page_bytes: 16384,
            in_step: InStep::NONE,
            has_units: false,
            has_wide_units: false,
        }
    }

    /// A numeric column, of the rows of one axis.
    fn column(table: &Table, axis: &str, name: &str) -> Vec<f64> {
        let Some(Column::Text(axes)) = table.column("axis") else { panic!("no axis") };
        let values: Vec<f64> = match table.column(name) {
            Some(Column::U64(values)) => values.iter().map(|&v| v as f64).collect(),
            Some(Column::F64(values)) => values.clone(),
            other => panic!("{name}: {other:?}"),
        };
        axes.iter().zip(values).filter(|(a, _)| **a == axis).map(|(_, v)| v).collect()
    }

    /// Two milliseconds by hand: reads of 4 KiB, a write of 1 MiB, a garbage collection.
    fn two_rows() -> Recorder {
        let mut recorder = Recorder::new(shape(true));
        recorder.counters.count(Cause::Host, OpKind::Program, 99);
        recorder.completed(RequestKind::Write, Instant(0), Instant(40 * MS), MIB);
        recorder.reset(Instant(50 * MS));
        let at = |ns: u64| Instant(50 * MS + ns);
        recorder.completed(RequestKind::Read, at(0), at(100_000), 4096);
        recorder.completed(RequestKind::Read, at(0), at(300_000), 4096);
        recorder.counters.command(Cause::Host, OpKind::Read, 2);
        recorder.channel_busy(0, Cause::Host, at(500_000), at(1_500_000));
        recorder.die_busy(Die::new(3), OpKind::Program, at(0), at(2_000_000));
        recorder.tick(at(MS));
        recorder.completed(RequestKind::Write, at(200_000), at(1_200_000), MIB);
        recorder.counters.count(Cause::Host, OpKind::Program, 128);
        recorder.counters.count(Cause::Gc, OpKind::Program, 64);
        recorder.counters.count(Cause::Gc, OpKind::Erase, 1);
        recorder.counters.gc_invocations += 2;
        recorder.finish(at(2 * MS));
        recorder
    }

    #[test]
    fn rows_by_time() {
        let table = two_rows().series();
        let time = |name: &str| column(&table, "time", name);
        assert_eq!(time("start_s"), [0.0, 0.001]);
        assert_eq!(time("end_s"), [0.001, 0.002]);
        assert_eq!(time("reads"), [2.0, 0.0]);
        assert_eq!(time("writes"), [0.0, 1.0]);
        assert_eq!(time("iops"), [2000.0, 1000.0]);
        assert_eq!(time("host_written_gb"), [0.0, 0.001048576]);
        assert_eq!(time("capacities_written"), [0.0, 0.01]);
        assert_eq!(time("throughput_mb_s"), [8.192, 1048.576]);
        assert_eq!(time("latency_mean_us"), [200.0, 1000.0]);
        assert_eq!(time("latency_max_us"), [300.0, 1000.0]);
        assert_eq!(time("read_latency_mean_us")[0], 200.0);
        assert!(time("read_latency_mean_us")[1].is_nan() && time("write_latency_mean_us")[0].is_nan());
        assert_eq!(time("write_latency_mean_us")[1], 1000.0);
        assert!(time("waf")[0].is_nan() && time("waf_units")[0].is_nan());
        assert_eq!(time("waf")[1], 3.0, "192 pages of 16 KiB, of which 128 for the host, who wrote 1 MiB");
        assert_eq!(time("waf_units")[1], 1.5);
        assert_eq!(time("gc_per_s"), [0.0, 2000.0]);
        assert!((time("gc_per_gb")[1] - 2.0 / 0.001048576).abs() < 1e-6);
        assert_eq!(time("erases"), [0.0, 1.0]);
        assert_eq!(time("multiplane_read_fraction")[0], 1.0);
        assert_eq!(time("multiplane_program_fraction")[1], 0.0);
        assert_eq!(time("channel_busy"), [0.25, 0.25], "half a millisecond in each, of two channels");
        assert_eq!(time("die_busy"), [0.25, 0.25], "one die of four");
    }

    #[test]
    fn rows_by_volume() {
        let table = two_rows().series();
        let volume = |name: &str| column(&table, "volume", name);
        assert_eq!(volume("end_s"), [0.0012, 0.002]);
        assert_eq!(volume("writes"), [1.0, 0.0]);
        assert_eq!(volume("reads"), [2.0, 0.0]);
        assert_eq!(volume("host_written_gb"), [0.001048576; 2]);
    }

    #[test]
    fn preconditioning_is_forgotten() {
        let recorder = two_rows();
        assert_eq!(recorder.counters.host_writes, 1);
        assert_eq!(recorder.counters.page_programs(), 192);
        assert_eq!(recorder.host_latency().count(), 3);
        assert_eq!(recorder.elapsed_ns(), 2 * MS);
    }

    #[test]
    fn busy_fractions() {
        let recorder = two_rows();
        let channels = recorder.channel_fractions().unwrap();
        assert_eq!(channels[0][Cause::Host as usize], 0.5);
        assert_eq!(channels[1], [0.0; CAUSES]);
        assert_eq!(recorder.die_fractions().unwrap()[3], [0.0, 1.0, 0.0]);
        let table = recorder.utilisation_table();
        assert_eq!(table.rows(), 6);
        let expected = Column::F64(vec![0.5, 1.0, 1.0, 1.0, 1.0, 0.0]);
        assert_eq!(table.column("idle"), Some(&expected));
        let Some(Column::F64(host)) = table.column("host") else { panic!("no column host") };
        assert!(host[0] == 0.5 && host[2].is_nan());
    }

    #[test]
    fn work_from_before_the_reset_counts_from_the_reset() {
        let mut recorder = Recorder::new(shape(true));
        recorder.die_busy(Die::new(0), OpKind::Erase, Instant(0), Instant(5 * MS));
        recorder.reset(Instant(10 * MS));
        recorder.die_busy(Die::new(1), OpKind::Erase, Instant(9 * MS), Instant(12 * MS));
        recorder.finish(Instant(14 * MS));
        let dies = recorder.die_fractions().unwrap();
        assert_eq!((dies[0][2], dies[1][2]), (0.0, 0.5));
    }

    #[test]
    fn without_time_there_are_no_latencies() {
        let mut recorder = Recorder::new(shape(false));
        for _ in 0..3 {
            recorder.completed(RequestKind::Write, Instant::ZERO, Instant::ZERO, MIB);
        }
        recorder.finish(Instant::ZERO);
        assert_eq!(recorder.host_latency().count(), 0);
        assert_eq!(recorder.channel_fractions(), None);
        assert_eq!(recorder.latency_table().rows(), 0);
        assert_eq!(recorder.utilisation_table().rows(), 0);
        let table = recorder.series();
        assert_eq!(column(&table, "volume", "writes"), [1.0; 3]);
        assert!(column(&table, "time", "writes").is_empty());
        for name in ["iops", "latency_mean_us", "latency_max_us", "channel_busy", "gc_per_s"] {
            assert!(column(&table, "volume", name).iter().all(|v| v.is_nan()), "{name}");
        }
    }

    #[test]
    fn arrival_times_give_the_count_executor_an_axis() {
        let mut recorder = Recorder::new(shape(false));
        for ms in 1..=3 {
            recorder.completed(RequestKind::Write, Instant(ms * MS), Instant(ms * MS), 4096);
        }
        recorder.counters.gc_invocations = 5;
        recorder.finish(Instant(3 * MS));
        let table = recorder.series();
        // A request on a boundary belongs to the row that begins there; the last has no row of its own.
        assert_eq!(column(&table, "time", "writes"), [0.0, 1.0, 2.0]);
        assert_eq!(column(&table, "time", "gc_per_s"), [0.0, 0.0, 5000.0]);
        assert!(column(&table, "time", "iops").iter().all(|v| v.is_nan()));
    }

    #[test]
    fn a_long_pause_stays_within_the_rows() {
        let mut recorder = Recorder::new(shape(true));
        recorder.completed(RequestKind::Read, Instant(0), Instant(10), 512);
        let month = 30 * 24 * 3600 * 1_000_000_000;
        recorder.completed(RequestKind::Read, Instant(month), Instant(month + 10), 512);
        recorder.finish(Instant(month + 20));
        let table = recorder.series();
        let reads = column(&table, "time", "reads");
        assert!(reads.len() <= MAX_ROWS && reads.len() > MAX_ROWS / 2 - 1, "{}", reads.len());
        assert_eq!((reads[0], reads[reads.len() - 1]), (1.0, 1.0));
        assert_eq!(reads.iter().sum::<f64>(), 2.0);
    }

    #[test]
    fn the_latency_table_is_cumulative() {
        let table = two_rows().latency_table();
        let Some(Column::Text(kinds)) = table.column("kind") else { panic!("no kinds") };
        assert_eq!(*kinds, ["all", "all", "all", "read", "read", "write"]);
        assert_eq!(table.column("count"), Some(&Column::U64(vec![1; 6])));
        let thirds = vec![1.0 / 3.0, 2.0 / 3.0, 1.0, 0.5, 1.0, 1.0];
        assert_eq!(table.column("cumulative_fraction"), Some(&Column::F64(thirds)));
    }

    /// One step of a random history.
    #[derive(Clone, Debug)]
    struct Step {
        gap_ns: u64,
        kind: RequestKind,
        bytes: u64,
        latency_ns: u64,
        programs: u64,
        busy_ns: u64,
        resource: u32,
    }

    fn step() -> impl Strategy<Value = Step> {
        let gap = prop_oneof![8 => 0u64..3 * MS, 1 => 0u64..5_000 * MS];
        let kind = prop_oneof![
            4 => Just(RequestKind::Write),
            2 => Just(RequestKind::Read),
            1 => Just(RequestKind::Trim),
            1 => Just(RequestKind::Flush),
        ];
        (gap, kind, 0u64..3 * MIB, 0u64..10 * MS, 0u64..9, 0u64..5 * MS, 0u32..4).prop_map(
            |(gap_ns, kind, bytes, latency_ns, programs, busy_ns, resource)| Step {
                gap_ns,
                kind,
                bytes,
                latency_ns,
                programs,
                busy_ns,
                resource,
            },
        )
    }

    fn replay(steps: &[Step]) -> Recorder {
        let mut recorder = Recorder::new(shape(true));
        let start = Instant(77);
        recorder.reset(start);
        let mut now = start;
        let mut free = [start; 4];
        for step in steps {
            now = Instant(now.0 + step.gap_ns);
            recorder.tick(now);
            let arrived = Instant(now.0.saturating_sub(step.latency_ns));
            recorder.completed(step.kind, arrived, now, step.bytes);
            recorder.counters.command(Cause::Host, OpKind::Program, step.programs);
            recorder.counters.gc_invocations += step.programs / 4;
            let die = &mut free[step.resource as usize];
            let from = now.max(*die);
            *die = Instant(from.0 + step.busy_ns);
            recorder.die_busy(Die::new(step.resource), OpKind::Program, from, *die);
        }
        let end = free.into_iter().max().unwrap().max(now);
        recorder.finish(end);
        recorder
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// However often rows merged, they add up to the counters, follow each other, and stay bounded.
        #[test]
        fn merging_loses_nothing(steps in prop::collection::vec(step(), 1..4000)) {
            let recorder = replay(&steps);
            let busy: u64 = steps.iter().map(|step| step.busy_ns).sum();
            let longest = [RequestKind::Read, RequestKind::Write]
                .map(|kind| recorder.latency(kind).max_ns()).into_iter().max().unwrap();
            for axis in [&recorder.by_time, &recorder.by_volume] {
                let rows = &axis.rows;
                prop_assert!(rows.len() <= MAX_ROWS);
                let sum = rows.iter().fold(Counters::default(), |sum, row| sum + row.delta.counters);
                prop_assert_eq!(sum, recorder.counters);
                prop_assert_eq!(rows.iter().map(|row| row.delta.die_ns).sum::<u128>(), u128::from(busy));
                let write_ns: u128 = rows.iter().map(|row| row.delta.write_ns).sum();
                prop_assert_eq!(write_ns, recorder.latency(RequestKind::Write).sum_ns());
                prop_assert_eq!(rows.iter().map(|row| row.max_ns).max().unwrap_or(0), longest);
                prop_assert!(rows.windows(2).all(|pair| pair[0].end == pair[1].start));
                prop_assert_eq!(rows.first().map_or(recorder.start, |row| row.start), recorder.start);
                prop_assert_eq!(rows.last().map_or(recorder.start, |row| row.end), recorder.end);
            }
            let step = recorder.by_time.step();
            for row in &recorder.by_time.rows[..recorder.by_time.rows.len().saturating_sub(1)] {
                prop_assert_eq!(row.end.0 - row.start.0, step);
                prop_assert!(row.delta.die_ns <= 4 * u128::from(step), "a die cannot be busy for longer than the row");
            }
        }
    }
}
