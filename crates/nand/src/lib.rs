//! The NAND array: the state of every block, what its pages store, and the rules of real flash.
//!
//! It refuses what real flash refuses, always, in release builds too; an FTL that breaks a rule is
//! stopped at once. It does not know why an operation was sent, what a logical page is, or what time it
//! is. Blocks are numbered device-wide, plane by plane; pages of a block in their program order.

use std::collections::BTreeSet;

use base::{Cell, Multiplane, OpKind, PageLayout, ProgramOrder};

/// A rule of the flash that a command would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A page that is programmed already.
    #[error("program of page {page} of block {block}, which is programmed and not erased")]
    ProgramTwice {
        /// Block.
        block: u32,
        /// Page offset.
        page: u32,
    },
    /// A page before its turn (which also programs an MSB page before its LSB page).
    #[error("program of page {page} of block {block} out of order: page {next} is next")]
    ProgramOrder {
        /// Block.
        block: u32,
        /// Page offset.
        page: u32,
        /// The only page that may be programmed.
        next: u32,
    },
    /// A page that holds nothing.
    #[error("read of page {page} of block {block}, which is not programmed")]
    ReadUnprogrammed {
        /// Block.
        block: u32,
        /// Page offset.
        page: u32,
    },
    /// The MSB page of a wordline that was reprogrammed: its data are gone.
    #[error("read of page {page} of block {block}, whose wordline was reprogrammed")]
    ReadReprogrammed {
        /// Block.
        block: u32,
        /// Page offset.
        page: u32,
    },
    /// A reprogram of a page that is not an MSB page, is not programmed, or was reprogrammed already.
    #[error("reprogram of page {page} of block {block}, which is not an MSB page programmed once")]
    Reprogram {
        /// Block.
        block: u32,
        /// Page offset.
        page: u32,
    },
    /// A copyback from one plane to another.
    #[error("copyback from plane {from} to plane {to}: data cannot leave their plane without leaving the chip")]
    CopybackPlanes {
        /// Plane of the page to copy.
        from: u32,
        /// Plane of the page to program.
        to: u32,
    },
    /// A bad block.
    #[error("use of bad block {block}")]
    BadBlock {
        /// Block.
        block: u32,
    },
    /// No such page.
    #[error("page {page} of block {block} does not exist")]
    NoSuchPage {
        /// Block.
        block: u32,
        /// Page offset.
        page: u32,
    },
    /// A multi-plane command on a chip that has none.
    #[error("multi-plane {kind:?} on chips without multi-plane commands")]
    MultiplaneOff {
        /// Kind of operation.
        kind: OpKind,
    },
    /// A multi-plane command over two dies, or twice on one plane.
    #[error("multi-plane {kind:?} on planes {first} and {second}, which are not distinct planes of one die")]
    MultiplanePlanes {
        /// Kind of operation.
        kind: OpKind,
        /// A plane of the command.
        first: u32,
        /// Another plane of it.
        second: u32,
    },
    /// A multi-plane command on different page offsets.
    #[error("multi-plane {kind:?} of page offsets {first} and {second}: the page address constraint wants one offset")]
    MultiplanePages {
        /// Kind of operation.
        kind: OpKind,
        /// A page offset of the command.
        first: u32,
        /// Another one.
        second: u32,
    },
    /// A multi-plane command on different block offsets.
    #[error(
        "multi-plane {kind:?} of block offsets {first} and {second}: the block address constraint wants one offset"
    )]
    MultiplaneBlocks {
        /// Kind of operation.
        kind: OpKind,
        /// A block offset of the command.
        first: u32,
        /// Another one.
        second: u32,
    },
}

/// The state of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Erases so far.
    pub erases: u32,
    /// Page reads since the last erase.
    pub reads: u32,
    /// The page offset that is programmed next; pages below it are programmed.
    pub next_page: u16,
    /// Whether the block may not be used.
    pub bad: bool,
    /// Whether a wordline of the block was reprogrammed since the last erase: the block stores fewer bits.
    pub low_density: bool,
}

/// The shape of the array: all that the rules need to know.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Planes of the device.
    pub planes: u32,
    /// Planes of a die.
    pub planes_per_die: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block; at most 65 535.
    pub pages_per_block: u32,
    /// Which multi-plane commands the chips accept.
    pub multiplane: Multiplane,
    /// Bits per cell.
    pub cell: Cell,
    /// The order in which the pages of a block are numbered.
    pub program_order: ProgramOrder,
}

