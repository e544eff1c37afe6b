//! The source that the device pulls from: a trace in rounds or a generator, cut to the device, until an
//! end is reached.

use std::collections::VecDeque;
use std::ops::Range;

use base::{Duration, Instant, Request, RequestKind, Selection};
use config::model::{self, BackwardsTime, Discards, HintSelect, OutOfRange};
use engine::Chance;
use files::Interrupt;

use crate::error::WorkloadError;
use crate::job::{Job, JobProblem};
use crate::sample::Sampled;
use crate::synthetic::{self, Batches, SourceParameters};
use crate::trace::{COLUMNS, Counts, Record, Rounds, Trace, TraceOptions};

/// Trace requests read at a time.
const BATCH: usize = 1024;

/// The counts of a workload so far. Nothing is cut, dropped or moved without a count here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Tally {
    /// Requests handed to the device.
    pub requests: u64,
    /// Bytes of its writes.
    pub bytes_written: u64,
    /// Passes of the trace that were begun.
    pub rounds: u64,
    /// Lines read, over all rounds; the reader is ahead of the requests by its window. A round that is replayed
    /// from memory counts whole from its beginning, here and below.
    pub lines: u64,
    /// Lines skipped because they could not be read.
    pub bad_lines: u64,
    /// Requests of no bytes, dropped.
    pub zero_length: u64,
    /// Requests in the wrong place; those within the reordering window were put in order.
    pub out_of_order: u64,
    /// Requests in the wrong place beyond the reordering window, given the latest time so far.
    pub backwards_times: u64,
    /// Flushes that only completed a FUA write, dropped.
    pub postfua_dropped: u64,
    /// Rows of another clock than the rest, dropped.
    pub stray_times: u64,
    /// Dispatches of a request that its device had given back, dropped.
    pub requeued: u64,
    /// Discards left out by `discards = "ignore"`.
    pub discards_ignored: u64,
    /// Requests moved by `out_of_range = "wrap"`.
    pub wrapped: u64,
    /// Wrapped requests that straddled the end: two requests each.
    pub split: u64,
    /// Requests cut short by `out_of_range = "clamp"`.
    pub clamped: u64,
    /// Requests wholly past the end, dropped by `out_of_range = "clamp"`.
    pub dropped_past_end: u64,
}

impl Tally {
    /// Adds what was counted of another workload.
    fn join(&mut self, other: &Tally) {
        let Tally {
            requests,
            bytes_written,
            rounds,
            lines,
            bad_lines,
            zero_length,
            out_of_order,
            backwards_times,
            postfua_dropped,
            stray_times,
            requeued,
            discards_ignored,
            wrapped,
            split,
            clamped,
            dropped_past_end,
        } = self;
        *requests += other.requests;
        *bytes_written += other.bytes_written;
        *rounds += other.rounds;
        *lines += other.lines;
        *bad_lines += other.bad_lines;
        *zero_length += other.zero_length;
        *out_of_order += other.out_of_order;
        *backwards_times += other.backwards_times;
        *postfua_dropped += other.postfua_dropped;
        *stray_times += other.stray_times;
        *requeued += other.requeued;
        *discards_ignored += other.discards_ignored;
        *wrapped += other.wrapped;
        *split += other.split;
        *clamped += other.clamped;
        *dropped_past_end += other.dropped_past_end;
    }

    /// Adds what a reader counted in a round.
    fn add(&mut self, counts: &Counts) {
        self.lines += counts.lines;
        self.bad_lines += counts.bad_lines;
        self.zero_length += counts.zero_length;
        self.out_of_order += counts.out_of_order;
        self.backwards_times += counts.backwards_times;
        self.postfua_dropped += counts.postfua_dropped;
        self.stray_times += counts.stray_times;
        self.requeued += counts.requeued;
    }
}

/// A stream of requests with an end.
pub struct Workload {
    source: RequestSource,
    end: model::End,
    hints: OwnHints,
    tally: Tally,
}

/// The hints of requests that have none.
enum OwnHints {
    /// There are none.
    None,
    /// That of the first part of the addresses, and one more for each part behind it.
    OfParts {
        first: u16,
        parts: u64,
        /// Bytes of all parts.
        capacity: u64,
    },
    /// Each write has the next of these, or any.
    OfWrites { hints: Vec<u16>, next: usize, random: Option<Chance> },
}

