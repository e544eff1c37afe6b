//! Map units below the flash page: what is read, sent and programmed of one, what waits and what is filled up, and that nothing is lost.

use std::collections::BTreeMap;

use crate::common::*;
use base::{Cell, Duration, Multiplane, ParamValue, ProgramOrder};
use config::Config;
use config::model::{Executor, Payload, Precondition, Source};
use engine::Chance;
use files::Interrupt;
use rig::survival::{Lives, Trouble, try_everywhere, try_lives};

/// Random devices that are tried.
const LIVES: u64 = 30;

/// Managements of read disturb that units go with.
const SCHEMES: [&str; 5] = ["refresh", "redftl", "read-leveling", "hot-low-density", "ipr"];

const UNITS: [&str; 4] = ["page", "8KiB", "4KiB", "2KiB"];

/// A flash page of each of the two planes of `small`.
const WIDE: &str = "32KiB";

/// How long units wait for the rest of their flash page: nanoseconds.
const PAD_AFTER: u64 = 900_000;

fn set_unit(config: &mut Config, unit: &str) {
    let params = [("pad_after", ParamValue::Time(Duration(PAD_AFTER)))];
    choose(&mut config.ftl, "map_unit", unit, if unit == "page" { &[] } else { &params });
}

/// A device of flash pages of 16 KiB with so large units.
fn device(planes: u32, unit: &str) -> Config {
    let mut config = plain(1, 1, 1, planes, 16, 16);
    config.device.page_size = 16 << 10;
    config.device.user_capacity *= 2;
    set_unit(&mut config, unit);
    config
}

/// A random device with units below the page, nearly full.
fn random(seed: u64) -> Config {
    let mut config = random_config(seed);
    config.device.page_size = [8192, 16_384][seed as usize % 2];
    let mut unit = ["512B", "1KiB", "2KiB", "4KiB"][(seed / 2) as usize % 4];
    if config.device.planes_per_die == 4 && unit == "512B" {
        unit = "1KiB";
    }
    if config.ftl.get("mapping").name == "fast" {
        choose(&mut config.ftl, "mapping", "page", &[]);
    }
    if config.ftl.get("mapping").name == "dftl" && ftl::paired::keeps_track(config.ftl.get("paired_page").name) {
        choose(&mut config.ftl, "paired_page", "none", &[]);
    }
    if let Some((_, mixing)) =
        config.ftl.made.iter_mut().find(|(key, made)| *key == "paired_page" && made.name.starts_with("gcmix"))
    {
        // Units hold more blocks free.
        mixing.set("high", 14.into());
    }
    let is_adaptive = config.ftl.get("paired_page").name == "gcmix-adaptive";
    if config.ftl.get("reclaim_unit").name == "superblock" {
        let sector = 512 * config.in_step().parts();
        let mut units = [("4KiB", 4096), ("2KiB", 2048), ("1KiB", 1024)].into_iter();
        let superpage = config.in_step().parts() * config.device.page_size;
        match units.find(|&(_, size)| size % sector == 0 && superpage / size <= 16) {
            Some((fitting, _)) => unit = fitting,
            None => choose(&mut config.ftl, "reclaim_unit", "block", &[]),
        }
    }
    config.device.blocks_per_plane += 8;
    config.device.pages_per_block += 3 * config.device.cell.bits();
    choose(&mut config.ftl, "read_disturb", "ignore", &[]);
    config.device.wear.read_limit = None;
    set_unit(&mut config, unit);
    if config.ftl.get("write_buffer").name != "none" {
        let buffer = config.ftl.made.iter_mut().find(|(key, _)| *key == "write_buffer").expect("a seam");
        buffer.1.set("size", ParamValue::Size((4 << 10) * (1 + seed % 20)));
    }
    let mut requests = generator("zipf", 512 * (1 + seed % 40), 0.3, 0);
    if is_adaptive {
        // It looks at the time, and without arrivals there is none under `count`.
        requests.interval = Duration(100_000_000);
    }
    config.workload.source = Source::Generator(requests);
    config.workload.end.requests = Some(400);
    fill(&mut config);
    config
}

