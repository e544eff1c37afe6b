//! Migration: whether a valid page moves through the controller or by copyback inside its plane (Hong et al., rcFTL, DATE
//! 2019; Wu et al., FastGC, DAC 2018).
//!
//! A copyback keeps the channel free and leaves the errors of a page uncorrected. The restricted ways therefore give each page
//! a quota of [`ECC_LIMIT`], which a copyback lowers by what its source block costs, and which a way through the controller
//! restores. The quota is known by page, or by block: then it is that of the stream which filled the block, and a copyback goes
//! to the stream of the quota that is left. A quota that is not known, as after a restart, is zero.

mod metadata;
mod quota;
mod refusals;
mod selector;

use std::cell::Cell;
use std::sync::Arc;

use base::{Cause, Choice, Domain, ECC_LIMIT, Geometry, Instant, Lpn, Param, ParamKind, Ppn, Seam, Slot, Unit, Wear};

use super::{Agenda, Arrival, NewPage, PageOrigin, Pending, Placing, Planned, Reported, Restart};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{AXES, Axis, Job, Kernel, Needs, Stream, Why};
use crate::ops::{How, Op, Step};
use crate::victim::UnitState;
use crate::{Bytes, Figures, OutOfMemory, Policies};
use metadata::Metadata;
use quota::Classes;
pub(crate) use refusals::{check, in_words};
use selector::Selector;

/// The place of quota classes among the axes of [`super::All`].
const AXIS: usize = 2;

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam {
    key: "migration",
    doc: "How a valid page is moved.",
    choices: &[
        Choice {
            name: "off-chip",
            doc: "Read, transferred to the controller, corrected, transferred back and programmed.",
            params: &[],
        },
        Choice {
            name: "copyback",
            doc: "By copyback inside its plane, as often as it comes: errors add up until data are lost.",
            params: &[],
        },
        Choice {
            name: "fastgc",
            doc: "By copyback while the count of its copybacks allows it, by the worst blocks' threshold; off the chip \
                  otherwise (FastGC).",
            params: &[Param {
                name: "metadata",
                kind: ParamKind::Flag { default: false },
                doc: "`true`: the counts are kept in flash too: the last page of each block holds those of the others.",
            }],
        },
        Choice {
            name: "rcpb",
            doc: "By restricted copyback while its quota allows it, off the chip otherwise (rcFTL, section IV).",
            params: &[
                Param::word(
                    "quota",
                    &["block", "page"],
                    "Quotas are kept for each block, with an active block for each quota that can be left, or for each page.",
                ),
                Param::word(
                    "aware",
                    &["quality", "worst"],
                    "A copyback costs what blocks of the source's quality cost, or what the worst blocks of its P/E cycles do.",
                ),
                Param {
                    name: "selector",
                    kind: ParamKind::Flag { default: false },
                    doc: "`true`: collections that the host does not wait for move pages off the chip while the write \
                          buffer is not too full, which restores their quota; `false`: copyback wherever the quota \
                          allows it (rcFTL-).",
                },
                Param {
                    name: "fill",
                    kind: ParamKind::Number { default: 0.5, min: 0.0, max: 1.0 },
                    doc: "Too full is the write buffer above this part, in the mean over the time in which a block is written \
                          (selector).",
                },
            ],
        },
    ],
};

/// How quotas are known.
#[derive(Clone, Debug)]
enum Quotas {
    /// Not at all: every page moves by copyback.
    None,
    /// By LPN: what is left of [`ECC_LIMIT`].
    ByPage(Vec<u32>),
    /// By stream.
    ByBlock {
        classes: Classes,
        /// By unit: filled before anything was known of it.
        unknown: Vec<bool>,
        /// By domain: what was found of the unit that was asked about last.
        found: Vec<Cell<UnitErrors>>,
    },
}

