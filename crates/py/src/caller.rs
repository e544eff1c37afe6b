//! Who called from Python: asked now and then whether to go on, and told how far a run is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base::Instant as SimulatedInstant;
use files::Interrupt;
use metrics::Progress;
use pyo3::prelude::*;

/// Time between two calls of the progress function, and between two looks for Ctrl-C.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// A caller with a progress function, or without one.
#[derive(Clone)]
pub(crate) struct Caller(Arc<Inner>);

struct Inner {
    progress: Option<Py<PyAny>>,
    state: Mutex<CallState>,
}

struct CallState {
    /// When to ask again.
    due: Instant,
    /// How far the run was when that was last heard. Before it is heard for the first time, files are opened.
    last: Progress,
    /// The exception that Ctrl-C, the progress function or a policy of the user's own raised.
    raised: Option<PyErr>,
}

impl Caller {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Caller {
        let last = Progress {
            phase: "precondition",
            simulated: SimulatedInstant::ZERO,
            requests: 0,
            bytes_written: 0,
            fraction: None,
            erases: 0,
        };
        let state = CallState { due: Instant::now() + ASK_EVERY, last, raised: None };
        Caller(Arc::new(Inner { progress, state: Mutex::new(state) }))
    }

    /// Tells how far a run is, about ten times a second; whether to go on.
    pub(crate) fn tell(&self, now: &Progress) -> bool {
        self.state().last = *now;
        self.go_on()
    }

    /// The question to this caller while files are read and written.
    pub(crate) fn interrupt(&self) -> Interrupt {
        let caller = self.clone();
        Interrupt::new(move || caller.go_on())
    }

    /// The caller's own exception where there was one, in place of what came of it.
    pub(crate) fn result<T, E>(&self, result: Result<T, E>, error: impl FnOnce(E) -> PyErr) -> PyResult<T> {
        match self.state().raised.take() {
            Some(raised) => Err(raised),
            None => result.map_err(error),
        }
    }

    /// Takes note of an exception that ends the run; the first one counts.
    pub(crate) fn raise(&self, error: PyErr) {
        self.state().raised.get_or_insert(error);
    }

    /// True while the caller wants the run to go on.
    pub(crate) fn go_on(&self) -> bool {
        let now = {
            let state = self.state();
            if state.raised.is_some() || Instant::now() < state.due {
                return state.raised.is_none();
            }
            state.last
        };
        // Not under the lock: the function may take its time, and may call this.
        let told = Python::attach(|py| self.call(py, &now));
        let mut state = self.state();
        state.due = Instant::now() + ASK_EVERY;
        told.map_err(|error| state.raised = Some(error)).is_ok()
    }

    fn call(&self, py: Python<'_>, now: &Progress) -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = &self.0.progress {
            let arguments =
                (now.phase, now.simulated.seconds(), now.requests, now.bytes_written, now.fraction, now.erases);
            progress.call1(py, arguments)?;
        }
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, CallState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