impl OwnHints {
    fn of(config: &model::Workload, capacity: u64, seed: u64) -> OwnHints {
        match (&config.hint[..], u64::from(config.hint_parts)) {
            ([] | [0], 1) => OwnHints::None,
            (&[first], parts) => OwnHints::OfParts { first, parts, capacity: capacity.max(1) },
            (hints, _) => {
                let random = (config.hint_select == HintSelect::Random).then(|| Chance::new(seed, "hints"));
                OwnHints::OfWrites { hints: hints.to_vec(), next: 0, random }
            }
        }
    }

    fn give(&mut self, requests: &mut [Request]) {
        let without = requests.iter_mut().filter(|request| request.hint == 0);
        match self {
            OwnHints::None => {}
            &mut OwnHints::OfParts { first, parts, capacity } => {
                for request in without {
                    let part = u128::from(request.offset) * u128::from(parts) / u128::from(capacity);
                    request.hint = first.saturating_add(part as u16);
                }
            }
            OwnHints::OfWrites { hints, next, random } => {
                for request in without.filter(|request| request.kind == RequestKind::Write) {
                    if let Some(random) = random {
                        *next = random.below(hints.len() as u64) as usize;
                    }
                    request.hint = hints[*next];
                    *next = (*next + 1) % hints.len();
                }
            }
        }
    }
}

enum RequestSource {
    Trace(Box<TraceReplay>),
    Generator(Box<dyn Batches>),
    Shifted(Box<Shifted>),
    Job(Box<Job>),
    Listed(std::vec::IntoIter<Request>),
    Sampled(Box<Sampled>),
    Tenants(Vec<TenantWorkload>),
}

/// The requests of a tenant.
struct TenantWorkload {
    requests: Workload,
    /// Where its addresses begin on the device.
    first: u64,
    /// It has an end of its own.
    has_end: bool,
    /// Addresses of the device to which it may write; `None`: to none.
    written: Option<Range<u64>>,
}

impl Workload {
    /// Bytes that its source holds at most.
    pub fn bytes(config: &model::Workload) -> u64 {
        match &config.source {
            model::Source::Tenants(tenants) => tenants.iter().map(|tenant| Workload::bytes(&tenant.workload)).sum(),
            model::Source::Generator(_) | model::Source::Job { .. } => 0,
            model::Source::Trace { .. } => {
                let once = config.end.rounds == Some(1) || config.end == model::End::default();
                Trace::BYTES + Rounds::bytes(!once)
            }
        }
    }

