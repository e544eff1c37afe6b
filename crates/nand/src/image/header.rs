//! The header of an image, and the file that it begins.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::place::Backing;
use super::{BLOCK_WORDS, Extras, Image, PAGE_WORDS, SLOT_HEADER, checkpoint, losses};
use crate::Shape;

/// Words of the header.
pub(super) const WORDS: usize = LENGTH / 8;
/// The last words of it, which are not covered by the checksum: the blocks that are erased together, and the length and the mark of the
/// checkpoint.
pub(super) const ERASING: usize = WORDS - 1;
pub(super) const CHECKPOINT: usize = WORDS - 2;
pub(super) const CHECKPOINT_MARK: usize = WORDS - 3;
const UNCOVERED: usize = WORDS - 3;
const LENGTH: usize = 64 << 10;
const BEGINNING: &[u8; 8] = b"ftlabimg";
/// The format; images of another one are refused.
const VERSION: u32 = 3;
/// Where the text is, behind the beginning, the version, the size of a page, the length of the text and the checksum.
const TEXT: usize = 24;

/// Why an image cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The operating system refused something.
    #[error("the image {path} cannot be {what}: {error}", path = .path.display())]
    Io {
        /// The image.
        path: PathBuf,
        /// The attempt.
        what: &'static str,
        /// The error of the operating system.
        error: io::Error,
    },
    /// Another process has it.
    #[error("the image {} is in use by another process\nhint: stop that one first, or name another image", .0.display())]
    Locked(PathBuf),
    /// It is something else.
    #[error("{} is no image of a device: {found}\nhint: name another file, or remove it so that a new image is made", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// How that is known.
        found: String,
    },
    /// It is the image of another device.
    #[error("the image {} is of another configuration: {found}\nhint: use the configuration that it was made with, or another image", .path.display())]
    Other {
        /// The image.
        path: PathBuf,
        /// The first difference.
        found: String,
    },
    /// It is damaged.
    #[error("the image {} is damaged: {found}\nhint: restore it from a copy, or remove it so that a new image is made", .path.display())]
    Damaged {
        /// The image.
        path: PathBuf,
        /// The part that cannot be.
        found: String,
    },
}

/// Words before the records of pages.
pub(super) fn fixed_words(blocks: usize, extras: Extras) -> usize {
    WORDS + blocks * BLOCK_WORDS + extras.slots as usize + losses::words(extras.losses)
}

/// Bytes of the parts of an image.
pub(super) struct Lengths {
    /// Of what is before the records of pages. It has room on the disk from the beginning.
    pub(super) fixed: usize,
    /// Of that and the records of pages.
    pub(super) records: usize,
    /// Of the data of pages and slots.
    pub(super) data: u64,
}

impl Lengths {
    pub(super) fn of(shape: &Shape, page_size: u32, extras: Extras) -> Lengths {
        let blocks = shape.planes as usize * shape.blocks_per_plane as usize;
        let pages = blocks * shape.pages_per_block as usize;
        let fixed = fixed_words(blocks, extras) * 8;
        let records = (fixed + pages * PAGE_WORDS * 8).next_multiple_of(LENGTH);
        let of_slots = u64::from(extras.slots) * 2 * (SLOT_HEADER as u64 + u64::from(page_size));
        Lengths { fixed, records, data: pages as u64 * u64::from(page_size) + of_slots }
    }
}

