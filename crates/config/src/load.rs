//! Reading a config: the base, the layers above it, and what came of them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::{Input, Interrupt};

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, OriginPlace, Problems, clean, did_you_mean};
use crate::document::{self, KeyValue, Node, Value};
use crate::keys::{Key, keys};
use crate::model::Config;
use crate::presets::{self, BASE, PRESETS, Preset, preset};
use crate::reader::Reader;
use crate::resolve::resolve;
use crate::tree::{Sorter, Tree};
use crate::units::list;
use crate::{Registry, print};

/// Longer files are not configs; this keeps a trace given by mistake from being read to its end.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The beginning of a config, under the layers.
#[derive(Clone, Debug)]
pub enum Base {
    /// A file of TOML, or of JSON where its name ends with `.json`.
    File(PathBuf),
    /// A preset by name.
    Preset(String),
    /// TOML from memory.
    Text {
        /// How messages call it.
        name: String,
        /// The TOML.
        text: String,
    },
    /// A tree of keys from memory (a Python dictionary, the `config` of a summary).
    Object {
        /// How messages call it.
        name: String,
        /// The keys.
        object: serde_json::Map<String, serde_json::Value>,
    },
}

impl Base {
    /// The base that a command-line argument names: the preset of that name, otherwise a file. A file that is called
    /// like a preset is reached as `./NAME`.
    pub fn argument(argument: impl Into<PathBuf>) -> Base {
        let path = argument.into();
        match path.to_str().and_then(preset) {
            Some(preset) => Base::Preset(preset.name.to_owned()),
            None => Base::File(path),
        }
    }

    /// The base with its file read, if it is one; `interrupt` may stop that.
    ///
    /// # Errors
    /// When the file is no config.
    pub fn read(self, interrupt: &Interrupt) -> Result<Base, Diagnostics> {
        match &self {
            Base::File(path) => {
                let name = clean(&path.to_string_lossy());
                let text = read(path, interrupt)?;
                if is_json(path) {
                    return Ok(Base::Object { object: object(&name, &text)?, name });
                }
                Ok(Base::Text { name, text })
            }
            _ => Ok(self),
        }
    }

    /// Its keys, and those of the preset that it names.
    fn entries(&self) -> Result<Vec<KeyValue>, Vec<Diagnostic>> {
        match self {
            Base::Preset(name) => match preset(name) {
                Some(preset) => read_preset(preset),
                None => Err(vec![presets::unknown(name, PRESETS)]),
            },
            Base::File(path) => {
                let name = clean(&path.to_string_lossy());
                let text = read(path, &Interrupt::default()).map_err(|error| vec![error])?;
                if is_json(path) {
                    let object = object(&name, &text).map_err(|error| vec![error])?;
                    return Ok(document::from_json(&name, &object, ""));
                }
                document::parse(&Arc::new(Origin::Text { name, text }))
            }
            Base::Text { name, text } => {
                document::parse(&Arc::new(Origin::Text { name: name.clone(), text: text.clone() }))
            }
            Base::Object { name, object } => Ok(document::from_json(name, object, "")),
        }
    }

    fn place(&self) -> OriginPlace {
        OriginPlace::named(match self {
            Base::File(path) => clean(&path.to_string_lossy()),
            Base::Preset(name) => format!("preset {}", clean(name)),
            Base::Text { name, .. } | Base::Object { name, .. } => name.clone(),
        })
    }
}

/// True for a file that holds JSON by its name: such as a run that failed leaves to be repeated.
fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// The keys of a file of JSON.
fn object(name: &str, text: &str) -> Result<serde_json::Map<String, serde_json::Value>, Diagnostic> {
    serde_json::from_str(text).map_err(|error| {
        Diagnostic::new("the config is no JSON object")
            .at(&OriginPlace::named(name.to_owned()))
            .label(format!("{error}; expected an object of the keys that a TOML file has"))
    })
}

fn read_preset(preset: &Preset) -> Result<Vec<KeyValue>, Vec<Diagnostic>> {
    let name = format!("preset {}", preset.name);
    document::parse(&Arc::new(Origin::Text { name, text: preset.text().to_owned() }))
}

/// The text of a file.
fn read(path: &Path, interrupt: &Interrupt) -> Result<String, Diagnostic> {
    let place = OriginPlace::named(clean(&path.to_string_lossy()));
    let refuse = |title: String, label: &str| Diagnostic::new(title).at(&place).label(label);
    let cannot = |error: std::io::Error| unreadable(path, &error).at(&place);
    let file = Input::open(path, interrupt).map_err(cannot)?;
    if file.metadata().is_dir() {
        return Err(refuse("the config is a directory".into(), "expected a TOML file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(refuse(
            "the config is longer than 1 MiB".into(),
            "expected a TOML file; a trace is given with `--trace FILE` or `workload.trace`",
        ));
    }
    String::from_utf8(bytes).map_err(|error| not_text(&place, error.as_bytes(), error.utf8_error().valid_up_to()))
}

