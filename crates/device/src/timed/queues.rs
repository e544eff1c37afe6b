//! Transactions that wait for dies: a pool of transactions that grows to the most ever in flight, lists through it, and the dies
//! that are to look at theirs.

use std::num::NonZeroU32;

use base::{Die, Domain, Geometry, Lpn, Queue, Unit};
use ftl::allocation::Allocation;
use ftl::{DomainWork, Ftl, HostWrite};

use super::plain::keys::{Begun, Urgency};
use crate::errors::RunError;
use crate::pages::Share;

/// A request of the host, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestId(pub(super) u32);

/// A transaction, by its place in the pool, which leaves the first one unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransactionId(NonZeroU32);

impl TransactionId {
    /// The transaction of that number.
    ///
    /// # Panics
    /// If it is 0.
    pub(super) fn of_number(number: u32) -> TransactionId {
        TransactionId(NonZeroU32::new(number).expect("transactions are counted from 1"))
    }

    /// Its number, for those who know nothing of transactions.
    pub(super) fn number(self) -> u32 {
        self.0.get()
    }

    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize
    }
}

/// The work of a transaction when its turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Reads a page for a request.
    Read(RequestId),
    /// Reads the old version of a page for this write, which covers part of it.
    ReadOld(TransactionId),
    /// Writes a page for a request.
    Write(RequestId),
    /// Writes this page of the write buffer.
    WriteBuffered(u32),
    /// Forgets every page of one queue of a static allocation from `lpn` up to `end`; takes no flash.
    Trim {
        /// For whom.
        request: RequestId,
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
    /// Write: the version it carries. Read: the oldest version it may return.
    pub(super) version: u32,
    next: Option<TransactionId>,
    pub(super) work: Work,
    /// Where the host wants the page of a write.
    pub(super) hint: u16,
    /// A write that covers part of its page, whose old version has not been asked for.
    pub(super) partial: bool,
    /// A write that waits for its old version; see [`Queues::note_old_version`].
    pub(super) waiting: bool,
    /// A read whose map entry was used already, on the die of the entry.
    pub(super) translated: bool,
    /// The flash pages of its page that it concerns.
    pub(super) share: Share,
}

impl Transaction {
    /// One that concerns `share` of its page; a write that needs the old version of some of it is partial.
    pub(super) fn new(age: u64, page: impl Into<HostWrite>, version: u32, work: Work, share: Share) -> Transaction {
        let HostWrite { lpn, hint } = page.into();
        let partial = matches!(work, Work::Write(_) | Work::WriteBuffered(_)) && share.old > 0;
        let (waiting, translated) = (false, false);
        Transaction { age, lpn, version, next: None, work, hint, partial, waiting, translated, share }
    }

    /// The page of a write.
    #[inline]
    pub(super) fn page(&self) -> HostWrite {
        HostWrite { lpn: self.lpn, hint: self.hint }
    }
}

/// All transactions; slots are reused.
struct Pool {
    slots: Vec<Transaction>,
    free: Vec<TransactionId>,
    /// As many have memory to spare.
    granted: usize,
}

/// As many transactions as any device may have.
const FREELY: usize = 1 << 20;

impl Pool {
    fn new() -> Pool {
        let unused = Transaction::new(0, Lpn(0), 0, Work::WriteBuffered(0), Share { touched: 0, old: 0 });
        Pool { slots: vec![unused], free: Vec::new(), granted: FREELY }
    }

    /// Bytes of so many transactions.
    fn bytes(transactions: u64) -> u64 {
        transactions * (size_of::<Transaction>() + size_of::<u32>()) as u64
    }

    /// Transactions there are.
    fn count(&self) -> usize {
        self.slots.len() - 1 - self.free.len()
    }