/// Where pages store nothing, those of the host and those of a victim are placed several at once; with stamps they go one by one.
#[test]
fn units_that_go_together_are_those_that_go_one_by_one() {
    let mut random = Chance::new(1, "runs");
    let (mut tried, mut moved) = (0, 0.0);
    for number in 0..96 {
        let mut config = device([1, 2, 4][number % 3], ["4KiB", "2KiB", "8KiB"][number / 3 % 3]);
        config.device.channels = 2;
        config.device.blocks_per_plane = 22;
        config.device.user_capacity *= 2;
        execute(&mut config, Executor::Count);
        for (seam, names) in [
            ("allocation", &["F2", "F", "CWDP", "D"][..]),
            ("reclaim_unit", &["twin", "block"]),
            ("separation", &["none", "host-gc"]),
            ("victim", &["greedy", "cost-benefit", "rga"]),
            ("migration", &["off-chip", "off-chip", "copyback"]),
            ("block_allocation", &["first-fit", "least-worn"]),
        ] {
            choose(&mut config.ftl, seam, names[random.below(names.len() as u64) as usize], &[]);
        }
        let is_dynamic = dynamic_allocations().contains(&config.ftl.get("allocation").name);
        choose(&mut config.ftl, "binding", if is_dynamic { "dynamic" } else { "static" }, &[]);
        match random.below(3) {
            0 => choose(&mut config.ftl, "gc_schedule", "paced", &[("low", (1 + random.below_u32(3)).into())]),
            free_blocks => {
                let free_blocks = [("free_blocks", (free_blocks as u32).into())];
                choose(&mut config.ftl, "gc_schedule", "threshold", &free_blocks);
            }
        }
        if random.below(2) == 0 {
            choose(&mut config.ftl, "wear_leveling", "static", &[("threshold", 2.into())]);
        }
        if random.below(2) == 0 {
            let size = ("size", ParamValue::Size(config.device.user_capacity / 16));
            choose(&mut config.ftl, "write_buffer", "fifo", &[size]);
        }
        config.device.wear.copyback = forgiving();
        config.run.precondition = Precondition::Random { volume: 2 * config.device.user_capacity };
        let requests = generator("zipf", 4096 << random.below(4), 0.3, config.device.user_capacity);
        config.workload.source = Source::Generator(requests);
        config.workload.end.requests = Some(2000);
        if device::check(&config).is_err() {
            continue;
        }
        tried += 1;
        let [together, one_by_one] = [Payload::None, Payload::Stamp].map(|payload| {
            config.run.payload = payload;
            let mut summary = metrics::deterministic(&run(&config));
            moved += figure(&summary, "gc.moved_pages");
            summary.as_object_mut().expect("an object").remove("config");
            summary
        });
        assert_eq!(together, one_by_one, "case {number}: {:?}", config.ftl);
    }
    assert!(tried > 60 && moved > 100_000.0, "{tried} tried, {moved} moved");
}

/// Pages carry stamps, so every read is checked, and all data at the end.
#[test]
fn random_devices_with_units_below_the_page_lose_nothing() {
    let (mut padded, mut moved) = (0.0, 0.0);
    for seed in 0..share_of(LIVES) {
        for executor in [Executor::Count, Executor::Timed] {
            let mut config = random(seed + 3_700_000);
            execute(&mut config, executor);
            if let Err(refusal) = device::check(&config) {
                panic!("case {seed} {executor:?}: {refusal}");
            }
            let summary = std::panic::catch_unwind(|| run(&config))
                .unwrap_or_else(|_| panic!("case {seed} {executor:?}: {:?} {:?}", config.device, config.ftl));
            padded += figure(&summary, "flash.by_cause.pad.programs");
            moved += figure(&summary, "gc.moved_pages");
        }
    }
    assert!(padded > 100.0 && moved > 100.0, "{padded} filled up, {moved} moved");
}

/// Blocks that are refreshed again and again, with half, a quarter and an eighth of a page to a unit. A run in which a unit is read past
/// its limit fails.
#[test]
fn units_are_refreshed_before_they_are_read_too_often() {
    let mut refreshed = BTreeMap::new();
    for (number, scheme) in SCHEMES.into_iter().cycle().take(11 * SCHEMES.len()).enumerate() {
        let number = number as u64;
        let seed = number / SCHEMES.len() as u64;
        let mut config = random(3_900_000 + number);
        if config.ftl.get("paired_page").name == "gcmix-adaptive" {
            // That asks for requests in time.
            choose(&mut config.ftl, "paired_page", "gcmix", &[("high", 14.into())]);
        }
        let parts = [2, 4, 8][seed as usize % 3];
        config.device.page_size = 512 * parts;
        if config.in_step().parts() > 1 {
            choose(&mut config.ftl, "reclaim_unit", "block", &[]);
        }
        set_unit(&mut config, "512B");
        choose(&mut config.ftl, "write_buffer", "none", &[]);
        let mut params = vec![("margin", 12.into())];
        if scheme != "refresh" {
            let share = if scheme == "ipr" || scheme == "hot-low-density" { "low_density" } else { "shadow" };
            params.extend([("monitor", 0.25.into()), (share, 0.25.into())]);
        }
        choose(&mut config.ftl, "read_disturb", scheme, &params);
        choose(&mut config.ftl, "slc_cache", "off", &[]);
        if scheme == "read-leveling" {
            config.device.program_order = ProgramOrder::Consecutive;
        }
        let is_low = ["ipr", "hot-low-density"].contains(&scheme);
        if is_low && config.device.cell == Cell::Slc {
            config.device.cell = Cell::Mlc;
            config.device.pages_per_block *= 2;
        }
        config.device.blocks_per_plane += if is_low { 36 } else { 12 };
        // Pages of buffers have no read limit, and backups read a block most.
        if config.ftl.get("paired_page").name == "slc-buffer" {
            choose(&mut config.ftl, "paired_page", "lsb-backup", &[]);
        }
        let backups = if ftl::paired::keeps_track(config.ftl.get("paired_page").name) { 8 } else { 0 };
        let full = (2 + backups * config.device.planes_per_die) * parts * config.device.pages_per_block + 60;
        config.device.wear.read_limit = Some([full, 6 * full]);
        config.workload.source = Source::Generator(generator("zipf", 512 * (1 + seed % 9), 0.9, 0));
        config.workload.end.requests = Some(4000);
        fill(&mut config);
        execute(&mut config, if seed.is_multiple_of(2) { Executor::Timed } else { Executor::Count });
        device::check(&config).unwrap_or_else(|refusal| panic!("case {number} {scheme}: {refusal}"));
        let summary = std::panic::catch_unwind(|| run(&config)).unwrap_or_else(|_| panic!("case {number} {scheme}"));
        *refreshed.entry(scheme).or_insert(0.0) += figure(&summary, "policy.read_disturb.refreshes");
    }
    assert!(refreshed.len() == SCHEMES.len() && refreshed.values().all(|&count| count >= 40.0), "{refreshed:?}");
}

