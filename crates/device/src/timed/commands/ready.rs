//! What a die could do next. Here things change: trims are carried out, old versions are sent for, pages leave the write
//! buffer, domains are prepared. What is found is shown to the choice, which changes nothing.

use base::{Cause, Die, Domain, Lpn, Ppn, Queue};

use super::{Action, Commands};
use crate::timed::choice::{Candidate, Choice, Found, Next, View, Waiting};
use crate::timed::collections::NextStep;
use crate::timed::context::Context;
use crate::timed::gc_schedule::Standing;
use crate::timed::host::{Host, fetch_old};
use crate::timed::plan::{Chip, Plan};
use crate::timed::queues::{Transaction, TransactionId};

/// Waiting writes of a shared queue that are skipped at most in search of one that is ready.
const MAX_SKIPPED: usize = 64;

/// What the first of a die's reads waits for.
#[derive(Clone, Copy)]
enum Read {
    /// This page.
    Page(TransactionId, Ppn),
    /// Its map entry, or a place that may be read: the domain has steps to do.
    Entry(Domain),
}

impl Commands {
    /// What a free die does next.
    #[inline(always)]
    pub(in crate::timed) fn next(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, die: Die) -> Action {
        let are_compared = context.plan.is_plain() || context.queues.are_compared();
        if are_compared && context.queues.reads(die).first().is_none() {
            let (urgency, domain) = context.queues.least(die);
            match urgency.candidate(domain) {
                Some(Some(Candidate::Collect(domain))) if !context.plan.is_dynamic() || context.plan.is_whole() => {
                    return Action::Collect(domain);
                }
                Some(Some(Candidate::Program(domain))) => return Action::Program(domain),
                Some(None) if !context.plan.is_dynamic() || self.all_wait(context, die) => return Action::Nothing,
                _ => {}
            }
        }
        if !context.plan.is_plain()
            && self.has_one_domain
            && context.queues.reads(die).first().is_none()
            && let Some(action) = self.next_alone(context, host, die)
        {
            return action;
        }
        let read = self.first_read(context, host, die);
        let mut choice = match self.least(context, die) {
            Some(choice) => choice,
            None if context.plan.is_plain() => self.choose_at_length(context, host, die),
            None => self.choose(context, host, die),
        };
        if !context.plan.is_plain()
            && !self.schedule.is_threshold()
            && let Some(Candidate::Program(domain)) = choice.best()
            && context.device.ftl.is_busy(domain)
        {
            // Preparing another plane's write began a collection there, and this plane fills its time.
            choice = self.choose_at_length(context, host, die);
        }
        let read = read.filter(|_| !self.gc_holds_reads || !self.holds_reads(context, die, choice.best()));
        let read = read.filter(|_| context.plan.is_plain() || !self.has_waited(context, die, choice));
        let age = read.and_then(|_| context.queues.reads(die).first_age());
        match (choice.next(self.scheduler, age), read) {
            (Next::Read, Some(Read::Page(read, ppn))) => Action::Read(read, ppn),
            (Next::Read, Some(Read::Entry(domain))) | (Next::Best(Candidate::Collect(domain)), _) => {
                Action::Collect(domain)
            }
            (Next::Best(Candidate::Program(domain)), _) => Action::Program(domain),
            (Next::Best(Candidate::ProgramShared { queue, domain, found }), _) => {
                Action::ProgramShared { queue, domain, found }
            }
            (Next::Nothing, _) | (Next::Read, None) => Action::Nothing,
        }
    }

    /// What a die without reads does next that is one domain, with a queue of its own, if that is collected: nothing else is there to
    /// choose.
    #[inline(always)]
    fn next_alone(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, die: Die) -> Option<Action> {
        let domain = Domain::new(die.number());
        if !context.device.ftl.is_busy(domain) {
            return None;
        }
        match self.collects(context, host, die, domain) {
            Some(true) if !self.collections.is_correcting(die, domain) => Some(Action::Collect(domain)),
            Some(false) => None,
            Some(true) | None => Some(Action::Nothing),
        }
    }

