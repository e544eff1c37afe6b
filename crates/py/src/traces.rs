//! What traces hold.

use std::path::PathBuf;

use base::RequestKind;
use pyo3::prelude::*;
use serde_json::{Value, json};
use workload::{Record, TraceOptions};

use crate::{errors, guard};

/// What a trace holds, as JSON text.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, skip_bad=false))]
pub(crate) fn trace_info(py: Python<'_>, path: PathBuf, format: Option<String>, skip_bad: bool) -> PyResult<String> {
    guarded(py, "info", &path, || {
        let info = workload::info(&path, &options(format, skip_bad))?;
        Ok(serde_json::to_value(info).expect("plain figures"))
    })
}

/// The first requests of a trace, as JSON text.
#[pyfunction]
#[pyo3(signature = (path, requests, *, format=None, skip_bad=false))]
pub(crate) fn trace_head(
    py: Python<'_>,
    path: PathBuf,
    requests: usize,
    format: Option<String>,
    skip_bad: bool,
) -> PyResult<String> {
    guarded(py, "head", &path, || {
        let records = workload::head(&path, &options(format, skip_bad), requests)?;
        Ok(Value::from(records.iter().map(record).collect::<Vec<_>>()))
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
    guarded(py, "convert", &path, || {
        let done = workload::convert(&path, &options(format, skip_bad), &to, &target)?;
        Ok(serde_json::to_value(done).expect("plain figures"))
    })
}

/// The formats that are read and those that can be written, as JSON text.
#[pyfunction]
pub(crate) fn trace_formats() -> String {
    let read: Vec<Value> = workload::FORMATS.iter().map(|f| json!({ "name": f.name, "doc": f.doc })).collect();
    let written: Vec<Value> = workload::TARGETS.iter().map(|t| json!({ "name": t.name, "doc": t.doc })).collect();
    json!({ "read": read, "written": written }).to_string()
}

fn options(format: Option<String>, skip_bad: bool) -> TraceOptions {
    TraceOptions { format, skip_bad, ..TraceOptions::default() }
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

fn guarded(
    py: Python<'_>,
    command: &str,
    path: &std::path::Path,
    work: impl FnOnce() -> Result<Value, workload::TraceError> + Send,
) -> PyResult<String> {
    guard::run(
        || format!("ftlab trace {command} {}", path.display()),
        || py.detach(work).map(|value| value.to_string()).map_err(errors::input),
    )
}
