//! Requests of a trace in little memory: what was read from a file once need not be parsed again.

use base::RequestKind;
use serde::{Deserialize, Serialize};

use super::parser::Record;

/// Bytes of a chunk. A list of chunks grows without being copied.
const CHUNK: usize = 1 << 20;
/// Bytes of a request at most: four numbers of up to ten, one of up to five, one of up to three, two of one.
const LONGEST: usize = 4 * 10 + 5 + 3 + 2;
const KINDS: [RequestKind; 4] = [RequestKind::Read, RequestKind::Write, RequestKind::Trim, RequestKind::Flush];

/// A request as it is kept: numbers take as many bytes as they have digits, and times and lines are those since the request before.
#[derive(Serialize, Deserialize)]
struct PackedRow {
    time: i64,
    offset: u64,
    size: u64,
    line: i64,
    device: u32,
    kind: u8,
    fua: bool,
    hint: u16,
}

/// The time and the line of the request before.
#[derive(Clone, Copy, Default)]
struct Before {
    time_ns: u64,
    line: u64,
}

impl Before {
    fn pack(&mut self, record: &Record) -> PackedRow {
        let row = PackedRow {
            time: record.time_ns.wrapping_sub(self.time_ns).cast_signed(),
            offset: record.offset,
            size: record.size,
            line: record.line.wrapping_sub(self.line).cast_signed(),
            device: record.device,
            kind: record.kind as u8,
            fua: record.fua,
            hint: record.hint,
        };
        *self = Before { time_ns: record.time_ns, line: record.line };
        row
    }

    fn unpack(&mut self, row: &PackedRow) -> Record {
        self.time_ns = self.time_ns.wrapping_add_signed(row.time);
        self.line = self.line.wrapping_add_signed(row.line);
        Record {
            time_ns: self.time_ns,
            offset: row.offset,
            size: row.size,
            line: self.line,
            device: row.device,
            kind: KINDS[usize::from(row.kind)],
            fua: row.fua,
            hint: row.hint,
        }
    }
}

/// Requests, packed: some 10 to 20 bytes each.
#[derive(Default)]
pub(super) struct Packed {
    chunks: Vec<Vec<u8>>,
    requests: u64,
    last: Before,
}

impl Packed {
    /// The number of requests.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// All of them, unpacked.
    pub(super) fn unpacked(self) -> Vec<Record> {
        let requests = self.requests as usize;
        let mut records = Vec::with_capacity(requests);
        PackedReader::new(self).fill(&mut records, requests);
        records
    }

    /// Appends requests as long as all of them take at most so many bytes; returns whether there was room for these.
    pub(super) fn extend(&mut self, records: &[Record], most: usize) -> bool {
        records.iter().all(|record| {
            if self.chunks.last().is_none_or(|chunk| chunk.len() + LONGEST > CHUNK) {
                if (self.chunks.len() + 1) * CHUNK > most {
                    return false;
                }
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            let chunk = self.chunks.last_mut().expect("one was appended");
            let used = chunk.len();
            chunk.resize(used + LONGEST, 0);
            let length =
                postcard::to_slice(&self.last.pack(record), &mut chunk[used..]).expect("no request is longer").len();
            chunk.truncate(used + length);
            self.requests += 1;
            true
        })
    }
}

/// Requests that were packed, and how far they were given out.
pub(super) struct PackedReader {
    packed: Packed,
    chunk: usize,
    at: usize,
    given: u64,
    before: Before,
}

impl PackedReader {
    /// All of them, from the first one on.
    pub(super) fn new(packed: Packed) -> PackedReader {
        PackedReader { packed, chunk: 0, at: 0, given: 0, before: Before::default() }
    }

    /// Begins again.
    pub(super) fn rewind(self) -> PackedReader {
        PackedReader::new(self.packed)
    }

    /// How much was given out, 0..1.
    pub(super) fn position(&self) -> f64 {
        self.given as f64 / self.packed.requests.max(1) as f64
    }

    /// Appends up to `max` of what is left.
    pub(super) fn fill(&mut self, out: &mut Vec<Record>, max: usize) {
        let mut left = max;
        while left > 0
            && let Some(chunk) = self.packed.chunks.get(self.chunk)
        {
            let mut rest = &chunk[self.at..];
            while left > 0 && !rest.is_empty() {
                let (row, behind) = postcard::take_from_bytes(rest).expect("what was packed");
                out.push(self.before.unpack(&row));
                (rest, left) = (behind, left - 1);
            }
            self.at = chunk.len() - rest.len();
            if rest.is_empty() {
                (self.chunk, self.at) = (self.chunk + 1, 0);
            }
        }
        self.given += (max - left) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests with numbers of every length, times and lines that go back among them.
    fn records(count: u64) -> Vec<Record> {
        let number = |i: u64, salt: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt) >> (i.wrapping_add(salt) % 64);
        (0..count)
            .map(|i| Record {
                time_ns: number(i, 1),
                offset: number(i, 2),
                size: number(i, 3),
                line: number(i, 4),
                device: number(i, 5) as u32,
                kind: KINDS[i as usize % 4],
                fua: i % 3 == 0,
                hint: number(i, 6) as u16,
            })
            .collect()
    }

    #[test]
    fn what_is_packed_comes_back() {
        let all = records(100_000);
        let mut packed = Packed::default();
        assert!(packed.extend(&all[..1], usize::MAX) && packed.extend(&all[1..], usize::MAX));
        assert!(packed.chunks.len() > 2);
        let mut reader = PackedReader::new(packed);
        for most in [1, 7, 4096, usize::MAX] {
            let mut out = Vec::new();
            loop {
                assert_eq!(reader.position(), out.len() as f64 / all.len() as f64);
                let before = out.len();
                reader.fill(&mut out, most);
                if out.len() == before {
                    break;
                }
            }
            assert!(out == all);
            reader = reader.rewind();
        }
    }

    #[test]
    fn the_longest_request_fits() {
        let none =
            Record { time_ns: 0, offset: 0, size: 0, line: 0, device: 0, kind: RequestKind::Read, fua: false, hint: 0 };
        let half = 1 << 63;
        let longest = Record {
            time_ns: half,
            offset: u64::MAX,
            size: u64::MAX,
            line: half,
            device: u32::MAX,
            kind: RequestKind::Flush,
            fua: true,
            hint: u16::MAX,
        };
        let mut packed = Packed::default();
        assert!(packed.extend(&[none, longest, none], CHUNK));
        assert_eq!(packed.chunks[0].len(), 8 + LONGEST + (LONGEST - 20 - 5 - 3 + 4));
    }

    #[test]
    fn there_is_an_end_to_room() {
        let mut packed = Packed::default();
        assert!(!packed.extend(&records(200_000), 2 * CHUNK));
        assert_eq!(packed.chunks.len(), 2);
    }
}
