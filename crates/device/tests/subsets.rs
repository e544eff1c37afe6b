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

mod common;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use base::{Cell, Duration, Multiplane, ParamValue, ProgramOrder};
use common::tenants::random_tenants;
use common::*;
use config::Config;
use config::model::*;
use device::survival::{Cuts, Lives, LivesTally, Trouble, TroubleInTime, try_cuts, try_lives};
use engine::Chance;
use files::Interrupt;
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

Written anew by UPDATE_GOLDEN=1 cargo test -p ftlab-device --test subsets.

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
    let lines = on_all_processors(&devices, |&(subset, has_features)| line(subset, has_features));
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
                let _ = writeln!(found, "{:<44} {line}", subset.name());
            }
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
    (first..first + from_environment("FTLAB_CASES", 3 * u64::from(SUBSETS))).collect()
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
    let seeds: Vec<u64> = (0..3 * from_environment("FTLAB_ROUNDS", 1) * u64::from(SUBSETS)).collect();
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

/// A random device that is about as small as its policies let it be, so that a fault can be tried at every operation of its life.
fn small_device(subset: Subset, seed: u64) -> Config {
    let mut random = Chance::new(seed, "small subset");
    let r = &mut random;
    let mut config = random_device_of(subset, seed, r);
    let has_map = subset.mapping == "dftl";
    let device = &mut config.device;
    // Twin blocks of one die are no units across dies.
    let channels = if subset.has(ACROSS) && subset.has(TWIN) { 2 } else { 1 };
    (device.channels, device.planes_per_die, device.page_size) = (channels, 2, 512);
    let mut blocks = if has_map { 26 } else { 20 };
    blocks += if subset.has(GCMIX) { 4 } else { 0 };
    // Each quota has an active block, at either density.
    blocks += if subset.has(RCPB) && subset.has(IPR) { 16 } else { 0 };
    device.blocks_per_plane = blocks + r.below_u32(6);
    device.pages_per_block = (2 + r.below_u32(2)) * device.cell.bits();
    let full = 8 * device.pages_per_block + 16 + r.below_u32(24);
    device.wear.read_limit = Some([full, full * (4 + r.below_u32(8))]);
    // Later, a copyback costs all that a block has.
    device.wear.pe_cycles = r.below_u32(4000);
    if has_map {
        let entries = 2 * channels * (2 + r.below_u32(12));
        choose(&mut config.ftl, "mapping", "dftl", &[("cache", ParamValue::Size(u64::from(entries * 8)))]);
    }
    if !subset.has(GCMIX) {
        choose(&mut config.ftl, "paired_page", "lsb-backup", &[]);
    }
    if subset.has(IPR) {
        let shares = [("margin", 12.into()), ("low_density", 0.25.into()), ("pool", 0.6.into())];
        choose(&mut config.ftl, "read_disturb", "ipr", &shares);
    }
    set_capacity(&mut config, 0.3 + 0.2 * r.fraction());
    config.run.precondition = Precondition::None;
    config
}

const TROUBLES: [(Trouble, &str); 3] = [
    (Trouble::PowerCut, "the power goes off, before and during"),
    (Trouble::SecondCut, "the same, and once more during recovery"),
    (Trouble::ProgramFailure, "a program fails"),
];

/// What a member does: the mechanism that does it, what it is called, and where it is counted.
const DEEDS: [(u32, &str, &str); 11] = [
    (0, "collections", "counters.gc_invocations"),
    (0, "refreshes", "policy.read_disturb.refreshes"),
    (RCPB, "copybacks", "counters.copybacks"),
    (AHEAD, "collections ahead of need", "counters.gc_forward"),
    (AHEAD, "suspended ones", "counters.gc_preempted"),
    (IPR, "wordlines reprogrammed", "counters.reprograms"),
    (GCMIX, "pages under host pages", "policy.paired_page.paired_pages"),
    (ACROSS, "units across dies chosen", "policy.reclaim_across.chosen"),
    (DFTL, "fetches of map pages", "policy.mapping.fetches"),
    (DFTL, "map pages written back", "policy.mapping.write_backs"),
    (DFTL, "map pages updated by GC", "policy.mapping.gc_updates"),
];

/// Stands for the map in flash among the members.
const DFTL: u32 = 64;

/// Lives of a small device.
struct Tried {
    subset: Subset,
    tallies: Vec<LivesTally>,
    problems: Vec<String>,
    cpu_s: f64,
}

