//! The array's state, to save and to put back.

use std::collections::BTreeSet;

use base::{Block, ECC_LIMIT, Page};
use serde::{Deserialize, Serialize};

use crate::bits::Bits;
use crate::store::Store;
use crate::{BlockState, Cycles, Nand, Place};

/// Thousandths: more wear than any cycle with reprogramming is said to have.
const MOST_EXTRA: u64 = 1_000_000;

/// All that an array remembers. A saved state is untrusted input: [`Nand::restore`] checks it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedArray {
    /// The state of every block.
    pub blocks: Vec<BlockState>,
    /// Reprogrammed pages and guard pages as (block, page), ascending.
    #[serde(with = "places")]
    pub reprogrammed: Vec<Place>,
    /// Pages that lost their content, likewise.
    #[serde(with = "places")]
    pub lost: Vec<Place>,
    /// The errors of every page, of [`base::ECC_LIMIT`]; empty where none are kept.
    #[serde(with = "base::bulk")]
    pub errors: Vec<u32>,
    /// By page, the reads of its block when it was programmed, 0 if it is not; empty where limits of reads are not kept.
    #[serde(with = "base::bulk")]
    pub reads_before: Vec<u32>,
    /// By block, P/E cycles with reprogramming; likewise.
    pub cycles: Vec<Cycles>,
    /// By block, the wear that cycles in SLC mode spared it, in thousandths of a cycle; empty where every cycle wears alike.
    #[serde(with = "base::bulk")]
    pub spared: Vec<u32>,
    /// Words that stand for the data of the pages, in order. Empty where pages store nothing.
    #[serde(with = "base::bulk")]
    pub data: Vec<u64>,
    /// The spare area of every page; likewise.
    #[serde(with = "base::bulk")]
    pub spares: Vec<u128>,
}

/// Blocks and pages, each in one number.
mod places {
    use base::{Block, Page};
    use serde::{Deserializer, Serializer};

    use crate::Place;

    pub(super) fn serialize<S: Serializer>(places: &[Place], serializer: S) -> Result<S::Ok, S::Error> {
        let numbers: Vec<u64> =
            places.iter().map(|&(block, page)| u64::from(block.number()) << 32 | u64::from(page.number())).collect();
        base::bulk::serialize(&numbers, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Place>, D::Error> {
        let numbers: Vec<u64> = base::bulk::deserialize(deserializer)?;
        Ok(numbers.into_iter().map(|number| (Block::new((number >> 32) as u32), Page::new(number as u32))).collect())
    }
}

impl Nand {
    /// Reprogrammed pages and guard pages as (block, page), ascending.
    pub fn reprogrammed(&self) -> impl Iterator<Item = Place> {
        let pages = self.shape.pages_per_block;
        self.reprogrammed.iter().map(move |index| place_of(index as u32, pages))
    }

    /// Pages that lost their content, likewise.
    pub fn lost(&self) -> impl ExactSizeIterator<Item = Place> {
        self.lost.iter().copied()
    }

    /// Words that stand for the data of the pages, in order. Empty where pages store nothing.
    pub fn all_data(&self) -> &[u64] {
        self.store.saved().0
    }

    /// The spare area of every page; likewise.
    pub fn spares(&self) -> &[u128] {
        self.store.saved().1
    }

    /// All of it, copied.
    pub fn save(&self) -> SavedArray {
        SavedArray {
            blocks: self.blocks.clone(),
            reprogrammed: self.reprogrammed().collect(),
            lost: self.lost().collect(),
            errors: self.errors().to_vec(),
            reads_before: self.reads_before(),
            cycles: self.cycles().to_vec(),
            spared: self.spared().to_vec(),
            data: self.all_data().to_vec(),
            spares: self.spares().to_vec(),
        }
    }

    /// Puts back a state of an array of the same shape. Errors that can be corrected need not be kept any more.
    ///
    /// # Errors
    /// A state that an array of this shape cannot be in; nothing is changed then.
    pub fn restore(&mut self, saved: SavedArray) -> Result<(), &'static str> {
        let is_length = |length: usize, expected: usize| length == 0 || length == expected;
        let others = is_length(saved.errors.len(), self.pages())
            && is_length(saved.reads_before.len(), self.pages())
            && is_length(saved.spared.len(), self.blocks.len())
            && saved.cycles.len() == if saved.reads_before.is_empty() { 0 } else { self.blocks.len() };
        if saved.blocks.len() != self.blocks.len() || !others {
            return Err("a state of another array");
        }
        let store = self.store.restored(saved.data, saved.spares).ok_or("a state of another array")?;
        let mut restored = Nand {
            shape: self.shape,
            by_plane: self.by_plane,
            by_die: self.by_die,
            by_flash_page: self.by_flash_page,
            blocks: saved.blocks,
            layout: self.layout.clone(),
            together: self.together,
            tells_modes: self.tells_modes,
            mode_wear: None,
            unwatched: self.unwatched,
            reprogrammed: Bits::default(),
            lower: Bits::default(),
            lost: set(&saved.lost).ok_or("lost pages out of order")?,
            store: Store::Nothing,
            errors: None,
            disturb: None,
            passes: Vec::new(),
        };
        restored.check(&set(&saved.reprogrammed).ok_or("reprogrammed pages out of order")?)?;
        restored.check_errors(&saved.errors, self.errors.is_some())?;
        restored.check_reads(&saved.reads_before, &saved.cycles)?;
        for (block, page) in saved.reprogrammed {
            restored.add_guard_levels(block, page);
        }
        let has_worn_less = |(state, &spared): (&BlockState, &u32)| spared > state.erases.saturating_mul(1000);
        if restored.blocks.iter().zip(&saved.spared).any(has_worn_less) {
            return Err("blocks that were spared more wear than they had");
        }
        let blocks = self.blocks.len();
        let spared = if saved.spared.is_empty() { vec![0; blocks] } else { saved.spared };
        restored.mode_wear = self.mode_wear.take().map(|wear| Box::new(wear.with(spared)));
        restored.store = store;
        restored.errors = self.errors.take().map(|errors| Box::new(errors.with(saved.errors)));
        restored.restore_reads(self.disturb.take(), saved.reads_before, saved.cycles);
        *self = restored;
        Ok(())
    }

    /// Compares the states of blocks and of single pages with the rules and with each other.
    fn check(&self, reprogrammed: &BTreeSet<Place>) -> Result<(), &'static str> {
        let pages = self.shape.pages_per_block;
        for state in &self.blocks {
            let next = u32::from(state.next_page);
            if next > pages {
                return Err("a block of more pages than there are");
            }
            if state.is_lsb_only() && next < pages && !self.is_lsb(Page::new(next)) {
                return Err("a block of LSB pages with an upper page next");
            }
            let is_fresh = next == 0 && !(state.is_lsb_only() || state.is_low_density() || state.has_lost_pages());
            if state.is_torn() && !is_fresh {
                return Err("a torn block that is in use");
            }
        }
        let exists = |&(block, page): &Place| (block.index()) < self.blocks.len() && page.number() < pages;
        let may_be_reprogrammed = |place: &Place| exists(place) && self.may_be_reprogrammed(place.0, place.1);
        if !reprogrammed.iter().all(may_be_reprogrammed) {
            return Err("a reprogrammed page that is no programmed MSB page");
        }
        if !self.lost.iter().all(|place| exists(place) && self.is_programmed(place.0, place.1)) {
            return Err("a lost page that is not programmed");
        }
        if !self.are_marked(reprogrammed, BlockState::is_low_density)
            || !self.are_marked(&self.lost, BlockState::has_lost_pages)
        {
            return Err("blocks that are not marked as their pages are");
        }
        Ok(())
    }

