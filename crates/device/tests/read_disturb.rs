//! Management of read disturb: no block is read past its limit, whatever the scheme, and each does what it says.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::*;
use base::Cell;
use config::Config;
use config::model::*;
use files::Interrupt;
use rig::survival::{Lives, Trouble, try_everywhere, try_lives};

/// One plane of TLC blocks, written once and then read.
fn reads(
    blocks: u32,
    pages: u32,
    limits: [u32; 2],
    scheme: &'static str,
    generator_name: &str,
    requests: u64,
) -> Config {
    let mut config = plain(1, 1, 1, 1, blocks, pages);
    config.device.cell = Cell::Tlc;
    config.device.user_capacity = u64::from(blocks * pages * 3 / 4) * u64::from(config.device.page_size);
    config.device.wear.read_limit = Some(limits);
    choose(&mut config.ftl, "read_disturb", scheme, &[]);
    let size = u64::from(config.device.page_size);
    config.workload.source = Source::Generator(generator(generator_name, size, 1.0, config.device.user_capacity));
    config.workload.end = End { requests: Some(requests), ..End::default() };
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    config.run.executor = Executor::Count;
    config.run.checks = Checks::Fast;
    config.run.payload = Payload::None;
    config
}

#[test]
fn a_block_is_refreshed_once_per_limit_of_reads() {
    let config = reads(64, 192, [10_000, 100_000], "refresh", "uniform", 6_000_000);
    let summary = run(&config);
    let refreshes = figure(&summary, "policy.read_disturb.refreshes");
    let all = figure(&summary, "flash.page_reads");
    // Blocks have read counts of their own at the end: as many as there are.
    let expected = all / 10_000.0;
    assert!(refreshes <= expected && refreshes > (expected - 48.0) * 0.995, "{refreshes} of {expected}");
}

/// A tenth of the pages get most of the reads, and find room in blocks for them. Shadow blocks alone take no more reads.
#[test]
fn each_scheme_does_what_it_is_for() {
    let erases = |scheme| {
        let mut config = reads(128, 192, [10_000, 100_000], scheme, "zipf", 3_000_000);
        config.run.checks = Checks::Full;
        let summary = run(&config);
        let figure = |name: &str| summary["policy"]["read_disturb"][name].as_f64();
        assert!(figure("max_reads_of_limit").is_some_and(|most| most > 0.9 && most <= 1.0), "{scheme}");
        assert_eq!(figure("read_hot_blocks").is_some_and(|blocks| blocks > 0.0), scheme != "refresh", "{scheme}");
        assert_eq!(figure("reuse").is_some_and(|rounds| rounds > 4.0), scheme == "read-leveling", "{scheme}");
        let reprograms = summary["flash"]["reprograms"].as_u64().expect("a count");
        assert_eq!((reprograms > 0, figure("ipr_rate").is_some()), (scheme == "ipr", scheme == "ipr"), "{scheme}");
        summary["flash"]["by_cause"]["refresh"]["erases"].as_f64().expect("a count")
    };
    let baseline = erases("refresh");
    assert!(erases("redftl") > 0.9 * baseline);
    for scheme in ["read-leveling", "hot-low-density", "ipr"] {
        assert!(erases(scheme) < 0.9 * baseline, "{scheme} of {baseline}");
    }
}

/// Random devices under every scheme, read far more than written, with the data of every read compared.
#[test]
fn random_devices_are_never_read_past_a_limit() {
    let cases = std::env::var("FTLAB_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200);
    let first = std::env::var("FTLAB_FIRST").ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    let mut ran = std::collections::BTreeMap::new();
    for seed in first..first + cases {
        let mut config = random_config(seed + 40_000_000);
        execute(&mut config, if seed % 2 == 0 { Executor::Timed } else { Executor::Count });
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.read_fraction = [0.8, 0.95, 1.0][seed as usize % 3];
        }
        config.workload.end = End { requests: Some(4000), ..End::default() };
        let scheme = config.ftl.get("read_disturb").name;
        if scheme == "ignore" {
            continue;
        }
        *ran.entry(scheme).or_insert(0) += 1;
        match catch_unwind(AssertUnwindSafe(|| run(&config))) {
            Ok(summary) => {
                let most = summary["policy"]["read_disturb"]["max_reads_of_limit"].as_f64().unwrap_or(0.0);
                assert!(most <= 1.0, "case {seed}: {most}");
            }
            Err(_) => panic!("case {seed}: {}", described(&config)),
        }
    }
    assert_eq!(ran.len(), 5, "every scheme: {ran:?}");
}

