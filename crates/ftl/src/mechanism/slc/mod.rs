//! The pseudo-SLC cache: blocks that store one bit a cell, to which the host's pages go first.
//!
//! A block of the cache uses the first page of each wordline alone. Blocks are *fixed*, the last ones of each plane, or *lent*: free blocks
//! that go back when their pages were folded. *Folding* moves what is still valid of the oldest full block to blocks at full density, and
//! erases it. The kernel knows the density of a stream; which blocks are fixed, lent, full and folded is known here.

mod choices;
mod refusals;
mod saved;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::slice;

use base::{Domain, Geometry, Lpn, Page, Ppn, Unit};

use choices::{CacheOptions, Fold};
pub use choices::{SEAM, fixed_blocks};
pub(crate) use refusals::check;
pub(crate) use saved::bytes_of_state;

use super::{Agenda, Arrival, Keepers, NewPage, PageOrigin, Placing, Planned, Reported, Restart, RoomSource};
use crate::allocation::Allocation;
use crate::kernel::{AXES, Axis, Kept, Kernel, Needs, Saved, Stream, Why};
use crate::ops::Way;
use crate::victim::UnitState;
use crate::{Bytes, Figures, OutOfMemory, Policies};

/// The axis of pages that go to the cache, and of all others.
const AXIS: usize = 4;

/// The class of pages in the cache.
const CACHED: usize = 0;

/// The class of pages at full density.
const NATIVE: usize = 1;

/// The cache of a domain.
#[derive(Clone, Debug, Default)]
struct DomainCache {
    /// Fixed units that are erased, and not open.
    empty: Vec<Unit>,
    /// Full units, oldest first.
    full: VecDeque<Unit>,
    /// Fixed units: all that are good.
    fixed: u32,
    /// Units that are lent, whatever their state.
    lent: u32,
}

/// The work of the cache since preconditioning, in pages as the FTL counts them.
#[derive(Clone, Copy, Debug, Default)]
struct CacheWork {
    written: u64,
    bypassed: u64,
    folded: u64,
    died: u64,
    erases_of_fixed: u64,
    erases_of_lent: u64,
    erases_of_others: u64,
}

/// The cache in force.
#[derive(Clone)]
pub(crate) struct SlcCache {
    options: CacheOptions,
    /// Free units of a domain that are never lent.
    held: u32,
    /// The offset in its domain of the first fixed unit.
    first_fixed: u32,
    /// By domain.
    domains: Vec<DomainCache>,
    /// By unit, where it is in the cache: pages that were put there and have not been folded. `None`: it is not.
    pages: Vec<Option<u16>>,
    work: CacheWork,
}

