//! Channels and planes in step: a device with them equals one with wider pages, and is counted in flash pages.

use crate::common::*;
use base::{ParamValue, Selection};
use config::Config;
use config::model::*;
use metrics::{Column, Table};
use serde_json::{Value, json};

const OVER: [&str; 3] = ["channels", "planes", "channels-and-planes"];

fn in_step(config: &mut Config, over: &'static str) {
    choose(&mut config.ftl, "reclaim_unit", "superblock", &[("over", over.into())]);
}

/// The same device built of wider pages: one channel of all their bandwidth in place of channels in step, one plane
/// in place of planes in step, which take their command cycles one after the other.
fn widened(config: &Config) -> Config {
    let (mut wide, in_step) = (config.clone(), config.in_step());
    let device = &mut wide.device;
    device.channels /= in_step.channels;
    device.planes_per_die /= in_step.planes;
    device.page_size *= in_step.parts();
    device.timing.channel_rate *= u64::from(in_step.channels);
    device.timing.command_overhead = base::Duration(device.timing.command_overhead.0 * u64::from(in_step.planes));
    choose(&mut wide.ftl, "reclaim_unit", "block", &[]);
    wide
}

/// A random device with something in step.
fn random_superblock(seed: u64) -> Option<Config> {
    let mut config = random_config(seed + 7_000_000);
    if config.ftl.get("reclaim_unit").name != "superblock" {
        in_step(&mut config, OVER[seed as usize % 3]);
        name_the_row(seed, &mut config);
        config.device.user_capacity -= config.device.user_capacity % page_size(&config);
        choose(&mut config.ftl, "write_buffer", "none", &[]);
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.footprint = config.device.user_capacity;
        }
    }
    execute(&mut config, if seed.is_multiple_of(2) { Executor::Timed } else { Executor::Count });
    // Of blocks in step the worst one counts, so a device of wider pages has better blocks, unless all are alike.
    let mut alike = Selection::default_of(&base::wear::QUALITIES[0]);
    ["best", "worst"].iter().for_each(|share| alike.set(share, 0.0.into()));
    config.device.wear.quality = alike;
    // A device may be too small for a single superpage of them all.
    let is_empty = config.device.user_capacity == 0;
    (!is_empty && config.in_step().parts() > 1 && device::check(&config).is_ok()).then_some(config)
}

/// Some have planes in step because a map unit is a page of each.
fn name_the_row(seed: u64, config: &mut Config) {
    let row = config::print_size(u64::from(config.device.page_size) * u64::from(config.device.planes_per_die));
    let units = device::seams().into_iter().find(|seam| seam.key == "map_unit").expect("a seam");
    if let (true, Some(unit)) = (seed % 2 == 1 && config.device.planes_per_die > 1, units.find(&row)) {
        choose(&mut config.ftl, "map_unit", unit.name, &[]);
        choose(&mut config.ftl, "reclaim_unit", ["block", "twin"][seed as usize / 2 % 2], &[]);
    }
}

/// Figures of both devices that are the same, and those of the wide one that are so many times larger here.
fn compare(narrow: &Value, wide: &Value, lanes: f64, whole_pages: bool, case: &str) {
    for key in ["host", "workload"] {
        assert_eq!(narrow[key], wide[key], "{case}: {key}");
    }
    // Means over more parts that are all the same are rounded otherwise.
    let close = |path: &str| {
        let of = |summary: &Value| path.split('.').fold(summary, |value, key| &value[key]).as_f64().unwrap_or(0.0);
        assert!((of(narrow) - of(wide)).abs() < 1e-9, "{case}: {path} {} {}", of(narrow), of(wide));
    };
    ["min", "mean", "max", "stddev"].iter().for_each(|key| close(&format!("wear.erases.{key}")));
    ["host", "gc", "idle", "transfer"].iter().for_each(|key| close(&format!("utilisation.channel.{key}")));
    ["read", "program", "erase", "idle"].iter().for_each(|key| close(&format!("utilisation.die.{key}")));
    for key in ["invocations", "foreground", "forward", "preempted", "moved_per_victim"] {
        assert_eq!(narrow["gc"][key], wide["gc"][key], "{case}: gc {key}");
    }
    let scaled = |path: &str| assert_eq!(figure(narrow, path), figure(wide, path) * lanes, "{case}: {path}");
    scaled("gc.moved_pages");
    scaled("wear.moves");
    scaled("flash.page_programs");
    assert_eq!(narrow["waf"], wide["waf"], "{case}: bytes for bytes");
    scaled("flash.block_erases");
    for cause in ["gc", "backup", "wear", "pad"] {
        for kind in ["reads", "programs", "erases"] {
            scaled(&format!("flash.by_cause.{cause}.{kind}"));
        }
    }
    let of_host = |summary: &Value, cause: &str| figure(summary, &format!("flash.by_cause.{cause}.programs"));
    assert_eq!(
        of_host(narrow, "host") + of_host(narrow, "rmw"),
        of_host(wide, "host") * lanes,
        "{case}: host programs"
    );
    if whole_pages {
        assert_eq!(narrow["waf_units"], wide["waf_units"], "{case}: waf_units");
        scaled("flash.page_reads");
        scaled("flash.by_cause.host.programs");
    }
}

