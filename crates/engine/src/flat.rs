//! Large flat arrays of 32-bit words on huge pages.
//!
//! A page-mapped FTL touches its maps at random: with 4 KiB memory pages nearly every access also misses
//! the TLB. The operating system is asked for huge pages; where it has none the array works all the same.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// A fixed-length array of `u32`, allocated once.
pub struct FlatArray {
    memory: MmapMut,
    length: usize,
}

impl FlatArray {
    /// Bytes of an array of `length` words.
    pub fn bytes(length: u64) -> u64 {
        (length * 4).max(4)
    }

    /// An array of `length` words, each `value`. Zeros take no memory until something else is written.
    ///
    /// # Errors
    /// When the operating system has not enough memory.
    pub fn filled(length: usize, value: u32) -> std::io::Result<FlatArray> {
        let mut memory = MmapMut::map_anon((length * 4).max(4))?;
        // Advice only: a kernel without huge pages declines, and nothing but speed is lost.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        if value != 0 {
            bytemuck::cast_slice_mut::<u8, u32>(&mut memory)[..length].fill(value);
        }
        Ok(FlatArray { memory, length })
    }

    /// Asks the processor to load the word at `index`, which will be read or written soon.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        prefetch(self, index);
    }
}

/// A fixed-length array of `u32`, most of which may be [`FlatMap::NONE`]: what was never set takes no memory.
pub struct FlatMap(
    /// The words, each with all bits the other way round.
    FlatArray,
);

impl FlatMap {
    /// The word for nothing.
    pub const NONE: u32 = u32::MAX;

    /// Words that are copied, or passed over, together.
    const CHUNK: usize = 1024;

    /// An array of `length` words, each [`FlatMap::NONE`].
    ///
    /// # Errors
    /// When the operating system has not enough memory.
    pub fn empty(length: usize) -> std::io::Result<FlatMap> {
        FlatArray::filled(length, 0).map(FlatMap)
    }

    /// Bytes of an array of `length` words, all of which are set.
    pub fn bytes(length: u64) -> u64 {
        FlatArray::bytes(length)
    }

    /// Words, set or not.
    pub fn len(&self) -> usize {
        self.0.length
    }

    /// True if there is no word at all.
    pub fn is_empty(&self) -> bool {
        self.0.length == 0
    }

    /// A word.
    #[inline(always)]
    pub fn get(&self, index: usize) -> u32 {
        !self.0[index]
    }

    /// Sets a word.
    #[inline(always)]
    pub fn set(&mut self, index: usize, value: u32) {
        self.0[index] = !value;
    }

    /// Words one after the other.
    #[inline(always)]
    pub fn range(&self, range: std::ops::Range<usize>) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator {
        self.0[range].iter().map(|&word| !word)
    }

    /// Asks the processor to load the word at `index`, which will be read or written soon.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        self.0.prefetch(index);
    }

    /// The words as they are stored, in chunks of so many; nothing for a chunk that holds nothing.
    pub fn chunks(&self, length: usize) -> impl ExactSizeIterator<Item = Option<&[u32]>> {
        self.0.chunks(length).map(|chunk| chunk.iter().any(|&word| word != 0).then_some(chunk))
    }

    /// All words as they are stored: with all bits the other way round, so that 0 is nothing.
    #[inline(always)]
    pub fn stored_mut(&mut self) -> &mut [u32] {
        &mut self.0
    }
}

impl Clone for FlatMap {
    fn clone(&self) -> FlatMap {
        let mut copy = FlatMap::empty(self.len()).expect("memory for a copy of a map");
        for (number, chunk) in self.chunks(FlatMap::CHUNK).enumerate() {
            if let Some(chunk) = chunk {
                copy.0[number * FlatMap::CHUNK..][..chunk.len()].copy_from_slice(chunk);
            }
        }
        copy
    }
}

/// Asks the processor to load the item at `index`, which will be read or written soon.
#[inline]
pub fn prefetch<T>(items: &[T], index: usize) {
    debug_assert!(index < items.len());
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect on memory, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch(items.as_ptr().wrapping_add(index).cast::<i8>(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = index;
}

impl Deref for FlatArray {
    type Target = [u32];
    #[inline]
    fn deref(&self) -> &[u32] {
        // SAFETY: the mapping is page-aligned, at least `length * 4` bytes, initialised by `filled`, and
        // every bit pattern is a `u32`.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast::<u32>(), self.length) }
    }
}

impl DerefMut for FlatArray {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as in `deref`; the exclusive borrow of `self` makes this the only view.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast::<u32>(), self.length) }
    }
}

impl Clone for FlatArray {
    fn clone(&self) -> FlatArray {
        let mut copy = FlatArray::filled(self.length, 0).expect("memory for a copy of a map");
        copy.copy_from_slice(self);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_is_written() {
        let mut array = FlatArray::filled(5, u32::MAX).unwrap();
        array[3] = 7;
        array.prefetch(4);
        assert_eq!(&array[..], [u32::MAX, u32::MAX, u32::MAX, 7, u32::MAX]);
        assert_eq!(FlatArray::filled(0, 1).unwrap().len(), 0);
    }
}
