//! Reads, and writes of other planes, that a die does while an operation of its own is suspended.

use base::{Die, Domain, Ppn, Queue, SuspendLimits};
use config::Config;

use super::operations::When;
use super::way::{resume, suspend, wait_to_suspend};
use crate::errors::Refusal;
use crate::timed::Timed;
use crate::timed::chip::one_shot;
use crate::timed::command::{Command, MAX_PLANES};
use crate::timed::commands::reads::FoundRead;
use crate::timed::commands::settle::Stand;
use crate::timed::commands::{Action, Commands};
use crate::timed::context::Context;
use crate::timed::die::{Backend, Phase};
use crate::timed::host::Host;
use crate::timed::plan::{Chip, Features, Plan};
use crate::timed::queues::Transaction;

/// Has a die, if its operation is suspended, read or program beside it or go on with it; or has it be suspended, if reads or
/// writes wait that could be done then.
pub(super) fn work(timed: &mut Timed<'_, '_>, die: Die) {
    let Timed { context, host, commands, backend, .. } = timed;
    if takes_work(backend, context, die) {
        if let Some(found) = find_read(commands, context, die) {
            commands.read_found(context, backend.next_command(die), die, found);
            timed.start(die);
        } else if context.assembles() {
            if context.chip.suspend.operations.let_writes_by(die) && makes_ready(timed, die) {
                timed.context.chip.suspend.operations.note_program(die);
                start_ready(timed, die);
            } else {
                let Backend { bus, dies, .. } = &mut timed.backend;
                resume(bus, &mut timed.context, die, &mut dies[die.index()]);
            }
        } else if let Some(domain) = settle_and_find_write(commands, context, host, die) {
            context.chip.suspend.operations.note_program(die);
            commands.build(context, host, backend.next_command(die), die, Action::Program(domain));
            timed.start(die);
        } else {
            resume(&mut backend.bus, context, die, &mut backend.dies[die.index()]);
        }
        timed.note_choice(die);
    } else if may_be_suspended(backend, context, die) && has_work(timed, die) {
        let Timed { context, backend, .. } = timed;
        // Now or as soon as the chip takes that, unless the operation ends before.
        let Backend { bus, dies, .. } = backend;
        match context.chip.suspend.operations.when(die, context.now) {
            When::Now => suspend(bus, context, die, &mut dies[die.index()]),
            When::At(at) => wait_to_suspend(bus, context, die, at),
            When::Never => {}
        }
    }
}

/// True if a die's operation is suspended, and the die does nothing.
fn takes_work(backend: &Backend, context: &Context<'_>, die: Die) -> bool {
    let is_held = backend.dies[die.index()].phase == Phase::Held;
    is_held && context.chip.suspend.operations.has_stopped(die)
}

/// True if a die's array works on an operation that may be suspended. With another program in the cache register it is not: a
/// read needs that for its own data.
fn may_be_suspended(backend: &Backend, context: &Context<'_>, die: Die) -> bool {
    let operations = &context.chip.suspend.operations;
    let works = backend.dies[die.index()].phase == Phase::Array && operations.runs(die);
    // Where that waits for its time already, one read more changes nothing.
    works && (!operations.is_awaited(die) || operations.let_writes_by(die)) && !Features::has_more(context, die)
}

/// Reads or writes wait for a die that could be done if its operation were suspended, and it can be.
fn has_work(timed: &mut Timed<'_, '_>, die: Die) -> bool {
    let Timed { context, host, commands, .. } = timed;
    let operations = &context.chip.suspend.operations;
    if context.assembles() && operations.when(die, context.now) == When::Never {
        return false;
    }
    if context.queues.reads(die).first().is_some() {
        context.chip.suspend.operations.find_places(&context.device.flash, die);
    }
    if find_read(commands, context, die).is_some() {
        return true;
    }
    if !context.assembles() {
        return settle_and_find_write(commands, context, host, die).is_some();
    }
    context.chip.suspend.operations.let_writes_by(die) && makes_ready(timed, die)
}

/// Has writes for a die that erases gather in the controller, until the array can program some of them or they are to be filled up.
/// Returns whether a program is ready then. A write that does not complete one suspends nothing.
fn makes_ready(timed: &mut Timed<'_, '_>, die: Die) -> bool {
    let Timed { context, host, commands, backend, .. } = timed;
    let mut command = Command::NONE;
    while !context.chip.suspend.operations.has_ready(die) {
        if let Some(domain) = settle_and_find_write(commands, context, host, die) {
            commands.build(context, host, &mut command, die, Action::Program(domain));
        } else if !Features::fills_up(context, host, die, &mut command) {
            return false;
        }
        if !Features::gathers(&mut backend.bus, context, die, &mut command) {
            context.chip.suspend.operations.make_ready(die, &command);
        }
    }
    true
}