/// The quota that a copyback leaves to the pages of a unit, which does not change between two of its erases unless all is forgotten.
#[derive(Clone, Copy, Debug, Default)]
struct UnitErrors {
    unit: Option<Unit>,
    erases: u32,
    class: Option<usize>,
}

/// Moving pages by copyback.
#[derive(Clone)]
pub(crate) struct Migration {
    wear: Arc<Wear>,
    quotas: Quotas,
    /// True if the quality of blocks is taken into account.
    is_aware: bool,
    selector: Option<Selector>,
    /// True if the selector was told how full the buffer is.
    is_told: bool,
    /// Counts in flash, if they are kept there.
    metadata: Option<Metadata>,
    /// Pages moved by copyback, and through the controller.
    moved: [u64; 2],
}

/// True if quotas are kept by block.
fn is_by_block(policies: &Policies<'_>) -> bool {
    policies.migration.name == "rcpb" && policies.migration.word("quota") == "block"
}

/// True if counts are kept in flash.
pub fn has_metadata(policies: &Policies<'_>) -> bool {
    policies.migration.name == "fastgc" && policies.migration.flag("metadata")
}

/// True if the quality of blocks is taken into account.
fn is_aware(policies: &Policies<'_>) -> bool {
    policies.migration.name == "rcpb" && policies.migration.word("aware") == "quality"
}

/// The selector that looks at the write buffer's fill, if there is one.
fn selector(policies: &Policies<'_>) -> Option<Selector> {
    if policies.migration.name != "rcpb" {
        return None;
    }
    let limit = policies.migration.number("fill");
    policies.migration.flag("selector").then(|| Selector::new(policies.block_write, limit))
}

/// The quotas that can be left to pages, where they are kept by block.
fn classes(policies: &Policies<'_>) -> Option<Classes> {
    let wear = policies.wear.as_ref().filter(|_| is_by_block(policies))?;
    Some(Classes::new(&quota::thresholds_in_force(wear, is_aware(policies))))
}

/// Quotas that have an active block each; 0 where quotas are not kept by block.
pub fn quota_classes(policies: &Policies<'_>) -> usize {
    classes(policies).map_or(0, |classes| classes.count())
}

impl Migration {
    /// The migration that was chosen, unless pages move off the chip.
    ///
    /// # Panics
    /// If nothing is known of the blocks' wear.
    fn of(kernel: &Kernel, policies: &Policies<'_>) -> Option<Migration> {
        if policies.migration.name == "off-chip" {
            return None;
        }
        let wear = policies.wear.clone().expect("the wear of blocks is known where pages move by copyback");
        let quotas = match (policies.migration.name, classes(policies)) {
            ("copyback", _) => Quotas::None,
            (_, Some(classes)) => Quotas::ByBlock {
                classes,
                unknown: vec![false; kernel.geometry().units() as usize],
                found: vec![Cell::default(); kernel.geometry().domains() as usize],
            },
            (_, None) => Quotas::ByPage(vec![0; kernel.user_pages() as usize]),
        };
        let selector = selector(policies);
        let metadata = has_metadata(policies).then(|| Metadata::new(kernel.geometry().domains()));
        let is_aware = is_aware(policies);
        Some(Migration { wear, quotas, is_aware, selector, is_told: false, metadata, moved: [0; 2] })
    }

    /// True if it looks at the write buffer.
    pub(crate) fn selects(&self) -> bool {
        self.selector.is_some()
    }

    /// Tells the fill level of the write buffer, 0 to 1.
    pub(crate) fn tell_fill(&mut self, kernel: &mut Kernel, now: Instant, fill: f64) {
        if let Some(selector) = &mut self.selector {
            self.is_told = true;
            selector.tell(now, fill);
            kernel.note_calm(!selector.is_too_full());
        }
    }

