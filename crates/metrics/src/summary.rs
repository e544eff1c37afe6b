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

/// The parts of a summary.
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

/// The summary object. `latency_parts` is there where latencies were split, `tenants` where several hosts share the device, `windows`
/// where it promises deterministic ones.
pub fn summary(report: &Report<'_>) -> Value {
    let recorder = report.recorder;
    let counters = &recorder.totals();
    let mut summary = json!({
        "schema": "ftlab.summary/1",
        "ftlab_version": report.version,
        "seed": report.seed,
        "config": report.config,
        "host": host(recorder),
        "flash": flash(counters, recorder),
        "waf": counters.waf(recorder.shape().page_bytes),
        "waf_units": counters.waf_units(recorder.shape().has_wide_units),
        "gc": gc(counters),
        "utilisation": { "channel": channel(recorder), "die": die(recorder) },
        "wear": {
            "erases": report.wear.erases_json(),
            "effective_erases": report.wear.effective_json(),
            "moves": counters.wear_moves,
        },
        "policy": report.policy,
        "run": run(counters, recorder, &report.usage),
    });
    if let (Some(split), Some(object)) = (&recorder.split, summary.as_object_mut()) {
        object.insert("latency_parts".into(), split.to_json());
    }
    if let (Some(tenants), Some(object)) = (recorder.tenants(), summary.as_object_mut()) {
        object.insert("tenants".into(), tenants);
    }
    if let (Some(windows), Some(object)) = (&recorder.windows, summary.as_object_mut()) {
        object.insert("windows".into(), windows.to_json(recorder.elapsed_ns()));
    }
    summary
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
        "failed_reads": c.failed_reads,
        "admission": recorder.admission.as_ref().map(|admission| admission.to_json()),
        "trim_latency_us": recorder.latency(RequestKind::Trim).to_json(),
        "flush_latency_us": recorder.latency(RequestKind::Flush).to_json(),
    })
}

/// `suspends.overhead_s`: array time in which neither the operation went on nor reads were taken.
fn flash(c: &Counters, recorder: &Recorder) -> Value {
    let (suspends, cache_mode, retried) = (recorder.suspends(), recorder.cache_mode(), recorder.retried());
    let pages = |counted| in_pages(recorder, counted);
    let by_cause: Map<String, Value> = Cause::ALL
        .iter()
        .map(|&cause| {
            let figures = json!({
                "reads": c.of(cause, OpKind::Read),
                "programs": pages(c.of(cause, OpKind::Program)),
                "erases": c.of(cause, OpKind::Erase),
                "copybacks": pages(c.copybacks[cause as usize]),
            });
            (cause.name().to_string(), figures)
        })
        .collect();
    json!({
        "page_reads": c.page_reads(),
        "page_programs": pages(c.page_programs()),
        "block_erases": c.block_erases(),
        "copybacks": pages(c.copybacks.iter().sum()),
        "reprograms": pages(c.reprograms),
        "first_passes": c.first_passes,
        "by_cause": by_cause,
        "multiplane": {
            "read_fraction": c.multiplane_fraction(OpKind::Read),
            "program_fraction": c.multiplane_fraction(OpKind::Program),
            "erase_fraction": c.multiplane_fraction(OpKind::Erase),
        },
        "suspends": {
            "programs": suspends.map(|all| all.programs),
            "erases": suspends.map(|all| all.erases),
            "overhead_s": suspends.map(|all| all.overhead_ns as f64 / 1e9),
        },
        "cache_mode": {
            "reads": cache_mode.map(|all| all.reads),
            "programs": cache_mode.map(|all| all.programs),
        },
        "retried": {
            "pages": retried.map(|all| all.pages),
            "soft": retried.map(|all| all.soft),
            "uncorrectable": retried.map(|all| all.uncorrectable),
            "lost": retried.map(|all| all.lost),
        },
    })
}

/// Pages that were counted, in pages of the flash: a whole number, unless a page has map units for several causes.
fn in_pages(recorder: &Recorder, counted: u64) -> Value {
    let pages = recorder.shape().flash_pages(counted);
    if pages.fract() == 0.0 { json!(pages as u64) } else { json!(pages) }
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
    let Some(resources) = recorder.channel_fractions() else {
        return json!({ "host": null, "gc": null, "idle": null, "transfer": null });
    };
    let mean =
        |cause: Cause| resources.iter().map(|resource| resource[cause as usize]).sum::<f64>() / resources.len() as f64;
    let transfer = Cause::ALL.into_iter().map(mean).sum::<f64>();
    json!({
        "host": mean(Cause::Host) + mean(Cause::Rmw) + mean(Cause::Pad),
        "gc": mean(Cause::Gc),
        "idle": (1.0 - transfer).max(0.0),
        "transfer": transfer,
    })
}

