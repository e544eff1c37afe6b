//! Steps of collections. A place is asked for once, as in `programs`.

use base::{Cause, Die, Domain, OpKind, Page, Ppn, Unit};
use ftl::{ANYWHERE, Ahead, Erasure, Ftl, How, Op, Placed, Step, Way};

use super::settle::LookedStep;
use super::{Commands, note_of_tenant, program_placed};
use crate::device::{Device, count_collection, count_moves};
use crate::flash::Content;
use crate::timed::collections::NextStep;
use crate::timed::command::{Carried, Command};
use crate::timed::context::Context;
use crate::timed::gc_schedule::Standing;
use crate::timed::host::Host;
use crate::timed::plan::Plan;

/// Which place suits the first page that a step programs.
#[derive(Clone, Copy)]
enum Suits {
    /// Any: it is the first of the command.
    Any,
    /// One that fits this address.
    Beside(Ppn),
    /// None: the command does something else.
    None,
}

impl Commands {
    /// The next step of a domain's collection, and with it equal steps of the die's other collections that
    /// fit its address. Returns whether there is one.
    pub(super) fn collect(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        command: &mut Command,
        die: Die,
        domain: Domain,
    ) -> bool {
        let phase = self.schedule.phase_of(context, &mut self.collections, domain);
        let Some((next, cause)) = self.collections.next_step(&mut context.device.ftl, domain) else {
            // What was to be protected is stale by now and the host's page can go; or the victim is held, and its
            // collection is over.
            self.schedule.note_foreground(context, host, domain);
            if !context.device.is_read_only() {
                context.queues.wake(die);
            }
            return false;
        };
        self.carry_out_step(context, host, command, die, LookedStep { domain, next, cause, phase })
    }

    /// The step of a domain's collection that was just looked at, and with it equal steps, likewise.
    #[inline(always)] // Once for each step of a collection.
    pub(in crate::timed) fn carry_out_step(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        command: &mut Command,
        die: Die,
        LookedStep { domain, next, cause, phase }: LookedStep,
    ) -> bool {
        if self.destroys(context, domain, next).is_some_and(|unit| context.holds_back(unit)) {
            // From now on the die sees that it waits: where pages gather for their wordlines, since the collection has just begun.
            if !context.assembles() {
                context.queues.hold_erase(domain);
            }
            context.queues.wake(die);
            return false;
        }
        self.schedule.note_step(context, next.kind(), cause);
        self.schedule.count_phase(context, domain, phase);
        if context.device.has.map.is_some() || context.device.has.reads.is_some() {
            // A step for the map, or for pages that were read often, may have begun a collection.
            self.schedule.note_neighbours(context);
            self.schedule.note_foreground(context, host, domain);
        }
        command.begin(next.kind(), cause);
        match next {
            NextStep::Read(_) => self.add_reads(context, command, die, domain),
            NextStep::Program | NextStep::Copy(_) => {
                let is_placed = self.add_programs(context, command, domain, Suits::Any);
                assert!(is_placed, "stale pages were dropped");
            }
            NextStep::Erase(unit) => add_erase(context, command, domain, unit),
        }
        if self.scheduler.merges_collections() && context.device.flash.geometry().domains_per_die() > 1 {
            self.join_steps(context, host, command, die, domain);
        }
        true
    }

    /// The unit in which a step of a domain destroys pages: by an erase, or by programming cells anew.
    #[inline]
    pub(super) fn destroys(&self, context: &Context<'_, impl Plan>, domain: Domain, next: NextStep) -> Option<Unit> {
        match next {
            NextStep::Erase(unit) => Some(unit),
            NextStep::Program if self.collections.step(domain).op == Op::Reprogram => {
                let pages = self.collections.group(domain).pages();
                Some(context.device.flash.geometry().unit_of(pages[0]))
            }
            NextStep::Read(_) | NextStep::Program | NextStep::Copy(_) => None,
        }
    }

