//! Map and reverse map in what serde writes and reads: the reverse map alone, of which the map is made again.
//!
//! The words of a file are packed: 64 of them have as many bits each as the largest needs above the least, and those of a chunk that
//! holds nothing have none. So the maps take memory, in a reader as well, for the pages that were written.

use std::borrow::Cow;
use std::fmt;

use engine::FlatMap;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// Where logical pages are, and which ones physical pages hold. Each is the other's inverse.
#[derive(Clone)]
pub struct Maps<'a> {
    /// PPN by LPN.
    pub map: Cow<'a, FlatMap>,
    /// LPN by PPN.
    pub reverse: Cow<'a, FlatMap>,
}

/// Words of a chunk.
const CHUNK: usize = 1 << 13;

/// Words that are packed together.
const GROUP: usize = 64;

/// Bytes before the bits of a group that holds something: how many a word has, and the least page.
const HEAD: usize = 5;

impl Maps<'_> {
    /// Bytes of a file for maps of a device with so many pages, at most, in so many chunks.
    pub fn bytes(pages: u64) -> (u64, u64) {
        let chunks = pages.div_ceil(CHUNK as u64);
        (8 + pages * 4 + chunks * (CHUNK / GROUP * HEAD + GROUP * 4) as u64, chunks + 1)
    }

    /// The maps on their own.
    pub fn into_owned(self) -> Maps<'static> {
        Maps { map: Cow::Owned(self.map.into_owned()), reverse: Cow::Owned(self.reverse.into_owned()) }
    }
}

/// Packs words of a map as they are stored.
fn pack(stored: &[u32], bytes: &mut Vec<u8>) {
    for group in stored.chunks(GROUP) {
        let pages = || group.iter().filter(|&&word| word != 0).map(|&word| !word);
        let (Some(least), Some(most)) = (pages().min(), pages().max()) else {
            bytes.push(0);
            continue;
        };
        let width = u32::BITS - (most - least + 1).leading_zeros();
        bytes.push(width as u8);
        bytes.extend(least.to_le_bytes());
        let (mut bits, mut count) = (0u64, 0);
        for index in 0..GROUP {
            let number = group.get(index).map_or(0, |&word| if word == 0 { 0 } else { !word - least + 1 });
            bits |= u64::from(number) << count;
            count += width;
            if count >= u32::BITS {
                bytes.extend((bits as u32).to_le_bytes());
                (bits, count) = (bits >> u32::BITS, count - u32::BITS);
            }
        }
    }
}

/// The numbers of a group, each of so many bits.
type Unpack = fn(&[u8; GROUP * 4 + 8], &mut [u32; GROUP]);

fn unpack<const WIDTH: usize>(bytes: &[u8; GROUP * 4 + 8], numbers: &mut [u32; GROUP]) {
    let mask = (1u64 << WIDTH) - 1;
    // Eight numbers begin with a byte. The shifts of each are known when this is compiled.
    for (eight, numbers) in numbers.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        for (index, number) in numbers.iter_mut().enumerate() {
            let first = eight * WIDTH + index * WIDTH / 8;
            let word = u64::from_le_bytes(bytes[first..first + 8].try_into().expect("eight bytes"));
            *number = (word >> (index * WIDTH % 8) & mask) as u32;
        }
    }
}

macro_rules! unpack_by_width {
    ($($width:literal)*) => { [$(unpack::<$width>),*] };
}

/// By bits of a number.
const UNPACK: [Unpack; 33] =
    unpack_by_width!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);

/// The maps of a file so far, as they are stored.
struct Begun<'a> {
    map: &'a mut [u32],
    reverse: &'a mut [u32],
}

