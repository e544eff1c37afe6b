//! IPR (Wu et al.): read-hot pages go to read-hot blocks, which are reprogrammed to low density in place.

use base::{Choice, Domain, Geometry, Param, ParamKind, Ppn, ReadLimits, Unit};

use super::super::inside::Inside;
use super::super::refresh::{RefreshPlan, RefreshWork};
use super::super::{Disturb, HOT};
use super::hot_low_density::LOW_DENSITY;
use super::{ATTRIBUTION, AVERAGE, BLOCKS_READS, EVICTED, FULL, MARGIN, MONITOR, Of, Shares};
use crate::kernel::{Kernel, Placement};
use crate::mechanism::{Combined, Product};
use crate::victim::UnitState;
use crate::{Figures, Policies};

const POOL: Param = Param {
    name: "pool",
    kind: ParamKind::Number { default: 0.2, min: 0.0, max: 1.0 },
    doc: "Share of a plane's blocks, at its highest addresses, that read-hot pages go to first and that alone are reprogrammed.",
};
const POOL_VICTIMS: Param = Param::word(
    "pool_victims",
    &["any", "gaining"],
    "Which blocks of the pool are collected for read-hot pages, those of low density, read-hot ones and leveled ones aside: \
     `any`: the emptiest, also if all of its pages are valid, as the paper lists no other; `gaining`: only one with an invalid page.",
);
const RECENT: Param = Param {
    name: "recent",
    kind: ParamKind::Number { default: 0.0625, min: 0.0, max: 1000.0 },
    doc: "How long a block counts as recently involved in wear leveling, which is no victim of the pool then: until so many blocks \
          were filled after it, as a share of all.",
};
const AT_ONCE: Param = Param {
    name: "at_once",
    kind: ParamKind::Integer { default: 1, min: 1, max: 3 },
    doc: "Read-hot blocks that are reprogrammed together: the one that needs it, and the most read of the others that have \
          taken half of their reads.",
};

pub(super) const CHOICE: Choice = Choice {
    name: "ipr",
    doc: "Read-hot pages go to read-hot blocks, which are reprogrammed to low density in place (Wu et al., IPR).",
    params: &[
        LOW_DENSITY,
        MONITOR,
        POOL,
        POOL_VICTIMS,
        RECENT,
        AT_ONCE,
        FULL,
        EVICTED,
        AVERAGE,
        MARGIN,
        ATTRIBUTION,
        BLOCKS_READS,
    ],
};

pub(super) fn shares(of: Of<'_>) -> Shares {
    Shares {
        monitors: of.units("monitor"),
        kept: of.units("low_density"),
        capacity: of.low_density(),
        opened: 1,
        pool: of.geometry.units_per_domain() - of.units("pool"),
        recent: (of.selection.number("recent") * f64::from(of.geometry.units())) as u32,
    }
}

pub(super) fn refusal(
    policies: &Policies<'_>,
    geometry: &Geometry,
    limits: &ReadLimits,
) -> Option<(String, &'static str)> {
    let after = geometry.pages_per_block + 2 * policies.read_disturb.integer("margin");
    let before = if limits.restarts { 0 } else { limits.full };
    (limits.low < before + after).then(|| {
        let message = format!(
            "leaves a block that was reprogrammed hardly a read: low density takes {}, of which {before} are used up by then",
            limits.low
        );
        (message, "set a larger second number of `device.wear.read_limit`")
    })
}

impl Disturb {
    /// A unit of read-hot pages at full density.
    pub(in crate::mechanism::disturb) fn plan_reprogram(
        &mut self,
        kernel: &Kernel,
        domain: Domain,
        unit: Unit,
    ) -> RefreshPlan {
        let state = *self.states.of(unit);
        if let Some(victim) = self.victim_of_pool(kernel, domain, kernel.valid_of(unit) / self.cell.bits()) {
            return RefreshPlan::FromPool(victim);
        }
        let moves = RefreshPlan::Move(RefreshWork::All(unit, HOT));
        if state.is_low || state.is_halfway {
            return moves;
        }
        if !self.is_in_pool(kernel, unit) {
            self.done.skipped += 1;
            return moves;
        }
        if self.domain(domain).kept >= self.kept_share(domain) {
            return match self.evictable(kernel, domain) {
                Some(other) if self.options.evicts => RefreshPlan::Evict(other),
                _ => moves,
            };
        }
        RefreshPlan::Move(RefreshWork::Inside(Inside::reprogramming(unit, state.end, HOT, self.limits.restarts)))
    }

