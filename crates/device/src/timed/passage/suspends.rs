//! Programs and erases that are suspended, and go on.

use base::{Die, Instant, OpKind};
use metrics::LatencyPart;

use super::arrays::name_of;
use super::{ArrayDone, DieRecord, Passage, Phase, Ways};
use crate::timed::cache::Stage;
use crate::timed::command::Command;
use crate::timed::context::Context;
use crate::timed::plan::Plan;
use crate::timed::suspension::{self, Suspensions, When};

impl Passage {
    /// The commands that a die's array works on: one, and one that is suspended for it. What is on its way there is not among them.
    pub(in crate::timed) fn in_array<'a>(
        &'a self,
        suspensions: &'a Suspensions,
        die: Die,
    ) -> impl Iterator<Item = &'a Command> {
        let record = &self.dies[die.index()];
        let works = matches!(record.phase, Phase::Array | Phase::Suspending);
        let suspended = if record.phase == Phase::Suspending { None } else { suspensions.suspended(die) };
        works.then_some(&record.command).into_iter().chain(suspended)
    }

    /// Whether a die's operation is suspended, and the die does nothing.
    pub(in crate::timed) fn takes_work_beside(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Suspended
    }

    /// Whether a die's array works on an operation that may be suspended. With another program in the cache register it is not: a
    /// read needs that for its own data.
    pub(in crate::timed) fn may_be_suspended(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        let is_alone = self.ways.caches.stage(die) == Stage::None;
        self.dies[die.index()].phase == Phase::Array && context.suspensions.runs(die) && is_alone
    }

    /// Reads wait for a die whose array works on an operation that may be suspended: it is, now or as soon as the chip takes
    /// that, unless it ends before.
    pub(in crate::timed) fn suspend(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        match context.suspensions.when(die, context.now) {
            When::Now => self.ways.suspend(context, die, &mut self.dies[die.index()]),
            When::At(at) => self.ways.wait_to_suspend(context, die, at),
            When::Never => {}
        }
    }

    /// A die goes on with its suspended operation.
    pub(in crate::timed) fn resume(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        self.ways.resume(context, die, &mut self.dies[die.index()]);
    }
}

impl Ways {
    fn suspend(&mut self, context: &mut Context<'_, impl Plan>, die: Die, record: &mut DieRecord) {
        let (now, kind) = (context.now, record.command.kind());
        let (line, from, latency) = context.suspensions.suspend(die, now);
        record.phase = Phase::Suspending;
        context.note(|waits, now| waits.die_does(now, die, LatencyPart::Suspend));
        self.timers.stop(line.0, self.rank_of_array(die));
        self.timers.set(self.timing.suspension.0, now + latency, self.rank_of_array(die));
        if !context.draining {
            context.device.recorder.die_suspended(die, kind, now, now + latency);
        }
        let geometry = context.device.ftl.geometry();
        self.record_array(geometry, die, &record.command, name_of(&record.command), from, now);
        self.record_array(geometry, die, &record.command, suspension::names(kind)[0], now, now + latency);
    }

    fn wait_to_suspend(&mut self, context: &mut Context<'_, impl Plan>, die: Die, at: Instant) {
        if let Some(line) = context.suspensions.wait(die) {
            self.timers.stop(line.0, self.rank_of_array(die));
            self.timers.set(self.timing.suspension.0, at, self.rank_of_array(die));
        }
    }

    fn resume(&mut self, context: &mut Context<'_, impl Plan>, die: Die, record: &mut DieRecord) {
        let (now, line) = (context.now, self.timing.suspension);
        let (command, resume, until) = context.suspensions.resume(die, now, line);
        (record.phase, record.command) = (Phase::Array, *command);
        self.timers.set(line.0, until, self.rank_of_array(die));
        let (kind, cause) = (record.command.kind(), record.command.cause());
        context.note(|waits, now| waits.die_does(now, die, LatencyPart::of_command(kind, cause)));
        if !context.draining {
            context.device.recorder.die_resumed(die, kind, now, resume, until);
        }
        let geometry = context.device.ftl.geometry();
        self.record_array(geometry, die, &record.command, suspension::names(kind)[1], now, now + resume);
        if context.suspensions.let_writes_by(die) {
            context.queues.wake(die);
        }
        if kind == OpKind::Program && self.caches.may_follow(&record.command) {
            self.expect_follower(die, now + resume, until);
        }
    }

    /// The timer of an array ended where operations are suspended. `None`: a command came to its end, as it does elsewhere.
    pub(super) fn suspendable_done(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        record: &mut DieRecord,
    ) -> Option<ArrayDone> {
        if record.phase == Phase::Suspending {
            record.phase = Phase::Suspended;
            return Some(ArrayDone::Suspended);
        }
        if !context.suspensions.runs(die) {
            return None;
        }
        if let Some((until, line)) = context.suspensions.end_wait(die) {
            self.timers.set(line.0, until, self.rank_of_array(die));
            return Some(ArrayDone::MaySuspend);
        }
        let from = context.suspensions.end(die);
        let name = name_of(&record.command);
        self.record_array(context.device.ftl.geometry(), die, &record.command, name, from, context.now);
        None
    }
}
