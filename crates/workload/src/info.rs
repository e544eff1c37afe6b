//! The facts about a trace, in one streaming pass.

use std::collections::BTreeSet;
use std::path::Path;

use base::RequestKind;
use engine::memory::Room;
use serde::Serialize;

use crate::error::TraceError;
use crate::footprint::PageSet;
use crate::trace::{Compression, Counts, Record, Trace, TraceOptions};

/// The figures of a trace. Fractions are 0..1; data requests are reads and writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// The file.
    pub path: String,
    /// The format it was read in.
    pub format: &'static str,
    /// How the file is packed.
    pub compression: Compression,
    /// Requests: reads, writes, flushes and discards.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes, FUA or not.
    pub writes: u64,
    /// Flushes in the file, with those that are dropped.
    pub flushes: u64,
    /// Flushes dropped because they only complete a FUA write.
    pub flushes_postfua_dropped: u64,
    /// Writes with force unit access.
    pub fua_writes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes discarded. A discard may name a range of any length, so the sum stops at the end of 64 bits.
    pub bytes_discarded: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Writes ÷ data requests.
    pub write_fraction_requests: f64,
    /// Bytes written ÷ bytes read and written.
    pub write_fraction_bytes: f64,
    /// Mean size of a read in KiB.
    pub read_kib_mean: f64,
    /// Mean size of a write in KiB.
    pub write_kib_mean: f64,
    /// Distinct 4 KiB pages that reads and writes touch, in MiB; the same address on two devices counts twice.
    pub footprint_mib: f64,
    /// Distinct 4 KiB pages that writes touch, in MiB.
    pub footprint_written_mib: f64,
    /// The end of the highest range touched by any request, in bytes.
    pub highest_offset_bytes: u64,
    /// Disks or volumes in the file. A replay puts them all in one address space.
    pub devices: u64,
    /// Time from the first data request to the last, in seconds.
    pub duration_s: f64,
    /// Mean time between data requests, in milliseconds.
    pub inter_arrival_ms_mean: f64,
    /// True where requests follow each other faster than any drive takes them, so that the unit of time can hardly be right.
    pub unit_doubtful: bool,
    /// Requests of the reordering window.
    pub reorder_window: usize,
    /// The counts of the reader.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Mean nanoseconds between requests below which the unit of time is doubted: a million requests a second over a whole trace.
pub const GAP_MIN_NS: f64 = 1000.0;

/// Reads a whole trace and adds it up.
///
/// Memory grows with what the trace touches (some 60 bytes for each MiB, in pieces of 2 MiB), not with its length nor
/// with its address space.
///
/// # Errors
/// As [`Trace::open`] and [`Trace::fill`]; and when there is not memory enough for the footprint.
pub fn info(path: impl AsRef<Path>, options: &TraceOptions) -> Result<Info, TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut sums = Sums::default();
    let mut batch = Vec::with_capacity(4096);
    while trace.fill(&mut batch, 4096)? > 0 {
        batch.iter().for_each(|record| sums.add(record));
        batch.clear();
        sums.make_room().map_err(|(needed, room)| TraceError::Memory {
            path: trace.path().display().to_string(),
            line: trace.counts().lines,
            needed,
            room,
        })?;
    }
    Ok(sums.conclude(&trace))
}

/// Running totals.
#[derive(Default)]
struct Sums {
    reads: u64,
    writes: u64,
    flushes: u64,
    fua_writes: u64,
    discards: u64,
    bytes_read: u64,
    bytes_written: u64,
    bytes_discarded: u64,
    highest: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    devices: BTreeSet<u32>,
    touched: PageSet,
    written: PageSet,
}

impl Sums {
    fn add(&mut self, record: &Record) {
        if self.devices.len() < 65_536 {
            self.devices.insert(record.device);
        }
        self.highest = self.highest.max(record.offset + record.size);
        match record.kind {
            RequestKind::Flush => self.flushes += 1,
            RequestKind::Trim => {
                self.discards += 1;
                self.bytes_discarded = self.bytes_discarded.saturating_add(record.size);
            }
            RequestKind::Read => {
                self.reads += 1;
                self.bytes_read += record.size;
                self.data(record);
            }
            RequestKind::Write => {
                self.writes += 1;
                self.fua_writes += u64::from(record.fua);
                self.bytes_written += record.size;
                self.written.mark(record);
                self.data(record);
            }
        }
    }

    fn make_room(&mut self) -> Result<(), (u64, Room)> {
        self.touched.make_room()?;
        self.written.make_room()
    }

    fn data(&mut self, record: &Record) {
        self.touched.mark(record);
        self.first_ns.get_or_insert(record.time_ns);
        self.last_ns = record.time_ns;
    }

    fn conclude(&self, trace: &Trace) -> Info {
        let counts = trace.counts();
        let data = self.reads + self.writes;
        let span_ns = (self.last_ns - self.first_ns.unwrap_or(self.last_ns)) as f64;
        Info {
            path: trace.path().display().to_string(),
            format: trace.format().name,
            compression: trace.compression(),
            requests: counts.requests,
            reads: self.reads,
            writes: self.writes,
            flushes: self.flushes + counts.postfua_dropped,
            flushes_postfua_dropped: counts.postfua_dropped,
            fua_writes: self.fua_writes,
            discards: self.discards,
            bytes_discarded: self.bytes_discarded,
            bytes_read: self.bytes_read,
            bytes_written: self.bytes_written,
            write_fraction_requests: ratio(self.writes as f64, data as f64),
            write_fraction_bytes: ratio(self.bytes_written as f64, (self.bytes_read + self.bytes_written) as f64),
            read_kib_mean: ratio(self.bytes_read as f64, self.reads as f64) / 1024.0,
            write_kib_mean: ratio(self.bytes_written as f64, self.writes as f64) / 1024.0,
            footprint_mib: self.touched.count() as f64 / 256.0,
            footprint_written_mib: self.written.count() as f64 / 256.0,
            highest_offset_bytes: self.highest,
            devices: self.devices.len() as u64,
            duration_s: span_ns * 1e-9,
            inter_arrival_ms_mean: ratio(span_ns, data.saturating_sub(1) as f64) * 1e-6,
            unit_doubtful: span_ns > 0.0 && span_ns < data.saturating_sub(1) as f64 * GAP_MIN_NS,
            reorder_window: trace.window(),
            counts,
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
