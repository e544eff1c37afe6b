//! Operations of a domain for its map, and notes to the map of writes, moves and trims.

use base::{Cause, Domain, Lpn, Ppn, Unit};

use super::{Causes, Combined, Dftl, MapNeed, MapOp, NONE, PATIENCE, Pending, Product, Reason, VictimEnd};
use crate::group::Group;
use crate::kernel::{Kernel, Why};
use crate::ops::{Op, Step};
use crate::victim::UnitState;

// What is asked of entries.
impl Dftl {
    /// True if the map entry of a page is in the cache.
    #[inline]
    pub(crate) fn holds_entry(&self, lpn: Lpn) -> bool {
        self.cache.holds(lpn.0)
    }

    /// True if the map entry of a page is at hand: in the cache, or on a translation page that was never written.
    #[inline]
    pub(crate) fn is_known(&self, kernel: &Kernel, lpn: Lpn) -> bool {
        self.cache.holds(lpn.0)
            || !kernel.is_mapped(self.lpn_of(self.page_of(lpn)))
            || self.instances[self.owner_of(lpn).index()].passing == Some(lpn)
    }

    /// The map entry of a page was used to read it.
    #[inline]
    pub(crate) fn used(&mut self, lpn: Lpn) {
        self.done.lookups += 1;
        let slot = self.cache.slot(lpn.0);
        if slot != NONE {
            let domain = self.owner_of(lpn);
            self.cache.touch(domain, slot);
        }
    }

    /// The translation page of a fetch was read. Returns whose entry it was read for.
    ///
    /// # Panics
    /// If there was no fetch.
    pub(crate) fn fetched(&mut self, kernel: &mut Kernel, domain: Domain) -> Lpn {
        let instance = &mut self.instances[domain.index()];
        assert!(
            matches!(instance.map_op, Some(MapOp::Fetch(_))),
            "a translation page is fetched when it was asked for"
        );
        instance.map_op = None;
        let lpn = instance.wanted.expect("a translation page is fetched for an entry");
        self.has_come(kernel, domain, lpn);
        self.done.fetches += 1;
        lpn
    }

    /// Places the next version of the translation page in hand, or the first part of it; with it all its entries in the cache are
    /// clean.
    ///
    /// # Panics
    /// If there was no such operation.
    pub(crate) fn update(&mut self, kernel: &mut Kernel, domain: Domain) -> Combined {
        let Some(MapOp::Update(page, reason)) = self.instances[domain.index()].map_op.take() else {
            panic!("a translation page is written when it was asked for");
        };
        let written = self.cache.clean(page);
        self.causes[page as usize] = Causes::default();
        match reason {
            Reason::WriteBack => {
                self.done.write_backs += 1;
                self.done.entries_written_back += u64::from(written);
            }
            Reason::Moved => self.done.gc_updates += 1,
            Reason::Trimmed => self.done.trim_updates += 1,
        }
        let instance = &mut self.instances[domain.index()];
        (instance.in_flight, instance.parts_left) = (Some(page), self.parts);
        self.updates[page as usize].placed += 1;
        if let Some(mut contents) = self.in_flash.take() {
            for entry in self.entries_of(page) {
                contents[entry.index()] = kernel.lookup(entry);
            }
            self.in_flash = Some(contents);
        }
        self.place_part(kernel, domain).expect("the first part of a translation page")
    }

    /// True if parts of the translation page that is being placed are left.
    pub(crate) fn has_rest(&self, domain: Domain) -> bool {
        let instance = &self.instances[domain.index()];
        instance.in_flight.is_some() && instance.parts_left > 0
    }

    /// Places the next part of the translation page that is being placed; nothing if none is left.
    pub(crate) fn place_part(&mut self, kernel: &mut Kernel, domain: Domain) -> Option<Combined> {
        let instance = &mut self.instances[domain.index()];
        let page = instance.in_flight.filter(|_| instance.parts_left > 0)?;
        let part = self.parts - instance.parts_left;
        instance.parts_left -= 1;
        let lpn = Lpn(self.lpn_of(page).0 + part);
        match kernel.lookup(lpn) {
            None => self.instances[domain.index()].unwritten -= 1,
            Some(old) => kernel.invalidate(old),
        }
        let place = kernel.place_new(domain, kernel.streams().of_map(), lpn, false);
        Some(Combined { place, product: Product::Map(lpn) })
    }
}

