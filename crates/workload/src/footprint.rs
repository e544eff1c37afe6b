//! Which pages of 4 KiB a trace touches.
//!
//! Memory grows with the requests, not with the address space: a request touches the ends of its range bit by bit, and
//! what lies between is one range, however long.

use std::collections::{BTreeMap, HashMap};

use engine::memory::{Room, room};

use crate::trace::Record;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Pages of a piece of the bitmap: 2 MiB, a cache line of bits.
const PIECE: u64 = 512;
const WORDS: usize = (PIECE / 64) as usize;

/// A piece by device and number.
type Key = (u32, u64);

/// Memory that needs no look at what there is.
const FREELY: u64 = 64 << 20;

/// A set of pages.
pub(crate) struct PageSet {
    /// Pieces of which some pages were touched.
    index: HashMap<Key, usize>,
    pieces: Vec<[u64; WORDS]>,
    /// Pieces that one request touched wholly: the first, and one past the last.
    whole: BTreeMap<Key, u64>,
    /// The piece last used: neighbours follow each other.
    last: Option<(Key, usize)>,
    /// Bytes that memory is known to have to spare.
    granted: u64,
}

impl Default for PageSet {
    fn default() -> PageSet {
        let (index, pieces, whole) = (HashMap::new(), Vec::new(), BTreeMap::new());
        PageSet { index, pieces, whole, last: None, granted: FREELY }
    }
}

impl PageSet {
    /// Bytes in use, about.
    fn bytes(&self) -> u64 {
        // A table of hashes is half empty at worst, and an entry of it has a byte besides.
        let of_piece = size_of::<[u64; WORDS]>() + 2 * (size_of::<(Key, usize)>() + 1);
        let of_range = 2 * size_of::<(Key, u64)>();
        (self.pieces.len() * of_piece + self.whole.len() * of_range) as u64
    }

    /// Makes sure of memory to go on. Call it every few thousand requests.
    ///
    /// # Errors
    /// When there is too little: what is needed, and what there is.
    pub(crate) fn make_room(&mut self) -> Result<(), (u64, Room)> {
        let bytes = self.bytes();
        if bytes <= self.granted {
            return Ok(());
        }
        // Lists and tables grow to twice their length, and are there twice meanwhile.
        match room() {
            Some(room) if room.bytes < 3 * bytes => Err((3 * bytes, room)),
            _ => {
                self.granted = 2 * bytes;
                Ok(())
            }
        }
    }

    /// Adds the pages of a request.
    pub(crate) fn mark(&mut self, record: &Record) {
        let (first, end) = (record.offset / PAGE, (record.offset + record.size).div_ceil(PAGE));
        let (whole, past) = (first.div_ceil(PIECE), end / PIECE);
        if whole >= past {
            self.mark_bits(record.device, first, end);
            return;
        }
        self.mark_bits(record.device, first, whole * PIECE);
        self.mark_whole(record.device, whole, past);
        self.mark_bits(record.device, past * PIECE, end);
    }

    /// Adds a few pages.
    fn mark_bits(&mut self, device: u32, first: u64, end: u64) {
        let mut page = first;
        while page < end {
            let stop = end.min((page / PIECE + 1) * PIECE);
            let piece = self.piece((device, page / PIECE));
            fill(piece, page % PIECE, (stop - 1) % PIECE);
            page = stop;
        }
    }

    /// Adds whole pieces, in one range with those that they touch.
    fn mark_whole(&mut self, device: u32, first: u64, past: u64) {
        let (mut first, mut past) = (first, past);
        let before = self.whole.range(..=(device, first)).next_back().map(|(&key, &end)| (key, end));
        if let Some(((owner, begin), end)) = before
            && owner == device
            && end >= first
        {
            (first, past) = (begin, past.max(end));
        }
        while let Some((&key, &end)) = self.whole.range((device, first)..=(device, past)).next() {
            past = past.max(end);
            self.whole.remove(&key);
        }
        self.whole.insert((device, first), past);
    }

    fn piece(&mut self, key: Key) -> &mut [u64; WORDS] {
        let at = match self.last {
            Some((last, at)) if last == key => at,
            _ => *self.index.entry(key).or_insert_with(|| {
                self.pieces.push([0; WORDS]);
                self.pieces.len() - 1
            }),
        };
        self.last = Some((key, at));
        &mut self.pieces[at]
    }

    fn is_whole(&self, (device, piece): Key) -> bool {
        let before = self.whole.range(..=(device, piece)).next_back();
        before.is_some_and(|(&(owner, _), &end)| owner == device && piece < end)
    }

    /// The number of pages in the set.
    pub(crate) fn count(&self) -> u64 {
        let in_ranges: u64 = self.whole.iter().map(|(&(_, first), &past)| (past - first) * PIECE).sum();
        let in_bits = self.index.iter().filter(|(key, _)| !self.is_whole(**key));
        let ones = |piece: &[u64; WORDS]| piece.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        in_ranges + in_bits.map(|(_, &at)| ones(&self.pieces[at])).sum::<u64>()
    }
}

/// Sets the bits `first..=last`.
fn fill(words: &mut [u64; WORDS], first: u64, last: u64) {
    for word in first / 64..=last / 64 {
        let low = if word == first / 64 { first % 64 } else { 0 };
        let high = if word == last / 64 { last % 64 } else { 63 };
        words[word as usize] |= (u64::MAX >> (63 - high)) & (u64::MAX << low);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use base::RequestKind;

    use super::*;

    fn record(device: u32, offset: u64, size: u64) -> Record {
        Record { time_ns: 0, offset, size, line: 1, device, kind: RequestKind::Read, fua: false, hint: 0 }
    }

    #[test]
    fn pages_are_counted_once() {
        let mut pages = PageSet::default();
        pages.mark(&record(0, 4095, 2));
        assert_eq!(pages.count(), 2);
        pages.mark(&record(0, 4095, 64 << 20));
        assert_eq!(pages.count(), (64 << 20) / 4096 + 1);
        pages.mark(&record(1, 4095, 1));
        assert_eq!(pages.count(), (64 << 20) / 4096 + 2);
    }

    #[test]
    fn any_requests_are_counted_as_a_plain_set_counts_them() {
        for longest in [300_000, 20 << 20] {
            let (mut pages, mut plain) = (PageSet::default(), HashSet::new());
            for step in 0..700u64 {
                let (device, offset) = ((step % 3) as u32, step * step * 7919 % (1 << 28));
                let size = if step % 5 == 0 { 2 << 20 } else { 1 + step * 370_003 % longest };
                let offset = if step % 2 == 0 { offset / (2 << 20) * (2 << 20) } else { offset };
                pages.mark(&record(device, offset, size));
                plain.extend((offset / 4096..=(offset + size - 1) / 4096).map(|page| (device, page)));
                assert_eq!(pages.count(), plain.len() as u64, "step {step}");
            }
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_address_space() {
        let mut pages = PageSet::default();
        for step in 0..1000 {
            pages.mark(&record(0, step * 5_000_000_000 + 1000, 1 << 61));
        }
        assert_eq!(pages.count(), ((1 << 61) + 999 * 5_000_000_000 + 1000u64).div_ceil(4096));
        assert!(pages.bytes() < 1 << 20, "{} bytes", pages.bytes());
        pages.make_room().unwrap();
    }
}
