//! Two classes of data: a small hot one that gets most of the accesses, at the beginning of the footprint.

use base::{Choice, Param, ParamKind};
use engine::Stream;

use super::Pattern;

pub(super) const CHOICE: Choice = Choice {
    name: "hot-cold",
    doc: "A fraction `data` of the footprint gets a fraction `writes` of the requests, each class uniformly",
    params: &[
        Param {
            name: "data",
            kind: ParamKind::Number { default: 0.1, min: 0.0, max: 1.0 },
            doc: "hot fraction of the footprint, 0..1",
        },
        Param {
            name: "writes",
            kind: ParamKind::Number { default: 0.9, min: 0.0, max: 1.0 },
            doc: "fraction of requests to it, 0..1",
        },
    ],
};

pub(super) struct HotCold {
    hot: u64,
    cold: u64,
    /// A draw of 53 bits below this goes to the hot class.
    threshold: u64,
}

impl HotCold {
    /// A class without slots gets no request, whatever `writes` says.
    pub fn new(slots: u64, data: f64, writes: f64) -> HotCold {
        let hot = ((slots as f64 * data + 0.5) as u64).min(slots);
        let cold = slots - hot;
        let writes = if hot == 0 {
            0.0
        } else if cold == 0 {
            1.0
        } else {
            writes
        };
        HotCold { hot, cold, threshold: threshold(writes) }
    }
}

/// The number of 53-bit draws that are below a fraction.
pub(super) fn threshold(fraction: f64) -> u64 {
    (fraction * (1u64 << 53) as f64) as u64
}

impl Pattern for HotCold {
    #[inline]
    fn next(&mut self, stream: &mut Stream) -> u64 {
        if stream.next() >> 11 < self.threshold { stream.below(self.hot) } else { self.hot + stream.below(self.cold) }
    }
}
