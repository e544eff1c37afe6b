//! Which mechanisms and features of the chip work together: every pair of them, under every mapping and both executors.
//!
//! A cell of the table is a small device that is really built and run with both, with all checks; a cell on the diagonal
//! is one mechanism by itself, without stamps. What is refused stands there with the reason. The mechanisms are the
//! choices of the registries, and the features are the choices of `[device]`, so that a new one has no row until
//! `UPDATE_GOLDEN=1 cargo test -p ftlab-device --test all pairs::` writes the table anew.
//!
//! A feature has to change some figure, beside every other mechanism: one that is ignored in silence is a fault.

mod table;
mod tenants;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use crate::common::tenants::three_tenants;
use crate::common::*;
use base::{Cell, Choices, Duration, ParamValue, Selection};
use config::Config;
use config::model::*;
use device::{Options, RunError};
use engine::Chance;
use files::Interrupt;
use rig::sectors::{SectorCuts, try_sectors};
use rig::survival::{self, Trouble};
use serde_json::Value;
use table::{Reasons, differences, table};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pairs.txt");

/// Seams whose choices are policies that any device can have; those of the mapping are a dimension of their own.
const POLICIES: [&str; 6] = ["mapping", "binding", "block_allocation", "victim", "scheduler", "deallocated_reads"];

/// The lengths of deterministic windows, and of those between them.
const WINDOWS: [(&str, u64); 2] = [("deterministic", 5_000_000), ("nondeterministic", 15_000_000)];

const EXECUTORS: [(&str, Executor); 2] = [("count", Executor::Count), ("timed", Executor::Timed)];

/// Something that a device can have besides plain page mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    /// A choice of a seam that is not its default.
    Choice(&'static str, &'static str),
    /// Collections ahead of need are suspended; they go on to their end otherwise.
    Preemption,
    /// The device is saved, and the run starts from the file.
    SavedState,
    /// Lives in which a program fails.
    ProgramFailure,
    /// Lives in which the power goes, once, and a second time during recovery.
    PowerCut,
    /// Pages carry stamps, so that every read is checked.
    Stamps,
    /// A choice of a key of `[device]` that is not its default.
    Feature(&'static str, &'static str),
    /// Commands and data of the host take their time on the way.
    Link,
    /// Three hosts in the place of one, with an arbitration among them.
    Tenants(&'static str),
}

impl Mechanism {
    fn all() -> Vec<Mechanism> {
        let seams = device::seams().into_iter().filter(|seam| !POLICIES.contains(&seam.key));
        let choices = seams.flat_map(|seam| {
            let others = seam.choices[1..].iter();
            // Static orders are formulas.
            let others = others.filter(|choice| seam.key != "allocation" || ftl::allocation::is_dynamic(choice.name));
            // Map units of any size are alike.
            let others = others.filter(|choice| seam.key != "map_unit" || choice.name == "1KiB");
            others.map(|choice| Mechanism::Choice(seam.key, choice.name))
        });
        let others = [
            Mechanism::Preemption,
            Mechanism::SavedState,
            Mechanism::ProgramFailure,
            Mechanism::PowerCut,
            Mechanism::Stamps,
        ];
        let features = features().into_iter().map(|(key, name)| Mechanism::Feature(key, name));
        let tenants = base::ARBITRATIONS.iter().map(|choice| Mechanism::Tenants(choice.name));
        choices.chain(others).chain(features).chain([Mechanism::Link]).chain(tenants).collect()
    }

    fn name(self) -> String {
        match self {
            Mechanism::Choice("allocation", name) => format!("allocation {name}"),
            Mechanism::Choice("reclaim_across", name) => format!("victims across {name}"),
            Mechanism::Choice("map_unit", name) => format!("units of {name}"),
            Mechanism::Choice("wear_leveling", name) => format!("{name} wear leveling"),
            Mechanism::Choice("write_buffer", name) => format!("{name} buffer"),
            Mechanism::Choice("slc_cache", name) => format!("{name} cache"),
            Mechanism::Choice("refresh", name) => format!("refresh by {name}"),
            Mechanism::Choice(_, name) => name.into(),
            Mechanism::Preemption => "preemption".into(),
            Mechanism::SavedState => "saved state".into(),
            Mechanism::ProgramFailure => "program failure".into(),
            Mechanism::PowerCut => "power cut".into(),
            Mechanism::Stamps => "stamps".into(),
            Mechanism::Feature("programming", name) => name.into(),
            Mechanism::Feature("erase_suspend", "reads-and-writes") => "erase suspend, writes".into(),
            Mechanism::Feature("read_transfer", name) => format!("transfer of {name}"),
            Mechanism::Feature("media", name) => format!("media by {name}"),
            Mechanism::Feature(key, _) => key.replace('_', " "),
            Mechanism::Link => "link of the host".into(),
            Mechanism::Tenants("round-robin") => "tenants in turn".into(),
            Mechanism::Tenants(_) => "tenants by weight".into(),
        }
    }

    /// Whether it is a part of the device, which the FTL need not know.
    fn is_feature(self) -> bool {
        matches!(self, Mechanism::Feature(..) | Mechanism::Link)
    }

