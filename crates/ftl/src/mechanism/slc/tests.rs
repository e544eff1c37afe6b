//! The cache over a small kernel: where pages go, and which units are folded.

use base::{Cell, Dimensions, Geometry, Lpn, ParamValue, Slot, Unit};

use super::*;
use crate::kernel::Stream;
use crate::sample::{self, FIRST};

/// The stream of pages in the cache.
const IN_CACHE: Stream = Stream::FIRST;

/// A plane of 16 TLC blocks of 12 pages with a cache, of which two blocks are held free.
fn plane(cache: &str, params: &[(&'static str, ParamValue)]) -> (Kernel, SlcCache) {
    let policies = sample::policies(&[("slc_cache", cache, params)], Cell::Tlc);
    let plane = Geometry::new(Dimensions { blocks_per_plane: 16, pages_per_block: 12, ..Dimensions::ONE_PAGE });
    let (mut kernel, _) = sample::kernel(plane, 60, &policies);
    let allocation = Allocation::build(policies.allocation, kernel.geometry());
    let mut cache = SlcCache::build(&kernel, &policies, &allocation).expect("memory").expect("a cache");
    cache.reopen(&mut kernel);
    (kernel, cache)
}

/// Writes a page of the host where the cache says; returns whether that is in the cache.
fn write(kernel: &mut Kernel, cache: &mut SlcCache, lpn: u32) -> bool {
    let mut classes = [0; AXES];
    cache.class(kernel, Lpn(lpn), Arrival::Host { domain: FIRST, is_mapped: false, hint: 0 }, &mut classes);
    let stream = kernel.streams().at(classes);
    if !kernel.is_open(FIRST, stream) {
        assert!(!cache.room(kernel, FIRST, stream, RoomSource::Early), "nothing has to be folded");
    }
    let place = kernel.place_new(FIRST, stream, Lpn(lpn), true);
    if let Some(unit) = place.filled {
        cache.filled(kernel, FIRST, unit);
    }
    let origin = PageOrigin::Host { was_mapped: false, hint: 0 };
    cache.placed(kernel, &NewPage { domain: FIRST, lpn: Lpn(lpn), at: place.at, origin });
    stream == IN_CACHE
}

#[test]
fn fixed_units_are_the_last_ones_and_use_the_first_page_of_each_wordline() {
    let (mut kernel, mut cache) = plane("static", &[("blocks", 2.into()), ("fold", ParamValue::Word("need"))]);
    assert_eq!((kernel.free(FIRST), cache.domains[0].fixed), (14, 2));
    let cached: Vec<bool> = (0..10).map(|lpn| write(&mut kernel, &mut cache, lpn)).collect();
    assert_eq!(cached.iter().filter(|&&is_cached| is_cached).count(), 8, "two blocks of four wordlines");
    let units: Vec<Unit> = cache.domains[0].full.iter().copied().collect();
    assert!(units.iter().all(|unit| unit.number() >= 14) && units.len() == 2);
    for unit in units {
        let used = Slot::new(12).all_before().filter(|&slot| kernel.is_valid(kernel.geometry().ppn(unit, slot)));
        assert_eq!(used.map(Slot::number).collect::<Vec<_>>(), [0, 3, 6, 9]);
    }
    cache.check(&kernel).unwrap();
}

#[test]
fn free_units_are_lent_until_as_many_are_left_as_are_never_lent() {
    let (mut kernel, mut cache) = plane("dynamic", &[("leave", 3.into())]);
    let held = kernel.budget().reserve + 3;
    let cached = (0..60).take_while(|&lpn| write(&mut kernel, &mut cache, lpn)).count() as u32;
    assert_eq!(
        (cached, kernel.free(FIRST)),
        (4 * (16 - held), held - 1),
        "the page behind opened a block at full density"
    );
    let (mut kernel, mut cache) = plane("dynamic", &[("share", 0.5.into())]);
    let cached = (0..60).take_while(|&lpn| write(&mut kernel, &mut cache, lpn)).count() as u32;
    assert_eq!(cached, 4 * 8, "half of the free and lent ones");
}

#[test]
fn the_oldest_unit_is_folded_and_for_room_the_oldest_that_is_lent() {
    let (mut kernel, mut cache) = plane("both", &[("blocks", 1.into())]);
    (0..12).for_each(|lpn| assert!(write(&mut kernel, &mut cache, lpn)));
    let full: Vec<Unit> = cache.domains[0].full.iter().copied().collect();
    assert_eq!(full[0].number(), 15, "fixed ones come first");
    assert_eq!(cache.take_oldest(&kernel, FIRST, true), Some(full[1]));
    assert_eq!(cache.take_oldest(&kernel, FIRST, false), Some(full[0]));
    // Folding was suspended: each is where it was.
    for &unit in full[..2].iter().rev() {
        kernel.begin(FIRST, unit, Why::FoldAhead);
        let job = kernel.take_job(FIRST).expect("a collection");
        kernel.give_back(FIRST, &job);
        cache.filled(&mut kernel, FIRST, unit);
    }
    assert_eq!(cache.domains[0].full, full);
}

#[test]
fn what_died_is_counted_when_its_unit_is_erased() {
    let (mut kernel, mut cache) = plane("dynamic", &[]);
    (0..5).for_each(|lpn| assert!(write(&mut kernel, &mut cache, lpn)));
    (0..4).for_each(|lpn| assert!(kernel.forget(Lpn(lpn)).is_some()));
    assert!(cache.room(&mut kernel, FIRST, IN_CACHE, RoomSource::Buffered));
    let unit = kernel.take_job(FIRST).expect("a fold").unit;
    kernel.free_unit(FIRST, unit);
    cache.erased(&mut kernel, FIRST, unit, Some(Why::Fold));
    assert_eq!((cache.work.died, cache.work.folded, cache.domains[0].lent), (4, 0, 1));
    cache.check(&kernel).unwrap();
    cache.domains[0].lent = 2;
    assert!(cache.check(&kernel).is_err(), "a count that is wrong is found");
}
