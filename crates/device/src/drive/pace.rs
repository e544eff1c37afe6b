//! The time of a drive: the executor with time, on a device that began where the drive did, with the requests of the same host.
//!
//! The drive carries a request out at once, whatever its flash would take for it. Beside it a device without bytes lives in the host's
//! time. It takes over the map, the blocks and the policies' state of the drive when that was opened. From then on both see the same
//! requests; the device says when each is complete. Its collections begin by its own clock, so that its blocks come to be others.

use config::Config;
use config::model::Replay;
use nand::StoreKind;
use serde_json::{Value, json};
use workload::Workload;

use super::trims::Trims;
use super::{Drive, checkpoint};
use crate::device::Device;
use crate::errors::RunError;
use crate::timed::{self, LiveHost, TimedOptions};
use crate::watch::Watch;

/// The device in time beside a drive.
pub struct PacedModel {
    config: Config,
    device: Device,
}

impl Drive {
    /// The device in time that begins where the drive is now.
    ///
    /// # Errors
    /// No memory.
    pub fn paced_model(&self) -> Result<PacedModel, RunError> {
        let mut config = self.config.clone();
        // The host outside is an open loop: requests come at times of their own.
        (config.host.replay, config.host.queue_depth) = (Replay::Open, None);
        let own = Trims::own_pages(u64::from(self.pages), self.page_size());
        let mut device = Device::storing(&config, true, StoreKind::Nothing, own)?;
        if !self.device.flash.nand().is_pristine() {
            checkpoint::copy(&self.device, &mut device, &config)?;
        }
        Ok(PacedModel { config, device })
    }
}

impl PacedModel {
    /// Lives until the host leaves. Returns the latencies by the model.
    ///
    /// # Errors
    /// [`RunError`] where the device cannot go on.
    pub fn run(mut self, host: Box<dyn LiveHost>) -> Result<Value, RunError> {
        let mut workload = Workload::listed(Vec::new());
        let mut watch = Watch::new(None, files::Interrupt::default());
        let options = TimedOptions { timeline: None, asks_all: true, cut: None, live: Some(host) };
        timed::run(&mut self.device, &mut workload, &self.config, &mut watch, options)?;
        let latency = |kind| self.device.recorder.latency(kind).to_json();
        Ok(json!({
            "read": latency(base::RequestKind::Read),
            "write": latency(base::RequestKind::Write),
            "flush": latency(base::RequestKind::Flush),
        }))
    }
}
