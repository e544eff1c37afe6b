//! Real bytes for a host: a block device of any kind behind the trait [`Blocks`], and the front that clients talk to.
//!
//! This crate does not know what an FTL is. The device that keeps its bytes on simulated flash is one implementation of the
//! trait, and plain memory is another, which tests compare it with.

pub mod blocks;
mod connection;
mod counters;
mod cut;
#[cfg(test)]
mod fuzz;
mod listener;
mod log_writes;
pub mod memory;
pub mod pace;
mod protocol;
mod replies;
mod server;
mod wire;

pub use blocks::{BlockSizes, Blocks, Error, Extent, LiveFigures};
pub use counters::RequestCounts;
pub use cut::{Cut, CutAt};
pub use listener::{Address, ListenError, Listener};
pub use log_writes::LogWrites;
pub use server::{Limits, Server, ServerEnd};
