//! The distribution of request latencies.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Highest latency the histogram tells apart: 2^53 ns, 104 days. An overloaded open-loop replay of a
/// week-long trace stays below it; above, percentiles saturate while `mean` and `max` stay exact.
const HIGHEST_NS: u64 = 1 << 53;

/// Relative resolution of the percentiles: three significant decimal digits, that is within 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

/// A latency distribution in nanoseconds. Mean and maximum are exact, percentiles within 0.1 %.
#[derive(Clone, Debug)]
pub struct Latency {
    histogram: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::new()
    }
}

impl Latency {
    /// An empty distribution, with all the memory it will ever need (about 350 kB, of which only what is
    /// used is touched).
    pub fn new() -> Latency {
        let histogram = Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("three digits between 1 and 2^53 are valid bounds");
        Latency { histogram, sum_ns: 0, max_ns: 0 }
    }

    /// Adds one latency.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum_ns += u128::from(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.sum_ns = 0;
        self.max_ns = 0;
    }

    /// Latencies recorded.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Sum of all latencies in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// The longest latency in nanoseconds; 0 where nothing was recorded.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Mean in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The smallest latency, in nanoseconds, that a fraction `q` (0..1) of the requests do not exceed.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.histogram.value_at_quantile(q).min(self.max_ns))
    }

    /// Both distributions as one.
    pub fn merged(&self, other: &Latency) -> Latency {
        let mut sum = self.clone();
        sum.histogram.add(&other.histogram).expect("both have the same bounds");
        sum.sum_ns += other.sum_ns;
        sum.max_ns = sum.max_ns.max(other.max_ns);
        sum
    }

    /// `{mean, p50, p90, p99, p999, p9999, max}` in microseconds; all `null` where nothing was recorded.
    pub fn to_json(&self) -> Value {
        let quantile = |q| self.quantile_ns(q).map(us);
        json!({
            "mean": self.mean_ns().map(|ns| ns / 1e3),
            "p50": quantile(0.5),
            "p90": quantile(0.9),
            "p99": quantile(0.99),
            "p999": quantile(0.999),
            "p9999": quantile(0.9999),
            "max": (self.count() > 0).then_some(us(self.max_ns)),
        })
    }

    /// The occupied classes from short to long: upper bound in nanoseconds and count.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram
            .iter_recorded()
            .map(|class| (class.value_iterated_to().min(self.max_ns), class.count_since_last_iteration()))
    }
}

/// Nanoseconds as microseconds.
pub(crate) fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_recorded_is_null() {
        let expected = r#"{"mean":null,"p50":null,"p90":null,"p99":null,"p999":null,"p9999":null,"max":null}"#;
        assert_eq!(Latency::new().to_json().to_string(), expected);
    }

    #[test]
    fn figures_are_in_microseconds() {
        let mut latency = Latency::new();
        for ns in [1000, 1000, 1500, 2000] {
            latency.record(ns);
        }
        let expected = r#"{"mean":1.375,"p50":1.0,"p90":2.0,"p99":2.0,"p999":2.0,"p9999":2.0,"max":2.0}"#;
        assert_eq!(latency.to_json().to_string(), expected);
        latency.clear();
        assert_eq!((latency.count(), latency.sum_ns(), latency.max_ns()), (0, 0, 0));
    }

    #[test]
    fn beyond_the_range_mean_and_maximum_stay_exact() {
        let mut latency = Latency::new();
        latency.record(u64::MAX);
        latency.record(u64::MAX - 2);
        assert_eq!(latency.max_ns(), u64::MAX);
        assert_eq!(latency.sum_ns(), 2 * u128::from(u64::MAX) - 2);
        assert!(latency.quantile_ns(0.5).is_some_and(|ns| ns >= HIGHEST_NS));
        assert_eq!(latency.count(), 2);
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(
            short in prop::collection::vec(0u64..3000, 0..200),
            long in prop::collection::vec(0u64..10_000_000_000, 1..200),
        ) {
            let (mut a, mut b) = (Latency::new(), Latency::new());
            short.iter().for_each(|&ns| a.record(ns));
            long.iter().for_each(|&ns| b.record(ns));
            let both = a.merged(&b);
            let mut sorted = [short, long].concat();
            sorted.sort_unstable();
            prop_assert_eq!(both.count(), sorted.len() as u64);
            prop_assert_eq!(both.sum_ns(), sorted.iter().map(|&ns| u128::from(ns)).sum::<u128>());
            prop_assert_eq!(both.max_ns(), sorted[sorted.len() - 1]);
            for q in [0.5, 0.9, 0.99, 0.999, 0.9999] {
                let rank = (q * sorted.len() as f64).ceil().max(1.0) as usize;
                let exact = sorted[rank - 1];
                let found = both.quantile_ns(q).unwrap();
                // The upper end of the class that the exact value falls in.
                prop_assert!(found >= exact && found as f64 <= exact as f64 * 1.001, "{}: {} for {}", q, found, exact);
            }
            let classes: Vec<(u64, u64)> = both.classes().collect();
            prop_assert_eq!(classes.iter().map(|(_, count)| count).sum::<u64>(), both.count());
            for (bound, _) in &classes {
                let exact = sorted.iter().filter(|&ns| ns <= bound).count() as u64;
                let below: u64 = classes.iter().filter(|(b, _)| b <= bound).map(|(_, count)| count).sum();
                prop_assert_eq!(below, exact);
            }
        }
    }
}
