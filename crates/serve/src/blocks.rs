//! The block device as its host relies on it: the trait between a server and the bytes that it serves.
//!
//! The promises are NVMe's, as a Linux host takes them:
//!
//! - **A read** returns the newest acknowledged data, or that of a write in flight. What was never written, or was
//!   discarded since, reads as zeros, and does so until the next write.
//! - **A write** is acknowledged when it lies in the device's buffer, which may be volatile. [`Blocks::flush`], and a
//!   write with `fua` for itself, return when the data would outlive a loss of power. That holds for discards too.
//! - **After a loss of power** a sector holds what was last flushed or written with `fua`, or one of the acknowledged
//!   or unfinished writes since. A write of at most the device's atomic size is there whole or not at all. Between
//!   writes that were not flushed the order is free.
//! - **Overlapping requests in flight** may be carried out in any order, but each sector holds the whole of one of them.

use std::fmt;

/// Sizes of requests that a device takes, in bytes; all of them are powers of two except `maximum`, which is a multiple
/// of `minimum`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSizes {
    /// Offsets and lengths are multiples of it: a sector, at least 512.
    pub minimum: u32,
    /// Requests aligned to it need no data to be read and merged: the map unit.
    pub preferred: u32,
    /// The longest read or write. Discards and zeroing may be as long as the device.
    pub maximum: u32,
}

/// Why a request was not carried out. Data of a failed write are as they were, or new, sector by sector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Data that cannot be read or written, and why. A host sees an I/O error, never other data.
    #[error("{0}")]
    Io(String),
    /// The device takes no writes: it was opened so, or has come to the end of its life.
    #[error("the device is read-only")]
    ReadOnly,
    /// No room is left where the image lies. Nothing acknowledged is lost by it.
    #[error("no space is left for the device's image")]
    NoSpace,
    /// A request that this device does not take: not aligned, too long, or over its end.
    #[error("{0}")]
    Invalid(String),
    /// The power is gone: this request was not acknowledged, and no other will be. A server drops its connections and
    /// sends no reply.
    #[error("the power is cut")]
    PowerCut,
}

/// Parts in an answer to a block status, at most.
pub const EXTENTS_MAX: usize = 4096;

/// A part of a device, as far as its room goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes.
    pub length: u64,
    /// No data are stored there: it was never written, or was discarded.
    pub is_hole: bool,
    /// It reads as zeros.
    pub is_zero: bool,
}

/// LiveFigures of a device while it runs, for the line on the terminal. `None` where a device has no such thing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LiveFigures {
    /// Bytes programmed per byte that the host wrote, since the device was opened.
    pub waf: Option<f64>,
    /// Erased blocks, ready to be written.
    pub free_blocks: Option<u64>,
    /// Blocks erased since the device was opened.
    pub erases: Option<u64>,
    /// It has come to the end of its life, and takes no more writes.
    pub has_ended: bool,
}

/// A block device of real bytes. Requests come from many threads at once.
///
/// Callers pass offsets and lengths that are multiples of [`BlockSizes::minimum`] and lie within [`Blocks::size`];
/// [`check`] is the test of that. Lengths are above zero.
pub trait Blocks: Send + Sync {
    /// Capacity in bytes, a multiple of the sector. It stays the same while the device is open.
    fn size(&self) -> u64;

    /// Sizes of requests that the device takes.
    fn block_sizes(&self) -> BlockSizes;

    /// True if no write will be taken from the beginning on. A device may also turn read-only later, by errors.
    fn read_only(&self) -> bool {
        false
    }

    /// Fills `data` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Io`] where a sector cannot be read; `data` is then of no use.
    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error>;

    /// Writes `data` from `offset` on; with `fua` it returns when these data would outlive a loss of power.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::NoSpace`] or [`Error::Io`].
    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error>;

    /// Returns when all that was acknowledged before the call, by any thread, would outlive a loss of power.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::NoSpace`]: then it is not known what would.
    fn flush(&self) -> Result<(), Error>;

    /// Discards `length` bytes from `offset` on: they read as zeros, or as the device promises, and after the next flush they do so for
    /// good. Parts of a map unit at the edges do too.
    ///
    /// # Errors
    /// As [`Blocks::write`].
    fn trim(&self, offset: u64, length: u64) -> Result<(), Error>;

    /// Makes `length` bytes from `offset` on read as zeros. With `may_trim` it may be done by discarding them; without,
    /// room for them stays taken. `fua` is that of [`Blocks::write`].
    ///
    /// # Errors
    /// As [`Blocks::write`].
    fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Error>;

    /// The parts that a range is made of, from its first byte on, at most so many. They need not reach to its end, and are one at
    /// least. A device that does not know says that all of it is stored.
    ///
    /// # Errors
    /// As [`Blocks::read`].
    fn extents(&self, offset: u64, length: u64, most: usize) -> Result<Vec<Extent>, Error> {
        let _ = (offset, most);
        Ok(vec![Extent { length, is_hole: false, is_zero: false }])
    }

    /// Arms a loss of power that falls on the `operations`-th operation of the flash from now: that one is not carried
    /// out whole, and none after it is. With 0 the power is gone when this returns. Every request that was not answered
    /// by then, and every later one, gets [`Error::PowerCut`]. What the device keeps stays as the power left it.
    fn cut_after(&self, operations: u64);

    /// LiveFigures for the terminal, at the cost of a few loads.
    fn figures(&self) -> LiveFigures {
        LiveFigures::default()
    }

    /// Ends cleanly: flushes, and writes what makes the next start fast. No request follows.
    ///
    /// # Errors
    /// As [`Blocks::flush`].
    fn close(&self) -> Result<(), Error> {
        self.flush()
    }
}

/// Refuses a request that is not aligned, is empty, or reaches over the end of the device.
///
/// # Errors
/// [`Error::Invalid`] with what was asked and what would do.
pub fn check(blocks: &dyn Blocks, what: impl fmt::Display, offset: u64, length: u64) -> Result<(), Error> {
    let (size, sector) = (blocks.size(), u64::from(blocks.block_sizes().minimum));
    let problem = if length == 0 {
        "is empty".to_string()
    } else if !offset.is_multiple_of(sector) || !length.is_multiple_of(sector) {
        format!("is not aligned to the sector of {sector} bytes")
    } else if offset.checked_add(length).is_none_or(|end| end > size) {
        format!("reaches over the end of the device, which has {size} bytes")
    } else {
        return Ok(());
    };
    Err(Error::Invalid(format!("a {what} of {length} bytes at byte {offset} {problem}")))
}