/// The same under traces, whose requests overlap, and which trim, flush, and write with FUA.
#[test]
fn traces_with_trims_lose_nothing() {
    for seed in 0..share_of(LIVES) {
        for executor in [Executor::Count, Executor::Timed] {
            let mut config = random(seed + 3_800_000);
            let trace = TraceFile::random(seed, config.device.user_capacity, 150);
            config.workload.source = trace.source();
            config.workload.end.requests = None;
            config.workload.end.rounds = Some(2);
            execute(&mut config, executor);
            if device::check(&config).is_err_and(|refusal| refusal.message.contains("is larger than the user capacity"))
            {
                choose(&mut config.ftl, "write_buffer", "none", &[]);
            }
            device::check(&config).unwrap_or_else(|refusal| panic!("case {seed} {executor:?}: {refusal}"));
            std::panic::catch_unwind(|| run(&config))
                .unwrap_or_else(|_| panic!("case {seed} {executor:?}: {:?} {:?}", config.device, config.ftl));
        }
    }
}

/// Two planes of 16 blocks of 8 flash pages of 16 KiB, for lives without time. They are of SLC, where they are programmed one by one and
/// nothing protects them.
fn small(unit: &str, reclaim_unit: &str, programming: &str, buffer: &str, protection: &str) -> Config {
    small_with(unit, reclaim_unit, programming, buffer, protection, |_| {})
}

/// The same with something else.
fn small_with(
    unit: &str,
    reclaim_unit: &str,
    programming: &str,
    buffer: &str,
    protection: &str,
    change: impl FnOnce(&mut Config),
) -> Config {
    let mut config = plain(1, 1, 1, 2, 16, 8);
    config.device.page_size = 16 << 10;
    set_unit(&mut config, unit);
    choose(&mut config.ftl, "reclaim_unit", reclaim_unit, &[]);
    choose(&mut config.ftl, "paired_page", protection, &[]);
    match protection {
        "slc-buffer" => {
            choose(&mut config.ftl, "paired_page", protection, &[("blocks", 2.into())]);
            choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 2.into())]);
            config.device.blocks_per_plane += 40;
        }
        "gcmix" => config.device.blocks_per_plane += 12,
        "lsb-backup" | "parity-backup" => config.device.blocks_per_plane += 4,
        _ => {}
    }
    let size = [("size", ParamValue::Size(64 << 10))];
    choose(&mut config.ftl, "write_buffer", buffer, if buffer == "none" { &[] } else { &size });
    equip(&mut config.device, "programming", programming, &[]);
    if programming != "page" || protection != "none" {
        config.device.cell = Cell::Mlc;
    }
    config.run.executor = Executor::Count;
    config.run.payload = Payload::Stamp;
    config.run.precondition = Precondition::None;
    change(&mut config);
    let most = device::largest_user_capacity(&config) * 8 / 10;
    config.device.user_capacity = most / (32 << 10) * (32 << 10);
    if let Source::Generator(generator) = &mut config.workload.source {
        generator.footprint = config.device.user_capacity;
    }
    device::check(&config)
        .unwrap_or_else(|refusal| panic!("{unit} {reclaim_unit} {programming} {protection}: {refusal}"));
    config
}

/// Power cuts and failed programs at operations of lives without time; in time they are in `cuts.rs`.
#[test]
fn what_is_acknowledged_survives_faults() {
    let troubles = [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut, Trouble::FailedRecovery];
    let (mut runs, mut restarts) = (0, 0);
    for unit in [&UNITS[..], &[WIDE]].concat() {
        for (reclaim_unit, programming, buffer) in [
            ("block", "page", "none"),
            ("twin", "page", "none"),
            ("block", "one-shot", "lru"),
            ("twin", "one-shot", "none"),
            ("twin", "two-pass", "none"),
        ] {
            // What is in step is not programmed by wordlines.
            if unit == WIDE && programming != "page" {
                continue;
            }
            let config = small(unit, reclaim_unit, programming, buffer, "none");
            for trouble in troubles {
                let stride = if trouble == Trouble::ProgramFailure { 53 } else { 211 };
                // After a cut and a failed program there are too few free blocks, with units and without: an open fault.
                if trouble == Trouble::FailedRecovery && (reclaim_unit, programming) == ("twin", "one-shot") {
                    continue;
                }
                let tally = try_everywhere(&config, trouble, 2, stride, &Interrupt::default()).unwrap();
                assert_eq!(tally.losing, 0, "{unit} {reclaim_unit} {programming} {trouble:?}: {:?}", tally.first);
                (runs, restarts) = (runs + tally.runs, restarts + tally.restarts);
            }
        }
    }
    assert!(runs > 500 && restarts > 200, "{runs} lives, {restarts} restarts");
}

