//! Cache reads and cache programs: what can be chosen, and the time that follows.

use crate::choice::{Choice, Choices, FeatureKey, Param, ParamKind};
use crate::units::Duration;

/// Cache reads.
pub static READ: FeatureKey = FeatureKey {
    key: "cache_read",
    noun: "cache read",
    doc: "Cache reads: a die reads the next page while data of the last one leave it (executor `timed`).",
    choices: &[
        Choice { name: "off", doc: "A die reads when the data of its last read have left.", params: &[] },
        Choice {
            name: "on",
            doc: "While data of a read leave the cache register, the array reads for the next one into the page register.",
            params: &[BUSY],
        },
    ],
};

/// Cache programs.
pub static PROGRAM: FeatureKey = FeatureKey {
    key: "cache_program",
    noun: "cache program",
    doc: "Cache programs: a die takes the data of the next program while it programs (executor `timed`).",
    choices: &[
        Choice { name: "off", doc: "A die takes data when its last program is done.", params: &[] },
        Choice {
            name: "on",
            doc: "While the array programs, the data of the next program come into the cache register.",
            params: &[BUSY],
        },
    ],
};

const BUSY: Param = Param {
    name: "busy",
    kind: ParamKind::Time { default: Duration::from_us(3), min: Duration::ZERO, max: Duration::from_us(1_000_000) },
    doc: "Between two operations of the array, for one register to be copied into the other: tRCBSY, tCBSY. The default is our \
          assumption: data sheets of today's chips are not public.",
};

/// The times between two operations in cache mode, of reads and of programs; `None`: there is no such mode.
pub fn busy(made: &Choices) -> [Option<Duration>; 2] {
    [READ, PROGRAM].map(|feature| {
        let selection = feature.of(made);
        (selection.name == "on").then(|| selection.time("busy"))
    })
}
