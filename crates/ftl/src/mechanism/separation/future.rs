//! Future knowledge: pages go to classes by when they will be overwritten or trimmed, which is known (Wang et al., FAST 2022, section 4.1).
//!
//! A scheme that no drive can have, against which those that infer are measured. Time is counted in pages that the host wrote. Class 0 takes
//! pages, of the host or copied, that will die before a unit of further pages was written, and the last class takes all that no other does.
//! In between, each border is four times the one before, as SepBIT has it with ages; or one unit more, as its paper has it with future
//! knowledge. Logs are as in SepBIT; a log of several domains fills a unit in each.

use base::{Lpn, Param, ParamKind};

use super::MAX_CLASSES;
use crate::allocation::Allocation;
use crate::kernel::Kernel;
use crate::mechanism::{Arrival, NewPage, PageOrigin};
use crate::{Figures, Policies};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "classes",
        kind: ParamKind::Integer { default: 6, min: 2, max: MAX_CLASSES as u32 },
        doc: "Classes: by how many blocks of further pages will be written before a page dies, and one for all that live longer.",
    },
    Param::word(
        "borders",
        &["fourfold", "equal"],
        "Which lives end a class: `fourfold`, of 1, 4, 16 blocks and so on; `equal`, of 1, 2, 3 blocks and so on, as in SepBIT's paper.",
    ),
];

/// An act of the host on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPage {
    /// It writes it.
    Write(Lpn),
    /// It trims it.
    Trim(Lpn),
}

/// Future knowledge in force.
#[derive(Clone)]
pub(crate) struct Future {
    classes: usize,
    /// Each border between classes is four times the one before.
    is_fourfold: bool,
    /// Pages that fill a unit in each domain of a log.
    span: u64,
    /// By log: pages that the host wrote.
    clocks: Vec<u64>,
    /// By LPN: its first event that is still to come.
    next: Vec<u64>,
    /// By LPN: its events end here, and those of the next page begin.
    ends: Vec<u64>,
    /// Writes, and trims of pages that are mapped, by LPN and in order: when they will be.
    events: Vec<u64>,
    /// Pages placed since preconditioning, by class.
    placed: [u64; MAX_CLASSES],
}

impl Future {
    /// Where nothing is known, every page counts as one that lives for ever.
    pub(super) fn new(kernel: &Kernel, policies: &Policies<'_>) -> Future {
        let geometry = kernel.geometry();
        let is_one_log = crate::allocation::is_dynamic(policies.allocation.name);
        let (logs, domains) = if is_one_log { (1, geometry.domains()) } else { (geometry.domains(), 1) };
        let mut future = Future {
            classes: policies.separation.integer("classes") as usize,
            is_fourfold: policies.separation.word("borders") == "fourfold",
            span: u64::from(geometry.unit_slots()) * u64::from(domains),
            clocks: vec![0; logs as usize],
            next: Vec::new(),
            ends: Vec::new(),
            events: Vec::new(),
            placed: [0; MAX_CLASSES],
        };
        if !policies.future.is_empty() {
            future.foresee(kernel, &Allocation::build(policies.allocation, geometry), policies.future);
        }
        future
    }

    /// Takes note of all that the host will do.
    fn foresee(&mut self, kernel: &Kernel, allocation: &Allocation, pages: &[HostPage]) {
        let user_pages = kernel.user_pages() as usize;
        let mut clocks = vec![0; self.clocks.len()];
        let mut is_mapped: Vec<bool> = (0..kernel.user_pages()).map(|lpn| kernel.is_mapped(Lpn(lpn))).collect();
        let mut counts = vec![0; user_pages];
        let mut found: Vec<(Lpn, u64)> = Vec::new();
        for &page in pages {
            let (HostPage::Write(lpn) | HostPage::Trim(lpn)) = page;
            let clock = &mut clocks[Self::log_of(self.clocks.len(), allocation, lpn)];
            let is_write = matches!(page, HostPage::Write(_));
            if is_write || is_mapped[lpn.index()] {
                found.push((lpn, *clock));
                counts[lpn.index()] += 1;
            }
            is_mapped[lpn.index()] = is_write;
            *clock += u64::from(is_write);
        }
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        self.ends = ends.collect();
        self.next = self.ends.iter().zip(&counts).map(|(end, count)| end - count).collect();
        let mut places = self.next.clone();
        self.events = vec![0; found.len()];
        for (lpn, at) in found {
            self.events[places[lpn.index()] as usize] = at;
            places[lpn.index()] += 1;
        }
    }

    fn log_of(logs: usize, allocation: &Allocation, lpn: Lpn) -> usize {
        if logs == 1 { 0 } else { allocation.domain_of(lpn).expect("a formula names the domain").index() }
    }

    /// The class of a page that dies at its event so many behind the next one.
    #[inline]
    fn class_of(&self, lpn: Lpn, behind: u64, clock: u64) -> usize {
        let last = self.classes - 1;
        let Some(&next) = self.next.get(lpn.index()) else { return last };
        let event = next + behind;
        if event >= self.ends[lpn.index()] {
            return last;
        }
        let units = self.events[event as usize].saturating_sub(clock) / self.span;
        let borders =
            if self.is_fourfold { units.checked_ilog2().map_or(0, |twos| 1 + u64::from(twos / 2)) } else { units };
        borders.min(last as u64) as usize
    }

