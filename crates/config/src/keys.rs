//! Every key, declared once: the reader takes types, ranges and defaults from here, and the reference page
//! is printed from here. The seams of `[ftl]` and the generators come from their own registries.

use base::{ARBITRATIONS, Cell, Choice, Multiplane, ProgramOrder};

use crate::Registry;
use crate::model::{
    BackwardsTime, Checks, Discards, Executor, HintSelect, OutOfRange, Payload, Priority, Replay, Retention,
};

/// Values that are one of a few names.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// Every value by name.
    const WORDS: &'static [(&'static str, Self)];

    /// The name.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

macro_rules! words {
    ($($type:ty { $($name:literal => $value:expr),+ $(,)? })+) => {
        $(impl Word for $type {
            const WORDS: &'static [(&'static str, $type)] = &[$(($name, $value)),+];
        })+
    };
}

words! {
    Cell { "slc" => Cell::Slc, "mlc" => Cell::Mlc, "tlc" => Cell::Tlc, "qlc" => Cell::Qlc }
    ProgramOrder { "consecutive" => ProgramOrder::Consecutive, "shadow" => ProgramOrder::Shadow }
    Multiplane { "off" => Multiplane::Off, "any" => Multiplane::Any, "pac" => Multiplane::Pac, "bac" => Multiplane::Bac }
    Retention { "1y" => Retention::Year, "3m" => Retention::ThreeMonths }
    Replay { "open" => Replay::Open, "closed" => Replay::Closed, "paced" => Replay::Paced, "batch" => Replay::Batch }
    Priority { "urgent" => Priority::Urgent, "weighted" => Priority::Weighted }
    OutOfRange { "wrap" => OutOfRange::Wrap, "clamp" => OutOfRange::Clamp, "reject" => OutOfRange::Reject }
    HintSelect { "round-robin" => HintSelect::RoundRobin, "random" => HintSelect::Random }
    Discards { "trim" => Discards::Trim, "ignore" => Discards::Ignore }
    BackwardsTime { "clamp" => BackwardsTime::Clamp, "reject" => BackwardsTime::Reject }
    Executor { "count" => Executor::Count, "timed" => Executor::Timed, "device" => Executor::Device }
    Checks { "fast" => Checks::Fast, "full" => Checks::Full }
    Payload { "none" => Payload::None, "stamp" => Payload::Stamp }
}

fn names<T: Word>() -> Vec<&'static str> {
    T::WORDS.iter().map(|(name, _)| *name).collect()
}

/// A depth without a limit.
pub(crate) const UNLIMITED: &str = "unlimited";

/// The values of a key.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A whole number.
    Count { min: u64, max: u64 },
    /// An array of whole numbers.
    Counts { min: u64, max: u64 },
    /// A whole number, or an array of one to so many.
    CountOrCounts { min: u64, max: u64, most: usize },
    /// An array of numbers.
    Numbers { min: f64, max: f64 },
    /// A number; `above` excludes the lower bound itself.
    Number { min: f64, max: f64, above: bool },
    /// A number, or a percentage as a text.
    Ratio { min: f64, max: f64 },
    /// `true` or `false`.
    Bool,
    /// One of a few names.
    Word(fn() -> Vec<&'static str>),
    /// One of the names of a registry.
    Name(&'static [&'static str]),
    /// A file.
    Path,
    /// Words of its own.
    Text,
    /// Bytes.
    Size { min: u64, max: u64, multiple: u64 },
    /// A time.
    Time { min: u64, max: u64 },
    /// One time, or one per page type.
    Times { min: u64, max: u64 },
    /// A channel rate.
    Rate { min: u64, max: u64 },
    /// A bandwidth, or `off`.
    Bandwidth { min: u64, max: u64 },
    /// A size or a multiple of the user capacity.
    Volume,
    /// A size or a part of the user capacity.
    Footprint,
    /// A choice of a registry.
    Choice(&'static [Choice]),
    /// `run.precondition`.
    Precondition,
    /// `device.wear.read_limit`.
    ReadLimit,
    /// A whole number, or `unlimited`.
    Depth { min: u64, max: u64 },
    /// `run.sample`.
    Part { max: u64 },
}