    /// Whether a foreground GC of a die lets nothing by.
    pub(in crate::timed) fn holds_die(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        let ftl = &context.device.ftl;
        let is_in_gc = |domain| ftl.why(domain).is_some_and(ftl::Why::is_foreground_gc);
        self.gc_holds_reads && ftl.geometry().domains_of_die(die).any(is_in_gc)
    }

    /// Whether other work of a die has waited so long for its reads that it goes before them.
    #[inline]
    fn has_waited(&mut self, context: &Context<'_, impl Plan>, die: Die, choice: Choice) -> bool {
        let Some(patience) = &mut self.patience else { return false };
        choice.age().is_some_and(|age| patience.is_over(die, age, context.now))
    }

    /// Whether reads wait: for the next step of a foreground GC, or for the corrections after which there is one.
    #[cold]
    fn holds_reads(&self, context: &Context<'_, impl Plan>, die: Die, best: Option<Candidate>) -> bool {
        let ftl = &context.device.ftl;
        let is_in_gc = |domain| ftl.why(domain).is_some_and(ftl::Why::is_foreground_gc);
        match best {
            Some(Candidate::Collect(domain)) => is_in_gc(domain),
            Some(_) => false,
            None => ftl
                .geometry()
                .domains_of_die(die)
                .any(|domain| self.collections.is_correcting(die, domain) && is_in_gc(domain)),
        }
    }

    /// True if nothing that waits in a die's shared queue can be programmed, as far as that is known; for where `are_compared`.
    #[inline]
    fn all_wait(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        let dynamic = context.device.ftl.allocation().dynamic();
        dynamic.is_some_and(|dynamic| context.queues.writes(dynamic.queue_of_die(die)).all_wait())
    }

    /// The most urgent program or collection step of a die, where that is known without a look at its domains.
    #[inline(always)]
    fn least(&self, context: &Context<'_, impl Plan>, die: Die) -> Option<Choice> {
        if !context.plan.is_plain() && !context.queues.are_compared() {
            return None;
        }
        let least = context.queues.least(die);
        if !context.plan.is_dynamic() {
            return Choice::of_least(least);
        }
        let queue = context.device.ftl.allocation().dynamic()?.queue_of_die(die);
        let waiting = context.queues.writes(queue);
        if waiting.first().is_some() && !waiting.first_is_plain() {
            return None;
        }
        let write = waiting.first_age().zip(waiting.first());
        Choice::of_sharing(least, (queue, write), || {
            context.device.has.dynamic?.peek_domain_of(&context.device.ftl, die)
        })
    }

    /// The most urgent program or collection step of a die.
    #[inline(always)]
    fn choose(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, die: Die) -> Choice {
        let dynamic = context.device.ftl.allocation().dynamic().map(|dynamic| dynamic.queue_of_die(die));
        let mut choice = Choice::new(self.scheduler, self.collections.are_correcting(die));
        for domain in context.device.ftl.geometry().domains_of_die(die) {
            if let Some(view) = self.view_of(context, host, die, domain, dynamic) {
                choice = choice.with(view);
            }
        }
        match dynamic.and_then(|queue| self.view_of_shared(context, host, die, queue)) {
            Some(view) => choice.with(view),
            None => choice,
        }
    }

    /// The same out of line, where it is not the common way.
    #[cold]
    #[inline(never)]
    fn choose_at_length(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, die: Die) -> Choice {
        self.choose(context, host, die)
    }

    /// What a domain could do, after what is due in it was begun or ended.
    #[inline(always)]
    pub(in crate::timed) fn view_of(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        die: Die,
        domain: Domain,
        dynamic: Option<Queue>,
    ) -> Option<View> {
        if self.collects(context, host, die, domain)? {
            return Some(self.view_of_collection(
                context,
                host,
                die,
                domain,
                dynamic.unwrap_or(Queue::of_domain(domain)),
            ));
        }
        if dynamic.is_some() {
            return None;
        }
        let (age, lpn) = self.ready_write(context, host, Queue::of_domain(domain))?;
        if context.device.ftl.prepare(domain, lpn) {
            return Some(View::Writes { domain, age });
        }
        self.schedule.note_collections(context, host, domain);
        Some(View::Prepares { domain, age, begun: self.schedule.last_begun(domain) })
    }

