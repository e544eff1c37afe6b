//! Errors of pages that were moved without correction.
//!
//! Every page has an error, of [`ECC_LIMIT`]. A page that is programmed with data from the controller has none. A copyback
//! takes the error of its source along and adds what the source's block costs. Nothing is kept for blocks that hold no copied
//! page: they are ordinary ones.

use std::sync::Arc;

use base::scope::{Area, Scope};
use base::{Block, ECC_LIMIT, Page, Wear};

use crate::{Nand, Place};

/// A read of a page with more errors than ECC corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncorrectable {
    /// Block.
    pub block: Block,
    /// Page offset.
    pub page: Page,
    /// Its error, of [`ECC_LIMIT`].
    pub error: u32,
}

/// The errors of all pages.
#[derive(Clone)]
pub(crate) struct Errors {
    wear: Arc<Wear>,
    pages_per_block: u32,
    /// By page.
    pages: Vec<u32>,
    /// The highest error that a read corrected or could not.
    highest: u32,
    first: Option<Uncorrectable>,
}

impl Errors {
    /// Takes over the saved errors of pages, or none.
    pub(crate) fn with(self, saved: Vec<u32>) -> Errors {
        let pages = if saved.is_empty() { vec![0; self.pages.len()] } else { saved };
        Errors { pages, highest: 0, first: None, ..self }
    }

    fn index(&self, block: Block, page: Page) -> usize {
        block.index() * self.pages_per_block as usize + page.index()
    }
}

impl Nand {
    /// Bytes of what [`Nand::keep_errors`] keeps.
    pub fn bytes_of_errors(pages: u64) -> u64 {
        pages * size_of::<u32>() as u64
    }

    /// Keeps the errors of pages from now on. Without this copybacks add none.
    ///
    /// # Panics
    /// Unless there is a quality for each block.
    pub fn keep_errors(&mut self, wear: Arc<Wear>) {
        assert_eq!(wear.qualities.len(), self.blocks.len(), "every block has a quality");
        let pages_per_block = self.shape.pages_per_block;
        let pages = vec![0; self.blocks.len() * pages_per_block as usize];
        self.errors = Some(Box::new(Errors { wear, pages_per_block, pages, highest: 0, first: None }));
    }

    /// The errors of all pages, of [`ECC_LIMIT`]; empty where none are kept.
    pub fn errors(&self) -> &[u32] {
        self.errors.as_ref().map_or(&[], |errors| &errors.pages)
    }

    /// The error of a page, of [`ECC_LIMIT`].
    pub fn errors_of(&self, block: Block, page: Page) -> u32 {
        self.errors.as_ref().map_or(0, |errors| errors.pages[errors.index(block, page)])
    }

    /// The highest error of any page that was read off the chip, of [`ECC_LIMIT`]; nothing where errors are not kept.
    pub fn highest_error(&self) -> Option<u32> {
        self.errors.as_ref().map(|errors| errors.highest)
    }

    /// The highest error begins anew.
    pub fn forget_highest_error(&mut self) {
        if let Some(errors) = &mut self.errors {
            errors.highest = 0;
        }
    }

    /// The first read of a page with more errors than can be corrected.
    #[inline]
    pub fn uncorrectable(&self) -> Option<Uncorrectable> {
        self.errors.as_ref()?.first
    }

    /// A page is read off the chip.
    pub(crate) fn note_read(&mut self, block: Block, page: Page) {
        if let Some(errors) = &mut self.errors {
            let error = errors.pages[errors.index(block, page)];
            errors.highest = errors.highest.max(error);
            if error > ECC_LIMIT {
                errors.first.get_or_insert(Uncorrectable { block, page, error });
            }
        }
    }

    /// A page was copied.
    pub(crate) fn add_errors(&mut self, from: Place, to: Place) {
        if let Some(errors) = &mut self.errors {
            let cost = errors.wear.cost(from.0, self.blocks[from.0.index()].erases);
            let (from, at) = (errors.index(from.0, from.1), errors.index(to.0, to.1));
            errors.pages[at] = errors.pages[from].saturating_add(cost);
            self.blocks[to.0.index()].mark_copied_page();
        }
    }

