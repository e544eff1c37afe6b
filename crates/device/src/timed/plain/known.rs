//! The next work of a die, where the keys of its domains say it.

use base::Die;

use crate::timed::choose::{Candidate, DieChoice};
use crate::timed::commands::Action;
use crate::timed::context::Context;
use crate::timed::plan::Plan;

/// The next work of a die without reads, where that is known without a look at its domains.
#[inline(always)]
pub(in crate::timed) fn next(context: &Context<'_, impl Plan>, die: Die) -> Option<Action> {
    if !are_compared(context) || context.queues.reads(die).first().is_some() {
        return None;
    }
    let (urgency, domain) = context.queues.least(die);
    match urgency.candidate(domain) {
        Some(Some(Candidate::Collect(domain))) if !context.plan.is_dynamic() || context.plan.is_whole() => {
            Some(Action::Collect(domain))
        }
        Some(Some(Candidate::Program(domain))) => Some(Action::Program(domain)),
        Some(None) if !context.plan.is_dynamic() || all_wait(context, die) => Some(Action::Nothing),
        _ => None,
    }
}

/// True if nothing that waits in a die's shared queue can be programmed, as far as that is known; for where `are_compared`.
#[inline]
fn all_wait(context: &Context<'_, impl Plan>, die: Die) -> bool {
    let dynamic = context.device.allocation.dynamic();
    dynamic.is_some_and(|dynamic| context.queues.writes(dynamic.queue_of_die(die)).all_wait())
}

/// The most urgent program or collection step of a die, where that is known without a look at its domains.
#[inline(always)]
pub(in crate::timed) fn least(context: &Context<'_, impl Plan>, die: Die) -> Option<DieChoice> {
    if !are_compared(context) {
        return None;
    }
    let least = context.queues.least(die);
    if !context.plan.is_dynamic() {
        return DieChoice::of_least(least);
    }
    let queue = context.device.allocation.dynamic()?.queue_of_die(die);
    let waiting = context.queues.writes(queue);
    if waiting.first().is_some() && !waiting.first_is_plain() {
        return None;
    }
    let write = waiting.first_age().zip(waiting.first());
    DieChoice::of_sharing(least, (queue, write), || {
        context.device.has.dynamic?.peek_domain_of(&context.device.ftl, die)
    })
}

/// True if keys are kept.
#[inline(always)]
fn are_compared(context: &Context<'_, impl Plan>) -> bool {
    !context.plan.has().mechanisms || context.queues.are_compared()
}
