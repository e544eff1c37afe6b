//! A table of numbers by hash, with memory for as many as there are at one time, wherever they come from.

/// "No place".
const NONE: u32 = u32::MAX;

/// An entry: a key, and its place; none where that is [`NONE`].
#[derive(Clone, Copy)]
struct Entry {
    key: u32,
    place: u32,
}

const EMPTY: Entry = Entry { key: 0, place: NONE };

/// Keys by hash, each in the first free entry from its own on. At most half of the entries are taken.
#[derive(Clone)]
pub struct Index {
    entries: Vec<Entry>,
    taken: usize,
}

impl Index {
    /// Bytes of an index of so many keys.
    pub fn bytes(keys: u64) -> u64 {
        size_of::<Entry>() as u64 * entries(keys)
    }

    /// An index with room for so many keys.
    pub fn new(keys: u64) -> Index {
        Index { entries: vec![EMPTY; entries(keys) as usize], taken: 0 }
    }

    /// Asks the processor for the entry of a key that will be looked for.
    #[inline]
    pub fn prefetch(&self, key: u32) {
        crate::prefetch(&self.entries, self.first(key));
    }

    /// The place of a key, if it has one.
    #[inline]
    pub fn get(&self, key: u32) -> Option<u32> {
        let place = self.entries[self.find(key)].place;
        (place != NONE).then_some(place)
    }

    /// Gives a key a place, a new one if it has one.
    pub fn set(&mut self, key: u32, place: u32) {
        if 2 * (self.taken + 1) > self.entries.len() {
            self.grow();
        }
        let at = self.find(key);
        self.taken += usize::from(self.entries[at].place == NONE);
        self.entries[at] = Entry { key, place };
    }

    /// Takes the place of a key away, if it has one. What stood behind for want of its own entry moves up.
    pub fn clear(&mut self, key: u32) {
        let mut hole = self.find(key);
        if self.entries[hole].place == NONE {
            return;
        }
        self.taken -= 1;
        let mask = self.entries.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.place == NONE {
                break;
            }
            // It may stand in the hole if its own entry does not lie behind that.
            let from_own = at.wrapping_sub(self.first(entry.key)) & mask;
            if from_own >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = EMPTY;
    }

    /// The entry of a key, or the free one in which it would be.
    #[inline]
    fn find(&self, key: u32) -> usize {
        let mut at = self.first(key);
        while self.entries[at].place != NONE && self.entries[at].key != key {
            at = (at + 1) & (self.entries.len() - 1);
        }
        at
    }

    /// The entry that is a key's own: keys that follow each other are far apart.
    #[inline]
    fn first(&self, key: u32) -> usize {
        // 2^64 ÷ the golden ratio (Knuth, volume 3, section 6.4).
        let hash = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as usize & (self.entries.len() - 1)
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![EMPTY; 2 * self.entries.len()];
        let entries = std::mem::replace(&mut self.entries, larger);
        for entry in entries.into_iter().filter(|entry| entry.place != NONE) {
            let at = self.find(entry.key);
            self.entries[at] = entry;
        }
    }
}

/// Entries for so many keys.
fn entries(keys: u64) -> u64 {
    (2 * (keys + 1)).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Against a map of the standard library, with keys that share their own entries.
    #[test]
    fn it_has_what_was_set_and_not_cleared() {
        let mut random = crate::Chance::new(1, "index");
        for spread in [1, 3, 1 << 16, 1 << 24] {
            let (mut index, mut model) = (Index::new(8), HashMap::new());
            for place in 0..20_000 {
                let key = random.below_u32(60) * spread;
                match random.below(3) {
                    0 => {
                        index.clear(key);
                        model.remove(&key);
                    }
                    _ if model.len() < 40 || model.contains_key(&key) => {
                        index.set(key, place);
                        model.insert(key, place);
                    }
                    _ => {}
                }
                for other in 0..60 {
                    let key = other * spread;
                    assert_eq!(index.get(key), model.get(&key).copied(), "{spread} {place}");
                }
            }
            assert!(index.entries.len() <= 128 && index.taken == model.len(), "{}", index.entries.len());
        }
    }
}
