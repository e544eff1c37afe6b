//! Parts that mechanisms have where they want to hear of the rest of the device: pages that are read, the time, the fill of the
//! write buffer. And what a mechanism has a domain do for another.

use base::{Domain, Instant, Ppn};

use super::Ftl;
use crate::kernel::Kernel;
use crate::mechanism::{Agenda as _, Mechanisms as _, disturb::Disturb};

/// Reads that are counted, since they disturb other pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedReads(());

const COUNTS: &str = "reads that are counted";

impl CountedReads {
    pub(super) fn of(ftl: &Ftl) -> Option<CountedReads> {
        ftl.page()?.mechanisms.parts().reads.map(|_| CountedReads(()))
    }

    fn counts(ftl: &Ftl) -> (&Disturb, &Kernel) {
        let page = ftl.with_mechanisms();
        (page.mechanisms.parts().reads.expect(COUNTS), &page.kernel)
    }

    /// True if a page of the array may be read for the host now; if not, it has to move first, and its domain has something to
    /// do.
    #[inline]
    pub fn may_read(self, ftl: &Ftl, at: Ppn) -> bool {
        let (counts, kernel) = Self::counts(ftl);
        counts.may_read(kernel, at)
    }

    /// The executor reads a page of the array, whatever for. Work that this calls for is a domain's that
    /// [`Elsewhere::take_woken`] names.
    #[inline]
    pub fn read(self, ftl: &mut Ftl, at: Ppn) {
        ftl.with_mechanisms_mut().page_read(at);
    }

    /// The host reads a page, wherever that is.
    #[inline]
    pub fn host_reads(self, ftl: &mut Ftl) {
        ftl.with_mechanisms_mut().mechanisms.parts_mut().reads.expect(COUNTS).host_read();
    }
}

/// The time, which a mechanism wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(());

impl Time {
    pub(super) fn of(ftl: &Ftl) -> Option<Time> {
        ftl.page().filter(|page| page.hears_of_time).map(|_| Time(()))
    }

    /// Tells the time. Returns a sample of the workload's locality, when one is taken.
    #[inline]
    pub fn tell(self, ftl: &mut Ftl, now: Instant) -> Option<f64> {
        let page = ftl.with_mechanisms_mut();
        page.mechanisms.tell(&mut page.kernel, now)
    }
}

/// The fill of the write buffer, which a mechanism wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferFill(());

impl BufferFill {
    pub(super) fn of(ftl: &Ftl) -> Option<BufferFill> {
        ftl.page()?.mechanisms.parts().load.filter(|load| load.selects()).map(|_| BufferFill(()))
    }

    /// From now on so much of the write buffer is full, of 1.
    #[inline]
    pub fn tell(self, ftl: &mut Ftl, now: Instant, fill: f64) {
        let page = ftl.with_mechanisms_mut();
        page.mechanisms.parts_mut().load.expect("a load that is looked at").tell_fill(&mut page.kernel, now, fill);
    }
}

/// Work of a domain that calls for work of others, which a mechanism brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere(());

impl Elsewhere {
    pub(super) fn of(ftl: &Ftl) -> Option<Elsewhere> {
        ftl.page().map(|_| Elsewhere(()))
    }

    /// Domains whose collection began along with another's since the last call, in the order of beginning.
    #[inline]
    pub fn take_along(self, ftl: &mut Ftl) -> impl Iterator<Item = Domain> + use<> {
        std::mem::take(&mut ftl.with_mechanisms_mut().early).into_iter()
    }

    /// A domain that has something to do because of another one, or may go on, since it was last named.
    #[inline]
    pub fn take_woken(self, ftl: &mut Ftl) -> Option<Domain> {
        ftl.with_mechanisms_mut().kernel.take_woken()
    }
}
