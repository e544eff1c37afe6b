//! Collections in time: in which order they began, who begins one ahead of need, how far it may go, and when it is
//! suspended (Wen and Chang, GC forwarding, Table 1).
//!
//! Foreground GC needs nothing of this but the number of its collections. Under `threshold` no question here costs more than a
//! branch.

use base::{Cause, Die, Domain, Duration, Instant, OpKind, Queue};
use ftl::schedule::{Kind, Pace, Schedule};
use ftl::{Ahead, AheadPhase, DomainWork};

use super::collections::Collections;
use super::context::Context;
use super::host::Host;
use super::plain::keys::Begun;
use super::plan::Plan;
use super::windows::Windows;

/// The part of a domain in a cycle filling: pages (or logical blocks) that it began to copy, and erases of its victims.
#[derive(Clone, Copy, Default)]
struct FillProgress {
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
    /// By domain: whether it is in foreground GC.
    in_foreground: Vec<bool>,
    /// By channel or die, whichever the schedule looks at: its domains in foreground GC.
    foreground_in: Vec<u32>,
    /// Channels or dies with such a domain.
    foreground_scopes: u32,
    /// Dies of a channel or, where the schedule looks at dies, 1.
    dies_per_scope: u32,
    /// Cycle filling: the domain whose foreground collection the others fill.
    initiator: Option<Domain>,
    /// By domain: what it did since the initiator began.
    progress: Vec<FillProgress>,
    /// Deterministic windows, if the drive promises any.
    windows: Option<Box<Windows>>,
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

/// A die with nothing to do, and how it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    /// It does no work.
    Rests,
    /// It does no work, but is told when it has been idle for that long.
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
            in_foreground: vec![false; domains],
            foreground_in: vec![0; (geometry.dies() / dies_per_scope) as usize],
            foreground_scopes: 0,
            dies_per_scope,
            initiator: None,
            progress: vec![FillProgress::default(); domains],
            windows: Windows::new(&rule, geometry),
        }
    }

    /// True if collections keep step with each other.
    #[inline]
    pub(super) fn keeps_step(&self) -> bool {
        matches!(self.rule.kind, Kind::CycleFilling(Pace::Initiator | Pace::Kind))
    }

    /// True if they do by the kind of operation alone, whatever it is for.
    #[inline]
    pub(super) fn keeps_kind(&self) -> bool {
        self.rule.kind == Kind::CycleFilling(Pace::Kind)
    }

    /// True if there is only foreground GC.
    #[inline]
    pub(super) fn is_threshold(&self, plan: &impl Plan) -> bool {
        !plan.has().schedules || self.rule.is_threshold()
    }

    /// True if no collection begins for what others do: all are foreground GC, or keep step with the host.
    #[inline]
    pub(super) fn waits_for_need(&self, plan: &impl Plan) -> bool {
        self.is_threshold(plan) || self.is_paced()
    }

    /// The number of a domain's last collection.
    #[inline]
    pub(super) fn last_begun(&self, domain: Domain) -> u64 {
        self.last_begun[domain.index()]
    }
}

// Beginning.
impl GcSchedule {
    /// Notes which collections begin; called wherever one of this domain may.
    #[inline]
    pub(super) fn note_collections(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) {
        if context.device.ftl.work(domain).is_some() {
            self.note_collection(context, domain);
        } else {
            context.queues.note_collection(domain, None);
        }
        self.note_neighbours(context);
        self.note_foreground(context, host, domain);
    }

    /// Notes which collections began along with another one.
    #[inline]
    pub(super) fn note_neighbours(&mut self, context: &mut Context<'_, impl Plan>) {
        let Some(elsewhere) = context.device.has.elsewhere else { return };
        for neighbour in elsewhere.take_along(&mut context.device.ftl) {
            self.note_collection(context, neighbour);
            context.queues.wake(context.device.flash.geometry().die_of_domain(neighbour));
        }
    }

    #[inline]
    fn note_collection(&mut self, context: &mut Context<'_, impl Plan>, domain: Domain) {
        self.begun += 1;
        self.last_begun[domain.index()] = self.begun;
        let is_awaited =
            !context.plan.has().mechanisms || context.device.ftl.work(domain).is_none_or(DomainWork::is_foreground);
        context.queues.note_collection(domain, Some(Begun { number: self.begun, is_awaited }));
    }

