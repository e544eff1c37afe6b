//! The state of the array in an image: read when it is opened, and taken over like a saved state.

use super::{Image, REPROGRAMMED, STORED};
use crate::block::BlockState;
use crate::{Cycles, SavedArray};

/// The checksum of a record, of 16 bits.
fn checksum(parts: &[u64]) -> u64 {
    let mut checksum = crc32fast::Hasher::new();
    parts.iter().for_each(|part| checksum.update(&part.to_le_bytes()));
    u64::from(checksum.finalize() & 0xffff)
}

/// Bits of the marks that are not fixed when a page is stored: it may lose its content, and be reprogrammed.
const LATER: u64 = STORED | REPROGRAMMED;

/// Marks of a page and the checksums of its record and its data, in one word.
pub(super) fn pack_marks(index: usize, spare: u128, marks: u64, data: u64) -> u64 {
    let record = checksum(&[index as u64, spare as u64, (spare >> 64) as u64, marks & !LATER, data]);
    marks | record << 16 | data << 32
}

/// The state of a block in one word. A pristine one is 0.
pub(super) fn pack_state(block: usize, state: &BlockState) -> u64 {
    let marks = u64::from(state.marks & BlockState::ALL);
    let state = u64::from(state.erases) | u64::from(state.next_page) << 32 | marks << 48;
    if state == 0 { 0 } else { state | (checksum(&[block as u64, state]) & 0xff) << 56 }
}

impl Image {
    /// The blocks that the array remembers, or what cannot be. A page that is programmed and stores nothing lost its content: the power went off.
    pub(crate) fn load(&self) -> Result<SavedArray, String> {
        let mut saved = SavedArray::default();
        for block in 0..self.blocks {
            let at = self.at_block(block);
            let word = self.word(at);
            let state = BlockState {
                erases: word as u32,
                reads: self.word(at + 1) as u32,
                next_page: (word >> 32) as u16,
                marks: (word >> 48) as u8 & BlockState::ALL,
            };
            if word != pack_state(block, &state) || usize::from(state.next_page) > self.pages_per_block {
                return Err(format!("the record of block {block} is not one that was written"));
            }
            saved.blocks.push(state);
            saved.cycles.push(Cycles {
                reprogrammed: self.word(at + 2) as u32,
                is_reprogrammed: self.word(at + 2) >> 32 == 1,
                extra: self.word(at + 3),
            });
        }
        Ok(saved)
    }

    /// A page as its record says, or what cannot be.
    pub(crate) fn load_page(&self, index: usize) -> Result<LoadedPage, String> {
        let at = self.at_page(index);
        let word = self.word(at + 2);
        let is_stored = word & STORED != 0;
        let spare = u128::from(self.word(at)) | u128::from(self.word(at + 1)) << 64;
        if is_stored && word != pack_marks(index, spare, word & 0xff, word >> 32) {
            let (block, page) = (index / self.pages_per_block, index % self.pages_per_block);
            return Err(format!("the record of page {page} of block {block} is not one that was written"));
        }
        Ok(LoadedPage {
            is_stored,
            is_reprogrammed: word & REPROGRAMMED != 0,
            errors: self.word(at + 3) as u32,
            reads_before: (self.word(at + 3) >> 32) as u32,
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
