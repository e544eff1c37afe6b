//! The requests to a sample of the places: a hash chooses them, and what is left lies side by side on a smaller device.
//!
//! Addresses are cut into runs, and each `one_in` neighbouring runs are a group. Every share has one run of each group, the hash of the
//! group says which: so a run is in one share as a whole, the shares together are all of it, each share has the same number of runs,
//! and the run of group *g* lies at place *g* of the small device. Neighbours in a share are neighbours in address, so that what is
//! written in order stays in order.

use std::collections::VecDeque;

use base::{Request, RequestKind};
use config::model::PlaceShare;

use crate::error::WorkloadError;
use crate::tally::Tally;
use crate::workload::Workload;

/// Requests of the whole that are looked at in one go.
const BATCH: usize = 1024;

/// Which places a share has.
pub(crate) struct Places {
    one_in: u64,
    number: u64,
    run: u64,
    seed: u64,
}

impl Places {
    pub fn of(share: &PlaceShare) -> Places {
        Places { one_in: share.one_in.into(), number: share.number.into(), run: share.run, seed: share.seed }
    }

    /// The run of a group that is in the share.
    fn run_of(&self, group: u64) -> u64 {
        let turn = mixed(self.seed ^ mixed(group)) % self.one_in;
        group * self.one_in + (self.number + turn) % self.one_in
    }

    /// Hands on what the share has of a request, in order of address; runs that became neighbours are one request. A flush has no address,
    /// and is for all.
    pub fn place(&self, request: &Request, mut push: impl FnMut(Request)) {
        if request.kind == RequestKind::Flush {
            push(*request);
            return;
        }
        let end = request.offset + request.size;
        let group_bytes = self.one_in * self.run;
        let mut waiting: Option<Request> = None;
        for group in request.offset / group_bytes..end.div_ceil(group_bytes) {
            let begin_of_run = self.run_of(group) * self.run;
            let begin = request.offset.max(begin_of_run);
            let end = end.min(begin_of_run + self.run);
            if begin >= end {
                continue;
            }
            let offset = group * self.run + (begin - begin_of_run);
            match &mut waiting {
                Some(before) if before.offset + before.size == offset => before.size += end - begin,
                waiting => {
                    let part = Request { offset, size: end - begin, ..*request };
                    if let Some(before) = waiting.replace(part) {
                        push(before);
                    }
                }
            }
        }
        if let Some(last) = waiting {
            push(last);
        }
    }
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA '14).
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A trace of which a share of the places is left. Its end is that of the whole.
pub(crate) struct Sampled {
    pub whole: Workload,
    places: Places,
    drawn: Vec<Request>,
    taken: usize,
    /// Further parts of a request, where the first filled the caller's batch.
    carried: VecDeque<Request>,
}

impl Sampled {
    pub fn new(whole: Workload, share: &PlaceShare) -> Sampled {
        let places = Places::of(share);
        Sampled { whole, places, drawn: Vec::with_capacity(BATCH), taken: 0, carried: VecDeque::new() }
    }

    pub fn fill(&mut self, out: &mut Vec<Request>, wanted: usize) -> Result<(), WorkloadError> {
        let (begin, full) = (out.len(), out.len() + wanted);
        let first_round = self.whole.tally().rounds;
        while out.len() < full {
            if let Some(request) = self.carried.pop_front() {
                out.push(request);
                continue;
            }
            if self.taken == self.drawn.len() {
                self.drawn.clear();
                self.taken = 0;
                self.whole.fill(&mut self.drawn, BATCH)?;
                // A share of which a whole round has nothing would be looked for for ever.
                let has_none = out.len() == begin && self.whole.tally().rounds > first_round + 1;
                if self.drawn.is_empty() || has_none {
                    break;
                }
            }
            let carried = &mut self.carried;
            self.places.place(&self.drawn[self.taken], |part| {
                if out.len() < full { out.push(part) } else { carried.push_back(part) }
            });
            self.taken += 1;
        }
        Ok(())
    }

    /// The tally of the whole trace; requests and bytes are counted where they are handed on.
    pub fn tally(&self, handed_on: Tally) -> Tally {
        Tally { requests: handed_on.requests, bytes_written: handed_on.bytes_written, ..self.whole.tally() }
    }
}

#[cfg(test)]
mod tests {
    use base::Instant;

    use super::*;

    const RUN: u64 = 4096;

    fn places(one_in: u64, number: u64, seed: u64) -> Places {
        Places { one_in, number, run: RUN, seed }
    }

    fn request(offset: u64, size: u64) -> Request {
        Request { at: Instant(7), offset, size, kind: RequestKind::Write, fua: true, hint: 0 }
    }

    fn parts(places: &Places, request: &Request) -> Vec<Request> {
        let mut parts = Vec::new();
        places.place(request, |part| parts.push(part));
        parts
    }

    #[test]
    fn shares_add_up_to_every_request() {
        let mut chance = engine::Chance::new(3, "sample");
        for _ in 0..2000 {
            let (one_in, seed) = (2 + chance.below(70), chance.next());
            let bits = chance.below(22);
            let whole = request(chance.below(1 << 24), 1 + chance.below(1 << bits));
            let of_all = (0..one_in).flat_map(|number| parts(&places(one_in, number, seed), &whole));
            assert_eq!(of_all.map(|part| part.size).sum::<u64>(), whole.size, "{whole:?} in {one_in}");
        }
    }

    #[test]
    fn a_run_is_in_one_share_as_a_whole_at_a_place_of_its_own() {
        for one_in in [2, 3, 64, 100] {
            let runs = one_in * 50;
            let mut taken = vec![0; runs as usize];
            for number in 0..one_in {
                let places = places(one_in, number, 11);
                let mut seen = [false; 50];
                for run in 0..runs {
                    let whole = parts(&places, &request(run * RUN, RUN));
                    let Some(part) = whole.first() else { continue };
                    assert_eq!((whole.len(), part.size, part.offset % RUN), (1, RUN, 0));
                    // Whatever is asked of the run is there, at the same offset in it.
                    let inside = parts(&places, &request(run * RUN + 512, 1024));
                    assert_eq!(inside, [Request { offset: part.offset + 512, size: 1024, ..*part }]);
                    assert!(!std::mem::replace(&mut seen[(part.offset / RUN) as usize], true));
                    taken[run as usize] += 1;
                }
                assert!(seen.iter().all(|seen| *seen), "every share has a run of each group");
            }
            assert!(taken.iter().all(|taken| *taken == 1), "every run is in one share");
        }
    }

    #[test]
    fn what_is_written_in_order_stays_in_one_request() {
        let places = places(64, 5, 1);
        let whole = parts(&places, &request(0, 64 * 64 * RUN));
        assert_eq!(whole, [Request { offset: 0, size: 64 * RUN, ..request(0, 0) }]);
    }

    #[test]
    fn another_seed_chooses_other_places() {
        let of = |seed| (0..100).map(|group| places(64, 0, seed).run_of(group)).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert!(of(1).iter().zip(of(2)).filter(|(a, b)| **a == *b).count() < 10);
    }

    #[test]
    fn a_flush_is_for_every_share() {
        let flush = Request { kind: RequestKind::Flush, ..request(0, 0) };
        assert_eq!(parts(&places(64, 9, 1), &flush), [flush]);
    }
}
