//! lcs (libCacheSim, traceReader/customizedReader/lcs.h): a header of 8,192 bytes, then records of the version that it names,
//! little endian.
//!
//! Version 1 is that of oracleGeneral: time (s, 32 bits), object (64), size (32), next request of the object (64). Version 2
//! has an operation (8) and a tenant (24) before the last field; version 3 has sizes of 64 bits and a time to live behind
//! the tenant, and versions 4 to 8 have 1, 2, 4, 8 and 16 features of 32 bits behind that. An operation that neither reads
//! nor writes (`nop`, which is that of most block traces) is taken as the user says, and as a read if he does not.

use base::RequestKind;

use super::detect::FirstLines;
use super::fields::SECOND;
use super::objects::Objects;
use super::parser::{Bad, BlockParser, Format, Layout, RecordParser, Records, Sink, WINDOW_SMALL, number};

pub(super) const FORMAT: Format = Format {
    name: "lcs",
    doc: "libCacheSim lcs, versions 1 to 8: records of time (s), object (512 B), size (B), and from version 2 an operation and a tenant",
    expected: "a header of 8192 bytes with a version from 1 to 8, and records of that version",
    window: WINDOW_SMALL,
    layout: Layout::Records(|text, sample| Ok(parser(Objects::parse(text, FORMAT.name)?, sample))),
    detect: |sample| if version(sample.bytes).is_some() { 100 } else { 0 },
    parser: |sample| parser(Objects::default(), sample),
};

/// Bytes of the header, and the number that it begins and ends with.
const HEADER: usize = 8192;
const MAGIC: u64 = 0x1234_5678_9abc_def0;

/// Bytes of a record by version, from 1.
const RECORDS: [usize; 8] = [24, 28, 36, 40, 44, 52, 68, 100];

fn version(bytes: &[u8]) -> Option<usize> {
    let header = bytes.get(..HEADER)?;
    let sound = number::<8>(header, 0) == MAGIC && number::<8>(header, HEADER - 8) == MAGIC;
    let version = number::<8>(header, 8);
    (sound && (1..=RECORDS.len() as u64).contains(&version)).then_some(version as usize)
}

fn parser(objects: Objects, sample: &FirstLines<'_>) -> Box<dyn BlockParser> {
    Box::new(Records(LcsTrace { version: version(sample.bytes), objects }))
}

struct LcsTrace {
    /// `None` where there is no such header.
    version: Option<usize>,
    objects: Objects,
}

/// By libCacheSim's numbers of operations (`req_op_e`).
fn kind(op: u64) -> Option<RequestKind> {
    match op {
        1 | 2 | 12 => Some(RequestKind::Read),
        3..=8 | 10 | 11 | 13 | 14 => Some(RequestKind::Write),
        9 => Some(RequestKind::Trim),
        _ => None,
    }
}

impl RecordParser for LcsTrace {
    fn bytes(&self) -> usize {
        RECORDS[self.version.map_or(0, |version| version - 1)]
    }

    fn header_bytes(&self) -> usize {
        self.version.map_or(0, |_| HEADER)
    }

    fn record(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let version = self.version.ok_or(Bad("the file has no header of lcs"))?;
        let time = number::<4>(record, 0) * SECOND;
        let offset = self.objects.unit.address(number::<8>(record, 4))?;
        let (size, behind) = if version < 3 { (number::<4>(record, 12), 16) } else { (number::<8>(record, 12), 20) };
        let (op, tenant) =
            if version == 1 { (0, 0) } else { (number::<1>(record, behind), number::<3>(record, behind + 1)) };
        sink.data(kind(op).unwrap_or(self.objects.kind), time, tenant as u32, offset, size, false)
    }
}
