//! Collections ahead of need, as a part: the executor knows who is idle, so it begins and suspends them.

use base::Domain;

use super::{Ftl, InForce, not_given};
use crate::ops::AheadPhase;

/// A mapping that collects ahead of need.
pub(crate) trait CollectsAhead {
    /// Units that can be written before garbage has to be collected: free ones or, under hybrid mapping, log blocks
    /// that are not in use.
    fn spare_units(&self, domain: Domain) -> u32;

    /// Begins a collection ahead of need, or goes on with one that was suspended; see [`Ahead::begin`]. Returns whether there is anything
    /// to collect.
    fn begin_forward(&mut self, domain: Domain, written: u32) -> bool;

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
        ftl.most_spare.map(|_| Ahead(()))
    }

    /// Begins a collection ahead of need, or goes on with one that was suspended, where a domain has few enough spare units for the
    /// schedule. Returns whether there is anything to collect.
    ///
    /// The host has just written so many pages to the domain. Where collections keep step with the host, as much is collected as is due
    /// for these, and only near the reserve; other schedules do not ask how many they are.
    #[inline]
    pub fn begin(self, ftl: &mut Ftl, domain: Domain, written: u32) -> bool {
        let most = ftl.most_spare;
        delegate!(&mut ftl.mapping, ftl => {
            most.is_some_and(|most| ftl.spare_units(domain) <= most)
                && super::mapping::Mapping::work(ftl, domain).is_none()
                && CollectsAhead::begin_forward(ftl, domain, written)
        })
    }

    /// True if a collection stands at a preemption point (Wen and Chang, section 3.3), as far as the mapping knows: what
    /// was read for it is programmed first. If so, whether a unit that was emptied ahead of need waits for its erase, or pages
    /// are copied next.
    #[inline]
    pub fn rests(self, ftl: &Ftl, domain: Domain) -> Option<AheadPhase> {
        delegate!(&ftl.mapping, ftl => ftl.next_phase(domain))
    }

    /// Suspends a collection ahead of need, so that the domain takes host pages, if that can be done now: one that keeps step with the
    /// host does what is due first. Returns whether it was.
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
}

fn suspended(mapping: &mut impl CollectsAhead, domain: Domain) -> bool {
    let may = mapping.may_suspend(domain);
    if may {
        mapping.suspend(domain);
    }
    may
}

#[cfg(test)]
mod tests {
    use base::{Cause, Dimensions, Geometry, Lpn, Ppn, Unit};

    use super::*;
    use crate::allocation::Allocation;
    use crate::facade::ANYWHERE;
    use crate::fast::{Fast, LogOptions};
    use crate::mechanism::All;
    use crate::ops::{Array, DataSource, Erasure, How, Placed, Rewriter, Rewritten};
    use crate::page::PageMap;
    use crate::sample::{self, FIRST};

    /// An executor without time that counts the work.
    #[derive(Debug, Default, PartialEq)]
    struct Counted {
        moved: u32,
        padded: u32,
        erased: u32,
    }

    impl Rewriter for Counted {
        fn combined(&mut self, _: Cause, _: &[Ppn], _: Placed) -> bool {
            self.padded += 1;
            true
        }

        fn rewritten(&mut self, _: Cause, _: DataSource, _: Placed) -> Rewritten {
            unreachable!("no program fails");
        }
    }

    impl Array for Counted {
        fn moved(&mut self, _: Cause, _: How, _: Ppn, _: Placed) -> bool {
            self.moved += 1;
            true
        }

        fn moves_runs(&self, _: Unit) -> bool {
            false
        }

        fn moved_run(&mut self, _: Cause, _: u32, _: Ppn, _: Ppn, _: &[u32]) {
            unreachable!("pages are moved one by one");
        }

        fn read(&mut self, _: Cause, _: Ppn) {
            unreachable!("the whole map is in DRAM");
        }

        fn erased(&mut self, _: Erasure) -> bool {
            self.erased += 1;
            true
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
        loop {
            assert!(fast.collect(FIRST, 1, &mut array), "it can be suspended behind the first logical block");
            if suspended(&mut fast, FIRST) {
                break;
            }
        }
        assert_eq!(array, Counted { moved: 1, padded: 1, erased: 0 });
        assert!(!fast.is_busy(FIRST));
        assert!(fast.begin_forward(FIRST), "it goes on");
        assert!(!fast.collect(FIRST, u32::MAX, &mut array), "nobody suspends it");
        assert_eq!(array, Counted { moved: 4, padded: 4, erased: 1 });
        assert!(!fast.is_busy(FIRST));
    }

    #[test]
    fn a_collection_in_step_with_the_host_begins_with_the_victim_that_the_policy_chooses() {
        let geometry = Geometry::new(Dimensions { blocks_per_plane: 12, pages_per_block: 4, ..Dimensions::ONE_PAGE });
        let policies = sample::policies(&[("gc_schedule", "paced", &[("low", 2.into())])], base::Cell::Slc);
        let mut page: PageMap<All> = PageMap::new(geometry, 24, &policies, 1, false).expect("memory");
        let (mut array, mut begun) = (Counted::default(), 0);
        for number in 0..400 {
            page.write(FIRST, Lpn(number * number % 24).into(), ANYWHERE);
            page.collect(FIRST, u32::MAX, &mut array);
            let chosen = page.clone().kernel.choose(FIRST);
            if page.begin_forward(FIRST, 1) {
                assert_eq!(page.kernel.job(FIRST).map(|job| job.unit), chosen, "page {number}");
                begun += 1;
                page.collect(FIRST, u32::MAX, &mut array);
            }
        }
        assert!(begun > 20, "{begun} collections in step");
    }
}
