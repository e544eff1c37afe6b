//! Slots of memory that outlives the power: what a controller with capacitors saves of its write buffer when the power goes off.
//!
//! A slot has two places. New content goes to the one that is not in use, and then one word makes it the slot's: a process that is killed
//! in between leaves what was there before.

use super::{Image, header, seal};

/// Bytes before the page of a slot, for whoever keeps something there.
pub const SLOT_HEADER: usize = 512;

/// The bit of a slot's word that says that it holds something, and the one that says in which place. The rest is a number.
const IS_FULL: u64 = 1;
const IN_SECOND: u64 = 2;

impl Image {
    /// The number of slots.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    pub(super) fn at_slot(&self, slot: u32) -> usize {
        header::WORDS + self.blocks * super::BLOCK_WORDS + slot as usize
    }

    /// Bytes of a slot's content: the header and a page.
    pub fn slot_bytes(&self) -> usize {
        SLOT_HEADER + self.page_size
    }

    fn place_of_slot(&self, slot: u32, second: bool) -> u64 {
        let pages = (self.blocks * self.pages_per_block * self.page_size) as u64;
        pages + (u64::from(slot) * 2 + u64::from(second)) * self.slot_bytes() as u64
    }

    /// Puts content into a slot, under a number of up to 46 bits.
    pub fn put_slot(&mut self, slot: u32, number: u64, content: &[u8]) {
        assert_eq!(content.len(), self.slot_bytes(), "a slot has a header and a page");
        let to_second = self.word(self.at_slot(slot)) & (IS_FULL | IN_SECOND) == IS_FULL;
        self.put_at(self.place_of_slot(slot, to_second), content);
        self.set_sealed(self.at_slot(slot), number << 2 | if to_second { IN_SECOND } else { 0 } | IS_FULL);
    }

    /// Empties a slot.
    pub fn clear_slot(&mut self, slot: u32) {
        self.set_changed(self.at_slot(slot), 0);
    }

    /// The number and the content of a slot, if it holds something.
    ///
    /// # Errors
    /// The text says what is wrong with it.
    pub fn slot(&self, slot: u32) -> Result<Option<(u64, Vec<u8>)>, String> {
        let at = self.at_slot(slot);
        let word = seal::open(at, self.word(at)).filter(|&word| word == 0 || word & IS_FULL != 0);
        let word =
            word.ok_or_else(|| format!("the record of slot {slot} of the write buffer is not one that was written"))?;
        if word == 0 {
            return Ok(None);
        }
        let mut content = vec![0; self.slot_bytes()];
        let read = self.place.read(self.place_of_slot(slot, word & IN_SECOND != 0), &mut content);
        read.map_err(|error| format!("slot {slot} of the write buffer cannot be read: {error}"))?;
        Ok(Some((word >> 2, content)))
    }
}
