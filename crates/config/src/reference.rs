//! The reference page of all keys, printed from the same declarations that the reader uses.

use std::fmt::Write;

use base::{Choice, Param};
use serde_json::{Value, json};

use crate::Registry;
use crate::keys::{Key, Kind, SECTIONS, TENANT_KEYS, UNLIMITED, keys};
use crate::presets::PRESETS;
use crate::print::parameter;
use crate::reader::{expected, kind_of};
use crate::tenants::TENANT;

const TENANT_DOC: &str = "A host among several that share the device, in place of `[workload]`: one table for each. It has the keys of \
    `[workload]`, in its own addresses, and `replay` and `queue_depth` for itself. `host.queue_depth` is then how many commands of \
    all of them the controller has at once (256 where it is not given; assumed). A generator without an end goes on for as long as \
    the others. `--set tenant.NAME.KEY=VALUE` sets a key of one (executor `timed`).";

const HEAD: &str = "\
# Configuration reference

<!-- Generated from the declarations in `crates/config` and the registries of policies; a test compares. -->

A config is a TOML file. Every key has a default; `ftlab presets NAME` prints a whole config with comments.

**Quantities** are texts with a unit. Sizes: `B`, `KiB`, `MiB`, `GiB`, `TiB`, `PiB` (powers of 1024), `kB`, `MB`,
`GB`, `TB`, `PB` (powers of 1000); a plain number is bytes. Times: `ns`, `us`, `ms`, `s`; only 0 needs no unit.
Channel rates: `kT/s`, `MT/s`, `GT/s`, a channel being 8 bits wide. Bandwidths: `kB/s`, `MB/s`, `GB/s`, `KiB/s`,
`MiB/s`, `GiB/s`. Decimal fractions are exact; what is not a whole number of bytes or nanoseconds is refused. In
volumes and footprints, `x` and `%` are of the user capacity and round down to a byte (a footprint to a whole
request).

**A choice** is a string where its parameters keep their defaults, `victim = \"rga\"`, and carries them under its own
name where they do not: `victim.rga.d = 4`, or `victim = { rga = { d = 4 } }`.

**Layers.** `preset = \"NAME\"` as the first key of a file starts from that preset; the file's keys replace the
preset's, `--set a.b=v` and `--trace FILE` replace the file's. A parameter of the choice below (`victim.rga.d = 4`)
replaces that parameter alone. A choice of another name, and one named without parameters (`victim = \"rga\"`), replace the
choice with its parameters. `user_capacity` and `over_provisioning` replace each other; a `trace` replaces a `generator` with its keys and the end of the
workload, and the other way round; an `allocation` replaces a `binding`; a closed `replay` with time replaces `interval` and its like. On the command line the last `--set` of a key
counts. A value of `--set` is TOML, or a plain word where it is not. Files are named relative to the working
directory. Presets build on presets in the same way, but give choices whole; `ftlab presets NAME` prints all of one.

A run's summary holds the resolved config; as TOML or JSON it can be given back and means the same.
";

/// The page, in Markdown.
pub fn reference_page(registry: &Registry) -> String {
    let keys = keys(registry);
    let mut page = String::from(HEAD);
    for (section, doc) in SECTIONS {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## `[{section}]`\n\n{doc}\n\n");
        page.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
        for key in keys.iter().filter(|key| key.section == *section) {
            let _ = writeln!(page, "| `{}` | {} | {} | {} |", key.name, cell(&takes(key)), default(key), cell(key.doc));
        }
        for key in keys.iter().filter(|key| key.section == *section) {
            if let Kind::Choice(choices) = key.kind {
                choices_of(&mut page, key, choices);
            }
        }
    }
    let _ = write!(page, "\n## `[[{TENANT}]]`\n\n{TENANT_DOC}\n\n");
    page.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in TENANT_KEYS {
        let _ = writeln!(page, "| `{}` | {} | {} | {} |", key.name, cell(&takes(key)), default(key), cell(key.doc));
    }
    for (title, of_papers) in [("Presets: drives", false), ("Presets: devices of papers", true)] {
        let _ = write!(page, "\n## {title}\n\n| preset | what it is |\n|---|---|\n");
        for preset in PRESETS.iter().filter(|preset| preset.is_of_paper() == of_papers) {
            let _ = writeln!(page, "| `{}` | {} |", preset.name, cell(preset.description()));
        }
    }
    page
}

/// Every key and choice as data, for help on one key and for editors: `schema` is a fragment of JSON schema.
pub fn reference(registry: &Registry) -> Value {
    let keys = keys(registry);
    let described = keys.iter().map(|key| {
        json!({
            "key": key.path(),
            "takes": expected(key.kind),
            "default": default(key).trim_matches('`'),
            "doc": key.doc,
            "choices": match key.kind {
                Kind::Choice(choices) => choices.iter().map(described_choice).collect(),
                _ => Vec::new(),
            },
            "schema": schema_of(key, registry),
        })
    });
    let mut sections: Vec<Value> = SECTIONS.iter().map(|(name, doc)| json!({ "name": name, "doc": doc })).collect();
    sections.push(json!({ "name": TENANT, "doc": TENANT_DOC, "is_array": true }));
    json!({ "sections": sections, "keys": described.collect::<Vec<_>>() })
}

fn described_choice(choice: &Choice) -> Value {
    let param = |param: &Param| {
        json!({
            "name": param.name,
            "takes": expected(kind_of(param)),
            "default": default_of(param).trim_matches('"'),
            "doc": param.doc,
        })
    };
    json!({ "name": choice.name, "doc": choice.doc, "params": choice.params.iter().map(param).collect::<Vec<_>>() })
}

