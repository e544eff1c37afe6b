//! Choice of what a free die does next, over views of how it stands. Nothing changes here.

use base::{Die, Domain, Queue};

use super::settle::{Read, Settled, Stand};
use super::{Action, Commands};
use crate::timed::choose::{Candidate, DieChoice, Found, Next, SharedWrite, View, Waiting};
use crate::timed::context::Context;
use crate::timed::host::Host;
use crate::timed::plain::known;
use crate::timed::plan::Plan;

impl Commands {
    /// The next work of a free die: what is due on it is settled, then it is looked at, and then it chooses, once.
    #[inline(always)]
    pub(in crate::timed) fn next(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, die: Die) -> Action {
        if let Some(action) = known::next(context, die) {
            return action;
        }
        let read = self.settle_reads(context, host, die);
        let choice = match known::least(context, die) {
            Some(choice) => choice,
            None => self.choice(context, host, die),
        };
        let chosen = self.choose(context, die, choice, read);
        if context.plan.has().schedules
            && let (Next::Read, Some(patience), Some(age)) = (chosen, &mut self.patience, choice.age())
        {
            patience.passed_over(die, age, context.now);
        }
        match (chosen, read) {
            (Next::Read, Some(Read::Page(read, ppn))) => Action::Read(read, ppn),
            (Next::Read, Some(Read::Entry(domain))) | (Next::Best(Candidate::Collect(domain)), _) => {
                Action::Collect(domain)
            }
            (Next::Best(Candidate::Program(domain)), _) => Action::Program(domain),
            (Next::Best(Candidate::ProgramShared(write)), _) => Action::ProgramShared(write),
            (Next::Nothing, _) | (Next::Read, None) => Action::Nothing,
        }
    }

    /// The most urgent program or collection step of a die, after what is due there. Out of line, since plain devices know it mostly.
    #[inline(never)]
    fn choice(&mut self, context: &mut Context<'_, impl Plan>, host: &mut Host, die: Die) -> DieChoice {
        if self.awaits_correction_alone(context, die) {
            return DieChoice::new(self.scheduler, true);
        }
        let settled = self.settle(context, host, die);
        let choice = self.choice_among(context, host, die, &settled);
        debug_assert_eq!(choice, self.choice_among(context, host, die, &settled), "asking changes nothing");
        choice
    }

    /// True if a die has one domain, whose collection goes on with pages that are being corrected: nothing is due there, and nothing else
    /// can be done besides reads. `false` says nothing.
    #[inline]
    fn awaits_correction_alone(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        let domain = Domain::new(die.number());
        context.device.flash.geometry().domains_per_die() == 1
            && self.collections.is_correcting(die, domain)
            && context.device.ftl.work(domain).is_some()
            && !context.has_owners()
            && !self.collections.is_between_groups(domain)
            && self.moves_on(context, domain)
    }

    /// The choice of a die between its first read and the most urgent of all else.
    #[inline(always)]
    fn choose(&self, context: &Context<'_, impl Plan>, die: Die, choice: DieChoice, read: Option<Read>) -> Next {
        let read = read.filter(|_| !self.gc_holds_reads || !self.holds_reads(context, die, choice.best()));
        let read = read.filter(|_| !context.plan.has().schedules || !self.has_waited(context, die, choice));
        choice.next(self.scheduler, read.and_then(|_| context.queues.reads(die).first_age()))
    }

    /// True if a foreground GC of a die lets nothing by.
    pub(in crate::timed) fn holds_die(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        self.gc_holds_reads
            && context.device.flash.geometry().domains_of_die(die).any(|domain| is_in_gc(context, domain))
    }

    /// True if other work of a die has waited so long for its reads that it goes before them.
    #[inline]
    fn has_waited(&self, context: &Context<'_, impl Plan>, die: Die, choice: DieChoice) -> bool {
        let Some(patience) = &self.patience else { return false };
        choice.age().is_some_and(|age| patience.is_over(die, age, context.now))
    }

    /// True if reads wait: for the next step of a foreground GC, or for the corrections after which there is one.
    #[cold]
    fn holds_reads(&self, context: &Context<'_, impl Plan>, die: Die, best: Option<Candidate>) -> bool {
        let corrects = |domain| self.collections.is_correcting(die, domain) && is_in_gc(context, domain);
        match best {
            Some(Candidate::Collect(domain)) => is_in_gc(context, domain),
            Some(_) => false,
            None => context.device.flash.geometry().domains_of_die(die).any(corrects),
        }
    }

