//! Did behaviour move? Every registered choice of every seam, under both executors, on one small device.
//!
//! The table lies beside this file. A changed number is a difference that somebody reviews; after a change
//! that is meant to move numbers, `UPDATE_GOLDEN=1 cargo test -p ftlab-device --test all golden::` writes it anew.

use std::fmt::Write as _;

use crate::common::*;
use base::{Cell, Multiplane, ParamValue, ProgramOrder};
use config::Config;
use config::model::*;
use serde_json::Value;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.txt");

/// 2 channels of 2 chips of 2 dies of 2 planes, aged by one random overwrite, under a skewed mix of reads and writes.
fn reference(executor: Executor) -> Config {
    let mut config = plain(2, 2, 2, 2, 24, 24);
    config.device.cell = Cell::Tlc;
    config.device.timing.read = [60, 75, 90].map(base::Duration::from_us).to_vec();
    config.device.timing.program = [500, 900, 1800].map(base::Duration::from_us).to_vec();
    config.device.user_capacity = config.device.user_capacity / 3 * 4 / 100 * 85 / 8192 * 8192;
    config.host.queue_depth = Some(16);
    let footprint = config.device.user_capacity;
    config.workload.source = Source::Generator(generator("zipf", 12_288, 0.4, footprint));
    config.workload.end = End { requests: Some(12_000), ..End::default() };
    config.workload.hint_parts = 4;
    config.run.precondition = Precondition::Random { volume: footprint };
    config.run.executor = executor;
    config.run.checks = Checks::Fast;
    config.run.seed = 42;
    config
}

/// Separations and protections have conditions of their own.
fn meet_conditions(seam: &str, choice: &str, config: &mut Config) {
    if seam == "separation" && choice == "dac" || choice == "gcmix-adaptive" {
        choose(&mut config.ftl, "separation", "dac", &[("regions", 3.into())]);
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 3.into())]);
    }
    if ["sepbit", "future"].contains(&choice) {
        choose(&mut config.ftl, "separation", choice, &[("classes", 4.into())]);
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 4.into())]);
    }
    if ["streams", "fdp", "write-hints"].contains(&choice) {
        let params: &[_] = match choice {
            "streams" => &[("streams", 3.into())],
            "fdp" => &[("handles", 3.into())],
            _ => &[],
        };
        choose(&mut config.ftl, "separation", choice, params);
        lower_capacity(config);
        if choice == "write-hints" {
            lower_capacity(config);
        }
    }
    if choice == "gcmix-adaptive"
        && let Source::Generator(generator) = &mut config.workload.source
    {
        generator.interval = base::Duration::from_us(50_000);
    }
    if choice == "rcpb" {
        lower_capacity(config);
    }
    if choice == "copyback" {
        config.device.wear.copyback = forgiving();
    }
    if choice == "midas" {
        choose(&mut config.ftl, "separation", choice, &[("groups", 4.into()), ("epoch", 1.into())]);
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 4.into())]);
    }
    if seam == "paired_page" && choice != "none" || ["dac", "sepbit", "midas", "future"].contains(&choice) {
        lower_capacity(config);
        if choice == "parity-backup" {
            config.device.cell = Cell::Mlc;
            config.device.timing.read.truncate(2);
            config.device.timing.program.truncate(2);
        }
        if choice == "slc-buffer" {
            choose(&mut config.ftl, "paired_page", choice, &[("blocks", 2.into())]);
        }
    }
}

/// Refresh by age or errors, so that something becomes due.
fn refresh(choice: &'static str, config: &mut Config) {
    let age = ("least_age", base::Duration(1_000_000).into());
    let params = match choice {
        "none" => return,
        "age" => vec![("age", base::Duration(2_000_000_000).into())],
        "errors" => vec![age],
        _ => vec![age, ("period", base::Duration(1_000_000_000).into())],
    };
    choose(&mut config.ftl, "refresh", choice, &params);
    if choice != "age" {
        equip(&mut config.device, "media", "table", &[("age", base::Duration(90 * 86_400_000_000_000).into())]);
    }
}

