//! Words of an image that say whether they are as they were written: a number, and above it a checksum of the number and of the place.

/// Bits of the number of a word; the checksum has the rest.
const BITS: u32 = 48;

/// The word for a number at a place. That of 0 is 0, as in a file that was never written.
pub(super) fn seal(at: usize, number: u64) -> u64 {
    debug_assert!(number >> BITS == 0, "{number} has more than {BITS} bits");
    if number == 0 { 0 } else { number | checksum(&[at as u64, number]) << BITS }
}

/// The number of a word at a place, if it is one that was written.
pub(super) fn open(at: usize, word: u64) -> Option<u64> {
    let number = word & ((1 << BITS) - 1);
    (seal(at, number) == word).then_some(number)
}

/// A checksum of 16 bits.
pub(super) fn checksum<const N: usize>(parts: &[u64; N]) -> u64 {
    let mut checksum = crc32fast::Hasher::new();
    parts.iter().for_each(|part| checksum.update(&part.to_le_bytes()));
    u64::from(checksum.finalize() & 0xffff)
}
