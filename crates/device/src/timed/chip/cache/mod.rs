//! Cache reads and cache programs: the command that follows on that of a die before it is done.
//!
//! Each plane has a page register for its array and a cache register for the channel. So a die may have a second command, of the
//! same kind: the next program's data come in while the array programs, and the array reads the next page while the data
//! of the last one go out. When the first command is done the second one takes its place. What is known of it is in `followers`;
//! here is its way, with its timers.

mod followers;

use base::scope::{Area, Scope, Scoped};
use base::{Cause, Die, Duration, Instant, OpKind};
use config::{Config, model};
use ftl::Op;
use metrics::LatencyPart;

use crate::timed::Timed;
use crate::timed::array::name_of;
use crate::timed::choose::SharedWrite;
use crate::timed::collections::NextStep;
use crate::timed::command::{Carried, Command, Item};
use crate::timed::commands::settle::LookedStep;
use crate::timed::commands::{Action, Commands, note_bystanders};
use crate::timed::context::Context;
use crate::timed::die::{ArrayDone, Backend, Bus, DieRecord, Phase, Transferred, count};
use crate::timed::host::Host;
use crate::timed::plan::{Any, Chip, Feature, Features};
use crate::timed::timing::{Delay, Line, Timing};
use followers::{Followers, Stage};

/// CacheModes mode.
pub(in crate::timed) struct CacheModes {
    followers: Followers,
    /// The cycles and the data of the largest program, as they pass through channel or DRAM: how long before the end of a program the
    /// next one is chosen. Where that is waited for.
    lead: Delay,
    /// A protection covers two lower pages by each other, so that programs over both may not fail together.
    shares_covers: bool,
}

impl Feature for CacheModes {
    fn is_configured(config: &Config) -> bool {
        busy(&config.device).iter().any(Option::is_some)
    }

    fn bytes_of_die(_: &Config) -> usize {
        Followers::BYTES_OF_DIE
    }

    fn new(config: &Config, dies: u32, timing: &mut Timing) -> CacheModes {
        let is_on = CacheModes::is_configured(config);
        let lead = if is_on { timing.delay(timing.longest_data_in()) } else { Delay::NONE };
        let followers = Followers::new(busy(&config.device), if is_on { dies } else { 0 }, lead.time);
        CacheModes { followers, lead, shares_covers: ftl::paired::shares_covers(config.ftl.get("paired_page")) }
    }
}

/// By kind of operation, the time between two of them; `None`: they do not follow on each other.
fn busy(device: &model::Device) -> [Option<Duration>; 3] {
    let [reads, programs] = base::cache::busy(&device.features);
    [reads, programs, None]
}

impl Chip<Any> for CacheModes {
    fn has_more(context: &Context<'_>, die: Die) -> bool {
        context.chip.cache.followers.stage(die) != Stage::None
    }

    fn overlaps(context: &Context<'_>) -> bool {
        context.chip.cache.followers.are_on()
    }

    fn ahead(context: &Context<'_>, die: Die) -> Option<Command> {
        Some(*context.chip.cache.followers.command(die))
    }

    fn is_followed_by_read(context: &Context<'_>, die: Die) -> bool {
        let followers = &context.chip.cache.followers;
        followers.stage(die) != Stage::None && followers.command(die).kind() == OpKind::Read
    }

    fn prolongs(context: &mut Context<'_>, die: Die, command: &Command) -> Option<Delay> {
        let CacheModes { followers, lead, .. } = &mut context.chip.cache;
        let busy = if command.kind() == OpKind::Program { followers.take_busy(die) } else { Duration::ZERO };
        (busy > Duration::ZERO).then_some(Delay { time: busy, line: lead.line })
    }

    fn runs(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord, span: (Instant, Instant)) {
        let CacheModes { followers, lead, .. } = &mut context.chip.cache;
        if record.command.kind() == OpKind::Program
            && followers.may_follow(&record.command)
            && let Some(at) = followers.program_runs(die, span)
        {
            // The next program is chosen when its data would come in time.
            bus.set_timer_of_die(die, lead.line, at);
        }
    }

    fn worked(_: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) -> Option<ArrayDone> {
        let followers = &mut context.chip.cache.followers;
        let is_of_follower = followers.stage(die) == Stage::Array && record.phase != Phase::Array;
        is_of_follower.then(|| {
            followers.set_stage(die, Stage::Ready);
            ArrayDone::DataNext
        })
    }

