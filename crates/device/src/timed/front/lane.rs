//! Things that pass in order, one after the other.

use std::collections::VecDeque;

use base::{Instant, RequestKind};

use crate::timed::queues::RequestId;

/// A request on its way to the device.
#[derive(Clone, Copy)]
pub(super) struct IncomingRequest {
    pub(super) id: RequestId,
    pub(super) kind: RequestKind,
    /// Pages that it touches.
    pub(super) pages: u32,
    /// When the controller has dealt with its command.
    pub(super) dealt_with: Instant,
}

/// A way that things pass one after the other: one direction of the link, for one.
pub(super) struct Lane<T> {
    /// In order, with the instants at which they have passed.
    under_way: VecDeque<(Instant, T)>,
    /// True if a timer runs for the first of them.
    pub(super) is_timed: bool,
}

impl<T> Lane<T> {
    pub(super) fn new() -> Lane<T> {
        Lane { under_way: VecDeque::new(), is_timed: false }
    }

    /// True if nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// All that is under way, with the instants at which it will have passed.
    pub(super) fn all(&self) -> impl Iterator<Item = &(Instant, T)> {
        self.under_way.iter()
    }

    /// An item will have passed at an instant, not before the last one.
    pub(super) fn join(&mut self, until: Instant, what: T) {
        self.under_way.push_back((until, what));
    }

    /// When the first one will have passed, if that is to be timed.
    pub(super) fn due(&mut self) -> Option<Instant> {
        let &(at, _) = self.under_way.front().filter(|_| !self.is_timed)?;
        self.is_timed = true;
        Some(at)
    }

    /// The first thing that has passed by now, if there is any, and when it had. Its timer, if it had one, is over.
    pub(super) fn passed(&mut self, now: Instant) -> Option<(Instant, T)> {
        let passed = self.under_way.pop_front_if(|(at, _)| *at <= now)?;
        self.is_timed = false;
        Some(passed)
    }
}