    /// A workload as the config describes it; `interrupt` may stop the reading of its trace.
    ///
    /// # Errors
    /// When the trace cannot be opened, or the generator does not fit the device.
    pub fn open(
        config: &model::Workload,
        host: &model::Host,
        user_capacity: u64,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<Workload, WorkloadError> {
        if let (model::Source::Trace { .. }, Some(share)) = (&config.source, &config.share) {
            let whole = model::Workload { share: None, end: share.whole_end.clone(), ..config.clone() };
            let whole = Workload::open(&whole, host, share.whole_capacity, seed, interrupt)?;
            let source = RequestSource::Sampled(Box::new(Sampled::new(whole, share)));
            // The whole has given them, by its own addresses and in its own order.
            return Ok(Workload { source, end: model::End::default(), hints: OwnHints::None, tally: Tally::default() });
        }
        let mut end = config.end.clone();
        let source = match &config.source {
            model::Source::Tenants(tenants) => {
                let open = |tenant: &model::Tenant| {
                    TenantWorkload::open(
                        tenant,
                        host,
                        user_capacity,
                        Chance::new(seed, &format!("tenant {}", tenant.name)).next(),
                        interrupt,
                    )
                };
                RequestSource::Tenants(tenants.iter().map(open).collect::<Result<_, _>>()?)
            }
            model::Source::Trace { path } => {
                if end == model::End::default() {
                    end.rounds = Some(1);
                }
                RequestSource::Trace(Box::new(TraceReplay::open(path, config, &end, host, user_capacity, interrupt)?))
            }
            model::Source::Job { text } => {
                let job = Job::new(text, user_capacity, seed);
                let refused =
                    |problem: JobProblem| WorkloadError::Job { what: problem.what, expected: problem.expected };
                RequestSource::Job(Box::new(job.map_err(refused)?))
            }
            model::Source::Generator(generator) => {
                let mut generator = generator.clone();
                generator.interval = scale(generator.interval, host.time_scale);
                generator.idle_for = scale(generator.idle_for, host.time_scale);
                let volume = end.volume.unwrap_or(u64::MAX);
                generate(&generator, Bounds::of(config, user_capacity), volume, seed, one_in(config))?
            }
        };
        Ok(Workload { source, end, hints: OwnHints::of(config, user_capacity, seed), tally: Tally::default() })
    }

    /// These requests, in order of time, each inside the device.
    pub fn listed(requests: Vec<Request>) -> Workload {
        let source = RequestSource::Listed(requests.into_iter());
        Workload { source, end: model::End::default(), hints: OwnHints::None, tally: Tally::default() }
    }

    /// Writes without end, for ageing a device: whole pages, uniformly over everything the host may address.
    ///
    /// # Errors
    /// When the device is smaller than a page.
    pub fn aging_uniform(user_capacity: u64, page_size: u64, seed: u64) -> Result<Workload, WorkloadError> {
        let choice = synthetic::GENERATORS.iter().find(|choice| choice.name == "uniform");
        let pattern = Selection::default_of(choice.expect("the uniform generator is registered"));
        let generator = model::Generator {
            pattern,
            request_size: page_size,
            read_fraction: 0.0,
            footprint: user_capacity,
            interval: base::Duration::ZERO,
            poisson: false,
            idle_every: 0,
            idle_for: base::Duration::ZERO,
        };
        Workload::aging(&generator, user_capacity, seed)
    }

    /// Writes without end, for ageing a device, where and how large `generator` makes its requests.
    ///
    /// # Errors
    /// When the generator does not fit the device.
    pub fn aging(generator: &model::Generator, user_capacity: u64, seed: u64) -> Result<Workload, WorkloadError> {
        let bounds = Bounds { capacity: user_capacity, offset: 0, out_of_range: OutOfRange::Wrap };
        Workload::aging_within(generator, bounds, seed, 1)
    }

    /// Writes without end, for ageing a device before a workload: those of its generator, in its partition. A
    /// trace is too short for that; before one they are [`Workload::aging_uniform`].
    ///
    /// # Errors
    /// When the generator does not fit the device, or the device is smaller than a page.
    pub fn aging_for(
        config: &model::Workload,
        user_capacity: u64,
        page_size: u64,
        seed: u64,
    ) -> Result<Workload, WorkloadError> {
        match &config.source {
            model::Source::Generator(generator) => {
                Workload::aging_within(generator, Bounds::of(config, user_capacity), seed, one_in(config))
            }
            model::Source::Trace { .. } | model::Source::Job { .. } | model::Source::Tenants(_) => {
                Workload::aging_uniform(user_capacity, page_size, seed)
            }
        }
    }

    /// Requests without end, for ageing a device with its own workload: a trace over and over, with its reads and discards, or
    /// the writes of a generator.
    ///
    /// # Errors
    /// When the trace cannot be opened, or the generator does not fit the device.
    pub fn aging_by(
        config: &model::Workload,
        host: &model::Host,
        user_capacity: u64,
        page_size: u64,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<Workload, WorkloadError> {
        if !matches!(config.source, model::Source::Trace { .. }) {
            return Workload::aging_for(config, user_capacity, page_size, seed);
        }
        let for_ever = model::End { rounds: Some(u64::MAX), ..model::End::default() };
        let share = config.share.clone().map(|share| model::PlaceShare { whole_end: for_ever.clone(), ..share });
        let config = model::Workload { end: for_ever, share, ..config.clone() };
        Workload::open(&config, host, user_capacity, seed, interrupt)
    }

    fn aging_within(
        generator: &model::Generator,
        bounds: Bounds,
        seed: u64,
        one_in: u64,
    ) -> Result<Workload, WorkloadError> {
        let generator = model::Generator {
            read_fraction: 0.0,
            interval: base::Duration::ZERO,
            poisson: false,
            idle_every: 0,
            ..generator.clone()
        };
        let source = generate(&generator, bounds, u64::MAX, seed, one_in)?;
        Ok(Workload { source, end: model::End::default(), hints: OwnHints::None, tally: Tally::default() })
    }

    /// Appends up to `max` requests, in order of time; appends none when the workload is over.
    ///
    /// # Errors
    /// When the trace cannot be read on, a request is refused by `out_of_range` or `backwards_time`, or the
    /// end can never be reached.
    pub fn fill(&mut self, out: &mut Vec<Request>, max: usize) -> Result<(), WorkloadError> {
        self.fill_at(out, max, None)
    }

    /// As [`Workload::fill`], at that time of the workload in nanoseconds.
    fn fill_at(&mut self, out: &mut Vec<Request>, max: usize, now: Option<u64>) -> Result<(), WorkloadError> {
        let begin = out.len();
        let wanted = self.wanted(max);
        match &mut self.source {
            RequestSource::Generator(batches) => batches.fill(out, wanted),
            RequestSource::Shifted(shifted) => shifted.fill(out, wanted, &mut self.tally),
            RequestSource::Job(job) => job.fill(out, wanted, now),
            RequestSource::Listed(requests) => out.extend(requests.take(wanted)),
            RequestSource::Trace(replay) => replay.fill(out, wanted, &self.end, &mut self.tally)?,
            RequestSource::Sampled(sampled) => sampled.fill(out, wanted)?,
            RequestSource::Tenants(_) => unreachable!("whose turn it is goes by the device: `fill_of` draws"),
        }
        self.cut(out, begin);
        self.hints.give(&mut out[begin..]);
        // A trace's times were looked at with their lines.
        if out[begin..].last().is_some_and(|last| last.at > Instant::LAST) {
            return Err(WorkloadError::TimeOverflow {
                place: "workload.generator".into(),
                expected: "shorter intervals and pauses, fewer requests",
            });
        }
        Ok(())
    }

    /// At most `max`, and no more than the end by requests leaves.
    fn wanted(&self, max: usize) -> usize {
        let over = self.end.volume.is_some_and(|volume| self.tally.bytes_written >= volume);
        let left = self.end.requests.map_or(u64::MAX, |requests| requests.saturating_sub(self.tally.requests));
        if over { 0 } else { usize::try_from(left).unwrap_or(usize::MAX).min(max) }
    }

    /// Counts what was appended, and cuts it behind the write that completes the volume.
    fn cut(&mut self, out: &mut Vec<Request>, begin: usize) {
        let volume = self.end.volume.unwrap_or(u64::MAX);
        let bytes = |request: &Request| if request.kind == RequestKind::Write { request.size } else { 0 };
        let mut written = self.tally.bytes_written;
        let mut keep = out.len();
        // Which request is a write is as good as random, so they are added up without asking for the end after each.
        let all: u64 = out[begin..].iter().map(bytes).sum();
        if written + all < volume {
            written += all;
        } else if let Some(last) = out[begin..].iter().position(|request| {
            written += bytes(request);
            request.kind == RequestKind::Write && written >= volume
        }) {
            keep = begin + last + 1;
            out.truncate(keep);
        }
        self.tally.bytes_written = written;
        self.tally.requests += (keep - begin) as u64;
    }

    /// The requests that were read, handed out, moved and dropped so far.
    pub fn tally(&self) -> Tally {
        let mut tally = self.tally;
        match &self.source {
            RequestSource::Trace(replay) => tally.add(&replay.trace.counts()),
            RequestSource::Sampled(sampled) => tally = sampled.tally(tally),
            RequestSource::Tenants(tenants) => tenants.iter().for_each(|tenant| tally.join(&tenant.requests.tally())),
            RequestSource::Generator(_)
            | RequestSource::Shifted(_)
            | RequestSource::Job(_)
            | RequestSource::Listed(_) => {}
        }
        tally
    }

    /// The format of its trace.
    pub fn format(&self) -> Option<&'static str> {
        match &self.source {
            RequestSource::Trace(replay) => Some(replay.trace.format()),
            RequestSource::Sampled(sampled) => sampled.whole.format(),
            RequestSource::Generator(_)
            | RequestSource::Shifted(_)
            | RequestSource::Job(_)
            | RequestSource::Listed(_)
            | RequestSource::Tenants(_) => None,
        }
    }

    /// How much is done, 0..1, by whichever end is nearest; `None` where nothing tells.
    pub fn progress(&self) -> Option<f64> {
        let by = |done: u64, all: Option<u64>| all.map(|all| if all == 0 { 1.0 } else { done as f64 / all as f64 });
        let rounds = match &self.source {
            RequestSource::Trace(replay) => self.end.rounds.and_then(|rounds| {
                let done = self.tally.rounds.saturating_sub(1) as f64 + replay.trace.position()?;
                Some(done / rounds.max(1) as f64)
            }),
            RequestSource::Sampled(sampled) => sampled.whole.progress(),
            // All of those with an end have to reach it.
            RequestSource::Tenants(tenants) => {
                let ends = tenants.iter().filter(|tenant| tenant.has_end);
                ends.filter_map(|tenant| tenant.requests.progress()).reduce(f64::min)
            }
            RequestSource::Job(job) => job.progress(),
            RequestSource::Generator(_) | RequestSource::Shifted(_) | RequestSource::Listed(_) => None,
        };
        [by(self.tally.bytes_written, self.end.volume), by(self.tally.requests, self.end.requests), rounds]
            .into_iter()
            .flatten()
            .reduce(f64::max)
            .map(|done| done.min(1.0))
    }
}

// Tenants.
impl Workload {
    /// Tenants that it is the requests of; 0: it is those of one host.
    pub fn tenants(&self) -> usize {
        if let RequestSource::Tenants(tenants) = &self.source { tenants.len() } else { 0 }
    }