    /// The class of the stream that a page is copied to: that of the quota which is left to the pages of its block.
    fn quota_class(&self, kernel: &Kernel, lpn: Lpn) -> usize {
        let Quotas::ByBlock { .. } = &self.quotas else { return 0 };
        let Some(from) = kernel.lookup(lpn) else { return 0 };
        let unit = kernel.geometry().unit_of(from);
        let domain = kernel.geometry().domain_of_unit(unit);
        match kernel.job(domain) {
            Some(job) if job.unit == unit && self.prefers_copyback(job) => self.class_left(kernel, unit).unwrap_or(0),
            _ => 0,
        }
    }

    /// True if pages of a victim move by copyback as far as their quota goes: the host waits for the room, or it asks for
    /// much.
    fn prefers_copyback(&self, job: &Job) -> bool {
        // What is refreshed is to be corrected on its way.
        !matches!(job.why, Why::Refresh | Why::Renew) && (self.selector.is_none() || job.why.is_for_room() || !job.calm)
    }

    /// The quota class that a copyback leaves to the pages of a unit; nothing if theirs does not allow one.
    fn class_left(&self, kernel: &Kernel, unit: Unit) -> Option<usize> {
        let Quotas::ByBlock { found, .. } = &self.quotas else { return None };
        let found = &found[kernel.geometry().domain_of_unit(unit).index()];
        let erases = kernel.erases()[unit.index()];
        if (found.get().unit, found.get().erases) != (Some(unit), erases) {
            found.set(UnitErrors { unit: Some(unit), erases, class: self.find_class_left(kernel, unit) });
        }
        found.get().class
    }

    fn find_class_left(&self, kernel: &Kernel, unit: Unit) -> Option<usize> {
        let Quotas::ByBlock { classes, unknown, .. } = &self.quotas else { return None };
        if unknown[unit.index()] {
            return None;
        }
        let quota = classes.quota(kernel.streams().class(kernel.stream_of(unit), AXIS));
        classes.at_most(quota.checked_sub(self.cost(kernel, unit)?)?)
    }

    /// The cost of a copyback from a unit: as much as from the worst of its blocks. Nothing if it allows none.
    fn cost(&self, kernel: &Kernel, unit: Unit) -> Option<u32> {
        let erases = kernel.erases()[unit.index()];
        let lanes = 0..kernel.geometry().unit_width;
        let threshold = if self.is_aware {
            lanes.map(|lane| self.wear.threshold(kernel.geometry().block_of(unit, lane), erases)).min()?
        } else {
            self.wear.worst_threshold(erases)
        };
        (threshold > 0).then(|| ECC_LIMIT.div_ceil(threshold))
    }

    /// True if the quota of every page of a group allows a copyback from that unit.
    fn allows(&self, kernel: &Kernel, unit: Unit, group: &Group) -> bool {
        match &self.quotas {
            Quotas::None => true,
            Quotas::ByBlock { .. } => self.class_left(kernel, unit).is_some(),
            Quotas::ByPage(left) => self.cost(kernel, unit).is_some_and(|cost| {
                let lpns = group.pages().iter().filter_map(|&page| kernel.lpn_at(page));
                lpns.into_iter().all(|lpn| left[lpn.index()] >= cost)
            }),
        }
    }

    /// The stream that fills a unit stands elsewhere.
    fn note_frontier(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        if let Some(metadata) = &mut self.metadata {
            metadata.note(kernel, domain, kernel.stream_of(unit));
        }
    }

    /// All that was filled before is unknown.
    fn forget(&mut self, kernel: &Kernel) {
        if let Some(metadata) = &mut self.metadata {
            metadata.note_all(kernel);
        }
        match &mut self.quotas {
            Quotas::None => {}
            Quotas::ByPage(left) => left.fill(0),
            Quotas::ByBlock { unknown, found, .. } => {
                found.iter_mut().for_each(|found| *found = Cell::default());
                for (unit, unknown) in kernel.geometry().all_units().zip(unknown.iter_mut()) {
                    *unknown = kernel.state_of(unit) != UnitState::Free;
                }
            }
        }
    }
}

