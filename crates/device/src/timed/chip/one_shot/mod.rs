//! Wordlines that are programmed as a whole: which pages wait in the controller until the last page of theirs is there.
//!
//! The FTL places page after page, as ever. A page that does not complete its wordline waits here, and the one that does takes
//! the others along in its command. Where wordlines are programmed in two passes, all of them wait on until the second one, which is
//! the first thing that the die does when it is due.

mod turns;

use std::collections::VecDeque;

use base::programming::PROGRAMMING;
use base::scope::{Area, Scope, Scoped};
use base::{Block, Cause, Die, Duration, Instant, Page, Ppn, Queue, Unit};
use config::model;
use ftl::ProgramUnit;

use crate::errors::Refusal;
use crate::flash::{Flash, InProgram, ProgramId};
use crate::timed::command::{Carried, Command, Item, Pass};
use crate::timed::queues::TransactionId;
use crate::timed::timing::{Delay, Line};

/// Pages of a command at most.
const MAX_PAGES: u32 = ftl::MAX_PAGES as u32;

/// A page that waits for the rest of its wordline.
#[derive(Clone, Copy)]
struct WaitingPage {
    item: Item,
    cause: Cause,
    /// The program that brings it.
    program: ProgramId,
}

/// Pages of a command that follow each other and are programmed together.
#[derive(Clone, Copy)]
struct Stretch {
    /// Their places in the command.
    from: usize,
    to: usize,
    program: ProgramId,
    /// The last page of the program is one of them.
    completes: bool,
}

/// When a wordline is filled up, if nobody completes it before.
#[derive(Clone, Copy)]
struct Due {
    at: Instant,
    die: Die,
    /// The page of the host that came first.
    page: Ppn,
    program: ProgramId,
    /// How often its block was erased: what comes behind an erase is another wordline.
    erases: u32,
}

/// The incomplete wordlines of all dies.
pub(in crate::timed) struct Wordlines {
    /// How long a page that the host waits for does before its wordline is filled up. With a write buffer the host waits for no page, and a
    /// FLUSH for no time.
    pad_after: Option<Duration>,
    /// Where wordlines wait until they are filled up.
    due_line: Line,
    /// The time that the array takes for each of two passes.
    passes: [Delay; 2],
    /// By die; empty where every page is programmed by itself.
    waiting: Vec<Vec<WaitingPage>>,
    /// True if wordlines are programmed in two passes.
    twice: bool,
    /// By die, pages of wordlines that have had their first pass, or have it now.
    between: Vec<Vec<WaitingPage>>,
    /// By die, wordlines whose second pass is due, those of a command together, each by its block and last page.
    again: Vec<VecDeque<Vec<(Block, Page)>>>,
    /// In the order of time.
    due: VecDeque<Due>,
    /// Wordlines that are to be filled up, by a page of theirs, and some that were.
    overdue: Vec<Due>,
    /// By shared queue, the die on which its last page waits for others.
    open: Vec<Option<Die>>,
    /// Room for the pages of a command that gather, by stretch and one by one.
    stretches: Vec<Stretch>,
    gathered: Vec<WaitingPage>,
}

impl Wordlines {
    /// Bytes for each die.
    fn bytes_of_die(config: &config::Config) -> usize {
        let device = &config.device;
        // Pages of a wordline on every plane wait, and one of each has a time. With two passes there are two wordlines more.
        let waiting = if is_twice(device) { 3 } else { 1 } * size_of::<WaitingPage>();
        let pages = MAX_PAGES as usize * (waiting + size_of::<Due>());
        if pad_after(config).is_some() { 3 * size_of::<Vec<WaitingPage>>() + 2 * pages } else { 0 }
    }

    fn new(config: &config::Config, dies: u32, due: Delay, passes: [Delay; 2]) -> Wordlines {
        let (is_on, twice) = (pad_after(config).is_some(), is_twice(&config.device));
        let of_passes = if twice { dies as usize } else { 0 };
        Wordlines {
            pad_after: (config.ftl.get("write_buffer").name == "none").then_some(due.time),
            due_line: due.line,
            passes,
            waiting: vec![Vec::new(); if is_on { dies as usize } else { 0 }],
            twice,
            between: vec![Vec::new(); of_passes],
            again: vec![VecDeque::new(); of_passes],
            due: VecDeque::new(),
            overdue: Vec::new(),
            open: Vec::new(),
            stretches: Vec::new(),
            gathered: Vec::new(),
        }
    }

