//! Pages that cannot be corrected are read again, until they can be or are given up.
//!
//! When a page has left its die the controller tries to correct it. Those of a command that it cannot correct are the die's next
//! command, which reads them with other reference voltages; it is for the cause `retry`. How often a page has to be read is what
//! [`nand::media`] says, by the age of its data. What is left to do on each die is in `again`.

mod again;

use base::scope::{Area, Scope, Scoped};
use base::{Cause, Die, Duration, Instant, OpKind, PageLayout, Ppn};
use config::Config;
use engine::Chance;
use metrics::LatencyPart;
use nand::media::{Correction, Endured, Media, MediaSetup, MediaShape};

use crate::errors::Refusal;
use crate::gang;
use crate::timed::command::{Carried, Command, Item};
use crate::timed::context::Context;
use crate::timed::die::{Bus, DieRecord, Phase, count};
use crate::timed::plan::{Any, Chip, Feature, Features};
use crate::timed::timing::{Delay, Timing};
use again::{Again, Left};

/// Read retries.
pub(in crate::timed) struct Retries {
    /// The errors of pages; `None`: there are none.
    media: Option<Box<Media>>,
    /// P/E cycles of all blocks before the first erase.
    cycles: u32,
    /// By die; empty where there are no errors.
    dies: Vec<Again>,
    /// How long it takes to find out that a page cannot be corrected.
    correction: Delay,
}

impl Feature for Retries {
    fn is_configured(config: &Config) -> bool {
        MediaSetup::of(&config.device.features).is_some()
    }

    /// Refuses pages of several parts in step, which would be read again together.
    fn check(config: &Config) -> Result<(), Refusal> {
        if Retries::is_configured(config) && config.in_step().parts() > 1 {
            return Err(Refusal {
                key: "device.media",
                message: "each page is read again until it can be corrected, and channels or planes in step read theirs together".into(),
                help: "use `ftl.reclaim_unit` = \"block\" or \"twin\", or `device.media` = \"none\"".into(),
            });
        }
        Ok(())
    }

    fn bytes_of_die(config: &Config) -> usize {
        let geometry = gang::geometry(config);
        let dies = u64::from(geometry.dies());
        let (blocks, pages) = (geometry.blocks(), geometry.pages());
        size_of::<Again>() + Media::bytes(u64::from(blocks).div_ceil(dies), pages.div_ceil(dies)) as usize
    }

    fn new(config: &Config, dies: u32, timing: &mut Timing) -> Retries {
        let cycles = config.device.wear.pe_cycles;
        let Some(setup) = MediaSetup::of(&config.device.features) else {
            return Retries { media: None, cycles, dies: Vec::new(), correction: Delay::NONE };
        };
        let (geometry, device) = (gang::geometry(config), &config.device);
        let layout = PageLayout::new(device.cell, device.program_order, geometry.pages_per_block, geometry.parts);
        let shape = MediaShape {
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block,
            page_size: gang::page_size(config) as u32,
            layout: &layout,
        };
        let mut random = Chance::new(config.run.seed, "media");
        let media = Media::new(setup, shape, || random.next());
        let correction = timing.delay(timing.ecc + timing.ecc_page);
        Retries { media: Some(Box::new(media)), cycles, dies: vec![Again::NOTHING; dies as usize], correction }
    }

    fn is_over(&self) -> bool {
        self.dies.iter().all(|again| !again.is_due())
    }
}

impl Chip<Any> for Retries {
    fn has_more(context: &Context<'_>, die: Die) -> bool {
        context.chip.retries.dies.get(die.index()).is_some_and(Again::is_under_way)
    }

    /// Before the array reads again, the controller has found out that it must.
    fn prolongs(context: &mut Context<'_>, _: Die, command: &Command) -> Option<Delay> {
        let correction = context.chip.retries.correction;
        (command.cause() == Cause::Retry && correction.time > Duration::ZERO).then_some(correction)
    }

    #[inline(always)] // Nearly all chips have no such errors, and ask at every turn.
    fn runs(_: &mut Bus, context: &mut Context<'_>, _: Die, record: &mut DieRecord, (_, until): (Instant, Instant)) {
        if context.chip.retries.has_errors() {
            match record.command.kind() {
                OpKind::Program => programmed(context, &record.command, until),
                OpKind::Read => will_be_judged(context, &record.command),
                OpKind::Erase => {}
            }
        }
    }

    #[inline(always)] // As above.
    fn may_fail(context: &Context<'_>) -> bool {
        context.chip.retries.has_errors()
    }

    #[inline(always)] // As above.
    fn fails(context: &mut Context<'_>, die: Die, command: &Command, at: usize) -> bool {
        context.chip.retries.has_errors() && fails(context, die, command, at)
    }

    #[inline(always)] // As above.
    fn is_left(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) -> bool {
        context.chip.retries.has_errors() && is_read_again(bus, context, die, record)
    }
}