#[test]
fn a_device_in_step_equals_one_of_wider_pages() {
    let (mut compared, mut in_parts, mut units) = (0, 0, 0);
    for seed in 0..share_of(600) {
        let Some(mut config) = random_superblock(seed) else { continue };
        config.run.checks = Checks::Fast;
        let page = page_size(&config);
        let whole_pages = seed % 4 < 2 && config.device.user_capacity >= page;
        if whole_pages && let Source::Generator(generator) = &mut config.workload.source {
            generator.request_size = page;
        }
        let wide = widened(&config);
        units += u32::from(config.ftl.get("map_unit").name != "page");
        let case = format!("case {seed}");
        let (narrow, wide) = (run(&config), run(&wide));
        compare(&narrow, &wide, f64::from(config.in_step().parts()), whole_pages, &case);
        compared += 1;
        in_parts += u32::from(figure(&narrow, "flash.by_cause.rmw.programs") > 0.0);
    }
    assert!(
        compared > least(200) && in_parts > least(50) && units > least(20),
        "{compared} cases, {in_parts} in parts, {units} with map units"
    );
}

/// Map units of what is in step, in time and without: a unit lies on all of it.
#[test]
fn units_in_step_equal_those_of_wider_pages() {
    let mut compared = 0;
    for seed in 0..200 {
        let Some(mut config) = random_superblock(seed) else { continue };
        if config.ftl.get("map_unit").name != "page" {
            in_step(&mut config, "planes");
        }
        let in_step = config.in_step().parts();
        config.device.page_size = 8192;
        config.device.blocks_per_plane += 4;
        let superpage = 8192 * in_step;
        let units = [("2KiB", 2048), ("4KiB", 4096), ("8KiB", 8192), ("16KiB", 16_384)];
        let fits = |&&(_, size): &&(&str, u32)| size % (512 * in_step) == 0 && [2, 4, 8].contains(&(superpage / size));
        let Some(&(unit, size)) = units.iter().filter(fits).nth(seed as usize % 2) else { continue };
        choose(&mut config.ftl, "map_unit", unit, &[]);
        for (seam, name) in [
            ("mapping", "page"),
            ("migration", "off-chip"),
            ("read_disturb", "ignore"),
            ("paired_page", "none"),
            ("write_buffer", "none"),
        ] {
            choose(&mut config.ftl, seam, name, &[]);
        }
        config.device.wear.read_limit = None;
        config.device.user_capacity =
            device::largest_user_capacity(&config) / 4 * 3 / u64::from(superpage) * u64::from(superpage);
        if config.device.user_capacity == 0 || device::check(&config).is_err() {
            continue;
        }
        if let Source::Generator(generator) = &mut config.workload.source {
            (generator.footprint, generator.request_size) = (config.device.user_capacity, size.into());
            generator.read_fraction = 0.2;
        }
        config.workload.end.requests = Some(2 * config.device.user_capacity / u64::from(size));
        config.run.precondition = Precondition::None;
        let wide = widened(&config);
        let (case, lanes) = (format!("case {seed}, {unit} of {superpage}"), f64::from(in_step));
        let (narrow, wide) = (run(&config), run(&wide));
        for key in ["host", "workload", "waf", "waf_units"] {
            assert_eq!(narrow[key], wide[key], "{case}: {key}");
        }
        for (path, lanes) in [
            ("gc.moved_pages", 1.0),
            ("flash.page_programs", lanes),
            ("flash.by_cause.pad.programs", lanes),
            ("flash.page_reads", lanes),
            ("flash.block_erases", lanes),
        ] {
            assert_eq!(figure(&narrow, path), figure(&wide, path) * lanes, "{case}: {path}");
        }
        compared += u32::from(figure(&narrow, "flash.block_erases") > 0.0);
    }
    assert!(compared > 30, "{compared} devices that collected");
}

