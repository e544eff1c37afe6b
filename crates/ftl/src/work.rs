//! The work that keeps a domain from host pages, as executors see it.

use crate::kernel::Why;

/// The work of a domain, which comes before host pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DomainWork {
    /// A collection, and why it exists.
    Collection(Why),
    /// Work that a mechanism asks for besides, or a merge that is no collection.
    Other,
}

impl DomainWork {
    /// True if the host waits for it.
    pub fn is_foreground(self) -> bool {
        self.why().is_none_or(Why::is_foreground)
    }

    /// True if it is counted as foreground GC: for room, here or next door.
    pub fn is_foreground_gc(self) -> bool {
        self.why().is_some_and(|why| why.is_for_room() || why == Why::Along)
    }

    /// True if it was begun because room ran out.
    pub fn is_for_room(self) -> bool {
        self.why().is_some_and(Why::is_for_room)
    }

    fn why(self) -> Option<Why> {
        if let DomainWork::Collection(why) = self { Some(why) } else { None }
    }
}
