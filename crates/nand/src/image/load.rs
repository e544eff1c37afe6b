//! The state of the array in an image: read when it is opened, and taken over like a saved state.

use super::seal::{self, checksum};
use super::{ERRORS, Image, REPROGRAMMED, STORED};
use crate::block::BlockState;
use crate::{Cycles, SavedArray};

/// Two words of a spare area.
pub(super) fn join(low: u64, high: u64) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// Marks of a page and the checksums of its record and its data, in one word.
pub(super) fn pack_marks(index: usize, spare: u128, marks: u64, data: u64) -> u64 {
    let record = checksum(&[index as u64, spare as u64, (spare >> 64) as u64, marks, data]);
    marks | record << 16 | data << 32
}

/// Erases that a record has room for.
const MOST_ERASES: u32 = (1 << 26) - 1;

/// The state of a block as a number.
pub(super) fn pack_state(state: &BlockState) -> u64 {
    let marks = u64::from(state.marks & BlockState::ALL);
    u64::from(state.erases.min(MOST_ERASES)) | u64::from(state.next_page) << 26 | marks << 42
}

impl Image {
    /// The blocks that the array remembers, or what cannot be. A page that is programmed and stores nothing lost its content: the power went off.
    pub(crate) fn load(&self) -> Result<SavedArray, String> {
        let mut saved = SavedArray::default();
        for block in 0..self.blocks {
            let at = self.at_block(block);
            let numbers = [0, 1, 2, 3].map(|field| seal::open(at + field, self.word(at + field)));
            let [Some(state), Some(reads), Some(reprogrammed), Some(extra)] = numbers else {
                return Err(format!("the record of block {block} is not one that was written"));
            };
            let state = BlockState {
                erases: state as u32 & MOST_ERASES,
                reads: reads as u32,
                next_page: (state >> 26) as u16,
                marks: (state >> 42) as u8 & BlockState::ALL,
            };
            if usize::from(state.next_page) > self.pages_per_block {
                return Err(format!("the record of block {block} has more pages than a block"));
            }
            saved.blocks.push(state);
            let is_reprogrammed = reprogrammed >> 32 == 1;
            saved.cycles.push(Cycles { reprogrammed: reprogrammed as u32, is_reprogrammed, extra });
        }
        Ok(saved)
    }

    /// True if the record of a page that was programmed is one that was written. One of which no data were stored has none.
    pub(super) fn is_as_written(&self, index: usize) -> bool {
        let at = self.at_page(index);
        let word = self.word(at + 2);
        word == 0 || word == pack_marks(index, join(self.word(at), self.word(at + 1)), word & 0xffff, word >> 32)
    }

    /// A page as its record says, or what cannot be.
    pub(crate) fn load_page(&self, index: usize) -> Result<LoadedPage, String> {
        let at = self.at_page(index);
        let (word, aside) = (self.word(at + 2), seal::open(at + 3, self.word(at + 3)));
        let Some(aside) = aside.filter(|_| self.is_as_written(index)) else {
            let (block, page) = (index / self.pages_per_block, index % self.pages_per_block);
            return Err(format!("the record of page {page} of block {block} is not one that was written"));
        };
        Ok(LoadedPage {
            is_stored: word & STORED != 0,
            is_reprogrammed: word & REPROGRAMMED != 0,
            errors: (aside & ERRORS) as u32,
            reads_before: (aside >> ERRORS.count_ones()) as u32,
        })
    }
}

/// A page as its record says.
pub(crate) struct LoadedPage {
    pub(crate) is_stored: bool,
    pub(crate) is_reprogrammed: bool,
    pub(crate) errors: u32,
    pub(crate) reads_before: u32,
}
