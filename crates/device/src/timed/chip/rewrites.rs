//! Programs that failed: what the controller holds of their pages is programmed elsewhere.
//!
//! At the end of a failed program the FTL closes its unit, and finds other places for its pages and for those that it destroyed. They
//! are placed at once, and the array programs the pages of a block in turn; so the die programs them before anything else is placed
//! there. A write of the host is complete when its page is programmed in the new place. Of all this only these programs take time: a
//! page that is read for them, a backup or the source of a copyback, is there at once.

use std::iter;

use base::scope::{Area, Scope, Scoped};
use base::{Cause, Die, OpKind, Ppn, Unit};
use config::Config;
use ftl::{DataSource, Placed, Rewriter, Rewritten};

use crate::device::{AtOnce, Device};
use crate::flash::FailedProgram;
use crate::lives;
use crate::timed::Timed;
use crate::timed::command::{Carried, Command, Item};
use crate::timed::context::Context;
use crate::timed::plan::{Any, Chip, Feature, Features};
use crate::timed::queues::TransactionId;
use crate::timed::timing::Timing;

/// A page that is programmed anew.
#[derive(Clone, Copy)]
struct Rewrite {
    die: Die,
    item: Item,
    /// Its die has taken it.
    is_taken: bool,
}

/// The pages of failed programs.
pub(in crate::timed) struct Rewrites {
    /// Pages that are programmed anew, in the order in which they were placed.
    pages: Vec<Rewrite>,
    /// Writes whose page was lost, and had a newer version already: they are complete when that is programmed.
    superseded: Vec<TransactionId>,
}

impl Feature for Rewrites {
    /// Programs fail at the ends of blocks' lives; or where somebody arms that, and asks for all parts of the executor.
    fn is_configured(config: &Config) -> bool {
        lives::are_limited(config)
    }

    fn new(_: &Config, _: u32, _: &mut Timing) -> Rewrites {
        Rewrites { pages: Vec::new(), superseded: Vec::new() }
    }

    fn is_over(&self) -> bool {
        self.superseded.is_empty() && self.pages.iter().all(|page| page.is_taken)
    }
}

impl Rewrites {
    /// The next page that a die programs anew.
    fn next(&self, die: Die) -> Option<usize> {
        self.pages.iter().position(|page| page.die == die && !page.is_taken)
    }

    fn find(&self, ppn: Ppn) -> Option<usize> {
        self.pages.iter().position(|page| page.item.ppn == ppn)
    }

    /// A page is programmed, or is not after all.
    fn remove(&mut self, ppn: Ppn) {
        if let Some(at) = self.find(ppn) {
            self.pages.remove(at);
        }
    }
}

impl Chip<Any> for Rewrites {
    /// A page that its die has not taken yet. What it has taken is read like any page that is being programmed.
    fn keeps(context: &Context<'_>, ppn: Ppn) -> bool {
        let rewrites = &context.chip.rewrites;
        rewrites.find(ppn).is_some_and(|at| !rewrites.pages[at].is_taken)
    }

    fn has_more(context: &Context<'_>, die: Die) -> bool {
        context.chip.rewrites.next(die).is_some()
    }

    fn programs_first(context: &Context<'_>, die: Die) -> bool {
        context.chip.rewrites.next(die).is_some()
    }

    /// The write buffer gave the room of such a page to others when its data were sent for the first time.
    fn sends_again(context: &Context<'_>, command: &Command) -> bool {
        let rewrites = &context.chip.rewrites;
        !rewrites.pages.is_empty() && command.items().iter().any(|item| rewrites.find(item.ppn).is_some())
    }

    fn program_over(timed: &mut Timed<'_, '_>, die: Die, are_written: bool) {
        if timed.context.device.flash.has_failed() {
            repair(timed, die);
        }
        if are_written && (timed.context.chip.rewrites.pages.len() + timed.context.chip.rewrites.superseded.len() > 0) {
            end(timed, die);
        }
    }

