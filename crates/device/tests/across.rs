//! Reclaim units across dies: blocks of all dies are chosen together, and what that costs follows from their size.

use crate::common::*;
use config::Config;
use config::model::{Checks, End, Executor, Precondition, Source};
use files::Interrupt;
use rig::survival::{Trouble, try_everywhere};
use serde_json::Value;

const PAGE: u64 = 8192;

fn across(mut config: Config) -> Config {
    choose(&mut config.ftl, "reclaim_across", "dies", &[]);
    config
}

/// Random writes of single pages to a full device.
fn random_writes(mut config: Config) -> Config {
    let capacity = config.device.user_capacity;
    config.workload.source = Source::Generator(generator("uniform", PAGE, 0.0, capacity));
    config.workload.end = End { volume: Some(4 * capacity), ..End::default() };
    config.run.precondition = Precondition::Random { volume: 4 * capacity };
    config
}

/// A summary but for the figures that only units across dies have, and what went into it.
fn figures_of(config: &Config) -> Value {
    let mut summary = run(config);
    for key in ["config", "run", "policy"] {
        summary[key].take();
    }
    summary
}

/// A plane by itself chooses as it does without: the units across dies are its blocks. But for `random`, which may choose a block without
/// an invalid page: by that nobody gains.
#[test]
fn units_across_one_plane_are_its_blocks() {
    for executor in [Executor::Count, Executor::Timed] {
        for victim in names("victim", &["random"]) {
            let mut config = random_writes(plain(1, 1, 1, 1, 64, 32));
            config.run.executor = executor;
            // A whole number of pages, for a part of one more or less is another time.
            let settle = [("settle", 0.0625.into())];
            choose(&mut config.ftl, "victim", victim, if victim == "stable-greedy" { &settle } else { &[] });
            assert_eq!(figures_of(&config), figures_of(&across(config)), "{executor:?}: {victim}");
        }
    }
}

/// Blocks of n planes together cost what blocks of n times the pages cost in one plane, where writes are spread evenly.
#[test]
fn units_across_planes_cost_what_blocks_of_their_size_do() {
    for victim in ["greedy", "fifo", "cost-benefit"] {
        let waf = |mut config: Config| {
            config.run.executor = Executor::Count;
            choose(&mut config.ftl, "victim", victim, &[]);
            figure(&run(&random_writes(config)), "waf_units")
        };
        let small = || plain(4, 1, 1, 1, 64, 16);
        let (alone, together, large) = (waf(small()), waf(across(small())), waf(plain(1, 1, 1, 1, 64, 64)));
        assert!((together / large - 1.0).abs() < 0.03, "{victim}: {together} across planes, {large} of large blocks");
        if victim == "greedy" {
            assert!(together > 1.03 * alone, "{together} across planes, {alone} in each by itself");
        }
    }
}

/// Data that are overwritten in the order in which they were written die by units, across dies as in each.
#[test]
fn data_that_die_together_cost_nothing() {
    for executor in [Executor::Count, Executor::Timed] {
        let mut config = across(plain(2, 2, 1, 2, 32, 16));
        let capacity = config.device.user_capacity;
        config.run.executor = executor;
        config.workload.source = Source::Generator(generator("sequential", 4 * PAGE, 0.0, capacity));
        config.workload.end = End { volume: Some(5 * capacity), ..End::default() };
        config.run.precondition = Precondition::None;
        let summary = run(&config);
        assert_eq!(figure(&summary, "waf_units"), 1.0);
        let figure = |name| figure(&summary, &format!("policy.reclaim_across.{name}"));
        // Every group has a block on each of the eight planes, and none is left behind.
        assert!(figure("chosen") > 80.0 && figure("blocks_of_each") == 8.0, "{}", summary["policy"]);
        assert_eq!(figure("blocks_alone"), 0.0);
        assert!(figure("most_waiting") <= 2.0);
    }
}