impl Planned for SlcCache {
    fn needs(policies: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        let options = CacheOptions::of(policies)?;
        Some(Needs {
            aside: options.blocks,
            on_demand: true,
            ..Needs::of_axis(AXIS, Axis { classes: 2, lsb_only: Some(CACHED), ..Axis::ONE })
        })
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, _: u64, _: bool) -> Bytes {
        if CacheOptions::of(policies).is_none() {
            return Bytes::default();
        }
        let of_units = u64::from(geometry.units()) * (size_of::<Option<u16>>() + 2 * size_of::<Unit>()) as u64;
        let of_domains = u64::from(geometry.domains()) * size_of::<DomainCache>() as u64;
        Bytes { blocks: of_units + of_domains, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<SlcCache>, OutOfMemory> {
        let geometry = kernel.geometry();
        Ok(CacheOptions::of(policies).map(|options| SlcCache {
            held: kernel.budget().reserve + options.leave,
            first_fixed: geometry.units_per_domain() - options.blocks,
            domains: vec![DomainCache::default(); geometry.domains() as usize],
            pages: vec![None; geometry.units() as usize],
            work: CacheWork::default(),
            options,
        }))
    }
}

impl Placing for SlcCache {
    /// The host's pages go to the cache as long as it takes them. The classes on the other axes are known by now.
    #[inline]
    fn class(&self, kernel: &Kernel, _: Lpn, arrival: Arrival, classes: &mut [usize; AXES]) -> Option<Stream> {
        classes[AXIS] = NATIVE;
        if let Arrival::Host { domain, .. } = arrival {
            classes[AXIS] = CACHED;
            if !self.takes(kernel, domain, kernel.streams().at(*classes)) {
                classes[AXIS] = NATIVE;
            }
        }
        None
    }

    #[inline]
    fn way(&self, kernel: &Kernel, at: Ppn, _: bool) -> Option<Way> {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        let begins = kernel.geometry().page_of_slot(slot) == Page::FIRST && kernel.is_lsb_only(unit);
        begins.then_some(Way::BeginsLsbOnly)
    }

    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        let unit = kernel.geometry().unit_of(page.at);
        if kernel.is_lsb_only(unit) {
            self.note_opened(kernel, page.domain, unit);
            self.pages[unit.index()] = self.pages[unit.index()].map(|pages| pages + 1);
        }
        match page.origin {
            PageOrigin::Host { .. } if kernel.is_lsb_only(unit) => self.work.written += 1,
            PageOrigin::Host { .. } => self.work.bypassed += 1,
            PageOrigin::Copy(from, _) => {
                if let Some(pages) = &mut self.pages[kernel.geometry().unit_of(from).index()] {
                    *pages -= 1;
                    self.work.folded += 1;
                }
            }
            PageOrigin::Map | PageOrigin::Anew(_) => {}
        }
    }

    fn padded(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) {
        let unit = kernel.geometry().unit_of(at);
        if kernel.is_lsb_only(unit) {
            self.note_opened(kernel, domain, unit);
        }
    }

    /// A full unit is behind all that were full before it; one whose folding was suspended is where it was.
    fn filled(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        if kernel.state_of(unit) != UnitState::Aside {
            return;
        }
        let full = &mut self.domains[domain.index()].full;
        let at = full.partition_point(|&other| kernel.filled_after(other) >= kernel.filled_after(unit));
        full.insert(at, unit);
        let stream = kernel.stream_of(unit);
        if !kernel.is_open(domain, stream) && !self.is_below_mark(kernel, domain) {
            self.open_fixed(kernel, domain, stream);
        }
    }

    fn erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, _: Option<Why>) -> bool {
        let Some(pages) = self.pages[unit.index()].take() else {
            self.work.erases_of_others += 1;
            return false;
        };
        self.work.died += u64::from(pages);
        if self.is_fixed(kernel, unit) {
            self.work.erases_of_fixed += 1;
            self.take_fixed(kernel, domain);
        } else {
            self.work.erases_of_lent += 1;
            self.domains[domain.index()].lent -= 1;
        }
        false
    }
}

impl Agenda for SlcCache {
    fn room(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream, source: RoomSource) -> bool {
        match source {
            RoomSource::Early => self.room_in_cache(kernel, domain, stream),
            // Not as what is kept: a fold opens units itself, also for updates of a map, which have to be compacted before they take all.
            RoomSource::Buffered => self.fold_oldest(kernel, domain, true),
            RoomSource::Kept | RoomSource::Forced | RoomSource::InWork | RoomSource::LastResort => false,
        }
    }
}

impl Restart for SlcCache {
    /// Takes the fixed units that are free, and finds those of the cache that hold pages.
    fn reopen(&mut self, kernel: &mut Kernel) {
        self.find_used(kernel);
        let full = kernel.by_age().into_iter().filter(|&unit| kernel.state_of(unit) == UnitState::Aside);
        for unit in full.collect::<Vec<_>>() {
            self.domains[kernel.geometry().domain_of_unit(unit).index()].full.push_back(unit);
        }
        for domain in kernel.geometry().all_domains() {
            while self.take_fixed(kernel, domain) {}
            let units = kernel.geometry().units_of_domain(domain);
            let used = units.filter(|&unit| self.is_fixed(kernel, unit) && self.pages[unit.index()].is_some()).count();
            let cache = &mut self.domains[domain.index()];
            cache.fixed = (cache.empty.len() + used) as u32;
        }
    }

