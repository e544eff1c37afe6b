//! After a failed program, and after a power cut.
//!
//! The map is in the spare areas of the data, too: from there a restart has it, and a translation page can be made again that
//! was lost. The cache begins empty. What the translation pages said that are found is not known, so each that has entries in
//! use is updated in time, as after a trim; nothing of a victim waits for it.

use base::{Domain, Lpn, Ppn};

use super::Dftl;
use crate::kernel::Kernel;
use crate::victim::UnitState;

impl Dftl {
    /// A page was written anew elsewhere: its entry changes.
    pub(super) fn entry_rewritten(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        if !self.is_translation(lpn.0) {
            self.entry_trimmed(kernel, lpn);
        }
    }

    /// True if a translation page is several logical pages.
    pub(crate) fn has_parts(&self) -> bool {
        self.parts > 1
    }

    /// The logical pages of the translation page of which one is a part.
    pub(crate) fn parts_with(&self, part: Lpn) -> impl Iterator<Item = Lpn> + use<> {
        self.parts_of(self.page_with(part))
    }

    /// A translation page is lost.
    pub(crate) fn translation_page_lost(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        let page = self.page_with(lpn);
        let entries = self.entries_of(page);
        if let Some(contents) = &mut self.in_flash {
            entries.for_each(|entry| contents[entry.index()] = None);
        }
        self.ask_for_update(page);
        self.wake(kernel, self.owner_of_page(page));
    }

    /// A restart found a page of the host, or a translation page.
    pub(super) fn adopt_found(&mut self, lpn: Lpn) {
        let page = if self.is_translation(lpn.0) { self.page_with(lpn) } else { self.page_of(lpn) };
        if self.is_translation(lpn.0) {
            let owner = self.owner_of_page(page);
            self.instances[owner.index()].unwritten -= 1;
        }
        self.ask_for_update(page);
    }

    /// Forgets translation pages of which the power cut has left a part, and the older version of another.
    pub(super) fn forget_torn_pages(&mut self, kernel: &mut Kernel) {
        for page in 0..self.causes.len() as u32 {
            if self.is_whole(kernel, page) {
                continue;
            }
            let left = self.parts_of(page).filter(|&part| kernel.forget(part).is_some()).count() as u32;
            let owner = self.owner_of_page(page);
            self.instances[owner.index()].unwritten += left;
            self.translation_page_lost(kernel, self.lpn_of(page));
        }
    }

    /// True if the parts of a translation page lie beside each other as they were programmed, or nowhere.
    pub(super) fn is_whole(&self, kernel: &Kernel, page: u32) -> bool {
        let first = kernel.lookup(self.lpn_of(page));
        let place = |part: usize| first.map(|Ppn(at)| Ppn(at + part as u32));
        first.is_none_or(|Ppn(at)| at.is_multiple_of(self.parts))
            && self.parts_of(page).enumerate().all(|(at, part)| kernel.lookup(part) == place(at))
    }

    /// Finds the closed units of translation pages.
    pub(super) fn find_closed(&mut self, kernel: &Kernel, domain: Domain) {
        let closed = kernel.scan(domain).in_state(UnitState::Closed).filter(|&unit| kernel.holds_map(unit));
        self.instances[domain.index()].closed.extend(closed);
    }
}

#[cfg(test)]
mod tests {
    use base::Lpn;

    use crate::mechanism::dftl::tests::dftl;

    #[test]
    fn translation_pages_that_are_found_or_have_entries_in_use_are_updated_once() {
        let mut dftl = dftl();
        // Pages 0 to 5 are of the first plane, whose LPNs are even.
        for lpn in [0, 2, 9, 42 + 3, 42] {
            dftl.adopt_found(Lpn(lpn));
        }
        let of_plane = |plane: usize| (dftl.instances[plane].trimmed.clone(), dftl.instances[plane].unwritten);
        assert_eq!((of_plane(0), of_plane(1)), ((vec![0, 3], 4), (vec![7], 6)));
    }
}
