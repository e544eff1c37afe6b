//! After a power cut: the map, the free space and the frontiers, from what flash holds alone.
//!
//! Every page is looked at. Of the readable pages of a logical page the one of the newest write counts,
//! so a page that was lost comes back by itself where a copy is left: in the victim it was moved from, in a
//! buffer block. Copies in backup blocks are only stand-ins; their data are *rescued* to a frontier. Blocks
//! whose erase was interrupted are erased again. Frontiers go on where they stopped; a wordline in which a
//! lower page was lost is filled up with dummy pages, and lower pages count as uncovered.

use base::scope::{Area, Scope};
use base::{Cause, Domain, Geometry, Lpn, OpKind, Ppn, Slot, Unit};
use engine::FlatMap;

use crate::kernel::{Frontier, PageKind, Spare, Stream};
use crate::mechanism::{Mechanisms, PageOrigin};
use crate::ops::{Array, DataSource, Erasure, PagePayload, Placed, Rewritten, Way};
use crate::page::PageMap;
use crate::scan::{PageFound, Rescue, Scan, UnitFound, spare_of};
use crate::victim::UnitState;
use crate::{OutOfMemory, Policies};

/// A restart, in numbers.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Spare areas that were read.
    pub pages_read: u64,
    /// Units that were erased.
    pub erased: usize,
    /// Pages that were brought back from backups.
    pub rescued: usize,
    /// Domains that have collections to do now.
    pub busy: Vec<Domain>,
}

/// The work of a restart, once it is known where everything is.
struct RecoveryWork {
    /// Spare areas that were read.
    pages_read: u64,
    /// Units to erase.
    erase: Vec<Unit>,
    /// Pages to bring back.
    rescues: Vec<Rescue>,
    /// Slots of active blocks that were left out: a wordline of one plane was programmed as a whole, and that of the plane before it
    /// was not.
    holes: Vec<Ppn>,
}

/// The word for a logical page that was not found.
pub(crate) const NONE: u32 = FlatMap::NONE;

