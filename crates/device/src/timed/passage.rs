//! A command's way through channel and array: who occupies what until when.
//!
//! It knows addresses and times. For whom a page is, it hands back to those above, as it was given.

use std::collections::VecDeque;

use base::{Cause, Die, Domain, Duration, Geometry, Instant, OpKind, Ppn, Queue};

use engine::Timers;
use metrics::{LatencyPart, Timeline, Track};

use super::cache::{Caches, Stage};
use super::command::{Carried, Command, Item, Pass};
use super::context::Context;
use super::idle::IdleDies;
use super::plan::Plan;
use super::suspension::{self, When};
use super::timing::{Delay, Line, PartTimes, Timing};
use crate::flash::Flash;

/// What can happen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A channel finished a transfer.
    TransferDone(u32),
    /// A die's array finished its operation, or a die was idle for as long as was asked for.
    ArrayDone(Die),
    /// The next request of an open loop arrives.
    Arrival,
    /// The oldest page under correction is correct.
    Corrected,
    /// Wordlines are to be filled up.
    WordlineDue,
    /// A die programs, and the data of its next program may set out.
    MayFollow(Die),
    /// A request has passed the host's link.
    LinkIn,
    /// Data have passed it the other way.
    LinkOut,
}

/// What the end of a transfer means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transferred {
    /// Nothing: only dies waited for it.
    Nothing,
    /// The data of a program for the host are in the registers of this die.
    DataIn(Die),
    /// The same of the program that follows on its command.
    DataOfFollower(Die),
    /// A page has left a die: the last of its command, or not; and what it was, if it is correct already.
    DataOut { die: Die, is_last: bool, corrected: Option<Carried> },
}

/// What the end of a timer of an array means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayDone {
    /// The die was idle for the time that was asked for.
    WasIdle,
    /// The data of a read are next.
    DataNext,
    /// The command is done.
    Command,
    /// It has come so far that it may be suspended.
    MaySuspend,
    /// The array takes reads: its operation is suspended.
    Suspended,
}

/// Where a die's command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No command.
    Idle,
    /// Command and address cycles, and the data of a program: needs the channel.
    Command,
    /// The array works.
    Array,
    /// The data of a read are in the cache register, and the next read may be sent for before they go out.
    Register,
    /// The data of a read: needs the channel, page by page.
    DataOut,
    /// The array stops its operation, to take reads.
    Suspending,
    /// Its operation is suspended, and the array takes reads.
    Suspended,
}

/// A die and the command it carries out.
///
/// Laid out so that a command of a page or two touches one cache line: with all dies at work, theirs and
/// those of the collections are most of what the processor's first cache has to hold.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct DieRecord {
    phase: Phase,
    /// Pages of a read that have left the die.
    sent: u8,
    /// Whether a timer runs that says how long it has been idle.
    times_idle: bool,
    /// Its channel.
    channel: u32,
    /// When the read begins, or began, that was booked behind a program, and the line of its timer.
    booked: Instant,
    booked_line: Line,
    /// When the transfer of the program begins, or began, that was booked behind the read of a page; and where that page was and
    /// where it is programmed.
    moves: Instant,
    moved: [Ppn; 2],
    /// So many pages are sent before a program is booked again.
    skips: u8,
    command: Command,
}

/// What a command asks of channel and array.
#[derive(Clone, Copy)]
pub(super) struct Load {
    kind: OpKind,
    cause: Cause,
    count: usize,
    /// The page that the die reads next for its collection, if nothing comes in between.
    next: Option<Ppn>,
}

impl Load {
    /// A page of a collection.
    pub(super) fn page(kind: OpKind) -> Load {
        Load { kind, cause: Cause::Gc, count: 1, next: None }
    }

    /// The program of a page of a collection, which reads that page next.
    pub(super) fn program(next: Option<Ppn>) -> Load {
        Load { next, ..Load::page(OpKind::Program) }
    }
}

impl Command {
    #[inline(always)]
    pub(super) fn load(&self) -> Load {
        Load { kind: self.kind(), cause: self.cause(), count: self.len(), next: None }
    }
}

/// Pages that a die moves without booking after a booking was taken back for another die.
const SKIPPED_BOOKINGS: u8 = 31;

/// A channel: until when it carries something, and who waits for it in order of asking.
#[derive(Clone, Default)]
struct Channel {
    /// When its last transfer ends.
    until: Instant,
    /// Whether the end of the transfer is an event.
    is_awaited: bool,
    /// The die that goes on when the transfer ends, unless that is decided already.
    holder: Option<Die>,
    /// The die whose program was booked last, and when its transfer begins.
    booked: Option<Die>,
    booked_from: Instant,
    /// Dies that wait to be sent a command without data. They go first: a command is short, and until it has
    /// it the die's array stands still.
    commands: VecDeque<Die>,
    waiting: VecDeque<Die>,
}