    /// Takes a feature from a device.
    fn remove(self, config: &mut Config) {
        match self {
            Mechanism::Feature(key, _) => {
                let features = device::features();
                let feature = features.iter().find(|feature| feature.key == key).expect("a feature");
                *config.device.features.get_mut(key) = Selection::default_of(&feature.choices[0]);
            }
            Mechanism::Link => config.host = Host::new(config.host.replay, config.host.queue_depth),
            _ => panic!("{self:?} is no feature"),
        }
    }

    fn is_fault(self) -> bool {
        matches!(self, Mechanism::ProgramFailure | Mechanism::PowerCut)
    }

    /// Whether no device has both: a key has one value, and a life one kind of fault.
    fn excludes(self, other: Mechanism) -> bool {
        self != other
            && match (self, other) {
                (Mechanism::Choice(first, _), Mechanism::Choice(second, _)) => first == second,
                (Mechanism::Feature(first, _), Mechanism::Feature(second, _)) => first == second,
                (Mechanism::Tenants(_), Mechanism::Tenants(_)) => true,
                // It always gives way: there is nothing to choose.
                (Mechanism::Choice("gc_schedule", "paced" | "windows"), Mechanism::Preemption)
                | (Mechanism::Preemption, Mechanism::Choice("gc_schedule", "paced" | "windows")) => true,
                _ => self.is_fault() && other.is_fault(),
            }
    }

    /// A figure that says that the mechanism did something, by itself on this device; of a feature, beside any other one too.
    fn sign(self) -> Option<&'static str> {
        match self {
            Mechanism::Choice("gc_schedule", _) => Some("gc.forward"),
            Mechanism::Choice("wear_leveling", _) => Some("wear.moves"),
            Mechanism::Choice("migration", _) => Some("flash.copybacks"),
            Mechanism::Choice("write_buffer", _) => Some("policy.write_buffer.evictions"),
            Mechanism::Choice("refresh", _) => Some("policy.refresh.refreshes"),
            Mechanism::Choice("slc_cache", _) => Some("policy.slc_cache.written_pages"),
            Mechanism::Choice("read_disturb", "refresh") => Some("policy.read_disturb.refreshes"),
            Mechanism::Choice("read_disturb", _) => Some("policy.read_disturb.read_hot_blocks"),
            // An SLC buffer has no backups: its merges are collections.
            Mechanism::Choice("paired_page", name) if ftl::paired::keeps_track(name) && name != "slc-buffer" => {
                Some("flash.by_cause.backup.programs")
            }
            Mechanism::Preemption => Some("gc.preempted"),
            Mechanism::Feature("programming", "two-pass") => Some("flash.first_passes"),
            Mechanism::Feature("cache_read", _) => Some("flash.cache_mode.reads"),
            Mechanism::Feature("cache_program", _) => Some("flash.cache_mode.programs"),
            Mechanism::Feature("program_suspend", _) => Some("flash.suspends.programs"),
            Mechanism::Feature("erase_suspend", _) => Some("flash.suspends.erases"),
            Mechanism::Feature("media", _) => Some("flash.by_cause.retry.reads"),
            _ => None,
        }
    }
}

/// A small device under a mapping, with both.
struct Pair {
    mapping: &'static str,
    executor: Executor,
    both: [Mechanism; 2],
}

/// What came of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Runs,
    /// No time passes, and without time one of both is a device like any other. It is accepted, and not run.
    Timeless,
    /// It is accepted, and not drawn to be run.
    Accepted,
    /// It runs, and the protection of paired pages is none against this fault.
    Unprotected,
    Excluded,
    /// The reason.
    Refused(String),
    /// A fault of this program.
    Fault(String),
}

impl Pair {
    fn has(&self, mechanism: Mechanism) -> bool {
        self.both.contains(&mechanism)
    }