/// One key.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// The default as TOML; empty: none, or it follows from other keys, as `doc` says.
    pub(crate) default: &'static str,
    /// Meaning, one or two sentences.
    pub(crate) doc: &'static str,
}

impl Key {
    /// `device.timing.read`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// True if that is its path.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        path.strip_prefix(self.section).and_then(|path| path.strip_prefix('.')) == Some(self.name)
    }
}

/// The tables of a config file, each with its purpose.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    ("device", "The flash device. The defaults are the device of the preset `tbm-small`."),
    (
        "device.wear",
        "How worn the blocks are, what follows from it for copybacks, and what reads of a block do to its pages.",
    ),
    ("device.timing", "Times of the flash chips and of the controller."),
    (
        "ftl",
        "One choice per seam of the flash translation layer. A choice is a string, or carries parameters under its \
         own name.",
    ),
    ("host", "How requests are issued."),
    ("workload", "The requests of the host: a trace or a generator, and when it ends."),
    ("run", "Executor, seed, checks, and how the device is aged before the run (never counted in the results)."),
];

const SECOND: u64 = 1_000_000_000;
/// An hour: longer than any flash operation, short enough for a run of 2^32 of them to fit 64 bits.
const TIME_MAX: u64 = 3600 * SECOND;

/// With less, garbage collection has nothing to work with.
pub(crate) const BLOCKS_PER_PLANE_MIN: u64 = 4;
/// More than any plane has.
pub(crate) const BLOCKS_PER_PLANE_MAX: u64 = 1 << 20;

/// The most there can be: one page for the user, of all that 32 bits can number.
const OVER_PROVISIONING_MAX: f64 = 4_294_967_296.0;

/// More copybacks in a row than any flash takes.
const THRESHOLDS: Kind = Kind::Counts { min: 0, max: 1000 };

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count { min, max }
}

const fn key(section: &'static str, name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { section, name, kind, default, doc }
}

/// Keys of the generator, which a trace does not have.
pub(crate) const GENERATOR_ONLY: &[&str] = &[
    "workload.request_size",
    "workload.read_fraction",
    "workload.footprint",
    "workload.interval",
    "workload.poisson",
    "workload.idle_every",
    "workload.idle_for",
];

/// The keys that say when a generator's requests come. A closed loop does not look at it.
pub(crate) const ARRIVALS: &[&str] =
    &["workload.interval", "workload.poisson", "workload.idle_every", "workload.idle_for"];

/// Keys of a trace, which a generator does not have.
pub(crate) const TRACE_ONLY: &[&str] = &[
    "workload.trace_format",
    "workload.trace_columns",
    "workload.rounds",
    "workload.out_of_range",
    "workload.backwards_time",
    "workload.discards",
    "workload.skip_bad",
];

/// Where requests come from; a workload has one of them.
pub(crate) const SOURCES: &[&str] = &["workload.trace", "workload.generator", "workload.job"];

/// When a workload ends.
pub(crate) const ENDS: &[&str] = &["workload.volume", "workload.requests", "workload.rounds"];

