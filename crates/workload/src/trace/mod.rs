//! Reading traces: detection by content, decompression, one streaming pass with bounded memory.
//!
//! To add a format, write one file with a `LineParser` (or, of records, a `RecordParser`) and add its line to [`FORMATS`].

mod alibaba;
mod ascii;
mod biosnoop;
mod biotracer;
mod blkparse;
mod block_events;
mod columns;
mod detect;
mod etw;
mod fields;
mod fiu;
mod foreign;
mod iolog;
mod lcs;
mod msr;
mod names;
mod objects;
mod oracle;
mod packed;
mod parser;
mod reader;
mod rounds;
mod rwbs;
mod source;
mod spc;
mod systor;
mod tencent;
mod vscsi;
mod vscsi_binary;
mod window;

use std::sync::LazyLock;

pub(crate) use columns::PREFIX as COLUMNS;
pub use parser::{Counts, Format, Record};
pub use reader::{Trace, TraceOptions};
pub(crate) use rounds::Rounds;
pub use source::Compression;

/// Every format, in the order in which detection prefers them.
pub static FORMATS: &[Format] = &[
    iolog::FORMAT,
    etw::FORMAT,
    msr::FORMAT,
    spc::FORMAT,
    alibaba::FORMAT,
    vscsi::FORMAT,
    vscsi::SECONDS,
    tencent::FORMAT,
    ascii::SSDSIM,
    ascii::SSDSIM_US,
    ascii::DISKSIM,
    ascii::FLASHSIM,
    ascii::BYTES_MS,
    biotracer::FORMAT,
    blkparse::FORMAT,
    block_events::FORMAT,
    biosnoop::FORMAT,
    systor::FORMAT,
    fiu::FORMAT,
    lcs::FORMAT,
    vscsi_binary::FORMAT,
    oracle::FORMAT,
];

/// The names of all formats, for the configuration reader.
pub fn names() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| FORMATS.iter().map(|format| format.name).collect());
    &NAMES
}

/// The names of all formats, for messages.
pub(crate) fn format_names() -> String {
    FORMATS.iter().map(|format| format!("`{}`", format.name)).collect::<Vec<_>>().join(", ")
}
