//! Are the numbers right? Idle latency of every operation to the nanosecond, and saturated bandwidth to 1 %.
//!
//! The formulas are written here a second time, from the model as it is documented, with page types from
//! hand-written tables. Bandwidths are allowed 1 % for the beginning and the end of a run, when not every
//! resource is busy; latencies are allowed nothing.

mod caches;
mod controller;
mod link;
mod media;
mod one_shot;
mod open;
mod slow_die;
mod split;
mod suspends;
mod tenants;
mod two_pass;
mod windows;

use crate::common::*;
use base::{Cell, Duration, Multiplane, ProgramOrder};
use config::Config;
use config::model::*;
use serde_json::Value;

/// Far enough apart that no request meets another: nanoseconds.
const APART: u64 = 1_000_000_000;

/// Page types by offset, for blocks of 12 pages.
const ORDERS: [(Cell, ProgramOrder, [usize; 12]); 7] = [
    (Cell::Slc, ProgramOrder::Consecutive, [0; 12]),
    (Cell::Slc, ProgramOrder::Shadow, [0; 12]),
    (Cell::Mlc, ProgramOrder::Consecutive, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]),
    (Cell::Mlc, ProgramOrder::Shadow, [0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1]),
    (Cell::Tlc, ProgramOrder::Consecutive, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]),
    (Cell::Tlc, ProgramOrder::Shadow, [0, 0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 2]),
    (Cell::Qlc, ProgramOrder::Shadow, [0, 0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 3]),
];

/// The times of a device, for the formulas: nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// A page on the bus, rounded up.
    bus: u64,
    command: u64,
    /// A page through the controller's DRAM, rounded up; 0: no limit.
    dram: u64,
    ecc: u64,
}

impl Times {
    fn of(config: &Config) -> Times {
        let timing = &config.device.timing;
        let page = u64::from(config.device.page_size) * 1_000_000_000;
        Times {
            bus: page.div_ceil(timing.channel_rate),
            command: timing.command_overhead.0,
            dram: timing.dram_bandwidth.map_or(0, |rate| page.div_ceil(rate)),
            ecc: timing.ecc_latency.0,
        }
    }

    /// Data of one page out of a die.
    fn out(self) -> u64 {
        self.bus.max(self.dram)
    }

    /// A die's time for a read of `pages` planes, without the correction.
    fn read(self, pages: u64, array: u64) -> u64 {
        self.command * pages + array + self.out() * pages
    }

    /// A die's time for a program of `pages` planes.
    fn program(self, pages: u64, array: u64) -> u64 {
        ((self.command + self.bus) * pages).max(self.dram * pages) + array
    }

    fn erase(self, pages: u64, array: u64) -> u64 {
        self.command * pages + array
    }
}

/// Every combination of command cycles, a DRAM that is no limit, faster or slower than a channel, and
/// correction; on a channel whose page time is not whole.
fn variants() -> Vec<(Duration, Option<u64>, Duration)> {
    let mut all = Vec::new();
    for command in [0, 700] {
        for dram in [None, Some(1_600_000_007), Some(99_000_001)] {
            for ecc in [0, 3_001] {
                all.push((Duration(command), dram, Duration(ecc)));
            }
        }
    }
    all
}

fn vary(config: &mut Config, (command, dram, ecc): (Duration, Option<u64>, Duration)) -> Times {
    config.device.timing.channel_rate = 333_000_000;
    config.device.timing.command_overhead = command;
    config.device.timing.dram_bandwidth = dram;
    config.device.timing.ecc_latency = ecc;
    Times::of(config)
}

/// A die of `planes` planes with blocks of 12 pages, of that cell, every time a different prime.
fn cells(cell: Cell, order: ProgramOrder, planes: u32) -> Config {
    let mut config = plain(1, 1, 1, planes, 16, 12);
    config.device.cell = cell;
    config.device.program_order = order;
    let bits = cell.bits() as usize;
    config.device.timing.read = [50_021, 70_001, 90_001, 110_017][..bits].iter().map(|&ns| Duration(ns)).collect();
    config.device.timing.program =
        [500_009, 900_001, 1_800_017, 2_500_009][..bits].iter().map(|&ns| Duration(ns)).collect();
    config.device.timing.erase = Duration(5_000_011);
    config
}

