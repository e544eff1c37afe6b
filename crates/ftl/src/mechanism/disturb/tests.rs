//! Tables over one plane of small blocks.

use base::{Cell, Dimensions, Geometry, Lpn, ParamValue, ReadLimits, ReprogramWear, Slot};

use super::*;
use crate::kernel::Placement;
use crate::ops::{How, Op};
use crate::sample::{self, FIRST};

const PAGES: u32 = 12;

/// The kind of step that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Begun,
    Close(Stream),
    Act(Op),
    Move,
    Stays,
}

/// A plane under a scheme. Blocks of twelve pages take a hundred reads, and a thousand at low density.
struct Plane {
    kernel: Kernel,
    disturb: Disturb,
}

impl Plane {
    fn new(scheme: &'static str, params: &[(&'static str, ParamValue)]) -> Plane {
        Plane::with("none", scheme, params)
    }

    fn with(wear_leveling: &'static str, scheme: &'static str, params: &[(&'static str, ParamValue)]) -> Plane {
        let geometry =
            Geometry::new(Dimensions { blocks_per_plane: 40, pages_per_block: PAGES, ..Dimensions::ONE_PAGE });
        let mut policies =
            sample::policies(&[("read_disturb", scheme, params), ("wear_leveling", wear_leveling, &[])], Cell::Tlc);
        let wear = ReprogramWear { rates: vec![0.2], wear: vec![1.2] };
        policies.reads = Some(ReadLimits { full: 100, low: 1000, restarts: false, wear });
        let (kernel, _) = sample::kernel(geometry, 200, &policies);
        let disturb = Disturb::of(&kernel, &policies).expect("something is done");
        Plane { kernel, disturb }
    }

    /// Writes pages of a class.
    fn write(&mut self, class: usize, lpns: std::ops::Range<u32>) -> Unit {
        let stream = self.kernel.streams().at([0, 0, 0, class, 0]);
        let mut unit = None;
        for lpn in lpns.map(Lpn) {
            let place = self.kernel.place_new(FIRST, stream, lpn, true);
            self.told(lpn, place, PageOrigin::Host { was_mapped: false, hint: 0 });
            unit = Some(self.kernel.geometry().unit_of(place.at));
        }
        unit.expect("a page")
    }

    fn told(&mut self, lpn: Lpn, place: Placement, origin: PageOrigin) {
        if let Some(unit) = place.filled {
            self.disturb.filled(&mut self.kernel, FIRST, unit);
        }
        self.disturb.placed(&mut self.kernel, &NewPage { domain: FIRST, lpn, at: place.at, origin });
    }

    fn read(&mut self, lpn: u32, times: u32) {
        let at = self.kernel.lookup(Lpn(lpn)).expect("a page that was written");
        (0..times).for_each(|_| self.disturb.page_read(&mut self.kernel, at));
    }

    /// Asks as the agenda does until a step is given, and returns it. Pages that move are moved.
    fn next(&mut self) -> Next {
        let mut group = Group::EMPTY;
        match self.disturb.take_up(&mut self.kernel, FIRST, true, &mut group) {
            Some(OwnWork::Changed) => return Next::Begun,
            Some(OwnWork::Close(stream)) => return Next::Close(stream),
            Some(OwnWork::Act(step)) => {
                if step.op == Op::Reprogram {
                    group.pages().iter().for_each(|&page| self.disturb.page_read(&mut self.kernel, page));
                    self.disturb.reprogrammed(&self.kernel, FIRST);
                }
                assert_eq!(step.cause, Cause::Refresh);
                return Next::Act(step.op);
            }
            Some(OwnWork::Move) => {}
            said => panic!("{said:?}"),
        }
        let mut job = *self.kernel.job(FIRST).expect("a refresh");
        match self.disturb.pick(&self.kernel, FIRST, &mut job, &|_| Stream::FIRST, &mut group) {
            Some(Picked::Group) => {
                self.copy(group.pages()[0]);
                Next::Move
            }
            Some(Picked::Stays) => {
                let end = self.disturb.end(&mut self.kernel, FIRST, job.unit, &mut group);
                assert_eq!((end, self.kernel.job(FIRST)), (Some(VictimEnd::Over), None));
                Next::Stays
            }
            None => panic!("what moves is not as for any collection"),
        }
    }

    fn copy(&mut self, from: Ppn) {
        let (lpn, unit) = (self.kernel.lpn_at(from).expect("a valid page"), self.kernel.geometry().unit_of(from));
        let stream = self.kernel.streams().at([0, 0, 0, self.disturb.class_of_copy(&self.kernel, lpn), 0]);
        self.disturb.page_read(&mut self.kernel, from);
        self.kernel.detach(unit, from);
        let place = self.kernel.place(FIRST, stream, lpn);
        self.told(lpn, place, PageOrigin::Copy(from, How::OffChip));
    }

    /// Where a page would be copied to.
    fn class(&self, lpn: u32) -> usize {
        self.disturb.class_of_copy(&self.kernel, Lpn(lpn))
    }
}

fn number(name: &'static str, value: f64) -> (&'static str, ParamValue) {
    (name, value.into())
}

/// Pages that come to an open unit make it due as well: once its reads wait, none of them would. It takes no more of them than can still be
/// read to move.
#[test]
fn pages_that_come_to_a_unit_make_it_due_as_reads_do() {
    let mut plane = Plane::new("refresh", &[("margin", 12.into())]);
    let unit = plane.write(REGULAR, 0..1);
    plane.read(0, 85);
    plane.write(REGULAR, 1..8);
    assert_eq!((plane.disturb.left(&plane.kernel, unit), plane.disturb.is_pending(FIRST)), (7, false));
    plane.write(REGULAR, 8..9);
    assert_eq!(plane.disturb.domain(FIRST).due, [unit], "reads wait for its refresh");
    let mut plane = Plane::new("refresh", &[("margin", 12.into())]);
    let unit = plane.write(REGULAR, 0..1);
    plane.read(0, 93);
    plane.write(REGULAR, 1..5);
    assert_eq!((plane.disturb.left(&plane.kernel, unit), plane.disturb.goes_on(FIRST)), (2, false));
    plane.write(REGULAR, 5..6);
    assert_eq!(plane.next(), Next::Close(Stream::FIRST));
}

/// Of ten units that have failed in forty the shares lose a fourth; what is more than that makes room, and a unit that goes is no longer of a share.
#[test]
fn shares_are_those_of_the_units_that_are_left() {
    let mut plane = Plane::new("redftl", &[number("shadow", 0.1), number("monitor", 0.2), ("hot_pages", PAGES.into())]);
    let kept: Vec<Unit> = (0..4).map(|unit| plane.write(HOT, unit * PAGES..(unit + 1) * PAGES)).collect();
    assert_eq!((plane.disturb.kept_share(FIRST), plane.disturb.monitor_share(FIRST)), (4, 8));
    assert_eq!(plane.disturb.domain(FIRST).kept, 4);
    (20..29).for_each(|unit| plane.disturb.lets_go(&plane.kernel, FIRST, Unit::new(unit)));
    plane.disturb.lets_go(&plane.kernel, FIRST, Unit::new(20));
    assert_eq!((plane.disturb.kept_share(FIRST), plane.disturb.monitor_share(FIRST)), (3, 6));
    let extra = plane.disturb.domain(FIRST).due.clone();
    assert_eq!((extra.len(), plane.disturb.domain(FIRST).kept), (1, 3));
    let other = *kept.iter().find(|unit| !extra.contains(unit)).expect("three are left");
    plane.disturb.lets_go(&plane.kernel, FIRST, other);
    assert_eq!(plane.disturb.domain(FIRST).kept, 2);
    let mut keepers = Keepers::default();
    plane.disturb.kept(&plane.kernel, FIRST, &mut keepers);
    assert!(!keepers.withheld.contains(&other), "others empty it");
    assert_ne!(plane.disturb.evictable(&plane.kernel, FIRST), Some(other));
}

/// Each page that comes to lie in a unit takes a read of its refresh, also after the unit was looked at.
#[test]
fn a_unit_is_due_sooner_for_every_page_that_comes() {
    let mut plane = Plane::new("refresh", &[("margin", 12.into())]);
    let unit = plane.write(REGULAR, 0..1);
    plane.read(0, 77);
    assert_eq!((plane.disturb.left(&plane.kernel, unit), plane.disturb.is_pending(FIRST)), (22, false));
    plane.write(REGULAR, 1..PAGES - 1);
    assert_eq!((plane.disturb.left(&plane.kernel, unit), plane.disturb.is_pending(FIRST)), (12, false));
    plane.read(3, 1);
    assert!(plane.disturb.is_pending(FIRST));
    plane.read(3, 5);
    let at = plane.kernel.lookup(Lpn(3)).unwrap();
    assert!(!plane.disturb.may_read(&plane.kernel, at));
}

#[test]
fn a_unit_is_due_when_its_reads_are_used_up_but_for_those_of_its_refresh() {
    let mut plane = Plane::new("refresh", &[("margin", 12.into())]);
    let unit = plane.write(REGULAR, 0..PAGES);
    // 100 less twelve pages to move, less the margin.
    plane.read(0, 75);
    assert_eq!((plane.disturb.left(&plane.kernel, unit), plane.disturb.is_pending(FIRST)), (13, false));
    plane.read(5, 1);
    assert!(plane.disturb.is_pending(FIRST));
    let at = plane.kernel.lookup(Lpn(3)).unwrap();
    assert!(plane.disturb.may_read(&plane.kernel, at), "half of the margin is for reads meanwhile");
    plane.read(3, 6);
    assert!(!plane.disturb.may_read(&plane.kernel, at));
    assert_eq!(plane.next(), Next::Begun);
    let job = plane.kernel.job(FIRST).expect("a refresh");
    assert_eq!((job.unit, job.cause), (unit, Cause::Refresh));
}

#[test]
fn pages_above_the_average_of_a_monitor_are_read_hot() {
    let mut plane = Plane::new("ipr", &[("margin", 12.into())]);
    plane.write(MONITOR, 0..PAGES);
    for lpn in 0..PAGES {
        plane.read(lpn, if lpn % 4 == 0 { 20 } else { 2 });
    }
    assert_eq!(plane.next(), Next::Begun);
    for lpn in 0..PAGES {
        assert_eq!(plane.class(lpn), if lpn % 4 == 0 { HOT } else { REGULAR }, "page {lpn}");
    }
}

#[test]
fn what_is_read_faster_than_the_average_is_monitored() {
    let mut plane = Plane::new("ipr", &[("margin", 12.into()), number("monitor", 0.1)]);
    plane.write(REGULAR, 0..PAGES);
    plane.disturb.clock += 1000;
    plane.read(0, 80);
    plane.next();
    assert_eq!(plane.class(0), REGULAR, "the first interval is the average");
    for lpn in 0..PAGES {
        plane.copy(plane.kernel.lookup(Lpn(lpn)).unwrap());
    }
    let emptied = plane.kernel.take_job(FIRST).unwrap().unit;
    plane.kernel.free_unit(FIRST, emptied);
    plane.disturb.erased(&mut plane.kernel, FIRST, emptied, Some(Why::Refresh));
    plane.disturb.clock += 100;
    plane.read(0, 80);
    plane.next();
    assert_eq!(plane.class(0), MONITOR);
}

/// The paper leaves out three kinds of blocks of the pool; one without an invalid page is none of them.
#[test]
fn the_emptiest_block_of_the_pool_makes_room_unless_it_is_read_hot_or_was_leveled() {
    let wanted = |pool_victims: &'static str| {
        let params = [("margin", 12.into()), number("pool", 0.9), ("pool_victims", pool_victims.into())];
        let mut plane = Plane::with("swap", "ipr", &params);
        for regular in 0..6 {
            plane.write(REGULAR, regular * PAGES..(regular + 1) * PAGES);
        }
        plane.write(HOT, 6 * PAGES..7 * PAGES);
        let cold = plane.kernel.streams().of_cold().unwrap();
        for lpn in 7 * PAGES..8 * PAGES {
            plane.kernel.place_new(FIRST, cold, Lpn(lpn), true);
        }
        while plane.kernel.free(FIRST) > 0 {
            plane.kernel.set_aside(FIRST);
        }
        plane
    };
    let victim = |plane: &mut Plane| {
        plane.disturb.domain_mut(FIRST).has_tried_pool = false;
        plane.disturb.victim_of_pool(&plane.kernel, FIRST, 1).map(Unit::number)
    };
    let mut plane = wanted("any");
    assert_eq!(victim(&mut plane), Some(4), "the first of two full ones; 0 to 3 are outside");
    for lpn in [5 * PAGES, 6 * PAGES, 6 * PAGES + 1, 7 * PAGES, 7 * PAGES + 1] {
        plane.kernel.forget(Lpn(lpn));
    }
    assert_eq!(victim(&mut plane), Some(5), "the read-hot and the cold block are emptier");
    // A sixteenth of the units are two; eight were filled, the cold one as the last.
    plane.kernel.adopt_unit(Unit::new(20), UnitState::Aside, true, 0, 9);
    assert_eq!(victim(&mut plane), Some(5));
    plane.kernel.adopt_unit(Unit::new(21), UnitState::Aside, true, 0, 10);
    assert_eq!(victim(&mut plane), Some(7), "leveling had to do with it, but not recently");
    let mut plane = wanted("gaining");
    assert_eq!(victim(&mut plane), None, "nothing is invalid");
    plane.kernel.forget(Lpn(4 * PAGES));
    assert_eq!(victim(&mut plane), Some(4));
}

