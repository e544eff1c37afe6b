//! How long things take, and in which line of timers each wait is.

use base::{Duration, Geometry, InStep, OpKind, Page, PageLayout};
use config::model;
use ftl::schedule::{Kind, Schedule};

use super::command::Command;
use super::plan::Plan;

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
    /// Reads behind programs, as one event, where they all take as long: there nothing is corrected.
    const PAIRS: Line = Line::CORRECTION;
    /// A channel that somebody came to wait for.
    pub(super) const CHANNEL: Line = Line(2);
}

/// A time that something always takes, and the line of those who wait for its end.
#[derive(Clone, Copy)]
pub(super) struct Delay {
    pub(super) time: Duration,
    pub(super) line: Line,
}

impl Delay {
    /// Of what does not happen.
    pub(super) const NONE: Delay = Delay { time: Duration::ZERO, line: Line::ARRIVAL };
}

/// Delays so far, by line.
struct Lines {
    delays: Vec<Duration>,
    /// Of pairs.
    pairs: u32,
}

impl Lines {
    /// Lines that do not belong to a delay.
    const FIXED: usize = [Line::ARRIVAL, Line::CORRECTION, Line::CHANNEL].len();

    fn count(&self) -> u32 {
        (Lines::FIXED + self.delays.len()) as u32 + self.pairs
    }

