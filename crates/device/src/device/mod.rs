//! The parts that all executors share: the FTL, the array, the figures, and what tests know of the data (`oracle.rs`). Here they work
//! together without a clock; how an operation of the FTL is carried out at once is in `at_once.rs`.

mod at_once;
mod oracle;

use std::collections::BTreeSet;

use base::{Cause, Domain, Duration, Geometry, Instant, Lpn, OpKind, Ppn, Request, Unit};
use config::Config;
use config::model::{Checks, Namespace, Payload};
use ftl::allocation::{Allocation, DieTurns, GroupedNamespace};
use ftl::schedule::Schedule;
use ftl::separation::reclaim_groups;
use ftl::{ANYWHERE, Ahead, Capabilities, Ftl, HostWrite, OutOfMemory, Placed, Policies, Rewriter as _, Time};
use metrics::{Locality, Recorder};
use nand::StoreKind;

use crate::flash::{Content, Flash, Programmed, Safeguard, Stamp};
use crate::gang::{self, geometry};
use crate::lives;
use crate::pages::{PageSize, Parts, Share, Span};
use crate::timed::chip::one_shot;
use crate::watchdog::Watchdog;
use crate::wear;

pub(crate) use at_once::{AtOnce, count_collection, count_moves};
pub(crate) use oracle::Oracle;

/// An SSD without a clock.
#[derive(Clone)]
pub(crate) struct Device {
    pub(crate) ftl: Ftl,
    /// Plane allocation, which is asked for several times per event.
    pub(crate) allocation: Allocation,
    /// Whose turn it is among the dies of a dynamic allocation.
    pub(crate) turns: DieTurns,
    /// The parts that the mapping has.
    pub(crate) has: Capabilities,
    pub(crate) flash: Flash,
    pub(crate) recorder: Recorder,
    pub(crate) oracle: Option<Oracle>,
    /// Bytes of a page, which is a superpage where channels or planes are in step.
    pub(crate) page_size: PageSize,
    /// The flash pages of a page.
    pub(crate) parts: Parts,
    /// Logical pages behind those of the host, which the drive keeps for itself.
    own_pages: u32,
    /// True if pages lie on other planes than the owners of their map entries.
    pub(crate) has_owners: bool,
    /// True if pages that follow each other can be read together: they store nothing, and their map entries are in DRAM.
    reads_runs: bool,
    /// Samples of the workload's locality, where the FTL keeps regions.
    pub(crate) locality: Option<Locality>,
    full_checks: bool,
    /// Collections ahead of need that keep step with the host.
    paced: Option<Ahead>,
    /// Notices that nothing comes to the host any more.
    pub(crate) watchdog: Watchdog,
    /// A page of the host was not taken: the device is read-only.
    pub(crate) has_refused: bool,
}

/// The kind of store that a configuration asks for.
pub(crate) fn stores(config: &Config) -> StoreKind {
    match config.run.payload {
        Payload::None => StoreKind::Nothing,
        Payload::Stamp => StoreKind::Stamps,
    }
}

/// The facts of the device that figures need.
pub(crate) fn shape(config: &Config, geometry: &Geometry, timed: bool) -> metrics::RecordedShape {
    metrics::RecordedShape {
        channels: geometry.channels,
        dies: geometry.dies(),
        timed,
        capacity_bytes: config.device.user_capacity,
        page_bytes: gang::parts_of_page(config, geometry).size,
        flash_page_bytes: config.device.page_size.into(),
        in_step: config.in_step(),
        has_units: geometry.parts > 1,
        has_wide_units: geometry.parts == 1
            && config.in_step().parts() > 1
            && config.ftl.get("map_unit").name != "page",
    }
}

impl AsRef<Device> for Device {
    fn as_ref(&self) -> &Device {
        self
    }
}

impl Device {
    pub(crate) fn new(config: &Config, timed: bool) -> Result<Device, OutOfMemory> {
        Device::storing(config, timed, stores(config), 0)
    }

