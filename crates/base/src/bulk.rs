//! Long arrays in what serde writes and reads: chunks of bytes, where one number after the other would take several times as long.
//! To be named in `#[serde(with = "base::bulk")]`.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use bytemuck::Pod;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// Bytes of a chunk at most, and so the most that a reader has to hold of a file at once.
pub const CHUNK: usize = 1 << 16;

/// A number of a long array, little-endian in a file.
pub trait LittleEndian: Pod {
    /// The number as a file has it, and back.
    fn swapped(self) -> Self;
}

impl LittleEndian for u32 {
    fn swapped(self) -> u32 {
        self.to_le()
    }
}

impl LittleEndian for u64 {
    fn swapped(self) -> u64 {
        self.to_le()
    }
}

impl LittleEndian for u128 {
    fn swapped(self) -> u128 {
        self.to_le()
    }
}

/// Writes an array.
///
/// # Errors
/// The serializer's errors.
pub fn serialize<T: LittleEndian, A: Deref<Target = [T]>, S: Serializer>(
    array: &A,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let chunks = array.chunks(CHUNK / size_of::<T>());
    let mut sequence = serializer.serialize_seq(Some(chunks.len()))?;
    let mut numbers: Vec<T> = Vec::new();
    for chunk in chunks {
        numbers.clear();
        numbers.extend(chunk.iter().map(|number| number.swapped()));
        sequence.serialize_element(&Chunk(bytemuck::cast_slice(&numbers)))?;
    }
    sequence.end()
}

/// Reads an array. Memory is taken for what is there, not for what is announced.
///
/// # Errors
/// The deserializer's errors, and chunks of a wrong form.
pub fn deserialize<'de, T: LittleEndian, A: From<Vec<T>> + Deref<Target = [T]>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<A, D::Error> {
    deserializer.deserialize_seq(Chunks(PhantomData)).map(A::from)
}

struct Chunk<'a>(&'a [u8]);

impl Serialize for Chunk<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// The chunks of an array.
struct Chunks<T>(PhantomData<T>);

impl<'de, T: LittleEndian> Visitor<'de> for Chunks<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("chunks of an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
        let mut array = Vec::new();
        let mut left = sequence.size_hint().unwrap_or(0);
        while sequence.next_element_seed(Appended { array: &mut array, left })?.is_some() {
            left = left.saturating_sub(1);
        }
        array.shrink_to_fit();
        Ok(array)
    }
}

/// A chunk that is appended to an array, the first of so many.
struct Appended<'a, T> {
    array: &'a mut Vec<T>,
    left: usize,
}

impl<'de, T: LittleEndian> DeserializeSeed<'de> for Appended<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_byte_buf(self)
    }
}

impl<'de, T: LittleEndian> Visitor<'de> for Appended<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a chunk of numbers of {} bytes", size_of::<T>())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<(), E> {
        if !bytes.len().is_multiple_of(size_of::<T>()) || bytes.len() > CHUNK {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        let numbers = bytes.len() / size_of::<T>();
        if self.array.capacity() - self.array.len() < numbers {
            // All that is announced, but no more than twice what there is.
            let announced = self.left.saturating_mul(CHUNK / size_of::<T>());
            let more = announced.min(self.array.len()).max(numbers);
            self.array.try_reserve_exact(more).map_err(E::custom)?;
        }
        self.array.extend(bytes.chunks_exact(size_of::<T>()).map(|bytes| {
            let number: T = bytemuck::pod_read_unaligned(bytes);
            number.swapped()
        }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize, Debug, PartialEq)]
    struct Arrays<'a> {
        #[serde(with = "crate::bulk")]
        words: Cow<'a, [u32]>,
        #[serde(with = "crate::bulk")]
        wide: Vec<u128>,
    }

    fn read(bytes: &[u8]) -> postcard::Result<Arrays<'_>> {
        postcard::from_bytes(bytes)
    }

    #[test]
    fn arrays_of_every_length_come_back() {
        let in_chunk = CHUNK / 4;
        for length in [0, 1, in_chunk - 1, in_chunk, in_chunk + 1, 3 * in_chunk] {
            let words: Vec<u32> = (0..length as u32).map(|number| number.wrapping_mul(2_654_435_761)).collect();
            let wide = words.iter().take(5).map(|&word| u128::from(word) << 90 | 7).collect();
            let arrays = Arrays { words: Cow::Borrowed(&words), wide };
            let bytes = postcard::to_extend(&arrays, Vec::new()).unwrap();
            assert_eq!(read(&bytes).unwrap(), arrays, "{length}");
            assert!((0..bytes.len().min(50)).all(|end| read(&bytes[..end]).is_err()), "{length}, cut");
        }
        let two = Arrays { words: vec![1, 258].into(), wide: vec![] };
        assert_eq!(postcard::to_extend(&two, Vec::new()).unwrap(), [1, 8, 1, 0, 0, 0, 2, 1, 0, 0, 0], "little-endian");
    }

    #[test]
    fn chunks_that_are_none_are_refused() {
        let refused = |words: &[&[u8]]| {
            let chunks: Vec<Chunk<'_>> = words.iter().map(|bytes| Chunk(bytes)).collect();
            read(&postcard::to_extend(&(chunks, Vec::<u8>::new()), Vec::new()).unwrap()).is_err()
        };
        assert!(!refused(&[&[1, 2, 3, 4]]), "a chunk");
        assert!(refused(&[&[1, 2, 3]]), "part of a number");
        assert!(refused(&[&[0; CHUNK + 4]]), "more than a chunk");
    }

    /// Memory follows what is there.
    #[test]
    fn an_array_that_is_announced_and_not_there_takes_no_memory() {
        let begun = [&[255, 255, 255, 255, 255, 255, 255, 255, 127][..], &[4, 1, 0, 0, 0]].concat();
        assert!(read(&begun).is_err());
    }
}