const BEFORE_FEATURES: &[Key] = &[
    key("device", "channels", count(1, 256), "4", "Channels of the device."),
    key("device", "chips_per_channel", count(1, 256), "4", "Chips on each channel."),
    key("device", "dies_per_chip", count(1, 64), "2", "Dies of each chip."),
    key("device", "planes_per_die", count(1, 16), "2", "Planes of each die."),
    key(
        "device",
        "blocks_per_plane",
        count(BLOCKS_PER_PLANE_MIN, BLOCKS_PER_PLANE_MAX),
        "128",
        "Blocks of each plane. Default: where `user_capacity` is given, so many that the spare is at least \
         `over_provisioning`; 128 where it is not.",
    ),
    key(
        "device",
        "pages_per_block",
        count(1, 65_535),
        "256",
        "Pages of each block; a multiple of the bits per cell. The device has fewer than 2^32 - 1 pages in all.",
    ),
    key(
        "device",
        "page_size",
        Kind::Size { min: 512, max: 1 << 20, multiple: 512 },
        "\"8KiB\"",
        "Bytes of a flash page. The map has an entry for each `ftl.map_unit`.",
    ),
    key(
        "device",
        "cell",
        Kind::Word(names::<Cell>),
        "\"mlc\"",
        "Bits per cell: 1, 2, 3 or 4; so many page types there are.",
    ),
    key(
        "device",
        "program_order",
        Kind::Word(names::<ProgramOrder>),
        "\"consecutive\"",
        "How the pages of a block are numbered, and so programmed: `consecutive` pairs LSB 2k with MSB 2k + 1; \
         `shadow` is LSB0 LSB1 MSB0 LSB2 MSB1 …",
    ),
    key(
        "device",
        "multiplane",
        Kind::Word(names::<Multiplane>),
        "\"pac\"",
        "Multi-plane commands: none, with any addresses (`any`), with equal page offsets (`pac`), or with equal page and \
         block offsets (`bac`).",
    ),
];

