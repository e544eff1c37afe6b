//! Wordlines that are programmed as a whole, in one shot or in two passes: which pages of one are placed, and which can be read.

use base::{Block, Geometry, Page, Ppn};

use super::{Flash, obey};

impl Flash {
    /// Whether all pages of a page's wordline are placed.
    #[inline]
    pub(crate) fn is_whole(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        self.are_placed(block, page)
    }

    /// All pages of the wordline of a page are placed.
    #[inline]
    fn are_placed(&self, block: Block, page: Page) -> bool {
        self.nand.last_of_wordline(page).number() < self.next_page_of(self.last_block_of_row(block))
    }

    /// The block whose pages are placed last of those that are programmed together with pages of a block. Flash pages of a row are,
    /// where they are of several pages.
    #[inline]
    fn last_block_of_row(&self, block: Block) -> Block {
        if self.geometry.parts == 1 {
            block
        } else {
            Block::new(block.number() + self.lanes_of_row(block).1 * self.geometry.blocks_per_plane)
        }
    }

    /// The blocks whose pages are programmed together with those of a block that is the last one of them.
    pub(super) fn blocks_programmed_with(&self, last: Block) -> impl Iterator<Item = Block> + use<> {
        let before = if self.geometry.parts == 1 { 0 } else { self.lanes_of_row(last).0 };
        let blocks_per_plane = self.geometry.blocks_per_plane;
        (0..=before).rev().map(move |lane| Block::new(last.number() - lane * blocks_per_plane))
    }

    /// Blocks of the reclaim unit of a block on planes before and behind its own.
    fn lanes_of_row(&self, block: Block) -> (u32, u32) {
        let Geometry { unit_width, blocks_per_plane, .. } = self.geometry;
        let lane = block.number() / blocks_per_plane % unit_width;
        (lane, unit_width - 1 - lane)
    }

    /// A page is the last one to be placed of those that are programmed together.
    pub(crate) fn completes_program(&self, ppn: Ppn) -> bool {
        self.is_last_of_wordline(ppn) && self.last_block_of_row(self.block_of(ppn)) == self.block_of(ppn)
    }

    /// Which program of its block brings a page, of those that program as much as it.
    pub(crate) fn program_of(&self, ppn: Ppn) -> u32 {
        self.page_offset(ppn).number() / self.nand.pages_together()
    }

    /// Two pages lie in blocks that are programmed together.
    pub(crate) fn are_programmed_together(&self, first: Block, second: Block) -> bool {
        self.last_block_of_row(first) == self.last_block_of_row(second)
    }

    /// Whether a page is the last one of its wordline.
    pub(crate) fn is_last_of_wordline(&self, ppn: Ppn) -> bool {
        let page = self.page_offset(ppn);
        self.nand.last_of_wordline(page) == page
    }

    /// Whether all pages of the wordline behind a page's are placed as well, if there is one.
    pub(crate) fn is_next_whole(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        let next = self.nand.last_of_wordline(page).plus(1);
        next.number() == self.geometry.pages_per_block || self.are_placed(block, next)
    }

    /// The last page of the wordline of a page.
    pub(crate) fn last_of_wordline(&self, page: Page) -> Page {
        self.nand.last_of_wordline(page)
    }

    /// The last page of the wordline before that of a last page, and its block.
    pub(crate) fn last_of_wordline_before(&self, ppn: Ppn) -> Option<(Block, Page)> {
        let (block, page) = self.address(ppn);
        page.minus(self.nand.pages_together()).map(|before| (block, before))
    }

    /// Whether a page's wordline has had its second pass, or has it now.
    #[inline]
    pub(crate) fn is_final(&self, ppn: Ppn) -> bool {
        self.is_final_at(self.address(ppn))
    }

    /// The same of a page of a block.
    #[inline]
    pub(crate) fn is_final_at(&self, (block, page): (Block, Page)) -> bool {
        self.is_sent_twice(block, page)
    }

    /// Has the array confirm that pages can be read, likewise.
    pub(crate) fn check_final(&self, ppns: impl Iterator<Item = Ppn>) {
        for (block, page) in ppns.map(|ppn| self.address(ppn)) {
            obey(self.nand.check_final(block, page));
        }
    }

    /// Has the array confirm that the wordlines of pages are complete.
    pub(crate) fn check_whole(&self, ppns: impl Iterator<Item = Ppn>) {
        for (block, page) in ppns.map(|ppn| self.address(ppn)) {
            obey(self.nand.check_whole(block, page));
        }
    }
}
