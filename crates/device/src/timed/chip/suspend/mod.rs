//! Programs and erases that are suspended for reads, or erases for writes, and go on.
//!
//! Which operation of a die may be suspended, when, and what is left of it is in `operations`; the way there and back, with its timers,
//! in `way`; and what the die does beside it, in `beside`.

mod beside;
mod operations;
mod way;

use base::scope::{Area, Scope, Scoped};
use base::{Die, Domain, Duration, Instant, Ppn, SuspendLimits};
use config::{Config, model};

use crate::errors::Refusal;
use crate::timed::Timed;
use crate::timed::array::name_of;
use crate::timed::command::Command;
use crate::timed::context::Context;
use crate::timed::die::{ArrayDone, Bus, DieRecord, Phase};
use crate::timed::plan::{Any, Chip, Feature};
use crate::timed::timing::{Line, Timing};
use operations::Operations;

/// The programs and erases of all dies that may be suspended.
pub(in crate::timed) struct Suspend {
    operations: Operations,
    /// Where suspends, and the ends of what was suspended, wait. These times are irregular.
    line: Line,
}

impl Feature for Suspend {
    fn is_configured(config: &Config) -> bool {
        shortest_latency(&config.device).is_some()
    }

    fn check(config: &Config) -> Result<(), Refusal> {
        beside::check(config)
    }

    fn bytes_of_die(_: &Config) -> usize {
        Operations::BYTES_OF_DIE
    }

    fn new(config: &Config, dies: u32, timing: &mut Timing) -> Suspend {
        let device = &config.device;
        let line = shortest_latency(device).map_or(Line::ARRIVAL, |latency| timing.delay(latency).line);
        let dies = if Suspend::is_configured(config) { dies } else { 0 };
        Suspend { operations: Operations::new(limits(device), dies), line }
    }

    fn is_over(&self) -> bool {
        self.operations.are_over()
    }
}

/// By kind of operation.
fn limits(device: &model::Device) -> [Option<SuspendLimits>; 3] {
    let [programs, erases] = SuspendLimits::of(&device.features);
    [None, programs, erases]
}

/// How soon a suspended array takes reads, at the earliest; `None`: nothing is suspended.
fn shortest_latency(device: &model::Device) -> Option<Duration> {
    limits(device).into_iter().flatten().map(|limits| limits.latency).min()
}

impl Chip<Any> for Suspend {
    /// Pages that gathered while a die erased are in the controller until they are programmed.
    fn keeps(context: &Context<'_>, ppn: Ppn) -> bool {
        let operations = &context.chip.suspend.operations;
        operations.have_ready() && operations.is_ready(context.device.flash.geometry().die_of(ppn), ppn)
    }

    fn erases(context: &Context<'_>, die: Die, domain: Domain) -> bool {
        context.chip.suspend.operations.is_for(die, domain)
    }

    fn bars(context: &Context<'_>, die: Die, ppn: Ppn) -> bool {
        context.chip.suspend.operations.bar(&context.device.flash, die, ppn)
    }

    fn has_more(context: &Context<'_>, die: Die) -> bool {
        context.chip.suspend.operations.is_suspended(die)
    }

    fn unfinished(context: &Context<'_>, die: Die) -> Option<Command> {
        context.chip.suspend.operations.suspended(die).copied()
    }

    fn begun(context: &mut Context<'_>, die: Die, command: &Command) -> bool {
        context.chip.suspend.operations.check(&context.device.flash, die, command);
        false
    }

    fn begins(
        _: &mut Bus,
        context: &mut Context<'_>,
        die: Die,
        record: &mut DieRecord,
        span: (Instant, Instant),
        line: Line,
    ) -> bool {
        let operations = &mut context.chip.suspend.operations;
        if !operations.concern(die, &record.command) {
            return false;
        }
        operations.begin(die, &record.command, span, line);
        if context.queues.reads(die).first().is_some() || operations.let_writes_by(die) {
            context.queues.wake(die);
        }
        true
    }

    fn worked(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) -> Option<ArrayDone> {
        if context.chip.suspend.operations.has(die) { operation_worked(bus, context, die, record) } else { None }
    }

    fn is_left(_: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) -> bool {
        let is_suspended = context.chip.suspend.operations.is_suspended(die);
        if is_suspended {
            record.phase = Phase::Held;
        }
        is_suspended
    }

    /// Programs the pages that gathered while the die erased, and came too late to go before the end of that.
    fn before(timed: &mut Timed<'_, '_>, die: Die) -> bool {
        let is_ready = timed.context.chip.suspend.operations.has_ready(die);
        if is_ready {
            beside::start_ready(timed, die);
            timed.note_choice(die);
        }
        is_ready
    }

    fn beside(timed: &mut Timed<'_, '_>, die: Die) {
        if timed.context.chip.suspend.operations.has(die) {
            beside::work(timed, die);
        }
    }
}

/// The timer of an array ended that has an operation which may be suspended. Where a command came to its end, it goes on as elsewhere.
#[inline(never)]
fn operation_worked(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &DieRecord) -> Option<ArrayDone> {
    let operations = &mut context.chip.suspend.operations;
    if operations.stop(die) {
        return Some(ArrayDone::MayChoose);
    }
    if !operations.runs(die) {
        return None;
    }
    if let Some((until, line)) = operations.end_wait(die) {
        bus.timers.set(line.0, until, bus.rank_of_array(die));
        return Some(ArrayDone::MayChoose);
    }
    let from = operations.end(die);
    let name = name_of(&record.command);
    bus.record_array(context.device.flash.geometry(), die, &record.command, name, from, context.now);
    None
}

impl Scoped for Suspend {
    const SCOPE: Scope = Scope {
        area: Area::Time,
        name: "Suspend",
        keys: &["device.program_suspend", "device.erase_suspend"],
        modelled: "Programs and erases are suspended for reads, and erases for writes.",
        not_modelled: &[
            "The commands of suspend and resume take no time of the channel.",
            "Copybacks are not suspended.",
        ],
    };
}
