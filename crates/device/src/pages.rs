//! From byte ranges to pages, and inside a superpage to the flash pages of it.

use std::ops::Range;

use base::{Lpn, Request};

/// The size of a page. It is a power of two nearly always, and then an address is divided by shifting it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSize {
    bytes: u64,
    shift: Option<u32>,
}

impl PageSize {
    /// Pages of so many bytes.
    pub(crate) fn new(bytes: u64) -> PageSize {
        PageSize { bytes, shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()) }
    }

    /// Bytes of a page.
    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// The page of an address.
    #[inline]
    pub(crate) fn page_of(self, address: u64) -> Lpn {
        Lpn(self.split(address).0)
    }

    /// True if a request is one whole page.
    #[inline]
    pub(crate) fn is_whole_page(self, address: u64, size: u64) -> bool {
        size == self.bytes && !self.split(address).1
    }

    /// The page of an address, and whether the address is behind its beginning.
    #[inline]
    fn split(self, address: u64) -> (u32, bool) {
        match self.shift {
            Some(shift) => ((address >> shift) as u32, address & (self.bytes - 1) != 0),
            None => ((address / self.bytes) as u32, !address.is_multiple_of(self.bytes)),
        }
    }
}

/// Pages of a long request between two looks at whether to go on.
pub(crate) const PIECE: u32 = 1 << 12;

/// The pages that a request touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// First page.
    pub(crate) first: u32,
    /// One past the last page.
    pub(crate) end: u32,
    /// True if the first page is covered only in part.
    first_partial: bool,
    /// True if the last page is covered only in part.
    last_partial: bool,
}

impl Span {
    /// No page.
    pub(crate) const NONE: Span = Span { first: 0, end: 0, first_partial: false, last_partial: false };

    /// The pages of a request's range, all of them inside the device.
    #[inline]
    pub(crate) fn of(request: &Request, page_size: PageSize) -> Span {
        if request.size == 0 {
            return Span::NONE;
        }
        let (first, first_partial) = page_size.split(request.offset);
        let (last, last_partial) = page_size.split(request.offset + request.size);
        Span { first, end: last + u32::from(last_partial), first_partial, last_partial }
    }

    /// Whole pages.
    pub(crate) fn of_pages(pages: Range<u32>) -> Span {
        Span { first: pages.start, end: pages.end, first_partial: false, last_partial: false }
    }

    /// The pages that lie wholly inside the range: what a trim can forget.
    pub(crate) fn whole(self) -> Span {
        let first = self.first + u32::from(self.first_partial);
        let end = self.end - u32::from(self.last_partial && self.end > self.first);
        Span { first, end: end.max(first), first_partial: false, last_partial: false }
    }

    /// The number of pages.
    #[inline]
    pub(crate) fn len(self) -> u32 {
        self.end - self.first
    }

    /// Each page, and whether it is covered only in part.
    #[inline]
    pub(crate) fn pages(self) -> impl Iterator<Item = (Lpn, bool)> {
        (self.first..self.end).map(move |page| {
            let partial = (page == self.first && self.first_partial) || (page + 1 == self.end && self.last_partial);
            (Lpn(page), partial)
        })
    }

    /// Spans of at most [`PIECE`] pages that make it up, in order.
    pub(crate) fn pieces(self) -> impl Iterator<Item = Span> {
        (self.first..self.end).step_by(PIECE as usize).map(move |first| {
            let end = self.end.min(first.saturating_add(PIECE));
            Span {
                first,
                end,
                first_partial: self.first_partial && first == self.first,
                last_partial: self.last_partial && end == self.end,
            }
        })
    }

    /// True if a page begins a piece that is not the first one.
    #[inline]
    pub(crate) fn begins_piece(self, lpn: Lpn) -> bool {
        lpn.0 > self.first && (lpn.0 - self.first).is_multiple_of(PIECE)
    }

    /// True if two spans share a page.
    pub(crate) fn overlaps(self, other: Span) -> bool {
        self.first < other.end && other.first < self.end
    }
}

/// The flash pages of a page that a request concerns: of a plain page at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// Flash pages that it reads or writes, wholly or in part.
    pub(crate) touched: u8,
    /// Flash pages that a write does not cover wholly: what it needs of the old version.
    pub(crate) old: u8,
}

/// Flash pages that a superpage can have: a mask of them fits a word.
pub(crate) const MAX_PARTS: u32 = 64;

/// The flash pages of a page, its parts, in the order of addresses: one, or more where channels or planes are in step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Flash pages of a page.
    pub(crate) count: u8,
    /// Bytes of a flash page.
    pub(crate) size: u64,
}

impl Parts {
    /// The parts of superpages of so many flash pages.
    pub(crate) fn new(count: u32, size: u64) -> Parts {
        assert!((1..=MAX_PARTS).contains(&count), "refused before");
        Parts { count: count as u8, size }
    }

    /// True if pages are of more than one flash page.
    #[inline]
    pub(crate) fn are_several(self) -> bool {
        self.count > 1
    }

    /// Bytes of a page.
    pub(crate) fn page_size(self) -> u64 {
        u64::from(self.count) * self.size
    }

    /// A whole page.
    pub(crate) fn whole(self) -> Share {
        Share { touched: self.count, old: 0 }
    }

