//! Drives that break a promise where they are told to, as proof that the oracles find it.
//!
//! A promise is broken outside of the drive, by the requests that are passed on to it, and when. Only an erase that waits for a program
//! is not to be seen from there: for [`BrokenPromise::ErasesEarly`] the drive has a switch.

use std::collections::BTreeSet;
use std::ops::{Deref, Range};

use device::RunError;
use device::drive::{Drive, DriveError, SECTOR};

/// How a drive breaks its promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenPromise {
    /// A flush does nothing.
    IgnoresFlush,
    /// A page is programmed by halves.
    TearsPages,
    /// A flush leaves some writes for later.
    ReordersOverFlush,
    /// Discards are not written down.
    ForgetsDiscards,
    /// Requests enter a protected buffer page by page, whatever is promised.
    TearsUnits,
    /// A unit is erased before the copies of its pages are programmed; only where pages wait for others.
    ErasesEarly,
}

/// [`BrokenPromise::ReordersOverFlush`] leaves every third write for later.
const LATE_EVERY: u64 = 3;

/// A drive that keeps its promises, or breaks one of them.
#[derive(Clone)]
pub struct TestedDrive {
    drive: Drive,
    broken: Option<BrokenPromise>,
    /// Writes so far.
    writes: u64,
    /// Acknowledged writes that the drive does not have yet: their offsets and data.
    late: Vec<(u64, Vec<u8>)>,
    /// Sectors whose discards the drive is not told of.
    discarded: BTreeSet<u64>,
}

impl Deref for TestedDrive {
    type Target = Drive;

    fn deref(&self) -> &Drive {
        &self.drive
    }
}

impl TestedDrive {
    /// A drive that breaks that promise, if there is one.
    pub fn new(drive: Drive, broken: Option<BrokenPromise>) -> TestedDrive {
        let mut tested = TestedDrive { drive, broken: None, writes: 0, late: Vec::new(), discarded: BTreeSet::new() };
        tested.breaks(broken);
        tested
    }

    /// Breaks a promise from now on.
    pub(crate) fn breaks(&mut self, broken: Option<BrokenPromise>) {
        self.broken = broken;
        if broken == Some(BrokenPromise::ErasesEarly) {
            self.drive.erase_early();
        }
    }

    /// The drive itself.
    pub fn into_drive(self) -> Drive {
        self.drive
    }

    /// See [`Drive::cut_after`].
    pub fn cut_after(&mut self, operations: u64, during: bool) {
        self.drive.cut_after(operations, during);
    }

    /// See [`Drive::reopen`]; what the drive was not told is gone, and the promise is broken on.
    ///
    /// # Errors
    /// As [`Drive::reopen`].
    pub fn reopen(&mut self, cut: Option<(u64, bool)>) -> Result<(), RunError> {
        self.drive.reopen(cut)?;
        (self.late, self.discarded) = (Vec::new(), BTreeSet::new());
        self.breaks(self.broken);
        Ok(())
    }

    /// See [`Drive::read`].
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> Result<(), DriveError> {
        self.send_late(offset, data.len() as u64)?;
        self.drive.read(offset, data)?;
        let sectors = sectors(offset, data.len() as u64);
        for sector in self.discarded.range(sectors.clone()) {
            let from = ((sector - sectors.start) * SECTOR) as usize;
            data[from..from + SECTOR as usize].fill(self.drive.deallocated());
        }
        Ok(())
    }

    /// See [`Drive::write`].
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> Result<(), DriveError> {
        self.send_late(offset, data.len() as u64)?;
        self.overwrite(offset, data.len() as u64);
        self.writes += 1;
        let page = self.drive.page_size();
        match self.broken {
            Some(BrokenPromise::TearsUnits) => self.write_in_pieces(offset, data, page, fua),
            Some(BrokenPromise::TearsPages) => {
                let half = (page / 2).next_multiple_of(SECTOR);
                self.write_in_pieces(offset, data, half, true)
            }
            Some(BrokenPromise::ReordersOverFlush) if !fua && self.writes.is_multiple_of(LATE_EVERY) => {
                self.late.push((offset, data.to_vec()));
                Ok(())
            }
            _ => self.drive.write(offset, data, fua),
        }
    }

    /// Writes what lies between two multiples of `piece` by a request of its own.
    fn write_in_pieces(&mut self, offset: u64, data: &[u8], piece: u64, fua: bool) -> Result<(), DriveError> {
        let (mut at, mut left) = (offset, data);
        while !left.is_empty() {
            let length = (piece - at % piece).min(left.len() as u64);
            let part = left.split_off(..length as usize).expect("it is not longer");
            self.drive.write(at, part, fua)?;
            at += length;
        }
        Ok(())
    }

    /// See [`Drive::write_zeros`].
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn write_zeros(&mut self, offset: u64, length: u64, fua: bool) -> Result<(), DriveError> {
        self.send_late(offset, length)?;
        self.overwrite(offset, length);
        self.drive.write_zeros(offset, length, fua)
    }

    /// See [`Drive::trim`].
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn trim(&mut self, offset: u64, length: u64) -> Result<(), DriveError> {
        self.send_late(offset, length)?;
        if self.broken == Some(BrokenPromise::ForgetsDiscards) {
            self.discarded.extend(sectors(offset, length));
            return Ok(());
        }
        self.drive.trim(offset, length)
    }

    /// See [`Drive::flush`].
    ///
    /// # Errors
    /// [`DriveError`].
    pub fn flush(&mut self) -> Result<(), DriveError> {
        if self.broken == Some(BrokenPromise::IgnoresFlush) {
            return Ok(());
        }
        self.drive.flush()?;
        self.send_all_late()
    }

    /// Late writes come before a request that meets one of them.
    fn send_late(&mut self, offset: u64, length: u64) -> Result<(), DriveError> {
        let meets = |(at, data): &(u64, Vec<u8>)| *at < offset + length && offset < *at + data.len() as u64;
        if self.late.iter().any(meets) { self.send_all_late() } else { Ok(()) }
    }

    fn send_all_late(&mut self) -> Result<(), DriveError> {
        std::mem::take(&mut self.late).into_iter().try_for_each(|(at, data)| self.drive.write(at, &data, false))
    }

    /// Sectors that are written are not discarded any more.
    fn overwrite(&mut self, offset: u64, length: u64) {
        let written = sectors(offset, length);
        self.discarded.retain(|sector| !written.contains(sector));
    }
}

/// The sectors of a request.
fn sectors(offset: u64, length: u64) -> Range<u64> {
    offset / SECTOR..(offset + length).div_ceil(SECTOR)
}
