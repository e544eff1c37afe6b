//! From what the user wrote to a resolved configuration.
//!
//! It owns the keys, their units, defaults and ranges, the presets, and the texts of all errors about them.
//! It knows no policy and no feature of a chip: the choices of each, with their parameters, come from the registry
//! that it is handed. The flow is one way: text → [tree](crate::load) of keys with places → one layer over another
//! (preset, file, command line) → [`Config`].

mod diagnostic;
mod document;
mod keys;
mod load;
pub mod model;
mod presets;
mod print;
mod reader;
mod reference;
mod resolve;
pub mod sample;
mod tenants;
mod tree;
mod units;

pub use diagnostic::{Diagnostic, Diagnostics, printable};
pub use load::{Base, Loaded, load};
pub use model::Config;
pub use presets::{PRESETS, Preset, preset};
pub use print::{parameter, to_json, to_toml};
pub use reference::{reference, reference_page};
pub use units::print_size;

use base::{Choice, FeatureKey, Seam};

/// All that can be chosen.
#[derive(Clone, Debug)]
pub struct Registry {
    /// The features of the chips, in the order of a resolved config.
    pub features: Vec<&'static FeatureKey>,
    /// The seams of `[ftl]`, in the order of a resolved config.
    pub seams: Vec<&'static Seam>,
    /// The generators of `[workload]`.
    pub generators: &'static [Choice],
    /// The keys of seams that also take a policy of the user's own.
    pub own: &'static [&'static str],
    /// The names of the trace formats.
    pub trace_formats: &'static [&'static str],
}
