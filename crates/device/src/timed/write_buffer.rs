//! The write buffer in time: what waits for room, when pages are flushed, and who hears of it.
//!
//! No flush is decided ahead: a page stays in the buffer, where it can be overwritten, until a die that is free and
//! does not collect asks for it. So the buffer writes to as many channels as have pages and are not collecting, and to
//! no other.

use std::collections::VecDeque;

use base::{Lpn, Queue, RequestKind};
use ftl::HostWrite;

use super::context::Context;
use super::plan::{Chip, Plan};
use super::queues::{RequestId, Transaction, TransactionId, Work};
use super::requests::{Active, Requests};
use crate::buffer::{self, Buffer, BufferedPage, PageState};
use crate::pages::{PIECE, Span};

/// A write buffer, and the requests that wait for it.
pub(super) struct WriteBuffer {
    buffer: Buffer,
    /// Pages that are in the buffer of a long write, the first of those that wait.
    entered: u32,
    /// Writes that wait for room, with the trims and flushes behind them, and the reads if they do not pass.
    waiting: VecDeque<RequestId>,
    /// How much room the first of them needs, at least.
    need: u32,
    /// It just became full: its flush begins before anything else is accepted.
    waits_for_room: bool,
    /// True if a page began to be programmed, or left room, since those who wait were looked at.
    has_changed: bool,
    /// Writes with FUA, with the buffered pages that they wait for: page, request.
    urgent: Vec<(u32, RequestId)>,
    /// The host is done.
    is_over: bool,
}

impl WriteBuffer {
    /// Bytes for each request.
    pub(super) const BYTES_OF_REQUEST: usize = size_of::<RequestId>();

    pub(super) fn new(buffer: Buffer, queue_depth: u32) -> WriteBuffer {
        WriteBuffer {
            buffer,
            entered: 0,
            waiting: VecDeque::with_capacity(queue_depth as usize),
            need: 0,
            waits_for_room: false,
            has_changed: false,
            urgent: Vec::new(),
            is_over: false,
        }
    }

    /// True if those who wait, for room or for a page to be on its way, have to be looked at.
    #[inline]
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Pages that are not programmed.
    pub(super) fn unprogrammed(&self) -> u32 {
        self.buffer.unprogrammed()
    }

    /// Pages that there is still room for.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.buffer.room()
    }

    /// The part of it that is full.
    pub(super) fn fill(&self) -> f64 {
        1.0 - f64::from(self.buffer.room()) / f64::from(self.buffer.capacity())
    }

    /// True if the flush of a full buffer is to begin before anything else is accepted.
    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        self.waits_for_room
    }

    /// Ends that pause, and returns whether there was one: requests are accepted again.
    pub(super) fn take_wait(&mut self) -> bool {
        std::mem::take(&mut self.waits_for_room)
    }

    /// True if requests wait for their turn.
    #[inline]
    pub(super) fn has_waiting_requests(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if room is given to other pages as soon as data are in the chip.
    #[inline]
    pub(super) fn releases_early(&self) -> bool {
        self.buffer.releases_early()
    }

    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        self.buffer.prefetch(lpn);
    }

    /// True if a buffered page would leave through a queue now.
    #[inline]
    pub(super) fn would_leave(&self, queue: Queue) -> bool {
        self.buffer.next_of(queue).is_some()
    }

    /// True if pages wait in the buffer for a queue: not those that wait for others of a row, where only rows leave.
    pub(super) fn has_waiting(&self, queue: Queue) -> bool {
        if self.buffer.drains { self.would_leave(queue) } else { self.buffer.has_waiting(queue) }
    }

    /// The row is filled up that pages of a queue had left for.
    pub(super) fn close_row(&mut self, queue: Queue) {
        self.buffer.close_row(queue);
    }

    /// True if room is needed and all pages have left the buffer, so that it comes of programs alone.
    #[inline]
    pub(super) fn is_out_of_pages(&self) -> bool {
        self.buffer.flushing && self.buffer.oldest().is_none()
    }

    /// Takes note of a request that comes. Returns whether it has to take its turn.
    pub(super) fn note(&mut self, id: RequestId, kind: RequestKind) -> bool {
        let passes = kind == RequestKind::Read && !(self.buffer.reads_wait && self.has_waiting_requests());
        if !passes {
            self.wait_behind(id);
        }
        !passes
    }

    /// A request takes its turn behind those that wait.
    pub(super) fn wait_behind(&mut self, id: RequestId) {
        self.waiting.push_back(id);
    }
}

