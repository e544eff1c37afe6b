//! The executors agree: wherever no policy looks at time, `count` and `timed` write, move and erase the same.

use std::collections::BTreeMap;

use crate::common::*;
use base::ParamValue;
use config::Config;
use config::model::*;
use serde_json::Value;

/// Longer than any run.
const NEVER: base::Duration = base::Duration(1_000_000_000_000);

/// What must be equal: everything but host reads (a page whose first write is in flight reads as unmapped
/// in time) and what shared a command.
fn decisions(summary: &Value) -> Value {
    let causes = &summary["flash"]["by_cause"];
    serde_json::json!({
        "waf": summary["waf"],
        "waf_units": summary["waf_units"],
        "host_programs": causes["host"]["programs"],
        "gc": causes["gc"],
        "wear": causes["wear"],
        "rmw": causes["rmw"],
        "pad": causes["pad"],
        "backup": causes["backup"],
        "mapping": causes["mapping"],
        "collections": summary["gc"],
        "erases": summary["wear"]["erases"],
        "bytes": summary["host"]["bytes_written"],
    })
}

/// Which die asks first for a victim of all is a matter of time.
fn choose_alone(config: &mut Config) {
    choose(&mut config.ftl, "reclaim_across", "none", &[]);
}

/// The host moves a handle by the bytes that it wrote on all planes. How many of them are then on each is a matter of time too.
fn keep_handles(config: &mut Config) {
    let separation = config.ftl.get_mut("separation");
    if separation.name == "fdp" {
        separation.set("update_after", ParamValue::Size(0));
    }
}