fn die(recorder: &Recorder) -> Value {
    let Some(resources) = recorder.die_fractions() else {
        return json!({ "read": null, "program": null, "erase": null, "idle": null });
    };
    let mean =
        |kind: OpKind| resources.iter().map(|resource| resource[kind as usize]).sum::<f64>() / resources.len() as f64;
    let (read, program, erase) = (mean(OpKind::Read), mean(OpKind::Program), mean(OpKind::Erase));
    json!({ "read": read, "program": program, "erase": erase, "idle": (1.0 - read - program - erase).max(0.0) })
}

fn run(c: &Counters, recorder: &Recorder, usage: &Usage) -> Value {
    let per_cpu_second = |count: f64| (usage.cpu_s > 0.0).then(|| count / usage.cpu_s);
    let flash_ops = (c.page_reads() + c.block_erases()) as f64 + recorder.shape().flash_pages(c.page_programs());
    json!({
        "wall_s": usage.wall_s,
        "cpu_s": usage.cpu_s,
        "host_requests_per_s": per_cpu_second(c.requests() as f64),
        "flash_ops_per_s": per_cpu_second(flash_ops),
        "peak_rss_mb": usage.peak_rss_mb,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::RecordedShape;
    use base::{Die, Dimensions, Geometry, InStep, Instant};

    fn recorder(timed: bool) -> Recorder {
        let mut recorder = Recorder::new(RecordedShape {
            channels: 2,
            dies: 2,
            timed,
            capacity_bytes: 1 << 30,
            page_bytes: 32768,
            flash_page_bytes: 32768,
            in_step: InStep::NONE,
            has_units: false,
            has_wide_units: false,
        });
        let at = |us: u64| Instant(if timed { us * 1000 } else { 0 });
        recorder.completed(RequestKind::Read, at(0), at(100), 8192);
        recorder.completed(RequestKind::Write, at(100), at(400), 16384);
        recorder.completed(RequestKind::Trim, at(400), at(410), 4096);
        recorder.completed(RequestKind::Flush, at(410), at(430), 0);
        let c = &mut recorder.counters;
        c.unmapped_reads = 1;
        c.command(Cause::Host, OpKind::Program, 2);
        c.count(Cause::Gc, OpKind::Read, 3);
        c.count(Cause::Gc, OpKind::Program, 1);
        c.copyback(Cause::Gc, 1, 1);
        c.count(Cause::Gc, OpKind::Erase, 1);
        c.gc_invocations = 1;
        c.gc_foreground = 1;
        c.gc_moved_pages = 2;
        c.wear_moves = 4;
        if timed {
            recorder.channel_busy(0, Cause::Host, at(0), at(200));
            recorder.channel_busy(0, Cause::Rmw, at(200), at(300));
            recorder.channel_busy(1, Cause::Gc, at(0), at(400));
            recorder.channel_busy(1, Cause::Mapping, at(500), at(600));
            recorder.die_busy(Die::new(0), OpKind::Read, at(0), at(500));
            recorder.die_busy(Die::new(1), OpKind::Program, at(0), at(250));
            recorder.die_busy(Die::new(1), OpKind::Erase, at(500), at(1000));
        }
        recorder.finish(at(1000));
        recorder
    }

    fn report(timed: bool) -> Value {
        let geometry = Geometry::new(Dimensions { blocks_per_plane: 2, pages_per_block: 4, ..Dimensions::ONE_PAGE });
        let recorder = recorder(timed);
        summary(&Report {
            version: "1.2.3",
            seed: u64::MAX,
            config: json!({"z": 1, "a": 2}),
            recorder: &recorder,
            wear: Wear { geometry: &geometry, erases: &[1, 3], effective: None, reads_since_erase: None },
            policy: Map::from_iter([("separation".to_string(), json!({"omega_p50": 0.5}))]),
            usage: Usage { wall_s: 4.0, cpu_s: 2.0, peak_rss_mb: None },
        })
    }

    const LATENCY: &str = "mean p50 p90 p99 p999 p9999 max";

    fn keys(value: &Value) -> String {
        value.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keys_have_their_names_and_order() {
        for timed in [false, true] {
            let s = report(timed);
            let expected = [
                ("", "schema ftlab_version seed config host flash waf waf_units gc utilisation wear policy run"),
                ("/config", "z a"),
                (
                    "/host",
                    "reads writes trims bytes_read bytes_written simulated_s iops read_iops write_iops \
                     throughput_mb_s latency_us read_latency_us write_latency_us \
                     flushes bytes_trimmed unmapped_reads failed_reads admission trim_latency_us flush_latency_us",
                ),
                ("/host/latency_us", LATENCY),
                ("/host/read_latency_us", LATENCY),
                ("/host/write_latency_us", LATENCY),
                ("/host/trim_latency_us", LATENCY),
                ("/host/flush_latency_us", LATENCY),
                (
                    "/flash",
                    "page_reads page_programs block_erases copybacks reprograms first_passes by_cause multiplane suspends cache_mode retried",
                ),
                ("/flash/by_cause", "host gc mapping refresh backup wear rmw pad retry fold"),
                ("/flash/by_cause/backup", "reads programs erases copybacks"),
                ("/flash/multiplane", "read_fraction program_fraction erase_fraction"),
                ("/flash/suspends", "programs erases overhead_s"),
                ("/flash/cache_mode", "reads programs"),
                ("/flash/retried", "pages soft uncorrectable lost"),
                ("/gc", "invocations foreground forward preempted moved_pages moved_per_victim"),
                ("/utilisation", "channel die"),
                ("/utilisation/channel", "host gc idle transfer"),
                ("/utilisation/die", "read program erase idle"),
                ("/wear", "erases effective_erases moves"),
                ("/wear/erases", "min mean max stddev"),
                ("/wear/effective_erases", "min mean max stddev"),
                ("/policy", "separation"),
                ("/run", "wall_s cpu_s host_requests_per_s flash_ops_per_s peak_rss_mb"),
            ];
            for (path, names) in expected {
                assert_eq!(keys(s.pointer(path).unwrap()), names, "{path}");
            }
            assert_eq!(s["schema"], "ftlab.summary/1");
            assert_eq!(s["seed"], u64::MAX);
        }
    }

    #[test]
    fn figures_of_a_timed_run() {
        let s = report(true);
        let host = &s["host"];
        assert_eq!(host["simulated_s"], 0.001);
        assert_eq!(
            (&host["iops"], &host["read_iops"], &host["write_iops"]),
            (&json!(2000.0), &json!(1000.0), &json!(1000.0))
        );
        assert_eq!(host["throughput_mb_s"], 24.576);
        assert_eq!(host["latency_us"]["mean"], 200.0);
        assert_eq!(host["latency_us"]["max"], 300.0);
        assert_eq!(host["read_latency_us"]["p50"], 100.0);
        assert_eq!(host["trim_latency_us"]["mean"], 10.0);
        assert_eq!(host["flush_latency_us"]["mean"], 20.0);
        assert_eq!(s["flash"]["by_cause"]["gc"], json!({"reads": 4, "programs": 2, "erases": 1, "copybacks": 1}));
        assert_eq!(
            s["flash"]["multiplane"],
            json!({"read_fraction": null, "program_fraction": 1.0, "erase_fraction": 0.0})
        );
        assert_eq!(s["waf"], 8.0, "4 pages of 32 KiB for 16 KiB that the host wrote");
        assert_eq!(s["waf_units"], 2.0, "4 pages, of which 2 for the host");
        assert_eq!(s["gc"]["moved_per_victim"], 2.0);
        let close = |path: &str, expected: f64| {
            let found = s.pointer(path).and_then(Value::as_f64).unwrap();
            assert!((found - expected).abs() < 1e-12, "{path}: {found}, not {expected}");
        };
        // Channel 0 spends 0.2 + 0.1 on the host, channel 1 0.4 on collection and 0.1 on the map.
        close("/utilisation/channel/host", 0.15);
        close("/utilisation/channel/gc", 0.2);
        close("/utilisation/channel/transfer", 0.4);
        close("/utilisation/channel/idle", 0.6);
        close("/utilisation/die/read", 0.25);
        close("/utilisation/die/program", 0.125);
        close("/utilisation/die/erase", 0.25);
        close("/utilisation/die/idle", 0.375);
        assert_eq!(s["wear"]["erases"], json!({"min": 1, "mean": 2.0, "max": 3, "stddev": 1.0}));
        assert_eq!(s["wear"]["moves"], 4);
        let run = json!({"wall_s": 4.0, "cpu_s": 2.0, "host_requests_per_s": 2.0, "flash_ops_per_s": 4.5, "peak_rss_mb": null});
        assert_eq!(s["run"], run, "4 requests and 9 operations in 2 CPU seconds");
    }

    #[test]
    fn without_time_the_figures_of_time_are_null() {
        let s = report(false);
        for path in ["/host/simulated_s", "/host/iops", "/host/throughput_mb_s", "/host/latency_us/mean"] {
            assert_eq!(s.pointer(path), Some(&Value::Null), "{path}");
        }
        assert!(s["utilisation"]["channel"].as_object().unwrap().values().all(Value::is_null));
        assert!(s["utilisation"]["die"].as_object().unwrap().values().all(Value::is_null));
        assert_eq!((&s["waf"], &s["waf_units"]), (&json!(8.0), &json!(2.0)));
        assert_eq!(s["host"]["reads"], 1);
    }

    #[test]
    fn only_the_cost_of_the_run_is_not_deterministic() {
        let full = report(true);
        let rest = deterministic(&full);
        assert_eq!(format!("{} run", keys(&rest)), keys(&full));
        assert_eq!(rest["host"], full["host"]);
    }
}
