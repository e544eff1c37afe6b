//! SepBIT: pages go to classes by how soon they are expected to be overwritten (Wang et al., FAST 2022, section 3).
//!
//! Time is counted in pages that the host wrote. The page that a write replaces lived for a *lifespan*, and its successor is expected
//! to live as long: below the threshold ℓ it is of class 1, else of class 2. A page that is copied out of class 1 is of class 3; any
//! other copy is of class 4 or above, by its age against 4ℓ, 16ℓ and so on. ℓ is the mean lifespan of the last 16 units of class 1
//! that were collected, from the first page that came to one until its erase.
//!
//! Where a formula of the LPN names the domain, each domain is a log with a clock and a threshold of its own. Under a dynamic
//! allocation pages change domains, and the device is one log.

use base::{Domain, Lpn, Param, ParamKind, Unit};

use super::{AXIS, MAX_CLASSES};
use crate::kernel::{Kernel, Why};
use crate::mechanism::{Arrival, NewPage, PageOrigin};
use crate::victim::UnitState;
use crate::{Figures, Policies};

/// The first three classes, counted from 0: short-lived pages of the host, its other pages, copies out of the first class.
const SHORT_LIVED: usize = 0;
const LONG_LIVED: usize = 1;
const OF_SHORT_LIVED: usize = 2;

/// Units of the first class over which the threshold is the mean (section 3.3).
const WINDOW: u64 = 16;

/// The factor from one age to the next (section 3.3).
const AGES: u64 = 4;

pub(super) const PARAMS: &[Param] = &[Param {
    name: "classes",
    kind: ParamKind::Integer { default: 6, min: 4, max: MAX_CLASSES as u32 },
    doc: "Classes: two of host pages, one of copies out of the first, the others of copies by age.",
}];

/// SepBIT in force.
#[derive(Clone)]
pub(crate) struct SepBit {
    classes: usize,
    logs: Vec<LogClock>,
    /// By LPN: when it was written last, by the clock of its log.
    written_at: Vec<u64>,
    /// By unit: when its first page came to it.
    opened: Vec<FirstPage>,
    /// Pages placed since preconditioning, by class.
    placed: [u64; MAX_CLASSES],
}

/// When the first page came to a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstPage {
    /// It is empty, or not of the first class.
    Not,
    At(u64),
    /// Before this was taken note of: its lifespan is not known.
    Before,
}

/// A log: a clock, and the threshold.
#[derive(Clone, Copy, Debug, Default)]
struct LogClock {
    /// Pages that the host wrote.
    clock: u64,
    /// ℓ times [`WINDOW`]; nothing before so many units were collected, when ℓ counts as infinite.
    threshold: Option<u64>,
    /// The sum of the lifespans since, and of how many units.
    lifespans: u64,
    collected: u64,
}

impl LogClock {
    /// The class of a page of the host whose predecessor lived so long; `None`: it has none.
    #[inline]
    fn class_of_write(&self, lifespan: Option<u64>) -> usize {
        let is_short = |lifespan| self.threshold.is_none_or(|threshold| lifespan * WINDOW < threshold);
        if lifespan.is_some_and(is_short) { SHORT_LIVED } else { LONG_LIVED }
    }

    /// The class of a page of this age that is copied out of a class.
    #[inline]
    fn class_of_copy(&self, from: usize, age: u64, classes: usize) -> usize {
        if from == SHORT_LIVED {
            return OF_SHORT_LIVED;
        }
        let Some(threshold) = self.threshold else { return OF_SHORT_LIVED + 1 };
        let (mut class, mut limit) = (OF_SHORT_LIVED + 1, threshold * AGES);
        while class + 1 < classes && age * WINDOW >= limit {
            class += 1;
            limit = limit.saturating_mul(AGES);
        }
        class
    }

    /// A unit of the first class was collected.
    fn collected(&mut self, opened: u64) {
        self.lifespans += self.clock - opened;
        self.collected += 1;
        if self.collected == WINDOW {
            self.threshold = Some(std::mem::take(&mut self.lifespans));
            self.collected = 0;
        }
    }
}

