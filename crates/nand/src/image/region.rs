//! The data of pages in a file.
//!
//! They are read through memory, and a page that has room on the disk is written through memory too: that takes half the time of
//! a call of the operating system. A page that has none is written by such a call, so that a full disk is an error and no signal.

use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use memmap2::{MmapOptions, MmapRaw};

use crate::Shape;

/// One of so many blocks may keep its room while it is erased.
const KEPT: usize = 8;

/// The part of a file that holds the data of pages, and what is behind them. The lock of the file ends with it.
pub(super) struct FileRegion {
    file: File,
    /// The bytes of the file before it.
    offset: u64,
    /// The data of all pages.
    pages: MmapRaw,
    block_bytes: usize,
    room: Option<DiskRoom>,
}

/// What is known of room on the disk.
struct DiskRoom {
    page_bytes: usize,
    /// A bit for each page: it has room.
    pages: Vec<u64>,
    /// The blocks that keep their room while they are erased.
    kept: Vec<bool>,
    kept_count: usize,
    /// What has data in the file has room too: no other file shares it.
    is_alone: bool,
}

impl FileRegion {
    pub(super) fn new(file: File, offset: u64, writes: bool, shape: &Shape, page_size: u32) -> io::Result<FileRegion> {
        let blocks = shape.planes as usize * shape.blocks_per_plane as usize;
        let page_bytes = page_size as usize;
        let block_bytes = shape.pages_per_block as usize * page_bytes;
        let mut options = MmapOptions::new();
        options.offset(offset).len(blocks * block_bytes);
        let pages = if writes { options.map_raw(&file) } else { options.map_raw_read_only(&file) }?;
        let room = if writes { DiskRoom::of(&file, page_bytes, blocks, shape.pages_per_block as usize) } else { None };
        Ok(FileRegion { file, offset, pages, block_bytes, room })
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
            return self.file.write_all_at(bytes, self.offset + at);
        };
        room.use_block(at as usize / self.block_bytes);
        if room.is_there(at as usize, bytes.len()) {
            // SAFETY: as in `read`; the mapping is writable where `room` is.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
            return Ok(());
        }
        self.file.write_all_at(bytes, self.offset + at)?;
        room.is_written(at as usize, bytes.len());
        Ok(())
    }

    pub(super) fn cut_to(&mut self, length: u64) {
        let length = self.offset + length;
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

impl DiskRoom {
    fn new(page_bytes: usize, blocks: usize, pages_per_block: usize, is_alone: bool) -> DiskRoom {
        let pages = vec![0; (blocks * pages_per_block).div_ceil(64)];
        DiskRoom { page_bytes, pages, kept: vec![false; blocks], kept_count: 0, is_alone }
    }

    /// What is known of a file, on file systems that write a page where it is: one with room cannot find the disk full.
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

    /// Whatever the file system is, its rules hold.
    fn opened(file: File) -> FileRegion {
        let mut region = FileRegion::new(file, OFFSET, true, &shape(), PAGE as u32).expect("it can be mapped");
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
