//! Ends a run that stands still: the device works on and on, and nothing of it comes to the host.
//!
//! With time a run is looked at whenever it reports. Without time a page of the host is served in one go, however long that
//! takes, and functions that serve one have no way to fail. There the run is left by unwinding; [`caught`] makes an error of it.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use base::{Cause, Geometry, OpKind};
use config::Config;
use metrics::Counters;

use crate::device::{Device, policies};
use crate::errors::RunError;

/// Operations that may always pass, however small the device is.
const FLOOR: u64 = 1_000_000;

/// Operations for a page that moves, at most: it is read and programmed; so may be its map entry, and the lower page of its
/// wordline, for a backup; and its share of the erases of all these.
const OPERATIONS_OF_A_MOVE: u64 = 8;

/// Steps between two looks.
const LOOK_EVERY: u32 = 1024;

/// Domains that are described.
const DESCRIBED: usize = 4;

/// Why a run without time was left.
struct StandsStill;

/// The host's progress, and the work since it got something last.
#[derive(Clone)]
pub(crate) struct Watchdog {
    /// Flash operations that may pass without anything for the host.
    bound: u64,
    /// Steps since the last look.
    steps: u32,
    /// Pages that were trimmed, perhaps many for one request.
    trims: u64,
    /// The host's progress at the last look.
    served: u64,
    /// All that was done when the host got something last.
    then: Box<Counters>,
}

impl Watchdog {
    pub(crate) fn new(config: &Config, geometry: &Geometry) -> Watchdog {
        let bound = bound(config, geometry);
        Watchdog { bound, steps: 0, trims: 0, served: 0, then: Box::default() }
    }

    /// Counting begins anew.
    pub(crate) fn restart(&mut self) {
        (self.steps, self.served, *self.then) = (0, 0, Counters::default());
    }

    /// Forgets the operations of a pause: with no request in the device they are no work for one.
    pub(crate) fn rests(&mut self, counters: &Counters) {
        (self.steps, self.served, *self.then) = (0, served(counters) + self.trims, *counters);
    }

    /// A page is trimmed.
    #[inline]
    pub(crate) fn trims(&mut self) {
        self.trims += 1;
    }

    /// Without time: something was done that has no end where a device stands still: an erase, a read of the map, a backup.
    #[inline]
    pub(crate) fn step(&mut self, counters: &Counters) {
        self.steps += 1;
        if self.steps >= LOOK_EVERY {
            self.look(counters);
        }
    }

    #[cold]
    fn look(&mut self, counters: &Counters) {
        if self.stands_still(counters) {
            // Not a panic: nobody is to be told of one.
            resume_unwind(Box::new(StandsStill));
        }
    }

    /// True if too many operations passed since the host last got something.
    pub(crate) fn stands_still(&mut self, counters: &Counters) -> bool {
        self.steps = 0;
        let served = served(counters) + self.trims;
        if served != self.served {
            (self.served, *self.then) = (served, *counters);
            return false;
        }
        counters.flash_ops() - self.then.flash_ops() > self.bound
    }
}

/// The flash operations that no device needs before the host gets something.
///
/// A page of the host waits until its active block has room. At worst each stream opens a block for it, every slot of which is
/// gained by a collection of its own, and each of those moves all but one page of a block; all domains may do so at the same
/// time. Ahead of need, and for reads or wear, every page of the device may move besides.
fn bound(config: &Config, geometry: &Geometry) -> u64 {
    let streams = ftl::streams(geometry, &policies(config)).max(1) as u64;
    let slots = u64::from(geometry.unit_slots());
    let units = u64::from(geometry.units_per_domain());
    let moves = u64::from(geometry.domains()) * slots * slots.max(units);
    moves.saturating_mul(streams).saturating_mul(OPERATIONS_OF_A_MOVE).max(FLOOR)
}

/// The host's progress, in pages and requests. Only that it grows matters.
fn served(counters: &Counters) -> u64 {
    let pages: u64 = [Cause::Host, Cause::Rmw, Cause::Pad].iter().flat_map(|&cause| counters.ops[cause as usize]).sum();
    let buffered = counters.buffer_hits + counters.buffer_read_hits + counters.buffer_evictions + counters.buffer_drops;
    pages + buffered + counters.unmapped_reads + counters.failed_reads + counters.requests()
}

/// The report on a device that stands still, and on the requests in it.
pub(crate) fn described(device: &Device, requests: &str) -> RunError {
    let dog = &device.watchdog;
    let done = device.recorder.counters - *dog.then;
    let mut text = format!(
        "the run stands still: {} flash operations since a page or a request of the host was last served, and no device needs more \
         than {}\nsince then:",
        done.flash_ops(),
        dog.bound
    );
    for cause in Cause::ALL {
        let [reads, programs, erases] = [OpKind::Read, OpKind::Program, OpKind::Erase].map(|kind| done.of(cause, kind));
        if reads + programs + erases > 0 {
            write!(text, "\n  {}: {reads} reads, {programs} programs, {erases} erases", cause.name())
                .expect("a string");
        }
    }
    let busy = |&domain: &base::Domain| device.ftl.work(domain).is_some();
    let domains: Vec<base::Domain> = device.flash.geometry().all_domains().filter(busy).collect();
    write!(text, "\nbusy: {} of {} domains", domains.len(), device.flash.geometry().domains()).expect("a string");
    for &domain in domains.iter().take(DESCRIBED) {
        write!(text, "\n  domain {domain}: {}", device.ftl.in_words(domain)).expect("a string");
    }
    if domains.len() > DESCRIBED {
        text.push_str("\n  …");
    }
    if !requests.is_empty() {
        write!(text, "\n{requests}").expect("a string");
    }
    RunError::StandsStill(text)
}

/// Does something without time. That it stands still is an error.
pub(crate) fn caught<D: AsRef<Device>, T>(
    device: &mut D,
    work: impl FnOnce(&mut D) -> Result<T, RunError>,
) -> Result<T, RunError> {
    match catch_unwind(AssertUnwindSafe(|| work(device))) {
        Ok(result) => result,
        // What was in the middle of a change is only described.
        Err(left) if left.is::<StandsStill>() => {
            Err(described((*device).as_ref(), "a page of the host waits, or a map entry"))
        }
        Err(panic) => resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts with so many erases by wear leveling.
    fn erases(count: u64) -> Counters {
        let mut counters = Counters::default();
        counters.ops[Cause::Wear as usize][OpKind::Erase as usize] = count;
        counters
    }

    #[test]
    fn work_of_a_pause_is_none_for_a_request() {
        let dog = || Watchdog { bound: 1000, steps: 0, trims: 0, served: 0, then: Box::default() };
        let mut awake = dog();
        assert!(!awake.stands_still(&erases(1000)) && awake.stands_still(&erases(1001)));
        // A long pause, and then a request that comes while the device is at work.
        let mut rested = dog();
        rested.rests(&erases(5000));
        assert!(!rested.stands_still(&erases(6000)) && rested.stands_still(&erases(6001)));
    }
}
