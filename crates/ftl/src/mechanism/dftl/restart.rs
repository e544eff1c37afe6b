//! After a failed program, and after a power cut.
//!
//! The map is in the spare areas of the data, too: from there a restart has it, and a translation page can be made again that
//! was lost. The cache begins empty. What the translation pages said that are found is not known, so each that has entries in
//! use is updated in time, as after a trim; nothing of a victim waits for it.

use base::{Domain, Lpn};

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

    /// A translation page is lost.
    pub(crate) fn translation_page_lost(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        let page = lpn.0 - self.user_pages;
        let entries = self.entries_of(page);
        if let Some(contents) = &mut self.in_flash {
            entries.for_each(|entry| contents[entry.index()] = None);
        }
        self.ask_for_update(page);
        self.wake(kernel, self.owner_of_page(page));
    }

    /// A restart found a page of the host, or a translation page.
    pub(super) fn adopt_found(&mut self, lpn: Lpn) {
        let page = if self.is_translation(lpn.0) { lpn.0 - self.user_pages } else { self.page_of(lpn) };
        if self.is_translation(lpn.0) {
            let owner = self.owner_of_page(page);
            self.instances[owner.index()].unwritten -= 1;
        }
        self.ask_for_update(page);
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