    fn chosen(&self, key: &str) -> Option<&'static str> {
        self.both.iter().find_map(|mechanism| match *mechanism {
            Mechanism::Choice(seam, name) if seam == key => Some(name),
            _ => None,
        })
    }

    fn has_feature(&self, key: &str) -> bool {
        self.both.iter().any(|mechanism| matches!(mechanism, Mechanism::Feature(of, _) if *of == key))
    }

    /// The arbitration among tenants.
    fn arbitration(&self) -> Option<&'static str> {
        self.both.iter().find_map(|mechanism| match *mechanism {
            Mechanism::Tenants(name) => Some(name),
            _ => None,
        })
    }

    /// The executor of its life: a life with a fault passes without time, but for tenants, which need it.
    fn executor_of_life(&self) -> Executor {
        if self.has_fault() && self.arbitration().is_none() { Executor::Count } else { self.executor }
    }

    fn has_fault(&self) -> bool {
        self.both.iter().any(|mechanism| mechanism.is_fault())
    }

    /// 2 channels of a die of 2 planes under a skewed mix of reads and writes with pauses, aged by one random overwrite.
    /// What a mechanism calls for is there, unless the other one says otherwise.
    fn config(&self) -> Config {
        // A life is short where a device is small, and there are many.
        let more = if self.chosen("read_disturb").is_some() { 28 } else { 0 };
        let mut config =
            if self.has_fault() { plain(2, 1, 1, 2, 20 + more, 8) } else { plain(2, 1, 1, 2, 28 + more, 16) };
        config.run.executor = self.executor;
        let has_stamps = self.both[0] != self.both[1] || self.has(Mechanism::Stamps) || self.has_fault();
        config.run.payload = if has_stamps { Payload::Stamp } else { Payload::None };
        // Small pages, so that the map of a plane takes several translation pages; but of two codewords, where one may go alone, and of
        // two, four or eight map units.
        let is_small = self.mapping == "dftl" && !self.has_feature("read_transfer");
        config.device.page_size = match self.chosen("map_unit") {
            Some(_) => 1024 * self.units_of_page(),
            None if is_small => 512,
            None => 1024,
        };
        self.set_cells(&mut config);
        self.set_choices(&mut config);
        match self.chosen("migration") {
            Some("copyback") => config.device.wear.copyback = forgiving(),
            // A band of few thresholds, and so of few quotas: each has a block open.
            Some("rcpb") => config.device.wear.pe_cycles = 2500,
            _ => {}
        }
        let is_read = self.chosen("read_disturb").is_some();
        if is_read {
            // As few as a refresh leaves room for, and backups of the pages of two planes.
            let is_twin = self.chosen("reclaim_unit") == Some("twin");
            let of_units = if self.chosen("map_unit").is_some() { self.units_of_page() / 2 } else { 1 };
            config.device.wear.read_limit = Some([if is_twin { 96 } else { 72 }, 400].map(|reads| reads * of_units));
        }
        self.set_capacity(&mut config);
        let reads = if is_read { 0.9 } else { 0.3 };
        let mut generator = generator("zipf", 1536, reads, config.device.user_capacity);
        (generator.interval, generator.poisson) = (Duration::from_us(400), true);
        (generator.idle_every, generator.idle_for) = (40, Duration::from_us(200_000));
        config.workload.source = Source::Generator(generator);
        let is_alone = self.both[0] == self.both[1];
        let lends = is_alone && self.chosen("slc_cache") == Some("dynamic");
        let requests = match () {
            () if lends => 3000,
            () if is_read && is_alone => 8000,
            // Each handle has blocks of its own open.
            () if self.chosen("separation").is_some_and(|name| ["streams", "fdp", "write-hints"].contains(&name)) => {
                if is_read {
                    8000
                } else {
                    2000
                }
            }
            () if is_read && !self.has_fault() => 2500,
            // Pages that wait for their entries seldom follow each other to a die.
            () if self.mapping == "dftl" && self.has_feature("cache_program") => 1800,
            () => 600,
        };
        config.workload.end = End { requests: Some(requests), ..End::default() };
        config.workload.hint_parts = 4;
        config.host = Host::new(Replay::Open, Some(16));
        self.set_features(&mut config);
        // Collections for want of room leave no blocks to lend: those of a new device are.
        config.run.precondition = match lends {
            true => Precondition::None,
            false => Precondition::Random { volume: config.device.user_capacity },
        };
        if let Some(arbitration) = self.arbitration() {
            three_tenants(&mut config, arbitration);
        }
        config
    }

    /// Map units of a flash page, by what is there besides: each of the three numbers comes with a third of the mechanisms.
    fn units_of_page(&self) -> u32 {
        let besides = self.both.iter().filter_map(|both| Mechanism::all().iter().position(|of_all| of_all == both));
        [2, 4, 8][besides.sum::<usize>() % 3]
    }

    fn needs_media(&self) -> bool {
        matches!(self.chosen("refresh"), Some("errors" | "patrol"))
    }

    fn set_features(&self, config: &mut Config) {
        // Refresh by errors has none to go by without media that age.
        if self.needs_media() {
            equip(&mut config.device, "media", "table", params("table"));
        }
        for mechanism in self.both {
            match mechanism {
                Mechanism::Feature(key, name) => equip(&mut config.device, key, name, params(name)),
                Mechanism::Link => {
                    config.host.link = Some(20_000_000);
                    config.host.command_time = Duration::from_us(8);
                    config.host.command_interval = Duration::from_us(2);
                }
                _ => {}
            }
        }
    }

    /// Two bits to a cell. Without a protection a fault in one of two paired pages may destroy the other one.
    fn set_cells(&self, config: &mut Config) {
        let has_wordlines = self.has_feature("programming");
        let is_unprotected = self.has_fault() && self.protection().is_none() && !has_wordlines;
        let times = match is_unprotected {
            true => &[500][..],
            // A wordline takes one time.
            false if has_wordlines => &[900, 900],
            false => &[500, 900],
        };
        config.device.cell = if is_unprotected { Cell::Slc } else { Cell::Mlc };
        config.device.timing.read = times.iter().map(|us| Duration::from_us(us / 10)).collect();
        config.device.timing.program = times.iter().map(|&us| Duration::from_us(us)).collect();
    }

    /// The protection of paired pages. Low density takes cells of two bits, and a fault would destroy one of two pages.
    fn protection(&self) -> Option<&'static str> {
        let has_levels = matches!(self.chosen("read_disturb"), Some("hot-low-density" | "ipr"));
        let of_cache = if self.has(Mechanism::PowerCut) { "supercap" } else { "page-buffer" };
        let of_levels = (self.has_fault() && has_levels).then_some("lsb-backup");
        self.chosen("paired_page").or(of_levels).or((self.has_fault() && self.cache().is_some()).then_some(of_cache))
    }

    /// The pseudo-SLC cache: blocks in SLC mode are those of one, where nobody else has some.
    fn cache(&self) -> Option<&'static str> {
        let has_blocks = matches!(self.chosen("paired_page"), Some(name) if ftl::paired::keeps_track(name));
        self.chosen("slc_cache").or((self.has_feature("slc_mode") && !has_blocks).then_some("static"))
    }

    fn set_choices(&self, config: &mut Config) {
        let ftl = &mut config.ftl;
        let cache = [("cache", ParamValue::Size(4 * 16 * 8))];
        choose(ftl, "mapping", self.mapping, if self.mapping == "dftl" { &cache } else { &[] });
        choose(ftl, "allocation", "CWDP", &[]);
        choose(ftl, "scheduler", "paq", &[]);
        if self.mapping == "fast" {
            choose(ftl, "victim", "fifo", &[]);
        }
        if let Some(protection) = self.protection() {
            choose(ftl, "paired_page", protection, &[]);
        }
        if let Some(cache) = self.cache() {
            choose(ftl, "slc_cache", cache, &[]);
        }
        for mechanism in self.both {
            if let Mechanism::Choice(seam, name) = mechanism {
                choose(ftl, seam, name, if seam == "slc_cache" { &[] } else { params(name) });
            }
        }
        // A map in flash and superblocks over channels go with one reclaim group.
        if self.chosen("separation") == Some("fdp")
            && self.mapping == "page"
            && self.chosen("reclaim_unit") != Some("superblock")
        {
            ftl.get_mut("separation").set("reclaim_groups", 2.into());
        }
        if self.chosen("wear_leveling") == Some("swap") && self.chosen("block_allocation").is_none() {
            choose(ftl, "block_allocation", "least-worn", &[]);
        }
        if self.chosen("paired_page") == Some("gcmix-adaptive") && self.chosen("separation").is_none() {
            choose(ftl, "separation", "dac", params("dac"));
        }
        self.set_schedule(ftl);
    }

    /// So many blocks are held free that a collection can open one in each of three regions or four classes. Preemption is of collections
    /// ahead of need.
    fn set_schedule(&self, ftl: &mut Choices) {
        let regions = if matches!(self.chosen("separation"), Some("sepbit" | "midas")) { 4 } else { 3 };
        let free = ("free_blocks", regions.into());
        let preempts = self.has(Mechanism::Preemption);
        let preempt = ("preempt", if preempts { "on" } else { "off" }.into());
        match self.chosen("gc_schedule") {
            Some("paced") => choose(ftl, "gc_schedule", "paced", &[free]),
            Some("windows") => {
                let [inside, between] = WINDOWS.map(|(name, ns)| (name, Duration(ns).into()));
                choose(ftl, "gc_schedule", "windows", &[free, ("stock", 4.into()), inside, between]);
            }
            Some(name) => choose(ftl, "gc_schedule", name, &[free, preempt]),
            None if preempts => choose(ftl, "gc_schedule", "background", &[free, preempt]),
            None => choose(ftl, "gc_schedule", "threshold", &[free]),
        }
    }

    /// Half of the pages for the user, or what the policies and features leave; whole superpages.
    fn set_capacity(&self, config: &mut Config) {
        let device = &config.device;
        let blocks = device.channels * device.planes_per_die * device.blocks_per_plane;
        let raw = u64::from(blocks * device.pages_per_block * device.page_size);
        let mut whole = config.clone();
        self.set_features(&mut whole);
        let most = device::largest_user_capacity(&whole);
        let page = page_size(config);
        config.device.user_capacity = (raw / 2).min(most / 10 * 9) / page * page;
    }

    fn outcome(&self) -> Outcome {
        if self.both[0].excludes(self.both[1]) {
            return Outcome::Excluded;
        }
        let tried = catch_unwind(AssertUnwindSafe(|| self.run()));
        tried.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Outcome::Fault(text.or(panic.downcast_ref::<&str>().map(|text| (*text).into())).unwrap_or_default())
        })
    }

    fn run(&self) -> Outcome {
        let state = self.has(Mechanism::SavedState).then(|| StateFile(temporary("state")));
        let aged = self.config();
        let mut config = aged.clone();
        if let Some(file) = &state {
            config.run.precondition = Precondition::State { path: file.0.display().to_string() };
        }
        if self.arbitration().is_some() && self.executor == Executor::Count {
            return Outcome::Refused(tenants::unread(&config));
        }
        if let Err(refusal) = device::check(&config) {
            let is_of_feature = refusal.key.strip_prefix("device.").is_some_and(|key| self.has_feature(key));
            let is_of_media = refusal.key == "device.media" && self.needs_media();
            let is_of_these = refusal.key.starts_with("ftl.") || is_of_feature || is_of_media;
            assert!(is_of_these, "not for these two, but for this device: {refusal:?}");
            return Outcome::Refused(reason(&config, refusal.key, &refusal.message));
        }
        let is_alone = self.both[0] == self.both[1];
        if !is_alone
            && self.executor_of_life() == Executor::Count
            && self.both.iter().any(|feature| IDLE.contains(&feature.name()))
        {
            return Outcome::Timeless;
        }
        if !self.is_drawn() {
            return Outcome::Accepted;
        }
        let result = match &state {
            Some(file) => simulate(&aged, Some(&file.0)).and_then(|_| self.live(&config)),
            None => self.live(&config),
        };
        match result {
            Ok(outcome) => outcome,
            // What this device wrote itself is never the user's fault.
            Err(RunError::Input(text)) if text.contains(" is damaged ") => Outcome::Fault(text),
            Err(RunError::Input(text)) => Outcome::Refused(text),
            Err(error) => Outcome::Fault(error.to_string()),
        }
    }

    /// Each alone, saved states, which may be refused where they are read, and of the others one in six; `make evidence` runs all.
    fn is_drawn(&self) -> bool {
        let names = format!("{} {:?} {:?}", self.mapping, self.executor, self.both);
        let is_special = self.both[0] == self.both[1] || self.has(Mechanism::SavedState);
        is_long() || std::env::var_os("UPDATE_GOLDEN").is_some() || is_special || Chance::new(1, &names).below(6) == 0
    }

    fn live(&self, config: &Config) -> Result<Outcome, RunError> {
        let troubles = match self.both.iter().find(|mechanism| mechanism.is_fault()) {
            Some(Mechanism::ProgramFailure) => &[Trouble::ProgramFailure][..],
            Some(_) => &[Trouble::PowerCut, Trouble::SecondCut],
            None => return self.check(config, &simulate(config, None)?),
        };
        if self.has(Mechanism::SavedState) {
            return restart_from_state(config, self.has(Mechanism::PowerCut));
        }
        if self.arbitration().is_some() {
            return tenants::in_time(config, troubles[0]);
        }
        // Lives with reads have more operations, and more yet where each may read a page of the map first.
        let stride: u64 = match (self.chosen("read_disturb"), self.mapping) {
            (None, _) => 131,
            (Some(_), "dftl") => 9001,
            (Some(_), _) => 2503,
        };
        // And few programs among them.
        let stride = |trouble| if trouble == Trouble::ProgramFailure { stride.div_ceil(32) } else { stride };
        let losses = troubles.iter().map(|&trouble| loss(config, trouble, stride(trouble)));
        let loss = losses.collect::<Result<Vec<_>, RunError>>()?.into_iter().flatten().next();
        Ok(match (is_promised(config, troubles[0]), loss) {
            (false, _) => Outcome::Unprotected,
            (true, None) => Outcome::Runs,
            (true, Some(loss)) => Outcome::Fault(loss),
        })
    }

    /// A run in which nothing was collected, or in which the mechanism did nothing, shows nothing.
    fn check(&self, config: &Config, summary: &Value) -> Result<Outcome, RunError> {
        assert!(figure(summary, "flash.block_erases") > 0.0, "nothing was collected");
        let [first, second] = self.both;
        let is_alone = first == second;
        let own = figures(summary.clone()).to_string();
        let features = self.both.into_iter().filter(|mechanism| mechanism.is_feature());
        for feature in features.take(if is_alone { 1 } else { 2 }) {
            let mut without = config.clone();
            feature.remove(&mut without);
            if device::check(&without).is_err_and(|refusal| refusal.key == "ftl.refresh") {
                // It calls for the feature.
                continue;
            }
            let other = once(&FIGURES, format!("{without:?}"), || Ok(figures(simulate(&without, None)?).to_string()));
            let other = match other {
                // A state has the feature in it, and fits no device without: that is a difference too.
                Err(RunError::Input(text)) if text.contains("was saved with `device.") => continue,
                other => other?,
            };
            let is_idle = other == own;
            if is_idle && self.executor == Executor::Count {
                return Ok(Outcome::Timeless);
            }
            assert!(!is_idle, "{feature:?} changes nothing");
        }
        for mechanism in self.both.into_iter().filter(|mechanism| is_alone || mechanism.is_feature()) {
            let did_something = mechanism.sign().is_none_or(|sign| figure(summary, sign) > 0.0);
            assert!(did_something, "{:?} is 0: {mechanism:?} did nothing", mechanism.sign());
        }
        if let Source::Tenants(tenants) = &config.workload.source {
            tenants::each_had_its_requests(tenants, summary);
        }
        if is_alone && self.arbitration() == Some("weighted") {
            tenants::weights_matter(config, &own)?;
        }
        Ok(Outcome::Runs)
    }
}