impl Begun<'_> {
    /// Takes over what a chunk has packed, from a physical page on. Nothing if it is not that, if a logical page does not exist, or if it
    /// is at two places.
    fn take(&mut self, first: usize, mut bytes: &[u8]) -> Option<()> {
        if bytes.is_empty() {
            return Some(());
        }
        let (mut packed, mut numbers) = ([0; GROUP * 4 + 8], [0; GROUP]);
        let end = self.reverse.len().min(first + CHUNK);
        for (at, places) in (first..).step_by(GROUP).zip(self.reverse[first..end].chunks_mut(GROUP)) {
            let (&width, rest) = bytes.split_first()?;
            bytes = rest;
            if width == 0 {
                continue;
            }
            let (&least, rest) = bytes.split_first_chunk()?;
            let least = u32::from_le_bytes(least);
            let (bits, rest) = rest.split_at_checked(GROUP / 8 * usize::from(width))?;
            bytes = rest;
            packed.get_mut(..bits.len())?.copy_from_slice(bits);
            UNPACK.get(usize::from(width))?(&packed, &mut numbers);
            let before = least.wrapping_sub(1);
            for (index, (place, &number)) in places.iter_mut().zip(&numbers).enumerate() {
                if number != 0 {
                    let lpn = before.wrapping_add(number);
                    let entry = self.map.get_mut(lpn as usize)?;
                    if *entry != 0 {
                        return None;
                    }
                    (*entry, *place) = (!((at + index) as u32), !lpn);
                }
            }
        }
        bytes.is_empty().then_some(())
    }
}

/// Bytes as such, and not one after the other.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// A reader of bytes that gives them to a function, which returns nothing if they are wrong.
struct ReadBytes<F>(F);

impl<'de, T, F: FnOnce(&[u8]) -> Option<T>> DeserializeSeed<'de> for ReadBytes<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_byte_buf(self)
    }
}

impl<T, F: FnOnce(&[u8]) -> Option<T>> Visitor<'_> for ReadBytes<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lengths of two maps, or a chunk of one")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        (self.0)(bytes).ok_or_else(|| E::custom("pages that do not make up a map"))
    }
}

impl Serialize for Maps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let chunks = self.reverse.chunks(CHUNK);
        let mut sequence = serializer.serialize_seq(Some(1 + chunks.len()))?;
        let lengths = [&self.map, &self.reverse].map(|map| (map.len() as u32).to_le_bytes());
        sequence.serialize_element(&Bytes(lengths.as_flattened()))?;
        let mut bytes = Vec::new();
        for chunk in chunks {
            bytes.clear();
            pack(chunk.unwrap_or_default(), &mut bytes);
            sequence.serialize_element(&Bytes(&bytes))?;
        }
        sequence.end()
    }
}

