//! Features of a chip besides one read, program or erase after the other, each in a folder of its own.
//!
//! The life of a die and its commands is in `die` and the loop, which know no feature: at every turn they ask the chip. A
//! feature is a type with its state, an `impl` of [`Feature`] (what it is built of and refuses), its scope ([`base::scope::Scoped`]),
//! an `impl` of [`Chip`] with the few methods that it needs, and its row below. What two features share is a question to the chip, never a call from one to the other.

#[macro_use]
mod rows;

#[cfg(test)]
mod blank;
mod cache;
pub(crate) mod one_shot;
mod retry;
mod rewrites;
mod slc;
mod slow_die;
mod suspend;
mod transfer;

use base::{Die, Domain, Duration, Instant, Ppn, Queue, Unit};
use config::Config;

use super::Timed;
use super::command::{Carried, Command, Item};
use super::context::Context;
use super::die::{ArrayDone, Backend, Bus, DieRecord, Phase, Transferred};
use super::host::Host;
use super::plan::{Any, Plan};
use super::timing::{Delay, Line, PartTimes, Timing};
use crate::errors::Refusal;
use cache::CacheModes;
use one_shot::Wordlines;
use retry::Retries;
use rewrites::Rewrites;
use slc::SlcMode;
use slow_die::SlowDie;
use suspend::Suspend;
use transfer::Transfer;

/// The parts that a feature is built of.
pub(in crate::timed) trait Feature: Sized {
    /// True if a device has it.
    fn is_configured(config: &Config) -> bool;

    /// Refuses what it cannot be combined with.
    ///
    /// # Errors
    /// The first reason.
    fn check(_: &Config) -> Result<(), Refusal> {
        Ok(())
    }

    /// Bytes for each die, where it is configured.
    fn bytes_of_die(_: &Config) -> usize {
        0
    }

    /// Pages that a program has of each plane at most.
    fn pages_of_a_plane(_: &Config) -> u32 {
        1
    }

    /// The feature; where it is not configured, without memory of its own.
    fn new(config: &Config, dies: u32, timing: &mut Timing) -> Self;

    /// True if no work that it began is left to do.
    fn is_over(&self) -> bool {
        true
    }
}

features! {
    retries: Retries,
    suspend: Suspend,
    wordlines: Wordlines,
    rewrites: Rewrites,
    cache: CacheModes,
    transfer: Transfer,
    slow_die: SlowDie,
    slc: SlcMode,
}