    /// Until the next read is sent for. With something suspended the page register has what is left of that.
    fn holds_data(context: &mut Context<'_>, die: Die) -> bool {
        let holds = context.chip.cache.followers.concern(OpKind::Read) && !Features::has_more(context, die);
        if holds {
            context.queues.wake(die);
        }
        holds
    }

    /// The command that follows on a program is next when those above have heard of that.
    fn is_left(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) -> bool {
        let has_follower = context.chip.cache.followers.stage(die) != Stage::None;
        if has_follower && record.command.kind() == OpKind::Read {
            promote(bus, context, die, record);
        }
        has_follower
    }

    fn goes_on(backend: &mut Backend, context: &mut Context<'_>, die: Die) -> bool {
        let has_follower = context.chip.cache.followers.stage(die) != Stage::None;
        if has_follower {
            promote(&mut backend.bus, context, die, &mut backend.dies[die.index()]);
        }
        has_follower
    }

    fn sent(backend: &mut Backend, context: &mut Context<'_>, number: u32, die: Die) -> Option<Transferred> {
        (context.chip.cache.followers.stage(die) == Stage::Transfers)
            .then(|| transferred(backend, context, number, die))
    }

    /// Data of a read wait for the channel as its next command does, which has none.
    fn granted(
        bus: &mut Bus,
        context: &mut Context<'_>,
        number: u32,
        die: Die,
        phase: Phase,
        is_command: bool,
    ) -> bool {
        let waits = context.chip.cache.followers.stage(die) == Stage::Waits;
        let is_follower = waits && (is_command || phase == Phase::Array);
        if is_follower {
            grant(bus, context, number, die);
        }
        is_follower
    }

    fn beside(timed: &mut Timed<'_, '_>, die: Die) {
        if timed.context.chip.cache.followers.are_on() {
            follow(timed, die);
        }
    }

    /// After it a program may follow on that of the die.
    fn timer_of_die(timed: &mut Timed<'_, '_>, die: Die) {
        let Timed { context, backend, .. } = timed;
        let CacheModes { followers, lead, .. } = &mut context.chip.cache;
        match followers.timer_ended(die, context.now) {
            Some(at) => backend.bus.set_timer_of_die(die, lead.line, at),
            None => context.queues.wake(die),
        }
    }
}

// What follows.

/// Has a die take what it would do next in cache mode, if it can now; and sends out the data of its read, if they wait for
/// that.
#[inline(never)]
fn follow(timed: &mut Timed<'_, '_>, die: Die) {
    let Timed { context, host, commands, backend, .. } = timed;
    if let Some(kind) = may_follow(backend, context, die) {
        let action = commands.next(context, host, die);
        let settled = settle_action(commands, context, host, action);
        if kind_of(settled) == Some(kind) {
            // What the command is built of asks for the commands that follow.
            let mut command = *context.chip.cache.followers.command(die);
            let is_built = match (settled, action) {
                (Settled::Step(step, _), _) => commands.carry_out_step(context, host, &mut command, die, step),
                (Settled::Program, Action::ProgramShared(write)) => {
                    commands.program_prepared(context, host, &mut command, die, write);
                    true
                }
                _ => commands.build(context, host, &mut command, die, action),
            };
            let is_whole = is_built && !Features::gathers(&mut backend.bus, context, die, &mut command);
            *timed.context.chip.cache.followers.command_mut(die) = command;
            if is_whole {
                start(&mut timed.backend, &mut timed.context, die, &command);
            }
        }
    }
    send_data(&mut timed.backend, &mut timed.context, die);
}

/// The kind of command that may follow on that of a die now, if any: the data of a program may set out, or those of a read are
/// on their way. Where something is suspended the page register has what is left of it.
///
/// An operation that the FTL hears of only at its end goes on alone: until then the domain has the same operation before it.
fn may_follow(backend: &Backend, context: &Context<'_>, die: Die) -> Option<OpKind> {
    let DieRecord { phase, ref command, .. } = backend.dies[die.index()];
    let kind = command.kind();
    let followers = &context.chip.cache.followers;
    let is_time = match (phase, kind) {
        (Phase::Array, OpKind::Program) => followers.may_follow(command) && followers.is_open(die, context.now),
        (Phase::Register | Phase::DataOut, OpKind::Read) => followers.may_follow(command),
        _ => false,
    };
    let may = is_time && !Features::has_more(context, die) && !tells_at_end(command) && !covers(context, command);
    may.then_some(kind)
}

