//! The array as the executors use it: commands by physical page number, with the payload.
//!
//! A command that the array refuses is a fault of the FTL, never of the user, so it ends the run. Here is what every command does to the
//! array; what a die takes beside another command is in `overlap.rs`, pages that are placed and not programmed are in `assembly.rs`,
//! `frames.rs`, `gather.rs` and `wordlines.rs`, and faults of the flash itself in `faults.rs`.

mod assembly;
mod failed;
mod faults;
mod frames;
mod gather;
mod overlap;
mod wordlines;
mod worn;

use std::sync::Arc;

use base::{Block, Geometry, Lpn, Multiplane, OpKind, Page, Ppn, ReadLimits, Slot, Unit, Wear};
use ftl::PageAddress;
use nand::{BlockLives, Image, Nand, SavedArray, Shape, StoreKind, Violation};

use assembly::Assembly;
pub(crate) use assembly::Wordlines;
pub use faults::Fault;
use faults::{Buffered, Fate, Supply};
pub(crate) use faults::{FailedProgram, Found, Safeguard};
use wordlines::Row;

/// A program, by the block whose page is the last of it to be placed, and its number there.
pub(crate) type ProgramId = (Block, u32);

/// A page as a part of the program that brings it.
#[derive(Clone, Copy)]
pub(crate) struct InProgram {
    pub(crate) program: ProgramId,
    /// It is the last page of the program to be placed.
    pub(crate) completes: bool,
}

/// The array and its addressing.
#[derive(Clone)]
pub(crate) struct Flash {
    geometry: Geometry,
    nand: Nand,
    block_address_constraint: bool,
    multiplane: bool,
    planes_are_independent: bool,
    supply: Supply,
    assembly: Assembly,
    /// Pages that the last failed program destroyed, where the controller keeps them.
    page_buffer: Vec<Buffered>,
    /// How long blocks live, where they fail.
    lives: Option<Box<BlockLives>>,
    /// The chip tells blocks of LSB pages from others, by their times or since it programs wordlines of these.
    tells_modes: bool,
}

/// Content of a page: a word that stands for its data, and the spare area. All zero where pages store nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// A [`Stamp`], in place of the data.
    pub(crate) data: u64,
    /// The spare area: the FTL's own words beside the data.
    pub(crate) spare: u128,
}

impl Content {
    /// The content read where nothing was stored.
    pub(crate) const EMPTY: Content = Content { data: 0, spare: 0 };

    /// The content with the spare area of its new place: its identity stays.
    #[inline]
    pub(crate) fn tagged(self, tag: u128) -> Content {
        Content { spare: self.spare & ftl::IDENTITY | tag, ..self }
    }
}

/// The exclusive-or of two pages, which is how a parity page is made.
impl std::ops::BitXor for Content {
    type Output = Content;

    fn bitxor(self, other: Content) -> Content {
        Content { data: self.data ^ other.data, spare: self.spare ^ other.spare }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Programmed {
    Done,
    /// The page counts as programmed, and it and the lower pages of its wordline are lost.
    Failed,
}

impl Programmed {
    /// For callers under which no program failure is ever armed.
    #[inline]
    pub(crate) fn expect_done(self) {
        if self == Programmed::Failed {
            unreachable!("a program failed where no failure was armed");
        }
    }
}

/// The stand-in for a page's data: a logical page, and which of its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) lpn: Lpn,
    pub(crate) version: u32,
}

impl Stamp {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.lpn.0) << 32 | u64::from(self.version)
    }

    pub(crate) fn unpack(bits: u64) -> Stamp {
        Stamp { lpn: Lpn((bits >> 32) as u32), version: bits as u32 }
    }
}

/// The shape of the device, as far as the array's rules need it.
pub(crate) fn shape(geometry: &Geometry, device: &config::model::Device) -> Shape {
    Shape {
        planes: geometry.planes(),
        planes_per_die: geometry.planes_per_die,
        blocks_per_plane: geometry.blocks_per_plane,
        pages_per_block: geometry.pages_per_block,
        parts: geometry.parts,
        multiplane: device.multiplane,
        cell: device.cell,
        program_order: device.program_order,
    }
}

impl Flash {
    /// The device's shape.
    #[inline(always)]
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Bytes of an array.
    pub(crate) fn bytes(geometry: &Geometry, device: &config::model::Device, stores: StoreKind) -> u64 {
        Nand::bytes(&shape(geometry, device), stores)
    }

    /// Keeps the errors of pages from now on.
    pub(crate) fn keep_errors(&mut self, wear: Arc<Wear>) {
        self.nand.keep_errors(wear);
    }

    /// Keeps how far reads disturb pages from now on.
    pub(crate) fn keep_reads(&mut self, limits: ReadLimits) {
        self.nand.keep_reads(limits);
    }

    /// Tells blocks of LSB pages from others from now on.
    fn tell_modes(&mut self) {
        self.tells_modes = true;
        self.nand.tell_modes();
    }