    /// A die has nothing to do.
    pub(super) fn fill_idle_time(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, die: Die) -> Idle {
        match self.rule.kind {
            Kind::Threshold | Kind::CycleFilling(_) | Kind::Paced { .. } | Kind::Windows { .. } => Idle::Rests,
            Kind::Forwarding { congestion, .. } => {
                let scope = self.scope_of(die);
                let elsewhere = self.foreground_scopes - u32::from(self.foreground_in[scope] > 0);
                let begins = (!congestion || elsewhere > 0)
                    && self.is_out_of_pages(context, host, scope)
                    && self.begin_on(context, host, die);
                if begins { Idle::Collects } else { Idle::Rests }
            }
            Kind::Background { idle } => {
                let mut domains = context.device.flash.geometry().domains_of_die(die);
                let begins = domains.any(|domain| self.may_begin(context, host, domain));
                if begins { Idle::Times(idle) } else { Idle::Rests }
            }
        }
    }

    /// True if no page waits for a channel or die.
    fn is_out_of_pages(&self, context: &Context<'_, impl Plan>, host: &Host, scope: usize) -> bool {
        let dies = self.dies_per_scope as usize;
        let of_scope = context.device.flash.geometry().all_dies().skip(scope * dies).take(dies);
        !of_scope.into_iter().any(|die| has_pages(context, host, die))
    }

    /// The channel or die, whichever the schedule looks at, that a die belongs to.
    fn scope_of(&self, die: Die) -> usize {
        (die.number() / self.dies_per_scope) as usize
    }

    /// True if a collection ahead of need may begin in a domain, unless the FTL finds that it has spare units enough.
    fn may_begin(&self, context: &Context<'_, impl Plan>, host: &Host, domain: Domain) -> bool {
        if context.draining || context.device.ftl.work(domain).is_some() {
            return false;
        }
        // A page that waits for its old version is not ready, and still not to be kept waiting.
        let is_background = matches!(self.rule.kind, Kind::Background { .. });
        !is_background || !is_waited_for(context, host, domain)
    }

    /// Begins collections in the domains of a die. Returns whether one began.
    pub(super) fn begin_on(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, die: Die) -> bool {
        let mut begun = false;
        for domain in context.device.flash.geometry().domains_of_die(die) {
            begun |= self.begin_forward(context, host, domain);
        }
        begun
    }

    #[inline(never)]
    fn begin_forward(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) -> bool {
        let Some(ahead) = context.device.has.ahead else { return false };
        let begins = self.may_begin(context, host, domain) && ahead.begin(&mut context.device.ftl, domain, 0);
        if begins {
            self.note_collections(context, host, domain);
        }
        begins
    }

    /// A domain is free: where step is kept by kind, it follows an initiator that began while it was busy with its map; between
    /// deterministic windows it collects ahead of the next one. Returns whether it does.
    #[inline]
    pub(super) fn join_late(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) -> bool {
        let begins = match &self.windows {
            Some(windows) => windows.may_collect(domain, is_waited_for(context, host, domain)),
            None => self.keeps_kind() && self.initiator.is_some(),
        };
        begins && self.begin_forward(context, host, domain)
    }

    /// A collection ahead of need came to its end; perhaps there is time for another one.
    pub(super) fn follow_up(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) {
        if let Some(windows) = &mut self.windows {
            windows.collected(domain);
        }
        let goes_on = match self.rule.kind {
            Kind::CycleFilling(_) => self.initiator.is_some(),
            Kind::Background { .. } => true,
            Kind::Threshold | Kind::Forwarding { .. } | Kind::Paced { .. } | Kind::Windows { .. } => false,
        };
        if goes_on {
            self.begin_forward(context, host, domain);
        }
    }
}

/// True if pages wait for a die, in its queues or in the write buffer.
fn has_pages(context: &Context<'_, impl Plan>, host: &Host, die: Die) -> bool {
    let has_pages = |queue| host.has_pages(&context.queues, queue);
    match context.device.allocation.dynamic() {
        Some(dynamic) => has_pages(dynamic.queue_of_die(die)),
        None => context.device.flash.geometry().domains_of_die(die).map(Queue::of_domain).any(has_pages),
    }
}

/// True if a page that may leave waits for a domain.
fn is_waited_for(context: &Context<'_, impl Plan>, host: &Host, domain: Domain) -> bool {
    host.has_writes(&context.queues, context.queue_of(domain))
}

/// True if a domain is collected ahead of need.
fn is_forward(context: &Context<'_, impl Plan>, domain: Domain) -> bool {
    context.device.ftl.work(domain).is_some_and(|work| !work.is_foreground())
}

