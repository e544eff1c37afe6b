//! The agenda: what a domain does before it takes another host page, in which order, and where room comes from.
//!
//! Two tables say it all. Each line is asked of every mechanism, in the order of their rows (`mechanism/rows.rs`).

use base::{Cause, Domain, Lpn, Ppn, Slot};

use crate::group::Group;
use crate::kernel::{Job, Kernel, Stream, Why};
use crate::mechanism::{Mechanisms, OwnWork, Pending, Picked, RoomSource, Under, VictimEnd};
use crate::ops::{How, Op, Step};
use crate::page::{PageMap, copy_stream};

/// A line of the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgendaLine {
    /// Erase an empty unit that a mechanism kept.
    Erase,
    /// The step that a host's request waits for, besides room.
    Pending,
    /// The work that mechanisms begin on their own account, or go on with.
    TakeUp,
    /// The step that comes before the next page of the victim.
    BeforeCopies,
    /// The end of a collection whose victim is empty.
    End,
    /// The next pages of the victim; where the others stay in it, the end of its collection.
    Move,
    /// The backup that the next host page needs before it is programmed.
    Protect,
    /// A victim's page that goes under the next host page.
    Under,
}

/// The order in which a domain looks for its next operation: the first line that has one gives it.
const AGENDA: [(AgendaLine, &str); 8] = [
    (AgendaLine::Erase, "It gives room at once, and nothing is lost by it."),
    (AgendaLine::Pending, "A read or a write waits for it, and a collection may last long."),
    (
        AgendaLine::TakeUp,
        "A victim that waited is moved already, and pages that were read too often can be read but a few times more; a collection \
         in progress ends first.",
    ),
    (AgendaLine::BeforeCopies, "What an earlier collection left behind would pile up."),
    (AgendaLine::End, "An empty victim is room that is not used yet."),
    (AgendaLine::Move, "The host waits for the room."),
    (AgendaLine::Protect, "There is room, and the host's page would put others at risk."),
    (AgendaLine::Under, "Last, so that nothing comes between this page and the host's above it."),
];

/// Where room comes from when a domain is short, in this order; `None` is the victim policy.
const ROOM: [(Option<RoomSource>, &str); 6] = [
    (Some(RoomSource::Kept), "It is room already."),
    (Some(RoomSource::Forced), "The policy was heard, and gained too little."),
    (Some(RoomSource::InWork), "The policy has chosen it, and it was begun."),
    (
        Some(RoomSource::Buffered),
        "Merged at once it would hold pages that are about to be overwritten; but the policy may offer \
                            full units only.",
    ),
    (None, "The victim policy chooses."),
    (Some(RoomSource::LastResort), "No unit is closed."),
];

/// Rounds of an agenda without an operation, at most: each ends or begins what concerns a unit, and a domain has far fewer.
const MAX_ROUNDS: u32 = 10_000_000;

impl<M: Mechanisms> PageMap<M> {
    /// The lines of both tables, each with its reason.
    #[cfg(test)]
    fn tables() -> Vec<(String, &'static str)> {
        let lines = AGENDA.iter().map(|(line, reason)| (format!("{line:?}"), *reason));
        let room = ROOM
            .iter()
            .map(|(source, reason)| (source.map_or("Policy".into(), |source| format!("{source:?}")), *reason));
        lines.chain(room).collect()
    }

