//! The source that the device pulls from: a trace in rounds or a generator, cut to the device, until an
//! end is reached.

use std::ops::Range;

use base::{Duration, Instant, Request, RequestKind, Selection};
use config::model::{self, HintSelect, OutOfRange};
use engine::Chance;
use files::Interrupt;

use crate::error::WorkloadError;
use crate::job::{Job, JobProblem};
use crate::placing::{Bounds, scale};
use crate::replay::TraceReplay;
use crate::sample::Sampled;
use crate::synthetic::{self, Batches, SourceParameters};
use crate::tally::Tally;
use crate::trace::{Rounds, Trace};

/// Requests of a generator drawn at a time, in a partition that does not begin at address 0.
const BATCH: usize = 1024;

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
