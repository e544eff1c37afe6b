//! The needs of regions.

use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let separation = setup.policies.separation;
    if separation.name != "dac" {
        return Ok(());
    }
    let refuse = |key: &'static str, message: String, help: String| Err(Refusal { key, message, help });
    let (regions, free) = (separation.integer("regions"), setup.free_blocks());
    if free < regions {
        return refuse(
            "ftl.gc_schedule",
            format!("a collection may open a block in each of the {regions} regions, and only {free} are held free"),
            format!("set `free_blocks` of `ftl.gc_schedule` to {regions} or more"),
        );
    }
    Ok(())
}
