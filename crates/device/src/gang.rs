//! Channels or planes in step (`reclaim_unit = "superblock"`, and map units of a flash page of each plane): which devices can have them,
//! and what they are in pages and blocks of the flash.
//!
//! Channels or planes in step are one whose pages are that many times wider, so a device with them *is* a device with fewer
//! channels or planes: [`geometry`] folds its shape, `Timing::new` its times, and nothing else of the
//! device knows. What a user sees is unfolded again: counts by [`metrics::Counters::physical`], blocks here.

use base::scope::{Area, Scope};
use base::{Dimensions, Geometry, InStep, Multiplane};
use config::Config;

use crate::errors::Refusal;
use crate::pages::{MAX_PARTS, Parts};

/// Bytes of a sector, which is not divided.
pub(crate) const SECTOR: u32 = 512;

/// The device's shape under a configuration, as the FTL sees it: what is in step is one part with wider pages.
pub(crate) fn geometry(config: &Config) -> Geometry {
    let (device, in_step) = (&config.device, config.in_step());
    Geometry::new(Dimensions {
        channels: device.channels / in_step.channels,
        chips_per_channel: device.chips_per_channel,
        dies_per_chip: device.dies_per_chip,
        planes_per_die: device.planes_per_die / in_step.planes,
        blocks_per_plane: device.blocks_per_plane,
        pages_per_block: device.pages_per_block * parts(config),
        page_size: superpage(config) / parts(config),
        parts: parts(config),
        unit_width: if config.ftl.get("reclaim_unit").name == "twin" {
            device.planes_per_die / in_step.planes
        } else {
            1
        },
    })
}

/// Bytes of a flash page, or of those that are in step.
fn superpage(config: &Config) -> u32 {
    config.device.page_size.saturating_mul(config.in_step().parts())
}

/// Map units of a flash page, or of those that are in step: there a unit has an equal part of each.
pub(crate) fn parts(config: &Config) -> u32 {
    ftl::map_unit::size(config.ftl.get("map_unit")).map_or(1, |size| (superpage(config) / size).max(1))
}

/// The flash pages of a page of the FTL, of which a request may concern some. A map unit is one, and is read as a whole.
pub(crate) fn parts_of_page(config: &Config, geometry: &Geometry) -> Parts {
    let count = if geometry.parts > 1 { 1 } else { config.in_step().parts() };
    Parts::new(count, u64::from(geometry.page_size / count))
}

/// Bytes of a page as the FTL sees it.
pub(crate) fn page_size(config: &Config) -> u64 {
    u64::from(config.device.page_size) * u64::from(config.in_step().parts()) / u64::from(parts(config))
}

/// The FTL's pages and their size, for texts.
pub(crate) fn pages_in_words(config: &Config) -> String {
    let size = config::print_size(page_size(config));
    match config.in_step().parts() {
        _ if parts(config) > 1 => format!("map units of {size}"),
        1 => format!("pages of {size}"),
        parts => format!("superpages of {size} ({parts} flash pages in step)"),
    }
}

/// Refuses more map units than can be numbered, which [`geometry`] cannot have.
pub(crate) fn check_number(config: &Config) -> Result<(), Refusal> {
    let pages = physical(config).pages();
    ftl::map_unit::check_number(config.ftl.get("map_unit"), config.device.page_size, pages)
        .map_err(|ftl::Refusal { key, message, help }| Refusal { key, message, help })
}

/// Refuses what cannot be in step, with the reason.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let in_step = config.in_step();
    let parts = u64::from(in_step.channels) * u64::from(in_step.planes);
    let refuse = |key, message: String, help: String| Err(Refusal { key, message, help });
    if in_step.planes > 1 && config.device.multiplane == Multiplane::Off {
        return refuse(
            if config.ftl.get("map_unit").name == "page" { "ftl.reclaim_unit" } else { "ftl.map_unit" },
            "planes in step take every command together, and `multiplane` is `off`".into(),
            "set `device.multiplane` to `pac` or `bac`; or use `superblock.over = \"channels\"` or `block`, and a `map_unit` of no more \
             than a flash page"
                .into(),
        );
    }
    if parts > u64::from(MAX_PARTS) {
        return refuse(
            "ftl.reclaim_unit",
            format!("{parts} flash pages would be in step, and a superpage has at most {MAX_PARTS}"),
            "put fewer channels or planes in step, or use `block`".into(),
        );
    }
    check_striped(config)?;
    let superpage = page_size(config);
    if superpage > u64::from(u32::MAX) {
        return refuse(
            "device.page_size",
            format!("{} do not fit 32 bits", pages_in_words(config)),
            "use smaller pages, or put fewer channels or planes in step".into(),
        );
    }
    let capacity = config.device.user_capacity;
    if !capacity.is_multiple_of(superpage) {
        let below = capacity / superpage * superpage;
        let print = config::print_size;
        let near = if below == 0 { String::new() } else { format!("{} and ", print(below)) };
        return refuse(
            "device.user_capacity",
            format!("a user space of {} is not a whole number of {}", print(capacity), pages_in_words(config)),
            format!(
                "the nearest: {near}{}; where only `over_provisioning` is given, the user space ends with a superpage",
                print(below + superpage)
            ),
        );
    }
    Ok(())
}