#[test]
fn static_allocations_agree_exactly() {
    let mut compared = 0;
    let directory = std::env::temp_dir().join(format!("ftlab-agreement-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for seed in 0..share_of(1000) {
        let mut config = random_config(seed + 3_000_000);
        choose_alone(&mut config);
        if looks_at_time(&config) {
            continue;
        }
        choose(&mut config.ftl, "write_buffer", "none", &[]);
        random_lifespans(seed, &mut config);
        random_hints(seed, &mut config);
        keep_handles(&mut config);
        execute(&mut config, Executor::Count);
        config.run.checks = Checks::Fast;
        if config.ftl.get("mapping").name == "dftl" || config.ftl.get("read_disturb").name != "ignore" {
            // Reads change what is cached, and what has to be refreshed, and when they come is a matter of time: writes of
            // whole pages and trims.
            let trace = whole_pages(seed, &config);
            config.workload.source = trace.source();
            config.workload.end = End { rounds: Some(2), ..End::default() };
            agree(seed, &mut config);
            compared += 1;
            continue;
        }
        if seed % 2 == 0 {
            // Half of the cases replay a trace with trims, flushes and unaligned ranges.
            let path = directory.join(format!("{seed}.csv"));
            std::fs::write(&path, random_trace(seed, config.device.user_capacity, 300)).unwrap();
            config.workload.source = Source::Trace { path: path.display().to_string() };
            config.workload.end = End { rounds: Some(2), ..End::default() };
        }
        agree(seed, &mut config);
        compared += 1;
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(compared > share_of(300), "only {compared} cases were static");
}

fn agree(seed: u64, config: &mut Config) {
    config.run.executor = Executor::Timed;
    let timed = run(config);
    config.run.executor = Executor::Count;
    let count = run(config);
    assert_eq!(decisions(&timed), decisions(&count), "case {seed}: {config:#?}");
}

/// Writes and trims of whole pages.
fn whole_pages(seed: u64, config: &Config) -> TraceFile {
    let mut random = engine::Chance::new(seed, "whole pages");
    let page = ftl::map_unit::size(config.ftl.get("map_unit")).map_or(page_size(config), u64::from);
    let pages = config.device.user_capacity / page;
    let rows: Vec<_> = (0..400)
        .map(|at| {
            let first = random.below(pages);
            let length = (1 + random.below(8)).min(pages - first);
            let kind = if random.below(10) == 0 { "Discard" } else { "Write" };
            (at * 100, kind, first * page, length * page)
        })
        .collect();
    TraceFile::new(&rows)
}

/// Wordlines, and flash pages of several map units, are filled up for the same erases, and at the end; `timed` never fills one up because
/// somebody waits. With two passes it does not count dummy pages at the end whose second pass has not come.
#[test]
fn what_is_programmed_together_agrees() {
    let (mut filled, mut collected, mut with_map, mut compared) = (0.0, 0.0, 0, BTreeMap::new());
    for seed in 0..240 {
        let mut config = random_config(seed + 3_100_000);
        choose_alone(&mut config);
        make_one_shot(&mut config, seed, seed % 2 == 1);
        let unit = ["page", "4KiB", "2KiB", "1KiB"][seed as usize / 2 % 4];
        if unit != "page" {
            config.device.page_size = 8192;
            choose(&mut config.ftl, "map_unit", unit, &[("pad_after", ParamValue::Time(NEVER))]);
        }
        if unit != "page" && seed % 3 == 0 {
            equip(&mut config.device, "programming", "page", &[]);
        }
        let programming = config.device.features.get("programming").name;
        let two_pass = programming == "two-pass";
        if unit != "page" && programming == "page" && seed % 2 == 0 {
            let entries = [4, 30, 2000][seed as usize % 5 % 3];
            choose(&mut config.ftl, "mapping", "dftl", &[("cache", ParamValue::Size(8 * 64 * entries))]);
        }
        if looks_at_time(&config) || config.ftl.get("reclaim_unit").name == "superblock" {
            continue;
        }
        choose(&mut config.ftl, "write_buffer", "none", &[]);
        execute(&mut config, Executor::Count);
        config.run.checks = Checks::Fast;
        config.device.user_capacity = device::largest_user_capacity(&config) * 9 / 10 / 65536 * 65536;
        if config.device.user_capacity == 0 {
            continue;
        }
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        let is_refused = |refusal: device::Refusal| {
            ["pages with one command", "classes, and only"].iter().any(|because| refusal.message.contains(because))
        };
        if device::check(&config).is_err_and(is_refused) {
            continue;
        }
        let trace = whole_pages(seed, &config);
        config.workload.source = trace.source();
        config.workload.end = End { rounds: Some(1), ..End::default() };
        (config.host.replay, config.host.queue_depth) = (Replay::Closed, Some(1000));
        if two_pass {
            agree_but_for_the_last_wordlines(seed, &mut config);
        } else {
            agree(seed, &mut config);
        }
        config.run.executor = Executor::Count;
        let summary = run(&config);
        filled += figure(&summary, "flash.by_cause.pad.programs");
        collected += figure(&summary, "gc.moved_pages");
        with_map += u32::from(figure(&summary, "flash.by_cause.mapping.programs") > 0.0);
        *compared.entry((unit, programming)).or_insert(0) += 1;
        assert_eq!(figure(&summary, "flash.first_passes") > 0.0, two_pass);
    }
    assert!(filled > 1000.0 && collected > 1000.0, "{filled} filled up, {collected} moved");
    assert!(with_map >= 5, "{with_map} with a map in flash");
    assert!(compared.len() == 11 && compared.values().all(|&cases| cases >= 2), "{compared:?}");
}

fn agree_but_for_the_last_wordlines(seed: u64, config: &mut Config) {
    config.run.executor = Executor::Timed;
    let timed = run(config);
    config.run.executor = Executor::Count;
    let count = run(config);
    let others = |summary: &Value| {
        let mut decisions = decisions(summary);
        for filled in ["waf", "waf_units", "pad"] {
            decisions[filled] = Value::Null;
        }
        decisions
    };
    assert_eq!(others(&timed), others(&count), "case {seed}: {config:#?}");
    let filled = |summary: &Value| figure(summary, "flash.by_cause.pad.programs");
    let device = &config.device;
    let planes = device.channels * device.chips_per_channel * device.dies_per_chip * device.planes_per_die;
    // One wordline of each active block: of each class, and of the map.
    let separation = config.ftl.get("separation");
    let active = match separation.name {
        "dac" => separation.integer("regions") + 1,
        "sepbit" | "future" => separation.integer("classes") + 1,
        "midas" => separation.integer("groups") + 1,
        "streams" => 2 * separation.integer("streams") + 3,
        "fdp" => 2 * separation.integer("handles") + 1,
        "write-hints" => 11,
        _ => 2,
    };
    let most = f64::from(active * planes * device.cell.bits());
    let more = filled(&count) - filled(&timed);
    assert!((0.0..=most).contains(&more), "case {seed}: {more} dummy pages more, and {most} at most");
}

/// Has a device program wordlines as a whole, with what that calls for.
fn make_one_shot(config: &mut Config, seed: u64, two_pass: bool) {
    let mut choice = base::Selection::default_of(&base::programming::PROGRAMMING.choices[1 + usize::from(two_pass)]);
    choice.set("pad_after", ParamValue::Time(NEVER));
    let device = &mut config.device;
    device.program_order = base::ProgramOrder::Consecutive;
    *device.features.get_mut("programming") = choice;
    device.cell = [base::Cell::Mlc, base::Cell::Tlc][seed as usize / 2 % 2];
    let bits = device.cell.bits();
    device.pages_per_block = bits * (2 + seed as u32 % 5);
    device.blocks_per_plane += 30;
    device.wear.read_limit = None;
    *device.features.get_mut("cache_program") = base::Selection::default_of(&base::cache::PROGRAM.choices[0]);
    device.timing.program = vec![device.timing.program[0]; bits as usize];
    device.timing.read = vec![device.timing.read[0]; bits as usize];
    let only = [("mapping", "page"), ("paired_page", "none"), ("migration", "off-chip"), ("read_disturb", "ignore")];
    only.iter().for_each(|(seam, name)| choose(&mut config.ftl, seam, name, &[]));
    if config.ftl.get("gc_schedule").name == "threshold" {
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 3.into())]);
    }
}