/// Of superpages too, those of a wordline are programmed together.
#[test]
fn wordlines_in_step_equal_those_of_wider_pages() {
    let (mut compared, mut timed, mut filled_up) = (0, 0, 0);
    for seed in 0..share_of(900) {
        let Some(config) = random_superblock(seed) else { continue };
        let Some(mut config) = with_wordlines(config, ["one-shot", "two-pass"][seed as usize / 2 % 2]) else {
            continue;
        };
        config.run.checks = Checks::Fast;
        let (narrow, wide) = (run(&config), run(&widened(&config)));
        compare(&narrow, &wide, f64::from(config.in_step().parts()), false, &format!("case {seed}"));
        compared += 1;
        timed += u32::from(config.run.executor == Executor::Timed);
        filled_up += u32::from(figure(&narrow, "flash.by_cause.pad.programs") > 0.0);
    }
    assert!(
        compared > least(100) && timed > least(30) && filled_up > least(50),
        "{compared} cases, {timed} timed, {filled_up} filled up"
    );
}

/// Everything but what the configuration was and the run cost.
fn results(config: &Config) -> (Value, Vec<Table>) {
    let outcome = device::simulate(config, &mut device::Options::default()).expect("a run");
    let mut summary = metrics::deterministic(&outcome.summary);
    summary.as_object_mut().expect("an object").shift_remove("config");
    (summary, outcome.tables)
}

