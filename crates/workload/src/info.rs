//! What a trace holds, in one streaming pass.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use base::RequestKind;
use serde::Serialize;

use crate::error::TraceError;
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
    /// Requests of the reordering window.
    pub reorder_window: usize,
    /// What the reader counted.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Reads a whole trace and adds it up.
///
/// Memory grows with the address space that the trace touches (64 bytes for each MiB touched, in pieces of
/// 16 MiB), not with the trace.
///
/// # Errors
/// As [`Trace::open`] and [`Trace::fill`].
pub fn info(path: impl AsRef<Path>, options: &TraceOptions) -> Result<Info, TraceError> {
    let mut trace = Trace::open(path, options)?;
    let mut sums = Sums::default();
    let mut batch = Vec::with_capacity(4096);
    while trace.fill(&mut batch, 4096)? > 0 {
        batch.iter().for_each(|record| sums.add(record));
        batch.clear();
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
    touched: Pages,
    written: Pages,
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
            reorder_window: trace.window(),
            counts,
        }
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Pages of 4 KiB in a piece of the bitmap: 16 MiB.
const PIECE: u64 = 4096;
const WORDS: usize = (PIECE / 64) as usize;

/// A set of 4 KiB pages, in pieces that exist once they are touched.
#[derive(Default)]
struct Pages {
    index: HashMap<(u32, u64), usize>,
    pieces: Vec<[u64; WORDS]>,
    /// The piece last used: neighbours follow each other.
    last: Option<((u32, u64), usize)>,
}

impl Pages {
    fn mark(&mut self, record: &Record) {
        let end = (record.offset + record.size - 1) / 4096;
        let mut page = record.offset / 4096;
        while page <= end {
            let stop = end.min(page | (PIECE - 1));
            let piece = self.piece((record.device, page / PIECE));
            fill(piece, page % PIECE, stop % PIECE);
            page = stop + 1;
        }
    }

    fn piece(&mut self, key: (u32, u64)) -> &mut [u64; WORDS] {
        let at = match self.last {
            Some((last, at)) if last == key => at,
            _ => *self.index.entry(key).or_insert_with(|| {
                self.pieces.push([0; WORDS]);
                self.pieces.len() - 1
            }),
        };
        self.last = Some((key, at));
        &mut self.pieces[at]
    }

    fn count(&self) -> u64 {
        self.pieces.iter().flatten().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Sets the bits `first..=last`.
fn fill(words: &mut [u64; WORDS], first: u64, last: u64) {
    for word in first / 64..=last / 64 {
        let low = if word == first / 64 { first % 64 } else { 0 };
        let high = if word == last / 64 { last % 64 } else { 63 };
        words[word as usize] |= (u64::MAX >> (63 - high)) & (u64::MAX << low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_counted_once() {
        let mut pages = Pages::default();
        let mut record =
            Record { time_ns: 0, offset: 4095, size: 2, line: 1, device: 0, kind: RequestKind::Read, fua: false };
        pages.mark(&record);
        assert_eq!(pages.count(), 2);
        record.size = 64 << 20;
        pages.mark(&record);
        assert_eq!(pages.count(), (64 << 20) / 4096 + 1);
        record.device = 1;
        record.size = 1;
        pages.mark(&record);
        assert_eq!(pages.count(), (64 << 20) / 4096 + 2);
        let mut plain = std::collections::HashSet::new();
        let mut pages = Pages::default();
        for step in 0..2000u64 {
            record.offset = step * step * 7919 % (1 << 27);
            record.size = 1 + step * 37 % 300_000;
            pages.mark(&record);
            plain.extend(record.offset / 4096..=(record.offset + record.size - 1) / 4096);
            assert_eq!(pages.count(), plain.len() as u64);
        }
    }
}
