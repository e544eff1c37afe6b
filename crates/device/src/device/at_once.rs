//! The operations of the FTL, carried out on the array at once: what each of them reads, programs and counts.

use base::{Cause, OpKind, Ppn, Unit};
use ftl::{Array, DataSource, Erasure, How, PagePayload, Placed, Rewriter, Rewritten, Way};

use crate::flash::{Content, Flash, Programmed};
use crate::watchdog::Watchdog;

/// Carries out operations on the array at once.
pub(crate) struct AtOnce<'a> {
    pub(crate) flash: &'a mut Flash,
    pub(super) counters: &'a mut metrics::Counters,
    watchdog: &'a mut Watchdog,
    /// The controller's copy of the page whose program failed.
    held: Content,
    /// True if a unit was erased.
    pub(super) has_erased: bool,
    /// The page that was read last: others of its flash page came with it. For a parity, that of each of the two.
    last_read: [Option<Ppn>; 2],
}

impl<'a> AtOnce<'a> {
    pub(crate) fn new(
        flash: &'a mut Flash,
        counters: &'a mut metrics::Counters,
        watchdog: &'a mut Watchdog,
        held: Content,
    ) -> AtOnce<'a> {
        AtOnce { flash, counters, watchdog, held, has_erased: false, last_read: [None; 2] }
    }

    /// Places a page, whose last version that is older lies at `old`.
    #[inline(always)]
    fn program(&mut self, cause: Cause, placed: Placed, data: Content, old: Option<Ppn>) -> bool {
        let again = placed.way == Way::Again;
        self.counters.count(cause, OpKind::Program, if again { self.flash.parts() } else { 1 });
        self.counters.reprograms += u64::from(again);
        let programmed = self.flash.place(placed, content_of(self.flash, placed, data), old);
        self.counters.first_passes += self.flash.take_first_passes();
        programmed == Programmed::Done
    }

    #[inline]
    fn read(&mut self, cause: Cause, from: Ppn) -> Content {
        self.read_of(0, cause, from)
    }

    /// Reads a page, of two that are read together the one of that number.
    #[inline]
    fn read_of(&mut self, number: usize, cause: Cause, from: Ppn) -> Content {
        if let Some(content) = self.flash.in_frame(from) {
            return self.flash.hold_frame(content);
        }
        if self.last_read[number].replace(from).is_some_and(|last| self.flash.comes_with(last, from)) {
            return self.flash.read_along(from);
        }
        self.counters.count(cause, OpKind::Read, 1);
        self.flash.read(from)
    }

    /// Reads what covers a page; nothing if its content is lost, or if it was erased too early, which only the
    /// variant of GCMix without `hold` does.
    fn read_whole(&mut self, cause: Cause, page: Ppn) -> Option<Content> {
        if !self.flash.is_programmed(page) {
            return None;
        }
        let content = self.read(cause, page);
        (!self.flash.is_lost(page)).then_some(content)
    }

    /// The data of a page that is written anew, if they are left; and where its last version that is older lies, if an erase waits for it.
    fn left_of(&mut self, cause: Cause, source: DataSource) -> (Option<Content>, Option<Ppn>) {
        let old = match source {
            DataSource::PageBuffer(page) => self.flash.old_of_buffered(page),
            DataSource::Page(page) | DataSource::Parity(page, _) if self.flash.gathers() => Some(page),
            _ => None,
        };
        let content = match source {
            DataSource::Controller => Some(self.held),
            DataSource::PageBuffer(page) => self.flash.buffered(page),
            DataSource::Page(page) => self.read_whole(cause, page),
            DataSource::Parity(parity, other) => {
                let parity = self.read_whole(cause, parity);
                parity.zip(self.read_whole(cause, other)).map(|(parity, other)| self.flash.xor(parity, other))
            }
        };
        (content, old)
    }

    /// Places a page that holds nothing, likewise.
    pub(crate) fn place_dummy(&mut self, to: Placed) {
        let data = content_of(self.flash, to, Content::EMPTY);
        self.flash.place(to, data, None).expect_done();
    }

    /// Places a page anew, where programs take time and another one counts it. Returns whether its data were left.
    pub(crate) fn place_anew(&mut self, cause: Cause, source: DataSource, to: Placed) -> bool {
        let (content, old) = self.left_of(cause, source);
        let data = content_of(self.flash, to, content.unwrap_or(Content::EMPTY));
        self.flash.place(to, data, old).expect_done();
        content.is_some()
    }
}