/// The features that change nothing where no time passes, by name.
static IDLE: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let features: Vec<Mechanism> = Mechanism::all().into_iter().filter(|mechanism| mechanism.is_feature()).collect();
    let is_idle = on_all_processors(&features, |&feature| {
        let alone = Pair { mapping: "page", executor: Executor::Count, both: [feature; 2] };
        alone.outcome() == Outcome::Timeless
    });
    features.iter().zip(is_idle).filter(|(_, is_idle)| *is_idle).map(|(feature, _)| feature.name()).collect()
});

/// Results by what was run.
type Known<T> = Mutex<BTreeMap<String, T>>;

/// Figures of devices without a feature: beside whichever feature, such a device is the same.
static FIGURES: Known<String> = Known::new(BTreeMap::new());

/// First losses of lives, which pass without time under both executors.
static LOSSES: Known<Option<String>> = Known::new(BTreeMap::new());

/// The result of something that is run once.
fn once<T: Clone>(known: &Known<T>, what: String, run: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    let found = known.lock().expect("no panic while held").get(&what).cloned();
    if let Some(found) = found {
        return Ok(found);
    }
    let found = run()?;
    known.lock().expect("no panic while held").insert(what, found.clone());
    Ok(found)
}

/// The first loss of lives with a trouble, if there is one.
fn loss(config: &Config, trouble: Trouble, stride: u64) -> Result<Option<String>, RunError> {
    let mut config = config.clone();
    config.run.executor = Executor::Count;
    once(&LOSSES, format!("{trouble:?} {config:?}"), || {
        let tally = survival::try_everywhere(&config, trouble, 1, stride, &Interrupt::default())?;
        assert!(tally.runs > 5, "{tally:?}");
        Ok(tally.first.map(|loss| format!("{loss:?}")))
    })
}

