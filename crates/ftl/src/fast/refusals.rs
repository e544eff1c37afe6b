//! Which devices and policies hybrid mapping can have.

use base::scope::{Area, Scope};

use super::{LEAST_LOG_BLOCKS, most_log_blocks};
use crate::Policies;
use crate::refusals::{FtlSetup, Refusal};

/// Why a state cannot be saved or loaded.
pub const NO_STATES: &str = "keeps its log blocks in an order that a device state does not hold";

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    if !setup.policies.is_hybrid() {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.mapping", message: format!("`fast` {message}"), help: help.into() })
    };
    if setup.is_dynamic() {
        return refuse(
            "keeps a logical block in one plane, which a formula of the LPN has to name",
            "use a static allocation order, for instance `ftl.allocation = \"CWDP\"`",
        );
    }
    if setup.policies.victim.name != "fifo" {
        return refuse("recycles the oldest log block, whatever is in it", "set `ftl.victim = \"fifo\"`");
    }
    if setup.policies.reclaim_unit.name == "twin" {
        return refuse(
            "fills, merges and erases single blocks",
            "set `ftl.reclaim_unit` to `block`, or to `superblock` for planes in step",
        );
    }
    if setup.policies.separation.name != "none" {
        return refuse(
            "separates by itself: host writes go to log blocks, copies to data blocks",
            "set `ftl.separation = \"none\"`",
        );
    }
    if setup.policies.paired_page.name != "none" {
        return refuse(
            "has no place for backups: pages of a data block lie at their own offsets",
            "set `ftl.paired_page = \"none\"`",
        );
    }
    if setup.policies.wear_leveling.name != "none" {
        return refuse(
            "moves data between blocks by merges only",
            "set `ftl.wear_leveling = \"none\"`; `ftl.block_allocation = \"least-worn\"` evens wear out among free blocks",
        );
    }
    let (start, broken) = (setup.policies.mapping.word("start"), setup.policies.mapping.word("broken"));
    if start == "bounded" && broken != "fill" {
        return Err(Refusal {
            key: "ftl.mapping",
            message: format!(
                "`start = \"bounded\"` counts the log blocks that were broken off and still have room, and \
                 `broken = \"{broken}\"` leaves none"
            ),
            help: "set `mapping.fast.broken = \"fill\"`, or `mapping.fast.start` to `always` or `if-spare`".into(),
        });
    }
    if setup.from_state {
        return refuse(NO_STATES, "age the device by `sequential`, `random` or `steady`");
    }
    check_log(setup)
}

/// The pages of a domain besides user data and free blocks.
pub(crate) fn in_words(policies: &Policies<'_>) -> String {
    format!(" and {} log blocks", policies.mapping.integer("log_blocks").max(LEAST_LOG_BLOCKS))
}

/// The log has to fit beside the user space.
fn check_log(setup: &FtlSetup<'_>) -> Result<(), Refusal> {
    let (log, free) = (setup.policies.mapping.integer("log_blocks"), setup.free_blocks());
    let most = most_log_blocks(setup.geometry, setup.user_pages, free);
    let least = LEAST_LOG_BLOCKS;
    let refuse = |message: String, help: String| Err(Refusal { key: "ftl.mapping", message, help });
    if log > 0 && log < least {
        return refuse(
            format!("{log} log block in each plane is too few: one takes sequential writes, one or more random writes"),
            format!("set `mapping.fast.log_blocks` to {least} or more, or to 0 for all spare blocks"),
        );
    }
    // Without room for the fewest log blocks the user space is at fault.
    if most >= least && log > most {
        return refuse(
            format!(
                "{log} log blocks in each plane do not fit: beside the user space and {free} blocks held free there is \
                 room for {most}"
            ),
            format!("set `mapping.fast.log_blocks` to {most} or less, or to 0 for all of these"),
        );
    }
    Ok(())
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Ftl,
    name: "Hybrid mapping (FAST)",
    keys: &["ftl.mapping"],
    modelled: "Log blocks take the writes, and switch, partial and full merges empty them.",
    not_modelled: &[
        "It has no faults, restarts, saved states or blocks that fail.",
        "It goes without twin blocks, separation, protections, wear leveling and dynamic allocations.",
    ],
};
