//! How pages of a wordline are programmed: what can be chosen.

use crate::choice::{Choice, FeatureKey, Param, ParamKind};
use crate::units::Duration;

/// The way in which a wordline is programmed.
pub static PROGRAMMING: FeatureKey = FeatureKey {
    key: "programming",
    noun: "way of programming",
    doc: "Unit of a program: one page, or a wordline at a time; `device.timing.program` is the time of either.",
    choices: &[
        Choice { name: "page", doc: "Every page by itself, with the program time of its type.", params: &[] },
        Choice {
            name: "one-shot",
            doc: "All pages of a wordline at once, with one program time; until the last one is there, the others wait in the controller.",
            params: &[pad_after(
                1_000,
                "Without a write buffer: a wordline with a page that the host waits for is filled up with dummy pages after so long.",
            )],
        },
        Choice {
            name: "two-pass",
            doc: "All pages of a wordline at once, twice: coarsely, and finely once the next wordline has had its coarse pass. Until then \
                  the controller has their data, which are sent twice.",
            params: &[
                Param {
                    name: "first",
                    kind: ParamKind::Number { default: 0.4, min: 0.01, max: 0.99 },
                    doc: "Share of the program time of a wordline that its first pass takes (our assumption).",
                },
                pad_after(
                    20_000,
                    "Without a write buffer: a wordline with a page that the host waits for, and the next one, are filled up with dummy pages after so \
                     long.",
                ),
            ],
        },
    ],
};

const fn pad_after(default_us: u64, doc: &'static str) -> Param {
    let kind = ParamKind::Time {
        default: Duration::from_us(default_us),
        min: Duration(1),
        max: Duration::from_us(1_000_000_000),
    };
    Param { name: "pad_after", kind, doc }
}
