//! The write buffer, by hand: when a write completes, what is programmed, who waits for whom. Times are exact.

use crate::common::*;
use base::ParamValue;
use config::Config;
use config::model::*;
use serde_json::Value;

const US: u64 = 1_000;
const PAGE: u64 = 8192;
/// A program: 8192 bytes at 200 MB/s, and 1600 µs.
const PROGRAM: f64 = 40.96 + 1600.0;
/// A read: 75 µs and the transfer.
const READ: f64 = 115.96;

/// So many channels of one die, with a buffer of so many pages.
fn buffered(channels: u32, pages: u64, policy: &str, order: &'static str) -> Config {
    let mut config = plain(channels, 1, 1, 1, 16, 16);
    choose(
        &mut config.ftl,
        "write_buffer",
        policy,
        &[("size", ParamValue::Size(pages * PAGE)), ("order", order.into())],
    );
    config
}

fn fifo(channels: u32, pages: u64) -> Config {
    buffered(channels, pages, "fifo", "channel")
}

/// The same, with room that is free as soon as the data are in the chip.
fn transferred(config: &Config) -> Config {
    let mut config = config.clone();
    let buffer = config.ftl.made.iter_mut().find(|(key, _)| *key == "write_buffer").expect("a seam");
    buffer.1.set("release", "transferred".into());
    config
}

/// Whole-page requests of one page each at the given times.
fn pages(kind: &'static str, rows: &[(u64, u64)]) -> Vec<(u64, &'static str, u64, u64)> {
    rows.iter().map(|&(at, page)| (at, kind, page * PAGE, PAGE)).collect()
}

fn buffer(summary: &Value, key: &str) -> f64 {
    figure(summary, &format!("policy.write_buffer.{key}"))
}

fn programs(summary: &Value) -> f64 {
    figure(summary, "flash.by_cause.host.programs")
}

fn longest_write(summary: &Value) -> f64 {
    figure(summary, "host.write_latency_us.max")
}

/// No time passes, so no die is waited for.
#[test]
fn without_time_pages_leave_when_it_is_full() {
    let summaries = ["full", "free"].map(|flush| {
        let mut config = fifo(2, 8);
        let selection = config.ftl.made.iter_mut().find(|(key, _)| *key == "write_buffer").expect("a seam");
        selection.1.set("flush", flush.into());
        config.run.executor = Executor::Count;
        config.workload.source = Source::Generator(generator("zipf", 3000, 0.3, config.device.user_capacity));
        config.workload.end = End { requests: Some(2000), ..End::default() };
        let mut summary = metrics::deterministic(&run(&config));
        summary.as_object_mut().expect("an object").shift_remove("config");
        summary
    });
    assert_eq!(summaries[0], summaries[1]);
}

#[test]
fn a_write_completes_when_it_is_buffered_and_is_programmed_in_the_end() {
    let summary = replay(&fifo(1, 8), &pages("Write", &[(0, 0), (0, 1), (0, 2)]));
    assert_eq!(longest_write(&summary), 0.0);
    assert_eq!(programs(&summary), 3.0);
    assert_eq!(buffer(&summary, "evictions"), 3.0);
    assert_eq!(buffer(&summary, "fill_pages.max"), 3.0);
}

#[test]
fn a_full_buffer_makes_writes_wait_for_programs() {
    // Two pages: both enter, and fill it; each further one waits for a program of the one die.
    let summary = replay(&fifo(1, 2), &pages("Write", &[(0, 0), (0, 1), (0, 2), (0, 3)]));
    assert_eq!(longest_write(&summary), 2.0 * PROGRAM);
    // Four dies take a page each at once.
    let rows: Vec<(u64, u64)> = (0..8).map(|page| (0, page)).collect();
    let summary = replay(&fifo(4, 4), &pages("Write", &rows));
    assert_eq!(longest_write(&summary), PROGRAM);
    assert_eq!(programs(&summary), 8.0);
}