/// Active blocks are closed in the middle of a wordline, which is filled up then: no page waits for ever, and none is read before its
/// wordline is programmed.
#[test]
fn random_devices_whose_wordlines_are_programmed_together_are_refreshed() {
    let cases = std::env::var("FTLAB_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1600);
    let mut ran = std::collections::BTreeMap::new();
    for seed in 0..cases {
        let mut config = random_config(seed + 60_000_000);
        execute(&mut config, if seed % 2 == 0 { Executor::Timed } else { Executor::Count });
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.read_fraction = [0.8, 0.95, 1.0][seed as usize % 3];
        }
        config.workload.end = End { requests: Some(4000), ..End::default() };
        let scheme = config.ftl.get("read_disturb").name;
        let programming = ["one-shot", "two-pass"][seed as usize / 2 % 2];
        let Some(mut config) = with_wordlines(config, programming).filter(|_| scheme != "ignore") else { continue };
        (config.run.payload, config.run.checks) = (Payload::Stamp, Checks::Full);
        let Ok(summary) = catch_unwind(AssertUnwindSafe(|| run(&config))) else {
            panic!("case {seed}, {programming}: {}", described(&config));
        };
        let disturb = &summary["policy"]["read_disturb"];
        let most = disturb["max_reads_of_limit"].as_f64().unwrap_or(0.0);
        assert!(most <= 1.0, "case {seed}: {most}");
        *ran.entry((scheme, programming)).or_insert(0.0) += disturb["refreshes"].as_f64().unwrap_or(0.0);
    }
    assert_eq!(ran.len(), 10, "every scheme with both: {ran:?}");
    assert!(ran.values().all(|&refreshes| refreshes > 5.0), "{ran:?}");
}

/// Pages that store nothing are read several at once where they follow each other; those with stamps one by one. Small limits come
/// due in the middle of a request.
#[test]
fn pages_that_are_read_together_count_one_by_one() {
    for scheme in ["ignore", "refresh", "redftl", "read-leveling", "hot-low-density", "ipr"] {
        let mut moved = 0;
        for (pages, pattern) in (2..12).zip(["zipf", "uniform"].into_iter().cycle()) {
            let mut config = reads(48, 24, [150, 1500], scheme, pattern, 20_000);
            if scheme == "ignore" {
                config.device.wear.read_limit = None;
            }
            if let Source::Generator(generator) = &mut config.workload.source {
                (generator.read_fraction, generator.request_size) = (0.97, pages * u64::from(config.device.page_size));
            }
            let [together, one_by_one] = [Payload::None, Payload::Stamp].map(|payload| {
                config.run.payload = payload;
                let mut summary = run(&config);
                let parts = summary.as_object_mut().expect("an object");
                parts.retain(|name, _| !["config", "run", "memory"].contains(&name.as_str()));
                summary
            });
            assert_eq!(together, one_by_one, "{pages} pages: {}", described(&config));
            moved += together["flash"]["by_cause"]["refresh"]["reads"].as_u64().expect("a count");
        }
        assert_eq!(moved > 1000, scheme != "ignore", "{scheme}: limits come due, {moved} pages moved");
    }
}

/// What a case is, in a line.
fn described(config: &Config) -> String {
    let choices = config.ftl.made.iter().filter(|(_, selection)| !["none", "page", "ignore"].contains(&selection.name));
    let choices: Vec<String> =
        choices.map(|(key, selection)| format!("{key}={} {:?}", selection.name, selection.params)).collect();
    let device = &config.device;
    format!(
        "{:?} {}x{}x{}x{} {} blocks of {} {:?} {:?} {:?} limits {:?} {}",
        config.run.executor,
        device.channels,
        device.chips_per_channel,
        device.dies_per_chip,
        device.planes_per_die,
        device.blocks_per_plane,
        device.pages_per_block,
        device.cell,
        device.program_order,
        device.multiplane,
        device.wear.read_limit,
        choices.join("; ")
    )
}