/// A read-hot unit of the pool: its top pages move out, then each wordline is reprogrammed; then it takes more reads.
#[test]
fn a_read_hot_unit_is_reprogrammed_in_place() {
    let mut plane = Plane::new("ipr", &[("margin", 12.into()), number("pool", 1.0)]);
    let unit = plane.write(HOT, 0..PAGES);
    plane.read(0, 80);
    let mut done = Vec::new();
    while plane.disturb.is_pending(FIRST) || plane.kernel.job(FIRST).is_some() {
        done.push(plane.next());
    }
    let count = |what| done.iter().filter(|&&next| next == what).count();
    assert_eq!((count(Next::Move), count(Next::Act(Op::Reprogram))), (4, 4), "{done:?}");
    assert_eq!(done[1], Next::Move, "nothing is reprogrammed before its data are elsewhere");
    let first = done.iter().position(|&next| next == Next::Act(Op::Reprogram)).unwrap();
    assert!(done[..first].iter().filter(|&&next| next == Next::Move).count() == 4, "{done:?}");
    let state = plane.disturb.states.of(unit);
    assert!(state.is_low && state.is_kept && state.is_withheld);
    assert_eq!((plane.kernel.state_of(unit), plane.kernel.valid_of(unit)), (UnitState::Withheld, 8));
    // A cycle with reprogramming wears by 1.2.
    assert_eq!(plane.kernel.more_wear_of(unit), 200);
    // 80 reads, four for the top pages, twelve for the wordlines; eight pages will move.
    assert_eq!(plane.disturb.left(&plane.kernel, unit), 1000 - 96 - 8);
    assert_eq!(plane.disturb.evictable(&plane.kernel, FIRST), Some(unit));
    plane.disturb.check_states(&plane.kernel).unwrap();
}

