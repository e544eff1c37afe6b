//! Which protections of paired pages a device can have.

use base::scope::{Area, Scope, Scoped};
use base::{Cell, Geometry};

use super::keeps_track;
use crate::mechanism::SpacePlan;
use crate::refusals::{FtlSetup, Refusal};
use crate::{MAX_PAGES, Policies};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let scheme = setup.policies.paired_page.name;
    if scheme == "none" {
        return Ok(());
    }
    let refuse = |message: String, help: &str| {
        Err(Refusal { key: "ftl.paired_page", message: format!("`{scheme}` {message}"), help: help.into() })
    };
    if setup.policies.cell == Cell::Slc {
        return refuse(
            "protects pages that share cells, and with `cell = \"slc\"` none do".into(),
            "use `paired_page = \"none\"`, or a device of `mlc`, `tlc` or `qlc` cells",
        );
    }
    if !keeps_track(scheme) {
        return Ok(());
    }
    let free = setup.free_blocks();
    let (bits, parts) = (setup.policies.cell.bits(), setup.geometry.parts);
    let wordlines = setup.geometry.pages_per_block / parts / bits;
    if wordlines < bits {
        return refuse(
            format!("backs up as many as {} pages at once, and a block has {wordlines} LSB pages", bits - 1),
            "give a block more pages",
        );
    }
    match scheme {
        "parity-backup" if setup.policies.cell != Cell::Mlc => refuse(
            "pairs the LSB pages of cells of two bits".into(),
            "set `device.cell = \"mlc\"`, or use `lsb-backup`",
        ),
        "parity-backup" if parts > 1 && 2 * setup.geometry.row_slots() > MAX_PAGES as u32 => refuse(
            format!(
                "reads two rows of {} map units each for a parity, and an operation reads at most {MAX_PAGES}",
                setup.geometry.row_slots()
            ),
            "use larger map units, `ftl.reclaim_unit = \"block\"`, or `lsb-backup`",
        ),
        "slc-buffer" if setup.policies.separation.name == "host-gc" => {
            refuse("separates host writes from copies by itself".into(), "set `separation = \"none\"`")
        }
        "slc-buffer" if free < 2 => refuse(
            "merges its buffer while a plane has as few as `free_blocks` free blocks, and needs two".into(),
            "set `free_blocks` of `ftl.gc_schedule` to 2 or more",
        ),
        "gcmix" | "gcmix-adaptive" => check_mixing(setup, scheme),
        _ => Ok(()),
    }
}

fn check_mixing(setup: &FtlSetup<'_>, scheme: &str) -> Result<(), Refusal> {
    let selection = setup.policies.paired_page;
    let reserve = SpacePlan::new(setup.policies, setup.geometry).reserve();
    let (low, high) = (reserve + selection.integer("low"), selection.integer("high"));
    let refuse = |key: &'static str, message: String, help: String| Err(Refusal { key, message, help });
    if high <= low {
        return refuse(
            "ftl.paired_page",
            format!("mixing begins at {low} free blocks and would be suspended at {high} already"),
            format!("set `paired_page.{scheme}.high` above {low}"),
        );
    }
    if scheme == "gcmix" {
        return Ok(());
    }
    if setup.policies.separation.name != "dac" {
        return refuse(
            "ftl.paired_page",
            "`gcmix-adaptive` takes the workload's locality from the regions of data clustering".into(),
            "set `separation = \"dac\"`, or use `gcmix`".into(),
        );
    }
    if setup.stands_still {
        return refuse(
            "workload.interval",
            "`gcmix-adaptive` takes the locality every simulated second, and under `count` time is that of the arrivals, \
             which all come at once"
                .into(),
            "set `workload.interval`, for instance to \"10ms\"".into(),
        );
    }
    Ok(())
}

/// The share of merged buffers in a domain besides user data and free blocks, where their pages go to several active blocks.
pub(crate) fn in_words(geometry: &Geometry, policies: &Policies<'_>) -> String {
    match SpacePlan::new(policies, geometry).for_held() {
        0 => String::new(),
        blocks => format!(" and {blocks} for buffers that are held until the wordlines of their pages are complete"),
    }
}

impl Scoped for super::Paired {
    const SCOPE: Scope = Scope {
        area: Area::Faults,
        name: "Paired pages",
        keys: &["ftl.paired_page"],
        modelled: "Lower pages are covered before an upper page of their wordline is programmed, by backups, parity, an SLC buffer or victims.",
        not_modelled: &["An interrupted program disturbs no wordline but its own."],
    };
}
