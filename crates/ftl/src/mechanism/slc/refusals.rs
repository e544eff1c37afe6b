//! Combinations that the pseudo-SLC cache refuses.

use base::Cell;
use base::scope::{Area, Scope, Scoped};

use super::SEAM;
use super::choices::{CacheOptions, Fold};
use crate::Policies;
use crate::refusals::{FtlSetup, Refusal};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let policies = setup.policies;
    let Some(options) = CacheOptions::of(policies) else { return Ok(()) };
    let refuse = |message: String, help: String| {
        let message = format!("`{}` {message}", policies.slc_cache.name);
        Err(Refusal { key: "ftl.slc_cache", message, help: format!("{help}, or `ftl.{} = \"off\"`", SEAM.key) })
    };
    if policies.cell == Cell::Slc {
        return refuse(
            "has blocks store one bit a cell, and all blocks of `device.cell = \"slc\"` do".into(),
            "use cells of several bits".into(),
        );
    }
    let blocks = setup.geometry.units_per_domain();
    if options.blocks >= blocks {
        return refuse(
            format!("sets {} blocks of a plane apart, and it has {blocks}", options.blocks),
            format!("set `ftl.slc_cache.{}.blocks` to less than {blocks}", policies.slc_cache.name),
        );
    }
    if options.fold == Fold::Idle && !["background", "windows"].contains(&policies.gc_schedule.name) {
        return refuse(
            format!(
                "is to be folded in idle time, and `gc_schedule = \"{}\"` begins nothing when a die is idle",
                policies.gc_schedule.name
            ),
            "set `ftl.gc_schedule = \"background\"`".into(),
        );
    }
    check_others(policies, refuse)
}

fn check_others(
    policies: &Policies<'_>,
    refuse: impl Fn(String, String) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let others: [(&str, &str, &[&str], &str); 3] = [
        (
            "mapping",
            policies.mapping.name,
            &["page", "dftl"],
            "has log blocks of its own, to which host writes go: a cache before them is not modelled",
        ),
        (
            "paired_page",
            policies.paired_page.name,
            &["none", "page-buffer", "supercap"],
            "keeps blocks of LSB pages too, and after a power cut nobody could tell them from those of the cache",
        ),
        (
            "read_disturb",
            policies.read_disturb.name,
            &["ignore"],
            "counts the reads that pages at one density take, and how many those of the cache take is not modelled",
        ),
    ];
    for (key, name, known, why) in others {
        if !known.contains(&name) {
            return refuse(
                format!("does not go with `{key} = \"{name}\"`, which {why}"),
                format!("set `ftl.{key} = \"{}\"`", known[0]),
            );
        }
    }
    if policies.bad_blocks.is_some() {
        return refuse(
            "does not go with blocks that fail: what becomes of a cache whose blocks are retired is not modelled"
                .into(),
            "set `device.bad_blocks` = \"none\"".into(),
        );
    }
    Ok(())
}

impl Scoped for super::SlcCache {
    const SCOPE: Scope = Scope {
        area: Area::Media,
        name: "Pseudo-SLC cache",
        keys: &["ftl.slc_cache"],
        modelled: "Host pages go first to blocks of one bit a cell, fixed or lent, and are folded later.",
        not_modelled: &[
            "Blocks of the cache do not fail: `device.bad_blocks` is refused.",
            "Reads disturb no page in SLC mode: `ftl.read_disturb` is refused.",
            "A fold reads the pages of the cache one by one, as a collection does: no chip folds by itself.",
            "The cache does not shrink with heat.",
        ],
    };
}
