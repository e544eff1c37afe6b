//! The cases that are measured, and their names.

use std::path::{Path, PathBuf};

use crate::child::Measurement;
use crate::features::{Dies, DriveRun, DriveState, FeatureRun, LOADED};
use crate::mechanisms::{self, Mechanism, MechanismRun};
use crate::run::RunPart;
use crate::{Failure, drive_floor, floor, limit, probe, run, traces};

/// The device of the TBM paper, at its own size or with a tenth of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// 24 GiB for the user: 205 blocks per plane.
    Small,
    /// 240 GiB for the user: 2048 blocks per plane.
    Full,
    /// 240 GiB for the user on 1,024 dies, 16 chips on each of 32 channels: 66 blocks per plane, with which WAF is that of `Full`.
    Wide,
    /// 2 TiB on 512 planes, with about as many blocks each as `Full`; on request.
    Tera2,
    /// 16 TiB on 2,048 planes, likewise.
    Tera16,
}

/// User capacities of random writes that age a huge device, after it was filled: some four times what its spare space takes.
pub(crate) const HUGE_IS_AGED: f64 = 0.25;

impl Size {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Size::Small => "24g",
            Size::Full => "240g",
            Size::Wide => "240g-1024-dies",
            Size::Tera2 => "2t",
            Size::Tera16 => "16t",
        }
    }

    pub(crate) fn blocks_per_plane(self) -> u32 {
        match self {
            Size::Small => 205,
            Size::Full => 2048,
            Size::Wide => 66,
            Size::Tera2 => 2185,
            Size::Tera16 => 4369,
        }
    }

    /// Logical pages of 8 KiB.
    pub(crate) fn user_pages(self) -> u32 {
        match self {
            Size::Small => 24 << 17,
            Size::Full | Size::Wide => 240 << 17,
            Size::Tera2 => 2 << 27,
            Size::Tera16 => 16 << 27,
        }
    }

    /// Planes; a die has two.
    pub(crate) fn planes(self) -> u32 {
        match self {
            Size::Small | Size::Full => 64,
            Size::Tera2 => 512,
            Size::Wide | Size::Tera16 => 2048,
        }
    }

    /// Channels and chips on each, with two dies of two planes.
    pub(crate) fn channels_and_chips(self) -> (u32, u32) {
        match self {
            Size::Small | Size::Full => (4, 4),
            Size::Tera2 => (16, 8),
            Size::Wide | Size::Tera16 => (32, 16),
        }
    }

    /// True if it takes minutes to age: then that is part of every process, and it is measured on request only.
    pub(crate) fn is_huge(self) -> bool {
        matches!(self, Size::Tera2 | Size::Tera16)
    }

    /// Physical pages, 256 in a block.
    pub(crate) fn physical_pages(self) -> u32 {
        self.planes() * self.blocks_per_plane() * 256
    }
}

/// The requests of the host: 8 KB at random addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// Writes.
    Write,
    /// Seven reads to three writes.
    Mixed,
}

impl Mix {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mix::Write => "write",
            Mix::Mixed => "mixed",
        }
    }

    pub(crate) fn read_fraction(self) -> f64 {
        match self {
            Mix::Write => 0.0,
            Mix::Mixed => 0.7,
        }
    }
}

/// The FTL's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FtlSet {
    /// The choices of the paper's device: dynamic allocation F, RGA victims.
    Paper,
    /// Static allocation CWDP and greedy victims, which is what the limit loop does too.
    Static,
}

impl FtlSet {
    pub(crate) fn name(self) -> &'static str {
        match self {
            FtlSet::Paper => "f-rga",
            FtlSet::Static => "cwdp-greedy",
        }
    }
}

/// One execution of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineRun {
    pub(crate) timed: bool,
    pub(crate) size: Size,
    pub(crate) mix: Mix,
    pub(crate) choices: FtlSet,
    pub(crate) depth: u32,
}

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// Latency and throughput of memory.
    Memory,
    /// The event structures.
    Events,
    /// The unavoidable memory accesses, and nothing else.
    Limit(Size),
    /// The least that simulates the device with time, with so many requests in it.
    Floor(Size, u32),
    /// The engine in steady state.
    Run(EngineRun),
    /// The engine with one of its larger mechanisms; without a target.
    Mechanism(MechanismRun),
    /// The engine with a feature of the chip, or with the link of the host; likewise.
    Feature(FeatureRun),
    /// The engine as a drive; likewise.
    Drive(DriveRun),
    /// The least that simulates a drive.
    DriveFloor(Mix),
    /// The full device filled and overwritten once at random.
    Precondition,
    /// A drive of today at its full size, aged as its preset says.
    AgeDrive,
    /// Reading the state of a drive.
    LoadState,
    /// Reading a trace of that format.
    Trace(traces::WrittenFormat),
    /// Brings a device to its steady state; not reported.
    State(Size, FtlSet),
    /// Ages a device with a mechanism; not reported.
    MechanismState(Mechanism),
    /// Ages a device with a feature; not reported.
    FeatureState(FeatureRun),
    /// Ages a drive; not reported.
    DriveState(DriveState),
    /// Writes a trace; not reported.
    TraceFile(traces::WrittenFormat),
}

