//! Open loops: how many requests the device holds, and what of a tail is the wait for a place.

use metrics::deterministic;
use serde_json::json;

use super::split::{PROGRAM, READ, check_at, die};
use super::*;

/// So many requests, all at the beginning.
fn flood(reads: f64, requests: u64, depth: Option<u32>) -> Config {
    let mut config = filled(&plain(2, 2, 1, 2, 64, 64), 6000);
    config.host = Host::new(Replay::Open, depth);
    config.workload.source = Source::Generator(generator("uniform", 8192, reads, 4000 * 8192));
    config.workload.end = End { requests: Some(requests), ..End::default() };
    config
}

fn admission(summary: &Value) -> (u64, [f64; 2]) {
    let found = &summary["host"]["admission"];
    let kind = if summary["host"]["reads"] == 0 { "write_fraction" } else { "read_fraction" };
    let fraction = |at: &str| found[kind][at].as_f64().expect("a fraction");
    (found["outstanding_max"].as_u64().expect("a count"), [fraction("p99"), fraction("p999")])
}

#[test]
fn an_open_loop_takes_what_comes() {
    for reads in [0.0, 1.0] {
        assert_eq!(admission(&run(&flood(reads, 3000, None))), (3000, [0.0, 0.0]));
        let (most, [p99, p999]) = admission(&run(&flood(reads, 3000, Some(4))));
        assert!(most == 4 && p99 > 0.9 && p999 > 0.9, "{most} {p99} {p999}");
    }
}

#[test]
fn a_depth_that_is_never_reached_is_none() {
    for buffer in ["none", "fifo"] {
        let of = |depth| {
            let mut config = flood(0.5, 3000, depth);
            choose(&mut config.ftl, "write_buffer", buffer, &[]);
            (config.run.latency_parts, config.host.link) = (true, Some(3_500_000_017));
            let mut summary = deterministic(&run(&config));
            summary["config"] = json!(null);
            summary
        };
        assert_eq!(of(None), of(Some(3000)));
    }
}

/// Requests that do not fit wait with the workload, and are served in their turn.
#[test]
fn an_overloaded_device_holds_no_more_than_it_can() {
    const MOST: u64 = 1 << 18;
    let summary = run(&flood(1.0, MOST + 50_000, None));
    let (most, [p99, _]) = admission(&summary);
    assert_eq!((most, &summary["host"]["reads"]), (MOST, &json!(MOST + 50_000)));
    assert!(p99 > 0.05, "{p99}");
    // Counted by pages where requests have many.
    let mut config = flood(1.0, 10_000, None);
    config.workload.source = Source::Generator(generator("uniform", 64 * 8192, 1.0, 4000 * 8192));
    assert_eq!(admission(&run(&config)).0, MOST / 64);
}

#[test]
fn what_a_request_waits_for_a_place_is_a_part() {
    let rows = [(0, "Read", 0, 8192), (0, "Read", 8192, 8192), (0, "Write", 20 * 8192, 8192)];
    let first: &[_] = &[("service", READ)];
    let second: &[_] = &[("admission", READ), ("service", READ)];
    let third: &[_] = &[("admission", 2 * READ), ("service", PROGRAM)];
    check_at(&die(12), Some(1), &rows, &[first, second, third]);
    let second: &[_] = &[("host_read", READ), ("service", READ)];
    let third: &[_] = &[("host_read", 2 * READ), ("service", PROGRAM)];
    check_at(&die(12), None, &rows, &[first, second, third]);
}

#[test]
fn a_closed_loop_has_no_admission() {
    let mut config = flood(1.0, 1000, Some(4));
    config.host.replay = Replay::Closed;
    assert_eq!(run(&config)["host"]["admission"], json!(null));
}