#[test]
fn no_page_leaves_before_the_buffer_is_full() {
    // The read at 1 ms finds the die idle, though a page has waited in the buffer since 0.
    let mut rows = pages("Write", &[(0, 0), (0, 1), (0, 2), (0, 3)]);
    rows.extend(pages("Read", &[(10_000 * US, 0)]));
    rows.extend(pages("Write", &[(20_000 * US, 5)]));
    let summary = replay(&fifo(1, 4), &rows);
    // Full at once: page 0 left at time 0, and the buffer was not full after that.
    assert_eq!(figure(&summary, "host.read_latency_us.max"), READ);
    assert_eq!(buffer(&summary, "read_hits"), 0.0);
    let summary = replay(&fifo(1, 5), &rows);
    assert_eq!(figure(&summary, "host.read_latency_us.max"), 0.0);
    assert_eq!(buffer(&summary, "read_hits"), 1.0);
}

#[test]
fn a_page_that_is_written_again_is_programmed_once() {
    let summary = replay(&fifo(1, 4), &pages("Write", &[(0, 0), (0, 0), (0, 1), (0, 0)]));
    assert_eq!((programs(&summary), buffer(&summary, "hits")), (2.0, 2.0));
    // While it is programmed, the next version is a page of its own.
    let summary = replay(&fifo(1, 1), &pages("Write", &[(0, 0), (0, 0)]));
    assert_eq!((programs(&summary), buffer(&summary, "hits")), (2.0, 0.0));
    assert_eq!(longest_write(&summary), PROGRAM);
}

#[test]
fn parts_of_a_page_are_put_together() {
    let half = PAGE / 2;
    let fill = (0, "Write", 0, PAGE);
    let flush = (US, "Flush", 0, 0);
    let first = (10_000 * US, "Write", 0, half);
    let second = (11_000 * US, "Write", half, half);
    let rmw = |rows: &[(u64, &str, u64, u64)]| figure(&replay(&fifo(1, 4), rows), "flash.by_cause.rmw.reads");
    assert_eq!(rmw(&[fill, flush, first]), 1.0, "the other half is read when the page is flushed");
    assert_eq!(rmw(&[fill, flush, first, second]), 0.0, "the halves make a page");
    assert_eq!(rmw(&[first]), 0.0, "there is no old page to read");
    // A read of the half that is buffered needs no flash, one of the whole page does.
    let read = |offset: u64, size: u64| {
        figure(
            &replay(&fifo(1, 4), &[fill, flush, first, (12_000 * US, "Read", offset, size)]),
            "host.read_latency_us.max",
        )
    };
    assert_eq!((read(0, half), read(512, 512), read(0, PAGE), read(half, 512)), (0.0, 0.0, READ, READ));
}

#[test]
fn a_flush_completes_when_all_before_it_is_programmed() {
    let mut rows = pages("Write", &[(0, 0), (0, 1), (0, 2)]);
    rows.push((100, "Flush", 0, 0));
    // Written after the flush, so it is not waited for, though it goes to the same die.
    rows.extend(pages("Write", &[(200, 3)]));
    let summary = replay(&fifo(1, 8), &rows);
    assert_eq!(figure(&summary, "host.flush_latency_us.max"), 3.0 * PROGRAM);
    assert_eq!(longest_write(&summary), 0.0);
    let summary = replay(&fifo(4, 8), &rows);
    assert_eq!(figure(&summary, "host.flush_latency_us.max"), PROGRAM, "three dies at once");
    let summary = replay(&fifo(1, 8), &[(0, "Flush", 0, 0)]);
    assert_eq!(figure(&summary, "host.flush_latency_us.max"), 0.0, "nothing to wait for");
}

/// The same buffer, which capacitors save.
fn protected(config: &Config) -> Config {
    let mut config = config.clone();
    let buffer = config.ftl.made.iter_mut().find(|(key, _)| *key == "write_buffer").expect("a seam");
    buffer.1.set("power_loss", "protected".into());
    config
}

#[test]
fn what_is_safe_in_the_buffer_nobody_waits_for() {
    let mut rows = pages("Write", &[(0, 0), (0, 1), (0, 2)]);
    rows.push((100, "Flush", 0, 0));
    for executor in [Executor::Timed, Executor::Count] {
        let mut config = protected(&fifo(1, 8));
        config.run.executor = executor;
        let summary = replay(&config, &rows);
        assert_eq!(programs(&summary), 3.0, "in the end all of them leave");
        if executor == Executor::Timed {
            assert_eq!(figure(&summary, "host.flush_latency_us.max"), 0.0);
        }
    }
    assert_eq!(longest_write(&with_fua(protected)), 0.0);
}

