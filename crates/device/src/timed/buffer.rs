//! The write buffer in time: what waits for room, when pages are flushed, and who hears of it.
//!
//! Nothing is decided ahead: a page stays in the buffer, where it can be overwritten, until a die that is free
//! and does not collect asks for it. So the buffer writes to as many channels as have pages and are not
//! collecting, and to no other.

use base::{Lpn, RequestKind};
use ftl::Coming;

use super::Timed;
use super::host::{Active, Buffered};
use super::queues::{Transaction, Work};
use crate::buffer::{self, Page, State};
use crate::pages::{Share, Span};

impl Timed<'_, '_> {
    /// Lets writes, trims and flushes that waited for their turn into the buffer, in order, as far as there is
    /// room. Reads do not wait behind them.
    pub(super) fn pump(&mut self) {
        while !self.host.paused
            && let Some(&slot) = self.host.waiting.front()
            && self.take_turn(slot)
        {
            self.host.waiting.pop_front();
            self.part_done(slot);
        }
    }

    fn take_turn(&mut self, slot: u32) -> bool {
        let Active { kind, span, .. } = self.host.active[slot as usize];
        match kind {
            RequestKind::Write => self.accept_write(slot),
            RequestKind::Trim => self.trim_buffered(slot, span.whole()),
            RequestKind::Flush => {
                self.flush_buffer(slot);
                true
            }
            RequestKind::Read => unreachable!("a read takes no turn"),
        }
    }

    /// Accepts a write, if there is room for all its pages; one that is larger than the buffer enters page by
    /// page. Returns whether it is accepted whole.
    fn accept_write(&mut self, slot: u32) -> bool {
        let Active { span, .. } = self.host.active[slot as usize];
        let Buffered { entered, .. } = self.host.buffered[slot as usize];
        let buffer = self.buffer.as_ref().expect("a buffer accepts writes");
        let in_pieces = span.len() > buffer.capacity();
        if !in_pieces && buffer.room() < span.len() {
            // What was found missing before is still missing: meanwhile pages have only left.
            if buffer.room() < self.host.need {
                return false;
            }
            self.host.need = buffer.need(span);
            if buffer.room() < self.host.need {
                return false;
            }
        }
        for (lpn, partial) in span.pages().skip(entered as usize) {
            let buffer = self.buffer.as_ref().expect("a buffer accepts writes");
            if in_pieces && (self.host.paused || buffer.room() == 0 && buffer.find_open(lpn).is_none()) {
                return false;
            }
            self.accept_page(slot, lpn, partial);
            self.host.buffered[slot as usize].entered += 1;
            if in_pieces {
                self.pause_if_full();
            }
        }
        self.host.need = 0;
        self.pause_if_full();
        true
    }

    /// A full buffer begins to flush at once, before the next request is looked at.
    fn pause_if_full(&mut self) {
        self.host.paused |= self.buffer.as_ref().is_some_and(|buffer| buffer.room() == 0);
    }

    fn accept_page(&mut self, slot: u32, lpn: Lpn, partial: bool) {
        let Active { bytes, .. } = self.host.active[slot as usize];
        let Buffered { offset, fua, .. } = self.host.buffered[slot as usize];
        let buffer = self.buffer.as_mut().expect("a buffer accepts writes");
        let written = buffer.parts.written(lpn, partial, offset, bytes);
        self.device.ftl.prefetch(Coming::Overwrite(lpn));
        let page = buffer::accept(self.device, buffer, lpn, written, self.now);
        let entry = buffer.page(page);
        let Page { version, queue, state, .. } = *entry;
        if let State::Handed(write) = state {
            let share = buffer.share(entry);
            let write = self.pool.get_mut(write);
            (write.version, write.share) = (version, share);
            write.partial &= share.old > 0;
        }
        if fua {
            buffer.hurry(page);
            self.host.active[slot as usize].remaining += 1;
            self.host.urgent.push((page, slot));
        }
        if self.has_buffered(queue) {
            self.wake_queue(queue);
        }
        self.wake_oldest();
    }

    /// Drops what waits of a trimmed range, and has the trim take its turn behind what does not wait any more.
    fn trim_buffered(&mut self, slot: u32, span: Span) -> bool {
        if self.device.ftl.allocation().dynamic().is_some() && self.handed_over(span) {
            return false;
        }
        self.enter_trim(slot, span);
        for (lpn, _) in span.pages() {
            let buffer = self.buffer.as_mut().expect("a buffer holds pages");
            let Some(page) = buffer.find(lpn) else { continue };
            if buffer.page(page).state == State::Waiting {
                let dropped = buffer::drop_page(self.device, buffer, page, self.now);
                self.page_settled(page, dropped);
                self.wake_oldest();
            } else {
                // It goes before the trim; what is written now must come after it.
                buffer.close(page);
            }
        }
        true
    }

    /// Whether a page of the span was handed to its queue and is not being programmed yet.
    fn handed_over(&self, span: Span) -> bool {
        self.writes.iter().any(|list| {
            let mut at = list.first();
            while let Some(write) = at {
                let Transaction { lpn, .. } = *self.pool.get(write);
                if (span.first..span.end).contains(&lpn.0) {
                    return true;
                }
                at = list.after(&self.pool, write);
            }
            false
        })
    }