    /// The most urgent program or collection step of a die that stands so.
    #[inline(always)]
    fn choice_among(&self, context: &Context<'_, impl Plan>, host: &Host, die: Die, settled: &Settled) -> DieChoice {
        let mut choice = DieChoice::new(self.scheduler, self.collections.are_correcting(die));
        // Mostly all rest.
        let stands = if settled.any { &settled.domains[..] } else { &[] };
        for (domain, &stand) in context.device.flash.geometry().domains_of_die(die).zip(stands) {
            let view = self.view(context, host, (die, domain), stand, settled.presses);
            choice = view.map_or(choice, |view| choice.with(view));
        }
        let shared = settled.shared.and_then(|shared| shared_view(context, die, shared));
        shared.map_or(choice, |view| choice.with(view))
    }

    /// The work that a domain of a die could do, where it stands so.
    #[inline(always)]
    fn view(
        &self,
        context: &Context<'_, impl Plan>,
        host: &Host,
        (die, domain): (Die, Domain),
        stand: Stand,
        presses: bool,
    ) -> Option<View> {
        let age = || context.queues.writes(Queue::of_domain(domain)).first_age();
        let begun = self.schedule.last_begun(domain);
        match stand {
            Stand::Rests => None,
            Stand::Collects => {
                let is_correcting = self.collections.is_correcting(die, domain);
                let waiting = self.waiting(context, host, domain, presses);
                Some(View::Collects { domain, begun, waiting, is_correcting })
            }
            Stand::Writes => Some(View::Writes { domain, age: age()? }),
            Stand::Prepares => Some(View::Prepares { domain, age: age()?, begun }),
        }
    }

    /// All that waits for the end of a domain's collection, in its queue; or in the write buffer, where it `presses` or leaves now.
    #[inline(always)]
    fn waiting(&self, context: &Context<'_, impl Plan>, host: &Host, domain: Domain, presses: bool) -> Waiting {
        let queue = context.queue_of(domain);
        // A page that waits for the end of a collection ahead of need, or for its next rest, presses too.
        let is_foreground = context.device.ftl.work(domain).is_none_or(ftl::DomainWork::is_foreground);
        if !is_foreground && self.schedule.is_threshold(&context.plan) {
            Waiting::Nothing
        } else if presses {
            Waiting::Buffered
        } else if let Some(age) = context.queues.writes(queue).first_age() {
            Waiting::Write(age)
        } else if host.would_leave(queue) {
            Waiting::Buffered
        } else {
            Waiting::Nothing
        }
    }
}

/// The write of a shared queue that a die could program.
#[inline(always)]
fn shared_view(context: &Context<'_, impl Plan>, die: Die, (domain, found): (Domain, Found)) -> Option<View> {
    let queue = context.device.allocation.dynamic()?.queue_of_die(die);
    Some(View::Shares { write: SharedWrite { queue, domain, found }, age: context.queues.get(found.1).age })
}

fn is_in_gc(context: &Context<'_, impl Plan>, domain: Domain) -> bool {
    context.device.ftl.work(domain).is_some_and(ftl::DomainWork::is_foreground_gc)
}

#[cfg(test)]
mod tests {
    use std::panic::RefUnwindSafe;

    use super::*;
    use crate::flash::Flash;
    use crate::timed::queues::Queues;

    /// Views and choice take all by shared reference, and behind that nothing can change: a type with a cell in it would not have
    /// that trait. The FTL has one, the quotas of copybacks that were worked out before, which no view asks for.
    fn has_no_cell<T: RefUnwindSafe>() {}

    #[test]
    fn asking_changes_nothing() {
        has_no_cell::<Commands>();
        has_no_cell::<Queues>();
        has_no_cell::<Host>();
        has_no_cell::<Flash>();
        let _ = |commands: &Commands, context: &Context<'_>, host: &Host, die: Die, settled: &Settled| {
            let choice = commands.choice_among(context, host, die, settled);
            commands.choose(context, die, choice, None)
        };
    }
}
