//! The pages that a collection moves in one step.

use base::Ppn;

use crate::stream::Stream;

/// Pages that a group holds at most: those of a row.
pub const MAX_PAGES: usize = 64;

/// A few pages of one victim, to be programmed at one page offset.
///
/// Laid out with the lengths first: a group of a few pages then lies in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Group {
    len: u8,
    /// Pages to place behind them: dummy pages, so that the planes stay in step, or the other parts of a page of the map.
    pub rest: u8,
    /// Pages that are made of them, where they are combined: each of every so-manieth page.
    pub products: u8,
    /// The stream that the pages, and dummy pages, go to.
    pub(crate) stream: Stream,
    pages: [Ppn; MAX_PAGES],
}

impl Group {
    /// No page.
    pub const EMPTY: Group = Group { pages: [Ppn(0); MAX_PAGES], len: 0, rest: 0, products: 1, stream: Stream::FIRST };

    /// Adds a page.
    ///
    /// # Panics
    /// When the group is full.
    #[inline]
    pub fn push(&mut self, page: Ppn) {
        self.pages[usize::from(self.len)] = page;
        self.len += 1;
    }

    /// Forgets all pages.
    #[inline]
    pub fn clear(&mut self) {
        (self.len, self.rest, self.products) = (0, 0, 1);
    }

    /// The pages of which a product is made, by its number.
    pub fn of_product(&self, number: usize) -> Group {
        let mut group = Group::EMPTY;
        self.pages().iter().skip(number).step_by(self.products.into()).for_each(|&page| group.push(page));
        group
    }

    /// Takes over another group; what lies behind its pages stays what it was.
    #[inline]
    pub fn assign(&mut self, other: &Group) {
        (self.len, self.rest, self.products, self.stream) = (other.len, other.rest, other.products, other.stream);
        // Four at a time: groups are small, and a call to copy a few bytes costs more than copying them.
        let quads = usize::from(other.len).div_ceil(4);
        for (to, from) in self.pages.as_chunks_mut::<4>().0.iter_mut().zip(other.pages.as_chunks::<4>().0).take(quads) {
            *to = *from;
        }
    }

    /// Takes out the page at a position; the order of the others stays.
    pub fn remove(&mut self, at: usize) {
        self.pages.copy_within(at + 1..usize::from(self.len), at);
        self.len -= 1;
    }

    /// Keeps so many of the first pages at most.
    pub(crate) fn truncate(&mut self, most: u32) {
        self.len = self.len.min(most as u8);
    }

    /// The pages.
    #[inline]
    pub fn pages(&self) -> &[Ppn] {
        &self.pages[..usize::from(self.len)]
    }
}

/// Groups are equal when they hold the same pages and ask for as many behind them.
impl PartialEq for Group {
    fn eq(&self, other: &Group) -> bool {
        self.pages() == other.pages() && self.rest == other.rest
    }
}

impl Eq for Group {}