const BEFORE_FTL: &[Key] = &[
    key(
        "device",
        "user_capacity",
        Kind::Size { min: 512, max: u64::MAX, multiple: 1 },
        "",
        "Bytes that the host may address, rounded down to whole pages. Default: from `over_provisioning`, rounded \
         down to a whole page.",
    ),
    key(
        "device",
        "over_provisioning",
        Kind::Ratio { min: 0.0, max: OVER_PROVISIONING_MAX },
        "0.07",
        "Spare ÷ user capacity (not spare ÷ raw capacity), as `0.07` or `\"7%\"`. Where `user_capacity` is given too, both must agree to \
         the digits written here (to 0.005 at least); the capacity decides.",
    ),
    key(
        "device.wear",
        "pe_cycles",
        count(0, 1_000_000),
        "0",
        "P/E cycles of every block at the start; erases of preconditioning and run come on top.",
    ),
    key(
        "device.wear",
        "cycles_per_erase",
        count(1, 10_000),
        "1",
        "P/E cycles that each erase of the run stands for, where blocks fail for good: with 50 a device comes to its end of \
         life after a 50th of its writes. `end_of_life` has the bytes of the whole life. Erases of preconditioning stand for themselves.",
    ),
    key(
        "device.wear",
        "retention",
        Kind::Word(names::<Retention>),
        "\"1y\"",
        "How long data have to be kept without power, a year or 3 months: which copyback thresholds hold that are not given.",
    ),
    key(
        "device.wear",
        "quality",
        Kind::Choice(base::wear::QUALITIES),
        "",
        "The quality of each block, drawn from the seed. It decides about copybacks alone.",
    ),
    key(
        "device.wear",
        "copyback_bands",
        Kind::Counts { min: 0, max: 1_000_000 },
        "[400, 1000, 2000, 3000, 4000, 5000]",
        "The copyback threshold of a block, which is how many copybacks in a row a page takes from such blocks, goes by its \
         P/E cycles: the most of each band, ascending. More worn blocks take none.",
    ),
    key("device.wear", "copyback_best", THRESHOLDS, "", "Copyback thresholds of the best blocks, one per band."),
    key(
        "device.wear",
        "copyback_median",
        THRESHOLDS,
        "",
        "Copyback thresholds of median blocks; none above the best blocks'.",
    ),
    key(
        "device.wear",
        "copyback_worst",
        THRESHOLDS,
        "",
        "Copyback thresholds of the worst blocks; none above the median blocks'.",
    ),
    key(
        "device.wear",
        "read_limit",
        Kind::ReadLimit,
        "\"none\"",
        "Number of page reads of its block that a page takes after it was programmed (read disturb): with all levels \
         of its cells in use, and where its wordline has guard levels, which is low density. The run fails at the \
         first read past the limit: see `ftl.read_disturb`. `none`: reads disturb nothing. `cell`: what is published \
         for `device.cell`: slc [1000000, 1000000], mlc [100000, 1000000], tlc [10000, 100000].",
    ),
    key(
        "device.wear",
        "reprogram_restarts",
        Kind::Bool,
        "false",
        "`true`: reads count anew once all wordlines of a full block are reprogrammed to low density; `false`: they \
         count on.",
    ),
    key(
        "device.wear",
        "reprogram_rates",
        Kind::Numbers { min: 0.0, max: 1.0 },
        "[0.0, 0.2]",
        "Reprogram wear is interpolated over the share of a block's cycles with a reprogram; these are the measured shares, \
         ascending. Below the first and above the last the nearest counts.",
    ),
    key(
        "device.wear",
        "reprogram_wear",
        Kind::Numbers { min: 1.0, max: 100.0 },
        "[2.0, 1.2]",
        "By share, the wear of such a cycle; other cycles count 1. The 1.2 from a share of 0.2 on is published; the 2.0 for a \
         block that was hardly ever reprogrammed, and the line between, are our assumption.",
    ),
    key(
        "device.timing",
        "read",
        Kind::Times { min: 1, max: TIME_MAX },
        "\"75us\"",
        "Array read time of a page: one, or one per page type, LSB first.",
    ),
    key(
        "device.timing",
        "program",
        Kind::Times { min: 1, max: TIME_MAX },
        "\"1600us\"",
        "Program time of a page: one, or one per page type, LSB first.",
    ),
    key("device.timing", "erase", Kind::Time { min: 1, max: TIME_MAX }, "\"5ms\"", "Erase time of a block."),
    key(
        "device.timing",
        "channel_rate",
        Kind::Rate { min: 1_000, max: 100_000_000_000 },
        "\"200MT/s\"",
        "Transfer rate of a channel, 8 bits wide: 200 MT/s move 200 MB/s.",
    ),
    key(
        "device.timing",
        "command_overhead",
        Kind::Time { min: 0, max: SECOND },
        "\"0ns\"",
        "Channel time of the command and address cycles of each flash command, before its data.",
    ),
    key(
        "device.timing",
        "dram_bandwidth",
        Kind::Bandwidth { min: 1_000, max: 10_000_000_000_000 },
        "\"off\"",
        "Bandwidth of the controller's DRAM, shared by all channels; `off`: no limit.",
    ),
    key(
        "device.timing",
        "ecc_latency",
        Kind::Time { min: 0, max: SECOND },
        "\"0ns\"",
        "Time from the end of a page's transfer until its data are corrected.",
    ),
    key(
        "device.timing",
        "ecc_bandwidth",
        Kind::Bandwidth { min: 1_000, max: 10_000_000_000_000 },
        "\"off\"",
        "Rate at which the controller corrects pages, one after the other for all channels, for the host and for what moves \
         off the chip; `ecc_latency` comes on top. `off`: no limit.",
    ),
];

