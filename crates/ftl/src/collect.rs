//! Page mapping without time: what a domain has to do is carried out at once, on an array that has done it when it answers.

use base::{Cause, Domain, OpKind, Ppn, Unit};

use crate::group::Group;
use crate::kernel::{FAR_AHEAD, Job, PREFETCH_DISTANCE, RunReads, Stream};
use crate::mechanism::Mechanisms;
use crate::ops::{Array, DataSource, How, Op, Step};
use crate::page::PageMap;

impl<M: Mechanisms> PageMap<M> {
    /// A page of the array is read.
    #[inline]
    pub(crate) fn page_read(&mut self, at: Ppn) {
        if let Some(reads) = self.mechanisms.parts_mut().reads {
            reads.page_read(&mut self.kernel, at);
        }
    }

    /// Pages of the array are read: those of one flash page that follow each other with one read.
    fn pages_read(&mut self, pages: &[Ppn]) {
        for (at, &page) in pages.iter().enumerate() {
            if self.is_read_first(pages, at) {
                self.page_read(page);
            }
        }
    }

    /// Of pages that are read one after the other, one does not come with the page before it.
    #[inline]
    fn is_read_first(&self, pages: &[Ppn], at: usize) -> bool {
        let geometry = self.kernel.geometry();
        at == 0 || geometry.flash_page_of(pages[at - 1]) != geometry.flash_page_of(pages[at])
    }

    /// Carries out the collections that a domain needs, at once: so many operations at most. Returns whether there may be more; if not
    /// all was asked for, neighbours that are collected along are left for later.
    pub(crate) fn collect(&mut self, domain: Domain, most: u32, array: &mut impl Array) -> bool {
        let goes_on = self.collect_alone(domain, most, array);
        // They may have neighbours of their own.
        while most == u32::MAX && !self.early.is_empty() {
            for neighbour in std::mem::take(&mut self.early) {
                self.collect_alone(neighbour, most, array);
            }
        }
        goes_on
    }

    fn collect_alone(&mut self, domain: Domain, most: u32, array: &mut impl Array) -> bool {
        if M::IS_PLAIN || !self.on_demand && self.moves_one_by_one() && most == u32::MAX {
            while let Some(&job) = self.kernel.job(domain) {
                self.empty(domain, job, array);
                self.fill_up_for(domain, job.unit, array);
                self.erase(domain, job.unit, array);
            }
            return false;
        }
        let mut group = Group::EMPTY;
        let goes_on = (0..most).all(|_| self.carry_out_next(domain, &mut group, array));
        if !goes_on {
            self.carry_out_woken(array);
        }
        goes_on
    }

    /// Pages of a victim may move one by one: none of them has to move with others, as pages of one offset of twin blocks do, and those
    /// of one flash page that is copied.
    fn moves_one_by_one(&self) -> bool {
        let geometry = self.kernel.geometry();
        if geometry.parts == 1 { geometry.unit_width == 1 } else { self.mechanisms.parts().load.is_none() }
    }

    /// The stream of all pages of a victim, where no mechanism hears of single pages.
    fn stream_of_run(&self, domain: Domain, job: &Job) -> Option<Stream> {
        if M::IS_PLAIN {
            return Some(Stream::FIRST);
        }
        let first = self.kernel.next_valid(job.unit, job.cursor).filter(|_| self.is_quiet())?;
        Some(self.stream_of_copy(domain, self.kernel.geometry().ppn(job.unit, first)))
    }

    /// Carries out what domains have to do because of another one.
    pub(crate) fn carry_out_woken(&mut self, array: &mut impl Array) {
        while let Some(woken) = self.kernel.take_woken() {
            self.carry_out(woken, array);
        }
    }

    /// Asks for what moving a page will change.
    #[inline]
    pub(crate) fn prefetch_copy(&self, from: Ppn) {
        self.kernel.prefetch_copy(from);
        if !self.is_quiet()
            && let Some(lpn) = self.kernel.lpn_at(from)
        {
            self.mechanisms.prefetch(lpn);
        }
    }

    /// Has a unit erased, and takes note of it.
    #[inline(always)]
    fn erase(&mut self, domain: Domain, unit: Unit, array: &mut impl Array) {
        if !array.erased(self.erasure(domain, unit)) {
            self.wears_out(unit, OpKind::Erase);
        }
        self.unit_erased(domain, unit);
    }

    /// Moves every valid page of a job's unit.
    fn empty(&mut self, domain: Domain, job: Job, array: &mut impl Array) {
        let geometry = self.kernel.geometry();
        let (first, end) = (geometry.ppn(job.unit, job.cursor).0, geometry.ppn(job.unit, geometry.end_slot()).0);
        self.kernel.prefetch_pages(Ppn(first)..Ppn(end.min(first + FAR_AHEAD)));
        if array.moves_runs(job.unit)
            && let Some(stream) = self.stream_of_run(domain, &job)
        {
            return match self.kernel.geometry().parts {
                1 => self.move_runs::<false>(domain, stream, &job, array),
                _ => self.move_runs::<true>(domain, stream, &job, array),
            };
        }
        self.kernel.prefetch_pages(Ppn(end.min(first + FAR_AHEAD))..Ppn(end));
        for coming in first..(first + PREFETCH_DISTANCE).min(end) {
            self.prefetch_copy(Ppn(coming));
        }
        for from in first..end {
            if from + PREFETCH_DISTANCE < end {
                self.prefetch_copy(Ppn(from + PREFETCH_DISTANCE));
            }
            let from = Ppn(from);
            let stream = self.stream_of_copy(domain, from);
            let how = self.how_of_one(domain, stream, from);
            let Some(placed) = self.copy_from(domain, stream, job.unit, from, how) else { continue };
            if !array.moved(job.cause, how, from, placed) {
                self.repair(placed.at, DataSource::Page(from), array);
            }
        }
    }

