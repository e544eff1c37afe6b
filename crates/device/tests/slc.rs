//! The pseudo-SLC cache: where its phases end and how fast each is, that nothing is lost, and what it refuses.

use crate::common::*;
use base::{Cell, Duration, Multiplane, ParamValue};
use config::Config;
use config::model::{Checks, End, Executor, Payload, Precondition, Source};
use files::Interrupt;
use rig::survival::{Trouble, try_everywhere};
use serde_json::Value;

/// Random devices that are tried.
const LIVES: u64 = 60;

/// Caches, by their names and parameters.
const CACHES: [(&str, &str, &str); 7] = [
    ("static", "direct", "need"),
    ("static", "fold-through", "need"),
    ("static", "direct", "mark"),
    ("dynamic", "direct", "need"),
    ("dynamic", "fold-through", "need"),
    ("both", "direct", "need"),
    ("both", "fold-through", "mark"),
];

fn set_cache(config: &mut Config, (name, when_full, fold): (&str, &'static str, &'static str), blocks: u32) {
    let mut params = vec![("when_full", ParamValue::Word(when_full)), ("fold", ParamValue::Word(fold))];
    if name != "dynamic" {
        params.push(("blocks", blocks.into()));
    }
    choose(&mut config.ftl, "slc_cache", name, &params);
}

/// Cells of several bits, with read and program times in microseconds.
fn set_cells(device: &mut config::model::Device, cell: Cell, [read, program]: [u64; 2]) {
    device.cell = cell;
    let bits = cell.bits() as usize;
    device.timing.read = vec![Duration::from_us(read); bits];
    device.timing.program = vec![Duration::from_us(program); bits];
}

/// A plane of `cell`, filled once in order.
fn fill_of(cell: Cell, share: f64, written: f64) -> Config {
    let mut config = plain(1, 1, 1, 1, 400, 24);
    set_cells(&mut config.device, cell, [50, 700]);
    let user = (f64::from(400 * 24) * 0.97) as u64 * 8192;
    config.device.user_capacity = user;
    config.device.multiplane = Multiplane::Off;
    choose(&mut config.ftl, "slc_cache", "dynamic", &[("share", share.into())]);
    config.workload.source = Source::Generator(generator("sequential", 8192, 0.0, user));
    let raw = f64::from(400 * 24 * 8192);
    config.workload.end = End { volume: Some((raw * written) as u64 / 8192 * 8192), ..End::default() };
    config.run.executor = Executor::Count;
    config.run.payload = Payload::None;
    config.run.checks = Checks::Fast;
    config
}

fn cached(summary: &Value, name: &str) -> f64 {
    figure(summary, &format!("policy.slc_cache.{name}"))
}

/// The cache folds first what was written first: of a range that is written over and over, and is smaller than the cache, all
/// pages have died by then. Were the newest block folded first, all of its pages would be moved.
#[test]
fn what_was_written_first_is_folded_first() {
    for (name, when_full, fold) in
        [("static", "fold-through", "need"), ("static", "direct", "mark"), ("both", "fold-through", "mark")]
    {
        let mut config = fill_of(Cell::Tlc, 1.0, 1.0);
        config.device.user_capacity = 5000 * 8192;
        set_cache(&mut config, (name, when_full, fold), 24);
        // A block of the cache has 8 pages of the 24: the range is half of what the cache has.
        let Source::Generator(generator) = &mut config.workload.source else { unreachable!("a generator") };
        generator.footprint = 12 * 8 * 8192;
        config.workload.end = End { requests: Some(4000), ..End::default() };
        let summary = run(&config);
        let [written, folded, died] =
            ["written_pages", "folded_pages", "died_pages"].map(|name| cached(&summary, name));
        assert!(written > 2000.0 && died > 1000.0, "{name} {fold}: {summary}");
        assert!(folded * 50.0 < written, "{name} {fold}: {folded} of {written} were folded");
    }
}

