//! The array after an operation that failed or was interrupted.
//!
//! Lost content is no violation: the FTL could not know. Only what it does with a torn block is.

use base::{Block, ECC_LIMIT, Page};

use crate::{Nand, Violation};

impl Nand {
    /// Programs a page without success: the program failed, or power went off during it. The page counts as
    /// programmed and its content is lost, and so are the contents of the lower pages of its wordline, whose
    /// cells were on their way from one level to another (paired-page interference: Kim et al., "GCMix",
    /// ACM TOS 13(4), 2017, section 2.1).
    ///
    /// The block takes further programs. An upper page programmed later on the same wordline keeps its content.
    ///
    /// # Errors
    /// [`Violation`] as for [`Nand::program`].
    pub fn fail_program(&mut self, block: Block, page: Page) -> Result<(), Violation> {
        self.program(block, page)?;
        // The pages of a wordline are programmed lowest first, so those below this page are the lower ones.
        for other in Page::all(0..page.number() + 1).rev() {
            if self.layout.wordline(other.number()) == self.layout.wordline(page.number()) {
                self.lose(block, other);
            }
        }
        self.commit(block);
        Ok(())
    }

    /// True if two pages of a block share cells.
    pub fn share_wordline(&self, first: Page, second: Page) -> bool {
        self.layout.wordline(first.number()) == self.layout.wordline(second.number())
    }

    /// Erases a block without coming to the end: it is neither full nor free, its pages can be neither read nor
    /// programmed until it is erased again, and it is worn as by an erase.
    ///
    /// # Errors
    /// [`Violation`] as for [`Nand::erase`].
    pub fn tear_erase(&mut self, block: Block) -> Result<(), Violation> {
        self.erase(block)?;
        self.blocks[block.index()].mark_torn();
        self.commit(block);
        Ok(())
    }

    /// True for a programmed page whose content is lost: a read of it ends in an error that cannot be
    /// corrected.
    #[inline]
    pub fn is_lost(&self, block: Block, page: Page) -> bool {
        let state = &self.blocks[block.index()];
        state.has_lost_pages() && self.has_lost(block, page)
            || state.has_copied_pages() && self.errors_of(block, page) > ECC_LIMIT
    }

    /// True if a page lost its content to a failed program or a power cut, or is the copy of one that did.
    pub(crate) fn has_lost(&self, block: Block, page: Page) -> bool {
        self.lost.contains(&(block, page))
    }

    /// Switches power off and on: a block is in a mode because of how its pages were programmed, so one
    /// without programmed pages is in none.
    pub fn cycle_power(&mut self) {
        for state in &mut self.blocks {
            if state.next_page == 0 {
                state.forget_lsb_only();
            }
        }
        self.all_blocks().for_each(|block| self.commit(block));
    }

    /// A programmed page loses its content.
    pub(crate) fn lose(&mut self, block: Block, page: Page) {
        self.lost.insert((block, page));
        self.blocks[block.index()].mark_lost_page();
        let index = self.index(block, page);
        self.store.lose(index);
        self.commit_aside(block, page);
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, Multiplane, ProgramOrder};

    use crate::tests::{array, b, p};
    use crate::{Nand, StoreKind, Violation};

    /// Two planes of 3 blocks of 12 pages.
    fn nand(cell: Cell, program_order: ProgramOrder) -> Nand {
        array([2, 1, 3, 12], (cell, program_order), Multiplane::Off, StoreKind::Stamps)
    }

    fn fill(nand: &mut Nand, block: u32, pages: std::ops::Range<u32>) {
        for page in pages {
            nand.program(b(block), p(page)).unwrap();
            nand.store(b(block), p(page), 100 + u64::from(page), 200 + u128::from(page));
        }
    }

