//! The checkpoint of an image: what a clean stop leaves behind the data of the pages, so that the next start need not look at them.
//!
//! It is written first, and then marked as there. Whoever changes the image takes the mark away before: a process that is killed
//! later leaves none.

use super::{Image, header};

/// The bit of the mark that says that there is one; below it is its checksum.
const IS_THERE: u64 = 1 << 32;

impl Image {
    /// Keeps a checkpoint, in place of an earlier one.
    ///
    /// # Errors
    /// Errors of the operating system; then there is no checkpoint.
    pub fn keep_checkpoint(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.forget_checkpoint();
        // A process that dies in the middle of it leaves a part.
        let part = if self.lifetime == 1 { &bytes[..bytes.len() / 2] } else { bytes };
        if !self.lives() {
            return Ok(());
        }
        self.place.give_room_back();
        self.place.write(self.data_length, part)?;
        self.place.sync()?;
        self.set_word(header::CHECKPOINT, bytes.len() as u64);
        self.set_word(header::CHECKPOINT_MARK, IS_THERE | u64::from(crc32fast::hash(bytes)));
        Ok(())
    }

    /// The checkpoint, if there is one and it is as it was written.
    pub fn checkpoint(&self) -> Option<Vec<u8>> {
        let mark = self.word(header::CHECKPOINT_MARK);
        if mark & IS_THERE == 0 {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(self.word(header::CHECKPOINT)).ok()?];
        self.place.read(self.data_length, &mut bytes).ok()?;
        (u64::from(crc32fast::hash(&bytes)) == mark & (IS_THERE - 1)).then_some(bytes)
    }

    /// From now on there is none: the array is about to change.
    pub fn forget_checkpoint(&mut self) {
        self.set_changed(header::CHECKPOINT_MARK, 0);
        if self.lives() {
            self.place.cut_to(self.data_length);
        }
    }
}

/// The bytes of the checkpoint of a header.
pub(super) fn length(header: &[u8]) -> u64 {
    let word = |at: usize| u64::from_le_bytes(header[at * 8..][..8].try_into().expect("eight bytes"));
    if word(header::CHECKPOINT_MARK) & IS_THERE == 0 { 0 } else { word(header::CHECKPOINT) }
}
