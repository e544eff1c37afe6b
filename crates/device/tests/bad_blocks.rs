//! Blocks that fail: nothing is lost by it, spare space shrinks, and when it is gone the device comes to a good end.

use std::collections::BTreeMap;

use crate::common::*;
use base::{Cell, Duration, Multiplane, ParamValue, ProgramOrder};
use config::Config;
use config::model::*;
use engine::Chance;
use rig::survival::{Lives, Trouble, try_lives};
use serde_json::Value;

/// Blocks live for some cycles, and so many are bad from the factory.
fn lives(config: &mut Config, factory: f64, life: f64, shape: f64, erases: f64) {
    let params = [("factory", factory), ("life", life), ("shape", shape), ("erases", erases)];
    let params = params.map(|(name, value)| (name, ParamValue::Number(value)));
    equip(&mut config.device, "bad_blocks", "weibull", &params);
}

/// Requests that no device lives to see.
const FOR_EVER: u64 = 2_000_000;

/// A random device whose blocks live for a few cycles; nothing if it cannot be.
fn random_case(seed: u64, one_domain: bool) -> Option<Config> {
    let mut config = random_config(seed + 7_000_000);
    if one_domain {
        let device = &mut config.device;
        (device.channels, device.chips_per_channel, device.dies_per_chip) = (1, 1, 1);
        if config.ftl.get("reclaim_unit").name != "twin" {
            config.device.planes_per_die = 1;
        }
        // Others fill time, and what fills it changes what comes next.
        choose(&mut config.ftl, "gc_schedule", "threshold", &[]);
    }
    let mut random = Chance::new(seed, "bad blocks");
    let r = &mut random;
    if seed.is_multiple_of(8) {
        swap_by_wear(seed, &mut config);
    }
    for (seam, known) in KNOWN {
        if !known.contains(&config.ftl.get(seam).name) {
            choose(&mut config.ftl, seam, known[0], &[]);
        }
    }
    if config.ftl.get("mapping").name == "dftl" && ftl::allocation::is_dynamic(config.ftl.get("allocation").name) {
        choose(&mut config.ftl, "allocation", "CWDP", &[]);
    }
    if config.device.cell != Cell::Slc && seed % 3 == 1 && !seed.is_multiple_of(8) {
        random_protection(r, &mut config);
    }
    if config.ftl.get("paired_page").name == "slc-buffer" {
        choose(&mut config.ftl, "read_disturb", "ignore", &[]);
    }
    if config.ftl.get("read_disturb").name == "ignore" {
        config.device.wear.read_limit = None;
    }
    config.device.blocks_per_plane += 8 + r.below_u32(12);
    let factory = *pick(r, &[0.0, 0.02]);
    let (life, shape) = (*pick(r, &[2.0, 6.0, 20.0]), *pick(r, &[1.0, 3.0, 8.0]));
    lives(&mut config, factory, life, shape, *pick(r, &[0.0, 0.5, 1.0]));
    let page = page_size(&config);
    let largest = device::largest_user_capacity(&config);
    config.device.user_capacity = largest * *pick(r, &[50, 80, 95, 100]) / 100 / page * page;
    if config.device.user_capacity == 0 {
        return None;
    }
    let mut generator =
        generator(pick::<&str>(r, &["uniform", "zipf", "sequential"]), page, 0.2, config.device.user_capacity);
    if r.below(3) == 0 {
        generator.request_size = 512;
    }
    if config.ftl.get("paired_page").name == "gcmix-adaptive" {
        generator.interval = Duration(10_000_000 + r.below(500_000_000));
    }
    if config.device.wear.read_limit.is_some() {
        generator.read_fraction = *pick(r, &[0.5, 0.8, 0.95]);
    }
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(FOR_EVER), ..End::default() };
    config.run.precondition = Precondition::None;
    config.run.seed = seed;
    (config.run.payload, config.run.checks) = (Payload::Stamp, Checks::Full);
    config.run.executor = executor(&config, seed);
    device::check(&config).is_ok().then_some(config)
}

/// A small random device under a scheme of read disturb. Pages are read far more than written, and a few of them most of the time, so that
/// blocks of every state are there when blocks fail.
fn read_case(seed: u64, has_backups: bool) -> Option<Config> {
    let mut random = Chance::new(seed, "reads of bad blocks");
    let r = &mut random;
    let cell = *pick(r, &[Cell::Mlc, Cell::Tlc]);
    let (channels, planes) = (1 + r.below_u32(2), 1 + r.below_u32(2));
    let pages = cell.bits() * (4 + r.below_u32(4));
    let mut config = plain(channels, 1, 1, planes, 40 + r.below_u32(24), pages);
    let bits = cell.bits() as usize;
    config.device.cell = cell;
    config.device.timing.program = vec![Duration::from_us(700); bits];
    config.device.timing.read = vec![Duration::from_us(50); bits];
    config.device.program_order = *pick(r, &[ProgramOrder::Consecutive, ProgramOrder::Shadow]);
    let full = 3 * pages + 40 + r.below_u32(60);
    config.device.wear.read_limit = Some([full, full * (4 + r.below_u32(4))]);
    config.device.wear.reprogram_restarts = r.below(2) == 0;
    choose(&mut config.ftl, "allocation", "CWDP", &[]);
    choose(&mut config.ftl, "paired_page", pick::<&str>(r, &["none", "supercap", "page-buffer"]), &[]);
    choose(&mut config.ftl, "separation", pick::<&str>(r, &["none", "host-gc"]), &[]);
    choose(&mut config.ftl, "wear_leveling", pick::<&str>(r, &["none", "static"]), &[]);
    if planes > 1 && r.below(2) == 0 {
        config.device.multiplane = Multiplane::Any;
        choose(&mut config.ftl, "reclaim_unit", "twin", &[]);
    }
    let scheme = *pick(r, &["refresh", "redftl", "read-leveling", "hot-low-density", "ipr"]);
    let number = |name, value| (name, ParamValue::Number(value));
    let mut params = vec![("margin", 12.into())];
    if scheme != "refresh" {
        params.extend([number("monitor", 0.2), ("full", ParamValue::Word(pick::<&str>(r, &["evict", "refuse"])))]);
        params.push(("evicted", ParamValue::Word(pick::<&str>(r, &["regular", "read-hot"]))));
    }
    match scheme {
        "redftl" | "read-leveling" => {
            params.extend([number("shadow", 0.2), ("hot_pages", (1 + r.below_u32(pages / 2)).into())]);
        }
        "hot-low-density" => params.push(number("low_density", 0.2)),
        "ipr" => params.extend([number("low_density", 0.2), number("pool", *pick(r, &[0.2, 0.5, 1.0]))]),
        _ => {}
    }
    choose(&mut config.ftl, "read_disturb", scheme, &params);
    if has_backups {
        back_up(seed, &mut config);
    }
    lives(&mut config, *pick(r, &[0.0, 0.02]), *pick(r, &[6.0, 12.0, 30.0]), *pick(r, &[2.0, 5.0]), 0.5);
    let page = page_size(&config);
    config.device.user_capacity = device::largest_user_capacity(&config) * *pick(r, &[50, 75, 95]) / 100 / page * page;
    if config.device.user_capacity == 0 {
        return None;
    }
    let reads = *pick(r, &[0.9, 0.97, 0.99]);
    config.workload.source = Source::Generator(generator("zipf", page, reads, config.device.user_capacity));
    config.workload.end = End { requests: Some(FOR_EVER), ..End::default() };
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    (config.run.seed, config.run.executor) = (seed, executor(&config, seed));
    (config.run.payload, config.run.checks) = (Payload::Stamp, Checks::Full);
    device::check(&config).is_ok().then_some(config)
}

