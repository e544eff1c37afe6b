//! The host interface: which request is admitted when, how it is split into pages, and who is told when a page is done.

use base::{Cause, Die, Domain, Instant, Lpn, Ppn, Queue, Request, RequestKind};
use config::model::{self, Replay};
use ftl::HostWrite;
use metrics::LatencyPart;
use workload::Workload;

use super::context::Context;
use super::front::Front;
use super::front::live::Live;
use super::front::tenants::Tenants;
use super::plan::Plan;
use super::queues::{Queues, RequestId, Transaction, TransactionId, Work};
use super::requests::{Active, MOST, Requests};
use super::write_buffer::WriteBuffer;
use crate::buffer::Buffer;
use crate::errors::RunError;
use crate::pages::{PIECE, Share, Span};
use crate::watch::{Watch, work_of};

/// Requests drawn from the workload at once.
const BATCH: usize = 64;

/// Places from the next request to the one behind it whose map entry is asked for again.
const LOOKED_UP_AHEAD: usize = 2;

/// Requests outside and inside the device, and the write buffer, if there is one.
pub(super) struct Host {
    replay: Replay,
    /// Requests drawn from the workload, and the place of the next one that enters the device.
    drawn: Vec<Request>,
    next: usize,
    pub(super) requests: Requests,
    /// The memory of one more of them, where they are not limited.
    bytes_of_request: u64,
    /// Boxed, so that devices without a buffer keep their hot fields on one cache line.
    pub(super) buffer: Option<Box<WriteBuffer>>,
    /// The lanes that commands and data pass between host and device, if that takes time.
    pub(super) front: Option<Box<Front>>,
}

impl Host {
    /// Bytes for each request that the device takes in.
    pub(super) const BYTES_OF_REQUEST: u64 = (Requests::BYTES_OF_REQUEST + WriteBuffer::BYTES_OF_REQUEST) as u64;

    /// `in_steps`: the device sees requests between controller and link.
    pub(super) fn new(
        config: &model::Host,
        in_steps: bool,
        tenants: Option<Box<Tenants>>,
        live: Option<Box<Live>>,
        buffer: Option<Buffer>,
        bytes_of_request: u64,
    ) -> Host {
        // Each tenant has a loop of its own; what the controller takes of them comes as it does from a closed one.
        let replay = if tenants.is_some() { Replay::Closed } else { config.replay };
        Host {
            replay,
            drawn: Vec::with_capacity(BATCH),
            next: 0,
            requests: Requests::new(config.queue_depth, replay == Replay::Open, buffer.is_some(), (tenants, live)),
            bytes_of_request,
            buffer: buffer.map(|buffer| Box::new(WriteBuffer::new(buffer, config.queue_depth.unwrap_or(0)))),
            front: Front::new(config, in_steps),
        }
    }

    /// True if no request is in the device or waits to enter it.
    pub(super) fn is_idle(&self, plan: &impl Plan) -> bool {
        let have_more = self.requests.tenants(plan).is_some_and(Tenants::have_more);
        self.requests.are_none() && self.coming(0).is_none() && !have_more && self.requests.live.is_none()
    }

    /// True if no request is in the device, and those that are to come wait for nothing but their time.
    pub(super) fn pauses(&self, context: &Context<'_, impl Plan>) -> bool {
        let later = |request: &Request| self.replay == Replay::Open && request.at > context.now;
        let tenants_wait = self.requests.tenants(&context.plan).is_none_or(|tenants| tenants.wait_for(context.now));
        self.requests.are_none() && self.coming(0).is_none_or(later) && tenants_wait && self.requests.live.is_none()
    }

    /// The lanes that commands and data pass, where that takes time.
    #[inline(always)]
    pub(super) fn front(&mut self, plan: &impl Plan) -> Option<&mut Front> {
        if plan.has().front { self.front.as_deref_mut() } else { None }
    }

    /// True while writes, trims or flushes are on their way to the device.
    fn is_receiving(&self) -> bool {
        self.front.as_ref().is_some_and(|front| front.is_receiving())
    }

    /// Requests completed.
    #[inline]
    pub(super) fn completions(&self) -> u64 {
        self.requests.completions()
    }