/// The drive whose ageing at full size is measured.
const AGED_DRIVE: &str = "client-tlc";

/// Queue depth of the workloads of record.
const DEPTH: u32 = 32;

/// The end of the name of a case whose queue depth is not that of record.
fn suffix(depth: u32) -> String {
    if depth == DEPTH { String::new() } else { format!("-qd{depth}") }
}

/// Everything that is reported, in order.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    let mut cases = vec![Case::Memory, Case::Events];
    for size in if quick { vec![Size::Small] } else { vec![Size::Small, Size::Full] } {
        cases.extend([Case::Limit(size), Case::Floor(size, DEPTH)]);
        for timed in [false, true] {
            for mix in [Mix::Write, Mix::Mixed] {
                for choices in [FtlSet::Paper, FtlSet::Static] {
                    cases.push(Case::Run(EngineRun { timed, size, mix, choices, depth: DEPTH }));
                }
            }
        }
    }
    for depth in [16, 256] {
        let deep = EngineRun { timed: true, size: Size::Small, mix: Mix::Write, choices: FtlSet::Paper, depth };
        cases.push(Case::Floor(Size::Small, depth));
        cases.extend([Case::Run(deep), Case::Run(EngineRun { choices: FtlSet::Static, ..deep })]);
    }
    for timed in [false, true] {
        let those = Mechanism::ALL.into_iter().filter(|mechanism| mechanism.has_row(timed));
        cases.extend(those.map(|mechanism| Case::Mechanism(MechanismRun { mechanism, timed })));
    }
    cases.extend(FeatureRun::all().into_iter().map(Case::Feature));
    cases.extend([Mix::Write, Mix::Mixed].map(Case::DriveFloor));
    cases.extend(DriveRun::all().map(Case::Drive));
    cases.push(Case::LoadState);
    if !quick {
        let (choices, depth) = (FtlSet::Static, DEPTH);
        cases.push(Case::Run(EngineRun { timed: true, size: Size::Wide, mix: Mix::Write, choices, depth }));
        cases.extend([Dies::Few, Dies::Many].map(|dies| Case::Drive(DriveRun::over(dies))));
        cases.extend([Case::Precondition, Case::AgeDrive]);
    }
    cases.extend(traces::WrittenFormat::ALL.map(Case::Trace));
    cases
}

/// The cases that take many minutes and gigabytes, and are measured where their name is given.
pub(crate) fn on_request() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in [Size::Tera2, Size::Tera16] {
        cases.push(Case::Limit(size));
        for mix in [Mix::Write, Mix::Mixed] {
            cases.push(Case::Run(EngineRun { timed: false, size, mix, choices: FtlSet::Static, depth: DEPTH }));
        }
    }
    cases
}

