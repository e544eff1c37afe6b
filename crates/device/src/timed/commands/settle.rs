//! Work that is due on a die before it chooses, and that changes things: trims are carried out, old versions are sent for, pages leave
//! the write buffer, domains are prepared. After it `views` looks, and changes nothing.

use base::{Cause, Die, Domain, Lpn, Ppn, Queue};
use ftl::{AheadPhase, HostWrite};

use super::Commands;
use crate::device::Device;
use crate::timed::choose::Found;
use crate::timed::collections::NextStep;
use crate::timed::command::MAX_PLANES;
use crate::timed::context::Context;
use crate::timed::gc_schedule::Standing;
use crate::timed::host::{Host, fetch_old};
use crate::timed::plan::{Chip, Plan};
use crate::timed::queues::{Transaction, TransactionId};

/// Waiting writes of a shared queue that are skipped at most in search of one that is ready.
const MAX_SKIPPED: usize = 64;

/// The thing that the first of a die's reads waits for.
#[derive(Clone, Copy)]
pub(super) enum Read {
    /// This page.
    Page(TransactionId, Ppn),
    /// Its map entry, or a place that may be read: the domain has steps to do.
    Entry(Domain),
}

/// The next step of a domain's collection, as it was found. Who asks anew may be told another one.
#[derive(Clone, Copy)]
pub(in crate::timed) struct LookedStep {
    pub(in crate::timed) domain: Domain,
    pub(in crate::timed) next: NextStep,
    pub(in crate::timed) cause: Cause,
    /// The phase that it begins, where collections keep step.
    pub(in crate::timed) phase: Option<AheadPhase>,
}

/// How a domain stands when what is due in it was begun or ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::timed) enum Stand {
    /// It has nothing to do, or waits for others.
    Rests,
    /// It is collected.
    Collects,
    /// The first write of its own queue can be programmed.
    Writes,
    /// That write can be programmed when the domain has done what comes before it.
    Prepares,
}

/// How a die stands when what is due on it was begun or ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settled {
    /// In the order of the die's domains.
    pub(super) domains: [Stand; MAX_PLANES],
    /// One of them does not rest.
    pub(super) any: bool,
    /// The first write of the queue that it shares which can be programmed, and the domain of its that takes it.
    pub(super) shared: Option<(Domain, Found)>,
    /// That queue was empty, and pages of the write buffer would have left for it.
    pub(super) presses: bool,
}

// Domains.
impl Commands {
    /// Begins and ends what is due on a die, besides its reads. Returns how the die stands then.
    #[inline(always)]
    pub(super) fn settle(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, die: Die) -> Settled {
        let dynamic = context.device.allocation.dynamic().map(|dynamic| dynamic.queue_of_die(die));
        let domains = context.device.flash.geometry().domains_of_die(die);
        let mut settled = Settled { domains: [Stand::Rests; MAX_PLANES], any: false, shared: None, presses: false };
        for (domain, stand) in domains.zip(&mut settled.domains) {
            *stand = self.settle_domain(context, host, die, domain);
            settled.any |= *stand != Stand::Rests;
        }
        if let Some(queue) = dynamic {
            let is_empty = context.queues.writes(queue).first().is_none();
            settled.presses = is_empty && host.would_leave(queue);
            if !is_empty || settled.presses {
                let taker = |device: &Device| device.has.dynamic?.peek_domain_of(&device.ftl, die);
                let domain = taker(context.device);
                let found = domain.and_then(|_| self.ready_shared_write(context, host, queue));
                // By then the domain may have to fetch a map entry.
                let domain = if context.has_owners() { taker(context.device) } else { domain };
                settled.shared = domain.zip(found);
            }
        } else if !self.schedule.is_threshold(&context.plan) {
            // Preparing another plane's write may have begun a collection in a domain that was settled before: it fills its time.
            for (domain, stand) in context.device.flash.geometry().domains_of_die(die).zip(&mut settled.domains) {
                if *stand == Stand::Writes && context.device.ftl.work(domain).is_some() {
                    *stand = self.settle_domain(context, host, die, domain);
                }
            }
        }
        settled
    }

    /// Begins and ends what is due in a domain. Returns how it stands then.
    #[inline(always)]
    pub(in crate::timed) fn settle_domain(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        die: Die,
        domain: Domain,
    ) -> Stand {
        match self.settle_collection(context, host, die, domain) {
            Some(true) => return Stand::Collects,
            Some(false) if !context.plan.is_dynamic() => {}
            _ => return Stand::Rests,
        }
        let Some((_, page)) = self.ready_write(context, host, Queue::of_domain(domain)) else { return Stand::Rests };
        if context.device.ftl.prepare(domain, page) {
            return Stand::Writes;
        }
        self.schedule.note_collections(context, host, domain);
        Stand::Prepares
    }

