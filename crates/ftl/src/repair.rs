//! A program that failed: its page and the lower pages of its wordline are written elsewhere.
//!
//! The unit takes no more pages. It is emptied like any other and used again: a failure is taken as
//! transient, blocks are not retired. Where pages wait for others to be programmed with them, all that wait in the unit go elsewhere.

use base::{Cause, Domain, Lpn, Ppn};

use crate::group::Group;
use crate::mechanism::Mechanisms;
use crate::ops::{Array, DataSource};
use crate::page::PageMap;

impl<M: Mechanisms> PageMap<M> {
    /// Deals with the failed program of a page, whose data are there.
    pub(crate) fn repair(&mut self, at: Ppn, source: DataSource, array: &mut impl Array) {
        let unit = self.kernel.geometry().unit_of(at);
        let domain = self.kernel.geometry().domain_of_unit(unit);
        self.kernel.pass_on(at);
        if self.mechanisms.failed(&self.kernel, domain, at) {
            return;
        }
        let mut hurt = self.hurt_with(array.held());
        if hurt.is_empty() {
            hurt = self.hurt_below(domain, at);
            hurt.extend(self.kernel.lpn_at(at).map(|lpn| (lpn, source)));
        }
        let stream = self.kernel.stream_of(unit);
        if self.kernel.frontier(domain, stream).is_some_and(|frontier| frontier.unit == unit) {
            self.seal(domain, stream);
        } else {
            self.mechanisms.sealed(&self.kernel, domain, unit);
        }
        for (lpn, source) in hurt {
            // Of several wordlines there may be guard pages between them.
            if let Some(guard) = self.place_guard(domain, stream)
                && !array.combined(Cause::Backup, &Group::EMPTY, guard)
            {
                self.repair(guard.at, DataSource::Controller, array);
            }
            let placed = self.rewrite(domain, stream, lpn, source);
            if !array.rewritten(Cause::Backup, source, placed) {
                self.lose(lpn);
            }
        }
    }

    /// The data of a page are lost. A page of the map has its place all the same: what it says is in the spare areas of the
    /// others, from which it is made.
    fn lose(&mut self, lpn: Lpn) {
        self.mechanisms.lost(&mut self.kernel, lpn);
        if !self.kernel.is_of_map(lpn) {
            self.kernel.forget(lpn);
        }
    }

    /// The valid ones of pages that waited for each other. The unit takes no more pages, so none of them comes to be programmed there.
    fn hurt_with(&self, held: Vec<Ppn>) -> Vec<(Lpn, DataSource)> {
        held.into_iter().filter_map(|page| Some((self.kernel.lpn_at(page)?, DataSource::PageBuffer(page)))).collect()
    }

    /// The valid lower pages of a page's wordline, and where their data are left.
    fn hurt_below(&self, domain: Domain, at: Ppn) -> Vec<(Lpn, DataSource)> {
        let (unit, slot) = self.kernel.geometry().unit_and_slot(at);
        let below = slot.all_before().filter(|&lower| self.kernel.wordlines().share(lower, slot));
        let pages = below.map(|lower| self.kernel.geometry().ppn(unit, lower));
        pages
            .filter_map(|page| {
                let lpn = self.kernel.lpn_at(page)?;
                let covered = self.mechanisms.parts().covers.and_then(|covers| covers.elsewhere(domain, page));
                Some((lpn, covered.unwrap_or(DataSource::PageBuffer(page))))
            })
            .collect()
    }
}
