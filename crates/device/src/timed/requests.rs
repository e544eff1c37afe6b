//! Requests in the device: what each still waits for, and when it is complete.

use base::{Domain, Instant, Lpn, Queue, Request, RequestKind};
use ftl::allocation::Stripe;

use super::context::Context;
use super::front::live::Live;
use super::front::tenants::Tenants;
use super::plan::Plan;
use super::queues::{RequestId, Transaction, Work};
use crate::errors::RunError;
use crate::pages::{PIECE, Span};

/// The most that a device without a limit holds, in requests and in pages of them: state is sized by the device and not by the trace.
/// A million requests a second that stop for a quarter of a second are as many. The rest waits with the workload.
pub(super) const MOST: usize = 1 << 18;

/// As many requests as any device without a limit may have. Behind it memory is asked for.
pub(crate) const FREELY: u32 = 1024;

/// A request in the device.
#[derive(Clone, Copy)]
pub(super) struct Active {
    pub(super) kind: RequestKind,
    pub(super) fua: bool,
    /// Of a write: where the host wants it placed.
    pub(super) hint: u16,
    /// When its latency begins.
    arrived: Instant,
    /// Its first byte.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) span: Span,
    /// Number of admission; for a flush of the write buffer the number of the flush.
    order: u64,
    /// Pages that it still waits for, or for a flush older writes. 0: the place is free.
    remaining: u32,
}

impl Active {
    /// A free place.
    const NONE: Active = Active {
        kind: RequestKind::Flush,
        fua: false,
        hint: 0,
        arrived: Instant::ZERO,
        offset: 0,
        bytes: 0,
        span: Span::NONE,
        order: 0,
        remaining: 0,
    };
}

/// All requests in the device.
pub(super) struct Requests {
    active: Vec<Active>,
    free: Vec<RequestId>,
    /// Places that there can be without looking for memory again.
    granted: usize,
    /// In an open loop, by place: how long the request waited outside, in nanoseconds.
    outside: Option<Vec<u64>>,
    /// The number of admissions when writes were looked at last, and the place up to which none overlapped.
    looked_at: (u64, usize),
    /// Flushes that wait for older writes.
    pub(super) flushes: Vec<RequestId>,
    /// True if there is no limit.
    is_unlimited: bool,
    /// True if writes are complete when a write buffer has them.
    is_buffered: bool,
    /// Without a write buffer: writes that are not complete.
    writes_in_flight: u32,
    admissions: u64,
    /// Trims in the queues of planes: what is mapped now may not be when a write's turn comes.
    trims_waiting: u32,
    completions: u64,
    last_completion: Instant,
    /// The hosts that they are of, if there are several.
    tenants: Option<Box<Tenants>>,
    /// The host outside that they are of, if they come as time passes there.
    pub(super) live: Option<Box<Live>>,
}

impl Requests {
    /// Bytes for each request.
    pub(super) const BYTES_OF_REQUEST: usize = size_of::<Active>() + size_of::<RequestId>() + size_of::<u64>();

    /// Places for so many requests, or for as many as come.
    pub(super) fn new(
        queue_depth: Option<u32>,
        is_open: bool,
        is_buffered: bool,
        (tenants, live): (Option<Box<Tenants>>, Option<Box<Live>>),
    ) -> Requests {
        let places = queue_depth.unwrap_or(0);
        Requests {
            active: vec![Active::NONE; places as usize],
            free: (0..places).rev().map(RequestId).collect(),
            granted: queue_depth.unwrap_or(FREELY) as usize,
            outside: is_open.then(|| vec![0; places as usize]),
            looked_at: (0, 0),
            flushes: Vec::new(),
            is_unlimited: queue_depth.is_none(),
            is_buffered,
            writes_in_flight: 0,
            admissions: 0,
            trims_waiting: 0,
            completions: 0,
            last_completion: Instant::ZERO,
            tenants,
            live,
        }
    }

    /// True if there is a place for another one.
    #[inline]
    pub(super) fn have_room(&self) -> bool {
        !self.free.is_empty() || self.is_unlimited && self.active.len() < MOST
    }

