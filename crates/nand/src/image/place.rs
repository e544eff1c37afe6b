//! Where an image lies: in a file, or in memory.

use std::fs::File;
use std::io::{self, ErrorKind};
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapMut, MmapOptions};

/// Header and records as words, and the data of pages behind them.
pub(super) struct Backing {
    records: MmapMut,
    data: PageRegion,
}

enum PageRegion {
    /// A file, from an offset on. Its lock ends with it.
    File(File, u64),
    Memory(Vec<u8>),
}

impl Backing {
    pub(super) fn in_memory(records: usize, data: u64) -> Backing {
        let records = MmapMut::map_anon(records).expect("memory for the records of an image");
        Backing { records, data: PageRegion::Memory(vec![0; data as usize]) }
    }

    /// A file of the right length; `writes` or private: what is changed in memory does not reach the file.
    pub(super) fn of_file(file: File, records: usize, writes: bool) -> io::Result<Backing> {
        let mut options = MmapOptions::new();
        options.len(records);
        // SAFETY: the file is locked, so that no other process of this kind changes it; one that cuts it short, whoever it is, ends this
        // one with a signal, as a power cut. Words are read and written as atomic ones.
        let records = if writes { unsafe { options.map_mut(&file) } } else { unsafe { options.map_copy(&file) } }?;
        Ok(Backing { data: PageRegion::File(file, records.len() as u64), records })
    }

    /// A copy in memory.
    pub(super) fn copy(&self) -> Backing {
        let mut records = MmapMut::map_anon(self.records.len()).expect("memory for the records of an image");
        records.copy_from_slice(&self.records);
        let data = match &self.data {
            PageRegion::Memory(bytes) => bytes.clone(),
            PageRegion::File(file, offset) => {
                let length = file.metadata().map_or(0, |file| file.len() - offset);
                let mut bytes = vec![0; length as usize];
                file.read_exact_at(&mut bytes, *offset).expect("an image can be read");
                bytes
            }
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
            PageRegion::File(file, offset) => match file.read_exact_at(bytes, offset + at) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    Err(io::Error::new(ErrorKind::UnexpectedEof, "the image is cut short"))
                }
                result => result,
            },
            PageRegion::Memory(all) => {
                let part = all.get(at as usize..).and_then(|all| all.get(..bytes.len()));
                bytes.copy_from_slice(part.ok_or(ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        match &mut self.data {
            PageRegion::File(file, offset) => file.write_all_at(bytes, *offset + at),
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
            PageRegion::File(file, offset) => {
                if file.metadata().is_ok_and(|file| file.len() > *offset + length) {
                    let _ = file.set_len(*offset + length);
                }
            }
            PageRegion::Memory(all) => all.truncate(length as usize),
        }
    }

    /// Bytes that nobody reads any more need no room on the disk. That they keep it does no harm.
    pub(super) fn free(&mut self, at: u64, length: u64) {
        #[cfg(target_os = "linux")]
        if let PageRegion::File(file, offset) = &self.data {
            let (at, length) = ((*offset + at) as libc::off_t, length as libc::off_t);
            let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the descriptor is open as long as the file is.
            unsafe { libc::fallocate(file.as_raw_fd(), how, at, length) };
        }
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        match &self.data {
            PageRegion::File(file, _) => {
                self.records.flush()?;
                file.sync_data()
            }
            PageRegion::Memory(_) => Ok(()),
        }
    }
}