/// True if the pages of a group come to lie in the plane that each is in, and one command reads them all. Of map units these are
/// whole rows, there and here: what is programmed together is copied together.
fn stays_in_planes(kernel: &Kernel, domain: Domain, stream: Stream, group: &Group) -> bool {
    let geometry = kernel.geometry();
    if geometry.row_slots() == 1 {
        return true;
    }
    let first = kernel.frontier(domain, stream).map_or(Slot::FIRST, |frontier| frontier.slot);
    let place_of = |slot| geometry.row_of_slot(slot);
    let together = if geometry.parts == 1 { 1 } else { geometry.row_slots() };
    let is_whole = (group.pages().len() as u32).is_multiple_of(together) && place_of(first).1.is_multiple_of(together);
    let sources = group.pages().iter().map(|&page| place_of(geometry.unit_and_slot(page).1));
    let row = sources.clone().next().map(|(row, _)| row);
    let mut moves = geometry.slots_from(first).map(|slot| place_of(slot).1).zip(sources);
    is_whole && moves.all(|(to, (of, from))| to == from && Some(of) == row)
}

impl Planned for Migration {
    fn needs(policies: &Policies<'_>, geometry: &Geometry) -> Option<Needs> {
        if policies.migration.name == "off-chip" {
            return None;
        }
        let classes = classes(policies).map_or(1, |classes| classes.count());
        let axis = Axis { classes, by_victim: classes > 1, ..Axis::ONE };
        let needs = Needs { time: selector(policies).is_some(), ..Needs::of_axis(AXIS, axis) };
        if has_metadata(policies) {
            return Some(Needs { without_data: geometry.row_slots(), on_demand: true, ..needs });
        }
        Some(needs)
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, user_pages: u64, _: bool) -> Bytes {
        let Some(wear) = &policies.wear else { return Bytes::default() };
        let of_blocks = wear.qualities.len() as u64 * size_of::<base::Quality>() as u64;
        let of_quotas = match policies.migration.name {
            "copyback" => 0,
            _ if is_by_block(policies) => u64::from(geometry.units()),
            _ => user_pages * size_of::<u32>() as u64,
        };
        Bytes { blocks: of_blocks + of_quotas, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Migration>, OutOfMemory> {
        Ok(Migration::of(kernel, policies))
    }
}

impl Placing for Migration {
    #[inline]
    fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival, classes: &mut [usize; AXES]) -> Option<Stream> {
        if arrival == Arrival::Copy {
            classes[AXIS] = self.quota_class(kernel, lpn);
        }
        None
    }

    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        self.note_frontier(kernel, page.domain, kernel.geometry().unit_of(page.at));
        if page.lpn.0 >= kernel.user_pages() {
            return;
        }
        let spent = match page.origin {
            PageOrigin::Copy(from, How::Copyback) => {
                self.moved[0] += 1;
                match &self.quotas {
                    // What no quota is kept of may cost more than there is.
                    Quotas::ByPage(_) => Some(self.cost(kernel, kernel.geometry().unit_of(from)).unwrap_or(0)),
                    Quotas::None | Quotas::ByBlock { .. } => None,
                }
            }
            PageOrigin::Copy(_, How::OffChip) => {
                self.moved[1] += 1;
                None
            }
            PageOrigin::Host { .. } | PageOrigin::Map | PageOrigin::Anew(_) => None,
        };
        if let Quotas::ByPage(left) = &mut self.quotas {
            let left = &mut left[page.lpn.index()];
            *left = spent.map_or(ECC_LIMIT, |cost| left.checked_sub(cost).expect("a quota that allowed the copyback"));
        }
    }

    fn padded(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) {
        self.note_frontier(kernel, domain, kernel.geometry().unit_of(at));
    }

    fn sealed(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        self.note_frontier(kernel, domain, unit);
    }

