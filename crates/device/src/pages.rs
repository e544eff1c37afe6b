//! From byte ranges to pages.

use base::{Lpn, Request};

/// The pages that a request touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// First page.
    pub(crate) first: u32,
    /// One past the last page.
    pub(crate) end: u32,
    /// Whether the first page is covered only in part.
    first_partial: bool,
    /// Whether the last page is covered only in part.
    last_partial: bool,
}

impl Span {
    /// The pages of a request's range, all of them inside the device.
    #[inline]
    pub(crate) fn of(request: &Request, page_size: u64) -> Span {
        if request.size == 0 {
            return Span { first: 0, end: 0, first_partial: false, last_partial: false };
        }
        let end_byte = request.offset + request.size;
        Span {
            first: (request.offset / page_size) as u32,
            end: end_byte.div_ceil(page_size) as u32,
            first_partial: !request.offset.is_multiple_of(page_size),
            last_partial: !end_byte.is_multiple_of(page_size),
        }
    }

    /// The pages that lie wholly inside the range: what a trim can forget.
    pub(crate) fn whole(self) -> Span {
        let first = self.first + u32::from(self.first_partial);
        let end = self.end - u32::from(self.last_partial && self.end > self.first);
        Span { first, end: end.max(first), first_partial: false, last_partial: false }
    }

    /// How many pages.
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

    /// Whether two spans share a page.
    pub(crate) fn overlaps(self, other: Span) -> bool {
        self.first < other.end && other.first < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Instant, RequestKind};

    fn span(offset: u64, size: u64) -> Span {
        Span::of(&Request { at: Instant::ZERO, offset, size, kind: RequestKind::Write, fua: false }, 4096)
    }

    fn pages(offset: u64, size: u64) -> Vec<(u32, bool)> {
        span(offset, size).pages().map(|(lpn, partial)| (lpn.0, partial)).collect()
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
    fn overlap_is_symmetric() {
        assert!(span(0, 8192).overlaps(span(4096, 512)) && span(4096, 512).overlaps(span(0, 8192)));
        assert!(!span(0, 4096).overlaps(span(4096, 512)));
        assert!(!span(0, 0).overlaps(span(0, 4096)));
    }
}
