//! Lower pages are made safe before others are programmed, and victims are kept while these depend on them.

use base::{Cause, Domain, Ppn, Unit};

use super::lowers::{Lower, is_by_row};
use super::{Cover, Paired, Scheme};
use crate::group::Group;
use crate::kernel::{Frontier, Kernel, Placement, Stream, Why};
use crate::mechanism::{Combined, Product, VictimEnd};
use crate::ops::{Op, Step};

impl Paired {
    /// The operation before a page is programmed at a place: each lower page of its wordline that a power cut could need
    /// has to be stored a second time.
    pub(super) fn protect(&self, kernel: &Kernel, domain: Domain, at: Ppn, group: &mut Group) -> Option<Op> {
        let slot = kernel.geometry().unit_and_slot(at).1;
        if kernel.wordlines().is_lsb(slot) {
            return None;
        }
        if is_by_row(kernel) {
            return self.protect_rows(kernel, domain, at, group);
        }
        let guard = &self.guards[domain.index()];
        let mut unprotected = None;
        for lower in guard.lowers.below(kernel, at) {
            match lower.cover {
                Cover::Lost => return Some(Op::Pad),
                Cover::None if unprotected.is_none() && kernel.is_needed(lower.at) => unprotected = Some(lower.at),
                _ => {}
            }
        }
        let page = unprotected?;
        let Some(backup) = guard.backup else {
            // A buffer's merge leaves nothing unprotected; after a restart nothing is merged onto what it left.
            return Some(Op::Pad);
        };
        if backup.slot >= kernel.geometry().end_slot() || guard.backup_has_failed {
            return Some(Op::Erase(backup.unit));
        }
        group.push(page);
        if self.scheme == Scheme::ParityBackup
            && let Some(other) = self.parity_partner(kernel, domain, page)
        {
            group.push(other);
        }
        Some(Op::Combine)
    }

    /// Before a row is programmed, backs up each lower row that holds an uncovered page, valid or not.
    fn protect_rows(&self, kernel: &Kernel, domain: Domain, at: Ppn, group: &mut Group) -> Option<Op> {
        let guard = &self.guards[domain.index()];
        let (mut is_lost, mut unprotected) = (false, None);
        for lower in guard.lowers.below(kernel, at) {
            match lower.cover {
                Cover::Lost => is_lost = true,
                Cover::None => unprotected = Some(unprotected.map_or(lower.at, |first: Ppn| first.min(lower.at))),
                Cover::Copy(_) | Cover::Parity { .. } | Cover::Needless => {}
            }
        }
        let Some(page) = unprotected else { return is_lost.then_some(Op::Pad) };
        let Some(backup) = guard.backup else { return Some(Op::Pad) };
        if backup.slot >= kernel.geometry().end_slot() || guard.backup_has_failed {
            if let Some(stream) = self.begun_over(kernel, domain, backup.unit) {
                group.stream = stream;
                return Some(Op::Pad);
            }
            return Some(Op::Erase(backup.unit));
        }
        let rows = [Some(page), self.parity_row(kernel, domain, page)];
        for first in rows.into_iter().flatten() {
            row_of(kernel, first).for_each(|page| group.push(page));
        }
        group.products = kernel.geometry().row_slots() as u8;
        Some(Op::Combine)
    }

    /// A page of another unprotected row that a parity row can protect together with that of a page.
    fn parity_row(&self, kernel: &Kernel, domain: Domain, page: Ppn) -> Option<Ppn> {
        if self.scheme != Scheme::ParityBackup {
            return None;
        }
        let geometry = kernel.geometry();
        let behind = |at: Ppn| {
            geometry.unit_of(at) == geometry.unit_of(page) && at.0 > row_of(kernel, page).last().expect("a row").0
        };
        let lowers = &self.guards[domain.index()].lowers;
        let others = lowers.iter().filter(|lower| lower.cover == Cover::None && behind(lower.at));
        let other = others.map(|lower| lower.at).min()?;
        let is_unprotected = |page| matches!(lowers.cover_of(page), Cover::None | Cover::Needless);
        row_of(kernel, other).all(is_unprotected).then_some(other)
    }

