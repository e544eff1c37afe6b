//! In which order a die serves what waits for it, and what shares a multi-plane command.
//!
//! The scheduler sees ages and addresses, never logical pages: why an operation was sent is not its
//! business. A die that is free serves one of three kinds of work: a host read (or the read of a
//! read-modify-write), a host program, or the next step of a collection.

use base::{Choice, Param, Seam, Selection};

const GC: Param = Param::word(
    "gc",
    &["preemptible", "non-preemptible"],
    "Whether reads are served between two steps of a foreground GC of their die, or wait until its victim is erased (Lee et \
     al. 2011).",
);

static CHOICES: &[Choice] = &[
    Choice {
        name: "fifo",
        doc: "In order of arrival per die; only neighbours in the queue share a multi-plane command.",
        params: &[GC],
    },
    Choice {
        name: "paq",
        doc: "Out of order per die: reads first, then by age; whatever fits shares a multi-plane command (Jung et al. 2012).",
        params: &[GC],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "scheduler", doc: "Which waiting operation a die serves next, and what is merged.", choices: CHOICES };

/// Whether reads wait for a foreground GC of their die.
pub(crate) fn gc_holds_reads(selection: &Selection) -> bool {
    selection.word("gc") == "non-preemptible"
}

/// The age of work that nobody waits for.
pub(crate) const NOT_URGENT: u64 = u64::MAX;

/// How many waiting reads that do not fit a multi-plane read are skipped for one that does.
const MAX_SKIPPED: usize = 64;

/// The scheduler in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheduler {
    Fifo,
    Paq,
}

impl Scheduler {
    /// # Panics
    /// If the selection is not from this registry.
    pub(crate) fn build(selection: &Selection) -> Scheduler {
        match selection.name {
            "fifo" => Scheduler::Fifo,
            "paq" => Scheduler::Paq,
            name => panic!("`{name}` is not a scheduler"),
        }
    }

    /// Whether a waiting read of age `read` goes before other work of age `other`. Ages are numbers of
    /// arrival: smaller is older.
    #[inline]
    pub(crate) fn read_first(self, read: u64, other: u64) -> bool {
        match self {
            Scheduler::Fifo => read < other,
            Scheduler::Paq => true,
        }
    }

    /// Whether work of age `next` may join a command whose last member has age `last`.
    #[inline]
    pub(crate) fn may_join(self, last: u64, next: u64) -> bool {
        match self {
            Scheduler::Fifo => next == last.wrapping_add(1),
            Scheduler::Paq => true,
        }
    }

    /// Whether steps of several collections may share a command.
    #[inline]
    pub(crate) fn merges_collections(self) -> bool {
        self == Scheduler::Paq
    }

    /// How many waiting reads that may not join a command are skipped in search of one that may.
    #[inline]
    pub(crate) fn skips_at_most(self) -> usize {
        match self {
            Scheduler::Fifo => 0,
            Scheduler::Paq => MAX_SKIPPED,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifo_keeps_the_order_and_paq_prefers_reads() {
        assert!(Scheduler::Fifo.read_first(3, 4));
        assert!(!Scheduler::Fifo.read_first(5, 4));
        assert!(Scheduler::Fifo.read_first(5, NOT_URGENT));
        assert!(Scheduler::Paq.read_first(5, 4));
        assert!(Scheduler::Fifo.may_join(7, 8) && !Scheduler::Fifo.may_join(7, 9));
        assert!(Scheduler::Paq.may_join(7, 9));
    }
}
