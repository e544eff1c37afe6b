//! Write amplification where the host asks for little: pages leave the write buffer in whole rows, and rows are filled up for a FLUSH, FUA and
//! room alone.

use crate::common::*;
use base::{Cell, ParamValue, ProgramOrder};
use config::Config;
use config::model::{Checks, Executor, Payload, Replay};

/// A part of a preset: four dies of short blocks, and a buffer that merges next to no writes, as that of the whole drive does. The
/// preset's own would have a visible part of the data where it is full.
fn drive(name: &str, sets: &[String]) -> Config {
    let raw = 4 * preset(name, &[] as &[&str]).device.planes_per_die * 228 * 24 * 16 / 1024;
    let user = raw * 84 / 100;
    let power_loss = if name.starts_with("enterprise") { "protected" } else { "volatile" };
    let mut all: Vec<String> = ["channels=2", "chips_per_channel=2", "blocks_per_plane=228", "pages_per_block=24"]
        .map(|set| format!("device.{set}"))
        .into();
    all.extend([
        format!("device.user_capacity=\"{user}MiB\""),
        format!("device.over_provisioning={}", f64::from(raw) / f64::from(user) - 1.0),
        format!("workload.footprint=\"{user}MiB\""),
        format!("ftl.write_buffer.fifo={{ size = \"512KiB\", flush = \"free\", power_loss = \"{power_loss}\" }}"),
        "workload.volume=\"1000x\"".into(),
    ]);
    all.extend_from_slice(sets);
    preset(name, &all)
}

/// The WAF of so many requests, and the part of what was programmed that was dummies.
fn waf(config: &Config) -> (f64, f64) {
    let summary = run(config);
    let programs = figure(&summary, "flash.page_programs");
    (figure(&summary, "waf"), figure(&summary, "flash.by_cause.pad.programs") / programs)
}

#[test]
fn the_waf_of_a_drive_does_not_rise_where_the_host_asks_for_little() {
    for name in ["client-tlc-small", "enterprise-tlc-small"] {
        let closed = |depth: u32| {
            let sets = [format!("host.queue_depth={depth}"), "workload.read_fraction=0.5".into()];
            waf(&drive(name, &[&sets[..], &["workload.requests=60000".into()]].concat()))
        };
        let deep = closed(32);
        let mut all = vec![("depth 1".into(), closed(1))];
        for interval in ["1s", "1ms", "100us", "10us"] {
            let open = ["host.replay=\"open\"".into(), format!("workload.interval=\"{interval}\"")];
            let found = waf(&drive(name, &[&open[..], &["workload.requests=30000".into()]].concat()));
            all.push((format!("a write every {interval}"), found));
        }
        for (what, (waf, padded)) in &all {
            assert!(*waf < 1.01 * deep.0, "{name}, {what}: {waf}, and {} at depth 32", deep.0);
            assert!(*padded < 0.02, "{name}, {what}: {padded} of all programs are dummies");
        }
    }
}

