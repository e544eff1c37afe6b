//! Pending events, in lines of equal delay.
//!
//! What takes a fixed time ends in the order in which it began, and an SSD knows few such times: reads, programs and
//! erases of an array, transfers of a channel. Events of one delay therefore form a line that an event joins at its
//! end, and the next event of all is the least among the heads of the lines. Joining and leaving move nobody else,
//! whatever the number of resources, and a resource has one small place, which its next event takes again.
//! (`docs/performance.md` compares this with other structures.)
//!
//! An event that is earlier than the last of its line goes before it, so an irregular delay costs time and nothing
//! else. Which line's head is the least is as good as random: it is selected without a branch.

use std::hint::select_unpredictable;

use base::Instant;

/// Lines whose heads are compared at once. Nearly all devices have few enough delays for one block.
const BLOCK: usize = 8;

/// An event: its time, then its rank and its line in one word, so that the least comes first.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: u64,
    tag: u64,
}

impl Node {
    /// Later than any event: the end of a line.
    const NEVER: Node = Node { at: Instant::NEVER.0, tag: u64::MAX };

    #[inline]
    fn new(at: Instant, rank: u32, line: u32) -> Node {
        Node { at: at.0, tag: u64::from(rank) << 32 | u64::from(line) }
    }

    #[inline]
    fn rank(self) -> u32 {
        (self.tag >> 32) as u32
    }

    #[inline]
    fn line(self) -> u32 {
        self.tag as u32
    }

    #[inline]
    fn precedes(self, other: Node) -> bool {
        let key = |node: Node| u128::from(node.at) << 64 | u128::from(node.tag);
        key(self) < key(other)
    }

    /// The one that comes first. Each word is selected for itself: a selection between pairs becomes a branch.
    #[inline]
    fn first(self, other: Node) -> Node {
        let wins = self.precedes(other);
        Node { at: select_unpredictable(wins, self.at, other.at), tag: select_unpredictable(wins, self.tag, other.tag) }
    }

    /// The same for use in a loop, where the selection after a comparison of pairs becomes a branch.
    #[inline]
    fn first_of_loop(self, other: Node) -> Node {
        let wins = (self.at < other.at) | ((self.at == other.at) & (self.tag < other.tag));
        Node { at: select_unpredictable(wins, self.at, other.at), tag: select_unpredictable(wins, self.tag, other.tag) }
    }
}

/// An event whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its time.
    pub at: Instant,
    /// Its rank.
    pub rank: u32,
}

/// What waits in one line.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// [`Node::NEVER`] if nothing does.
    first: Node,
    /// The last, by rank; the front of the line if nothing waits.
    last: u32,
}

/// Pending events, at most one of each rank. Equal times are served in the order of ranks.
pub struct Timers {
    /// The next event of all.
    first: Node,
    /// In whole blocks; what is too many stays empty.
    lines: Box<[Line]>,
    /// By rank; then [`Node::NEVER`], which is behind the last of every line; then the front of each line, before all.
    nodes: Box<[Node]>,
    /// By place in `nodes`: the next one of its line.
    next: Box<[u32]>,
    ranks: u32,
}

impl Timers {
    /// `lines` empty lines for events of `ranks` ranks.
    pub fn new(lines: u32, ranks: u32) -> Timers {
        let front = |line: u32| ranks + 1 + line;
        let lines = lines.max(1).next_multiple_of(BLOCK as u32);
        let mut nodes = vec![Node { at: 0, tag: 0 }; front(lines) as usize];
        nodes[ranks as usize] = Node::NEVER;
        Timers {
            first: Node::NEVER,
            lines: (0..lines).map(|line| Line { first: Node::NEVER, last: front(line) }).collect(),
            nodes: nodes.into(),
            next: vec![ranks; front(lines) as usize].into(),
            ranks,
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

    /// The event of a rank that is not pending will happen. Best in the line of events that happen as long after they
    /// were set.
    #[inline]
    pub fn set(&mut self, line: u32, at: Instant, rank: u32) {
        debug_assert!(rank < self.ranks);
        let node = Node::new(at, rank, line);
        let last = self.lines[line as usize].last;
        self.nodes[rank as usize] = node;
        if node.precedes(self.nodes[last as usize]) {
            self.insert(line, rank);
        } else {
            self.next[last as usize] = rank;
            self.next[rank as usize] = self.end();
            self.lines[line as usize].last = rank;
        }
        let first = &mut self.lines[line as usize].first;
        *first = node.first(*first);
        self.first = node.first(self.first);
    }

    /// Finds the place of an event that is earlier than the last of its line.
    #[inline(never)]
    fn insert(&mut self, line: u32, rank: u32) {
        let mut before = self.front(line);
        while self.nodes[self.next[before as usize] as usize].precedes(self.nodes[rank as usize]) {
            before = self.next[before as usize];
        }
        self.next[rank as usize] = self.next[before as usize];
        self.next[before as usize] = rank;
    }

    /// The next event, if any. It stays set.
    #[inline]
    #[allow(clippy::should_implement_trait)] // Looking does not take: this is no `Iterator`.
    pub fn next(&self) -> Option<Due> {
        let due = Due { at: Instant(self.first.at), rank: self.first.rank() };
        (due.at != Instant::NEVER).then_some(due)
    }

    /// Takes the next event if its time is `now`; its rank.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<u32> {
        if self.first.at != now.0 || now == Instant::NEVER {
            return None;
        }
        let (rank, line) = (self.first.rank(), self.first.line());
        self.remove(line, self.front(line));
        Some(rank)
    }

    /// Drops the event of a rank from a line, if it is there.
    pub fn stop(&mut self, line: u32, rank: u32) {
        let mut before = self.front(line);
        while self.next[before as usize] != rank {
            if self.next[before as usize] == self.end() {
                return;
            }
            before = self.next[before as usize];
        }
        self.remove(line, before);
    }

    /// Takes the event behind `before` out of a line.
    #[inline]
    fn remove(&mut self, line: u32, before: u32) {
        let removed = self.next[before as usize];
        let after = self.next[removed as usize];
        self.next[before as usize] = after;
        let (front, end) = (self.front(line), self.end());
        let first = self.nodes[self.next[front as usize] as usize];
        let Line { first: head, last } = &mut self.lines[line as usize];
        *head = first;
        *last = select_unpredictable(after == end, before, *last);
        self.first = self.earliest();
    }

    /// Whether nothing is set in a line.
    #[inline]
    pub fn is_empty(&self, line: u32) -> bool {
        self.lines[line as usize].first.at == Instant::NEVER.0
    }

    /// The first of all lines.
    #[inline]
    fn earliest(&self) -> Node {
        let (blocks, _) = self.lines.as_chunks::<BLOCK>();
        let first_of = |lines: &[Line; BLOCK]| {
            let [a, b, c, d, e, f, g, h] = lines.each_ref().map(|line| line.first);
            a.first(b).first(c.first(d)).first(e.first(f).first(g.first(h)))
        };
        let (block, more) = blocks.split_first().expect("there is a block of lines");
        more.iter().fold(first_of(block), |first, block| first_of(block).first_of_loop(first))
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
}
