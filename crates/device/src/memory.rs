//! How much memory a configuration takes, and whether there is as much: said before anything is allocated. The figures
//! are those of the parts themselves, each beside its allocation.

use base::{Geometry, ParamValue};
use config::Config;
use config::model::{Executor, Payload, Precondition, Source};
pub use engine::memory::room;
use engine::memory::{Room, in_words};
use metrics::{Recorder, SplitLatencies, TenantFigures, Wear};
use nand::{Image, Nand, StoreKind};
use workload::Workload;

use crate::device::{Oracle, policies, stores};
use crate::drive::executor::CheckingHost;
use crate::errors::Refusal;
use crate::flash::{self, Flash};
use crate::gang::geometry;
use crate::{buffer, drive, gang, state, timed, wear};

/// The memory of every run, whatever its device: code and data of the first use, the summary's text, some buffers.
const ALWAYS: u64 = 8 << 20;

/// A part of what a run allocates.
#[derive(Clone, Copy, Debug)]
struct Part {
    what: &'static str,
    bytes: u64,
    /// The key that it grows with.
    key: MemoryKey,
}

/// The settings that memory follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryKey {
    Size,
    Payload,
    Cache,
    Buffer,
    Queue,
    Split,
}

/// Bytes that a run allocates at most at one time, about.
pub fn needed(config: &Config, saves_state: bool) -> u64 {
    total(&parts(config, saves_state))
}

fn total(parts: &[Part]) -> u64 {
    ALWAYS + parts.iter().map(|part| part.bytes).sum::<u64>()
}

fn parts(config: &Config, saves_state: bool) -> Vec<Part> {
    let geometry = geometry(config);
    let user_pages = config.device.user_capacity / u64::from(geometry.page_size);
    let payload = config.run.payload == Payload::Stamp;
    let ftl = ftl::bytes(&geometry, user_pages, &policies(config), payload);
    let array = Flash::bytes(&geometry, &config.device, StoreKind::Nothing);
    let stored = Flash::bytes(&geometry, &config.device, stores(config)) - array;
    let errors = if wear::is_in_force(config) { Nand::bytes_of_errors(geometry.pages()) } else { 0 };
    let blocks = ftl.blocks + array + errors + of_reads(config, &geometry);
    // One after the other.
    let passing = of_report(config, &geometry).max(ftl.renewed).max(of_states(config, &geometry, saves_state));
    let (of_executor, of_requests) = of_executor(config, &geometry);
    let of_buffer = buffer::bytes(config, geometry.planes());
    let part = |what, bytes, key| Part { what, bytes, key };
    vec![
        part("the maps", ftl.maps, MemoryKey::Size),
        part("the cached mapping table", ftl.cached_map, MemoryKey::Cache),
        part("what is known of blocks", blocks + of_executor, MemoryKey::Size),
        part("regions of pages", ftl.regions, MemoryKey::Size),
        part("stamps of pages", stored + if payload { Oracle::bytes(user_pages) } else { 0 }, MemoryKey::Payload),
        part("the records of an image", of_drive(config, &geometry), MemoryKey::Size),
        part("the write buffer", of_buffer, MemoryKey::Buffer),
        part("the parts of latencies", of_split(config), MemoryKey::Split),
        part("requests", of_requests + Workload::bytes(&config.workload), MemoryKey::Queue),
        part("tables, states and policies made anew", passing, MemoryKey::Size),
    ]
}

/// The records of an image, and what the host knows of its sectors. The data of pages are in a file, or looked at by the executor.
fn of_drive(config: &Config, geometry: &Geometry) -> u64 {
    if config.run.executor != Executor::Device {
        return 0;
    }
    let (records, _) =
        Image::bytes(&flash::shape(geometry, &config.device), geometry.page_size, drive::open::extras(config));
    records + CheckingHost::bytes(config.device.user_capacity)
}

/// The array's record of reads.
fn of_reads(config: &Config, geometry: &Geometry) -> u64 {
    match config.device.wear.read_limit {
        Some(_) => Nand::bytes_of_reads(geometry.pages(), geometry.blocks().into()),
        None => 0,
    }
}

/// The summary and the tables: wear, by block of the device as it is built.
fn of_report(config: &Config, geometry: &Geometry) -> u64 {
    let shape = crate::device::shape(config, geometry, config.run.executor == Executor::Timed);
    let blocks = u64::from(gang::physical(config).blocks());
    // Erases, reads and effective erases.
    let known = (4 + 4 + 8) * (blocks + u64::from(geometry.blocks()));
    let tenants = if let Source::Tenants(tenants) = &config.workload.source { tenants.len() as u64 } else { 0 };
    Recorder::bytes(&shape) + tenants * TenantFigures::BYTES + known + Wear::table_bytes(blocks)
}