    fn erased(&mut self, _: &mut Kernel, _: Domain, unit: Unit, _: Option<Why>) -> bool {
        if let Quotas::ByBlock { unknown, .. } = &mut self.quotas {
            unknown[unit.index()] = false;
        }
        false
    }
}

impl Agenda for Migration {
    #[inline]
    fn is_pending(&self, domain: Domain) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| metadata.is_due(domain))
    }

    fn goes_on(&self, domain: Domain) -> bool {
        self.is_pending(domain)
    }

    fn pending(&mut self, _: &mut Kernel, domain: Domain, _: bool, _: bool, group: &mut Group) -> Option<Pending> {
        group.stream = self.metadata.as_ref()?.next(domain)?;
        Some(Pending::Act(Step::new(Op::Pad, Cause::Mapping)))
    }

    /// Pages of the map move off the chip: they are of no stream of data. So does what is filled up with dummy pages, which
    /// have to be sent.
    fn how(&self, kernel: &Kernel, domain: Domain, stream: Stream, group: &Group) -> Option<How> {
        let unit = kernel.geometry().unit_of(group.pages()[0]);
        let prefers = kernel.job(domain).is_some_and(|job| job.unit == unit && self.prefers_copyback(job));
        let may = prefers
            && !kernel.holds_map(unit)
            && group.rest == 0
            && stays_in_planes(kernel, domain, stream, group)
            && self.allows(kernel, unit, group);
        may.then_some(How::Copyback)
    }

    #[inline]
    fn tell(&mut self, kernel: &mut Kernel, now: Instant) -> Option<f64> {
        if self.is_told
            && let Some(selector) = &mut self.selector
        {
            selector.pass(now);
            kernel.note_calm(!selector.is_too_full());
        }
        None
    }
}

impl Restart for Migration {
    fn reopen(&mut self, kernel: &mut Kernel) {
        self.forget(kernel);
    }

    fn renew(&mut self, kernel: &mut Kernel, policies: &Policies<'_>) {
        self.forget(kernel);
        self.moved = [0; 2];
        self.selector = selector(policies);
        self.is_told = false;
        if self.selector.is_some() {
            kernel.note_calm(false);
        }
    }
}

