//! Frames of the controller's RAM: the data of pages that are placed and not programmed.
//!
//! Few blocks have such pages at one time, and these a few each, which come and go in order. So a block that has some has a short
//! list of its own, in which a page is found from the front.

use base::{Block, Page, Ppn, Unit};
use ftl::Way;

use super::Content;

/// A placed page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) data: Data,
    /// It is no dummy page.
    pub(super) is_needed: bool,
    /// The unit of its last version that is older, which must not be erased before this one is programmed.
    pub(super) old: Option<Unit>,
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
    /// By block, the place of its list, counted from 1; 0: it has none. As far as blocks have had frames.
    places: Vec<u32>,
    lists: Vec<FramesOfBlock>,
    /// Places of lists that no block has, counted likewise.
    free: Vec<u32>,
    /// A page had a frame whose data are elsewhere than in the controller, or for another way than [`Way::Plain`].
    pub(super) had_special: bool,
}

/// The frames of a block that were taken out.
pub(super) struct ListOfBlock(Vec<(Page, Frame)>);

impl ListOfBlock {
    /// Takes the frames of the pages from one on, up to another.
    #[inline]
    pub(super) fn take(&mut self, first: Page, last: Page) -> impl Iterator<Item = (Page, Frame)> {
        let from = self.0.iter().take_while(|(page, _)| *page < first).count();
        let count = self.0[from..].iter().take_while(|(page, _)| *page <= last).count();
        self.0.drain(from..from + count)
    }
}

/// The frames of a block, in the order of its pages.
#[derive(Clone)]
struct FramesOfBlock {
    block: Block,
    frames: Vec<(Page, Frame)>,
}

impl Frames {
    /// True if there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.lists.len()
    }

    /// All of them, in no order that means anything.
    pub(super) fn iter(&self) -> impl Iterator<Item = ((Block, Page), &Frame)> {
        self.lists.iter().flat_map(|list| list.frames.iter().map(|(page, frame)| ((list.block, *page), frame)))
    }

    /// Pages of a block that have frames, in order.
    pub(super) fn pages_of(&self, block: Block) -> impl Iterator<Item = Page> {
        self.list(block).into_iter().flat_map(|list| list.frames.iter().map(|&(page, _)| page))
    }

    /// The frame of a page.
    #[inline]
    pub(super) fn get(&self, (block, page): (Block, Page)) -> Option<&Frame> {
        self.list(block)?.frames.iter().find(|(of, _)| *of == page).map(|(_, frame)| frame)
    }

    /// Where the data of a page are, unless all frames so far were for plain programs.
    #[inline]
    pub(super) fn special(&self, at: (Block, Page)) -> Option<Data> {
        if self.had_special { self.get(at).map(|frame| frame.data) } else { None }
    }

    /// The frame of a page, to change it.
    pub(super) fn get_mut(&mut self, (block, page): (Block, Page)) -> Option<&mut Frame> {
        let at = self.place(block)?;
        self.lists[at].frames.iter_mut().find(|(of, _)| *of == page).map(|(_, frame)| frame)
    }

    /// A page gets a frame, in place of the one that it may have.
    #[inline(always)] // A call would pass the frame through memory, and wait for it there.
    pub(super) fn insert(&mut self, (block, page): (Block, Page), frame: Frame) {
        self.had_special |= !matches!(frame.data, Data::Held { way: Way::Plain, .. });
        let at = self.place(block).unwrap_or_else(|| self.begin_list(block));
        let frames = &mut self.lists[at].frames;
        if frames.last().is_none_or(|(last, _)| *last < page) {
            return frames.push((page, frame));
        }
        match frames.binary_search_by_key(&page, |(of, _)| *of) {
            Ok(at) => frames[at].1 = frame,
            Err(at) => frames.insert(at, (page, frame)),
        }
    }

    /// A page loses its frame. Returns that, if it had one.
    pub(super) fn remove(&mut self, (block, page): (Block, Page)) -> Option<Frame> {
        let mut frames = self.take(block);
        let frame = frames.take(page, page).next();
        self.put_back(block, frames);
        frame.map(|(_, frame)| frame)
    }

    /// Takes the list of a block out, which is put back before another frame is asked for.
    #[inline]
    pub(super) fn take(&mut self, block: Block) -> ListOfBlock {
        ListOfBlock(self.place(block).map_or(Vec::new(), |at| std::mem::take(&mut self.lists[at].frames)))
    }

    /// Puts the list of a block back.
    #[inline]
    pub(super) fn put_back(&mut self, block: Block, frames: ListOfBlock) {
        let Some(at) = self.place(block) else { return };
        if frames.0.is_empty() {
            self.free.push(std::mem::take(&mut self.places[block.index()]));
        }
        self.lists[at].frames = frames.0;
    }

    /// Where the list of a block is, if it has frames.
    #[inline]
    pub(super) fn place(&self, block: Block) -> Option<usize> {
        (*self.places.get(block.index())? as usize).checked_sub(1)
    }

    #[inline]
    fn list(&self, block: Block) -> Option<&FramesOfBlock> {
        self.place(block).map(|at| &self.lists[at])
    }

    /// A block gets a list. Returns where that is.
    fn begin_list(&mut self, block: Block) -> usize {
        if self.places.len() <= block.index() {
            self.places.resize(block.index() + 1, 0);
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.lists.push(FramesOfBlock { block, frames: Vec::new() });
            self.lists.len() as u32
        });
        self.places[block.index()] = number;
        let at = number as usize - 1;
        self.lists[at].block = block;
        at
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use engine::Chance;

    use super::*;

    /// Against a plain map, with pages that come out of order, twice, and go from anywhere.
    #[test]
    fn frames_are_those_of_a_plain_map() {
        let (mut frames, mut plain) = (Frames::default(), BTreeMap::new());
        let mut random = Chance::new(1, "frames");
        for number in 0..20_000 {
            let at = (Block::new(random.below_u32(5) * 7), Page::new(random.below_u32(9)));
            let content = Content { data: number, ..Content::EMPTY };
            let frame = Frame { data: Data::Held { content, way: Way::Plain }, is_needed: true, old: None };
            let data = |frame: Frame| match frame.data {
                Data::Held { content, .. } => content.data,
                Data::Copied { .. } => unreachable!("all are held"),
            };
            assert_eq!(frames.get(at).copied().map(data), plain.get(&at).copied());
            assert_eq!(frames.get_mut(at).copied().map(data), plain.get(&at).copied());
            if random.below(2) == 0 {
                frames.insert(at, frame);
                plain.insert(at, number);
            } else {
                assert_eq!(frames.remove(at).map(data), plain.remove(&at));
            }
            let of_block = plain.range((at.0, Page::FIRST)..=(at.0, Page::new(u32::MAX))).map(|(&(_, page), _)| page);
            assert!(frames.pages_of(at.0).eq(of_block));
            let mut all: Vec<_> = frames.iter().map(|(at, &frame)| (at, data(frame))).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(plain.iter().map(|(&at, &number)| (at, number))));
            assert_eq!(frames.is_empty(), plain.is_empty());
        }
        assert!(frames.lists.len() <= 5, "lists are used again");
    }
}
