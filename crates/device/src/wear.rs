//! The wear and quality of a device's blocks, drawn from the seed.

use std::sync::Arc;

use base::{Quality, Wear};
use config::Config;
use engine::Chance;

use crate::gang::geometry;

/// True if pages may move by copyback, so that the array keeps their errors.
pub(crate) fn is_in_force(config: &Config) -> bool {
    config.ftl.get("migration").name != "off-chip"
}

/// The wear of all blocks, where it matters. Of blocks in step the worst one counts.
pub(crate) fn of(config: &Config) -> Option<Arc<Wear>> {
    if !is_in_force(config) {
        return None;
    }
    let wear = &config.device.wear;
    let parts = config.in_step().parts();
    let mut random = Chance::new(config.run.seed, "block quality");
    let mut draw = || match wear.quality.name {
        "shares" => of_shares(random.fraction(), wear.quality.number("best"), wear.quality.number("worst")),
        _ => of_tail([(); 3].map(|()| random.below(1 << 16))),
    };
    let qualities =
        (0..geometry(config).blocks()).map(|_| (0..parts).map(|_| draw()).max().expect("a block has parts")).collect();
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
    Quality(((sum * sum / 9) >> 16) as u32)
}
