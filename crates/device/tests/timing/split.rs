//! Latencies in parts: each part to the nanosecond where one can say what it must be, and on random devices that they add
//! up and change nothing.

use std::collections::{BTreeMap, BTreeSet};

use base::{Duration, Selection};
use config::Config;
use config::model::*;
use device::{Options, Outcome};
use metrics::{Column, LatencyPart, Table, deterministic};
use serde_json::Value;

use super::filled;
use crate::common::*;

/// The array of a read, a page on the bus, a program, and an erase: see [`plain`].
pub(super) const ARRAY: u64 = 75_000;
pub(super) const BUS: u64 = 40_960;
pub(super) const READ: u64 = ARRAY + BUS;
pub(super) const PROGRAM: u64 = BUS + 1_600_000;
const ERASE: u64 = 5_000_000;

/// The parts of a request that took time, by name.
type Parts = BTreeMap<&'static str, u64>;

fn numbers<'a>(table: &'a Table, column: &str) -> &'a [u64] {
    match table.column(column) {
        Some(Column::U64(values)) => values,
        _ => panic!("no numbers in {column}"),
    }
}

fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a Table {
    outcome.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table {name}"))
}

/// By row of the table of requests, what took time.
fn parts(outcome: &Outcome) -> Vec<Parts> {
    divided(outcome, "")
}

/// The same of what the holders of places (`admission_`) or of room (`buffer_`) waited for.
fn divided(outcome: &Outcome, prefix: &str) -> Vec<Parts> {
    let requests = table(outcome, "requests");
    let columns = LatencyPart::ALL.map(|part| (part.name(), numbers(requests, &format!("{prefix}{}_ns", part.name()))));
    let row = |at: usize| columns.iter().map(|(name, ns)| (*name, ns[at])).filter(|(_, ns)| *ns > 0).collect();
    (0..requests.rows()).map(row).collect()
}

fn outcome(config: &Config) -> Outcome {
    device::simulate(config, &mut Options::default()).expect("a run")
}

/// What the requests of a trace, at their own times, waited for, in the order in which they complete.
pub(super) fn replayed(config: &Config, depth: Option<u32>, rows: &[(u64, &str, u64, u64)]) -> Vec<Parts> {
    parts(&replay(config, depth, rows))
}

fn replay(config: &Config, depth: Option<u32>, rows: &[(u64, &str, u64, u64)]) -> Outcome {
    let trace = TraceFile::new(rows);
    let mut config = config.clone();
    config.workload.source = trace.source();
    config.workload.end = End { rounds: Some(1), ..End::default() };
    (config.host.replay, config.host.queue_depth) = (Replay::Open, depth);
    config.run.per_request = true;
    outcome(&config)
}

