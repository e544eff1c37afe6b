//! Maps in what serde writes and reads: chunks of words, of which those that hold nothing have no bytes. So a map takes memory, in a reader
//! as well, for the pages that were written. To be named in `#[serde(with = …)]`.

use std::borrow::Cow;
use std::fmt;

use engine::FlatMap;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeSeq, Serializer};

/// Words of a chunk.
const CHUNK: usize = 1 << 14;

/// Bytes as such, and not one after the other.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

struct OwnedBytes(Vec<u8>);

impl<'de> serde::Deserialize<'de> for OwnedBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OwnedBytes, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = OwnedBytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a chunk of at most {CHUNK} words")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<OwnedBytes, E> {
                if bytes.len() > CHUNK * 4 || !bytes.len().is_multiple_of(4) {
                    return Err(E::invalid_length(bytes.len(), &self));
                }
                Ok(OwnedBytes(bytes.to_vec()))
            }

            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<OwnedBytes, E> {
                self.visit_bytes(&bytes)
            }
        }
        deserializer.deserialize_byte_buf(Reader)
    }
}

pub(super) fn serialize<S: Serializer>(map: &FlatMap, serializer: S) -> Result<S::Ok, S::Error> {
    let chunks = map.chunks(CHUNK);
    let mut sequence = serializer.serialize_seq(Some(1 + chunks.len()))?;
    sequence.serialize_element(&Bytes(&(map.len() as u32).to_le_bytes()))?;
    let mut bytes = Vec::new();
    for chunk in chunks {
        bytes.clear();
        bytes.extend(chunk.unwrap_or_default().iter().flat_map(|word| word.to_le_bytes()));
        sequence.serialize_element(&Bytes(&bytes))?;
    }
    sequence.end()
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'static, FlatMap>, D::Error> {
    struct Reader;
    impl<'de> Visitor<'de> for Reader {
        type Value = FlatMap;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the length of a map, and its chunks")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<FlatMap, A::Error> {
            let wrong = || A::Error::custom("chunks that do not make up a map");
            let length: OwnedBytes = sequence.next_element()?.ok_or_else(wrong)?;
            let length = u32::from_le_bytes(length.0.try_into().map_err(|_| wrong())?) as usize;
            // It takes no memory before something is set.
            let mut map = FlatMap::empty(length).map_err(A::Error::custom)?;
            for first in (0..length).step_by(CHUNK) {
                let OwnedBytes(bytes) = sequence.next_element()?.ok_or_else(wrong)?;
                let is_length = bytes.is_empty() || bytes.len() == CHUNK.min(length - first) * 4;
                let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
                if !is_length || !map.set_stored(first, words) {
                    return Err(wrong());
                }
            }
            Ok(map)
        }
    }
    deserializer.deserialize_seq(Reader).map(Cow::Owned)
}
