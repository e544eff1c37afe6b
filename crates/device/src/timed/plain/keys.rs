//! A key for each domain, where nothing decides what it does but its collection and the first write of its queue: a die compares where it
//! would ask. That is so on plain devices, and wherever domains have nothing but writes and collections to do.

use base::{Domain, Queue};

use crate::scheduler::NOT_URGENT;
use crate::timed::choose::{Candidate, DieChoice, SharedWrite};
use crate::timed::queues::TransactionId;

/// The beginning of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::timed) struct Begun {
    /// Which one it is of the device's.
    pub(in crate::timed) number: u64,
    /// True if writes wait for its end, if there are any.
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

    /// Action of a die, besides reads, whose least key is this one of `domain`. `None`: the die has to be looked at.
    #[inline(always)]
    pub(in crate::timed) fn candidate(self, domain: Domain) -> Option<Option<Candidate>> {
        match self {
            Urgency::NOTHING => Some(None),
            Urgency::UNKNOWN => None,
            Urgency(key) if key & 1 == 1 => Some(Some(Candidate::Collect(domain))),
            Urgency(_) => Some(Some(Candidate::Program(domain))),
        }
    }

    /// True if it is that of a collection which writes do not wait for.
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

impl DieChoice {
    /// The meaning of the least urgency of a die's domains, which have queues of their own. `None`: they have to be looked at.
    #[inline(always)]
    pub(in crate::timed) fn of_least((urgency, domain): (Urgency, Domain)) -> Option<DieChoice> {
        let best = urgency.candidate(domain)?.map(|candidate| (urgency.age(), 0, candidate));
        Some(DieChoice { awaits_correction: false, best })
    }

    /// The choice of a die whose domains share a queue. The first write in it has that age and goes to `domain`, if one
    /// takes it.
    #[inline(always)]
    pub(in crate::timed) fn of_sharing(
        least: (Urgency, Domain),
        (queue, write): (Queue, Option<(u64, TransactionId)>),
        domain: impl FnOnce() -> Option<Domain>,
    ) -> Option<DieChoice> {
        let DieChoice { best, .. } = DieChoice::of_least(least)?;
        let best = match (best, write) {
            (Some((_, begun, collection)), Some((age, _))) if !least.0.is_passed() => Some((age, begun, collection)),
            (Some((_, begun, collection)), _) => Some((NOT_URGENT, begun, collection)),
            (None, Some((age, write))) => domain().map(|domain| {
                let found = (None, write);
                (age, u64::MAX, Candidate::ProgramShared(SharedWrite { queue, domain, found }))
            }),
            (None, None) => None,
        };
        Some(DieChoice { awaits_correction: false, best })
    }
}