// Entering.
impl WriteBuffer {
    /// Lets writes, trims and flushes that waited for their turn into the buffer, in order, as far as there is
    /// room. A read that waited behind them has its turn when it is returned; those behind it are then still to be looked at.
    #[inline(always)]
    pub(super) fn pump(&mut self, context: &mut Context<'_, impl Plan>, requests: &mut Requests) -> Option<RequestId> {
        self.has_changed = false;
        // The first of them has found before that it needs more room.
        let waits_on = self.waiting.is_empty() || self.buffer.room() < self.need;
        if waits_on { None } else { self.pump_waiting(context, requests) }
    }

    #[inline(never)]
    fn pump_waiting(&mut self, context: &mut Context<'_, impl Plan>, requests: &mut Requests) -> Option<RequestId> {
        while !self.waits_for_room
            && let Some(&request) = self.waiting.front()
        {
            if requests.get(request).kind == RequestKind::Read {
                return self.waiting.pop_front();
            }
            if !self.go_on_with(context, requests, request) {
                break;
            }
            self.waiting.pop_front();
            requests.part_done(context, request);
        }
        None
    }

    fn go_on_with(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        requests: &mut Requests,
        request: RequestId,
    ) -> bool {
        let Active { kind, span, .. } = *requests.get(request);
        match kind {
            RequestKind::Write => self.accept_write(context, requests, request),
            RequestKind::Trim => self.trim(context, requests, request, span.whole()),
            RequestKind::Flush => {
                self.flush(context, requests, request);
                true
            }
            RequestKind::Read => unreachable!("a read does not enter the buffer"),
        }
    }

    /// Accepts a write, if there is room for all its pages. Returns whether it is accepted.
    fn accept_write(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        requests: &mut Requests,
        request: RequestId,
    ) -> bool {
        let Active { span, .. } = *requests.get(request);
        let in_pieces = span.len() > self.buffer.capacity();
        if !in_pieces && self.buffer.room() < span.len() {
            // What was found missing before is still missing: meanwhile pages have only left.
            if self.buffer.room() < self.need {
                return false;
            }
            self.need = self.buffer.need(span);
            if self.buffer.room() < self.need {
                return false;
            }
        }
        if in_pieces || span.len() > PIECE {
            return self.accept_long(context, requests, request, in_pieces);
        }
        for (lpn, partial) in span.pages() {
            self.accept_page(context, requests, request, lpn, partial);
        }
        self.need = 0;
        self.wait_if_full();
        true
    }

    /// Accepts a write of many pages, or a part of it: `in_pieces`, as it is larger than the buffer, as far as there is room for its next
    /// page. Returns whether it is accepted whole.
    #[cold]
    fn accept_long(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        requests: &mut Requests,
        request: RequestId,
        in_pieces: bool,
    ) -> bool {
        let Active { span, .. } = *requests.get(request);
        for (lpn, partial) in span.pages().skip(self.entered as usize) {
            if span.begins_piece(lpn) && context.interrupt.check().is_err() {
                return false;
            }
            if in_pieces && (self.waits_for_room || self.buffer.room() == 0 && self.buffer.find_open(lpn).is_none()) {
                return false;
            }
            self.accept_page(context, requests, request, lpn, partial);
            self.entered += 1;
            if in_pieces {
                self.wait_if_full();
            }
        }
        (self.need, self.entered) = (0, 0);
        self.wait_if_full();
        true
    }

    /// A full buffer begins to flush at once, before the next request is looked at.
    fn wait_if_full(&mut self) {
        self.waits_for_room |= self.buffer.room() == 0;
    }

    #[inline(always)]
    fn accept_page(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        requests: &mut Requests,
        request: RequestId,
        lpn: Lpn,
        partial: bool,
    ) {
        let Active { offset, bytes, hint, fua, .. } = *requests.get(request);
        let written = self.buffer.pieces.written(lpn, partial, offset, bytes, hint);
        context.device.ftl.prefetch_old(lpn);
        let room = self.buffer.room();
        let page = buffer::accept(context.device, &mut self.buffer, lpn, written, context.now);
        let entry = self.buffer.page(page);
        let BufferedPage { version, queue, state, .. } = *entry;
        if self.buffer.room() < room {
            note_buffered(context, queue, true);
        }
        if let PageState::Handed(write) = state {
            let share = self.buffer.share(entry);
            let write = context.queues.get_mut(TransactionId::of_number(write));
            (write.version, write.share, write.hint) = (version, share, hint);
            write.partial &= share.old > 0;
        }
        if fua && !self.buffer.is_protected {
            if let PageState::Handed(write) = state {
                context.note(|waits, now| waits.page_is_taken_over(now, TransactionId::of_number(write)));
            }
            self.buffer.hurry(page);
            requests.wait_for(request, 1);
            self.urgent.push((page, request));
        }
        if self.would_leave(queue) {
            context.queues.wake_queue(queue);
        }
        self.wake_oldest(context);
    }