/// A protection that has blocks of its own, with the blocks and the reads that it takes.
fn back_up(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "backups");
    let r = &mut random;
    let choice = *pick::<&str>(r, &["lsb-backup", "parity-backup", "gcmix", "gcmix"]);
    let choice = if choice == "parity-backup" && config.device.cell != Cell::Mlc { "lsb-backup" } else { choice };
    let mixing = [("low", r.below_u32(4).into()), ("high", (24 + r.below_u32(16)).into())];
    choose(&mut config.ftl, "paired_page", choice, if choice == "gcmix" { &mixing } else { &[] });
    let schedule = *pick::<&str>(r, &["threshold", "threshold", "forwarding", "cycle-filling"]);
    choose(&mut config.ftl, "gc_schedule", schedule, &[("free_blocks", (2 + r.below_u32(2)).into())]);
    config.device.blocks_per_plane += 12;
    if config.device.program_order == ProgramOrder::Consecutive && r.below(4) == 0 {
        equip(&mut config.device, "programming", "one-shot", &[]);
    }
    let full = 13 * config.device.pages_per_block + 40 + r.below_u32(60);
    config.device.wear.read_limit = Some([full, full * (4 + r.below_u32(4))]);
}

/// Each in half of the cases; schedules that fill idle time take the one with time.
fn executor(config: &Config, seed: u64) -> Executor {
    let fills_time = !["threshold", "paced"].contains(&config.ftl.get("gc_schedule").name);
    if seed.is_multiple_of(2) && !fills_time { Executor::Count } else { Executor::Timed }
}

/// Cold data move into worn units, with what that asks for; drawn among all choices it is met in one case of a hundred.
fn swap_by_wear(seed: u64, config: &mut Config) {
    let threshold = ("threshold", (1 + (seed / 8 % 4) as u32).into());
    choose(&mut config.ftl, "wear_leveling", "swap", &[threshold]);
    let off = [("paired_page", "none"), ("migration", "off-chip"), ("separation", "none"), ("reclaim_unit", "block")];
    for (seam, choice) in [off.as_slice(), &[("block_allocation", "least-worn")]].concat() {
        choose(&mut config.ftl, seam, choice, &[]);
    }
}

/// A protection of paired pages that has blocks of its own, and room for them.
fn random_protection(r: &mut Chance, config: &mut Config) {
    let choice = *pick::<&str>(
        r,
        &["lsb-backup", "parity-backup", "parity-backup", "slc-buffer", "gcmix", "gcmix", "gcmix-adaptive"],
    );
    let mixing = [("low", r.below_u32(4).into()), ("high", (24 + r.below_u32(16)).into())];
    let params: &[(&str, ParamValue)] = match choice {
        "slc-buffer" => &[("blocks", (1 + r.below_u32(3)).into())],
        "gcmix" | "gcmix-adaptive" => &mixing,
        _ => &[],
    };
    choose(&mut config.ftl, "paired_page", choice, params);
    if config.ftl.get("separation").name == "host-gc" {
        choose(&mut config.ftl, "separation", "none", &[]);
    }
    if choice == "gcmix-adaptive" {
        choose(&mut config.ftl, "separation", "dac", &[("regions", 2.into())]);
    }
    let schedule = config.ftl.get("gc_schedule").name;
    choose(&mut config.ftl, "gc_schedule", schedule, &[("free_blocks", 3.into())]);
    config.device.blocks_per_plane += 16;
}

/// The choices that a device of blocks that fail can have, by seam.
const KNOWN: [(&str, &[&str]); 3] = [
    ("mapping", &["page", "dftl"]),
    ("read_disturb", &["ignore", "refresh", "redftl", "hot-low-density", "ipr"]),
    ("slc_cache", &["off"]),
];

/// Seams of which lives with every choice that a device of blocks that fail can have are to end.
const MET: [&str; 4] = ["gc_schedule", "migration", "read_disturb", "wear_leveling"];

fn has_reached_end(summary: &Value) -> bool {
    summary["end_of_life"]["reached"].as_bool().expect("blocks fail")
}