/// The array.
#[derive(Clone)]
pub struct Nand {
    shape: Shape,
    blocks: Vec<Block>,
    layout: PageLayout,
    /// Reprogrammed pages as (block, page); looked at for low-density blocks only.
    reprogrammed: BTreeSet<(u32, u32)>,
    /// What each page stores (block × pages per block + page); empty when payloads are off.
    stamps: Vec<u64>,
}

impl Nand {
    /// A pristine array; with `stamps` every page stores 8 bytes.
    pub fn new(shape: Shape, stamps: bool) -> Nand {
        assert!(shape.pages_per_block <= u32::from(u16::MAX), "a block has at most 65535 pages");
        let blocks = shape.planes as usize * shape.blocks_per_plane as usize;
        let stored = if stamps { blocks * shape.pages_per_block as usize } else { 0 };
        Nand {
            shape,
            blocks: vec![Block::default(); blocks],
            layout: PageLayout::new(shape.cell, shape.program_order, shape.pages_per_block),
            reprogrammed: BTreeSet::new(),
            stamps: vec![0; stored],
        }
    }

    /// Reads a page.
    ///
    /// # Errors
    /// [`Violation`] when the page is not programmed, does not exist, or its block is bad.
    #[inline]
    pub fn read(&mut self, block: u32, page: u32) -> Result<(), Violation> {
        let Some(state) = self.blocks.get_mut(block as usize) else {
            return Err(Violation::NoSuchPage { block, page });
        };
        if page >= u32::from(state.next_page) || state.bad || state.low_density {
            self.check_read(block, page)?;
        }
        self.blocks[block as usize].reads += 1;
        Ok(())
    }

    /// Programs a page.
    ///
    /// # Errors
    /// [`Violation`] when the page is not the block's next one, does not exist, or the block is bad.
    #[inline]
    pub fn program(&mut self, block: u32, page: u32) -> Result<(), Violation> {
        let pages = self.shape.pages_per_block;
        let Some(state) = self.blocks.get_mut(block as usize) else {
            return Err(Violation::NoSuchPage { block, page });
        };
        if page != u32::from(state.next_page) || page >= pages || state.bad {
            return Err(self.refused_program(block, page));
        }
        state.next_page += 1;
        Ok(())
    }

    /// Erases a block.
    ///
    /// # Errors
    /// [`Violation`] when the block does not exist or is bad.
    #[inline]
    pub fn erase(&mut self, block: u32) -> Result<(), Violation> {
        match self.blocks.get_mut(block as usize) {
            None => Err(Violation::NoSuchPage { block, page: 0 }),
            Some(state) if state.bad => Err(Violation::BadBlock { block }),
            Some(state) => {
                state.erases += 1;
                state.reads = 0;
                state.next_page = 0;
                if state.low_density {
                    state.low_density = false;
                    self.reprogrammed.retain(|&(at, _)| at != block);
                }
                Ok(())
            }
        }
    }

    /// Copies a page inside its plane, without its data leaving the chip: (block, page) to (block, page).
    ///
    /// # Errors
    /// [`Violation`] when the planes differ, or where a read of the one or a program of the other is refused.
    pub fn copyback(&mut self, from: (u32, u32), to: (u32, u32)) -> Result<(), Violation> {
        let planes = (from.0 / self.shape.blocks_per_plane, to.0 / self.shape.blocks_per_plane);
        if planes.0 != planes.1 {
            return Err(Violation::CopybackPlanes { from: planes.0, to: planes.1 });
        }
        self.read(from.0, from.1)?;
        self.program(to.0, to.1)?;
        let stamp = self.stamp(from.0, from.1);
        self.store(to.0, to.1, stamp);
        Ok(())
    }

