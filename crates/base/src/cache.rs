//! Cache reads and cache programs: what can be chosen, and the time that follows.

use crate::choice::{Choice, Param, ParamKind, Selection};
use crate::units::Duration;

/// What can be chosen for reads.
pub static READ: &[Choice] = &[
    Choice { name: "off", doc: "A die reads when the data of its last read have left.", params: &[] },
    Choice {
        name: "on",
        doc: "While data of a read leave the cache register, the array reads for the next one into the page register.",
        params: &[BUSY],
    },
];

/// What can be chosen for programs.
pub static PROGRAM: &[Choice] = &[
    Choice { name: "off", doc: "A die takes data when its last program is done.", params: &[] },
    Choice {
        name: "on",
        doc: "While the array programs, the data of the next program come into the cache register.",
        params: &[BUSY],
    },
];

const BUSY: Param = Param {
    name: "busy",
    kind: ParamKind::Time { default: Duration::from_us(3), min: Duration::ZERO, max: Duration::from_us(1_000_000) },
    doc: "Between two operations of the array, for one register to be copied into the other: tRCBSY, tCBSY. The default is our \
          assumption: data sheets of today's chips are not public.",
};

/// The time between two operations in cache mode; `None`: there is no such mode.
pub fn busy(selection: &Selection) -> Option<Duration> {
    (selection.name == "on").then(|| selection.time("busy"))
}