/// A device of four dies with rows of `planes` flash pages, each of four map units, behind a write buffer of so many units.
fn buffered(planes: u32, units: u64, params: &[(&'static str, ParamValue)]) -> Config {
    let mut config = plain(2, 1, 2, planes, 16, 16);
    config.device.page_size = 16 << 10;
    config.device.user_capacity = 8 << 20;
    choose(&mut config.ftl, "map_unit", "4KiB", &[]);
    choose(&mut config.ftl, "allocation", "F2", &[]);
    choose(&mut config.ftl, "reclaim_unit", "twin", &[("neighbours", 0.0.into())]);
    let mut all = vec![("size", ParamValue::Size(units * UNIT)), ("flush", "free".into())];
    all.extend_from_slice(params);
    choose(&mut config.ftl, "write_buffer", "fifo", &all);
    (config.run.payload, config.run.checks) = (Payload::Stamp, Checks::Full);
    config
}

const UNIT: u64 = 4096;

/// Units of 4 KiB that were programmed for the host, and as dummies.
fn units(summary: &serde_json::Value) -> [f64; 2] {
    ["host", "pad"].map(|cause| 4.0 * figure(summary, &format!("flash.by_cause.{cause}.programs")))
}

/// Writes of a unit each, a millisecond apart from the first of them on.
fn writes(from: u64, count: u64) -> Vec<(u64, &'static str, u64, u64)> {
    (from..from + count).map(|at| (at * 1_000_000, "Write", at * UNIT, UNIT)).collect()
}

#[test]
fn units_leave_the_buffer_as_a_row_and_a_flush_fills_one_up() {
    let config = buffered(2, 64, &[]);
    assert_eq!(units(&replay(&config, &writes(0, 24))), [24.0, 0.0], "three rows of eight");
    assert_eq!(units(&replay(&config, &writes(0, 27))), [27.0, 5.0], "the end fills the last one up");
    let mut rows = writes(0, 11);
    rows.push((11_000_000, "Flush", 0, 0));
    rows.extend(writes(20, 8));
    assert_eq!(units(&replay(&config, &rows)), [19.0, 5.0], "of the eleven, three are a row with dummies");
    rows[11].1 = "Write";
    rows[11].3 = UNIT;
    assert_eq!(units(&replay(&config, &rows)), [20.0, 4.0], "a twelfth unit in its place");
}

#[test]
fn a_protected_buffer_fills_no_row_up_for_the_host() {
    for (power_loss, expected) in [("volatile", [64.0, 448.0]), ("protected", [64.0, 0.0])] {
        let config = buffered(2, 64, &[("power_loss", power_loss.into())]);
        let rows: Vec<_> =
            writes(0, 64).into_iter().flat_map(|write| [write, (write.0 + 10_000, "Flush", 0, 0)]).collect();
        assert_eq!(units(&replay(&config, &rows)), expected, "{power_loss}");
    }
}

/// Units that wait go along with one that is written with FUA, before dummies do.
#[test]
fn a_row_for_fua_takes_what_waits() {
    let mut rows = writes(0, 5);
    rows.push((5_000_000, "FUA", 100 * UNIT, UNIT));
    rows.extend(writes(6, 8));
    assert_eq!(units(&replay(&buffered(2, 64, &[]), &rows)), [14.0, 2.0]);
}

#[test]
fn units_that_wait_are_overwritten_and_discarded_in_the_buffer() {
    let mut rows = writes(0, 5);
    rows.extend((5..9).map(|at| (at * 1_000_000, "Write", 0, UNIT)));
    rows.push((9_000_000, "Discard", 3 * UNIT, UNIT));
    rows.extend(writes(10, 4));
    assert_eq!(units(&replay(&buffered(2, 64, &[]), &rows)), [8.0, 0.0], "0, 1, 2, 4 and four others");
}

/// Without a write buffer the host waits for its writes, and the second one goes to the row that the first has begun.
#[test]
fn a_row_that_was_begun_is_filled_before_another_one() {
    let mut config = buffered(2, 64, &[]);
    choose(&mut config.ftl, "write_buffer", "none", &[]);
    let rows: Vec<_> = (0..3).map(|at| (at * 200_000, "Write", at * UNIT, UNIT)).collect();
    let summary = replay(&config, &rows);
    assert_eq!(units(&summary), [3.0, 5.0]);
    assert!(figure(&summary, "host.write_latency_us.max") > 1000.0, "it is filled up when the first has waited");
}

/// Whatever the rows, the buffer and the allocation are: nothing stands still, and what is read is what was written.
#[test]
fn buffers_that_hold_no_row_do_not_stall() {
    let (mut tried, mut padded) = (0, 0.0);
    for number in 0..120u64 {
        let params: &[(&'static str, ParamValue)] = &[
            ("power_loss", ["volatile", "protected"][number as usize % 2].into()),
            ("release", ["programmed", "transferred"][number as usize / 2 % 2].into()),
            ("order", ["channel", "channel", "global"][number as usize % 3].into()),
        ];
        let mut config = buffered([1, 2, 4][number as usize / 2 % 3], [1, 3, 8, 21][number as usize / 4 % 4], params);
        choose(&mut config.ftl, "allocation", ["F2", "CWDP", "F", "D"][number as usize / 3 % 4], &[]);
        choose(&mut config.ftl, "separation", ["none", "host-gc", "sepbit"][number as usize / 5 % 3], &[]);
        if number % 5 > 2 {
            config.device.cell = Cell::Tlc;
            config.device.program_order = ProgramOrder::Consecutive;
            equip(&mut config.device, "programming", ["one-shot", "two-pass"][number as usize % 2], &[]);
            config.device.pages_per_block = 24;
        }
        config.device.user_capacity = device::largest_user_capacity(&config).min(6 << 20) / 3 * 2 / UNIT * UNIT;
        let capacity = config.device.user_capacity;
        if device::check(&config).is_err() {
            continue;
        }
        (config.host.replay, config.host.queue_depth) = (Replay::Closed, Some([1, 7][number as usize / 7 % 2]));
        let mut mixed = generator("uniform", [512, 4096, 20_480][number as usize % 3], 0.2, capacity / 20_480 * 20_480);
        mixed.idle_every = 0;
        config.workload.source = config::model::Source::Generator(mixed);
        config.workload.end.requests = Some(200);
        for executor in [Executor::Timed, Executor::Count] {
            config.run.executor = executor;
            let summary = run(&config);
            padded += figure(&summary, "flash.by_cause.pad.programs");
        }
        tried += 1;
    }
    assert!(tried > 40 && padded > 100.0, "{tried} tried, {padded} pages of dummies");
}