/// A failed program destroys no page that was programmed before, or somebody holds those that it does.
fn keeps_all(config: &Config) -> bool {
    let protection = config.ftl.get("paired_page");
    let holds = !protection.name.starts_with("gcmix") || protection.flag("hold");
    config.device.cell == Cell::Slc
        || protection.name == "page-buffer"
        || ftl::paired::keeps_track(protection.name) && holds
}

/// Cases of those whose seeds follow each other, or so many times as many.
fn cases(first: u64, count: u64) -> std::ops::Range<u64> {
    let times: u64 = std::env::var("FTLAB_LIVES").map_or(1, |lives| lives.parse().expect("a number"));
    first..first + count * times
}

#[test]
fn random_devices_live_to_a_good_end() {
    let (mut ended, mut lost, mut failed_reads, mut by, mut dynamic) = (0, 0, 0.0, [0.0; 2], [0; 2]);
    let mut ended_with: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut updates = 0.0;
    // Of the last ones one did not come to an end once, and another had no place for a copy; the rest have to leave a block early.
    for seed in cases(0, 600).chain([2299, 3637, 613, 3709]) {
        let Some(config) = random_case(seed, false) else { continue };
        let summary = run(&config);
        let bad = |name: &str| figure(&summary, &format!("policy.bad_blocks.{name}"));
        assert!(has_reached_end(&summary), "case {seed}: {summary:#}");
        ended += 1;
        for seam in MET.into_iter().chain(["mapping", "paired_page"]) {
            *ended_with.entry((seam, config.ftl.get(seam).name)).or_default() += 1;
        }
        let is_dynamic = ftl::allocation::is_dynamic(config.ftl.get("allocation").name);
        dynamic[usize::from(config.run.executor == Executor::Timed)] += u32::from(is_dynamic);
        updates += figure(&summary, "flash.by_cause.mapping.programs");
        lost += u64::from(bad("lost_pages") > 0.0);
        failed_reads += figure(&summary, "host.failed_reads");
        by[0] += bad("failed_programs");
        by[1] += bad("failed_erases");
        if keeps_all(&config) && bad("exhausted") == 0.0 {
            assert_eq!(bad("lost_pages"), 0.0, "case {seed}");
        }
        assert!(bad("exhausted") > 0.0 || bad("spare_units_least") == 0.0, "case {seed}");
    }
    // Lower pages without a protection are lost, and are known to be.
    assert!(
        ended > 200
            && dynamic.iter().all(|&devices| devices > 10)
            && lost > 20
            && failed_reads > 20.0
            && by.iter().all(|&failures| failures > 1000.0),
        "{ended} {dynamic:?} {lost} {by:?}"
    );
    for seam in device::seams().into_iter().filter(|seam| MET.contains(&seam.key) || seam.key == "paired_page") {
        let known = KNOWN.iter().find(|(key, _)| *key == seam.key).map(|(_, known)| known);
        for choice in seam.choices.iter().filter(|choice| known.is_none_or(|known| known.contains(&choice.name))) {
            let ended = ended_with.get(&(seam.key, choice.name)).copied().unwrap_or(0);
            assert!(ended >= 5, "{ended} lives with `{} = \"{}\"` have ended", seam.key, choice.name);
        }
    }
    assert!(ended_with[&("mapping", "dftl")] > 60 && updates > 4000.0, "{updates} programs of translation pages");
}

/// Units of shares fail as well: those of read-hot pages and monitors, with refreshes under way.
#[test]
fn devices_that_are_read_live_to_a_good_end() {
    // Of the last four two did not come to an end once, and in the others a block was read past its limit.
    let seeds = (0..share_of(120)).chain([147, 1653, 1759, 3377]).map(|seed| (seed, false));
    let seeds: Vec<(u64, bool)> = seeds.chain(cases(0, share_of(160)).map(|seed| (seed, true))).collect();
    let ends = on_all_processors(&seeds, |&(seed, has_backups)| {
        let config = read_case(seed, has_backups)?;
        let summary = match device::simulate(&config, &mut device::Options::default()) {
            Ok(outcome) => outcome.summary,
            Err(error) => {
                assert!(error.to_string().contains("while it is preconditioned"), "case {seed}: {error}");
                return None;
            }
        };
        let bad = |name: &str| figure(&summary, &format!("policy.bad_blocks.{name}"));
        assert!(has_reached_end(&summary), "case {seed}: {summary:#}");
        assert!(bad("exhausted") > 0.0 || bad("spare_units_least") == 0.0, "case {seed}");
        if keeps_all(&config) && bad("exhausted") == 0.0 {
            assert_eq!(bad("lost_pages"), 0.0, "case {seed}");
        }
        let done = |name: &str| summary["policy"]["read_disturb"][name].as_f64().unwrap_or(0.0);
        let scheme = (config.ftl.get("read_disturb").name, has_backups);
        Some((scheme, [bad("grown_units"), done("refreshes"), done("read_hot_blocks")]))
    });
    let schemes = ["refresh", "redftl", "hot-low-density", "ipr"];
    for scheme in schemes.into_iter().flat_map(|scheme| [(scheme, false), (scheme, true)]) {
        let ended: Vec<_> = ends.iter().flatten().filter(|end| end.0 == scheme).collect();
        let [failed, refreshes, hot] = [0, 1, 2].map(|which| ended.iter().map(|end| end.1[which]).sum::<f64>());
        assert!(
            ended.len() as u64 >= share_of(10)
                && failed > share_of(50) as f64
                && refreshes > share_of(500) as f64
                && (hot > share_of(50) as f64 || scheme.0 == "refresh"),
            "{scheme:?}: {} lives, {failed} units, {refreshes} refreshes, {hot} blocks of read-hot pages",
            ended.len()
        );
    }
}

