//! The resolved configuration: plain data, validated, with every default filled in.
//!
//! Sizes are bytes, times integer nanoseconds, rates bytes per second. Nothing downstream reads what the
//! user wrote; everything reads this.

use base::{
    Cell, Choices, CopybackTable, Duration, InStep, Multiplane, ProgramOrder, ReadLimits, ReprogramWear, Selection,
};

use crate::units;

/// One simulation, completely described.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The flash device.
    pub device: Device,
    /// The policies of the FTL and the scheduler: one choice per seam.
    pub ftl: Choices,
    /// How the host issues requests.
    pub host: Host,
    /// The requests of the host.
    pub workload: Workload,
    /// Executor, seed, checks and preconditioning.
    pub run: Run,
}

impl Config {
    /// Which channels and planes are in step.
    pub fn in_step(&self) -> InStep {
        in_step(&self.device, &self.ftl)
    }
}

/// Which channels and planes a reclaim unit keeps in step, or a map unit that is a flash page of each plane of a die.
pub(crate) fn in_step(device: &Device, ftl: &Choices) -> InStep {
    let unit = ftl.get("reclaim_unit");
    if unit.name != "superblock" {
        return InStep { channels: 1, planes: if is_of_all_planes(device, ftl) { device.planes_per_die } else { 1 } };
    }
    let over = unit.word("over");
    InStep {
        channels: if over.starts_with("channels") { device.channels } else { 1 },
        planes: if over.ends_with("planes") { device.planes_per_die } else { 1 },
    }
}

/// True if a map unit is a flash page of each plane of a die.
fn is_of_all_planes(device: &Device, ftl: &Choices) -> bool {
    let row = u64::from(device.page_size) * u64::from(device.planes_per_die);
    device.planes_per_die > 1 && units::size(ftl.get("map_unit").name) == Ok(row)
}

/// `[device]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Channels of the device.
    pub channels: u32,
    /// Chips on each channel.
    pub chips_per_channel: u32,
    /// Dies of each chip.
    pub dies_per_chip: u32,
    /// Planes of each die.
    pub planes_per_die: u32,
    /// Blocks of each plane.
    pub blocks_per_plane: u32,
    /// Pages of each block; a multiple of the bits per cell.
    pub pages_per_block: u32,
    /// Bytes of a page; a multiple of 512.
    pub page_size: u32,
    /// Bits per cell.
    pub cell: Cell,
    /// In which order the pages of a block are numbered.
    pub program_order: ProgramOrder,
    /// Which multi-plane commands the chips accept.
    pub multiplane: Multiplane,
    /// The features of the chips.
    pub features: Choices,
    /// Bytes that the host may address; a multiple of the page size.
    pub user_capacity: u64,
    /// Spare ÷ user capacity (not spare ÷ raw capacity).
    pub over_provisioning: f64,
    /// `[device.wear]`.
    pub wear: Wear,
    /// `[device.timing]`.
    pub timing: Timing,
}

impl Device {
    /// Blocks of the device.
    pub fn blocks(&self) -> u64 {
        let counts =
            [self.channels, self.chips_per_channel, self.dies_per_chip, self.planes_per_die, self.blocks_per_plane];
        counts.into_iter().map(u64::from).product()
    }
}

/// How long data have to be kept without power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// A year.
    Year,
    /// Three months.
    ThreeMonths,
}

/// `[device.wear]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Wear {
    /// P/E cycles of every block at the start.
    pub pe_cycles: u32,
    /// P/E cycles that each erase of the run stands for.
    pub cycles_per_erase: u32,
    /// The qualities of blocks, from [`base::wear::QUALITIES`].
    pub quality: Selection,
    /// How long data have to be kept: where the thresholds are from that were not given.
    pub retention: Retention,
    /// Copyback thresholds.
    pub copyback: CopybackTable,
    /// Page reads of its block that a page takes at full and at low density; `None`: reads disturb nothing.
    pub read_limit: Option<[u32; 2]>,
    /// Reads count anew once a block is reprogrammed.
    pub reprogram_restarts: bool,
    /// The wear of P/E cycles with reprogramming.
    pub reprogram: ReprogramWear,
}

impl Wear {
    /// The limits of reads; `None`: reads disturb nothing.
    pub fn read_limits(&self) -> Option<ReadLimits> {
        let [full, low] = self.read_limit?;
        Some(ReadLimits { full, low, restarts: self.reprogram_restarts, wear: self.reprogram.clone() })
    }
}

