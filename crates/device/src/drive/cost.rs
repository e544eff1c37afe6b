//! The cost of a restart.

use serde_json::{Value, json};

/// The cost of a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RestartCost {
    /// The last stop was a clean one, and left a checkpoint; else the array was scanned.
    pub from_checkpoint: bool,
    /// Spare areas that were read, or pages of the checkpoint.
    pub pages_read: u64,
    /// Units that were erased.
    pub erased_units: u64,
    /// Pages that were brought back from backups.
    pub rescued_pages: u64,
    /// Logical pages that are known to be discarded.
    pub discarded_pages: u64,
    /// Pages and discards that a write buffer which outlives the power held.
    pub buffered_pages: u64,
    /// Time of the model: array reads of all spare areas, dies in parallel, no transfers.
    pub array_s: f64,
    /// Time of this program.
    pub wall_s: f64,
}

impl RestartCost {
    /// As an object.
    pub fn to_json(&self) -> Value {
        json!({
            "from_checkpoint": self.from_checkpoint,
            "pages_read": self.pages_read,
            "erased_units": self.erased_units,
            "rescued_pages": self.rescued_pages,
            "discarded_pages": self.discarded_pages,
            "buffered_pages": self.buffered_pages,
            "array_s": self.array_s,
        })
    }
}