/// A device that ends during a flush does not say that the flush is complete.
#[test]
fn flushes_to_the_end_keep_what_they_promise() {
    let mut ended = 0;
    for seed in 0..share_of(200) {
        let Some(mut config) = random_case(seed, false) else { continue };
        let page = page_size(&config);
        choose(&mut config.ftl, "write_buffer", "lru", &[("size", ParamValue::Size(page * 14))]);
        let trace = TraceFile::random(seed, config.device.user_capacity, 300);
        config.workload.source = trace.source();
        config.workload.end = End { rounds: Some(400), ..End::default() };
        if device::check(&config).is_ok() {
            ended += u32::from(has_reached_end(&run(&config)));
        }
    }
    assert!(ended > least(100), "{ended}");
}

/// With one request at a time, one domain and programs one by one, the same blocks fail at the same operations of both executors. Where there are several
/// domains, the host goes on with another one while a collection is under way, and the end comes some requests later.
#[test]
fn executors_agree_on_the_end() {
    let mut compared = 0;
    for seed in 1000..1000 + share_of(1000) {
        let Some(mut config) = random_case(seed, true) else { continue };
        // Where pages wait for others a write is complete at another instant, and where programs overlap several of a unit fail before
        // that is known.
        let is_off = |key: &str, off: &str| config.device.features.get(key).name == off;
        let one_by_one = is_off("programming", "page") && is_off("cache_program", "off");
        let is_plain = [("write_buffer", "none"), ("map_unit", "page"), ("reclaim_unit", "block")];
        // Of a wordline with lower pages several are written anew: without time one after the other, in time after all have places.
        if config.device.cell != Cell::Slc
            || !one_by_one
            || is_plain.iter().any(|(seam, plain)| config.ftl.get(seam).name != *plain)
        {
            continue;
        }
        let Source::Generator(generator) = &mut config.workload.source else { unreachable!() };
        generator.read_fraction = 0.0;
        config.host.queue_depth = Some(1);
        let [timed, count] = [Executor::Timed, Executor::Count].map(|executor| {
            config.run.executor = executor;
            let summary = run(&config);
            let causes = &summary["flash"]["by_cause"];
            let programs = ["host", "gc", "rmw"].map(|cause| causes[cause]["programs"].clone());
            // Of the last failure the page that is written anew may fail again, which only `count` comes to see.
            let mut end = summary["end_of_life"].clone();
            end.as_object_mut().expect("blocks fail").remove("waf_by_eighth");
            (end, programs, summary["wear"]["erases"].clone())
        });
        assert_eq!(timed, count, "case {seed}: {config:#?}");
        compared += 1;
    }
    assert!(compared > share_of(20), "{compared}");
}

/// A plane of SLC blocks of 8 pages, with so many user pages; each block fails in its first cycles.
fn one_plane(user_pages: u64) -> Config {
    let mut config = plain(1, 1, 1, 1, 24, 8);
    lives(&mut config, 0.0, 40.0, 2.0, 0.5);
    config.device.user_capacity = user_pages * page_size(&config);
    let generator = generator("uniform", page_size(&config), 0.0, config.device.user_capacity);
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(FOR_EVER), ..End::default() };
    (config.run.payload, config.run.checks) = (Payload::Stamp, Checks::Full);
    config
}

/// The same with a map in flash: two translation pages, and few of their entries in DRAM.
fn of_map(user_pages: u64) -> Config {
    let mut config = one_plane(user_pages);
    config.device.page_size = 512;
    config.device.blocks_per_plane = 32;
    choose(&mut config.ftl, "mapping", "dftl", &[("cache", ParamValue::Size(10 * 8))]);
    config.device.user_capacity = user_pages * 512;
    let generator = generator("uniform", 512, 0.0, config.device.user_capacity);
    config.workload.source = Source::Generator(generator);
    config
}

#[test]
fn a_device_lives_until_one_more_unit_fails_than_it_can_spare() {
    let most = device::largest_user_capacity(&one_plane(1)) / page_size(&one_plane(1));
    let mut before = 0.0;
    for spare in 0..4 {
        for executor in [Executor::Count, Executor::Timed] {
            // Each unit of 8 pages that the user space leaves is one to spare.
            let mut config = one_plane(most - spare * 8);
            config.run.executor = executor;
            device::check(&config).unwrap();
            let summary = run(&config);
            let bad = |name: &str| figure(&summary, &format!("policy.bad_blocks.{name}"));
            assert!(has_reached_end(&summary));
            assert_eq!((bad("grown_units"), bad("spare_units"), bad("exhausted")), (spare as f64 + 1.0, 0.0, 0.0));
            assert_eq!(bad("failed_programs") + bad("failed_erases"), spare as f64 + 1.0);
            let lifetime = figure(&summary, "end_of_life.lifetime_bytes");
            assert_eq!(lifetime, figure(&summary, "host.bytes_written"));
            if executor == Executor::Count {
                assert!(lifetime > before, "{spare} to spare: {lifetime}, and {before} with one fewer");
                before = lifetime;
            }
        }
    }
}

/// With erases that stand for several P/E cycles the same life is over after as many fewer writes.
#[test]
fn lives_in_steps_are_as_long() {
    let kinds = [(1, "none"), (3, "static")];
    for &(seed, wear_leveling) in &kinds[..if is_long() { 2 } else { 1 }] {
        let life_in = |cycles_per_erase: u32| {
            let mut config = plain(1, 1, 1, 1, 200, 16);
            config.device.user_capacity = 2500 * page_size(&config);
            let generator = generator("uniform", page_size(&config), 0.0, config.device.user_capacity);
            config.workload.source = Source::Generator(generator);
            config.workload.end = End { requests: Some(u64::MAX), ..End::default() };
            lives(&mut config, 0.0, 4000.0, 6.0, 0.5);
            choose(&mut config.ftl, "wear_leveling", wear_leveling, &[]);
            config.device.wear.cycles_per_erase = cycles_per_erase;
            config.run.precondition = Precondition::Random { volume: config.device.user_capacity * 4 };
            (config.run.executor, config.run.checks, config.run.seed) = (Executor::Count, Checks::Fast, seed);
            device::check(&config).unwrap();
            let summary = run(&config);
            assert!(has_reached_end(&summary));
            let (lifetime, host) = ("end_of_life.lifetime_bytes", "host.bytes_written");
            assert_eq!(figure(&summary, lifetime), figure(&summary, host) * f64::from(cycles_per_erase));
            let parts = summary["end_of_life"]["waf_by_eighth"].as_array().expect("one for each");
            let mean = parts.iter().map(|waf| waf.as_f64().expect("written")).sum::<f64>() / 8.0;
            assert!((mean / figure(&summary, "waf") - 1.0).abs() < 0.02, "{mean} in equal parts");
            figure(&summary, lifetime)
        };
        let [one, ten, twenty] = [1, 10, 20].map(life_in);
        assert!((ten / one - 1.0).abs() < 0.01 && (twenty / one - 1.0).abs() < 0.02, "{one} {ten} {twenty}");
    }
}

