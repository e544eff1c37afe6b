//! Separations by what they ask of a device, and how many of them are tried.

use base::Choice;
use engine::Chance;

use crate::common::selection;

/// True of a separation under which the pages of one victim may be copied to several classes.
pub fn splits(separation: &str) -> bool {
    ["dac", "sepbit", "midas", "future"].contains(&separation)
}

/// True of a separation into classes by lifespans.
pub fn is_by_lifespan(separation: &str) -> bool {
    ["sepbit", "midas", "future"].contains(&separation)
}

/// True of a separation by hints of the host.
pub fn is_by_hints(separation: &str) -> bool {
    ["streams", "fdp", "write-hints"].contains(&separation)
}

/// A separation, by hints with few handles. Of every other device persistent ones.
pub fn few_handles(choice: &'static Choice, number: usize) -> base::Selection {
    let mut separation = selection(choice);
    match choice.name {
        "streams" => separation.set("streams", 2.into()),
        "fdp" => {
            separation.set("handles", 3.into());
            separation.set("isolation", ["initial", "persistent"][number % 2].into());
            // Of every other two of them the host moves handles to new units.
            separation.set("update_after", base::ParamValue::Size([0, 20_000][number / 2 % 2]));
        }
        _ => {}
    }
    separation
}

/// The classes to which the pages of one victim may be copied.
pub fn classes(separation: &base::Selection) -> u32 {
    match separation.name {
        "dac" => separation.integer("regions"),
        "sepbit" | "future" => separation.integer("classes"),
        "midas" => separation.integer("groups"),
        _ => 1,
    }
}

/// True for one of so many combinations, drawn by their number; fewer of those with separations by lifespan, which have large devices. If
/// all are asked for it is always true.
pub fn is_tried(separation: &str, combination: usize, one_of: u64) -> bool {
    let one_of = 4 * one_of;
    let one_of = if is_by_lifespan(separation) || is_by_hints(separation) { 2 * one_of } else { one_of };
    std::env::var_os("FTLAB_LONG").is_some() || Chance::new(combination as u64, "tried").below(one_of) == 0
}
