//! Where an image lies: in a file, or in memory.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapMut, MmapOptions};

use super::region::FileRegion;
use crate::Shape;

/// Header and records as words, and the data of pages behind them.
pub(super) struct Backing {
    records: MmapMut,
    data: PageRegion,
}

enum PageRegion {
    File(FileRegion),
    Memory(Vec<u8>),
}

impl Backing {
    pub(super) fn in_memory(records: usize, data: u64) -> Backing {
        let records = MmapMut::map_anon(records).expect("memory for the records of an image");
        Backing { records, data: PageRegion::Memory(vec![0; data as usize]) }
    }

    /// A file of the right length; `writes` or private: what is changed in memory does not reach the file. The data are those of
    /// blocks, each with so many pages of so many bytes, and what is behind them.
    pub(super) fn of_file(
        file: File,
        records: usize,
        writes: bool,
        shape: &Shape,
        page_size: u32,
    ) -> io::Result<Backing> {
        let mut options = MmapOptions::new();
        options.len(records);
        // SAFETY: the file is locked, so that no other process of this kind changes it; one that cuts it short, whoever it is, ends this
        // one with a signal, as a power cut. Words are read and written as atomic ones.
        let records = if writes { unsafe { options.map_mut(&file) } } else { unsafe { options.map_copy(&file) } }?;
        let data = FileRegion::new(file, records.len() as u64, writes, shape, page_size)?;
        Ok(Backing { data: PageRegion::File(data), records })
    }

    /// A copy in memory.
    pub(super) fn copy(&self) -> Backing {
        let mut records = MmapMut::map_anon(self.records.len()).expect("memory for the records of an image");
        records.copy_from_slice(&self.records);
        let data = match &self.data {
            PageRegion::Memory(bytes) => bytes.clone(),
            PageRegion::File(region) => region.all().expect("an image can be read"),
        };
        Backing { records, data: PageRegion::Memory(data) }
    }

    pub(super) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is aligned to pages of memory, lives as long as `self`, and is reached through these words alone.
        unsafe { std::slice::from_raw_parts(self.records.as_ptr().cast::<AtomicU64>(), self.records.len() / 8) }
    }

    pub(super) fn header(&mut self) -> &mut [u8] {
        &mut self.records[..super::header::WORDS * 8]
    }

    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
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

    /// Nothing is behind so many bytes of data. That it may stay does no harm.
    pub(super) fn cut_to(&mut self, length: u64) {
        match &mut self.data {
            PageRegion::File(region) => region.cut_to(length),
            PageRegion::Memory(all) => all.truncate(length as usize),
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
