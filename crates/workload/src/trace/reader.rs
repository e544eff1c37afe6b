//! The reader that all formats share: buffer, bad lines, reordering, and times from zero.

use std::path::{Path, PathBuf};

use files::Interrupt;

use super::detect::FirstLines;
use super::parser::{BlockParser, Counts, Format, Layout, Record, Sink, WINDOW_LARGE};
use super::source::{Compression, TraceFile};
use super::window::Window;
use super::{FORMATS, columns, foreign, format_names};
use crate::error::TraceError;

/// Bytes read at a time.
const BUFFER: usize = 1 << 20;
/// Bytes that detection looks at.
const SAMPLE: usize = 1 << 16;
/// A longer line is bad.
const LINE_MAX: usize = 1 << 16;
/// A line that is skipped, and still no end of it: no text has such lines, and `/dev/zero` is one of them.
const LINE_ENDLESS: u64 = 64 << 20;
/// Bytes without any request after which a file is no trace.
const BYTES_FIRST: u64 = 4 << 30;
/// Bad lines without any request before them after which, with `skip_bad`, a file is no trace.
const BAD_FIRST: u64 = 1000;

/// The mark that editors of Windows put before a text in UTF-8; it is no part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a trace is read.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// A format by name; `None`: by content.
    pub format: Option<String>,
    /// Count bad lines and go on, instead of stopping at the first.
    pub skip_bad: bool,
    /// Stop at a time that the reordering window cannot put right, instead of giving it the latest time so far.
    pub reject_backwards: bool,
    /// Only requests of this device or volume.
    pub device: Option<u32>,
    /// Requests of the reordering window; `None`: as the format suggests.
    pub window: Option<usize>,
    /// Who may stop the reading.
    pub interrupt: Interrupt,
}

/// A trace being read: requests in order of time, the first at zero.
pub struct Trace {
    path: PathBuf,
    options: TraceOptions,
    format: &'static Format,
    source: TraceFile,
    buffer: Vec<u8>,
    /// Unread bytes of the buffer.
    start: usize,
    end: usize,
    /// The source has no more bytes.
    drained: bool,
    /// Inside a line that is too long: its rest is skipped.
    overlong: bool,
    /// Bytes of it that were skipped.
    passed_over: u64,
    /// Bytes read, unpacked.
    read: u64,
    /// The row of column names was seen.
    headed: bool,
    parser: Box<dyn BlockParser>,
    sink: Sink,
    window: Window,
    /// The rest of the file is not parsed.
    finished: bool,
    /// The error that ended it, told once everything before it was given out.
    failure: Option<TraceError>,
    /// Time of the first request.
    epoch_ns: Option<u64>,
    /// Time of the last request given out.
    last_ns: u64,
}

impl Trace {
    /// Bytes of a reader: its buffer and its window, and those of a decoder.
    pub(crate) const BYTES: u64 = (BUFFER + 2 * WINDOW_LARGE * size_of::<Record>() + (8 << 20)) as u64;

