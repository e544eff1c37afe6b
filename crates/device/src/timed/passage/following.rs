//! Commands that follow on another one of their die in cache mode.

use base::{Cause, Die, Duration, Instant, OpKind};
use metrics::LatencyPart;

use super::arrays::name_of;
use super::{DieRecord, Passage, Phase, Transferred, Ways, count};
use crate::timed::cache::Stage;
use crate::timed::command::{Carried, Command, Item};
use crate::timed::context::Context;
use crate::timed::plan::Plan;
use crate::timed::timing::Line;

impl Passage {
    /// Whether there is any cache mode.
    #[inline]
    pub(in crate::timed) fn caches_are_on(&self) -> bool {
        self.ways.caches.are_on()
    }

    /// The kind of command that may follow on that of a die now, if any: the data of a program may set out, or those of a read are
    /// on their way. Where something is suspended the page register has what is left of it.
    ///
    /// What the FTL hears of only at its end goes on alone: until then the domain has the same operation before it.
    pub(in crate::timed) fn may_follow(&self, context: &Context<'_, impl Plan>, die: Die) -> Option<OpKind> {
        let DieRecord { phase, ref command, .. } = self.dies[die.index()];
        let kind = command.kind();
        let Ways { caches, .. } = &self.ways;
        let is_time = match (phase, kind) {
            (Phase::Array, OpKind::Program) => caches.may_follow(command) && caches.is_open(die, context.now),
            (Phase::Register | Phase::DataOut, OpKind::Read) => caches.may_follow(command),
            _ => false,
        };
        let may = is_time
            && caches.stage(die) == Stage::None
            && !context.suspensions.is_suspended(die)
            && !tells_at_end(command);
        may.then_some(kind)
    }

    /// Where the command is built that follows on that of a die.
    pub(in crate::timed) fn next_follower(&mut self, die: Die) -> &mut Command {
        self.ways.caches.command_mut(die)
    }

    /// The command that follows on that of a die.
    pub(in crate::timed) fn follower(&self, die: Die) -> &Command {
        self.ways.caches.command(die)
    }

    /// Counts the command that was built to follow on that of a die, and starts it.
    pub(in crate::timed) fn follow(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        let command = *self.ways.caches.command(die);
        let running = self.dies[die.index()].command.cached();
        context.device.flash.check_cached(running, command.cached(), &command.ppns()[..command.len()]);
        count(context, &command, command.load());
        if !context.draining {
            context.device.recorder.die_cached(command.kind());
        }
        if command.has_data_in() || self.ways.timing.has_command_cycles() {
            self.ways.ask_channel_for_follower(context, die, self.dies[die.index()].channel);
        } else {
            self.ways.read_next(context, die);
        }
    }

    /// The data of a read go out, if they wait for the next read to be sent for.
    pub(in crate::timed) fn send_data(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        let record = &mut self.dies[die.index()];
        if record.phase == Phase::Register {
            record.phase = Phase::DataOut;
            self.ways.ask_channel(context, die, record, record.command.load());
        }
    }

    /// The timer ended after which a program may follow on that of a die.
    pub(in crate::timed) fn may_follow_now(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        match self.ways.caches.timer_ended(die, context.now) {
            Some(at) => self.ways.timers.set(self.ways.timing.lead.line.0, at, self.ways.rank_of_follower(die)),
            None => context.queues.wake(die),
        }
    }

    /// A program of a die is done: what followed on it takes its place. Returns whether there is something.
    pub(in crate::timed) fn go_on(&mut self, context: &mut Context<'_, impl Plan>, die: Die) -> bool {
        let has_follower = self.ways.caches.stage(die) != Stage::None;
        if has_follower {
            self.ways.promote(context, die, &mut self.dies[die.index()]);
        }
        has_follower
    }

    /// What followed on a die's command has its data, or its cycles have passed.
    pub(super) fn follower_transferred(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        number: u32,
        die: Die,
    ) -> Transferred {
        let command = self.ways.caches.command(die);
        let is_data = command.has_data_in() && (command.is_of_host() || command.is_mixed());
        if command.kind() == OpKind::Program {
            self.ways.caches.set_stage(die, Stage::Ready);
        } else {
            self.ways.read_next(context, die);
        }
        self.release(context, number);
        if is_data { Transferred::DataOfFollower(die) } else { Transferred::Nothing }
    }
}

