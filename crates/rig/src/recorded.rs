//! The requests of a recorded load: a log in the format of dm-log-writes, as `ftlab serve --log-writes` leaves it.

use std::path::Path;

use device::drive::SECTOR;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;

/// A request that changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// Where its entry begins in the log, in bytes.
    pub(crate) position: u64,
    pub(crate) kind: RecordedKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedKind {
    /// Its data lie behind the head of its entry.
    Write {
        offset: u64,
        length: u64,
        fua: bool,
    },
    Discard {
        offset: u64,
        length: u64,
    },
    Flush,
}

impl RecordedKind {
    /// The bytes that it changes.
    pub(crate) fn range(self) -> (u64, u64) {
        match self {
            RecordedKind::Write { offset, length, .. } | RecordedKind::Discard { offset, length } => (offset, length),
            RecordedKind::Flush => (0, 0),
        }
    }
}

/// A log in memory.
pub(crate) struct RecordedLoad {
    bytes: Vec<u8>,
    pub(crate) requests: Vec<Recorded>,
}

impl RecordedLoad {
    /// Reads a log of a device of `size` bytes.
    ///
    /// # Errors
    /// The text says what is wrong with the file.
    pub(crate) fn open(path: &Path, size: u64) -> Result<RecordedLoad, String> {
        let wrong = |found: String| format!("{} is no log of writes of this drive: {found}", path.display());
        let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let requests = entries(&bytes, size).map_err(wrong)?;
        Ok(RecordedLoad { bytes, requests })
    }

    /// The data of a write.
    pub(crate) fn data(&self, write: &Recorded) -> &[u8] {
        let (_, length) = write.kind.range();
        &self.bytes[(write.position + SECTOR) as usize..][..length as usize]
    }

    /// Bytes of the whole log: the position behind the last entry.
    pub(crate) fn end(&self) -> u64 {
        self.bytes.len() as u64
    }
}

fn entries(bytes: &[u8], size: u64) -> Result<Vec<Recorded>, String> {
    let word = |at: u64, field: usize| {
        let bytes = bytes.get(at as usize + 8 * field..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    };
    if [word(0, 0), word(0, 1), word(0, 3)] != [Some(MAGIC), Some(1), Some(SECTOR)] {
        return Err("it does not begin like one".into());
    }
    let count = word(0, 2).unwrap_or(0);
    let (mut position, mut requests) = (SECTOR, Vec::new());
    for number in 0..count {
        let fields = [0, 1, 2].map(|field| word(position, field));
        let [Some(first), Some(sectors), Some(flags)] = fields else {
            return Err(format!("it has {count} entries, and ends in entry {number}"));
        };
        let is_inside = first.checked_add(sectors).is_some_and(|end| end <= size / SECTOR);
        if !is_inside {
            return Err(format!(
                "entry {number} has {sectors} sectors from {first} on, and the drive {}",
                size / SECTOR
            ));
        }
        let (offset, length) = (first * SECTOR, sectors * SECTOR);
        let kind = match flags {
            FLUSH if sectors == 0 => RecordedKind::Flush,
            DISCARD => RecordedKind::Discard { offset, length },
            0 | FUA => RecordedKind::Write { offset, length, fua: flags == FUA },
            _ => return Err(format!("entry {number} has the flags {flags:#x}, which are not known here")),
        };
        requests.push(Recorded { position, kind });
        position += SECTOR + if flags == DISCARD { 0 } else { length };
        if position > bytes.len() as u64 {
            return Err(format!("it has {count} entries, and ends in entry {number}"));
        }
    }
    Ok(requests)
}