    /// Opens a trace, finds its compression and its format.
    ///
    /// # Errors
    /// When the file cannot be read, is empty, a directory, or in no known format.
    pub fn open(path: impl AsRef<Path>, options: &TraceOptions) -> Result<Trace, TraceError> {
        let path = path.as_ref();
        let mut source = TraceFile::open(path, &options.interrupt)?;
        let mut buffer = vec![0; BUFFER];
        let end =
            source.read_full(&mut buffer[..SAMPLE]).map_err(|error| decode_error(path, source.compression, error))?;
        let drained = end < SAMPLE;
        if end == 0 {
            return Err(TraceError::Empty { path: path.display().to_string() });
        }
        let mut start = 0;
        let mut sample = FirstLines::new(&buffer[..end], drained);
        let records = FORMATS.iter().find(|format| format.is_records() && (format.detect)(&sample) > 0);
        if records.is_none() && buffer.starts_with(BYTE_ORDER_MARK) {
            start = BYTE_ORDER_MARK.len();
            sample = FirstLines::new(&buffer[start..end], drained);
        }
        if start == end {
            return Err(TraceError::Empty { path: path.display().to_string() });
        }
        let columns = options.format.as_ref().and_then(|name| name.strip_prefix(columns::PREFIX));
        if columns.is_none()
            && let Some(kind) = foreign::find(&sample)
        {
            let remedy = (kind.remedy)(path);
            return Err(TraceError::Foreign { path: path.display().to_string(), what: kind.what, remedy });
        }
        let format = match &options.format {
            Some(_) if columns.is_some() => records.unwrap_or(&columns::FORMAT),
            Some(name) => named(name)?,
            None => sample.detect().ok_or_else(|| TraceError::UnknownFormat {
                path: path.display().to_string(),
                excerpt: excerpt(sample.lines.first().copied().unwrap_or(&buffer[start..end])),
                known: format_names(),
            })?,
        };
        let parser = match (columns, format.layout) {
            (None, _) => (format.parser)(&sample),
            (Some(text), layout) => match layout {
                Layout::Records(parser) => parser(text, &sample),
                Layout::Lines | Layout::Headed => columns::parser(text, &sample),
            }
            .map_err(|what| TraceError::Columns {
                columns: text.to_owned(),
                path: path.display().to_string(),
                what,
            })?,
        };
        start += parser.header_bytes().min(end - start);
        Ok(Trace {
            path: path.to_owned(),
            options: options.clone(),
            format,
            source,
            start,
            end,
            drained,
            overlong: false,
            passed_over: 0,
            read: end as u64,
            headed: false,
            parser,
            sink: Sink::new(options.device),
            window: Window::new(options.window.unwrap_or(format.window)),
            finished: false,
            failure: None,
            epoch_ns: None,
            last_ns: 0,
            buffer,
        })
    }

    /// Appends up to `max` requests in order of time; none at the end of the trace.
    ///
    /// # Errors
    /// At a bad line, a decoder's error, a file that is no trace, or (if so asked) a time that runs
    /// backwards; everything before it is given out first.
    pub fn fill(&mut self, out: &mut Vec<Record>, max: usize) -> Result<usize, TraceError> {
        let mut given = 0;
        while given < max {
            if self.window.ready(&self.sink.records).is_empty() {
                self.refill();
                if self.window.ready(&self.sink.records).is_empty() {
                    break;
                }
            }
            given += self.give(out, max - given);
        }
        if given == 0
            && let Some(failure) = self.failure.take()
        {
            return Err(failure);
        }
        Ok(given)
    }

    /// Gives out what is ready, with times from zero that never run backwards; returns how many. Dispatches of requests
    /// that were given back before are left out.
    fn give(&mut self, out: &mut Vec<Record>, max: usize) -> usize {
        let mut records = std::mem::take(&mut self.sink.records);
        let ready = self.window.ready(&records);
        let ready = &ready[..ready.len().min(max)];
        let advanced = ready.len();
        let (mut given, mut refused) = (0, false);
        for record in ready {
            if self.sink.is_again(record) {
                continue;
            }
            let epoch = *self.epoch_ns.get_or_insert(record.time_ns);
            let latest = epoch.saturating_add(self.last_ns);
            if record.time_ns < latest {
                if self.options.reject_backwards {
                    self.failure = Some(TraceError::Backwards {
                        path: self.path.display().to_string(),
                        line: record.line,
                        by_ns: latest - record.time_ns,
                        window: self.window.size(),
                    });
                    (self.finished, refused) = (true, true);
                    break;
                }
                self.sink.counts.backwards_times += 1;
            }
            self.last_ns = self.last_ns.max(record.time_ns.saturating_sub(epoch));
            out.push(Record { time_ns: self.last_ns, ..*record });
            given += 1;
        }
        self.sink.counts.requests += given as u64;
        if refused {
            records.clear();
            self.window = Window::new(self.window.size());
        } else {
            self.window.advance(advanced);
        }
        self.sink.records = records;
        given
    }

