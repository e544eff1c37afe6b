//! The engine with each feature of the chip, and as each drive that can be bought.
//!
//! A row of a feature is the device of the TBM paper with 24 GiB for the user, static allocation and greedy victims, in its steady
//! state, with that one feature besides; seven requests of ten read, since most features are for reads. Where wordlines are programmed
//! as a whole there is a write buffer too. A row of a drive is its preset with the same mix, past the filling of its write buffer.

use std::path::Path;

use crate::Failure;
use crate::cases::{FtlSet, Mix, Size};
use crate::child::Measurement;
use crate::run::{self, BenchSetup, RunPart, carry_out};

/// Requests of one map unit, after multiples of which the measured part of a drive's run begins; larger ones are fewer.
pub(crate) const STEP: u64 = 100_000;

/// One execution of the engine, with time, with a choice of a key of `[device]` that is not the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureRun {
    /// The key and the choice.
    Chip(&'static str, &'static str),
    /// Commands and data of the host take their time on the way.
    Link,
    /// Commands take a nanosecond, which changes nothing and takes the run to the general way.
    Null(Mix),
}

impl FeatureRun {
    /// All of them, from where they are declared: a new one has a row.
    pub(crate) fn all() -> Vec<FeatureRun> {
        let of_key = |feature: &'static base::FeatureKey| {
            feature.choices[1..].iter().map(|choice| FeatureRun::Chip(feature.key, choice.name))
        };
        let others = [FeatureRun::Link, FeatureRun::Null(Mix::Write), FeatureRun::Null(Mix::Mixed)];
        device::features().into_iter().flat_map(of_key).chain(others).collect()
    }

    pub(crate) fn name(self) -> String {
        match self {
            FeatureRun::Chip(key, "on" | "one") => format!("timed-24g-mixed-{}", key.replace('_', "-")),
            FeatureRun::Chip(key, choice) => format!("timed-24g-mixed-{}-{choice}", key.replace('_', "-")),
            FeatureRun::Link => "timed-24g-mixed-link".into(),
            FeatureRun::Null(mix) => format!("timed-24g-{}-null", mix.name()),
        }
    }

    /// Host requests: some seconds of CPU time.
    pub(crate) fn requests(self) -> u64 {
        1 << 21
    }

    /// Runs the engine for so many requests, from a saved state.
    pub(crate) fn measure(self, state: &Path, requests: u64) -> Result<Measurement, Failure> {
        carry_out(&self.setup(state), requests)
    }

    /// It ages with the device, so its row begins from a state of its own; the others share that of the device without features.
    pub(crate) fn ages(self) -> bool {
        matches!(self, FeatureRun::Chip("bad_blocks" | "slc_mode", _))
    }

    /// Brings the device with the feature to its steady state, and saves it.
    pub(crate) fn age(self, path: &Path) -> Result<Measurement, Failure> {
        let mut sets = run::device(Size::Small, FtlSet::Static);
        sets.extend(self.setting());
        run::save_steady(run::PRESET, sets, path)
    }

    fn setting(self) -> Vec<String> {
        match self {
            // Blocks in that mode are those of a cache.
            FeatureRun::Chip(key @ "slc_mode", choice) => {
                [format!("device.{key}={choice}"), "ftl.slc_cache=both".into()].into()
            }
            FeatureRun::Chip(key, choice) => vec![format!("device.{key}={choice}")],
            FeatureRun::Null(_) => vec!["device.timing.command_overhead=1ns".into()],
            FeatureRun::Link => Vec::new(),
        }
    }

    fn mix(self) -> Mix {
        if let FeatureRun::Null(mix) = self { mix } else { Mix::Mixed }
    }

    fn setup(self, state: &Path) -> BenchSetup {
        let mut sets = run::device(Size::Small, FtlSet::Static);
        sets.push(format!("run.precondition.state={}", state.display()));
        sets.push(format!("workload.read_fraction={:?}", self.mix().read_fraction()));
        sets.extend(self.setting());
        match self {
            // That of the drives, and their commands.
            FeatureRun::Link => {
                sets.extend(
                    ["host.link=7877MB/s", "host.command_time=8us", "host.command_interval=1us"].map(String::from),
                );
            }
            // Half a page, of which a codeword is sent.
            FeatureRun::Chip("read_transfer", _) => sets.push("workload.request_size=4KiB".into()),
            // Nobody waits for a wordline, which would be filled up with dummy pages then.
            FeatureRun::Chip("programming", _) => sets.push("ftl.write_buffer.fifo.size=4MiB".into()),
            _ => {}
        }
        BenchSetup { preset: run::PRESET, timed: true, sets }
    }
}

