//! Pending events as one timer per resource.
//!
//! In an SSD every die does one thing at a time, and a transfer of a channel is one of a die, so there is at most
//! one pending event for each die. A tournament over their next times then replaces a general event queue:
//! setting a timer replays one path to the root, there is nothing to allocate, and there are never stale entries.
//! (`docs/performance.md` compares it with a binary heap.)
//!
//! Every node holds the time, rank and slot of its winner rather than only the slot: a replay then reads the
//! rivals on its path without waiting for one another, and what remains one after the other is a
//! comparison per level. Who wins is as good as random, so the winner is selected without a branch.

use std::hint::select_unpredictable;

use base::Instant;

/// "No slot".
const NONE: usize = usize::MAX;

/// A timer: its time, then its rank and its slot in one word, so that the least fires first.
#[derive(Clone, Copy)]
struct Node {
    at: u64,
    tag: u64,
}

impl Node {
    #[inline]
    fn new(at: Instant, rank: u32, slot: usize) -> Node {
        Node { at: at.0, tag: u64::from(rank) << 32 | slot as u64 }
    }

    /// The one that fires first. Each word is selected for itself: a selection between pairs becomes a branch.
    #[inline]
    fn first(self, other: Node) -> Node {
        let wins = (self.at < other.at) | ((self.at == other.at) & (self.tag < other.tag));
        Node { at: select_unpredictable(wins, self.at, other.at), tag: select_unpredictable(wins, self.tag, other.tag) }
    }
}

/// A timer that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its time.
    pub at: Instant,
    /// Its rank.
    pub rank: u32,
    /// Its slot.
    pub slot: usize,
}

/// A fixed set of timers. Equal times fire in the order of their ranks.
pub struct Timers {
    /// `nodes[1]` is the root; node `n` has children `2n` and `2n + 1`; the second half are the slots
    /// themselves, with [`Instant::NEVER`] when idle. Their number need not be a power of two: some paths are
    /// then a level shorter.
    nodes: Box<[Node]>,
    /// A slot that was stopped and whose path is not replayed yet: most are set again at once.
    stopped: usize,
}

impl Timers {
    /// `slots` timers, all idle.
    ///
    /// # Panics
    /// If there are none, or more than 32 bits can number.
    pub fn new(slots: usize) -> Timers {
        assert!(slots > 0 && u32::try_from(slots).is_ok(), "a number of timers that has a root and fits a node");
        Timers { nodes: vec![Node::new(Instant::NEVER, 0, 0); 2 * slots].into(), stopped: NONE }
    }

    /// Sets (or moves) the timer of a slot.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Instant, rank: u32) {
        if self.stopped == slot {
            self.stopped = NONE;
        }
        self.replay(slot, Node::new(at, rank, slot));
    }

    /// Stops the timer of a slot.
    #[inline]
    pub fn stop(&mut self, slot: usize) {
        self.settle();
        self.stopped = slot;
    }

    /// The next timer to fire, if any. It stays set.
    #[allow(clippy::should_implement_trait)] // Looking does not take: this is no `Iterator`.
    #[inline]
    pub fn next(&mut self) -> Option<Due> {
        self.settle();
        let Node { at, tag } = self.nodes[1];
        let due = Due { at: Instant(at), rank: (tag >> 32) as u32, slot: tag as u32 as usize };
        (due.at != Instant::NEVER).then_some(due)
    }

    /// Whether a timer is set to a time that is the earliest of all. Cheaper than [`Timers::next`] when a timer was
    /// stopped and will be set again.
    #[inline]
    pub fn any_at(&self, earliest: Instant) -> bool {
        if self.stopped == NONE {
            return self.nodes[1].at == earliest.0;
        }
        let mut any = false;
        let mut at = self.nodes.len() / 2 + self.stopped;
        while at > 1 {
            any |= self.nodes[at ^ 1].at == earliest.0;
            at >>= 1;
        }
        any
    }

    /// Replays the path of a stopped slot. Paths replayed meanwhile may have met its old time in a node they
    /// share; this one comes after them and leads to the root as well.
    #[inline]
    fn settle(&mut self) {
        if self.stopped != NONE {
            let slot = std::mem::replace(&mut self.stopped, NONE);
            self.replay(slot, Node::new(Instant::NEVER, 0, slot));
        }
    }

    #[inline]
    fn replay(&mut self, slot: usize, mut winner: Node) {
        let nodes = &mut *self.nodes;
        let mut at = nodes.len() / 2 + slot;
        nodes[at] = winner;
        while at > 1 {
            // SAFETY: `at` was a valid index and only becomes less; the number of nodes is even, so `at ^ 1` is valid
            // with it. Three paths are replayed for an operation of flash, and the checks would be a fifth of them.
            unsafe {
                winner = nodes.get_unchecked(at ^ 1).first(winner);
                at >>= 1;
                *nodes.get_unchecked_mut(at) = winner;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn fires_in_order_of_time_then_rank() {
        for slots in [1, 2, 3, 7, 8, 36, 100] {
            let mut timers = Timers::new(slots);
            let mut plain = vec![(u64::MAX, 0); slots];
            let mut random = Stream::new(slots as u64, "timers");
            for _ in 0..20_000 {
                let slot = random.below(slots as u64) as usize;
                let at = if random.below(4) == 0 { u64::MAX } else { random.below(50) };
                let rank = random.below(3) as u32 * slots as u32 + slot as u32;
                if at == u64::MAX && random.below(2) == 0 {
                    timers.stop(slot);
                } else {
                    timers.set(slot, Instant(at), rank);
                }
                plain[slot] = (at, rank);
                let first = (0..slots).min_by_key(|&slot| plain[slot]).filter(|&slot| plain[slot].0 != u64::MAX);
                // Several changes between two looks, so that a stop is overtaken by other settings.
                if random.below(3) == 0 {
                    continue;
                }
                if let Some(first) = first {
                    let earliest = plain[first].0;
                    assert!(timers.any_at(Instant(earliest)));
                    assert!(earliest == 0 || !timers.any_at(Instant(earliest - 1)));
                }
                if random.below(2) == 0 {
                    let due = |slot: usize| Due { at: Instant(plain[slot].0), rank: plain[slot].1, slot };
                    assert_eq!(timers.next(), first.map(due));
                }
            }
        }
    }
}