#[test]
fn steps_that_say_too_little_are_refused() {
    let mut config = one_plane(72);
    lives(&mut config, 0.0, 500.0, 6.0, 0.5);
    let refusal = |config: &Config| device::check(config).unwrap_err().to_string();
    config.device.wear.cycles_per_erase = 5;
    device::check(&config).expect("100 erases");
    config.device.wear.cycles_per_erase = 6;
    let expected = "blocks live for 500 P/E cycles, which is too few erases of 6 cycles: a life has 100 at least";
    let found = refusal(&config);
    assert!(found.contains(expected) && found.contains("use at most 5"), "{found}");
    config.device.wear.cycles_per_erase = 5;
    choose(&mut config.ftl, "wear_leveling", "static", &[("threshold", ParamValue::Integer(11))]);
    let found = refusal(&config);
    let expected =
        "lets units differ by 11 erases, which are 55 P/E cycles here: too many for blocks that live for 500";
    assert!(found.contains(expected) && found.contains("use at most 4"), "{found}");
    choose(&mut config.ftl, "wear_leveling", "static", &[("threshold", ParamValue::Integer(10))]);
    device::check(&config).expect("a tenth of a life");
    equip(&mut config.device, "bad_blocks", "none", &[]);
    assert!(refusal(&config).contains("no block of this device fails"));
}

#[test]
fn what_cannot_begin_is_refused() {
    let most = device::largest_user_capacity(&one_plane(1)) / page_size(&one_plane(1));
    let mut config = one_plane(most);
    // So that one of 24 blocks is bad from the factory.
    lives(&mut config, 0.02, 40.0, 2.0, 0.5);
    let refused = (0..200).find_map(|seed| {
        config.run.seed = seed;
        device::check(&config).err()
    });
    let refusal = refused.expect("one in fifty blocks is bad").to_string();
    let expected = "`device.bad_blocks`: 1 of the 24 units of domain 0 are bad from the factory, and the user space leaves 0 to spare";
    assert!(refusal.starts_with(expected), "{refusal}");
    let largest = config::print_size((most - 8) * page_size(&config));
    assert!(refusal.contains(&format!("set `device.user_capacity` to at most \"{largest}\"")), "{refusal}");
    let mut spared = one_plane(most - 8);
    (spared.device.features, spared.run.seed) = (config.device.features, config.run.seed);
    let config = spared;
    device::check(&config).expect("one to spare");
    assert!(has_reached_end(&run(&config)));
}

/// A state of a device with retired units goes on as the device itself would.
#[test]
fn states_keep_retired_units() {
    let path = std::env::temp_dir().join(format!("ftlab-retired-{}.state", std::process::id()));
    let (mut saved, mut retired, mut of_choice) = (0, 0.0, BTreeMap::new());
    let of_reads = cases(2000, 100).map(|seed| (seed, true));
    // Of the last one of the first kind a block that had failed before it was full waits for its erase.
    let any = cases(2000, 500).chain([3235]).map(|seed| (seed, false));
    for (seed, is_read) in any.chain(of_reads) {
        let drawn = if is_read { read_case(seed, true) } else { random_case(seed, false) };
        let Some(mut config) = drawn else { continue };
        lives(&mut config, 0.02, 20.0, 1.0, 0.5);
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity * 2 };
        config.workload.end = End { requests: Some(200), ..End::default() };
        config.run.seed = seed;
        let mut options = device::Options { save_state: Some(path.clone()), ..device::Options::default() };
        // Some devices come to their end while they are aged.
        if device::check(&config).is_err() {
            continue;
        }
        let Ok(outcome) = device::simulate(&config, &mut options) else { continue };
        config.run.precondition = Precondition::State { path: path.display().to_string() };
        let (from_state, aged) = (run(&config), outcome.summary);
        for part in ["host", "flash", "gc", "wear", "policy", "end_of_life"] {
            let of = |summary: &Value| {
                let mut part = summary[part].clone();
                if let Some(bad) = part.get_mut("bad_blocks").and_then(Value::as_object_mut) {
                    // What failed while the device was aged is not told of a state.
                    bad.retain(|name, _| !name.starts_with("failed"));
                }
                part
            };
            assert_eq!(of(&from_state), of(&aged), "case {seed}");
        }
        saved += 1;
        for seam in ["mapping", "paired_page"] {
            *of_choice.entry(config.ftl.get(seam).name).or_insert(0) += 1;
        }
        *of_choice.entry(if is_read { "read" } else { "random" }).or_insert(0) += 1;
        retired += figure(&aged, "policy.bad_blocks.grown_units");
    }
    let _ = std::fs::remove_file(path);
    assert!(saved > 20 && retired > 20.0, "{saved} {retired}");
    let count = |choices: &[&str]| choices.iter().filter_map(|choice| of_choice.get(choice)).sum::<u32>();
    let protected = count(&["lsb-backup", "parity-backup", "slc-buffer", "gcmix", "gcmix-adaptive"]);
    assert!(count(&["dftl"]) > 10 && protected > 3 && count(&["read"]) > 15, "{of_choice:?}");
}

