//! After a failed program, and after a power cut.
//!
//! The map is in the spare areas of the data, too: from there a restart has it, and a translation page can be made again that
//! was lost. The cache begins empty. What the translation pages said that are found is not known, so each that has entries in
//! use is updated in time, as after a trim; nothing of a victim waits for it.

use base::{Domain, Lpn, Ppn};

use super::{Dftl, MapOp};
use crate::group::Group;
use crate::kernel::Kernel;
use crate::ops::Step;
use crate::victim::UnitState;

impl Dftl {
    /// A page was written anew elsewhere: its entry changes.
    pub(super) fn entry_rewritten(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        if !self.is_translation(lpn.0) {
            self.entry_trimmed(kernel, lpn);
        }
    }

    /// The read of the translation page that a read of the host waits for, on a device that takes no more pages. The oldest entry that is
    /// in flash makes way; if there is none, the new one is used once.
    pub(crate) fn fetch_at_the_end(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<Step> {
        let lpn = self.instances[domain.index()].wanted?;
        if self.cache.is_full(domain)
            && let Some(clean) = self.cache.oldest_clean(domain)
        {
            self.cache.evict(domain, clean);
        }
        let page = self.page_of(lpn);
        if !kernel.is_mapped(self.lpn_of(page)) {
            self.has_come(kernel, domain, lpn);
            return None;
        }
        self.instances[domain.index()].map_op = Some(MapOp::Fetch(page));
        self.step_in_hand(kernel, domain, group)
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
    pub(crate) fn translation_page_lost(&mut self, lpn: Lpn) {
        let page = self.page_with(lpn);
        self.forget_contents(page);
        if !std::mem::replace(&mut self.causes[page as usize].trimmed, true) {
            let owner = self.owner_of_page(page);
            self.instances[owner.index()].unreadable.push(page);
        }
    }

    /// It is not known what a translation page says.
    fn forget_contents(&mut self, page: u32) {
        let entries = self.entries_of(page);
        if let Some(contents) = &mut self.in_flash {
            entries.for_each(|entry| contents[entry.index()] = None);
        }
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
            self.forget_contents(page);
            self.ask_for_update(page);
            self.wake(kernel, owner);
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
    use base::{Cell, Dimensions, Geometry, Lpn};

    use crate::group::Group;
    use crate::mechanism::Mechanisms;
    use crate::mechanism::dftl::tests::dftl;
    use crate::mechanism::dftl::{MapOp, Reason};
    use crate::ops::Op;
    use crate::sample::{self, FIRST};

    #[test]
    fn a_read_only_device_fetches_entries_and_keeps_those_that_are_in_no_translation_page() {
        let geometry = Geometry::new(Dimensions { blocks_per_plane: 16, pages_per_block: 4, ..Dimensions::ONE_PAGE });
        let policies = sample::policies(&[("mapping", "dftl", &[("cache", base::ParamValue::Size(16))])], Cell::Slc);
        let (mut kernel, mut all) = sample::kernel(geometry, 6, &policies);
        let map = all.parts_mut().map.expect("a map in flash");
        map.instances[0].map_op = Some(MapOp::Update(0, Reason::Trimmed));
        let at = map.update(&mut kernel, FIRST).place.at;
        map.programmed(&mut kernel, at);
        for lpn in [0, 1] {
            map.cache.insert(FIRST, lpn);
            map.cache.make_dirty(map.cache.slot(lpn), 0);
        }
        let mut group = Group::EMPTY;
        for lpn in [2, 3].map(Lpn) {
            assert!(!map.is_known(&kernel, lpn));
            map.want(&mut kernel, lpn, false);
            let step = map.fetch_at_the_end(&mut kernel, FIRST, &mut group).expect("a fetch");
            assert_eq!((step.op, group.pages()), (Op::Read, &[at][..]));
            map.fetched(&mut kernel, FIRST);
            assert!(map.is_known(&kernel, lpn) && !map.holds_entry(lpn), "no dirty entry makes way");
            assert!([0, 1].iter().all(|&lpn| map.holds_entry(Lpn(lpn))));
        }
        map.cache.clean(0);
        map.want(&mut kernel, Lpn(4), false);
        map.fetch_at_the_end(&mut kernel, FIRST, &mut group).expect("a fetch");
        map.fetched(&mut kernel, FIRST);
        assert_eq!([0, 1, 4].map(|lpn| map.holds_entry(Lpn(lpn))), [false, true, true]);
        assert_eq!(map.fetch_at_the_end(&mut kernel, FIRST, &mut group), None, "nothing is wanted");
    }

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
