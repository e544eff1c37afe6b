//! The parts that both executors share: the FTL, the array, the figures, and what tests know of the data.

use base::{Cause, Domain, Duration, Geometry, Instant, Lpn, OpKind, Ppn};
use config::Config;
use config::model::{Checks, Payload};
use ftl::schedule::Schedule;
use ftl::{Array, Erasure, Ftl, Group, Holds, How, MapPlace, OutOfMemory, Placed, Policies, Source, Told, Way};
use metrics::{Locality, Recorder};

use crate::flash::{Aid, Content, Flash, Programmed, Stamp};
use crate::gang::geometry;
use crate::pages::{Parts, Share, Span};
use crate::wear;

/// An SSD without a clock.
pub(crate) struct Device {
    pub(crate) ftl: Ftl,
    pub(crate) flash: Flash,
    pub(crate) recorder: Recorder,
    pub(crate) oracle: Option<Oracle>,
    /// Bytes of a page, which is a superpage where channels or planes are in step.
    pub(crate) page_size: u64,
    /// The flash pages of a page.
    pub(crate) parts: Parts,
    /// Whether map entries may have to be read from flash first.
    pub(crate) map_in_flash: bool,
    /// Whether pages lie on other planes than the owners of their map entries.
    pub(crate) has_owners: bool,
    /// Whether the FTL wants to hear of every page that is read, and has a say in it.
    pub(crate) hears_of_reads: bool,
    /// Samples of the workload's locality, where the FTL keeps regions.
    pub(crate) locality: Option<Locality>,
    full_checks: bool,
    /// Where collections keep step with the host: so many units above the reserve they begin.
    paced: Option<u32>,
}

/// What every logical page should hold, when pages carry stamps.
pub(crate) struct Oracle {
    /// By LPN: the newest version that the host sent; 0 when it was never written or was trimmed.
    newest: Vec<u32>,
    /// By LPN: the newest version whose write completed.
    completed: Vec<u32>,
    /// By LPN: the newest version that was programmed; with a write buffer it may be older than `completed`.
    programmed: Vec<u32>,
    versions: u32,
    /// By flush: what was complete when it was sent, by LPN.
    promises: Vec<(u32, Vec<u32>)>,
}

impl Oracle {
    /// Bytes for a user space, with the promise of a flush.
    pub(crate) fn bytes(user_pages: u64) -> u64 {
        user_pages * 4 * 4
    }

    fn new(user_pages: u32) -> Oracle {
        let none = vec![0; user_pages as usize];
        Oracle { newest: none.clone(), completed: none.clone(), programmed: none, versions: 0, promises: Vec::new() }
    }

    /// The version that a new write of a page carries.
    fn admit(&mut self, lpn: Lpn) -> u32 {
        self.versions += 1;
        self.newest[lpn.index()] = self.versions;
        self.versions
    }

    fn trim(&mut self, lpn: Lpn) {
        self.newest[lpn.index()] = 0;
        self.completed[lpn.index()] = 0;
        self.programmed[lpn.index()] = 0;
        self.promises.iter_mut().for_each(|(_, versions)| versions[lpn.index()] = 0);
    }

    /// A read sent when `floor` was the newest completed version returned `stamp`.
    fn check_read(&self, lpn: Lpn, floor: u32, stamp: Stamp) {
        let newest = self.newest[lpn.index()];
        assert!(stamp.lpn == lpn, "a read of LPN {} returned the data of LPN {}", lpn.0, stamp.lpn.0);
        assert!(
            stamp.version >= floor && (stamp.version <= newest || newest == 0),
            "a read of LPN {} returned version {}, between {floor} and {newest} expected",
            lpn.0,
            stamp.version
        );
    }
}

/// What figures need to know of the device.
pub(crate) fn shape(config: &Config, geometry: &Geometry, timed: bool) -> metrics::Shape {
    metrics::Shape {
        channels: geometry.channels,
        dies: geometry.dies(),
        timed,
        capacity_bytes: config.device.user_capacity,
        in_step: config.in_step(),
    }
}

