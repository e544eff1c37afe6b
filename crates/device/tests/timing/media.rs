//! Pages that are read again until they can be corrected, to the nanosecond.

use base::{Duration, Multiplane, ParamValue};
use config::Config;
use serde_json::Value;

use super::split::{ARRAY, BUS, READ, check, die, replayed};
use super::{filled, page};
use crate::common::*;

/// Steps that make the levels of data of 30 days good: ln 31 ÷ 0.5, to the nearest.
const STEPS: u64 = 7;

/// All pages are alike, and only the nearest step is good enough: data of 30 days are read eight times.
fn age(config: &mut Config, params: &[(&str, ParamValue)]) {
    let mut all: Vec<(&str, ParamValue)> = vec![
        ("noise", false.into()),
        ("blocks", 0.0.into()),
        ("layers", 0.0.into()),
        ("wear", 0.0.into()),
        ("floor", 0.0.into()),
        // What is off by more than a quarter of the logarithm of the age has too many errors.
        ("retention", (4.0 * 72.0 / 8192.0).into()),
        ("levels", "default".into()),
    ];
    all.extend(params);
    equip(&mut config.device, "media", "formula", &all);
}

fn aged(mut config: Config, params: &[(&str, ParamValue)]) -> Config {
    age(&mut config, params);
    config
}

fn run(config: &Config) -> Value {
    device::simulate(config, &mut device::Options::default()).expect("a run").summary
}

#[test]
fn each_retry_takes_a_read_a_transfer_and_a_correction() {
    let rows = [(0, "Read", 0, 8192)];
    check(&aged(die(12), &[]), &rows, &[&[("service", READ), ("retry", STEPS * READ)]]);
    let mut corrected = aged(die(12), &[]);
    corrected.device.timing.ecc_latency = Duration(3_001);
    let (all, retries) = (READ, STEPS * (READ + 3_001));
    check(&corrected, &rows, &[&[("service", all), ("retry", retries), ("correction", 3_001)]]);
    let mut commanded = corrected.clone();
    commanded.device.timing.command_overhead = Duration(300);
    let retries = STEPS * (READ + 3_001 + 300);
    check(&commanded, &rows, &[&[("service", READ + 300), ("retry", retries), ("correction", 3_001)]]);
}

#[test]
fn others_wait_for_retries_too() {
    let rows = [(0, "Read", 0, 8192), (1000, "Read", 8192, 8192)];
    let first: &[_] = &[("service", READ), ("retry", STEPS * READ)];
    let again: &[_] = &[("host_read", READ - 1000), ("retry", 2 * STEPS * READ), ("service", READ)];
    check(&aged(die(12), &[]), &rows, &[first, again]);
    // The step that was good for the block is remembered.
    let once: &[_] = &[("host_read", READ - 1000), ("retry", STEPS * READ), ("service", READ)];
    check(&aged(die(12), &[("levels", "last-good".into())]), &rows, &[first, once]);
    check(&aged(die(12), &[("levels", "matched".into())]), &[rows[0]], &[&[("service", READ)]]);
}

#[test]
fn data_of_the_run_are_fresh() {
    let rows = [(0, "Write", 20 * 8192, 8192), (10_000_000, "Read", 20 * 8192, 8192)];
    let program = BUS + 1_600_000;
    check(&aged(die(12), &[]), &rows, &[&[("service", program)], &[("service", READ)]]);
    // And age while it lasts: after 24 hours less than a tick of time, by ln 2, which the first step makes good.
    let day = 86_400_000_000_000;
    let rows = [(0, "Write", 20 * 8192, 8192), (day, "Read", 20 * 8192, 8192)];
    check(&aged(die(12), &[]), &rows, &[&[("service", program)], &[("service", READ), ("retry", READ)]]);
}

/// The pages of a command that fail are read again with one command.
#[test]
fn planes_are_read_again_together() {
    let mut config = filled(&plain(1, 1, 1, 2, 16, 12), 12);
    config.device.multiplane = Multiplane::Pac;
    age(&mut config, &[]);
    let round = ARRAY + 2 * BUS;
    // Of a request, the page that is done last tells.
    check(&config, &[(0, "Read", 0, 2 * 8192)], &[&[("service", round), ("retry", STEPS * round)]]);
}

/// A read that follows in cache mode has the registers, and is read again in its turn: the two do not fit one command.
#[test]
fn a_read_that_follows_goes_first_and_is_read_again_by_itself() {
    let mut config = aged(filled(&plain(1, 1, 1, 2, 16, 12), 24), &[]);
    equip(&mut config.device, "cache_read", "on", &[]);
    // On two planes, at different offsets.
    let parts = replayed(&config, Some(64), &[(0, "Read", 0, 8192), (1000, "Read", 3 * 8192, 8192)]);
    let retries: Vec<u64> = parts.iter().map(|parts| parts["retry"]).collect();
    assert_eq!(retries, [STEPS * READ, 2 * STEPS * READ], "{parts:?}");
    assert!(parts[0]["host_read"] > 0, "{parts:?}");
}

#[test]
fn retries_are_counted_and_take_the_channel() {
    let mut config = plain(1, 2, 1, 1, 16, 12);
    config = filled(&config, config.device.user_capacity / page(&config));
    let without = run(&config);
    age(&mut config, &[]);
    let with = run(&config);
    let figure = |summary: &Value, of: &str| summary.pointer(of).and_then(Value::as_f64).expect("a figure");
    let (pages, reads) = (figure(&with, "/flash/retried/pages"), figure(&with, "/flash/by_cause/retry/reads"));
    assert!(pages > 0.0 && reads == pages * STEPS as f64, "{pages} pages, {reads} reads");
    for of in ["/flash/retried/pages", "/flash/by_cause/retry/reads"] {
        assert_eq!(figure(&without, of), 0.0);
    }
    assert_eq!(with["waf"], without["waf"], "where data go does not change");
    let busy =
        |summary: &Value| figure(summary, "/utilisation/channel/transfer") * figure(summary, "/host/simulated_s");
    let (more, expected) = ((busy(&with) - busy(&without)) * 1e9, reads * BUS as f64);
    assert!((more / expected - 1.0).abs() < 0.01, "{more} ns, not {expected}");
}

