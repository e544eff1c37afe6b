//! Dies and channels: what each is doing, and how long things take. What a free die does next is in `choice`, what
//! goes into its command in `commands`, and how that goes through channel and array in `passage`.

mod choice;
mod commands;
mod passage;

use base::{Cause, Duration, Geometry, InStep, Instant, OpKind, PageLayout, Ppn};
use config::model;
use ftl::schedule::{Kind, Schedule};
use ftl::{Group, How, Op, Step};

use super::Timed;
use super::queues::List;
use crate::flash::{Content, Flash};

/// Planes that a multi-plane command covers at most; the configuration allows no more per die.
const MAX_PLANES: usize = 16;

/// Bits of a cell at most, and so types of pages.
const MAX_BITS: usize = 4;

/// A line of timers: of all events that happen as long after they were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line(pub(super) u32);

impl Line {
    /// The next request of an open loop.
    pub(super) const ARRIVAL: Line = Line(0);
    /// The oldest page under correction.
    pub(super) const CORRECTION: Line = Line(1);
    /// A channel that somebody came to wait for.
    const CHANNEL: Line = Line(2);
}

/// A time that something always takes, and the line of those who wait for its end.
#[derive(Clone, Copy)]
struct Delay {
    time: Duration,
    line: Line,
}

/// Delays so far, by line.
struct Lines(Vec<Duration>);

impl Lines {
    /// Lines that do not belong to a delay.
    const FIXED: usize = [Line::ARRIVAL, Line::CORRECTION, Line::CHANNEL].len();

    fn count(&self) -> u32 {
        (Lines::FIXED + self.0.len()) as u32
    }

    /// A delay in its own line, or in that of an equal one.
    fn delay(&mut self, time: Duration) -> Delay {
        let found = self.0.iter().position(|&other| other == time);
        let line = found.unwrap_or_else(|| {
            self.0.push(time);
            self.0.len() - 1
        });
        Delay { time, line: Line((Lines::FIXED + line) as u32) }
    }

    /// By the pages of a command; nothing where commands take no time. Those of the widest commands share a line, which
    /// need not be in order.
    fn by_pages(&mut self, most: u32, of_one: Duration) -> Vec<Delay> {
        let most = if of_one == Duration::ZERO { 0 } else { most };
        let mut delays = Vec::new();
        for pages in 1..=most {
            let line = self.delay(of_one * u64::from(pages.min(LINES_OF_COMMANDS))).line;
            delays.push(Delay { time: of_one * u64::from(pages), line });
        }
        delays
    }
}

/// Numbers of pages whose commands have lines of their own.
const LINES_OF_COMMANDS: u32 = 4;

/// How long things take.
pub(super) struct Timing {
    /// By page offset: its page type.
    types: Vec<u8>,
    /// By page type.
    read: [Delay; MAX_BITS],
    /// By page type.
    program: [Delay; MAX_BITS],
    erase: Delay,
    /// The cycles of a command without data, by its pages less one; empty if they take no time.
    command: Vec<Delay>,
    /// The cycles and the data of a program, by its pages less one.
    data_in: Vec<Delay>,
    /// The cycles of a copyback, which are those of a read and of a program, likewise.
    copy_command: Vec<Delay>,
    /// By page types of source and target, the array's time for a copyback.
    copy: [[Delay; MAX_BITS]; MAX_BITS],
    /// A page of a read.
    data_out: Delay,
    /// Time that a page takes of the controller's DRAM.
    dram: Duration,
    ecc: Duration,
    /// Time that a page takes of the controller's ECC.
    ecc_page: Duration,
    /// Where dies wait that have nothing to do.
    pub(super) idle: Line,
    lines: u32,
}

impl Timing {
    /// The times of pages as the FTL sees them. Channels in step carry their parts of a superpage at the same time;
    /// planes in step take command cycles and data one after the other, and all go through one DRAM.
    pub(super) fn new(
        device: &model::Device,
        geometry: &Geometry,
        in_step: InStep,
        layout: &PageLayout,
        schedule: &Schedule,
        has_copybacks: bool,
    ) -> Timing {
        let timing = &device.timing;
        let at_rate = |pages: u32, rate: u64| {
            let bytes = u128::from(device.page_size) * u128::from(pages);
            Duration((bytes * 1_000_000_000).div_ceil(u128::from(rate)) as u64)
        };
        let transfer = at_rate(in_step.planes, timing.channel_rate);
        let command = timing.command_overhead * u64::from(in_step.planes);
        let planes = geometry.planes_per_die;
        let mut lines = Lines(Vec::new());
        let mut by_type =
            |times: &[Duration]| std::array::from_fn(|page_type| lines.delay(times[page_type.min(times.len() - 1)]));
        let by_type_of = |times: &[Duration], page_type: usize| times[page_type.min(times.len() - 1)];
        let (read, program) = (by_type(&timing.read), by_type(&timing.program));
        // Every line of timers costs time: those of copybacks are there where there are copybacks.
        let copy = std::array::from_fn(|from| match has_copybacks {
            true => {
                let read = by_type_of(&timing.read, from);
                by_type(&timing.program.iter().map(|program| read + *program).collect::<Vec<_>>())
            }
            false => program,
        });
        Timing {
            types: (0..device.pages_per_block).map(|page| layout.page_type(page).0).collect(),
            read,
            program,
            copy,
            erase: lines.delay(timing.erase),
            command: lines.by_pages(planes, command),
            data_in: lines.by_pages(planes, command + transfer),
            copy_command: if has_copybacks { lines.by_pages(planes, command * 2) } else { Vec::new() },
            data_out: lines.delay(transfer),
            dram: timing.dram_bandwidth.map_or(Duration::ZERO, |rate| at_rate(in_step.lanes(), rate)),
            ecc: timing.ecc_latency,
            ecc_page: timing.ecc_bandwidth.map_or(Duration::ZERO, |rate| at_rate(in_step.lanes(), rate)),
            idle: match schedule.kind {
                Kind::Background { idle } => lines.delay(idle).line,
                _ => lines.delay(timing.erase).line,
            },
            lines: lines.count(),
        }
    }

