//! Which dies are idle, for the allocations that hand a page to the next free die.

use base::{Die, Queue};
use ftl::allocation::Allocation;

/// One bit per die that is idle and may take a page, by queue of a dynamic allocation and in its round-robin order. Without a dynamic
/// allocation nobody asks, and nothing is kept.
pub(super) struct IdleDies {
    /// By die: its queue, and its turn there.
    places: Vec<(Queue, u32)>,
    bits: Vec<Vec<u64>>,
}

impl IdleDies {
    /// All `dies` idle.
    pub(super) fn new(allocation: &Allocation, dies: u32) -> IdleDies {
        let Some(dynamic) = allocation.dynamic() else { return IdleDies { places: Vec::new(), bits: Vec::new() } };
        let mut idle = IdleDies { places: vec![(Queue::new(0), 0); dies as usize], bits: Vec::new() };
        for queue in allocation.all_queues() {
            let members = dynamic.dies(queue);
            idle.bits.push(vec![0; members.len().div_ceil(64)]);
            for (turn, &die) in members.iter().enumerate() {
                idle.places[die.index()] = (queue, turn as u32);
                idle.insert(die);
            }
        }
        idle
    }

    /// The idle dies of a queue.
    #[inline]
    pub(super) fn of(&self, queue: Queue) -> &[u64] {
        &self.bits[queue.index()]
    }

    #[inline]
    pub(super) fn insert(&mut self, die: Die) {
        if let Some(&(queue, turn)) = self.places.get(die.index()) {
            self.bits[queue.index()][turn as usize / 64] |= 1 << (turn % 64);
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, die: Die) {
        if let Some(&(queue, turn)) = self.places.get(die.index()) {
            self.bits[queue.index()][turn as usize / 64] &= !(1 << (turn % 64));
        }
    }
}
