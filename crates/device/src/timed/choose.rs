//! The next work of a free die: a choice over plain views, which changes nothing.

use super::queues::TransactionId;
use crate::scheduler::{NOT_URGENT, Scheduler};
use base::{Domain, Queue};

/// A write in a queue that can be programmed, behind its predecessor in the queue.
pub(super) type Found = (Option<TransactionId>, TransactionId);

/// The work that waits for the end of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// No work waits, or none that presses.
    Nothing,
    /// A write of this age.
    Write(u64),
    /// Pages in the write buffer that would leave now.
    Buffered,
}

/// A piece of work that a die could do, besides reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// The first write of a domain's own queue can be programmed.
    Writes { domain: Domain, age: u64 },
    /// The first write of a domain's own queue can be programmed when the domain has done what comes before it. `begun`
    /// is the number of the domain's last collection.
    Prepares { domain: Domain, age: u64, begun: u64 },
    /// A domain is collected. `is_correcting`: pages of its own are on their way or being corrected.
    Collects { domain: Domain, begun: u64, waiting: Waiting, is_correcting: bool },
    /// A domain takes pages from a shared queue, and this write can be programmed.
    Shares { write: SharedWrite, age: u64 },
}

/// A write of a shared queue, and the domain of a die that takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedWrite {
    pub(super) queue: Queue,
    pub(super) domain: Domain,
    pub(super) found: Found,
}

/// The work that a die does, besides reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Candidate {
    /// Program the first write of a domain's own queue.
    Program(Domain),
    /// Program from a shared queue, beginning with this write.
    ProgramShared(SharedWrite),
    /// The next step of a domain's collection.
    Collect(Domain),
}

/// The work that a die does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Its first read.
    Read,
    /// Work besides reads.
    Best(Candidate),
    /// No work.
    Nothing,
}

/// The most urgent of the views so far.
///
/// A foreground collection is as old as the oldest write that its plane could take: the first in the
/// plane's queue or, under a dynamic allocation, in the shared one. So it goes before the host's writes to
/// the die, as urgent collection does in the papers; were it to wait until the other planes are full too,
/// all would begin fresh blocks together, and the planes of a die would never drift apart. Equally old
/// collections, and those that nobody waits for, are served in the order in which they began: any fixed
/// preference would let one plane of the die take all writes of a dynamic allocation, fill up with valid
/// pages and collect for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DieChoice {
    /// Collections wait until the pages that the die's other collections have read are correct.
    pub(super) awaits_correction: bool,
    /// Age, number of the collection, what.
    pub(super) best: Option<(u64, u64, Candidate)>,
}

impl DieChoice {
    /// The choice before any view was seen. Pages that were read together may be programmed together: where collections
    /// share commands, one waits, for the time of a correction at most, until the pages of the die's others are correct
    /// too.
    #[inline]
    pub(super) fn new(scheduler: Scheduler, is_correcting: bool) -> DieChoice {
        DieChoice { awaits_correction: is_correcting && scheduler.merges_collections(), best: None }
    }

    /// The choice among one view more.
    #[inline(always)]
    #[must_use]
    pub(super) fn with(self, view: View) -> DieChoice {
        let (age, begun, candidate) = match view {
            View::Collects { is_correcting, .. } if is_correcting || self.awaits_correction => return self,
            View::Collects { domain, begun, waiting, .. } => (age_of(waiting), begun, Candidate::Collect(domain)),
            View::Writes { domain, age } => (age, 0, Candidate::Program(domain)),
            View::Prepares { domain, age, begun } => (age, begun, Candidate::Collect(domain)),
            // Behind collections that the same write waits for.
            View::Shares { write, age } => (age, u64::MAX, Candidate::ProgramShared(write)),
        };
        match self.best {
            Some((oldest, first, _)) if (age, begun) >= (oldest, first) => self,
            _ => DieChoice { best: Some((age, begun, candidate)), ..self },
        }
    }

    /// The work that was chosen, besides reads.
    #[inline]
    pub(super) fn best(self) -> Option<Candidate> {
        self.best.map(|(_, _, candidate)| candidate)
    }

    /// The age of what was chosen, besides reads.
    #[inline]
    pub(super) fn age(self) -> Option<u64> {
        self.best.map(|(age, ..)| age)
    }

    /// The work that the die does, if its first read has that age.
    #[inline]
    pub(super) fn next(self, scheduler: Scheduler, read: Option<u64>) -> Next {
        match (read, self.best) {
            (Some(_), None) => Next::Read,
            (Some(read), Some((age, ..))) if scheduler.read_first(read, age) => Next::Read,
            (_, Some((.., candidate))) => Next::Best(candidate),
            (None, None) => Next::Nothing,
        }
    }
}