impl Device {
    pub(crate) fn new(config: &Config, timed: bool) -> Result<Device, OutOfMemory> {
        let geometry = geometry(config);
        let user_pages = config.device.user_capacity / u64::from(geometry.page_size);
        let payload = config.run.payload == Payload::Stamp;
        let ftl = Ftl::new(geometry, user_pages, &policies(config), config.run.seed, payload)?;
        let shape = shape(config, &geometry, timed);
        let mut flash = Flash::new(geometry, &config.device, payload, Aid::of(config.ftl.get("paired_page").name));
        if let Some(wear) = wear::of(config) {
            flash.keep_errors(wear);
        }
        if let Some(limits) = config.device.wear.read_limits() {
            flash.keep_reads(limits);
        }
        Ok(Device {
            map_in_flash: ftl.demands().map != MapPlace::Dram,
            has_owners: ftl.demands().map == MapPlace::WithOwners,
            hears_of_reads: ftl.demands().reads,
            oracle: payload.then(|| Oracle::new(ftl.user_pages())),
            ftl,
            flash,
            recorder: Recorder::new(shape),
            page_size: u64::from(geometry.page_size),
            parts: Parts::new(config.in_step().parts(), u64::from(config.device.page_size)),
            locality: (config.ftl.get("separation").name == "dac").then(Locality::new),
            full_checks: config.run.checks == Checks::Full,
            paced: Schedule::new(config.ftl.get("gc_schedule")).paced(),
        })
    }

    /// Writes a page without time, and does whatever collection it calls for.
    #[inline]
    pub(crate) fn write_now(&mut self, lpn: Lpn, share: Share) {
        let version = self.admit_write(lpn);
        self.program_now(lpn, version, share);
        if self.oracle.is_some() {
            self.write_completed(lpn, version);
        }
    }

