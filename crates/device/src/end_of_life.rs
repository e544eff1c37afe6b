//! The end of a device whose blocks fail, and what is said of it.

use config::Config;
use serde_json::{Value, json};

use crate::device::Device;
use crate::errors::RunError;
use crate::lives;

/// Fails where a device has come to its end before the run began.
pub(crate) fn check_aged(device: &Device) -> Result<(), RunError> {
    if !device.is_read_only() {
        return Ok(());
    }
    Err(RunError::Input(
        "the device comes to the end of its life while it is preconditioned\nhint: age it less (`run.precondition`), give blocks a longer \
         `device.bad_blocks.weibull.life`, or leave more spare space"
            .into(),
    ))
}

/// The end of the device's life, if it came, and the host's bytes until then; nothing where no block fails.
pub(crate) fn told(device: &Device, config: &Config) -> Option<Value> {
    if !lives::are_limited(config) {
        return None;
    }
    let cycles_per_erase = config.device.wear.cycles_per_erase;
    let reached = device.is_read_only();
    let written = device.recorder.counters.bytes_written.saturating_mul(cycles_per_erase.into());
    Some(json!({
        "reached": reached,
        "lifetime_bytes": reached.then_some(written),
        "lifetime_drive_writes": reached.then(|| written as f64 / config.device.user_capacity as f64),
        "cycles_per_erase": cycles_per_erase,
        "waf_by_eighth": device.recorder.waf_by_part(8),
    }))
}
