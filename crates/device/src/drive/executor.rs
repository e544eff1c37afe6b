//! The executor `device`: a workload with real bytes. What is read is compared with what was written, and at the end everything is, after
//! a restart as from a power cut.
//!
//! Figures are those of the executor without time: the same requests in the same order meet the same FTL. The bytes of a sector follow
//! from its number and that of its write, so that a sector in the wrong place, or an older one, is told from the right one.

use std::path::Path;

use base::{Instant, Request, RequestKind};
use config::Config;
use config::model::Precondition;
use engine::FlatArray;
use engine::memory::{in_words, room};
use nand::Image;
use serde_json::{Value, json};
use workload::Workload;

use super::open::extras;
use super::{Drive, DriveError, RestartCost, SECTOR};
use crate::errors::RunError;
use crate::pages::Span;
use crate::watch::{Watch, work_of};
use crate::{flash, gang, lives};

/// Requests drawn at once.
const BATCH: usize = 64;

/// Bytes that are read together at the end.
const STRIDE: u64 = 1 << 20;

/// Opens the drive of an image, or makes one in memory. Returns whether it was pristine, too.
///
/// # Errors
/// [`RunError`]; its text is for the user.
pub(crate) fn open(config: &Config, image: Option<&Path>) -> Result<(Drive, bool), RunError> {
    let Some(image) = image else { return Ok((in_memory(config)?, true)) };
    let is_new = !image.exists();
    Ok((Drive::open(config, image, false)?, is_new))
}

/// A drive whose bytes lie in memory, if there is as much.
fn in_memory(config: &Config) -> Result<Drive, RunError> {
    let geometry = gang::geometry(config);
    let (_, data) = Image::bytes(&flash::shape(&geometry, &config.device), geometry.page_size, extras(config));
    match room() {
        Some(room) if room.bytes < data => Err(RunError::Input(format!(
            "the bytes of the drive need {} of memory, and there are {}\nhint: name a file for them with `--image`, or use a \
             smaller device",
            in_words(data),
            in_words(room.bytes)
        ))),
        _ => Drive::in_memory(config),
    }
}

/// The drive after its power went off.
pub(crate) fn restarted(config: &Config, mut drive: Drive, image: Option<&Path>) -> Result<Drive, RunError> {
    drive.cut();
    match image {
        Some(image) => {
            // Gives the image free.
            drop(drive);
            Drive::open(config, image, false)
        }
        None => Drive::over(config, drive.into_image()),
    }
}

/// A host that knows what it wrote.
pub(crate) struct CheckingHost {
    /// By sector, the number of its newest write; [`NEVER`] and [`DISCARDED`] are none.
    versions: FlatArray,
    writes: u32,
    /// Sectors that were never written hold what discarded ones do: the drive was pristine.
    knows_all: bool,
    /// The byte of those.
    deallocated: u8,
    /// The data of a request.
    bytes: Vec<u8>,
    /// Sectors that were read and compared, by the workload and after the restart.
    checked: u64,
    checked_after: u64,
    /// Sectors that were read, and that an earlier run or another host wrote, or that the drive refused at the end of its life.
    unknown: u64,
    /// Sectors that the drive could not read after the restart, and said so.
    lost: u64,
}

/// The number of a sector that was not written.
const NEVER: u32 = 0;
/// That of one that was discarded.
const DISCARDED: u32 = 1;
/// That of one whose last write was refused, or may be lost, at the end of the drive's life.
const UNKNOWN: u32 = u32::MAX;

impl CheckingHost {
    pub(crate) fn new(drive: &Drive, knows_all: bool) -> Result<CheckingHost, RunError> {
        let sectors = drive.size() / SECTOR;
        let versions = FlatArray::filled(sectors as usize, NEVER).map_err(|reason| {
            RunError::from(ftl::OutOfMemory { megabytes: CheckingHost::bytes(drive.size()) / 1_000_000, reason })
        })?;
        let (checked, checked_after, unknown, lost) = (0, 0, 0, 0);
        let deallocated = drive.deallocated();
        // Preconditioning writes zeros.
        let knows_all = knows_all && (deallocated == 0 || drive.config().run.precondition == Precondition::None);
        let (writes, bytes) = (DISCARDED, Vec::new());
        Ok(CheckingHost { versions, writes, knows_all, deallocated, bytes, checked, checked_after, unknown, lost })
    }

