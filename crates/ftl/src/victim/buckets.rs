//! Closed units as doubly linked lists, a few lists ("rows") per domain, in order of entry.
//!
//! Links are arrays indexed by unit, so moving a unit from one list to another touches a handful of
//! words and allocates nothing.

use base::{Domain, Unit};

/// "No unit" in a list.
const NONE: u32 = u32::MAX;

/// Lists of units.
#[derive(Clone)]
pub(super) struct Buckets {
    rows: u32,
    /// First unit of each list (domain × rows + row); its `previous` is the last one.
    heads: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Buckets {
    /// Bytes of so many lists.
    pub(super) fn bytes(domains: u32, rows: u32, units: u32) -> u64 {
        (u64::from(domains) * u64::from(rows) + 2 * u64::from(units)) * 4
    }

    /// `rows` empty lists for each of `domains`, over `units` units.
    pub(super) fn new(domains: u32, rows: u32, units: u32) -> Buckets {
        Buckets {
            rows,
            heads: vec![NONE; (domains * rows) as usize],
            next: vec![NONE; units as usize],
            previous: vec![NONE; units as usize],
        }
    }

    /// The unit that has been longest in a list.
    #[inline]
    pub(super) fn first(&self, domain: Domain, row: u32) -> Option<Unit> {
        Unit::from_word(self.heads[(domain.number() * self.rows + row) as usize])
    }

    /// Appends a unit to a list.
    #[inline]
    pub(super) fn push(&mut self, domain: Domain, row: u32, unit: Unit) {
        let unit = unit.number();
        let head = &mut self.heads[(domain.number() * self.rows + row) as usize];
        if *head == NONE {
            *head = unit;
            self.next[unit as usize] = unit;
            self.previous[unit as usize] = unit;
        } else {
            let last = self.previous[*head as usize];
            self.next[last as usize] = unit;
            self.previous[unit as usize] = last;
            self.next[unit as usize] = *head;
            self.previous[*head as usize] = unit;
        }
    }

    /// Puts a unit into a list, before the first one that comes after it.
    pub(super) fn insert(&mut self, domain: Domain, row: u32, unit: Unit, comes_after: impl Fn(Unit) -> bool) {
        let Some(head) = self.first(domain, row) else {
            self.push(domain, row, unit);
            return;
        };
        let head = head.number();
        let mut at = head;
        while !comes_after(Unit::new(at)) {
            at = self.next[at as usize];
            if at == head {
                self.push(domain, row, unit);
                return;
            }
        }
        let before = self.previous[at as usize];
        let unit = unit.number();
        self.next[before as usize] = unit;
        self.previous[unit as usize] = before;
        self.next[unit as usize] = at;
        self.previous[at as usize] = unit;
        if at == head {
            self.heads[(domain.number() * self.rows + row) as usize] = unit;
        }
    }

    /// Takes a unit out of the list it is in.
    #[inline]
    pub(super) fn remove(&mut self, domain: Domain, row: u32, unit: Unit) {
        let unit = unit.number();
        let head = &mut self.heads[(domain.number() * self.rows + row) as usize];
        let next = self.next[unit as usize];
        if next == unit {
            *head = NONE;
        } else {
            let previous = self.previous[unit as usize];
            self.next[previous as usize] = next;
            self.previous[next as usize] = previous;
            if *head == unit {
                *head = next;
            }
        }
    }
}
