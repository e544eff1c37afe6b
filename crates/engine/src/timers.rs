//! Pending events, in lines of equal delay.
//!
//! What takes a fixed time ends in the order in which it began, and an SSD knows few such times: reads, programs and
//! erases of an array, transfers of a channel. Events of one delay therefore form a line that an event joins at its
//! end, and the next event of all is the least among the heads of the lines. Joining and leaving move nobody else,
//! whatever the number of resources, and a resource has one small place, which its next event takes again.
//! (`docs/performance.md` compares this with other structures.)
//!
//! An event that is earlier than the last of its line goes before it, so an irregular delay costs time and nothing
//! else. Which line's head is the least is as good as random: it is selected without a branch, between words that hold time
//! and rank. Times count from a base that moves on; an event that lies too far behind it waits apart.

use std::hint::select_unpredictable;

use base::Instant;

/// Lines whose heads are compared at once. Nearly all devices have few enough delays for one block.
const BLOCK: usize = 8;

/// The key of no event: behind all others.
const NEVER: u64 = u64::MAX;

/// An event whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its time.
    pub at: Instant,
    /// Its rank.
    pub rank: u32,
}

/// The place of a rank's event in its line.
#[derive(Clone, Copy, Debug)]
struct Place {
    key: u64,
    /// The place of the next one in the line.
    next: u32,
    line: u32,
}

/// An event that lies too far ahead for a key.
#[derive(Clone, Copy, Debug)]
struct Far {
    at: Instant,
    rank: u32,
    line: u32,
}

/// Pending events, at most one of each rank. Equal times are served in the order of ranks.
///
/// A key is the time since `base` and, in its low bits, the rank.
pub struct Timers {
    /// The key of the next event of all.
    first: u64,
    base: u64,
    /// Bits of a key for the rank.
    bits: u32,
    ranks: u32,
    /// By line, in whole blocks: the key of its first event, or [`NEVER`].
    heads: Box<[[u64; BLOCK]]>,
    /// By line: the place of its last event; its front if nothing waits.
    lasts: Box<[u32]>,
    /// By rank; then what is behind the last of every line; then the front of each line, before all.
    places: Box<[Place]>,
    /// Behind all that have places.
    far: Vec<Far>,
}

impl Timers {
    /// `lines` empty lines for events of `ranks` ranks.
    pub fn new(lines: u32, ranks: u32) -> Timers {
        let lines = lines.max(1).next_multiple_of(BLOCK as u32);
        let front = |line: u32| ranks + 1 + line;
        let mut places = vec![Place { key: 0, next: ranks, line: 0 }; front(lines) as usize];
        places[ranks as usize].key = NEVER;
        Timers {
            first: NEVER,
            base: 0,
            bits: u32::BITS - ranks.leading_zeros(),
            ranks,
            heads: vec![[NEVER; BLOCK]; lines as usize / BLOCK].into(),
            lasts: (0..lines).map(front).collect(),
            places: places.into(),
            far: Vec::new(),
        }
    }

    /// Behind the last of every line.
    #[inline]
    fn end(&self) -> u32 {
        self.ranks
    }

    /// Before the first of a line.
    #[inline]
    fn front(&self, line: u32) -> u32 {
        self.ranks + 1 + line
    }

    /// The time of a key.
    #[inline]
    fn at(&self, key: u64) -> Instant {
        Instant(self.base + (key >> self.bits))
    }

    #[inline]
    fn rank(&self, key: u64) -> u32 {
        key as u32 & ((1 << self.bits) - 1)
    }

    /// The key of an event, unless it lies too far ahead. The last key of all is that of no event.
    #[inline]
    fn key(&self, at: Instant, rank: u32) -> Option<u64> {
        let after = at.0.wrapping_sub(self.base);
        (after < u64::MAX >> self.bits).then(|| after << self.bits | u64::from(rank))
    }

    #[inline]
    fn head(&mut self, line: u32) -> &mut u64 {
        &mut self.heads[line as usize / BLOCK][line as usize % BLOCK]
    }

