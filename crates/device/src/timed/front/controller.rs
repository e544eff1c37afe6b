//! The controller's front: what it does for each command of the host before the rest of the device knows of it.
//!
//! Commands pass it in order. Each takes the same time, from its fetch to its completion; and as several are under way at once, they may
//! follow each other faster than that. Where in the life of a request the time lies makes no difference to its latency: all of it
//! lies at the beginning.

use base::{Duration, Instant, RequestKind};
use config::Config;
use config::model::Host;

use super::lane::{IncomingRequest, Lane};

/// The commands that the controller deals with.
pub(super) struct Controller {
    time: Duration,
    /// From the beginning of one command to that of the next, at least.
    interval: Duration,
    /// When the next may begin.
    free: Instant,
    commands: Lane<IncomingRequest>,
    /// Pages of them.
    pages: u32,
    /// The number of commands that are no reads.
    others: u32,
}

impl Controller {
    /// Bytes for each request in the device. A queue grows to twice its length.
    pub(super) const BYTES_OF_REQUEST: usize = 2 * size_of::<(Instant, IncomingRequest)>();

    /// A controller, if commands take it time.
    pub(super) fn new(config: &Host) -> Option<Controller> {
        let Host { command_time: time, command_interval: interval, .. } = *config;
        let takes_time = time > Duration::ZERO || interval > Duration::ZERO;
        let commands = Lane::new();
        takes_time.then_some(Controller { time, interval, free: Instant::ZERO, commands, pages: 0, others: 0 })
    }

    /// Pages of the commands that it deals with.
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// True while it deals with writes, trims or flushes.
    pub(super) fn has_others_than_reads(&self) -> bool {
        self.others > 0
    }

    /// A command comes. Returns whether it takes no time.
    pub(super) fn take(&mut self, now: Instant, coming: IncomingRequest) -> bool {
        let begins = self.free.max(now);
        self.free = begins + self.interval;
        self.pages += coming.pages;
        self.others += u32::from(coming.kind != RequestKind::Read);
        self.commands.join(begins + self.time, coming);
        begins + self.time == now
    }

    /// When it will have dealt with the next one, if that is to be timed.
    pub(super) fn due(&mut self) -> Option<Instant> {
        self.commands.due()
    }

    /// A command that it has dealt with by now.
    pub(super) fn done(&mut self, now: Instant) -> Option<IncomingRequest> {
        let coming = self.commands.passed(now)?;
        self.pages -= coming.pages;
        self.others -= u32::from(coming.kind != RequestKind::Read);
        Some(coming)
    }
}

/// True if commands take the controller time.
pub(in crate::timed) fn is_configured(config: &Config) -> bool {
    Controller::new(&config.host).is_some()
}
