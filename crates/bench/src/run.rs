//! The engine under measurement.

use std::path::Path;

use config::Config;
use metrics::Progress;
use serde_json::Value;

use crate::cases::{EngineRun, FtlSet, HUGE_IS_AGED, Mix, Size};
use crate::child::Measurement;
use crate::features::STEP;
use crate::{Failure, callgrind};

/// The device of the rows with targets.
pub(crate) const PRESET: &str = "tbm";

/// Host requests of a measured run: enough for a second or more of CPU time, and for every plane to have
/// collected several times.
pub(crate) fn requests(run: &EngineRun) -> u64 {
    let per_write = match (run.timed, run.size) {
        (true, _) => 1 << 20,
        (false, Size::Small) => 6 << 20,
        (false, _) => 12 << 20,
    };
    // Most flash operations come from writes, so the mixed workload is longer.
    if run.mix == Mix::Mixed { per_write * 2 } else { per_write }
}

/// The settings of a device, on top of the preset.
pub(crate) fn device(size: Size, choices: FtlSet) -> Vec<String> {
    let mut sets = vec![
        format!("device.blocks_per_plane={}", size.blocks_per_plane()),
        format!("device.user_capacity={}", u64::from(size.user_pages()) * 8192),
    ];
    let (channels, chips) = size.channels_and_chips();
    sets.extend([format!("device.channels={channels}"), format!("device.chips_per_channel={chips}")]);
    if choices == FtlSet::Static {
        sets.extend(["ftl.binding=static", "ftl.allocation=CWDP", "ftl.victim=greedy"].map(String::from));
    }
    sets
}

/// A configuration under measurement.
pub(crate) struct BenchSetup {
    /// The preset.
    pub(crate) preset: &'static str,
    pub(crate) timed: bool,
    /// Settings on top of it.
    pub(crate) sets: Vec<String>,
}

fn load(preset: &str, sets: &[String]) -> Result<Config, Failure> {
    device::load(&config::Base::Preset(preset.into()), sets, None)
        .map(|loaded| loaded.config)
        .map_err(|problems| Failure(format!("the benchmark's own configuration is refused: {problems}")))
}

fn simulate(config: &Config, save: Option<&Path>) -> Result<Value, Failure> {
    let mut options = device::Options { save_state: save.map(Path::to_owned), ..device::Options::default() };
    device::simulate(config, &mut options).map(|outcome| outcome.summary).map_err(|error| Failure(error.to_string()))
}

/// Runs the engine for so many requests, from a saved state.
pub(crate) fn measure(run: &EngineRun, state: &Path, requests: u64) -> Result<Measurement, Failure> {
    let mut sets = device(run.size, run.choices);
    sets.push(match run.size.is_huge() {
        true => format!("run.precondition.random={HUGE_IS_AGED}x"),
        false => format!("run.precondition.state={}", state.display()),
    });
    sets.extend([
        format!("host.queue_depth={}", run.depth),
        format!("workload.read_fraction={:?}", run.mix.read_fraction()),
    ]);
    carry_out(&BenchSetup { preset: PRESET, timed: run.timed, sets }, requests)
}

/// Runs a configuration for so many requests.
pub(crate) fn carry_out(setup: &BenchSetup, requests: u64) -> Result<Measurement, Failure> {
    let config = configuration(setup, requests)?;
    Ok(figures(&simulate(&config, None)?))
}

/// A configuration that ends after so many requests, whatever volume they come to.
pub(crate) fn configuration(setup: &BenchSetup, requests: u64) -> Result<Config, Failure> {
    let executor = if setup.timed { "timed" } else { "count" };
    let mut sets = setup.sets.clone();
    sets.extend([
        format!("run.executor={executor}"),
        format!("workload.requests={requests}"),
        "workload.volume=1000x".into(),
    ]);
    load(setup.preset, &sets)
}

/// The figures of a summary that the benchmark reports.
fn figures(summary: &Value) -> Measurement {
    let number = |path: &str| summary.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let cpu_s = number("/run/cpu_s");
    let operations: f64 =
        ["page_reads", "page_programs", "block_erases"].iter().map(|kind| number(&format!("/flash/{kind}"))).sum();
    let mut figures = Measurement::default();
    figures.set("ops_per_s", operations / cpu_s);
    figures.set("writes_per_s", number("/host/writes") / cpu_s);
    figures.set("requests_per_s", number("/run/host_requests_per_s"));
    figures.set("waf", number("/waf_units"));
    figures.set("cpu_s", cpu_s);
    if let Some(iops) = summary.pointer("/host/iops").and_then(Value::as_f64) {
        figures.set("iops", iops);
    }
    figures.set("operations", operations);
    figures
}

/// A part of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunPart {
    /// Requests before it.
    pub(crate) from: u64,
    /// Requests of it, at least.
    pub(crate) requests: u64,
}

/// Turns of the loop, and 4 KiB of requests that it lets in, between two reports of progress.
const REPORT_EVERY: f64 = 1024.0;

