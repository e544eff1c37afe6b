//! The NAND array: the state of every block, what its pages store, and the rules of real flash.
//!
//! It refuses what real flash refuses, always, in release builds too; an FTL that breaks a rule is
//! stopped at once. It does not know why an operation was sent, what a logical page is, or what time it
//! is. Blocks are numbered device-wide, plane by plane; pages of a block in their program order.

use std::collections::BTreeSet;

use base::scope::{Area, Scope};
use base::{Block, Cell, ECC_LIMIT, FastDiv, Multiplane, OpKind, Page, PageLayout, ProgramOrder};

mod bits;
mod block;
mod cache;
pub mod cells;
mod disturb;
mod errors;
mod faults;
mod image;
mod lives;
pub mod media;
mod modes;
mod passes;
mod saved;
mod slc;
mod store;
mod suspend;
mod violation;

use crate::bits::Bits;
use crate::disturb::DisturbRecord;
use crate::errors::Errors;
use crate::passes::Passes;
use crate::slc::ModeWear;
use crate::store::Store;

pub use crate::block::BlockState;
pub use crate::cache::Cached;
pub use crate::disturb::{Cycles, Disturbed};
pub use crate::errors::Uncorrectable;
pub use crate::image::{Extras, Image, ImageError, SLOT_HEADER};
pub use crate::lives::{BAD_BLOCKS, BlockLives, LifeSetup, LifeShape};
pub use crate::modes::ProgramMode;
pub use crate::saved::SavedArray;
pub use crate::store::StoreKind;
pub use crate::violation::Violation;

/// The shape of the array: all that the rules need to know.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Planes of the device.
    pub planes: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block; at most 65 535.
    pub pages_per_block: u32,
    /// Pages that are the parts of a flash page, which is sensed and programmed as a whole: 1, or several.
    pub parts: u32,
    /// Which multi-plane commands the chips accept.
    pub multiplane: Multiplane,
    /// Bits per cell.
    pub cell: Cell,
    /// The order in which the pages of a block are numbered.
    pub program_order: ProgramOrder,
}

/// A page as (block, page).
type Place = (Block, Page);

/// The array.
#[derive(Clone)]
pub struct Nand {
    shape: Shape,
    /// Blocks by plane, planes by die, and pages by flash page.
    by_plane: FastDiv,
    by_die: FastDiv,
    by_flash_page: FastDiv,
    blocks: Vec<BlockState>,
    layout: PageLayout,
    /// Pages of a block that are programmed together.
    together: u32,
    /// Blocks of LSB pages are in a mode that commands tell apart.
    tells_modes: bool,
    /// Wear that cycles in SLC mode spared the blocks, where they wear them less.
    mode_wear: Option<Box<ModeWear>>,
    /// Below so many reads of a block, a read of a page at full and at low density is not looked at. Where limits are not
    /// kept, as many as there can be.
    unwatched: [u32; 2],
    /// Reprogrammed pages and guard pages; looked at for low-density blocks only.
    reprogrammed: Bits,
    /// The lower pages of their wordlines, likewise.
    lower: Bits,
    /// Programmed pages without content; looked at for blocks marked to have some.
    lost: BTreeSet<Place>,
    /// The contents of pages.
    store: Store,
    /// The errors that copybacks leave in pages, where they are kept.
    errors: Option<Box<Errors>>,
    /// The disturbance of pages by reads, likewise.
    disturb: Option<Box<DisturbRecord>>,
    /// By block, where wordlines are programmed in two passes.
    passes: Vec<Passes>,
}

impl Nand {
    /// A pristine array, whose pages store that.
    pub fn new(shape: Shape, kind: StoreKind) -> Nand {
        assert!(shape.pages_per_block <= u32::from(u16::MAX), "a block has at most 65535 pages");
        let blocks = shape.planes as usize * shape.blocks_per_plane as usize;
        Nand {
            shape,
            by_plane: FastDiv::new(shape.blocks_per_plane),
            by_die: FastDiv::new(shape.planes_per_die),
            by_flash_page: FastDiv::new(shape.parts),
            blocks: vec![BlockState::default(); blocks],
            layout: PageLayout::new(shape.cell, shape.program_order, shape.pages_per_block, shape.parts),
            together: shape.parts,
            tells_modes: false,
            mode_wear: None,
            unwatched: [u32::MAX; 2],
            reprogrammed: Bits::default(),
            lower: Bits::default(),
            lost: BTreeSet::new(),
            store: Store::new(kind, &shape),
            errors: None,
            disturb: None,
            passes: Vec::new(),
        }
    }

    /// Bytes of an array, whose pages store that.
    pub fn bytes(shape: &Shape, kind: StoreKind) -> u64 {
        let blocks = u64::from(shape.planes) * u64::from(shape.blocks_per_plane);
        blocks * (size_of::<BlockState>() as u64 + u64::from(shape.pages_per_block) * kind.bytes_of_page())
    }