/// What a run came to, without what was asked for and what it took.
fn figures(mut summary: Value) -> Value {
    let object = summary.as_object_mut().expect("a summary");
    ["config", "run", "promises"].iter().for_each(|key| drop(object.remove(*key).expect("a part of every summary")));
    summary
}

/// Parameters for a small device.
fn params(choice: &str) -> &'static [(&'static str, ParamValue)] {
    match choice {
        "dac" => &[("regions", ParamValue::Integer(3))],
        "sepbit" => &[("classes", ParamValue::Integer(4))],
        "midas" => &[("groups", ParamValue::Integer(4)), ("epoch", ParamValue::Integer(1))],
        "future" => &[("classes", ParamValue::Integer(3))],
        "streams" => &[("streams", ParamValue::Integer(2))],
        "fdp" => &[("handles", ParamValue::Integer(2)), ("isolation", ParamValue::Word("persistent"))],
        "slc-buffer" => &[("blocks", ParamValue::Integer(2))],
        "gcmix" | "gcmix-adaptive" => &[("high", ParamValue::Integer(28))],
        "static" | "swap" => &[("threshold", ParamValue::Integer(1))],
        "refresh" => &[("margin", ParamValue::Integer(12))],
        "redftl" | "read-leveling" => &[
            ("margin", ParamValue::Integer(12)),
            ("hot_pages", ParamValue::Integer(2)),
            ("shadow", ParamValue::Number(0.2)),
        ],
        "hot-low-density" => &[("margin", ParamValue::Integer(12)), ("low_density", ParamValue::Number(0.2))],
        "ipr" => &[
            ("margin", ParamValue::Integer(12)),
            ("low_density", ParamValue::Number(0.2)),
            ("pool", ParamValue::Number(0.4)),
        ],
        "age" => &[("age", ParamValue::Time(Duration(1_000_000_000)))],
        "errors" => &[("retries", ParamValue::Integer(1)), ("least_age", ParamValue::Time(Duration(1_000_000)))],
        "patrol" => &[
            ("period", ParamValue::Time(Duration(1_000_000_000))),
            ("retries", ParamValue::Integer(1)),
            ("least_age", ParamValue::Time(Duration(1_000_000))),
        ],
        "fifo" | "lru" => &[("size", ParamValue::Size(8192))],
        "sectors" => &[("codeword", ParamValue::Size(512))],
        "formula" | "table" => &[("age", ParamValue::Time(YEAR))],
        _ => &[],
    }
}