/// A figure in µs, as whole nanoseconds.
fn ns(summary: &Value, path: &str) -> u64 {
    let ns = figure(summary, path) * 1e3;
    assert!((ns - ns.round()).abs() < 1e-3, "{path} is {ns} ns");
    ns.round() as u64
}

/// The one read or write of a run.
fn read_latency(summary: &Value) -> u64 {
    assert_eq!(summary["host"]["reads"], 1);
    assert_eq!(ns(summary, "host.read_latency_us.mean"), ns(summary, "host.read_latency_us.max"));
    ns(summary, "host.read_latency_us.max")
}

fn write_latency(summary: &Value) -> u64 {
    assert_eq!(summary["host"]["writes"], 1);
    assert_eq!(ns(summary, "host.write_latency_us.mean"), ns(summary, "host.write_latency_us.max"));
    ns(summary, "host.write_latency_us.max")
}

fn page(config: &Config) -> u64 {
    u64::from(config.device.page_size)
}

/// Ages the device by writing the first `pages` pages in order.
fn filled(config: &Config, pages: u64) -> Config {
    let mut config = config.clone();
    config.run.precondition = Precondition::Sequential { volume: pages * page(&config) };
    config
}

#[test]
fn a_read_of_each_page_type() {
    for (cell, order, types) in ORDERS {
        for variant in variants() {
            let mut config = filled(&cells(cell, order, 1), 12);
            let times = vary(&mut config, variant);
            for (offset, &kind) in types.iter().enumerate() {
                let summary = replay(&config, &[(0, "Read", offset as u64 * 8192, 8192)]);
                let expected = times.read(1, config.device.timing.read[kind].0) + times.ecc;
                assert_eq!(read_latency(&summary), expected, "{cell:?} {order:?} page {offset}, {times:?}");
            }
        }
    }
}

#[test]
fn a_write_of_each_page_type() {
    for (cell, order, types) in ORDERS {
        for variant in variants() {
            for (offset, &kind) in types.iter().enumerate() {
                let mut config = filled(&cells(cell, order, 1), offset as u64);
                let times = vary(&mut config, variant);
                let summary = replay(&config, &[(0, "Write", 0, 8192)]);
                let expected = times.program(1, config.device.timing.program[kind].0);
                assert_eq!(write_latency(&summary), expected, "{cell:?} {order:?} page {offset}, {times:?}");
            }
        }
    }
}

#[test]
fn part_of_a_page_is_read_in_part_at_the_price_of_the_whole() {
    let config = filled(&cells(Cell::Slc, ProgramOrder::Consecutive, 1), 12);
    let times = Times::of(&config);
    let summary = replay(&config, &[(0, "Read", 3 * 8192 + 512, 1024)]);
    assert_eq!(read_latency(&summary), times.read(1, 50_021));
    let summary = replay(&config, &[(0, "Read", 4 * 8192 - 512, 1024)]);
    assert_eq!(read_latency(&summary), 2 * times.read(1, 50_021), "across a boundary: two pages of one die");
}

#[test]
fn commands_of_several_planes() {
    for planes in [2u64, 4] {
        for multiplane in [Multiplane::Off, Multiplane::Any, Multiplane::Pac, Multiplane::Bac] {
            for scheduler in names("scheduler", &[]) {
                for variant in variants() {
                    let mut config = cells(Cell::Tlc, ProgramOrder::Consecutive, planes as u32);
                    config.device.multiplane = multiplane;
                    choose(&mut config.ftl, "scheduler", scheduler, &[]);
                    let times = vary(&mut config, variant);
                    let merged = multiplane != Multiplane::Off;
                    let what = format!("{planes} planes, {multiplane:?}, {scheduler}, {times:?}");
                    // The first pages of all planes: LSB; the second ones: CSB.
                    let second = filled(&config, planes);
                    let summary = replay(&second, &[(0, "Write", 0, planes * 8192)]);
                    let expected =
                        if merged { times.program(planes, 900_001) } else { planes * times.program(1, 900_001) };
                    assert_eq!(write_latency(&summary), expected, "write, {what}");
                    assert_eq!(figure(&summary, "flash.multiplane.program_fraction"), f64::from(u8::from(merged)));
                    let both = filled(&config, 2 * planes);
                    let summary = replay(&both, &[(0, "Read", planes * 8192, planes * 8192)]);
                    let expected = if merged { times.read(planes, 70_001) } else { planes * times.read(1, 70_001) };
                    assert_eq!(read_latency(&summary), expected + times.ecc, "read, {what}");
                    assert_eq!(figure(&summary, "flash.multiplane.read_fraction"), f64::from(u8::from(merged)));
                }
            }
        }
    }
}

