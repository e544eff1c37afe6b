//! All five papers on one device: every subset of twin blocks (TBM), copyback with quotas (rCPB), collections ahead of need
//! (GC forwarding or cycle filling), reprogramming in place (IPR) and paired pages filled by GC (GCMix).
//!
//! The table has a small TLC device for each subset, under page mapping and with the map in flash, and says what each mechanism
//! did there in the presence of the others. The random devices are held to the same conformance, faults included: data are
//! compared, every state is checked, and the array refuses copybacks past a budget and reads past a limit.

mod common;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Cell, Duration, Multiplane, ParamValue, ProgramOrder};
use common::*;
use config::Config;
use config::model::*;
use device::survival::{Trouble, try_everywhere};
use engine::Chance;
use files::Interrupt;
use serde_json::Value;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/subsets.txt");

const NAMES: [&str; 5] = ["twin", "rcpb", "ahead", "ipr", "gcmix"];
const TWIN: u32 = 1;
const RCPB: u32 = 2;
const AHEAD: u32 = 4;
const IPR: u32 = 8;
const GCMIX: u32 = 16;
const SUBSETS: u32 = 32;
const MAPPINGS: [&str; 2] = ["page", "dftl"];
const SCHEDULES: [&str; 2] = ["forwarding", "cycle-filling"];

/// Some of the five on a device.
#[derive(Clone, Copy, Debug)]
struct Subset {
    mapping: &'static str,
    schedule: &'static str,
    members: u32,
}

impl Subset {
    /// All of them; without collections ahead of need there is one schedule.
    fn all() -> Vec<Subset> {
        let mut all = Vec::new();
        for mapping in MAPPINGS {
            for members in 0..SUBSETS {
                let schedules = if members & AHEAD == 0 { &["threshold"][..] } else { &SCHEDULES[..] };
                all.extend(schedules.iter().map(|&schedule| Subset { mapping, schedule, members }));
            }
        }
        all
    }

    fn has(self, member: u32) -> bool {
        self.members & member != 0
    }

    fn name(self) -> String {
        let names = (0..5).filter(|&bit| self.has(1 << bit)).map(|bit| match 1 << bit {
            AHEAD => self.schedule,
            _ => NAMES[bit],
        });
        let names: Vec<&str> = names.collect();
        if names.is_empty() { "none".into() } else { names.join(" + ") }
    }

