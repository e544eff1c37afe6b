//! All five papers on one device: every subset of twin blocks (TBM), copyback with quotas (rCPB), collections ahead of need
//! (GC forwarding, cycle filling or deterministic windows), reprogramming in place (IPR) and paired pages filled by GC (GCMix).
//! And each of these subsets a second time with units across dies, which are chosen together.
//!
//! The table has a small TLC device for each subset, under page mapping and with the map in flash, and says what each mechanism
//! did there in the presence of the others. The random devices are held to the same conformance, faults included: data are
//! compared, every state is checked, and a run fails that has more errors in a page than the ECC corrects or reads a block past its limit.
//!
//! Each subset is there a second time with all features of the chip that it goes with, and the random devices have some of them. Half of
//! the random devices have several hosts.

mod faults;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::tenants::random_tenants;
use crate::common::*;
use base::{Cell, Duration, Multiplane, ParamValue, ProgramOrder};
use config::Config;
use config::model::*;
use engine::Chance;
use serde_json::Value;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/subsets.txt");

const NAMES: [&str; 6] = ["twin", "rcpb", "ahead", "ipr", "gcmix", "dies"];
const TWIN: u32 = 1;
const RCPB: u32 = 2;
const AHEAD: u32 = 4;
const IPR: u32 = 8;
const GCMIX: u32 = 16;
/// Units across dies, which are no paper's.
const ACROSS: u32 = 32;
const SUBSETS: u32 = 64;
/// Stands for the map in flash among the members.
const DFTL: u32 = 64;
const MAPPINGS: [&str; 2] = ["page", "dftl"];
/// The last one is no paper's.
const SCHEDULES: [&str; 3] = ["forwarding", "cycle-filling", "windows"];

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
        for (across, mapping) in [0, ACROSS].into_iter().flat_map(|across| MAPPINGS.map(|mapping| (across, mapping))) {
            for members in (0..ACROSS).map(|papers| papers | across) {
                let schedules = if members & AHEAD == 0 { &["threshold"][..] } else { &SCHEDULES[..] };
                all.extend(schedules.iter().map(|&schedule| Subset { mapping, schedule, members }));
            }
        }
        all
    }

    fn has(self, member: u32) -> bool {
        self.members & member != 0
    }

    /// Whether one of them is in force, or the map in flash; nobody in particular always is.
    fn has_member(self, member: u32) -> bool {
        match member {
            0 => true,
            DFTL => self.mapping == "dftl",
            member => self.has(member),
        }
    }

    fn name(self) -> String {
        let names = (0..NAMES.len()).filter(|&bit| self.has(1 << bit)).map(|bit| match 1 << bit {
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
        if self.schedule == "windows" {
            let lengths = ["deterministic", "nondeterministic"].map(|name| (name, Duration(20_000_000).into()));
            choose(ftl, "gc_schedule", "windows", &[free, ("stock", 3.into()), lengths[0], lengths[1]]);
        }
        if self.has(IPR) {
            choose(ftl, "read_disturb", "ipr", ipr);
        }
        if self.has(GCMIX) {
            // The map in flash holds more blocks free, from which mixing begins, and so do windows with their stock.
            let stock = if self.schedule == "windows" { 3 } else { 0 };
            let high = free_blocks + stock + if self.mapping == "dftl" { 8 } else { 4 };
            choose(ftl, "paired_page", "gcmix", &[("high", high.into())]);
        }
        if self.has(ACROSS) {
            choose(ftl, "reclaim_across", "dies", &[]);
        }
    }
}

/// A device of three bits a cell under a skewed mix of reads and writes with pauses, aged by one random overwrite.
fn device_for(subset: Subset) -> Config {
    let mut config = plain(2, 1, 1, 2, 40, 24);
    set_cells(&mut config.device, Cell::Tlc, [50, 700]);
    config.device.page_size = if subset.mapping == "dftl" { 512 } else { 1024 };
    config.device.timing.channel_rate = 100_000_000;
    // Under GCMix lower pages are read to be backed up, which has to count in the read limit; so it takes more reads to come there, and
    // longer gaps to leave time besides.
    let (pe_cycles, read_fraction, requests, idle_ms) =
        if subset.has(GCMIX) { (2900, 0.95, 120_000, 100) } else { (2500, 0.9, 40_000, 50) };
    config.device.wear.pe_cycles = pe_cycles;
    // Pages of the map are read far more often than others.
    config.device.wear.read_limit = Some(if subset.mapping == "dftl" { [115, 1150] } else { [110, 1000] });
    // A stock leaves the user less, of which the map is smaller.
    let entries = if subset.schedule == "windows" { 150 } else { 300 };
    let cache = [("cache", ParamValue::Size(4 * entries * 8))];
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
    let mut generator = generator("zipf", size, read_fraction, config.device.user_capacity);
    (generator.interval, generator.poisson) = (Duration::from_us(500), true);
    (generator.idle_every, generator.idle_for) = (40, Duration::from_us(1000 * idle_ms));
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(requests), ..End::default() };
    config.host = Host::new(Replay::Open, Some(16));
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config.run.checks = Checks::Fast;
    // Where lower pages are read to be backed up, the least limit is higher.
    while device::check(&config).is_err() {
        config.device.wear.read_limit.as_mut().expect("a limit")[0] += 1;
        assert!(config.device.wear.read_limit < Some([300, 0]), "nothing but the limit is refused");
    }
    config
}