    /// Programs a version of a page without time, after the read of its old version if it is written in part.
    #[inline]
    pub(crate) fn program_now(&mut self, lpn: Lpn, version: u32, share: Share) {
        if share.old > 0 {
            self.use_entry(lpn);
            self.note_host_read(lpn);
        }
        if share.old > 0
            && let Some(old) = self.ftl.lookup(lpn)
        {
            self.flash.read(old);
            self.tell_read(old);
            self.recorder.counters.count(Cause::Rmw, OpKind::Read, 1);
            self.note_bystanders(Cause::Rmw, OpKind::Read, share.old);
        }
        let domain = self.ftl.domain_without_time(lpn);
        let mut rounds = 0;
        while !self.ftl.prepare(domain, lpn) {
            self.collect_now(domain);
            rounds += 1;
            debug_assert!(rounds < 100_000, "a domain takes a host page after so many collections");
        }
        let placed = self.ftl.write(domain, lpn);
        let content = self.content_of(placed, self.expected(lpn, version));
        if self.program_placed(placed, content) == Programmed::Failed {
            let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, content);
            let is_repaired = self.ftl.repair(placed.at, None, &mut array);
            assert!(is_repaired, "faults are refused where they cannot be repaired");
            self.update_elsewhere(domain);
        }
        self.recorder.counters.count(Cause::Host, OpKind::Program, 1);
        self.note_bystanders(Cause::Host, OpKind::Program, share.touched);
        self.programmed(lpn, version);
        if self.ftl.is_busy(domain) {
            self.collect_now(domain);
        }
        if let Some(low) = self.paced {
            self.keep_pace(domain, low);
        }
    }

    /// Where collections keep step with the host, and no time passes, one begins at the same mark and goes to its end.
    #[cold]
    fn keep_pace(&mut self, domain: Domain, low: u32) {
        while self.ftl.begin_paced(domain, low, 1, None).is_some() {
            self.collect_now(domain);
        }
    }

    /// After a repair: map entries of pages that were written anew may be other domains'.
    #[cold]
    fn update_elsewhere(&mut self, domain: Domain) {
        let others = self.ftl.geometry().all_domains().filter(|&other| self.has_owners && other != domain);
        for other in others.collect::<Vec<_>>() {
            if self.ftl.is_busy(other) {
                self.collect_now(other);
            }
        }
    }

    /// Of a page that was counted, only so many parts are of concern; without time.
    #[inline]
    fn note_bystanders(&mut self, cause: Cause, kind: OpKind, parts: u8) {
        if self.parts.are_several() {
            self.recorder.counters.bystand(cause, kind, u64::from(self.parts.count - parts), false);
        }
    }

    /// Reads so many parts of a page without time.
    #[inline]
    pub(crate) fn read_now(&mut self, lpn: Lpn, parts: u8) {
        self.read_array_now(lpn, self.read_floor(lpn), parts);
    }

    /// Reads so many parts of a page of the array without time, of no older version than `floor`.
    #[inline]
    pub(crate) fn read_array_now(&mut self, lpn: Lpn, floor: u32, parts: u8) {
        self.use_entry(lpn);
        self.note_host_read(lpn);
        match self.ftl.lookup(lpn) {
            None => self.recorder.counters.unmapped_reads += 1,
            Some(ppn) => {
                let content = self.flash.read(ppn);
                self.check_read(lpn, floor, content);
                self.recorder.counters.count(Cause::Host, OpKind::Read, 1);
                self.note_bystanders(Cause::Host, OpKind::Read, parts);
                self.tell_read(ppn);
            }
        }
    }

    /// A page of the array was read: what that calls for is done at once.
    #[inline]
    fn tell_read(&mut self, ppn: Ppn) {
        if self.hears_of_reads {
            self.note_read(ppn);
            while let Some(domain) = self.ftl.take_woken() {
                self.collect_now(domain);
            }
        }
    }

    /// The host reads a page, or a part of one that it writes.
    #[inline]
    pub(crate) fn note_host_read(&mut self, lpn: Lpn) {
        if self.map_in_flash || self.hears_of_reads {
            self.ftl.tell(Told::HostRead(lpn));
        }
    }

    /// A page of the array is read.
    #[inline]
    pub(crate) fn note_read(&mut self, ppn: Ppn) {
        if self.hears_of_reads {
            self.ftl.tell(Told::ArrayRead(ppn));
        }
    }

    /// Uses the map entry of a page that is to be read, which may have to be fetched.
    #[inline]
    fn use_entry(&mut self, lpn: Lpn) {
        if self.map_in_flash {
            self.use_cached_entry(lpn);
        }
    }

    /// The domain that owns the map entry of a page.
    ///
    /// # Panics
    /// If the map is not in flash.
    pub(crate) fn owner_of(&self, lpn: Lpn) -> Domain {
        self.ftl.owner_of(lpn).expect("the map is in flash")
    }

    #[inline(never)]
    fn use_cached_entry(&mut self, lpn: Lpn) {
        while !self.ftl.prepare_read(lpn) {
            let owner = self.owner_of(lpn);
            self.collect_now(owner);
        }
    }

    #[cold]
    pub(crate) fn collect_now(&mut self, domain: Domain) {
        let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, Content::EMPTY);
        self.ftl.collect(domain, &mut array);
        loop {
            // Neighbours that are collected along may have neighbours of their own.
            let early: Vec<Domain> = self.ftl.take_early().collect();
            if early.is_empty() {
                break;
            }
            for neighbour in early {
                self.ftl.collect(neighbour, &mut array);
            }
        }
        if array.has_erased {
            self.after_collection();
        }
    }

    /// Forgets the pages of a span, and has the domains do what that calls for.
    pub(crate) fn trim_now(&mut self, span: Span) {
        for (lpn, _) in span.pages() {
            self.trim(lpn);
        }
        if self.map_in_flash {
            let domains = self.ftl.geometry().domains();
            for first in span.first..span.end.min(span.first.saturating_add(domains)) {
                let domain = self.owner_of(Lpn(first));
                if self.ftl.is_busy(domain) {
                    self.collect_now(domain);
                }
            }
        }
    }

    /// Forgets a page.
    pub(crate) fn trim(&mut self, lpn: Lpn) {
        self.admit_trim(lpn);
        self.ftl.trim(lpn);
    }

    /// A trim of the page was sent, and will be carried out in its turn.
    pub(crate) fn admit_trim(&mut self, lpn: Lpn) {
        if let Some(oracle) = &mut self.oracle {
            oracle.trim(lpn);
        }
    }

    /// The version that a write sent now carries; 0 when pages carry nothing.
    #[inline]
    pub(crate) fn admit_write(&mut self, lpn: Lpn) -> u32 {
        match &mut self.oracle {
            None => 0,
            Some(oracle) => oracle.admit(lpn),
        }
    }

    /// That version was programmed, if the power is on.
    #[inline]
    pub(crate) fn programmed(&mut self, lpn: Lpn, version: u32) {
        if let Some(oracle) = &mut self.oracle
            && !self.flash.is_off()
        {
            let programmed = &mut oracle.programmed[lpn.index()];
            *programmed = version.max(*programmed);
        }
    }

    /// That version was programmed, and with that its write is complete: there is no write buffer.
    #[inline]
    pub(crate) fn programmed_and_completed(&mut self, lpn: Lpn, version: u32) {
        if self.oracle.is_some() {
            self.programmed(lpn, version);
            self.write_completed(lpn, version);
        }
    }

    /// The oldest version that a read of the array sent now may return; a newer one may be in the write buffer.
    #[inline]
    pub(crate) fn array_floor(&self, lpn: Lpn) -> u32 {
        self.oracle.as_ref().map_or(0, |oracle| oracle.programmed[lpn.index()])
    }

    /// The host was told that the write of that version is complete, if the power is on.
    #[inline]
    pub(crate) fn write_completed(&mut self, lpn: Lpn, version: u32) {
        if let Some(oracle) = &mut self.oracle
            && !self.flash.is_off()
        {
            let completed = &mut oracle.completed[lpn.index()];
            *completed = version.max(*completed);
        }
    }

    /// The oldest version that a read sent now may return.
    #[inline]
    pub(crate) fn read_floor(&self, lpn: Lpn) -> u32 {
        self.oracle.as_ref().map_or(0, |oracle| oracle.completed[lpn.index()])
    }

    /// A flush, by its number in the host's queue, promises that what the host was told to be complete by now is
    /// programmed when the flush completes. Checked where the whole state is.
    pub(crate) fn promise_durable(&mut self, request: u32) {
        if let Some(oracle) = &mut self.oracle
            && self.full_checks
        {
            let promised = oracle.completed.clone();
            oracle.promises.push((request, promised));
        }
    }

    /// The flush completes: its promise must hold.
    #[inline]
    pub(crate) fn check_durable(&mut self, request: u32) {
        if let Some(oracle) = &mut self.oracle
            && !self.flash.is_off()
        {
            let Some(at) = oracle.promises.iter().position(|(promised, _)| *promised == request) else { return };
            let (_, promised) = oracle.promises.remove(at);
            for (lpn, (promised, programmed)) in promised.iter().zip(&oracle.programmed).enumerate() {
                assert!(
                    promised <= programmed,
                    "version {promised} of LPN {lpn} is said to be durable, and version {programmed} is programmed"
                );
            }
        }
    }

    /// Checks what a read returned; nothing does with the power off.
    #[inline]
    pub(crate) fn check_read(&self, lpn: Lpn, floor: u32, content: Content) {
        if let Some(oracle) = &self.oracle
            && !self.flash.is_off()
            // The run fails because of it.
            && self.flash.nand().uncorrectable().is_none()
        {
            oracle.check_read(lpn, floor, Stamp::unpack(content.stamp));
        }
    }

    /// What a page of that version has for data.
    pub(crate) fn expected(&self, lpn: Lpn, version: u32) -> Content {
        let stamp = if self.oracle.is_some() { Stamp { lpn, version }.pack() } else { 0 };
        Content { stamp, spare: 0 }
    }

    /// What is programmed of a page that was placed, made of `data`.
    #[inline(always)]
    pub(crate) fn content_of(&self, placed: Placed, data: Content) -> Content {
        if self.oracle.is_none() {
            return Content::EMPTY;
        }
        content_of(placed, data)
    }

    /// Programs a page that was placed.
    #[inline(always)]
    pub(crate) fn program_placed(&mut self, placed: Placed, content: Content) -> Programmed {
        program(&mut self.flash, placed, content)
    }

    /// Tells the FTL the time, which some policies look at.
    #[inline]
    pub(crate) fn tell_time(&mut self, now: Instant) {
        if let (Some(omega), Some(locality)) = (self.ftl.tell(Told::Time(now)), &mut self.locality) {
            locality.record(omega);
        }
    }

    /// The whole-state check, where the configuration asks for it.
    #[inline]
    pub(crate) fn after_collection(&self) {
        if self.full_checks && !self.flash.is_off() {
            self.check_state();
        }
    }

    /// Checks the FTL's state, and that every valid page is programmed.
    pub(crate) fn check_state(&self) {
        let is_programmed = |ppn| {
            let place = self.ftl.geometry().place(ppn);
            self.flash.nand().is_programmed(place.block, place.page)
        };
        if let Err(problem) = self.ftl.check(&is_programmed) {
            panic!("the FTL's state is inconsistent: {problem}");
        }
    }

    /// Checks that every logical page holds the newest version that was written, with nothing in flight.
    ///
    /// # Panics
    /// When a page is lost, stale, or another's; that is what the check is for.
    pub(crate) fn check_data(&self) {
        let Some(oracle) = &self.oracle else { return };
        for lpn in (0..self.ftl.user_pages()).map(Lpn) {
            let newest = oracle.newest[lpn.index()];
            match self.ftl.lookup(lpn) {
                None => assert_eq!(newest, 0, "LPN {} is lost", lpn.0),
                Some(ppn) => {
                    let place = self.ftl.geometry().place(ppn);
                    let stamp = Stamp::unpack(self.flash.nand().stamp(place.block, place.page));
                    assert_eq!(stamp, Stamp { lpn, version: newest }, "LPN {} holds other or stale data", lpn.0);
                }
            }
        }
    }

    /// The newest version of a page that the host sent; 0 when pages carry nothing.
    pub(crate) fn newest_version(&self, lpn: Lpn) -> u32 {
        self.oracle.as_ref().map_or(0, |oracle| oracle.newest[lpn.index()])
    }

    /// After a saved state was loaded or the device restarted, what the array stores is taken for what was written.
    pub(crate) fn trust_array(&mut self) {
        let Some(oracle) = &mut self.oracle else { return };
        // A flush that the power cut off was never completed.
        oracle.promises.clear();
        for lpn in (0..self.ftl.user_pages()).map(Lpn) {
            let version = self.ftl.lookup(lpn).map_or(0, |ppn| {
                let place = self.ftl.geometry().place(ppn);
                Stamp::unpack(self.flash.nand().stamp(place.block, place.page)).version
            });
            oracle.newest[lpn.index()] = version;
            oracle.completed[lpn.index()] = version;
            oracle.programmed[lpn.index()] = version;
            oracle.versions = oracle.versions.max(version);
        }
    }
}

