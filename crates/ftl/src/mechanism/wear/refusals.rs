//! Refusals of wear leveling with active blocks of its own.

use base::scope::{Area, Scope, Scoped};

use super::separates;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let policies = setup.policies;
    if !separates(policies.wear_leveling) {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        Err(Refusal {
            key: "ftl.wear_leveling",
            message: format!("`swap` {message}"),
            help: format!("{help}, or use `static`"),
        })
    };
    if policies.block_allocation.name != "least-worn" {
        return refuse(
            "gives cold data to the most worn free block, and `first-fit` does not look at wear",
            "set `ftl.block_allocation = \"least-worn\"`",
        );
    }
    if policies.mapping.name != "page" {
        return refuse(
            "keeps cold data in active blocks of their own, which only page mapping with its map in DRAM has",
            "set `ftl.mapping = \"page\"`",
        );
    }
    if setup.geometry.unit_width > 1 {
        return refuse(
            "moves the pages of one block, and a reclaim unit has several here",
            "set `ftl.reclaim_unit = \"block\"`",
        );
    }
    let by_page = [
        ("separation", policies.separation.name, &["none", "host-gc"][..]),
        ("paired_page", policies.paired_page.name, &["none"]),
        ("migration", policies.migration.name, &["off-chip"]),
    ];
    for (key, name, known) in by_page {
        if !known.contains(&name) {
            return refuse(
                &format!(
                    "gives cold data active blocks of their own, and `{key} = \"{name}\"` decides by page where copies go"
                ),
                &format!("set `ftl.{key} = \"{}\"`", known[0]),
            );
        }
    }
    Ok(())
}

impl Scoped for super::WearLeveling {
    const SCOPE: Scope = Scope {
        area: Area::Ftl,
        name: "Wear leveling",
        keys: &["ftl.wear_leveling"],
        modelled: "Cold data move off the least worn blocks of a plane, to where copies go or to the most worn free block.",
        not_modelled: &["Wear is not compared across planes."],
    };
}