    /// Parses until the window can give something out, or to the end.
    fn refill(&mut self) {
        self.window.compact(&mut self.sink.records);
        while !self.finished && self.sink.records.len() < self.window.full() {
            if let Err(error) = self.parse() {
                self.failure = Some(error);
                self.finished = true;
            }
        }
        self.window.settle(&mut self.sink.records, self.finished);
    }

    /// Parses some of the buffer, filling it first where it holds no whole line.
    fn parse(&mut self) -> Result<(), TraceError> {
        let unread = &self.buffer[self.start..self.end];
        let record = self.parser.record_bytes();
        let whole = match record {
            _ if self.drained => unread.len(),
            Some(bytes) => unread.len() / bytes * bytes,
            None => memchr::memrchr(b'\n', unread).map_or(0, |at| at + 1),
        };
        if self.overlong {
            return self.skip_line();
        }
        if whole == 0 {
            return self.more();
        }
        if self.drained && record.is_none() && memchr::memchr(b'\n', unread).is_none() && whole > LINE_MAX {
            return self.too_long();
        }
        let before = self.start;
        let (used, bad) = self.parser.lines(&self.buffer[before..before + whole], self.window.full(), &mut self.sink);
        self.start += used;
        match bad {
            Some(bad) => self.bad_line(bad.0, before, used),
            None => Ok(()),
        }
    }

    /// Reads on behind what is unread; at the end of the source, concludes.
    fn more(&mut self) -> Result<(), TraceError> {
        if self.end - self.start > LINE_MAX {
            return self.too_long();
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.drained {
            self.finished = true;
            return self.conclude();
        }
        let read = self
            .source
            .read_full(&mut self.buffer[self.end..])
            .map_err(|error| decode_error(&self.path, self.source.compression, error))?;
        self.drained = self.end + read < self.buffer.len();
        self.end += read;
        self.read += read as u64;
        if self.read > BYTES_FIRST && self.is_without_request() {
            return Err(TraceError::NothingYet { path: self.path.display().to_string(), format: self.format.name });
        }
        Ok(())
    }

    /// A line without end: bad, and its rest is skipped.
    fn too_long(&mut self) -> Result<(), TraceError> {
        self.sink.counts.lines += 1;
        let begin = self.start;
        (self.overlong, self.passed_over) = (true, 0);
        self.bad_line("line is longer than 65536 bytes", begin, 200)
    }

    fn skip_line(&mut self) -> Result<(), TraceError> {
        match memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
            Some(at) => {
                self.start += at + 1;
                self.overlong = false;
                Ok(())
            }
            None => {
                self.passed_over += (self.end - self.start) as u64;
                if self.passed_over > LINE_ENDLESS {
                    let path = self.path.display().to_string();
                    return Err(TraceError::Endless { path, line: self.sink.counts.lines, format: self.format.name });
                }
                self.start = self.end;
                self.overlong = !self.drained;
                self.more()
            }
        }
    }

    /// Counts a bad line or makes it an error.
    fn bad_line(&mut self, what: &'static str, begin: usize, used: usize) -> Result<(), TraceError> {
        // The bad line is the last of those used.
        let used = &self.buffer[begin..(begin + used).min(self.end)];
        let record = self.parser.record_bytes();
        let (line, kind) = match record {
            Some(bytes) => (&used[(used.len() - 1) / bytes * bytes..], "record"),
            None => {
                let used = used.strip_suffix(b"\n").unwrap_or(used);
                (&used[memchr::memrchr(b'\n', used).map_or(0, |at| at + 1)..], "line")
            }
        };
        let counts = &mut self.sink.counts;
        let first = counts.lines == counts.other_rows + 1 && !self.headed;
        if first && matches!(self.format.layout, Layout::Headed) && is_header(line) {
            self.headed = true;
            counts.other_rows += 1;
            return Ok(());
        }
        counts.bad_lines += 1;
        if !self.options.skip_bad {
            return Err(TraceError::BadLine {
                path: self.path.display().to_string(),
                line: counts.lines,
                format: self.format.name,
                kind,
                what,
                excerpt: if record.is_some() { hexadecimal(line) } else { excerpt(line) },
                expected: self.format.expected,
            });
        }
        let many = counts.bad_lines >= BAD_FIRST;
        if many && self.is_without_request() { Err(self.all_bad()) } else { Ok(()) }
    }

