//! The sector oracle: after a power cut at any operation, each sector holds one of the versions that it may hold.
//!
//! The host writes, discards and zeroes at random, in sectors, and flushes now and then. For each sector it keeps what was made to last
//! and all that came after. The power goes off at an operation of the flash, and perhaps once more in the restart. Then every sector
//! must read as what was last flushed or written with FUA, or as something later; no write of at most a page is there in part.

use std::collections::BTreeSet;

use config::Config;
use device::RunError;
use device::drive::{Drive, DriveError, SECTOR};
use engine::Chance;
use files::Interrupt;

use crate::broken::{BrokenPromise, TestedDrive};

/// Requests between two clean stops.
const STOP_EVERY: u64 = 16;

/// Where the power goes off.
#[derive(Clone, Copy, Debug)]
pub struct SectorCuts {
    /// The first drive's seed, and so many drives, each with a history of its own.
    pub first_seed: u64,
    /// See `first_seed`.
    pub seeds: u64,
    /// Requests of each, after it was filled.
    pub requests: u32,
    /// The power goes off at every so many operations.
    pub stride: u64,
    /// The power goes off a second time, at any operation of the restart.
    pub twice: bool,
    /// Of so many requests more than 24, that many are reads besides.
    pub reads: u64,
    /// Requests after the restart, with no cut; then all sectors are looked at again.
    pub afterwards: u32,
    /// The drive breaks a promise.
    pub broken: Option<BrokenPromise>,
}

/// Power cuts a few operations apart, all of them in the life of one drive.
#[derive(Clone, Copy, Debug)]
pub struct DenseCuts {
    /// The seed of the requests and of the cuts.
    pub seed: u64,
    /// Cuts with the host at work.
    pub cuts: u64,
    /// From a restart to the next cut there are fewer operations than that.
    pub gap: u64,
    /// Of ten restarts, so many are cut likewise, and so is the one after that.
    pub again: u64,
    /// Requests with no cut, when all is over.
    pub afterwards: u32,
}

/// The outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectorTally {
    /// Power cuts, each followed by a look at all sectors.
    pub cuts: u64,
    /// Further power cuts, in restarts.
    pub second_cuts: u64,
    /// Clean stops, each followed by a look likewise.
    pub stops: u64,
    /// Drives that came to the end of their lives, each followed by a look with the power on and one after a cut.
    pub ends: u64,
    /// Cuts and stops after which a sector was wrong.
    pub losing: u64,
    /// The first of them, in words.
    pub first: Option<String>,
    /// Cuts up to that one.
    pub until_first: u64,
}

/// A request of the host.
#[derive(Clone, Copy, Debug)]
enum SectorRequest {
    Write { first: u64, sectors: u64, fua: bool },
    Zero { first: u64, sectors: u64 },
    Trim { first: u64, sectors: u64 },
    Read { first: u64, sectors: u64 },
    Flush,
}

/// The versions that a sector may hold, by the number of the request; 0 is what a pristine drive holds.
#[derive(Clone, Debug)]
struct Sector {
    /// The version that lasts.
    lasts: u64,
    /// The versions sent since, in order. With power on the last of them is there.
    later: Vec<u64>,
}

/// The host, and what it knows.
#[derive(Clone)]
struct SectorHost {
    random: Chance,
    sectors: Vec<Sector>,
    /// By number, the byte that the request fills its sectors with, if it brings no data.
    fills: Vec<Option<u8>>,
    /// The byte of sectors that were discarded, or never written.
    deallocated: u8,
    /// Writes since the last flush or restart, in pieces that are not torn: number, first sector and end.
    pieces: Vec<(u64, u64, u64)>,
    per_page: u64,
    /// A write of at most so many sectors is not torn.
    atomic: u64,
    reads: u64,
    /// Acknowledged writes last, but for discards.
    is_protected: bool,
    /// Requests that the drive refused at the end of its life: they may be there in part, and nobody is told that they last.
    refused: BTreeSet<u64>,
}

