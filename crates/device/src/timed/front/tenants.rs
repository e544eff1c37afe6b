//! Hosts that share the device: the queue of each, from which the controller takes a command whenever it has room for one.

use std::collections::VecDeque;

use base::{Duration, Instant, Request};
use config::model::{self, Replay, Source};
use workload::Workload;

use super::arbiter::Arbiter;
use super::steady::Steadiness;
use crate::errors::RunError;
use crate::timed::queues::RequestId;

/// Requests drawn of one tenant at once.
const BATCH: usize = 64;

/// Commands that are taken at one instant, at most: by then those of a tenant take no time, and it would go on for ever.
const MOST_AT_ONCE: u32 = 1 << 20;

/// The requests that a tenant sends, and how many of them are not complete.
struct SubmissionQueue {
    drawn: VecDeque<Request>,
    /// True if no request comes any more.
    is_over: bool,
    /// It goes on for as long as those that have an end.
    has_end: bool,
    /// The tenants that it waits for; none once it has begun.
    after: Vec<usize>,
    /// It has begun, or its beginning is known.
    has_begun: bool,
    /// So long after that, it begins to send.
    delay: Duration,
    duration: Option<Duration>,
    ramp: Duration,
    /// When it begins to send.
    start: Instant,
    /// From then on it sends no more.
    until: Instant,
    /// When it is done, those send no more that have begun.
    ends_others: bool,
    /// The first of the tenants that are judged with it.
    group: usize,
    /// It ends once its figures are steady: of the first of a group.
    steadiness: Option<Steadiness>,
    burst: Option<Burst>,
    /// Requests that the device has.
    in_device: u32,
    places: Places,
}

/// Requests that are sent before the tenant thinks.
struct Burst {
    of: u64,
    sent: u64,
    /// None of it is sent before.
    next: Instant,
    think: Duration,
}

/// Requests that a tenant may have outstanding.
enum Places {
    /// An open loop: requests wait in the queue from their own times on, and the device has at most so many of them.
    Open { most: u32 },
    /// Since when each place of its own is free. A request goes there, not before its time if it is paced.
    Own {
        free_since: VecDeque<Instant>,
        is_paced: bool,
        think: Duration,
        /// Places that are free and wait until so many are.
        refill: u32,
        waiting: u32,
    },
}

/// A command that the controller takes.
#[derive(Clone, Copy)]
struct TakenCommand {
    tenant: usize,
    /// When its latency begins: its own time in an open loop, and else when it was sent.
    since: Instant,
}

/// The queues of all tenants.
pub(in crate::timed) struct Tenants {
    queues: Vec<SubmissionQueue>,
    arbiter: Arbiter,
    /// By place of a request in the device.
    of_place: Vec<u16>,
    drawn: Vec<Request>,
    /// The command that was taken last, until it is in the device.
    taken: Option<TakenCommand>,
    /// Commands that were taken at an instant.
    at_once: (Instant, u32),
    /// Tenants that waited for others and have begun, with the time from which on their requests count.
    begun: Vec<(usize, Instant)>,
    /// Tenants that have ended because their figures are steady, since the last call that took them.
    steady: Vec<usize>,
}

impl Tenants {
    /// `None`: the workload is that of one host.
    pub(in crate::timed) fn new(config: &config::Config, workload: &Workload) -> Option<Box<Tenants>> {
        let Source::Tenants(tenants) = &config.workload.source else { return None };
        let queue = |(number, tenant): (usize, &model::Tenant)| {
            let has_begun = tenant.after.is_empty();
            let start = if has_begun { Instant::ZERO + tenant.start } else { Instant::NEVER };
            SubmissionQueue {
                drawn: VecDeque::with_capacity(BATCH),
                is_over: tenant.is_idle,
                has_end: tenant.is_idle || workload.has_end(number),
                after: tenant.after.clone(),
                has_begun,
                delay: tenant.start,
                duration: tenant.duration,
                ramp: tenant.ramp,
                start,
                until: tenant.duration.filter(|_| has_begun).map_or(Instant::NEVER, |duration| start + duration),
                ends_others: tenant.ends_others,
                group: number - tenants[..=number].iter().rev().take_while(|tenant| tenant.is_joined).count(),
                steadiness: tenant.steady.map(|of| Steadiness::of(of, has_begun.then_some(start))),
                burst: tenant.think_after.map(|of| Burst { of, sent: 0, next: start, think: tenant.think }),
                in_device: 0,
                places: Places::of(tenant, start),
            }
        };
        Some(Box::new(Tenants {
            queues: tenants.iter().enumerate().map(queue).collect(),
            arbiter: Arbiter::new(&config.host.arbitration, tenants),
            of_place: Vec::new(),
            drawn: Vec::with_capacity(BATCH),
            taken: None,
            at_once: (Instant::ZERO, 0),
            begun: Vec::new(),
            steady: Vec::new(),
        }))
    }

