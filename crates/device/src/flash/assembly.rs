//! Pages that are placed and not programmed: the FTL's map points to them, and the array does not have them yet.
//!
//! A page is placed when its die takes it, and programmed when the array has come to the end of its program. In between its data lie
//! in a frame of the controller's RAM: while the page waits for the rest of its wordline, while it is sent, and while the array works.
//! A power cut loses the frames. Without time pages wait only for others that the array programs with them (`gather.rs`); one that is
//! programmed by itself is programmed as soon as it is placed.

use base::programming::PROGRAMMING;
use base::{Block, Page, Ppn, Unit};
use ftl::{PageAddress, PagePayload, Placed, Way};
use nand::{ProgramMode, StoreKind};

use super::faults::{FailedProgram, Fate};
use super::frames::{Data, Frame, Frames};
use super::{Content, Flash, Programmed, Stamp, obey};

/// The pages that are placed and not programmed.
#[derive(Clone, Default)]
pub(super) struct Assembly {
    /// How the device programs wordlines.
    pub(super) wordlines: Wordlines,
    /// Placed pages are not programmed at once: programs take time, or pages wait for others.
    delays: bool,
    /// Programs end later than their pages are placed, when that is told.
    pub(super) is_open: bool,
    /// Pages have frames even if they store nothing and are programmed like any other.
    keeps_all: bool,
    pub(super) frames: Frames,
    /// By block, the page that is placed next; empty where pages are programmed one by one. Of units of several blocks whose rows are
    /// programmed at once that of the last block counts.
    next_pages: Vec<u16>,
    /// The page that was placed last, with its address.
    placed: Option<(Ppn, Block, Page)>,
    /// By block, wordlines whose second pass was sent; empty where there is one pass.
    sent: Vec<u16>,
    /// By unit, placed pages whose older versions it has; empty where pages are programmed one by one.
    pub(super) holding: Vec<u16>,
    /// Units that have come to have none.
    released: Vec<Unit>,
    /// Programs that have failed since somebody asked, where they take time.
    pub(super) failed: Vec<FailedProgram>,
    /// Pages of data that have been programmed since somebody asked, by what they store, where that is known and no time passes.
    pub(super) landed: Vec<Stamp>,
    /// Wordlines that had their first pass since somebody asked, likewise.
    pub(super) first_passes: u64,
}

/// How wordlines are programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wordlines {
    /// Page by page.
    #[default]
    ByPage,
    /// As a whole, at once.
    OneShot,
    /// As a whole, twice.
    TwoPass,
}

impl Wordlines {
    /// How a device programs them.
    pub(crate) fn of(device: &config::model::Device) -> Wordlines {
        match PROGRAMMING.of(&device.features).name {
            "one-shot" => Wordlines::OneShot,
            "two-pass" => Wordlines::TwoPass,
            _ => Wordlines::ByPage,
        }
    }
}

impl Assembly {
    /// Of an array that programs wordlines like that.
    pub(super) fn of(wordlines: Wordlines) -> Assembly {
        Assembly { wordlines, ..Assembly::default() }
    }
}

// From placing to programming.
impl Flash {
    /// Clears the assembly: no page is placed and not programmed, and no time passes.
    pub(super) fn rest_assembly(&mut self) {
        let wordlines = self.assembly.wordlines;
        let delays = self.gathers();
        let holding = vec![0; if delays { self.geometry.units() as usize } else { 0 }];
        self.assembly = Assembly { wordlines, delays, holding, ..Assembly::default() };
    }

