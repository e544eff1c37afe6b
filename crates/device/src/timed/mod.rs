//! The executor with time: discrete events in integer nanoseconds.
//!
//! Every die does one thing at a time, in its array or over its channel. What a die does next is decided when it is
//! free: only then is a page placed, a victim's page looked up, a read translated. The FTL and the array therefore
//! change together, in the order in which dies take commands.

mod buffer;
mod dies;
mod host;
mod idle;
mod queues;
mod schedule;

use std::collections::VecDeque;

use base::{Geometry, Instant, PageLayout};
use config::Config;
use engine::{Due, Timers};
use metrics::Timeline;
use workload::Workload;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::scheduler::Scheduler;
use crate::{RunError, Watch, wear};
use dies::{Channel, Collection, Contents, Delivery, Die, Line, Timing};
use host::Host;
use idle::IdleDies;
use queues::{List, Pool};
use schedule::Forward;

/// What can happen.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A channel finished a transfer.
    TransferDone(u32),
    /// A die's array finished its operation.
    ArrayDone(u32),
    /// The next request of an open loop arrives.
    Arrival,
    /// The oldest page under correction is correct.
    Corrected,
}

/// A device in time.
pub(super) struct Timed<'a, 'w> {
    device: &'a mut Device,
    workload: &'a mut Workload,
    watch: &'a mut Watch<'w>,
    timeline: Option<Timeline>,
    now: Instant,
    timers: Timers,
    scheduler: Scheduler,
    timing: Timing,
    host: Host,
    /// Apart from the rest: without one, its place would only keep hot fields from each other.
    buffer: Option<Box<Buffer>>,
    /// Whether the FTL asks how full the write buffer is.
    hears_of_buffer: bool,
    pool: Pool,
    ages: u64,
    collections_begun: u64,
    dies: Vec<Die>,
    idle: IdleDies,
    channels: Vec<Channel>,
    /// Whether what follows on the transfer of a command is decided when it begins. A write buffer may want to know when
    /// it ends, and a dynamic allocation looks for idle dies at every event.
    decides_early: bool,
    /// By queue of the allocation: writes that wait for a die.
    writes: Vec<List>,
    /// By domain: what a collection holds in the controller.
    collections: Vec<Collection>,
    contents: Contents,
    /// By domain: the number of its last collection, in order of beginning.
    begun: Vec<u64>,
    forward: Forward,
    /// Dies that may have something to do.
    awake: Vec<u32>,
    /// Pages under correction, in the order in which they will be correct.
    correcting: VecDeque<(Instant, Delivery)>,
    /// When the controller's DRAM has moved all that it was given.
    dram_free: Instant,
    /// When the controller's ECC has corrected all that it was given.
    ecc_free: Instant,
    /// The host is done; what remains is collections that were under way.
    draining: bool,
}

/// Bytes of the executor: what it has for each part of the device, and for requests of so many pages.
pub(crate) fn bytes(geometry: &Geometry, host: &config::model::Host, pages: u64) -> (u64, u64) {
    let (dies, domains) = (u64::from(geometry.dies()), u64::from(geometry.domains()));
    let of_die = size_of::<Die>() + size_of::<Due>() + 3 * size_of::<u32>();
    let of_domain = size_of::<Collection>() + size_of::<List>() + size_of::<u64>();
    let channels = u64::from(geometry.channels) * size_of::<Channel>() as u64;
    let of_device = dies * of_die as u64 + domains * of_domain as u64 + channels;
    (of_device, u64::from(host.queue_depth) * (Host::BYTES_OF_REQUEST + Pool::bytes(pages)))
}

/// Runs a workload to its end; returns the timeline, if one was recorded.
pub(crate) fn run(
    device: &mut Device,
    workload: &mut Workload,
    config: &Config,
    watch: &mut Watch<'_>,
    timeline: Option<Timeline>,
) -> Result<Option<Timeline>, RunError> {
    let buffer = crate::buffer::build(config, device)?.map(Box::new);
    let geometry = *device.ftl.geometry();
    let has_payload = device.flash.nand().has_payload();
    let queues = device.ftl.allocation().queues() as usize;
    let idle = IdleDies::new(device.ftl.allocation(), geometry.dies());
    let layout = PageLayout::new(config.device.cell, config.device.program_order, config.device.pages_per_block);
    let schedule = ftl::schedule::Schedule::new(config.ftl.get("gc_schedule"));
    let has_copybacks = wear::is_in_force(config);
    let timing = Timing::new(&config.device, &geometry, config.in_step(), &layout, &schedule, has_copybacks);
    let decides_early = buffer.is_none() && device.ftl.allocation().dynamic().is_none();
    let mut timed = Timed {
        decides_early,
        hears_of_buffer: device.ftl.hears_of_buffer(),
        device,
        workload,
        watch,
        timeline,
        now: Instant::ZERO,
        timers: Timers::new(timing.lines(), geometry.channels + geometry.dies() + 2),
        scheduler: Scheduler::build(config.ftl.get("scheduler")),
        timing,
        host: Host::new(config.host.replay, config.host.queue_depth),
        buffer,
        pool: Pool::new(),
        ages: 0,
        collections_begun: 0,
        idle,
        dies: vec![Die::IDLE; geometry.dies() as usize],
        channels: vec![Channel::default(); geometry.channels as usize],
        writes: vec![List::EMPTY; queues],
        collections: vec![Collection::NONE; geometry.domains() as usize],
        begun: vec![0; geometry.domains() as usize],
        forward: Forward::new(schedule, &geometry),
        contents: Contents::new(geometry.domains(), geometry.unit_width, has_payload),
        awake: Vec::with_capacity(geometry.dies() as usize),
        correcting: VecDeque::new(),
        dram_free: Instant::ZERO,
        ecc_free: Instant::ZERO,
        draining: false,
    };
    timed.run()?;
    Ok(timed.timeline)
}