/// While another unit makes room for it, a unit waits; its interval ends when it is refreshed.
#[test]
fn a_refresh_that_waits_for_room_ends_one_interval() {
    let mut plane = Plane::new("ipr", &[("margin", 12.into()), number("pool", 1.0), number("low_density", 0.03)]);
    let first = plane.write(HOT, 0..PAGES);
    plane.read(0, 80);
    while plane.disturb.is_pending(FIRST) || plane.kernel.job(FIRST).is_some() {
        plane.next();
    }
    plane.write(HOT, PAGES..2 * PAGES);
    let second = plane.kernel.geometry().unit_of(plane.kernel.lookup(Lpn(PAGES)).expect("a page that was written"));
    plane.read(PAGES, 80);
    assert_eq!(plane.next(), Next::Begun);
    let job = plane.kernel.take_job(FIRST).expect("room is made");
    assert_eq!((job.unit, plane.disturb.intervals.count), (first, 1), "one block of low density is all there may be");
    plane.kernel.resume_job(FIRST, job);
    for slot in plane.kernel.geometry().end_slot().all_before() {
        let at = plane.kernel.geometry().ppn(first, slot);
        if plane.kernel.is_valid(at) {
            plane.copy(at);
        }
    }
    plane.kernel.take_job(FIRST);
    plane.kernel.free_unit(FIRST, first);
    plane.disturb.erased(&mut plane.kernel, FIRST, first, Some(Why::Refresh));
    assert_eq!(plane.next(), Next::Begun);
    assert_eq!(plane.kernel.job(FIRST).map(|job| job.unit), Some(second));
    assert_eq!(plane.disturb.intervals.count, 2);
}