impl Tried {
    fn new(mut config: Config, (subset, seed): (Subset, u64), strides: [u64; 3], afterwards: f64) -> Tried {
        let stopwatch = metrics::Stopwatch::start();
        let mut tried = Tried { subset, tallies: Vec::new(), problems: Vec::new(), cpu_s: 0.0 };
        for ((trouble, _), stride) in TROUBLES.into_iter().zip(strides) {
            if trouble == Trouble::ProgramFailure && config.ftl.get("paired_page").name == "supercap" {
                // A capacitor ends a program when the power goes, and helps none that fails.
                choose(&mut config.ftl, "paired_page", "page-buffer", &[]);
            }
            let lives = Lives { afterwards, ..short_lives(subset, stride) };
            let lived = catch_unwind(AssertUnwindSafe(|| try_lives(&config, trouble, &lives, &Interrupt::default())));
            let tally = match lived {
                Ok(Ok(tally)) => tally,
                Ok(Err(error)) => tried.told(trouble, &error.to_string(), seed, &config),
                Err(_) => tried.told(trouble, "panics", seed, &config),
            };
            if let Some(problem) = tally.first.as_ref().map(|loss| format!("{loss:?}")).or(tally.first_past.clone()) {
                tried.told(trouble, &problem, seed, &config);
            }
            tried.tallies.push(tally);
        }
        tried.cpu_s = stopwatch.usage().cpu_s;
        tried
    }

    /// Takes note of a problem; there is nothing to count.
    fn told(&mut self, trouble: Trouble, problem: &str, seed: u64, config: &Config) -> LivesTally {
        let problem = format!("{trouble:?}: {problem}\n{}", described(seed, self.subset, config));
        eprintln!("{problem}");
        self.problems.push(problem);
        LivesTally::default()
    }

    /// How often it was done in the life without a fault.
    fn done(&self, deed: &str) -> u64 {
        self.tallies[0].done.iter().map(|done| count_of(done, deed)).sum()
    }
}

fn count_of(done: &Value, deed: &str) -> u64 {
    let value = deed.split('.').fold(done, |value, key| &value[key]);
    value.as_array().map_or(value.as_u64(), |causes| causes.iter().map(Value::as_u64).sum()).unwrap_or(0)
}

/// Of a few random devices the first in whose short life each of its mechanisms does something; or the busiest.
fn busy_device(subset: Subset, seed: u64, draws: u64) -> Config {
    busiest(subset, (0..draws).map(|draw| small_device(subset, seed << 32 | draw)))
}

/// The same of devices with half, a quarter or an eighth of a flash page to a unit.
fn busy_device_on_units(subset: Subset, seed: u64, draws: u64, parts: u32) -> Config {
    busiest(subset, (0..draws).map(|draw| small_device_on_units(subset, seed << 32 | draw, parts)))
}

fn busiest(subset: Subset, drawn: impl Iterator<Item = Config>) -> Config {
    let idle = |config: &Config| {
        let life = try_lives(config, Trouble::PowerCut, &short_lives(subset, u64::MAX), &Interrupt::default());
        let life = life.expect("a life");
        let idle = deeds_of(subset).filter(|deed| count_of(&life.done[0], deed.2) == 0).count();
        (idle, life.operations > LONG, life.operations)
    };
    let mut drawn = drawn.map(|config| (idle(&config), config));
    let mut best = drawn.next().expect("a few");
    for next in drawn {
        if (best.0.0, best.0.1) == (0, false) {
            break;
        }
        if next.0 < best.0 {
            best = next;
        }
    }
    best.1
}

/// Operations that are many for a short life.
const LONG: u64 = 4000;

/// What a device with a subset is to do.
fn deeds_of(subset: Subset) -> impl Iterator<Item = (u32, &'static str, &'static str)> {
    DEEDS.into_iter().filter(move |deed| subset.has_member(deed.0))
}

/// Host writes after a fault, in user capacities.
const AFTERWARDS: f64 = 0.25;

/// A life that is long enough for every mechanism to do its part, with the stride of its faults.
fn short_lives(subset: Subset, stride: u64) -> Lives {
    // Blocks are reprogrammed only where some are read far more often than others, among those that are to move by copyback.
    let reads = match (subset.has(IPR), subset.has(RCPB)) {
        (true, true) => 10,
        (true, false) => 6,
        (false, _) => 2,
    };
    Lives { writes: 2.5, reads, afterwards: AFTERWARDS, ..Lives::new(1, stride) }
}