/// The operation that an action comes to when what is due before it was begun or ended.
#[derive(Clone, Copy)]
enum Settled {
    /// None yet: something else is to be done first.
    Nothing,
    Read,
    Program,
    /// The step of a collection, with the operation in hand.
    Step(LookedStep, Op),
}

/// Begins and ends what is due before an action.
fn settle_action(commands: &mut Commands, context: &mut Context<'_>, host: &Host, action: Action) -> Settled {
    match action {
        Action::Read(..) => Settled::Read,
        Action::Program(_) => Settled::Program,
        Action::ProgramShared(SharedWrite { domain, found, .. }) => {
            let page = context.queues.get(found.1).page();
            if context.device.ftl.prepare(domain, page) {
                return Settled::Program;
            }
            commands.schedule.note_collections(context, host, domain);
            Settled::Nothing
        }
        Action::Collect(domain) => match commands.look_at_step(context, host, domain) {
            Some(step) => Settled::Step(step, commands.collections.step(domain).op),
            None => Settled::Nothing,
        },
        Action::Nothing => Settled::Nothing,
    }
}

/// The kind of command that can follow on another of its kind. A page whose cells are programmed anew is read by the array first, so
/// that cannot.
fn kind_of(settled: Settled) -> Option<OpKind> {
    match settled {
        Settled::Read | Settled::Step(LookedStep { next: NextStep::Read(_), .. }, _) => Some(OpKind::Read),
        Settled::Program => Some(OpKind::Program),
        Settled::Step(LookedStep { next: NextStep::Program, .. }, op) if op != Op::Reprogram => Some(OpKind::Program),
        Settled::Nothing | Settled::Step(..) => None,
    }
}

/// True if pages that are programmed next may be over those that a command covers, or that are needed where it fails for good.
fn covers(context: &Context<'_>, command: &Command) -> bool {
    let covers = command.cause() == Cause::Backup || context.chip.cache.shares_covers;
    command.kind() == OpKind::Program && covers && context.device.flash.has_lives()
}

/// True if the FTL hears of a command only when it is done.
fn tells_at_end(command: &Command) -> bool {
    let is_of_domain = |item: &Item| matches!(item.carried, Carried::Domain(_));
    command.kind() == OpKind::Program
        && (command.cause() == Cause::Mapping || command.is_mixed())
        && command.items().iter().any(is_of_domain)
}

// Its way.

/// Counts the command that was built to follow on that of a die, and starts it. Until it takes the place of that its pages wait for
/// the die.
fn start(backend: &mut Backend, context: &mut Context<'_>, die: Die, command: &Command) {
    let running = backend.dies[die.index()].command.cached();
    context.device.flash.check_cached(running, command.cached(), command.ppns());
    count(context, die, command, command.load());
    if !context.draining {
        context.device.recorder.die_cached(command.kind());
    }
    if command.has_data_in() || backend.bus.timing.has_command_cycles() {
        ask_channel(&mut backend.bus, context, die, backend.dies[die.index()].channel, command);
    } else {
        read_next(&mut backend.bus, context, die);
    }
    note_bystanders(context, command);
    for item in command.items() {
        if let Carried::Transaction(page) = item.carried {
            context.note(|waits, now| waits.wait_for_die(now, page, die, false));
        }
    }
}

/// The data of a read go out, if they wait for the next read to be sent for.
fn send_data(backend: &mut Backend, context: &mut Context<'_>, die: Die) {
    let record = &mut backend.dies[die.index()];
    if record.phase == Phase::Register {
        record.phase = Phase::DataOut;
        backend.bus.ask_channel(context, die, record, record.command.load());
    }
}

