//! Dynamic allocation: whose turn it is, by queue among its dies and by die among its domains.

use base::{Die, Domain, Lpn, Queue};

use crate::allocation::Allocation;
use crate::mechanism::Mechanisms;
use crate::page::PageMap;

impl<M: Mechanisms> PageMap<M> {
    /// The domain that takes a page when no time passes: static orders by their formula, dynamic
    /// allocations round robin over what accepts pages.
    ///
    /// # Panics
    /// If no domain accepts pages, which the limit on the user space rules out.
    #[inline(always)] // Once per page of the host.
    pub(crate) fn domain_without_time(&mut self, lpn: Lpn) -> Domain {
        match &self.allocation {
            Allocation::Striped(order) => order.domain_of(lpn),
            Allocation::Own(table) => table.domain_of(lpn),
            Allocation::Dynamic(_) => self.domain_in_turn(lpn),
        }
    }

    fn domain_in_turn(&mut self, lpn: Lpn) -> Domain {
        let dynamic = self.allocation.dynamic().expect("a dynamic allocation");
        self.round_robin.is_timeless = true;
        let queue = dynamic.queue_of(lpn);
        let burst = dynamic.burst();
        let dies = dynamic.dies(queue).len() as u32;
        for _ in 0..=dies {
            let left = &mut self.round_robin.burst_left[queue.index()];
            if *left > 0 {
                *left -= 1;
                let turn = self.round_robin.next_die[queue.index()];
                let die = self.allocation.dynamic().expect("checked").dies(queue)[turn as usize];
                if let Some(domain) = self.peek_domain_of(die) {
                    return domain;
                }
            }
            self.round_robin.burst_left[queue.index()] = burst;
            let turn = &mut self.round_robin.next_die[queue.index()];
            *turn = if *turn + 1 == dies { 0 } else { *turn + 1 };
        }
        if self.is_read_only() {
            // Whoever is asked refuses it.
            return Domain::new(0);
        }
        panic!("no plane accepts a page: the user space exceeds what the spare space can serve");
    }

    /// The next die of a queue, round robin, that is idle and has a domain that accepts pages. `idle` has one
    /// bit per die of the queue, in the order of [`crate::allocation::Dynamic::dies`]: on a busy device few
    /// are set, and this is asked after every event.
    pub(crate) fn next_die_of(&mut self, queue: Queue, idle: &[u64]) -> Option<Die> {
        let start = self.round_robin.next_die[queue.index()];
        if let &[bits] = idle {
            return self.first_that_accepts(queue, 0, bits.rotate_right(start), start);
        }
        let (first, below_start) = (start as usize / 64, (1u64 << (start % 64)) - 1);
        // The word with the start comes first, from the start on, and last, up to the start.
        (0..=idle.len()).find_map(|step| {
            let word = if first + step >= idle.len() { first + step - idle.len() } else { first + step };
            let bits = match step {
                0 => idle[word] & !below_start,
                last if last == idle.len() => idle[word] & below_start,
                _ => idle[word],
            };
            self.first_that_accepts(queue, word, bits, 0)
        })
    }

    /// The first die of a word of bits, which begins with that of turn `start`, that has a domain that accepts pages. The next turn is
    /// that of the one behind it.
    #[inline]
    fn first_that_accepts(&mut self, queue: Queue, word: usize, mut bits: u64, start: u32) -> Option<Die> {
        let dies = self.allocation.dynamic()?.dies(queue);
        while bits != 0 {
            let turn = word * 64 + ((bits.trailing_zeros() + start) % 64) as usize;
            bits &= bits - 1;
            let die = dies[turn];
            if self.kernel.geometry().domains_of_die(die).any(|domain| self.accepts(domain)) {
                self.round_robin.next_die[queue.index()] = if turn + 1 == dies.len() { 0 } else { turn as u32 + 1 };
                return Some(die);
            }
        }
        None
    }

    /// The domain of a die whose turn it is, round robin over those that accept pages.
    pub(crate) fn peek_domain_of(&self, die: Die) -> Option<Domain> {
        let count = self.kernel.geometry().domains_per_die();
        let mut turn = self.round_robin.next_domain[die.index()] / self.kernel.geometry().parts;
        for _ in 0..count {
            let domain = Domain::new(die.number() * count + turn);
            if self.accepts(domain) {
                return Some(domain);
            }
            turn = if turn + 1 == count { 0 } else { turn + 1 };
        }
        None
    }

    /// Of a dynamic allocation: a domain gets a page, or has something to do first, and the round robin of its die goes on behind it.
    #[inline(always)]
    pub(crate) fn pass_turn(&mut self, domain: Domain) {
        if let Allocation::Dynamic(_) = self.allocation {
            self.rotate(self.kernel.geometry().die_of_domain(domain), domain);
        }
    }

    fn rotate(&mut self, die: Die, domain: Domain) {
        let (count, parts) = (self.kernel.geometry().domains_per_die(), self.kernel.geometry().parts);
        let (turn, own) = (&mut self.round_robin.next_domain[die.index()], domain.number() % count);
        // A domain has its turn for a whole flash page.
        let had = if *turn / parts == own { *turn % parts } else { 0 };
        *turn = (own * parts + had + 1) % (count * parts);
    }
}