impl SectorHost {
    fn new(seed: u64, drive: &TestedDrive, reads: u64) -> SectorHost {
        let sectors = vec![Sector { lasts: 0, later: Vec::new() }; (drive.size() / SECTOR) as usize];
        SectorHost {
            random: Chance::new(seed, "sectors"),
            sectors,
            fills: vec![Some(drive.deallocated())],
            deallocated: drive.deallocated(),
            pieces: Vec::new(),
            per_page: drive.page_size() / SECTOR,
            atomic: drive.atomic_size() / SECTOR,
            reads,
            is_protected: drive.is_protected(),
            refused: BTreeSet::new(),
        }
    }

    fn any_request(&mut self) -> SectorRequest {
        let all = self.sectors.len() as u64;
        let few = match self.random.below(4) {
            0 => all,
            1 => all.div_ceil(8),
            _ => all.div_ceil(3),
        };
        let per_page = self.per_page;
        let (first, sectors) = match self.random.below(4) {
            0 => (self.random.below(few), 1 + self.random.below(3 * per_page)),
            1 => (self.random.below(few) / per_page * per_page, per_page * (1 + self.random.below(4))),
            _ => (self.random.below(few) / per_page * per_page, per_page),
        };
        let sectors = sectors.min(all - first);
        match self.random.below(24 + self.reads) {
            0 | 1 => SectorRequest::Flush,
            2 => SectorRequest::Zero { first, sectors },
            3..=5 => SectorRequest::Trim { first, sectors },
            6 | 24.. => SectorRequest::Read { first, sectors },
            7 | 8 => SectorRequest::Write { first, sectors, fua: true },
            _ => SectorRequest::Write { first, sectors, fua: false },
        }
    }

    /// Takes note of a request that is about to be sent. Returns its number.
    fn sends(&mut self, request: SectorRequest) -> u64 {
        let number = self.fills.len() as u64;
        let (first, sectors, fill) = match request {
            SectorRequest::Write { first, sectors, .. } => (first, sectors, None),
            SectorRequest::Zero { first, sectors } => (first, sectors, Some(0)),
            SectorRequest::Trim { first, sectors } => (first, sectors, Some(self.deallocated)),
            SectorRequest::Read { .. } | SectorRequest::Flush => (0, 0, Some(0)),
        };
        self.fills.push(fill);
        for sector in first..first + sectors {
            self.sectors[sector as usize].later.push(number);
        }
        let is_unit = sectors <= self.atomic && self.atomic > self.per_page;
        let mut at = first;
        while fill.is_none() && at < first + sectors {
            let end = if is_unit { first + sectors } else { (at / self.per_page + 1) * self.per_page };
            self.pieces.push((number, at, end.min(first + sectors)));
            at = end;
        }
        number
    }

    /// A request was acknowledged.
    fn acknowledged(&mut self, request: SectorRequest) {
        match request {
            SectorRequest::Flush => {
                self.last(0, self.sectors.len() as u64);
                self.pieces.clear();
            }
            SectorRequest::Write { first, sectors, fua } if fua || self.is_protected => self.last(first, sectors),
            SectorRequest::Zero { first, sectors } if self.is_protected => self.last(first, sectors),
            _ => {}
        }
    }

    /// The writes that were sent last to these sectors last.
    fn last(&mut self, first: u64, sectors: u64) {
        for sector in &mut self.sectors[first as usize..(first + sectors) as usize] {
            sector.lasts = acknowledged_of(sector, &self.refused);
            sector.later.retain(|number| self.refused.contains(number));
        }
    }

