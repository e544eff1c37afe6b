//! What the FTL writes into the spare area of a page, from which it finds its way after a power cut.
//!
//! 128 bits: the logical page (32), the number of the host write that its data come from (40), when it was
//! programmed (40), what it is (4), its region (4) and stream (4). A copy keeps the first two, its *identity*:
//! of all pages of a logical page the one of the newest host write counts, and copies of it are as good.

use base::{Lpn, Ppn};

use crate::group::Group;
use crate::layer::{Ftl, NONE};

/// The bits of a spare area that stay with the data wherever they are copied.
pub const IDENTITY: u128 = (1 << 72) - 1;

/// What a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A host page or a copy of one.
    Data = 1,
    /// A copy that protects a lower page.
    Backup = 2,
    /// The exclusive-or of two lower pages. Its time is the first of them and the erase count of their unit.
    Parity = 3,
    /// Nothing.
    Dummy = 4,
}

/// A spare area, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spare {
    pub(crate) kind: Kind,
    pub(crate) lpn: u32,
    pub(crate) write: u64,
    pub(crate) order: u64,
    pub(crate) region: u8,
    pub(crate) stream: u8,
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
            1 => Kind::Data,
            2 => Kind::Backup,
            3 => Kind::Parity,
            4 => Kind::Dummy,
            _ => return None,
        };
        Some(Spare {
            kind,
            lpn: bits as u32,
            write: (bits >> 32) as u64 & 0xff_ffff_ffff,
            order: (bits >> 72) as u64 & 0xff_ffff_ffff,
            region: (bits >> 116) as u8 & 15,
            stream: (bits >> 120) as u8 & 15,
        })
    }
}

/// The time field of a parity page: its first page, and how often that page's unit was erased.
pub(crate) fn home(first: Ppn, erases: u32) -> u64 {
    u64::from(first.0) | u64::from(erases & 0xff) << 32
}

impl Ftl {
    /// Has the FTL number its writes, for devices whose pages have spare areas.
    pub fn keep_spares(&mut self) {
        self.keeps_spares = true;
        if let Some(dftl) = &mut self.dftl {
            dftl.keep_contents();
        }
    }

    /// The spare area of the host page that was placed last.
    pub fn host_spare(&mut self, lpn: Lpn, at: Ppn) -> u128 {
        self.order += 1;
        let spare = Spare {
            kind: Kind::Data,
            lpn: lpn.0,
            write: self.writes,
            order: self.order,
            region: self.separation.region(lpn),
            stream: self.stream_of_page(at),
        };
        spare.pack()
    }

    /// The spare area of a page that was placed last, but for its identity.
    pub(crate) fn tag(&mut self, kind: Kind, lpn: Option<Lpn>, at: Ppn) -> u128 {
        if !self.keeps_spares {
            return 0;
        }
        self.order += 1;
        let region = lpn.map_or(0, |lpn| self.separation.region(lpn));
        Spare { kind, lpn: 0, write: 0, order: self.order, region, stream: self.stream_of_page(at) }.pack()
    }

    /// The spare area of the copy of a page, which was placed last. `old` is that of the page.
    pub fn copy_spare(&mut self, old: u128, lpn: Lpn, to: Ppn) -> u128 {
        self.tag(Kind::Data, Some(lpn), to) | old & IDENTITY
    }

    /// The spare area of a dummy page, which was placed last.
    pub fn dummy_spare(&mut self, at: Ppn) -> u128 {
        self.tag(Kind::Dummy, None, at)
    }

    /// The spare area of a backup of the pages of a group, but for the identity: the exclusive-or of theirs.
    pub fn backup_tag(&mut self, group: &Group) -> u128 {
        let first = group.pages()[0];
        if !self.keeps_spares {
            return 0;
        }
        self.order += 1;
        let unit = self.geometry.unit_of(first);
        let region = group.pages().iter().fold(0, |all, page| {
            let lpn = self.reverse[page.index()];
            all ^ if lpn == NONE { 0 } else { self.separation.region(Lpn(lpn)) }
        });
        let (kind, order) = match group.pages().len() {
            1 => (Kind::Backup, self.order),
            _ => (Kind::Parity, home(first, self.erases[unit as usize])),
        };
        Spare { kind, lpn: 0, write: 0, order, region, stream: self.stream_of_page(first) }.pack()
    }

    /// The stream whose frontier a page was placed at: that of its unit.
    fn stream_of_page(&self, at: Ppn) -> u8 {
        self.unit_streams[self.geometry.unit_of(at) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_found_again() {
        let spare = Spare {
            kind: Kind::Parity,
            lpn: u32::MAX - 1,
            write: (1 << 40) - 2,
            order: (1 << 40) - 3,
            region: 7,
            stream: 5,
        };
        assert_eq!(Spare::unpack(spare.pack()), Some(spare));
        assert_eq!(Spare::unpack(0), None);
        let identity = spare.pack() & IDENTITY;
        assert_eq!(identity, u128::from(spare.lpn) | u128::from(spare.write) << 32);
    }
}
