//! The next work of a die, where that is known: a page that is moved is one event, unless something comes in between.

use base::{Cause, Die, Domain, Instant, OpKind, Ppn};
use ftl::PageAddress;

use super::record::{Booking, Bookings, Reached};
use crate::device::Device;
use crate::timed::Timed;
use crate::timed::command::{Carried, Command, Item};
use crate::timed::commands::Commands;
use crate::timed::context::Context;
use crate::timed::die::{Backend, Bus, Channel, Phase};
use crate::timed::plan::Plan;

/// Pages that a die moves without booking after a booking was given up for another die.
const SKIPPED_BOOKINGS: u8 = 31;

impl Booking {
    /// The read has ended. Returns the page and its domain.
    #[inline(always)]
    fn come_true(&mut self, device: &mut Device, die: Die) -> (Domain, Ppn) {
        if self.stage == Reached::Sends {
            self.begin_program(device, die);
        }
        if self.stage == Reached::Programs {
            self.begin_read(device, die);
        }
        (self.domain, self.next.at)
    }

    /// The die may book the page that it sends now.
    #[inline(always)]
    fn takes_turn(&mut self) -> bool {
        let takes = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        takes
    }

    /// The die sends the page that it has read, programs it in that place, and reads the next one behind that.
    #[inline(always)]
    fn send(
        &mut self,
        device: &Device,
        backend: &mut Backend,
        (die, now): (Die, Instant),
        (domain, page): (Domain, Ppn),
        (to, next): (Ppn, PageAddress),
    ) {
        let rank = backend.bus.rank_of_array(die);
        let (Bus { timing, timers, channels, .. }, flash) = (&mut backend.bus, &device.flash);
        let moves = now + timing.data_out(1).time;
        let sent = moves + timing.data_in(1).time;
        let reads = sent + timing.array(OpKind::Program, || flash.page_offset(to)).time;
        let read = timing.read_behind(|| flash.page_offset(to), || flash.page_offset(next.at));
        let (ends, line) = (reads + read.time, read.line);
        let Booking { pages, channel, skips, .. } = *self;
        let (stage, untold) = (Reached::Sends, now);
        *self = Booking { stage, pages, skips, channel, domain, page, next, untold, moves, sent, reads, ends, line };
        channels[channel as usize].until = sent;
        let record = &mut backend.dies[die.index()];
        (record.phase, record.sends) = (Phase::Array, now);
        timers.set(line.0, ends, rank);
    }

    /// The page has been read: it is what the die's command and its collection are about.
    #[inline(always)]
    fn take_up_read(&mut self, commands: &mut Commands, command: &mut Command) {
        (self.stage, self.page) = (Reached::None, self.next.at);
        self.hand_over(commands, command);
    }

    /// The page in hand is one that the die reads or has read.
    #[inline(always)]
    fn hand_over(&self, commands: &mut Commands, command: &mut Command) {
        command.begin(OpKind::Read, Cause::Gc);
        command.add(self.page, Carried::Domain(self.domain));
        commands.collections.in_hand(self.domain).take(self.page);
    }
}

// What events mean.

/// The array of a die is done. If it has read a page of a collection that can be sent at once, its program is booked, and the read of
/// the next page. Returns whether it is.
#[inline(always)]
pub(in crate::timed) fn array_done<P: Plan>(timed: &mut Timed<'_, '_, P>, die: Die) -> bool {
    asks_channel(timed, die);
    let Timed { context, commands, backend, .. } = timed;
    let Context { device, queues, plan, now, draining, .. } = context;
    let Some(Bookings { dies, channels }) = plan.bookings() else { return false };
    let booking = &mut dies[die.index()];
    let is_booked = booking.stage != Reached::None;
    let page = match is_booked {
        true => Some(booking.come_true(device, die)),
        false => backend.page_that_was_read(die),
    };
    if let Some((domain, page)) = page
        && booking.takes_turn()
        && *now >= backend.bus.channels[booking.channel as usize].until
        && !*draining
        && let Some(place) = commands.place_of_read_page(booking.pages, device, queues, die, domain)
    {
        channels[booking.channel as usize] = Some(die);
        booking.send(device, backend, (die, *now), (domain, page), place);
        return true;
    }
    if is_booked {
        booking.take_up_read(commands, backend.next_command(die));
    }
    false
}

/// A die is about to use its channel. If another has booked a program behind what the channel carries, and that has not begun, it is
/// asked for in turn.
#[inline(always)]
pub(in crate::timed) fn asks_channel<P: Plan>(timed: &mut Timed<'_, '_, P>, die: Die) {
    let Context { device, plan, now, .. } = &mut timed.context;
    let Some(Bookings { dies, channels }) = plan.bookings() else { return };
    let of_channel = &mut channels[dies[die.index()].channel as usize];
    let Some(other) = *of_channel else { return };
    let booking = &mut dies[other.index()];
    if booking.moves < *now {
        *of_channel = None;
        return booking.tell_channel(device, booking.sent);
    }
    booking.skips = SKIPPED_BOOKINGS;
    give_up(timed, other);
}

