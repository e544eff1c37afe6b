//! The host interface: which request is admitted when, and when one is complete.

use std::collections::VecDeque;

use base::{Cause, Instant, Lpn, Request, RequestKind};
use config::model::Replay;
use ftl::Coming;

use super::Timed;
use super::queues::{Transaction, Work};
use crate::pages::{Share, Span};
use crate::{RunError, work_of};

/// Requests drawn from the workload at once.
const BATCH: usize = 64;

/// A request in the device.
#[derive(Clone, Copy)]
pub(super) struct Active {
    pub(super) kind: RequestKind,
    /// When its latency begins.
    arrived: Instant,
    pub(super) bytes: u64,
    pub(super) span: Span,
    /// Number of admission; for a flush of the write buffer the number of the flush.
    pub(super) order: u64,
    /// What it still waits for: pages, or for a flush older writes. 0: the slot is free.
    pub(super) remaining: u32,
}

/// What the write buffer has to know of a request besides: kept apart, since nobody else asks for it.
#[derive(Clone, Copy, Default)]
pub(super) struct Buffered {
    pub(super) offset: u64,
    pub(super) fua: bool,
    /// Pages of a write that are in the buffer.
    pub(super) entered: u32,
}

/// Requests outside and inside the device.
pub(super) struct Host {
    replay: Replay,
    queue_depth: usize,
    incoming: VecDeque<Request>,
    drawn: Vec<Request>,
    pub(super) active: Vec<Active>,
    /// By place in `active`; only kept where there is a write buffer.
    pub(super) buffered: Vec<Buffered>,
    free: Vec<u32>,
    /// Flushes that wait for older writes.
    pub(super) flushes: Vec<u32>,
    /// With a write buffer: writes that wait for room, with the trims and flushes behind them.
    pub(super) waiting: VecDeque<u32>,
    /// How much room the first of them needs, at least.
    pub(super) need: u32,
    /// The write buffer just became full: its flush begins before anything else is accepted.
    pub(super) paused: bool,
    /// Writes with FUA, with the buffered pages that they wait for: page, request.
    pub(super) urgent: Vec<(u32, u32)>,
    writes_in_flight: u32,
    admissions: u64,
    /// Trims in the queues of planes: what is mapped now may not be when a write's turn comes.
    trims_waiting: u32,
    /// Requests completed.
    pub(super) completions: u64,
    /// When the last request completed.
    pub(super) last_completion: Instant,
}

impl Host {
    /// Bytes for each request that the device takes in.
    pub(super) const BYTES_OF_REQUEST: u64 =
        (size_of::<Active>() + size_of::<Buffered>() + 2 * size_of::<u32>()) as u64;

    pub(super) fn new(replay: Replay, queue_depth: u32) -> Host {
        let idle = Active {
            kind: RequestKind::Flush,
            arrived: Instant::ZERO,
            bytes: 0,
            span: Span::of(
                &Request { at: Instant::ZERO, offset: 0, size: 0, kind: RequestKind::Flush, fua: false },
                512,
            ),
            order: 0,
            remaining: 0,
        };
        Host {
            replay,
            queue_depth: queue_depth as usize,
            incoming: VecDeque::with_capacity(BATCH),
            drawn: Vec::with_capacity(BATCH),
            active: vec![idle; queue_depth as usize],
            buffered: vec![Buffered::default(); queue_depth as usize],
            free: (0..queue_depth).rev().collect(),
            flushes: Vec::new(),
            waiting: VecDeque::with_capacity(queue_depth as usize),
            need: 0,
            paused: false,
            urgent: Vec::new(),
            writes_in_flight: 0,
            admissions: 0,
            trims_waiting: 0,
            completions: 0,
            last_completion: Instant::ZERO,
        }
    }

    fn in_flight(&self) -> usize {
        self.queue_depth - self.free.len()
    }

    /// Whether no request is in the device or waits to enter it.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight() == 0 && self.incoming.is_empty()
    }

    /// Whether a write that shares a page with the span is in the device.
    fn writes_overlap(&self, span: Span) -> bool {
        self.writes_in_flight > 0
            && self.active.iter().any(|request| {
                request.remaining > 0 && request.kind == RequestKind::Write && request.span.overlaps(span)
            })
    }
}

impl Timed<'_, '_> {
    /// Admits requests while the queue has room and their time has come.
    pub(super) fn admit(&mut self) -> Result<(), RunError> {
        if self.buffer.is_some() {
            self.pump();
        }
        while !self.host.free.is_empty() && self.may_send() {
            if self.host.incoming.is_empty() {
                self.draw()?;
            }
            let Some(&request) = self.host.incoming.front() else { return Ok(()) };
            if self.host.replay == Replay::Open && request.at > self.now {
                self.set_arrival(request.at);
                return Ok(());
            }
            let span = Span::of(&request, self.device.page_size);
            // A dynamic allocation has no queue that a trim could wait its turn in, so it waits outside for
            // older writes of its pages.
            let waits_outside = self.device.ftl.allocation().dynamic().is_some() && self.buffer.is_none();
            if request.kind == RequestKind::Trim && waits_outside && self.host.writes_overlap(span) {
                return Ok(());
            }
            self.pool.make_room(span.len())?;
            self.host.incoming.pop_front();
            self.enter(&request, span);
            let progress = || self.workload.progress();
            self.watch.report(work_of(&request), self.now, &self.device.recorder.counters, progress)?;
        }
        Ok(())
    }