    /// A delay in its own line, or in that of an equal one.
    fn delay(&mut self, time: Duration) -> Delay {
        let found = self.delays.iter().position(|&other| other == time);
        let line = found.unwrap_or_else(|| {
            self.delays.push(time);
            self.delays.len() - 1
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

/// The times of a part of a page that is sent without the rest.
#[derive(Clone, Copy)]
pub(super) struct PartTimes {
    pub(super) out: Delay,
    /// Of the controller's DRAM.
    pub(super) dram: Duration,
    /// Of its error correction.
    pub(super) ecc: Duration,
}

/// Numbers of pages whose commands have lines of their own.
const LINES_OF_COMMANDS: u32 = 4;

/// How long things take.
pub(super) struct Timing {
    /// By page offset: its page type. Empty where all types take the same time.
    types: Vec<u8>,
    /// By page type.
    read: [Delay; MAX_BITS],
    /// By page type.
    program: [Delay; MAX_BITS],
    erase: Delay,
    /// By page types of the program and of the read behind it: the time of the read, in a line of its own. Empty where the two are
    /// not one event.
    pairs: Vec<[Delay; MAX_BITS]>,
    /// The cycles of a command without data, by its pages less one; empty if they take no time.
    command: Vec<Delay>,
    /// The cycles and the data of a program, by its pages less one.
    data_in: Vec<Delay>,
    /// The cycles of a copyback, which are those of a read and of a program, likewise.
    copy_command: Vec<Delay>,
    /// By page types of source and target, the array's time for a copyback.
    copy: [[Delay; MAX_BITS]; MAX_BITS],
    /// The pages of a read that are sent together, by their number less one.
    data_out: Vec<Delay>,
    /// Time that a page takes of the controller's DRAM.
    pub(super) dram: Duration,
    /// Time that the correction of a page takes.
    pub(super) ecc: Duration,
    /// Time that a page takes of the controller's error correction, which corrects one after the other.
    pub(super) ecc_page: Duration,
    /// Where dies wait that have nothing to do.
    pub(super) idle: Line,
    lines: Lines,
}

impl Timing {
    /// The times of pages as the FTL sees them. Channels in step carry their parts of a superpage at the same time;
    /// planes in step take command cycles and data one after the other, and all go through one DRAM.
    pub(super) fn new(
        device: &model::Device,
        pages_of_a_plane: u32,
        geometry: &Geometry,
        in_step: InStep,
        layout: &PageLayout,
        schedule: &Schedule,
        has_copybacks: bool,
    ) -> Timing {
        let timing = &device.timing;
        let parts_of_page = geometry.parts;
        let page = u64::from(device.page_size / parts_of_page);
        let at_rate = |pages: u32, rate| passing(page * u64::from(pages), rate);
        let transfer = at_rate(in_step.planes, timing.channel_rate);
        let command = timing.command_overhead * u64::from(in_step.planes);
        let command_of_part = Duration(command.ns() / u64::from(parts_of_page));
        let dram = timing.dram_bandwidth.map_or(Duration::ZERO, |rate| at_rate(in_step.parts(), rate));
        let planes = geometry.planes_per_die;
        let mut lines = Lines { delays: Vec::new(), pairs: 0 };
        let mut by_type =
            |times: &[Duration]| std::array::from_fn(|page_type| lines.delay(times[page_type.min(times.len() - 1)]));
        let (read, program) = (by_type(&timing.read), by_type(&timing.program));
        // Every line of timers costs time: those of copybacks are there where there are copybacks.
        let copy = std::array::from_fn(|from| match has_copybacks {
            true => {
                let read = timing.read[from.min(timing.read.len() - 1)];
                by_type(&timing.program.iter().map(|program| read + *program).collect::<Vec<_>>())
            }
            false => program,
        });
        let is_uniform = [&timing.read, &timing.program].iter().all(|times| times.iter().all(|time| *time == times[0]));
        let sent_together = if parts_of_page > 1 { ftl::MAX_PAGES as u32 } else { 1 };
        let types = (0..geometry.pages_per_block).map(|page| layout.page_type(page).0);
        Timing {
            types: if is_uniform { Vec::new() } else { types.collect() },
            read,
            program,
            copy,
            erase: lines.delay(timing.erase),
            pairs: Vec::new(),
            command: lines.by_pages(planes, command),
            data_in: lines.by_pages(planes * pages_of_a_plane * parts_of_page, command_of_part + transfer),
            copy_command: if has_copybacks { lines.by_pages(planes, command * 2) } else { Vec::new() },
            data_out: lines.by_pages(sent_together, transfer),
            dram,
            ecc: timing.ecc_latency,
            ecc_page: timing.ecc_bandwidth.map_or(Duration::ZERO, |rate| at_rate(in_step.parts(), rate)),
            idle: match schedule.kind {
                Kind::Background { idle } => lines.delay(idle).line,
                _ => lines.delay(timing.erase).line,
            },
            lines,
        }
    }

    /// Has programs with a read behind them be one event, unless something takes no time at all: what happens at one instant has an
    /// order. Returns whether they are.
    pub(super) fn join_pairs(&mut self) -> bool {
        if self.all_take_time() {
            self.add_lines_of_pairs();
        }
        !self.pairs.is_empty()
    }

    fn add_lines_of_pairs(&mut self) {
        let one = [self.read[0]; MAX_BITS];
        if self.types.is_empty() {
            self.pairs = vec![one.map(|delay| Delay { line: Line::PAIRS, ..delay })];
            return;
        }
        for _ in 0..MAX_BITS {
            let from = self.lines.count();
            self.pairs.push(std::array::from_fn(|read| Delay { line: Line(from + read as u32), ..self.read[read] }));
            self.lines.pairs += MAX_BITS as u32;
        }
    }

    /// True if there is nothing that takes no time at all.
    pub(super) fn all_take_time(&self) -> bool {
        let times = [&self.read[..], &self.program[..], &[self.erase], &self.data_out, &self.data_in];
        times.into_iter().flatten().all(|delay| delay.time > Duration::ZERO)
    }

    /// The read of a page that follows on the program of a page, by their offsets in their blocks.
    #[inline(always)]
    pub(super) fn read_behind(&self, program: impl FnOnce() -> Page, read: impl FnOnce() -> Page) -> Delay {
        if self.types.is_empty() {
            return self.pairs[0][0];
        }
        self.pairs[self.page_type(program())][self.page_type(read())]
    }

    /// Where a program waits for its end whose read does not take place.
    pub(super) fn line_of_program(&self) -> Line {
        self.program[0].line
    }

    /// A time that something else takes, such as a feature of the chip, with its line. There are no pairs yet.
    pub(super) fn delay(&mut self, time: Duration) -> Delay {
        self.lines.delay(time)
    }

    /// Lines of timers.
    pub(super) fn lines(&self) -> u32 {
        self.lines.count()
    }

    /// True if a command without data needs the channel at all.
    #[inline]
    pub(super) fn has_command_cycles(&self) -> bool {
        !self.command.is_empty()
    }

    /// The cycles of a command for so many pages, without data.
    #[inline]
    pub(super) fn command(&self, pages: usize) -> Delay {
        self.command[pages - 1]
    }

    /// The cycles and the data of a program of so many pages.
    #[inline]
    pub(super) fn data_in(&self, pages: usize) -> Delay {
        self.data_in[pages - 1]
    }

    /// The cycles of a copyback of so many pages.
    #[inline]
    pub(super) fn copy_command(&self, pages: usize) -> Delay {
        self.copy_command[pages - 1]
    }

    /// How long the cycles and the data of the largest program take, as they pass through channel or DRAM.
    pub(super) fn longest_data_in(&self) -> Duration {
        let pages = self.data_in.len() as u64;
        self.data_in.last().map_or(Duration::ZERO, |delay| delay.time.max(self.dram * pages))
    }

    /// The number of pages of a read that its next transfer sends. Map units that are parts of flash pages leave a die
    /// as one transfer; pages leave one by one.
    #[inline(always)]
    pub(super) fn sent_together(&self, plan: &impl Plan, command: &Command) -> usize {
        if plan.has().cycles && self.data_out.len() > 1 { command.len() } else { 1 }
    }

    /// The data of so many pages of a read that are sent together.
    #[inline]
    pub(super) fn data_out(&self, pages: usize) -> Delay {
        self.data_out[pages - 1]
    }

    /// The times of a page of a read.
    #[inline]
    pub(super) fn times_of_page(&self) -> PartTimes {
        PartTimes { out: self.data_out(1), dram: self.dram, ecc: self.ecc_page }
    }

    /// True if the correction of a page takes time.
    #[inline]
    pub(super) fn corrects(&self) -> bool {
        self.ecc > Duration::ZERO || self.ecc_page > Duration::ZERO
    }

    /// How long so many pages of a read take, or the cycles and the data of a program.
    #[inline]
    pub(super) fn transfer(&self, is_data_out: bool, pages: usize) -> Duration {
        if is_data_out { self.data_out(1).time * pages as u64 } else { self.data_in(pages).time }
    }

    /// The times of the array for a page of that offset in its block.
    #[inline(always)]
    pub(super) fn array(&self, kind: OpKind, page_offset: impl FnOnce() -> Page) -> Delay {
        let delays = match kind {
            OpKind::Read => &self.read,
            OpKind::Program => &self.program,
            OpKind::Erase => return self.erase,
        };
        if self.types.is_empty() { delays[0] } else { delays[self.page_type(page_offset())] }
    }

    /// The times of the array to copy a page between such offsets of two blocks.
    #[inline]
    pub(super) fn array_of_copyback(&self, from: Page, to: Page) -> Delay {
        if self.types.is_empty() { self.copy[0][0] } else { self.copy[self.page_type(from)][self.page_type(to)] }
    }

    #[inline]
    fn page_type(&self, page_offset: Page) -> usize {
        usize::from(self.types[page_offset.index()]) % MAX_BITS
    }
}

/// The time in which so many bytes pass at a rate in bytes per second.
pub(super) fn passing(bytes: u64, rate: u64) -> Duration {
    const PER_SECOND: u64 = 1_000_000_000;
    // Few requests have more than 18 GB.
    Duration(match bytes.checked_mul(PER_SECOND) {
        Some(whole) => whole.div_ceil(rate),
        None => (u128::from(bytes) * u128::from(PER_SECOND)).div_ceil(u128::from(rate)) as u64,
    })
}