impl SepBit {
    pub(super) fn new(kernel: &Kernel, policies: &Policies<'_>) -> SepBit {
        let geometry = kernel.geometry();
        let is_one_log = crate::allocation::is_dynamic(policies.allocation.name);
        SepBit {
            classes: policies.separation.integer("classes") as usize,
            logs: vec![LogClock::default(); if is_one_log { 1 } else { geometry.domains() as usize }],
            written_at: vec![0; kernel.user_pages() as usize],
            // Pages that are there count as written when this begins.
            opened: kernel
                .units()
                .iter()
                .map(|unit| if unit.state == UnitState::Free { FirstPage::Not } else { FirstPage::Before })
                .collect(),
            placed: [0; MAX_CLASSES],
        }
    }

    /// By LPN, and by unit.
    pub(super) fn bytes(user_pages: u64, units: u64) -> [u64; 2] {
        [user_pages * size_of::<u64>() as u64, units * size_of::<FirstPage>() as u64]
    }

    fn log_of(&self, domain: Domain) -> usize {
        if self.logs.len() == 1 { 0 } else { domain.index() }
    }

    #[inline]
    pub(super) fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival) -> usize {
        let age = |log: &LogClock| log.clock.saturating_sub(self.written_at[lpn.index()]);
        match arrival {
            Arrival::Host { domain, is_mapped, .. } => {
                let log = &self.logs[self.log_of(domain)];
                log.class_of_write(is_mapped.then(|| age(log)))
            }
            Arrival::Copy => {
                // A page that lost its place is as old as it is, and was in no class.
                let unit = kernel.lookup(lpn).map(|at| kernel.geometry().unit_of(at));
                let from = unit.map_or(LONG_LIVED, |unit| kernel.streams().class(kernel.stream_of(unit), AXIS));
                let log = unit.map_or(0, |unit| self.log_of(kernel.geometry().domain_of_unit(unit)));
                self.logs[log].class_of_copy(from, age(&self.logs[log]), self.classes)
            }
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, lpn: Lpn) {
        if lpn.index() < self.written_at.len() {
            engine::prefetch(&self.written_at, lpn.index());
        }
    }

    #[inline]
    pub(super) fn placed(&mut self, kernel: &Kernel, page: &NewPage) {
        let unit = kernel.geometry().unit_of(page.at);
        let class = kernel.streams().class(kernel.stream_of(unit), AXIS);
        let number = self.log_of(page.domain);
        let log = &mut self.logs[number];
        if class == SHORT_LIVED && self.opened[unit.index()] == FirstPage::Not {
            self.opened[unit.index()] = FirstPage::At(log.clock);
        }
        self.placed[class] += 1;
        if let PageOrigin::Host { .. } = page.origin {
            self.written_at[page.lpn.index()] = log.clock;
            log.clock += 1;
        }
    }

    /// Units that garbage collection emptied count, and no others: what reads, wear and faults empty says nothing of lifespans.
    pub(super) fn erased(&mut self, domain: Domain, unit: Unit, why: Option<Why>) {
        let opened = std::mem::replace(&mut self.opened[unit.index()], FirstPage::Not);
        let is_garbage_collection = matches!(why, Some(Why::Room | Why::Along | Why::Forward | Why::Pairing));
        if let (FirstPage::At(opened), true) = (opened, is_garbage_collection) {
            let log = self.log_of(domain);
            self.logs[log].collected(opened);
        }
    }

    /// A restart finds a page of this write, numbered over the whole device; the logs took equal shares.
    pub(super) fn adopt(&mut self, lpn: Lpn, write: u64) {
        if let Some(written_at) = self.written_at.get_mut(lpn.index()) {
            *written_at = write / self.logs.len() as u64;
        }
    }

    /// A restart goes on filling a unit whose first page came before it.
    pub(super) fn adopt_frontier(&mut self, unit: Unit) {
        self.opened[unit.index()] = FirstPage::Before;
    }

    /// Clocks go on behind the newest write that was found.
    pub(super) fn reopen(&mut self, newest: u64) {
        let logs = self.logs.len() as u64;
        self.logs.iter_mut().for_each(|log| log.clock = newest.div_ceil(logs));
    }

    pub(super) fn figures(&self, figures: &mut Figures) {
        figures.counts("separation", "placed_pages", &self.placed[..self.classes]);
        let known = self.logs.iter().filter_map(|log| log.threshold);
        figures.ratio("separation", "lifespan", known.clone().sum(), known.count() as u64 * WINDOW);
    }
}

