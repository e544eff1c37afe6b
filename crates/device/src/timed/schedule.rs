//! Collections in time: in which order they began, who begins one ahead of need, how far it may go, and when it is
//! suspended (Wen and Chang, GC forwarding, Table 1).
//!
//! Mandatory collections need nothing of this but their number. Under `threshold` no question here costs more than a
//! branch.

use base::Duration;
use ftl::Turn;
use ftl::schedule::{Kind, Schedule};

use super::collections::Collections;
use super::context::Context;
use super::host::Host;

/// What a domain did of a cycle filling: pages (or logical blocks) that it began to copy, and erases of its victims.
#[derive(Clone, Copy, Default)]
struct Turns {
    copies: u32,
    erases: u32,
}

/// Who collects, and since when.
pub(super) struct GcSchedule {
    rule: Schedule,
    /// Collections begun.
    begun: u64,
    /// By domain: the number of its last collection, in order of beginning.
    last_begun: Vec<u64>,
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
}

/// How a collection stands with the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its next step may be taken.
    Goes,
    /// It has to wait for the collection that it fills.
    Waits,
    /// It was suspended.
    Suspended,
}

/// What a die does that has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// Nothing.
    Rests,
    /// Nothing; but it is to be told when it has been idle for that long.
    Times(Duration),
    /// It collects ahead of need.
    Collects,
}

impl GcSchedule {
    /// Bytes for each domain.
    pub(super) const BYTES_OF_DOMAIN: usize = size_of::<u64>();

    pub(super) fn new(rule: Schedule, geometry: &base::Geometry) -> GcSchedule {
        let by_die = matches!(rule.kind, Kind::Forwarding { by_die: true, .. });
        let dies_per_scope = if by_die { 1 } else { geometry.dies() / geometry.channels };
        let domains = if rule.is_threshold() { 0 } else { geometry.domains() as usize };
        GcSchedule {
            rule,
            begun: 0,
            last_begun: vec![0; geometry.domains() as usize],
            needy: vec![false; domains],
            needy_in: vec![0; (geometry.dies() / dies_per_scope) as usize],
            needy_scopes: 0,
            dies_per_scope,
            initiator: None,
            turns: vec![Turns::default(); domains],
        }
    }

    /// Whether collections keep step with each other.
    #[inline]
    fn counts_turns(&self) -> bool {
        self.rule.kind == Kind::CycleFilling { in_step: true }
    }

    /// Whether there are only mandatory collections.
    #[inline]
    pub(super) fn is_threshold(&self) -> bool {
        self.rule.is_threshold()
    }

    /// The number of a domain's last collection.
    #[inline]
    pub(super) fn last_begun(&self, domain: u32) -> u64 {
        self.last_begun[domain as usize]
    }
}

// Beginning.
impl GcSchedule {
    /// Notes which collections begin; called wherever one of this domain may.
    #[inline]
    pub(super) fn note_collections(&mut self, context: &mut Context<'_>, host: &Host, domain: u32) {
        if context.device.ftl.is_busy(domain) {
            self.note_collection(domain);
        }
        self.note_neighbours(context);
        self.note_need(context, host, domain);
    }

    /// Notes which collections began along with another one.
    #[inline]
    pub(super) fn note_neighbours(&mut self, context: &mut Context<'_>) {
        for neighbour in context.device.ftl.take_early() {
            self.note_collection(neighbour);
            context.queues.wake(context.device.ftl.geometry().die_of_domain(neighbour));
        }
    }

    #[inline]
    fn note_collection(&mut self, domain: u32) {
        self.begun += 1;
        self.last_begun[domain as usize] = self.begun;
    }

    /// A die has nothing to do.
    pub(super) fn fill_idle_time(&mut self, context: &mut Context<'_>, host: &Host, die: u32) -> Idle {
        match self.rule.kind {
            Kind::Threshold | Kind::CycleFilling { .. } => Idle::Rests,
            Kind::Forwarding { congestion, .. } => {
                let scope = die / self.dies_per_scope;
                let elsewhere = self.needy_scopes - u32::from(self.needy_in[scope as usize] > 0);
                let begins = (!congestion || elsewhere > 0)
                    && self.is_out_of_pages(context, host, scope)
                    && self.begin_on(context, host, die);
                if begins { Idle::Collects } else { Idle::Rests }
            }
            Kind::Background { idle } => {
                let mut domains = context.device.ftl.geometry().domains_of_die(die);
                let begins = domains.any(|domain| self.may_begin(context, host, domain));
                if begins { Idle::Times(idle) } else { Idle::Rests }
            }
        }
    }