/// A request came to a die that is at work. If the die has booked a read that begins later, or now when it chooses, and the request
/// goes before that, the read does not take place.
#[inline(always)]
pub(in crate::timed) fn asked_at_work<P: Plan>(timed: &mut Timed<'_, '_, P>, die: Die) {
    let Context { plan, now, .. } = &mut timed.context;
    let Some(bookings) = plan.bookings() else { return };
    let Booking { stage, reads, domain, .. } = bookings.dies[die.index()];
    if stage != Reached::None && reads >= *now && !timed.commands.goes_on(&timed.context.queues, die, domain) {
        give_up(timed, die);
    }
}

/// The measurement ends: what was booked to begin later does not take place.
pub(in crate::timed) fn end_measurement<P: Plan>(timed: &mut Timed<'_, '_, P>) {
    for die in timed.context.device.flash.geometry().all_dies() {
        let Timed { context: Context { device, plan, now, .. }, commands, backend, .. } = timed;
        let Some(bookings) = plan.bookings() else { return };
        bookings.tell(device, die, |begins| begins <= *now);
        match bookings.dies[die.index()].stage {
            Reached::None => {}
            Reached::Reads => bookings.dies[die.index()].take_up_read(commands, backend.next_command(die)),
            Reached::Sends | Reached::Programs => give_up(timed, die),
        }
    }
}

/// The read that a die has booked does not take place; nor does the program before it, unless that began before now. (Where both are to
/// begin now, that is not for the die itself to say: see [`asks_channel`].)
#[cold]
#[inline(never)]
fn give_up<P: Plan>(timed: &mut Timed<'_, '_, P>, die: Die) {
    let Timed { context, commands, backend, .. } = timed;
    let Context { device, plan, now, .. } = context;
    let Some(bookings) = plan.bookings() else { return };
    bookings.tell(device, die, |begins| begins < *now);
    let booking = &mut bookings.dies[die.index()];
    let Booking { stage, page, domain, channel, moves, reads, line, .. } = *booking;
    booking.stage = Reached::None;
    backend.bus.timers.stop(line.0, backend.bus.rank_of_array(die));
    let command = backend.next_command(die);
    if stage == Reached::Sends {
        booking.hand_over(commands, command);
        bookings.channels[channel as usize] = None;
        if backend.send_page(*now, die, moves) {
            let has_read = |die| backend.command(die).kind() == OpKind::Read;
            context.queues.wake_as_sent(die, has_read, |die| backend.channel_of(die));
        }
        return;
    }
    commands.collections.in_hand(domain).end();
    command.begin(OpKind::Program, Cause::Gc);
    command.add(page, Carried::Domain(domain));
    if backend.go_on_programming(*now, die, reads) {
        context.queues.wake_as_programmed(die, |die| backend.command(die).kind() == OpKind::Read);
    }
}

impl Bus {
    /// The array of a die programs a page until then, and reads another one behind that, unless something comes in between.
    #[inline(always)]
    pub(in crate::timed) fn program_and_read(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        item: Item,
        next: PageAddress,
        until: Instant,
    ) {
        let (Context { device, plan, .. }, Carried::Domain(domain)) = (context, item.carried) else { return };
        let Some(bookings) = plan.bookings() else { return };
        let flash = &device.flash;
        let read = self.timing.read_behind(|| flash.page_offset(item.ppn), || flash.page_offset(next.at));
        let ends = until + read.time;
        let booking = &mut bookings.dies[die.index()];
        (booking.stage, booking.page, booking.domain, booking.next) = (Reached::Programs, item.ppn, domain, next);
        (booking.reads, booking.ends, booking.line) = (until, ends, read.line);
        self.timers.set(read.line.0, ends, self.rank_of_array(die));
    }
}

impl Backend {
    /// The domain and the page that a die has read, if that is one page of a collection.
    #[inline(always)]
    fn page_that_was_read(&self, die: Die) -> Option<(Domain, Ppn)> {
        let command = &self.dies[die.index()].command;
        let is_page = (command.kind(), command.cause(), command.len()) == (OpKind::Read, Cause::Gc, 1);
        match command.item(0) {
            Item { ppn, carried: Carried::Domain(domain) } if is_page => Some((domain, ppn)),
            _ => None,
        }
    }

    /// A die sends the page that it has read until then, and chooses. Returns whether it has sent it.
    fn send_page(&mut self, now: Instant, die: Die, until: Instant) -> bool {
        let record = &mut self.dies[die.index()];
        let Bus { timing, timers, channels, .. } = &mut self.bus;
        let Channel { until: taken, senders, .. } = &mut channels[record.channel as usize];
        *taken = until;
        if until == now {
            (record.phase, record.sent) = (Phase::Idle, 1);
            return true;
        }
        (record.phase, record.sent) = (Phase::DataOut, 0);
        senders.push_back(die);
        timers.set(timing.data_out(1).line.0, until, record.channel);
        false
    }

    /// A die programs until then, and chooses. Returns whether it has done it.
    fn go_on_programming(&mut self, now: Instant, die: Die, until: Instant) -> bool {
        if until == now {
            self.dies[die.index()].phase = Phase::Idle;
            return true;
        }
        let rank = self.bus.rank_of_array(die);
        self.bus.timers.set(self.bus.timing.line_of_program().0, until, rank);
        false
    }

    /// The channel of a die.
    fn channel_of(&self, die: Die) -> u32 {
        self.dies[die.index()].channel
    }
}
