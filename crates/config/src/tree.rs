//! Layers of what the user wrote, laid over each other: preset, file, command line.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Diagnostic, OriginPlace, Problems, clean, did_you_mean, nearest};
use crate::document::{KeyValue, Node, Value};
use crate::keys::{ENDS, GENERATOR_ONLY, Key, SECTIONS, SOURCES, TRACE_ONLY};
use crate::tenants;
use crate::units::list;

/// A key that was given, by path.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) place: OriginPlace,
    pub(crate) node: Node,
    /// The layer it is from, counted from the lowest.
    pub(crate) layer: u32,
    /// Its layer names the choice alone first: what a lower layer gave for the same choice goes.
    pub(crate) afresh: bool,
}

impl Leaf {
    pub(crate) fn new(place: OriginPlace, node: Node) -> Leaf {
        Leaf { place, node, layer: 0, afresh: false }
    }

    /// Takes the place of `old`, a leaf of the same key, and keeps parameters of the same choice.
    pub(crate) fn replaces(&mut self, old: &Leaf) {
        if !self.afresh {
            self.afresh = keep_parameters(&old.node, &mut self.node) && old.afresh || names(&old.node, &self.node);
        }
    }
}

/// The keys of one layer, or of several.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    leaves: BTreeMap<String, Leaf>,
    /// Layers laid over each other so far.
    layers: u32,
}

/// Two ways of saying the same thing where the blocks are given: a layer that uses one replaces both of the layers below.
/// Where they are not, blocks follow from both.
const CAPACITY: &[&str] = &["device.user_capacity", "device.over_provisioning"];
const BLOCKS: &str = "device.blocks_per_plane";

impl Tree {
    pub(crate) fn get(&self, path: &str) -> Option<&Leaf> {
        self.leaves.get(path)
    }

    /// A layer of its own that has these keys, each on the layer that it was given on.
    pub(crate) fn of(leaves: impl Iterator<Item = (String, Leaf)>) -> Tree {
        Tree { leaves: leaves.collect(), layers: 0 }
    }

    /// The keys below a path.
    pub(crate) fn below(&self, path: &str) -> impl Iterator<Item = (&str, &Leaf)> {
        let inside = format!("{path}.");
        self.leaves.iter().filter_map(move |(path, leaf)| Some((path.strip_prefix(&inside)?, leaf)))
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.leaves.contains_key(path)
    }

    /// The place to point at for a key: its value, or that of the key that stands in for it.
    pub(crate) fn place(&self, path: &str) -> Option<&OriginPlace> {
        let pair = if CAPACITY.contains(&path) { CAPACITY } else { &[] };
        let mut path = path;
        loop {
            if let Some(leaf) = [path].iter().chain(pair).find_map(|path| self.leaves.get(*path)) {
                return Some(&leaf.node.place);
            }
            // A parameter (`ftl.victim.rga.d`) is inside the value of its choice.
            path = path.rsplit_once('.')?.0;
        }
    }

    /// The layer that a key was given on; 0 where it was not given.
    pub(crate) fn layer(&self, path: &str) -> u32 {
        self.leaves.get(path).map_or(0, |leaf| leaf.layer)
    }

    /// Of keys that do not go together, the one to point at: given on the topmost layer, and the first of those.
    pub(crate) fn culprit<'a>(&self, paths: &[&'a str]) -> Option<&'a str> {
        let given = paths.iter().rev().filter_map(|path| Some((*path, self.leaves.get(*path)?.layer)));
        given.max_by_key(|(_, layer)| *layer).map(|(path, _)| path)
    }

    /// Lays `upper` over this.
    pub(crate) fn overlay(&mut self, mut upper: Tree) {
        self.layers += 1;
        upper.leaves.values_mut().for_each(|leaf| leaf.layer = self.layers);
        for path in given_up(|path| self.has(path), |path| upper.has(path)) {
            self.leaves.remove(path);
        }
        let gives_up = tenants::given_up(&upper);
        self.leaves.retain(|path, _| !gives_up(path));
        for (path, leaf) in upper.leaves {
            self.put(path, leaf);
        }
    }

    /// Puts a key over those that are there: the last one wins, except that the parameters of one choice add up.
    fn put(&mut self, path: String, mut leaf: Leaf) {
        if let Some(old) = self.leaves.get(&path) {
            leaf.replaces(old);
        }
        self.leaves.insert(path, leaf);
    }
}

/// The keys that a layer gives up to one above it, besides those that the upper one gives anew.
pub(crate) fn given_up(lower: impl Fn(&str) -> bool, upper: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut gone = Vec::new();
    let are_given = lower(BLOCKS) || upper(BLOCKS) || !lower(CAPACITY[0]) && !upper(CAPACITY[0]);
    if CAPACITY.iter().any(|path| upper(path)) && are_given {
        gone.extend(CAPACITY);
    }
    // Which binding is possible follows from the allocation.
    if upper("ftl.allocation") {
        gone.push("ftl.binding");
    }
    let sources = [("workload.generator", GENERATOR_ONLY), ("workload.trace", TRACE_ONLY), ("workload.job", &[])];
    for (source, keys) in sources {
        if lower(source) && SOURCES.iter().any(|other| *other != source && upper(other)) {
            gone.push(source);
            gone.extend(keys.iter().chain(ENDS));
        }
    }
    // The format is that of the file.
    if upper("workload.trace") {
        gone.extend(["workload.trace_format", "workload.trace_columns"]);
    }
    gone
}