    /// As [`Workload::fill`], of one of several tenants, which began `now` ago: a job with paces of reads and writes gives the one that is
    /// behind. Addresses are those of the device. Listed requests are dealt out as they are asked for.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If there is no such tenant.
    pub fn fill_of(
        &mut self,
        tenant: usize,
        out: &mut Vec<Request>,
        max: usize,
        now: Duration,
    ) -> Result<(), WorkloadError> {
        let tenants = match &mut self.source {
            RequestSource::Tenants(tenants) => tenants,
            RequestSource::Listed(_) => return self.fill(out, max),
            _ => panic!("there is one host"),
        };
        let TenantWorkload { requests, first, .. } = &mut tenants[tenant];
        let begin = out.len();
        requests.fill_at(out, max, Some(now.ns()))?;
        for request in out[begin..].iter_mut().filter(|request| request.kind != RequestKind::Flush) {
            request.offset += *first;
        }
        Ok(())
    }

    /// True if a tenant's requests end by themselves.
    ///
    /// # Panics
    /// If there is no such tenant.
    pub fn has_end(&self, tenant: usize) -> bool {
        match &self.source {
            RequestSource::Tenants(tenants) => tenants[tenant].has_end,
            RequestSource::Listed(_) => true,
            _ => panic!("there is one host"),
        }
    }

