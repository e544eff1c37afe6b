//! Why a flash operation happens, and which kind it is.

use serde::{Deserialize, Serialize};

/// The reason a flash operation was sent. Every operation carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Cause {
    /// A host read or write.
    Host = 0,
    /// Garbage collection.
    Gc = 1,
    /// Translation pages.
    Mapping = 2,
    /// Read-disturb or retention refresh.
    Refresh = 3,
    /// Paired-page backup.
    Backup = 4,
    /// Wear leveling.
    Wear = 5,
    /// The read of a read-modify-write: a host write that covers part of a page.
    Rmw = 6,
    /// Dummy pages that fill up what is programmed together, so that data which wait there can be programmed.
    Pad = 7,
    /// Pages that could not be corrected are read again, whoever they are for.
    Retry = 8,
    /// Pages move out of the pseudo-SLC cache.
    Fold = 9,
}

/// Causes that there are.
pub const CAUSES: usize = 10;

impl Cause {
    /// Every cause, in the order of the report.
    pub const ALL: [Cause; CAUSES] = [
        Cause::Host,
        Cause::Gc,
        Cause::Mapping,
        Cause::Refresh,
        Cause::Backup,
        Cause::Wear,
        Cause::Rmw,
        Cause::Pad,
        Cause::Retry,
        Cause::Fold,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Host => "host",
            Cause::Gc => "gc",
            Cause::Mapping => "mapping",
            Cause::Refresh => "refresh",
            Cause::Backup => "backup",
            Cause::Wear => "wear",
            Cause::Rmw => "rmw",
            Cause::Pad => "pad",
            Cause::Retry => "retry",
            Cause::Fold => "fold",
        }
    }
}

/// The kind of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum OpKind {
    /// Array read of a page.
    Read = 0,
    /// Program of a page.
    Program = 1,
    /// Erase of a block.
    Erase = 2,
}
