//! Write amplification in bytes, `waf`, and in pages, `waf_units`.

use crate::common::*;
use config::model::*;
use serde_json::Value;

const BOTH: [Executor; 2] = [Executor::Count, Executor::Timed];

/// `tbm-small`, whose pages have 8 KiB, under uniform writes of that size.
fn written(executor: Executor, request_size: &str, sets: &[&str]) -> device::Outcome {
    let mut all = vec![
        "device.blocks_per_plane=12".to_string(),
        "device.over_provisioning=0.25".to_string(),
        format!("workload.request_size={request_size}"),
        "workload.generator=uniform".to_string(),
        "workload.volume=0.5x".to_string(),
        format!("run.executor={}", if executor == Executor::Count { "count" } else { "timed" }),
    ];
    all.extend(sets.iter().map(ToString::to_string));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    device::simulate(&preset("tbm-small", &all), &mut device::Options::default()).expect("a run")
}

fn column(outcome: &device::Outcome, name: &str) -> Vec<f64> {
    let series = outcome.tables.iter().find(|table| table.name == "series").expect("series");
    let Some(metrics::Column::F64(values)) = series.column(name) else { panic!("no column {name}") };
    values.clone()
}

/// Programmed ÷ written, by the counts of the summary.
fn by_hand(summary: &Value) -> f64 {
    figure(summary, "flash.page_programs") * 8192.0 / figure(summary, "host.bytes_written")
}

#[test]
fn a_write_of_part_of_a_page_costs_the_whole_page() {
    for executor in BOTH {
        let outcome = written(executor, "2KiB", &["run.precondition=steady"]);
        let summary = &outcome.summary;
        assert!(figure(summary, "waf_units") > 2.0, "{summary}");
        assert_eq!(figure(summary, "waf"), by_hand(summary));
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        close(figure(summary, "waf"), 4.0 * figure(summary, "waf_units"));
        close(figure(summary, "precondition.waf"), 4.0 * figure(summary, "precondition.waf_units"));
        if executor == Executor::Count {
            // A write is complete when it is programmed, so rows have both.
            let rows = column(&outcome, "waf").into_iter().zip(column(&outcome, "waf_units"));
            rows.filter(|(waf, _)| !waf.is_nan()).for_each(|(waf, units)| close(waf, 4.0 * units));
        }
    }
}

#[test]
fn writes_of_whole_pages_have_one_write_amplification() {
    for executor in BOTH {
        let summary = written(executor, "16KiB", &["run.precondition=steady"]).summary;
        assert!(figure(&summary, "waf") > 2.0);
        assert_eq!(summary["waf"], summary["waf_units"]);
        assert_eq!(summary["precondition"]["waf"], summary["precondition"]["waf_units"]);
    }
}

#[test]
fn what_a_write_buffer_takes_together_is_written_once() {
    for executor in BOTH {
        let buffer = ["ftl.write_buffer=fifo", "ftl.write_buffer.fifo.size=2MiB", "run.precondition=none"];
        let summary = written(executor, "2KiB", &[&buffer[..], &["workload.generator=sequential"]].concat()).summary;
        assert_eq!((figure(&summary, "waf"), figure(&summary, "waf_units")), (1.0, 1.0), "{executor:?}");
        // A few pages, again and again.
        let again = [&buffer[..], &["workload.footprint=1MiB"]].concat();
        let summary = written(executor, "8KiB", &again).summary;
        assert!(figure(&summary, "waf") < 0.1, "{}", summary["waf"]);
        assert_eq!(figure(&summary, "waf"), by_hand(&summary));
    }
}