/// Carries out operations on the array at once.
pub(crate) struct AtOnce<'a> {
    flash: &'a mut Flash,
    counters: &'a mut metrics::Counters,
    /// What the controller holds of the page whose program failed.
    held: Content,
    /// Whether a unit was erased.
    has_erased: bool,
}

impl<'a> AtOnce<'a> {
    pub(crate) fn new(flash: &'a mut Flash, counters: &'a mut metrics::Counters, held: Content) -> AtOnce<'a> {
        AtOnce { flash, counters, held, has_erased: false }
    }

    #[inline(always)]
    fn program(&mut self, cause: Cause, placed: Placed, data: Content) -> bool {
        self.counters.count(cause, OpKind::Program, 1);
        if placed.way == Way::Again {
            self.counters.reprograms += 1;
        }
        program(self.flash, placed, content_of(placed, data)) == Programmed::Done
    }

    #[inline]
    fn read(&mut self, cause: Cause, from: Ppn) -> Content {
        self.counters.count(cause, OpKind::Read, 1);
        self.flash.read(from)
    }

    /// Reads what covers a page; nothing if its content is lost, or if it was erased too early, which only the
    /// variant of GCMix without `hold` does.
    fn read_whole(&mut self, cause: Cause, page: Ppn) -> Option<Content> {
        if !self.flash.is_programmed(page) {
            return None;
        }
        let content = self.read(cause, page);
        (!self.flash.is_lost(page)).then_some(content)
    }
}

