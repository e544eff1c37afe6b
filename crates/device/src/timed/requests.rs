//! Requests in the device: what each still waits for, and when it is complete.

use base::{Domain, Instant, Lpn, Queue, Request, RequestKind};

use super::context::Context;
use super::plan::Plan;
use super::queues::{RequestId, Transaction, Work};
use crate::pages::Span;

/// A request in the device.
#[derive(Clone, Copy)]
pub(super) struct Active {
    pub(super) kind: RequestKind,
    /// When its latency begins.
    arrived: Instant,
    pub(super) bytes: u64,
    pub(super) span: Span,
    /// Number of admission; for a flush of the write buffer the number of the flush.
    order: u64,
    /// What it still waits for: pages, or for a flush older writes. 0: the place is free.
    remaining: u32,
}

/// All requests in the device.
pub(super) struct Requests {
    active: Vec<Active>,
    free: Vec<RequestId>,
    /// Flushes that wait for older writes.
    flushes: Vec<RequestId>,
    /// Whether writes are complete when a write buffer has them.
    is_buffered: bool,
    /// Without a write buffer: writes that are not complete.
    writes_in_flight: u32,
    admissions: u64,
    /// Trims in the queues of planes: what is mapped now may not be when a write's turn comes.
    trims_waiting: u32,
    completions: u64,
    last_completion: Instant,
}

impl Requests {
    /// Bytes for each request.
    pub(super) const BYTES_OF_REQUEST: usize = size_of::<Active>() + size_of::<RequestId>();

    /// Places for so many requests.
    pub(super) fn new(queue_depth: u32, is_buffered: bool) -> Requests {
        let none = Active {
            kind: RequestKind::Flush,
            arrived: Instant::ZERO,
            bytes: 0,
            span: Span::of_pages(0..0),
            order: 0,
            remaining: 0,
        };
        Requests {
            active: vec![none; queue_depth as usize],
            free: (0..queue_depth).rev().map(RequestId).collect(),
            flushes: Vec::new(),
            is_buffered,
            writes_in_flight: 0,
            admissions: 0,
            trims_waiting: 0,
            completions: 0,
            last_completion: Instant::ZERO,
        }
    }

    /// Whether there is a place for another one.
    #[inline]
    pub(super) fn have_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Whether there are none.
    pub(super) fn are_none(&self) -> bool {
        self.free.len() == self.active.len()
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

    /// Whether writes are not complete, where there is no write buffer.
    #[inline]
    pub(super) fn has_writes(&self) -> bool {
        self.writes_in_flight > 0
    }

    /// Whether trims wait for their turn.
    #[inline]
    pub(super) fn has_trims(&self) -> bool {
        self.trims_waiting > 0
    }

    #[inline]
    pub(super) fn get(&self, request: RequestId) -> &Active {
        &self.active[request.0 as usize]
    }

    /// Whether a write that shares a page with the span is in the device.
    pub(super) fn writes_overlap(&self, span: Span) -> bool {
        self.writes_in_flight > 0
            && self.active.iter().any(|request| {
                request.remaining > 0 && request.kind == RequestKind::Write && request.span.overlaps(span)
            })
    }

    /// Takes a request in. It waits for one thing more than its pages until all are queued, so that it cannot complete
    /// half-way.
    ///
    /// # Panics
    /// If there is no room.
    pub(super) fn admit(&mut self, request: &Request, span: Span, arrived: Instant) -> RequestId {
        let place = self.free.pop().expect("room was checked");
        self.admissions += 1;
        self.active[place.0 as usize] =
            Active { kind: request.kind, arrived, bytes: request.size, span, order: self.admissions, remaining: 1 };
        place
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
        if context.device.ftl.allocation().dynamic().is_some() {
            span.pages().for_each(|(lpn, _)| context.device.trim(lpn));
            return;
        }
        span.pages().for_each(|(lpn, _)| context.device.admit_trim(lpn));
        let queues = &mut context.queues;
        for first in span.first..span.end.min(span.first.saturating_add(queues.count())) {
            let queue = context.device.ftl.allocation().queue_of(Lpn(first));
            let age = queues.next_age();
            let work = Work::Trim { request, end: Lpn(span.end) };
            let trim = queues.insert(Transaction::new(age, Lpn(first), 0, work, context.device.parts.whole()));
            self.wait_for(request, 1);
            self.trims_waiting += 1;
            queues.push_write(queue, trim);
            queues.wake_queue(queue);
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
        // Pages of one queue are a stripe apart.
        for page in (lpn.0..end.0).step_by(context.queues.count() as usize) {
            context.device.ftl.trim(Lpn(page));
        }
        self.trims_waiting -= 1;
        self.part_done(context, request);
        true
    }
}
