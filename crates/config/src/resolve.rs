//! From keys to the resolved configuration, with the rules that tie keys together.

use base::{Cell, Choices, CopybackTable, Duration, ReprogramWear, Selection};

use crate::Registry;
use crate::diagnostic::{Diagnostic, Problems};
use crate::document::{Node, Value};
use crate::keys::{
    ARRIVALS, BLOCKS_PER_PLANE_MAX, BLOCKS_PER_PLANE_MIN, GENERATOR_ONLY, Kind, SOURCES, TRACE_ONLY, Word,
    is_static_order,
};
use crate::model::{
    BackwardsTime, Config, Device, Discards, End, Executor, Generator, HintSelect, Host, OutOfRange, Precondition,
    Replay, Retention, Run, Source, Timing, Wear, Workload, in_step,
};
use crate::reader::{READS_MAX, Reader, expected};
use crate::sample;
use crate::tenants::{self, TENANT};
use crate::units::{list, print_size};

/// Pages are numbered with 32 bits, and the last number means "none".
const PAGES_MAX: u64 = (1 << 32) - 2;
/// How far `over_provisioning` may be from `user_capacity` at most, however few digits were written.
const AGREEMENT: f64 = 0.005;

/// Reads every section; problems are left in the reader.
pub(crate) fn resolve(reader: &mut Reader<'_>, registry: &Registry) -> Option<Config> {
    let device = device(reader, registry);
    let ftl = ftl(reader, registry);
    let device = device.map(|device| whole_superpages(reader, device, ftl.as_ref()));
    let host = host(reader);
    let sizes = device.as_ref().map(|device| (device.user_capacity, u64::from(device.page_size)));
    let run = run(reader, sizes);
    tenants::needs_tenants(reader);
    let workload = match reader.tree.has(TENANT) {
        true => tenants::read(reader, sizes, host.as_ref(), run.as_ref().map(|run| run.executor)),
        false => workload(reader, sizes, true),
    };
    let mut config = Config { device: device?, ftl: ftl?, host: host?, workload: workload?, run: run? };
    if reader.problems.is_empty() {
        let (replay, executor) = (config.host.replay, Some(config.run.executor));
        drop_arrivals(reader, &mut config.workload.source, replay, executor);
    }
    reader.problems.is_empty().then_some(config)
}