impl Channel {
    /// Whether dies wait for it.
    fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() || !self.commands.is_empty()
    }
}

/// Dies with their commands, and what they share.
pub(super) struct Passage {
    dies: Vec<DieRecord>,
    idle: IdleDies,
    ways: Ways,
    /// Pages under correction, in the order in which they will be correct.
    correcting: VecDeque<(Instant, Carried)>,
    /// When the controller's error correction has corrected all that it was given.
    ecc_free: Instant,
}

/// Channels, the controller's DRAM, and the times of all that is under way. It is given the record of the die that it works
/// for.
struct Ways {
    timing: Timing,
    timers: Timers,
    channels: Vec<Channel>,
    /// Ranks of timers before those of dies.
    dies_from: u32,
    /// Whether what follows on the transfer of a command is decided when it begins. A write buffer may want to know when
    /// it ends; and a dynamic allocation offers writes to idle dies at every event, in turn, which makes a difference where a
    /// write that is not ready is refused.
    decides_early: bool,
    /// When the controller's DRAM has moved all that it was given.
    dram_free: Instant,
    /// The commands that follow on those of the dies.
    caches: Caches,
    timeline: Option<Timeline>,
}

impl Passage {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<DieRecord>() + Timers::BYTES_OF_RANK;

    /// Bytes for each channel.
    pub(super) const BYTES_OF_CHANNEL: usize = size_of::<Channel>();

    /// Nothing is under way.
    pub(super) fn new(
        context: &Context<'_, impl Plan>,
        timing: Timing,
        caches: Caches,
        decides_early: bool,
        timeline: Option<Timeline>,
    ) -> Passage {
        let ftl = &context.device.ftl;
        let (channels, dies) = (ftl.geometry().channels, ftl.geometry().dies());
        let idle = |die| DieRecord {
            phase: Phase::Idle,
            sent: 0,
            times_idle: false,
            channel: ftl.geometry().channel_of_die(die),
            booked: Instant::ZERO,
            booked_line: Line::CORRECTION,
            moves: Instant::ZERO,
            moved: [Ppn(0); 2],
            skips: 0,
            command: Command::NONE,
        };
        let ways = Ways {
            timers: Timers::new(timing.lines(), channels + dies + 5 + if caches.are_on() { dies } else { 0 }),
            timing,
            caches,
            channels: vec![Channel::default(); channels as usize],
            dies_from: channels,
            decides_early,
            dram_free: Instant::ZERO,
            timeline,
        };
        Passage {
            dies: ftl.geometry().all_dies().map(idle).collect(),
            idle: IdleDies::new(ftl.allocation(), dies),
            ways,
            correcting: VecDeque::new(),
            ecc_free: Instant::ZERO,
        }
    }

    /// What was recorded.
    pub(super) fn into_timeline(self) -> Option<Timeline> {
        self.ways.timeline
    }

    /// Whether a die has no command.
    #[inline]
    pub(super) fn is_idle(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Idle
    }

    /// Whether a shared queue has idle dies that may take a page.
    #[inline]
    pub(super) fn has_idle_dies(&self, queue: Queue) -> bool {
        self.idle.of(queue).iter().any(|&bits| bits != 0)
    }

    /// An idle die may take a page again: one of its domains has ended its collection.
    pub(super) fn offer(&mut self, die: Die) {
        self.idle.insert(die);
    }

    /// The idle dies of a shared queue.
    #[inline]
    pub(super) fn idle_dies(&self, queue: Queue) -> &[u64] {
        self.idle.of(queue)
    }

    /// The command of a die, or its last one.
    #[inline]
    pub(super) fn command(&self, die: Die) -> &Command {
        &self.dies[die.index()].command
    }

    /// Where the next command of an idle die is built.
    #[inline]
    pub(super) fn next_command(&mut self, die: Die) -> &mut Command {
        &mut self.dies[die.index()].command
    }
}

// Timers.
impl Passage {
    /// The instant at which something happens next.
    #[inline]
    pub(super) fn next_instant(&mut self) -> Option<Instant> {
        self.ways.timers.advance()
    }