    /// True if there is no limit.
    #[inline]
    pub(super) fn are_unlimited(&self) -> bool {
        self.is_unlimited
    }

    /// The number of requests in the device.
    pub(super) fn count(&self) -> usize {
        self.active.len() - self.free.len()
    }

    /// Makes sure of memory for one more, of so many bytes.
    ///
    /// # Errors
    /// When there is not as much.
    #[inline]
    pub(super) fn make_room(&mut self, bytes_of_request: u64) -> Result<(), RunError> {
        if !self.free.is_empty() || self.active.len() < self.granted { Ok(()) } else { self.grant(bytes_of_request) }
    }

    #[cold]
    fn grant(&mut self, bytes_of_request: u64) -> Result<(), RunError> {
        let wanted = self.active.len() + 1;
        // A vector grows to twice its length, and is there twice meanwhile.
        let needed = 3 * wanted as u64 * bytes_of_request;
        let what = format_args!("{wanted} requests are in the device, which");
        let help = "the device does not keep up with its open loop: set a number as `host.queue_depth`, or a larger `host.time_scale`";
        RunError::unless_room(needed, what, help)?;
        self.granted = 2 * wanted;
        Ok(())
    }

    /// True if there are none.
    pub(super) fn are_none(&self) -> bool {
        self.count() == 0
    }

    /// Says in words which requests wait.
    pub(super) fn in_words(&self) -> String {
        let in_device = self.active.iter().filter(|request| request.remaining > 0);
        let mut text = format!("requests in the device: {}", in_device.clone().count());
        if let Some(oldest) = in_device.min_by_key(|request| request.arrived) {
            let Active { kind, span, arrived, bytes, .. } = oldest;
            let (kind, seconds) = (format!("{kind:?}").to_lowercase(), arrived.seconds());
            text.push_str(&format!(
                "; the oldest, a {kind} of {bytes} bytes from page {} on, came in at {seconds} s",
                span.first
            ));
        }
        text
    }

    /// Requests completed.
    #[inline]
    pub(super) fn completions(&self) -> u64 {
        self.completions
    }

    /// When the last one completed.
    pub(super) fn last_completion(&self) -> Instant {
        self.last_completion
    }

    /// True if writes are not complete, where there is no write buffer.
    #[inline]
    pub(super) fn has_writes(&self) -> bool {
        self.writes_in_flight > 0
    }

    /// True if trims wait for their turn.
    #[inline]
    pub(super) fn has_trims(&self) -> bool {
        self.trims_waiting > 0
    }

    #[inline]
    pub(super) fn get(&self, request: RequestId) -> &Active {
        &self.active[request.0 as usize]
    }

    /// True if a write that shares a page with the span, that of the next request, is in the device. As long as nothing
    /// else comes in, it is not looked twice at what did not overlap.
    pub(super) fn writes_overlap(&mut self, span: Span) -> bool {
        if self.looked_at.0 != self.admissions {
            self.looked_at = (self.admissions, 0);
        }
        let overlaps = |request: &Active| {
            request.remaining > 0 && request.kind == RequestKind::Write && request.span.overlaps(span)
        };
        let from = self.looked_at.1;
        let found = if self.writes_in_flight > 0 { self.active[from..].iter().position(overlaps) } else { None };
        self.looked_at.1 += found.unwrap_or(0);
        found.is_some()
    }

