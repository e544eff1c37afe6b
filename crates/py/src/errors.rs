//! Errors as Python exceptions. Their text is what the command line prints.

use std::io;
use std::path::Path;

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError};

create_exception!(ftlab, Error, PyException, "What ftlab raises; its text is for the user.");
create_exception!(ftlab, ConfigError, Error, "A configuration that cannot be used (exit code 2).");
create_exception!(ftlab, InputError, Error, "A trace, state file or output that cannot be used (exit code 2).");
create_exception!(ftlab, RunError, Error, "A run that failed (exit code 1).");

/// The message with the mark that every error begins with, and nothing in it that a terminal would act on: file names
/// may hold anything.
pub(crate) fn marked(text: impl std::fmt::Display) -> String {
    let text = config::printable(&text.to_string(), &['\n']);
    let text = text.trim_end();
    if text.starts_with("error") { text.to_owned() } else { format!("error: {text}") }
}

/// A configuration that cannot be used.
pub(crate) fn config(error: impl std::fmt::Display) -> PyErr {
    ConfigError::new_err(marked(error))
}

/// Input that cannot be used.
pub(crate) fn input(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(marked(error))
}

/// An error of the system about a file, as Python's own calls do.
pub(crate) fn system(error: &io::Error, path: &Path) -> PyErr {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or_default().to_owned();
    PyOSError::new_err((error.raw_os_error().unwrap_or(libc::EINVAL), text, path.to_owned()))
}

/// A run that did not come to its end.
pub(crate) fn run(error: device::RunError) -> PyErr {
    match error {
        device::RunError::Input(text) => input(text),
        error => failed(error),
    }
}

/// A run that failed.
pub(crate) fn failed(error: impl std::fmt::Display) -> PyErr {
    RunError::new_err(marked(error))
}