    /// Something that happens at this instant. At one instant transfers end first, in the order of channels, then arrays.
    #[inline]
    pub(super) fn take_event(&mut self) -> Option<Event> {
        let rank = self.ways.timers.take()?;
        let (channels, dies) = (self.ways.dies_from, self.dies.len() as u32);
        Some(match rank {
            rank if rank < channels => Event::TransferDone(rank),
            rank if rank < channels + dies => Event::ArrayDone(Die::new(rank - channels)),
            rank if rank == channels + dies => Event::Arrival,
            rank if rank == channels + dies + 1 => Event::Corrected,
            rank if rank == channels + dies + 2 => Event::WordlineDue,
            rank if rank == channels + dies + 3 => Event::LinkIn,
            rank if rank == channels + dies + 4 => Event::LinkOut,
            rank => Event::MayFollow(Die::new(rank - (channels + dies + 5))),
        })
    }

    /// The rank of timers behind those of dies.
    fn ranks_of_parts(&self) -> u32 {
        self.ways.dies_from + self.dies.len() as u32
    }

    /// The next request arrives then. It may be said again.
    pub(super) fn set_arrival(&mut self, at: Instant) {
        if self.ways.timers.is_empty(Line::ARRIVAL.0) {
            self.ways.timers.set(Line::ARRIVAL.0, at, self.ranks_of_parts());
        }
    }

    fn set_correction(&mut self, at: Instant) {
        self.ways.timers.set(Line::CORRECTION.0, at, self.ranks_of_parts() + 1);
    }

    /// Wordlines are to be filled up then.
    pub(super) fn set_wordline(&mut self, at: Instant) {
        self.ways.timers.set(self.ways.timing.wordline.0, at, self.ranks_of_parts() + 2);
    }

    /// Something will have passed the host's link then, one way or the other. These times are irregular, and few.
    pub(super) fn set_link(&mut self, due: [Option<Instant>; 2]) {
        for (at, rank) in due.into_iter().zip(self.ranks_of_parts() + 3..) {
            if let Some(at) = at {
                self.ways.timers.set(Line::CORRECTION.0, at, rank);
            }
        }
    }

    /// Whether it is being timed how long a die is idle.
    #[inline]
    pub(super) fn times_idle(&self, die: Die) -> bool {
        self.dies[die.index()].times_idle
    }

    /// Says when a die has been idle for that long.
    pub(super) fn time_idle(&mut self, now: Instant, die: Die, idle: Duration) {
        self.dies[die.index()].times_idle = true;
        self.ways.timers.set(self.ways.timing.idle.0, now + idle, self.ways.rank_of_array(die));
    }
}

// Commands.
impl Passage {
    /// Counts the command that was built for a die, which is that `load`, and starts it.
    #[inline(always)]
    pub(super) fn start(&mut self, context: &mut Context<'_, impl Plan>, die: Die, load: Load) {
        if context.plan.is_dynamic() {
            self.idle.remove(die);
        }
        let record = &mut self.dies[die.index()];
        let Load { kind, cause, .. } = load;
        count(context, &record.command, load);
        if !context.plan.is_plain() {
            context.suspensions.check(&context.device.flash, die, &record.command);
            self.ways.end_idle_time(die, record);
            count_copyback(context, &record.command);
        }
        record.sent = 0;
        context.note(|waits, now| waits.die_does(now, die, LatencyPart::of_command(kind, cause)));
        let has_cycles = !context.plan.is_plain() && self.ways.timing.has_command_cycles();
        if has_data_in(context.plan, record, load) || has_cycles {
            record.phase = Phase::Command;
            self.ways.ask_channel(context, die, record, load);
        } else {
            self.ways.start_array(context, die, record, load, context.now);
        }
    }

    /// A channel finished a transfer.
    #[inline(always)]
    pub(super) fn transfer_done(&mut self, context: &mut Context<'_, impl Plan>, number: u32) -> Transferred {
        let channel = &mut self.ways.channels[number as usize];
        channel.is_awaited = false;
        let Some(die) = channel.holder.take() else {
            self.release(context, number);
            return Transferred::Nothing;
        };
        if !context.plan.is_plain() && self.ways.caches.stage(die) == Stage::Transfers {
            return self.follower_transferred(context, number, die);
        }
        let DieRecord { phase, ref command, .. } = self.dies[die.index()];
        if phase == Phase::Command {
            let is_mixed = !context.plan.is_plain() && command.is_mixed();
            let is_data = command.has_data_in() && (command.is_of_host() || is_mixed);
            self.release(context, number);
            let record = &mut self.dies[die.index()];
            self.ways.start_array(context, die, record, record.command.load(), context.now);
            return if is_data { Transferred::DataIn(die) } else { Transferred::Nothing };
        }
        self.page_left(context, number, die)
    }