#[test]
fn what_no_voltage_corrects_is_decoded_softly_and_then_given_up() {
    let far = |gain: f64| aged(die(12), &[("steps", 2.into()), ("soft_gain", gain.into())]);
    // Two steps and four soft reads.
    check(&far(10.0), &[(0, "Read", 0, 8192)], &[&[("service", READ), ("retry", 6 * READ)]]);
    for (gain, lost) in [(10.0, 0), (9.0, 1)] {
        let mut config = far(gain);
        config.workload.source = config::model::Source::Trace { path: String::new() };
        let trace = TraceFile::new(&[(0, "Read", 0, 8192)]);
        config.workload.source = trace.source();
        config.workload.end = config::model::End { rounds: Some(1), ..Default::default() };
        let retried = run(&config)["flash"]["retried"].clone();
        assert_eq!(
            (&retried["pages"], &retried["soft"], &retried["uncorrectable"]),
            (&1.into(), &1.into(), &lost.into())
        );
    }
}

/// A device of which no page that it was filled with can be corrected.
fn hopeless(units: &str) -> Config {
    let mut config = plain(1, 1, 1, 1, 24, 12);
    choose(&mut config.ftl, "map_unit", units, &[]);
    config.device.user_capacity = 16 * 12 * 8192;
    config = filled(&config, 16 * 12);
    age(&mut config, &[("steps", 1.into()), ("soft_gain", 1.0.into())]);
    config.run.payload = config::model::Payload::Stamp;
    config
}

fn figure(summary: &Value, of: &str) -> f64 {
    summary.pointer(of).and_then(Value::as_f64).unwrap_or_else(|| panic!("{of} in {summary}"))
}

fn of_trace(config: &Config, rows: &[(u64, &str, u64, u64)]) -> Value {
    let mut config = config.clone();
    let trace = TraceFile::new(rows);
    config.workload.source = trace.source();
    config.workload.end = config::model::End { rounds: Some(1), ..Default::default() };
    run(&config)
}

#[test]
fn what_cannot_be_corrected_is_an_error_once_for_each_unit_of_a_request() {
    for (units, size) in [("page", 8192), ("4KiB", 4096), ("1KiB", 1024)] {
        let config = hopeless(units);
        let failed = |rows: &[(u64, &str, u64, u64)]| figure(&of_trace(&config, rows), "/host/failed_reads");
        assert_eq!(failed(&[(0, "Read", 0, size)]), 1.0, "{units}");
        assert_eq!(failed(&[(0, "Read", 5 * size, 3 * size), (9_000_000, "Read", 5 * size, size)]), 4.0, "{units}");
        // What the run writes can be read, and a part of a page needs the rest of it.
        assert_eq!(failed(&[(0, "Write", 0, 8192), (9_000_000, "Read", 0, 8192)]), 0.0, "{units}");
        assert_eq!(failed(&[(0, "Write", 0, 512), (99_000_000, "Read", 0, size)]), 1.0, "{units}");
    }
}

/// Collections lose what they cannot correct. Each page of the host is written by the run, or lost, or where it was; in no case are other
/// data read.
#[test]
fn what_a_collection_cannot_correct_is_lost_and_the_host_is_told() {
    for mapping in ["page", "dftl", "fast"] {
        for units in ["page", "4KiB"] {
            let mut config = hopeless(units);
            if mapping == "fast" {
                if units != "page" {
                    continue;
                }
                choose(&mut config.ftl, "mapping", "fast", &[]);
                choose(&mut config.ftl, "victim", "fifo", &[]);
            }
            if mapping == "dftl" {
                config.device.blocks_per_plane += 2;
                choose(&mut config.ftl, "mapping", "dftl", &[("cache", ParamValue::Size(8 * 100))]);
            }
            let all = 16 * 12;
            // Every other page is written again, many times over.
            let mut rows: Vec<_> =
                (0..600u64).map(|at| (at * 20_000_000, "Write", at * 14 % all * 8192, 8192)).collect();
            let whole = of_trace(&config, &rows);
            let lost = figure(&whole, "/flash/retried/lost");
            assert!(lost > 10.0, "{mapping} {units}: {lost} lost");
            assert_eq!(figure(&whole, "/host/failed_reads"), 0.0);
            rows.extend((0..all).map(|at| (20_000_000_000 + at * 20_000_000, "Read", at * 8192, 8192)));
            let read = of_trace(&config, &rows);
            assert_eq!(figure(&read, "/flash/retried/lost"), lost, "the same run");
            // The other pages were written but once, before the run.
            let parts = if units == "page" { 1.0 } else { 2.0 };
            assert_eq!(figure(&read, "/host/failed_reads"), 96.0 * parts, "{mapping} {units}");
            assert_eq!(figure(&read, "/host/unmapped_reads"), 0.0);
        }
    }
}

#[test]
fn superpages_are_refused() {
    let mut config = plain(2, 1, 1, 1, 16, 12);
    config.device.multiplane = Multiplane::Pac;
    choose(&mut config.ftl, "reclaim_unit", "superblock", &[]);
    age(&mut config, &[]);
    let refusal = device::check(&config).expect_err("pages in step").to_string();
    assert!(refusal.contains("`device.media`") && refusal.contains("in step"), "{refusal}");
}
