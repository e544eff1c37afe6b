//! Why a run is refused, or does not come to its end.

use std::fmt::Display;

use engine::memory::in_words;
use workload::{TraceError, WorkloadError};

/// A run that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An input of the user cannot be used: a trace, a state file. The text says where, what was found,
    /// and what would be right.
    #[error("{0}")]
    Input(String),
    /// The run itself failed: no memory, a file that cannot be written.
    #[error("{0}")]
    Failed(String),
    /// The device works on and on, and nothing of it comes to the host: a fault of this program. The text says what stands still.
    #[error("{0}")]
    StandsStill(String),
    /// The caller asked to stop.
    #[error("stopped before the end")]
    Stopped,
}

impl RunError {
    /// Makes sure of so many bytes of memory, which `what` needs.
    ///
    /// # Errors
    /// When there are not as many, with `help` against it.
    #[cold]
    pub(crate) fn unless_room(needed: u64, what: impl Display, help: &str) -> Result<(), RunError> {
        match engine::memory::room() {
            Some(room) if room.bytes < needed => {
                let (needed, there, limit) = (in_words(needed), in_words(room.bytes), room.limit);
                let text =
                    format!("{what} need {needed} of memory, and there are {there}, limited by {limit}\nhint: {help}");
                Err(RunError::Failed(text))
            }
            _ => Ok(()),
        }
    }
}

impl From<ftl::OutOfMemory> for RunError {
    fn from(error: ftl::OutOfMemory) -> RunError {
        RunError::Failed(error.to_string())
    }
}

impl From<WorkloadError> for RunError {
    fn from(error: WorkloadError) -> RunError {
        match error {
            WorkloadError::Trace(TraceError::Stopped { .. }) => RunError::Stopped,
            error => RunError::Input(error.to_string()),
        }
    }
}

/// A setting that is well-formed but that no device can have.
#[derive(Debug)]
pub struct Refusal {
    /// The key to point at.
    pub key: &'static str,
    /// The fault.
    pub message: String,
    /// The cure.
    pub help: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: {}\nhint: {}", self.key, self.message, self.help)
    }
}
