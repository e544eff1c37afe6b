//! The test rig: it cuts the power of devices and has their programs fail, at any operation, and knows what has to be left.
//!
//! It stands above the device, which knows nothing of it: a host that sends requests, and oracles that look at what a restart finds.

pub mod broken;
mod recorded;
pub mod replay;
pub mod sectors;
pub mod survival;
