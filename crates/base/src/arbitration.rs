//! Whose command the controller takes next, where several hosts share a device.

use crate::choice::{Choice, Param, ParamKind};

/// The ways to arbitrate. The first is the default.
///
/// Source: NVM Express Base Specification 2.0, section 3.4.4: commands of several submission queues.
pub static ARBITRATIONS: &[Choice] = &[
    Choice {
        name: "round-robin",
        doc: "The tenants in turn, as many commands of each as a burst has.",
        params: &[BURST],
    },
    Choice {
        name: "weighted",
        doc: "Tenants of priority `urgent` first, in turn. Of the others, in a round, as many commands of each as its weight says; \
              in turn, a burst at most at a time.",
        params: &[BURST],
    },
];

const BURST: Param = Param {
    name: "burst",
    kind: ParamKind::Integer { default: 1, min: 1, max: 256 },
    doc: "Commands that are taken of a tenant before the next one has its turn.",
};
