//! The engine with one of its larger mechanisms: what is set, and how long a run is.
//!
//! Every device has 24 GiB for the user and gets writes of one map unit at uniformly random addresses; that with read disturb gets
//! reads.

use std::path::Path;

use crate::Failure;
use crate::cases::Size;
use crate::child::Measurement;
use crate::run::{BenchSetup, carry_out, save_steady};

/// A mechanism with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// Twin blocks under allocation D, on the device of the TBM paper.
    TwinBlocks,
    /// Adaptive GCMix with data clustering: preset `gcmix-dml`.
    AdaptiveGcMix,
    /// Page mapping with the map in flash, on the device of the TBM paper.
    MapInFlash,
    /// The map in flash with four map units to a flash page.
    MapInFlashOfUnits,
    /// Hybrid mapping with cycle filling: preset `gcf-cf` with 24 GiB. Without time there is no cycle filling.
    HybridMapping,
    /// Restricted copybacks by block on the device of the rcFTL paper: preset `rcftl-small`. Without time there is no selector.
    RestrictedCopyback,
    /// Read disturb under adaptive cell bit-density: preset `ipr` with 24 GiB, one request of a thousand a write.
    ReadDisturb,
    /// Refresh of blocks in which a read was retried, of data that are 20 days old on the device of the TBM paper; 7 requests of 10
    /// read. Without time there is none.
    Refresh,
    /// All five papers' systems together, as the study of combinations has them, with GC forwarding; 7 requests of 10 read. Forwarding
    /// takes time.
    Stack,
}

impl Mechanism {
    pub(crate) const ALL: [Mechanism; 9] = [
        Mechanism::TwinBlocks,
        Mechanism::AdaptiveGcMix,
        Mechanism::MapInFlash,
        Mechanism::MapInFlashOfUnits,
        Mechanism::HybridMapping,
        Mechanism::RestrictedCopyback,
        Mechanism::ReadDisturb,
        Mechanism::Refresh,
        Mechanism::Stack,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mechanism::TwinBlocks => "twin-d",
            Mechanism::AdaptiveGcMix => "gcmix-adaptive",
            Mechanism::MapInFlash => "dftl",
            Mechanism::MapInFlashOfUnits => "dftl-units",
            Mechanism::HybridMapping => "fast",
            Mechanism::RestrictedCopyback => "rcpb",
            Mechanism::ReadDisturb => "ipr",
            Mechanism::Refresh => "refresh",
            Mechanism::Stack => "stack",
        }
    }

    /// True if there is a row of it, with time or without.
    pub(crate) fn has_row(self, timed: bool) -> bool {
        timed || !matches!(self, Mechanism::Refresh | Mechanism::Stack)
    }

    /// True if a device with it can be saved and started from a file.
    fn has_states(self) -> bool {
        self == Mechanism::TwinBlocks
    }

    fn preset(self) -> &'static str {
        match self {
            Mechanism::TwinBlocks | Mechanism::MapInFlash | Mechanism::MapInFlashOfUnits | Mechanism::Refresh => "tbm",
            Mechanism::AdaptiveGcMix => "gcmix-dml",
            Mechanism::HybridMapping => "gcf-cf",
            Mechanism::RestrictedCopyback => "rcftl-small",
            Mechanism::ReadDisturb => "ipr",
            Mechanism::Stack => "stack",
        }
    }

    /// The device and the policies, on top of the preset.
    fn settings(self) -> Vec<String> {
        let sets: &[&str] = match self {
            Mechanism::TwinBlocks => &["ftl.allocation=D", "ftl.reclaim_unit=twin"],
            // A map of 12 MiB at 4 bytes per page: the cache has a thirty-second of that.
            Mechanism::MapInFlash => {
                &["ftl.binding=static", "ftl.allocation=CWDP", "ftl.victim=greedy", "ftl.mapping.dftl.cache=384KiB"]
            }
            // The same share of a map of 48 MiB. Requests are of a unit.
            Mechanism::MapInFlashOfUnits => &[
                "ftl.binding=static",
                "ftl.allocation=CWDP",
                "ftl.victim=greedy",
                "ftl.mapping.dftl.cache=1536KiB",
                "ftl.map_unit=2KiB",
                "workload.request_size=2KiB",
            ],
            Mechanism::AdaptiveGcMix => &["host.replay=closed", "workload.generator=uniform"],
            // 6144 blocks of data, a tenth more as log, and the destination of a merge. Requests lie on page boundaries.
            Mechanism::HybridMapping => &["device.blocks_per_plane=6760", "workload.address_offset=4KiB"],
            // Spare space of 14 %, as the preset has it.
            Mechanism::RestrictedCopyback => &["device.blocks_per_plane=219", "workload.generator=uniform"],
            // Spare space of 25 %, as the preset has it.
            Mechanism::ReadDisturb => &["device.blocks_per_plane=161", "host.replay=closed"],
            Mechanism::Refresh => &[
                "ftl.binding=static",
                "ftl.allocation=CWDP",
                "ftl.victim=greedy",
                "device.media.formula.age=20d",
                "ftl.refresh.errors.retries=0",
                "workload.read_fraction=0.7",
            ],
            // Spare space of 22 %, as the study has it.
            Mechanism::Stack => &[
                "device.chips_per_channel=1",
                "device.blocks_per_plane=208",
                "device.pages_per_block=288",
                "device.wear.pe_cycles=1500",
                "device.wear.read_limit=[5000, 50000]",
                "ftl.allocation=F2",
                "ftl.reclaim_unit=twin",
                "ftl.migration=rcpb",
                "ftl.gc_schedule=forwarding",
                "ftl.read_disturb.ipr.low_density=0.1",
                "ftl.read_disturb.ipr.monitor=0.1",
                "ftl.read_disturb.ipr.pool=0.2",
                "ftl.paired_page=gcmix",
                "ftl.separation=none",
                "ftl.wear_leveling.static.threshold=50",
                "ftl.write_buffer.lru.size=16MiB",
                "ftl.scheduler.paq.max_wait=0ns",
                "workload.generator=uniform",
                "workload.read_fraction=0.7",
            ],
        };
        let mut sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        sets.push("device.user_capacity=24GiB".into());
        if self.preset() == "tbm" {
            sets.push(format!("device.blocks_per_plane={}", Size::Small.blocks_per_plane()));
        }
        sets
    }

    /// The volume by which a device without a state file is aged: enough for collections to have begun, and under hybrid mapping for
    /// the log to have been filled twice.
    fn precondition(self) -> &'static str {
        match self {
            Mechanism::HybridMapping => "run.precondition.random=0.2x",
            Mechanism::MapInFlash | Mechanism::MapInFlashOfUnits => "run.precondition.random=0.5x",
            Mechanism::AdaptiveGcMix
            | Mechanism::TwinBlocks
            | Mechanism::RestrictedCopyback
            | Mechanism::ReadDisturb
            | Mechanism::Refresh
            | Mechanism::Stack => "run.precondition.random=1x",
        }
    }
}

