//! The lives of a device's blocks, drawn from the seed.

use std::sync::Arc;

use base::Block;
use config::Config;
use config::model::Executor;
use engine::Chance;
use nand::{BlockLives, LifeSetup, LifeShape};

use crate::errors::Refusal;
use crate::gang::geometry;

/// Erases that a block lives for, at least. The fewer they are, the more blocks differ by chance in how many they had.
const LEAST_ERASES: f64 = 100.0;
/// The life of a block ÷ the difference of units that wear leveling allows, at least.
const LEAST_LAGS: f64 = 10.0;

/// Refuses erases that stand for several P/E cycles where that says nothing, or too little.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let cycles = config.device.wear.cycles_per_erase;
    let refuse = |message: String, help: String| Err(Refusal { key: "device.wear.cycles_per_erase", message, help });
    if cycles == 1 {
        return Ok(());
    }
    let Some(setup) = LifeSetup::of(&config.device.features) else {
        return refuse(
            "no block of this device fails, so no end of its life is to be reached in fewer erases".into(),
            "leave it out, or set `device.bad_blocks` = \"weibull\"".into(),
        );
    };
    if config.run.executor == Executor::Device {
        return refuse(
            "a drive of real bytes lives through all of its erases".into(),
            "leave it out, or use the executor `timed` or `count`".into(),
        );
    }
    if config.device.features.get("media").name != "none" {
        return refuse(
            "retries go by the age of data, and the time of a whole life does not pass".into(),
            "leave it out, or set `device.media` = \"none\"".into(),
        );
    }
    if config.ftl.get("migration").name != "off-chip" {
        return refuse(
            "what copybacks may do goes by the erases of blocks".into(),
            "leave it out, or set `ftl.migration = \"off-chip\"`".into(),
        );
    }
    if setup.life() / f64::from(cycles) < LEAST_ERASES {
        let most = (setup.life() / LEAST_ERASES) as u32;
        return refuse(
            format!(
                "blocks live for {} P/E cycles, which is too few erases of {cycles} cycles: a life has {LEAST_ERASES} at least",
                setup.life()
            ),
            match most {
                0 | 1 => "leave it out: so short a life is soon over".into(),
                _ => format!("use at most {most}"),
            },
        );
    }
    let leveling = config.ftl.get("wear_leveling");
    if leveling.name == "none" {
        return Ok(());
    }
    let (name, threshold) = (leveling.name, leveling.integer("threshold"));
    let most = (setup.life() / (LEAST_LAGS * f64::from(threshold))) as u32;
    if cycles <= most {
        return Ok(());
    }
    refuse(
        format!(
            "`wear_leveling = \"{name}\"` lets units differ by {threshold} erases, which are {} P/E cycles here: too many for blocks \
             that live for {}",
            u64::from(threshold) * u64::from(cycles),
            setup.life()
        ),
        match most {
            0 | 1 => format!("leave it out, or set a lower `ftl.wear_leveling.{name}.threshold`"),
            _ => format!("use at most {most}, or a lower `ftl.wear_leveling.{name}.threshold`"),
        },
    )
}

/// True if blocks fail.
pub(crate) fn are_limited(config: &Config) -> bool {
    LifeSetup::of(&config.device.features).is_some()
}

/// The lives of all blocks, where blocks fail. Of blocks in step the first to fail counts.
pub(crate) fn of(config: &Config) -> Option<BlockLives> {
    let setup = LifeSetup::of(&config.device.features)?;
    let geometry = geometry(config);
    let shape = LifeShape {
        blocks: geometry.blocks(),
        parts: config.in_step().parts(),
        pages_per_block: geometry.pages_per_block,
        pe_cycles: config.device.wear.pe_cycles,
    };
    let mut random = Chance::new(config.run.seed, "bad blocks");
    Some(BlockLives::draw(&setup, shape, || random.next()))
}

/// By block, whether it is bad from the factory.
pub(crate) fn bad(config: &Config) -> Option<Arc<[bool]>> {
    let lives = of(config)?;
    Some(Block::all(0..geometry(config).blocks()).map(|block| lives.is_bad(block)).collect())
}