    /// The requests that wait, for people.
    pub(super) fn in_words(&self) -> String {
        let mut text = self.requests.in_words();
        if self.coming(0).is_some() {
            text.push_str("; further ones have not come in");
        }
        if let Some(buffer) = &self.buffer {
            text.push_str(&format!("; {} pages of the write buffer are not programmed", buffer.unprogrammed()));
        }
        text
    }

    /// When the last request completed.
    pub(super) fn last_completion(&self) -> Instant {
        self.requests.last_completion()
    }

    /// Pages in the write buffer that are not programmed.
    pub(super) fn unprogrammed(&self) -> u32 {
        self.buffer.as_ref().map_or(0, |buffer| buffer.unprogrammed())
    }

    /// The write buffer, if there is one.
    #[inline]
    pub(super) fn buffer(&self) -> Option<&WriteBuffer> {
        self.buffer.as_deref()
    }
}

// Admission.
impl Host {
    /// Admits requests while the queue has room and their time has come. Returns when the next one arrives, if that is
    /// what it waits for.
    pub(super) fn admit(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        workload: &mut Workload,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Instant>, RunError> {
        if context.plan.has().front {
            self.come_in(context);
        }
        self.pump_buffer(context);
        while self.requests.have_room() && self.may_send() {
            if self.next == self.drawn.len() {
                self.draw(context, workload)?;
            }
            let Some(&request) = self.coming(0) else { return Ok(self.arrival_of_tenants(context)) };
            if self.replay == Replay::Open && request.at > context.now {
                context.note(|waits, _| waits.places_are_free());
                return Ok(Some(request.at));
            }
            let span = Span::of(&request, context.device.page_size);
            // A dynamic allocation has no queue that a trim could wait its turn in, so it waits outside for
            // older writes of its pages.
            let waits_outside = context.device.allocation.dynamic().is_some() && self.buffer.is_none();
            if request.kind == RequestKind::Trim
                && waits_outside
                && (self.is_receiving() || self.requests.writes_overlap(span))
            {
                break;
            }
            let pages = span.len() + self.front(&context.plan).map_or(0, |front| front.pages_coming());
            if self.requests.are_unlimited() {
                if context.queues.count_of_pages() + pages as usize > MOST && !self.requests.are_none() {
                    break;
                }
                self.requests.make_room(self.bytes_of_request)?;
            }
            context.make_room(pages)?;
            self.next += 1;
            self.prefetch_next(context);
            self.enter(context, request, span);
            watch.report(work_of(&request), context.now, &context.device.recorder.counters, || workload.progress())?;
        }
        if self.replay == Replay::Open || self.requests.tenants(&context.plan).is_some() {
            context.note(|waits, now| waits.places_are_waited_for(now));
        }
        Ok(None)
    }

    /// The device has room for all that tenants have sent. Returns when the next request comes of one that sends at times of its own.
    fn arrival_of_tenants(&self, context: &mut Context<'_, impl Plan>) -> Option<Instant> {
        let tenants = self.requests.tenants(&context.plan)?;
        context.note(|waits, _| waits.places_are_free());
        tenants.next_arrival()
    }

    /// True if the host sends its next request, if there is a place for it: `batch` holds it back until the
    /// write before is accepted, by the write buffer or, without one, by flash.
    #[inline]
    fn may_send(&self) -> bool {
        let batch_waits = self.replay == Replay::Batch && self.is_receiving();
        match &self.buffer {
            None => self.replay != Replay::Batch || !self.requests.has_writes() && !batch_waits,
            Some(buffer) => {
                let waits = self.replay == Replay::Batch && (buffer.has_waiting_requests() || batch_waits);
                !buffer.is_paused() && !waits
            }
        }
    }

    /// A request that is drawn and has not entered the device, so many places behind the next one.
    #[inline]
    fn coming(&self, ahead: usize) -> Option<&Request> {
        self.drawn.get(self.next + ahead)
    }

    /// Draws the next requests, or of several tenants the next one, and asks for their map entries.
    fn draw(&mut self, context: &Context<'_, impl Plan>, workload: &mut Workload) -> Result<(), RunError> {
        self.drawn.clear();
        self.next = 0;
        if let Some(live) = &mut self.requests.live {
            live.draw(&mut self.drawn);
        } else {
            match self.requests.tenants_mut(&context.plan) {
                None => workload.fill(&mut self.drawn, BATCH)?,
                Some(tenants) => self.drawn.extend(tenants.take(context.now, workload)?),
            }
        }
        for request in &self.drawn {
            if request.size > 0 {
                let lpn = context.device.page_size.page_of(request.offset);
                context.device.ftl.prefetch(lpn);
                if let Some(buffer) = &self.buffer {
                    buffer.prefetch(lpn);
                }
            }
        }
        Ok(())
    }

    /// Asks for what the next request will make invalid, or for the block that it reads, as its die may be idle and take it at once;
    /// and before that for its map entry, which has left the near caches since it was drawn.
    #[inline(always)]
    fn prefetch_next(&self, context: &Context<'_, impl Plan>) {
        if self.buffer.is_some() {
            return;
        }
        let coming = |ahead| self.coming(ahead).filter(|request| request.size > 0);
        let page = |request: &Request| context.device.page_size.page_of(request.offset);
        if let Some(then) = coming(LOOKED_UP_AHEAD) {
            context.device.ftl.prefetch(page(then));
        }
        match coming(0).map(|next| (next.kind, page(next))) {
            Some((RequestKind::Write, lpn)) => context.device.ftl.prefetch_old(lpn),
            Some((RequestKind::Read, lpn)) => {
                if let Ok(ppn) = context.device.ftl.lookup(lpn) {
                    context.device.flash.prefetch(ppn);
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, context: &mut Context<'_, impl Plan>, request: Request, span: Span) {
        let is_open = self.replay == Replay::Open;
        let of_tenant = self.requests.tenants(&context.plan).map(Tenants::since);
        let arrived = if is_open { request.at } else { of_tenant.unwrap_or(context.now) };
        let id = self.requests.admit(&request, span, arrived);
        let tenant = self.requests.tenants_mut(&context.plan).map(|tenants| {
            for (begun, from) in tenants.begun() {
                context.device.recorder.tenant_begins(begun, from);
            }
            tenants.entered(id)
        });
        if let Some(live) = &mut self.requests.live {
            live.entered(id);
        }
        if is_open {
            self.requests.note_outside(id, (context.now - arrived).ns());
            context.device.recorder.holds(self.requests.count());
        }
        context.note(|waits, now| waits.request_comes(now, id, request.offset, span.len(), arrived));
        if let Some(tenant) = tenant {
            context.note(|waits, _| waits.request_is_of(id, tenant));
        }
        if self.front(&context.plan).is_some() {
            return self.pass_front(context, id);
        }
        self.take_in(context, id);
    }

    /// Begins with a request that the device has, with its data.
    #[inline(always)]
    pub(super) fn take_in(&mut self, context: &mut Context<'_, impl Plan>, id: RequestId) {
        let Active { kind, span, .. } = *self.requests.get(id);
        if let Some(buffer) = &mut self.buffer
            && buffer.note(id, kind)
        {
            context.note(|waits, now| waits.request_waits(now, id, LatencyPart::Buffer));
            return self.pump_buffer(context);
        }
        if span.len() > PIECE && kind != RequestKind::Trim {
            return self.take_in_long(context, id, kind, span);
        }
        match kind {
            RequestKind::Read => self.enter_read(context, id, span),
            RequestKind::Write => {
                self.requests.begin_write(id, span.len());
                self.enter_writes(context, id, span);
            }
            RequestKind::Trim => self.requests.enter_trim(context, id, span.whole()),
            RequestKind::Flush => {
                self.requests.begin_flush(id);
                context.flush_waits();
            }
        }
        if matches!(kind, RequestKind::Trim | RequestKind::Flush) {
            context.note(|waits, now| waits.request_waits(now, id, LatencyPart::Admission));
        }
        self.requests.part_done(context, id);
    }

    /// Lets requests into the write buffer as far as there is room, and begins with the reads that waited behind them.
    #[inline]
    fn pump_buffer(&mut self, context: &mut Context<'_, impl Plan>) {
        while let Some(buffer) = &mut self.buffer
            && let Some(read) = buffer.pump(context, &mut self.requests)
        {
            self.begin_read(context, read);
        }
    }

    /// A read that waited behind writes has its turn.
    #[inline(never)]
    fn begin_read(&mut self, context: &mut Context<'_, impl Plan>, id: RequestId) {
        context.note(|waits, now| waits.read_has_its_turn(now, id));
        let Active { span, .. } = *self.requests.get(id);
        if span.len() > PIECE {
            return self.take_in_long(context, id, RequestKind::Read, span);
        }
        self.enter_read(context, id, span);
        self.requests.part_done(context, id);
    }

    /// Takes a read or a write of many pages in, which may take minutes; or a part of it, if somebody wants to stop.
    #[cold]
    #[inline(never)]
    fn take_in_long(&mut self, context: &mut Context<'_, impl Plan>, id: RequestId, kind: RequestKind, span: Span) {
        let is_write = kind == RequestKind::Write;
        if is_write {
            self.requests.begin_write(id, span.len());
        }
        let mut of_pages = 0;
        for piece in span.pieces() {
            if is_write {
                self.enter_writes(context, id, piece);
            } else {
                of_pages += self.enter_reads(context, id, piece);
            }
            if context.interrupt.check().is_err() {
                return;
            }
        }
        if !is_write {
            let Active { bytes, .. } = *self.requests.get(id);
            self.send_rest(context, id, bytes - of_pages);
        }
        self.requests.part_done(context, id);
    }

    fn enter_read(&mut self, context: &mut Context<'_, impl Plan>, request: RequestId, span: Span) {
        let of_pages = self.enter_reads(context, request, span);
        self.send_rest(context, request, self.requests.get(request).bytes - of_pages);
    }

    /// Has the pages of a read wait for their dies. Returns how many bytes the link gets from flash, where there is a link.
    #[inline(always)]
    fn enter_reads(&mut self, context: &mut Context<'_, impl Plan>, request: RequestId, span: Span) -> u64 {
        let Active { offset, bytes, .. } = *self.requests.get(request);
        let mut of_pages = 0;
        for (lpn, partial) in span.pages() {
            let array = match &mut self.buffer {
                None => {
                    let share = context.device.parts.share(lpn, partial, offset, bytes);
                    Some((context.device.read_floor(lpn), share.touched))
                }
                Some(buffer) => buffer.read(context, &self.requests, request, lpn),
            };
            let Some((floor, touched)) = array else { continue };
            let found = context.device.ftl.lookup(lpn).ok();
            if context.assembles()
                && let Some(ppn) = found
                && context.keeps(ppn)
            {
                answer_waiting(context, lpn, floor, ppn);
                continue;
            }
            let Some(die) = die_to_ask(context, lpn, found) else {
                context.device.note_unmapped(lpn);
                continue;
            };
            self.requests.wait_for(request, 1);
            let (age, share) = (context.queues.next_age(), Share { touched, old: 0 });
            let read = context.insert(Transaction::new(age, lpn, floor, Work::Read(request), share));
            let range = context.device.parts.range(lpn, offset, bytes);
            if let Some(wanted) = context.wanted() {
                wanted.note(read, range);
                of_pages += wanted.bytes(read);
            }
            context.push_read(die, read);
        }
        of_pages
    }

    #[inline(always)]
    fn enter_writes(&mut self, context: &mut Context<'_, impl Plan>, request: RequestId, span: Span) {
        let Active { offset, bytes, hint, .. } = *self.requests.get(request);
        for (lpn, partial) in span.pages() {
            let age = context.queues.next_age();
            let version = context.device.admit_write(lpn);
            let share = context.device.parts.share(lpn, partial, offset, bytes);
            let page = HostWrite { lpn, hint };
            let write = context.insert(Transaction::new(age, page, version, Work::Write(request), share));
            context.device.ftl.prefetch_old(lpn);
            if partial && !self.requests.has_trims() {
                fetch_old(context, write);
            }
            let queue = context.device.allocation.queue_of(lpn);
            context.push_write(queue, write);
            context.queues.wake_queue(queue);
        }
    }
}

/// The die that a read waits for: that of its page or, while the map entry is in flash, that of the entry. `None`
/// if there is nothing to read.
#[inline]
fn die_to_ask(context: &Context<'_, impl Plan>, lpn: Lpn, found: Option<Ppn>) -> Option<Die> {
    let flash = &context.device.flash;
    if let Some(owner) = context.device.missing(lpn) {
        return Some(flash.geometry().die_of_domain(owner));
    }
    let ppn = found?;
    flash.prefetch(ppn);
    Some(flash.geometry().die_of(ppn))
}

/// Answers a read of a page that waits in the controller for the rest of its wordline; takes no time.
fn answer_waiting(context: &mut Context<'_, impl Plan>, lpn: Lpn, floor: u32, ppn: Ppn) {
    context.device.note_host_read(lpn);
    context.device.check_read(lpn, floor, context.device.flash.waiting(ppn));
}

/// Sends for the old version of a page that is written in part. Returns whether there is one to wait for.
pub(super) fn fetch_old(context: &mut Context<'_, impl Plan>, write: TransactionId) -> bool {
    let Transaction { lpn, age, share, .. } = *context.queues.get(write);
    let Ok(ppn) = context.device.ftl.lookup(lpn) else { return false };
    let transaction = context.queues.get_mut(write);
    (transaction.partial, transaction.waiting) = (false, true);
    context.device.flash.prefetch(ppn);
    let floor = context.device.array_floor(lpn);
    let needed = Share { touched: share.old, old: 0 };
    context.note(|waits, now| waits.wait_for_part(now, write, LatencyPart::OldVersion));
    let read = context.insert(Transaction::new(age, lpn, floor, Work::ReadOld(write), needed));
    context.push_read(context.device.flash.geometry().die_of(ppn), read);
    true
}

/// The cause under which the read of a transaction is counted.
pub(super) fn read_cause(queues: &Queues, read: TransactionId) -> Cause {
    if matches!(queues.get(read).work, Work::ReadOld(_)) { Cause::Rmw } else { Cause::Host }
}

// What dies ask for.
impl Host {
    /// True if a shared queue has writes for a die that is free.
    pub(super) fn has_writes(&self, queues: &Queues, queue: Queue) -> bool {
        queues.writes(queue).first().is_some() || self.would_leave(queue)
    }

    /// True if a buffered page would leave through a queue now.
    #[inline]
    pub(super) fn would_leave(&self, queue: Queue) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.would_leave(queue))
    }

    /// The host may wait until a write is programmed.
    pub(super) fn may_await(&self) -> bool {
        !self.requests.flushes.is_empty() || self.buffer.as_ref().is_none_or(|buffer| buffer.may_await())
    }

    /// True if somebody waits for pages of the write buffer, or for room that comes of programs alone.
    pub(super) fn awaits_buffer(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| !self.requests.flushes.is_empty() || buffer.may_await())
    }

    /// True if pages have left the write buffer since it was looked at. Where they wait for others no event says so, and requests may
    /// have waited for them, or rows of other dies.
    pub(super) fn has_placed(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.has_changed())
    }