/// Keys of `[[tenant]]`, besides those of a workload, of `replay` and of `queue_depth`.
pub(crate) const TENANT_KEYS: &[Key] = &[
    key("tenant", "name", Kind::Text, "", "Its name: letters, digits, `-` and `_`."),
    key("tenant", "label", Kind::Text, "", "Its name in tables, which others may have too. Default: `name`."),
    key("tenant", "joined", Kind::Bool, "false", "In tables it is in the row of the tenant before it."),
    key(
        "tenant",
        "namespace",
        Kind::Footprint,
        "",
        "Its own part of the addresses, a size or a part of the user capacity, behind those of the tenants before it; whole pages. \
         Default: all tenants share all addresses.",
    ),
    key(
        "tenant",
        "reclaim_group",
        count(0, 63),
        "",
        "The reclaim group that its namespace lies in, on dies of its own: from 0 on, below `ftl.separation.fdp.reclaim_groups`. Default: any that has \
         room. A drive without several ignores it.",
    ),
    key(
        "tenant",
        "weight",
        count(1, 255),
        "1",
        "Commands that the controller takes of it in a round (`host.arbitration = \"weighted\"`).",
    ),
    key(
        "tenant",
        "priority",
        Kind::Word(names::<Priority>),
        "\"weighted\"",
        "`urgent`: its commands go before those of all others (`host.arbitration = \"weighted\"`); `weighted`: they go by weight.",
    ),
    key(
        "tenant",
        "idle",
        Kind::Bool,
        "false",
        "It sends nothing, while its namespace stays: to see the others without it.",
    ),
    key(
        "tenant",
        "think",
        Kind::Time { min: 0, max: TIME_MAX },
        "\"0ns\"",
        "So long after a request is complete the next one takes its place (`closed` and `paced`); with `think_after`, so long after all are.",
    ),
    key(
        "tenant",
        "think_after",
        count(0, 1 << 32),
        "0",
        "Number of requests after which `think` passes, once all of them are complete; 0: each place thinks by itself.",
    ),
    key(
        "tenant",
        "refill",
        count(1, 65_536),
        "1",
        "Places are filled again when so many are free, or all that are taken are (`closed` and `paced`).",
    ),
    key(
        "tenant",
        "start",
        Kind::Time { min: 0, max: 24 * TIME_MAX },
        "\"0ns\"",
        "When it begins to send, after the beginning of the run, or of what `after` says.",
    ),
    key(
        "tenant",
        "after",
        Kind::Text,
        "",
        "It begins when these tenants have all their requests complete: their names with blanks between them. They stand before it.",
    ),
    key(
        "tenant",
        "ends_others",
        Kind::Bool,
        "false",
        "When it has all its requests complete, those send no more that began before.",
    ),
    key(
        "tenant",
        "duration",
        Kind::Time { min: 1, max: 24 * TIME_MAX },
        "",
        "So long after its start it sends no more: an end, beside those of its workload.",
    ),
    key(
        "tenant",
        "ramp",
        Kind::Time { min: 0, max: 24 * TIME_MAX },
        "\"0ns\"",
        "Requests that it sends in this time after its start are not in its figures; its WAF has all its pages.",
    ),
    key(
        "tenant",
        "steady",
        Kind::Text,
        "",
        "It sends no more once its figures are steady, as fio's `steadystate`: `iops`, `iops_slope`, `bw` or `bw_slope`, a colon, and a limit, \
    for example `iops_slope:0.3%`. Tenants that are `joined` to it are judged and end with it.",
    ),
    key(
        "tenant",
        "steady_window",
        Kind::Time { min: 1_000_000_000, max: 24 * TIME_MAX },
        "\"60s\"",
        "The seconds of samples that `steady` looks at, one for each.",
    ),
    key(
        "tenant",
        "steady_ramp",
        Kind::Time { min: 0, max: 24 * TIME_MAX },
        "\"0ns\"",
        "So long after its start `steady` takes no samples.",
    ),
];

