//! Closed units by row, each row in the order in which its units were filled, however they came to the row.
//!
//! A unit has a rank, a number that grows with each unit that is filled in its domain; a row is a bitmap of
//! ranks with one bit per 64 above it. So a move from row to row is four bit operations, and the first unit of
//! a row is found in a few words. When the ranks run out, the units of the domain are numbered anew in their
//! order: once in as many fillings as the domain has units, so that it costs a constant for each.

use base::{Domain, Unit};

/// "No rank" of a unit and "no unit" at a rank.
const NONE: u32 = u32::MAX;

/// Rows of units in the order of filling.
#[derive(Clone)]
pub(super) struct Ranks {
    rows: u32,
    units_per_domain: u32,
    /// Ranks of a domain; a multiple of 4096.
    ranks: u32,
    /// By unit.
    rank: Vec<u32>,
    /// By unit: the row it is in.
    row: Vec<u16>,
    /// By domain and rank.
    unit: Vec<u32>,
    /// By domain: the next rank.
    next: Vec<u32>,
    /// By domain and row: a bit per rank.
    bits: Vec<u64>,
    /// By domain and row: a bit per word of `bits`.
    summary: Vec<u64>,
}

impl Ranks {
    /// Bytes of so many rows.
    pub(super) fn bytes(domains: u32, rows: u32, units_per_domain: u32) -> u64 {
        let ranks = (2 * u64::from(units_per_domain)).next_multiple_of(4096);
        let words = u64::from(rows) * (ranks / 64);
        let of_domain = u64::from(units_per_domain) * (4 + 2) + ranks * 4 + 4 + (words + words / 64) * 8;
        u64::from(domains) * of_domain
    }

    /// Empty rows for each of `domains`.
    pub(super) fn new(domains: u32, rows: u32, units_per_domain: u32) -> Ranks {
        let ranks = (2 * units_per_domain).next_multiple_of(4096);
        let words = (domains * rows) as usize * (ranks / 64) as usize;
        Ranks {
            rows,
            units_per_domain,
            ranks,
            rank: vec![NONE; (domains * units_per_domain) as usize],
            row: vec![0; (domains * units_per_domain) as usize],
            unit: vec![NONE; (domains * ranks) as usize],
            next: vec![0; domains as usize],
            bits: vec![0; words],
            summary: vec![0; words / 64],
        }
    }

    /// A unit was filled last of all.
    pub(super) fn push(&mut self, domain: Domain, row: u32, unit: Unit) {
        if self.next[domain.index()] == self.ranks {
            self.number_anew(domain);
        }
        let rank = self.next[domain.index()];
        self.next[domain.index()] += 1;
        self.place(domain, row, unit, rank);
    }

    /// Puts a unit that was taken out back into the order, before the first one that comes after it. The units of the
    /// domain are numbered anew.
    pub(super) fn insert(&mut self, domain: Domain, row: u32, unit: Unit, comes_after: impl Fn(Unit) -> bool) {
        let mut in_order = self.in_order(domain);
        let at = in_order.iter().position(|&other| comes_after(other)).unwrap_or(in_order.len());
        in_order.insert(at, unit);
        self.row[unit.index()] = row as u16;
        self.number(domain, &in_order);
    }

    /// A unit changes its row and keeps its place in the order.
    #[inline]
    pub(super) fn move_to(&mut self, domain: Domain, row: u32, unit: Unit) {
        let rank = self.rank[unit.index()];
        self.clear(domain, u32::from(self.row[unit.index()]), rank);
        self.set(domain, row, rank);
        self.row[unit.index()] = row as u16;
    }

    /// Takes a unit out.
    pub(super) fn remove(&mut self, domain: Domain, unit: Unit) {
        let rank = std::mem::replace(&mut self.rank[unit.index()], NONE);
        self.clear(domain, u32::from(self.row[unit.index()]), rank);
        self.unit[(domain.number() * self.ranks + rank) as usize] = NONE;
    }