asked! {
    // Questions: nothing changes.

    /// The device has come to the end of its life.
    any ends_run(context: &Context<'_, P>) -> bool;

    /// Pages are placed before they can be programmed, since they wait for others.
    any assembles(context: &Context<'_, P>) -> bool;

    /// A page that was placed is still in the controller, since the array does not have it, or not for good.
    any keeps(context: &Context<'_, P>, ppn: Ppn) -> bool;

    /// The array of a die cannot read a page before it is done with something else.
    any bars(context: &Context<'_, P>, die: Die, ppn: Ppn) -> bool;

    /// The controller may be unable to correct pages that were read.
    any may_fail(context: &Context<'_, P>) -> bool;

    /// The array of a die has begun an erase for a domain, and is not done with it.
    any erases(context: &Context<'_, P>, die: Die, domain: Domain) -> bool;

    /// True if a die has work left besides its command.
    any has_more(context: &Context<'_, P>, die: Die) -> bool;

    /// A die may have a second command, which it has taken before its first one is over.
    any overlaps(context: &Context<'_, P>) -> bool;

    /// That second command.
    first ahead(context: &Context<'_, P>, die: Die) -> Option<Command>;

    /// That second command is a read, which needs the registers next.
    any is_followed_by_read(context: &Context<'_, P>, die: Die) -> bool;

    /// A command that the array of a die has begun and not finished, besides the one that it works on.
    first unfinished(context: &Context<'_, P>, die: Die) -> Option<Command>;

    /// How long an array takes for a command, if not what it takes for its pages elsewhere.
    first delay(context: &Context<'_, P>, command: &Command) -> Option<Delay>;

    /// How long the array of a die takes for what others do in that time, and where that is waited for.
    first slows(context: &Context<'_, P>, die: Die, time: Duration) -> Option<Delay>;

    /// The part of the page of a read that the channel sends and the controller corrects; nothing: all of it.
    first part(context: &Context<'_, P>, carried: Carried) -> Option<PartTimes>;

    /// The data of a command are sent another time after this one, or were before it.
    any sends_again(context: &Context<'_, P>, command: &Command) -> bool;

    /// A power cut in the middle of a command tears nothing: what it programs was not there before, and is lost as a whole.
    any tears_nothing(context: &Context<'_, P>, command: &Command) -> bool;

    /// Pages of the host that are placed and wait for others.
    first waiting_of_host(context: &Context<'_, P>) -> Option<u32>;

    /// The die on which the last page of a shared queue waits for others.
    first with_open_row(context: &Context<'_, P>, queue: Queue) -> Option<Die>;

    /// Pages are placed on a die that are programmed before any other is placed there.
    any programs_first(context: &Context<'_, P>, die: Die) -> bool;

    // The life of a command.

    /// A command was built for a die. Takes the pages out that wait for others, and adds those that have waited for these. Returns
    /// whether nothing is left of it, so that the die chooses again.
    any gathers(bus: &mut Bus, context: &mut Context<'_, P>, die: Die, command: &mut Command) -> bool;

    /// A die takes a command. Returns whether the feature counts it and checks its pages.
    every begun(context: &mut Context<'_, P>, die: Die, command: &Command) -> bool;

    /// The array of a die begins with a command: it takes so much longer for it, and the end is waited for there.
    first prolongs(context: &mut Context<'_, P>, die: Die, command: &Command) -> Option<Delay>;

    /// The array of a die works on its command in that time, from its beginning or from where it was stopped.
    all runs(
        bus: &mut Bus, context: &mut Context<'_, P>, die: Die, record: &mut DieRecord, span: (Instant, Instant)
    );

    /// The array of a die begins with its command; `line`: where the timer of its end is. Returns whether the feature will say when
    /// it worked, since that may change.
    every begins(
        bus: &mut Bus, context: &mut Context<'_, P>, die: Die, record: &mut DieRecord, span: (Instant, Instant), line: Line
    ) -> bool;

    /// The timer of an array ended. An answer says what that means; without one the die's command has come as far as it would.
    first worked(
        bus: &mut Bus, context: &mut Context<'_, P>, die: Die, record: &mut DieRecord
    ) -> Option<ArrayDone>;

    /// The array of a die has read. Returns whether the data stay where they are for now.
    any holds_data(context: &mut Context<'_, P>, die: Die) -> bool;

    /// A channel has carried what a die sent. An answer says what that means; without one, it was of the die's own command.
    first sent(backend: &mut Backend, context: &mut Context<'_, P>, number: u32, die: Die) -> Option<Transferred>;

    /// A channel is free for a die, which asked for it with a command without data, or with data. Returns whether the feature sends
    /// something; otherwise the die's own command is next.
    any granted(
        bus: &mut Bus, context: &mut Context<'_, P>, number: u32, die: Die, phase: Phase, is_command: bool
    ) -> bool;

    /// The page of a read in that place of its command has left the die. Returns whether the controller cannot correct it, so that it is
    /// not there yet.
    any fails(context: &mut Context<'_, P>, die: Die, command: &Command, at: usize) -> bool;

    /// The command of a die is over. Returns whether the die has something left to do, which makes it go on.
    any is_left(bus: &mut Bus, context: &mut Context<'_, P>, die: Die, record: &mut DieRecord) -> bool;

    /// A program is over. An answer says that the feature told the array of it, and whether its pages are written with that.
    first programmed(context: &mut Context<'_, P>, die: Die, command: &Command) -> Option<bool>;

    /// The array has heard that the program of a die is over, and nobody else. The pages that are not written with it are taken out of
    /// its command; `are_written`: those that it had no trouble with are.
    all program_over(timed: &mut Timed<'_, '_, P>, die: Die, are_written: bool);

    /// A unit takes no more pages. Hands over those that wait for others there.
    all gives_up(context: &mut Context<'_, P>, unit: Unit, pages: &mut Vec<Item>);

    /// All have heard that the command of a die is over. Returns whether the die goes on with another one.
    any goes_on(backend: &mut Backend, context: &mut Context<'_, P>, die: Die) -> bool;

    // What a die does next.

    /// An idle die chooses. Returns whether the feature had it begin something before that.
    any before(timed: &mut Timed<'_, '_, P>, die: Die) -> bool;

    /// Pages of the host have waited on a die for long enough, or the host waits for them: builds the program of dummy pages that are
    /// placed for their sake. Returns whether there are such pages, besides those of domains that a victim is erased for.
    any fills_up(context: &mut Context<'_, P>, host: &mut Host, die: Die, command: &mut Command) -> bool;

    /// An erase waits for pages that are placed and not programmed.
    all erase_waits(context: &mut Context<'_, P>, unit: Unit);

    /// A die that is not idle may have work.
    all beside(timed: &mut Timed<'_, '_, P>, die: Die);

    /// The timer ended that features have of all dies.
    all timer(timed: &mut Timed<'_, '_, P>);

    /// The timer of a die ended that features have besides that of its array.
    all timer_of_die(timed: &mut Timed<'_, '_, P>, die: Die);
}

/// A chip without features.
pub(in crate::timed) struct NoFeatures;

impl Feature for NoFeatures {
    fn is_configured(_: &Config) -> bool {
        false
    }

    fn new(_: &Config, _: u32, _: &mut Timing) -> NoFeatures {
        NoFeatures
    }
}

impl<P: Plan> Chip<P> for NoFeatures {}

/// Refuses what features of the chip cannot be combined with.
///
/// # Errors
/// The first reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    Features::check(config)
}
