//! The letters by which the kernel says what a block request is, as `blkparse`, the block events and `biosnoop` print
//! them (`blk_fill_rwbs` in the kernel's kernel/trace/blktrace.c).
//!
//! A leading `F` asks for a flush before, one after the operation is FUA. `N` is none of read, write, discard and flush:
//! a command that moves no blocks, or, with a range, WRITE ZEROES, which is a write.

use base::RequestKind;

use super::parser::{Bad, Sink};

/// The request that the letters stand for.
pub(super) struct Rwbs {
    /// A flush comes before, or is all of it.
    pub flush_before: bool,
    kind: Option<RequestKind>,
    fua: bool,
    /// A command without a letter of its own: a write of zeroes if it has a range.
    unnamed: bool,
}

impl Rwbs {
    pub fn parse(letters: &[u8]) -> Result<Rwbs, Bad> {
        let flush_before = letters.first() == Some(&b'F');
        let rest = if flush_before { &letters[1..] } else { letters };
        let (kind, used) = match rest {
            [b'D', b'E', ..] => (Some(RequestKind::Trim), 2),
            [b'D' | b'E', ..] => (Some(RequestKind::Trim), 1),
            // A zone append is a write; of the other zone commands none moves data.
            [b'Z', b'A', ..] => (Some(RequestKind::Write), 2),
            [b'Z', _, ..] => (None, 2),
            [b'W' | b'N', ..] => (Some(RequestKind::Write), 1),
            [b'R', ..] => (Some(RequestKind::Read), 1),
            _ if flush_before => (None, 0),
            _ => return Err(Bad("rwbs has none of R, W, D, F, N")),
        };
        let flags = &rest[used..];
        if !flags.iter().all(|letter| letter.is_ascii_uppercase()) {
            return Err(Bad("rwbs is not a word of capital letters"));
        }
        Ok(Rwbs { flush_before, kind, fua: flags.contains(&b'F'), unnamed: rest.first() == Some(&b'N') })
    }

    /// True where a line without a range is still in order: a flush carries none, nor does a command that moves no blocks.
    pub fn goes_without_range(&self) -> bool {
        self.flush_before || self.kind.is_none() || self.unnamed
    }

    /// Hands on what the letters and the range (first byte, bytes) ask for.
    pub fn put(&self, time_ns: u64, device: u32, range: Option<(u64, u64)>, sink: &mut Sink) -> Result<(), Bad> {
        if self.flush_before {
            sink.flush(time_ns, device);
        }
        let kind = self.kind.filter(|_| !self.unnamed || range.is_some_and(|(_, size)| size > 0));
        match (kind, range) {
            (Some(_), Some((_, 0))) | (_, None) if self.flush_before => Ok(()),
            (Some(kind), Some((offset, size))) => {
                sink.data(kind, time_ns, device, offset, size, self.fua && kind == RequestKind::Write)
            }
            _ if self.flush_before => Ok(()),
            _ => {
                sink.other();
                Ok(())
            }
        }
    }

    /// Notes that the device gave such a request back: its next dispatch is no new one.
    pub fn give_back(&self, time_ns: u64, device: u32, range: Option<(u64, u64)>, sink: &mut Sink) {
        sink.other();
        if self.flush_before {
            sink.requeue(time_ns, (RequestKind::Flush, device, 0, 0));
        }
        if let (Some(kind), Some((offset, size))) = (self.kind, range)
            && size > 0
        {
            sink.requeue(time_ns, (kind, device, offset, size));
        }
    }
}

/// The number of a device that is called by its major and minor numbers.
pub(super) fn device_number(text: &[u8]) -> Result<u32, Bad> {
    let bad = Bad("device is not a pair of major and minor numbers");
    let comma = memchr::memchr(b',', text).ok_or(bad)?;
    let (major, minor) = (super::fields::device(&text[..comma])?, super::fields::device(&text[comma + 1..])?);
    major.checked_mul(1 << 20).and_then(|major| major.checked_add(minor)).ok_or(bad)
}
