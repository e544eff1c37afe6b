//! How long each channel and die was busy, and with what.

use std::hint::select_unpredictable;

use base::Instant;

/// Busy time of one channel or die, by class of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BusyTime<const N: usize> {
    /// Nanoseconds by class, including what lies ahead of the present.
    busy: [u64; N],
    /// The last unbroken run of busy time. Work is reported when it starts, so this run may end in the
    /// future; a row of the series that closes now must not count that part.
    from: u64,
    to: u64,
}

impl<const N: usize> BusyTime<N> {
    pub(crate) const IDLE: BusyTime<N> = BusyTime { busy: [0; N], from: 0, to: 0 };

    /// Adds work of a class.
    #[inline]
    pub(crate) fn add(&mut self, class: usize, from: Instant, to: Instant) {
        if to <= from {
            return;
        }
        self.busy[class] += to.0 - from.0;
        // Whether work follows without a gap is as good as random.
        self.from = select_unpredictable(from.0 != self.to, from.0, self.from);
        self.to = to.0;
    }

    /// Leaves out what was reported last, of that class, if it lies behind `now` as a whole.
    pub(crate) fn leave_out_after(&mut self, class: usize, now: Instant) {
        if self.from > now.0 {
            self.busy[class] -= self.to - self.from;
            (self.from, self.to) = (0, 0);
        }
    }

    /// Leaves out work of a class that was reported ahead and follows without a gap on what is done now. What is behind it is left out
    /// too, in any order.
    pub(crate) fn leave_out(&mut self, class: usize, from: Instant, to: Instant) {
        self.busy[class] -= to.0 - from.0;
        self.to = self.to.min(from.0);
    }

    /// Cuts what was reported last, of that class, at `now`; it has begun.
    pub(crate) fn cut(&mut self, class: usize, now: Instant) {
        self.busy[class] -= self.ahead_of(now);
        self.to = self.to.min(now.0);
    }

    /// Busy time before `now`, in nanoseconds. Never less than an earlier call said: whatever is added
    /// weighs at least as much as the part of it that lies ahead.
    pub(crate) fn busy_until(&self, now: Instant) -> u64 {
        self.busy.iter().sum::<u64>() - self.ahead_of(now)
    }

    /// Fractions of `start..end` by class. Work that ends after `end` is cut off, in proportion from every
    /// class of the resource; no fraction exceeds 1.
    pub(crate) fn fractions(&self, start: Instant, end: Instant) -> [f64; N] {
        let elapsed = end.0.saturating_sub(start.0) as f64;
        let total: u64 = self.busy.iter().sum();
        if total == 0 {
            return [0.0; N];
        }
        let kept = self.busy_until(end) as f64 / total as f64;
        self.busy.map(|ns| ns as f64 * kept / elapsed)
    }

    fn ahead_of(&self, now: Instant) -> u64 {
        self.to.saturating_sub(self.from.max(now.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_ahead_is_not_counted_yet() {
        let mut resource = BusyTime::<3>::IDLE;
        resource.add(0, Instant(10), Instant(20));
        assert_eq!([5, 10, 14, 20, 99].map(|now| resource.busy_until(Instant(now))), [0, 0, 4, 10, 10]);
        // Booked behind it without a gap: still exact.
        resource.add(1, Instant(20), Instant(50));
        assert_eq!([14, 20, 30, 50].map(|now| resource.busy_until(Instant(now))), [4, 10, 20, 40]);
        resource.add(2, Instant(60), Instant(60));
        assert_eq!(resource.busy_until(Instant(30)), 20, "no work, no change");
    }

    #[test]
    fn what_has_not_begun_can_be_left_out() {
        let mut resource = BusyTime::<3>::IDLE;
        resource.add(0, Instant(10), Instant(20));
        resource.add(1, Instant(30), Instant(50));
        resource.leave_out_after(1, Instant(30));
        assert_eq!(resource.fractions(Instant(0), Instant(50)), [0.2, 0.4, 0.0], "it has begun");
        resource.leave_out_after(1, Instant(29));
        assert_eq!(resource.fractions(Instant(0), Instant(50)), [0.2, 0.0, 0.0]);
        resource.add(2, Instant(30), Instant(40));
        assert_eq!([30, 35, 40].map(|now| resource.busy_until(Instant(now))), [10, 15, 20]);
    }

    #[test]
    fn what_is_interrupted_can_be_cut_and_goes_on_later() {
        let mut resource = BusyTime::<3>::IDLE;
        resource.add(0, Instant(10), Instant(20));
        resource.add(1, Instant(20), Instant(50));
        resource.cut(1, Instant(30));
        assert_eq!([15, 30, 60].map(|now| resource.busy_until(Instant(now))), [5, 20, 20]);
        resource.add(0, Instant(30), Instant(35));
        resource.add(1, Instant(40), Instant(60));
        assert_eq!([35, 40, 50].map(|now| resource.busy_until(Instant(now))), [25, 25, 35]);
        assert_eq!(resource.fractions(Instant(0), Instant(100)), [0.15, 0.3, 0.0]);
        resource.cut(1, Instant(60));
        assert_eq!(resource.busy_until(Instant(99)), 45, "it was over");
    }

    #[test]
    fn fractions_are_cut_at_the_end() {
        let mut resource = BusyTime::<3>::IDLE;
        assert_eq!(resource.fractions(Instant(0), Instant(100)), [0.0; 3]);
        resource.add(0, Instant(0), Instant(25));
        resource.add(2, Instant(50), Instant(75));
        assert_eq!(resource.fractions(Instant(0), Instant(100)), [0.25, 0.0, 0.25]);
        resource.add(1, Instant(75), Instant(225));
        let [read, program, erase] = resource.fractions(Instant(0), Instant(100));
        assert!((read + program + erase - 0.75).abs() < 1e-12);
    }
}