    fn is_without_request(&self) -> bool {
        self.sink.records.is_empty() && self.epoch_ns.is_none()
    }

    fn all_bad(&self) -> TraceError {
        let Counts { bad_lines: bad, lines, .. } = self.sink.counts;
        let Format { name: format, expected, .. } = self.format;
        TraceError::AllBad { path: self.path.display().to_string(), format, bad, lines, expected }
    }

    /// At the end: a file without any request is an error.
    fn conclude(&mut self) -> Result<(), TraceError> {
        let counts = self.sink.counts;
        if !self.is_without_request() {
            return Ok(());
        }
        if counts.bad_lines > 0 {
            return Err(self.all_bad());
        }
        let path = self.path.display().to_string();
        Err(TraceError::NoRequests { path, format: self.format.name, lines: counts.lines })
    }

    /// The file can be read more than once.
    pub(crate) fn can_rewind(&self) -> bool {
        self.source.regular
    }

    /// Begins again at the first request, with fresh counts.
    ///
    /// # Errors
    /// When the file cannot be opened again.
    pub fn rewind(&mut self) -> Result<(), TraceError> {
        if !self.can_rewind() {
            return Err(TraceError::OneWay { path: self.path.display().to_string() });
        }
        // The format stays what it was found to be.
        let format = self.options.format.clone().unwrap_or_else(|| self.format.name.to_owned());
        let options = TraceOptions { format: Some(format), ..self.options.clone() };
        *self = Trace::open(&self.path, &options)?;
        Ok(())
    }

    /// The format the file is read in.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// How the file is packed.
    pub fn compression(&self) -> Compression {
        self.source.compression
    }

    /// The count so far.
    pub fn counts(&self) -> Counts {
        self.sink.counts
    }

    /// Requests of the reordering window.
    pub fn window(&self) -> usize {
        self.window.size()
    }

    /// How much of the file was read, 0..1; `None` where its length is not known.
    pub fn position(&self) -> Option<f64> {
        self.source.position()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The format of that name.
fn named(name: &str) -> Result<&'static Format, TraceError> {
    FORMATS
        .iter()
        .find(|format| format.name == name)
        .ok_or_else(|| TraceError::NoSuchFormat { name: name.to_owned(), known: format_names() })
}

/// Column names begin with a letter or a quotation mark.
fn is_header(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'"') && line.is_ascii()
}

/// A line for a message: short, and without bytes that a terminal would act on.
fn excerpt(line: &[u8]) -> String {
    const LENGTH: usize = 80;
    let line = line.split(|&byte| byte == b'\n').next().unwrap_or(line);
    let mut text: String =
        line.iter().take(LENGTH).flat_map(|&byte| std::ascii::escape_default(byte)).map(char::from).collect();
    if line.len() > LENGTH {
        text.push('…');
    }
    text
}

/// A record of bytes for a message.
fn hexadecimal(record: &[u8]) -> String {
    record.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decode_error(path: &Path, compression: Compression, source: std::io::Error) -> TraceError {
    let packer = match compression {
        Compression::Gzip => "gzip",
        Compression::Zstd => "zstd",
        Compression::Xz => "xz",
        Compression::Bzip2 => "bzip2",
        Compression::None => return TraceError::reading(path, "cannot be read", source),
    };
    if Interrupt::is_behind(&source) {
        return TraceError::reading(path, "cannot be read", source);
    }
    TraceError::Damaged { path: path.display().to_string(), packer, source }
}
