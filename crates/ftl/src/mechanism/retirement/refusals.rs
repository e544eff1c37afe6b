//! Which devices can do with units that are retired.

use base::Geometry;
use base::scope::{Area, Scope, Scoped};

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
        (
            "mapping",
            policies.mapping.name,
            &["page", "dftl"][..],
            "keeps units of its own, and does not know of one that goes",
        ),
        (
            "read_disturb",
            policies.read_disturb.name,
            &["refresh", "ignore", "redftl", "hot-low-density", "ipr"],
            "moves pages on inside a block; after a power cut those of one that has failed may have been read too often",
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
    if setup.is_dynamic() && policies.has_map() {
        return refuse(
            format!(
                "`mapping = \"{}\"` has map entries on other planes than their pages under `allocation = \"{}\"`, and what their \
                 updates take of a plane whose spare space shrinks is not accounted for",
                policies.mapping.name, policies.allocation.name
            ),
            "use a static order such as `ftl.allocation` = \"CWDP\", or `device.bad_blocks` = \"none\"".into(),
        );
    }
    check_spare(setup, setup.geometry, bad)
}

/// Refuses user spaces for which the good blocks do not suffice.
fn check_spare(setup: &FtlSetup<'_>, geometry: &Geometry, bad: &[bool]) -> Result<(), Refusal> {
    let plan = SpacePlan::new(setup.policies, geometry);
    let (_, budget) = plan.shares(geometry);
    let bad = bad_units(geometry, bad);
    if bad.iter().all(|&bad| bad == 0) || budget.max_valid == 0 {
        return Ok(());
    }
    let allocation = Allocation::of(setup.policies, geometry, setup.user_pages);
    let map_pages = plan.map_pages(geometry, setup.user_pages);
    let pages = most_pages(&allocation, geometry, setup.user_pages as u32, map_pages);
    // By as much the user space of a domain would have to be smaller.
    let most = |&bad: &u32| budget.max_valid.saturating_sub(u64::from(bad) * u64::from(budget.slots));
    let excess = pages.iter().zip(&bad).map(|(pages, bad)| pages.saturating_sub(most(bad))).max().unwrap_or(0);
    let largest = setup.user_pages.saturating_sub(excess * u64::from(geometry.domains()));
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
        help: match largest {
            0 => "give a plane more blocks, or set a lower `device.bad_blocks.weibull.factory`".into(),
            _ => format!(
                "set `device.user_capacity` to at most \"{}\", or `device.bad_blocks.weibull.factory` lower",
                (setup.print_size)(largest * u64::from(geometry.page_size))
            ),
        },
    })
}

impl Scoped for super::Retirement {
    const SCOPE: Scope = Scope {
        area: Area::Media,
        name: "Blocks that fail",
        keys: &["device.bad_blocks"],
        modelled: "Blocks are bad from the factory or fail by their cycles; they are retired until the drive is read-only.",
        not_modelled: &[
            "A page that cannot be corrected does not retire its block.",
            "Hybrid mapping, read leveling, and a map in flash under a dynamic allocation refuse it.",
        ],
    };
}