/// The same with the map in flash. Of a translation page that a power cut leaves in part nothing is used; one whose program fails is
/// programmed elsewhere as a whole.
#[test]
fn a_map_of_units_survives_faults() {
    let (mut runs, mut restarts) = (0, 0);
    for parts in [1, 2, 4, 8] {
        for (reclaim_unit, allocation) in [("block", "CWDP"), ("twin", "CWDP"), ("block", "F2"), ("twin", "F2")] {
            let unit = if parts == 1 { "page" } else { "512B" };
            let config = small_with(unit, reclaim_unit, "page", "none", "none", |config| {
                config.device.page_size = 512 * parts;
                config.device.blocks_per_plane = 34;
                choose(&mut config.ftl, "allocation", allocation, &[]);
                let cache = [("cache", ParamValue::Size(8 * 2 * 24))];
                choose(&mut config.ftl, "mapping", "dftl", &cache);
                let three = [("free_blocks", 3.into())];
                choose(&mut config.ftl, "gc_schedule", "threshold", &three);
                if let Source::Generator(generator) = &mut config.workload.source {
                    generator.request_size = 1024;
                }
                config.workload.end.requests = Some(700);
            });
            for trouble in [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut, Trouble::FailedRecovery] {
                let stride = if trouble == Trouble::ProgramFailure { 431 } else { 1709 };
                let tally = try_everywhere(&config, trouble, 2, stride, &Interrupt::default()).unwrap();
                let name = format!("{parts} parts, {reclaim_unit}, {allocation}, {trouble:?}: {:?}", tally.first);
                assert_eq!(tally.losing, 0, "{name}");
                (runs, restarts) = (runs + tally.runs, restarts + tally.restarts);
            }
        }
    }
    assert!(runs > 800 && restarts > 400, "{runs} lives, {restarts} restarts");
}

/// Flash pages of two bits to a cell, one by one: a failed program takes units of the lower flash page along.
#[test]
fn units_of_paired_pages_survive_what_their_protection_is_for() {
    let (mut lost, mut runs) = (0, 0);
    for unit in UNITS {
        for reclaim_unit in ["block", "twin"] {
            for (protection, trouble) in [
                ("page-buffer", Trouble::ProgramFailure),
                ("supercap", Trouble::PowerCut),
                ("supercap", Trouble::SecondCut),
                // What each is no help against.
                ("supercap", Trouble::ProgramFailure),
                ("page-buffer", Trouble::PowerCut),
            ] {
                let helps = (protection == "supercap") == (trouble != Trouble::ProgramFailure);
                let stride = if trouble == Trouble::ProgramFailure { 23 } else { 111 };
                let config = small(unit, reclaim_unit, "page", "none", protection);
                let tally = try_everywhere(&config, trouble, 2, stride, &Interrupt::default()).unwrap();
                let name = format!("{unit} {reclaim_unit} {protection} {trouble:?}: {:?}", tally.first);
                assert_eq!(tally.losing == 0, helps, "{name}");
                (lost, runs) = (lost + tally.losing, runs + tally.runs);
            }
        }
    }
    assert!(runs > 1000 && lost > 50, "{runs} lives, {lost} with losses");
}

/// Copies of rows of lower flash pages, in blocks of their own or in victims, help against every fault. A single row that nothing covers is
/// at risk for one program, so faults are dense, in lives that end with them. Others go on.
#[test]
fn rows_of_units_are_covered_before_others_are_programmed_over_them() {
    let lives = |stride, (writes, afterwards)| Lives { writes, afterwards, ..Lives::new(1, stride) };
    let (short, long) = ((1.5, 0.0), (2.5, 1.0));
    let mut runs = 0;
    for unit in UNITS {
        for reclaim_unit in ["block", "twin"] {
            for protection in ["lsb-backup", "parity-backup", "slc-buffer", "gcmix"] {
                for (trouble, stride, length) in [
                    (Trouble::ProgramFailure, 7, short),
                    (Trouble::PowerCut, 23, short),
                    (Trouble::ProgramFailure, 211, long),
                    (Trouble::SecondCut, 1009, long),
                ] {
                    let config = small(unit, reclaim_unit, "page", "none", protection);
                    let tally = try_lives(&config, trouble, &lives(stride, length), &Interrupt::default()).unwrap();
                    let name = format!("{unit} {reclaim_unit} {protection} {trouble:?}: {:?}", tally.first);
                    assert_eq!(tally.losing, 0, "{name}");
                    runs += tally.runs;
                }
            }
        }
    }
    assert!(runs > 10_000, "{runs} lives");
}

/// Under GCMix units of victims lie below those of the host, which need fewer backups then: of each row of units, whatever its unit is.
#[test]
fn units_of_victims_go_under_those_of_the_host() {
    for unit in UNITS {
        for reclaim_unit in ["block", "twin"] {
            for executor in [Executor::Count, Executor::Timed] {
                let of = |protection| {
                    let mut config = small(unit, reclaim_unit, "page", "none", protection);
                    let most = small(unit, reclaim_unit, "page", "none", "gcmix").device.user_capacity / 2;
                    config.device.user_capacity = most;
                    config.device.blocks_per_plane = 28;
                    config.workload.source = Source::Generator(generator("uniform", 16 << 10, 0.0, most));
                    config.workload.end.requests = Some(2000);
                    execute(&mut config, executor);
                    run(&config)
                };
                let (mixed, backed_up) = (of("gcmix"), of("lsb-backup"));
                let what = format!("{unit} {reclaim_unit} {executor:?}");
                let share = figure(&mixed, "policy.paired_page.paired_fraction");
                let backups = [&mixed, &backed_up].map(|summary| figure(summary, "flash.by_cause.backup.programs"));
                assert!(share > 0.05 && share <= 1.0, "{what}: {share}");
                assert!(backups[0] < backups[1], "{what}: {backups:?} backups");
            }
        }
    }
}

