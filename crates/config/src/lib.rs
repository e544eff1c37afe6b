//! From what the user wrote to a resolved configuration.

pub mod model;

pub use model::Config;
