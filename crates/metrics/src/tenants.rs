//! The figures of each of several hosts that share a device.

use std::ops::Range;

use base::{Instant, Lpn, RequestKind};
use serde_json::{Value, json};

use crate::latency::Latency;

/// The requests of a tenant that are complete, and how long they took.
#[derive(Clone, Debug)]
pub struct TenantFigures {
    /// Its name, unlike the others'.
    name: String,
    /// Its name in tables.
    label: String,
    /// By request kind.
    latencies: [Latency; 4],
    bytes_read: u64,
    bytes_written: u64,
    bytes_trimmed: u64,
    /// Requests that it sent before are not in its figures.
    from: Instant,
    /// When its last read, write or trim was complete.
    end: Instant,
    /// When its figures were steady, if it ended by that.
    steady: Option<Instant>,
    /// The logical pages that are its own, if there are any.
    own: Option<Range<Lpn>>,
    /// Its pages that were placed for the host, copies of them, and the bytes that it wrote, in all of the run.
    placed: [u64; 3],
}

impl TenantFigures {
    /// Bytes of one.
    pub const BYTES: u64 = 4 * 350_000;

    /// Figures before the first request of the tenant `name`, which tables call `label`. The logical pages `own` are of this tenant alone; requests
    /// count from `from` on.
    pub fn new(name: String, label: String, own: Option<Range<Lpn>>, from: Instant) -> TenantFigures {
        let latencies = std::array::from_fn(|_| Latency::new());
        TenantFigures {
            name,
            label,
            latencies,
            bytes_read: 0,
            bytes_written: 0,
            bytes_trimmed: 0,
            from,
            end: Instant::ZERO,
            steady: None,
            own,
            placed: [0; 3],
        }
    }

    /// One of its pages was placed, or copied.
    fn placed(&mut self, is_copy: bool) {
        self.placed[usize::from(is_copy)] += 1;
    }

    /// It waited for others, and its requests count from then on.
    pub(crate) fn begins(&mut self, from: Instant) {
        self.from = from;
    }

    /// Its figures are steady, by which it ends.
    pub(crate) fn is_steady(&mut self, at: Instant) {
        self.steady = Some(at);
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
        let written = self.own.is_some() && bytes_written > 0;
        let per_second = |count: u64| (elapsed_ns > 0).then(|| count as f64 / elapsed_ns as f64 * 1e9);
        json!({
            "name": self.name,
            "label": self.label,
            "reads": read.count(),
            "writes": write.count(),
            "trims": of(RequestKind::Trim).count(),
            "flushes": of(RequestKind::Flush).count(),
            "bytes_read": self.bytes_read,
            "bytes_written": self.bytes_written,
            "bytes_trimmed": self.bytes_trimmed,
            "simulated_s": (elapsed_ns > 0).then_some(elapsed_ns as f64 / 1e9),
            "steady_s": self.steady.map(Instant::seconds),
            "iops": per_second(read.count() + write.count()),
            "throughput_mb_s": per_second(self.bytes_read + self.bytes_written).map(|bytes| bytes / 1e6),
            "copied_pages": self.own.as_ref().map(|_| copies),
            "waf": written.then(|| ((of_host + copies) * page_bytes) as f64 / bytes_written as f64),
            "latency_us": read.merged(write).to_json(),
            "read_latency_us": read.to_json(),
            "write_latency_us": write.to_json(),
        })
    }
}

/// The tenants, and whose each page is.
#[derive(Clone, Debug, Default)]
pub(crate) struct TenantsFigures {
    pub(crate) each: Vec<TenantFigures>,
    /// First page, page behind the last, and tenant, in order; they do not overlap.
    parts: Vec<(Lpn, Lpn, usize)>,
}

impl TenantsFigures {
    pub(crate) fn new(each: Vec<TenantFigures>) -> TenantsFigures {
        let own =
            |(number, tenant): (usize, &TenantFigures)| tenant.own.as_ref().map(|own| (own.start, own.end, number));
        let mut parts: Vec<_> = each.iter().enumerate().filter_map(own).collect();
        parts.sort_unstable();
        TenantsFigures { each, parts }
    }

    /// A page was placed, or copied: it is of the tenant whose own it is, or of none.
    #[inline]
    pub(crate) fn placed(&mut self, lpn: Lpn, is_copy: bool) {
        let behind = self.parts.partition_point(|(first, ..)| *first <= lpn);
        if let Some((_, end, tenant)) = behind.checked_sub(1).map(|at| self.parts[at])
            && lpn < end
        {
            self.each[tenant].placed(is_copy);
        }
    }
}
