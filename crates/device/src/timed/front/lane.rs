//! Things that pass in order, one after the other.

use std::collections::VecDeque;

use base::{Duration, Instant, RequestKind};

use crate::timed::queues::RequestId;

/// A request on its way to the device.
#[derive(Clone, Copy)]
pub(super) struct IncomingRequest {
    pub(super) id: RequestId,
    pub(super) kind: RequestKind,
    /// Pages that it touches.
    pub(super) pages: u32,
}

/// A way that things pass one after the other: one direction of the link, for one.
pub(super) struct Lane<T> {
    /// When all that is under way has passed.
    until: Instant,
    /// In order, with the instants at which they have passed.
    under_way: VecDeque<(Instant, T)>,
    /// True if a timer runs for the first of them.
    is_timed: bool,
}

impl<T> Lane<T> {
    pub(super) fn new() -> Lane<T> {
        Lane { until: Instant::ZERO, under_way: VecDeque::new(), is_timed: false }
    }

    /// True if the lane is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Sends an item, which begins to pass when all before it have passed.
    pub(super) fn send(&mut self, now: Instant, takes: Duration, what: T) {
        self.join(self.until.max(now) + takes, what);
    }

    /// The next one will have passed at an instant, not before the last one.
    pub(super) fn join(&mut self, until: Instant, what: T) {
        self.until = until;
        self.under_way.push_back((until, what));
    }

    /// When the first one will have passed, if that is to be timed.
    pub(super) fn due(&mut self) -> Option<Instant> {
        let &(at, _) = self.under_way.front().filter(|_| !self.is_timed)?;
        self.is_timed = true;
        Some(at)
    }

    /// The first thing that has passed by now, if there is any. Its timer, if it had one, is over.
    pub(super) fn passed(&mut self, now: Instant) -> Option<T> {
        let (_, what) = self.under_way.pop_front_if(|(at, _)| *at <= now)?;
        self.is_timed = false;
        Some(what)
    }
}
