//! Requests: a workload sends them to the host interface.

use crate::units::Instant;

/// The kind of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RequestKind {
    /// Read `size` bytes at `offset`.
    Read,
    /// Write `size` bytes at `offset`.
    Write,
    /// Discard `size` bytes at `offset`.
    Trim,
    /// Make every write that completed before durable. `offset` and `size` are 0.
    Flush,
}

/// One host request, in bytes and in the workload's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When the workload sends it; the first request of a trace is at zero.
    pub at: Instant,
    /// First byte of the address range.
    pub offset: u64,
    /// Length of the address range in bytes.
    pub size: u64,
    /// Its kind.
    pub kind: RequestKind,
    /// Force unit access: the write is durable when it completes.
    pub fua: bool,
    /// Of a write: where the host wants it placed, in the numbers of whatever the drive has for that (a stream, a placement
    /// identifier, a lifetime); 0: it says nothing.
    pub hint: u16,
}