/// Hybrid mapping, and what it calls for.
fn hybrid(config: &mut Config, params: &[(&'static str, ParamValue)]) {
    choose(&mut config.ftl, "mapping", "fast", params);
    choose(&mut config.ftl, "allocation", "CWDP", &[]);
    choose(&mut config.ftl, "victim", "fifo", &[]);
    lower_capacity(config);
}

/// A map in flash, with so many cached entries for each of the sixteen planes.
fn map_in_flash(config: &mut Config, entries: u32) {
    choose(&mut config.ftl, "mapping", "dftl", &[("cache", ParamValue::Size(u64::from(16 * entries * 8)))]);
    lower_capacity(config);
}

/// A user space of six tenths of the reference's.
fn lower_capacity(config: &mut Config) {
    config.device.user_capacity = config.device.user_capacity / 10 * 6 / page_size(config) * page_size(config);
    let footprint = config.device.user_capacity;
    if let Source::Generator(generator) = &mut config.workload.source {
        generator.footprint = footprint;
    }
    config.run.precondition = Precondition::Random { volume: footprint };
}

/// A device that is read far more than written, whose blocks take few reads.
fn read_often(config: &mut Config) {
    lower_capacity(config);
    config.device.wear.read_limit = Some([200, 1000]);
    if let Source::Generator(generator) = &mut config.workload.source {
        generator.read_fraction = 0.95;
    }
    config.workload.end = End { requests: Some(60_000), ..End::default() };
}

/// Flash pages that are large enough for such units.
fn units_of(config: &mut Config, size: u32) {
    let wider = (2 * size / config.device.page_size).max(1);
    config.device.page_size *= wider;
    config.device.user_capacity *= u64::from(wider);
    lower_capacity(config);
}

/// A user space of whole superpages.
fn whole_superpages(config: &mut Config) {
    config.device.user_capacity -= config.device.user_capacity % page_size(config);
    if let Source::Generator(generator) = &mut config.workload.source {
        generator.footprint = config.device.user_capacity;
    }
}

/// What is varied: a name, and the configuration.
fn variations(executor: Executor) -> Vec<(String, Config)> {
    let mut all = vec![("reference".to_string(), reference(executor))];
    for seam in device::seams() {
        for choice in seam.choices {
            if executor == Executor::Count && seam.key == "gc_schedule" && choice.name != "threshold" {
                continue;
            }
            if executor == Executor::Count && seam.key == "refresh" && choice.name != "none" {
                continue;
            }
            let mut config = reference(executor);
            choose(&mut config.ftl, seam.key, choice.name, &[]);
            if seam.key == "refresh" {
                refresh(choice.name, &mut config);
            }
            if seam.key == "wear_leveling" && choice.name != "none" {
                // The default threshold is for devices that live longer.
                choose(&mut config.ftl, "wear_leveling", choice.name, &[("threshold", 3.into())]);
            }
            if seam.key == "wear_leveling" && choice.name == "swap" {
                choose(&mut config.ftl, "block_allocation", "least-worn", &[]);
            }
            if seam.key == "mapping" && choice.name == "fast" {
                hybrid(&mut config, &[]);
            }
            if seam.key == "mapping" && choice.name == "dftl" {
                map_in_flash(&mut config, 16);
            }
            if seam.key == "reclaim_unit" && choice.name == "twin" {
                // Twin blocks want an allocation that goes round the planes of a die.
                choose(&mut config.ftl, "allocation", "F2", &[]);
                choose(&mut config.ftl, "scheduler", "paq", &[]);
            }
            if seam.key == "read_disturb" && choice.name != "ignore" {
                read_often(&mut config);
            }
            if let Some(size) = ftl::map_unit::size(config.ftl.get("map_unit")) {
                units_of(&mut config, size);
            }
            if seam.key == "slc_cache" && choice.name != "off" {
                lower_capacity(&mut config);
            }
            if choice.name == "superblock" {
                whole_superpages(&mut config);
            }
            meet_conditions(seam.key, choice.name, &mut config);
            all.push((format!("{}={}", seam.key, choice.name), config));
        }
    }
    let mut config = reference(executor);
    map_in_flash(&mut config, 16);
    choose(&mut config.ftl, "reclaim_unit", "twin", &[]);
    choose(&mut config.ftl, "scheduler", "paq", &[]);
    all.push(("twin blocks, map in flash".into(), config));
    let mut config = reference(executor);
    choose(&mut config.ftl, "reclaim_unit", "twin", &[("lone", "single".into())]);
    choose(&mut config.ftl, "allocation", "F2", &[]);
    choose(&mut config.ftl, "scheduler", "paq", &[("gc", "non-preemptible".into())]);
    all.push(("twin blocks, lone pages alone, reads wait for GC".into(), config));
    for allocation in [vec!["CWDP", "PCWD"], dynamic_allocations()].concat() {
        let mut config = reference(executor);
        let footprint = config.device.user_capacity;
        config.workload.source = Source::Generator(generator("uniform", 16_384, 0.3, footprint));
        choose(&mut config.ftl, "allocation", allocation, &[]);
        choose(&mut config.ftl, "scheduler", "paq", &[]);
        all.push((format!("{allocation} paq, two pages"), config.clone()));
        config.run.precondition = Precondition::None;
        config.workload.end = End { requests: Some(2000), ..End::default() };
        all.push((format!("{allocation} paq, two pages, fresh"), config));
    }
    for (name, multiplane) in [("off", Multiplane::Off), ("pac", Multiplane::Pac), ("bac", Multiplane::Bac)] {
        for scheduler in names("scheduler", &[]) {
            let mut config = reference(executor);
            config.device.multiplane = multiplane;
            choose(&mut config.ftl, "scheduler", scheduler, &[]);
            all.push((format!("multiplane={name} {scheduler}"), config));
        }
    }
    let mut config = reference(executor);
    choose(&mut config.ftl, "victim", "cost-benefit", &[("age", "filled".into())]);
    all.push(("cost-benefit, age since filled".into(), config.clone()));
    choose(&mut config.ftl, "victim", "cost-benefit", &[("age", "filled".into()), ("growth", "root".into())]);
    all.push(("cost-benefit, root of the age".into(), config));
    let mut config = reference(executor);
    config.device.program_order = ProgramOrder::Shadow;
    all.push(("program_order=shadow".into(), config));
    for scheduler in names("scheduler", &[]) {
        let mut config = reference(executor);
        config.device.timing.command_overhead = base::Duration(700);
        config.device.timing.dram_bandwidth = Some(250_000_000);
        config.device.timing.ecc_latency = base::Duration::from_us(12);
        choose(&mut config.ftl, "scheduler", scheduler, &[]);
        all.push((format!("overheads {scheduler}"), config));
    }
    // Writes of parts of pages are refused until their old versions come, and an offer at any event counts as a turn.
    let mut config = reference(executor);
    config.device.timing.ecc_latency = base::Duration::from_us(12);
    choose(&mut config.ftl, "reclaim_unit", "twin", &[]);
    choose(&mut config.ftl, "allocation", "F2", &[]);
    choose(&mut config.ftl, "scheduler", "paq", &[]);
    all.push(("twin blocks, corrected pages".into(), config));
    for choice in workload::GENERATORS {
        let mut config = reference(executor);
        let footprint = config.device.user_capacity;
        config.workload.source = Source::Generator(generator(choice.name, 8192, 0.3, footprint));
        all.push((format!("generator={}", choice.name), config));
    }
    for (name, precondition) in [
        ("none", Precondition::None),
        ("sequential", Precondition::Sequential { volume: reference(executor).device.user_capacity }),
        ("steady", Precondition::Steady),
    ] {
        let mut config = reference(executor);
        config.run.precondition = precondition;
        all.push((format!("precondition={name}"), config));
    }
    for (name, separation, paired_page, entries) in [
        ("dftl, all cached", "none", "none", 1000),
        ("dftl, half cached, host-gc", "host-gc", "none", 130),
        ("dftl, lsb-backup", "none", "lsb-backup", 16),
    ] {
        let mut config = reference(executor);
        map_in_flash(&mut config, entries);
        choose(&mut config.ftl, "separation", separation, &[]);
        choose(&mut config.ftl, "paired_page", paired_page, &[]);
        all.push((name.to_string(), config));
    }
    for (name, params) in [
        ("fast broken=fill", [("broken", "fill".into()), ("start", "always".into())]),
        ("fast broken=waste", [("broken", "waste".into()), ("start", "always".into())]),
        ("fast broken=fill start=if-spare", [("broken", "fill".into()), ("start", "if-spare".into())]),
        ("fast broken=fill start=bounded", [("broken", "fill".into()), ("start", "bounded".into())]),
        ("fast gather=victim", [("broken", "merge".into()), ("gather", "victim".into())]),
    ] {
        let mut config = reference(executor);
        hybrid(&mut config, &params);
        all.push((name.to_string(), config));
    }
    for (name, over, buffer) in [
        ("planes", "planes", "none"),
        ("both", "channels-and-planes", "none"),
        ("both, buffered", "channels-and-planes", "fifo"),
    ] {
        let mut config = reference(executor);
        choose(&mut config.ftl, "reclaim_unit", "superblock", &[("over", over.into())]);
        whole_superpages(&mut config);
        if buffer != "none" {
            choose(&mut config.ftl, "write_buffer", buffer, &[("size", ParamValue::Size(262_144))]);
        }
        all.push((format!("superblock over {name}"), config));
    }
    for (allocation, across) in [("CWDP", "none"), ("D", "none"), ("CWDP", "dies")] {
        let mut config = reference(executor);
        let params = [("handles", 2.into()), ("reclaim_groups", 2.into()), ("isolation", "persistent".into())];
        choose(&mut config.ftl, "separation", "fdp", &params);
        choose(&mut config.ftl, "allocation", allocation, &[]);
        choose(&mut config.ftl, "reclaim_across", across, &[]);
        lower_capacity(&mut config);
        config.workload.hint_parts = 2;
        all.push((format!("reclaim groups, {allocation}, across {across}"), config));
    }
    if executor == Executor::Timed {
        all.extend(ahead_of_need());
    }
    let mut config = reference(executor);
    choose(&mut config.ftl, "write_buffer", "fifo", &[("release", "transferred".into())]);
    all.push(("write_buffer=fifo, room when transferred".into(), config));
    let mut config = reference(executor);
    config.host.replay = Replay::Open;
    if let Source::Generator(generator) = &mut config.workload.source {
        (generator.interval, generator.poisson) = (base::Duration::from_us(5000), true);
    }
    all.push(("open loop".into(), config));
    all
}

/// Collections ahead of need, under every mapping, with a write buffer.
fn ahead_of_need() -> Vec<(String, Config)> {
    let mut all = Vec::new();
    // In the names of the table a word is its place among the words of its parameter.
    for (name, numbers, params) in [
        ("forwarding", "trigger=0 scope=0", [("trigger", "congestion".into()), ("scope", "channel".into())]),
        ("forwarding", "trigger=1 scope=1", [("trigger", "empty".into()), ("scope", "die".into())]),
        ("forwarding", "trigger=1 preempt=1", [("trigger", "empty".into()), ("preempt", "off".into())]),
        ("cycle-filling", "preempt=0", [("pace", "initiator".into()), ("preempt", "on".into())]),
        ("cycle-filling", "preempt=1", [("pace", "initiator".into()), ("preempt", "off".into())]),
    ] {
        for mapping in ["page", "dftl", "fast"] {
            let mut config = reference(Executor::Timed);
            config.device.multiplane = Multiplane::Any;
            match mapping {
                "fast" => hybrid(&mut config, &[]),
                "dftl" => map_in_flash(&mut config, 16),
                _ => {}
            }
            choose(&mut config.ftl, "scheduler", "paq", &[]);
            choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(131_072))]);
            choose(&mut config.ftl, "gc_schedule", name, &params);
            all.push((format!("{mapping} {name} {numbers}"), config));
        }
    }
    all
}

