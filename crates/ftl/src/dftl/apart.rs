//! Pages that lie elsewhere than their entries, under a dynamic allocation: what domains do for each other, and who waits for
//! what.
//!
//! A collection waits for updates of translation pages with its victim empty and no job in hand, and a domain that waits
//! serves others; so no two wait for each other. An entry that came for a write is held until the page is placed.

use base::Lpn;

use super::{Dftl, Parked, Reason, Task, Updates};
use crate::layer::{Ftl, NONE};

// What the executors ask and tell.
impl Ftl {
    /// The translation page that [`Ftl::update`] placed in a domain is in flash, if there is one.
    pub fn landed(&mut self, domain: u32) {
        let Some(dftl) = &mut self.dftl else { return };
        let Some(page) = dftl.instances[domain as usize].in_flight.take() else { return };
        dftl.updates[page as usize].landed += 1;
        if dftl.is_apart {
            for waiting in 0..dftl.instances.len() as u32 {
                if dftl.instances[waiting as usize].parked.is_some() && dftl.may_go_on(waiting) {
                    dftl.call(waiting);
                }
            }
        }
    }

    /// Whether pages lie elsewhere than their map entries.
    pub fn is_apart(&self) -> bool {
        self.dftl.as_ref().is_some_and(|dftl| dftl.is_apart)
    }

    /// The domain that has the map entry of a page.
    pub fn home_of(&self, lpn: Lpn) -> u32 {
        match &self.dftl {
            Some(dftl) => dftl.domain_of(lpn),
            None => self.allocation.queue_of(lpn),
        }
    }

    /// Whether a map entry came, since this was last asked, that took no step.
    pub fn take_arrived(&mut self) -> bool {
        self.dftl.as_mut().is_some_and(|dftl| std::mem::take(&mut dftl.arrived))
    }

    /// A domain that was given something to do for another one since it was last named, or may go on.
    pub fn take_called(&mut self) -> Option<u32> {
        self.dftl.as_mut()?.called.pop()
    }
}

// Collections that wait.
impl Ftl {
    /// A translation page to update because a collection elsewhere waits for it: not while a victim is emptied here, unless
    /// the frontier has room for it.
    pub(super) fn task_for_others(&mut self, domain: u32) -> Option<Task> {
        let dftl = self.dftl.as_mut().filter(|dftl| dftl.is_apart)?;
        let requested = &mut dftl.instances[domain as usize].requested;
        while let Some(&page) = requested.last() {
            if dftl.due[page as usize].moved {
                let has_room = match self.domains[domain as usize].job {
                    None => self.has_translation_room(domain),
                    Some(_) => self.domains[domain as usize].frontiers[self.streams].unit != NONE,
                };
                return has_room.then_some(Task::Update(page, Reason::Moved));
            }
            requested.pop();
        }
        None
    }

    /// Whether a collection of the domain waits for updates.
    pub(crate) fn is_parked(&self, domain: u32) -> bool {
        self.dftl.as_ref().is_some_and(|dftl| dftl.instances[domain as usize].parked.is_some())
    }

    /// All pages of a domain's victim were moved. Where their entries are at home elsewhere, the collection is parked and
    /// the homes are asked for their updates. Returns whether it is.
    pub(crate) fn park(&mut self, domain: u32) -> bool {
        let Some(dftl) = self.dftl.as_mut().filter(|dftl| dftl.is_apart) else { return false };
        if dftl.instances[domain as usize].moved.is_empty() {
            return false;
        }
        let Some(job) = self.domains[domain as usize].job.take() else { return false };
        let mut awaits = Vec::new();
        while let Some(page) = dftl.instances[domain as usize].moved.pop() {
            let Updates { placed, landed } = dftl.updates[page as usize];
            if dftl.due[page as usize].moved {
                let home = page / dftl.pages;
                let requested = &mut dftl.instances[home as usize].requested;
                if !requested.contains(&page) {
                    requested.push(page);
                }
                dftl.call(home);
                awaits.push((page, placed + 1));
            } else if landed < placed {
                awaits.push((page, placed));
            }
        }
        dftl.instances[domain as usize].parked = Some(Parked { job, awaits });
        true
    }

    /// Takes up a collection that was parked, if its updates are in flash and nothing else is collected.
    pub(crate) fn unpark(&mut self, domain: u32) {
        if self.domains[domain as usize].job.is_none()
            && let Some(dftl) = &mut self.dftl
            && dftl.may_go_on(domain)
        {
            self.domains[domain as usize].job = dftl.instances[domain as usize].parked.take().map(|parked| parked.job);
        }
    }
}

impl Dftl {
    /// Whether the updates that a domain's victim waits for are in flash.
    fn may_go_on(&mut self, domain: u32) -> bool {
        let Some(parked) = &mut self.instances[domain as usize].parked else { return false };
        parked.awaits.retain(|&(page, count)| self.updates[page as usize].landed < count);
        parked.awaits.is_empty()
    }

    /// An entry is in the cache that was wanted: it is held for a write, or makes way for the next one.
    pub(super) fn has_come(&mut self, domain: u32, lpn: Lpn) {
        self.cache.insert(domain, lpn.0);
        let instance = &mut self.instances[domain as usize];
        instance.wanted = None;
        if self.is_apart && instance.for_write {
            instance.held = Some(lpn);
        } else {
            self.want_next(domain);
        }
    }

    /// No entry of the domain is wanted or held any more: that of a read which waited for this is wanted.
    pub(super) fn want_next(&mut self, domain: u32) {
        let next = self.instances[domain as usize].next.take().filter(|next| !self.cache.holds(next.0));
        if let Some(lpn) = next {
            self.want(lpn, false);
        }
    }

    /// Has the home of an entry get it for a write or a read, after what it does already.
    pub(super) fn want(&mut self, lpn: Lpn, for_write: bool) {
        let domain = self.domain_of(lpn);
        let instance = &mut self.instances[domain as usize];
        if instance.wanted.is_none() && instance.held.is_none() {
            (instance.wanted, instance.for_write) = (Some(lpn), for_write);
            self.figures.misses += 1;
            self.call(domain);
        } else if self.is_apart && !for_write && instance.wanted != Some(lpn) {
            instance.next.get_or_insert(lpn);
        }
    }

    /// The unit whose erase waits for updates elsewhere.
    pub(crate) fn parked_unit(&self, domain: u32) -> Option<u32> {
        self.instances[domain as usize].parked.as_ref().map(|parked| parked.job.unit)
    }

    /// Tells the executor of a domain that has something to do.
    pub(super) fn call(&mut self, domain: u32) {
        if self.is_apart && !self.called.contains(&domain) {
            self.called.push(domain);
        }
    }
}