    /// The data that a sector has to hold of a request.
    fn data(&self, sector: u64, number: u64) -> [u8; SECTOR as usize] {
        let fill = self.fills[number as usize];
        let mut data = [fill.unwrap_or(0); SECTOR as usize];
        if fill.is_none() {
            let mut random = Chance::new(sector << 24 ^ number, "data");
            data.chunks_mut(8).for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()));
            data[..8].copy_from_slice(&number.to_le_bytes());
            data[8..16].copy_from_slice(&sector.to_le_bytes());
        }
        data
    }

    /// Carries a request out; what is read is compared.
    fn carry_out(
        &self,
        drive: &mut TestedDrive,
        request: SectorRequest,
        number: u64,
    ) -> Result<Option<String>, DriveError> {
        let bytes = |count: u64| count * SECTOR;
        match request {
            SectorRequest::Write { first, sectors, fua } => {
                let data: Vec<u8> = (first..first + sectors).flat_map(|sector| self.data(sector, number)).collect();
                drive.write(bytes(first), &data, fua)?;
            }
            SectorRequest::Zero { first, sectors } => drive.write_zeros(bytes(first), bytes(sectors), false)?,
            SectorRequest::Trim { first, sectors } => drive.trim(bytes(first), bytes(sectors))?,
            SectorRequest::Flush => drive.flush()?,
            SectorRequest::Read { first, sectors } => {
                let mut data = vec![0; bytes(sectors) as usize];
                drive.read(bytes(first), &mut data)?;
                for (sector, found) in (first..).zip(data.chunks(SECTOR as usize)) {
                    let state = &self.sectors[sector as usize];
                    let newest = acknowledged_of(state, &self.refused);
                    let is_refused = state
                        .later
                        .iter()
                        .any(|number| self.refused.contains(number) && found == self.data(sector, *number));
                    if !is_refused && found != self.data(sector, newest) {
                        return Ok(Some(format!("sector {sector} does not read as write {newest}, the newest one")));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Sends a request. Returns what is wrong with it.
    fn send(&mut self, drive: &mut TestedDrive, request: SectorRequest) -> Result<Option<String>, DriveError> {
        let number = self.sends(request);
        let wrong = self.carry_out(drive, request, number);
        if wrong == Err(DriveError::EndOfLife) {
            self.refused.insert(number);
        }
        let wrong = wrong?;
        self.acknowledged(request);
        Ok(wrong)
    }

    fn send_any(&mut self, drive: &mut TestedDrive) -> Result<Option<String>, DriveError> {
        let request = self.any_request();
        self.send(drive, request)
    }

    /// Looks at all sectors after a restart. What is found lasts; returns what is wrong.
    fn look(&mut self, drive: &mut TestedDrive) -> Result<Option<String>, DriveError> {
        let mut data = vec![0; self.sectors.len() * SECTOR as usize];
        drive.read(0, &mut data)?;
        let mut found = Vec::with_capacity(self.sectors.len());
        for (sector, bytes) in (0..).zip(data.chunks(SECTOR as usize)) {
            let Sector { lasts, later } = &self.sectors[sector as usize];
            let mut allowed = later.iter().rev().chain(std::iter::once(lasts));
            match allowed.find(|number| bytes == self.data(sector, **number)) {
                Some(&number) => found.push(number),
                None => {
                    let number = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
                    return Ok(Some(format!(
                        "sector {sector} holds version {number}, and may hold {lasts} or one of {later:?}"
                    )));
                }
            }
        }
        for &(number, first, end) in &self.pieces {
            let piece = &found[first as usize..end as usize];
            if piece.contains(&number) && piece.iter().any(|&found| found < number) {
                return Ok(Some(format!("write {number} of the sectors {first} to {end} is there in part: {piece:?}")));
            }
        }
        for (sector, found) in self.sectors.iter_mut().zip(found) {
            *sector = Sector { lasts: found, later: Vec::new() };
        }
        self.pieces.clear();
        Ok(None)
    }
}

/// The newest version that was not refused.
fn acknowledged_of(sector: &Sector, refused: &BTreeSet<u64>) -> u64 {
    sector.later.iter().rev().find(|number| !refused.contains(number)).copied().unwrap_or(sector.lasts)
}

/// Has the power go off at operations of drives, and looks at all sectors.
///
/// # Errors
/// When the configuration cannot be used, memory runs out, or somebody wants to stop.
pub fn try_sectors(config: &Config, cuts: &SectorCuts, interrupt: &Interrupt) -> Result<SectorTally, RunError> {
    let mut tally = SectorTally::default();
    for seed in cuts.first_seed..cuts.first_seed + cuts.seeds {
        try_drive(config, cuts, seed, interrupt, &mut tally)?;
        if cuts.broken.is_some() && tally.losing > 0 {
            break;
        }
    }
    Ok(tally)
}

fn failed(error: &DriveError) -> RunError {
    RunError::Failed(error.to_string())
}

/// Writes all pages of a drive.
fn fill(drive: &mut TestedDrive, host: &mut SectorHost) -> Result<(), RunError> {
    let (sectors, per_page) = (drive.size() / SECTOR, drive.page_size() / SECTOR);
    for first in (0..sectors).step_by(per_page as usize) {
        host.send(drive, SectorRequest::Write { first, sectors: per_page, fua: false })
            .map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn try_drive(
    config: &Config,
    cuts: &SectorCuts,
    seed: u64,
    interrupt: &Interrupt,
    tally: &mut SectorTally,
) -> Result<(), RunError> {
    let mut drive = TestedDrive::new(Drive::in_memory(config)?, cuts.broken);
    let mut host = SectorHost::new(seed, &drive, cuts.reads);
    fill(&mut drive, &mut host)?;
    let mut operations = 0;
    for _ in 0..cuts.requests {
        interrupt.check().map_err(|_| RunError::Stopped)?;
        let (before, request) = (drive.clone(), host.any_request());
        let number = host.sends(request);
        drive.cut_after(u64::MAX, false);
        let done = host.carry_out(&mut drive, request, number);
        let has_ended = done == Err(DriveError::EndOfLife);
        let wrong = if has_ended { None } else { done.map_err(|error| failed(&error))? };
        if let Some(wrong) = wrong {
            tally.losing += 1;
            tally.first.get_or_insert(format!("seed {seed}, request {number}, with the power on: {wrong}"));
        }
        for at in 0..drive.operations() {
            operations += 1;
            if !(operations + seed).is_multiple_of(cuts.stride) {
                continue;
            }
            for during in [false, true] {
                let mut cut = before.clone();
                cut.cut_after(at, during);
                let ended = host.carry_out(&mut cut, request, number);
                assert_eq!(ended, Err(DriveError::PowerCut), "the power goes off in the request");
                let wrong = after_cut(config, cuts, cut, host.clone(), tally)?;
                tally.cuts += 1;
                if tally.losing == 0 {
                    tally.until_first = tally.cuts;
                }
                if let Some(wrong) = wrong {
                    tally.losing += 1;
                    let when = if during { "during" } else { "before" };
                    let first =
                        format!("seed {seed}, {when} operation {at} of request {number} ({request:?}): {wrong}");
                    tally.first.get_or_insert(first);
                    if cuts.broken.is_some() {
                        return Ok(());
                    }
                }
            }
        }
        if has_ended {
            tally.ends += 1;
            host.refused.insert(number);
            let all = SectorRequest::Read { first: 0, sectors: host.sectors.len() as u64 };
            let found = host.carry_out(&mut drive, all, 0).map_err(|error| failed(&error))?;
            if let Some(wrong) =
                found.map_or_else(|| after_cut(config, cuts, drive, host, tally), |wrong| Ok(Some(wrong)))?
            {
                tally.losing += 1;
                tally.first.get_or_insert(format!("seed {seed}, at the end of its life: {wrong}"));
            }
            return Ok(());
        }
        host.acknowledged(request);
        if cuts.broken.is_none() && number.is_multiple_of(STOP_EVERY) {
            let wrong;
            (drive, wrong) = stop_cleanly(config, drive, &mut host)?;
            tally.stops += 1;
            tally.ends += u64::from(drive.has_ended());
            if let Some(wrong) = wrong {
                tally.losing += 1;
                tally.first.get_or_insert(format!("seed {seed}, request {number}: {wrong}"));
            }
        }
    }
    Ok(())
}

/// Has the power of one drive go off again and again, looks at all sectors after each restart, and has it work on with the power on.
///
/// # Errors
/// As [`try_sectors`].
pub fn try_dense(config: &Config, cuts: &DenseCuts) -> Result<SectorTally, RunError> {
    let mut drive = TestedDrive::new(Drive::in_memory(config)?, None);
    let mut host = SectorHost::new(cuts.seed, &drive, 0);
    fill(&mut drive, &mut host)?;
    let (mut chance, mut tally) = (Chance::new(cuts.seed, "cuts"), SectorTally::default());
    let some = |chance: &mut Chance| (chance.below(cuts.gap), chance.below(2) == 0);
    while tally.cuts < cuts.cuts && tally.first.is_none() {
        let (at, during) = some(&mut chance);
        drive.cut_after(at, during);
        let mut wrong = None;
        while wrong.is_none() {
            match host.send_any(&mut drive) {
                Ok(found) => wrong = found,
                Err(DriveError::PowerCut) => break,
                Err(error) => return Err(failed(&error)),
            }
        }
        tally.cuts += 1;
        let mut image = drive.into_drive().into_image();
        while chance.below(10) < cuts.again {
            image = Drive::over_until(config, image, Some(some(&mut chance)))?.into_image();
            tally.second_cuts += 1;
        }
        drive = TestedDrive::new(Drive::over(config, image)?, None);
        drive.check();
        let found = host.look(&mut drive).unwrap_or_else(|error| Some(error.to_string()));
        tally.first = wrong.or(found).map(|wrong| format!("seed {}, cut {}: {wrong}", cuts.seed, tally.cuts));
    }
    drive.cut_after(u64::MAX, false);
    for _ in 0..cuts.afterwards {
        let wrong = host.send_any(&mut drive).map_err(|error| failed(&error))?;
        tally.first = tally.first.or(wrong);
    }
    tally.losing = u64::from(tally.first.is_some());
    Ok(tally)
}

/// Has a drive stop cleanly, and opens it again by its checkpoint. Returns what is wrong.
fn stop_cleanly(
    config: &Config,
    drive: TestedDrive,
    host: &mut SectorHost,
) -> Result<(TestedDrive, Option<String>), RunError> {
    let mut drive = drive.into_drive();
    match drive.close() {
        Ok(()) => host.acknowledged(SectorRequest::Flush),
        // What was not flushed before may be lost.
        Err(DriveError::EndOfLife) => {}
        Err(error) => return Err(failed(&error)),
    }
    let had_ended = drive.has_ended();
    let mut drive = TestedDrive::new(Drive::over(config, drive.into_image())?, None);
    if !drive.restart().from_checkpoint && !had_ended {
        return Ok((drive, Some("after a clean stop there is no checkpoint".into())));
    }
    drive.check();
    let wrong = host.look(&mut drive).unwrap_or_else(|error| Some(error.to_string()));
    Ok((drive, wrong.map(|wrong| format!("after a clean stop, {wrong}"))))
}

/// Restarts a drive whose power went off, looks, goes on, and looks again. Returns what is wrong.
fn after_cut(
    config: &Config,
    cuts: &SectorCuts,
    cut: TestedDrive,
    mut host: SectorHost,
    tally: &mut SectorTally,
) -> Result<Option<String>, RunError> {
    let mut image = cut.into_drive().into_image();
    if cuts.twice {
        let operations = Drive::over(config, image.clone())?.operations();
        if operations > 0 {
            let (at, during) = (host.random.below(operations), host.random.below(2) == 0);
            let second = Drive::over_until(config, image, Some((at, during)))?;
            image = second.into_image();
            tally.second_cuts += 1;
        }
    }
    let mut drive = TestedDrive::new(Drive::over(config, image)?, cuts.broken);
    if let Some(wrong) = host.look(&mut drive).unwrap_or_else(|error| Some(error.to_string())) {
        return Ok(Some(wrong));
    }
    drive.check();
    for _ in 0..cuts.afterwards {
        // At the end of its life a drive is read, and keeps what it has.
        let sent = match host.send_any(&mut drive) {
            Err(DriveError::EndOfLife) => Ok(None),
            sent => sent,
        };
        if let Some(wrong) = sent.unwrap_or_else(|error| Some(error.to_string())) {
            return Ok(Some(format!("after the restart, {wrong}")));
        }
    }
    // The next cut comes at once.
    let mut again = TestedDrive::new(Drive::over(config, drive.into_drive().into_image())?, None);
    let wrong = host.look(&mut again).unwrap_or_else(|error| Some(error.to_string()));
    Ok(wrong.map(|wrong| format!("after the restart and a second cut, {wrong}")))
}