impl Array for AtOnce<'_> {
    #[inline(always)]
    fn moved(&mut self, cause: Cause, how: How, from: Ppn, to: Placed) -> bool {
        count_move(self.counters, cause);
        if how == How::Copyback {
            self.counters.copyback(cause, 1);
            return copy_back(self.flash, from, to) == Programmed::Done;
        }
        let content = self.read(cause, from);
        self.program(cause, to, content)
    }

    fn combined(&mut self, cause: Cause, pages: &Group, to: Placed) -> bool {
        let content = pages.pages().iter().fold(Content::EMPTY, |parity, &page| parity ^ self.read(cause, page));
        self.program(cause, to, content)
    }

    fn rewritten(&mut self, cause: Cause, source: Source, to: Placed) -> bool {
        let content = match source {
            Source::Controller => Some(self.held),
            Source::PageBuffer(page) => self.flash.buffered(page),
            Source::Page(page) => self.read_whole(cause, page),
            Source::Parity(parity, other) => {
                let parity = self.read_whole(cause, parity);
                parity.zip(self.read_whole(cause, other)).map(|(parity, other)| parity ^ other)
            }
        };
        let done = self.program(cause, to, content.unwrap_or(Content::EMPTY));
        done && content.is_some()
    }

    fn read(&mut self, cause: Cause, from: Ppn) {
        self.read(cause, from);
    }

    fn erased(&mut self, erasure: Erasure) {
        let blocks = self.flash.erase(erasure.unit);
        self.has_erased = true;
        self.counters.count(erasure.cause, OpKind::Erase, blocks);
        count_collection(self.counters, erasure);
    }
}

