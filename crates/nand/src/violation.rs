//! The rules that a command can break.

use base::{Block, OpKind, Page};

/// A rule of the flash that a command would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A page that is programmed already.
    #[error("program of page {page} of block {block}, which is programmed and not erased")]
    ProgramTwice {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A page before its turn (which also programs an MSB page before its LSB page).
    #[error("program of page {page} of block {block} out of order: page {next} is next")]
    ProgramOrder {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
        /// The only page that may be programmed.
        next: Page,
    },
    /// A page that holds nothing.
    #[error("read of page {page} of block {block}, which is not programmed")]
    ReadUnprogrammed {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// The MSB page of a wordline that was reprogrammed: its data are gone.
    #[error("read of page {page} of block {block}, whose wordline was reprogrammed")]
    ReadReprogrammed {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A reprogram of a page that is not an MSB page, is not programmed, or was reprogrammed already.
    #[error("reprogram of page {page} of block {block}, which is not an MSB page programmed once")]
    Reprogram {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A guard page that is not an MSB page.
    #[error("guard page {page} of block {block}, which is not an MSB page over others")]
    Guard {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A copyback from one plane to another.
    #[error("copyback from plane {from} to plane {to}: data cannot leave their plane without leaving the chip")]
    CopybackPlanes {
        /// Plane of the page to copy.
        from: u32,
        /// Plane of the page to program.
        to: u32,
    },
    /// A copyback of a part of a flash page to another part.
    #[error("copyback from page {from} to page {to}: a flash page is copied as it is, part for part")]
    CopybackParts {
        /// Offset of the page to copy.
        from: Page,
        /// Offset of the page to program.
        to: Page,
    },
    /// A bad block.
    #[error("use of bad block {block}")]
    BadBlock {
        /// Block.
        block: Block,
    },
    /// A block whose erase was interrupted.
    #[error("use of block {block}, whose erase was interrupted, before it is erased again")]
    TornBlock {
        /// Block.
        block: Block,
    },
    /// An upper page of a block that uses its LSB pages only.
    #[error("program of page {page} of block {block}, an upper page of a block that uses LSB pages only")]
    UpperPage {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A change of mode of a block that is not erased.
    #[error("change of block {block} to LSB pages only, where page {next} is next and not the first")]
    ModeOfUsedBlock {
        /// Block.
        block: Block,
        /// The page that would be programmed next.
        next: Page,
    },
    /// No such page.
    #[error("page {page} of block {block} does not exist")]
    NoSuchPage {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A page of a wordline that is programmed in one shot, before all its pages are there.
    #[error("use of page {page} of block {block}, whose wordline is programmed in one shot and is not complete")]
    PartOfWordline {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A wordline before its turn: pages of the one before it, or its own, have passes to come.
    #[error("first pass of wordline {wordline} of block {block} out of order")]
    FirstPass {
        /// Block.
        block: Block,
        /// Wordline.
        wordline: u32,
    },
    /// A wordline before its turn: the next one has its first pass before.
    #[error("second pass of wordline {wordline} of block {block} out of order")]
    SecondPass {
        /// Block.
        block: Block,
        /// Wordline.
        wordline: u32,
    },
    /// A page of a wordline that is programmed in two passes, before the second one.
    #[error("read of page {page} of block {block}, whose wordline has not had its second pass")]
    BetweenPasses {
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
    },
    /// A command that a die does not take while an operation is suspended.
    #[error("{kind:?} of page {page} of block {block} while the {suspended:?} of block {of} is suspended")]
    WhileSuspended {
        /// Kind of operation.
        kind: OpKind,
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
        /// Kind of the suspended operation.
        suspended: OpKind,
        /// A block of it.
        of: Block,
    },
    /// A command that a die does not take in cache mode.
    #[error(
        "{kind:?} of page {page} of block {block} in cache mode behind a {running:?}: only a read behind a read or a program \
             behind a program, and no copyback"
    )]
    InCacheMode {
        /// Kind of operation.
        kind: OpKind,
        /// Block.
        block: Block,
        /// Page offset.
        page: Page,
        /// Kind of the operation before it.
        running: OpKind,
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
    /// A multi-plane command on blocks of both modes.
    #[error("multi-plane {kind:?} of blocks {first} and {second}: one of them is in SLC mode")]
    MultiplaneModes {
        /// Kind of operation.
        kind: OpKind,
        /// A block of the command.
        first: Block,
        /// Another one.
        second: Block,
    },
    /// A multi-plane command on different page offsets.
    #[error("multi-plane {kind:?} of page offsets {first} and {second}: the page address constraint wants one offset")]
    MultiplanePages {
        /// Kind of operation.
        kind: OpKind,
        /// A page offset of the command.
        first: Page,
        /// Another one.
        second: Page,
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
