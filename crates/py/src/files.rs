//! Writing files, for the Python side.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::errors;

/// A directory under a name that nobody has, for what is not finished; what killed processes left beside it is cleared
/// away. It is removed with all that is in it by `close`, or at the latest with this object.
#[pyclass(module = "ftlab._core", frozen)]
pub(crate) struct Staging {
    path: PathBuf,
    staging: Mutex<Option<files::Staging>>,
}

#[pymethods]
impl Staging {
    #[new]
    fn new(parent: PathBuf) -> PyResult<Staging> {
        let staging = files::Staging::create(&parent).map_err(|error| errors::system(&error, &parent))?;
        Ok(Staging { path: staging.path().to_owned(), staging: Mutex::new(Some(staging)) })
    }

    /// Where it is.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Removes it.
    fn close(&self, py: Python<'_>) {
        let staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(staging));
    }
}

/// Tries if a file can be written there; leaves nothing behind.
#[pyfunction]
pub(crate) fn check_writable(path: PathBuf) -> PyResult<()> {
    files::Output::check(&path).map_err(|error| errors::system(&error, &path))
}

/// The remedy against a system's error in writing.
#[pyfunction]
pub(crate) fn remedy(errno: i32) -> &'static str {
    files::remedy(&io::Error::from_raw_os_error(errno))
}

/// Removes what this process has not finished, when it is about to end without further ado.
#[pyfunction]
pub(crate) fn discard_unfinished() {
    files::discard_unfinished();
}
