//! The executors agree: wherever no policy looks at time, `count` and `timed` write, move and erase the same.

mod common;

use common::*;
use config::model::*;
use serde_json::Value;

/// What must be equal: everything but host reads (a page whose first write is in flight reads as unmapped
/// in time) and what shared a command.
fn decisions(summary: &Value) -> Value {
    let causes = &summary["flash"]["by_cause"];
    serde_json::json!({
        "waf": summary["waf"],
        "host_programs": causes["host"]["programs"],
        "gc": causes["gc"],
        "wear": causes["wear"],
        "rmw": causes["rmw"],
        "collections": summary["gc"],
        "erases": summary["wear"]["erases"],
        "bytes": summary["host"]["bytes_written"],
    })
}

#[test]
fn static_allocations_agree_exactly() {
    let mut compared = 0;
    let directory = std::env::temp_dir().join(format!("ftlab-agreement-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for seed in 0..1000 {
        let mut config = random_config(seed + 3_000_000);
        if ["F", "D", "F2"].contains(&config.ftl.get("allocation").name) {
            continue;
        }
        config.run.checks = Checks::Fast;
        if seed % 2 == 0 {
            // Half of the cases replay a trace with trims, flushes and unaligned ranges.
            let path = directory.join(format!("{seed}.csv"));
            std::fs::write(&path, random_trace(seed, config.device.user_capacity, 300)).unwrap();
            config.workload.source = Source::Trace { path: path.display().to_string() };
            config.workload.end = End { rounds: Some(2), ..End::default() };
        }
        config.run.executor = Executor::Timed;
        let timed = run(&config);
        config.run.executor = Executor::Count;
        let count = run(&config);
        assert_eq!(decisions(&timed), decisions(&count), "case {seed}: {config:#?}");
        compared += 1;
    }
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(compared > 300, "only {compared} cases were static");
}

#[test]
fn dynamic_allocations_agree_on_average() {
    // F, D and F2 look at time, so single pages differ, and so does the write amplification by a few percent:
    // in time a plane takes pages when it has room, not when it is its turn. A preference of one plane over
    // another shows up as a factor (seven, when collections of a die were not served in order of age).
    for allocation in ["F", "D", "F2"] {
        let mut config = plain(2, 2, 2, 2, 32, 64);
        config.device.user_capacity = config.device.user_capacity / 3 * 4 / 100 * 85 / 8192 * 8192;
        choose(&mut config.ftl, "allocation", allocation, &[]);
        choose(&mut config.ftl, "scheduler", "paq", &[]);
        config.host.queue_depth = 32;
        config.run.checks = Checks::Fast;
        let capacity = config.device.user_capacity;
        config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, capacity));
        config.workload.end = End { volume: Some(4 * capacity), ..End::default() };
        config.run.precondition = Precondition::Random { volume: 2 * capacity };
        let timed = figure(&run(&config), "waf");
        config.run.executor = Executor::Count;
        let count = figure(&run(&config), "waf");
        assert!((timed / count - 1.0).abs() < 0.10, "{allocation}: timed {timed}, count {count}");
    }
}
