//! Which pages of a unit share cells: a fact of the flash that protections, repair and restart look at.

use base::{Cell, Geometry, PageLayout, ProgramOrder};

/// Wordlines by slot. Pages of different blocks of a unit never share cells.
#[derive(Clone, Debug)]
pub(crate) struct Wordlines {
    /// Wordline of the unit.
    line: Vec<u32>,
    /// Page type, 0 for LSB.
    kind: Vec<u8>,
    /// The page type that completes a wordline.
    top: u8,
    /// Blocks of a unit.
    width: u32,
    /// Lower pages whose wordlines are not complete, at most, while a unit is filled.
    most_open: u32,
}

impl Wordlines {
    pub(crate) fn new(cell: Cell, order: ProgramOrder, geometry: &Geometry) -> Wordlines {
        let layout = PageLayout::new(cell, order, geometry.pages_per_block);
        let width = geometry.unit_width;
        let slots = 0..layout.len() as u32 * width;
        let mut wordlines = Wordlines {
            line: slots.clone().map(|slot| layout.wordline(slot / width) * width + slot % width).collect(),
            kind: slots.clone().map(|slot| layout.page_type(slot / width).0).collect(),
            top: cell.bits() as u8 - 1,
            width,
            most_open: 0,
        };
        let mut open = 0;
        for slot in slots {
            if wordlines.is_top(slot) {
                open -= u32::from(wordlines.top);
            } else {
                open += 1;
            }
            wordlines.most_open = wordlines.most_open.max(open);
        }
        wordlines
    }

    /// Whether the page at a slot is the first of its wordline.
    #[inline]
    pub(crate) fn is_lsb(&self, slot: u32) -> bool {
        self.kind[slot as usize] == 0
    }

    /// Whether the page at a slot completes its wordline.
    #[inline]
    pub(crate) fn is_top(&self, slot: u32) -> bool {
        self.kind[slot as usize] == self.top
    }

    /// Whether the pages at two slots share cells.
    #[inline]
    pub(crate) fn share(&self, first: u32, second: u32) -> bool {
        self.line[first as usize] == self.line[second as usize]
    }

    /// Lower pages whose wordlines are not complete, at most, while a unit is filled.
    #[inline]
    pub(crate) fn most_open(&self) -> u32 {
        self.most_open
    }

    /// The slot of the LSB page behind a slot; the number of slots if there is none.
    pub(crate) fn next_lsb(&self, slot: u32) -> u32 {
        let len = self.kind.len() as u32;
        (slot + 1..len).find(|&next| self.is_lsb(next)).unwrap_or(len)
    }

    /// The same in the block of that slot.
    pub(crate) fn next_lsb_of_block(&self, slot: u32) -> u32 {
        let len = self.kind.len() as u32;
        let mut behind = (slot + self.width..len).step_by(self.width as usize);
        behind.find(|&next| self.is_lsb(next)).unwrap_or(len)
    }

    /// By slot: the slot of the LSB page behind it.
    pub(crate) fn next_lsb_by_slot(&self) -> Vec<u16> {
        (0..self.kind.len() as u32).map(|slot| self.next_lsb(slot) as u16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Dimensions;

    #[test]
    fn blocks_of_a_unit_have_wordlines_of_their_own() {
        for width in [1, 2] {
            let geometry = Geometry::new(Dimensions {
                planes_per_die: 2,
                blocks_per_plane: 4,
                pages_per_block: 6,
                unit_width: width,
                ..Dimensions::ONE_PAGE
            });
            let wordlines = Wordlines::new(Cell::Mlc, ProgramOrder::Shadow, &geometry);
            // LSB0 LSB1 MSB0 LSB2 MSB1 MSB2, each on every plane.
            let slot = |page: u32, lane: u32| page * width + lane;
            for lane in 0..width {
                assert!(wordlines.is_lsb(slot(0, lane)) && wordlines.is_top(slot(2, lane)));
                assert!(wordlines.share(slot(0, lane), slot(2, lane)));
                assert_eq!(wordlines.next_lsb_of_block(slot(1, lane)), slot(3, lane));
            }
            assert_eq!(wordlines.share(slot(0, 0), slot(2, width - 1)), width == 1);
            assert_eq!((wordlines.next_lsb(0), wordlines.most_open()), (1, 2 * width));
        }
    }
}