// Going on, and being suspended.
impl GcSchedule {
    /// How the collection of a domain stands. Only for schedules with more than foreground GC.
    #[inline(never)]
    pub(super) fn standing(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        collections: &mut Collections,
        domain: Domain,
    ) -> Standing {
        let Some(ahead) = context.device.has.ahead else { return Standing::Goes };
        let rests = collections.is_between_groups(domain) && ahead.rests(&context.device.ftl, domain).is_some();
        if !rests || !is_forward(context, domain) {
            return Standing::Goes;
        }
        let stops = match self.rule.kind {
            Kind::Threshold => false,
            Kind::Forwarding { .. } | Kind::Background { .. } => is_waited_for(context, host, domain),
            Kind::CycleFilling(_) => self.initiator.is_none(),
            Kind::Windows { .. } => {
                context.draining || self.windows.as_ref().is_some_and(|windows| windows.stop_collections())
            }
            // As soon as it has done what is due, which the FTL knows.
            Kind::Paced { .. } => true,
        };
        if stops && self.rule.preempts && ahead.suspend(&mut context.device.ftl, domain) {
            collections.forget_group(domain);
            if let Some(windows) = &mut self.windows {
                windows.suspended(domain);
            }
            // Nobody preempts a collection that did what was due.
            context.device.recorder.counters.gc_preempted += u64::from(!self.is_paced());
            return Standing::Suspended;
        }
        if self.may_begin_phase(context, ahead, domain) { Standing::Goes } else { Standing::Waits }
    }

    /// True if a collection that fills another one's time may begin with its next page or logical block, or its next
    /// erase: it keeps step with the initiator, so that the planes of a die can share their commands and preemption
    /// points come together (sections 3.4 and 3.5). An empty victim is erased when the initiator erases its own; until
    /// then the next one is begun with, if it may be.
    fn may_begin_phase(&self, context: &mut Context<'_, impl Plan>, ahead: Ahead, domain: Domain) -> bool {
        if !self.keeps_step() || self.keeps_kind() {
            return true;
        }
        let Some(initiator) = self.initiator else { return true };
        let (of_initiator, own) = (self.progress[initiator.index()], self.progress[domain.index()]);
        own.erases < of_initiator.erases && ahead.rests(&context.device.ftl, domain) == Some(AheadPhase::Erase)
            || own.copies < of_initiator.copies && ahead.copy_next(&mut context.device.ftl, domain)
    }

    /// The phase that the next step of a domain's collection begins, where it keeps step with the initiator. An erase that is due is made the
    /// next step.
    #[inline]
    pub(super) fn phase_of(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        collections: &mut Collections,
        domain: Domain,
    ) -> Option<AheadPhase> {
        if self.keeps_step() { self.next_phase(context, collections, domain) } else { None }
    }

    #[inline(never)]
    fn next_phase(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        collections: &mut Collections,
        domain: Domain,
    ) -> Option<AheadPhase> {
        let (initiator, ahead) = (self.initiator?, context.device.has.ahead?);
        if !collections.is_between_groups(domain) {
            return None;
        }
        let rests = ahead.rests(&context.device.ftl, domain)?;
        if domain != initiator && !is_forward(context, domain) {
            return None;
        }
        if rests == AheadPhase::Copy {
            return Some(AheadPhase::Copy);
        }
        if domain == initiator {
            return Some(AheadPhase::Erase);
        }
        // What keeps step by kind alone erases too soon rather than wait, where there is no room to empty another victim.
        if self.progress[domain.index()].erases < self.progress[initiator.index()].erases
            || self.keeps_kind() && !ahead.copy_next(&mut context.device.ftl, domain)
        {
            ahead.erase_next(&mut context.device.ftl, domain);
            collections.forget_group(domain);
            return Some(AheadPhase::Erase);
        }
        Some(AheadPhase::Copy)
    }

    /// A domain goes on with a phase.
    #[inline]
    pub(super) fn count_phase(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        domain: Domain,
        phase: Option<AheadPhase>,
    ) {
        let Some(phase) = phase else { return };
        let progress = &mut self.progress[domain.index()];
        match phase {
            AheadPhase::Copy => progress.copies += 1,
            AheadPhase::Erase => progress.erases += 1,
        }
        if self.initiator == Some(domain) {
            context.queues.wake_all();
        }
    }
}

