//! The state of one block.

/// The state of one block: 12 bytes, because every command looks one up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
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

impl Block {
    const BAD: u8 = 1;
    const LOW_DENSITY: u8 = 1 << 1;
    const LSB_ONLY: u8 = 1 << 2;
    const TORN: u8 = 1 << 3;
    const LOST_PAGES: u8 = 1 << 4;
    const COPIED: u8 = 1 << 5;
    const ALL: u8 = (1 << 6) - 1;
    /// Of the array and not of the block, and so in no state that is saved: reads and programs are kept of its pages.
    const WATCHED: u8 = 1 << 6;

    /// A block in a state that was saved; nothing if the marks mean nothing.
    pub fn from_saved(erases: u32, reads: u32, next_page: u16, marks: u8) -> Option<Block> {
        (marks & !Block::ALL == 0).then_some(Block { erases, reads, next_page, marks })
    }

    /// All that the questions below answer, in one number to save.
    pub fn marks(&self) -> u8 {
        self.marks & Block::ALL
    }

    /// True for a block with nothing special about it.
    #[inline]
    pub(crate) fn is_ordinary(&self) -> bool {
        self.marks == 0
    }

    /// True for a block that may not be used.
    pub fn is_bad(&self) -> bool {
        self.marks & Block::BAD != 0
    }

    /// True if a wordline of the block was reprogrammed, or programmed with a guard page, since the last erase: the block
    /// stores fewer bits.
    pub fn is_low_density(&self) -> bool {
        self.marks & Block::LOW_DENSITY != 0
    }

    /// True if that is all that is special about the block.
    #[inline]
    pub(crate) fn is_just_low_density(&self) -> bool {
        self.marks() == Block::LOW_DENSITY
    }

    /// True if nothing is special about the block but that it is watched.
    #[inline]
    pub(crate) fn is_just_watched(&self) -> bool {
        self.marks == Block::WATCHED
    }

    /// Reads and programs of its pages are looked at.
    pub(crate) fn watch(&mut self) {
        self.marks |= Block::WATCHED;
    }

    /// True while only LSB pages are programmed, until the next erase.
    pub fn is_lsb_only(&self) -> bool {
        self.marks & Block::LSB_ONLY != 0
    }

    /// True after an interrupted erase: the block is neither full nor free, and nothing but an erase is allowed.
    pub fn is_torn(&self) -> bool {
        self.marks & Block::TORN != 0
    }

    /// True if a page of the block lost its content.
    pub fn has_lost_pages(&self) -> bool {
        self.marks & Block::LOST_PAGES != 0
    }

    /// True if a page of the block has errors of copybacks.
    #[inline]
    pub(crate) fn has_copied_pages(&self) -> bool {
        self.marks & Block::COPIED != 0
    }

    pub(crate) fn mark_copied_page(&mut self) {
        self.marks |= Block::COPIED;
    }

    pub(crate) fn mark_bad(&mut self) {
        self.marks |= Block::BAD;
    }

    pub(crate) fn mark_low_density(&mut self) {
        self.marks |= Block::LOW_DENSITY;
    }

    pub(crate) fn mark_lsb_only(&mut self) {
        self.marks |= Block::LSB_ONLY;
    }

    pub(crate) fn forget_lsb_only(&mut self) {
        self.marks &= !Block::LSB_ONLY;
    }

    pub(crate) fn mark_lost_page(&mut self) {
        self.marks |= Block::LOST_PAGES;
    }

    /// The block after an erase.
    #[inline]
    pub(crate) fn erase(&mut self) {
        *self = Block { erases: self.erases + 1, marks: self.marks & Block::WATCHED, ..Block::default() };
    }

    /// An erase of the block did not come to its end.
    pub(crate) fn mark_torn(&mut self) {
        self.marks |= Block::TORN;
    }
}