#[test]
fn one_channel_in_step_is_a_channel() {
    let mut compared = 0;
    for seed in 0..120 {
        let mut config = random_config(seed + 8_000_000);
        config.device.channels = 1;
        choose(&mut config.ftl, "reclaim_unit", "block", &[]);
        config.device.user_capacity = config.device.user_capacity.min(device::largest_user_capacity(&config));
        if device::check(&config).is_err() {
            continue;
        }
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.footprint = config.device.user_capacity;
            generator.request_size = 512;
        }
        let mut same = config.clone();
        in_step(&mut same, "channels");
        assert_eq!(format!("{:?}", results(&same)), format!("{:?}", results(&config)), "case {seed}");
        config.device.planes_per_die = 1;
        compared += 1;
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn nothing_is_lost_and_both_executors_decide_the_same() {
    let mut compared = 0;
    for seed in 0..400 {
        let Some(mut config) = random_superblock(seed + 10_000) else { continue };
        if seed % 4 != 0 {
            // Which die asks first for a victim of all is a matter of time.
            choose(&mut config.ftl, "reclaim_across", "none", &[]);
        }
        let path = temporary("csv");
        std::fs::write(&path, random_trace(seed, config.device.user_capacity, 200)).unwrap();
        config.workload.source = Source::Trace { path: path.display().to_string() };
        config.workload.end = End { rounds: Some(2), ..End::default() };
        // Stamped pages and the whole-state check: a page lost or stale ends the run.
        config.run.executor = Executor::Timed;
        if seed % 4 == 0 {
            run(&config);
        }
        let summaries = [Executor::Count, Executor::Timed].map(|executor| {
            execute(&mut config, executor);
            run(&config)
        });
        std::fs::remove_file(&path).unwrap();
        // With the map in flash, reads and old versions change what is cached when they come.
        let may_differ = looks_at_time(&config)
            || config.ftl.get("mapping").name == "dftl"
            || config.ftl.get("write_buffer").name != "none";
        if may_differ {
            continue;
        }
        compared += 1;
        let [count, timed] = summaries.map(|summary| {
            let causes = &summary["flash"]["by_cause"];
            json!([
                summary["waf_units"],
                summary["gc"],
                summary["wear"],
                causes["gc"],
                causes["rmw"],
                causes["backup"],
                causes["host"]["programs"]
            ])
        });
        assert_eq!(timed, count, "case {seed}");
    }
    assert!(compared > 40, "{compared}");
}

/// Four channels of one die of two planes, 4 KiB pages.
fn paper(over: &'static str) -> Config {
    let mut config = plain(4, 1, 1, 2, 16, 16);
    config.device.page_size = 4096;
    config.device.user_capacity = 1024 * 4096;
    in_step(&mut config, over);
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    config
}

const KIB: u64 = 1024;

/// Programs for the host, programs and reads for the rest of its superpages, and the WAF.
fn by_cause(config: &Config, rows: &[(u64, &str, u64, u64)]) -> (f64, f64, f64, f64) {
    let mut config = config.clone();
    let of = |summary: &Value| {
        let of = |path: &str| figure(summary, &format!("flash.by_cause.{path}"));
        (of("host.programs"), of("rmw.programs"), of("rmw.reads"), figure(summary, "waf_units"))
    };
    config.run.executor = Executor::Count;
    let count = of(&replay(&config, rows));
    config.run.executor = Executor::Timed;
    let timed = of(&replay(&config, rows));
    assert_eq!(timed, count);
    timed
}

#[test]
fn what_the_host_did_not_write_of_a_superpage_is_read_modify_write() {
    let config = paper("channels");
    // A superpage of 16 KiB, of four flash pages.
    assert_eq!(by_cause(&config, &[(0, "Write", 4 * KIB, 4 * KIB)]), (1.0, 3.0, 3.0, 4.0));
    assert_eq!(by_cause(&config, &[(0, "Write", 0, 16 * KIB)]), (4.0, 0.0, 0.0, 1.0));
    assert_eq!(by_cause(&config, &[(0, "Write", 8 * KIB, 16 * KIB)]), (4.0, 4.0, 4.0, 2.0), "half of each of two");
    // Parts of a flash page: it is the host's, and its old version is needed.
    assert_eq!(by_cause(&config, &[(0, "Write", 512, 512)]), (1.0, 3.0, 4.0, 4.0));
    assert_eq!(by_cause(&config, &[(0, "Write", 31 * KIB / 2, 4 * KIB)]), (2.0, 6.0, 8.0, 4.0));
    // Eight flash pages.
    assert_eq!(by_cause(&paper("channels-and-planes"), &[(0, "Write", 0, 4 * KIB)]), (1.0, 7.0, 7.0, 8.0));
    assert_eq!(by_cause(&paper("planes"), &[(0, "Write", 0, 4 * KIB)]), (1.0, 1.0, 1.0, 2.0));
    // A superpage that was never written has nothing to read, and is programmed whole.
    let mut fresh = config.clone();
    fresh.run.precondition = Precondition::None;
    assert_eq!(by_cause(&fresh, &[(0, "Write", 0, 4 * KIB)]), (1.0, 3.0, 0.0, 4.0));
}

#[test]
fn reads_count_what_they_need() {
    let summary = replay(&paper("channels-and-planes"), &[(0, "Read", 4 * KIB, 6 * KIB), (0, "Read", 0, 64 * KIB)]);
    assert_eq!(figure(&summary, "flash.by_cause.host.reads"), 2.0 + 16.0);
    assert_eq!(figure(&summary, "flash.multiplane.read_fraction"), 1.0);
    let summary = replay(&paper("channels"), &[(0, "Read", 4 * KIB, 6 * KIB)]);
    assert_eq!(figure(&summary, "flash.page_reads"), 2.0);
    assert_eq!(figure(&summary, "flash.multiplane.read_fraction"), 0.0);
}

#[test]
fn a_write_buffer_puts_superpages_together() {
    let mut config = paper("channels-and-planes");
    choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(64 * KIB))]);
    let pages = |count: u64, size: u64| -> Vec<(u64, &str, u64, u64)> {
        (0..count).map(|page| (page * 1000, "Write", page * size, size)).collect()
    };
    assert_eq!(by_cause(&config, &pages(8, 4 * KIB)), (8.0, 0.0, 0.0, 1.0), "eight flash pages make a superpage");
    assert_eq!(by_cause(&config, &pages(5, 4 * KIB)), (5.0, 3.0, 3.0, 8.0 / 5.0));
    assert_eq!(by_cause(&config, &pages(64, 512)), (8.0, 0.0, 0.0, 1.0), "or 64 sectors");
    assert_eq!(by_cause(&config, &pages(9, 512)), (2.0, 6.0, 7.0, 4.0), "and nine of them one flash page and a part");
    // Of 128 sectors all are known; of more, parts of which none lies on two flash pages.
    config.device.page_size = 8192;
    config.device.user_capacity *= 2;
    choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(128 * KIB))]);
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    assert_eq!(by_cause(&config, &pages(8, 8 * KIB)), (8.0, 0.0, 0.0, 1.0));
    assert_eq!(by_cause(&config, &pages(7, 8 * KIB)), (7.0, 1.0, 1.0, 8.0 / 7.0));
    assert_eq!(by_cause(&config, &pages(17, 512)), (2.0, 6.0, 7.0, 4.0));
    // Three channels of 24 KiB pages: 42 parts each at most, so parts of two sectors.
    let mut odd = plain(3, 1, 1, 1, 16, 16);
    odd.device.page_size = 24_576;
    odd.device.user_capacity = 3 * 128 * 24_576;
    in_step(&mut odd, "channels");
    choose(&mut odd.ftl, "write_buffer", "lru", &[("size", ParamValue::Size(4 * 73_728))]);
    odd.run.precondition = Precondition::Sequential { volume: odd.device.user_capacity };
    assert_eq!(by_cause(&odd, &pages(2, 24_576)), (2.0, 1.0, 1.0, 1.5));
    assert_eq!(by_cause(&odd, &pages(24, 1024)), (1.0, 2.0, 2.0, 3.0));
    assert_eq!(by_cause(&odd, &pages(48, 512)), (1.0, 2.0, 3.0, 3.0), "single sectors are not known");
}