    /// True if a domain is collected. `None`: it is, and waits for others.
    #[inline(always)]
    fn settle_collection(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        die: Die,
        domain: Domain,
    ) -> Option<bool> {
        let is_threshold = self.schedule.is_threshold(&context.plan);
        if context.device.ftl.work(domain).is_none()
            && (is_threshold || !self.schedule.join_late(context, host, domain))
        {
            return Some(false);
        }
        if context.plan.is_dynamic() && context.queues.is_held(domain) {
            return None;
        }
        if context.has_owners()
            && !self.collections.is_correcting(die, domain)
            && !self.collections.has_step(&mut context.device.ftl, domain)
        {
            // It waits for others, unless what it had to do was found to be done.
            return if context.device.ftl.work(domain).is_some() { None } else { Some(false) };
        }
        if is_threshold {
            return if self.erase_waits(context, host, domain) { None } else { Some(true) };
        }
        match self.schedule.standing(context, host, &mut self.collections, domain) {
            Standing::Goes if self.erase_waits(context, host, domain) => None,
            Standing::Goes => Some(true),
            Standing::Waits => None,
            // What protects its pages may still be to be done, and a refresh may have become due meanwhile.
            Standing::Suspended => Some(context.device.ftl.work(domain).is_some()),
        }
    }

    /// The erase that a domain's collection comes to next waits for pages whose older versions the victim has, and which wait
    /// for the rest of their wordlines. Then these wordlines are filled up.
    #[inline]
    fn erase_waits(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) -> bool {
        context.assembles() && !self.moves_on(context, domain) && self.look_at_erase(context, host, domain)
    }

    /// True if a domain's collection goes on with pages in hand, whatever others do. `false` says nothing.
    #[inline]
    pub(super) fn moves_on(&self, context: &Context<'_, impl Plan>, domain: Domain) -> bool {
        !self.schedule.keeps_step() && self.collections.moves_on(&context.device.ftl, domain)
    }

    /// The next step of a domain's collection, for which one may just have begun.
    pub(in crate::timed) fn look_at_step(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        domain: Domain,
    ) -> Option<LookedStep> {
        let phase = self.schedule.phase_of(context, &mut self.collections, domain);
        let next = self.collections.next_step(&mut context.device.ftl, domain);
        self.schedule.note_neighbours(context);
        self.schedule.note_foreground(context, host, domain);
        next.map(|(next, cause)| LookedStep { domain, next, cause, phase })
    }

    #[inline(never)]
    fn look_at_erase<P: Plan>(&mut self, context: &mut Context<'_, P>, host: &Host, domain: Domain) -> bool {
        let next = self.look_at_step(context, host, domain).map(|looked| looked.next);
        let destroyed = next.and_then(|next| self.destroys(context, domain, next));
        let Some(unit) = destroyed.filter(|&unit| context.device.flash.holds_back(unit)) else { return false };
        P::Chip::erase_waits(context, unit);
        true
    }
}

// Reads.
impl Commands {
    /// The first waiting read, translated now. Reads whose page moved to another die go there; reads whose
    /// page was trimmed are answered. A read whose map entry is in flash waits for it on the die of the entry, and the
    /// reads behind it.
    #[inline(always)]
    pub(super) fn settle_reads(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        die: Die,
    ) -> Option<Read> {
        loop {
            let read = context.queues.reads(die).first()?;
            let Transaction { lpn, translated, .. } = *context.queues.get(read);
            let may_wait = context.plan.has().mechanisms;
            if may_wait
                && !translated
                && let Some(owner) = context.device.prepare_read(lpn)
            {
                let die_of_owner = context.device.flash.geometry().die_of_domain(owner);
                if die_of_owner == die {
                    return self.await_entry(context, host, die, owner);
                }
                context.queues.remove_read(die, None, read);
                context.push_read(die_of_owner, read);
                continue;
            }
            let found = context.device.ftl.lookup(lpn).ok();
            if let Some(ppn) = found
                && context.device.flash.geometry().die_of(ppn) == die
            {
                if context.keeps(ppn) {
                    context.queues.remove_read(die, None, read);
                    host.read_waiting(context, read, ppn);
                    continue;
                }
                if may_wait && !context.device.may_read(ppn) {
                    let geometry = context.device.flash.geometry();
                    let owner = geometry.domain_of_unit(geometry.unit_of(ppn));
                    let awaited = self.await_entry(context, host, die, owner);
                    if awaited.is_none() && context.device.may_read(ppn) {
                        // Asked what it does, the domain found that its refresh is over.
                        continue;
                    }
                    return awaited;
                }
                return Some(Read::Page(read, ppn));
            }
            context.queues.remove_read(die, None, read);
            // By the time of its turn there the entry may have made way for another.
            context.queues.get_mut(read).translated = true;
            match found {
                Some(ppn) => context.push_read(context.device.flash.geometry().die_of(ppn), read),
                None => host.read_vanished(context, read),
            }
        }
    }