    /// Makes sure of memory for the pages of one more request. How many a trace asks for at once is not known before.
    ///
    /// # Errors
    /// When there is not as much.
    #[inline]
    fn make_room(&mut self, pages: u32) -> Result<(), RunError> {
        let wanted = self.count() + pages as usize;
        if wanted <= self.granted { Ok(()) } else { self.grant(wanted) }
    }

    #[cold]
    fn grant(&mut self, wanted: usize) -> Result<(), RunError> {
        // A vector grows to twice its length, and is there twice meanwhile.
        let what = format_args!("the requests in the device have {wanted} pages, which");
        let help = "set a smaller `host.queue_depth`, or use smaller requests";
        RunError::unless_room(Pool::bytes(3 * wanted as u64), what, help)?;
        self.granted = 2 * wanted;
        Ok(())
    }

    #[inline]
    fn insert(&mut self, transaction: Transaction) -> TransactionId {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot.index()] = transaction;
                slot
            }
            None => {
                self.slots.push(transaction);
                TransactionId::of_number(self.slots.len() as u32 - 1)
            }
        }
    }

    #[inline]
    fn release(&mut self, slot: TransactionId) {
        self.free.push(slot);
    }

    #[inline]
    fn get(&self, slot: TransactionId) -> &Transaction {
        &self.slots[slot.index()]
    }

    #[inline]
    fn get_mut(&mut self, slot: TransactionId) -> &mut Transaction {
        &mut self.slots[slot.index()]
    }
}

/// A list of waiting transactions, in order of arrival.
///
/// The answers about its first one are kept here, for whenever a die chooses: the transactions themselves are too
/// many to stay in the processor's first cache when the host's queue is deep.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: Option<TransactionId>,
    tail: Option<TransactionId>,
    /// Age of the first.
    age: u64,
    /// Logical page of the first.
    lpn: Lpn,
    /// The first asks for nothing but its turn: see [`List::first_is_plain`].
    plain: bool,
    /// All were looked at, and each waits for its old version or behind a write of its page.
    all_wait: bool,
}

impl List {
    const EMPTY: List = List { head: None, tail: None, age: 0, lpn: Lpn(0), plain: false, all_wait: false };

    /// The age of the first.
    #[inline]
    pub(super) fn first_age(&self) -> Option<u64> {
        self.head.map(|_| self.age)
    }

    /// The logical page of the first.
    #[inline]
    pub(super) fn first_lpn(&self) -> Option<Lpn> {
        self.head.map(|_| self.lpn)
    }

    /// True if the first can be served as it is: a read, or the write of a whole page. `false` says nothing:
    /// the transaction has to be looked at.
    #[inline]
    pub(super) fn first_is_plain(&self) -> bool {
        self.head.is_some() && self.plain
    }

    /// True if it is empty, or holds writes that were all looked at and wait for their old versions: until one comes, or the list
    /// changes, another look finds nothing.
    #[inline]
    pub(super) fn all_wait(&self) -> bool {
        self.head.is_none() || self.all_wait
    }

