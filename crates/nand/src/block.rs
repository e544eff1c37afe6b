//! The state of one block.

use serde::{Deserialize, Serialize};

/// The state of one block: 12 bytes, because every command looks one up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SavedBlock", into = "SavedBlock")]
pub struct BlockState {
    /// Erases so far, interrupted ones included.
    pub erases: u32,
    /// Page reads since the last erase.
    pub reads: u32,
    /// The page offset that is programmed next; the pages below it are programmed, except for the upper pages
    /// of a block that uses LSB pages only. The number of pages when none is left.
    pub next_page: u16,
    /// The marks that set the block apart from an ordinary one. Commands test the whole byte once.
    pub(crate) marks: u8,
}

/// As a state has it: erases, reads, next page, and all that the questions to a block answer.
type SavedBlock = (u32, u32, u16, u8);

impl From<BlockState> for SavedBlock {
    fn from(block: BlockState) -> SavedBlock {
        (block.erases, block.reads, block.next_page, block.marks & BlockState::ALL)
    }
}

impl TryFrom<SavedBlock> for BlockState {
    type Error = &'static str;

    fn try_from((erases, reads, next_page, marks): SavedBlock) -> Result<BlockState, &'static str> {
        if marks & !BlockState::ALL != 0 {
            return Err("a block with marks that mean nothing");
        }
        Ok(BlockState { erases, reads, next_page, marks })
    }
}

impl BlockState {
    const BAD: u8 = 1;
    const LOW_DENSITY: u8 = 1 << 1;
    const LSB_ONLY: u8 = 1 << 2;
    const TORN: u8 = 1 << 3;
    const LOST_PAGES: u8 = 1 << 4;
    const COPIED: u8 = 1 << 5;
    pub(crate) const ALL: u8 = (1 << 6) - 1;
    /// Of the array and not of the block, and so in no state that is saved: reads and programs are kept of its pages.
    const WATCHED: u8 = 1 << 6;

    /// True for a block with nothing special about it.
    #[inline]
    pub(crate) fn is_ordinary(&self) -> bool {
        self.marks == 0
    }

    /// True for a block that may not be used.
    pub fn is_bad(&self) -> bool {
        self.marks & BlockState::BAD != 0
    }

    /// True if a wordline of the block was reprogrammed, or programmed with a guard page, since the last erase: the block
    /// stores fewer bits.
    pub fn is_low_density(&self) -> bool {
        self.marks & BlockState::LOW_DENSITY != 0
    }

    /// True if that is all that is special about the block.
    #[inline]
    pub(crate) fn is_just_low_density(&self) -> bool {
        self.marks & BlockState::ALL == BlockState::LOW_DENSITY
    }

    /// True if nothing is special about the block but that it is watched.
    #[inline]
    pub(crate) fn is_just_watched(&self) -> bool {
        self.marks == BlockState::WATCHED
    }

    /// True for a block that nothing has happened to, watched or not.
    pub(crate) fn has_no_past(&self) -> bool {
        self.marks & BlockState::ALL == 0
    }

    /// Reads and programs of its pages are looked at.
    pub(crate) fn watch(&mut self) {
        self.marks |= BlockState::WATCHED;
    }

    /// True while only LSB pages are programmed, until the next erase.
    pub fn is_lsb_only(&self) -> bool {
        self.marks & BlockState::LSB_ONLY != 0
    }

    /// True after an interrupted erase: the block is neither full nor free, and nothing but an erase is allowed.
    pub fn is_torn(&self) -> bool {
        self.marks & BlockState::TORN != 0
    }

    /// True if a page of the block lost its content.
    pub fn has_lost_pages(&self) -> bool {
        self.marks & BlockState::LOST_PAGES != 0
    }

    /// True if a page of the block has errors of copybacks.
    #[inline]
    pub(crate) fn has_copied_pages(&self) -> bool {
        self.marks & BlockState::COPIED != 0
    }

    pub(crate) fn mark_copied_page(&mut self) {
        self.marks |= BlockState::COPIED;
    }

    pub(crate) fn mark_bad(&mut self) {
        self.marks |= BlockState::BAD;
    }

    pub(crate) fn mark_low_density(&mut self) {
        self.marks |= BlockState::LOW_DENSITY;
    }

    pub(crate) fn mark_lsb_only(&mut self) {
        self.marks |= BlockState::LSB_ONLY;
    }

    pub(crate) fn forget_lsb_only(&mut self) {
        self.marks &= !BlockState::LSB_ONLY;
    }

    pub(crate) fn mark_lost_page(&mut self) {
        self.marks |= BlockState::LOST_PAGES;
    }

    /// The marks that follow from the pages of a block: one lost its content, one was reprogrammed, one has errors of copybacks.
    pub(crate) fn set_marks_of_pages(&mut self, lost: bool, reprogrammed: bool, copied: bool) {
        self.marks &= !(BlockState::LOST_PAGES | BlockState::LOW_DENSITY | BlockState::COPIED);
        self.marks |= u8::from(lost) * BlockState::LOST_PAGES;
        self.marks |= u8::from(reprogrammed) * BlockState::LOW_DENSITY;
        self.marks |= u8::from(copied) * BlockState::COPIED;
    }

    /// The block after an erase.
    #[inline]
    pub(crate) fn erase(&mut self) {
        *self =
            BlockState { erases: self.erases + 1, marks: self.marks & BlockState::WATCHED, ..BlockState::default() };
    }

    /// The block as an interrupted erase leaves it.
    pub(crate) fn tear(&mut self) {
        self.erase();
        self.mark_torn();
    }

    /// An erase of the block did not come to its end.
    pub(crate) fn mark_torn(&mut self) {
        self.marks |= BlockState::TORN;
    }
}
