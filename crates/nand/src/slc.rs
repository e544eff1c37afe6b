//! Wear by mode: a P/E cycle of a block in SLC mode wears it less.

use base::Block;

use crate::Nand;

/// What cycles in SLC mode spared the blocks, in thousandths of a P/E cycle.
#[derive(Clone, Debug)]
pub(crate) struct ModeWear {
    /// By a cycle.
    by_cycle: u32,
    /// By block.
    spared: Vec<u32>,
}

impl ModeWear {
    /// The same for other blocks.
    pub(crate) fn with(self, spared: Vec<u32>) -> ModeWear {
        ModeWear { spared, ..self }
    }
}

impl Nand {
    /// From now on a P/E cycle in SLC mode spares a block so many thousandths of one.
    pub fn keep_mode_wear(&mut self, by_cycle: u32) {
        self.mode_wear = Some(Box::new(ModeWear { by_cycle, spared: vec![0; self.blocks.len()] }));
    }

    /// By block, what cycles in SLC mode spared it, in thousandths of a P/E cycle; empty where every cycle wears alike.
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