impl Image {
    /// Opens an image, or makes a pristine one where there is no file. `identity` is all that has to be the same whenever it is
    /// opened, in lines of text. Without `writes` nothing is changed in the file, and there has to be one. The array takes it over
    /// with [`crate::Nand::attach`].
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn open(
        path: &Path,
        shape: &Shape,
        page_size: u32,
        extras: Extras,
        identity: &str,
        writes: bool,
    ) -> Result<Image, ImageError> {
        let io = |what| move |error| ImageError::Io { path: path.to_owned(), what, error };
        let foreign = |found: String| ImageError::Foreign { path: path.to_owned(), found };
        let lengths = Lengths::of(shape, page_size, extras);
        // Before it is opened: that of a pipe waits for its other end.
        let is_new = match std::fs::metadata(path) {
            Ok(found) if !found.is_file() => return Err(foreign("it is no file that can hold one".into())),
            Ok(found) if found.len() == 0 => return Err(foreign("it is empty".into())),
            found => found.is_err(),
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(writes)
            .create(writes && is_new)
            .truncate(false)
            .open(path)
            .map_err(io("opened"))?;
        let lock = if writes { file.try_lock() } else { file.try_lock_shared() };
        match lock {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ImageError::Locked(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(io("locked")(error)),
        }
        let length = file.metadata().map_err(io("opened"))?.len();
        if is_new && length == 0 {
            if let Err(error) = make(&mut file, &lengths) {
                // What is there is no image, and would be refused for ever.
                let _ = std::fs::remove_file(path);
                return Err(io("made")(error));
            }
            let mut place = Backing::of_file(file, &lengths, writes, shape, page_size).map_err(io("mapped"))?;
            write_header(place.header(), page_size, identity);
            return Ok(Image::over(place, shape, page_size, extras));
        }
        let checkpoint = check(&file, page_size, identity, path)?;
        let expected = (lengths.records as u64 + lengths.data).saturating_add(checkpoint);
        if length < expected {
            let found = format!("it has {length} bytes, and {expected} are right");
            return Err(ImageError::Damaged { path: path.to_owned(), found });
        }
        let place = Backing::of_file(file, &lengths, writes, shape, page_size).map_err(io("mapped"))?;
        Ok(Image::over(place, shape, page_size, extras))
    }
}

/// Room for what is not of pages is taken now, so that none is missing when it is written through memory. The rest is a hole.
fn make(file: &mut File, lengths: &Lengths) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut left = lengths.fixed;
    while left > 0 {
        let part = left.min(zeros.len());
        file.write_all(&zeros[..part])?;
        left -= part;
    }
    file.set_len(lengths.records as u64 + lengths.data)
}

fn write_header(header: &mut [u8], page_size: u32, identity: &str) {
    assert!(TEXT + identity.len() <= UNCOVERED * 8, "a configuration fits the header");
    header[TEXT..][..identity.len()].copy_from_slice(identity.as_bytes());
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..16].copy_from_slice(&page_size.to_le_bytes());
    header[16..20].copy_from_slice(&(identity.len() as u32).to_le_bytes());
    let checksum = checksum(header);
    header[20..24].copy_from_slice(&checksum.to_le_bytes());
    // Last: a process killed before leaves a file that is no image, and is told so.
    header[..8].copy_from_slice(BEGINNING);
}

/// Of all but the beginning and itself.
fn checksum(header: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&header[8..20]);
    checksum.update(&header[TEXT..UNCOVERED * 8]);
    checksum.finalize()
}

/// Refuses the header of something else. Returns the bytes of the checkpoint.
fn check(file: &File, page_size: u32, identity: &str, path: &Path) -> Result<u64, ImageError> {
    let path = || path.to_owned();
    let mut header = vec![0; LENGTH];
    if file.read_exact_at(&mut header, 0).is_err() {
        return Err(ImageError::Foreign { path: path(), found: "it is shorter than the header of one".into() });
    }
    if header[..8] != *BEGINNING {
        return Err(ImageError::Foreign { path: path(), found: "it begins otherwise".into() });
    }
    let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    if number(8) != VERSION {
        let found = format!("its format is {}, and this program reads {VERSION}", number(8));
        return Err(ImageError::Other { path: path(), found });
    }
    let length = number(16) as usize;
    if number(20) != checksum(&header) || TEXT + length > LENGTH {
        return Err(ImageError::Damaged { path: path(), found: "the checksum of its header is wrong".into() });
    }
    let found = String::from_utf8_lossy(&header[TEXT..][..length]);
    if found != identity || number(12) != page_size {
        let mut lines = found.lines().zip(identity.lines());
        let found = match lines.find(|(its, own)| its != own) {
            Some((its, own)) => format!("it has `{its}`, and this one `{own}`"),
            None => "one of them says more".into(),
        };
        return Err(ImageError::Other { path: path(), found });
    }
    Ok(checkpoint::length(&header))
}
