//! Pending events as one timer per resource.
//!
//! In an SSD every die and every channel does one thing at a time, so each has at most one pending event.
//! A tournament over the resources' next times then replaces a general event queue: setting a timer
//! replays one path to the root, there is nothing to allocate, and there are never stale entries.
//! (`docs/design.md` compares it with a binary heap.)

use base::Instant;

/// A fixed set of timers. Equal times fire in the order of their slots.
pub struct Timers {
    /// Times by slot; [`Instant::NEVER`] when idle. Padded to a power of two.
    times: Vec<u64>,
    /// `winners[1]` is the slot that fires first; node `n` has children `2n` and `2n + 1`.
    winners: Vec<u32>,
}

impl Timers {
    /// `slots` timers, all idle.
    pub fn new(slots: usize) -> Timers {
        let leaves = slots.next_power_of_two().max(2);
        let mut winners = vec![0u32; leaves];
        for node in (1..leaves).rev() {
            winners[node] = if 2 * node >= leaves { (2 * node - leaves) as u32 } else { winners[2 * node] };
        }
        Timers { times: vec![Instant::NEVER.0; leaves], winners }
    }

    /// Sets (or moves, or with [`Instant::NEVER`] stops) the timer of a slot.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Instant) {
        let leaves = self.times.len();
        self.times[slot] = at.0;
        // The leaf level: the rival of a leaf is its neighbour.
        let low = slot & !1;
        let mut winner = if self.times[low + 1] < self.times[low] { low + 1 } else { low };
        let mut node = (slot + leaves) >> 1;
        self.winners[node] = winner as u32;
        while node > 1 {
            let left = self.winners[node & !1] as usize;
            let right = self.winners[node | 1] as usize;
            // Slots on the left are lower, so `<` keeps the order of slots at equal times.
            winner = if self.times[right] < self.times[left] { right } else { left };
            node >>= 1;
            self.winners[node] = winner as u32;
        }
    }

    /// The next timer to fire, if any: its time and slot. It stays set.
    #[inline]
    pub fn next(&self) -> Option<(Instant, usize)> {
        let slot = self.winners[1] as usize;
        let at = self.times[slot];
        if at == Instant::NEVER.0 { None } else { Some((Instant(at), slot)) }
    }

    /// When a slot fires.
    #[inline]
    pub fn at(&self, slot: usize) -> Instant {
        Instant(self.times[slot])
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
                timers.set(slot, Instant(at));
                plain[slot] = at;
                let expected = (0..slots).min_by_key(|&s| (plain[s], s)).filter(|&s| plain[s] != u64::MAX);
                assert_eq!(timers.next(), expected.map(|s| (Instant(plain[s]), s)));
            }
        }
    }
}
