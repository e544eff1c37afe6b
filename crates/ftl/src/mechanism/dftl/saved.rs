//! A map in flash in a device state: which entries are cached, in order of use, and which of them are newer than
//! their translation page. Updates that wait are in it too: for trims, and for pages that moved out of a victim that is not empty yet.
//!
//! A state is saved between operations, so nothing is wanted, in hand or parked. The translation pages themselves are
//! logical pages, which the kernel saves.

use base::{Domain, Lpn};

use super::cache::NONE;
use super::{Causes, Dftl};
use crate::kernel::Kernel;

/// Bytes of what a state holds of so many cached entries, and of so many domains.
pub(crate) fn bytes(entries: u64, domains: u64) -> u64 {
    entries * 8 + domains * 40
}

impl Dftl {
    /// The words of a device state besides the maps.
    pub(super) fn words(&self) -> Vec<u32> {
        let mut words = Vec::new();
        for (domain, instance) in self.all_domains().zip(&self.instances) {
            debug_assert!(instance.map_op.is_none() && instance.parked.is_none(), "saved between operations only");
            let due = |pages: &[u32], is_due: fn(Causes) -> bool| -> Vec<u32> {
                pages.iter().copied().filter(|&page| is_due(self.causes[page as usize])).collect()
            };
            let trimmed = due(&instance.trimmed, |causes| causes.trimmed);
            let moved = due(&instance.moved, |causes| causes.moved);
            words.extend([self.cache.order(domain).len, trimmed.len() as u32, instance.heard, moved.len() as u32]);
            let unreadable = due(&instance.unreadable, |causes| causes.trimmed);
            words.push(unreadable.len() as u32);
            words.push(u32::from(instance.carries) | u32::from(instance.is_paired) << 1);
            words.extend([instance.heard_at, instance.levelled].into_iter().flat_map(halves));
            let mut at = self.cache.order(domain).oldest;
            while at != NONE {
                let entry = self.cache.entry(at);
                words.extend([entry.lpn, u32::from(entry.is_dirty)]);
                at = self.cache.newer(at);
            }
            words.extend(trimmed);
            words.extend(unreadable);
            words.extend(moved);
        }
        words
    }

    /// Takes over what a device state holds, once the maps are there.
    ///
    /// # Errors
    /// If it is no such state.
    ///
    /// # Panics
    /// If anything is cached here already.
    pub(super) fn adopt_words(&mut self, kernel: &Kernel, words: &mut impl Iterator<Item = u32>) -> Result<(), String> {
        assert!(self.all_domains().all(|domain| self.cache.order(domain).len == 0), "a state comes first");
        for domain in self.all_domains() {
            self.adopt_domain(domain, words).ok_or("the cached mapping table")?;
            self.adopt_translation_pages(kernel, domain)?;
        }
        if let Some(contents) = &mut self.in_flash {
            // A dirty entry is newer than that; it is not looked at before it is written back.
            contents.iter_mut().zip(0..).for_each(|(said, lpn)| *said = kernel.lookup(Lpn(lpn)));
        }
        Ok(())
    }

    fn adopt_domain(&mut self, domain: Domain, words: &mut impl Iterator<Item = u32>) -> Option<()> {
        let [entries, trimmed, heard] = [words.next()?, words.next()?, words.next()?];
        let [moved, unreadable] = [words.next()?, words.next()?];
        let waits = words.next().filter(|&waits| waits < 4)?;
        let mut wide = || Some(u64::from(words.next()?) << 32 | u64::from(words.next()?));
        let (heard_at, levelled) = (wide()?, wide()?);
        for _ in 0..entries {
            let (lpn, dirty) = (Lpn(words.next()?), words.next()?);
            let is_own = lpn.0 < self.user_pages && self.owner_of(lpn) == domain && !self.cache.holds(lpn.0);
            if !is_own || dirty > 1 || self.cache.is_full(domain) {
                return None;
            }
            self.cache.insert(domain, lpn.0);
            if dirty == 1 {
                self.cache.make_dirty(self.cache.slot(lpn.0), self.page_of(lpn));
            }
        }
        for at in 0..trimmed.checked_add(unreadable)? {
            let page = words.next().filter(|&page| self.owner_of_page(page) == domain)?;
            self.causes[page as usize].trimmed = true;
            let instance = &mut self.instances[domain.index()];
            if at < trimmed { instance.trimmed.push(page) } else { instance.unreadable.push(page) }
        }
        for _ in 0..moved {
            // Pages may lie elsewhere than their entries.
            let is_known = |&page: &u32| (page as usize) < self.causes.len();
            let page = words.next().filter(is_known)?;
            if self.owner_of_page(page) != domain && !self.has_owners_elsewhere {
                return None;
            }
            self.causes[page as usize].moved = true;
            self.instances[domain.index()].moved.push(page);
        }
        let instance = &mut self.instances[domain.index()];
        (instance.heard, instance.heard_at, instance.levelled) = (heard, heard_at, levelled);
        (instance.carries, instance.is_paired) = (waits & 1 != 0, waits & 2 != 0);
        Some(())
    }

