//! Frames of the controller's RAM: the data of pages that are placed and not programmed.
//!
//! Few units have such pages at one time, and these a few each, which come and go in order. So a unit that has some has a short list of
//! its own, in which a page is found from the front. Pages of a row that store nothing and replace pages of one unit share a frame.

use base::{Ppn, Unit};
use ftl::Way;

use super::Content;

/// A placed page, or several of a row that lie behind one another and store nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The first page.
    pub(super) at: Ppn,
    /// Pages of the frame.
    pub(super) pages: u32,
    /// The unit of their last versions that are older, which must not be erased before these are programmed.
    pub(super) old: Option<Unit>,
    /// They are no dummy pages.
    pub(super) is_needed: bool,
    pub(super) data: Data,
}

impl Frame {
    /// The frame of one page.
    pub(super) fn of(at: Ppn, data: Data, is_needed: bool, old: Option<Unit>) -> Frame {
        Frame { at, pages: 1, old, is_needed, data }
    }

    /// The frame of so many pages that store nothing.
    pub(super) fn of_run(at: Ppn, pages: u32, old: Option<Unit>) -> Frame {
        Frame { at, pages, old, is_needed: true, data: Data::Held { content: Content::EMPTY, way: Way::Plain } }
    }

    /// One past its last page.
    #[inline]
    fn end(&self) -> u32 {
        self.at.0 + self.pages
    }

    #[inline]
    fn has(&self, page: Ppn) -> bool {
        page.0.wrapping_sub(self.at.0) < self.pages
    }

    /// A frame for each of its pages.
    fn singly(self) -> impl Iterator<Item = Frame> {
        (self.at.0..self.end()).map(move |at| Frame { at: Ppn(at), pages: 1, ..self })
    }
}

/// Where the data of a placed page are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Data {
    /// In the controller, for a program of that way.
    Held { content: Content, way: Way },
    /// In the array: the page is copied from there, inside its plane, with a spare area of its own.
    Copied { from: Ppn, spare: Content },
}

/// The frames that are in use.
#[derive(Clone, Default)]
pub(super) struct Frames {
    /// By unit, the place of its list, counted from 1; 0: it has none. As far as units have had frames.
    places: Vec<u32>,
    lists: Vec<FramesOfUnit>,
    /// Places of lists that no unit has, counted likewise.
    free: Vec<u32>,
    /// A page had a frame whose data are elsewhere than in the controller, or for another way than [`Way::Plain`].
    pub(super) had_special: bool,
}

/// The frames of a unit, in the order of its pages.
#[derive(Clone)]
struct FramesOfUnit {
    unit: Unit,
    frames: Vec<Frame>,
}