// What happens to pages.
impl Dftl {
    /// Asks for where the entry of a page is in the cache.
    #[inline]
    pub(crate) fn prefetch_entry(&self, lpn: Lpn) {
        if !self.is_translation(lpn.0) {
            self.cache.prefetch(lpn.0);
        }
    }

    /// A page was written: its entry, which is in the cache, is dirty.
    pub(super) fn entry_written(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        let (slot, page) = (self.cache.slot(lpn.0), self.page_of(lpn));
        assert_ne!(slot, NONE, "a page is written when its entry is at hand");
        self.done.lookups += 1;
        let owner = self.owner_of(lpn);
        self.cache.touch(owner, slot);
        self.cache.make_dirty(slot, page);
        let instance = &mut self.instances[owner.index()];
        let was_held = instance.held.take_if(|held| *held == lpn).is_some();
        if !instance.unreadable.is_empty() {
            instance.trimmed.append(&mut instance.unreadable);
            self.wake(kernel, owner);
        }
        if was_held {
            self.want_next(kernel, owner);
        }
    }

    /// A page was moved: its entry changes in the cache alone if it is there; else its translation page has to be
    /// updated before the victim is erased.
    pub(super) fn entry_moved(&mut self, domain: Domain, lpn: u32) {
        if self.is_translation(lpn) {
            return;
        }
        let (slot, page) = (self.cache.slot(lpn), self.page_of(Lpn(lpn)));
        if slot != NONE {
            self.done.moved_cached += 1;
            self.cache.make_dirty(slot, page);
            return;
        }
        self.done.moved_uncached += 1;
        let was_due = std::mem::replace(&mut self.causes[page as usize].moved, true);
        let moved = &mut self.instances[domain.index()].moved;
        if !was_due || self.has_owners_elsewhere && !moved.contains(&page) {
            moved.push(page);
        }
    }

    /// A page that was mapped was trimmed.
    pub(super) fn entry_trimmed(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        let (slot, page) = (self.cache.slot(lpn.0), self.page_of(lpn));
        if slot != NONE {
            self.cache.make_dirty(slot, page);
        } else {
            self.ask_for_update(page);
            self.wake(kernel, self.owner_of_page(page));
        }
    }

    /// A translation page is to be updated in time; nothing waits for it.
    pub(super) fn ask_for_update(&mut self, page: u32) {
        if !std::mem::replace(&mut self.causes[page as usize].trimmed, true) {
            let owner = self.owner_of_page(page);
            self.instances[owner.index()].trimmed.push(page);
        }
    }

    /// A unit of translation pages is filled.
    pub(super) fn note_filled(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        let closed = &mut self.instances[domain.index()].closed;
        closed.retain(|&other| other != unit && kernel.state_of(other) == UnitState::Closed && kernel.holds_map(other));
        closed.push(unit);
    }
}

// What a domain does next.
impl Dftl {
    /// The next operation that a domain does for its map, apart from those that belong to a collection. `may_fetch` says
    /// whether a translation page may be read for an entry now; an update reads each for the last time.
    pub(crate) fn next_map_op(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        has_room: bool,
        may_fetch: bool,
        group: &mut Group,
    ) -> Option<Pending> {
        if self.instances[domain.index()].map_op.is_none() {
            let mut wanted = self.op_for_entry(kernel, domain, has_room, may_fetch);
            if wanted == MapNeed::Nothing {
                wanted = self.op_for_others(kernel, domain, has_room);
            }
            if wanted == MapNeed::Nothing {
                wanted = self.op_for_trims(kernel, domain, has_room);
            }
            if wanted == MapNeed::Nothing {
                wanted = self.op_for_pairs(kernel, domain, has_room);
            }
            match wanted {
                MapNeed::Nothing => return None,
                MapNeed::Room => return Some(Pending::Room),
                MapNeed::MapOp(map_op) => self.instances[domain.index()].map_op = Some(map_op),
            }
        }
        self.step_in_hand(kernel, domain, group).map(Pending::Act)
    }

