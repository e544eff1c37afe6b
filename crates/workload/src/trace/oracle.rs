//! oracleGeneral (libCacheSim): records of 24 bytes, little endian: time (s, 32 bits), object (64 bits), size (bytes, 32 bits),
//! number of the object's next request (64 bits, -1: none). It has no operations, and says of an object only which it is.
//!
//! Every request is a read, and an object the number of a sector, unless the user says otherwise: `op=W,offset=obj_id:4KiB`.

use super::detect::FirstLines;
use super::fields::SECOND;
use super::objects::Objects;
use super::parser::{Bad, BlockParser, Format, Layout, RecordParser, Records, Sink, WINDOW_SMALL, number};

pub(super) const FORMAT: Format = Format {
    name: "oracle-general",
    doc: "libCacheSim oracleGeneral: records of time (s), object (512 B), size (B), next request; all are reads",
    expected: "records of 24 bytes: time, object, size, next request of the object",
    window: WINDOW_SMALL,
    layout: Layout::Records(parser),
    detect,
    parser: |_| Box::new(Records(OracleTrace(Objects::default()))),
};

/// Bytes of a record.
const RECORD: usize = 24;
/// No trace has as many requests, and eight letters are a larger number.
const NEXT_LIMIT: i64 = 1 << 48;

struct OracleTrace(Objects);

/// A parser that takes the fields as the user says.
fn parser(text: &str, _: &FirstLines<'_>) -> Result<Box<dyn BlockParser>, String> {
    Ok(Box::new(Records(OracleTrace(Objects::parse(text, FORMAT.name)?))))
}

/// Records in which times do not run backwards, and the next request is behind this one.
fn detect(sample: &FirstLines<'_>) -> u32 {
    let mut latest = 0;
    let sound = |(index, record): (usize, &[u8])| {
        let (time, _, size, next) = fields(record);
        let in_order = time >= latest;
        latest = time;
        let later = next > index as i64 && next < NEXT_LIMIT || next == i64::MAX || next == -1;
        in_order && later && size > 0
    };
    let records = sample.bytes.len() / RECORD;
    let found = sample.bytes.chunks_exact(RECORD).enumerate().map(sound).filter(|sound| *sound).count();
    // Less than nearly all of it is another file of bytes.
    match found * 100 / records.max(1) {
        percent @ 90.. => percent as u32,
        _ => 0,
    }
}

fn fields(record: &[u8]) -> (u32, u64, u32, i64) {
    (
        number::<4>(record, 0) as u32,
        number::<8>(record, 4),
        number::<4>(record, 12) as u32,
        number::<8>(record, 16) as i64,
    )
}

impl RecordParser for OracleTrace {
    fn bytes(&self) -> usize {
        RECORD
    }

    fn record(&mut self, record: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let (time, object, size, _) = fields(record);
        let Objects { kind, unit } = self.0;
        sink.data(kind, u64::from(time) * SECOND, 0, unit.address(object)?, u64::from(size), false)
    }
}
