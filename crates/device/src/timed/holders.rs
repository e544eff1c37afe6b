//! Holders of what others wait for, and what they wait for themselves: requests that have a place in the device, and
//! pages that take room in the write buffer.
//!
//! Who waits for a place waits until any of those that hold one is done, and no single one kept it. So it is kept how long
//! all of them together waited for what; the wait is divided as that time was. One reading at its beginning and one at its end
//! are enough, however many there are.

use std::collections::VecDeque;

use base::{Die, Instant, Queue};
use metrics::{LatencyPart, LatencyParts};

/// Parts that a holder's time may go to.
const PARTS: usize = LatencyPart::ALL.len();

/// The weight of a request, over all its pages.
pub(super) const OF_REQUEST: u32 = 1 << 10;

/// The share of somebody that waits for a die in what the die does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It waits for its turn.
    Turn,
    /// It waits for its map entry first.
    Entry,
    /// The die reads it.
    Read,
    /// The die programs it.
    Program,
}

impl Role {
    const ALL: [Role; 4] = [Role::Turn, Role::Entry, Role::Read, Role::Program];

    /// The part of a latency that its time counts as while its die does `part`.
    #[inline]
    pub(super) fn counts_as(self, part: LatencyPart) -> LatencyPart {
        match (self, part) {
            (Role::Read, LatencyPart::HostRead) | (Role::Program, LatencyPart::HostProgram) => LatencyPart::Service,
            (Role::Entry, LatencyPart::Queue | LatencyPart::GcWait | LatencyPart::Mapping) => LatencyPart::Map,
            (_, part) => part,
        }
    }
}

/// A time that adds up, weighted by the holders that it passes for.
#[derive(Clone, Copy, Default)]
struct WeightedTime {
    weight: u64,
    /// Up to `since`.
    time: u128,
    since: u64,
}

impl WeightedTime {
    #[inline]
    fn until(&self, clock: u64) -> u128 {
        self.time + u128::from(self.weight) * u128::from(clock - self.since)
    }

    #[inline]
    fn change(&mut self, clock: u64, weight: u64) {
        (self.time, self.since, self.weight) = (self.until(clock), clock, weight);
    }
}

/// How long holders waited for what until some moment, by part.
#[derive(Clone, Copy)]
pub(super) struct Reading([u128; PARTS]);

impl Reading {
    pub(super) const NONE: Reading = Reading([0; PARTS]);

    /// Divides `ns` as the time since an earlier reading was, and says the rest: all of it where there was no time, otherwise
    /// nothing.
    pub(super) fn divide(&self, earlier: &Reading, ns: u64) -> (LatencyParts, u64) {
        let passed: [u128; PARTS] = std::array::from_fn(|at| self.0[at] - earlier.0[at]);
        // Of large numbers the upper 64 bits.
        let bits = u128::BITS - passed.iter().fold(0, |all, part| all | part).leading_zeros();
        let shares = passed.map(|part| part >> bits.saturating_sub(u64::BITS - 5));
        let total: u128 = shares.iter().sum();
        let mut parts = LatencyParts::NONE;
        if total == 0 {
            return (parts, ns);
        }
        let (mut rest, mut most) = (ns, 0);
        for (at, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0) {
            let of_part = (u128::from(ns) * share / total) as u64;
            parts.add(LatencyPart::ALL[at], of_part);
            rest -= of_part;
            most = if share > shares[most] { at } else { most };
        }
        // What divisions left: fewer nanoseconds than there are parts.
        parts.add(LatencyPart::ALL[most], rest);
        (parts, 0)
    }

    /// The reading at a moment between an earlier one and this, as if the time between them had been the same throughout.
    fn between(&self, earlier: &Reading, passed: u64, of: u64) -> Reading {
        Reading(std::array::from_fn(|at| between(earlier.0[at], self.0[at], passed, of)))
    }
}