/// Writes of flash pages, by which some stay whole.
fn copying(unit: &str, reclaim_unit: &str, way: &str) -> Config {
    let mut config = small(unit, reclaim_unit, "page", "none", "none");
    choose(&mut config.ftl, "migration", way, &[]);
    if way == "copyback" {
        config.device.wear.copyback = forgiving();
    }
    let most = device::largest_user_capacity(&config) * 9 / 10;
    config.device.user_capacity = config.device.user_capacity.min(most / (32 << 10) * (32 << 10));
    config.workload.source = Source::Generator(generator("zipf", 40 << 10, 0.0, config.device.user_capacity));
    config.workload.end.requests = Some(1500);
    device::check(&config).unwrap_or_else(|refusal| panic!("{unit} {reclaim_unit} {way}: {refusal}"));
    config
}

/// Every way by copyback, with and without time. What is copied are whole flash pages, of twin blocks whole rows; what a row holds of
/// others goes through the controller.
#[test]
fn whole_flash_pages_are_copied_inside_their_planes() {
    for unit in UNITS {
        for (reclaim_unit, together) in [("block", 1.0), ("twin", 2.0)] {
            for way in ["copyback", "fastgc", "rcpb"] {
                for executor in [Executor::Count, Executor::Timed] {
                    let mut config = copying(unit, reclaim_unit, way);
                    execute(&mut config, executor);
                    let (summary, what) = (run(&config), format!("{unit} {reclaim_unit} {way} {executor:?}"));
                    let copied = figure(&summary, "flash.copybacks");
                    let whole = if unit == "page" { 1.0 } else { together };
                    assert!(copied > 100.0 && copied % whole == 0.0, "{what}: {copied}");
                    assert!(unit == "page" || figure(&summary, "policy.migration.off_chip") > 0.0, "{what}");
                }
            }
        }
    }
}

#[test]
fn copied_flash_pages_survive_faults() {
    let mut runs = 0;
    for unit in UNITS {
        for reclaim_unit in ["block", "twin"] {
            let config = copying(unit, reclaim_unit, "copyback");
            for (trouble, stride) in
                [(Trouble::ProgramFailure, 97), (Trouble::PowerCut, 211), (Trouble::SecondCut, 211)]
            {
                let tally = try_everywhere(&config, trouble, 2, stride, &Interrupt::default()).unwrap();
                assert_eq!(tally.losing, 0, "{unit} {reclaim_unit} {trouble:?}: {:?}", tally.first);
                runs += tally.runs;
            }
        }
    }
    assert!(runs > 500, "{runs} lives");
}

#[test]
fn a_write_of_a_unit_programs_no_more() {
    for (unit, bytes) in [("page", 4.0), ("8KiB", 2.0), ("4KiB", 1.0), ("2KiB", 1.0)] {
        for executor in [Executor::Count, Executor::Timed] {
            let mut config = device(1, unit);
            config.run.executor = executor;
            config.host.queue_depth = Some(32);
            config.workload.source =
                Source::Generator(generator("sequential", 4096, 0.0, config.device.user_capacity / 2));
            config.workload.end.requests = Some(128);
            let summary = run(&config);
            assert_eq!(figure(&summary, "waf"), bytes, "{unit} under {executor:?}");
        }
    }
}

#[test]
fn a_read_of_the_array_brings_all_units_of_its_page() {
    for planes in [1, 2] {
        for executor in [Executor::Count, Executor::Timed] {
            for unit in UNITS {
                let mut config = device(planes, unit);
                config.run.executor = executor;
                config.device.multiplane = Multiplane::Pac;
                let pages = 8 * u64::from(planes);
                config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
                config.workload.source = Source::Generator(generator("sequential", 64 << 10, 1.0, pages * (64 << 10)));
                config.workload.end.requests = Some(pages);
                let summary = run(&config);
                assert_eq!(
                    figure(&summary, "flash.by_cause.host.reads"),
                    4.0 * pages as f64,
                    "{unit} under {executor:?}"
                );
            }
        }
    }
}

/// Units of a flash page with another one's between them, on one die: both flash pages are read once, whatever the order of service.
#[test]
fn a_request_reads_each_flash_page_once() {
    let unit = 4096;
    // Four units that are written first, and then every other one of them anew: each flash page has units 0 and 2, or 1 and 3.
    let written: Vec<_> = (0..8).map(|at| (0, "Write", at * unit, unit)).collect();
    let anew = (0..8).step_by(2).map(|at| (20_000_000, "Write", at * unit, unit));
    let read = (40_000_000, "Read", 0, 8 * unit);
    let rows: Vec<_> = written.into_iter().chain(anew).chain([read]).collect();
    for scheduler in ["fifo", "paq"] {
        for executor in [Executor::Count, Executor::Timed] {
            let mut config = device(1, "4KiB");
            choose(&mut config.ftl, "scheduler", scheduler, &[]);
            config.run.executor = executor;
            let summary = replay(&config, &rows);
            assert_eq!(figure(&summary, "flash.by_cause.host.reads"), 3.0, "{scheduler} under {executor:?}");
            if executor == Executor::Timed {
                // Three array reads, and eight units over the bus.
                let latency = figure(&summary, "host.read_latency_us.max");
                assert!((latency - (3.0 * 75.0 + 8.0 * 20.48)).abs() < 1e-6, "{scheduler}: {latency}");
            }
        }
    }
}

