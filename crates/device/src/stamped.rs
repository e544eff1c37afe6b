//! Devices with stamps for data, in the hands of a host that arms faults, restarts them and looks at what is left.
//!
//! The host is outside of this crate: whoever wants to know what faults leave. A request is carried out without time, or a list of them
//! in time. Versions of pages are counted by the device's own oracle.

use base::{Domain, Geometry, Instant, Lpn, Request, Unit};
use config::Config;
use config::model::Payload;
use files::Interrupt;
use metrics::Recorder;
use serde_json::{Value, json};
use workload::Workload;

use crate::buffer::{self, Buffer};
use crate::device::{Device, shape};
use crate::errors::RunError;
pub use crate::flash::Fault;
use crate::flash::Stamp;
pub use crate::restart::Restarted;
use crate::timed::{self, TimedOptions};
use crate::watch::Watch;
use crate::watchdog::Watchdog;
use crate::{count, hybrid, policy, precondition, uncorrectable};

/// A device whose pages carry stamps.
#[derive(Clone)]
pub struct StampedDevice<'a> {
    config: &'a Config,
    device: Device,
    /// That of requests without time.
    buffer: Option<Box<Buffer>>,
}

impl<'a> StampedDevice<'a> {
    /// A pristine device.
    ///
    /// # Errors
    /// A configuration without stamps, or whose mapping survives no faults; no memory.
    pub fn new(config: &'a Config) -> Result<StampedDevice<'a>, RunError> {
        if config.run.payload != Payload::Stamp {
            return Err(RunError::Input(
                "faults need `run.payload = \"stamp\"`: there is nothing to lose otherwise".into(),
            ));
        }
        hybrid::check_faults(config)?;
        let mut device = Device::new(config, false)?;
        let buffer = buffer::build(config, &mut device).map(Box::new);
        Ok(StampedDevice { config, device, buffer })
    }

    /// Logical pages.
    pub fn pages(&self) -> u32 {
        self.device.has.user_pages
    }

    /// Bytes of a page.
    pub fn page_size(&self) -> u64 {
        self.device.page_size.bytes()
    }

    /// The shape of the device, as the FTL sees it.
    pub fn geometry(&self) -> &Geometry {
        self.device.flash.geometry()
    }

    /// True if pages are placed one by one, and programmed with others.
    pub fn gathers(&self) -> bool {
        self.device.flash.gathers()
    }

    /// True if so many blocks have failed that it takes no more writes.
    pub fn is_read_only(&self) -> bool {
        self.device.is_read_only()
    }

    /// True once it did not take a page.
    pub fn has_refused(&self) -> bool {
        self.device.has_refused
    }

    /// The work so far: `counters`, and in `policy` the figures of policies and mechanisms.
    pub fn done(&self) -> Value {
        json!({ "counters": self.device.recorder.counters, "policy": policy::figures(&self.device) })
    }

    /// Ages the device as its configuration says.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn age(&mut self, interrupt: &Interrupt) -> Result<(), RunError> {
        precondition::age(&mut self.device, self.config, &mut Watch::new(None, interrupt.clone())).map(drop)
    }

    /// Carries a request out without time, through the write buffer if there is one.
    pub fn send(&mut self, request: &Request) {
        count::carry_out(&mut self.device, self.buffer.as_deref_mut(), request);
    }

    /// Collects in a domain ahead of need, if its schedule does: so many operations, and then the collection is suspended if it can be.
    /// With `defers` it leaves erases for later.
    pub fn collect_ahead(&mut self, domain: Domain, operations: u32, defers: bool) {
        self.device.collect_ahead_now(domain, operations, defers);
    }

    /// Runs requests in time, with figures of their own, until the power goes off if it does. Returns the end.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run(
        &mut self,
        requests: Vec<Request>,
        cut: Option<Instant>,
        interrupt: &Interrupt,
    ) -> Result<Instant, RunError> {
        let (config, device) = (self.config, &mut self.device);
        device.recorder = Recorder::new(shape(config, device.flash.geometry(), true));
        device.watchdog = Watchdog::new(config, device.flash.geometry());
        let manner = TimedOptions { timeline: None, asks_all: true, cut, live: None };
        let mut watch = Watch::new(None, interrupt.clone());
        timed::run(device, &mut Workload::listed(requests), config, &mut watch, manner)?;
        Ok(device.recorder.end())
    }
}

