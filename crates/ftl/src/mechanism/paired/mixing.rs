//! GCMix: the valid pages of a victim under the pages that the host writes (GCMix, section 4).

use super::{Agenda as _, Paired, Scheme};
use crate::kernel::{Kernel, Stream, Why};
use crate::mechanism::Under;
use base::Domain;

impl Paired {
    /// The page that goes under the next host page of a stream. Blocks that are emptied under host pages are erased without a collection, so
    /// nobody asked what is due behind it: that comes before a victim is chosen.
    pub(super) fn page_under(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        stream: Stream,
        may_choose: bool,
    ) -> Option<Under> {
        if self.scheme != Scheme::Mixing {
            return None;
        }
        let slot = kernel.open_frontier(domain, stream).slot;
        if kernel.wordlines().is_top(slot) {
            return None;
        }
        if !may_choose && self.is_to_choose(kernel, domain) {
            return Some(Under::Choice);
        }
        if self.has_victim(kernel, domain) {
            Some(Under::Victim)
        } else if kernel.job(domain).is_some() {
            Some(Under::Collection)
        } else {
            self.has_erasable(kernel, domain).then_some(Under::Erase)
        }
    }

    /// True if a victim is to be chosen now.
    fn is_to_choose(&mut self, kernel: &Kernel, domain: Domain) -> bool {
        kernel.pairing(domain).is_none() && kernel.job(domain).is_none() && self.update_mixing(kernel, domain)
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

    /// True if mixing is on and there is a victim with valid pages. A victim that holds pages of the map is collected
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
