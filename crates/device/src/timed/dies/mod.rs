//! Dies and channels: what each is doing, and how long things take. What a free die does next is in `choice`, what
//! goes into its command in `commands`, and how that goes through channel and array in `passage`.

mod choice;
mod commands;
mod passage;

use base::{Cause, Duration, InStep, OpKind, PageLayout, Ppn};
use config::model;
use ftl::{GcStep, Group};

use super::Timed;
use super::queues::List;
use crate::flash::Content;

/// Planes that a multi-plane command covers at most; the configuration allows no more per die.
const MAX_PLANES: usize = 16;

/// How long things take.
pub(super) struct Timing {
    /// By page offset.
    read: Vec<Duration>,
    /// By page offset.
    program: Vec<Duration>,
    erase: Duration,
    transfer: Duration,
    command: Duration,
    /// Time that a page takes of the controller's DRAM.
    dram: Duration,
    ecc: Duration,
}

impl Timing {
    /// The times of pages as the FTL sees them. Channels in step carry their parts of a superpage at the same time;
    /// planes in step take command cycles and data one after the other, and all go through one DRAM.
    pub(super) fn new(device: &model::Device, in_step: InStep, layout: &PageLayout) -> Timing {
        let timing = &device.timing;
        let by_page = |times: &[Duration]| {
            (0..device.pages_per_block).map(|page| times[usize::from(layout.page_type(page).0)]).collect()
        };
        let at_rate = |pages: u32, rate: u64| {
            let bytes = u128::from(device.page_size) * u128::from(pages);
            Duration((bytes * 1_000_000_000).div_ceil(u128::from(rate)) as u64)
        };
        Timing {
            read: by_page(&timing.read),
            program: by_page(&timing.program),
            erase: timing.erase,
            transfer: at_rate(in_step.planes, timing.channel_rate),
            command: timing.command_overhead * u64::from(in_step.planes),
            dram: timing.dram_bandwidth.map_or(Duration::ZERO, |rate| at_rate(in_step.lanes(), rate)),
            ecc: timing.ecc_latency,
        }
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
        correcting: 0,
        reads: List::EMPTY,
        items: [Item { ppn: Ppn(0), what: 0 }; MAX_PLANES],
    };

    fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    fn begin(&mut self, kind: OpKind, cause: Cause) {
        (self.kind, self.cause, self.count, self.sent) = (kind, cause, 0, 0);
    }

    fn add(&mut self, ppn: Ppn, what: u32) {
        self.items[usize::from(self.count)] = Item { ppn, what };
        self.count += 1;
    }
}

/// A channel: who holds it, and who waits for it in order of asking.
#[derive(Clone, Default)]
pub(super) struct Channel {
    holder: Option<u32>,
    /// Dies that wait to be sent a command without data. They go first: a command is short, and until it has
    /// it the die's array stands still.
    commands: std::collections::VecDeque<u32>,
    waiting: std::collections::VecDeque<u32>,
}

/// What a collection has in the controller between a read and a program, besides their contents. Laid out with
/// what every step touches first.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Collection {
    /// What is done with the group.
    step: GcStep,
    /// How many of the group's pages were read.
    read: u8,
    /// How many of them are on their way or being corrected.
    correcting: u8,
    /// The pages that move together.
    group: Group,
}

impl Collection {
    pub(super) const NONE: Collection = Collection { step: GcStep::Copy, read: 0, correcting: 0, group: Group::EMPTY };

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
    pages: Vec<Content>,
}

impl Contents {
    /// A group has a page per lane of the unit, or the two that a parity covers.
    pub(super) fn new(domains: u32, unit_width: u32) -> Contents {
        let lanes = (unit_width as usize).max(2);
        Contents { lanes, pages: vec![Content::EMPTY; domains as usize * lanes] }
    }

    #[inline]
    fn of(&self, domain: u32) -> &[Content] {
        &self.pages[domain as usize * self.lanes..][..self.lanes]
    }

    #[inline]
    fn of_mut(&mut self, domain: u32) -> &mut [Content] {
        &mut self.pages[domain as usize * self.lanes..][..self.lanes]
    }
}

/// Where corrected data go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delivery {
    Transaction(u32),
    Collection(u32),
}