fn between(from: u128, to: u128, passed: u64, of: u64) -> u128 {
    let whole = to - from;
    let (quotient, rest) = (whole / u128::from(of), whole % u128::from(of));
    from + quotient * u128::from(passed) + rest * u128::from(passed) / u128::from(of)
}

/// Waits of the holders.
pub(super) struct Holders {
    /// By part.
    tallies: [WeightedTime; PARTS],
    /// By die, the weight of those that have to do with it, by role.
    on_die: Vec<[u64; Role::ALL.len()]>,
    /// By queue that several dies share, the weight of those that wait for any of them, for each die; by role.
    on_queue: Vec<[u64; 2]>,
}

impl Holders {
    /// Bytes for each die.
    pub(super) const BYTES_OF_DIE: usize = size_of::<[u64; Role::ALL.len()]>() + size_of::<[u64; 2]>();

    /// Nobody.
    pub(super) fn new(dies: usize, queues: usize) -> Holders {
        Holders {
            tallies: [WeightedTime::default(); PARTS],
            on_die: vec![[0; Role::ALL.len()]; dies],
            on_queue: vec![[0; 2]; queues],
        }
    }

    /// Somebody begins to wait for something that is one part, or no longer does.
    #[inline]
    pub(super) fn shift(&mut self, clock: u64, part: LatencyPart, weight: u64, begins: bool) {
        let tally = &mut self.tallies[part as usize];
        tally.change(clock, changed(tally.weight, weight, begins));
    }

    /// Somebody begins to have to do with a die, which does `part` now, or no longer has.
    pub(super) fn shift_on_die(&mut self, clock: u64, die: (Die, LatencyPart), role: Role, weight: u64, begins: bool) {
        let (die, part) = die;
        let on_die = &mut self.on_die[die.index()][role as usize];
        *on_die = changed(*on_die, weight, begins);
        self.shift(clock, role.counts_as(part), weight, begins);
    }

    /// Somebody begins to wait for any die of a queue, of which so many do each part now, or no longer does. `weight`: for each
    /// die.
    pub(super) fn shift_on_queue(
        &mut self,
        clock: u64,
        queue: (Queue, &[u32; LatencyPart::OF_DIES]),
        role: Role,
        weight: u64,
        begins: bool,
    ) {
        let (queue, dies) = queue;
        let on_queue = &mut self.on_queue[queue.index()][role as usize];
        *on_queue = changed(*on_queue, weight, begins);
        for (at, &dies) in dies.iter().enumerate().filter(|(_, dies)| **dies > 0) {
            self.shift(clock, role.counts_as(LatencyPart::ALL[at]), weight * u64::from(dies), begins);
        }
    }

    /// A die does something else.
    pub(super) fn die_changes(
        &mut self,
        clock: u64,
        die: Die,
        queue: Option<Queue>,
        from: LatencyPart,
        to: LatencyPart,
    ) {
        let on_die = self.on_die[die.index()];
        for (role, weight) in Role::ALL.into_iter().zip(on_die) {
            self.move_weight(clock, weight, role.counts_as(from), role.counts_as(to));
        }
        let Some(queue) = queue else { return };
        let on_queue = self.on_queue[queue.index()];
        for (role, weight) in Role::ALL.into_iter().zip(on_queue) {
            self.move_weight(clock, weight, role.counts_as(from), role.counts_as(to));
        }
    }

    #[inline]
    fn move_weight(&mut self, clock: u64, weight: u64, from: LatencyPart, to: LatencyPart) {
        if weight > 0 && from != to {
            self.shift(clock, from, weight, false);
            self.shift(clock, to, weight, true);
        }
    }

    /// True if somebody waits for that.
    #[inline]
    pub(super) fn any(&self, part: LatencyPart) -> bool {
        self.tallies[part as usize].weight > 0
    }

    /// How long they waited for what.
    pub(super) fn reading(&self, clock: u64) -> Reading {
        Reading(self.tallies.map(|tally| tally.until(clock)))
    }

