//! Bad blocks: a unit of which a block has failed is emptied and retired, and the spare space shrinks.
//!
//! Some units are retired from the start, because a block of theirs is bad from the factory. When a program or an erase of a unit fails,
//! the unit *fails*: nobody collects it for room any more, its valid pages move, and then it is *retired*, as a whole. The user space and
//! what is held free leave so many units of each domain to *spare*. When one more has failed than that, nobody can promise any more that
//! garbage collection makes progress: the device is read-only for good. It is as well when failures come so thick that no free unit is left
//! for what they hurt. A read-only device does nothing by itself, so what it holds stays where it is.

mod refusals;
mod saved;

use std::collections::BTreeSet;

use base::{Domain, Geometry, Lpn, OpKind, Unit};

pub use refusals::KEY;
pub(crate) use refusals::check;

use super::{Agenda, Keepers, OwnWork, Placing, Planned, Reported, Restart};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{Budget, Kernel, Needs, Why};
use crate::victim::UnitState;
use crate::{Bytes, Figures, OutOfMemory, Policies};

/// Units held free besides those of collections: for programs that fail while a victim is emptied, one after the other.
const FOR_FAILURES: u32 = 3;
/// Free units that are there before a failed one is emptied, besides those that its updates of a map in flash open: that takes one, gives
/// none back, and a victim can be emptied after it.
const FOR_RETIREMENT: u32 = 3;

/// Bad blocks in force.
#[derive(Clone)]
pub(crate) struct Retirement {
    domains: Vec<DomainSpare>,
    /// Units that were retired when the device was built.
    factory: u32,
    failures: Failures,
    /// Failures came so thick that no free unit was left.
    is_exhausted: bool,
    /// The device takes no more pages.
    is_read_only: bool,
}

/// The failures since the device was built.
#[derive(Clone, Copy, Default)]
struct Failures {
    programs: u64,
    erases: u64,
}

/// The units that a domain can still lose.
#[derive(Clone, Default)]
struct DomainSpare {
    /// Units that can be retired, of all that there are.
    spare: u32,
    /// The most valid pages with which room can be made when they all are.
    most_valid: u64,
    /// Units that are.
    retired: u32,
    /// Units that have failed and are not retired yet.
    failing: BTreeSet<Unit>,
    /// Failed units that nobody has in hand: they are to be emptied.
    waiting: BTreeSet<Unit>,
}

impl DomainSpare {
    /// Units that can still fail; one fewer than none, and the device is read-only.
    fn left(&self) -> i64 {
        i64::from(self.spare) - i64::from(self.retired) - self.failing.len() as i64
    }
}

/// The pages that a domain has to be able to hold: of the host, and of a map in flash, of which there are so many in all.
fn most_pages(allocation: &Allocation, geometry: &Geometry, user_pages: u32, map_pages: u64) -> Vec<u64> {
    let of_map = map_pages / u64::from(geometry.domains());
    let mut pages = vec![of_map; geometry.domains() as usize];
    if let Some(dynamic) = allocation.dynamic() {
        let mut of_queue = vec![0; allocation.queues() as usize];
        (0..user_pages).for_each(|lpn| of_queue[dynamic.queue_of(Lpn(lpn)).index()] += 1);
        for domain in geometry.all_domains() {
            let queue = dynamic.queue_of_die(geometry.die_of_domain(domain));
            let sharers = dynamic.dies(queue).len() as u64 * u64::from(geometry.domains_per_die());
            // Its share, and a unit by which it may be ahead of others. One of them always has to accept the next flash page.
            let ahead = geometry.unit_slots() + geometry.parts;
            pages[domain.index()] += u64::div_ceil(of_queue[queue.index()], sharers) + u64::from(ahead);
        }
        return pages;
    }
    for lpn in (0..user_pages).map(Lpn) {
        if let Some(domain) = allocation.domain_of(lpn) {
            pages[domain.index()] += 1;
        }
    }
    pages
}

/// Units of a domain that can be retired, where it has to hold so many pages.
fn spare_of(budget: &Budget, pages: u64) -> u32 {
    (budget.max_valid.saturating_sub(pages) / u64::from(budget.slots)) as u32
}

/// Units of each domain that have a block which is bad from the factory.
fn bad_units(geometry: &Geometry, bad: &[bool]) -> Vec<u32> {
    let is_bad = |&unit: &Unit| (0..geometry.unit_width).any(|lane| bad[geometry.block_of(unit, lane).index()]);
    geometry.all_domains().map(|domain| geometry.units_of_domain(domain).filter(is_bad).count() as u32).collect()
}

