//! Programs that fail where programs take time: what the controller holds of one, until its pages have other places.
//!
//! The program of a page fails, or that of all pages that are programmed with it. Their data are in frames still. Who hears that a
//! program is over asks for those that failed, and has the FTL find other places for what they held.

use base::{Block, Page, Ppn, Unit};

use super::faults::{Buffered, FailedProgram};
use super::frames::{Data, Frame};
use super::{Content, Flash};

impl Flash {
    /// The program of a page, which had that frame, has failed.
    #[cold]
    pub(super) fn note_failed_page(&mut self, at: Ppn, frame: Option<Frame>) {
        let frame = frame.expect("a page with a payload has a frame");
        let (content, copied_from) = match frame.data {
            Data::Held { content, .. } => (content, None),
            Data::Copied { from, .. } => (Content::EMPTY, Some(from)),
        };
        let mut held = std::mem::take(&mut self.page_buffer);
        held.iter_mut().filter(|page| page.at == at).for_each(|page| page.old = frame.old);
        self.assembly.failed.push(FailedProgram { at, content, copied_from, held });
    }

    /// The program of pages that were programmed together has failed, the last of which that is. What lies in frames of their block up
    /// to there comes to no end either.
    pub(super) fn note_failed_unit(&mut self, at: Ppn, (block, last): (Block, Page)) {
        let geometry = self.geometry;
        let unit = geometry.unit_of(at);
        let is_of_it = |&page: &Ppn| {
            let (of, page) = self.address(page);
            of == block && page <= last
        };
        let in_frames: Vec<Ppn> = self.assembly.frames.pages_of(unit).filter(is_of_it).collect();
        in_frames.into_iter().for_each(|page| self.give_up(page));
        let held = std::mem::take(&mut self.page_buffer);
        self.assembly.failed.push(FailedProgram { at, content: Content::EMPTY, copied_from: None, held });
    }

    /// Programs have failed since that was asked for.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        !self.assembly.failed.is_empty()
    }

    /// The first of them. The controller holds what it has of its pages until the next one is asked for.
    pub(crate) fn take_failed(&mut self) -> Option<FailedProgram> {
        if self.assembly.failed.is_empty() {
            return None;
        }
        let mut failed = self.assembly.failed.remove(0);
        self.page_buffer = std::mem::take(&mut failed.held);
        Some(failed)
    }

    /// A placed page comes to no program where it is; the controller holds it with those of the failed one. What was to be copied inside
    /// its plane it has from where that lies.
    pub(crate) fn give_up(&mut self, at: Ppn) {
        let Some(Frame { data, old, .. }) = self.take_frame(at) else { return };
        self.page_buffer.push(Buffered { at, content: self.content_in(data), old });
    }

    /// The unit whose erase waits for a placed page.
    pub(crate) fn held_back_by(&self, at: Ppn) -> Option<Unit> {
        self.frame(at)?.old
    }

    /// A page is placed, and the array does not have it.
    pub(crate) fn has_frame(&self, at: Ppn) -> bool {
        self.frame(at).is_some()
    }

    /// A version of a page was lost in a failed program, and the next one is placed already: if that is not programmed yet, the erase of
    /// a unit waits for it, as it did for the one that was lost.
    pub(crate) fn inherit(&mut self, newer: Ppn, old: Unit) {
        if let Some(frame) = self.assembly.frames.get_mut(self.geometry.unit_of(newer), newer) {
            let before = frame.old.replace(old);
            self.assembly.holding[old.index()] += 1;
            before.into_iter().for_each(|unit| self.let_go(unit, 1));
        }
    }
}
