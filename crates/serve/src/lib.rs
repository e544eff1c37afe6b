//! Real bytes for a host: a block device of any kind behind the trait [`Blocks`], and the front that clients talk to.
//!
//! Nothing here knows what an FTL is. The device that keeps its bytes on simulated flash is one implementation of the
//! trait, and plain memory is another, which tests compare it with.

pub mod blocks;
pub mod memory;

pub use blocks::{BlockSizes, Blocks, Error, Figures};
