//! The facts about traces.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base::RequestKind;
use files::Interrupt;
use pyo3::exceptions::PyBrokenPipeError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use workload::{Record, TraceError, TraceOptions};

use crate::caller::Caller;
use crate::{errors, guard};

/// Requests in a piece of text.
const PIECE: usize = 4096;

/// The facts about a trace, as JSON text.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, skip_bad=false))]
pub(crate) fn trace_info(py: Python<'_>, path: PathBuf, format: Option<String>, skip_bad: bool) -> PyResult<String> {
    guarded(py, "info", &path, |interrupt| {
        let info = workload::info(&path, &options(format, skip_bad, interrupt))?;
        Ok(serde_json::to_string(&info).expect("plain figures"))
    })
}

/// The first requests of a trace, as pieces of JSON text: an array each, so that whoever reads them can be stopped.
#[pyfunction]
#[pyo3(signature = (path, requests, *, format=None, skip_bad=false))]
pub(crate) fn trace_head(
    py: Python<'_>,
    path: PathBuf,
    requests: usize,
    format: Option<String>,
    skip_bad: bool,
) -> PyResult<Vec<String>> {
    guarded(py, "head", &path, |interrupt| {
        let records = workload::head(&path, &options(format, skip_bad, interrupt.clone()), requests)?;
        let piece = |records: &[Record]| {
            let stopped = |_| TraceError::Stopped { path: path.display().to_string() };
            interrupt.check().map_err(stopped)?;
            Ok(Value::from(records.iter().map(record).collect::<Vec<_>>()).to_string())
        };
        records.chunks(PIECE).map(piece).collect()
    })
}

/// Rewrites a trace in another format; returns what was written as JSON text.
#[pyfunction]
#[pyo3(signature = (path, to, target, *, format=None, skip_bad=false))]
pub(crate) fn trace_convert(
    py: Python<'_>,
    path: PathBuf,
    to: PathBuf,
    target: String,
    format: Option<String>,
    skip_bad: bool,
) -> PyResult<String> {
    guarded(py, "convert", &path, |interrupt| {
        let done = workload::convert(&path, &options(format, skip_bad, interrupt), &to, &target)?;
        Ok(serde_json::to_string(&done).expect("plain figures"))
    })
}

/// The formats that are read and those that can be written, as JSON text.
#[pyfunction]
pub(crate) fn trace_formats() -> String {
    let read: Vec<Value> = workload::FORMATS.iter().map(|f| json!({ "name": f.name, "doc": f.doc })).collect();
    let written: Vec<Value> = workload::TARGETS.iter().map(|t| json!({ "name": t.name, "doc": t.doc })).collect();
    json!({ "read": read, "written": written }).to_string()
}

fn options(format: Option<String>, skip_bad: bool, interrupt: Interrupt) -> TraceOptions {
    TraceOptions { format, skip_bad, interrupt, ..TraceOptions::default() }
}

fn record(record: &Record) -> Value {
    json!({
        "line": record.line,
        "time_ns": record.time_ns,
        "device": record.device,
        "kind": kind(record.kind),
        "offset": record.offset,
        "size": record.size,
        "fua": record.fua,
    })
}

fn kind(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Trim => "discard",
        RequestKind::Flush => "flush",
    }
}

fn guarded<T: Send>(
    py: Python<'_>,
    command: &str,
    path: &Path,
    work: impl FnOnce(Interrupt) -> Result<T, TraceError> + Send,
) -> PyResult<T> {
    guard::run(
        || format!("ftlab trace {command} {}", path.display()),
        || {
            let caller = Caller::new(None);
            caller.result(py.detach(|| work(caller.interrupt())), raised)
        },
    )
}

fn raised(error: TraceError) -> PyErr {
    match error {
        // Whoever reads what is converted has seen enough.
        TraceError::NotWritten { source, .. } if source.kind() == ErrorKind::BrokenPipe => {
            PyBrokenPipeError::new_err(source.to_string())
        }
        TraceError::NotWritten { .. } => errors::failed(error),
        _ => errors::input(error),
    }
}
