//! Which blocks of a pass were asked for: a bit each, with bits above them that say which words are full.

/// Blocks, each taken or free.
#[derive(Clone)]
pub(super) struct Map {
    /// From the blocks up: bit `i` of a level is set when word `i` of the level below is full.
    levels: Vec<Vec<u64>>,
    blocks: u64,
}

impl Map {
    /// Blocks at most: half a gigabyte of bits.
    pub const MOST: u64 = 1 << 32;

    /// All free.
    pub fn new(blocks: u64) -> Map {
        let mut levels = Vec::new();
        let mut bits = blocks.max(1);
        loop {
            let words = bits.div_ceil(64);
            let mut level = vec![0u64; words as usize];
            // What lies behind the end is never free.
            if !bits.is_multiple_of(64) {
                level[words as usize - 1] = u64::MAX << (bits % 64);
            }
            levels.push(level);
            if words == 1 {
                return Map { levels, blocks };
            }
            bits = words;
        }
    }

    /// The first free block from `at` on, around the end; `None`: there is none.
    pub fn next_free(&self, at: u64) -> Option<u64> {
        let at = if at < self.blocks { at } else { 0 };
        self.from(at).or_else(|| self.from(0))
    }

    fn from(&self, at: u64) -> Option<u64> {
        let mut at = at;
        for (level, words) in self.levels.iter().enumerate() {
            let word = (at / 64) as usize;
            let free = words.get(word).map_or(0, |bits| !bits & (u64::MAX << (at % 64)));
            if free != 0 {
                let mut found = word as u64 * 64 + u64::from(free.trailing_zeros());
                for below in self.levels[..level].iter().rev() {
                    found = found * 64 + u64::from((!below[found as usize]).trailing_zeros());
                }
                return Some(found).filter(|found| *found < self.blocks);
            }
            at = word as u64 + 1;
        }
        None
    }

    /// Takes up to `most` blocks from `at` on, as many as are free. Returns how many.
    pub fn take(&mut self, at: u64, most: u64) -> u64 {
        let mut taken = 0;
        while taken < most && at + taken < self.blocks && self.take_one(at + taken) {
            taken += 1;
        }
        taken
    }

    fn take_one(&mut self, block: u64) -> bool {
        let mut at = block;
        for (level, words) in self.levels.iter_mut().enumerate() {
            let word = &mut words[(at / 64) as usize];
            if level == 0 && *word >> (at % 64) & 1 == 1 {
                return false;
            }
            *word |= 1 << (at % 64);
            if *word != u64::MAX {
                return true;
            }
            at /= 64;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_free_once() {
        for blocks in [1u64, 63, 64, 65, 4096, 4097, 300_000] {
            let mut map = Map::new(blocks);
            let mut seen = vec![false; blocks as usize];
            let mut at = 7;
            for _ in 0..blocks {
                at = (at * 48_271 + 11) % blocks;
                let free = map.next_free(at).unwrap();
                assert!(!seen[free as usize]);
                // Nothing free lies between.
                assert!(free == at || seen[at as usize]);
                seen[free as usize] = true;
                assert_eq!(map.take(free, 1), 1);
                assert_eq!(map.take(free, 1), 0);
            }
            assert_eq!(map.next_free(0), None);
        }
    }

    #[test]
    fn as_many_are_taken_as_are_free() {
        let mut map = Map::new(100);
        assert_eq!(map.take(10, 5), 5);
        assert_eq!(map.take(7, 8), 3);
        assert_eq!(map.next_free(7), Some(15));
        assert_eq!(map.take(98, 9), 2);
        assert_eq!(map.next_free(98), Some(0));
    }
}
