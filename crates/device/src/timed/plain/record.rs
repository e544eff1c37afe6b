//! The next work of a die, as a plain record.
//!
//! FTL, array and figures hear of its program and of its read when these begin, so that a booking which is given up leaves nothing behind.
//! Who looks at them in between, as rows of the series do, has told them before what began by then.

use base::{Cause, Die, Domain, Instant, OpKind, Ppn, Slot, Unit};
use ftl::{ANYWHERE, PageAddress, PlainPages};

use crate::device::{Device, count_moves};
use crate::timed::timing::Line;

/// How far a booking has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// There is none.
    None,
    /// The die sends the page that it has read; its program and the next read are to come.
    Sends,
    /// The page is programmed, and the read is to come.
    Programs,
    /// The die reads, and everybody has heard of it but the die's own command.
    Reads,
}

/// The work that a die will do: program the page that it has read, and read the next one behind that.
#[derive(Clone, Copy)]
pub(super) struct Booking {
    pub(super) stage: Reached,
    pub(super) pages: PlainPages,
    /// Pages that the die sends before one may be booked again.
    pub(super) skips: u8,
    pub(super) channel: u32,
    pub(super) domain: Domain,
    /// The page in hand.
    pub(super) page: Ppn,
    /// The page that is read behind it.
    pub(super) next: PageAddress,
    /// From when on the figures of the channel have not heard of the page's way: it leaves the die, whatever comes, and is sent back.
    pub(super) untold: Instant,
    /// When the channel begins to send the page back to the die, and when it is there.
    pub(super) moves: Instant,
    pub(super) sent: Instant,
    /// When the read begins and ends, and in which line of timers its end waits.
    pub(super) reads: Instant,
    pub(super) ends: Instant,
    pub(super) line: Line,
}

/// The bookings of all dies.
pub(in crate::timed) struct Bookings {
    /// By die. Empty where nothing is booked.
    pub(super) dies: Vec<Booking>,
    /// By channel: the die with a page on its way there, unless the figures of the channel have heard of all of it.
    pub(super) channels: Vec<Option<Die>>,
}

impl Bookings {
    /// Bytes for each die.
    pub(in crate::timed) const BYTES_OF_DIE: usize = size_of::<Booking>();

    /// None, and none to come.
    pub(in crate::timed) const OFF: Bookings = Bookings { dies: Vec::new(), channels: Vec::new() };

    /// None so far.
    pub(in crate::timed) fn new(device: &Device, pages: PlainPages) -> Bookings {
        let geometry = device.flash.geometry();
        let none = |die| Booking {
            stage: Reached::None,
            pages,
            skips: 0,
            channel: geometry.channel_of_die(die),
            domain: Domain::new(0),
            page: Ppn(0),
            next: PageAddress { at: Ppn(0), unit: Unit::new(0), slot: Slot::FIRST },
            untold: Instant::ZERO,
            moves: Instant::ZERO,
            sent: Instant::ZERO,
            reads: Instant::ZERO,
            ends: Instant::ZERO,
            line: Line::ARRIVAL,
        };
        let channels = vec![None; geometry.channels as usize];
        Bookings { dies: geometry.all_dies().map(none).collect(), channels }
    }

    /// True if work may be booked.
    #[inline(always)]
    pub(in crate::timed) fn are_on(&self) -> bool {
        !self.dies.is_empty()
    }

    /// Tells of what a die has begun, as far as that holds for when it began.
    #[inline(never)]
    pub(super) fn tell(&mut self, device: &mut Device, die: Die, has_begun: impl Fn(Instant) -> bool) {
        let Bookings { dies, channels } = self;
        let booking = &mut dies[die.index()];
        if booking.stage == Reached::Sends {
            let begins = has_begun(booking.moves);
            let of_channel = &mut channels[booking.channel as usize];
            if *of_channel == Some(die) {
                booking.tell_channel(device, if begins { booking.sent } else { booking.moves });
                *of_channel = if begins { None } else { Some(die) };
            }
            if begins {
                booking.begin_program(device, die);
            }
        }
        if booking.stage == Reached::Programs && has_begun(booking.reads) {
            booking.begin_read(device, die);
        }
    }

    /// Tells of all that began before a row closes.
    fn tell_before(&mut self, device: &mut Device, at: Instant) {
        for die in device.flash.geometry().all_dies() {
            self.tell(device, die, |begins| begins < at);
        }
    }

    /// Closes the rows of the series that are due.
    #[cold]
    pub(in crate::timed) fn close_rows(&mut self, device: &mut Device, now: Instant) {
        while device.recorder.row_due() <= now {
            let due = device.recorder.row_due();
            self.tell_before(device, due);
            device.recorder.tick(due);
        }
    }

    /// A row closes now.
    #[cold]
    pub(in crate::timed) fn close_row(&mut self, device: &mut Device, now: Instant) {
        self.tell_before(device, now);
    }
}

impl Booking {
    /// Tells of what the channel does for the page until then.
    #[inline(always)]
    pub(super) fn tell_channel(&mut self, device: &mut Device, until: Instant) {
        device.recorder.channel_busy(self.channel, Cause::Gc, self.untold, until);
        self.untold = until;
    }

    /// The program begins.
    #[inline(always)]
    pub(super) fn begin_program(&mut self, device: &mut Device, die: Die) {
        let Booking { pages, page, domain, next, sent, reads, .. } = *self;
        let Device { ftl, flash, recorder, .. } = device;
        let to = pages.move_page(ftl, domain, page, Some(next), ANYWHERE).expect("a page that nobody else can write");
        flash.program_spot(to);
        recorder.counters.command(Cause::Gc, OpKind::Program, 1);
        count_moves(&mut recorder.counters, Cause::Gc, 1);
        recorder.die_busy(die, OpKind::Program, sent, reads);
        (self.stage, self.page) = (Reached::Programs, to.at);
    }

    /// The read begins.
    #[inline(always)]
    pub(super) fn begin_read(&mut self, device: &mut Device, die: Die) {
        device.flash.read_spot(self.next);
        device.recorder.counters.command(Cause::Gc, OpKind::Read, 1);
        device.recorder.die_busy(die, OpKind::Read, self.reads, self.ends);
        self.stage = Reached::Reads;
    }
}