    /// The victim of the pool that read-hot pages need, if so many do not fit where they are written now and no unit of the
    /// pool is free; asked for once per refresh.
    pub(in crate::mechanism::disturb) fn victim_of_pool(
        &mut self,
        kernel: &Kernel,
        domain: Domain,
        pages: u32,
    ) -> Option<Unit> {
        let needs_unit = self.room_in(kernel, domain, HOT) < pages && !kernel.has_free_from(domain, self.shares.pool);
        if !needs_unit || std::mem::replace(&mut self.domain_mut(domain).has_tried_pool, true) {
            return None;
        }
        let units = kernel.geometry().units_of_domain(domain).skip(self.shares.pool as usize);
        units
            .filter(|&unit| {
                kernel.state_of(unit) == UnitState::Closed
                    && (self.options.takes_full_of_pool || kernel.gain_of(unit) > 0)
                    && !self.was_leveled_recently(kernel, unit)
                    && self.class_of(kernel, unit) != HOT
            })
            .min_by_key(|&unit| kernel.valid_of(unit))
    }

    /// True if wear leveling had to do with a unit a short time ago: it emptied it before it was filled, or filled it with
    /// cold data.
    fn was_leveled_recently(&self, kernel: &Kernel, unit: Unit) -> bool {
        let was_leveled = self.states.of(unit).is_leveled || kernel.streams().is_cold(kernel.stream_of(unit));
        was_leveled && kernel.filled_after(unit) < self.shares.recent
    }

    /// Other read-hot units that are reprogrammed together with one.
    pub(in crate::mechanism::disturb) fn take_along(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        let half = self.limits.full / 2;
        for _ in 1..self.options.at_once {
            if self.domain(domain).kept + self.domain(domain).due.len() as u32 + 1 >= self.kept_share(domain) {
                return;
            }
            let units = kernel.geometry().units_of_domain(domain).skip(self.shares.pool as usize);
            let others = units.filter(|&other| {
                let state = self.states.of(other);
                other != unit
                    && kernel.state_of(other) == UnitState::Closed
                    && self.class_of(kernel, other) == HOT
                    && !state.is_low
                    && !state.is_halfway
                    && self.counters.of_unit(other) >= half
                    && !self.domain(domain).due.contains(&other)
            });
            let Some(most) = others.max_by_key(|&other| self.counters.of_unit(other)) else { return };
            self.states.of_mut(most).is_early = true;
            self.domain_mut(domain).due.push(most);
        }
    }

    /// The top page of the wordline that is reprogrammed next.
    pub(in crate::mechanism::disturb) fn next_guard(&self, domain: Domain) -> Ppn {
        match &self.domain(domain).work {
            Some(RefreshWork::Inside(work)) => work.top.expect("a wordline in hand"),
            _ => unreachable!("a wordline is reprogrammed when it was asked for"),
        }
    }

    /// It is reprogrammed now.
    pub(in crate::mechanism::disturb) fn reprogrammed(&mut self, kernel: &Kernel, domain: Domain) -> Combined {
        let at = self.next_guard(domain);
        self.line_done(kernel, domain);
        Combined { place: Placement { at, filled: None }, product: Product::Guard }
    }

    pub(in crate::mechanism::disturb) fn figures_of_reprograms(&self, figures: &mut Figures) {
        let done = &self.done;
        figures.counts("read_disturb", "used_reads", &done.used_reads);
        let [reprograms, cycles] = self.states.cycles();
        figures.ratio("read_disturb", "ipr_rate", reprograms, cycles);
        figures.ratio("read_disturb", "skipped", done.skipped, done.skipped + done.reprogrammed);
    }
}