/// A cycle of a cached block wears it by `wear` of another one, and the whole device by the sum.
#[test]
fn cycles_in_slc_mode_wear_by_their_part() {
    for part in [0.0, 0.25, 1.0] {
        let mut config = fill_of(Cell::Tlc, 1.0, 3.0);
        equip(&mut config.device, "slc_mode", "on", &[("wear", part.into())]);
        let summary = run(&config);
        let in_mode = cached(&summary, "erases_of_fixed") + cached(&summary, "erases_of_lent");
        let expected = cached(&summary, "erases_of_others") + part * in_mode;
        let worn = figure(&summary, "wear.effective_erases.mean") * 400.0;
        assert!(
            (worn - expected).abs() < 1e-6 && in_mode > 300.0,
            "{part}: {worn} of {expected}, {in_mode} in the mode"
        );
    }
}

/// With all free blocks lent, the cache takes C ÷ b. With a part of them, the rest of the blocks takes what comes then. After that each
/// page at full density takes the folding of 1 ÷ (b − 1) pages.
#[test]
fn phases_end_where_arithmetic_says() {
    for (cell, share) in [(Cell::Mlc, 1.0), (Cell::Tlc, 1.0), (Cell::Qlc, 1.0), (Cell::Tlc, 0.5), (Cell::Qlc, 0.3)] {
        let bits = f64::from(cell.bits());
        let raw = f64::from(400 * 24);
        // Pages at which the first phase ends, and the second one.
        let (first, second) = (share * raw / bits, share * raw / bits + (1.0 - share) * raw);
        let at = |pages: f64| run(&fill_of(cell, share, pages / raw));
        let near = |found: f64, expected: f64, what: &str| {
            let is_near = (found / expected - 1.0).abs() < 0.05;
            assert!(is_near, "{cell:?} {share}: {what} is {found}, and should be {expected}");
        };
        let before = at(0.95 * first);
        assert_eq!(
            (cached(&before, "bypassed_pages"), cached(&before, "folded_pages")),
            (0.0, 0.0),
            "{cell:?} {share}"
        );
        let after = at(1.05 * first);
        near(cached(&after, "written_pages"), first, "the end of the first phase");
        assert!(cached(&after, "bypassed_pages") > 0.0);
        if share < 1.0 {
            let before = at(0.95 * second);
            assert_eq!(cached(&before, "folded_pages"), 0.0, "{cell:?} {share}");
        }
        let (early, late) = (at(second + 0.05 * raw), at(second + 0.15 * raw));
        let over = |name| cached(&late, name) - cached(&early, name);
        near(over("folded_pages") / over("bypassed_pages"), 1.0 / (bits - 1.0), "pages folded for each of the host");
        assert_eq!(over("written_pages"), 0.0);
    }
}

/// Seconds from the first write of a fill to the last, with times of SLC mode.
fn seconds(config: &Config) -> f64 {
    figure(&run(config), "host.simulated_s")
}

/// One plane, a write at a time: a page of the cache takes the times of SLC mode, and one at full density those of its cells; where
/// blocks are folded, each page of the host takes the read and the program of 1 ÷ (b − 1) others besides, and the erases of b ÷ (b − 1)
/// blocks of the cache for each block that it fills.
#[test]
fn each_phase_is_as_fast_as_its_operations() {
    for cell in [Cell::Tlc, Cell::Qlc] {
        let bits = f64::from(cell.bits());
        let share = 0.5;
        let (raw, lent) = (400.0 * 24.0, share * 400.0 * 24.0);
        let (first, second) = (lent / bits, lent / bits + (1.0 - share) * raw);
        let at = |pages: f64| {
            let mut config = fill_of(cell, share, pages / raw);
            config.run.executor = Executor::Timed;
            let times = [("read", 20_000), ("program", 150_000), ("erase", 2_000_000)];
            let times = times.map(|(name, ns)| (name, ParamValue::Time(Duration(ns))));
            equip(&mut config.device, "slc_mode", "on", &times);
            seconds(&config)
        };
        let of_page = |from: f64, to: f64| (at(to) - at(from)) / (to - from) * 1e6;
        let transfer = 40.96;
        let near = |found: f64, expected: f64, what: &str| {
            let is_near = (found / expected - 1.0).abs() < 0.05;
            assert!(is_near, "{cell:?}: a page {what} takes {found} us, and should take {expected}");
        };
        near(of_page(0.2 * first, 0.9 * first), 150.0 + transfer, "of the cache");
        near(of_page(1.2 * first, 0.95 * second), 700.0 + transfer, "at full density");
        let copy = 20.0 + transfer + 700.0 + transfer;
        let erases = 2000.0 * bits / (bits - 1.0) / 24.0;
        let folding = 700.0 + transfer + copy / (bits - 1.0) + erases;
        near(of_page(second + 0.1 * raw, second + 0.2 * raw), folding, "while blocks are folded");
    }
}

