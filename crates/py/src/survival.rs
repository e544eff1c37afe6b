//! Faults at every operation of many short lives of a device.

use device::survival::{Trouble, try_everywhere};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::configs::Given;
use crate::{configs, errors, guard};

/// Ages a device, cuts its power, restarts it; what the restart costs as JSON text.
#[pyfunction]
pub(crate) fn restart_cost(py: Python<'_>, kind: &str, source: Given, sets: Vec<String>) -> PyResult<String> {
    guard::run(
        || format!("restart of a {kind} configuration"),
        || {
            let config = configs::load_to_run(kind, &source, &sets, None, false)?.config;
            match py.detach(|| device::survival::restart_cost(&config)) {
                Ok(cost) => Ok(cost.to_string()),
                Err(device::RunError::Input(text)) => Err(errors::input(text)),
                Err(error) => Err(errors::failed(error)),
            }
        },
    )
}

/// Puts a fault at every `stride`-th operation of so many seeded lives; returns the tally as JSON text.
#[pyfunction]
#[pyo3(signature = (kind, source, sets, trouble, *, seeds, stride))]
pub(crate) fn survival(
    py: Python<'_>,
    kind: &str,
    source: Given,
    sets: Vec<String>,
    trouble: &str,
    seeds: u64,
    stride: u64,
) -> PyResult<String> {
    let trouble =
        Trouble::named(trouble).ok_or_else(|| PyValueError::new_err(format!("unknown trouble `{trouble}`")))?;
    let stride = stride.max(1);
    guard::run(
        || format!("survival of a {kind} configuration"),
        || {
            let config = configs::load_to_run(kind, &source, &sets, None, false)?.config;
            match py.detach(|| try_everywhere(&config, trouble, seeds, stride)) {
                Ok(tally) => Ok(tally.to_json().to_string()),
                Err(device::RunError::Input(text)) => Err(errors::input(text)),
                Err(error) => Err(errors::failed(error)),
            }
        },
    )
}
