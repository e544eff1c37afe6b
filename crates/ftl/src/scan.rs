//! A scan of the array: the pages that it finds, and what their spare areas say.

use base::{Lpn, Ppn, Slot, Unit};

use crate::kernel::{PageKind, Spare};
use crate::ops::DataSource;

/// An array that can be scanned. It is asked for one unit at a time, so that no more of it is in memory.
pub trait Scan {
    /// A unit with all its slots.
    fn unit(&self, unit: Unit) -> Scanned;

    /// A single slot.
    fn page(&self, at: Ppn) -> PageFound;
}

/// A slot, as a scan finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFound {
    /// Not programmed since the last erase.
    Empty,
    /// Programmed, and not readable.
    Lost,
    /// A page with this spare area.
    Holds(u128),
    /// Guard levels of its wordline, which hold nothing.
    Guard,
}

/// A unit, as a scan finds it.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// True if its erase was interrupted.
    pub torn: bool,
    /// True if its blocks are marked as bad; then nothing is found in it.
    pub bad: bool,
    /// True if only its LSB pages are used.
    pub lsb_only: bool,
    /// How often it was erased.
    pub erases: u32,
    /// How often the most read of its blocks was read since, as far as the controller has kept count.
    pub reads: u32,
    /// Its slots, in order.
    pub pages: Vec<PageFound>,
}

/// The facts of a unit that are kept of a scan.
#[derive(Clone, Debug)]
pub(crate) struct UnitFound {
    pub(crate) torn: bool,
    pub(crate) bad: bool,
    pub(crate) lsb_only: bool,
    pub(crate) erases: u32,
    /// Slots that were programmed.
    pub(crate) used: u32,
    /// The last of them.
    pub(crate) last: Option<Slot>,
    /// When it was programmed last, as far as can be read; 0 if nothing can.
    pub(crate) order: u64,
    /// The spare area of the page that was programmed last and can be read.
    pub(crate) newest: Option<Spare>,
}

impl UnitFound {
    pub(crate) fn of(found: &Scanned) -> UnitFound {
        let spares = found.pages.iter().filter_map(|slot| spare_of(*slot));
        let order = |spare: Spare| if spare.kind == PageKind::Parity { 1 } else { spare.order };
        let last = found.pages.iter().rposition(|slot| *slot != PageFound::Empty);
        UnitFound {
            torn: found.torn,
            bad: found.bad,
            lsb_only: found.lsb_only,
            erases: found.erases,
            used: found.pages.iter().filter(|slot| **slot != PageFound::Empty).count() as u32,
            last: last.map(|last| Slot::new(last as u32)),
            order: spares.map(order).max().unwrap_or(0),
            newest: found.pages.iter().rev().find_map(|slot| spare_of(*slot)),
        }
    }
}

/// The spare area of a slot that can be read.
pub(crate) fn spare_of(slot: PageFound) -> Option<Spare> {
    match slot {
        PageFound::Holds(bits) => Spare::unpack(bits),
        PageFound::Empty | PageFound::Lost | PageFound::Guard => None,
    }
}

/// A page whose newest data are left as a backup only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rescue {
    /// The page.
    pub(crate) lpn: Lpn,
    /// Its backup, or a parity page and the page beside it.
    pub(crate) sources: Vec<Ppn>,
    pub(crate) write: u64,
    pub(crate) region: u8,
    pub(crate) stream: u8,
}

impl Rescue {
    /// Where its data come from.
    pub(crate) fn source(&self) -> DataSource {
        match self.sources[..] {
            [backup] => DataSource::Page(backup),
            [parity, other] => DataSource::Parity(parity, other),
            _ => unreachable!("a page is brought back from one page or from two"),
        }
    }
}