    /// Whether no page waits for a channel or die.
    fn is_out_of_pages(&self, context: &Context<'_>, host: &Host, scope: u32) -> bool {
        let dies = self.dies_per_scope;
        !(scope * dies..(scope + 1) * dies).any(|die| has_pages(context, host, die))
    }

    fn may_begin(&self, context: &Context<'_>, host: &Host, domain: u32) -> bool {
        if context.draining || context.device.ftl.is_busy(domain) {
            return false;
        }
        // A page that waits for its old version is not ready, and still not to be kept waiting.
        let is_background = matches!(self.rule.kind, Kind::Background { .. });
        let is_free = !is_background || !is_waited_for(context, host, domain);
        is_free && context.device.ftl.spare_units(domain) <= self.rule.spare_units
    }

    /// Begins collections in the domains of a die. Returns whether one began.
    pub(super) fn begin_on(&mut self, context: &mut Context<'_>, host: &Host, die: u32) -> bool {
        let mut begun = false;
        for domain in context.device.ftl.geometry().domains_of_die(die) {
            begun |= self.begin_ahead(context, host, domain);
        }
        begun
    }

    fn begin_ahead(&mut self, context: &mut Context<'_>, host: &Host, domain: u32) -> bool {
        let begins = self.may_begin(context, host, domain) && context.device.ftl.begin_ahead(domain);
        if begins {
            self.note_collections(context, host, domain);
        }
        begins
    }

    /// A collection ahead of need came to its end; perhaps there is time for another one.
    pub(super) fn follow_up(&mut self, context: &mut Context<'_>, host: &Host, domain: u32) {
        let goes_on = match self.rule.kind {
            Kind::CycleFilling { .. } => self.initiator.is_some(),
            Kind::Background { .. } => true,
            Kind::Threshold | Kind::Forwarding { .. } => false,
        };
        if goes_on {
            self.begin_ahead(context, host, domain);
        }
    }
}

/// Whether pages wait for a die, in its queues or in the write buffer.
fn has_pages(context: &Context<'_>, host: &Host, die: u32) -> bool {
    match context.device.ftl.allocation().dynamic() {
        Some(dynamic) => host.has_pages(&context.queues, dynamic.queue_of_die(die)),
        None => context.device.ftl.geometry().domains_of_die(die).any(|queue| host.has_pages(&context.queues, queue)),
    }
}

/// Whether a page that may leave waits for a domain.
fn is_waited_for(context: &Context<'_>, host: &Host, domain: u32) -> bool {
    let (allocation, geometry) = (context.device.ftl.allocation(), context.device.ftl.geometry());
    let queue = allocation.dynamic().map_or(domain, |dynamic| dynamic.queue_of_die(geometry.die_of_domain(domain)));
    host.has_writes(&context.queues, queue)
}

/// Whether a domain is collected ahead of need.
fn is_ahead(context: &Context<'_>, domain: u32) -> bool {
    context.device.ftl.why(domain).is_some_and(|why| !why.is_foreground())
}

// Going on, and being suspended.
impl GcSchedule {
    /// How the collection of a domain stands. Only for schedules with more than mandatory collections.
    #[inline(never)]
    pub(super) fn standing(
        &mut self,
        context: &mut Context<'_>,
        host: &Host,
        collections: &mut Collections,
        domain: u32,
    ) -> Standing {
        let rests = collections.is_between_groups(domain) && context.device.ftl.rests(domain);
        if !rests || !is_ahead(context, domain) {
            return Standing::Goes;
        }
        let stops = match self.rule.kind {
            Kind::Threshold => false,
            Kind::Forwarding { .. } | Kind::Background { .. } => is_waited_for(context, host, domain),
            Kind::CycleFilling { .. } => self.initiator.is_none(),
        };
        if stops && self.rule.preempts && context.device.ftl.suspend(domain) {
            collections.forget_group(domain);
            context.device.recorder.counters.gc_preempted += 1;
            return Standing::Suspended;
        }
        if self.may_take_turn(context, domain) { Standing::Goes } else { Standing::Waits }
    }

