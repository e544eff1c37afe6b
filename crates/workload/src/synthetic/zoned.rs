//! Zones of the footprint, each with its part of the requests, as fio's `random_distribution=zoned`.

use base::{Choice, Param, ParamKind};
use engine::Chance;

use super::Pattern;
use super::hot_cold::threshold;

/// The names of a zone's parameters: its share of the requests, and of the footprint.
const ZONES: [[&str; 2]; 4] =
    [["requests1", "size1"], ["requests2", "size2"], ["requests3", "size3"], ["requests4", "size4"]];

const fn share(name: &'static str, default: f64, doc: &'static str) -> Param {
    Param { name, kind: ParamKind::Number { default, min: 0.0, max: 100.0 }, doc }
}

pub(super) const CHOICE: Choice = Choice {
    name: "zoned",
    doc: "Up to four zones, one behind the other: each is so large, and gets so many of the requests, as its share of the sum; within it \
          every address is alike (fio, `random_distribution=zoned`)",
    params: &[
        share(ZONES[0][0], 60.0, "requests to the first zone, for example in per cent"),
        share(ZONES[0][1], 10.0, "size of the first zone"),
        share(ZONES[1][0], 30.0, "requests to the second zone"),
        share(ZONES[1][1], 20.0, "size of the second zone"),
        share(ZONES[2][0], 8.0, "requests to the third zone"),
        share(ZONES[2][1], 30.0, "size of the third zone"),
        share(ZONES[3][0], 2.0, "requests to the fourth zone"),
        share(ZONES[3][1], 40.0, "size of the fourth zone; 0: there is none, whatever its requests"),
    ],
};

struct Zone {
    /// 53-bit draws below this go to this zone or to one before it.
    below: u64,
    first: u64,
    slots: u64,
}

pub(super) struct Zoned {
    zones: Vec<Zone>,
}

impl Zoned {
    /// A zone without slots gets no request. If that is all of them, or none has requests, the footprint is one zone.
    pub fn new(slots: u64, share: impl Fn(&str) -> f64) -> Zoned {
        let shares = ZONES.map(|[requests, size]| (share(requests), share(size)));
        let of_sizes: f64 = shares.iter().map(|(_, size)| size).sum();
        let (mut end, mut first) = (0.0, 0);
        let mut zones: Vec<(f64, Zone)> = Vec::new();
        for (requests, size) in shares {
            end += size;
            let last = if of_sizes > 0.0 { (slots as f64 * end / of_sizes + 0.5) as u64 } else { 0 };
            let slots = last.min(slots) - first;
            if slots > 0 {
                zones.push((requests, Zone { below: 0, first, slots }));
            }
            first += slots;
        }
        // The last zone that is asked for takes what rounding leaves.
        let Some(last) = zones.iter().rposition(|(requests, _)| *requests > 0.0) else {
            return Zoned { zones: vec![Zone { below: u64::MAX, first: 0, slots }] };
        };
        let of_requests: f64 = zones.iter().map(|(requests, _)| requests).sum();
        let mut sum = 0.0;
        let zones = zones.into_iter().enumerate().map(|(index, (requests, zone))| {
            sum += requests;
            Zone { below: if index < last { threshold(sum / of_requests) } else { u64::MAX }, ..zone }
        });
        Zoned { zones: zones.collect() }
    }
}

impl Pattern for Zoned {
    fn next(&mut self, stream: &mut Chance) -> u64 {
        let draw = stream.next() >> 11;
        let zone = self.zones.iter().find(|zone| draw < zone.below).expect("the last zone takes all draws");
        zone.first + stream.below(zone.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 1_000_000;

    /// Requests by slot, for shares of requests and sizes by zone.
    fn counts(slots: u64, shares: [(f64, f64); 4]) -> Vec<u64> {
        let share = |name: &str| {
            let zone = ZONES.iter().position(|names| names.contains(&name)).expect("a zone");
            if name.starts_with("size") { shares[zone].1 } else { shares[zone].0 }
        };
        let (mut zoned, mut stream) = (Zoned::new(slots, share), Chance::new(3, "zoned"));
        let mut counts = vec![0; slots as usize];
        (0..DRAWS).for_each(|_| counts[zoned.next(&mut stream) as usize] += 1);
        counts
    }

    #[test]
    fn each_zone_has_its_share_and_all_its_addresses_are_alike() {
        let counts = counts(1000, [(80.0, 20.0), (10.0, 20.0), (10.0, 60.0), (0.0, 0.0)]);
        for (zone, share) in [(0..200, 0.8), (200..400, 0.1), (400..1000, 0.1)] {
            let of_zone = &counts[zone];
            let sum: u64 = of_zone.iter().sum();
            let expected = DRAWS as f64 * share;
            assert!((sum as f64 - expected).abs() < 5.0 * libm::sqrt(expected), "{sum}, not {expected}");
            let each = expected / of_zone.len() as f64;
            assert!(of_zone.iter().all(|&count| (count as f64 - each).abs() < 6.0 * libm::sqrt(each)), "{of_zone:?}");
        }
    }

    #[test]
    fn shares_are_of_their_sum() {
        let percent = counts(100, [(80.0, 20.0), (20.0, 80.0), (0.0, 0.0), (0.0, 0.0)]);
        assert_eq!(percent, counts(100, [(0.8, 1.0), (0.2, 4.0), (0.0, 0.0), (0.0, 0.0)]));
    }

    #[test]
    fn whatever_the_shares_every_request_is_inside() {
        for slots in [1, 2, 3, 7] {
            for requests in [0.0, 1.0, 100.0] {
                for size in [0.0, 0.001, 100.0] {
                    let shares = [(requests, size), (1.0, size), (0.0, 3.0 * size), (requests, 0.0)];
                    assert_eq!(counts(slots, shares).iter().sum::<u64>(), DRAWS);
                }
            }
        }
        // A zone without requests gets none, and one without size neither.
        let counts = counts(10, [(0.0, 50.0), (5.0, 0.0), (1.0, 50.0), (0.0, 0.0)]);
        assert_eq!(counts[..5], [0; 5]);
    }
}
