//! Deterministic windows: what begins in them, when the drive leaves them, and what reads take there.

use base::{Instant, ParamValue};
use device::{Options, TimelineSpec};
use metrics::{Column, Table};

use super::split::{PROGRAM, READ};
use super::*;

const MS: u64 = 1_000_000;

/// Windows on two dies of two planes, half of whose requests are reads, one every so many nanoseconds.
fn windows(stock: u32, lengths: [u64; 2], interval: u64) -> Config {
    let mut config = plain(2, 1, 1, 2, 64, 16);
    let page = page(&config);
    config.host = Host::new(Replay::Open, None);
    config.device.user_capacity = 2600 * page;
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    let mut generator = generator("uniform", page, 0.5, config.device.user_capacity);
    generator.interval = Duration(interval);
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(4000), ..End::default() };
    keep(&mut config, stock, lengths);
    config
}

fn keep(config: &mut Config, stock: u32, [deterministic, nondeterministic]: [u64; 2]) {
    let params = [
        ("stock", ParamValue::Integer(stock)),
        ("deterministic", Duration(deterministic).into()),
        ("nondeterministic", Duration(nondeterministic).into()),
    ];
    choose(&mut config.ftl, "gc_schedule", "windows", &params);
}

fn seconds<'a>(table: &'a Table, name: &str) -> &'a [f64] {
    let Some(Column::F64(values)) = table.column(name) else { panic!("a column {name}") };
    values
}

/// A run, and the operations that began in a window and may not: their names and instants.
fn watched(config: &Config) -> (Value, Vec<String>) {
    let path = temporary("json");
    let spec = TimelineSpec { path: path.clone(), window: Instant::ZERO..Instant::NEVER };
    let outcome = device::simulate(config, &mut Options { timeline: Some(spec), ..Options::default() }).expect("a run");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let table = outcome.tables.iter().find(|table| table.name == "windows").expect("a table of windows");
    let ns = |seconds: &f64| (seconds * 1e9).round() as u64;
    let spans = seconds(table, "from_s").iter().map(ns).zip(seconds(table, "to_s").iter().map(ns)).collect::<Vec<_>>();
    let timeline: Value = serde_json::from_str(&text).expect("JSON");
    let disturbs = |event: &&Value| {
        let cause = event["cat"].as_str().unwrap_or("");
        event["ph"] == "X"
            && (["gc", "refresh", "wear", "fold"].contains(&cause)
                || event["name"].as_str().is_some_and(|name| name.ends_with("erase")))
    };
    let begun = timeline["traceEvents"].as_array().expect("events").iter().filter(disturbs);
    let inside = begun.filter_map(|event| {
        let at = (event["ts"].as_f64().expect("a time") * 1e3).round() as u64;
        let is_inside = spans.iter().any(|&(from, to)| (from..to).contains(&at));
        is_inside.then(|| format!("{} at {at} ns", event["name"]))
    });
    (outcome.summary, inside.collect())
}

/// Whatever places pages and chooses commands, and whether the drive has to leave windows or not.
#[test]
fn no_collection_and_no_erase_begins_in_a_window() {
    let mut excursions = 0.0;
    for allocation in ["CWDP", "F"] {
        for (interval, buffered, scheduler) in
            [(2 * MS, false, "fifo"), (2 * MS, true, "paq"), (MS, false, "paq"), (MS / 2, true, "fifo")]
        {
            let mut config = windows(3, [60 * MS, 150 * MS], interval);
            choose(&mut config.ftl, "allocation", allocation, &[]);
            choose(&mut config.ftl, "scheduler", scheduler, &[]);
            if buffered {
                let size = 16 * page(&config);
                choose(&mut config.ftl, "write_buffer", "fifo", &[("size", ParamValue::Size(size))]);
            }
            let (summary, inside) = watched(&config);
            let what = format!("{allocation}, every {interval} ns, buffer {buffered}, {scheduler}");
            assert!(inside.is_empty(), "{what}: {} operations, the first {}", inside.len(), inside[0]);
            assert!(figure(&summary, "windows.begun") > 3.0, "{what}: {}", summary["windows"]);
            assert!(figure(&summary, "gc.invocations") > 20.0, "{what}");
            excursions += figure(&summary, "windows.excursions");
        }
    }
    assert!(excursions > 0.0, "some have to collect in a window");
}

