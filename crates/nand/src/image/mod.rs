//! The image of an array: one sparse file that holds what its pages store, and all that the array remembers.
//!
//! A header, then a record for each block, then a record for each page, then the data of the pages. All is mapped into memory; data that
//! have no room on the disk yet are written with `pwrite`, so that a full disk is an error and no signal.
//!
//! **A process killed at any instant leaves what a power cut at that operation leaves.** The data of a page are written first, then its
//! record, and then, as one word, the state of its block: until that word is written the page is not programmed. An erase is that
//! word, too. What a killed process wrote is in the operating system's memory, and so in the file.

mod attach;
mod checkpoint;
mod frames;
mod header;
mod load;
mod losses;
mod place;
mod region;
mod safe;
mod seal;

use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, Release};

pub use header::ImageError;
pub use safe::SLOT_HEADER;

#[cfg(doc)]
use crate::Nand;
use crate::Shape;
use crate::block::BlockState;
use frames::Frames;
use place::Backing;

/// Words of a block's record: its state; its reads; its P/E cycles with reprogramming; their wear.
const BLOCK_WORDS: usize = 4;
/// The wear of P/E cycles with reprogramming that a record has room for.
const MOST_WEAR: u64 = (1 << 48) - 1;
/// Words of a page's record: two of its spare area; its marks, the checksums of record and data; its errors and reads before.
const PAGE_WORDS: usize = 4;

/// The page has its content.
const STORED: u64 = 1;
/// That are all zeros, which are not written.
const ZEROS: u64 = 1 << 1;
/// Its content is gone to guard levels.
const REPROGRAMMED: u64 = 1 << 2;

/// The errors of copybacks in a page's record, above which its reads before are; so many of them count as more than can be corrected.
const ERRORS: u64 = (1 << 20) - 1;
const MOST_READS: u32 = (1 << 28) - 1;

/// The word for zeros.
const NO_DATA: u64 = 0;
/// The bit of words for data that lie in the array; the rest is the page.
const IN_ARRAY: u64 = 1 << 63;
/// The word for data that cannot be read.
const UNREADABLE: u64 = 1 << 62;

/// The image of an array.
pub struct Image {
    place: Backing,
    page_size: usize,
    blocks: usize,
    pages_per_block: usize,
    /// Bytes of the data of all pages and slots.
    data_length: u64,
    slots: u32,
    losses: u32,
    keeps_losses: bool,
    noted: u64,
    /// A record was found that is not one that was written.
    has_damage: AtomicBool,
    frames: Frames,
    /// The data of a page that is copied.
    transit: Vec<u8>,
    /// The first error of the operating system: nothing was written since.
    failure: Option<ErrorKind>,
    /// Writes before nothing is written any more, as if the process were killed.
    lifetime: u64,
}

impl Clone for Image {
    /// A copy that lies in memory.
    fn clone(&self) -> Image {
        Image {
            place: self.place.copy(),
            page_size: self.page_size,
            blocks: self.blocks,
            pages_per_block: self.pages_per_block,
            data_length: self.data_length,
            slots: self.slots,
            losses: self.losses,
            keeps_losses: self.keeps_losses,
            noted: self.noted,
            has_damage: AtomicBool::new(self.has_damage.load(Relaxed)),
            frames: self.frames.clone(),
            transit: self.transit.clone(),
            failure: None,
            lifetime: self.lifetime,
        }
    }
}

/// The numbers of a page's record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aside {
    /// The errors of copybacks.
    pub(crate) errors: u32,
    /// The reads of its block when it was programmed.
    pub(crate) reads_before: u32,
}

/// The wear in a block's record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worn {
    pub(crate) reprogrammed: u32,
    pub(crate) is_reprogrammed: bool,
    pub(crate) extra: u64,
}

/// Parts of an image beside its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Slots for pages of a write buffer that outlives the power.
    pub slots: u32,
    /// Pages that failed programs may take along.
    pub losses: u32,
}

impl Image {
    fn over(place: Backing, shape: &Shape, page_size: u32, extras: Extras) -> Image {
        let data_length = header::Lengths::of(shape, page_size, extras).data;
        let page_size = page_size as usize;
        Image {
            data_length,
            slots: extras.slots,
            losses: extras.losses,
            keeps_losses: false,
            noted: 0,
            has_damage: AtomicBool::new(false),
            place,
            page_size,
            blocks: shape.planes as usize * shape.blocks_per_plane as usize,
            pages_per_block: shape.pages_per_block as usize,
            frames: Frames::new(page_size),
            transit: vec![0; page_size],
            failure: None,
            lifetime: u64::MAX,
        }
    }

