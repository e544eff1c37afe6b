//! Which devices and policies hybrid mapping can have.

use config::Config;
use config::model::Precondition;

use crate::{Refusal, RunError, device};

/// Why a state cannot be saved or loaded.
const NO_STATES: &str = "keeps its log blocks in an order that a device state does not hold";

/// Whether the mapping is a hybrid one.
fn is_hybrid(config: &Config) -> bool {
    config.ftl.get("mapping").name == "fast"
}

/// Refuses to save a state that would not be whole.
pub(crate) fn check_saved(config: &Config) -> Result<(), RunError> {
    if !is_hybrid(config) {
        return Ok(());
    }
    Err(RunError::Input(format!("no state can be saved under `ftl.mapping = \"fast\"`, which {NO_STATES}")))
}

/// Refuses faults, from which this mapping cannot recover.
pub(crate) fn check_faults(config: &Config) -> Result<(), RunError> {
    if !is_hybrid(config) {
        return Ok(());
    }
    Err(RunError::Input(
        "faults need `ftl.mapping = \"page\"`: hybrid mapping is neither repaired after a failed program nor restarted"
            .into(),
    ))
}

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    if !is_hybrid(config) {
        return Ok(());
    }
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.mapping", message: format!("`fast` {message}"), help: help.into() })
    };
    let chosen = |key: &str| config.ftl.get(key).name;
    if ftl::allocation::is_dynamic(chosen("allocation")) {
        return refuse(
            "keeps a logical block in one plane, which a formula of the LPN has to name",
            "use a static allocation order, for instance `ftl.allocation = \"CWDP\"`",
        );
    }
    if chosen("victim") != "fifo" {
        return refuse("recycles the oldest log block, whatever is in it", "set `ftl.victim = \"fifo\"`");
    }
    if chosen("reclaim_unit") == "twin" {
        return refuse(
            "fills, merges and erases single blocks",
            "set `ftl.reclaim_unit` to `block`, or to `superblock` for planes in step",
        );
    }
    if chosen("separation") != "none" {
        return refuse(
            "separates by itself: host writes go to log blocks, copies to data blocks",
            "set `ftl.separation = \"none\"`",
        );
    }
    if chosen("paired_page") != "none" {
        return refuse(
            "has no place for backups: pages of a data block lie at their own offsets",
            "set `ftl.paired_page = \"none\"`",
        );
    }
    if chosen("wear_leveling") != "none" {
        return refuse(
            "moves data between blocks by merges only",
            "set `ftl.wear_leveling = \"none\"`; `ftl.block_allocation = \"least-worn\"` evens wear out among free blocks",
        );
    }
    if matches!(config.run.precondition, Precondition::State { .. }) {
        return refuse(NO_STATES, "age the device by `sequential`, `random` or `steady`");
    }
    check_log(config)
}

/// What a plane holds besides user data and free blocks, for the text about user spaces that are too large.
pub(crate) fn log_in_words(config: &Config) -> String {
    let log = ftl::fast::LEAST_LOG_BLOCKS;
    if is_hybrid(config) {
        format!(" and {} log blocks", config.ftl.get("mapping").integer("log_blocks").max(log))
    } else {
        String::new()
    }
}

/// The log has to fit beside the user space.
fn check_log(config: &Config) -> Result<(), Refusal> {
    let (log, free) =
        (config.ftl.get("mapping").integer("log_blocks"), config.ftl.get("gc_schedule").integer("free_blocks"));
    let user_pages = config.device.user_capacity / crate::gang::page_size(config);
    let most = ftl::fast::most_log_blocks(&device::geometry(config), user_pages, free);
    let least = ftl::fast::LEAST_LOG_BLOCKS;
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