    /// Some blocks are to use LSB pages only: where wordlines are programmed as a whole, theirs are not.
    pub(crate) fn expect_lsb_only(&mut self) {
        if self.assembly.wordlines != Wordlines::ByPage {
            self.tell_modes();
        }
    }

    /// A pristine array. Where there is a supercap, a program that the power is cut during is still completed.
    pub(crate) fn new(
        geometry: Geometry,
        device: &config::model::Device,
        stores: StoreKind,
        safeguard: Safeguard,
    ) -> Flash {
        let multiplane = device.multiplane;
        let mut flash = Flash {
            geometry,
            nand: Nand::new(shape(&geometry, device), stores),
            block_address_constraint: multiplane == Multiplane::Bac,
            multiplane: multiplane != Multiplane::Off,
            planes_are_independent: multiplane == Multiplane::Any,
            supply: Supply::new(safeguard),
            assembly: Assembly::of(Wordlines::of(device)),
            page_buffer: Vec::new(),
            lives: None,
            tells_modes: false,
        };
        if base::slc::times(&device.features).is_some() {
            flash.tell_modes();
            flash.nand.keep_mode_wear(base::slc::spared_wear(&device.features));
        }
        flash.rest_assembly();
        flash.begin_passes();
        flash
    }

    pub(crate) fn nand(&self) -> &Nand {
        &self.nand
    }

