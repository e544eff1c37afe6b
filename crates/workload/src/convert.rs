//! Writing traces in another format, and showing how they begin.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use base::RequestKind;
use files::{Interrupt, Output};

use crate::error::TraceError;
use crate::trace::{Record, Trace, TraceOptions};

/// Requests converted at a time.
const BATCH: usize = 4096;

/// A format that can be written.
pub struct Conversion {
    /// The name.
    pub name: &'static str,
    /// One line for listings: what it keeps.
    pub doc: &'static str,
    head: &'static str,
    line: fn(&mut dyn Write, &Record) -> io::Result<bool>,
}

/// Every format that can be written.
pub static TARGETS: &[Conversion] = &[
    Conversion {
        name: "msr",
        doc: "MSR Cambridge CSV with a flags column; keeps reads, writes, flushes, discards and FUA; times to 100 ns",
        head: "",
        line: msr,
    },
    Conversion {
        name: "ssdsim",
        doc: "SSDSim and MQSim ASCII, times in ns; reads and writes of whole sectors",
        head: "",
        line: ssdsim,
    },
    Conversion {
        name: "disksim",
        doc: "DiskSim ASCII, times in ms; reads and writes of whole sectors",
        head: "",
        line: disksim,
    },
    Conversion {
        name: "iolog",
        doc: "fio iolog version 3, times in us; reads, writes, discards and flushes, without FUA",
        head: "fio version 3 iolog\n",
        line: iolog,
    },
];

/// The counts of a conversion.
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
    let mut trace = Trace::open(path, options)?;
    // What ends a trace too early is told once all before it was given out.
    let mut left = n;
    while left > 0 {
        match trace.fill(&mut records, left)? {
            0 => break,
            given => left -= given,
        }
    }
    Ok(records)
}

/// Rewrites a trace in another format, request by request.
///
/// The output is packed as its name ends: `.gz`, `.zst`, `.xz`, `.bz2`, or plain. It appears under its name only
/// when it is complete, as [`Output`] does.
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
    let fail = |source| TraceError::writing(to, source);
    let mut output = PackedFile::create(to, &options.interrupt).map_err(fail)?;
    output.write_all(target.head.as_bytes()).map_err(fail)?;
    let mut done = Converted { requests: 0, left_out: 0 };
    let mut batch = Vec::with_capacity(BATCH);
    while trace.fill(&mut batch, BATCH)? > 0 {
        // To pack a buffer of the reader may take a second.
        options.interrupt.check().map_err(fail)?;
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
enum PackedFile {
    Plain(BufWriter<Output>),
    Gzip(flate2::write::GzEncoder<BufWriter<Output>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<Output>>),
    Xz(liblzma::write::XzEncoder<BufWriter<Output>>),
    Bzip2(bzip2::write::BzEncoder<BufWriter<Output>>),
}

impl PackedFile {
    fn create(path: &Path, interrupt: &Interrupt) -> io::Result<PackedFile> {
        let file = BufWriter::with_capacity(1 << 18, Output::create(path, interrupt)?);
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        Ok(match extension {
            "gz" => PackedFile::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            "zst" => PackedFile::Zstd(zstd::stream::write::Encoder::new(file, 9)?),
            "xz" => PackedFile::Xz(liblzma::write::XzEncoder::new(file, 6)),
            "bz2" => PackedFile::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::best())),
            _ => PackedFile::Plain(file),
        })
    }

    fn finish(self) -> io::Result<()> {
        let file = match self {
            PackedFile::Plain(file) => file,
            PackedFile::Gzip(encoder) => encoder.finish()?,
            PackedFile::Zstd(encoder) => encoder.finish()?,
            PackedFile::Xz(encoder) => encoder.finish()?,
            PackedFile::Bzip2(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
    }
}

impl Write for PackedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            PackedFile::Plain(file) => file.write(bytes),
            PackedFile::Gzip(encoder) => encoder.write(bytes),
            PackedFile::Zstd(encoder) => encoder.write(bytes),
            PackedFile::Xz(encoder) => encoder.write(bytes),
            PackedFile::Bzip2(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            PackedFile::Plain(file) => file.flush(),
            PackedFile::Gzip(encoder) => encoder.flush(),
            PackedFile::Zstd(encoder) => encoder.flush(),
            PackedFile::Xz(encoder) => encoder.flush(),
            PackedFile::Bzip2(encoder) => encoder.flush(),
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
