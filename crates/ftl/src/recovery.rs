//! After a power cut: the map, the free space and the frontiers, from what flash holds alone.
//!
//! Every page is looked at. Of the readable pages of a logical page the one of the newest host write counts,
//! so a page that was lost comes back by itself where a copy is left: in the victim it was moved from, in a
//! buffer block. Copies in backup blocks are only stand-ins; their data are *rescued* to a frontier. Blocks
//! whose erase was interrupted are erased again. Frontiers go on where they stopped; a wordline in which a
//! lower page was lost is filled up with dummy pages, and lower pages count as uncovered.

use base::{Geometry, Lpn, Ppn};

use crate::layer::{Frontier, Ftl, NONE, OutOfMemory, Policies};
use crate::paired::{Cover, Guard, Scheme};
use crate::spare::{Kind, Spare, home};
use crate::victim::{Unit, UnitState};

/// What is found in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Not programmed since the last erase.
    Empty,
    /// Programmed, and not readable.
    Lost,
    /// A page with this spare area.
    Holds(u128),
}

/// What is found in a unit.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Whether its erase was interrupted.
    pub torn: bool,
    /// Whether only its LSB pages are used.
    pub lsb_only: bool,
    /// How often it was erased.
    pub erases: u32,
    /// What its slots hold, in order.
    pub slots: Vec<Slot>,
}

/// A page whose newest data are left as a backup only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// The page.
    pub lpn: Lpn,
    /// Its backup, or a parity page and the page beside it.
    pub sources: Vec<Ppn>,
    write: u64,
    region: u8,
    stream: u8,
}

impl Rescue {
    /// The identity part of the page's spare area.
    pub fn identity(&self) -> u128 {
        u128::from(self.lpn.0) | u128::from(self.write) << 32
    }
}

/// What is left to be done after a restart, in this order.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Units to erase; each is then [`Ftl::reclaim`]ed.
    pub erase: Vec<u32>,
    /// Pages to read, to place by [`Ftl::rescue`] and to program.
    pub rescues: Vec<Rescue>,
    /// Spare areas that were read.
    pub pages_read: u64,
}

/// A readable page of a logical page.
#[derive(Clone, Copy)]
struct Found {
    write: u64,
    order: u64,
    at: Ppn,
    region: u8,
}