    /// Goes through the agenda of a domain: begins and ends what is due, until there is an operation to carry out. Its
    /// pages are in `self.group` then.
    pub(crate) fn decide(&mut self, domain: Domain) -> Option<Step> {
        // Line by line, so that each is known when this is compiled.
        macro_rules! ask {
            ($agenda:lifetime: $($at:literal)*) => {
                const { assert!([$($at),*].len() == AGENDA.len()) };
                $(match self.line(const { AGENDA[$at].0 }, domain) {
                    Verdict::Nothing => {}
                    Verdict::Step(step) => return Some(step),
                    Verdict::FromTheTop => continue $agenda,
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
            self.group.clear();
            ask!('agenda: 0 1 2 3 4 5 6 7);
            self.waiting[domain.index()] = None;
            if let Some(covers) = self.mechanisms.parts_mut().covers {
                covers.settled(domain);
            }
            return None;
        }
    }

    #[inline(always)]
    fn line(&mut self, line: AgendaLine, domain: Domain) -> Verdict {
        match line {
            AgendaLine::Erase => self.erase_kept(domain),
            AgendaLine::Pending => self.pending(domain).map_or(Verdict::Nothing, Verdict::Step),
            AgendaLine::TakeUp => self.take_up(domain),
            AgendaLine::BeforeCopies if self.kernel.job(domain).is_some() => {
                match self.mechanisms.before_copies(&mut self.kernel, domain, &mut self.group) {
                    Some(step) => Verdict::Step(self.guarded(domain, step)),
                    None => Verdict::Nothing,
                }
            }
            AgendaLine::End => self.end(domain),
            AgendaLine::Move => self.move_next(domain),
            AgendaLine::Protect => self.protect(domain),
            AgendaLine::Under => self.under(domain),
            AgendaLine::BeforeCopies => Verdict::Nothing,
        }
    }

    /// A unit that a mechanism kept, once nothing has to be done before its erase.
    fn erase_kept(&mut self, domain: Domain) -> Verdict {
        let Some(unit) = self.mechanisms.erasable(&self.kernel, domain) else { return Verdict::Nothing };
        match self.mechanisms.end(&mut self.kernel, domain, unit, &mut self.group) {
            Some(VictimEnd::Act(step)) => Verdict::Step(self.guarded(domain, step)),
            Some(VictimEnd::Over | VictimEnd::Hold) => Verdict::Nothing,
            None => Verdict::Step(Step::new(Op::Erase(unit), self.erasure(domain, unit).cause)),
        }
    }

    /// The work that mechanisms begin on their own account.
    fn take_up(&mut self, domain: Domain) -> Verdict {
        let may_begin = self.mechanisms.parts().map.is_none_or(|map| !map.is_parked(domain));
        match self.mechanisms.take_up(&mut self.kernel, domain, may_begin, &mut self.group) {
            None => Verdict::Nothing,
            Some(OwnWork::Changed) => Verdict::FromTheTop,
            Some(OwnWork::Close(stream)) if self.kernel.is_to_fill_up(domain, stream) => {
                self.group.stream = stream;
                Verdict::Step(Step::new(Op::Pad, Cause::Pad))
            }
            Some(OwnWork::Close(stream)) => {
                self.leave_block(domain, stream);
                if self.waiting[domain.index()] == Some(stream) {
                    // The host page that waits was to go there: room is made for it anew.
                    self.waiting[domain.index()] = None;
                }
                Verdict::FromTheTop
            }
            Some(OwnWork::Room) => {
                self.collect_for_room(domain, Stream::FIRST);
                self.attribute(domain, true);
                Verdict::FromTheTop
            }
            Some(OwnWork::Act(step)) => Verdict::Step(self.guarded(domain, step)),
            Some(OwnWork::Move) => self.move_next(domain),
        }
    }

    /// Whose operations are those of a collection that began for want of room.
    fn attribute(&mut self, domain: Domain, asked: bool) {
        if let Some(reads) = self.mechanisms.parts_mut().reads
            && let Some(cause) = reads.cause_of_room(&self.kernel, domain, asked)
            && let Some(job) = self.kernel.job_mut(domain)
            && job.cause == Cause::Gc
        {
            job.cause = cause;
        }
    }

    /// The step that a request waits for. If it takes a place among the pages of the map, room is made for it first.
    pub(crate) fn pending(&mut self, domain: Domain) -> Option<Step> {
        let may_fetch = self.may_fetch(domain);
        let step = match self.mechanisms.pending(&mut self.kernel, domain, false, may_fetch, &mut self.group)? {
            Pending::Act(step) => step,
            Pending::Room => {
                if self.make_room(domain, self.kernel.streams().of_map()) {
                    return None;
                }
                match self.mechanisms.pending(&mut self.kernel, domain, true, may_fetch, &mut self.group) {
                    Some(Pending::Act(step)) => step,
                    None | Some(Pending::Room) => unreachable!("what asked for room has it now"),
                }
            }
        };
        Some(self.guarded(domain, step))
    }

    /// The page of the map that a domain wants may be read.
    fn may_fetch(&self, domain: Domain) -> bool {
        let parts = self.mechanisms.parts();
        let (Some(map), Some(reads)) = (parts.map, parts.reads) else { return true };
        map.wanted_page(&self.kernel, domain).all(|at| reads.may_read(&self.kernel, at))
    }

    /// A step of a mechanism; if it programs a page of the map or a dummy page, what has to be safe first.
    fn guarded(&mut self, domain: Domain, step: Step) -> Step {
        if step.op == Op::Reprogram
            && let Some(covers) = self.mechanisms.parts_mut().covers
            && let unit = self.kernel.geometry().unit_of(self.group.pages()[0])
            && let Some(stream) = covers.give_up_unit(&self.kernel, domain, unit)
        {
            self.group.clear();
            self.group.stream = stream;
            return Step::new(Op::Pad, Cause::Pad);
        }
        if !self.guards_pages || !matches!(step.op, Op::Combine | Op::Pad) {
            return step;
        }
        let pages = self.group;
        let stream = if step.op == Op::Pad { self.group.stream } else { self.kernel.streams().of_map() };
        self.group.clear();
        if let Some(first) = self.before_row(domain, stream) {
            if (first.op, step.op) == (Op::Pad, Op::Combine)
                && let Some(map) = self.mechanisms.parts_mut().map
            {
                map.padded_away(&self.kernel, domain);
            }
            return first;
        }
        self.group = pages;
        step
    }

    /// The backup that is due before the next pages of a stream, as many as one command may hold, are programmed.
    fn before_row(&mut self, domain: Domain, stream: Stream) -> Option<Step> {
        if !self.guards_pages {
            return None;
        }
        let first = self.kernel.next_place(domain, stream);
        let geometry = self.kernel.geometry();
        // Of map units a row is programmed as a whole: the first of its pages stands for all.
        let left = match geometry.parts {
            1 => geometry.row_slots() - geometry.row_of_slot(geometry.unit_and_slot(first).1).1,
            _ => 1,
        };
        self.group.stream = stream;
        if self.is_to_leave(domain, first) {
            self.leave_block(domain, stream);
            return None;
        }
        (first.0..first.0 + left).find_map(|at| {
            let op = self.mechanisms.before_page(&mut self.kernel, domain, Ppn(at), &mut self.group)?;
            let cause = match op {
                Op::Combine => Cause::Backup,
                Op::Erase(unit) => self.erasure(domain, unit).cause,
                _ => self.kernel.job(domain).map_or(Cause::Backup, |job| job.cause),
            };
            Some(Step::new(op, cause))
        })
    }

    /// The end of a collection, where its victim is empty.
    fn end(&mut self, domain: Domain) -> Verdict {
        let Some(&Job { unit, cause, .. }) = self.kernel.job(domain) else { return Verdict::Nothing };
        if self.kernel.valid_of(unit) > 0 {
            return Verdict::Nothing;
        }
        match self.mechanisms.end(&mut self.kernel, domain, unit, &mut self.group) {
            None => Verdict::Step(Step::new(Op::Erase(unit), cause)),
            Some(VictimEnd::Act(step)) => Verdict::Step(self.guarded(domain, step)),
            Some(VictimEnd::Over) => Verdict::FromTheTop,
            // What could not begin beside the job can now.
            Some(VictimEnd::Hold) => self.take_up(domain),
        }
    }

    /// The next pages of a victim, or the end of its collection where no more of them move.
    fn move_next(&mut self, domain: Domain) -> Verdict {
        let Some(job) = self.kernel.job(domain).copied() else { return Verdict::Nothing };
        if let Some(step) = self.next_move(domain, job) {
            return Verdict::Step(step);
        }
        match self.mechanisms.end(&mut self.kernel, domain, job.unit, &mut self.group) {
            Some(VictimEnd::Act(step)) => Verdict::Step(self.guarded(domain, step)),
            Some(VictimEnd::Over) => Verdict::FromTheTop,
            None | Some(VictimEnd::Hold) => unreachable!("a unit whose pages stay is in use again"),
        }
    }

    /// The next pages of a victim that has any, once what lies under them is safe; nothing if those that are left stay.
    pub(crate) fn next_move(&mut self, domain: Domain, mut job: Job) -> Option<Step> {
        if self.pick(domain, &mut job, None) == Picked::Stays {
            return None;
        }
        if let Some(own) = self.kernel.job_mut(domain) {
            (own.cursor, own.lone_cursor) = (job.cursor, job.lone_cursor);
        }
        self.prefetch_behind();
        let stream = self.stream_of_copy(domain, self.group.pages()[0]);
        self.group.stream = stream;
        // Where blocks have failed and there is no place, the step is not carried out.
        if self.guards_pages && !self.has_no_place(domain, stream) {
            self.keep_to_row(domain, stream);
            let picked = self.group;
            self.group.clear();
            if let Some(first) = self.before_row(domain, stream) {
                return Some(first);
            }
            self.group = picked;
        }
        let how = self.mechanisms.how(&self.kernel, domain, stream, &self.group).unwrap_or(How::OffChip);
        Some(Step::new(Op::Move(how), job.cause))
    }

    /// Of map units, no page of the group comes to lie in the next row: what that is programmed over is not safe yet.
    fn keep_to_row(&mut self, domain: Domain, stream: Stream) {
        if self.kernel.geometry().parts > 1 {
            let next = self.kernel.open_frontier(domain, stream).slot;
            let geometry = self.kernel.geometry();
            self.group.truncate(geometry.row_slots() - geometry.row_of_slot(next).1);
        }
    }

    /// Asks for what moving the pages behind a group will change: their step may ask for it before any of them is read.
    fn prefetch_behind(&self) {
        let geometry = self.kernel.geometry();
        let Some(&last) = self.group.pages().last() else { return };
        let (unit, slot) = geometry.unit_and_slot(last);
        for by in 1..=geometry.row_slots() {
            self.prefetch_copy(geometry.ppn(unit, geometry.slot_ahead(slot, by)));
        }
    }

    /// Puts the pages of a victim that move next into the group: to one stream, or each to its own.
    fn pick(&mut self, domain: Domain, job: &mut Job, to: Option<Stream>) -> Picked {
        let PageMap { kernel, mechanisms, group, .. } = self;
        let stream_of = |lpn| to.unwrap_or_else(|| copy_stream(kernel, mechanisms, lpn));
        if let Some(picked) = mechanisms.pick(kernel, domain, job, &stream_of, group) {
            return picked;
        }
        // A state may say of a cursor what it will.
        let next = kernel.next_valid(job.unit, job.cursor).or_else(|| kernel.next_valid(job.unit, Slot::FIRST));
        job.cursor = next.expect("a victim with valid pages");
        group.push(kernel.geometry().ppn(job.unit, job.cursor));
        if kernel.geometry().parts > 1 {
            add_parts(kernel, job, &stream_of, group);
        }
        Picked::Group
    }

    /// The backup that is due before the host page that waits is programmed.
    fn protect(&mut self, domain: Domain) -> Verdict {
        let Some(stream) = self.waiting[domain.index()] else { return Verdict::Nothing };
        self.before_row(domain, stream).map_or(Verdict::Nothing, Verdict::Step)
    }

    /// The victim's pages that go under the host page that waits.
    fn under(&mut self, domain: Domain) -> Verdict {
        let Some(stream) = self.waiting[domain.index()] else { return Verdict::Nothing };
        let mut under = self.mechanisms.under(&mut self.kernel, domain, stream, false);
        if under == Some(Under::Choice) {
            if self.begin_due(domain) {
                return Verdict::FromTheTop;
            }
            under = self.mechanisms.under(&mut self.kernel, domain, stream, true);
        }
        match under {
            None => Verdict::Nothing,
            Some(Under::Erase) => self.erase_kept(domain),
            Some(Under::Collection) => Verdict::FromTheTop,
            Some(Under::Choice) => unreachable!("a victim may be chosen"),
            Some(Under::Victim) => {
                let Some(mut job) = self.kernel.pairing(domain).copied() else { return Verdict::Nothing };
                self.pick(domain, &mut job, Some(stream));
                self.keep_to_row(domain, stream);
                self.prefetch_behind();
                self.group.stream = stream;
                let cause = job.cause;
                self.kernel.set_pairing(domain, Some(job));
                // Among host pages, so they are to be as good as those.
                Verdict::Step(Step::new(Op::Move(How::OffChip), cause))
            }
        }
    }

    /// Begins whatever has to be done before a frontier can open; `false` if it may open now.
    pub(crate) fn make_room(&mut self, domain: Domain, stream: Stream) -> bool {
        if !self.kernel.is_short(domain) {
            return self.mechanisms.room(&mut self.kernel, domain, stream, RoomSource::Early);
        }
        self.collect_for_room(domain, stream);
        if !M::IS_PLAIN {
            self.attribute(domain, false);
        }
        true
    }

    /// Begins what makes room.
    pub(crate) fn collect_for_room(&mut self, domain: Domain, stream: Stream) {
        let begun = self.take_deferred(domain, Why::Room)
            || ROOM.iter().any(|&(source, _)| match source {
                Some(source) => {
                    let begins = self.mechanisms.room(&mut self.kernel, domain, stream, source);
                    if begins && source == RoomSource::Forced {
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
        let mut near = Vec::new();
        self.mechanisms.neighbours(&self.kernel, domain, &mut near);
        for other in near {
            if self.is_busy(other) {
                continue;
            }
            if !self.mechanisms.room(&mut self.kernel, other, Stream::FIRST, RoomSource::Forced) {
                // Near the threshold by a large measure, it may not have filled a unit yet.
                let Some(unit) = self.kernel.choose(other) else { continue };
                self.kernel.begin(other, unit, Why::Along);
            }
            self.early.push(other);
        }
    }
}

/// Adds the other valid parts of the flash page at a job's cursor, which one read brings, as far as they go where that page does.
fn add_parts(kernel: &Kernel, job: &Job, stream_of: &dyn Fn(Lpn) -> Stream, group: &mut Group) {
    let geometry = kernel.geometry();
    let of = |at: Ppn| kernel.lpn_at(at).map(stream_of);
    let at = geometry.ppn(job.unit, job.cursor);
    let stream = of(at);
    let others = geometry.slots_from(job.cursor.next()).map(|slot| geometry.ppn(job.unit, slot));
    let parts = others.take_while(|&other| geometry.flash_page_of(other) == geometry.flash_page_of(at));
    parts.filter(|&part| kernel.is_valid(part) && of(part) == stream).for_each(|part| group.push(part));
}

/// The answer of a line of the agenda.
enum Verdict {
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
        let tables = PageMap::<Plain>::tables();
        let names: BTreeSet<&str> = tables.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(names.len(), AGENDA.len() + ROOM.len(), "{tables:?}");
        for (line, reason) in &tables {
            assert!(reason.len() > 10 && reason.ends_with('.'), "{line}: {reason:?}");
        }
    }
}