/// A figure to so many decimals, `-` where it is not defined.
fn cell(summary: &Value, path: &str, decimals: usize) -> String {
    let value = path.split('.').fold(summary, |value, key| &value[key]);
    match value.as_f64() {
        Some(figure) => format!("{figure:.decimals$}"),
        None => {
            assert!(value.is_null(), "{path} is {value}");
            "-".into()
        }
    }
}

/// Path, heading and decimals of each column.
const COLUMNS: [(&str, &str, usize); 15] = [
    ("waf_units", "waf", 4),
    ("flash.block_erases", "erases", 0),
    ("gc.moved_pages", "moved", 0),
    ("wear.moves", "wear", 0),
    ("wear.erases.stddev", "stddev", 3),
    ("flash.by_cause.rmw.reads", "rmw", 0),
    ("flash.by_cause.backup.programs", "backup", 0),
    ("flash.by_cause.mapping.programs", "mapping", 0),
    ("host.read_latency_us.p50", "r p50", 1),
    ("host.read_latency_us.p99", "r p99", 1),
    ("host.write_latency_us.p50", "w p50", 1),
    ("host.write_latency_us.p99", "w p99", 1),
    ("flash.multiplane.read_fraction", "mp read", 4),
    ("flash.multiplane.program_fraction", "mp prog", 4),
    ("flash.multiplane.erase_fraction", "mp erase", 4),
];

