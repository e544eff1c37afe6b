//! The shape of a registry: seams, the choices each offers, and the parameters of a choice.
//!
//! A seam's table is written once, beside the policies. The configuration reader, the "expected one
//! of" messages, the Python listing and the reference page are all made from it.

/// What a parameter takes, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A number.
    Number,
    /// A whole number.
    Whole,
    /// Bytes: a text with a unit such as `"32KiB"`, or a plain number.
    Size,
    /// Nanoseconds: a text with a unit such as `"1ms"`.
    Time,
    /// One of a few names; its value is the place in this list.
    Word(&'static [&'static str]),
}

/// A parameter of a choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The key under the choice's name, for example `d` in `victim.rga.d`.
    pub name: &'static str,
    /// The value where the user gives none.
    pub default: f64,
    /// Smallest value accepted.
    pub min: f64,
    /// Largest value accepted.
    pub max: f64,
    /// What it takes.
    pub kind: ParamKind,
    /// Meaning and unit, one line.
    pub doc: &'static str,
}

impl Param {
    /// A parameter that is one of `words`, the first unless the user says otherwise.
    pub const fn word(name: &'static str, words: &'static [&'static str], doc: &'static str) -> Param {
        let max = (words.len() - 1) as f64;
        Param { name, default: 0.0, min: 0.0, max, kind: ParamKind::Word(words), doc }
    }

    /// Whether a value is in range, and whole where it has to be.
    pub fn accepts(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value) && (self.kind == ParamKind::Number || value.fract() == 0.0)
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
    /// What can be chosen; the first is the default.
    pub choices: &'static [Choice],
}

impl Seam {
    /// The choice of that name.
    pub fn find(&self, name: &str) -> Option<&'static Choice> {
        self.choices.iter().find(|choice| choice.name == name)
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
    pub params: Vec<(&'static str, f64)>,
}

impl Selection {
    /// The choice with all its defaults.
    pub fn default_of(choice: &'static Choice) -> Selection {
        let params = choice.params.iter().map(|param| (param.name, param.default)).collect();
        Selection { choice, name: choice.name, params }
    }

    /// The value of a parameter.
    ///
    /// # Panics
    /// If the choice has no such parameter, which is a mistake in the registry.
    pub fn get(&self, name: &str) -> f64 {
        match self.params.iter().find(|(param, _)| *param == name) {
            Some((_, value)) => *value,
            None => panic!("choice `{}` has no parameter `{name}`", self.name),
        }
    }

    /// The value of a parameter that is one of a few names.
    ///
    /// # Panics
    /// If the choice has no such parameter, which is a mistake in the registry.
    pub fn word(&self, name: &str) -> &'static str {
        let place = self.get(name) as usize;
        match self.choice.params.iter().find(|param| param.name == name).map(|param| param.kind) {
            Some(ParamKind::Word(words)) => words[place],
            _ => panic!("parameter `{name}` of `{}` is not one of a few names", self.name),
        }
    }
}
