//! A recorded load on a drive whose power goes off again and again.
//!
//! One record of a file system or a database gives as many cuts as there are operations of the flash. The drive goes on from each restart:
//! what the power took of the acknowledged writes is written once more, then comes the request that was cut. So it lives through all
//! cuts, and grows old over them.
//!
//! After each restart every map unit that the load writes has to hold its newest acknowledged state, or that of the request in flight; on
//! a drive with a volatile buffer also a state since the last flush. A unit of several states, one part from each, is torn.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::FileExt;
use std::path::Path;

use config::Config;
use device::RunError;
use device::drive::{Drive, DriveError};
use serde_json::{Value, json};

use crate::broken::{BrokenPromise, TestedDrive};
use crate::recorded::{Recorded, RecordedKind, RecordedLoad};

/// A drive and the load on it.
pub struct Replay {
    drive: TestedDrive,
    load: RecordedLoad,
    /// The request that comes next.
    next: usize,
    /// All bytes as acknowledged.
    newest: Vec<u8>,
    /// By unit, a digest of its newest state.
    digests: Vec<u64>,
    /// By unit that may hold an older state: those states, oldest first.
    older: BTreeMap<u32, Vec<Vec<u8>>>,
    /// Units that the whole log writes.
    written: Vec<u32>,
    /// Units that it writes from the last flush before the first cut on: these are looked at after each.
    touched: Vec<u32>,
    /// The state that a restart found in place of the newest one. It is written once more before the load goes on.
    behind: BTreeMap<u32, Vec<u8>>,
}

/// A power cut in the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadCut {
    /// The power goes off at this operation of the flash from now on, `during` it or just before.
    pub at: u64,
    /// See `at`.
    pub during: bool,
    /// It goes off once more, at this operation of the restart if it has so many.
    pub second: Option<u64>,
    /// All units of the drive are looked at, and not only those that the load writes.
    pub whole: bool,
}

/// The findings after a cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadCutFound {
    /// All requests before this position of the log were acknowledged.
    pub position: u64,
    /// Units that hold an older state.
    pub behind: u64,
    /// The power went off a second time.
    pub second: bool,
    /// A promise that was broken, in words.
    pub problem: Option<String>,
    /// A digest of what [`Replay::export`] would write: the same after cuts that leave the same.
    pub content: u64,
}

impl LoadCutFound {
    /// As an object.
    pub fn to_json(&self) -> Value {
        let LoadCutFound { position, behind, second, problem, content } = self;
        json!({ "position": position, "behind": behind, "second": second, "problem": problem, "content": content })
    }
}

impl Replay {
    /// The load of a log on the drive of an image, of which a copy is made in memory.
    ///
    /// # Errors
    /// [`RunError`]; its text is for the user.
    pub fn open(config: &Config, image: &Path, log: &Path) -> Result<Replay, RunError> {
        let opened = Drive::open(config, image, true)?;
        Replay::on(config, opened.into_image().clone(), log)
    }

    /// The load of a log on the drive of an image in memory.
    ///
    /// # Errors
    /// As [`Replay::open`].
    pub fn on(config: &Config, image: nand::Image, log: &Path) -> Result<Replay, RunError> {
        let mut drive = TestedDrive::new(Drive::over(config, image)?, None);
        let load = RecordedLoad::open(log, drive.size()).map_err(RunError::Input)?;
        let mut newest = vec![drive.deallocated(); drive.size() as usize];
        drive.read(0, &mut newest).map_err(|error| RunError::Failed(error.to_string()))?;
        let unit = drive.page_size();
        let written = units_of(&load.requests, unit);
        let (older, behind) = Default::default();
        let digests = newest.chunks(unit as usize).map(digest).collect();
        Ok(Replay { drive, load, next: 0, newest, digests, older, written, touched: Vec::new(), behind })
    }

    /// Breaks a promise from now on, over restarts too: for proof that it is found.
    pub fn breaks(&mut self, broken: Option<BrokenPromise>) {
        self.drive.breaks(broken);
    }

    /// Position of the request that comes next.
    pub fn position(&self) -> u64 {
        self.load.requests.get(self.next).map_or(self.load.end(), |request| request.position)
    }