    /// Reprograms an MSB page in place: the other pages of its wordline keep their data and gain margin, its
    /// own are lost, and the block counts as of low density until it is erased.
    ///
    /// # Errors
    /// [`Violation`] unless the page is a programmed MSB page (of a cell of two or more bits) that was not
    /// reprogrammed before.
    pub fn reprogram(&mut self, block: u32, page: u32) -> Result<(), Violation> {
        let refused = Violation::Reprogram { block, page };
        let Some(state) = self.blocks.get_mut(block as usize) else {
            return Err(Violation::NoSuchPage { block, page });
        };
        if state.bad {
            return Err(Violation::BadBlock { block });
        }
        let bits = self.shape.cell.bits();
        let is_programmed = page < u32::from(state.next_page);
        if !is_programmed || bits < 2 || u32::from(self.layout.page_type(page).0) + 1 != bits {
            return Err(refused);
        }
        if !self.reprogrammed.insert((block, page)) {
            return Err(refused);
        }
        state.low_density = true;
        Ok(())
    }

    /// Checks that (block, page) pairs may go into one multi-plane command of that kind. An erase has no
    /// page: give 0.
    ///
    /// # Errors
    /// [`Violation`] naming the rule and the two addresses that break it.
    pub fn check_multiplane(&self, kind: OpKind, places: &[(u32, u32)]) -> Result<(), Violation> {
        let Some((&(first_block, first_page), rest)) = places.split_first() else { return Ok(()) };
        if rest.is_empty() {
            return Ok(());
        }
        if self.shape.multiplane == Multiplane::Off {
            return Err(Violation::MultiplaneOff { kind });
        }
        let split = |block: u32| (block / self.shape.blocks_per_plane, block % self.shape.blocks_per_plane);
        let (first_plane, first_offset) = split(first_block);
        let die = first_plane / self.shape.planes_per_die;
        let mut seen = 1u64 << (first_plane % self.shape.planes_per_die);
        for &(block, page) in rest {
            let (plane, offset) = split(block);
            let bit = 1u64 << (plane % self.shape.planes_per_die);
            if plane / self.shape.planes_per_die != die || seen & bit != 0 {
                return Err(Violation::MultiplanePlanes { kind, first: first_plane, second: plane });
            }
            seen |= bit;
            if kind != OpKind::Erase && page != first_page {
                return Err(Violation::MultiplanePages { kind, first: first_page, second: page });
            }
            if self.shape.multiplane == Multiplane::Bac && offset != first_offset {
                return Err(Violation::MultiplaneBlocks { kind, first: first_offset, second: offset });
            }
        }
        Ok(())
    }

    /// Whether a page is programmed.
    #[inline]
    pub fn is_programmed(&self, block: u32, page: u32) -> bool {
        page < u32::from(self.blocks[block as usize].next_page)
    }

    /// Marks a block as bad: no further command may name it.
    pub fn mark_bad(&mut self, block: u32) {
        self.blocks[block as usize].bad = true;
    }

    /// The state of every block.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Puts back states that [`Nand::blocks`] gave, and the stamps with them.
    ///
    /// # Panics
    /// If there are not as many blocks as the array has.
    pub fn restore(&mut self, blocks: Vec<Block>, stamps: Vec<u64>) {
        assert_eq!(blocks.len(), self.blocks.len(), "a state of another array");
        self.blocks = blocks;
        self.stamps = stamps;
    }

    /// Whether pages store stamps.
    #[inline]
    pub fn has_stamps(&self) -> bool {
        !self.stamps.is_empty()
    }

    /// What every page stores; empty when payloads are off.
    pub fn stamps(&self) -> &[u64] {
        &self.stamps
    }

    /// What a page stores; 0 when payloads are off.
    #[inline]
    pub fn stamp(&self, block: u32, page: u32) -> u64 {
        self.stamps.get(self.stamp_index(block, page)).copied().unwrap_or(0)
    }

    /// Stores the payload of a page that was just programmed; nothing happens when payloads are off.
    #[inline]
    pub fn store(&mut self, block: u32, page: u32, stamp: u64) {
        let index = self.stamp_index(block, page);
        if let Some(slot) = self.stamps.get_mut(index) {
            *slot = stamp;
        }
    }

    fn stamp_index(&self, block: u32, page: u32) -> usize {
        block as usize * self.shape.pages_per_block as usize + page as usize
    }

    /// The slow half of [`Nand::read`]: what is wrong with the read, if anything.
    #[cold]
    fn check_read(&self, block: u32, page: u32) -> Result<(), Violation> {
        let state = self.blocks[block as usize];
        if page >= self.shape.pages_per_block {
            Err(Violation::NoSuchPage { block, page })
        } else if state.bad {
            Err(Violation::BadBlock { block })
        } else if page >= u32::from(state.next_page) {
            Err(Violation::ReadUnprogrammed { block, page })
        } else if self.reprogrammed.contains(&(block, page)) {
            Err(Violation::ReadReprogrammed { block, page })
        } else {
            Ok(())
        }
    }