/// The requests of a drive's host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriveLoad {
    /// Writes as the preset has them: one map unit of 4 KiB.
    Write,
    /// Requests of one map unit, seven reads to three writes.
    Mixed,
    /// Writes of a flash page, which is the map unit too.
    PageWrite,
    /// Seven reads to three writes, likewise.
    PageMixed,
    /// The captured trace of the repository, in an open loop.
    Trace,
    /// Seven reads to three writes of one map unit, one at a time.
    Single,
    /// Writes of one map unit, ten thousand a second.
    Paced,
}

impl DriveLoad {
    const ALL: [DriveLoad; 5] =
        [DriveLoad::Write, DriveLoad::Mixed, DriveLoad::PageWrite, DriveLoad::PageMixed, DriveLoad::Trace];

    fn name(self) -> &'static str {
        match self {
            DriveLoad::Write => "write",
            DriveLoad::Mixed => "mixed",
            DriveLoad::PageWrite => "page-write",
            DriveLoad::PageMixed => "page-mixed",
            DriveLoad::Trace => "trace",
            DriveLoad::Single => "mixed-qd1",
            DriveLoad::Paced => "write-every-100us",
        }
    }

    fn has_pages(self) -> bool {
        matches!(self, DriveLoad::PageWrite | DriveLoad::PageMixed)
    }

    fn settings(self) -> Vec<String> {
        let read_fraction = |mix: Mix| format!("workload.read_fraction={:?}", mix.read_fraction());
        match self {
            DriveLoad::Write | DriveLoad::PageWrite => vec![read_fraction(Mix::Write)],
            DriveLoad::Mixed | DriveLoad::PageMixed => vec![read_fraction(Mix::Mixed)],
            DriveLoad::Trace => vec![
                format!("workload.trace={}/../../traces/varmail-220k.csv.zst", env!("CARGO_MANIFEST_DIR")),
                "host.replay=open".into(),
            ],
            DriveLoad::Single => vec![read_fraction(Mix::Mixed), "host.queue_depth=1".into()],
            DriveLoad::Paced => {
                vec![read_fraction(Mix::Write), "host.replay=open".into(), "workload.interval=100us".into()]
            }
        }
    }
}

/// Dies over which a drive of 432 GiB of flash is spread, in place of its preset's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dies {
    /// 32, the number of the preset.
    Few,
    /// 512.
    Many,
}

impl Dies {
    fn name(self) -> &'static str {
        match self {
            Dies::Few => "-432g-32-dies",
            Dies::Many => "-432g-512-dies",
        }
    }

    fn settings(self) -> [String; 4] {
        let (channels, chips, blocks) = match self {
            Dies::Few => (8, 4, 384),
            Dies::Many => (32, 16, 24),
        };
        [
            format!("device.channels={channels}"),
            format!("device.chips_per_channel={chips}"),
            format!("device.blocks_per_plane={blocks}"),
            "device.user_capacity=320GiB".into(),
        ]
    }
}

/// A drive in its state of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriveState {
    preset: &'static str,
    dies: Option<Dies>,
    /// A map unit is a flash page.
    has_pages: bool,
}

impl DriveState {
    pub(crate) fn name(self) -> String {
        let dies = self.dies.map_or("", Dies::name);
        format!("state-{}{dies}{}", self.preset, if self.has_pages { "-page" } else { "" })
    }

    fn settings(self) -> Vec<String> {
        let pages: &[&str] = if self.has_pages { &["ftl.map_unit=page", "workload.request_size=16KiB"] } else { &[] };
        let dies = self.dies.into_iter().flat_map(Dies::settings);
        pages.iter().map(|set| (*set).to_owned()).chain(dies).collect()
    }

    /// Loads the state from a file. The figures are those of it alone; callgrind counts its instructions where it `is_counted`.
    pub(crate) fn load(self, path: &Path, is_counted: bool) -> Result<Measurement, Failure> {
        run::load_state(self.preset, self.settings(), path, is_counted)
    }

    /// Ages the drive as its preset says, and saves it.
    pub(crate) fn age(self, path: &Path) -> Result<Measurement, Failure> {
        run::save(self.preset, self.settings(), path)
    }
}

/// One execution of the engine as a drive, with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriveRun {
    preset: &'static str,
    dies: Option<Dies>,
    load: DriveLoad,
}

/// The state that the row of loads reads.
pub(crate) const LOADED: DriveState = DriveState { preset: DriveRun::PRESETS[0], dies: None, has_pages: false };

impl DriveRun {
    /// The presets of drives, with a part of their blocks.
    const PRESETS: [&'static str; 6] = [
        "client-tlc-small",
        "client-tlc-slc-small",
        "client-qlc-small",
        "enterprise-tlc-small",
        "qlc-small",
        "qlc-dense-small",
    ];

    /// Every drive under every load, and the first one under little.
    pub(crate) fn all() -> impl Iterator<Item = DriveRun> {
        let of_all = DriveRun::PRESETS.into_iter().flat_map(|preset| DriveLoad::ALL.map(|load| (preset, load)));
        let light = [DriveLoad::Single, DriveLoad::Paced].map(|load| (DriveRun::PRESETS[0], load));
        of_all.chain(light).map(|(preset, load)| DriveRun { preset, dies: None, load })
    }

