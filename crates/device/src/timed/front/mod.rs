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

use base::scope::{Area, Scope};
use base::{Instant, RequestKind};
use config::{Config, model};
use metrics::LatencyPart;

use super::context::Context;
use super::plan::Plan;
use super::queues::TransactionId;
use controller::Controller;
use lane::{IncomingRequest, Lane};
use link::{Link, OutgoingData};
use ranges::ReadRanges;

/// The three that pass in order, each by itself: data to the device, data to the host, and commands; and a mere instant between.
const IN: usize = 0;
pub(super) const OUT: usize = 1;
const COMMANDS: usize = 2;
const STEP: usize = 3;

/// The controller's time for commands, the link, and what is under way.
pub(super) struct Front {
    controller: Controller,
    link: Option<Link>,
    /// Requests that will be in the device when they have passed the link.
    inbound: Lane<IncomingRequest>,
    /// Data that the host will have.
    outbound: Lane<OutgoingData>,
    /// Requests with whose commands the controller deals; those that pass the link then are here only if they pass in steps.
    commands: Lane<IncomingRequest>,
    /// True if the end of the controller's work for a command is an event where the link follows. Otherwise it is known when the request
    /// comes when it will have passed both.
    in_steps: bool,
    /// True if a timer runs for an instant that is no event.
    has_step: bool,
    /// Pages of the requests under way to the device, and the number of those that are no reads.
    pages_coming: u32,
    others_coming: u32,
    /// A bit for each lane that something has come to, or has passed, since somebody asked.
    changed: u8,
    /// True if data go out before those for which a timer runs.
    times_anew: bool,
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
    /// The lanes, if any of them takes time.
    pub(super) fn new(config: &model::Host, in_steps: bool) -> Option<Box<Front>> {
        let (controller, link) = (Controller::new(config), config.link.map(Link::new));
        (controller.takes_time() || link.is_some()).then(|| {
            Box::new(Front {
                controller,
                link,
                inbound: Lane::new(),
                outbound: Lane::new(),
                commands: Lane::new(),
                in_steps,
                has_step: false,
                pages_coming: 0,
                others_coming: 0,
                changed: 0,
                times_anew: false,
            })
        })
    }

    /// True while writes, trims or flushes are on their way to the device.
    pub(super) fn is_receiving(&self) -> bool {
        self.others_coming > 0
    }

    /// Pages of the requests that are on their way to the device.
    pub(super) fn pages_coming(&self) -> u32 {
        self.pages_coming
    }

    fn note_coming(&mut self, coming: IncomingRequest) {
        self.pages_coming += coming.pages;
        self.others_coming += u32::from(coming.kind != RequestKind::Read);
    }

    fn note_came(&mut self, coming: IncomingRequest) {
        self.pages_coming -= coming.pages;
        self.others_coming -= u32::from(coming.kind != RequestKind::Read);
    }

    /// Notes that commands or data come to a lane, or have passed it.
    fn note_change(&mut self, lane: usize) {
        self.changed |= 1 << lane;
    }

    /// A lane, and when something will have passed it, where that is to be timed anew; that to the device only if nobody `waits` there.
    #[inline]
    fn take_due(&mut self, context: &Context<'_, impl Plan>, waits: bool) -> Option<(usize, Instant)> {
        if context.leaving.as_ref().is_some_and(|leaving| !leaving.is_empty()) {
            self.note_change(OUT);
        }
        let put_off = if waits { 1 << IN } else { 0 };
        while self.changed & !put_off > 0 {
            let lane = (self.changed & !put_off).trailing_zeros() as usize;
            self.changed &= !(1 << lane);
            let due = match lane {
                IN => self.inbound.due(),
                OUT => self.outbound.due().or_else(|| self.leaves(context)),
                _ => self.commands.due(),
            };
            if let Some(at) = due {
                return Some((lane, at));
            }
        }
        None
    }

    /// When the host has the first data that are being corrected, unless others go out before them; if that is to be timed.
    fn leaves(&mut self, context: &Context<'_, impl Plan>) -> Option<Instant> {
        let (Some(link), Some(wanted)) = (&self.link, &context.wanted) else { return None };
        let &(at, read) = context.leaving.as_ref()?.front().filter(|_| !self.outbound.is_timed)?;
        self.outbound.is_timed = true;
        Some(link.passes(at, wanted.bytes(read)))
    }

    /// True if there are instants without events, at which something passes from one way to the next, and none of them is timed.
    #[inline]
    pub(super) fn skips_instants(&self, context: &Context<'_, impl Plan>) -> bool {
        let is_leaving = || context.leaving.as_ref().is_some_and(|leaving| !leaving.is_empty());
        !self.in_steps && !self.has_step && (!self.inbound.is_empty() || is_leaving())
    }

    /// The next of them, which is to be timed.
    #[cold]
    fn take_step(&mut self, context: &Context<'_, impl Plan>) -> Option<Instant> {
        let coming = self.inbound.all().flat_map(|(at, coming)| [*at, coming.dealt_with]);
        let leaving = context.leaving.iter().flatten().map(|(at, _)| *at);
        let next = coming.chain(leaving).filter(|at| *at > context.now).min();
        self.has_step = next.is_some();
        next
    }

    /// True if a request passes from controller to link, or to the device, now.
    fn steps(&self, now: Instant) -> bool {
        self.inbound.all().any(|(at, coming)| *at == now || coming.dealt_with == now)
    }

    /// Data of a read begin their way to the host. Returns whether they have one.
    pub(super) fn send(&mut self, context: &mut Context<'_, impl Plan>, read: TransactionId) -> bool {
        let Some(bytes) = context.wanted.as_ref().map(|wanted| wanted.bytes(read)) else { return false };
        let is_sent = self.send_out(context, bytes, OutgoingData::Page(read));
        if is_sent {
            context.note(|waits, now| waits.wait_for_part(now, read, LatencyPart::Link));
        }
        is_sent
    }

    /// Data of `bytes` bytes enter the link to the host. Returns false where there is no link.
    fn send_out(&mut self, context: &mut Context<'_, impl Plan>, bytes: u64, going: OutgoingData) -> bool {
        self.let_leave(context);
        let Some(link) = &mut self.link else { return false };
        // A timer runs for data that are not correct yet.
        if self.outbound.is_empty() && self.outbound.is_timed {
            (self.outbound.is_timed, self.times_anew) = (false, true);
        }
        self.outbound.join(link.send(context.now, bytes), going);
        self.note_change(OUT);
        true
    }

    /// Data of reads that are correct by now have begun their way to the host then.
    fn let_leave(&mut self, context: &mut Context<'_, impl Plan>) {
        while let (Some(link), Some(wanted)) = (&mut self.link, &context.wanted)
            && let Some(leaving) = &mut context.leaving
            && let Some((at, read)) = leaving.pop_front_if(|(at, _)| *at <= context.now)
        {
            self.outbound.join(link.send(at, wanted.bytes(read)), OutgoingData::Page(read));
        }
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
