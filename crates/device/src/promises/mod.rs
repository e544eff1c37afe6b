//! The promises of a drive in the words of NVMe, as a host reads them before it relies on them: Identify Controller and Identify
//! Namespace. How each is kept stands where it is kept; `docs/tenants.md` has all of them.

use base::scope::{Area, Scope};
use base::{Choice, Seam};
use config::Config;
use ftl::schedule::{Kind, Schedule};
use serde_json::{Value, json};

use crate::{buffer, gang};

static DEALLOCATED_READS: &[Choice] = &[
    Choice { name: "zeros", doc: "Zeros (001b of DLFEAT).", params: &[] },
    Choice { name: "ones", doc: "Bytes of FFh (010b of DLFEAT).", params: &[] },
];

/// The seam, for the configuration reader.
pub(crate) static DLFEAT: Seam = Seam {
    key: "deallocated_reads",
    doc: "Content that a read returns of a sector that was discarded, or never written (DLFEAT). Executors without \
          bytes only say so.",
    choices: DEALLOCATED_READS,
};

/// The byte that sectors are full of which were discarded, or never written.
pub(crate) fn deallocated_byte(config: &Config) -> u8 {
    if config.ftl.get(DLFEAT.key).name == "ones" { 0xFF } else { 0 }
}

/// Blocks of the largest unit that 16 bits of a number from 0 on can tell.
const MOST_BLOCKS: u64 = 1 << 16;

/// Writes of at most so many bytes are after a power cut wholly there or not at all.
pub(crate) fn atomic_size(config: &Config) -> u64 {
    let page = gang::page_size(config);
    buffer::largest_unit(config.ftl.get("write_buffer")).map_or(page, |unit| unit.max(page))
}

/// The promises, for the summary. Sizes are bytes; `nabspf_bytes`: a write that crosses a multiple of it may be torn.
pub(crate) fn told(config: &Config) -> Value {
    let (page, atomic) = (gang::page_size(config), atomic_size(config));
    json!({
        "logical_block_bytes": gang::SECTOR,
        // A drive with bytes carries out one request at a time, so none sees a part of another.
        "awun_bytes": MOST_BLOCKS * u64::from(gang::SECTOR),
        "awupf_bytes": atomic,
        "nawupf_bytes": atomic,
        "nabspf_bytes": (atomic == page).then_some(page),
        "dlfeat": config.ftl.get(DLFEAT.key).name,
        "command_time_us": config.host.command_time.ns() as f64 / 1e3,
        "command_interval_us": config.host.command_interval.ns() as f64 / 1e3,
        "predictable_latency": windows(config),
    })
}

/// Deterministic windows: nothing of them where there are none. As much as `dtwin_writes_bytes` is written in one without an excursion, where
/// planes get equal parts of it.
fn windows(config: &Config) -> Value {
    let windows = match Schedule::new(config.ftl.get("gc_schedule")).kind {
        Kind::Windows { stock, deterministic, nondeterministic } => Some((stock, deterministic, nondeterministic)),
        _ => None,
    };
    let geometry = gang::geometry(config);
    let bytes = u64::from(geometry.domains()) * u64::from(geometry.unit_slots()) * gang::page_size(config);
    json!({
        "dtwin_s": windows.map(|(_, deterministic, _)| deterministic.seconds()),
        "ndwin_s": windows.map(|(_, _, nondeterministic)| nondeterministic.seconds()),
        "dtwin_writes_bytes": windows.map(|(stock, ..)| u64::from(stock) * bytes),
    })
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Faults,
    name: "Promises to the host",
    keys: &["ftl.deallocated_reads"],
    modelled: "A drive says in the words of NVMe how large atomic writes are, how discarded sectors read, and how long its windows are.",
    not_modelled: &["NVMe commands are not served: the summary has the values."],
};
