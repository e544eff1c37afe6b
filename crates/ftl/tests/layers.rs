//! Who may know whom within the FTL: the kernel names no mechanism, no mechanism names another one, the leaves name neither,
//! and only the tables of mechanisms name each of them. Read from the sources, tests and comments left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// Modules that know nothing of maps: policies and words.
const LEAVES: [&str; 6] = ["victim", "pool", "allocation", "group", "ops", "stream"];

/// What stands above the kernel.
const ABOVE: [&str; 10] =
    ["mechanism", "agenda", "page", "collect", "fast", "facade", "forward", "recovery", "repair", "policies"];

/// Files that may name single mechanisms, and why.
const TABLES: [(&str, &str); 8] = [
    ("refusals.rs", "asks each for what it refuses"),
    ("mechanism/all.rs", "those in force, and what one of them alone does"),
    ("mechanism/plan.rs", "how they share the space of a domain"),
    ("lib.rs", "their seams"),
    (
        "facade/mod.rs",
        "the choices of the mapping are page mapping, DFTL and FAST; the GC schedule says which parts it has",
    ),
    ("facade/map_in_flash.rs", "a map in flash is DFTL"),
    ("facade/told.rs", "reads are counted by the management of read disturb"),
    ("policies.rs", "figures by mechanism, and which choice of the mapping is DFTL"),
];

struct DataSource {
    path: String,
    text: String,
}

fn sources() -> Vec<DataSource> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(Path::new(SOURCES), &mut paths);
    let read = |path: PathBuf| DataSource {
        text: std::fs::read_to_string(&path).expect("a source"),
        path: path.strip_prefix(SOURCES).expect("a source of this crate").to_string_lossy().replace('\\', "/"),
    };
    paths.into_iter().map(read).collect()
}

/// The folders of mechanisms.
fn mechanisms(sources: &[DataSource]) -> BTreeSet<String> {
    let folders = sources.iter().filter_map(|source| source.path.strip_prefix("mechanism/")?.split_once('/'));
    folders.map(|(folder, _)| folder.to_string()).collect()
}

/// The code of a source: no comments, and no tests, which come last.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules that a source names: identifiers with `::` behind them, and all of `use`. A method, as `.collect::<_>()`,
/// is no module.
fn named(text: &str) -> BTreeSet<String> {
    let code = code(text);
    let mut names = BTreeSet::new();
    for statement in code.split(';') {
        let is_use =
            ["use ", "pub use ", "pub(crate) use "].iter().any(|word| statement.trim_start().starts_with(word));
        let mut rest = statement;
        while let Some(begin) = rest.find(|c: char| c.is_alphabetic() || c == '_') {
            rest = &rest[begin..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            let before = &statement[..statement.len() - rest.len()];
            if is_use || (behind.starts_with("::") && !before.ends_with('.')) {
                names.insert(name.to_string());
            }
            rest = behind;
        }
    }
    names
}

/// What a source must not name, and why.
fn forbidden(path: &str, mechanisms: &BTreeSet<String>) -> (Vec<String>, &'static str) {
    let all = || mechanisms.iter().cloned();
    let top = path.split(['/', '.']).next().unwrap_or_default();
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    if top == "kernel" {
        return (owned(&ABOVE).into_iter().chain(all()).collect(), "the kernel names no mechanism");
    }
    if LEAVES.contains(&top) {
        let above = owned(&ABOVE).into_iter().chain(owned(&["kernel"]));
        return (above.chain(all()).collect(), "a leaf names neither the kernel nor mechanisms");
    }
    if TABLES.iter().any(|(table, _)| *table == path) {
        return (Vec::new(), "");
    }
    let own = path.strip_prefix("mechanism/").and_then(|rest| rest.split('/').next());
    (
        all().filter(|name| Some(name.as_str()) != own).collect(),
        "mechanisms do not know each other, nor the agenda them",
    )
}

fn violations(sources: &[DataSource]) -> Vec<String> {
    let mechanisms = mechanisms(sources);
    let mut found = Vec::new();
    for DataSource { path, text } in sources {
        let (forbidden, rule) = forbidden(path, &mechanisms);
        let named = named(text);
        let names = forbidden.into_iter().filter(|name| named.contains(name));
        found.extend(names.map(|name| format!("{path} names `{name}`: {rule}")));
    }
    found
}

#[test]
fn nobody_names_what_it_must_not_know() {
    let sources = sources();
    let mechanisms = mechanisms(&sources);
    assert!(mechanisms.len() >= 6 && mechanisms.contains("paired"), "{mechanisms:?}");
    for (table, reason) in TABLES {
        let table =
            sources.iter().find(|source| source.path == table).unwrap_or_else(|| panic!("no {table}: {reason}"));
        let names = named(&table.text);
        assert!(mechanisms.iter().any(|name| names.contains(name)), "{} names no mechanism any more", table.path);
    }
    let violations = violations(&sources);
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

#[test]
fn what_is_named_by_mistake_is_seen() {
    let seen = |path: &str, line: &str| {
        let mut sources = sources();
        let source = sources.iter_mut().find(|source| source.path == path).expect("a source");
        source.text.insert_str(0, line);
        violations(&sources)
    };
    for (path, line) in [
        ("kernel/gc.rs", "use crate::mechanism::Mechanism;\n"),
        ("kernel/place.rs", "fn f() -> u32 { crate::agenda::f() }\n"),
        ("mechanism/paired/mod.rs", "use super::dftl::Dftl;\n"),
        ("mechanism/dftl/map_ops.rs", "use crate::mechanism::{paired::Paired, wear};\n"),
        ("victim/greedy.rs", "use crate::kernel::Kernel;\n"),
        ("agenda.rs", "use crate::mechanism::twin::Twin;\n"),
        ("page.rs", "fn f() { crate::mechanism::wear::f() }\n"),
    ] {
        let violations = seen(path, line);
        assert!(violations.iter().any(|text| text.starts_with(path)), "{path}: {line} is not seen: {violations:?}");
    }
    for (line, why) in [
        ("// crate::mechanism::paired::Paired\n", "comments name what they like"),
        ("fn f() -> Vec<u32> { (0..3).wear::<Vec<u32>>() }\n", "a method has the name of a module"),
    ] {
        let violations = seen("kernel/gc.rs", line);
        assert!(violations.is_empty(), "{why}: {violations:?}");
    }
}