    #[inline(always)] // After every event.
    fn ends_run(context: &Context<'_>) -> bool {
        context.device.flash.has_lives() && context.device.is_read_only()
    }

    fn gives_up(context: &mut Context<'_>, unit: Unit, pages: &mut Vec<Item>) {
        let geometry = context.device.flash.geometry();
        let waiting = context.chip.rewrites.pages.iter().filter(|page| !page.is_taken);
        let of_unit = waiting.filter(|page| geometry.unit_of(page.item.ppn) == unit);
        pages.extend(of_unit.map(|page| page.item));
    }

    #[inline(always)] // Hardly any program fails, and every die asks before it chooses.
    fn before(timed: &mut Timed<'_, '_>, die: Die) -> bool {
        !timed.context.chip.rewrites.pages.is_empty() && programs_anew(timed, die)
    }
}

/// Has a die program the next of its pages anew. Returns whether there is one.
#[cold]
fn programs_anew(timed: &mut Timed<'_, '_>, die: Die) -> bool {
    let rewrites = &mut timed.context.chip.rewrites;
    let Some(at) = rewrites.next(die) else { return false };
    rewrites.pages[at].is_taken = true;
    let Item { ppn, carried } = rewrites.pages[at].item;
    let command = timed.backend.next_command(die);
    command.begin(OpKind::Program, Cause::Backup);
    command.add(ppn, carried);
    timed.start_or_gather(die);
    timed.note_choice(die);
    let context = &mut timed.context;
    if let Some(unit) = context.device.flash.held_back_by(ppn) {
        // Its erase may wait already, and was told of other pages.
        Features::erase_waits(context, unit);
    }
    true
}

/// Finds other places for the pages of the failed programs of a die's command.
#[cold]
fn repair(timed: &mut Timed<'_, '_>, die: Die) {
    let Timed { context, host, commands, backend, .. } = timed;
    let geometry = *context.device.flash.geometry();
    while let Some(failed) = context.device.flash.take_failed() {
        let unit = geometry.unit_of(failed.at);
        let domain = geometry.domain_of_unit(unit);
        let flash = &context.device.flash;
        let command = &mut backend.dies[die.index()].command;
        let mut lost = command.take_out(|ppn| ppn == failed.at || flash.buffered(ppn).is_some());
        if context.device.flash.gathers() {
            Features::gives_up(context, unit, &mut lost);
            lost.iter().for_each(|item| context.device.flash.give_up(item.ppn));
            // Pages between two passes are in the command as well.
            lost.sort_by_key(|item| item.ppn);
            lost.dedup_by_key(|item| item.ppn);
            // Those of planes whose failure comes next have places as well by then.
            command.take_out(|ppn| lost.iter().any(|item| item.ppn == ppn));
        }
        for (was, to) in places(context.device, &failed) {
            let found = lost.iter().position(|item| Some(item.ppn) == was).map(|at| lost.remove(at));
            let item = found.unwrap_or(Item { ppn: to, carried: Carried::Domain(domain) });
            context.chip.rewrites.remove(item.ppn);
            if let Carried::Transaction(page) = item.carried {
                context.note(|waits, now| waits.wait_for_die(now, page, die, false));
            }
            let item = Item { ppn: to, ..item };
            context.chip.rewrites.pages.push(Rewrite { die, item, is_taken: false });
        }
        // The newest first: the oldest of several is the one whose older version is there.
        for item in lost.into_iter().rev() {
            context.chip.rewrites.remove(item.ppn);
            if let Carried::Transaction(write) = item.carried {
                context.chip.rewrites.superseded.push(write);
            }
            bequeath(context, item.ppn);
            context.note_programmed(iter::once(item.ppn));
        }
        commands.collections.go_elsewhere(context.device, domain);
        commands.schedule.note_collections(context, host, domain);
    }
    context.queues.wake(die);
}

