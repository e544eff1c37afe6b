//! How wide the doors of mechanisms are, counted in the sources: methods of the traits, and how many mechanisms implement each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/mechanism");

/// The ways in which answers become one, with which the traits of `traits.rs` declare their methods.
const WAYS: [&str; 5] = ["all", "any", "every", "first", "sound"];

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Methods by trait, as `traits.rs` declares them.
fn declared(source: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut traits: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in source.lines().map(str::trim_start) {
        let words: Vec<&str> = line.split([' ', '(', '<', ':']).collect();
        let words: &[&str] = words.strip_prefix(&["pub", "crate)"]).unwrap_or(&words);
        match words {
            ["trait", name, ..] => current = (*name).to_string(),
            ["fn", name, ..] => {
                traits.entry(current.clone()).or_default().insert((*name).to_string());
            }
            [way, name, ..]
                if WAYS.contains(way) && line.contains("self") || line.ends_with('(') && WAYS.contains(way) =>
            {
                traits.entry(current.clone()).or_default().insert((*name).to_string());
            }
            _ => {}
        }
    }
    traits
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Mechanisms by method, of the traits named.
fn implementors(traits: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut found = BTreeMap::new();
    let mut paths = Vec::new();
    sources(Path::new(FOLDER), &mut paths);
    for path in paths {
        let inside = path.strip_prefix(FOLDER).expect("a source of mechanisms");
        let Some(folder) = inside.parent().filter(|folder| !folder.as_os_str().is_empty()) else { continue };
        let mut current = None;
        for line in text(&path).lines() {
            if let Some(rest) = line.strip_prefix("impl ") {
                current = rest.split(' ').next().filter(|name| traits.contains_key(*name)).map(str::to_string);
            } else if line == "}" {
                current = None;
            } else if let (Some(of), Some(rest)) = (&current, line.strip_prefix("    fn ")) {
                let name = rest.split(['(', '<']).next().unwrap_or_default().to_string();
                let folder = folder.to_string_lossy().into_owned();
                found.entry((of.clone(), name)).or_insert_with(BTreeSet::new).insert(folder);
            }
        }
    }
    found
}

#[test]
fn traits_of_mechanisms_ask_what_several_answer() {
    let mut traits = declared(&text(&Path::new(FOLDER).join("traits.rs")));
    assert_eq!(traits.len(), 5, "{traits:?}");
    let of_all = declared(&text(&Path::new(FOLDER).join("all.rs")));
    let of_all = of_all["Mechanisms"].iter().filter(|name| name.starts_with("parts")).cloned().collect();
    traits.insert("Mechanisms".into(), of_all);
    let methods: usize = traits.values().map(BTreeSet::len).sum();
    let implementors = implementors(&traits);
    let mut alone = Vec::new();
    for (of, method) in traits
        .iter()
        .filter(|(of, _)| *of != "Mechanisms")
        .flat_map(|(of, names)| names.iter().map(move |name| (of, name)))
    {
        let who = implementors.get(&(of.clone(), method.clone()));
        let who = who.unwrap_or_else(|| panic!("no mechanism implements {of}::{method}"));
        if who.len() == 1 {
            alone.push(format!("{of}::{method}"));
        }
    }
    println!("{methods} methods, {} with one implementor: {alone:?}", alone.len());
    assert!(methods <= 45, "{methods} methods: {traits:?}");
    assert!(alone.len() <= 10, "one mechanism alone implements {alone:?}");
}