    /// The addresses to which a tenant may write, if it is known to write to no others and writes at all.
    ///
    /// # Panics
    /// If there is no such tenant.
    pub fn written_by(&self, tenant: usize) -> Option<Range<u64>> {
        match &self.source {
            RequestSource::Tenants(tenants) => tenants[tenant].written.clone(),
            RequestSource::Listed(_) => None,
            _ => panic!("there is one host"),
        }
    }
}

impl TenantWorkload {
    fn open(
        tenant: &model::Tenant,
        host: &model::Host,
        user_capacity: u64,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<TenantWorkload, WorkloadError> {
        let (first, capacity) = tenant.namespace.map_or((0, user_capacity), |space| (space.first, space.bytes));
        let requests = match tenant.is_idle {
            true => Workload::listed(Vec::new()),
            false => Workload::open(&tenant.workload, host, capacity, seed, interrupt)?,
        };
        let ends_by_itself = match &requests.source {
            RequestSource::Job(job) => !job.is_endless(),
            _ => matches!(tenant.workload.source, model::Source::Trace { .. }),
        };
        let has_end = ends_by_itself || tenant.workload.end != model::End::default() || tenant.duration.is_some();
        let offset = tenant.workload.address_offset;
        let written = match (&tenant.workload.source, &requests.source) {
            _ if tenant.is_idle => None,
            (model::Source::Generator(generator), _) if generator.read_fraction >= 1.0 => None,
            (model::Source::Generator(generator), _) if offset.saturating_add(generator.footprint) <= capacity => {
                Some(offset..offset + generator.footprint)
            }
            (_, RequestSource::Job(job)) => job.written(),
            // A trace goes anywhere.
            _ => Some(0..capacity),
        };
        let written = written.map(|written| first + written.start..first + written.end);
        Ok(TenantWorkload { requests, first, has_end, written })
    }
}

/// A time scaled, rounded to a nanosecond.
fn scale(duration: base::Duration, factor: f64) -> base::Duration {
    base::Duration(scaled(duration.0, factor))
}

fn scaled(ns: u64, factor: f64) -> u64 {
    if factor == 1.0 { ns } else { (ns as f64 * factor + 0.5) as u64 }
}

/// Where on the device requests land.
#[derive(Clone, Copy)]
struct Bounds {
    capacity: u64,
    /// Added to every address.
    offset: u64,
    out_of_range: OutOfRange,
}

/// A request that `out_of_range = "reject"` stops at, as it would have landed.
struct Outside(Request);

impl Bounds {
    fn of(config: &model::Workload, capacity: u64) -> Bounds {
        Bounds { capacity, offset: config.address_offset, out_of_range: config.out_of_range }
    }

