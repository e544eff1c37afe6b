//! The machine: the loop from event to event, what each event means, and what dies do then.

use std::iter;

use base::{Cause, Die, Instant, OpKind};
use metrics::LatencyPart;

use super::Timed;
use super::command::{Carried, Command, Item};
use super::commands::{Action, note_bystanders};
use super::context::Context;
use super::die::{ArrayDone, Event, Transferred};
use super::front::OUT;
use super::gc_schedule::Idle;
use super::host::Host;
use super::plain::{booking, moves};
use super::plan::{Chip, Feature, Plan};
use super::write_buffer::WriteBuffer;
use crate::device::Device;
use crate::errors::RunError;
use crate::{uncorrectable, watchdog};

impl<P: Plan> Timed<'_, '_, P> {
    /// The machine: let requests in, then let free dies take work and go from event to event.
    pub(super) fn run(&mut self) -> Result<(), RunError> {
        loop {
            self.report()?;
            self.context.queues.end_events();
            if let Some(at) = self.host.admit(&mut self.context, self.workload, self.watch)? {
                self.backend.set_arrival(at);
            }
            self.tell_fill();
            self.host.begin_flushing(&mut self.context);
            if !self.go_on()? {
                break;
            }
        }
        // A request that was not taken in whole, because somebody wants to stop, keeps its place.
        self.watch.interrupt.check().map_err(|_| RunError::Stopped)?;
        if self.is_cut() {
            self.cut_power();
            return Ok(());
        }
        if P::Chip::ends_run(&self.context) || self.host.requests.live.as_ref().is_some_and(|live| live.has_left()) {
            self.end_early();
            return Ok(());
        }
        assert!(self.host.is_idle(&self.context.plan), "the device stands still with requests in it");
        assert_eq!(self.host.unprogrammed(), 0, "the device stands still with pages in its write buffer");
        assert!(self.context.chip.is_over(), "the device stands still with an operation that was not finished");
        self.end_figures(self.host.last_completion());
        if self.context.plan.has().assembly {
            self.context.device.flash.close_assembly();
            self.context.device.fill_up();
        }
        Ok(())
    }

    /// The device has become read-only, or a host outside has left: the run ends here. Requests in it are not complete, and what they
    /// wrote is in the controller.
    #[cold]
    fn end_early(&mut self) {
        self.drain();
        self.end_figures(self.context.now);
    }

    /// The run was over at this time.
    fn end_figures(&mut self, at: Instant) {
        if let (Some(waits), Some(split)) = (&mut self.context.waits, &mut self.context.device.recorder.split) {
            split.tell_served(waits.take_served());
        }
        self.context.device.recorder.finish(at);
    }

    /// Lets free dies take work and goes to the next event, until something changes for the host: a request is complete, the next
    /// one arrives, or pages may leave the write buffer. Returns whether there was an event.
    fn go_on(&mut self) -> Result<bool, RunError> {
        let completed = self.host.completions();
        let paused = self.host.take_wait();
        let mut has_admitted = true;
        loop {
            self.dispatch();
            if self.host.completions() != completed || paused {
                // A trim or a read of trimmed pages was answered without flash: there is room for more. Or the
                // write buffer was full, and its flush has begun.
                return Ok(true);
            }
            if self.context.plan.has().buffer && self.context.assembles() && self.host.has_placed() {
                return Ok(true);
            }
            if has_admitted && self.host.is_idle(&self.context.plan) {
                self.drain();
                if self.host.flush_at_the_end(&mut self.context) {
                    return Ok(true);
                }
            }
            has_admitted = false;
            if self.context.plan.has().front {
                if self.host.times_anew() {
                    self.backend.stop_of_host(OUT);
                }
                while let Some((lane, at)) = self.host.take_due(&self.context) {
                    self.backend.set_of_host(lane, at);
                }
                if self.wants_instants()
                    && let Some((lane, at)) = self.host.take_step(&self.context)
                {
                    self.backend.set_of_host(lane, at);
                }
            }
            if self.rarities.any && !self.look_outside() {
                return Ok(false);
            }
            let Some(now) = self.backend.next_instant() else { return Ok(false) };
            self.context.now = now;
            self.check_time()?;
            if self.rarities.any && !self.look_at_time()? {
                return Ok(false);
            }
            if !self.context.draining {
                self.context.tick();
            }
            let has_arrived = self.happen();
            if P::Chip::ends_run(&self.context) {
                return Ok(false);
            }
            let has_room = self.context.plan.has().buffer && self.host.buffer().is_some_and(WriteBuffer::has_changed);
            if has_arrived || self.host.completions() != completed || has_room {
                return Ok(true);
            }
            self.report()?;
        }
    }

