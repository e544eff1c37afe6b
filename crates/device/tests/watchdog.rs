//! Is a device that stands still noticed? Devices that are broken on purpose: their blocks take so few reads that each is due to
//! be refreshed when it is full, and so is the one that its pages move to.

use config::Config;
use config::model::*;
use device::{Options, RunError};
use serde_json::{Value, json};

/// A configuration from its keys.
fn read(keys: Value) -> Config {
    let object = keys.as_object().expect("a tree of keys").clone();
    let base = config::Base::Object { name: "case".into(), object };
    config::load(&base, &[], None, &device::registry()).unwrap_or_else(|problems| panic!("{problems}")).config
}

/// A small device whose blocks take so many reads.
fn device_of(read_limit: u32, others: &Value, executor: &str, precondition: Value) -> Config {
    let mut keys = json!({
        "device": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 2, "blocks_per_plane": 24,
            "pages_per_block": 16, "page_size": 4096, "cell": "mlc", "over_provisioning": 1.5,
            "wear": { "read_limit": [read_limit, 1000] },
        },
        "ftl": { "read_disturb": { "refresh": { "margin": 12 } } },
        "workload": { "generator": "uniform", "requests": 4000 },
        "run": { "executor": executor, "precondition": precondition },
    });
    for (key, value) in others.as_object().expect("keys of the FTL") {
        keys["ftl"][key] = value.clone();
    }
    read(keys)
}

/// The report on a run that stands still.
fn said(config: &Config) -> String {
    let mut options = Options { is_unchecked: true, ..Options::default() };
    match device::simulate(config, &mut options) {
        Err(RunError::StandsStill(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_that_stands_still_is_noticed_with_and_without_time() {
    let others = [
        json!({}),
        json!({ "separation": "host-gc" }),
        json!({ "reclaim_unit": "twin", "paired_page": "lsb-backup" }),
        json!({ "mapping": { "dftl": { "cache": "8KiB" } } }),
        json!({ "write_buffer": { "fifo": { "size": "32KiB" } } }),
    ];
    for others in others {
        for executor in ["count", "timed"] {
            let broken = device_of(20, &others, executor, json!("none"));
            assert!(device::check(&broken).is_err(), "nobody gets such a device");
            let text = said(&broken);
            for part in ["the run stands still: ", " programs, ", "\nbusy: ", " blocks are free", " is collected ("] {
                assert!(text.contains(part), "{others}, {executor}: no {part:?} in {text}");
            }
            let of_host = if executor == "timed" { "\nrequests in the device: " } else { "\na page of the host waits" };
            assert!(text.contains(of_host), "{others}, {executor}: {text}");
            // The same with blocks that take reads enough.
            crate::common::run(&device_of(200, &others, executor, json!("none")));
        }
    }
}

#[test]
fn a_device_that_stands_still_while_it_is_aged_is_noticed() {
    for executor in ["count", "timed"] {
        let text = said(&device_of(20, &json!({}), executor, json!({ "random": "2x" })));
        assert!(text.contains("the run stands still: "), "{text}");
    }
}

/// Near the limit on the user space nearly every page of the device moves for one of the host.
#[test]
fn the_worst_that_a_device_may_do_is_no_standstill() {
    let keys = json!({
        "device": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 40,
            "pages_per_block": 256, "page_size": 512, "cell": "slc", "user_capacity": "512B",
        },
        "ftl": { "victim": "random", "separation": "host-gc" },
        "workload": { "generator": "uniform", "request_size": "512B", "requests": 600 },
        "run": { "precondition": "none" },
    });
    let most = device::largest_user_capacity(&read(keys.clone()));
    for executor in ["count", "timed"] {
        let mut keys = keys.clone();
        keys["device"]["user_capacity"] = json!(format!("{most}B"));
        keys["run"]["executor"] = json!(executor);
        keys["run"]["precondition"] = json!({ "sequential": "1x" });
        let mut config = read(keys.clone());
        config.run.checks = Checks::Fast;
        let summary = crate::common::run(&config);
        let waf = crate::common::figure(&summary, "waf");
        assert!(waf > 100.0, "collections gain a few pages each: {waf}");
    }
}

/// The work of a pause is none for a request, however long it lasts: data of ten seconds move for hours.
#[test]
fn work_in_a_long_pause_is_no_standstill() {
    let keys = json!({
        "device": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1, "blocks_per_plane": 24,
            "pages_per_block": 16, "page_size": 4096, "cell": "slc", "user_capacity": "1MiB",
        },
        "ftl": { "refresh": { "age": { "age": "10s" } } },
        "host": { "replay": "open" },
        "workload": {
            "generator": "uniform", "request_size": "4KiB", "interval": "1ms", "idle_every": 100, "idle_for": "8h",
            "requests": 150,
        },
        "run": { "executor": "timed", "precondition": { "sequential": "1x" } },
    });
    let mut config = read(keys);
    config.run.checks = Checks::Fast;
    let summary = crate::common::run(&config);
    let of = |kind: &str| crate::common::figure(&summary, &format!("flash.by_cause.refresh.{kind}"));
    assert!(of("reads") + of("programs") > 1e6, "more than any device needs for a request: {}", summary["flash"]);
}
