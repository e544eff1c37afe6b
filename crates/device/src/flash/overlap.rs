//! The overlap of a die's commands: pages of its other planes in the same command, a command while one is suspended, and one
//! behind another in cache mode.

use base::{Block, OpKind, Page, Ppn, Unit};
use nand::{Cached, StoreKind};

use super::{Flash, Row, obey};

impl Flash {
    /// True if two pages may go into one multi-plane command, given that their planes are distinct.
    #[inline]
    pub(crate) fn may_share_command(&self, first: Ppn, second: Ppn) -> bool {
        if self.geometry.unit_width > 1 && self.geometry.are_in_a_row(first, second) {
            return self.multiplane;
        }
        let (first_block, first_page) = self.address(first);
        let (second_block, second_page) = self.address(second);
        let fits = self.nand.are_of_one_page(first_page, second_page) || self.planes_are_independent;
        let are_alike = !self.tells_modes || self.nand.may_share_mode(first_block, second_block);
        self.multiplane && fits && are_alike && self.same_block_offset(first_block, second_block)
    }

    /// Pages of a row on several planes may go into one command.
    #[inline]
    pub(crate) fn shares_rows(&self) -> bool {
        self.geometry.unit_width == 1 || self.multiplane
    }

    /// Flash pages have parts, and a read of one concerns nobody but its block: pages store nothing, and no operation is looked at.
    #[inline]
    pub(crate) fn reads_rows(&self) -> bool {
        self.geometry.parts > 1 && self.nand.stores() == StoreKind::Nothing && !self.supply.is_watched()
    }

    /// True if the pages of a multi-plane command may differ in their offset, hence in their type.
    #[inline]
    pub(crate) fn planes_are_independent(&self) -> bool {
        self.planes_are_independent
    }

    /// True if two blocks may go into one multi-plane erase, given that their planes are distinct.
    pub(crate) fn may_share_erase(&self, first_unit: Unit, second_unit: Unit) -> bool {
        let blocks = (self.geometry.block_of(first_unit, 0), self.geometry.block_of(second_unit, 0));
        self.multiplane && self.nand.may_share_mode(blocks.0, blocks.1) && self.same_block_offset(blocks.0, blocks.1)
    }

    #[inline]
    fn same_block_offset(&self, first: Block, second: Block) -> bool {
        let blocks = self.geometry.blocks_per_plane;
        !self.block_address_constraint || first.number() % blocks == second.number() % blocks
    }

    /// Has the array confirm that pages may share a command; the scheduler made sure, and the array checks.
    #[inline]
    pub(crate) fn check_shared(&self, kind: OpKind, ppns: impl Iterator<Item = Ppn> + Clone) {
        let mut all = ppns.clone();
        if let (Some(first), Some(_)) = (all.next(), all.next()) {
            if !cfg!(debug_assertions) && self.multiplane && self.are_of_row(first, ppns.clone()) {
                return;
            }
            let (block, page) = self.address(first);
            // Those of a row lie so many planes further on.
            let address = |ppn: Ppn| {
                if self.geometry.unit_width > 1 && self.geometry.parts == 1 && self.geometry.are_in_a_row(first, ppn) {
                    let planes = ppn.0.wrapping_sub(first.0);
                    (Block::new(block.number().wrapping_add(planes.wrapping_mul(self.geometry.blocks_per_plane))), page)
                } else {
                    self.address(ppn)
                }
            };
            obey(self.nand.check_multiplane(kind, ppns.map(address)));
        }
    }

    /// Flash pages with parts lie in the row of one, on distinct planes.
    fn are_of_row(&self, first: Ppn, mut pages: impl Iterator<Item = Ppn>) -> bool {
        let row = self.geometry.row_around(first);
        self.geometry.parts > 1 && pages.all(|page| row.contains(&page.0))
    }

    /// Where an operation on these pages works, one place for those that are programmed together.
    pub(crate) fn places_of(&self, ppns: impl Iterator<Item = Ppn>, places: &mut Vec<(Block, Page)>) {
        places.clear();
        if self.programs_by_row() {
            return self.places_in_rows(ppns, places);
        }
        places.extend(self.flash_pages(ppns));
        places.dedup_by_key(|&mut (block, page)| (block, self.nand.last_of_wordline(block, page)));
    }

    /// They are pages of several flash pages, each of which is programmed by itself: the places of these.
    fn places_in_rows(&self, firsts: impl Iterator<Item = Ppn>, places: &mut Vec<(Block, Page)>) {
        let mut row = Row::NONE;
        for ppn in firsts {
            if !row.pages.contains(&ppn.0) {
                row = self.row(ppn);
            }
            places.push(self.address_in(&row, ppn));
        }
    }

    /// True if a page can be read while an operation of that kind is suspended there.
    #[inline(never)]
    pub(crate) fn may_read_while_suspended(&self, suspended: (OpKind, &[(Block, Page)]), ppn: Ppn) -> bool {
        self.nand.check_while_suspended(suspended, OpKind::Read, &[self.address(ppn)]).is_ok()
    }

    /// Has the array confirm that a die takes a command while an operation is suspended.
    #[inline(never)]
    pub(crate) fn check_while_suspended(
        &self,
        suspended: (OpKind, &[(Block, Page)]),
        kind: OpKind,
        ppns: impl Iterator<Item = Ppn>,
    ) {
        for ppn in ppns {
            obey(self.nand.check_while_suspended(suspended, kind, &[self.address(ppn)]));
        }
    }

    /// Has the array confirm that a die takes a command for these pages in cache mode, behind one that is not done.
    pub(crate) fn check_cached(&self, running: Cached, next: Cached, mut ppns: impl Iterator<Item = Ppn>) {
        if let Some(first) = ppns.next() {
            obey(self.nand.check_cached(running, next, &[self.address(first)]));
        }
    }
}