    /// Whether the host sends its next request, if there is a place for it: `batch` holds it back until the
    /// write before is accepted, by the write buffer or, without one, by flash.
    #[inline]
    fn may_send(&self) -> bool {
        let accepted = || match self.buffer {
            None => self.host.writes_in_flight == 0,
            Some(_) => self.host.waiting.is_empty(),
        };
        !self.host.paused && (self.host.replay != Replay::Batch || accepted())
    }

    /// Draws the next requests and asks for their map entries.
    fn draw(&mut self) -> Result<(), RunError> {
        self.host.drawn.clear();
        self.workload.fill(&mut self.host.drawn, BATCH)?;
        for request in &self.host.drawn {
            if request.size > 0 {
                let lpn = Lpn((request.offset / self.device.page_size) as u32);
                self.device.ftl.prefetch(Coming::Lookup(lpn));
                if let Some(buffer) = &self.buffer {
                    buffer.prefetch(lpn);
                }
            }
            self.host.incoming.push_back(*request);
        }
        Ok(())
    }

    fn enter(&mut self, request: &Request, span: Span) {
        let slot = self.host.free.pop().expect("room was checked");
        let arrived = if self.host.replay == Replay::Open { request.at } else { self.now };
        self.host.admissions += 1;
        self.host.active[slot as usize] = Active {
            kind: request.kind,
            arrived,
            bytes: request.size,
            span,
            order: self.host.admissions,
            // One more than its pages until all are queued, so that it cannot complete half-way.
            remaining: 1,
        };
        if self.buffer.is_some() {
            self.host.buffered[slot as usize] = Buffered { offset: request.offset, fua: request.fua, entered: 0 };
            if request.kind != RequestKind::Read {
                self.host.waiting.push_back(slot);
                self.pump();
                return;
            }
        }
        match request.kind {
            RequestKind::Read => self.enter_read(slot, span, request.offset),
            RequestKind::Write => self.enter_write(slot, span, request.offset),
            RequestKind::Trim => self.enter_trim(slot, span.whole()),
            RequestKind::Flush => {
                self.host.active[slot as usize].remaining += self.host.writes_in_flight;
                self.host.flushes.push(slot);
            }
        }
        self.part_done(slot);
    }

    fn enter_read(&mut self, slot: u32, span: Span, offset: u64) {
        let Active { bytes, .. } = self.host.active[slot as usize];
        for (lpn, partial) in span.pages() {
            let share = self.device.lanes.share(lpn, partial, offset, bytes);
            let Some((floor, touched)) = self.read_buffer(slot, lpn, share) else { continue };
            let Some(die) = self.die_to_ask(lpn) else {
                self.device.recorder.counters.unmapped_reads += 1;
                continue;
            };
            self.host.active[slot as usize].remaining += 1;
            let age = self.next_age();
            let read = self.pool.insert(Transaction::new(age, lpn, slot, floor, Work::Read, Share { touched, old: 0 }));
            self.queue_read(die, read);
        }
    }

    /// The die that a read waits for: that of its page or, while the map entry is in flash, that of the entry. `None`
    /// if there is nothing to read.
    #[inline]
    fn die_to_ask(&self, lpn: Lpn) -> Option<u32> {
        let ftl = &self.device.ftl;
        if !self.device.map_in_flash || ftl.is_known(lpn) {
            ftl.lookup(lpn).map(|ppn| ftl.geometry().die_of(ppn))
        } else {
            Some(ftl.geometry().die_of_domain(ftl.owner_of(lpn)))
        }
    }

    fn enter_write(&mut self, slot: u32, span: Span, offset: u64) {
        let Active { bytes, .. } = self.host.active[slot as usize];
        self.host.writes_in_flight += 1;
        self.host.active[slot as usize].remaining += span.len();
        for (lpn, partial) in span.pages() {
            let age = self.next_age();
            let version = self.device.admit_write(lpn);
            let share = self.device.lanes.share(lpn, partial, offset, bytes);
            let write = self.pool.insert(Transaction::new(age, lpn, slot, version, Work::Write, share));
            if partial && self.host.trims_waiting == 0 {
                self.fetch_old(write);
            } else {
                self.device.ftl.prefetch(Coming::Overwrite(lpn));
            }
            let queue = self.device.ftl.allocation().queue_of(lpn);
            self.writes[queue as usize].push(&mut self.pool, write);
            self.wake_queue(queue);
        }
    }