    /// Reads a page. A page whose content was lost is read like any other: ask [`Nand::is_lost`].
    ///
    /// # Errors
    /// [`Violation`] when the page is not programmed, was reprogrammed or does not exist, or its block is bad or
    /// torn.
    #[inline]
    pub fn read(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        let Some(state) = self.blocks.get_mut(block.index()) else {
            return Err(Violation::NoSuchPage { block, page });
        };
        if page.number() >= u32::from(state.next_page) || !state.is_ordinary() {
            return self.read_with_care(block, page);
        }
        state.reads += 1;
        Ok(())
    }

    /// Reads pages of a block, one after the other from `first` on.
    ///
    /// # Errors
    /// As [`Nand::read`]; the pages before the one that is refused were read.
    #[inline]
    pub fn read_run(&mut self, block: Block, first: Page, pages: u32) -> Result<(), Violation> {
        let end = first.number() + pages;
        if let Some(state) = self.blocks.get_mut(block.index())
            && end <= u32::from(state.next_page)
            && (state.is_ordinary() || state.is_just_watched() && state.reads + pages <= self.unwatched[0])
        {
            state.reads += pages;
            return Ok(());
        }
        Page::all(first.number()..end).try_for_each(|page| self.read(block, page))
    }

    /// Reads so many pages of an ordinary block, none of them behind `last`.
    ///
    /// # Errors
    /// [`Violation`] when `last` is not programmed or does not exist.
    #[inline]
    pub fn read_some(&mut self, block: Block, pages: u32, last: Page) -> Result<(), Violation> {
        debug_assert!(self.is_ordinary(block));
        self.read(block, last)?;
        self.blocks[block.index()].reads += pages - 1;
        Ok(())
    }

    /// True if nothing is special about a block, nor about what is read and programmed in it.
    #[inline]
    pub fn is_ordinary(&self, block: Block) -> bool {
        self.blocks[block.index()].is_ordinary()
    }

    /// [`Nand::read`] of a block that is not an ordinary one, or of a page that is not programmed. Blocks that were read little and the
    /// lower pages of low-density blocks come first: they are what is read most where there are any.
    #[cold]
    #[inline(never)]
    fn read_with_care(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        let index = self.index(block, page);
        let state = &mut self.blocks[block.index()];
        let tells_nothing = match page.number() < u32::from(state.next_page) {
            true if state.is_just_watched() => state.reads < self.unwatched[0],
            true if state.is_just_low_density() => self.lower.contains(index) && state.reads < self.unwatched[1],
            _ => false,
        };
        if tells_nothing {
            state.reads += 1;
            return Ok(());
        }
        self.check_read(block, page)?;
        self.note_read(block, page);
        self.note_disturb(block, page);
        self.blocks[block.index()].reads += 1;
        Ok(())
    }

    /// Programs a page.
    ///
    /// # Errors
    /// [`Violation`] when the page is not the block's next one, does not exist, or is an upper page of a block
    /// that uses LSB pages only, or the block is bad or torn.
    #[inline(always)] // Once per page that is programmed.
    pub fn program(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        let Some(state) = self.blocks.get_mut(block.index()) else {
            return Err(Violation::NoSuchPage { block, page });
        };
        if page.number() != u32::from(state.next_page)
            || page.number() >= self.shape.pages_per_block
            || !state.is_ordinary()
        {
            return self.program_with_care(block, page);
        }
        state.next_page += 1;
        Ok(())
    }

    /// Programs pages of a block, one after the other from `first` on.
    ///
    /// # Errors
    /// As [`Nand::program`]; the pages before the one that is refused were programmed.
    #[inline]
    pub fn program_run(&mut self, block: Block, first: Page, pages: u32) -> Result<(), Violation> {
        if let Some(state) = self.blocks.get_mut(block.index())
            && first.number() == u32::from(state.next_page)
            && first.number() + pages <= self.shape.pages_per_block
            && state.is_ordinary()
        {
            state.next_page += pages as u16;
            return Ok(());
        }
        Page::all(first.number()..first.number() + pages).try_for_each(|page| self.program(block, page))
    }

    /// Erases a block, which ends whatever mode it was in.
    ///
    /// # Errors
    /// [`Violation`] when the block does not exist or is bad.
    #[inline]
    pub fn erase(&mut self, block: Block) -> Result<(), Violation> {
        if let Some(passes) = self.passes.get_mut(block.index()) {
            *passes = Passes::NONE;
        }
        match self.blocks.get_mut(block.index()) {
            None => return Err(Violation::NoSuchPage { block, page: Page::FIRST }),
            Some(state) if state.is_ordinary() => state.erase(),
            Some(_) => self.erase_with_care(block)?,
        }
        self.forget_contents(block);
        Ok(())
    }

