//! Wordlines that are programmed as a whole, in one shot or in two passes: which pages of one are placed, and which can be read.

use base::{Geometry, Ppn};

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
    fn are_placed(&self, block: u32, page: u32) -> bool {
        self.nand.last_of_wordline(page) < self.next_page_of(self.last_block_of_row(block))
    }

    /// The block whose pages are placed last of those that are programmed together with pages of a block. Flash pages of a row are,
    /// where they are of several pages.
    #[inline]
    fn last_block_of_row(&self, block: u32) -> u32 {
        if self.geometry.parts == 1 {
            block
        } else {
            block + self.lanes_of_row(block).1 * self.geometry.blocks_per_plane
        }
    }

    /// The blocks whose pages are programmed together with those of a block that is the last one of them.
    pub(super) fn blocks_programmed_with(&self, last: u32) -> impl Iterator<Item = u32> + use<> {
        let before = if self.geometry.parts == 1 { 0 } else { self.lanes_of_row(last).0 };
        let blocks_per_plane = self.geometry.blocks_per_plane;
        (0..=before).rev().map(move |lane| last - lane * blocks_per_plane)
    }

    /// Blocks of the reclaim unit of a block on planes before and behind its own.
    fn lanes_of_row(&self, block: u32) -> (u32, u32) {
        let Geometry { unit_width, blocks_per_plane, .. } = self.geometry;
        let lane = block / blocks_per_plane % unit_width;
        (lane, unit_width - 1 - lane)
    }

    /// A page is the last one to be placed of those that are programmed together.
    pub(crate) fn completes_program(&self, ppn: Ppn) -> bool {
        self.is_last_of_wordline(ppn) && self.last_block_of_row(self.block_of(ppn)) == self.block_of(ppn)
    }

    /// Which program of its block brings a page, of those that program as much as it.
    pub(crate) fn program_of(&self, ppn: Ppn) -> u32 {
        self.page_offset(ppn) / (self.nand.last_of_wordline(0) + 1)
    }

    /// Two pages lie in blocks that are programmed together.
    pub(crate) fn are_programmed_together(&self, first: u32, second: u32) -> bool {
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
        let next = self.nand.last_of_wordline(page) + 1;
        next == self.geometry.pages_per_block || self.are_placed(block, next)
    }

    /// The last page of the wordline of a page.
    pub(crate) fn last_of_wordline(&self, page: u32) -> u32 {
        self.nand.last_of_wordline(page)
    }

    /// The last page of the wordline before that of a last page, and its block.
    pub(crate) fn last_of_wordline_before(&self, ppn: Ppn) -> Option<(u32, u32)> {
        let (block, page) = self.address(ppn);
        let bits = self.nand.last_of_wordline(0) + 1;
        page.checked_sub(bits).map(|before| (block, before))
    }

    /// Whether a page's wordline has had its second pass, or has it now.
    #[inline]
    pub(crate) fn is_final(&self, ppn: Ppn) -> bool {
        self.is_final_at(self.address(ppn))
    }

    /// The same of a page of a block.
    #[inline]
    pub(crate) fn is_final_at(&self, (block, page): (u32, u32)) -> bool {
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