    /// From now on pages are placed first, and programmed when that is told. A wordline of dummy pages that waits for its second pass
    /// counts as having had it.
    ///
    /// # Panics
    /// If a page waits for others that is no dummy page.
    pub(crate) fn open_assembly(&mut self, keeps_all: bool) {
        for frame in std::mem::take(&mut self.assembly.frames).by_page() {
            let Frame { at, data: Data::Held { content, .. }, is_needed: false, .. } = frame else {
                unreachable!("pages are placed and not programmed");
            };
            let (block, page) = self.address(at);
            assert!(self.nand.is_programmed(block, page), "pages are placed and not programmed");
            self.nand.store(block, page, content.data, content.spare);
        }
        self.begin_passes();
        let wordlines = self.assembly.wordlines;
        let next_pages = self.nand.blocks().iter().map(|block| block.next_page);
        let are_whole = self.gathers();
        let next_pages = if are_whole { next_pages.collect() } else { Vec::new() };
        let bits = self.nand.pages_together() as u16;
        let sent = next_pages.iter().map(|&page| page / bits);
        let sent = if wordlines == Wordlines::TwoPass { sent.collect() } else { Vec::new() };
        let keeps_all = keeps_all || are_whole || self.has_lives() || self.nand.stores() != StoreKind::Nothing;
        let holding = vec![0; if are_whole { self.geometry.units() as usize } else { 0 }];
        self.assembly = Assembly {
            wordlines,
            delays: true,
            is_open: true,
            keeps_all,
            next_pages,
            sent,
            holding,
            ..Assembly::default()
        };
    }

    /// From now on no time passes. Pages that wait for others wait on.
    ///
    /// # Panics
    /// If another page is placed and not programmed.
    pub(crate) fn close_assembly(&mut self) {
        let frames = std::mem::take(&mut self.assembly.frames);
        let may_wait = self.gathers();
        assert!(may_wait || frames.is_empty(), "pages are placed and not programmed");
        self.rest_assembly();
        for &Frame { pages, old, .. } in frames.iter() {
            if let Some(old) = old {
                self.assembly.holding[old.index()] += pages as u16;
            }
        }
        self.assembly.frames = frames;
    }

    /// Places a page, whose last version that is older lies there. Where programs end at once it is programmed.
    #[inline(always)]
    pub(crate) fn place(&mut self, placed: Placed, content: Content, old: Option<Ppn>) -> Programmed {
        if self.assembly.delays {
            return self.place_later(placed, content, old);
        }
        self.program_as(placed.at, placed.way, content)
    }

    /// Places a copy of a page inside its plane, likewise.
    pub(crate) fn place_copy(&mut self, from: Ppn, to: Placed) -> Programmed {
        assert!(to.way == Way::Plain, "blocks of LSB pages take backups and host pages");
        if self.assembly.delays {
            let (address, old) = (self.note_placed(to.at), self.hold_back(Some(self.geometry.unit_of(from)), 1));
            let data = Data::Copied { from, spare: Content { data: 0, spare: to.tag } };
            self.keep_frame(Frame::of(to.at, data, true, old));
            return if self.assembly.is_open { Programmed::Done } else { self.program_if_whole(to.at, address) };
        }
        self.copyback(from, to.at, to.tag)
    }

    #[inline]
    fn place_later(&mut self, placed: Placed, content: Content, old: Option<Ppn>) -> Programmed {
        if self.assembly.is_open {
            self.keep(placed, content, old);
            return Programmed::Done;
        }
        self.gather(placed, content, old)
    }

    fn keep(&mut self, placed: Placed, content: Content, old: Option<Ppn>) {
        self.note_mode(placed);
        self.note_placed(placed.at);
        if self.assembly.keeps_all || placed.way != Way::Plain {
            self.keep_content(placed, content, old);
        }
    }

    /// A page gets a frame for its content.
    #[inline(always)]
    pub(super) fn keep_content(&mut self, placed: Placed, content: Content, old: Option<Ppn>) {
        let (data, is_needed) = (Data::Held { content, way: placed.way }, placed.holds != PagePayload::Nothing);
        let old = self.hold_back(old.map(|old| self.geometry.unit_of(old)), 1);
        self.keep_frame(Frame::of(placed.at, data, is_needed, old));
    }

    /// Pages get a frame.
    #[inline(always)]
    pub(super) fn keep_frame(&mut self, frame: Frame) {
        self.assembly.frames.insert(self.geometry.unit_of(frame.at), frame);
    }

