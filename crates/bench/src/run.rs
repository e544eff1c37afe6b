//! The engine under measurement.

use std::path::Path;

use config::Config;
use serde_json::Value;

use crate::Failure;
use crate::cases::{EngineRun, FtlSet, HUGE_IS_AGED, Mix, Size};
use crate::child::Measurement;

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
