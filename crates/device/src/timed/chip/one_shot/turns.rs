//! Turns in the life of a die at which wordlines are gathered, filled up, or programmed a second time.

use base::{Cause, Die, OpKind, Ppn, Queue, Unit};
use config::Config;
use metrics::Counters;

use super::{Wordlines, check, is_configured, is_settled, is_twice, pad_after, times_of_passes};
use crate::device::Device;
use crate::errors::Refusal;
use crate::flash::Content;
use crate::timed::Timed;
use crate::timed::command::{Carried, Command, Item, Pass};
use crate::timed::commands::program_placed;
use crate::timed::context::Context;
use crate::timed::die::Bus;
use crate::timed::host::Host;
use crate::timed::plan::{Any, Chip, Feature, Features};
use crate::timed::timing::{Delay, Timing};

impl Feature for Wordlines {
    fn is_configured(config: &Config) -> bool {
        pad_after(config).is_some()
    }

    fn check(config: &Config) -> Result<(), Refusal> {
        check(config)
    }

    fn bytes_of_die(config: &Config) -> usize {
        Wordlines::bytes_of_die(config)
    }

    fn pages_of_a_plane(config: &Config) -> u32 {
        if is_configured(&config.device) { config.device.cell.bits() } else { 1 }
    }

    fn new(config: &Config, dies: u32, timing: &mut Timing) -> Wordlines {
        let device = &config.device;
        let passes =
            if is_twice(device) { times_of_passes(device).map(|time| timing.delay(time)) } else { [Delay::NONE; 2] };
        let due = pad_after(config).map_or(Delay::NONE, |pad_after| timing.delay(pad_after));
        Wordlines::new(config, dies, due, passes)
    }
}

impl Chip<Any> for Wordlines {
    fn assembles(context: &Context<'_>) -> bool {
        context.chip.wordlines.are_on()
    }

    fn keeps(context: &Context<'_>, ppn: Ppn) -> bool {
        context.chip.wordlines.hold(&context.device.flash, ppn)
    }

    fn delay(context: &Context<'_>, command: &Command) -> Option<Delay> {
        let wordlines = &context.chip.wordlines;
        let is_pass = wordlines.are_twice() && command.kind() == OpKind::Program && command.pass() != Pass::Only;
        is_pass.then(|| wordlines.passes[usize::from(command.pass() != Pass::First)])
    }

    fn sends_again(_: &Context<'_>, command: &Command) -> bool {
        command.is_first_pass()
    }

    /// The first pass is done, and without the second one the data are lost.
    fn tears_nothing(context: &Context<'_>, command: &Command) -> bool {
        let is_program = command.kind() == OpKind::Program && context.chip.wordlines.are_on();
        is_program && command.pass() == Pass::Second
    }

    /// Reads are of programmed wordlines; programs are counted here.
    fn begun(context: &mut Context<'_>, _: Die, command: &Command) -> bool {
        match command.kind() {
            OpKind::Program if context.chip.wordlines.are_on() => count(context, command),
            OpKind::Read if context.chip.wordlines.are_on() => {
                if !context.device.flash.programs_by_row() || cfg!(debug_assertions) {
                    // Of others the array has seen that when it read them.
                    check_readable(context, command);
                }
                if context.device.flash.geometry().parts == 1 {
                    return false;
                }
                count_flash_pages(context, command);
            }
            _ => return false,
        }
        true
    }

    /// Pages that are programmed in the first of two passes wait for the second one.
    fn programmed(context: &mut Context<'_>, die: Die, command: &Command) -> Option<bool> {
        if !context.chip.wordlines.are_on() {
            return None;
        }
        let (flash, ppns) = (&mut context.device.flash, command.items().iter().map(|item| item.ppn));
        let geometry = *flash.geometry();
        match command.pass() {
            Pass::Only if flash.rows_are_plain() => {
                command.last_of_rows(&geometry).for_each(|last| flash.program_row(last));
            }
            Pass::Only => {
                if flash.come_with_last_parts() {
                    flash.programmed(command.last_parts(&geometry));
                } else {
                    flash.programmed(ppns);
                }
                flash.check_whole(command.first_parts(&geometry));
            }
            Pass::First => flash.passed_once(ppns),
            Pass::Second => flash.passed_twice(ppns),
        }
        while let Some(unit) = context.device.flash.take_released() {
            let geometry = context.device.flash.geometry();
            context.queues.wake(geometry.die_of_domain(geometry.domain_of_unit(unit)));
        }
        if command.is_first_pass() {
            for item in command.items() {
                if let Carried::Transaction(page) = item.carried {
                    context.note(|waits, now| waits.wait_for_die(now, page, die, false));
                }
            }
        }
        Some(!command.is_first_pass())
    }

