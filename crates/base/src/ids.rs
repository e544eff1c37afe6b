//! Numbers of pages, blocks, reclaim units, reclaim domains, dies and queues: each of a type of its own, of four bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

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

/// A type for the numbers of one kind of thing, so that none is taken for another.
macro_rules! number_of {
    ($(#[$doc:meta])* $Name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(transparent)]
        pub struct $Name(u32);

        impl $Name {
            /// The one of that number, which is less than how many there are.
            #[inline]
            pub const fn new(number: u32) -> $Name {
                $Name(number)
            }

            /// The number.
            #[inline]
            pub const fn number(self) -> u32 {
                self.0
            }

            /// The number as an index into an array by such things.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// All of a range of numbers, in order.
            #[inline]
            pub fn all(numbers: std::ops::Range<u32>) -> impl DoubleEndedIterator<Item = $Name> + ExactSizeIterator + Clone {
                numbers.map($Name)
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number_of! {
    /// A reclaim unit, counted over the device.
    Unit
}

number_of! {
    /// A reclaim domain, counted over the device.
    Domain
}

number_of! {
    /// A page's place in its reclaim unit: its blocks are filled in turn, so the slots of one page offset follow each other.
    Slot
}

number_of! {
    /// A block, counted over the device, plane by plane.
    Block
}

number_of! {
    /// A page's place in its block, in the order in which pages are programmed.
    Page
}

impl Page {
    /// The first one.
    pub const FIRST: Page = Page(0);

    /// The page so many behind it.
    #[inline]
    pub const fn plus(self, pages: u32) -> Page {
        Page(self.0 + pages)
    }

    /// The page so many before it, if its block has so many.
    #[inline]
    pub fn minus(self, pages: u32) -> Option<Page> {
        self.0.checked_sub(pages).map(Page)
    }
}

impl Default for Slot {
    fn default() -> Slot {
        Slot::FIRST
    }
}

impl Slot {
    /// The first one.
    pub const FIRST: Slot = Slot(0);

    /// The slot behind it.
    #[inline]
    pub const fn next(self) -> Slot {
        Slot(self.0 + 1)
    }

    /// The slots before it.
    #[inline]
    pub fn all_before(self) -> impl Iterator<Item = Slot> + Clone {
        (0..self.0).map(Slot)
    }
}

number_of! {
    /// A die, counted over the device.
    Die
}

number_of! {
    /// A queue that host pages wait in: under a static order the domain's own.
    Queue
}

impl Queue {
    /// The queue of a domain, under a static order.
    #[inline]
    pub const fn of_domain(domain: Domain) -> Queue {
        Queue(domain.0)
    }

    /// The domain whose own queue it is, under a static order.
    #[inline]
    pub const fn domain(self) -> Domain {
        Domain(self.0)
    }
}

impl Unit {
    /// The word for no unit in files and flat arrays.
    const ABSENT: u32 = u32::MAX;

    /// The unit that a word of a file or of a flat array names; `u32::MAX` names none.
    #[inline]
    pub const fn from_word(word: u32) -> Option<Unit> {
        if word == Unit::ABSENT { None } else { Some(Unit(word)) }
    }

    /// The word of a file or of a flat array for a unit or for none: `Option<Unit>` takes twice the room.
    #[inline]
    pub const fn to_word(unit: Option<Unit>) -> u32 {
        match unit {
            Some(Unit(number)) => number,
            None => Unit::ABSENT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_unit_or_none() {
        assert_eq!((Unit::from_word(u32::MAX), Unit::to_word(None)), (None, u32::MAX));
        for number in [0, 1, u32::MAX - 1] {
            let unit = Unit::new(number);
            assert_eq!((unit.number(), unit.index(), unit.to_string()), (number, number as usize, number.to_string()));
            assert_eq!((Unit::from_word(number), Unit::to_word(Some(unit))), (Some(unit), number));
        }
    }
}