    /// Bytes of memory that it takes for so many of the drive.
    pub(crate) fn bytes(size: u64) -> u64 {
        FlatArray::bytes(size / SECTOR)
    }

    pub(crate) fn run(
        &mut self,
        drive: &mut Drive,
        workload: &mut Workload,
        watch: &mut Watch<'_>,
    ) -> Result<(), RunError> {
        let mut batch: Vec<Request> = Vec::with_capacity(BATCH);
        let mut now = Instant::ZERO;
        // No request is begun on a drive that has come to its end.
        let batch_size = if lives::are_limited(drive.config()) { 1 } else { BATCH };
        while !drive.has_ended() {
            batch.clear();
            workload.fill(&mut batch, batch_size)?;
            if batch.is_empty() {
                break;
            }
            for request in &batch {
                now = now.max(request.at);
                drive.pass_time(now);
                match self.carry_out(drive, request) {
                    // A write of part of a page whose rest is lost is refused, too.
                    Err(DriveError::EndOfLife | DriveError::Unreadable { .. }) => {
                        self.forget(request.offset, request.size);
                    }
                    done => done.map_err(|error| failed(&error))?,
                }
                watch.report(work_of(request), now, &drive.device.recorder.counters, || workload.progress())?;
            }
        }
        match drive.finish(now) {
            Err(DriveError::EndOfLife) => {
                drive.unwritten().into_iter().for_each(|(offset, size)| self.forget(offset, size));
                Ok(())
            }
            finished => finished.map_err(|error| failed(&error)),
        }
    }

    /// Has the drive write down what was discarded: it is not a part of the workload.
    pub(crate) fn end(&mut self, drive: &mut Drive) -> Result<(), RunError> {
        match drive.write_down_discards() {
            Err(DriveError::EndOfLife) => {
                drive.unwritten().into_iter().for_each(|(offset, size)| self.forget(offset, size));
                Ok(())
            }
            done => done.map_err(|error| failed(&error)),
        }
    }

    /// From now on nobody knows what these bytes are.
    fn forget(&mut self, offset: u64, size: u64) {
        for sector in offset / SECTOR..(offset + size).div_ceil(SECTOR) {
            self.versions[sector as usize] = UNKNOWN;
        }
    }

