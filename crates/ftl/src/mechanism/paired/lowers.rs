//! The lower pages of wordlines that are not complete, and what covers them.

use std::collections::VecDeque;

use base::{Ppn, Slot, Unit};

use crate::kernel::Kernel;

/// The pages of a wordline below one, at most: of cells of four bits.
const MOST_BELOW: usize = 3;

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
    /// Nowhere, and it holds nothing. Told apart where pages are covered by the row.
    Needless,
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
            Cover::None | Cover::Lost | Cover::Needless => false,
            Cover::Copy(page) | Cover::Parity { parity: page, .. } => lies_in(kernel, page, unit),
        }
    }
}

/// The lower pages of a domain. A frontier has few: at most one wordline per bit of the cell is incomplete.
#[derive(Clone, Debug, Default)]
pub(super) struct Lowers {
    open: Vec<Lower>,
    /// Lower pages of the wordline that the last program completed, in case that program turns out to have failed.
    done: Vec<Lower>,
    /// Lower pages of a few wordlines before, and of a unit that takes no more pages. Where programs take time, others are placed before
    /// one is over, in other planes of its unit or to follow on it.
    earlier: VecDeque<Lower>,
}

impl Lowers {
    /// Notes a program at a page.
    pub(super) fn programmed(&mut self, kernel: &Kernel, at: Ppn, cover: Cover) {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        let wordlines = kernel.wordlines();
        // Pages that move together may begin the next row before this one is programmed.
        let is_by_row = is_by_row(kernel);
        if !is_by_row {
            self.put_done_behind(kernel);
        }
        if wordlines.is_top(slot) {
            if is_by_row && kernel.geometry().row_of_slot(slot.next()).1 != 0 {
                // It is programmed with the last page of its row.
                return;
            }
            self.put_done_behind(kernel);
            let done = &mut self.done;
            self.open.retain(|lower| {
                let completed = slot_in(kernel, unit, lower.at).is_some_and(|lower| is_below(kernel, lower, slot));
                if completed {
                    done.push(*lower);
                }
                !completed
            });
        } else {
            self.open.push(Lower { at, cover });
        }
    }

    /// Another wordline comes to be the one that was completed last.
    #[inline]
    fn put_done_behind(&mut self, kernel: &Kernel) {
        self.earlier.extend(self.done.drain(..));
        self.let_earlier_go(kernel);
    }

    /// Forgets earlier lower pages beyond those that two rows, each of the most pages of a wordline, may need.
    #[inline]
    fn let_earlier_go(&mut self, kernel: &Kernel) {
        let most = kernel.geometry().row_slots() as usize * 2 * MOST_BELOW;
        while self.earlier.len() > most {
            self.earlier.pop_front();
        }
    }

    /// The lower pages that a program at a page puts at risk.
    pub(super) fn below<'a>(&'a self, kernel: &'a Kernel, at: Ppn) -> impl Iterator<Item = Lower> + 'a {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        let is_of_it =
            move |lower: &&Lower| slot_in(kernel, unit, lower.at).is_some_and(|lower| is_below(kernel, lower, slot));
        self.open.iter().filter(is_of_it).copied()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Lower> + '_ {
        self.open.iter().copied()
    }

    /// Lower pages of the wordline that the last program completed.
    pub(super) fn done(&self) -> &[Lower] {
        &self.done
    }

    /// Changes what covers a page.
    pub(super) fn cover(&mut self, at: Ppn, cover: Cover) {
        for lower in self.open.iter_mut().filter(|lower| lower.at == at) {
            lower.cover = cover;
        }
    }

    /// True if a page that is worth keeping depends on a unit. Where pages wait for others of their rows, a newer version may be in the
    /// controller alone.
    pub(super) fn depend_on(&self, kernel: &Kernel, unit: Unit) -> bool {
        let is_needed = |lower: &Lower| is_by_row(kernel) || kernel.is_needed(lower.at);
        self.open.iter().any(|lower| lower.depends_on(kernel, unit) && is_needed(lower))
    }

    /// True if a page below the row of a slot of a unit depends on another unit.
    pub(super) fn depend_below(&self, kernel: &Kernel, at: Ppn, on: Unit) -> bool {
        self.below(kernel, at).any(|lower| lower.depends_on(kernel, on))
    }

    /// Forgets covers that lie in a unit, which is about to be erased. Until it is, a program that is under way may turn out to have failed.
    pub(super) fn uncover(&mut self, kernel: &Kernel, unit: Unit) {
        for lower in self.open.iter_mut().filter(|lower| lower.depends_on(kernel, unit)) {
            self.earlier.push_back(*lower);
            lower.cover = Cover::None;
        }
        self.let_earlier_go(kernel);
    }

    /// A unit is erased: nothing of it covers what was completed last.
    pub(super) fn forget_done(&mut self, kernel: &Kernel, unit: Unit) {
        let is_of_others = |lower: &Lower| !lower.depends_on(kernel, unit) && !lies_in(kernel, lower.at, unit);
        self.done.retain(is_of_others);
        self.earlier.retain(is_of_others);
    }

    /// Forgets covers that are a page, or one that is programmed with it, or a parity of it.
    pub(super) fn uncover_page(&mut self, kernel: &Kernel, page: Ppn) {
        let is_it = |at: Ppn| at == page || is_by_row(kernel) && kernel.geometry().are_in_a_row(at, page);
        for lower in &mut self.open {
            match lower.cover {
                Cover::Copy(at) | Cover::Parity { parity: at, .. } if is_it(at) => lower.cover = Cover::None,
                _ => {}
            }
        }
    }

    /// The cover of a lower page, also of the wordline that the last program completed.
    pub(super) fn cover_of(&self, page: Ppn) -> Cover {
        let of_page = self.open.iter().chain(&self.done).chain(&self.earlier).filter(|lower| lower.at == page);
        of_page.map(|lower| lower.cover).find(|cover| *cover != Cover::None).unwrap_or(Cover::None)
    }

    /// Forgets the pages of a unit that no more pages are added to.
    pub(super) fn forget(&mut self, kernel: &Kernel, unit: Unit) {
        self.earlier.extend(self.open.extract_if(.., |lower| lies_in(kernel, lower.at, unit)));
        self.let_earlier_go(kernel);
    }

    /// Takes up a page that is found programmed.
    pub(super) fn adopt(&mut self, at: Ppn, cover: Cover) {
        self.open.push(Lower { at, cover });
    }
}

/// True if pages are programmed, and so covered, by the row: a flash page has several.
#[inline]
pub(super) fn is_by_row(kernel: &Kernel) -> bool {
    kernel.geometry().parts > 1
}

/// True if a program at a slot puts the page at another slot at risk.
#[inline]
fn is_below(kernel: &Kernel, lower: Slot, slot: Slot) -> bool {
    let wordlines = kernel.wordlines();
    if is_by_row(kernel) { wordlines.share_with_row(lower, slot) } else { wordlines.share(lower, slot) }
}

/// The slot of a page in a unit, if it is there. Most are not, which takes no division.
#[inline]
fn slot_in(kernel: &Kernel, unit: Unit, page: Ppn) -> Option<Slot> {
    let offset = page.0.wrapping_sub(kernel.geometry().ppn(unit, Slot::FIRST).0);
    (offset < kernel.geometry().unit_slots()).then_some(Slot::new(offset))
}

/// True if a page is in a unit.
#[inline]
fn lies_in(kernel: &Kernel, page: Ppn, unit: Unit) -> bool {
    slot_in(kernel, unit, page).is_some()
}