    /// Bytes of its header and records, and of the data of its pages and slots.
    pub fn bytes(shape: &Shape, page_size: u32, extras: Extras) -> (u64, u64) {
        let lengths = header::Lengths::of(shape, page_size, extras);
        (lengths.records as u64, lengths.data)
    }

    /// A pristine image that lies in memory and nowhere else.
    pub fn in_memory(shape: &Shape, page_size: u32, extras: Extras) -> Image {
        let lengths = header::Lengths::of(shape, page_size, extras);
        Image::over(Backing::in_memory(&lengths), shape, page_size, extras)
    }

    /// From now on only so many words and pages are written: what is there then is what a process leaves that is killed then.
    pub fn live_for(&mut self, writes: u64) {
        self.lifetime = writes;
    }

    /// The words of header and records, but for the text of the configuration: for tests.
    #[doc(hidden)]
    pub fn record_words(&self) -> impl Iterator<Item = usize> + use<> {
        let end = self.at_page(self.blocks * self.pages_per_block);
        [header::ERASING, header::CHECKPOINT, header::CHECKPOINT_MARK].into_iter().chain(header::WORDS..end)
    }

    /// Changes a bit of a word, as no process would: for tests.
    #[doc(hidden)]
    pub fn flip(&mut self, at: usize, bit: u32) {
        self.place.words()[at].fetch_xor(1 << (bit % 64), Relaxed);
    }

    /// Writes that [`Image::live_for`] has left.
    pub fn writes_left(&self) -> u64 {
        self.lifetime
    }

    /// The first write that the operating system refused. None was made since, so that what is there is what a power cut would have
    /// left.
    pub fn failure(&self) -> Option<ErrorKind> {
        self.failure
    }

