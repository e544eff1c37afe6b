//! Choices of the registries, for a small device.

use base::{Choice, Seam, Selection};

/// The seam of that key.
pub fn seam(key: &str) -> &'static Seam {
    ftl::seams().into_iter().find(|seam| seam.key == key).expect("a seam")
}

/// A choice with parameters at which a small device has something to do.
pub fn selection(choice: &'static Choice) -> Selection {
    let mut selection = Selection::default_of(choice);
    for param in choice.params {
        match param.name {
            "d" => selection.set("d", 3.into()),
            "free_blocks" => selection.set("free_blocks", 1.into()),
            "classes" | "groups" => selection.set(param.name, 4.into()),
            "epoch" => selection.set("epoch", 1.into()),
            "threshold" | "regions" | "blocks" => selection.set(param.name, 2.into()),
            _ => {}
        }
    }
    selection
}
