//! Same configuration, same seed: the same summary and tables, however often, whoever watches, and in
//! whatever company.

use crate::common::*;
use base::{Cell, Multiplane, Selection};
use config::Config;
use config::model::*;
use device::{Options, Outcome, TimelineSpec};
use engine::Chance;
use metrics::deterministic;
use serde_json::Value;

/// Everything that has to be the same: the summary without what the run cost, and all tables.
fn fingerprint(outcome: &Outcome) -> String {
    format!("{}\n{:?}", deterministic(&outcome.summary), outcome.tables)
}

fn outcome(config: &Config) -> Outcome {
    device::simulate(config, &mut Options::default()).expect("a run")
}

/// Random devices under random policies, both executors, long enough to collect.
fn cases() -> Vec<Config> {
    let mut configs: Vec<Config> = (0..14)
        .map(|seed| {
            let mut config = random_config(seed + 5_000_000);
            execute(&mut config, if seed % 2 == 0 { Executor::Timed } else { Executor::Count });
            config.workload.end = End { requests: Some(1500), ..End::default() };
            config
        })
        .collect();
    configs.push(aged());
    configs
}

/// A device whose every policy has something to choose, in time.
fn aged() -> Config {
    let mut config = plain(2, 2, 1, 2, 32, 32);
    config.run.checks = Checks::Fast;
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config.host.queue_depth = Some(16);
    config.workload.source = Source::Generator(generator("uniform", 8192, 0.3, config.device.user_capacity));
    config.workload.end = End { requests: Some(20_000), ..End::default() };
    config
}

#[test]
fn the_same_run_twice() {
    for (number, config) in cases().iter().enumerate() {
        assert_eq!(fingerprint(&outcome(config)), fingerprint(&outcome(config)), "case {number}: {config:#?}");
    }
}

#[test]
fn nobody_who_watches_moves_a_number() {
    let mut calls = 0;
    for (number, config) in cases().iter().enumerate() {
        let alone = fingerprint(&outcome(config));
        let mut progress = |_: &metrics::Progress| {
            calls += 1;
            true
        };
        let path = temporary("json");
        let timed = config.run.executor == Executor::Timed;
        let window = base::Instant::ZERO..base::Instant::NEVER;
        let mut options = Options {
            progress: Some(&mut progress),
            timeline: timed.then(|| TimelineSpec { path: path.clone(), window }),
            save_state: is_savable(config).then(|| temporary("state")),
            ..Options::default()
        };
        let watched = fingerprint(&device::simulate(config, &mut options).expect("a run"));
        assert_eq!(path.exists(), timed, "the timeline was written");
        let _ = std::fs::remove_file(&path);
        if let Some(state) = options.save_state.take() {
            assert!(state.exists(), "the state was written");
            let _ = std::fs::remove_file(&state);
        }
        assert_eq!(watched, alone, "case {number}: {config:#?}");
    }
    assert!(calls > 100, "somebody did watch: {calls} times");
}

#[test]
fn full_checks_and_stamps_move_no_number() {
    let without = |outcome: &Outcome| {
        let mut summary = deterministic(&outcome.summary);
        summary.as_object_mut().expect("an object").remove("config");
        format!("{summary}\n{:?}", outcome.tables)
    };
    for config in cases() {
        let checked = Config {
            run: Run { checks: Checks::Full, payload: Payload::Stamp, ..config.run.clone() },
            ..config.clone()
        };
        let bare = Config { run: Run { checks: Checks::Fast, payload: Payload::None, ..config.run.clone() }, ..config };
        assert_eq!(without(&outcome(&checked)), without(&outcome(&bare)), "{bare:#?}");
    }
}

/// Under plain page mapping without time, requests of one whole page each take a way of their own, unless pages carry stamps. Batches
/// with other requests among them do not, and a mixed batch may follow on a plain one.
#[test]
fn whole_pages_are_served_as_any_request() {
    for (number, allocation) in ["CWDP", "F", "D"].into_iter().enumerate() {
        for (request_size, footprint) in [(8192, 1), (24_576, 1), (4096, 1), (8192, 3)] {
            let mut config = aged();
            execute(&mut config, Executor::Count);
            choose(&mut config.ftl, "allocation", allocation, &[]);
            let binding = if allocation == "CWDP" { "static" } else { "dynamic" };
            choose(&mut config.ftl, "binding", binding, &[]);
            if footprint > 1 {
                config.run.precondition = Precondition::None;
            }
            let mut source = generator("zipf", request_size, 0.4, config.device.user_capacity / footprint);
            (source.interval, source.poisson) = (base::Duration(100 * number as u64), number > 1);
            config.workload.source = Source::Generator(source);
            let [plain, stamped] = [Payload::None, Payload::Stamp].map(|payload| {
                config.run.payload = payload;
                let outcome = outcome(&config);
                let mut summary = deterministic(&outcome.summary);
                summary.as_object_mut().expect("an object").remove("config");
                (summary, format!("{:?}", outcome.tables))
            });
            assert_eq!(plain, stamped, "{allocation} {request_size}");
            assert!(plain.0["host"]["reads"].as_u64() > Some(5000) && plain.0["gc"]["invocations"].as_u64() > Some(0));
        }
    }
}

