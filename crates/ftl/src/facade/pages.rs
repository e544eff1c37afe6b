//! Page mapping, as a part: its pages leave spare areas from which everything is found again. Hybrid mapping's do not.

use base::{Domain, Lpn, Ppn, Unit};

use super::{Ftl, InForce};
use crate::kernel::Saved;
use crate::ops::{DataSource, Placed, Rewriter};
use crate::{OutOfMemory, Policies};

/// Page mapping, with mechanisms or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMapping(());

impl PageMapping {
    pub(super) fn of(ftl: &Ftl) -> Option<PageMapping> {
        (!matches!(ftl.mapping, InForce::Fast(_))).then_some(PageMapping(()))
    }

    /// Places a dummy page in an active block, whatever the domain does: its wordline is to be complete. `None`: the unit is no active
    /// block.
    pub fn fill(self, ftl: &mut Ftl, domain: Domain, unit: Unit) -> Option<Placed> {
        of_pages!(&mut ftl.mapping, page => page.pad_unit(domain, unit))
    }

    /// A die has programmed a page of the host or of the map, or gives up what failed: what the map says of its entries is safe.
    /// Returns the unit of the version that it superseded, if that was told.
    #[inline]
    pub fn programmed(self, ftl: &mut Ftl, at: Ppn) -> Option<Unit> {
        of_pages!(&mut ftl.mapping, page => page.programmed(at))
    }

    /// Deals with the failed program of a page: of a host page, or of a copy of another page.
    pub fn repair(self, ftl: &mut Ftl, at: Ppn, copied_from: Option<Ppn>, array: &mut impl Rewriter) {
        of_pages!(&mut ftl.mapping, page => page.repair(at, copied_from.map_or(DataSource::Controller, DataSource::Page), array));
    }

    /// The data of a page of the host, of the write of that number, are known to be lost: what is left of it is older.
    pub fn lose(self, ftl: &mut Ftl, lpn: Lpn, write: u64) {
        of_pages!(&mut ftl.mapping, page => page.lose_page(lpn, write))
    }

    /// The number of the newest write ([`crate::write_of`]).
    pub fn newest_write(self, ftl: &Ftl) -> u64 {
        of_pages!(&ftl.mapping, page => page.kernel.numbers().0)
    }

    /// True if the device takes no more pages, because too many blocks have failed.
    #[inline]
    pub fn is_read_only(self, ftl: &Ftl) -> bool {
        of_pages!(&ftl.mapping, page => page.is_read_only())
    }

    /// Map, units and wear, for a state file.
    ///
    /// # Panics
    /// If a collection is in progress.
    pub fn save(self, ftl: &Ftl) -> Saved<'_> {
        of_pages!(&ftl.mapping, page => page.save())
    }

    /// Takes over the saved state that `read` gives, then makes all policies anew as [`Ftl::renew_policies`] does. The maps'
    /// memory is let go of first, so that a large device is not in memory twice.
    ///
    /// # Errors
    /// The error of `read`, or that the maps do not fit in memory: either leaves the FTL without maps. Inside: what of the
    /// mechanisms' own part is not theirs.
    ///
    /// # Panics
    /// If the state is of another shape; the reader of state files checks that first. Under a map in flash, if this is not
    /// as new.
    pub fn restore<E: From<OutOfMemory>>(
        self,
        ftl: &mut Ftl,
        read: impl FnOnce() -> Result<Saved<'static>, E>,
        policies: &Policies<'_>,
        seed: u64,
    ) -> Result<Result<(), String>, E> {
        of_pages!(&mut ftl.mapping, page => page.restore(read, policies, seed))
    }
}