fn device(reader: &mut Reader<'_>, registry: &Registry) -> Option<Device> {
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
fn whole_superpages(reader: &Reader<'_>, device: Device, ftl: Option<&Choices>) -> Device {
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
fn nearest(sizes: impl Iterator<Item = u64>) -> String {
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

/// Table I of Hong et al.: best, median and worst blocks, by band.
fn table_one(retention: Retention) -> [[u32; 6]; 3] {
    match retention {
        Retention::Year => [[5, 4, 4, 3, 3, 2], [5, 4, 3, 3, 2, 1], [3, 2, 2, 1, 1, 0]],
        Retention::ThreeMonths => [[6, 5, 4, 4, 3, 2], [6, 5, 4, 3, 3, 2], [4, 3, 2, 2, 1, 1]],
    }
}

fn wear(reader: &mut Reader<'_>, cell: Option<Cell>) -> Option<Wear> {
    let pe_cycles = reader.count32("device.wear.pe_cycles");
    let cycles_per_erase = reader.count32("device.wear.cycles_per_erase");
    let retention = reader.word("device.wear.retention");
    let quality = reader.choice("device.wear.quality", "quality of blocks").and_then(|quality| shares(reader, quality));
    let copyback = retention.and_then(|retention| copyback_table(reader, retention));
    let read_limit = read_limit(reader, cell);
    let reprogram_restarts = reader.flag("device.wear.reprogram_restarts");
    let reprogram = reprogram_wear(reader);
    Some(Wear {
        pe_cycles: pe_cycles?,
        cycles_per_erase: cycles_per_erase?,
        quality: quality?,
        retention: retention?,
        copyback: copyback?,
        read_limit: read_limit?,
        reprogram_restarts: reprogram_restarts?,
        reprogram: reprogram?,
    })
}

const READ_LIMIT: &str = "device.wear.read_limit";

/// The limits of reads at full and at low density; the inner `None` is `none`.
fn read_limit(reader: &mut Reader<'_>, cell: Option<Cell>) -> Option<Option<[u32; 2]>> {
    let node = reader.raw(READ_LIMIT)?;
    match &node.value {
        Value::String(text) if text == "none" => return Some(None),
        Value::String(text) if text == "cell" => {
            let published = base::disturb::read_limits(cell?);
            if published.is_none() {
                let title = format!("no read limits are published for cells of type {}", cell?.word());
                let label = "expected [full, low] with limits of your own";
                reader.clash(&[READ_LIMIT, "device.cell"], title, label);
            }
            return published.map(Some);
        }
        Value::Array(items) => {
            let number = |node: &Node| match node.value {
                Value::Integer(number) => number.and_then(|number| u32::try_from(number).ok()),
                _ => None,
            };
            if let [full, low] = items[..].iter().map(number).collect::<Vec<_>>()[..]
                && let (Some(full), Some(low)) = (full, low)
                && (1..=low).contains(&full)
                && low <= READS_MAX
            {
                return Some(Some([full, low]));
            }
            let title = "`device.wear.read_limit` is not a pair of limits";
            reader.problem(&node.place, title, format!("expected {}", expected(Kind::ReadLimit)));
        }
        _ => reader.unexpected(READ_LIMIT, &node),
    }
    None
}

const REPROGRAM_RATES: &str = "device.wear.reprogram_rates";
const REPROGRAM_WEAR: &str = "device.wear.reprogram_wear";

/// The wear of cycles with reprogramming, by their share.
fn reprogram_wear(reader: &mut Reader<'_>) -> Option<ReprogramWear> {
    let (rates, wear) = (reader.numbers(REPROGRAM_RATES), reader.numbers(REPROGRAM_WEAR));
    let (rates, wear) = (rates?, wear?);
    if rates.is_empty() || !rates.is_sorted_by(|low, high| low < high) {
        let label = "expected one or more shares of cycles, each above the one before";
        reader.refuse(REPROGRAM_RATES, "the shares of cycles with reprogramming do not ascend", label);
        return None;
    }
    if rates.len() != wear.len() {
        let title = format!("`{REPROGRAM_WEAR}` has {} numbers and there are {} shares", wear.len(), rates.len());
        let label = "expected one for each share of `reprogram_rates`";
        reader.clash(&[REPROGRAM_WEAR, REPROGRAM_RATES], title, label);
        return None;
    }
    Some(ReprogramWear { rates, wear })
}

/// Shares of blocks are of all of them.
fn shares(reader: &mut Reader<'_>, quality: Selection) -> Option<Selection> {
    if quality.name != "shares" || quality.number("best") + quality.number("worst") <= 1.0 {
        return Some(quality);
    }
    let (best, worst) = (quality.number("best"), quality.number("worst"));
    let label = format!("best {best} and worst {worst}; expected shares that add up to 1 at most");
    reader.refuse("device.wear.quality", "the shares of best and worst blocks are more than all blocks", label);
    None
}

const BANDS: &str = "device.wear.copyback_bands";
const ROWS: [&str; 3] = ["device.wear.copyback_best", "device.wear.copyback_median", "device.wear.copyback_worst"];

/// The copyback thresholds that were given, and those of the paper where none were.
fn copyback_table(reader: &mut Reader<'_>, retention: Retention) -> Option<CopybackTable> {
    let bands = reader.counts(BANDS);
    let defaults = table_one(retention);
    let rows = [0, 1, 2].map(|row| match reader.tree.has(ROWS[row]) {
        true => reader.counts(ROWS[row]),
        false => Some(defaults[row].to_vec()),
    });
    let (bands, [best, median, worst]) = (bands?, rows);
    let table = CopybackTable { bands, best: best?, median: median?, worst: worst? };
    if table.bands.is_empty() || !table.bands.is_sorted_by(|low, high| low < high) {
        let label = "expected the most P/E cycles of each band, each above the one before";
        reader.refuse(BANDS, "the bands of P/E cycles do not ascend", label);
        return None;
    }
    for (path, row) in ROWS.iter().zip([&table.best, &table.median, &table.worst]) {
        if row.len() != table.bands.len() {
            let title = format!("`{path}` has {} thresholds and there are {} bands", row.len(), table.bands.len());
            let label = "expected one for each band of `copyback_bands`; where bands are given, all three rows are";
            reader.clash(&[path, BANDS], title, label);
            return None;
        }
    }
    for (better, worse, path) in [(&table.best, &table.median, ROWS[1]), (&table.median, &table.worst, ROWS[2])] {
        if let Some(band) = (0..better.len()).find(|&band| worse[band] > better[band]) {
            let title = format!("`{path}` allows more copybacks than better blocks have");
            let (worse, better) = (worse[band], better[band]);
            let label = format!("{worse} up to {} P/E cycles; expected at most {better}", table.bands[band]);
            reader.clash(&[path, ROWS[0], ROWS[1]], title, label);
            return None;
        }
    }
    Some(table)
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

fn ftl(reader: &mut Reader<'_>, registry: &Registry) -> Option<Choices> {
    let mut seams = Vec::new();
    let mut sound = true;
    for seam in &registry.seams {
        let noun = format!("{} policy", seam.key.replace('_', " "));
        let path = format!("ftl.{}", seam.key);
        let own = if registry.own.contains(&seam.key) { reader.own_choice(&path) } else { None };
        match own.or_else(|| reader.choice(&path, &noun)) {
            Some(selection) => seams.push((seam.key, selection)),
            None => sound = false,
        }
    }
    bind(reader, registry, &mut seams)?;
    sound.then_some(Choices { made: seams })
}

/// The binding follows from the allocation; one that contradicts it is refused.
fn bind(reader: &mut Reader<'_>, registry: &Registry, seams: &mut [(&'static str, Selection)]) -> Option<()> {
    let made = |key: &str| seams.iter().find(|(seam, _)| *seam == key).map(|(_, selection)| selection);
    let (Some(allocation), Some(binding)) = (made("allocation"), made("binding")) else { return Some(()) };
    let (is_own, allocation, binding) = (allocation.own.is_some(), allocation.written(), binding.name);
    let (follows, why) = match is_own || is_static_order(allocation) {
        true => ("static", "a formula of the LPN names the channel"),
        false => ("dynamic", "any free channel takes the page"),
    };
    if !reader.tree.has("ftl.binding") {
        let seam = registry.seams.iter().find(|seam| seam.key == "binding")?;
        let choice = seam.find(follows)?;
        seams
            .iter_mut()
            .filter(|(key, _)| *key == "binding")
            .for_each(|(_, made)| *made = Selection::default_of(choice));
        return Some(());
    }
    if binding == follows {
        return Some(());
    }
    let title = format!("binding `{binding}` contradicts allocation `{allocation}`");
    let label =
        format!("under `{allocation}` {why}; expected `{follows}`, or no `binding`: it follows from the allocation");
    reader.refuse("ftl.binding", title, label);
    None
}

fn host(reader: &mut Reader<'_>) -> Option<Host> {
    let replay = reader.word("host.replay");
    if replay == Some(Replay::Paced) && !reader.tree.has(TENANT) {
        let label =
            "one host has a closed or an open loop; expected `replay = \"paced\"` in a `[[tenant]]`, or \"open\"";
        reader.refuse("host.replay", "`paced` is a loop of tenants", label);
    }
    let queue_depth = match reader.tree.has(TENANT) && !reader.tree.has(QUEUE_DEPTH) {
        true => Some(Some(TENANTS_DEPTH)),
        false => queue_depth(reader, replay),
    };
    let time_scale = reader.number("host.time_scale");
    if matches!(replay, Some(Replay::Closed | Replay::Batch)) && time_scale.is_some_and(|scale| scale != 1.0) {
        let label = "a closed loop ignores arrival times; expected `host.replay = \"open\"`, or no `time_scale`";
        reader.clash(&["host.time_scale", "host.replay"], "`host.time_scale` has no effect in a closed loop", label);
    }
    let link = reader.bandwidth("host.link");
    let command_time = reader.time("host.command_time");
    let command_interval = reader.time("host.command_interval");
    let arbitration = reader.choice("host.arbitration", "arbitration");
    Some(Host {
        replay: replay?,
        queue_depth: queue_depth?,
        link: link?,
        command_time: command_time?,
        command_interval: command_interval?,
        time_scale: time_scale?,
        arbitration: arbitration?,
    })
}

const QUEUE_DEPTH: &str = "host.queue_depth";

/// Commands of all tenants that the controller has at once, where nothing is said; assumed.
const TENANTS_DEPTH: u32 = 256;

/// Queue depth of a closed loop where none is given.
const CLOSED_DEPTH: u32 = 32;

/// A depth that is given holds in every loop. Without one, an open loop takes what comes; and a closed one has to have one, so that it
/// takes the place of `unlimited` on an earlier layer than that which made the loop a closed one.
pub(crate) fn queue_depth(reader: &mut Reader<'_>, replay: Option<Replay>) -> Option<Option<u32>> {
    let given = if reader.tree.has(QUEUE_DEPTH) { Some(reader.depth(QUEUE_DEPTH)?) } else { None };
    match (replay?, given) {
        (Replay::Open, given) => Some(given.flatten()),
        (_, Some(Some(depth))) => Some(Some(depth)),
        (replay, Some(None)) if reader.tree.layer(QUEUE_DEPTH) >= reader.tree.layer("host.replay") => {
            let label = format!(
                "`{}` sends the next request when one is done, so something has to say how many there are: expected a whole \
                 number from 1 to 65536, or `host.replay = \"open\"`",
                replay.word()
            );
            reader.clash(&[QUEUE_DEPTH, "host.replay"], "only an open loop has no limit of its requests", label);
            None
        }
        (_, Some(None) | None) => Some(Some(CLOSED_DEPTH)),
    }
}

/// `sizes`: user capacity and page size; `None` after a problem with them.
pub(crate) fn workload(reader: &mut Reader<'_>, sizes: Option<(u64, u64)>, needs_end: bool) -> Option<Workload> {
    let given: Vec<&str> = SOURCES.iter().copied().filter(|path| reader.tree.has(path)).collect();
    let source = match given[..] {
        ["workload.trace"] => trace(reader),
        ["workload.generator"] => generator(reader, sizes).map(Source::Generator),
        ["workload.job"] => job(reader),
        [] => {
            reader.problems.push(no_workload());
            None
        }
        [.., second] => {
            let label = format!("expected only one of {}", list(SOURCES));
            reader.refuse(second, "a workload is a trace, a generator or a job, not two of them", label);
            None
        }
    };
    // Without a capacity, a multiple of it has no value; units and types are still checked, with one that
    // cannot be the reason for a refusal.
    let capacity = sizes.map_or(1 << 20, |(capacity, _)| capacity);
    let (ends, volume) = (reader.problems.len(), reader.volume("workload.volume", capacity));
    let end = End { volume, requests: reader.count("workload.requests"), rounds: rounds(reader) };
    let trace_format = reader.name("workload.trace_format");
    let trace_columns = reader.text("workload.trace_columns");
    if trace_format.is_some() && trace_columns.is_some() {
        let title = "a trace has a format or columns, not both";
        reader.clash(&["workload.trace_columns", "workload.trace_format"], title, "expected only one of the two");
    }
    let address_offset = reader.size("workload.address_offset");
    let out_of_range: Option<OutOfRange> = reader.word("workload.out_of_range");
    let backwards_time: Option<BackwardsTime> = reader.word("workload.backwards_time");
    let discards: Option<Discards> = reader.word("workload.discards");
    let skip_bad = reader.flag("workload.skip_bad");
    let (hint, hint_parts) = (reader.count_or_counts("workload.hint"), reader.count32("workload.hint_parts"));
    let hint_select: Option<HintSelect> = reader.word("workload.hint_select");
    hints(reader, hint.as_deref(), hint_parts);
    let sound = reader.problems.len() == ends;
    if sound && needs_end && matches!(source, Some(Source::Generator(_))) && end == End::default() {
        let label = "expected `workload.volume`, for example \"2x\" (of the user capacity), or `workload.requests`";
        reader.refuse("workload.generator", "a generator needs an end", label);
    }
    if sound && needs_end && end == End::default() && source.as_ref().is_some_and(Source::is_endless) {
        let label = "expected `workload.volume` or `workload.requests`, or no `time_based=1`";
        reader.refuse("workload.job", "a job that goes by time needs an end", label);
    }
    reads_only(reader, &source, &end);
    let (capacity, _) = sizes?;
    let (address_offset, out_of_range) = (address_offset?, out_of_range?);
    partition(reader, source.as_ref(), address_offset, out_of_range, capacity);
    Some(Workload {
        source: source?,
        end,
        trace_format,
        trace_columns,
        address_offset,
        out_of_range,
        backwards_time: backwards_time?,
        discards: discards?,
        skip_bad: skip_bad?,
        hint: hint?.into_iter().map(|hint| hint as u16).collect(),
        hint_select: hint_select?,
        hint_parts: hint_parts? as u16,
        share: None,
    })
}

/// Several hints are taken in turns, and by nothing else.
fn hints(reader: &mut Reader<'_>, hints: Option<&[u32]>, parts: Option<u32>) {
    let [hint, select, several_parts] = ["workload.hint", "workload.hint_select", "workload.hint_parts"];
    let has_several = hints.is_some_and(|hints| hints.len() > 1);
    if has_several && parts.is_some_and(|parts| parts > 1) {
        let title = "a write has a hint by its address or in its turn, not both";
        reader.clash(&[hint, several_parts], title, "expected one `hint`, or no `hint_parts`");
    }
    if hints.is_some() && !has_several && reader.tree.get(select).is_some() {
        let title = "`workload.hint_select` chooses among several hints, and there is one";
        reader.refuse(select, title, "expected an array as `hint`, such as `[0, 1, 2]`, or no `hint_select`");
    }
}

const OUT_OF_RANGE: &str = "workload.out_of_range";

/// A partition begins on the device, and a generator that may not leave the device fits behind its beginning.
fn partition(reader: &mut Reader<'_>, source: Option<&Source>, offset: u64, rule: OutOfRange, capacity: u64) {
    const PATH: &str = "workload.address_offset";
    const CAPACITY: [&str; 2] = ["device.user_capacity", "device.over_provisioning"];
    if offset >= capacity {
        let title = format!("`{PATH}` of {} is past the end of the device", print_size(offset));
        let label = format!("expected less than the user capacity, {}", print_size(capacity));
        reader.clash(&[PATH, CAPACITY[0], CAPACITY[1]], title, label);
        return;
    }
    let Some(Source::Generator(generator)) = source else { return };
    if offset == 0 {
        // Its footprint is inside the device.
        let title = "has no effect on a generator without `workload.address_offset`";
        foreign(reader, &[OUT_OF_RANGE], title, "`workload.address_offset` above 0");
        return;
    }
    if rule == OutOfRange::Reject && generator.footprint > capacity - offset {
        let title = format!("the footprint behind `{PATH}` reaches past the end of the device");
        let label = format!(
            "`workload.out_of_range` is \"reject\"; expected `workload.footprint` of at most {}",
            print_size((capacity - offset) / generator.request_size * generator.request_size)
        );
        reader.clash(&[PATH, "workload.footprint", OUT_OF_RANGE, CAPACITY[0]], title, label);
    }
}

fn no_workload() -> Diagnostic {
    Diagnostic::new("there is no workload").label(
        "expected `workload.trace = \"FILE\"`, or `workload.generator = \"uniform\"` with an end such as \
         `workload.volume = \"2x\"`; or a preset to start from: `preset = \"tbm-small\"`",
    )
}

fn rounds(reader: &mut Reader<'_>) -> Option<u64> {
    reader.tree.has("workload.rounds").then(|| reader.count("workload.rounds"))?
}

/// A closed loop with time does not look at when requests come. Keys that say so are refused, unless a later layer made
/// the loop a closed one: that takes their place.
pub(crate) fn drop_arrivals(reader: &mut Reader<'_>, source: &mut Source, replay: Replay, executor: Option<Executor>) {
    let Source::Generator(generator) = source else { return };
    if matches!(replay, Replay::Open | Replay::Paced) || executor != Some(Executor::Timed) {
        return;
    }
    let closed_on = reader.tree.layer("host.replay").max(reader.tree.layer("run.executor"));
    let told = [
        generator.interval > Duration::ZERO,
        generator.poisson,
        generator.idle_every > 0,
        generator.idle_for > Duration::ZERO,
    ];
    for (path, _) in ARRIVALS.iter().zip(told).filter(|(_, told)| *told) {
        if reader.tree.layer(path) >= closed_on {
            let name = path.rsplit('.').next().unwrap_or(path);
            let title = format!("`{path}` has no effect in a closed loop");
            let label = format!(
                "a closed loop sends the next request when one is done; expected `host.replay = \"open\"`, or no `{name}`"
            );
            reader.refuse(path, title, label);
        }
    }
    (generator.interval, generator.poisson) = (Duration::ZERO, false);
    (generator.idle_every, generator.idle_for) = (0, Duration::ZERO);
}

/// A volume is never reached when nothing is written.
fn reads_only(reader: &mut Reader<'_>, source: &Option<Source>, end: &End) {
    let Some(Source::Generator(generator)) = source else { return };
    if generator.read_fraction == 1.0 && end.volume.is_some() && end.requests.is_none() {
        let label = "nothing is written at `read_fraction` 1; expected `workload.requests`";
        reader.refuse("workload.volume", "the end of the workload is never reached", label);
    }
}

fn job(reader: &mut Reader<'_>) -> Option<Source> {
    let others: Vec<&str> =
        GENERATOR_ONLY.iter().chain(TRACE_ONLY).copied().chain(["workload.address_offset"]).collect();
    foreign(reader, &others, "is not for jobs, and the workload is one", "its words in `workload.job`");
    reader.text("workload.job").map(|text| Source::Job { text })
}

fn foreign(reader: &mut Reader<'_>, paths: &[&str], title: &str, instead: &str) {
    for path in paths {
        if reader.tree.has(path) {
            let name = path.rsplit('.').next().unwrap_or(path);
            reader.refuse(path, format!("`{path}` {title}"), format!("expected no `{name}`, or {instead}"));
        }
    }
}

fn trace(reader: &mut Reader<'_>) -> Option<Source> {
    foreign(reader, GENERATOR_ONLY, "is for generators, and the workload is a trace", "`workload.generator`");
    reader.file("workload.trace").map(|path| Source::Trace { path })
}

fn generator(reader: &mut Reader<'_>, sizes: Option<(u64, u64)>) -> Option<Generator> {
    let trace_only: Vec<&str> = TRACE_ONLY.iter().copied().filter(|path| *path != OUT_OF_RANGE).collect();
    foreign(reader, &trace_only, "is for traces, and the workload is a generator", "`workload.trace`");
    let pattern = reader.choice("workload.generator", "generator");
    let request_size = match reader.tree.has("workload.request_size") {
        true => reader.size("workload.request_size"),
        false => sizes.map(|(_, page_size)| page_size),
    };
    let read_fraction = reader.number("workload.read_fraction");
    let footprint = footprint(reader, sizes.map(|(capacity, _)| capacity), request_size);
    let interval = reader.time("workload.interval");
    let poisson = reader.flag("workload.poisson");
    let idle_every = reader.count("workload.idle_every");
    let idle_for = reader.time("workload.idle_for");
    arrivals(reader, interval, poisson, idle_every, idle_for);
    Some(Generator {
        pattern: pattern?,
        request_size: request_size?,
        read_fraction: read_fraction?,
        footprint: footprint?,
        interval: interval?,
        poisson: poisson?,
        idle_every: idle_every?,
        idle_for: idle_for?,
    })
}

fn footprint(reader: &mut Reader<'_>, capacity: Option<u64>, request_size: Option<u64>) -> Option<u64> {
    const PATH: &str = "workload.footprint";
    let (given, is_part) = reader.footprint(PATH, capacity.unwrap_or(1 << 20))?;
    let (capacity, request_size) = (capacity?, request_size?);
    if given > capacity {
        let title = format!("`{PATH}` of {} is larger than the user capacity", print_size(given));
        let label = format!("`{PATH}` can be at most the user capacity, {}", print_size(capacity));
        reader.clash(&[PATH, "device.user_capacity", "device.over_provisioning"], title, label);
        return None;
    }
    let rest = given % request_size;
    if given < request_size {
        let title = format!("`{PATH}` of {} has no room for a request", print_size(given));
        let label = format!("requests are of {}; expected at least that", print_size(request_size));
        reader.clash(&[PATH, "workload.request_size"], title, label);
        return None;
    }
    if rest != 0 && !is_part {
        let title = format!("`{PATH}` is not a whole number of requests of {}", print_size(request_size));
        let near = [given - rest, given - rest + request_size].into_iter().filter(|size| *size <= capacity);
        let label = format!("{given} bytes; {}", nearest(near));
        reader.clash(&[PATH, "workload.request_size"], title, label);
        return None;
    }
    Some(given - rest)
}

/// Keys that have an effect only together.
fn arrivals(
    reader: &mut Reader<'_>,
    interval: Option<Duration>,
    poisson: Option<bool>,
    every: Option<u64>,
    length: Option<Duration>,
) {
    if poisson == Some(true) && interval == Some(Duration::ZERO) {
        let label = "expected `workload.interval` above 0, the mean time between arrivals";
        reader.clash(&["workload.poisson", "workload.interval"], "a Poisson process needs an interval", label);
    }
    match (every, length) {
        (Some(0), Some(length)) if length > Duration::ZERO => {
            let label = "expected `workload.idle_every` above 0, the requests between gaps";
            reader.clash(
                &["workload.idle_for", "workload.idle_every"],
                "`workload.idle_for` has no effect without `workload.idle_every`",
                label,
            );
        }
        (Some(every), Some(Duration::ZERO)) if every > 0 => {
            let label = "expected `workload.idle_for` above 0, the length of a gap";
            reader.clash(
                &["workload.idle_every", "workload.idle_for"],
                "`workload.idle_every` has no effect without `workload.idle_for`",
                label,
            );
        }
        _ => {}
    }
}

fn run(reader: &mut Reader<'_>, sizes: Option<(u64, u64)>) -> Option<Run> {
    let executor = reader.word("run.executor");
    let seed = reader.count("run.seed");
    let checks = reader.word("run.checks");
    let payload = reader.word("run.payload");
    let latency_parts = reader.flag("run.latency_parts");
    let per_request = reader.flag("run.per_request");
    let precondition = precondition(reader, sizes.map(|(capacity, _)| capacity));
    let sample = sample::read(reader, sizes.map(|(_, page_size)| page_size));
    Some(Run {
        executor: executor?,
        seed: seed?,
        checks: checks?,
        payload: payload?,
        latency_parts: latency_parts?,
        per_request: per_request?,
        precondition: precondition?,
        sample: sample?,
    })
}

const PRECONDITION: &str = "run.precondition";
const PRECONDITIONS: [&str; 6] = ["none", "sequential", "random", "worn", "steady", "state"];

fn precondition(reader: &mut Reader<'_>, capacity: Option<u64>) -> Option<Precondition> {
    let node = reader.raw(PRECONDITION)?;
    match &node.value {
        Value::String(name) => match name.as_str() {
            "none" => Some(Precondition::None),
            "steady" => Some(Precondition::Steady),
            name => {
                reader.problems.push(bad_precondition(name).at(&node.place));
                None
            }
        },
        Value::Table(entries) => match &entries[..] {
            [entry] => aged(reader, entry, capacity),
            [_, second, ..] => {
                let names = list(entries.iter().map(|entry| crate::diagnostic::clean(&entry.key)));
                let title = format!("`{PRECONDITION}` makes {} choices at once: {names}", entries.len());
                reader.problem(&second.place, title, "expected one of them");
                None
            }
            [] => {
                reader.unexpected(PRECONDITION, &node);
                None
            }
        },
        _ => {
            reader.unexpected(PRECONDITION, &node);
            None
        }
    }
}

fn aged(reader: &mut Reader<'_>, entry: &crate::document::KeyValue, capacity: Option<u64>) -> Option<Precondition> {
    let path = format!("{PRECONDITION}.{}", entry.key);
    let assumed = capacity.unwrap_or(1 << 20);
    match entry.key.as_str() {
        "sequential" => reader.volume_of(&path, &entry.node, assumed).map(|volume| Precondition::Sequential { volume }),
        "random" => reader.volume_of(&path, &entry.node, assumed).map(|volume| Precondition::Random { volume }),
        "worn" => reader.volume_of(&path, &entry.node, assumed).map(|volume| Precondition::Worn { volume }),
        "state" => reader.file_name(&path, &entry.node).map(|path| Precondition::State { path }),
        name @ ("none" | "steady") => {
            let title = format!("precondition `{name}` takes no value");
            reader.problem(&entry.node.place, title, format!("expected `precondition = \"{name}\"`"));
            None
        }
        name => {
            reader.problems.push(bad_precondition(name).at(&entry.place));
            None
        }
    }
}

fn bad_precondition(name: &str) -> Diagnostic {
    let takes = |what: &str, example: &str| {
        Diagnostic::new(format!("precondition `{name}` needs {what}"))
            .label(format!("expected `precondition.{name} = \"{example}\"`"))
    };
    match name {
        "sequential" => takes("a volume", "1x"),
        "random" => takes("a volume", "3x"),
        "worn" => takes("a volume", "3x"),
        "state" => takes("a file", "FILE"),
        _ => Diagnostic::new(format!("unknown precondition `{}`", crate::diagnostic::clean(name)))
            .label(format!("expected one of {}", list(PRECONDITIONS)))
            .maybe_hint(crate::diagnostic::did_you_mean(name, PRECONDITIONS)),
    }
}