    /// A trim takes its turn among the writes of each plane, as it does where no time passes; so the planes
    /// see the same sequence under both executors.
    pub(super) fn enter_trim(&mut self, slot: u32, span: Span) {
        if self.device.ftl.allocation().dynamic().is_some() {
            span.pages().for_each(|(lpn, _)| self.device.trim(lpn));
            return;
        }
        span.pages().for_each(|(lpn, _)| self.device.admit_trim(lpn));
        let queues = self.writes.len() as u32;
        for first in span.first..span.end.min(span.first.saturating_add(queues)) {
            let queue = self.device.ftl.allocation().queue_of(Lpn(first));
            let age = self.next_age();
            let work = Work::Trim { end: Lpn(span.end) };
            let trim = self.pool.insert(Transaction::new(age, Lpn(first), slot, 0, work, self.device.lanes.whole()));
            self.host.active[slot as usize].remaining += 1;
            self.host.trims_waiting += 1;
            self.writes[queue as usize].push(&mut self.pool, trim);
            self.wake_queue(queue);
        }
    }

    /// Carries out the trims that are first in a domain's queue.
    pub(super) fn run_trims(&mut self, domain: u32) {
        while let Some(first) = self.writes[domain as usize].first() {
            let Transaction { work: Work::Trim { end }, lpn, owner, .. } = *self.pool.get(first) else { return };
            self.writes[domain as usize].remove(&mut self.pool, None, first);
            self.pool.release(first);
            // Pages of one queue are a stripe apart.
            for page in (lpn.0..end.0).step_by(self.writes.len()) {
                self.device.ftl.trim(Lpn(page));
            }
            self.host.trims_waiting -= 1;
            self.part_done(owner);
            if self.device.map_in_flash && self.device.ftl.is_busy(domain) {
                // The map has to be told in flash before the next trim or write.
                self.note_collections(domain);
                self.wake_queue(domain);
                return;
            }
        }
    }

    /// Sends for the old version of a page that is written in part. Returns whether there is one to wait for.
    pub(super) fn fetch_old(&mut self, write: u32) -> bool {
        let Transaction { lpn, age, share, .. } = *self.pool.get(write);
        let Some(ppn) = self.device.ftl.lookup(lpn) else { return false };
        let transaction = self.pool.get_mut(write);
        (transaction.partial, transaction.waiting) = (false, true);
        let floor = self.device.array_floor(lpn);
        let needed = Share { touched: share.old, old: 0 };
        let read = self.pool.insert(Transaction::new(age, lpn, write, floor, Work::ReadOld, needed));
        let die = self.device.ftl.geometry().die_of(ppn);
        self.queue_read(die, read);
        true
    }

    /// The data of a read are in the controller, corrected.
    pub(super) fn read_done(&mut self, slot: u32) {
        let Transaction { work, owner, lpn, .. } = *self.pool.get(slot);
        self.pool.release(slot);
        if work == Work::Read {
            self.part_done(owner);
        } else {
            self.pool.get_mut(owner).waiting = false;
            self.page_completed(owner);
            self.wake_queue(self.device.ftl.allocation().queue_of(lpn));
        }
    }

    /// The program of a write is done.
    pub(super) fn write_done(&mut self, slot: u32) {
        let Transaction { lpn, version, owner, .. } = *self.pool.get(slot);
        self.pool.release(slot);
        if self.buffer.is_some() {
            self.device.programmed(lpn, version);
            self.page_programmed(owner);
        } else {
            self.device.programmed_and_completed(lpn, version);
            self.part_done(owner);
        }
    }

    /// A read turned out to have nothing to read: its page was trimmed while it waited.
    pub(super) fn read_vanished(&mut self, slot: u32) {
        if self.pool.get(slot).work == Work::Read {
            self.device.recorder.counters.unmapped_reads += 1;
        }
        self.read_done(slot);
    }

    /// One of the things that a request waits for is done.
    pub(super) fn part_done(&mut self, slot: u32) {
        let request = &mut self.host.active[slot as usize];
        request.remaining -= 1;
        if request.remaining > 0 {
            return;
        }
        let Active { kind, arrived, bytes, order, .. } = *request;
        if self.buffer.is_some() {
            self.device.check_durable(slot);
        }
        self.host.free.push(slot);
        self.host.completions += 1;
        self.host.last_completion = self.now;
        self.device.recorder.completed(kind, arrived, self.now, bytes);
        match kind {
            RequestKind::Write if self.buffer.is_none() => self.write_request_done(order),
            RequestKind::Flush => self.host.flushes.retain(|&flush| flush != slot),
            RequestKind::Write | RequestKind::Read | RequestKind::Trim => {}
        }
    }

    /// Flushes that were admitted after a write of that order number wait for one write fewer.
    fn write_request_done(&mut self, order: u64) {
        self.host.writes_in_flight -= 1;
        let waiting: Vec<u32> =
            self.host.flushes.iter().copied().filter(|&flush| self.host.active[flush as usize].order > order).collect();
        for flush in waiting {
            self.part_done(flush);
        }
    }

    /// The cause under which the read of a transaction is counted.
    pub(super) fn read_cause(&self, slot: u32) -> Cause {
        if self.pool.get(slot).work == Work::ReadOld { Cause::Rmw } else { Cause::Host }
    }

    pub(super) fn next_age(&mut self) -> u64 {
        self.ages += 1;
        self.ages
    }
}