impl Case {
    /// The measurement of that name.
    pub(crate) fn named(name: &str) -> Option<Case> {
        let mut cases = all(false);
        cases.extend(on_request());
        cases.extend(cases.clone().iter().filter_map(Case::needs));
        cases.into_iter().find(|case| case.name() == name)
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Case::Memory => "memory".into(),
            Case::Events => "events".into(),
            Case::Limit(size) => format!("limit-{}", size.name()),
            Case::Floor(size, depth) => format!("floor-{}{}", size.name(), suffix(*depth)),
            Case::Run(run) => {
                let executor = if run.timed { "timed" } else { "count" };
                let depth = suffix(run.depth);
                let (size, mix, choices) = (run.size.name(), run.mix.name(), run.choices.name());
                format!("{executor}-{size}-{mix}-{choices}{depth}")
            }
            Case::Mechanism(run) => run.name(),
            Case::Feature(run) => run.name(),
            Case::Drive(run) => run.name(),
            Case::DriveFloor(mix) => format!("floor-client-tlc-small-{}", mix.name()),
            Case::Precondition => "precondition-240g".into(),
            Case::AgeDrive => format!("precondition-{AGED_DRIVE}"),
            Case::LoadState => format!("load-{}", LOADED.name()),
            Case::Trace(format) => format!("trace-{}", format.name()),
            Case::State(size, choices) => format!("state-{}-{}", size.name(), choices.name()),
            Case::MechanismState(mechanism) => format!("state-24g-{}", mechanism.name()),
            Case::FeatureState(run) => format!("state-{}", run.name()),
            Case::DriveState(state) => state.name(),
            Case::TraceFile(format) => format!("file-{}", format.name()),
        }
    }

    /// The device of a row or of its limit.
    pub(crate) fn size(&self) -> Option<Size> {
        match self {
            Case::Limit(size) | Case::Floor(size, _) => Some(*size),
            Case::Run(run) => Some(run.size),
            _ => None,
        }
    }

    /// The case that has to be made before.
    pub(crate) fn needs(&self) -> Option<Case> {
        match *self {
            Case::Run(run) if run.size.is_huge() => None,
            Case::Run(run) => Some(Case::State(run.size, run.choices)),
            Case::Mechanism(run) => run.state().map(Case::MechanismState),
            Case::Feature(run) if run.ages() => Some(Case::FeatureState(run)),
            Case::Feature(_) => Some(Case::State(Size::Small, FtlSet::Static)),
            Case::Drive(run) => Some(Case::DriveState(run.state())),
            Case::LoadState => Some(Case::DriveState(LOADED)),
            Case::Trace(format) => Some(Case::TraceFile(format)),
            _ => None,
        }
    }

    /// The file that this makes for others.
    pub(crate) fn file(&self, scratch: &Path) -> PathBuf {
        scratch.join(self.name())
    }

    /// Host requests, of a row of the engine or of the floor of a drive.
    pub(crate) fn requests(&self) -> Option<u64> {
        match self {
            Case::LoadState => Some(1),
            Case::Run(run) => Some(run::requests(run)),
            Case::Mechanism(run) => Some(run.requests()),
            Case::Feature(run) => Some(run.requests()),
            Case::Drive(run) => Some(run.requests()),
            Case::DriveFloor(mix) => Some(DriveRun::of_floor(*mix).requests()),
            _ => None,
        }
    }

    /// Makes the measurement in this process; a row of the engine with so many requests, where that is given.
    pub(crate) fn measure(&self, scratch: &Path, requests: Option<u64>) -> Result<Measurement, Failure> {
        let requests = requests.or(self.requests()).unwrap_or_default();
        let needed = self.needs().map(|needed| needed.file(scratch)).unwrap_or_default();
        let mut figures = match self {
            Case::Memory => probe::memory()?,
            Case::Events => probe::events(),
            Case::Limit(size) => limit::measure(*size)?,
            Case::Floor(size, depth) => floor::measure(*size, *depth)?,
            Case::Run(run) => run::measure(run, &needed, requests)?,
            Case::Mechanism(run) => run.measure(&needed, requests)?,
            Case::Feature(run) => run.measure(&needed, requests)?,
            Case::Drive(run) => run.measure(&needed, requests)?,
            Case::DriveFloor(mix) => drive_floor::measure(*mix, requests)?,
            Case::Precondition => run::precondition()?,
            Case::AgeDrive => run::age_drive(AGED_DRIVE)?,
            Case::LoadState => LOADED.load(&needed, false)?,
            Case::Trace(format) => traces::read(*format, &needed)?,
            Case::State(size, choices) => run::age(*size, *choices, &self.file(scratch))?,
            Case::MechanismState(mechanism) => mechanisms::age(*mechanism, &self.file(scratch))?,
            Case::FeatureState(run) => run.age(&self.file(scratch))?,
            Case::DriveState(state) => state.age(&self.file(scratch))?,
            Case::TraceFile(format) => traces::write(*format, &self.file(scratch))?,
        };
        figures.peak_rss_mb = metrics::Stopwatch::start().usage().peak_rss_mb;
        Ok(figures)
    }

    /// Has callgrind count the instructions of a part of a run, of a drive or of its floor.
    pub(crate) fn count(&self, scratch: &Path, part: RunPart) -> Result<Measurement, Failure> {
        match self {
            Case::Drive(run) => run.count(&Case::DriveState(run.state()).file(scratch), part),
            Case::DriveFloor(mix) => drive_floor::count(*mix, part.requests),
            Case::LoadState => LOADED.load(&Case::DriveState(LOADED).file(scratch), true),
            _ => Err(Failure(format!("`--count-from` is for drives, and `{}` is none", self.name()))),
        }
    }
}
