//! Reading traces: the CSV formats, one request a line.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use engine::Chance;
use metrics::Stopwatch;
use workload::{Trace, TraceOptions};

use crate::Failure;
use crate::child::Measurement;

/// Requests of a trace.
const REQUESTS: u64 = 2_000_000;
/// Requests taken from the reader at a time.
const BATCH: usize = 1024;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WrittenFormat {
    Msr,
    Spc,
    Alibaba,
    Tencent,
    Etw,
}

impl WrittenFormat {
    pub(crate) const ALL: [WrittenFormat; 5] =
        [WrittenFormat::Msr, WrittenFormat::Spc, WrittenFormat::Alibaba, WrittenFormat::Tencent, WrittenFormat::Etw];

    /// The reader's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            WrittenFormat::Msr => "msr",
            WrittenFormat::Spc => "spc",
            WrittenFormat::Alibaba => "alibaba",
            WrittenFormat::Tencent => "tencent",
            WrittenFormat::Etw => "etw",
        }
    }

    fn header(self) -> &'static str {
        match self {
            WrittenFormat::Etw => {
                "BeginHeader\n\
                 DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, \
                 IrpFlags, DiskSvcTime, I/O Pri, VolSnap, FileObject, FileName\n\
                 DiskWrite, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, \
                 IrpFlags, DiskSvcTime, I/O Pri, VolSnap, FileObject, FileName\n\
                 EndHeader\n"
            }
            _ => "",
        }
    }

    /// One line, as long as those of the real traces.
    fn line(self, out: &mut impl Write, request: &ParsedLine) -> std::io::Result<()> {
        let &ParsedLine { us, sector, sectors, write, device } = request;
        let (offset, size) = (sector * 512, sectors * 512);
        match self {
            WrittenFormat::Msr => {
                let kind = if write { "Write" } else { "Read" };
                writeln!(
                    out,
                    "{},prxy,{device},{kind},{offset},{size},{}",
                    128_166_372_000_000_000 + us * 10,
                    us % 9973
                )
            }
            WrittenFormat::Spc => {
                let kind = if write { "W" } else { "R" };
                writeln!(out, "{device},{sector},{size},{kind},{}.{:06}", us / 1_000_000, us % 1_000_000)
            }
            WrittenFormat::Alibaba => {
                let kind = if write { "W" } else { "R" };
                writeln!(out, "{device},{kind},{offset},{size},{}", 1_577_808_000_000_000 + us)
            }
            WrittenFormat::Tencent => {
                writeln!(out, "{},{sector},{sectors},{},{device}", 1_538_323_200 + us / 1_000_000, u8::from(write))
            }
            WrittenFormat::Etw => {
                let kind = if write { "DiskWrite" } else { "DiskRead" };
                writeln!(
                    out,
                    "{kind:>15}, {us:>10}, sqlservr.exe (2012), {:>6}, 0xfffffadf9a3c1010, 0x{offset:010x}, \
                     0x{size:08x}, {:>8}, {device:>3}, 0x060043, {:>8}, Normal, Original, 0xfffffadf9b2d5d90, \"data.mdf\"",
                    us % 7919,
                    us % 9973,
                    us % 9967,
                )
            }
        }
    }
}

/// A line of a trace.
struct ParsedLine {
    us: u64,
    sector: u64,
    sectors: u64,
    write: bool,
    device: u64,
}

/// Writes a trace of random requests.
pub(crate) fn write(format: WrittenFormat, path: &Path) -> Result<Measurement, Failure> {
    write_lines(format, path, REQUESTS).map_err(|error| Failure::file(path, &error))?;
    Ok(Measurement::default())
}

fn write_lines(format: WrittenFormat, path: &Path, requests: u64) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(format.header().as_bytes())?;
    let mut random = Chance::new(1, "trace");
    let mut us = 0;
    for _ in 0..requests {
        us += random.below(400);
        let line = ParsedLine {
            us,
            sector: random.below(1 << 28) * 8,
            sectors: 8 << random.below(5),
            write: random.below(10) < 7,
            device: random.below(3),
        };
        format.line(&mut out, &line)?;
    }
    out.flush()
}

/// Reads the trace to its end.
pub(crate) fn read(format: WrittenFormat, path: &Path) -> Result<Measurement, Failure> {
    let stopwatch = Stopwatch::start();
    let requests = count(format, path)?;
    let cpu_s = stopwatch.usage().cpu_s;
    if requests != REQUESTS {
        return Err(Failure(format!("the {} trace has {REQUESTS} requests, {requests} were read", format.name())));
    }
    let bytes = std::fs::metadata(path).map_err(|error| Failure::file(path, &error))?.len();
    let mut figures = Measurement::default();
    figures.set("requests_per_s", requests as f64 / cpu_s);
    figures.set("mb_per_s", bytes as f64 / 1e6 / cpu_s);
    Ok(figures)
}

fn count(format: WrittenFormat, path: &Path) -> Result<u64, Failure> {
    let failed = |error: workload::TraceError| Failure(error.to_string());
    let mut trace = Trace::open(path, &TraceOptions::default()).map_err(failed)?;
    if trace.format().name != format.name() {
        return Err(Failure(format!("a {} trace was taken for {}", format.name(), trace.format().name)));
    }
    let mut batch = Vec::with_capacity(BATCH);
    let mut requests = 0;
    while trace.fill(&mut batch, BATCH).map_err(failed)? > 0 {
        requests += std::hint::black_box(&batch).len() as u64;
        batch.clear();
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_written_as_its_reader_wants_it() {
        for format in WrittenFormat::ALL {
            let name = format!("ftlab-bench-test-{}-{}", format.name(), std::process::id());
            let path = std::env::temp_dir().join(name);
            write_lines(format, &path, 5000).unwrap();
            let found = count(format, &path);
            std::fs::remove_file(&path).unwrap();
            assert_eq!(found.unwrap(), 5000, "{}", format.name());
        }
    }
}