    /// Carries out a request, of the whole sectors that it touches; what is read is compared.
    fn carry_out(&mut self, drive: &mut Drive, request: &Request) -> Result<(), DriveError> {
        let (first, end) = (request.offset / SECTOR, (request.offset + request.size).div_ceil(SECTOR));
        let (offset, length) = (first * SECTOR, (end - first) * SECTOR);
        let mut bytes = std::mem::take(&mut self.bytes);
        match request.kind {
            RequestKind::Flush => drive.flush()?,
            RequestKind::Trim => {
                // Of pages that are discarded in part nothing is.
                let pages = Span::of(request, drive.device.page_size).whole();
                drive.discard_now(pages, request.size)?;
                let per_page = drive.page_size() / SECTOR;
                for (lpn, _) in pages.pages() {
                    let first = u64::from(lpn.0) * per_page;
                    (first..first + per_page).for_each(|sector| self.versions[sector as usize] = DISCARDED);
                }
            }
            RequestKind::Write => {
                // After so many they begin anew; nobody lives to see it.
                self.writes = (self.writes + 1) % UNKNOWN;
                self.writes = self.writes.max(DISCARDED + 1);
                bytes.resize(length as usize, 0);
                for (sector, bytes) in (first..).zip(bytes.chunks_mut(SECTOR as usize)) {
                    fill(bytes, sector, self.writes);
                    self.versions[sector as usize] = self.writes;
                }
                drive.write(offset, &bytes, request.fua)?;
            }
            RequestKind::Read => {
                bytes.resize(length as usize, 0);
                match drive.read(offset, &mut bytes) {
                    // It is counted; what it says of other data is not looked at.
                    Err(DriveError::Unreadable { .. }) => {}
                    read => {
                        read?;
                        self.checked += self.compare(first, &bytes);
                    }
                }
            }
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Compares what was read from a sector on. Returns how many sectors could be.
    fn compare(&mut self, first: u64, bytes: &[u8]) -> u64 {
        let mut known = 0;
        for (sector, found) in (first..).zip(bytes.chunks(SECTOR as usize)) {
            let version = self.versions[sector as usize];
            if version == NEVER && !self.knows_all || version == UNKNOWN {
                self.unknown += 1;
                continue;
            }
            known += 1;
            let mut expected = [self.deallocated; SECTOR as usize];
            if version > DISCARDED {
                fill(&mut expected, sector, version);
            }
            assert!(
                found == expected,
                "a read of sector {sector} returned other bytes than those of write {version}, the newest one: {:02x?}…",
                &found[..16]
            );
        }
        known
    }

    /// Reads everything that was written, and closes the drive.
    pub(crate) fn look(&mut self, mut drive: Drive, watch: &mut Watch<'_>) -> Result<(), RunError> {
        let (size, before) = (drive.size(), self.unknown);
        let mut bytes = vec![0; STRIDE.min(size) as usize];
        for offset in (0..size).step_by(STRIDE as usize) {
            let (first, end) = (offset / SECTOR, (offset + STRIDE).min(size) / SECTOR);
            if (first..end).all(|sector| self.versions[sector as usize] == NEVER) {
                continue;
            }
            let bytes = &mut bytes[..((end - first) * SECTOR) as usize];
            self.checked_after += self.look_at(&mut drive, first, bytes)?;
            let done = offset as f64 / size as f64;
            watch.report(end - first, Instant::ZERO, &drive.device.recorder.counters, || Some(done))?;
        }
        self.unknown = before;
        match drive.close() {
            Err(DriveError::EndOfLife) => Ok(()),
            closed => closed.map_err(|error| failed(&error)),
        }
    }

    /// Reads sectors and compares them; where some cannot be read, page by page. Returns how many could be compared.
    fn look_at(&mut self, drive: &mut Drive, first: u64, bytes: &mut [u8]) -> Result<u64, RunError> {
        let page = drive.page_size() as usize;
        match drive.read(first * SECTOR, bytes) {
            Ok(()) => Ok(self.compare(first, bytes)),
            Err(DriveError::Unreadable { .. }) if bytes.len() > page => {
                let per_page = drive.page_size() / SECTOR;
                let firsts = (first..).step_by(per_page as usize);
                firsts.zip(bytes.chunks_mut(page)).map(|(first, bytes)| self.look_at(drive, first, bytes)).sum()
            }
            // That of data which failed programs took along.
            Err(DriveError::Unreadable { .. }) => {
                self.lost += bytes.len() as u64 / SECTOR;
                Ok(0)
            }
            Err(error) => Err(failed(&error)),
        }
    }

    pub(crate) fn told(&self, restart: &RestartCost) -> Value {
        json!({
            "sectors_checked": self.checked,
            "sectors_checked_after_restart": self.checked_after,
            "sectors_unknown": self.unknown,
            "sectors_lost": self.lost,
            "restart": restart.to_json(),
        })
    }
}

fn failed(error: &DriveError) -> RunError {
    RunError::Failed(error.to_string())
}

/// Bytes of a sector that no other sector and no other write has.
fn fill(bytes: &mut [u8], sector: u64, version: u32) {
    let mut word = sector << 32 ^ u64::from(version);
    for part in bytes.chunks_exact_mut(8) {
        // Knuth's constants; the high bits go over the low ones, which are poor.
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        part.copy_from_slice(&(word ^ word >> 32).to_le_bytes());
    }
}