    fn gathers(bus: &mut Bus, context: &mut Context<'_>, die: Die, command: &mut Command) -> bool {
        if command.kind() != OpKind::Program || !context.chip.wordlines.are_on() {
            return false;
        }
        if context.device.flash.is_placed_again(command.lead()) {
            // The top page of a wordline that the array has.
            command.begin_again();
            return false;
        }
        if !command.has_data_in() {
            // Whole flash pages are copied, as they are.
            command.set_pass(Pass::Only);
            command.set_wordlines(command.ppns().filter(|&ppn| context.device.flash.is_last_of_wordline(ppn)).count());
            return false;
        }
        note_open(context, die, command);
        let (is_whole, due) = context.chip.wordlines.gather(&context.device.flash, die, command, context.now);
        if !is_whole {
            context.queues.wake(die);
        }
        if let Some(at) = due {
            bus.set_timer_of_chip(context.chip.wordlines.due_line, at);
        }
        !is_whole
    }

    fn waiting_of_host(context: &Context<'_>) -> Option<u32> {
        let Context { chip, device, .. } = context;
        let of_die = |die| chip.wordlines.waiting_of_host(die).count() as u32;
        chip.wordlines.are_on().then(|| device.flash.geometry().all_dies().map(of_die).sum())
    }

    fn with_open_row(context: &Context<'_>, queue: Queue) -> Option<Die> {
        *context.chip.wordlines.open.get(queue.index())?
    }

    fn gives_up(context: &mut Context<'_>, unit: Unit, pages: &mut Vec<Item>) {
        context.chip.wordlines.give_up(&context.device.flash, unit, pages);
    }

    fn erase_waits(context: &mut Context<'_>, unit: Unit) {
        for die in context.chip.wordlines.fill_for(&context.device.flash, context.now, unit) {
            context.queues.wake(die);
        }
    }

    /// The second pass of wordlines, if it is due; or a wordline that the host has waited for too long, or waits for with FUA or a
    /// FLUSH, is filled up and programmed.
    fn before(timed: &mut Timed<'_, '_>, die: Die) -> bool {
        let Timed { context, host, backend, .. } = timed;
        let is_twice = context.chip.wordlines.are_twice();
        if is_twice && context.chip.wordlines.begin_second_pass(&context.device.flash, die, backend.next_command(die)) {
            timed.start(die);
        } else if Wordlines::fills_up(context, host, die, backend.next_command(die)) {
            timed.start_or_gather(die);
        } else {
            return false;
        }
        timed.note_choice(die);
        true
    }

    fn fills_up(context: &mut Context<'_>, host: &mut Host, die: Die, command: &mut Command) -> bool {
        let wordlines = &context.chip.wordlines;
        let is_due = wordlines.overdue.iter().any(|due| due.die == die);
        (is_due || host.may_await() && wordlines.are_on()) && fill_overdue(context, host, die, command)
    }

    /// Wordlines are to be filled up.
    fn timer(timed: &mut Timed<'_, '_>) {
        let Timed { context, backend, .. } = timed;
        let (dies, next) = context.chip.wordlines.take_due(&context.device.flash, context.now);
        dies.into_iter().for_each(|die| context.queues.wake(die));
        if let Some(at) = next {
            backend.bus.set_timer_of_chip(context.chip.wordlines.due_line, at);
        }
    }
}

/// Takes note of the die of the last page that a command has of a shared queue, if it waits there for others.
fn note_open(context: &mut Context<'_>, die: Die, command: &Command) {
    let Some(dynamic) = context.device.allocation.dynamic() else { return };
    let is_of_host = |item: &&Item| matches!(item.carried, Carried::Transaction(_));
    if let Some(last) = command.items().iter().rfind(is_of_host) {
        let waits = !context.device.flash.in_program(last.ppn).completes;
        context.chip.wordlines.note_open(dynamic.queue_of_die(die), die, waits);
    }
}

/// A page of a die whose wordline is to be filled up, or the next one. For FUA, a FLUSH and the room of a write buffer it is if no write comes
/// that would complete it.
/// Pages that lie beside an erase that was begun wait for that.
fn overdue(context: &Context<'_>, host: &Host, die: Die) -> Option<Ppn> {
    let Context { device, queues, chip, .. } = context;
    let geometry = device.flash.geometry();
    let domain_of = |page| geometry.domain_of_unit(geometry.unit_of(page));
    let can_be_programmed = |page| !Features::erases(context, die, domain_of(page));
    if let Some(page) = chip.wordlines.overdue(&device.flash, die).find(|&page| can_be_programmed(page)) {
        return Some(page);
    }
    if !host.may_await() {
        return None;
    }
    let holds_up = host.holds_up(context);
    // Few are awaited, which is soon asked.
    let awaited = chip.wordlines.waiting_of_host(die).filter(|&(write, _)| holds_up || host.awaits(queues, write));
    let unsettled = awaited.filter(|(_, page)| !is_settled(chip.wordlines.are_twice(), &device.flash, page.program));
    unsettled.map(|(_, page)| page.item.ppn).find(|&page| {
        let queue = context.queue_of(domain_of(page));
        let nobody_comes = !host.would_leave(queue) && queues.writes(queue).first().is_none();
        nobody_comes && can_be_programmed(page)
    })
}

