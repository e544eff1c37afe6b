//! The shape of a registry: seams, the choices each offers, and the parameters of a choice.
//!
//! A seam's table is written once, beside the policies. The configuration reader, the "expected one
//! of" messages, the Python listing and the reference page are all made from it.

use std::any::Any;
use std::fmt;
use std::panic::RefUnwindSafe;
use std::sync::Arc;

use crate::units::Duration;

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamValue {
    /// A whole number.
    Integer(u32),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
    /// One of a few words.
    Word(&'static str),
    /// Bytes.
    Size(u64),
    /// A length of time.
    Time(Duration),
}

impl From<u32> for ParamValue {
    fn from(value: u32) -> ParamValue {
        ParamValue::Integer(value)
    }
}

impl From<f64> for ParamValue {
    fn from(value: f64) -> ParamValue {
        ParamValue::Number(value)
    }
}

impl From<bool> for ParamValue {
    fn from(value: bool) -> ParamValue {
        ParamValue::Flag(value)
    }
}

impl From<&'static str> for ParamValue {
    fn from(value: &'static str) -> ParamValue {
        ParamValue::Word(value)
    }
}

impl From<Duration> for ParamValue {
    fn from(value: Duration) -> ParamValue {
        ParamValue::Time(value)
    }
}

/// The values of a parameter: its type, the values in range, and the one where the user gives none.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "every type has a default, a smallest and a largest value")]
pub enum ParamKind {
    /// A whole number.
    Integer { default: u32, min: u32, max: u32 },
    /// A number, with decimals or without.
    Number { default: f64, min: f64, max: f64 },
    /// `true` or `false`.
    Flag { default: bool },
    /// One of a few words, the first where none is given.
    Word(&'static [&'static str]),
    /// Bytes: a text with a unit such as `"32KiB"`, or a plain number.
    Size { default: u64, min: u64, max: u64 },
    /// A time: a text with a unit such as `"1ms"`.
    Time { default: Duration, min: Duration, max: Duration },
}

/// A parameter of a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The key under the choice's name, for example `d` in `victim.rga.d`.
    pub name: &'static str,
    /// Its values.
    pub kind: ParamKind,
    /// Meaning and unit, one line.
    pub doc: &'static str,
}

impl Param {
    /// A parameter that is one of `words`, the first unless the user says otherwise.
    pub const fn word(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Param {
        Param { name, kind: ParamKind::Word(words), doc }
    }

    /// The value where the user gives none.
    pub fn default(&self) -> ParamValue {
        match self.kind {
            ParamKind::Integer { default, .. } => ParamValue::Integer(default),
            ParamKind::Number { default, .. } => ParamValue::Number(default),
            ParamKind::Flag { default } => ParamValue::Flag(default),
            ParamKind::Word(words) => ParamValue::Word(words[0]),
            ParamKind::Size { default, .. } => ParamValue::Size(default),
            ParamKind::Time { default, .. } => ParamValue::Time(default),
        }
    }

    /// True for a value of this parameter's type, and of its words if it takes words.
    pub fn is_of_type(&self, value: ParamValue) -> bool {
        match (self.kind, value) {
            (ParamKind::Word(words), ParamValue::Word(word)) => words.contains(&word),
            _ => std::mem::discriminant(&self.default()) == std::mem::discriminant(&value),
        }
    }
}

/// One choice of a seam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The name in a config file.
    pub name: &'static str,
    /// One line for listings, with the source where there is one.
    pub doc: &'static str,
    /// The parameters it takes.
    pub params: &'static [Param],
}

/// A place of the FTL at which policies plug in.
#[derive(Clone, Copy, Debug)]
pub struct Seam {
    /// The key under `[ftl]`.
    pub key: &'static str,
    /// One line for listings.
    pub doc: &'static str,
    /// Its choices; the first is the default.
    pub choices: &'static [Choice],
}

impl Seam {
    /// The choice of that name.
    pub fn find(&self, name: &str) -> Option<&'static Choice> {
        self.choices.iter().find(|choice| choice.name == name)
    }
}

/// A feature of the flash chips that a device has or has not.
#[derive(Clone, Copy, Debug)]
pub struct FeatureKey {
    /// The key under `[device]`.
    pub key: &'static str,
    /// The words that messages have for it.
    pub noun: &'static str,
    /// Meaning, one or two sentences.
    pub doc: &'static str,
    /// Its choices; the first is the default, a chip without the feature.
    pub choices: &'static [Choice],
}