impl Rewriter for AtOnce<'_> {
    fn combined(&mut self, cause: Cause, pages: &[Ppn], to: Placed) -> bool {
        self.watchdog.step(self.counters);
        let are_apart = matches!(pages, &[one, other] if !self.flash.comes_with(one, other));
        let content = pages.iter().enumerate().fold(Content::EMPTY, |parity, (number, &page)| {
            let page = self.read_of(if are_apart { number } else { 0 }, cause, page);
            self.flash.xor(parity, page)
        });
        self.program(cause, to, content, None)
    }

    fn rewritten(&mut self, cause: Cause, source: DataSource, to: Placed) -> Rewritten {
        let (content, old) = self.left_of(cause, source);
        let held = self.flash.let_go_of_buffered();
        let data = content.unwrap_or(Content::EMPTY);
        if self.program(cause, to, data, old) {
            self.flash.hold_buffered(held);
            return if content.is_some() { Rewritten::Done } else { Rewritten::Lost };
        }
        if content.is_some() {
            let data = content_of(self.flash, to, data);
            self.flash.hold_failed(to.at, data, old);
        }
        self.flash.hold_buffered(held);
        if content.is_some() { Rewritten::Failed } else { Rewritten::LostAndFailed }
    }

    fn held(&self) -> Vec<Ppn> {
        self.flash.held()
    }

    fn original_of(&self, at: Ppn) -> Option<Ppn> {
        self.flash.original_of(at)
    }

    fn lost_in(&self, unit: Unit) -> Vec<Ppn> {
        self.flash.lost_in(unit)
    }
}

impl Array for AtOnce<'_> {
    #[inline(always)]
    fn moved(&mut self, cause: Cause, how: How, from: Ppn, to: Placed) -> bool {
        count_moves(self.counters, cause, 1);
        if how == How::Copyback {
            let comes_along = self.last_read[0].replace(from).is_some_and(|last| self.flash.comes_with(last, from));
            self.counters.copyback(cause, u64::from(!comes_along), 1);
            return self.flash.place_copy(from, to) == Programmed::Done;
        }
        let content = self.read(cause, from);
        self.program(cause, to, content, Some(from))
    }

    #[inline]
    fn moves_runs(&self, unit: Unit) -> bool {
        self.flash.moves_runs(unit)
    }

    #[inline]
    fn moved_run(&mut self, cause: Cause, pages: u32, last: Ppn, to: Ppn, reads: &[u32]) {
        count_moves(self.counters, cause, pages);
        let read = if let &[of_block] = reads { of_block } else { reads.iter().sum() };
        self.counters.count(cause, OpKind::Read, read.into());
        self.counters.count(cause, OpKind::Program, u64::from(pages));
        self.flash.move_run(pages, last, to, reads);
    }

    fn read(&mut self, cause: Cause, from: Ppn) {
        self.watchdog.step(self.counters);
        self.read(cause, from);
    }

    fn erased(&mut self, erasure: Erasure) -> bool {
        self.watchdog.step(self.counters);
        self.last_read = [None; 2];
        let blocks = self.flash.erase(erasure.unit);
        self.has_erased = true;
        self.counters.count(erasure.cause, OpKind::Erase, blocks);
        count_collection(self.counters, erasure);
        self.flash.retire_if_bad(erasure)
    }

    #[inline]
    fn waits_for(&self, unit: Unit) -> Option<Unit> {
        self.flash.waits_for(unit)
    }
}

/// The content of a page that was placed, made of `data`: what was read or, of the host's page, what it sent.
#[inline(always)]
pub(super) fn content_of(flash: &Flash, placed: Placed, data: Content) -> Content {
    match placed.holds {
        PagePayload::Data(_) | PagePayload::Parity => data.tagged(placed.tag),
        PagePayload::Map(lpn) => Content { data: flash.data_of_map(lpn), spare: placed.tag },
        PagePayload::Nothing => Content { spare: placed.tag, ..Content::EMPTY },
    }
}

/// Counts valid pages moved.
#[inline]
pub(crate) fn count_moves(counters: &mut metrics::Counters, cause: Cause, pages: u32) {
    if cause == Cause::Gc {
        counters.gc_moved_pages += u64::from(pages);
    }
}

/// Counts a finished collection.
pub(crate) fn count_collection(counters: &mut metrics::Counters, erasure: Erasure) {
    match erasure.cause {
        Cause::Gc if !erasure.ends => {}
        Cause::Gc => {
            counters.gc_invocations += 1;
            counters.gc_forward += u64::from(erasure.forward);
            counters.gc_foreground += u64::from(!erasure.forward);
        }
        Cause::Wear => counters.wear_moves += 1,
        _ => {}
    }
}
