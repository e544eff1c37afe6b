//! Deterministic windows (NVMe's Predictable Latency Mode): which one it is, what may begin in it, and when the drive leaves it.
//!
//! Windows are at fixed times. A deterministic one begins late where collections that the host waits for are not over, or not at all. Those
//! ahead of need are suspended for it. In it no operation of a collection and no erase begins: where one has to, the drive leaves the
//! window first, and the next one begins at its time.

use base::Cause;
use base::{Domain, Duration, Instant, OpKind};
use ftl::DomainWork;
use ftl::schedule::{Kind, Schedule};
use metrics::WindowEnd;

use super::context::Context;
use super::plan::Plan;

/// The window in which the device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowPhase {
    /// Collections may begin.
    Nondeterministic,
    /// It is time for a deterministic one, and collections are not over.
    Closing,
    /// No work begins that disturbs reads.
    Deterministic,
}

/// The turns of host and collections in a domain.
#[derive(Clone, Copy, Default)]
struct Turns {
    /// Pages that its collection has copied.
    copied: u32,
    /// Pages that the host may write before the next one begins.
    of_host: u32,
}

/// The windows of a device.
pub(super) struct Windows {
    deterministic: Duration,
    nondeterministic: Duration,
    phase: WindowPhase,
    /// When the deterministic window begins that is next, or in which the device is.
    begin: Instant,
    unit_slots: u32,
    /// By domain.
    turns: Vec<Turns>,
}

impl Windows {
    /// `None`: there are none.
    pub(super) fn new(rule: &Schedule, geometry: &base::Geometry) -> Option<Box<Windows>> {
        let Kind::Windows { deterministic, nondeterministic, .. } = rule.kind else { return None };
        Some(Box::new(Windows {
            deterministic,
            nondeterministic,
            phase: WindowPhase::Nondeterministic,
            begin: Instant::ZERO + nondeterministic,
            unit_slots: geometry.unit_slots(),
            turns: vec![Turns::default(); geometry.domains() as usize],
        }))
    }

    /// True if collections have to stop.
    pub(super) fn stop_collections(&self) -> bool {
        self.phase != WindowPhase::Nondeterministic
    }

    /// True in a deterministic window.
    pub(super) fn are_deterministic(&self) -> bool {
        self.phase == WindowPhase::Deterministic
    }

    /// Goes on by the time. Returns when to look again.
    pub(super) fn go_on(&mut self, context: &mut Context<'_, impl Plan>) -> Instant {
        while self.stop_collections() && context.now >= self.begin + self.deterministic {
            let windows = context.device.recorder.windows.as_deref_mut();
            match (self.phase, windows) {
                (WindowPhase::Closing, Some(figures)) => figures.misses(),
                (_, Some(figures)) => figures.ends(self.begin + self.deterministic, WindowEnd::Time),
                (_, None) => {}
            }
            self.end(context);
        }
        if self.phase == WindowPhase::Nondeterministic && context.now >= self.begin {
            self.phase = WindowPhase::Closing;
        }
        if self.phase == WindowPhase::Closing && !collects(context) {
            self.phase = WindowPhase::Deterministic;
            if let Some(figures) = &mut context.device.recorder.windows {
                figures.begins(context.now);
            }
        }
        if self.stop_collections() { self.begin + self.deterministic } else { self.begin }
    }

    /// Collections may begin, until the next deterministic window.
    fn end(&mut self, context: &mut Context<'_, impl Plan>) {
        self.phase = WindowPhase::Nondeterministic;
        self.begin = self.begin + self.deterministic + self.nondeterministic;
        context.queues.wake_all();
    }

    /// An operation of a domain begins now. If it is none for a deterministic window, the drive leaves that.
    pub(super) fn note_step(&mut self, context: &mut Context<'_, impl Plan>, kind: OpKind, cause: Cause) {
        let disturbs = kind == OpKind::Erase || matches!(cause, Cause::Gc | Cause::Refresh | Cause::Wear | Cause::Fold);
        if self.are_deterministic() && disturbs && !context.draining {
            if let Some(figures) = &mut context.device.recorder.windows {
                figures.ends(context.now, WindowEnd::Excursion);
            }
            self.end(context);
        }
    }
}

// Turns: without them the host's writes would wait until all of a domain's stock is free.
impl Windows {
    /// True if a collection ahead of need may begin in a domain; the host waits for it, or not.
    pub(super) fn may_collect(&self, domain: Domain, host_waits: bool) -> bool {
        self.phase == WindowPhase::Nondeterministic && (!host_waits || self.turns[domain.index()].of_host == 0)
    }

    /// A domain's collection has copied so many pages.
    pub(super) fn copied(&mut self, domain: Domain, pages: u32) {
        self.turns[domain.index()].copied += pages;
    }

    /// A domain's collection is suspended, and its unit given back.
    pub(super) fn suspended(&mut self, domain: Domain) {
        self.turns[domain.index()] = Turns::default();
    }

    /// A domain's collection is over: the host writes half as many pages as it gained.
    pub(super) fn collected(&mut self, domain: Domain) {
        let turns = &mut self.turns[domain.index()];
        turns.of_host = self.unit_slots.saturating_sub(turns.copied) / 2;
        turns.copied = 0;
    }

    /// The host has written so many pages to a domain.
    pub(super) fn written(&mut self, domain: Domain, pages: u32) {
        let turns = &mut self.turns[domain.index()];
        turns.of_host = turns.of_host.saturating_sub(pages);
    }
}

/// True if a domain is collected, for whatever reason.
fn collects(context: &Context<'_, impl Plan>) -> bool {
    let ftl = &context.device.ftl;
    let mut domains = context.device.flash.geometry().all_domains();
    domains.any(|domain| matches!(ftl.work(domain), Some(DomainWork::Collection(_))))
}
