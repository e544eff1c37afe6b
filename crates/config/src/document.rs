//! The text of the user, as a tree in which every value knows its place.

use std::sync::Arc;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Origin, OriginPlace, clean};

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: OriginPlace,
    pub(crate) value: Value,
}

/// A value of TOML (or JSON).
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    /// `None`: past 128 bits.
    Integer(Option<i128>),
    Float(f64),
    Bool(bool),
    Date,
    Null,
    Array(Vec<Node>),
    Table(Vec<KeyValue>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct KeyValue {
    pub(crate) key: String,
    /// The place of the key itself.
    pub(crate) place: OriginPlace,
    pub(crate) node: Node,
}

impl Node {
    /// The value in words, for messages: ``the string `x` ``.
    pub(crate) fn found(&self) -> String {
        match &self.value {
            Value::String(text) => format!("the string \"{}\"", clean(text)),
            Value::Integer(Some(number)) => number.to_string(),
            Value::Integer(None) => "a very large whole number".into(),
            Value::Float(number) => format!("{number:?}"),
            Value::Bool(value) => format!("`{value}`"),
            Value::Date => "a date or time of day".into(),
            Value::Null => "`null`".into(),
            Value::Array(_) => "an array".into(),
            Value::Table(_) => "a table".into(),
        }
    }
}

/// Names in a path at most; `ftl.victim.rga.d` has four.
const DEPTH_MAX: usize = 8;

/// The deepest table that would be right, in place of a nest of them.
const DEEPEST: &str = "no table deeper than a choice's parameters, such as `[ftl.victim.rga]`";

/// Syntax errors printed before giving up.
const SYNTAX_ERRORS_MAX: usize = 10;

/// Reads a TOML text.
pub(crate) fn parse(origin: &Arc<Origin>) -> Result<Vec<KeyValue>, Vec<Diagnostic>> {
    let Origin::Text { text, .. } = &**origin else { return Ok(Vec::new()) };
    if text.trim_start().starts_with('{') {
        return Err(vec![json(origin, text)]);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(entries(table.get_ref(), origin));
    }
    let mut errors: Vec<_> = errors.iter().map(|error| (error.span(), error.message().to_owned())).collect();
    errors.sort_by_key(|(span, _)| span.as_ref().map(|span| span.start));
    // What follows the first error of a line is most often its echo.
    errors.dedup_by(|(later, _), (earlier, _)| match (earlier, later) {
        (Some(earlier), Some(later)) => {
            text.get(earlier.start..later.start).is_none_or(|between| !between.contains('\n'))
        }
        (earlier, later) => earlier == later,
    });
    errors.truncate(SYNTAX_ERRORS_MAX);
    Err(errors.into_iter().map(|(span, message)| syntax_error(origin, span, &message)).collect())
}

/// No TOML text begins with a brace, and every JSON object does.
fn json(origin: &Arc<Origin>, text: &str) -> Diagnostic {
    let start = text.len() - text.trim_start().len();
    Diagnostic::new("not valid TOML: it begins as JSON does")
        .at(&OriginPlace { origin: origin.clone(), span: Some(start..start + 1) })
        .label("expected TOML: `key = value`, one on a line")
        .hint("a JSON object goes in by Python: `ftlab.run(json.load(open(FILE)))`")
}

fn syntax_error(origin: &Arc<Origin>, span: Option<std::ops::Range<usize>>, message: &str) -> Diagnostic {
    let missing = span.as_ref().is_some_and(std::ops::Range::is_empty);
    let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
    // The parser's words, where they would mislead: to it, a value that is none is a text without quotes.
    let (title, expected) = match (what, expected) {
        ("recursion limit" | "cannot recurse further; max recursion depth met", _) => {
            ("the config is nested too deeply".to_owned(), DEEPEST)
        }
        ("duplicate key", _) => ("a key or table is given twice".to_owned(), "each once"),
        ("string values must be quoted", _) if missing => ("not valid TOML: a value is missing".to_owned(), "a value"),
        ("string values must be quoted", _) => {
            ("not valid TOML: not a value".to_owned(), "a number, `true`, `false`, an array, or a text in quotes")
        }
        (what, "newline, `#`") => (format!("not valid TOML: {what}"), "the end of the line"),
        (what, "nothing") => (format!("not valid TOML: {what}"), ""),
        (what, expected) => (format!("not valid TOML: {what}"), expected),
    };
    let diagnostic = Diagnostic::new(title).at(&OriginPlace { origin: origin.clone(), span });
    match expected {
        "" => diagnostic.label("expected TOML: `key = value`, one on a line"),
        expected => diagnostic.label(format!("expected {expected}")),
    }
}

fn entries(table: &DeTable<'_>, origin: &Arc<Origin>) -> Vec<KeyValue> {
    let mut entries: Vec<KeyValue> = table.iter().map(|(key, value)| entry(key, value, origin)).collect();
    // In the order of the text, whatever order the parser's table keeps.
    entries.sort_by_key(|entry| entry.place.span.as_ref().map(|span| span.start));
    entries
}

fn entry(key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>, origin: &Arc<Origin>) -> KeyValue {
    let place = OriginPlace { origin: origin.clone(), span: Some(key.span()) };
    KeyValue { key: key.get_ref().to_string(), place, node: node(value, origin) }
}

fn node(value: &Spanned<DeValue<'_>>, origin: &Arc<Origin>) -> Node {
    let place = OriginPlace { origin: origin.clone(), span: Some(value.span()) };
    let value = match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).ok()),
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::Array(items.iter().map(|item| node(item, origin)).collect()),
        DeValue::Table(table) => Value::Table(entries(table, origin)),
    };
    Node { place, value }
}

