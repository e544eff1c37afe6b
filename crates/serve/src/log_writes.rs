//! A record of all that changes a device, in the format of dm-log-writes, for xfstests' `replay-log`.
//!
//! The file is of sectors: a head with the magic number, the version, the number of entries and the size of a sector;
//! then the entries, each a sector with its head, and behind it the data, if it is a write. Numbers are little-endian.
//! Source: `src/log-writes/log-writes.h` of xfstests. Marks are not written, for no client of NBD can send one.
//!
//! An entry is written when its request is done, and requests that change anything are carried out one at a time. So
//! the order of the entries is one that clients may have seen, and what lies before a flush is what it covered.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::blocks::{BlockSizes, Blocks, Error, Extent, LiveFigures};

const MAGIC: u64 = 0x006a_7366_7773_6872;
const VERSION: u64 = 1;
const SECTOR: u64 = 512;

const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;

/// Longest discard of an entry: `replay-log` skips longer ones where it has to write zeros itself.
const DISCARD_MAX: u64 = 128 << 20;
/// Longest zeroing of an entry, which is a write of zeros: `replay-log` takes the data of an entry into memory.
const ZEROES_MAX: u64 = 16 << 20;

/// A device whose changes are written to a file.
pub struct LogWrites {
    inner: Arc<dyn Blocks>,
    log: Mutex<Log>,
}

struct Log {
    file: File,
    path: PathBuf,
    entries: u64,
    /// Where the next entry goes.
    end: u64,
}

impl LogWrites {
    /// Begins a new record.
    ///
    /// # Errors
    /// If the file exists already or cannot be written: a text with its path.
    pub fn create(inner: Arc<dyn Blocks>, path: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{}: this file exists; give the log of writes a new name", path.display())
            }
            _ => format!("{}: the log of writes cannot be begun: {error}", path.display()),
        };
        let file = File::create_new(path).map_err(failed)?;
        let mut log = Log { file, path: path.to_path_buf(), entries: 0, end: SECTOR };
        log.finish(SECTOR).map_err(failed)?;
        Ok(Self { inner, log: Mutex::new(log) })
    }

    /// Carries a change out and notes it; nothing is noted if that fails.
    fn noted(
        &self,
        change: impl FnOnce() -> Result<(), Error>,
        note: impl FnOnce(&mut Log) -> io::Result<()>,
    ) -> Result<(), Error> {
        let mut log = self.log();
        change()?;
        note(&mut log).map_err(|error| {
            Error::Io(format!("{}: this write cannot be added to the log: {error}", log.path.display()))
        })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    fn entry(&mut self, offset: u64, length: u64, flags: u64, data: &[u8]) -> io::Result<()> {
        let mut head = [0; SECTOR as usize];
        for (field, value) in head.chunks_exact_mut(8).zip([offset / SECTOR, length / SECTOR, flags, 0]) {
            field.copy_from_slice(&u64::to_le_bytes(value));
        }
        self.file.write_all_at(&head, self.end)?;
        self.file.write_all_at(data, self.end + SECTOR)?;
        let data = if flags & DISCARD == 0 { length } else { 0 };
        self.entries += 1;
        self.finish(self.end + SECTOR + data)
    }

    /// Writes an entry for each piece of a long request.
    fn pieces(&mut self, mut offset: u64, mut length: u64, flags: u64, most: u64) -> io::Result<()> {
        while length > 0 {
            let piece = length.min(most);
            self.entry(offset, piece, flags, &[])?;
            offset += piece;
            length -= piece;
        }
        Ok(())
    }

    /// Makes the file end at `end`, with zeros where nothing was written, and the head count what is there: a log is
    /// whole at any time.
    fn finish(&mut self, end: u64) -> io::Result<()> {
        self.file.set_len(end)?;
        self.end = end;
        let mut head = [0; SECTOR as usize];
        for (field, value) in head.chunks_exact_mut(8).zip([MAGIC, VERSION, self.entries, SECTOR]) {
            field.copy_from_slice(&u64::to_le_bytes(value));
        }
        self.file.write_all_at(&head, 0)
    }
}

fn fua_flag(fua: bool) -> u64 {
    if fua { FUA } else { 0 }
}

impl Blocks for LogWrites {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn block_sizes(&self) -> BlockSizes {
        self.inner.block_sizes()
    }

    fn read_only(&self) -> bool {
        self.inner.read_only()
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.inner.read(offset, data)
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error> {
        let length = data.len() as u64;
        self.noted(|| self.inner.write(offset, data, fua), |log| log.entry(offset, length, fua_flag(fua), data))
    }

    fn flush(&self) -> Result<(), Error> {
        self.noted(|| self.inner.flush(), |log| log.entry(0, 0, FLUSH, &[]))
    }

    fn trim(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.noted(|| self.inner.trim(offset, length), |log| log.pieces(offset, length, DISCARD, DISCARD_MAX))
    }

    fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Error> {
        let change = || self.inner.zero(offset, length, may_trim, fua);
        self.noted(change, |log| log.pieces(offset, length, fua_flag(fua), ZEROES_MAX))
    }

    fn extents(&self, offset: u64, length: u64, most: usize) -> Result<Vec<Extent>, Error> {
        self.inner.extents(offset, length, most)
    }

    fn cut_after(&self, operations: u64) {
        self.inner.cut_after(operations);
    }

    fn figures(&self) -> LiveFigures {
        self.inner.figures()
    }

    fn close(&self) -> Result<(), Error> {
        self.noted(|| self.inner.close(), |log| log.entry(0, 0, FLUSH, &[]))
    }
}
