//! A protection in a device state: the units that it keeps, and what covers the lower pages of wordlines that are not
//! complete.
//!
//! A state is saved between operations, so that no program is under way: what covered the wordline that was completed last is
//! not in it.

use std::collections::BTreeSet;
use std::slice;

use base::{Domain, Geometry, Ppn};

use super::lowers::Cover;
use super::restart::incomplete;
use super::{Guard, Paired, Scheme, keeps_track};
use crate::Policies;
use crate::kernel::{Frontier, Keeping, Kept, Kernel, Saved, Wordlines};
use crate::mechanism::SpacePlan;

/// Bytes of what a state holds of a protection, at most.
pub(crate) fn bytes_of_state(geometry: &Geometry, policies: &Policies<'_>) -> u64 {
    if !keeps_track(policies.paired_page.name) {
        return 0;
    }
    let open = Wordlines::new(policies.cell, policies.program_order, geometry).most_open();
    let lowers = u64::from(open) * SpacePlan::new(policies, geometry).streams() as u64;
    u64::from(geometry.domains()) * (8 + lowers * 4) * 4
}

impl Paired {
    /// Adds what a state holds of a domain.
    pub(super) fn save_domain(&self, kernel: &Kernel, domain: Domain, saved: &mut Saved<'_>) {
        let guard = &self.guards[domain.index()];
        let full = kernel.geometry().end_slot();
        let kept = |unit, how, filled| Kept { unit, how, filled };
        saved.kept.extend(guard.backup.map(|backup| kept(backup.unit, Keeping::Aside, backup.slot)));
        saved.kept.extend(guard.buffers.iter().map(|&unit| kept(unit, Keeping::Aside, full)));
        saved.kept.extend(guard.held.iter().map(|&unit| kept(unit, Keeping::InWork, full)));
        saved.kept.extend(kernel.pairing(domain).map(|job| kept(job.unit, Keeping::InWork, full)));
        let words = &mut saved.of_mechanisms;
        words.extend(kernel.save_pairing(domain));
        words.extend([guard.erases, guard.was_short].map(u32::from));
        words.push(guard.lowers.iter().count() as u32);
        for lower in guard.lowers.iter() {
            words.push(lower.at.0);
            words.extend(match lower.cover {
                Cover::None => [0, 0, 0],
                Cover::Copy(page) => [1, page.0, 0],
                Cover::Parity { parity, other } => [2, parity.0, other.0],
                Cover::Needless => [3, 0, 0],
                Cover::Lost => unreachable!("a state is saved before anything fails"),
            });
        }
    }

    /// Takes over the units that a state says are kept in a domain. Nothing if they cannot be. That no other units are kept
    /// is what the whole-state check finds.
    pub(super) fn adopt_kept(&mut self, kernel: &Kernel, domain: Domain, kept: &[Kept]) -> Option<()> {
        let mut guard = Guard::default();
        for &Kept { unit, how, filled } in kept {
            if kernel.geometry().domain_of_unit(unit) != domain
                || matches!(how, Keeping::Withheld | Keeping::Sealed | Keeping::Retired)
            {
                continue;
            }
            if how == Keeping::InWork {
                guard.held.push(unit);
            } else if self.scheme == Scheme::SlcBuffer {
                guard.buffers.push_back(unit);
            } else if guard.backup.is_none() && kernel.valid_of(unit) == 0 {
                guard.backup = Some(Frontier { unit, slot: filled });
            } else {
                return None;
            }
        }
        let is_whole = self.scheme.keeps_backups() == guard.backup.is_some();
        self.guards[domain.index()] = guard;
        is_whole.then_some(())
    }

    /// Takes over what else a state holds of a domain. Nothing if it cannot be.
    pub(super) fn adopt_words(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        words: &mut slice::Iter<'_, u32>,
    ) -> Option<()> {
        let mut next = || words.next().copied();
        kernel.restore_pairing(domain, [next()?, next()?, next()?, next()?, next()?])?;
        let [erases, was_short, lowers] = [next()?, next()?, next()?];
        let open = open_lowers(kernel, domain);
        if erases > 1 || was_short > 1 || lowers as usize != open.len() {
            return None;
        }
        let own = |page: u32| {
            let unit = (u64::from(page) < kernel.geometry().pages()).then(|| kernel.geometry().unit_of(Ppn(page)))?;
            (kernel.geometry().domain_of_unit(unit) == domain).then_some(Ppn(page))
        };
        let mut adopted = BTreeSet::new();
        let guard = &mut self.guards[domain.index()];
        for _ in 0..lowers {
            let at = Ppn(next()?);
            let cover = match [next()?, next()?, next()?] {
                [0, 0, 0] => Cover::None,
                [1, page, 0] => Cover::Copy(own(page)?),
                [3, 0, 0] => Cover::Needless,
                [2, parity, other] => Cover::Parity { parity: own(parity)?, other: own(other)? },
                _ => return None,
            };
            if !open.contains(&at) || !adopted.insert(at) {
                return None;
            }
            guard.lowers.adopt(at, cover);
        }
        let pairing = kernel.pairing(domain).map(|job| job.unit);
        guard.held.retain(|&unit| Some(unit) != pairing);
        (guard.erases, guard.was_short) = (erases == 1, was_short == 1);
        guard.held.iter().all(|&unit| kernel.valid_of(unit) == 0).then_some(())
    }
}

/// The lower pages of a domain whose wordlines are not complete.
fn open_lowers(kernel: &Kernel, domain: Domain) -> BTreeSet<Ppn> {
    kernel
        .streams()
        .all()
        .filter_map(|stream| kernel.frontier(domain, stream))
        .filter(|frontier| !kernel.is_lsb_only(frontier.unit))
        .flat_map(|frontier| {
            incomplete(kernel, frontier.slot).map(move |slot| kernel.geometry().ppn(frontier.unit, slot))
        })
        .collect()
}
