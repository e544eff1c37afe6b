//! Without time: pages are placed one by one, and the array programs them together as soon as the last of a *program unit* is placed.
//!
//! A program unit is what the array programs at once: a page, or all pages of a wordline. Its pages lie in frames until then. Where
//! wordlines are programmed in two passes, the second one comes with the first pass of the wordline behind, or, where there is none,
//! at once; until then a page lies in its frame.

use base::{Block, Page, Ppn, Slot, Unit};
use ftl::{PagePayload, Placed, Way};
use nand::StoreKind;

use super::assembly::Wordlines;
use super::faults::{Fate, Found};
use super::frames::{Data, Frame};
use super::{Content, Flash, Programmed, Stamp, obey};

impl Flash {
    /// Pages are placed one by one, and programmed with others.
    #[inline]
    pub(crate) fn gathers(&self) -> bool {
        self.assembly.wordlines != Wordlines::ByPage || self.geometry.parts > 1
    }

    /// Places a page, and programs its unit if it is the last one of that.
    pub(super) fn gather(&mut self, placed: Placed, content: Content, old: Option<Ppn>) -> Programmed {
        let (block, page) = self.address(placed.at);
        self.note_mode(placed);
        // Blocks of LSB pages have one page to a wordline, and a page that is programmed once more is there already.
        if placed.way == Way::Again || self.geometry.parts == 1 && self.nand.together_in(block) == 1 {
            let programmed = self.program_as(placed.at, placed.way, content);
            if programmed == Programmed::Done && matches!(placed.holds, PagePayload::Data(_)) && !self.is_off() {
                self.assembly.landed.push(Stamp::unpack(content.data));
            }
            return programmed;
        }
        self.keep_content(placed, content, old);
        self.program_if_whole(placed.at, (block, page))
    }

    /// Several pages that follow each other can be placed at once: they store nothing, and wait for those of their row.
    pub(super) fn gathers_runs(&self) -> bool {
        let stores_nothing = self.nand.stores() == StoreKind::Nothing && !self.supply.is_watched();
        self.geometry.parts > 1 && self.assembly.wordlines == Wordlines::ByPage && stores_nothing
    }

    /// Places so many pages of a unit from one place on, where that holds. Rows that are placed as a whole need no frames.
    pub(super) fn gather_run(&mut self, pages: u32, unit: Unit, to: Ppn) {
        let end = to.0 + pages;
        let mut at = to.0;
        while at < end {
            let row = self.geometry.row_around(Ppn(at));
            let next = end.min(row.end);
            if next - at < self.geometry.row_slots() {
                let old = self.hold_back(Some(unit), (next - at) as u16);
                self.keep_frame(Frame::of_run(Ppn(at), next - at, old));
            }
            if next == row.end {
                let last = Ppn(next - 1);
                self.program_if_whole(last, self.address(last)).expect_done();
            }
            at = next;
        }
    }

    /// Programs the unit of a placed page, which lies there, if it is the last one of that.
    pub(super) fn program_if_whole(&mut self, at: Ppn, (block, page): (Block, Page)) -> Programmed {
        // Most are told by less than their wordline.
        let ends_row = self.geometry.parts == 1 || self.geometry.begins_row(Ppn(at.0 + 1));
        if !ends_row || self.nand.last_of_wordline(block, page) != page {
            return Programmed::Done;
        }
        if self.rows_are_plain() {
            self.program_row(at);
            return Programmed::Done;
        }
        for block in self.blocks_programmed_with(block) {
            if !self.is_off() && self.nand.is_programmed(block, page) {
                // It was, before the power went off.
                continue;
            }
            let programmed = match self.assembly.wordlines {
                Wordlines::TwoPass if !self.has_one_pass(block) => self.program_passes(block, page),
                _ => self.program_unit(block, page),
            };
            if programmed == Programmed::Failed {
                self.hold_unit(at);
                return programmed;
            }
        }
        Programmed::Done
    }

    /// Programs a unit, whose last page that is.
    pub(super) fn program_unit(&mut self, block: Block, last: Page) -> Programmed {
        self.pass(block, last, |flash| {
            flash.program_pages(block, last);
            flash.land(block, last);
        })
    }

    /// A pass over the pages of a unit, whose last page that is: if it completes, that is done to the array.
    fn pass(&mut self, block: Block, last: Page, completes: impl FnOnce(&mut Flash)) -> Programmed {
        match self.fate_of_program(block, last) {
            Fate::Completes => {
                completes(self);
                Programmed::Done
            }
            Fate::Fails => self.fail_unit(block, last),
            Fate::IsIgnored => self.lose_block(block),
        }
    }