    /// Step that the domain of a read's page, or of its map entry, has to take, unless that is under way, an entry is held for a
    /// write, or it is an erase that waits.
    #[cold]
    fn await_entry(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        die: Die,
        owner: Domain,
    ) -> Option<Read> {
        let has_step = !context.queues.is_held(owner)
            && !self.collections.is_correcting(die, owner)
            && !self.erase_waits(context, host, owner)
            && (!context.device.has_owners || self.collections.has_step(&mut context.device.ftl, owner));
        has_step.then_some(Read::Entry(owner))
    }
}

// Writes.
impl Commands {
    /// The age and the page of the first write of a domain's queue, if it can be programmed. Writes of one
    /// domain keep their order.
    #[inline]
    pub(super) fn ready_write(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        queue: Queue,
    ) -> Option<(u64, HostWrite)> {
        let waiting = context.queues.writes(queue);
        if waiting.first_is_plain() {
            return waiting.first_age().zip(context.first_page(queue));
        }
        if waiting.first().is_none() && host.buffer().is_none() {
            return None;
        }
        self.prepare_write(context, host, queue)
    }

    /// The first write, if it can be programmed, where that takes a look at it.
    #[inline(never)]
    fn prepare_write(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        queue: Queue,
    ) -> Option<(u64, HostWrite)> {
        if !context.queues.are_shared() {
            self.run_trims(context, host, queue.domain());
            if context.device.has.map.is_some() && context.device.ftl.work(queue.domain()).is_some() {
                return None;
            }
        }
        let write = match context.queues.writes(queue).first() {
            Some(write) => write,
            None => host.supply(context, queue)?,
        };
        let transaction = *context.queues.get(write);
        is_ready(context, write).then_some((transaction.age, transaction.page()))
    }

    /// Carries out the trims that are first in a domain's queue.
    fn run_trims(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, domain: Domain) {
        while host.run_trim(context, domain) {
            if context.device.has.map.is_some() && context.device.ftl.work(domain).is_some() {
                // The map has to be told in flash before the next trim or write.
                self.schedule.note_collections(context, host, domain);
                context.queues.wake_queue(Queue::of_domain(domain));
                return;
            }
        }
    }

    /// The first write of a shared queue that can be programmed, with its predecessor in the queue. Writes
    /// that wait for their old data or their map entry are skipped, but never a write of the same page.
    pub(super) fn ready_shared_write(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        queue: Queue,
    ) -> Option<Found> {
        let waiting = context.queues.writes(queue);
        let has_owners = context.has_owners();
        let waits_for_old_alone = !has_owners && host.buffer().is_none();
        if waits_for_old_alone && waiting.all_wait() {
            return None;
        }
        if waiting.first_is_plain() && !has_owners {
            return Some((None, waiting.first()?));
        }
        let mut skipped = [Lpn(0); MAX_SKIPPED];
        let mut count = 0;
        let mut previous = None;
        let mut at = waiting.first();
        while let Some(write) = at.or_else(|| if host.buffer().is_some() { host.supply(context, queue) } else { None })
        {
            let Transaction { lpn, waiting, .. } = *context.queues.get(write);
            // Most that are skipped wait; only the others are worth a search among the pages skipped.
            if !waiting && !skipped[..count].contains(&lpn) && is_ready(context, write) {
                return Some((previous, write));
            }
            if count == MAX_SKIPPED {
                break;
            }
            skipped[count] = lpn;
            count += 1;
            previous = Some(write);
            at = context.queues.after(write);
        }
        if waits_for_old_alone {
            context.queues.note_all_wait(queue);
        }
        None
    }
}

/// True if a write has all that it needs; if not, that is sent for.
fn is_ready(context: &mut Context<'_, impl Plan>, write: TransactionId) -> bool {
    let Transaction { waiting, partial, lpn, .. } = *context.queues.get(write);
    if waiting {
        return false;
    }
    // A page that was unmapped when its write arrived may have been written since.
    let fetching = partial && fetch_old(context, write);
    !fetching && context.device.prepare_write(lpn)
}
