//! A die whose array is slower than the others: what can be chosen.

use crate::choice::{Choice, Choices, FeatureKey, Param, ParamKind};
use crate::ids::Die;

/// The slow die.
pub static SLOW_DIE: FeatureKey = FeatureKey {
    key: "slow_die",
    noun: "slow die",
    doc: "A die whose array takes longer than those of the others (executor `timed`).",
    choices: &[
        Choice { name: "none", doc: "All dies take the same times.", params: &[] },
        Choice {
            name: "one",
            doc: "One die is weak: its array takes longer for reads, programs and erases. A fault to inject; \
                  `ftlab explain-tail` finds it.",
            params: &[
                Param {
                    name: "die",
                    kind: ParamKind::Integer { default: 0, min: 0, max: u32::MAX },
                    doc: "Which: (channel × `chips_per_channel` + chip) × `dies_per_chip` + die.",
                },
                Param {
                    name: "factor",
                    kind: ParamKind::Number { default: 4.0, min: 1.0, max: 1000.0 },
                    doc: "Time of its array as a multiple of that of the others. The default is an assumption.",
                },
            ],
        },
    ],
};

/// The slow die and its factor, if there is one.
pub fn slow_die(made: &Choices) -> Option<(Die, f64)> {
    let selection = SLOW_DIE.of(made);
    (selection.name == "one").then(|| (Die::new(selection.integer("die")), selection.number("factor")))
}
