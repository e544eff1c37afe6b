//! The lower pages of wordlines that are not complete, and what covers them.

use base::{Ppn, Unit};

use crate::kernel::Kernel;

/// Where the data of a lower page are stored a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
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
pub(super) struct Lower {
    pub(super) at: Ppn,
    pub(super) cover: Cover,
}

impl Lower {
    /// True if its cover is, in part, in a unit.
    fn depends_on(&self, kernel: &Kernel, unit: Unit) -> bool {
        match self.cover {
            Cover::None | Cover::Lost => false,
            Cover::Copy(page) | Cover::Parity { parity: page, .. } => lies_in(kernel, page, unit),
        }
    }
}

/// The lower pages of a domain. A frontier has few: at most one wordline per bit of the cell is incomplete.
#[derive(Clone, Debug, Default)]
pub(super) struct Lowers {
    open: Vec<Lower>,
    /// Those of the wordline that the last program completed, in case that program turns out to have failed.
    done: Vec<Lower>,
}

impl Lowers {
    /// Notes a program at a page.
    pub(super) fn programmed(&mut self, kernel: &Kernel, at: Ppn, cover: Cover) {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        let wordlines = kernel.wordlines();
        self.done.clear();
        if wordlines.is_top(slot) {
            let done = &mut self.done;
            self.open.retain(|lower| {
                let (of, lower_slot) = kernel.geometry().unit_and_slot(lower.at);
                let completed = of == unit && wordlines.share(lower_slot, slot);
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
    pub(super) fn below<'a>(&'a self, kernel: &'a Kernel, at: Ppn) -> impl Iterator<Item = Lower> + 'a {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        let is_below = move |lower: &&Lower| {
            let (of, lower_slot) = kernel.geometry().unit_and_slot(lower.at);
            of == unit && kernel.wordlines().share(lower_slot, slot)
        };
        self.open.iter().filter(is_below).copied()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Lower> + '_ {
        self.open.iter().copied()
    }

    /// Those of the wordline that the last program completed.
    pub(super) fn done(&self) -> &[Lower] {
        &self.done
    }

    /// Changes what covers a page.
    pub(super) fn cover(&mut self, at: Ppn, cover: Cover) {
        for lower in self.open.iter_mut().filter(|lower| lower.at == at) {
            lower.cover = cover;
        }
    }

    /// True if a page that is worth keeping depends on a unit.
    pub(super) fn depend_on(&self, kernel: &Kernel, unit: Unit) -> bool {
        self.open.iter().any(|lower| lower.depends_on(kernel, unit) && kernel.is_needed(lower.at))
    }

    /// Forgets covers that lie in a unit, which is about to be erased.
    pub(super) fn uncover(&mut self, kernel: &Kernel, unit: Unit) {
        for lower in self.open.iter_mut().filter(|lower| lower.depends_on(kernel, unit)) {
            lower.cover = Cover::None;
        }
    }

    /// Forgets covers that are a page, or a parity of it.
    pub(super) fn uncover_page(&mut self, page: Ppn) {
        for lower in &mut self.open {
            match lower.cover {
                Cover::Copy(at) | Cover::Parity { parity: at, .. } if at == page => lower.cover = Cover::None,
                _ => {}
            }
        }
    }

    /// The cover of a lower page, also of the wordline that the last program completed.
    pub(super) fn cover_of(&self, page: Ppn) -> Cover {
        let known = self.open.iter().chain(&self.done).find(|lower| lower.at == page);
        known.map_or(Cover::None, |lower| lower.cover)
    }

    /// Forgets the pages of a unit that no more pages are added to.
    pub(super) fn forget(&mut self, kernel: &Kernel, unit: Unit) {
        self.open.retain(|lower| !lies_in(kernel, lower.at, unit));
    }

    /// Takes up a page that is found programmed.
    pub(super) fn adopt(&mut self, at: Ppn, cover: Cover) {
        self.open.push(Lower { at, cover });
    }
}

/// True if a page is in a unit.
#[inline]
fn lies_in(kernel: &Kernel, page: Ppn, unit: Unit) -> bool {
    kernel.geometry().unit_of(page) == unit
}
