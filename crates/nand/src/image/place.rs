//! Where an image lies: in a file, or in memory.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use memmap2::{MmapMut, MmapOptions};

use super::header::Lengths;
use super::region::FileRegion;
use crate::Shape;

/// Header and records as words, and the data of pages behind them.
pub(super) struct Backing {
    records: MmapMut,
    data: PageRegion,
    /// Bytes of data that were read and written since memory was let go of.
    moved: AtomicU64,
}

/// Bytes of data that are read and written before the process lets go of the memory that they were mapped to. They stay in that of the
/// operating system, which takes it back when it needs to.
const MOVED: u64 = 256 << 20;

enum PageRegion {
    File(FileRegion),
    Memory(Vec<u8>),
}

impl Backing {
    pub(super) fn in_memory(lengths: &Lengths) -> Backing {
        let records = MmapMut::map_anon(lengths.records).expect("memory for the records of an image");
        Backing { records, data: PageRegion::Memory(vec![0; lengths.data as usize]), moved: AtomicU64::new(0) }
    }

    /// A file of the right length; `writes` or private: what is changed in memory does not reach the file. The data are those of
    /// blocks, each with so many pages of so many bytes, and what is behind them.
    pub(super) fn of_file(
        file: File,
        lengths: &Lengths,
        writes: bool,
        shape: &Shape,
        page_size: u32,
    ) -> io::Result<Backing> {
        let mut options = MmapOptions::new();
        options.len(lengths.records);
        // SAFETY: the file is locked, so that no other process of this kind changes it; one that cuts it short, whoever it is, ends this
        // one with a signal, as a power cut. Words are read and written as atomic ones.
        let records = if writes { unsafe { options.map_mut(&file) } } else { unsafe { options.map_copy(&file) } }?;
        let data = FileRegion::new(file, lengths, writes, shape, page_size)?;
        Ok(Backing { data: PageRegion::File(data), records, moved: AtomicU64::new(0) })
    }

    /// A copy in memory.
    pub(super) fn copy(&self) -> Backing {
        let mut records = MmapMut::map_anon(self.records.len()).expect("memory for the records of an image");
        records.copy_from_slice(&self.records);
        let data = match &self.data {
            PageRegion::Memory(bytes) => bytes.clone(),
            PageRegion::File(region) => region.all().expect("an image can be read"),
        };
        Backing { records, data: PageRegion::Memory(data), moved: AtomicU64::new(0) }
    }

    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is aligned to pages of memory, lives as long as `self`, and is reached through these words alone.
        unsafe { std::slice::from_raw_parts(self.records.as_ptr().cast::<AtomicU64>(), self.records.len() / 8) }
    }

    pub(super) fn header(&mut self) -> &mut [u8] {
        &mut self.records[..super::header::WORDS * 8]
    }

    /// Counts bytes of data that were read or written.
    fn note_moved(&self, bytes: usize) {
        if self.moved.fetch_add(bytes as u64, Relaxed) + (bytes as u64) < MOVED {
            return;
        }
        self.moved.store(0, Relaxed);
        if let PageRegion::File(region) = &self.data {
            region.let_go(&self.records);
        }
    }

    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.note_moved(bytes.len());
        match &self.data {
            PageRegion::File(region) => region.read(at, bytes),
            PageRegion::Memory(all) => {
                let part = all.get(at as usize..).and_then(|all| all.get(..bytes.len()));
                bytes.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.note_moved(bytes.len());
        match &mut self.data {
            PageRegion::File(region) => region.write(at, bytes),
            PageRegion::Memory(all) => {
                let end = at as usize + bytes.len();
                if end > all.len() {
                    all.resize(end, 0);
                }
                all[at as usize..end].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Cuts the data to `length` bytes: the rest is not needed, and does no harm where it stays.
    pub(super) fn cut_to(&mut self, length: u64) {
        match &mut self.data {
            PageRegion::File(region) => region.cut_to(length),
            PageRegion::Memory(all) => all.truncate(length as usize),
        }
    }

    /// The records of the pages of a block have room on the disk from now on, those from one word on and so many.
    pub(super) fn make_record_room(&mut self, block: usize, word: usize, words: usize) -> io::Result<()> {
        match &mut self.data {
            PageRegion::File(region) => region.make_record_room(block, word as u64 * 8, words as u64 * 8),
            PageRegion::Memory(_) => Ok(()),
        }
    }

    /// True if some of the words from one on may have been written.
    pub(super) fn may_have(&self, word: usize, words: usize) -> bool {
        match &self.data {
            PageRegion::File(region) => region.may_have(word as u64 * 8, words as u64 * 8),
            PageRegion::Memory(_) => true,
        }
    }

    /// Keeps room for writes to come, behind so many bytes of data where the disk is nearly full. Returns whether there is room.
    pub(super) fn keep_reserve(&mut self, length: u64, bytes: u64) -> bool {
        match &mut self.data {
            PageRegion::File(region) => region.keep_reserve(length, bytes),
            PageRegion::Memory(_) => true,
        }
    }

    /// The bytes of a block are not read before they are written anew.
    pub(super) fn free(&mut self, block: usize) {
        if let PageRegion::File(region) = &mut self.data {
            region.free(block);
        }
    }

    /// Blocks that were freed take no room on the disk from now on.
    pub(super) fn give_room_back(&mut self) {
        if let PageRegion::File(region) = &mut self.data {
            region.give_room_back();
        }
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        match &self.data {
            PageRegion::File(region) => {
                self.records.flush()?;
                region.sync()
            }
            PageRegion::Memory(_) => Ok(()),
        }
    }
}