/// Latencies by what they went to. How many requests there will be is only known of a generator; the executor looks again
/// as they come.
fn of_split(config: &Config) -> u64 {
    if !config.run.splits_latencies() {
        return 0;
    }
    let of_rows = match (config.run.per_request, &config.workload.source) {
        (true, Source::Generator(_)) => config.workload.end.requests.unwrap_or(0) * SplitLatencies::BYTES_OF_ROW,
        _ => 0,
    };
    let tenants = if let Source::Tenants(tenants) = &config.workload.source { tenants.len() as u64 } else { 0 };
    (1 + tenants) * SplitLatencies::BYTES + of_rows
}

fn of_executor(config: &Config, geometry: &Geometry) -> (u64, u64) {
    if config.run.executor != Executor::Timed {
        return (0, 0);
    }
    let pages = match &config.workload.source {
        Source::Generator(generator) => generator.request_size / u64::from(geometry.page_size) + 1,
        // Nothing is known before it is read; the executor looks again when a request comes.
        Source::Trace { .. } | Source::Job { .. } | Source::Tenants(_) => 1,
    };
    timed::bytes(geometry, config, pages)
}

fn of_states(config: &Config, geometry: &Geometry, saves_state: bool) -> u64 {
    let payload = config.run.payload == Payload::Stamp;
    let user_pages = config.device.user_capacity / u64::from(geometry.page_size);
    let of_ftl = u64::from(geometry.units()) * 4 + ftl::bytes_of_state(geometry, user_pages, &policies(config));
    let errors = if wear::is_in_force(config) { Nand::bytes_of_errors(geometry.pages()) } else { 0 };
    let reads = of_reads(config, geometry);
    let saved = if saves_state { of_ftl + state::bytes_to_save(geometry, payload) + 2 * reads } else { 0 };
    match config.run.precondition {
        Precondition::State { .. } => {
            saved.max(of_ftl + state::bytes_to_load(geometry, payload) + 2 * (errors + reads))
        }
        _ => saved,
    }
}

/// Refuses what needs more memory than there is, with the figures.
///
/// # Errors
/// Where the system says how much there is, and that is less than [`needed`].
pub fn check(config: &Config, saves_state: bool) -> Result<(), Refusal> {
    match room() {
        Some(room) => check_in(config, saves_state, &room),
        None => Ok(()),
    }
}

fn check_in(config: &Config, saves_state: bool, room: &Room) -> Result<(), Refusal> {
    let mut parts = parts(config, saves_state);
    let needed = total(&parts);
    if needed <= room.bytes {
        return Ok(());
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let largest = parts[0];
    let named: Vec<String> = parts
        .iter()
        .filter(|part| part.bytes > needed / 20)
        .map(|part| format!("{} for {}", in_words(part.bytes), part.what))
        .collect();
    let remedy = remedy(config, largest.key, |config| self::needed(config, saves_state) <= room.bytes);
    Err(Refusal {
        key: largest.key.path(),
        message: format!("a run needs {} of memory, and there are {}", in_words(needed), in_words(room.bytes)),
        help: format!("{} ({}); limited by {}", remedy, named.join(", "), room.limit),
    })
}

impl MemoryKey {
    fn path(self) -> &'static str {
        match self {
            MemoryKey::Size => "device.blocks_per_plane",
            MemoryKey::Payload => "run.payload",
            MemoryKey::Cache => "ftl.mapping",
            MemoryKey::Buffer => "ftl.write_buffer",
            MemoryKey::Queue => "host.queue_depth",
            MemoryKey::Split => "run.per_request",
        }
    }
}

/// A value that would fit: the largest value of the key for which the rest can stay.
fn remedy(config: &Config, key: MemoryKey, fits: impl Fn(&Config) -> bool) -> String {
    let changed = |change: &dyn Fn(&mut Config)| {
        let mut config = config.clone();
        change(&mut config);
        config
    };
    let size = |bytes: u64| config::print_size(bytes);
    match key {
        MemoryKey::Payload if fits(&changed(&|config| config.run.payload = Payload::None)) => {
            "set `run.payload` to \"none\"".into()
        }
        MemoryKey::Cache => {
            let most = most(config.ftl.get("mapping").size("cache"), |cache| {
                fits(&changed(&|config| set(config, "mapping", "cache", cache)))
            });
            most.map_or_else(smaller, |cache| format!("`mapping.dftl.cache` can be at most {}", size(cache)))
        }
        MemoryKey::Buffer => {
            let page = gang::page_size(config);
            let most = most(config.ftl.get("write_buffer").size("size") / page, |pages| {
                fits(&changed(&|config| set(config, "write_buffer", "size", pages * page)))
            });
            most.map_or_else(smaller, |pages| format!("the write buffer can have at most {}", size(pages * page)))
        }
        MemoryKey::Queue => {
            let counted = config.host.queue_depth.unwrap_or(timed::requests::FREELY);
            let most =
                most(counted.into(), |depth| fits(&changed(&|config| config.host.queue_depth = Some(depth as u32))));
            most.map_or_else(smaller, |depth| format!("`queue_depth` can be at most {depth}, or requests smaller"))
        }
        MemoryKey::Split => "use a shorter workload, or only `run.latency_parts`, which keeps a few examples".into(),
        MemoryKey::Size | MemoryKey::Payload => {
            let most = most(config.device.blocks_per_plane.into(), |blocks| fits(&smaller_device(config, blocks)));
            most.filter(|blocks| *blocks >= 4).map_or_else(smaller, |blocks| {
                format!("with the same over-provisioning `blocks_per_plane` can be at most {blocks}")
            })
        }
    }
}