/// Adds the parameters of `old` that `new` does not give, where both make the same choice with parameters.
///
/// Besides choices no key has a table in a table.
fn keep_parameters(old: &Node, new: &mut Node) -> bool {
    let (Value::Table(old), Value::Table(new)) = (&old.value, &mut new.value) else { return false };
    let ([old], [new]) = (&old[..], &mut new[..]) else { return false };
    let (Value::Table(lower), Value::Table(params)) = (&old.node.value, &mut new.node.value) else { return false };
    if old.key != new.key {
        return false;
    }
    let kept = lower.iter().filter(|param| params.iter().all(|other| other.key != param.key)).cloned();
    *params = kept.chain(params.iter().cloned()).collect();
    true
}

/// True where `old` is the name alone of the choice that `new` gives parameters of.
fn names(old: &Node, new: &Node) -> bool {
    match (&old.value, &new.value) {
        (Value::String(name), Value::Table(entries)) => matches!(&entries[..], [entry] if entry.key == *name),
        _ => false,
    }
}

/// Sorts what was written into keys, and reports what is none.
pub(crate) struct Sorter<'a> {
    pub(crate) keys: &'a [Key],
    pub(crate) problems: &'a mut Problems,
    /// It is of a file, which may name the preset that it builds on.
    pub(crate) is_file: bool,
}

impl Sorter<'_> {
    /// The keys of one document.
    pub(crate) fn sort(&mut self, entries: Vec<KeyValue>) -> Tree {
        let mut tree = Tree::default();
        self.table(entries, "", &mut tree);
        tree
    }

    /// Adds entries below the table `prefix` to `tree`.
    pub(crate) fn table(&mut self, entries: Vec<KeyValue>, prefix: &str, tree: &mut Tree) {
        for entry in entries {
            let path = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
            if path == tenants::TENANT {
                for (path, place, node) in tenants::sorted(entry) {
                    tree.put(path, Leaf::new(place, node));
                }
            } else if SECTIONS.iter().any(|(section, _)| *section == path) {
                match entry.node.value {
                    Value::Table(inner) => self.table(inner, &path, tree),
                    _ => self.problems.push(not_a_table(&path, &entry.node)),
                }
            } else if self.keys.iter().any(|key| key.section == prefix && key.name == entry.key) {
                tree.put(path, Leaf::new(entry.place, entry.node));
            } else {
                self.unknown(prefix, &entry);
            }
        }
    }

    fn unknown(&mut self, prefix: &str, entry: &KeyValue) {
        if self.problems.is_one_too_many() {
            return;
        }
        let name = clean(&entry.key);
        let children = self.children(prefix);
        let is_table = matches!(entry.node.value, Value::Table(_));
        let title = match (prefix, is_table) {
            ("", true) => format!("unknown table `[{name}]`"),
            ("", false) => format!("unknown key `{name}` outside of any table"),
            (prefix, _) => format!("unknown key `{name}` in `[{prefix}]`"),
        };
        let above = (self.is_file && prefix.is_empty()).then_some("preset");
        let expected = match prefix {
            "" => list(
                above
                    .map(str::to_owned)
                    .into_iter()
                    .chain(SECTIONS.iter().map(|(section, _)| format!("[{section}]")))
                    .chain([format!("[[{}]]", tenants::TENANT)]),
            ),
            _ => list(&children),
        };
        let hint =
            did_you_mean(&entry.key, children.iter().copied().chain(above)).or_else(|| self.elsewhere(&entry.key));
        let diagnostic = Diagnostic::new(title).at(&entry.place).label(format!("expected one of {expected}"));
        self.problems.push(diagnostic.maybe_hint(hint));
    }

    /// The names that are valid inside a table.
    fn children(&self, prefix: &str) -> Vec<&'static str> {
        let parent = |section: &&'static str| match section.rsplit_once('.') {
            Some((parent, name)) => (parent, name),
            None => ("", *section),
        };
        let tables = SECTIONS.iter().map(|(section, _)| parent(section)).filter(|(parent, _)| *parent == prefix);
        let keys = self.keys.iter().filter(|key| key.section == prefix).map(|key| key.name);
        let tenants = prefix.is_empty().then_some(tenants::TENANT);
        keys.chain(tables.map(|(_, name)| name)).chain(tenants).collect()
    }

    /// A key of the same name in another table, as the text of a hint.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let names: BTreeSet<&str> = self.keys.iter().map(|key| key.name).collect();
        let near = nearest(name, names)?;
        let of = |key: &Key| match key.section {
            tenants::TENANT => format!("`[[{}]]`", tenants::TENANT),
            section => format!("`[{section}]`"),
        };
        let sections: Vec<String> = self.keys.iter().filter(|key| key.name == near).map(of).collect();
        Some(format!("`{near}` belongs to {}", sections.join(" or ")))
    }
}

fn not_a_table(path: &str, node: &Node) -> Diagnostic {
    Diagnostic::new(format!("`{path}` is a table"))
        .at(&node.place)
        .label(format!("found {}; expected its keys under `[{path}]`", node.found()))
}