#[test]
fn idle_latencies_are_those_of_one_gang() {
    for over in OVER {
        let mut config = paper(over);
        config.device.timing.command_overhead = base::Duration(700);
        config.device.timing.dram_bandwidth = Some(500_000_000);
        config.device.timing.ecc_latency = base::Duration(3001);
        let step = config.in_step();
        // Channels carry their parts side by side, planes one after the other; the DRAM is slower than four channels.
        let (planes, parts) = (f64::from(step.planes), f64::from(step.parts()));
        let (command, bus, dram, ecc) = (0.7 * planes, 20.48 * planes, 8.192 * parts, 3.001);
        let read = command + 75.0 + f64::max(bus, dram) + ecc;
        let program = f64::max(command + bus, dram) + 1600.0;
        let of = |kind: &'static str, size: u64| {
            let summary = replay(&config, &[(0, kind, 0, size)]);
            figure(&summary, &format!("host.{}_latency_us.max", kind.to_lowercase()))
        };
        let superpage = page_size(&config);
        for (found, expected) in [
            (of("Read", superpage), read),
            (of("Read", 4 * KIB), read),
            (of("Write", superpage), program),
            (of("Write", 4 * KIB), read + program),
        ] {
            assert!((found - expected).abs() < 1e-6, "{over}: {found}, not {expected}");
        }
    }
}

#[test]
fn tables_show_every_part_that_is_in_step() {
    let mut config = paper("channels-and-planes");
    choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(64 * KIB))]);
    config.workload.source = Source::Generator(generator("uniform", 4096, 0.2, config.device.user_capacity));
    let outcome = device::simulate(&config, &mut device::Options::default()).expect("a run");
    let table = |name: &str| outcome.tables.iter().find(|table| table.name == name).expect("a table");
    let values = |name: &str, column: &str| match table(name).column(column) {
        Some(Column::U64(values)) => values.iter().map(|&value| value as f64).collect::<Vec<f64>>(),
        Some(Column::F64(values)) => values.clone(),
        other => panic!("{name}.{column}: {other:?}"),
    };
    let (wear, erases) = (table("wear"), values("wear", "erases"));
    assert_eq!(wear.rows(), 4 * 2 * 16);
    assert_eq!(erases.iter().sum::<f64>(), figure(&outcome.summary, "flash.block_erases"));
    assert!(erases.chunks(16).all(|plane| plane == &erases[..16]) && erases[..16].iter().any(|&count| count > 0.0));
    assert!(wear.column("reads_since_erase").is_none(), "nobody counts the reads of single blocks");
    assert_eq!(values("wear", "channel")[32..64], [1.0; 32]);

    assert_eq!(values("utilisation", "index"), [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0], "channels, then dies");
    let busy = values("utilisation", "busy");
    assert!(busy[..4].iter().all(|&channel| channel == busy[0] && channel > 0.0));
    assert!(busy[4..].iter().all(|&die| die == busy[4] && die > busy[0]));

    let buffer = &outcome.summary["policy"]["write_buffer"];
    assert_eq!((&buffer["capacity_pages"], &buffer["page_bytes"]), (&json!(2), &json!(32_768)));
    assert_eq!(buffer["dirty_pages_by_channel"]["max"], json!([2, 2, 2, 2]));
    let programs: f64 = table("series").column("page_programs").map_or(0.0, |column| match column {
        Column::U64(values) => values.iter().sum::<u64>() as f64,
        other => panic!("{other:?}"),
    });
    assert_eq!(programs, 2.0 * figure(&outcome.summary, "flash.page_programs"), "on either axis");
}