    /// The event of a rank that is not pending will happen. Best in the line of events that happen as long after they
    /// were set.
    #[inline]
    pub fn set(&mut self, line: u32, at: Instant, rank: u32) {
        debug_assert!(rank < self.ranks);
        match self.key(at, rank) {
            Some(key) => self.join(line, key, rank),
            None => self.set_far(Far { at, rank, line }),
        }
    }

    #[inline]
    fn join(&mut self, line: u32, key: u64, rank: u32) {
        let end = self.end();
        let last = self.lasts[line as usize];
        self.places[rank as usize] = Place { key, next: end, line };
        let before = &mut self.places[last as usize];
        if key < before.key {
            self.insert(line, rank);
        } else {
            before.next = rank;
            self.lasts[line as usize] = rank;
        }
        let head = self.head(line);
        *head = key.min(*head);
        self.first = key.min(self.first);
    }

    /// Finds the place of an event that is earlier than the last of its line.
    #[inline(never)]
    fn insert(&mut self, line: u32, rank: u32) {
        let mut before = self.front(line);
        let next = |place: u32| self.places[place as usize].next;
        while self.places[next(before) as usize].key < self.places[rank as usize].key {
            before = next(before);
        }
        self.places[rank as usize].next = next(before);
        self.places[before as usize].next = rank;
    }

    /// An event that has no key, or is set for a time before the base.
    #[cold]
    #[inline(never)]
    fn set_far(&mut self, event: Far) {
        self.far.push(event);
        self.count_anew();
    }

    /// Moves the base to the next event, and gives keys to those that may have one now.
    #[cold]
    #[inline(never)]
    fn count_anew(&mut self) {
        let pending = (0..self.lasts.len() as u32).flat_map(|line| self.events_of(line).collect::<Vec<_>>());
        let mut events: Vec<Far> = pending.collect();
        events.append(&mut self.far);
        let (first, last) = (self.end() as usize + 1, self.places.len());
        for front in first..last {
            self.places[front].next = self.end();
            self.lasts[front - first] = front as u32;
        }
        self.heads.fill([NEVER; BLOCK]);
        self.first = NEVER;
        self.base = events.iter().map(|event| event.at.0).min().unwrap_or(self.base);
        for event in events {
            match self.key(event.at, event.rank) {
                Some(key) => self.join(event.line, key, event.rank),
                None => self.far.push(event),
            }
        }
    }

    /// The events of a line that have keys.
    fn events_of(&self, line: u32) -> impl Iterator<Item = Far> {
        let next = |place: u32| Some(self.places[place as usize].next).filter(|&next| next != self.end());
        std::iter::successors(next(self.front(line)), move |&rank| next(rank)).map(move |rank| Far {
            at: self.at(self.places[rank as usize].key),
            rank,
            line,
        })
    }

    /// The next event, if any. It stays set.
    #[inline]
    #[allow(clippy::should_implement_trait)] // Looking does not take: this is no `Iterator`.
    pub fn next(&self) -> Option<Due> {
        (self.first != NEVER).then(|| Due { at: self.at(self.first), rank: self.rank(self.first) })
    }

