//! A key for each domain, where nothing decides what it does but its collection and the first write of its queue: a die compares where it
//! would ask. That is so on plain devices, and wherever domains have nothing but writes and collections to do.

use base::{Die, Domain, Queue};

use crate::device::Device;
use crate::scheduler::NOT_URGENT;
use crate::timed::choice::{Candidate, Choice};
use crate::timed::plan::Plan;
use crate::timed::queues::{List, OfDie, Queues, TransactionId};

/// The beginning of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::timed) struct Begun {
    /// Which one it is of the device's.
    pub(in crate::timed) number: u64,
    /// Writes wait for its end, if there are any.
    pub(in crate::timed) is_awaited: bool,
}

/// How much a domain's own work presses, where nothing decides about it but its collection and the first write of its queue:
/// the least goes first. It is kept up to date, so that a die compares where it would ask.
///
/// One word: the age of the first write and, in the lowest bit, whether it waits for the end of a collection; behind all ages
/// collections that nothing waits for, in the order of beginning, and then those that writes do not wait for, which a die has where
/// its planes are one domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::timed) struct Urgency(u64);

impl Urgency {
    /// There is nothing to do.
    pub(in crate::timed) const NOTHING: Urgency = Urgency(u64::MAX);
    /// The first write has to be looked at. Before all others, so that it is not passed over.
    const UNKNOWN: Urgency = Urgency(0);
    /// Behind all ages.
    const NOT_AWAITED: u64 = 1 << 63;
    /// Of a collection that writes do not wait for.
    const PASSED: u64 = 1 << 62;

    /// Of a domain with a collection that began so, or none, and a first write of that age, which asks for nothing but its
    /// turn if it `is_plain`.
    #[inline]
    pub(in crate::timed) fn new(begun: Option<Begun>, age: Option<u64>, is_plain: bool) -> Urgency {
        match (begun, age) {
            (Some(Begun { is_awaited: true, .. }), Some(age)) => Urgency(age << 1 | 1),
            (Some(Begun { number, is_awaited: true }), None) => Urgency(Urgency::NOT_AWAITED | number << 1 | 1),
            (Some(Begun { number, .. }), _) => Urgency(Urgency::NOT_AWAITED | Urgency::PASSED | number << 1 | 1),
            (None, None) => Urgency::NOTHING,
            (None, Some(age)) if is_plain => Urgency(age << 1),
            (None, Some(_)) => Urgency::UNKNOWN,
        }
    }

    /// The candidate of a die, besides reads, that has this for the least of its domains, and it is `domain`'s. `None`: that has to
    /// be looked at.
    #[inline(always)]
    pub(in crate::timed) fn candidate(self, domain: Domain) -> Option<Option<Candidate>> {
        match self {
            Urgency::NOTHING => Some(None),
            Urgency::UNKNOWN => None,
            Urgency(key) if key & 1 == 1 => Some(Some(Candidate::Collect(domain))),
            Urgency(_) => Some(Some(Candidate::Program(domain))),
        }
    }

    /// True for a collection which writes do not wait for.
    #[inline]
    fn is_passed(self) -> bool {
        self != Urgency::NOTHING && self.0 >= Urgency::NOT_AWAITED | Urgency::PASSED
    }

    /// The age of what goes first.
    #[inline]
    fn age(self) -> u64 {
        if self.0 >= Urgency::NOT_AWAITED { NOT_URGENT } else { self.0 >> 1 }
    }
}

impl Choice {
    /// The choice that the least urgency of a die's domains makes, which have queues of their own. `None`: they have to be looked at.
    #[inline(always)]
    pub(in crate::timed) fn of_least((urgency, domain): (Urgency, Domain)) -> Option<Choice> {
        let best = urgency.candidate(domain)?.map(|candidate| (urgency.age(), 0, candidate));
        Some(Choice { awaits_correction: false, best })
    }

    /// The same for domains that share a queue, whose first write has that age and goes to `domain`, if one takes it.
    #[inline(always)]
    pub(in crate::timed) fn of_sharing(
        least: (Urgency, Domain),
        (queue, write): (Queue, Option<(u64, TransactionId)>),
        domain: impl FnOnce() -> Option<Domain>,
    ) -> Option<Choice> {
        let Choice { best, .. } = Choice::of_least(least)?;
        let best = match (best, write) {
            (Some((_, begun, collection)), Some((age, _))) if !least.0.is_passed() => Some((age, begun, collection)),
            (Some((_, begun, collection)), _) => Some((NOT_URGENT, begun, collection)),
            (None, Some((age, write))) => domain().map(|domain| {
                let found = (None, write);
                (age, u64::MAX, Candidate::ProgramShared { queue, domain, found })
            }),
            (None, None) => None,
        };
        Some(Choice { awaits_correction: false, best })
    }
}

/// The candidate of a die for which no read waits, where its key says it: `Some(None)` is that it does nothing.
#[inline(always)]
pub(in crate::timed) fn next(
    plan: &impl Plan,
    device: &Device,
    queues: &Queues,
    die: Die,
) -> Option<Option<Candidate>> {
    if !are_kept(plan, queues) || queues.reads(die).first().is_some() {
        return None;
    }
    let (urgency, domain) = queues.least(die);
    let candidate = urgency.candidate(domain)?;
    let is_certain = match candidate {
        Some(Candidate::Collect(_)) => !plan.is_dynamic() || plan.is_whole(),
        Some(Candidate::Program(_)) => true,
        None => !plan.is_dynamic() || all_wait(device, queues, die),
        Some(Candidate::ProgramShared { .. }) => false,
    };
    is_certain.then_some(candidate)
}

