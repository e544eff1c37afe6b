//! Channels that are taken ahead: where nothing goes before others on a channel, and nothing takes no time at all, a die that asks for it is
//! told at once when its turn is, behind all that asked before. Nobody waits in a queue, and the end of a command's transfer is no event.

use base::{Die, OpKind};

use crate::timed::context::Context;
use crate::timed::die::{Backend, Bus, DieRecord, Load, Phase};
use crate::timed::plan::Plan;

impl Backend {
    /// The measurement ends: transfers that were to begin later do not count, nor what follows on them.
    pub(in crate::timed) fn end_measurement(&mut self, context: &mut Context<'_, impl Plan>) {
        let (Bus { timing, .. }, takes_ahead) = (&self.bus, self.bus.are_taken_ahead(&context.plan));
        for (record, die) in self.dies.iter().zip(context.device.flash.geometry().all_dies()) {
            let recorder = &mut context.device.recorder;
            let load = record.command.load();
            recorder.leave_out_of_die(die, load.kind, context.now);
            let is_data_out = record.phase == Phase::DataOut;
            if !takes_ahead || !is_data_out && (record.phase, load.kind) != (Phase::Array, OpKind::Program) {
                continue;
            }
            // A program goes as a whole, reads page by page.
            let (transfers, time) = match is_data_out {
                true => (load.count as u64, timing.transfer(true, 1)),
                false => (1, timing.transfer(false, load.count)),
            };
            for from in (0..transfers).map(|number| record.sends + time * number) {
                if from > context.now {
                    recorder.leave_out_of_channel(record.channel, load.cause, from, from + time);
                }
            }
        }
    }
}

impl Bus {
    /// True if channels are taken ahead.
    #[inline(always)]
    pub(in crate::timed) fn are_taken_ahead(&self, plan: &impl Plan) -> bool {
        !plan.has().cycles && self.takes_ahead
    }

    /// Gives a channel to a die for all transfers of its command, behind those who asked before.
    #[inline(always)]
    pub(in crate::timed) fn take_ahead(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        number: u32,
        die: Die,
        record: &mut DieRecord,
        load: Load,
    ) {
        let channel = &mut self.channels[number as usize];
        let from = channel.until.max(context.now);
        let is_data_out = record.phase == Phase::DataOut;
        let until = from + self.timing.transfer(is_data_out, load.count);
        (channel.until, record.sends) = (until, from);
        if !context.draining {
            context.device.recorder.channel_busy(number, load.cause, from, until);
        }
        if is_data_out {
            channel.senders.push_back(die);
            let delay = self.timing.data_out(1);
            self.timers.set(delay.line.0, from + delay.time, number);
        } else {
            self.start_array(context, die, record, load, until);
        }
    }
}