/// A trace whose last write has FUA, on one die with a buffer of eight pages.
fn with_fua(change: fn(&Config) -> Config) -> Value {
    let mut text = String::new();
    for (page, flags) in [(0, "-"), (1, "-"), (2, "SYNC+FUA")] {
        text += &format!("128166372000000000,test,0,Write,{},{PAGE},0,{flags}\n", page * PAGE);
    }
    let path = temporary("csv");
    std::fs::write(&path, text).unwrap();
    let mut config = change(&fifo(1, 8));
    config.workload.source = Source::Trace { path: path.display().to_string() };
    config.workload.end = End { rounds: Some(1), ..End::default() };
    config.host.replay = Replay::Open;
    config.host.queue_depth = Some(8);
    let summary = run(&config);
    std::fs::remove_file(&path).unwrap();
    summary
}

#[test]
fn a_write_with_fua_completes_when_it_is_programmed_and_overtakes() {
    let summary = with_fua(Config::clone);
    assert_eq!(longest_write(&summary), PROGRAM, "it goes before the two that wait");
    assert_eq!(figure(&summary, "host.write_latency_us.p50"), 0.0);
    assert_eq!(programs(&summary), 3.0);
}

#[test]
fn a_trim_drops_what_is_buffered() {
    let mut rows = pages("Write", &[(0, 0), (0, 1)]);
    rows.push((100, "Discard", 0, PAGE));
    rows.extend(pages("Read", &[(200, 0), (200, 1)]));
    let summary = replay(&fifo(1, 4), &rows);
    assert_eq!((programs(&summary), buffer(&summary, "drops")), (1.0, 1.0));
    assert_eq!(figure(&summary, "host.unmapped_reads"), 1.0);
    assert_eq!(buffer(&summary, "read_hits"), 1.0);
}

#[test]
fn a_write_waits_for_room_for_all_its_pages_and_larger_ones_enter_in_pieces() {
    // Three pages are buffered; four more want one program.
    let rows = [(0, "Write", 0, 3 * PAGE), (100, "Write", 8 * PAGE, 4 * PAGE)];
    let summary = replay(&fifo(1, 6), &rows);
    assert_eq!(longest_write(&summary), PROGRAM);
    // Ten pages through a buffer of four: six programs until the last is in.
    let summary = replay(&fifo(1, 4), &[(0, "Write", 0, 10 * PAGE)]);
    assert_eq!(longest_write(&summary), (6.0 * PROGRAM * 1e3).round() / 1e3);
    assert_eq!(programs(&summary), 10.0);
}

#[test]
fn one_order_over_all_channels_waits_for_the_channel_of_the_oldest_page() {
    // Pages 0, 4 and 8 are of channel 0, page 1 of channel 1: in one order it waits behind page 4.
    let rows = pages("Write", &[(0, 0), (0, 4), (0, 1), (0, 8), (0, 12)]);
    let writes = |order: &'static str| {
        let summary = replay(&buffered(4, 3, "fifo", order), &rows);
        assert_eq!(programs(&summary), 5.0);
        longest_write(&summary)
    };
    // By channel, pages 0 and 1 leave together, and make room for 8 and 12 after one program.
    assert_eq!(writes("channel"), PROGRAM);
    assert_eq!(writes("global"), 2.0 * PROGRAM);
}

/// A page on the bus.
const TRANSFER: f64 = 40.96;

fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}

#[test]
fn room_may_be_free_as_soon_as_the_data_are_in_the_chip() {
    // Two pages fill the buffer. The third write waits for the transfer of page 0, the fourth for that of page 1,
    // which begins when page 0 is programmed.
    let rows = pages("Write", &[(0, 0), (0, 1), (0, 2), (0, 3)]);
    let early = transferred(&fifo(1, 2));
    assert_eq!(longest_write(&replay(&early, &rows)), PROGRAM + TRANSFER);
    let summary = replay(&early, &rows[..3]);
    assert_eq!(longest_write(&summary), TRANSFER);
    assert_eq!(
        (programs(&summary), buffer(&summary, "evictions"), buffer(&summary, "fill_pages.max")),
        (3.0, 3.0, 2.0)
    );
    // The dirty pages of the channel are those that take room.
    assert_eq!(summary["policy"]["write_buffer"]["dirty_pages_by_channel"]["max"], serde_json::json!([2]));
    // Two planes in one command: both pages have to be in the chip.
    let mut planes = transferred(&fifo(1, 2));
    (planes.device.planes_per_die, planes.device.user_capacity) = (2, 2 * planes.device.user_capacity);
    assert_eq!(longest_write(&replay(&planes, &rows)), 2.0 * TRANSFER);
    let pieces = replay(&transferred(&fifo(1, 4)), &[(0, "Write", 0, 10 * PAGE)]);
    assert_eq!(longest_write(&pieces), rounded(5.0 * PROGRAM + TRANSFER), "six transfers until the last of ten is in");
}

