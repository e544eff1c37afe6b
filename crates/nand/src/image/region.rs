//! The data of pages in a file.
//!
//! They are read through memory, and a page that has room on the disk is written through memory too: that takes half the time of
//! a call of the operating system. A page that has none is written by such a call, so that a full disk is an error and no signal.

use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use memmap2::{MmapOptions, MmapRaw};

use super::header::Lengths;
use crate::Shape;

/// One of so many blocks may keep its room while it is erased.
const KEPT: usize = 8;

/// The time between two looks at the room on the disk.
const LOOK: Duration = Duration::from_millis(1);

/// With so many times what is needed, the disk has room enough.
const ENOUGH: u64 = 4;

/// The part of a file that holds the data of pages, and what is behind them. The lock of the file ends with it.
pub(super) struct FileRegion {
    file: File,
    /// The bytes of the file before it.
    offset: u64,
    /// The data of all pages.
    pages: MmapRaw,
    block_bytes: usize,
    room: Option<DiskRoom>,
    /// By block, the records of its pages have room.
    has_records: Vec<bool>,
    reserve: Reserve,
    /// Memory is shared with the file: writes to it reach the file.
    is_shared: bool,
}

/// Room on the disk for a time when there is none: bytes at the end of the file.
#[derive(Default)]
struct Reserve {
    /// The bytes of the file before it.
    from: u64,
    bytes: u64,
    /// When the disk was found to have room enough, and bytes of it that may be taken before the next look.
    looked: Option<Instant>,
    credit: u64,
}

/// The room on the disk that is known to be there.
struct DiskRoom {
    page_bytes: usize,
    /// A bit for each page: it has room.
    pages: Vec<u64>,
    /// The blocks that keep their room while they are erased.
    kept: Vec<bool>,
    kept_count: usize,
    /// Each page with data in the file has room of its own: no other file shares it.
    is_alone: bool,
}

impl FileRegion {
    pub(super) fn new(
        file: File,
        lengths: &Lengths,
        writes: bool,
        shape: &Shape,
        page_size: u32,
    ) -> io::Result<FileRegion> {
        let offset = lengths.records as u64;
        let blocks = shape.planes as usize * shape.blocks_per_plane as usize;
        let page_bytes = page_size as usize;
        let block_bytes = shape.pages_per_block as usize * page_bytes;
        let mut options = MmapOptions::new();
        options.offset(offset).len(blocks * block_bytes);
        let pages = if writes { options.map_raw(&file) } else { options.map_raw_read_only(&file) }?;
        let room = if writes { DiskRoom::of(&file, page_bytes, blocks, shape.pages_per_block as usize) } else { None };
        let has_records = vec![false; blocks];
        Ok(FileRegion {
            file,
            offset,
            pages,
            block_bytes,
            room,
            has_records,
            reserve: Reserve::default(),
            is_shared: writes,
        })
    }

