//! `[device]`: its size in blocks and in bytes, and its timing.

use base::Choices;

use super::wear::wear;
use crate::Registry;
use crate::diagnostic::Problems;
use crate::keys::{BLOCKS_PER_PLANE_MAX, BLOCKS_PER_PLANE_MIN};
use crate::model::{Device, Timing, in_step};
use crate::reader::Reader;
use crate::units::print_size;

/// Pages are numbered with 32 bits, and the last number means "none".
const PAGES_MAX: u64 = (1 << 32) - 2;
/// How far `over_provisioning` may be from `user_capacity` at most, however few digits were written.
const AGREEMENT: f64 = 0.005;

pub(super) fn device(reader: &mut Reader<'_>, registry: &Registry) -> Option<Device> {
    let channels = reader.count32("device.channels");
    let chips_per_channel = reader.count32("device.chips_per_channel");
    let dies_per_chip = reader.count32("device.dies_per_chip");
    let planes_per_die = reader.count32("device.planes_per_die");
    let cell: Option<base::Cell> = reader.word("device.cell");
    let bits = cell.map(base::Cell::bits);
    let pages_per_block = reader.count32("device.pages_per_block");
    let pages_per_block = whole_wordlines(reader, pages_per_block, bits);
    let page_size = reader.size("device.page_size");
    let planes = [channels, chips_per_channel, dies_per_chip, planes_per_die, pages_per_block];
    let blocks_per_plane = blocks_per_plane(reader, planes, page_size);
    let program_order = reader.word("device.program_order");
    let multiplane = reader.word("device.multiplane");
    let features = features(reader, registry);
    let counts = [channels, chips_per_channel, dies_per_chip, planes_per_die, pages_per_block, blocks_per_plane];
    let raw = raw_capacity(reader, counts, page_size);
    let capacity = user_capacity(reader, raw, page_size);
    let wear = wear(reader, cell);
    let timing = timing(reader, bits);
    let (user_capacity, over_provisioning) = capacity?;
    Some(Device {
        channels: channels?,
        chips_per_channel: chips_per_channel?,
        dies_per_chip: dies_per_chip?,
        planes_per_die: planes_per_die?,
        blocks_per_plane: blocks_per_plane?,
        pages_per_block: pages_per_block?,
        page_size: u32::try_from(page_size?).ok()?,
        cell: cell?,
        program_order: program_order?,
        multiplane: multiplane?,
        features: features?,
        user_capacity,
        over_provisioning,
        wear: wear?,
        timing: timing?,
    })
}

fn features(reader: &mut Reader<'_>, registry: &Registry) -> Option<Choices> {
    // All are read, so that all that is wrong is told.
    let read =
        |feature: &&base::FeatureKey| (feature.key, reader.choice(&format!("device.{}", feature.key), feature.noun));
    let read: Vec<_> = registry.features.iter().map(read).collect();
    let made = read.into_iter().map(|(key, made)| Some((key, made?))).collect::<Option<_>>()?;
    Some(Choices { made })
}

fn whole_wordlines(reader: &mut Reader<'_>, pages: Option<u32>, bits: Option<u32>) -> Option<u32> {
    let (pages, bits) = (pages?, bits?);
    if pages % bits == 0 {
        return Some(pages);
    }

    let title = format!("{pages} pages per block do not fill whole wordlines of {bits} pages");
    let (below, above) = (pages - pages % bits, pages - pages % bits + bits);
    let nearest: Vec<String> =
        [below, above].iter().filter(|n| (1..=65_535).contains(*n)).map(u32::to_string).collect();
    let label = format!("with {bits} bits per cell, `pages_per_block` can be {}", nearest.join(" or "));
    reader.clash(&["device.pages_per_block", "device.cell"], title, label);
    None
}

/// The keys that a device's size follows from.
const GEOMETRY: [&str; 7] = [
    "device.blocks_per_plane",
    "device.pages_per_block",
    "device.page_size",
    "device.planes_per_die",
    "device.dies_per_chip",
    "device.chips_per_channel",
    "device.channels",
];

const BLOCKS: &str = "device.blocks_per_plane";

