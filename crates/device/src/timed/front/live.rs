//! A host outside, in whose time the device lives: its requests come when they come, and it is told when they are complete.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use base::{Instant, Request};

use crate::timed::queues::RequestId;

/// A host outside. Times are since the run began.
pub trait LiveHost {
    /// Waits until the device's next event, if there is one, or until requests come before it. Returns the time then; nothing when no
    /// request comes any more.
    fn wait(&mut self, next: Option<Instant>) -> Option<Instant>;

    /// Adds the requests that have come, with a number of each.
    fn take(&mut self, into: &mut VecDeque<(Request, u64)>);

    /// The request of that number is complete.
    fn completed(&mut self, number: u64, now: Instant);
}

/// The host outside, and which requests of it the device has.
pub(in crate::timed) struct Live {
    /// The host. No code looks at it while dies choose.
    host: AssertUnwindSafe<Box<dyn LiveHost>>,
    came: VecDeque<(Request, u64)>,
    /// Of requests that are drawn and have not entered the device.
    drawn: VecDeque<u64>,
    /// By place of a request in the device.
    of_place: Vec<u64>,
    has_left: bool,
}

impl Live {
    pub(in crate::timed) fn new(host: Box<dyn LiveHost>) -> Live {
        Live {
            host: AssertUnwindSafe(host),
            came: VecDeque::new(),
            drawn: VecDeque::new(),
            of_place: Vec::new(),
            has_left: false,
        }
    }

    /// When something happens that the device has to see: its own next event, or the arrival of a request.
    pub(in crate::timed) fn wait(&mut self, next: Option<Instant>) -> Option<Instant> {
        let now = self.host.wait(next);
        self.has_left = now.is_none();
        now
    }

    /// True if no request comes any more.
    pub(in crate::timed) fn has_left(&self) -> bool {
        self.has_left
    }

    pub(in crate::timed) fn draw(&mut self, into: &mut Vec<Request>) {
        self.host.take(&mut self.came);
        for (request, number) in self.came.drain(..) {
            into.push(request);
            self.drawn.push_back(number);
        }
    }

    /// The request that was drawn first enters the device, at that place.
    pub(in crate::timed) fn entered(&mut self, place: RequestId) {
        let (at, number) = (place.0 as usize, self.drawn.pop_front().expect("it was drawn"));
        if self.of_place.len() <= at {
            self.of_place.resize(at + 1, 0);
        }
        self.of_place[at] = number;
    }

    pub(in crate::timed) fn completed(&mut self, now: Instant, place: RequestId) {
        self.host.completed(self.of_place[place.0 as usize], now);
    }
}
