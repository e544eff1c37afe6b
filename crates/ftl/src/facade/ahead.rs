//! Collections ahead of need, as a part: the executor knows who is idle, so it begins and suspends them.

use base::Domain;

use super::{Ftl, InForce, not_given};
use crate::group::Group;
use crate::ops::{AheadPhase, Array, PacedCollection};

/// A mapping that collects ahead of need.
pub(crate) trait CollectsAhead {
    /// Begins a collection ahead of need, or goes on with one that was suspended. Returns whether there is anything to collect.
    fn begin_forward(&mut self, domain: Domain) -> bool;

    /// True if the collection in progress can be suspended at all: the host does not wait for it.
    fn is_forward(&self, domain: Domain) -> bool;

    /// How it goes on, if it stands at a preemption point.
    fn next_phase(&self, domain: Domain) -> Option<AheadPhase>;

    /// True if an empty unit waits for its erase.
    fn has_emptied(&self, domain: Domain) -> bool;

    /// True if it can be suspended now, so that the domain takes host pages.
    fn may_suspend(&mut self, domain: Domain) -> bool;

    /// Suspends it.
    ///
    /// # Panics
    /// Unless [`CollectsAhead::may_suspend`].
    fn suspend(&mut self, domain: Domain);

    /// Has it go on with pages to copy: where its unit is empty, leaves the erase for later and begins with the next victim.
    /// Returns whether there are such pages.
    fn defer_erase(&mut self, domain: Domain) -> bool;

    /// Makes the erase of an empty unit its next operation.
    ///
    /// # Panics
    /// Unless [`CollectsAhead::has_emptied`].
    fn erase_emptied(&mut self, domain: Domain);

    /// Carries out the next operation at once. Returns whether there may be another one.
    fn carry_out_next(&mut self, domain: Domain, group: &mut Group, array: &mut impl Array) -> bool;
}

/// Collections ahead of need, where the schedule begins any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead(());

macro_rules! delegate {
    ($mapping:expr, $ftl:ident => $call:expr) => {
        match $mapping {
            InForce::Page($ftl) => $call,
            InForce::Fast($ftl) => $call,
            InForce::Plain(_) => not_given(),
        }
    };
}

impl Ahead {
    pub(super) fn of(ftl: &Ftl) -> Option<Ahead> {
        ftl.collects_ahead.then_some(Ahead(()))
    }

    /// Begins a collection ahead of need, or goes on with one that was suspended. Returns whether there is anything
    /// to collect.
    pub fn begin(self, ftl: &mut Ftl, domain: Domain) -> bool {
        !ftl.is_busy(domain) && delegate!(&mut ftl.mapping, ftl => ftl.begin_forward(domain))
    }

    /// True if a collection stands at a preemption point (Wen and Chang, section 3.3), as far as the mapping knows: what
    /// was read for it is programmed first. If so, whether a unit that was emptied ahead of need waits for its erase, or pages
    /// are copied next.
    #[inline]
    pub fn rests(self, ftl: &Ftl, domain: Domain) -> Option<AheadPhase> {
        delegate!(&ftl.mapping, ftl => ftl.next_phase(domain))
    }

    /// Suspends a collection ahead of need, so that the domain takes host pages, if that can be done now. Returns whether
    /// it was.
    pub fn suspend(self, ftl: &mut Ftl, domain: Domain) -> bool {
        delegate!(&mut ftl.mapping, ftl => suspended(ftl, domain))
    }

    /// Has a collection that rests go on with pages to copy: if need be in another unit, so that the erase of an emptied one is
    /// left for later. Returns whether it does.
    pub fn copy_next(self, ftl: &mut Ftl, domain: Domain) -> bool {
        delegate!(&mut ftl.mapping, ftl => ftl.defer_erase(domain))
    }

    /// Has a collection that rests go on with the erase of an emptied unit. Returns whether there is one.
    pub fn erase_next(self, ftl: &mut Ftl, domain: Domain) -> bool {
        delegate!(&mut ftl.mapping, ftl => {
            let has_emptied = ftl.has_emptied(domain);
            if has_emptied {
                ftl.erase_emptied(domain);
            }
            has_emptied
        })
    }

    /// Carries out a collection at once, and suspends it after so many operations, as soon as that can be done. Where
    /// it defers erases, it leaves that of an emptied unit for later and goes on with the next one. Returns whether it was
    /// suspended.
    pub fn collect(self, ftl: &mut Ftl, domain: Domain, operations: u32, defers: bool, array: &mut impl Array) -> bool {
        let is_suspended = delegate!(&mut ftl.mapping, ftl => collect(ftl, domain, operations, defers, array));
        if let InForce::Page(page) = &mut ftl.mapping {
            page.carry_out_woken(array);
        }
        is_suspended
    }
}