/// One write of page 0 first moves plane 0 a page ahead of plane 1, twelve of them a whole block.
fn skewed(multiplane: Multiplane, ahead: u64) -> (Value, Value, Times) {
    let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 2);
    config.device.multiplane = multiplane;
    let times = vary(&mut config, (Duration(700), None, Duration(3_001)));
    let mut rows: Vec<_> = (0..ahead).map(|i| (i * APART, "Write", 0, 8192)).collect();
    rows.push((ahead * APART, "Write", 0, 2 * 8192));
    let writes = replay(&config, &rows);
    rows.push(((ahead + 1) * APART, "Read", 0, 2 * 8192));
    (writes, replay(&config, &rows), times)
}

#[test]
fn what_the_constraints_refuse_is_sent_one_by_one() {
    // (constraint, pages that plane 0 is ahead, whether one command may hold both planes)
    let cases = [
        (Multiplane::Any, 0, true),
        (Multiplane::Any, 1, true),
        (Multiplane::Any, 12, true),
        (Multiplane::Pac, 0, true),
        (Multiplane::Pac, 1, false),
        (Multiplane::Pac, 12, true),
        (Multiplane::Bac, 0, true),
        (Multiplane::Bac, 1, false),
        (Multiplane::Bac, 12, false),
        (Multiplane::Off, 0, false),
        (Multiplane::Off, 12, false),
    ];
    for (multiplane, ahead, merged) in cases {
        let (writes, reads, times) = skewed(multiplane, ahead);
        let program = if merged { times.program(2, 500_009) } else { 2 * times.program(1, 500_009) };
        let read = if merged { times.read(2, 50_021) } else { 2 * times.read(1, 50_021) };
        assert_eq!(ns(&writes, "host.write_latency_us.max"), program, "{multiplane:?}, {ahead} ahead");
        assert_eq!(read_latency(&reads), read + times.ecc, "{multiplane:?}, {ahead} ahead");
    }
}

/// Pages of one command may be of different types only where planes are addressed independently.
#[test]
fn a_command_takes_as_long_as_its_slowest_page() {
    let mut config = cells(Cell::Tlc, ProgramOrder::Consecutive, 2);
    config.device.multiplane = Multiplane::Any;
    let times = vary(&mut config, (Duration(700), None, Duration(3_001)));
    // Plane 0 has its LSB page, so its CSB page goes along with the LSB page of plane 1.
    let mut rows = vec![(0, "Write", 0, 8192), (APART, "Write", 0, 2 * 8192)];
    let writes = replay(&config, &rows);
    assert_eq!(ns(&writes, "host.write_latency_us.max"), times.program(2, 900_001));
    rows.push((2 * APART, "Read", 0, 2 * 8192));
    assert_eq!(read_latency(&replay(&config, &rows)), times.read(2, 70_001) + times.ecc);
}

#[test]
fn dies_share_their_channel_and_channels_share_nothing() {
    for (command, dram) in [(0, None), (700, None), (700, Some(99_000_001))] {
        // Two dies on one channel: the arrays work at once, the transfers follow each other.
        let mut config = plain(1, 2, 1, 1, 16, 12);
        let times = vary(&mut config, (Duration(command), dram, Duration(3_001)));
        let (read, program) = (75_000, 1_600_000);
        let summary = replay(&filled(&config, 2), &[(0, "Read", 0, 2 * 8192)]);
        let expected = times.command + read + 2 * times.out() + times.ecc;
        assert_eq!(read_latency(&summary), expected, "{times:?}");
        let summary = replay(&config, &[(0, "Write", 0, 2 * 8192)]);
        assert_eq!(write_latency(&summary), 2 * times.program(1, 0) + program, "{times:?}");

        // Two channels of a die each: two pages at once, except that all go through one DRAM.
        let mut config = plain(2, 1, 1, 1, 16, 12);
        let times = vary(&mut config, (Duration(command), dram, Duration(3_001)));
        let summary = replay(&filled(&config, 2), &[(0, "Read", 0, 2 * 8192)]);
        let expected = times.command + read + times.bus.max(2 * times.dram) + times.ecc;
        assert_eq!(read_latency(&summary), expected, "{times:?}");
        let summary = replay(&config, &[(0, "Write", 0, 2 * 8192)]);
        let data = (times.command + times.bus).max(2 * times.dram);
        assert_eq!(write_latency(&summary), data + program, "{times:?}");
    }
}

