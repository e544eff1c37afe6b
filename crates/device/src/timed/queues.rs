//! Waiting pages: a pool of transactions that grows to the most ever in flight, and lists through it.

use base::Lpn;
use engine::memory::in_words;

use crate::RunError;
use crate::pages::Share;

/// "No transaction" in a link.
const NONE: u32 = u32::MAX;

/// What a transaction does when its turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Reads a page for the host.
    Read,
    /// Reads the old version of a page that the host writes in part; `owner` is the write's transaction.
    ReadOld,
    /// Writes a page for the host.
    Write,
    /// Forgets every page of one queue of a static allocation from `lpn` up to `end`; takes no flash.
    Trim {
        /// One past the last page.
        end: Lpn,
    },
}

/// One page of a host request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    /// Number of arrival: its age.
    pub(super) age: u64,
    pub(super) lpn: Lpn,
    /// The request it belongs to; for [`Work::ReadOld`] the write that waits for it.
    pub(super) owner: u32,
    /// Write: the version it carries. Read: the oldest version it may return.
    pub(super) version: u32,
    next: u32,
    pub(super) work: Work,
    /// A write that covers part of its page, whose old version has not been asked for.
    pub(super) partial: bool,
    /// A write that waits for its old version.
    pub(super) waiting: bool,
    /// A read whose map entry was used already, on the die of the entry.
    pub(super) translated: bool,
    /// The flash pages of its page that it concerns.
    pub(super) share: Share,
}

impl Transaction {
    /// One that concerns `share` of its page; a write that needs the old version of some of it is partial.
    pub(super) fn new(age: u64, lpn: Lpn, owner: u32, version: u32, work: Work, share: Share) -> Transaction {
        let partial = work == Work::Write && share.old > 0;
        let (waiting, translated) = (false, false);
        Transaction { age, lpn, owner, version, next: NONE, work, partial, waiting, translated, share }
    }
}

/// All transactions; slots are reused.
pub(super) struct Pool {
    slots: Vec<Transaction>,
    free: Vec<u32>,
    /// As many have memory to spare.
    granted: usize,
}

/// As many transactions as any device may have.
const FREELY: usize = 1 << 20;

impl Pool {
    pub(super) fn new() -> Pool {
        Pool { slots: Vec::new(), free: Vec::new(), granted: FREELY }
    }

    /// Bytes of so many transactions.
    pub(super) fn bytes(transactions: u64) -> u64 {
        transactions * (size_of::<Transaction>() + size_of::<u32>()) as u64
    }

    /// Makes sure of memory for the pages of one more request. How many a trace asks for at once is not known before.
    ///
    /// # Errors
    /// When there is not as much.
    #[inline]
    pub(super) fn make_room(&mut self, pages: u32) -> Result<(), RunError> {
        let wanted = self.slots.len() - self.free.len() + pages as usize;
        if wanted <= self.granted { Ok(()) } else { self.grant(wanted) }
    }

    #[cold]
    fn grant(&mut self, wanted: usize) -> Result<(), RunError> {
        // A vector grows to twice its length, and is there twice meanwhile.
        let needed = Pool::bytes(3 * wanted as u64);
        if let Some(room) = engine::memory::room()
            && room.bytes < needed
        {
            let (needed, there) = (in_words(needed), in_words(room.bytes));
            return Err(RunError::Failed(format!(
                "the requests in the device have {wanted} pages, which need {needed} of memory, and there are {there}, \
                 limited by {}\nhint: set a smaller `host.queue_depth`, or use smaller requests",
                room.limit
            )));
        }
        self.granted = 2 * wanted;
        Ok(())
    }

    #[inline]
    pub(super) fn insert(&mut self, transaction: Transaction) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = transaction;
                slot
            }
            None => {
                self.slots.push(transaction);
                self.slots.len() as u32 - 1
            }
        }
    }

    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Transaction {
        &self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut Transaction {
        &mut self.slots[slot as usize]
    }
}

