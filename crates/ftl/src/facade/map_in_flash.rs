//! A map in flash (DFTL), as a part: an entry may have to be read before its page is, and written after.

use base::{Domain, Lpn};

use super::Ftl;
use crate::kernel::Kernel;
use crate::mechanism::{Mechanisms as _, dftl::Dftl};

/// A map in flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapInFlash {
    /// True if entries are in the domain that owns them, wherever their pages are; else each is in the domain of its page.
    pub has_owners: bool,
}

const MAP: &str = "a map in flash";

impl MapInFlash {
    pub(super) fn of(ftl: &Ftl) -> Option<MapInFlash> {
        let map = ftl.page()?.mechanisms.parts().map?;
        Some(MapInFlash { has_owners: map.has_owners() })
    }

    fn map(ftl: &Ftl) -> (&Dftl, &Kernel) {
        let page = ftl.with_mechanisms();
        (page.mechanisms.parts().map.expect(MAP), &page.kernel)
    }

    fn map_mut(ftl: &mut Ftl) -> (&mut Dftl, &mut Kernel) {
        let page = ftl.with_mechanisms_mut();
        (page.mechanisms.parts_mut().map.expect(MAP), &mut page.kernel)
    }

    /// True if the map entry of a page can be read: it is in DRAM, or there is none.
    #[inline]
    pub fn is_known(self, ftl: &Ftl, lpn: Lpn) -> bool {
        let (map, kernel) = Self::map(ftl);
        map.is_known(kernel, lpn)
    }

    /// The domain that owns the map entry of a page.
    #[inline]
    pub fn owner_of(self, ftl: &Ftl, lpn: Lpn) -> Domain {
        Self::map(ftl).0.owner_of(lpn)
    }

    /// Has the owner of a map entry get it for a read. Returns whether it is at hand.
    #[inline]
    pub fn prepare_read(self, ftl: &mut Ftl, lpn: Lpn) -> bool {
        let (map, kernel) = Self::map_mut(ftl);
        let is_known = map.is_known(kernel, lpn);
        if !is_known {
            map.want(kernel, lpn, false);
        }
        is_known
    }

    /// Has the owner of a map entry get it for a write, if that takes no operation. Returns whether it is at hand; if not,
    /// the owner has something to do first.
    #[inline]
    pub fn prepare_write(self, ftl: &mut Ftl, lpn: Lpn) -> bool {
        ftl.with_mechanisms_mut().prepare_entry(lpn)
    }

    /// The host reads a page by its entry.
    #[inline]
    pub fn used(self, ftl: &mut Ftl, lpn: Lpn) {
        Self::map_mut(ftl).0.used(lpn);
    }

    /// The page of [`Op::Read`](crate::Op::Read) was read. Returns the page whose entry came.
    pub fn fetched(self, ftl: &mut Ftl, domain: Domain) -> Lpn {
        let (map, kernel) = Self::map_mut(ftl);
        map.fetched(kernel, domain)
    }

    /// The page that a domain combined is in flash: if that is a page of the map, its entries are safe.
    pub fn committed(self, ftl: &mut Ftl, domain: Domain) {
        let (map, kernel) = Self::map_mut(ftl);
        map.update_committed(kernel, domain);
    }
}