    /// A page of a read has left its die.
    #[inline(always)]
    fn page_left(&mut self, context: &mut Context<'_, impl Plan>, number: u32, die: Die) -> Transferred {
        let record = &mut self.dies[die.index()];
        let carried = record.command.item(usize::from(record.sent)).carried;
        record.sent += 1;
        let is_last = usize::from(record.sent) == record.command.len();
        if is_last {
            if !context.plan.is_plain() && context.suspensions.is_suspended(die) {
                record.phase = Phase::Suspended;
            } else if !context.plan.is_plain() && self.ways.caches.stage(die) != Stage::None {
                self.ways.promote(context, die, record);
            } else {
                record.phase = Phase::Idle;
                if context.plan.is_dynamic() && context.queues.takes_writes(die) {
                    self.idle.insert(die);
                }
            }
            self.release(context, number);
        } else {
            self.ways.grant(context, number, die, record, record.command.load());
        }
        if let Carried::Transaction(read) = carried {
            context.note(|waits, now| waits.correction_begins(now, read));
        }
        let corrected = if context.plan.is_plain() { Some(carried) } else { self.correct(context, carried) };
        Transferred::DataOut { die, is_last, corrected }
    }

    /// Gives a channel whose transfer ended to the die that has waited longest.
    #[inline(always)]
    fn release(&mut self, context: &mut Context<'_, impl Plan>, number: u32) {
        let channel = &mut self.ways.channels[number as usize];
        let command = if context.plan.is_plain() { None } else { channel.commands.pop_front() };
        if let Some(die) = command.or_else(|| channel.waiting.pop_front()) {
            let record = &mut self.dies[die.index()];
            // Data of a read wait for the channel as its next command does, which has none.
            let is_follower = !context.plan.is_plain()
                && self.ways.caches.stage(die) == Stage::Waits
                && (command.is_some() || record.phase == Phase::Array);
            match is_follower {
                true => self.ways.grant_to_follower(context, number, die),
                false => self.ways.grant(context, number, die, record, record.command.load()),
            }
        }
    }

    /// The timer of a die's array ended.
    #[inline(always)]
    pub(super) fn array_done(&mut self, context: &mut Context<'_, impl Plan>, die: Die) -> ArrayDone {
        let record = &mut self.dies[die.index()];
        if !context.plan.is_plain() && record.phase == Phase::Idle {
            record.times_idle = false;
            return ArrayDone::WasIdle;
        }
        if !context.plan.is_plain() && self.ways.caches.stage(die) == Stage::Array && record.phase != Phase::Array {
            self.ways.caches.set_stage(die, Stage::Ready);
            return ArrayDone::DataNext;
        }
        if !context.plan.is_plain()
            && context.suspensions.are_on()
            && let Some(done) = self.ways.suspendable_done(context, die, record)
        {
            return done;
        }
        let load = record.command.load();
        if load.kind == OpKind::Read {
            if !context.plan.is_plain()
                && self.ways.caches.concern(OpKind::Read)
                && !context.suspensions.is_suspended(die)
            {
                record.phase = Phase::Register;
                context.queues.wake(die);
                return ArrayDone::DataNext;
            }
            record.phase = Phase::DataOut;
            self.ways.ask_channel(context, die, record, Load { kind: OpKind::Read, ..load });
            return ArrayDone::DataNext;
        }
        if !context.plan.is_plain() && context.suspensions.is_suspended(die) {
            record.phase = Phase::Suspended;
            return ArrayDone::Command;
        }
        if !context.plan.is_plain() && self.ways.caches.stage(die) != Stage::None {
            // The command that followed on it is next, when those above have heard of this one.
            return ArrayDone::Command;
        }
        record.phase = Phase::Idle;
        if context.plan.is_dynamic() && context.queues.takes_writes(die) {
            self.idle.insert(die);
        }
        ArrayDone::Command
    }
}

// Reads that are booked behind programs of collections.
impl Passage {
    /// Whether reads are booked: a die that moves a page of a collection knows what it does next, unless something comes in
    /// between.
    #[inline(always)]
    pub(super) fn books_reads(&self) -> bool {
        self.ways.timing.books_reads()
    }

    /// Whether a die has a booked read to begin later.
    #[inline(always)]
    pub(super) fn reads_later(&self, now: Instant, die: Die) -> bool {
        self.dies[die.index()].booked > now
    }

    /// Whether a die has a booked read to begin later, or now when it chooses.
    pub(super) fn may_read_no_more(&self, now: Instant, die: Die) -> bool {
        let DieRecord { phase, booked, .. } = self.dies[die.index()];
        phase == Phase::Array && booked >= now && booked > Instant::ZERO
    }