impl<'de> serde::Deserialize<'de> for Maps<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Maps<'static>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the lengths of two maps, and the chunks of one")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Maps<'static>, A::Error> {
                let wrong = || A::Error::custom("chunks that do not make up a map");
                let lengths = |bytes: &[u8]| {
                    let (&logical, physical) = bytes.split_first_chunk()?;
                    Some([logical, physical.try_into().ok()?].map(|length| u32::from_le_bytes(length) as usize))
                };
                let [logical, physical] = sequence.next_element_seed(ReadBytes(lengths))?.ok_or_else(wrong)?;
                // They take no memory before something is set.
                let empty = |length| FlatMap::empty(length).map_err(A::Error::custom);
                let (mut map, mut reverse) = (empty(logical)?, empty(physical)?);
                let mut begun = Begun { map: map.stored_mut(), reverse: reverse.stored_mut() };
                for first in (0..physical).step_by(CHUNK) {
                    let take = |bytes: &[u8]| begun.take(first, bytes);
                    sequence.next_element_seed(ReadBytes(take))?.ok_or_else(wrong)?;
                }
                Ok(Maps { map: Cow::Owned(map), reverse: Cow::Owned(reverse) })
            }
        }
        deserializer.deserialize_seq(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps of a device whose page `ppn` holds that logical page.
    fn maps(logical: usize, physical: usize, lpn_of: impl Fn(usize) -> Option<u32>) -> Maps<'static> {
        let (mut map, mut reverse) = (FlatMap::empty(logical).unwrap(), FlatMap::empty(physical).unwrap());
        for (ppn, lpn) in (0..physical).filter_map(|ppn| Some((ppn, lpn_of(ppn)?))) {
            map.set(lpn as usize, ppn as u32);
            reverse.set(ppn, lpn);
        }
        Maps { map: Cow::Owned(map), reverse: Cow::Owned(reverse) }
    }

    fn written(maps: &Maps<'_>) -> Vec<u8> {
        postcard::to_extend(maps, Vec::new()).unwrap()
    }

    fn same(one: &FlatMap, other: &FlatMap) -> bool {
        one.range(0..one.len()).eq(other.range(0..other.len()))
    }

    #[test]
    fn maps_come_back_whatever_lies_where() {
        let physical = 3 * CHUNK + 77;
        let backwards =
            |ppn: usize| (!ppn.is_multiple_of(3) && ppn / CHUNK != 1).then(|| (4 * physical - 1 - 4 * ppn) as u32);
        let in_order = |ppn: usize| (ppn < 200).then_some(ppn as u32);
        let apart = |ppn: usize| [0, 4 * physical as u32 - 1].get(ppn).copied();
        for maps in [
            maps(4 * physical, physical, backwards),
            maps(physical, physical, in_order),
            maps(4 * physical, 100, apart),
            maps(4 * physical, physical, |_| None),
            maps(0, 0, |_| None),
        ] {
            let bytes = written(&maps);
            let read: Maps<'static> = postcard::from_bytes(&bytes).unwrap();
            assert!(same(&read.map, &maps.map) && same(&read.reverse, &maps.reverse));
            assert!(bytes.len() as u64 <= Maps::bytes(maps.reverse.len() as u64).0 + 100);
            assert_eq!(written(&read), bytes);
        }
    }

    #[test]
    fn words_of_every_width_come_back() {
        for width in 1..=u32::BITS {
            let most = u32::MAX >> (u32::BITS - width);
            let numbers: [u32; GROUP] = std::array::from_fn(|at| most.wrapping_mul(at as u32 * 7 + 1) & most);
            let stored = numbers.map(|number| if number == 0 { 0 } else { !(number - 1) });
            let mut bytes = Vec::new();
            pack(&stored, &mut bytes);
            let (mut packed, mut read) = ([0; GROUP * 4 + 8], [0; GROUP]);
            packed[..bytes.len() - HEAD].copy_from_slice(&bytes[HEAD..]);
            UNPACK[usize::from(bytes[0])](&packed, &mut read);
            let least = u32::from_le_bytes(bytes[1..HEAD].try_into().unwrap());
            let back = read.map(|number| if number == 0 { 0 } else { !(least + number - 1) });
            assert_eq!((u32::from(bytes[0]) <= width, back), (true, stored), "{width} bits");
        }
    }

    #[test]
    fn pages_that_make_no_map_are_refused() {
        let good = written(&maps(9, 3, |ppn| [Some(8), None, Some(2)][ppn]));
        let read = |bytes: &[u8]| postcard::from_bytes::<Maps<'static>>(bytes);
        assert!(read(&good).is_ok());
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            read(&bytes).is_err()
        };
        // Two elements, the lengths, and a chunk: its length, the bits of a number, the least page, numbers.
        assert_eq!(good[..16], [2, 8, 9, 0, 0, 0, 3, 0, 0, 0, 29, 3, 2, 0, 0, 0]);
        assert!(changed(12, 3), "a page that does not exist");
        assert!(changed(16, 0b1_000_001), "a page at two places");
        assert!(changed(11, 4) && changed(11, 33) && changed(10, 28), "another width or length");
        assert!((0..good.len()).all(|end| read(&good[..end]).is_err()), "an end too soon");
    }
}
