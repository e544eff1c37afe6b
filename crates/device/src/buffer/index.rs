//! Which buffered page is the newest version of a logical one: a table by hash, with as much memory as the buffer needs, not the drive.

use base::Lpn;

/// "No page" in a link and in the index.
pub(super) const NONE: u32 = u32::MAX;

/// An entry: a logical page, and its place in the buffer; none where that is [`NONE`].
#[derive(Clone, Copy)]
struct Entry {
    lpn: u32,
    page: u32,
}

const EMPTY: Entry = Entry { lpn: 0, page: NONE };

/// Logical pages by hash, each in the first free entry from its own on. At most half of the entries are taken.
#[derive(Clone)]
pub(super) struct Index {
    entries: Vec<Entry>,
    taken: usize,
}

impl Index {
    /// Bytes of an index of so many pages.
    pub(super) fn bytes(pages: u64) -> u64 {
        size_of::<Entry>() as u64 * entries(pages)
    }

    /// An index with room for so many pages.
    pub(super) fn new(pages: u64) -> Index {
        Index { entries: vec![EMPTY; entries(pages) as usize], taken: 0 }
    }

    /// Asks for the entry of a page that will be looked for.
    pub(super) fn prefetch(&self, lpn: Lpn) {
        engine::prefetch(&self.entries, self.first(lpn.0));
    }

    /// The place of a page; [`NONE`] if it has none.
    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> u32 {
        self.entries[self.find(lpn.0)].page
    }

    /// Gives a page a place, a new one if it has one.
    pub(super) fn set(&mut self, lpn: Lpn, page: u32) {
        if 2 * (self.taken + 1) > self.entries.len() {
            self.grow();
        }
        let at = self.find(lpn.0);
        self.taken += usize::from(self.entries[at].page == NONE);
        self.entries[at] = Entry { lpn: lpn.0, page };
    }

    /// Takes the place of a page away, if it has one. What stood behind for want of its own entry moves up.
    pub(super) fn clear(&mut self, lpn: Lpn) {
        let mut hole = self.find(lpn.0);
        if self.entries[hole].page == NONE {
            return;
        }
        self.taken -= 1;
        let mask = self.entries.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.page == NONE {
                break;
            }
            // It may stand in the hole if its own entry does not lie behind that.
            let from_own = at.wrapping_sub(self.first(entry.lpn)) & mask;
            if from_own >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = EMPTY;
    }

    /// The entry of a page, or the free one in which it would be.
    #[inline]
    fn find(&self, lpn: u32) -> usize {
        let mut at = self.first(lpn);
        while self.entries[at].page != NONE && self.entries[at].lpn != lpn {
            at = (at + 1) & (self.entries.len() - 1);
        }
        at
    }

    /// The entry that is a page's own: pages that follow each other are far apart.
    #[inline]
    fn first(&self, lpn: u32) -> usize {
        // 2^64 ÷ the golden ratio (Knuth, volume 3, section 6.4).
        let hash = u64::from(lpn).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.entries.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![EMPTY; 2 * self.entries.len()];
        let entries = std::mem::replace(&mut self.entries, larger);
        for entry in entries.into_iter().filter(|entry| entry.page != NONE) {
            let at = self.find(entry.lpn);
            self.entries[at] = entry;
        }
    }
}

/// Entries for so many pages.
fn entries(pages: u64) -> u64 {
    (2 * (pages + 1)).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Against a map of the standard library, with pages that share their own entries.
    #[test]
    fn it_has_what_was_set_and_not_cleared() {
        let mut random = engine::Chance::new(1, "index");
        for spread in [1, 3, 1 << 16, 1 << 24] {
            let (mut index, mut model) = (Index::new(8), HashMap::new());
            for page in 0..20_000 {
                let lpn = Lpn(random.below_u32(60) * spread);
                match random.below(3) {
                    0 => {
                        index.clear(lpn);
                        model.remove(&lpn.0);
                    }
                    _ if model.len() < 40 || model.contains_key(&lpn.0) => {
                        index.set(lpn, page);
                        model.insert(lpn.0, page);
                    }
                    _ => {}
                }
                for other in 0..60 {
                    let lpn = other * spread;
                    assert_eq!(index.get(Lpn(lpn)), model.get(&lpn).copied().unwrap_or(NONE), "{spread} {page}");
                }
            }
            assert!(index.entries.len() <= 128 && index.taken == model.len(), "{}", index.entries.len());
        }
    }
}