    /// Makes `slot` the first.
    #[inline]
    fn lead(&mut self, pool: &Pool, first: Option<TransactionId>) {
        self.head = first;
        if let Some(first) = first {
            let first = pool.get(first);
            (self.age, self.lpn) = (first.age, first.lpn);
            self.plain = !first.partial && !first.waiting && !matches!(first.work, Work::Trim { .. });
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Option<TransactionId> {
        self.head
    }

    #[inline]
    fn push(&mut self, pool: &mut Pool, slot: TransactionId) {
        pool.get_mut(slot).next = None;
        self.all_wait = false;
        match self.tail {
            Some(tail) => pool.get_mut(tail).next = Some(slot),
            None => self.lead(pool, Some(slot)),
        }
        self.tail = Some(slot);
    }

    /// Takes out `slot`, whose predecessor in the list is `previous` (`None`: it is the first).
    #[inline]
    fn remove(&mut self, pool: &mut Pool, previous: Option<TransactionId>, slot: TransactionId) {
        let next = pool.get(slot).next;
        self.all_wait = false;
        match previous {
            None => self.lead(pool, next),
            Some(previous) => pool.get_mut(previous).next = next,
        }
        if self.tail == Some(slot) {
            self.tail = previous;
        }
    }
}

/// The queues of a die.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct OfDie {
    /// True if it is among those that may have something to do.
    is_woken: bool,
    /// The number of its domains that have collections.
    collections: u8,
    /// The domain whose work presses most, and how much.
    domain: Domain,
    urgency: Urgency,
    reads: List,
}

/// Everything that waits for a die.
pub(super) struct Queues {
    geometry: Geometry,
    /// True if a queue of writes is for several dies, which are offered its writes, and not for one domain.
    are_shared: bool,
    /// True if it is kept how much the work of domains presses.
    are_compared: bool,
    pool: Pool,
    /// By queue of the allocation.
    writes: Vec<List>,
    /// By domain: the beginning of its collection, and how much its work presses. Where queues are shared, that of collections
    /// only.
    collections: Vec<Option<Begun>>,
    urgencies: Vec<Urgency>,
    dies: Vec<OfDie>,
    /// Domains whose next step is an erase that waits for programs of other dies.
    held: Vec<Domain>,
    /// Dies that may have something to do.
    woken: Vec<Die>,
    /// The number of woken dies that events woke; those behind were woken by requests that came then.
    woken_by_events: usize,
    /// Writes of shared queues are to be offered to idle dies: a die, a queue or room has changed.
    offers: bool,
    ages: u64,
}

impl Queues {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<OfDie>() + size_of::<u32>();

    /// Bytes for each queue of writes.
    pub(super) const BYTES_OF_QUEUE: usize = size_of::<List>();

    /// Bytes for each domain.
    pub(super) const BYTES_OF_DOMAIN: usize = size_of::<Urgency>() + size_of::<Option<Begun>>();

    /// Bytes of so many transactions.
    pub(super) fn bytes(transactions: u64) -> u64 {
        Pool::bytes(transactions)
    }

    /// `are_compared`: domains have nothing but writes and collections to do.
    pub(super) fn new(geometry: Geometry, ftl: &Ftl, allocation: &Allocation, are_compared: bool) -> Queues {
        let none = |die: Die| OfDie {
            is_woken: false,
            collections: 0,
            domain: Domain::new(die.number() * geometry.domains_per_die()),
            urgency: Urgency::NOTHING,
            reads: List::EMPTY,
        };
        let mut queues = Queues {
            geometry,
            are_shared: allocation.dynamic().is_some(),
            are_compared,
            pool: Pool::new(),
            writes: vec![List::EMPTY; allocation.queues() as usize],
            collections: vec![None; geometry.domains() as usize],
            urgencies: vec![Urgency::NOTHING; geometry.domains() as usize],
            dies: geometry.all_dies().map(none).collect(),
            held: Vec::new(),
            woken: Vec::with_capacity(geometry.dies() as usize),
            woken_by_events: 0,
            offers: true,
            ages: 0,
        };
        for domain in geometry.all_domains().filter(|&domain| ftl.work(domain).is_some()) {
            let is_awaited = ftl.work(domain).is_none_or(DomainWork::is_foreground);
            queues.note_collection(domain, Some(Begun { number: 0, is_awaited }));
        }
        queues
    }

    /// Makes sure of memory for the pages of one more request.
    ///
    /// # Errors
    /// When there is not as much.
    #[inline]
    pub(super) fn make_room(&mut self, pages: u32) -> Result<(), RunError> {
        self.pool.make_room(pages)
    }

    /// Pages in the device, with the old versions that are read.
    pub(super) fn count_of_pages(&self) -> usize {
        self.pool.count()
    }

    /// The age of what arrives now.
    #[inline]
    pub(super) fn next_age(&mut self) -> u64 {
        self.ages += 1;
        self.ages
    }

