//! Versions of pages that were superseded by others which the array does not have yet.
//!
//! Where the allocation is static all versions of a page lie on one die, which does one thing after the other. A dynamic allocation
//! sends a newer version to any die. Until that die has programmed it, a power cut leaves the older one alone, which is on another.

use base::{Die, Geometry, Ppn, Unit};

use super::Kernel;

/// Superseded versions, as long as a power cut would leave nothing else.
#[derive(Clone)]
pub(super) struct Superseded {
    /// The one that was noted last: the place of the newer version, and that of the older one. Without time there is no other.
    last: Option<(Ppn, Ppn)>,
    /// By die of the newer version: those before it.
    by_die: Vec<Vec<(Ppn, Ppn)>>,
}

impl Superseded {
    pub(super) fn new(geometry: &Geometry) -> Superseded {
        Superseded { last: None, by_die: vec![Vec::new(); geometry.dies() as usize] }
    }

    /// Places of the older versions.
    fn all(&self) -> impl Iterator<Item = Ppn> {
        self.by_die.iter().flatten().chain(&self.last).map(|&(_, old)| old)
    }

    /// The one whose newer version is at a place of a die.
    fn of_mut(&mut self, die: Die, at: Ppn) -> Option<&mut (Ppn, Ppn)> {
        self.by_die[die.index()].iter_mut().chain(&mut self.last).find(|(newer, _)| *newer == at)
    }
}

impl Kernel {
    /// A page was placed in stead of an older version, and its die begins to program it.
    #[inline]
    pub(crate) fn supersede(&mut self, at: Ppn, old: Ppn) {
        if let Some(before) = self.superseded.last.replace((at, old)) {
            self.superseded.by_die[self.geometry.die_of(before.0).index()].push(before);
        }
    }

    /// A die has programmed a page, or gives up what failed. Returns the unit of the version that it superseded, if that was noted.
    #[inline]
    pub(crate) fn note_programmed(&mut self, at: Ppn) -> Option<Unit> {
        let last = self.superseded.last.take_if(|(newer, _)| *newer == at);
        let (_, old) = last.or_else(|| self.take_superseded(at))?;
        Some(self.geometry.unit_of(old))
    }

    #[inline(never)]
    fn take_superseded(&mut self, at: Ppn) -> Option<(Ppn, Ppn)> {
        let of_die = &mut self.superseded.by_die[self.geometry.die_of(at).index()];
        let index = of_die.iter().position(|&(newer, _)| newer == at)?;
        Some(of_die.swap_remove(index))
    }

    /// A page was not programmed, and lies at another place of its die now.
    pub(crate) fn place_anew(&mut self, at: Ppn, to: Ppn) {
        if let Some((newer, _)) = self.superseded.of_mut(self.geometry.die_of(at), at) {
            *newer = to;
        }
    }

    /// A page was not programmed. A newer version that was placed already supersedes what that page did.
    pub(crate) fn pass_on(&mut self, at: Ppn) {
        let Some(&mut (_, oldest)) = self.superseded.of_mut(self.geometry.die_of(at), at) else { return };
        let Superseded { last, by_die } = &mut self.superseded;
        if let Some((_, old)) = by_die.iter_mut().flatten().chain(last).find(|(_, old)| *old == at) {
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
