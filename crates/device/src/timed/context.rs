//! The state that every part of the executor works on.

use std::collections::VecDeque;

use base::{Die, Domain, Instant, Lpn, Ppn, Queue, RequestKind, Slot, Unit};
use files::Interrupt;
use ftl::HostWrite;
use metrics::SplitLatencies;

use super::front::ranges::ReadRanges;
use super::plan::{Any, Chip, Plan};
use super::queues::{Queues, RequestId, Transaction, TransactionId, Work};
use super::waits::Waits;
use crate::device::Device;
use crate::errors::RunError;

/// The FTL and the array, what waits for a die, the time, and what is in force.
pub(super) struct Context<'a, P: Plan = Any> {
    pub(super) device: &'a mut Device,
    pub(super) queues: Queues,
    /// Work that features of the chip have under way.
    pub(super) chip: P::Chip,
    /// The waits of pages, where latencies are split.
    pub(super) waits: Option<Box<Waits>>,
    /// The parts that reads want of their pages, where that makes a difference.
    pub(super) wanted: Option<Box<ReadRanges>>,
    /// Reads of the host whose data pass the link when they are correct, with these instants; where nothing else is told of them.
    pub(super) leaving: Option<VecDeque<(Instant, TransactionId)>>,
    /// Asked inside long requests. After a "no" a request may be half done, and the run ends before that matters.
    pub(super) interrupt: Interrupt,
    pub(super) now: Instant,
    /// The host is done; what remains is collections that were under way, and what is buffered.
    pub(super) draining: bool,
    pub(super) plan: P,
}

