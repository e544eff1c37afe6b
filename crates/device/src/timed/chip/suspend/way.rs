//! The way of a die's operation into its suspend and back.

use base::{Die, Instant, OpKind};
use metrics::LatencyPart;

use crate::timed::array::name_of;
use crate::timed::context::Context;
use crate::timed::die::{Bus, DieRecord, Phase};
use crate::timed::plan::{Chip, Features};

/// The operation of a die is suspended now.
pub(super) fn suspend(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) {
    let (now, kind) = (context.now, record.command.kind());
    let operations = &mut context.chip.suspend.operations;
    operations.find_places(&context.device.flash, die);
    let (line, from, latency) = operations.suspend(die, now);
    record.phase = Phase::Held;
    context.note(|waits, now| waits.die_does(now, die, LatencyPart::Suspend));
    bus.timers.stop(line.0, bus.rank_of_array(die));
    bus.timers.set(context.chip.suspend.line.0, now + latency, bus.rank_of_array(die));
    if !context.draining {
        context.device.recorder.die_suspended(die, kind, now, now + latency);
    }
    let geometry = context.device.flash.geometry();
    bus.record_array(geometry, die, &record.command, name_of(&record.command), from, now);
    bus.record_array(geometry, die, &record.command, names(kind)[0], now, now + latency);
}

/// The operation of a die is suspended at an instant, if it is still wanted then.
pub(super) fn wait_to_suspend(bus: &mut Bus, context: &mut Context<'_>, die: Die, at: Instant) {
    let suspend = &mut context.chip.suspend;
    if let Some(end) = suspend.operations.wait(die) {
        bus.timers.stop(end.0, bus.rank_of_array(die));
        bus.timers.set(suspend.line.0, at, bus.rank_of_array(die));
    }
}

/// A die goes on with its suspended operation.
pub(super) fn resume(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) {
    let now = context.now;
    let line = context.chip.suspend.line;
    let (&command, resume, until) = context.chip.suspend.operations.resume(die, now, line);
    (record.phase, record.command) = (Phase::Array, command);
    bus.timers.set(line.0, until, bus.rank_of_array(die));
    let (kind, cause) = (record.command.kind(), record.command.cause());
    context.note(|waits, now| waits.die_does(now, die, LatencyPart::of_command(kind, cause)));
    if !context.draining {
        context.device.recorder.die_resumed(die, kind, now, resume, until);
    }
    let geometry = context.device.flash.geometry();
    bus.record_array(geometry, die, &record.command, names(kind)[1], now, now + resume);
    if context.chip.suspend.operations.let_writes_by(die) {
        context.queues.wake(die);
    }
    Features::runs(bus, context, die, record, (now + resume, until));
}

/// The name of a suspend of that kind in a timeline, and of its resume.
fn names(kind: OpKind) -> [&'static str; 2] {
    match kind {
        OpKind::Erase => ["erase suspend", "erase resume"],
        _ => ["program suspend", "program resume"],
    }
}
