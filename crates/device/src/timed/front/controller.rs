//! The controller's front: what it does for each command of the host before the rest of the device knows of it.
//!
//! Commands pass it in order. Each takes the same time, from its fetch to its completion; and as several are under way at once, they may
//! follow each other faster than that. Where in the life of a request the time lies makes no difference to its latency: all of it
//! lies at the beginning.

use base::{Duration, Instant};
use config::Config;
use config::model::Host;

use super::lane::IncomingRequest;

/// The controller's time for commands.
pub(super) struct Controller {
    time: Duration,
    /// From the beginning of one command to that of the next, at least.
    interval: Duration,
    /// When the next may begin.
    free: Instant,
}

impl Controller {
    /// Bytes for each request in the device. A queue grows to twice its length.
    pub(super) const BYTES_OF_REQUEST: usize = 2 * size_of::<(Instant, IncomingRequest)>();

    pub(super) fn new(config: &Host) -> Controller {
        Controller { time: config.command_time, interval: config.command_interval, free: Instant::ZERO }
    }

    /// True if commands take it time.
    pub(super) fn takes_time(&self) -> bool {
        self.time > Duration::ZERO || self.interval > Duration::ZERO
    }

    /// A command comes. Returns when it is dealt with.
    pub(super) fn take(&mut self, now: Instant) -> Instant {
        let begins = self.free.max(now);
        self.free = begins + self.interval;
        begins + self.time
    }
}

/// True if commands take the controller time.
pub(in crate::timed) fn is_configured(config: &Config) -> bool {
    Controller::new(&config.host).takes_time()
}
