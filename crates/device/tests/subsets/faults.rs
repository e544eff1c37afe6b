//! Faults at operations of lives that are short: every subset on devices as small as its policies let them be.

use files::Interrupt;
use rig::survival::{Cuts, Lives, LivesTally, Trouble, TroubleInTime, try_cuts, try_lives};

use super::*;

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
    let (rounds, stride) = (from_environment("FTLAB_ROUNDS", 1), from_environment("FTLAB_STRIDE", 2003));
    // Second cuts are as frequent where faults are few; where they are at every operation, each third one is enough.
    let strides = [stride, stride.max(3), stride.div_ceil(7)];
    let first = from_environment("FTLAB_FIRST", 0);
    // Where faults are at every operation, each subset is to do all that it can.
    let draws = if stride > 1 { 2 } else { 64 };
    let subsets = Subset::all();
    let cases: Vec<(Subset, u64)> =
        (0..rounds * subsets.len() as u64).map(|case| (subsets[case as usize % subsets.len()], first + case)).collect();
    let tried = on_all_processors(&cases, |&(subset, seed)| {
        Tried::new(busy_device(subset, seed, draws), (subset, seed), strides, AFTERWARDS)
    });
    let operations = grouped(tried.iter().map(|tried| tried.tallies[0].operations).sum());
    let head = format!(
        "# Faults at every operation of small devices\n\nThe test is \
         `every_subset_survives_faults`. {} small devices: every subset of the five papers' \
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
    // One subset of seven, with another number of units each time, if no stride is given.
    let step = if stride.is_some() { 1 } else { 7 };
    let cases: Vec<usize> = (0..rounds as usize * subsets.len()).step_by(step).collect();
    let tried = on_all_processors(&cases, |&case| {
        let (subset, seed) = (subsets[case % subsets.len()], 7000 + case as u64);
        let parts = [2, 4, 8][(case + case / subsets.len()) % 3];
        // As many units as there would be pages.
        let afterwards = AFTERWARDS / f64::from(parts);
        Tried::new(busy_device_on_units(subset, seed, draws, parts), (subset, seed), strides, afterwards)
    });
    let operations = grouped(tried.iter().map(|tried| tried.tallies[0].operations).sum());
    let head = format!(
        "# Faults at operations of small devices with map units below the page\n\nThe test \
         is `every_subset_survives_faults_on_map_units`. {} small devices with two, four and \
         eight map units to a flash page: every subset of the five papers' mechanisms that goes with them. Without a fault their \
         lives have {operations} operations: page reads, page programs, erases of reclaim units.",
        tried.len(),
    );
    tell(&head, "a quarter of its capacity over the units to a page", "FTLAB_FAULTS_UNITS_REPORT", &tried, strides);
    let lives: u64 = tried.iter().flat_map(|tried| &tried.tallies).map(|tally| tally.runs).sum();
    assert!(lives > 600 / step as u64, "{lives} lives");
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