    /// Moves a request by the offset, cuts it to the device, and hands on what is left of it. A flush has no
    /// address.
    #[inline]
    fn place(&self, mut request: Request, tally: &mut Tally, push: &mut impl FnMut(Request)) -> Result<(), Outside> {
        if request.kind != RequestKind::Flush {
            request.offset += self.offset;
        }
        if request.offset + request.size <= self.capacity {
            push(request);
            return Ok(());
        }
        match self.out_of_range {
            OutOfRange::Wrap => self.wrap(request, tally, push),
            OutOfRange::Clamp if request.offset < self.capacity => {
                tally.clamped += 1;
                push(Request { size: self.capacity - request.offset, ..request });
            }
            OutOfRange::Clamp => tally.dropped_past_end += 1,
            OutOfRange::Reject => return Err(Outside(request)),
        }
        Ok(())
    }

    /// Addresses modulo the capacity; what straddles the end goes on at 0. A request longer than the device
    /// covers it once.
    fn wrap(&self, request: Request, tally: &mut Tally, push: &mut impl FnMut(Request)) {
        tally.wrapped += 1;
        let offset = request.offset % self.capacity;
        let size = request.size.min(self.capacity);
        let first = size.min(self.capacity - offset);
        push(Request { offset, size: first, ..request });
        if first < size {
            tally.split += 1;
            push(Request { offset: 0, size: size - first, ..request });
        }
    }
}

/// A generator in a partition that does not begin at address 0.
struct Shifted {
    batches: Box<dyn Batches>,
    bounds: Bounds,
    /// Requests drawn, and how many of them were handed on.
    drawn: Vec<Request>,
    taken: usize,
    /// The other part of a request, where the first filled the caller's batch.
    carried: Option<Request>,
    /// Bytes written, and how many are wanted.
    written: u64,
    volume: u64,
}

impl Shifted {
    fn new(batches: Box<dyn Batches>, bounds: Bounds, volume: u64) -> Shifted {
        Shifted { batches, bounds, drawn: Vec::with_capacity(BATCH), taken: 0, carried: None, written: 0, volume }
    }

