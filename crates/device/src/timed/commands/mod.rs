//! Commands: what goes into one, and what changes with it in the FTL and in the array. What is due before a die chooses is in
//! `settle`, what it then could do in `views`, and the commands themselves are built in `reads`, `programs` and `steps`.

mod programs;
pub(super) mod reads;
pub(super) mod settle;
mod steps;
mod views;

use base::{Cause, Die, Domain, Ppn, Selection};
use ftl::schedule::Schedule;
use ftl::{PagePayload, Placed};

use super::choose::SharedWrite;
use super::collections::Collections;
use super::command::{Carried, Command, Item};
use super::context::Context;
use super::gc_schedule::GcSchedule;
use super::host::Host;
use super::plan::Plan;
use super::queues::TransactionId;
use crate::device::Device;
use crate::flash::Content;
use crate::scheduler::{self, Patience, Scheduler};

/// The next work of a die.
#[derive(Clone, Copy)]
pub(super) enum Action {
    /// It does no work.
    Nothing,
    /// It reads this page.
    Read(TransactionId, Ppn),
    /// It programs the first write of a domain's own queue.
    Program(Domain),
    /// It programs from a shared queue.
    ProgramShared(SharedWrite),
    /// It does the next step of a domain's collection.
    Collect(Domain),
}

/// Builds commands, and knows what collections need of them.
pub(super) struct Commands {
    pub(super) scheduler: Scheduler,
    pub(super) schedule: GcSchedule,
    pub(super) collections: Collections,
    /// True if reads wait for a foreground GC of their die.
    gc_holds_reads: bool,
    /// How long reads may go before other work, where that is bounded.
    patience: Option<Box<Patience>>,
}

impl Commands {
    /// Bytes for each domain.
    pub(super) const BYTES_OF_DOMAIN: usize = Collections::BYTES_OF_DOMAIN + GcSchedule::BYTES_OF_DOMAIN;

    pub(super) fn new(scheduler: &Selection, schedule: Schedule, device: &Device) -> Commands {
        let geometry = device.flash.geometry();
        let patience = |bound| Box::new(Patience::new(bound, geometry.dies()));
        Commands {
            scheduler: Scheduler::build(scheduler),
            schedule: GcSchedule::new(schedule, geometry),
            collections: Collections::new(device),
            gc_holds_reads: scheduler::gc_holds_reads(scheduler),
            patience: scheduler::max_wait(scheduler).map(patience),
        }
    }

    /// Builds the command for what a die does. Returns whether there is one: what a page was to be protected from may be
    /// gone by now.
    #[inline]
    pub(super) fn build(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        command: &mut Command,
        die: Die,
        action: Action,
    ) -> bool {
        match action {
            Action::Nothing => return false,
            Action::Read(read, ppn) => self.read_found(context, command, die, (None, read, ppn)),
            Action::Program(domain) => {
                self.program(context, host, command, die, domain);
                self.host_wrote(context, host, command, die);
            }
            Action::ProgramShared(write) => return self.program_shared(context, host, command, die, write),
            Action::Collect(domain) => return self.collect(context, host, command, die, domain),
        }
        true
    }

    /// A command writes pages of the host. Where collections keep step with these, those of the die do what is due for them.
    #[inline]
    fn host_wrote(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, command: &Command, die: Die) {
        if !context.plan.has().schedules || !command.is_of_host() {
            return;
        }
        if let Some(patience) = &mut self.patience {
            patience.served(die);
        }
        if !self.schedule.counts_writes() {
            return;
        }
        let geometry = *context.device.flash.geometry();
        for domain in geometry.domains_of_die(die) {
            let is_here = |item: &&Item| geometry.domain_of_unit(geometry.unit_of(item.ppn)) == domain;
            let written = command.items().iter().filter(is_here).count() as u32;
            if written > 0 {
                self.schedule.keep_pace(context, host, domain, written);
            }
        }
    }

    /// Pages that a domain's collection read are in the controller, corrected.
    #[inline]
    pub(super) fn pages_arrived(&mut self, context: &mut Context<'_, impl Plan>, domain: Domain, pages: u8) {
        if !context.plan.has().contents {
            // It was woken when the last page of the command left it, and nobody waits for the others.
            return;
        }
        let die = context.device.flash.geometry().die_of_domain(domain);
        if !self.collections.pages_arrived(die, domain, pages) {
            // Its collection waits for the others.
            return;
        }
        let is_of_map = self.collections.step(domain).cause == Cause::Mapping;
        if self.collections.ends_read(domain)
            && is_of_map
            && let Some(map) = context.device.has.map
        {
            let lpn = map.fetched(&mut context.device.ftl, domain);
            if map.has_owners {
                context.queues.translate_reads(die, lpn);
            }
        }
        context.queues.wake(die);
        context.queues.offer();
    }
}

/// Programs a page that was placed, made of `data`; its last version that is older lies at `old`.
#[inline(always)]
pub(super) fn program_placed(
    context: &mut Context<'_, impl Plan>,
    placed: Placed,
    data: impl FnOnce(&Device) -> Content,
    old: Option<Ppn>,
) {
    if !context.plan.has().contents {
        return context.device.flash.program(placed.at, Content::EMPTY).expect_done();
    }
    let content = context.device.content_of(placed, data(context.device));
    context.device.flash.place(placed, content, old).expect_done();
}

/// A page was placed for the host, or a copy of one: the figures of its tenant have it, if several hosts share the device.
#[inline(always)]
pub(super) fn note_of_tenant(context: &mut Context<'_, impl Plan>, placed: Placed, is_copy: bool) {
    if context.plan.has().watchers
        && let PagePayload::Data(lpn) = placed.holds
    {
        context.device.recorder.placed_of_tenant(lpn, is_copy);
    }
}

/// Of the superpages of a command, which was counted, the host is concerned with some parts only.
#[inline(always)]
pub(super) fn note_bystanders(context: &mut Context<'_, impl Plan>, command: &Command) {
    if context.plan.has().superpages
        && context.device.parts.are_several()
        && (command.is_of_host() || command.is_mixed())
        && !command.is_first_pass()
    {
        note_parts(context, command);
    }
}

#[inline(never)]
fn note_parts(context: &mut Context<'_, impl Plan>, command: &Command) {
    let geometry = context.device.flash.geometry();
    let is_multi = command.ppns().any(|ppn| geometry.place(ppn).plane != geometry.place(command.lead()).plane);
    for (at, item) in command.items().iter().enumerate() {
        // Others may be programmed with pages of the host.
        if let Carried::Transaction(transaction) = item.carried {
            let touched = context.queues.get(transaction).share.touched;
            let others = u64::from(context.device.parts.count - touched);
            context.device.recorder.counters.bystand(command.cause_at(at), command.kind(), others, is_multi);
        }
    }
}