// What page mapping asks and tells.
impl Retirement {
    /// The device takes no more pages, and does nothing by itself.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The most valid pages of a domain with which it takes pages of a dynamic allocation.
    #[inline]
    pub(crate) fn most_valid(&self, domain: Domain) -> u64 {
        self.domains[domain.index()].most_valid
    }

    /// A unit is retired with its next erase.
    #[inline]
    pub(crate) fn retires(&self, domain: Domain, unit: Unit) -> bool {
        self.domains[domain.index()].failing.contains(&unit)
    }

    /// An operation on a unit has failed. If nobody empties it yet, and no mechanism sees that it is erased, that is done here, and not for
    /// want of room.
    pub(crate) fn wears_out(
        &mut self,
        kernel: &mut Kernel,
        (domain, unit): (Domain, Unit),
        kind: OpKind,
        is_kept: bool,
    ) {
        match kind {
            OpKind::Erase => self.failures.erases += 1,
            OpKind::Program | OpKind::Read => self.failures.programs += 1,
        }
        self.domains[domain.index()].failing.insert(unit);
        if !is_kept {
            self.keep(kernel, domain, unit);
        }
        self.look(domain);
    }

    /// A unit that was a victim is none any more, and holds pages still.
    pub(crate) fn given_back(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        if self.retires(domain, unit) {
            self.keep(kernel, domain, unit);
        }
    }

    /// Keeps a unit that nobody has in hand. Who withheld it has let go of it.
    fn keep(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        if matches!(kernel.state_of(unit), UnitState::Closed | UnitState::Aside) {
            kernel.withhold(domain, unit);
        }
        if kernel.state_of(unit) == UnitState::Withheld {
            self.domains[domain.index()].waiting.insert(unit);
        }
    }

    /// Counts pages of the host that were lost.
    pub(crate) fn count_lost(&self, figures: &mut Figures, pages: u64) {
        figures.count(KEY, "lost_pages", pages);
    }

    /// A unit that has failed was erased, and is retired.
    pub(crate) fn retired(&mut self, domain: Domain, unit: Unit) {
        let spare = &mut self.domains[domain.index()];
        assert!(spare.failing.remove(&unit), "a unit that has failed is retired");
        spare.waiting.remove(&unit);
        spare.retired += 1;
    }

    /// After a failure: if it left no free unit in a domain, the collections that are to come could not be carried out.
    pub(crate) fn look_for_room(&mut self, kernel: &Kernel, domain: Domain) {
        if kernel.free(domain) == 0 {
            self.exhaust();
        }
    }

    /// There is no place for a page.
    pub(crate) fn exhaust(&mut self) {
        self.is_exhausted = true;
        self.is_read_only = true;
    }

    fn look(&mut self, domain: Domain) {
        self.is_read_only |= self.domains[domain.index()].left() < 0;
    }
}

impl Planned for Retirement {
    fn needs(policies: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        // They are there before each host page, and not only for those who ask: a device that waits for the last free unit ends with spare
        // units left.
        policies.bad_blocks.as_ref().map(|_| Needs {
            reserve: FOR_FAILURES,
            floor: FOR_FAILURES + 1,
            on_demand: true,
            ..Needs::NONE
        })
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, _: u64, _: bool) -> Bytes {
        let of_domains = u64::from(geometry.domains()) * size_of::<DomainSpare>() as u64;
        Bytes { blocks: policies.bad_blocks.as_ref().map_or(0, |_| of_domains), ..Bytes::default() }
    }

    fn build(
        kernel: &Kernel,
        policies: &Policies<'_>,
        allocation: &Allocation,
    ) -> Result<Option<Retirement>, OutOfMemory> {
        let Some(bad) = &policies.bad_blocks else { return Ok(None) };
        let geometry = kernel.geometry();
        let map_pages = u64::from(kernel.logical_pages() - kernel.user_pages());
        let pages = most_pages(allocation, geometry, kernel.user_pages(), map_pages);
        let budget = kernel.budget();
        let spare = pages.into_iter().map(|pages| spare_of(budget, pages));
        let of_domain = |(spare, retired)| DomainSpare {
            spare,
            most_valid: budget.max_valid - u64::from(spare) * u64::from(budget.slots),
            retired,
            ..DomainSpare::default()
        };
        let bad = bad_units(geometry, bad);
        let factory = bad.iter().sum();
        let domains = spare.zip(bad).map(of_domain).collect();
        Ok(Some(Retirement {
            domains,
            factory,
            failures: Failures::default(),
            is_exhausted: false,
            is_read_only: false,
        }))
    }
}

