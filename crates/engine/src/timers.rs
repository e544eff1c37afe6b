//! Pending events, in lines of equal delay.
//!
//! What takes a fixed time ends in the order in which it began, and an SSD knows few such times: reads, programs and
//! erases of an array, transfers of a channel. Events of one delay therefore form a line that an event joins at its
//! end, and the next event of all is the least among the heads of the lines. Joining and leaving move nobody else,
//! whatever the number of resources. (`docs/performance.md` compares this with other structures.)
//!
//! An event is one 64-bit key: its time, its rank, its line. A line is a ring of keys, with the key of no event behind its
//! last, so that joining and leaving ask nothing. An event that is earlier than the last of its line goes before it, so an
//! irregular delay costs time and nothing else. Which line's head is the least is as good as random: it is selected without
//! a branch. Times count from a base that moves on; an event that lies too far behind it waits apart.

use base::Instant;

/// Lines whose heads are compared at once. Nearly all devices have few enough delays for one block.
const BLOCK: usize = 8;

/// Bits of a key for its line.
const LINE_BITS: u32 = 6;

/// The most lines there can be.
const MAX_LINES: usize = 1 << LINE_BITS;

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

/// Events of one delay, in order: a ring of keys, in which the place behind the last holds [`NEVER`].
#[derive(Clone, Debug)]
struct Line {
    /// Of the event that joined last, here or gone.
    last: u64,
    /// Places of the first event and of the one behind the last, going round.
    first: u32,
    end: u32,
    /// A power of two.
    keys: Box<[u64]>,
}

impl Line {
    fn new() -> Line {
        Line { last: 0, first: 0, end: 0, keys: vec![NEVER; 8].into() }
    }

    /// The place of a number that goes round.
    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & (self.keys.len() - 1)
    }

    /// The first event, or [`NEVER`].
    #[inline]
    fn head(&self) -> u64 {
        self.keys[self.place(self.first)]
    }

    /// An event joins, at the end unless it is earlier.
    #[inline]
    fn join(&mut self, key: u64) {
        if key < self.last || self.end.wrapping_sub(self.first) as usize + 1 == self.keys.len() {
            return self.insert(key);
        }
        let (place, behind) = (self.place(self.end), self.place(self.end.wrapping_add(1)));
        self.keys[place] = key;
        self.keys[behind] = NEVER;
        self.end = self.end.wrapping_add(1);
        self.last = key;
    }

    /// The first event leaves.
    #[inline]
    fn leave(&mut self) {
        self.first = self.first.wrapping_add(1);
    }

    /// Finds the place of an event that is earlier than the last one, or makes room.
    #[inline(never)]
    fn insert(&mut self, key: u64) {
        if self.end.wrapping_sub(self.first) as usize + 1 == self.keys.len() {
            self.assign(self.events().collect());
        }
        let behind = self.place(self.end.wrapping_add(1));
        self.keys[behind] = NEVER;
        let mut at = self.end;
        while at != self.first && self.keys[self.place(at.wrapping_sub(1))] > key {
            let (place, before) = (self.place(at), self.place(at.wrapping_sub(1)));
            self.keys[place] = self.keys[before];
            at = at.wrapping_sub(1);
        }
        let place = self.place(at);
        self.keys[place] = key;
        self.end = self.end.wrapping_add(1);
        self.last = self.last.max(key);
    }

    /// Drops the event of a rank, if it is there.
    fn drop(&mut self, is_dropped: impl Fn(u64) -> bool) {
        let kept = self.events().filter(|&key| !is_dropped(key)).collect();
        self.assign(kept);
    }

    fn events(&self) -> impl Iterator<Item = u64> {
        (0..self.end.wrapping_sub(self.first)).map(|number| self.keys[self.place(self.first.wrapping_add(number))])
    }

    /// These events and no others, in order, with room for more.
    fn assign(&mut self, mut keys: Vec<u64>) {
        self.last = keys.last().copied().unwrap_or(0);
        (self.first, self.end) = (0, keys.len() as u32);
        keys.resize((keys.len() + 2).next_power_of_two().max(8), NEVER);
        self.keys = keys.into();
    }
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
/// A key is the time since `base` and, in its low bits, the rank and the line.
pub struct Timers {
    /// The key of the next event of all.
    first: u64,
    base: u64,
    /// Bits of a key below the time.
    bits: u32,
    /// Times since the base that a key does not hold, from this on. The last key of all is that of no event.
    limit: u64,
    /// Blocks of lines in use.
    blocks: u32,
    /// By line: the key of its first event, or [`NEVER`].
    heads: [u64; MAX_LINES],
    lines: Box<[Line; MAX_LINES]>,
    /// Behind all that have keys.
    far: Vec<Far>,
}

