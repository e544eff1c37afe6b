//! Copybacks through the whole device: what they cost, what they lose, and what keeps them from losing it.

use crate::common::*;
use base::ParamValue::{self, Flag, Integer, Number, Size, Word};
use base::{Duration, Multiplane};
use config::Config;
use config::model::*;
use device::{Options, RunError};
use files::Interrupt;
use rig::survival::{self, Trouble};
use serde_json::Value;

/// Parameters of a choice.
type Params<'a> = &'a [(&'a str, ParamValue)];

/// The ways of migration, but for the one without a limit: name, and parameters.
const RESTRICTED: [(&str, Params<'static>); 6] = [
    ("fastgc", &[]),
    ("fastgc", &[("metadata", Flag(true))]),
    ("rcpb", &[("quota", Word("block")), ("aware", Word("quality"))]),
    ("rcpb", &[("quota", Word("block")), ("aware", Word("worst"))]),
    ("rcpb", &[("quota", Word("page")), ("aware", Word("quality"))]),
    ("rcpb", &[("quota", Word("page")), ("aware", Word("worst"))]),
];

/// 2 channels of a die of 2 planes, overwritten at random.
fn config(executor: Executor, name: &str, params: Params<'_>) -> Config {
    let mut config = plain(2, 1, 1, 2, 32, 16);
    config.device.page_size = 1024;
    config.device.user_capacity = 2 * 2 * 32 * 16 * 1024 / 16 * 11;
    config.device.wear.pe_cycles = 1500;
    config.run.executor = executor;
    config.run.checks = Checks::Full;
    choose(&mut config.ftl, "allocation", "CWDP", &[]);
    choose(&mut config.ftl, "migration", name, params);
    config.workload.source = Source::Generator(generator("uniform", 1024, 0.2, config.device.user_capacity));
    config.workload.end = End { requests: Some(4000), ..End::default() };
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config
}

fn run_of(config: &Config) -> Result<Value, RunError> {
    device::simulate(config, &mut Options::default()).map(|outcome| outcome.summary)
}

#[test]
fn without_a_limit_data_are_lost_and_the_run_fails() {
    for executor in [Executor::Count, Executor::Timed] {
        for payload in [Payload::None, Payload::Stamp] {
            let mut config = config(executor, "copyback", &[]);
            config.run.payload = payload;
            let Err(RunError::Failed(text)) = run_of(&config) else {
                panic!("{executor:?} {payload:?}: nothing was lost")
            };
            assert!(text.starts_with("uncorrectable error: page ") && text.contains("hint: "), "{text}");
        }
    }
}

#[test]
fn with_a_limit_nothing_is_lost() {
    for (name, params) in RESTRICTED {
        for tail in [false, true] {
            let mut config = config(Executor::Count, name, params);
            if tail {
                config.device.wear.quality = base::Selection::default_of(&base::wear::QUALITIES[1]);
            }
            let summary = run(&config);
            let case = format!("{name} {params:?} {tail}");
            let (fraction, highest) = (
                figure(&summary, "policy.migration.copyback_fraction"),
                figure(&summary, "policy.migration.max_error"),
            );
            assert!(fraction > 0.2 && fraction < 1.0, "{case}: {fraction}");
            assert!(highest > 0.4 && highest <= 1.0, "{case}: {highest}");
            let (copied, off_chip) =
                (figure(&summary, "flash.copybacks"), figure(&summary, "policy.migration.off_chip"));
            assert!((fraction - copied / (copied + off_chip)).abs() < 1e-12, "{case}");
            assert_eq!(copied + off_chip, figure(&summary, "gc.moved_pages"), "{case}");
        }
    }
}

#[test]
fn both_executors_move_the_same_pages() {
    for (name, params) in RESTRICTED {
        let [count, timed] = [Executor::Count, Executor::Timed].map(|executor| run(&config(executor, name, params)));
        for path in ["waf_units", "flash.copybacks", "flash.page_reads", "gc.moved_pages", "policy.migration.off_chip"]
        {
            assert_eq!(figure(&count, path), figure(&timed, path), "{name} {params:?}: {path}");
        }
    }
}

#[test]
fn what_takes_quality_into_account_copies_more() {
    let fraction = |params: Params<'_>| {
        figure(&run(&config(Executor::Count, "rcpb", params)), "policy.migration.copyback_fraction")
    };
    let fastgc = figure(&run(&config(Executor::Count, "fastgc", &[])), "policy.migration.copyback_fraction");
    assert_eq!(
        fraction(&[("quota", Word("page")), ("aware", Word("worst"))]),
        fastgc,
        "FastGC's counts are quotas at the worst threshold"
    );
    assert!(fraction(&[("quota", Word("page"))]) > fastgc);
    assert!(fraction(&[("quota", Word("block"))]) > fraction(&[("quota", Word("block")), ("aware", Word("worst"))]));
}

/// Every block that is filled has a page less for data, and its counts are programmed under a cause of their own.
#[test]
fn counts_in_flash_take_a_page_of_each_block() {
    for unit in ["block", "twin"] {
        for executor in [Executor::Count, Executor::Timed] {
            let of = |metadata: bool| {
                let mut config = config(executor, "fastgc", &[("metadata", Flag(metadata))]);
                choose(&mut config.ftl, "reclaim_unit", unit, &[]);
                config
            };
            let [without, with] = [false, true].map(|metadata| device::largest_user_capacity(&of(metadata)));
            let lost = 1.0 - with as f64 / without as f64;
            assert!((lost - 1.0 / 16.0).abs() < 0.003, "{unit}: {lost}");
            let summary = run(&of(true));
            let (counts, all) =
                (figure(&summary, "flash.by_cause.mapping.programs"), figure(&summary, "flash.page_programs"));
            // Blocks that were begun before the run, and those that are not full at its end.
            let open = 2.0 * 2.0;
            assert!((counts - all / 16.0).abs() <= open, "{unit} {executor:?}: {counts} of {all}");
            let without = run(&of(false));
            assert_eq!(figure(&without, "flash.by_cause.mapping.programs"), 0.0);
            assert!(figure(&summary, "waf_units") > 1.05 * figure(&without, "waf_units"), "{unit} {executor:?}");
        }
    }
}

/// Past the last band of the table there is no copyback, so that all is as without them.
#[test]
fn worn_out_blocks_move_pages_off_the_chip() {
    let of = |name: &str, params: Params| {
        let mut config = config(Executor::Timed, name, params);
        config.device.wear.pe_cycles = 5001;
        run(&config)
    };
    let base = of("off-chip", &[]);
    let pays_in_flash = |params: Params<'_>| params.iter().any(|(name, _)| *name == "metadata");
    for (name, params) in RESTRICTED.into_iter().filter(|(_, params)| !pays_in_flash(params)) {
        let summary = of(name, params);
        assert_eq!(figure(&summary, "policy.migration.copyback_fraction"), 0.0);
        for path in ["waf_units", "flash.page_reads", "host.simulated_s", "host.latency_us.mean"] {
            assert_eq!(figure(&summary, path), figure(&base, path), "{name}: {path}");
        }
    }
}

/// One plane, one page in the device at a time, and a channel that is slow: what a copyback saves are two transfers.
#[test]
fn a_copyback_holds_the_channel_for_its_command_cycles_alone() {
    let of = |name: &str, overhead: Duration| {
        let mut config = plain(1, 1, 1, 1, 32, 16);
        config.run.payload = Payload::None;
        config.device.wear.quality = base::Selection {
            params: vec![("best", Number(1.0)), ("worst", Number(0.0))],
            ..config.device.wear.quality
        };
        config.device.wear.copyback = forgiving();
        config.device.timing.command_overhead = overhead;
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        choose(&mut config.ftl, "allocation", "CWDP", &[]);
        choose(&mut config.ftl, "migration", name, &[]);
        run(&config)
    };
    for overhead in [Duration::ZERO, Duration::from_us(3)] {
        let [off_chip, copyback] = ["off-chip", "copyback"].map(|name| of(name, overhead));
        let moved = figure(&copyback, "flash.copybacks");
        assert!(moved > 200.0, "{moved}");
        assert_eq!(moved, figure(&off_chip, "gc.moved_pages"));
        let saved_s = figure(&off_chip, "host.simulated_s") - figure(&copyback, "host.simulated_s");
        // 8 KiB at 200 MB/s, in and out; both take the cycles of a read and of a program.
        let expected = moved * 2.0 * 40.96e-6;
        assert!((saved_s / expected - 1.0).abs() < 0.05, "{overhead:?}: {saved_s} {expected}");
    }
}

#[test]
fn planes_copy_together_where_their_addresses_allow_it() {
    for (multiplane, unit) in [(Multiplane::Pac, "twin"), (Multiplane::Any, "block"), (Multiplane::Pac, "block")] {
        let mut config = config(Executor::Timed, "rcpb", &[("quota", Word("page"))]);
        config.device.multiplane = multiplane;
        choose(&mut config.ftl, "scheduler", "paq", &[]);
        choose(&mut config.ftl, "reclaim_unit", unit, &[]);
        let timeline = std::env::temp_dir().join(format!("ftlab-migration-{}-{unit}.json", std::process::id()));
        let window = base::Instant::ZERO..base::Instant(u64::MAX);
        let spec = device::TimelineSpec { path: timeline.clone(), window };
        let mut options = Options { timeline: Some(spec), ..Options::default() };
        let summary = device::simulate(&config, &mut options).expect("a run").summary;
        assert!(figure(&summary, "flash.copybacks") > 100.0);
        let events = std::fs::read_to_string(&timeline).expect("a timeline");
        std::fs::remove_file(timeline).expect("it is there");
        let copies: Vec<&str> = events.lines().filter(|line| line.contains("gc copyback\"")).collect();
        let together = copies.iter().filter(|line| line.contains("\"pages\":2")).count();
        assert!(!copies.is_empty(), "{}", &events[..events.len().min(1500)]);
        if unit == "twin" || multiplane == Multiplane::Any {
            assert!(together > 10, "{multiplane:?} {unit}: {together} of {}", copies.len());
        }
    }
}

/// The host and collections wait for one ECC: a page is correct when those before it are.
#[test]
fn ecc_is_shared() {
    let of = |rate: Option<u64>, name: &str| {
        let mut config = config(Executor::Timed, name, &[]);
        config.host.queue_depth = Some(16);
        config.device.timing.ecc_bandwidth = rate;
        config.device.wear.copyback = forgiving();
        figure(&run(&config), "host.simulated_s")
    };
    let unlimited = of(None, "off-chip");
    let limited = of(Some(250_000), "off-chip");
    assert!(limited > 1.2 * unlimited, "{limited} {unlimited}");
    // Copybacks leave ECC to the host's reads.
    assert!(of(Some(250_000), "copyback") < 0.8 * limited);
}

/// A buffer that is empty most of the time, and background collection: the selector has that one move pages off the chip.
#[test]
fn a_calm_host_lets_background_collections_restore_quotas() {
    let of = |selector: bool| {
        let mut config = config(Executor::Timed, "rcpb", &[("selector", Flag(selector))]);
        choose(&mut config.ftl, "write_buffer", "fifo", &[("size", Size(65_536)), ("flush", Word("free"))]);
        choose(
            &mut config.ftl,
            "gc_schedule",
            "background",
            &[("free_blocks", Integer(2)), ("spare_blocks", Integer(8))],
        );
        let Source::Generator(generator) = &mut config.workload.source else { unreachable!() };
        (generator.interval, generator.poisson) = (Duration::from_us(8000), true);
        config.host = Host::new(Replay::Open, Some(16));
        run(&config)
    };
    let [greedy, selecting] = [false, true].map(of);
    for summary in [&greedy, &selecting] {
        assert!(figure(summary, "gc.forward") > 20.0);
    }
    let fraction = |summary| figure(summary, "policy.migration.copyback_fraction");
    assert!(fraction(&selecting) < 0.5 * fraction(&greedy), "{} {}", fraction(&selecting), fraction(&greedy));
}

#[test]
fn quotas_are_unknown_after_a_power_cut() {
    let of = |name: &str, params: Params, trouble| {
        let mut config = config(Executor::Count, name, params);
        config.device.blocks_per_plane = 20;
        config.device.pages_per_block = 8;
        config.device.user_capacity = 2 * 2 * 20 * 8 * 1024 / 2;
        config.run.precondition = Precondition::None;
        survival::try_everywhere(&config, trouble, 1, 97, &Interrupt::default()).expect("lives")
    };
    for (name, params) in RESTRICTED {
        for trouble in [Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure] {
            let tally = of(name, params, trouble);
            let keeps_all = tally.losing == 0 && tally.past_limits == 0;
            assert!(tally.runs > 5 && keeps_all, "{name} {params:?} {trouble:?}: {tally:?}");
        }
    }
    let rots = of("copyback", &[], Trouble::PowerCut);
    assert!(rots.losing > 0 && rots.past_limits > 0, "the harness sees what rots: {rots:?}");
}

/// Of pages that move side by side, those behind one whose copyback fails stay in their planes all the same.
#[test]
fn a_failed_copyback_of_a_twin_block_leaves_the_others_in_their_planes() {
    let mut config = config(Executor::Count, "rcpb", &[]);
    (config.device.blocks_per_plane, config.device.pages_per_block) = (24, 8);
    config.device.user_capacity = 2 * 2 * 24 * 8 * 1024 / 2;
    config.run.precondition = Precondition::None;
    config.device.wear.pe_cycles = 0;
    // The lower page that goes along is written anew before them.
    config.device.cell = base::Cell::Mlc;
    config.device.timing.read = vec![Duration::from_us(75); 2];
    config.device.timing.program = vec![Duration::from_us(1600); 2];
    choose(&mut config.ftl, "paired_page", "lsb-backup", &[]);
    choose(&mut config.ftl, "reclaim_unit", "twin", &[]);
    let tally = survival::try_everywhere(&config, Trouble::ProgramFailure, 1, 7, &Interrupt::default()).expect("lives");
    assert!(tally.runs > 100 && tally.losing == 0, "{tally:?}");
}

#[test]
fn what_cannot_work_is_refused() {
    let refused = |config: &Config, expected: &str| {
        let refusal = device::check(config).expect_err("a refusal");
        assert!(refusal.message.contains(expected), "{refusal}");
    };
    let selecting = |executor| config(executor, "rcpb", &[("selector", Flag(true))]);
    refused(
        &selecting(Executor::Timed),
        "write buffer's fill over time, and this device has no write buffer or no time",
    );
    let mut without_time = selecting(Executor::Count);
    choose(&mut without_time.ftl, "write_buffer", "fifo", &[("size", Size(65_536))]);
    refused(&without_time, "no write buffer or no time");
    let mut hybrid = config(Executor::Count, "fastgc", &[]);
    choose(&mut hybrid.ftl, "mapping", "fast", &[]);
    choose(&mut hybrid.ftl, "victim", "fifo", &[]);
    refused(&hybrid, "hybrid mapping gathers those of logical blocks");
    let mut too_many = config(Executor::Count, "rcpb", &[]);
    too_many.device.wear.pe_cycles = 0;
    too_many.device.blocks_per_plane = 256;
    choose(&mut too_many.ftl, "separation", "dac", &[("regions", Integer(8))]);
    choose(&mut too_many.ftl, "gc_schedule", "threshold", &[("free_blocks", Integer(8))]);
    choose(&mut too_many.ftl, "paired_page", "none", &[]);
    too_many.device.wear.quality = base::Selection::default_of(&base::wear::QUALITIES[1]);
    refused(&too_many, "kinds of data with `separation` and `paired_page`, and a plane has at most 64 active blocks");
}

/// Whatever the device, its age and the qualities of its blocks.
#[test]
fn no_page_passes_its_budget() {
    let (mut runs, mut with_copybacks) = (0, 0);
    for seed in 0..240 {
        let mut config = random_config(seed + 10_000_000);
        let (name, params) = RESTRICTED[seed as usize % RESTRICTED.len()];
        choose(&mut config.ftl, "migration", name, params);
        config.run.payload = Payload::Stamp;
        // What the policies need of the blocks is another matter.
        config.device.user_capacity = config.device.user_capacity.min(device::largest_user_capacity(&config) / 4 * 3);
        config.device.user_capacity -= config.device.user_capacity % page_size(&config);
        let (capacity, page) = (config.device.user_capacity, page_size(&config));
        config.workload.source = Source::Generator(generator("hot-cold", page, 0.2, capacity));
        config.workload.end = End { requests: Some(1500), ..End::default() };
        config.run.precondition = Precondition::None;
        execute(&mut config, if seed % 2 == 0 { Executor::Timed } else { Executor::Count });
        if capacity == 0 || device::check(&config).is_err() {
            continue;
        }
        let summary = run(&config);
        let highest = figure(&summary, "policy.migration.max_error");
        assert!(highest <= 1.0, "case {seed}: {highest}");
        runs += 1;
        with_copybacks += u32::from(figure(&summary, "flash.copybacks") > 0.0);
    }
    assert!(runs > 100 && with_copybacks > 40, "{runs} runs, {with_copybacks} with copybacks");
}

#[test]
fn no_page_passes_its_budget_after_a_power_cut() {
    let mut lives = 0;
    for seed in 0..36u64 {
        let mut random = engine::Chance::new(seed, "lives");
        let (name, params) = RESTRICTED[seed as usize % RESTRICTED.len()];
        let mut config = config(Executor::Count, name, params);
        (config.device.blocks_per_plane, config.device.pages_per_block) = (20, 4 + random.below_u32(5));
        let pages = 2 * 2 * 20 * config.device.pages_per_block;
        config.device.user_capacity = u64::from(pages * 1024 / 2 / 1024 * 1024);
        config.device.wear.pe_cycles = random.below_u32(4000);
        config.device.wear.quality = base::Selection::default_of(pick(&mut random, base::wear::QUALITIES));
        config.run.seed = seed;
        config.run.precondition = Precondition::None;
        if random.below(2) == 0 {
            choose(&mut config.ftl, "reclaim_unit", "twin", &[]);
        }
        if device::check(&config).is_err() {
            continue;
        }
        for trouble in [Trouble::PowerCut, Trouble::SecondCut] {
            let tally = survival::try_everywhere(&config, trouble, 1, 397, &Interrupt::default()).expect("lives");
            assert_eq!(tally.losing, 0, "case {seed}, {trouble:?}: {tally:?}");
            lives += tally.runs;
        }
    }
    assert!(lives > 300, "{lives} lives");
}

/// Under uniform writes a page is copied again with the same chance p, however often it was, so that of CT + 1 copies in a row
/// all but the last are copybacks.
#[test]
fn the_share_of_copybacks_is_that_of_the_closed_form() {
    for threshold in 1..=5 {
        for sixteenths in [10, 13] {
            let mut config = config(Executor::Count, "rcpb", &[("quota", Word("page"))]);
            (config.device.blocks_per_plane, config.run.checks) = (64, Checks::Fast);
            config.device.user_capacity = 2 * 2 * 64 * 16 * 1024 / 16 * sixteenths;
            let any = vec![threshold];
            config.device.wear.copyback =
                base::CopybackTable { bands: vec![1_000_000], best: any.clone(), median: any.clone(), worst: any };
            config.run.payload = Payload::None;
            config.workload.source = Source::Generator(generator("uniform", 1024, 0.0, config.device.user_capacity));
            // A fresh device, whose quotas are all known.
            config.run.precondition = Precondition::None;
            config.workload.end = End { requests: Some(400_000), ..End::default() };
            let summary = run(&config);
            let p = 1.0 - 1.0 / figure(&summary, "waf_units");
            let row = p.powi(threshold as i32);
            let expected = 1.0 - row * (1.0 - p) / (1.0 - row * p);
            let share = figure(&summary, "policy.migration.copyback_fraction");
            println!(
                "CT {threshold}, {sixteenths}/16: WAF {:.3}, share {share:.4}, closed form {expected:.4}",
                1.0 / (1.0 - p)
            );
            assert!((share - expected).abs() < 0.005, "CT {threshold}, {sixteenths}/16: {share} {expected}");
        }
    }
}

/// Of a device that is all but full, GCMix would put pages of a victim without an invalid page under each host page for ever.
#[test]
fn gcmix_begins_with_victims_that_gain_room() {
    let mut config = plain(1, 1, 1, 2, 27, 15);
    config.device.cell = base::Cell::Tlc;
    config.device.page_size = 512;
    (config.device.timing.read, config.device.timing.program) =
        (vec![Duration::from_us(70)], vec![Duration::from_us(900)]);
    choose(&mut config.ftl, "allocation", "CWDP", &[]);
    choose(&mut config.ftl, "reclaim_unit", "twin", &[]);
    choose(&mut config.ftl, "migration", "fastgc", &[("metadata", Flag(true))]);
    choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", Integer(4))]);
    choose(&mut config.ftl, "paired_page", "gcmix", &[("low", Integer(2)), ("high", Integer(9))]);
    config.device.user_capacity = device::largest_user_capacity(&config);
    config.workload.source = Source::Generator(generator("uniform", 512, 0.0, config.device.user_capacity));
    config.workload.end = End { requests: Some(2000), ..End::default() };
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    config.run.executor = Executor::Count;
    assert!(figure(&run(&config), "waf_units") > 1.0);
}

/// Blocks under cold data wear like the others, whichever way blocks are emptied: under GCMix most are erased without a collection.
#[test]
fn wear_leveling_keeps_blocks_together_under_every_protection() {
    for protection in ["none", "lsb-backup", "parity-backup", "gcmix"] {
        let mut config = plain(1, 1, 1, 1, 32, 16);
        config.device.cell = base::Cell::Mlc;
        (config.device.timing.read, config.device.timing.program) =
            (vec![Duration::from_us(50)], vec![Duration::from_us(900)]);
        config.device.user_capacity = config.device.user_capacity / 8 * 7;
        choose(&mut config.ftl, "allocation", "CWDP", &[]);
        choose(&mut config.ftl, "block_allocation", "least-worn", &[]);
        choose(&mut config.ftl, "paired_page", protection, &[]);
        choose(&mut config.ftl, "wear_leveling", "static", &[("threshold", Integer(5))]);
        let hot = config.device.user_capacity / 4 / 8192 * 8192;
        config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, hot));
        config.workload.end = End { requests: Some(20_000), ..End::default() };
        config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
        let summary = run(&config);
        // Not the least: a block that is kept for backups wears less, and holds no cold data.
        let [mean, max] = ["mean", "max"].map(|name| figure(&summary, &format!("wear.erases.{name}")));
        assert!(mean > 30.0, "{protection}: {mean}");
        assert!(max - mean <= 5.0, "{protection}: {max} where {mean} is the mean");
    }
}
