//! One simulation.

use std::cell::Cell;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use base::Instant as SimulatedInstant;
use config::{Config, Loaded};
use device::{Options, Outcome, TimelineSpec};
use metrics::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::caller::Caller;
use crate::configs::Given;
use crate::{configs, errors, guard, tables};

/// Runs one simulation, or of a configuration that asks for samples the one of this number, with the interpreter released; returns the summary as JSON text, the tables, and what of its
/// files could not be written.
///
/// `progress(phase, simulated_s, requests, bytes_written, fraction, erases)` is called about ten times a second. An
/// exception that it raises, or Ctrl-C on the main thread, stops the run and is raised here.
#[pyfunction]
#[pyo3(signature = (
    kind, source, sets, trace=None, *, timeline=None, timeline_window_ns=None, save_state=None, image=None, progress=None,
    sample=0
))]
#[allow(clippy::too_many_arguments)] // The Python signature, all but three by keyword.
pub(crate) fn run<'py>(
    py: Python<'py>,
    kind: &str,
    source: Given,
    sets: Vec<String>,
    trace: Option<String>,
    timeline: Option<PathBuf>,
    timeline_window_ns: Option<(u64, u64)>,
    save_state: Option<PathBuf>,
    image: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    sample: u32,
) -> PyResult<(String, Bound<'py, PyDict>, Vec<String>)> {
    let seed = Cell::new(None);
    let replay = || replay_line(kind, &source, &sets, trace.as_deref(), seed.get());
    let outcome = guard::run(replay, || {
        let caller = Caller::new(progress);
        let (trace, saves_state) = (trace.as_deref(), save_state.is_some());
        let loaded = py.detach(|| configs::load_to_run(kind, &source, &sets, trace, saves_state, &caller));
        let Loaded { config: whole, notes, .. } = caller.result(loaded, |error| error)?;
        seed.set(Some(whole.run.seed));
        let config = configs::simulated(&whole, sample);
        if saves_state && whole.run.sample.is_some() {
            return Err(errors::config(
                "error: the state of a sample is not that of the device, so it is not saved\nhint: set `run.sample` to \"off\"",
            ));
        }
        let timeline = timeline.map(|path| {
            let (from, to) = timeline_window_ns.unwrap_or((0, u64::MAX));
            TimelineSpec { path, window: SimulatedInstant(from)..SimulatedInstant(to) }
        });
        let result = py.detach(|| {
            let mut tell = |now: &Progress| caller.tell(&of_all(now, &whole, sample));
            let interrupt = caller.interrupt();
            let progress: Option<&mut dyn FnMut(&_) -> bool> = Some(&mut tell);
            let options = Options { progress, interrupt, timeline, save_state, image, ..Options::default() };
            device::simulate(&config, &mut { options })
        });
        caller.result(result, |error| match error {
            error @ device::RunError::StandsStill(_) => errors::failed(format!(
                "{error}\nThis is a fault of ftlab, not of the input; please report it with the line below.\nreplay: {}",
                replay()
            )),
            error => errors::run(error),
        })
        .map(|outcome| (outcome, whole, notes))
    })?;
    let (Outcome { mut summary, tables, unwritten }, whole, notes) = outcome;
    summary["config"] = config::to_json(&whole);
    summary["seed"] = whole.run.seed.into();
    if !notes.is_empty() {
        summary["rounded"] = notes.into();
    }
    Ok((summary.to_string(), tables::to_python(py, tables)?, unwritten))
}

/// How far all samples are while this one runs.
fn of_all(now: &Progress, whole: &Config, sample: u32) -> Progress {
    let of = whole.run.sample.map_or(1, |samples| samples.hashes);
    Progress { fraction: now.fraction.map(|done| (f64::from(sample) + done) / f64::from(of)), ..*now }
}

/// The command that repeats a run.
fn replay_line(kind: &str, source: &Given, sets: &[String], trace: Option<&str>, seed: Option<u64>) -> String {
    let mut line = String::from("ftlab run ");
    let config = match kind {
        "file" | "argument" => source.path(),
        // One that was in memory lies beside, for whoever is to repeat the run.
        _ => keep(kind, &source.path())
            .unwrap_or_else(|| PathBuf::from(format!("<{kind} of {} bytes>", source.path().as_os_str().len()))),
    };
    line.push_str(&quoted(&config.to_string_lossy()));
    for set in sets {
        line.push_str(&format!(" --set {}", quoted(set)));
    }
    if let Some(trace) = trace {
        line.push_str(&format!(" --trace {}", quoted(trace)));
    }
    match seed {
        Some(seed) => line.push_str(&format!("  # seed {seed}, ftlab {}", env!("CARGO_PKG_VERSION"))),
        None => line.push_str(&format!("  # ftlab {}", env!("CARGO_PKG_VERSION"))),
    }
    line
}

/// Writes a configuration that was in memory to a file that is called after its content; its name, if there is room for it
/// in the working directory or among temporary files.
fn keep(kind: &str, config: &Path) -> Option<PathBuf> {
    let text = config.to_str()?;
    let mut hasher = std::hash::DefaultHasher::new();
    text.hash(&mut hasher);
    let name = format!("ftlab-replay-{:016x}.{}", hasher.finish(), if kind == "json" { "json" } else { "toml" });
    let there = [PathBuf::from(&name), std::env::temp_dir().join(&name)];
    there.into_iter().find(|path| std::fs::write(path, text).is_ok())
}

/// As a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