/// Every feature of the chip that the device goes with, of each key the last one.
fn fit_out(config: &mut Config) {
    // Blocks that fail leave little room, and the subsets are compared at the same.
    for (key, name) in features().into_iter().filter(|(key, _)| *key != "bad_blocks") {
        let mut with = config.clone();
        let params: &[_] = match name {
            "sectors" => &[("codeword", ParamValue::Size(512))],
            // Little enough that channels are still idle at times.
            "one" => &[("factor", ParamValue::Number(1.2))],
            _ => &[],
        };
        equip(&mut with.device, key, name, params);
        if device::check(&with).is_ok() {
            *config = with;
        }
    }
    config.host.link = Some(100_000_000);
    config.host.command_time = Duration::from_us(8);
    config.host.command_interval = Duration::from_us(2);
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
fn figures(summary: &Value) -> [f64; 10] {
    [
        or_none(summary, "waf_units"),
        or_none(summary, "flash.block_erases"),
        or_none(summary, "flash.multiplane.program_fraction"),
        or_none(summary, "flash.copybacks"),
        or_none(summary, "gc.forward"),
        or_none(summary, "policy.read_disturb.refreshes"),
        or_none(summary, "flash.reprograms"),
        or_none(summary, "policy.paired_page.paired_pages"),
        or_none(summary, "policy.mapping.fetches"),
        or_none(summary, "policy.reclaim_across.chosen"),
    ]
}

/// What the features did that are counted: programs and erases that were suspended, reads and programs in cache mode.
fn figures_of_features(summary: &Value) -> [f64; 4] {
    ["suspends.programs", "suspends.erases", "cache_mode.reads", "cache_mode.programs"]
        .map(|figure| or_none(summary, &format!("flash.{figure}")))
}

fn or_none(summary: &Value, path: &str) -> f64 {
    path.split('.').fold(summary, |value, key| &value[key]).as_f64().unwrap_or(0.0)
}

/// Seeds of devices on which one member does little, and under the first seed nothing.
fn seed_of(subset: Subset, has_features: bool) -> u64 {
    match (subset.name().as_str(), subset.mapping, has_features) {
        // Copybacks come a few at a time.
        ("rcpb + ipr + gcmix", "dftl", false) => 2,
        ("rcpb + cycle-filling + ipr + gcmix + dies", "dftl", _) => 2,
        ("twin + rcpb + ipr + gcmix + dies", "dftl", true) => 2,
        // So do wordlines that are reprogrammed.
        ("twin + forwarding + ipr + gcmix + dies", "dftl", true) => 2,
        _ => 1,
    }
}

/// A line of the table, once every member has done something, and no other.
fn line(subset: Subset, has_features: bool) -> String {
    let mut config = device_for(subset);
    if has_features {
        fit_out(&mut config);
    }
    config.run.seed = seed_of(subset, has_features);
    let summary = run(&config);
    let [waf, erases, multiplane, copybacks, forward, refreshes, reprograms, paired, fetches, chosen] =
        figures(&summary);
    let of_features = figures_of_features(&summary);
    let has_map = subset.mapping == "dftl";
    let signs = [(RCPB, copybacks), (AHEAD, forward), (IPR, reprograms), (GCMIX, paired), (ACROSS, chosen)];
    // With all of these under windows, nearly all that is moved are blocks that were read often, and these move off-chip and by themselves.
    let is_rare = |member| {
        let has_all = [RCPB, IPR, GCMIX].iter().all(|&other| subset.has(other));
        subset.schedule == "windows" && has_all && [RCPB, GCMIX].contains(&member)
    };
    let is_as_chosen = signs
        .iter()
        .all(|&(member, figure)| (figure > 0.0) == subset.has(member) || is_rare(member) && subset.has(member))
        && of_features.iter().all(|&figure| (figure > 0.0) == has_features);
    let sign =
        if is_as_chosen && refreshes > 0.0 && (fetches > 0.0) == has_map { "" } else { " FAULT: one did nothing" };
    let mut line = format!(
        "{waf:>7.3} {erases:>7} {multiplane:>9.4} {copybacks:>7} {forward:>7} {refreshes:>8} {reprograms:>8} {paired:>7} \
         {fetches:>7}"
    );
    if subset.has(ACROSS) {
        write!(line, " {chosen:>7}").expect("a string");
    }
    if has_features {
        of_features.iter().for_each(|figure| write!(line, " {figure:>7}").expect("a string"));
    }
    line + sign
}

const HEAD: &str = "\
Every subset of the five on one small TLC device: what each did there, in the presence of the others.

Written anew by UPDATE_GOLDEN=1 cargo test -p ftlab-device --test all subsets::.

multi: share of programs that used more than one plane; copyb: copybacks; forward: collections ahead of need; refresh: blocks
that were refreshed; reprog: wordlines reprogrammed; paired: pages of victims that host pages went over; fetches: of map pages;
susp p, susp e: programs and erases suspended; cache r, cache p: reads and programs in cache mode. Chips with features have all
that the device goes with, the transfer of single codewords, a slow die and the link of the host among them. Under units across
dies (dies) their column has those that were chosen as victims.
Each device is as full as its policies let it be, up to four pages in five; so figures of two lines need not compare.
";

#[test]
fn every_subset_runs_and_each_member_does_its_part() {
    let subsets = Subset::all();
    let both = [false, true].map(|has_features| subsets.iter().map(move |&subset| (subset, has_features)));
    let devices: Vec<(Subset, bool)> = both.into_iter().flatten().collect();
    let expected = std::fs::read_to_string(TABLE).unwrap_or_default().replace("\r\n", "\n");
    let updates = std::env::var_os("UPDATE_GOLDEN").is_some();
    // One of nine is run; `make evidence` runs all.
    let drawn: Vec<(bool, Subset, bool)> = devices
        .iter()
        .enumerate()
        .map(|(at, &(subset, has_features))| (is_long() || updates || at % 9 == 0, subset, has_features))
        .collect();
    let lines = on_all_processors(&drawn, |&(is_run, subset, has_features)| is_run.then(|| line(subset, has_features)));
    let mut found = HEAD.to_string();
    let parts = [0, ACROSS].into_iter().flat_map(|across| MAPPINGS.map(|mapping| (across, mapping)));
    for (across, mapping, has_features) in
        parts.flat_map(|(across, mapping)| [false, true].map(|has_features| (across, mapping, has_features)))
    {
        let chips = if has_features { ", chips with features" } else { "" };
        let _ = write!(
            found,
            "\n{:<44} {:>7} {:>7} {:>9} {:>7} {:>7} {:>8} {:>8} {:>7} {:>7}",
            format!("{mapping}{chips}"),
            "WAF",
            "erases",
            "multi",
            "copyb",
            "forward",
            "refresh",
            "reprog",
            "paired",
            "fetches"
        );
        let of_dies = if across == 0 { &[][..] } else { &["dies"] };
        let of_chips = if has_features { &["susp p", "susp e", "cache r", "cache p"][..] } else { &[] };
        of_dies.iter().chain(of_chips).for_each(|head| write!(found, " {head:>7}").expect("a string"));
        found.push('\n');
        for ((subset, of_chips), line) in devices.iter().zip(&lines) {
            if (subset.members & ACROSS, subset.mapping, *of_chips) == (across, mapping, has_features) {
                match line {
                    Some(line) => writeln!(found, "{:<44} {line}", subset.name()),
                    None => writeln!(found, "{}", expected.lines().nth(found.lines().count()).unwrap_or_default()),
                }
                .expect("a string");
            }
        }
    }
    if updates {
        std::fs::write(TABLE, &found).expect("the table can be written");
    } else {
        assert!(expected == found, "the table moved (UPDATE_GOLDEN=1 writes it anew):\n{found}");
    }
    assert!(!found.contains("FAULT"), "members that do nothing:\n{found}");
}

/// A random device with a subset in force: `seed % SUBSETS` names it.
fn random_device(seed: u64) -> (Subset, Config) {
    let mut random = Chance::new(seed, "subset");
    let members = (seed % u64::from(SUBSETS)) as u32;
    let schedule = if members & AHEAD == 0 { "threshold" } else { *pick::<&str>(&mut random, &SCHEDULES) };
    let mapping = *pick::<&str>(&mut random, &MAPPINGS);
    let subset = Subset { mapping, schedule, members };
    let mut config = random_device_of(subset, seed, &mut random);
    random_features(seed, &mut config);
    if config.device.features.get("bad_blocks").name != "none" {
        // None fails before the end of the run; those that do are tried in `bad_blocks.rs`.
        let lives = [("factory", ParamValue::Number(0.0)), ("life", ParamValue::Number(1e9))];
        let (choice, lives) = if subset.has(GCMIX) { ("none", &[][..]) } else { ("weibull", &lives[..]) };
        equip(&mut config.device, "bad_blocks", choice, lives);
    }
    (subset, config)
}

/// Gives half of the random devices several hosts.
fn share(seed: u64, config: &mut Config) {
    if (seed / u64::from(SUBSETS)).is_multiple_of(2) {
        random_tenants(seed, config);
    }
}

fn has_tenants(config: &Config) -> bool {
    matches!(config.workload.source, Source::Tenants(_))
}

/// A random device with that subset in force.
fn random_device_of(subset: Subset, seed: u64, r: &mut Chance) -> Config {
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
    // Backups of lower pages read a block most: of twin blocks each one up to four times.
    let full = 8 * device.pages_per_block + 40 + r.below_u32(150);
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
    config.host = Host::new(Replay::Open, Some(*pick(r, &[1, 4, 32])));
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config.run.seed = seed;
    config
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Seeds of random devices: three of every subset, or as the environment says.
fn seeds() -> Vec<u64> {
    let first = from_environment("FTLAB_FIRST", 0);
    (first..first + from_environment("FTLAB_CASES", u64::from(SUBSETS))).collect()
}

fn described(seed: u64, subset: Subset, config: &Config) -> String {
    format!("case {seed}: {} under {}: {:?} {:?}", subset.name(), subset.mapping, config.device, config.ftl)
}

#[test]
fn random_devices_with_every_subset_keep_their_data() {
    let ran = on_all_processors(&seeds(), |&seed| {
        let (subset, mut config) = random_device(seed);
        share(seed, &mut config);
        let tried = catch_unwind(AssertUnwindSafe(|| device::check(&config).is_ok().then(|| run(&config))));
        let ran = tried.unwrap_or_else(|_| panic!("{}", described(seed, subset, &config))).is_some();
        ran.then_some(config)
    });
    let ran: Vec<Config> = ran.into_iter().flatten().collect();
    let share = ran.len() as f64 / seeds().len() as f64;
    assert!(share > 0.9, "devices that are too small for their policies: all but {share}");
    let shared = ran.iter().filter(|config| has_tenants(config)).count();
    assert!(shared * 3 > ran.len(), "{shared} of {} devices have tenants", ran.len());
    // Wordlines that are programmed as a whole are refused with handling of read disturb, which all of these have; and so are blocks
    // that fail.
    let of_any = features().into_iter().filter(|(key, _)| !["programming", "bad_blocks"].contains(key));
    for (key, name) in of_any {
        let with = ran.iter().filter(|config| config.device.features.get(key).name == name).count();
        assert!(with * 20 > ran.len(), "{with} of {} devices have `{key}` = `{name}`", ran.len());
    }
}

/// With the map in flash GCMix takes no map units below the flash page.
fn goes_with_units(subset: Subset) -> bool {
    subset.mapping != "dftl" || !subset.has(GCMIX)
}

/// The same with half, a quarter and an eighth of a flash page to a unit.
#[test]
fn random_devices_on_map_units_keep_their_data() {
    let on_units = |seed: u64| {
        let (subset, mut config) = random_device(seed);
        let parts = [2, 4, 8][(seed / u64::from(SUBSETS)) as usize % 3];
        config.device.page_size = 512 * parts;
        config.device.blocks_per_plane += 16;
        choose(&mut config.ftl, "map_unit", "512B", &[]);
        let [full, low] = config.device.wear.read_limit.expect("a limit");
        config.device.wear.read_limit = Some([full * parts, low * parts]);
        if config.device.features.get("read_transfer").name == "sectors" {
            equip(&mut config.device, "read_transfer", "sectors", &[("codeword", ParamValue::Size(512))]);
        }
        set_capacity(&mut config, 0.5);
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.footprint = config.device.user_capacity;
        }
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        share(seed, &mut config);
        (subset, config)
    };
    // Each subset twice, and in `make evidence` with each number of parts.
    let subsets = u64::from(SUBSETS);
    let seeds: Vec<u64> = if is_long() {
        (0..3 * from_environment("FTLAB_ROUNDS", 1) * subsets).collect()
    } else {
        (0..2 * subsets).map(|case| (case % subsets + case / subsets) % 3 * subsets + case % subsets).collect()
    };
    let ran = on_all_processors(&seeds, |&seed| {
        let (subset, config) = on_units(seed);
        match device::check(&config) {
            Err(refusal) => assert!(!goes_with_units(subset), "{refusal}\n{}", described(seed, subset, &config)),
            Ok(()) => {
                let tried = catch_unwind(AssertUnwindSafe(|| run(&config)));
                tried.unwrap_or_else(|_| panic!("{}", described(seed, subset, &config)));
                return Some(subset.members);
            }
        }
        None
    });
    let expected = |members| {
        let of_members = seeds.iter().map(|&seed| on_units(seed).0).filter(move |subset| subset.members == members);
        of_members.filter(|&subset| goes_with_units(subset)).count()
    };
    for members in 0..SUBSETS {
        let times = ran.iter().filter(|&&ran| ran == Some(members)).count();
        assert_eq!(times, expected(members), "members {members:06b}");
    }
    for papers in 0..ACROSS {
        assert!(ran.iter().flatten().any(|members| members % ACROSS == papers), "members {papers:05b}");
    }
}

/// A collection ahead of need that is suspended leaves a refresh to be done that became due meanwhile: its die does it, though nobody
/// wakes it any more.
#[test]
fn a_refresh_behind_a_suspended_collection_is_done() {
    let mut config = device_for(Subset { mapping: "page", schedule: "cycle-filling", members: TWIN | RCPB | AHEAD });
    config.run.seed = 2;
    equip(&mut config.device, "slow_die", "one", &[]);
    run(&config);
}

/// Two pages go under pages of the host with one command. The active block is to be closed, since it was read often, when the first
/// one is placed: it is closed behind the second one.
#[test]
fn an_active_block_is_not_closed_between_two_pages_that_move_together() {
    let mut config = device_for(Subset { mapping: "page", schedule: "threshold", members: TWIN | RCPB | GCMIX });
    fit_out(&mut config);
    equip(&mut config.device, "slow_die", "one", &[]);
    run(&config);
}