impl Timed<'_, '_> {
    /// The machine: let requests in, let free dies take work, go to the next event.
    fn run(&mut self) -> Result<(), RunError> {
        loop {
            // Between two requests there may be minutes of collections.
            let progress = || self.workload.progress();
            self.watch.report(1, self.now, &self.device.recorder.counters, progress)?;
            self.admit()?;
            self.tell_fill();
            self.begin_flushing();
            let completed = self.host.completions;
            let paused = std::mem::take(&mut self.host.paused);
            self.dispatch();
            if self.host.completions > completed || paused {
                // A trim or a read of trimmed pages was answered without flash: there is room for more. Or the
                // write buffer was full, and its flush has begun.
                continue;
            }
            if self.host.is_idle() {
                self.drain();
                if self.flush_at_the_end() {
                    continue;
                }
            }
            let Some(Due { at: now, .. }) = self.timers.next() else { break };
            self.now = now;
            self.device.tell_time(now);
            self.check_time()?;
            wear::check_reads(self.device)?;
            if !self.draining {
                self.device.recorder.tick(now);
            }
            // All that happens at one instant happens before dies choose: two writes that arrive together
            // can then share a command.
            while let Some(rank) = self.timers.take(now) {
                match self.event(rank) {
                    Event::TransferDone(channel) => self.transfer_done(channel),
                    Event::ArrayDone(die) => self.array_done(die),
                    Event::Arrival => {}
                    Event::Corrected => self.corrected(),
                }
            }
        }
        assert!(self.host.is_idle(), "the device stands still with requests in it");
        let buffered = self.buffer.as_ref().map_or(0, |buffer| buffer.unprogrammed());
        assert_eq!(buffered, 0, "the device stands still with pages in its write buffer");
        self.device.recorder.finish(self.host.last_completion);
        Ok(())
    }

    /// Fails while 64 bits still hold the times of what was begun.
    #[inline]
    fn check_time(&self) -> Result<(), RunError> {
        if self.now <= Instant::LAST {
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
        if self.hears_of_buffer
            && let Some(buffer) = &self.buffer
        {
            let fill = 1.0 - f64::from(buffer.room()) / f64::from(buffer.capacity());
            self.device.ftl.tell_fill(self.now, fill);
        }
    }

    /// The host is done, now: what begins from here on is not measured.
    fn drain(&mut self) {
        if !self.draining {
            self.draining = true;
            for die in 0..self.dies.len() as u32 {
                self.device.recorder.die_cancelled(die, self.dies[die as usize].kind(), self.now);
            }
        }
    }

    /// What a timer of that rank means. At one instant transfers end first, in the order of channels, then arrays.
    fn event(&self, rank: u32) -> Event {
        let channels = self.channels.len() as u32;
        let dies = self.dies.len() as u32;
        match rank {
            rank if rank < channels => Event::TransferDone(rank),
            rank if rank < channels + dies => Event::ArrayDone(rank - channels),
            rank if rank == channels + dies => Event::Arrival,
            _ => Event::Corrected,
        }
    }

    /// A transfer of a channel ends.
    fn set_transfer(&mut self, channel: u32, at: Instant, line: Line) {
        self.timers.set(line.0, at, channel);
    }

    /// The work of a die's array ends.
    fn set_array(&mut self, die: u32, at: Instant, line: Line) {
        self.timers.set(line.0, at, self.rank_of_array(die));
    }

    fn rank_of_array(&self, die: u32) -> u32 {
        self.channels.len() as u32 + die
    }

    /// The next request arrives then. It may be said again.
    fn set_arrival(&mut self, at: Instant) {
        if self.timers.is_empty(Line::ARRIVAL.0) {
            self.timers.set(Line::ARRIVAL.0, at, (self.channels.len() + self.dies.len()) as u32);
        }
    }

    fn set_correction(&mut self, at: Instant) {
        self.timers.set(Line::CORRECTION.0, at, (self.channels.len() + self.dies.len()) as u32 + 1);
    }
}
