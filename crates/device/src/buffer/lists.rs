//! The lists of waiting pages, oldest first: one for each queue, and one over the whole buffer.
//!
//! The links lie in the pages themselves, so a page moves between the ends of its lists without a search.

use base::Queue;

use super::BufferedPage;

/// "No page" in a link.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct ListLink {
    older: u32,
    younger: u32,
}

/// A page's neighbours in the two lists that it is in while it waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links([ListLink; 2]);

pub(super) const OF_QUEUE: usize = 0;
const OF_ALL: usize = 1;

impl Links {
    /// A page in no list.
    pub(super) const ALONE: Links = Links([ListLink { older: NONE, younger: NONE }; 2]);

    /// The next page of one of the two.
    #[inline]
    pub(super) fn younger(&self, list: usize) -> Option<u32> {
        some(self.0[list].younger)
    }
}

#[derive(Clone, Copy)]
struct Ends {
    oldest: u32,
    youngest: u32,
    /// Pages between them, with both.
    pages: u32,
}

const EMPTY: Ends = Ends { oldest: NONE, youngest: NONE, pages: 0 };

/// The ends of the lists.
#[derive(Clone)]
pub(super) struct Lists {
    queues: Vec<Ends>,
    all: Ends,
    /// Lists that a page is in: with a single queue, that of the queue is over the whole buffer.
    count: usize,
}

impl Lists {
    /// Empty lists, for so many queues.
    pub(super) fn new(queues: u32) -> Lists {
        let count = if queues == 1 { 1 } else { 2 };
        Lists { queues: vec![EMPTY; queues as usize], all: EMPTY, count }
    }

    /// The oldest waiting page of a queue.
    #[inline]
    pub(super) fn oldest_of(&self, queue: Queue) -> Option<u32> {
        some(self.queues[queue.index()].oldest)
    }

    /// Waiting pages of a queue.
    #[inline]
    pub(super) fn waiting(&self, queue: Queue) -> u32 {
        self.queues[queue.index()].pages
    }

    /// The oldest waiting page of all.
    #[inline]
    pub(super) fn oldest(&self) -> Option<u32> {
        some(if self.count == 1 { self.queues[0].oldest } else { self.all.oldest })
    }

    /// The waiting page behind another one in the list of all.
    pub(super) fn behind(&self, pages: &[BufferedPage], page: u32) -> Option<u32> {
        pages[page as usize].links.younger(if self.count == 1 { OF_QUEUE } else { OF_ALL })
    }

    fn ends(&mut self, list: usize, queue: Queue) -> &mut Ends {
        if list == OF_ALL { &mut self.all } else { &mut self.queues[queue.index()] }
    }

    /// Puts a page that is in no list at the young end.
    pub(super) fn put_youngest(&mut self, pages: &mut [BufferedPage], page: u32) {
        let queue = pages[page as usize].queue;
        for list in OF_QUEUE..self.count {
            let ends = self.ends(list, queue);
            let older = std::mem::replace(&mut ends.youngest, page);
            ends.pages += 1;
            match older {
                NONE => ends.oldest = page,
                _ => pages[older as usize].links.0[list].younger = page,
            }
            pages[page as usize].links.0[list] = ListLink { older, younger: NONE };
        }
    }

    /// Puts a page that is in no list at the old end.
    pub(super) fn put_oldest(&mut self, pages: &mut [BufferedPage], page: u32) {
        let queue = pages[page as usize].queue;
        for list in OF_QUEUE..self.count {
            let ends = self.ends(list, queue);
            let younger = std::mem::replace(&mut ends.oldest, page);
            ends.pages += 1;
            match younger {
                NONE => ends.youngest = page,
                _ => pages[younger as usize].links.0[list].older = page,
            }
            pages[page as usize].links.0[list] = ListLink { older: NONE, younger };
        }
    }

    /// Takes a page out of its lists.
    pub(super) fn remove(&mut self, pages: &mut [BufferedPage], page: u32) {
        let queue = pages[page as usize].queue;
        for list in OF_QUEUE..self.count {
            let ListLink { older, younger } = pages[page as usize].links.0[list];
            self.ends(list, queue).pages -= 1;
            match older {
                NONE => self.ends(list, queue).oldest = younger,
                _ => pages[older as usize].links.0[list].younger = younger,
            }
            match younger {
                NONE => self.ends(list, queue).youngest = older,
                _ => pages[younger as usize].links.0[list].older = older,
            }
        }
    }
}

#[inline]
fn some(page: u32) -> Option<u32> {
    (page != NONE).then_some(page)
}