    /// Copies a page inside its plane, without its data leaving the chip: (block, page) to (block, page). Its errors are
    /// not corrected on the way, and some are added ([`Nand::keep_errors`]).
    ///
    /// # Errors
    /// [`Violation`] when the planes differ, or where a read of the one or a program of the other is refused.
    pub fn copyback(&mut self, from: Place, to: Place) -> Result<(), Violation> {
        let planes = (self.by_plane.quotient(from.0.number()), self.by_plane.quotient(to.0.number()));
        if planes.0 != planes.1 {
            return Err(Violation::CopybackPlanes { from: planes.0, to: planes.1 });
        }
        let part_of = |page: Page| page.number() % self.shape.parts;
        if part_of(from.1) != part_of(to.1) {
            return Err(Violation::CopybackParts { from: from.1, to: to.1 });
        }
        self.check_read(from.0, from.1)?;
        if part_of(from.1) == 0 {
            // The other parts of the flash page come with the first one.
            self.note_disturb(from.0, from.1);
            self.blocks[from.0.index()].reads += 1;
        }
        self.commit(from.0);
        self.program(to.0, to.1)?;
        self.add_errors(from, to);
        if self.has_lost(from.0, from.1) {
            // What cannot be corrected is copied as it is.
            self.lose(to.0, to.1);
        } else if self.errors_of(to.0, to.1) <= ECC_LIMIT {
            self.store(to.0, to.1, self.data(from.0, from.1), self.spare(from.0, from.1));
        }
        self.commit_aside(to.0, to.1);
        self.commit(to.0);
        Ok(())
    }

    /// Checks that (block, page) pairs may go into one multi-plane command of that kind. An erase has no
    /// page: give 0.
    ///
    /// # Errors
    /// [`Violation`] naming the rule and the two addresses that break it.
    pub fn check_multiplane(&self, kind: OpKind, places: impl IntoIterator<Item = Place>) -> Result<(), Violation> {
        let mut places = places.into_iter();
        let Some((first_block, first_page)) = places.next() else { return Ok(()) };
        let (first_plane, first_offset) = self.by_plane.split(first_block.number());
        let (die, first) = self.by_die.split(first_plane);
        let mut seen = 1u64 << first;
        for (block, page) in places {
            if self.shape.multiplane == Multiplane::Off {
                return Err(Violation::MultiplaneOff { kind });
            }
            let (plane, offset) = self.by_plane.split(block.number());
            let (own, place) = self.by_die.split(plane);
            let bit = 1u64 << place;
            if own != die || seen & bit != 0 {
                return Err(Violation::MultiplanePlanes { kind, first: first_plane, second: plane });
            }
            seen |= bit;
            if self.tells_modes && self.are_in_two_modes(kind, block, first_block) {
                return Err(Violation::MultiplaneModes { kind, first: first_block, second: block });
            }
            let is_aligned = self.are_of_one_page(page, first_page);
            if kind != OpKind::Erase && !is_aligned && self.shape.multiplane != Multiplane::Any {
                return Err(Violation::MultiplanePages { kind, first: first_page, second: page });
            }
            if self.shape.multiplane == Multiplane::Bac && offset != first_offset {
                return Err(Violation::MultiplaneBlocks { kind, first: first_offset, second: offset });
            }
        }
        Ok(())
    }

    /// True for a programmed page.
    #[inline]
    pub fn is_programmed(&self, block: Block, page: Page) -> bool {
        let state = self.blocks[block.index()];
        page.number() < u32::from(state.next_page) && (!state.is_lsb_only() || self.is_lsb(page))
    }

    /// True for a page that can be read and has its content: it is programmed, neither lost nor reprogrammed, and its
    /// block is in use.
    pub fn holds_data(&self, block: Block, page: Page) -> bool {
        self.check_read(block, page).is_ok() && !self.is_lost(block, page)
    }

    /// True if all pages before the next one of each block hold data: none is lost or reprogrammed, and no block is bad, torn, or in a mode
    /// that skips pages.
    pub fn all_programmed_hold_data(&self) -> bool {
        let is_ordinary = |block: &BlockState| !block.is_bad() && !block.is_torn() && !block.is_lsb_only();
        self.lost.is_empty() && self.reprogrammed.iter().next().is_none() && self.blocks.iter().all(is_ordinary)
    }

    /// From now on wordlines are programmed as a whole, where their pages follow each other.
    pub fn program_wordlines(&mut self) {
        self.together = self.wordline_pages();
    }

    /// True if all pages that are programmed together with a page are: those of its flash page, or of its wordline.
    #[inline]
    pub fn is_whole(&self, block: Block, page: Page) -> bool {
        self.last_of_wordline(block, page).number() < u32::from(self.blocks[block.index()].next_page)
    }

    /// Pages of a block that are programmed together.
    #[inline]
    pub fn pages_together(&self) -> u32 {
        self.together
    }