    /// A dummy page goes first, and fills the active block that the update in hand was to go to: it is named anew, with room for it. While the
    /// domain is collected there is room for what its own pages need.
    pub(crate) fn padded_away(&mut self, kernel: &Kernel, domain: Domain) {
        let geometry = kernel.geometry();
        let frontier = kernel.frontier(domain, kernel.streams().of_map());
        let is_filled = frontier.is_some_and(|place| geometry.slots_left(place.slot) <= geometry.row_slots());
        if is_filled && (kernel.job(domain).is_none() || self.has_owners_elsewhere) {
            self.instances[domain.index()].map_op = None;
        }
    }

    /// The operation for the entry that is wanted; nothing if it could be had at once, or has to wait.
    fn op_for_entry(&mut self, kernel: &mut Kernel, domain: Domain, has_room: bool, may_fetch: bool) -> MapNeed {
        let Some(lpn) = self.instances[domain.index()].wanted else { return MapNeed::Nothing };
        let page = self.page_of(lpn);
        let at = kernel.lookup(self.lpn_of(page));
        if !may_fetch {
            return MapNeed::Nothing;
        }
        if self.cache.is_full(domain) {
            let mut slot = self.cache.order(domain).oldest;
            if self.cache.entry(slot).is_dirty {
                if kernel.job(domain).is_none() {
                    let page = self.page_of(Lpn(self.cache.entry(slot).lpn));
                    return self.with_room(kernel, domain, has_room, MapOp::Update(page, Reason::WriteBack));
                }
                match self.cache.oldest_clean(domain) {
                    Some(clean) => slot = clean,
                    None => return MapNeed::Nothing,
                }
            }
            self.cache.evict(domain, slot);
        }
        if at.is_some() {
            return MapNeed::MapOp(MapOp::Fetch(page));
        }
        self.has_come(kernel, domain, lpn);
        // A write in a shared queue may have waited for it.
        self.wake(kernel, domain);
        MapNeed::Nothing
    }

    /// A translation page to update because of trims; not while the domain is collected, which needs the room.
    fn op_for_trims(&mut self, kernel: &mut Kernel, domain: Domain, has_room: bool) -> MapNeed {
        if kernel.job(domain).is_some() {
            return MapNeed::Nothing;
        }
        while let Some(&page) = self.instances[domain.index()].trimmed.last() {
            if self.causes[page as usize].trimmed {
                return self.with_room(kernel, domain, has_room, MapOp::Update(page, Reason::Trimmed));
            }
            self.instances[domain.index()].trimmed.pop();
        }
        MapNeed::Nothing
    }

    /// A translation page to update because of pages that went under pages of the host. They wait until their victim is
    /// empty, and come before the next one: the reserve has room for the updates of one.
    fn op_for_pairs(&mut self, kernel: &mut Kernel, domain: Domain, has_room: bool) -> MapNeed {
        let instance = &mut self.instances[domain.index()];
        if !instance.is_paired || kernel.job(domain).is_some() || kernel.pairing(domain).is_some() {
            return MapNeed::Nothing;
        }
        while let Some(&page) = instance.moved.last() {
            if self.causes[page as usize].moved {
                return self.with_room(kernel, domain, has_room, MapOp::Update(page, Reason::Moved));
            }
            instance.moved.pop();
        }
        instance.is_paired = false;
        MapNeed::Nothing
    }

    /// An operation, if a translation page can be placed now.
    pub(super) fn with_room(&mut self, kernel: &mut Kernel, domain: Domain, has_room: bool, map_op: MapOp) -> MapNeed {
        if kernel.is_open(domain, kernel.streams().of_map()) {
            return MapNeed::MapOp(map_op);
        }
        if self.is_parked(domain) {
            // Data would only park another victim; and without invalid translation pages the reserve is enough for the
            // rest.
            return if self.compact(kernel, domain, Why::Room) { MapNeed::Nothing } else { MapNeed::MapOp(map_op) };
        }
        if has_room { MapNeed::MapOp(map_op) } else { MapNeed::Room }
    }

    /// The next translation page to update before the victim of a domain is erased.
    pub(super) fn moved_update(&mut self, kernel: &Kernel, domain: Domain, group: &mut Group) -> Option<Step> {
        let instance = &mut self.instances[domain.index()];
        while let Some(&page) = instance.moved.last() {
            if self.causes[page as usize].moved {
                instance.map_op = Some(MapOp::Update(page, Reason::Moved));
                return self.step_in_hand(kernel, domain, group);
            }
            instance.moved.pop();
        }
        None
    }