/// Power cuts and failures that somebody arms come on top of blocks that fail, in lives that end; no promise is broken.
#[test]
fn nothing_is_lost_to_cuts_of_devices_whose_blocks_fail() {
    for (name, config, stride) in [("page", one_plane(72), 23), ("dftl", of_map(160), 61)] {
        assert!(survives(name, config, stride) > 300, "{name}");
    }
}

/// Lives of a device with every trouble besides its failing blocks. Returns how many.
fn survives(name: &str, mut config: Config, stride: u64) -> u64 {
    lives(&mut config, 0.0, 6.0, 2.0, 0.5);
    let troubles = [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut, Trouble::FailedRecovery];
    troubles.into_iter().fold(0, |runs, trouble| {
        let lives = Lives { writes: 8.0, ..Lives::new(cases(0, 6).end, stride) };
        let tally = try_lives(&config, trouble, &lives, &files::Interrupt::default()).unwrap();
        assert_eq!((tally.losing, &tally.first), (0, &None), "{name}, {trouble:?}");
        assert!(tally.done.iter().any(|done| figure(done, "policy.bad_blocks.grown_units") > 1.0), "{name}");
        runs + tally.runs
    })
}

/// One plane of blocks of MLC or TLC that fail, in either order of programs, under each protection that has blocks of its own.
fn protected() -> Vec<(String, Config)> {
    let mut all = Vec::new();
    let holds = [("high", 24.into()), ("low", 2.into())];
    for protection in ["lsb-backup", "parity-backup", "slc-buffer", "gcmix"] {
        for (cell, order) in [Cell::Mlc, Cell::Tlc]
            .into_iter()
            .flat_map(|cell| [ProgramOrder::Consecutive, ProgramOrder::Shadow].map(|order| (cell, order)))
        {
            for mapping in ["page", "dftl"] {
                let mut config = if mapping == "page" { one_plane(72) } else { of_map(160) };
                let bits = cell.bits();
                config.device.blocks_per_plane = 40;
                (config.device.cell, config.device.program_order) = (cell, order);
                config.device.pages_per_block = 4 * bits;
                config.device.timing.program = vec![Duration::from_us(700); bits as usize];
                config.device.timing.read = vec![Duration::from_us(50); bits as usize];
                let params = match protection {
                    "slc-buffer" => &[("blocks", 2.into())][..],
                    "gcmix" => &holds,
                    _ => &[],
                };
                choose(&mut config.ftl, "paired_page", protection, params);
                let free_blocks = [("free_blocks", 3.into())];
                choose(&mut config.ftl, "gc_schedule", "threshold", &free_blocks);
                if protection == "parity-backup" && cell != Cell::Mlc {
                    continue;
                }
                device::check(&config).unwrap_or_else(|refusal| panic!("{protection} {cell:?} {mapping}: {refusal}"));
                all.push((format!("{protection}, {cell:?}, {order:?}, {mapping}"), config));
            }
        }
    }
    all
}

/// Blocks of backups and full buffers fail like others, and protect what they are to protect all the same.
#[test]
fn nothing_is_lost_where_blocks_of_backups_fail() {
    let all = protected();
    let runs =
        on_all_processors(&all, |(name, config)| survives(name, config.clone(), if is_long() { 397 } else { 1597 }));
    assert!(all.len() == 28 && runs.iter().all(|&runs| runs > 5), "{runs:?}");
}

/// Parameters of a choice.
type Params = &'static [(&'static str, ParamValue)];

/// The same with what keeps units of its own, holds victims back, or moves pages in ways of its own. Schedules that fill time do so by
/// chance here. Copybacks without a limit lose pages by themselves.
#[test]
fn nothing_is_lost_to_cuts_whatever_has_units_that_fail() {
    let cases: [(&str, &str, Params); 9] = [
        ("gc_schedule", "paced", &[("low", ParamValue::Integer(3))]),
        ("gc_schedule", "forwarding", &[("trigger", ParamValue::Word("empty")), ("preempt", ParamValue::Word("on"))]),
        ("gc_schedule", "cycle-filling", &[("preempt", ParamValue::Word("on"))]),
        ("gc_schedule", "background", &[("preempt", ParamValue::Word("off"))]),
        ("migration", "fastgc", &[("metadata", ParamValue::Flag(true))]),
        ("migration", "rcpb", &[("quota", ParamValue::Word("page"))]),
        ("migration", "rcpb", &[("quota", ParamValue::Word("block"))]),
        ("wear_leveling", "static", &[("threshold", ParamValue::Integer(2))]),
        ("wear_leveling", "swap", &[("threshold", ParamValue::Integer(2))]),
    ];
    let troubles = [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut, Trouble::FailedRecovery];
    let all: Vec<_> = cases.iter().flat_map(|case| troubles.map(|trouble| (case, trouble))).collect();
    let runs = on_all_processors(&all, |&(&(seam, choice, params), trouble)| {
        let mut config = one_plane(60);
        lives(&mut config, 0.0, 6.0, 2.0, 0.5);
        choose(&mut config.ftl, "block_allocation", "least-worn", &[]);
        choose(&mut config.ftl, seam, choice, params);
        let lives = Lives { writes: 8.0, ..Lives::new(4, if is_long() { 23 } else { 131 }) };
        let tally = try_lives(&config, trouble, &lives, &files::Interrupt::default()).unwrap();
        assert_eq!((tally.losing, &tally.first), (0, &None), "{choice} {params:?} {trouble:?}");
        let retired: f64 = tally.done.iter().map(|done| figure(done, "policy.bad_blocks.grown_units")).sum();
        assert!(retired >= 4.0, "{choice} {params:?} {trouble:?}: {retired} units have failed");
        tally.runs
    });
    assert!(runs.iter().all(|&runs| runs > 8), "{runs:?}");
}

