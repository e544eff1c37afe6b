//! Steps of collections that do nothing but move pages off the chip, one by one, and erase, where pages store nothing: what
//! `steps` does for all, asked for by unit and slot.

use base::{Cause, Die, Domain, OpKind, Ppn};
use ftl::{ANYWHERE, PageAddress, PlainPages};

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
    let Timed { context, host, commands, backend, .. } = timed;
    let Some(pages) = context.plan.pages() else { return false };
    let command = backend.next_command(die);
    let Some(kind) = commands.move_page(pages, context, command, domain) else { return false };
    if commands.may_join(&context.queues, die) {
        commands.join_pages(pages, context, host, command, die, domain);
        if command.len() > 1 {
            backend.start(context, die, backend.command(die).load());
            return true;
        }
    }
    let load = match kind {
        OpKind::Read => Load::page(OpKind::Read),
        _ => Load::program(commands.next_read(pages, context, die, domain)),
    };
    backend.start(context, die, load);
    true
}

impl Commands {
    /// Reads or programs the next page of a collection. Returns which: nothing if its next step is neither.
    #[inline(always)]
    fn move_page(
        &mut self,
        pages: PlainPages,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        domain: Domain,
    ) -> Option<OpKind> {
        let in_hand = self.collections.in_hand(domain);
        match in_hand.page() {
            Some((from, true)) => {
                command.begin(OpKind::Program, Cause::Gc);
                program_page(pages, context.device, command, domain, from, in_hand, false).then_some(OpKind::Program)
            }
            // It was looked at for another collection's command.
            Some((_, false)) => None,
            None => {
                let from = pages.next_page(&mut context.device.ftl, domain)?;
                command.begin(OpKind::Read, Cause::Gc);
                add_read(context.device, command, domain, from, in_hand);
                Some(OpKind::Read)
            }
        }
    }

    /// The page that the collection of a die reads behind its program, if that may be booked.
    #[inline(always)]
    fn next_read(
        &mut self,
        pages: PlainPages,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        domain: Domain,
    ) -> Option<PageAddress> {
        if context.plan.bookings().is_none() || context.draining || context.queues.reads(die).first().is_some() {
            return None;
        }
        let Context { device, queues, .. } = context;
        let next = pages.next_page(&mut device.ftl, domain)?;
        let goes_alone =
            !self.may_join(queues, die) || self.fits_none(pages, device, queues, die, domain, OpKind::Read, next.at);
        goes_alone.then_some(next)
    }

    /// Where the page that the collection of a die has read is programmed next, if the die does that as soon as the page is sent and
    /// nothing comes in between; and the page that it reads behind that.
    #[inline(always)]
    pub(super) fn place_of_read_page(
        &mut self,
        pages: PlainPages,
        device: &mut Device,
        queues: &Queues,
        die: Die,
        domain: Domain,
    ) -> Option<(Ppn, PageAddress)> {
        if !self.goes_on(queues, die, domain) {
            return None;
        }
        let (to, next) = pages.look_ahead(&device.ftl, domain)?;
        let next = next?;
        let goes_alone = !self.may_join(queues, die)
            || self.fits_none(pages, device, queues, die, domain, OpKind::Program, to)
                && self.fits_none(pages, device, queues, die, domain, OpKind::Read, next.at);
        goes_alone.then_some((to, next))
    }

    /// True if a step of a domain's collection is still what its die does next.
    #[inline(always)]
    pub(super) fn goes_on(&self, queues: &Queues, die: Die, domain: Domain) -> bool {
        let (urgency, first) = queues.least(die);
        queues.reads(die).first().is_none() && urgency.candidate(first) == Some(Some(Candidate::Collect(domain)))
    }

    /// True if other collections of the die may share a command.
    #[inline(always)]
    fn may_join(&self, queues: &Queues, die: Die) -> bool {
        queues.collects_in_several(die) && self.scheduler.merges_collections()
    }

    /// True if no other collection of the die would do anything in [`Commands::join_pages`].
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // Parts of the executor, and three that say which page.
    fn fits_none(
        &mut self,
        pages: PlainPages,
        device: &mut Device,
        queues: &Queues,
        die: Die,
        domain: Domain,
        kind: OpKind,
        at: Ppn,
    ) -> bool {
        let mut others = device.flash.geometry().domains_of_die(die);
        others.all(|other| {
            if other == domain || !queues.collects(other) {
                return true;
            }
            let Device { ftl, flash, .. } = &mut *device;
            let fits = |page: Ppn| flash.may_share_command(at, page);
            match self.collections.in_hand(other).page() {
                Some((from, is_read)) => {
                    let ahead = if is_read && ftl.is_valid(from) { pages.look_ahead(ftl, other) } else { None };
                    ahead.is_some_and(|(to, _)| kind != OpKind::Program || !fits(to))
                }
                None => kind != OpKind::Read || pages.next_page(ftl, other).is_none_or(|page| !fits(page.at)),
            }
        })
    }

    /// Adds to the page of a collection equal steps of the die's other collections that fit its address.
    #[inline(never)]
    fn join_pages(
        &mut self,
        pages: PlainPages,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        command: &mut Command,
        die: Die,
        first: Domain,
    ) {
        for domain in context.device.flash.geometry().domains_of_die(die) {
            if domain == first || !context.queues.collects(domain) {
                continue;
            }
            let in_hand = self.collections.in_hand(domain);
            match in_hand.page() {
                Some((from, true)) if context.device.ftl.is_valid(from) => {
                    // A unit is open for the page from here on, whether it joins or not.
                    program_page(pages, context.device, command, domain, from, in_hand, true);
                }
                Some(_) => self.join_domain(context, host, command, die, domain),
                None => {
                    let Device { ftl, flash, .. } = &mut *context.device;
                    if let Some(from) = pages.next_page(ftl, domain)
                        && command.kind() == OpKind::Read
                        && flash.may_share_command(command.lead(), from.at)
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
fn add_read(device: &mut Device, command: &mut Command, domain: Domain, from: PageAddress, mut in_hand: InHand<'_>) {
    device.flash.read_spot(from);
    command.add(from.at, Carried::Domain(domain));
    in_hand.take(from.at);
}

/// Programs a page that was read; one that `joins` a command, if that programs and the place of the page fits it. Returns whether it does,
/// and was not overwritten or trimmed since.
#[inline(always)]
fn program_page(
    pages: PlainPages,
    device: &mut Device,
    command: &mut Command,
    domain: Domain,
    from: Ppn,
    mut in_hand: InHand<'_>,
    joins: bool,
) -> bool {
    let Device { ftl, flash, recorder, .. } = device;
    let placed = if joins {
        let fits = |at| command.kind() == OpKind::Program && flash.may_share_command(command.lead(), at);
        pages.move_page(ftl, domain, from, None, Some(fits))
    } else {
        pages.move_page(ftl, domain, from, None, ANYWHERE)
    };
    let Some(to) = placed else { return false };
    count_moves(&mut recorder.counters, Cause::Gc, 1);
    flash.program_spot(to);
    command.add(to.at, Carried::Domain(domain));
    in_hand.end();
    true
}