    /// The updates that come before the next copy of a collection: those that a collection before has left. Its victim
    /// has been given back, so they are not needed for its erase yet; but they would pile up.
    pub(super) fn carried_update(&mut self, kernel: &Kernel, domain: Domain, group: &mut Group) -> Option<Step> {
        let unit = kernel.job(domain)?.unit;
        if !self.instances[domain.index()].carries || kernel.holds_map(unit) {
            return None;
        }
        let step = self.moved_update(kernel, domain, group);
        if step.is_none() {
            self.instances[domain.index()].carries = false;
        }
        step
    }

    /// The operation before an empty unit is erased, or a unit stays in use from which pages moved: the updates for these.
    pub(super) fn end_of_unit(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        unit: Unit,
        group: &mut Group,
    ) -> Option<VictimEnd> {
        if kernel.holds_map(unit) {
            return None;
        }
        if kernel.job(domain).is_some_and(|job| job.unit == unit) && self.park(kernel, domain) {
            return Some(VictimEnd::Over);
        }
        self.moved_update(kernel, domain, group).map(VictimEnd::Act)
    }

    /// True if translation pages have to be updated before a victim is erased.
    pub(super) fn awaits_updates(&self, domain: Domain) -> bool {
        self.instances[domain.index()].moved.iter().any(|&page| self.causes[page as usize].moved)
    }

    /// The operation in hand.
    pub(super) fn step_in_hand(&self, kernel: &Kernel, domain: Domain, group: &mut Group) -> Option<Step> {
        let map_op = self.instances[domain.index()].map_op?;
        let (MapOp::Fetch(page) | MapOp::Update(page, _)) = map_op;
        group.clear();
        self.parts_of(page).filter_map(|part| kernel.lookup(part)).for_each(|at| group.push(at));
        let op = if matches!(map_op, MapOp::Fetch(_)) { Op::Read } else { Op::Combine };
        group.rest = if op == Op::Combine { (self.parts - 1) as u8 } else { 0 };
        Some(Step::new(op, Cause::Mapping))
    }

    /// Collects translation pages whatever the victim policy says, because free units ran short: the emptiest closed unit
    /// that has an invalid page. Collecting it takes no update of the map, so it gives room for sure.
    ///
    /// While there is room for another collection of data the policy is heard first, a few times: were translation pages
    /// compacted after each, their units would never have more than a few invalid pages to gain.
    pub(super) fn compact(&mut self, kernel: &mut Kernel, domain: Domain, why: Why) -> bool {
        let (free, clock) = (kernel.free(domain), kernel.clock(domain));
        if free >= kernel.budget().reserve {
            return false;
        }
        let instance = &mut self.instances[domain.index()];
        if instance.heard_at != clock {
            (instance.heard, instance.heard_at) = (0, clock);
        }
        if free >= kernel.budget().for_a_victim && instance.heard < PATIENCE {
            instance.heard += 1;
            return false;
        }
        let slots = kernel.geometry().unit_slots();
        let is_closed = |unit: Unit| kernel.state_of(unit) == UnitState::Closed && kernel.holds_map(unit);
        let closed = instance.closed.iter().copied().filter(|&unit| is_closed(unit) && kernel.valid_of(unit) < slots);
        let Some(unit) = closed.min_by_key(|&unit| (kernel.valid_of(unit), unit)) else { return false };
        kernel.begin(domain, unit, why);
        true
    }

    /// Keeps beside the map what the translation pages say.
    pub(crate) fn keep_contents(&mut self) {
        self.in_flash = Some(vec![None; self.user_pages as usize]);
    }

    /// A victim was erased.
    ///
    /// # Panics
    /// If translation pages say of moved pages that they are still in it.
    pub(super) fn check_contents(&self, kernel: &Kernel, unit: Unit) {
        let Some(contents) = &self.in_flash else { return };
        let is_in_unit = |at: Option<Ppn>| at.is_some_and(|at| kernel.geometry().unit_of(at) == unit);
        let lost = (0..self.user_pages).map(Lpn).find(|&lpn| {
            let slot = self.cache.slot(lpn.0);
            let is_newer = slot != NONE && self.cache.entry(slot).is_dirty;
            is_in_unit(contents[lpn.index()]) && !is_newer && !self.causes[self.page_of(lpn) as usize].trimmed
        });
        assert_eq!(lost, None, "translation pages name no page of an erased unit");
    }
}
