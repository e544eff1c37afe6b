//! Simulated time. Integer nanoseconds; 64 bits hold 584 years.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, in nanoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instant(pub u64);

/// A length of simulated time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Duration(pub u64);

impl Instant {
    /// The instant at which every run begins.
    pub const ZERO: Instant = Instant(0);
    /// The last instant at which a run may begin something, after 292 years: from here on 64 bits hold every time that
    /// follows on it, and a multiple of the time that has passed.
    pub const LAST: Instant = Instant(1 << 63);
    /// Later than any event of a run: "no event pending".
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Nanoseconds since the run began.
    #[inline]
    pub fn ns(self) -> u64 {
        self.0
    }

    /// Seconds since the run began.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);

    /// A duration of `us` microseconds.
    pub const fn from_us(us: u64) -> Duration {
        Duration(us * 1_000)
    }

    /// Nanoseconds.
    #[inline]
    pub fn ns(self) -> u64 {
        self.0
    }

    /// Seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, rhs: Duration) -> Instant {
        Instant(self.0 + rhs.0)
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        self.0 += rhs.0;
    }
}

impl Sub for Instant {
    type Output = Duration;
    #[inline]
    fn sub(self, rhs: Instant) -> Duration {
        Duration(self.0 - rhs.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, rhs: Duration) -> Duration {
        Duration(self.0 + rhs.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, rhs: Duration) {
        self.0 += rhs.0;
    }
}

impl std::ops::Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, rhs: u64) -> Duration {
        Duration(self.0 * rhs)
    }
}