    /// Goes on to a position of the log with the power on. Returns the operations of the flash.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn go_to(&mut self, position: u64) -> Result<u64, RunError> {
        self.drive.cut_after(u64::MAX, false);
        self.catch_up().map_err(|error| failed(&error))?;
        while self.next < self.load.requests.len() && self.position() < position {
            self.send_next().map_err(|error| failed(&error))?;
        }
        Ok(self.drive.operations())
    }

    /// Goes on until a cut, and restarts. Nothing if the load comes to its end before.
    ///
    /// # Errors
    /// [`RunError`] where the drive fails with the power on, or cannot be opened again.
    pub fn cut(&mut self, cut: LoadCut) -> Result<Option<LoadCutFound>, RunError> {
        self.begin()?;
        self.drive.cut_after(cut.at, cut.during);
        loop {
            if self.next == self.load.requests.len() {
                return Ok(None);
            }
            match self.send_next() {
                Ok(()) => {}
                Err(DriveError::PowerCut) => break,
                Err(error) => return Err(failed(&error)),
            }
        }
        let in_flight = self.load.requests[self.next];
        self.found_after(cut.second, cut.whole, Some(in_flight)).map(Some)
    }

    /// Flushes of the load from here on.
    pub fn flushes(&self) -> u64 {
        self.load.requests[self.next..].iter().filter(|request| request.kind == RecordedKind::Flush).count() as u64
    }

    /// Goes on until so many flushes are acknowledged, and the power goes off: then the drive holds what the log has up to there. It
    /// restarts; `second` and `whole` are those of [`LoadCut`]. Nothing if the load comes to its end before.
    ///
    /// # Errors
    /// As [`Replay::cut`].
    pub fn cut_at_flush(
        &mut self,
        flushes: u64,
        second: Option<u64>,
        whole: bool,
    ) -> Result<Option<LoadCutFound>, RunError> {
        self.begin()?;
        let mut left = flushes;
        while left > 0 {
            let Some(request) = self.load.requests.get(self.next) else { return Ok(None) };
            left -= u64::from(request.kind == RecordedKind::Flush);
            self.send_next().map_err(|error| failed(&error))?;
        }
        self.found_after(second, whole, None).map(Some)
    }

    /// The power is on, and what a cut took is written once more.
    fn begin(&mut self) -> Result<(), RunError> {
        if self.touched.is_empty() {
            // A cut can take along what was not flushed before it, too.
            let is_flush = |request: &Recorded| request.kind == RecordedKind::Flush;
            let flushed = self.load.requests[..self.next].iter().rposition(is_flush).map_or(0, |flush| flush + 1);
            self.touched = units_of(&self.load.requests[flushed..], self.drive.page_size());
        }
        self.drive.cut_after(u64::MAX, false);
        self.catch_up().map_err(|error| failed(&error))
    }

    /// Restarts after a cut, which may have met a request in flight, and looks.
    fn found_after(
        &mut self,
        second: Option<u64>,
        whole: bool,
        in_flight: Option<Recorded>,
    ) -> Result<LoadCutFound, RunError> {
        let (position, second) = (self.position(), self.restart(second)?);
        let problem = self.look(whole, in_flight);
        let (behind, content) = (self.behind.len() as u64, self.content());
        Ok(LoadCutFound { position, behind, second, problem, content })
    }

    /// Sends the next request, and takes note of what may be there from then on. If it fails it is the next one still.
    fn send_next(&mut self) -> Result<(), DriveError> {
        let request = self.load.requests[self.next];
        let data = match request.kind {
            RecordedKind::Write { .. } => self.load.data(&request),
            _ => &[],
        };
        let unit = self.drive.page_size();
        for touched in units(request.kind, unit) {
            let state = unit_of(&self.newest, touched, unit).to_vec();
            self.older.entry(touched).or_default().push(state);
        }
        let (offset, length) = request.kind.range();
        let part = &mut self.newest[offset as usize..(offset + length) as usize];
        match request.kind {
            RecordedKind::Write { fua, .. } => {
                part.copy_from_slice(data);
                digest_units(&mut self.digests, &self.newest, request.kind, unit);
                self.drive.write(offset, data, fua)?;
                if fua || self.drive.is_protected() {
                    units(request.kind, unit).for_each(|unit| drop(self.older.remove(&unit)));
                }
            }
            RecordedKind::Discard { .. } => {
                part.fill(self.drive.deallocated());
                digest_units(&mut self.digests, &self.newest, request.kind, unit);
                self.drive.trim(offset, length)?;
            }
            RecordedKind::Flush => {
                self.drive.flush()?;
                self.older.clear();
            }
        }
        self.next += 1;
        Ok(())
    }

    /// Opens the drive anew, as after a power cut. Returns whether there was a second one.
    fn restart(&mut self, second: Option<u64>) -> Result<bool, RunError> {
        let mut was_cut = false;
        if let Some(at) = second {
            self.drive.reopen(Some((at, at % 2 == 1)))?;
            was_cut = self.drive.is_off();
        }
        self.drive.reopen(None)?;
        self.drive.check();
        Ok(was_cut)
    }

    /// Compares what the drive holds. Returns what is wrong.
    fn look(&mut self, whole: bool, in_flight: Option<Recorded>) -> Option<String> {
        let unit = self.drive.page_size();
        let count = (self.newest.len() as u64 / unit) as u32;
        let all = 0..if whole { count } else { 0 };
        let touched = if whole { &[][..] } else { &self.touched[..] };
        let mut found = vec![0; unit as usize];
        self.behind.clear();
        let mut behind = BTreeMap::new();
        for number in touched.iter().copied().chain(all) {
            if let Err(error) = self.drive.read(u64::from(number) * unit, &mut found) {
                return Some(error.to_string());
            }
            if found == unit_of(&self.newest, number, unit) {
                continue;
            }
            let states = self.older.get(&number).map_or(&[][..], Vec::as_slice);
            if !states.contains(&found) {
                let at = in_flight.map_or("a flush".into(), |request| format!("and a {:?} in flight", request.kind));
                return Some(format!(
                    "unit {number} holds none of the {} states that it may hold, after {} entries of the log, {at}",
                    states.len() + 1,
                    self.next
                ));
            }
            behind.insert(number, found.clone());
        }
        if let Some(request) = in_flight {
            self.forget_in_flight(request, &mut behind, &mut found);
        }
        self.behind = behind;
        None
    }

    /// The request in flight was not acknowledged: its predecessor's state is the one to come back to.
    fn forget_in_flight(&mut self, request: Recorded, behind: &mut BTreeMap<u32, Vec<u8>>, found: &mut [u8]) {
        let unit = self.drive.page_size();
        for number in units(request.kind, unit) {
            // What was found of it stays there until it is sent again.
            let is_there = !behind.contains_key(&number);
            let before = self.older.get_mut(&number).and_then(Vec::pop).expect("it was noted");
            let newest = unit_mut(&mut self.newest, number, unit);
            found.copy_from_slice(newest);
            newest.copy_from_slice(&before);
            if is_there && found != before {
                behind.insert(number, found.to_vec());
            } else if behind.get(&number) == Some(&before) {
                behind.remove(&number);
            }
        }
        self.older.clear();
        digest_units(&mut self.digests, &self.newest, request.kind, unit);
    }

    /// A digest of what [`Replay::export`] would write.
    fn content(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for number in &self.touched {
            hasher.write_u64(self.behind.get(number).map_or(self.digests[*number as usize], |state| digest(state)));
        }
        hasher.finish()
    }

    /// Writes what is behind once more.
    fn catch_up(&mut self) -> Result<(), DriveError> {
        let unit = self.drive.page_size();
        for (number, found) in std::mem::take(&mut self.behind) {
            self.drive.write(u64::from(number) * unit, unit_of(&self.newest, number, unit), false)?;
            if !self.drive.is_protected() {
                self.older.entry(number).or_default().push(found);
            }
        }
        Ok(())
    }

    /// Writes what the drive holds after a restart to a file.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn export(&self, path: &Path) -> std::io::Result<()> {
        let unit = self.drive.page_size();
        let file = File::options().write(true).create(true).truncate(true).open(path)?;
        file.set_len(self.newest.len() as u64)?;
        // Holes are zeros.
        let zeros = vec![0; unit as usize];
        let has_data = |number: &&u32| unit_of(&self.newest, **number, unit) != zeros;
        let with_data: Vec<u32> = self.written.iter().filter(has_data).copied().collect();
        for run in with_data.chunk_by(|number, next| number + 1 == *next) {
            let (from, length) = (u64::from(run[0]) * unit, run.len() * unit as usize);
            file.write_all_at(&self.newest[from as usize..][..length], from)?;
        }
        for (&number, state) in &self.behind {
            file.write_all_at(state, u64::from(number) * unit)?;
        }
        Ok(())
    }
}

fn failed(error: &DriveError) -> RunError {
    RunError::Failed(error.to_string())
}

/// Takes the digests of the units that a request touches.
fn digest_units(digests: &mut [u64], newest: &[u8], kind: RecordedKind, unit: u64) {
    for number in units(kind, unit) {
        digests[number as usize] = digest(unit_of(newest, number, unit));
    }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The units that requests touch, in order.
fn units_of(requests: &[Recorded], unit: u64) -> Vec<u32> {
    let mut touched: Vec<u32> = requests.iter().flat_map(|request| units(request.kind, unit)).collect();
    touched.sort_unstable();
    touched.dedup();
    touched
}

/// The units that a request touches.
fn units(kind: RecordedKind, unit: u64) -> impl Iterator<Item = u32> {
    let (offset, length) = kind.range();
    (offset / unit..(offset + length).div_ceil(unit)).map(|number| number as u32)
}

fn unit_of(bytes: &[u8], number: u32, unit: u64) -> &[u8] {
    &bytes[(u64::from(number) * unit) as usize..][..unit as usize]
}

fn unit_mut(bytes: &mut [u8], number: u32, unit: u64) -> &mut [u8] {
    &mut bytes[(u64::from(number) * unit) as usize..][..unit as usize]
}