    /// True if the write buffer needs the room of pages that wait in the controller for others, and nothing else gives it any.
    pub(super) fn holds_up(&self, context: &Context<'_, impl Plan>) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.holds_up(context))
    }

    /// A row of pages that came through a queue is filled up.
    pub(super) fn close_row(&mut self, queue: Queue) {
        if let Some(buffer) = &mut self.buffer {
            buffer.close_row(queue);
        }
    }

    /// The host waits until a write is programmed: because of FUA, or of a FLUSH.
    pub(super) fn awaits(&self, queues: &Queues, write: TransactionId) -> bool {
        match (queues.get(write).work, &self.buffer) {
            (Work::WriteBuffered(page), Some(buffer)) => buffer.is_awaited(&self.requests, page),
            (Work::Write(request), _) => self.requests.is_awaited(request),
            _ => unreachable!("this is no write"),
        }
    }

    /// True if pages wait for a queue, ready or not, and not for others of their row.
    pub(super) fn has_pages(&self, queues: &Queues, queue: Queue) -> bool {
        let buffered = self.buffer.as_ref().is_some_and(|buffer| buffer.has_waiting(queue));
        buffered || queues.writes(queue).first().is_some()
    }

    /// Has a page of the write buffer that may leave now, if there is one, wait in its queue.
    #[inline(never)]
    pub(super) fn supply(&mut self, context: &mut Context<'_, impl Plan>, queue: Queue) -> Option<TransactionId> {
        self.buffer.as_mut()?.supply(context, queue)
    }