    /// The domain and the page that a die has read for a collection, if it can send it now.
    #[inline(always)]
    pub(super) fn sends_page(&mut self, now: Instant, die: Die) -> Option<(Domain, Ppn)> {
        let DieRecord { channel, ref command, ref mut skips, .. } = self.dies[die.index()];
        if *skips > 0 {
            *skips -= 1;
            return None;
        }
        let channel = &self.ways.channels[channel as usize];
        let is_page = (command.kind(), command.cause(), command.len()) == (OpKind::Read, Cause::Gc, 1);
        match command.item(0) {
            Item { ppn, carried: Carried::Domain(domain) }
                if is_page && now >= channel.until && !channel.is_awaited =>
            {
                Some((domain, ppn))
            }
            _ => None,
        }
    }

    /// A die sends the page that it has read, and programs it, and reads the next one behind that.
    #[inline(always)]
    pub(super) fn book_program(&mut self, context: &mut Context<'_, impl Plan>, die: Die, moved: [Ppn; 2], next: Ppn) {
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
        record.phase = Phase::Array;
        (record.moves, record.moved, record.booked, record.booked_line) = (from, moved, to, read.line);
        timers.set(read.line.0, to + read.time, rank);
        context.device.recorder.book_program(die, number, now, from, sent, to);
        context.device.recorder.book_read(die, to, to + read.time);
    }

    /// Another die came before the program that a die has booked. Collections take as long for each page, so their dies meet
    /// again at the next one.
    pub(super) fn skip_bookings(&mut self, die: Die) {
        self.dies[die.index()].skips = SKIPPED_BOOKINGS;
    }

    /// The die that has booked a program on the channel of another, whose transfer begins later, or now when it chooses.
    #[inline(always)]
    pub(super) fn who_booked(&self, now: Instant, die: Die) -> Option<Die> {
        let channel = &self.ways.channels[self.dies[die.index()].channel as usize];
        if channel.booked_from >= now { channel.booked } else { None }
    }

    /// Whether a die has booked a program whose transfer begins later.
    pub(super) fn moves_later(&self, now: Instant, die: Die) -> bool {
        self.dies[die.index()].moves > now
    }

    /// Whether a die has booked a program whose transfer begins later, or now when it chooses.
    pub(super) fn may_program_no_more(&self, now: Instant, die: Die) -> bool {
        self.dies[die.index()].moves >= now && self.who_booked(now, die) == Some(die)
    }

    /// Something comes between the read of a page and its program, which were booked, after the read that was booked behind was
    /// taken back: the die sends the page, and chooses then. Returns where it was and was to be, and whether it is sent now.
    pub(super) fn take_back_program(&mut self, context: &mut Context<'_, impl Plan>, die: Die) -> ([Ppn; 2], bool) {
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
            (channel.holder, channel.is_awaited) = (Some(die), true);
            timers.set(timing.data_out().line.0, channel.until, record.channel);
        }
        context.device.recorder.take_back_program(die, record.channel, sent);
        context.device.flash.take_back_program(record.moved[1]);
        (record.moved, is_sent)
    }

    /// The channel of a die.
    pub(super) fn channel_of(&self, die: Die) -> u32 {
        self.dies[die.index()].channel
    }

    /// Something comes between the program of a die and the read that was booked behind it. Returns the page that it was to
    /// read, and whether the program is done now.
    pub(super) fn take_back_read(&mut self, context: &mut Context<'_, impl Plan>, die: Die) -> (Item, bool) {
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
        context.device.recorder.take_back_read(die);
        context.device.flash.take_back_read(page.ppn);
        (page, is_done)
    }
}

/// Counts a command, which is that `load`, and has the array confirm that its pages may share one.
#[inline(always)]
fn count(context: &mut Context<'_, impl Plan>, command: &Command, Load { kind, cause, count, .. }: Load) {
    if !context.plan.is_plain() && context.wordlines.are_on() && kind == OpKind::Program {
        count_wordlines(context, command);
    } else if !context.plan.is_plain() && command.is_mixed() {
        (0..count).for_each(|at| context.device.recorder.counters.part(command.cause_of(at), kind));
    } else {
        context.device.recorder.counters.command(cause, kind, count as u64);
    }
    if count > 1 && (context.plan.is_plain() || !context.wordlines.are_on() || kind != OpKind::Program) {
        context.device.flash.check_shared(kind, &command.ppns()[..count]);
    }
    if !context.plan.is_plain() && context.wordlines.are_on() && kind != OpKind::Erase {
        check_wordlines(context, command);
    }
}