    /// Before the next event: a host outside may send a request first, and the FTL may have something to do by itself. Returns whether the
    /// run goes on.
    #[inline(never)]
    fn look_outside(&mut self) -> bool {
        if self.host.requests.live.is_some() && !self.wait_outside() {
            return false;
        }
        if self.rarities.finds_due {
            self.find_due();
        }
        true
    }

    /// The time has gone on: the power may be off by now, and mechanisms may ask for it. Returns whether the run goes on.
    ///
    /// # Errors
    /// When a read has failed for good.
    #[inline(never)]
    fn look_at_time(&mut self) -> Result<bool, RunError> {
        if self.is_cut() {
            return Ok(false);
        }
        self.context.device.tell_time(self.context.now, None);
        if self.rarities.finds_due {
            self.find_due();
        }
        if self.context.device.flash.nand().may_fail_reads() {
            uncorrectable::check_reads(self.context.device)?;
        }
        Ok(true)
    }

    /// Has windows begin and end, and the FTL find what is due by now, but in a deterministic one, and sees that they are asked again in time.
    /// Work that begins after the last request is not measured, and would have no end where work is always due.
    #[inline(never)]
    fn find_due(&mut self) {
        if self.context.draining {
            return;
        }
        let schedule = &mut self.commands.schedule;
        let window = schedule.keep_windows(&mut self.context);
        let judged = self.context.device.has.judged_reads.filter(|_| !schedule.is_deterministic());
        let due = judged.and_then(|judged| judged.find_due(&mut self.context.device.ftl, self.context.now));
        let next = window.into_iter().chain(due).min();
        if next != self.awaited_work {
            if self.awaited_work.is_some_and(|at| at > self.context.now) {
                self.backend.stop_work();
            }
            self.awaited_work = next;
            next.into_iter().for_each(|next| self.backend.set_work(next));
        }
    }

    /// True if it makes a difference when the next instant is: a write that was refused is offered again, or what has left the write
    /// buffer is looked at, or a FLUSH waits. It may be one at which nothing but the host's commands go on, which have no event.
    #[inline]
    fn wants_instants(&self) -> bool {
        let skips = self.host.front.as_ref().is_some_and(|front| front.skips_instants(&self.context));
        skips && (self.host.has_placed() || self.host.awaits_buffer() || self.would_ask())
    }

    /// A write is offered to a die at the next instant.
    fn would_ask(&self) -> bool {
        let queues = &self.context.queues;
        let asks = |queue| self.backend.idle.has(queue) && self.host.has_writes(queues, queue);
        let is_offered = queues.has_offers() || self.host.buffer().is_none();
        self.context.plan.is_dynamic() && is_offered && queues.all().any(asks)
    }

    /// Waits until something happens: an event of the device, or a request of the host outside. Returns whether that is there still.
    #[cold]
    fn wait_outside(&mut self) -> bool {
        let (next, now) = (self.backend.coming_instant(), self.context.now);
        let Some(live) = &mut self.host.requests.live else { return true };
        let Some(came) = live.wait(next) else { return false };
        if next.is_none_or(|next| came < next) {
            self.backend.set_arrival(came.max(now));
        }
        true
    }

    /// Reports progress now and then: between two requests there may be minutes of collections.
    #[inline]
    fn report(&mut self) -> Result<(), RunError> {
        let progress = || self.workload.progress();
        if !self.watch.report(1, self.context.now, &self.context.device.recorder.counters, progress)? {
            return Ok(());
        }
        self.look_for_progress()
    }

    /// Fails where the device works on and on, and nothing of it comes to the host.
    #[cold]
    fn look_for_progress(&mut self) -> Result<(), RunError> {
        let pauses = self.host.pauses(&self.context);
        let device = &mut *self.context.device;
        if !self.context.draining && pauses {
            // It does by itself what the time calls for.
            device.watchdog.rests(&device.recorder.counters);
            return Ok(());
        }
        if device.watchdog.stands_still(&device.recorder.counters) {
            return Err(watchdog::described(device, &self.host.in_words()));
        }
        Ok(())
    }

