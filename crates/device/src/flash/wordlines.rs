//! Wordlines that are programmed as a whole, in one shot or in two passes: which pages of one are placed, and which can be read.

use base::Ppn;

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
        self.nand.last_of_wordline(page) < self.next_page_of(block)
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
    pub(crate) fn check_final(&self, ppns: &[Ppn]) {
        for (block, page) in ppns.iter().map(|&ppn| self.address(ppn)) {
            obey(self.nand.check_final(block, page));
        }
    }

    /// Has the array confirm that the wordlines of pages are complete.
    pub(crate) fn check_whole(&self, ppns: &[Ppn]) {
        for (block, page) in ppns.iter().map(|&ppn| self.address(ppn)) {
            obey(self.nand.check_whole(block, page));
        }
    }
}