    /// Takes a request in. It waits for one thing more than its pages until all are queued, so that it cannot complete
    /// half-way.
    ///
    /// # Panics
    /// If there is no room.
    #[inline]
    pub(super) fn admit(&mut self, request: &Request, span: Span, arrived: Instant) -> RequestId {
        self.admissions += 1;
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.grow(),
        };
        let Request { kind, fua, hint, offset, size: bytes, .. } = *request;
        self.active[place.0 as usize] =
            Active { kind, fua, hint, arrived, offset, bytes, span, order: self.admissions, remaining: 1 };
        place
    }

    /// A place that was not there before.
    #[cold]
    fn grow(&mut self) -> RequestId {
        assert!(self.have_room(), "room was checked");
        self.active.push(Active::NONE);
        if let Some(outside) = &mut self.outside {
            outside.push(0);
        }
        RequestId(self.active.len() as u32 - 1)
    }

    /// In an open loop: so long a request waited outside, in nanoseconds.
    pub(super) fn note_outside(&mut self, request: RequestId, ns: u64) {
        if let Some(outside) = &mut self.outside {
            outside[request.0 as usize] = ns;
        }
    }

    /// A request waits for so much more.
    #[inline]
    pub(super) fn wait_for(&mut self, request: RequestId, parts: u32) {
        self.active[request.0 as usize].remaining += parts;
    }

    /// Without a write buffer: a write is in flight, until all its pages are programmed.
    #[inline]
    pub(super) fn begin_write(&mut self, request: RequestId, pages: u32) {
        self.writes_in_flight += 1;
        self.wait_for(request, pages);
    }

    /// Without a write buffer: a flush waits for all writes in flight.
    pub(super) fn begin_flush(&mut self, request: RequestId) {
        self.wait_for(request, self.writes_in_flight);
        self.flushes.push(request);
    }

    /// A flush of the write buffer, of that number, waits for so many pages.
    pub(super) fn begin_flush_of_buffer(&mut self, request: RequestId, number: u32, pages: u32) {
        self.active[request.0 as usize].order = u64::from(number);
        self.wait_for(request, pages);
        self.flushes.push(request);
    }

    /// Without a write buffer: the host waits until the pages of a write are programmed, because it has FUA or a FLUSH came behind it.
    pub(super) fn is_awaited(&self, write: RequestId) -> bool {
        let Active { fua, order, .. } = *self.get(write);
        fua || self.have_flush_behind(order)
    }

    /// A flush waits for writes of that order number; with a write buffer, for pages that entered behind so many flushes.
    pub(super) fn have_flush_behind(&self, order: u64) -> bool {
        self.flushes.iter().any(|&flush| self.get(flush).order > order)
    }

    /// The hosts that share the device, if they are several.
    #[inline(always)]
    pub(super) fn tenants(&self, plan: &impl Plan) -> Option<&Tenants> {
        if plan.has().front { self.tenants.as_deref() } else { None }
    }

    /// The hosts that share the device, if they are several, to be changed by a note.
    #[inline(always)]
    pub(super) fn tenants_mut(&mut self, plan: &impl Plan) -> Option<&mut Tenants> {
        self.tenants(plan)?;
        self.tenants.as_deref_mut()
    }

    /// One of the things that a request waits for is done.
    pub(super) fn part_done(&mut self, context: &mut Context<'_, impl Plan>, id: RequestId) {
        let request = &mut self.active[id.0 as usize];
        request.remaining -= 1;
        if request.remaining > 0 {
            return;
        }
        let Active { kind, arrived, bytes, order, .. } = *request;
        if self.is_buffered {
            context.device.check_durable(id.0);
        }
        self.free.push(id);
        self.completions += 1;
        self.last_completion = context.now;
        context.complete(id, kind, arrived, bytes);
        if let Some(live) = &mut self.live {
            live.completed(context.now, id);
        }
        if let Some(tenants) = self.tenants_mut(&context.plan) {
            let tenant = tenants.completed(context.now, id, bytes);
            tenants.take_steady().for_each(|ended| context.device.recorder.tenant_is_steady(ended, context.now));
            context.device.recorder.completed_of(tenant, kind, arrived, context.now, bytes);
        }
        if let Some(outside) = &self.outside {
            context.device.recorder.waited_outside(kind, (context.now - arrived).ns(), outside[id.0 as usize]);
        }
        match kind {
            RequestKind::Write if !self.is_buffered => self.write_done(context, order),
            RequestKind::Flush => self.flushes.retain(|&flush| flush != id),
            RequestKind::Write | RequestKind::Read | RequestKind::Trim => {}
        }
    }

    /// Flushes that were admitted after a write of that order number wait for one write fewer.
    fn write_done(&mut self, context: &mut Context<'_, impl Plan>, order: u64) {
        self.writes_in_flight -= 1;
        let is_later = |flush: &RequestId| self.get(*flush).order > order;
        let waiting: Vec<RequestId> = self.flushes.iter().copied().filter(is_later).collect();
        for flush in waiting {
            self.part_done(context, flush);
        }
    }

    /// Flushes of the write buffer that began while a page was in it wait for one page fewer. `flushes` is the number of
    /// the last flush before the page.
    pub(super) fn buffered_page_done(&mut self, context: &mut Context<'_, impl Plan>, flushes: u32) {
        let mut at = 0;
        while let Some(&flush) = self.flushes.get(at) {
            if self.get(flush).order > u64::from(flushes) {
                self.part_done(context, flush);
            }
            // One that is complete is no longer in the list.
            at += usize::from(self.flushes.get(at) == Some(&flush));
        }
    }
}

