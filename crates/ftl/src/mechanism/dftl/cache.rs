//! The cached mapping table of a domain: which entries are in DRAM, in order of last use, and which of them are newer
//! than their translation page.
//!
//! An entry's slot is found by its LPN in a flat array; the order is a doubly linked list through the slots, and the
//! dirty entries of a translation page are a list through them as well. Nothing is searched, hashed or allocated.

use base::Domain;
use engine::FlatArray;

/// "No entry" in the lists.
pub(super) const NONE: u32 = u32::MAX;

/// Entries looked at, from the least recently used on, in search of one that is not dirty.
const SEARCH: u32 = 64;

/// A cached map entry. Its value is the map's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) lpn: u32,
    older: u32,
    newer: u32,
    /// The next dirty entry of the same translation page.
    next_dirty: u32,
    pub(super) is_dirty: bool,
}

/// The entries of one domain, in order of use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) oldest: u32,
    newest: u32,
    /// Entries in use.
    pub(super) len: u32,
    /// Slots that were ever in use: those behind them are free.
    used: u32,
    /// A slot that an evicted entry left, to be used next.
    vacant: u32,
}

/// The cached mapping tables of all domains, each with as many entries.
#[derive(Clone)]
pub(super) struct Cache {
    /// Entries of a domain.
    pub(super) capacity: u32,
    entries: Vec<Entry>,
    orders: Vec<Order>,
    /// Slot by LPN.
    slots: FlatArray,
    /// By translation page: its first dirty entry.
    dirty: Vec<u32>,
}

impl Cache {
    /// Bytes of the tables.
    pub(super) fn bytes(capacity: u64, domains: u64, user_pages: u64, pages: u64) -> u64 {
        let of_domain = capacity * size_of::<Entry>() as u64 + size_of::<Order>() as u64;
        domains * of_domain + FlatArray::bytes(user_pages) + pages * 4
    }

    pub(super) fn new(capacity: u32, domains: u32, user_pages: usize, pages: usize) -> std::io::Result<Cache> {
        let entry = Entry { lpn: NONE, older: NONE, newer: NONE, next_dirty: NONE, is_dirty: false };
        Ok(Cache {
            capacity,
            entries: vec![entry; capacity as usize * domains as usize],
            orders: vec![Order { oldest: NONE, newest: NONE, len: 0, used: 0, vacant: NONE }; domains as usize],
            slots: FlatArray::filled(user_pages, NONE)?,
            dirty: vec![NONE; pages],
        })
    }

    #[inline]
    pub(super) fn holds(&self, lpn: u32) -> bool {
        self.slots[lpn as usize] != NONE
    }

    /// The slot of an entry, or `NONE`.
    #[inline]
    pub(super) fn slot(&self, lpn: u32) -> u32 {
        self.slots[lpn as usize]
    }

    /// Asks for the slot of an entry.
    #[inline]
    pub(super) fn prefetch(&self, lpn: u32) {
        self.slots.prefetch(lpn as usize);
    }

    pub(super) fn entry(&self, slot: u32) -> &Entry {
        &self.entries[slot as usize]
    }

    pub(super) fn order(&self, domain: Domain) -> &Order {
        &self.orders[domain.index()]
    }

    /// The first dirty entry of a translation page, or `NONE`.
    pub(super) fn first_dirty(&self, page: u32) -> u32 {
        self.dirty[page as usize]
    }

    pub(super) fn next_dirty(&self, slot: u32) -> u32 {
        self.entries[slot as usize].next_dirty
    }

    pub(super) fn newer(&self, slot: u32) -> u32 {
        self.entries[slot as usize].newer
    }

    pub(super) fn is_full(&self, domain: Domain) -> bool {
        self.orders[domain.index()].len == self.capacity
    }

    /// The entry was used: it is the newest of its domain.
    #[inline]
    pub(super) fn touch(&mut self, domain: Domain, slot: u32) {
        if self.orders[domain.index()].newest != slot {
            self.unlink(domain, slot);
            self.link_newest(domain, slot);
        }
    }

    /// The entry is newer than its translation page.
    #[inline]
    pub(super) fn make_dirty(&mut self, slot: u32, page: u32) {
        let entry = &mut self.entries[slot as usize];
        if !entry.is_dirty {
            entry.is_dirty = true;
            entry.next_dirty = std::mem::replace(&mut self.dirty[page as usize], slot);
        }
    }

