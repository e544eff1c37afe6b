//! The shape of a format: a parser of single lines, and what it hands on.

use std::collections::HashMap;

use base::RequestKind;
use serde::Serialize;

use super::detect::FirstLines;

/// One request as the trace has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds: since the trace's own epoch inside a parser, since the first request from [`super::Trace`].
    pub time_ns: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub size: u64,
    /// The line it stands on, from 1.
    pub line: u64,
    /// The trace's number for the disk or volume.
    pub device: u32,
    /// The kind of request.
    pub kind: RequestKind,
    /// Force unit access.
    pub fua: bool,
    /// Where the host wants it placed; 0: it does not say.
    pub hint: u16,
}

/// The state of a reader: what it has seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Lines, of any kind.
    pub lines: u64,
    /// Requests handed on.
    pub requests: u64,
    /// Lines skipped because they could not be read.
    pub bad_lines: u64,
    /// Rows that are no request: headers, comments, blank lines, other events, summaries.
    pub other_rows: u64,
    /// Reads, writes and discards of no bytes, dropped.
    pub zero_length: u64,
    /// Flushes that only completed a FUA write on a drive without FUA, dropped.
    pub postfua_dropped: u64,
    /// Rows whose time is of another clock than the rest (a blkparse defect), dropped.
    pub stray_times: u64,
    /// Dispatches of a request that the device had given back (a requeue), dropped: the first of them counts.
    pub requeued: u64,
    /// Requests of devices other than the one asked for, dropped.
    pub other_devices: u64,
    /// Requests that stand after a later one in the file.
    pub out_of_order: u64,
    /// Requests out of order that the reordering window could not put right.
    pub backwards_times: u64,
}

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bad(pub &'static str);

/// Requests of one trace must stay below this, so that the arithmetic after it never overflows.
pub(crate) const OFFSET_LIMIT: u64 = 1 << 62;
/// No block layer sends more in one read or write than 32 bits can count.
pub(crate) const SIZE_LIMIT: u64 = u32::MAX as u64;

/// A request by which its next dispatch is known again: kind, device, first byte, bytes.
pub(crate) type Dispatch = (RequestKind, u32, u64, u64);

/// Requests that were given back and wait for their next dispatch; more are not noted.
const REQUEUED_MAX: usize = 1 << 16;

/// Where parsed requests go.
pub(crate) struct Sink {
    /// Requests not yet handed on.
    pub records: Vec<Record>,
    /// The tally of lines and drops.
    pub counts: Counts,
    /// Only this device, if one was asked for.
    pub device: Option<u32>,
    /// Largest time so far.
    pub latest_ns: u64,
    /// When requests were given back that are to be dispatched once more.
    requeued: HashMap<Dispatch, Vec<u64>>,
}

impl Sink {
    pub fn new(device: Option<u32>) -> Sink {
        Sink { records: Vec::new(), counts: Counts::default(), device, latest_ns: 0, requeued: HashMap::new() }
    }

    /// Takes a read, write or discard; one of no bytes is counted and dropped.
    #[inline]
    pub fn data(
        &mut self,
        kind: RequestKind,
        time_ns: u64,
        device: u32,
        offset: u64,
        size: u64,
        fua: bool,
    ) -> Result<(), Bad> {
        self.hinted(Record { time_ns, offset, size, line: self.counts.lines, device, kind, fua, hint: 0 })
    }

    /// Takes a read, write or discard with its hint: where the host wants it placed. One of no bytes is counted and dropped.
    #[inline]
    pub fn hinted(&mut self, record: Record) -> Result<(), Bad> {
        let Record { kind, offset, size, .. } = record;
        let limit = if kind == RequestKind::Trim { OFFSET_LIMIT } else { SIZE_LIMIT };
        if size > limit {
            return Err(Bad("size is beyond any request's"));
        }
        if offset > OFFSET_LIMIT {
            return Err(Bad("offset is beyond any device's"));
        }
        if size == 0 {
            self.counts.zero_length += 1;
            return Ok(());
        }
        self.push(record);
        Ok(())
    }

    /// Takes a flush.
    #[inline]
    pub fn flush(&mut self, time_ns: u64, device: u32) {
        let kind = RequestKind::Flush;
        self.push(Record { time_ns, offset: 0, size: 0, line: self.counts.lines, device, kind, fua: false, hint: 0 });
    }

    #[inline]
    fn push(&mut self, record: Record) {
        if self.device.is_some_and(|only| only != record.device) {
            self.counts.other_devices += 1;
            return;
        }
        if record.time_ns < self.latest_ns {
            self.counts.out_of_order += 1;
        } else {
            self.latest_ns = record.time_ns;
        }
        self.records.push(record);
    }

    /// Notes that a request was given back; its next dispatch is no new request. Lines may be out of order, so what is
    /// that dispatch is decided where requests are in order, by [`Sink::is_again`].
    pub fn requeue(&mut self, time_ns: u64, request: Dispatch) {
        if self.requeued.len() < REQUEUED_MAX {
            self.requeued.entry(request).or_default().push(time_ns);
        }
    }

    /// True if a request, the next in order of time, is the dispatch of one that was given back; it is counted.
    #[inline]
    pub fn is_again(&mut self, record: &Record) -> bool {
        !self.requeued.is_empty() && self.takes_up(record)
    }

    fn takes_up(&mut self, record: &Record) -> bool {
        let request = (record.kind, record.device, record.offset, record.size);
        let Some(times) = self.requeued.get_mut(&request) else { return false };
        let Some(at) = times.iter().position(|time| *time <= record.time_ns) else { return false };
        times.swap_remove(at);
        if times.is_empty() {
            self.requeued.remove(&request);
        }
        self.counts.requeued += 1;
        true
    }

    /// Notes a row that is no request.
    #[inline]
    pub fn other(&mut self) {
        self.counts.other_rows += 1;
    }
}

/// Reads one line of a format.
pub(crate) trait LineParser: Send {
    /// Hands what the line asks for to `sink`. The line has no line end and is not blank.
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad>;
}

/// Reads runs of lines; made from every [`LineParser`], so that the loop over a buffer is compiled with
/// its parser inside.
pub(crate) trait BlockParser: Send {
    /// Parses lines of `text` until its end, until `sink` holds `full` requests, or up to and with the
    /// first bad line; returns the bytes used.
    fn lines(&mut self, text: &[u8], full: usize, sink: &mut Sink) -> (usize, Option<Bad>);

    /// Bytes of a line where all are equally long and have no end: of a format that is no text.
    fn record_bytes(&self) -> Option<usize> {
        None
    }

    /// Bytes before the first record of such a format.
    fn header_bytes(&self) -> usize {
        0
    }
}

impl<P: LineParser> BlockParser for P {
    fn lines(&mut self, text: &[u8], full: usize, sink: &mut Sink) -> (usize, Option<Bad>) {
        let mut at = 0;
        while at < text.len() && sink.records.len() < full {
            let rest = &text[at..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            at += (length + 1).min(rest.len());
            sink.counts.lines += 1;
            let mut line = &rest[..length];
            if let [head @ .., b'\r'] = line {
                line = head;
            }
            match line.first() {
                None | Some(b'#') => sink.other(),
                Some(_) if line.iter().all(u8::is_ascii_whitespace) => sink.other(),
                Some(_) => {
                    if let Err(bad) = self.line(line, sink) {
                        return (at, Some(bad));
                    }
                }
            }
        }
        (at, None)
    }
}

/// Reads one record of a format that is no text: all have as many bytes.
pub(crate) trait RecordParser: Send {
    /// Bytes of a record.
    fn bytes(&self) -> usize;

    /// Bytes before the first record.
    fn header_bytes(&self) -> usize {
        0
    }

    /// Hands what a whole record asks for to `sink`.
    fn record(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), Bad>;
}

/// A parser of records as one of runs of them.
pub(crate) struct Records<P>(pub P);

impl<P: RecordParser> BlockParser for Records<P> {
    fn lines(&mut self, text: &[u8], full: usize, sink: &mut Sink) -> (usize, Option<Bad>) {
        let bytes = self.0.bytes();
        let mut at = 0;
        while at < text.len() && sink.records.len() < full {
            let record = &text[at..text.len().min(at + bytes)];
            at += record.len();
            sink.counts.lines += 1;
            let whole = if record.len() < bytes { Err(Bad("the last record is cut short")) } else { Ok(()) };
            if let Err(bad) = whole.and_then(|()| self.0.record(record, sink)) {
                return (at, Some(bad));
            }
        }
        (at, None)
    }

    fn record_bytes(&self) -> Option<usize> {
        Some(self.0.bytes())
    }

    fn header_bytes(&self) -> usize {
        self.0.header_bytes()
    }
}

/// A whole number of `N` bytes, little endian, at a place of a record.
pub(crate) fn number<const N: usize>(record: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..N].copy_from_slice(&record[at..at + N]);
    u64::from_le_bytes(bytes)
}

/// A trace format: one file and one line in the registry.
pub struct Format {
    /// The name, for `format = "…"`, listings and `info`.
    pub name: &'static str,
    /// One line for listings: the collection or tool, and the columns.
    pub doc: &'static str,
    /// An example of a line, for messages.
    pub expected: &'static str,
    /// Requests within which lines out of order are put in order.
    pub window: usize,
    /// Lines or records.
    pub(crate) layout: Layout,
    /// Percent of the sample's lines that this format explains; 0: not this format.
    pub(crate) detect: fn(&FirstLines) -> u32,
    /// A parser for a file that begins with this sample.
    pub(crate) parser: fn(&FirstLines) -> Box<dyn BlockParser>,
}

/// A parser, or why the columns that the user names cannot be read.
pub(crate) type Parsed = Result<Box<dyn BlockParser>, String>;

/// The outer shape of a format.
#[derive(Clone, Copy)]
pub(crate) enum Layout {
    /// Lines of text.
    Lines,
    /// Lines of text, the first of which may be a row of column names.
    Headed,
    /// Records, which are no text; with a parser for a file that begins with this sample, of columns as the user names
    /// them.
    Records(fn(&str, &FirstLines<'_>) -> Parsed),
}

impl Format {
    /// True for a format that is no text.
    pub(crate) fn is_records(&self) -> bool {
        matches!(self.layout, Layout::Records(_))
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Format").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The window of the formats whose files are in order but for neighbours.
pub(crate) const WINDOW_SMALL: usize = 1024;
/// The window of the formats whose files have whole buffers out of order.
pub(crate) const WINDOW_LARGE: usize = 65_536;