// Trims.
impl Requests {
    /// A trim takes its turn among the writes of each plane, as it does where no time passes; so the planes
    /// see the same sequence under both executors.
    pub(super) fn enter_trim(&mut self, context: &mut Context<'_, impl Plan>, request: RequestId, span: Span) {
        let is_dynamic = context.device.allocation.dynamic().is_some();
        for piece in span.pieces() {
            if is_dynamic {
                piece.pages().for_each(|(lpn, _)| context.device.trim(lpn));
            } else {
                piece.pages().for_each(|(lpn, _)| context.device.admit_trim(lpn));
            }
            if span.len() > PIECE && context.interrupt.check().is_err() {
                return;
            }
        }
        if is_dynamic {
            return;
        }
        let parts = context.device.flash.geometry().parts;
        let (queues, allocation) = (&mut context.queues, &context.device.allocation);
        let queue_of = |page| allocation.queue_of(Lpn(page));
        let mut begin = span.first;
        while begin < span.end {
            let Stripe { pages: stripe, end, .. } = allocation.stripe_of(Lpn(begin), parts);
            let end = end.0.min(span.end);
            for first in begin..end.min(begin.saturating_add(stripe)) {
                let queue = queue_of(first);
                let is_behind = |other| other < first && queue_of(other) == queue;
                // The parts of a flash page are of one queue, those of the first one perhaps at both ends of the stripe.
                if parts > 1 && first > begin && (is_behind(first - 1) || is_behind(begin)) {
                    continue;
                }
                let age = queues.next_age();
                let work = Work::Trim { request, end: Lpn(end) };
                let trim = queues.insert(Transaction::new(age, Lpn(first), 0, work, context.device.parts.whole()));
                self.wait_for(request, 1);
                self.trims_waiting += 1;
                queues.push_write(queue, trim);
                queues.wake_queue(queue);
            }
            begin = end;
        }
    }

    /// Carries out the trim that is first in a domain's queue. Returns whether there is one.
    pub(super) fn run_trim(&mut self, context: &mut Context<'_, impl Plan>, domain: Domain) -> bool {
        let Some(first) = context.queues.writes(Queue::of_domain(domain)).first() else { return false };
        let Transaction { work: Work::Trim { request, end }, lpn, .. } = *context.queues.get(first) else {
            return false;
        };
        context.queues.remove_write(Queue::of_domain(domain), None, first);
        context.queues.release(first);
        let parts = context.device.flash.geometry().parts;
        let Stripe { pages: stripe, before, .. } = context.device.allocation.stripe_of(lpn, parts);
        let first = i64::from(lpn.0) - i64::from(before % parts);
        for start in (first..end.0.into()).step_by(stripe as usize) {
            for page in start.max(lpn.0.into())..(start + i64::from(parts)).min(end.0.into()) {
                context.device.ftl.trim(Lpn(page as u32));
            }
        }
        self.trims_waiting -= 1;
        self.part_done(context, request);
        true
    }
}