/// The pages of a shadow unit go round it as often as shares of them fit, less once.
#[test]
fn the_pages_of_a_shadow_unit_move_on() {
    let mut plane = Plane::new("read-leveling", &[("margin", 12.into()), ("hot_pages", 3.into())]);
    let unit = plane.write(HOT, 0..3);
    let Next::Close(stream) = plane.next() else { panic!("three pages are a share") };
    plane.kernel.close(FIRST, stream);
    plane.disturb.filled(&mut plane.kernel, FIRST, unit);
    for round in 1..4 {
        plane.read(0, 90);
        while plane.disturb.is_pending(FIRST) || plane.kernel.job(FIRST).is_some() {
            plane.next();
        }
        let state = plane.disturb.states.of(unit);
        assert_eq!((state.rounds, state.end), (round, Slot::new(3 * (round + 1))));
        assert_eq!((plane.kernel.state_of(unit), plane.kernel.valid_of(unit)), (UnitState::Withheld, 3));
        // Reads before its pages were programmed do not count; those of their copying do.
        assert_eq!(plane.disturb.left(&plane.kernel, unit), 100 - 3 - 3);
    }
    plane.read(0, 90);
    assert_eq!(plane.next(), Next::Begun);
    assert_eq!(plane.class(0), HOT, "twelve pages are four shares: it is used up");
}

/// An active block of low density gets its guard levels page by page.
#[test]
fn guard_levels_are_programmed_with_the_data() {
    let mut plane = Plane::new("hot-low-density", &[("margin", 12.into())]);
    let stream = plane.kernel.streams().at([0, 0, 0, HOT, 0]);
    let mut guards = 0;
    for lpn in 0..8 {
        plane.write(HOT, lpn..lpn + 1);
        while plane.disturb.is_pending(FIRST) {
            assert_eq!(plane.next(), Next::Act(Op::Pad));
            let at = plane.kernel.next_place(FIRST, stream);
            assert_eq!(plane.disturb.way(&plane.kernel, at, true), Some(Way::Guard));
            let place = plane.kernel.place_dummy(FIRST, stream);
            if let Some(unit) = place.filled {
                plane.disturb.filled(&mut plane.kernel, FIRST, unit);
            }
            plane.disturb.padded(&plane.kernel, FIRST, place.at);
            guards += 1;
        }
    }
    let unit = plane.kernel.geometry().unit_of(plane.kernel.lookup(Lpn(0)).unwrap());
    assert_eq!((guards, plane.kernel.valid_of(unit)), (4, 8));
    assert_eq!(plane.kernel.state_of(unit), UnitState::Withheld);
}
