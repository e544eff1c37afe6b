//! Event Tracing for Windows as CSV, as in the SNIA Exchange and TPC traces: rows of many kinds behind a
//! header that names the columns of each; `DiskRead`, `DiskWrite` and `DiskFlush` matter here. Times are
//! microseconds, offsets and sizes bytes in hexadecimal.

use base::RequestKind;

use super::detect::FirstLines;
use super::fields::{Commas, MICROSECOND, device, hexadecimal, time, trim};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "etw",
    doc: "Microsoft ETW CSV (SNIA Exchange, TPC-C, TPC-E): DiskRead and DiskWrite rows, time (us), ByteOffset and IOSize (hex B)",
    expected: "`DiskRead|DiskWrite, TimeStamp, Process, ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, DiskNum, …`",
    window: WINDOW_SMALL,
    layout: Layout::Lines,
    detect,
    parser: |sample: &FirstLines| Box::new(Etw::new(sample)),
};

/// Where a kind of row has its columns.
#[derive(Clone, Copy)]
struct EtwColumns {
    offset: usize,
    size: usize,
    disk: usize,
}

/// The columns of a row that moves data.
struct Etw {
    data: EtwColumns,
    flush_disk: usize,
}

fn detect(sample: &FirstLines) -> u32 {
    let known = |line: &[u8]| {
        let name = Commas::new(line).next().unwrap_or_default();
        name == b"DiskRead" || name == b"DiskWrite" || name == b"BeginHeader"
    };
    if sample.lines.iter().any(|line| known(line)) { 100 } else { 0 }
}

impl Etw {
    fn new(sample: &FirstLines) -> Etw {
        let position = |row: &[u8], name: &[u8]| {
            let header = sample.lines.iter().find(|line| is_header(line) && Commas::new(line).next() == Some(row))?;
            Commas::new(header).position(|column| column == name)
        };
        let data = EtwColumns {
            offset: position(b"DiskRead", b"ByteOffset").unwrap_or(5),
            size: position(b"DiskRead", b"IOSize").unwrap_or(6),
            disk: position(b"DiskRead", b"DiskNum").unwrap_or(8),
        };
        Etw { data, flush_disk: position(b"DiskFlush", b"DiskNum").unwrap_or(6) }
    }
}

/// The column that names the time of every kind of row.
const TIME: usize = 1;

/// The columns at the places `wanted`, as far as the line has them. Rows are long and what matters
/// is spread over half of them, so the line is gone through once, from comma to comma.
#[inline]
fn columns<const N: usize>(line: &[u8], wanted: [usize; N]) -> [Option<&[u8]>; N] {
    let mut found = [None; N];
    let last = wanted.into_iter().max().unwrap_or(0);
    let mut start = 0;
    for (index, end) in memchr::memchr_iter(b',', line).chain([line.len()]).enumerate() {
        for (column, place) in found.iter_mut().zip(wanted) {
            if index == place {
                *column = Some(trim(&line[start..end]));
            }
        }
        if index == last {
            break;
        }
        start = end + 1;
    }
    found
}

/// The row that names the columns.
fn is_header(line: &[u8]) -> bool {
    Commas::new(line).nth(TIME) == Some(b"TimeStamp")
}

impl LineParser for Etw {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let line = trim(line);
        let EtwColumns { offset, size, disk } = self.data;
        let [name, at, offset, size, disk, flushed] = columns(line, [0, TIME, offset, size, disk, self.flush_disk]);
        let kind = match name.unwrap_or_default() {
            b"DiskRead" => RequestKind::Read,
            b"DiskWrite" => RequestKind::Write,
            b"DiskFlush" => RequestKind::Flush,
            name if !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') => {
                sink.other();
                return Ok(());
            }
            _ => return Err(Bad("row does not begin with the name of an event")),
        };
        if at == Some(b"TimeStamp") {
            sink.other();
            return Ok(());
        }
        let present = |column: Option<_>| column.ok_or(Bad("too few columns"));
        let at = time(present(at)?, MICROSECOND)?;
        if kind == RequestKind::Flush {
            sink.flush(at, device(present(flushed)?)?);
            return Ok(());
        }
        let offset = hexadecimal(present(offset)?).ok_or(Bad("ByteOffset is not a hexadecimal number"))?;
        let size = hexadecimal(present(size)?).ok_or(Bad("IOSize is not a hexadecimal number"))?;
        sink.data(kind, at, device(present(disk)?)?, offset, size, false)
    }
}
