//! Steps of collections that do nothing but move pages off the chip, one by one, and erase, where pages store nothing: what
//! `steps` does for all, asked for by unit and slot.

use base::{Cause, Die, Domain, OpKind, Ppn};
use ftl::Spot;

use super::record::read_page;
use crate::device::{Device, count_moves};
use crate::timed::Timed;
use crate::timed::choose::Candidate;
use crate::timed::collections::InHand;
use crate::timed::command::{Carried, Command};
use crate::timed::commands::{Action, Commands};
use crate::timed::context::Context;
use crate::timed::die::Load;
use crate::timed::host::Host;
use crate::timed::plan::Plan;
use crate::timed::queues::Queues;

/// Has a die, if what it does next is to read or to program a page of a collection, do that. Returns whether it does.
#[inline(always)]
pub(in crate::timed) fn moves_page<P: Plan>(timed: &mut Timed<'_, '_, P>, die: Die, action: Action) -> bool {
    let Action::Collect(domain) = action else { return false };
    let Timed { context, host, commands, passage, .. } = timed;
    if context.plan.has().mechanisms {
        return false;
    }
    let command = passage.next_command(die);
    let Some(kind) = commands.move_page(context, command, domain) else { return false };
    if commands.may_join(&context.queues, die) {
        commands.join_pages(context, host, command, die, domain);
        if command.len() > 1 {
            passage.start(context, die, passage.command(die).load());
            return true;
        }
    }
    let load = match kind {
        OpKind::Read => Load::page(OpKind::Read),
        _ => Load::program(commands.next_read(context, die, domain)),
    };
    passage.start(context, die, load);
    true
}

impl Commands {
    /// Reads or programs the next page of a collection. Returns which: nothing if its next step is neither.
    #[inline(always)]
    fn move_page(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        domain: Domain,
    ) -> Option<OpKind> {
        let in_hand = self.collections.in_hand(domain);
        match in_hand.page() {
            Some((from, true)) => {
                command.begin(OpKind::Program, Cause::Gc);
                program_page(context.device, command, domain, from, in_hand).then_some(OpKind::Program)
            }
            // It was looked at for another collection's command.
            Some((_, false)) => None,
            None => {
                let from = context.device.ftl.plain().next_page(domain)?;
                command.begin(OpKind::Read, Cause::Gc);
                add_read(context.device, command, domain, from, in_hand);
                Some(OpKind::Read)
            }
        }
    }

    /// The page that the collection of a die reads behind its program, if that may be booked.
    #[inline(always)]
    fn next_read(&mut self, context: &mut Context<'_, impl Plan>, die: Die, domain: Domain) -> Option<Spot> {
        if context.plan.bookings().is_none() || context.draining || context.queues.reads(die).first().is_some() {
            return None;
        }
        let Context { device, queues, .. } = context;
        let next = device.ftl.plain().next_page(domain)?;
        self.goes_alone(device, queues, die, domain, OpKind::Read, next.at).then_some(next)
    }

    /// Where the page that the collection of a die has read is programmed next, if the die does that as soon as the page is sent and
    /// nothing comes in between; and the page that it reads behind that.
    #[inline(always)]
    pub(super) fn place_of_read_page(
        &mut self,
        device: &mut Device,
        queues: &Queues,
        die: Die,
        domain: Domain,
    ) -> Option<(Ppn, Spot)> {
        if !self.goes_on(queues, die, domain) {
            return None;
        }
        let to = device.ftl.plain().place_in_unit(domain)?.at;
        let next = if self.may_join(queues, die) {
            if !self.fits_none(device, queues, die, domain, OpKind::Program, to) {
                return None;
            }
            let next = device.ftl.plain().page_after_next(domain)?;
            self.fits_none(device, queues, die, domain, OpKind::Read, next.at).then_some(next)?
        } else {
            device.ftl.plain().page_after_next(domain)?
        };
        Some((to, next))
    }