    /// Refuses errors that pages cannot have, and those in blocks that are not marked.
    fn check_errors(&self, errors: &[u32], are_kept: bool) -> Result<(), &'static str> {
        let with_errors = (0u32..).zip(errors).filter(|(_, error)| **error > 0);
        let pages = self.shape.pages_per_block;
        let mut marked = BTreeSet::new();
        for (page, &error) in with_errors {
            let (block, page) = place_of(page, pages);
            if !self.is_programmed(block, page) {
                return Err("errors of a page that is not programmed");
            }
            if error > ECC_LIMIT && !are_kept {
                return Err("errors that cannot be corrected, and that are not kept here");
            }
            marked.insert((block, Page::FIRST));
        }
        if !self.are_marked(&marked, BlockState::has_copied_pages) {
            return Err("blocks that are not marked as their pages are");
        }
        Ok(())
    }

    /// Refuses reads that cannot have been before the pages were programmed, and wear that blocks cannot have.
    fn check_reads(&self, reads_before: &[u32], cycles: &[Cycles]) -> Result<(), &'static str> {
        let pages = self.shape.pages_per_block;
        for (page, &reads) in (0u32..).zip(reads_before).filter(|(_, reads)| **reads > 0) {
            let (block, page) = place_of(page, pages);
            if !self.is_programmed(block, page) {
                return Err("reads before a page that is not programmed");
            }
            if reads > self.blocks[block.index()].reads {
                return Err("more reads before a page than its block had");
            }
        }
        for (cycles, state) in cycles.iter().zip(&self.blocks) {
            let is_marked = state.is_low_density() || state.has_lost_pages() || !cycles.is_reprogrammed;
            let most = u64::from(cycles.reprogrammed) * MOST_EXTRA;
            if !is_marked || cycles.reprogrammed > state.erases || cycles.extra > most {
                return Err("reprogramming that a block has not had");
            }
        }
        Ok(())
    }

    /// True if exactly the blocks of the places are marked.
    fn are_marked(&self, places: &BTreeSet<Place>, is_marked: impl Fn(&BlockState) -> bool) -> bool {
        let of_places: BTreeSet<Block> = places.iter().map(|&(block, _)| block).collect();
        let marked = self.all_blocks().zip(&self.blocks).filter(|(_, state)| is_marked(state)).map(|(block, _)| block);
        of_places.into_iter().eq(marked)
    }
}