/// A list of waiting transactions, in order of arrival.
///
/// What is asked about its first one whenever a die chooses is kept here: the transactions themselves are too
/// many to stay in the processor's first cache when the host's queue is deep.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
    /// Age of the first.
    age: u64,
    /// Logical page of the first.
    lpn: Lpn,
    /// The first asks for nothing but its turn: see [`List::first_is_plain`].
    plain: bool,
}

impl List {
    pub(super) const EMPTY: List = List { head: NONE, tail: NONE, age: 0, lpn: Lpn(0), plain: false };

    /// The age of the first.
    #[inline]
    pub(super) fn first_age(&self) -> Option<u64> {
        (self.head != NONE).then_some(self.age)
    }

    /// The logical page of the first.
    #[inline]
    pub(super) fn first_lpn(&self) -> Option<Lpn> {
        (self.head != NONE).then_some(self.lpn)
    }

    /// Whether the first can be served as it is: a read, or the write of a whole page. `false` says nothing:
    /// the transaction has to be looked at.
    #[inline]
    pub(super) fn first_is_plain(&self) -> bool {
        self.head != NONE && self.plain
    }

    /// Makes `slot` the first.
    #[inline]
    fn lead(&mut self, pool: &Pool, slot: u32) {
        self.head = slot;
        if slot != NONE {
            let first = pool.get(slot);
            (self.age, self.lpn) = (first.age, first.lpn);
            self.plain = !first.partial && !first.waiting && !matches!(first.work, Work::Trim { .. });
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub(super) fn push(&mut self, pool: &mut Pool, slot: u32) {
        pool.get_mut(slot).next = NONE;
        if self.head == NONE {
            self.lead(pool, slot);
        } else {
            pool.get_mut(self.tail).next = slot;
        }
        self.tail = slot;
    }

    /// The one that arrived after `slot`.
    #[inline]
    pub(super) fn after(&self, pool: &Pool, slot: u32) -> Option<u32> {
        let next = pool.get(slot).next;
        (next != NONE).then_some(next)
    }

    /// Takes out `slot`, whose predecessor in the list is `previous` (`None`: it is the first).
    #[inline]
    pub(super) fn remove(&mut self, pool: &mut Pool, previous: Option<u32>, slot: u32) {
        let next = pool.get(slot).next;
        match previous {
            None => self.lead(pool, next),
            Some(previous) => pool.get_mut(previous).next = next,
        }
        if self.tail == slot {
            self.tail = previous.unwrap_or(NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_order_through_removals() {
        let mut pool = Pool::new();
        let mut list = List::EMPTY;
        let slots: Vec<u32> = (0..4)
            .map(|age| pool.insert(Transaction::new(age, Lpn(0), 0, 0, Work::Read, Share { touched: 1, old: 0 })))
            .inspect(|_| ())
            .collect();
        for &slot in &slots {
            list.push(&mut pool, slot);
        }
        let ages = |list: &List, pool: &Pool| {
            let mut seen = Vec::new();
            let mut at = list.first();
            assert_eq!(list.first_age(), at.map(|first| pool.get(first).age));
            while let Some(slot) = at {
                seen.push(pool.get(slot).age);
                at = list.after(pool, slot);
            }
            seen
        };
        list.remove(&mut pool, Some(slots[0]), slots[1]);
        assert_eq!(ages(&list, &pool), [0, 2, 3]);
        list.remove(&mut pool, Some(slots[2]), slots[3]);
        list.remove(&mut pool, None, slots[0]);
        assert_eq!(ages(&list, &pool), [2]);
        list.push(&mut pool, slots[1]);
        assert_eq!(ages(&list, &pool), [2, 1]);
        list.remove(&mut pool, None, slots[2]);
        list.remove(&mut pool, None, slots[1]);
        assert_eq!(list.first(), None);
        list.push(&mut pool, slots[0]);
        assert_eq!(ages(&list, &pool), [0]);
    }
}
