//! Parts that mechanisms have where they want to hear of the rest of the device: pages that are read, the time, the fill of the
//! write buffer. And what a mechanism has a domain do for another.

use base::{Domain, Instant, Lpn, Ppn};

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

    /// The executor reads pages of the array, whatever for: one, or some of this many that follow each other in a block which is a unit,
    /// until one calls for work of a domain that [`Elsewhere::take_woken`] names. Returns how many.
    #[inline]
    pub fn read(self, ftl: &mut Ftl, first: Ppn, most: u32) -> u32 {
        let page = ftl.with_mechanisms_mut();
        page.mechanisms.parts_mut().reads.expect(COUNTS).pages_read(&mut page.kernel, first, most)
    }
}

/// Reads by what ECC made of them, since data whose reads need much are to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedReads(());

impl JudgedReads {
    pub(super) fn of(ftl: &Ftl) -> Option<JudgedReads> {
        ftl.page()?.mechanisms.parts().refresh.map(|_| JudgedReads(()))
    }

    /// A page of the array was read, whatever for, and needed so many retries. Work that this calls for is a domain's that
    /// [`Elsewhere::take_woken`] names.
    pub fn read(self, ftl: &mut Ftl, at: Ppn, retries: u32) {
        let page = ftl.with_mechanisms_mut();
        if let Some(refresh) = page.mechanisms.parts_mut().refresh {
            refresh.page_read(&page.kernel, at, retries);
        }
    }

    /// Has what is due by now be found. Returns the instant at which to ask again, whether anything else happens then or
    /// not. Whoever does not ask any more has nothing become due by age or patrol.
    pub fn find_due(self, ftl: &mut Ftl, now: Instant) -> Option<Instant> {
        let page = ftl.with_mechanisms_mut();
        if page.mechanisms.parts_mut().refresh?.comes_to(now) {
            let busy: Vec<bool> = page.kernel.geometry().all_domains().map(|domain| page.is_busy(domain)).collect();
            page.mechanisms.parts_mut().refresh?.find_due(&mut page.kernel, &busy);
        }
        page.mechanisms.parts().refresh?.next()
    }
}

/// Reads of the host, which a map in flash or a count of reads hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostReads(());

impl HostReads {
    pub(super) fn of(ftl: &Ftl) -> Option<HostReads> {
        let parts = ftl.page()?.mechanisms.parts();
        (parts.map.is_some() || parts.reads.is_some()).then_some(HostReads(()))
    }

    /// The host reads a page, by its map entry and wherever it is.
    #[inline]
    pub fn read(self, ftl: &mut Ftl, lpn: Lpn) {
        let parts = ftl.with_mechanisms_mut().mechanisms.parts_mut();
        if let Some(map) = parts.map {
            map.used(lpn);
        }
        if let Some(reads) = parts.reads {
            reads.host_read();
        }
    }
}

/// The time, which a mechanism wants to know, and perhaps the fill of the write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// True if the fill of the write buffer is asked for as well.
    pub asks_fill: bool,
}

impl Time {
    pub(super) fn of(ftl: &Ftl) -> Option<Time> {
        let page = ftl.page()?;
        let asks_fill = page.mechanisms.parts().load.is_some_and(|load| load.selects());
        (page.hears_of_time || asks_fill).then_some(Time { asks_fill })
    }

    /// Tells the time and, if that has changed and is asked for, how much of the write buffer is full, of 1. Returns a sample of the
    /// workload's locality, when one is taken.
    #[inline]
    pub fn tell(self, ftl: &mut Ftl, now: Instant, fill: Option<f64>) -> Option<f64> {
        let page = ftl.with_mechanisms_mut();
        let sample = page.mechanisms.tell(&mut page.kernel, now);
        if let Some(fill) = fill
            && let Some(load) = page.mechanisms.parts_mut().load
        {
            load.tell_fill(&mut page.kernel, now, fill);
        }
        sample
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