/// A page by its number in an array of blocks of so many.
fn place_of(index: u32, pages: u32) -> Place {
    (Block::new(index / pages), Page::new(index % pages))
}

/// The places as a set, if they ascend.
fn set(places: &[Place]) -> Option<BTreeSet<Place>> {
    places.is_sorted_by(|a, b| a < b).then(|| places.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use base::{Cell, Multiplane, ProgramOrder};

    use super::*;
    use crate::tests::{at, b, p};
    use crate::{Shape, StoreKind};

    fn empty() -> Nand {
        let shape = Shape {
            planes: 1,
            planes_per_die: 1,
            blocks_per_plane: 6,
            pages_per_block: 4,
            parts: 1,
            multiplane: Multiplane::Off,
            cell: Cell::Mlc,
            program_order: ProgramOrder::Consecutive,
        };
        Nand::new(shape, StoreKind::Stamps)
    }

    /// Block 0 is reprogrammed, 1 of LSB pages, 2 torn, 3 with lost pages, 4 bad, 5 as it was made.
    fn used() -> Nand {
        let mut nand = empty();
        nand.use_lsb_only(b(1)).unwrap();
        for (block, page) in [(0, 0), (0, 1), (1, 0), (3, 0)] {
            nand.program(b(block), p(page)).unwrap();
            nand.store(b(block), p(page), u64::from(block), u128::from(page) << 90);
        }
        nand.read(b(0), p(0)).unwrap();
        nand.reprogram(b(0), p(1)).unwrap();
        nand.tear_erase(b(2)).unwrap();
        nand.fail_program(b(3), p(1)).unwrap();
        nand.mark_bad(b(4));
        nand
    }

    #[test]
    fn a_restored_array_is_the_saved_one() {
        let saved = used().save();
        let mut restored = empty();
        restored.restore(saved.clone()).unwrap();
        assert_eq!(restored.save(), saved);
        for (state, block) in saved.blocks.iter().copied().zip(0..) {
            assert_eq!(BlockState::try_from(<(u32, u32, u16, u8)>::from(state)), Ok(state));
            // The rules hold as before.
            let mut original = used();
            for page in Page::all(0..4) {
                assert_eq!(restored.read(b(block), page), original.read(b(block), page));
                assert_eq!(restored.program(b(block), page), original.program(b(block), page));
                assert_eq!(restored.is_lost(b(block), page), original.is_lost(b(block), page));
            }
            assert_eq!(restored.erase(b(block)), original.erase(b(block)));
        }
        assert!(BlockState::try_from((0, 0, 0, 1 << 6)).is_err());
    }

    #[test]
    fn a_state_that_cannot_be_is_refused() {
        let refused = |change: &dyn Fn(&mut SavedArray), expected: &str| {
            let mut saved = used().save();
            change(&mut saved);
            let mut nand = empty();
            assert_eq!(nand.restore(saved), Err(expected));
            assert_eq!(nand.save(), empty().save(), "nothing was changed");
        };
        refused(&|s| s.blocks.truncate(5), "a state of another array");
        refused(&|s| s.data.clear(), "a state of another array");
        refused(&|s| s.spares.clear(), "a state of another array");
        refused(&|s| s.blocks[5].next_page = 5, "a block of more pages than there are");
        refused(&|s| s.blocks[1].next_page = 1, "a block of LSB pages with an upper page next");
        refused(&|s| s.blocks[2].next_page = 1, "a torn block that is in use");
        refused(&|s| s.blocks[2].mark_lsb_only(), "a torn block that is in use");
        refused(&|s| s.reprogrammed.push((b(0), p(1))), "reprogrammed pages out of order");
        refused(&|s| s.lost.reverse(), "lost pages out of order");
        for place in [(0, 3), (0, 4), (6, 1), (1, 1)] {
            refused(&|s| s.reprogrammed = vec![at(place)], "a reprogrammed page that is no programmed MSB page");
        }
        refused(&|s| s.reprogrammed = vec![(b(0), p(0))], "a reprogrammed page that is no programmed MSB page");
        for place in [(0, 2), (0, 4), (6, 0), (1, 1)] {
            refused(&|s| s.lost = vec![at(place)], "a lost page that is not programmed");
        }
        refused(&|s| s.lost.clear(), "blocks that are not marked as their pages are");
        refused(&|s| s.reprogrammed.clear(), "blocks that are not marked as their pages are");
        refused(&|s| s.blocks[5].mark_low_density(), "blocks that are not marked as their pages are");
        refused(&|s| s.blocks[5].mark_lost_page(), "blocks that are not marked as their pages are");
    }
}
