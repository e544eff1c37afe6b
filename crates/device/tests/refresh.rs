//! Refresh by age and errors: which blocks move, when, and what that saves.

use crate::common::*;
use base::{Duration, Multiplane, ParamValue};
use config::Config;
use config::model::*;
use serde_json::Value;

const DAY: u64 = 86_400_000_000_000;
/// Pages that the device was filled with, on 2 planes of blocks of 12 pages.
const FILLED: u64 = 16 * 12;

/// A device of 2 planes that was filled, with data of so many days. Only the nearest step of the retry table is good enough, and reads begin
/// with the default voltages: after a week that is the fourth one, after a month the seventh.
fn aged(days: u64) -> Config {
    let mut config = plain(1, 1, 1, 2, 20, 12);
    config.device.multiplane = Multiplane::Off;
    config.device.user_capacity = 20 * 12 * 8192;
    config.run.precondition = Precondition::Sequential { volume: FILLED * 8192 };
    let alike = [("blocks", 0.0.into()), ("layers", 0.0.into()), ("wear", 0.0.into()), ("floor", 0.0.into())];
    let mut params: Vec<(&str, ParamValue)> = alike.into();
    params.extend([
        ("noise", false.into()),
        ("retention", (4.0 * 72.0 / 8192.0).into()),
        ("levels", "default".into()),
        ("age", Duration(days * DAY).into()),
    ]);
    equip(&mut config.device, "media", "formula", &params);
    config
}

fn days(days: u64) -> ParamValue {
    Duration(days * DAY).into()
}

/// The figures of a run by a trace.
fn of_trace(config: &Config, rows: &[(u64, &str, u64, u64)]) -> Value {
    let mut config = config.clone();
    let trace = TraceFile::new(rows);
    config.workload.source = trace.source();
    config.workload.end = End { rounds: Some(1), ..Default::default() };
    config.host = Host::new(Replay::Open, Some(64));
    run(&config)
}

/// A read at the beginning, and so many days later a read of each page.
fn reads_after(days: u64) -> Vec<(u64, &'static str, u64, u64)> {
    let of_all = (0..FILLED).map(|page| (days * DAY + page * 100_000_000, "Read", page * 8192, 8192));
    [(0, "Read", 0, 8192)].into_iter().chain(of_all).collect()
}

#[test]
fn old_data_move_though_the_host_asks_for_nothing() {
    let rows = reads_after(12);
    let without = of_trace(&aged(20), &rows);
    assert_eq!(figure(&without, "flash.by_cause.refresh.programs"), 0.0);
    let mut config = aged(20);
    choose(&mut config.ftl, "refresh", "age", &[("age", days(30))]);
    let with = of_trace(&config, &rows);
    // All blocks that hold data are 30 days old after 10, and only two more days pass.
    assert_eq!(figure(&with, "policy.refresh.refreshes"), (FILLED / 12) as f64);
    assert_eq!(figure(&with, "flash.by_cause.refresh.programs"), FILLED as f64);
    assert_eq!(figure(&with, "flash.by_cause.refresh.erases"), (FILLED / 12) as f64);
    // After 32 days, the seventh step.
    let retries = |summary: &Value| figure(summary, "flash.by_cause.retry.reads");
    assert_eq!(retries(&without), (6 + FILLED * 7) as f64);
    // The refresh read data of 30 days once; what it moved is 0.3 to 1.9 days old, and takes one step or two.
    let of_moved = retries(&with) - (6 + FILLED * 7) as f64;
    assert!(of_moved > FILLED as f64 && of_moved < (FILLED * 2) as f64, "{of_moved}");
    assert_eq!(figure(&with, "host.reads"), figure(&without, "host.reads"));
    // In time: within a 128th of the age.
    let late = of_trace(&config, &reads_after(10));
    assert_eq!(figure(&late, "policy.refresh.refreshes"), 0.0, "30 days are not over");
    let soon = of_trace(&config, &[reads_after(10), vec![(11 * DAY, "Read", 0, 8192)]].concat());
    assert_eq!(figure(&soon, "policy.refresh.refreshes"), 4.0 * 2.0, "four looks, at each a block of each plane");
}

/// A block in which pages still come is closed, and its data move with the others.
#[test]
fn blocks_that_are_filled_age_too() {
    let mut config = aged(0);
    choose(&mut config.ftl, "refresh", "age", &[("age", days(5))]);
    // On one plane, so that the first of them is as old as the rest.
    let mut rows: Vec<_> = [0, 2].map(|page| (0, "Write", (FILLED + page) * 8192, 8192)).into();
    rows.push((6 * DAY, "Read", 0, 8192));
    let summary = of_trace(&config, &rows);
    assert_eq!(figure(&summary, "flash.by_cause.refresh.programs"), (FILLED + 2) as f64);
}