    /// Adds equal steps of a die's other collections that fit the first one's address.
    #[inline]
    fn join_steps(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        command: &mut Command,
        die: Die,
        first: Domain,
    ) {
        for domain in context.device.flash.geometry().domains_of_die(die) {
            if domain == first
                || self.collections.is_correcting(die, domain)
                || context.device.ftl.work(domain).is_none()
                || !self.goes(context, host, domain)
            {
                continue;
            }
            self.join_domain(context, host, command, die, domain);
        }
    }

    /// Adds the next step of a domain's collection, if it is equal and fits the first one's address.
    pub(in crate::timed) fn join_domain(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        command: &mut Command,
        die: Die,
        domain: Domain,
    ) {
        let phase = self.schedule.phase_of(context, &mut self.collections, domain);
        let Some((next, cause)) = self.collections.next_step(&mut context.device.ftl, domain) else {
            self.schedule.note_foreground(context, host, domain);
            return;
        };
        let first = command.len();
        let joins = self.join_step(context, command, die, domain, next, cause);
        if joins && !self.schedule.is_threshold(&context.plan) && self.schedule.keeps_kind() {
            command.note_cause(first, cause);
        }
        let is_past = |ahead: Ahead, ftl: &Ftl| ahead.rests(ftl, domain).is_none();
        if joins || context.device.has.ahead.is_some_and(|ahead| is_past(ahead, &context.device.ftl)) {
            self.schedule.count_phase(context, domain, phase);
        }
    }

    /// True if the schedule lets a domain's collection go on.
    #[inline]
    fn goes(&mut self, context: &mut Context<'_, impl Plan>, host: &Host, domain: Domain) -> bool {
        self.schedule.is_threshold(&context.plan)
            || self.schedule.standing(context, host, &mut self.collections, domain) == Standing::Goes
    }

    /// Adds a step to a command, if it is of the same kind, for the same cause where that counts, and fits its address.
    /// Returns whether it does.
    fn join_step(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        die: Die,
        domain: Domain,
        next: NextStep,
        cause: Cause,
    ) -> bool {
        let is_equal = next.kind() == command.kind() && (cause == command.cause() || self.schedule.keeps_kind());
        let (lead, device) = (command.lead(), &context.device);
        match next {
            NextStep::Read(page) => {
                let joins = is_equal && device.flash.may_share_command(lead, page);
                if joins {
                    self.add_reads(context, command, die, domain);
                }
                joins
            }
            NextStep::Program => {
                let is_held = self.destroys(context, domain, next).is_some_and(|unit| context.holds_back(unit));
                let joins = is_equal && command.has_data_in() && !is_held;
                self.add_programs(context, command, domain, if joins { Suits::Beside(lead) } else { Suits::None })
            }
            NextStep::Copy(from) => {
                let lead_source = command.sources().first();
                let joins = is_equal
                    && cause == command.cause()
                    && lead_source.is_some_and(|&source| device.flash.may_share_command(source, from));
                self.add_programs(context, command, domain, if joins { Suits::Beside(lead) } else { Suits::None })
            }
            NextStep::Erase(unit) => {
                let joins = is_equal
                    && device.flash.may_share_erase(device.flash.geometry().unit_of(lead), unit)
                    && !context.holds_back(unit);
                if joins {
                    add_erase(context, command, domain, unit);
                }
                joins
            }
        }
    }

    /// Reads the group's next page, which fits the command, and with it those that do too.
    fn add_reads(&mut self, context: &mut Context<'_, impl Plan>, command: &mut Command, die: Die, domain: Domain) {
        let mut is_first = true;
        if context.device.flash.reads_rows() && self.collections.next_read(domain).is_some() {
            self.add_row(context, command, die, domain);
            is_first = false;
        }
        while let Some((_, page)) = self.collections.next_read(domain) {
            let flash = &mut context.device.flash;
            let comes_along = command.brings(flash.geometry(), page);
            let joins = is_first
                || comes_along
                || flash.may_share_command(command.lead(), page) && command.is_new_plane(flash.geometry(), die, page);
            if !joins {
                return;
            }
            is_first = false;
            let content = if comes_along { flash.read_along(page) } else { flash.read(page) };
            self.collections.add_read(&context.plan, die, domain, content);
            if context.plan.has().mechanisms && !comes_along {
                context.device.note_reads(page, 1);
            }
            command.add(page, Carried::Domain(domain));
        }
    }