    /// A device whose pages store that, with so many logical pages of its own behind those of the host.
    pub(crate) fn storing(
        config: &Config,
        timed: bool,
        stores: StoreKind,
        own_pages: u64,
    ) -> Result<Device, OutOfMemory> {
        let geometry = geometry(config);
        let user_pages = config.device.user_capacity / u64::from(geometry.page_size) + own_pages;
        let allocation = Allocation::of(&policies(config), &geometry, user_pages);
        let payload = stores != StoreKind::Nothing;
        let (ftl, has) = Ftl::new(geometry, user_pages, &policies(config), config.run.seed, payload)?;
        let shape = shape(config, &geometry, timed);
        let mut flash = Flash::new(geometry, &config.device, stores, Safeguard::of(config.ftl.get("paired_page").name));
        if let Some(wear) = wear::of(config) {
            flash.keep_errors(wear);
        }
        if let Some(limits) = config.device.wear.read_limits() {
            flash.keep_reads(limits);
        }
        if let Some(lives) = lives::of(config) {
            flash.keep_lives(lives);
        }
        if config.ftl.get("slc_cache").name != "off" || config.ftl.get("paired_page").name == "slc-buffer" {
            flash.expect_lsb_only();
        }
        Ok(Device {
            own_pages: own_pages as u32,
            has_owners: has.map.is_some_and(|map| map.has_owners),
            reads_runs: !payload
                && has.pages.is_some_and(|_| has.map.is_none() && geometry.unit_width == 1)
                && geometry.parts == 1
                && config.in_step().parts() == 1
                && !flash.gathers(),
            has,
            oracle: (stores == StoreKind::Stamps).then(|| Oracle::new(has.user_pages)),
            ftl,
            turns: DieTurns::new(&allocation),
            allocation,
            flash,
            recorder: Recorder::new(shape),
            page_size: PageSize::new(geometry.page_size.into()),
            parts: gang::parts_of_page(config, &geometry),
            locality: (config.ftl.get("separation").name == "dac").then(Locality::new),
            full_checks: config.run.checks == Checks::Full,
            paced: has.ahead.filter(|_| Schedule::new(config.ftl.get("gc_schedule")).paced().is_some()),
            watchdog: Watchdog::new(config, &geometry),
            has_refused: false,
        })
    }

    /// Logical pages of the host.
    pub(crate) fn host_pages(&self) -> u32 {
        self.has.user_pages - self.own_pages
    }

    /// True if nothing but plain page mapping is in force, and pages store nothing; without time.
    pub(crate) fn is_plain_without_time(&self) -> bool {
        self.reads_runs && self.has.plain.is_some() && self.flash.nand().is_plain() && self.paced.is_none()
    }

    /// The domain that takes a page without time. Whichever is asked refuses it where the device is read-only.
    #[inline(always)]
    pub(crate) fn domain_now(&mut self, lpn: Lpn) -> Domain {
        let Device { allocation, turns, has, ftl, .. } = self;
        let found = turns.domain_of(allocation, lpn, |die| has.dynamic?.peek_domain_of(ftl, die));
        found.unwrap_or_else(|| {
            assert!(
                self.is_read_only(),
                "no plane accepts a page: the user space exceeds what the spare space can serve"
            );
            Domain::new(0)
        })
    }

    /// Writes a whole page where [`Device::is_plain_without_time`] holds, and does whatever collection it calls for.
    #[inline(always)]
    pub(crate) fn write_page_now(&mut self, lpn: Lpn) {
        let domain = self.domain_now(lpn);
        let placed = self.ftl.write(domain, lpn.into(), ANYWHERE).expect("any place suits");
        self.flash.program(placed.at, Content::EMPTY).expect_done();
        self.note_programmed(placed.at);
        self.recorder.counters.count(Cause::Host, OpKind::Program, 1);
        if self.ftl.work(domain).is_some() {
            self.collect_now(domain);
        }
    }

