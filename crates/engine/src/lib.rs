//! What any discrete-event simulation needs: pending timers, random streams with names, and large flat
//! arrays.
//!
//! This crate does not know what an SSD is.

pub mod flat;
pub mod random;
pub mod timers;

pub use flat::FlatArray;
pub use random::Stream;
pub use timers::{Due, Timers};