    /// Pages of a unit are about to be lost, though it is not erased. Returns a stream whose row has to be programmed first; if there is none,
    /// what they covered is backed up when its turn comes.
    pub(crate) fn give_up_unit(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) -> Option<Stream> {
        let begun = self.begun_over(kernel, domain, unit);
        if begun.is_none() && is_by_row(kernel) {
            self.guards[domain.index()].lowers.uncover(kernel, unit);
            self.guards[domain.index()].lowers.forget_done(kernel, unit);
        }
        begun
    }

    /// A stream whose next row is begun, and over pages that something in a unit covers: that must stay until the row is programmed.
    pub(super) fn begun_over(&self, kernel: &Kernel, domain: Domain, unit: Unit) -> Option<Stream> {
        if !is_by_row(kernel) {
            return None;
        }
        let geometry = kernel.geometry();
        kernel.streams().all().find(|&stream| {
            kernel.frontier(domain, stream).is_some_and(|Frontier { unit: own, slot }| {
                let at = geometry.ppn(own, slot);
                geometry.row_of_slot(slot).1 != 0 && self.guards[domain.index()].lowers.depend_below(kernel, at, unit)
            })
        })
    }

    /// Another unprotected lower page, in a block, that one parity page can protect together with a page: the next
    /// one in program order, if its own MSB page comes later. Not one of another block of the unit: one command may
    /// put both at risk.
    fn parity_partner(&self, kernel: &Kernel, domain: Domain, page: Ppn) -> Option<Ppn> {
        let geometry = kernel.geometry();
        let (unit, slot) = geometry.unit_and_slot(page);
        let lane = geometry.lane_of_slot(slot);
        let lowers = self.guards[domain.index()].lowers.iter();
        lowers
            .filter(|lower| lower.cover == Cover::None && lower.at.0 > page.0)
            .map(|lower| lower.at)
            .filter(|&at| {
                let (of, slot) = geometry.unit_and_slot(at);
                of == unit && geometry.lane_of_slot(slot) == lane && kernel.is_valid(at)
            })
            .min()
    }

    /// Where the next backup page of a domain goes.
    pub(crate) fn next_backup_page(&self, kernel: &Kernel, domain: Domain) -> Ppn {
        let backup = self.guards[domain.index()].backup.expect("a protection by backups has a block for them");
        kernel.geometry().ppn(backup.unit, backup.slot)
    }

    /// Places the backup of pages.
    pub(crate) fn back_up(&mut self, kernel: &Kernel, domain: Domain, pages: &[Ppn]) -> Combined {
        let at = self.next_backup_page(kernel, domain);
        let guard = &mut self.guards[domain.index()];
        match pages {
            [page] => guard.lowers.cover(*page, Cover::Copy(at)),
            [first, second] => {
                guard.lowers.cover(*first, Cover::Parity { parity: at, other: *second });
                guard.lowers.cover(*second, Cover::Parity { parity: at, other: *first });
            }
            pages => unreachable!("a backup of {} pages", pages.len()),
        }
        if let Some(backup) = &mut guard.backup {
            backup.slot = kernel.wordlines().next_lsb(backup.slot);
        }
        Combined { place: Placement { at, filled: None }, product: Product::Backup }
    }

    /// Takes note of a program: of a host page or a dummy (covered by nothing), or of a copy.
    #[inline]
    pub(super) fn note_program(&mut self, kernel: &Kernel, domain: Domain, at: Ppn, cover: Cover) {
        if !kernel.is_lsb_only(kernel.geometry().unit_of(at)) {
            self.guards[domain.index()].lowers.programmed(kernel, at, cover);
        }
    }

    /// A host page was placed, whatever had to come before it.
    pub(super) fn host_page_placed(&mut self, kernel: &mut Kernel, domain: Domain, at: Ppn) {
        let guard = &mut self.guards[domain.index()];
        let is_of_victim = |lower: &Lower| match lower.cover {
            Cover::Copy(page) => !kernel.is_lsb_only(kernel.geometry().unit_of(page)),
            _ => false,
        };
        let slot = kernel.geometry().unit_and_slot(at).1;
        let is_paired = if !is_by_row(kernel) || kernel.geometry().row_of_slot(slot.next()).1 == 0 {
            kernel.wordlines().is_top(slot) && guard.lowers.done().iter().any(is_of_victim)
        } else {
            kernel.wordlines().is_top(slot) && guard.lowers.below(kernel, at).any(|lower| is_of_victim(&lower))
        };
        guard.was_short = false;
        self.host_pages += 1;
        self.paired_pages += u64::from(is_paired);
        if kernel.pairing(domain).is_some_and(|job| kernel.valid_of(job.unit) == 0) {
            self.hold_victim(kernel, domain);
        }
        if self.has_erasable(kernel, domain) {
            self.guards[domain.index()].erases = true;
        }
    }