// Faults.
impl StampedDevice<'_> {
    /// Arms a fault in place of the one that was armed, and counts operations anew.
    pub fn arm(&mut self, fault: Fault) {
        self.device.flash.arm(fault);
    }

    /// True if the armed fault has not come yet.
    pub fn is_armed(&self) -> bool {
        self.device.flash.is_armed()
    }

    /// Operations since a fault was armed: page reads, page programs, erases of units.
    pub fn operations(&self) -> u64 {
        self.device.flash.operations()
    }

    /// Programs among these operations.
    pub fn programs(&self) -> u64 {
        self.device.flash.programs()
    }

    /// Among the programs, those of pages that are programmed already.
    pub fn reprograms(&self) -> u64 {
        self.device.flash.reprograms()
    }

    /// The power goes off now.
    pub fn power_off(&mut self) {
        self.device.flash.power_off();
    }

    /// The power comes back. All but the array is gone: [`StampedDevice::restart`] follows.
    pub fn power_on(&mut self) {
        self.device.flash.power_on();
    }

    /// True while the power is off.
    pub fn is_off(&self) -> bool {
        self.device.flash.is_off()
    }

    /// Builds the FTL anew from the array. The power may go off in the middle of it; then the rest is for the next restart.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    pub fn restart(&mut self) -> Result<Restarted, RunError> {
        Ok(self.device.restart(self.config)?)
    }

    /// After a restart: what the array holds is taken for what was written, and the write buffer is empty.
    pub fn begin_anew(&mut self) {
        self.device.trust_array();
        self.buffer = buffer::build(self.config, &mut self.device).map(Box::new);
    }
}

// What was written, and what is there.
impl StampedDevice<'_> {
    /// The newest version of a page that was sent; 0 for none.
    pub fn newest_version(&self, lpn: Lpn) -> u32 {
        self.device.newest_version(lpn)
    }

    /// The newest version of any page that was sent.
    pub fn last_version(&self) -> u32 {
        self.device.last_version()
    }

    /// The newest version of a page that was programmed; 0 for none.
    pub fn programmed_version(&self, lpn: Lpn) -> u32 {
        self.device.array_floor(lpn)
    }

    /// Keeps from now on which versions outlive a power cut in time.
    pub fn keep_durable(&mut self) {
        self.device.keep_durable();
    }

    /// The newest version of a page that outlives a power cut, by what the host was told; 0 for none.
    pub fn durable_version(&self, lpn: Lpn) -> u32 {
        self.device.durable_version(lpn)
    }

    /// The version that a page reads as, with nothing in the controller: 0 for none, `u32::MAX` for another page's.
    pub fn found_version(&self, lpn: Lpn) -> u32 {
        let (ftl, flash) = (&self.device.ftl, &self.device.flash);
        let Ok(ppn) = ftl.lookup(lpn) else { return 0 };
        if flash.is_lost(ppn) {
            return 0;
        }
        let stamp = Stamp::unpack(flash.waiting(ppn).data);
        if stamp.lpn == lpn { stamp.version } else { u32::MAX }
    }

    /// True if reads of a page are errors: a write of it found no room.
    pub fn is_lost(&self, lpn: Lpn) -> bool {
        self.device.ftl.lookup(lpn) == Err(ftl::Nowhere::Lost)
    }

    /// The reclaim unit in which a page is, if it is anywhere.
    pub fn unit_of(&self, lpn: Lpn) -> Option<Unit> {
        self.device.ftl.lookup(lpn).ok().map(|at| self.device.flash.unit_of(at))
    }

    /// Checks the whole state of the FTL.
    ///
    /// # Panics
    /// If it is inconsistent.
    pub fn check_state(&self) {
        self.device.check_state();
    }

    /// Checks that every page holds its newest version.
    ///
    /// # Panics
    /// If one does not.
    pub fn check_data(&self) {
        self.device.check_data();
    }

    /// Looks for pages that took more than they can: more reads than the limit of their block, or more errors than the ECC corrects.
    ///
    /// # Errors
    /// The first of them, in words.
    pub fn check_limits(&self) -> Result<(), RunError> {
        uncorrectable::check_data(&self.device)
    }
}