impl Timers {
    /// Bytes for each rank: it is in one line at a time, and a line may have twice the places that it ever needed.
    pub const BYTES_OF_RANK: usize = 2 * size_of::<u64>();

    /// `lines` empty lines for events of `ranks` ranks.
    ///
    /// # Panics
    /// If there are more than 64 lines.
    pub fn new(lines: u32, ranks: u32) -> Timers {
        assert!(lines as usize <= MAX_LINES, "{lines} lines of timers are too many");
        let bits = u32::BITS - ranks.leading_zeros() + LINE_BITS;
        Timers {
            first: NEVER,
            base: 0,
            bits,
            limit: u64::MAX >> bits,
            blocks: lines.max(1).div_ceil(BLOCK as u32),
            heads: [NEVER; MAX_LINES],
            lines: Box::new(std::array::from_fn(|_| Line::new())),
            far: Vec::new(),
        }
    }

    /// The time of a key.
    #[inline]
    fn at(&self, key: u64) -> Instant {
        Instant(self.base + (key >> self.bits))
    }

    #[inline]
    fn rank(&self, key: u64) -> u32 {
        ((key & ((1 << self.bits) - 1)) >> LINE_BITS) as u32
    }

    #[inline]
    fn line(key: u64) -> usize {
        key as usize % MAX_LINES
    }

    /// The key of an event, unless it lies too far ahead.
    #[inline]
    fn key(&self, line: u32, at: Instant, rank: u32) -> Option<u64> {
        let after = at.0.wrapping_sub(self.base);
        let below = u64::from(rank) << LINE_BITS | u64::from(line);
        (after < self.limit).then(|| after << self.bits | below)
    }

    /// The event of a rank that is not pending will happen. Best in the line of events that happen as long after they
    /// were set.
    #[inline]
    pub fn set(&mut self, line: u32, at: Instant, rank: u32) {
        debug_assert!(line < self.blocks * BLOCK as u32);
        match self.key(line, at, rank) {
            Some(key) => self.join(key),
            None => self.set_far(Far { at, rank, line }),
        }
    }

    #[inline]
    fn join(&mut self, key: u64) {
        let line = Timers::line(key);
        self.lines[line].join(key);
        self.heads[line] = key.min(self.heads[line]);
        self.first = key.min(self.first);
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
        let pending = self.lines.iter().flat_map(Line::events);
        let with_keys =
            pending.map(|key| Far { at: self.at(key), rank: self.rank(key), line: Timers::line(key) as u32 });
        let events: Vec<Far> = with_keys.chain(self.far.iter().copied()).collect();
        self.far.clear();
        self.lines.iter_mut().for_each(|line| line.assign(Vec::new()));
        self.heads.fill(NEVER);
        self.first = NEVER;
        self.base = events.iter().map(|event| event.at.0).min().unwrap_or(self.base);
        for event in events {
            match self.key(event.line, event.at, event.rank) {
                Some(key) => self.join(key),
                None => self.far.push(event),
            }
        }
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
        // The key of no event is of no time.
        if self.first >> self.bits != now.0.wrapping_sub(self.base) {
            return None;
        }
        let (rank, line) = (self.rank(self.first), Timers::line(self.first));
        self.lines[line].leave();
        self.end_change(line);
        Some(rank)
    }

    /// Drops the event of a rank from a line, if it is there.
    pub fn stop(&mut self, line: u32, rank: u32) {
        self.far.retain(|event| (event.line, event.rank) != (line, rank));
        let bits = self.bits;
        self.lines[line as usize].drop(|key| ((key & ((1 << bits) - 1)) >> LINE_BITS) as u32 == rank);
        self.end_change(line as usize);
    }

    /// A line lost an event.
    #[inline]
    fn end_change(&mut self, line: usize) {
        self.heads[line] = self.lines[line].head();
        self.first = self.earliest();
        if self.first == NEVER && !self.far.is_empty() {
            self.count_anew();
        }
    }

    /// Whether nothing is set in a line.
    #[inline]
    pub fn is_empty(&self, line: u32) -> bool {
        self.heads[line as usize % MAX_LINES] == NEVER && self.far.iter().all(|event| event.line != line)
    }

    /// The first of all lines.
    #[inline]
    fn earliest(&self) -> u64 {
        let first_of = |&[a, b, c, d, e, f, g, h]: &[u64; BLOCK]| a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        let (blocks, _) = self.heads.as_chunks::<BLOCK>();
        let mut first = first_of(&blocks[0]);
        if self.blocks > 1 {
            for block in &blocks[1..self.blocks as usize] {
                first = first.min(first_of(block));
            }
        }
        first
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
