//! Which devices can move pages by copyback.

use base::Geometry;
use base::scope::{Area, Scope, Scoped};

use super::{has_metadata, is_by_block};
use crate::Policies;
use crate::kernel::MAX_STREAMS;
use crate::mechanism::SpacePlan;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let migration = setup.policies.migration;
    let refuse = |message: String, help: &str| {
        Err(Refusal { key: "ftl.migration", message: format!("`{}` {message}", migration.name), help: help.into() })
    };
    if migration.name == "off-chip" {
        return Ok(());
    }
    if setup.policies.is_hybrid() {
        return refuse(
            "moves the valid pages of a victim, and hybrid mapping gathers those of logical blocks".into(),
            "set `ftl.mapping` to `page` or `dftl`, or use `off-chip`",
        );
    }
    let streams = SpacePlan::new(setup.policies, setup.geometry).streams();
    if streams > MAX_STREAMS {
        return refuse(
            format!(
                "has quotas by block, which make {streams} kinds of data with `separation` and `paired_page`, and a plane has \
                 at most {MAX_STREAMS} active blocks"
            ),
            "set `migration.rcpb.quota = \"page\"`, use fewer regions, or set `device.wear.quality = \"shares\"`",
        );
    }
    if migration.name == "rcpb" && migration.flag("selector") && !setup.hears_of_buffer {
        return refuse(
            "selects by the write buffer's fill over time, and this device has no write buffer or no time".into(),
            "set `ftl.write_buffer` and `run.executor = \"timed\"`, or `migration.rcpb.selector = false`",
        );
    }
    Ok(())
}

/// The share of counts and active blocks of quotas in a domain besides user data and free blocks.
pub(crate) fn in_words(geometry: &Geometry, policies: &Policies<'_>) -> String {
    if has_metadata(policies) {
        return " and a page of each block for counts".into();
    }
    if !is_by_block(policies) {
        return String::new();
    }
    let streams = SpacePlan::new(policies, geometry).streams();
    format!(" and as many active blocks as kinds of data, {streams} with their quotas,")
}

impl Scoped for super::Migration {
    const SCOPE: Scope = Scope {
        area: Area::Ftl,
        name: "Migration",
        keys: &["ftl.migration"],
        modelled: "Valid pages move through the controller, or by copybacks within the quota of their errors.",
        not_modelled: &["Copybacks stay in their plane.", "Chips that program whole wordlines have none."],
    };
}