#[test]
fn a_write_of_part_of_a_page_reads_it_first() {
    for variant in variants() {
        let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 1);
        let times = vary(&mut config, variant);
        let (read, program) = (times.read(1, 50_021) + times.ecc, times.program(1, 500_009));
        let summary = replay(&filled(&config, 1), &[(0, "Write", 512, 1024)]);
        assert_eq!(write_latency(&summary), read + program, "{times:?}");
        assert_eq!(figure(&summary, "flash.by_cause.rmw.reads"), 1.0);
        let summary = replay(&config, &[(0, "Write", 512, 1024)]);
        assert_eq!(write_latency(&summary), program, "there was nothing to read, {times:?}");
        assert_eq!(figure(&summary, "flash.by_cause.rmw.reads"), 0.0);
        // Both ends are read, the whole page in the middle is not. The die never waits for a correction: it
        // has the other read to do meanwhile.
        let summary = replay(&filled(&config, 3), &[(0, "Write", 512, 2 * 8192)]);
        assert_eq!(figure(&summary, "flash.by_cause.rmw.reads"), 2.0);
        assert_eq!(write_latency(&summary), 2 * times.read(1, 50_021) + 3 * program, "{times:?}");
    }
}

#[test]
fn what_needs_no_flash_takes_no_time() {
    let config = filled(&cells(Cell::Slc, ProgramOrder::Consecutive, 1), 1);
    let rows = [
        (0, "Read", 5 * 8192, 3 * 8192),
        (APART, "Discard", 0, 8192),
        (2 * APART, "Read", 0, 8192),
        (3 * APART, "Flush", 0, 0),
    ];
    let summary = replay(&config, &rows);
    for latency in ["read_latency_us", "trim_latency_us", "flush_latency_us"] {
        assert_eq!(ns(&summary, &format!("host.{latency}.max")), 0, "{latency}");
    }
    assert_eq!(figure(&summary, "host.unmapped_reads"), 4.0);
    assert_eq!(figure(&summary, "flash.page_reads"), 0.0);
}

#[test]
fn a_flush_waits_for_older_writes_only() {
    let config = cells(Cell::Slc, ProgramOrder::Consecutive, 1);
    let program = Times::of(&config).program(1, 500_009);
    let rows = [
        (0, "Write", 0, 8192),
        (100, "Write", 8192, 8192),
        (200, "Flush", 0, 0),
        (300, "Write", 2 * 8192, 8192),
        (APART, "Read", 3 * 8192, 8192),
        (APART, "Flush", 0, 0),
    ];
    let summary = replay(&config, &rows);
    assert_eq!(ns(&summary, "host.flush_latency_us.max"), 2 * program - 200);
    assert_eq!(ns(&summary, "host.flush_latency_us.mean"), program - 100, "the second flush waits for nothing");
    assert_eq!(ns(&summary, "host.write_latency_us.max"), 3 * program - 300);
}

/// A plane of four blocks of 12 pages; when three are full the first is collected, with `cold` valid pages
/// in it. The write that fills the third block begins the collection, and the next one, 100 ns later, waits
/// for both.
fn collecting(config: &Config, planes: u64, cold: u64) -> Value {
    collecting_while(config, planes, cold, &[])
}

/// The same, with something else in the meantime.
fn collecting_while(config: &Config, planes: u64, cold: u64, others: &[(u64, &str, u64, u64)]) -> Value {
    let mut config = config.clone();
    let hot = 12;
    config.device.user_capacity = (cold + hot) * planes * 8192;
    choose(&mut config.ftl, "victim", "fifo", &[]);
    choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 1.into())]);
    device::check(&config).expect("room for a collection");
    let stripe = planes * 8192;
    let mut rows: Vec<_> = (0..36u64)
        .map(|i| (i * APART, "Write", if i < cold { i } else { cold + (i - cold) % hot } * stripe, stripe))
        .collect();
    rows.push((35 * APART + 100, "Write", cold * stripe, stripe));
    rows.extend(others);
    let summary = replay(&config, &rows);
    assert_eq!(figure(&summary, "flash.block_erases"), planes as f64);
    assert_eq!(figure(&summary, "gc.moved_pages"), (cold * planes) as f64);
    summary
}