impl<M: Mechanisms> PageMap<M> {
    /// Page mapping of a device of which nothing is known but the array, which does what that calls for.
    ///
    /// Beside the maps it takes memory for a number of each logical page, and for what is kept of units.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub(crate) fn recover(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        array: &mut (impl Array + Scan),
    ) -> Result<(PageMap<M>, Recovery), OutOfMemory> {
        let (mut page, work) = PageMap::<M>::found(geometry, user_pages, policies, seed, array)?;
        let (pages_read, erased, rescued) = (work.pages_read, work.erase.len(), work.rescues.len());
        let busy = page.resume(&work, array);
        Ok((page, Recovery { pages_read, erased, rescued, busy }))
    }

    /// Page mapping as a scan finds it, and the work that is left.
    fn found(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        scan: &dyn Scan,
    ) -> Result<(PageMap<M>, RecoveryWork), OutOfMemory> {
        let mut page: PageMap<M> = PageMap::over(geometry, user_pages, policies, seed, true)?;
        let logical_pages = page.kernel.logical_pages() as usize;
        let memory = |reason| OutOfMemory { megabytes: logical_pages as u64 * 4 / 1_000_000, reason };
        let mut newest = FlatMap::empty(logical_pages).map_err(memory)?;
        let mut found: Vec<UnitFound> =
            geometry.all_units().map(|unit| page.look_at(scan, unit, &mut newest)).collect();
        page.undo_collections(scan, &mut found, &mut newest);
        page.adopt_units(&found);
        if let Some(reads) = page.mechanisms.parts_mut().reads {
            for unit in geometry.all_units() {
                reads.adopt_found(&page.kernel, unit, &scan.unit(unit));
            }
        }
        for (lpn, at) in newest.range(0..logical_pages).enumerate().filter(|(_, at)| *at != NONE) {
            let spare = spare_of(scan.page(Ppn(at))).expect("a page that was found");
            page.kernel.adopt_page(Lpn(lpn as u32), Ppn(at));
            page.mechanisms.adopt_page(Lpn(lpn as u32), spare.region, spare.write);
        }
        let rescues = page.rescues(scan, &newest);
        page.adopt_frontiers(scan, &found);
        let (holes, erase) = (page.holes(scan, &found), page.units_to_erase(&found, &rescues));
        page.adopt_free_space(&erase);
        let pages_read = found.iter().map(|unit| u64::from(unit.used)).sum();
        Ok((page, RecoveryWork { pages_read, holes, erase, rescues }))
    }

    /// Takes note of the pages of a unit: by LPN, that of the newest write; of several copies the one programmed last.
    fn look_at(&mut self, scan: &dyn Scan, unit: Unit, newest: &mut FlatMap) -> UnitFound {
        let found = scan.unit(unit);
        for (slot, page) in found.pages.iter().enumerate() {
            let Some(spare) = spare_of(*page) else { continue };
            self.kernel.adopt_numbers(0, if spare.kind == PageKind::Parity { 0 } else { spare.order });
            if !matches!(spare.kind, PageKind::Data | PageKind::Backup) {
                continue;
            }
            self.kernel.adopt_numbers(spare.write, 0);
            let lpn = spare.lpn as usize;
            if lpn >= newest.len() || spare.kind != PageKind::Data {
                continue;
            }
            let best = newest.get(lpn);
            let age = |spare: Spare| (spare.write, spare.order);
            if best == NONE || spare_of(scan.page(Ppn(best))).is_none_or(|best| age(spare) > age(best)) {
                newest.set(lpn, self.kernel.geometry().ppn(unit, Slot::new(slot as u32)).0);
            }
        }
        UnitFound::of(&found)
    }

    /// Takes over erase counts, and closes every unit that was programmed.
    fn adopt_units(&mut self, all: &[UnitFound]) {
        let mut used: Vec<(u64, usize)> = all
            .iter()
            .enumerate()
            .filter(|(_, found)| !found.bad && (found.torn || found.used > 0))
            .map(|(unit, found)| (found.order, unit))
            .collect();
        used.sort_unstable();
        let mut ages = vec![0; all.len()];
        for (age, &(_, unit)) in used.iter().enumerate() {
            ages[unit] = age as u32 + 1;
        }
        for (unit, (found, &age)) in all.iter().zip(&ages).enumerate() {
            let state = match (age, found.lsb_only) {
                _ if found.bad => UnitState::Retired,
                (0, _) => UnitState::Free,
                (_, false) => UnitState::Closed,
                (_, true) => UnitState::Aside,
            };
            let lsb_only = found.lsb_only && found.used > 0;
            self.kernel.adopt_unit(Unit::new(unit as u32), state, lsb_only, found.erases, age);
            if let Some(stream) = self.stream_found(found) {
                self.kernel.adopt_stream(Unit::new(unit as u32), stream);
            }
        }
    }

    /// The stream that filled a unit, where a page of it can be read; a backup names that of what it covers.
    fn stream_found(&self, found: &UnitFound) -> Option<Stream> {
        let spare = found.newest.filter(|spare| matches!(spare.kind, PageKind::Data | PageKind::Dummy))?;
        self.kernel.streams().of_byte(spare.stream)
    }

    /// Pages of which a backup holds a newer version than any other page.
    fn rescues(&self, scan: &dyn Scan, newest: &FlatMap) -> Vec<Rescue> {
        let mut rescues: Vec<Rescue> = Vec::new();
        let Some(covers) = self.mechanisms.parts().covers else { return rescues };
        let geometry = self.kernel.geometry();
        let mut consider = |at: Ppn, spare: Spare| {
            let candidate = covers.rescued(&self.kernel, scan, at, &spare);
            let Some(rescue) = candidate.filter(|rescue| rescue.lpn.index() < newest.len()) else { return };
            let found = newest.get(rescue.lpn.index());
            let found = if found == NONE { None } else { spare_of(scan.page(Ppn(found))) };
            if found.is_some_and(|found| found.write >= rescue.write) {
                return;
            }
            match rescues.iter_mut().find(|other| other.lpn == rescue.lpn) {
                Some(other) if other.write < rescue.write => *other = rescue,
                Some(_) => {}
                None => rescues.push(rescue),
            }
        };
        for unit in geometry.all_units() {
            for (slot, page) in scan.unit(unit).pages.iter().enumerate() {
                if let Some(spare) = spare_of(*page) {
                    consider(geometry.ppn(unit, Slot::new(slot as u32)), spare);
                }
            }
        }
        rescues
    }

    /// The unit that each stream was filling goes on being filled.
    fn adopt_frontiers(&mut self, scan: &dyn Scan, all: &[UnitFound]) {
        let end = self.kernel.geometry().end_slot();
        let mut partial: Vec<(u64, Unit, Slot)> = Vec::new();
        for (unit, found) in all.iter().enumerate().filter(|(_, found)| !found.torn) {
            let Some(last) = found.last else { continue };
            let next = if found.lsb_only { self.kernel.wordlines().next_lsb(last) } else { last.next() };
            partial.push((found.order, Unit::new(unit as u32), next));
        }
        // The unit that was written last comes last and stays.
        partial.sort_unstable();
        for (order, unit, next) in partial {
            let Some(spare) = all[unit.index()].newest.filter(|_| order > 0) else { continue };
            let domain = self.kernel.geometry().domain_of_unit(unit);
            if self.mechanisms.adopt_open(&mut self.kernel, domain, unit, next) {
                continue;
            }
            if next < end
                && let Some(stream) = self.kernel.streams().of_byte(spare.stream)
            {
                self.kernel.adopt_frontier(domain, stream, Frontier { unit, slot: next });
            }
        }
        for domain in self.kernel.geometry().all_domains() {
            for stream in self.kernel.streams().all() {
                if let Some(Frontier { unit, slot }) = self.kernel.frontier(domain, stream) {
                    let found = scan.unit(unit);
                    self.mechanisms.adopt_frontier(&self.kernel, domain, unit, slot, &found);
                }
            }
        }
    }

    /// The slots before the frontiers that are not programmed.
    fn holes(&self, scan: &dyn Scan, all: &[UnitFound]) -> Vec<Ppn> {
        let mut holes = Vec::new();
        for domain in self.kernel.geometry().all_domains() {
            let frontiers = self.kernel.streams().all().filter_map(|stream| self.kernel.frontier(domain, stream));
            for Frontier { unit, slot } in frontiers.filter(|frontier| !all[frontier.unit.index()].lsb_only) {
                let found = scan.unit(unit);
                let is_empty = |slot: &Slot| found.pages[slot.index()] == PageFound::Empty;
                holes.extend(slot.all_before().filter(is_empty).map(|slot| self.kernel.geometry().ppn(unit, slot)));
            }
        }
        holes
    }

    /// Units that hold nothing: those whose erase was interrupted, and closed ones without a valid page.
    fn units_to_erase(&self, all: &[UnitFound], rescues: &[Rescue]) -> Vec<Unit> {
        let geometry = self.kernel.geometry();
        let is_source =
            |unit: Unit| rescues.iter().flat_map(|rescue| &rescue.sources).any(|&page| geometry.unit_of(page) == unit);
        let is_kept = |unit: Unit| self.keepers(geometry.domain_of_unit(unit)).aside.contains(&unit);
        geometry
            .all_units()
            .filter(|&unit| {
                let is_filled = matches!(self.kernel.state_of(unit), UnitState::Closed | UnitState::Aside);
                let is_empty = is_filled && self.kernel.valid_of(unit) == 0;
                let found = &all[unit.index()];
                !found.bad && (found.torn || is_empty && !is_source(unit) && !is_kept(unit))
            })
            .collect()
    }

    /// Fills the pool, and tells the victim policy what is closed.
    fn adopt_free_space(&mut self, to_erase: &[Unit]) {
        to_erase.iter().for_each(|&unit| self.kernel.adopt_state(unit, UnitState::Collecting));
        self.kernel.adopt_free_space();
    }

    /// Does what is left to be done after a restart. Returns the domains that have collections to do then.
    fn resume(&mut self, rest: &RecoveryWork, array: &mut impl Array) -> Vec<Domain> {
        for &unit in &rest.erase {
            let erasure = Erasure { unit, cause: Cause::Gc, forward: false, ends: false, retires: false };
            if !array.erased(erasure) {
                self.wears_out(unit, OpKind::Erase);
            }
            self.free_or_retire(self.kernel.geometry().domain_of_unit(unit), unit);
        }
        self.mechanisms.reopen(&mut self.kernel);
        for &at in &rest.holes {
            if self.kernel.state_of(self.kernel.geometry().unit_of(at)) == UnitState::Closed {
                // A program failed there.
                continue;
            }
            let tag = self.kernel.tag(PageKind::Dummy, || 0, at);
            let dummy = Placed { at, holds: PagePayload::Nothing, tag, way: Way::Plain };
            if !array.combined(Cause::Backup, &[], dummy) {
                self.repair(at, DataSource::Controller, array);
            }
        }
        let mut rescued = Vec::new();
        for rescue in &rest.rescues {
            let Some(placed) = self.rescue(rescue, &rescued) else {
                self.leave_backed_up(rescue.lpn, &rescue.sources);
                continue;
            };
            rescued.push(placed.at);
            if array.rewritten(Cause::Backup, rescue.source(), placed) != Rewritten::Done {
                self.repair(placed.at, rescue.source(), array);
            }
        }
        for at in rescued {
            let unit = self.kernel.geometry().unit_of(at);
            self.end_row(self.kernel.geometry().domain_of_unit(unit), self.kernel.stream_of(unit), array);
        }
        let domains = self.kernel.geometry().all_domains();
        if !self.on_demand {
            domains.clone().for_each(|domain| self.collect_if_needed(domain));
        }
        let busy = domains.filter(|&domain| self.is_busy(domain)).collect();
        self.regain_room(array);
        busy
    }

    /// Places a page that is brought back, behind those that were. Nothing if there is no place.
    fn rescue(&mut self, rescue: &Rescue, rescued: &[Ppn]) -> Option<Placed> {
        let domain = self.kernel.geometry().domain_of_unit(self.kernel.geometry().unit_of(rescue.sources[0]));
        let stream = self.kernel.streams().of_byte(rescue.stream).unwrap_or(self.kernel.streams().last_of_data());
        if let Some(Frontier { unit, slot }) = self.kernel.frontier(domain, stream) {
            // Nothing that is unprotected is put at risk while the only copy of something else is a backup. Pages that were brought back just
            // now have their backups still, and lost ones are not at risk.
            let wordlines = self.kernel.wordlines();
            let is_by_row = self.kernel.geometry().parts > 1;
            let lowers = slot.all_before().filter(|&lower| match is_by_row {
                true => !wordlines.is_top(lower) && wordlines.share_with_row(lower, slot),
                false => wordlines.share(lower, slot),
            });
            let mut lowers = lowers.map(|lower| self.kernel.geometry().ppn(unit, lower));
            let may = lowers.all(|at| rescued.contains(&at) || !self.kernel.is_valid(at));
            if !may && self.kernel.free(domain) > 0 {
                self.seal(domain, stream);
            }
        }
        if self.has_no_place(domain, stream) {
            return None;
        }
        if !self.kernel.is_mapped(rescue.lpn) {
            self.mechanisms.adopt_page(rescue.lpn, rescue.region, rescue.write);
        }
        Some(self.rewrite(domain, stream, rescue.lpn, rescue.source()))
    }

    /// Places a page anew that lost its place.
    pub(crate) fn rewrite(&mut self, domain: Domain, stream: Stream, lpn: Lpn, source: DataSource) -> Placed {
        let old = self.kernel.lookup(lpn);
        if let Some(old) = old {
            self.kernel.invalidate(old);
        }
        let place = self.kernel.place_new(domain, stream, lpn, false);
        if let Some(old) = old {
            self.kernel.place_anew(old, place.at);
        }
        self.note_placed(domain, lpn, place, PageOrigin::Anew(source));
        if self.kernel.is_of_map(lpn) {
            let tag = self.kernel.map_spare(lpn, place.at);
            return self.announced(place.at, PagePayload::Map(lpn), tag);
        }
        let tag = self.data_tag(lpn, place.at);
        self.announced(place.at, PagePayload::Data(lpn), tag)
    }

    /// Ends the filling of an active block before it is full.
    pub(crate) fn seal(&mut self, domain: Domain, stream: Stream) {
        let unit = self.kernel.close(domain, stream);
        self.mechanisms.sealed(&self.kernel, domain, unit);
        self.mechanisms.filled(&mut self.kernel, domain, unit);
    }
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Faults,
    name: "Faults and restarts",
    keys: &[],
    modelled: "The power goes off at any operation or instant, programs and erases fail, and the FTL restarts from the spare areas.",
    not_modelled: &[
        "The FTL writes no checkpoint while it works: after a power cut all spare areas are read.",
        "A restart takes no simulated time; what it would take is told.",
        "Hybrid mapping has no faults.",
    ],
};
