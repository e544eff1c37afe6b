//! Requests and their data on the way between host and device.

use base::{Instant, RequestKind};
use metrics::LatencyPart;

use super::lane::IncomingRequest;
use super::link::OutgoingData;
use super::{COMMANDS, Front, IN, OUT, STEP};
use crate::timed::context::Context;
use crate::timed::host::Host;
use crate::timed::plan::Plan;
use crate::timed::queues::{RequestId, Work};
use crate::timed::requests::Active;

impl Host {
    /// A request begins its way to the device.
    pub(in crate::timed) fn pass_front(&mut self, context: &mut Context<'_, impl Plan>, id: RequestId) {
        let Active { kind, span, .. } = *self.requests.get(id);
        let Some(front) = &mut self.front else { return self.take_in(context, id) };
        let dealt_with = front.controller.take(context.now);
        let coming = IncomingRequest { id, kind, pages: span.len(), dealt_with };
        front.note_coming(coming);
        if front.in_steps && dealt_with > context.now {
            front.join_commands(dealt_with, coming);
            return context.note(|waits, now| waits.request_waits(now, id, LatencyPart::Controller));
        }
        self.pass_link(context, coming);
    }

    /// Sends a request on its way over the link; a read has no data there.
    #[inline(always)]
    fn pass_link(&mut self, context: &mut Context<'_, impl Plan>, coming: IncomingRequest) {
        let IncomingRequest { id, kind, dealt_with, .. } = coming;
        let Some(front) = &mut self.front else { unreachable!("it passes one") };
        let arrives = match &mut front.link {
            Some(link) if kind != RequestKind::Read => link.receive(dealt_with, kind, self.requests.get(id).bytes),
            _ => dealt_with,
        };
        if arrives > dealt_with {
            context.note(|waits, now| waits.request_waits(now, id, LatencyPart::Link));
            front.inbound.join(arrives, coming);
            front.note_change(IN);
        } else if arrives > context.now {
            front.join_commands(arrives, coming);
        } else {
            front.note_came(coming);
            self.take_in(context, id);
        }
    }

    /// Goes on after commands or data have passed a lane. Returns whether requests may have come in by that, or
    /// commands gone on, besides reads: these change nothing for others that the host sends.
    pub(in crate::timed) fn passed(&mut self, context: &mut Context<'_, impl Plan>, lane: usize) -> bool {
        let steps = lane == STEP
            && self.front.as_mut().is_some_and(|front| {
                front.has_step = false;
                front.steps(context.now)
            });
        self.come_in(context);
        match lane {
            IN => true,
            STEP => steps,
            OUT => {
                self.go_out(context);
                false
            }
            _ => self.commands_come(context),
        }
    }

    /// Goes on with the commands that the controller has dealt with. Returns whether they were not reads alone.
    fn commands_come(&mut self, context: &mut Context<'_, impl Plan>) -> bool {
        let mut are_others = false;
        while let Some(front) = &mut self.front
            && let Some((_, coming)) = front.commands.passed(context.now)
        {
            front.note_change(COMMANDS);
            context.note(|waits, now| waits.command_is_dealt_with(now, coming.id));
            are_others |= coming.kind != RequestKind::Read;
            if front.in_steps {
                self.pass_link(context, coming);
            } else {
                front.note_came(coming);
                self.take_in(context, coming.id);
            }
        }
        are_others
    }

    /// Takes in the requests that have passed the link. Those that passed it before now found others that wait for room: they wait behind
    /// them.
    #[inline(always)]
    pub(in crate::timed) fn come_in(&mut self, context: &mut Context<'_, impl Plan>) {
        while let Some(front) = &mut self.front
            && let Some((at, coming)) = front.inbound.passed(context.now)
        {
            front.note_change(IN);
            front.note_came(coming);
            context.note(|waits, now| waits.request_has_passed(now, coming.id));
            match &mut self.buffer {
                Some(buffer) if at < context.now => buffer.wait_behind(coming.id),
                _ => self.take_in(context, coming.id),
            }
        }
    }

    /// A lane, and when something will have passed it, where that is to be timed anew. Nobody asks when a request has passed the link
    /// while others wait for room, where latencies are not split and the number of requests is limited.
    #[inline]
    pub(in crate::timed) fn take_due(&mut self, context: &Context<'_, impl Plan>) -> Option<(usize, Instant)> {
        let front = self.front.as_mut()?;
        let is_eager = front.in_steps || self.requests.are_unlimited();
        let waits = !is_eager && self.buffer.as_ref().is_some_and(|buffer| buffer.has_waiting_requests());
        front.take_due(context, waits)
    }

    /// The next instant without an event, if it is to be timed: see [`Front::skips_instants`].
    #[inline]
    pub(in crate::timed) fn take_step(&mut self, context: &Context<'_, impl Plan>) -> Option<(usize, Instant)> {
        let front = self.front.as_mut()?;
        front.take_step(context).map(|at| (STEP, at))
    }

    /// Returns whether the timer of data on their way to the host runs too long.
    #[inline]
    pub(in crate::timed) fn times_anew(&mut self) -> bool {
        self.front.as_mut().is_some_and(|front| std::mem::take(&mut front.times_anew))
    }

    /// The host has the data that have passed the link.
    fn go_out(&mut self, context: &mut Context<'_, impl Plan>) {
        if let Some(front) = &mut self.front {
            front.outbound.is_timed = false;
            front.note_change(OUT);
            front.let_leave(context);
        }
        while let Some(front) = &mut self.front
            && let Some((_, gone)) = front.outbound.passed(context.now)
        {
            let request = match gone {
                OutgoingData::Rest(request) => {
                    context.note(|waits, now| waits.rest_is_done(now, request));
                    request
                }
                OutgoingData::Page(read) => {
                    let Work::Read(request) = context.queues.get(read).work else { unreachable!("only reads go out") };
                    context.queues.release(read);
                    context.note(|waits, now| waits.page_is_done(now, read, request));
                    request
                }
            };
            self.requests.part_done(context, request);
        }
    }

    /// The link gets the rest of a read, which needs no flash.
    #[inline(always)]
    pub(in crate::timed) fn send_rest(&mut self, context: &mut Context<'_, impl Plan>, request: RequestId, rest: u64) {
        if rest > 0
            && let Some(front) = self.front(&context.plan)
            && front.send_out(context, rest, OutgoingData::Rest(request))
        {
            self.requests.wait_for(request, 1);
            context.note(|waits, now| waits.request_waits(now, request, LatencyPart::Link));
        }
    }
}

impl Front {
    /// A command is dealt with at an instant.
    fn join_commands(&mut self, at: Instant, coming: IncomingRequest) {
        self.commands.join(at, coming);
        self.note_change(COMMANDS);
    }
}
