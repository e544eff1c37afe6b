//! Collections that a power cut interrupted, undone where there is no room left to end them.
//!
//! Each cut takes the page that is programmed. A collection that loses more pages than its victim has invalid ones needs more room than
//! there is. Its victim is not erased before it is empty, so the copies are not needed: the originals count again, the unit that the
//! collection opened is erased, and it begins anew with the room that it had at first.

use std::collections::BTreeMap;

use base::{Domain, Lpn, Ppn, Slot, Unit};
use engine::FlatMap;

use crate::kernel::{PageKind, Spare, Stream};
use crate::mechanism::Mechanisms;
use crate::ops::Array;
use crate::page::PageMap;
use crate::recovery::NONE;
use crate::scan::{Scan, UnitFound, spare_of};
use crate::victim::UnitState;

impl<M: Mechanisms> PageMap<M> {
    /// After a restart: collects where a domain has less room than its next victim may need, though an active block takes pages.
    pub(crate) fn regain_room(&mut self, array: &mut impl Array) {
        let needed = self.kernel.budget().for_a_victim;
        for domain in self.kernel.geometry().all_domains() {
            // Each collection gains a page at least.
            for _ in 0..self.kernel.geometry().units_per_domain() * self.kernel.geometry().unit_slots() {
                if self.kernel.free(domain) >= needed || self.is_read_only() {
                    break;
                }
                if !self.is_busy(domain) {
                    if self.kernel.scan(domain).in_state(UnitState::Closed).next().is_none() {
                        break;
                    }
                    self.collect_for_room(domain, Stream::FIRST);
                }
                self.collect(domain, u32::MAX, array);
            }
        }
    }

    /// Has originals count in place of copies where a domain could not empty a victim else. Units of such copies are as those whose erase
    /// was interrupted.
    pub(crate) fn undo_collections(&self, scan: &dyn Scan, found: &mut [UnitFound], newest: &mut FlatMap) {
        if self.mechanisms.parts().reads.is_some() {
            // Where reads are limited, originals may have been read too often to be read once more.
            return;
        }
        let geometry = *self.kernel.geometry();
        let mut valid = vec![0; found.len()];
        for at in newest.range(0..newest.len()).filter(|at| *at != NONE) {
            valid[geometry.unit_of(Ppn(at)).index()] += 1;
        }
        for domain in geometry.all_domains() {
            while let Some((unit, originals)) = self.unit_to_undo(scan, found, newest, &valid, domain) {
                for (lpn, original) in originals {
                    newest.set(lpn.index(), original.0);
                    valid[geometry.unit_of(original).index()] += 1;
                }
                valid[unit.index()] = 0;
                found[unit.index()].torn = true;
            }
        }
    }

    /// A unit of copies that a domain needs for its next victim, and the originals of its pages.
    fn unit_to_undo(
        &self,
        scan: &dyn Scan,
        found: &[UnitFound],
        newest: &FlatMap,
        valid: &[u32],
        domain: Domain,
    ) -> Option<(Unit, Vec<(Lpn, Ppn)>)> {
        let geometry = self.kernel.geometry();
        let (needed, slots) = (self.kernel.budget().for_a_victim, geometry.unit_slots());
        let valid_of = |unit: Unit| valid[unit.index()];
        let units = || geometry.units_of_domain(domain).filter(|unit| !found[unit.index()].bad);
        let is_free = |unit: &Unit| {
            let UnitFound { torn, lsb_only, used, .. } = found[unit.index()];
            torn || used == 0 || !lsb_only && valid_of(*unit) == 0
        };
        let free = units().filter(is_free).count() as u32;
        if free >= needed {
            return None;
        }
        // A unit that is not full may come to be an active block, which is no victim.
        let is_full = |unit: &Unit| found[unit.index()].last.is_some_and(|last| last.next() == geometry.end_slot());
        let fits = |unit: Unit| {
            let left = found[unit.index()].last.map_or(slots, |last| geometry.slots_left(last.next()));
            let victims = units().filter(|&other| other != unit && valid_of(other) > 0).filter(is_full);
            needed == 1 && left + free * slots >= victims.map(valid_of).min().unwrap_or(slots)
        };
        let has_lost = |unit: &Unit| (1..found[unit.index()].used).contains(&valid_of(*unit));
        let mut lossy: Vec<Unit> = units().filter(|unit| !found[unit.index()].torn).filter(has_lost).collect();
        lossy.sort_unstable_by_key(|unit| std::cmp::Reverse(found[unit.index()].order));
        lossy.into_iter().filter(|&unit| !fits(unit)).find_map(|unit| {
            let originals = self.originals(scan, found, newest, domain, unit)?;
            Some((unit, originals))
        })
    }

    /// The originals of all valid pages of a unit, if each has one.
    fn originals(
        &self,
        scan: &dyn Scan,
        found: &[UnitFound],
        newest: &FlatMap,
        domain: Domain,
        unit: Unit,
    ) -> Option<Vec<(Lpn, Ppn)>> {
        let geometry = self.kernel.geometry();
        let data = |slot| spare_of(slot).filter(|spare: &Spare| spare.kind == PageKind::Data);
        let mut copies: BTreeMap<u32, (u64, Option<(u64, Ppn)>)> = BTreeMap::new();
        for (slot, page) in scan.unit(unit).pages.iter().enumerate() {
            let at = geometry.ppn(unit, Slot::new(slot as u32));
            if let Some(spare) = data(*page)
                && (spare.lpn as usize) < newest.len()
                && newest.get(spare.lpn as usize) == at.0
            {
                copies.insert(spare.lpn, (spare.write, None));
            }
        }
        for other in geometry.units_of_domain(domain).filter(|&other| other != unit && !found[other.index()].torn) {
            for (slot, page) in scan.unit(other).pages.iter().enumerate() {
                if let Some(spare) = data(*page)
                    && let Some((write, original)) = copies.get_mut(&spare.lpn)
                    && spare.write == *write
                    && original.is_none_or(|(order, _)| spare.order > order)
                {
                    *original = Some((spare.order, geometry.ppn(other, Slot::new(slot as u32))));
                }
            }
        }
        copies.into_iter().map(|(lpn, (_, original))| Some((Lpn(lpn), original?.1))).collect()
    }
}
