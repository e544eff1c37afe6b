//! Which crate may know which. A crate wall stands where something must not know something.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// By crate: what its sources may use. Tests of a crate may use more; these are its own dependencies.
const ALLOWED: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("files", &[]),
    ("engine", &["base"]),
    ("config", &["base", "files"]),
    ("workload", &["base", "files", "engine", "config"]),
    ("ftl", &["base", "engine"]),
    ("nand", &["base"]),
    ("metrics", &["base", "files"]),
    ("device", &["base", "files", "engine", "config", "workload", "ftl", "nand", "metrics"]),
    ("rig", &["base", "files", "engine", "config", "ftl", "nand", "device"]),
    ("serve", &[]),
    ("served", &["base", "device", "serve"]),
    ("nbdkit", &["config", "device", "serve", "served"]),
    ("bench", &["base", "engine", "config", "workload", "metrics", "device"]),
    ("py", &["base", "files", "config", "workload", "ftl", "metrics", "device", "rig", "serve", "served"]),
];

fn metadata() -> Value {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path", manifest])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// By crate of the workspace: the crates of the workspace that its sources use.
fn arrows(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let short = |name: &Value| name.as_str().and_then(|name| name.strip_prefix("ftlab-")).map(str::to_string);
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let own = package["dependencies"].as_array().expect("dependencies").iter();
            let own = own.filter(|dependency| dependency["kind"] != "dev").filter_map(|d| short(&d["name"]));
            (short(&package["name"]).expect("all crates begin with `ftlab-`"), own.collect())
        })
        .collect()
}

/// The first arrow that is not allowed.
fn forbidden(arrows: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    arrows.iter().find_map(|(from, uses)| {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| name == from) else {
            return Some(format!("crate `{from}` is not in the table: say there what it may use"));
        };
        let to = uses.iter().find(|to| !allowed.contains(&to.as_str()))?;
        Some(format!("`{from}` uses `{to}`, and may use only {allowed:?}"))
    })
}

#[test]
fn crates_use_only_what_they_may() {
    let arrows = arrows(&metadata());
    assert!(arrows["device"].contains("ftl") && arrows["py"].contains("device"), "the test sees arrows at all");
    if let Some(problem) = forbidden(&arrows) {
        panic!("{problem}");
    }
}

#[test]
fn a_forbidden_arrow_is_seen() {
    let mut arrows = arrows(&metadata());
    arrows.get_mut("ftl").expect("a crate").insert("workload".into());
    assert!(forbidden(&arrows).expect("a problem").contains("`ftl` uses `workload`"));
    arrows.get_mut("ftl").expect("a crate").remove("workload");
    arrows.insert("extra".into(), BTreeSet::new());
    assert!(forbidden(&arrows).expect("a problem").contains("`extra` is not in the table"));
}