/// Has the array confirm that the pages of a command can be read, or programmed with all of their wordlines.
#[cold]
fn check_wordlines(context: &Context<'_, impl Plan>, command: &Command) {
    let (flash, ppns) = (&context.device.flash, command.ppns());
    let ppns = &ppns[..command.len()];
    if context.wordlines.are_twice() && command.kind() == OpKind::Read {
        flash.check_final(ppns);
    } else {
        flash.check_whole(ppns);
    }
}

/// Counts a program of whole wordlines, each on a plane of its own, and has the array confirm that their last pages may share a
/// command. Pages that are programmed in two passes count with the second one.
#[cold]
fn count_wordlines(context: &mut Context<'_, impl Plan>, command: &Command) {
    let device = &mut *context.device;
    let last: Vec<Ppn> =
        command.items().iter().map(|item| item.ppn).filter(|&ppn| device.flash.is_last_of_wordline(ppn)).collect();
    assert_eq!(last.len(), command.wordlines(), "wordlines are whole");
    device.flash.check_shared(OpKind::Program, &last);
    match command.pass() {
        Pass::Only => {}
        Pass::First => {
            last.iter().for_each(|&ppn| device.flash.first_pass(ppn));
            device.recorder.counters.first_passes += last.len() as u64;
            return;
        }
        Pass::Second => last.iter().for_each(|&ppn| device.flash.second_pass(ppn)),
    }
    for at in 0..command.len() {
        let counters = &mut device.recorder.counters;
        match last.len() {
            1 => counters.count(command.cause_at(at), OpKind::Program, 1),
            _ => counters.part(command.cause_at(at), OpKind::Program),
        }
    }
}

/// Whether data are sent with a command.
#[inline(always)]
fn has_data_in(plan: impl Plan, record: &DieRecord, load: Load) -> bool {
    if plan.is_plain() { load.kind == OpKind::Program } else { record.command.has_data_in() }
}

/// A command that copies pages is counted as what it is, and its sources have to fit too.
#[inline]
fn count_copyback(context: &mut Context<'_, impl Plan>, command: &Command) {
    if !command.sources().is_empty() {
        context.device.flash.check_shared(OpKind::Read, command.sources());
        context.device.recorder.counters.copyback_command(command.cause(), command.len() as u64);
    }
}

// Channels.
impl Ways {
    #[inline]
    fn rank_of_array(&self, die: Die) -> u32 {
        self.dies_from + die.number()
    }

    /// A die takes a command: it is idle no more.
    #[inline]
    fn end_idle_time(&mut self, die: Die, record: &mut DieRecord) {
        if record.times_idle {
            record.times_idle = false;
            self.timers.stop(self.timing.idle.0, self.rank_of_array(die));
        }
    }