    /// Appends up to `wanted` requests, each placed only when it is wanted: counts do not depend on the caller's batches.
    fn fill(&mut self, out: &mut Vec<Request>, wanted: usize, tally: &mut Tally) {
        let full = out.len() + wanted;
        out.extend(if wanted > 0 { self.carried.take() } else { None });
        while out.len() < full && self.written < self.volume {
            if self.taken == self.drawn.len() {
                self.drawn.clear();
                self.batches.fill(&mut self.drawn, BATCH);
                self.taken = 0;
            }
            let request = self.drawn[self.taken];
            self.taken += 1;
            let (carried, written) = (&mut self.carried, &mut self.written);
            let placed = self.bounds.place(request, tally, &mut |part| {
                *written += if part.kind == RequestKind::Write { part.size } else { 0 };
                if out.len() < full { out.push(part) } else { *carried = Some(part) }
            });
            assert!(placed.is_ok(), "a generator under `reject` was checked against the device");
        }
    }
}

/// Places of the whole footprint for which one of the generator's stands.
fn one_in(config: &model::Workload) -> u64 {
    config.share.as_ref().map_or(1, |share| share.one_in.into())
}

/// The generator, checked against the device.
fn generate(
    generator: &model::Generator,
    bounds: Bounds,
    volume: u64,
    seed: u64,
    one_in: u64,
) -> Result<RequestSource, WorkloadError> {
    let capacity = bounds.capacity;
    let refuse = |what, found: u64, expected: String| {
        let name = generator.pattern.name.to_owned();
        Err(WorkloadError::Generator { name, what, found: format!("{found} bytes"), expected })
    };
    if generator.footprint > capacity {
        return refuse("footprint", generator.footprint, format!("at most the user capacity, {capacity} bytes"));
    }
    if bounds.offset >= capacity {
        return refuse("address_offset", bounds.offset, format!("less than the user capacity, {capacity} bytes"));
    }
    if bounds.out_of_range == OutOfRange::Reject && generator.footprint > capacity - bounds.offset {
        let room = capacity - bounds.offset;
        return refuse("footprint", generator.footprint, format!("at most {room} bytes behind the address offset"));
    }
    let slots = generator.footprint.checked_div(generator.request_size).unwrap_or(0);
    if slots == 0 {
        let expected = format!("1 byte to the footprint of {} bytes", generator.footprint);
        return refuse("request_size", generator.request_size, expected);
    }
    let parameters = SourceParameters {
        request_size: generator.request_size,
        read_fraction: generator.read_fraction,
        interval_ns: generator.interval.ns(),
        poisson: generator.poisson,
        idle_every: generator.idle_every,
        idle_for_ns: generator.idle_for.ns(),
        seed,
    };
    let batches = synthetic::source(&generator.pattern, slots, one_in, parameters);
    if bounds.offset == 0 {
        return Ok(RequestSource::Generator(batches));
    }
    Ok(RequestSource::Shifted(Box::new(Shifted::new(batches, bounds, volume))))
}

/// A trace, replayed in rounds and cut to the device.
struct TraceReplay {
    trace: Rounds,
    path: String,
    bounds: Bounds,
    ignores_discards: bool,
    time_scale: f64,
    /// Time at which this round began, unscaled.
    round_start_ns: u64,
    /// Time of the last request of this round, from its beginning.
    last_ns: u64,
    /// Requests read in this round.
    round_records: u64,
    /// Where the lowest of them begins on the device.
    lowest: u64,
    /// Requests handed on in this round, and whether one of them wrote.
    round_requests: u64,
    round_wrote: bool,
    /// Bytes written over all rounds, and how many are wanted.
    written: u64,
    volume: u64,
    batch: Vec<Record>,
    /// Requests that did not fit the caller's batch.
    carried: VecDeque<Request>,
    over: bool,
}

impl TraceReplay {
    fn open(
        path: &str,
        config: &model::Workload,
        end: &model::End,
        host: &model::Host,
        capacity: u64,
        interrupt: &Interrupt,
    ) -> Result<TraceReplay, WorkloadError> {
        let options = TraceOptions {
            format: match &config.trace_columns {
                Some(columns) => Some(format!("{COLUMNS}{columns}")),
                None => config.trace_format.map(str::to_owned),
            },
            skip_bad: config.skip_bad,
            reject_backwards: config.backwards_time == BackwardsTime::Reject,
            interrupt: interrupt.clone(),
            ..TraceOptions::default()
        };
        Ok(TraceReplay {
            trace: Rounds::new(Trace::open(path, &options)?, end.rounds != Some(1)),
            path: path.to_owned(),
            bounds: Bounds::of(config, capacity),
            ignores_discards: config.discards == Discards::Ignore,
            time_scale: host.time_scale,
            round_start_ns: 0,
            last_ns: 0,
            round_records: 0,
            lowest: u64::MAX,
            round_requests: 0,
            round_wrote: false,
            written: 0,
            volume: end.volume.unwrap_or(u64::MAX),
            batch: Vec::with_capacity(BATCH),
            carried: VecDeque::new(),
            over: false,
        })
    }

