//! First fit, round robin: the next free unit after the one that was opened last, by address.

use base::{Choice, Domain, Unit};

use super::FreePool;
use crate::victim::UnitShape;

/// See the module.
#[derive(Clone)]
pub struct FirstFit {
    units_per_domain: u32,
    words_per_domain: u32,
    /// One bit per unit, set when free.
    free: Vec<u64>,
    /// By domain: the offset at which the next search begins.
    cursor: Vec<u32>,
}

impl FirstFit {
    pub(super) const CHOICE: Choice = Choice {
        name: "first-fit",
        doc: "The next free unit by address after the one opened last, round robin.",
        params: &[],
    };

    pub(super) fn bytes(shape: UnitShape) -> u64 {
        u64::from(shape.domains) * (u64::from(shape.units_per_domain.div_ceil(64)) * 8 + 4)
    }

    pub(super) fn new(shape: UnitShape) -> FirstFit {
        let words = shape.units_per_domain.div_ceil(64);
        FirstFit {
            units_per_domain: shape.units_per_domain,
            words_per_domain: words,
            free: vec![0; (words * shape.domains) as usize],
            cursor: vec![0; shape.domains as usize],
        }
    }

    /// The first free offset at or after `from`, if any.
    fn search(&self, domain: Domain, from: u32) -> Option<u32> {
        let row = &self.free[(domain.number() * self.words_per_domain) as usize..][..self.words_per_domain as usize];
        let mut word = (from / 64) as usize;
        let mut bits = row.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *row.get(word)?;
        }
        Some(word as u32 * 64 + bits.trailing_zeros())
    }
}

impl FreePool for FirstFit {
    fn put(&mut self, domain: Domain, unit: Unit, _erases: u32) {
        let offset = unit.number() - domain.number() * self.units_per_domain;
        self.free[(domain.number() * self.words_per_domain + offset / 64) as usize] |= 1 << (offset % 64);
    }

    fn take(&mut self, domain: Domain) -> Option<Unit> {
        let from = self.cursor[domain.index()];
        let offset = self.search(domain, from).or_else(|| self.search(domain, 0))?;
        self.cursor[domain.index()] = offset + 1;
        Some(self.take_at(domain, offset))
    }

    /// Round robin goes on where it was.
    fn take_from(&mut self, domain: Domain, offset: u32) -> Option<Unit> {
        let from = self.cursor[domain.index()].max(offset);
        let found = self.search(domain, from).or_else(|| self.search(domain, offset))?;
        Some(self.take_at(domain, found))
    }

    fn take_worn(&mut self, domain: Domain) -> Option<Unit> {
        self.take(domain)
    }
}

impl FirstFit {
    fn take_at(&mut self, domain: Domain, offset: u32) -> Unit {
        self.free[(domain.number() * self.words_per_domain + offset / 64) as usize] &= !(1 << (offset % 64));
        Unit::new(domain.number() * self.units_per_domain + offset)
    }
}
