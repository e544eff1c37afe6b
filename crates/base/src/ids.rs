//! Page numbers. Four bytes each, and so is their absence, so that the maps stay flat and small.

/// A logical page number: the host's address divided by the flash page size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Lpn(pub u32);

/// A physical page number: reclaim unit × pages per unit + slot inside the unit.
///
/// [`crate::Geometry`] turns it into channel, chip, die, plane, block and page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Ppn(pub u32);

impl Lpn {
    /// The number as an index into a map.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Ppn {
    /// The number as an index into a map.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