/// Lives of small devices with a fault: the data are there, no limit was passed, and the device goes on. Each round has a random
/// geometry for every subset with each schedule, under page mapping and with the map in flash.
#[test]
fn every_subset_survives_faults() {
    let (rounds, stride) = (from_environment("FTLAB_ROUNDS", 1), from_environment("FTLAB_STRIDE", 601));
    // Second cuts are as frequent where faults are few; where they are at every operation, each third one is enough.
    let strides = [stride, stride.max(3), stride.div_ceil(7)];
    let first = from_environment("FTLAB_FIRST", 0);
    // Where faults are at every operation, each subset is to do all that it can.
    let draws = if stride > 1 { 4 } else { 64 };
    let subsets = Subset::all();
    let cases: Vec<(Subset, u64)> =
        (0..rounds * subsets.len() as u64).map(|case| (subsets[case as usize % subsets.len()], first + case)).collect();
    let tried = on_all_processors(&cases, |&(subset, seed)| {
        Tried::new(busy_device(subset, seed, draws), (subset, seed), strides, AFTERWARDS)
    });
    let operations = grouped(tried.iter().map(|tried| tried.tallies[0].operations).sum());
    let head = format!(
        "# Faults at every operation of small devices\n\n`make evidence` writes this page; the test is \
         `every_subset_survives_faults` in `crates/device/tests/subsets.rs`. {} small devices: every subset of the five papers' \
         mechanisms with each schedule of collections ahead of need, under page mapping and with the map in flash, {} \
         random of each. Without a fault their lives have {operations} operations: page reads, page programs, erases of reclaim \
         units.",
        tried.len(),
        tried.len() / subsets.len(),
    );
    tell(&head, "a quarter of its capacity", "FTLAB_FAULTS_REPORT", &tried, strides);
    let idle = idle_members(&tried, if stride > 1 { 1 } else { subsets.len() });
    assert!(idle.is_empty(), "members that did nothing:\n{}", idle.join("\n"));
}

/// Power cuts at any instant of a run, and programs that fail, while all dies are at work for several hosts; a random geometry for each
/// subset with each schedule. Windows begin and end meanwhile.
#[test]
fn every_subset_survives_faults_in_time() {
    let subsets = Subset::all();
    let rounds = from_environment("FTLAB_ROUNDS", 1) as usize;
    let cases: Vec<usize> = (0..rounds * subsets.len()).collect();
    let shared = on_all_processors(&cases, |&case| {
        let (subset, seed) = (subsets[case % subsets.len()], 9000 + case as u64);
        let mut config = small_device(subset, seed);
        if case % 4 > 0 {
            random_tenants(seed, &mut config);
        }
        for trouble in [TroubleInTime::Cut, TroubleInTime::Failures, TroubleInTime::Both] {
            let cuts = Cuts { seeds: 1, cuts: 3, before: 1.0, requests: 200, twice: true, trouble };
            let tried = catch_unwind(AssertUnwindSafe(|| try_cuts(&config, &cuts, &Interrupt::default())));
            let tally = tried.map(|tally| tally.expect("lives"));
            let is_kept = tally.as_ref().is_ok_and(|tally| tally.first.is_none() && tally.runs >= 3);
            assert!(is_kept, "{trouble:?}: {tally:?}\n{}", described(seed, subset, &config));
        }
        has_tenants(&config)
    });
    assert!(2 * shared.iter().filter(|&&shared| shared).count() > cases.len());
}

/// What nobody did of each of so many kinds of devices, which follow each other. Pages that go under host pages and those of
/// refreshed blocks move off-chip, so where nothing is collected ahead of need copybacks are rare beside them.
fn idle_members(tried: &[Tried], kinds: usize) -> Vec<String> {
    let of_kind = |kind: usize| tried.iter().skip(kind).step_by(kinds);
    let mut idle = Vec::new();
    for (kind, (member, deed, path)) in (0..kinds).flat_map(|kind| DEEDS.map(|deed| (kind, deed))) {
        let mut with = of_kind(kind).filter(|tried| tried.subset.has_member(member)).peekable();
        let Some(subset) = with.peek().map(|tried| tried.subset) else { continue };
        let is_rare = member == RCPB && (subset.has(GCMIX) || subset.has(IPR)) && !subset.has(AHEAD);
        if with.all(|tried| tried.done(path) == 0) && !is_rare {
            idle.push(format!("{deed}: {} under {}", subset.name(), subset.mapping));
        }
    }
    idle
}