/// The same with blocks that take so many reads. Wordlines are programmed as a whole, so that no failure takes a page that was programmed
/// before.
#[test]
fn nothing_is_lost_to_cuts_of_devices_that_are_read() {
    let schemes = ["refresh", "redftl", "hot-low-density", "ipr"];
    let troubles = [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut, Trouble::FailedRecovery];
    let all: Vec<_> = schemes.iter().flat_map(|&scheme| troubles.map(|trouble| (scheme, trouble))).collect();
    let runs = on_all_processors(&all, |&(scheme, trouble)| {
        let mut config = plain(1, 1, 1, 1, 48, 16);
        config.device.cell = Cell::Mlc;
        equip(&mut config.device, "programming", "one-shot", &[]);
        config.device.timing.program = vec![Duration::from_us(700); 2];
        config.device.timing.read = vec![Duration::from_us(50); 2];
        config.device.wear.read_limit = Some([140, 1000]);
        let share = |name| (name, ParamValue::Number(0.2));
        let params = match scheme {
            "refresh" => vec![],
            "redftl" => vec![share("monitor"), share("shadow"), ("hot_pages", 4.into())],
            "hot-low-density" => vec![share("monitor"), share("low_density")],
            _ => vec![share("monitor"), share("low_density"), ("pool", ParamValue::Number(0.5))],
        };
        choose(&mut config.ftl, "read_disturb", scheme, &[params, vec![("margin", 12.into())]].concat());
        lives(&mut config, 0.0, 6.0, 2.0, 0.5);
        let page = page_size(&config);
        config.device.user_capacity = device::largest_user_capacity(&config) * 8 / 10 / page * page;
        (config.run.payload, config.run.checks) = (Payload::Stamp, Checks::Full);
        (config.run.precondition, config.run.executor) = (Precondition::None, Executor::Count);
        let lives = Lives { writes: 4.0, reads: 30, ..Lives::new(if is_long() { 2 } else { 1 }, 211) };
        let tally = try_lives(&config, trouble, &lives, &files::Interrupt::default()).unwrap();
        assert_eq!((tally.losing, &tally.first), (0, &None), "{scheme} {trouble:?}");
        assert_eq!((tally.past_limits, &tally.first_past), (0, &None), "{scheme} {trouble:?}");
        let retired: f64 = tally.done.iter().map(|done| figure(done, "policy.bad_blocks.grown_units")).sum();
        assert!(retired >= 2.0, "{scheme} {trouble:?}: {retired} units have failed");
        tally.runs
    });
    assert!(runs.iter().all(|&runs| runs > 2), "{runs:?}");
}

#[test]
fn the_end_in_preconditioning_is_told() {
    let mut config = one_plane(100);
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity * 1000 };
    let error = device::simulate(&config, &mut device::Options::default()).unwrap_err().to_string();
    assert!(error.starts_with("the device comes to the end of its life while it is preconditioned"), "{error}");
}

#[test]
fn without_failures_the_device_is_the_same_as_ever() {
    // Blocks that live for ever cost room, and nothing else.
    let mut config = one_plane(60);
    lives(&mut config, 0.0, 1e9, 6.0, 0.5);
    config.workload.end = End { requests: Some(3000), ..End::default() };
    let summary = run(&config);
    assert!(!has_reached_end(&summary));
    assert_eq!(summary["end_of_life"]["lifetime_bytes"], Value::Null);
    assert_eq!(figure(&summary, "policy.bad_blocks.grown_units"), 0.0);
    equip(&mut config.device, "bad_blocks", "none", &[]);
    assert_eq!(run(&config).get("end_of_life"), None);
}

/// A random device of one die whose wordlines are programmed as a whole and whose blocks fail after a few cycles, nearly full.
fn whole_wordlines(seed: u64) -> Option<Config> {
    let mut config = random_case(seed, true)?;
    if config.device.features.get("programming").name == "page" {
        equip(&mut config.device, "programming", ["one-shot", "two-pass"][seed as usize % 2], &[]);
        config.device.program_order = ProgramOrder::Consecutive;
        if config.device.cell == Cell::Slc {
            config.device.cell = Cell::Mlc;
            config.device.pages_per_block *= 2;
        }
        let bits = config.device.cell.bits() as usize;
        config.device.timing.program = vec![Duration::from_us(700); bits];
        config.device.timing.read = vec![Duration::from_us(50); bits];
        config.device.pages_per_block = config.device.pages_per_block.next_multiple_of(bits as u32 * 2);
    }
    choose(&mut config.ftl, "paired_page", ["none", "supercap"][(seed / 2) as usize % 2], &[]);
    let always = [("write_buffer", "none"), ("wear_leveling", "none")];
    let mostly = if seed % 5 == 2 { vec![] } else { vec![("migration", "off-chip")] };
    for (seam, choice) in [always.as_slice(), &mostly].concat() {
        choose(&mut config.ftl, seam, choice, &[]);
    }
    equip(&mut config.device, "cache_program", "off", &[]);
    config.run.executor = Executor::Count;
    config.device.blocks_per_plane += 10;
    let page = page_size(&config);
    config.device.user_capacity = device::largest_user_capacity(&config) * 9 / 10 / page * page;
    (config.device.user_capacity > 0 && device::check(&config).is_ok()).then_some(config)
}

/// At the end of a life a copy whose program fails finds no place any more. It stays where it was copied from.
#[test]
fn copies_without_a_place_stay_where_they_were() {
    let seeds = std::env::var("FTLAB_LIVES").map_or(1, |lives| lives.parse().expect("a number"));
    // Two of the first cases lost pages once.
    let seeds: Vec<u64> = [189, 208].into_iter().chain(0..if is_long() { 70 * seeds } else { 40 }).collect();
    let runs = on_all_processors(&seeds, |&seed| {
        let Some(config) = whole_wordlines(seed) else { return 0 };
        let troubles = [Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure, Trouble::FailedRecovery];
        troubles.into_iter().fold(0, |runs, trouble| {
            let lives = Lives { writes: 6.0, ..Lives::new(1, 37) };
            let tally = try_lives(&config, trouble, &lives, &files::Interrupt::default()).unwrap();
            assert_eq!(tally.losing, 0, "case {seed}, {trouble:?}: {:?}", tally.first);
            runs + tally.runs
        })
    });
    let runs: u64 = runs.into_iter().sum();
    assert!(runs > share_of(1000), "{runs}");
}