    /// True if wordlines are programmed as a whole.
    #[inline]
    fn are_on(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// True if they are in two passes.
    #[inline]
    fn are_twice(&self) -> bool {
        self.twice
    }

    /// True if a page waits for the rest of its wordline or for its second pass, so that the array does not have it.
    #[inline]
    fn hold(&self, flash: &Flash, ppn: Ppn) -> bool {
        self.are_on()
            && flash.has_frames_beside(ppn)
            && if self.twice { !flash.is_final(ppn) } else { !flash.is_whole(flash.in_program(ppn).program) }
    }

    /// True if nothing has to be filled up any more.
    fn is_over(&self, flash: &Flash, due: &Due) -> bool {
        is_settled(self.twice, flash, due.program) || flash.erases_of(due.page) != due.erases
    }

    /// Takes the pages of a program that do not complete their wordline out of its command, and adds those that wait for one that
    /// does. Returns whether anything is left to program, and when the first of the pages that came has to be filled up, if
    /// nothing was due before.
    #[inline(never)]
    fn gather(&mut self, flash: &Flash, die: Die, command: &mut Command, now: Instant) -> (bool, Option<Instant>) {
        let was_due = !self.due.is_empty();
        find_stretches(flash, command, &mut self.stretches);
        let Wordlines { stretches, gathered, waiting, due, pad_after, twice, .. } = self;
        let waiting = &mut waiting[die.index()];
        let is_whole = |it: &Stretch| it.completes && !waiting.iter().any(|page| page.program == it.program);
        if stretches.iter().all(is_whole) && (pad_after.is_none() || !*twice) {
            let of_each = stretches.iter().map(|it| (it.to - it.from) / flash.pages_together(it.program));
            let wordlines = of_each.sum();
            command.set_pass(Pass::Only);
            command.set_wordlines(wordlines);
        } else {
            let mut wordlines = 0;
            gathered.clear();
            for &Stretch { from, to, program, completes } in &*stretches {
                let is_of_host = |item: &&Item| matches!(item.carried, Carried::Transaction(_));
                let pages =
                    (from..to).map(|at| WaitingPage { item: command.item(at), cause: command.cause_at(at), program });
                if let Some(pad_after) = *pad_after
                    && let Some(first) = command.items()[from..to].iter().find(is_of_host)
                    && !waiting.iter().any(|other| other.program == program && is_of_host(&&other.item))
                    && !is_settled(*twice, flash, program)
                {
                    let erases = flash.erases_of(first.ppn);
                    due.push_back(Due { at: now + pad_after, die, page: first.ppn, program, erases });
                }
                if completes {
                    // Of a row that was begun already, pages wait.
                    let before = gathered.len();
                    take_waiting(waiting, program, gathered);
                    gathered.extend(pages);
                    wordlines += (gathered.len() - before) / flash.pages_together(program);
                    continue;
                }
                waiting.extend(pages);
            }
            command.begin_wordlines(gathered.iter().map(|page| (page.item, page.cause)));
            command.set_wordlines(wordlines);
        }
        if flash.programs_by_row() && command.len() > 0 {
            command.set_whole_pages(flash.geometry().parts);
        }
        if self.twice && command.len() > 0 && !flash.has_one_pass(flash.block_of(command.lead())) {
            self.begin_first_pass(flash, die, command);
        }
        (command.len() > 0, if was_due { None } else { self.next_due() })
    }

    /// The wordlines of a command have their first pass. Then the second one of those before them is due, and of their own where
    /// none comes behind.
    fn begin_first_pass(&mut self, flash: &Flash, die: Die, command: &mut Command) {
        command.set_pass(Pass::First);
        let (mut before, mut own) = (Vec::new(), Vec::new());
        // Dummy pages of a block that was closed early are still there when it was erased.
        let is_anew =
            |block| command.ppns().any(|ppn| flash.block_of(ppn) == block && flash.in_program(ppn).program.1 == 0);
        self.between[die.index()].retain(|page| !is_anew(flash.block_of(page.item.ppn)));
        for (at, &item) in command.items().iter().enumerate() {
            let (block, page) = (flash.block_of(item.ppn), flash.page_offset(item.ppn));
            let (cause, program) = (command.cause_at(at), flash.in_program(item.ppn).program);
            self.between[die.index()].push(WaitingPage { item, cause, program });
            if flash.last_of_wordline(block, page) != page {
                continue;
            }
            before.extend(flash.last_of_wordline_before(item.ppn).filter(|last| !flash.is_final_at(*last)));
            if flash.is_last_of_block(item.ppn) {
                own.push((block, page));
            }
        }
        self.again[die.index()].extend([before, own].into_iter().filter(|wordlines| !wordlines.is_empty()));
    }

    /// Builds the second pass of wordlines, if one is due on a die. Returns whether it is.
    #[inline(never)]
    fn begin_second_pass(&mut self, flash: &Flash, die: Die, command: &mut Command) -> bool {
        let Some(wordlines) = self.again.get_mut(die.index()).and_then(VecDeque::pop_front) else { return false };
        let between = &mut self.between[die.index()];
        self.gathered.clear();
        for &wordline in &wordlines {
            self.gathered.extend(between.extract_if(.., |page| flash.wordline_of(page.item.ppn) == wordline));
        }
        command.begin_wordlines(self.gathered.iter().map(|page| (page.item, page.cause)));
        command.set_pass(Pass::Second);
        command.set_wordlines(wordlines.len());
        true
    }

    /// The last page of a shared queue went to a die, where it waits for others or not.
    fn note_open(&mut self, queue: Queue, die: Die, waits: bool) {
        if self.open.len() <= queue.index() {
            self.open.resize(queue.index() + 1, None);
        }
        let open = &mut self.open[queue.index()];
        if waits {
            *open = Some(die);
        } else if *open == Some(die) {
            *open = None;
        }
    }

    /// When the next wordline is due.
    fn next_due(&self) -> Option<Instant> {
        self.due.front().map(|due| due.at)
    }

    /// The first wordlines are due now. Returns their dies, and when the next one is.
    fn take_due(&mut self, flash: &Flash, now: Instant) -> (Vec<Die>, Option<Instant>) {
        self.forget_settled(flash);
        let mut dies = Vec::new();
        while let Some(&due) = self.due.front()
            && (due.at <= now || self.is_over(flash, &due))
        {
            self.due.pop_front();
            if !self.is_over(flash, &due) {
                self.overdue.push(due);
                dies.push(due.die);
            }
        }
        (dies, self.next_due())
    }

    /// The erase of a unit waits for pages that wait here: their wordlines are to be filled up. Returns the dies of those that were not
    /// to be before.
    fn fill_for(&mut self, flash: &Flash, now: Instant, unit: Unit) -> Vec<Die> {
        self.forget_settled(flash);
        let mut dies = Vec::new();
        let waiting = self.waiting.iter().chain(&self.between);
        // The dies begin anew with those between two passes.
        for (at, pages) in waiting.enumerate() {
            let die = Die::new((at % self.waiting.len()) as u32);
            for &WaitingPage { item: Item { ppn, .. }, program, .. } in pages {
                let is_due = |due: &Due| flash.block_of(due.page) == flash.block_of(ppn);
                if flash.is_held_back_by(unit, ppn)
                    && !is_settled(self.twice, flash, program)
                    && !self.overdue.iter().any(is_due)
                {
                    self.overdue.push(Due { at: now, die, page: ppn, program, erases: flash.erases_of(ppn) });
                    dies.push(die);
                }
            }
        }
        dies
    }

    /// A unit takes no more pages: takes out those that wait for others there.
    fn give_up(&mut self, flash: &Flash, unit: Unit, pages: &mut Vec<Item>) {
        for waiting in self.waiting.iter_mut().chain(&mut self.between) {
            pages.extend(waiting.extract_if(.., |page| flash.unit_of(page.item.ppn) == unit).map(|page| page.item));
        }
        for commands in &mut self.again {
            commands
                .iter_mut()
                .for_each(|wordlines| wordlines.retain(|&(block, _)| flash.unit_of_block(block) != unit));
            commands.retain(|wordlines| !wordlines.is_empty());
        }
        self.due.retain(|due| flash.unit_of(due.page) != unit);
        self.overdue.retain(|due| flash.unit_of(due.page) != unit);
    }

    /// Forgets wordlines that are filled up.
    fn forget_settled(&mut self, flash: &Flash) {
        let mut overdue = std::mem::take(&mut self.overdue);
        overdue.retain(|due| !self.is_over(flash, due));
        self.overdue = overdue;
    }

    /// Pages of a die whose wordlines are to be filled up, or the next ones.
    fn overdue(&self, flash: &Flash, die: Die) -> impl Iterator<Item = Ppn> {
        self.overdue.iter().filter(move |due| due.die == die && !self.is_over(flash, due)).map(|due| due.page)
    }

    /// Pages of the host that lie on a die and wait for others, behind whom they are programmed, or did until these were placed.
    fn waiting_of_host(&self, die: Die) -> impl Iterator<Item = (TransactionId, &WaitingPage)> {
        let between = self.between.get(die.index()).into_iter().flatten();
        self.waiting[die.index()].iter().chain(between).filter_map(|page| match page.item.carried {
            Carried::Transaction(write) => Some((write, page)),
            Carried::Domain(_) => None,
        })
    }
}

/// Takes the pages of a program out of those that wait.
fn take_waiting(waiting: &mut Vec<WaitingPage>, program: ProgramId, taken: &mut Vec<WaitingPage>) {
    let is_of_it = |page: &WaitingPage| page.program == program;
    // Most lie behind one another.
    while let Some(first) = waiting.iter().position(is_of_it) {
        let count = waiting[first..].iter().take_while(|page| is_of_it(page)).count();
        taken.extend_from_slice(&waiting[first..first + count]);
        waiting.drain(first..first + count);
    }
}

/// Has the stretches of a command's pages.
fn find_stretches(flash: &Flash, command: &Command, stretches: &mut Vec<Stretch>) {
    stretches.clear();
    let (is_by_row, mut row) = (flash.programs_by_row(), 0..0);
    for (at, &Item { ppn, .. }) in command.items().iter().enumerate() {
        if row.contains(&ppn.0)
            && let Some(last) = stretches.last_mut()
        {
            (last.to, last.completes) = (at + 1, ppn.0 + 1 == row.end);
            continue;
        }
        if is_by_row {
            row = flash.geometry().row_around(ppn);
        }
        let InProgram { program, completes } = flash.in_program(ppn);
        match stretches.last_mut().filter(|last| last.program == program) {
            Some(last) => (last.to, last.completes) = (at + 1, completes),
            None => stretches.push(Stretch { from: at, to: at + 1, program, completes }),
        }
    }
}

/// True if a program is under way or over, or about to be, with all its passes.
fn is_settled(twice: bool, flash: &Flash, program: ProgramId) -> bool {
    flash.is_whole(program) && (!twice || flash.has_one_pass(program.0) || flash.is_next_whole(program))
}

/// True if wordlines are programmed as a whole.
pub(in crate::timed) fn is_configured(device: &model::Device) -> bool {
    PROGRAMMING.of(&device.features).name != "page"
}

/// True if they are in two passes.
pub(in crate::timed) fn is_twice(device: &model::Device) -> bool {
    PROGRAMMING.of(&device.features).name == "two-pass"
}

/// How long data of the host wait for the rest of what is programmed together; `None`: they do not wait.
pub(in crate::timed) fn pad_after(config: &config::Config) -> Option<Duration> {
    let unit = config.ftl.get("map_unit");
    if is_configured(&config.device) {
        Some(PROGRAMMING.of(&config.device.features).time("pad_after"))
    } else {
        (crate::gang::parts(config) > 1).then(|| unit.time("pad_after"))
    }
}

/// Pages that are programmed together: the parts of a flash page, or those of a wordline, over all planes of a reclaim unit.
pub(crate) fn program_unit(config: &config::Config) -> ProgramUnit {
    let (device, geometry) = (&config.device, crate::gang::geometry(config));
    if !is_configured(device) && geometry.parts == 1 {
        return ProgramUnit::PAGE;
    }
    let rows = if is_configured(device) { device.cell.bits() } else { 1 };
    ProgramUnit { slots: rows * geometry.row_slots(), programs: if is_twice(device) { 2 } else { 1 } }
}

/// How long the passes of a wordline take.
fn times_of_passes(device: &model::Device) -> [Duration; 2] {
    let whole = device.timing.program[0];
    let share = PROGRAMMING.of(&device.features).number("first");
    let first = Duration((whole.ns() as f64 * share).round() as u64);
    [first, Duration(whole.ns() - first.ns())]
}

/// Refuses what the programming of whole wordlines cannot be combined with.
///
/// # Errors
/// The first reason.
fn check(config: &config::Config) -> Result<(), Refusal> {
    let device = &config.device;
    if !is_configured(device) {
        return Ok(());
    }
    let refuse = |message: String, help: &str| {
        let message = format!("`{}` {message}", PROGRAMMING.of(&device.features).name);
        Err(Refusal { key: "device.programming", message, help: help.into() })
    };
    let (bits, planes) = (device.cell.bits(), device.planes_per_die / config.in_step().planes);
    if bits == 1 {
        return refuse(
            "programs the pages of a wordline together, and one of SLC cells has a single page".into(),
            "use `page`",
        );
    }
    if device.program_order != base::ProgramOrder::Consecutive {
        return refuse(
            "needs the pages of a wordline to follow each other, and `device.program_order` is `shadow`".into(),
            "set `device.program_order = \"consecutive\"`, or use `page`",
        );
    }
    if device.timing.program.iter().any(|time| *time != device.timing.program[0]) {
        return refuse(
            "takes one time for a wordline, and `device.timing.program` has one for each page type".into(),
            "give the time of a whole wordline, such as `device.timing.program = \"700us\"`",
        );
    }
    let parts = crate::gang::parts(config);
    if planes * bits * parts > MAX_PAGES {
        let units = if parts > 1 { format!(", {parts} map units in a page") } else { String::new() };
        return refuse(
            format!(
                "would send {} pages with one command ({planes} planes, {bits} bits{units}), and one has at most {MAX_PAGES}",
                planes * bits * parts
            ),
            "use fewer planes or bits per cell, or larger map units",
        );
    }
    if is_twice(device) && base::cache::busy(&device.features)[1].is_some() {
        return refuse(
            "sends the data of a wordline again for its second pass, and which of them cache registers hold is not modelled".into(),
            "set `device.cache_program = \"off\"`, or use `one-shot`",
        );
    }
    let others: [(&str, &[&str], &str); 3] = [
        (
            "mapping",
            &["page"],
            "page mapping alone: the others write single pages whose turn it is, and read them back at once",
        ),
        (
            "paired_page",
            &["none", "page-buffer", "supercap"],
            "no copies of lower pages: all pages of a wordline are programmed together, none over one that holds data already",
        ),
        (
            "migration",
            &["off-chip"],
            "copies through the controller, where the pages of a wordline gather: a copyback programs the one page that the register \
             of its plane holds",
        ),
    ];
    for (seam, only, reason) in others {
        let chosen = config.ftl.get(seam).name;
        if !only.contains(&chosen) {
            let choices: Vec<String> = only.iter().map(|only| format!("`ftl.{seam} = \"{only}\"`")).collect();
            return refuse(
                format!("goes with {reason}; `ftl.{seam}` is `{chosen}`"),
                &format!("set {}, or use `page`", choices.join(" or ")),
            );
        }
    }
    Ok(())
}

impl Scoped for Wordlines {
    const SCOPE: Scope = Scope {
        area: Area::Time,
        name: "Whole wordlines",
        keys: &["device.programming"],
        modelled: "A wordline is programmed as a whole, in one pass or in two.",
        not_modelled: &[
            "Pages that wait in the controller for their wordline find room without a limit.",
            "The array cannot be read between the two passes: the controller answers.",
        ],
    };
}