    /// Carries out the trim that is first in a domain's queue. Returns whether there is one.
    pub(super) fn run_trim(&mut self, context: &mut Context<'_, impl Plan>, domain: Domain) -> bool {
        self.requests.run_trim(context, domain)
    }

    /// A write is being programmed.
    #[inline]
    pub(super) fn begin_program(&mut self, queues: &Queues, write: TransactionId) {
        if let Some(buffer) = &mut self.buffer
            && let Work::WriteBuffered(page) = queues.get(write).work
        {
            buffer.begin_program(page);
        }
    }

    /// A read is of a page that waits in the controller.
    pub(super) fn read_waiting(&mut self, context: &mut Context<'_, impl Plan>, read: TransactionId, ppn: Ppn) {
        let Transaction { lpn, version, .. } = *context.queues.get(read);
        answer_waiting(context, lpn, version, ppn);
        self.read_done(context, read);
    }

    /// A read turned out to have nothing to read: its page was trimmed while it waited.
    pub(super) fn read_vanished(&mut self, context: &mut Context<'_, impl Plan>, read: TransactionId) {
        let Transaction { lpn, work, .. } = *context.queues.get(read);
        if matches!(work, Work::Read(_)) {
            context.device.note_unmapped(lpn);
        }
        self.read_done(context, read);
    }
}

