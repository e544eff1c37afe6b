//! Configurations, presets and the registry of choices.

use std::path::PathBuf;

use base::{Choice, Param, ParamKind};
use config::{Base, Config, Loaded, sample};
use files::Interrupt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::caller::Caller;
use crate::{errors, guard, policy};

/// The name in messages of a configuration that is no file.
const UNNAMED: &str = "config";

/// A configuration as Python gives it: text, or a name that may be no text to a file system that asks for none.
#[derive(FromPyObject)]
pub(crate) enum Given {
    Text(String),
    Path(PathBuf),
}

impl Given {
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Given::Text(name) => PathBuf::from(name),
            Given::Path(path) => path.clone(),
        }
    }

    fn text(&self) -> PyResult<&str> {
        match self {
            Given::Text(text) => Ok(text),
            Given::Path(_) => Err(errors::config("the configuration is not UTF-8 text; expected TOML")),
        }
    }
}

/// Reads and checks a configuration, of which `kind` says what `source` is; `interrupt` may stop the reading.
pub(crate) fn load(
    kind: &str,
    source: &Given,
    sets: &[String],
    trace: Option<&str>,
    interrupt: &Interrupt,
) -> PyResult<Loaded> {
    let base = read(kind, source, interrupt)?;
    let loaded = config::load(&base, sets, trace, &device::registry()).map_err(errors::config)?;
    match device::check(&loaded.config).and_then(|()| check_part(&loaded.config)) {
        Ok(()) => Ok(loaded),
        Err(refusal) => Err(errors::config(loaded.refuse(refusal.key, refusal.message, refusal.help))),
    }
}

/// Reads a configuration, of which `kind` says what `source` is.
fn read(kind: &str, source: &Given, interrupt: &Interrupt) -> PyResult<Base> {
    let base = match kind {
        "argument" => Base::argument(source.path()),
        "file" => Base::File(source.path()),
        "text" => Base::Text { name: UNNAMED.into(), text: source.text()?.into() },
        "json" => Base::Object { name: UNNAMED.into(), object: object(source.text()?)? },
        _ => return Err(PyValueError::new_err(format!("unknown kind of configuration `{kind}`"))),
    };
    base.read(interrupt).map_err(errors::config)
}

/// Refuses samples that cannot stand for the whole, and those that no device can have.
fn check_part(config: &Config) -> Result<(), device::Refusal> {
    if config.run.sample.is_none() {
        return Ok(());
    }
    let part = sample::part(config, 0);
    let part = part.map_err(|sample::Refused { key, message, help }| device::Refusal { key, message, help })?;
    device::check(&part)
}

/// The device that is simulated: where a configuration that was [read](load) asks for samples, the one of this number.
pub(crate) fn simulated(config: &Config, number: u32) -> Config {
    match config.run.sample {
        Some(_) => sample::part(config, number).expect("what cannot be sampled was refused"),
        None => config.clone(),
    }
}

/// As [`load`], of a drive of real bytes whose host is somebody else: it needs no workload, and one that is there is not looked at.
pub(crate) fn load_drive(
    py: Python<'_>,
    kind: &str,
    source: &Given,
    sets: &[String],
    caller: &Caller,
) -> PyResult<Loaded> {
    let loaded = py.detach(|| {
        let base = read(kind, source, &caller.interrupt())?;
        device::load_drive(&base, sets).map_err(errors::config)
    });
    caller.result(loaded, |error| error)
}

/// As [`load`], with the user's own policies; also refuses what needs more memory than there is.
pub(crate) fn load_to_run(
    kind: &str,
    source: &Given,
    sets: &[String],
    trace: Option<&str>,
    saves_state: bool,
    caller: &Caller,
) -> PyResult<Loaded> {
    let mut loaded = load(kind, source, sets, trace, &caller.interrupt())?;
    if policy::has_own(&loaded) {
        Python::attach(|py| policy::load(py, &mut loaded, caller))?;
    }
    match device::memory::check(&simulated(&loaded.config, 0), saves_state) {
        Ok(()) => Ok(loaded),
        Err(refusal) => Err(errors::config(loaded.refuse(refusal.key, refusal.message, refusal.help))),
    }
}

fn object(source: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(source).map_err(|error| {
        errors::config(format!("the configuration is not a JSON object: {error}\nhint: expected keys and values"))
    })
}