/// A row of the table: the figures of a run.
fn row(name: &str, summary: &Value) -> String {
    let mut text = format!("{name:<40}");
    for (path, _, decimals) in COLUMNS {
        write!(text, "{:>10}", cell(summary, path, decimals)).expect("a string");
    }
    text + "\n"
}

fn table() -> String {
    let mut text = format!("{:<40}", "timed");
    for (_, heading, _) in COLUMNS {
        write!(text, "{heading:>10}").expect("a string");
    }
    for executor in [Executor::Timed, Executor::Count] {
        text += if executor == Executor::Timed { "\n" } else { "\ncount\n" };
        variations(executor).iter().for_each(|(name, config)| text += &row(name, &run(config)));
    }
    text
}

/// The lines of the table that were found to be others.
fn moved(expected: &str, found: &str) -> Vec<String> {
    let lines = expected.lines().zip(found.lines()).filter(|(expected, found)| expected != found);
    lines.map(|(expected, found)| format!("- {expected}\n+ {found}")).collect()
}

fn expected() -> String {
    std::fs::read_to_string(TABLE).expect("the table lies beside the test").replace("\r\n", "\n")
}

#[test]
fn no_number_moved() {
    let found = table();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(TABLE, &found).expect("the table can be written");
        return;
    }
    let expected = expected();
    let moved = moved(&expected, &found);
    let lengths = (expected.lines().count(), found.lines().count());
    assert!(
        moved.is_empty() && lengths.0 == lengths.1,
        "{} of {} rows moved (UPDATE_GOLDEN=1 writes the table anew):\n{}",
        moved.len(),
        lengths.0,
        moved.join("\n")
    );
}

/// The executor is compiled for plain devices, where pages store nothing, and for all others; the way of plain devices comes to
/// the same figures.
#[test]
fn no_number_depends_on_what_is_asked_for() {
    let found = variations(Executor::Timed).into_iter().fold(String::new(), |rows, (name, mut config)| {
        config.run.payload = Payload::None;
        rows + &row(&name, &run(&config))
    });
    let expected = expected();
    let (_, expected) = expected.split_once('\n').expect("a heading");
    let moved = moved(expected, &found);
    assert!(found.lines().count() > 100 && moved.is_empty(), "{} rows moved:\n{}", moved.len(), moved.join("\n"));
}

#[test]
fn every_registered_choice_has_its_row() {
    let table = std::fs::read_to_string(TABLE).expect("the table lies beside the test");
    for seam in device::seams() {
        for choice in seam.choices {
            let name = format!("{}={} ", seam.key, choice.name);
            // Without time no collection is ahead of need, and no data become old.
            let needs_time = ["gc_schedule", "refresh"].contains(&seam.key) && choice.name != seam.choices[0].name;
            let executors = if needs_time { 1 } else { 2 };
            assert_eq!(table.lines().filter(|line| line.starts_with(&name)).count(), executors, "{name}");
        }
    }
}
