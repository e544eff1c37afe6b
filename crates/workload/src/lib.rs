//! The requests of the host: traces of real programs and seeded generators, as one stream of requests.
//!
//! [`Workload`] is what the device pulls from. [`trace`] reads every format and never holds more of a
//! file than its reordering window; [`synthetic`] makes requests from a seed, and jobs in words of fio are
//! a module of their own. This crate knows nothing of
//! flash: of the device it is told only the bytes that the host may address.

use base::scope::{Area, Scope};

pub mod convert;
pub mod error;
mod footprint;
pub mod info;
mod job;
mod placing;
mod replay;
mod sample;
pub mod synthetic;
mod tally;
pub mod trace;
mod workload;

pub use convert::{TARGETS, convert, head};
pub use error::{TraceError, WorkloadError};
pub use info::{Info, info};
pub use synthetic::GENERATORS;
pub use tally::Tally;
pub use trace::{FORMATS, Record, Trace, TraceOptions};
pub use workload::Workload;

/// The scope of this part.
pub static SCOPE: Scope = Scope {
    area: Area::Time,
    name: "Workloads",
    keys: &["workload.generator", "workload.trace"],
    modelled: "Traces and seeded generators send requests at their own times, or as fast as the device completes them.",
    not_modelled: &[
        "Generators send reads and writes alone: TRIM, FLUSH and FUA come from traces.",
        "A request of a trace does not wait for the result of another one.",
    ],
};