    /// The pages of block 1 that are lost when the program of that page fails.
    fn lost(cell: Cell, order: ProgramOrder, failing: u32) -> Vec<u32> {
        let mut nand = nand(cell, order);
        fill(&mut nand, 1, 0..failing);
        nand.fail_program(b(1), p(failing)).unwrap();
        fill(&mut nand, 1, failing + 1..12);
        let lost: Vec<u32> = (0..12).filter(|&page| nand.is_lost(b(1), p(page))).collect();
        for page in 0..12 {
            let is_lost = lost.contains(&page);
            nand.read(b(1), p(page)).unwrap();
            assert!(nand.is_programmed(b(1), p(page)));
            assert_eq!(nand.holds_data(b(1), p(page)), !is_lost);
            assert_eq!(nand.data(b(1), p(page)), if is_lost { 0 } else { 100 + u64::from(page) });
            assert_eq!(nand.spare(b(1), p(page)), if is_lost { 0 } else { 200 + u128::from(page) });
        }
        assert_eq!(nand.blocks()[1].reads, 12);
        nand.erase(b(1)).unwrap();
        fill(&mut nand, 1, 0..12);
        assert!(
            (0..12).map(p).all(|page| !nand.is_lost(b(1), page) && nand.holds_data(b(1), page)),
            "an erase makes it new"
        );
        assert!(nand.blocks()[1].is_ordinary());
        lost
    }

    #[test]
    fn a_failed_program_takes_the_lower_pages_of_its_wordline_along() {
        use Cell::*;
        use ProgramOrder::*;
        for page in 0..12 {
            assert_eq!(lost(Slc, Consecutive, page), [page], "a wordline has one page");
        }
        let cases: [(Cell, ProgramOrder, u32, &[u32]); 14] = [
            (Mlc, Consecutive, 4, &[4]),
            (Mlc, Consecutive, 5, &[4, 5]),
            (Mlc, Shadow, 0, &[0]),
            (Mlc, Shadow, 2, &[0, 2]),
            (Mlc, Shadow, 4, &[1, 4]),
            (Mlc, Shadow, 11, &[9, 11]),
            (Tlc, Consecutive, 6, &[6]),
            (Tlc, Consecutive, 7, &[6, 7]),
            (Tlc, Consecutive, 8, &[6, 7, 8]),
            (Tlc, Shadow, 4, &[1, 4]),
            (Tlc, Shadow, 7, &[3, 7][..]),
            (Tlc, Shadow, 5, &[0, 2, 5]),
            (Qlc, Consecutive, 7, &[4, 5, 6, 7]),
            (Qlc, Shadow, 8, &[0, 2, 5, 8]),
        ];
        for (cell, order, failing, expected) in cases {
            assert_eq!(lost(cell, order, failing), expected, "{cell:?} {order:?} {failing}");
        }
    }

    #[test]
    fn a_failed_program_is_legal_where_a_program_is() {
        let mut nand = nand(Cell::Mlc, ProgramOrder::Consecutive);
        assert_eq!(nand.fail_program(b(0), p(1)), Err(Violation::ProgramOrder { block: b(0), page: p(1), next: p(0) }));
        nand.fail_program(b(0), p(0)).unwrap();
        assert_eq!(nand.fail_program(b(0), p(0)), Err(Violation::ProgramTwice { block: b(0), page: p(0) }));
        assert_eq!(nand.fail_program(b(0), p(12)), Err(Violation::NoSuchPage { block: b(0), page: p(12) }));
        assert_eq!(nand.fail_program(b(6), p(0)), Err(Violation::NoSuchPage { block: b(6), page: p(0) }));
        nand.use_lsb_only(b(1)).unwrap();
        nand.fail_program(b(1), p(0)).unwrap();
        assert_eq!(nand.fail_program(b(1), p(1)), Err(Violation::UpperPage { block: b(1), page: p(1) }));
        nand.fail_program(b(1), p(2)).unwrap();
        nand.program(b(1), p(4)).unwrap();
        assert!(nand.is_lost(b(1), p(0)) && nand.is_lost(b(1), p(2)) && nand.holds_data(b(1), p(4)));
    }

