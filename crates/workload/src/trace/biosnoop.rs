//! biosnoop of bcc and of libbpf-tools: `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`, a line as a request completes.
//!
//! A request is taken at its arrival: its time less its latency, and less the time in the queue (`QUE(ms)`) where that is
//! told. The name of the process may have blanks in it, so columns are counted from the right, by the row of names where
//! there is one. Disks are numbered in the order in which they appear.

use super::detect::FirstLines;
use super::fields::{MILLISECOND, SECOND, Words, integer, scaled, time};
use super::names::Names;
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_LARGE};
use super::rwbs::Rwbs;

pub(super) const FORMAT: Format = Format {
    name: "biosnoop",
    doc: "biosnoop of bcc and libbpf-tools: TIME(s) COMM PID DISK T SECTOR (512 B) BYTES [QUE(ms)] LAT(ms)",
    expected: "`TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)` with T such as R, W, WS",
    window: WINDOW_LARGE,
    layout: Layout::Lines,
    detect: |sample| {
        let mut biosnoop = Biosnoop::new(sample);
        let mut sink = Sink::new(None);
        let requests = sample.lines.iter().filter(|line| biosnoop.line(line, &mut sink).is_ok()).count();
        if sink.records.is_empty() { 0 } else { (requests * 100 / sample.lines.len()) as u32 }
    },
    parser: |sample: &FirstLines<'_>| Box::new(Biosnoop::new(sample)),
};

/// Times lie so far behind zero that none is before it, less its latency.
const BEFORE: u64 = 1 << 50;

/// Columns that are wanted, by their places from the right, from 1.
struct Biosnoop {
    disk: usize,
    letters: usize,
    sector: usize,
    bytes: usize,
    latency: usize,
    queued: Option<usize>,
    disks: Names,
}

impl Biosnoop {
    fn new(sample: &FirstLines<'_>) -> Biosnoop {
        let names = sample.lines.iter().find(|line| is_names(line)).copied();
        let place = |name: &[u8]| {
            let names: Vec<&[u8]> = Words::new(names?).collect();
            names.iter().rposition(|other| *other == name).map(|at| names.len() - at)
        };
        Biosnoop {
            disk: place(b"DISK").unwrap_or(5),
            letters: place(b"T").unwrap_or(4),
            sector: place(b"SECTOR").unwrap_or(3),
            bytes: place(b"BYTES").unwrap_or(2),
            latency: place(b"LAT(ms)").unwrap_or(1),
            queued: place(b"QUE(ms)"),
            disks: Names::default(),
        }
    }
}

fn is_names(line: &[u8]) -> bool {
    line.starts_with(b"TIME(s)")
}

impl LineParser for Biosnoop {
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if is_names(line) || line.starts_with(b"Tracing ") {
            sink.other();
            return Ok(());
        }
        let words: Vec<&[u8]> = Words::new(line).collect();
        let column = |place: usize| words.len().checked_sub(place).map(|at| words[at]).ok_or(Bad("too few columns"));
        let completed = time(words.first().ok_or(Bad("too few columns"))?, SECOND)?;
        let rwbs = Rwbs::parse(column(self.letters)?)?;
        let offset = scaled(column(self.sector)?, 512, "SECTOR is not a sector number");
        let size = integer(column(self.bytes)?).ok_or(Bad("BYTES is not a whole number"))?;
        let mut waited = time(column(self.latency)?, MILLISECOND)?;
        if let Some(queued) = self.queued {
            // -1 where the queue was not seen.
            waited = waited.saturating_add(time(column(queued)?, MILLISECOND).unwrap_or(0));
        }
        let range = if size == 0 && rwbs.goes_without_range() { None } else { Some((offset?, size)) };
        let arrived = completed.checked_add(BEFORE).ok_or(Bad("time is beyond 64 bits of nanoseconds"))?;
        let disk = self.disks.number(column(self.disk)?);
        rwbs.put(arrived.saturating_sub(waited), disk, range, sink)
    }
}