    /// Reads the group's next pages that lie in one row, each behind the one before: each flash page once.
    fn add_row(&mut self, context: &mut Context<'_, impl Plan>, command: &mut Command, die: Die, domain: Domain) {
        let Context { device, plan, .. } = context;
        let (pages, before) = (self.collections.unread(domain), command.len());
        let row = device.flash.row(pages[0]);
        let (mut firsts, mut end, mut next, mut count) = (0, row.pages.start, row.pages.start, 0);
        for &page in pages {
            if page.0 < next || page.0 >= row.pages.end {
                break;
            }
            if page.0 >= end {
                if count > 0 && !device.flash.shares_rows() {
                    break;
                }
                firsts |= 1 << count;
                end = device.flash.geometry().flash_page_around(page).end;
                device.flash.read_in(&row, page);
                if plan.has().mechanisms {
                    device.note_reads(page, 1);
                }
            }
            next = page.0 + 1;
            count += 1;
        }
        command.add_all(&pages[..count], Carried::Domain(domain));
        self.collections.add_reads(plan, die, domain, count as u8);
        if before == 0 {
            command.set_firsts(firsts);
        }
    }

    /// Programs what the operation in hand programs: the group, which is put on one page offset, or a page that is made of
    /// it, or a dummy page. Returns whether the place of the first suits.
    #[inline]
    fn add_programs(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        domain: Domain,
        suits: Suits,
    ) -> bool {
        let step = self.collections.step(domain);
        let is_placed = match step.op {
            Op::Move(how) => self.add_copies(context, command, domain, how, suits),
            Op::Combine | Op::Reprogram => self.add_combined(context, command, domain, suits),
            Op::Pad => add_empty(context, command, domain, step, suits),
            Op::Read | Op::Erase(_) => unreachable!("these program nothing"),
        };
        if is_placed {
            for _ in 0..self.collections.group(domain).rest {
                add_empty(context, command, domain, step, Suits::Any);
            }
            if matches!(step.op, Op::Move(_)) {
                let pages = self.collections.group(domain).pages().len();
                self.schedule.note_copies(context, domain, pages as u32);
            }
            self.collections.end_group(domain);
        }
        is_placed
    }

    #[inline]
    fn add_copies(
        &self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        domain: Domain,
        how: How,
        suits: Suits,
    ) -> bool {
        let mut suits = suits;
        let (step, group) = (self.collections.step(domain), self.collections.group(domain));
        let takes_runs = how == How::OffChip && context.takes_runs();
        let mut next = 0;
        while let Some(&from) = group.pages().get(next) {
            if takes_runs
                && matches!(suits, Suits::Any)
                && let Some((first, pages)) = context.device.ftl.place_run(domain, &group.pages()[next..])
            {
                let flash = &mut context.device.flash;
                flash.place_run(first, pages, Some(flash.unit_of(from)));
                count_moves(&mut context.device.recorder.counters, step.cause, pages);
                command.add_run(first, pages, Carried::Domain(domain));
                next += pages as usize;
                continue;
            }
            let Some(placed) = place(context.device, domain, step, &[from], suits) else { return false };
            let at = next;
            next += 1;
            count_moves(&mut context.device.recorder.counters, step.cause, 1);
            note_of_tenant(context, placed, true);
            match how {
                How::OffChip => {
                    add_program(context, command, domain, placed, self.collections.content(domain, at), Some(from));
                }
                How::Copyback => {
                    context.device.flash.place_copy(from, placed).expect_done();
                    if !command.brings(context.device.flash.geometry(), placed.at) {
                        context.device.note_reads(from, 1);
                    }
                    command.add_copied(from, placed.at, Carried::Domain(domain));
                }
            }
            suits = Suits::Any;
        }
        true
    }