/// Whether the FTL hears of a command only when it is done.
fn tells_at_end(command: &Command) -> bool {
    let is_of_domain = |item: &Item| matches!(item.carried, Carried::Domain(_));
    command.kind() == OpKind::Program
        && (command.cause() == Cause::Mapping || command.is_mixed())
        && command.items().iter().any(is_of_domain)
}

impl Ways {
    #[inline]
    fn rank_of_follower(&self, die: Die) -> u32 {
        // Behind those of dies and of five other timers.
        self.dies_from + self.caches.dies() + 6 + die.number()
    }

    /// A die programs from `from` to `until`: the next program is chosen when its data would come in time.
    pub(super) fn expect_follower(&mut self, die: Die, from: Instant, until: Instant) {
        if let Some(at) = self.caches.program_runs(die, (from, until)) {
            self.timers.set(self.timing.lead.line.0, at, self.rank_of_follower(die));
        }
    }

    /// The array takes a while longer for a program that followed on another one.
    pub(super) fn add_busy(&mut self, die: Die, line: Line, until: Instant) -> (Line, Instant) {
        match self.caches.take_busy(die) {
            Duration::ZERO => (line, until),
            busy => (self.timing.lead.line, until + busy),
        }
    }

    fn ask_channel_for_follower(&mut self, context: &mut Context<'_, impl Plan>, die: Die, number: u32) {
        let channel = &mut self.channels[number as usize];
        if context.now >= channel.until && !channel.is_awaited {
            return self.grant_to_follower(context, number, die);
        }
        let has_data = self.caches.command(die).has_data_in();
        let line = if has_data { &mut channel.waiting } else { &mut channel.commands };
        line.push_back(die);
        self.caches.set_stage(die, Stage::Waits);
        if !channel.is_awaited {
            channel.is_awaited = true;
            self.timers.set(Line::CHANNEL.0, channel.until, number);
        }
    }

    /// Gives a channel to the command that follows on that of a die. Its end is an event: when the array will be free is not
    /// certain.
    pub(super) fn grant_to_follower(&mut self, context: &mut Context<'_, impl Plan>, number: u32, die: Die) {
        self.caches.set_stage(die, Stage::Transfers);
        let command = *self.caches.command(die);
        let (delay, pages) = match command.has_data_in() {
            true => (self.timing.data_in(command.len()), command.len() as u64),
            false => (self.timing.command(command.len()), 0),
        };
        let now = context.now;
        let until = (now + delay.time).max(self.through_dram(now, self.timing.dram * pages));
        let channel = &mut self.channels[number as usize];
        (channel.until, channel.holder, channel.is_awaited) = (until, Some(die), true);
        self.timers.set(delay.line.0, until, number);
        if !context.draining {
            context.device.recorder.channel_busy(number, command.cause(), now, until);
        }
        self.record_transfer(number, (&command, 0), pages, now, until);
    }

    /// The array reads for the command that follows on that of a die. Before it does, the register is copied.
    fn read_next(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        let command = *self.caches.command(die);
        self.caches.set_stage(die, Stage::Array);
        let delay = self.delay_of_array(&context.device.flash, &command, command.load());
        let delay = self.timing.of_die(die, delay);
        let (from, busy) = (context.now, self.caches.busy(OpKind::Read));
        let until = from + busy + delay.time;
        let line = if busy == Duration::ZERO { delay.line } else { self.timing.lead.line };
        self.timers.set(line.0, until, self.rank_of_array(die));
        if !context.draining {
            context.device.recorder.die_busy(die, OpKind::Read, from, until);
        }
        self.record_array(context.device.ftl.geometry(), die, &command, name_of(&command), from, until);
    }

    /// A die's command is done, and the one that followed on it takes its place.
    pub(super) fn promote(&mut self, context: &mut Context<'_, impl Plan>, die: Die, record: &mut DieRecord) {
        let (command, stage) = self.caches.take(die);
        (record.command, record.sent) = (*command, 0);
        let (kind, cause) = (record.command.kind(), record.command.cause());
        let what = if stage == Stage::Waits { LatencyPart::Channel } else { LatencyPart::of_command(kind, cause) };
        context.note(|waits, now| waits.die_does(now, die, what));
        match (stage, kind) {
            (Stage::Waits | Stage::Transfers, _) => record.phase = Phase::Command,
            (Stage::Ready, OpKind::Program) => {
                self.start_array(context, die, record, record.command.load(), context.now);
            }
            (Stage::Ready, _) => {
                record.phase = Phase::Register;
                context.queues.wake(die);
            }
            (Stage::Array, _) => record.phase = Phase::Array,
            (Stage::None, _) => unreachable!("nothing follows"),
        }
    }
}