    pub(crate) fn nand_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }

    /// The reclaim unit of a page.
    pub(crate) fn unit_of(&self, ppn: Ppn) -> Unit {
        self.geometry.unit_of(ppn)
    }

    /// The reclaim unit of a block.
    pub(crate) fn unit_of_block(&self, block: Block) -> Unit {
        self.geometry.unit_of_block(block)
    }

    /// Global block number and page offset.
    #[inline]
    fn address(&self, ppn: Ppn) -> (Block, Page) {
        if self.geometry.unit_width == 1 {
            // Two of the three divisions fall away.
            let (unit, slot) = self.geometry.unit_and_slot(ppn);
            Flash::of_block(unit, slot)
        } else {
            let place = self.geometry.place(ppn);
            (place.block, place.page)
        }
    }

    /// Where a page is if units are blocks and slots are pages.
    #[inline(always)]
    fn of_block(unit: Unit, slot: Slot) -> (Block, Page) {
        (Block::new(unit.number()), Page::new(slot.number()))
    }

    /// Asks for the state of the block of a page that will be read soon.
    #[inline]
    pub(crate) fn prefetch(&self, ppn: Ppn) {
        engine::prefetch(self.nand.blocks(), self.address(ppn).0.index());
    }

    /// The page offset of a page in its block.
    #[inline]
    pub(crate) fn page_offset(&self, ppn: Ppn) -> Page {
        self.address(ppn).1
    }

    /// The block of a page.
    pub(crate) fn block_of(&self, ppn: Ppn) -> Block {
        self.address(ppn).0
    }

    /// How often the block of a page was erased.
    pub(crate) fn erases_of(&self, ppn: Ppn) -> u32 {
        self.nand.blocks()[self.address(ppn).0.index()].erases
    }

    /// True if a page is the last one of its block.
    pub(crate) fn is_last_of_block(&self, ppn: Ppn) -> bool {
        self.page_offset(ppn).number() + 1 == self.geometry.pages_per_block
    }

    /// Reads a page. One that lost its content is empty, as all are where pages store nothing.
    #[inline(always)] // Once per page of a collection.
    pub(crate) fn read(&mut self, ppn: Ppn) -> Content {
        let (block, page) = self.address(ppn);
        if self.supply.next(OpKind::Read) != Fate::Completes {
            return Content::EMPTY;
        }
        obey(self.nand.read(block, page));
        let (data, spare) = self.nand.fetch(block, page);
        Content { data, spare }
    }

    /// Pages that a program of a flash page counts as.
    #[inline]
    pub(crate) fn parts(&self) -> u64 {
        self.geometry.parts.into()
    }

    /// Another page that is read comes with the same read of the array: both are parts of one flash page.
    #[inline]
    pub(crate) fn comes_with(&self, read: Ppn, other: Ppn) -> bool {
        self.geometry.parts > 1 && self.geometry.flash_page_of(read) == self.geometry.flash_page_of(other)
    }

    /// A part of a flash page that was just read for another part of it.
    pub(crate) fn read_along(&mut self, ppn: Ppn) -> Content {
        if self.is_off() || self.nand.stores() == StoreKind::Nothing {
            return Content::EMPTY;
        }
        let (block, page) = self.address(ppn);
        let (data, spare) = self.nand.fetch(block, page);
        Content { data, spare }
    }

    /// Reads a page where pages store nothing and units are blocks.
    #[inline(always)]
    pub(crate) fn read_spot(&mut self, spot: PageAddress) {
        let (block, page) = Flash::of_block(spot.unit, spot.slot);
        obey(self.nand.read(block, page));
    }

    /// Reads pages of a block from one on, where pages store nothing and units are blocks.
    #[inline]
    pub(crate) fn read_run(&mut self, first: Ppn, pages: u32) {
        let (block, page) = self.address(first);
        obey(self.nand.read_run(block, page, pages));
    }

    /// True if pages of a unit can be moved several at once: its blocks are ordinary, pages store nothing, and wait for their row at most.
    #[inline]
    pub(crate) fn moves_runs(&self, unit: Unit) -> bool {
        if !self.gathers() {
            return self.geometry.unit_width == 1 && self.nand.takes_runs(Block::new(unit.number()));
        }
        let takes_runs = |lane| self.nand.takes_runs(self.geometry.block_of(unit, lane));
        self.gathers_runs() && (0..self.geometry.unit_width).all(takes_runs)
    }

    /// Erases the blocks of a reclaim unit; returns how many they are.
    pub(crate) fn erase(&mut self, unit: Unit) -> u64 {
        assert!(!self.holds_back(unit), "a unit is erased when newer versions of its pages are programmed");
        let fate = self.fate_of_erase(unit);
        self.note_erase(unit, fate);
        for lane in 0..self.geometry.unit_width {
            let block = self.geometry.block_of(unit, lane);
            match fate {
                Fate::Completes => obey(self.nand.erase(block)),
                Fate::Fails => obey(self.nand.tear_erase(block)),
                Fate::IsIgnored => {}
            }
        }
        self.nand.note_erase_of(Block::new(0), if fate == Fate::IsIgnored { 1 } else { 0 });
        self.forget_placed(unit);
        u64::from(self.geometry.unit_width)
    }

    /// The blocks of a unit are erased together, or all of them are torn.
    fn note_erase(&mut self, unit: Unit, fate: Fate) {
        let width = if fate == Fate::IsIgnored { 1 } else { self.geometry.unit_width };
        self.nand.note_erase_of(self.geometry.block_of(unit, 0), width);
    }

    /// Takes over an image of the array.
    pub(crate) fn attach(&mut self, image: Image) -> Result<(), String> {
        self.nand.attach(image)?;
        self.rest_assembly();
        self.begin_passes();
        Ok(())
    }

    /// Takes over an image whose array was left in this state, or gives it back.
    pub(crate) fn attach_saved(&mut self, image: Image, saved: SavedArray) -> Result<(), Box<Image>> {
        self.nand.attach_saved(image, saved)?;
        self.rest_assembly();
        self.begin_passes();
        Ok(())
    }

    /// A page that stores these bytes, once it is placed.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Content {
        Content { data: self.nand.take(bytes), spare: 0 }
    }

    /// Takes content into the controller's memory, so that its page may be erased.
    pub(crate) fn hold(&mut self, content: Content) -> Content {
        Content { data: self.nand.hold(content.data), ..content }
    }

    /// A copy of what a frame holds, which stays there.
    pub(crate) fn hold_frame(&mut self, content: Content) -> Content {
        Content { data: self.nand.hold_again(content.data), ..content }
    }

    /// The exclusive-or of two pages, which is how a parity page is made. The controller lets go of both.
    pub(crate) fn xor(&mut self, first: Content, second: Content) -> Content {
        Content { data: self.nand.xor(first.data, second.data), spare: first.spare ^ second.spare }
    }

    /// Word that stands for the data of a page of the map, whose entries are not stored.
    pub(crate) fn data_of_map(&self, lpn: Lpn) -> u64 {
        if self.nand.image().is_some() { 0 } else { Stamp { lpn, version: 0 }.pack() }
    }

    /// True if a page has a place and cannot be read from it: it lost its content, its block was read too often, or copies of it without
    /// correction have more errors than can be corrected.
    pub(crate) fn is_unreadable(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        self.is_lost(ppn)
            || self.nand.is_programmed(block, page) && self.nand.reads_left(block, page) == Some(0)
            || self.nand.errors_of(block, page) > base::ECC_LIMIT
    }

    /// Content that the array has in a page.
    #[inline]
    fn content_at(&self, block: Block, page: Page) -> Content {
        Content { data: self.nand.data(block, page), spare: self.nand.spare(block, page) }
    }

    /// True if a page was programmed since the last erase.
    pub(crate) fn is_programmed(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        self.nand.is_programmed(block, page)
    }
}

// Read disturb.
impl Flash {
    /// Page reads of a block since its last erase, by its number in the device.
    pub(crate) fn reads_of(&self, block: Block) -> u32 {
        self.nand.blocks()[block.index()].reads
    }
}

#[inline]
fn obey(result: Result<(), Violation>) {
    if let Err(violation) = result {
        refuse(violation);
    }
}

#[cold]
fn refuse(violation: Violation) -> ! {
    panic!("the flash array refused a command of the FTL: {violation}");
}