/// What a cell says of a refusal: the key and the message, which begins with the choice's name where several choices have
/// the same reason.
fn reason(config: &Config, key: &str, message: &str) -> String {
    let name = match key.split_once('.') {
        Some(("device", key)) => Some(config.device.features.get(key).name),
        Some(("ftl", seam)) if seam != "mapping" => Some(config.ftl.get(seam).name),
        _ => None,
    };
    let own = name.and_then(|name| message.strip_prefix(&format!("`{name}` ")));
    format!("{key}: {}", own.unwrap_or(message))
}

fn simulate(config: &Config, save: Option<&Path>) -> Result<Value, RunError> {
    let mut options = Options { save_state: save.map(Path::to_owned), ..Options::default() };
    device::simulate(config, &mut options).map(|outcome| outcome.summary)
}

/// Whether the protection of paired pages is one against this; cells of one bit need none.
fn is_promised(config: &Config, trouble: Trouble) -> bool {
    match config.ftl.get("paired_page").name {
        "page-buffer" => trouble == Trouble::ProgramFailure,
        "supercap" => trouble != Trouble::ProgramFailure,
        _ => true,
    }
}

/// Lives with a fault begin with an empty device; a device from a file can be cut off and restarted once.
fn restart_from_state(config: &Config, is_cut: bool) -> Result<Outcome, RunError> {
    if !is_cut {
        return Err(RunError::Input("lives in which a program fails begin with an empty device".into()));
    }
    let cost = survival::restart_cost(config, &Interrupt::default())?;
    assert!(figure(&cost, "pages_read") > 0.0, "{cost}");
    Ok(Outcome::Runs)
}

/// A state file, removed at the end.
struct StateFile(std::path::PathBuf);

impl Drop for StateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Each pair once, mapping by mapping and executor by executor, row by row.
fn pairs() -> Vec<Pair> {
    let all = Mechanism::all();
    let mut pairs = Vec::new();
    for mapping in mappings() {
        for (_, executor) in EXECUTORS {
            for (row, &first) in all.iter().enumerate() {
                pairs.extend(all[..=row].iter().map(|&second| Pair { mapping, executor, both: [first, second] }));
            }
        }
    }
    pairs
}