const AFTER_FTL: &[Key] = &[
    key(
        "host",
        "replay",
        Kind::Word(names::<Replay>),
        "\"closed\"",
        "`open`: requests come at the workload's own times; `closed`: `queue_depth` requests are outstanding at all \
         times, and arrival times are ignored; `paced` (of `[[tenant]]`): at the workload's own times, or later, when fewer than \
         `queue_depth` are outstanding, and a latency begins then; `batch`: as `closed`, but the next request is sent only when the \
         write before it was accepted, by the write buffer or, without one, by flash.",
    ),
    key(
        "host",
        "queue_depth",
        Kind::Depth { min: 1, max: 65_536 },
        "",
        "Requests in the device at once, or `unlimited` (`open` only). Where it is not given an open loop is `unlimited`, as \
         NVMe is, and another has 32. Also `unlimited`, the device takes in no more while it holds 262,144 requests or pages of \
         them: it is overloaded then.",
    ),
    key(
        "host",
        "link",
        Kind::Bandwidth { min: 1_000, max: 10_000_000_000_000 },
        "\"off\"",
        "Bandwidth of the link between host and device, in each direction by itself (executor `timed`): data of writes pass it \
         before the device has them, data of reads after it read them. `off`: no limit.",
    ),
    key(
        "host",
        "command_time",
        Kind::Time { min: 0, max: SECOND },
        "\"0ns\"",
        "Time that the controller takes for each command of the host (executor `timed`): its fetch, the firmware's \
         work, its completion. It is added to the latency of every request; commands are under way at the same time.",
    ),
    key(
        "host",
        "command_interval",
        Kind::Time { min: 0, max: SECOND },
        "\"0ns\"",
        "How far apart the controller begins commands, at least (executor `timed`): 1 s divided by the most commands a second that its cores deal \
         with. `0ns`: no limit.",
    ),
    key(
        "host",
        "arbitration",
        Kind::Choice(ARBITRATIONS),
        "",
        "Whose command the controller takes next, where tenants have more outstanding than `queue_depth` lets into the device (with \
         `[[tenant]]`).",
    ),
    key(
        "host",
        "time_scale",
        Kind::Number { min: 0.0, max: 1e6, above: true },
        "1.0",
        "Arrival times are multiplied by this (`open` only): below 1 is faster.",
    ),
    key(
        "workload",
        "trace",
        Kind::Path,
        "",
        "A trace file, plain or compressed, its format detected by content; relative to the working directory. \
         Either this or `generator`.",
    ),
    key(
        "workload",
        "trace_format",
        Kind::Name(&[]),
        "",
        "The format of the trace, where its content is not to decide (trace). A `trace` of a later layer comes \
         without it.",
    ),
    key(
        "workload",
        "trace_columns",
        Kind::Text,
        "",
        "Which column of the trace is what, for a table in none of the formats (trace): `time=2:us,op=3,offset=5,size=6`, by \
         number from 1 or by name in the first row. Times are `s`, `ms`, `us`, `ns` or `100ns`; offset and size `B`, \
         `sector`, `KiB` or `4KiB`; an op is a word, or with `op=3:r0w1` or `r1w0` a number; `op=W` stands for all. Also `device`, `hint`, and \
         `separator`, such as `pipe`.",
    ),
    key("workload", "generator", Kind::Choice(&[]), "", "A seeded generator. Either this or `trace`."),
    key(
        "workload",
        "job",
        Kind::Text,
        "",
        "A job in words of fio, in place of `trace` and `generator`: `rw=randrw bs=4k/60:64k/40 size=1g loops=2`. `ftlab run --fio FILE \
         --write-config` writes one for each job of a job file. `rw`, `size`, `offset`, `io_size`, `number_ios`, `loops`, `randrepeat`, \
         `time_based`, `norandommap`, `random_distribution`, `percentage_random`, `rwmixread`, `rw_sequencer`, `fsync`, `fdatasync`, \
         `end_fsync`, `sync`, `rate`, `rate_iops`, `rate_process`, `verify_backlog`, `bs_is_seq_rand` and `bs_unaligned` are as in fio; `range`: the \
         bytes that it goes over, where these are not `size`; `verify=1`: what was written is read; `ioengine=psync`: loops are those of a \
         synchronous engine, which end with the addresses and not after `size` bytes. `bs`, `ba`, `rate`, `rate_iops` \
         and `percentage_random` have one value, or those of reads, writes and trims; `k`, `m`, `g` and `t` are powers of 1024.",
    ),
    key(
        "workload",
        "request_size",
        Kind::Size { min: 512, max: 1 << 30, multiple: 512 },
        "",
        "Bytes of every request (generator). Default: one page.",
    ),
    key(
        "workload",
        "read_fraction",
        Kind::Number { min: 0.0, max: 1.0, above: false },
        "0.0",
        "Fraction of the requests that are reads, 0 to 1 (generator).",
    ),
    key(
        "workload",
        "footprint",
        Kind::Footprint,
        "\"100%\"",
        "The address range used, from `address_offset` on: a size or a part of the user capacity (generator).",
    ),
    key(
        "workload",
        "interval",
        Kind::Time { min: 0, max: TIME_MAX },
        "\"0ns\"",
        "Mean time between arrivals; 0: all at once (generator). Refused, as are the three keys below, in a closed \
         loop with time, which does not wait for arrivals; a `replay` of a later layer takes their place.",
    ),
    key(
        "workload",
        "poisson",
        Kind::Bool,
        "false",
        "`true`: the intervals are exponentially distributed (a Poisson process); `false`: they are equal (generator).",
    ),
    key(
        "workload",
        "idle_every",
        count(0, 1 << 53),
        "0",
        "After so many requests comes an idle gap; 0: never (generator).",
    ),
    key(
        "workload",
        "idle_for",
        Kind::Time { min: 0, max: 24 * TIME_MAX },
        "\"0ns\"",
        "Length of that gap (generator).",
    ),
    key(
        "workload",
        "volume",
        Kind::Volume,
        "",
        "The workload ends when the host has written this much: a size, or a multiple of the user capacity. Of \
         several ends, the first counts; a generator needs one; a trace without any is replayed once.",
    ),
    key("workload", "requests", count(1, u64::MAX), "", "The workload ends after so many requests."),
    key("workload", "rounds", count(1, 1 << 53), "", "The workload ends after so many passes of the trace."),
    key(
        "workload",
        "address_offset",
        Kind::Size { min: 0, max: u64::MAX, multiple: 512 },
        "\"0B\"",
        "Added to every address, before `out_of_range` has its say: where a partition begins. With \"31.5KiB\", \
         sector 63, where Windows XP began the first one, every cluster of 4 KiB straddles a boundary of 4 KiB. \
         Less than the user capacity.",
    ),
    key(
        "workload",
        "out_of_range",
        Kind::Word(names::<OutOfRange>),
        "\"wrap\"",
        "Requests past the user capacity (trace, or generator with an `address_offset`): `wrap` takes addresses modulo the capacity, `clamp` cuts off what \
         lies past the end, `reject` stops with the line number (and refuses a generator that would get there). What \
         is moved, cut or dropped is counted in the \
         summary.",
    ),
    key(
        "workload",
        "backwards_time",
        Kind::Word(names::<BackwardsTime>),
        "\"clamp\"",
        "Times before their predecessor's (trace): `clamp` gives them the latest time so far and counts them, \
         `reject` stops with the line number.",
    ),
    key(
        "workload",
        "discards",
        Kind::Word(names::<Discards>),
        "\"trim\"",
        "Effect of the trace's discards (trace): `trim` unmaps their pages, `ignore` leaves them out and counts them, \
         as a host that mounts without discards.",
    ),
    key(
        "workload",
        "skip_bad",
        Kind::Bool,
        "false",
        "`true`: lines that cannot be read are skipped and counted; `false`: the run stops at the first (trace).",
    ),
    key(
        "workload",
        "hint",
        Kind::CountOrCounts { min: 0, max: u16::MAX as u64, most: 128 },
        "0",
        "Where its writes are wanted that do not say it themselves: a stream, a placement identifier or a lifetime, by what \
         `ftl.separation` has for hints; 0: nothing is said. Of an array each write takes one. A drive without any ignores it.",
    ),
    key(
        "workload",
        "hint_select",
        Kind::Word(names::<HintSelect>),
        "\"round-robin\"",
        "Which of several hints a write takes: `round-robin`, the one behind that of the write before; `random`, any.",
    ),
    key(
        "workload",
        "hint_parts",
        count(1, 1024),
        "1",
        "The user capacity (of a tenant: its namespace) in so many equal parts, as files or partitions: `hint` is that of the first, \
         one more that of the next, and so on. A write goes by its first byte.",
    ),
    key(
        "run",
        "executor",
        Kind::Word(names::<Executor>),
        "\"timed\"",
        "`count`: no time, for write amplification and wear. `timed`: discrete events, for latency and throughput too. \
         `device`: as `count`, with real bytes in an image that are checked when they are read, and a restart at the end.",
    ),
    key("run", "seed", count(0, u64::MAX), "1", "All random numbers are derived from it."),
    key(
        "run",
        "checks",
        Kind::Word(names::<Checks>),
        "\"fast\"",
        "`fast`: the rules of the NAND array; `full`: also the whole state after every garbage collection.",
    ),
    key(
        "run",
        "payload",
        Kind::Word(names::<Payload>),
        "\"none\"",
        "Content of a page: nothing, or a stamp of 8 bytes that shows lost and stale data.",
    ),
    key(
        "run",
        "latency_parts",
        Kind::Bool,
        "false",
        "`true`: the latencies of reads and writes are split by what they waited for (`timed`), for `ftlab \
         explain-tail` and the table `latency_parts`. The figures are the same with it; the run takes longer.",
    ),
    key(
        "run",
        "per_request",
        Kind::Bool,
        "false",
        "`true`: the results have a row for every read and write (`timed`), with the parts of its latency: the table \
         `requests`. Takes some 900 bytes of memory for each.",
    ),
    key(
        "run",
        "precondition",
        Kind::Precondition,
        "\"none\"",
        "`none`: pristine. `sequential = VOLUME`: every page in address order, then on around. `random = VOLUME`: a \
         sequential fill, then so much written at random. `worn = VOLUME`: so much written at random, then everything \
         trimmed: blocks were erased, frontiers stand where they came to, and no page is mapped. `steady`: a sequential fill, then random writes until the \
         WAF of successive windows of one user capacity, in which blocks were erased, agrees to 1 %. `workload`: a sequential fill, then the writes of the workload, \
         and of a trace its discards too, in rounds, until their WAF holds still (docs/ftl.md). `state = FILE`: what an earlier run saved.",
    ),
    key(
        "run",
        "sample",
        Kind::Part { max: 65_536 },
        "\"off\"",
        "A part of the device in place of the whole, as `\"1/64\"`: a 64th of the blocks, under the requests to a 64th of the \
         places, which a hash chooses. For WAF and wear (`count`); docs/sweeps.md says how near it comes.",
    ),
    key(
        "run",
        "sample_hashes",
        count(1, 65_536),
        "4",
        "Samples that are run, each of other places. WAF is that of all together, with its standard error: `sample` in the \
         summary.",
    ),
    key(
        "run",
        "sample_run",
        Kind::Size { min: 512, max: 1 << 30, multiple: 512 },
        "",
        "Bytes that are in a sample, or not in it, together (trace); whole pages. Default: one page. More puts pages onto one \
         plane that the whole device has on several.",
    ),
];

