//! Which devices can do with units that are retired.

use base::Geometry;

use super::{bad_units, most_pages, spare_of};
use crate::allocation::Allocation;
use crate::mechanism::SpacePlan;
use crate::refusals::{FtlSetup, Refusal};

/// The name of what it does in the summary.
pub const KEY: &str = "bad_blocks";

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let policies = setup.policies;
    let Some(bad) = &policies.bad_blocks else { return Ok(()) };
    let refuse = |message: String, help: String| Err(Refusal { key: "device.bad_blocks", message, help });
    let chosen = [
        ("mapping", policies.mapping.name, &["page"][..], "keeps units of its own, and does not know of one that goes"),
        (
            "paired_page",
            policies.paired_page.name,
            &["none", "supercap", "page-buffer"],
            "keeps units of its own, and does not know of one that goes",
        ),
        (
            "read_disturb",
            policies.read_disturb.name,
            &["ignore"],
            "has shares of units, and does not know of one that goes",
        ),
    ];
    for (key, name, known, why) in chosen {
        if !known.contains(&name) {
            return refuse(
                format!("a unit of which a block has failed is retired, and `{key} = \"{name}\"` {why}"),
                format!("set `ftl.{key} = \"{}\"`, or `device.bad_blocks` = \"none\"", known[0]),
            );
        }
    }
    check_spare(setup, setup.geometry, bad)
}

/// Refuses user spaces for which the good blocks do not suffice.
fn check_spare(setup: &FtlSetup<'_>, geometry: &Geometry, bad: &[bool]) -> Result<(), Refusal> {
    let (_, budget) = SpacePlan::new(setup.policies, geometry).shares(geometry);
    let bad = bad_units(geometry, bad);
    if bad.iter().all(|&bad| bad == 0) || budget.max_valid == 0 {
        return Ok(());
    }
    let allocation = Allocation::build(setup.policies.allocation, geometry);
    let pages = most_pages(&allocation, geometry, setup.user_pages as u32);
    let spares = pages.into_iter().map(|pages| spare_of(&budget, pages));
    let Some((domain, (bad, spare))) = bad.into_iter().zip(spares).enumerate().find(|(_, (bad, spare))| bad > spare)
    else {
        return Ok(());
    };
    Err(Refusal {
        key: "device.bad_blocks",
        message: format!(
            "{bad} of the {} units of domain {domain} are bad from the factory, and the user space leaves {spare} to spare",
            geometry.units_per_domain()
        ),
        help: "use a smaller `device.user_capacity`, give a plane more blocks, or set a lower \
               `device.bad_blocks.weibull.factory`"
            .into(),
    })
}