#[test]
fn a_write_waits_for_a_whole_collection() {
    for cold in [0, 1, 5] {
        for variant in variants() {
            let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 1);
            config.device.blocks_per_plane = 4;
            let times = vary(&mut config, variant);
            let summary = collecting(&config, 1, cold);
            let program = times.program(1, 500_009);
            let copy = times.read(1, 50_021) + times.ecc + program;
            let expected = program + cold * copy + times.erase(1, 5_000_011) + program - 100;
            assert_eq!(ns(&summary, "host.write_latency_us.max"), expected, "{cold} pages moved, {times:?}");
        }
    }
}

/// A read that comes with the first copy of a collection: it goes before the next step, or waits for the erase.
#[test]
fn a_read_meets_a_collection_that_it_preempts_or_not() {
    for cold in [1, 5] {
        for variant in variants() {
            let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 1);
            config.device.blocks_per_plane = 4;
            let times = vary(&mut config, variant);
            let (program, read) = (times.program(1, 500_009), times.read(1, 50_021));
            let begun = 35 * APART + program;
            let at = (begun / 100 + 10) * 100;
            let reads = [(at, "Read", 0, 8192)];
            let copy = read + times.ecc + program;
            for (scheduler, gc, expected) in [
                ("paq", "preemptible", read + read),
                ("paq", "non-preemptible", cold * copy + times.erase(1, 5_000_011) + read),
                // The write that waits for the collection is older.
                ("fifo", "non-preemptible", cold * copy + times.erase(1, 5_000_011) + program + read),
            ] {
                choose(&mut config.ftl, "scheduler", scheduler, &[("gc", gc.into())]);
                let summary = collecting_while(&config, 1, cold, &reads);
                let expected = begun + expected + times.ecc - at;
                assert_eq!(read_latency(&summary), expected, "{scheduler}, {gc}, {cold}, {times:?}");
            }
        }
    }
}

/// A victim of twin blocks with valid pages on its first plane only: two are programmed at once, or each alone.
#[test]
fn lone_pages_of_twin_blocks_move_two_at_a_time_or_one() {
    for lone in [0, 2, 6] {
        for variant in variants() {
            let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 2);
            config.device.blocks_per_plane = 4;
            let times = vary(&mut config, variant);
            choose(&mut config.ftl, "scheduler", "paq", &[]);
            choose(&mut config.ftl, "allocation", "F2", &[]);
            choose(&mut config.ftl, "victim", "fifo", &[]);
            choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 1.into())]);
            let hot = 12;
            config.device.user_capacity = (lone + hot) * 2 * 8192;
            let stripe = 2 * 8192;
            let mut rows: Vec<_> = (0..36u64)
                .map(|i| (i * APART, "Write", if i < lone { i } else { lone + (i - lone) % hot } * stripe, stripe))
                .collect();
            rows.extend((0..lone).map(|i| (34 * APART + 100 * (1 + i), "Discard", i * stripe + 8192, 8192)));
            rows.sort_unstable();
            rows.push((35 * APART + 100, "Write", lone * stripe, stripe));
            let program = times.program(2, 500_009);
            let read = times.read(1, 50_021);
            // The next step of a collection waits until what was read is correct.
            let gathered = lone / 2 * (2 * (read + times.ecc) + program);
            let single = lone * (read + times.ecc + times.program(1, 500_009));
            for (way, moves) in [("gather", gathered), ("single", single)] {
                choose(&mut config.ftl, "reclaim_unit", "twin", &[("lone", way.into())]);
                device::check(&config).expect("room for a collection");
                let summary = replay(&config, &rows);
                assert_eq!(figure(&summary, "gc.moved_pages"), lone as f64);
                let expected = program + moves + times.erase(2, 5_000_011) + program - 100;
                assert_eq!(ns(&summary, "host.write_latency_us.max"), expected, "{way}, {lone} pages, {times:?}");
            }
        }
    }
}