    /// Drops what waits of a trimmed range, and has the trim take its turn behind what does not wait any more.
    fn trim(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        requests: &mut Requests,
        request: RequestId,
        span: Span,
    ) -> bool {
        if context.device.allocation.dynamic().is_some() && has_handed_over(context, span) {
            return false;
        }
        requests.enter_trim(context, request, span);
        context.queues.offer();
        for (lpn, _) in span.pages() {
            if span.begins_piece(lpn) && context.interrupt.check().is_err() {
                return false;
            }
            let Some(page) = self.buffer.find(lpn) else { continue };
            if self.buffer.page(page).state == PageState::Waiting {
                note_buffered(context, self.buffer.page(page).queue, false);
                let dropped = buffer::drop_page(context.device, &mut self.buffer, page, context.now);
                self.page_done(context, requests, page, dropped);
                self.wake_oldest(context);
            } else {
                // It goes before the trim; what is written now must come after it.
                self.buffer.close(page);
            }
        }
        true
    }

    /// A flush waits for all that is buffered now, and makes it leave; it has nothing to do where that is safe.
    fn flush(&mut self, context: &mut Context<'_, impl Plan>, requests: &mut Requests, request: RequestId) {
        if self.buffer.is_protected {
            return;
        }
        context.device.promise_durable(request.0);
        let number = self.buffer.flush();
        requests.begin_flush_of_buffer(request, number, self.buffer.unprogrammed());
        context.flush_waits();
        self.wake_waiting(context);
    }

    /// Answers a read from the buffer, or says which version the array must give at least, and of how many flash pages.
    pub(super) fn read(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        requests: &Requests,
        request: RequestId,
        lpn: Lpn,
    ) -> Option<(u32, u8)> {
        let Active { offset, bytes, .. } = *requests.get(request);
        let floor = buffer::read(context.device, &mut self.buffer, lpn, (offset, bytes));
        self.wake_oldest(context);
        floor
    }
}

/// Notes that a page waits in the buffer for a queue, or no longer does.
#[inline]
fn note_buffered(context: &mut Context<'_, impl Plan>, queue: Queue, begins: bool) {
    if context.splits_latencies() {
        let die = context.device.flash.geometry().die_of_domain(queue.domain());
        context.note(|waits, now| waits.page_is_buffered(now, queue, die, begins));
    }
}

/// True if a page of the span was handed to its queue and is not being programmed yet.
fn has_handed_over(context: &Context<'_, impl Plan>, span: Span) -> bool {
    let queues = &context.queues;
    queues.all().any(|queue| {
        let mut at = queues.writes(queue).first();
        while let Some(write) = at {
            let Transaction { lpn, .. } = *queues.get(write);
            if (span.first..span.end).contains(&lpn.0) {
                return true;
            }
            at = queues.after(write);
        }
        false
    })
}

// Leaving.
impl WriteBuffer {
    /// Says before dies choose whether pages leave the buffer: it is full, or a write waits for room, or they always may.
    #[inline(always)]
    pub(super) fn begin_flushing(&mut self, context: &mut Context<'_, impl Plan>, requests: &Requests) {
        let waits = self.waiting.front().is_some_and(|&request| {
            // A trim may wait too, but not for room.
            requests.get(request).kind == RequestKind::Write
        });
        let flushing = waits || self.buffer.room() == 0;
        let begins = flushing && !self.buffer.flushing;
        self.buffer.flushing = flushing;
        if begins {
            self.wake_waiting(context);
        }
        let is_awaited = !self.urgent.is_empty() || self.is_over || !requests.flushes.is_empty();
        if is_awaited || self.holds_up(context) {
            // Rows that are to be filled up may have waited for a write that another die has taken.
            context.flush_waits();
        }
    }

    /// True if room is needed and all buffered pages wait in the controller for others of their rows, which do not come.
    pub(super) fn holds_up<P: Plan>(&self, context: &Context<'_, P>) -> bool {
        self.is_out_of_pages() && P::Chip::waiting_of_host(context) == Some(self.buffer.unprogrammed())
    }