impl Frames {
    /// True if there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.lists.len()
    }

    /// All of them, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.lists.iter().flat_map(|list| &list.frames)
    }

    /// All of them by page, likewise.
    pub(super) fn by_page(&self) -> impl Iterator<Item = Frame> {
        self.iter().flat_map(|frame| frame.singly())
    }

    /// Pages of a unit that have frames, in order.
    pub(super) fn pages_of(&self, unit: Unit) -> impl Iterator<Item = Ppn> {
        let frames = self.list(unit).into_iter().flat_map(|list| &list.frames);
        frames.flat_map(|frame| frame.singly()).map(|frame| frame.at)
    }

    /// The frame of a page of a unit.
    #[inline]
    pub(super) fn get(&self, unit: Unit, page: Ppn) -> Option<&Frame> {
        self.list(unit)?.frames.iter().find(|frame| frame.has(page))
    }

    /// Where the data of a page are, unless all frames so far were for plain programs.
    #[inline]
    pub(super) fn special(&self, unit: Unit, page: Ppn) -> Option<Data> {
        if self.had_special { self.get(unit, page).map(|frame| frame.data) } else { None }
    }

    /// The frame of a page, to change it: it has no other page then.
    pub(super) fn get_mut(&mut self, unit: Unit, page: Ppn) -> Option<&mut Frame> {
        self.split(unit);
        let at = self.place(unit)?;
        self.lists[at].frames.iter_mut().find(|frame| frame.at == page)
    }

    /// Pages get a frame, in place of the one that a single page may have.
    #[inline(always)] // A call would pass the frame through memory, and wait for it there.
    pub(super) fn insert(&mut self, unit: Unit, frame: Frame) {
        self.had_special |= !matches!(frame.data, Data::Held { way: Way::Plain, .. });
        let at = self.place(unit).unwrap_or_else(|| self.begin_list(unit));
        let frames = &mut self.lists[at].frames;
        if frames.last().is_none_or(|last| last.end() <= frame.at.0) {
            return frames.push(frame);
        }
        self.insert_before(unit, frame);
    }

    /// Pages that others were placed behind get a frame.
    #[inline(never)]
    fn insert_before(&mut self, unit: Unit, frame: Frame) {
        self.split(unit);
        let at = self.place(unit).expect("a unit with frames");
        let frames = &mut self.lists[at].frames;
        for frame in frame.singly() {
            match frames.binary_search_by_key(&frame.at, |of| of.at) {
                Ok(at) => frames[at] = frame,
                Err(at) => frames.insert(at, frame),
            }
        }
    }

    /// A page loses its frame. Returns that, if it had one.
    pub(super) fn remove(&mut self, unit: Unit, page: Ppn) -> Option<Frame> {
        self.split(unit);
        let mut frame = None;
        self.take_some(unit, |of| {
            let is_it = of.at == page;
            if is_it {
                frame = Some(*of);
            }
            is_it
        });
        frame
    }

    /// Takes the frames of a unit out that a caller wants. They may be those of several pages: see [`Frames::split`].
    #[inline]
    pub(super) fn take_some(&mut self, unit: Unit, mut takes: impl FnMut(&Frame) -> bool) {
        let Some(at) = self.place(unit) else { return };
        let frames = &mut self.lists[at].frames;
        frames.retain(|frame| !takes(frame));
        if frames.is_empty() {
            self.free.push(std::mem::take(&mut self.places[unit.index()]));
        }
    }

    /// From now on each page of a unit that is there has a frame of its own.
    pub(super) fn split(&mut self, unit: Unit) {
        let Some(at) = self.place(unit) else { return };
        let frames = &mut self.lists[at].frames;
        if frames.iter().any(|frame| frame.pages > 1) {
            *frames = frames.iter().flat_map(|frame| frame.singly()).collect();
        }
    }

    /// Where the list of a unit is, if it has frames.
    #[inline]
    fn place(&self, unit: Unit) -> Option<usize> {
        (*self.places.get(unit.index())? as usize).checked_sub(1)
    }

    /// A unit has frames.
    #[inline]
    pub(super) fn has_some(&self, unit: Unit) -> bool {
        self.place(unit).is_some()
    }

    #[inline]
    fn list(&self, unit: Unit) -> Option<&FramesOfUnit> {
        self.place(unit).map(|at| &self.lists[at])
    }

    /// A unit gets a list. Returns where that is.
    fn begin_list(&mut self, unit: Unit) -> usize {
        if self.places.len() <= unit.index() {
            self.places.resize(unit.index() + 1, 0);
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.lists.push(FramesOfUnit { unit, frames: Vec::new() });
            self.lists.len() as u32
        });
        self.places[unit.index()] = number;
        let at = number as usize - 1;
        self.lists[at].unit = unit;
        at
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use engine::Chance;

    use super::*;

    /// Against a plain map, with pages that come out of order, twice, and go from anywhere, alone and several at once.
    #[test]
    fn frames_are_those_of_a_plain_map() {
        let (mut frames, mut plain) = (Frames::default(), BTreeMap::new());
        let mut random = Chance::new(1, "frames");
        let data = |frame: Frame| match frame.data {
            Data::Held { content, .. } => content.data,
            Data::Copied { .. } => unreachable!("all are held"),
        };
        for number in 0..20_000 {
            let unit = Unit::new(random.below_u32(5) * 7);
            let (at, pages) = (unit.number() * 16 + random.below_u32(12), 1 + random.below_u32(4));
            let content = Content { data: number, ..Content::EMPTY };
            let frame = Frame::of(Ppn(at), Data::Held { content, way: Way::Plain }, true, None);
            assert_eq!(frames.get(unit, Ppn(at)).copied().map(data), plain.get(&at).copied());
            match random.below(4) {
                0 => {
                    frames.insert(unit, frame);
                    plain.insert(at, number);
                }
                1 => {
                    frames.insert(unit, Frame { pages, ..frame });
                    plain.extend((at..at + pages).map(|at| (at, number)));
                }
                2 => assert_eq!(frames.remove(unit, Ppn(at)).map(data), plain.remove(&at)),
                _ => assert_eq!(frames.get_mut(unit, Ppn(at)).copied().map(data), plain.get(&at).copied()),
            }
            let of_unit = plain.range(unit.number() * 16..(unit.number() + 1) * 16).map(|(&at, _)| Ppn(at));
            assert!(frames.pages_of(unit).eq(of_unit));
            let mut all: Vec<_> = frames.by_page().map(|frame| (frame.at.0, data(frame))).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(plain.iter().map(|(&at, &number)| (at, number))));
            assert_eq!(frames.is_empty(), plain.is_empty());
        }
        assert!(frames.lists.len() <= 5, "lists are used again");
    }
}