/// A plane of 44 small blocks that take few reads.
fn life(scheme: &str, protection: &str, cell: &str, order: &str) -> Config {
    let (pages, limit, times) =
        if cell == "mlc" { (8, 48, r#"["50us", "100us"]"#) } else { (9, 56, r#"["50us", "70us", "100us"]"#) };
    let mut sets: Vec<String> = [
        "device.channels=1",
        "device.planes_per_die=1",
        "device.blocks_per_plane=44",
        "device.over_provisioning=2.5",
        "workload.interval=\"400ms\"",
        "run.payload=\"stamp\"",
        "run.precondition=\"none\"",
        "ftl.gc_schedule.threshold.free_blocks=3",
        "ftl.separation=\"none\"",
    ]
    .map(str::to_string)
    .to_vec();
    sets.push(format!("device.cell=\"{cell}\""));
    sets.push(format!("device.pages_per_block={pages}"));
    sets.push(format!("device.wear.read_limit=[{limit}, 400]"));
    sets.push(format!("device.timing.read={times}"));
    sets.push(format!("device.timing.program={times}"));
    sets.push(format!("device.program_order=\"{order}\""));
    sets.push(format!("ftl.paired_page={protection}"));
    sets.push(format!("ftl.read_disturb={scheme}"));
    preset("gcmix-px", &sets)
}

const SCHEMES: [&str; 5] = [
    "{refresh={margin=12}}",
    "{redftl={margin=12,hot_pages=2,shadow=0.2}}",
    "{read-leveling={margin=12,hot_pages=2,shadow=0.2}}",
    "{hot-low-density={margin=12,low_density=0.15}}",
    "{ipr={margin=12,low_density=0.15,pool=0.5}}",
];

/// Of lives with trouble at every so many operations none loses data, or has a block read past its limit.
fn assert_survives(case: &str, config: &Config, trouble: Trouble) {
    let stride: u64 = std::env::var("FTLAB_STRIDE")
        .ok()
        .and_then(|stride| stride.parse().ok())
        .unwrap_or(if is_long() { 61 } else { 241 });
    // There are far fewer programs than operations.
    let stride = if trouble == Trouble::ProgramFailure { stride.div_ceil(8) } else { stride };
    let tried =
        catch_unwind(AssertUnwindSafe(|| try_everywhere(config, trouble, 1, stride, &Interrupt::default()).unwrap()));
    let Ok(tally) = tried else { panic!("{case}") };
    assert!(tally.runs > 8, "{case}: {}", tally.runs);
    assert_eq!(tally.losing, 0, "{case}: {:?}", tally.first);
    assert_eq!(tally.past_limits, 0, "{case}: {:?}", tally.first_past);
}

/// At every operation, reprograms among them: the data are there, and no block was read past its limit.
#[test]
fn faults_at_every_operation_lose_nothing() {
    for scheme in SCHEMES {
        // A round of Read Leveling would share wordlines with the one before.
        let order = if scheme.contains("leveling") { "consecutive" } else { "shadow" };
        for (cell, order) in [("mlc", "consecutive"), ("tlc", order)] {
            for (protection, troubles) in [
                ("\"lsb-backup\"", &[Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut][..]),
                ("{gcmix={high=24}}", &[Trouble::ProgramFailure, Trouble::PowerCut]),
            ] {
                let config = life(scheme, protection, cell, order);
                for &trouble in troubles {
                    let case = format!("{scheme} {protection} {cell} {order} {trouble:?}");
                    assert_survives(&case, &config, trouble);
                }
            }
        }
    }
}

/// The same where the wordlines of a block are programmed as a whole, which takes no protection.
#[test]
fn faults_lose_nothing_where_wordlines_are_programmed_together() {
    for programming in ["one-shot", "two-pass"] {
        for scheme in SCHEMES {
            let config = life(scheme, "\"none\"", "mlc", "consecutive");
            let config = with_wordlines(config, programming).expect("a device that can have them");
            for trouble in [Trouble::ProgramFailure, Trouble::PowerCut, Trouble::SecondCut] {
                let case = format!("{scheme} {programming} {trouble:?}");
                assert_survives(&case, &config, trouble);
            }
        }
    }
}

/// Every reprogram fails once. If one were taken for good, pages would be read past their limit.
#[test]
fn a_reprogram_that_fails_is_known_to_have_failed() {
    for (cell, protection) in [("mlc", "\"lsb-backup\""), ("tlc", "\"lsb-backup\""), ("mlc", "{gcmix={high=24}}")] {
        let config = life("{ipr={margin=12,low_density=0.15,pool=0.5}}", protection, cell, "consecutive");
        let lives = Lives { reads: 40, afterwards: 2.0, ..Lives::new(1, 1) };
        let tally = try_lives(&config, Trouble::ReprogramFailure, &lives, &Interrupt::default()).unwrap();
        assert!(tally.runs > 10, "{cell} {protection}: {} runs", tally.runs);
        assert_eq!(tally.losing, 0, "{cell} {protection}: {:?}", tally.first);
        assert_eq!(tally.past_limits, 0, "{cell} {protection}: {:?}", tally.first_past);
    }
}

#[test]
fn blocks_that_nobody_refreshes_pass_their_limit() {
    let worn = life("\"ignore\"", "\"lsb-backup\"", "mlc", "shadow");
    let tally = try_everywhere(&worn, Trouble::PowerCut, 1, 997, &Interrupt::default()).unwrap();
    assert!(tally.past_limits > 0, "the harness sees what nobody refreshes: {tally:?}");
}