    /// The host is done: what is buffered is written too, and does not count as time. Returns whether this
    /// begins now.
    pub(super) fn flush_at_the_end(&mut self, context: &mut Context<'_, impl Plan>) -> bool {
        context.device.recorder.buffer_finish(context.now);
        if std::mem::replace(&mut self.is_over, true) || self.buffer.unprogrammed() == 0 {
            return false;
        }
        self.buffer.flush();
        self.wake_waiting(context);
        context.flush_waits();
        true
    }

    /// Hands the page of a queue that may leave now, if there is one, to its dies.
    pub(super) fn supply(&mut self, context: &mut Context<'_, impl Plan>, queue: Queue) -> Option<TransactionId> {
        let page = self.buffer.next_of(queue)?;
        let age = context.queues.next_age();
        let entry = self.buffer.page(page);
        let (BufferedPage { lpn, version, hint, .. }, share) = (*entry, self.buffer.share(entry));
        note_buffered(context, queue, false);
        let wanted = HostWrite { lpn, hint };
        let write = context.insert(Transaction::new(age, wanted, version, Work::WriteBuffered(page), share));
        self.buffer.hand_over(page, write.number());
        // Pages have been in the buffer for so long that nothing of them is near any more.
        let [next, behind] = self.buffer.coming_of(queue);
        next.into_iter().for_each(|lpn| context.device.ftl.prefetch_old(lpn));
        behind.into_iter().for_each(|lpn| context.device.ftl.prefetch(lpn));
        context.push_write(queue, write);
        self.wake_oldest(context);
        Some(write)
    }

    /// A page that was handed over is being programmed.
    #[inline]
    pub(super) fn begin_program(&mut self, page: u32) {
        self.has_changed = true;
        self.buffer.begin_program(page);
    }

    /// The old version of a page that was handed over has arrived.
    pub(super) fn page_completed(&mut self, page: u32) {
        self.buffer.complete(page);
    }

    /// The data of a page that is being programmed are in the chip.
    pub(super) fn page_transferred(&mut self, context: &mut Context<'_, impl Plan>, page: u32) {
        self.has_changed = true;
        context.queues.offer();
        buffer::release(context.device, &mut self.buffer, page, context.now);
    }

    /// A page was programmed.
    pub(super) fn page_programmed(&mut self, context: &mut Context<'_, impl Plan>, requests: &mut Requests, page: u32) {
        self.has_changed = true;
        // A newer version of it may have waited for that.
        context.queues.offer();
        let left = buffer::leave(context.device, &mut self.buffer, page, context.now);
        self.page_done(context, requests, page, left);
    }

    /// Writes with FUA that wait for a page.
    pub(super) fn waiting_for(&self, page: u32) -> impl Iterator<Item = RequestId> {
        self.urgent.iter().filter(move |(waited_for, _)| *waited_for == page).map(|&(_, request)| request)
    }

    /// Pages may be awaited.
    pub(super) fn may_await(&self) -> bool {
        !self.urgent.is_empty() || self.is_over || self.is_out_of_pages()
    }

    /// The host waits until a page is programmed, or is done.
    pub(super) fn is_awaited(&self, requests: &Requests, page: u32) -> bool {
        self.is_over
            || self.waiting_for(page).next().is_some()
            || requests.have_flush_behind(self.buffer.page(page).flushes.into())
    }

    /// Tells those who wait for a page: writes with FUA, and flushes that began while it was buffered.
    fn page_done(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        requests: &mut Requests,
        page: u32,
        left: BufferedPage,
    ) {
        while let Some(at) = self.urgent.iter().position(|(waited_for, _)| *waited_for == page) {
            let (_, request) = self.urgent.remove(at);
            requests.part_done(context, request);
        }
        requests.buffered_page_done(context, left.flushes);
    }

    /// Wakes the dies of every queue that has pages waiting.
    #[cold]
    fn wake_waiting(&self, context: &mut Context<'_, impl Plan>) {
        for queue in context.queues.all() {
            if self.buffer.has_waiting(queue) {
                context.queues.wake_queue(queue);
            }
        }
    }

    /// The oldest page may have changed: where pages leave in one order, its die has to hear of it.
    #[inline]
    fn wake_oldest(&self, context: &mut Context<'_, impl Plan>) {
        if self.buffer.is_in_one_order()
            && let Some(page) = self.buffer.oldest()
        {
            context.queues.wake_queue(self.buffer.page(page).queue);
        }
    }
}