#[test]
fn runs_in_other_threads_are_no_company() {
    let configs = cases();
    let alone: Vec<String> = configs.iter().map(|config| fingerprint(&outcome(config))).collect();
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..4)
            .map(|worker| {
                let configs = &configs;
                // Each in another order, so that every run meets every other somewhere.
                scope.spawn(move || {
                    let order = (0..configs.len()).map(move |i| (i * [1, 3, 7, 11][worker]) % configs.len());
                    order.map(|i| (i, fingerprint(&outcome(&configs[i])))).collect::<Vec<_>>()
                })
            })
            .collect();
        for handle in handles {
            for (number, found) in handle.join().expect("a thread") {
                assert_eq!(found, alone[number], "case {number}");
            }
        }
    });
}

#[test]
fn another_seed_is_another_run() {
    let config = aged();
    let first = outcome(&config);
    for victim in names("victim", &[]) {
        let mut config = config.clone();
        choose(&mut config.ftl, "victim", victim, &[]);
        let with_seed = |seed| {
            let mut config = config.clone();
            config.run.seed = seed;
            let mut summary = deterministic(&outcome(&config).summary);
            summary.as_object_mut().expect("an object").retain(|key, _| !["seed", "config"].contains(&key.as_str()));
            summary
        };
        assert_eq!(with_seed(7), with_seed(7));
        assert_ne!(with_seed(7), with_seed(8), "{victim}");
    }
    assert_ne!(first.summary["seed"], Value::Null);
}

/// What the host asked for, as far as the summary tells: it has to be the same whatever the device does.
fn asked(summary: &Value) -> Value {
    let host = &summary["host"];
    serde_json::json!([host["reads"], host["writes"], host["bytes_read"], host["bytes_written"], summary["workload"]])
}

#[test]
fn a_policys_chance_is_its_own() {
    for pattern in ["uniform", "zipf", "hot-cold", "mixed"] {
        let mut config = aged();
        config.workload.source = Source::Generator(generator(pattern, 8192, 0.3, config.device.user_capacity));
        let reference = outcome(&config);
        for victim in ["random", "rga", "fifo"] {
            for executor in [Executor::Timed, Executor::Count] {
                let mut other = config.clone();
                choose(&mut other.ftl, "victim", victim, &[]);
                other.run.executor = executor;
                let found = outcome(&other);
                assert_eq!(asked(&found.summary), asked(&reference.summary), "{pattern}, {victim}, {executor:?}");
                assert_ne!(found.summary["waf_units"], reference.summary["waf_units"], "{victim} chose other victims");
            }
        }
    }
    // Requests page by page: with nothing collected, where pages land follows from the requests alone, and it
    // must not matter that a policy draws numbers while the device is aged.
    let mut config = aged();
    config.run.precondition = Precondition::None;
    config.workload.end = End { requests: Some(1500), ..End::default() };
    let greedy = outcome(&config);
    assert_eq!(figure(&greedy.summary, "flash.block_erases"), 0.0);
    choose(&mut config.ftl, "victim", "random", &[]);
    let random = outcome(&config);
    assert_eq!(format!("{:?}", greedy.tables), format!("{:?}", random.tables), "latencies request by request");
}

