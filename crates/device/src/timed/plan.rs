//! Which features the device uses, as far as it is known when the executor is compiled; absent ones cost nothing.
//!
//! The executor is written once. It is compiled for the devices that are simulated most, plain page mapping with nothing that
//! watches, and for all others; a test runs the golden table under both.

use config::Config;
use config::model::Source;

use super::chip::NoFeatures;
pub(super) use super::chip::{Chip, Feature, Features};
use super::front::controller;
use super::plain::record::Bookings;
use crate::device::Device;
use ftl::PlainPages;

/// The parts of the executor that a device may do without. What a plan has not is not compiled.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    /// Mechanisms of the FTL besides page mapping, policies that look at the time, and reads that may fail.
    pub(super) mechanisms: bool,
    /// Collections ahead of need, and bounds on how long writes wait.
    pub(super) schedules: bool,
    /// A write buffer.
    pub(super) buffer: bool,
    /// Contents of pages, or figures that are kept of single pages; and pages that are waited for until they are
    /// correct.
    pub(super) contents: bool,
    /// Commands that copy pages inside their planes, or carry pages for several causes.
    pub(super) copybacks: bool,
    /// Pages that are placed before they can be programmed.
    pub(super) assembly: bool,
    /// Pages of several flash pages, of parts in step.
    pub(super) superpages: bool,
    /// Time for more than data on channels and arrays: for cycles of commands, DRAM, error correction.
    pub(super) cycles: bool,
    /// Lanes between host and device, with time of their own; and reads that send a part of a page.
    pub(super) front: bool,
    /// Somebody who watches: a timeline, a split of latencies.
    pub(super) watchers: bool,
}

impl Parts {
    /// All of them; those alone that decide what is done; or none.
    const ALL: Parts = Parts::of(true, true);
    const DECIDING: Parts = Parts::of(true, false);
    const NONE: Parts = Parts::of(false, false);

    /// The parts that decide what is done, and those that take time or watch: each kind in force or not.
    const fn of(deciding: bool, timing: bool) -> Parts {
        Parts {
            mechanisms: deciding,
            schedules: deciding,
            buffer: deciding,
            contents: deciding,
            copybacks: deciding,
            assembly: timing,
            superpages: timing,
            cycles: timing,
            front: timing,
            watchers: timing,
        }
    }
}

/// The parts of the executor that are in force.
pub(super) trait Plan: Sized {
    /// The features of the chip: all that are configured, or none.
    type Chip: Chip<Self> + Feature;

    /// The parts that may be in force.
    const PARTS: Parts;

    /// The parts that may be in force, for code that is given a plan.
    #[inline(always)]
    fn has(&self) -> Parts {
        Self::PARTS
    }

    /// True if a dynamic allocation hands pages to dies that are free.
    fn is_dynamic(&self) -> bool;

    /// True if every write is of whole pages that wait for nothing, and there are no trims, so that the first of a queue can be programmed.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        false
    }

    /// Page mapping without mechanisms, where a plain device has it.
    #[inline(always)]
    fn pages(&self) -> Option<PlainPages> {
        None
    }

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

    const PARTS: Parts = Parts::ALL;

    #[inline(always)]
    fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }
}

/// Any mechanism, schedule and write buffer may be in force, on a bare device: one without features of the chip.
#[derive(Clone, Copy)]
pub(super) struct Bare {
    pub(super) is_dynamic: bool,
    pub(super) is_whole: bool,
}

impl Plan for Bare {
    type Chip = NoFeatures;

    const PARTS: Parts = Parts::DECIDING;

    #[inline(always)]
    fn is_dynamic(&self) -> bool {
        self.is_dynamic
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// Plain page mapping on a bare device.
pub(super) struct PlainPlan<const IS_DYNAMIC: bool> {
    pub(super) pages: PlainPages,
    pub(super) is_whole: bool,
    pub(super) bookings: Bookings,
}

impl<const IS_DYNAMIC: bool> Plan for PlainPlan<IS_DYNAMIC> {
    type Chip = NoFeatures;

    const PARTS: Parts = Parts::NONE;

    #[inline(always)]
    fn is_dynamic(&self) -> bool {
        IS_DYNAMIC
    }

    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.is_whole
    }

    #[inline(always)]
    fn pages(&self) -> Option<PlainPages> {
        Some(self.pages)
    }

    #[inline(always)]
    fn bookings(&mut self) -> Option<&mut Bookings> {
        if !IS_DYNAMIC && self.bookings.are_on() { Some(&mut self.bookings) } else { None }
    }
}

/// True if a device is run as a bare one: it has no parts but those that decide, and no features of the chip.
pub(super) fn is_bare(device: &Device, config: &Config, has_timeline: bool) -> bool {
    let timing = &config.device.timing;
    let takes_time = timing.command_overhead.ns() > 0
        || timing.dram_bandwidth.is_some()
        || timing.ecc_latency.ns() > 0
        || timing.ecc_bandwidth.is_some();
    !device.parts.are_several()
        && !takes_time
        && !Features::is_configured(config)
        && device.flash.geometry().parts == 1
        && config.host.link.is_none()
        && !controller::is_configured(config)
        && !has_timeline
        && !matches!(config.workload.source, Source::Tenants(_))
        && !config.run.splits_latencies()
}

/// True if a workload writes whole pages and trims nothing, so that every write can be programmed when its turn comes.
pub(super) fn writes_whole_pages(config: &Config) -> bool {
    let page_size = u64::from(config.device.page_size);
    match &config.workload.source {
        Source::Generator(generator) => {
            generator.request_size.is_multiple_of(page_size) && config.workload.address_offset.is_multiple_of(page_size)
        }
        Source::Trace { .. } | Source::Job { .. } | Source::Tenants(_) => false,
    }
}
