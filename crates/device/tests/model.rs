//! Is data ever lost, whatever is combined? Random devices, policies and workloads from one seed, with
//! stamped pages, against a plain record of what was written.
//!
//! Every read is compared while it happens, the parts of each latency add up in the cases that split them, the whole
//! state is checked after every collection, the array refuses illegal commands, and at the end every logical page must
//! hold its newest version. A failure prints the seed that repeats it. `FTLAB_FIRST=1000 FTLAB_CASES=5000` runs other cases.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::*;
use config::Config;
use config::model::*;

/// Cases of each of the two tests of many; each takes a few milliseconds.
const CASES: u64 = 1000;

fn cases() -> std::ops::Range<u64> {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().expect(name));
    let first = number("FTLAB_FIRST", 0);
    first..first + number("FTLAB_CASES", share_of(CASES))
}

/// Runs a case; a failure names the seed.
fn attempt(seed: u64, config: &Config) -> serde_json::Value {
    match catch_unwind(AssertUnwindSafe(|| run(config))) {
        Ok(summary) => summary,
        Err(_) => panic!("replay: case {seed}\n{config:#?}"),
    }
}

#[test]
fn generated_workloads_lose_nothing() {
    for seed in cases() {
        let mut config = random_config(seed);
        random_lifespans(seed, &mut config);
        random_hints(seed, &mut config);
        execute(&mut config, if seed % 2 == 0 { Executor::Timed } else { Executor::Count });
        config.run.latency_parts = seed % 4 == 0;
        attempt(seed, &config);
    }
}

#[test]
fn traces_with_every_kind_of_request_lose_nothing() {
    let directory = std::env::temp_dir().join(format!("ftlab-model-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for seed in cases() {
        let mut config = random_config(seed + 1_000_000);
        random_lifespans(seed, &mut config);
        random_hints(seed, &mut config);
        let path = directory.join(format!("{seed}.csv"));
        let rows = if config.device.page_size < 4096 { 30 } else { 150 };
        std::fs::write(&path, random_trace(seed, config.device.user_capacity, rows)).unwrap();
        config.workload.source = Source::Trace { path: path.display().to_string() };
        config.workload.end = End { rounds: Some(2), ..End::default() };
        config.host.replay = [Replay::Open, Replay::Closed, Replay::Batch][seed as usize % 3];
        if seed % 6 == 0 {
            config.host.queue_depth = None;
        }
        execute(&mut config, if seed % 2 == 0 { Executor::Timed } else { Executor::Count });
        config.run.latency_parts = seed % 4 == 0;
        let summary = attempt(seed, &config);
        let host = &summary["host"];
        let completed: u64 =
            ["reads", "writes", "trims", "flushes"].iter().map(|key| host[key].as_u64().unwrap()).sum();
        assert_eq!(
            completed,
            summary["workload"]["requests"].as_u64().unwrap(),
            "every request completes, case {seed}"
        );
        std::fs::remove_file(&path).unwrap();
    }
    let _ = std::fs::remove_dir(&directory);
}

/// Filled to its last page and overwritten at random, at the largest user space that is accepted.
#[test]
fn a_full_device_keeps_going_at_the_smallest_spare_space() {
    for seed in 0..share_of(120) {
        let mut config = random_config(seed + 2_000_000);
        random_lifespans(seed, &mut config);
        random_hints(seed, &mut config);
        execute(&mut config, if seed % 2 == 0 { Executor::Timed } else { Executor::Count });
        config.run.latency_parts = seed % 4 == 0;
        let page = page_size(&config);
        let limit = device::largest_user_capacity(&config);
        config.device.user_capacity = limit;
        assert!(device::check(&config).is_ok());
        let mut uniform = generator("uniform", page, 0.0, limit);
        uniform.interval = base::Duration::from_us(100_000);
        config.workload.source = Source::Generator(uniform);
        config.workload.end = End { requests: Some(4 * limit / page), ..End::default() };
        config.run.precondition = Precondition::Sequential { volume: limit };
        // The whole-state check after each of very many collections is left to the other tests.
        config.run.checks = Checks::Fast;
        attempt(seed, &config);
        config.device.user_capacity += page;
        assert!(device::check(&config).is_err(), "one page more is refused, case {seed}");
    }
}

/// A map in flash under dynamic allocations, where collections wait for each other's updates, and reads and writes for
/// entries that are few: at the largest user space that is accepted.
#[test]
fn entries_elsewhere_than_pages_lose_nothing() {
    let (mut cases, allocations) = (0, dynamic_allocations());
    for seed in 0..share_of(1500) {
        let mut config = random_config(seed + 4_000_000);
        if config.ftl.get("mapping").name != "dftl" {
            continue;
        }
        choose(&mut config.ftl, "allocation", allocations[seed as usize % allocations.len()], &[]);
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 1.into())]);
        if device::check(&config).is_err() {
            continue;
        }
        execute(&mut config, if seed % 4 == 0 { Executor::Count } else { Executor::Timed });
        config.run.latency_parts = seed % 4 == 1;
        config.device.user_capacity = device::largest_user_capacity(&config);
        let (page, capacity) = (page_size(&config), config.device.user_capacity);
        let pattern = ["uniform", "hot-cold", "zipf", "mixed"][seed as usize / 3 % 4];
        config.workload.source = Source::Generator(generator(pattern, page, 0.2, capacity));
        config.run.precondition = Precondition::Sequential { volume: capacity };
        config.workload.end = End { requests: Some(300), ..End::default() };
        attempt(seed, &config);
        cases += 1;
    }
    assert!(cases > share_of(200), "only {cases} cases");
}