/// One execution of the engine with a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MechanismRun {
    pub(crate) mechanism: Mechanism,
    pub(crate) timed: bool,
}

impl MechanismRun {
    pub(crate) fn name(self) -> String {
        let mechanism = match (self.mechanism, self.timed) {
            (Mechanism::HybridMapping, true) => "fast-cycle-filling",
            (mechanism, _) => mechanism.name(),
        };
        let mix = match self.mechanism {
            Mechanism::ReadDisturb => "read",
            Mechanism::Refresh | Mechanism::Stack => "mixed",
            _ => "write",
        };
        format!("{}-24g-{mix}-{mechanism}", if self.timed { "timed" } else { "count" })
    }

    /// The mechanism whose device is saved first, if it can be.
    pub(crate) fn state(self) -> Option<Mechanism> {
        self.mechanism.has_states().then_some(self.mechanism)
    }

    /// Host requests: some seconds of CPU time. Hybrid mapping goes through its log once, or twice without time: its
    /// merges copy more at the beginning of a round than at the end.
    pub(crate) fn requests(self) -> u64 {
        match (self.mechanism, self.timed) {
            (Mechanism::TwinBlocks, false) | (Mechanism::AdaptiveGcMix, false) => 2 << 20,
            (Mechanism::AdaptiveGcMix, true) | (Mechanism::MapInFlash | Mechanism::MapInFlashOfUnits, false) => 1 << 20,
            (Mechanism::TwinBlocks, true) => 1 << 19,
            (Mechanism::MapInFlash | Mechanism::MapInFlashOfUnits, true) => 1 << 18,
            (Mechanism::HybridMapping, false) => 1280 << 10,
            (Mechanism::HybridMapping, true) => 640 << 10,
            (Mechanism::RestrictedCopyback, false) => 2 << 20,
            (Mechanism::RestrictedCopyback, true) => 1 << 19,
            (Mechanism::ReadDisturb, false) => 16 << 20,
            (Mechanism::ReadDisturb, true) => 2 << 20,
            (Mechanism::Refresh | Mechanism::Stack, _) => 1 << 19,
        }
    }

    /// Runs the engine for so many requests.
    pub(crate) fn measure(self, state: &Path, requests: u64) -> Result<Measurement, Failure> {
        carry_out(&self.setup(state), requests)
    }

    fn setup(self, state: &Path) -> BenchSetup {
        let mut sets = self.mechanism.settings();
        sets.push(match self.state() {
            Some(_) => format!("run.precondition.state={}", state.display()),
            None => self.mechanism.precondition().into(),
        });
        // What looks at the time.
        let without_time: &[&str] = match (self.mechanism, self.timed) {
            (Mechanism::HybridMapping, false) => &["ftl.gc_schedule.threshold.free_blocks=1"],
            (Mechanism::RestrictedCopyback, false) => &[
                "ftl.gc_schedule.threshold.free_blocks=2",
                "ftl.migration.rcpb.selector=false",
                "ftl.write_buffer=none",
            ],
            _ => &[],
        };
        sets.extend(without_time.iter().map(|set| (*set).to_owned()));
        BenchSetup { preset: self.mechanism.preset(), timed: self.timed, sets }
    }
}

/// Brings a device to its steady state and saves it.
pub(crate) fn age(mechanism: Mechanism, path: &Path) -> Result<Measurement, Failure> {
    save_steady(mechanism.preset(), mechanism.settings(), path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::configuration;

    #[test]
    fn every_row_has_a_configuration_that_is_accepted() {
        for mechanism in Mechanism::ALL {
            for timed in [false, true].into_iter().filter(|&timed| mechanism.has_row(timed)) {
                let run = MechanismRun { mechanism, timed };
                let config = configuration(&run.setup(Path::new("device.state")), run.requests()).unwrap();
                assert_eq!(config.device.user_capacity, 24 << 30, "{}", run.name());
            }
        }
    }
}
