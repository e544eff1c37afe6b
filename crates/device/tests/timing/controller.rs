//! Time of the controller for each command of the host, to the nanosecond.

use base::ParamValue;
use metrics::deterministic;
use serde_json::json;

use super::split::{BUS, PROGRAM, READ, check, die};
use super::*;

const TIME: u64 = 8_123;
const INTERVAL: u64 = 1_007;

fn timed(pages: u64) -> Config {
    let mut config = die(pages);
    (config.host.command_time, config.host.command_interval) = (Duration(TIME), Duration(INTERVAL));
    config
}

/// The closed form: command, array, transfer, ECC, link.
#[test]
fn an_idle_request_takes_the_command_and_what_it_took_without() {
    let mut config = timed(12);
    config.device.timing.ecc_latency = Duration(3_001);
    config.host.link = Some(3_500_000_017);
    let link = 2_341;
    let read = [("controller", TIME), ("service", READ), ("correction", 3_001), ("link", link)];
    check(&config, &[(0, "Read", 0, 8192)], &[&read]);
    check(&config, &[(0, "Write", 0, 8192)], &[&[("controller", TIME), ("link", link), ("service", PROGRAM)]]);
    // What was never written has its command all the same.
    check(&config, &[(0, "Read", 40 * 8192, 8192)], &[&[("controller", TIME), ("link", link)]]);
}

/// The map units of a read leave their die as one transfer. The controller corrects one while the next one comes, and all are there when
/// the last of them is correct.
#[test]
fn the_units_of_a_read_leave_as_one_transfer() {
    const UNIT: u64 = 2048;
    let out = BUS / 4;
    for correction in [3_000, 17_000] {
        let mut config = plain(1, 1, 1, 1, 16, 12);
        choose(&mut config.ftl, "map_unit", "2KiB", &[]);
        config.device.timing.ecc_bandwidth = Some(UNIT * 1_000_000_000 / correction);
        config.device.timing.ecc_latency = Duration(5_000);
        let config = filled(&config, 24);
        let takes = (UNIT * 1_000_000_000).div_ceil(config.device.timing.ecc_bandwidth.expect("a rate"));
        // Of the corrections, as much as is left when the last unit has come.
        let rest = |units: u64| takes.max((units * takes).saturating_sub((units - 1) * out)) + 5_000;
        let parts = |units| [("service", READ - BUS + units * out), ("correction", rest(units))];
        check(&config, &[(0, "Read", UNIT, UNIT)], &[&parts(1)]);
        check(&config, &[(0, "Read", 0, 4 * UNIT)], &[&parts(4)]);
        // Two requests for one flash page, at one time, are one command.
        check(&config, &[(0, "Read", 0, UNIT), (0, "Read", 2 * UNIT, UNIT)], &[&parts(2), &parts(2)]);
        // Who watches changes nothing.
        let alone = ns(&crate::common::replay(&config, &[(0, "Read", 0, 4 * UNIT)]), "host.read_latency_us.max");
        assert_eq!(alone, parts(4).iter().map(|(_, ns)| ns).sum::<u64>());
    }
}

#[test]
fn a_buffered_write_takes_its_command_and_its_data() {
    for (link, bytes) in [(None, 0), (Some(3_500_000_017), 2_341)] {
        let mut config = timed(12);
        config.host.link = link;
        choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(8 * 8192))]);
        let mut parts = vec![("controller", TIME)];
        parts.extend((bytes > 0).then_some(("link", bytes)));
        check(&config, &[(0, "Write", 0, 8192)], &[&parts]);
        // A FLUSH and a trim are commands too, and keep their places behind the write.
        let rows = [(0, "Write", 20 * 8192, 8192), (0, "Flush", 0, 0), (1_000_000_000, "Trim", 0, 8192)];
        let found = replay(&config, &rows);
        // The FLUSH makes the page leave.
        assert_eq!(ns(&found, "host.flush_latency_us.max"), TIME + bytes.max(INTERVAL) + PROGRAM);
        assert_eq!(ns(&found, "host.trim_latency_us.max"), TIME);
    }
}

/// Commands are under way at the same time, and begin an interval apart.
#[test]
fn commands_follow_each_other_faster_than_they_take() {
    let rows = [
        (0, "Read", 40 * 8192, 512),
        (0, "Read", 41 * 8192, 512),
        (100, "Read", 42 * 8192, 512),
        (90_000, "Read", 40 * 8192, 512),
    ];
    let third = TIME + 2 * INTERVAL - 100;
    let of = |ns| [("controller", ns)];
    check(&timed(12), &rows, &[&of(TIME), &of(TIME + INTERVAL), &of(third), &of(TIME)]);
}

#[test]
fn the_interval_is_the_most_commands_a_second() {
    for buffer in ["none", "fifo"] {
        let mut config = filled(&plain(4, 2, 1, 1, 64, 64), 4 * 2 * 40 * 64);
        choose(&mut config.ftl, "write_buffer", buffer, &[]);
        config.host.queue_depth = Some(64);
        (config.host.command_time, config.host.command_interval) = (Duration(TIME), Duration(250_000));
        config.workload.source = Source::Generator(generator("uniform", 512, 1.0, config.device.user_capacity));
        config.workload.end = End { requests: Some(4_000), ..End::default() };
        let found = figure(&run(&config), "host.iops");
        assert!((found / 4_000.0 - 1.0).abs() < 0.01, "{found} IOPS");
    }
    // With neither there is nothing to wait for.
    let (mut with, mut without) = (timed(12), die(12));
    (with.host.command_time, with.host.command_interval) = (Duration::ZERO, Duration::ZERO);
    for config in [&mut with, &mut without] {
        config.workload.source = Source::Generator(generator("uniform", 8192, 0.5, config.device.user_capacity));
        config.workload.end = End { requests: Some(500), ..End::default() };
    }
    assert_eq!(run(&with)["host"], run(&without)["host"]);
}

/// A read that comes behind a write finds what was written; a trim waits outside for the write before it (F).
#[test]
fn commands_keep_their_order() {
    let mut config = timed(0);
    config.run.payload = Payload::Stamp;
    for allocation in ["CWDP", "F"] {
        choose(&mut config.ftl, "allocation", allocation, &[]);
        let rows = [
            (0, "Write", 0, 8192),
            (0, "Trim", 0, 8192),
            (0, "Write", 8192, 8192),
            (100, "Flush", 0, 0),
            (10_000_000, "Read", 0, 2 * 8192),
        ];
        let found = replay(&config, &rows);
        assert_eq!(found["host"]["unmapped_reads"], json!(1), "{allocation}");
        assert!(ns(&found, "host.trim_latency_us.max") >= TIME, "{allocation}");
        assert!(ns(&found, "host.flush_latency_us.max") > BUS, "{allocation}");
    }
}

#[test]
fn without_time_commands_take_none() {
    let mut config = timed(12);
    config.run.executor = Executor::Count;
    config.workload.source = Source::Generator(generator("uniform", 8192, 0.5, config.device.user_capacity));
    config.workload.end = End { requests: Some(500), ..End::default() };
    let without = Config { host: Host::new(Replay::Closed, Some(1)), ..config.clone() };
    let [mut with, mut without] = [run(&config), run(&without)].map(|summary| deterministic(&summary));
    for key in ["config", "promises"] {
        (with[key], without[key]) = (json!(null), json!(null));
    }
    assert_eq!(with, without);
}