/// The most urgent program or collection step of a die, where that is known without a look at its domains.
#[inline(always)]
pub(in crate::timed) fn least(plan: &impl Plan, device: &Device, queues: &Queues, die: Die) -> Option<Choice> {
    if !are_kept(plan, queues) {
        return None;
    }
    let least = queues.least(die);
    if !plan.is_dynamic() {
        return Choice::of_least(least);
    }
    let queue = device.ftl.allocation().dynamic()?.queue_of_die(die);
    let waiting = queues.writes(queue);
    if waiting.first().is_some() && !waiting.first_is_plain() {
        return None;
    }
    let write = waiting.first_age().zip(waiting.first());
    Choice::of_sharing(least, (queue, write), || device.has.dynamic?.peek_domain_of(&device.ftl, die))
}

/// Keys are kept.
#[inline(always)]
pub(in crate::timed) fn are_kept(plan: &impl Plan, queues: &Queues) -> bool {
    plan.is_plain() || queues.are_compared()
}

/// Nothing that waits in a die's shared queue can be programmed, as far as that is known.
#[inline]
fn all_wait(device: &Device, queues: &Queues, die: Die) -> bool {
    let dynamic = device.ftl.allocation().dynamic();
    dynamic.is_some_and(|dynamic| queues.writes(dynamic.queue_of_die(die)).all_wait())
}

impl Queues {
    /// The domain of a die whose work presses most, and how much; for where they have nothing but writes and collections to
    /// do.
    #[inline]
    pub(in crate::timed) fn least(&self, die: Die) -> (Urgency, Domain) {
        let OfDie { urgency, domain, .. } = self.dies[die.index()];
        (urgency, domain)
    }

    /// A domain has a collection that began so, or none.
    #[inline]
    pub(in crate::timed) fn note_collection(&mut self, domain: Domain, begun: Option<Begun>) {
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
    pub(in crate::timed) fn note_first_write(&mut self, queue: Queue) {
        if self.are_compared && !self.are_shared {
            self.set_urgency(queue.domain());
        }
    }

    fn set_urgency(&mut self, domain: Domain) {
        let first = if self.are_shared { &List::EMPTY } else { &self.writes[domain.index()] };
        let begun = self.collections[domain.index()];
        let urgency = Urgency::new(begun, first.first_age(), first.first_is_plain());
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

    /// It is kept how much the work of domains presses.
    #[inline]
    pub(in crate::timed) fn are_compared(&self) -> bool {
        self.are_compared
    }

    /// True if a domain has a collection; for where it is kept how much its work presses.
    #[inline]
    pub(in crate::timed) fn collects(&self, domain: Domain) -> bool {
        self.collections[domain.index()].is_some()
    }

    /// True if a domain of a die may take a page of the host: `false` is said only where it is kept how much their work presses,
    /// of a die whose domains all have collections.
    #[inline]
    pub(in crate::timed) fn takes_writes(&self, die: Die) -> bool {
        !self.are_compared || u32::from(self.dies[die.index()].collections) < self.geometry.domains_per_die()
    }

    /// True if several domains of a die have collections; for where it is kept how much their work presses.
    #[inline]
    pub(in crate::timed) fn collects_in_several(&self, die: Die) -> bool {
        self.dies[die.index()].collections > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::Scheduler;
    use crate::timed::choice::{View, Waiting};

    fn writes(domain: u32, age: u64) -> View {
        View::Writes { domain: Domain::new(domain), age }
    }

    fn collects(domain: u32, begun: u64, waiting: Waiting) -> View {
        View::Collects { domain: Domain::new(domain), begun, waiting, is_correcting: false }
    }

    fn shares(domain: u32, age: u64) -> View {
        View::Shares {
            queue: Queue::new(0),
            domain: Domain::new(domain),
            age,
            found: (None, TransactionId::of_number(1)),
        }
    }

    fn choice(scheduler: Scheduler, is_correcting: bool, views: &[View]) -> Choice {
        views.iter().fold(Choice::new(scheduler, is_correcting), |choice, &view| choice.with(view))
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
        let own = Choice::of_least((Urgency::new(passed, Some(5), true), Domain::new(0)));
        let shared = Choice::of_sharing((Urgency::new(passed, None, true), Domain::new(0)), (queue, write), || None);
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
            let chosen = Choice::of_least(least(keys)).expect("all writes are plain");
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
            let chosen = Choice::of_sharing(least(keys), write, || free.map(Domain::new)).expect("plain");
            for (scheduler, read) in [(Scheduler::Fifo, None), (Scheduler::Fifo, Some(4)), (Scheduler::Fifo, Some(9))] {
                let expected = choice(scheduler, false, &views).next(scheduler, read);
                assert_eq!(chosen.next(scheduler, read), expected, "{first:?} {second:?} {read:?}");
            }
        }
    }

    #[test]
    fn a_write_that_is_not_plain_is_looked_at() {
        let keys = [Urgency::new(Some(awaited(1)), Some(2), false), Urgency::new(None, Some(9), false)];
        assert!(Choice::of_least(least(keys)).is_none());
        assert!(Choice::of_least((keys[0], Domain::new(0))).is_some(), "it is not its turn");
    }
}
