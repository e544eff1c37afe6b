//! Owners: under a dynamic allocation pages lie in other domains than their entries. What domains do for each other, and
//! who waits for what.
//!
//! A collection waits for updates of translation pages with its victim empty and no job in hand, and a domain that waits
//! serves others; so no two wait for each other. An entry that came for a write is held until the page is placed.

use base::{Domain, Lpn, Ppn};

use super::{Dftl, MapNeed, MapOp, Parked, Reason, Updates};
use crate::kernel::Kernel;

impl Dftl {
    /// A page is in flash: the translation page that was placed last in its domain, a part of it, or another one.
    pub(crate) fn programmed(&mut self, kernel: &mut Kernel, at: Ppn) {
        let unit = kernel.geometry().unit_of(at);
        let in_flight = &mut self.instances[kernel.geometry().domain_of_unit(unit).index()].in_flight;
        let Some(page) = in_flight.take_if(|_| kernel.holds_map(unit)) else { return };
        self.updates[page as usize].committed += 1;
        if self.has_owners_elsewhere {
            for waiting in self.all_domains() {
                if self.instances[waiting.index()].parked.is_some() && self.may_go_on(waiting) {
                    kernel.wake(waiting);
                }
            }
        }
    }

    /// A translation page to update because a collection elsewhere waits for it: not while a victim is emptied here, unless
    /// the active block has room for it.
    pub(super) fn op_for_others(&mut self, kernel: &mut Kernel, domain: Domain, has_room: bool) -> MapNeed {
        if !self.has_owners_elsewhere {
            return MapNeed::Nothing;
        }
        while let Some(&page) = self.instances[domain.index()].requested.last() {
            if self.causes[page as usize].moved {
                let map_op = MapOp::Update(page, Reason::Moved);
                return match kernel.job(domain) {
                    None => self.with_room(kernel, domain, has_room, map_op),
                    Some(_) if kernel.is_open(domain, kernel.streams().of_map()) => MapNeed::MapOp(map_op),
                    Some(_) => MapNeed::Nothing,
                };
            }
            self.instances[domain.index()].requested.pop();
        }
        MapNeed::Nothing
    }

    /// True if a collection of the domain waits for updates.
    pub(crate) fn is_parked(&self, domain: Domain) -> bool {
        self.instances[domain.index()].parked.is_some()
    }

    /// All pages of a domain's victim were moved. Where other domains own their entries, the collection is parked and
    /// the owners are asked for their updates. Returns whether it is.
    pub(super) fn park(&mut self, kernel: &mut Kernel, domain: Domain) -> bool {
        if !self.has_owners_elsewhere || self.instances[domain.index()].moved.is_empty() {
            return false;
        }
        let Some(job) = kernel.take_job(domain) else { return false };
        let mut awaits = Vec::new();
        while let Some(page) = self.instances[domain.index()].moved.pop() {
            let Updates { placed, committed } = self.updates[page as usize];
            if self.causes[page as usize].moved {
                let owner = self.owner_of_page(page);
                let requested = &mut self.instances[owner.index()].requested;
                if !requested.contains(&page) {
                    requested.push(page);
                }
                kernel.wake(owner);
                awaits.push((page, placed + 1));
            } else if committed < placed {
                awaits.push((page, placed));
            }
        }
        self.instances[domain.index()].parked = Some(Parked { job, awaits });
        true
    }

    /// Takes up a collection that was parked, if its updates are in flash and nothing else is collected.
    pub(super) fn unpark(&mut self, kernel: &mut Kernel, domain: Domain) {
        if self.is_parked(domain)
            && kernel.job(domain).is_none()
            && self.may_go_on(domain)
            && let Some(parked) = self.instances[domain.index()].parked.take()
        {
            kernel.resume_job(domain, parked.job);
        }
    }

    /// True if the updates that a domain's victim waits for are in flash.
    fn may_go_on(&mut self, domain: Domain) -> bool {
        let Some(parked) = &mut self.instances[domain.index()].parked else { return false };
        parked.awaits.retain(|&(page, count)| self.updates[page as usize].committed < count);
        parked.awaits.is_empty()
    }

    /// An entry is in the cache that was wanted: it is held for a write, or makes way for the next one.
    pub(super) fn has_come(&mut self, kernel: &mut Kernel, domain: Domain, lpn: Lpn) {
        let instance = &mut self.instances[domain.index()];
        instance.wanted = None;
        if self.cache.is_full(domain) {
            // Of a read-only device: no entry makes way that is not in flash.
            instance.passing = Some(lpn);
            return;
        }
        self.cache.insert(domain, lpn.0);
        if self.has_owners_elsewhere && instance.for_write {
            instance.held = Some(lpn);
        } else {
            self.want_next(kernel, domain);
        }
    }

    /// No entry of the domain is wanted or held any more: that of a read which waited for this is wanted.
    pub(super) fn want_next(&mut self, kernel: &mut Kernel, domain: Domain) {
        let next = self.instances[domain.index()].next.take().filter(|next| !self.cache.holds(next.0));
        if let Some(lpn) = next {
            self.want(kernel, lpn, false);
        }
    }

    /// Has the owner of an entry get it for a write or a read, after what it does already. Returns the owner.
    #[cold]
    pub(crate) fn want(&mut self, kernel: &mut Kernel, lpn: Lpn, for_write: bool) -> Domain {
        let domain = self.owner_of(lpn);
        let instance = &mut self.instances[domain.index()];
        if instance.wanted.is_none() && instance.held.is_none() {
            (instance.wanted, instance.for_write) = (Some(lpn), for_write);
            self.done.misses += 1;
            self.wake(kernel, domain);
        } else if self.has_owners_elsewhere && !for_write && instance.wanted != Some(lpn) {
            instance.next.get_or_insert(lpn);
        }
        domain
    }

    /// Has the executor look at a domain that has something to do for another one.
    pub(super) fn wake(&self, kernel: &mut Kernel, domain: Domain) {
        if self.has_owners_elsewhere {
            kernel.wake(domain);
        }
    }
}
