//! Active blocks that are closed before they are full. Where the array programs pages together they are filled up first: otherwise some of
//! their pages could not be programmed.

use base::{Domain, Slot, Unit};

use super::{Frontier, Kernel, Stream};
use crate::ProgramUnit;

/// Active blocks that are being filled up.
#[derive(Clone)]
pub(super) struct FillUps {
    program: ProgramUnit,
    /// Slots of a row, which is all that blocks of LSB pages program together.
    row: u32,
    /// By domain: a unit, and the slot up to which it is filled.
    until: Vec<Option<(Unit, Slot)>>,
}

impl FillUps {
    pub(super) fn new(program: ProgramUnit, row: u32, domains: u32) -> FillUps {
        FillUps { program, row, until: vec![None; domains as usize] }
    }

    /// The slot up to which an active block is filled before it is closed.
    fn end(&self, next: Slot, end: Slot, is_lsb_only: bool) -> Slot {
        let whole = ProgramUnit { slots: self.row.min(self.program.slots), programs: 1 };
        let ProgramUnit { slots, programs } = if is_lsb_only { whole } else { self.program };
        let whole = next.number().next_multiple_of(slots) + (programs - 1) * slots;
        Slot::new(whole.min(end.number()))
    }
}

impl Kernel {
    /// True if the active block of a stream, which is to be closed, gets a dummy page before that.
    pub(crate) fn is_to_fill_up(&mut self, domain: Domain, stream: Stream) -> bool {
        let Some(Frontier { unit, slot }) = self.frontier(domain, stream) else { return false };
        let before = self.fill_ups.until[domain.index()].filter(|&(of, until)| of == unit && slot <= until);
        let (_, until) =
            before.unwrap_or((unit, self.fill_ups.end(slot, self.geometry.end_slot(), self.is_lsb_only(unit))));
        let is_to_fill = slot < until;
        self.fill_ups.until[domain.index()] = is_to_fill.then_some((unit, until));
        is_to_fill
    }
}
