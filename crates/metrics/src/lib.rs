//! The reports of the stages and the figures that a user reads: counters, latency histograms, the series over
//! time and volume, tables, the timeline and the summary object.
//!
//! This crate owns figures. It knows nothing of policies, and nothing in it answers a question that a
//! stage could base a decision on: a run with and without it takes the same course. Recording costs a few
//! nanoseconds and allocates nothing; everything dear happens when a row of the series closes or at the end.

mod admission;
pub mod counters;
pub mod latency;
pub mod locality;
pub mod occupancy;
pub mod progress;
pub mod recorder;
pub mod series;
pub mod split;
pub mod summary;
pub mod table;
mod tenants;
pub mod timeline;
pub mod usage;
pub mod utilisation;
pub mod wear;
mod windows;

pub use admission::Admission;
pub use counters::Counters;
pub use latency::Latency;
pub use locality::Locality;
pub use occupancy::Occupancy;
pub use progress::Progress;
pub use recorder::{CacheMode, RecordedShape, Recorder, Retried, Suspends};
pub use split::{LatencyPart, LatencyParts, SplitLatencies};
pub use summary::{Report, deterministic, summary};
pub use table::{Column, Table};
pub use tenants::TenantFigures;
pub use timeline::{Timeline, TimelineEnd, Track};
pub use usage::{Stopwatch, Usage};
pub use wear::Wear;
pub use windows::{WindowEnd, WindowFigures};
