//! The ways in which a page is programmed.

use base::{Block, Page};

use crate::{Nand, Violation};

/// How a page is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramMode {
    /// In its turn.
    InTurn,
    /// In its turn, as the guard page of its wordline.
    Guard,
    /// Once more, in place.
    Again,
}

impl Nand {
    /// Programs a page in any way; one that does not end failed, or the power went off during it.
    ///
    /// # Errors
    /// [`Violation`] as for [`Nand::program`], [`Nand::program_guard`] and [`Nand::reprogram`].
    pub fn program_as(&mut self, block: Block, page: Page, mode: ProgramMode, ends: bool) -> Result<(), Violation> {
        match (mode, ends) {
            (ProgramMode::InTurn, true) => self.program(block, page),
            (ProgramMode::InTurn, false) => self.fail_program(block, page),
            (ProgramMode::Guard, true) => self.program_guard(block, page),
            (ProgramMode::Guard, false) => self.fail_program_guard(block, page),
            (ProgramMode::Again, true) => self.reprogram(block, page),
            (ProgramMode::Again, false) => self.fail_reprogram(block, page),
        }
    }
}
