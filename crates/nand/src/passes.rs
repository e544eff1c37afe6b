//! Wordlines that are programmed in two passes, coarse and fine: which pass comes when, and what can be read.

use base::{Block, Page};

use crate::{Nand, Violation};

/// Wordlines of a block that have had each pass, from the first one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passes {
    first: u16,
    second: u16,
}

impl Passes {
    /// Of an erased block.
    pub(crate) const NONE: Passes = Passes { first: 0, second: 0 };
}

impl Nand {
    /// Wordlines are programmed in two passes from now on. Those that are complete have had both.
    pub fn begin_passes(&mut self) {
        self.program_wordlines();
        let pages = self.wordline_pages() as u16;
        let passes_of = |next_page: u16| Passes { first: next_page / pages, second: next_page / pages };
        self.passes = self.blocks.iter().map(|block| passes_of(block.next_page)).collect();
    }

    /// The power went off: wordlines that have not had their second pass are lost, and there are no more passes.
    pub fn end_passes(&mut self) {
        Block::all(0..self.passes.len() as u32).for_each(|block| self.fail_passes(block));
        self.passes.clear();
    }

    /// A pass over a wordline of a block failed: all that have not had their second pass are lost.
    pub fn fail_passes(&mut self, block: Block) {
        let Some(passes) = self.passes.get(block.index()) else { return };
        if self.blocks[block.index()].is_lsb_only() {
            // Its wordlines have one pass.
            return;
        }
        let first = u32::from(passes.second) * self.wordline_pages();
        Page::all(first..u32::from(self.blocks[block.index()].next_page)).for_each(|page| self.lose(block, page));
    }

    /// Programs a page's wordline for the first time, coarsely. Programs shift the cells of the wordline before, which has its second
    /// pass afterwards; so the one before that must have had its second pass.
    ///
    /// # Errors
    /// [`Violation`] if pages of it are missing, or it is not its turn.
    pub fn first_pass(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        self.check_whole(block, page)?;
        let wordline = self.wordline_of(page);
        let passes = &mut self.passes[block.index()];
        if wordline != passes.first || wordline > passes.second + 1 {
            return Err(Violation::FirstPass { block, wordline: wordline.into() });
        }
        passes.first += 1;
        Ok(())
    }

    /// Programs a page's wordline for the second time, finely: behind the first pass of the next one, if there is one.
    ///
    /// # Errors
    /// [`Violation`] if it is not its turn.
    pub fn second_pass(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        let (wordline, last) = (self.wordline_of(page), self.wordline_of(Page::new(self.shape.pages_per_block - 1)));
        let passes = &mut self.passes[block.index()];
        if wordline != passes.second || passes.first < (wordline + 2).min(last + 1) {
            return Err(Violation::SecondPass { block, wordline: wordline.into() });
        }
        passes.second += 1;
        Ok(())
    }

    /// True if a page's wordline has had its second pass, or its only one, so that the array has its data.
    #[inline]
    pub fn is_final(&self, block: Block, page: Page) -> bool {
        match self.blocks[block.index()].is_lsb_only() {
            true => self.is_whole(block, page),
            false => self.wordline_of(page) < self.passes[block.index()].second,
        }
    }

    /// Checks that a page can be read.
    ///
    /// # Errors
    /// [`Violation`] if its wordline has not had its second pass.
    pub fn check_final(&self, block: Block, page: Page) -> Result<(), Violation> {
        if self.is_final(block, page) { Ok(()) } else { Err(Violation::BetweenPasses { block, page }) }
    }

    /// The wordline of a page, where the pages of one follow each other.
    fn wordline_of(&self, page: Page) -> u16 {
        (page.number() / self.wordline_pages()) as u16
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, Multiplane, ProgramOrder};

    use super::*;
    use crate::tests::{b, p};
    use crate::{Shape, StoreKind};

    /// A block of three wordlines of MLC.
    fn nand() -> Nand {
        let mut nand = Nand::new(
            Shape {
                planes: 1,
                planes_per_die: 1,
                blocks_per_plane: 2,
                pages_per_block: 6,
                parts: 1,
                multiplane: Multiplane::Off,
                cell: Cell::Mlc,
                program_order: ProgramOrder::Consecutive,
            },
            StoreKind::Nothing,
        );
        nand.begin_passes();
        nand
    }

    #[test]
    fn passes_follow_each_other_and_nothing_is_read_between_them() {
        let mut nand = nand();
        let first = |wordline| Err(Violation::FirstPass { block: b(0), wordline });
        let second = |wordline| Err(Violation::SecondPass { block: b(0), wordline });
        nand.program(b(0), p(0)).unwrap();
        assert_eq!(
            nand.first_pass(b(0), p(0)),
            Err(Violation::PartOfWordline { block: b(0), page: p(0) }),
            "a page is missing"
        );
        Page::all(1..6).for_each(|page| nand.program(b(0), page).unwrap());
        assert_eq!(nand.first_pass(b(0), p(2)), first(1), "wordline 0 comes first");
        nand.first_pass(b(0), p(1)).unwrap();
        assert_eq!(nand.first_pass(b(0), p(1)), first(0), "once");
        assert_eq!(nand.second_pass(b(0), p(1)), second(0), "behind the first pass of wordline 1");
        assert_eq!(nand.check_final(b(0), p(0)), Err(Violation::BetweenPasses { block: b(0), page: p(0) }));
        nand.first_pass(b(0), p(3)).unwrap();
        assert_eq!(nand.first_pass(b(0), p(5)), first(2), "wordline 0 has not had its second pass");
        assert_eq!(nand.second_pass(b(0), p(3)), second(1), "wordline 0 comes first");
        nand.second_pass(b(0), p(0)).unwrap();
        assert_eq!([0, 1, 2].map(|page| nand.check_final(b(0), p(page)).is_ok()), [true, true, false]);
        assert_eq!(nand.second_pass(b(0), p(0)), second(0), "once");
        nand.first_pass(b(0), p(5)).unwrap();
        nand.second_pass(b(0), p(2)).unwrap();
        nand.second_pass(b(0), p(4)).unwrap();
        assert!(Page::all(0..6).all(|page| nand.is_final(b(0), page)), "the last wordline has no other behind it");
        nand.erase(b(0)).unwrap();
        assert!(!nand.is_final(b(0), p(0)));
        nand.program(b(0), p(0)).unwrap();
        nand.program(b(0), p(1)).unwrap();
        nand.first_pass(b(0), p(0)).unwrap();
    }

    #[test]
    fn what_was_programmed_before_is_final_where_it_is_whole() {
        let mut nand = nand();
        Page::all(0..3).for_each(|page| nand.program(b(1), page).unwrap());
        nand.begin_passes();
        assert_eq!([0, 1, 2].map(|page| nand.is_final(b(1), p(page))), [true, true, false]);
        nand.program(b(1), p(3)).unwrap();
        nand.first_pass(b(1), p(3)).unwrap();
    }
}