/// Blocks of each plane: as given, or as many as the user capacity and its spare take. `counts` are what multiplies them.
fn blocks_per_plane(reader: &mut Reader<'_>, counts: [Option<u32>; 5], page_size: Option<u64>) -> Option<u32> {
    if reader.tree.has(BLOCKS) || !reader.tree.has("device.user_capacity") {
        return reader.count32(BLOCKS);
    }
    let pages = counts.into_iter().try_fold(1u128, |pages, count| Some(pages * u128::from(count?)))?;
    // What is wrong with them is told where they are read for their own sake.
    let mut ahead = Reader { tree: reader.tree, keys: reader.keys, problems: Problems::default() };
    let (capacity, ratio) = (ahead.size("device.user_capacity")?, ahead.ratio("device.over_provisioning")?);
    let bytes_of_one = pages * u128::from(page_size?);
    let raw = capacity as f64 * (1.0 + ratio);
    let wanted = (raw / bytes_of_one as f64).ceil();
    if wanted <= BLOCKS_PER_PLANE_MAX as f64 {
        return Some((wanted as u32).max(BLOCKS_PER_PLANE_MIN as u32));
    }
    let title = format!("a user capacity of {} is too large for the geometry", print_size(capacity));
    let label = format!(
        "it would take {wanted} blocks per plane, and there can be {BLOCKS_PER_PLANE_MAX}; expected more channels, chips, \
         dies or planes, larger blocks or pages, or a smaller capacity"
    );
    reader.refuse("device.user_capacity", title, label);
    None
}

/// Bytes of all pages. `counts` ends with the blocks per plane.
fn raw_capacity(reader: &mut Reader<'_>, counts: [Option<u32>; 6], page_size: Option<u64>) -> Option<u64> {
    let mut pages = 1u128;
    for count in counts {
        pages *= u128::from(count?);
    }
    if pages > u128::from(PAGES_MAX) {
        let blocks = u128::from(counts[5]?);
        let fit = u128::from(PAGES_MAX) / (pages / blocks);
        let title = format!("a device of {pages} pages is too large");
        let most = match fit >= u128::from(BLOCKS_PER_PLANE_MIN) {
            true => format!("with the other figures, at most {fit} blocks per plane"),
            false => "even with 4 blocks per plane there would be too many".into(),
        };
        let label = format!("pages are numbered with 32 bits, so there can be {PAGES_MAX}: {most}");
        reader.clash(&GEOMETRY, title, label);
        return None;
    }
    u64::try_from(pages).ok()?.checked_mul(page_size?)
}

/// User capacity and over-provisioning.
fn user_capacity(reader: &mut Reader<'_>, raw: Option<u64>, page_size: Option<u64>) -> Option<(u64, f64)> {
    // Where they follow from the capacity, whole blocks give a little more spare than was asked for.
    let blocks_are_given = reader.tree.has(BLOCKS);
    let ratio = reader.ratio("device.over_provisioning");
    if !reader.tree.has("device.user_capacity") {
        let (raw, page_size, ratio) = (raw?, page_size?, ratio?);
        let capacity = capacity_of(raw, ratio, page_size);
        if capacity == 0 {
            let title = format!("an over-provisioning of {ratio} leaves the user nothing");
            let label = format!("the raw capacity is {}; expected less spare", print_size(raw));
            reader.refuse("device.over_provisioning", title, label);
            return None;
        }
        // As it was written, although a page is rounded off.
        return Some((capacity, ratio));
    }
    let capacity = reader.size("device.user_capacity");
    let (capacity, raw, page_size) = (capacity?, raw?, page_size?);
    let capacity = whole_pages(reader, capacity, page_size)?;
    if capacity >= raw {
        let title = format!("a user capacity of {} leaves no spare space", print_size(capacity));
        let enough = enough_blocks(reader, raw, capacity, ratio)
            .map_or(String::new(), |blocks| format!(", `blocks_per_plane = {blocks}` or more"));
        let label = format!(
            "the raw capacity is {}; expected a smaller `user_capacity`{enough}, or `over_provisioning` in its place",
            print_size(raw)
        );
        let mut paths = vec!["device.user_capacity"];
        paths.extend(GEOMETRY);
        reader.clash(&paths, title, label);
        return None;
    }
    let spare = spare_ratio(raw, capacity);
    if reader.tree.has("device.over_provisioning") {
        let written = ratio?;
        if capacity_of(raw, written, page_size) == capacity {
            return Some((capacity, written));
        }
        if blocks_are_given {
            agree(reader, capacity, spare, written)?;
        }
    }
    Some((capacity, spare))
}

/// Blocks per plane with which `capacity` leaves the spare `ratio`, where there can be as many.
fn enough_blocks(reader: &mut Reader<'_>, raw: u64, capacity: u64, ratio: Option<f64>) -> Option<u32> {
    let blocks = f64::from(reader.count32(BLOCKS)?);
    let wanted = (blocks * capacity as f64 * (1.0 + ratio?) / raw as f64).ceil();
    (wanted <= BLOCKS_PER_PLANE_MAX as f64).then_some(wanted as u32)
}