impl Placing for Retirement {}

impl Agenda for Retirement {
    fn is_pending(&self, domain: Domain) -> bool {
        !self.domains[domain.index()].waiting.is_empty()
    }

    /// Empties a unit that has failed, once there is room for its pages.
    fn take_up(&mut self, kernel: &mut Kernel, domain: Domain, may_begin: bool, _: &mut Group) -> Option<OwnWork> {
        if !may_begin || kernel.job(domain).is_some() {
            return None;
        }
        let is_left = |unit: &&Unit| kernel.state_of(**unit) == UnitState::Withheld;
        let unit = *self.domains[domain.index()].waiting.iter().find(is_left)?;
        if kernel.free(domain) < FOR_RETIREMENT + kernel.budget().opens {
            return Some(OwnWork::Room);
        }
        self.domains[domain.index()].waiting.remove(&unit);
        kernel.begin(domain, unit, Why::Retire);
        Some(OwnWork::Changed)
    }
}

impl Restart for Retirement {
    /// After a restart blocks are bad that are marked so.
    fn reopen(&mut self, kernel: &mut Kernel) {
        self.recount(kernel);
    }

    fn save(&self, kernel: &Kernel, saved: &mut crate::Saved<'_>) {
        self.save_units(kernel, saved);
    }

    fn restore(
        &mut self,
        kernel: &mut Kernel,
        _: &[crate::Kept],
        words: &mut std::slice::Iter<'_, u32>,
    ) -> Result<(), String> {
        self.recount(kernel);
        self.adopt_failing(kernel, words).ok_or_else(|| "units of which a block has failed".into())
    }
}

impl Reported for Retirement {
    fn figures(&self, figures: &mut Figures) {
        let gone = |spare: &DomainSpare| u64::from(spare.retired) + spare.failing.len() as u64;
        let gone: u64 = self.domains.iter().map(gone).sum();
        let left = |spare: &DomainSpare| spare.left().max(0) as u64;
        figures.count(KEY, "factory_units", self.factory.into());
        figures.count(KEY, "grown_units", gone - u64::from(self.factory));
        figures.count(KEY, "failed_programs", self.failures.programs);
        figures.count(KEY, "failed_erases", self.failures.erases);
        figures.count(KEY, "spare_units", self.domains.iter().map(left).sum());
        figures.count(KEY, "spare_units_least", self.domains.iter().map(left).min().unwrap_or(0));
        // What is spare on a device of good blocks is 100 %.
        let all: u32 = self.domains.iter().map(|spare| spare.spare).min().unwrap_or(0);
        figures.ratio(KEY, "spare", self.domains.iter().map(left).min().unwrap_or(0), all.into());
        figures.count(KEY, "read_only", self.is_read_only.into());
        figures.count(KEY, "exhausted", self.is_exhausted.into());
    }

    fn kept(&self, kernel: &Kernel, domain: Domain, keepers: &mut Keepers) {
        // One that reads have disturbed may be in work by now.
        let waiting = self.domains[domain.index()].waiting.iter().copied();
        keepers.withheld.extend(waiting.filter(|&unit| kernel.state_of(unit) == UnitState::Withheld));
    }