fn ask_channel(bus: &mut Bus, context: &mut Context<'_>, die: Die, number: u32, command: &Command) {
    let channel = &mut bus.channels[number as usize];
    if context.now >= channel.until && !channel.is_awaited {
        return grant(bus, context, number, die);
    }
    let line = if command.has_data_in() { &mut channel.waiting } else { &mut channel.commands };
    line.push_back(die);
    context.chip.cache.followers.set_stage(die, Stage::Waits);
    if !channel.is_awaited {
        channel.is_awaited = true;
        bus.timers.set(Line::CHANNEL.0, channel.until, number);
    }
}

/// Gives a channel to the command that follows on that of a die. Its end is an event: when the array will be free is not
/// certain.
fn grant(bus: &mut Bus, context: &mut Context<'_>, number: u32, die: Die) {
    let followers = &mut context.chip.cache.followers;
    followers.set_stage(die, Stage::Transfers);
    let command = followers.command(die);
    let (delay, pages) = match command.has_data_in() {
        true => (bus.timing.data_in(command.len()), command.len() as u64),
        false => (bus.cycles(context.device.flash.geometry(), command), 0),
    };
    let now = context.now;
    let until = (now + delay.time).max(bus.through_dram(now, bus.timing.dram * pages));
    let channel = &mut bus.channels[number as usize];
    (channel.until, channel.holder, channel.is_awaited) = (until, Some(die), true);
    bus.timers.set(delay.line.0, until, number);
    if !context.draining {
        context.device.recorder.channel_busy(number, command.cause(), now, until);
    }
    bus.record_transfer(number, (command, 0), pages, now, until);
}

/// The command that followed on a die's has its data, or its cycles have passed.
#[inline(never)]
fn transferred(backend: &mut Backend, context: &mut Context<'_>, number: u32, die: Die) -> Transferred {
    let followers = &mut context.chip.cache.followers;
    let command = followers.command(die);
    let is_data = command.has_data_in() && (command.is_of_host() || command.is_mixed());
    if command.kind() == OpKind::Program {
        followers.set_stage(die, Stage::Ready);
    } else {
        read_next(&mut backend.bus, context, die);
    }
    backend.release(context, number);
    if is_data { Transferred::DataAhead(die) } else { Transferred::Nothing }
}

/// The array reads for the command that follows on that of a die. Before it does, the register is copied.
fn read_next(bus: &mut Bus, context: &mut Context<'_>, die: Die) {
    let CacheModes { followers, lead, .. } = &mut context.chip.cache;
    followers.set_stage(die, Stage::Array);
    let (command, busy, lead) = (*followers.command(die), followers.busy(OpKind::Read), lead.line);
    let Delay { time, line } = bus.time_of_array(context, die, &command, command.load());
    let (from, until) = (context.now, context.now + busy + time);
    let line = if busy == Duration::ZERO { line } else { lead };
    bus.timers.set(line.0, until, bus.rank_of_array(die));
    if !context.draining {
        context.device.recorder.die_busy(die, OpKind::Read, from, until);
    }
    bus.record_array(context.device.flash.geometry(), die, &command, name_of(&command), from, until);
}

/// A die's command is done, and the one that followed on it takes its place.
#[inline(never)]
fn promote(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) {
    let (&command, stage) = context.chip.cache.followers.take(die);
    (record.command, record.sent) = (command, 0);
    let (kind, cause) = (record.command.kind(), record.command.cause());
    let what = if stage == Stage::Waits { LatencyPart::Channel } else { LatencyPart::of_command(kind, cause) };
    context.note(|waits, now| waits.die_does(now, die, what));
    match (stage, kind) {
        (Stage::Waits | Stage::Transfers, _) => record.phase = Phase::Command,
        (Stage::Ready, OpKind::Program) => {
            bus.start_array(context, die, record, record.command.load(), context.now);
        }
        (Stage::Ready, _) => {
            record.phase = Phase::Register;
            context.queues.wake(die);
        }
        (Stage::Array, _) => record.phase = Phase::Array,
        (Stage::None, _) => unreachable!("nothing follows"),
    }
}

impl Scoped for CacheModes {
    const SCOPE: Scope = Scope {
        area: Area::Time,
        name: "Cache mode",
        keys: &["device.cache_read", "device.cache_program"],
        modelled: "A die takes the data of its next program, or sends those of its last read, while its array works.",
        not_modelled: &[
            "A failed program is told at its own end, not one operation later.",
            "There are no cache programs of two passes.",
        ],
    };
}