    /// Takes the next event if its time is `now`; its rank.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<u32> {
        if self.first == NEVER || self.at(self.first) != now {
            return None;
        }
        let rank = self.rank(self.first);
        let line = self.places[rank as usize].line;
        self.remove(line, self.front(line));
        Some(rank)
    }

    /// Drops the event of a rank from a line, if it is there.
    pub fn stop(&mut self, line: u32, rank: u32) {
        self.far.retain(|event| (event.line, event.rank) != (line, rank));
        let mut before = self.front(line);
        while self.places[before as usize].next != rank {
            if self.places[before as usize].next == self.end() {
                return;
            }
            before = self.places[before as usize].next;
        }
        self.remove(line, before);
    }

    /// Takes the event behind `before` out of a line.
    #[inline]
    fn remove(&mut self, line: u32, before: u32) {
        let removed = self.places[before as usize].next;
        let after = self.places[removed as usize].next;
        self.places[before as usize].next = after;
        let (front, end) = (self.front(line), self.end());
        *self.head(line) = self.places[self.places[front as usize].next as usize].key;
        let last = &mut self.lasts[line as usize];
        *last = select_unpredictable(after == end, before, *last);
        self.first = self.earliest();
        if self.first == NEVER && !self.far.is_empty() {
            self.count_anew();
        }
    }

    /// Whether nothing is set in a line.
    #[inline]
    pub fn is_empty(&self, line: u32) -> bool {
        self.heads[line as usize / BLOCK][line as usize % BLOCK] == NEVER
            && self.far.iter().all(|event| event.line != line)
    }

    /// The first of all lines.
    #[inline]
    fn earliest(&self) -> u64 {
        let first_of = |&[a, b, c, d, e, f, g, h]: &[u64; BLOCK]| a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        let (block, more) = self.heads.split_first().expect("there is a block of lines");
        more.iter().fold(first_of(block), |first, block| first.min(first_of(block)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Chance;

    /// Against a plain list. Lines have their own delays and break them now and then; a rank is set once at a time.
    #[test]
    fn events_come_in_the_order_of_time_then_rank() {
        for (lines, resources) in [(1, 1), (1, 40), (3, 7), (4, 8), (7, 36), (13, 100)] {
            let mut timers = Timers::new(lines, resources);
            let mut plain = vec![None; resources as usize];
            let mut random = Chance::new(u64::from(resources), "timers");
            let mut now = 0;
            for _ in 0..20_000 {
                let rank = random.below_u32(resources);
                match plain[rank as usize] {
                    None => {
                        let line = random.below_u32(lines);
                        let delay = if random.below(8) == 0 { random.below(40) } else { u64::from(line) * 7 };
                        plain[rank as usize] = Some((now + delay, line));
                        timers.set(line, Instant(now + delay), rank);
                    }
                    Some((_, line)) if random.below(6) == 0 => {
                        plain[rank as usize] = None;
                        timers.stop(line, rank);
                        // Nothing happens a second time.
                        timers.stop(line, rank);
                    }
                    Some(_) => {}
                }
                let line = random.below_u32(lines);
                assert_eq!(timers.is_empty(line), !plain.iter().flatten().any(|&(_, of)| of == line));
                let ranks = (0..resources).filter(|&rank| plain[rank as usize].is_some());
                let first = ranks.min_by_key(|&rank| (plain[rank as usize], rank)).map(|rank| {
                    let (at, _) = plain[rank as usize].unwrap();
                    // Lines do not count, ranks do.
                    let rank = (0..resources).find(|&other| plain[other as usize].is_some_and(|(time, _)| time == at));
                    Due { at: Instant(at), rank: rank.unwrap() }
                });
                assert_eq!(timers.next(), first);
                if random.below(3) > 0
                    && let Some(Due { at, rank }) = first
                {
                    if at.0 > now {
                        assert_eq!(timers.take(Instant(now)), None);
                    }
                    now = at.0;
                    assert_eq!(timers.take(at), Some(rank));
                    plain[rank as usize] = None;
                }
            }
            assert!(now > 20_000 / 4 || lines == 1, "time passed");
        }
    }

    /// Times apart by more than a key holds, to the end of time.
    #[test]
    fn events_that_lie_far_apart_keep_their_order() {
        let last = Instant::LAST.0;
        let mut timers = Timers::new(2, 1000);
        let times = [5, 1 << 55, last, 7, last - 1, 1 << 54, 9, last];
        for (rank, &at) in times.iter().enumerate() {
            timers.set(rank as u32 % 2, Instant(at), rank as u32);
            assert!(!timers.is_empty(rank as u32 % 2));
        }
        timers.stop(1, 3);
        assert_eq!(timers.take(Instant(5)), Some(0));
        // Set now, behind what waits from long ago.
        timers.set(0, Instant(last), 900);
        let mut order = Vec::new();
        while let Some(Due { at, rank }) = timers.next() {
            assert_eq!(timers.take(at), Some(rank));
            if rank == 6 {
                // Nothing but what lies far ahead is left; what is set now comes first all the same.
                timers.set(0, Instant(11), 0);
                timers.stop(0, 900);
            }
            order.push((at.0, rank));
        }
        let expected = [(9, 6), (11, 0), (1 << 54, 5), (1 << 55, 1), (last - 1, 4), (last, 2), (last, 7)];
        assert_eq!(order, expected);
        assert!(timers.is_empty(0) && timers.is_empty(1));
    }
}
