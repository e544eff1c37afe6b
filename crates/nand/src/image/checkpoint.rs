//! The checkpoint of an image: what a clean stop leaves behind the data of the pages, so that the next start need not look at them.
//!
//! It is written first, and then marked as there. Whoever changes the image takes the mark away before: a process that is killed
//! later leaves none.

use std::io::{self, BufWriter, Read, Write};

use super::{Image, header};

/// The bit of the mark that says that there is one; below it is its checksum.
const IS_THERE: u64 = 1 << 32;

/// Bytes that are written, or read, together.
const PIECE: usize = 1 << 20;

impl Image {
    /// Keeps what `write` writes as the checkpoint, in place of an earlier one.
    ///
    /// # Errors
    /// Errors of the operating system; then there is no checkpoint.
    pub fn keep_checkpoint(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        self.forget_checkpoint();
        self.place.give_room_back();
        let pieces = Pieces { image: self, length: 0, checksum: crc32fast::Hasher::new() };
        let mut out = BufWriter::with_capacity(PIECE, pieces);
        write(&mut out)?;
        let Pieces { length, checksum, .. } = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        self.place.sync()?;
        self.set_word(header::CHECKPOINT, length);
        self.set_word(header::CHECKPOINT_MARK, IS_THERE | u64::from(checksum.finalize()));
        Ok(())
    }

    /// The bytes of the checkpoint, if there is one and it is as it was written.
    pub fn checkpoint(&self) -> Option<impl Read + '_> {
        let mark = self.word(header::CHECKPOINT_MARK);
        if mark & IS_THERE == 0 {
            return None;
        }
        let (mut checksum, mut piece) = (crc32fast::Hasher::new(), vec![0; PIECE]);
        let mut all = self.checkpoint_bytes();
        loop {
            let length = all.read(&mut piece).ok()?;
            if length == 0 {
                break;
            }
            checksum.update(&piece[..length]);
        }
        (all.left == 0 && u64::from(checksum.finalize()) == mark & (IS_THERE - 1)).then(|| self.checkpoint_bytes())
    }

    /// Bytes of the checkpoint.
    pub fn checkpoint_length(&self) -> u64 {
        self.word(header::CHECKPOINT)
    }

    fn checkpoint_bytes(&self) -> CheckpointBytes<'_> {
        CheckpointBytes { image: self, at: self.data_length, left: self.checkpoint_length() }
    }

    /// From now on there is none: the array is about to change.
    pub fn forget_checkpoint(&mut self) {
        self.set_changed(header::CHECKPOINT_MARK, 0);
        if self.lives() {
            self.place.cut_to(self.data_length);
        }
    }
}

/// A checkpoint that is written, piece by piece.
struct Pieces<'a> {
    image: &'a mut Image,
    length: u64,
    checksum: crc32fast::Hasher,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A process that dies in the middle of it leaves a part.
        let part = if self.image.lifetime == 1 { &bytes[..bytes.len() / 2] } else { bytes };
        if self.image.lives() {
            self.image.place.write(self.image.data_length + self.length, part)?;
        }
        self.checksum.update(bytes);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A checkpoint that is read.
struct CheckpointBytes<'a> {
    image: &'a Image,
    at: u64,
    left: u64,
}

impl Read for CheckpointBytes<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.image.place.read(self.at, &mut bytes[..length])?;
        self.at += length as u64;
        self.left -= length as u64;
        Ok(length)
    }
}

/// The bytes of the checkpoint of a header.
pub(super) fn length(header: &[u8]) -> u64 {
    let word = |at: usize| u64::from_le_bytes(header[at * 8..][..8].try_into().expect("eight bytes"));
    if word(header::CHECKPOINT_MARK) & IS_THERE == 0 { 0 } else { word(header::CHECKPOINT) }
}
