//! Whose turn it is among the dies that share a queue. Executors keep it, who know which dies are idle.

use base::{Die, Domain, Lpn, Queue};

use super::{Allocation, Dynamic};

/// The dies that are idle and may take a page, for the allocations that hand a page to the next free die. Without a dynamic allocation
/// nobody asks, and nothing is kept.
#[derive(Clone)]
pub struct IdleDies {
    /// By die: its queue, and its turn there.
    places: Vec<(Queue, u32)>,
    queues: Vec<IdleOfQueue>,
}

/// The idle dies of a queue.
#[derive(Clone)]
struct IdleOfQueue {
    /// All that serve it, in round-robin order.
    dies: Vec<Die>,
    /// In the same order a bit each.
    bits: Vec<u64>,
    /// Whose turn is next.
    turn: u32,
}

impl IdleDies {
    /// All `dies` idle.
    pub fn new(allocation: &Allocation, dies: u32) -> IdleDies {
        let Some(dynamic) = allocation.dynamic() else { return IdleDies { places: Vec::new(), queues: Vec::new() } };
        let mut idle = IdleDies { places: vec![(Queue::new(0), 0); dies as usize], queues: Vec::new() };
        for queue in allocation.all_queues() {
            let dies = dynamic.dies(queue).to_vec();
            for (turn, &die) in dies.iter().enumerate() {
                idle.places[die.index()] = (queue, turn as u32);
            }
            idle.queues.push(IdleOfQueue { bits: vec![0; dies.len().div_ceil(64)], dies, turn: 0 });
        }
        (0..dies).map(Die::new).for_each(|die| idle.insert(die));
        idle
    }

    /// True if dies of a queue are idle.
    #[inline]
    pub fn has(&self, queue: Queue) -> bool {
        self.queues[queue.index()].bits.iter().any(|&bits| bits != 0)
    }

    /// A die is idle, or may take a page again.
    #[inline]
    pub fn insert(&mut self, die: Die) {
        if let Some(&(queue, turn)) = self.places.get(die.index()) {
            self.queues[queue.index()].bits[turn as usize / 64] |= 1 << (turn % 64);
        }
    }

    /// A die is not idle any more.
    #[inline]
    pub fn remove(&mut self, die: Die) {
        if let Some(&(queue, turn)) = self.places.get(die.index()) {
            self.queues[queue.index()].bits[turn as usize / 64] &= !(1 << (turn % 64));
        }
    }

    /// The next idle die of a queue, round robin, that accepts pages. On a busy device few are idle, and this is asked after every event.
    #[inline(never)] // What calls it is the larger part of a loop.
    pub fn next(&mut self, queue: Queue, accepts: impl Fn(Die) -> bool) -> Option<Die> {
        let IdleOfQueue { dies, bits, turn } = &mut self.queues[queue.index()];
        let start = *turn;
        // The first die of a word of bits, which begins with that of turn `from`. The next turn is that of the one behind it.
        let mut first_of = |word: usize, mut bits: u64, from: u32| {
            while bits != 0 {
                let at = word * 64 + ((bits.trailing_zeros() + from) % 64) as usize;
                bits &= bits - 1;
                if accepts(dies[at]) {
                    *turn = if at + 1 == dies.len() { 0 } else { at as u32 + 1 };
                    return Some(dies[at]);
                }
            }
            None
        };
        if let &[bits] = &bits[..] {
            return first_of(0, bits.rotate_right(start), start);
        }
        let (first, below_start) = (start as usize / 64, (1u64 << (start % 64)) - 1);
        // The word with the start comes first, from the start on, and last, up to the start.
        (0..=bits.len()).find_map(|step| {
            let word = if first + step >= bits.len() { first + step - bits.len() } else { first + step };
            let bits = match step {
                0 => bits[word] & !below_start,
                last if last == bits.len() => bits[word] & below_start,
                _ => bits[word],
            };
            first_of(word, bits, 0)
        })
    }
}

/// Turns among the dies of a dynamic allocation where no time passes, so that all are idle.
#[derive(Clone)]
pub struct DieTurns {
    /// By queue: whose turn it is among its dies, in the order of [`Dynamic::dies`].
    next: Vec<u32>,
    /// By queue: what is left of a burst.
    burst_left: Vec<u32>,
}

impl DieTurns {
    /// None of the dies has had a turn.
    pub fn new(allocation: &Allocation) -> DieTurns {
        let queues = allocation.queues() as usize;
        DieTurns { next: vec![0; queues], burst_left: vec![0; queues] }
    }

    /// The domain that takes a page: static orders name it by their formula, dynamic ones go round robin over the dies with a domain that
    /// accepts pages. `None`: there is none.
    #[inline(always)] // Once per page of the host.
    pub fn domain_of(
        &mut self,
        allocation: &Allocation,
        lpn: Lpn,
        domain_of_die: impl Fn(Die) -> Option<Domain>,
    ) -> Option<Domain> {
        match allocation {
            Allocation::Striped(order) => Some(order.domain_of(lpn)),
            Allocation::Own(table) => Some(table.domain_of(lpn)),
            Allocation::Dynamic(dynamic) => self.domain_in_turn(dynamic, dynamic.queue_of(lpn), domain_of_die),
        }
    }

    fn domain_in_turn(
        &mut self,
        dynamic: &Dynamic,
        queue: Queue,
        domain_of_die: impl Fn(Die) -> Option<Domain>,
    ) -> Option<Domain> {
        let dies = dynamic.dies(queue);
        let (turn, left) = (&mut self.next[queue.index()], &mut self.burst_left[queue.index()]);
        for _ in 0..=dies.len() {
            if *left > 0 {
                *left -= 1;
                if let Some(domain) = domain_of_die(dies[*turn as usize]) {
                    return Some(domain);
                }
            }
            *left = dynamic.burst();
            *turn = if *turn as usize + 1 == dies.len() { 0 } else { *turn + 1 };
        }
        None
    }
}
