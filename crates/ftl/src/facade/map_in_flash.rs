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

    /// The domain that has to get the map entry of a page before it can be read; `None`: it is in DRAM, or there is none.
    #[inline]
    pub fn missing(self, ftl: &Ftl, lpn: Lpn) -> Option<Domain> {
        let (map, kernel) = Self::map(ftl);
        if map.is_known(kernel, lpn) { None } else { Some(map.owner_of(lpn)) }
    }

    /// Has the owner of a map entry get it for a read. Returns that domain, if the entry is not at hand.
    #[inline]
    pub fn prepare_read(self, ftl: &mut Ftl, lpn: Lpn) -> Option<Domain> {
        let (map, kernel) = Self::map_mut(ftl);
        if map.is_known(kernel, lpn) { None } else { Some(map.want(kernel, lpn, false)) }
    }

    /// Has the owner of a map entry get it for a write, if that takes no operation. Returns whether it is at hand; if not,
    /// the owner has something to do first.
    #[inline]
    pub fn prepare_write(self, ftl: &mut Ftl, lpn: Lpn) -> bool {
        ftl.with_mechanisms_mut().prepare_entry(lpn)
    }

    /// The page of [`Op::Read`](crate::Op::Read) was read. Returns the page whose entry came.
    pub fn fetched(self, ftl: &mut Ftl, domain: Domain) -> Lpn {
        let (map, kernel) = Self::map_mut(ftl);
        map.fetched(kernel, domain)
    }
}
