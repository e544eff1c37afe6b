//! The parts of a latency: their names, and a time for each.

use base::{Cause, OpKind};
use serde_json::{Value, json};

use super::WAYS;
use crate::latency::us;

/// The causes of parts of a request's latency.
///
/// Parts up to [`LatencyPart::Suspend`] are what a die may be doing while a page waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LatencyPart {
    /// The page waited for its turn while its die had no command.
    Queue,
    /// The die had no command, and a collection on it waited: for a correction, another die, its pace.
    GcWait,
    /// The die had a command for reads of the host, or for reads of old versions.
    HostRead,
    /// The die had a command for programs of the host.
    HostProgram,
    /// The die had a command of garbage collection, but for erases.
    Gc,
    /// The die erased, for whatever cause.
    Erase,
    /// The die refreshed a block.
    Refresh,
    /// The die had a command for pages of the map.
    Mapping,
    /// The die moved pages for wear leveling.
    Wear,
    /// The die wrote or read backups of paired pages.
    Backup,
    /// The die read pages again that could not be corrected: the page's own, or others before it.
    Retry,
    /// The die moved pages out of the pseudo-SLC cache.
    Fold,
    /// A command waited for the channel: the page's own, or that of its die.
    Channel,
    /// A program or an erase of the die was being suspended. Its resume counts as the operation.
    Suspend,
    /// The host waited for a place in the device (`host.queue_depth`).
    Admission,
    /// The controller dealt with the host's command (`host.command_time`), or it waited for that.
    Controller,
    /// Data waited for the host's link, or passed it (`host.link`).
    Link,
    /// A write waited for room in the write buffer or, with FUA, its page for its turn to leave.
    Buffer,
    /// The page's map entry was read from flash.
    Map,
    /// The old version of a page that was written in part was read.
    OldVersion,
    /// The page was corrected, or waited for that.
    Correction,
    /// The die had a command for reads or programs of another tenant.
    OtherTenant,
    /// The page's own command: cycles, array, transfer.
    Service,
}

impl LatencyPart {
    /// Every part, in the order of the report.
    pub const ALL: [LatencyPart; 23] = [
        LatencyPart::Queue,
        LatencyPart::GcWait,
        LatencyPart::HostRead,
        LatencyPart::HostProgram,
        LatencyPart::Gc,
        LatencyPart::Erase,
        LatencyPart::Refresh,
        LatencyPart::Mapping,
        LatencyPart::Wear,
        LatencyPart::Backup,
        LatencyPart::Retry,
        LatencyPart::Fold,
        LatencyPart::Channel,
        LatencyPart::Suspend,
        LatencyPart::Admission,
        LatencyPart::Controller,
        LatencyPart::Link,
        LatencyPart::Buffer,
        LatencyPart::Map,
        LatencyPart::OldVersion,
        LatencyPart::Correction,
        LatencyPart::OtherTenant,
        LatencyPart::Service,
    ];

    /// The number of parts that a die may be doing; they come first.
    pub const OF_DIES: usize = LatencyPart::Suspend as usize + 1;

    /// The name in reports.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].name
    }

    /// The part that others wait for while a die has such a command.
    #[inline]
    pub fn of_command(kind: OpKind, cause: Cause) -> LatencyPart {
        match (kind, cause) {
            (OpKind::Erase, _) => LatencyPart::Erase,
            (OpKind::Read, Cause::Host | Cause::Rmw | Cause::Pad) => LatencyPart::HostRead,
            (OpKind::Program, Cause::Host | Cause::Rmw | Cause::Pad) => LatencyPart::HostProgram,
            (_, Cause::Gc) => LatencyPart::Gc,
            (_, Cause::Refresh) => LatencyPart::Refresh,
            (_, Cause::Mapping) => LatencyPart::Mapping,
            (_, Cause::Wear) => LatencyPart::Wear,
            (_, Cause::Backup) => LatencyPart::Backup,
            (_, Cause::Retry) => LatencyPart::Retry,
            (_, Cause::Fold) => LatencyPart::Fold,
        }
    }
}

/// By part: its name, and by way its columns in microseconds and in nanoseconds.
pub(super) struct Names {
    name: &'static str,
    pub(super) columns: [(&'static str, &'static str); WAYS],
}

macro_rules! names {
    ($($name:literal),+ $(,)?) => {
        [$(Names {
            name: $name,
            columns: [
                (concat!($name, "_us"), concat!($name, "_ns")),
                (concat!("admission_", $name, "_us"), concat!("admission_", $name, "_ns")),
                (concat!("buffer_", $name, "_us"), concat!("buffer_", $name, "_ns")),
            ],
        }),+]
    };
}

pub(super) const NAMES: [Names; LatencyPart::ALL.len()] = names![
    "queue",
    "gc_wait",
    "host_read",
    "host_program",
    "gc",
    "erase",
    "refresh",
    "mapping",
    "wear",
    "backup",
    "retry",
    "fold",
    "channel",
    "suspend",
    "admission",
    "controller",
    "link",
    "buffer",
    "map",
    "old_version",
    "correction",
    "other_tenant",
    "service",
];

/// The parts of one latency, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyParts(pub(super) [u64; LatencyPart::ALL.len()]);

impl LatencyParts {
    /// Every part zero.
    pub const NONE: LatencyParts = LatencyParts([0; LatencyPart::ALL.len()]);

    /// Adds to a part.
    #[inline]
    pub fn add(&mut self, part: LatencyPart, ns: u64) {
        self.0[part as usize] += ns;
    }

    /// A part.
    #[inline]
    pub fn get(&self, part: LatencyPart) -> u64 {
        self.0[part as usize]
    }

    /// All parts together.
    #[inline]
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds the parts of something that was waited for; `own` is what its own command counts as.
    pub fn add_all(&mut self, other: &LatencyParts, own: LatencyPart) {
        for part in LatencyPart::ALL {
            self.add(if part == LatencyPart::Service { own } else { part }, other.get(part));
        }
    }

    pub(super) fn to_json(self) -> Value {
        let parts = LatencyPart::ALL.iter().map(|&part| (part.name().to_owned(), json!(us(self.get(part)))));
        Value::Object(parts.collect())
    }

    /// JSON of the parts that took time.
    pub(super) fn taken_to_json(self) -> Value {
        let taken = LatencyPart::ALL.iter().filter(|&&part| self.get(part) > 0);
        Value::Object(taken.map(|&part| (part.name().to_owned(), json!(us(self.get(part))))).collect())
    }
}