    #[inline(always)]
    fn ask_channel(&mut self, context: &mut Context<'_, impl Plan>, die: Die, record: &mut DieRecord, load: Load) {
        let number = record.channel;
        let channel = &mut self.channels[number as usize];
        if context.now < channel.until || channel.is_awaited {
            let is_bare = !context.plan.is_plain() && record.phase == Phase::Command && !record.command.has_data_in();
            let line = if is_bare { &mut channel.commands } else { &mut channel.waiting };
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
    /// What follows on the transfer of a command is known now: its array starts. So its end is an event only for those
    /// who wait for the channel.
    #[inline(always)]
    fn grant(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        number: u32,
        die: Die,
        record: &mut DieRecord,
        load: Load,
    ) {
        let (phase, Load { kind, cause, count, .. }) = (record.phase, load);
        let is_plain = context.plan.is_plain();
        let (delay, pages) = match (phase, kind) {
            (Phase::Command, OpKind::Program) if has_data_in(context.plan, record, load) => {
                (self.timing.data_in(count), count as u64)
            }
            (Phase::Command, OpKind::Program) => (self.timing.copy_command(count), 0),
            (Phase::Command, _) if !is_plain => (self.timing.command(count), 0),
            _ => (self.timing.data_out(), 1),
        };
        let part = if is_plain || phase != Phase::DataOut { None } else { self.part(context, record) };
        let delay = part.map_or(delay, |part| part.out);
        context.note(|waits, now| waits.die_does(now, die, LatencyPart::of_command(kind, cause)));
        let now = context.now;
        let mut until = now + delay.time;
        if !is_plain {
            until = until.max(self.through_dram(now, part.map_or(self.timing.dram * pages, |part| part.dram)));
        }
        let is_decided = phase == Phase::Command && self.decides_early;
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
        if !is_plain && self.timeline.is_some() {
            self.record_transfer(number, (&record.command, record.sent), pages, now, until);
        }
        if is_decided {
            self.start_array(context, die, record, load, until);
        }
    }

    #[cold]
    fn record_transfer(
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

    /// What is sent of the page of a read that leaves its die next; `None`: all of it.
    fn part(&self, context: &Context<'_, impl Plan>, record: &DieRecord) -> Option<PartTimes> {
        let carried = record.command.item(usize::from(record.sent)).carried;
        self.timing.part(codewords(context, carried)?)
    }

    /// When the controller's DRAM, which all channels share, has moved what takes it so long besides.
    fn through_dram(&mut self, now: Instant, takes: Duration) -> Instant {
        if takes == Duration::ZERO {
            return now;
        }
        self.dram_free = self.dram_free.max(now) + takes;
        self.dram_free
    }
}

// Arrays.
impl Ways {
    /// How long an array takes for a copyback: until its slowest page is copied.
    #[cold]
    #[inline(never)]
    fn delay_of_copyback(&self, flash: &Flash, command: &Command) -> Delay {
        let pages = command.sources().iter().zip(command.items());
        let delays =
            pages.map(|(&from, to)| self.timing.array_of_copyback(flash.page_offset(from), flash.page_offset(to.ppn)));
        delays.max_by_key(|delay| delay.time).expect("pages of a command")
    }

    /// How long an array takes for a command, which is that `load` and no copyback.
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
    fn start_array(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        record: &mut DieRecord,
        load: Load,
        from: Instant,
    ) {
        let kind = load.kind;
        record.phase = Phase::Array;
        let (command, flash) = (&record.command, &context.device.flash);
        let delay: Delay = if !context.plan.is_plain() && !command.sources().is_empty() {
            self.delay_of_copyback(flash, command)
        } else if !context.plan.is_plain() && context.wordlines.are_twice() && kind == OpKind::Program {
            self.timing.pass(command.pass() == Pass::First)
        } else {
            self.delay_of_array(flash, command, load)
        };
        let until = from + delay.time;
        if context.plan.is_plain()
            && let Some(next) = load.next
        {
            let read = self.timing.booked_read(|| flash.page_offset(command.lead()), || flash.page_offset(next));
            (record.booked, record.booked_line) = (until, read.line);
            self.timers.set(read.line.0, until + read.time, self.rank_of_array(die));
            context.device.recorder.die_busy(die, kind, from, until);
            context.device.recorder.book_read(die, until, until + read.time);
            return;
        }
        let (line, until) = match context.plan.is_plain() {
            true => (delay.line, until),
            false => self.add_busy(die, delay.line, until),
        };
        self.timers.set(line.0, until, self.rank_of_array(die));
        if !context.draining {
            context.device.recorder.die_busy(die, kind, from, until);
        }
        if context.plan.is_plain() {
            return;
        }
        if kind == OpKind::Program && self.caches.may_follow(&record.command) {
            self.expect_follower(die, from, until);
        }
        if context.suspensions.concern(die, &record.command) {
            context.suspensions.begin(die, &record.command, (from, until), line);
            if context.queues.reads(die).first().is_some() || context.suspensions.let_writes_by(die) {
                context.queues.wake(die);
            }
        } else if self.timeline.is_some() {
            let name = name_of(&record.command);
            self.record_array(context.device.ftl.geometry(), die, &record.command, name, from, until);
        }
    }

    #[cold]
    fn record_array(
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

/// What an array does, in a timeline.
fn name_of(command: &Command) -> &'static str {
    match command.kind() {
        OpKind::Read => "read",
        OpKind::Program if !command.sources().is_empty() => "copyback",
        OpKind::Program => "program",
        OpKind::Erase => "erase",
    }
}

// Suspended programs and erases.
impl Passage {
    /// Whether a die's operation is suspended, and the die does nothing.
    pub(super) fn takes_work_beside(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Suspended
    }

    /// Whether a die's array works on an operation that may be suspended. With another program in the cache register it is not: a
    /// read needs that for its own data.
    pub(super) fn may_be_suspended(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        let is_alone = self.ways.caches.stage(die) == Stage::None;
        self.dies[die.index()].phase == Phase::Array && context.suspensions.runs(die) && is_alone
    }

    /// Reads wait for a die whose array works on an operation that may be suspended: it is, now or as soon as the chip takes
    /// that, unless it ends before.
    pub(super) fn suspend(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        match context.suspensions.when(die, context.now) {
            When::Now => self.ways.suspend(context, die, &mut self.dies[die.index()]),
            When::At(at) => self.ways.wait_to_suspend(context, die, at),
            When::Never => {}
        }
    }

    /// A die goes on with its suspended operation.
    pub(super) fn resume(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
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
    fn suspendable_done(
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

// Commands that follow in cache mode.
impl Passage {
    /// Whether there is any cache mode.
    #[inline]
    pub(super) fn caches_are_on(&self) -> bool {
        self.ways.caches.are_on()
    }

    /// The kind of command that may follow on that of a die now, if any: the data of a program may set out, or those of a read are
    /// on their way. Where something is suspended the page register has what is left of it.
    ///
    /// What the FTL hears of only at its end goes on alone: until then the domain has the same operation before it.
    pub(super) fn may_follow(&self, context: &Context<'_, impl Plan>, die: Die) -> Option<OpKind> {
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
    pub(super) fn next_follower(&mut self, die: Die) -> &mut Command {
        self.ways.caches.command_mut(die)
    }

    /// The command that follows on that of a die.
    pub(super) fn follower(&self, die: Die) -> &Command {
        self.ways.caches.command(die)
    }

    /// Counts the command that was built to follow on that of a die, and starts it.
    pub(super) fn follow(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
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
    pub(super) fn send_data(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        let record = &mut self.dies[die.index()];
        if record.phase == Phase::Register {
            record.phase = Phase::DataOut;
            self.ways.ask_channel(context, die, record, record.command.load());
        }
    }

    /// The timer ended after which a program may follow on that of a die.
    pub(super) fn may_follow_now(&mut self, context: &mut Context<'_, impl Plan>, die: Die) {
        match self.ways.caches.timer_ended(die, context.now) {
            Some(at) => self.ways.timers.set(self.ways.timing.lead.line.0, at, self.ways.rank_of_follower(die)),
            None => context.queues.wake(die),
        }
    }

    /// A program of a die is done: what followed on it takes its place. Returns whether there is something.
    pub(super) fn go_on(&mut self, context: &mut Context<'_, impl Plan>, die: Die) -> bool {
        let has_follower = self.ways.caches.stage(die) != Stage::None;
        if has_follower {
            self.ways.promote(context, die, &mut self.dies[die.index()]);
        }
        has_follower
    }

    /// What followed on a die's command has its data, or its cycles have passed.
    fn follower_transferred(&mut self, context: &mut Context<'_, impl Plan>, number: u32, die: Die) -> Transferred {
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
        self.dies_from + self.caches.dies() + 5 + die.number()
    }

    /// A die programs from `from` to `until`: the next program is chosen when its data would come in time.
    fn expect_follower(&mut self, die: Die, from: Instant, until: Instant) {
        if let Some(at) = self.caches.program_runs(die, (from, until)) {
            self.timers.set(self.timing.lead.line.0, at, self.rank_of_follower(die));
        }
    }

    /// The array takes a while longer for a program that followed on another one.
    fn add_busy(&mut self, die: Die, line: Line, until: Instant) -> (Line, Instant) {
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
    fn grant_to_follower(&mut self, context: &mut Context<'_, impl Plan>, number: u32, die: Die) {
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
    fn promote(&mut self, context: &mut Context<'_, impl Plan>, die: Die, record: &mut DieRecord) {
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

/// The codewords that a read has sent, where that is not its whole page.
#[inline]
fn codewords(context: &Context<'_, impl Plan>, carried: Carried) -> Option<usize> {
    let wanted = context.wanted.as_ref()?;
    match carried {
        Carried::Transaction(read) => wanted.codewords(read),
        Carried::Domain(_) => None,
    }
}

// Error correction.
impl Passage {
    /// Data have left a die. Returns them if they are correct at once.
    fn correct(&mut self, context: &Context<'_, impl Plan>, carried: Carried) -> Option<Carried> {
        let (now, timing) = (context.now, &self.ways.timing);
        if timing.ecc == Duration::ZERO && timing.ecc_page == Duration::ZERO {
            return Some(carried);
        }
        // One page after the other, for the host and for collections.
        let part = codewords(context, carried).and_then(|codewords| timing.part(codewords));
        self.ecc_free = self.ecc_free.max(now) + part.map_or(timing.ecc_page, |part| part.ecc);
        let ready = self.ecc_free + timing.ecc;
        if self.correcting.is_empty() {
            self.set_correction(ready);
        }
        self.correcting.push_back((ready, carried));
        None
    }

    /// The oldest page under correction is correct.
    pub(super) fn corrected(&mut self) -> Carried {
        let (_, carried) = self.correcting.pop_front().expect("a page under correction");
        if let Some(&(ready, _)) = self.correcting.front() {
            self.set_correction(ready);
        }
        carried
    }
}