    /// True if there are requests that the device has not taken.
    pub(in crate::timed) fn have_more(&self) -> bool {
        self.queues.iter().any(|queue| !queue.drawn.is_empty() || !queue.has_begun && !queue.is_over)
    }

    /// The command that the controller takes now, if any waits.
    pub(in crate::timed) fn take(
        &mut self,
        now: Instant,
        workload: &mut Workload,
    ) -> Result<Option<Request>, RunError> {
        for number in 0..self.queues.len() {
            if !self.queues[number].has_begun {
                self.begin_behind(number, now);
            }
            self.draw(number, now, workload)?;
            self.queues[number].end_in_time(now);
            if self.queues[number].ends_others {
                self.end_others(number);
            }
        }
        self.end_with_the_others();
        let Tenants { queues, arbiter, .. } = self;
        let Some(tenant) = arbiter.next(|tenant| queues[tenant].waits(now)) else { return Ok(None) };
        let (request, since) = queues[tenant].take();
        self.taken = Some(TakenCommand { tenant, since });
        self.at_once = if self.at_once.0 == now { (now, self.at_once.1 + 1) } else { (now, 1) };
        if self.at_once.1 > MOST_AT_ONCE && !queues[tenant].has_end {
            return Err(takes_no_time());
        }
        Ok(Some(request))
    }

    /// Begins with a tenant that waits for others, if these are done.
    #[cold]
    fn begin_behind(&mut self, number: usize, now: Instant) {
        if self.queues[number].is_over || !self.queues[number].after.iter().all(|&other| self.queues[other].is_done()) {
            return;
        }
        let queue = &mut self.queues[number];
        queue.has_begun = true;
        queue.start = now + queue.delay;
        queue.until = queue.duration.map_or(Instant::NEVER, |duration| queue.start + duration);
        if let Places::Own { free_since, .. } = &mut queue.places {
            free_since.iter_mut().for_each(|since| *since = queue.start);
        }
        if let Some(burst) = &mut queue.burst {
            burst.next = queue.start;
        }
        if let Some(steadiness) = &mut queue.steadiness {
            steadiness.begin(queue.start);
        }
        self.begun.push((number, queue.start + queue.ramp));
    }

    /// Once it is done, those send no more that have begun.
    fn end_others(&mut self, number: usize) {
        if !self.queues[number].is_done() {
            return;
        }
        self.queues[number].ends_others = false;
        for other in self.queues.iter_mut().filter(|other| other.has_begun) {
            other.is_over = true;
            other.drawn.clear();
        }
    }

    /// The figures of a group are steady: it sends no more.
    #[cold]
    fn end_group(&mut self, group: usize) {
        self.queues[group].steadiness = None;
        for (number, queue) in self.queues.iter_mut().enumerate().filter(|(_, queue)| queue.group == group) {
            queue.is_over = true;
            queue.drawn.clear();
            self.steady.push(number);
        }
    }