    /// The first pass over a wordline, whose last page that is, and the second pass that is due then.
    fn program_passes(&mut self, block: Block, last: Page) -> Programmed {
        if self.first_pass(block, last) == Programmed::Failed {
            return Programmed::Failed;
        }
        self.assembly.first_passes += u64::from(!self.is_off());
        let before = last.minus(self.nand.pages_together());
        let own = (last.number() + 1 == self.geometry.pages_per_block).then_some(last);
        for due in before.into_iter().chain(own) {
            if self.nand.is_final(block, due) {
                continue;
            }
            if self.second_pass(block, due) == Programmed::Failed {
                return Programmed::Failed;
            }
        }
        Programmed::Done
    }

    /// The first pass over a wordline, whose last page that is. Its data stay in frames for the second one.
    pub(super) fn first_pass(&mut self, block: Block, last: Page) -> Programmed {
        self.pass(block, last, |flash| {
            flash.program_pages(block, last);
            obey(flash.nand.first_pass(block, last));
        })
    }

    /// The second pass over it.
    pub(super) fn second_pass(&mut self, block: Block, last: Page) -> Programmed {
        self.pass(block, last, |flash| {
            obey(flash.nand.second_pass(block, last));
            flash.land(block, last);
        })
    }

    /// The array programs these, all that it does not have.
    fn program_pages(&mut self, block: Block, last: Page) {
        let pages = self.pages_of_unit(block, last);
        if self.assembly.frames.had_special {
            return pages.for_each(|page| self.program_page(block, page));
        }
        self.program_missing(block, last);
    }

    /// The array programs the pages of a block up to one that it does not have, one after the other.
    #[inline]
    fn program_missing(&mut self, block: Block, last: Page) {
        let (first, end) = (self.nand.blocks()[block.index()].next_page, last.number() + 1);
        self.array_programs_run(block, Page::new(first.into()), end.saturating_sub(first.into()));
    }

    /// The pages of a unit that the array does not have; an earlier run may have left some there.
    fn pages_of_unit(&self, block: Block, last: Page) -> impl Iterator<Item = Page> + use<> {
        Page::all(u32::from(self.nand.blocks()[block.index()].next_page)..last.number() + 1)
    }

    /// The array has a unit, whose last page that is.
    fn land(&mut self, block: Block, last: Page) {
        let first = Page::new(last.number() + 1 - self.nand.together_in(block));
        let unit = self.geometry.unit_of_block(block);
        let mut frames = std::mem::take(&mut self.assembly.frames);
        frames.split(unit);
        frames.take_some(unit, |&Frame { at, data, old, .. }| {
            let (of, page) = self.address(at);
            if of != block || !(first..=last).contains(&page) {
                return false;
            }
            old.into_iter().for_each(|unit| self.let_go(unit, 1));
            // Guard pages hold nothing, and what was copied is there.
            if let Data::Held { content, way: Way::Plain | Way::BeginsLsbOnly | Way::Again } = data {
                self.nand.store(block, page, content.data, content.spare);
                if !self.assembly.is_open && ftl::page_of(content.spare).is_some() {
                    self.assembly.landed.push(Stamp::unpack(content.data));
                }
            }
            true
        });
        self.assembly.frames = frames;
    }

    /// The array has a row, whose last page that is, and whose program was a plain one.
    fn land_row(&mut self, last: Ppn) {
        let (unit, row) = (self.geometry.unit_of(last), self.geometry.row_around(last));
        let mut frames = std::mem::take(&mut self.assembly.frames);
        frames.take_some(unit, |frame| {
            let is_of_row = row.contains(&frame.at.0);
            if is_of_row && let Some(old) = frame.old {
                self.let_go(old, frame.pages);
            }
            is_of_row
        });
        self.assembly.frames = frames;
    }

    /// The program of a row, whose last page that is, comes to its end, where rows are plain: on each plane a flash page.
    pub(crate) fn program_row(&mut self, last: Ppn) {
        let (unit, slot) = self.geometry.unit_and_slot(last);
        let last_page = self.geometry.page_of_slot(slot);
        for lane in 0..self.geometry.unit_width {
            self.program_missing(self.geometry.block_of(unit, lane), last_page);
        }
        self.land_row(last);
    }

    /// A unit, whose last page that is, does not come to be programmed. Its block takes no more pages: a second pass there is lost as
    /// well. Unless the power is off, a page buffer holds the wordline's lower pages.
    fn fail_unit(&mut self, block: Block, last: Page) -> Programmed {
        self.fill_page_buffer(block, Page::new(last.number() + 1 - self.nand.together_in(block)));
        self.nand.keep_losses(!self.is_off());
        self.pages_of_unit(block, last).for_each(|page| self.array_programs_as(block, page, Way::Plain, false));
        self.nand.fail_passes(block);
        if self.is_off() { self.lose_block(block) } else { Programmed::Failed }
    }

