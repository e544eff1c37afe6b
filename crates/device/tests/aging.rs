//! Ageing the device before the run.

use serde_json::Value;

fn precondition(sets: &[&str]) -> Value {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let loaded = device::load(&config::Base::Preset("tbm-small".into()), &sets, None).expect("a config");
    let outcome = device::simulate(&loaded.config, &mut device::Options::default()).expect("a run");
    outcome.summary["precondition"].clone()
}

/// Of a device with more spare than user space, the first windows fill erased blocks: their WAF is 1 and says nothing.
#[test]
fn steady_does_not_settle_before_blocks_are_erased() {
    let steady = |op: &str| {
        precondition(&[
            "device.blocks_per_plane=8",
            &format!("device.over_provisioning={op}"),
            "workload.generator=uniform",
            "workload.requests=1",
            "run.executor=count",
            "run.precondition=steady",
        ])
    };
    let wide = steady("3.5");
    let windows = wide["windows"].as_u64().expect("windows");
    assert!(windows >= 5, "3.5 capacities of spare are written before the first erase: {wide}");
    assert_eq!(wide["settled"], true, "{wide}");
    assert_eq!(steady("0.5")["settled"], true);
}