    /// Pages of this block that are programmed together: of one that uses LSB pages only, those of a flash page.
    #[inline]
    pub fn together_in(&self, block: Block) -> u32 {
        if self.blocks[block.index()].is_lsb_only() { self.shape.parts } else { self.together }
    }

    /// The last page that is programmed together with a page of a block.
    #[inline]
    pub fn last_of_wordline(&self, block: Block, page: Page) -> Page {
        let (page, together) = (page.number(), self.together_in(block));
        Page::new(page - page % together + together - 1)
    }

    /// Two pages of a block, by their offsets, are parts of one flash page, or the same one.
    #[inline]
    pub fn are_of_one_page(&self, first: Page, second: Page) -> bool {
        self.by_flash_page.quotient(first.number()) == self.by_flash_page.quotient(second.number())
    }

    /// Pages of a wordline.
    #[inline]
    pub fn wordline_pages(&self) -> u32 {
        self.shape.cell.bits() * self.shape.parts
    }

    /// Checks that a page can be read, or was programmed, where wordlines are programmed in one shot.
    ///
    /// # Errors
    /// [`Violation`] if its wordline is not complete.
    #[inline]
    pub fn check_whole(&self, block: Block, page: Page) -> Result<(), Violation> {
        if self.is_whole(block, page) { Ok(()) } else { Err(Violation::PartOfWordline { block, page }) }
    }

    /// Marks a block as bad: no further command may name it.
    pub fn mark_bad(&mut self, block: Block) {
        self.blocks[block.index()].mark_bad();
        self.commit(block);
    }

    /// The blocks, by their numbers.
    pub fn all_blocks(&self) -> impl Iterator<Item = Block> + use<> {
        Block::all(0..self.blocks.len() as u32)
    }

    /// The pages of a block, in the order in which they are programmed.
    pub fn pages_of_block(&self) -> impl DoubleEndedIterator<Item = Page> + ExactSizeIterator + Clone + use<> {
        Page::all(0..self.shape.pages_per_block)
    }

    /// The state of every block.
    pub fn blocks(&self) -> &[BlockState] {
        &self.blocks
    }

    /// True if nothing is kept of single pages: neither what they store, nor their errors, nor reads of their blocks.
    pub fn is_plain(&self) -> bool {
        self.store.kind() == StoreKind::Nothing && !self.may_fail_reads()
    }

    /// True if a page can have more errors than can be corrected.
    #[inline]
    pub fn may_fail_reads(&self) -> bool {
        self.errors.is_some() || self.disturb.is_some()
    }

    /// Kind of store that the pages have.
    #[inline]
    pub fn stores(&self) -> StoreKind {
        self.store.kind()
    }

    /// True if pages of a block can be read and programmed several at once: it is an ordinary one, and nothing is stored there.
    #[inline]
    pub fn takes_runs(&self, block: Block) -> bool {
        self.store.kind() == StoreKind::Nothing && self.is_ordinary(block)
    }

    /// Word that stands for the data of a page. 0 where nothing is stored, and for a page that lost its content.
    #[inline]
    pub fn data(&self, block: Block, page: Page) -> u64 {
        self.store.data(self.index(block, page))
    }

    /// The spare area of a page, which the array does not interpret; 0 likewise.
    #[inline]
    pub fn spare(&self, block: Block, page: Page) -> u128 {
        self.store.spare(self.index(block, page))
    }

    /// Stores the content of a page that was just programmed.
    #[inline]
    pub fn store(&mut self, block: Block, page: Page, data: u64, spare: u128) {
        match self.store {
            Store::Bytes(_) => self.store_bytes(block, page, data, spare),
            _ => self.store.write(self.index(block, page), data, spare),
        }
    }

    /// The content of a page that was read off the chip just now.
    #[inline(always)] // Once per page that is read.
    pub fn fetch(&mut self, block: Block, page: Page) -> (u64, u128) {
        if let Store::Nothing = self.store { (0, 0) } else { self.fetch_stored(block, page) }
    }

    #[inline(never)]
    fn fetch_stored(&mut self, block: Block, page: Page) -> (u64, u128) {
        let index = self.index(block, page);
        self.commit(block);
        (self.store.data(index), self.store.spare(index))
    }

    #[inline]
    fn index(&self, block: Block, page: Page) -> usize {
        block.index() * self.shape.pages_per_block as usize + page.index()
    }

    fn is_lsb(&self, page: Page) -> bool {
        self.layout.page_type(page.number()).0 == 0
    }

    /// True for the MSB page over others.
    fn is_msb(&self, page: Page) -> bool {
        let bits = self.shape.cell.bits();
        bits > 1 && u32::from(self.layout.page_type(page.number()).0) + 1 == bits
    }

    fn pages(&self) -> usize {
        self.blocks.len() * self.shape.pages_per_block as usize
    }