    /// The translation page was written: none of its entries is dirty any more. Returns how many were.
    pub(super) fn clean(&mut self, page: u32) -> u32 {
        let mut count = 0;
        let mut at = std::mem::replace(&mut self.dirty[page as usize], NONE);
        while at != NONE {
            let entry = &mut self.entries[at as usize];
            entry.is_dirty = false;
            at = std::mem::replace(&mut entry.next_dirty, NONE);
            count += 1;
        }
        count
    }

    /// The least recently used entry that is not dirty, among a few.
    pub(super) fn oldest_clean(&self, domain: Domain) -> Option<u32> {
        let mut at = self.orders[domain.index()].oldest;
        for _ in 0..SEARCH {
            if at == NONE {
                return None;
            }
            if !self.entries[at as usize].is_dirty {
                return Some(at);
            }
            at = self.entries[at as usize].newer;
        }
        None
    }

    /// Takes an entry out.
    pub(super) fn evict(&mut self, domain: Domain, slot: u32) {
        debug_assert!(!self.entries[slot as usize].is_dirty, "an entry is written back before it is evicted");
        self.unlink(domain, slot);
        self.slots[self.entries[slot as usize].lpn as usize] = NONE;
        let order = &mut self.orders[domain.index()];
        debug_assert_eq!(order.vacant, NONE, "an entry is evicted when another one comes");
        (order.len, order.vacant) = (order.len - 1, slot);
    }

    /// Puts an entry in, as the newest.
    pub(super) fn insert(&mut self, domain: Domain, lpn: u32) {
        let order = &mut self.orders[domain.index()];
        let slot = match std::mem::replace(&mut order.vacant, NONE) {
            NONE => {
                order.used += 1;
                domain.number() * self.capacity + order.used - 1
            }
            vacant => vacant,
        };
        order.len += 1;
        self.entries[slot as usize].lpn = lpn;
        self.slots[lpn as usize] = slot;
        self.link_newest(domain, slot);
    }

    fn unlink(&mut self, domain: Domain, slot: u32) {
        let Entry { older, newer, .. } = self.entries[slot as usize];
        match older {
            NONE => self.orders[domain.index()].oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.orders[domain.index()].newest = older,
            newer => self.entries[newer as usize].older = older,
        }
    }

    fn link_newest(&mut self, domain: Domain, slot: u32) {
        let before = std::mem::replace(&mut self.orders[domain.index()].newest, slot);
        let entry = &mut self.entries[slot as usize];
        (entry.older, entry.newer) = (before, NONE);
        match before {
            NONE => self.orders[domain.index()].oldest = slot,
            before => self.entries[before as usize].newer = slot,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{FIRST, SECOND};

    fn order(cache: &Cache, domain: Domain) -> Vec<u32> {
        let mut lpns = Vec::new();
        let mut at = cache.order(domain).oldest;
        while at != NONE {
            lpns.push(cache.entry(at).lpn);
            at = cache.newer(at);
        }
        lpns
    }

    #[test]
    fn the_least_recently_used_entry_goes_first() {
        let mut cache = Cache::new(3, 2, 10, 2).unwrap();
        for lpn in [1, 3, 5] {
            cache.insert(SECOND, lpn);
        }
        assert_eq!((order(&cache, SECOND), order(&cache, FIRST)), (vec![1, 3, 5], vec![]));
        cache.touch(SECOND, cache.slot(1));
        cache.touch(SECOND, cache.slot(5));
        assert_eq!((order(&cache, SECOND), cache.is_full(SECOND)), (vec![3, 1, 5], true));
        cache.evict(SECOND, cache.order(SECOND).oldest);
        assert!(!cache.holds(3) && !cache.is_full(SECOND));
        cache.insert(SECOND, 7);
        assert_eq!(order(&cache, SECOND), [1, 5, 7]);
    }

    #[test]
    fn a_page_is_cleaned_as_a_whole() {
        let mut cache = Cache::new(4, 1, 10, 2).unwrap();
        for lpn in 0..4 {
            cache.insert(FIRST, lpn);
        }
        for (lpn, page) in [(0, 0), (1, 1), (2, 0), (0, 0)] {
            cache.make_dirty(cache.slot(lpn), page);
        }
        assert_eq!(cache.oldest_clean(FIRST), Some(cache.slot(3)));
        assert_eq!((cache.clean(0), cache.clean(0)), (2, 0), "an entry that is changed twice is dirty once");
        assert_eq!(cache.oldest_clean(FIRST), Some(cache.slot(0)));
        assert_eq!(cache.clean(1), 1);
    }
}