#[test]
fn collections_of_two_planes_share_commands_under_paq() {
    for cold in [0, 3] {
        for command in [0, 700] {
            for (scheduler, shared) in [("fifo", 1), ("paq", 2)] {
                let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 2);
                config.device.blocks_per_plane = 4;
                choose(&mut config.ftl, "scheduler", scheduler, &[]);
                let times = vary(&mut config, (Duration(command), None, Duration::ZERO));
                let summary = collecting(&config, 2, cold);
                // Host writes share commands either way.
                let program = times.program(2, 500_009);
                let copy = times.read(shared, 50_021) + times.program(shared, 500_009);
                let collection = (2 / shared) * (cold * copy + times.erase(shared, 5_000_011));
                let found = ns(&summary, "host.write_latency_us.max");
                assert_eq!(figure(&summary, "flash.multiplane.erase_fraction"), (shared - 1) as f64);
                if shared == 2 {
                    assert_eq!(found, 2 * program + collection - 100, "{scheduler}, {cold} moved, {times:?}");
                } else {
                    // The first plane's half of the second write may be programmed before the second plane
                    // is collected, so it no longer shares a command.
                    let alone = 2 * times.program(1, 500_009);
                    let expected = program + collection + alone - 100;
                    assert_eq!(found, expected, "{scheduler}, {cold} moved, {times:?}");
                }
            }
        }
    }
}

/// Bytes per second of a closed loop over `requests` whole pages, sequential or uniform.
fn bandwidth(config: &Config, pattern: &str, reads: bool, requests: u64) -> f64 {
    let mut config = config.clone();
    config.run.checks = Checks::Fast;
    config.run.payload = Payload::None;
    let footprint = config.device.user_capacity;
    config.workload.source =
        Source::Generator(generator(pattern, page(&config), f64::from(u8::from(reads)), footprint));
    config.workload.end = End { requests: Some(requests), ..End::default() };
    if reads {
        config.run.precondition = Precondition::Sequential { volume: footprint };
    } else {
        assert!(requests * page(&config) <= footprint, "a run without collections");
    }
    let summary = run(&config);
    assert_eq!(figure(&summary, "flash.block_erases"), 0.0);
    figure(&summary, "host.throughput_mb_s") * 1e6
}

fn within_a_percent(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < 0.01, "{what}: {found:.0} B/s, the formula says {expected:.0}");
}

/// Bytes per second where `pages` pages take `ns`.
fn rate(config: &Config, pages: u64, ns: u64) -> f64 {
    (pages * page(config)) as f64 * 1e9 / ns as f64
}

#[test]
fn a_saturated_channel() {
    for command in [0, 900] {
        // Sixteen dies could read, or program, twice as fast as the channel carries.
        let mut config = plain(1, 4, 4, 1, 16, 64);
        let times = vary(&mut config, (Duration(command), None, Duration(50_000)));
        config.device.timing.program = vec![Duration(200_000)];
        config.host.queue_depth = Some(128);
        let carried = rate(&config, 1, times.command + times.bus);
        // Commands go ahead of data, so no array stands still while the channel carries.
        for scheduler in names("scheduler", &[]) {
            choose(&mut config.ftl, "scheduler", scheduler, &[]);
            within_a_percent(bandwidth(&config, "sequential", false, 12_000), carried, "channel, programs");
            let reads = bandwidth(&config, "sequential", true, 12_000);
            within_a_percent(reads, carried, "channel, reads");
            if command == 0 {
                // At the end some dies still have a queue when others have none: a long run makes that small.
                within_a_percent(bandwidth(&config, "uniform", true, 40_000), carried, "channel, random reads");
            }
        }
        // Twice the channels carry twice as much.
        let mut two = config.clone();
        two.device.channels = 2;
        two.device.user_capacity *= 2;
        within_a_percent(bandwidth(&two, "sequential", false, 24_000), 2.0 * carried, "two channels, programs");
        if command == 0 {
            within_a_percent(bandwidth(&two, "sequential", true, 24_000), 2.0 * carried, "two channels, reads");
        }
    }
}

#[test]
fn a_saturated_die() {
    for command in [0, 900] {
        for planes in [1u64, 2, 4] {
            let mut config = plain(1, 1, 1, planes as u32, 64, 64);
            let times = vary(&mut config, (Duration(command), None, Duration(50_000)));
            config.host.queue_depth = Some(64);
            let programs = rate(&config, planes, times.program(planes, 1_600_000));
            within_a_percent(bandwidth(&config, "sequential", false, 2_000), programs, "die, programs");
            let reads = rate(&config, planes, times.read(planes, 75_000));
            within_a_percent(bandwidth(&config, "sequential", true, 4_000), reads, "die, reads");
            // Without multi-plane commands planes add nothing.
            config.device.multiplane = Multiplane::Off;
            let single = rate(&config, 1, times.program(1, 1_600_000));
            within_a_percent(bandwidth(&config, "sequential", false, 2_000), single, "die, single programs");
            let single = rate(&config, 1, times.read(1, 75_000));
            within_a_percent(bandwidth(&config, "sequential", true, 4_000), single, "die, single reads");
        }
    }
}