    #[inline]
    pub(super) fn insert(&mut self, transaction: Transaction) -> TransactionId {
        self.pool.insert(transaction)
    }

    #[inline]
    pub(super) fn release(&mut self, transaction: TransactionId) {
        self.pool.release(transaction);
    }

    #[inline]
    pub(super) fn get(&self, transaction: TransactionId) -> &Transaction {
        self.pool.get(transaction)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, transaction: TransactionId) -> &mut Transaction {
        self.pool.get_mut(transaction)
    }

    /// The one that arrived after it in its list.
    #[inline]
    pub(super) fn after(&self, transaction: TransactionId) -> Option<TransactionId> {
        self.pool.get(transaction).next
    }
}

// Lists.
impl Queues {
    /// True if the queues of writes are shared by dies; otherwise each domain has its own.
    pub(super) fn are_shared(&self) -> bool {
        self.are_shared
    }

    /// The number of queues of writes.
    #[inline]
    pub(super) fn count(&self) -> u32 {
        self.writes.len() as u32
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = Queue> + use<> {
        (0..self.count()).map(Queue::new)
    }

    #[inline]
    pub(super) fn writes(&self, queue: Queue) -> &List {
        &self.writes[queue.index()]
    }

    #[inline]
    pub(super) fn reads(&self, die: Die) -> &List {
        &self.dies[die.index()].reads
    }

    #[inline]
    pub(super) fn push_write(&mut self, queue: Queue, write: TransactionId) {
        let waiting = &mut self.writes[queue.index()];
        let was_empty = waiting.head.is_none();
        waiting.push(&mut self.pool, write);
        self.offers = true;
        if was_empty {
            self.note_first_write(queue);
        }
    }

    /// Has a die do a read.
    #[inline]
    pub(super) fn push_read(&mut self, die: Die, read: TransactionId) {
        self.dies[die.index()].reads.push(&mut self.pool, read);
        self.wake(die);
    }

    /// Marks the reads of a page, which its map entry has come for: the entry may make way for another before their turn.
    pub(super) fn translate_reads(&mut self, die: Die, lpn: Lpn) {
        let mut at = self.dies[die.index()].reads.first();
        while let Some(read) = at {
            let transaction = self.pool.get_mut(read);
            transaction.translated |= transaction.lpn == lpn;
            at = transaction.next;
        }
    }

    #[inline]
    pub(super) fn remove_write(&mut self, queue: Queue, previous: Option<TransactionId>, write: TransactionId) {
        self.writes[queue.index()].remove(&mut self.pool, previous, write);
        self.offers = true;
        if previous.is_none() {
            self.note_first_write(queue);
        }
    }

    /// All writes of a queue were looked at, and each waits for its old version or behind a write of its page.
    #[inline]
    pub(super) fn note_all_wait(&mut self, queue: Queue) {
        self.writes[queue.index()].all_wait = true;
    }

    /// The old version of the page of a write has come.
    #[inline]
    pub(super) fn note_old_version(&mut self, queue: Queue, write: TransactionId) {
        self.pool.get_mut(write).waiting = false;
        self.offers = true;
        self.writes[queue.index()].all_wait = false;
    }

    #[inline]
    pub(super) fn remove_read(&mut self, die: Die, previous: Option<TransactionId>, read: TransactionId) {
        self.dies[die.index()].reads.remove(&mut self.pool, previous, read);
    }
}

// What presses.
impl Queues {
    /// The domain of a die whose work presses most, and how much; for where they have nothing but writes and collections to
    /// do.
    #[inline]
    pub(super) fn least(&self, die: Die) -> (Urgency, Domain) {
        let OfDie { urgency, domain, .. } = self.dies[die.index()];
        (urgency, domain)
    }

