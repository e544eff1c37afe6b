//! The data migration mode selector: how full the write buffer was of late (rcFTL, section IV.B).

use base::{Duration, Instant};

/// Parts of the window over which the mean is taken; the oldest goes when a new one begins.
const PARTS: usize = 16;

/// A full buffer. Fills are whole numbers, so that sums are exact.
const FULL: u64 = 1 << 16;

/// The moving average of the write buffer's fill.
#[derive(Clone, Debug)]
pub(super) struct Selector {
    /// Nanoseconds of a part of the window.
    part: u64,
    /// Above which average, of [`FULL`], the buffer is too full.
    limit: u64,
    /// Fill × time of each part; which one is the current one is known from the time.
    sums: [u64; PARTS],
    /// Of all parts.
    sum: u64,
    /// The current part, and where it ends.
    place: usize,
    end: u64,
    now: u64,
    fill: u64,
}

impl Selector {
    pub(super) fn new(window: Duration, limit: f64) -> Selector {
        let part = (window.ns() / PARTS as u64).max(1);
        let limit = (limit * FULL as f64) as u64;
        Selector { part, limit, sums: [0; PARTS], sum: 0, place: 0, end: part, now: 0, fill: 0 }
    }

    /// Tells the fill level of the write buffer, 0 to 1.
    pub(super) fn tell(&mut self, now: Instant, fill: f64) {
        self.pass(now);
        self.fill = (fill.clamp(0.0, 1.0) * FULL as f64) as u64;
    }

    /// True if the buffer was too full in the mean over the window that ends with the time of the last call.
    #[inline]
    pub(super) fn is_too_full(&self) -> bool {
        let whole = self.part * PARTS as u64 - (self.end - self.now);
        self.sum > self.limit * whole.max(1)
    }

    /// Time goes on.
    #[inline]
    pub(super) fn pass(&mut self, now: Instant) {
        if now.ns() >= self.end {
            self.begin_part(now.ns());
        }
        self.add(now.ns());
    }

    /// Adds the time until then, in the current part.
    #[inline]
    fn add(&mut self, until: u64) {
        let more = self.fill * until.saturating_sub(self.now);
        self.sums[self.place] += more;
        self.sum += more;
        self.now = self.now.max(until);
    }

    /// Goes on to the part in which that time is.
    #[cold]
    fn begin_part(&mut self, until: u64) {
        if until - self.now > self.part * PARTS as u64 {
            // All of the window was like this.
            self.sums = [self.fill * self.part; PARTS];
            self.sum = self.fill * self.part * PARTS as u64;
            self.place = (until / self.part) as usize % PARTS;
            (self.now, self.end) = (until / self.part * self.part, (until / self.part + 1) * self.part);
            self.sum -= std::mem::take(&mut self.sums[self.place]);
        }
        while self.end <= until {
            self.add(self.end);
            self.end += self.part;
            self.place = (self.place + 1) % PARTS;
            self.sum -= std::mem::take(&mut self.sums[self.place]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 1600 ns and the calls: time, and fill from then on. What each call says.
    fn told(calls: &[(u64, f64)]) -> Vec<bool> {
        let mut selector = Selector::new(Duration(1600), 0.5);
        calls
            .iter()
            .map(|&(at, fill)| {
                selector.tell(Instant(at), fill);
                selector.is_too_full()
            })
            .collect()
    }

    #[test]
    fn the_mean_over_the_window_decides() {
        // Full from the beginning: half of the window later it was so in the mean.
        assert_eq!(told(&[(0, 1.0), (700, 1.0), (850, 1.0), (1600, 1.0)]), [false, false, true, true]);
        // A short peak is no matter; a short dip neither.
        assert_eq!(told(&[(0, 0.2), (1600, 1.0), (1700, 0.2), (1800, 0.2)]), [false; 4]);
        assert_eq!(told(&[(0, 1.0), (1600, 0.0), (1700, 1.0), (1800, 1.0)]), [false, true, true, true]);
        // After a long time only the last fill counts.
        assert_eq!(told(&[(0, 1.0), (50_000, 0.0), (100_000, 0.0)]), [false, true, false]);
    }

    #[test]
    fn exactly_the_limit_is_not_above_it() {
        assert_eq!(told(&[(0, 0.5), (10_000, 0.5)]), [false, false]);
        assert_eq!(told(&[(0, 0.51), (10_000, 0.51)]), [false, true]);
    }
}
