//! A command's way through channel and array: who occupies what until when.
//!
//! It knows addresses and times. For whom a page is, it hands back to those above, as it was given.

use std::collections::VecDeque;

use base::{Cause, Die, Duration, Geometry, Instant, OpKind, Ppn, Queue};

use engine::Timers;
use metrics::{LatencyPart, Timeline, Track};

use super::command::{Carried, Command, Item};
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
    command: Command,
    /// Its channel.
    channel: u32,
}

/// What a command asks of channel and array.
#[derive(Clone, Copy)]
pub(super) struct Load {
    kind: OpKind,
    cause: Cause,
    count: usize,
}

impl Load {
    /// A page of a collection.
    pub(super) fn page(kind: OpKind) -> Load {
        Load { kind, cause: Cause::Gc, count: 1 }
    }
}

impl Command {
    #[inline(always)]
    pub(super) fn load(&self) -> Load {
        Load { kind: self.kind(), cause: self.cause(), count: self.len() }
    }
}

/// A channel: until when it carries something, and who waits for it in order of asking.
#[derive(Clone, Default)]
struct Channel {
    /// When its last transfer ends.
    until: Instant,
    /// Whether the end of the transfer is an event.
    is_awaited: bool,
    /// The die that goes on when the transfer ends, unless that is decided already.
    holder: Option<Die>,
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
        decides_early: bool,
        timeline: Option<Timeline>,
    ) -> Passage {
        let ftl = &context.device.ftl;
        let (channels, dies) = (ftl.geometry().channels, ftl.geometry().dies());
        let idle = |die| DieRecord {
            phase: Phase::Idle,
            sent: 0,
            times_idle: false,
            command: Command::NONE,
            channel: ftl.geometry().channel_of_die(die),
        };
        let ways = Ways {
            timers: Timers::new(timing.lines(), channels + dies + 5),
            timing,
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
            _ => Event::LinkOut,
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
        let Load { kind, cause, count } = load;
        if !context.plan.is_plain() && context.wordlines.are_on() && kind == OpKind::Program {
            count_wordlines(context, &record.command);
        } else if !context.plan.is_plain() && record.command.is_mixed() {
            (0..count).for_each(|at| context.device.recorder.counters.part(record.command.cause_of(at), kind));
        } else {
            context.device.recorder.counters.command(cause, kind, count as u64);
        }
        if count > 1 && (context.plan.is_plain() || !context.wordlines.are_on() || kind != OpKind::Program) {
            context.device.flash.check_shared(kind, &record.command.ppns()[..count]);
        }
        if !context.plan.is_plain() {
            context.suspensions.check(&context.device.flash, die, &record.command);
            if context.wordlines.are_on() && kind != OpKind::Erase {
                context.device.flash.check_whole(&record.command.ppns()[..count]);
            }
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
            self.ways.grant(context, number, die, record, record.command.load());
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
        if !context.plan.is_plain()
            && context.suspensions.are_on()
            && let Some(done) = self.ways.suspendable_done(context, die, record)
        {
            return done;
        }
        let load = record.command.load();
        if load.kind == OpKind::Read {
            record.phase = Phase::DataOut;
            self.ways.ask_channel(context, die, record, Load { kind: OpKind::Read, ..load });
            return ArrayDone::DataNext;
        }
        record.phase = Phase::Idle;
        if context.plan.is_dynamic() && context.queues.takes_writes(die) {
            self.idle.insert(die);
        }
        ArrayDone::Command
    }
}

/// Counts a program of whole wordlines, each on a plane of its own, and has the array confirm that their last pages may share a
/// command.
#[cold]
fn count_wordlines(context: &mut Context<'_, impl Plan>, command: &Command) {
    let device = &mut *context.device;
    let last: Vec<Ppn> =
        command.items().iter().map(|item| item.ppn).filter(|&ppn| device.flash.is_last_of_wordline(ppn)).collect();
    assert_eq!(last.len(), command.wordlines(), "wordlines are whole");
    device.flash.check_shared(OpKind::Program, &last);
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
        let (phase, Load { kind, cause, count }) = (record.phase, load);
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
            self.record_transfer(number, record, pages, now, until);
        }
        if is_decided {
            self.start_array(context, die, record, load, until);
        }
    }

    #[cold]
    fn record_transfer(&mut self, number: u32, record: &DieRecord, pages: u64, from: Instant, until: Instant) {
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(from, until)
        {
            let DieRecord { sent, ref command, .. } = *record;
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

    /// The array of a die starts at `from`, which is now or the end of the transfer that begins now.
    #[inline(always)]
    fn start_array(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        die: Die,
        record: &mut DieRecord,
        Load { kind, count, .. }: Load,
        from: Instant,
    ) {
        record.phase = Phase::Array;
        let command = &record.command;
        let flash = &context.device.flash;
        let delay_of = |ppn| self.timing.array(kind, || flash.page_offset(ppn));
        let delay: Delay = if !context.plan.is_plain() && !command.sources().is_empty() {
            self.delay_of_copyback(flash, command)
        } else if count > 1 && flash.planes_are_independent() {
            // The array is done when the slowest page is.
            let delays = command.items().iter().map(|item| delay_of(item.ppn));
            delays.max_by_key(|delay| delay.time).expect("pages of a command")
        } else {
            // Pages of one command share their offset, hence their type.
            delay_of(command.lead())
        };
        let until = from + delay.time;
        self.timers.set(delay.line.0, until, self.rank_of_array(die));
        if !context.draining {
            context.device.recorder.die_busy(die, kind, from, until);
        }
        if context.plan.is_plain() {
            return;
        }
        if context.suspensions.concern(&record.command) {
            context.suspensions.begin(die, &record.command, (from, until), delay.line);
            if context.queues.reads(die).first().is_some() {
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
    pub(super) fn takes_reads_beside(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Suspended
    }

    /// Whether a die's array works on an operation that may be suspended.
    pub(super) fn may_be_suspended(&self, context: &Context<'_, impl Plan>, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Array && context.suspensions.runs(die)
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
