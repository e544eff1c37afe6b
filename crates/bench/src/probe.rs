//! The figures that the estimates in the documentation are made of: the latency of memory, and the cost of an event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::Instant;
use engine::{Chance, FlatArray, Timers};
use metrics::Stopwatch;

use crate::Failure;
use crate::child::Measurement;

/// Accesses per measurement.
const ACCESSES: usize = 4 << 20;
/// Independent accesses that are asked for together, as the engine does.
const BATCH: usize = 64;

/// Nanoseconds per access at random: one after the other, each address from the last access; and
/// independent, asked for in batches. In 26 MB (the maps at 24 GB) and 260 MB (at 240 GB), on huge pages.
pub(crate) fn memory() -> Result<Measurement, Failure> {
    let mut figures = Measurement::default();
    for megabytes in [26, 260] {
        let mut words = FlatArray::filled(megabytes * 250_000, 0)
            .map_err(|error| Failure(format!("no memory for the probe: {error}")))?;
        one_cycle(&mut words);
        figures.set(format!("dependent_{megabytes}mb_ns"), dependent(&words));
        figures.set(format!("batched_{megabytes}mb_ns"), batched(&mut words));
    }
    Ok(figures)
}

/// Makes every word name another one, all in a single cycle (Sattolo's shuffle).
fn one_cycle(words: &mut FlatArray) {
    let mut random = Chance::new(1, "probe");
    for (index, word) in words.iter_mut().enumerate() {
        *word = index as u32;
    }
    for index in (1..words.len()).rev() {
        words.swap(index, random.below(index as u64) as usize);
    }
}

fn dependent(words: &FlatArray) -> f64 {
    let stopwatch = Stopwatch::start();
    let mut at = 0u32;
    for _ in 0..ACCESSES {
        at = words[at as usize];
    }
    std::hint::black_box(at);
    stopwatch.usage().cpu_s * 1e9 / ACCESSES as f64
}

/// Read-modify-write of random words, as a map update is.
fn batched(words: &mut FlatArray) -> f64 {
    let mut random = Chance::new(2, "probe");
    let mut batch = [0usize; BATCH];
    let stopwatch = Stopwatch::start();
    for _ in 0..ACCESSES / BATCH {
        for slot in &mut batch {
            *slot = random.below(words.len() as u64) as usize;
            words.prefetch(*slot);
        }
        for &slot in &batch {
            words[slot] = words[slot].wrapping_add(1);
        }
    }
    stopwatch.usage().cpu_s * 1e9 / ACCESSES as f64
}

/// Events per measurement.
const EVENTS: usize = 4 << 20;

/// Nanoseconds per event of the timers and of binary heaps, by number of resources.
///
/// Resources come in pairs, of which one is busy: an event of one of them starts the other, as the end of a
/// transfer starts the array. Delays are those of the `tbm` device.
pub(crate) fn events() -> Measurement {
    let mut figures = Measurement::default();
    for slots in [36, 64, 256] {
        let (lines, first) = timed(|delays| lines(slots, delays));
        let (heap, second) = timed(|delays| heap(slots, delays));
        let (replaced, third) = timed(|delays| replaced(slots, delays));
        assert!(first == second && second == third, "all structures fire in the same order");
        figures.set(format!("lines_{slots}_ns"), lines);
        figures.set(format!("heap_{slots}_ns"), heap);
        figures.set(format!("heap_replace_{slots}_ns"), replaced);
    }
    figures
}

fn timed(run: impl Fn(&mut Delays) -> u64) -> (f64, u64) {
    let stopwatch = Stopwatch::start();
    let order = run(&mut Delays(1));
    (stopwatch.usage().cpu_s * 1e9 / EVENTS as f64, order)
}

/// Delays, from a linear congruential generator.
struct Delays(u64);

impl Delays {
    const NS: [u64; 4] = [40_960, 75_000, 1_600_000, 5_000_000];

    /// Which of them comes next.
    #[inline]
    fn line(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        const OFTEN: [usize; 8] = [0, 0, 0, 1, 1, 2, 2, 3];
        OFTEN[(self.0 >> 61) as usize]
    }

    #[inline]
    fn next(&mut self) -> u64 {
        Delays::NS[self.line()]
    }
}

/// A digest of the order of events.
#[inline]
fn digest(order: u64, at: u64, slot: usize) -> u64 {
    (order ^ at ^ slot as u64).wrapping_mul(0x0000_0100_0000_01b3)
}

fn lines(slots: usize, delays: &mut Delays) -> u64 {
    let mut timers = Timers::new(Delays::NS.len() as u32, slots as u32);
    let mut set = |timers: &mut Timers, now: u64, slot: u32| {
        let line = delays.line();
        timers.set(line as u32, Instant(now + Delays::NS[line]), slot);
    };
    (0..slots as u32).step_by(2).for_each(|slot| set(&mut timers, 0, slot));
    let (mut order, mut now) = (0, Instant::ZERO);
    for _ in 0..EVENTS {
        let (at, slot) = match timers.take() {
            Some(slot) => (now, slot),
            None => {
                now = timers.advance().expect("half of the resources are busy");
                (now, timers.take().expect("an event of that instant"))
            }
        };
        set(&mut timers, at.0, slot ^ 1);
        order = digest(order, at.0, slot as usize);
    }
    order
}

/// Time in the high bits, slot in the low: one word to compare, and equal times in the order of slots.
fn packed(at: u64, slot: usize) -> Reverse<u128> {
    Reverse(u128::from(at) << 64 | slot as u128)
}

fn unpacked(Reverse(entry): Reverse<u128>) -> (u64, usize) {
    ((entry >> 64) as u64, entry as u64 as usize)
}

fn filled(slots: usize, delays: &mut Delays) -> BinaryHeap<Reverse<u128>> {
    (0..slots).step_by(2).map(|slot| packed(delays.next(), slot)).collect()
}

fn heap(slots: usize, delays: &mut Delays) -> u64 {
    let mut heap = filled(slots, delays);
    let mut order = 0;
    for _ in 0..EVENTS {
        let (now, slot) = unpacked(heap.pop().expect("half of the resources are busy"));
        heap.push(packed(now + delays.next(), slot ^ 1));
        order = digest(order, now, slot);
    }
    order
}

/// As [`heap`], with the successor in the place of the event: possible only where an event has exactly one.
fn replaced(slots: usize, delays: &mut Delays) -> u64 {
    let mut heap = filled(slots, delays);
    let mut order = 0;
    for _ in 0..EVENTS {
        let mut top = heap.peek_mut().expect("half of the resources are busy");
        let (now, slot) = unpacked(*top);
        *top = packed(now + delays.next(), slot ^ 1);
        order = digest(order, now, slot);
    }
    order
}
