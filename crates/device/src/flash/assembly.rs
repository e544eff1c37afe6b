//! Pages that are placed and not programmed: the FTL's map points to them, and the array does not have them yet.
//!
//! A page is placed when its die takes it, and programmed when the array has come to the end of its program. In between its data lie
//! in a frame of the controller's RAM: while the page waits for the rest of its wordline, while it is sent, and while the array works.
//! A power cut loses the frames. Without time pages wait only for others that the array programs with them (`gather.rs`); one that is
//! programmed by itself is programmed as soon as it is placed.

use std::collections::BTreeMap;

use base::programming::PROGRAMMING;
use base::{Block, Page, Ppn, Unit};
use ftl::{PagePayload, Placed, Way};
use nand::{Nand, StoreKind};

use super::{Content, Flash, Programmed, Stamp, obey};

/// A placed page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) data: Data,
    /// It is no dummy page.
    pub(super) is_needed: bool,
    /// The unit of its last version that is older, which must not be erased before this one is programmed.
    pub(super) old: Option<Unit>,
}

/// Where the data of a placed page are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Data {
    /// In the controller, for a program of that way.
    Held { content: Content, way: Way },
    /// In the array: the page is copied from there, inside its plane.
    Copied { from: Ppn, tag: u128 },
}

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
    /// By block and page.
    pub(super) frames: BTreeMap<(Block, Page), Frame>,
    /// By block, the page that is placed next; empty where pages are programmed one by one.
    next_pages: Vec<u16>,
    /// By block, wordlines whose second pass was sent; empty where there is one pass.
    sent: Vec<u16>,
    /// By unit, placed pages whose older versions it has; empty where pages are programmed one by one.
    pub(super) holding: Vec<u16>,
    /// Units that have come to have none.
    released: Vec<Unit>,
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
    /// Nothing is placed and not programmed, and no time passes.
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
        for ((block, page), frame) in std::mem::take(&mut self.assembly.frames) {
            let Frame { data: Data::Held { content, .. }, is_needed: false, .. } = frame else {
                unreachable!("pages are placed and not programmed");
            };
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
        let keeps_all = keeps_all || are_whole || self.nand.stores() != StoreKind::Nothing;
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
        for frame in frames.values() {
            if let Some(old) = frame.old {
                self.assembly.holding[old.index()] += 1;
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
        if self.assembly.is_open {
            let (at, old) = (self.note_placed(to.at), self.hold_back(Some(from)));
            self.assembly.frames.insert(at, Frame { data: Data::Copied { from, tag: to.tag }, is_needed: true, old });
            return Programmed::Done;
        }
        self.copyback(from, to.at, to.tag)
    }

    #[inline(never)]
    fn place_later(&mut self, placed: Placed, content: Content, old: Option<Ppn>) -> Programmed {
        if self.assembly.is_open {
            self.keep(placed, content, old);
            return Programmed::Done;
        }
        self.gather(placed, content, old)
    }

    fn keep(&mut self, placed: Placed, content: Content, old: Option<Ppn>) {
        let at = self.note_placed(placed.at);
        if self.assembly.keeps_all || placed.way != Way::Plain {
            let (data, old) = (Data::Held { content, way: placed.way }, self.hold_back(old));
            self.assembly.frames.insert(at, Frame { data, is_needed: placed.holds != PagePayload::Nothing, old });
        }
    }

    /// From now on no erase waits for pages that are placed, which is a fault: for proof that it is found.
    pub(crate) fn erase_early(&mut self) {
        self.assembly.holding = Vec::new();
    }

    /// The erase of the unit of a page waits for a placed page, where pages wait for their wordlines. Returns that unit.
    pub(super) fn hold_back(&mut self, old: Option<Ppn>) -> Option<Unit> {
        let unit = self.geometry.unit_of(old?);
        *self.assembly.holding.get_mut(unit.index())? += 1;
        Some(unit)
    }

    /// Takes the frame of a page, if it has one: its program has come to its end.
    pub(super) fn take_frame(&mut self, at: (Block, Page)) -> Option<Frame> {
        let frame = self.assembly.frames.remove(&at)?;
        if let Some(unit) = frame.old {
            let holding = &mut self.assembly.holding[unit.index()];
            *holding -= 1;
            if *holding == 0 && self.assembly.is_open {
                self.assembly.released.push(unit);
            }
        }
        Some(frame)
    }

    /// The erase of a unit waits for pages whose older versions it has.
    pub(crate) fn holds_back(&self, unit: Unit) -> bool {
        self.assembly.holding.get(unit.index()).is_some_and(|&pages| pages > 0)
    }

    /// The erase of a unit waits for this page.
    pub(crate) fn is_held_back_by(&self, unit: Unit, ppn: Ppn) -> bool {
        self.assembly.frames.get(&self.address(ppn)).is_some_and(|frame| frame.old == Some(unit))
    }

    /// A unit whose erase waits for no page any more.
    pub(crate) fn take_released(&mut self) -> Option<Unit> {
        self.assembly.released.pop()
    }

    /// The placed pages of a block are one more. Returns its number and that page.
    fn note_placed(&mut self, at: Ppn) -> (Block, Page) {
        let (block, page) = self.address(at);
        if let Some(next) = self.assembly.next_pages.get_mut(block.index()) {
            // One that is programmed once more lies before it.
            *next = (page.number() as u16 + 1).max(*next);
        }
        (block, page)
    }

    /// A program of placed pages, or the only pass over their wordlines, has come to its end.
    pub(crate) fn programmed(&mut self, ppns: impl Iterator<Item = Ppn>) {
        for ppn in ppns {
            self.program_frame(ppn);
        }
    }

    /// The first pass over the wordlines of placed pages has come to its end. Their data stay in frames for the second one.
    pub(crate) fn passed_once(&mut self, ppns: impl Iterator<Item = Ppn>) {
        for ppn in ppns {
            let (block, page) = self.address(ppn);
            self.program_page(block, page);
            if self.is_last_of_wordline(ppn) {
                obey(self.nand.first_pass(block, page));
            }
        }
    }

    /// The array programs a page of several; their data are stored when all of them are there.
    pub(super) fn program_page(&mut self, block: Block, page: Page) {
        let is_guard = self.is_placed_as((block, page), Way::Guard);
        let program = if is_guard { Nand::program_guard } else { Nand::program };
        obey(program(&mut self.nand, block, page));
    }

    /// A page is placed for that way.
    fn is_placed_as(&self, at: (Block, Page), way: Way) -> bool {
        let data = self.assembly.frames.get(&at).map(|frame| frame.data);
        matches!(data, Some(Data::Held { way: of, .. }) if of == way)
    }

    /// A page that the array has is placed once more, in its own place.
    pub(crate) fn is_placed_again(&self, ppn: Ppn) -> bool {
        self.is_placed_as(self.address(ppn), Way::Again)
    }

    /// Takes the frame of a page that was programmed with others, and stores its content. Guard pages hold nothing.
    pub(super) fn store_frame(&mut self, at: (Block, Page)) -> Option<Content> {
        let Frame { data: Data::Held { content, way }, .. } = self.take_frame(at)? else { return None };
        if way == Way::Guard {
            return None;
        }
        self.nand.store(at.0, at.1, content.data, content.spare);
        Some(content)
    }

    /// The second pass has.
    pub(crate) fn passed_twice(&mut self, ppns: impl Iterator<Item = Ppn>) {
        for ppn in ppns {
            let (block, page) = self.address(ppn);
            self.store_frame((block, page));
            if self.is_last_of_wordline(ppn) {
                obey(self.nand.second_pass(block, page));
            }
        }
    }

    /// The second pass over the wordlines of these pages is sent.
    pub(crate) fn sends_second_pass(&mut self, last: Ppn) {
        let block = self.address(last).0.index();
        self.assembly.sent[block] += 1;
    }

    #[inline]
    fn program_frame(&mut self, ppn: Ppn) {
        let data = if self.assembly.frames.is_empty() { None } else { self.take_frame(self.address(ppn)) };
        let done = match data.map(|frame| frame.data) {
            None => self.program(ppn, Content::EMPTY),
            Some(Data::Held { content, way }) => self.program_as(ppn, way, content),
            Some(Data::Copied { from, tag }) => self.copyback(from, ppn, tag),
        };
        done.expect_done();
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

    /// A page is programmed, or has a frame.
    pub(crate) fn is_placed(&self, ppn: Ppn) -> bool {
        self.is_programmed(ppn) || self.assembly.frames.contains_key(&self.address(ppn))
    }

    /// The content of a page, which may wait for others.
    pub(crate) fn waiting(&self, ppn: Ppn) -> Content {
        let (block, page) = self.address(ppn);
        match self.assembly.frames.get(&(block, page)) {
            Some(Frame { data: Data::Held { content, .. }, .. }) => *content,
            _ => self.content_at(block, page),
        }
    }

    /// The page of a block that is placed next.
    pub(super) fn next_page_of(&self, block: Block) -> u32 {
        match self.assembly.next_pages.get(block.index()) {
            Some(&next) => next.into(),
            None => self.nand.blocks()[block.index()].next_page.into(),
        }
    }

    /// The wordline of a page has had its second pass, or is sent for it.
    pub(super) fn is_sent_twice(&self, block: Block, page: Page) -> bool {
        page.number() / self.nand.pages_together() < u32::from(self.assembly.sent[block.index()])
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
            let way = match self.assembly.frames.get(&(block, page)) {
                Some(&Frame { data: Data::Held { way, .. }, .. }) => way,
                _ => Way::Plain,
            };
            match way {
                Way::Again => obey(self.nand.fail_reprogram(block, page)),
                Way::Guard => obey(self.nand.fail_program_guard(block, page)),
                Way::BeginsLsbOnly => {
                    obey(self.nand.use_lsb_only(block));
                    obey(self.nand.fail_program(block, page));
                }
                Way::Plain => obey(self.nand.fail_program(block, page)),
            }
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
