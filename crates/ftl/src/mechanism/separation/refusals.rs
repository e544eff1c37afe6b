//! The needs of regions and classes.

use base::scope::{Area, Scope, Scoped};

use crate::allocation::{Allocation, shape_of_group};
use crate::kernel::MAX_STREAMS;
use crate::mechanism::SpacePlan;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let name = setup.policies.separation.name;
    let Some(classes) = super::split_classes(setup.policies.separation) else {
        let by_hints = super::placement::is_by_hints(setup.policies.separation);
        if by_hints {
            few_streams(setup)?;
            unmixed(setup, "pages of a handle")?;
            return divided(setup);
        }
        return Ok(());
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

/// Refuses reclaim groups that the device cannot be divided into, or that have no room for their namespaces.
fn divided(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    const KEY: &str = "ftl.separation.fdp.reclaim_groups";
    let (policies, geometry) = (setup.policies, setup.geometry);
    let groups = super::reclaim_groups(policies.separation);
    let refuse = |message: String, help: &str| Err(Refusal { key: KEY, message, help: help.into() });
    if groups == 1 {
        return Ok(());
    }
    if shape_of_group(geometry, groups).is_none() {
        return refuse(
            format!(
                "{groups} reclaim groups have no equal parts of {} channels with {} chips of {} dies",
                geometry.channels, geometry.chips_per_channel, geometry.dies_per_chip
            ),
            "use as many as there are channels, or an equal part of these; or of the chips of each channel, and of their dies",
        );
    }
    if policies.has_map() {
        return refuse(
            format!(
                "`mapping = \"{}\"` spreads the entries of a map over all dies alike, and a reclaim group has its own pages",
                policies.mapping.name
            ),
            "set `ftl.mapping = \"page\"`, or one reclaim group",
        );
    }
    if policies.allocation.own.is_some() {
        return refuse(
            "an allocation of your own says for each page where it goes, whatever its reclaim group".into(),
            "use an allocation of the registry, or one reclaim group",
        );
    }
    let unknown = policies.namespaces.iter().find(|namespace| namespace.group >= groups);
    if let Some(namespace) = unknown {
        return refuse(
            format!("a tenant names reclaim group {}, and there are {groups}, from 0 on", namespace.group),
            "use more `reclaim_groups`, or another `reclaim_group` of the tenant",
        );
    }
    let size = |pages: u64| (setup.print_size)(pages * u64::from(geometry.page_size));
    match Allocation::groups(policies, geometry, setup.user_pages) {
        Ok(_) => Ok(()),
        Err(full) => refuse(
            format!(
                "the namespaces of reclaim group {} have {}, and it has room for {}",
                full.group,
                size(full.pages),
                size(full.most)
            ),
            "use smaller namespaces, fewer groups, or another `reclaim_group` for one of them",
        ),
    }
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

impl Scoped for super::Separation {
    const SCOPE: Scope = Scope {
        area: Area::Ftl,
        name: "Separation",
        keys: &["ftl.separation"],
        modelled: "Pages share active blocks by region, inferred lifespan, chain of groups, future, or the hints of the host (streams, FDP, lifetimes).",
        not_modelled: &[
            "Drives with real bytes get no hints from their host.",
            "Several reclaim groups need the map in DRAM.",
        ],
    };
}