#[test]
fn what_is_in_the_chip_is_read_from_the_buffer_and_is_not_durable() {
    let early = transferred(&fifo(1, 1));
    // Page 0 leaves at once, and is in the chip after 40.96 µs: it is still found, and a new version is a page of its own.
    let mut rows = pages("Write", &[(0, 0)]);
    rows.extend(pages("Read", &[(100 * US, 0)]));
    let summary = replay(&early, &rows);
    assert_eq!((figure(&summary, "host.read_latency_us.max"), buffer(&summary, "read_hits")), (0.0, 1.0));
    let twice = replay(&early, &pages("Write", &[(0, 0), (0, 0)]));
    assert_eq!((programs(&twice), buffer(&twice, "hits"), longest_write(&twice)), (2.0, 0.0, TRANSFER));
    // A flush waits for the program: of the page in the chip, and of the one that came after.
    let flush = |rows: &[(u64, u64)]| {
        let mut rows = pages("Write", rows);
        rows.push((100 * US, "Flush", 0, 0));
        figure(&replay(&early, &rows), "host.flush_latency_us.max")
    };
    assert_eq!(flush(&[(0, 0)]), rounded(PROGRAM - 100.0));
    assert_eq!(flush(&[(0, 0), (0, 1)]), rounded(2.0 * PROGRAM - 100.0));
    assert_eq!(longest_write(&with_fua(transferred)), PROGRAM, "and so does a write with FUA");
}

/// A few pages written again and again, read, trimmed, flushed and written with FUA, through buffers that are nearly
/// always full. Pages carry their versions: one that is lost, or that an older write of it overtakes, ends the run.
#[test]
fn two_writes_of_a_page_are_never_lost_or_exchanged() {
    let (mut seen, mut early) = (0.0, 0);
    let buffers = names("write_buffer", &["none"]);
    for seed in 0..160 {
        let mut config = random_config(seed + 9_000_000);
        let policy = buffers[seed as usize % buffers.len()];
        let order = ["channel", "global"][(seed / 2 % 2) as usize];
        let release = ["programmed", "transferred"][(seed / 4 % 2) as usize];
        let page = page_size(&config);
        let hot = (2 + seed % 7).min(config.device.user_capacity / page) * page;
        let size = (page * (1 + seed % 3)).min(config.device.user_capacity);
        choose(
            &mut config.ftl,
            "write_buffer",
            policy,
            &[("size", ParamValue::Size(size)), ("order", order.into()), ("release", release.into())],
        );
        let path = temporary("csv");
        std::fs::write(&path, random_trace(seed, hot, 300)).unwrap();
        config.workload.source = Source::Trace { path: path.display().to_string() };
        config.workload.end = End { rounds: Some(2), ..End::default() };
        config.host.replay = [Replay::Open, Replay::Closed, Replay::Batch][seed as usize % 3];
        if seed % 6 == 0 {
            config.host.queue_depth = None;
        }
        config.run.executor = Executor::Timed;
        let summary = run(&config);
        std::fs::remove_file(&path).unwrap();
        seen += buffer(&summary, "evictions");
        early += u32::from(release == "transferred");
    }
    assert!(seen > 20_000.0 && early == 80, "{seen} pages");
}

#[test]
fn lru_keeps_what_is_used() {
    // Page 0 is written again, or read, before the buffer is full; then one page has to leave.
    let used = |policy: &str, kind: &'static str| {
        let mut rows = pages("Write", &[(0, 0), (100, 1)]);
        rows.extend(pages(kind, &[(200, 0)]));
        rows.extend(pages("Write", &[(300, 2)]));
        rows.extend(pages("Read", &[(50_000 * US, 0)]));
        buffer(&replay(&buffered(1, 3, policy, "channel"), &rows), "read_hits")
    };
    assert_eq!((used("fifo", "Write"), used("lru", "Write")), (0.0, 1.0));
    assert_eq!((used("fifo", "Read"), used("lru", "Read")), (1.0, 2.0));
}

