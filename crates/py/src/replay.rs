//! A recorded load on a drive whose power goes off again and again.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use rig::replay::{LoadCut, Replay};

use crate::caller::Caller;
use crate::configs::Given;
use crate::{configs, errors, guard};

/// A drive, and a load that was recorded with `--log-writes`.
#[pyclass(name = "Replay")]
pub(crate) struct RecordedReplay(Mutex<Replay>);

impl RecordedReplay {
    fn replay(&self) -> MutexGuard<'_, Replay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl RecordedReplay {
    /// Copies the image into memory, and reads the log.
    #[new]
    fn new(
        py: Python<'_>,
        kind: &str,
        source: Given,
        sets: Vec<String>,
        image: PathBuf,
        log: PathBuf,
    ) -> PyResult<RecordedReplay> {
        guard::run(
            || format!("replay on the drive of a {kind} configuration"),
            || {
                let caller = Caller::new(None);
                let loaded = configs::load_drive(py, kind, &source, &sets, &caller)?;
                let opened = py.detach(|| Replay::open(&loaded.config, &image, &log));
                Ok(RecordedReplay(Mutex::new(caller.result(opened, errors::run)?)))
            },
        )
    }

    /// Position in the log of the request that comes next.
    #[getter]
    fn position(&self) -> u64 {
        self.replay().position()
    }

    /// Goes on to a position with the power on; the operations of the flash.
    fn go_to(&self, py: Python<'_>, position: u64) -> PyResult<u64> {
        guard::run(|| "recorded load".into(), || py.detach(|| self.replay().go_to(position)).map_err(errors::run))
    }

    /// Goes on until a power cut, and restarts; what was found, as JSON text, or nothing at the end of the load.
    #[pyo3(signature = (at, *, during, second, whole))]
    fn cut(&self, py: Python<'_>, at: u64, during: bool, second: Option<u64>, whole: bool) -> PyResult<Option<String>> {
        let cut = LoadCut { at, during, second, whole };
        let found = guard::run(
            || format!("power cut at operation {at} of a recorded load"),
            || py.detach(|| self.replay().cut(cut)).map_err(errors::run),
        )?;
        Ok(found.map(|found| found.to_json().to_string()))
    }

    /// Flushes of the load from here on.
    #[getter]
    fn flushes(&self) -> u64 {
        self.replay().flushes()
    }

    /// Goes on until so many flushes are acknowledged, the power goes off, and it restarts; what was found, as `cut` tells it.
    #[pyo3(signature = (flushes, *, second, whole))]
    fn cut_at_flush(&self, py: Python<'_>, flushes: u64, second: Option<u64>, whole: bool) -> PyResult<Option<String>> {
        let found = guard::run(
            || "power cut at a flush of a recorded load".into(),
            || py.detach(|| self.replay().cut_at_flush(flushes, second, whole)).map_err(errors::run),
        )?;
        Ok(found.map(|found| found.to_json().to_string()))
    }

    /// Writes what the drive holds to a file.
    fn export(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| self.replay().export(&path));
        written
            .map_err(|error| errors::failed(format!("{}: the drive cannot be written there: {error}", path.display())))
    }
}