    /// All of it, to the end of the file.
    pub(super) fn all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; (self.file.metadata()?.len() - self.offset) as usize];
        self.file.read_exact_at(&mut bytes, self.offset)?;
        Ok(bytes)
    }

    /// The place in memory of so many bytes, if they belong to pages.
    fn in_memory(&self, at: u64, length: usize) -> Option<*mut u8> {
        let at = usize::try_from(at).ok()?;
        // SAFETY: it is within the mapping.
        (at.checked_add(length)? <= self.pages.len()).then(|| unsafe { self.pages.as_mut_ptr().add(at) })
    }

    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Some(from) = self.in_memory(at, bytes.len()) else {
            return self.file.read_exact_at(bytes, self.offset + at);
        };
        // SAFETY: so many bytes are there, and nobody else refers to them: the file is locked. One that is cut short, whoever does it,
        // ends this process with a signal, as a power cut.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    pub(super) fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let place = self.in_memory(at, bytes.len());
        let (Some(to), Some(room)) = (place, &mut self.room) else {
            return self.with_reserve(bytes.len(), |region| region.file.write_all_at(bytes, region.offset + at));
        };
        room.use_block(at as usize / self.block_bytes);
        if room.is_there(at as usize, bytes.len()) {
            // SAFETY: as in `read`; the mapping is writable where `room` is.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
            return Ok(());
        }
        self.with_reserve(bytes.len(), |region| region.file.write_all_at(bytes, region.offset + at))?;
        if let Some(room) = &mut self.room {
            room.is_written(at as usize, bytes.len());
        }
        Ok(())
    }

    /// Does something that takes so many bytes of the disk. Where there is none, the reserve is given up for it, part by part.
    fn with_reserve(&mut self, bytes: usize, does: impl Fn(&FileRegion) -> io::Result<()>) -> io::Result<()> {
        self.reserve.credit = self.reserve.credit.saturating_sub(bytes as u64);
        loop {
            match does(self) {
                Err(error) if error.kind() == io::ErrorKind::StorageFull && self.reserve.bytes > 0 => {
                    let part = (self.reserve.bytes / 4).max(self.block_bytes as u64).min(self.reserve.bytes);
                    self.reserve.bytes -= part;
                    self.file.set_len(self.reserve.from + self.reserve.bytes)?;
                }
                done => return done,
            }
        }
    }

    /// Returns whether so many bytes are at hand: the disk has room, or they are kept behind so many bytes of data.
    pub(super) fn keep_reserve(&mut self, length: u64, bytes: u64) -> bool {
        let is_sure = self.reserve.credit > 0 && self.reserve.looked.is_some_and(|then| then.elapsed() < LOOK);
        if self.reserve.bytes >= bytes || is_sure {
            return true;
        }
        let from = self.offset + length;
        let free = free_bytes(&self.file).unwrap_or(u64::MAX);
        if free / ENOUGH > bytes {
            (self.reserve.looked, self.reserve.credit) = (Some(Instant::now()), free / ENOUGH);
            return true;
        }
        self.reserve.looked = None;
        match allocate(&self.file, from, bytes) {
            Ok(()) => {
                (self.reserve.from, self.reserve.bytes) = (from, bytes);
                true
            }
            // It has no such call: a full disk ends the drive until it is opened again.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => true,
            Err(_) => {
                // What of it there is may be longer than before.
                let _ = self.file.set_len(from + self.reserve.bytes);
                false
            }
        }
    }

    /// The records of the pages of a block have room from now on; that which they had stays as it is.
    pub(super) fn make_record_room(&mut self, block: usize, at: u64, length: u64) -> io::Result<()> {
        if self.has_records[block] {
            return Ok(());
        }
        self.with_reserve(length as usize, |region| match allocate(&region.file, at, length) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                let mut bytes = vec![0; length as usize];
                region.file.read_exact_at(&mut bytes, at)?;
                region.file.write_all_at(&bytes, at)
            }
            done => done,
        })?;
        self.has_records[block] = true;
        Ok(())
    }

    /// True unless these bytes of the file are a hole.
    pub(super) fn may_have(&self, at: u64, length: u64) -> bool {
        #[cfg(target_os = "linux")]
        {
            // SAFETY: the descriptor is open as long as the file is. Nobody relies on its position.
            let found = unsafe { libc::lseek(self.file.as_raw_fd(), at as libc::off_t, libc::SEEK_DATA) };
            if found < 0 {
                return io::Error::last_os_error().raw_os_error() != Some(libc::ENXIO);
            }
            (found as u64) < at + length
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (at, length);
            true
        }
    }

    /// The process lets go of the memory of pages, and of records that lie in the same file.
    pub(super) fn let_go(&self, records: &[u8]) {
        #[cfg(target_os = "linux")]
        if self.is_shared {
            let of = |start: *const u8, length: usize| {
                // SAFETY: both are mappings of a file that other mappings share: what was written there is in the file, and is
                // read from there again.
                unsafe { libc::madvise(start.cast_mut().cast(), length, libc::MADV_DONTNEED) };
            };
            of(self.pages.as_ptr(), self.pages.len());
            of(records.as_ptr(), records.len());
        }
        #[cfg(not(target_os = "linux"))]
        let _ = records;
    }

    pub(super) fn cut_to(&mut self, length: u64) {
        let length = self.offset + length;
        self.reserve = Reserve::default();
        if self.file.metadata().is_ok_and(|file| file.len() > length) {
            let _ = self.file.set_len(length);
        }
    }

    /// A block is erased. Some keep their room, for the next that are programmed.
    pub(super) fn free(&mut self, block: usize) {
        if let Some(room) = &mut self.room {
            if room.kept[block] || room.kept_count < room.kept.len() / KEPT {
                if !std::mem::replace(&mut room.kept[block], true) {
                    room.kept_count += 1;
                    room.find(&self.file, self.offset, block * self.block_bytes, self.block_bytes);
                }
                return;
            }
            room.is_gone(block, self.block_bytes);
        }
        self.punch(block);
    }

    pub(super) fn give_room_back(&mut self) {
        let Some(room) = &mut self.room else { return };
        let kept: Vec<usize> = (0..room.kept.len()).filter(|&block| room.kept[block]).collect();
        for &block in &kept {
            room.use_block(block);
            room.is_gone(block, self.block_bytes);
        }
        kept.into_iter().for_each(|block| self.punch(block));
    }

    /// A block takes no room on the disk. That it may keep it does no harm.
    fn punch(&self, block: usize) {
        #[cfg(target_os = "linux")]
        {
            let at = self.offset + (block * self.block_bytes) as u64;
            let how = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the descriptor is open as long as the file is.
            unsafe { libc::fallocate(self.file.as_raw_fd(), how, at as libc::off_t, self.block_bytes as libc::off_t) };
        }
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Bytes that the disk of a file has left, where that can be known.
#[cfg(target_os = "linux")]
fn free_bytes(file: &File) -> Option<u64> {
    // SAFETY: all zeros are a value of this structure.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open as long as the file is, and the structure is there to be filled.
    let failed = unsafe { libc::fstatvfs(file.as_raw_fd(), &mut found) } != 0;
    #[allow(clippy::unnecessary_cast)]
    (!failed).then(|| (found.f_bavail as u64).saturating_mul(found.f_frsize as u64))
}

#[cfg(not(target_os = "linux"))]
fn free_bytes(_: &File) -> Option<u64> {
    None
}

/// Takes room on the disk for a part of a file. What it has there stays.
#[cfg(target_os = "linux")]
fn allocate(file: &File, at: u64, length: u64) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open as long as the file is.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, at as libc::off_t, length as libc::off_t) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(_: &File, _: u64, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

impl DiskRoom {
    fn new(page_bytes: usize, blocks: usize, pages_per_block: usize, is_alone: bool) -> DiskRoom {
        let pages = vec![0; (blocks * pages_per_block).div_ceil(64)];
        DiskRoom { page_bytes, pages, kept: vec![false; blocks], kept_count: 0, is_alone }
    }

    /// The room of a file, on file systems that write a page where it is: one with room cannot find the disk full.
    #[cfg(target_os = "linux")]
    fn of(file: &File, page_bytes: usize, blocks: usize, pages_per_block: usize) -> Option<DiskRoom> {
        const TMPFS: i64 = 0x0102_1994;
        const EXT: i64 = 0xef53;
        const XFS: i64 = 0x5846_5342;
        // SAFETY: all zeros are a value of this structure.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open as long as the file is, and the structure is there to be filled.
        let failed = unsafe { libc::fstatfs(file.as_raw_fd(), &mut found) } != 0;
        #[allow(clippy::unnecessary_cast)]
        let kind = found.f_type as i64;
        // A copy on XFS may share its data, and takes room when it is written.
        (!failed && [TMPFS, EXT, XFS].contains(&kind))
            .then(|| DiskRoom::new(page_bytes, blocks, pages_per_block, kind != XFS))
    }

    #[cfg(not(target_os = "linux"))]
    fn of(_: &File, _: usize, _: usize, _: usize) -> Option<DiskRoom> {
        None
    }

    /// Looks for pages that have room since before the file was opened, among so many bytes.
    #[cfg(target_os = "linux")]
    fn find(&mut self, file: &File, offset: u64, at: usize, length: usize) {
        if !self.is_alone || self.is_there(at, length) {
            return;
        }
        let seek = |from: usize, what| {
            let from = (offset + from as u64) as libc::off_t;
            // SAFETY: the descriptor is open as long as the file is. Nobody relies on its position.
            let found = unsafe { libc::lseek(file.as_raw_fd(), from, what) };
            u64::try_from(found).map_or(at + length, |found| ((found - offset) as usize).min(at + length))
        };
        let mut from = at;
        while from < at + length {
            let data = seek(from, libc::SEEK_DATA);
            from = seek(data, libc::SEEK_HOLE);
            self.is_written(data, from - data);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn find(&mut self, _: &File, _: u64, _: usize, _: usize) {}

    /// The block is not an erased one that keeps its room.
    fn use_block(&mut self, block: usize) {
        self.kept_count -= usize::from(std::mem::replace(&mut self.kept[block], false));
    }

    fn is_there(&self, at: usize, length: usize) -> bool {
        (at / self.page_bytes..(at + length).div_ceil(self.page_bytes))
            .all(|page| self.pages[page / 64] >> (page % 64) & 1 == 1)
    }

    /// Pages that were written whole have room.
    fn is_written(&mut self, at: usize, length: usize) {
        for page in at.div_ceil(self.page_bytes)..(at + length) / self.page_bytes {
            self.pages[page / 64] |= 1 << (page % 64);
        }
    }

    fn is_gone(&mut self, block: usize, block_bytes: usize) {
        for page in block * block_bytes / self.page_bytes..(block + 1) * block_bytes / self.page_bytes {
            self.pages[page / 64] &= !(1 << (page % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::Chance;

    use super::*;
    use base::{Cell, Multiplane, ProgramOrder};

    const PAGE: usize = 4096;
    const PAGES: usize = 8;
    const BLOCKS: usize = 64;
    const OFFSET: u64 = 1 << 16;

    fn shape() -> Shape {
        Shape {
            planes: 4,
            planes_per_die: 2,
            blocks_per_plane: BLOCKS as u32 / 4,
            pages_per_block: PAGES as u32,
            parts: 1,
            multiplane: Multiplane::Off,
            cell: Cell::Slc,
            program_order: ProgramOrder::Consecutive,
        }
    }

    /// A region that knows its room, whatever the file system of its file is.
    fn opened(file: File) -> FileRegion {
        let lengths = Lengths { fixed: 0, records: OFFSET as usize, data: (BLOCKS * PAGES * PAGE) as u64 };
        let mut region = FileRegion::new(file, &lengths, true, &shape(), PAGE as u32).expect("it can be mapped");
        region.room = Some(DiskRoom::new(PAGE, BLOCKS, PAGES, true));
        region
    }

    fn region_of(name: &str) -> FileRegion {
        let path = std::env::temp_dir().join(format!("ftlab-region-{name}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
        std::fs::remove_file(&path).expect("it is there");
        file.set_len(OFFSET + (BLOCKS * PAGES * PAGE) as u64 + 100_000).expect("a hole");
        opened(file)
    }

    fn has_room(region: &FileRegion, page: usize) -> bool {
        let at = (OFFSET as usize + page * PAGE) as libc::off_t;
        // SAFETY: the descriptor is open.
        unsafe { libc::lseek(region.file.as_raw_fd(), at, libc::SEEK_DATA) == at }
    }

    /// Pages and pieces behind them are read as they were written, and a page that is written through memory has room on the disk.
    #[test]
    fn what_is_written_is_read_and_had_room() {
        let mut region = region_of("model");
        let mut chance = Chance::new(3, "region");
        let mut model: Vec<Option<u8>> = vec![None; BLOCKS * PAGES];
        let mut behind = vec![0; 100_000];
        let mut through_memory = 0;
        for round in 0..6000_u32 {
            let block = chance.below(BLOCKS as u64) as usize;
            let byte = round as u8 | 1;
            match chance.below(16) {
                0 => {
                    let (at, length) = (chance.below(90_000) as usize, chance.below(9000) as usize);
                    behind[at..at + length].fill(byte);
                    let place = (BLOCKS * PAGES * PAGE + at) as u64;
                    region.write(place, &vec![byte; length]).expect("room");
                }
                1 if round % 64 == 0 => region.give_room_back(),
                1 if round % 64 == 2 => region.let_go(&[]),
                1 if round % 64 == 1 => region = opened(region.file.try_clone().expect("a descriptor")),
                1..4 => {
                    region.free(block);
                    model[block * PAGES..(block + 1) * PAGES].fill(None);
                }
                _ => {
                    let page = block * PAGES + chance.below(PAGES as u64) as usize;
                    let room = region.room.as_ref().expect("it was given");
                    if room.is_there(page * PAGE, PAGE) {
                        through_memory += 1;
                        assert!(has_room(&region, page), "page {page} was to be written where there is a hole");
                    }
                    region.write((page * PAGE) as u64, &vec![byte; PAGE]).expect("room");
                    model[page] = Some(byte);
                }
            }
            let page = chance.below(model.len() as u64) as usize;
            let mut read = vec![0; PAGE];
            region.read((page * PAGE) as u64, &mut read).expect("it is there");
            assert!(
                model[page].is_none_or(|byte| read.iter().all(|&found| found == byte)),
                "page {page} in round {round}"
            );
        }
        assert!(through_memory > 1000, "{through_memory}");
        let all = region.all().expect("it can be read");
        assert!(all[BLOCKS * PAGES * PAGE..] == behind);
        for (page, byte) in model.iter().enumerate().filter_map(|(page, byte)| Some((page, (*byte)?))) {
            assert!(all[page * PAGE..][..PAGE].iter().all(|&found| found == byte), "page {page} of the file");
        }
    }

    /// Of erased blocks an eighth keep their room, and none do when it is given back.
    #[test]
    fn erased_blocks_take_little_room() {
        let mut region = region_of("erased");
        let of_blocks = |region: &FileRegion| (0..BLOCKS).filter(|block| has_room(region, block * PAGES)).count();
        for block in 0..BLOCKS {
            region.write((block * PAGES * PAGE) as u64, &vec![7; PAGES * PAGE]).expect("room");
        }
        assert_eq!(of_blocks(&region), BLOCKS);
        // It is opened anew, and knows of the room of those that it keeps.
        region = opened(region.file.try_clone().expect("a descriptor"));
        let known = |region: &FileRegion| {
            let room = region.room.as_ref().expect("it was given");
            (0..BLOCKS).filter(|block| room.is_there(block * PAGES * PAGE, PAGES * PAGE)).count()
        };
        assert_eq!(known(&region), 0);
        (0..BLOCKS).for_each(|block| region.free(block));
        assert_eq!((of_blocks(&region), known(&region)), (BLOCKS / KEPT, BLOCKS / KEPT));
        region.give_room_back();
        assert_eq!(of_blocks(&region), 0);
    }
}