    /// The unit of a row that was filled first.
    #[inline]
    pub(super) fn first(&self, domain: Domain, row: u32) -> Option<Unit> {
        let words = (self.ranks / 64) as usize;
        let from = (domain.number() * self.rows + row) as usize * words;
        let summary = &self.summary[from / 64..][..words / 64];
        let (at, bits) = summary.iter().enumerate().find(|(_, bits)| **bits != 0)?;
        let word = at * 64 + bits.trailing_zeros() as usize;
        let rank = word * 64 + self.bits[from + word].trailing_zeros() as usize;
        Unit::from_word(self.unit[domain.index() * self.ranks as usize + rank])
    }

    fn place(&mut self, domain: Domain, row: u32, unit: Unit, rank: u32) {
        self.rank[unit.index()] = rank;
        self.row[unit.index()] = row as u16;
        self.unit[(domain.number() * self.ranks + rank) as usize] = unit.number();
        self.set(domain, row, rank);
    }

    #[inline]
    fn word(&self, domain: Domain, row: u32, rank: u32) -> usize {
        (domain.number() * self.rows + row) as usize * (self.ranks / 64) as usize + (rank / 64) as usize
    }

    #[inline]
    fn set(&mut self, domain: Domain, row: u32, rank: u32) {
        let word = self.word(domain, row, rank);
        self.bits[word] |= 1 << (rank % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    #[inline]
    fn clear(&mut self, domain: Domain, row: u32, rank: u32) {
        let word = self.word(domain, row, rank);
        self.bits[word] &= !(1 << (rank % 64));
        if self.bits[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
    }

    /// The units of a domain in their order.
    fn in_order(&self, domain: Domain) -> Vec<Unit> {
        let range = (domain.number() * self.ranks) as usize..((domain.number() + 1) * self.ranks) as usize;
        let in_order: Vec<Unit> = self.unit[range].iter().copied().filter_map(Unit::from_word).collect();
        debug_assert!(in_order.len() <= self.units_per_domain as usize);
        in_order
    }

    #[cold]
    fn number_anew(&mut self, domain: Domain) {
        let in_order = self.in_order(domain);
        self.number(domain, &in_order);
    }

    /// Gives units of a domain, with their rows, the first ranks, in this order; no other has one afterwards.
    fn number(&mut self, domain: Domain, in_order: &[Unit]) {
        for &unit in in_order.iter().filter(|&&unit| self.rank[unit.index()] != NONE).collect::<Vec<_>>() {
            self.remove(domain, unit);
        }
        for (rank, &unit) in in_order.iter().enumerate() {
            let row = u32::from(self.row[unit.index()]);
            self.place(domain, row, unit, rank as u32);
        }
        self.next[domain.index()] = in_order.len() as u32;
    }
}

#[cfg(test)]
mod tests {
    use engine::Chance;

    use super::*;
    use crate::sample::{FIRST, SECOND};

    /// Against a list that is searched: through several numberings, with units that stay for long.
    #[test]
    fn the_first_of_a_row_is_the_one_filled_first() {
        const UNITS: u32 = 300;
        let mut ranks = Ranks::new(2, 5, UNITS);
        let mut filled: Vec<(Unit, u32)> = Vec::new();
        let mut random = Chance::new(1, "ranks");
        for step in 0..40_000 {
            let unit = Unit::new(UNITS + random.below_u32(UNITS));
            let row = random.below_u32(5);
            match filled.iter().position(|&(other, _)| other == unit) {
                None => {
                    ranks.push(SECOND, row, unit);
                    filled.push((unit, row));
                }
                // Some units are never taken out.
                Some(at) if !unit.number().is_multiple_of(7) && random.below(3) == 0 => {
                    ranks.remove(SECOND, unit);
                    filled.remove(at);
                }
                Some(at) => {
                    ranks.move_to(SECOND, row, unit);
                    filled[at].1 = row;
                }
            }
            for row in 0..5 {
                let expected = filled.iter().find(|&&(_, at)| at == row).map(|&(unit, _)| unit);
                assert_eq!(ranks.first(SECOND, row), expected, "row {row} after {step} steps");
                assert_eq!(ranks.first(FIRST, row), None);
            }
        }
    }
}
