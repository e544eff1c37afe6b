//! Putting nearly ordered requests in order, with bounded memory.
//!
//! Up to twice the window is held; once that is full, the held requests are sorted by time (stably, so
//! equal times keep the order of the file) and the earlier half is given out. A request that stands at
//! most the window's length after its place is therefore put right. A run that is in order already is
//! passed through without a sort.

use super::parser::Record;

/// Requests given out, and those that may still move.
pub(crate) struct Window {
    size: usize,
    /// Next to be given out.
    next: usize,
    /// End of those that are in their final place.
    ready: usize,
}

impl Window {
    pub fn new(size: usize) -> Window {
        Window { size, next: 0, ready: 0 }
    }

    pub fn size(&self) -> usize {
        self.size
    }

    /// The number of requests that must be held before any can be given out.
    pub fn full(&self) -> usize {
        (2 * self.size).max(1024)
    }

    /// The requests ready to be given out; [`Window::advance`] says how many were taken.
    pub fn ready<'a>(&self, held: &'a [Record]) -> &'a [Record] {
        &held[self.next..self.ready]
    }

    pub fn advance(&mut self, n: usize) {
        self.next += n;
    }

    /// Makes room: forgets what was given out.
    pub fn compact(&mut self, held: &mut Vec<Record>) {
        held.drain(..self.next);
        self.ready -= self.next;
        self.next = 0;
    }

    /// Settles the places of all but the last `size` requests held, or of all at the end of the file.
    pub fn settle(&mut self, held: &mut [Record], end: bool) {
        let open = &mut held[self.ready..];
        if !open.is_sorted_by_key(|record| record.time_ns) {
            open.sort_by_key(|record| record.time_ns);
        }
        self.ready = if end { held.len() } else { self.ready.max(held.len().saturating_sub(self.size)) };
    }
}