/// Pages in the write buffer that would leave now are older than any read that waits.
#[inline]
fn age_of(waiting: Waiting) -> u64 {
    match waiting {
        Waiting::Nothing => NOT_URGENT,
        Waiting::Write(age) => age,
        Waiting::Buffered => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timed::plain::keys::{Begun, Urgency};

    fn writes(domain: u32, age: u64) -> View {
        View::Writes { domain: Domain::new(domain), age }
    }

    fn collects(domain: u32, begun: u64, waiting: Waiting) -> View {
        View::Collects { domain: Domain::new(domain), begun, waiting, is_correcting: false }
    }

    fn correcting(domain: u32, begun: u64, waiting: Waiting) -> View {
        View::Collects { domain: Domain::new(domain), begun, waiting, is_correcting: true }
    }

    fn shares(domain: u32, age: u64) -> View {
        let found = (None, TransactionId::of_number(1));
        View::Shares { write: SharedWrite { queue: Queue::new(0), domain: Domain::new(domain), found }, age }
    }

    fn program(domain: u32) -> Candidate {
        Candidate::Program(Domain::new(domain))
    }

    fn collect(domain: u32) -> Candidate {
        Candidate::Collect(Domain::new(domain))
    }

    fn choice(scheduler: Scheduler, is_correcting: bool, views: &[View]) -> DieChoice {
        views.iter().fold(DieChoice::new(scheduler, is_correcting), |choice, &view| choice.with(view))
    }

    #[track_caller]
    fn check(views: &[View], expected: Option<Candidate>) {
        assert_eq!(choice(Scheduler::Fifo, false, views).best(), expected);
    }

    #[test]
    fn the_oldest_goes_first() {
        check(&[], None);
        check(&[writes(0, 7), writes(1, 5), writes(2, 6)], Some(program(1)));
        check(&[writes(0, 7), collects(1, 1, Waiting::Write(5))], Some(collect(1)));
        check(&[writes(0, 7), collects(1, 1, Waiting::Write(9))], Some(program(0)));
        check(&[writes(0, 7), collects(1, 1, Waiting::Nothing)], Some(program(0)));
        check(&[writes(0, 7), collects(1, 1, Waiting::Buffered)], Some(collect(1)));
        check(&[writes(0, 7), View::Prepares { domain: Domain::new(1), age: 6, begun: 3 }], Some(collect(1)));
    }

    #[test]
    fn equally_old_collections_go_in_the_order_of_beginning() {
        check(&[collects(0, 4, Waiting::Nothing), collects(1, 3, Waiting::Nothing)], Some(collect(1)));
        check(&[collects(0, 4, Waiting::Write(9)), collects(1, 3, Waiting::Write(9))], Some(collect(1)));
        check(&[collects(0, 4, Waiting::Write(9)), shares(1, 9)], Some(collect(0)));
        let (domain, found) = (Domain::new(1), (None, TransactionId::of_number(1)));
        let shared = Candidate::ProgramShared(SharedWrite { queue: Queue::new(0), domain, found });
        check(&[collects(0, 4, Waiting::Nothing), shares(1, 9)], Some(shared));
    }

    #[test]
    fn a_collection_waits_for_corrections() {
        let views = [correcting(0, 1, Waiting::Write(1)), collects(1, 2, Waiting::Write(1))];
        assert_eq!(choice(Scheduler::Fifo, true, &views).best(), Some(collect(1)));
        assert_eq!(choice(Scheduler::Paq, true, &views).best(), None, "for those of others, where they share commands");
        assert_eq!(choice(Scheduler::Paq, false, &views[1..]).best(), Some(collect(1)));
        let views = [views[0], views[1], writes(2, 8)];
        assert_eq!(choice(Scheduler::Paq, true, &views).best(), Some(program(2)));
    }

    /// The least of two, and whose it is.
    fn least(keys: [Urgency; 2]) -> (Urgency, Domain) {
        let at = usize::from(keys[1] < keys[0]);
        (keys[at], Domain::new(at as u32))
    }

    fn awaited(number: u64) -> Begun {
        Begun { number, is_awaited: true }
    }

    /// A collection that began along with one next door is not urgent for the writes that its domain could take, and goes before none
    /// that another die takes.
    #[test]
    fn writes_do_not_press_a_collection_along() {
        let passed = Some(Begun { number: 3, is_awaited: false });
        let views = [collects(0, 3, Waiting::Nothing)];
        let (queue, write) = (Queue::new(0), Some((5, TransactionId::of_number(1))));
        let own = DieChoice::of_least((Urgency::new(passed, Some(5), true), Domain::new(0)));
        let shared = DieChoice::of_sharing((Urgency::new(passed, None, true), Domain::new(0)), (queue, write), || None);
        for scheduler in [Scheduler::Fifo, Scheduler::Paq] {
            for read in [None, Some(4), Some(9)] {
                let expected = choice(scheduler, false, &views).next(scheduler, read);
                for chosen in [own, shared] {
                    assert_eq!(chosen.expect("plain").next(scheduler, read), expected, "{scheduler:?} {read:?}");
                }
            }
        }
    }

    /// Against the views, for two domains in every state that keys tell apart.
    #[test]
    fn keys_choose_as_views_do() {
        let states = [None, Some(3), Some(4)].map(|begun| [None, Some(5), Some(6)].map(|age| (begun, age))).concat();
        let waiting = |age: Option<u64>| age.map_or(Waiting::Nothing, Waiting::Write);
        for (first, second) in states.iter().flat_map(|&first| states.iter().map(move |&second| (first, second))) {
            if first.1.is_some() && first.1 == second.1 {
                continue; // Ages are numbers of arrival.
            }
            let keys = [first, second].map(|(begun, age)| Urgency::new(begun.map(awaited), age, true));
            let both = [first, second];
            let own = both.iter().zip(0..).filter_map(|(&(begun, age), domain)| match begun {
                Some(begun) => Some(collects(domain, begun, waiting(age))),
                None => age.map(|age| writes(domain, age)),
            });
            let views: Vec<View> = own.collect();
            let chosen = DieChoice::of_least(least(keys)).expect("all writes are plain");
            assert_eq!(chosen.best(), choice(Scheduler::Fifo, false, &views).best(), "{first:?} {second:?}");
            for (scheduler, read) in [(Scheduler::Fifo, 4), (Scheduler::Fifo, 9), (Scheduler::Paq, 9)] {
                let expected = choice(scheduler, false, &views).next(scheduler, Some(read));
                assert_eq!(chosen.next(scheduler, Some(read)), expected, "{first:?} {second:?} {read}");
            }
            // With the first one's write in a shared queue.
            let begun = [first.0, second.0];
            let age = first.1;
            let own = begun.iter().zip(0..).filter_map(|(&begun, domain)| Some(collects(domain, begun?, waiting(age))));
            let free = begun.iter().position(Option::is_none).map(|domain| domain as u32);
            let shared = age.and_then(|age| Some(shares(free?, age)));
            let views: Vec<View> = own.chain(shared).collect();
            let write = (Queue::new(0), age.map(|age| (age, TransactionId::of_number(1))));
            let keys = begun.map(|begun| Urgency::new(begun.map(awaited), None, true));
            let chosen = DieChoice::of_sharing(least(keys), write, || free.map(Domain::new)).expect("plain");
            for (scheduler, read) in [(Scheduler::Fifo, None), (Scheduler::Fifo, Some(4)), (Scheduler::Fifo, Some(9))] {
                let expected = choice(scheduler, false, &views).next(scheduler, read);
                assert_eq!(chosen.next(scheduler, read), expected, "{first:?} {second:?} {read:?}");
            }
        }
    }

    #[test]
    fn a_write_that_is_not_plain_is_looked_at() {
        let keys = [Urgency::new(Some(awaited(1)), Some(2), false), Urgency::new(None, Some(9), false)];
        assert!(DieChoice::of_least(least(keys)).is_none());
        assert!(DieChoice::of_least((keys[0], Domain::new(0))).is_some(), "it is not its turn");
    }

    #[test]
    fn reads_go_before_other_work_as_the_scheduler_says() {
        let work = [writes(0, 5)];
        for (scheduler, views, read, expected) in [
            (Scheduler::Fifo, &work[..], Some(4), Next::Read),
            (Scheduler::Fifo, &work[..], Some(6), Next::Best(program(0))),
            (Scheduler::Paq, &work[..], Some(6), Next::Read),
            (Scheduler::Paq, &work[..], None, Next::Best(program(0))),
            (Scheduler::Fifo, &[][..], Some(6), Next::Read),
            (Scheduler::Fifo, &[][..], None, Next::Nothing),
            (Scheduler::Fifo, &[collects(0, 1, Waiting::Nothing)][..], Some(6), Next::Read),
        ] {
            assert_eq!(choice(scheduler, false, views).next(scheduler, read), expected);
        }
    }
}