/// Collections that keep step with the host, where the schedule is that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paced(());

impl Paced {
    pub(super) fn of(ftl: &Ftl) -> Option<Paced> {
        (ftl.is_paced && matches!(ftl.mapping, InForce::Page(_))).then_some(Paced(()))
    }

    /// Begins a collection that keeps step with the host, or goes on with the one of `last`, if free space has come down to `low`
    /// units above the reserve; the host has just written so many pages to the domain.
    pub fn begin(
        self,
        ftl: &mut Ftl,
        domain: Domain,
        low: u32,
        written: u32,
        last: Option<PacedCollection>,
    ) -> Option<PacedCollection> {
        ftl.with_mechanisms_mut().begin_paced(domain, low, written, last)
    }

    /// The steps that are left of a collection: one for each page, and one for the erase.
    pub fn steps_left(self, ftl: &Ftl, domain: Domain) -> u32 {
        ftl.with_mechanisms().steps_left(domain)
    }
}

fn suspended(mapping: &mut impl CollectsAhead, domain: Domain) -> bool {
    let may = mapping.may_suspend(domain);
    if may {
        mapping.suspend(domain);
    }
    may
}

fn collect(
    mapping: &mut impl CollectsAhead,
    domain: Domain,
    operations: u32,
    defers: bool,
    array: &mut impl Array,
) -> bool {
    let (mut group, mut done) = (Group::EMPTY, 0);
    loop {
        if done >= operations && suspended(mapping, domain) {
            return true;
        }
        if defers && mapping.is_forward(domain) {
            mapping.defer_erase(domain);
        }
        if !mapping.carry_out_next(domain, &mut group, array) {
            return false;
        }
        done += 1;
    }
}

#[cfg(test)]
mod tests {
    use base::{Cause, Dimensions, Geometry, Lpn, Ppn, Unit};

    use super::*;
    use crate::allocation::Allocation;
    use crate::fast::{Fast, LogOptions};
    use crate::ops::{DataSource, Erasure, How, Placed};
    use crate::sample::{self, FIRST};

    /// An executor without time that counts the work.
    #[derive(Debug, Default, PartialEq)]
    struct Counted {
        moved: u32,
        padded: u32,
        erased: u32,
    }

    impl Array for Counted {
        fn moved(&mut self, _: Cause, _: How, _: Ppn, _: Placed) -> bool {
            self.moved += 1;
            true
        }

        fn moves_runs(&self, _: Unit) -> bool {
            false
        }

        fn moved_run(&mut self, _: Cause, _: u32, _: Ppn, _: Ppn) {
            unreachable!("pages are moved one by one");
        }

        fn combined(&mut self, _: Cause, _: &Group, _: Placed) -> bool {
            self.padded += 1;
            true
        }

        fn rewritten(&mut self, _: Cause, _: DataSource, _: Placed) -> bool {
            unreachable!("no program fails");
        }

        fn read(&mut self, _: Cause, _: Ppn) {
            unreachable!("the whole map is in DRAM");
        }

        fn erased(&mut self, _: Erasure) {
            self.erased += 1;
        }
    }

    /// Hybrid mapping with a full random-write log block: the second page of each of four logical blocks.
    fn with_a_full_log_block() -> Fast {
        let geometry = Geometry::new(Dimensions { blocks_per_plane: 12, pages_per_block: 4, ..Dimensions::ONE_PAGE });
        let policies = sample::policies(&[("mapping", "fast", &[("log_blocks", 4.into())])], base::Cell::Mlc);
        let options = LogOptions::new(policies.mapping, 1, &geometry, 24);
        let allocation = Allocation::build(policies.allocation, &geometry);
        let mut fast = Fast::new(geometry, 24, options, allocation, policies.block_allocation).expect("memory");
        for lpn in [1, 5, 9, 13] {
            fast.write(FIRST, Lpn(lpn));
        }
        fast
    }

    #[test]
    fn hybrid_mapping_collects_ahead_without_time_and_is_suspended_between_logical_blocks() {
        let (mut fast, mut array) = (with_a_full_log_block(), Counted::default());
        assert!(fast.begin_forward(FIRST));
        assert!(collect(&mut fast, FIRST, 1, false, &mut array), "it can be suspended behind the first logical block");
        assert_eq!(array, Counted { moved: 1, padded: 1, erased: 0 });
        assert!(!fast.is_busy(FIRST));
        assert!(fast.begin_forward(FIRST), "it goes on");
        assert!(!collect(&mut fast, FIRST, u32::MAX, false, &mut array), "nobody suspends it");
        assert_eq!(array, Counted { moved: 4, padded: 4, erased: 1 });
        assert!(!fast.is_busy(FIRST));
    }
}