    /// The frame of a page.
    #[inline]
    pub(super) fn frame(&self, page: Ppn) -> Option<&Frame> {
        self.assembly.frames.get(self.geometry.unit_of(page), page)
    }

    /// A page of a block.
    fn ppn_of(&self, block: Block, page: Page) -> Ppn {
        let lane = block.number() / self.geometry.blocks_per_plane % self.geometry.unit_width;
        self.geometry.ppn(self.geometry.unit_of_block(block), self.geometry.slot_at(page, lane))
    }

    /// Where the data of a page are, unless all frames so far were for plain programs.
    fn special(&self, page: Ppn) -> Option<Data> {
        self.assembly.frames.special(self.geometry.unit_of(page), page)
    }

    /// Programs of rows are all alike: they succeed, and their pages store nothing.
    #[inline]
    pub(crate) fn rows_are_plain(&self) -> bool {
        self.programs_by_row()
            && self.nand.stores() == StoreKind::Nothing
            && !self.supply.is_watched()
            && !self.assembly.frames.had_special
    }

    /// Places so many pages of a row, from one on, where that holds and time passes: their last versions that are older lie in a unit,
    /// or there are none.
    pub(crate) fn place_run(&mut self, first: Ppn, pages: u32, old: Option<Unit>) {
        debug_assert!(self.rows_are_plain() && self.assembly.is_open);
        let (unit, slot) = self.geometry.unit_and_slot(first);
        let (row, place) = self.geometry.row_of_slot(slot);
        debug_assert!(place + pages <= self.geometry.row_slots(), "pages of one row");
        // Whether a row is whole is told by its last plane.
        let (lane, parts) = (self.geometry.unit_width - 1, self.geometry.parts);
        if let Some(end) = (place + pages).checked_sub(lane * parts).filter(|&end| end > 0) {
            let next = &mut self.assembly.next_pages[self.geometry.block_of(unit, lane).index()];
            *next = ((row * parts + end) as u16).max(*next);
        }
        let old = self.hold_back(old, pages as u16);
        self.assembly.frames.insert(unit, Frame::of_run(first, pages, old));
    }

    /// The first page of a block is placed: where that decides what is programmed together, or with which command, the block is in its
    /// mode from now on.
    #[inline]
    pub(super) fn note_mode(&mut self, placed: Placed) {
        if placed.way == Way::BeginsLsbOnly && (self.tells_modes || self.gathers()) {
            self.use_lsb_only(placed.at);
        }
    }

    /// From now on no erase waits for pages that are placed, which is a fault: for proof that it is found.
    pub(crate) fn erase_early(&mut self) {
        self.assembly.holding = Vec::new();
    }

    /// The erase of a unit waits for so many placed pages, where pages wait for their wordlines. Returns that unit.
    pub(super) fn hold_back(&mut self, old: Option<Unit>, pages: u16) -> Option<Unit> {
        *self.assembly.holding.get_mut(old?.index())? += pages;
        old
    }

    /// Takes the frame of a page, if it has one: its program has come to its end.
    pub(super) fn take_frame(&mut self, at: Ppn) -> Option<Frame> {
        let frame = self.assembly.frames.remove(self.geometry.unit_of(at), at)?;
        if let Some(unit) = frame.old {
            self.let_go(unit, 1);
        }
        Some(frame)
    }

    /// The erase of a unit waits for so many pages less.
    pub(super) fn let_go(&mut self, unit: Unit, pages: u32) {
        let holding = &mut self.assembly.holding[unit.index()];
        *holding -= pages as u16;
        if *holding == 0 && self.assembly.is_open {
            self.assembly.released.push(unit);
        }
    }

    /// The erase of a unit waits for pages whose older versions it has.
    pub(crate) fn holds_back(&self, unit: Unit) -> bool {
        self.assembly.holding.get(unit.index()).is_some_and(|&pages| pages > 0)
    }

    /// The erase of a unit waits for this page.
    pub(crate) fn is_held_back_by(&self, unit: Unit, ppn: Ppn) -> bool {
        self.frame(ppn).is_some_and(|frame| frame.old == Some(unit))
    }