/// Bursts with pauses: in a pause the blocks of the cache are folded, so that each burst goes there. Without time they are folded at the
/// mark.
#[test]
fn the_cache_is_empty_again_after_a_pause() {
    let config = |executor, idle_for| {
        let mut config = fill_of(Cell::Tlc, 1.0, 0.6);
        set_cache(&mut config, ("static", "direct", "idle"), 40);
        config.device.user_capacity = 8000 * 8192;
        config.workload.source = Source::Generator(generator("sequential", 8192, 0.0, 8000 * 8192));
        choose(&mut config.ftl, "gc_schedule", "background", &[]);
        let Source::Generator(generator) = &mut config.workload.source else { unreachable!("a generator") };
        // As many pages as the fixed blocks take.
        (generator.idle_every, generator.idle_for) = (40 * 24 / 3 - 8, Duration(idle_for));
        (generator.interval, config.host.replay) = (Duration(1_000_000), config::model::Replay::Open);
        config.run.executor = executor;
        config
    };
    let rested = run(&config(Executor::Timed, 2_000_000_000));
    assert_eq!(cached(&rested, "bypassed_pages"), 0.0);
    assert!(cached(&rested, "folded_pages") > 0.8 * cached(&rested, "written_pages"));
    assert!(figure(&rested, "flash.by_cause.fold.programs") >= cached(&rested, "folded_pages"));
    let restless = run(&config(Executor::Timed, 0));
    assert!(cached(&restless, "bypassed_pages") > cached(&restless, "written_pages"));
    let mut timeless = config(Executor::Count, 2_000_000_000);
    choose(&mut timeless.ftl, "gc_schedule", "threshold", &[]);
    let timeless = run(&timeless);
    assert_eq!(cached(&timeless, "bypassed_pages"), 0.0);
    assert!(cached(&timeless, "folded_pages") > 0.5 * cached(&timeless, "written_pages"));
}

fn random(seed: u64) -> Config {
    let mut config = random_config(seed);
    if config.device.cell == Cell::Slc {
        config.device.cell = Cell::Mlc;
        config.device.pages_per_block *= 2;
        let timing = &mut config.device.timing;
        (timing.read, timing.program) = (vec![timing.read[0]; 2], vec![timing.program[0]; 2]);
    }
    let protection = config.ftl.get("paired_page").name;
    if ftl::paired::keeps_track(protection) {
        choose(&mut config.ftl, "paired_page", "none", &[]);
    }
    if config.ftl.get("mapping").name == "fast" {
        choose(&mut config.ftl, "mapping", "page", &[]);
    }
    choose(&mut config.ftl, "read_disturb", "ignore", &[]);
    config.device.wear.read_limit = None;
    config.device.blocks_per_plane += 10;
    set_cache(&mut config, CACHES[seed as usize % CACHES.len()], 1 + seed as u32 % 3);
    if seed.is_multiple_of(2) {
        equip(&mut config.device, "slc_mode", "on", &[("program", ParamValue::Time(Duration(150_000)))]);
    }
    if seed.is_multiple_of(3)
        && config.ftl.get("mapping").name == "page"
        && config.ftl.get("migration").name == "off-chip"
        && config.in_step().parts() == 1
        && config.device.planes_per_die < 4
    {
        config.device.page_size = 8192;
        choose(&mut config.ftl, "map_unit", "2KiB", &[]);
    }
    fill(&mut config);
    config
}

/// Pages carry stamps, so every read is checked, and all data at the end.
#[test]
fn random_devices_with_a_cache_lose_nothing() {
    let (mut written, mut folded, mut bypassed) = (0.0, 0.0, 0.0);
    for seed in 0..share_of(LIVES) {
        for executor in [Executor::Count, Executor::Timed] {
            let mut config = random(seed + 5_100_000);
            execute(&mut config, executor);
            if let Err(refusal) = device::check(&config) {
                panic!("case {seed} {executor:?}: {refusal}");
            }
            let summary = run(&config);
            written += cached(&summary, "written_pages");
            folded += cached(&summary, "folded_pages");
            bypassed += cached(&summary, "bypassed_pages");
        }
    }
    assert!(written > 5000.0 && folded > 1000.0 && bypassed > 1000.0, "{written} {folded} {bypassed}");
}