#[test]
fn dynamic_allocations_agree_on_average() {
    // Dynamic allocations look at time, so single pages differ, and so does the write amplification by a few percent:
    // in time a plane takes pages when it has room, not when it is its turn. A preference of one plane over
    // another shows up as a factor (seven, when collections of a die were not served in order of age). Where victims are chosen over all
    // dies, the die that asks first is a matter of time as well.
    let across = dynamic_allocations().into_iter().map(|allocation| (allocation, "none"));
    for (allocation, across) in across.chain([("CWDP", "dies"), ("F2", "dies")]) {
        let mut config = plain(2, 2, 2, 2, 32, 64);
        choose(&mut config.ftl, "reclaim_across", across, &[]);
        config.device.user_capacity = config.device.user_capacity / 3 * 4 / 100 * 85 / 8192 * 8192;
        choose(&mut config.ftl, "allocation", allocation, &[]);
        choose(&mut config.ftl, "scheduler", "paq", &[]);
        config.host.queue_depth = Some(32);
        config.run.checks = Checks::Fast;
        let capacity = config.device.user_capacity;
        config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, capacity));
        config.workload.end = End { volume: Some(4 * capacity), ..End::default() };
        config.run.precondition = Precondition::Random { volume: 2 * capacity };
        let timed = figure(&run(&config), "waf_units");
        config.run.executor = Executor::Count;
        let count = figure(&run(&config), "waf_units");
        assert!((timed / count - 1.0).abs() < 0.10, "{allocation} {across}: timed {timed}, count {count}");
    }
}

#[test]
fn a_write_buffer_over_one_plane_agrees_exactly() {
    // Pages leave the buffer for whichever channel is free, so what a page is merged with depends on time. With
    // one plane, which programs a page at a time, and one request at a time it does not, as long as nothing is
    // collected: a page that waits for the end of a collection can be merged with meanwhile. Pages are of a
    // sector, since a page that waits for its old version can be merged with, too.
    let directory = std::env::temp_dir().join(format!("ftlab-agreement-buffer-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut seen = [0; 4];
    let buffers = names("write_buffer", &["none"]);
    for seed in 0..share_of(300) {
        let mut config = plain(1, 1, 1, 1, 256, 128);
        config.device.page_size = 512;
        config.device.user_capacity = (50 + seed) * 512;
        let (policy, order) = (buffers[seed as usize % buffers.len()], ORDERS[(seed / 2 % 2) as usize]);
        let size = (1 + seed % 37) * 512;
        choose(&mut config.ftl, "write_buffer", policy, &[("size", ParamValue::Size(size)), ("order", order.into())]);
        let path = directory.join(format!("{seed}.csv"));
        std::fs::write(&path, random_trace(seed, config.device.user_capacity, 300)).unwrap();
        config.workload.source = Source::Trace { path: path.display().to_string() };
        config.workload.end = End { rounds: Some(3), ..End::default() };
        let timed = run(&config);
        config.run.executor = Executor::Count;
        let count = run(&config);
        assert_eq!(timed["gc"]["invocations"], 0, "case {seed}");
        assert_eq!(buffer_decisions(&timed), buffer_decisions(&count), "case {seed}: {config:#?}");
        for (seen, key) in seen.iter_mut().zip(["hits", "read_hits", "evictions", "drops"]) {
            *seen += timed["policy"]["write_buffer"][key].as_u64().unwrap();
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(seen.iter().all(|count| *count > share_of(1000)), "{seen:?} is too little to mean anything");
}

/// The orders in which a write buffer is flushed.
const ORDERS: [&str; 2] = ["channel", "global"];

/// What must be equal with a write buffer. Reads may find a page in it that is being programmed.
fn buffer_decisions(summary: &Value) -> (Value, Vec<Value>) {
    let buffer = &summary["policy"]["write_buffer"];
    (decisions(summary), ["hits", "evictions", "drops"].iter().map(|key| buffer[key].clone()).collect())
}

#[test]
fn a_write_buffer_over_many_planes_agrees_on_average() {
    let buffers = names("write_buffer", &["none"]).into_iter();
    for (policy, order) in buffers.flat_map(|policy| ORDERS.map(|order| (policy, order))) {
        let mut config = plain(8, 1, 1, 1, 64, 32);
        choose(
            &mut config.ftl,
            "write_buffer",
            policy,
            &[("size", ParamValue::Size(512 * 8192)), ("order", order.into())],
        );
        config.run.checks = Checks::Fast;
        config.host.replay = Replay::Batch;
        let capacity = config.device.user_capacity;
        config.workload.source = Source::Generator(generator("zipf", 8192, 0.0, capacity));
        config.workload.end = End { volume: Some(4 * capacity), ..End::default() };
        let timed = run(&config);
        config.run.executor = Executor::Count;
        let count = run(&config);
        for path in ["policy.write_buffer.hits", "waf_units"] {
            let (timed, count) = (figure(&timed, path), figure(&count, path));
            assert!((timed / count - 1.0).abs() < 0.02, "{policy} {order} {path}: timed {timed}, count {count}");
        }
    }
}
