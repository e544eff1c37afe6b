//! Which protections of paired pages, and which separations, a device can have.

use base::Cell;
use config::Config;
use config::model::{Executor, Precondition, Source};

use crate::{Refusal, RunError, device};

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    check_regions(config)?;
    let scheme = config.ftl.get("paired_page").name;
    if scheme == "none" {
        return Ok(());
    }
    let refuse = |message: String, help: &str| {
        Err(Refusal { key: "ftl.paired_page", message: format!("`{scheme}` {message}"), help: help.into() })
    };
    if config.device.cell == Cell::Slc {
        return refuse(
            "protects pages that share cells, and with `cell = \"slc\"` none do".into(),
            "use `paired_page = \"none\"`, or a device of `mlc`, `tlc` or `qlc` cells",
        );
    }
    if !ftl::paired::keeps_track(scheme) {
        return Ok(());
    }
    if matches!(config.run.precondition, Precondition::State { .. }) {
        return refuse(
            "keeps blocks of its own, which a saved state does not hold".into(),
            "age the device by `sequential`, `random` or `steady`",
        );
    }
    let free = config.ftl.get("gc_schedule").integer("free_blocks");
    let (bits, wordlines) = (config.device.cell.bits(), config.device.pages_per_block / config.device.cell.bits());
    if wordlines < bits {
        return refuse(
            format!("backs up as many as {} pages at once, and a block has {wordlines} LSB pages", bits - 1),
            "give a block more pages",
        );
    }
    match scheme {
        "parity-backup" if config.device.cell != Cell::Mlc => refuse(
            "pairs the LSB pages of cells of two bits".into(),
            "set `device.cell = \"mlc\"`, or use `lsb-backup`",
        ),
        "slc-buffer" if config.ftl.get("separation").name == "host-gc" => {
            refuse("separates host writes from copies by itself".into(), "set `separation = \"none\"`")
        }
        "slc-buffer" if free < 2 => refuse(
            "merges its buffer while a plane has as few as `free_blocks` free blocks, and needs two".into(),
            "set `free_blocks` of `ftl.gc_schedule` to 2 or more",
        ),
        "gcmix" | "gcmix-adaptive" => check_mixing(config, scheme),
        _ => Ok(()),
    }
}

/// Refuses to save a state that could not be started from.
pub(crate) fn check_saved(config: &Config) -> Result<(), RunError> {
    let scheme = config.ftl.get("paired_page").name;
    if ftl::paired::keeps_track(scheme) {
        return Err(RunError::Input(format!(
            "a saved state does not hold the blocks that `ftl.paired_page = \"{scheme}\"` keeps for itself; save the \
             state of a device without that protection"
        )));
    }
    Ok(())
}

fn check_mixing(config: &Config, scheme: &str) -> Result<(), Refusal> {
    let selection = config.ftl.get("paired_page");
    let reserve = ftl::reserve(&device::geometry(config), &device::policies(config));
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
    if config.ftl.get("separation").name != "dac" {
        return refuse(
            "ftl.paired_page",
            "`gcmix-adaptive` takes the workload's locality from the regions of data clustering".into(),
            "set `separation = \"dac\"`, or use `gcmix`".into(),
        );
    }
    let stands_still = match &config.workload.source {
        Source::Generator(generator) => generator.interval.ns() == 0 && generator.idle_for.ns() == 0,
        Source::Trace { .. } => false,
    };
    if config.run.executor == Executor::Count && stands_still {
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

fn check_regions(config: &Config) -> Result<(), Refusal> {
    let separation = config.ftl.get("separation");
    if separation.name != "dac" {
        return Ok(());
    }
    let refuse = |key: &'static str, message: String, help: String| Err(Refusal { key, message, help });
    let (regions, free) = (separation.integer("regions"), config.ftl.get("gc_schedule").integer("free_blocks"));
    if free < regions {
        return refuse(
            "ftl.gc_schedule",
            format!("a collection may open a block in each of the {regions} regions, and only {free} are held free"),
            format!("set `free_blocks` of `ftl.gc_schedule` to {regions} or more"),
        );
    }
    Ok(())
}