    /// The die that most have to do with now, and its share of `ns`.
    pub(super) fn most_on(&self, ns: u64) -> Option<(Die, u64)> {
        let weights = self.on_die.iter().map(|roles| roles.iter().sum::<u64>());
        // Of equal ones the first.
        let (die, weight) = weights.enumerate().max_by_key(|&(die, weight)| (weight, std::cmp::Reverse(die)))?;
        let all: u64 = self.tallies.iter().map(|tally| tally.weight).sum();
        let share = (u128::from(ns) * u128::from(weight)).checked_div(u128::from(all))? as u64;
        (share > 0).then(|| (Die::new(die as u32), share))
    }
}

#[inline]
fn changed(weight: u64, by: u64, begins: bool) -> u64 {
    if begins { weight + by } else { weight - by }
}

/// A clock that runs only at times.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    ran: u64,
    since: Option<Instant>,
}

impl Clock {
    /// How long it ran.
    #[inline]
    pub(super) fn at(&self, now: Instant) -> u64 {
        self.ran + self.since.map_or(0, |since| (now - since).ns())
    }

    /// Starts it, or stops it.
    #[inline]
    pub(super) fn run(&mut self, now: Instant, runs: bool) {
        if runs != self.since.is_some() {
            (self.ran, self.since) = (self.at(now), runs.then_some(now));
        }
    }
}

/// All that is read at a moment.
#[derive(Clone, Copy)]
pub(super) struct Readings {
    pub(super) places: Reading,
    pub(super) room: Reading,
    /// How long dies had nothing to do, all together.
    pub(super) idle: u128,
}

/// Moments that are kept of a time in which requests wait for places. When there are more, every other one is dropped: a wait
/// is then known to within a five-hundredth of that time.
const MOMENTS: usize = 1024;

/// The time in which requests wait for places, from when it began. Who comes in it is not heard of before there is a place for
/// it; so readings of the past are needed.
pub(super) struct History(VecDeque<(Instant, Readings)>);

impl History {
    pub(super) const BYTES: usize = MOMENTS * size_of::<(Instant, Readings)>();

    pub(super) fn new() -> History {
        History(VecDeque::with_capacity(MOMENTS))
    }

    /// Nobody waits.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Requests may have to wait from now on, or still.
    pub(super) fn push(&mut self, now: Instant, readings: Readings) {
        if self.0.back().is_some_and(|(at, _)| *at == now) {
            return;
        }
        if self.0.len() == MOMENTS {
            let mut place = 0;
            self.0.retain(|_| {
                place += 1;
                place % 2 == 1
            });
        }
        self.0.push_back((now, readings));
    }

