//! Wordlines that are programmed as a whole, in one shot or in two passes: which pages of one are placed, and which can be read.

use std::ops::Range;

use base::{Block, Geometry, Page, Ppn};

use super::assembly::Wordlines;
use super::{Flash, InProgram, ProgramId, obey};

/// A row of flash pages.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The numbers of its pages.
    pub(crate) pages: Range<u32>,
    /// Its first page.
    first: (Block, Page),
}

impl Row {
    /// No row.
    pub(super) const NONE: Row = Row { pages: 0..0, first: (Block::new(0), Page::FIRST) };
}

impl Flash {
    /// The row of a page.
    pub(crate) fn row(&self, ppn: Ppn) -> Row {
        let pages = self.geometry.row_around(ppn);
        Row { first: self.address(Ppn(pages.start)), pages }
    }

    /// The address of a page of a row.
    #[inline]
    pub(super) fn address_in(&self, row: &Row, ppn: Ppn) -> (Block, Page) {
        let (block, page) = row.first;
        let (lane, part) = self.geometry.lane_and_part(ppn.0 - row.pages.start);
        (Block::new(block.number() + lane * self.geometry.blocks_per_plane), page.plus(part))
    }

    /// Reads the flash page of a page of a row, where that concerns nobody but its block ([`Flash::reads_rows`]).
    #[inline]
    pub(crate) fn read_in(&mut self, row: &Row, ppn: Ppn) {
        let (block, page) = self.address_in(row, ppn);
        obey(self.nand.read(block, page));
    }

    /// All pages of a program are placed.
    #[inline]
    pub(crate) fn is_whole(&self, (block, number): ProgramId) -> bool {
        (number + 1) * self.nand.together_in(block) <= self.next_page_of(block)
    }

    /// The blocks whose pages are programmed together with those of a block that is the last one of them.
    pub(super) fn blocks_programmed_with(&self, last: Block) -> impl Iterator<Item = Block> + use<> {
        let Geometry { unit_width, blocks_per_plane, .. } = self.geometry;
        let before = if self.geometry.parts == 1 { 0 } else { last.number() / blocks_per_plane % unit_width };
        (0..=before).rev().map(move |lane| Block::new(last.number() - lane * blocks_per_plane))
    }

    /// The program that brings a page, and which page of that it is.
    #[inline]
    pub(crate) fn in_program(&self, ppn: Ppn) -> InProgram {
        let (unit, slot) = self.geometry.unit_and_slot(ppn);
        let (page, lane) = self.geometry.page_and_lane(slot);
        let lanes_behind = if self.geometry.parts == 1 { 0 } else { self.geometry.unit_width - 1 - lane };
        let block = self.geometry.block_of(unit, lane);
        let last_block = Block::new(block.number() + lanes_behind * self.geometry.blocks_per_plane);
        let together = self.nand.together_in(block);
        let program = (last_block, page.number() / together);
        InProgram { program, completes: page.number() % together == together - 1 && lanes_behind == 0 }
    }

    /// Pages of a wordline of a program.
    #[inline]
    pub(crate) fn pages_together(&self, (block, _): ProgramId) -> usize {
        self.nand.together_in(block) as usize
    }

    /// Rows of flash pages are programmed at once, each page by itself: nothing gathers for longer.
    #[inline]
    pub(crate) fn programs_by_row(&self) -> bool {
        self.geometry.parts > 1 && self.assembly.wordlines == Wordlines::ByPage
    }

    /// True if a page is the last one of its wordline.
    pub(crate) fn is_last_of_wordline(&self, ppn: Ppn) -> bool {
        let is_last = |(block, page)| self.nand.last_of_wordline(block, page) == page;
        // Most are told by less than their address.
        self.geometry.is_last_part(ppn) && (self.assembly.wordlines == Wordlines::ByPage || is_last(self.address(ppn)))
    }

    /// All pages of the program behind one are placed as well, if there is one.
    pub(crate) fn is_next_whole(&self, (block, number): ProgramId) -> bool {
        let is_last = (number + 1) * self.nand.together_in(block) == self.geometry.pages_per_block;
        is_last || self.is_whole((block, number + 1))
    }

    /// The last page of the wordline of a page.
    pub(crate) fn last_of_wordline(&self, block: Block, page: Page) -> Page {
        self.nand.last_of_wordline(block, page)
    }

    /// The block of a page, and the last page of its wordline there.
    pub(crate) fn wordline_of(&self, ppn: Ppn) -> (Block, Page) {
        let (block, page) = self.address(ppn);
        (block, self.last_of_wordline(block, page))
    }

    /// The block of a page is in SLC mode: it uses LSB pages only, and the chip has such a mode.
    #[inline]
    pub(crate) fn is_in_slc_mode(&self, ppn: Ppn) -> bool {
        self.tells_modes && self.nand.blocks()[self.address(ppn).0.index()].is_lsb_only()
    }

    /// The last page of the wordline before that of a last page, and its block.
    pub(crate) fn last_of_wordline_before(&self, ppn: Ppn) -> Option<(Block, Page)> {
        let (block, page) = self.address(ppn);
        page.minus(self.nand.pages_together()).map(|before| (block, before))
    }

    /// A page's wordline has had its second pass, or has it now; or its only one, with all pages that are programmed together.
    #[inline]
    pub(crate) fn is_final(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        if self.has_one_pass(block) {
            self.is_whole(self.in_program(ppn).program)
        } else {
            self.is_final_at((block, page))
        }
    }

    /// True if the second pass of a page was sent, in a block whose wordlines have two.
    #[inline]
    pub(crate) fn is_final_at(&self, (block, page): (Block, Page)) -> bool {
        self.is_sent_twice(block, page)
    }

    /// Has the array confirm that pages can be read, likewise.
    pub(crate) fn check_final(&self, ppns: impl Iterator<Item = Ppn>) {
        for (block, page) in self.flash_pages(ppns) {
            obey(self.nand.check_final(block, page));
        }
    }

    /// Has the array confirm that the wordlines of pages are complete.
    pub(crate) fn check_whole(&self, ppns: impl Iterator<Item = Ppn>) {
        for (block, page) in self.flash_pages(ppns) {
            obey(self.nand.check_whole(block, page));
        }
    }

    /// The addresses of pages, of those of one flash page that follow each other the first one alone: they share its lot.
    pub(super) fn flash_pages(&self, ppns: impl Iterator<Item = Ppn>) -> impl Iterator<Item = (Block, Page)> {
        let mut last = 0..0;
        ppns.filter(move |&ppn| {
            let begins = !last.contains(&ppn.0);
            if begins {
                last = self.geometry.flash_page_around(ppn);
            }
            begins
        })
        .map(|ppn| self.address_out_of_line(ppn))
    }

    #[inline(never)] // In line a loop has all of the geometry at hand first, mostly for one page.
    fn address_out_of_line(&self, ppn: Ppn) -> (Block, Page) {
        self.address(ppn)
    }
}