    /// All that happens now, before dies choose: two writes that arrive together can then share a command. Returns whether the
    /// next request arrived.
    #[inline(always)]
    fn happen(&mut self) -> bool {
        let mut has_arrived = false;
        self.context.queues.begin_events();
        while let Some(event) = self.backend.take_event() {
            match event {
                Event::TransferDone(channel) => self.transfer_done(channel),
                Event::ArrayDone(die) => self.array_done(die),
                Event::Arrival => has_arrived = true,
                Event::Corrected => {
                    self.data_corrected();
                    self.backend.await_correction();
                }
                Event::OfChip => P::Chip::timer(self),
                Event::OfChipOnDie(die) => P::Chip::timer_of_die(self, die),
                // The FTL has found it.
                Event::Work => {}
                // There may be room for more, or a turn.
                Event::Passed(lane) => has_arrived |= self.host.passed(&mut self.context, lane),
            }
        }
        has_arrived
    }

    /// Fails while 64 bits still hold the times of what was begun.
    #[inline]
    fn check_time(&self) -> Result<(), RunError> {
        if self.context.now <= Instant::LAST {
            return Ok(());
        }
        Err(RunError::Failed(
            "the run passes 292 years of simulated time; expected requests that lie closer together, fewer of them, or \
             shorter operations in `device.timing`"
                .into(),
        ))
    }

    /// Tells the FTL how full the write buffer is, if it asks.
    #[inline]
    fn tell_fill(&mut self) {
        if self.asks_fill
            && let Some(buffer) = self.host.buffer()
            && self.told_room != Some(buffer.room())
        {
            self.told_room = Some(buffer.room());
            let fill = buffer.fill();
            self.context.device.tell_time(self.context.now, Some(fill));
        }
    }

    /// The host is done, now: what begins from here on is not measured.
    fn drain(&mut self) {
        if !self.context.draining {
            self.context.draining = true;
            if self.awaited_work.take().is_some() {
                self.backend.stop_work();
            }
            booking::end_measurement(self);
            self.backend.end_measurement(&mut self.context);
        }
    }
}

// Dies choose.
impl<P: Plan> Timed<'_, '_, P> {
    /// Lets every die that is free and may have work choose.
    #[inline(always)]
    fn dispatch(&mut self) {
        loop {
            if self.context.plan.is_dynamic() {
                // Without a write buffer, writes may be refused that wait for their old versions, and a refused offer counts as a turn.
                if self.context.queues.take_offers() || self.host.buffer().is_none() {
                    self.offer_shared_writes();
                } else {
                    debug_assert!(!self.would_offer(), "a write that nobody was offered");
                }
            }
            while let Some(die) = self.context.queues.take_woken() {
                self.choose(die);
                if self.context.plan.is_dynamic() && self.backend.is_idle(die) {
                    // Its collection may have come to an end.
                    self.context.queues.offer();
                }
            }
            if !self.rarities.wakes_others || !self.wake_owners() {
                return;
            }
        }
    }

    /// Wakes the dies of domains that have got something to do for others. Returns whether there are any, or a map entry
    /// came that a write may have waited for.
    #[cold]
    fn wake_owners(&mut self) -> bool {
        let mut any = false;
        while let Some(domain) = self.context.device.take_woken() {
            self.context.queues.wake(self.context.device.flash.geometry().die_of_domain(domain));
            self.context.queues.offer();
            any = true;
        }
        any
    }

    /// An idle die accepts pages, and a write for it asks for nothing but its turn.
    fn would_offer(&self) -> bool {
        let Some(dynamic) = self.context.device.has.dynamic else { return false };
        self.context.queues.all().any(|queue| {
            let accepts = |die| dynamic.peek_domain_of(&self.context.device.ftl, die).is_some();
            let is_plain = self.context.queues.writes(queue).first_is_plain();
            (is_plain || self.host.would_leave(queue)) && self.backend.idle.clone().next(queue, accepts).is_some()
        })
    }