    /// Reads a page there.
    #[inline(always)]
    pub(crate) fn read_page_now(&mut self, lpn: Lpn) {
        match self.ftl.lookup(lpn) {
            Err(_) => self.recorder.counters.unmapped_reads += 1,
            Ok(ppn) => {
                self.flash.read(ppn);
                self.recorder.counters.count(Cause::Host, OpKind::Read, 1);
            }
        }
    }

    /// Writes a page without time, and does whatever collection it calls for.
    #[inline]
    pub(crate) fn write_now(&mut self, page: impl Into<HostWrite>, share: Share) {
        let page = page.into();
        let version = self.admit_write(page.lpn);
        if self.program_now(page, version, share) && self.oracle.is_some() {
            self.write_completed(page.lpn, version);
        }
    }

    /// Programs a version of a page without time, after the read of its old version if it is written in part. Returns whether the
    /// device took it.
    #[inline]
    pub(crate) fn program_now(&mut self, page: HostWrite, version: u32, share: Share) -> bool {
        if share.old > 0 {
            self.read_old_now(page.lpn, share.old);
        }
        self.place_now(page, version, self.expected(page.lpn, version), share.touched)
    }

    /// Reads so many parts of the old version of a page that is written in part, without time; nothing if there is none.
    pub(crate) fn read_old_now(&mut self, lpn: Lpn, parts: u8) -> Option<Content> {
        self.use_entry(lpn);
        self.note_host_read(lpn);
        let old = self.ftl.lookup(lpn).ok()?;
        if let Some(content) = self.flash.in_frame(old) {
            return Some(self.flash.hold_frame(content));
        }
        let content = self.flash.read(old);
        let content = self.hold(content);
        self.tell_read(old);
        self.recorder.counters.count(Cause::Rmw, OpKind::Read, 1);
        self.note_bystanders(Cause::Rmw, OpKind::Read, parts);
        Some(content)
    }

