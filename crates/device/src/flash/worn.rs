//! Blocks that fail for good: which operation fails, and the marks on the blocks of units that are retired.

use base::{Block, OpKind, Page, Unit};
use ftl::Erasure;
use nand::BlockLives;

use super::Flash;
use super::faults::Fate;

impl Flash {
    /// From now on blocks fail at the ends of their lives. The units of those that are bad from the factory are marked.
    pub(crate) fn keep_lives(&mut self, lives: BlockLives) {
        self.supply.watch();
        self.lives = Some(Box::new(lives));
        self.mark_factory_bad();
    }

    /// Units that are bad from the factory are marked, where they are not.
    pub(crate) fn mark_factory_bad(&mut self) {
        let Some(lives) = self.lives.take() else { return };
        for unit in self.geometry.all_units() {
            if !self.is_bad(unit) && self.blocks_of(unit).any(|block| lives.is_bad(block)) {
                self.retire(unit);
            }
        }
        self.lives = Some(lives);
    }

    /// From now on each erase stands for so many P/E cycles.
    pub(crate) fn shorten_lives(&mut self, cycles_per_erase: u32) {
        if let Some(lives) = &mut self.lives {
            lives.shorten(cycles_per_erase, |block| self.nand.blocks()[block.index()].erases);
        }
    }

    /// Blocks fail.
    #[inline]
    pub(crate) fn has_lives(&self) -> bool {
        self.lives.is_some()
    }

    fn blocks_of(&self, unit: Unit) -> impl Iterator<Item = Block> + use<> {
        let geometry = self.geometry;
        (0..geometry.unit_width).map(move |lane| geometry.block_of(unit, lane))
    }

    /// The blocks of a unit are marked so.
    pub(crate) fn is_bad(&self, unit: Unit) -> bool {
        self.blocks_of(unit).any(|block| self.nand.blocks()[block.index()].is_bad())
    }

    /// The blocks of a unit are marked as bad: the array takes no command for them any more.
    pub(crate) fn retire(&mut self, unit: Unit) {
        self.blocks_of(unit).for_each(|block| self.nand.mark_bad(block));
    }

    /// After an erase: it has failed.
    #[inline]
    pub(crate) fn has_failed_erase(&self, unit: Unit) -> bool {
        self.lives.is_some() && self.is_torn(unit)
    }

    /// After an erase: its unit is retired if it is to be, or if the erase failed. Returns whether it did not.
    #[inline]
    pub(crate) fn retire_if_bad(&mut self, erasure: Erasure) -> bool {
        if self.lives.is_none() || self.is_off() {
            return true;
        }
        let has_failed = self.is_torn(erasure.unit);
        if has_failed || erasure.retires {
            self.retire(erasure.unit);
        }
        !has_failed
    }

    /// The fate of the program of a page, or of all up to it that are programmed together.
    #[inline(always)] // Once per page.
    pub(super) fn fate_of_program(&mut self, block: Block, last: Page) -> Fate {
        if self.supply.is_watched() { self.watched_program(block, last) } else { Fate::Completes }
    }

    #[inline(never)]
    fn watched_program(&mut self, block: Block, last: Page) -> Fate {
        let erases = self.nand.blocks()[block.index()].erases;
        let fails = self.lives.as_ref().is_some_and(|lives| lives.fails_program(block, last, erases));
        self.supply.next_watched(OpKind::Program, fails)
    }

    /// The fate of the erase of a unit.
    #[inline]
    pub(super) fn fate_of_erase(&mut self, unit: Unit) -> Fate {
        if self.supply.is_watched() { self.watched_erase(unit) } else { Fate::Completes }
    }

    #[inline(never)]
    fn watched_erase(&mut self, unit: Unit) -> Fate {
        let fails = self.lives.as_ref().is_some_and(|lives| {
            let erases = |block: Block| self.nand.blocks()[block.index()].erases;
            self.blocks_of(unit).any(|block| lives.fails_erase(block, erases(block)))
        });
        self.supply.next_watched(OpKind::Erase, fails)
    }
}
