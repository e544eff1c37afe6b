//! The spare area of a page: a restart needs nothing else.
//!
//! 128 bits, from the lowest: LPN (32), the number of the write that the data are from (40), when the page was
//! programmed (40), what it is (4), its region (4) and stream (8). A copy keeps the first two, its *identity*:
//! of all pages of a logical page the one of the newest write counts, and copies of it are as good. Writes are the host's and,
//! where the map is in flash, those of the map's pages.

use base::{Lpn, Ppn};

use super::Kernel;

/// The bits of a spare area that stay with the data wherever they are copied.
pub const IDENTITY: u128 = (1 << 72) - 1;

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// A host page or a copy of one.
    Data = 1,
    /// A copy that protects a lower page.
    Backup = 2,
    /// The exclusive-or of two lower pages. Its time is the first of them and the erase count of their unit.
    Parity = 3,
    /// A page without data, that fills a place.
    Dummy = 4,
}

/// A spare area, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spare {
    pub(crate) kind: PageKind,
    pub(crate) lpn: u32,
    pub(crate) write: u64,
    pub(crate) order: u64,
    pub(crate) region: u8,
    pub(crate) stream: u8,
}

/// Numbers that spare areas carry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    /// True if pages have spare areas.
    keeps: bool,
    /// Writes of the host, and of pages of the map.
    pub(super) writes: u64,
    /// Programs.
    order: u64,
}

impl Spare {
    pub(crate) fn pack(self) -> u128 {
        u128::from(self.lpn)
            | u128::from(self.write) << 32
            | u128::from(self.order) << 72
            | (self.kind as u128) << 112
            | u128::from(self.region) << 116
            | u128::from(self.stream) << 120
    }

    /// `None` for a page of no known kind.
    pub(crate) fn unpack(bits: u128) -> Option<Spare> {
        let kind = match (bits >> 112) & 15 {
            1 => PageKind::Data,
            2 => PageKind::Backup,
            3 => PageKind::Parity,
            4 => PageKind::Dummy,
            _ => return None,
        };
        Some(Spare {
            kind,
            lpn: bits as u32,
            write: (bits >> 32) as u64 & 0xff_ffff_ffff,
            order: (bits >> 72) as u64 & 0xff_ffff_ffff,
            region: (bits >> 116) as u8 & 15,
            stream: (bits >> 120) as u8,
        })
    }
}

/// The time field of a parity page: its first page, and how often that page's unit was erased.
pub(crate) fn parity_home(first: Ppn, erases: u32) -> u64 {
    u64::from(first.0) | u64::from(erases & 0xff) << 32
}

/// The number of the write that a page of data holds, by its spare area.
pub fn write_of(spare: u128) -> Option<u64> {
    Spare::unpack(spare).filter(|spare| spare.kind == PageKind::Data).map(|spare| spare.write)
}

/// The logical page that a page of data holds, by its spare area.
pub fn page_of(spare: u128) -> Option<Lpn> {
    Spare::unpack(spare).filter(|spare| spare.kind == PageKind::Data).map(|spare| Lpn(spare.lpn))
}

impl Kernel {
    /// Numbers writes and programs from now on, for devices whose pages have spare areas.
    pub(crate) fn keep_spares(&mut self) {
        self.numbers.keeps = true;
    }

    /// True if pages have spare areas.
    #[inline]
    pub(crate) fn keeps_spares(&self) -> bool {
        self.numbers.keeps
    }

    /// After a restart: numbers go on behind those that were found.
    pub(crate) fn adopt_numbers(&mut self, write: u64, order: u64) {
        self.numbers.writes = self.numbers.writes.max(write);
        self.numbers.order = self.numbers.order.max(order);
    }

    /// The numbers of the newest write and of the newest program.
    pub(crate) fn numbers(&self) -> (u64, u64) {
        (self.numbers.writes, self.numbers.order)
    }

    /// The spare area of the host page that was placed last; 0 where pages have none.
    #[inline]
    pub(crate) fn host_spare(&mut self, lpn: Lpn, region: impl FnOnce() -> u8, at: Ppn) -> u128 {
        if !self.numbers.keeps {
            return 0;
        }
        self.numbers.order += 1;
        let (write, order) = (self.numbers.writes, self.numbers.order);
        Spare { kind: PageKind::Data, lpn: lpn.0, write, order, region: region(), stream: self.stream_byte(at) }.pack()
    }

    /// The spare area of the page of the map that was placed last, whose data are new; 0 where pages have none.
    pub(crate) fn map_spare(&mut self, lpn: Lpn, at: Ppn) -> u128 {
        self.numbers.writes += 1;
        self.host_spare(lpn, || 0, at)
    }

    /// The spare area of a page that was placed last, but for its identity; 0 where pages have none.
    #[inline]
    pub(crate) fn tag(&mut self, kind: PageKind, region: impl FnOnce() -> u8, at: Ppn) -> u128 {
        if !self.numbers.keeps {
            return 0;
        }
        self.numbers.order += 1;
        let order = self.numbers.order;
        Spare { kind, lpn: 0, write: 0, order, region: region(), stream: self.stream_byte(at) }.pack()
    }

    /// The spare area of a backup of pages, but for the identity: the exclusive-or of theirs. `regions` is likewise.
    pub(crate) fn backup_tag(&mut self, pages: &[Ppn], regions: impl FnOnce() -> u8) -> u128 {
        if !self.numbers.keeps {
            return 0;
        }
        let first = pages[0];
        self.numbers.order += 1;
        let unit = self.geometry.unit_of(first);
        let (kind, order) = match pages.len() {
            1 => (PageKind::Backup, self.numbers.order),
            _ => (PageKind::Parity, parity_home(first, self.erases[unit.index()])),
        };
        Spare { kind, lpn: 0, write: 0, order, region: regions(), stream: self.stream_byte(first) }.pack()
    }

    /// The stream whose frontier a page was placed at: that of its unit.
    fn stream_byte(&self, at: Ppn) -> u8 {
        self.stream_of(self.geometry.unit_of(at)).byte()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_found_again() {
        let spare = Spare {
            kind: PageKind::Parity,
            lpn: u32::MAX - 1,
            write: (1 << 40) - 2,
            order: (1 << 40) - 3,
            region: 7,
            stream: 55,
        };
        assert_eq!(Spare::unpack(spare.pack()), Some(spare));
        assert_eq!(Spare::unpack(0), None);
        let identity = spare.pack() & IDENTITY;
        assert_eq!(identity, u128::from(spare.lpn) | u128::from(spare.write) << 32);
    }
}