    /// The flash pages that a request of `size` bytes at `offset` concerns of one of its pages; `partial`: it does not cover it.
    #[inline]
    pub(crate) fn share(self, lpn: Lpn, partial: bool, offset: u64, size: u64) -> Share {
        if !self.are_several() {
            return Share { touched: 1, old: u8::from(partial) };
        }
        if partial { self.share_of_part(lpn, offset, size) } else { self.whole() }
    }

    #[inline(never)]
    fn share_of_part(self, lpn: Lpn, offset: u64, size: u64) -> Share {
        let (from, to) = self.range(lpn, offset, size);
        let touched = to.div_ceil(self.size) - from / self.size;
        let covered = (to / self.size).saturating_sub(from.div_ceil(self.size));
        Share { touched: touched as u8, old: self.count - covered as u8 }
    }

    /// All parts, a bit each.
    pub(crate) fn all(self) -> u64 {
        bits(0, self.count.into()) as u64
    }

    /// The parts that a request of `size` bytes at `offset` touches, a bit each.
    pub(crate) fn touched(self, lpn: Lpn, offset: u64, size: u64) -> u64 {
        let (from, to) = self.range(lpn, offset, size);
        bits(from / self.size, to.div_ceil(self.size)) as u64
    }

    /// The part of a page that a request covers: its first byte, and one past its last.
    pub(crate) fn range(self, lpn: Lpn, offset: u64, size: u64) -> (u64, u64) {
        let start = u64::from(lpn.0) * self.page_size();
        (offset.saturating_sub(start), (offset + size - start).min(self.page_size()))
    }
}

/// The bits from `first` up to `end`.
pub(crate) fn bits(first: u64, end: u64) -> u128 {
    if first >= end { 0 } else { (u128::MAX >> (128 - (end - first))) << first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Instant, RequestKind};

    fn span_of(offset: u64, size: u64, page: u64) -> Span {
        let request = Request { at: Instant::ZERO, offset, size, kind: RequestKind::Write, fua: false, hint: 0 };
        Span::of(&request, PageSize::new(page))
    }

    fn span(offset: u64, size: u64) -> Span {
        span_of(offset, size, 4096)
    }

    fn pages(offset: u64, size: u64) -> Vec<(u32, bool)> {
        span(offset, size).pages().map(|(lpn, partial)| (lpn.0, partial)).collect()
    }

    #[test]
    fn pages_of_any_size_split_alike() {
        for (offset, size) in [(0, 1), (0, 8), (3, 5), (3, 6), (7, 1), (8, 8), (8, 17), (15, 2)] {
            // Three times as large, so that the size of a page is not a power of two.
            assert_eq!(span_of(3 * offset, 3 * size, 24), span_of(offset, size, 8), "{size} at {offset}");
        }
    }

    #[test]
    fn splits_at_page_boundaries() {
        assert_eq!(pages(0, 4096), [(0, false)]);
        assert_eq!(pages(4096, 512), [(1, true)]);
        assert_eq!(pages(512, 8192), [(0, true), (1, false), (2, true)]);
        assert_eq!(pages(4096, 4608), [(1, false), (2, true)]);
        assert_eq!(pages(0, 0), []);
    }

    #[test]
    fn only_whole_pages_can_be_forgotten() {
        let whole = |offset, size| (span(offset, size).whole().first, span(offset, size).whole().end);
        assert_eq!(whole(0, 8192), (0, 2));
        assert_eq!(whole(512, 8192), (1, 2));
        assert_eq!(span(4096, 512).whole().len(), 0);
        assert_eq!(span(512, 512).whole().len(), 0);
        assert_eq!(span(0, 0).whole().len(), 0);
    }

    #[test]
    fn a_request_concerns_some_flash_pages_of_a_superpage() {
        let parts = Parts::new(4, 4096);
        let share = |lpn, offset, size| {
            let Share { touched, old } = parts.share(Lpn(lpn), true, offset, size);
            assert_eq!(u32::from(touched), parts.touched(Lpn(lpn), offset, size).count_ones());
            (touched, old)
        };
        assert_eq!(share(0, 0, 4096), (1, 3), "one flash page, and the three others are needed");
        assert_eq!(share(0, 512, 4096), (2, 4), "two of which none is covered");
        assert_eq!(share(0, 512, 512), (1, 4));
        assert_eq!(share(0, 2048, 14_336), (4, 1), "from the middle of the first to the end");
        assert_eq!(share(0, 12_288, 20_480), (1, 3), "a request that begins in the last flash page");
        assert_eq!(share(1, 12_288, 20_480), (4, 0), "and covers the next page");
        assert_eq!(share(2, 12_288, 20_481), (1, 4), "and reaches one byte into the one after");
        assert_eq!(parts.touched(Lpn(0), 4096, 8192), 0b0110);
        assert_eq!(parts.share(Lpn(1), false, 12_288, 20_480), parts.whole());
        assert_eq!(Parts::new(64, 512).touched(Lpn(0), 0, 32_768), u64::MAX);
        let plain = Parts::new(1, 4096);
        assert_eq!(plain.share(Lpn(0), true, 512, 512), Share { touched: 1, old: 1 });
        assert_eq!(plain.share(Lpn(0), false, 0, 4096), Share { touched: 1, old: 0 });
    }

    #[test]
    fn overlap_is_symmetric() {
        assert!(span(0, 8192).overlaps(span(4096, 512)) && span(4096, 512).overlaps(span(0, 8192)));
        assert!(!span(0, 4096).overlaps(span(4096, 512)));
        assert!(!span(0, 0).overlaps(span(0, 4096)));
    }
}