#[test]
fn dies_that_program_slowly_add_up() {
    // Four dies of 1.6 ms leave a channel of 41 µs a page idle most of the time.
    let mut config = plain(1, 2, 2, 1, 64, 64);
    config.host.queue_depth = Some(64);
    let times = Times::of(&config);
    let expected = rate(&config, 4, times.program(1, 1_600_000));
    within_a_percent(bandwidth(&config, "sequential", false, 4_000), expected, "four dies, programs");
}

#[test]
fn a_saturated_dram() {
    // Four channels of 333 MB/s through 500 MB/s.
    let mut config = plain(4, 4, 1, 1, 64, 64);
    vary(&mut config, (Duration(0), Some(500_000_000), Duration(10_000)));
    config.device.timing.program = vec![Duration(100_000)];
    config.host.queue_depth = Some(256);
    within_a_percent(bandwidth(&config, "uniform", true, 24_000), 500e6, "DRAM, reads");
    within_a_percent(bandwidth(&config, "sequential", false, 24_000), 500e6, "DRAM, programs");
}

#[test]
fn no_resource_does_two_things_at_once() {
    for seed in 0..40 {
        let mut config = random_config(seed + 4_000_000);
        suspends::random(seed, &mut config.device);
        caches::random(seed, &mut config.device);
        config.run.executor = Executor::Timed;
        let path = temporary("json");
        let window = base::Instant::ZERO..base::Instant::NEVER;
        let spec = device::TimelineSpec { path: path.clone(), window };
        let mut options = device::Options { timeline: Some(spec), ..device::Options::default() };
        device::simulate(&config, &mut options).expect("a run");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let spans = metrics::timeline::check(&text).unwrap_or_else(|problem| panic!("case {seed}: {problem}"));
        // A write buffer may leave little for flash to do.
        let enough = if config.ftl.get("write_buffer").name == "none" { 100 } else { 0 };
        assert!(spans > enough, "case {seed} recorded {spans} spans");
    }
}

/// Forty reads and a write come at once. `paq` serves all reads first; with a bound the write goes when a read ends after it.
#[test]
fn reads_go_before_a_write_for_so_long_at_most() {
    let mut config = plain(1, 1, 1, 1, 16, 16);
    let page = u64::from(config.device.page_size);
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    let mut rows = vec![(0, "Read", page, page); 40];
    rows.push((0, "Write", 0, page));
    let (read, program) = (115_960, 1_640_960);
    for (max_wait, reads) in [(0, 40), (1_000_000, 9), (115_960, 1), (115_961, 2), (100_000_000, 40)] {
        choose(&mut config.ftl, "scheduler", "paq", &[("max_wait", Duration(max_wait).into())]);
        let summary = replay(&config, &rows);
        assert_eq!(ns(&summary, "host.write_latency_us.max"), reads * read + program, "{max_wait} ns");
        assert_eq!(ns(&summary, "host.read_latency_us.max"), 40 * read + if reads < 40 { program } else { 0 });
    }
}

/// The bound counts for a write, not for each step of the collection that it waits for.
#[test]
fn a_write_that_waits_for_a_collection_waits_no_longer_than_the_bound_and_the_collection() {
    let mut config = plain(1, 1, 1, 1, 64, 16);
    let page = u64::from(config.device.page_size);
    config.host.queue_depth = Some(16);
    config.run.checks = Checks::Fast;
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config.workload.source = Source::Generator(generator("uniform", page, 0.97, config.device.user_capacity));
    config.workload.end = End { requests: Some(20_000), ..End::default() };
    let longest = |config: &mut Config, max_wait: u64| {
        choose(&mut config.ftl, "scheduler", "paq", &[("max_wait", Duration(max_wait).into())]);
        ns(&run(config), "host.write_latency_us.max")
    };
    // 16 requests at most are in the device: so many collections are before a write, and so many writes.
    let bound = 2_000_000 + 115_960 + 16 * (15 * (115_960 + 1_640_960) + 5_000_000 + 1_640_960);
    let (without, with) = (longest(&mut config, 0), longest(&mut config, 2_000_000));
    assert!(with <= bound && without > 2 * with, "{without} {with} {bound}");
}