impl Ftl {
    /// The FTL of a device of which nothing is known but the array. `scan` is by unit.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub fn recover(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        scan: &[Scanned],
    ) -> Result<(Ftl, Recovery), OutOfMemory> {
        let mut ftl = Ftl::new(geometry, user_pages, policies, seed)?;
        ftl.keep_spares();
        ftl.protection.guards.fill(Guard::new());
        let newest = ftl.newest_pages(scan);
        ftl.adopt_units(scan);
        for (lpn, found) in newest.iter().enumerate().filter_map(|(lpn, found)| found.map(|found| (lpn, found))) {
            ftl.adopt_page(Lpn(lpn as u32), found);
        }
        let mut recovery = Recovery {
            rescues: ftl.rescues(scan, &newest),
            pages_read: scan.iter().flat_map(|unit| &unit.slots).filter(|slot| **slot != Slot::Empty).count() as u64,
            ..Recovery::default()
        };
        ftl.adopt_frontiers(scan);
        recovery.erase = ftl.units_to_erase(scan, &recovery.rescues);
        ftl.adopt_free_space(scan, &recovery.erase);
        Ok((ftl, recovery))
    }

    /// By LPN: the page of the newest host write; of several copies the one programmed last.
    fn newest_pages(&mut self, scan: &[Scanned]) -> Vec<Option<Found>> {
        let mut newest: Vec<Option<Found>> = vec![None; self.map.len()];
        for (at, spare) in self.pages_of(scan) {
            self.order = self.order.max(if spare.kind == Kind::Parity { 0 } else { spare.order });
            if !matches!(spare.kind, Kind::Data | Kind::Backup) {
                continue;
            }
            self.writes = self.writes.max(spare.write);
            let Some(best) = newest.get_mut(spare.lpn as usize).filter(|_| spare.kind == Kind::Data) else { continue };
            if best.is_none_or(|best| (spare.write, spare.order) > (best.write, best.order)) {
                *best = Some(Found { write: spare.write, order: spare.order, at, region: spare.region });
            }
        }
        newest
    }

    /// The readable pages with their spare areas.
    fn pages_of(&self, scan: &[Scanned]) -> Vec<(Ppn, Spare)> {
        let mut pages = Vec::new();
        for (unit, scanned) in scan.iter().enumerate() {
            for (slot, found) in scanned.slots.iter().enumerate() {
                if let Slot::Holds(bits) = found
                    && let Some(spare) = Spare::unpack(*bits)
                {
                    pages.push((self.geometry.ppn(unit as u32, slot as u32), spare));
                }
            }
        }
        pages
    }

    /// Takes over erase counts, and closes every unit that was programmed.
    fn adopt_units(&mut self, scan: &[Scanned]) {
        let mut by_age: Vec<(u64, u32)> = Vec::new();
        for (unit, scanned) in scan.iter().enumerate() {
            self.erases[unit] = scanned.erases;
            let is_used = scanned.slots.iter().any(|slot| *slot != Slot::Empty);
            let state = match (scanned.torn || is_used, scanned.lsb_only) {
                (false, _) => UnitState::Free,
                (true, false) => UnitState::Closed,
                (true, true) => UnitState::Aside,
            };
            self.units[unit] = Unit { valid: 0, state, lsb_only: scanned.lsb_only && is_used };
            if state != UnitState::Free {
                by_age.push((newest_order(scanned), unit as u32));
            }
        }
        by_age.sort_unstable();
        for (age, &(_, unit)) in by_age.iter().enumerate() {
            self.closed_at[unit as usize] = age as u32 + 1;
        }
        self.closings = by_age.len() as u32;
    }

    fn adopt_page(&mut self, lpn: Lpn, found: Found) {
        self.map[lpn.index()] = found.at.0;
        self.reverse[found.at.index()] = lpn.0;
        let unit = self.geometry.unit_of(found.at);
        self.units[unit as usize].valid += 1;
        self.domains[self.geometry.domain_of_unit(unit) as usize].valid += 1;
        self.separation.adopt(lpn, found.region);
    }

    /// Pages of which a backup holds a newer version than any other page.
    fn rescues(&self, scan: &[Scanned], newest: &[Option<Found>]) -> Vec<Rescue> {
        let mut rescues: Vec<Rescue> = Vec::new();
        for (at, spare) in self.pages_of(scan) {
            let candidate = match spare.kind {
                Kind::Backup => Some(Rescue {
                    lpn: Lpn(spare.lpn),
                    sources: vec![at],
                    write: spare.write,
                    region: spare.region,
                    stream: spare.stream,
                }),
                Kind::Parity => self.undo_parity(scan, at, spare),
                Kind::Data | Kind::Dummy => None,
            };
            let Some(rescue) = candidate.filter(|rescue| rescue.lpn.index() < newest.len()) else { continue };
            if newest[rescue.lpn.index()].is_some_and(|found| found.write >= rescue.write) {
                continue;
            }
            match rescues.iter_mut().find(|other| other.lpn == rescue.lpn) {
                Some(other) if other.write < rescue.write => *other = rescue,
                Some(_) => {}
                None => rescues.push(rescue),
            }
        }
        rescues
    }

    /// The page that a parity page brings back: one of its two is lost, and they are the ones it was made of.
    fn undo_parity(&self, scan: &[Scanned], at: Ppn, parity: Spare) -> Option<Rescue> {
        let first = Ppn(parity.order as u32);
        let (unit, slot) = self.geometry.unit_and_slot(first);
        let scanned = scan.get(unit as usize)?;
        if home(first, scanned.erases) != parity.order {
            return None;
        }
        let second = self.protection.wordlines.next_lsb(slot);
        let pages = [slot, second].map(|slot| scanned.slots.get(slot as usize).copied());
        let (other, bits) = match pages {
            [Some(Slot::Lost), Some(Slot::Holds(bits))] => (second, bits),
            [Some(Slot::Holds(bits)), Some(Slot::Lost)] => (slot, bits),
            _ => return None,
        };
        let other_spare = Spare::unpack(bits)?;
        Some(Rescue {
            lpn: Lpn(parity.lpn ^ other_spare.lpn),
            sources: vec![at, self.geometry.ppn(unit, other)],
            write: parity.write ^ other_spare.write,
            region: parity.region ^ other_spare.region,
            stream: other_spare.stream,
        })
    }

    /// The unit that each frontier was filling goes on being filled.
    fn adopt_frontiers(&mut self, scan: &[Scanned]) {
        let slots = self.geometry.unit_slots();
        let mut partial: Vec<(u64, u32, u32)> = Vec::new();
        for (unit, scanned) in scan.iter().enumerate().filter(|(_, scanned)| !scanned.torn) {
            let written = scanned.slots.iter().rposition(|slot| *slot != Slot::Empty).map_or(0, |last| last as u32 + 1);
            let next = match (written, scanned.lsb_only) {
                (0, _) => continue,
                (written, true) => self.protection.wordlines.next_lsb(written - 1),
                (written, false) => written,
            };
            partial.push((newest_order(scanned), unit as u32, next));
        }
        // The unit that was written last comes last and stays.
        partial.sort_unstable();
        for (order, unit, next) in partial {
            let Some(spare) = newest_spare(&scan[unit as usize]).filter(|_| order > 0) else { continue };
            let domain = self.geometry.domain_of_unit(unit) as usize;
            let is_backup = scan[unit as usize].lsb_only && self.protection.scheme.keeps_backups();
            if is_backup {
                self.protection.guards[domain].backup = Frontier { unit, slot: next };
                self.closed_at[unit as usize] = 0;
                continue;
            }
            let stream = usize::from(spare.stream);
            // What was merged last may lean on units that are not held any more: it is left as it is.
            let is_sealed = self.protection.scheme == Scheme::SlcBuffer && !scan[unit as usize].lsb_only;
            if next >= slots || stream >= self.streams || is_sealed {
                continue;
            }
            let before = std::mem::replace(&mut self.domains[domain].frontiers[stream], Frontier { unit, slot: next });
            if before.unit != NONE {
                self.units[before.unit as usize].state = closed_state(&scan[before.unit as usize]);
                self.closed_at[before.unit as usize] = self.closings;
            }
            self.units[unit as usize].state = UnitState::Open;
            self.closed_at[unit as usize] = 0;
        }
        for domain in 0..self.domains.len() {
            for stream in 0..self.streams {
                self.adopt_lowers(scan, domain, self.domains[domain].frontiers[stream]);
            }
        }
    }

    /// The lower pages of a frontier's incomplete wordlines: uncovered, unless a backup is found.
    fn adopt_lowers(&mut self, scan: &[Scanned], domain: usize, frontier: Frontier) {
        let Frontier { unit, slot } = frontier;
        if unit == NONE || !self.protection.scheme.keeps_track() || scan[unit as usize].lsb_only {
            return;
        }
        let wordlines = &self.protection.wordlines;
        let slots = &scan[unit as usize].slots;
        for lower in (0..slot).filter(|&lower| !wordlines.is_top(lower)) {
            let is_complete = (lower..slot).any(|upper| wordlines.is_top(upper) && wordlines.share(lower, upper));
            if is_complete {
                continue;
            }
            let cover = match slots[lower as usize] {
                Slot::Holds(bits) if Spare::unpack(bits).is_some() => Cover::None,
                _ => Cover::Lost,
            };
            let at = self.geometry.ppn(unit, lower);
            self.protection.guards[domain].lowers.adopt(at, cover);
        }
    }

    /// Units that hold nothing: those whose erase was interrupted, and closed ones without a valid page.
    fn units_to_erase(&self, scan: &[Scanned], rescues: &[Rescue]) -> Vec<u32> {
        let is_source = |unit: u32| {
            rescues.iter().flat_map(|rescue| &rescue.sources).any(|&page| self.geometry.unit_of(page) == unit)
        };
        let is_backup = |unit: u32| self.protection.guards.iter().any(|guard| guard.backup.unit == unit);
        (0..self.geometry.units())
            .filter(|&unit| {
                let Unit { valid, state, .. } = self.units[unit as usize];
                let is_empty = valid == 0 && matches!(state, UnitState::Closed | UnitState::Aside);
                scan[unit as usize].torn || is_empty && !is_source(unit) && !is_backup(unit)
            })
            .collect()
    }

    /// Fills the pool, tells the victim policy what is closed, and queues buffer units.
    fn adopt_free_space(&mut self, scan: &[Scanned], to_erase: &[u32]) {
        self.restart_pool();
        let mut by_age: Vec<u32> = (0..self.geometry.units()).collect();
        by_age.sort_by_key(|&unit| self.closed_at[unit as usize]);
        for domain in &mut self.domains {
            domain.free = 0;
        }
        for unit in by_age {
            let domain = self.geometry.domain_of_unit(unit);
            match self.units[unit as usize].state {
                _ if to_erase.contains(&unit) => self.units[unit as usize].state = UnitState::Collecting,
                UnitState::Free => {
                    self.domains[domain as usize].free += 1;
                    self.put_free(domain, unit);
                }
                UnitState::Closed => self.announce(domain, unit),
                UnitState::Aside if self.protection.scheme == Scheme::SlcBuffer => {
                    self.protection.guards[domain as usize].buffers.push_back(unit);
                }
                _ => {}
            }
            debug_assert_eq!(scan[unit as usize].erases, self.erases[unit as usize]);
        }
        // The first victim after a restart is the emptiest unit: space may be short.
        let units = self.geometry.units_per_domain();
        self.domains.iter_mut().for_each(|domain| domain.fruitless = units);
    }

    /// A unit of [`Recovery::erase`] was erased.
    pub fn reclaim(&mut self, unit: u32) {
        self.closed_at[unit as usize] = 0;
        self.free_unit(self.geometry.domain_of_unit(unit), unit);
    }

    /// After [`Recovery::erase`]: gives every domain its backup unit back.
    pub fn reopen_backups(&mut self) {
        for domain in 0..self.geometry.domains() {
            let guard = self.protection.guards.get(domain as usize);
            if self.protection.scheme.keeps_backups() && guard.is_some_and(|guard| guard.backup.unit == NONE) {
                self.open_backup(domain);
            }
        }
    }

    /// Places a rescued page; returns where, and its spare area but for the identity.
    pub fn rescue(&mut self, rescue: &Rescue) -> (Ppn, u128) {
        let domain = self.geometry.domain_of_unit(self.geometry.unit_of(rescue.sources[0]));
        let cover = match rescue.sources[..] {
            [backup] => Cover::Copy(backup),
            _ => Cover::None,
        };
        let stream = usize::from(rescue.stream).min(self.streams - 1);
        let Frontier { unit, slot } = self.domains[domain as usize].frontiers[stream];
        let is_upper = unit != NONE && !self.protection.wordlines.is_lsb(self.geometry.page_of_slot(slot));
        if is_upper && self.domains[domain as usize].free > 0 {
            // Nothing that is bare is put at risk while the only copy of something else is a backup.
            self.seal(domain, stream);
        }
        if self.map[rescue.lpn.index()] == NONE {
            self.separation.adopt(rescue.lpn, rescue.region);
        }
        self.rewrite(domain, stream, rescue.lpn, cover)
    }

    /// After the rescues: begins the collections that domains need. Returns which.
    pub fn resume(&mut self) -> Vec<u32> {
        let domains = 0..self.geometry.domains();
        if !self.is_careful {
            domains.clone().for_each(|domain| self.collect_if_needed(domain));
        }
        domains.filter(|&domain| self.is_collecting(domain)).collect()
    }
}

/// What a unit is when it is not filled any more.
fn closed_state(scanned: &Scanned) -> UnitState {
    if scanned.lsb_only { UnitState::Aside } else { UnitState::Closed }
}

/// The spare area of the page of a unit that was programmed last and can be read.
fn newest_spare(scanned: &Scanned) -> Option<Spare> {
    scanned.slots.iter().rev().find_map(|slot| match slot {
        Slot::Holds(bits) => Spare::unpack(*bits),
        Slot::Empty | Slot::Lost => None,
    })
}

/// When a unit was programmed last, as far as can be read; 0 if nothing can.
fn newest_order(scanned: &Scanned) -> u64 {
    let orders = scanned.slots.iter().filter_map(|slot| match slot {
        Slot::Holds(bits) => Spare::unpack(*bits).map(|spare| if spare.kind == Kind::Parity { 1 } else { spare.order }),
        Slot::Empty | Slot::Lost => None,
    });
    orders.max().unwrap_or(0)
}
