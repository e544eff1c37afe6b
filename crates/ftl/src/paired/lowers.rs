//! The lower pages of wordlines that are not complete, and what covers them.

use base::Ppn;

use super::{Wordlines, lies_in};

/// Where the data of a lower page are stored a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Nowhere.
    None,
    /// At another page: in the victim it was copied from, or in a backup block.
    Copy(Ppn),
    /// As the exclusive-or of a parity page and another lower page.
    Parity {
        /// The parity page.
        parity: Ppn,
        /// The other page of the parity.
        other: Ppn,
    },
    /// The page itself was lost before its wordline was complete, and the wordline cannot be trusted.
    Lost,
}

/// A programmed page whose wordline is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lower {
    pub(crate) at: Ppn,
    pub(crate) cover: Cover,
}

impl Lower {
    /// Whether its cover is, in part, in a unit.
    fn leans_on(&self, unit: u32, slots: u32) -> bool {
        match self.cover {
            Cover::None | Cover::Lost => false,
            Cover::Copy(page) | Cover::Parity { parity: page, .. } => lies_in(page, unit, slots),
        }
    }
}

/// The lower pages of a domain. A frontier has few: at most one wordline per bit of the cell is incomplete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lowers {
    open: Vec<Lower>,
    /// Those of the wordline that the last program completed, in case that program turns out to have failed.
    done: Vec<Lower>,
}

impl Lowers {
    /// Notes a program at a page. `slots` is the number of pages of a unit.
    pub(crate) fn programmed(&mut self, at: Ppn, cover: Cover, wordlines: &Wordlines, slots: u32) {
        let page = at.0 % slots;
        self.done.clear();
        if wordlines.is_top(page) {
            let unit = at.0 / slots;
            let done = &mut self.done;
            self.open.retain(|lower| {
                let completed = lies_in(lower.at, unit, slots) && wordlines.share(lower.at.0 % slots, page);
                if completed {
                    done.push(*lower);
                }
                !completed
            });
        } else {
            self.open.push(Lower { at, cover });
        }
    }

    /// The lower pages that a program at a page puts at risk.
    pub(crate) fn below<'a>(
        &'a self,
        at: Ppn,
        wordlines: &'a Wordlines,
        slots: u32,
    ) -> impl Iterator<Item = Lower> + 'a {
        let (unit, page) = (at.0 / slots, at.0 % slots);
        self.open
            .iter()
            .filter(move |lower| lies_in(lower.at, unit, slots) && wordlines.share(lower.at.0 % slots, page))
            .copied()
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Lower> + '_ {
        self.open.iter().copied()
    }

    /// Those of the wordline that the last program completed.
    pub(crate) fn done(&self) -> &[Lower] {
        &self.done
    }

    /// Changes what covers a page.
    pub(crate) fn cover(&mut self, at: Ppn, cover: Cover) {
        for lower in self.open.iter_mut().filter(|lower| lower.at == at) {
            lower.cover = cover;
        }
    }

    /// Whether a page that is worth keeping leans on a unit.
    pub(crate) fn lean_on(&self, unit: u32, slots: u32, is_valid: impl Fn(Ppn) -> bool) -> bool {
        self.open.iter().any(|lower| lower.leans_on(unit, slots) && is_valid(lower.at))
    }

    /// Forgets covers that lie in a unit, which is about to be erased.
    pub(crate) fn uncover(&mut self, unit: u32, slots: u32) {
        for lower in self.open.iter_mut().filter(|lower| lower.leans_on(unit, slots)) {
            lower.cover = Cover::None;
        }
    }

    /// Forgets covers that are a page, or a parity of it.
    pub(crate) fn uncover_page(&mut self, page: Ppn) {
        for lower in &mut self.open {
            match lower.cover {
                Cover::Copy(at) | Cover::Parity { parity: at, .. } if at == page => lower.cover = Cover::None,
                _ => {}
            }
        }
    }

    /// What covers a lower page, also of the wordline that the last program completed.
    pub(crate) fn cover_of(&self, page: Ppn) -> Cover {
        let known = self.open.iter().chain(&self.done).find(|lower| lower.at == page);
        known.map_or(Cover::None, |lower| lower.cover)
    }

    /// Forgets the pages of a unit that no more pages are added to.
    pub(crate) fn forget(&mut self, unit: u32, slots: u32) {
        self.open.retain(|lower| !lies_in(lower.at, unit, slots));
    }

    /// Takes up a page that is found programmed.
    pub(crate) fn adopt(&mut self, at: Ppn, cover: Cover) {
        self.open.push(Lower { at, cover });
    }
}