    /// A unit whose erase waits for no page any more.
    pub(crate) fn take_released(&mut self) -> Option<Unit> {
        self.assembly.released.pop()
    }

    /// The placed pages of a block are one more. Returns its number and that page.
    fn note_placed(&mut self, at: Ppn) -> (Block, Page) {
        // Most lie behind the one before, in one flash page.
        let (block, page) = match self.assembly.placed {
            Some((before, block, page)) if at.0 == before.0 + 1 && !self.geometry.is_last_part(before) => {
                (block, page.plus(1))
            }
            _ => self.address(at),
        };
        self.assembly.placed = Some((at, block, page));
        if let Some(next) = self.assembly.next_pages.get_mut(block.index()) {
            // One that is programmed once more lies before it.
            *next = (page.number() as u16 + 1).max(*next);
        }
        (block, page)
    }

    /// A program of placed pages, or the only pass over their wordlines, has come to its end.
    pub(crate) fn programmed(&mut self, ppns: impl Iterator<Item = Ppn>) {
        for ppn in ppns {
            if self.gathers() {
                if !self.geometry.is_last_part(ppn) && !self.assembly.frames.had_special {
                    // It comes with the last one.
                    continue;
                }
                let at = self.address(ppn);
                if !self.goes_by_itself(ppn, at) {
                    self.pass_ended_at(ppn, at, Flash::program_unit);
                    continue;
                }
            }
            self.program_frame(ppn);
        }
    }

    /// The parts of all programmed flash pages come with their last ones.
    #[inline]
    pub(crate) fn come_with_last_parts(&self) -> bool {
        self.gathers() && !self.assembly.frames.had_special
    }

    /// A placed page is programmed by itself where others gather: it is programmed once more, or its block uses LSB pages only.
    fn goes_by_itself(&self, ppn: Ppn, (block, _): (Block, Page)) -> bool {
        self.is_placed_as(ppn, Way::Again) || self.nand.together_in(block) == 1
    }

    /// The first pass over the wordlines of placed pages has come to its end. Their data stay in frames for the second one.
    pub(crate) fn passed_once(&mut self, ppns: impl Iterator<Item = Ppn>) {
        self.pass_ended(ppns, Flash::first_pass);
    }

    /// The array programs a page of several; their data are stored when all of them are there.
    pub(super) fn program_page(&mut self, block: Block, page: Page) {
        let data = if self.assembly.frames.had_special { self.special(self.ppn_of(block, page)) } else { None };
        match data {
            Some(Data::Copied { from, spare }) => self.array_copies(self.address(from), (block, page), spare.spare),
            Some(Data::Held { way: Way::Guard, .. }) => self.array_programs_as(block, page, Way::Guard, true),
            _ => self.array_programs(block, page),
        }
    }

    /// A page is placed for that way.
    fn is_placed_as(&self, at: Ppn, way: Way) -> bool {
        matches!(self.special(at), Some(Data::Held { way: of, .. }) if of == way)
    }

    /// A page that the array has is placed once more, in its own place.
    pub(crate) fn is_placed_again(&self, ppn: Ppn) -> bool {
        self.is_placed_as(ppn, Way::Again)
    }

    /// The second pass has.
    pub(crate) fn passed_twice(&mut self, ppns: impl Iterator<Item = Ppn>) {
        self.pass_ended(ppns, Flash::second_pass);
    }

    /// Each of these pages that is the last of its program unit comes with all of it.
    fn pass_ended(&mut self, ppns: impl Iterator<Item = Ppn>, pass: fn(&mut Flash, Block, Page) -> Programmed) {
        for ppn in ppns {
            self.pass_ended_at(ppn, self.address(ppn), pass);
        }
    }

    fn pass_ended_at(
        &mut self,
        ppn: Ppn,
        (block, page): (Block, Page),
        pass: fn(&mut Flash, Block, Page) -> Programmed,
    ) {
        if self.nand.last_of_wordline(block, page) == page && pass(self, block, page) == Programmed::Failed {
            self.note_failed_unit(ppn, (block, page));
        }
    }

