//! The needs of regions and classes.

use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let Some(classes) = super::split_classes(setup.policies.separation) else { return Ok(()) };
    let name = setup.policies.separation.name;
    let kind = match name {
        "dac" => "regions",
        "midas" => "groups",
        _ => "classes",
    };
    let refuse = |key: &'static str, message: String, help: String| Err(Refusal { key, message, help });
    let (classes, free) = (classes as u32, setup.free_blocks());
    if free < classes {
        return refuse(
            "ftl.gc_schedule",
            format!("a collection may open a block in each of the {classes} {kind}, and only {free} are held free"),
            format!("set `free_blocks` of `ftl.gc_schedule` to {classes} or more"),
        );
    }
    let protection = setup.policies.paired_page.name;
    if name != "dac" && protection.starts_with("gcmix") {
        return refuse(
            "ftl.separation",
            format!(
                "keeps pages of a class in blocks of their own, and `{protection}` puts pages of a victim under those of the host, whatever their classes"
            ),
            "set `ftl.separation = \"dac\"`, which keeps a region for each page".into(),
        );
    }
    if name == "midas" && setup.policies.victim.name != "greedy" && !setup.policies.is_hybrid() {
        return refuse(
            "ftl.victim",
            "under `separation = \"midas\"` the sizes of its groups say which block is collected, and its last group is collected greedily".into(),
            "set `ftl.victim = \"greedy\"`".into(),
        );
    }
    Ok(())
}
