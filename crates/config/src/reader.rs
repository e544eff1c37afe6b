//! Typed access to the keys that were given, with each key's declared type, range and default.

use std::ops::RangeInclusive;
use std::sync::Arc;

use base::{Choice, Duration, Own, Param, ParamKind, ParamValue, Selection};

use crate::diagnostic::{Diagnostic, Origin, OriginPlace, Problems, clean, did_you_mean};
use crate::document::{self, KeyValue, Node, Value};
use crate::keys::{Key, Kind, UNLIMITED, Word};
use crate::print::parameter;
use crate::tree::Tree;
use crate::units::{self, UnitError, list};

/// Reads keys and collects problems: every getter answers `None` after reporting one.
pub(crate) struct Reader<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) keys: &'a [Key],
    pub(crate) problems: Problems,
}

/// The highest limit of reads: a block's reads are counted in 32 bits.
pub(crate) const READS_MAX: u32 = 1_000_000_000;

/// Names of the user that a message repeats.
const NAMES_MAX: usize = 8;

/// The range of a key in words, for messages and for the reference page.
pub(crate) fn expected(kind: Kind) -> String {
    match kind {
        Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
        Kind::Counts { min, max } => format!("an array of whole numbers from {min} to {max}"),
        Kind::CountOrCounts { min, max, most } => {
            format!("a whole number from {min} to {max}, or an array of 1 to {most} such")
        }
        Kind::Numbers { min, max } => format!("an array of numbers from {min} to {max}"),
        Kind::Number { min, max, above: true } => format!("a number above {min} and up to {max}"),
        Kind::Number { min, max, above: false } => format!("a number from {min} to {max}"),
        Kind::Ratio { min, max } => format!("a number above {min} and up to {max}, or a percentage such as \"7%\""),
        Kind::Bool => "`true` or `false`".into(),
        Kind::Word(names) => format!("one of {}", list(names())),
        Kind::Name(names) => format!("one of {}", list(names.iter().copied())),
        Kind::Path => "the name of a file".into(),
        Kind::Text => "a text".into(),
        Kind::Size { min, max, multiple } => size_range(min, max, multiple),
        Kind::Time { min, max } => time_range("a time", min, max),
        Kind::Times { min, max } => time_range("a time, or an array of one per page type,", min, max),
        Kind::Rate { min, max } => {
            format!("a rate from {} to {}", units::print_channel_rate(min), units::print_channel_rate(max))
        }
        Kind::Bandwidth { min, max } => format!(
            "a bandwidth from {} to {}, or \"off\"",
            units::print_bandwidth(Some(min)),
            units::print_bandwidth(Some(max))
        ),
        Kind::Volume => "a size such as \"128GiB\", or a multiple of the user capacity such as \"10x\"".into(),
        Kind::Footprint => "a size such as \"1GiB\", or a part of the user capacity such as \"50%\"".into(),
        Kind::Choice(choices) => format!("one of {}", list(choices.iter().map(|choice| choice.name))),
        Kind::Precondition => {
            "\"none\", \"steady\", \"workload\", or one of `sequential`, `random`, `worn`, `state` with its value"
                .into()
        }
        Kind::Depth { min, max } => format!("a whole number from {min} to {max}, or \"{UNLIMITED}\""),
        Kind::Part { max } => format!("\"off\", or a part of the device from \"1/2\" to \"1/{max}\""),
        Kind::ReadLimit => format!(
            "\"none\", \"cell\", or [full, low] with whole numbers from 1 to {READS_MAX}, the second not below the first"
        ),
    }
}

fn size_range(min: u64, max: u64, multiple: u64) -> String {
    let of = if multiple > 1 { format!(", a multiple of {multiple} bytes,") } else { String::new() };
    match max {
        u64::MAX => format!("a size{of} of {} or more", units::print_size(min)),
        _ => format!("a size{of} from {} to {}", units::print_size(min), units::print_size(max)),
    }
}

fn time_range(what: &str, min: u64, max: u64) -> String {
    format!("{what} from {} to {}", units::print_time(Duration(min)), units::print_time(Duration(max)))
}

