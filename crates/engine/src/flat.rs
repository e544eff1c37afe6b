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

    /// An array of `length` words, each `value`.
    ///
    /// # Errors
    /// When the operating system has not enough memory.
    pub fn filled(length: usize, value: u32) -> std::io::Result<FlatArray> {
        let mut memory = MmapMut::map_anon((length * 4).max(4))?;
        // Advice only: a kernel without huge pages declines, and nothing but speed is lost.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        bytemuck::cast_slice_mut::<u8, u32>(&mut memory)[..length].fill(value);
        Ok(FlatArray { memory, length })
    }

    /// Asks the processor to load the word at `index`, which will be read or written soon.
    #[inline]
    pub fn prefetch(&self, index: usize) {
        prefetch(self, index);
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
