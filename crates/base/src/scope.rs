//! Scopes: of each part of the simulator, the behaviour that it models and the behaviour that it leaves out.
//!
//! A scope stands in the folder of its part, beside the part's refusals. `ftlab explain model` and the tables of the documentation
//! are printed from all of them.

/// The area of the model that a part belongs to: a page of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// The NAND array and its rules.
    Array,
    /// The course of time: commands, requests, buffers.
    Time,
    /// The flash translation layer.
    Ftl,
    /// Faults, restarts and drives with real bytes.
    Faults,
    /// Cells that wear out, lose charge and store fewer bits.
    Media,
}

impl Area {
    /// Every area, in the order of listings.
    pub const ALL: [Area; 5] = [Area::Array, Area::Time, Area::Ftl, Area::Faults, Area::Media];

    /// The name, which is that of its page.
    pub fn name(self) -> &'static str {
        match self {
            Area::Array => "array",
            Area::Time => "time",
            Area::Ftl => "ftl",
            Area::Faults => "faults",
            Area::Media => "media",
        }
    }
}

/// The scope of a part of the simulator, in sentences for its users.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    /// The area it belongs to.
    pub area: Area,
    /// The part.
    pub name: &'static str,
    /// The keys that ask for it and offer choices, such as `ftl.victim`.
    pub keys: &'static [&'static str],
    /// The behaviour that is modelled: one sentence.
    pub modelled: &'static str,
    /// The behaviour that is left out: a sentence each.
    pub not_modelled: &'static [&'static str],
}

/// A part that is registered by its type.
pub trait Scoped {
    /// Its scope.
    const SCOPE: Scope;
}
