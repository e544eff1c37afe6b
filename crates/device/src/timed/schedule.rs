//! Collections ahead of need, in time: who begins one, how far it may go, and when it is put down (Wen and Chang, GC
//! forwarding, Table 1).
//!
//! Mandatory collections need nothing of this. Under `threshold` no question here costs more than a branch.

use ftl::Turn;
use ftl::schedule::{Kind, Schedule};

use super::Timed;

/// What a domain did of a cycle filling: pages (or logical blocks) that it began to copy, and erases of its victims.
#[derive(Clone, Copy, Default)]
struct Turns {
    copies: u32,
    erases: u32,
}

/// Who collects, and since when who is idle.
pub(super) struct Forward {
    schedule: Schedule,
    /// By domain: whether it is in mandatory collection.
    needy: Vec<bool>,
    /// By channel or die, whichever the schedule looks at: its domains in mandatory collection.
    needy_in: Vec<u32>,
    /// Channels or dies with such a domain.
    needy_scopes: u32,
    /// Dies of a channel or, where the schedule looks at dies, 1.
    dies_per_scope: u32,
    /// Cycle filling: the domain whose mandatory collection the others fill.
    initiator: Option<u32>,
    /// By domain: what it did since the initiator began.
    turns: Vec<Turns>,
    /// Background: by die, whether its timer runs that says how long it has been idle.
    waits: Vec<bool>,
}

/// How a collection stands with the schedule.
pub(super) enum Standing {
    /// Its next step may be taken.
    Goes,
    /// It has to wait for the collection that it fills.
    Waits,
    /// It was put down.
    PutDown,
}

impl Forward {
    pub(super) fn new(schedule: Schedule, geometry: &base::Geometry) -> Forward {
        let by_die = matches!(schedule.kind, Kind::Forwarding { by_die: true, .. });
        let dies_per_scope = if by_die { 1 } else { geometry.dies() / geometry.channels };
        let domains = if schedule.is_threshold() { 0 } else { geometry.domains() as usize };
        Forward {
            schedule,
            needy: vec![false; domains],
            needy_in: vec![0; (geometry.dies() / dies_per_scope) as usize],
            needy_scopes: 0,
            dies_per_scope,
            initiator: None,
            turns: vec![Turns::default(); domains],
            waits: vec![false; geometry.dies() as usize],
        }
    }

    /// Whether collections keep step with each other.
    #[inline]
    fn counts_turns(&self) -> bool {
        self.schedule.kind == Kind::CycleFilling { in_step: true }
    }

    /// Whether there are only mandatory collections.
    #[inline]
    pub(super) fn is_threshold(&self) -> bool {
        self.schedule.is_threshold()
    }
}

// Beginning.
impl Timed<'_, '_> {
    /// A die has nothing to do. Returns whether it has now.
    pub(super) fn fill_idle_time(&mut self, die: u32) -> bool {
        match self.forward.schedule.kind {
            Kind::Threshold | Kind::CycleFilling { .. } => false,
            Kind::Forwarding { congestion, .. } => {
                let scope = die / self.forward.dies_per_scope;
                let elsewhere = self.forward.needy_scopes - u32::from(self.forward.needy_in[scope as usize] > 0);
                (!congestion || elsewhere > 0) && self.is_out_of_pages(scope) && self.begin_on(die)
            }
            Kind::Background { idle } => {
                let begins = !self.forward.waits[die as usize]
                    && self.device.ftl.geometry().domains_of_die(die).any(|domain| self.may_begin(domain));
                if begins {
                    self.forward.waits[die as usize] = true;
                    self.set_array(die, self.now + idle, self.timing.idle);
                }
                false
            }
        }
    }

    /// A die has been idle for as long as background collection asks for.
    pub(super) fn idle_expired(&mut self, die: u32) {
        self.forward.waits[die as usize] = false;
        if self.begin_on(die) {
            self.wake(die);
        }
    }

    /// A die takes a command: it is idle no more.
    #[inline]
    pub(super) fn end_idle_time(&mut self, die: u32) {
        if self.forward.waits[die as usize] {
            self.forward.waits[die as usize] = false;
            self.timers.stop(self.timing.idle.0, self.rank_of_array(die));
        }
    }