impl Retries {
    #[inline(always)]
    fn has_errors(&self) -> bool {
        self.media.is_some()
    }
}

/// Data age from the end of their program on.
#[inline(never)]
fn programmed(context: &mut Context<'_>, command: &Command, until: Instant) {
    let (Some(media), flash) = (&mut context.chip.retries.media, &context.device.flash) else { return };
    command.ppns().for_each(|ppn| media.programmed(flash.block_of(ppn), flash.page_offset(ppn), until));
}

/// The ages of pages that the array reads now are asked for when they are sent, which is long enough for memory to bring them.
#[inline(never)]
fn will_be_judged(context: &Context<'_>, command: &Command) {
    let (Some(media), flash) = (&context.chip.retries.media, &context.device.flash) else { return };
    for ppn in command.ppns() {
        let (ticks, place) = media.tick_of(flash.block_of(ppn), flash.page_offset(ppn));
        engine::prefetch(ticks, place);
    }
}

/// The controller cannot correct the page in that place of a command.
#[inline(never)]
fn fails(context: &mut Context<'_>, die: Die, command: &Command, at: usize) -> bool {
    let left = if command.cause() == Cause::Retry {
        context.chip.retries.dies[die.index()].left(at)
    } else {
        if at == 0 {
            context.chip.retries.dies[die.index()].command_leaves();
        }
        judge(context, command.item(at).ppn)
    };
    let item = command.item(at);
    if left.reads == 0 {
        if left.is_uncorrectable {
            give_up(context, item);
        }
        return false;
    }
    context.chip.retries.dies[die.index()].add(item, Left { reads: left.reads - 1, ..left });
    if let Carried::Transaction(page) = item.carried {
        context.note(|waits, now| waits.wait_for_die(now, page, die, false));
    }
    true
}

/// A page was read for the last time, and cannot be corrected: the host that wants it gets an error, and where it was to be moved it is
/// lost. Its collection goes on without it, as without a page that was overwritten meanwhile.
#[cold]
fn give_up(context: &mut Context<'_>, item: Item) {
    match item.carried {
        Carried::Transaction(_) if !context.draining => context.device.recorder.counters.failed_reads += 1,
        Carried::Transaction(_) => {}
        Carried::Domain(_) if context.device.ftl.lose(item.ppn) => context.device.recorder.page_lost(),
        Carried::Domain(_) => {}
    }
}

/// Pages that could not be corrected are read again, once a read that follows in cache mode has left the registers.
#[inline(never)]
fn is_read_again(bus: &mut Bus, context: &mut Context<'_>, die: Die, record: &mut DieRecord) -> bool {
    let again = &mut context.chip.retries.dies[die.index()];
    again.end();
    if !again.is_due() || Features::is_followed_by_read(context, die) {
        return false;
    }
    record.command = context.chip.retries.dies[die.index()].take();
    record.sent = 0;
    let load = record.command.load();
    count(context, die, &record.command, load);
    context.note(|waits, now| waits.die_does(now, die, LatencyPart::Retry));
    if bus.timing.has_command_cycles() {
        // The channel is released next, and goes to commands first.
        record.phase = Phase::Command;
        bus.channels[record.channel as usize].commands.push_back(die);
    } else {
        bus.start_array(context, die, record, load, context.now);
    }
    true
}

/// How often a page that was read just now has to be read again.
fn judge(context: &mut Context<'_>, ppn: Ppn) -> Left {
    let correction = correction(context, ppn);
    if correction.retries > 0 && !context.draining {
        context.device.recorder.page_retried(correction.is_soft, correction.is_uncorrectable);
    }
    if let Some(judged) = context.device.has.judged_reads {
        judged.read(&mut context.device.ftl, ppn, correction.retries.into());
    }
    Left { reads: correction.retries, is_uncorrectable: correction.is_uncorrectable }
}

/// How a page comes to be read correctly. The levels of a block in SLC mode are far apart: at once there.
fn correction(context: &mut Context<'_>, ppn: Ppn) -> Correction {
    let Retries { media: Some(media), cycles, .. } = &mut context.chip.retries else { return Correction::default() };
    let flash = &context.device.flash;
    if flash.is_in_slc_mode(ppn) {
        return Correction::default();
    }
    let (block, page) = (flash.block_of(ppn), flash.page_offset(ppn));
    let reads = flash.nand().blocks()[block.index()].reads;
    let endured = Endured { cycles: *cycles + flash.nand().effective(block) as u32, reads };
    media.read(block, page, endured, context.now)
}

impl Scoped for Retries {
    const SCOPE: Scope = Scope {
        area: Area::Media,
        name: "Read retries",
        keys: &["device.media"],
        modelled: "A page beyond ECC is read again with other voltages, then decoded softly, then given up.",
        not_modelled: &["ECC takes as long for many errors as for few.", "Without time no page is read again."],
    };
}
