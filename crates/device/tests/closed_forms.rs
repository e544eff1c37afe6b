//! Write amplification approaches the published closed forms: the short version, for every day.
//!
//! One plane under uniform random single-page writes. The predictions are figures of
//! `python/ftlab/theory/formulas.py` (`predict` at `effective_utilisation`), which `docs/theory.md` derives;
//! a Python test compares them with that module. `make evidence` measures many more points, longer.

use crate::common::*;
use base::Multiplane;
use config::Config;
use config::model::*;

/// Largest difference from theory. The model leaves out effects of the order of 1 / blocks; the rest is noise.
const TOLERANCE: f64 = 0.01;

/// Blocks, pages per block, blocks held free, spare ÷ raw, victim policy, d (0: it has none), predicted WAF.
#[rustfmt::skip]
const POINTS: [(u32, u32, u32, f64, &str, u32, f64); 16] = [
    (2048, 64, 2, 0.07, "greedy", 0, 6.6941),
    (2048, 64, 2, 0.15, "greedy", 0, 3.3694),
    (2048, 64, 2, 0.28, "greedy", 0, 1.9468),
    (2048, 64, 2, 0.07, "rga", 1, 14.4737),
    (2048, 64, 2, 0.07, "rga", 2, 9.7563),
    (2048, 64, 2, 0.07, "rga", 10, 6.9750),
    (2048, 64, 2, 0.15, "rga", 3, 4.0902),
    (2048, 64, 2, 0.28, "rga", 5, 2.1031),
    (2048, 64, 2, 0.28, "rga", 100, 1.9487),
    (2048, 64, 2, 0.07, "fifo", 0, 7.4116),
    (2048, 64, 2, 0.15, "fifo", 0, 3.5372),
    (2048, 64, 2, 0.28, "fifo", 0, 1.9960),
    (2048, 64, 2, 0.15, "random", 0, 6.7037),
    (2048, 64, 2, 0.28, "random", 0, 3.5804),
    (1024, 256, 8, 0.11, "greedy", 0, 4.9436),
    (2048, 32, 40, 0.2, "rga", 2, 3.7726),
];

/// A plane, and about 60 000 collected blocks after at least three logical capacities of ageing.
fn point(blocks: u32, pages: u32, free: u32, spare: f64, victim: &str, d: u32, predicted: f64) -> Config {
    let mut config = plain(1, 1, 1, 1, blocks, pages);
    let user_pages = ((1.0 - spare) * f64::from(blocks * pages)).round() as u64;
    config.device.multiplane = Multiplane::Off;
    config.device.user_capacity = user_pages * 8192;
    let draws = [("d", d.into())];
    choose(&mut config.ftl, "victim", victim, if d > 0 { &draws } else { &[] });
    choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", free.into())]);
    config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, user_pages * 8192));
    let measured = (60_000.0 * f64::from(pages) / predicted) as u64;
    config.workload.end = End { requests: Some(measured), ..End::default() };
    config.run.executor = Executor::Count;
    config.run.checks = Checks::Fast;
    config.run.payload = Payload::None;
    config.run.precondition = Precondition::Random { volume: 3 * user_pages * 8192 };
    config
}

#[test]
fn write_amplification_is_that_of_theory() {
    let mut table = String::new();
    let mut outside = 0;
    for (blocks, pages, free, spare, victim, d, predicted) in POINTS {
        let summary = run(&point(blocks, pages, free, spare, victim, d, predicted));
        let measured = figure(&summary, "waf_units");
        let difference = measured / predicted - 1.0;
        outside += u32::from(difference.abs() > TOLERANCE);
        table +=
            &format!("{victim} {d} {pages} {spare}: {measured:.4}, {predicted:.4}, {:+.2} %\n", 100.0 * difference);
        // The same figure from the victims alone: b / (b - j).
        let moved = figure(&summary, "gc.moved_per_victim");
        let from_victims = f64::from(pages) / (f64::from(pages) - moved);
        assert!((measured / from_victims - 1.0).abs() < 1e-3, "{measured}, but {moved} pages are moved per victim");
    }
    println!("{table}");
    assert_eq!(outside, 0, "points outside of {TOLERANCE}:\n{table}");
}

/// The comparison would notice a block held free more or less, or a victim chosen a little worse.
#[test]
fn a_slightly_wrong_device_is_outside() {
    let (blocks, pages, free, spare, victim, d, predicted) = POINTS[0];
    let difference = |config: &Config| (figure(&run(config), "waf_units") / predicted - 1.0).abs();
    assert!(difference(&point(blocks, pages, free, spare, victim, d, predicted)) < TOLERANCE);
    assert!(difference(&point(blocks, pages, free + 6, spare, victim, d, predicted)) > TOLERANCE);
    assert!(difference(&point(blocks, pages, free, spare, "rga", 10, predicted)) > TOLERANCE);
    assert!(difference(&point(blocks, pages, free, spare + 0.002, victim, d, predicted)) > TOLERANCE);
}

/// Two sets of pages that are each written in turn, the small one three times as often. Kept apart, blocks die as a whole.
#[test]
fn pages_of_two_lifespans_that_are_kept_apart_cost_nothing() {
    let (hot, cold) = (64, 1100);
    let mut next = [0, 0];
    let writes = (0..40_000_u64).map(|write| {
        let is_cold = write % 4 == 0;
        let page = next[usize::from(is_cold)];
        next[usize::from(is_cold)] = (page + 1) % if is_cold { cold } else { hot };
        (write * 1000, "Write", (page + if is_cold { hot } else { 0 }) * 8192, 8192)
    });
    let trace = TraceFile::new(&writes.collect::<Vec<_>>());
    let waf = |separation: &str| {
        let mut config = plain(1, 1, 1, 1, 64, 32);
        config.device.multiplane = Multiplane::Off;
        config.device.user_capacity = (hot + cold) * 8192;
        choose(&mut config.ftl, "separation", separation, &[]);
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 6.into())]);
        config.workload.source = trace.source();
        config.workload.end = End { rounds: Some(1), ..End::default() };
        config.run.executor = Executor::Count;
        config.run.precondition = Precondition::None;
        let summary = run(&config);
        println!("{separation}: {} {}", figure(&summary, "waf_units"), summary["policy"]["separation"]);
        figure(&summary, "waf_units")
    };
    let (together, apart) = (waf("none"), waf("sepbit"));
    // Before sixteen blocks of the first class were collected, and the threshold is known, both sets are of that class.
    assert!(together > 1.1 && apart < 1.01, "{together} {apart}");
}
