//! What a domain does for its map, and what the map hears of writes, moves and trims.

use base::{Cause, Lpn, Ppn};

use super::{PATIENCE, Reason, Task};
use crate::collection::GcStep;
use crate::group::Group;
use crate::layer::{Ftl, NONE};
use crate::paired::Cover;
use crate::victim::UnitState;

// What the executors ask.
impl Ftl {
    /// Whether the map entry of a page that is to be read is at hand. If not, its domain has steps to do first
    /// ([`Ftl::step`]).
    ///
    /// Always true where the whole map is in DRAM.
    #[inline]
    pub fn prepare_read(&mut self, lpn: Lpn) -> bool {
        !self.is_careful || self.is_known(lpn) || self.want(lpn, false)
    }

    /// Whether the map entry of a page is at hand: in the cache, or on a translation page that was never written.
    #[inline]
    pub fn is_known(&self, lpn: Lpn) -> bool {
        match &self.dftl {
            None => true,
            Some(dftl) => dftl.cache.holds(lpn.0) || self.map[dftl.lpn_of(dftl.page_of(lpn)).index()] == NONE,
        }
    }

    /// The map entry of a page was used to read it.
    #[inline]
    pub fn used(&mut self, lpn: Lpn) {
        if let Some(dftl) = &mut self.dftl {
            dftl.figures.lookups += 1;
            let slot = dftl.cache.slot(lpn.0);
            if slot != NONE {
                let domain = dftl.domain_of(lpn);
                dftl.cache.touch(domain, slot);
            }
        }
    }

    /// The translation page that [`GcStep::Fetch`] named was read. Returns whose entry it was read for.
    ///
    /// # Panics
    /// If there was no such step.
    pub fn fetched(&mut self, domain: u32) -> Lpn {
        let dftl = self.dftl.as_mut().expect("a map in flash");
        let instance = &mut dftl.instances[domain as usize];
        assert!(matches!(instance.task, Some(Task::Fetch(_))), "a translation page is fetched when it was asked for");
        instance.task = None;
        let lpn = instance.wanted.expect("a translation page is fetched for an entry");
        dftl.has_come(domain, lpn);
        dftl.figures.fetches += 1;
        lpn
    }

    /// Where the next translation page of a domain goes.
    pub fn next_update_page(&mut self, domain: u32) -> Ppn {
        let frontier = self.open_frontier(domain, self.streams);
        self.geometry.ppn(frontier.unit, frontier.slot)
    }

    /// Places the next version of the translation page that [`GcStep::Update`] named; with it all its entries in the
    /// cache are clean. Returns its logical page, behind those of the host, and its place.
    ///
    /// # Panics
    /// If there was no such step.
    pub fn update(&mut self, domain: u32) -> (Lpn, Ppn) {
        let dftl = self.dftl.as_mut().expect("a map in flash");
        let Some(Task::Update(page, reason)) = dftl.instances[domain as usize].task.take() else {
            panic!("a translation page is written when it was asked for");
        };
        let written = dftl.cache.clean(page);
        dftl.due[page as usize] = super::Due::default();
        match reason {
            Reason::WriteBack => {
                dftl.figures.write_backs += 1;
                dftl.figures.entries_written_back += u64::from(written);
            }
            Reason::Moved => dftl.figures.gc_updates += 1,
            Reason::Trimmed => dftl.figures.trim_updates += 1,
        }
        let instance = &mut dftl.instances[domain as usize];
        instance.in_flight = Some(page);
        dftl.updates[page as usize].placed += 1;
        let lpn = dftl.lpn_of(page);
        if let Some(mut contents) = dftl.in_flash.take() {
            for entry in dftl.entries_of(page) {
                contents[entry.index()] = self.map[entry.index()];
            }
            dftl.in_flash = Some(contents);
        }
        let old = self.map[lpn.index()];
        match old {
            NONE => dftl.instances[domain as usize].unwritten -= 1,
            old => self.invalidate(old),
        }
        self.domains[domain as usize].valid += 1;
        let at = self.append(domain, self.streams, lpn);
        if self.protection.scheme.keeps_track() {
            self.note_program(domain, at, Cover::None);
        }
        (lpn, at)
    }
}

