//! A command's way through channel and array: who occupies what until when.
//!
//! It knows addresses and times. For whom a page is, it hands back to those above, as it was given.

use std::collections::VecDeque;

use base::{Die, Duration, Instant, OpKind, Queue};

use engine::{Due, Timers};
use metrics::{Timeline, Track};

use super::command::{Carried, Command};
use super::context::Context;
use super::idle::IdleDies;
use super::timing::{Delay, Line, Timing};
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

/// Channels, arrays, the controller's DRAM and its error correction.
pub(super) struct Passage {
    timing: Timing,
    timers: Timers,
    dies: Vec<DieRecord>,
    idle: IdleDies,
    channels: Vec<Channel>,
    /// Whether what follows on the transfer of a command is decided when it begins. A write buffer may want to know when
    /// it ends, and a dynamic allocation looks for idle dies at every event.
    decides_early: bool,
    /// Pages under correction, in the order in which they will be correct.
    correcting: VecDeque<(Instant, Carried)>,
    /// When the controller's DRAM has moved all that it was given.
    dram_free: Instant,
    /// When the controller's error correction has corrected all that it was given.
    ecc_free: Instant,
    timeline: Option<Timeline>,
}

impl Passage {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<DieRecord>() + size_of::<Due>() + 2 * size_of::<u32>();

    /// Bytes for each channel.
    pub(super) const BYTES_OF_CHANNEL: usize = size_of::<Channel>();

    /// Nothing is under way.
    pub(super) fn new(
        context: &Context<'_>,
        timing: Timing,
        decides_early: bool,
        timeline: Option<Timeline>,
    ) -> Passage {
        let ftl = &context.device.ftl;
        let (channels, dies) = (ftl.geometry().channels, ftl.geometry().dies());
        let idle = DieRecord { phase: Phase::Idle, sent: 0, times_idle: false, command: Command::NONE };
        Passage {
            timers: Timers::new(timing.lines(), channels + dies + 2),
            timing,
            dies: vec![idle; dies as usize],
            idle: IdleDies::new(ftl.allocation(), dies),
            channels: vec![Channel::default(); channels as usize],
            decides_early,
            correcting: VecDeque::new(),
            dram_free: Instant::ZERO,
            ecc_free: Instant::ZERO,
            timeline,
        }
    }

    /// What was recorded.
    pub(super) fn into_timeline(self) -> Option<Timeline> {
        self.timeline
    }

    /// Whether a die has no command.
    #[inline]
    pub(super) fn is_idle(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Idle
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
    /// When something happens next.
    #[inline]
    pub(super) fn next_event(&mut self) -> Option<Instant> {
        self.timers.next().map(|due| due.at)
    }

    /// Something that happens now. At one instant transfers end first, in the order of channels, then arrays.
    #[inline]
    pub(super) fn take_event(&mut self, now: Instant) -> Option<Event> {
        let rank = self.timers.take(now)?;
        let (channels, dies) = (self.channels.len() as u32, self.dies.len() as u32);
        Some(match rank {
            rank if rank < channels => Event::TransferDone(rank),
            rank if rank < channels + dies => Event::ArrayDone(Die::new(rank - channels)),
            rank if rank == channels + dies => Event::Arrival,
            _ => Event::Corrected,
        })
    }

    fn rank_of_array(&self, die: Die) -> u32 {
        self.channels.len() as u32 + die.number()
    }

    /// The next request arrives then. It may be said again.
    pub(super) fn set_arrival(&mut self, at: Instant) {
        if self.timers.is_empty(Line::ARRIVAL.0) {
            self.timers.set(Line::ARRIVAL.0, at, (self.channels.len() + self.dies.len()) as u32);
        }
    }

    fn set_correction(&mut self, at: Instant) {
        self.timers.set(Line::CORRECTION.0, at, (self.channels.len() + self.dies.len()) as u32 + 1);
    }

    /// Whether it is being timed how long a die is idle.
    #[inline]
    pub(super) fn times_idle(&self, die: Die) -> bool {
        self.dies[die.index()].times_idle
    }

    /// Says when a die has been idle for that long.
    pub(super) fn time_idle(&mut self, now: Instant, die: Die, idle: Duration) {
        self.dies[die.index()].times_idle = true;
        self.timers.set(self.timing.idle.0, now + idle, self.rank_of_array(die));
    }

    /// A die takes a command: it is idle no more.
    #[inline]
    fn end_idle_time(&mut self, die: Die) {
        if self.dies[die.index()].times_idle {
            self.dies[die.index()].times_idle = false;
            self.timers.stop(self.timing.idle.0, self.rank_of_array(die));
        }
    }
}

// Channels.
impl Passage {
    /// Counts the command that was built for a die, and starts it.
    pub(super) fn start(&mut self, context: &mut Context<'_>, die: Die) {
        self.idle.remove(die);
        self.end_idle_time(die);
        let command = &self.dies[die.index()].command;
        let (kind, count) = (command.kind(), command.len());
        if command.is_mixed() {
            for at in 0..count {
                context.device.recorder.counters.part(command.cause_of(at), kind);
            }
        } else {
            context.device.recorder.counters.command(command.cause(), kind, count as u64);
        }
        if count > 1 {
            context.device.flash.check_shared(kind, &command.ppns()[..count]);
        }
        if !command.sources().is_empty() {
            context.device.flash.check_shared(OpKind::Read, command.sources());
            context.device.recorder.counters.copyback_command(command.cause(), count as u64);
        }
        let has_data = command.has_data_in();
        self.dies[die.index()].sent = 0;
        if has_data || self.timing.has_command_cycles() {
            self.dies[die.index()].phase = Phase::Command;
            self.ask_channel(context, die);
        } else {
            self.start_array(context, die, context.now);
        }
    }