impl FeatureKey {
    /// The choice made for it.
    pub fn of<'a>(&self, made: &'a Choices) -> &'a Selection {
        made.get(self.key)
    }
}

/// The choice that stands for a policy of the user's own, which no table has.
pub static OWN: Choice = Choice { name: "python", doc: "A class of your own in Python: `FILE.py:CLASS`.", params: &[] };

/// A policy of the user's own: what the configuration calls it, and once it is loaded, what its seam takes for it.
#[derive(Clone)]
pub struct Own {
    /// As it stands in the configuration.
    pub name: String,
    /// Of the type that its seam wants: the seam alone knows it.
    loaded: Option<Arc<dyn Any + Send + Sync>>,
}

impl Own {
    /// One that is named only.
    pub fn named(name: impl Into<String>) -> Own {
        Own { name: name.into(), loaded: None }
    }

    /// True once it is loaded.
    pub fn is_loaded(&self) -> bool {
        self.loaded.is_some()
    }

    /// Loads it.
    pub fn load<T: Any + Send + Sync>(&mut self, policy: Arc<T>) {
        self.loaded = Some(policy);
    }

    /// The policy that was loaded.
    ///
    /// # Panics
    /// If nothing was, or something of another seam.
    pub fn loaded<T: Any + Send + Sync>(&self) -> Arc<T> {
        let loaded = self.loaded.clone().and_then(|policy| policy.downcast().ok());
        loaded.unwrap_or_else(|| panic!("the policy `{}` is loaded before it is used", self.name))
    }
}

/// It is loaded whole or not at all, and nothing else of it changes: a panic leaves it as it was.
impl RefUnwindSafe for Own {}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("name", &self.name).field("is_loaded", &self.is_loaded()).finish()
    }
}

impl PartialEq for Own {
    fn eq(&self, other: &Own) -> bool {
        self.name == other.name
    }
}

/// A choice made, with a value for each of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// The choice as it is registered.
    pub choice: &'static Choice,
    /// The name of the choice.
    pub name: &'static str,
    /// Every parameter of the choice, in the order of the registry.
    pub params: Vec<(&'static str, ParamValue)>,
    /// The policy, where it is the user's own.
    pub own: Option<Own>,
}

/// Reads of what the registry does not declare are mistakes in a policy, and panic; a test of the assembled device reads
/// every parameter of every registered choice.
impl Selection {
    /// The choice with all its defaults.
    pub fn default_of(choice: &'static Choice) -> Selection {
        let params = choice.params.iter().map(|param| (param.name, param.default())).collect();
        Selection { choice, name: choice.name, params, own: None }
    }

    /// A policy of the user's own.
    pub fn own(own: Own) -> Selection {
        Selection { own: Some(own), ..Selection::default_of(&OWN) }
    }

    /// The name of the choice in the configuration.
    pub fn written(&self) -> &str {
        self.own.as_ref().map_or(self.name, |own| &own.name)
    }

    /// Sets a parameter. The range of the value is the configuration reader's business.
    ///
    /// # Panics
    /// If the choice has no such parameter, or one of another type.
    pub fn set(&mut self, name: &str, value: ParamValue) {
        let declared = self.choice.params.iter().find(|param| param.name == name);
        let declared = declared.unwrap_or_else(|| panic!("choice `{}` has no parameter `{name}`", self.name));
        assert!(declared.is_of_type(value), "parameter `{name}` of `{}` cannot be {value:?}", self.name);
        self.params.iter_mut().filter(|(param, _)| *param == name).for_each(|(_, old)| *old = value);
    }

    /// The value of a parameter, whatever its type.
    ///
    /// # Panics
    /// If the choice has no such parameter.
    pub fn value(&self, name: &str) -> ParamValue {
        match self.params.iter().find(|(param, _)| *param == name) {
            Some((_, value)) => *value,
            None => panic!("choice `{}` has no parameter `{name}`", self.name),
        }
    }

    /// A whole number.
    ///
    /// # Panics
    /// If the choice has no such parameter, or one of another type.
    pub fn integer(&self, name: &str) -> u32 {
        match self.value(name) {
            ParamValue::Integer(value) => value,
            other => self.is_no("integer", name, other),
        }
    }