    /// True for a programmed MSB page.
    fn may_be_reprogrammed(&self, block: Block, page: Page) -> bool {
        self.is_programmed(block, page) && self.is_msb(page)
    }

    /// Refuses a block that commands other than an erase may not name at all; the page is for the message.
    fn check_usable(&self, block: Block, page: Page) -> Result<(), Violation> {
        match self.blocks.get(block.index()) {
            None => Err(Violation::NoSuchPage { block, page }),
            Some(state) if state.is_bad() => Err(Violation::BadBlock { block }),
            Some(state) if state.is_torn() => Err(Violation::TornBlock { block }),
            Some(_) => Ok(()),
        }
    }

    /// The slow half of [`Nand::read`]: what is wrong with the read, if anything.
    #[cold]
    fn check_read(&self, block: Block, page: Page) -> Result<(), Violation> {
        if page.number() >= self.shape.pages_per_block {
            return Err(Violation::NoSuchPage { block, page });
        }
        self.check_usable(block, page)?;
        if !self.is_programmed(block, page) {
            Err(Violation::ReadUnprogrammed { block, page })
        } else if self.reprogrammed.contains(self.index(block, page)) {
            Err(Violation::ReadReprogrammed { block, page })
        } else {
            Ok(())
        }
    }

    /// The slow half of [`Nand::program`]: refuses, or programs a page of a block that is not ordinary, or where limits of reads are
    /// kept.
    #[cold]
    fn program_with_care(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        let pages = self.shape.pages_per_block;
        if page.number() >= pages {
            return Err(Violation::NoSuchPage { block, page });
        }
        self.check_usable(block, page)?;
        let state = self.blocks[block.index()];
        let next = Page::new(state.next_page.into());
        if state.is_lsb_only() && !self.is_lsb(page) {
            return Err(Violation::UpperPage { block, page });
        } else if page < next {
            return Err(Violation::ProgramTwice { block, page });
        } else if page > next {
            return Err(Violation::ProgramOrder { block, page, next });
        }
        let mut following = page.number() + 1;
        while state.is_lsb_only() && following < pages && !self.is_lsb(Page::new(following)) {
            following += 1;
        }
        self.blocks[block.index()].next_page = following as u16;
        self.note_program(block, page);
        Ok(())
    }

    /// The slow half of [`Nand::erase`].
    #[cold]
    fn erase_with_care(&mut self, block: Block) -> Result<(), Violation> {
        if self.blocks[block.index()].is_bad() {
            return Err(Violation::BadBlock { block });
        }
        self.forget_pages(block);
        self.forget_errors(block);
        self.end_cycle(block);
        self.end_cycle_in_mode(block);
        self.blocks[block.index()].erase();
        Ok(())
    }

    /// Forgets what is known of single pages of a block.
    fn forget_pages(&mut self, block: Block) {
        if self.blocks[block.index()].is_low_density() {
            let first = self.index(block, Page::FIRST);
            let range = first..first + self.shape.pages_per_block as usize;
            self.reprogrammed.remove(range.clone());
            self.lower.remove(range);
        }
        while let Some(&place) = self.lost.range((block, Page::FIRST)..=(block, Page::new(u32::MAX))).next() {
            self.lost.remove(&place);
        }
    }
}

/// The scopes of the array and of its parts.
pub fn scopes() -> Vec<&'static Scope> {
    vec![&SCOPE, &disturb::SCOPE, &errors::SCOPE, &media::SCOPE]
}

