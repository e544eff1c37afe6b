//! A command's way through channel and array: who occupies what until when.
//!
//! It knows addresses and times. For whom a page is, it hands back to those above, as it was given.

use std::collections::VecDeque;

use base::{Cause, Die, Duration, Instant, OpKind};
use engine::Timers;
use ftl::PageAddress;
use ftl::allocation::IdleDies;
use metrics::{LatencyPart, Timeline};

use super::command::{Carried, Command};
use super::context::Context;
use super::plan::{Chip, Plan};
use super::timing::{Line, Timing};

/// An event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A channel finished a transfer.
    TransferDone(u32),
    /// A die's array finished its operation, or a die was idle for as long as was asked for.
    ArrayDone(Die),
    /// The next request of an open loop arrives.
    Arrival,
    /// The oldest data under correction are correct.
    Corrected,
    /// A timer that features of the chip have of all dies.
    OfChip,
    /// A timer that features of the chip have of this die.
    OfChipOnDie(Die),
    /// Commands or data have passed one of the lanes between host and device.
    Passed(usize),
    /// The FTL has something to do by itself.
    Work,
}

/// The end of a transfer, and what comes behind it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transferred {
    /// No step follows: only dies waited for the end.
    Nothing,
    /// The data of a program for the host are in the registers of this die.
    DataIn(Die),
    /// The data of a program that this die has taken ahead are in its registers.
    DataAhead(Die),
    /// A transfer of a read has left a die: the last of its command, or not. A page that is not corrected is handed over with it; others
    /// arrive at their correction.
    DataOut { die: Die, is_last: bool, arrived: Option<Carried> },
}

/// The end of a timer of an array, and what comes behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayDone {
    /// The die was idle for the time that was asked for.
    WasIdle,
    /// The data of a read are next.
    DataNext,
    /// The command is done.
    Command,
    /// No step follows, but the die may choose again.
    MayChoose,
}

/// Where a die's command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No command.
    Idle,
    /// Command and address cycles, and the data of a program: needs the channel.
    Command,
    /// The array works.
    Array,
    /// The data of a read are in a register, and do not go out yet.
    Register,
    /// The data of a read: needs the channel, page by page or for all its map units at once ([`Timing::sent_together`]).
    DataOut,
    /// A feature of the chip has something left to do with the die, and says when it goes on.
    Held,
}

/// A die and the command it carries out.
///
/// Laid out so that a command of one page touches one cache line: with all dies at work, theirs and
/// those of the collections are most of what the processor's first cache has to hold.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct DieRecord {
    pub(super) phase: Phase,
    /// Pages of a read that have left the die.
    pub(super) sent: u8,
    /// True if a timer runs that says how long it has been idle.
    pub(super) times_idle: bool,
    /// Its channel.
    pub(super) channel: u32,
    /// When the transfer of its command begins, or began, where channels are taken ahead.
    pub(super) sends: Instant,
    pub(super) command: Command,
}

const _: () = assert!(std::mem::offset_of!(DieRecord, command) + Command::BYTES_OF_ONE_PAGE <= 64);

/// The load of a command on channel and array.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) kind: OpKind,
    pub(super) cause: Cause,
    pub(super) count: usize,
    /// The page that the die reads next for its collection, if nothing comes in between.
    pub(super) next: Option<PageAddress>,
}

impl Load {
    /// A page of a collection.
    pub(super) fn page(kind: OpKind) -> Load {
        Load { kind, cause: Cause::Gc, count: 1, next: None }
    }

    /// The program of a page of a collection, which reads that page next.
    pub(super) fn program(next: Option<PageAddress>) -> Load {
        Load { next, ..Load::page(OpKind::Program) }
    }
}

impl Command {
    #[inline(always)]
    pub(super) fn load(&self) -> Load {
        Load { kind: self.kind(), cause: self.cause(), count: self.len(), next: None }
    }
}

/// A channel: until when it carries something, and who waits for it in order of asking.
#[derive(Clone, Default)]
pub(super) struct Channel {
    /// When its last transfer ends.
    pub(super) until: Instant,
    /// True if the end of the transfer is an event.
    pub(super) is_awaited: bool,
    /// The die that goes on when the transfer ends, unless that is decided already.
    pub(super) holder: Option<Die>,
    /// Dies that wait to be sent a command without data. They go first: a command is short, and until it has
    /// it the die's array stands still.
    pub(super) commands: VecDeque<Die>,
    pub(super) waiting: VecDeque<Die>,
    /// Dies that send the pages of a read, in this order, where channels are taken ahead.
    pub(super) senders: VecDeque<Die>,
}