    /// A flush waits for all that is buffered now, and makes it leave.
    fn flush_buffer(&mut self, slot: u32) {
        self.device.promise_durable(slot);
        let buffer = self.buffer.as_mut().expect("a buffer is flushed");
        let request = &mut self.host.active[slot as usize];
        request.order = u64::from(buffer.flush());
        request.remaining += buffer.unprogrammed();
        self.host.flushes.push(slot);
        self.wake_waiting();
    }

    /// Answers a read from the buffer, or says which version the array must give at least, and of how many flash pages.
    #[inline]
    pub(super) fn read_buffer(&mut self, slot: u32, lpn: Lpn, share: Share) -> Option<(u32, u8)> {
        match &mut self.buffer {
            None => Some((self.device.read_floor(lpn), share.touched)),
            Some(buffer) => {
                let Active { bytes, .. } = self.host.active[slot as usize];
                let Buffered { offset, .. } = self.host.buffered[slot as usize];
                let needed = buffer.parts.touched(lpn, offset, bytes);
                let floor = buffer::read(self.device, buffer, lpn, needed);
                self.wake_oldest();
                floor
            }
        }
    }

    /// Says before dies choose whether pages leave the buffer: it is full, or a write waits for room.
    pub(super) fn begin_flushing(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        let waits = self.host.waiting.front().is_some_and(|&slot| {
            // A trim may wait too, but not for room.
            self.host.active[slot as usize].kind == RequestKind::Write
        });
        let flushing = buffer.drains || waits || buffer.room() == 0;
        let begins = flushing && !buffer.flushing;
        buffer.flushing = flushing;
        if begins {
            self.wake_waiting();
        }
    }

    /// The host is done: what is buffered is written too, and does not count as time. Returns whether this
    /// begins now.
    pub(super) fn flush_at_the_end(&mut self) -> bool {
        let Some(buffer) = &mut self.buffer else { return false };
        self.device.recorder.buffer_finish(self.now);
        if buffer.oldest().is_none() || buffer.oldest_due().is_some() {
            return false;
        }
        buffer.flush();
        self.wake_waiting();
        true
    }

    /// Hands the page of a queue that may leave now, if there is one, to its dies.
    #[inline(never)]
    pub(super) fn supply(&mut self, queue: u32) -> Option<u32> {
        let buffer = self.buffer.as_ref()?;
        let page = buffer.next_of(queue)?;
        Some(self.hand_over(queue, page))
    }

    fn hand_over(&mut self, queue: u32, page: u32) -> u32 {
        let age = self.next_age();
        let buffer = self.buffer.as_mut().expect("a buffered page");
        let entry = buffer.page(page);
        let (Page { lpn, version, .. }, share) = (*entry, buffer.share(entry));
        let write = self.pool.insert(Transaction::new(age, lpn, page, version, Work::Write, share));
        buffer.hand_over(page, write);
        self.writes[queue as usize].push(&mut self.pool, write);
        self.wake_oldest();
        write
    }

    /// Whether a shared queue has writes for a die that is free.
    pub(super) fn has_writes(&self, queue: u32) -> bool {
        self.writes[queue as usize].first().is_some() || self.has_buffered(queue)
    }

    /// Whether a buffered page would leave through a queue now.
    pub(super) fn has_buffered(&self, queue: u32) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| buffer.next_of(queue).is_some())
    }

    /// A page that was handed over is being programmed.
    #[inline]
    pub(super) fn begin_program(&mut self, write: u32) {
        if let Some(buffer) = &mut self.buffer {
            buffer.begin_program(self.pool.get(write).owner);
        }
    }

    /// The old version of a page that was handed over has arrived.
    pub(super) fn page_completed(&mut self, write: u32) {
        if let Some(buffer) = &mut self.buffer {
            buffer.complete(self.pool.get(write).owner);
        }
    }

    /// The data of a buffered page that is being programmed are in the chip.
    pub(super) fn page_transferred(&mut self, page: u32) {
        let buffer = self.buffer.as_mut().expect("a buffered page");
        buffer::release(self.device, buffer, page, self.now);
    }

    /// A buffered page was programmed.
    pub(super) fn page_programmed(&mut self, page: u32) {
        let buffer = self.buffer.as_mut().expect("a buffered page");
        let left = buffer::leave(self.device, buffer, page, self.now);
        self.page_settled(page, left);
    }

    /// Tells those who wait for a page: writes with FUA, and flushes that began while it was buffered.
    fn page_settled(&mut self, page: u32, left: Page) {
        while let Some(at) = self.host.urgent.iter().position(|(waited_for, _)| *waited_for == page) {
            let (_, slot) = self.host.urgent.remove(at);
            self.part_done(slot);
        }
        let mut at = 0;
        while let Some(&flush) = self.host.flushes.get(at) {
            if self.host.active[flush as usize].order > u64::from(left.flushes) {
                self.part_done(flush);
            }
            // One that is complete is no longer in the list.
            at += usize::from(self.host.flushes.get(at) == Some(&flush));
        }
    }

    /// Wakes the dies of every queue that has pages waiting.
    fn wake_waiting(&mut self) {
        for queue in 0..self.writes.len() as u32 {
            if self.buffer.as_ref().is_some_and(|buffer| buffer.has_waiting(queue)) {
                self.wake_queue(queue);
            }
        }
    }

    /// The oldest page may have changed: where pages leave in one order, its die has to hear of it.
    fn wake_oldest(&mut self) {
        let Some(buffer) = &self.buffer else { return };
        if buffer.is_in_one_order()
            && let Some(page) = buffer.oldest()
        {
            let queue = buffer.page(page).queue;
            self.wake_queue(queue);
        }
    }
}
