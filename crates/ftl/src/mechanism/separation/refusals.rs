//! The needs of regions and classes.

use crate::kernel::MAX_STREAMS;
use crate::mechanism::SpacePlan;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let name = setup.policies.separation.name;
    let Some(classes) = super::split_classes(setup.policies.separation) else {
        let by_hints = super::placement::is_by_hints(setup.policies.separation);
        return if by_hints { few_streams(setup).and_then(|()| unmixed(setup, "pages of a handle")) } else { Ok(()) };
    };
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
    if name != "dac" {
        unmixed(setup, "pages of a class")?;
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

/// Refuses more handles than a plane can have active blocks for, with what else tells pages apart.
fn few_streams(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let streams = SpacePlan::new(setup.policies, setup.geometry).streams();
    if streams <= MAX_STREAMS {
        return Ok(());
    }
    Err(Refusal {
        key: "ftl.separation",
        message: format!(
            "makes {streams} kinds of data with the other choices of `ftl`, and a plane has at most {MAX_STREAMS} active blocks"
        ),
        help: "use fewer streams or handles".into(),
    })
}

/// Refuses a protection that mixes pages of all classes in a unit, for a separation whose classes are known by their units.
fn unmixed(setup: &FtlSetup<'_>, what: &str) -> Result<(), Refusal> {
    let protection = setup.policies.paired_page.name;
    if !protection.starts_with("gcmix") {
        return Ok(());
    }
    Err(Refusal {
        key: "ftl.separation",
        message: format!(
            "keeps {what} in blocks of their own, and `{protection}` puts pages of a victim under those of the host, whatever their classes"
        ),
        help: "set `ftl.separation = \"dac\"`, which keeps a region for each page".into(),
    })
}
