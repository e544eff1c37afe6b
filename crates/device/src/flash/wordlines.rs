//! Wordlines that are programmed as a whole, in one shot or in two passes: which pages of one are placed, and which can be read.

use base::Ppn;

use super::{Content, Flash, obey};

impl Flash {
    /// Whether all pages of a page's wordline are placed.
    #[inline]
    pub(crate) fn is_whole(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        self.nand.is_whole(block, page)
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
        next == self.geometry.pages_per_block || self.nand.is_whole(block, next)
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

    /// Wordlines are programmed in two passes from now on.
    pub(crate) fn begin_passes(&mut self) {
        self.nand.begin_passes();
    }

    /// Whether a page's wordline has had its second pass, or has it now.
    #[inline]
    pub(crate) fn is_final(&self, ppn: Ppn) -> bool {
        self.is_final_at(self.address(ppn))
    }

    /// The same of a page of a block.
    #[inline]
    pub(crate) fn is_final_at(&self, (block, page): (u32, u32)) -> bool {
        self.nand.is_final(block, page)
    }

    /// Programs the wordline of a page coarsely, where there are two passes.
    pub(crate) fn first_pass(&mut self, ppn: Ppn) {
        let (block, page) = self.address(ppn);
        obey(self.nand.first_pass(block, page));
    }

    /// Programs the wordline of a page finely, likewise.
    pub(crate) fn second_pass(&mut self, ppn: Ppn) {
        let (block, page) = self.address(ppn);
        obey(self.nand.second_pass(block, page));
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

    /// What a page holds that waits in the controller.
    pub(crate) fn waiting(&self, ppn: Ppn) -> Content {
        let (block, page) = self.address(ppn);
        Content { stamp: self.nand.stamp(block, page), spare: self.nand.spare(block, page) }
    }
}