fn smaller() -> String {
    "use a smaller device".into()
}

fn set(config: &mut Config, seam: &str, param: &str, value: u64) {
    let seam = config.ftl.made.iter_mut().find(|(key, _)| *key == seam);
    seam.into_iter().for_each(|(_, selection)| selection.set(param, ParamValue::Size(value)));
}

/// The device with so many blocks per plane.
fn smaller_device(config: &Config, blocks: u64) -> Config {
    let mut smaller = config.clone();
    let device = &mut smaller.device;
    let pages = u128::from(device.user_capacity / u64::from(device.page_size));
    device.user_capacity =
        (pages * u128::from(blocks) / u128::from(device.blocks_per_plane)) as u64 * u64::from(device.page_size);
    device.blocks_per_plane = blocks as u32;
    smaller
}

/// The largest number from 1 to below `refused` that fits.
fn most(refused: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut below, mut above) = (0, refused);
    while below + 1 < above {
        let middle = below + (above - below) / 2;
        if fits(middle) { below = middle } else { above = middle }
    }
    (below > 0).then_some(below)
}

#[cfg(test)]
mod tests {
    use engine::memory::Limit;

    use super::*;

    fn config(sets: &[&str]) -> Config {
        crate::preset("tbm", sets)
    }

    fn refusal(config: &Config, bytes: u64) -> Refusal {
        check_in(config, false, &Room { bytes, limit: Limit::AddressSpace }).expect_err("more than there is")
    }

    #[test]
    fn what_fits_is_not_refused() {
        // Stamps are much of a state, and more than what the report takes after the run.
        let config = config(&["run.payload=\"stamp\""]);
        let needed = needed(&config, false);
        let room = |bytes| Room { bytes, limit: Limit::Machine };
        assert!(check_in(&config, false, &room(needed)).is_ok());
        assert!(check_in(&config, false, &room(needed - 1)).is_err());
        assert!(check_in(&config, true, &room(needed)).is_err(), "a state takes memory when it is saved");
    }

    #[test]
    fn a_refusal_says_what_would_fit() {
        let config = config(&["device.blocks_per_plane=20000", "device.over_provisioning=0.07"]);
        let refusal = refusal(&config, 1 << 30);
        assert_eq!(refusal.key, "device.blocks_per_plane");
        assert!(refusal.message.starts_with("a run needs 2.7 GB of memory, and there are 1.1 GB"), "{refusal:?}");
        assert!(refusal.help.contains("`ulimit -v`") && refusal.help.contains("for the maps"), "{refusal:?}");
        let (_, rest) = refusal.help.split_once("at most ").unwrap();
        let blocks: u64 = rest.split(' ').next().unwrap().parse().unwrap();
        assert!(needed(&smaller_device(&config, blocks), false) <= 1 << 30);
        assert!(needed(&smaller_device(&config, blocks + 1), false) > 1 << 30);
    }

    #[test]
    fn the_key_is_that_of_the_largest_part() {
        let cases = [
            (
                &["ftl.mapping.dftl.cache=\"1GiB\"", "ftl.allocation=\"CWDP\""][..],
                "ftl.mapping",
                "`mapping.dftl.cache`",
            ),
            (&["ftl.write_buffer.fifo.size=\"100GiB\""], "ftl.write_buffer", "the write buffer can have"),
            (&["run.payload=\"stamp\""], "run.payload", "\"none\""),
            (&["host.queue_depth=65536", "workload.request_size=\"64MiB\""], "host.queue_depth", "`queue_depth`"),
        ];
        for (sets, key, words) in cases {
            let config = config(sets);
            let refusal = refusal(&config, 600 << 20);
            assert_eq!(refusal.key, key, "{refusal:?}");
            assert!(refusal.help.contains(words), "{refusal:?}");
        }
    }
}