/// The scope of this part.
pub static SCOPE: Scope = Scope {
    area: Area::Array,
    name: "NAND array",
    keys: &["device.cell", "device.program_order", "device.multiplane"],
    modelled: "Blocks of SLC to QLC cells refuse what real flash refuses, in every run.",
    not_modelled: &[
        "Planes of a die do not work on different commands at once.",
        "A page is programmed once: there are no partial programs.",
        "No cell stores five bits.",
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A block by its number.
    pub(crate) fn b(number: u32) -> Block {
        Block::new(number)
    }

    /// A page of the array by its numbers.
    pub(crate) fn at((block, page): (u32, u32)) -> Place {
        (b(block), p(page))
    }

    /// A page of a block by its number.
    pub(crate) fn p(number: u32) -> Page {
        Page::new(number)
    }

    /// 2 dies of 2 planes, 3 blocks a plane, 4 pages a block: block = plane × 3 + offset.
    #[test]
    fn a_wordline_of_one_shot_is_whole_with_its_last_page() {
        let mut nand = shaped(Multiplane::Off, Cell::Mlc, ProgramOrder::Consecutive);
        nand.program_wordlines();
        assert_eq!([0, 1, 2, 3].map(|page| nand.last_of_wordline(b(1), p(page)).number()), [1, 1, 3, 3]);
        for page in Page::all(0..4) {
            nand.program(b(1), page).unwrap();
            for of in 0..4 {
                let is_whole = of / 2 < page.number().div_ceil(2);
                assert_eq!(nand.is_whole(b(1), p(of)), is_whole, "page {of} after {page}");
                let refused = Violation::PartOfWordline { block: b(1), page: p(of) };
                assert_eq!(nand.check_whole(b(1), p(of)), if is_whole { Ok(()) } else { Err(refused) });
            }
        }
        nand.erase(b(1)).unwrap();
        assert!(!nand.is_whole(b(1), p(0)));
    }

    fn nand(multiplane: Multiplane) -> Nand {
        shaped(multiplane, Cell::Mlc, ProgramOrder::Consecutive)
    }

    pub(crate) fn shaped(multiplane: Multiplane, cell: Cell, program_order: ProgramOrder) -> Nand {
        array([4, 2, 3, 4], (cell, program_order), multiplane, StoreKind::Stamps)
    }

    /// One die of two planes of 4 blocks of 4 TLC wordlines, whose pages store nothing.
    pub(crate) fn tlc_die(program_order: ProgramOrder) -> Nand {
        array([2, 2, 4, 12], (Cell::Tlc, program_order), Multiplane::Pac, StoreKind::Nothing)
    }

    /// An array of so many planes, planes a die, blocks a plane and pages a block.
    pub(crate) fn array(
        [planes, planes_per_die, blocks_per_plane, pages_per_block]: [u32; 4],
        (cell, program_order): (Cell, ProgramOrder),
        multiplane: Multiplane,
        store: StoreKind,
    ) -> Nand {
        let parts = 1;
        Nand::new(
            Shape { planes, planes_per_die, blocks_per_plane, pages_per_block, parts, multiplane, cell, program_order },
            store,
        )
    }

    #[test]
    fn programs_only_the_next_page() {
        let mut nand = nand(Multiplane::Pac);
        assert_eq!(nand.program(b(0), p(1)), Err(Violation::ProgramOrder { block: b(0), page: p(1), next: p(0) }));
        nand.program(b(0), p(0)).unwrap();
        assert_eq!(nand.program(b(0), p(0)), Err(Violation::ProgramTwice { block: b(0), page: p(0) }));
        nand.program(b(0), p(1)).unwrap();
        nand.program(b(0), p(2)).unwrap();
        nand.program(b(0), p(3)).unwrap();
        assert_eq!(nand.program(b(0), p(4)), Err(Violation::NoSuchPage { block: b(0), page: p(4) }));
        assert_eq!(nand.program(b(12), p(0)), Err(Violation::NoSuchPage { block: b(12), page: p(0) }));
    }

    #[test]
    fn erasing_makes_a_block_new_and_counts() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(b(5), p(0)).unwrap();
        nand.read(b(5), p(0)).unwrap();
        assert_eq!(nand.blocks()[5], BlockState { erases: 0, reads: 1, next_page: 1, ..BlockState::default() });
        nand.erase(b(5)).unwrap();
        assert_eq!(nand.blocks()[5], BlockState { erases: 1, ..BlockState::default() });
        assert_eq!(nand.read(b(5), p(0)), Err(Violation::ReadUnprogrammed { block: b(5), page: p(0) }));
        nand.program(b(5), p(0)).unwrap();
    }

    #[test]
    fn reads_only_what_is_programmed() {
        let mut nand = nand(Multiplane::Pac);
        assert_eq!(nand.read(b(1), p(0)), Err(Violation::ReadUnprogrammed { block: b(1), page: p(0) }));
        assert_eq!(nand.read(b(1), p(9)), Err(Violation::NoSuchPage { block: b(1), page: p(9) }));
        assert_eq!(nand.read(b(99), p(0)), Err(Violation::NoSuchPage { block: b(99), page: p(0) }));
    }

    #[test]
    fn bad_blocks_are_untouchable() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(b(2), p(0)).unwrap();
        nand.mark_bad(b(2));
        assert_eq!(nand.read(b(2), p(0)), Err(Violation::BadBlock { block: b(2) }));
        assert_eq!(nand.program(b(2), p(1)), Err(Violation::BadBlock { block: b(2) }));
        assert_eq!(nand.erase(b(2)), Err(Violation::BadBlock { block: b(2) }));
        assert_eq!(nand.erase(b(12)), Err(Violation::NoSuchPage { block: b(12), page: p(0) }));
    }

    #[test]
    fn multiplane_commands_keep_to_the_address_constraints() {
        let read = OpKind::Read;
        let off = nand(Multiplane::Off);
        assert_eq!(off.check_multiplane(read, [(0, 0), (3, 0)].map(at)), Err(Violation::MultiplaneOff { kind: read }));
        off.check_multiplane(read, [(0, 0)].map(at)).unwrap();

        let pac = nand(Multiplane::Pac);
        pac.check_multiplane(read, [(0, 2), (4, 2)].map(at)).unwrap();
        let two = |first, second| Err(Violation::MultiplanePlanes { kind: read, first, second });
        assert_eq!(pac.check_multiplane(read, [(0, 2), (1, 2)].map(at)), two(0, 0));
        assert_eq!(pac.check_multiplane(read, [(3, 2), (6, 2)].map(at)), two(1, 2));
        assert_eq!(
            pac.check_multiplane(read, [(0, 2), (3, 1)].map(at)),
            Err(Violation::MultiplanePages { kind: read, first: p(2), second: p(1) })
        );
        pac.check_multiplane(OpKind::Erase, [(0, 0), (5, 0)].map(at)).unwrap();

        let bac = nand(Multiplane::Bac);
        bac.check_multiplane(read, [(1, 2), (4, 2)].map(at)).unwrap();
        assert_eq!(
            bac.check_multiplane(OpKind::Erase, [(0, 0), (5, 0)].map(at)),
            Err(Violation::MultiplaneBlocks { kind: OpKind::Erase, first: 0, second: 2 })
        );

        let any = nand(Multiplane::Any);
        any.check_multiplane(read, [(0, 2), (3, 1)].map(at)).unwrap();
        any.check_multiplane(OpKind::Erase, [(0, 0), (5, 0)].map(at)).unwrap();
        assert_eq!(any.check_multiplane(read, [(0, 2), (1, 1)].map(at)), two(0, 0));
        assert_eq!(any.check_multiplane(read, [(3, 2), (6, 1)].map(at)), two(1, 2));
    }

    #[test]
    fn payloads_are_kept_where_they_are_written() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(b(7), p(0)).unwrap();
        nand.store(b(7), p(0), 42, 1 << 100);
        assert_eq!((nand.data(b(7), p(0)), nand.data(b(7), p(1))), (42, 0));
        assert_eq!((nand.spare(b(7), p(0)), nand.spare(b(7), p(1))), (1 << 100, 0));
    }

    #[test]
    fn the_order_of_pages_programs_every_lsb_before_its_msb() {
        for order in [ProgramOrder::Consecutive, ProgramOrder::Shadow] {
            let layout = PageLayout::new(Cell::Mlc, order, 4, 1);
            let msb = (0..4).find(|&page| layout.page_type(page).0 == 1).unwrap();
            let lsb = (0..4).find(|&page| page != msb && layout.wordline(page) == layout.wordline(msb)).unwrap();
            assert!(lsb < msb);
            let mut nand = shaped(Multiplane::Pac, Cell::Mlc, order);
            assert_eq!(
                nand.program(b(0), p(msb)),
                Err(Violation::ProgramOrder { block: b(0), page: p(msb), next: p(0) })
            );
        }
    }

    #[test]
    fn copyback_stays_inside_a_plane() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(b(0), p(0)).unwrap();
        nand.store(b(0), p(0), 9, 90);
        assert_eq!(nand.copyback((b(0), p(0)), (b(3), p(0))), Err(Violation::CopybackPlanes { from: 0, to: 1 }));
        assert_eq!(
            nand.copyback((b(0), p(1)), (b(1), p(0))),
            Err(Violation::ReadUnprogrammed { block: b(0), page: p(1) })
        );
        assert_eq!(
            nand.copyback((b(0), p(0)), (b(1), p(1))),
            Err(Violation::ProgramOrder { block: b(1), page: p(1), next: p(0) })
        );
        nand.copyback((b(0), p(0)), (b(1), p(0))).unwrap();
        assert_eq!((nand.data(b(1), p(0)), nand.spare(b(1), p(0))), (9, 90));
    }

    #[test]
    fn only_a_programmed_msb_page_is_reprogrammed_and_only_once() {
        // Consecutive MLC: pages 1 and 3 are MSB pages.
        let mut nand = nand(Multiplane::Pac);
        assert_eq!(nand.reprogram(b(0), p(1)), Err(Violation::Reprogram { block: b(0), page: p(1) }), "not programmed");
        for page in Page::all(0..2) {
            nand.program(b(0), page).unwrap();
        }
        assert_eq!(nand.reprogram(b(0), p(0)), Err(Violation::Reprogram { block: b(0), page: p(0) }), "an LSB page");
        nand.reprogram(b(0), p(1)).unwrap();
        assert!(nand.blocks()[0].is_low_density());
        assert_eq!(nand.reprogram(b(0), p(1)), Err(Violation::Reprogram { block: b(0), page: p(1) }), "twice");
        nand.read(b(0), p(0)).unwrap();
        assert_eq!(nand.read(b(0), p(1)), Err(Violation::ReadReprogrammed { block: b(0), page: p(1) }));
        nand.erase(b(0)).unwrap();
        assert!(!nand.blocks()[0].is_low_density());
        nand.program(b(0), p(0)).unwrap();
        nand.program(b(0), p(1)).unwrap();
        nand.read(b(0), p(1)).unwrap();
        nand.mark_bad(b(0));
        assert_eq!(nand.reprogram(b(0), p(1)), Err(Violation::BadBlock { block: b(0) }));
        assert_eq!(nand.reprogram(b(12), p(1)), Err(Violation::NoSuchPage { block: b(12), page: p(1) }));
        // A cell of one bit has no MSB page over an LSB page.
        let mut slc = shaped(Multiplane::Pac, Cell::Slc, ProgramOrder::Consecutive);
        slc.program(b(0), p(0)).unwrap();
        assert_eq!(slc.reprogram(b(0), p(0)), Err(Violation::Reprogram { block: b(0), page: p(0) }));
    }
    #[test]
    fn a_block_of_lsb_pages_passes_over_the_others() {
        // 12 pages a block; by cell and order, the LSB pages of the layouts that `base` pins.
        let cases: [(Cell, ProgramOrder, &[u32]); 7] = [
            (Cell::Slc, ProgramOrder::Consecutive, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            (Cell::Mlc, ProgramOrder::Consecutive, &[0, 2, 4, 6, 8, 10]),
            (Cell::Mlc, ProgramOrder::Shadow, &[0, 1, 3, 5, 7, 9]),
            (Cell::Tlc, ProgramOrder::Consecutive, &[0, 3, 6, 9]),
            (Cell::Tlc, ProgramOrder::Shadow, &[0, 1, 3, 6]),
            (Cell::Qlc, ProgramOrder::Consecutive, &[0, 4, 8]),
            (Cell::Qlc, ProgramOrder::Shadow, &[0, 1, 3]),
        ];
        for (cell, order, lsb_pages) in cases {
            let shape = Shape { pages_per_block: 12, ..shaped(Multiplane::Pac, cell, order).shape };
            let mut nand = Nand::new(shape, StoreKind::Stamps);
            nand.use_lsb_only(b(5)).unwrap();
            for (index, &page) in lsb_pages.iter().enumerate() {
                assert_eq!(u32::from(nand.blocks()[5].next_page), page, "{cell:?} {order:?}");
                let later = lsb_pages.get(index + 1);
                if let Some(&later) = later {
                    assert_eq!(
                        nand.program(b(5), p(later)),
                        Err(Violation::ProgramOrder { block: b(5), page: p(later), next: p(page) })
                    );
                }
                nand.program(b(5), p(page)).unwrap();
                assert_eq!(nand.program(b(5), p(page)), Err(Violation::ProgramTwice { block: b(5), page: p(page) }));
            }
            assert_eq!(nand.blocks()[5].next_page, 12);
            for page in Page::all(0..12) {
                let is_lsb = lsb_pages.contains(&page.number());
                assert_eq!(nand.is_programmed(b(5), page), is_lsb);
                assert_eq!(nand.holds_data(b(5), page), is_lsb);
                let read = if is_lsb { Ok(()) } else { Err(Violation::ReadUnprogrammed { block: b(5), page }) };
                assert_eq!(nand.read(b(5), page), read);
                if !is_lsb {
                    assert_eq!(nand.program(b(5), page), Err(Violation::UpperPage { block: b(5), page }));
                    assert_eq!(nand.reprogram(b(5), page), Err(Violation::Reprogram { block: b(5), page }));
                }
            }
            assert_eq!(nand.program(b(5), p(12)), Err(Violation::NoSuchPage { block: b(5), page: p(12) }));
            nand.erase(b(5)).unwrap();
            for page in Page::all(0..12) {
                nand.program(b(5), page).unwrap();
            }
        }
    }

    #[test]
    fn only_an_erased_block_changes_its_mode() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(b(0), p(0)).unwrap();
        assert_eq!(nand.use_lsb_only(b(0)), Err(Violation::ModeOfUsedBlock { block: b(0), next: p(1) }));
        assert!(!nand.blocks()[0].is_lsb_only());
        nand.erase(b(0)).unwrap();
        nand.use_lsb_only(b(0)).unwrap();
        nand.use_lsb_only(b(0)).unwrap();
        assert!(nand.blocks()[0].is_lsb_only());
        nand.mark_bad(b(1));
        assert_eq!(nand.use_lsb_only(b(1)), Err(Violation::BadBlock { block: b(1) }));
        nand.tear_erase(b(2)).unwrap();
        assert_eq!(nand.use_lsb_only(b(2)), Err(Violation::TornBlock { block: b(2) }));
        assert_eq!(nand.use_lsb_only(b(12)), Err(Violation::NoSuchPage { block: b(12), page: p(0) }));
    }

    #[test]
    fn a_block_stays_small() {
        assert_eq!(size_of::<BlockState>(), 12);
    }
}
