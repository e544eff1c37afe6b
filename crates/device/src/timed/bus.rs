//! Channels: who holds one until when, and who waits for it.

use std::ops::Range;

use base::{Die, Duration, Geometry, Instant, OpKind};
use metrics::{LatencyPart, Track};

use super::command::{Carried, Command};
use super::context::Context;
use super::die::{Bus, DieRecord, Load, Phase, has_data_in};
use super::plan::{Chip, Plan};
use super::timing::{Delay, Line, PartTimes};

impl Bus {
    #[inline]
    pub(super) fn rank_of_array(&self, die: Die) -> u32 {
        self.dies_from + die.number()
    }

    /// Has the timer end that features of the chip have of all dies.
    pub(super) fn set_timer_of_chip(&mut self, line: Line, at: Instant) {
        self.timers.set(line.0, at, self.dies_from + self.dies + 2);
    }

    /// Has a timer of a die end that features of the chip have besides that of its array.
    pub(super) fn set_timer_of_die(&mut self, die: Die, line: Line, at: Instant) {
        // Behind those of dies and of seven other timers.
        self.timers.set(line.0, at, self.dies_from + self.dies + 8 + die.number());
    }

    /// A die takes a command: it is idle no more.
    #[inline]
    pub(super) fn end_idle_time(&mut self, die: Die, record: &mut DieRecord) {
        if record.times_idle {
            record.times_idle = false;
            self.timers.stop(self.timing.idle.0, self.rank_of_array(die));
        }
    }

    #[inline(always)]
    pub(super) fn ask_channel(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        record: &mut DieRecord,
        load: Load,
    ) {
        let number = record.channel;
        if self.are_taken_ahead(&context.plan) {
            return self.take_ahead(context, number, die, record, load);
        }
        let channel = &mut self.channels[number as usize];
        if context.now < channel.until || channel.is_awaited {
            let is_short = context.plan.has().cycles && record.phase == Phase::Command && !record.command.has_data_in();
            let line = if is_short { &mut channel.commands } else { &mut channel.waiting };
            line.push_back(die);
            context.note(|waits, now| waits.die_does(now, die, LatencyPart::Channel));
            if !channel.is_awaited {
                channel.is_awaited = true;
                self.timers.set(Line::CHANNEL.0, channel.until, number);
            }
        } else {
            self.grant(context, number, die, record, load);
        }
    }

    /// Gives a channel to a die for its next transfer.
    ///
    /// The array of a command whose transfer begins starts behind it, as is known now. So its end is an event only for those
    /// who wait for the channel.
    #[inline(always)]
    pub(super) fn grant<P: Plan>(
        &mut self,
        context: &mut Context<'_, P>,
        number: u32,
        die: Die,
        record: &mut DieRecord,
        load: Load,
    ) {
        let (phase, Load { kind, cause, count, .. }) = (record.phase, load);
        let parts = context.plan.has();
        let (delay, pages) = match (phase, kind) {
            (Phase::Command, OpKind::Program) if has_data_in(&context.plan, record, load) => {
                (self.timing.data_in(count), count as u64)
            }
            (Phase::Command, OpKind::Program) => {
                (self.timing.copy_command(record.command.planes(context.device.flash.geometry())), 0)
            }
            (Phase::Command, _) if parts.cycles => (self.cycles(context.device.flash.geometry(), &record.command), 0),
            _ => {
                let pages = self.timing.sent_together(&context.plan, &record.command);
                (self.timing.data_out(pages), pages as u64)
            }
        };
        let (delay, dram) = match phase {
            Phase::DataOut if parts.cycles => {
                let from = usize::from(record.sent);
                self.times_of(context, &record.command, from..from + pages as usize)
            }
            _ => (delay, self.timing.dram * pages),
        };
        context.note(|waits, now| waits.die_does(now, die, LatencyPart::of_command(kind, cause)));
        let now = context.now;
        let mut until = now + delay.time;
        if parts.cycles {
            until = until.max(self.through_dram(now, dram));
        }
        let is_decided = phase == Phase::Command && (self.decides_early || self.decides_kind[kind as usize]);
        let channel = &mut self.channels[number as usize];
        channel.until = until;
        channel.holder = (!is_decided).then_some(die);
        channel.is_awaited = !is_decided || channel.is_waited_for();
        if channel.is_awaited {
            self.timers.set(delay.line.0, until, number);
        }
        if !context.draining {
            context.device.recorder.channel_busy(number, cause, now, until);
        }
        if parts.watchers && self.timeline.is_some() {
            self.record_transfer(number, (&record.command, record.sent), pages, now, until);
        }
        if is_decided {
            self.start_array(context, die, record, load, until);
        }
    }

    /// The times of a page of a read, or of the part of it that is sent.
    #[inline(always)]
    pub(super) fn times_of_page<P: Plan>(&self, context: &Context<'_, P>, carried: Carried) -> PartTimes {
        P::Chip::part(context, carried).unwrap_or_else(|| self.timing.times_of_page())
    }

    /// How long pages of a command that are sent together hold the channel, and the controller's DRAM.
    #[inline(always)]
    pub(super) fn times_of<P: Plan>(
        &self,
        context: &Context<'_, P>,
        command: &Command,
        pages: Range<usize>,
    ) -> (Delay, Duration) {
        let line = self.timing.data_out(pages.len()).line;
        let (mut out, mut dram) = (Duration::ZERO, Duration::ZERO);
        let mut at = pages.start;
        while at < pages.end {
            let carried = command.item(at).carried;
            let (count, of_page) = (command.pages_for(carried, at..pages.end), self.times_of_page(context, carried));
            out += of_page.out.time * count as u64;
            dram += of_page.dram * count as u64;
            at += count;
        }
        (Delay { time: out, line }, dram)
    }

    #[cold]
    pub(super) fn record_transfer(
        &mut self,
        number: u32,
        (command, sent): (&Command, u8),
        pages: u64,
        from: Instant,
        until: Instant,
    ) {
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(from, until)
        {
            let name = match (pages, command.kind()) {
                (0, _) => "command",
                (_, OpKind::Read) => "data out",
                _ => "data in",
            };
            let ppn = u64::from(command.item(usize::from(sent)).ppn.0);
            let figures = [("ppn", ppn), ("pages", pages)];
            timeline.span(Track::Channel(number), name, command.cause(), from, until, &figures);
        }
    }

    /// The cycles of a command without data, for each of its flash pages.
    pub(in crate::timed) fn cycles(&self, geometry: &Geometry, command: &Command) -> Delay {
        self.timing.command(if command.kind() == OpKind::Read { command.planes(geometry) } else { command.len() })
    }

    /// When the DRAM that all channels share has finished a further transfer of length `takes`.
    pub(super) fn through_dram(&mut self, now: Instant, takes: Duration) -> Instant {
        if takes == Duration::ZERO {
            return now;
        }
        self.dram_free = self.dram_free.max(now) + takes;
        self.dram_free
    }
}
