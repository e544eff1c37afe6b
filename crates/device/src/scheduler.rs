//! In which order a die serves what waits for it, and what shares a multi-plane command.
//!
//! The scheduler sees ages and addresses, never logical pages: why an operation was sent is not its
//! business. A die that is free serves one of three kinds of work: a host read (or the read of a
//! read-modify-write), a host program, or the next step of a collection.

use base::scope::{Area, Scope};
use base::{Choice, Die, Duration, Instant, Param, ParamKind, Seam, Selection};

const GC: Param = Param::word(
    "gc",
    &["preemptible", "non-preemptible"],
    "Reads that wait for a die with a foreground GC: served between two of its steps, or only when its victim is \
     erased (Lee et al. 2011).",
);

const MAX_WAIT: Param = Param {
    name: "max_wait",
    kind: ParamKind::Time { default: Duration(0), min: Duration(0), max: Duration(3_600_000_000_000) },
    doc: "How long reads of a die may go before a write that could be served there, or before a collection that a write waits \
          for; then these go before the reads until the write is served. `0ns`: for ever.",
};

static CHOICES: &[Choice] = &[
    Choice {
        name: "fifo",
        doc: "In order of arrival per die; only neighbours in the queue share a multi-plane command.",
        params: &[GC],
    },
    Choice {
        name: "paq",
        doc: "Out of order per die: reads first, then by age; whatever fits shares a multi-plane command (Jung et al. 2012).",
        params: &[GC, MAX_WAIT],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam =
    Seam { key: "scheduler", doc: "Which waiting operation a die serves next, and what is merged.", choices: CHOICES };

/// True if reads wait for a foreground GC of their die.
pub(crate) fn gc_holds_reads(selection: &Selection) -> bool {
    selection.word("gc") == "non-preemptible"
}

/// The bound on how long reads go before other work of a die; nothing where there is none.
pub(crate) fn max_wait(selection: &Selection) -> Option<Duration> {
    let bound = if selection.name == "paq" { selection.time("max_wait") } else { Duration(0) };
    (bound > Duration(0)).then_some(bound)
}

/// The work that waits while reads of its die go first, and for how long it has.
#[derive(Debug)]
pub(crate) struct Patience {
    max_wait: Duration,
    /// By die: the age of the work that was passed over, and since when.
    passed: Vec<Option<(u64, Instant)>>,
}

impl Patience {
    pub(crate) fn new(max_wait: Duration, dies: u32) -> Patience {
        Patience { max_wait, passed: vec![None; dies as usize] }
    }

    /// A read and work of age `other` wait for a die. Returns whether that work has waited for too long.
    pub(crate) fn is_over(&self, die: Die, other: u64, now: Instant) -> bool {
        self.passed[die.index()].is_some_and(|(age, since)| age == other && now.0 - since.0 >= self.max_wait.0)
    }

    /// A die serves a read before work of age `other`.
    pub(crate) fn passed_over(&mut self, die: Die, other: u64, now: Instant) {
        let passed = &mut self.passed[die.index()];
        if other == NOT_URGENT {
            *passed = None;
        } else if passed.is_none_or(|(age, _)| age != other) {
            *passed = Some((other, now));
        }
    }

    /// A die serves a write of the host.
    pub(crate) fn served(&mut self, die: Die) {
        self.passed[die.index()] = None;
    }
}

/// The age of work that nobody waits for.
pub(crate) const NOT_URGENT: u64 = u64::MAX;

/// The waiting reads that are skipped at most, for one that fits a multi-plane read.
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

    /// True if a waiting read of age `read` goes before other work of age `other`. Ages are numbers of
    /// arrival: smaller is older.
    #[inline]
    pub(crate) fn read_first(self, read: u64, other: u64) -> bool {
        match self {
            Scheduler::Fifo => read < other,
            Scheduler::Paq => true,
        }
    }

    /// True if work of age `next` may join a command whose last member has age `last`.
    #[inline]
    pub(crate) fn may_join(self, last: u64, next: u64) -> bool {
        match self {
            Scheduler::Fifo => next == last.wrapping_add(1),
            Scheduler::Paq => true,
        }
    }

    /// True if steps of several collections may share a command.
    #[inline]
    pub(crate) fn merges_collections(self) -> bool {
        self == Scheduler::Paq
    }

    /// The waiting reads that are skipped at most, in search of one that may join a command.
    #[inline]
    pub(crate) fn skips_at_most(self) -> usize {
        match self {
            Scheduler::Fifo => 0,
            Scheduler::Paq => MAX_SKIPPED,
        }
    }
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Time,
    name: "Scheduler",
    keys: &["ftl.scheduler"],
    modelled: "A die serves its work in order of arrival, or reads first for a bounded time or without a bound.",
    not_modelled: &["Requests have no priorities or deadlines once the device has taken them."],
};

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

    #[test]
    fn patience_is_with_one_write_at_a_time() {
        let mut patience = Patience::new(Duration(100), 2);
        let (here, there) = (Die::new(0), Die::new(1));
        let mut is_over = |die, age, now| {
            let is_over = patience.is_over(die, age, Instant(now));
            assert_eq!(is_over, patience.is_over(die, age, Instant(now)), "asking changes nothing");
            if !is_over {
                patience.passed_over(die, age, Instant(now));
            }
            is_over
        };
        assert!(!is_over(here, 7, 1_000) && !is_over(here, 7, 1_099) && is_over(here, 7, 1_100));
        assert!(!is_over(there, 7, 1_100), "dies have a clock each");
        assert!(is_over(here, 7, 1_150), "until it is served");
        assert!(!is_over(here, 8, 1_160) && is_over(here, 8, 1_260), "the next one has just come");
        assert!(!is_over(here, NOT_URGENT, 2_000) && !is_over(here, 8, 2_001), "nobody waited in between");
        patience.served(here);
        assert!(!patience.is_over(here, 8, Instant(9_000)));
    }
}