    /// Places a version of a page, of which the host wrote so many parts, without time, and does whatever collection that calls for.
    /// Returns whether the device took it: it does not if it is read-only, or becomes so.
    #[inline]
    pub(crate) fn place_now(&mut self, page: HostWrite, version: u32, data: Content, touched: u8) -> bool {
        let lpn = page.lpn;
        let domain = self.domain_now(lpn);
        while !self.ftl.prepare(domain, page) {
            self.collect_now(domain);
            if self.is_read_only() {
                self.has_refused = true;
                return false;
            }
        }
        let old = if self.flash.gathers() { self.ftl.lookup(lpn).ok() } else { None };
        let placed = self.ftl.write(domain, page, ANYWHERE).expect("any place suits");
        let content = self.content_of(placed, data);
        let result = self.flash.place(placed, content, old);
        self.note_programmed(placed.at);
        if result == Programmed::Failed {
            let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, &mut self.watchdog, content);
            let pages = self.has.pages.expect("faults are refused where they cannot be repaired");
            pages.repair(&mut self.ftl, placed.at, None, &mut array);
            self.update_elsewhere(domain);
            if self.is_read_only() {
                // It may be in the array; the host is not told so.
                self.recorder.counters.count(Cause::Host, OpKind::Program, 1);
                self.has_refused = true;
                return false;
            }
        }
        self.recorder.counters.count(Cause::Host, OpKind::Program, 1);
        self.note_bystanders(Cause::Host, OpKind::Program, touched);
        if self.flash.gathers() {
            self.note_landed();
        } else {
            self.programmed(lpn, version);
        }
        if self.ftl.work(domain).is_some() {
            self.collect_now(domain);
        }
        if let Some(ahead) = self.paced {
            self.keep_pace(ahead, domain);
        }
        true
    }

    /// Without time a page is programmed as soon as it is placed, or waits for the rest of its wordline, which the assembly knows.
    #[inline(always)]
    fn note_programmed(&mut self, at: Ppn) {
        if let (Some(_), Some(pages)) = (self.has.dynamic, self.has.pages) {
            pages.programmed(&mut self.ftl, at);
        }
    }

    /// True if the device takes no more pages, because too many blocks have failed.
    #[inline]
    pub(crate) fn is_read_only(&self) -> bool {
        self.has.pages.is_some_and(|pages| pages.is_read_only(&self.ftl))
    }

    /// The host reads a page that is nowhere: it was never written, or its data were lost, which the host is told as an error.
    pub(crate) fn note_unmapped(&mut self, lpn: Lpn) {
        if self.ftl.lookup(lpn) == Err(ftl::Nowhere::Lost) {
            self.recorder.counters.failed_reads += 1;
        } else {
            self.recorder.counters.unmapped_reads += 1;
        }
    }

    /// Where collections keep step with the host, and no time passes, one begins at the same mark and goes to its end.
    #[cold]
    fn keep_pace(&mut self, ahead: Ahead, domain: Domain) {
        while ahead.begin(&mut self.ftl, domain, 1) {
            self.collect_now(domain);
        }
    }

    /// After a repair: map entries of pages that were written anew may be other domains'.
    #[cold]
    fn update_elsewhere(&mut self, domain: Domain) {
        let others = self.flash.geometry().all_domains().filter(|&other| self.has_owners && other != domain);
        for other in others.collect::<Vec<_>>() {
            if self.ftl.work(other).is_some() {
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
        if let Some(content) = self.read_content_after(lpn, parts, &mut BTreeSet::new()) {
            self.check_read(lpn, floor, content);
        }
    }

    /// Reads so many parts of a page of the array without time; nothing if it was never written. The page comes along where its flash page
    /// is one of those that were `read` for the same request.
    #[inline]
    pub(crate) fn read_content_after(&mut self, lpn: Lpn, parts: u8, read: &mut BTreeSet<u32>) -> Option<Content> {
        self.use_entry(lpn);
        self.note_host_read(lpn);
        let Ok(ppn) = self.ftl.lookup(lpn) else {
            self.note_unmapped(lpn);
            return None;
        };
        if let Some(content) = self.flash.in_frame(ppn) {
            return Some(self.flash.hold_frame(content));
        }
        let geometry = self.flash.geometry();
        if geometry.parts > 1 && !read.insert(geometry.flash_page_of(ppn)) {
            let content = self.flash.read_along(ppn);
            return Some(content);
        }
        let content = self.flash.read(ppn);
        let content = self.hold(content);
        self.recorder.counters.count(Cause::Host, OpKind::Read, 1);
        self.note_bystanders(Cause::Host, OpKind::Read, parts);
        self.tell_read(ppn);
        Some(content)
    }

    /// Content that was read, wherever what reads call for moves it.
    #[inline]
    fn hold(&mut self, content: Content) -> Content {
        if self.has.reads.is_some() { self.flash.hold(content) } else { content }
    }

    /// Reads the pages of a request of the array without time; a flash page once, wherever in the request its parts are.
    #[inline]
    pub(crate) fn read_span_now(&mut self, span: Span, request: &Request) {
        if self.reads_runs {
            return self.read_runs_now(span);
        }
        let (has_parts, mut read) = (self.flash.geometry().parts > 1, BTreeSet::new());
        for (lpn, partial) in span.pages() {
            let whole = if has_parts { Some(self.parts.whole()) } else { None };
            let share = whole.unwrap_or_else(|| self.parts.share(lpn, partial, request.offset, request.size));
            let floor = self.read_floor(lpn);
            if let Some(content) = self.read_content_after(lpn, share.touched, &mut read) {
                self.check_read(lpn, floor, content);
            }
        }
    }

    /// Reads a span, pages that follow each other in a block together, until one of them calls for something.
    #[inline]
    fn read_runs_now(&mut self, span: Span) {
        let mut next = span.first;
        while next < span.end {
            let Ok(first) = self.ftl.lookup(Lpn(next)) else {
                self.read_now(Lpn(next), self.parts.whole().touched);
                next += 1;
                continue;
            };
            let pages = if next + 1 == span.end { 1 } else { self.run_from(Lpn(next), first, span.end - next) };
            self.note_host_read(Lpn(next));
            let pages = self.note_reads(first, pages);
            (next + 1..next + pages).for_each(|lpn| self.note_host_read(Lpn(lpn)));
            self.flash.read_run(first, pages);
            self.recorder.counters.count(Cause::Host, OpKind::Read, u64::from(pages));
            self.collect_for_reads();
            next += pages;
        }
    }

    /// The logical pages from one on, of at most so many, that follow each other in the block in which the first one is.
    fn run_from(&self, lpn: Lpn, first: Ppn, most: u32) -> u32 {
        let in_block = self.flash.geometry().pages_per_block - self.flash.page_offset(first).number();
        let follows = |&page: &u32| self.ftl.lookup(Lpn(lpn.0 + page)) == Ok(Ppn(first.0 + page));
        1 + (1..in_block.min(most)).take_while(follows).count() as u32
    }

    /// A page of the array was read: what that calls for is done at once.
    #[inline]
    fn tell_read(&mut self, ppn: Ppn) {
        self.note_reads(ppn, 1);
        self.collect_for_reads();
    }

    /// Does what reads call for.
    #[inline]
    fn collect_for_reads(&mut self) {
        while self.has.reads.is_some()
            && let Some(domain) = self.take_woken()
        {
            self.collect_now(domain);
        }
    }

    /// The host reads a page, or a part of one that it writes.
    #[inline]
    pub(crate) fn note_host_read(&mut self, lpn: Lpn) {
        if let Some(reads) = self.has.host_reads {
            reads.read(&mut self.ftl, lpn);
        }
    }

    /// Pages of the array are read, as many of these as come before one that calls for something. Returns how many.
    #[inline]
    pub(crate) fn note_reads(&mut self, first: Ppn, most: u32) -> u32 {
        if let Some(reads) = self.has.reads { reads.read(&mut self.ftl, first, most) } else { most }
    }

    /// Uses the map entry of a page that is to be read, which may have to be fetched.
    #[inline]
    fn use_entry(&mut self, lpn: Lpn) {
        if self.has.map.is_some() {
            self.use_cached_entry(lpn);
        }
    }

    /// The domain that has to get the map entry of a page before it can be read, if one has to.
    #[inline(always)]
    pub(crate) fn missing(&self, lpn: Lpn) -> Option<Domain> {
        self.has.map?.missing(&self.ftl, lpn)
    }

    /// True if the map entry of a page can be read.
    #[inline(always)]
    pub(crate) fn is_known(&self, lpn: Lpn) -> bool {
        self.missing(lpn).is_none()
    }

    /// Has the owner of a map entry get it for a read. Returns that domain, if the entry is not at hand.
    #[inline(always)]
    pub(crate) fn prepare_read(&mut self, lpn: Lpn) -> Option<Domain> {
        self.has.map?.prepare_read(&mut self.ftl, lpn)
    }

    /// Has the owner of a map entry get it for a write, where owners are other domains. Returns whether it is at hand.
    #[inline(always)]
    pub(crate) fn prepare_write(&mut self, lpn: Lpn) -> bool {
        let map = self.has.map.filter(|map| map.has_owners);
        map.is_none_or(|map| map.prepare_write(&mut self.ftl, lpn))
    }

    /// True if a page of the array may be read for the host now; if not, it has to move first.
    #[inline(always)]
    pub(crate) fn may_read(&self, ppn: Ppn) -> bool {
        self.has.reads.is_none_or(|reads| reads.may_read(&self.ftl, ppn))
    }

    /// A domain that has something to do because of another one, since it was last named.
    pub(crate) fn take_woken(&mut self) -> Option<Domain> {
        self.has.elsewhere?.take_woken(&mut self.ftl)
    }

    /// Places a dummy page in an active block.
    pub(crate) fn fill(&mut self, domain: Domain, unit: Unit) -> Placed {
        let pages = self.has.pages.expect("wordlines are programmed as a whole under page mapping alone");
        pages.fill(&mut self.ftl, domain, unit).expect("an active block")
    }

    #[inline(never)]
    fn use_cached_entry(&mut self, lpn: Lpn) {
        while let Some(owner) = self.prepare_read(lpn) {
            self.collect_now(owner);
        }
    }

    #[cold]
    pub(crate) fn collect_now(&mut self, domain: Domain) {
        let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, &mut self.watchdog, Content::EMPTY);
        self.ftl.collect(domain, u32::MAX, &mut array);
        if array.has_erased {
            self.after_collection();
        }
        self.note_landed();
    }

    /// Programs all that waits for other pages, without time: dummy pages fill it up.
    pub(crate) fn fill_up(&mut self) {
        while let Some(unit) = self.flash.unit_in_frames() {
            self.fill_up_unit(unit);
        }
        self.note_landed();
    }

    /// Fills up the units that a loaded state has in part.
    pub(crate) fn fill_up_parts(&mut self) {
        while self.flash.gathers()
            && let Some(unit) = self.flash.unit_in_part()
        {
            self.fill_up_unit(unit);
        }
        self.fill_up();
    }

    #[cold]
    fn fill_up_unit(&mut self, unit: Unit) {
        let domain = self.flash.geometry().domain_of_unit(unit);
        let placed = self.fill(domain, unit);
        let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, &mut self.watchdog, Content::EMPTY);
        if !array.combined(Cause::Pad, &[], placed) {
            let pages = self.has.pages.expect("pages wait for others under page mapping alone");
            pages.repair(&mut self.ftl, placed.at, None, &mut array);
        }
        if self.ftl.work(domain).is_some() {
            self.collect_now(domain);
        }
    }

    /// Takes note of what the array has come to have of pages of the host that waited for others.
    #[inline]
    fn note_landed(&mut self) {
        while let Some(Stamp { lpn, version }) = self.flash.take_landed() {
            if lpn.0 < self.has.user_pages {
                self.programmed(lpn, version);
            }
        }
    }

    /// Collects a domain ahead of need without time, where a unit is worth it, and suspends that after so many operations, as soon as it
    /// can be done. Where erases are deferred, that of an emptied unit is left for later, and the next unit comes.
    pub(crate) fn collect_ahead_now(&mut self, domain: Domain, operations: u32, defers: bool) {
        let ahead = self.has.ahead.filter(|ahead| ahead.begin(&mut self.ftl, domain, 0));
        let Some(ahead) = ahead else { return };
        let mut array = AtOnce::new(&mut self.flash, &mut self.recorder.counters, &mut self.watchdog, Content::EMPTY);
        let mut done = 0;
        loop {
            if done >= operations && ahead.suspend(&mut self.ftl, domain) {
                array.counters.gc_preempted += 1;
                break;
            }
            if defers && self.ftl.work(domain).is_some_and(|work| !work.is_foreground()) {
                ahead.copy_next(&mut self.ftl, domain);
            }
            if !self.ftl.collect(domain, 1, &mut array) {
                break;
            }
            done += 1;
        }
        // What it calls for elsewhere, and neighbours that are collected along.
        self.collect_now(domain);
    }

    /// Forgets the pages of a span, and has the domains do what that calls for.
    pub(crate) fn trim_now(&mut self, span: Span) {
        self.trim_pages(span);
        self.collect_after_trim();
    }

    /// Forgets pages, without what that calls for.
    pub(crate) fn trim_pages(&mut self, span: Span) {
        for (lpn, _) in span.pages() {
            self.trim(lpn);
        }
    }

    /// Does what a trim calls for.
    pub(crate) fn collect_after_trim(&mut self) {
        if self.has.map.is_some() {
            self.settle();
        }
    }

    /// Does what domains have to do.
    pub(crate) fn settle(&mut self) {
        for domain in self.flash.geometry().all_domains() {
            if self.ftl.work(domain).is_some() {
                self.collect_now(domain);
            }
        }
    }

    /// Forgets a page.
    pub(crate) fn trim(&mut self, lpn: Lpn) {
        self.watchdog.trims();
        self.admit_trim(lpn);
        self.ftl.trim(lpn);
    }
    /// The content to program for a page that was placed, made of `data`.
    #[inline(always)]
    pub(crate) fn content_of(&self, placed: Placed, data: Content) -> Content {
        at_once::content_of(&self.flash, placed, data)
    }

    /// Tells the FTL the time, which some policies look at, and the fill of the write buffer, where that has changed.
    #[inline(always)]
    pub(crate) fn tell_time(&mut self, now: Instant, fill: Option<f64>) {
        if let Some(time) = self.has.time {
            self.tell(time, now, fill);
        }
    }

    #[inline(never)]
    fn tell(&mut self, time: Time, now: Instant, fill: Option<f64>) {
        if let (Some(omega), Some(locality)) = (time.tell(&mut self.ftl, now, fill), &mut self.locality) {
            locality.record(omega);
        }
    }
}