/// A plane has its turn for a whole flash page, so a read of as many units as one has reads one, after a fill in order.
#[test]
fn units_that_were_filled_in_order_share_flash_pages_under_a_dynamic_allocation() {
    for (allocation, unit) in [("F", "8KiB"), ("F", "4KiB"), ("F2", "4KiB"), ("F2", "2KiB"), ("D", "4KiB")] {
        let mut config = device(2, unit);
        choose(&mut config.ftl, "allocation", allocation, &[]);
        let (capacity, page) = (config.device.user_capacity, 16 << 10);
        config.workload.source = Source::Generator(generator("sequential", page, 1.0, capacity));
        config.workload.end.requests = Some(capacity / page);
        config.run.precondition = Precondition::Sequential { volume: capacity };
        let summary = run(&config);
        let reads = figure(&summary, "flash.by_cause.host.reads") / figure(&summary, "host.reads");
        assert_eq!(reads, 1.0, "{allocation}, units of {unit}");
    }
}

/// A request of *n* units reads *n* ÷ *k* flash pages after a fill in order, and nearly *n* of them when all was written at random.
/// On one die it takes each of them a *t*R, and each unit its transfer.
#[test]
fn sequential_reads_are_slower_after_random_writes() {
    let units = 16.0;
    for (unit, size, parts) in [("8KiB", 8192, 2.0), ("4KiB", 4096, 4.0), ("2KiB", 2048, 8.0)] {
        let mut config = device(1, unit);
        let capacity = config.device.user_capacity;
        config.workload.source = Source::Generator(generator("sequential", 16 * size, 1.0, capacity));
        config.workload.end.requests = Some(capacity / (16 * size));
        config.host.queue_depth = Some(1);
        let mut reads = |precondition| {
            config.run.precondition = precondition;
            let summary = run(&config);
            let reads = figure(&summary, "flash.by_cause.host.reads") / figure(&summary, "host.reads");
            let by_form = reads * 75.0 + units * size as f64 / 200.0;
            let latency = figure(&summary, "host.read_latency_us.mean");
            assert!((latency - by_form).abs() < 0.02, "{unit}: {latency}, {by_form}");
            reads
        };
        let filled = reads(Precondition::Sequential { volume: capacity });
        assert_eq!(filled, units / parts, "{unit}");
        let random = reads(Precondition::Random { volume: 8 * capacity });
        // Two units of a request share a flash page as often as any two units do.
        let device_units = capacity as f64 / size as f64;
        let by_form = units * (1.0 - (units - 1.0) / 2.0 * (parts - 1.0) / device_units);
        assert!((random / by_form - 1.0).abs() < 0.03, "{unit}: {random}, {by_form}");
    }
}

#[test]
fn units_wait_for_the_rest_of_their_flash_page_and_then_it_is_filled_up() {
    let config = device(1, "4KiB");
    let unit = 4096;
    let (program, transfer) = (1_600_000, 4 * 20_480);
    // All four at once.
    let summary = replay(&config, &[(0, "Write", 0, 4 * unit)]);
    let latency = (figure(&summary, "host.write_latency_us.max") * 1e3).round();
    assert_eq!(latency, (program + transfer) as f64);
    // The last one comes later.
    let last = 399_900;
    let rows: Vec<_> = (0..4).map(|at| (at * 133_300, "Write", at * unit, unit)).collect();
    let latency = (figure(&replay(&config, &rows), "host.write_latency_us.max") * 1e3).round();
    assert!((latency - (last + program + transfer) as f64).abs() <= 3.0, "{latency}");
    // It never comes.
    let summary = replay(&config, &rows[..3]);
    let latency = (figure(&summary, "host.write_latency_us.max") * 1e3).round();
    assert_eq!(latency, (PAD_AFTER + program + transfer) as f64);
    assert_eq!(figure(&summary, "waf_units"), 4.0 / 3.0);
}