/// `[device.timing]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// Array read time by page type, LSB first; one entry per bit of the cell.
    pub read: Vec<Duration>,
    /// Program time by page type, LSB first; one entry per bit of the cell.
    pub program: Vec<Duration>,
    /// Block erase time.
    pub erase: Duration,
    /// Bytes per second of a channel (8 bits wide: 200 MT/s is 200 000 000).
    pub channel_rate: u64,
    /// Channel time that the command and address cycles of each flash command take, before its data.
    pub command_overhead: Duration,
    /// Bytes per second of the controller's DRAM, shared by all channels; `None`: not a limit.
    pub dram_bandwidth: Option<u64>,
    /// Time from the end of a page's transfer until its data are corrected.
    pub ecc_latency: Duration,
    /// Bytes per second that the controller corrects, for all channels; `None`: not a limit.
    pub ecc_bandwidth: Option<u64>,
}

/// How requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// At the workload's own times (× `time_scale`); what does not fit a limited queue waits outside, and its latency counts
    /// from its own time.
    Open,
    /// `queue_depth` requests are outstanding at all times; arrival times are ignored.
    Closed,
    /// At the workload's own times, or when fewer than `queue_depth` are outstanding if that is later; latencies begin then. Of
    /// tenants only.
    Paced,
    /// As [`Replay::Closed`], but no request is sent before the last write was accepted: as fast as the write
    /// buffer accepts.
    Batch,
}

/// `[host]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Open or closed loop.
    pub replay: Replay,
    /// Requests in the device at once; `None`: no limit, in an open loop only.
    pub queue_depth: Option<u32>,
    /// Bytes per second of the link to the host, in each direction; `None`: not a limit.
    pub link: Option<u64>,
    /// Time of the controller for each command.
    pub command_time: Duration,
    /// From one command to the next, at least.
    pub command_interval: Duration,
    /// Arrival times are multiplied by this (open loop): below 1 is faster.
    pub time_scale: f64,
    /// Whose command the controller takes next, from [`base::ARBITRATIONS`]; there is a choice among tenants only.
    pub arbitration: Selection,
}

impl Host {
    /// A host whose commands and data take no time on their way, at the workload's own pace if the loop is open.
    pub fn new(replay: Replay, queue_depth: Option<u32>) -> Host {
        let none = Duration::ZERO;
        let arbitration = Selection::default_of(&base::ARBITRATIONS[0]);
        Host {
            replay,
            queue_depth,
            link: None,
            command_time: none,
            command_interval: none,
            time_scale: 1.0,
            arbitration,
        }
    }
}

/// The treatment of a request that reaches past the end of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfRange {
    /// Addresses are taken modulo the user capacity; a request that straddles the end is cut there and
    /// goes on at address 0.
    Wrap,
    /// The part past the end is cut off; a request wholly past the end is dropped and counted.
    Clamp,
    /// The run stops with the line number.
    Reject,
}

/// The treatment of a request whose time is before its predecessor's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackwardsTime {
    /// It is given the latest time seen so far.
    Clamp,
    /// The run stops with the line number.
    Reject,
}

/// The treatment of a discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discards {
    /// Its pages are unmapped.
    Trim,
    /// It is left out, and counted.
    Ignore,
}

/// The hint that a write takes of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HintSelect {
    /// The one behind that of the write before.
    RoundRobin,
    /// Any, each as likely as another.
    Random,
}

/// `[workload]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Where requests come from.
    pub source: Source,
    /// When the workload is over; whichever comes first. All `None`: one pass of a trace.
    pub end: End,
    /// The format of the trace; `None`: as its content says.
    pub trace_format: Option<&'static str>,
    /// Which column of the trace is what, for a trace in none of the formats.
    pub trace_columns: Option<String>,
    /// Bytes added to every address, a multiple of 512 and less than the user capacity: where the partition
    /// begins that the workload was meant for.
    pub address_offset: u64,
    /// Requests past the end of the device (traces, and generators with an address offset).
    pub out_of_range: OutOfRange,
    /// Times that run backwards (traces).
    pub backwards_time: BackwardsTime,
    /// Discards (traces).
    pub discards: Discards,
    /// Skip lines that cannot be read, and count them, instead of stopping at the first.
    pub skip_bad: bool,
    /// Where writes are wanted that do not say it themselves: see [`base::Request::hint`]. One, or several that writes take in turns.
    pub hint: Vec<u16>,
    /// Which of several is the next one's.
    pub hint_select: HintSelect,
    /// Equal parts of the addresses, each of which has the hint of the one before and one more.
    pub hint_parts: u16,
    /// The places that are sampled, on a device that is a part of the whole; `None`: all. No key: [`crate::sample::part`].
    pub share: Option<PlaceShare>,
}