fn not_text(place: &OriginPlace, bytes: &[u8], at: usize) -> Diagnostic {
    let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    Diagnostic::new("the config is not UTF-8 text").at(place).label(format!(
        "byte {at} in line {line} is 0x{:02x}; expected a TOML file",
        bytes.get(at).copied().unwrap_or(0)
    ))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    if error.kind() != std::io::ErrorKind::NotFound {
        let reason = match error.kind() {
            std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        return Diagnostic::new("the config cannot be read").label(reason);
    }
    let names = || PRESETS.iter().map(|preset| preset.name);
    Diagnostic::new("there is no such config")
        .label(format!("expected a TOML file, or a preset: {}", list(names())))
        .maybe_hint(path.to_str().and_then(|name| did_you_mean(name, names())))
}

/// A resolved config, and where each of its values came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The config.
    pub config: Config,
    tree: Tree,
    /// The base as a whole, for keys that were not given.
    base: OriginPlace,
    /// Values that were taken otherwise than they were written.
    pub notes: Vec<String>,
}

impl Loaded {
    /// A refusal found after reading, pointing at the key (`device.over_provisioning`) where it was given.
    pub fn refuse(&self, key: &str, message: impl Into<String>, help: impl Into<String>) -> Diagnostics {
        let diagnostic = Diagnostic::new(message).hint(help);
        match self.tree.place(key) {
            Some(place) => diagnostic.at(place).into(),
            None => diagnostic.at(&self.base).label(format!("`{key}` has its default")).into(),
        }
    }

    /// The resolved config as TOML.
    pub fn to_toml(&self) -> String {
        print::to_toml(&self.config)
    }

    /// The resolved config as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        print::to_json(&self.config)
    }
}

/// Reads `base`, lays `sets` (each `a.b=v`) over it, with `trace` in place of its workload's source, and
/// resolves the whole.
///
/// # Errors
/// Every problem that was found.
pub fn load(base: &Base, sets: &[String], trace: Option<&str>, registry: &Registry) -> Result<Loaded, Diagnostics> {
    let keys = keys(registry);
    let mut problems = Problems::default();
    let mut tree = base_layers(base, &keys, &mut problems);
    let command_line = command_line(sets, trace, &keys, &mut problems);
    if let Some(tree) = &mut tree {
        tree.overlay(command_line);
    }
    // Without a base, what follows from its keys would be noise.
    let Some(tree) = tree else { return Err(Diagnostics::sorted(problems, &base.place())) };
    let mut reader = Reader { tree: &tree, keys: &keys, problems };
    let config = resolve(&mut reader, registry);
    let mut problems = reader.problems;
    match config {
        Some(config) if problems.is_empty() => {
            Ok(Loaded { config, tree, base: base.place(), notes: problems.take_notes() })
        }
        _ => Err(Diagnostics::sorted(problems, &base.place())),
    }
}

/// The base's keys over those of the preset it names; `None` when it cannot be read at all.
fn base_layers(base: &Base, keys: &[Key], problems: &mut Problems) -> Option<Tree> {
    let mut entries = match base.entries() {
        Ok(entries) => entries,
        Err(errors) => {
            problems.extend(errors);
            return None;
        }
    };
    let mut tree = Tree::default();
    if let Some(at) = entries.iter().position(|entry| entry.key == BASE) {
        tree.overlay(named_preset(&entries.remove(at).node, keys, problems)?);
    }
    let upper = Sorter { keys, problems, is_file: true }.sort(entries);
    tree.overlay(upper);
    Some(tree)
}

fn named_preset(node: &Node, keys: &[Key], problems: &mut Problems) -> Option<Tree> {
    let preset = match presets::named(node, PRESETS) {
        Ok(preset) => preset,
        Err(problem) => {
            problems.push(problem);
            return None;
        }
    };
    match read_preset(preset) {
        Ok(entries) => Some(Sorter { keys, problems, is_file: true }.sort(entries)),
        Err(errors) => {
            problems.extend(errors);
            None
        }
    }
}

fn command_line(sets: &[String], trace: Option<&str>, keys: &[Key], problems: &mut Problems) -> Tree {
    let mut tree = Tree::default();
    for set in sets {
        match document::parse_set(set) {
            Ok(entry) if entry.key == BASE => problems.push(preset_by_set(&entry)),
            Ok(entry) => Sorter { keys, problems, is_file: false }.table(vec![entry], "", &mut tree),
            Err(problem) => problems.push(problem),
        }
    }
    if let Some(trace) = trace {
        let place = OriginPlace::named(format!("--trace {}", clean(trace)));
        let node = Node { place: place.clone(), value: Value::String(trace.to_owned()) };
        let key = KeyValue { key: "trace".into(), place: place.clone(), node };
        let table = Node { place: place.clone(), value: Value::Table(vec![key]) };
        Sorter { keys, problems, is_file: false }.table(
            vec![KeyValue { key: "workload".into(), place, node: table }],
            "",
            &mut tree,
        );
    }
    tree
}

fn preset_by_set(entry: &KeyValue) -> Diagnostic {
    Diagnostic::new("`preset` cannot be set")
        .at(&entry.place)
        .label("the preset is what the config starts from: name it in place of the config file, or in it")
}
