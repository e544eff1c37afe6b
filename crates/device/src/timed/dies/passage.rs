//! A command's way through channel and array, and what is told when it is done.

use base::{Cause, Duration, Instant, Lpn, OpKind, Ppn};
use ftl::{Done, Finished, Op};
use metrics::Track;

use super::{Delay, Delivery, Die, Item, Line, MAX_BITS, Phase, Timed};
use crate::device::count_collection;

impl Timed<'_, '_> {
    /// Counts the command and starts it.
    pub(super) fn start(&mut self, die: u32) {
        self.idle.remove(die);
        self.end_idle_time(die);
        let Die { kind, cause, count, copies, ref items, .. } = self.dies[die as usize];
        self.device.recorder.counters.command(cause, kind, u64::from(count));
        if copies > 0 {
            self.device.recorder.counters.copyback_command(cause, u64::from(count));
        }
        if count > 1 {
            let ppns = items.map(|item| item.ppn);
            self.device.flash.check_shared(kind, &ppns[..usize::from(count)]);
        }
        if self.device.lanes.are_several() && matches!(cause, Cause::Host | Cause::Rmw) {
            self.note_bystanders(die);
        }
        let has_data = kind == OpKind::Program && copies == 0;
        if has_data || !self.timing.command.is_empty() {
            self.dies[die as usize].phase = Phase::Command;
            self.ask_channel(die);
        } else {
            self.start_array(die, self.now);
        }
    }

    /// Of the superpages of a command that was counted, the host is concerned with some lanes only.
    #[inline(never)]
    pub(super) fn note_bystanders(&mut self, die: u32) {
        let Die { kind, cause, count, ref items, .. } = self.dies[die as usize];
        let items = &items[..usize::from(count)];
        let touched: u64 = items.iter().map(|item| u64::from(self.pool.get(item.what).share.touched)).sum();
        let all = u64::from(count) * u64::from(self.device.lanes.count);
        self.device.recorder.counters.bystand(cause, kind, all - touched, count > 1);
    }

    pub(super) fn ask_channel(&mut self, die: u32) {
        let number = self.device.ftl.geometry().channel_of_die(die);
        let Die { phase, kind, copies, .. } = self.dies[die as usize];
        let channel = &mut self.channels[number as usize];
        if self.now < channel.until || channel.is_awaited {
            let line = if phase == Phase::Command && (kind != OpKind::Program || copies > 0) {
                &mut channel.commands
            } else {
                &mut channel.waiting
            };
            line.push_back(die);
            if !channel.is_awaited {
                channel.is_awaited = true;
                let until = channel.until;
                self.set_transfer(number, until, Line::CHANNEL);
            }
        } else {
            self.grant(number, die);
        }
    }

    /// Gives a channel to a die for its next transfer.
    ///
    /// What follows on the transfer of a command is known now: its array starts. So its end is an event only for those
    /// who wait for the channel.
    pub(super) fn grant(&mut self, number: u32, die: u32) {
        let Die { phase, kind, cause, count, sent, copies, .. } = self.dies[die as usize];
        let (delay, pages) = match (phase, kind) {
            (Phase::Command, _) if copies > 0 => (self.timing.copy_command[usize::from(count) - 1], 0),
            (Phase::Command, OpKind::Program) => (self.timing.data_in[usize::from(count) - 1], u64::from(count)),
            (Phase::Command, _) => (self.timing.command[usize::from(count) - 1], 0),
            _ => (self.timing.data_out, 1),
        };
        let until = (self.now + delay.time).max(self.through_dram(pages));
        let is_decided = phase == Phase::Command && self.decides_early;
        let channel = &mut self.channels[number as usize];
        channel.until = until;
        channel.holder = (!is_decided).then_some(die);
        channel.is_awaited = !is_decided || channel.is_waited_for();
        if channel.is_awaited {
            self.set_transfer(number, until, delay.line);
        }
        if !self.draining {
            self.device.recorder.channel_busy(number, cause, self.now, until);
        }
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(self.now, until)
        {
            let name = if pages == 0 {
                "command"
            } else if kind == OpKind::Read {
                "data out"
            } else {
                "data in"
            };
            let ppn = u64::from(self.dies[die as usize].items[usize::from(sent)].ppn.0);
            timeline.span(Track::Channel(number), name, cause, self.now, until, &[("ppn", ppn), ("pages", pages)]);
        }
        if is_decided {
            self.start_array(die, until);
        }
    }

