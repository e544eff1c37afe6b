//! Pending events, in lines of equal delay.
//!
//! Things that take a fixed time end in the order in which they began, and an SSD knows few such times: reads, programs and
//! erases of an array, transfers of a channel. Events of one delay therefore form a line that an event joins at its
//! end, and the next event of all is the least among the heads of the lines. Joining and leaving move nobody else,
//! whatever the number of resources. (`docs/design.md` compares this with other structures.)
//!
//! An event is one 64-bit key: its time in the upper half, its rank and its line in the lower. A line is a ring of keys, with
//! the key of no event behind its last, so that joining and leaving ask nothing. An event that is earlier than the last of its
//! line goes before it, so an irregular delay costs time and nothing else. Which line's head is the least is as good as random:
//! it is selected without a branch. Times count from a base that moves on, four seconds at a time; an event that lies too far
//! behind it waits apart.

use std::collections::VecDeque;

use base::Instant;

/// Lines whose heads are compared at once. Nearly all devices have few enough delays for one block.
const BLOCK: usize = 8;

/// Bits of a key below its time, and of these for its line.
const TIME: u32 = 32;
const LINE_BITS: u32 = 6;

/// The most lines and ranks there can be.
const MAX_LINES: usize = 1 << LINE_BITS;
const MAX_RANKS: u32 = 1 << (TIME - LINE_BITS);

/// Places of a ring; what more a line has waits behind it.
const PLACES: usize = 64;

/// The key of no event: behind all others.
const NEVER: u64 = u64::MAX;

/// Events of one delay, in order.
#[derive(Clone, Debug)]
struct TimerLine {
    /// Of the event that joined last, here or gone.
    last: u64,
    /// Numbers of the first event and of the one behind the last; their places go round.
    first: u32,
    end: u32,
    /// The place behind the last holds [`NEVER`].
    keys: [u64; PLACES],
    /// Behind those that have places.
    more: VecDeque<u64>,
}

/// The place of a number.
#[inline(always)]
fn place(number: u32) -> usize {
    number as usize % PLACES
}

impl TimerLine {
    const EMPTY: TimerLine = TimerLine { last: 0, first: 0, end: 0, keys: [NEVER; PLACES], more: VecDeque::new() };

    /// The first event, or [`NEVER`].
    #[inline]
    fn head(&self) -> u64 {
        self.keys[place(self.first)]
    }

    /// An event joins, at the end unless it is earlier.
    #[inline(always)]
    fn join(&mut self, key: u64) {
        if key < self.last || self.end.wrapping_sub(self.first) >= PLACES as u32 - 1 {
            return self.insert(key);
        }
        self.keys[place(self.end)] = key;
        self.end = self.end.wrapping_add(1);
        self.keys[place(self.end)] = NEVER;
        self.last = key;
    }

    /// The first event leaves.
    #[inline]
    fn leave(&mut self) {
        self.first = self.first.wrapping_add(1);
        if !self.more.is_empty() {
            self.move_up();
        }
    }

    #[inline(never)]
    fn move_up(&mut self) {
        let (last, key) = (self.last, self.more.pop_front());
        self.last = 0;
        self.join(key.expect("there are more"));
        self.last = last;
    }

    /// Finds the place of an event that is earlier than the last one, or that has no place in the ring.
    #[inline(never)]
    fn insert(&mut self, key: u64) {
        if key >= self.last || self.end.wrapping_sub(self.first) >= PLACES as u32 - 1 || !self.more.is_empty() {
            return self.insert_behind(key);
        }
        self.insert_in_ring(key);
    }

    /// Finds the place of an event in a ring that has one free. Dies that do the same at the same time choose in the opposite order of their ranks, so that
    /// each goes before the one that chose before it.
    #[inline(always)]
    fn insert_in_ring(&mut self, key: u64) {
        let mut at = self.end;
        self.end = at.wrapping_add(1);
        self.keys[place(self.end)] = NEVER;
        while at != self.first {
            let other = self.keys[place(at.wrapping_sub(1))];
            if other <= key {
                break;
            }
            self.keys[place(at)] = other;
            at = at.wrapping_sub(1);
        }
        self.keys[place(at)] = key;
    }

    /// Inserts an event where the ring is full, where events wait behind it, or where the event is the last one.
    #[inline(never)]
    fn insert_behind(&mut self, key: u64) {
        let is_last = key >= self.last;
        self.last = self.last.max(key);
        if is_last && !self.more.is_empty() {
            return self.more.push_back(key);
        }
        if self.end.wrapping_sub(self.first) == PLACES as u32 - 1 {
            let before = place(self.end.wrapping_sub(1));
            if key > self.keys[before] {
                let at = self.more.partition_point(|&other| other < key);
                return self.more.insert(at, key);
            }
            self.more.push_front(std::mem::replace(&mut self.keys[before], NEVER));
            self.end = self.end.wrapping_sub(1);
        }
        self.insert_in_ring(key);
    }