impl Reported for Migration {
    fn figures(&self, figures: &mut Figures) {
        let [copied, off_chip] = self.moved;
        figures.ratio("migration", "copyback_fraction", copied, copied + off_chip);
        figures.count("migration", "off_chip", off_chip);
        if let Quotas::ByBlock { classes, .. } = &self.quotas {
            figures.count("migration", "quota_classes", classes.count() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, CopybackTable, Dimensions, ParamValue, Quality};
    use engine::Chance;

    use super::*;
    use crate::sample::{self, FIRST};

    const BLOCKS: u32 = 24;
    const PAGES: u32 = 8;
    /// Of the best, the median and the worst blocks.
    const THRESHOLDS: [u32; 3] = [3, 2, 1];
    /// Their least common multiple.
    const FULL: u32 = 6;

    /// A plane of blocks of a single page, so that a page has a block to itself wherever it goes, and how its pages move.
    struct Plane {
        kernel: Kernel,
        migration: Migration,
        /// By block: its threshold.
        thresholds: Vec<u32>,
    }

    impl Plane {
        fn new(quota: &'static str, random: &mut Chance) -> Plane {
            let geometry = Geometry::new(Dimensions { blocks_per_plane: BLOCKS, ..Dimensions::ONE_PAGE });
            let kinds: Vec<usize> = (0..BLOCKS).map(|_| random.below(3) as usize).collect();
            let row = |kind: usize| vec![THRESHOLDS[kind]];
            let mut policies =
                sample::policies(&[("migration", "rcpb", &[("quota", ParamValue::Word(quota))])], Cell::Slc);
            policies.wear = Some(Arc::new(Wear {
                pe_cycles: 0,
                table: CopybackTable { bands: vec![1_000_000], best: row(0), median: row(1), worst: row(2) },
                qualities: kinds.iter().map(|&kind| [Quality::BEST, Quality::MEDIAN, Quality::WORST][kind]).collect(),
            }));
            let (kernel, _) = sample::kernel(geometry, u64::from(PAGES), &policies);
            let migration = Migration::of(&kernel, &policies).expect("pages move by copyback");
            Plane { kernel, migration, thresholds: kinds.iter().map(|&kind| THRESHOLDS[kind]).collect() }
        }

        fn told(&mut self, lpn: Lpn, at: Ppn, origin: PageOrigin) {
            self.migration.placed(&mut self.kernel, &NewPage { domain: FIRST, lpn, at, origin });
        }

        fn erase(&mut self, unit: Unit) {
            self.kernel.free_unit(FIRST, unit);
            self.migration.erased(&mut self.kernel, FIRST, unit, Some(Why::Room));
        }

        fn write(&mut self, lpn: Lpn) {
            let old = self.kernel.lookup(lpn);
            if let Some(old) = old {
                self.kernel.invalidate(old);
                let unit = self.kernel.geometry().unit_of(old);
                self.kernel.take_victim(FIRST, unit, Why::Room);
                self.erase(unit);
            }
            let at = self.kernel.place_new(FIRST, Stream::FIRST, lpn, true).at;
            self.told(lpn, at, PageOrigin::Host { was_mapped: old.is_some(), hint: 0 });
        }

        /// Collects the block that a page is in. Returns which way it moved, and the threshold of the block.
        fn collect(&mut self, lpn: Lpn) -> (How, u32) {
            let from = self.kernel.lookup(lpn).expect("a page that was written");
            let unit = self.kernel.geometry().unit_of(from);
            self.kernel.begin(FIRST, unit, Why::Room);
            let stream = self.kernel.streams().at([0, 0, self.migration.quota_class(&self.kernel, lpn), 0, 0]);
            let mut group = Group::EMPTY;
            group.push(from);
            let how = self.migration.how(&self.kernel, FIRST, stream, &group).unwrap_or(How::OffChip);
            self.kernel.detach(unit, from);
            let at = self.kernel.place(FIRST, stream, lpn).at;
            self.told(lpn, at, PageOrigin::Copy(from, how));
            self.kernel.take_job(FIRST);
            self.erase(unit);
            (how, self.thresholds[unit.index()])
        }
    }

    /// Figure 4, over chains of any blocks: a copyback from a block of threshold CT takes a CTth of the full quota; where that
    /// is not left, the page goes through the controller and has the full quota again. By block (Figure 5) what is left is
    /// that of an active block: 1 of 6 allows no copyback, as 0 does.
    #[test]
    fn a_quota_goes_down_by_what_each_block_takes() {
        for quota in ["page", "block"] {
            let mut random = Chance::new(1, quota);
            for chain in 0..40 {
                let mut plane = Plane::new(quota, &mut random);
                let mut left = [FULL; PAGES as usize];
                (0..PAGES).for_each(|lpn| plane.write(Lpn(lpn)));
                let mut ways = [0, 0];
                for _ in 0..200 {
                    let lpn = random.below_u32(PAGES);
                    let left = &mut left[lpn as usize];
                    if random.below(8) == 0 {
                        plane.write(Lpn(lpn));
                        *left = FULL;
                        continue;
                    }
                    let before = *left;
                    let (how, threshold) = plane.collect(Lpn(lpn));
                    let expected = before.checked_sub(FULL / threshold);
                    *left = expected.unwrap_or(FULL);
                    assert_eq!(
                        how == How::Copyback,
                        expected.is_some(),
                        "{quota}, chain {chain}: {before} of {FULL} before a block of {threshold}"
                    );
                    ways[usize::from(how == How::Copyback)] += 1;
                }
                assert!(ways.iter().all(|&times| times > 20), "{ways:?}");
            }
        }
    }
}