    /// The second pass over the wordlines of these pages is sent.
    pub(crate) fn sends_second_pass(&mut self, last: Ppn) {
        let block = self.address(last).0.index();
        self.assembly.sent[block] += 1;
    }

    #[inline]
    fn program_frame(&mut self, ppn: Ppn) {
        let frame = if self.assembly.frames.is_empty() { None } else { self.take_frame(ppn) };
        let programmed = match frame.map(|frame| frame.data) {
            None => self.program(ppn, Content::EMPTY),
            Some(Data::Held { content, way }) => self.program_as(ppn, way, content),
            Some(Data::Copied { from, spare }) => self.copyback(from, ppn, spare.spare),
        };
        if programmed == Programmed::Failed {
            self.note_failed_page(ppn, frame);
        }
    }

    #[inline(always)]
    pub(super) fn program_as(&mut self, at: Ppn, way: Way, content: Content) -> Programmed {
        if way == Way::Plain { self.program(at, content) } else { self.program_specially(at, way, content) }
    }

    #[inline(never)]
    fn program_specially(&mut self, at: Ppn, way: Way, content: Content) -> Programmed {
        match way {
            Way::Plain => {}
            Way::BeginsLsbOnly => self.use_lsb_only(at),
            Way::Guard => return self.program_guard(at),
            Way::Again => return self.reprogram(at),
        }
        self.program(at, content)
    }

    /// The blocks of a unit are erased: none of their pages is placed. Dummy pages may still wait for a second pass.
    pub(super) fn forget_placed(&mut self, unit: Unit) {
        if self.assembly.wordlines == Wordlines::TwoPass {
            (0..self.geometry.unit_width).for_each(|lane| self.drop_frames(self.geometry.block_of(unit, lane)));
        }
        if !self.assembly.next_pages.is_empty() {
            for lane in 0..self.geometry.unit_width {
                let block = self.geometry.block_of(unit, lane).index();
                self.assembly.next_pages[block] = 0;
                if let Some(sent) = self.assembly.sent.get_mut(block) {
                    *sent = 0;
                }
            }
        }
    }

    /// Pages of the block of a page have frames, or of the row of one. Those of few blocks do.
    #[inline]
    pub(crate) fn has_frames_beside(&self, ppn: Ppn) -> bool {
        let unit = self.geometry.unit_of(ppn);
        self.assembly.frames.has_some(unit) && (self.programs_by_row() || self.has_frames_in(unit, self.address(ppn).0))
    }

    fn has_frames_in(&self, unit: Unit, block: Block) -> bool {
        self.geometry.unit_width == 1 || self.assembly.frames.pages_of(unit).any(|page| self.address(page).0 == block)
    }

    /// A page is programmed, or has a frame.
    pub(crate) fn is_placed(&self, ppn: Ppn) -> bool {
        self.is_programmed(ppn) || self.has_frame(ppn)
    }

    /// The content of a page, which may wait for others.
    pub(crate) fn waiting(&self, ppn: Ppn) -> Content {
        if let Some(frame) = self.frame(ppn) {
            return self.content_in(frame.data);
        }
        let (block, page) = self.address(ppn);
        self.content_at(block, page)
    }

    /// The content of a page whose data are there.
    pub(super) fn content_in(&self, data: Data) -> Content {
        match data {
            Data::Held { content, .. } => content,
            Data::Copied { from, spare } => {
                let (block, page) = self.address(from);
                self.content_at(block, page).tagged(spare.spare)
            }
        }
    }

    /// The page of a block that is placed next.
    pub(super) fn next_page_of(&self, block: Block) -> u32 {
        match self.assembly.next_pages.get(block.index()) {
            Some(&next) => next.into(),
            None => self.nand.blocks()[block.index()].next_page.into(),
        }
    }

    /// Wordlines of a block are programmed once, whatever those of others are: it uses LSB pages only.
    #[inline]
    pub(crate) fn has_one_pass(&self, block: Block) -> bool {
        self.nand.blocks()[block.index()].is_lsb_only()
    }