// In step with the host.
impl GcSchedule {
    /// True if it has to know what the host writes.
    #[inline]
    pub(super) fn counts_writes(&self) -> bool {
        self.is_paced() || self.windows.is_some()
    }

    /// True if collections keep step with the host's writes.
    #[inline]
    fn is_paced(&self) -> bool {
        matches!(self.rule.kind, Kind::Paced { .. })
    }

    /// The host has written so many pages to a domain: as much of a victim moves as is due for them, if it keeps step.
    pub(super) fn keep_pace(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        domain: Domain,
        written: u32,
    ) {
        if let Some(windows) = &mut self.windows {
            return windows.written(domain, written);
        }
        let Some(ahead) = context.device.has.ahead.filter(|_| !context.draining) else { return };
        if ahead.begin(&mut context.device.ftl, domain, written) {
            self.note_collections(context, host, domain);
        }
    }
}

// Deterministic windows.
impl GcSchedule {
    /// Windows begin and end by the time. Returns when the next one does, if there are any.
    pub(super) fn keep_windows(&mut self, context: &mut Context<'_, impl Plan>) -> Option<Instant> {
        self.windows.as_mut().map(|windows| windows.go_on(context))
    }

    /// True if the drive promises deterministic windows.
    pub(super) fn has_windows(&self) -> bool {
        self.windows.is_some()
    }

    /// True in one of them.
    pub(super) fn is_deterministic(&self) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.are_deterministic())
    }

    /// An operation of a domain's collection, or of what a mechanism does besides, begins.
    #[inline]
    pub(super) fn note_step(&mut self, context: &mut Context<'_, impl Plan>, kind: OpKind, cause: Cause) {
        if let Some(windows) = &mut self.windows {
            windows.note_step(context, kind, cause);
        }
    }

    /// A collection has copied so many pages.
    #[inline]
    pub(super) fn note_copies(&mut self, context: &Context<'_, impl Plan>, domain: Domain, pages: u32) {
        if let Some(windows) = &mut self.windows
            && is_forward(context, domain)
        {
            windows.copied(domain, pages);
        }
    }
}

// Foreground GC elsewhere.
impl GcSchedule {
    /// Takes note of whether a domain is in foreground GC; called wherever one may have begun or ended.
    #[inline]
    pub(super) fn note_foreground(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) {
        if !self.is_threshold(&context.plan) {
            let needs = context.device.ftl.work(domain).is_some_and(ftl::DomainWork::is_for_room);
            if self.in_foreground[domain.index()] != needs {
                self.foreground_changed(context, host, domain);
            }
        }
    }

    #[inline(never)]
    fn foreground_changed(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) {
        let needs = !self.in_foreground[domain.index()];
        self.in_foreground[domain.index()] = needs;
        let die = context.device.flash.geometry().die_of_domain(domain);
        let scope = self.scope_of(die);
        let scope = &mut self.foreground_in[scope];
        if needs {
            *scope += 1;
            self.foreground_scopes += u32::from(*scope == 1);
        } else {
            *scope -= 1;
            self.foreground_scopes -= u32::from(*scope == 0);
        }
        match self.rule.kind {
            Kind::Threshold | Kind::Background { .. } | Kind::Paced { .. } | Kind::Windows { .. } => {}
            // Who was idle before may go ahead now.
            Kind::Forwarding { .. } if needs => context.queues.wake_all(),
            Kind::Forwarding { .. } => {}
            Kind::CycleFilling(_) if needs && self.initiator.is_none() => self.initiate(context, host, domain),
            Kind::CycleFilling(_) if !needs && self.initiator == Some(domain) => self.conclude(context, host),
            Kind::CycleFilling(_) => {}
        }
    }

    /// A foreground collection is filled by collections everywhere else.
    fn initiate(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, initiator: Domain) {
        self.initiator = Some(initiator);
        self.progress.fill(FillProgress::default());
        for domain in context.device.flash.geometry().all_domains().filter(|&domain| domain != initiator) {
            self.begin_forward(context, host, domain);
        }
        context.queues.wake_all();
    }

    /// The initiator is done. Who else is in foreground GC by now is the next one; of several, the first.
    fn conclude(&mut self, context: &mut Context<'_, impl Plan>, host: &Host) {
        self.initiator = None;
        context.queues.wake_all();
        if let Some(next) = self.in_foreground.iter().position(|&needs| needs) {
            self.initiate(context, host, Domain::new(next as u32));
        }
    }
}
