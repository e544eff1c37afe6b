//! Reads for the host.

use base::{Die, OpKind, Ppn};

use super::Commands;
use crate::timed::command::{Carried, Command};
use crate::timed::context::Context;
use crate::timed::host::read_cause;
use crate::timed::plan::{Chip, Plan};
use crate::timed::queues::{Transaction, TransactionId};

/// Waiting reads of a die that are looked at for units of a flash page that is read: as many as a long request has there.
const LOOKED_AT: usize = 64;

/// A read that waits for a die, with its predecessor in the queue and its page.
pub(in crate::timed) type FoundRead = (Option<TransactionId>, TransactionId, Ppn);

impl Commands {
    /// Reads the page of a read of a die, and with it those of other reads that fit its address.
    #[inline(always)]
    pub(in crate::timed) fn read_found(
        &self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        die: Die,
        (previous, read, ppn): FoundRead,
    ) {
        command.begin(OpKind::Read, read_cause(&context.queues, read));
        context.queues.remove_read(die, previous, read);
        add_read(context, command, read, ppn);
        let geometry = context.device.flash.geometry();
        if context.queues.reads(die).first().is_some() && (geometry.planes_per_die > 1 || geometry.parts > 1) {
            self.join_reads(context, command, die, read);
        }
    }

    /// Adds waiting reads of other planes that fit the first one's address, and those of units that come with what is read: these pass
    /// others, which lose nothing by it.
    fn join_reads<P: Plan>(&self, context: &mut Context<'_, P>, command: &mut Command, die: Die, first: TransactionId) {
        let geometry = *context.device.flash.geometry();
        let (lead, cause) = (command.lead(), command.cause());
        let mut last_age = context.queues.get(first).age;
        let mut previous = None;
        let mut at = context.queues.reads(die).first();
        let mut skipped = 0;
        while let Some(read) = at
            && command.len() < (geometry.planes_per_die * geometry.parts) as usize
            && (skipped <= self.scheduler.skips_at_most() || geometry.parts > 1 && skipped <= LOOKED_AT)
        {
            let in_turn = skipped <= self.scheduler.skips_at_most();
            at = context.queues.after(read);
            let Transaction { age, lpn, translated, .. } = *context.queues.get(read);
            let device = &context.device;
            let found = device.ftl.lookup(lpn).ok().filter(|&other| {
                device.may_read(other)
                    && (translated || device.is_known(lpn))
                    && read_cause(&context.queues, read) == cause
                    && (command.brings(&geometry, other)
                        || in_turn
                            && self.scheduler.may_join(last_age, age)
                            && device.flash.may_share_command(lead, other)
                            && command.is_new_plane(&geometry, die, other))
                    && !P::Chip::bars(context, die, other)
                    && !context.keeps(other)
            });
            match found {
                Some(other) => {
                    context.queues.remove_read(die, previous, read);
                    add_read(context, command, read, other);
                    if self.scheduler.may_join(last_age, age) {
                        last_age = age;
                    }
                }
                None => {
                    previous = Some(read);
                    skipped += 1;
                }
            }
        }
    }
}

fn add_read(context: &mut Context<'_, impl Plan>, command: &mut Command, read: TransactionId, ppn: Ppn) {
    let comes_along = command.brings(context.device.flash.geometry(), ppn);
    let flash = &mut context.device.flash;
    let content = if comes_along { flash.read_along(ppn) } else { flash.read(ppn) };
    if context.plan.has().contents {
        if !comes_along {
            context.device.note_reads(ppn, 1);
        }
        let Transaction { lpn, version, .. } = *context.queues.get(read);
        context.device.note_host_read(lpn);
        context.device.check_read(lpn, version, content);
    }
    command.add(ppn, Carried::Transaction(read));
}