    /// Has the operating system write all of it to its disk.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn sync(&self) -> std::io::Result<()> {
        self.place.sync()
    }

    /// True if a write is made, and not lost with the process or the disk.
    fn lives(&mut self) -> bool {
        let left = self.lifetime;
        if left == u64::MAX {
            return self.failure.is_none();
        }
        self.lifetime = left.saturating_sub(1);
        left > 0 && self.failure.is_none()
    }

    fn word(&self, at: usize) -> u64 {
        self.place.words()[at].load(Relaxed)
    }

    /// All that was written before it is there when it is.
    fn set_word(&mut self, at: usize, word: u64) {
        if self.lives() {
            self.place.words()[at].store(word, Release);
        }
    }

    fn at_block(&self, block: usize) -> usize {
        header::WORDS + block * BLOCK_WORDS
    }

    /// Behind all words that have room on the disk from the beginning.
    fn at_page(&self, index: usize) -> usize {
        header::fixed_words(self.blocks, Extras { slots: self.slots, losses: self.losses }) + index * PAGE_WORDS
    }

    /// The state of a block, which is what makes an operation happen.
    pub(crate) fn commit(&mut self, block: usize, state: &BlockState, worn: Worn) {
        let at = self.at_block(block);
        if state.next_page == 0 {
            // Of an erased block, what the rest says follows from it ([`Nand::attach`]).
            self.set_sealed(at, load::pack_state(state));
        }
        self.set_sealed(at + 1, state.reads.into());
        self.set_sealed(at + 2, u64::from(worn.reprogrammed) | u64::from(worn.is_reprogrammed) << 32);
        self.set_sealed(at + 3, worn.extra.min(MOST_WEAR));
        self.set_sealed(at, load::pack_state(state));
    }

    fn set_sealed(&mut self, at: usize, number: u64) {
        self.set_changed(at, seal::seal(at, number));
    }

    fn set_changed(&mut self, at: usize, word: u64) {
        if self.word(at) != word {
            self.set_word(at, word);
        }
    }

    /// A page is not programmed.
    pub(crate) fn forget_page(&mut self, index: usize) {
        self.set_changed(self.at_page(index) + 2, 0);
    }

    /// A block was erased: its pages store nothing.
    pub(crate) fn forget(&mut self, block: usize) {
        if self.lives() {
            self.place.free(block);
        }
        for index in block * self.pages_per_block..(block + 1) * self.pages_per_block {
            self.forget_page(index);
        }
    }

    pub(crate) fn spare(&self, index: usize) -> u128 {
        let at = self.at_page(index);
        if self.word(at + 2) & STORED == 0 {
            return 0;
        }
        u128::from(self.word(at)) | u128::from(self.word(at + 1)) << 64
    }

    /// The word for the data of a page, which stay where they are.
    pub(crate) fn data(&self, index: usize) -> u64 {
        if !self.is_as_written(index) {
            self.has_damage.store(true, Relaxed);
            return UNREADABLE;
        }
        let marks = self.word(self.at_page(index) + 2);
        if marks & STORED == 0 || marks & ZEROS != 0 { NO_DATA } else { IN_ARRAY | index as u64 }
    }

    /// Keeps room for writes of so many bytes, even if the disk is full then. Returns whether there is room: if not, nothing was changed.
    pub fn keep_reserve(&mut self, bytes: u64) -> bool {
        self.place.keep_reserve(self.data_length, bytes)
    }

    /// The records of the pages of a block can be written.
    fn make_record_room(&mut self, block: usize) {
        let first = self.at_page(block * self.pages_per_block);
        if self.failure.is_none()
            && let Err(error) = self.place.make_record_room(block, first, self.pages_per_block * PAGE_WORDS)
        {
            self.failure = Some(error.kind());
        }
    }

    /// Pages of a block may have records.
    pub(crate) fn may_have_records(&self, block: usize) -> bool {
        self.place.may_have(self.at_page(block * self.pages_per_block), self.pages_per_block * PAGE_WORDS)
    }

    /// Stores a page, and lets go of the frame that its data were in.
    pub(crate) fn write(&mut self, index: usize, data: u64, spare: u128, aside: Aside) {
        if data == UNREADABLE && self.has_damage.load(Relaxed) {
            // A damaged record may name another page than it did: no copy of it is made.
            self.failure = self.failure.or(Some(ErrorKind::InvalidData));
        }
        self.make_record_room(index / self.pages_per_block);
        let (marks, checksum) = match data {
            NO_DATA => (STORED | ZEROS, 0),
            // No data have this checksum but by a chance that is taken: they will not be read either.
            UNREADABLE => (STORED, 0),
            _ if data & IN_ARRAY != 0 => {
                // Copied as it is: what a read of the old page would find wrong is found wrong in the new one.
                let from = (data & !IN_ARRAY) as usize;
                let mut transit = std::mem::take(&mut self.transit);
                self.fetch(from, &mut transit);
                self.put(index, &transit);
                self.transit = transit;
                (STORED, self.word(self.at_page(from) + 2) >> 32)
            }
            _ => {
                let mut frame = std::mem::take(&mut self.transit);
                frame.copy_from_slice(self.frames.get(data));
                self.put(index, &frame);
                self.frames.release(data);
                let checksum = u64::from(crc32fast::hash(&frame));
                self.transit = frame;
                (STORED, checksum)
            }
        };
        let at = self.at_page(index);
        self.set_word(at, spare as u64);
        self.set_word(at + 1, (spare >> 64) as u64);
        self.set_aside(index, aside);
        self.set_word(at + 2, load::pack_marks(index, spare, marks, checksum));
    }

    /// Sets the numbers of a page's record.
    pub(crate) fn set_aside(&mut self, index: usize, aside: Aside) {
        let errors = u64::from(aside.errors).min(ERRORS);
        let reads = u64::from(aside.reads_before.min(MOST_READS));
        self.set_sealed(self.at_page(index) + 3, errors | reads << ERRORS.count_ones());
    }

    /// A page loses its content.
    pub(crate) fn lose(&mut self, index: usize) {
        self.note_loss(index);
        self.set_marks(index, |marks| marks & !STORED);
    }

    /// Changes the marks of a page, but for those of a damaged record.
    fn set_marks(&mut self, index: usize, change: impl Fn(u64) -> u64) {
        let at = self.at_page(index);
        let (word, spare) = (self.word(at + 2), load::join(self.word(at), self.word(at + 1)));
        if self.is_as_written(index) {
            let (marks, data) = (change(word & 0xffff), word >> 32);
            self.set_changed(
                at + 2,
                if word == 0 && marks == 0 { 0 } else { load::pack_marks(index, spare, marks, data) },
            );
        }
    }

    /// A page's content is gone to guard levels.
    pub(crate) fn mark_reprogrammed(&mut self, index: usize) {
        self.set_marks(index, |marks| marks | REPROGRAMMED);
    }

    /// Takes data into the controller's memory. Returns what stands for them.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> u64 {
        self.frames.take(bytes)
    }

    /// Fills `bytes` with what `data` stands for. Returns whether they are the ones that were written.
    pub(crate) fn copy_out(&self, data: u64, bytes: &mut [u8]) -> bool {
        if data == UNREADABLE {
            return false;
        } else if data == NO_DATA {
            bytes.fill(0);
        } else if data & IN_ARRAY == 0 {
            bytes.copy_from_slice(self.frames.get(data));
        } else {
            let index = (data & !IN_ARRAY) as usize;
            let is_read = self.fetch(index, bytes);
            return is_read && u64::from(crc32fast::hash(bytes)) == self.word(self.at_page(index) + 2) >> 32;
        }
        true
    }

    /// The word for the exclusive-or of two pages' data; lets go of their frames.
    pub(crate) fn xor(&mut self, first: u64, second: u64) -> u64 {
        if first == NO_DATA || second == NO_DATA {
            return first ^ second;
        }
        let (mut one, mut other) = (vec![0; self.page_size], vec![0; self.page_size]);
        if !self.copy_out(first, &mut one) || !self.copy_out(second, &mut other) {
            return UNREADABLE;
        }
        one.iter_mut().zip(&other).for_each(|(byte, other)| *byte ^= other);
        [first, second].into_iter().for_each(|data| self.let_go(data));
        self.take(&one)
    }

    /// Copies data of the array into the controller's memory, so that the array may be erased.
    pub(crate) fn hold(&mut self, data: u64) -> u64 {
        if data & IN_ARRAY == 0 {
            return data;
        }
        let mut bytes = vec![0; self.page_size];
        if self.copy_out(data, &mut bytes) { self.take(&bytes) } else { UNREADABLE }
    }

    /// A copy of data that are in the controller's memory.
    pub(crate) fn hold_again(&mut self, data: u64) -> u64 {
        if data == NO_DATA || data & (IN_ARRAY | UNREADABLE) != 0 {
            return data;
        }
        let bytes = self.frames.get(data).to_vec();
        self.take(&bytes)
    }

    /// Lets go of data that nobody asks for any more.
    pub(crate) fn let_go(&mut self, data: u64) {
        if data != NO_DATA && data & (IN_ARRAY | UNREADABLE) == 0 {
            self.frames.release(data);
        }
    }

    /// Lets go of all frames: nothing that they hold is on its way.
    pub(crate) fn rest(&mut self) {
        self.frames.release_all();
    }

    /// Blocks, so many of them and that far apart, are to be erased together: if the process is killed in between, all of them are found
    /// torn. With none they are.
    pub(crate) fn note_erase_of(&mut self, first: u32, count: u32) {
        self.set_word(header::ERASING, seal::seal(header::ERASING, u64::from(first) | u64::from(count) << 32));
    }

    /// The blocks that were to be erased together, if that is as it was written.
    pub(crate) fn erasing(&self) -> Option<(u32, u32)> {
        let number = seal::open(header::ERASING, self.word(header::ERASING))?;
        Some((number as u32, (number >> 32) as u32))
    }

    fn fetch(&self, index: usize, bytes: &mut [u8]) -> bool {
        let result = self.place.read(index as u64 * self.page_size as u64, bytes);
        result.is_ok()
    }

    fn put(&mut self, index: usize, bytes: &[u8]) {
        self.put_at(index as u64 * self.page_size as u64, bytes);
    }

    fn put_at(&mut self, at: u64, bytes: &[u8]) {
        // A process that dies in the middle of it leaves a part.
        let part = if self.lifetime == 1 { &bytes[..bytes.len() / 2] } else { bytes };
        if self.lives()
            && let Err(error) = self.place.write(at, part)
        {
            self.failure = Some(error.kind());
        }
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image")
            .field("page_size", &self.page_size)
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}