    /// A number.
    ///
    /// # Panics
    /// If the choice has no such parameter, or one of another type.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            ParamValue::Number(value) => value,
            other => self.is_no("number", name, other),
        }
    }

    /// Yes or no.
    ///
    /// # Panics
    /// If the choice has no such parameter, or one of another type.
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            ParamValue::Flag(value) => value,
            other => self.is_no("flag", name, other),
        }
    }

    /// One of a few words.
    ///
    /// # Panics
    /// If the choice has no such parameter, or one of another type.
    pub fn word(&self, name: &str) -> &'static str {
        match self.value(name) {
            ParamValue::Word(value) => value,
            other => self.is_no("word", name, other),
        }
    }

    /// Bytes.
    ///
    /// # Panics
    /// If the choice has no such parameter, or one of another type.
    pub fn size(&self, name: &str) -> u64 {
        match self.value(name) {
            ParamValue::Size(value) => value,
            other => self.is_no("size", name, other),
        }
    }

    /// A length of time.
    ///
    /// # Panics
    /// If the choice has no such parameter, or one of another type.
    pub fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            ParamValue::Time(value) => value,
            other => self.is_no("time", name, other),
        }
    }

    fn is_no(&self, kind: &str, name: &str, value: ParamValue) -> ! {
        panic!("parameter `{name}` of `{}` is no {kind}: {value:?}", self.name)
    }
}

/// One choice for each key of a registry: the seams of `[ftl]`, the features of the chips in `[device]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// (key, choice), in the order of the registry; every key is present.
    pub made: Vec<(&'static str, Selection)>,
}

impl Choices {
    /// The choice made for a key.
    ///
    /// # Panics
    /// If no such key is registered.
    pub fn get(&self, key: &str) -> &Selection {
        match self.made.iter().find(|(other, _)| *other == key) {
            Some((_, selection)) => selection,
            None => panic!("no choice has the key `{key}`"),
        }
    }

    /// The choice made for a key, to be changed.
    ///
    /// # Panics
    /// If no such key is registered.
    pub fn get_mut(&mut self, key: &str) -> &mut Selection {
        match self.made.iter_mut().find(|(other, _)| *other == key) {
            Some((_, selection)) => selection,
            None => panic!("no choice has the key `{key}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use super::*;

    static CHOICE: Choice = Choice {
        name: "all",
        doc: "One of each type.",
        params: &[
            Param { name: "integer", kind: ParamKind::Integer { default: 2, min: 1, max: 3 }, doc: "" },
            Param { name: "number", kind: ParamKind::Number { default: 0.5, min: 0.0, max: 1.0 }, doc: "" },
            Param { name: "flag", kind: ParamKind::Flag { default: true }, doc: "" },
            Param { name: "word", kind: ParamKind::Word(&["one", "two"]), doc: "" },
            Param { name: "size", kind: ParamKind::Size { default: 512, min: 0, max: u64::MAX }, doc: "" },
            Param {
                name: "time",
                kind: ParamKind::Time { default: Duration(5), min: Duration(0), max: Duration(9) },
                doc: "",
            },
        ],
    };

    #[test]
    fn each_type_is_read_as_itself_alone() {
        let made = Selection::default_of(&CHOICE);
        assert_eq!((made.integer("integer"), made.number("number"), made.flag("flag")), (2, 0.5, true));
        assert_eq!((made.word("word"), made.size("size"), made.time("time")), ("one", 512, Duration(5)));
        type Read = fn(&Selection, &str);
        let reads: [(&str, Read); 6] = [
            ("integer", |made, name| _ = made.integer(name)),
            ("number", |made, name| _ = made.number(name)),
            ("flag", |made, name| _ = made.flag(name)),
            ("word", |made, name| _ = made.word(name)),
            ("size", |made, name| _ = made.size(name)),
            ("time", |made, name| _ = made.time(name)),
        ];
        for (kind, read) in reads {
            for param in CHOICE.params.iter().map(|param| param.name).chain(["undeclared"]) {
                let refused = std::panic::catch_unwind(AssertUnwindSafe(|| read(&made, param))).is_err();
                assert_eq!(refused, param != kind, "{param} as {kind}");
            }
        }
    }

    #[test]
    fn only_what_is_declared_can_be_set() {
        let set = |name: &'static str, value: ParamValue| {
            std::panic::catch_unwind(|| {
                let mut made = Selection::default_of(&CHOICE);
                made.set(name, value);
                made.value(name)
            })
            .ok()
        };
        assert_eq!(set("integer", 3.into()), Some(3.into()));
        assert_eq!(set("word", "two".into()), Some("two".into()));
        for (name, value) in
            [("integer", 0.5.into()), ("integer", ParamValue::Size(3)), ("word", "three".into()), ("more", 3.into())]
        {
            assert_eq!(set(name, value), None, "{name} = {value:?}");
        }
    }
}