/// Every key, in the order of a resolved config.
pub(crate) fn keys(registry: &Registry) -> Vec<Key> {
    let features = registry.features.iter().map(|feature| Key {
        section: "device",
        name: feature.key,
        kind: Kind::Choice(feature.choices),
        default: "",
        doc: feature.doc,
    });
    let seams = registry.seams.iter().map(|seam| Key {
        section: "ftl",
        name: seam.key,
        kind: Kind::Choice(seam.choices),
        default: "",
        doc: seam.doc,
    });
    let workload = |key: &Key| match key.kind {
        Kind::Choice(_) if key.section == "workload" => Key { kind: Kind::Choice(registry.generators), ..*key },
        Kind::Name(_) => Key { kind: Kind::Name(registry.trace_formats), ..*key },
        _ => *key,
    };
    let device = BEFORE_FEATURES.iter().copied().chain(features).chain(BEFORE_FTL.iter().copied());
    device.chain(seams).chain(AFTER_FTL.iter().map(workload)).chain(TENANT_KEYS.iter().copied()).collect()
}

/// True for an order of the letters C, W, D and P: an allocation that a formula of the LPN makes.
pub(crate) fn is_static_order(allocation: &str) -> bool {
    let mut letters: Vec<char> = allocation.chars().collect();
    letters.sort_unstable();
    letters == ['C', 'D', 'P', 'W']
}