    /// A block is erased.
    pub(crate) fn forget_errors(&mut self, block: Block) {
        if self.blocks[block.index()].has_copied_pages()
            && let Some(errors) = &mut self.errors
        {
            let first = errors.index(block, Page::FIRST);
            errors.pages[first..][..errors.pages_per_block as usize].fill(0);
        }
    }
}

/// The scope of this part.
pub static SCOPE: Scope = Scope {
    area: Area::Array,
    name: "Errors of copybacks",
    keys: &["device.wear.quality"],
    modelled: "A copyback adds to the errors of its page, by the quality and the P/E cycles of the block that it leaves.",
    not_modelled: &[
        "These errors do not grow with age or reads.",
        "A copyback leaves the errors of `device.media` behind.",
    ],
};

#[cfg(test)]
mod tests {
    use base::{Cell, CopybackTable, Multiplane, ProgramOrder, Quality};

    use super::*;
    use crate::tests::{at, b, p};
    use crate::{Shape, StoreKind};

    /// Two planes of 4 blocks of 4 pages. The first block of a plane is the best one, then a median and two of the worst.
    fn nand(pe_cycles: u32) -> Nand {
        let shape = Shape {
            planes: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            parts: 1,
            multiplane: Multiplane::Pac,
            cell: Cell::Slc,
            program_order: ProgramOrder::Consecutive,
        };
        let table = CopybackTable { bands: vec![10, 20], best: vec![4, 2], median: vec![3, 1], worst: vec![2, 0] };
        let plane = [Quality::BEST, Quality::MEDIAN, Quality::WORST, Quality::WORST];
        let mut nand = Nand::new(shape, StoreKind::Stamps);
        nand.keep_errors(Arc::new(Wear { pe_cycles, table, qualities: [plane, plane].concat() }));
        nand
    }

    fn program(nand: &mut Nand, block: Block, page: Page) {
        nand.program(block, page).unwrap();
        nand.store(block, page, 7, 8);
    }

    #[test]
    fn a_copyback_costs_what_its_source_block_costs() {
        let mut nand = nand(0);
        program(&mut nand, b(0), p(0));
        let mut expected = 0;
        for (from, to, threshold) in [((0, 0), (1, 0), 4), ((1, 0), (2, 0), 3), ((2, 0), (3, 0), 2)] {
            nand.copyback(at(from), at(to)).unwrap();
            expected += ECC_LIMIT / threshold;
            assert_eq!(
                (nand.errors_of(b(to.0), p(to.1)), nand.errors_of(b(from.0), p(from.1))),
                (expected, expected - ECC_LIMIT / threshold)
            );
        }
        assert_eq!(nand.highest_error(), Some(0), "nothing was read off the chip");
        nand.read(b(2), p(0)).unwrap();
        assert_eq!((nand.highest_error(), nand.uncorrectable()), (Some(ECC_LIMIT / 4 + ECC_LIMIT / 3), None));
        nand.forget_highest_error();
        assert_eq!(nand.highest_error(), Some(0));
    }

    #[test]
    fn past_the_limit_data_are_gone_and_their_read_is_told() {
        let mut nand = nand(0);
        program(&mut nand, b(3), p(0));
        for (from, to) in [((3, 0), (2, 0)), ((2, 0), (3, 1))] {
            nand.copyback(at(from), at(to)).unwrap();
        }
        // The limit is used up exactly.
        assert_eq!(nand.errors_of(b(3), p(1)), ECC_LIMIT);
        assert!(nand.holds_data(b(3), p(1)) && !nand.is_lost(b(3), p(1)));
        nand.read(b(3), p(1)).unwrap();
        assert_eq!((nand.uncorrectable(), nand.data(b(3), p(1)), nand.spare(b(3), p(1))), (None, 7, 8));
        nand.copyback((b(3), p(1)), (b(2), p(1))).unwrap();
        assert!(nand.is_lost(b(2), p(1)) && !nand.holds_data(b(2), p(1)));
        assert_eq!((nand.data(b(2), p(1)), nand.spare(b(2), p(1)), nand.uncorrectable()), (0, 0, None));
        nand.read(b(2), p(1)).unwrap();
        let found = Uncorrectable { block: b(2), page: p(1), error: ECC_LIMIT / 2 * 3 };
        assert_eq!(nand.uncorrectable(), Some(found));
        nand.copyback((b(2), p(1)), (b(3), p(2))).unwrap();
        nand.read(b(3), p(2)).unwrap();
        assert_eq!(nand.uncorrectable(), Some(found), "the first is told");
        assert!(nand.is_lost(b(3), p(2)), "a copy is no better");
    }