    /// Counts the translation pages that were never written, and finds the closed units of the others.
    fn adopt_translation_pages(&mut self, kernel: &Kernel, domain: Domain) -> Result<(), String> {
        let geometry = kernel.geometry();
        let mut unwritten = self.pages * self.parts;
        for (page, part) in self.pages_of(domain).flat_map(|page| self.parts_of(page).map(move |part| (page, part))) {
            let Some(at) = kernel.lookup(part) else { continue };
            if geometry.domain_of_unit(geometry.unit_of(at)) != domain {
                return Err(format!("translation page {page} of another plane"));
            }
            unwritten -= 1;
        }
        self.instances[domain.index()].unwritten = unwritten;
        self.find_closed(kernel, domain);
        Ok(())
    }
}

fn halves(word: u64) -> [u32; 2] {
    [(word >> 32) as u32, word as u32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::dftl::tests::dftl;
    use crate::sample::FIRST;

    #[test]
    fn a_cache_is_saved_in_order_of_use() {
        let mut saved = dftl();
        for lpn in [4, 1, 2, 0] {
            saved.cache.insert(saved.owner_of(Lpn(lpn)), lpn);
        }
        saved.cache.make_dirty(saved.cache.slot(2), saved.page_of(Lpn(2)));
        saved.instances[1].levelled = 1 << 40;
        saved.entry_moved(FIRST, 6);
        (saved.instances[0].carries, saved.instances[0].is_paired) = (true, true);
        let words = saved.words();
        let mut other = dftl();
        let mut rest = words.iter().copied();
        for domain in other.all_domains() {
            other.adopt_domain(domain, &mut rest).unwrap();
        }
        assert_eq!((other.words(), rest.next()), (words, None));
        assert!(other.cache.entry(other.cache.slot(2)).is_dirty);
        assert_eq!(other.instances[0].moved, [saved.page_of(Lpn(6))], "an update that waits for the end of a victim");
        assert!(other.causes[saved.page_of(Lpn(6)) as usize].moved);
    }

    #[test]
    fn what_cannot_be_cached_is_refused() {
        let domain = |entries: &[[u32; 2]], trimmed: &[u32], moved: &[u32]| {
            let mut words = vec![entries.len() as u32, trimmed.len() as u32, 0, moved.len() as u32, 0, 2, 0, 0, 0, 0];
            words.extend(entries.concat());
            words.extend(trimmed);
            words.extend(moved);
            dftl().adopt_domain(FIRST, &mut words.into_iter())
        };
        assert!(domain(&[[0, 0], [2, 1]], &[1], &[]).is_some());
        assert!(domain(&[[1, 0]], &[], &[]).is_none(), "an entry of the other plane");
        assert!(domain(&[[42, 0]], &[], &[]).is_none(), "a page that does not exist");
        assert!(domain(&[[0, 0], [0, 0]], &[], &[]).is_none(), "an entry twice");
        assert!(domain(&[[0, 2]], &[], &[]).is_none(), "neither clean nor dirty");
        assert!(domain(&[[0, 0], [2, 0], [4, 0], [6, 0]], &[], &[]).is_none(), "more than the cache holds");
        assert!(domain(&[], &[200], &[]).is_none(), "a translation page that does not exist");
        assert!(domain(&[], &[], &[1]).is_some());
        assert!(domain(&[], &[], &[200]).is_none(), "an update of a page that does not exist");
        assert!(dftl().adopt_domain(FIRST, &mut [3, 0, 0].into_iter()).is_none(), "too short");
    }
}
