//! Streams by number. What they stand for, the kernel knows.

/// The most streams that a domain can have: each may hold a block open, and a spare area names its stream.
pub(crate) const MAX_STREAMS: usize = 64;

/// A stream of a domain, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(crate) struct Stream(u8);

impl Stream {
    /// The first class on every axis.
    pub(crate) const FIRST: Stream = Stream(0);

    /// The stream of that number, which is less than how many there are.
    #[inline]
    pub(crate) const fn new(number: usize) -> Stream {
        Stream(number as u8)
    }

    /// The number as an index into an array by streams.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The number as spare areas and saved states keep it.
    #[inline]
    pub(crate) const fn byte(self) -> u8 {
        self.0
    }

    /// True if it is [`Stream::FIRST`].
    #[inline]
    pub(crate) const fn is_first(self) -> bool {
        self.0 == 0
    }
}
