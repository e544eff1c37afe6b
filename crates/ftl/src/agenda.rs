//! The agenda: what a domain does before it takes another host page, in which order, and where room comes from.
//!
//! Two tables say it all. Each line is asked of every mechanism, in the order of [`crate::mechanism::All`].

use base::{Cause, Domain, Lpn, Slot};

use crate::group::Group;
use crate::kernel::{Job, Stream, Why};
use crate::mechanism::{Disturbed, End, Mechanisms, Pending, Room, Under};
use crate::ops::{How, Op, Step};
use crate::page::Page;

/// A line of the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Erase an empty unit that a mechanism kept.
    Erase,
    /// What somebody waits for, besides room.
    Pending,
    /// A collection that waited for other domains goes on.
    TakeUp,
    /// A unit whose pages were read too often is refreshed.
    Refresh,
    /// What comes before the next page of the victim.
    BeforeCopies,
    /// The end of a collection whose victim is empty.
    End,
    /// The next pages of the victim.
    Move,
    /// What has to be safe before the next host page is programmed.
    Protect,
    /// A victim's page that goes under the next host page.
    Under,
}

/// What a domain does next: the first line that has an operation gives it.
const AGENDA: [(Line, &str); 9] = [
    (Line::Erase, "It gives room at once, and nothing is lost by it."),
    (Line::Pending, "A read or a write waits for it, and a collection may last long."),
    (Line::TakeUp, "Its pages are moved already: only its erase is left."),
    (Line::Refresh, "Its pages can be read but a few times more; a collection in progress ends first."),
    (Line::BeforeCopies, "What an earlier collection left behind would pile up."),
    (Line::End, "An empty victim is room that is not used yet."),
    (Line::Move, "The host waits for the room."),
    (Line::Protect, "There is room, and the host's page would put others at risk."),
    (Line::Under, "Last, so that nothing comes between this page and the host's above it."),
];

/// Where room comes from when a domain is short, in this order; `None` is the victim policy.
const ROOM: [(Option<Room>, &str); 6] = [
    (Some(Room::Kept), "It is room already."),
    (Some(Room::Forced), "The policy was heard, and gained too little."),
    (Some(Room::InWork), "The policy has chosen it, and it was begun."),
    (
        Some(Room::Buffered),
        "Merged at once it would hold pages that are about to be overwritten; but the policy may offer \
                            full units only.",
    ),
    (None, "The victim policy chooses."),
    (Some(Room::LastResort), "No unit is closed."),
];

/// Rounds of an agenda without an operation, at most: each ends or begins what concerns a unit, and a domain has far fewer.
const MAX_ROUNDS: u32 = 10_000_000;

impl<M: Mechanisms> Page<M> {
    /// What the tables say: line, and reason.
    #[cfg(test)]
    fn tables() -> Vec<(String, &'static str)> {
        let lines = AGENDA.iter().map(|(line, reason)| (format!("{line:?}"), *reason));
        let room = ROOM
            .iter()
            .map(|(source, reason)| (source.map_or("Policy".into(), |source| format!("{source:?}")), *reason));
        lines.chain(room).collect()
    }

    /// Goes through the agenda of a domain: begins and ends what is due, until there is an operation to carry out. Its
    /// pages are put into `group`.
    pub(crate) fn decide(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        // Line by line, so that each is known when this is compiled.
        macro_rules! ask {
            ($agenda:lifetime: $($at:literal)*) => {
                const { assert!([$($at),*].len() == AGENDA.len()) };
                $(match self.line(const { AGENDA[$at].0 }, domain, group) {
                    Said::Nothing => {}
                    Said::Step(step) => return Some(step),
                    Said::FromTheTop => continue $agenda,
                })*
            };
        }
        let mut rounds = 0;
        'agenda: loop {
            // Whoever counts operations would not hear of a loop without one.
            rounds += 1;
            assert!(
                rounds < MAX_ROUNDS,
                "the agenda of domain {domain} comes to an operation: {}",
                self.in_words(domain)
            );
            group.clear();
            ask!('agenda: 0 1 2 3 4 5 6 7 8);
            self.waiting[domain.index()] = None;
            self.mechanisms.settled(domain);
            return None;
        }
    }

