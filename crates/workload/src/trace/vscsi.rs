//! CloudPhysics vscsiStats as CSV: `version,time,op,size,lbn`; microseconds, or seconds, the SCSI operation code in
//! hexadecimal, bytes, and blocks of 512 bytes.

use base::RequestKind;

use super::detect::FirstLines;
use super::fields::{Commas, MICROSECOND, SECOND, hexadecimal, integer, scaled, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

macro_rules! reading {
    ($name:literal, $doc:literal, $unit:expr) => {
        Format {
            name: $name,
            doc: $doc,
            expected: "`version,time,op,size,lbn` with op a SCSI operation code in hexadecimal",
            window: WINDOW_SMALL,
            layout: Layout::Headed,
            detect: |sample| if unit(sample) == $unit { sample.percent(detects) } else { 0 },
            parser: |_| Box::new(Vscsi { unit: $unit }),
        }
    };
}

pub(super) const FORMAT: Format =
    reading!("vscsi", "CloudPhysics vscsi CSV: version,time (us),op (SCSI, hex),size (B),lbn (512 B)", MICROSECOND);
pub(super) const SECONDS: Format = reading!(
    "vscsi-s",
    "CloudPhysics vscsi CSV with time in seconds, as libCacheSim has it: version,time (s),op,size,lbn",
    SECOND
);

/// Nanoseconds of a time's unit.
struct Vscsi {
    unit: u64,
}

/// The clock of a host that has been up for a quarter of an hour is past this, in microseconds.
const CLOCK_MIN: u64 = 1_000_000_000;
/// A clock that begins below this was set to zero with the first request.
const REBASED: u64 = 1_000_000;

/// In which unit the times are: whole numbers are seconds if, as microseconds, there were more than a million requests a
/// second, or the clock would be that of a host that has only just started.
fn unit(sample: &FirstLines<'_>) -> u64 {
    let commands = sample.lines.iter().filter(|line| detects(line));
    let times: Option<Vec<u64>> = commands.filter_map(|line| Commas::new(line).nth(1)).map(integer).collect();
    let Some((first, last)) = times.as_ref().and_then(|times| Some((*times.iter().min()?, *times.iter().max()?)))
    else {
        return MICROSECOND;
    };
    let requests = times.map_or(0, |times| times.len() as u64);
    let crowded = last > first && last - first < requests;
    let started = (REBASED..CLOCK_MIN).contains(&first) && last < CLOCK_MIN;
    if crowded || started { SECOND } else { MICROSECOND }
}

pub(super) enum VscsiOp {
    Data(RequestKind),
    Flush,
    Other,
}

/// By SCSI operation code (SBC-4): the 6, 10, 12 and 16 byte forms.
pub(super) fn op(code: u64) -> Option<VscsiOp> {
    match code {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(VscsiOp::Data(RequestKind::Read)),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(VscsiOp::Data(RequestKind::Write)),
        0x35 | 0x91 => Some(VscsiOp::Flush),
        0x00..=0xff => Some(VscsiOp::Other),
        _ => None,
    }
}

/// The version is a small number, and the operation one that moves data.
fn detects(line: &[u8]) -> bool {
    let mut columns = Commas::new(line);
    let version = columns.next().and_then(integer).is_some_and(|version| version < 10);
    let moves = matches!(columns.nth(1).and_then(hexadecimal).and_then(op), Some(VscsiOp::Data(_)));
    version && moves && Vscsi { unit: 1 }.line(line, &mut Sink::new(None)).is_ok()
}

impl LineParser for Vscsi {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut columns = Commas::new(line);
        integer(columns.column()?).ok_or(Bad("version (column 1) is not a whole number"))?;
        let time = time(columns.column()?, self.unit)?;
        let code = hexadecimal(columns.column()?).and_then(op);
        let code = code.ok_or(Bad("op (column 3) is not a SCSI operation code"))?;
        let size = integer(columns.column()?).ok_or(Bad("size (column 4) is not a whole number"))?;
        let offset = scaled(columns.column()?, 512, "lbn (column 5) is not a block number")?;
        if columns.next().is_some() {
            return Err(Bad("more than 5 columns"));
        }
        code.put(time, offset, size, sink)
    }
}

impl VscsiOp {
    /// Hands on a command of one disk.
    pub fn put(&self, time_ns: u64, offset: u64, size: u64, sink: &mut Sink) -> Result<(), Bad> {
        match self {
            VscsiOp::Data(kind) => return sink.data(*kind, time_ns, 0, offset, size, false),
            VscsiOp::Flush => sink.flush(time_ns, 0),
            VscsiOp::Other => sink.other(),
        }
        Ok(())
    }
}