#[test]
fn hybrid_mapping_and_every_other_policy_go_with_it() {
    let mut config = paper("channels");
    choose(&mut config.ftl, "mapping", "fast", &[("broken", "fill".into())]);
    choose(&mut config.ftl, "victim", "fifo", &[]);
    config.workload.source = Source::Generator(generator("uniform", 4096, 0.0, config.device.user_capacity));
    config.workload.end = End { requests: Some(2000), ..End::default() };
    let summary = run(&config);
    assert!(summary["policy"]["mapping"]["full_merges"].as_u64() > Some(0), "{}", summary["policy"]);
    assert!(figure(&summary, "waf_units") > 4.0);
    choose(&mut config.ftl, "reclaim_unit", "twin", &[]);
    assert!(device::check(&config).is_err());
}

#[test]
fn what_cannot_be_in_step_is_refused() {
    let refusal = |change: &dyn Fn(&mut Config)| {
        let mut config = paper("channels-and-planes");
        change(&mut config);
        let refusal = device::check(&config).expect_err("a refusal");
        format!("{}: {}; {}\n", refusal.key, refusal.message, refusal.help)
    };
    let buffer =
        |config: &mut Config| choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(40_960))]);
    let found = [
        refusal(&|config| config.device.user_capacity -= 4096),
        refusal(&|config| config.device.multiplane = base::Multiplane::Off),
        refusal(&|config| config.device.channels = 33),
        refusal(&|config| config.device.page_size = 1 << 30),
        refusal(&buffer),
    ]
    .concat();
    let expected = "device.user_capacity: a user space of 4092KiB is not a whole number of superpages of 32KiB (8 flash \
        pages in step); the nearest: 4064KiB and 4MiB; where only `over_provisioning` is given, the user space ends \
        with a superpage\n\
        ftl.reclaim_unit: planes in step take every command together, and `multiplane` is `off`; set `device.multiplane` \
        to `pac` or `bac`; or use `superblock.over = \"channels\"` or `block`, and a `map_unit` of no more than a flash page\n\
        ftl.reclaim_unit: 66 flash pages would be in step, and a superpage has at most 64; put fewer channels or planes \
        in step, or use `block`\n\
        device.page_size: superpages of 8GiB (8 flash pages in step) do not fit 32 bits; use smaller pages, or put fewer \
        channels or planes in step\n\
        ftl.write_buffer: a write buffer of 40KiB is not a whole number of superpages of 32KiB (8 flash pages in step); \
        the nearest: 32KiB and 64KiB\n";
    assert_eq!(found, expected);
    // Nothing to keep in step is no reason to refuse.
    let mut alone = paper("channels-and-planes");
    (alone.device.channels, alone.device.planes_per_die) = (1, 1);
    alone.device.multiplane = base::Multiplane::Off;
    alone.device.user_capacity = 100 * 4096;
    assert!(device::check(&alone).is_ok());
}

#[test]
fn a_user_space_that_follows_from_the_spare_ends_with_a_superpage() {
    let sets = [
        "device.channels=3",
        "device.over_provisioning=0.1",
        "ftl.allocation=\"CWDP\"",
        "ftl.reclaim_unit=\"superblock\"",
    ];
    let load = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_string()).collect();
        let text = "[workload]\ngenerator = \"uniform\"\nvolume = \"1x\"\n".to_string();
        device::load(&config::Base::Text { name: "step.toml".into(), text }, &sets, None)
    };
    let config = load(&sets).map_err(|problems| problems.to_string()).unwrap().config;
    let superpage = page_size(&config);
    assert_eq!(superpage, 3 * u64::from(config.device.page_size));
    assert!(config.device.user_capacity.is_multiple_of(superpage));
    let plain = load(&sets[..3]).map_err(|problems| problems.to_string()).unwrap().config;
    assert!(plain.device.user_capacity - config.device.user_capacity < superpage);
    let text = config::to_toml(&config);
    let again = device::load(&config::Base::Text { name: "printed.toml".into(), text }, &[], None);
    assert_eq!(again.map_err(|problems| problems.to_string()).unwrap().config, config);
    // A capacity that was written is not touched.
    let capacity = "device.user_capacity=\"100MiB\"";
    let given = load(&[sets[0], capacity, sets[2], sets[3]]);
    let text = given.map(|loaded| loaded.to_toml()).expect_err("a refusal").to_string();
    assert!(text.contains("is not a whole number of superpages of"), "{text}");
}
