//! The summary object `ftlab.summary/1`.
//!
//! Keys come in a fixed order; units are in their names; fractions are 0..1; a figure that is not defined is
//! `null`, never NaN and never 0. MB and GB are 10^6 and 10^9 bytes.

use base::{Cause, OpKind, RequestKind};
use serde_json::{Map, Value, json};

use crate::counters::{Counters, ratio};
use crate::recorder::Recorder;
use crate::usage::Usage;
use crate::wear::Wear;

/// What a summary is made of.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The version of the program.
    pub version: &'a str,
    /// The seed of the run.
    pub seed: u64,
    /// The resolved configuration.
    pub config: Value,
    /// The finished measurement.
    pub recorder: &'a Recorder,
    /// The state of the blocks at the end.
    pub wear: Wear<'a>,
    /// Figures of the policies in force.
    pub policy: Map<String, Value>,
    /// Cost of the measured part of the run; rates in `run` are per CPU second of it.
    pub usage: Usage,
}

/// The summary object.
pub fn summary(report: &Report<'_>) -> Value {
    let recorder = report.recorder;
    let counters = &recorder.counters;
    json!({
        "schema": "ftlab.summary/1",
        "ftlab_version": report.version,
        "seed": report.seed,
        "config": report.config,
        "host": host(recorder),
        "flash": flash(counters),
        "waf": counters.waf(),
        "gc": gc(counters),
        "utilisation": { "channel": channel(recorder), "die": die(recorder) },
        "wear": {
            "erases": report.wear.erases_json(),
            "effective_erases": report.wear.effective_json(),
            "moves": counters.wear_moves,
        },
        "policy": report.policy,
        "run": run(counters, &report.usage),
    })
}

/// The part of a summary that configuration, seed and version determine: everything but `run`.
pub fn deterministic(summary: &Value) -> Value {
    let mut summary = summary.clone();
    if let Some(object) = summary.as_object_mut() {
        // Not `remove`, which would move the last key into the gap.
        object.shift_remove("run");
    }
    summary
}

/// Rates count reads and writes, and so does `latency_us`; trims and flushes have their own figures.
fn host(recorder: &Recorder) -> Value {
    let c = &recorder.counters;
    let elapsed_ns = recorder.elapsed_ns();
    let timed = recorder.shape().timed;
    let per_second = |count: u64| if timed { ratio(count, elapsed_ns).map(|per_ns| per_ns * 1e9) } else { None };
    json!({
        "reads": c.host_reads,
        "writes": c.host_writes,
        "trims": c.host_trims,
        "bytes_read": c.bytes_read,
        "bytes_written": c.bytes_written,
        "simulated_s": (elapsed_ns > 0).then_some(elapsed_ns as f64 / 1e9),
        "iops": per_second(c.host_reads + c.host_writes),
        "read_iops": per_second(c.host_reads),
        "write_iops": per_second(c.host_writes),
        "throughput_mb_s": per_second(c.bytes_read + c.bytes_written).map(|bytes| bytes / 1e6),
        "latency_us": recorder.host_latency().to_json(),
        "read_latency_us": recorder.latency(RequestKind::Read).to_json(),
        "write_latency_us": recorder.latency(RequestKind::Write).to_json(),
        "flushes": c.host_flushes,
        "bytes_trimmed": c.bytes_trimmed,
        "unmapped_reads": c.unmapped_reads,
        "trim_latency_us": recorder.latency(RequestKind::Trim).to_json(),
        "flush_latency_us": recorder.latency(RequestKind::Flush).to_json(),
    })
}

fn flash(c: &Counters) -> Value {
    let by_cause: Map<String, Value> = Cause::ALL
        .iter()
        .map(|&cause| {
            let figures = json!({
                "reads": c.of(cause, OpKind::Read),
                "programs": c.of(cause, OpKind::Program),
                "erases": c.of(cause, OpKind::Erase),
                "copybacks": c.copybacks[cause as usize],
            });
            (cause.name().to_string(), figures)
        })
        .collect();
    json!({
        "page_reads": c.page_reads(),
        "page_programs": c.page_programs(),
        "block_erases": c.block_erases(),
        "copybacks": c.copybacks.iter().sum::<u64>(),
        "reprograms": c.reprograms,
        "by_cause": by_cause,
        "multiplane": {
            "read_fraction": c.multiplane_fraction(OpKind::Read),
            "program_fraction": c.multiplane_fraction(OpKind::Program),
            "erase_fraction": c.multiplane_fraction(OpKind::Erase),
        },
    })
}

fn gc(c: &Counters) -> Value {
    json!({
        "invocations": c.gc_invocations,
        "foreground": c.gc_foreground,
        "forward": c.gc_forward,
        "preempted": c.gc_preempted,
        "moved_pages": c.gc_moved_pages,
        "moved_per_victim": c.moved_per_victim(),
    })
}

/// `transfer` is all busy time; `host` (with the reads of read-modify-writes) and `gc` are parts of it, and
/// what other causes took is the rest. `idle` and `transfer` add up to 1.
fn channel(recorder: &Recorder) -> Value {
    let Some(lanes) = recorder.channel_fractions() else {
        return json!({ "host": null, "gc": null, "idle": null, "transfer": null });
    };
    let mean = |cause: Cause| lanes.iter().map(|lane| lane[cause as usize]).sum::<f64>() / lanes.len() as f64;
    let transfer = Cause::ALL.into_iter().map(mean).sum::<f64>();
    json!({
        "host": mean(Cause::Host) + mean(Cause::Rmw),
        "gc": mean(Cause::Gc),
        "idle": (1.0 - transfer).max(0.0),
        "transfer": transfer,
    })
}

fn die(recorder: &Recorder) -> Value {
    let Some(lanes) = recorder.die_fractions() else {
        return json!({ "read": null, "program": null, "erase": null, "idle": null });
    };
    let mean = |kind: OpKind| lanes.iter().map(|lane| lane[kind as usize]).sum::<f64>() / lanes.len() as f64;
    let (read, program, erase) = (mean(OpKind::Read), mean(OpKind::Program), mean(OpKind::Erase));
    json!({ "read": read, "program": program, "erase": erase, "idle": (1.0 - read - program - erase).max(0.0) })
}

fn run(c: &Counters, usage: &Usage) -> Value {
    let per_cpu_second = |count: u64| (usage.cpu_s > 0.0).then(|| count as f64 / usage.cpu_s);
    json!({
        "wall_s": usage.wall_s,
        "cpu_s": usage.cpu_s,
        "host_requests_per_s": per_cpu_second(c.requests()),
        "flash_ops_per_s": per_cpu_second(c.flash_ops()),
        "peak_rss_mb": usage.peak_rss_mb,
    })
}