    fn save(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        self.save_units(kernel, saved);
    }

    fn restore(&mut self, kernel: &mut Kernel, kept: &[Kept], words: &mut slice::Iter<'_, u32>) -> Result<(), String> {
        self.adopt_kept(kernel, kept, words).ok_or_else(|| "the units of the pseudo-SLC cache".to_owned())
    }

    fn renew(&mut self, _: &mut Kernel, _: &Policies<'_>) {
        self.work = CacheWork::default();
    }
}

impl Reported for SlcCache {
    fn figures(&self, figures: &mut Figures) {
        let CacheWork { written, bypassed, folded, died, erases_of_fixed, erases_of_lent, erases_of_others } =
            self.work;
        for (name, count) in [
            ("written_pages", written),
            ("bypassed_pages", bypassed),
            ("folded_pages", folded),
            ("died_pages", died),
            ("erases_of_fixed", erases_of_fixed),
            ("erases_of_lent", erases_of_lent),
            ("erases_of_others", erases_of_others),
        ] {
            figures.count(SEAM.key, name, count);
        }
        figures.ratio(SEAM.key, "hit_fraction", written, written + bypassed);
        let fixed = self.domains.iter().map(|cache| u64::from(cache.fixed)).sum();
        figures.ratio(SEAM.key, "erases_per_fixed", erases_of_fixed, fixed);
        let others = self.pages.len() as u64 - fixed;
        figures.ratio(SEAM.key, "erases_per_other", erases_of_lent + erases_of_others, others);
    }

    fn kept(&self, _: &Kernel, domain: Domain, keepers: &mut Keepers) {
        let cache = &self.domains[domain.index()];
        keepers.aside.extend(cache.full.iter().chain(&cache.empty));
    }

    fn check(&self, kernel: &Kernel) -> Result<(), String> {
        kernel.geometry().all_domains().try_for_each(|domain| self.check_domain(kernel, domain))
    }
}

impl SlcCache {
    /// The cache takes the next page of a stream, perhaps once something was folded.
    fn takes(&self, kernel: &Kernel, domain: Domain, stream: Stream) -> bool {
        let cache = &self.domains[domain.index()];
        let may_fold = self.options.waits_for_folds() && !cache.full.is_empty();
        kernel.is_open(domain, stream) || !cache.empty.is_empty() || self.lends(kernel, domain) || may_fold
    }

    /// A free unit may be lent.
    fn lends(&self, kernel: &Kernel, domain: Domain) -> bool {
        self.lendable(kernel, domain) > 0
    }

    /// Free units that may be lent.
    fn lendable(&self, kernel: &Kernel, domain: Domain) -> u32 {
        let (free, lent) = (kernel.free(domain), self.domains[domain.index()].lent);
        let most = (self.options.share * f64::from(free + lent)) as u32;
        most.saturating_sub(lent).min(free.saturating_sub(self.held))
    }

    /// So few units of the cache can be opened that the oldest is folded first.
    fn is_below_mark(&self, kernel: &Kernel, domain: Domain) -> bool {
        if self.options.fold != Fold::Mark {
            return false;
        }
        let cache = &self.domains[domain.index()];
        let left = cache.empty.len() as u32 + self.lendable(kernel, domain);
        let all = left + cache.lent + cache.fixed - cache.empty.len() as u32;
        f64::from(left) < self.options.low_mark * f64::from(all)
    }

    /// Before a page of a stream is placed that has no active unit, with room in the domain.
    fn room_in_cache(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream) -> bool {
        let is_cached = kernel.streams().class(stream, AXIS) == CACHED && !kernel.streams().is_map(stream);
        if !is_cached || kernel.is_open(domain, stream) {
            return false;
        }
        if self.is_below_mark(kernel, domain) && self.fold_oldest(kernel, domain, false) {
            return true;
        }
        !self.open_fixed(kernel, domain, stream)
            && !self.lends(kernel, domain)
            && self.fold_oldest(kernel, domain, false)
    }