/// Bytes of a unit in the figures of drives: a map unit of most of them.
const UNIT: f64 = 4096.0;

/// The work of a run from its beginning on.
struct Work {
    summary: Value,
    /// Turns of the loop: instants, mostly.
    turns: f64,
}

impl Work {
    /// Runs a configuration for so many requests.
    fn of(setup: &BenchSetup, requests: u64) -> Result<Work, Failure> {
        let config = configuration(setup, requests)?;
        let mut reports = 0.0;
        let mut count = |now: &Progress| {
            reports += f64::from(u8::from(now.phase == "run"));
            true
        };
        let mut options = device::Options { progress: Some(&mut count), ..device::Options::default() };
        let outcome = device::simulate(&config, &mut options).map_err(|error| Failure(error.to_string()))?;
        let mut work = Work { summary: outcome.summary, turns: 0.0 };
        let bytes = work.number("/host/bytes_read") + work.number("/host/bytes_written");
        work.turns = reports * REPORT_EVERY - work.requests() - bytes / UNIT;
        Ok(work)
    }

    fn number(&self, path: &str) -> f64 {
        self.summary.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    fn requests(&self) -> f64 {
        ["reads", "writes", "trims", "flushes"].map(|kind| self.number(&format!("/host/{kind}"))).iter().sum()
    }

    fn programmed_bytes(&self) -> f64 {
        self.number("/waf") * self.number("/host/bytes_written")
    }

    fn operations(&self) -> f64 {
        ["page_reads", "page_programs", "block_erases"].map(|kind| self.number(&format!("/flash/{kind}"))).iter().sum()
    }
}

/// Runs a configuration until its write buffer was filled twice, in steps of so many requests, and measures as many as are wanted behind
/// that. It is the difference of two runs, so what begins and ends them drops out. Percentiles are of both parts.
pub(crate) fn measure_steady(setup: &BenchSetup, step: u64, requests: u64) -> Result<Measurement, Failure> {
    let buffer = configuration(setup, 1)?.ftl.get("write_buffer").clone();
    let buffer = if buffer.name == "none" { 0 } else { buffer.size("size") };
    let mut from = step;
    let mut before = Work::of(setup, from)?;
    while before.number("/host/bytes_written") < 2.0 * buffer as f64 {
        from += step;
        before = Work::of(setup, from)?;
    }
    let all = Work::of(setup, from + requests)?;
    let of = |path: &str| all.number(path) - before.number(path);
    let (cpu_s, sent) = (of("/run/cpu_s"), all.requests() - before.requests());
    let operations = all.operations() - before.operations();
    let mut figures = Measurement::default();
    figures.set("from", from as f64);
    figures.set("ops_per_s", operations / cpu_s);
    figures.set("writes_per_s", of("/host/writes") / cpu_s);
    figures.set("requests_per_s", sent / cpu_s);
    figures.set("waf", (all.programmed_bytes() - before.programmed_bytes()) / of("/host/bytes_written"));
    figures.set("iops", sent / of("/host/simulated_s"));
    // A report forgets what lies above its mark, which with large requests is as much as the turns.
    if step == STEP {
        figures.set("turns_per_request", (all.turns - before.turns) / sent);
    }
    figures.set("units_per_request", (all.programmed_bytes() - before.programmed_bytes()) / UNIT / sent);
    figures.set("operations_per_request", operations / sent);
    for kind in ["read", "write"] {
        for quantile in ["p50", "p99", "p999"] {
            let found = all.number(&format!("/host/{kind}_latency_us/{quantile}"));
            if found.is_finite() {
                figures.set(format!("{kind}_{quantile}_us"), found);
            }
        }
    }
    Ok(figures)
}

/// Has callgrind count the instructions of a part of a run. The run ends with that.
pub(crate) fn count_part(setup: &BenchSetup, part: RunPart) -> Result<Measurement, Failure> {
    // What comes behind keeps the host busy until the end of the part.
    let config = configuration(setup, 2 * (part.from + part.requests))?;
    let (mut began, mut ended, mut failed) = (None, None, None);
    let mut watch = |now: &Progress| {
        let requests = if now.phase == "run" { now.requests } else { 0 };
        let asked = match began {
            None if requests >= part.from => {
                began = Some(requests);
                callgrind::start()
            }
            Some(first) if requests >= first + part.requests => {
                ended = Some(requests);
                callgrind::stop()
            }
            _ => Ok(()),
        };
        failed = asked.err();
        ended.is_none() && failed.is_none()
    };
    let mut options = device::Options { progress: Some(&mut watch), ..device::Options::default() };
    let outcome = device::simulate(&config, &mut options);
    match (failed, began, ended, outcome) {
        (Some(failure), ..) => Err(failure),
        (None, Some(began), Some(ended), _) => {
            let mut figures = Measurement::default();
            figures.set("from", began as f64);
            figures.set("requests", (ended - began) as f64);
            Ok(figures)
        }
        (.., Err(error)) => Err(Failure(error.to_string())),
        _ => Err(Failure("the run was over before its measured part".into())),
    }
}

/// Brings a device to its steady state and saves it. The file is an ordinary saved state.
pub(crate) fn age(size: Size, choices: FtlSet, path: &Path) -> Result<Measurement, Failure> {
    save_steady(PRESET, device(size, choices), path)
}

/// Brings a configuration to its steady state and saves it.
pub(crate) fn save_steady(preset: &str, mut sets: Vec<String>, path: &Path) -> Result<Measurement, Failure> {
    sets.push("run.precondition=steady".into());
    save(preset, sets, path)
}

/// Ages a configuration as it says, and saves it.
pub(crate) fn save(preset: &str, sets: Vec<String>, path: &Path) -> Result<Measurement, Failure> {
    let summary = simulate(&aging(preset, sets)?, Some(path))?;
    let mut figures = Measurement::default();
    // Some presets begin empty.
    if let Some(waf) = summary.pointer("/precondition/waf_units").and_then(Value::as_f64) {
        figures.set("waf", waf);
    }
    Ok(figures)
}

/// A configuration that is aged: with time, since some presets have what `count` refuses. Ageing itself takes none.
pub(crate) fn aging(preset: &str, mut sets: Vec<String>) -> Result<Config, Failure> {
    sets.push("workload.requests=1".into());
    load(preset, &sets)
}

/// Loads a saved state and runs one request: what that takes beside a device that begins empty, for each unit of the user's capacity.
pub(crate) fn load_state(
    preset: &str,
    sets: Vec<String>,
    path: &Path,
    is_counted: bool,
) -> Result<Measurement, Failure> {
    let with = |precondition: String| aging(preset, [&sets[..], &[precondition]].concat());
    let loading = with(format!("run.precondition.state={}", path.display()))?;
    let mut cpu_s = 0.0;
    if !is_counted {
        let stopwatch = metrics::Stopwatch::start();
        simulate(&with("run.precondition=none".into())?, None)?;
        cpu_s -= stopwatch.usage().cpu_s;
    }
    let stopwatch = metrics::Stopwatch::start();
    if is_counted {
        callgrind::start()?;
    }
    simulate(&loading, None)?;
    if is_counted {
        callgrind::stop()?;
    }
    cpu_s += stopwatch.usage().cpu_s;
    let units = loading.device.user_capacity as f64 / UNIT;
    let bytes = std::fs::metadata(path).map_err(|error| Failure::file(path, &error))?.len();
    let mut figures = Measurement::default();
    figures.set("units", units);
    figures.set("cpu_s", cpu_s);
    figures.set("ns_per_unit", cpu_s / units * 1e9);
    figures.set("bytes_per_unit", bytes as f64 / units);
    Ok(figures)
}

/// Ages a drive at its full size, as its preset says, and runs one request.
pub(crate) fn age_drive(preset: &str) -> Result<Measurement, Failure> {
    let stopwatch = metrics::Stopwatch::start();
    let summary = simulate(&aging(preset, Vec::new())?, None)?;
    let mut figures = Measurement::default();
    figures.set("cpu_s", stopwatch.usage().cpu_s);
    figures.set("waf", summary.pointer("/precondition/waf_units").and_then(Value::as_f64).unwrap_or(f64::NAN));
    Ok(figures)
}

/// Fills the full device, overwrites it once at random and runs one request in time: what the process takes
/// is the cost of preconditioning, and what it holds is the memory of the executor that holds more.
pub(crate) fn precondition() -> Result<Measurement, Failure> {
    let mut sets = device(Size::Full, FtlSet::Paper);
    sets.extend(
        ["run.executor=timed", "run.precondition.random=1x", "workload.requests=1", "workload.volume=1x"]
            .map(String::from),
    );
    let stopwatch = metrics::Stopwatch::start();
    let summary = simulate(&load(PRESET, &sets)?, None)?;
    let usage = stopwatch.usage();
    let mut figures = Measurement::default();
    figures.set("cpu_s", usage.cpu_s);
    figures.set("wall_s", usage.wall_s);
    figures.set("waf", summary.pointer("/precondition/waf_units").and_then(Value::as_f64).unwrap_or(f64::NAN));
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A read sends its command, takes the array, and sends its data. So a report of progress comes after as many turns as is assumed.
    #[test]
    fn turns_of_the_loop_are_counted() {
        let sets = [
            "device.blocks_per_plane=16",
            "device.user_capacity=1536MiB",
            "device.timing.command_overhead=1ns",
            "host.queue_depth=1",
            "workload.read_fraction=1.0",
        ];
        let setup = BenchSetup { preset: "tbm-small", timed: true, sets: sets.map(String::from).into() };
        let work = Work::of(&setup, 40_000).unwrap();
        let turns = work.turns / work.requests();
        assert!((turns - 3.0).abs() < 0.1, "{turns}");
    }
}