    /// Offers waiting writes of a dynamic allocation to free dies, round robin.
    fn offer_shared_writes(&mut self) {
        let Some(dynamic) = self.context.device.has.dynamic else { return };
        for queue in self.context.queues.all() {
            while self.backend.idle.has(queue) && self.host.has_writes(&self.context.queues, queue) {
                let accepts = |die| dynamic.peek_domain_of(&self.context.device.ftl, die).is_some();
                let begun = P::Chip::with_open_row(&self.context, queue);
                let begun = begun.filter(|&die| self.backend.is_idle(die) && accepts(die));
                let Some(die) = begun.or_else(|| self.backend.idle.next(queue, accepts)) else { break };
                let queues = &self.context.queues;
                if !self.context.plan.has().mechanisms && queues.writes(queue).all_wait() && !queues.is_woken(die) {
                    // It has nothing else to do either.
                    break;
                }
                self.choose(die);
                if self.backend.is_idle(die) {
                    // The next one is asked at the next instant.
                    self.context.queues.offer();
                    break;
                }
            }
        }
    }

    /// Has a die, if it is free, do what it does next.
    #[inline(always)]
    fn choose(&mut self, die: Die) {
        if !self.backend.is_idle(die) {
            P::Chip::beside(self, die);
            booking::asked_at_work(self, die);
            return;
        }
        if P::Chip::before(self, die) {
            return;
        }
        booking::asks_channel(self, die);
        let Timed { context, host, commands, .. } = self;
        let action = commands.next(context, host, die);
        if !moves::moves_page(self, die, action) {
            self.carry_out(die, action);
        }
    }

    /// Starts the command that was built for a die.
    #[inline(always)]
    pub(super) fn start(&mut self, die: Die) {
        let Timed { context, backend, .. } = self;
        backend.start(context, die, backend.command(die).load());
        note_bystanders(context, backend.command(die));
    }

    /// Starts the command that was built for a die, unless its pages wait for others: then the die chooses again.
    #[inline(always)]
    pub(super) fn start_or_gather(&mut self, die: Die) {
        let Timed { context, backend, .. } = self;
        if !P::Chip::gathers(&mut backend.bus, context, die, &mut backend.dies[die.index()].command) {
            self.start(die);
        }
    }

    /// Has a die do something.
    #[inline(never)]
    fn carry_out(&mut self, die: Die, action: Action) {
        let Timed { context, host, commands, backend, .. } = self;
        if matches!(action, Action::Nothing) {
            if !commands.schedule.is_threshold(&context.plan) {
                self.fill_idle_time(die);
            }
        } else if commands.build(context, host, backend.next_command(die), die, action) {
            self.start_or_gather(die);
        }
        self.note_choice(die);
    }

    /// Notes what a die does from now on, and for which pages.
    #[inline(always)]
    pub(super) fn note_choice(&mut self, die: Die) {
        if self.context.splits_latencies() {
            self.note_choice_in_waits(die);
        }
    }

    #[cold]
    fn note_choice_in_waits(&mut self, die: Die) {
        let Timed { context, backend, .. } = self;
        if backend.is_idle(die) {
            let Device { ftl, flash, .. } = &*context.device;
            let collects = flash.geometry().domains_of_die(die).any(|domain| ftl.work(domain).is_some());
            let what = if collects { LatencyPart::GcWait } else { LatencyPart::Queue };
            context.note(|waits, now| waits.die_does(now, die, what));
            return;
        }
        let command = backend.command(die);
        let what = LatencyPart::of_command(command.kind(), command.cause());
        for item in command.items() {
            if let Carried::Transaction(page) = item.carried {
                context.note(|waits, now| waits.command_begins(now, page, die, what));
            }
        }
    }

    /// A die has nothing to do.
    #[inline]
    fn fill_idle_time(&mut self, die: Die) {
        match self.commands.schedule.fill_idle_time(&mut self.context, &self.host, die) {
            Idle::Rests => {}
            Idle::Times(_) if self.backend.times_idle(die) => {}
            Idle::Times(idle) => self.backend.time_idle(self.context.now, die, idle),
            Idle::Collects => self.context.queues.wake(die),
        }
    }
}

// Commands are done.
impl<P: Plan> Timed<'_, '_, P> {
    fn transfer_done(&mut self, channel: u32) {
        match self.backend.transfer_done(&mut self.context, channel) {
            Transferred::Nothing => {}
            Transferred::DataIn(die) => data_in(&mut self.context, &mut self.host, self.backend.command(die)),
            Transferred::DataAhead(die) => {
                if let Some(command) = P::Chip::ahead(&self.context, die) {
                    data_in(&mut self.context, &mut self.host, &command);
                }
            }
            Transferred::DataOut { die, is_last, arrived } => {
                if is_last {
                    self.context.queues.wake(die);
                    if P::Chip::overlaps(&self.context) {
                        self.note_choice(die);
                    }
                }
                if let Some(carried) = arrived {
                    self.pages_arrived(carried, 1);
                } else if !self.backend.bus.timing.corrects() {
                    self.data_corrected();
                }
            }
        }
    }

