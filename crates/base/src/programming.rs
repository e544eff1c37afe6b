//! How pages of a wordline are programmed: what can be chosen.

use crate::choice::{Choice, Param, ParamKind};
use crate::units::Duration;

/// What can be chosen.
pub static PROGRAMMING: &[Choice] = &[
    Choice { name: "page", doc: "Every page by itself, with the program time of its type.", params: &[] },
    Choice {
        name: "one-shot",
        doc: "All pages of a wordline at once, with one program time; until the last one is there, the others wait in the controller.",
        params: &[Param {
            name: "pad_after",
            kind: ParamKind::Time {
                default: Duration::from_us(1_000),
                min: Duration(1),
                max: Duration::from_us(1_000_000_000),
            },
            doc: "A wordline with a page that the host waits for is filled up with dummy pages after so long.",
        }],
    },
];
