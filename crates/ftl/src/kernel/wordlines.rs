//! Which pages of a unit share cells: a fact of the flash that protections, repair and restart look at.

use base::{Cell, Geometry, PageLayout, ProgramOrder, Slot};

/// Wordlines by slot. Pages of different blocks of a unit never share cells.
#[derive(Clone, Debug)]
pub(crate) struct Wordlines {
    /// Wordline of the unit.
    line: Vec<u32>,
    /// Page type, 0 for LSB.
    kind: Vec<u8>,
    /// The page type that completes a wordline.
    top: u8,
    /// Slots of a row.
    row: u32,
    /// Lower pages whose wordlines are not complete, at most, while a unit is filled.
    most_open: u32,
}

impl Wordlines {
    pub(crate) fn new(cell: Cell, order: ProgramOrder, geometry: &Geometry) -> Wordlines {
        let layout = PageLayout::new(cell, order, geometry.pages_per_block, geometry.parts);
        let width = geometry.unit_width;
        let slots = 0..geometry.unit_slots();
        let page = |slot: u32| geometry.page_of_slot(Slot::new(slot)).number();
        let lane = |slot: u32| geometry.lane_of_slot(Slot::new(slot));
        let mut wordlines = Wordlines {
            line: slots.clone().map(|slot| layout.wordline(page(slot)) * width + lane(slot)).collect(),
            kind: slots.clone().map(|slot| layout.page_type(page(slot)).0).collect(),
            top: cell.bits() as u8 - 1,
            row: geometry.row_slots(),
            most_open: 0,
        };
        let mut open = 0;
        for slot in slots.map(Slot::new) {
            if wordlines.is_top(slot) {
                open -= u32::from(wordlines.top);
            } else {
                open += 1;
            }
            wordlines.most_open = wordlines.most_open.max(open);
        }
        wordlines
    }

    /// True if the page at a slot is the first of its wordline.
    #[inline]
    pub(crate) fn is_lsb(&self, slot: Slot) -> bool {
        self.kind[slot.index()] == 0
    }

    /// True if the page at a slot completes its wordline.
    #[inline]
    pub(crate) fn is_top(&self, slot: Slot) -> bool {
        self.kind[slot.index()] == self.top
    }

    /// Lower pages of the wordline of a slot: those that a program of it puts at risk.
    #[inline]
    pub(crate) fn lowers_of(&self, slot: Slot) -> u32 {
        self.kind[slot.index()].into()
    }

    /// True if the pages at two slots share cells.
    #[inline]
    pub(crate) fn share(&self, first: Slot, second: Slot) -> bool {
        self.line[first.index()] == self.line[second.index()]
    }

    /// True if the page at a slot lies in an earlier row than another slot, and shares cells with that row, which is programmed as a whole
    /// where a flash page has several pages.
    pub(crate) fn share_with_row(&self, lower: Slot, slot: Slot) -> bool {
        let first = slot.number() / self.row * self.row;
        lower.number() < first && (first..first + self.row).any(|other| self.share(lower, Slot::new(other)))
    }

    /// Lower pages whose wordlines are not complete, at most, while a unit is filled.
    #[inline]
    pub(crate) fn most_open(&self) -> u32 {
        self.most_open
    }

    /// The slot of the LSB page behind a slot; that behind the last one if there is none.
    pub(crate) fn next_lsb(&self, slot: Slot) -> Slot {
        self.next_lsb_of(slot.number() + 1, 1)
    }

    /// The slot of the next LSB page of the same block, at the slot's place in its row.
    pub(crate) fn next_lsb_of_block(&self, slot: Slot) -> Slot {
        self.next_lsb_of(slot.number() + self.row, self.row as usize)
    }

    fn next_lsb_of(&self, from: u32, step: usize) -> Slot {
        let len = self.kind.len() as u32;
        let mut slots = (from..len).step_by(step).map(Slot::new);
        slots.find(|&slot| self.is_lsb(slot)).unwrap_or(Slot::new(len))
    }

    /// By slot: the slot of the LSB page behind it.
    pub(crate) fn next_lsb_by_slot(&self) -> Vec<u16> {
        Slot::new(self.kind.len() as u32).all_before().map(|slot| self.next_lsb(slot).number() as u16).collect()
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
            let slot = |page, lane| geometry.slot_at(base::Page::new(page), lane);
            for lane in 0..width {
                assert!(wordlines.is_lsb(slot(0, lane)) && wordlines.is_top(slot(2, lane)));
                assert!(wordlines.share(slot(0, lane), slot(2, lane)));
                assert_eq!(wordlines.next_lsb_of_block(slot(1, lane)), slot(3, lane));
            }
            assert_eq!(wordlines.share(slot(0, 0), slot(2, width - 1)), width == 1);
            assert_eq!((wordlines.next_lsb(Slot::FIRST), wordlines.most_open()), (Slot::new(1), 2 * width));
        }
    }
}