    fn fill(
        &mut self,
        out: &mut Vec<Request>,
        wanted: usize,
        end: &model::End,
        tally: &mut Tally,
    ) -> Result<(), WorkloadError> {
        if tally.rounds == 0 {
            tally.rounds = 1;
        }
        let full = out.len() + wanted;
        while out.len() < full {
            if let Some(request) = self.carried.pop_front() {
                out.push(request);
                continue;
            }
            if self.over || end.rounds == Some(0) {
                break;
            }
            self.batch.clear();
            self.trace.fill(&mut self.batch, (full - out.len()).min(BATCH))?;
            if self.batch.is_empty() {
                self.next_round(end, tally)?;
                continue;
            }
            let batch = std::mem::take(&mut self.batch);
            let result = batch.iter().try_for_each(|record| match self.over {
                true => Ok(()),
                false => self.accept(record, full, out, tally),
            });
            self.batch = batch;
            result?;
        }
        Ok(())
    }

    /// Goes to the beginning of the trace, or ends.
    fn next_round(&mut self, end: &model::End, tally: &mut Tally) -> Result<(), WorkloadError> {
        let path = || self.path.clone();
        if self.round_requests == 0 {
            return Err(WorkloadError::NothingLeft {
                path: path(),
                dropped: self.round_records,
                lowest: self.lowest,
                address_offset: self.bounds.offset,
                capacity: self.bounds.capacity,
            });
        }
        if end.rounds.is_some_and(|rounds| tally.rounds >= rounds) {
            self.over = true;
            return Ok(());
        }
        if let (Some(volume), None, None, false) = (end.volume, end.requests, end.rounds, self.round_wrote) {
            return Err(WorkloadError::NoWrites { path: path(), volume });
        }
        // The round is over after one more gap of mean length.
        let gap = self.last_ns / (self.round_records - 1).max(1);
        self.round_start_ns = self.round_start_ns.saturating_add(self.last_ns).saturating_add(gap);
        let counts = self.trace.counts();
        self.trace.rewind()?;
        tally.add(&counts);
        tally.rounds += 1;
        (self.last_ns, self.round_records, self.round_requests, self.round_wrote) = (0, 0, 0, false);
        Ok(())
    }

    /// Cuts a request to the device and hands it on.
    fn accept(
        &mut self,
        record: &Record,
        full: usize,
        out: &mut Vec<Request>,
        tally: &mut Tally,
    ) -> Result<(), WorkloadError> {
        self.round_records += 1;
        self.last_ns = record.time_ns;
        if self.ignores_discards && record.kind == RequestKind::Trim {
            tally.discards_ignored += 1;
            return Ok(());
        }
        let at = self.time(record)?;
        let request = Request {
            at,
            offset: record.offset,
            size: record.size,
            kind: record.kind,
            fua: record.fua,
            hint: record.hint,
        };
        let bounds = self.bounds;
        self.lowest = self.lowest.min(record.offset + bounds.offset);
        let placed = bounds.place(request, tally, &mut |request| self.push(request, full, out));
        placed.map_err(|Outside(request)| WorkloadError::OutOfRange {
            path: self.path.clone(),
            line: record.line,
            offset: request.offset,
            size: request.size,
            capacity: bounds.capacity,
        })
    }

    fn push(&mut self, request: Request, full: usize, out: &mut Vec<Request>) {
        self.round_requests += 1;
        if request.kind == RequestKind::Write {
            self.round_wrote = true;
            self.written += request.size;
            self.over |= self.written >= self.volume;
        }
        if out.len() < full {
            out.push(request);
        } else {
            self.carried.push_back(request);
        }
    }

    fn time(&self, record: &Record) -> Result<Instant, WorkloadError> {
        let at = Instant(scaled(self.round_start_ns.saturating_add(record.time_ns), self.time_scale));
        if at <= Instant::LAST {
            return Ok(at);
        }
        Err(WorkloadError::TimeOverflow {
            place: format!("{}:{}", self.path, record.line),
            expected: "times that lie closer together, fewer rounds",
        })
    }
}
