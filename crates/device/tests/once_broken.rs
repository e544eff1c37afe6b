//! Configurations that once broke the engine, each with what was wrong. The random tests find such cases only
//! by luck, so these stay.

use crate::common::*;
use base::{Duration, Instant};
use config::Config;
use config::model::*;
use serde_json::json;

/// A configuration from its keys, as a user would write them; whatever is not given is the default.
fn read(keys: serde_json::Value) -> Config {
    let object = keys.as_object().expect("a tree of keys").clone();
    let base = config::Base::Object { name: "case".into(), object };
    device::load(&base, &[], None).unwrap_or_else(|problems| panic!("{problems}")).config
}

/// Under GCMix a victim's pages belong to several regions. Emptying it can open a block in each, and the host then wrote
/// into those until a later victim found no free block at all.
#[test]
fn regions_with_mixed_victims_keep_room_to_empty_the_next_one() {
    let mut config = read(json!({
        "device": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
            "blocks_per_plane": 48, "pages_per_block": 4, "page_size": 512,
            "cell": "mlc", "program_order": "shadow", "user_capacity": "83456B",
        },
        "ftl": {
            "victim": "fifo",
            "gc_schedule": { "threshold": { "free_blocks": 3 } },
            "separation": { "dac": { "regions": 3 } },
            "paired_page": { "gcmix": { "low": 3, "high": 10 } },
        },
        "workload": { "generator": "uniform", "requests": 1 },
        "run": { "executor": "count", "precondition": "none", "payload": "stamp", "checks": "full" },
    }));
    assert_eq!(config.device.user_capacity, device::largest_user_capacity(&config), "the case stands at the limit");
    let rows = [
        (0, "Write", 3072, 41_984),
        (100, "Write", 11_264, 48_640),
        (200, "Write", 26_624, 37_376),
        (300, "Write", 0, 30_720),
        (400, "Write", 64_000, 4096),
        (500, "Write", 0, 74_240),
    ];
    let trace = TraceFile::new(&rows);
    config.workload.source = trace.source();
    config.workload.end = End { rounds: Some(1), ..End::default() };
    run(&config);
}

/// With a large `neighbours` a die counts as near its threshold while all its blocks are free.
#[test]
fn a_neighbour_without_a_full_block_is_not_collected_along() {
    let config = read(json!({
        "device": {
            "channels": 2, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 2,
            "blocks_per_plane": 18, "pages_per_block": 6, "page_size": 8192, "cell": "slc", "user_capacity": "5472256B",
        },
        "ftl": { "reclaim_unit": { "twin": { "pad": false, "neighbours": 100 } }, "allocation": "CWDP" },
        "workload": { "generator": { "zipf": { "z": 2 } }, "request_size": "4KiB", "requests": 400 },
        "run": { "executor": "timed", "seed": 8143018072411790953u64, "payload": "stamp", "checks": "full" },
    }));
    run(&config);
}

/// The merge of a buffer block may end without an erase: the block is held until nothing depends on it. Those who kept step
/// with that collection waited for ever for its next page.
#[test]
fn who_keeps_step_with_a_merge_hears_that_it_ended_without_an_erase() {
    let config = read(json!({
        "device": {
            "channels": 3, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 1,
            "blocks_per_plane": 16, "pages_per_block": 12, "page_size": 16384, "cell": "mlc",
            "user_capacity": "1179648B",
        },
        "ftl": {
            "allocation": "D",
            "gc_schedule": {
                "cycle-filling": { "free_blocks": 4, "spare_blocks": 4, "pace": "initiator", "preempt": "on" },
            },
            "paired_page": { "slc-buffer": { "blocks": 1 } },
        },
        "host": { "replay": "closed", "queue_depth": 1 },
        "workload": { "generator": "uniform", "request_size": "82432B", "requests": 400, "footprint": "90%" },
        "run": {
            "executor": "timed", "seed": 1881900145037216279u64, "precondition": { "sequential": "1x" },
            "payload": "stamp", "checks": "full",
        },
    }));
    run(&config);
}

