//! GCMix: the valid pages of a victim under the pages that the host writes (GCMix, section 4).

use super::{Mechanism as _, Paired, Scheme};
use crate::kernel::{Kernel, Stream, Why};
use crate::mechanism::Under;
use base::Domain;

/// Whether there is room to empty any victim after the next host page, whichever streams its pages go to.
///
/// Where all copies go to one stream, or a unit holds pages of one stream, they open one unit at most, and the
/// reserve has it. Where victims split and are mixed a victim's pages may open a unit in each stream.
/// Emptying it fills no more slots than its erase gives back, so what counts is slots: as many as all frontiers can
/// keep open, and those that the host page and the copies under it take.
pub(super) fn can_empty_any_victim(kernel: &Kernel, domain: Domain) -> bool {
    if !kernel.streams().split_victims() {
        return true;
    }
    let (free, slots) = (kernel.free(domain), kernel.budget().slots);
    kernel.streams().sets().all(|set| {
        let (mut streams, mut open) = (0, 0);
        for stream in set {
            streams += 1;
            open += kernel.frontier(domain, stream).map_or(0, |frontier| slots.saturating_sub(frontier.slot.number()));
        }
        free > streams || free * slots + open > streams * slots + kernel.wordlines().most_open()
    })
}

impl Paired {
    /// Whether a victim is to be chosen now, for what goes under the next host page of a stream.
    pub(in crate::mechanism) fn is_to_choose(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream) -> bool {
        if self.scheme != Scheme::Mixing || kernel.pairing(domain).is_some() || kernel.job(domain).is_some() {
            return false;
        }
        let slot = kernel.open_frontier(domain, stream).slot;
        !kernel.wordlines().is_top(slot) && self.update_mixing(kernel, domain)
    }

    /// What goes under the next host page of a stream.
    pub(super) fn page_under(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream) -> Under {
        if self.scheme != Scheme::Mixing {
            return Under::Nothing;
        }
        let slot = kernel.open_frontier(domain, stream).slot;
        if kernel.wordlines().is_top(slot) {
            return Under::Nothing;
        }
        if self.has_victim(kernel, domain) {
            Under::Victim
        } else if kernel.job(domain).is_some() {
            Under::Collection
        } else if self.has_erasable(kernel, domain) {
            Under::Erase
        } else {
            Under::Nothing
        }
    }

    /// Turns mixing on or off by the watermarks and, if adaptive, by ω (GCMix, Algorithm 1).
    fn update_mixing(&mut self, kernel: &Kernel, domain: Domain) -> bool {
        let Some(watermarks) = self.watermarks else { return false };
        let free = kernel.free(domain);
        let guard = &mut self.guards[domain.index()];
        let is_local = watermarks.tau.is_some_and(|tau| kernel.locality().is_some_and(|omega| omega >= tau));
        guard.is_mixing = !is_local && if guard.is_mixing { free < watermarks.high } else { free <= watermarks.low };
        guard.is_mixing
    }

    /// Whether mixing is on and there is a victim with valid pages. A victim that holds pages of the map is collected
    /// by itself: they do not go under pages of the host.
    fn has_victim(&mut self, kernel: &mut Kernel, domain: Domain) -> bool {
        if !self.update_mixing(kernel, domain) {
            return false;
        }
        loop {
            if kernel.pairing(domain).is_none() {
                let clock = kernel.clock(domain);
                let none_gains_at = &mut self.guards[domain.index()].none_gains_at;
                if *none_gains_at == Some(clock) {
                    return false;
                }
                // A victim without an invalid page takes the slots that it gives: the host's page would never get one.
                let Some(unit) = kernel.choose(domain).filter(|&unit| kernel.gain_of(unit) > 0) else {
                    *none_gains_at = Some(clock);
                    return false;
                };
                if kernel.holds_map(unit) {
                    kernel.begin(domain, unit, Why::Room);
                    return false;
                }
                let job = kernel.take_victim(domain, unit, Why::Pairing);
                kernel.set_pairing(domain, Some(job));
            }
            if kernel.pairing(domain).is_some_and(|job| kernel.valid_of(job.unit) > 0) {
                return true;
            }
            self.hold_victim(kernel, domain);
            if self.has_erasable(kernel, domain) {
                // It gives room, perhaps enough to suspend mixing: erased before another is chosen.
                return false;
            }
        }
    }

    /// Puts an empty victim among the units that wait for their erase.
    pub(super) fn hold_victim(&mut self, kernel: &mut Kernel, domain: Domain) {
        if let Some(job) = kernel.set_pairing(domain, None) {
            self.guards[domain.index()].held.push(job.unit);
        }
    }

    pub(super) fn has_erasable(&self, kernel: &Kernel, domain: Domain) -> bool {
        self.erasable(kernel, domain).is_some()
    }
}
