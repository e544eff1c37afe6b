//! Faults at every operation of many short lives of a device.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rig::survival::{Trouble, try_everywhere};

use crate::caller::Caller;
use crate::configs::Given;
use crate::{configs, errors, guard};

/// Ages a device, cuts its power, restarts it; what the restart costs as JSON text.
#[pyfunction]
pub(crate) fn restart_cost(py: Python<'_>, kind: &str, source: Given, sets: Vec<String>) -> PyResult<String> {
    guard::run(
        || format!("restart of a {kind} configuration"),
        || {
            let caller = Caller::new(None);
            let interrupt = caller.interrupt();
            let config = configs::load_to_run(kind, &source, &sets, None, false, &caller)?.config;
            let cost = py.detach(|| rig::survival::restart_cost(&config, &interrupt));
            Ok(caller.result(cost, errors::run)?.to_string())
        },
    )
}

/// Puts a fault at every `stride`-th operation of so many seeded lives; returns the tally as JSON text. `progress` is
/// called as that of a run; an exception that it raises stops this.
#[pyfunction]
#[pyo3(signature = (kind, source, sets, trouble, *, seeds, stride, progress=None))]
#[allow(clippy::too_many_arguments)] // The Python signature, the last three by keyword.
pub(crate) fn survival(
    py: Python<'_>,
    kind: &str,
    source: Given,
    sets: Vec<String>,
    trouble: &str,
    seeds: u64,
    stride: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let trouble =
        Trouble::named(trouble).ok_or_else(|| PyValueError::new_err(format!("unknown trouble `{trouble}`")))?;
    let stride = stride.max(1);
    guard::run(
        || format!("survival of a {kind} configuration"),
        || {
            let caller = Caller::new(progress);
            let interrupt = caller.interrupt();
            let config = configs::load_to_run(kind, &source, &sets, None, false, &caller)?.config;
            let tally = py.detach(|| try_everywhere(&config, trouble, seeds, stride, &interrupt));
            Ok(caller.result(tally, errors::run)?.to_json().to_string())
        },
    )
}