    /// What [`Die::copies`] says of a copyback from those pages.
    fn copies_from(&self, flash: &Flash, pages: &[Ppn]) -> u8 {
        let types = pages.iter().map(|&page| self.types[flash.page_offset(page) as usize]);
        1 + types.max_by_key(|&page_type| self.read[usize::from(page_type) % MAX_BITS].time).expect("pages to copy")
    }

    /// Lines of timers.
    pub(super) fn lines(&self) -> u32 {
        self.lines
    }
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

/// One page (or block) of a command.
#[derive(Clone, Copy, Debug)]
struct Item {
    ppn: Ppn,
    /// The transaction, or the domain of a collection.
    what: u32,
}

/// A die and the command it carries out.
///
/// Laid out so that a command of a page or two touches one cache line: with all dies at work, theirs and
/// those of the collections are most of what the processor's first cache has to hold.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Die {
    phase: Phase,
    kind: OpKind,
    cause: Cause,
    /// Pages of the command.
    count: u8,
    /// Pages of a read that have left the die.
    sent: u8,
    awake: bool,
    /// Of a copyback, one more than the slowest page type that it reads; 0 for other commands.
    copies: u8,
    /// Pages of its collections that are on their way or being corrected.
    correcting: u8,
    reads: List,
    items: [Item; MAX_PLANES],
}

impl Die {
    pub(super) const IDLE: Die = Die {
        phase: Phase::Idle,
        kind: OpKind::Read,
        cause: Cause::Host,
        count: 0,
        sent: 0,
        awake: false,
        copies: 0,
        correcting: 0,
        reads: List::EMPTY,
        items: [Item { ppn: Ppn(0), what: 0 }; MAX_PLANES],
    };

    fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// What its command does, or did.
    pub(super) fn kind(&self) -> OpKind {
        self.kind
    }

    fn begin(&mut self, kind: OpKind, cause: Cause) {
        (self.kind, self.cause, self.count, self.sent, self.copies) = (kind, cause, 0, 0, 0);
    }

    fn add(&mut self, ppn: Ppn, what: u32) {
        self.items[usize::from(self.count)] = Item { ppn, what };
        self.count += 1;
    }
}

/// A channel: until when it carries something, and who waits for it in order of asking.
#[derive(Clone, Default)]
pub(super) struct Channel {
    /// When its last transfer ends.
    until: Instant,
    /// Whether the end of the transfer is an event.
    is_awaited: bool,
    /// The die that goes on when the transfer ends, unless that is decided already.
    holder: Option<u32>,
    /// Dies that wait to be sent a command without data. They go first: a command is short, and until it has
    /// it the die's array stands still.
    commands: std::collections::VecDeque<u32>,
    waiting: std::collections::VecDeque<u32>,
}

impl Channel {
    /// Whether dies wait for it.
    fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() || !self.commands.is_empty()
    }
}

/// What a collection has in the controller between a read and a program, besides their contents. Laid out with
/// what every step touches first.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Collection {
    /// What is done with the group.
    step: Step,
    /// How many of the group's pages were read.
    read: u8,
    /// How many of them are on their way or being corrected.
    correcting: u8,
    /// The pages that move together.
    group: Group,
}

impl Collection {
    pub(super) const NONE: Collection = Collection {
        step: Step { op: Op::Move(How::OffChip), cause: Cause::Gc },
        read: 0,
        correcting: 0,
        group: Group::EMPTY,
    };

    /// Whether nothing was read that is not programmed.
    pub(super) fn is_between_groups(&self) -> bool {
        self.read == 0
    }

    /// Drops the pages that were to be read next.
    pub(super) fn forget_group(&mut self) {
        self.group.clear();
    }
}

/// What the pages that collections have read store, by domain and place in its group. Apart from
/// [`Collection`], where room for the widest group would keep those of neighbouring domains far apart.
pub(super) struct Contents {
    /// Pages of a group at most.
    lanes: usize,
    /// Empty where pages store nothing.
    pages: Vec<Content>,
}

impl Contents {
    /// A group has a page per lane of the unit, or the two that a parity covers.
    pub(super) fn new(domains: u32, unit_width: u32, has_payload: bool) -> Contents {
        let lanes = (unit_width as usize).max(2);
        Contents { lanes, pages: vec![Content::EMPTY; if has_payload { domains as usize * lanes } else { 0 }] }
    }

    #[inline]
    fn get(&self, domain: u32, at: usize) -> Content {
        self.pages.get(domain as usize * self.lanes + at).copied().unwrap_or(Content::EMPTY)
    }

    #[inline]
    fn set(&mut self, domain: u32, at: usize, content: Content) {
        if let Some(page) = self.pages.get_mut(domain as usize * self.lanes + at) {
            *page = content;
        }
    }

    /// Drops the content of a page; those behind it move up.
    fn remove(&mut self, domain: u32, at: usize) {
        for at in at + 1..self.lanes {
            self.set(domain, at - 1, self.get(domain, at));
        }
    }
}

/// Where corrected data go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delivery {
    Transaction(u32),
    Collection(u32),
}
