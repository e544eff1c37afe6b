//! Programs for the host. A place is asked for once: the page that gets it is programmed there, or does not go into the
//! command.

use std::iter;

use base::{Cause, Die, Domain, OpKind, Ppn, Queue};
use ftl::{ANYWHERE, HostWrite, Placed, Way};

use super::{Commands, note_of_tenant, program_placed};
use crate::device::Device;
use crate::timed::choose::SharedWrite;
use crate::timed::command::{Carried, Command};
use crate::timed::context::Context;
use crate::timed::host::Host;
use crate::timed::plan::Plan;
use crate::timed::queues::{Transaction, TransactionId};

impl Commands {
    /// Programs the first write of a domain, and with it the first writes of other domains of the die that
    /// fit its address.
    pub(super) fn program(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        command: &mut Command,
        die: Die,
        first: Domain,
    ) {
        command.begin(OpKind::Program, Cause::Host);
        let page = context.first_page(Queue::of_domain(first)).expect("a ready write");
        let old = context.older_version(page.lpn);
        let placed = context.device.ftl.write(first, page, ANYWHERE).expect("any place suits");
        let mut last_age = self.add_first(context, host, command, first, (placed, old));
        for _ in 1..context.device.flash.geometry().row_slots() {
            let Some(age) = self.join_own(context, host, command, die, first, last_age) else { break };
            last_age = age;
        }
        for domain in context.device.flash.geometry().domains_of_die(die) {
            for part in 0..context.device.flash.geometry().parts {
                if domain == first || context.device.ftl.work(domain).is_some() {
                    break;
                }
                let Some(page) = self.joining_write(context, host, domain, last_age) else { break };
                let old = context.older_version(page.lpn);
                let Device { ftl, flash, .. } = &mut *context.device;
                let (geometry, lead) = (*flash.geometry(), command.lead());
                let fits =
                    |at| if part == 0 { flash.may_share_command(lead, at) } else { command.brings(&geometry, at) };
                let Some(placed) = ftl.write(domain, page, Some(fits)) else { break };
                last_age = self.add_first(context, host, command, domain, (placed, old));
            }
        }
    }

    /// Adds the next write of a domain whose units lie on all planes of the die, if it fits the first one's address, and
    /// returns its age. Such a unit is filled plane by plane; but a page of another stream goes to another unit, perhaps on a
    /// plane that the command has already.
    ///
    /// Apart from the loop over the other domains, which does the same: called for both, that one was slower by 3 %.
    #[inline(never)]
    fn join_own(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        command: &mut Command,
        die: Die,
        domain: Domain,
        last_age: u64,
    ) -> Option<u64> {
        if context.device.ftl.work(domain).is_some() {
            return None;
        }
        let page = self.joining_write(context, host, domain, last_age)?;
        let old = context.older_version(page.lpn);
        let placed = write_on_new_plane(context.device, command, die, domain, page)?;
        Some(self.add_first(context, host, command, domain, (placed, old)))
    }

    /// The page of a domain's first write, if it can be programmed and the scheduler lets it into the command.
    #[inline]
    fn joining_write(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        domain: Domain,
        last_age: u64,
    ) -> Option<HostWrite> {
        let (age, page) = self.ready_write(context, host, Queue::of_domain(domain))?;
        let joins = self.scheduler.may_join(last_age, age) && context.device.ftl.prepare(domain, page);
        self.schedule.note_foreground(context, host, domain);
        joins.then_some(page)
    }

    /// Programs the first ready writes of a shared queue: one, which was found, or as many as the allocation gives a die at
    /// once and as fit one command. Returns whether there is a command.
    pub(super) fn program_shared(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        command: &mut Command,
        die: Die,
        write: SharedWrite,
    ) -> bool {
        if context.device.has.dynamic.is_none() {
            return false;
        }
        if !context.device.ftl.prepare(write.domain, context.queues.get(write.found.1).page()) {
            self.schedule.note_collections(context, host, write.domain);
            return self.collect(context, host, command, die, write.domain);
        }
        self.program_prepared(context, host, command, die, write);
        true
    }