impl Workload {
    /// The namespaces that lie in a reclaim group each, with the number of that.
    pub fn in_reclaim_groups(&self) -> impl Iterator<Item = (Namespace, u32)> + '_ {
        let tenants = if let Source::Tenants(tenants) = &self.source { &tenants[..] } else { &[] };
        tenants.iter().filter_map(|tenant| tenant.namespace.zip(tenant.reclaim_group))
    }

    /// These requests, with nothing else said: no end, all of the device, every key at its default.
    pub fn of(source: Source) -> Workload {
        Workload {
            source,
            end: End::default(),
            trace_format: None,
            trace_columns: None,
            address_offset: 0,
            out_of_range: OutOfRange::Wrap,
            backwards_time: BackwardsTime::Clamp,
            discards: Discards::Trim,
            skip_bad: false,
            hint: vec![0],
            hint_select: HintSelect::RoundRobin,
            hint_parts: 1,
            share: None,
        }
    }
}

/// The places of a whole device that one sample of them has.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceShare {
    /// One place in so many is sampled.
    pub one_in: u32,
    /// Of as many shares that are the whole together, this one.
    pub number: u32,
    /// Bytes that are in or out together.
    pub run: u64,
    /// The hash of places follows from it.
    pub seed: u64,
    /// Bytes that the host may address of the whole.
    pub whole_capacity: u64,
    /// When the workload of the whole ends.
    pub whole_end: End,
}

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A trace file, replayed in rounds.
    Trace {
        /// The file.
        path: String,
    },
    /// A seeded generator.
    Generator(Generator),
    /// A job in words of fio.
    Job {
        /// The words, with their values.
        text: String,
    },
    /// Hosts that share the device, in the order of their namespaces; at least one, at most 256.
    Tenants(Vec<Tenant>),
}

impl Source {
    /// True for a job that goes on until its time is over.
    pub fn is_endless(&self) -> bool {
        matches!(self, Source::Job { text } if text.split_whitespace().any(|word| word == "time_based=1"))
    }
}

/// `[[tenant]]`: a host among several.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// Its name, unlike the others'.
    pub name: String,
    /// Its name in tables, which others may have too; empty: its own.
    pub label: String,
    /// It is in the row of the tenant before it.
    pub is_joined: bool,
    /// Commands that are taken of it in a round, under weighted arbitration.
    pub weight: u32,
    /// Under weighted arbitration, before whom its commands go.
    pub priority: Priority,
    /// Its own part of the addresses; `None`: it shares all of them with the others.
    pub namespace: Option<Namespace>,
    /// The reclaim group in which its namespace lies, where the drive has several; `None`: whichever has room.
    pub reclaim_group: Option<u32>,
    /// It sends nothing; its namespace stays.
    pub is_idle: bool,
    /// Open or closed loop.
    pub replay: Replay,
    /// Requests that it has sent and that are not complete, at most; `None`: no limit, in an open loop only.
    pub queue_depth: Option<u32>,
    /// So long after a request is complete the next one takes its place, but in an open loop.
    pub think: Duration,
    /// Requests of a burst: all are sent and complete, then `think` passes. `None`: each place thinks by itself.
    pub think_after: Option<u64>,
    /// Places are filled again when so many are free.
    pub refill: u32,
    /// When it begins to send, from the beginning of the run or from when those of `after` are done.
    pub start: Duration,
    /// The tenants that it waits for, by their places among all of them.
    pub after: Vec<usize>,
    /// When it is done, those that began before send no more.
    pub ends_others: bool,
    /// So long after that it sends no more, if its workload does not end before.
    pub duration: Option<Duration>,
    /// Requests of so long after its start are not in its figures.
    pub ramp: Duration,
    /// It sends no more once its figures are steady, and with it those that are joined to it.
    pub steady: Option<Steady>,
    /// Its requests, in addresses of its namespace. Without an end it goes on for as long as the others.
    pub workload: Workload,
}

/// The figure that is to be steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyFigure {
    /// The largest deviation of requests a second from their mean.
    Iops,
    /// The slope of requests a second.
    IopsSlope,
    /// The largest deviation of bytes a second from their mean.
    Bw,
    /// The slope of bytes a second.
    BwSlope,
}