    /// True if a step of a domain's collection is still what its die does next.
    #[inline(always)]
    pub(super) fn goes_on(&self, queues: &Queues, die: Die, domain: Domain) -> bool {
        let (urgency, first) = queues.least(die);
        queues.reads(die).first().is_none() && urgency.candidate(first) == Some(Some(Candidate::Collect(domain)))
    }

    /// Whether other collections of the die may share a command.
    #[inline(always)]
    fn may_join(&self, queues: &Queues, die: Die) -> bool {
        queues.collects_in_several(die) && self.scheduler.merges_collections()
    }

    /// Whether a page of a domain's collection that is read or programmed shares its command with no other collection of the die.
    #[inline(always)]
    fn goes_alone(
        &mut self,
        device: &mut Device,
        queues: &Queues,
        die: Die,
        domain: Domain,
        kind: OpKind,
        at: Ppn,
    ) -> bool {
        !self.may_join(queues, die) || self.fits_none(device, queues, die, domain, kind, at)
    }

    /// Whether no other collection of the die would do anything in [`Commands::join_pages`].
    #[inline(never)]
    fn fits_none(
        &mut self,
        device: &mut Device,
        queues: &Queues,
        die: Die,
        domain: Domain,
        kind: OpKind,
        at: Ppn,
    ) -> bool {
        let mut others = device.ftl.geometry().domains_of_die(die);
        others.all(|other| {
            if other == domain || !queues.collects(other) {
                return true;
            }
            let Device { ftl, flash, .. } = &mut *device;
            let fits = |page: Ppn| flash.may_share_command(at, page);
            match self.collections.in_hand(other).page() {
                Some((from, is_read)) => {
                    let place = if is_read && ftl.is_valid(from) { ftl.plain().place_in_unit(other) } else { None };
                    place.is_some_and(|to| kind != OpKind::Program || !fits(to.at))
                }
                None => kind != OpKind::Read || ftl.plain().next_page(other).is_none_or(|page| !fits(page.at)),
            }
        })
    }

    /// Adds to the page of a collection equal steps of the die's other collections that fit its address.
    #[inline(never)]
    fn join_pages(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        command: &mut Command,
        die: Die,
        first: Domain,
    ) {
        for domain in context.device.ftl.geometry().domains_of_die(die) {
            if domain == first || !context.queues.collects(domain) {
                continue;
            }
            let Device { ftl, flash, .. } = &mut *context.device;
            let fits = |at: Ppn| flash.may_share_command(command.lead(), at);
            let in_hand = self.collections.in_hand(domain);
            match in_hand.page() {
                Some((from, true)) if ftl.is_valid(from) => {
                    // A unit is open for the page from here on, whether it joins or not.
                    let to = ftl.plain().next_place(domain);
                    if command.kind() == OpKind::Program && fits(to) {
                        program_page(context.device, command, domain, from, in_hand);
                    }
                }
                Some(_) => self.join_domain(context, host, command, die, domain),
                None => {
                    if let Some(from) = ftl.plain().next_page(domain)
                        && command.kind() == OpKind::Read
                        && fits(from.at)
                    {
                        add_read(context.device, command, domain, from, in_hand);
                    }
                }
            }
        }
    }
}

/// Reads a page for a collection, as part of a command.
#[inline(always)]
fn add_read(device: &mut Device, command: &mut Command, domain: Domain, from: Spot, mut in_hand: InHand<'_>) {
    read_page(device, from);
    command.add(from.at, Carried::Domain(domain));
    in_hand.take(from.at);
}

/// Programs a page that was read. Returns whether it was not overwritten or trimmed since.
#[inline(always)]
fn program_page(
    device: &mut Device,
    command: &mut Command,
    domain: Domain,
    from: Ppn,
    mut in_hand: InHand<'_>,
) -> bool {
    let Device { ftl, flash, recorder, .. } = device;
    let Some(to) = ftl.plain().move_page(domain, from, None) else { return false };
    count_moves(&mut recorder.counters, Cause::Gc, 1);
    flash.program_spot(to);
    command.add(to.at, Carried::Domain(domain));
    in_hand.end();
    true
}
