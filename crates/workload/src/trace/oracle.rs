//! oracleGeneral (libCacheSim): records of 24 bytes, little endian: time (s, 32 bits), object (64 bits), size (bytes, 32 bits),
//! number of the object's next request (64 bits, -1: none). It has no operations, and says of an object only which it is.
//!
//! Every request is a read, and an object the number of a sector, unless the user says otherwise: `op=W,offset=obj_id:4KiB`.

use base::RequestKind;

use super::columns;
use super::detect::FirstLines;
use super::fields::SECOND;
use super::parser::{Bad, BlockParser, Format, Sink, WINDOW_SMALL};

pub(super) const FORMAT: Format = Format {
    name: "oracle-general",
    doc: "libCacheSim oracleGeneral: records of time (s), object (512 B), size (B), next request; all are reads",
    expected: "records of 24 bytes: time, object, size, next request of the object",
    window: WINDOW_SMALL,
    header: false,
    detect,
    parser: |_| Box::new(OracleTrace { kind: RequestKind::Read, unit: 512 }),
};

/// Bytes of a record.
const RECORD: usize = 24;
/// No trace has as many requests, and eight letters are a larger number.
const NEXT_LIMIT: i64 = 1 << 48;

/// How its fields are taken.
struct OracleTrace {
    kind: RequestKind,
    /// Bytes of address that an object's number counts.
    unit: u64,
}

/// A parser that takes the fields as the user says.
pub(super) fn parser(text: &str) -> Result<Box<dyn BlockParser>, String> {
    let mut oracle = OracleTrace { kind: RequestKind::Read, unit: 512 };
    for word in text.split(',').map(str::trim) {
        match word.split_once('=') {
            Some(("op", "R")) => oracle.kind = RequestKind::Read,
            Some(("op", "W")) => oracle.kind = RequestKind::Write,
            Some(("offset", place)) if place.starts_with("obj_id:") => {
                oracle.unit = columns::size_unit(&place["obj_id:".len()..], word)?;
            }
            _ => {
                return Err(format!(
                    "`{word}` is none of `op=R`, `op=W`, `offset=obj_id:4KiB` of an `oracle-general` file"
                ));
            }
        }
    }
    Ok(Box::new(oracle))
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
    let at = |from: usize, to: usize| {
        let mut bytes = [0; 8];
        bytes[..to - from].copy_from_slice(&record[from..to]);
        u64::from_le_bytes(bytes)
    };
    (at(0, 4) as u32, at(4, 12), at(12, 16) as u32, at(16, 24) as i64)
}

impl BlockParser for OracleTrace {
    fn lines(&mut self, text: &[u8], full: usize, sink: &mut Sink) -> (usize, Option<Bad>) {
        let mut at = 0;
        while at < text.len() && sink.records.len() < full {
            let record = &text[at..text.len().min(at + RECORD)];
            at += record.len();
            sink.counts.lines += 1;
            if let Err(bad) = self.record(record, sink) {
                return (at, Some(bad));
            }
        }
        (at, None)
    }

    fn record_bytes(&self) -> Option<usize> {
        Some(RECORD)
    }
}

impl OracleTrace {
    fn record(&self, record: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if record.len() < RECORD {
            return Err(Bad("the last record is cut short"));
        }
        let (time, object, size, _) = fields(record);
        let offset = object.checked_mul(self.unit).ok_or(Bad("the object is beyond any address; it may be a hash"))?;
        sink.data(self.kind, u64::from(time) * SECOND, 0, offset, u64::from(size), false)
    }
}