/// Writes one after the other fill all planes alike. As long as those of a window fit into the stock the drive stays in it; where they
/// do not fit into the stock and what is left of open blocks, it leaves every one.
#[test]
fn a_drive_stays_in_its_windows_as_long_as_the_stock_lasts() {
    let (stock, pages, planes, length) = (4, 16, 4, 500 * MS);
    for (interval, stays) in
        [(4 * MS, true), (length / (stock * pages * planes - 4), true), (length * 10 / 3330, false)]
    {
        let mut config = windows(stock as u32, [length, length], interval);
        choose(&mut config.ftl, "allocation", "CWDP", &[]);
        // Nearly full from the beginning; and victims hold nothing that is valid, so that the stock is there in time.
        config.device.user_capacity = 3640 * page(&config);
        config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
        let mut generator = generator("sequential", page(&config), 0.0, config.device.user_capacity);
        generator.interval = Duration(interval);
        config.workload.source = Source::Generator(generator);
        config.workload.end = End { requests: Some(8 * length / interval), ..End::default() };
        let (summary, inside) = watched(&config);
        assert!(inside.is_empty(), "{inside:?}");
        let [begun, missed, excursions] =
            ["begun", "missed", "excursions"].map(|name| figure(&summary, &format!("windows.{name}")));
        assert!(begun >= 3.0 && missed == 0.0, "{}", summary["windows"]);
        assert_eq!(excursions, if stays { 0.0 } else { begun }, "every {interval} ns: {}", summary["windows"]);
        let share = figure(&summary, "windows.share");
        assert!(if stays { share > 0.45 } else { share < 0.45 }, "{share}");
    }
}

/// A read inside a window waits for programs, and for no collection.
#[test]
fn reads_in_windows_wait_for_no_collection() {
    let (summary, _) = watched(&windows(4, [100 * MS, 300 * MS], 2 * MS));
    assert_eq!(figure(&summary, "windows.excursions"), 0.0);
    let of = |place: &str, figure_of: &str| figure(&summary, &format!("windows.{place}.read_latency_us.{figure_of}"));
    // Behind a program and a read, each with its way.
    assert!(of("inside", "p99") < 5000.0 && of("outside", "max") > 5000.0, "{}", summary["windows"]);
    assert!(of("inside", "mean") < of("outside", "mean"), "{}", summary["windows"]);
    let reads = ["inside", "outside"].map(|place| figure(&summary, &format!("windows.{place}.reads")));
    assert_eq!(reads[0] + reads[1], figure(&summary, "host.reads"));
}

/// Collections ahead of the next window end with the host: what they would copy later belongs to no write of it.
#[test]
fn collections_for_a_window_end_with_the_last_request() {
    let mut config = windows(12, [10 * MS, 1000 * MS], MS);
    let Source::Generator(generator) = &mut config.workload.source else { panic!("a generator") };
    generator.read_fraction = 1.0;
    config.workload.end = End { requests: Some(3), ..End::default() };
    let (summary, _) = watched(&config);
    let moved = figure(&summary, "gc.moved_pages");
    // A page of each of four planes takes a program, of which there is time for a few.
    let most = 4.0 * (figure(&summary, "host.simulated_s") * 1e9 / (PROGRAM + READ) as f64 + 2.0);
    assert!(moved > 0.0 && moved <= most, "{moved} pages, at most {most}: {}", summary["gc"]);
    assert_eq!(figure(&summary, "gc.invocations"), 0.0);
}