    /// A domain has a collection that began so, or none.
    #[inline]
    pub(super) fn note_collection(&mut self, domain: Domain, begun: Option<Begun>) {
        let before = self.collections[domain.index()];
        if self.are_compared && before != begun {
            self.collections[domain.index()] = begun;
            let of_die = &mut self.dies[self.geometry.die_of_domain(domain).index()];
            of_die.collections = of_die.collections + u8::from(begun.is_some()) - u8::from(before.is_some());
            self.set_urgency(domain);
        }
    }

    /// A queue has another first write.
    #[inline]
    fn note_first_write(&mut self, queue: Queue) {
        if self.are_compared && !self.are_shared {
            self.set_urgency(queue.domain());
        }
    }

    fn set_urgency(&mut self, domain: Domain) {
        let first = if self.are_shared { &List::EMPTY } else { &self.writes[domain.index()] };
        let begun = self.collections[domain.index()];
        let urgency = if self.is_held(domain) {
            Urgency::NOTHING
        } else {
            Urgency::new(begun, first.first_age(), first.first_is_plain())
        };
        self.urgencies[domain.index()] = urgency;
        let die = self.geometry.die_of_domain(domain);
        let of_die = &mut self.dies[die.index()];
        let from = die.index() * self.geometry.domains_per_die() as usize;
        let urgencies = &self.urgencies[from..from + self.geometry.domains_per_die() as usize];
        (of_die.urgency, of_die.domain) = (Urgency::NOTHING, domain);
        for (&urgency, domain) in urgencies.iter().zip(from as u32..) {
            if urgency < of_die.urgency {
                (of_die.urgency, of_die.domain) = (urgency, Domain::new(domain));
            }
        }
    }

    /// The next step of a domain is an erase that waits for programs of other dies.
    pub(super) fn hold_erase(&mut self, domain: Domain) {
        self.held.push(domain);
        if self.are_compared {
            self.set_urgency(domain);
        }
    }

    /// True if a domain has nothing to do but that.
    #[inline]
    pub(super) fn is_held(&self, domain: Domain) -> bool {
        !self.held.is_empty() && self.held.contains(&domain)
    }

    /// A program is done that the erase of a unit may have waited for.
    #[inline]
    pub(super) fn resume_erase(&mut self, unit: Unit) {
        if self.held.is_empty() {
            return;
        }
        let domain = self.geometry.domain_of_unit(unit);
        if let Some(at) = self.held.iter().position(|&held| held == domain) {
            self.held.swap_remove(at);
            if self.are_compared {
                self.set_urgency(domain);
            }
            self.wake(self.geometry.die_of_domain(domain));
        }
    }

    /// True if it is kept how much the work of domains presses.
    #[inline]
    pub(super) fn are_compared(&self) -> bool {
        self.are_compared
    }

    /// True if a domain has a collection; for where it is kept how much its work presses.
    #[inline]
    pub(super) fn collects(&self, domain: Domain) -> bool {
        self.collections[domain.index()].is_some()
    }

    /// True if a domain of a die may take a page of the host: `false` is said only where it is kept how much their work presses,
    /// of a die whose domains all have collections.
    #[inline]
    pub(super) fn takes_writes(&self, die: Die) -> bool {
        !self.are_compared || u32::from(self.dies[die.index()].collections) < self.geometry.domains_per_die()
    }

    /// True if several domains of a die have collections; for where it is kept how much their work presses.
    #[inline]
    pub(super) fn collects_in_several(&self, die: Die) -> bool {
        self.dies[die.index()].collections > 1
    }
}

// Wake-ups.
impl Queues {
    /// A die may have something to do.
    #[inline]
    pub(super) fn wake(&mut self, die: Die) {
        let is_woken = &mut self.dies[die.index()].is_woken;
        if !*is_woken {
            *is_woken = true;
            self.woken.push(die);
        }
    }

    /// True if a die is among those that may have something to do.
    #[inline]
    pub(super) fn is_woken(&self, die: Die) -> bool {
        self.dies[die.index()].is_woken
    }