/// Starts the program that is ready for a die.
pub(super) fn start_ready(timed: &mut Timed<'_, '_>, die: Die) {
    if let Some(program) = timed.context.chip.suspend.operations.take_ready(die) {
        *timed.backend.next_command(die) = program;
        timed.start(die);
    }
}

/// The first read of a die that can be done while its program or erase is suspended, or could: its map entry is known, its
/// page is on the die and is neither part of what is half programmed or erased nor held by a collection.
fn find_read(commands: &Commands, context: &Context<'_>, die: Die) -> Option<FoundRead> {
    let ftl = &context.device.ftl;
    let geometry = context.device.flash.geometry();
    if commands.holds_die(context, die) {
        return None;
    }
    let mut previous = None;
    let mut at = context.queues.reads(die).first();
    while let Some(read) = at {
        let Transaction { lpn, translated, .. } = *context.queues.get(read);
        let is_known = translated || context.device.is_known(lpn);
        let can_be_read = |&ppn: &Ppn| {
            geometry.die_of(ppn) == die
                && context.device.may_read(ppn)
                && !Features::bars(context, die, ppn)
                && !context.keeps(ppn)
        };
        if is_known && let Some(ppn) = ftl.lookup(lpn).ok().filter(can_be_read) {
            return Some((previous, read, ppn));
        }
        (previous, at) = (at, context.queues.after(read));
    }
    None
}

/// The domain of a die with the oldest write that can be programmed while the die's erase is suspended, or could, when what is due in
/// its domains was begun or ended.
fn settle_and_find_write(
    commands: &mut Commands,
    context: &mut Context<'_>,
    host: &mut Host,
    die: Die,
) -> Option<Domain> {
    // A page of a dynamic allocation goes to another die.
    let may_write = context.chip.suspend.operations.let_writes_by(die) && !context.plan.is_dynamic();
    if !may_write || commands.holds_die(context, die) || Features::programs_first(context, die) {
        return None;
    }
    let mut stands = [Stand::Rests; MAX_PLANES];
    for (domain, stand) in context.device.flash.geometry().domains_of_die(die).zip(&mut stands) {
        if may_program(context, die, domain) {
            *stand = commands.settle_domain(context, host, die, domain);
        }
    }
    find_write(context, die, &stands)
}

/// The domain of a die with the oldest write that can be programmed, where the domains stand so. Preparing the write of
/// one may have begun a collection in another, which fills its time.
fn find_write(context: &Context<'_>, die: Die, stands: &[Stand; MAX_PLANES]) -> Option<Domain> {
    let domains = context.device.flash.geometry().domains_of_die(die).zip(stands);
    let written = domains.filter(|&(domain, stand)| *stand == Stand::Writes && may_program(context, die, domain));
    let age = |domain| context.queues.writes(Queue::of_domain(domain)).first_age();
    let (_, domain) = written.filter_map(|(domain, _)| age(domain).map(|age| (age, domain))).min()?;
    Some(domain)
}

/// True for a domain other than the one whose victim is erased that is not collected either.
fn may_program(context: &Context<'_>, die: Die, domain: Domain) -> bool {
    !context.chip.suspend.operations.is_for(die, domain) && context.device.ftl.work(domain).is_none()
}

/// Refuses erases that are suspended for writes where no write would ever wait for one.
///
/// # Errors
/// The first reason.
pub(super) fn check(config: &Config) -> Result<(), Refusal> {
    let device = &config.device;
    let [_, erases] = SuspendLimits::of(&device.features);
    if erases.is_none_or(|limits| limits.programs == 0) {
        return Ok(());
    }
    let refuse = |message: String, help: &str| {
        let message = format!("`reads-and-writes` {message}");
        Err(Refusal { key: "device.erase_suspend", message, help: help.into() })
    };
    let allocation = config.ftl.get("allocation").name;
    if ftl::allocation::is_dynamic(allocation) {
        return refuse(
            format!(
                "is for writes that wait for one die, and with `ftl.allocation` `{allocation}` a page goes to any die that is free"
            ),
            "use a static allocation such as `CWDP`, or `reads`",
        );
    }
    if one_shot::is_twice(&config.device) {
        return refuse(
            "is not modelled for two passes over wordlines: the second one is due behind another program".into(),
            "set `device.programming = \"one-shot\"`, or use `reads`",
        );
    }
    if config.device.planes_per_die == 1 || config.ftl.get("reclaim_unit").name != "block" {
        return refuse(
            "is for writes to the other planes of a die, and here all that a die has is collected together".into(),
            "use `reads`, or dies of several planes with `ftl.reclaim_unit = \"block\"`",
        );
    }
    Ok(())
}