/// A random device whose blocks fail after a few cycles, and the troubles that destroy no page there beside the one that is programmed.
fn lossless(seed: u64) -> Option<(Config, &'static [Trouble])> {
    let mut config = random_case(seed, seed.is_multiple_of(3))?;
    let programs_whole = config.device.features.get("programming").name != "page";
    let mut troubles = &[Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure, Trouble::FailedRecovery][..];
    if config.device.cell != Cell::Slc && !programs_whole {
        // It has the lower pages while the power is on.
        choose(&mut config.ftl, "paired_page", "page-buffer", &[]);
        troubles = &[Trouble::ProgramFailure];
    }
    let buffer = config.ftl.get("write_buffer");
    if buffer.name != "none" {
        let params = [("size", ParamValue::Size(buffer.size("size")))];
        choose(&mut config.ftl, "write_buffer", "lru", &params);
    }
    config.run.executor = Executor::Count;
    device::check(&config).is_ok().then_some((config, troubles))
}

/// A parity covers two lower pages of a block by each other: in cache mode programs over both were once under way, and failed together.
#[test]
fn programs_over_both_pages_of_a_parity_do_not_follow_each_other() {
    let (mut tried, mut failed, mut in_cache_mode) = (0, 0.0, 0.0);
    for seed in 0..120 {
        let Some(mut config) = random_case(seed, false) else { continue };
        choose(&mut config.ftl, "paired_page", "parity-backup", &[]);
        choose(&mut config.ftl, "migration", "fastgc", &[("metadata", (seed % 3 > 0).into())]);
        equip(&mut config.device, "cache_program", "on", &[]);
        config.run.executor = Executor::Timed;
        if config.device.cell == Cell::Slc || device::check(&config).is_err() {
            continue;
        }
        let summary = run(&config);
        let bad = |name: &str| figure(&summary, &format!("policy.bad_blocks.{name}"));
        if bad("exhausted") == 0.0 {
            assert_eq!(bad("lost_pages"), 0.0, "case {seed}");
            failed += bad("failed_programs");
            tried += 1;
        }
        in_cache_mode += figure(&summary, "flash.cache_mode.programs");
    }
    assert!(tried >= 5 && failed > 100.0, "{tried} devices, {failed} failed programs");
    assert_eq!(in_cache_mode, 0.0);
}

/// Cuts, failed programs and failed recoveries in lives of random devices whose blocks fail: what a protection has, and what was
/// programmed, is there afterwards, up to the end of the device and beyond.
#[test]
fn random_devices_whose_blocks_fail_lose_nothing() {
    let many: u64 = std::env::var("FTLAB_LIVES").map_or(1, |lives| lives.parse().expect("a number"));
    let first: u64 = std::env::var("FTLAB_FIRST").map_or(0, |first| first.parse().expect("a number"));
    // A copy whose program failed twice was lost once.
    let seeds: Vec<u64> = [310].into_iter().chain(first..first + share_of(120) * many).collect();
    let tallies = on_all_processors(&seeds, |&seed| {
        let Some((config, troubles)) = lossless(seed) else { return (0, 0) };
        let runs = troubles.iter().fold(0, |runs, &trouble| {
            let lives = Lives { writes: 6.0, ..Lives::new(1, 41) };
            let tally = try_lives(&config, trouble, &lives, &files::Interrupt::default()).unwrap();
            // What a page buffer holds has no place to go to then.
            let excused = if config.ftl.get("paired_page").name == "page-buffer" { tally.exhausted } else { 0 };
            assert_eq!(tally.losing, excused, "case {seed}, {trouble:?}: {:?}", tally.first);
            runs + tally.runs
        });
        (runs, u64::from(ftl::allocation::is_dynamic(config.ftl.get("allocation").name)))
    });
    let [runs, dynamic] = [0, 1].map(|which| tallies.iter().map(|tally| [tally.0, tally.1][which]).sum::<u64>());
    println!("{runs} lives with a fault, {dynamic} devices with dynamic allocation");
    assert!(runs > share_of(1000) && dynamic > share_of(3) - 1, "{runs} {dynamic}");
}

/// The same where blocks take only so many reads, and lower pages are backed up.
#[test]
fn random_devices_that_are_read_and_backed_up_lose_nothing() {
    let many: u64 = std::env::var("FTLAB_LIVES").map_or(1, |lives| lives.parse().expect("a number"));
    let first: u64 = std::env::var("FTLAB_FIRST").map_or(0, |first| first.parse().expect("a number"));
    // After a restart reads of the first one were counted that a reprogram had made good; a copy of the other had no place once.
    let seeds: Vec<u64> = [1024, 1030].into_iter().chain(first..first + share_of(8) * many).collect();
    let troubles = [Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure, Trouble::FailedRecovery];
    let runs = on_all_processors(&seeds, |&seed| {
        let Some(mut config) = read_case(seed, true) else { return 0 };
        (config.run.precondition, config.run.executor) = (Precondition::None, Executor::Count);
        troubles.into_iter().fold(0, |runs, trouble| {
            let lives = Lives { writes: 4.0, reads: 30, ..Lives::new(1, 1511) };
            let tally = try_lives(&config, trouble, &lives, &files::Interrupt::default()).unwrap();
            assert_eq!((tally.losing, &tally.first), (0, &None), "case {seed} {trouble:?}");
            assert_eq!((tally.past_limits, &tally.first_past), (0, &None), "case {seed} {trouble:?}");
            runs + tally.runs
        })
    });
    let runs: u64 = runs.into_iter().sum();
    println!("{runs} lives with a fault");
    assert!(runs > share_of(300), "{runs}");
}