    #[inline]
    pub(super) fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival) -> usize {
        let domain = match arrival {
            Arrival::Host { domain, .. } => Some(domain),
            Arrival::Copy => {
                kernel.lookup(lpn).map(|at| kernel.geometry().domain_of_unit(kernel.geometry().unit_of(at)))
            }
        };
        let log = if self.clocks.len() == 1 { 0 } else { domain.map_or(0, |domain| domain.index()) };
        // The next event of a page that is being written is this write.
        self.class_of(lpn, u64::from(arrival != Arrival::Copy), self.clocks[log])
    }

    #[inline]
    pub(super) fn placed(&mut self, page: &NewPage, class: usize) {
        self.placed[class] += 1;
        if let PageOrigin::Host { .. } = page.origin {
            let log = if self.clocks.len() == 1 { 0 } else { page.domain.index() };
            self.clocks[log] += 1;
            self.passed(page.lpn);
        }
    }

    /// The next event of a page was.
    pub(super) fn passed(&mut self, lpn: Lpn) {
        if let Some(next) = self.next.get_mut(lpn.index()) {
            *next += 1;
        }
    }

    pub(super) fn figures(&self, figures: &mut Figures) {
        figures.counts("separation", "placed_pages", &self.placed[..self.classes]);
    }
}

#[cfg(test)]
mod tests {
    use base::{Dimensions, Geometry, ParamValue};
    use engine::Chance;

    use super::*;
    use crate::sample;

    #[test]
    fn a_page_goes_by_when_it_dies() {
        // The borders by definition: lives of that many units end a class.
        pages_go_by_borders("equal", [1, 2, 3]);
        pages_go_by_borders("fourfold", [1, 4, 16]);
    }

    fn pages_go_by_borders(name: &'static str, borders: [usize; 3]) {
        let geometry = Geometry::new(Dimensions { blocks_per_plane: 20, pages_per_block: 4, ..Dimensions::ONE_PAGE });
        let classes: &[(&'static str, ParamValue)] =
            &[("classes", ParamValue::Integer(4)), ("borders", ParamValue::Word(name))];
        let chosen: &[sample::Chosen<'_>] = &[
            ("separation", "future", classes),
            ("gc_schedule", "threshold", &[("free_blocks", ParamValue::Integer(4))]),
        ];
        let policies = sample::policies(chosen, base::Cell::Slc);
        let (kernel, _) = sample::kernel(geometry, 20, &policies);
        let allocation = Allocation::build(policies.allocation, &geometry);
        let mut future = Future::new(&kernel, &policies);
        let mut random = Chance::new(1, "pages");
        let pages: Vec<HostPage> = (0..2000)
            .map(|_| match random.below(8) {
                0 => HostPage::Trim(Lpn(random.below_u32(20))),
                1..=5 => HostPage::Write(Lpn(random.below_u32(4))),
                _ => HostPage::Write(Lpn(random.below_u32(20))),
            })
            .collect();
        let first = Arrival::Host { domain: sample::FIRST, is_mapped: false, hint: 0 };
        assert_eq!(future.class(&kernel, Lpn(0), first), 3, "nothing is known");
        future.foresee(&kernel, &allocation, &pages);
        // The definition: look for the next page that is the same, and count the writes on the way.
        let left = |from: usize, lpn: Lpn| {
            let mut writes = 0;
            for page in &pages[from..] {
                match *page {
                    HostPage::Write(other) | HostPage::Trim(other) if other == lpn => return Some(writes),
                    HostPage::Write(_) => writes += 1,
                    HostPage::Trim(_) => {}
                }
            }
            None
        };
        let lives = |left: usize| borders.iter().position(|border| left < 4 * border);
        let class = |left: Option<usize>| left.and_then(lives).unwrap_or(3);
        let (mut live, mut seen) = (std::collections::BTreeSet::new(), [0; 4]);
        for (at, page) in pages.iter().enumerate() {
            for &lpn in &live {
                let as_copy = future.class_of(lpn, 0, future.clocks[0]);
                assert_eq!(as_copy, class(left(at, lpn)), "{at}: {lpn:?} copied");
            }
            match *page {
                HostPage::Write(lpn) => {
                    // It is itself among those that are written before its page dies.
                    let expected = class(left(at + 1, lpn).map(|left| left + 1));
                    let arrival = Arrival::Host { domain: sample::FIRST, is_mapped: live.contains(&lpn), hint: 0 };
                    assert_eq!(future.class(&kernel, lpn, arrival), expected, "{at}: {lpn:?}");
                    seen[expected] += 1;
                    let origin = PageOrigin::Host { was_mapped: live.contains(&lpn), hint: 0 };
                    let page = NewPage { domain: sample::FIRST, lpn, at: base::Ppn(0), origin };
                    future.placed(&page, expected);
                    live.insert(lpn);
                }
                HostPage::Trim(lpn) => {
                    if live.remove(&lpn) {
                        future.passed(lpn);
                    }
                }
            }
        }
        assert!(seen.iter().all(|&pages| pages > 20), "{seen:?}");
    }
}