    /// Whether a domain is collected. `None`: it is, and waits for others.
    #[inline(always)]
    fn collects(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        die: Die,
        domain: Domain,
    ) -> Option<bool> {
        if !context.device.ftl.is_busy(domain)
            && (context.plan.is_plain() || !self.schedule.join_late(context, host, domain))
        {
            return Some(false);
        }
        if context.device.has_owners
            && !self.collections.is_correcting(die, domain)
            && !self.collections.has_step(&mut context.device.ftl, domain)
        {
            // It waits for others, unless what it had to do was found to be done.
            return if context.device.ftl.is_busy(domain) { None } else { Some(false) };
        }
        if self.schedule.is_threshold() {
            return if self.erase_waits(context, host, domain) { None } else { Some(true) };
        }
        match self.schedule.standing(context, host, &mut self.collections, domain) {
            Standing::Goes if self.erase_waits(context, host, domain) => None,
            Standing::Goes => Some(true),
            Standing::Waits => None,
            // What protects its pages may still be to be done, and a refresh may have become due meanwhile.
            Standing::Suspended => Some(context.device.ftl.is_busy(domain)),
        }
    }

    /// The erase that a domain's collection comes to next waits for pages whose older versions the victim has, and which wait
    /// for the rest of their wordlines. Then these wordlines are filled up.
    #[inline]
    fn erase_waits(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) -> bool {
        context.assembles() && self.look_at_erase(context, host, domain)
    }

    /// The next step of a domain's collection, for which one may just have begun.
    pub(in crate::timed) fn look_at_step(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        domain: Domain,
    ) -> Option<(NextStep, Cause)> {
        self.schedule.phase_of(context, &mut self.collections, domain);
        let next = self.collections.next_step(&mut context.device.ftl, domain);
        self.schedule.note_neighbours(context);
        self.schedule.note_foreground(context, host, domain);
        next
    }

    #[inline(never)]
    fn look_at_erase<P: Plan>(&mut self, context: &mut Context<'_, P>, host: &Host, domain: Domain) -> bool {
        let Some((NextStep::Erase(unit), _)) = self.look_at_step(context, host, domain) else { return false };
        if !context.device.flash.holds_back(unit) {
            return false;
        }
        P::Chip::erase_waits(context, unit);
        true
    }

    /// The collection of a domain, and what waits for its end in a queue.
    #[inline(always)]
    fn view_of_collection(
        &self,
        context: &Context<'_, impl Plan>,
        host: &Host,
        die: Die,
        domain: Domain,
        queue: Queue,
    ) -> View {
        // A page that waits for the end of a collection ahead of need, or for its next rest, presses too.
        let is_foreground = context.device.ftl.why(domain).is_none_or(ftl::Why::is_foreground);
        let waiting = if !is_foreground && self.schedule.is_threshold() {
            Waiting::Nothing
        } else if let Some(age) = context.queues.writes(queue).first_age() {
            Waiting::Write(age)
        } else if host.would_leave(queue) {
            Waiting::Buffered
        } else {
            Waiting::Nothing
        };
        let is_correcting = self.collections.is_correcting(die, domain);
        View::Collects { domain, begun: self.schedule.last_begun(domain), waiting, is_correcting }
    }

    /// What a die could program from a shared queue.
    fn view_of_shared(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &mut Host,
        die: Die,
        queue: Queue,
    ) -> Option<View> {
        let dynamic = context.device.has.dynamic?;
        let mut domain = dynamic.peek_domain_of(&context.device.ftl, die)?;
        let found = self.ready_shared_write(context, host, queue)?;
        if context.device.has_owners {
            // Writes that were skipped may just have sent a plane for their map entries.
            domain = dynamic.peek_domain_of(&context.device.ftl, die)?;
        }
        Some(View::Shares { queue, domain, age: context.queues.get(found.1).age, found })
    }
}