/// Plain devices on which many things happen at one instant: all times are multiples of one transfer.
fn in_time_with_transfers(seed: u64) -> Config {
    let mut random = Chance::new(seed, "in time");
    let r = &mut random;
    let (channels, dies, planes) = (*pick(r, &[1, 2]), *pick(r, &[1, 2, 3]), *pick(r, &[1, 2, 4]));
    let mut config = plain(channels, 1, dies, planes, 16, 12);
    config.device.multiplane = *pick(r, &[Multiplane::Off, Multiplane::Any, Multiplane::Pac]);
    let transfers = |count: &u64| base::Duration::from_us(50 * count);
    let timing = &mut config.device.timing;
    (timing.channel_rate, timing.erase) = (163_840_000, transfers(&12));
    (timing.read, timing.program) = match r.below(3) {
        0 => (vec![transfers(&1)], vec![transfers(&4)]),
        1 => (vec![transfers(&2)], vec![transfers(&3)]),
        _ => {
            config.device.cell = Cell::Tlc;
            ([1, 2, 3].iter().map(transfers).collect(), [4, 6, 9].iter().map(transfers).collect())
        }
    };
    let scheduler = *pick(r, &names("scheduler", &[]));
    choose(&mut config.ftl, "scheduler", scheduler, &[]);
    let allocation = *pick(r, &["CWDP", "PDWC", "CWDP", "F"]);
    choose(&mut config.ftl, "allocation", allocation, &[]);
    let victim = *pick(r, &["greedy", "fifo", "rga"]);
    choose(&mut config.ftl, "victim", victim, &[]);
    config.host.queue_depth = Some(*pick(r, &[1, 2, 4, 16, 64]));
    config.host.replay = *pick(r, &[Replay::Closed, Replay::Open, Replay::Batch]);
    let size = 8192 * (1 + r.below(2));
    let mut generator = generator("uniform", size, *pick(r, &[0.0, 0.3, 0.7]), config.device.user_capacity);
    if config.host.replay == Replay::Open {
        generator.interval = base::Duration::from_us(50 * (1 + r.below(40)));
        if config.host.queue_depth == Some(64) {
            config.host.queue_depth = None;
        }
    }
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(3000), ..End::default() };
    config.run.checks = Checks::Fast;
    config.run.payload = Payload::None;
    config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
    config.run.seed = seed;
    config
}

/// Devices with any mechanisms, schedules and write buffers, and nothing else that takes time than data on channels and arrays, in
/// multiples of one transfer.
fn bare(seed: u64) -> Config {
    let mut config = random_config(seed);
    let mut random = Chance::new(seed, "bare");
    let transfers = |count: u64| base::Duration::from_us(50 * count);
    let device = &mut config.device;
    *device.features.get_mut("cache_read") = Selection::default_of(&base::cache::READ.choices[0]);
    *device.features.get_mut("cache_program") = Selection::default_of(&base::cache::PROGRAM.choices[0]);
    *device.features.get_mut("program_suspend") = Selection::default_of(&base::suspend::PROGRAM.choices[0]);
    *device.features.get_mut("erase_suspend") = Selection::default_of(&base::suspend::ERASE.choices[0]);
    *device.features.get_mut("programming") = Selection::default_of(&base::programming::PROGRAMMING.choices[0]);
    let timing = &mut device.timing;
    (timing.command_overhead, timing.dram_bandwidth) = (base::Duration::ZERO, None);
    (timing.ecc_latency, timing.ecc_bandwidth) = (base::Duration::ZERO, None);
    if random.below(2) == 0 {
        (timing.channel_rate, timing.erase) = (u64::from(device.page_size) * 20_000, transfers(12));
        let types = timing.read.len() as u64;
        timing.read = (0..types).map(|number| transfers(1 + number)).collect();
        timing.program = (0..timing.program.len() as u64).map(|number| transfers(4 + 2 * number)).collect();
    }
    (config.run.executor, config.run.payload) = (Executor::Timed, Payload::None);
    (config.run.latency_parts, config.run.per_request) = (false, false);
    config
}

/// The executor does less on bare devices too, whatever their mechanisms.
#[test]
fn bare_devices_are_run_as_all_others() {
    let compared = on_all_processors(&(0..150).collect::<Vec<u64>>(), |&seed| {
        let config = bare(seed);
        if device::check(&config).is_err() {
            return false;
        }
        let mut options = Options { asks_all: true, ..Options::default() };
        let in_general = device::simulate(&config, &mut options).expect("a run");
        assert_eq!(fingerprint(&outcome(&config)), fingerprint(&in_general), "seed {seed}: {config:#?}");
        true
    });
    assert!(compared.iter().filter(|&&compared| compared).count() > 110, "devices that fit");
}

/// The executor is compiled for plain devices too, and does less there: it comes to the same in the same order.
#[test]
fn plain_devices_are_run_as_all_others() {
    for seed in 0..64 {
        let config = in_time_with_transfers(seed);
        let mut options = Options { asks_all: true, ..Options::default() };
        let in_general = device::simulate(&config, &mut options).expect("a run");
        assert_eq!(fingerprint(&outcome(&config)), fingerprint(&in_general), "seed {seed}: {config:#?}");
    }
}