/// What a page stores that was placed, made of `data`: what was read or, of the host's page, what it sent.
#[inline(always)]
fn content_of(placed: Placed, data: Content) -> Content {
    match placed.holds {
        Holds::Data(_) | Holds::Parity => data.tagged(placed.tag),
        Holds::Map(lpn) => Content { stamp: Stamp { lpn, version: 0 }.pack(), spare: placed.tag },
        Holds::Nothing => Content { spare: placed.tag, ..Content::EMPTY },
    }
}

/// Programs a page that was placed, after it was said if its block uses LSB pages only.
#[inline(always)] // Twice per page of a collection: a call would pass its arguments through memory.
fn program(flash: &mut Flash, placed: Placed, content: Content) -> Programmed {
    if placed.way == Way::Plain { flash.program(placed.at, content) } else { program_specially(flash, placed, content) }
}

#[inline(never)]
fn program_specially(flash: &mut Flash, placed: Placed, content: Content) -> Programmed {
    match placed.way {
        Way::Plain => {}
        Way::BeginsLsbOnly => flash.use_lsb_only(placed.at),
        Way::Guard => return flash.program_guard(placed.at),
        Way::Again => return flash.reprogram(placed.at),
    }
    flash.program(placed.at, content)
}

/// Copies a page to where it was placed, inside its plane.
pub(crate) fn copy_back(flash: &mut Flash, from: Ppn, to: Placed) -> Programmed {
    assert!(to.way == Way::Plain, "blocks of LSB pages take backups and host pages");
    flash.copyback(from, to.at, to.tag)
}

/// Counts a valid page moved.
#[inline]
pub(crate) fn count_move(counters: &mut metrics::Counters, cause: Cause) {
    if cause == Cause::Gc {
        counters.gc_moved_pages += 1;
    }
}

/// Counts a finished collection.
pub(crate) fn count_collection(counters: &mut metrics::Counters, erasure: Erasure) {
    match erasure.cause {
        Cause::Gc if !erasure.ends => {}
        Cause::Gc => {
            counters.gc_invocations += 1;
            counters.gc_forward += u64::from(erasure.forward);
            counters.gc_foreground += u64::from(!erasure.forward);
        }
        Cause::Wear => counters.wear_moves += 1,
        _ => {}
    }
}

/// Time that a block's pages take one after the other.
fn block_write(config: &Config) -> Duration {
    let device = &config.device;
    let transfer = u64::from(device.page_size) * 1_000_000_000 / device.timing.channel_rate;
    let of_wordline: u64 = device.timing.program.iter().map(|time| time.ns() + transfer).sum();
    Duration(of_wordline * u64::from(device.pages_per_block) / device.timing.program.len() as u64)
}

/// The FTL's policies under a configuration.
pub(crate) fn policies(config: &Config) -> Policies<'_> {
    Policies {
        mapping: config.ftl.get("mapping"),
        allocation: config.ftl.get("allocation"),
        block_allocation: config.ftl.get("block_allocation"),
        victim: config.ftl.get("victim"),
        reclaim_unit: config.ftl.get("reclaim_unit"),
        gc_schedule: config.ftl.get("gc_schedule"),
        separation: config.ftl.get("separation"),
        paired_page: config.ftl.get("paired_page"),
        migration: config.ftl.get("migration"),
        read_disturb: config.ftl.get("read_disturb"),
        wear_leveling: config.ftl.get("wear_leveling"),
        cell: config.device.cell,
        program_order: config.device.program_order,
        wear: wear::of(config),
        reads: config.device.wear.read_limits(),
        block_write: block_write(config),
    }
}

/// Proof that the checks can fail: each test breaks one thing by hand, and a check has to say so.
#[cfg(test)]
mod canary {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::flash::Fault;

    /// A write of a plain page.
    const WHOLE: Share = Share { touched: 1, old: 0 };

