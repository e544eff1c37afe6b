//! Which devices can refresh by age and errors.

use base::scope::{Area, Scope, Scoped};

use super::SEAM;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let policies = setup.policies;
    let name = policies.refresh.name;
    if name == "none" {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        let message = format!("`{name}` {message}");
        Err(Refusal { key: "ftl.refresh", message, help: format!("{help}, or `ftl.{} = \"none\"`", SEAM.key) })
    };
    if policies.is_hybrid() {
        return refuse(
            "moves the valid pages of a block, and hybrid mapping gathers those of logical blocks",
            "set `ftl.mapping = \"page\"`",
        );
    }
    if policies.timeless {
        return refuse(
            "goes by the age of data and by retries, and where no time passes there are neither",
            "set `run.executor = \"timed\"`",
        );
    }
    if name != "age" && policies.data_age.is_none() {
        return refuse(
            "goes by the retries that reads need, and with `device.media = \"none\"` every page is correct at once",
            "set `device.media = \"formula\"`",
        );
    }
    if name == "patrol" && policies.read_disturb.name != "ignore" {
        return refuse(
            "reads every page by itself, and `read_disturb` has reads wait until their block is refreshed: the limit leaves none for a patrol",
            "use `errors` or `age`",
        );
    }
    Ok(())
}

impl Scoped for super::Refresh {
    const SCOPE: Scope = Scope {
        area: Area::Media,
        name: "Refresh by age and errors",
        keys: &["ftl.refresh"],
        modelled: "Data move before they are too old, or when a read needed too many retries; a patrol reads every page for that.",
        not_modelled: &[
            "Blocks that mechanisms set aside are not refreshed: backups, the pseudo-SLC cache, shadow blocks.",
            "After a power cut, and from a saved state, data are as old as `device.media` says.",
        ],
    };
}