/// The last request comes near the last instant that a run may reach. Over 292 years the time of several dies does not
/// fit 64 bits.
#[test]
fn figures_over_the_longest_run_do_not_overflow() {
    for executor in ["timed", "count"] {
        let mut config = read(json!({
            "device": {
                "channels": 3, "chips_per_channel": 2, "dies_per_chip": 2, "planes_per_die": 2,
                "blocks_per_plane": 9, "pages_per_block": 8, "page_size": 4096, "cell": "slc", "user_capacity": "1MiB",
            },
            "ftl": { "write_buffer": { "lru": { "size": "16KiB" } } },
            "host": { "replay": "open", "queue_depth": 4 },
            "workload": { "generator": "uniform", "requests": 3 },
            "run": { "executor": executor, "payload": "stamp", "checks": "full" },
        }));
        let Source::Generator(generator) = &mut config.workload.source else { panic!("a generator") };
        generator.interval = Duration(Instant::LAST.ns() / 2 - 1_000_000_000);
        let summary = run(&config);
        assert_eq!(figure(&summary, "host.writes"), 3.0);
        let seconds = figure(&summary, "host.simulated_s");
        assert!((seconds - Instant::LAST.seconds()).abs() < 10.0, "{seconds}");
    }
}

/// The program of the last request would take an hour, and the run has a few seconds left.
#[test]
fn a_run_beyond_the_last_instant_fails_and_says_why() {
    let mut config = plain(1, 1, 1, 1, 9, 8);
    config.device.timing.program = vec![Duration(3_600_000_000_000)];
    let Source::Generator(generator) = &mut config.workload.source else { panic!("a generator") };
    generator.interval = Duration(Instant::LAST.ns() / 2 - 1_000_000_000);
    config.host.replay = Replay::Open;
    config.workload.end = End { requests: Some(3), ..End::default() };
    let error = device::simulate(&config, &mut device::Options::default()).unwrap_err();
    assert!(matches!(error, device::RunError::Failed(_)), "{error:?}");
    assert!(error.to_string().contains("passes 292 years of simulated time"), "{error}");
}

/// A block whose lower pages had been backed up while it was filled was due to be refreshed as soon as it was full, and so was the
/// block that its pages moved to: refreshes made refreshes, and no request was served any more.
#[test]
fn refreshes_make_no_refreshes_where_lower_pages_are_backed_up() {
    for scheme in ["refresh", "redftl", "hot-low-density", "ipr"] {
        for protection in ["lsb-backup", "gcmix"] {
            let keys = |limit: u32| {
                json!({
                    "device": {
                        "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2,
                        "blocks_per_plane": 68, "pages_per_block": 16, "page_size": 512, "cell": "qlc",
                        "program_order": "shadow", "multiplane": "bac", "user_capacity": "107520B",
                        "wear": { "read_limit": [limit, 700] },
                    },
                    "ftl": {
                        "reclaim_unit": "twin", "victim": "greedy", "paired_page": protection,
                        "read_disturb": { scheme: { "margin": 12 } },
                    },
                    "host": { "replay": "open" },
                    "workload": {
                        "generator": "zipf", "request_size": "4KiB", "read_fraction": 0.7, "requests": 4000,
                        "interval": "1ms",
                    },
                    "run": { "precondition": "none", "payload": "stamp", "checks": "full" },
                })
            };
            let limit = first_accepted(70, keys);
            assert!(limit > 70, "the limit that was accepted then is refused: {scheme}, {protection}");
            for executor in ["count", "timed"] {
                let mut config = read(keys(limit));
                config.run.executor = if executor == "count" { Executor::Count } else { Executor::Timed };
                let summary = run(&config);
                assert!(figure(&summary, "policy.read_disturb.refreshes") > 0.0, "{scheme}, {protection}, {executor}");
            }
        }
    }
}