/// The values of a key as JSON schema, a policy of the user's own included.
fn schema_of(key: &Key, registry: &Registry) -> Value {
    let schema = schema(key.kind);
    if key.section == "ftl" && registry.own.contains(&key.name) {
        return json!({ "anyOf": [schema, { "type": "string", "pattern": ".:." }] });
    }
    schema
}

/// The values of a kind as JSON schema. Quantities are texts there, of which the units are not checked.
fn schema(kind: Kind) -> Value {
    match kind {
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Counts { min, max } => {
            json!({ "type": "array", "items": { "type": "integer", "minimum": min, "maximum": max } })
        }
        Kind::CountOrCounts { min, max, most } => {
            let one = json!({ "type": "integer", "minimum": min, "maximum": max });
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "maxItems": most }] })
        }
        Kind::Numbers { min, max } => {
            json!({ "type": "array", "items": { "type": "number", "minimum": min, "maximum": max } })
        }
        Kind::Depth { min, max } => json!({ "anyOf": [
            { "enum": [UNLIMITED] },
            { "type": "integer", "minimum": min, "maximum": max },
        ] }),
        Kind::Part { .. } => json!({ "type": "string", "pattern": "^(off|1 */ *[1-9][0-9]*)$" }),
        Kind::ReadLimit => json!({ "anyOf": [
            { "enum": ["none", "cell"] },
            { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 2, "maxItems": 2 },
        ] }),
        Kind::Number { min, max, above: false } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Number { min, max, above: true } => json!({ "type": "number", "exclusiveMinimum": min, "maximum": max }),
        Kind::Ratio { min, max } => json!({ "anyOf": [
            { "type": "number", "exclusiveMinimum": min, "maximum": max },
            { "type": "string", "pattern": "^ *[0-9]+([.][0-9]+)? *% *$" },
        ] }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Word(names) => json!({ "enum": names() }),
        Kind::Name(names) => json!({ "enum": names }),
        Kind::Path | Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Times { .. } => json!({ "anyOf": [
            { "type": ["string", "number"] },
            { "type": "array", "items": { "type": ["string", "number"] } },
        ] }),
        Kind::Size { .. } | Kind::Time { .. } | Kind::Rate { .. } | Kind::Bandwidth { .. } => {
            json!({ "type": ["string", "number"] })
        }
        Kind::Volume | Kind::Footprint => json!({ "type": ["string", "integer"] }),
        Kind::Choice(choices) => one_of(choices),
        Kind::Precondition => json!({ "anyOf": [
            { "enum": ["none", "steady", "workload"] },
            {
                "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
                "properties": {
                    "sequential": schema(Kind::Volume), "random": schema(Kind::Volume),
                    "worn": schema(Kind::Volume), "state": schema(Kind::Path),
                },
            },
        ] }),
    }
}

/// A choice: its name, or a table that has its parameters under its name.
fn one_of(choices: &[Choice]) -> Value {
    let tables = choices.iter().map(|choice| {
        let params = choice.params.iter().map(|param| {
            let mut fragment = schema(kind_of(param));
            fragment["description"] = json!(param.doc);
            (param.name.to_owned(), fragment)
        });
        let table = json!({
            "type": "object", "description": choice.doc, "additionalProperties": false,
            "properties": Value::Object(params.collect()),
        });
        (choice.name.to_owned(), table)
    });
    json!({ "anyOf": [
        { "enum": choices.iter().map(|choice| choice.name).collect::<Vec<_>>() },
        {
            "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
            "properties": Value::Object(tables.collect()),
        },
    ] })
}

fn takes(key: &Key) -> String {
    match key.kind {
        Kind::Choice(_) => "a choice, below".into(),
        kind => expected(kind),
    }
}

fn default(key: &Key) -> String {
    match (key.kind, key.default) {
        (Kind::Choice(choices), _) if key.section != "workload" => match (key.name, choices.first()) {
            ("binding", _) => "by the allocation".into(),
            (_, Some(first)) => format!("`\"{}\"`", first.name),
            (_, None) => "none".into(),
        },
        (_, "") => match key.name {
            "user_capacity" => "by `over_provisioning`".into(),
            "request_size" | "sample_run" => "one page".into(),
            "queue_depth" => "by `replay`".into(),
            name if name.starts_with("copyback_") => "by `retention`".into(),
            _ => "none".into(),
        },
        (_, default) => format!("`{default}`"),
    }
}

/// Choices that share their description are listed together: the static orders would fill the page.
fn choices_of(page: &mut String, key: &Key, choices: &[Choice]) {
    let _ = write!(page, "\n### `{}.{}`\n\n| choice | meaning | parameters |\n|---|---|---|\n", key.section, key.name);
    for group in choices.chunk_by(|a, b| a.doc == b.doc) {
        let names: Vec<String> = group.iter().map(|choice| format!("`{}`", choice.name)).collect();
        let params: Vec<String> = group[0]
            .params
            .iter()
            .map(|param| {
                format!("`{}` = {}: {} ({})", param.name, default_of(param), param.doc, expected(kind_of(param)))
            })
            .collect();
        let _ = writeln!(page, "| {} | {} | {} |", names.join(" "), cell(group[0].doc), cell(&params.join("; ")));
    }
}

fn default_of(param: &Param) -> String {
    parameter(param.default()).to_string()
}

/// Text inside a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