    /// The readings at a moment of the past, given those of now; nobody asks again for an earlier one.
    pub(super) fn at(&mut self, moment: Instant, now: (Instant, &Readings)) -> Option<Readings> {
        while self.0.get(1).is_some_and(|(next, _)| *next <= moment) {
            self.0.pop_front();
        }
        let &(from, earlier) = self.0.front()?;
        let (to, later) = self.0.get(1).map_or((now.0, now.1), |(to, later)| (*to, later));
        if moment <= from || to <= from {
            return Some(earlier);
        }
        let (passed, of) = ((moment - from).ns(), (to - from).ns());
        Some(Readings {
            places: later.places.between(&earlier.places, passed, of),
            room: later.room.between(&earlier.room, passed, of),
            idle: between(earlier.idle, later.idle, passed, of),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(parts: &[(LatencyPart, u128)]) -> Reading {
        let mut all = Reading::NONE;
        parts.iter().for_each(|&(part, time)| all.0[part as usize] = time);
        all
    }

    #[test]
    fn a_wait_is_divided_without_a_rest() {
        let huge = u128::MAX >> 6;
        for (erase, gc) in [(1, 2), (7, 7), (0, 1), (huge, 2 * huge), (1, huge)] {
            let (parts, rest) =
                reading(&[(LatencyPart::Erase, erase), (LatencyPart::Gc, gc)]).divide(&Reading::NONE, 1000);
            assert_eq!((parts.sum(), rest), (1000, 0), "{erase} and {gc}");
            let exact = 1000.0 * erase as f64 / (erase as f64 + gc as f64);
            assert!((parts.get(LatencyPart::Erase) as f64 - exact).abs() < 1.0, "{erase} and {gc}: {parts:?}");
        }
        let (parts, rest) = Reading::NONE.divide(&Reading::NONE, 5);
        assert_eq!((parts.sum(), rest), (0, 5), "nobody was there");
    }

    #[test]
    fn those_on_a_die_wait_for_what_it_does() {
        let mut holders = Holders::new(2, 0);
        let (die, other) = (Die::new(1), Die::new(0));
        holders.shift_on_die(0, (die, LatencyPart::Gc), Role::Turn, 3, true);
        holders.shift_on_die(0, (die, LatencyPart::Gc), Role::Program, 1, true);
        holders.shift_on_die(0, (other, LatencyPart::Queue), Role::Entry, 1, true);
        holders.die_changes(10, die, None, LatencyPart::Gc, LatencyPart::HostProgram);
        assert_eq!(holders.most_on(100), Some((die, 80)));
        holders.shift_on_die(15, (die, LatencyPart::HostProgram), Role::Turn, 3, false);
        let found = holders.reading(20);
        let expected =
            [(LatencyPart::Gc, 40), (LatencyPart::HostProgram, 15), (LatencyPart::Service, 10), (LatencyPart::Map, 20)];
        assert_eq!(found.0, reading(&expected).0);
    }

    #[test]
    fn those_on_a_queue_wait_for_all_its_dies() {
        let mut holders = Holders::new(2, 1);
        let (queue, mut dies) = (Queue::new(0), [0; LatencyPart::OF_DIES]);
        (dies[LatencyPart::Erase as usize], dies[LatencyPart::Queue as usize]) = (1, 1);
        holders.shift_on_queue(0, (queue, &dies), Role::Turn, 5, true);
        holders.die_changes(4, Die::new(0), Some(queue), LatencyPart::Queue, LatencyPart::Erase);
        let expected = [(LatencyPart::Erase, 20 + 60), (LatencyPart::Queue, 20)];
        assert_eq!(holders.reading(10).0, reading(&expected).0);
    }

    #[test]
    fn the_past_is_known_to_a_part_of_it() {
        let mut history = History::new();
        let at = |ns: u64| {
            let gc = u128::from(ns.min(70_000));
            let places = reading(&[(LatencyPart::Gc, gc), (LatencyPart::Erase, u128::from(ns) - gc)]);
            Readings { places, room: Reading::NONE, idle: u128::from(ns) }
        };
        (0..100_000).step_by(7).for_each(|ns| history.push(Instant(ns), at(ns)));
        assert!(history.0.len() <= MOMENTS);
        for moment in [0, 3, 69_000, 70_100, 99_990] {
            let found = history.at(Instant(moment), (Instant(100_000), &at(100_000))).expect("a time with waits");
            assert_eq!(found.idle, u128::from(moment), "what is the same throughout is exact");
            let gc = found.places.0[LatencyPart::Gc as usize];
            assert!(gc.abs_diff(u128::from(moment.min(70_000))) <= 100_000 / 500, "{gc} at {moment}");
        }
        history.clear();
        assert!(history.at(Instant(5), (Instant(6), &at(6))).is_none());
    }

    #[test]
    fn a_clock_runs_only_at_times() {
        let mut clock = Clock::default();
        clock.run(Instant(5), true);
        clock.run(Instant(7), true);
        clock.run(Instant(9), false);
        clock.run(Instant(20), true);
        assert_eq!((clock.at(Instant(20)), clock.at(Instant(21))), (4, 5));
    }
}