    /// Puts the members in force on a device that is otherwise as it was.
    fn apply(self, config: &mut Config, free_blocks: u32, ipr: &[(&'static str, ParamValue)]) {
        let ftl = &mut config.ftl;
        if self.has(TWIN) {
            choose(ftl, "reclaim_unit", "twin", &[]);
        }
        if self.has(RCPB) {
            choose(ftl, "migration", "rcpb", &[]);
        }
        let free = ("free_blocks", free_blocks.into());
        choose(ftl, "gc_schedule", self.schedule, &[free]);
        if self.has(IPR) {
            choose(ftl, "read_disturb", "ipr", ipr);
        }
        if self.has(GCMIX) {
            // The map in flash holds more blocks free, from which mixing begins.
            let high = free_blocks + if self.mapping == "dftl" { 8 } else { 4 };
            choose(ftl, "paired_page", "gcmix", &[("high", high.into())]);
        }
    }
}

/// A device of three bits a cell under a skewed mix of reads and writes with pauses, aged by one random overwrite.
fn device_for(subset: Subset) -> Config {
    let mut config = plain(2, 1, 1, 2, 40, 24);
    set_cells(&mut config.device, Cell::Tlc, [50, 700]);
    config.device.page_size = if subset.mapping == "dftl" { 512 } else { 1024 };
    config.device.timing.channel_rate = 100_000_000;
    config.device.wear.pe_cycles = 2500;
    // Pages of the map are read far more often than others.
    config.device.wear.read_limit = Some(if subset.mapping == "dftl" { [115, 1150] } else { [110, 1000] });
    let cache = [("cache", ParamValue::Size(4 * 300 * 8))];
    choose(&mut config.ftl, "mapping", subset.mapping, if subset.mapping == "dftl" { &cache } else { &[] });
    choose(&mut config.ftl, "allocation", if subset.mapping == "dftl" { "CWDP" } else { "F2" }, &[]);
    choose(&mut config.ftl, "scheduler", "paq", &[]);
    let shares = [("margin", 12.into()), ("low_density", 0.15.into()), ("pool", 0.4.into())];
    subset.apply(&mut config, 4, &shares);
    if !subset.has(IPR) {
        choose(&mut config.ftl, "read_disturb", "refresh", &[("margin", 12.into())]);
    }
    set_capacity(&mut config, 0.8);
    let size = 4 * u64::from(config.device.page_size);
    let mut generator = generator("zipf", size, 0.9, config.device.user_capacity);
    (generator.interval, generator.poisson) = (Duration::from_us(500), true);
    (generator.idle_every, generator.idle_for) = (40, Duration::from_us(50_000));
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(40_000), ..End::default() };
    config.host = Host { replay: Replay::Open, queue_depth: 16, link: None, time_scale: 1.0 };
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config.run.checks = Checks::Fast;
    config
}

/// Cells, with times that differ from page to page of a wordline, in microseconds of its first one.
fn set_cells(device: &mut Device, cell: Cell, [read, program]: [u64; 2]) {
    device.cell = cell;
    let times = |first: u64| (0..u64::from(cell.bits())).map(|bit| Duration::from_us(first * (2 + bit) / 2)).collect();
    (device.timing.read, device.timing.program) = (times(read), times(program));
}

/// That share of the pages for the user, or what the policies leave; whole pages of the FTL.
fn set_capacity(config: &mut Config, share: f64) {
    let device = &config.device;
    let planes = device.channels * device.chips_per_channel * device.dies_per_chip * device.planes_per_die;
    let raw = f64::from(planes * device.blocks_per_plane * device.pages_per_block) * f64::from(device.page_size);
    let (most, page) = (device::largest_user_capacity(config), page_size(config));
    config.device.user_capacity = ((raw * share) as u64).min(most / 10 * 9) / page * page;
    config.device.over_provisioning = raw / config.device.user_capacity as f64 - 1.0;
}

/// What each member did: the figures of the table.
fn figures(summary: &Value) -> [f64; 9] {
    let or_none = |path: &str| path.split('.').fold(summary, |value, key| &value[key]).as_f64().unwrap_or(0.0);
    [
        or_none("waf"),
        or_none("flash.block_erases"),
        or_none("flash.multiplane.program_fraction"),
        or_none("flash.copybacks"),
        or_none("gc.forward"),
        or_none("policy.read_disturb.refreshes"),
        or_none("flash.reprograms"),
        or_none("policy.paired_page.paired_pages"),
        or_none("policy.mapping.fetches"),
    ]
}

/// A line of the table, once every member has done something, and no other.
fn line(subset: Subset) -> String {
    let config = device_for(subset);
    let summary = run(&config);
    let [waf, erases, multiplane, copybacks, forward, refreshes, reprograms, paired, fetches] = figures(&summary);
    let has_map = subset.mapping == "dftl";
    let signs = [(RCPB, copybacks), (AHEAD, forward), (IPR, reprograms), (GCMIX, paired)];
    let is_as_chosen = signs.iter().all(|&(member, figure)| (figure > 0.0) == subset.has(member));
    let sign =
        if is_as_chosen && refreshes > 0.0 && (fetches > 0.0) == has_map { "" } else { " FAULT: one did nothing" };
    format!(
        "{waf:>7.3} {erases:>7} {multiplane:>9.4} {copybacks:>7} {forward:>7} {refreshes:>8} {reprograms:>8} {paired:>7} \
         {fetches:>7}{sign}"
    )
}

const HEAD: &str = "\
Every subset of the five on one small TLC device: what each did there, in the presence of the others.

Written anew by UPDATE_GOLDEN=1 cargo test -p ftlab-device --test subsets.

multi: share of programs that used more than one plane; copyb: copybacks; forward: collections ahead of need; refresh: blocks
that were refreshed; reprog: wordlines reprogrammed; paired: pages of victims that host pages went over; fetches: of map pages.
Each device is as full as its policies let it be, up to four pages in five; so figures of two lines need not compare.
";

#[test]
fn every_subset_runs_and_each_member_does_its_part() {
    let subsets = Subset::all();
    let lines = on_all_processors(&subsets, |&subset| line(subset));
    let mut found = HEAD.to_string();
    for mapping in MAPPINGS {
        let _ = writeln!(
            found,
            "\n{mapping:<44} {:>7} {:>7} {:>9} {:>7} {:>7} {:>8} {:>8} {:>7} {:>7}",
            "WAF", "erases", "multi", "copyb", "forward", "refresh", "reprog", "paired", "fetches"
        );
        for (subset, line) in subsets.iter().zip(&lines).filter(|(subset, _)| subset.mapping == mapping) {
            let _ = writeln!(found, "{:<44} {line}", subset.name());
        }
    }
    let expected = std::fs::read_to_string(TABLE).unwrap_or_default().replace("\r\n", "\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(TABLE, &found).expect("the table can be written");
    } else {
        assert!(expected == found, "the table moved (UPDATE_GOLDEN=1 writes it anew):\n{found}");
    }
    assert!(!found.contains("FAULT"), "members that do nothing:\n{found}");
}

/// A random device with a subset in force: `seed % 32` names it.
fn random_device(seed: u64) -> (Subset, Config) {
    let mut random = Chance::new(seed, "subset");
    let r = &mut random;
    let members = (seed % u64::from(SUBSETS)) as u32;
    let schedule = if members & AHEAD == 0 { "threshold" } else { *pick::<&str>(r, &SCHEDULES) };
    let mapping = *pick::<&str>(r, &MAPPINGS);
    let subset = Subset { mapping, schedule, members };
    let cell = *pick(r, &[Cell::Mlc, Cell::Tlc]);
    let wordlines = 3 + r.below_u32(6);
    let (planes, blocks) = (*pick(r, &[2, 4]), 40 + r.below_u32(24));
    let mut config = plain(1 + r.below_u32(3), 1, 1, planes, blocks, wordlines * cell.bits());
    set_cells(&mut config.device, cell, [1 + r.below(100), 10 + r.below(2000)]);
    let device = &mut config.device;
    device.timing.erase = Duration(100_000 + r.below(5_000_000));
    device.timing.channel_rate = 50_000_000 + r.below(1_000_000_000);
    device.program_order = *pick(r, &[ProgramOrder::Consecutive, ProgramOrder::Shadow]);
    device.multiplane = *pick(r, &[Multiplane::Any, Multiplane::Pac]);
    device.page_size = *pick(r, &[512, 1024]);
    device.wear.pe_cycles = r.below_u32(5500);
    device.wear.reprogram_restarts = r.below(2) == 0;
    let full = 4 * device.pages_per_block + 40 + r.below_u32(150);
    device.wear.read_limit = Some([full, full * (4 + r.below_u32(8))]);
    let ftl = &mut config.ftl;
    if subset.mapping == "dftl" {
        let entries = 2 + r.below_u32(100);
        let planes = device.channels * planes;
        choose(ftl, "mapping", "dftl", &[("cache", ParamValue::Size(u64::from(planes * entries * 8)))]);
    }
    let orders: &[&str] = if subset.mapping == "dftl" { &["CWDP", "PDWC"] } else { &["CWDP", "F", "D", "F2"] };
    choose(ftl, "allocation", pick::<&str>(r, orders), &[]);
    choose(ftl, "victim", pick::<&str>(r, &["greedy", "rga", "fifo"]), &[]);
    choose(ftl, "scheduler", pick::<&str>(r, &["fifo", "paq"]), &[]);
    let shares = [
        ("margin", (12 + r.below_u32(5)).into()),
        ("low_density", (0.05 + r.fraction() * 0.2).into()),
        ("monitor", (0.05 + r.fraction() * 0.2).into()),
        ("pool", (0.1 + r.fraction() * 0.6).into()),
        ("at_once", (1 + r.below_u32(2)).into()),
    ];
    subset.apply(&mut config, 3 + r.below_u32(2), &shares);
    if !subset.has(IPR) {
        choose(&mut config.ftl, "read_disturb", "refresh", &[("margin", 12.into())]);
    }
    set_capacity(&mut config, 0.3 + 0.6 * r.fraction());
    let size = *pick(r, &[512, 1536, 4096]);
    let name = *pick::<&str>(r, &["uniform", "sequential", "zipf", "hot-cold", "mixed"]);
    let reads = *pick(r, &[0.2, 0.7, 0.95]);
    let mut generator = generator(name, size, reads, config.device.user_capacity);
    (generator.idle_every, generator.idle_for) = (1 + r.below(50), Duration(r.below(3_000_000)));
    generator.interval = Duration(1 + r.below(1_000_000));
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(1500), ..End::default() };
    config.host = Host { replay: Replay::Open, queue_depth: *pick(r, &[1, 4, 32]), link: None, time_scale: 1.0 };
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config.run.seed = seed;
    (subset, config)
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Seeds of random devices: three of every subset, or as the environment says.
fn seeds() -> Vec<u64> {
    let first = from_environment("FTLAB_FIRST", 0);
    (first..first + from_environment("FTLAB_CASES", 96)).collect()
}

fn described(seed: u64, subset: Subset, config: &Config) -> String {
    format!("case {seed}: {} under {}: {:?} {:?}", subset.name(), subset.mapping, config.device, config.ftl)
}

#[test]
fn random_devices_with_every_subset_keep_their_data() {
    let ran = on_all_processors(&seeds(), |&seed| {
        let (subset, config) = random_device(seed);
        let tried = catch_unwind(AssertUnwindSafe(|| device::check(&config).is_ok().then(|| run(&config))));
        tried.unwrap_or_else(|_| panic!("{}", described(seed, subset, &config))).is_some()
    });
    let share = ran.iter().filter(|&&ran| ran).count() as f64 / ran.len() as f64;
    assert!(share > 0.9, "devices that are too small for their policies: all but {share}");
}

/// Lives of small devices with a fault: the data are there, and no limit was passed.
#[test]
fn every_subset_survives_faults() {
    let stride = from_environment("FTLAB_STRIDE", 2503);
    let troubles = [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut];
    let runs = on_all_processors(&seeds(), |&seed| {
        let (subset, mut config) = random_device(seed + 1_000_000);
        // Lives take time with the size.
        config.device.channels = 1;
        config.device.planes_per_die = 2;
        config.device.page_size = 512;
        config.device.blocks_per_plane = 44;
        if !subset.has(GCMIX) {
            choose(&mut config.ftl, "paired_page", "lsb-backup", &[]);
        }
        set_capacity(&mut config, 0.35);
        config.run.precondition = Precondition::None;
        let trouble = troubles[(seed / u64::from(SUBSETS)) as usize % 3];
        if device::check(&config).is_err() {
            return 0;
        }
        let tried = catch_unwind(AssertUnwindSafe(|| {
            try_everywhere(&config, trouble, 1, stride, &Interrupt::default()).expect("a life")
        }));
        let Ok(tally) = tried else { panic!("{trouble:?} {}", described(seed, subset, &config)) };
        assert_eq!(tally.losing, 0, "{trouble:?} {:?} {}", tally.first, described(seed, subset, &config));
        tally.runs
    });
    let all: u64 = runs.iter().sum();
    assert!(runs.iter().filter(|&&runs| runs > 0).count() * 10 > runs.len() * 9, "lives that could begin: {runs:?}");
    assert!(all > 2 * runs.len() as u64, "{runs:?}");
}