    /// Data that were read are correct by now.
    fn data_corrected(&mut self) {
        while let Some((carried, pages)) = self.backend.take_corrected(self.context.now) {
            self.pages_arrived(carried, pages);
        }
    }

    /// Pages that were read for one receiver are in the controller, corrected.
    #[inline(always)]
    fn pages_arrived(&mut self, carried: Carried, pages: u8) {
        match carried {
            Carried::Transaction(read) => self.host.read_done(&mut self.context, read),
            Carried::Domain(domain) => self.commands.pages_arrived(&mut self.context, domain, pages),
        }
    }

    fn array_done(&mut self, die: Die) {
        if booking::array_done(self, die) {
            return;
        }
        match self.backend.array_done(&mut self.context, die) {
            ArrayDone::DataNext => {}
            ArrayDone::MayChoose => self.context.queues.wake(die),
            ArrayDone::Command => {
                self.context.queues.wake(die);
                self.command_done(die);
                if P::Chip::goes_on(&mut self.backend, &mut self.context, die) {
                    self.note_choice(die);
                }
            }
            ArrayDone::WasIdle => {
                if self.commands.schedule.begin_on(&mut self.context, &self.host, die) {
                    self.context.queues.wake(die);
                }
            }
        }
    }

    /// A program or an erase is done.
    fn command_done(&mut self, die: Die) {
        if self.backend.command(die).kind() == OpKind::Program && !self.program_done(die) {
            return;
        }
        let Timed { context, host, commands, backend, .. } = self;
        let command = backend.command(die);
        let is_erase = command.kind() == OpKind::Erase;
        match (command.kind(), command.cause()) {
            (OpKind::Erase, _) => {
                let geometry = *context.device.flash.geometry();
                // One item per block; a unit's blocks are in a row.
                for &Item { ppn, carried } in command.items().iter().step_by(geometry.unit_width as usize) {
                    if let Carried::Domain(domain) = carried {
                        commands.erased(context, host, domain, geometry.unit_of(ppn));
                    }
                }
            }
            // Collections that keep step by kind alone program data beside pages of the map.
            (OpKind::Program, cause) if matches!(cause, Cause::Host | Cause::Mapping) || command.is_mixed() => {
                for item in command.items() {
                    match item.carried {
                        Carried::Transaction(write) => host.write_done(context, write),
                        Carried::Domain(_) => context.note_programmed(iter::once(item.ppn)),
                    }
                }
            }
            _ => {}
        }
        if is_erase && context.plan.is_dynamic() && context.queues.takes_writes(die) {
            // One of its domains has ended its collection.
            backend.idle.insert(die);
            context.queues.offer();
        }
    }
}

// Programs that are over.
impl<P: Plan> Timed<'_, '_, P> {
    /// The array has come to the end of the program of a die. Returns whether its pages are written with that.
    #[inline(always)]
    fn program_done(&mut self, die: Die) -> bool {
        let Timed { context, backend, .. } = self;
        let command = backend.command(die);
        let are_written = match P::Chip::programmed(context, die, command) {
            Some(are_written) => are_written,
            None if !context.plan.has().assembly => true,
            None => {
                context.device.flash.programmed(command.items().iter().map(|item| item.ppn));
                true
            }
        };
        P::Chip::program_over(self, die, are_written);
        let Timed { context, backend, .. } = self;
        let command = backend.command(die);
        // An assembly was told when they were placed.
        if are_written && command.cause() == Cause::Host && !context.assembles() {
            context.note_programmed(command.items().iter().map(|item| item.ppn));
        }
        are_written
    }
}

/// The data of a program for the host are in the chip.
fn data_in<P: Plan>(context: &mut Context<'_, P>, host: &mut Host, command: &Command) {
    // Data that are sent a second time leave the write buffer then.
    if host.releases_early() && !P::Chip::sends_again(context, command) {
        for item in command.items() {
            if let Carried::Transaction(write) = item.carried {
                host.write_transferred(context, write);
            }
        }
    }
}