impl<'a> Reader<'a> {
    fn key(&self, path: &str) -> Key {
        match self.keys.iter().find(|key| key.is_at(path)) {
            Some(key) => *key,
            None => panic!("key `{path}` is not declared"),
        }
    }

    /// The value of a key: what was given, or its default; `None` where there is neither.
    fn node(&self, path: &str) -> Option<Node> {
        if let Some(leaf) = self.tree.get(path) {
            return Some(leaf.node.clone());
        }
        let default = self.key(path).default;
        let text = format!("default = {default}");
        let origin = Arc::new(Origin::Text { name: format!("the default of {path}"), text });
        (!default.is_empty()).then(|| document::parse(&origin).ok()?.pop().map(|entry| entry.node))?
    }

    pub(crate) fn problem(&mut self, place: &OriginPlace, title: impl Into<String>, label: impl Into<String>) {
        self.problems.push(Diagnostic::new(title).at(place).label(label));
    }

    /// Reports a problem of a key; where the key was not given, its place is unknown.
    pub(crate) fn refuse(&mut self, path: &str, title: impl Into<String>, label: impl Into<String>) {
        let diagnostic = Diagnostic::new(title).label(label);
        self.problems.push(match self.tree.place(path) {
            Some(place) => diagnostic.at(place),
            None => diagnostic,
        });
    }

    /// Reports keys that do not go together, at the one given last.
    pub(crate) fn clash(&mut self, paths: &[&str], title: impl Into<String>, label: impl Into<String>) {
        let path = self.tree.culprit(paths).or(paths.first().copied()).unwrap_or_default();
        self.refuse(path, title, label);
    }

    fn wrong_type(&mut self, path: &str, node: &Node, kind: Kind) {
        let mut diagnostic = Diagnostic::new(format!("`{path}` has a value of the wrong type"))
            .at(&node.place)
            .label(format!("found {}; expected {}", node.found(), expected(kind)));
        if matches!(
            kind,
            Kind::Count { .. }
                | Kind::CountOrCounts { .. }
                | Kind::Depth { .. }
                | Kind::Number { .. }
                | Kind::Ratio { .. }
                | Kind::Bool
        ) {
            diagnostic = diagnostic.maybe_hint(without_quotes(node).or_else(|| respelt(node, kind)));
        }
        self.problems.push(diagnostic);
    }

    fn out_of_range(&mut self, path: &str, node: &Node, kind: Kind) {
        let title = format!("`{path}` is out of range");
        self.problem(&node.place, title, format!("found {}; expected {}", node.found(), expected(kind)));
    }

    fn bad_unit(&mut self, path: &str, node: &Node, error: UnitError) {
        let title = format!("`{path}` cannot be read");
        self.problems.push(Diagnostic::new(title).at(&node.place).label(error.label).maybe_hint(error.hint));
    }