    /// Moves all of them to a stream, several at once; flash pages have `PARTS` or none.
    #[inline(never)] // A loop by itself has more registers.
    fn move_runs<const PARTS: bool>(&mut self, domain: Domain, stream: Stream, job: &Job, array: &mut impl Array) {
        let (mut from, mut reads) = (job.cursor, RunReads::NONE);
        let lanes = self.kernel.geometry().unit_width as usize;
        while let Some(run) = self.kernel.move_run::<PARTS>(domain, stream, (job.unit, from), &mut reads) {
            if PARTS {
                array.moved_run(job.cause, run.pages, run.last, run.to, &reads.of_lane[..lanes]);
                reads.of_lane[..lanes].fill(0);
            } else {
                array.moved_run(job.cause, run.pages, run.last, run.to, &[run.pages]);
            }
            if let Some(unit) = run.filled {
                self.mechanisms.filled(&mut self.kernel, domain, unit);
            }
            from = run.next;
        }
    }

    /// Which way a page moves by itself.
    #[inline]
    fn how_of_one(&mut self, domain: Domain, stream: Stream, from: Ppn) -> How {
        if M::IS_PLAIN {
            return How::OffChip;
        }
        self.group.clear();
        self.group.push(from);
        self.mechanisms.how(&self.kernel, domain, stream, &self.group).unwrap_or(How::OffChip)
    }

    /// Does what a domain has to do, one operation after the other.
    fn carry_out(&mut self, domain: Domain, array: &mut impl Array) {
        let mut group = Group::EMPTY;
        while self.carry_out_next(domain, &mut group, array) {}
    }

    /// Does the next operation. Returns whether there may be another one.
    #[inline(always)]
    pub(crate) fn carry_out_next(&mut self, domain: Domain, group: &mut Group, array: &mut impl Array) -> bool {
        let Some(Step { op, cause }) = self.take_in_hand(domain, group) else { return false };
        match op {
            Op::Move(how) => self.move_group(domain, cause, how, group, array),
            // The top page of a wordline is lost by it, as all pages are by an erase.
            Op::Reprogram if self.fill_up_for(domain, self.kernel.geometry().unit_of(group.pages()[0]), array) => {}
            Op::Combine | Op::Reprogram => {
                self.pages_read(group.pages());
                let parts = (0..group.products).map(|number| group.of_product(number.into()));
                let mut last = None;
                for pages in parts.chain((0..group.rest).map(|_| Group::EMPTY)) {
                    let placed = self.combine(domain, cause, pages.pages(), &mut |_| true).expect("what was asked for");
                    if !array.combined(cause, pages.pages(), placed) {
                        self.repair(placed.at, DataSource::Controller, array);
                    }
                    last = Some(placed.at);
                }
                last.map(|at| self.programmed(at));
            }
            Op::Pad => {
                self.fill_up(domain, cause, array);
                // Stops when idle, as the executor with time does.
                return self.is_busy(domain);
            }
            Op::Read => {
                self.pages_read(group.pages());
                group.pages().iter().for_each(|&page| array.read(cause, page));
                if let Some(map) = self.mechanisms.parts_mut().map.filter(|_| cause == Cause::Mapping) {
                    map.fetched(&mut self.kernel, domain);
                }
            }
            // What is filled up may change what comes next.
            Op::Erase(unit) if self.fill_up_for(domain, unit, array) => {}
            Op::Erase(unit) => {
                self.erase(domain, unit, array);
            }
        }
        true
    }

    /// Moves the pages of a group, and fills up behind them. What stands behind a page whose program failed is decided anew: the next
    /// page goes to another active block, which may stand elsewhere.
    fn move_group(&mut self, domain: Domain, cause: Cause, how: How, group: &Group, array: &mut impl Array) {
        for (at, &from) in group.pages().iter().enumerate() {
            if self.is_read_first(group.pages(), at) {
                self.page_read(from);
            }
            let placed = self.copy(domain, from, how).expect("nothing changes in between");
            if !array.moved(cause, how, from, placed) {
                return self.repair(placed.at, DataSource::Page(from), array);
            }
        }
        for _ in 0..group.rest {
            self.fill_up(domain, cause, array);
        }
    }

    /// Fills up the active units in which newer versions of a unit's pages wait for others, so that they are programmed before its erase.
    /// Returns whether there were any.
    #[inline]
    fn fill_up_for(&mut self, domain: Domain, unit: Unit, array: &mut impl Array) -> bool {
        let mut fills = false;
        while let Some(open) = array.waits_for(unit) {
            self.fill_up_unit(domain, open, array);
            fills = true;
        }
        fills
    }

    #[cold]
    fn fill_up_unit(&mut self, domain: Domain, open: Unit, array: &mut impl Array) {
        let own = self.kernel.geometry().domain_of_unit(open);
        let was_busy = self.is_busy(own);
        let placed = self.pad_unit(own, open).expect("pages wait in active units");
        if !array.combined(Cause::Pad, &[], placed) {
            self.repair(placed.at, DataSource::Controller, array);
        }
        if own != domain && !was_busy && self.is_busy(own) {
            self.collect_alone(own, u32::MAX, array);
        }
    }

    /// Programs a dummy page.
    fn fill_up(&mut self, domain: Domain, cause: Cause, array: &mut impl Array) {
        let placed = self.pad(domain);
        if !array.combined(cause, &[], placed) {
            self.repair(placed.at, DataSource::Controller, array);
        }
    }
}
