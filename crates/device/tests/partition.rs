//! A partition that does not begin at a page boundary: every request of a page touches two.

use crate::common::*;
use serde_json::Value;

/// Sequential writes of whole pages over a full device, behind an offset.
fn summary(offset: &str, executor: &str) -> Value {
    let sets = [
        "device.blocks_per_plane=16",
        "device.over_provisioning=0.5",
        "workload.generator=sequential",
        "workload.request_size=8KiB",
        "workload.requests=1000",
        "run.precondition.sequential=1x",
        "host.queue_depth=1",
        &format!("workload.address_offset={offset}"),
        &format!("run.executor={executor}"),
    ];
    run(&preset("tbm-small", &sets))
}

#[test]
fn clusters_that_straddle_pages_are_written_twice_and_read_first() {
    for executor in ["count", "timed"] {
        let pages = |offset: &str| {
            let summary = summary(offset, executor);
            let count = |path: &str| summary.pointer(path).and_then(Value::as_u64).expect(path);
            assert_eq!(count("/host/writes"), 1000, "{executor} {offset}");
            assert_eq!(count("/host/bytes_written"), 1000 * 8192, "{executor} {offset}");
            [count("/flash/by_cause/host/programs"), count("/flash/by_cause/rmw/reads")]
        };
        assert_eq!(pages("0B"), [1000, 0], "{executor}");
        assert_eq!(pages("8KiB"), [1000, 0], "{executor}: a page further, nothing straddles");
        assert_eq!(pages("31.5KiB"), [2000, 2000], "{executor}");
    }
}