    /// When the controller's DRAM, which all channels share, has moved that many pages more.
    pub(super) fn through_dram(&mut self, pages: u64) -> Instant {
        if self.timing.dram == Duration::ZERO || pages == 0 {
            return self.now;
        }
        self.dram_free = self.dram_free.max(self.now) + self.timing.dram * pages;
        self.dram_free
    }

    pub(in crate::timed) fn transfer_done(&mut self, number: u32) {
        self.channels[number as usize].is_awaited = false;
        let Some(die) = self.channels[number as usize].holder.take() else {
            self.release(number);
            return;
        };
        let state = &mut self.dies[die as usize];
        if state.phase == Phase::Command {
            self.release(number);
            self.data_moved(die);
            self.start_array(die, self.now);
            return;
        }
        let item = state.items[usize::from(state.sent)];
        state.sent += 1;
        let more = state.sent < state.count;
        let collects = !matches!(state.cause, Cause::Host | Cause::Rmw);
        if more {
            self.grant(number, die);
        } else {
            self.release(number);
            self.become_idle(die);
        }
        self.correct(if collects { Delivery::Collection(item.what) } else { Delivery::Transaction(item.what) });
    }

    /// The data of a program are in the chip's register: the write buffer may give their room to other pages.
    pub(super) fn data_moved(&mut self, die: u32) {
        let Die { kind, cause, count, .. } = self.dies[die as usize];
        if self.buffer.as_ref().is_none_or(|buffer| !buffer.releases_early())
            || (kind, cause) != (OpKind::Program, Cause::Host)
        {
            return;
        }
        for at in 0..usize::from(count) {
            let write = self.dies[die as usize].items[at].what;
            self.page_transferred(self.pool.get(write).owner);
        }
    }

    /// Gives a channel whose transfer ended to the die that has waited longest.
    pub(super) fn release(&mut self, number: u32) {
        let channel = &mut self.channels[number as usize];
        let next = channel.commands.pop_front().or_else(|| channel.waiting.pop_front());
        if let Some(die) = next {
            self.grant(number, die);
        }
    }

    /// The array of a die starts at `from`, which is now or the end of the transfer that begins now.
    pub(super) fn start_array(&mut self, die: u32, from: Instant) {
        let Die { kind, cause, count, copies, .. } = self.dies[die as usize];
        self.dies[die as usize].phase = Phase::Array;
        let delay = if count > 1 && self.device.flash.planes_are_independent() {
            // The array is done when the slowest page is.
            let items = &self.dies[die as usize].items[..usize::from(count)];
            let delays = items.iter().map(|item| self.array_delay(kind, copies, item.ppn));
            delays.max_by_key(|delay| delay.time).expect("pages of a command")
        } else {
            // Pages of one command share their offset, hence their type.
            self.array_delay(kind, copies, self.dies[die as usize].items[0].ppn)
        };
        let until = from + delay.time;
        self.set_array(die, until, delay.line);
        if !self.draining {
            self.device.recorder.die_busy(die, kind, from, until);
        }
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(from, until)
        {
            let name = match kind {
                OpKind::Read => "read",
                OpKind::Program if copies > 0 => "copyback",
                OpKind::Program => "program",
                OpKind::Erase => "erase",
            };
            timeline.span(Track::Die(die), name, cause, from, until, &[("pages", u64::from(count))]);
            for item in &self.dies[die as usize].items[..usize::from(count)] {
                let plane = self.device.ftl.geometry().place(item.ppn).plane;
                let ppn = u64::from(item.ppn.0);
                timeline.span(Track::Plane(plane), name, cause, from, until, &[("ppn", ppn)]);
            }
        }
    }

    #[inline]
    fn array_delay(&self, kind: OpKind, copies: u8, ppn: Ppn) -> Delay {
        let delays = match kind {
            OpKind::Read => &self.timing.read,
            OpKind::Program if copies > 0 => &self.timing.copy[usize::from(copies) - 1],
            OpKind::Program => &self.timing.program,
            OpKind::Erase => return self.timing.erase,
        };
        delays[usize::from(self.timing.types[self.device.flash.page_offset(ppn) as usize]) % MAX_BITS]
    }

