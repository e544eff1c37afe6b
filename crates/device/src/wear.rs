//! The wear and quality of a device's blocks, drawn from the seed, and which devices can move pages by copyback.

use std::sync::Arc;

use base::{Quality, Wear};
use config::Config;
use config::model::{Executor, Precondition};
use engine::Stream;

use crate::device::{Device, geometry, policies};
use crate::{Refusal, RunError};

/// Whether pages may move by copyback, so that the array keeps their errors.
pub(crate) fn is_in_force(config: &Config) -> bool {
    config.ftl.get("migration").name != "off-chip"
}

/// The wear of all blocks, where it matters. Of blocks in step the worst one counts.
pub(crate) fn of(config: &Config) -> Option<Arc<Wear>> {
    if !is_in_force(config) {
        return None;
    }
    let wear = &config.device.wear;
    let lanes = config.in_step().lanes();
    let mut random = Stream::new(config.run.seed, "block quality");
    let mut draw = || match wear.quality.name {
        "shares" => of_shares(random.fraction(), wear.quality.get("best"), wear.quality.get("worst")),
        _ => of_tail([(); 3].map(|()| random.below(1 << 16))),
    };
    let qualities =
        (0..geometry(config).blocks()).map(|_| (0..lanes).map(|_| draw()).max().expect("a block has lanes")).collect();
    Some(Arc::new(Wear { pe_cycles: wear.pe_cycles, table: wear.copyback.clone(), qualities }))
}

fn of_shares(chance: f64, best: f64, worst: f64) -> Quality {
    if chance < best {
        Quality::BEST
    } else if chance < 1.0 - worst {
        Quality::MEDIAN
    } else {
        Quality::WORST
    }
}

/// The square of the mean of three numbers of 16 bits: a quarter, which is the median block's, in the middle.
fn of_tail(numbers: [u64; 3]) -> Quality {
    let sum: u64 = numbers.iter().sum();
    Quality((sum * sum / 9 >> 16) as u32)
}

/// Refuses what cannot work together, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    check_streams(config)?;
    let migration = config.ftl.get("migration");
    let refuse = |message: &str, help: &str| {
        Err(Refusal { key: "ftl.migration", message: format!("`{}` {message}", migration.name), help: help.into() })
    };
    if !is_in_force(config) {
        return Ok(());
    }
    if config.ftl.get("mapping").name == "fast" {
        return refuse(
            "moves the valid pages of a victim, and hybrid mapping gathers those of logical blocks",
            "set `ftl.mapping` to `page` or `dftl`, or use `off-chip`",
        );
    }
    let by_block = migration.name == "rcpb" && migration.word("quota") == "block";
    if by_block && matches!(config.run.precondition, Precondition::State { .. }) {
        return refuse(
            "keeps an active block for each quota, which a saved state does not hold",
            "age the device by `sequential`, `random` or `steady`, or set `migration.rcpb.quota = \"page\"`",
        );
    }
    if migration.name == "rcpb" && migration.word("selector") == "on" {
        if config.run.executor == Executor::Count {
            return refuse(
                "selects by the write buffer's fill over time, and under `count` no time passes",
                "set `run.executor = \"timed\"`, or `migration.rcpb.selector = \"off\"`",
            );
        }
        if config.ftl.get("write_buffer").name == "none" {
            return refuse(
                "selects by the write buffer's fill, and there is none",
                "set `ftl.write_buffer`, or `migration.rcpb.selector = \"off\"`",
            );
        }
    }
    Ok(())
}

/// Every kind of data has an active block in each plane.
fn check_streams(config: &Config) -> Result<(), Refusal> {
    let streams = ftl::streams(&geometry(config), &policies(config));
    if streams <= ftl::MAX_STREAMS {
        return Ok(());
    }
    Err(Refusal {
        key: "ftl.migration",
        message: format!(
            "quotas by block, `separation` and `paired_page` make {streams} kinds of data, and a plane has at most {} active \
             blocks",
            ftl::MAX_STREAMS
        ),
        help: "set `migration.rcpb.quota = \"page\"`, use fewer regions, or set `device.wear.quality = \"shares\"`"
            .into(),
    })
}

/// What active blocks of quotas take of a plane, for a message.
pub(crate) fn in_words(config: &Config) -> String {
    let migration = config.ftl.get("migration");
    if migration.name != "rcpb" || migration.word("quota") != "block" {
        return String::new();
    }
    format!(
        " and as many active blocks as kinds of data, {} with their quotas,",
        ftl::streams(&geometry(config), &policies(config))
    )
}

/// Refuses to save a state that would not be whole.
pub(crate) fn check_saved(config: &Config) -> Result<(), RunError> {
    if !is_in_force(config) {
        return Ok(());
    }
    Err(RunError::Input(format!(
        "a saved state does not hold the errors that pages have under `ftl.migration = \"{}\"`; save the state of a device \
         that moves pages off the chip",
        config.ftl.get("migration").name
    )))
}

/// Fails where a page was read whose errors cannot be corrected.
pub(crate) fn check_reads(device: &Device) -> Result<(), RunError> {
    let Some(error) = device.flash.nand().uncorrectable() else { return Ok(()) };
    Err(RunError::Failed(uncorrectable(error.block, error.page, error.error)))
}

/// Fails where a page that holds data, and a stamp to prove it, would be read so.
pub(crate) fn check_data(device: &Device) -> Result<(), RunError> {
    check_reads(device)?;
    if device.oracle.is_none() {
        return Ok(());
    }
    let (ftl, nand) = (&device.ftl, device.flash.nand());
    let places =
        (0..ftl.user_pages()).filter_map(|lpn| ftl.lookup(base::Lpn(lpn))).map(|ppn| ftl.geometry().place(ppn));
    let error = |block, page| nand.errors_of(block, page);
    match places.into_iter().find(|place| error(place.block, place.page) > base::ECC_LIMIT) {
        Some(place) => Err(RunError::Failed(uncorrectable(place.block, place.page, error(place.block, place.page)))),
        None => Ok(()),
    }
}

fn uncorrectable(block: u32, page: u32, error: u32) -> String {
    format!(
        "uncorrectable error: page {page} of block {block} has {:.2} times the errors that ECC corrects, after copybacks without \
         correction\nhint: use a restricted `ftl.migration`, such as `rcpb`",
        f64::from(error) / f64::from(base::ECC_LIMIT)
    )
}
