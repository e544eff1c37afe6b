//! One simulation.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use base::Instant as SimulatedInstant;
use device::{Options, Outcome, TimelineSpec};
use metrics::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::configs::Given;
use crate::{configs, errors, guard, tables};

/// Time between two calls of the progress function, and between two looks for Ctrl-C.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Runs one simulation with the interpreter released; returns the summary as JSON text and the tables.
///
/// `progress(phase, simulated_s, requests, bytes_written, fraction)` is called about ten times a second. An
/// exception that it raises, or Ctrl-C on the main thread, stops the run and is raised here.
#[pyfunction]
#[pyo3(signature = (
    kind, source, sets, trace=None, *, timeline=None, timeline_window_ns=None, save_state=None, progress=None
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
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let replay = || replay_line(kind, &source, &sets, trace.as_deref());
    let outcome = guard::run(replay, || {
        let config = configs::load_to_run(kind, &source, &sets, trace.as_deref(), save_state.is_some())?.config;
        let timeline = timeline.map(|path| {
            let (from, to) = timeline_window_ns.unwrap_or((0, u64::MAX));
            TimelineSpec { path, window: SimulatedInstant(from)..SimulatedInstant(to) }
        });
        py.detach(|| simulate(&config, timeline, save_state, progress))
    })?;
    Ok((outcome.summary.to_string(), tables::to_python(py, outcome.tables)?))
}

fn simulate(
    config: &config::Config,
    timeline: Option<TimelineSpec>,
    save_state: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let mut raised = None;
    let mut due = Instant::now() + PROGRESS_EVERY;
    let mut watch = |now: &Progress| {
        if Instant::now() < due {
            return true;
        }
        let told = Python::attach(|py| tell(py, progress.as_ref(), now));
        due = Instant::now() + PROGRESS_EVERY;
        told.map_err(|error| raised = Some(error)).is_ok()
    };
    let mut options = Options { progress: Some(&mut watch), timeline, save_state };
    let result = device::simulate(config, &mut options);
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(outcome)) => Ok(outcome),
        (None, Err(device::RunError::Input(text))) => Err(errors::input(text)),
        (None, Err(error)) => Err(errors::failed(error)),
    }
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, now: &Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        let arguments = (now.phase, now.simulated.seconds(), now.requests, now.bytes_written, now.fraction);
        progress.call1(py, arguments)?;
    }
    Ok(())
}

/// The command that repeats a run.
fn replay_line(kind: &str, source: &Given, sets: &[String], trace: Option<&str>) -> String {
    let mut line = String::from("ftlab run ");
    line.push_str(&match kind {
        "file" | "argument" => quoted(&source.path().to_string_lossy()),
        _ => quoted(&format!("<{kind} of {} bytes>", source.path().as_os_str().len())),
    });
    for set in sets {
        line.push_str(&format!(" --set {}", quoted(set)));
    }
    if let Some(trace) = trace {
        line.push_str(&format!(" --trace {}", quoted(trace)));
    }
    let seed = configs::load(kind, source, sets, trace).map(|loaded| loaded.config.run.seed);
    match seed {
        Ok(seed) => line.push_str(&format!("  # seed {seed}, ftlab {}", env!("CARGO_PKG_VERSION"))),
        Err(_) => line.push_str(&format!("  # ftlab {}", env!("CARGO_PKG_VERSION"))),
    }
    line
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