/// Refuses map units that cannot lie on all flash pages in step.
fn check_striped(config: &Config) -> Result<(), Refusal> {
    let in_step = config.in_step().parts();
    let least = SECTOR * in_step;
    let Some(unit) = ftl::map_unit::size(config.ftl.get("map_unit")).filter(|&unit| !unit.is_multiple_of(least)) else {
        return Ok(());
    };
    let print = |bytes: u32| config::print_size(bytes.into());
    Err(Refusal {
        key: "ftl.map_unit",
        message: format!(
            "a map unit lies in equal parts on all flash pages in step, and {} on {in_step} of them are no whole sectors",
            print(unit)
        ),
        help: format!("use a multiple of {}, or put fewer channels or planes in step", print(least)),
    })
}

/// The device's shape as it is built, in single blocks.
pub(crate) fn physical(config: &Config) -> Geometry {
    let device = &config.device;
    Geometry::new(Dimensions {
        channels: device.channels,
        chips_per_channel: device.chips_per_channel,
        dies_per_chip: device.dies_per_chip,
        planes_per_die: device.planes_per_die,
        blocks_per_plane: device.blocks_per_plane,
        pages_per_block: device.pages_per_block,
        page_size: device.page_size,
        unit_width: 1,
        parts: 1,
    })
}

/// By block of the device as it is built, what is known of the block or the superblock that it belongs to.
pub(crate) fn of_each_block<T: Copy>(config: &Config, known: &[T]) -> Vec<T> {
    let (geometry, InStep { channels, planes }) = (physical(config), config.in_step());
    let dies_per_channel = geometry.chips_per_channel * geometry.dies_per_chip;
    let mut all = Vec::with_capacity(geometry.blocks() as usize);
    for plane in 0..geometry.planes() {
        let (die, plane) = (plane / geometry.planes_per_die, plane % geometry.planes_per_die);
        let (channel, die) = (die / dies_per_channel, die % dies_per_channel);
        // In step means all of them: then the first stands for each.
        let channel = if channels > 1 { 0 } else { channel };
        let plane = if planes > 1 { 0 } else { plane };
        let first = ((channel * dies_per_channel + die) * (geometry.planes_per_die / planes) + plane)
            * geometry.blocks_per_plane;
        all.extend_from_slice(&known[first as usize..][..geometry.blocks_per_plane as usize]);
    }
    all
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Ftl,
    name: "Superblocks in step",
    keys: &["ftl.reclaim_unit"],
    modelled: "All channels, or all planes of a die, carry out every command together.",
    not_modelled: &["No page of a superpage is read, programmed or refreshed by itself, so retries are refused."],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn config(over: &str) -> Config {
        let sets = [
            "device.channels=2",
            "device.chips_per_channel=1",
            "device.dies_per_chip=2",
            "device.planes_per_die=2",
            "device.blocks_per_plane=8",
            "device.pages_per_block=8",
            "device.user_capacity=\"2MiB\"",
            "ftl.allocation=\"CWDP\"",
            over,
        ];
        crate::preset("tbm-small", &sets)
    }

    #[test]
    fn every_block_of_a_superblock_is_as_worn_as_it_is() {
        let over = |over: &str| {
            let config = config(&format!("ftl.reclaim_unit.superblock.over=\"{over}\""));
            let blocks = geometry(&config).blocks();
            let each = of_each_block(&config, &(0..blocks).collect::<Vec<u32>>());
            assert_eq!(each.len(), 64);
            // By channel, die and plane, the number of the first block's superblock among those of eight.
            each.chunks(8)
                .map(|plane| {
                    assert!(plane.iter().zip(plane[0]..).all(|(&block, expected)| block == expected));
                    plane[0] / 8
                })
                .collect::<Vec<u32>>()
        };
        assert_eq!(over("channels"), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(over("planes"), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(over("channels-and-planes"), [0, 0, 1, 1, 0, 0, 1, 1]);
        let plain = config("ftl.reclaim_unit=\"block\"");
        let blocks: Vec<u32> = (0..64).collect();
        assert_eq!(of_each_block(&plain, &blocks), blocks);
    }
}