    /// Whether a collection that fills another one's time may begin with its next page or logical block, or its next
    /// erase: it keeps step with the initiator, so that the planes of a die can share their commands and preemption
    /// points come together (sections 3.4 and 3.5). An empty victim is erased when the initiator erases its own; until
    /// then the next one is begun with.
    fn may_take_turn(&self, context: &mut Context<'_>, domain: u32) -> bool {
        if !self.counts_turns() {
            return true;
        }
        let Some(initiator) = self.initiator else { return true };
        let (of_initiator, own) = (self.turns[initiator as usize], self.turns[domain as usize]);
        own.erases < of_initiator.erases && context.device.ftl.has_emptied(domain)
            || own.copies < of_initiator.copies && context.device.ftl.take_turn(domain, Turn::Copy)
    }

    /// What the next step of a domain's collection begins with, where turns are counted. An erase that is due is made the
    /// next step.
    #[inline]
    pub(super) fn turn_of(
        &mut self,
        context: &mut Context<'_>,
        collections: &mut Collections,
        domain: u32,
    ) -> Option<Turn> {
        if self.counts_turns() { self.next_turn(context, collections, domain) } else { None }
    }

    #[inline(never)]
    fn next_turn(&mut self, context: &mut Context<'_>, collections: &mut Collections, domain: u32) -> Option<Turn> {
        let initiator = self.initiator?;
        let rests = collections.is_between_groups(domain) && context.device.ftl.rests(domain);
        if !rests || domain != initiator && !is_ahead(context, domain) {
            return None;
        }
        if !context.device.ftl.has_emptied(domain) {
            return Some(Turn::Copy);
        }
        if domain == initiator {
            return Some(Turn::Erase);
        }
        if self.turns[domain as usize].erases < self.turns[initiator as usize].erases {
            context.device.ftl.take_turn(domain, Turn::Erase);
            collections.forget_group(domain);
            return Some(Turn::Erase);
        }
        Some(Turn::Copy)
    }

    /// A domain took its turn.
    #[inline]
    pub(super) fn count_turn(&mut self, context: &mut Context<'_>, domain: u32, turn: Option<Turn>) {
        let Some(turn) = turn else { return };
        let turns = &mut self.turns[domain as usize];
        match turn {
            Turn::Copy => turns.copies += 1,
            Turn::Erase => turns.erases += 1,
        }
        if self.initiator == Some(domain) {
            context.queues.wake_all();
        }
    }
}

// Mandatory collections elsewhere.
impl GcSchedule {
    /// Takes note of whether a domain is in mandatory collection; called wherever one may have begun or ended.
    #[inline]
    pub(super) fn note_need(&mut self, context: &mut Context<'_>, host: &Host, domain: u32) {
        if !self.is_threshold() {
            let needs = context.device.ftl.why(domain).is_some_and(ftl::Why::is_for_room);
            if self.needy[domain as usize] != needs {
                self.need_changed(context, host, domain);
            }
        }
    }

    #[inline(never)]
    fn need_changed(&mut self, context: &mut Context<'_>, host: &Host, domain: u32) {
        let needs = !self.needy[domain as usize];
        self.needy[domain as usize] = needs;
        let die = context.device.ftl.geometry().die_of_domain(domain);
        let scope = &mut self.needy_in[(die / self.dies_per_scope) as usize];
        if needs {
            *scope += 1;
            self.needy_scopes += u32::from(*scope == 1);
        } else {
            *scope -= 1;
            self.needy_scopes -= u32::from(*scope == 0);
        }
        match self.rule.kind {
            Kind::Threshold | Kind::Background { .. } => {}
            // Who was idle before may go ahead now.
            Kind::Forwarding { .. } if needs => context.queues.wake_all(),
            Kind::Forwarding { .. } => {}
            Kind::CycleFilling { .. } if needs && self.initiator.is_none() => self.initiate(context, host, domain),
            Kind::CycleFilling { .. } if !needs && self.initiator == Some(domain) => self.conclude(context, host),
            Kind::CycleFilling { .. } => {}
        }
    }

    /// A mandatory collection is filled by collections everywhere else.
    fn initiate(&mut self, context: &mut Context<'_>, host: &Host, initiator: u32) {
        self.initiator = Some(initiator);
        self.turns.fill(Turns::default());
        for domain in (0..context.device.ftl.geometry().domains()).filter(|&domain| domain != initiator) {
            self.begin_ahead(context, host, domain);
        }
        context.queues.wake_all();
    }

    /// The initiator is done. Who else is in mandatory collection by now is the next one; of several, the first.
    fn conclude(&mut self, context: &mut Context<'_>, host: &Host) {
        self.initiator = None;
        context.queues.wake_all();
        if let Some(next) = self.needy.iter().position(|&needs| needs) {
            self.initiate(context, host, next as u32);
        }
    }
}