#[test]
fn fua_and_a_flush_have_flash_pages_filled_up_at_once() {
    let unit = 4096;
    let alone = 1_600_000 + 4 * 20_480;
    let ns = |summary: &serde_json::Value, kind: &str| {
        (figure(summary, &format!("host.{kind}_latency_us.max")) * 1e3).round() as u64
    };
    for buffer in ["none", "lru"] {
        let mut config = device(1, "4KiB");
        let size = [("size", ParamValue::Size(64 << 10))];
        choose(&mut config.ftl, "write_buffer", buffer, if buffer == "none" { &[] } else { &size });
        let pads = |kind: &str, rows: &[_]| {
            let summary = replay(&config, rows);
            (4.0 * figure(&summary, "flash.by_cause.pad.programs"), ns(&summary, kind))
        };
        assert_eq!(pads("write", &[(0, "FUA", 0, unit)]), (3.0, alone), "{buffer}");
        assert_eq!(pads("flush", &[(0, "Write", 0, unit), (100_000, "Flush", 0, 0)]), (3.0, alone), "{buffer}");
        // Units that come first fill their flash pages.
        let two_programs = 2 * 1_600_000 + 8 * 20_480;
        assert_eq!(pads("flush", &[(0, "Write", 0, 7 * unit), (0, "Flush", 0, 0)]), (1.0, two_programs), "{buffer}");
        assert_eq!(pads("flush", &[(0, "Write", 0, 4 * unit), (0, "Flush", 0, 0)]), (0.0, alone), "{buffer}");
    }
    // A write behind the FLUSH waits as ever, from when its die takes it.
    let rows = [(0, "Write", 0, unit), (0, "Flush", 0, 0), (100, "Write", 8 * unit, unit)];
    assert_eq!(ns(&replay(&device(1, "4KiB"), &rows), "write"), 2 * alone + PAD_AFTER - 100);
}

#[test]
fn what_units_cannot_be_is_refused() {
    let refusal = |change: &dyn Fn(&mut Config)| {
        let mut config = device(2, "4KiB");
        assert!(device::check(&config).is_ok());
        change(&mut config);
        device::check(&config).expect_err("a refusal").to_string()
    };
    let chosen =
        |seam: &'static str, name: &'static str| refusal(&move |config| choose(&mut config.ftl, seam, name, &[]));
    let texts = [
        (
            refusal(&|config| set_unit(config, "64KiB")),
            "a map unit of 64KiB is no part of a flash page of 16KiB, and no flash page of each plane of a die, which are 32KiB",
        ),
        (refusal(&|config| config.device.page_size = 6144), "a map unit of 4KiB is no part of a flash page of 6KiB"),
        (chosen("mapping", "fast"), "goes with page mapping, its map in DRAM or in flash"),
        (
            refusal(&|config| {
                choose(&mut config.ftl, "mapping", "dftl", &[]);
                choose(&mut config.ftl, "paired_page", "lsb-backup", &[]);
            }),
            "no copies of lower pages where the map is in flash",
        ),
        (refusal(&|config| superblock(config, 6)), "4KiB on 12 of them are no whole sectors"),
    ];
    for (text, expected) in texts {
        assert!(text.contains("map_unit") && text.contains(expected), "{text}");
    }
}

/// Both planes and so many channels in step.
fn superblock(config: &mut Config, channels: u32) {
    config.device.channels = channels;
    choose(&mut config.ftl, "reclaim_unit", "superblock", &[("over", "channels-and-planes".into())]);
    config.device.user_capacity *= u64::from(channels);
}

/// Everything but what the configuration was and the run cost.
fn results(config: &Config) -> serde_json::Value {
    let mut summary = metrics::deterministic(&run(config));
    summary.as_object_mut().expect("an object").shift_remove("config");
    summary
}

/// Requests of all sizes on a nearly full device of two planes.
fn busy(unit: &str, reclaim_unit: &str, executor: Executor) -> Config {
    let mut config = device(2, unit);
    choose(&mut config.ftl, "reclaim_unit", reclaim_unit, &[]);
    config.workload.source = Source::Generator(generator("zipf", 11_000, 0.3, config.device.user_capacity));
    config.workload.end.requests = Some(2000);
    execute(&mut config, executor);
    config
}

#[test]
fn a_unit_of_a_flash_page_is_the_page() {
    for executor in [Executor::Count, Executor::Timed] {
        for reclaim_unit in ["block", "twin"] {
            let [page, named] = ["page", "16KiB"].map(|unit| results(&busy(unit, reclaim_unit, executor)));
            assert_eq!(page, named, "{reclaim_unit} under {executor:?}");
        }
    }
}

/// But for `waf_units`, which counts units; and twin blocks are one block where planes work in step.
#[test]
fn a_unit_of_all_planes_puts_them_in_step() {
    for executor in [Executor::Count, Executor::Timed] {
        let [mut planes, mut block, twin] =
            [("page", "superblock"), (WIDE, "block"), (WIDE, "twin")].map(|(unit, reclaim_unit)| {
                let mut config = busy(unit, reclaim_unit, executor);
                if reclaim_unit == "superblock" {
                    choose(&mut config.ftl, "reclaim_unit", "superblock", &[("over", "planes".into())]);
                }
                results(&config)
            });
        assert_eq!(block, twin, "{executor:?}");
        let programs = |cause: &str| figure(&block, &format!("flash.by_cause.{cause}.programs"));
        let units = figure(&block, "flash.page_programs") / (programs("host") + programs("rmw"));
        assert_eq!(figure(&block, "waf_units"), units, "{executor:?}");
        assert!(units < figure(&planes, "waf_units"), "{executor:?}");
        let keys = ["waf_units", "run"];
        for summary in [&mut planes, &mut block] {
            keys.iter().for_each(|key| drop(summary.as_object_mut().expect("an object").shift_remove(*key)));
        }
        assert_eq!(planes, block, "{executor:?}");
    }
}