    /// Programs from a shared queue, where the domain was just prepared for the write. Asked anew, it may have
    /// something else to do first.
    pub(in crate::timed) fn program_prepared(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        command: &mut Command,
        die: Die,
        write: SharedWrite,
    ) {
        let SharedWrite { queue, domain: first, found } = write;
        let dynamic = context.device.has.dynamic.expect("a shared queue");
        let page = context.queues.get(found.1).page();
        command.begin(OpKind::Program, Cause::Host);
        let old = context.older_version(page.lpn);
        let placed = context.device.ftl.write(first, page, ANYWHERE).expect("any place suits");
        context.queues.remove_write(queue, found.0, found.1);
        let mut last_age = add_write(context, host, command, found.1, (placed, old));
        // A collection begins in a domain with the last page that it takes; but other domains may look at how far it is.
        let is_alone = context.device.flash.geometry().domains_per_die() == 1;
        let notes_last = is_alone && self.schedule.waits_for_need(&context.plan);
        if !notes_last {
            self.schedule.note_collections(context, host, first);
        }
        let burst = context.device.allocation.dynamic().map_or(1, ftl::allocation::Dynamic::burst);
        // The rest of a row has its places already: no domain has its turn before it is full.
        let row = context.device.flash.geometry().row_around(placed.at);
        let has_turn =
            notes_last && context.device.flash.shares_rows() && dynamic.accepts_all(&context.device.ftl, first, burst);
        let in_turn = if has_turn { row.end - placed.at.0 } else { 1 };
        for number in 1..burst {
            let Some(found) = self.ready_shared_write(context, host, queue) else { break };
            let Transaction { age, .. } = *context.queues.get(found.1);
            let page = context.queues.get(found.1).page();
            if !self.scheduler.may_join(last_age, age) {
                break;
            }
            let is_in_turn = number < in_turn;
            let turn = if is_in_turn { Some(first) } else { dynamic.peek_domain_of(&context.device.ftl, die) };
            let Some(domain) = turn else { break };
            if !is_in_turn && !context.device.ftl.prepare(domain, page) {
                break;
            }
            let old = context.older_version(page.lpn);
            let placed = if is_in_turn {
                context.device.ftl.write(domain, page, ANYWHERE)
            } else {
                write_on_new_plane(context.device, command, die, domain, page)
            };
            let Some(placed) = placed else { break };
            context.queues.remove_write(queue, found.0, found.1);
            last_age = add_write(context, host, command, found.1, (placed, old));
            if !notes_last {
                self.schedule.note_collections(context, host, domain);
            }
        }
        if notes_last {
            self.schedule.note_collections(context, host, first);
        }
        self.host_wrote(context, host, command, die);
    }

    /// Takes the first write of a domain's queue, which was placed and has an older version or none, and programs it. Returns its age.
    #[inline]
    fn add_first(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        command: &mut Command,
        domain: Domain,
        placed: (Placed, Option<Ppn>),
    ) -> u64 {
        let queue = Queue::of_domain(domain);
        let write = context.queues.writes(queue).first().expect("a ready write");
        context.queues.remove_write(queue, None, write);
        if let Some(next) = context.queues.writes(queue).first_lpn() {
            // In a deep queue it has waited for so long that nothing of it is near any more.
            context.device.ftl.prefetch(next);
        }
        let age = add_write(context, host, command, write, placed);
        self.schedule.note_collections(context, host, domain);
        age
    }
}

/// Programs a write that was taken out of its queue. Returns its age.
#[inline]
fn add_write(
    context: &mut Context<'_, impl Plan>,
    host: &mut Host,
    command: &mut Command,
    write: TransactionId,
    (placed, old): (Placed, Option<Ppn>),
) -> u64 {
    let Transaction { lpn, version, age, .. } = *context.queues.get(write);
    let assembles = context.assembles();
    if assembles && context.device.flash.rows_are_plain() && placed.way == Way::Plain {
        let flash = &mut context.device.flash;
        flash.place_run(placed.at, 1, old.map(|old| flash.unit_of(old)));
    } else {
        program_placed(context, placed, |device| device.expected(lpn, version), old);
    }
    note_of_tenant(context, placed, false);
    if assembles {
        // The assembly knows for which of them an erase has to wait.
        context.note_programmed(iter::once(placed.at));
    }
    if context.plan.has().buffer {
        host.begin_program(&context.queues, write);
    }
    command.add(placed.at, Carried::Transaction(write));
    age
}

/// Places a page, if that fits the first one's address, on a plane that the command does not use yet.
fn write_on_new_plane(
    device: &mut Device,
    command: &Command,
    die: Die,
    domain: Domain,
    page: HostWrite,
) -> Option<Placed> {
    let Device { ftl, flash, .. } = device;
    let geometry = flash.geometry();
    let fits = |at: Ppn| {
        command.goes_on(geometry, at) && flash.shares_rows()
            || command.brings(geometry, at)
            || flash.may_share_command(command.lead(), at) && command.is_new_plane(geometry, die, at)
    };
    ftl.write(domain, page, Some(fits))
}
