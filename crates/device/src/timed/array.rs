//! Arrays: what a die does until when.

use base::{Die, Geometry, Instant, OpKind};
use metrics::Track;

use super::command::{Command, Item};
use super::context::Context;
use super::die::{Bus, DieRecord, Load, Phase, copies_pages};
use super::plan::{Chip, Plan};
use super::timing::Delay;
use crate::flash::Flash;

impl Bus {
    /// How long an array takes for a copyback: until its slowest page is copied.
    #[cold]
    #[inline(never)]
    fn delay_of_copyback(&self, flash: &Flash, command: &Command) -> Delay {
        let pages = command.sources().iter().zip(command.items());
        let delays =
            pages.map(|(&from, to)| self.timing.array_of_copyback(flash.page_offset(from), flash.page_offset(to.ppn)));
        delays.max_by_key(|delay| delay.time).expect("pages of a command")
    }

    /// How long the array of a die takes for a command, which is that `load` and begins now, and where that is waited for.
    #[inline(always)]
    pub(super) fn time_of_array<P: Plan>(
        &self,
        context: &mut Context<'_, P>,
        die: Die,
        command: &Command,
        load: Load,
    ) -> Delay {
        let flash = &context.device.flash;
        let delay = if copies_pages(&context.plan, command) {
            self.delay_of_copyback(flash, command)
        } else if let Some(delay) = P::Chip::delay(context, command) {
            delay
        } else {
            self.delay_of_array(flash, command, load)
        };
        let delay = P::Chip::slows(context, die, delay.time).unwrap_or(delay);
        match P::Chip::prolongs(context, die, command) {
            Some(more) => Delay { time: delay.time + more.time, line: more.line },
            None => delay,
        }
    }

    /// How long the array takes for a command that is no copyback and has no time of its own by a feature of the chip.
    #[inline(always)]
    fn delay_of_array(&self, flash: &Flash, command: &Command, Load { kind, count, .. }: Load) -> Delay {
        let delay_of = |ppn| self.timing.array(kind, || flash.page_offset(ppn));
        if count > 1 && flash.planes_are_independent() {
            // The array is done when the slowest page is.
            let delays = command.items().iter().map(|item| delay_of(item.ppn));
            return delays.max_by_key(|delay| delay.time).expect("pages of a command");
        }
        // Pages of one command share their offset, hence their type.
        delay_of(command.lead())
    }

    /// The array of a die starts at `from`, which is now or the end of the transfer that begins now.
    #[inline(always)]
    pub(super) fn start_array<P: Plan>(
        &mut self,
        context: &mut Context<'_, P>,
        die: Die,
        record: &mut DieRecord,
        load: Load,
        from: Instant,
    ) {
        let kind = load.kind;
        record.phase = Phase::Array;
        let Delay { time, line } = self.time_of_array(context, die, &record.command, load);
        let until = from + time;
        if let Some(next) = load.next {
            context.device.recorder.die_busy(die, kind, from, until);
            return self.program_and_read(context, die, record.command.item(0), next, until);
        }
        self.timers.set(line.0, until, self.rank_of_array(die));
        if !context.draining {
            context.device.recorder.die_busy(die, kind, from, until);
        }
        P::Chip::runs(self, context, die, record, (from, until));
        if !P::Chip::begins(self, context, die, record, (from, until), line)
            && context.plan.has().watchers
            && self.timeline.is_some()
        {
            let name = name_of(&record.command);
            self.record_array(context.device.flash.geometry(), die, &record.command, name, from, until);
        }
    }

    #[cold]
    pub(super) fn record_array(
        &mut self,
        geometry: &Geometry,
        die: Die,
        command: &Command,
        name: &'static str,
        from: Instant,
        until: Instant,
    ) {
        if let Some(timeline) = &mut self.timeline
            && from < until
            && timeline.wants(from, until)
        {
            let (cause, pages) = (command.cause(), command.len() as u64);
            timeline.span(Track::Die(die), name, cause, from, until, &[("pages", pages)]);
            let plane_of = |item: &Item| geometry.place(item.ppn).plane;
            for (at, item) in command.items().iter().enumerate() {
                let plane = plane_of(item);
                if command.items()[..at].iter().any(|other| plane_of(other) == plane) {
                    // Of a wordline that is programmed in one shot, the first page stands for all.
                    continue;
                }
                let ppn = u64::from(item.ppn.0);
                let cause = if command.is_mixed() { command.cause_of(at) } else { cause };
                timeline.span(Track::Plane(plane), name, cause, from, until, &[("ppn", ppn)]);
            }
        }
    }
}

/// The work of an array, in a timeline.
pub(super) fn name_of(command: &Command) -> &'static str {
    match command.kind() {
        OpKind::Read => "read",
        OpKind::Program if !command.sources().is_empty() => "copyback",
        OpKind::Program => "program",
        OpKind::Erase => "erase",
    }
}