    /// Takes the tenants that have ended since the last call because their figures are steady.
    pub(in crate::timed) fn take_steady(&mut self) -> std::vec::Drain<'_, usize> {
        self.steady.drain(..)
    }

    /// Takes the tenants that have begun since the last call, with the time from which on their requests count.
    pub(in crate::timed) fn begun(&mut self) -> std::vec::Drain<'_, (usize, Instant)> {
        self.begun.drain(..)
    }

    fn draw(&mut self, number: usize, now: Instant, workload: &mut Workload) -> Result<(), RunError> {
        let queue = &mut self.queues[number];
        if queue.is_over || !queue.has_begun || !queue.drawn.is_empty() {
            return Ok(());
        }
        self.drawn.clear();
        workload.fill_of(number, &mut self.drawn, BATCH, Duration(now.0.saturating_sub(queue.start.0)))?;
        queue.is_over = self.drawn.is_empty();
        let begin = |at: Instant| if queue.places.keep_times() { queue.start + Duration(at.0) } else { queue.start };
        queue.drawn.extend(self.drawn.iter().map(|request| Request { at: begin(request.at), ..*request }));
        Ok(())
    }

    /// Tenants without an end stop when the last one with an end has all its requests complete.
    fn end_with_the_others(&mut self) {
        if self.queues.iter().any(|queue| queue.has_end && !queue.is_done()) {
            return;
        }
        for queue in self.queues.iter_mut().filter(|queue| !queue.has_end) {
            queue.is_over = true;
            queue.drawn.clear();
        }
    }

    /// When the next request comes that waits for nothing but its time.
    pub(in crate::timed) fn next_arrival(&self) -> Option<Instant> {
        self.queues.iter().filter_map(SubmissionQueue::comes).min()
    }

    /// True if each request that the device has not taken comes later than `now`.
    pub(in crate::timed) fn wait_for(&self, now: Instant) -> bool {
        self.queues.iter().all(|queue| queue.drawn.is_empty() || queue.comes().is_some_and(|at| at > now))
    }

    /// When the latency of the command begins that was taken last.
    pub(in crate::timed) fn since(&self) -> Instant {
        self.taken.expect("it was taken").since
    }

    /// The command that was taken last comes into the device, at that place. Returns whose it is.
    pub(in crate::timed) fn entered(&mut self, place: RequestId) -> usize {
        let TakenCommand { tenant, .. } = self.taken.take().expect("it was taken");
        let at = place.0 as usize;
        if self.of_place.len() <= at {
            self.of_place.resize(at + 1, 0);
        }
        self.of_place[at] = tenant as u16;
        self.queues[tenant].in_device += 1;
        tenant
    }

    /// A request of that many bytes is complete. Returns whose it was.
    pub(in crate::timed) fn completed(&mut self, now: Instant, place: RequestId, bytes: u64) -> usize {
        let tenant = usize::from(self.of_place[place.0 as usize]);
        let group = self.queues[tenant].group;
        let steadiness = self.queues[group].steadiness.as_mut();
        if steadiness.is_some_and(|steadiness| steadiness.completed(now, bytes)) {
            self.end_group(group);
        }
        let queue = &mut self.queues[tenant];
        queue.in_device -= 1;
        if let Places::Own { free_since, think, refill, waiting, .. } = &mut queue.places {
            let think = if queue.burst.is_some() { Duration::ZERO } else { *think };
            *waiting += 1;
            if *waiting >= *refill || queue.in_device == 0 {
                free_since.extend((0..*waiting).map(|_| now + think));
                *waiting = 0;
            }
        }
        if let (0, Some(burst)) = (queue.in_device, &mut queue.burst)
            && burst.sent >= burst.of
        {
            burst.next = now + burst.think;
        }
        tenant
    }
}

#[cold]
fn takes_no_time() -> RunError {
    RunError::Input(
        "a tenant without an end has requests that take no time (the write buffer has them, or nothing was ever written there), so that \
         the run would never end\nhint: set `host.command_time`, the controller's time for each command, or give it `requests`"
            .into(),
    )
}

impl SubmissionQueue {
    /// When it has a command for the device; `None`: when one is complete, or never.
    fn comes(&self) -> Option<Instant> {
        let mut at = self.drawn.front()?.at;
        if let Some(burst) = &self.burst {
            if burst.sent >= burst.of && self.in_device > 0 {
                return None;
            }
            at = at.max(burst.next);
        }
        match &self.places {
            Places::Open { most } => (self.in_device < *most).then_some(at),
            Places::Own { free_since, .. } => Some(at.max(*free_since.front()?)),
        }
    }

    /// True if all that it sends is complete.
    fn is_done(&self) -> bool {
        self.is_over && self.drawn.is_empty() && self.in_device == 0
    }

    /// True if it has a command for the device.
    fn waits(&self, now: Instant) -> bool {
        self.comes().is_some_and(|at| at <= now)
    }

    /// Sends no more from `until` on. An open loop has sent what came before.
    fn end_in_time(&mut self, now: Instant) {
        let Some(front) = self.drawn.front() else { return };
        let sends = if matches!(self.places, Places::Open { .. }) { front.at } else { now.max(front.at) };
        if sends >= self.until {
            self.is_over = true;
            self.drawn.clear();
        }
    }

    fn take(&mut self) -> (Request, Instant) {
        let since = self.comes().expect("it waits");
        if let Places::Own { free_since, .. } = &mut self.places {
            free_since.pop_front();
        }
        if let Some(burst) = &mut self.burst {
            burst.sent = if burst.sent >= burst.of { 1 } else { burst.sent + 1 };
        }
        (self.drawn.pop_front().expect("it waits"), since)
    }
}

impl Places {
    fn of(tenant: &model::Tenant, start: Instant) -> Places {
        match tenant.replay {
            Replay::Open => Places::Open { most: tenant.queue_depth.unwrap_or(u32::MAX) },
            replay => Places::Own {
                free_since: vec![start; tenant.queue_depth.unwrap_or(1) as usize].into(),
                is_paced: replay == Replay::Paced,
                think: tenant.think,
                refill: tenant.refill,
                waiting: 0,
            },
        }
    }

    /// True if requests have times.
    fn keep_times(&self) -> bool {
        !matches!(self, Places::Own { is_paced: false, .. })
    }
}