/// Fills up a wordline of a die that is overdue. Returns whether there is one.
#[inline(never)]
fn fill_overdue(context: &mut Context<'_>, host: &mut Host, die: Die, command: &mut Command) -> bool {
    let page = overdue(context, host, die).filter(|_| !Features::programs_first(context, die));
    let Some(page) = page else { return false };
    let geometry = context.device.flash.geometry();
    let queue = context.queue_of(geometry.domain_of_unit(geometry.unit_of(page)));
    let program = context.device.flash.in_program(page).program;
    if context.chip.wordlines.waiting_of_host(die).any(|(_, waiting)| waiting.program == program) {
        host.close_row(queue);
        if context.queues.are_shared() {
            context.chip.wordlines.note_open(queue, die, false);
        }
    }
    fill_wordline(context, command, page);
    true
}

/// Fills the wordline up that the block of a page has come to, with dummy pages. They are programmed because the host's page is, as
/// what is not written of a page that is.
fn fill_wordline(context: &mut Context<'_>, command: &mut Command, page: Ppn) {
    let geometry = *context.device.flash.geometry();
    let unit = geometry.unit_of(page);
    let domain = geometry.domain_of_unit(unit);
    command.begin(OpKind::Program, Cause::Pad);
    loop {
        let placed = context.device.fill(domain, unit);
        program_placed(context, placed, |_| Content::EMPTY, None);
        command.add(placed.at, Carried::Domain(domain));
        let flash = &context.device.flash;
        let is_last_lane = geometry.lane_of_slot(geometry.unit_and_slot(placed.at).1) == geometry.unit_width - 1;
        let is_of_page = geometry.parts == 1 && flash.block_of(placed.at) == flash.block_of(page);
        if flash.in_program(placed.at).completes && (is_last_lane || is_of_page) {
            return;
        }
    }
}

/// Has the array confirm that the pages of a command can be read, since their wordlines are programmed.
#[cold]
fn check_readable(context: &Context<'_>, command: &Command) {
    let flash = &context.device.flash;
    let ppns = command.first_parts(flash.geometry());
    if context.chip.wordlines.are_twice() { flash.check_final(ppns) } else { flash.check_whole(ppns) }
}

/// Counts a read of flash pages, each of which brings several pages, and has the array confirm that they may share a command.
fn count_flash_pages(context: &mut Context<'_>, command: &Command) {
    let Device { flash, recorder, .. } = &mut *context.device;
    if command.len() == 1 {
        return recorder.counters.count(command.cause(), OpKind::Read, 1);
    }
    let pages = command.flash_pages(flash.geometry());
    if command.is_mixed() {
        count_by_cause(&mut recorder.counters, command, pages);
    } else {
        recorder.counters.command(command.cause(), OpKind::Read, pages.count() as u64);
    }
    flash.check_shared(OpKind::Read, pages.map(|at| command.item(at).ppn));
}

/// Counts the pages of a command at these places, each for its own cause.
fn count_by_cause(counters: &mut Counters, command: &Command, places: impl Iterator<Item = usize> + Clone) {
    let is_alone = places.clone().nth(1).is_none();
    for at in places {
        match is_alone {
            true => counters.count(command.cause_at(at), command.kind(), 1),
            false => counters.part(command.cause_at(at), command.kind()),
        }
    }
}

/// Counts a program of whole wordlines, each on a plane of its own, and has the array confirm that their last pages may share a
/// command. Pages that are programmed in two passes count with the second one.
#[cold]
fn count(context: &mut Context<'_>, command: &Command) {
    let device = &mut *context.device;
    let flash = &device.flash;
    let last = command.last_parts(flash.geometry()).filter(|&ppn| flash.is_last_of_wordline(ppn));
    let wordlines = if flash.rows_are_plain() && !cfg!(debug_assertions) {
        // Those of one row may.
        flash.check_shared(OpKind::Program, command.last_of_rows(flash.geometry()));
        command.len() / flash.geometry().parts as usize
    } else {
        flash.check_shared(OpKind::Program, last.clone());
        last.clone().count()
    };
    assert_eq!(wordlines, command.wordlines(), "wordlines are whole");
    match command.pass() {
        Pass::Only => {}
        Pass::First => {
            device.recorder.counters.first_passes += wordlines as u64;
            return;
        }
        Pass::Second => {
            let last: Vec<Ppn> = last.collect();
            last.into_iter().for_each(|ppn| device.flash.sends_second_pass(ppn));
        }
    }
    if device.flash.is_placed_again(command.lead()) {
        return device.recorder.counters.count(command.cause(), OpKind::Program, device.flash.parts());
    }
    let (counters, is_multi) = (&mut device.recorder.counters, wordlines > 1);
    match (command.is_mixed(), is_multi) {
        (false, true) => counters.command(command.cause(), OpKind::Program, command.len() as u64),
        (false, false) => counters.count(command.cause(), OpKind::Program, command.len() as u64),
        (true, true) => (0..command.len()).for_each(|at| counters.part(command.cause_at(at), OpKind::Program)),
        (true, false) => (0..command.len()).for_each(|at| counters.count(command.cause_at(at), OpKind::Program, 1)),
    }
}