    /// The end of a collection: its unit is erased, unless pages depend on it that cannot be backed up. Then it
    /// is held until further copies have completed their wordlines, which takes no more units than lower
    /// pages can be open ([`crate::kernel::Wordlines::most_open`]). A backup unit that has failed is erased likewise.
    pub(super) fn end_of_victim(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        unit: Unit,
        group: &mut Group,
    ) -> Option<VictimEnd> {
        let is_victim = kernel.job(domain).is_some_and(|job| job.unit == unit) && kernel.valid_of(unit) == 0;
        let is_failed_backup = self.is_backup(domain, unit);
        if !is_victim && !is_failed_backup {
            return None;
        }
        if self.scheme.keeps_backups()
            && let Some(stream) = self.begun_over(kernel, domain, unit)
        {
            group.stream = stream;
            return Some(VictimEnd::Act(Step::new(Op::Pad, Cause::Pad)));
        }
        if is_failed_backup {
            return None;
        }
        let guard = &mut self.guards[domain.index()];
        if self.scheme.keeps_backups() {
            // Backed up when its wordline goes on.
            guard.lowers.uncover(kernel, unit);
        } else if guard.lowers.depend_on(kernel, unit) {
            guard.held.push(unit);
            kernel.take_job(domain);
            return Some(VictimEnd::Hold);
        }
        None
    }

    /// The stream's buffer is full: its oldest unit is merged.
    pub(super) fn merge_full_buffer(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream) -> bool {
        let is_full = self.guards[domain.index()].buffers.len() as u32 >= self.buffer_units.max(1);
        let is_buffer = kernel.streams().density(stream) == crate::kernel::Density::LsbOnly;
        is_buffer && is_full && self.merge_oldest_buffer(kernel, domain)
    }

    /// Space is short: empty units are erased as soon as what depends on them is backed up.
    pub(super) fn give_up_kept(&mut self, kernel: &Kernel, domain: Domain) -> bool {
        if self.guards[domain.index()].held.is_empty() || !self.scheme.keeps_backups() {
            return false;
        }
        let mut gives = false;
        for unit in self.guards[domain.index()].held.clone() {
            if self.begun_over(kernel, domain, unit).is_none() {
                self.guards[domain.index()].lowers.uncover(kernel, unit);
                gives = true;
            }
        }
        self.guards[domain.index()].erases |= gives;
        gives
    }

    /// A buffer unit gives the most room, but merged early it holds pages that would have been overwritten.
    pub(super) fn merge_if_short_again(&mut self, kernel: &mut Kernel, domain: Domain) -> bool {
        let was_short = std::mem::replace(&mut self.guards[domain.index()].was_short, true);
        was_short && self.merge_oldest_buffer(kernel, domain)
    }

    /// Begins to move the pages of the oldest buffer unit into full blocks, if there is one.
    pub(super) fn merge_oldest_buffer(&mut self, kernel: &mut Kernel, domain: Domain) -> bool {
        let oldest = self.guards[domain.index()].buffers.pop_front();
        if let Some(unit) = oldest {
            kernel.begin(domain, unit, Why::Merge);
        }
        oldest.is_some()
    }
}

/// The pages of the row of a page.
fn row_of(kernel: &Kernel, page: Ppn) -> impl Iterator<Item = Ppn> + use<> {
    let slots = kernel.geometry().row_slots();
    let first = page.0 / slots * slots;
    (first..first + slots).map(Ppn)
}

/// Space is short: a victim that was emptied page by page, under pages of the host, is emptied now.
pub(super) fn empty_now(kernel: &mut Kernel, domain: Domain) -> bool {
    let Some(job) = kernel.set_pairing(domain, None) else { return false };
    kernel.resume_job(domain, job.because(Why::Room));
    true
}
