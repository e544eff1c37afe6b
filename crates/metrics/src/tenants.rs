//! The figures of each of several hosts that share a device.

use base::{Instant, Lpn, RequestKind};
use serde_json::{Value, json};

use crate::latency::Latency;

/// The requests of a tenant that are complete, and how long they took.
#[derive(Clone, Debug)]
pub struct TenantFigures {
    /// Its name.
    name: String,
    /// By request kind.
    latencies: [Latency; 4],
    bytes_read: u64,
    bytes_written: u64,
    bytes_trimmed: u64,
    /// Requests that it sent before are not in its figures.
    from: Instant,
    /// When its last read, write or trim was complete.
    end: Instant,
    /// The first of its logical pages, if they are its own.
    first: Option<Lpn>,
    /// Its pages that were placed for the host, copies of them, and the bytes that it wrote, in all of the run.
    placed: [u64; 3],
}

impl TenantFigures {
    /// Bytes of one.
    pub const BYTES: u64 = 4 * 350_000;

    /// Figures before the first request. The tenant's own logical pages begin at `first`, if it has any; requests count from `from` on.
    pub fn new(name: String, first: Option<Lpn>, from: Instant) -> TenantFigures {
        let latencies = std::array::from_fn(|_| Latency::new());
        TenantFigures {
            name,
            latencies,
            bytes_read: 0,
            bytes_written: 0,
            bytes_trimmed: 0,
            from,
            end: Instant::ZERO,
            first,
            placed: [0; 3],
        }
    }

    /// One of its pages was placed, or copied, by the tenant in whose part it lies.
    pub(crate) fn placed(tenants: &mut [TenantFigures], lpn: Lpn, is_copy: bool) {
        // In the order of their parts; where none has a part of its own, pages are nobody's.
        let behind = tenants.partition_point(|tenant| tenant.first.is_some_and(|first| first <= lpn));
        if let Some(tenant) = behind.checked_sub(1).and_then(|at| tenants.get_mut(at)) {
            tenant.placed[usize::from(is_copy)] += 1;
        }
    }

    /// It waited for others, and its requests count from then on.
    pub(crate) fn begins(&mut self, from: Instant) {
        self.from = from;
    }

    /// A request of `bytes` bytes that was sent at `sent` is complete.
    pub fn completed(&mut self, kind: RequestKind, sent: Instant, now: Instant, bytes: u64) {
        self.placed[2] += if kind == RequestKind::Write { bytes } else { 0 };
        if sent < self.from {
            return;
        }
        self.latencies[kind as usize].record(now.0.saturating_sub(sent.0));
        match kind {
            RequestKind::Read => self.bytes_read += bytes,
            RequestKind::Write => self.bytes_written += bytes,
            RequestKind::Trim => self.bytes_trimmed += bytes,
            RequestKind::Flush => return,
        }
        self.end = now;
    }

    /// Its latencies, by the name of the kind of request.
    pub(crate) fn latencies(&self) -> [(&'static str, &Latency); 4] {
        let of = |kind: RequestKind| &self.latencies[kind as usize];
        [
            ("read", of(RequestKind::Read)),
            ("write", of(RequestKind::Write)),
            ("trim", of(RequestKind::Trim)),
            ("flush", of(RequestKind::Flush)),
        ]
    }

    /// Rates are from `start` on, or later from when its figures begin, to the last completion of its own. `waf`: bytes of its pages that were placed, by whomever, by the
    /// bytes that it wrote; pages have `page_bytes`.
    pub fn to_json(&self, start: Instant, page_bytes: u64) -> Value {
        let of = |kind: RequestKind| &self.latencies[kind as usize];
        let (read, write) = (of(RequestKind::Read), of(RequestKind::Write));
        let elapsed_ns = self.end.0.saturating_sub(start.max(self.from).0);
        let [of_host, copies, bytes_written] = self.placed;
        let written = self.first.is_some() && bytes_written > 0;
        let per_second = |count: u64| (elapsed_ns > 0).then(|| count as f64 / elapsed_ns as f64 * 1e9);
        json!({
            "name": self.name,
            "reads": read.count(),
            "writes": write.count(),
            "trims": of(RequestKind::Trim).count(),
            "flushes": of(RequestKind::Flush).count(),
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "bytes_trimmed": self.bytes_trimmed,
            "simulated_s": (elapsed_ns > 0).then_some(elapsed_ns as f64 / 1e9),
            "iops": per_second(read.count() + write.count()),
            "throughput_mb_s": per_second(self.bytes_read + self.bytes_written).map(|bytes| bytes / 1e6),
            "copied_pages": self.first.map(|_| copies),
            "waf": written.then(|| ((of_host + copies) * page_bytes) as f64 / bytes_written as f64),
            "latency_us": read.merged(write).to_json(),
            "read_latency_us": read.to_json(),
            "write_latency_us": write.to_json(),
        })
    }
}