impl SteadyFigure {
    /// All of them, with fio's words.
    pub const ALL: [(&'static str, SteadyFigure); 4] = [
        ("iops", SteadyFigure::Iops),
        ("iops_slope", SteadyFigure::IopsSlope),
        ("bw", SteadyFigure::Bw),
        ("bw_slope", SteadyFigure::BwSlope),
    ];

    /// True for a figure of bytes.
    pub fn is_of_bytes(self) -> bool {
        matches!(self, SteadyFigure::Bw | SteadyFigure::BwSlope)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        SteadyFigure::ALL.iter().find(|(_, figure)| *figure == self).expect("all have one").0
    }
}

/// When figures count as steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The figure that is judged.
    pub figure: SteadyFigure,
    /// The value that it stays below: in samples a second, for a slope by the second.
    pub limit: f64,
    /// The limit is in per cent of the mean.
    pub is_share: bool,
    /// The time that is looked at, whole seconds.
    pub window: Duration,
    /// So long after the start nothing is looked at.
    pub ramp: Duration,
}

/// A part of the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its first byte.
    pub first: u64,
    /// Its length in bytes, whole pages.
    pub bytes: u64,
}

/// The class of a tenant's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// They go before those of all others.
    Urgent,
    /// They go by weight.
    Weighted,
}

/// A synthetic workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// Name and parameters, from the workload registry: `uniform`, `sequential`, `zipf`, `hot-cold`, `mixed`, `shuffled`, `pareto`, `zoned`.
    pub pattern: Selection,
    /// Bytes of every request.
    pub request_size: u64,
    /// Fraction of requests that are reads, 0..1.
    pub read_fraction: f64,
    /// Bytes of the address range used, before the workload's address offset is added.
    pub footprint: u64,
    /// Mean time between arrivals; zero: all at once (a closed loop ignores it).
    pub interval: Duration,
    /// Gaps are exponentially distributed (a Poisson process) instead of equal.
    pub poisson: bool,
    /// After this many requests comes an idle gap; 0: never.
    pub idle_every: u64,
    /// The length of that gap.
    pub idle_for: Duration,
}

/// When a workload ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct End {
    /// After this many bytes written by the host.
    pub volume: Option<u64>,
    /// After this many requests.
    pub requests: Option<u64>,
    /// After this many passes of the trace.
    pub rounds: Option<u64>,
}

/// Which executor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// No time: a command ends when it is issued.
    Count,
    /// Discrete events, integer nanoseconds.
    Timed,
    /// No time, and real bytes in an image.
    Device,
}

/// How much is checked while running. The NAND array's own rules are always enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// The array's rules.
    Fast,
    /// Also the whole state after every garbage collection (valid counts, map against reverse map, free pools).
    Full,
}

/// The content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// No content.
    None,
    /// 8 bytes: logical page and version, so that lost or stale data are seen.
    Stamp,
}

/// How the device is aged before the run. Never counted in the results.
#[derive(Clone, Debug, PartialEq)]
pub enum Precondition {
    /// Pristine.
    None,
    /// Every page once in address order, then on around, until this many bytes are written.
    Sequential {
        /// Bytes.
        volume: u64,
    },
    /// A sequential fill, then uniformly random pages until this many bytes are written.
    Random {
        /// Bytes of random writes.
        volume: u64,
    },
    /// Uniformly random pages until this many bytes are written, then everything is trimmed.
    Worn {
        /// Bytes of random writes.
        volume: u64,
    },
    /// A sequential fill, then random writes until the WAF of successive windows of one logical capacity
    /// agrees to 1 %.
    Steady,
    /// A sequential fill, then the workload itself until its WAF holds still.
    Workload,
    /// From a file that an earlier run saved.
    State {
        /// The file.
        path: String,
    },
}

/// A sample of the places of a device, for `run.sample`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// One place in so many; at least 2.
    pub one_in: u32,
    /// Samples that are run, `one_in` at most.
    pub hashes: u32,
    /// Bytes that are in or out together; a multiple of the page size.
    pub run: u64,
}

/// `[run]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Which executor.
    pub executor: Executor,
    /// From which all random numbers are derived.
    pub seed: u64,
    /// How much is checked.
    pub checks: Checks,
    /// The content of a page.
    pub payload: Payload,
    /// Latencies are split by what requests waited for.
    pub latency_parts: bool,
    /// The results have every read and write, with the parts of its latency.
    pub per_request: bool,
    /// How the device is aged.
    pub precondition: Precondition,
    /// Parts of the device are simulated in place of the whole: whoever runs it makes them, with [`crate::sample::part`].
    pub sample: Option<Sample>,
}

impl Run {
    /// The name of the executor, if it is one without time.
    pub fn timeless(&self) -> Option<&'static str> {
        match self.executor {
            Executor::Count => Some("count"),
            Executor::Device => Some("device"),
            Executor::Timed => None,
        }
    }

    /// True if latencies are split, for themselves or for the rows of requests.
    pub fn splits_latencies(&self) -> bool {
        self.latency_parts || self.per_request
    }
}
