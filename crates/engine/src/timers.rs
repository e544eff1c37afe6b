//! Pending events as one timer per resource.
//!
//! In an SSD every die and every channel does one thing at a time, so each has at most one pending event.
//! A tournament over the resources' next times then replaces a general event queue: setting a timer
//! replays one path to the root, there is nothing to allocate, and there are never stale entries.
//! (`docs/design.md` compares it with a binary heap.)
//!
//! Every node holds the time and slot of its winner rather than only the slot: a replay then reads the
//! rivals on its path without waiting for one another, and what remains one after the other is a
//! comparison per level. Who wins is as good as random, so the winner is selected without a branch.

use std::hint::select_unpredictable;

use base::Instant;

/// "No slot".
const NONE: usize = usize::MAX;

/// The timer that fires first below a node.
#[derive(Clone, Copy)]
struct Node {
    at: u64,
    slot: usize,
}

/// A fixed set of timers. Equal times fire in the order of their slots.
pub struct Timers {
    /// `nodes[1]` is the root; node `n` has children `2n` and `2n + 1`; the second half are the slots
    /// themselves, with [`Instant::NEVER`] when idle, padded to a power of two.
    nodes: Vec<Node>,
    /// A slot that was stopped and whose path is not replayed yet: most are set again at once.
    stopped: usize,
}

impl Timers {
    /// `slots` timers, all idle.
    pub fn new(slots: usize) -> Timers {
        let leaves = slots.next_power_of_two().max(2);
        Timers { nodes: vec![Node { at: Instant::NEVER.0, slot: 0 }; 2 * leaves], stopped: NONE }
    }

    /// Sets (or moves) the timer of a slot.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Instant) {
        if self.stopped == slot {
            self.stopped = NONE;
        }
        self.replay(slot, at.0);
    }

    /// Stops the timer of a slot.
    #[inline]
    pub fn stop(&mut self, slot: usize) {
        self.settle();
        self.stopped = slot;
    }

    /// The next timer to fire, if any: its time and slot. It stays set.
    #[allow(clippy::should_implement_trait)] // Looking does not take: this is no `Iterator`.
    #[inline]
    pub fn next(&mut self) -> Option<(Instant, usize)> {
        self.settle();
        let Node { at, slot } = self.nodes[1];
        if at == Instant::NEVER.0 { None } else { Some((Instant(at), slot)) }
    }

    /// When a slot fires.
    #[inline]
    pub fn at(&self, slot: usize) -> Instant {
        if slot == self.stopped { Instant::NEVER } else { Instant(self.nodes[self.nodes.len() / 2 + slot].at) }
    }

    /// Replays the path of a stopped slot. Paths replayed meanwhile may have met its old time in a node they
    /// share; this one comes after them and leads to the root as well.
    #[inline]
    fn settle(&mut self) {
        if self.stopped != NONE {
            let slot = std::mem::replace(&mut self.stopped, NONE);
            self.replay(slot, Instant::NEVER.0);
        }
    }

    #[inline]
    fn replay(&mut self, slot: usize, at: u64) {
        let mut winner = Node { at, slot };
        let mut node = self.nodes.len() / 2 + slot;
        self.nodes[node] = winner;
        while node > 1 {
            let rival = self.nodes[node ^ 1];
            // Slots on the left are lower, so a rival on the left also wins at equal times.
            let rival_wins = (rival.at < winner.at) | ((rival.at == winner.at) & (node & 1 == 1));
            winner.at = select_unpredictable(rival_wins, rival.at, winner.at);
            winner.slot = select_unpredictable(rival_wins, rival.slot, winner.slot);
            node >>= 1;
            self.nodes[node] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn fires_in_order_of_time_then_slot() {
        for slots in [1, 2, 3, 7, 8, 36, 100] {
            let mut timers = Timers::new(slots);
            let mut plain = vec![u64::MAX; slots];
            let mut random = Stream::new(slots as u64, "timers");
            for _ in 0..20_000 {
                let slot = random.below(slots as u64) as usize;
                let at = if random.below(4) == 0 { u64::MAX } else { random.below(50) };
                if at == u64::MAX && random.below(2) == 0 {
                    timers.stop(slot);
                } else {
                    timers.set(slot, Instant(at));
                }
                plain[slot] = at;
                assert_eq!(timers.at(slot), Instant(at));
                // Several changes between two looks, so that a stop is overtaken by other settings.
                if random.below(3) == 0 {
                    continue;
                }
                let expected = (0..slots).min_by_key(|&s| (plain[s], s)).filter(|&s| plain[s] != u64::MAX);
                assert_eq!(timers.next(), expected.map(|s| (Instant(plain[s]), s)));
            }
        }
    }
}