#[test]
fn a_write_of_a_part_of_a_unit_programs_it_whole() {
    for (unit, whole) in [("page", 4.0), ("16KiB", 4.0), (WIDE, 8.0), ("8KiB", 2.0)] {
        for executor in [Executor::Count, Executor::Timed] {
            let mut config = device(2, unit);
            execute(&mut config, executor);
            let capacity = config.device.user_capacity;
            config.run.precondition = Precondition::Random { volume: capacity };
            config.workload.source = Source::Generator(generator("uniform", 4096, 0.0, capacity));
            config.workload.end.requests = Some(4000);
            let summary = run(&config);
            let ratio = figure(&summary, "waf") / figure(&summary, "waf_units");
            assert!((ratio - whole).abs() < 1e-9, "{unit} under {executor:?}: {ratio}");
            assert!(figure(&summary, "gc.moved_pages") > 0.0, "{unit} under {executor:?}");
        }
    }
}

/// Of a unit of all planes a read sends the codewords that were asked for, over the bus that they share.
#[test]
fn a_part_of_a_unit_of_all_planes_is_sent() {
    let mut config = device(2, WIDE);
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    equip(&mut config.device, "read_transfer", "sectors", &[("codeword", ParamValue::Size(4096))]);
    config.device.multiplane = Multiplane::Pac;
    for (size, sent) in [(4096, 4096), (5000, 8192), (20 << 10, 20 << 10), (32 << 10, 32 << 10)] {
        let latency = figure(&replay(&config, &[(0, "Read", 0, size)]), "host.read_latency_us.max");
        // 200 MB/s; no command cycles, no ECC.
        assert!((latency - 75.0 - f64::from(sent) / 200.0).abs() < 1e-6, "{size}: {latency}");
    }
}

#[test]
fn more_units_than_can_be_numbered_are_refused() {
    let load = |unit: &str| {
        let sets = [format!("ftl.map_unit=\"{unit}\""), "device.read_transfer.sectors.codeword=\"1KiB\"".into()];
        device::load(&config::Base::Preset("enterprise-tlc".into()), &sets, None)
            .map_err(|problems| problems.to_string())
    };
    let text = load("512B").expect_err("a refusal");
    assert!(text.contains("ftl.map_unit") || text.contains("map_unit"), "{text}");
    for part in ["map units of 512B", "there can be 4294967294", "use `1KiB` or a larger part of a page"] {
        assert!(text.contains(part), "{text}");
    }
    load("1KiB").unwrap_or_else(|text| panic!("what the text says would be right is: {text}"));
}

/// Units of TLC with all features of the chip that go with them.
#[test]
fn units_go_with_features_of_the_chip() {
    let mut ran = 0;
    for seed in 0..12 {
        let mut config = random(seed + 4_100_000);
        config.device.cell = Cell::Tlc;
        config.device.pages_per_block = 6;
        config.device.timing.program = vec![Duration(600_000)];
        config.device.timing.read = vec![Duration(60_000)];
        config.run.executor = Executor::Timed;
        config.run.payload = Payload::Stamp;
        fill(&mut config);
        random_features(seed, &mut config);
        if device::check(&config).is_ok() {
            match device::simulate(&config, &mut device::Options::default()) {
                // Its blocks do not live that long.
                Err(error) if error.to_string().contains("end of its life while it is preconditioned") => continue,
                result => drop(result.expect("a run")),
            }
            ran += 1;
        }
    }
    assert!(ran > 6, "{ran} devices ran");
}

/// A command for a die holds so many pages. Units of which the planes of a die have more are refused where they go together, whatever
/// puts them there, and run where they do not.
#[test]
fn more_units_than_a_command_holds_are_refused() {
    let (mut ran, mut refused) = (0, 0);
    for allocation in ["F2", "D", "PCWD"] {
        for multiplane in ["off", "bac", "any"] {
            for programming in ["page", "one-shot"] {
                for unit in ["512B", "1KiB"] {
                    let sets = [
                        "device.channels=1".into(),
                        "device.chips_per_channel=2".into(),
                        "device.dies_per_chip=1".into(),
                        "device.planes_per_die=4".into(),
                        "device.blocks_per_plane=16".into(),
                        "device.pages_per_block=12".into(),
                        "device.page_size=\"16KiB\"".into(),
                        "device.user_capacity=\"8MiB\"".into(),
                        format!("device.multiplane=\"{multiplane}\""),
                        format!("device.programming=\"{programming}\""),
                        "device.cell=\"mlc\"".into(),
                        "device.timing.program=\"700us\"".into(),
                        format!("ftl.allocation=\"{allocation}\""),
                        format!("ftl.map_unit=\"{unit}\""),
                        "run.executor=\"timed\"".into(),
                        "workload.generator=\"sequential\"".into(),
                        "workload.request_size=\"256KiB\"".into(),
                        "workload.requests=40".into(),
                        "run.precondition=\"none\"".into(),
                    ];
                    let loaded = device::load(&config::Base::Preset("tbm-small".into()), &sets, None);
                    let text = match loaded {
                        Ok(loaded) => {
                            let run = || device::simulate(&loaded.config, &mut device::Options::default()).map(drop);
                            let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                            run.unwrap_or_else(|_| panic!("{sets:?}")).expect("a run");
                            ran += 1;
                            continue;
                        }
                        Err(problems) => problems.to_string(),
                    };
                    assert!(text.contains("at most 64"), "{sets:?}: {text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(ran > 5 && refused > 10, "{ran} ran, {refused} were refused");
}
