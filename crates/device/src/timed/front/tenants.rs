//! Hosts that share the device: the queue of each, from which the controller takes a command whenever it has room for one.

use std::collections::VecDeque;

use base::{Duration, Instant, Request};
use config::model::{self, Replay, Source};
use workload::Workload;

use super::arbiter::Arbiter;
use crate::errors::RunError;
use crate::timed::queues::RequestId;

/// Requests drawn of one tenant at once.
const BATCH: usize = 64;

/// Commands that are taken at one instant, at most: by then those of a tenant take no time, and it would go on for ever.
const MOST_AT_ONCE: u32 = 1 << 20;

/// The requests that a tenant sends, and how many of them are not complete.
struct SubmissionQueue {
    drawn: VecDeque<Request>,
    /// Nothing comes any more.
    is_over: bool,
    /// It goes on for as long as those that have an end.
    has_end: bool,
    /// When it begins to send.
    start: Instant,
    /// From then on it sends no more.
    until: Instant,
    /// Requests that the device has.
    in_device: u32,
    places: Places,
}

/// Requests that a tenant may have outstanding.
enum Places {
    /// An open loop: requests wait in the queue from their own times on, and the device has at most so many of them.
    Open { most: u32 },
    /// Since when each place of its own is free. A request goes there, not before its time if it is paced.
    Own { free_since: VecDeque<Instant>, is_paced: bool, think: Duration },
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
}

impl Tenants {
    /// `None`: the workload is that of one host.
    pub(in crate::timed) fn new(config: &config::Config, workload: &Workload) -> Option<Box<Tenants>> {
        let Source::Tenants(tenants) = &config.workload.source else { return None };
        let queue = |(number, tenant): (usize, &model::Tenant)| {
            let start = Instant::ZERO + tenant.start;
            SubmissionQueue {
                drawn: VecDeque::with_capacity(BATCH),
                is_over: tenant.is_idle,
                has_end: tenant.is_idle || workload.has_end(number),
                start,
                until: tenant.duration.map_or(Instant::NEVER, |duration| start + duration),
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
        }))
    }

    /// True if there are requests that the device has not taken.
    pub(in crate::timed) fn have_more(&self) -> bool {
        self.queues.iter().any(|queue| !queue.drawn.is_empty())
    }

    /// The command that the controller takes now, if any waits.
    pub(in crate::timed) fn take(
        &mut self,
        now: Instant,
        workload: &mut Workload,
    ) -> Result<Option<Request>, RunError> {
        for number in 0..self.queues.len() {
            self.draw(number, workload)?;
            self.queues[number].end_in_time(now);
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

    fn draw(&mut self, number: usize, workload: &mut Workload) -> Result<(), RunError> {
        let queue = &mut self.queues[number];
        if queue.is_over || !queue.drawn.is_empty() {
            return Ok(());
        }
        self.drawn.clear();
        workload.fill_of(number, &mut self.drawn, BATCH)?;
        queue.is_over = self.drawn.is_empty();
        let begin = |at: Instant| if queue.places.keep_times() { queue.start + Duration(at.0) } else { queue.start };
        queue.drawn.extend(self.drawn.iter().map(|request| Request { at: begin(request.at), ..*request }));
        Ok(())
    }

    /// Tenants without an end stop when the last one with an end has all its requests complete.
    fn end_with_the_others(&mut self) {
        let goes_on = |queue: &SubmissionQueue| !queue.is_over || !queue.drawn.is_empty() || queue.in_device > 0;
        if self.queues.iter().any(|queue| queue.has_end && goes_on(queue)) {
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

    /// A request is complete. Returns whose it was.
    pub(in crate::timed) fn completed(&mut self, now: Instant, place: RequestId) -> usize {
        let tenant = usize::from(self.of_place[place.0 as usize]);
        let queue = &mut self.queues[tenant];
        queue.in_device -= 1;
        if let Places::Own { free_since, think, .. } = &mut queue.places {
            free_since.push_back(now + *think);
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
        let at = self.drawn.front()?.at;
        match &self.places {
            Places::Open { most } => (self.in_device < *most).then_some(at),
            Places::Own { free_since, .. } => Some(at.max(*free_since.front()?)),
        }
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
            },
        }
    }

    /// True if requests have times.
    fn keep_times(&self) -> bool {
        !matches!(self, Places::Own { is_paced: false, .. })
    }
}