#[test]
fn batch_sends_the_next_request_when_the_write_before_is_accepted() {
    let mut config = fifo(1, 2);
    config.host.replay = Replay::Batch;
    config.host.queue_depth = Some(8);
    config.workload.source = Source::Generator(generator("sequential", PAGE, 0.0, config.device.user_capacity));
    config.workload.end = End { requests: Some(10), ..End::default() };
    let summary = run(&config);
    // The first two are accepted at once, each other one after a program.
    assert_eq!(figure(&summary, "host.simulated_s"), (8.0 * PROGRAM * 1e3).round() / 1e9);
    assert_eq!(longest_write(&summary), PROGRAM, "no write waits behind another");
    choose(&mut config.ftl, "write_buffer", "none", &[]);
    let summary = run(&config);
    assert_eq!(figure(&summary, "host.simulated_s"), (10.0 * PROGRAM * 1e3).round() / 1e9);
    assert_eq!(longest_write(&summary), PROGRAM);
}

#[test]
fn dirty_pages_are_told_by_channel() {
    let rows = pages("Write", &[(0, 0), (0, 4), (0, 1), (10_000 * US, 2)]);
    let summary = replay(&fifo(4, 8), &rows);
    let channels = &summary["policy"]["write_buffer"]["dirty_pages_by_channel"];
    assert_eq!(channels["max"], serde_json::json!([2, 1, 1, 0]));
    assert_eq!(channels["mean"], serde_json::json!([2.0, 1.0, 0.0, 0.0]));
    assert_eq!(buffer(&summary, "fill_pages.mean"), 3.0);
    let mut dynamic = fifo(4, 8);
    choose(&mut dynamic.ftl, "allocation", "F", &[]);
    let summary = replay(&dynamic, &rows);
    assert!(summary["policy"]["write_buffer"]["dirty_pages_by_channel"].is_null());
    assert_eq!(buffer(&summary, "fill_pages.mean"), 3.0);
}

#[test]
fn what_is_written_is_merged_dropped_or_programmed() {
    let buffers = names("write_buffer", &["none"]);
    for seed in 0..200 {
        let mut config = random_config(seed + 5_000_000);
        let buffer = buffers[seed as usize % buffers.len()];
        let page = page_size(&config);
        let size = page * (1 + seed % 5).min(config.device.user_capacity / page);
        choose(
            &mut config.ftl,
            "write_buffer",
            buffer,
            &[("size", ParamValue::Size(size)), ("order", ["channel", "global"][(seed / 2 % 2) as usize].into())],
        );
        config.run.precondition = Precondition::None;
        execute(&mut config, if seed % 4 < 2 { Executor::Timed } else { Executor::Count });
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.request_size = page;
            generator.footprint = config.device.user_capacity;
        }
        let summary = run(&config);
        let pages = figure(&summary, "host.bytes_written") / page as f64;
        let figures = &summary["policy"]["write_buffer"];
        let of = |key: &str| figures[key].as_f64().unwrap();
        assert_eq!(of("hits") + of("evictions") + of("drops"), pages, "case {seed}");
        assert_eq!(programs(&summary), of("evictions") * f64::from(config.in_step().parts()), "case {seed}");
    }
}

#[test]
fn buffers_that_cannot_be_are_refused() {
    let refusal = |size: u64| {
        let mut config = plain(1, 1, 1, 1, 16, 16);
        choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(size))]);
        let refusal = device::check(&config).expect_err("a refusal");
        format!("{}: {}; {}", refusal.key, refusal.message, refusal.help)
    };
    assert_eq!(
        [refusal(4096), refusal(20_000), refusal(8_388_608)].join("\n"),
        "ftl.write_buffer: a write buffer of 4KiB is not a whole number of pages of 8KiB; the nearest: 8KiB\n\
         ftl.write_buffer: a write buffer of 20000B is not a whole number of pages of 8KiB; the nearest: 16KiB and 24KiB\n\
         ftl.write_buffer: a write buffer of 8MiB is larger than the user capacity; `size` can be at most 1536KiB"
    );
}