/// The first read limit from one on that is not refused.
fn first_accepted(from: u32, keys: impl Fn(u32) -> serde_json::Value) -> u32 {
    let is_accepted = |limit: &u32| {
        let object = keys(*limit).as_object().expect("a tree of keys").clone();
        device::load(&config::Base::Object { name: "case".into(), object }, &[], None).is_ok()
    };
    (from..from + 1000).find(is_accepted).expect("a limit that is accepted")
}

/// The same with four planes, regions, an adaptive protection and in-place reprogramming: the random device that it was found on.
#[test]
fn refreshes_make_no_refreshes_among_regions_either() {
    let keys = |limit: u32| {
        json!({
            "device": {
                "channels": 1, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 4, "blocks_per_plane": 68,
                "pages_per_block": 16, "page_size": 512, "cell": "qlc", "program_order": "shadow", "multiplane": "bac",
                "user_capacity": "215552B", "wear": { "read_limit": [limit, 2100] },
            },
            "ftl": {
                "reclaim_unit": { "twin": { "pad": false, "lone": "gather", "neighbours": 100 } }, "victim": "random",
                "gc_schedule": {
                    "cycle-filling": { "free_blocks": 2, "spare_blocks": 3, "pace": "own", "preempt": "on" },
                },
                "separation": { "dac": { "regions": 2 } },
                "paired_page": { "gcmix-adaptive": { "low": 1, "high": 107, "hold": true, "tau": 1e12 } },
                "migration": {
                    "rcpb": { "quota": "block", "aware": "quality", "selector": true, "fill": 1 },
                },
                "write_buffer": {
                    "fifo": {
                        "size": "1536B", "order": "channel", "release": "programmed", "flush": "full",
                        "power_loss": "protected",
                    },
                },
                "read_disturb": {
                    "ipr": {
                        "low_density": 0.5, "pool": 0.4, "at_once": 3, "full": "evict", "evicted": "read-hot",
                        "average": "all", "monitor": 0.1, "margin": 12, "attribution": "debt", "blocks_reads": false,
                    },
                },
            },
            "host": { "replay": "open", "queue_depth": 2 },
            "workload": {
                "generator": "zipf", "request_size": "4KiB", "read_fraction": 0.97, "requests": 12000, "interval": "100us",
            },
            "run": {
                "executor": "timed", "seed": 3179798569177760423u64, "precondition": { "sequential": "1x" },
                "payload": "stamp", "checks": "full",
            },
        })
    };
    let limit = first_accepted(70, keys);
    let summary = run(&read(keys(limit)));
    assert!(figure(&summary, "policy.read_disturb.refreshes") > 0.0, "{limit}: {summary}");
}

/// After a refresh a domain rested for as long as that took. Updates of the map and the erase of a unit that was held took longer, so that the
/// next refresh began in the instant in which they ended, and a page of the host never got its turn.
#[test]
fn the_rest_after_a_refresh_begins_when_what_it_left_behind_is_done() {
    let config = read(json!({
        "device": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2,
            "blocks_per_plane": 46, "pages_per_block": 6, "page_size": 512, "cell": "mlc", "program_order": "consecutive",
            "timing": { "read": "15us", "program": "1500us", "erase": "4300us", "ecc_latency": "20us" },
            "media": { "formula": {
                "age": "10us", "wear": 0.1, "retention": 0.1, "retention_exponent": 0, "disturb_exponent": 0, "onset": "1s", "blocks": 2,
                "layers": 3, "codeword": "512B", "correctable": 1, "steps": 1, "step": 0.01, "floor": 1,
            } },
            "user_capacity": "111104B",
        },
        "ftl": {
            "mapping": { "dftl": { "cache": "352B" } },
            "allocation": "PWDC",
            "paired_page": { "slc-buffer": { "blocks": 2 } },
            "refresh": { "age": { "age": "1ms" } },
            "scheduler": "paq",
        },
        "host": { "replay": "closed", "queue_depth": 2 },
        "workload": { "generator": "uniform", "request_size": "30KiB", "requests": 40 },
        "run": { "executor": "timed", "payload": "stamp", "checks": "full", "precondition": "none" },
    }));
    run(&config);
}