    fn ask_channel(&mut self, context: &mut Context<'_>, die: Die) {
        let number = context.device.ftl.geometry().channel_of_die(die);
        let DieRecord { phase, ref command, .. } = self.dies[die.index()];
        let channel = &mut self.channels[number as usize];
        if context.now < channel.until || channel.is_awaited {
            let line = if phase == Phase::Command && !command.has_data_in() {
                &mut channel.commands
            } else {
                &mut channel.waiting
            };
            line.push_back(die);
            if !channel.is_awaited {
                channel.is_awaited = true;
                self.timers.set(Line::CHANNEL.0, channel.until, number);
            }
        } else {
            self.grant(context, number, die);
        }
    }

    /// Gives a channel to a die for its next transfer.
    ///
    /// What follows on the transfer of a command is known now: its array starts. So its end is an event only for those
    /// who wait for the channel.
    fn grant(&mut self, context: &mut Context<'_>, number: u32, die: Die) {
        let DieRecord { phase, ref command, .. } = self.dies[die.index()];
        let (kind, cause, count) = (command.kind(), command.cause(), command.len());
        let (delay, pages) = match (phase, kind) {
            (Phase::Command, OpKind::Program) if command.has_data_in() => (self.timing.data_in(count), count as u64),
            (Phase::Command, OpKind::Program) => (self.timing.copy_command(count), 0),
            (Phase::Command, _) => (self.timing.command(count), 0),
            _ => (self.timing.data_out(), 1),
        };
        let now = context.now;
        let until = (now + delay.time).max(self.through_dram(now, pages));
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
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(now, until)
        {
            let name = match (pages, kind) {
                (0, _) => "command",
                (_, OpKind::Read) => "data out",
                _ => "data in",
            };
            let DieRecord { sent, ref command, .. } = self.dies[die.index()];
            let ppn = u64::from(command.item(usize::from(sent)).ppn.0);
            timeline.span(Track::Channel(number), name, cause, now, until, &[("ppn", ppn), ("pages", pages)]);
        }
        if is_decided {
            self.start_array(context, die, until);
        }
    }

    /// When the controller's DRAM, which all channels share, has moved that many pages more.
    fn through_dram(&mut self, now: Instant, pages: u64) -> Instant {
        if self.timing.dram == Duration::ZERO || pages == 0 {
            return now;
        }
        self.dram_free = self.dram_free.max(now) + self.timing.dram * pages;
        self.dram_free
    }