/// A capacity that follows from `over_provisioning` ends where a superpage does, if channels or planes are in step.
pub(super) fn whole_superpages(reader: &Reader<'_>, device: Device, ftl: Option<&Choices>) -> Device {
    let parts = ftl.map_or(1, |ftl| in_step(&device, ftl).parts());
    let superpage = u64::from(parts) * u64::from(device.page_size);
    if device.user_capacity.is_multiple_of(superpage) || reader.tree.has("device.user_capacity") {
        return device;
    }
    let dies = u64::from(device.channels) * u64::from(device.chips_per_channel) * u64::from(device.dies_per_chip);
    let blocks = dies * u64::from(device.planes_per_die) * u64::from(device.blocks_per_plane);
    let raw = blocks * u64::from(device.pages_per_block) * u64::from(device.page_size);
    let user_capacity = (device.user_capacity / superpage).max(1) * superpage;
    Device { user_capacity, over_provisioning: spare_ratio(raw, user_capacity), ..device }
}

fn spare_ratio(raw: u64, capacity: u64) -> f64 {
    (raw - capacity) as f64 / capacity as f64
}

/// The bytes that `over_provisioning` leaves the user, in whole steps. Rounding may not give the user all there is: the spare is
/// above zero, so at least a page is spare.
fn capacity_of(raw: u64, ratio: f64, step: u64) -> u64 {
    ((raw as f64 / (1.0 + ratio) / step as f64) as u64).min(raw / step - 1) * step
}

/// The capacity in whole pages: sizes of drives, such as 100 GB, are seldom a multiple of a page.
fn whole_pages(reader: &mut Reader<'_>, capacity: u64, page_size: u64) -> Option<u64> {
    let whole = capacity - capacity % page_size;
    if whole == 0 {
        let title = format!("`device.user_capacity` is not a whole number of pages of {}", print_size(page_size));
        let near = nearest(std::iter::once(page_size));
        reader.clash(&["device.user_capacity", "device.page_size"], title, format!("{capacity} bytes; {near}"));
        return None;
    }
    if whole < capacity {
        reader.problems.note(format!(
            "a user capacity of {capacity} bytes is no whole number of pages of {}: it is {whole}",
            print_size(page_size)
        ));
    }
    Some(whole)
}

/// The sizes that could have been meant.
pub(super) fn nearest(sizes: impl Iterator<Item = u64>) -> String {
    let sizes: Vec<String> = sizes.map(print_size).collect();
    let verb = if sizes.len() == 1 { "is" } else { "are" };
    format!("the nearest {verb} {}", sizes.join(" and "))
}

/// Compares the ratio that was written with the capacity's own, to the digits written.
fn agree(reader: &mut Reader<'_>, capacity: u64, spare: f64, written: f64) -> Option<()> {
    let digits = written.to_string().split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let tolerance = (0.5 * 0.1f64.powi(digits as i32)).min(AGREEMENT).max(spare * 1e-12);
    if (written - spare).abs() <= tolerance * (1.0 + 1e-9) {
        return Some(());
    }
    let shown = digits.clamp(4, 12);
    let title = "`device.user_capacity` and `device.over_provisioning` disagree";
    let label = format!(
        "{written} is not spare ÷ user capacity of {}, which is {spare:.shown$}; expected only one of the two",
        print_size(capacity)
    );
    reader.refuse("device.over_provisioning", title, label);
    None
}

fn timing(reader: &mut Reader<'_>, bits: Option<u32>) -> Option<Timing> {
    let read = reader.times("device.timing.read", bits);
    let program = reader.times("device.timing.program", bits);
    let erase = reader.time("device.timing.erase");
    let channel_rate = reader.rate("device.timing.channel_rate");
    let command_overhead = reader.time("device.timing.command_overhead");
    let dram_bandwidth = reader.bandwidth("device.timing.dram_bandwidth");
    let ecc_latency = reader.time("device.timing.ecc_latency");
    let ecc_bandwidth = reader.bandwidth("device.timing.ecc_bandwidth");
    Some(Timing {
        read: read?,
        program: program?,
        erase: erase?,
        channel_rate: channel_rate?,
        command_overhead: command_overhead?,
        dram_bandwidth: dram_bandwidth?,
        ecc_latency: ecc_latency?,
        ecc_bandwidth: ecc_bandwidth?,
    })
}
