//! A drive of real bytes as a block device, for any front: the server of this project, or nbdkit.
//!
//! Here the drive and its fronts meet. Neither knows the other: `serve` has no idea of flash, and `device` none of clients and clocks.

mod paced;

use std::sync::{Mutex, MutexGuard};

use base::scope::{Area, Scope};
use device::drive::{Drive, DriveError, RestartCost, SECTOR};
use serve::{BlockSizes, Blocks, Error, Extent, LiveFigures};

pub use paced::RunningModel;

/// The longest read or write: what NBD's clients rely on where they are not told.
const LONGEST: u32 = 32 << 20;

/// Bytes that are zeroed before others get their turn.
const ZEROED: u64 = 4 << 20;

/// Pages that are looked at for one question of what is stored.
const LOOKED_AT: u64 = 1 << 20;

/// A drive, as the server knows it. One request at a time.
pub struct ServedDrive {
    drive: Mutex<Drive>,
    size: u64,
    page: u32,
    is_read_only: bool,
    is_new: bool,
    restart: RestartCost,
}

impl ServedDrive {
    /// A drive that was opened.
    pub fn new(drive: Drive) -> ServedDrive {
        let (size, page, is_read_only) = (drive.size(), drive.page_size() as u32, drive.is_read_only());
        let (restart, is_new) = (drive.restart(), drive.is_new());
        ServedDrive { size, page, is_read_only, is_new, restart, drive: Mutex::new(drive) }
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> u32 {
        self.page
    }

    /// True if nothing had been written when it was opened, so that its figures are those of an empty drive.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// The cost of the restart when it was opened.
    pub fn restart(&self) -> RestartCost {
        self.restart
    }

    fn drive(&self) -> Result<MutexGuard<'_, Drive>, Error> {
        self.drive.lock().map_err(|_| Error::Io("the device broke in an earlier request".into()))
    }

    fn carry_out(&self, request: impl FnOnce(&mut Drive) -> Result<(), DriveError>) -> Result<(), Error> {
        request(&mut *self.drive()?).map_err(|error| match error {
            DriveError::NoSpace => Error::NoSpace,
            DriveError::PowerCut => Error::PowerCut,
            DriveError::ReadOnly | DriveError::EndOfLife => Error::ReadOnly,
            error @ (DriveError::Unreadable { .. } | DriveError::Image(_)) => Error::Io(error.to_string()),
        })
    }
}

impl Blocks for ServedDrive {
    fn size(&self) -> u64 {
        self.size
    }

    fn block_sizes(&self) -> BlockSizes {
        let preferred = if self.page.is_power_of_two() { self.page.max(512) } else { 4096 };
        BlockSizes { minimum: SECTOR as u32, preferred, maximum: LONGEST }
    }

    fn read_only(&self) -> bool {
        self.is_read_only
    }

    fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        self.carry_out(|drive| drive.read(offset, data))
    }

    fn write(&self, offset: u64, data: &[u8], fua: bool) -> Result<(), Error> {
        self.carry_out(|drive| drive.write(offset, data, fua))
    }

    fn flush(&self) -> Result<(), Error> {
        self.carry_out(Drive::flush)
    }

    fn trim(&self, offset: u64, length: u64) -> Result<(), Error> {
        self.carry_out(|drive| drive.trim(offset, length))
    }

    fn zero(&self, offset: u64, length: u64, may_trim: bool, fua: bool) -> Result<(), Error> {
        if may_trim && self.drive()?.deallocated() == 0 {
            self.trim(offset, length)?;
        } else {
            // In pieces, so that others get their turn.
            for at in (offset..offset + length).step_by(ZEROED as usize) {
                let piece = ZEROED.min(offset + length - at);
                self.carry_out(|drive| drive.write_zeros(at, piece, false))?;
            }
        }
        if fua { self.flush() } else { Ok(()) }
    }

    fn extents(&self, offset: u64, length: u64, most: usize) -> Result<Vec<Extent>, Error> {
        let drive = self.drive()?;
        let (page, end) = (drive.page_size(), offset + length);
        let mut extents: Vec<Extent> = Vec::new();
        let mut at = offset;
        for lpn in (offset / page..end.div_ceil(page)).take(LOOKED_AT as usize) {
            let next = ((lpn + 1) * page).min(end);
            let is_hole = !drive.stores(lpn as u32);
            let count = extents.len();
            match extents.last_mut() {
                Some(last) if last.is_hole == is_hole => last.length += next - at,
                _ if count == most => break,
                _ => extents.push(Extent { length: next - at, is_hole, is_zero: is_hole && drive.deallocated() == 0 }),
            }
            at = next;
        }
        Ok(extents)
    }

    fn cut_after(&self, operations: u64) {
        if let Ok(mut drive) = self.drive() {
            match operations.checked_sub(1) {
                None => drive.cut(),
                Some(before) => drive.cut_after(before, true),
            }
        }
    }

    fn figures(&self) -> LiveFigures {
        self.drive().map_or_else(
            |_| LiveFigures::default(),
            |drive| LiveFigures {
                waf: drive.write_amplification(),
                free_blocks: Some(drive.free_blocks()),
                erases: Some(drive.erases()),
                has_ended: drive.has_ended(),
            },
        )
    }

    fn close(&self) -> Result<(), Error> {
        let closed = self.drive()?.close();
        if closed == Err(DriveError::EndOfLife) {
            return Err(Error::Io("it has come to the end of its life, and what was not flushed is lost".into()));
        }
        self.carry_out(|_| closed)
    }
}

/// The scopes of all parts of the simulator, by area.
pub fn scopes() -> Vec<&'static Scope> {
    let mut scopes = device::scopes();
    scopes.push(&SCOPE);
    scopes.sort_by_key(|scope| scope.area);
    scopes
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Faults,
    name: "Block device",
    keys: &[],
    modelled: "`ftlab serve` and a plugin of nbdkit offer a drive over NBD, with FLUSH, FUA, discards and zeroes.",
    not_modelled: &["There is one export, without TLS.", "Two requests are never carried out at the same time."],
};
