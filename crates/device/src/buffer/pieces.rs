//! The part of a page that is buffered: one bit for each piece of whole sectors.

use base::Lpn;

use crate::pages::{Parts, bits};

/// Which pieces of a page are meant: a bit for each of at most 128 pieces of whole sectors. No piece lies on two flash
/// pages, so that whole flash pages are exact however many a superpage has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    parts: Parts,
    piece: u64,
    /// Units of a flash page.
    per_part: u64,
    /// The whole page, and all its flash pages, a bit each.
    all: u128,
    all_parts: u64,
}

/// The pieces that a write brings of a page, and where the host wants it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// The pieces that it covers wholly.
    pub(crate) valid: u128,
    /// The flash pages that it touches, a bit each.
    pub(crate) parts: u64,
    pub(crate) hint: u16,
}

impl Pieces {
    pub(super) fn new(parts: Parts) -> Pieces {
        let piece = 512 * (parts.size / 512).div_ceil(128 / u64::from(parts.count));
        let per_part = parts.size.div_ceil(piece);
        let all = bits(0, per_part * u64::from(parts.count));
        Pieces { parts, piece, per_part, all, all_parts: parts.all() }
    }

    /// The whole page.
    pub(crate) fn all(self) -> u128 {
        self.all
    }

    /// The piece in which a byte of the page lies.
    fn piece_of(self, byte: u64) -> u64 {
        byte / self.parts.size * self.per_part + byte % self.parts.size / self.piece
    }

    /// The first piece that begins at a byte of the page or behind it.
    fn piece_from(self, byte: u64) -> u64 {
        byte / self.parts.size * self.per_part + (byte % self.parts.size).div_ceil(self.piece)
    }

    /// The pieces that a request of `size` bytes at `offset` touches: those that a read needs.
    pub(crate) fn touched(self, lpn: Lpn, offset: u64, size: u64) -> u128 {
        let (from, to) = self.parts.range(lpn, offset, size);
        bits(self.piece_of(from), self.piece_from(to))
    }

    /// The pieces that a write of `size` bytes at `offset` brings; `partial`: it does not cover the page.
    #[inline]
    pub(crate) fn written(self, lpn: Lpn, partial: bool, offset: u64, size: u64, hint: u16) -> Written {
        if !partial {
            return Written { valid: self.all, parts: self.all_parts, hint };
        }
        let (from, to) = self.parts.range(lpn, offset, size);
        let valid = bits(self.piece_from(from), self.piece_of(to));
        Written { valid, parts: self.parts.touched(lpn, offset, size), hint }
    }

    /// True if a page is of one flash page.
    #[inline]
    pub(crate) fn are_of_one_part(self) -> bool {
        !self.parts.are_several()
    }

    /// In how many flash pages of a page a read of `size` bytes at `offset` lies, which touches it.
    #[inline]
    pub(super) fn parts_of_read(self, lpn: Lpn, offset: u64, size: u64) -> u8 {
        if self.are_of_one_part() { 1 } else { self.parts_of(self.touched(lpn, offset, size)) }
    }

    /// In how many flash pages some of these pieces lie.
    #[inline]
    pub(crate) fn parts_of(self, pieces: u128) -> u8 {
        if pieces == 0 || self.are_of_one_part() {
            return u8::from(pieces != 0);
        }
        let part = |part: u8| bits(u64::from(part) * self.per_part, u64::from(part + 1) * self.per_part);
        (0..self.parts.count).filter(|&number| pieces & part(number) != 0).count() as u8
    }
}
