//! Hybrid mapping as a user runs it: figures that follow from the rules, under both executors, and refusals.

use crate::common::*;
use base::ParamValue;
use config::Config;
use config::model::*;
use device::{Options, RunError};
use files::Interrupt;

/// Four channels of one plane: 40 logical blocks, 8 log blocks and 2 free blocks each, of 32 pages.
fn hybrid(params: &[(&str, ParamValue)]) -> Config {
    let mut config = plain(4, 1, 1, 1, 50, 32);
    config.device.user_capacity = 4 * 40 * 32 * u64::from(config.device.page_size);
    choose(&mut config.ftl, "mapping", "fast", params);
    choose(&mut config.ftl, "victim", "fifo", &[]);
    config.host.queue_depth = Some(16);
    config
}

/// A figure of the mapping.
fn fast(summary: &serde_json::Value, name: &str) -> f64 {
    let value = &summary["policy"]["mapping"][name];
    value.as_f64().unwrap_or_else(|| panic!("{name} is {value}"))
}

fn under_both(mut config: Config, check: impl Fn(&serde_json::Value)) {
    for executor in [Executor::Count, Executor::Timed] {
        config.run.executor = executor;
        check(&run(&config));
    }
}

fn write(config: &mut Config, pattern: &str, capacities: u64) {
    let (capacity, page) = (config.device.user_capacity, u64::from(config.device.page_size));
    config.workload.source = Source::Generator(generator(pattern, page, 0.0, capacity));
    config.workload.end = End { volume: Some(capacities * capacity), ..End::default() };
    config.run.precondition = Precondition::Sequential { volume: capacity };
}

#[test]
fn sequential_overwrites_move_nothing() {
    let mut config = hybrid(&[]);
    write(&mut config, "sequential", 3);
    under_both(config, |summary| {
        assert_eq!(figure(summary, "waf_units"), 1.0);
        assert_eq!(fast(summary, "switch_merges"), 3.0 * 160.0);
        assert_eq!(fast(summary, "full_merges"), 0.0);
        assert_eq!(figure(summary, "gc.invocations"), 3.0 * 160.0);
        assert_eq!(figure(summary, "flash.block_erases"), 3.0 * 160.0);
    });
}

/// 40 logical blocks of 32 pages and 5.5 log blocks until a page is merged: by the closed form of `ftl/tests/fast.rs`
/// 5.3 copies a write, and one more by partial merges. The log is empty at first, so somewhat fewer.
#[test]
fn random_overwrites_merge_in_full() {
    let mut config = hybrid(&[]);
    write(&mut config, "uniform", 4);
    under_both(config, |summary| {
        let (waf, full) = (figure(summary, "waf_units"), fast(summary, "full_merges"));
        assert!((0.9..1.0).contains(&(waf / 7.25)), "{waf}");
        assert!((5.0..9.0).contains(&fast(summary, "blocks_per_full_merge")), "{summary}");
        let merges = full + fast(summary, "partial_merges") + fast(summary, "switch_merges");
        assert_eq!(figure(summary, "gc.invocations"), merges, "a merge is a collection, however many blocks it erases");
    });
}

/// A log that is a parameter: the larger, the fewer copies.
#[test]
fn more_log_blocks_less_write_amplification() {
    let waf = |log: u32| {
        let mut config = hybrid(&[("log_blocks", log.into())]);
        write(&mut config, "uniform", 2);
        config.run.executor = Executor::Count;
        let summary = run(&config);
        assert_eq!(fast(&summary, "log_blocks"), f64::from(if log == 0 { 8 } else { log }));
        figure(&summary, "waf_units")
    };
    let [two, four, eight, all] = [2, 4, 8, 0].map(waf);
    assert!(two > four && four > eight && eight == all, "{two} {four} {eight} {all}");
}

/// Without the pages of other log blocks a merge serves hardly more than one page of the log: by the closed form of
/// `ftl/tests/fast.rs` 19.5 logical blocks a full merge, and as many pages copied or padded per write. The log is empty at
/// first, so somewhat fewer.
#[test]
fn merges_that_leave_other_log_blocks_alone_cost_more() {
    let mut config = hybrid(&[("start", "if-spare".into()), ("gather", "victim".into())]);
    write(&mut config, "uniform", 4);
    under_both(config, |summary| {
        let waf = figure(summary, "waf_units");
        assert!((0.9..1.0).contains(&(waf / 20.5)), "{waf}");
        let blocks = fast(summary, "blocks_per_full_merge");
        assert!((0.95..1.05).contains(&(blocks / 19.5)), "{blocks}");
        assert!(fast(summary, "padded_pages") > 0.0);
    });
}

/// Refused for the reason that the text names.
#[track_caller]
fn assert_refused(config: &Config, key: &str, expected: &str) {
    let refusal = device::check(config).expect_err(expected);
    assert_eq!(refusal.key, key);
    assert!(refusal.message.contains(expected), "{refusal:?}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert!(device::check(&hybrid(&[])).is_ok());
    for (seam, choice, expected) in [
        ("allocation", "F", "a formula of the LPN has to name"),
        ("victim", "greedy", "recycles the oldest log block"),
        ("separation", "host-gc", "separates by itself"),
        ("wear_leveling", "static", "by merges only"),
    ] {
        let mut config = hybrid(&[]);
        choose(&mut config.ftl, seam, choice, &[]);
        assert_refused(&config, "ftl.mapping", expected);
    }
    assert_refused(&hybrid(&[("log_blocks", 1.into())]), "ftl.mapping", "1 log block in each plane is too few");
    for broken in ["merge", "waste"] {
        let config = hybrid(&[("start", "bounded".into()), ("broken", broken.into())]);
        assert_refused(&config, "ftl.mapping", &format!("and `broken = \"{broken}\"` leaves none"));
    }
    assert!(device::check(&hybrid(&[("start", "bounded".into()), ("broken", "fill".into())])).is_ok());
    assert_refused(&hybrid(&[("log_blocks", 9.into())]), "ftl.mapping", "there is room for 8");
    let mut config = hybrid(&[]);
    config.run.precondition = Precondition::State { path: "some.state".into() };
    assert_refused(&config, "ftl.mapping", "a device state does not hold");
    let mut config = hybrid(&[]);
    config.device.user_capacity = 4 * 47 * 32 * u64::from(config.device.page_size);
    assert_refused(&config, "device.user_capacity", "too little spare space");
    let help = device::check(&config).expect_err("refused").help;
    assert!(help.contains("with 2 blocks held free and 2 log blocks in each plane of 50"), "{help}");
    config.device.user_capacity = 4 * 46 * 32 * u64::from(config.device.page_size);
    assert!(device::check(&config).is_ok(), "two log blocks and two free ones are enough");
}

#[test]
fn no_state_is_saved() {
    let path = temporary("state");
    let mut options = Options { save_state: Some(path.clone()), ..Options::default() };
    let error = device::simulate(&hybrid(&[]), &mut options).expect_err("refused");
    assert!(
        matches!(error, RunError::Input(_)) && error.to_string().contains("a device state does not hold"),
        "{error}"
    );
    assert!(!path.exists());
}

#[test]
fn faults_are_refused() {
    let trouble = rig::survival::Trouble::PowerCut;
    let error = rig::survival::try_everywhere(&hybrid(&[]), trouble, 1, 1, &Interrupt::default()).expect_err("refused");
    assert!(matches!(&error, RunError::Input(text) if text.contains("hybrid mapping is neither repaired")), "{error}");
}