    /// A die's command is done.
    pub(super) fn become_idle(&mut self, die: u32) {
        self.dies[die as usize].phase = Phase::Idle;
        self.idle.insert(die);
        self.wake(die);
    }

    pub(in crate::timed) fn array_done(&mut self, die: u32) {
        let Die { phase, kind, cause, count, .. } = self.dies[die as usize];
        if phase == Phase::Idle {
            self.idle_expired(die);
            return;
        }
        if kind == OpKind::Read {
            self.dies[die as usize].phase = Phase::DataOut;
            self.ask_channel(die);
            return;
        }
        self.become_idle(die);
        if kind == OpKind::Erase {
            // One item per block; a unit's blocks are in a row.
            for at in (0..usize::from(count)).step_by(self.device.ftl.geometry().unit_width as usize) {
                let Item { ppn, what } = self.dies[die as usize].items[at];
                self.erase_done(what, ppn);
            }
        } else if matches!(cause, Cause::Host | Cause::Mapping) {
            for at in 0..usize::from(count) {
                let what = self.dies[die as usize].items[at].what;
                match cause {
                    Cause::Host => self.write_done(what),
                    _ => {
                        self.device.ftl.finish(what, Done::Committed);
                    }
                }
            }
        }
    }

    pub(super) fn erase_done(&mut self, domain: u32, first: Ppn) {
        let unit = self.device.ftl.geometry().unit_of(first);
        self.device.flash.erase(unit);
        let Finished::Erased(erasure) = self.device.ftl.finish(domain, Done::Erased(unit)) else { return };
        self.note_collections(domain);
        if !self.forward.is_threshold() && erasure.forward && !self.device.ftl.is_busy(domain) {
            self.follow_up(domain);
        }
        count_collection(&mut self.device.recorder.counters, erasure);
        self.device.after_collection();
    }

    /// Data have left a die: they are delivered once they are corrected.
    pub(super) fn correct(&mut self, delivery: Delivery) {
        if self.timing.ecc == Duration::ZERO && self.timing.ecc_page == Duration::ZERO {
            self.deliver(delivery);
            return;
        }
        // One page after the other, for the host and for collections.
        self.ecc_free = self.ecc_free.max(self.now) + self.timing.ecc_page;
        let ready = self.ecc_free + self.timing.ecc;
        if self.correcting.is_empty() {
            self.set_correction(ready);
        }
        self.correcting.push_back((ready, delivery));
    }

    pub(in crate::timed) fn corrected(&mut self) {
        let (_, delivery) = self.correcting.pop_front().expect("a page under correction");
        if let Some(&(ready, _)) = self.correcting.front() {
            self.set_correction(ready);
        }
        self.deliver(delivery);
    }

    /// A translation page was read. Nothing is programmed: the step ends with its read.
    #[cold]
    pub(super) fn fetch_done(&mut self, domain: u32) {
        let collection = &mut self.collections[domain as usize];
        collection.group.clear();
        collection.read = 0;
        if let Finished::Entry(lpn) = self.device.ftl.finish(domain, Done::Read)
            && self.device.has_owners
        {
            self.translate_reads(domain, lpn);
        }
    }

    /// Translates the reads of a page that wait for its map entry, which may make way for another before their turn.
    fn translate_reads(&mut self, domain: u32, lpn: Lpn) {
        let die = self.device.ftl.geometry().die_of_domain(domain);
        let mut at = self.dies[die as usize].reads.first();
        while let Some(read) = at {
            let transaction = self.pool.get_mut(read);
            transaction.translated |= transaction.lpn == lpn;
            at = self.dies[die as usize].reads.after(&self.pool, read);
        }
    }

    pub(super) fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Transaction(read) => self.read_done(read),
            Delivery::Collection(domain) => {
                let die = self.device.ftl.geometry().die_of_domain(domain);
                let collection = &mut self.collections[domain as usize];
                collection.correcting -= 1;
                if collection.step.op == Op::Read {
                    self.fetch_done(domain);
                }
                self.dies[die as usize].correcting -= 1;
                self.wake(die);
            }
        }
    }
}
