//! Versions of pages that were superseded by others which the array does not have yet.
//!
//! Where the allocation is static all versions of a page lie on one die, which does one thing after the other. A dynamic allocation
//! sends a newer version to any die. Until that die has programmed it, a power cut leaves the older one alone, which is on another.

use base::{Geometry, Ppn, Unit};

use super::Kernel;

/// Superseded versions, as long as a power cut would leave nothing else.
#[derive(Clone)]
pub(super) struct Superseded {
    /// By die of the newer version: its place, and that of the older one.
    by_die: Vec<Vec<(Ppn, Ppn)>>,
}

impl Superseded {
    pub(super) fn new(geometry: &Geometry) -> Superseded {
        Superseded { by_die: vec![Vec::new(); geometry.dies() as usize] }
    }

    /// Places of the older versions.
    fn all(&self) -> impl Iterator<Item = Ppn> {
        self.by_die.iter().flatten().map(|&(_, old)| old)
    }
}

impl Kernel {
    /// A page was placed in stead of an older version, and its die begins to program it.
    pub(crate) fn supersede(&mut self, at: Ppn, old: Ppn) {
        let die = self.geometry.die_of(at);
        self.superseded.by_die[die.index()].push((at, old));
    }

    /// A die has programmed a page, or gives up what failed. Returns the unit of the version that it superseded, if that was noted.
    pub(crate) fn note_programmed(&mut self, at: Ppn) -> Option<Unit> {
        let of_die = &mut self.superseded.by_die[self.geometry.die_of(at).index()];
        let index = of_die.iter().position(|&(newer, _)| newer == at)?;
        let (_, old) = of_die.swap_remove(index);
        Some(self.geometry.unit_of(old))
    }

    /// A page was not programmed, and lies at another place of its die now.
    pub(crate) fn place_anew(&mut self, at: Ppn, to: Ppn) {
        let of_die = &mut self.superseded.by_die[self.geometry.die_of(at).index()];
        if let Some((newer, _)) = of_die.iter_mut().find(|(newer, _)| *newer == at) {
            *newer = to;
        }
    }

    /// A page was not programmed. A newer version that was placed already supersedes what that page did.
    pub(crate) fn pass_on(&mut self, at: Ppn) {
        let of_die = &self.superseded.by_die[self.geometry.die_of(at).index()];
        let Some(&(_, oldest)) = of_die.iter().find(|(newer, _)| *newer == at) else { return };
        if let Some((_, old)) = self.superseded.by_die.iter_mut().flatten().find(|(_, old)| *old == at) {
            *old = oldest;
        }
    }

    /// True if a power cut could need a page: it holds current data, or what the array has of them.
    pub(crate) fn is_needed(&self, ppn: Ppn) -> bool {
        self.is_valid(ppn) || self.needs_superseded(ppn, 1)
    }

    /// True if a power cut could need one of so many pages from one on that are not valid.
    pub(crate) fn needs_superseded(&self, first: Ppn, pages: u32) -> bool {
        self.superseded.all().any(|old| (first.0..first.0 + pages).contains(&old.0))
    }
}