    /// Opens a fixed unit for a stream. Returns whether there is one.
    fn open_fixed(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream) -> bool {
        let Some(unit) = self.domains[domain.index()].empty.pop() else { return false };
        kernel.open_aside(domain, stream, unit);
        true
    }

    /// Takes the unit that is folded next, of all or of those that are free afterwards.
    pub(crate) fn take_oldest(&mut self, kernel: &Kernel, domain: Domain, is_for_room: bool) -> Option<Unit> {
        let full = &self.domains[domain.index()].full;
        let at = full.iter().position(|&unit| !is_for_room || !self.is_fixed(kernel, unit))?;
        self.domains[domain.index()].full.remove(at)
    }

    /// True if a unit of a domain is folded as soon as nobody asks for anything.
    pub(crate) fn folds_when_idle(&self, domain: Domain) -> bool {
        self.options.fold == Fold::Idle && !self.domains[domain.index()].full.is_empty()
    }

    fn fold_oldest(&mut self, kernel: &mut Kernel, domain: Domain, is_for_room: bool) -> bool {
        let unit = self.take_oldest(kernel, domain, is_for_room);
        unit.inspect(|&unit| kernel.begin(domain, unit, Why::Fold)).is_some()
    }

    fn is_fixed(&self, kernel: &Kernel, unit: Unit) -> bool {
        kernel.geometry().offset_of_unit(unit) >= self.first_fixed
    }

    /// Takes a fixed unit out of the free ones. Returns whether there is one.
    fn take_fixed(&mut self, kernel: &mut Kernel, domain: Domain) -> bool {
        let unit = if self.options.blocks == 0 { None } else { kernel.set_aside_from(domain, self.first_fixed) };
        self.domains[domain.index()].empty.extend(unit);
        unit.is_some()
    }

    /// The first slot of a unit of the cache is used.
    fn note_opened(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        if self.pages[unit.index()].is_none() {
            self.pages[unit.index()] = Some(0);
            self.domains[domain.index()].lent += u32::from(!self.is_fixed(kernel, unit));
        }
    }

    /// Finds the units of the cache that hold pages: after a restart, and in a device state. What died there is not known any more.
    fn find_used(&mut self, kernel: &Kernel) {
        self.domains.fill(DomainCache::default());
        for unit in kernel.geometry().all_units() {
            let is_used = matches!(kernel.state_of(unit), UnitState::Open | UnitState::Aside | UnitState::Collecting);
            self.pages[unit.index()] = None;
            if is_used && kernel.is_lsb_only(unit) {
                self.note_opened(kernel, kernel.geometry().domain_of_unit(unit), unit);
                self.pages[unit.index()] = Some(kernel.valid_of(unit) as u16);
            }
        }
    }

    fn check_domain(&self, kernel: &Kernel, domain: Domain) -> Result<(), String> {
        let cache = &self.domains[domain.index()];
        let units = || kernel.geometry().units_of_domain(domain);
        let lent = units().filter(|&unit| self.pages[unit.index()].is_some() && !self.is_fixed(kernel, unit)).count();
        if lent != cache.lent as usize {
            return Err(format!("domain {domain} counts {} units lent to the cache and has {lent}", cache.lent));
        }
        for unit in units() {
            let Some(pages) = self.pages[unit.index()] else { continue };
            if u32::from(pages) < kernel.valid_of(unit) || !kernel.is_lsb_only(unit) {
                return Err(format!("unit {unit} of the cache has {} valid pages of {pages}", kernel.valid_of(unit)));
            }
        }
        match cache.empty.iter().find(|&&unit| kernel.valid_of(unit) > 0 || !self.is_fixed(kernel, unit)) {
            Some(unit) => Err(format!("unit {unit} is no empty fixed one of the cache")),
            None => Ok(()),
        }
    }
}
