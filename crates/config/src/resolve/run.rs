//! `[run]`: executor, seed and preconditioning.

use crate::diagnostic::Diagnostic;
use crate::document::Value;
use crate::model::{Precondition, Run};
use crate::reader::Reader;
use crate::sample;
use crate::units::list;

pub(super) fn run(reader: &mut Reader<'_>, sizes: Option<(u64, u64)>) -> Option<Run> {
    let executor = reader.word("run.executor");
    let seed = reader.count("run.seed");
    let checks = reader.word("run.checks");
    let payload = reader.word("run.payload");
    let latency_parts = reader.flag("run.latency_parts");
    let per_request = reader.flag("run.per_request");
    let precondition = precondition(reader, sizes.map(|(capacity, _)| capacity));
    let sample = sample::read(reader, sizes.map(|(_, page_size)| page_size));
    Some(Run {
        executor: executor?,
        seed: seed?,
        checks: checks?,
        payload: payload?,
        latency_parts: latency_parts?,
        per_request: per_request?,
        precondition: precondition?,
        sample: sample?,
    })
}

const PRECONDITION: &str = "run.precondition";
const PRECONDITIONS: [&str; 7] = ["none", "sequential", "random", "worn", "steady", "workload", "state"];

fn precondition(reader: &mut Reader<'_>, capacity: Option<u64>) -> Option<Precondition> {
    let node = reader.raw(PRECONDITION)?;
    match &node.value {
        Value::String(name) => match name.as_str() {
            "none" => Some(Precondition::None),
            "steady" => Some(Precondition::Steady),
            "workload" => Some(Precondition::Workload),
            name => {
                reader.problems.push(bad_precondition(name).at(&node.place));
                None
            }
        },
        Value::Table(entries) => match &entries[..] {
            [entry] => aged(reader, entry, capacity),
            [_, second, ..] => {
                let names = list(entries.iter().map(|entry| crate::diagnostic::clean(&entry.key)));
                let title = format!("`{PRECONDITION}` makes {} choices at once: {names}", entries.len());
                reader.problem(&second.place, title, "expected one of them");
                None
            }
            [] => {
                reader.unexpected(PRECONDITION, &node);
                None
            }
        },
        _ => {
            reader.unexpected(PRECONDITION, &node);
            None
        }
    }
}

fn aged(reader: &mut Reader<'_>, entry: &crate::document::KeyValue, capacity: Option<u64>) -> Option<Precondition> {
    let path = format!("{PRECONDITION}.{}", entry.key);
    let assumed = capacity.unwrap_or(1 << 20);
    match entry.key.as_str() {
        "sequential" => reader.volume_of(&path, &entry.node, assumed).map(|volume| Precondition::Sequential { volume }),
        "random" => reader.volume_of(&path, &entry.node, assumed).map(|volume| Precondition::Random { volume }),
        "worn" => reader.volume_of(&path, &entry.node, assumed).map(|volume| Precondition::Worn { volume }),
        "state" => reader.file_name(&path, &entry.node).map(|path| Precondition::State { path }),
        name @ ("none" | "steady" | "workload") => {
            let title = format!("precondition `{name}` takes no value");
            reader.problem(&entry.node.place, title, format!("expected `precondition = \"{name}\"`"));
            None
        }
        name => {
            reader.problems.push(bad_precondition(name).at(&entry.place));
            None
        }
    }
}

fn bad_precondition(name: &str) -> Diagnostic {
    let takes = |what: &str, example: &str| {
        Diagnostic::new(format!("precondition `{name}` needs {what}"))
            .label(format!("expected `precondition.{name} = \"{example}\"`"))
    };
    match name {
        "sequential" => takes("a volume", "1x"),
        "random" => takes("a volume", "3x"),
        "worn" => takes("a volume", "3x"),
        "state" => takes("a file", "FILE"),
        _ => Diagnostic::new(format!("unknown precondition `{}`", crate::diagnostic::clean(name)))
            .label(format!("expected one of {}", list(PRECONDITIONS)))
            .maybe_hint(crate::diagnostic::did_you_mean(name, PRECONDITIONS)),
    }
}