    /// Gives a channel whose transfer ended to the die that has waited longest.
    fn release(&mut self, context: &mut Context<'_>, number: u32) {
        let channel = &mut self.channels[number as usize];
        let next = channel.commands.pop_front().or_else(|| channel.waiting.pop_front());
        if let Some(die) = next {
            self.grant(context, number, die);
        }
    }

    /// A channel finished a transfer.
    pub(super) fn transfer_done(&mut self, context: &mut Context<'_>, number: u32) -> Transferred {
        self.channels[number as usize].is_awaited = false;
        let Some(die) = self.channels[number as usize].holder.take() else {
            self.release(context, number);
            return Transferred::Nothing;
        };
        let DieRecord { phase, ref command, .. } = self.dies[die.index()];
        if phase == Phase::Command {
            let is_data = command.has_data_in() && command.is_of_host();
            self.release(context, number);
            self.start_array(context, die, context.now);
            return if is_data { Transferred::DataIn(die) } else { Transferred::Nothing };
        }
        self.page_left(context, number, die)
    }

    /// A page of a read has left its die.
    fn page_left(&mut self, context: &mut Context<'_>, number: u32, die: Die) -> Transferred {
        let state = &mut self.dies[die.index()];
        let carried = state.command.item(usize::from(state.sent)).carried;
        state.sent += 1;
        let is_last = usize::from(state.sent) == state.command.len();
        if is_last {
            self.release(context, number);
            self.end_command(die);
        } else {
            self.grant(context, number, die);
        }
        Transferred::DataOut { die, is_last, corrected: self.correct(context.now, carried) }
    }
}

// Arrays.
impl Passage {
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
    fn start_array(&mut self, context: &mut Context<'_>, die: Die, from: Instant) {
        self.dies[die.index()].phase = Phase::Array;
        let command = &self.dies[die.index()].command;
        let kind = command.kind();
        let flash = &context.device.flash;
        let delay_of = |ppn| self.timing.array(kind, || flash.page_offset(ppn));
        let delay: Delay = if !command.sources().is_empty() {
            self.delay_of_copyback(flash, command)
        } else if command.len() > 1 && flash.planes_are_independent() {
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
        if let Some(timeline) = &mut self.timeline
            && timeline.wants(from, until)
        {
            let name = match kind {
                OpKind::Read => "read",
                OpKind::Program if !command.sources().is_empty() => "copyback",
                OpKind::Program => "program",
                OpKind::Erase => "erase",
            };
            let (cause, pages) = (command.cause(), command.len() as u64);
            timeline.span(Track::Die(die), name, cause, from, until, &[("pages", pages)]);
            for (at, item) in command.items().iter().enumerate() {
                let plane = context.device.ftl.geometry().place(item.ppn).plane;
                let ppn = u64::from(item.ppn.0);
                let cause = if command.is_mixed() { command.cause_of(at) } else { cause };
                timeline.span(Track::Plane(plane), name, cause, from, until, &[("ppn", ppn)]);
            }
        }
    }

    /// The timer of a die's array ended.
    pub(super) fn array_done(&mut self, context: &mut Context<'_>, die: Die) -> ArrayDone {
        let DieRecord { phase, ref command, .. } = self.dies[die.index()];
        if phase == Phase::Idle {
            self.dies[die.index()].times_idle = false;
            return ArrayDone::WasIdle;
        }
        if command.kind() == OpKind::Read {
            self.dies[die.index()].phase = Phase::DataOut;
            self.ask_channel(context, die);
            return ArrayDone::DataNext;
        }
        self.end_command(die);
        ArrayDone::Command
    }

    fn end_command(&mut self, die: Die) {
        self.dies[die.index()].phase = Phase::Idle;
        self.idle.insert(die);
    }
}

// Error correction.
impl Passage {
    /// Data have left a die. Returns them if they are correct at once.
    fn correct(&mut self, now: Instant, carried: Carried) -> Option<Carried> {
        if self.timing.ecc == Duration::ZERO && self.timing.ecc_page == Duration::ZERO {
            return Some(carried);
        }
        // One page after the other, for the host and for collections.
        self.ecc_free = self.ecc_free.max(now) + self.timing.ecc_page;
        let ready = self.ecc_free + self.timing.ecc;
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