#[test]
fn a_patrol_reads_each_page_once_in_a_period() {
    let mut config = aged(0);
    // Nothing is due: data stay younger than that.
    choose(&mut config.ftl, "refresh", "patrol", &[("period", days(2)), ("retries", 3.into()), ("least_age", days(1))]);
    let rows = [(0, "Read", 0, 8192), (4 * DAY + 1_000_000_000, "Read", 0, 8192)];
    let read = |config: &Config| figure(&of_trace(config, &rows), "policy.refresh.patrol_reads");
    assert_eq!(read(&config), (2 * FILLED) as f64);
    choose(&mut config.ftl, "refresh", "patrol", &[("period", days(1)), ("retries", 63.into())]);
    assert_eq!(read(&config), (4 * FILLED) as f64);
    choose(&mut config.ftl, "refresh", "errors", &[]);
    assert_eq!(read(&config), 0.0);
}

#[test]
fn reads_that_need_many_retries_have_their_block_moved() {
    let mut config = aged(6);
    choose(&mut config.ftl, "refresh", "errors", &[("retries", 3.into())]);
    let row = |day: u64| (day * DAY, "Read", 0, 8192);
    // After 6 days the fourth step is the first that is good enough.
    let summary = of_trace(&config, &[row(0), (1_000_000_000, "Read", 8192, 8192)]);
    assert_eq!(figure(&summary, "policy.refresh.refreshes"), 2.0, "one on each plane");
    let far = of_trace(&config, &[row(0), row(1), row(2)]);
    assert_eq!(figure(&far, "policy.refresh.refreshes"), 1.0, "its data are new");
    choose(&mut config.ftl, "refresh", "errors", &[("retries", 4.into())]);
    assert_eq!(figure(&of_trace(&config, &[row(0)]), "policy.refresh.refreshes"), 0.0);
    choose(&mut config.ftl, "refresh", "errors", &[("retries", 3.into()), ("least_age", days(7))]);
    assert_eq!(figure(&of_trace(&config, &[row(0)]), "policy.refresh.refreshes"), 0.0);
}

/// Blocks that nobody reads are found by the patrol, each once its pages need more than three retries.
#[test]
fn a_patrol_finds_what_nobody_reads() {
    let mut config = aged(0);
    choose(&mut config.ftl, "refresh", "patrol", &[("period", days(1)), ("retries", 3.into())]);
    let summary = of_trace(&config, &reads_after(9));
    let blocks = (FILLED / 12) as f64;
    // They need it after 4.8 days, and once more 4.8 days after that, which is later.
    assert_eq!(figure(&summary, "policy.refresh.refreshes"), blocks);
    let retries = figure(&summary, "flash.retried.pages");
    assert!(retries > 0.0, "{retries}");
}

/// Where more is due than the device can do the host gets its turns, and the run ends when it has all.
#[test]
fn the_host_is_served_though_all_is_always_due() {
    let soon = || ParamValue::Time(Duration(1_000_000));
    let ways: [(&str, Vec<(&'static str, ParamValue)>); 3] = [
        ("age", vec![("age", soon())]),
        ("errors", vec![("retries", 0.into()), ("least_age", soon())]),
        ("patrol", vec![("period", soon()), ("retries", 0.into()), ("least_age", soon())]),
    ];
    for (name, params) in ways {
        let mut config = aged(6);
        choose(&mut config.ftl, "refresh", name, &params);
        let row = |of: u64| {
            (of * 1_000_000, if of.is_multiple_of(3) { "Read" } else { "Write" }, of * 7 % FILLED * 8192, 8192)
        };
        let rows: Vec<_> = (0..1000).map(row).collect();
        let summary = of_trace(&config, &rows);
        assert_eq!(figure(&summary, "host.reads") + figure(&summary, "host.writes"), 1000.0, "{name}");
        assert!(figure(&summary, "policy.refresh.refreshes") > 10.0, "{name}");
        let patrolled = figure(&summary, "policy.refresh.patrol_reads");
        assert_eq!(patrolled > 20.0, name == "patrol", "{patrolled}");
    }
}

#[test]
fn no_time_passes_without_an_executor_that_has_it() {
    let refusal = |change: &dyn Fn(&mut Config)| {
        let mut config = aged(0);
        choose(&mut config.ftl, "refresh", "patrol", &[]);
        change(&mut config);
        let refusal = device::check(&config).expect_err("refused");
        assert_eq!(refusal.key, "ftl.refresh");
        refusal.message
    };
    assert!(refusal(&|config| config.run.executor = Executor::Count).contains("no time passes"));
    let without = |config: &mut Config| equip(&mut config.device, "media", "none", &[]);
    assert!(refusal(&without).contains("every page is correct at once"));
    let disturbed = |config: &mut Config| {
        config.device.wear.read_limit = Some([1000, 4000]);
        choose(&mut config.ftl, "read_disturb", "refresh", &[]);
    };
    assert!(refusal(&disturbed).contains("leaves none for a patrol"));
    let hybrid = |config: &mut Config| {
        choose(&mut config.ftl, "mapping", "fast", &[]);
        choose(&mut config.ftl, "victim", "fifo", &[]);
    };
    assert!(refusal(&hybrid).contains("hybrid mapping"));
}
