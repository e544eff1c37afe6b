//! The faults of traces and workloads. Each message says where, what was found and what would
//! be right.

use std::io;
use std::path::Path;

use engine::memory::{Room, in_words};
use files::Interrupt;
use thiserror::Error;

/// A trace that cannot be read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file system refused.
    #[error("{path}: {what}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The action that failed.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Somebody wanted to stop.
    #[error("{path}: stopped before the end")]
    Stopped {
        /// The file.
        path: String,
    },
    /// A decoder refused.
    #[error(
        "{path}: {packer} data are damaged or cut short: {source}\nhint: get the file again; `{packer} -t` tests it"
    )]
    Damaged {
        /// The file.
        path: String,
        /// The way in which it is packed.
        packer: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The path names a directory.
    #[error("{path}: is a directory; expected a trace file")]
    Directory {
        /// The path.
        path: String,
    },
    /// No bytes in the file.
    #[error("{path}: the file is empty; expected a trace with at least one request")]
    Empty {
        /// The file.
        path: String,
    },
    /// The file's beginning is in no format known here.
    #[error(
        "{path}: not a trace in a known format: it begins with `{excerpt}`; expected one of {known}\n\
         hint: of any other table, `--columns time=1:us,op=2,offset=3,size=4` (`workload.trace_columns`) says which column is what; \
         `op=W` stands for all where there is no column of operations"
    )]
    UnknownFormat {
        /// The file.
        path: String,
        /// Its first line, shortened.
        excerpt: String,
        /// The names of the formats.
        known: String,
    },
    /// A recording of which another tool makes a trace.
    #[error("{path}: {what}; expected a trace\nhint: {remedy}")]
    Foreign {
        /// The file.
        path: String,
        /// The recording.
        what: &'static str,
        /// The tool.
        remedy: String,
    },
    /// A format was asked for by a name that does not exist.
    #[error("unknown trace format `{name}`; expected one of {known}")]
    NoSuchFormat {
        /// The wish of the user.
        name: String,
        /// The names of the formats.
        known: String,
    },
    /// Columns that are none.
    #[error(
        "{path}: the columns `{columns}` cannot be read: {what}; expected, for example, `time=2:us,op=3,offset=5,size=6`, by \
         number from 1 or by name in the first row"
    )]
    Columns {
        /// The wish of the user.
        columns: String,
        /// The file.
        path: String,
        /// The fault.
        what: String,
    },
    /// A line that is not as its format says.
    #[error("{path}:{line}: bad {format} {kind}: {what}, found `{excerpt}`; expected {expected}")]
    BadLine {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The format's name.
        format: &'static str,
        /// A line of text, or a record of bytes.
        kind: &'static str,
        /// The fault.
        what: &'static str,
        /// The line, shortened.
        excerpt: String,
        /// An example of a line of this format.
        expected: &'static str,
    },
    /// Bad lines are skipped, but there is nothing else.
    #[error(
        "{path}: not a trace in the format `{format}`: {bad} bad lines and no request among the first {lines} lines; expected \
         {expected}"
    )]
    AllBad {
        /// The file.
        path: String,
        /// The format's name.
        format: &'static str,
        /// Bad lines so far.
        bad: u64,
        /// Lines so far.
        lines: u64,
        /// An example of a line of this format.
        expected: &'static str,
    },
    /// Bad lines are skipped, but this one has no end.
    #[error("{path}:{line}: a line of more than 64 MiB ({format}); expected a text of lines")]
    Endless {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// The format's name.
        format: &'static str,
    },
    /// Much was read, and nothing of it was a request.
    #[error("{path}: no request in the first 4 GiB ({format}); expected a trace")]
    NothingYet {
        /// The file.
        path: String,
        /// The format's name.
        format: &'static str,
    },
    /// The file is in order but holds no request.
    #[error(
        "{path}: no request among its {lines} lines ({format}); expected at least one read, write, discard or flush"
    )]
    NoRequests {
        /// The file.
        path: String,
        /// The format's name.
        format: &'static str,
        /// Lines read.
        lines: u64,
    },
    /// A request is earlier than its predecessor by more than the reordering window can mend.
    #[error(
        "{path}:{line}: time runs backwards by {by_ns} ns, beyond the reordering window of {window} requests; \
         expected times in order, or `backwards_time = \"clamp\"`"
    )]
    Backwards {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// How far back, in nanoseconds.
        by_ns: u64,
        /// The window, in requests.
        window: usize,
    },
    /// A file that cannot be opened a second time.
    #[error("{path}: not a regular file, so it can be read once only; expected a file for a replay in rounds")]
    OneWay {
        /// The file.
        path: String,
    },
    /// The facts about a trace do not fit in memory.
    #[error(
        "{path}:{line}: the pages touched so far need {} of memory to go on, and there are {}, limited by {}\n\
         hint: convert a part of the trace, or use a machine with more memory",
        in_words(*.needed), in_words(.room.bytes), .room.limit
    )]
    Memory {
        /// The file.
        path: String,
        /// Lines read so far.
        line: u64,
        /// Bytes.
        needed: u64,
        /// The choices that there are.
        room: Room,
    },
    /// A conversion to a format that cannot be written.
    #[error("cannot write trace format `{name}`; expected one of {known}")]
    NoSuchTarget {
        /// The wish of the user.
        name: String,
        /// The names of the formats that can be written.
        known: String,
    },
    /// A conversion that cannot be written.
    #[error("{path} cannot be written: {source}\nhint: {}", files::remedy(source))]
    NotWritten {
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl TraceError {
    /// The outcome of reading a file.
    pub(crate) fn reading(path: &Path, what: &'static str, source: io::Error) -> TraceError {
        let path = path.display().to_string();
        if Interrupt::is_behind(&source) { TraceError::Stopped { path } } else { TraceError::Io { path, what, source } }
    }

    /// The outcome of writing a file.
    pub(crate) fn writing(path: &Path, source: io::Error) -> TraceError {
        let path = path.display().to_string();
        if Interrupt::is_behind(&source) {
            TraceError::Stopped { path }
        } else {
            TraceError::NotWritten { path, source }
        }
    }
}

/// A workload that cannot be made or cannot go on.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// The trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A request reaches past the end of the device and the config says to stop at that.
    #[error(
        "{path}:{line}: request of {size} bytes at {offset} reaches past the end of the device at {capacity}; expected a \
         larger `device.user_capacity` (at least {} bytes), or `out_of_range = \"wrap\"` or `\"clamp\"`", .offset + .size
    )]
    OutOfRange {
        /// The file.
        path: String,
        /// Line number, from 1.
        line: u64,
        /// First byte of the request.
        offset: u64,
        /// Its length in bytes.
        size: u64,
        /// Bytes that the host may address.
        capacity: u64,
    },
    /// The end is a written volume, and a round of the trace writes nothing.
    #[error(
        "{path}: a whole round of the trace wrote nothing inside the device, so the end by volume ({volume} bytes) is \
         never reached; expected a trace with writes, or an end by `requests` or `rounds`"
    )]
    NoWrites {
        /// The file.
        path: String,
        /// The volume asked for, in bytes.
        volume: u64,
    },
    /// A round of the trace left nothing to replay.
    #[error(
        "{path}: no request of the trace lies inside the device ({dropped} dropped past its end at {capacity} bytes; the \
         lowest begins at {lowest})\nhint: set `workload.out_of_range` to \"wrap\", or `device.user_capacity` to more than \
         {lowest} bytes{}", smaller_offset(*.lowest, *.capacity, *.address_offset)
    )]
    NothingLeft {
        /// The file.
        path: String,
        /// Requests dropped in the round.
        dropped: u64,
        /// Where the lowest of them begins, behind the address offset.
        lowest: u64,
        /// Bytes added to every address.
        address_offset: u64,
        /// Bytes that the host may address.
        capacity: u64,
    },
    /// Simulated time has run out of bits.
    #[error("{place}: the workload passes 292 years of simulated time; expected {expected}, or a smaller `time_scale`")]
    TimeOverflow {
        /// The file and its line, or the key of the generator.
        place: String,
        /// A text that would be right.
        expected: &'static str,
    },
    /// A job that cannot be carried out.
    #[error("`job`: {what}; expected {expected}")]
    Job {
        /// The fault.
        what: String,
        /// A text that would be right.
        expected: String,
    },
    /// A generator that cannot be built.
    #[error("generator `{name}`: {what}, found {found}; expected {expected}")]
    Generator {
        /// The generator's name.
        name: String,
        /// Which key.
        what: &'static str,
        /// Its value.
        found: String,
        /// A text that would be right.
        expected: String,
    },
}

/// The address offset with which the lowest request would lie inside the device, if there is one.
fn smaller_offset(lowest: u64, capacity: u64, address_offset: u64) -> String {
    match capacity.checked_sub(lowest - address_offset) {
        Some(most) if most > 0 => format!(", or `workload.address_offset` to less than {most} bytes"),
        _ => String::new(),
    }
}