    /// Programs no page that waits in the reclaim unit of `at`: the controller holds them with what a program destroyed.
    fn hold_unit(&mut self, at: Ppn) {
        let unit = self.geometry.unit_of(at);
        for slot in self.geometry.slots_from(Slot::FIRST) {
            self.give_up(self.geometry.ppn(unit, slot));
        }
    }

    /// The power is off: what waits in a block is gone.
    fn lose_block(&mut self, block: Block) -> Programmed {
        self.drop_frames(block);
        Programmed::Done
    }

    /// Pages that wait in a block are gone.
    pub(super) fn drop_frames(&mut self, block: Block) {
        let pages = self.assembly.frames.pages_of(self.geometry.unit_of_block(block));
        let pages: Vec<Ppn> = pages.filter(|&page| self.address(page).0 == block).collect();
        for page in pages {
            self.take_frame(page);
        }
    }

    /// All that the controller holds of a failed program, where pages are programmed with others.
    pub(crate) fn held(&self) -> Vec<Ppn> {
        if self.gathers() { self.page_buffer.iter().map(|buffered| buffered.at).collect() } else { Vec::new() }
    }

    /// Pages of a unit that have lost their content, likewise.
    pub(crate) fn lost_in(&self, unit: Unit) -> Vec<Ppn> {
        if !self.gathers() {
            return Vec::new();
        }
        let pages = self.geometry.slots_from(Slot::FIRST).map(|slot| self.geometry.ppn(unit, slot));
        pages.into_iter().filter(|&page| self.is_lost(page)).collect()
    }

    /// A page of the unit whose erase waits for a page of a failed program.
    pub(crate) fn old_of_buffered(&self, ppn: Ppn) -> Option<Ppn> {
        let old = self.page_buffer.iter().find(|buffered| buffered.at == ppn)?.old?;
        Some(self.geometry.ppn(old, Slot::FIRST))
    }

    /// Where the array has the version of a page that the controller holds after a failed program: in the unit whose erase waits for it.
    pub(crate) fn original_of(&self, ppn: Ppn) -> Option<Ppn> {
        let buffered = self.page_buffer.iter().find(|buffered| buffered.at == ppn)?;
        let (unit, version) = (buffered.old?, |spare| ftl::page_of(spare).zip(ftl::write_of(spare)));
        let wanted = version(buffered.content.spare)?;
        let is_it =
            |&at: &Ppn| matches!(self.found_at(at), Found::Programmed { spare } if version(spare) == Some(wanted));
        self.geometry.slots_from(Slot::FIRST).map(|slot| self.geometry.ppn(unit, slot)).find(is_it)
    }

    /// The content of a page that lies in a frame.
    #[inline]
    pub(crate) fn in_frame(&self, ppn: Ppn) -> Option<Content> {
        if self.assembly.frames.is_empty() {
            return None;
        }
        match self.frame(ppn)?.data {
            Data::Held { content, .. } => Some(content),
            Data::Copied { .. } => None,
        }
    }

    /// The unit of the first page for whose sake the erase of a unit waits.
    #[inline]
    pub(crate) fn waits_for(&self, unit: Unit) -> Option<Unit> {
        if !self.holds_back(unit) {
            return None;
        }
        self.first_unit_of(self.assembly.frames.by_page().filter(|frame| frame.old == Some(unit)))
    }

    /// The reclaim unit of a page that waits for others, if there is one. Dummy pages need not have their second pass.
    pub(crate) fn unit_in_frames(&self) -> Option<Unit> {
        let frames = self.assembly.frames.by_page();
        self.first_unit_of(frames.filter(|frame| frame.is_needed || !self.is_programmed(frame.at)))
    }

    /// The unit of the first of these pages, by their blocks.
    fn first_unit_of(&self, frames: impl Iterator<Item = Frame>) -> Option<Unit> {
        let (block, _) = frames.map(|frame| self.address(frame.at)).min()?;
        Some(self.geometry.unit_of_block(block))
    }

    /// A reclaim unit with a program unit of which the array has a part; only a loaded state has one.
    pub(crate) fn unit_in_part(&self) -> Option<Unit> {
        let is_in_part = |block: Block| {
            let next = u32::from(self.nand.blocks()[block.index()].next_page);
            !next.is_multiple_of(self.nand.together_in(block))
        };
        let mut units = self.geometry.all_units();
        units.find(|&unit| (0..self.geometry.unit_width).any(|lane| is_in_part(self.geometry.block_of(unit, lane))))
    }

    /// A page that has been programmed since this was asked last, by what it stores.
    pub(crate) fn take_landed(&mut self) -> Option<Stamp> {
        self.assembly.landed.pop()
    }

    /// Wordlines that had their first pass since this was asked last.
    #[inline]
    pub(crate) fn take_first_passes(&mut self) -> u64 {
        std::mem::take(&mut self.assembly.first_passes)
    }
}
