//! The ASCII traces of the simulators: `time device address length op`, five words.
//!
//! The shape is shared; units are not, and no header names them. So each reading is a format of its own,
//! to be asked for by name, and detection decides by what the first lines hold:
//!
//! * a time with a decimal point is in milliseconds: with addresses and lengths that are all multiples of
//!   512 (and none below) they are bytes (`ms-bytes`); with tabs between the words, lengths are in units
//!   of 4 KiB (`flashsim`, which prints tabs); otherwise sectors (`disksim`);
//! * a whole number is in nanoseconds (`ssdsim`, which is also MQSim's), unless that would make more than
//!   100 000 requests a second with times that are not all whole microseconds: then microseconds
//!   (`ssdsim-us`). Traces of such a rate are newer than these simulators' formats.
//!
//! The op is DiskSim's flags word in hexadecimal: bit 0 set is a read.

use base::RequestKind;

use super::detect::FirstLines;
use super::fields::{MICROSECOND, MILLISECOND, Words, device, hexadecimal, integer, scaled, time};
use super::parser::{Bad, Format, Layout, LineParser, Sink, WINDOW_SMALL};

const EXPECTED: &str = "`time device address length op` with op 1 for a read and 0 for a write";

macro_rules! reading {
    ($name:literal, $doc:literal, $units:expr) => {
        Format {
            name: $name,
            doc: $doc,
            expected: EXPECTED,
            window: WINDOW_SMALL,
            layout: Layout::Lines,
            detect: |sample| if reading(sample) == Some($name) { sample.percent(shaped) } else { 0 },
            parser: |_| Box::new($units),
        }
    };
}

pub(super) const SSDSIM: Format = reading!(
    "ssdsim",
    "SSDSim and MQSim ASCII: time (ns) device sector nsectors op (1 read, 0 write)",
    Ascii { time: 1, address: 512, length: 512 }
);
pub(super) const SSDSIM_US: Format = reading!(
    "ssdsim-us",
    "SSDSim ASCII with time in microseconds: time (us) device sector nsectors op (1 read, 0 write)",
    Ascii { time: MICROSECOND, address: 512, length: 512 }
);
pub(super) const DISKSIM: Format = reading!(
    "disksim",
    "DiskSim ASCII: time (ms) device sector nsectors flags (bit 0: read)",
    Ascii { time: MILLISECOND, address: 512, length: 512 }
);
pub(super) const FLASHSIM: Format = reading!(
    "flashsim",
    "FlashSim ASCII: time (ms) device sector length (4 KiB) op (1 read, 0 write)",
    Ascii { time: MILLISECOND, address: 512, length: 4096 }
);
pub(super) const BYTES_MS: Format = reading!(
    "ms-bytes",
    "ASCII with bytes: time (ms) device offset (B) size (B) op (1 read, 0 write)",
    Ascii { time: MILLISECOND, address: 1, length: 1 }
);

/// A faster rate than this, read as nanoseconds, is taken for microseconds: mean gap in units.
const GAP_MIN: u64 = 10_000;

/// Units in nanoseconds and bytes.
struct Ascii {
    time: u64,
    address: u64,
    length: u64,
}

impl LineParser for Ascii {
    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut words = Words::new(line);
        let time = time(words.column()?, self.time)?;
        let device = device(words.column()?)?;
        let offset = scaled(words.column()?, self.address, "address (column 3) is not a whole number in range")?;
        let size = scaled(words.column()?, self.length, "length (column 4) is not a whole number in range")?;
        let op = hexadecimal(words.column()?).ok_or(Bad("op (column 5) is not a number"))?;
        if words.next().is_some() {
            return Err(Bad("more than 5 columns"));
        }
        let kind = if op & 1 == 1 { RequestKind::Read } else { RequestKind::Write };
        sink.data(kind, time, device, offset, size, false)
    }
}

/// True for a line of five numbers.
fn shaped(line: &[u8]) -> bool {
    Ascii { time: 1, address: 1, length: 1 }.line(line, &mut Sink::new(None)).is_ok()
}

/// Which reading of the shape the sample asks for.
fn reading(sample: &FirstLines) -> Option<&'static str> {
    let lines: Vec<&[u8]> = sample.lines.iter().copied().filter(|line| shaped(line)).collect();
    let first = lines.first()?;
    if lines.iter().any(|line| Words::new(line).next().is_some_and(|time| time.contains(&b'.'))) {
        return Some(match () {
            () if lines.iter().all(|line| in_bytes(line)) => "ms-bytes",
            () if first.contains(&b'\t') => "flashsim",
            () => "disksim",
        });
    }
    let times: Vec<u64> = lines.iter().filter_map(|line| Words::new(line).next().and_then(integer)).collect();
    let span = times.iter().max()? - times.iter().min()?;
    let crowded = span > 0 && span / (times.len() as u64) < GAP_MIN;
    let fine = times.iter().any(|time| time % 1000 != 0);
    Some(if crowded && fine { "ssdsim-us" } else { "ssdsim" })
}

/// True where address and length look like bytes: multiples of a sector's.
fn in_bytes(line: &[u8]) -> bool {
    let mut numbers = Words::new(line).skip(2).filter_map(integer);
    let sectors = |n: Option<u64>| n.is_some_and(|n| n % 512 == 0);
    let address = numbers.next();
    let length = numbers.next();
    sectors(address) && sectors(length) && length >= Some(512)
}
