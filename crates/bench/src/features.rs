//! The engine with each feature of the chip, and as each drive that can be bought.
//!
//! A row of a feature is the device of the TBM paper with 24 GiB for the user, static allocation and greedy victims, in its steady
//! state, with that one feature besides; seven requests of ten read, since most features are for reads. Where wordlines are programmed
//! as a whole there is a write buffer too. A row of a drive is its preset with the same mix.

use std::path::Path;

use crate::Failure;
use crate::cases::{FtlSet, Mix, Size};
use crate::child::Measurement;
use crate::run::{self, BenchSetup, carry_out};

/// One execution of the engine, with time, with a choice of a key of `[device]` that is not the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureRun {
    /// The key and the choice.
    Chip(&'static str, &'static str),
    /// Commands and data of the host take their time on the way.
    Link,
}

impl FeatureRun {
    /// All of them, from where they are declared: a new one has a row.
    pub(crate) fn all() -> Vec<FeatureRun> {
        let of_key = |feature: &'static base::FeatureKey| {
            feature.choices[1..].iter().map(|choice| FeatureRun::Chip(feature.key, choice.name))
        };
        device::features().into_iter().flat_map(of_key).chain([FeatureRun::Link]).collect()
    }

    pub(crate) fn name(self) -> String {
        match self {
            FeatureRun::Chip(key, "on" | "one") => format!("timed-24g-mixed-{}", key.replace('_', "-")),
            FeatureRun::Chip(key, choice) => format!("timed-24g-mixed-{}-{choice}", key.replace('_', "-")),
            FeatureRun::Link => "timed-24g-mixed-link".into(),
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

    fn setup(self, state: &Path) -> BenchSetup {
        let mut sets = run::device(Size::Small, FtlSet::Static);
        sets.push(format!("run.precondition.state={}", state.display()));
        sets.push(format!("workload.read_fraction={:?}", Mix::Mixed.read_fraction()));
        match self {
            FeatureRun::Chip(key, choice) => sets.push(format!("device.{key}={choice}")),
            // That of the drives, and their commands.
            FeatureRun::Link => {
                sets.extend(
                    ["host.link=7877MB/s", "host.command_time=8us", "host.command_interval=1us"].map(String::from),
                );
            }
        }
        match self {
            // Half a page, of which a codeword is sent.
            FeatureRun::Chip("read_transfer", _) => sets.push("workload.request_size=4KiB".into()),
            // Nobody waits for a wordline, which would be filled up with dummy pages then.
            FeatureRun::Chip("programming", _) => sets.push("ftl.write_buffer.fifo.size=4MiB".into()),
            _ => {}
        }
        BenchSetup { preset: run::PRESET, timed: true, sets }
    }
}

/// One execution of the engine as a drive, with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriveRun(&'static str);

impl DriveRun {
    /// The presets of drives, with a part of their blocks.
    pub(crate) const ALL: [DriveRun; 5] = [
        DriveRun("client-tlc-small"),
        DriveRun("enterprise-tlc-small"),
        DriveRun("qlc-small"),
        DriveRun("qlc-dense-small"),
        DriveRun("modern-tlc-small"),
    ];

    pub(crate) fn name(self) -> String {
        format!("timed-{}-mixed", self.0)
    }

    /// Host requests: some seconds of CPU time.
    pub(crate) fn requests(self) -> u64 {
        1 << 20
    }

    /// Runs the engine for so many requests; the drive is aged before, as its preset says.
    pub(crate) fn measure(self, requests: u64) -> Result<Measurement, Failure> {
        carry_out(&self.setup(), requests)
    }

    fn setup(self) -> BenchSetup {
        let sets = vec![format!("workload.read_fraction={:?}", Mix::Mixed.read_fraction())];
        BenchSetup { preset: self.0, timed: true, sets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::configuration;

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
        }
    }

    #[test]
    fn every_small_preset_with_a_link_is_a_drive() {
        let has_link = |name: &&'static str| configuration(&DriveRun(name).setup(), 1).unwrap().host.link.is_some();
        let small = config::PRESETS.iter().map(|preset| preset.name).filter(|name| name.ends_with("-small"));
        let drives: Vec<DriveRun> = small.filter(has_link).map(DriveRun).collect();
        assert!(drives.iter().all(|drive| DriveRun::ALL.contains(drive)), "{drives:?}");
    }
}