// What happens to pages.
impl Ftl {
    /// A page was written: its entry, which is in the cache, is dirty.
    pub(crate) fn entry_written(&mut self, lpn: Lpn) {
        if let Some(dftl) = &mut self.dftl {
            let (slot, page) = (dftl.cache.slot(lpn.0), dftl.page_of(lpn));
            assert_ne!(slot, NONE, "a page is written when its entry is at hand");
            dftl.figures.lookups += 1;
            let home = dftl.domain_of(lpn);
            dftl.cache.touch(home, slot);
            dftl.cache.make_dirty(slot, page);
            if dftl.instances[home as usize].held == Some(lpn) {
                dftl.instances[home as usize].held = None;
                dftl.want_next(home);
            }
        }
    }

    /// A page was moved: its entry changes in the cache alone if it is there; else its translation page has to be
    /// updated before the victim is erased.
    pub(crate) fn entry_moved(&mut self, domain: u32, lpn: u32) {
        let Some(dftl) = self.dftl.as_mut().filter(|dftl| !dftl.is_translation(lpn)) else { return };
        let (slot, page) = (dftl.cache.slot(lpn), dftl.page_of(Lpn(lpn)));
        if slot != NONE {
            dftl.figures.moved_cached += 1;
            dftl.cache.make_dirty(slot, page);
            return;
        }
        dftl.figures.moved_uncached += 1;
        let was_due = std::mem::replace(&mut dftl.due[page as usize].moved, true);
        let moved = &mut dftl.instances[domain as usize].moved;
        if !was_due || dftl.is_apart && !moved.contains(&page) {
            moved.push(page);
        }
    }

    /// A page that was mapped was trimmed.
    pub(crate) fn entry_trimmed(&mut self, lpn: Lpn) {
        let Some(dftl) = &mut self.dftl else { return };
        let (slot, page) = (dftl.cache.slot(lpn.0), dftl.page_of(lpn));
        if slot != NONE {
            dftl.cache.make_dirty(slot, page);
        } else if !std::mem::replace(&mut dftl.due[page as usize].trimmed, true) {
            let domain = dftl.domain_of(lpn);
            dftl.instances[domain as usize].trimmed.push(page);
            dftl.call(domain);
        }
    }
}

// What a domain does next.
impl Ftl {
    /// Whether a domain has something to do for its map.
    #[inline]
    pub(crate) fn has_map_errand(&self, domain: u32) -> bool {
        self.dftl.as_ref().is_some_and(|dftl| {
            let instance = &dftl.instances[domain as usize];
            instance.wanted.is_some()
                || instance.task.is_some()
                || !instance.trimmed.is_empty()
                || dftl.is_apart && (instance.parked.is_some() || !instance.requested.is_empty())
        })
    }

    /// Has the home of an entry get it. Returns `false`.
    #[cold]
    fn want(&mut self, lpn: Lpn, for_write: bool) -> bool {
        if let Some(dftl) = &mut self.dftl {
            dftl.want(lpn, for_write);
        }
        false
    }

    /// Whether the entry of a page that is to be written is in the cache. If not, its home gets it, at once if that takes
    /// no step.
    pub fn prepare_entry(&mut self, lpn: Lpn) -> bool {
        let Some(dftl) = &self.dftl else { return true };
        if dftl.cache.holds(lpn.0) {
            return true;
        }
        let home = dftl.domain_of(lpn);
        self.want(lpn, true);
        let has_step = self.map_step(home, &mut Group::EMPTY.clone()).is_some();
        match &self.dftl {
            Some(dftl) if dftl.is_apart => dftl.cache.holds(lpn.0),
            _ => !has_step && !self.is_collecting(home),
        }
    }