fn mappings() -> Vec<&'static str> {
    let seam = device::seams().into_iter().find(|seam| seam.key == "mapping").expect("a seam");
    seam.choices.iter().map(|choice| choice.name).collect()
}

/// Data of which nothing can be corrected, beside every mechanism: a collection loses them, and the host is told. The stamps say that no
/// other data are read in their place.
#[test]
fn what_cannot_be_corrected_is_lost_beside_every_mechanism() {
    let is_of_these = |mechanism: &Mechanism| {
        !mechanism.is_fault() && !matches!(mechanism, Mechanism::SavedState | Mechanism::Feature("media", _))
    };
    let all: Vec<Mechanism> = Mechanism::all().into_iter().filter(is_of_these).collect();
    let with = |mapping| {
        let pair =
            move |&other: &Mechanism| Pair { mapping, executor: Executor::Timed, both: [other, Mechanism::Stamps] };
        all.iter().map(pair).collect::<Vec<_>>()
    };
    let pairs: Vec<Pair> = mappings().into_iter().flat_map(with).collect();
    let figures = on_all_processors(&pairs, |pair| {
        let mut config = pair.config();
        let hopeless = [
            ("age", ParamValue::Time(YEAR)),
            ("steps", 1.into()),
            ("soft_gain", 1.0.into()),
            ("correctable", 8.into()),
        ];
        equip(&mut config.device, "media", "table", &hopeless);
        device::check(&config).ok()?;
        let summary =
            simulate(&config, None).unwrap_or_else(|error| panic!("{} {:?}: {error}", pair.mapping, pair.both));
        Some(["flash.retried.lost", "host.failed_reads"].map(|name| figure(&summary, name)))
    });
    for (pair, figures) in pairs.iter().zip(&figures) {
        let Some([lost, failed]) = *figures else { continue };
        // A copyback passes ECC by.
        let loses = !pair.both.contains(&Mechanism::Choice("migration", "copyback"));
        assert!(
            (lost > 0.0) == loses && failed > 0.0,
            "{} {:?}: {lost} lost, {failed} failed",
            pair.mapping,
            pair.both[0]
        );
    }
    assert!(figures.iter().flatten().count() > 80, "most of them run");
}

#[test]
fn every_pair_runs_or_is_refused_with_the_reason() {
    let expected = std::fs::read_to_string(TABLE).unwrap_or_default().replace("\r\n", "\n");
    let pairs = pairs();
    let found = table(&pairs, &on_all_processors(&pairs, Pair::outcome), &mut Reasons::of(&expected));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(TABLE, &found).expect("the table can be written");
    }
    assert!(!found.contains("FAULT"), "pairs that neither run nor are refused:\n{found}");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return;
    }
    let moved = differences(&expected, &found);
    assert!(moved.is_empty(), "the table moved (UPDATE_GOLDEN=1 writes it anew):\n{}", moved.join("\n"));
}

#[test]
fn a_known_reason_keeps_its_number() {
    let mut reasons = Reasons::of("page, count  A\nA twin  1\n\nrefused\n  3  a `key`: wants  more\n 12  another\n");
    assert_eq!(["another", "new", "a `key`: wants  more"].map(|reason| reasons.number(reason)), [12, 13, 3]);
}

#[test]
fn states_of_devices_with_bad_blocks_are_read_back() {
    for executor in [Executor::Count, Executor::Timed] {
        let both = [Mechanism::SavedState, Mechanism::Feature("bad_blocks", "weibull")];
        assert_eq!(Pair { mapping: "page", executor, both }.outcome(), Outcome::Runs);
    }
}

/// Without a protection, a power cut between two pages of a wordline destroys what was acknowledged.
#[test]
fn a_loss_is_a_fault() {
    let pair = Pair { mapping: "page", executor: Executor::Count, both: [Mechanism::PowerCut, Mechanism::Stamps] };
    let mut config = pair.config();
    assert_eq!(pair.live(&config).expect("a life"), Outcome::Runs);
    config.device.cell = Cell::Mlc;
    config.device.timing.read = vec![Duration::from_us(50); 2];
    config.device.timing.program = vec![Duration::from_us(500); 2];
    let outcome = pair.live(&config).expect("a life");
    assert!(matches!(&outcome, Outcome::Fault(text) if text.contains("promised")), "{outcome:?}");
}

/// Figures by their paths.
fn lines_of(figures: &Value) -> BTreeMap<String, String> {
    let mut lines = BTreeMap::new();
    let mut open = vec![(String::new(), figures)];
    while let Some((path, value)) = open.pop() {
        match value.as_object() {
            Some(object) => open.extend(object.iter().map(|(key, value)| (format!("{path}.{key}"), value))),
            None => drop(lines.insert(path, value.to_string())),
        }
    }
    lines
}