impl Channel {
    /// True if dies wait for it.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() || !self.commands.is_empty()
    }
}

/// Dies with their commands, and what they share.
pub(super) struct Backend {
    pub(super) dies: Vec<DieRecord>,
    /// Dies that are offered pages of shared queues.
    pub(super) idle: IdleDies,
    pub(super) bus: Bus,
    /// Data under correction, in the order in which they will be correct.
    correcting: VecDeque<Correcting>,
    /// When the controller's error correction has corrected all that it was given.
    ecc_free: Instant,
}

/// Pages that one transfer brought to the controller's error correction for one receiver.
#[derive(Clone, Copy, Debug)]
struct Correcting {
    ready: Instant,
    carried: Carried,
    pages: u8,
}

/// Channels, the controller's DRAM, and the times of all that is under way. It is given the record of the die that it works
/// for.
pub(super) struct Bus {
    pub(super) timing: Timing,
    pub(super) timers: Timers,
    pub(super) channels: Vec<Channel>,
    /// Ranks of timers before those of dies.
    pub(super) dies_from: u32,
    /// The number of dies.
    pub(super) dies: u32,
    /// True if what follows on the transfer of a command is decided when it begins. A write buffer may want to know when
    /// it ends; and a dynamic allocation offers writes to idle dies at every event, in turn, which makes a difference where a
    /// write that is not ready is refused.
    pub(super) decides_early: bool,
    /// By kind of operation, true if that is so in any case: the cycles of a read, and the data of a program where no room is given
    /// for them.
    pub(super) decides_kind: [bool; 3],
    /// True if a die is given the channel when it asks, for the time behind all that were before it. Nothing goes before others there,
    /// and nothing waits for the end of a command's transfer.
    pub(super) takes_ahead: bool,
    /// When the controller's DRAM has moved all that it was given.
    pub(super) dram_free: Instant,
    pub(super) timeline: Option<Timeline>,
}

impl Backend {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<DieRecord>() + Timers::BYTES_OF_RANK;

    /// Bytes for each channel.
    pub(super) const BYTES_OF_CHANNEL: usize = size_of::<Channel>();

    /// A backend with no work under way. `decides_early` and `decides_kind`: see [`Bus`].
    pub(super) fn new<P: Plan>(
        context: &Context<'_, P>,
        timing: Timing,
        decides_early: bool,
        decides_kind: [bool; 3],
        timeline: Option<Timeline>,
    ) -> Backend {
        let geometry = context.device.flash.geometry();
        let (channels, dies) = (geometry.channels, geometry.dies());
        let idle = |die| DieRecord {
            phase: Phase::Idle,
            sent: 0,
            times_idle: false,
            channel: geometry.channel_of_die(die),
            sends: Instant::ZERO,
            command: Command::NONE,
        };
        let bus = Bus {
            timers: Timers::new(
                timing.lines(),
                channels + dies + 8 + if P::Chip::overlaps(context) { dies } else { 0 },
            ),
            takes_ahead: !context.plan.has().cycles && decides_early && timing.all_take_time(),
            timing,
            channels: vec![Channel::default(); channels as usize],
            dies_from: channels,
            dies,
            decides_early,
            decides_kind,
            dram_free: Instant::ZERO,
            timeline,
        };
        Backend {
            dies: geometry.all_dies().map(idle).collect(),
            idle: IdleDies::new(&context.device.allocation, dies),
            bus,
            correcting: VecDeque::new(),
            ecc_free: Instant::ZERO,
        }
    }

    /// The record.
    pub(super) fn into_timeline(self) -> Option<Timeline> {
        self.bus.timeline
    }

    /// True if a die has no command.
    #[inline]
    pub(super) fn is_idle(&self, die: Die) -> bool {
        self.dies[die.index()].phase == Phase::Idle
    }

