//! A protection takes over what a scan found after a power cut.

use base::{Domain, Lpn, Ppn, Slot, Unit};

use super::lowers::is_by_row;
use super::{Cover, Paired, Scheme};
use crate::kernel::{Frontier, Kernel, PageKind, Spare, parity_home};
use crate::scan::{PageFound, Rescue, Scan, Scanned};
use crate::victim::UnitState;

/// The page that a backup or a parity page brings back, if it is lost.
pub(super) fn rescued(kernel: &Kernel, scan: &dyn Scan, at: Ppn, spare: &Spare) -> Option<Rescue> {
    match spare.kind {
        // The copy of a dummy page has no number of a write.
        PageKind::Backup => (spare.write > 0).then(|| Rescue {
            lpn: Lpn(spare.lpn),
            sources: vec![at],
            write: spare.write,
            region: spare.region,
            stream: spare.stream,
        }),
        PageKind::Parity => undo_parity(kernel, scan, at, spare).filter(|rescue| rescue.write > 0),
        PageKind::Data | PageKind::Dummy => None,
    }
}

/// The page that a parity page brings back: one of its two is lost, and they are the ones it was made of.
fn undo_parity(kernel: &Kernel, scan: &dyn Scan, at: Ppn, parity: &Spare) -> Option<Rescue> {
    let geometry = kernel.geometry();
    let first = Ppn(parity.order as u32);
    let (unit, slot) = geometry.unit_and_slot(first);
    if unit.number() >= geometry.units() {
        return None;
    }
    let scanned = scan.unit(unit);
    if parity_home(first, scanned.erases) != parity.order {
        return None;
    }
    let second = kernel.wordlines().next_lsb_of_block(slot);
    let pages = [slot, second].map(|slot| scanned.pages.get(slot.index()).copied());
    let (other, bits) = match pages {
        [Some(PageFound::Lost), Some(PageFound::Holds(bits))] => (second, bits),
        [Some(PageFound::Holds(bits)), Some(PageFound::Lost)] => (slot, bits),
        _ => return None,
    };
    let other_spare = Spare::unpack(bits)?;
    Some(Rescue {
        lpn: Lpn(parity.lpn ^ other_spare.lpn),
        sources: vec![at, geometry.ppn(unit, other)],
        write: parity.write ^ other_spare.write,
        region: parity.region ^ other_spare.region,
        stream: other_spare.stream,
    })
}

/// The lower pages of incomplete wordlines in a unit that is filled up to a slot, as slots.
pub(super) fn incomplete(kernel: &Kernel, next: Slot) -> impl Iterator<Item = Slot> + '_ {
    let wordlines = kernel.wordlines();
    let is_complete = move |lower| {
        let mut uppers = next.all_before().filter(|&upper| wordlines.is_top(upper));
        uppers.any(|upper| wordlines.share(lower, upper))
    };
    next.all_before().filter(move |&lower| !wordlines.is_top(lower) && !is_complete(lower))
}

impl Paired {
    /// A unit was being filled up to a slot. One that holds backups goes on doing so, and what was merged last may depend on
    /// units that are not held any more: it is left as it is.
    pub(super) fn adopt_open_unit(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, next: Slot) -> bool {
        let lsb_only = kernel.is_lsb_only(unit);
        if lsb_only && self.scheme.keeps_backups() {
            // Rows are covered by rows: one that was programmed on some planes alone takes no more.
            let stands_in_row = is_by_row(kernel) && kernel.geometry().row_of_slot(next).1 != 0;
            let slot = if stands_in_row { kernel.geometry().end_slot() } else { next };
            self.guards[domain.index()].backup = Some(Frontier { unit, slot });
            kernel.adopt_state(unit, UnitState::Aside);
            return true;
        }
        self.scheme == Scheme::SlcBuffer && !lsb_only
    }

    /// The lower pages of an active block's incomplete wordlines: unprotected, unless a backup is found.
    pub(super) fn adopt_lowers(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, next: Slot, found: &Scanned) {
        if found.lsb_only {
            return;
        }
        for lower in incomplete(kernel, next) {
            let cover = match found.pages[lower.index()] {
                PageFound::Holds(bits) => match Spare::unpack(bits) {
                    Some(spare) if spare.kind == PageKind::Dummy && is_by_row(kernel) => Cover::Needless,
                    Some(_) => Cover::None,
                    None => Cover::Lost,
                },
                _ => Cover::Lost,
            };
            self.guards[domain.index()].lowers.adopt(kernel.geometry().ppn(unit, lower), cover);
        }
    }
}
