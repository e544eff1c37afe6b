//! The front: what commands and data pass on their way between host and device, if that takes time.
//!
//! A command passes the controller first, and then, if it carries data or has to keep its order with those that do, the link. Data of
//! reads pass the link the other way. Where several hosts share the device, each has a queue before it all, and an arbiter says whose
//! command is next.

mod arbiter;
pub(super) mod controller;
mod lane;
mod link;
pub(super) mod live;
mod passing;
pub(super) mod ranges;
mod steady;
pub(super) mod tenants;

use base::Instant;
use base::scope::{Area, Scope};
use config::{Config, model};
use metrics::LatencyPart;

use super::context::Context;
use super::plan::Plan;
use super::queues::TransactionId;
use controller::Controller;
use link::{Link, OutgoingData};
use ranges::ReadRanges;

/// The three that pass in order, each by itself: data to the device, data to the host, and commands.
const IN: usize = 0;
const OUT: usize = 1;
const COMMANDS: usize = 2;

/// The controller's work for commands, and the link.
pub(super) struct Front {
    controller: Option<Box<Controller>>,
    link: Option<Box<Link>>,
    /// A bit for each lane that something has come to, or has passed, since somebody asked.
    changed: u8,
}

/// Bytes for each request in the device.
pub(super) fn bytes_of_request(config: &Config) -> usize {
    let linked = if config.host.link.is_some() { Link::BYTES_OF_REQUEST } else { 0 };
    linked + if controller::is_configured(config) { Controller::BYTES_OF_REQUEST } else { 0 }
}

/// Bytes for each of its pages.
pub(super) fn bytes_of_page(config: &Config) -> usize {
    let linked = if config.host.link.is_some() { Link::BYTES_OF_PAGE } else { 0 };
    linked + if ReadRanges::is_configured(config) { ReadRanges::BYTES_OF_PAGE } else { 0 }
}

impl Front {
    pub(super) fn new(config: &model::Host) -> Front {
        let link = config.link.map(|rate| Box::new(Link::new(rate)));
        Front { controller: Controller::new(config).map(Box::new), link, changed: 0 }
    }

    /// True while writes, trims or flushes are on their way to the device.
    pub(super) fn is_receiving(&self) -> bool {
        self.link.as_ref().is_some_and(|link| link.is_receiving())
            || self.controller.as_ref().is_some_and(|controller| controller.has_others_than_reads())
    }

    /// Pages of the requests that are on their way to the device.
    pub(super) fn pages_coming(&self) -> u32 {
        let of_commands = self.controller.as_ref().map_or(0, |controller| controller.pages());
        of_commands + self.link.as_ref().map_or(0, |link| link.pages_coming())
    }

    /// Notes that commands or data come to a lane, or have passed it.
    fn note_change(&mut self, lane: usize) {
        self.changed |= 1 << lane;
    }

    /// A lane, and when something will have passed it, where that is to be timed anew.
    pub(super) fn take_due(&mut self) -> Option<(usize, Instant)> {
        while self.changed > 0 {
            let lane = self.changed.trailing_zeros() as usize;
            self.changed &= self.changed - 1;
            let due = match (lane, &mut self.link, &mut self.controller) {
                (IN, Some(link), _) => link.inbound.due(),
                (OUT, Some(link), _) => link.outbound.due(),
                (COMMANDS, _, Some(controller)) => controller.due(),
                _ => None,
            };
            if let Some(at) = due {
                return Some((lane, at));
            }
        }
        None
    }

    /// Data of a read begin their way to the host. Returns whether they have one.
    pub(super) fn send(&mut self, context: &mut Context<'_, impl Plan>, read: TransactionId) -> bool {
        let (Some(link), Some(wanted)) = (&mut self.link, &context.wanted) else { return false };
        link.send(context.now, wanted.bytes(read), OutgoingData::Page(read));
        self.note_change(OUT);
        context.note(|waits, now| waits.wait_for_part(now, read, LatencyPart::Link));
        true
    }
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Time,
    name: "Host interface",
    keys: &["host.link", "host.command_time", "host.command_interval", "host.arbitration"],
    modelled: "A command takes the controller a fixed time, data pass a link in each direction, and several hosts are served by round robin or by weight.",
    not_modelled: &["Packets, doorbells and interrupts of NVMe are not simulated.", "A host has one submission queue."],
};
