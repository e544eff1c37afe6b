//! A die whose array is slower than the others.

use base::{ParamValue, Selection};
use config::Config;

use super::filled;
use super::split::{ARRAY, BUS, check};
use crate::common::*;

/// Two dies with a channel each; the array of the second one takes 2.5 times as long.
fn dies(pages: u64) -> Config {
    let mut config = filled(&plain(2, 1, 1, 1, 16, 12), pages);
    let mut slow = Selection::default_of(&base::slow_die::SLOW_DIE.choices[1]);
    slow.set("die", 1.into());
    slow.set("factor", ParamValue::Number(2.5));
    *config.device.features.get_mut("slow_die") = slow;
    config
}

#[test]
fn its_array_takes_so_many_times_as_long_and_its_channel_does_not() {
    let reads = [(0, "Read", 0, 8192), (0, "Read", 8192, 8192)];
    let slow = ARRAY * 5 / 2;
    check(&dies(4), &reads, &[&[("service", ARRAY + BUS)], &[("service", slow + BUS)]]);
    let writes = [(0, "Write", 0, 8192), (0, "Write", 8192, 8192)];
    let slow = 1_600_000 * 5 / 2;
    check(&dies(0), &writes, &[&[("service", BUS + 1_600_000)], &[("service", BUS + slow)]]);
}

#[test]
fn a_die_that_is_not_there_is_refused() {
    let mut config = dies(0);
    config.device.features.get_mut("slow_die").set("die", 2.into());
    let refusal = device::check(&config).expect_err("there are two dies").to_string();
    assert!(refusal.contains("number 2") && refusal.contains("at most 1"), "{refusal}");
}

/// Without parts of latencies the device would be a bare one, and is not.
#[test]
fn it_is_slow_in_a_plain_run_too() {
    let mut config = plain(2, 1, 1, 1, 16, 12);
    let run = |config: &Config| device::simulate(config, &mut device::Options::default()).expect("a run").summary;
    let even = run(&config);
    *config.device.features.get_mut("slow_die") = dies(0).device.features.get("slow_die").clone();
    let slow = run(&config);
    let mean = |summary: &serde_json::Value| summary["host"]["write_latency_us"]["mean"].as_f64().expect("writes");
    assert!(mean(&slow) > 1.3 * mean(&even), "{} against {}", mean(&slow), mean(&even));
    assert_eq!(slow["waf"], even["waf"], "where data go does not change");
}