    #[test]
    fn a_torn_block_is_of_no_use_until_it_is_erased() {
        let mut nand = nand(Cell::Mlc, ProgramOrder::Consecutive);
        for next in [0, 3, 12] {
            fill(&mut nand, 4, 0..next);
            let before = nand.blocks()[4].erases;
            nand.tear_erase(b(4)).unwrap();
            let torn = Violation::TornBlock { block: b(4) };
            assert!(nand.blocks()[4].is_torn());
            assert_eq!(nand.blocks()[4].erases, before + 1);
            for page in [0, 3, 11] {
                assert_eq!(nand.read(b(4), p(page)), Err(torn));
                assert_eq!(nand.program(b(4), p(page)), Err(torn));
                assert_eq!(nand.fail_program(b(4), p(page)), Err(torn));
                assert_eq!(nand.reprogram(b(4), p(page)), Err(torn));
                assert!(
                    !nand.is_programmed(b(4), p(page))
                        && !nand.holds_data(b(4), p(page))
                        && !nand.is_lost(b(4), p(page))
                );
            }
            nand.tear_erase(b(4)).unwrap();
            nand.erase(b(4)).unwrap();
            assert_eq!(nand.blocks()[4].erases, before + 3);
            assert!(!nand.blocks()[4].is_torn());
        }
        nand.mark_bad(b(5));
        assert_eq!(nand.tear_erase(b(5)), Err(Violation::BadBlock { block: b(5) }));
        assert_eq!(nand.tear_erase(b(6)), Err(Violation::NoSuchPage { block: b(6), page: p(0) }));
    }

    #[test]
    fn tearing_ends_modes_and_forgets_single_pages() {
        let mut nand = nand(Cell::Mlc, ProgramOrder::Consecutive);
        nand.use_lsb_only(b(0)).unwrap();
        nand.fail_program(b(0), p(0)).unwrap();
        nand.tear_erase(b(0)).unwrap();
        nand.erase(b(0)).unwrap();
        fill(&mut nand, 0, 0..4);
        nand.reprogram(b(0), p(1)).unwrap();
        nand.tear_erase(b(0)).unwrap();
        nand.erase(b(0)).unwrap();
        fill(&mut nand, 0, 0..12);
        assert!((0..12).map(p).all(|page| nand.holds_data(b(0), page)));
    }

    #[test]
    fn a_copyback_copies_what_was_lost_as_lost() {
        let mut nand = nand(Cell::Mlc, ProgramOrder::Consecutive);
        nand.fail_program(b(0), p(0)).unwrap();
        nand.copyback((b(0), p(0)), (b(1), p(0))).unwrap();
        assert!(nand.is_lost(b(1), p(0)) && !nand.holds_data(b(1), p(0)));
    }

    #[test]
    fn a_mode_lives_in_what_is_programmed() {
        let mut nand = nand(Cell::Mlc, ProgramOrder::Consecutive);
        nand.use_lsb_only(b(0)).unwrap();
        nand.use_lsb_only(b(1)).unwrap();
        nand.program(b(1), p(0)).unwrap();
        nand.cycle_power();
        nand.program(b(0), p(0)).unwrap();
        nand.program(b(0), p(1)).unwrap();
        assert_eq!(nand.program(b(1), p(1)), Err(Violation::UpperPage { block: b(1), page: p(1) }));
        nand.program(b(1), p(2)).unwrap();
    }

    #[test]
    fn pages_are_lost_without_payloads_too() {
        let mut nand = Nand::new(nand(Cell::Mlc, ProgramOrder::Consecutive).shape, StoreKind::Nothing);
        nand.program(b(0), p(0)).unwrap();
        nand.fail_program(b(0), p(1)).unwrap();
        assert!(nand.is_lost(b(0), p(0)) && nand.is_lost(b(0), p(1)));
    }
}
