//! The cache in a device state: its units that are full, and its fixed ones that are empty.

use std::slice;

use base::{Geometry, Slot};

use super::SlcCache;
use super::choices::CacheOptions;
use crate::Policies;
use crate::kernel::{Keeping, Kept, Kernel, Saved};

/// Bytes of what a state holds of it: a word for each unit.
pub(crate) fn bytes_of_state(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    CacheOptions::of(policies).map_or(0, |_| u64::from(geometry.units()) * 4)
}

impl SlcCache {
    /// Adds what a state holds of it.
    pub(super) fn save_units(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        let end = kernel.geometry().end_slot();
        for cache in &self.domains {
            let kept = |unit, filled| Kept { unit, how: Keeping::Aside, filled };
            saved.kept.extend(cache.full.iter().map(|&unit| kept(unit, end)));
            saved.kept.extend(cache.empty.iter().map(|&unit| kept(unit, Slot::FIRST)));
        }
        saved.of_mechanisms.extend(self.pages.iter().map(|pages| pages.map_or(0, u32::from)));
    }

    /// Takes over the units that a state says are kept. Nothing if they cannot be.
    pub(super) fn adopt_kept(
        &mut self,
        kernel: &Kernel,
        kept: &[Kept],
        words: &mut slice::Iter<'_, u32>,
    ) -> Option<()> {
        self.find_used(kernel);
        for (unit, pages) in kernel.geometry().all_units().zip(&mut self.pages) {
            let put_there = *words.next()?;
            if let Some(pages) = pages {
                let most = kernel.geometry().unit_slots();
                *pages = (kernel.valid_of(unit)..=most).contains(&put_there).then_some(put_there as u16)?;
            }
        }
        for &Kept { unit, filled, .. } in kept.iter().filter(|kept| kept.how == Keeping::Aside) {
            let domain = kernel.geometry().domain_of_unit(unit);
            if filled == Slot::FIRST {
                if !self.is_fixed(kernel, unit) || kernel.valid_of(unit) > 0 {
                    return None;
                }
                self.pages[unit.index()] = None;
                self.domains[domain.index()].empty.push(unit);
            } else {
                self.domains[domain.index()].full.push_back(unit);
            }
        }
        for domain in kernel.geometry().all_domains() {
            let used = kernel.geometry().units_of_domain(domain);
            let used = used.filter(|&unit| self.is_fixed(kernel, unit) && self.pages[unit.index()].is_some()).count();
            let cache = &mut self.domains[domain.index()];
            cache.fixed = (cache.empty.len() + used) as u32;
        }
        Some(())
    }
}
