//! Reads and programs of collections that are booked behind what their die does: a page that is moved is one event, unless something
//! comes in between.

use base::{Cause, Die, Domain, Instant, OpKind, Ppn};

use super::{DieRecord, Passage, Phase, Ways};
use crate::timed::command::{Carried, Item};
use crate::timed::context::Context;
use crate::timed::plan::Plan;

/// Pages that a die moves without booking after a booking was cancelled for another die.
const SKIPPED_BOOKINGS: u8 = 31;

impl Passage {
    /// Whether reads are booked: a die that moves a page of a collection knows what it does next, unless something comes in
    /// between.
    #[inline(always)]
    pub(in crate::timed) fn books_reads(&self) -> bool {
        self.ways.timing.books_reads()
    }

    /// Whether a die has a booked read to begin later.
    #[inline(always)]
    pub(in crate::timed) fn reads_later(&self, now: Instant, die: Die) -> bool {
        self.dies[die.index()].booked > now
    }

    /// Whether a die has a booked read to begin later, or now when it chooses.
    pub(in crate::timed) fn may_read_no_more(&self, now: Instant, die: Die) -> bool {
        let DieRecord { phase, booked, .. } = self.dies[die.index()];
        phase == Phase::Array && booked >= now && booked > Instant::ZERO
    }

    /// The domain and the page that a die has read for a collection, if it can send it now.
    #[inline(always)]
    pub(in crate::timed) fn sends_page(&mut self, now: Instant, die: Die) -> Option<(Domain, Ppn)> {
        let DieRecord { channel, ref command, ref mut skips, .. } = self.dies[die.index()];
        if *skips > 0 {
            *skips -= 1;
            return None;
        }
        let channel = &self.ways.channels[channel as usize];
        let is_page = (command.kind(), command.cause(), command.len()) == (OpKind::Read, Cause::Gc, 1);
        match command.item(0) {
            Item { ppn, carried: Carried::Domain(domain) } if is_page && now >= channel.until => Some((domain, ppn)),
            _ => None,
        }
    }

    /// A die sends the page that it has read, and programs it, and reads the next one behind that.
    #[inline(always)]
    pub(in crate::timed) fn book_program(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        moved: [Ppn; 2],
        next: Ppn,
    ) {
        let rank = self.ways.rank_of_array(die);
        let record = &mut self.dies[die.index()];
        let Ways { timing, timers, channels, .. } = &mut self.ways;
        let (flash, now) = (&context.device.flash, context.now);
        let from = now + timing.data_out().time;
        let sent = from + timing.data_in(1).time;
        let to = sent + timing.array(OpKind::Program, || flash.page_offset(moved[1])).time;
        let read = timing.booked_read(|| flash.page_offset(moved[1]), || flash.page_offset(next));
        let number = record.channel;
        let channel = &mut channels[number as usize];
        (channel.until, channel.booked, channel.booked_from) = (sent, Some(die), from);
        (record.phase, record.sends) = (Phase::Array, now);
        (record.moves, record.moved, record.booked, record.booked_line) = (from, moved, to, read.line);
        timers.set(read.line.0, to + read.time, rank);
        context.device.recorder.book_program(die, number, now, from, sent, to);
        context.device.recorder.book_read(die, to, to + read.time);
    }

    /// Another die came before the program that a die has booked. Collections take as long for each page, so their dies meet
    /// again at the next one.
    pub(in crate::timed) fn skip_bookings(&mut self, die: Die) {
        self.dies[die.index()].skips = SKIPPED_BOOKINGS;
    }

    /// The die that has booked a program on the channel of another, whose transfer begins later, or now when it chooses.
    #[inline(always)]
    pub(in crate::timed) fn who_booked(&self, now: Instant, die: Die) -> Option<Die> {
        let channel = &self.ways.channels[self.dies[die.index()].channel as usize];
        if channel.booked_from >= now { channel.booked } else { None }
    }

    /// Whether a die has booked a program whose transfer begins later.
    pub(in crate::timed) fn moves_later(&self, now: Instant, die: Die) -> bool {
        self.dies[die.index()].moves > now
    }

    /// Whether a die has booked a program whose transfer begins later, or now when it chooses.
    pub(in crate::timed) fn may_program_no_more(&self, now: Instant, die: Die) -> bool {
        self.dies[die.index()].moves >= now && self.who_booked(now, die) == Some(die)
    }

    /// Something comes between the read of a page and its program, which were booked, after the read that was booked behind was
    /// cancelled: the die sends the page, and chooses then. Returns where it was and was to be, and whether it is sent now.
    pub(in crate::timed) fn cancel_program(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
    ) -> ([Ppn; 2], bool) {
        let rank = self.ways.rank_of_array(die);
        let record = &mut self.dies[die.index()];
        let Ways { timing, timers, channels, .. } = &mut self.ways;
        let channel = &mut channels[record.channel as usize];
        let sent = std::mem::replace(&mut channel.until, record.moves);
        timers.stop(timing.line_of_program().0, rank);
        record.moves = Instant::ZERO;
        (channel.booked, channel.booked_from) = (None, Instant::ZERO);
        let is_sent = channel.until == context.now;
        if is_sent {
            (record.phase, record.sent) = (Phase::Idle, 1);
        } else {
            (record.phase, record.sent) = (Phase::DataOut, 0);
            channel.senders.push_back(die);
            timers.set(timing.data_out().line.0, channel.until, record.channel);
        }
        context.device.recorder.cancel_program(die, record.channel, sent);
        context.device.flash.cancel_program(record.moved[1]);
        (record.moved, is_sent)
    }

    /// The channel of a die.
    pub(in crate::timed) fn channel_of(&self, die: Die) -> u32 {
        self.dies[die.index()].channel
    }

    /// Something comes between the program of a die and the read that was booked behind it. Returns the page that it was to
    /// read, and whether the program is done now.
    pub(in crate::timed) fn cancel_read(&mut self, context: &mut Context<'_, impl Plan>, die: Die) -> (Item, bool) {
        let rank = self.ways.rank_of_array(die);
        let record = &mut self.dies[die.index()];
        let until = std::mem::replace(&mut record.booked, Instant::ZERO);
        let page = record.command.item(0);
        record.command.begin(OpKind::Program, Cause::Gc);
        self.ways.timers.stop(record.booked_line.0, rank);
        let is_done = until == context.now;
        if is_done {
            record.phase = Phase::Idle;
        } else {
            self.ways.timers.set(self.ways.timing.line_of_program().0, until, rank);
        }
        context.device.recorder.cancel_read(die);
        context.device.flash.cancel_read(page.ppn);
        (page, is_done)
    }
}
