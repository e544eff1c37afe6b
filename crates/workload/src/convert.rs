//! Writing traces in another format, and showing how they begin.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use base::RequestKind;

use crate::error::TraceError;
use crate::trace::{Record, Trace, TraceOptions};

/// A format that can be written.
pub struct Target {
    /// The name.
    pub name: &'static str,
    /// One line for listings: what it keeps.
    pub doc: &'static str,
    head: &'static str,
    line: fn(&mut dyn Write, &Record) -> io::Result<bool>,
}

/// Every format that can be written.
pub static TARGETS: &[Target] = &[
    Target {
        name: "msr",
        doc: "MSR Cambridge CSV with a flags column; keeps reads, writes, flushes, discards and FUA; times to 100 ns",
        head: "",
        line: msr,
    },
    Target {
        name: "ssdsim",
        doc: "SSDSim and MQSim ASCII, times in ns; reads and writes of whole sectors",
        head: "",
        line: ssdsim,
    },
    Target {
        name: "disksim",
        doc: "DiskSim ASCII, times in ms; reads and writes of whole sectors",
        head: "",
        line: disksim,
    },
    Target {
        name: "iolog",
        doc: "fio iolog version 3, times in us; reads, writes, discards and flushes, without FUA",
        head: "fio version 3 iolog\n",
        line: iolog,
    },
];

/// What a conversion did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Converted {
    /// Requests written.
    pub requests: u64,
    /// Requests that the target format cannot express, left out.
    pub left_out: u64,
}

/// The first `n` requests, as a replay would see them.
///
/// # Errors
/// As [`Trace::open`] and [`Trace::fill`].
pub fn head(path: impl AsRef<Path>, options: &TraceOptions, n: usize) -> Result<Vec<Record>, TraceError> {
    let mut records = Vec::new();
    Trace::open(path, options)?.fill(&mut records, n)?;
    Ok(records)
}

/// Rewrites a trace in another format, request by request.
///
/// The output is packed as its name ends: `.gz`, `.zst`, `.xz`, or plain. It appears under its name only
/// when it is complete.
///
/// # Errors
/// When the trace cannot be read, the target is unknown, or the output cannot be written.
pub fn convert(
    from: impl AsRef<Path>,
    options: &TraceOptions,
    to: impl AsRef<Path>,
    target: &str,
) -> Result<Converted, TraceError> {
    let to = to.as_ref();
    let target = TARGETS.iter().find(|known| known.name == target).ok_or_else(|| TraceError::NoSuchTarget {
        name: target.to_owned(),
        known: TARGETS.iter().map(|known| format!("`{}`", known.name)).collect::<Vec<_>>().join(", "),
    })?;
    let mut trace = Trace::open(from, options)?;
    let temporary = beside(to);
    let result = write(&mut trace, &temporary, to, target)
        .and_then(|done| fs::rename(&temporary, to).map(|()| done).map_err(|source| cannot_write(to, source)));
    if result.is_err() {
        // The error that matters is the first one; a file that was never made cannot be removed.
        let _ = fs::remove_file(&temporary);
    }
    result
}

/// The name under which the output grows: in the same directory, so that the rename is atomic.
fn beside(to: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(to.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    to.with_file_name(name)
}

fn cannot_write(path: &Path, source: io::Error) -> TraceError {
    TraceError::Io { path: path.display().to_string(), what: "cannot be written", source }
}

fn write(trace: &mut Trace, temporary: &Path, to: &Path, target: &Target) -> Result<Converted, TraceError> {
    let fail = |source| cannot_write(to, source);
    let mut output = Output::create(temporary, to).map_err(fail)?;
    output.write_all(target.head.as_bytes()).map_err(fail)?;
    let mut done = Converted { requests: 0, left_out: 0 };
    let mut batch = Vec::with_capacity(4096);
    while trace.fill(&mut batch, 4096)? > 0 {
        for record in &batch {
            if (target.line)(&mut output, record).map_err(fail)? {
                done.requests += 1;
            } else {
                done.left_out += 1;
            }
        }
        batch.clear();
    }
    output.finish().map_err(fail)?;
    Ok(done)
}

/// A file, packed as its name ends.
enum Output {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
    Xz(liblzma::write::XzEncoder<BufWriter<File>>),
}

impl Output {
    fn create(path: &Path, named: &Path) -> io::Result<Output> {
        let file = BufWriter::with_capacity(1 << 18, File::create(path)?);
        let extension = named.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        Ok(match extension {
            "gz" => Output::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            "zst" => Output::Zstd(zstd::stream::write::Encoder::new(file, 9)?),
            "xz" => Output::Xz(liblzma::write::XzEncoder::new(file, 6)),
            _ => Output::Plain(file),
        })
    }

    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Output::Plain(file) => file,
            Output::Gzip(encoder) => encoder.finish()?,
            Output::Zstd(encoder) => encoder.finish()?,
            Output::Xz(encoder) => encoder.finish()?,
        };
        file.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(file) => file.write(bytes),
            Output::Gzip(encoder) => encoder.write(bytes),
            Output::Zstd(encoder) => encoder.write(bytes),
            Output::Xz(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(file) => file.flush(),
            Output::Gzip(encoder) => encoder.flush(),
            Output::Zstd(encoder) => encoder.flush(),
            Output::Xz(encoder) => encoder.flush(),
        }
    }
}

fn msr(out: &mut dyn Write, record: &Record) -> io::Result<bool> {
    let Record { time_ns, offset, size, device, .. } = *record;
    let kind = match record.kind {
        RequestKind::Read => "Read",
        RequestKind::Write => "Write",
        RequestKind::Trim => "Discard",
        RequestKind::Flush => "Flush",
    };
    let flags = if record.fua { "FUA" } else { "-" };
    writeln!(out, "{},ftlab,{device},{kind},{offset},{size},0,{flags}", time_ns / 100)?;
    Ok(true)
}

/// The sector range that covers a read or write; these formats know no others.
fn sectors(record: &Record) -> Option<(u64, u64, u8)> {
    let op = match record.kind {
        RequestKind::Read => 1,
        RequestKind::Write => 0,
        RequestKind::Trim | RequestKind::Flush => return None,
    };
    let first = record.offset / 512;
    Some((first, (record.offset + record.size).div_ceil(512) - first, op))
}

fn ssdsim(out: &mut dyn Write, record: &Record) -> io::Result<bool> {
    let Some((sector, count, op)) = sectors(record) else { return Ok(false) };
    writeln!(out, "{} {} {sector} {count} {op}", record.time_ns, record.device)?;
    Ok(true)
}

fn disksim(out: &mut dyn Write, record: &Record) -> io::Result<bool> {
    let Some((sector, count, op)) = sectors(record) else { return Ok(false) };
    let (ms, fraction) = (record.time_ns / 1_000_000, record.time_ns % 1_000_000);
    writeln!(out, "{ms}.{fraction:06} {} {sector} {count} {op}", record.device)?;
    Ok(true)
}

fn iolog(out: &mut dyn Write, record: &Record) -> io::Result<bool> {
    let Record { time_ns, offset, size, device, .. } = *record;
    let time = time_ns / 1000;
    match record.kind {
        RequestKind::Read => writeln!(out, "{time} disk{device} read {offset} {size}")?,
        RequestKind::Write => writeln!(out, "{time} disk{device} write {offset} {size}")?,
        RequestKind::Trim => writeln!(out, "{time} disk{device} trim {offset} {size}")?,
        RequestKind::Flush => writeln!(out, "{time} disk{device} sync 0 0")?,
    }
    Ok(true)
}
