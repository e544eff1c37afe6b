//! The tools of any discrete-event simulation: pending timers, random numbers by name, large flat arrays and how
//! much memory there is for them, and tables by hash.
//!
//! This crate does not know what an SSD is.

pub mod flat;
pub mod index;
pub mod memory;
pub mod random;
pub mod timers;

pub use flat::{FlatArray, FlatMap, prefetch};
pub use index::Index;
pub use random::Chance;
pub use timers::Timers;