    /// Whether no page waits for a channel or die.
    fn is_out_of_pages(&self, scope: u32) -> bool {
        let dies = self.forward.dies_per_scope;
        !(scope * dies..(scope + 1) * dies).any(|die| self.has_pages(die))
    }

    /// Whether pages wait for a die, in its queues or in the write buffer.
    fn has_pages(&self, die: u32) -> bool {
        let waits = |queue: u32| {
            let buffered = self.buffer.as_ref().is_some_and(|buffer| buffer.has_waiting(queue));
            buffered || self.writes[queue as usize].first().is_some()
        };
        match self.device.ftl.allocation().dynamic() {
            Some(dynamic) => waits(dynamic.queue_of_die(die)),
            None => self.device.ftl.geometry().domains_of_die(die).any(waits),
        }
    }

    /// Whether a page that may leave waits for a domain.
    fn is_waited_for(&self, domain: u32) -> bool {
        let dynamic = self.device.ftl.allocation().dynamic();
        let queue =
            dynamic.map_or(domain, |dynamic| dynamic.queue_of_die(self.device.ftl.geometry().die_of_domain(domain)));
        self.has_writes(queue)
    }

    fn may_begin(&self, domain: u32) -> bool {
        if self.draining || self.device.ftl.is_busy(domain) {
            return false;
        }
        // A page that waits for its old version is not ready, and still not to be kept waiting.
        let is_background = matches!(self.forward.schedule.kind, Kind::Background { .. });
        let is_free = !is_background || !self.is_waited_for(domain);
        is_free && self.device.ftl.spare_units(domain) <= self.forward.schedule.spare_units
    }

    /// Begins collections in the domains of a die. Returns whether one began.
    fn begin_on(&mut self, die: u32) -> bool {
        let mut begun = false;
        for domain in self.device.ftl.geometry().domains_of_die(die) {
            begun |= self.begin_forward(domain);
        }
        begun
    }

    fn begin_forward(&mut self, domain: u32) -> bool {
        let begins = self.may_begin(domain) && self.device.ftl.begin_ahead(domain);
        if begins {
            self.note_collections(domain);
        }
        begins
    }
}

// Going on, and being put down.
impl Timed<'_, '_> {
    /// How the collection of a domain stands. Only for schedules with more than mandatory collections.
    #[inline(never)]
    pub(super) fn standing(&mut self, domain: u32) -> Standing {
        let rests = self.collections[domain as usize].is_between_groups() && self.device.ftl.rests(domain);
        if !rests || !self.is_ahead(domain) {
            return Standing::Goes;
        }
        let stops = match self.forward.schedule.kind {
            Kind::Threshold => false,
            Kind::Forwarding { .. } | Kind::Background { .. } => self.is_waited_for(domain),
            Kind::CycleFilling { .. } => self.forward.initiator.is_none(),
        };
        if stops && self.forward.schedule.preempts && self.device.ftl.suspend(domain) {
            self.collections[domain as usize].forget_group();
            self.device.recorder.counters.gc_preempted += 1;
            return Standing::PutDown;
        }
        if self.may_take_turn(domain) { Standing::Goes } else { Standing::Waits }
    }

    /// Whether a collection that fills another one's time may begin with its next page or logical block, or its next
    /// erase: it keeps step with the initiator, so that the planes of a die can share their commands and preemption
    /// points come together (sections 3.4 and 3.5). An empty victim is erased when the initiator erases its own; until
    /// then the next one is begun with.
    fn may_take_turn(&mut self, domain: u32) -> bool {
        if !self.forward.counts_turns() {
            return true;
        }
        let Some(initiator) = self.forward.initiator else { return true };
        let (of_initiator, own) = (self.forward.turns[initiator as usize], self.forward.turns[domain as usize]);
        own.erases < of_initiator.erases && self.device.ftl.has_emptied(domain)
            || own.copies < of_initiator.copies && self.device.ftl.take_turn(domain, Turn::Copy)
    }

    /// Whether a domain is collected ahead of need.
    fn is_ahead(&self, domain: u32) -> bool {
        self.device.ftl.why(domain).is_some_and(|why| !why.is_foreground())
    }

