//! Blocks in a mode of their own that store one bit a cell: what can be chosen.

use crate::choice::{Choice, Choices, FeatureKey, Param, ParamKind};
use crate::units::Duration;

/// The SLC mode of blocks.
pub static SLC_MODE: FeatureKey = FeatureKey {
    key: "slc_mode",
    noun: "SLC mode",
    doc: "A mode of one bit a cell in which blocks can be erased and programmed, with times and a wear of its own.",
    choices: &[
        Choice { name: "none", doc: "A block of which only LSB pages are used takes the times of these.", params: &[] },
        Choice {
            name: "on",
            doc: "It takes the times below, and no command concerns blocks of both modes. The defaults are assumed.",
            params: &[
                time("read", 25, "Array read of a page."),
                time("program", 200, "Program of a page."),
                time("erase", 3_500, "Erase of a block."),
                Param {
                    name: "wear",
                    kind: ParamKind::Number { default: 0.1, min: 0.0, max: 1.0 },
                    doc: "Wear of a P/E cycle in which a block was in the mode: a part of that of another cycle.",
                },
            ],
        },
    ],
};

const fn time(name: &'static str, default_us: u64, doc: &'static str) -> Param {
    let kind = ParamKind::Time {
        default: Duration::from_us(default_us),
        min: Duration(1),
        max: Duration::from_us(1_000_000_000),
    };
    Param { name, kind, doc }
}

/// The times of blocks in SLC mode: read, program, erase; nothing without the mode.
pub fn times(made: &Choices) -> Option<[Duration; 3]> {
    let selection = SLC_MODE.of(made);
    (selection.name == "on").then(|| ["read", "program", "erase"].map(|name| selection.time(name)))
}

/// Thousandths of a P/E cycle that one in SLC mode spares a block; 0 without the mode.
pub fn spared_wear(made: &Choices) -> u32 {
    let selection = SLC_MODE.of(made);
    if selection.name == "on" { ((1.0 - selection.number("wear")) * 1000.0).round() as u32 } else { 0 }
}