    #[cold]
    fn refused_program(&self, block: u32, page: u32) -> Violation {
        let state = self.blocks[block as usize];
        let next = u32::from(state.next_page);
        if page >= self.shape.pages_per_block {
            Violation::NoSuchPage { block, page }
        } else if state.bad {
            Violation::BadBlock { block }
        } else if page < next {
            Violation::ProgramTwice { block, page }
        } else {
            Violation::ProgramOrder { block, page, next }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 dies of 2 planes, 3 blocks a plane, 4 pages a block: block = plane × 3 + offset.
    fn nand(multiplane: Multiplane) -> Nand {
        shaped(multiplane, Cell::Mlc, ProgramOrder::Consecutive)
    }

    fn shaped(multiplane: Multiplane, cell: Cell, program_order: ProgramOrder) -> Nand {
        let (planes, planes_per_die, blocks_per_plane, pages_per_block) = (4, 2, 3, 4);
        let shape =
            Shape { planes, planes_per_die, blocks_per_plane, pages_per_block, multiplane, cell, program_order };
        Nand::new(shape, true)
    }

    #[test]
    fn programs_only_the_next_page() {
        let mut nand = nand(Multiplane::Pac);
        assert_eq!(nand.program(0, 1), Err(Violation::ProgramOrder { block: 0, page: 1, next: 0 }));
        nand.program(0, 0).unwrap();
        assert_eq!(nand.program(0, 0), Err(Violation::ProgramTwice { block: 0, page: 0 }));
        nand.program(0, 1).unwrap();
        nand.program(0, 2).unwrap();
        nand.program(0, 3).unwrap();
        assert_eq!(nand.program(0, 4), Err(Violation::NoSuchPage { block: 0, page: 4 }));
        assert_eq!(nand.program(12, 0), Err(Violation::NoSuchPage { block: 12, page: 0 }));
    }

    #[test]
    fn erasing_makes_a_block_new_and_counts() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(5, 0).unwrap();
        nand.read(5, 0).unwrap();
        assert_eq!(nand.blocks()[5], Block { erases: 0, reads: 1, next_page: 1, ..Block::default() });
        nand.erase(5).unwrap();
        assert_eq!(nand.blocks()[5], Block { erases: 1, ..Block::default() });
        assert_eq!(nand.read(5, 0), Err(Violation::ReadUnprogrammed { block: 5, page: 0 }));
        nand.program(5, 0).unwrap();
    }

    #[test]
    fn reads_only_what_is_programmed() {
        let mut nand = nand(Multiplane::Pac);
        assert_eq!(nand.read(1, 0), Err(Violation::ReadUnprogrammed { block: 1, page: 0 }));
        assert_eq!(nand.read(1, 9), Err(Violation::NoSuchPage { block: 1, page: 9 }));
        assert_eq!(nand.read(99, 0), Err(Violation::NoSuchPage { block: 99, page: 0 }));
    }

    #[test]
    fn bad_blocks_are_untouchable() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(2, 0).unwrap();
        nand.mark_bad(2);
        assert_eq!(nand.read(2, 0), Err(Violation::BadBlock { block: 2 }));
        assert_eq!(nand.program(2, 1), Err(Violation::BadBlock { block: 2 }));
        assert_eq!(nand.erase(2), Err(Violation::BadBlock { block: 2 }));
        assert_eq!(nand.erase(12), Err(Violation::NoSuchPage { block: 12, page: 0 }));
    }

