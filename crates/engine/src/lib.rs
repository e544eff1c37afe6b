//! What any discrete-event simulation needs: random streams with names, and pending timers.
//!
//! This crate does not know what an SSD is.

pub mod random;

pub use random::Stream;
