//! Blocks in SLC mode: they use LSB pages only, share no command with others where the chip tells them apart, and wear less.

use base::{Block, OpKind, Page};

use crate::{Nand, Violation};

/// Wear that cycles in SLC mode spared the blocks, in thousandths of a P/E cycle.
#[derive(Clone, Debug)]
pub(crate) struct ModeWear {
    /// By a cycle.
    by_cycle: u32,
    /// By block.
    spared: Vec<u32>,
}

impl ModeWear {
    /// The wear of modes with other counts by block.
    pub(crate) fn with(self, spared: Vec<u32>) -> ModeWear {
        ModeWear { spared, ..self }
    }
}

impl Nand {
    /// Has a block use its LSB pages only, until its next erase: upper pages are skipped, so that no
    /// program can harm a page that was programmed before. For backup blocks and buffers in SLC mode.
    ///
    /// # Errors
    /// [`Violation`] unless the block is erased.
    pub fn use_lsb_only(&mut self, block: Block) -> Result<(), Violation> {
        self.check_usable(block, Page::FIRST)?;
        let state = &mut self.blocks[block.index()];
        if state.next_page != 0 {
            return Err(Violation::ModeOfUsedBlock { block, next: Page::new(state.next_page.into()) });
        }
        state.mark_lsb_only();
        self.commit(block);
        Ok(())
    }

    pub(crate) fn is_lsb_only(&self, block: Block) -> bool {
        self.blocks[block.index()].is_lsb_only()
    }

    /// From now on no command concerns blocks that use LSB pages only together with others.
    pub fn tell_modes(&mut self) {
        self.tells_modes = true;
    }

    /// True if one command may concern two blocks, as far as their modes go. The mode of a block that is not known yet is neither.
    #[inline]
    pub fn may_share_mode(&self, first: Block, second: Block) -> bool {
        let mode = |block: Block| {
            let state = &self.blocks[block.index()];
            (state.is_lsb_only() || state.next_page > 0).then(|| state.is_lsb_only())
        };
        !self.tells_modes || mode(first).zip(mode(second)).is_some_and(|(first, second)| first == second)
    }

    /// True if an operation concerns two blocks in different modes. A block that is empty is erased in any.
    pub(crate) fn are_in_two_modes(&self, kind: OpKind, first: Block, second: Block) -> bool {
        let has_mode = |block: Block| kind != OpKind::Erase || self.blocks[block.index()].next_page > 0;
        self.is_lsb_only(first) != self.is_lsb_only(second) && has_mode(first) && has_mode(second)
    }

    /// From now on a P/E cycle in SLC mode spares a block so many thousandths of one.
    pub fn keep_mode_wear(&mut self, by_cycle: u32) {
        self.mode_wear = Some(Box::new(ModeWear { by_cycle, spared: vec![0; self.blocks.len()] }));
    }

    /// By block, the wear that cycles in SLC mode spared it, in thousandths of a P/E cycle; empty where every cycle wears alike.
    pub fn spared(&self) -> &[u32] {
        self.mode_wear.as_ref().map_or(&[], |wear| &wear.spared)
    }

    /// A block that is not ordinary is about to be erased.
    pub(crate) fn end_cycle_in_mode(&mut self, block: Block) {
        let is_in_mode = self.blocks[block.index()].is_lsb_only();
        if let Some(wear) = self.mode_wear.as_mut().filter(|_| is_in_mode) {
            wear.spared[block.index()] += wear.by_cycle;
        }
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, Multiplane, OpKind, ProgramOrder};

    use crate::tests::{b, p, shaped};
    use crate::{SavedArray, Violation};

    /// A block in SLC mode programs the LSB flash page of a wordline by itself, and shares no command with others.
    #[test]
    fn blocks_in_slc_mode_are_apart() {
        let mut nand = shaped(Multiplane::Pac, Cell::Mlc, ProgramOrder::Consecutive);
        nand.program_wordlines();
        nand.use_lsb_only(b(0)).unwrap();
        assert_eq!((nand.together_in(b(0)), nand.together_in(b(3))), (1, 2));
        nand.program(b(0), p(0)).unwrap();
        assert!(nand.is_whole(b(0), p(0)));
        assert_eq!(nand.program(b(0), p(1)), Err(Violation::UpperPage { block: b(0), page: p(1) }));
        nand.program(b(3), p(0)).unwrap();
        let places = [(b(0), p(0)), (b(3), p(0))];
        nand.check_multiplane(OpKind::Read, places).unwrap();
        assert!(nand.may_share_mode(b(0), b(3)));
        nand.tell_modes();
        let refused = Violation::MultiplaneModes { kind: OpKind::Read, first: b(0), second: b(3) };
        assert_eq!(nand.check_multiplane(OpKind::Read, places), Err(refused));
        assert!(!nand.may_share_mode(b(0), b(3)));
        let refused = Violation::MultiplaneModes { kind: OpKind::Erase, first: b(0), second: b(3) };
        assert_eq!(nand.check_multiplane(OpKind::Erase, places), Err(refused));
        nand.check_multiplane(OpKind::Erase, [(b(0), p(0)), (b(4), p(0))])
            .expect("an empty block is erased in any mode");
        assert!(!nand.may_share_mode(b(1), b(4)), "the modes of empty blocks are not known yet");
        nand.erase(b(0)).unwrap();
        assert_eq!(nand.together_in(b(0)), 2, "an erase ends the mode");
    }

    #[test]
    fn a_cycle_in_slc_mode_wears_a_block_less() {
        let mut nand = shaped(Multiplane::Off, Cell::Mlc, ProgramOrder::Consecutive);
        nand.keep_mode_wear(900);
        for _ in 0..3 {
            nand.use_lsb_only(b(0)).unwrap();
            nand.program(b(0), p(0)).unwrap();
            nand.erase(b(0)).unwrap();
        }
        nand.program(b(0), p(0)).unwrap();
        nand.erase(b(0)).unwrap();
        assert_eq!((nand.blocks()[0].erases, nand.effective(b(0)), nand.effective(b(1))), (4, 1.3, 0.0));
        let saved = nand.save();
        let mut other = shaped(Multiplane::Off, Cell::Mlc, ProgramOrder::Consecutive);
        other.keep_mode_wear(900);
        other.restore(saved.clone()).unwrap();
        assert_eq!((other.effective(b(0)), other.save()), (1.3, saved.clone()));
        let spared = vec![4001; saved.spared.len()];
        assert!(other.restore(SavedArray { spared, ..saved }).is_err(), "more than it had");
    }
}