/// Fails if there is a problem; prints the report otherwise, and writes the file that the variable names.
fn tell(head: &str, afterwards: &str, variable: &str, tried: &[Tried], strides: [u64; 3]) {
    let problems: Vec<&str> = tried.iter().flat_map(|tried| &tried.problems).map(String::as_str).collect();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    let report = report(head, afterwards, tried, strides);
    println!("{report}");
    if let Some(path) = std::env::var_os(variable) {
        std::fs::write(path, &report).expect("the report can be written");
    }
}

fn report(head: &str, afterwards: &str, tried: &[Tried], strides: [u64; 3]) -> String {
    let sum = |of: &dyn Fn(&Tried) -> u64| tried.iter().map(of).sum::<u64>();
    let mut report = format!(
        "{head} It took {:.0} s of processor time.\n\nAfter each fault all data that were promised are read back, the whole \
         state is checked, the device takes writes and reads for {afterwards}, and all of this is checked again. A \
         limit is passed where a page has more errors than the ECC corrects after copybacks, or is read when its block was read \
         too often.\n\n| fault | at every | lives with a fault | restarts | pages brought back from backups | operations afterwards \
         | lives that lost data | lives that passed a limit |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
        tried.iter().map(|tried| tried.cpu_s).sum::<f64>(),
    );
    for (place, (_, name)) in TROUBLES.into_iter().enumerate() {
        let of = |figure: &dyn Fn(&LivesTally) -> u64| grouped(sum(&|tried| figure(&tried.tallies[place])));
        let what = if place == 2 { "program" } else { "operation" };
        let every = match strides[place] {
            1 => what.to_string(),
            3 => format!("third {what}"),
            stride => format!("{stride}th {what}"),
        };
        let _ = writeln!(
            report,
            "| {name} | {every} | {} | {} | {} | {} | {} | {} |",
            of(&|tally| tally.runs),
            of(&|tally| tally.restarts),
            of(&|tally| tally.rescued),
            of(&|tally| tally.afterwards),
            of(&|tally| tally.losing),
            of(&|tally| tally.past_limits)
        );
    }
    report.push_str(
        "\nWhat was done in the lives without a fault, on the devices that can:\n\n\
         | | devices | of them did it | times |\n|---|---:|---:|---:|\n",
    );
    for (member, deed, path) in DEEDS {
        let with: Vec<u64> =
            tried.iter().filter(|tried| tried.subset.has_member(member)).map(|tried| tried.done(path)).collect();
        let (did, times) = (with.iter().filter(|&&times| times > 0).count(), with.iter().sum());
        let _ = writeln!(report, "| {deed} | {} | {did} | {} |", with.len(), grouped(times));
    }
    report
}

/// A number with commas.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let lead = digits.len() % 3;
    let mut groups = vec![&digits[..lead]];
    groups.extend((lead..digits.len()).step_by(3).map(|at| &digits[at..at + 3]));
    groups.retain(|group| !group.is_empty());
    groups.join(",")
}

/// A small device with so many map units to a flash page, which a capacitor protects where no copies of lower pages are to be had.
fn small_device_on_units(subset: Subset, seed: u64, parts: u32) -> Config {
    let mut config = small_device(subset, seed);
    config.device.page_size = 512 * parts;
    config.device.pages_per_block = config.device.cell.bits().pow(2);
    config.device.blocks_per_plane += 24;
    choose(&mut config.ftl, "map_unit", "512B", &[]);
    if subset.mapping == "dftl" {
        choose(&mut config.ftl, "paired_page", "supercap", &[]);
    }
    let [full, low] = config.device.wear.read_limit.expect("a limit");
    config.device.wear.read_limit = Some([full * parts, low * parts]);
    set_capacity(&mut config, 0.3);
    device::check(&config).unwrap_or_else(|refusal| panic!("{refusal}\n{}", described(seed, subset, &config)));
    config
}

