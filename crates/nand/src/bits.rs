//! A set of pages as one bit each: to ask for one takes a few instructions, however many there are.

/// The set. It takes no memory until something is in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Bytes of a set that has had any of so many pages in it.
    pub(crate) fn bytes(pages: u64) -> u64 {
        pages.div_ceil(64) * size_of::<u64>() as u64
    }

    #[inline]
    pub(crate) fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Puts a page of `pages` into the set.
    pub(crate) fn insert(&mut self, index: usize, pages: usize) {
        if self.words.is_empty() {
            self.words = vec![0; pages.div_ceil(64)];
        }
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// Takes pages out of the set.
    pub(crate) fn remove(&mut self, range: std::ops::Range<usize>) {
        if !self.words.is_empty() {
            range.for_each(|index| self.words[index / 64] &= !(1 << (index % 64)));
        }
    }

    /// All pages of the set, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        let ones =
            |(at, &word): (usize, &u64)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit);
        self.words.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(ones)
    }
}