#[cfg(test)]
mod tests {
    use base::Geometry;
    use engine::Chance;

    use super::*;
    use crate::kernel::Stream;
    use crate::mechanism::{All, Placing as _, Reported as _};
    use crate::sample::{self, FIRST};

    #[test]
    fn classes_go_by_lifespan_and_age_against_the_threshold() {
        let mut log = LogClock::default();
        // Before the threshold is known it is infinite.
        assert_eq!([None, Some(0), Some(1 << 40)].map(|lifespan| log.class_of_write(lifespan)), [1, 0, 0]);
        assert_eq!([(0, 9), (1, 9), (5, 1 << 40)].map(|(from, age)| log.class_of_copy(from, age, 6)), [2, 3, 3]);
        // Sixteen units of the first class, which lived for 10 to 25 pages: the mean is 17.5.
        for lifespan in 10..26 {
            assert_eq!(log.threshold, None);
            log.clock = 100 + lifespan;
            log.collected(100);
        }
        assert_eq!(log.threshold, Some(280));
        assert_eq!([None, Some(17), Some(18)].map(|lifespan| log.class_of_write(lifespan)), [1, 0, 1]);
        // 4 ℓ is 70, and 16 ℓ is 280.
        let of_age = |age| log.class_of_copy(1, age, 6);
        assert_eq!([69, 70, 279, 280, u64::from(u32::MAX)].map(of_age), [3, 4, 4, 5, 5]);
        assert_eq!([4, 5, 8].map(|classes| log.class_of_copy(3, 1 << 40, classes)), [3, 4, 7]);
        assert_eq!(log.class_of_copy(0, 1 << 40, 6), 2, "out of the first class, whatever the age");
        // The next sixteen begin anew.
        log.collected(log.clock);
        assert_eq!((log.threshold, log.collected, log.lifespans), (Some(280), 1, 0));
    }

    /// The definition, written down without regard to cost: every write there ever was is looked through.
    struct Plain {
        /// The pages that were written, in order.
        writes: Vec<u32>,
        /// The lifespans of units of the first class that were collected.
        lifespans: Vec<u64>,
    }

    impl Plain {
        fn threshold(&self) -> f64 {
            let whole = self.lifespans.len() / 16 * 16;
            let last = &self.lifespans[whole.saturating_sub(16)..whole];
            if last.is_empty() { f64::INFINITY } else { last.iter().sum::<u64>() as f64 / 16.0 }
        }

        fn age(&self, lpn: u32) -> Option<f64> {
            self.writes.iter().rev().position(|&other| other == lpn).map(|back| (back + 1) as f64)
        }

        fn class_of_write(&self, lpn: u32) -> usize {
            if self.age(lpn).unwrap_or(f64::INFINITY) < self.threshold() { 1 } else { 2 }
        }

        fn class_of_copy(&self, from: usize, lpn: u32) -> usize {
            let (age, threshold) = (self.age(lpn).expect("a page that was written"), self.threshold());
            match from {
                1 => 3,
                _ if age < 4.0 * threshold => 4,
                _ if age < 16.0 * threshold => 5,
                _ => 6,
            }
        }
    }