    #[inline(always)]
    fn line(&mut self, line: Line, domain: Domain, group: &mut Group) -> Said {
        match line {
            Line::Erase => self.erase_kept(domain, group),
            Line::Pending => self.pending(domain, group).map_or(Said::Nothing, Said::Step),
            Line::TakeUp => {
                self.mechanisms.take_up(&mut self.kernel, domain);
                Said::Nothing
            }
            Line::Refresh => self.refresh(domain, group),
            Line::BeforeCopies if self.kernel.job(domain).is_some() => {
                match self.mechanisms.before_copies(&mut self.kernel, domain, group) {
                    Some(op) => Said::Step(self.guarded(domain, op, group)),
                    None => Said::Nothing,
                }
            }
            Line::End => self.end(domain, group),
            Line::Move => match self.kernel.job(domain).copied() {
                Some(job) => Said::Step(self.next_move(domain, job, group)),
                None => Said::Nothing,
            },
            Line::Protect => self.protect(domain, group),
            Line::Under => self.under(domain, group),
            Line::BeforeCopies => Said::Nothing,
        }
    }

    /// A unit that a mechanism kept, once nothing has to be done before its erase.
    fn erase_kept(&mut self, domain: Domain, group: &mut Group) -> Said {
        let Some(unit) = self.mechanisms.erasable(&self.kernel, domain) else { return Said::Nothing };
        match self.mechanisms.before_erase(&mut self.kernel, domain, unit, group) {
            End::Act(op) => Said::Step(self.guarded(domain, op, group)),
            End::Park | End::Hold => Said::Nothing,
            End::Erase => Said::Step(Step::new(Op::Erase(unit), self.erasure(domain, unit).cause)),
        }
    }

    /// What reads of the array call for.
    fn refresh(&mut self, domain: Domain, group: &mut Group) -> Said {
        match self.mechanisms.disturbed(&mut self.kernel, domain, group) {
            Disturbed::Nothing => Said::Nothing,
            Disturbed::Changed => Said::FromTheTop,
            Disturbed::Close(stream) => {
                self.seal(domain, stream);
                if self.waiting[domain.index()] == Some(stream) {
                    // The host page that waits was to go there: room is made for it anew.
                    self.waiting[domain.index()] = None;
                }
                Said::FromTheTop
            }
            Disturbed::Keep => match self.mechanisms.before_keeping(&mut self.kernel, domain, group) {
                End::Act(op) => Said::Step(self.guarded(domain, op, group)),
                End::Park => Said::FromTheTop,
                End::Erase | End::Hold => {
                    self.mechanisms.keep(&mut self.kernel, domain);
                    Said::FromTheTop
                }
            },
            Disturbed::Room => {
                self.collect_for_room(domain, Stream::FIRST);
                self.attribute(domain, true);
                Said::FromTheTop
            }
            Disturbed::Move => match self.kernel.job(domain).copied() {
                Some(job) => Said::Step(self.next_move(domain, job, group)),
                None => Said::Nothing,
            },
            Disturbed::Act(op) => {
                let stream = group.stream;
                if op == Op::Pad {
                    let pages = *group;
                    group.clear();
                    if let Some(first) = self.before_row(domain, stream, group) {
                        return Said::Step(first);
                    }
                    *group = pages;
                }
                Said::Step(Step::new(op, Cause::Refresh))
            }
        }
    }

    /// Whose operations are those of a collection that began for want of room.
    fn attribute(&mut self, domain: Domain, asked: bool) {
        if let Some(cause) = self.mechanisms.cause_of_room(&self.kernel, domain, asked)
            && let Some(job) = self.kernel.job_mut(domain)
            && job.cause == Cause::Gc
        {
            job.cause = cause;
        }
    }