    /// The wordline of a page has had its second pass, or is sent for it.
    pub(super) fn is_sent_twice(&self, block: Block, page: Page) -> bool {
        page.number() / self.nand.pages_together() < u32::from(self.assembly.sent[block.index()])
    }
}

// The array programs: it is told so here, and nowhere else.
impl Flash {
    /// A page, in its turn; what it stores comes behind.
    #[inline(always)] // Once per page.
    pub(super) fn array_programs(&mut self, block: Block, page: Page) {
        obey(self.nand.program(block, page));
    }

    /// The array programs `pages` pages of a block that follow each other.
    #[inline(always)] // Once per run of a collection.
    pub(super) fn array_programs_run(&mut self, block: Block, first: Page, pages: u32) {
        obey(self.nand.program_run(block, first, pages));
    }

    /// A page in any way, to the end or not.
    pub(super) fn array_programs_as(&mut self, block: Block, page: Page, way: Way, ends: bool) {
        let mode = match way {
            Way::Plain | Way::BeginsLsbOnly => ProgramMode::InTurn,
            Way::Guard => ProgramMode::Guard,
            Way::Again => ProgramMode::Again,
        };
        obey(self.nand.program_as(block, page, mode, ends));
    }

    /// A flash page once more, by its last part, to the end or not. It destroys nothing else.
    fn array_reprograms(&mut self, block: Block, last: Page, ends: bool) {
        let end = last.number() + 1;
        Page::all(end - self.geometry.parts..end)
            .for_each(|part| self.array_programs_as(block, part, Way::Again, ends));
    }

    /// The program of a page that does not come to its end. A page buffer has what it destroys.
    fn program_fails(&mut self, block: Block, page: Page, way: Way) -> Programmed {
        self.fill_page_buffer(block, page);
        self.nand.keep_losses(!self.is_off());
        self.array_programs_as(block, page, way, false);
        self.told_of_failure()
    }

    /// Programs a page.
    #[inline(always)] // Once per page of a collection.
    pub(crate) fn program(&mut self, ppn: Ppn, content: Content) -> Programmed {
        let (block, page) = self.address(ppn);
        match self.fate_of_program(block, page) {
            Fate::Completes => {
                self.array_programs(block, page);
                self.nand.store(block, page, content.data, content.spare);
                Programmed::Done
            }
            Fate::Fails => self.program_fails(block, page, Way::Plain),
            Fate::IsIgnored => Programmed::Done,
        }
    }

    /// Moves so many pages of such a unit, none of them behind `last`, to the pages from one on, with so many reads of its blocks.
    #[inline]
    pub(crate) fn move_run(&mut self, pages: u32, last: Ppn, to: Ppn, reads: &[u32]) {
        if self.gathers() {
            let (unit, page) = (self.geometry.unit_of(last), self.page_offset(last));
            for (lane, &reads) in (0..).zip(reads).filter(|&(_, &reads)| reads > 0) {
                obey(self.nand.read_some(self.geometry.block_of(unit, lane), reads, page));
            }
            return self.gather_run(pages, unit, to);
        }
        let ((block, last), (target, first)) = (self.address(last), self.address(to));
        obey(self.nand.read_some(block, pages, last));
        self.array_programs_run(target, first, pages);
    }

    /// Programs a page where pages store nothing and units are blocks.
    #[inline(always)]
    pub(crate) fn program_spot(&mut self, spot: PageAddress) {
        let (block, page) = Flash::of_block(spot.unit, spot.slot);
        self.array_programs(block, page);
    }

    /// A page, from another one of its plane. The controller changes only what its spare area says of the place, which goes with the
    /// command's address cycles.
    fn array_copies(&mut self, from: (Block, Page), to: (Block, Page), tag: u128) {
        obey(self.nand.copyback(from, to));
        if !self.nand.is_lost(to.0, to.1) {
            let content = self.content_at(to.0, to.1).tagged(tag);
            self.nand.store(to.0, to.1, content.data, content.spare);
        }
    }

