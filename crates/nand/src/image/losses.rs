//! Pages that failed programs took along: which data they held, for the next restart. Their spare areas cannot be read any more.
//!
//! A controller writes such a list to flash that it keeps for itself. Here each entry is there before the page is lost, so that a killed
//! process leaves both or neither.

use super::{Image, STORED, load, seal};

/// Words of an entry: the spare area, and their checksum.
const WORDS: usize = 3;

/// Words for so many entries.
pub(super) const fn words(losses: u32) -> usize {
    losses as usize * WORDS
}

impl Image {
    fn at_loss(&self, entry: u32) -> usize {
        self.at_slot(self.slots) + entry as usize * WORDS
    }

    /// From now on pages that are lost are written down, or not.
    pub fn keep_losses(&mut self, keeps: bool) {
        self.keeps_losses = keeps;
    }

    /// A page that was programmed is about to be lost.
    pub(super) fn note_loss(&mut self, index: usize) {
        let at = self.at_page(index);
        if !self.keeps_losses || self.word(at + 2) & STORED == 0 || !self.is_as_written(index) {
            return;
        }
        let Some(entry) = (0..self.losses).find(|&entry| self.word(self.at_loss(entry) + 2) == 0) else { return };
        let (at, low, high) = (self.at_loss(entry), self.word(at), self.word(at + 1));
        self.set_word(at, low);
        self.set_word(at + 1, high);
        self.set_word(at + 2, seal::seal(at, 1 | seal::checksum(&[low, high]) << 1));
        self.noted += 1;
    }

    /// Pages that were written down since the image was opened.
    pub fn losses(&self) -> u64 {
        self.noted
    }

    /// The spare areas of pages that were lost, by entry.
    ///
    /// # Errors
    /// The text says which entry is not one that was written.
    pub fn lost_spares(&self) -> Result<Vec<(u32, u128)>, String> {
        let mut found = Vec::new();
        for entry in 0..self.losses {
            let at = self.at_loss(entry);
            let (low, high, mark) = (self.word(at), self.word(at + 1), self.word(at + 2));
            if mark == 0 {
                continue;
            }
            if seal::open(at, mark) != Some(1 | seal::checksum(&[low, high]) << 1) {
                return Err(format!("entry {entry} of the list of lost pages is not one that was written"));
            }
            found.push((entry, load::join(low, high)));
        }
        Ok(found)
    }

    /// An entry is not needed: a newer version of its page is in the array.
    pub fn forget_loss(&mut self, entry: u32) {
        self.set_word(self.at_loss(entry) + 2, 0);
    }
}