    /// What somebody waits for. If it takes a place among the pages of the map, room is made for it first.
    pub(crate) fn pending(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        match self.mechanisms.pending(&mut self.kernel, domain, false, group) {
            Pending::None => None,
            Pending::Act(Op::Pad) => {
                let stream = group.stream;
                let first = self.before_row(domain, stream, group);
                Some(first.unwrap_or_else(|| {
                    group.stream = stream;
                    Step::new(Op::Pad, Cause::Mapping)
                }))
            }
            Pending::Act(op) => Some(self.guarded(domain, op, group)),
            Pending::Room => {
                if self.make_room(domain, self.kernel.streams().of_map()) {
                    return None;
                }
                match self.mechanisms.pending(&mut self.kernel, domain, true, group) {
                    Pending::Act(op) => Some(self.guarded(domain, op, group)),
                    Pending::None | Pending::Room => unreachable!("what asked for room has it now"),
                }
            }
        }
    }

    /// An operation of a mechanism; if it programs a page of the map, what has to be safe first.
    fn guarded(&mut self, domain: Domain, op: Op, group: &mut Group) -> Step {
        if op == Op::Combine {
            let (pages, stream) = (*group, self.kernel.streams().of_map());
            group.clear();
            if let Some(first) = self.before_row(domain, stream, group) {
                return first;
            }
            *group = pages;
        }
        Step::new(op, Cause::Mapping)
    }

    /// What has to be safe before the next pages of a stream are programmed: those that one command may hold.
    fn before_row(&mut self, domain: Domain, stream: Stream, group: &mut Group) -> Option<Step> {
        if !self.mechanisms.guards_pages() {
            return None;
        }
        let first = self.kernel.next_place(domain, stream);
        let geometry = self.kernel.geometry();
        let lanes = geometry.unit_width - geometry.lane_of_slot(geometry.unit_and_slot(first).1);
        (first.0..first.0 + lanes).find_map(|at| {
            let op = self.mechanisms.before_page(&mut self.kernel, domain, base::Ppn(at), group)?;
            group.stream = stream;
            let cause = match op {
                Op::Combine => Cause::Backup,
                Op::Erase(unit) => self.erasure(domain, unit).cause,
                _ => self.kernel.job(domain).map_or(Cause::Backup, |job| job.cause),
            };
            Some(Step::new(op, cause))
        })
    }

    /// The end of a collection, where its victim is empty.
    fn end(&mut self, domain: Domain, group: &mut Group) -> Said {
        let Some(&Job { unit, cause, .. }) = self.kernel.job(domain) else { return Said::Nothing };
        if self.kernel.valid_of(unit) > 0 {
            return Said::Nothing;
        }
        match self.mechanisms.end(&mut self.kernel, domain, group) {
            End::Erase => Said::Step(Step::new(Op::Erase(unit), cause)),
            End::Act(op) => Said::Step(self.guarded(domain, op, group)),
            End::Park => Said::FromTheTop,
            End::Hold => Said::Nothing,
        }
    }

    /// The next pages of a victim that has any, once what lies under them is safe.
    pub(crate) fn next_move(&mut self, domain: Domain, mut job: Job, group: &mut Group) -> Step {
        self.pick(domain, &mut job, &|lpn| self.copy_stream(lpn), group);
        if let Some(own) = self.kernel.job_mut(domain) {
            (own.cursor, own.lone_cursor) = (job.cursor, job.lone_cursor);
        }
        self.prefetch_behind(group);
        let stream = self.stream_of_copy(domain, group.pages()[0]);
        group.stream = stream;
        if self.mechanisms.guards_pages() {
            let picked = *group;
            group.clear();
            if let Some(first) = self.before_row(domain, stream, group) {
                return first;
            }
            *group = picked;
        }
        let how = self.mechanisms.how(&self.kernel, domain, stream, group);
        Step::new(Op::Move(how), job.cause)
    }

    /// Asks for what moving the pages behind a group will change: their step may ask for it before any of them is read.
    fn prefetch_behind(&self, group: &Group) {
        let geometry = self.kernel.geometry();
        let Some(&last) = group.pages().last() else { return };
        let (unit, slot) = geometry.unit_and_slot(last);
        for by in 1..=geometry.unit_width {
            self.prefetch_copy(geometry.ppn(unit, geometry.slot_ahead(slot, by)));
        }
    }

