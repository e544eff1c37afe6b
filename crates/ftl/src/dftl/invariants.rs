//! What the controller knows of the map against the map.

use super::Dftl;
use crate::layer::{Ftl, NONE};
use crate::victim::UnitState;

impl Ftl {
    /// Checks cache, directory and translation pages against the map; nothing where the map is in DRAM.
    pub(crate) fn check_translation(&self) -> Result<(), String> {
        let Some(dftl) = &self.dftl else { return Ok(()) };
        dftl.check_cache()?;
        self.check_entries(dftl)?;
        self.check_translation_units(dftl)
    }

    /// An entry is in the cache, or its translation page in flash has it, or will before the victim is erased.
    fn check_entries(&self, dftl: &Dftl) -> Result<(), String> {
        for lpn in (0..dftl.user_pages).map(base::Lpn) {
            let page = dftl.page_of(lpn);
            let (slot, due) = (dftl.cache.slot(lpn.0), dftl.due[page as usize]);
            if due.moved || due.trimmed || slot != NONE && dftl.cache.entry(slot).is_dirty {
                continue;
            }
            let is_in_flash = self.map[dftl.lpn_of(page).index()] != NONE;
            let now = self.map[lpn.index()];
            if !is_in_flash && now != NONE {
                return Err(format!("LPN {} is mapped to {now}, and no translation page knows of it", lpn.0));
            }
            if let Some(contents) = &dftl.in_flash
                && is_in_flash
                && contents[lpn.index()] != now
            {
                let said = contents[lpn.index()];
                return Err(format!("LPN {} is mapped to {now}, and its translation page says {said}", lpn.0));
            }
        }
        Ok(())
    }

    /// Translation pages and data lie in units of their own, and the closed ones of translation pages are known.
    fn check_translation_units(&self, dftl: &Dftl) -> Result<(), String> {
        let slots = self.geometry.unit_slots();
        for (ppn, &lpn) in self.reverse.iter().enumerate().filter(|&(_, &lpn)| lpn != NONE) {
            let unit = ppn as u32 / slots;
            if dftl.is_translation(lpn) != self.is_translation_unit(unit) {
                return Err(format!("LPN {lpn} lies in unit {unit}, of the other kind of pages"));
            }
        }
        for (domain, instance) in dftl.instances.iter().enumerate() {
            let units = self.geometry.units_per_domain();
            let mut known = instance.closed.clone();
            known.sort_unstable();
            let closed: Vec<u32> = (domain as u32 * units..(domain as u32 + 1) * units)
                .filter(|&unit| self.units[unit as usize].state == UnitState::Closed && self.is_translation_unit(unit))
                .collect();
            if closed != known {
                return Err(format!("domain {domain} has closed translation units {closed:?} and knows of {known:?}"));
            }
            let mut pages = domain as u32 * dftl.pages..(domain as u32 + 1) * dftl.pages;
            let knows_of_move = |page: u32| match dftl.is_apart {
                true => {
                    instance.requested.contains(&page) || dftl.instances.iter().any(|other| other.moved.contains(&page))
                }
                false => instance.moved.contains(&page),
            };
            if let Some(page) = pages.find(|&page| {
                let due = dftl.due[page as usize];
                due.moved && !knows_of_move(page) || due.trimmed && !instance.trimmed.contains(&page)
            }) {
                return Err(format!("domain {domain} has forgotten to update translation page {page}"));
            }
        }
        Ok(())
    }
}

impl Dftl {
    /// The cache's lists hold just its entries.
    fn check_cache(&self) -> Result<(), String> {
        let mut dirty = 0;
        for domain in 0..self.domains.divisor() {
            let (mut at, mut count) = (self.cache.order(domain).oldest, 0);
            while at != NONE {
                let entry = self.cache.entry(at);
                if self.cache.slot(entry.lpn) != at || self.domain_of(base::Lpn(entry.lpn)) != domain {
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
        let cached: usize = (0..self.domains.divisor()).map(|domain| self.cache.order(domain).len as usize).sum();
        if held != cached {
            return Err(format!("{held} entries are found in the cache, which has {cached}"));
        }
        let mut listed = 0;
        for page in 0..self.due.len() as u32 {
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
