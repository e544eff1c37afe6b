//! Steps of collections that do nothing but move pages off the chip, one by one, and erase, where pages store nothing: what
//! `steps` does for all, asked for by unit and slot.

use base::{Cause, Die, Domain, OpKind, Ppn};
use ftl::Spot;

use super::Commands;
use crate::device::{Device, count_moves};
use crate::timed::choice::Candidate;
use crate::timed::collections::InHand;
use crate::timed::command::{Carried, Command};
use crate::timed::context::Context;
use crate::timed::host::Host;
use crate::timed::plan::Plan;

impl Commands {
    /// Reads or programs the next page of a collection. Returns which: nothing if its next step is neither.
    #[inline(always)]
    pub(in crate::timed) fn move_page(
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
                read_page(context.device, command, domain, from, in_hand);
                Some(OpKind::Read)
            }
        }
    }

    /// The page that the collection of a die reads behind its program, if nothing comes in between.
    #[inline(always)]
    pub(in crate::timed) fn next_read(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        domain: Domain,
    ) -> Option<Spot> {
        if context.plan.is_dynamic() || context.draining || context.queues.reads(die).first().is_some() {
            return None;
        }
        let next = context.device.ftl.plain().next_page(domain)?;
        self.goes_alone(context, die, domain, OpKind::Read, next.at).then_some(next)
    }

    /// Books that read.
    #[inline(always)]
    pub(in crate::timed) fn book_read(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        domain: Domain,
        from: Spot,
    ) {
        command.begin(OpKind::Read, Cause::Gc);
        read_page(context.device, command, domain, from, self.collections.in_hand(domain));
    }

    /// Moves the page that the collection of a die has read to where it is programmed next, if the die does that as soon as the
    /// page is sent and nothing comes in between; and finds the page that it reads behind that. Returns the place and that page.
    #[inline(always)]
    pub(in crate::timed) fn move_read_page(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        domain: Domain,
        from: Ppn,
    ) -> Option<(Ppn, Spot)> {
        if context.draining || !self.goes_on(context, die, domain) {
            return None;
        }
        let pages = context.device.ftl.plain();
        if !pages.stays_in_unit(domain) {
            return None;
        }
        if self.may_join(context, die) {
            let place = context.device.ftl.plain().next_place(domain);
            if !self.fits_none(context, die, domain, OpKind::Program, place) {
                return None;
            }
        }
        let pages = context.device.ftl.plain();
        let to = pages.move_page(domain, from)?;
        if let Some(next) = pages.next_page(domain)
            && self.goes_alone(context, die, domain, OpKind::Read, next.at)
        {
            context.device.flash.program_spot(to);
            return Some((to.at, next));
        }
        context.device.ftl.plain().cancel_move(domain, from, to.at);
        None
    }

    /// The page that was read for a collection is not moved yet.
    pub(in crate::timed) fn cancel_move(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        domain: Domain,
        [from, to]: [Ppn; 2],
    ) {
        context.device.ftl.plain().cancel_move(domain, from, to);
        command.begin(OpKind::Read, Cause::Gc);
        command.add(from, Carried::Domain(domain));
        self.collections.in_hand(domain).take(from);
    }

    /// Whether the read that was booked for a collection is still what its die does next.
    #[inline(always)]
    pub(in crate::timed) fn goes_on(&self, context: &Context<'_, impl Plan>, die: Die, domain: Domain) -> bool {
        let (urgency, first) = context.queues.least(die);
        context.queues.reads(die).first().is_none()
            && urgency.candidate(first) == Some(Some(Candidate::Collect(domain)))
    }

    /// The page that a collection has read is moved, or its booked read does not take place: it has none in hand.
    pub(in crate::timed) fn forget_read(&mut self, domain: Domain) {
        self.collections.in_hand(domain).end();
    }

    /// Whether other collections of the die may share a command.
    #[inline(always)]
    pub(in crate::timed) fn may_join(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        context.queues.collects_in_several(die) && self.scheduler.merges_collections()
    }

    /// Whether a page of a domain's collection that is read or programmed shares its command with no other collection of the die.
    #[inline(always)]
    fn goes_alone(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        domain: Domain,
        kind: OpKind,
        at: Ppn,
    ) -> bool {
        !self.may_join(context, die) || self.fits_none(context, die, domain, kind, at)
    }

    /// Whether no other collection of the die would do anything in [`Commands::join_pages`].
    #[inline(never)]
    fn fits_none(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        domain: Domain,
        kind: OpKind,
        at: Ppn,
    ) -> bool {
        let mut others = context.device.ftl.geometry().domains_of_die(die);
        others.all(|other| {
            if other == domain || !context.queues.collects(other) {
                return true;
            }
            let Device { ftl, flash, .. } = &mut *context.device;
            let fits = |page: Ppn| flash.may_share_command(at, page);
            match self.collections.in_hand(other).page() {
                Some((from, is_read)) => {
                    let keeps = is_read && ftl.is_valid(from) && ftl.plain().stays_in_unit(other);
                    keeps && (kind != OpKind::Program || !fits(ftl.plain().next_place(other)))
                }
                None => kind != OpKind::Read || ftl.plain().next_page(other).is_none_or(|page| !fits(page.at)),
            }
        })
    }

    /// Adds to the page of a collection equal steps of the die's other collections that fit its address.
    #[inline(never)]
    pub(in crate::timed) fn join_pages(
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
                        read_page(context.device, command, domain, from, in_hand);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn read_page(device: &mut Device, command: &mut Command, domain: Domain, from: Spot, mut in_hand: InHand<'_>) {
    let Device { ftl, flash, .. } = device;
    ftl.plain().prefetch_copy(from.at);
    flash.read_spot(from);
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
    let Some(to) = ftl.plain().move_page(domain, from) else { return false };
    count_moves(&mut recorder.counters, Cause::Gc, 1);
    flash.program_spot(to);
    command.add(to.at, Carried::Domain(domain));
    in_hand.end();
    true
}
