//! Which features the device uses, as far as it is known when the executor is compiled; absent ones cost nothing.
//!
//! The executor is written once. It is compiled for the devices that are simulated most, plain page mapping with nothing that
//! watches, and for all others; a test runs the golden table under both.

use config::Config;
use config::model::Source;

pub(super) use super::chip::{Chip, Feature, Features};
use super::front::controller;
use super::plain::record::Bookings;
use crate::device::Device;
use crate::scheduler;
use ftl::schedule::Schedule;

/// What is in force.
pub(super) trait Plan: Sized {
    /// The features of the chip: all that are configured, or none.
    type Chip: Chip<Self> + Feature;

    /// Whether a bare device has nothing but plain page mapping and foreground GC: no mechanism, no write buffer, nothing that pages
    /// store, and nothing that is kept of single pages.
    fn is_plain(&self) -> bool;

    /// Whether commands take no time but that of data on channels and of arrays, one after the other, and nobody watches them: no
    /// superpages, no cycles of commands without data, no DRAM, no error correction, no suspends, no cache modes, no wordlines that
    /// are programmed as a whole, no host link, no controller time of commands, no transfers in part, no slow die, no timeline, no split
    /// of latencies.
    fn is_bare(&self) -> bool;

    /// Whether a dynamic allocation hands pages to dies that are free.
    fn is_dynamic(&self) -> bool;

    /// Whether every write is of whole pages that wait for nothing, and there are no trims, so that the first of a queue can be programmed.
    fn is_whole(&self) -> bool;

    /// The work that dies will do, where that is known; only plain devices with static allocation have such a thing.
    #[inline(always)]
    fn bookings(&mut self) -> Option<&mut Bookings> {
        None
    }
}

/// Anything may be in force.
#[derive(Clone, Copy)]
pub(super) struct Any {
    pub(super) is_dynamic: bool,
}

impl Plan for Any {
    type Chip = Features;

    #[inline(always)]
    fn is_plain(&self) -> bool {
        false
    }

    #[inline(always)]
    fn is_bare(&self) -> bool {
        false
    }

    #[inline(always)]
    fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        false
    }
}

/// Any mechanism, schedule and write buffer may be in force, on a bare device.
#[derive(Clone, Copy)]
pub(super) struct Bare {
    pub(super) is_dynamic: bool,
    pub(super) is_whole: bool,
}

impl Plan for Bare {
    type Chip = super::chip::NoFeatures;

    #[inline(always)]
    fn is_plain(&self) -> bool {
        false
    }

    #[inline(always)]
    fn is_bare(&self) -> bool {
        true
    }

    #[inline(always)]
    fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// Plain page mapping.
pub(super) struct Plain<const IS_DYNAMIC: bool> {
    pub(super) is_whole: bool,
    pub(super) bookings: Bookings,
}

impl<const IS_DYNAMIC: bool> Plan for Plain<IS_DYNAMIC> {
    type Chip = super::chip::NoFeatures;

    #[inline(always)]
    fn is_plain(&self) -> bool {
        true
    }

    #[inline(always)]
    fn is_bare(&self) -> bool {
        true
    }

    #[inline(always)]
    fn is_dynamic(&self) -> bool {
        IS_DYNAMIC
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.is_whole
    }

    #[inline(always)]
    fn bookings(&mut self) -> Option<&mut Bookings> {
        if !IS_DYNAMIC && self.bookings.are_on() { Some(&mut self.bookings) } else { None }
    }
}

/// Whether a device is run as a bare one; see [`Plan::is_bare`].
pub(super) fn is_bare(device: &Device, config: &Config, has_timeline: bool) -> bool {
    let timing = &config.device.timing;
    let takes_time = timing.command_overhead.ns() > 0
        || timing.dram_bandwidth.is_some()
        || timing.ecc_latency.ns() > 0
        || timing.ecc_bandwidth.is_some();
    !device.parts.are_several()
        && !takes_time
        && !Features::is_configured(config)
        && config.host.link.is_none()
        && !controller::is_configured(config)
        && !has_timeline
        && !config.run.splits_latencies()
}

/// True if a bare device is run as a plain one; see [`Plan::is_plain`].
pub(super) fn is_plain(device: &Device, config: &Config, has_buffer: bool) -> bool {
    device.has.is_plain
        && Schedule::new(config.ftl.get("gc_schedule")).is_threshold()
        && scheduler::max_wait(config.ftl.get("scheduler")).is_none()
        && device.flash.nand().is_plain()
        && !has_buffer
}

/// Whether domains of a bare device have nothing but writes and collections to do, as those of a plain one, so that it is kept how much
/// their work presses.
pub(super) fn only_collect(device: &Device, config: &Config, has_buffer: bool) -> bool {
    device.has.only_collects
        && device.has.map.is_none()
        && device.has.reads.is_none()
        && Schedule::new(config.ftl.get("gc_schedule")).is_threshold()
        && scheduler::max_wait(config.ftl.get("scheduler")).is_none()
        && !has_buffer
}

/// Whether a write of a whole page waits for nothing but its turn: no map entry, and no collection ahead of need.
pub(super) fn never_waits(device: &Device, config: &Config) -> bool {
    !device.has_owners && Schedule::new(config.ftl.get("gc_schedule")).is_threshold()
}

/// Whether a workload writes whole pages and trims nothing, so that every write can be programmed when its turn comes.
pub(super) fn writes_whole_pages(config: &Config) -> bool {
    let page_size = u64::from(config.device.page_size);
    match &config.workload.source {
        Source::Generator(generator) => {
            generator.request_size.is_multiple_of(page_size) && config.workload.address_offset.is_multiple_of(page_size)
        }
        Source::Trace { .. } => false,
    }
}