    /// A queue of writes has something new.
    #[inline]
    pub(super) fn wake_queue(&mut self, queue: Queue) {
        if self.are_shared {
            self.offer();
        } else {
            self.wake(self.geometry.die_of_domain(queue.domain()));
        }
    }

    /// A die, a queue of writes or the room for them has changed: where dies share queues, idle ones are offered writes.
    #[inline]
    pub(super) fn offer(&mut self) {
        self.offers = true;
    }

    /// True if something has changed for them since this was asked.
    #[inline]
    pub(super) fn take_offers(&mut self) -> bool {
        std::mem::take(&mut self.offers)
    }

    /// True if something has, and nobody has asked since.
    #[inline]
    pub(super) fn has_offers(&self) -> bool {
        self.offers
    }

    /// Dies are woken by requests from now on.
    pub(super) fn end_events(&mut self) {
        self.woken_by_events = self.woken.len();
    }

    /// Wakes a die as the end of its program would have: after dies that transfers woke, which have read, and otherwise in the
    /// order of dies. They choose in the opposite order.
    pub(super) fn wake_as_programmed(&mut self, die: Die, has_read: impl Fn(Die) -> bool) {
        self.wake_before(die, |other| !has_read(other) && other > die);
    }

    /// Wakes a die as the end of its transfer would have: in the order of channels, before dies that arrays woke.
    pub(super) fn wake_as_sent(&mut self, die: Die, has_read: impl Fn(Die) -> bool, channel: impl Fn(Die) -> u32) {
        self.wake_before(die, |other| !has_read(other) || channel(other) > channel(die));
    }

    /// Puts a die before the first of those that events woke for which that holds.
    fn wake_before(&mut self, die: Die, is_later: impl Fn(Die) -> bool) {
        if self.dies[die.index()].is_woken {
            // By a request, behind all these.
            self.woken.retain(|&other| other != die);
        }
        let events = &self.woken[..self.woken_by_events.min(self.woken.len())];
        let at = events.iter().position(|&other| is_later(other)).unwrap_or(events.len());
        self.woken.insert(at, die);
        self.woken_by_events = self.woken_by_events.saturating_add(1);
        self.dies[die.index()].is_woken = true;
    }

    /// Dies are woken by events from now on.
    #[inline(always)]
    pub(super) fn begin_events(&mut self) {
        self.woken_by_events = usize::MAX;
    }

    pub(super) fn wake_all(&mut self) {
        for die in self.geometry.all_dies() {
            self.wake(die);
        }
    }

    /// A die that was woken, which then is not any more.
    #[inline]
    pub(super) fn take_woken(&mut self) -> Option<Die> {
        let die = self.woken.pop()?;
        self.dies[die.index()].is_woken = false;
        Some(die)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another look finds nothing only as long as the list stays as it was.
    #[test]
    fn whoever_comes_or_leaves_ends_that_all_wait() {
        let share = Share { touched: 1, old: 1 };
        let mut pool = Pool::new();
        let mut list = List::EMPTY;
        assert!(list.all_wait(), "nothing can be programmed from an empty list");
        let slots = [0, 1].map(|age| pool.insert(Transaction::new(age, Lpn(0), 0, Work::WriteBuffered(0), share)));
        list.push(&mut pool, slots[0]);
        assert!(!list.all_wait());
        list.all_wait = true;
        list.push(&mut pool, slots[1]);
        assert!(!list.all_wait());
        list.all_wait = true;
        list.remove(&mut pool, None, slots[0]);
        assert!(!list.all_wait(), "the second may have waited behind the first");
    }

    #[test]
    fn lists_keep_order_through_removals() {
        let mut pool = Pool::new();
        let mut list = List::EMPTY;
        let slots: Vec<TransactionId> = (0..4)
            .map(|age| {
                pool.insert(Transaction::new(age, Lpn(0), 0, Work::Read(RequestId(0)), Share { touched: 1, old: 0 }))
            })
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
                at = pool.get(slot).next;
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