// Completion.
impl Host {
    /// The data of a read are in the controller, corrected.
    pub(super) fn read_done(&mut self, context: &mut Context<'_, impl Plan>, read: TransactionId) {
        let Transaction { work, lpn, .. } = *context.queues.get(read);
        if matches!(work, Work::Read(_))
            && let Some(front) = self.front(&context.plan)
            && front.send(context, read)
        {
            return;
        }
        context.queues.release(read);
        match work {
            Work::Read(request) => {
                context.note(|waits, now| waits.page_is_done(now, read, request));
                self.requests.part_done(context, request);
            }
            Work::ReadOld(write) => {
                let queue = context.device.allocation.queue_of(lpn);
                context.queues.note_old_version(queue, write);
                context.note(|waits, now| waits.old_version_came(now, read, write));
                if let Some(buffer) = &mut self.buffer
                    && let Work::WriteBuffered(page) = context.queues.get(write).work
                {
                    buffer.page_completed(page);
                }
                context.write_waits(queue, write);
                context.queues.wake_queue(queue);
            }
            Work::Write(_) | Work::WriteBuffered(_) | Work::Trim { .. } => unreachable!("these read nothing"),
        }
    }

    /// True if the write buffer gives room to other pages as soon as data are in the chip.
    #[inline]
    pub(super) fn releases_early(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.releases_early())
    }

    /// The data of a write are in the chip's register: the write buffer may give their room to other pages.
    pub(super) fn write_transferred(&mut self, context: &mut Context<'_, impl Plan>, write: TransactionId) {
        if let Some(buffer) = &mut self.buffer
            && let Work::WriteBuffered(page) = context.queues.get(write).work
        {
            context.note(|waits, now| waits.page_leaves(now, write));
            buffer.page_transferred(context, page);
        }
    }

    /// The program of a write is done.
    pub(super) fn write_done(&mut self, context: &mut Context<'_, impl Plan>, write: TransactionId) {
        let Transaction { lpn, version, work, .. } = *context.queues.get(write);
        context.queues.release(write);
        match (work, &mut self.buffer) {
            (Work::WriteBuffered(page), Some(buffer)) => {
                context.note(|waits, now| waits.buffered_page_is_done(now, write));
                for request in buffer.waiting_for(page) {
                    context.note(|waits, now| waits.page_is_done(now, write, request));
                }
                context.device.programmed(lpn, version);
                buffer.page_programmed(context, &mut self.requests, page);
            }
            (Work::Write(request), _) => {
                context.note(|waits, now| waits.page_is_done(now, write, request));
                context.device.programmed_and_completed(lpn, version);
                self.requests.part_done(context, request);
            }
            _ => unreachable!("this is no write"),
        }
    }
}

// The write buffer.
impl Host {
    /// Says before dies choose whether pages leave the write buffer.
    pub(super) fn begin_flushing(&mut self, context: &mut Context<'_, impl Plan>) {
        if let Some(buffer) = &mut self.buffer {
            buffer.begin_flushing(context, &self.requests);
        }
    }

    /// True if the write buffer was full and accepted nothing more until its flush began, which it has now.
    pub(super) fn take_wait(&mut self) -> bool {
        self.buffer.as_mut().is_some_and(|buffer| buffer.take_wait())
    }

    /// The host is done: what is buffered is written too. Returns whether this begins now.
    pub(super) fn flush_at_the_end(&mut self, context: &mut Context<'_, impl Plan>) -> bool {
        self.buffer.as_mut().is_some_and(|buffer| buffer.flush_at_the_end(context))
    }
}