    /// Drops an event from the ring, where no events wait behind it; later events move up.
    fn drop_from_ring(&mut self, is_dropped: impl Fn(u64) -> bool) {
        let mut at = self.first;
        while at != self.end && !is_dropped(self.keys[place(at)]) {
            at = at.wrapping_add(1);
        }
        if at == self.end {
            return;
        }
        while at != self.end {
            self.keys[place(at)] = self.keys[place(at.wrapping_add(1))];
            at = at.wrapping_add(1);
        }
        self.end = self.end.wrapping_sub(1);
    }

    fn events(&self) -> impl Iterator<Item = u64> {
        let of_ring =
            (0..self.end.wrapping_sub(self.first)).map(|number| self.keys[place(self.first.wrapping_add(number))]);
        of_ring.chain(self.more.iter().copied())
    }

    /// Drops an event, if it is there.
    fn drop(&mut self, is_dropped: impl Fn(u64) -> bool) {
        if self.more.is_empty() {
            return self.drop_from_ring(is_dropped);
        }
        let kept: Vec<u64> = self.events().filter(|&key| !is_dropped(key)).collect();
        *self = TimerLine::EMPTY;
        kept.into_iter().for_each(|key| self.join(key));
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
pub struct Timers {
    /// The key of the next event of all.
    first: u64,
    /// Keys below this are of the present instant.
    bound: u64,
    now: Instant,
    base: u64,
    /// Blocks of lines in use.
    blocks: u32,
    /// By line: the key of its first event, or [`NEVER`].
    heads: [u64; MAX_LINES],
    /// By block of lines: the least of these.
    least: [u64; MAX_LINES / BLOCK],
    lines: Box<[TimerLine; MAX_LINES]>,
    /// Behind all that have keys.
    far: Vec<Far>,
}

impl Timers {
    /// Bytes for each rank. Those of lines are there whatever the number of ranks; what more a line has may have twice the places
    /// that it ever needed.
    pub const BYTES_OF_RANK: usize = 2 * size_of::<u64>();

    /// `lines` empty lines for events of `ranks` ranks.
    ///
    /// # Panics
    /// If there are more than 64 lines or 67 million ranks.
    pub fn new(lines: u32, ranks: u32) -> Timers {
        assert!(lines as usize <= MAX_LINES && ranks <= MAX_RANKS, "{lines} lines of {ranks} ranks are too many");
        Timers {
            first: NEVER,
            bound: 0,
            now: Instant::ZERO,
            base: 0,
            blocks: lines.max(1).div_ceil(BLOCK as u32),
            heads: [NEVER; MAX_LINES],
            least: [NEVER; MAX_LINES / BLOCK],
            lines: Box::new([TimerLine::EMPTY; MAX_LINES]),
            far: Vec::new(),
        }
    }

    /// The time of a key.
    #[inline]
    fn at(&self, key: u64) -> Instant {
        Instant(self.base + (key >> TIME))
    }

    #[inline]
    fn rank(key: u64) -> u32 {
        key as u32 >> LINE_BITS
    }

    #[inline]
    fn line(key: u64) -> usize {
        key as usize % MAX_LINES
    }

    /// The key of an event, unless it lies too far ahead. The last time of all is that of no event.
    #[inline]
    fn key(&self, line: u32, at: Instant, rank: u32) -> Option<u64> {
        let after = at.0.wrapping_sub(self.base);
        (after < u64::from(u32::MAX)).then(|| after << TIME | u64::from(rank << LINE_BITS | line))
    }

    /// The event of a rank that is not pending will happen. Best in the line of events that happen as long after they
    /// were set.
    #[inline(always)]
    pub fn set(&mut self, line: u32, at: Instant, rank: u32) {
        debug_assert!(line < self.blocks * BLOCK as u32);
        match self.key(line, at, rank) {
            Some(key) => self.join(key),
            None => self.set_far(Far { at, rank, line }),
        }
    }

    #[inline(always)]
    fn join(&mut self, key: u64) {
        let line = Timers::line(key);
        self.lines[line].join(key);
        self.heads[line] = key.min(self.heads[line]);
        self.least[line / BLOCK] = key.min(self.least[line / BLOCK]);
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
        let pending = self.lines.iter().flat_map(TimerLine::events);
        let with_keys =
            pending.map(|key| Far { at: self.at(key), rank: Timers::rank(key), line: Timers::line(key) as u32 });
        let events: Vec<Far> = with_keys.chain(self.far.iter().copied()).collect();
        self.far.clear();
        self.lines.fill(TimerLine::EMPTY);
        self.heads.fill(NEVER);
        self.least.fill(NEVER);
        self.first = NEVER;
        self.base = events.iter().map(|event| event.at.0).min().unwrap_or(self.base);
        self.bound = self.now.0.checked_sub(self.base).map_or(0, |after| after.saturating_add(1) << TIME);
        for event in events {
            match self.key(event.line, event.at, event.rank) {
                Some(key) => self.join(key),
                None => self.far.push(event),
            }
        }
    }

    /// The instant of the next event, if there is one.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        (self.first != NEVER).then(|| self.at(self.first))
    }

    /// The instant of the next event, if there is one, is the present from now on.
    #[inline]
    pub fn advance(&mut self) -> Option<Instant> {
        if self.first == NEVER {
            return None;
        }
        self.now = self.at(self.first);
        // No key has the last time of all.
        self.bound = (self.first >> TIME << TIME) + (1 << TIME);
        Some(self.now)
    }

    /// Takes an event of the present instant; its rank.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        if self.first >= self.bound {
            return None;
        }
        let (rank, line) = (Timers::rank(self.first), Timers::line(self.first));
        self.lines[line].leave();
        self.end_change(line);
        Some(rank)
    }

    /// Drops the event of a rank from a line, if it is there.
    pub fn stop(&mut self, line: u32, rank: u32) {
        if !self.far.is_empty() {
            self.far.retain(|event| (event.line, event.rank) != (line, rank));
        }
        self.lines[line as usize].drop(|key| Timers::rank(key) == rank);
        self.end_change(line as usize);
    }

    /// A line lost an event.
    #[inline]
    fn end_change(&mut self, line: usize) {
        self.heads[line] = self.lines[line].head();
        self.first = self.earliest(line / BLOCK);
        if self.first == NEVER && !self.far.is_empty() {
            self.count_anew();
        }
    }

    /// True while nothing is set in a line.
    #[inline]
    pub fn is_empty(&self, line: u32) -> bool {
        self.heads[line as usize % MAX_LINES] == NEVER && self.far.iter().all(|event| event.line != line)
    }

    /// The first of all lines, where one of this block has changed.
    #[inline]
    fn earliest(&mut self, block: usize) -> u64 {
        let (blocks, _) = self.heads.as_chunks::<BLOCK>();
        let [a, b, c, d, e, f, g, h] = blocks[block];
        self.least[block] = a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)));
        self.least[1..self.blocks as usize].iter().fold(self.least[0], |first, &least| first.min(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Chance;

    /// Against a plain list. Lines have their own delays and break them now and then; a rank is set once at a time.
    #[test]
    fn events_come_in_the_order_of_time_then_rank() {
        for (lines, resources) in [(1, 1), (1, 40), (3, 7), (4, 8), (7, 36), (13, 100), (1, 150), (2, 300)] {
            let mut timers = Timers::new(lines, resources);
            let mut plain = vec![None; resources as usize];
            let mut random = Chance::new(u64::from(resources), "timers");
            let mut now = 0;
            for _ in 0..20_000 {
                let rank = random.below_u32(resources);
                match plain[rank as usize] {
                    None => {
                        let line = random.below_u32(lines);
                        let delay = if random.below(8) == 0 { random.below(40) } else { u64::from(line) * 7 + 3 };
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
                // Of those of one time the least rank.
                let pending = plain.iter().zip(0..).filter_map(|(event, rank)| event.map(|(at, _)| (at, rank)));
                let Some((at, rank)) = pending.min() else {
                    assert_eq!(timers.take(), None);
                    continue;
                };
                assert_eq!(timers.take(), (at == now).then_some(rank), "what is set for now happens now");
                if at == now {
                    plain[rank as usize] = None;
                } else if random.below(if resources > 100 { 12 } else { 2 }) == 0 {
                    assert_eq!(timers.advance(), Some(Instant(at)));
                    assert_eq!(timers.take(), Some(rank));
                    plain[rank as usize] = None;
                    now = at;
                }
            }
            assert!(now > 500, "time passed: {now}");
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
        assert_eq!((timers.advance(), timers.take()), (Some(Instant(5)), Some(0)));
        // Set now, behind what waits from long ago.
        timers.set(0, Instant(last), 900);
        assert_eq!(timers.take(), None);
        let mut order = Vec::new();
        while let Some(at) = timers.advance() {
            while let Some(rank) = timers.take() {
                if rank == 6 {
                    // Nothing but what lies far ahead is left; what is set now comes first all the same.
                    timers.set(0, Instant(11), 0);
                    timers.stop(0, 900);
                    timers.set(1, at, 7 + 1);
                }
                order.push((at.0, rank));
            }
        }
        let expected = [(9, 6), (9, 8), (11, 0), (1 << 54, 5), (1 << 55, 1), (last - 1, 4), (last, 2), (last, 7)];
        assert_eq!(order, expected);
        assert!(timers.is_empty(0) && timers.is_empty(1));
    }
}