    /// A whole number.
    pub(crate) fn count(&mut self, path: &str) -> Option<u64> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        self.count_of(path, &node, kind)
    }

    fn count_of(&mut self, path: &str, node: &Node, kind: Kind) -> Option<u64> {
        let Kind::Count { min, max } = kind else { panic!("`{path}` is not a count") };
        let Value::Integer(number) = node.value else {
            self.wrong_type(path, node, kind);
            return None;
        };
        let number = number.and_then(|number| u64::try_from(number).ok()).filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.out_of_range(path, node, kind);
        }
        number
    }

    /// A whole number whose range fits 32 bits, or no limit: the inner `None`.
    pub(crate) fn depth(&mut self, path: &str) -> Option<Option<u32>> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let Kind::Depth { min, max } = kind else { panic!("`{path}` is not a depth") };
        match &node.value {
            Value::String(text) if text == UNLIMITED => return Some(None),
            Value::Integer(number) => {
                let number = number.and_then(|number| u32::try_from(number).ok());
                if number.is_some_and(|number| (min..=max).contains(&number.into())) {
                    return Some(number);
                }
                self.out_of_range(path, &node, kind);
            }
            _ => self.wrong_type(path, &node, kind),
        }
        None
    }

    /// A whole number whose range fits 32 bits.
    pub(crate) fn count32(&mut self, path: &str) -> Option<u32> {
        self.count(path).and_then(|number| u32::try_from(number).ok())
    }

    /// An array of whole numbers; `None` also where none was given.
    pub(crate) fn counts(&mut self, path: &str) -> Option<Vec<u32>> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let Kind::Counts { min, max } = kind else { panic!("`{path}` is not an array of counts") };
        let Value::Array(items) = &node.value else {
            self.wrong_type(path, &node, kind);
            return None;
        };
        items.iter().map(|item| self.item_of(path, item, kind, min..=max)).collect()
    }

    /// A whole number or an array of them.
    pub(crate) fn count_or_counts(&mut self, path: &str) -> Option<Vec<u32>> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let Kind::CountOrCounts { min, max, most } = kind else { panic!("`{path}` is no count or array of counts") };
        let items = match &node.value {
            Value::Array(items) => &items[..],
            _ => std::slice::from_ref(&node),
        };
        if !(1..=most).contains(&items.len()) {
            let title = format!("`{path}` has {} numbers", items.len());
            self.problem(&node.place, title, format!("expected {}", expected(kind)));
            return None;
        }
        items.iter().map(|item| self.item_of(path, item, kind, min..=max)).collect()
    }

    /// One of the numbers of an array.
    fn item_of(&mut self, path: &str, item: &Node, kind: Kind, range: RangeInclusive<u64>) -> Option<u32> {
        let Value::Integer(number) = item.value else {
            self.wrong_type(path, item, kind);
            return None;
        };
        let number = number.and_then(|number| u64::try_from(number).ok()).filter(|number| range.contains(number));
        if number.is_none() {
            self.out_of_range(path, item, kind);
        }
        u32::try_from(number?).ok()
    }

    /// An array of numbers.
    pub(crate) fn numbers(&mut self, path: &str) -> Option<Vec<f64>> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let Kind::Numbers { min, max } = kind else { panic!("`{path}` is not an array of numbers") };
        let Value::Array(items) = &node.value else {
            self.wrong_type(path, &node, kind);
            return None;
        };
        let mut numbers = Vec::with_capacity(items.len());
        for item in items {
            let Some(number) = as_number(item) else {
                self.wrong_type(path, item, kind);
                return None;
            };
            if !(min..=max).contains(&number) {
                self.out_of_range(path, item, kind);
                return None;
            }
            numbers.push(number);
        }
        Some(numbers)
    }

    /// A number.
    pub(crate) fn number(&mut self, path: &str) -> Option<f64> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        self.number_of(path, &node, kind)
    }

    fn number_of(&mut self, path: &str, node: &Node, kind: Kind) -> Option<f64> {
        let Kind::Number { min, max, above } = kind else { panic!("`{path}` is not a number") };
        let Some(number) = as_number(node) else {
            self.wrong_type(path, node, kind);
            return None;
        };
        if (min..=max).contains(&number) && !(above && number == min) {
            return Some(number);
        }
        self.out_of_range(path, node, kind);
        None
    }

    /// A number, or a percentage as a text.
    pub(crate) fn ratio(&mut self, path: &str) -> Option<f64> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let Kind::Ratio { min, max } = kind else { panic!("`{path}` is not a ratio") };
        let number = match &node.value {
            Value::String(text) => units::percentage(text),
            _ => as_number(&node),
        };
        let Some(number) = number else {
            self.wrong_type(path, &node, kind);
            return None;
        };
        if number > min && number <= max {
            return Some(number);
        }
        self.out_of_range(path, &node, kind);
        None
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, path: &str) -> Option<bool> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        self.flag_of(path, &node, kind)
    }

    fn flag_of(&mut self, path: &str, node: &Node, kind: Kind) -> Option<bool> {
        if let Value::Bool(value) = node.value {
            return Some(value);
        }
        self.wrong_type(path, node, kind);
        None
    }

    /// One of a few names.
    pub(crate) fn word<T: Word>(&mut self, path: &str) -> Option<T> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let Value::String(text) = &node.value else {
            self.wrong_type(path, &node, kind);
            return None;
        };
        if let Some((_, value)) = T::WORDS.iter().find(|(name, _)| name == text) {
            return Some(*value);
        }
        self.no_such_name(path, &node, kind, text, T::WORDS.iter().map(|(name, _)| *name));
        None
    }

    /// One of the names of a registry; `None` also where none was given.
    pub(crate) fn name(&mut self, path: &str) -> Option<&'static str> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        self.name_of(path, &node, kind)
    }

    fn name_of(&mut self, path: &str, node: &Node, kind: Kind) -> Option<&'static str> {
        let Kind::Name(names) = kind else { panic!("`{path}` is not a name") };
        let Value::String(text) = &node.value else {
            self.wrong_type(path, node, kind);
            return None;
        };
        let found = names.iter().find(|name| *name == text).copied();
        if found.is_none() {
            self.no_such_name(path, node, kind, text, names.iter().copied());
        }
        found
    }

    fn no_such_name(
        &mut self,
        path: &str,
        node: &Node,
        kind: Kind,
        text: &str,
        names: impl Iterator<Item = &'static str>,
    ) {
        let title = format!("`{path}` cannot be \"{}\"", clean(text));
        let label = format!("expected {}", expected(kind));
        let diagnostic = Diagnostic::new(title).at(&node.place).label(label);
        self.problems.push(diagnostic.maybe_hint(did_you_mean(text, names)));
    }

    /// A text; `None` also where none was given.
    pub(crate) fn text(&mut self, path: &str) -> Option<String> {
        let node = self.node(path)?;
        match &node.value {
            Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => {
                self.wrong_type(path, &node, Kind::Text);
                None
            }
        }
    }

    /// The name of a file.
    pub(crate) fn file(&mut self, path: &str) -> Option<String> {
        let node = self.node(path)?;
        self.file_name(path, &node)
    }

    pub(crate) fn file_name(&mut self, path: &str, node: &Node) -> Option<String> {
        match &node.value {
            Value::String(text) if text.is_empty() || text.contains('\0') => {
                self.problem(&node.place, format!("`{path}` names no file"), "expected the name of a file");
                None
            }
            Value::String(text) => Some(text.clone()),
            _ => {
                self.wrong_type(path, node, Kind::Path);
                None
            }
        }
    }

    /// Bytes.
    pub(crate) fn size(&mut self, path: &str) -> Option<u64> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        self.size_of(path, &node, kind)
    }

    fn size_of(&mut self, path: &str, node: &Node, kind: Kind) -> Option<u64> {
        let Kind::Size { min, max, multiple } = kind else { panic!("`{path}` is not a size") };
        let bytes = self.bytes(path, node, kind, units::size)?;
        if (min..=max).contains(&bytes) && bytes % multiple == 0 {
            return Some(bytes);
        }
        self.out_of_range(path, node, kind);
        None
    }

    /// A size or a multiple of the user capacity; not zero.
    pub(crate) fn volume(&mut self, path: &str, capacity: u64) -> Option<u64> {
        let node = self.node(path)?;
        self.volume_of(path, &node, capacity)
    }

    pub(crate) fn volume_of(&mut self, path: &str, node: &Node, capacity: u64) -> Option<u64> {
        let bytes = self.bytes(path, node, Kind::Volume, |text| units::volume(text, capacity))?;
        if bytes == 0 {
            self.out_of_range(path, node, Kind::Volume);
            return None;
        }
        Some(bytes)
    }

    /// A size or a part of the user capacity, and whether it was given as a part.
    pub(crate) fn footprint(&mut self, path: &str, capacity: u64) -> Option<(u64, bool)> {
        let node = self.node(path)?;
        let is_part = matches!(&node.value, Value::String(text) if text.trim().ends_with(['%', 'x']));
        let bytes = self.bytes(path, &node, Kind::Footprint, |text| units::footprint(text, capacity))?;
        Some((bytes, is_part))
    }

    /// A quantity of bytes as a text, or a plain number of them.
    fn bytes(
        &mut self,
        path: &str,
        node: &Node,
        kind: Kind,
        parse: impl Fn(&str) -> Result<u64, UnitError>,
    ) -> Option<u64> {
        match &node.value {
            Value::String(text) => match parse(text) {
                Ok(bytes) => return Some(bytes),
                Err(error) => self.bad_unit(path, node, error),
            },
            Value::Integer(number) => {
                let bytes = number.and_then(|number| u64::try_from(number).ok());
                if bytes.is_none() {
                    self.out_of_range(path, node, kind);
                }
                return bytes;
            }
            _ => self.wrong_type(path, node, kind),
        }
        None
    }

    /// A time.
    pub(crate) fn time(&mut self, path: &str) -> Option<Duration> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        self.time_of(path, &node, kind)
    }

    fn time_of(&mut self, path: &str, node: &Node, kind: Kind) -> Option<Duration> {
        let (Kind::Time { min, max } | Kind::Times { min, max }) = kind else { panic!("`{path}` is not a time") };
        let time = match &node.value {
            Value::String(text) => units::time(text),
            Value::Integer(Some(0)) => Ok(Duration::ZERO),
            Value::Integer(Some(number)) if *number > 0 => units::time(&number.to_string()),
            Value::Float(number) if *number > 0.0 && number.is_finite() => units::time(&number.to_string()),
            Value::Integer(_) | Value::Float(_) => {
                self.out_of_range(path, node, kind);
                return None;
            }
            _ => {
                self.wrong_type(path, node, kind);
                return None;
            }
        };
        match time {
            Ok(time) if (min..=max).contains(&time.0) => return Some(time),
            Ok(_) => self.out_of_range(path, node, kind),
            Err(error) => self.bad_unit(path, node, error),
        }
        None
    }

    /// One time per page type: `types` of them (`None`: the number is not known because of another problem).
    pub(crate) fn times(&mut self, path: &str, types: Option<u32>) -> Option<Vec<Duration>> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let Value::Array(items) = &node.value else {
            let time = self.time_of(path, &node, kind)?;
            return Some(vec![time; types? as usize]);
        };
        if types.is_some_and(|types| items.len() != types as usize) {
            let types = types.unwrap_or(0);
            let title = format!("`{path}` is given for {} page types and the cell has {types}", items.len());
            let label = format!("expected one time, or {types}: one per bit of `device.cell`");
            self.clash(&[path, "device.cell"], title, label);
            return None;
        }
        let times: Vec<_> = items.iter().map(|item| self.time_of(path, item, kind)).collect();
        types.and(times.into_iter().collect())
    }

    /// A channel rate in bytes per second.
    pub(crate) fn rate(&mut self, path: &str) -> Option<u64> {
        let Kind::Rate { min, max } = self.key(path).kind else { panic!("`{path}` is not a rate") };
        let in_range = move |rate: &u64| (min..=max).contains(rate);
        self.per_second(path, units::channel_rate, in_range)
    }

    /// A bandwidth in bytes per second; the inner `None` is `off`.
    pub(crate) fn bandwidth(&mut self, path: &str) -> Option<Option<u64>> {
        let Kind::Bandwidth { min, max } = self.key(path).kind else { panic!("`{path}` is not a bandwidth") };
        let in_range = move |rate: &Option<u64>| rate.is_none_or(|rate| (min..=max).contains(&rate));
        self.per_second(path, units::bandwidth, in_range)
    }

    fn per_second<T>(
        &mut self,
        path: &str,
        parse: impl Fn(&str) -> Result<T, UnitError>,
        in_range: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let (kind, node) = (self.key(path).kind, self.node(path)?);
        let text = match &node.value {
            Value::String(text) => text.clone(),
            Value::Integer(Some(number)) if *number >= 0 => format!("{number} "),
            _ => {
                self.wrong_type(path, &node, kind);
                return None;
            }
        };
        match parse(&text) {
            Ok(rate) if in_range(&rate) => return Some(rate),
            Ok(_) => self.out_of_range(path, &node, kind),
            Err(error) => self.bad_unit(path, &node, error),
        }
        None
    }

    /// A policy of the user's own, `FILE.py:CLASS` or `MODULE:CLASS`, if that is what is given.
    pub(crate) fn own_choice(&mut self, path: &str) -> Option<Selection> {
        match self.node(path)?.value {
            Value::String(name) if is_own(&name) => Some(Selection::own(Own::named(name))),
            _ => None,
        }
    }

    /// A choice; the first of the registry where none is given.
    pub(crate) fn choice(&mut self, path: &str, noun: &str) -> Option<Selection> {
        let Kind::Choice(choices) = self.key(path).kind else { panic!("`{path}` is not a choice") };
        let Some(node) = self.node(path) else { return choices.first().map(Selection::default_of) };
        match &node.value {
            Value::String(name) => self.named_choice(path, noun, choices, name, &node.place).map(Selection::default_of),
            Value::Table(entries) => self.choice_with_parameters(path, noun, choices, &node, entries),
            _ => {
                self.wrong_type(path, &node, Kind::Choice(choices));
                None
            }
        }
    }

    fn named_choice(
        &mut self,
        path: &str,
        noun: &str,
        choices: &'static [Choice],
        name: &str,
        place: &OriginPlace,
    ) -> Option<&'static Choice> {
        let found = choices.iter().find(|choice| choice.name == name);
        if found.is_none() {
            let names = || choices.iter().map(|choice| choice.name);
            let place =
                self.tree.get(path).map_or(place, |leaf| if place.span.is_some() { place } else { &leaf.place });
            let diagnostic = Diagnostic::new(format!("unknown {noun} `{}`", clean(name)))
                .at(place)
                .label(format!("expected one of {}", list(names())))
                .maybe_hint(named_by_half(name).or_else(|| did_you_mean(name, names())));
            self.problems.push(diagnostic);
        }
        found
    }

    fn choice_with_parameters(
        &mut self,
        path: &str,
        noun: &str,
        choices: &'static [Choice],
        node: &Node,
        entries: &[KeyValue],
    ) -> Option<Selection> {
        let [entry] = entries else {
            self.not_one_choice(path, choices, node, entries);
            return None;
        };
        let choice = self.named_choice(path, noun, choices, &entry.key, &entry.place)?;
        let Value::Table(given) = &entry.node.value else {
            let title = format!("`{path}.{}` takes its parameters by name", choice.name);
            let label = format!("found {}; expected {}", entry.node.found(), parameters(path, choice));
            self.problem(&entry.node.place, title, label);
            return None;
        };
        let mut selection = Selection::default_of(choice);
        let mut sound = true;
        for parameter in given {
            match self.parameter(path, choice, parameter) {
                Some((name, value)) => selection.set(name, value),
                None => sound = false,
            }
        }
        sound.then_some(selection)
    }

    fn not_one_choice(&mut self, path: &str, choices: &'static [Choice], node: &Node, entries: &[KeyValue]) {
        let Some(second) = entries.get(1) else {
            let title = format!("`{path}` makes no choice");
            self.problem(&node.place, title, format!("expected {}", expected(Kind::Choice(choices))));
            return;
        };
        let names = list(entries.iter().take(NAMES_MAX).map(|entry| clean(&entry.key)));
        let more = if entries.len() > NAMES_MAX { ", …" } else { "" };
        let title = format!("`{path}` makes {} choices at once: {names}{more}", entries.len());
        let example = choices.iter().find(|choice| !choice.params.is_empty());
        let example = example.map(|choice| format!(", as in {}", parameters(path, choice))).unwrap_or_default();
        self.problem(&second.place, title, format!("expected one name, with its parameters under it{example}"));
    }

    fn parameter(
        &mut self,
        path: &str,
        choice: &'static Choice,
        entry: &KeyValue,
    ) -> Option<(&'static str, ParamValue)> {
        let full = format!("{path}.{}", choice.name);
        let Some(param) = choice.params.iter().find(|param| param.name == entry.key) else {
            if self.problems.is_one_too_many() {
                return None;
            }
            let names = || choice.params.iter().map(|param| param.name);
            let label = match choice.params {
                [] => format!("`{}` takes no parameters", choice.name),
                _ => format!("expected one of {}", list(names())),
            };
            let title = format!("unknown parameter `{}` of `{full}`", clean(&entry.key));
            let diagnostic = Diagnostic::new(title).at(&entry.place).label(label);
            self.problems.push(diagnostic.maybe_hint(did_you_mean(&entry.key, names())));
            return None;
        };
        let full = format!("{full}.{}", param.name);
        let value = self.value_of(&full, param, &entry.node)?;
        Some((param.name, value))
    }

    fn value_of(&mut self, full: &str, param: &Param, node: &Node) -> Option<ParamValue> {
        let kind = kind_of(param);
        match param.kind {
            ParamKind::Integer { .. } => {
                self.count_of(full, node, kind).and_then(|count| u32::try_from(count).ok()).map(ParamValue::Integer)
            }
            ParamKind::Number { .. } => self.number_of(full, node, kind).map(ParamValue::Number),
            ParamKind::Flag { .. } => self.flag_of(full, node, kind).map(ParamValue::Flag),
            ParamKind::Word(_) => self.name_of(full, node, kind).map(ParamValue::Word),
            ParamKind::Size { .. } => self.size_of(full, node, kind).map(ParamValue::Size),
            ParamKind::Time { .. } => self.time_of(full, node, kind).map(ParamValue::Time),
        }
    }

    /// The value of a key whose meaning is its caller's business.
    pub(crate) fn raw(&self, path: &str) -> Option<Node> {
        self.node(path)
    }

    /// Reports a wrong value of a key that is read with [`Reader::raw`].
    pub(crate) fn unexpected(&mut self, path: &str, node: &Node) {
        self.wrong_type(path, node, self.key(path).kind);
    }
}