// What pages wait for. A plain device does not ask.
impl<P: Plan> Context<'_, P> {
    /// Notes something, where latencies are split.
    #[inline(always)]
    pub(super) fn note(&mut self, note: impl FnOnce(&mut Waits, Instant)) {
        let now = self.now;
        if let Some(waits) = self.waits() {
            note(waits, now);
        }
    }

    /// The waits of pages, where latencies are split.
    #[inline(always)]
    fn waits(&mut self) -> Option<&mut Waits> {
        if self.splits_latencies() { self.waits.as_deref_mut() } else { None }
    }

    /// True where latencies are split.
    #[inline(always)]
    pub(super) fn splits_latencies(&self) -> bool {
        self.plan.has().watchers && self.waits.is_some()
    }

    /// The parts of pages that reads want, where that makes a difference.
    #[inline(always)]
    pub(super) fn wanted(&mut self) -> Option<&mut ReadRanges> {
        if self.plan.has().front { self.wanted.as_deref_mut() } else { None }
    }

    /// The reads of the host that are being corrected, if a read is one that passes the link then.
    #[inline(always)]
    pub(super) fn leaving(&mut self, read: TransactionId) -> Option<&mut VecDeque<(Instant, TransactionId)>> {
        if !self.plan.has().front || !matches!(self.queues.get(read).work, Work::Read(_)) {
            return None;
        }
        self.leaving.as_mut()
    }

    /// A page of the host comes into the device.
    #[inline(always)]
    pub(super) fn insert(&mut self, transaction: Transaction) -> TransactionId {
        let page = self.queues.insert(transaction);
        self.note(|waits, now| waits.page_comes(now, page, transaction.lpn, transaction.work));
        if let Some(wanted) = self.wanted() {
            wanted.page_comes(page);
        }
        page
    }

    /// Has a die do a read.
    #[inline(always)]
    pub(super) fn push_read(&mut self, die: Die, read: TransactionId) {
        self.queues.push_read(die, read);
        if self.splits_latencies() {
            let Transaction { lpn, translated, .. } = *self.queues.get(read);
            let lacks_entry = !translated && self.lacks_entry(lpn);
            self.note(|waits, now| waits.wait_for_die(now, read, die, lacks_entry));
        }
    }

    /// Has a write wait in a queue.
    #[inline(always)]
    pub(super) fn push_write(&mut self, queue: Queue, write: TransactionId) {
        self.queues.push_write(queue, write);
        // Otherwise it waits for its old version.
        if self.splits_latencies() && !self.queues.get(write).waiting {
            self.write_waits(queue, write);
        }
    }

    /// A write waits for its turn.
    pub(super) fn write_waits(&mut self, queue: Queue, write: TransactionId) {
        if !self.splits_latencies() {
            return;
        }
        let lacks_entry = self.lacks_entry(self.queues.get(write).lpn);
        if self.device.allocation.dynamic().is_some() {
            self.note(|waits, now| waits.wait_for_any_die(now, write, queue, lacks_entry));
        } else {
            let die = self.device.flash.geometry().die_of_domain(queue.domain());
            self.note(|waits, now| waits.wait_for_die(now, write, die, lacks_entry));
        }
    }

    /// The page of the first write of a queue.
    #[inline(always)]
    pub(super) fn first_page(&self, queue: Queue) -> Option<HostWrite> {
        let waiting = self.queues.writes(queue);
        if self.device.has.hints {
            return waiting.first().map(|write| self.queues.get(write).page());
        }
        waiting.first_lpn().map(HostWrite::from)
    }

    /// Where the version of a page lies that a write is about to make invalid, where an erase may have to wait for that write.
    #[inline(always)]
    pub(super) fn older_version(&self, lpn: Lpn) -> Option<Ppn> {
        if self.assembles() { self.device.ftl.lookup(lpn).ok() } else { None }
    }

    /// Copies may be placed several at once: the array programs rows, all alike, and nobody hears of single pages.
    #[inline(always)]
    pub(super) fn takes_runs(&self) -> bool {
        self.assembles() && self.device.flash.rows_are_plain() && !self.device.recorder.has_tenants()
    }

    /// A die has programmed pages of the host or of the map, or gives up pages that failed. An erase may have waited for that.
    #[inline(always)]
    pub(super) fn note_programmed(&mut self, ppns: impl Iterator<Item = Ppn>) {
        if (self.plan.is_dynamic() || self.plan.has().mechanisms && self.device.has.map.is_some())
            && let Some(pages) = self.device.has.pages
        {
            for old in ppns.filter_map(|ppn| pages.programmed(&mut self.device.ftl, ppn)) {
                self.queues.resume_erase(old);
            }
        }
    }

    /// The erase of a unit waits until newer versions of its pages are programmed.
    #[inline(always)]
    pub(super) fn holds_back(&self, unit: Unit) -> bool {
        let (geometry, dynamic) = (self.device.flash.geometry(), self.device.has.dynamic);
        let (first, pages) = (geometry.ppn(unit, Slot::FIRST), geometry.unit_slots());
        let on_other_dies = || dynamic.is_some_and(|dynamic| dynamic.needs(&self.device.ftl, first, pages));
        self.assembles() && self.device.flash.holds_back(unit) || self.plan.is_dynamic() && on_other_dies()
    }

    /// Pages are placed before they can be programmed.
    #[inline(always)]
    pub(super) fn assembles(&self) -> bool {
        P::Chip::assembles(self)
    }

    /// A FLUSH waits, perhaps for pages that are placed and cannot be programmed.
    pub(super) fn flush_waits(&mut self) {
        if self.assembles() {
            self.queues.wake_all();
        }
    }

    /// A page is still in the controller.
    #[inline(always)]
    pub(super) fn keeps(&self, ppn: Ppn) -> bool {
        P::Chip::keeps(self, ppn)
    }

    /// True if pages lie on other planes than the owners of their map entries.
    #[inline(always)]
    pub(super) fn has_owners(&self) -> bool {
        self.plan.has().mechanisms && self.device.has_owners
    }

    fn lacks_entry(&self, lpn: Lpn) -> bool {
        !self.device.is_known(lpn)
    }

    /// The queue of the writes that a domain may take: its own, or one that it shares.
    #[inline(always)]
    pub(super) fn queue_of(&self, domain: Domain) -> Queue {
        let Device { flash, allocation, .. } = &*self.device;
        let shared = allocation.dynamic();
        shared.map_or(Queue::of_domain(domain), |shared| shared.queue_of_die(flash.geometry().die_of_domain(domain)))
    }

    /// Lets the series know the time.
    #[inline(always)]
    pub(super) fn tick(&mut self) {
        if let Some(bookings) = self.plan.bookings()
            && self.device.recorder.row_due() <= self.now
        {
            bookings.close_rows(self.device, self.now);
        }
        self.device.recorder.tick(self.now);
    }

    /// A request is complete.
    #[inline(always)]
    pub(super) fn complete(&mut self, request: RequestId, kind: RequestKind, arrived: Instant, bytes: u64) {
        if let Some(bookings) = self.plan.bookings()
            && self.device.recorder.closes_row(kind, bytes)
        {
            bookings.close_row(self.device, self.now);
        }
        self.device.recorder.completed(kind, arrived, self.now, bytes);
        let now = self.now;
        if let Some(waits) = self.waits()
            && let Some(completed) = waits.request_is_complete(now, request, kind, arrived, bytes)
            && let Some(split) = &mut self.device.recorder.split
        {
            split.add(&completed, now);
        }
    }

    /// Makes sure of memory for one more request, and for its pages.
    ///
    /// # Errors
    /// When there is not as much.
    #[inline(always)]
    pub(super) fn make_room(&mut self, pages: u32) -> Result<(), RunError> {
        self.queues.make_room(pages)?;
        if self.splits_latencies()
            && let Some(rows) = self.device.recorder.split.as_ref().and_then(|split| split.rows_to_come())
        {
            let what = format_args!("`run.per_request` keeps every request: {rows} of them");
            let help = "use a shorter workload, or only `run.latency_parts`, which keeps a few examples";
            return RunError::unless_room(rows * SplitLatencies::BYTES_OF_ROW, what, help);
        }
        Ok(())
    }
}