    #[test]
    fn what_passes_through_the_controller_begins_anew() {
        let mut nand = nand(0);
        program(&mut nand, b(0), p(0));
        nand.copyback((b(0), p(0)), (b(1), p(0))).unwrap();
        program(&mut nand, b(1), p(1));
        assert_eq!(nand.errors_of(b(1), p(1)), 0);
        nand.copyback((b(1), p(1)), (b(2), p(0))).unwrap();
        assert_eq!(nand.errors_of(b(2), p(0)), ECC_LIMIT / 3);
        nand.erase(b(1)).unwrap();
        assert!(nand.blocks()[1].is_ordinary());
        program(&mut nand, b(1), p(0));
        assert_eq!(nand.errors_of(b(1), p(0)), 0, "an erase makes it new");
    }

    #[test]
    fn worn_blocks_allow_fewer_copybacks() {
        let mut nand = nand(9);
        let cost = |nand: &mut Nand, block: Block| {
            program(nand, block, p(0));
            nand.copyback((block, p(0)), (block, p(1))).unwrap();
            nand.errors_of(block, p(1))
        };
        for expected in [ECC_LIMIT / 2, ECC_LIMIT / 2, ECC_LIMIT + 1] {
            assert_eq!(cost(&mut nand, b(2)), expected);
            nand.erase(b(2)).unwrap();
        }
        for _ in 0..11 {
            nand.erase(b(0)).unwrap();
        }
        assert_eq!(cost(&mut nand, b(0)), ECC_LIMIT / 2, "20 P/E cycles");
        nand.erase(b(0)).unwrap();
        assert_eq!(cost(&mut nand, b(0)), ECC_LIMIT + 1, "past the last band");
    }

    #[test]
    fn a_saved_state_holds_errors() {
        let mut used = nand(0);
        program(&mut used, b(0), p(0));
        used.copyback((b(0), p(0)), (b(1), p(0))).unwrap();
        used.copyback((b(1), p(0)), (b(2), p(0))).unwrap();
        let saved = used.save();
        let mut restored = nand(0);
        restored.restore(saved.clone()).unwrap();
        assert_eq!(restored.save(), saved);
        assert_eq!(restored.errors_of(b(2), p(0)), ECC_LIMIT / 4 + ECC_LIMIT / 3);
        // Where none are kept, as without copybacks, what can be corrected is as good as new.
        let mut without = Nand::new(restored.shape, StoreKind::Stamps);
        without.restore(saved.clone()).unwrap();
        assert!(without.holds_data(b(2), p(0)) && without.read(b(2), p(0)).is_ok());
        without.erase(b(2)).unwrap();
        assert!(without.blocks()[2].is_ordinary());

        let refused = |mut nand: Nand, change: &dyn Fn(&mut crate::SavedArray), expected: &str| {
            let mut saved = saved.clone();
            change(&mut saved);
            assert_eq!(nand.restore(saved), Err(expected));
        };
        let pages = saved.errors.len();
        refused(nand(0), &|saved| saved.errors.truncate(pages - 1), "a state of another array");
        refused(nand(0), &|saved| saved.errors.clear(), "blocks that are not marked as their pages are");
        refused(nand(0), &|saved| saved.errors[0] = 1, "blocks that are not marked as their pages are");
        refused(nand(0), &|saved| saved.errors[1] = 1, "errors of a page that is not programmed");
        let rots = |saved: &mut crate::SavedArray| saved.errors[4] = ECC_LIMIT + 1;
        refused(
            Nand::new(without.shape, StoreKind::Stamps),
            &rots,
            "errors that cannot be corrected, and that are not kept here",
        );
    }
}