/// Flash pages of the cache are programmed one by one, where wordlines elsewhere are programmed as a whole: a FLUSH finds them in the array.
#[test]
fn a_flush_without_time_finds_what_went_to_the_cache() {
    for programming in ["one-shot", "two-pass"] {
        let mut config = plain(1, 1, 1, 1, 40, 24);
        set_cells(&mut config.device, Cell::Tlc, [50, 700]);
        config.device.user_capacity = 3 << 20;
        equip(&mut config.device, "programming", programming, &[]);
        set_cache(&mut config, ("static", "direct", "need"), 2);
        let params: &[_] = &[
            ("size", ParamValue::Size(4 * 8192)),
            ("flush", ParamValue::Word("free")),
            ("power_loss", ParamValue::Word("volatile")),
        ];
        choose(&mut config.ftl, "write_buffer", "fifo", params);
        config.run.executor = Executor::Count;
        (config.run.payload, config.run.checks) = (Payload::Stamp, Checks::Full);
        let pages = 2 * 8 + 4;
        let rows: Vec<_> = (0..pages)
            .flat_map(|page| [(page * 2000, "Write", page * 8192, 8192), (page * 2000 + 1000, "Flush", 0, 0)])
            .collect();
        let summary = replay(&config, &rows);
        assert_eq!(cached(&summary, "written_pages"), 16.0, "{programming}");
        assert!(cached(&summary, "bypassed_pages") >= 4.0, "{programming}");
    }
}

/// A small device with a cache, for lives with faults.
fn small(
    cache: (&'static str, &'static str, &'static str),
    unit: &str,
    programming: &str,
    reclaim_unit: &str,
) -> Config {
    let mut config = plain(1, 1, 1, 2, 20, 12);
    set_cells(&mut config.device, Cell::Tlc, [50, 700]);
    config.device.page_size = 4096;
    config.device.user_capacity = 2 * 6 * 12 * 4096;
    equip(&mut config.device, "programming", programming, &[]);
    choose(&mut config.ftl, "map_unit", unit, &[]);
    choose(&mut config.ftl, "reclaim_unit", reclaim_unit, &[]);
    set_cache(&mut config, cache, 2);
    equip(&mut config.device, "slc_mode", "on", &[]);
    let most = device::largest_user_capacity(&config) / 10 * 9 / 4096 * 4096;
    config.device.user_capacity = config.device.user_capacity.min(most);
    let size = if unit == "page" { 4096 } else { 1024 };
    config.workload.source = Source::Generator(generator("zipf", size, 0.2, config.device.user_capacity));
    config.workload.end = End { requests: Some(500), ..End::default() };
    config.run.precondition = Precondition::None;
    config
}

#[test]
fn a_cache_survives_power_cuts_and_failed_programs() {
    let (mut runs, mut restarts) = (0, 0);
    for (number, cache) in CACHES.into_iter().enumerate() {
        let unit = ["page", "1KiB"][number % 2];
        for (programming, reclaim_unit) in
            [("page", "block"), ("one-shot", "block"), ("two-pass", "block"), ("page", "twin")]
        {
            let config = small(cache, unit, programming, reclaim_unit);
            device::check(&config).unwrap_or_else(|refusal| panic!("{cache:?} {unit} {programming}: {refusal}"));
            for trouble in [Trouble::PowerCut, Trouble::SecondCut] {
                let tally = try_everywhere(&config, trouble, 2, 97, &Interrupt::default()).unwrap();
                let name = format!("{cache:?} {unit} {programming} {reclaim_unit} {trouble:?}: {:?}", tally.first);
                // Pages of a wordline that go one by one put those below them at risk.
                assert!(tally.losing == 0 || programming == "page", "{name}");
                (runs, restarts) = (runs + tally.runs, restarts + tally.restarts);
            }
        }
    }
    assert!(runs > 1000 && restarts > 500, "{runs} lives, {restarts} restarts");
}
