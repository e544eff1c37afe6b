//! CloudPhysics vscsi as it was recorded, versions 1 and 2 (libCacheSim, traceReader/customizedReader/vscsi.h): records,
//! little endian.
//!
//! Version 1, 32 bytes: number (32 bits), size (bytes, 32), segments (32), command (16), version (16), lbn (512 B, 64), time
//! (us, 64). Version 2, 40 bytes: command (16), version (16), number, size, segments, lbn, time, response time (64). The
//! command is the SCSI operation code, the upper byte of the version its number.

use super::detect::FirstLines;
use super::fields::MICROSECOND;
use super::parser::{Bad, Format, Layout, RecordParser, Records, Sink, WINDOW_SMALL, number};
use super::vscsi;

pub(super) const FORMAT: Format = Format {
    name: "vscsi-binary",
    doc: "CloudPhysics vscsi, versions 1 and 2: records of command (SCSI), size (B), lbn (512 B), time (us)",
    expected: "records of 32 bytes (version 1) or 40 (version 2) with a SCSI operation code and a version",
    window: WINDOW_SMALL,
    layout: Layout::Records(|_, _| Err("its columns are known; expected no `--columns`".to_owned())),
    detect: |sample| version(sample.bytes).map_or(0, |_| 100),
    parser: |sample: &FirstLines<'_>| Box::new(Records(version(sample.bytes).unwrap_or(&VERSIONS[0]))),
};

/// Where a version has its fields: bytes of a record, and places of what matters.
struct VscsiVersion {
    number: u64,
    bytes: usize,
    command: usize,
    version: usize,
    size: usize,
    lbn: usize,
    time: usize,
}

static VERSIONS: [VscsiVersion; 2] = [
    VscsiVersion { number: 1, bytes: 32, command: 12, version: 14, size: 4, lbn: 16, time: 24 },
    VscsiVersion { number: 2, bytes: 40, command: 0, version: 2, size: 8, lbn: 16, time: 24 },
];

/// The version that all of the sample's records have.
fn version(bytes: &[u8]) -> Option<&'static VscsiVersion> {
    VERSIONS.iter().find(|version| {
        let mut records = bytes.chunks_exact(version.bytes).peekable();
        records.peek().is_some() && records.all(|record| version.operation(record).is_some())
    })
}

impl VscsiVersion {
    fn operation(&self, record: &[u8]) -> Option<vscsi::VscsiOp> {
        let sound = number::<2>(record, self.version) >> 8 == self.number;
        vscsi::op(number::<2>(record, self.command)).filter(|_| sound)
    }
}

impl RecordParser for &'static VscsiVersion {
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn record(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let operation = self.operation(record).ok_or(Bad("command or version is none of vscsi"))?;
        let beyond = Bad("lbn or time is beyond 64 bits of bytes or nanoseconds");
        let offset = number::<8>(record, self.lbn).checked_mul(512).ok_or(beyond)?;
        let time = number::<8>(record, self.time).checked_mul(MICROSECOND).ok_or(beyond)?;
        operation.put(time, offset, number::<4>(record, self.size), sink)
    }
}