    /// A small device that has been overwritten at random until collections ran, and is in order.
    fn aged(separation: &str) -> (Config, Device) {
        let sets = [
            "device.channels=1",
            "device.chips_per_channel=1",
            "device.blocks_per_plane=16",
            "device.pages_per_block=8",
            "device.user_capacity=\"2MiB\"",
            "ftl.allocation=\"CWDP\"",
            &format!("ftl.separation=\"{separation}\""),
            "run.checks=\"full\"",
            "run.payload=\"stamp\"",
        ]
        .map(str::to_string);
        let base = config::Base::Preset("tbm-small".into());
        let config = crate::load(&base, &sets, None).map_err(|problems| problems.to_string()).unwrap().config;
        let mut device = Device::new(&config, false).unwrap();
        let mut random = engine::Chance::new(1, "canary");
        let pages = device.ftl.user_pages();
        for lpn in (0..pages).chain((0..2000).map(|_| random.below_u32(pages))) {
            device.write_now(Lpn(lpn), WHOLE);
        }
        assert!(device.recorder.counters.gc_invocations > 100);
        device.check_state();
        device.check_data();
        (config, device)
    }

    /// What a check says; an empty text if it finds nothing.
    fn complaint(check: impl FnOnce()) -> String {
        match catch_unwind(AssertUnwindSafe(check)) {
            Ok(()) => String::new(),
            Err(panic) => match panic.downcast::<String>() {
                Ok(text) => *text,
                Err(panic) => panic.downcast_ref::<&str>().map_or("?".into(), |text| text.to_string()),
            },
        }
    }

    #[track_caller]
    fn assert_caught(check: impl FnOnce(), expected: &str) {
        let found = complaint(check);
        assert!(found.contains(expected), "the check says `{found}`, not `{expected}`");
    }

