//! How much of a page a read sends over the channel: what can be chosen.

use crate::choice::{Choice, Choices, FeatureKey, Param, ParamKind};

/// The part of a page that a read sends.
pub static READ_TRANSFER: FeatureKey = FeatureKey {
    key: "read_transfer",
    noun: "transfer of reads",
    doc: "How much of a page a read of the host sends over the channel (executor `timed`).",
    choices: &[
        Choice { name: "page", doc: "The whole page, whatever was asked for.", params: &[] },
        Choice {
            name: "sectors",
            doc: "The codewords that hold what the host asked for, as chips send them from any column on. Moved pages, old versions of \
                  pages that are written in part, and pages of the map are sent whole.",
            params: &[Param {
                name: "codeword",
                kind: ParamKind::Size { default: 4096, min: 512, max: 1 << 20 },
                doc: "Size of a codeword, which is corrected, and so sent, as a whole; a page is a whole number of \
                      them.",
            }],
        },
    ],
};

/// The bytes of a codeword; `None`: reads send whole pages.
pub fn codeword(made: &Choices) -> Option<u64> {
    let selection = READ_TRANSFER.of(made);
    (selection.name == "sectors").then(|| selection.size("codeword"))
}