/// True for the name of a policy of the user's own: what comes before the last colon says where it is, and what comes
/// behind it is what Python calls it.
fn is_own(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(place, class)| !place.is_empty() && !class.is_empty())
}

/// A hint for a file of Python whose class was left out.
fn named_by_half(name: &str) -> Option<String> {
    let file = name.trim_end_matches(':');
    file.ends_with(".py").then(|| format!("a policy of your own is named with its class: `{}:CLASS`", clean(file)))
}

/// A hint for a number or truth value that was written as a text.
fn without_quotes(node: &Node) -> Option<String> {
    let Value::String(text) = &node.value else { return None };
    let text = text.trim();
    let meant = text.parse::<f64>().is_ok_and(f64::is_finite) || text == "true" || text == "false";
    // On the command line there are no quotes to leave out.
    (meant && node.place.span.is_some()).then(|| format!("write {} without quotes", clean(text)))
}

/// A hint for a whole number with decimals, and for a truth value that was written as a number.
fn respelt(node: &Node, kind: Kind) -> Option<String> {
    match (&node.value, kind) {
        (Value::Integer(Some(0)), Kind::Bool) => Some("write `false`".into()),
        (Value::Integer(Some(1)), Kind::Bool) => Some("write `true`".into()),
        (Value::Float(number), Kind::Count { min, max } | Kind::Depth { min, max })
            if number.fract() == 0.0 && (min as f64..=max as f64).contains(number) =>
        {
            Some(format!("write `{number}`"))
        }
        _ => None,
    }
}

fn as_number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Float(number) => Some(number),
        Value::Integer(number) => number.map(|number| number as f64),
        _ => None,
    }
}

/// The kind of a parameter, as that of a key: both are read alike.
pub(crate) fn kind_of(param: &Param) -> Kind {
    match param.kind {
        ParamKind::Integer { min, max, .. } => Kind::Count { min: min.into(), max: max.into() },
        ParamKind::Number { min, max, .. } => Kind::Number { min, max, above: false },
        ParamKind::Flag { .. } => Kind::Bool,
        ParamKind::Word(words) => Kind::Name(words),
        ParamKind::Size { min, max, .. } => Kind::Size { min, max, multiple: 1 },
        ParamKind::Time { min, max, .. } => Kind::Time { min: min.0, max: max.0 },
    }
}

fn parameters(path: &str, choice: &Choice) -> String {
    match choice.params {
        [] => format!("no parameters: `{} = \"{}\"`", path.rsplit('.').next().unwrap_or(path), choice.name),
        params => {
            let given =
                |param: &Param| format!("`{path}.{}.{} = {}`", choice.name, param.name, parameter(param.default()));
            params.iter().map(given).collect::<Vec<_>>().join(", ")
        }
    }
}
