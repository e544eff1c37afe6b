//! Where on the device requests land, and when.

use base::{Request, RequestKind};
use config::model::{self, OutOfRange};

use crate::tally::Tally;

/// A time scaled, rounded to a nanosecond.
pub(crate) fn scale(duration: base::Duration, factor: f64) -> base::Duration {
    base::Duration(scaled(duration.0, factor))
}

/// Nanoseconds, likewise.
pub(crate) fn scaled(ns: u64, factor: f64) -> u64 {
    if factor == 1.0 { ns } else { (ns as f64 * factor + 0.5) as u64 }
}

/// Where on the device requests land.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) capacity: u64,
    /// Added to every address.
    pub(crate) offset: u64,
    pub(crate) out_of_range: OutOfRange,
}

/// A request that `out_of_range = "reject"` stops at, as it would have landed.
pub(crate) struct Outside(pub(crate) Request);

impl Bounds {
    pub(crate) fn of(config: &model::Workload, capacity: u64) -> Bounds {
        Bounds { capacity, offset: config.address_offset, out_of_range: config.out_of_range }
    }

    /// Moves a request by the offset, cuts it to the device, and hands on what is left of it. A flush has no
    /// address.
    #[inline]
    pub(crate) fn place(
        &self,
        mut request: Request,
        tally: &mut Tally,
        push: &mut impl FnMut(Request),
    ) -> Result<(), Outside> {
        if request.kind != RequestKind::Flush {
            request.offset += self.offset;
        }
        if request.offset + request.size <= self.capacity {
            push(request);
            return Ok(());
        }
        match self.out_of_range {
            OutOfRange::Wrap => self.wrap(request, tally, push),
            OutOfRange::Clamp if request.offset < self.capacity => {
                tally.clamped += 1;
                push(Request { size: self.capacity - request.offset, ..request });
            }
            OutOfRange::Clamp => tally.dropped_past_end += 1,
            OutOfRange::Reject => return Err(Outside(request)),
        }
        Ok(())
    }

    /// Addresses modulo the capacity; what straddles the end goes on at 0. A request longer than the device
    /// covers it once.
    fn wrap(&self, request: Request, tally: &mut Tally, push: &mut impl FnMut(Request)) {
        tally.wrapped += 1;
        let offset = request.offset % self.capacity;
        let size = request.size.min(self.capacity);
        let first = size.min(self.capacity - offset);
        push(Request { offset, size: first, ..request });
        if first < size {
            tally.split += 1;
            push(Request { offset: 0, size: size - first, ..request });
        }
    }
}