    /// The next step that a domain does for its map, apart from those that belong to a collection.
    pub(crate) fn map_step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        if self.dftl.as_ref()?.instances[domain as usize].task.is_none() {
            let task = match self.task_for_entry(domain).or_else(|| self.task_for_others(domain)) {
                None => self.task_for_trims(domain)?,
                Some(task) => task,
            };
            self.dftl.as_mut()?.instances[domain as usize].task = Some(task);
        }
        self.task_step(domain, group)
    }

    /// What has to be done for the entry that is wanted; nothing if it could be had at once, or has to wait.
    fn task_for_entry(&mut self, domain: u32) -> Option<Task> {
        let dftl = self.dftl.as_mut()?;
        let lpn = dftl.instances[domain as usize].wanted?;
        if dftl.cache.is_full(domain) {
            let mut slot = dftl.cache.order(domain).oldest;
            if dftl.cache.entry(slot).is_dirty {
                if self.domains[domain as usize].job.is_none() {
                    let page = dftl.page_of(Lpn(dftl.cache.entry(slot).lpn));
                    return self.has_translation_room(domain).then_some(Task::Update(page, Reason::WriteBack));
                }
                slot = dftl.cache.oldest_clean(domain)?;
            }
            dftl.cache.evict(domain, slot);
        }
        let page = dftl.page_of(lpn);
        if self.map[dftl.lpn_of(page).index()] != NONE {
            return Some(Task::Fetch(page));
        }
        dftl.has_come(domain, lpn);
        dftl.arrived = true;
        None
    }

    /// A translation page to update because of trims; not while the domain is collected, which needs the room.
    fn task_for_trims(&mut self, domain: u32) -> Option<Task> {
        if self.domains[domain as usize].job.is_some() {
            return None;
        }
        let dftl = self.dftl.as_mut()?;
        let trimmed = &mut dftl.instances[domain as usize].trimmed;
        while let Some(&page) = trimmed.last() {
            if dftl.due[page as usize].trimmed {
                return self.has_translation_room(domain).then_some(Task::Update(page, Reason::Trimmed));
            }
            trimmed.pop();
        }
        None
    }

    /// Whether a translation page can be placed now; else a collection begins that makes room.
    pub(super) fn has_translation_room(&mut self, domain: u32) -> bool {
        if self.domains[domain as usize].frontiers[self.streams].unit != NONE {
            return true;
        }
        if !self.is_parked(domain) {
            return !self.make_room(domain, self.streams);
        }
        // Data would only park another victim; and without invalid translation pages the reserve is enough for the rest.
        let forced = self.forced_victim(domain);
        if let Some(unit) = forced {
            self.begin(domain, unit, Cause::Gc, false);
        }
        forced.is_none()
    }

    /// The next translation page to update before the victim of a domain is erased.
    pub(crate) fn moved_step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        let dftl = self.dftl.as_mut()?;
        let instance = &mut dftl.instances[domain as usize];
        while let Some(&page) = instance.moved.last() {
            if dftl.due[page as usize].moved {
                instance.task = Some(Task::Update(page, Reason::Moved));
                return self.task_step(domain, group);
            }
            instance.moved.pop();
        }
        None
    }

    /// A collection begins; one that was put down may have left translation pages to update.
    pub(crate) fn carry_moves(&mut self, domain: u32) {
        if let Some(dftl) = &mut self.dftl {
            let instance = &mut dftl.instances[domain as usize];
            instance.carries = !instance.moved.is_empty();
        }
    }

    /// The updates that come before the next copy of a collection: those that a collection before has left. Its victim
    /// has been given back, so they are not needed for its erase yet; but they would pile up.
    pub(crate) fn carried_step(&mut self, domain: u32, unit: u32, group: &mut Group) -> Option<GcStep> {
        if !self.dftl.as_ref()?.instances[domain as usize].carries || self.is_translation_unit(unit) {
            return None;
        }
        let step = self.moved_step(domain, group);
        if step.is_none()
            && let Some(dftl) = &mut self.dftl
        {
            dftl.instances[domain as usize].carries = false;
        }
        step
    }

    /// A collection is put down: an update that was its next step is left for later.
    pub(crate) fn forget_moved_step(&mut self, domain: u32) {
        if let Some(dftl) = &mut self.dftl {
            dftl.instances[domain as usize].task.take_if(|task| matches!(task, Task::Update(_, Reason::Moved)));
        }
    }

    /// Whether translation pages have to be updated before a victim is erased.
    pub(crate) fn awaits_updates(&self, domain: u32, unit: u32) -> bool {
        let Some(dftl) = &self.dftl else { return false };
        let mut moved = dftl.instances[domain as usize].moved.iter();
        moved.any(|&page| dftl.due[page as usize].moved) && !self.is_translation_unit(unit)
    }

    /// A victim was erased.
    ///
    /// # Panics
    /// If translation pages say of moved pages that they are still in it.
    pub(crate) fn check_moved(&self, domain: u32, unit: u32) {
        assert!(!self.awaits_updates(domain, unit), "translation pages are updated before a victim is erased");
        if let Some(dftl) = &self.dftl
            && let Some(contents) = &dftl.in_flash
        {
            let slots = self.geometry.unit_slots();
            let lost = (0..dftl.user_pages).map(Lpn).find(|&lpn| {
                let slot = dftl.cache.slot(lpn.0);
                let is_newer = slot != NONE && dftl.cache.entry(slot).is_dirty;
                contents[lpn.index()] / slots == unit && !is_newer && !dftl.due[dftl.page_of(lpn) as usize].trimmed
            });
            assert_eq!(lost, None, "translation pages name no page of an erased unit");
        }
    }

    /// The step of the task in hand.
    fn task_step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        let dftl = self.dftl.as_ref()?;
        let task = dftl.instances[domain as usize].task?;
        let (Task::Fetch(page) | Task::Update(page, _)) = task;
        let at = self.map[dftl.lpn_of(page).index()];
        if matches!(task, Task::Update(..))
            && let Some(step) = self.guard_step(domain, self.streams, group)
        {
            return Some(step);
        }
        group.clear();
        if at != NONE {
            group.push(Ppn(at));
        }
        Some(if matches!(task, Task::Fetch(_)) { GcStep::Fetch } else { GcStep::Update })
    }

    /// A closed unit of translation pages to collect whatever the victim policy says, because free units ran short:
    /// the emptiest that has an invalid page. Collecting it takes no update of the map, so it gives room for sure.
    ///
    /// While there is room for another collection of data the policy is heard first, a few times: were translation pages
    /// compacted after each, their units would never have more than a few invalid pages to gain.
    pub(crate) fn forced_victim(&mut self, domain: u32) -> Option<u32> {
        let (state, least) = (&self.domains[domain as usize], self.units_for_a_victim());
        let dftl = self.dftl.as_mut().filter(|_| state.free < self.reserve)?;
        let instance = &mut dftl.instances[domain as usize];
        if instance.heard_at != state.clock {
            (instance.heard, instance.heard_at) = (0, state.clock);
        }
        if state.free >= least && instance.heard < PATIENCE {
            instance.heard += 1;
            return None;
        }
        let slots = self.geometry.unit_slots();
        let valid = |unit: u32| u32::from(self.units[unit as usize].valid);
        let closed = dftl.instances[domain as usize].closed.iter().copied();
        closed.filter(|&unit| valid(unit) < slots).min_by_key(|&unit| (valid(unit), unit))
    }

    /// Whether wear leveling may move a unit now. That takes updates of translation pages, and these take room: one unit
    /// for each host page at most, or it could use up all that collections gain.
    pub(crate) fn may_level(&mut self, domain: u32) -> bool {
        let Some(dftl) = &mut self.dftl else { return true };
        let state = &self.domains[domain as usize];
        let before = &mut dftl.instances[domain as usize].levelled;
        state.free >= self.reserve && std::mem::replace(before, state.clock) != state.clock
    }

    /// Whether a unit holds translation pages.
    #[inline]
    pub(crate) fn is_translation_unit(&self, unit: u32) -> bool {
        self.dftl.is_some() && usize::from(self.unit_streams[unit as usize]) == self.streams
    }

    /// Takes note of a closed unit that holds translation pages.
    pub(crate) fn note_closed(&mut self, domain: u32, unit: u32, state: UnitState) {
        if self.is_translation_unit(unit)
            && let Some(dftl) = &mut self.dftl
        {
            match state {
                UnitState::Closed => dftl.closed(domain, unit),
                _ => dftl.opened(domain, unit),
            }
        }
    }
}
