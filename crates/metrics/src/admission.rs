//! Waits of an open loop's reads and writes for a place in the device, at the ends of their latencies.
//!
//! It is always kept there, so it is cheap: a count and two sums for each class of latency.

use base::RequestKind;
use serde_json::{Value, json};

use crate::split::{CLASSES, class_of};

/// Requests that a share rests on, at least; there may not be as many.
const REQUESTS_AROUND: u64 = 10;

/// Requests of about the same latency: how many, what they took, and how much of it was outside.
#[derive(Clone, Copy, Debug, Default)]
struct AdmissionClass {
    count: u64,
    latency_ns: u128,
    outside_ns: u128,
}

impl AdmissionClass {
    fn join(&mut self, other: &AdmissionClass) {
        self.count += other.count;
        self.latency_ns += other.latency_ns;
        self.outside_ns += other.outside_ns;
    }
}

/// Waits of requests for a place in the device.
#[derive(Clone, Debug)]
pub struct Admission {
    reads: Vec<AdmissionClass>,
    writes: Vec<AdmissionClass>,
    /// As many requests as the device held at one time.
    pub most: usize,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission::new()
    }
}

impl Admission {
    /// Figures before the first request, with all the memory they will ever need.
    pub fn new() -> Admission {
        Admission {
            reads: vec![AdmissionClass::default(); CLASSES],
            writes: vec![AdmissionClass::default(); CLASSES],
            most: 0,
        }
    }

    /// Adds a request that took `latency_ns`, of which it was outside for `outside_ns`.
    #[inline]
    pub fn add(&mut self, kind: RequestKind, latency_ns: u64, outside_ns: u64) {
        let classes = match kind {
            RequestKind::Read => &mut self.reads,
            RequestKind::Write => &mut self.writes,
            RequestKind::Trim | RequestKind::Flush => return,
        };
        classes[class_of(latency_ns)].join(&AdmissionClass {
            count: 1,
            latency_ns: latency_ns.into(),
            outside_ns: outside_ns.into(),
        });
    }

    /// `{outstanding_max, read_fraction, write_fraction}`: the most requests that the device held, and by percentile (`p99`, `p999`) how
    /// much of the latency was the wait for a place; `null` without such a request.
    pub fn to_json(&self) -> Value {
        let fractions =
            |classes: &[AdmissionClass]| json!({ "p99": fraction(classes, 0.99), "p999": fraction(classes, 0.999) });
        json!({
            "outstanding_max": self.most,
            "read_fraction": fractions(&self.reads),
            "write_fraction": fractions(&self.writes),
        })
    }
}

/// How much of the latency of the requests around a percentile was outside. Where few are of its class, classes above and below
/// join it.
fn fraction(classes: &[AdmissionClass], q: f64) -> Option<f64> {
    let all: u64 = classes.iter().map(|class| class.count).sum();
    let rank = ((q * all as f64).ceil() as u64).clamp(1, all.max(1));
    let mut below = 0;
    let middle = classes.iter().position(|class| {
        below += class.count;
        below >= rank
    })?;
    let mut found = classes[middle];
    for by in 1..classes.len() {
        if found.count >= REQUESTS_AROUND {
            break;
        }
        let beside = [middle.checked_sub(by), Some(middle + by)];
        beside.into_iter().flatten().filter_map(|at| classes.get(at)).for_each(|class| found.join(class));
    }
    Some(if found.latency_ns == 0 { 0.0 } else { found.outside_ns as f64 / found.latency_ns as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_tail() {
        let mut admission = Admission::new();
        for at in 0..10_000 {
            // One in a hundred waits outside, for nine tenths of the time; one in a thousand takes longest, inside.
            let (latency, outside) = match at {
                _ if at % 1000 == 999 => (5_000_000, 500_000),
                _ if at % 50 == 0 => (1_000_000, 900_000),
                _ => (80_000, 0),
            };
            admission.add(RequestKind::Read, latency, outside);
        }
        admission.add(RequestKind::Flush, 1 << 40, 1 << 40);
        let found = admission.to_json();
        assert_eq!(found["read_fraction"], json!({"p99": 0.9, "p999": 0.9}));
        assert_eq!(found["write_fraction"], json!({"p99": null, "p999": null}));
        for _ in 0..100 {
            admission.add(RequestKind::Read, 5_000_000, 500_000);
        }
        assert_eq!(admission.to_json()["read_fraction"]["p999"], 0.1);
    }

    #[test]
    fn few_requests_of_a_latency_are_joined_by_those_next_to_it() {
        let mut admission = Admission::new();
        for at in 1..=20 {
            admission.add(RequestKind::Write, at * 1_000_000, if at <= 15 { 0 } else { at * 1_000_000 });
        }
        let fraction = admission.to_json()["write_fraction"]["p999"].as_f64().unwrap();
        assert!((0.4..0.8).contains(&fraction), "the ten longest, not the longest alone: {fraction}");
        let mut none = Admission::new();
        none.add(RequestKind::Write, 0, 0);
        assert_eq!(none.to_json()["write_fraction"]["p99"], 0.0);
    }
}
