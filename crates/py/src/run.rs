//! One simulation.

use std::cell::Cell;
use std::path::PathBuf;

use base::Instant as SimulatedInstant;
use device::{Options, Outcome, TimelineSpec};
use metrics::Progress;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::caller::Caller;
use crate::configs::Given;
use crate::{configs, errors, guard, tables};

/// Runs one simulation with the interpreter released; returns the summary as JSON text, the tables, and what of its
/// files could not be written.
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
) -> PyResult<(String, Bound<'py, PyDict>, Vec<String>)> {
    let seed = Cell::new(None);
    let replay = || replay_line(kind, &source, &sets, trace.as_deref(), seed.get());
    let outcome = guard::run(replay, || {
        let caller = Caller::new(progress);
        let (trace, saves_state) = (trace.as_deref(), save_state.is_some());
        let loaded = py.detach(|| configs::load_to_run(kind, &source, &sets, trace, saves_state, &caller));
        let config = caller.result(loaded, |error| error)?.config;
        seed.set(Some(config.run.seed));
        let timeline = timeline.map(|path| {
            let (from, to) = timeline_window_ns.unwrap_or((0, u64::MAX));
            TimelineSpec { path, window: SimulatedInstant(from)..SimulatedInstant(to) }
        });
        let result = py.detach(|| {
            let mut tell = |now: &Progress| caller.tell(now);
            let interrupt = caller.interrupt();
            let progress: Option<&mut dyn FnMut(&_) -> bool> = Some(&mut tell);
            device::simulate(&config, &mut Options { progress, interrupt, timeline, save_state, ..Options::default() })
        });
        caller.result(result, |error| match error {
            error @ device::RunError::StandsStill(_) => errors::failed(format!(
                "{error}\nThis is a fault of ftlab, not of the input; please report it with the line below.\nreplay: {}",
                replay()
            )),
            error => errors::run(error),
        })
    })?;
    let Outcome { summary, tables, unwritten } = outcome;
    Ok((summary.to_string(), tables::to_python(py, tables)?, unwritten))
}

/// The command that repeats a run.
fn replay_line(kind: &str, source: &Given, sets: &[String], trace: Option<&str>, seed: Option<u64>) -> String {
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
    match seed {
        Some(seed) => line.push_str(&format!("  # seed {seed}, ftlab {}", env!("CARGO_PKG_VERSION"))),
        None => line.push_str(&format!("  # ftlab {}", env!("CARGO_PKG_VERSION"))),
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