    /// Copies a page inside its plane.
    #[inline(never)]
    pub(crate) fn copyback(&mut self, from: Ppn, at: Ppn, tag: u128) -> Programmed {
        let (from, to) = (self.address(from), self.address(at));
        match self.fate_of_program(to.0, to.1) {
            Fate::Completes => {
                self.array_copies(from, to, tag);
                Programmed::Done
            }
            Fate::Fails => self.program_fails(to.0, to.1, Way::Plain),
            Fate::IsIgnored => Programmed::Done,
        }
    }

    /// Reprograms an MSB page in place. Its content is lost however that ends; if it fails, the other pages of its wordline keep
    /// theirs, and it may be reprogrammed again.
    pub(crate) fn reprogram(&mut self, ppn: Ppn) -> Programmed {
        let unit = self.geometry.unit_of(ppn);
        assert!(!self.holds_back(unit), "cells are programmed anew when newer versions of their pages are programmed");
        let (block, page) = self.address(ppn);
        match self.fate_of_reprogram() {
            Fate::Completes => self.array_reprograms(block, page, true),
            Fate::Fails => {
                self.page_buffer.clear();
                self.array_reprograms(block, page, false);
                return self.told_of_failure();
            }
            Fate::IsIgnored => {}
        }
        Programmed::Done
    }

    /// Programs an MSB page in its turn as a guard page: it holds nothing, not even a spare area. If it fails, the lower pages of
    /// its wordline are lost.
    pub(crate) fn program_guard(&mut self, ppn: Ppn) -> Programmed {
        let (block, page) = self.address(ppn);
        match self.fate_of_program(block, page) {
            Fate::Completes => self.array_programs_as(block, page, Way::Guard, true),
            Fate::Fails => return self.program_fails(block, page, Way::Guard),
            Fate::IsIgnored => {}
        }
        Programmed::Done
    }

    /// Has the erased block of a page use its LSB pages only, until its next erase.
    pub(crate) fn use_lsb_only(&mut self, first: Ppn) {
        if !self.is_off() {
            let (block, _) = self.address(first);
            obey(self.nand.use_lsb_only(block));
        }
    }
}

// A power cut.
impl Flash {
    /// The power goes off while the array programs these pages, all of them with one command: they are torn, unless there is power for
    /// what is under way.
    pub(crate) fn tear_program(&mut self, ppns: impl Iterator<Item = Ppn>) {
        for ppn in ppns {
            if self.supply.has_power_for_programs() {
                self.program_frame(ppn);
                continue;
            }
            let (block, page) = self.address(ppn);
            let way = match self.frame(ppn) {
                Some(&Frame { data: Data::Held { way, .. }, .. }) => way,
                _ => Way::Plain,
            };
            match way {
                Way::BeginsLsbOnly => self.use_lsb_only(ppn),
                Way::Again => {
                    self.array_reprograms(block, page, false);
                    continue;
                }
                Way::Plain | Way::Guard => {}
            }
            self.array_programs_as(block, page, way, false);
        }
    }

    /// The power goes off while the array erases the blocks of a unit.
    pub(crate) fn tear_erase(&mut self, unit: Unit) {
        for lane in 0..self.geometry.unit_width {
            obey(self.nand.tear_erase(self.geometry.block_of(unit, lane)));
        }
    }

    /// The power is off: what lay in frames is gone, and with it all wordlines that have not had their second pass.
    pub(crate) fn lose_frames(&mut self) {
        self.rest_assembly();
        self.nand.end_passes();
        self.begin_passes();
        self.nand.cycle_power();
    }

    /// Wordlines that are programmed in two passes: those that are complete have had both.
    pub(crate) fn begin_passes(&mut self) {
        match self.assembly.wordlines {
            Wordlines::ByPage => {}
            Wordlines::OneShot => self.nand.program_wordlines(),
            Wordlines::TwoPass => self.nand.begin_passes(),
        }
    }
}