// Reads.
impl Commands {
    /// The first waiting read, translated now. Reads whose page moved to another die go there; reads whose
    /// page was trimmed are answered. A read whose map entry is in flash waits for it on the die of the entry, and the
    /// reads behind it.
    #[inline(always)]
    fn first_read(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, die: Die) -> Option<Read> {
        loop {
            let read = context.queues.reads(die).first()?;
            let Transaction { lpn, translated, .. } = *context.queues.get(read);
            let is_plain = context.plan.is_plain();
            if !is_plain && !translated && !context.device.prepare_read(lpn) {
                let owner = context.device.owner_of(lpn);
                let die_of_owner = context.device.ftl.geometry().die_of_domain(owner);
                if die_of_owner == die {
                    return self.await_entry(context, die, owner);
                }
                context.queues.remove_read(die, None, read);
                context.push_read(die_of_owner, read);
                continue;
            }
            let ftl = &context.device.ftl;
            let found = ftl.lookup(lpn);
            if let Some(ppn) = found
                && ftl.geometry().die_of(ppn) == die
            {
                if context.keeps(ppn) {
                    context.queues.remove_read(die, None, read);
                    host.read_waiting(context, read, ppn);
                    continue;
                }
                let ftl = &context.device.ftl;
                if !is_plain && !context.device.may_read(ppn) {
                    let owner = ftl.geometry().domain_of_unit(ftl.geometry().unit_of(ppn));
                    let awaited = self.await_entry(context, die, owner);
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
                Some(ppn) => context.push_read(context.device.ftl.geometry().die_of(ppn), read),
                None => host.read_vanished(context, read),
            }
        }
    }

    /// What the domain of a read's page, or of its map entry, has to do, unless that is under way or an entry is held for a
    /// write.
    #[cold]
    fn await_entry(&mut self, context: &mut Context<'_, impl Plan>, die: Die, owner: Domain) -> Option<Read> {
        let has_step = !self.collections.is_correcting(die, owner)
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
    ) -> Option<(u64, Lpn)> {
        let waiting = context.queues.writes(queue);
        if waiting.first_is_plain() {
            return waiting.first_age().zip(waiting.first_lpn());
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
    ) -> Option<(u64, Lpn)> {
        if !context.queues.are_shared() {
            self.run_trims(context, host, queue.domain());
            if context.device.has.map.is_some() && context.device.ftl.is_busy(queue.domain()) {
                return None;
            }
        }
        let write = match context.queues.writes(queue).first() {
            Some(write) => write,
            None => host.supply(context, queue)?,
        };
        let Transaction { age, lpn, .. } = *context.queues.get(write);
        is_ready(context, write).then_some((age, lpn))
    }

    /// Carries out the trims that are first in a domain's queue.
    fn run_trims(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, domain: Domain) {
        while host.run_trim(context, domain) {
            if context.device.has.map.is_some() && context.device.ftl.is_busy(domain) {
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
        let waits_for_old_alone = context.plan.is_plain() || !context.device.has_owners && host.buffer().is_none();
        if waits_for_old_alone && waiting.all_wait() {
            return None;
        }
        if waiting.first_is_plain() && (context.plan.is_plain() || !context.device.has_owners) {
            return waiting.first().map(|write| (None, write));
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

/// Whether a write has all that it needs; if not, that is sent for.
fn is_ready(context: &mut Context<'_, impl Plan>, write: TransactionId) -> bool {
    let Transaction { waiting, partial, lpn, .. } = *context.queues.get(write);
    if waiting {
        return false;
    }
    // A page that was unmapped when its write arrived may have been written since.
    let fetching = partial && fetch_old(context, write);
    !fetching && context.device.prepare_write(lpn)
}
