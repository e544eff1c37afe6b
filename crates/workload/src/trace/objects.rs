//! Objects of libCacheSim's traces as ranges of a device: an object's number is an address, in a unit that no file names.

use base::RequestKind;

use super::columns;
use super::parser::Bad;

/// How requests of objects are taken.
#[derive(Clone, Copy)]
pub(super) struct Objects {
    /// The kind of a request that does not say its own.
    pub kind: RequestKind,
    /// Where objects lie.
    pub unit: Unit,
}

/// Bytes of address that an object's number counts.
#[derive(Clone, Copy)]
pub(super) struct Unit(u64);

impl Default for Objects {
    fn default() -> Objects {
        Objects { kind: RequestKind::Read, unit: Unit(512) }
    }
}

impl Objects {
    /// As the user says: `op=W,offset=obj_id:4KiB`.
    pub fn parse(text: &str, format: &str) -> Result<Objects, String> {
        let mut objects = Objects::default();
        for word in text.split(',').map(str::trim) {
            match word.split_once('=') {
                Some(("op", "R")) => objects.kind = RequestKind::Read,
                Some(("op", "W")) => objects.kind = RequestKind::Write,
                Some(("offset", place)) if place.starts_with("obj_id:") => {
                    objects.unit = Unit(columns::size_unit(&place["obj_id:".len()..], word)?);
                }
                _ => {
                    return Err(format!(
                        "`{word}` is none of `op=R`, `op=W`, `offset=obj_id:4KiB` of a file in `{format}`"
                    ));
                }
            }
        }
        Ok(objects)
    }
}

impl Unit {
    /// The first byte of an object.
    pub fn address(self, object: u64) -> Result<u64, Bad> {
        object.checked_mul(self.0).ok_or(Bad("the object is beyond any address; it may be a hash"))
    }
}