    #[test]
    fn multiplane_commands_keep_to_the_address_constraints() {
        let read = OpKind::Read;
        let off = nand(Multiplane::Off);
        assert_eq!(off.check_multiplane(read, &[(0, 0), (3, 0)]), Err(Violation::MultiplaneOff { kind: read }));
        off.check_multiplane(read, &[(0, 0)]).unwrap();

        let pac = nand(Multiplane::Pac);
        pac.check_multiplane(read, &[(0, 2), (4, 2)]).unwrap();
        let two = |first, second| Err(Violation::MultiplanePlanes { kind: read, first, second });
        assert_eq!(pac.check_multiplane(read, &[(0, 2), (1, 2)]), two(0, 0));
        assert_eq!(pac.check_multiplane(read, &[(3, 2), (6, 2)]), two(1, 2));
        assert_eq!(
            pac.check_multiplane(read, &[(0, 2), (3, 1)]),
            Err(Violation::MultiplanePages { kind: read, first: 2, second: 1 })
        );
        pac.check_multiplane(OpKind::Erase, &[(0, 0), (5, 0)]).unwrap();

        let bac = nand(Multiplane::Bac);
        bac.check_multiplane(read, &[(1, 2), (4, 2)]).unwrap();
        assert_eq!(
            bac.check_multiplane(OpKind::Erase, &[(0, 0), (5, 0)]),
            Err(Violation::MultiplaneBlocks { kind: OpKind::Erase, first: 0, second: 2 })
        );
    }

    #[test]
    fn stamps_are_kept_where_they_are_written() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(7, 0).unwrap();
        nand.store(7, 0, 42);
        assert_eq!((nand.stamp(7, 0), nand.stamp(7, 1)), (42, 0));
    }

    #[test]
    fn the_order_of_pages_programs_every_lsb_before_its_msb() {
        for order in [ProgramOrder::Consecutive, ProgramOrder::Shadow] {
            let layout = PageLayout::new(Cell::Mlc, order, 4);
            let msb = (0..4).find(|&page| layout.page_type(page).0 == 1).unwrap();
            let lsb = (0..4).find(|&page| page != msb && layout.wordline(page) == layout.wordline(msb)).unwrap();
            assert!(lsb < msb);
            let mut nand = shaped(Multiplane::Pac, Cell::Mlc, order);
            assert_eq!(nand.program(0, msb), Err(Violation::ProgramOrder { block: 0, page: msb, next: 0 }));
        }
    }

    #[test]
    fn copyback_stays_inside_a_plane() {
        let mut nand = nand(Multiplane::Pac);
        nand.program(0, 0).unwrap();
        nand.store(0, 0, 9);
        assert_eq!(nand.copyback((0, 0), (3, 0)), Err(Violation::CopybackPlanes { from: 0, to: 1 }));
        assert_eq!(nand.copyback((0, 1), (1, 0)), Err(Violation::ReadUnprogrammed { block: 0, page: 1 }));
        assert_eq!(nand.copyback((0, 0), (1, 1)), Err(Violation::ProgramOrder { block: 1, page: 1, next: 0 }));
        nand.copyback((0, 0), (1, 0)).unwrap();
        assert_eq!(nand.stamp(1, 0), 9);
    }

    #[test]
    fn only_a_programmed_msb_page_is_reprogrammed_and_only_once() {
        // Consecutive MLC: pages 1 and 3 are MSB pages.
        let mut nand = nand(Multiplane::Pac);
        assert_eq!(nand.reprogram(0, 1), Err(Violation::Reprogram { block: 0, page: 1 }), "not programmed");
        for page in 0..2 {
            nand.program(0, page).unwrap();
        }
        assert_eq!(nand.reprogram(0, 0), Err(Violation::Reprogram { block: 0, page: 0 }), "an LSB page");
        nand.reprogram(0, 1).unwrap();
        assert!(nand.blocks()[0].low_density);
        assert_eq!(nand.reprogram(0, 1), Err(Violation::Reprogram { block: 0, page: 1 }), "twice");
        nand.read(0, 0).unwrap();
        assert_eq!(nand.read(0, 1), Err(Violation::ReadReprogrammed { block: 0, page: 1 }));
        nand.erase(0).unwrap();
        assert!(!nand.blocks()[0].low_density);
        nand.program(0, 0).unwrap();
        nand.program(0, 1).unwrap();
        nand.read(0, 1).unwrap();
        nand.mark_bad(0);
        assert_eq!(nand.reprogram(0, 1), Err(Violation::BadBlock { block: 0 }));
        assert_eq!(nand.reprogram(12, 1), Err(Violation::NoSuchPage { block: 12, page: 1 }));
        // A cell of one bit has no MSB page over an LSB page.
        let mut slc = shaped(Multiplane::Pac, Cell::Slc, ProgramOrder::Consecutive);
        slc.program(0, 0).unwrap();
        assert_eq!(slc.reprogram(0, 0), Err(Violation::Reprogram { block: 0, page: 0 }));
    }
}