/// Under a drive of real bytes a mechanism does what it does without; returns why it is refused.
fn does_the_same_on_a_drive(mapping: &'static str, mechanism: Mechanism) -> Result<(), String> {
    let mut config = Pair { mapping, executor: Executor::Count, both: [mechanism; 2] }.config();
    if device::check(&config).is_err() {
        return Ok(());
    }
    let mut on_drive = config.clone();
    // With spare areas, as a drive has them.
    config.run.payload = Payload::Stamp;
    (on_drive.run.payload, on_drive.run.executor) = (Payload::None, Executor::Device);
    device::check(&on_drive).map_err(|refusal| format!("{}: {}", refusal.key, refusal.message))?;
    let run =
        |config: &Config| figures(simulate(config, None).unwrap_or_else(|error| panic!("{mechanism:?}: {error}")));
    let (mut without, mut with) = (run(&config), run(&on_drive));
    assert!(with["device"]["sectors_checked_after_restart"].as_u64() > Some(0), "{mapping}, {mechanism:?}");
    with.as_object_mut().expect("a summary").remove("device");
    if mapping == "dftl" {
        // The drive's own pages have map entries too.
        [&mut with, &mut without].into_iter().for_each(|figures| drop(figures["policy"]["mapping"].take()));
    }
    let (with, without) = (lines_of(&with), lines_of(&without));
    if mechanism == Mechanism::Choice("separation", "midas") {
        // They are part of the capacity too, by which its epochs go.
        assert_eq!(with.len(), without.len(), "{mapping}");
        return Ok(());
    }
    let moved: Vec<_> = without.iter().zip(&with).filter(|(without, with)| without != with).collect();
    assert!(moved.is_empty() && with.len() == without.len(), "{mapping}, {mechanism:?}: {moved:#?}");
    Ok(())
}

/// And after cuts no sector is lost, where the protection promises it.
fn survives_cuts_on_a_drive(mapping: &'static str, mechanism: Mechanism) -> Result<(), String> {
    let mut config = Pair { mapping, executor: Executor::Timed, both: [mechanism, Mechanism::PowerCut] }.config();
    (config.run.payload, config.run.precondition) = (Payload::None, Precondition::None);
    if device::check(&config).is_err() {
        // Not for drives alone.
        return Ok(());
    }
    device::check_drive(&config).map_err(|refusal| format!("{}: {}", refusal.key, refusal.message))?;
    let reads = if matches!(mechanism, Mechanism::Choice("read_disturb", _)) { 200 } else { 0 };
    let cuts = SectorCuts {
        first_seed: 0,
        seeds: 1,
        requests: 120 + reads as u32 * 4,
        stride: if is_long() { 5 } else { 37 } + reads,
        twice: true,
        reads,
        afterwards: 12,
        broken: None,
    };
    let tally =
        try_sectors(&config, &cuts, &Interrupt::default()).unwrap_or_else(|error| panic!("{mechanism:?}: {error}"));
    assert!(tally.cuts > 2 && tally.stops > 1, "{mapping}, {mechanism:?}: {tally:?}");
    if is_promised(&config, Trouble::PowerCut) {
        assert_eq!(tally.first, None, "{mapping}, {mechanism:?}: {tally:?}");
    }
    Ok(())
}

/// Every mechanism that survives restarts runs on drives of real bytes.
#[test]
fn every_mechanism_runs_on_drives() {
    let is_of_lives =
        |mechanism: &Mechanism| mechanism.is_fault() || matches!(mechanism, Mechanism::Stamps | Mechanism::SavedState);
    // Tenants need time, and a drive of real bytes has hosts of its own.
    let is_of_lives = |mechanism: &Mechanism| is_of_lives(mechanism) || matches!(mechanism, Mechanism::Tenants(_));
    let mechanisms: Vec<Mechanism> = Mechanism::all().into_iter().filter(|mechanism| !is_of_lives(mechanism)).collect();
    let cases: Vec<(&str, Mechanism)> = ["page", "dftl"]
        .into_iter()
        .flat_map(|mapping| mechanisms.iter().map(move |&mechanism| (mapping, mechanism)))
        .collect();
    let refusals = on_all_processors(&cases, |&(mapping, mechanism)| {
        let same = does_the_same_on_a_drive(mapping, mechanism);
        (same.err(), survives_cuts_on_a_drive(mapping, mechanism).err())
    });
    let mut refused = BTreeSet::new();
    for (&(mapping, mechanism), (without_time, ever)) in cases.iter().zip(refusals) {
        let is_schedule =
            mechanism == Mechanism::Preemption || matches!(mechanism, Mechanism::Choice("gc_schedule", _));
        assert!(without_time.is_none() || ever.is_some() || is_schedule, "{mapping}, {mechanism:?}: {without_time:?}");
        refused.extend(ever.map(|reason| format!("{mapping}, {}: {reason}", mechanism.name())));
    }
    let refused: Vec<String> = refused.into_iter().collect();
    let future = "`future` places pages by when they will be written next, and a host writes to a drive of real bytes as it likes";
    let of_hints = |name| {
        let has_none = "places pages by hints of their writes, and what comes to a drive of real bytes has none";
        format!("`{name}` {has_none}")
    };
    let reasons = ["fdp", "future", "streams", "write-hints"].map(|name| {
        format!("{name}: ftl.separation: {}", if name == "future" { future.into() } else { of_hints(name) })
    });
    let expected = ["dftl", "page"].map(|mapping| reasons.clone().map(|reason| format!("{mapping}, {reason}")));
    assert_eq!(refused, expected.concat());
}