    fn check(&self, kernel: &Kernel) -> Result<(), String> {
        for (domain, spare) in kernel.geometry().all_domains().zip(&self.domains) {
            let retired = kernel.retired(domain);
            if retired != spare.retired {
                return Err(format!("domain {domain} counts {} retired units and has {retired}", spare.retired));
            }
            let is_known = |unit: Unit| match kernel.state_of(unit) {
                UnitState::Withheld => spare.waiting.contains(&unit),
                UnitState::Collecting | UnitState::Aside => !spare.waiting.contains(&unit),
                _ => false,
            };
            let is_lost = |&&unit: &&Unit| !is_known(unit);
            if let Some(unit) = spare.failing.iter().find(is_lost) {
                return Err(format!("unit {unit} has failed, and is {:?}", kernel.state_of(*unit)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::{Cell, Dimensions};

    use super::*;
    use crate::kernel::Stream;
    use crate::mechanism::All;
    use crate::sample::{self, FIRST};

    /// A plane of 16 blocks of 4 pages for so many pages of the host, with these bad from the factory.
    fn plane(user_pages: u64, bad: &[usize]) -> (Kernel, All) {
        let geometry = Geometry::new(Dimensions { blocks_per_plane: 16, pages_per_block: 4, ..Dimensions::ONE_PAGE });
        let mut policies = sample::policies(&[], Cell::Slc);
        policies.bad_blocks = Some((0..16).map(|block| bad.contains(&block)).collect::<Arc<[bool]>>());
        sample::kernel(geometry, user_pages, &policies)
    }

    fn retirement(all: &mut All) -> &mut Retirement {
        all.retirement.as_deref_mut().expect("blocks fail")
    }

    fn figure(all: &All, name: &str) -> f64 {
        let mut figures = Figures::default();
        all.figures(&mut figures);
        figures.get(KEY, name).expect("a figure")
    }

    #[test]
    fn the_user_space_and_what_is_held_free_leave_the_rest_to_spare() {
        // Units that collections hold free, and three for failures; of the others one page has to be invalid.
        let (kernel, _) = plane(20, &[]);
        let closed = u64::from(16 - kernel.budget().reserve);
        assert_eq!(kernel.budget().max_valid, closed * 4 - 1);
        for pages in [20, 23, 24] {
            let (kernel, all) = plane(pages, &[3, 9]);
            let spare = (closed * 4 - 1 - pages) / 4;
            assert_eq!((figure(&all, "factory_units"), figure(&all, "spare_units")), (2.0, spare as f64 - 2.0));
            assert_eq!((kernel.free(FIRST), kernel.retired(FIRST)), (14, 2));
        }
    }

    #[test]
    fn one_failure_more_than_there_is_to_spare_ends_it() {
        let (mut kernel, mut all) = plane(36, &[]);
        let spare = figure(&all, "spare_units") as u32;
        for unit in 0..=spare {
            assert!(!retirement(&mut all).is_read_only(), "{unit} of {spare} have failed");
            retirement(&mut all).wears_out(&mut kernel, (FIRST, Unit::new(unit)), OpKind::Program, false);
        }
        assert!(retirement(&mut all).is_read_only());
        assert_eq!((figure(&all, "grown_units"), figure(&all, "spare_units")), (f64::from(spare) + 1.0, 0.0));
        assert_eq!(figure(&all, "failed_programs"), f64::from(spare) + 1.0);
    }

    /// A unit that fails while others empty it is theirs: nothing waits for it here, until they give it back.
    #[test]
    fn a_victim_that_fails_is_emptied_here_once_it_is_given_back() {
        let (mut kernel, mut all) = plane(20, &[]);
        let mut group = Group::EMPTY;
        sample::write(&mut kernel, Stream::FIRST, 0..4);
        let victim = kernel.geometry().unit_of(kernel.lookup(Lpn(0)).expect("a page that was written"));
        kernel.begin(FIRST, victim, Why::Forward);
        let own = retirement(&mut all);
        own.wears_out(&mut kernel, (FIRST, victim), OpKind::Program, false);
        assert!(own.retires(FIRST, victim) && !own.is_pending(FIRST));
        assert_eq!(own.take_up(&mut kernel, FIRST, true, &mut group), None);
        let job = kernel.take_job(FIRST).expect("the collection ahead of need");
        kernel.give_back(FIRST, &job);
        own.given_back(&mut kernel, FIRST, victim);
        assert!(own.is_pending(FIRST) && kernel.state_of(victim) == UnitState::Withheld);
        assert_eq!(own.check(&kernel), Ok(()));
        assert_eq!(own.take_up(&mut kernel, FIRST, true, &mut group), Some(OwnWork::Changed));
        assert_eq!(kernel.job(FIRST).map(|job| (job.unit, job.why)), Some((victim, Why::Retire)));
        assert!(!own.is_pending(FIRST), "the collection is all that is left to do");
    }

    #[test]
    fn a_count_that_is_off_is_found() {
        let (kernel, mut all) = plane(20, &[3]);
        assert_eq!(all.check(&kernel), Ok(()));
        retirement(&mut all).domains[0].retired += 1;
        assert_eq!(all.check(&kernel), Err("domain 0 counts 2 retired units and has 1".into()));
        retirement(&mut all).domains[0].retired -= 1;
        retirement(&mut all).domains[0].failing.insert(Unit::new(5));
        assert_eq!(all.check(&kernel), Err("unit 5 has failed, and is Free".into()));
    }
}
