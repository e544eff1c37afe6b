//! The lives of a device's blocks, drawn from the seed.

use std::sync::Arc;

use base::Block;
use config::Config;
use engine::Chance;
use nand::{BlockLives, LifeSetup, LifeShape};

use crate::gang::geometry;

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