    /// The commands that a die's array works on, or has not finished. What is on its way there is not among them.
    pub(super) fn in_array<P: Plan>(
        &self,
        context: &Context<'_, P>,
        die: Die,
    ) -> impl Iterator<Item = Command> + use<P> {
        let DieRecord { phase, command, .. } = self.dies[die.index()];
        let own = (phase == Phase::Array).then_some(command);
        own.into_iter().chain(P::Chip::unfinished(context, die))
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
impl Backend {
    /// The instant at which something happens next.
    #[inline]
    pub(super) fn next_instant(&mut self) -> Option<Instant> {
        self.bus.timers.advance()
    }

    /// The instant of the next event; it is not the present yet.
    pub(super) fn coming_instant(&self) -> Option<Instant> {
        self.bus.timers.next()
    }

    /// Takes an event of this instant, if there is one left. At one instant transfers end first, in the order of
    /// channels, then arrays.
    #[inline(always)]
    pub(super) fn take_event(&mut self) -> Option<Event> {
        let rank = self.bus.timers.take()?;
        let (channels, dies) = (self.bus.dies_from, self.dies.len() as u32);
        Some(match rank {
            rank if rank < channels => Event::TransferDone(rank),
            rank if rank < channels + dies => Event::ArrayDone(Die::new(rank - channels)),
            rank if rank == channels + dies => Event::Arrival,
            rank if rank == channels + dies + 1 => Event::Corrected,
            rank if rank == channels + dies + 2 => Event::OfChip,
            rank if rank < channels + dies + 7 => Event::Passed((rank - channels - dies - 3) as usize),
            rank if rank == channels + dies + 7 => Event::Work,
            rank => Event::OfChipOnDie(Die::new(rank - (channels + dies + 8))),
        })
    }

    /// The rank of timers behind those of dies.
    fn ranks_of_parts(&self) -> u32 {
        self.bus.dies_from + self.dies.len() as u32
    }

    /// The next request arrives then. It may be said again.
    pub(super) fn set_arrival(&mut self, at: Instant) {
        if self.bus.timers.is_empty(Line::ARRIVAL.0) {
            self.bus.timers.set(Line::ARRIVAL.0, at, self.ranks_of_parts());
        }
    }

    fn set_correction(&mut self, at: Instant) {
        self.bus.timers.set(Line::CORRECTION.0, at, self.ranks_of_parts() + 1);
    }

    /// Sets the timer for commands or data that will have passed a lane between host and device then. These times are
    /// irregular, and few.
    pub(super) fn set_of_host(&mut self, lane: usize, at: Instant) {
        self.bus.timers.set(Line::CORRECTION.0, at, self.ranks_of_parts() + 3 + lane as u32);
    }

    /// Stops the timer of a lane between host and device: something passes it before that time.
    pub(super) fn stop_of_host(&mut self, lane: usize) {
        self.bus.timers.stop(Line::CORRECTION.0, self.ranks_of_parts() + 3 + lane as u32);
    }

    /// The FTL has something to do then. These times are irregular, and few.
    pub(super) fn set_work(&mut self, at: Instant) {
        self.bus.timers.set(Line::CORRECTION.0, at, self.ranks_of_parts() + 7);
    }

    /// Nobody waits for that any more.
    pub(super) fn stop_work(&mut self) {
        self.bus.timers.stop(Line::CORRECTION.0, self.ranks_of_parts() + 7);
    }

    /// True if it is being timed how long a die is idle.
    #[inline]
    pub(super) fn times_idle(&self, die: Die) -> bool {
        self.dies[die.index()].times_idle
    }

    /// Says when a die has been idle for that long.
    pub(super) fn time_idle(&mut self, now: Instant, die: Die, idle: Duration) {
        self.dies[die.index()].times_idle = true;
        self.bus.timers.set(self.bus.timing.idle.0, now + idle, self.bus.rank_of_array(die));
    }
}

// Commands.
impl Backend {
    /// Counts the command that was built for a die, which is that `load`, and starts it.
    #[inline(always)]
    pub(super) fn start<P: Plan>(&mut self, context: &mut Context<'_, P>, die: Die, load: Load) {
        if context.plan.is_dynamic() {
            self.idle.remove(die);
        }
        let record = &mut self.dies[die.index()];
        let Load { kind, cause, .. } = load;
        if context.plan.has().assembly && context.device.flash.geometry().parts > 1 {
            record.command.note_flash_pages(context.device.flash.geometry());
        }
        count(context, die, &record.command, load);
        if context.plan.has().schedules {
            self.bus.end_idle_time(die, record);
        }
        if copies_pages(&context.plan, &record.command) {
            count_copyback(context, &record.command);
        }
        record.sent = 0;
        context.note(|waits, now| waits.die_does(now, die, LatencyPart::of_command(kind, cause)));
        let has_cycles = context.plan.has().cycles && self.bus.timing.has_command_cycles();
        if has_data_in(&context.plan, record, load) || has_cycles {
            record.phase = Phase::Command;
            self.bus.ask_channel(context, die, record, load);
        } else {
            self.bus.start_array(context, die, record, load, context.now);
        }
    }

    /// A channel finished a transfer.
    #[inline(always)]
    pub(super) fn transfer_done<P: Plan>(&mut self, context: &mut Context<'_, P>, number: u32) -> Transferred {
        let taken_ahead = self.bus.are_taken_ahead(&context.plan);
        let channel = &mut self.bus.channels[number as usize];
        if taken_ahead {
            let die = *channel.senders.front().expect("a die that sends");
            return self.data_left(context, number, die);
        }
        channel.is_awaited = false;
        let Some(die) = channel.holder.take() else {
            self.release(context, number);
            return Transferred::Nothing;
        };
        if let Some(sent) = P::Chip::sent(self, context, number, die) {
            return sent;
        }
        let DieRecord { phase, ref command, .. } = self.dies[die.index()];
        if phase == Phase::Command {
            let is_mixed = context.plan.has().copybacks && command.is_mixed();
            let is_data = command.has_data_in() && (command.is_of_host() || is_mixed);
            self.release(context, number);
            let record = &mut self.dies[die.index()];
            self.bus.start_array(context, die, record, record.command.load(), context.now);
            return if is_data { Transferred::DataIn(die) } else { Transferred::Nothing };
        }
        self.data_left(context, number, die)
    }

    /// A transfer of a read has left its die.
    #[inline(always)]
    fn data_left<P: Plan>(&mut self, context: &mut Context<'_, P>, number: u32, die: Die) -> Transferred {
        let record = &mut self.dies[die.index()];
        let carried = record.command.item(usize::from(record.sent)).carried;
        let arrived = if context.plan.has().cycles {
            self.correct(context, die);
            None
        } else {
            Some(carried)
        };
        let record = &mut self.dies[die.index()];
        record.sent += self.bus.timing.sent_together(&context.plan, &record.command) as u8;
        let is_last = usize::from(record.sent) == record.command.len();
        if is_last {
            if !P::Chip::is_left(&mut self.bus, context, die, record) {
                record.phase = Phase::Idle;
                if context.plan.is_dynamic() && context.queues.takes_writes(die) {
                    self.idle.insert(die);
                    context.queues.offer();
                }
            }
            if self.bus.are_taken_ahead(&context.plan) {
                self.bus.channels[number as usize].senders.pop_front();
            } else {
                self.release(context, number);
            }
        } else if self.bus.are_taken_ahead(&context.plan) {
            let delay = self.bus.timing.data_out(1);
            self.bus.timers.set(delay.line.0, context.now + delay.time, number);
        } else {
            self.bus.grant(context, number, die, record, record.command.load());
        }
        Transferred::DataOut { die, is_last, arrived }
    }

    /// Gives a channel whose transfer ended to the die that has waited longest.
    #[inline(always)]
    pub(super) fn release<P: Plan>(&mut self, context: &mut Context<'_, P>, number: u32) {
        let channel = &mut self.bus.channels[number as usize];
        let command = if context.plan.has().cycles { channel.commands.pop_front() } else { None };
        if let Some(die) = command.or_else(|| channel.waiting.pop_front()) {
            let record = &mut self.dies[die.index()];
            if !P::Chip::granted(&mut self.bus, context, number, die, record.phase, command.is_some()) {
                self.bus.grant(context, number, die, record, record.command.load());
            }
        }
    }

    /// The timer of a die's array ended.
    #[inline(always)]
    pub(super) fn array_done<P: Plan>(&mut self, context: &mut Context<'_, P>, die: Die) -> ArrayDone {
        let record = &mut self.dies[die.index()];
        if context.plan.has().schedules && record.phase == Phase::Idle {
            record.times_idle = false;
            return ArrayDone::WasIdle;
        }
        if let Some(done) = P::Chip::worked(&mut self.bus, context, die, record) {
            return done;
        }
        let load = record.command.load();
        if load.kind == OpKind::Read {
            if P::Chip::holds_data(context, die) {
                record.phase = Phase::Register;
                return ArrayDone::DataNext;
            }
            record.phase = Phase::DataOut;
            self.bus.ask_channel(context, die, record, Load { kind: OpKind::Read, ..load });
            return ArrayDone::DataNext;
        }
        if P::Chip::is_left(&mut self.bus, context, die, record) {
            return ArrayDone::Command;
        }
        record.phase = Phase::Idle;
        if context.plan.is_dynamic() && context.queues.takes_writes(die) {
            self.idle.insert(die);
            context.queues.offer();
        }
        ArrayDone::Command
    }
}

/// Counts a command that a die takes, which is that `load`, and has the array confirm that its pages may share one; unless a feature of
/// the chip does.
#[inline(always)]
pub(super) fn count<P: Plan>(
    context: &mut Context<'_, P>,
    die: Die,
    command: &Command,
    Load { kind, cause, count, .. }: Load,
) {
    if P::Chip::begun(context, die, command) {
        return;
    }
    if context.plan.has().copybacks && command.is_mixed() {
        (0..count).for_each(|at| context.device.recorder.counters.part(command.cause_of(at), kind));
    } else {
        context.device.recorder.counters.command(cause, kind, count as u64);
    }
    if count > 1 {
        context.device.flash.check_shared(kind, command.ppns());
    }
}

/// True if a command copies pages inside their planes.
#[inline(always)]
pub(super) fn copies_pages(plan: &impl Plan, command: &Command) -> bool {
    plan.has().copybacks && !command.sources().is_empty()
}

/// True if data are sent with a command.
#[inline(always)]
pub(super) fn has_data_in(plan: &impl Plan, record: &DieRecord, load: Load) -> bool {
    if plan.has().copybacks { record.command.has_data_in() } else { load.kind == OpKind::Program }
}

/// A command that copies pages is counted as what it is, and its sources have to fit too.
fn count_copyback(context: &mut Context<'_, impl Plan>, command: &Command) {
    if context.device.flash.geometry().parts == 1 {
        context.device.flash.check_shared(OpKind::Read, command.sources().iter().copied());
        let pages = command.len() as u64;
        context.device.recorder.counters.copyback_command(command.cause(), pages, pages);
    } else {
        let geometry = *context.device.flash.geometry();
        let pages = command.flash_pages(&geometry);
        context.device.flash.check_shared(OpKind::Read, pages.map(|at| command.sources()[at]));
        let count = pages.count() as u64;
        context.device.recorder.counters.copyback_command(command.cause(), count, command.len() as u64);
    }
}

// Error correction.
impl Backend {
    /// A transfer has brought its pages to the controller, which corrects one after the other, for the host and for collections. They are
    /// there when the last of them is correct; those that cannot be corrected are not.
    #[inline(always)]
    fn correct<P: Plan>(&mut self, context: &mut Context<'_, P>, die: Die) {
        let DieRecord { sent, ref command, .. } = self.dies[die.index()];
        let pages = usize::from(sent)..usize::from(sent) + self.bus.timing.sent_together(&context.plan, command);
        let (first, leaving) = (self.correcting.len(), context.leaving.as_ref().map_or(0, VecDeque::len));
        // The first of them came before the last.
        let mut came = Instant(context.now.ns() - self.bus.times_of(context, command, pages.clone()).0.time.ns());
        let mut at = pages.start;
        while at < pages.end {
            let carried = command.item(at).carried;
            let count = if P::Chip::may_fail(context) { 1 } else { command.pages_for(carried, at..pages.end) };
            let times = self.bus.times_of_page(context, carried);
            let first_came = came + times.out.time;
            came += times.out.time * count as u64;
            let fails = P::Chip::fails(context, die, command, at);
            at += count;
            if fails {
                continue;
            }
            // One after the other: they wait behind the first, or each is correct before the next has come.
            self.ecc_free = (self.ecc_free.max(first_came) + times.ecc * count as u64).max(came + times.ecc);
            if let Carried::Transaction(read) = carried
                && let Some(leaving) = context.leaving(read)
            {
                leaving.push_back((Instant::ZERO, read));
                continue;
            }
            match (carried, self.correcting.range_mut(first..).next_back()) {
                (Carried::Domain(domain), Some(Correcting { carried: Carried::Domain(other), pages, .. }))
                    if domain == *other =>
                {
                    *pages += count as u8;
                }
                _ => self.correcting.push_back(Correcting { ready: Instant::ZERO, carried, pages: count as u8 }),
            }
            if let Carried::Transaction(read) = carried {
                context.note(|waits, now| waits.wait_for_part(now, read, LatencyPart::Correction));
            }
        }
        let ready = context.now.max(self.ecc_free + self.bus.timing.ecc);
        self.correcting.range_mut(first..).for_each(|page| page.ready = ready);
        if let Some(of_host) = &mut context.leaving {
            of_host.range_mut(leaving..).for_each(|(at, _)| *at = ready);
        }
        if first == 0 && !self.correcting.is_empty() && self.bus.timing.corrects() {
            self.set_correction(ready);
        }
    }

    /// Pages for one receiver that are correct by now.
    #[inline]
    pub(super) fn take_corrected(&mut self, now: Instant) -> Option<(Carried, u8)> {
        let page = self.correcting.pop_front_if(|page| page.ready <= now)?;
        Some((page.carried, page.pages))
    }

    /// Sets the timer for the pages that are correct next.
    #[inline]
    pub(super) fn await_correction(&mut self) {
        if let Some(&Correcting { ready, .. }) = self.correcting.front() {
            self.set_correction(ready);
        }
    }
}