    /// What the next step of a domain's collection begins with, where turns are counted. An erase that is due is made the
    /// next step.
    #[inline]
    pub(super) fn turn_of(&mut self, domain: u32) -> Option<Turn> {
        if self.forward.counts_turns() { self.next_turn(domain) } else { None }
    }

    #[inline(never)]
    fn next_turn(&mut self, domain: u32) -> Option<Turn> {
        let initiator = self.forward.initiator?;
        let rests = self.collections[domain as usize].is_between_groups() && self.device.ftl.rests(domain);
        if !rests || domain != initiator && !self.is_ahead(domain) {
            return None;
        }
        if !self.device.ftl.has_emptied(domain) {
            return Some(Turn::Copy);
        }
        if domain == initiator {
            return Some(Turn::Erase);
        }
        if self.forward.turns[domain as usize].erases < self.forward.turns[initiator as usize].erases {
            self.device.ftl.take_turn(domain, Turn::Erase);
            self.collections[domain as usize].forget_group();
            return Some(Turn::Erase);
        }
        Some(Turn::Copy)
    }

    /// A domain took its turn.
    #[inline]
    pub(super) fn count_turn(&mut self, domain: u32, turn: Option<Turn>) {
        let Some(turn) = turn else { return };
        let turns = &mut self.forward.turns[domain as usize];
        match turn {
            Turn::Copy => turns.copies += 1,
            Turn::Erase => turns.erases += 1,
        }
        if self.forward.initiator == Some(domain) {
            self.wake_all();
        }
    }
}

// Mandatory collections elsewhere.
impl Timed<'_, '_> {
    /// Takes note of whether a domain is in mandatory collection; called wherever one may have begun or ended.
    #[inline]
    pub(super) fn note_need(&mut self, domain: u32) {
        if !self.forward.is_threshold() {
            let needs = self.device.ftl.why(domain).is_some_and(ftl::Why::is_for_room);
            if self.forward.needy[domain as usize] != needs {
                self.need_changed(domain);
            }
        }
    }

    #[inline(never)]
    fn need_changed(&mut self, domain: u32) {
        let needs = !self.forward.needy[domain as usize];
        self.forward.needy[domain as usize] = needs;
        let die = self.device.ftl.geometry().die_of_domain(domain);
        let scope = &mut self.forward.needy_in[(die / self.forward.dies_per_scope) as usize];
        if needs {
            *scope += 1;
            self.forward.needy_scopes += u32::from(*scope == 1);
        } else {
            *scope -= 1;
            self.forward.needy_scopes -= u32::from(*scope == 0);
        }
        match self.forward.schedule.kind {
            Kind::Threshold | Kind::Background { .. } => {}
            // Who was idle before may go ahead now.
            Kind::Forwarding { .. } if needs => self.wake_all(),
            Kind::Forwarding { .. } => {}
            Kind::CycleFilling { .. } if needs && self.forward.initiator.is_none() => self.initiate(domain),
            Kind::CycleFilling { .. } if !needs && self.forward.initiator == Some(domain) => self.conclude(),
            Kind::CycleFilling { .. } => {}
        }
    }

    /// A collection ahead of need came to its end; perhaps there is time for another one.
    pub(super) fn follow_up(&mut self, domain: u32) {
        match self.forward.schedule.kind {
            Kind::CycleFilling { .. } if self.forward.initiator.is_some() => {
                self.begin_forward(domain);
            }
            Kind::Background { .. } => {
                self.begin_forward(domain);
            }
            _ => {}
        }
    }

    /// A mandatory collection is filled by collections everywhere else.
    fn initiate(&mut self, initiator: u32) {
        self.forward.initiator = Some(initiator);
        self.forward.turns.fill(Turns::default());
        for domain in (0..self.device.ftl.geometry().domains()).filter(|&domain| domain != initiator) {
            self.begin_forward(domain);
        }
        self.wake_all();
    }

    /// The initiator is done. Who else is in mandatory collection by now is the next one; of several, the first.
    fn conclude(&mut self) {
        self.forward.initiator = None;
        self.wake_all();
        if let Some(next) = self.forward.needy.iter().position(|&needs| needs) {
            self.initiate(next as u32);
        }
    }

    fn wake_all(&mut self) {
        for die in 0..self.dies.len() as u32 {
            self.wake(die);
        }
    }
}