    /// The first drive with as much flash on few dies or on many, under writes.
    pub(crate) fn over(dies: Dies) -> DriveRun {
        DriveRun { preset: DriveRun::PRESETS[0], dies: Some(dies), load: DriveLoad::Write }
    }

    /// The drive that has a floor, under a mix.
    pub(crate) fn of_floor(mix: Mix) -> DriveRun {
        let load = if mix == Mix::Mixed { DriveLoad::Mixed } else { DriveLoad::Write };
        DriveRun { preset: DriveRun::PRESETS[0], dies: None, load }
    }

    pub(crate) fn name(self) -> String {
        format!("timed-{}{}-{}", self.preset, self.dies.map_or("", Dies::name), self.load.name())
    }

    /// The state that it starts from.
    pub(crate) fn state(self) -> DriveState {
        DriveState { preset: self.preset, dies: self.dies, has_pages: self.load.has_pages() }
    }

    /// Host requests: some seconds of CPU time. Those of drives with a pseudo-SLC cache have 1 MiB, as their presets say.
    pub(crate) fn requests(self) -> u64 {
        if self.has_large_requests() { 1 << 16 } else { 1 << 20 }
    }

    fn has_large_requests(self) -> bool {
        let is_of_preset = matches!(self.load, DriveLoad::Write | DriveLoad::Mixed);
        is_of_preset && ["client-tlc-slc-small", "client-qlc-small"].contains(&self.preset)
    }

    /// [`STEP`], or as many requests as have as much data.
    pub(crate) fn step(self) -> u64 {
        if self.has_large_requests() { STEP / (1 << 20 >> 12) } else { STEP }
    }

    /// Runs the engine from a saved state until its write buffer was filled, and then for so many requests, which are measured.
    pub(crate) fn measure(self, state: &Path, requests: u64) -> Result<Measurement, Failure> {
        run::measure_steady(&self.setup(state), self.step(), requests)
    }

    /// Has callgrind count the instructions of a part of a run from a saved state.
    pub(crate) fn count(self, state: &Path, part: RunPart) -> Result<Measurement, Failure> {
        run::count_part(&self.setup(state), part)
    }

    fn setup(self, state: &Path) -> BenchSetup {
        let mut setup = self.unaged();
        setup.sets.push(format!("run.precondition.state={}", state.display()));
        setup
    }

    /// The configuration, which ages the drive as its preset says.
    pub(crate) fn unaged(self) -> BenchSetup {
        let mut sets = self.state().settings();
        sets.extend(self.load.settings());
        BenchSetup { preset: self.preset, timed: true, sets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{aging, configuration};

    #[test]
    fn every_feature_is_the_one_that_its_row_has() {
        let plain = FeatureRun::Link.setup(Path::new("device.state"));
        let plain = configuration(&plain, 1).unwrap().device;
        let names: Vec<String> = FeatureRun::all().into_iter().map(FeatureRun::name).collect();
        assert!(names.len() > 9 && names.contains(&"timed-24g-mixed-cache-read".into()), "{names:?}");
        for run in FeatureRun::all() {
            let config = configuration(&run.setup(Path::new("device.state")), run.requests()).unwrap();
            assert_eq!(config.device == plain, run == FeatureRun::Link, "{}", run.name());
            assert_eq!(config.host.link.is_some(), run == FeatureRun::Link, "{}", run.name());
            let is_in_states =
                config.device.features.get("bad_blocks").name != "none" || config.ftl.get("slc_cache").name != "off";
            assert_eq!(run.ages(), is_in_states, "lives of blocks and their modes are in a state: {}", run.name());
        }
    }

    #[test]
    fn every_small_preset_with_a_link_is_a_drive() {
        let setup = |preset, load| DriveRun { preset, dies: None, load }.setup(Path::new("device.state"));
        let has_link =
            |name: &&'static str| configuration(&setup(name, DriveLoad::Mixed), 1).unwrap().host.link.is_some();
        let small = config::PRESETS.iter().map(|preset| preset.name).filter(|name| name.ends_with("-small"));
        let drives: Vec<&str> = small.filter(has_link).collect();
        assert!(drives.iter().all(|drive| DriveRun::PRESETS.contains(drive)), "{drives:?}");
    }

    #[test]
    fn every_drive_has_a_configuration_that_is_accepted() {
        for run in DriveRun::all().chain([Dies::Few, Dies::Many].map(DriveRun::over)) {
            let config = configuration(&run.setup(Path::new("device.state")), run.requests()).unwrap();
            assert_eq!(
                config.host.replay == config::model::Replay::Open,
                matches!(run.load, DriveLoad::Trace | DriveLoad::Paced),
                "{}",
                run.name()
            );
            let state = run.state();
            assert!(aging(state.preset, state.settings()).is_ok(), "{}", state.name());
        }
    }
}