    #[test]
    fn classes_are_those_of_a_plain_model() {
        let geometry =
            Geometry::new(base::Dimensions { blocks_per_plane: 40, pages_per_block: 4, ..base::Dimensions::ONE_PAGE });
        let chosen: &[sample::Chosen<'_>] = &[
            ("separation", "sepbit", &[]),
            ("gc_schedule", "threshold", &[("free_blocks", base::ParamValue::Integer(6))]),
        ];
        let policies = sample::policies(chosen, base::Cell::Slc);
        let (mut kernel, mut all) = sample::kernel(geometry, 60, &policies);
        let mut plain = Plain { writes: Vec::new(), lifespans: Vec::new() };
        let mut opened = vec![0; 40];
        let mut random = Chance::new(1, "writes");
        let class = |all: &All, kernel: &Kernel, lpn, arrival| {
            let mut classes = [0; crate::kernel::AXES];
            all.class(kernel, lpn, arrival, &mut classes);
            classes[AXIS]
        };
        let mut seen = [0; 7];
        let mut place = |all: &mut All, kernel: &mut Kernel, lpn: Lpn, class: usize, origin, now: usize| {
            if let Some(old) = kernel.lookup(lpn) {
                kernel.invalidate(old);
            }
            let place = kernel.place_new(FIRST, Stream::new(class), lpn, true);
            let unit = geometry.unit_of(place.at);
            if place.at == geometry.ppn(unit, base::Slot::FIRST) {
                opened[unit.index()] = now;
            }
            all.placed(kernel, &NewPage { domain: FIRST, lpn, at: place.at, origin });
            opened.clone()
        };
        for _ in 0..6000 {
            // A few hot pages, more warm ones, and cold ones that are hardly ever written.
            let lpn = match random.below(20) {
                0..=11 => random.below_u32(6),
                12..=18 => random.below_u32(30),
                _ => random.below_u32(60),
            };
            let was_mapped = kernel.is_mapped(Lpn(lpn));
            let arrival = Arrival::Host { domain: FIRST, is_mapped: was_mapped, hint: 0 };
            let of_write = class(&all, &kernel, Lpn(lpn), arrival);
            assert_eq!(of_write + 1, plain.class_of_write(lpn));
            seen[of_write + 1] += 1;
            let mut opened = place(
                &mut all,
                &mut kernel,
                Lpn(lpn),
                of_write,
                PageOrigin::Host { was_mapped, hint: 0 },
                plain.writes.len(),
            );
            plain.writes.push(lpn);
            while kernel.free(FIRST) < 7 {
                let closed = |unit: &Unit| kernel.units()[unit.index()].state == UnitState::Closed;
                let units = geometry.all_units().filter(closed);
                let victim = units.min_by_key(|unit| kernel.units()[unit.index()].valid).expect("a closed unit");
                let from = kernel.streams().class(kernel.stream_of(victim), AXIS) + 1;
                let was_opened = opened[victim.index()];
                kernel.take_victim(FIRST, victim, Why::Room);
                let pages = (0..4).map(|slot| geometry.ppn(victim, base::Slot::new(slot)));
                for at in pages.filter(|&at| kernel.is_valid(at)).collect::<Vec<_>>() {
                    let lpn = kernel.lpn_at(at).expect("a valid page");
                    let of_copy = class(&all, &kernel, lpn, Arrival::Copy);
                    assert_eq!(of_copy + 1, plain.class_of_copy(from, lpn.0));
                    seen[of_copy + 1] += 1;
                    let origin = PageOrigin::Copy(at, crate::ops::How::OffChip);
                    opened = place(&mut all, &mut kernel, lpn, of_copy, origin, plain.writes.len());
                }
                kernel.free_unit(FIRST, victim);
                all.erased(&mut kernel, FIRST, victim, Some(Why::Room));
                if from == 1 {
                    plain.lifespans.push((plain.writes.len() - was_opened) as u64);
                }
            }
        }
        assert!(seen[1..].iter().all(|&pages| pages > 20), "pages by class: {seen:?}");
        assert!(plain.lifespans.len() > 64);
        let mut figures = Figures::default();
        all.figures(&mut figures);
        assert_eq!(figures.get("separation", "lifespan"), Some(plain.threshold()));
    }
}
