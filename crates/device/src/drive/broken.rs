//! Promises that a drive breaks where it is told to.

/// How a drive breaks its promises, as proof that the oracle finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenPromise {
    /// A flush does nothing.
    IgnoresFlush,
    /// A page is programmed by halves.
    TearsPages,
    /// A flush leaves some pages for later.
    ReordersOverFlush,
    /// Discards are not written down.
    ForgetsDiscards,
    /// Requests enter a protected buffer page by page, whatever is promised.
    TearsUnits,
    /// A unit is erased before the copies of its pages are programmed; only where pages wait for others.
    ErasesEarly,
}