    /// The whole state, maps and all.
    fn saved(device: &Device) -> ftl::Saved<'static> {
        device.ftl.save().expect("page mapping").into_owned()
    }

    fn restore(config: &Config, device: &mut Device, saved: ftl::Saved<'static>) {
        device.ftl.restore(|| Ok::<_, OutOfMemory>(saved), &policies(config), config.run.seed).unwrap().unwrap();
    }

    /// Changes the FTL's saved state behind its back.
    fn tamper(config: &Config, device: &mut Device, change: impl FnOnce(&mut ftl::Saved<'static>)) {
        let mut saved = saved(device);
        change(&mut saved);
        restore(config, device, saved);
    }

    fn place(device: &Device, lpn: u32) -> (u32, u32) {
        let place = device.ftl.geometry().place(device.ftl.lookup(Lpn(lpn)).unwrap());
        (place.block, place.page)
    }

    #[test]
    fn a_page_that_is_forgotten_is_lost() {
        let (_, mut device) = aged("none");
        device.ftl.trim(Lpn(7));
        device.check_state();
        assert_caught(|| device.check_data(), "LPN 7 is lost");
    }

    #[test]
    fn a_trimmed_page_that_comes_back_is_seen() {
        let (config, mut device) = aged("none");
        let saved = saved(&device);
        device.trim(Lpn(7));
        device.check_data();
        restore(&config, &mut device, saved);
        assert_caught(|| device.check_data(), "LPN 7 holds other or stale data");
    }

    #[test]
    fn stale_data_are_seen_by_reads_and_sweeps() {
        let (_, mut device) = aged("none");
        let (block, page) = place(&device, 7);
        let newest = Stamp::unpack(device.flash.nand().stamp(block, page));
        let stale = Stamp { version: newest.version - 1, ..newest };
        device.flash.nand_mut().store(block, page, stale.pack(), 0);
        assert_caught(|| device.check_data(), "LPN 7 holds other or stale data");
        assert_caught(|| device.read_now(Lpn(7), 1), "a read of LPN 7 returned version");
    }

    #[test]
    fn data_from_the_future_are_seen() {
        let (_, mut device) = aged("none");
        let (block, page) = place(&device, 7);
        device.flash.nand_mut().store(block, page, Stamp { lpn: Lpn(7), version: u32::MAX }.pack(), 0);
        assert_caught(|| device.read_now(Lpn(7), 1), "a read of LPN 7 returned version");
    }

    #[test]
    fn a_write_that_never_reached_the_array_is_seen() {
        let (_, mut device) = aged("none");
        let version = device.admit_write(Lpn(7));
        let domain = device.ftl.domain_without_time(Lpn(7));
        device.ftl.write(domain, Lpn(7));
        device.write_completed(Lpn(7), version);
        assert_caught(|| device.check_state(), "LPN 7 maps to PPN");
        assert_caught(|| device.write_now(Lpn(7), WHOLE), "the flash array refused a command of the FTL");
    }

    #[test]
    fn a_flush_that_forgets_a_page_is_seen() {
        let (_, mut device) = aged("none");
        let version = device.admit_write(Lpn(7));
        device.write_completed(Lpn(7), version);
        device.promise_durable(0);
        assert_caught(|| device.check_durable(0), "of LPN 7 is said to be durable");
    }

    /// What was completed in the buffer before the cut is gone by the flush after it.
    #[test]
    fn a_flush_that_the_power_cut_off_promises_nothing() {
        let (_, mut device) = aged("none");
        let version = device.admit_write(Lpn(7));
        device.write_completed(Lpn(7), version);
        device.promise_durable(0);
        device.trust_array();
        device.promise_durable(0);
        device.check_durable(0);
    }

    #[test]
    fn a_map_entry_that_points_elsewhere_is_seen() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| saved.map.to_mut().swap(7, 8));
        assert_caught(|| device.check_state(), "LPN 7 maps to PPN");
        assert_caught(|| device.check_data(), "LPN 7 holds other or stale data");
        assert_caught(|| device.read_now(Lpn(7), 1), "a read of LPN 7 returned the data of LPN 8");
    }

    #[test]
    fn two_pages_exchanged_with_their_way_back_are_seen_by_their_data() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| {
            let (a, b) = (saved.map[7] as usize, saved.map[8] as usize);
            saved.map.to_mut().swap(7, 8);
            saved.reverse.to_mut().swap(a, b);
        });
        device.check_state();
        assert_caught(|| device.check_data(), "LPN 7 holds other or stale data");
    }

    #[test]
    fn a_page_that_stays_valid_after_its_overwrite_is_seen() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| {
            let stale = saved.reverse.iter().zip(0..).position(|(&lpn, ppn)| lpn == u32::MAX && ppn < 64).unwrap();
            saved.reverse.to_mut()[stale] = 7;
        });
        assert_caught(|| device.check_state(), "physical pages are valid");
    }

    #[test]
    fn a_map_entry_past_the_device_is_seen() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| saved.map.to_mut()[7] = u32::MAX - 1);
        assert_caught(|| device.check_state(), "LPN 7 maps past the device");
    }

    #[test]
    fn a_frontier_that_steps_back_is_seen() {
        for separation in ["none", "host-gc"] {
            let (config, mut device) = aged(separation);
            tamper(&config, &mut device, |saved| {
                let (_, slot) =
                    saved.frontiers.iter_mut().flatten().find(|(_, slot)| *slot > base::Slot::FIRST).unwrap();
                *slot = base::Slot::FIRST;
            });
            let mut lpns = 0..device.ftl.user_pages();
            // Either the sweep sees a valid page ahead of the frontier, or the array refuses to program again.
            let found = complaint(|| device.check_state())
                + &complaint(|| lpns.by_ref().for_each(|lpn| device.write_now(Lpn(lpn), WHOLE)));
            assert!(found.contains("ahead of its frontier") || found.contains("programmed and not erased"), "{found}");
        }
    }

    #[test]
    fn a_block_erased_with_valid_pages_is_seen() {
        let (_, mut device) = aged("none");
        let unit = device.ftl.geometry().unit_of(device.ftl.lookup(Lpn(7)).unwrap());
        device.flash.erase(unit);
        assert_caught(|| device.check_state(), "which is not programmed");
        assert_caught(|| device.read_now(Lpn(7), 1), "the flash array refused a command of the FTL");
    }
    #[test]
    fn a_device_without_power_runs_on_and_changes_nothing() {
        for at in [0, 1, 50, 51, 52, 777] {
            for during in [false, true] {
                let (_, mut device) = aged("none");
                device.flash.arm(Fault::PowerCut { at, during });
                let mut random = engine::Chance::new(at, "after the cut");
                let mut nand = None;
                for _ in 0..2000 {
                    let lpn = Lpn(random.below_u32(device.ftl.user_pages()));
                    if random.below(3) == 0 {
                        device.read_now(lpn, 1)
                    } else {
                        device.write_now(lpn, WHOLE)
                    }
                    if device.flash.is_off() && nand.is_none() {
                        nand = Some((device.flash.nand().save(), device.oracle.as_ref().unwrap().completed.clone()));
                    }
                }
                let (nand, completed) = nand.expect("a cut");
                assert!(device.flash.nand().save() == nand, "the array changed without power");
                assert_eq!(device.oracle.as_ref().unwrap().completed, completed, "a write completed without power");
            }
        }
    }
}
