//! Which devices can manage read disturb.

use base::Geometry;
use base::scope::{Area, Scope, Scoped};

use super::schemes::{DisturbScheme, Shares};
use crate::Policies;
use crate::kernel::MAX_STREAMS;
use crate::mechanism::SpacePlan;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let policies = setup.policies;
    let selection = policies.read_disturb;
    let Some(scheme) = DisturbScheme::of(selection.name) else { return Ok(()) };
    let refuse = |message: String, help: &str| {
        Err(Refusal { key: "ftl.read_disturb", message: format!("`{}` {message}", selection.name), help: help.into() })
    };
    if policies.is_hybrid() {
        return refuse(
            "moves the valid pages of a block, and hybrid mapping gathers those of logical blocks".into(),
            "set `ftl.mapping = \"page\"`, or use `ignore`",
        );
    }
    if policies.paired_page.name == "slc-buffer" {
        return refuse(
            "has no read limit for the blocks of an SLC buffer, which hold host pages at a density of their own".into(),
            "use another `ftl.paired_page`, or `ignore`",
        );
    }
    let Some(limits) = &policies.reads else {
        return refuse(
            "needs to know how many reads a block takes, and `device.wear.read_limit` is `none`".into(),
            "set `device.wear.read_limit = \"cell\"`, or two numbers such as `[10000, 100000]`",
        );
    };
    let is_low_density = matches!(scheme, DisturbScheme::Guarded | DisturbScheme::Reprogrammed);
    if is_low_density && policies.cell.bits() == 1 {
        return refuse(
            "leaves out levels of cells, and cells of one bit have none to leave out".into(),
            "use `refresh`",
        );
    }
    let owed = super::reads_owed(scheme, policies, setup.geometry);
    if limits.full < owed + 2 * selection.integer("margin") {
        let backups = if policies.guards_pages() { ", to back up its pages" } else { "" };
        let updates = if policies.has_map() { ", to update its pages of the map" } else { "" };
        return refuse(
            format!(
                "reads a block up to {owed} times to refresh it{backups}{updates}, and with `margin` twice that is more than \
                 the read limit of {}",
                limits.full
            ),
            "set a larger `device.wear.read_limit`, or a smaller `margin`",
        );
    }
    if let Some((message, help)) = scheme.refusal(policies, setup.geometry, limits) {
        return refuse(message, help);
    }
    let shares = Shares::of(policies, setup.geometry);
    let pool = setup.geometry.units_per_domain() - shares.pool;
    if scheme != DisturbScheme::Refresh
        && (shares.monitors == 0 || shares.kept == 0 || scheme == DisturbScheme::Reprogrammed && pool == 0)
    {
        return refuse(
            format!(
                "gives shares of a plane's blocks to read-hot pages, and of {} at least one of them is less than a block",
                setup.geometry.units_per_domain()
            ),
            "set larger shares, or more `device.blocks_per_plane`",
        );
    }
    let streams = SpacePlan::new(policies, setup.geometry).streams();
    if streams > MAX_STREAMS {
        return refuse(
            format!(
                "makes {streams} kinds of data with `separation`, `paired_page` and `migration`, and a plane has at most \
                 {MAX_STREAMS} active blocks"
            ),
            "use fewer regions, or quotas by page",
        );
    }
    Ok(())
}

/// The share of read-hot pages in a domain besides user data and free blocks.
pub(crate) fn in_words(geometry: &Geometry, policies: &Policies<'_>) -> String {
    let shares = Shares::of(policies, geometry);
    match shares.wasted(geometry.unit_slots()) {
        0 => String::new(),
        wasted => format!(" and {wasted} for the unused pages of read-hot blocks"),
    }
}

impl Scoped for super::Disturb {
    const SCOPE: Scope = Scope {
        area: Area::Ftl,
        name: "Handling of read disturb",
        keys: &["ftl.read_disturb"],
        modelled: "Blocks are refreshed before their reads reach the limit, and read-hot pages move to blocks that take more.",
        not_modelled: &[
            "Hybrid mapping and SLC buffers go without it.",
            "Counters of single pages do not survive a power cut.",
        ],
    };
}