    /// Programs what is made of the pages of the group: the exclusive-or of pages, or the next version of a page of the map.
    #[cold]
    fn add_combined(
        &self,
        context: &mut Context<'_, impl Plan>,
        command: &mut Command,
        domain: Domain,
        suits: Suits,
    ) -> bool {
        let (step, group) = (self.collections.step(domain), self.collections.group(domain));
        let mut suits = suits;
        for number in 0..usize::from(group.products) {
            let pages = (number..group.pages().len()).step_by(group.products.into());
            let data = pages.fold(Content::EMPTY, |all, at| all ^ self.collections.content(domain, at));
            let pages = group.of_product(number);
            let Some(placed) = place(context.device, domain, step, pages.pages(), suits) else { return false };
            context.device.recorder.counters.reprograms += u64::from(placed.way == Way::Again);
            add_program(context, command, domain, placed, data, None);
            suits = Suits::Any;
        }
        true
    }

    /// The unit of a domain is erased.
    pub(in crate::timed) fn erased(
        &mut self,
        context: &mut Context<'_, impl Plan>,
        host: &Host,
        domain: Domain,
        unit: Unit,
    ) {
        let erasure = erase(context.device, domain, unit);
        self.collections.erased(context.device.flash.geometry(), unit);
        self.schedule.note_collections(context, host, domain);
        if !self.schedule.is_threshold(&context.plan) && erasure.forward && context.device.ftl.work(domain).is_none() {
            self.schedule.follow_up(context, host, domain);
        }
        count_collection(&mut context.device.recorder.counters, erasure);
        context.device.after_collection();
    }
}

/// The array has erased a unit, or has failed to.
#[inline]
fn erase(device: &mut Device, domain: Domain, unit: Unit) -> Erasure {
    let Device { ftl, flash, .. } = device;
    flash.erase(unit);
    let erasure = ftl.erased(domain, unit, flash.has_failed_erase(unit));
    flash.retire_if_bad(erasure);
    erasure
}

/// Erases the blocks of a unit.
fn add_erase(context: &Context<'_, impl Plan>, command: &mut Command, domain: Domain, unit: Unit) {
    assert!(!context.holds_back(unit), "a unit is erased when newer versions of its pages are programmed");
    let geometry = context.device.flash.geometry();
    for lane in 0..geometry.unit_width {
        command.add(geometry.ppn(unit, geometry.slot_at(Page::FIRST, lane)), Carried::Domain(domain));
    }
}

/// Programs a page that nothing was read for: a dummy page, or a part of a page of the map.
fn add_empty(
    context: &mut Context<'_, impl Plan>,
    command: &mut Command,
    domain: Domain,
    step: Step,
    suits: Suits,
) -> bool {
    let placed = place(context.device, domain, step, &[], suits);
    if let Some(placed) = placed {
        add_program(context, command, domain, placed, Content::EMPTY, None);
    }
    placed.is_some()
}

/// Places a page, if its place suits. A unit is open for it then, whether it does or not.
#[inline(always)]
fn place(device: &mut Device, domain: Domain, step: Step, pages: &[Ppn], suits: Suits) -> Option<Placed> {
    let Device { ftl, flash, .. } = device;
    match suits {
        Suits::Any => ftl.place(domain, step, pages, ANYWHERE),
        Suits::Beside(lead) => ftl.place(domain, step, pages, Some(|at| flash.may_share_command(lead, at))),
        Suits::None => ftl.place(domain, step, pages, Some(|_| false)),
    }
}

/// Programs a page that a domain placed, made of `data`; it is a copy of the page at `old`, or of none.
#[inline(always)]
fn add_program(
    context: &mut Context<'_, impl Plan>,
    command: &mut Command,
    domain: Domain,
    placed: Placed,
    data: Content,
    old: Option<Ppn>,
) {
    debug_assert_eq!(command.kind(), OpKind::Program);
    program_placed(context, placed, |_| data, old);
    command.add(placed.at, Carried::Domain(domain));
}
