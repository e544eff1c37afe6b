//! Requests and their data on the way between host and device.

use base::RequestKind;
use metrics::LatencyPart;

use super::lane::IncomingRequest;
use super::link::OutgoingData;
use super::{COMMANDS, IN, OUT};
use crate::timed::context::Context;
use crate::timed::host::Host;
use crate::timed::plan::Plan;
use crate::timed::queues::{RequestId, Work};
use crate::timed::requests::Active;

impl Host {
    /// A request begins its way to the device.
    pub(in crate::timed) fn pass_front(&mut self, context: &mut Context<'_, impl Plan>, id: RequestId) {
        let Active { kind, span, .. } = *self.requests.get(id);
        let coming = IncomingRequest { id, kind, pages: span.len() };
        let Some(controller) = &mut self.front.controller else { return self.pass_link(context, coming) };
        context.note(|waits, now| waits.request_waits(now, id, LatencyPart::Controller));
        let has_come = controller.take(context.now, coming);
        self.front.note_change(COMMANDS);
        if has_come {
            self.commands_come(context);
        }
    }

    /// Sends a request on its way over the link; a read has no data there.
    fn pass_link(&mut self, context: &mut Context<'_, impl Plan>, coming: IncomingRequest) {
        let id = coming.id;
        match &mut self.front.link {
            Some(link) if coming.kind != RequestKind::Read => {
                context.note(|waits, now| waits.request_waits(now, id, LatencyPart::Link));
                link.receive(context.now, self.requests.get(id).bytes, coming);
                self.front.note_change(IN);
                self.come_in(context);
            }
            _ => self.take_in(context, id),
        }
    }

    /// Goes on after commands or data have passed a lane. Returns whether requests may have come in by that, or
    /// commands gone on, besides reads: these change nothing for others that the host sends.
    pub(in crate::timed) fn passed(&mut self, context: &mut Context<'_, impl Plan>, lane: usize) -> bool {
        self.front.note_change(lane);
        match lane {
            IN => self.come_in(context),
            OUT => self.go_out(context),
            _ => return self.commands_come(context),
        }
        lane != OUT
    }

    /// Goes on with the commands that the controller has dealt with. Returns whether they were not reads alone.
    fn commands_come(&mut self, context: &mut Context<'_, impl Plan>) -> bool {
        let mut are_others = false;
        while let Some(coming) = self.front.controller.as_mut().and_then(|controller| controller.done(context.now)) {
            context.note(|waits, now| waits.command_is_dealt_with(now, coming.id));
            are_others |= coming.kind != RequestKind::Read;
            self.pass_link(context, coming);
        }
        are_others
    }

    /// Takes in the requests that have passed the link.
    fn come_in(&mut self, context: &mut Context<'_, impl Plan>) {
        while let Some(coming) = self.front.link.as_mut().and_then(|link| link.came(context.now)) {
            context.note(|waits, now| waits.request_has_passed(now, coming.id));
            self.take_in(context, coming.id);
        }
    }

    /// The host has the data that have passed the link.
    fn go_out(&mut self, context: &mut Context<'_, impl Plan>) {
        while let Some(gone) = self.front.link.as_mut().and_then(|link| link.went(context.now)) {
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
            && let Some(link) = &mut front.link
        {
            link.send(context.now, rest, OutgoingData::Rest(request));
            front.note_change(OUT);
            self.requests.wait_for(request, 1);
            context.note(|waits, now| waits.request_waits(now, request, LatencyPart::Link));
        }
    }
}