/// A version of a page was lost and is not programmed anew. Its older version is there until the next one is.
fn bequeath(context: &mut Context<'_>, lost: Ppn) {
    let Device { ftl, flash, .. } = &mut *context.device;
    let Some(old) = flash.old_of_buffered(lost) else { return };
    let unit = flash.geometry().unit_of(old);
    let lpn = flash.buffered(lost).and_then(|content| ftl::page_of(content.spare));
    if let Some(newer) = lpn.and_then(|lpn| ftl.lookup(lpn).ok()) {
        flash.inherit(newer, unit);
        Features::erase_waits(context, unit);
    }
}

/// Has the FTL find the places of pages that are programmed anew. Returns them, each with the place that the page had in the failed
/// program or behind it, if it had one.
fn places(device: &mut Device, failed: &FailedProgram) -> Vec<(Option<Ppn>, Ppn)> {
    let Device { ftl, flash, recorder, watchdog, has, .. } = device;
    let pages = has.pages.expect("faults are refused where they cannot be repaired");
    let at_once = AtOnce::new(flash, &mut recorder.counters, watchdog, failed.content);
    let mut array = Places { at_once, placed: Vec::new() };
    pages.repair(ftl, failed.at, failed.copied_from, &mut array);
    let was = |source| match source {
        Some(DataSource::Controller) => Some(failed.at),
        Some(DataSource::Page(from)) if failed.copied_from == Some(from) => Some(failed.at),
        Some(DataSource::PageBuffer(page)) => Some(page),
        Some(DataSource::Page(_) | DataSource::Parity(..)) | None => None,
    };
    array.placed.into_iter().map(|(source, to)| (was(source), to)).collect()
}

/// The pages of the command of a die are programmed: what that ends.
#[cold]
fn end(timed: &mut Timed<'_, '_>, die: Die) {
    let Timed { context, host, backend, .. } = timed;
    if context.device.is_read_only() {
        // Nothing is said to be written any more: some pages may have found no place.
        return;
    }
    let rewrites = &context.chip.rewrites;
    let written = backend.dies[die.index()].command.take_out(|ppn| rewrites.find(ppn).is_some());
    for Item { ppn, carried } in written {
        context.chip.rewrites.remove(ppn);
        context.note_programmed(iter::once(ppn));
        if let Carried::Transaction(write) = carried {
            host.write_done(context, write);
        }
    }
    for write in std::mem::take(&mut context.chip.rewrites.superseded) {
        let newer = context.device.ftl.lookup(context.queues.get(write).lpn).ok();
        if newer.is_some_and(|newer| context.device.flash.has_frame(newer)) {
            context.chip.rewrites.superseded.push(write);
        } else {
            host.write_done(context, write);
        }
    }
}

/// Places pages anew, for the die to program them later.
struct Places<'a> {
    at_once: AtOnce<'a>,
    /// With where their data come from; dummy pages have none.
    placed: Vec<(Option<DataSource>, Ppn)>,
}

impl Rewriter for Places<'_> {
    fn combined(&mut self, _: Cause, _: &[Ppn], to: Placed) -> bool {
        self.placed.push((None, to.at));
        self.at_once.place_dummy(to);
        true
    }

    fn rewritten(&mut self, cause: Cause, source: DataSource, to: Placed) -> Rewritten {
        self.placed.push((Some(source), to.at));
        if self.at_once.place_anew(cause, source, to) { Rewritten::Done } else { Rewritten::Lost }
    }

    fn held(&self) -> Vec<Ppn> {
        self.at_once.held()
    }

    fn original_of(&self, at: Ppn) -> Option<Ppn> {
        self.at_once.original_of(at)
    }

    fn lost_in(&self, unit: Unit) -> Vec<Ppn> {
        self.at_once.lost_in(unit)
    }
}

impl Scoped for Rewrites {
    const SCOPE: Scope = Scope {
        area: Area::Faults,
        name: "Repair of failed programs",
        keys: &[],
        modelled: "The pages of a failed program are programmed elsewhere before anything else is placed on their die.",
        not_modelled: &["Reads that a repair needs take no time."],
    };
}
