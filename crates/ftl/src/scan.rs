//! A scan of the array: the pages that it finds, and what their spare areas say.

use base::{Lpn, Ppn};

use crate::ops::DataSource;

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
    /// True if only its LSB pages are used.
    pub lsb_only: bool,
    /// How often it was erased.
    pub erases: u32,
    /// How often the most read of its blocks was read since, as far as the controller has kept count.
    pub reads: u32,
    /// Its slots, in order.
    pub pages: Vec<PageFound>,
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
