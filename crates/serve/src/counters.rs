//! RequestCounts of what clients did, for the line on the terminal and the results at the end.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Requests that were carried out, and their bytes, since the server started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestCounts {
    /// Reads.
    pub reads: u64,
    /// Bytes of reads.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes of writes.
    pub written_bytes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub trims: u64,
    /// Bytes of discards.
    pub trimmed_bytes: u64,
    /// Requests for zeros.
    pub zeroes: u64,
    /// Bytes of requests for zeros.
    pub zeroed_bytes: u64,
    /// Requests that got an error.
    pub errors: u64,
    /// Connections so far, refused ones among them.
    pub connections: u64,
}

#[derive(Default)]
pub(crate) struct RequestCounters {
    reads: [AtomicU64; 2],
    writes: [AtomicU64; 2],
    trims: [AtomicU64; 2],
    zeroes: [AtomicU64; 2],
    flushes: AtomicU64,
    errors: AtomicU64,
    connections: AtomicU64,
}

impl RequestCounters {
    pub(crate) fn read(&self, bytes: u64) {
        add(&self.reads, bytes);
    }

    pub(crate) fn write(&self, bytes: u64) {
        add(&self.writes, bytes);
    }

    pub(crate) fn trim(&self, bytes: u64) {
        add(&self.trims, bytes);
    }

    pub(crate) fn zero(&self, bytes: u64) {
        add(&self.zeroes, bytes);
    }

    pub(crate) fn flush(&self) {
        self.flushes.fetch_add(1, Relaxed);
    }

    pub(crate) fn error(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    /// RequestCounts a connection and gives its number, from 1 on.
    pub(crate) fn connection(&self) -> u64 {
        self.connections.fetch_add(1, Relaxed) + 1
    }

    pub(crate) fn counts(&self) -> RequestCounts {
        let [reads, read_bytes] = load(&self.reads);
        let [writes, written_bytes] = load(&self.writes);
        let [trims, trimmed_bytes] = load(&self.trims);
        let [zeroes, zeroed_bytes] = load(&self.zeroes);
        let (flushes, errors) = (self.flushes.load(Relaxed), self.errors.load(Relaxed));
        let connections = self.connections.load(Relaxed);
        RequestCounts {
            reads,
            read_bytes,
            writes,
            written_bytes,
            flushes,
            trims,
            trimmed_bytes,
            zeroes,
            zeroed_bytes,
            errors,
            connections,
        }
    }
}

fn add([requests, total]: &[AtomicU64; 2], bytes: u64) {
    requests.fetch_add(1, Relaxed);
    total.fetch_add(bytes, Relaxed);
}

fn load(pair: &[AtomicU64; 2]) -> [u64; 2] {
    pair.each_ref().map(|count| count.load(Relaxed))
}