    /// Puts the pages of a victim that move next into a group.
    fn pick(&self, domain: Domain, job: &mut Job, stream_of: &dyn Fn(Lpn) -> Stream, group: &mut Group) {
        self.mechanisms.pick(&self.kernel, domain, job, stream_of, group);
        if group.pages().is_empty() {
            // A state may say of a cursor what it will.
            let next =
                self.kernel.next_valid(job.unit, job.cursor).or_else(|| self.kernel.next_valid(job.unit, Slot::FIRST));
            let slot = next.expect("a victim with valid pages");
            job.cursor = slot;
            group.push(self.kernel.geometry().ppn(job.unit, slot));
        }
    }

    /// What has to be safe before the host page that waits is programmed.
    fn protect(&mut self, domain: Domain, group: &mut Group) -> Said {
        let Some(stream) = self.waiting[domain.index()] else { return Said::Nothing };
        self.before_row(domain, stream, group).map_or(Said::Nothing, Said::Step)
    }

    /// The victim's pages that go under the host page that waits.
    fn under(&mut self, domain: Domain, group: &mut Group) -> Said {
        let Some(stream) = self.waiting[domain.index()] else { return Said::Nothing };
        match self.mechanisms.under(&mut self.kernel, domain, stream) {
            Under::Nothing => Said::Nothing,
            Under::Erase => self.erase_kept(domain, group),
            Under::Collection => Said::FromTheTop,
            Under::Victim => {
                let Some(mut job) = self.kernel.pairing(domain).copied() else { return Said::Nothing };
                self.pick(domain, &mut job, &|_| stream, group);
                self.prefetch_behind(group);
                group.stream = stream;
                let cause = job.cause;
                self.kernel.set_pairing(domain, Some(job));
                // Among host pages, so they are to be as good as those.
                Said::Step(Step::new(Op::Move(How::OffChip), cause))
            }
        }
    }

    /// Begins whatever has to be done before a frontier can open; `false` if it may open now.
    pub(crate) fn make_room(&mut self, domain: Domain, stream: Stream) -> bool {
        if !self.kernel.is_short(domain) {
            return self.mechanisms.room(&mut self.kernel, domain, stream, Room::Early);
        }
        self.collect_for_room(domain, stream);
        if !M::IS_PLAIN {
            self.attribute(domain, false);
        }
        true
    }

    /// Begins what makes room.
    pub(crate) fn collect_for_room(&mut self, domain: Domain, stream: Stream) {
        let begun = self.kernel.take_deferred(domain, Why::Room)
            || ROOM.iter().any(|&(source, _)| match source {
                Some(source) => {
                    let begins = self.mechanisms.room(&mut self.kernel, domain, stream, source);
                    if begins && source == Room::Forced {
                        self.begin_neighbours(domain);
                    }
                    begins
                }
                None => self.begin_chosen(domain),
            });
        assert!(begun, "collection starts with closed units");
    }

    fn begin_chosen(&mut self, domain: Domain) -> bool {
        let Some(unit) = self.kernel.choose(domain) else { return false };
        self.kernel.begin(domain, unit, Why::Room);
        self.begin_neighbours(domain);
        true
    }

    /// Collects other domains along, where they are near their own threshold.
    fn begin_neighbours(&mut self, domain: Domain) {
        for other in self.mechanisms.neighbours(&self.kernel, domain).map(Domain::new) {
            if other == domain || self.is_busy(other) || !self.mechanisms.goes_along(&self.kernel, other) {
                continue;
            }
            if !self.mechanisms.room(&mut self.kernel, other, Stream::FIRST, Room::Forced) {
                // Near the threshold by a large measure, it may not have filled a unit yet.
                let Some(unit) = self.kernel.choose(other) else { continue };
                self.kernel.begin(other, unit, Why::Along);
            }
            self.early.push(other);
        }
    }
}

/// What a line of the agenda says.
enum Said {
    Nothing,
    Step(Step),
    FromTheTop,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::mechanism::Plain;

    #[test]
    fn every_line_is_asked_once_and_has_a_reason() {
        let tables = Page::<Plain>::tables();
        let names: BTreeSet<&str> = tables.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(names.len(), AGENDA.len() + ROOM.len(), "{tables:?}");
        for (line, reason) in &tables {
            assert!(reason.len() > 10 && reason.ends_with('.'), "{line}: {reason:?}");
        }
    }
}
