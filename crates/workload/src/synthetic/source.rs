//! Requests from a pattern: kinds, sizes and times.

use base::{Instant, Request, RequestKind};
use engine::Chance;

use super::Pattern;
use super::hot_cold::threshold;

/// The part that does not depend on the pattern.
pub(crate) struct SourceParameters {
    pub request_size: u64,
    pub read_fraction: f64,
    /// Mean gap in nanoseconds.
    pub interval_ns: u64,
    pub poisson: bool,
    pub idle_every: u64,
    pub idle_for_ns: u64,
    pub seed: u64,
}

/// Makes requests, many at a time.
pub(crate) trait Batches: Send {
    /// Appends `n` requests.
    fn fill(&mut self, out: &mut Vec<Request>, n: usize);
}

/// A pattern with kinds and times. Each has random numbers of its own, so that a changed read fraction or
/// interval moves no address.
pub(crate) struct PatternSource<P> {
    pattern: P,
    parameters: SourceParameters,
    /// A draw of 53 bits below this is a read.
    reads: u64,
    clock: SendTimes,
    addresses: Chance,
    kinds: Chance,
}

/// When requests are sent.
struct SendTimes {
    at: u64,
    until_idle: u64,
    stream: Chance,
}

impl<P: Pattern> PatternSource<P> {
    pub fn new(pattern: P, parameters: SourceParameters) -> PatternSource<P> {
        let stream = |name| Chance::new(parameters.seed, name);
        let clock = SendTimes { at: 0, until_idle: parameters.idle_every, stream: stream("workload.gaps") };
        let (addresses, kinds) = (stream("workload.addresses"), stream("workload.kinds"));
        PatternSource { pattern, reads: threshold(parameters.read_fraction), clock, addresses, kinds, parameters }
    }
}

impl SendTimes {
    /// All requests are sent at one time.
    fn stands_still(parameters: &SourceParameters) -> bool {
        parameters.interval_ns == 0 && parameters.idle_every == 0
    }

    /// The time of the next request. Times stop at the end of 64 bits; the workload refuses them long before.
    #[inline]
    fn next(&mut self, parameters: &SourceParameters) -> u64 {
        let at = self.at;
        let gap = if parameters.poisson { self.exponential(parameters.interval_ns) } else { parameters.interval_ns };
        self.at = at.saturating_add(gap);
        if parameters.idle_every > 0 {
            self.until_idle -= 1;
            if self.until_idle == 0 {
                self.until_idle = parameters.idle_every;
                self.at = self.at.saturating_add(parameters.idle_for_ns);
            }
        }
        at
    }

    /// An exponentially distributed gap, rounded to a nanosecond.
    fn exponential(&mut self, mean_ns: u64) -> u64 {
        (-libm::log(1.0 - self.stream.fraction()) * mean_ns as f64 + 0.5) as u64
    }
}

impl<P: Pattern> Batches for PatternSource<P> {
    fn fill(&mut self, out: &mut Vec<Request>, n: usize) {
        let PatternSource { pattern, parameters, reads, clock, .. } = self;
        // Sequences that are drawn from in a loop stay in registers.
        let (mut addresses, mut kinds) = (self.addresses.clone(), self.kinds.clone());
        let (size, reads, stands_still) = (parameters.request_size, *reads, SendTimes::stands_still(parameters));
        out.extend((0..n).map(|_| {
            let at = Instant(if stands_still { clock.at } else { clock.next(parameters) });
            let offset = pattern.next(&mut addresses) * size;
            // Writes only is the case of preconditioning, which should not pay for a draw.
            let is_read = reads != 0 && kinds.next() >> 11 < reads;
            Request {
                at,
                offset,
                size,
                kind: if is_read { RequestKind::Read } else { RequestKind::Write },
                fua: false,
                hint: 0,
            }
        }));
        self.addresses = addresses;
        self.kinds = kinds;
    }
}