/// One plane takes all writes: it still comes to room, and the others lose nothing by it.
#[test]
fn a_plane_that_takes_all_writes_comes_to_room() {
    for executor in [Executor::Count, Executor::Timed] {
        let mut config = across(plain(4, 1, 1, 1, 32, 16));
        config.run.executor = executor;
        let capacity = config.device.user_capacity;
        let first_plane: Vec<_> =
            (0..6000).map(|at| (at * 100, "Write", at * 7919 % (capacity / PAGE / 4) * 4 * PAGE, PAGE)).collect();
        let trace = TraceFile::new(&first_plane);
        choose(&mut config.ftl, "allocation", "CWDP", &[]);
        config.workload.source = trace.source();
        config.workload.end = End { rounds: Some(3), ..End::default() };
        config.run.precondition = Precondition::Sequential { volume: capacity };
        let summary = run(&config);
        assert!(figure(&summary, "gc.moved_pages") > 300.0, "{}", summary["gc"]);
        assert_eq!(figure(&summary, "host.writes"), 18_000.0);
    }
}

/// Dies do not fill their blocks in step, with time least of all, so some blocks have no partner on every die, and one die needs room
/// before another. That costs little beside what dies do that collect for themselves.
#[test]
fn dies_out_of_step_cost_little() {
    let waf = |executor, reclaim_across| {
        let mut config = random_writes(plain(4, 1, 1, 1, 256, 16));
        choose(&mut config.ftl, "reclaim_across", reclaim_across, &[]);
        config.run.executor = executor;
        config.device.user_capacity = config.device.user_capacity / 3 * 4 / 100 * 84 / PAGE * PAGE;
        choose(&mut config.ftl, "allocation", "F", &[]);
        choose(&mut config.ftl, "separation", "fdp", &[("handles", 2.into())]);
        choose(&mut config.ftl, "gc_schedule", "paced", &[]);
        config.workload.hint_parts = 2;
        let half = config.device.user_capacity / PAGE / 2;
        // Small objects at random places of the first half, and a log around the second: two pages of it for six of them.
        let object = |at: u64| (at * 100, "Write", (at * 7919 + at / half * 13) % half * PAGE, PAGE);
        let log = |at: u64| (at * 700, "Write", (half + at % (half / 2) * 2) * PAGE, 2 * PAGE);
        let cache: Vec<_> = (0..60_000).map(|at| if at % 7 == 0 { log(at / 7) } else { object(at) }).collect();
        let trace = TraceFile::new(&cache);
        config.workload.source = trace.source();
        config.workload.end = End { rounds: Some(2), ..End::default() };
        config.host.queue_depth = Some(32);
        // The whole-state check after each of very many collections is left to the other tests.
        config.run.checks = Checks::Fast;
        figure(&run(&config), "waf_units")
    };
    for executor in [Executor::Timed, Executor::Count] {
        let (alone, together) = (waf(executor, "none"), waf(executor, "dies"));
        assert!(together < 1.1 * alone, "{executor:?}: {together} across dies, {alone} in each by itself");
    }
}

/// Power cuts and failed programs at every operation lose nothing, and the units are found again.
#[test]
fn units_across_dies_survive_whatever_fails() {
    for (separation, victim) in [("none", "greedy"), ("host-gc", "cost-benefit")] {
        for trouble in [Trouble::PowerCut, Trouble::SecondCut, Trouble::ProgramFailure, Trouble::FailedRecovery] {
            let mut config = across(plain(2, 1, 1, 2, 16, 8));
            config.device.user_capacity = 200 * PAGE;
            choose(&mut config.ftl, "separation", separation, &[]);
            choose(&mut config.ftl, "victim", victim, &[]);
            config.run.executor = Executor::Count;
            config.run.precondition = Precondition::None;
            let tally = try_everywhere(&config, trouble, 2, 37, &Interrupt::default()).expect("lives");
            assert_eq!(tally.losing, 0, "{separation} {trouble:?}: {:?}", tally.first);
            assert!(tally.runs > 20, "{separation} {trouble:?}: {}", tally.runs);
        }
    }
}