/// Bytes of memory that a run needs at most at one time, about; refused if there are not as many.
#[pyfunction]
#[pyo3(signature = (kind, source, sets, trace=None))]
pub(crate) fn memory_needed(
    py: Python<'_>,
    kind: &str,
    source: Given,
    sets: Vec<String>,
    trace: Option<String>,
) -> PyResult<u64> {
    guard::run(
        || format!("memory of a {kind} configuration"),
        || {
            let caller = Caller::new(None);
            let loaded = py.detach(|| load_to_run(kind, &source, &sets, trace.as_deref(), false, &caller));
            let loaded = caller.result(loaded, |error| error)?;
            Ok(device::memory::needed(&simulated(&loaded.config, 0), false))
        },
    )
}

/// Bytes of memory that this process can still take, and what limits it; nothing where the system does not say.
#[pyfunction]
pub(crate) fn memory_room() -> Option<(u64, String)> {
    device::memory::room().map(|room| (room.bytes, room.limit.to_string()))
}

/// The resolved configuration as TOML and as JSON text.
#[pyfunction]
#[pyo3(signature = (kind, source, sets, trace=None))]
pub(crate) fn resolve(
    py: Python<'_>,
    kind: &str,
    source: Given,
    sets: Vec<String>,
    trace: Option<String>,
) -> PyResult<(String, String)> {
    guard::run(
        || format!("a {kind} configuration"),
        || {
            let caller = Caller::new(None);
            let loaded = py.detach(|| load(kind, &source, &sets, trace.as_deref(), &caller.interrupt()));
            let loaded = caller.result(loaded, |error| error)?;
            Ok((loaded.to_toml(), loaded.to_json().to_string()))
        },
    )
}

/// Name, one line, and TOML text of every preset, and whether it is the device of a paper.
#[pyfunction]
pub(crate) fn presets() -> Vec<(&'static str, &'static str, &'static str, bool)> {
    config::PRESETS
        .iter()
        .map(|preset| (preset.name, preset.description(), preset.text(), preset.is_of_paper()))
        .collect()
}

/// Features of the chips, seams and generators, with choices and their parameters, as JSON text.
#[pyfunction]
pub(crate) fn registry() -> String {
    let registry = device::registry();
    let seams: Vec<Value> = registry
        .seams
        .iter()
        .map(|seam| json!({ "key": seam.key, "doc": seam.doc, "choices": choices(seam.choices) }))
        .collect();
    let feature = |feature: &&base::FeatureKey| json!({ "key": feature.key, "doc": feature.doc, "choices": choices(feature.choices) });
    let features: Vec<Value> = registry.features.iter().map(feature).collect();
    json!({ "features": features, "seams": seams, "generators": choices(registry.generators) }).to_string()
}

/// Every key with what it takes, its default and its meaning, as JSON text.
#[pyfunction]
pub(crate) fn reference() -> String {
    config::reference(&device::registry()).to_string()
}

/// Of every part of the simulator, by area: the behaviour that is modelled and that is not, as JSON text.
#[pyfunction]
pub(crate) fn scopes() -> String {
    let scope = |scope: &&base::Scope| {
        json!({
            "area": scope.area.name(),
            "name": scope.name,
            "keys": scope.keys,
            "modelled": scope.modelled,
            "not_modelled": scope.not_modelled,
        })
    };
    served::scopes().iter().map(scope).collect::<Value>().to_string()
}

fn choices(choices: &[Choice]) -> Value {
    let choice = |choice: &Choice| {
        let params: Vec<Value> = choice.params.iter().map(param).collect();
        json!({ "name": choice.name, "doc": choice.doc, "params": params })
    };
    choices.iter().map(choice).collect()
}

fn param(param: &Param) -> Value {
    let declared = match param.kind {
        ParamKind::Integer { default, min, max } => {
            json!({ "kind": "integer", "default": default, "min": min, "max": max })
        }
        ParamKind::Number { default, min, max } => {
            json!({ "kind": "number", "default": default, "min": min, "max": max })
        }
        ParamKind::Flag { default } => json!({ "kind": "flag", "default": default }),
        ParamKind::Word(words) => json!({ "kind": "word", "default": words[0], "words": words }),
        ParamKind::Size { default, min, max } => json!({ "kind": "size", "default": default, "min": min, "max": max }),
        ParamKind::Time { default, min, max } => {
            json!({ "kind": "time", "default": default.ns(), "min": min.ns(), "max": max.ns() })
        }
    };
    let mut keys = Map::from_iter([("name".to_owned(), json!(param.name)), ("doc".to_owned(), json!(param.doc))]);
    keys.extend(declared.as_object().cloned().unwrap_or_default());
    Value::Object(keys)
}