/// Time that a block's pages take one after the other.
fn block_write(config: &Config) -> Duration {
    let device = &config.device;
    let transfer = u64::from(device.page_size) * 1_000_000_000 / device.timing.channel_rate;
    let of_wordline: u64 = device.timing.program.iter().map(|time| time.ns() + transfer).sum();
    Duration(of_wordline * u64::from(device.pages_per_block) / device.timing.program.len() as u64)
}

/// The namespaces of tenants that lie in one reclaim group each, where there are several.
fn grouped_namespaces(config: &Config) -> Vec<GroupedNamespace> {
    let page = u64::from(geometry(config).page_size);
    // A page of two namespaces is of the first one.
    let page_at = |at: u64| at.div_ceil(page) as u32;
    let grouped = |(Namespace { first, bytes }, group)| {
        let (first, end) = (page_at(first), page_at(first + bytes));
        GroupedNamespace { first: Lpn(first), pages: end - first, group }
    };
    let has_several = reclaim_groups(config.ftl.get("separation")) > 1;
    config.workload.in_reclaim_groups().filter(|_| has_several).map(grouped).collect()
}

/// The FTL's policies under a configuration.
pub(crate) fn policies(config: &Config) -> Policies<'_> {
    Policies {
        mapping: config.ftl.get("mapping"),
        map_unit: config.ftl.get("map_unit"),
        allocation: config.ftl.get("allocation"),
        block_allocation: config.ftl.get("block_allocation"),
        victim: config.ftl.get("victim"),
        reclaim_unit: config.ftl.get("reclaim_unit"),
        reclaim_across: config.ftl.get("reclaim_across"),
        gc_schedule: config.ftl.get("gc_schedule"),
        separation: config.ftl.get("separation"),
        namespaces: grouped_namespaces(config),
        paired_page: config.ftl.get("paired_page"),
        migration: config.ftl.get("migration"),
        read_disturb: config.ftl.get("read_disturb"),
        refresh: config.ftl.get("refresh"),
        wear_leveling: config.ftl.get("wear_leveling"),
        slc_cache: config.ftl.get("slc_cache"),
        cell: config.device.cell,
        program_order: config.device.program_order,
        wear: wear::of(config),
        reads: config.device.wear.read_limits(),
        spared_wear: base::slc::spared_wear(&config.device.features),
        block_write: block_write(config),
        program: one_shot::program_unit(config),
        bad_blocks: lives::bad(config),
        data_age: nand::media::MediaSetup::of(&config.device.features).map(|media| media.age()),
        timeless: config.run.timeless().is_some(),
        future: &[],
    }
}