/// A tree from a JSON object (a Python dictionary, a summary's `config`); places are paths of keys.
pub(crate) fn from_json(name: &str, object: &serde_json::Map<String, Json>, prefix: &str) -> Vec<KeyValue> {
    object
        .iter()
        .map(|(key, value)| {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            let place = OriginPlace::named(format!("{name}: {}", clean(&path)));
            KeyValue { key: key.clone(), place: place.clone(), node: json_node(name, value, &path, place) }
        })
        .collect()
}

fn json_node(name: &str, value: &Json, path: &str, place: OriginPlace) -> Node {
    let value = match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i128() {
            Some(whole) => Value::Integer(Some(whole)),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => {
            Value::Array(items.iter().map(|item| json_node(name, item, path, place.clone())).collect())
        }
        Json::Object(object) => Value::Table(from_json(name, object, path)),
    };
    Node { place, value }
}

/// The tree of one `--set a.b=v`: the value is TOML, or a bare string where it is not.
pub(crate) fn parse_set(set: &str) -> Result<KeyValue, Diagnostic> {
    let place = OriginPlace::named(format!("--set {}", clean(set)));
    let (path, text) = set.split_once('=').ok_or_else(|| {
        Diagnostic::new("`--set` takes a key and a value")
            .at(&place)
            .label("expected `--set KEY=VALUE`, for example `--set ftl.victim=greedy`")
    })?;
    let segments: Vec<&str> = path.split('.').map(str::trim).collect();
    if segments.iter().any(|segment| segment.is_empty()) {
        let label = "expected a path of names, for example `device.timing.read`";
        return Err(Diagnostic::new(format!("`{}` is not a key", clean(path))).at(&place).label(label));
    }
    if segments.len() > DEPTH_MAX {
        let title = format!("`{}` is not a key: {} names are too many", clean(path), segments.len());
        return Err(Diagnostic::new(title).at(&place).label(format!("expected {DEEPEST}")));
    }
    let mut node = Node { place: place.clone(), value: set_value(text, &place) };
    for segment in segments[1..].iter().rev() {
        let entry = KeyValue { key: (*segment).to_owned(), place: place.clone(), node };
        node = Node { place: place.clone(), value: Value::Table(vec![entry]) };
    }
    Ok(KeyValue { key: segments[0].to_owned(), place, node })
}

fn set_value(text: &str, place: &OriginPlace) -> Value {
    let document = format!("value = {text}");
    match DeTable::parse(&document) {
        Ok(table) if table.get_ref().len() == 1 => {
            let parsed = entries(table.get_ref(), &place.origin).remove(0);
            relocate(parsed.node, place).value
        }
        _ => Value::String(text.trim().to_owned()),
    }
}

/// Spans inside a `--set` point into a text that the user did not write: the set as a whole is the place.
fn relocate(node: Node, place: &OriginPlace) -> Node {
    let value = match node.value {
        Value::Array(items) => Value::Array(items.into_iter().map(|item| relocate(item, place)).collect()),
        Value::Table(entries) => Value::Table(
            entries
                .into_iter()
                .map(|entry| KeyValue { place: place.clone(), node: relocate(entry.node, place), ..entry })
                .collect(),
        ),
        other => other,
    };
    Node { place: place.clone(), value }
}