#[track_caller]
pub(super) fn check(config: &Config, rows: &[(u64, &str, u64, u64)], expected: &[&[(&'static str, u64)]]) {
    check_at(config, Some(64), rows, expected);
}

#[track_caller]
pub(super) fn check_at(
    config: &Config,
    depth: Option<u32>,
    rows: &[(u64, &str, u64, u64)],
    expected: &[&[(&'static str, u64)]],
) {
    let expected: Vec<Parts> = expected.iter().map(|parts| parts.iter().copied().collect()).collect();
    assert_eq!(replayed(config, depth, rows), expected);
}

/// A die with blocks of 12 pages, of which some are written.
pub(super) fn die(pages: u64) -> Config {
    filled(&plain(1, 1, 1, 1, 16, 12), pages)
}

/// The first read suspends the program; the second one, which may not, waits for the rest of it.
#[test]
fn a_suspended_program_is_waited_for_again_when_it_goes_on() {
    let mut config = die(12);
    let mut suspend = base::Selection::default_of(&base::suspend::PROGRAM.choices[1]);
    suspend.set("most", 1.into());
    *config.device.features.get_mut("program_suspend") = suspend;
    let (latency, resume) = (20_000, 5_000);
    let ends = PROGRAM + latency + READ + resume;
    let rows = [(0, "Write", 40 * 8192, 8192), (200_000, "Read", 0, 8192), (500_000, "Read", 8192, 8192)];
    let first: &[_] = &[("suspend", latency), ("service", READ)];
    let write: &[_] = &[("service", PROGRAM + resume), ("suspend", latency), ("host_read", READ)];
    let second: &[_] = &[("host_program", ends - 500_000), ("service", READ)];
    check(&config, &rows, &[first, write, second]);
}

#[test]
fn a_request_that_meets_no_other_is_service() {
    check(&die(12), &[(0, "Read", 0, 8192)], &[&[("service", READ)]]);
    check(&die(0), &[(0, "Write", 0, 8192)], &[&[("service", PROGRAM)]]);
    check(&die(0), &[(0, "Read", 0, 8192)], &[&[]]);
    let mut corrected = die(12);
    corrected.device.timing.ecc_latency = Duration(3_001);
    check(&corrected, &[(0, "Read", 0, 8192)], &[&[("service", READ), ("correction", 3_001)]]);
}

#[test]
fn a_page_waits_for_what_its_die_does() {
    let reads = [(0, "Read", 0, 8192), (1000, "Read", 8192, 8192)];
    check(&die(12), &reads, &[&[("service", READ)], &[("host_read", READ - 1000), ("service", READ)]]);
    let mixed = [(0, "Write", 5 * 8192, 8192), (1000, "Read", 8192, 8192)];
    let read = [("host_program", PROGRAM - 1000), ("service", READ)];
    check(&die(12), &mixed, &[&[("service", PROGRAM)], &read]);
}

/// A program is suspended for a read, which waits until the array has stopped; the write waits for both, and the resume is
/// part of its command.
#[test]
fn a_read_waits_until_a_program_is_suspended() {
    let (latency, resume) = (20_000, 7_000);
    let mut config = die(12);
    let on = base::suspend::PROGRAM.choices.iter().find(|choice| choice.name == "reads").expect("a choice");
    *config.device.features.get_mut("program_suspend") = base::Selection::default_of(on);
    for (name, ns) in [("latency", latency), ("resume", resume), ("interval", 1000)] {
        config.device.features.get_mut("program_suspend").set(name, base::ParamValue::Time(Duration(ns)));
    }
    let rows = [(0, "Write", 12 * 8192, 8192), (500_000, "Read", 0, 8192)];
    let write = [("suspend", latency), ("host_read", READ), ("service", PROGRAM + resume)];
    check(&config, &rows, &[&[("suspend", latency), ("service", READ)], &write]);
}

/// What follows in cache mode waits for what is before it; its own service begins when that is done.
#[test]
fn in_cache_mode_a_page_waits_for_the_one_before() {
    let mut config = die(12);
    for key in ["cache_read", "cache_program"] {
        equip(&mut config.device, key, "on", &[("busy", base::ParamValue::Time(Duration(3_000)))]);
    }
    let writes = [(0, "Write", 40 * 8192, 8192), (0, "Write", 41 * 8192, 8192)];
    let second = [("host_program", PROGRAM), ("service", PROGRAM - BUS + 3_000)];
    check(&config, &writes, &[&[("service", PROGRAM)], &second]);
    let reads = [(0, "Read", 0, 8192), (0, "Read", 8192, 8192)];
    let second = [("host_read", READ), ("service", 2 * ARRAY + 3_000 + BUS - READ)];
    check(&config, &reads, &[&[("service", READ)], &second]);
}

#[test]
fn of_several_pages_the_last_one_counts() {
    let last = [("host_read", 2 * READ), ("service", READ)];
    check(&die(12), &[(0, "Read", 0, 3 * 8192)], &[&last]);
}

#[test]
fn pages_of_two_dies_wait_for_their_channel() {
    let dies = filled(&plain(1, 1, 2, 1, 16, 12), 2);
    let reads = [(0, "Read", 0, 8192), (0, "Read", 8192, 8192)];
    check(&dies, &reads, &[&[("service", READ)], &[("channel", BUS), ("service", READ)]]);
    // Who waits for a die whose page waits for the channel, waits for the channel.
    let third = [reads[0], reads[1], (0, "Read", 8192, 8192)];
    let expected: [&[_]; 3] = [
        &[("service", READ)],
        &[("channel", BUS), ("service", READ)],
        &[("channel", BUS), ("host_read", READ), ("service", READ)],
    ];
    check(&dies, &third, &expected);
}

#[test]
fn the_host_waits_for_a_place_in_the_device() {
    let found = replay(&die(12), Some(1), &[(0, "Read", 0, 8192), (0, "Read", 8192, 8192)]);
    assert_eq!(parts(&found)[1], Parts::from([("admission", READ), ("service", READ)]));
    assert_eq!(divided(&found, "admission_"), [Parts::new(), Parts::from([("service", READ)])]);
}

/// Both places are held: by a write, and by a read behind it, which then reads itself. All three are of one die.
#[test]
fn a_wait_for_a_place_is_divided_by_what_the_holders_wait_for() {
    let rows = [(0, "Write", 12 * 8192, 8192), (0, "Read", 0, 8192), (1000, "Read", 8192, 8192)];
    let found = replay(&die(12), Some(2), &rows);
    assert_eq!(parts(&found)[2], Parts::from([("admission", PROGRAM - 1000), ("host_read", READ), ("service", READ)]));
    let half = (PROGRAM - 1000) / 2;
    assert_eq!(divided(&found, "admission_")[2], Parts::from([("host_program", half), ("service", half)]));
    // Of a request that waits longer than the one before, what came between is known too.
    let rows = [rows[0], rows[1], (1000, "Read", 8192, 8192), (1000, "Read", 2 * 8192, 8192)];
    let found = replay(&die(12), Some(2), &rows);
    let last = Parts::from([("host_program", half), ("host_read", READ / 2), ("service", half + READ / 2)]);
    assert_eq!(divided(&found, "admission_")[3], last);
}

/// The collector of a plane holds the places that writes have: a read of another die waits for what they wait for.
#[test]
fn holders_of_places_wait_for_collections() {
    let mut config = plain(1, 1, 2, 1, 16, 12);
    let mut source = generator("uniform", 8192, 0.5, config.device.user_capacity);
    source.interval = Duration(800_000);
    config.workload.source = Source::Generator(source);
    (config.host.replay, config.host.queue_depth) = (Replay::Open, Some(4));
    config.run.per_request = true;
    let found = outcome(&config);
    let (all, held) = (parts(&found), divided(&found, "admission_"));
    let of = |all: &[Parts], name: &str| all.iter().map(|parts| parts.get(name).copied().unwrap_or(0)).sum::<u64>();
    let (admission, gc) = (of(&all, "admission"), of(&held, "gc") + of(&held, "erase"));
    assert!(admission > of(&all, "service"), "the device is overloaded: {admission}");
    assert!(gc * 2 > admission, "{gc} of {admission}");
    let summary = &found.summary["latency_parts"];
    assert_eq!(summary["dies"]["count"], 2);
    let served = summary["dies"]["reads"].as_u64().unwrap() + summary["dies"]["programs"].as_u64().unwrap();
    let host = &found.summary["flash"]["by_cause"]["host"];
    assert_eq!(served, host["reads"].as_u64().unwrap() + host["programs"].as_u64().unwrap());
}

#[test]
fn a_write_of_part_of_a_page_waits_for_the_old_version() {
    let part = [("old_version", READ), ("service", PROGRAM)];
    check(&die(12), &[(0, "Write", 512, 512)], &[&part]);
    // The read of the old version waits for a read of the host.
    let both = [(0, "Read", 8192, 8192), (0, "Write", 512, 512)];
    let behind = [("host_read", READ), ("old_version", READ), ("service", PROGRAM)];
    check(&die(12), &both, &[&[("service", READ)], &behind]);
}

#[test]
fn a_write_waits_for_room_in_the_buffer() {
    let mut config = die(0);
    let params = [("size", base::ParamValue::Size(8192)), ("release", "programmed".into())];
    choose(&mut config.ftl, "write_buffer", "fifo", &params);
    let writes = [(0, "Write", 0, 8192), (1000, "Write", 8192, 8192)];
    check(&config, &writes, &[&[], &[("buffer", PROGRAM - 1000)]]);
    let found = replay(&config, Some(64), &writes);
    assert_eq!(divided(&found, "buffer_")[1], Parts::from([("host_program", PROGRAM - 1000)]));
    // The buffered page waits for a read.
    config = die(12);
    choose(&mut config.ftl, "write_buffer", "fifo", &params);
    let rows = [(0, "Read", 0, 8192), (0, "Write", 0, 8192), (1000, "Write", 8192, 8192)];
    let found = replay(&config, Some(64), &rows);
    let waits = Parts::from([("host_read", READ - 1000), ("host_program", PROGRAM)]);
    assert_eq!(parts(&found)[2], Parts::from([("buffer", READ - 1000 + PROGRAM)]));
    assert_eq!(divided(&found, "buffer_")[2], waits);
    // A read waits for a place that a write holds which waits for room.
    let rows = [rows[0], rows[1], (1000, "Write", 8192, 8192), (1000, "Read", 8192, 8192)];
    let found = replay(&config, Some(1), &rows);
    let last = parts(&found).len() - 1;
    assert!(divided(&found, "admission_")[last].contains_key("buffer"), "{:?}", divided(&found, "admission_")[last]);
    assert!(divided(&found, "buffer_")[last].contains_key("host_program"), "{:?}", divided(&found, "buffer_")[last]);
}

#[test]
fn a_read_behind_writes_that_wait_for_room_waits_if_commands_keep_their_order() {
    let with = |reads: &'static str| {
        let mut config = die(12);
        let params = [("size", base::ParamValue::Size(8192)), ("reads", reads.into())];
        choose(&mut config.ftl, "write_buffer", "fifo", &params);
        config
    };
    // The first write is being programmed, the second one waits for its room, and the read comes after both.
    let rows = [(0, "Write", 0, 8192), (1000, "Write", 8192, 8192), (2000, "Read", 3 * 8192, 8192)];
    let waits: Parts = Parts::from([("buffer", PROGRAM - 1000)]);
    let of_read = |reads| {
        let found = replay(&with(reads), Some(64), &rows);
        assert_eq!(parts(&found)[1], waits);
        (parts(&found)[2].clone(), divided(&found, "buffer_")[2].clone())
    };
    let service = ("service", READ);
    let (passes, nothing) = of_read("pass");
    assert_eq!((passes, nothing), (Parts::from([("host_program", PROGRAM - 2000), service]), Parts::new()));
    // Its turn comes when the second write is in the buffer, whose flush goes first.
    let (waits, room) = of_read("wait");
    assert_eq!(waits, Parts::from([("buffer", PROGRAM - 2000), ("host_program", PROGRAM), service]));
    assert_eq!(room, Parts::from([("host_program", PROGRAM - 2000)]));
    // A page that was never written comes over the link alone.
    let mut linked = with("wait");
    linked.host.link = Some(3_500_000_017);
    let link = 2_341;
    let found = replay(&linked, Some(64), &[rows[0], rows[1], (10_000, "Read", 40 * 8192, 8192)]);
    assert_eq!(parts(&found)[2], Parts::from([("buffer", link + PROGRAM - 10_000), ("link", link)]));
    // One that comes when nobody waits for room does not wait, and neither does one that finds its page in the buffer then.
    let early = [(0, "Write", 0, 8192), (1000, "Read", 0, 8192), (2000, "Read", 3 * 8192, 8192)];
    for reads in ["pass", "wait"] {
        let found = replay(&with(reads), Some(64), &early);
        assert_eq!(parts(&found)[1..], [Parts::new(), Parts::from([("host_program", PROGRAM - 2000), service])]);
    }
}

#[test]
fn a_read_waits_for_its_map_entry() {
    let mut config = die(0);
    config.device.page_size = 512;
    config.device.user_capacity = 100 * 512;
    choose(&mut config.ftl, "allocation", "CWDP", &[]);
    choose(&mut config.ftl, "mapping", "dftl", &[("cache", base::ParamValue::Size(16))]);
    config.run.precondition = Precondition::Sequential { volume: 100 * 512 };
    let read = 75_000 + 512_000_000_000u64.div_ceil(200_000_000);
    // It takes the place of one that has to be written to its page first.
    let written_back = read + 1_600_000 + read - 75_000;
    check(&config, &[(0, "Read", 0, 512)], &[&[("map", written_back + read), ("service", read)]]);
}

/// One plane, nearly full, one write after the other: they wait for nothing but the moves and erases of collections.
#[test]
fn a_write_waits_for_a_collection() {
    let mut config = plain(1, 1, 1, 1, 16, 12);
    config.run.per_request = true;
    let found = parts(&outcome(&config));
    let collected: Vec<&Parts> = found.iter().filter(|parts| parts.contains_key("erase")).collect();
    assert!(collected.len() > 50, "{} of {}", collected.len(), found.len());
    for parts in &collected {
        assert_eq!((parts["erase"] % ERASE, parts["service"]), (0, PROGRAM));
        assert!(parts.get("gc").is_none_or(|gc| gc % (READ + PROGRAM) == 0), "pages that were moved: {parts:?}");
        assert!(parts.keys().all(|name| ["erase", "gc", "service"].contains(name)), "{parts:?}");
    }
    assert!(collected.iter().any(|parts| parts.contains_key("gc")));
}

#[test]
fn a_read_waits_for_a_refresh() {
    let mut config = plain(1, 1, 1, 1, 24, 12);
    config.device.wear.read_limit = Some([60, 60]);
    choose(&mut config.ftl, "read_disturb", "refresh", &[("margin", 12.into())]);
    let footprint = 12 * 12 * 8192;
    config.run.precondition = Precondition::Sequential { volume: footprint };
    config.workload.source = Source::Generator(generator("uniform", 8192, 1.0, footprint));
    config.host.queue_depth = Some(4);
    config.run.per_request = true;
    let found = parts(&outcome(&config));
    let waited = found.iter().filter(|parts| parts.get("refresh").is_some_and(|&ns| ns >= READ)).count();
    assert!(waited > 10, "{waited} of {}", found.len());
}

/// A page of a dynamic allocation waits for whichever die: for the mean of what they do.
#[test]
fn a_shared_wait_is_divided_as_the_time_of_the_dies() {
    let mut config = plain(1, 1, 2, 1, 16, 12);
    choose(&mut config.ftl, "allocation", "F", &[]);
    let writes = [(0, "Write", 0, 8192), (0, "Write", 8192, 8192), (0, "Write", 2 * 8192, 8192)];
    let third = [("channel", BUS / 2), ("host_program", PROGRAM - BUS / 2), ("service", PROGRAM)];
    check(&config, &writes, &[&[("service", PROGRAM)], &[("channel", BUS), ("service", PROGRAM)], &third]);
}

fn without_parts(mut summary: Value) -> Value {
    let object = summary.as_object_mut().expect("an object");
    object.retain(|key, _| key != "latency_parts" && key != "config");
    summary
}

/// Checks a random case; the parts that took time. That those of each request add up, the recorder asserts.
fn attempt(config: &Config, what: &str) -> BTreeSet<&'static str> {
    let plain = outcome(config);
    let mut config = config.clone();
    config.run.per_request = true;
    let split = outcome(&config);
    let (before, after) = (deterministic(&plain.summary), deterministic(&split.summary));
    assert_eq!(without_parts(before), without_parts(after), "{what}: the split changes nothing");
    let requests = table(&split, "requests");
    let latencies = numbers(requests, "latency_ns");
    let found = parts(&split);
    let (places, room) = (divided(&split, "admission_"), divided(&split, "buffer_"));
    for ((parts, places), room) in found.iter().zip(&places).zip(&room) {
        let of = |all: &Parts, name: &str| all.get(name).copied().unwrap_or(0);
        let sum = |all: &Parts| all.values().sum::<u64>();
        assert_eq!(sum(places), of(parts, "admission"), "{what}: {parts:?}, {places:?}");
        assert_eq!(sum(room), of(parts, "buffer") + of(places, "buffer"), "{what}: {parts:?}, {places:?}, {room:?}");
        let never = ["admission", "link", "correction", "service"];
        assert!(never.iter().all(|name| !room.contains_key(name)), "{what}: {room:?}");
    }
    let Some(Column::Text(kinds)) = requests.column("kind") else { panic!("no kinds") };
    for kind in ["read", "write"] {
        let of_kind: Vec<u64> = kinds.iter().zip(latencies).filter(|(k, _)| **k == kind).map(|(_, ns)| *ns).collect();
        let host = &split.summary["host"];
        assert_eq!(host[format!("{kind}s")], of_kind.len(), "{what}: a row for each");
        if let Some(mean) = host[format!("{kind}_latency_us")]["mean"].as_f64() {
            let sum = of_kind.iter().sum::<u64>() as f64 / 1e3;
            assert!((mean * of_kind.len() as f64 - sum).abs() <= 1e-9 * sum, "{what}: the latencies of the histogram");
        }
    }
    found.iter().flat_map(|parts| parts.keys().copied()).collect()
}

/// Open and closed loops, dynamic and static allocations, buffers with FUA, maps in flash, twin blocks, refreshes.
#[test]
fn parts_add_up_on_any_device() {
    let mut seen = BTreeSet::new();
    for seed in 0..80 {
        let mut config = random_config(seed + 6_000_000);
        (config.run.executor, config.run.checks) = (Executor::Timed, Checks::Fast);
        let path = temporary("csv");
        if seed % 2 == 0 {
            std::fs::write(&path, random_trace(seed, config.device.user_capacity, 100)).unwrap();
            config.workload.source = Source::Trace { path: path.display().to_string() };
            config.workload.end = End { rounds: Some(1), ..End::default() };
            config.host.replay = [Replay::Open, Replay::Closed, Replay::Batch][seed as usize / 2 % 3];
            if config.host.replay == Replay::Open && seed % 4 == 0 {
                config.host.queue_depth = None;
            }
        }
        config.host.link = [None, Some(150_000_001), Some(3_500_000_000)][seed as usize % 3];
        let [time, interval] = [[0, 0], [8_000, 0], [9_001, 1_003], [0, 700]][seed as usize % 4];
        (config.host.command_time, config.host.command_interval) = (Duration(time), Duration(interval));
        if seed % 5 < 3 && config.in_step().parts() == 1 {
            let mut sectors = base::Selection::default_of(&base::transfer::READ_TRANSFER.choices[1]);
            sectors.set("codeword", base::ParamValue::Size(512));
            *config.device.features.get_mut("read_transfer") = sectors;
        }
        if seed % 4 == 1 && config.in_step().parts() == 1 {
            *config.device.features.get_mut("slow_die") = Selection::default_of(&base::slow_die::SLOW_DIE.choices[1]);
        }
        if seed % 3 == 0 && config.in_step().parts() == 1 {
            equip(&mut config.device, "media", "formula", &[]);
        }
        seen.extend(attempt(&config, &format!("case {seed}")));
        let _ = std::fs::remove_file(&path);
    }
    let absent: Vec<&str> =
        LatencyPart::ALL.iter().map(|part| part.name()).filter(|name| !seen.contains(name)).collect();
    // There is one host.
    let rare = ["refresh", "suspend", "other_tenant"];
    assert!(absent.iter().all(|name| rare.contains(name)), "not met: {absent:?}");
}

#[test]
fn latencies_of_no_time_are_refused() {
    let mut config = plain(1, 1, 1, 1, 16, 12);
    config.run.executor = Executor::Count;
    config.run.latency_parts = true;
    let refusal = device::check(&config).expect_err("`count` has no time").to_string();
    assert!(refusal.contains("`run.latency_parts`") && refusal.contains("run.executor"), "{refusal}");
}
