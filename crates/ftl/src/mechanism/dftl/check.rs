//! The controller's knowledge of the map is checked against the map.

use super::Dftl;
use super::cache::NONE;
use crate::kernel::Kernel;
use crate::victim::UnitState;

impl Dftl {
    /// Checks cache, directory and translation pages against the map.
    pub(super) fn check_state(&self, kernel: &Kernel) -> Result<(), String> {
        self.check_cache()?;
        self.check_entries(kernel)?;
        self.check_translation_units(kernel)
    }

    /// An entry is in the cache, or its translation page in flash has it, or will before the victim is erased.
    fn check_entries(&self, kernel: &Kernel) -> Result<(), String> {
        for lpn in (0..self.user_pages).map(base::Lpn) {
            let page = self.page_of(lpn);
            let (slot, due) = (self.cache.slot(lpn.0), self.causes[page as usize]);
            if due.moved || due.trimmed || slot != NONE && self.cache.entry(slot).is_dirty {
                continue;
            }
            let is_in_flash = kernel.is_mapped(self.lpn_of(page));
            let now = kernel.lookup(lpn);
            if !is_in_flash && now.is_some() {
                return Err(format!("LPN {} is mapped to {now:?}, and no translation page knows of it", lpn.0));
            }
            if let Some(contents) = &self.in_flash
                && is_in_flash
                && contents[lpn.index()] != now
            {
                let said = contents[lpn.index()];
                return Err(format!("LPN {} is mapped to {now:?}, and its translation page says {said:?}", lpn.0));
            }
        }
        Ok(())
    }

    /// Translation pages and data lie in units of their own, each translation page as a whole, and the closed units of translation
    /// pages are known.
    fn check_translation_units(&self, kernel: &Kernel) -> Result<(), String> {
        if let Some(page) = (0..self.causes.len() as u32).find(|&page| !self.is_whole(kernel, page)) {
            let at: Vec<_> = self.parts_of(page).map(|part| kernel.lookup(part)).collect();
            return Err(format!("translation page {page} lies in parts, at {at:?}"));
        }
        for ppn in (0..kernel.geometry().pages() as u32).map(base::Ppn) {
            let Some(lpn) = kernel.lpn_at(ppn) else { continue };
            let unit = kernel.geometry().unit_of(ppn);
            if self.is_translation(lpn.0) != kernel.holds_map(unit) {
                return Err(format!("LPN {} lies in unit {unit}, of the other kind of pages", lpn.0));
            }
        }
        for (domain, instance) in self.all_domains().zip(&self.instances) {
            let mut closed = kernel.scan(domain).in_state(UnitState::Closed).filter(|&unit| kernel.holds_map(unit));
            if let Some(unit) = closed.find(|unit| !instance.closed.contains(unit)) {
                return Err(format!("domain {domain} has forgotten the closed unit {unit} of translation pages"));
            }
            let mut pages = self.pages_of(domain);
            let knows_of_move = |page: u32| match self.has_owners_elsewhere {
                true => {
                    instance.requested.contains(&page) || self.instances.iter().any(|other| other.moved.contains(&page))
                }
                false => instance.moved.contains(&page),
            };
            if let Some(page) = pages.find(|&page| {
                let due = self.causes[page as usize];
                due.moved && !knows_of_move(page)
                    || due.trimmed && !instance.trimmed.contains(&page) && !instance.unreadable.contains(&page)
            }) {
                return Err(format!("domain {domain} has forgotten to update translation page {page}"));
            }
        }
        Ok(())
    }

    /// The cache's lists hold just its entries.
    fn check_cache(&self) -> Result<(), String> {
        let mut dirty = 0;
        for domain in self.all_domains() {
            let (mut at, mut count) = (self.cache.order(domain).oldest, 0);
            while at != NONE {
                let entry = self.cache.entry(at);
                if self.cache.slot(entry.lpn) != at || self.owner_of(base::Lpn(entry.lpn)) != domain {
                    return Err(format!("domain {domain} caches LPN {} in slot {at} by mistake", entry.lpn));
                }
                dirty += u32::from(entry.is_dirty);
                count += 1;
                at = self.cache.newer(at);
            }
            if count != self.cache.order(domain).len || count > self.cache.capacity {
                return Err(format!("domain {domain} caches {count} entries, of {}", self.cache.order(domain).len));
            }
        }
        let held = (0..self.user_pages).filter(|&lpn| self.cache.holds(lpn)).count();
        let cached: usize = self.all_domains().map(|domain| self.cache.order(domain).len as usize).sum();
        if held != cached {
            return Err(format!("{held} entries are found in the cache, which has {cached}"));
        }
        let mut listed = 0;
        for page in 0..self.causes.len() as u32 {
            let mut at = self.cache.first_dirty(page);
            while at != NONE {
                let entry = self.cache.entry(at);
                if !entry.is_dirty || self.page_of(base::Lpn(entry.lpn)) != page {
                    return Err(format!("LPN {} is among the dirty entries of page {page} by mistake", entry.lpn));
                }
                listed += 1;
                at = self.cache.next_dirty(at);
            }
        }
        if listed != dirty {
            return Err(format!("{dirty} entries are dirty and {listed} are known to be"));
        }
        Ok(())
    }
}
