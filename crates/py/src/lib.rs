//! `ftlab._core`: the engine as a Python extension module.
//!
//! This crate converts and nothing else: text and paths in, JSON text and NumPy columns out, errors as
//! exceptions with the text that a user reads. It makes no decision and has no default of its own. Simulations
//! run with the interpreter released, so that several run in parallel threads.

mod caller;
mod configs;
mod errors;
mod files;
mod guard;
mod policy;
mod replay;
mod run;
mod serve;
mod survival;
mod tables;
mod traces;

use pyo3::prelude::*;

/// The engine of ftlab. Use the package `ftlab`, which documents and types all this.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::configs::{memory_needed, memory_room, presets, reference, registry, resolve, scopes};
    #[pymodule_export]
    use super::errors::{ConfigError, Error, InputError, RunError};
    #[pymodule_export]
    use super::files::{Staging, check_writable, discard_unfinished, remedy};
    #[pymodule_export]
    use super::policy::{Block, Device, conform_victim};
    #[pymodule_export]
    use super::replay::RecordedReplay;
    #[pymodule_export]
    use super::run::run;
    #[pymodule_export]
    use super::serve::DriveServer;
    #[pymodule_export]
    use super::survival::{restart_cost, survival};
    #[pymodule_export]
    use super::traces::{trace_convert, trace_formats, trace_head, trace_info};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::guard::install();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