/// The same with half, a quarter and an eighth of a flash page to a unit, in turn: a random device of each subset.
#[test]
fn every_subset_survives_faults_on_map_units() {
    let subsets: Vec<Subset> = Subset::all().into_iter().filter(|&subset| goes_with_units(subset)).collect();
    let stride = std::env::var("FTLAB_UNITS_STRIDE").ok().and_then(|value| value.parse().ok());
    let rounds = if stride == Some(1) { from_environment("FTLAB_ROUNDS", 1) } else { 1 };
    let draws = stride.map_or(1, |stride: u64| if stride == 1 { 16 } else { 4 });
    let strides = stride.map_or([2401, 4801, 347], |stride: u64| [stride, stride.max(3), stride.div_ceil(7)]);
    let cases: Vec<usize> = (0..rounds as usize * subsets.len()).collect();
    let tried = on_all_processors(&cases, |&case| {
        let (subset, seed) = (subsets[case % subsets.len()], 7000 + case as u64);
        let parts = [2, 4, 8][(case + case / subsets.len()) % 3];
        // As many units as there would be pages.
        let afterwards = AFTERWARDS / f64::from(parts);
        Tried::new(busy_device_on_units(subset, seed, draws, parts), (subset, seed), strides, afterwards)
    });
    let operations = grouped(tried.iter().map(|tried| tried.tallies[0].operations).sum());
    let head = format!(
        "# Faults at operations of small devices with map units below the page\n\n`make evidence` writes this page; the test \
         is `every_subset_survives_faults_on_map_units` in `crates/device/tests/subsets.rs`. {} small devices with two, four and \
         eight map units to a flash page: every subset of the five papers' mechanisms that goes with them. Without a fault their \
         lives have {operations} operations: page reads, page programs, erases of reclaim units.",
        tried.len(),
    );
    tell(&head, "a quarter of its capacity over the units to a page", "FTLAB_FAULTS_UNITS_REPORT", &tried, strides);
    let lives: u64 = tried.iter().flat_map(|tried| &tried.tallies).map(|tally| tally.runs).sum();
    assert!(lives > 600, "{lives} lives");
}

/// What comes of a fault that is reached with a copy of the device is what comes of it at the end of a whole life.
#[test]
fn a_copy_lives_on_as_the_device_would() {
    let subsets = Subset::all();
    on_all_processors(&[0, 19, 37, 47, 48, 66, 77, 95], |&kind: &u64| {
        let config = busy_device(subsets[kind as usize], kind, 4);
        for (trouble, _) in TROUBLES {
            let lives = short_lives(subsets[kind as usize], if trouble == Trouble::ProgramFailure { 41 } else { 311 });
            let of = |lives: &Lives| try_lives(&config, trouble, lives, &Interrupt::default()).expect("lives");
            let (copied, whole) = (of(&lives), of(&Lives { from_the_beginning: true, ..lives }));
            assert!(copied.runs > 5 && copied.afterwards > 500, "{kind} {trouble:?}: {copied:?}");
            assert!(copied == whole, "{kind} {trouble:?}:\n{copied:?}\n{whole:?}");
        }
    });
}

/// A page moves out of a wordline that is not complete before the others of its block are reprogrammed. If its copy goes with the power,
/// it counts again, and takes no more reads than at full density.
#[test]
fn a_page_that_counts_again_has_no_guard_levels() {
    let subset = Subset { mapping: "page", schedule: "threshold", members: TWIN | RCPB | IPR | GCMIX };
    // What was found by trying all operations of 192 lives.
    let mut config = small_device(subset, 39 << 32 | 16);
    if let Some([full, low]) = &mut config.device.wear.read_limit {
        let factor = *low / *full;
        *full -= 4 * config.device.pages_per_block;
        *low = factor * *full;
    }
    let lives = short_lives(subset, 11_398);
    let tally = try_lives(&config, Trouble::PowerCut, &lives, &Interrupt::default()).expect("a life");
    assert_eq!((tally.runs, tally.losing, tally.past_limits), (4, 0, 0), "{:?}", tally.first_past);
}

/// A block that was closed early is open again after a restart, and owes the reads of its backups anew. The reads that it took count all
/// the same.
#[test]
fn reads_of_a_block_that_is_open_again_count() {
    // What was found by trying all operations of lives on map units.
    for (schedule, members, seed, at) in [
        ("threshold", TWIN | IPR, 7013 << 32 | 11, 10_185),
        ("forwarding", TWIN | RCPB | AHEAD | IPR, 7022 << 32 | 10, 8766),
    ] {
        let subset = Subset { mapping: "page", schedule, members };
        let (config, lives) = (small_device_on_units(subset, seed, 4), short_lives(subset, at));
        let tally = try_lives(&config, Trouble::PowerCut, &lives, &Interrupt::default()).expect("a life");
        assert_eq!((tally.runs > 3, tally.losing, tally.past_limits), (true, 0, 0), "{:?}", tally.first_past);
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
