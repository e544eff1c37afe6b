//! How far a run has come.

use base::Instant;

/// A moment of a run, for a progress line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The part of the run: `precondition` or `run`, for example.
    pub phase: &'static str,
    /// Simulated time.
    pub simulated: Instant,
    /// Requests completed in this phase.
    pub requests: u64,
    /// Bytes the host has written in this phase.
    pub bytes_written: u64,
    /// How much of the phase is done, 0..1, where its end is known.
    pub fraction: Option<f64>,
    /// Blocks erased in this phase.
    pub erases: u64,
}
