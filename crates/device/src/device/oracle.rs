//! The data as tests know them, where pages carry stamps: versions that were sent, completed and programmed, what a read may return, and
//! what a flush promises. And the checks of the whole state.

use base::{Lpn, Ppn};
use ftl::{ArrayView, Nowhere};

use super::Device;
use crate::flash::{Content, Flash, Stamp};

/// The content that every logical page should have, when pages carry stamps.
#[derive(Clone)]
pub(crate) struct Oracle {
    /// By LPN: the newest version that the host sent; 0 when it was never written or was trimmed.
    newest: Vec<u32>,
    /// By LPN: the newest version whose write completed.
    completed: Vec<u32>,
    /// By LPN: the newest version that was programmed; with a write buffer it may be older than `completed`.
    programmed: Vec<u32>,
    /// By LPN: the newest version of any page that was sent before its last trim. What waits in a frame may be programmed later.
    trimmed: Vec<u32>,
    versions: u32,
    /// By flush: what was complete when it was sent, by LPN.
    promises: Vec<(u32, Vec<u32>)>,
    /// By LPN, where somebody asks: the newest version that outlives a power cut, by what the host was told; 0 for none.
    durable: Option<Vec<u32>>,
}

impl Oracle {
    /// Bytes for a user space, with the promise of a flush.
    pub(crate) fn bytes(user_pages: u64) -> u64 {
        user_pages * 4 * 5
    }

    pub(super) fn new(user_pages: u32) -> Oracle {
        let none = vec![0; user_pages as usize];
        Oracle {
            newest: none.clone(),
            completed: none.clone(),
            programmed: none.clone(),
            trimmed: none,
            versions: 0,
            promises: Vec::new(),
            durable: None,
        }
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
        self.trimmed[lpn.index()] = self.versions;
        if let Some(durable) = &mut self.durable {
            durable[lpn.index()] = 0;
        }
    }

    /// That version of a page outlives a power cut, unless a trim was sent after it.
    fn note_durable(&mut self, lpn: Lpn, version: u32) {
        if let Some(durable) = &mut self.durable
            && version > self.trimmed[lpn.index()]
        {
            let known = &mut durable[lpn.index()];
            *known = version.max(*known);
        }
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

impl ArrayView for Flash {
    fn is_programmed(&self, at: Ppn) -> bool {
        self.is_placed(at)
    }

    fn is_lsb_only(&self, at: Ppn) -> Option<bool> {
        let block = &self.nand().blocks()[self.block_of(at).index()];
        (block.next_page > 0).then(|| block.is_lsb_only())
    }
}

impl Device {
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
            if version > oracle.trimmed[lpn.index()] {
                *programmed = version.max(*programmed);
            }
        }
    }

    /// That version was programmed, and with that its write is complete: there is no write buffer.
    #[inline]
    pub(crate) fn programmed_and_completed(&mut self, lpn: Lpn, version: u32) {
        if self.oracle.is_some() {
            self.programmed(lpn, version);
            self.write_completed(lpn, version);
        }
        if let Some(oracle) = &mut self.oracle {
            oracle.note_durable(lpn, version);
        }
    }

    /// Keeps from now on which versions outlive a power cut.
    pub(crate) fn keep_durable(&mut self) {
        let oracle = self.oracle.as_mut().expect("pages carry stamps");
        oracle.durable = Some(oracle.programmed.clone());
    }

    /// The newest version of a page that outlives a power cut, by what the host was told; 0 for none.
    pub(crate) fn durable_version(&self, lpn: Lpn) -> u32 {
        let durable = self.oracle.as_ref().and_then(|oracle| oracle.durable.as_ref());
        durable.map_or(0, |durable| durable[lpn.index()])
    }

    /// The newest version of any page that the host sent.
    pub(crate) fn last_version(&self) -> u32 {
        self.oracle.as_ref().map_or(0, |oracle| oracle.versions)
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
            && (self.full_checks || oracle.durable.is_some())
        {
            let promised = oracle.completed.clone();
            oracle.promises.push((request, promised));
        }
    }

    /// The flush completes: its promise must hold.
    #[inline]
    pub(crate) fn check_durable(&mut self, request: u32) {
        if self.oracle.is_some() && !self.flash.is_off() {
            self.check_promise(request);
        }
    }

    #[cold]
    fn check_promise(&mut self, request: u32) {
        if let Some(oracle) = &mut self.oracle {
            let Some(at) = oracle.promises.iter().position(|(promised, _)| *promised == request) else { return };
            let (_, promised) = oracle.promises.remove(at);
            for (lpn, (promised, programmed)) in promised.iter().zip(&oracle.programmed).enumerate() {
                assert!(
                    promised <= programmed,
                    "version {promised} of LPN {lpn} is said to be durable, and version {programmed} is programmed"
                );
            }
            (0..).map(Lpn).zip(promised).for_each(|(lpn, promised)| oracle.note_durable(lpn, promised));
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
            oracle.check_read(lpn, floor, Stamp::unpack(content.data));
        }
    }

    /// The data of a page of that version.
    pub(crate) fn expected(&self, lpn: Lpn, version: u32) -> Content {
        let data = if self.oracle.is_some() { Stamp { lpn, version }.pack() } else { 0 };
        Content { data, spare: 0 }
    }

    /// The whole-state check, where the configuration asks for it.
    #[inline]
    pub(crate) fn after_collection(&self) {
        if self.full_checks && !self.flash.is_off() {
            self.check_state();
        }
    }

    /// Checks the FTL's state, and that every valid page is programmed, or placed and in a frame.
    pub(crate) fn check_state(&self) {
        if let Err(problem) = self.ftl.check(&self.flash) {
            panic!("the FTL's state is inconsistent: {problem}");
        }
    }

    /// Checks that every logical page holds the newest version that was written, with nothing in flight.
    ///
    /// # Panics
    /// When a page is lost, stale, or another's; that is what the check is for.
    pub(crate) fn check_data(&self) {
        let Some(oracle) = &self.oracle else { return };
        for lpn in (0..self.has.user_pages).map(Lpn) {
            let newest = oracle.newest[lpn.index()];
            // When the device has come to its end, what is newer is in the controller, or the host was not told of it.
            let oldest = if self.is_read_only() { oracle.programmed[lpn.index()] } else { newest };
            match self.ftl.lookup(lpn) {
                Err(why) => assert!(why == Nowhere::Lost || oldest == 0 || newest == 0, "LPN {} is lost", lpn.0),
                Ok(ppn) => {
                    let stamp = Stamp::unpack(self.flash.waiting(ppn).data);
                    // Nor was a trim carried out that was in the controller then.
                    let newest = if newest == 0 && self.is_read_only() { oracle.versions } else { newest };
                    let is_own = stamp.lpn == lpn && (oldest..=newest).contains(&stamp.version);
                    assert!(is_own, "LPN {} holds other or stale data: {stamp:?}, and {newest} is newest", lpn.0);
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
        for lpn in (0..self.has.user_pages).map(Lpn) {
            let version = self.ftl.lookup(lpn).map_or(0, |ppn| Stamp::unpack(self.flash.waiting(ppn).data).version);
            oracle.newest[lpn.index()] = version;
            oracle.completed[lpn.index()] = version;
            oracle.programmed[lpn.index()] = version;
            oracle.trimmed[lpn.index()] = 0;
            if let Some(durable) = &mut oracle.durable {
                durable[lpn.index()] = version;
            }
            oracle.versions = oracle.versions.max(version);
        }
    }
}

/// Proof that the checks can fail: each test breaks one thing by hand, and a check has to say so.
#[cfg(test)]
mod canary {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use config::Config;
    use ftl::OutOfMemory;

    use ftl::ANYWHERE;

    use super::*;
    use crate::device::policies;
    use crate::flash::Fault;
    use crate::pages::Share;

    /// A write of a plain page.
    const WHOLE: Share = Share { touched: 1, old: 0 };

    /// The array holds the FTL to it that a unit which was retired is used no more.
    #[test]
    fn a_retired_unit_in_use_is_caught() {
        let (_, mut device) = aged("none");
        device.write_now(Lpn(3), WHOLE);
        let at = device.ftl.lookup(Lpn(3)).unwrap();
        device.flash.retire(device.flash.unit_of(at));
        let pages = device.has.user_pages;
        let writes = || (0..pages).for_each(|lpn| device.write_now(Lpn(lpn), WHOLE));
        assert_caught(writes, "the flash array refused a command of the FTL");
    }

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
        ];
        let config = crate::preset("tbm-small", &sets);
        let mut device = Device::new(&config, false).unwrap();
        let mut random = engine::Chance::new(1, "canary");
        let pages = device.has.user_pages;
        for lpn in (0..pages).chain((0..2000).map(|_| random.below_u32(pages))) {
            device.write_now(Lpn(lpn), WHOLE);
        }
        assert!(device.recorder.counters.gc_invocations > 100);
        device.check_state();
        device.check_data();
        (config, device)
    }

    /// The text of a check's complaint; empty if it finds nothing.
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
        device.has.pages.expect("page mapping").save(&device.ftl).into_owned()
    }

    fn restore(config: &Config, device: &mut Device, saved: ftl::Saved<'static>) {
        let pages = device.has.pages.expect("page mapping");
        let read = || Ok::<_, OutOfMemory>(saved);
        pages.restore(&mut device.ftl, read, &policies(config), config.run.seed).unwrap().unwrap();
    }

    /// Changes the FTL's saved state behind its back.
    fn tamper(config: &Config, device: &mut Device, change: impl FnOnce(&mut ftl::Saved<'static>)) {
        let mut saved = saved(device);
        change(&mut saved);
        restore(config, device, saved);
    }

    fn place(device: &Device, lpn: u32) -> (base::Block, base::Page) {
        let place = device.flash.geometry().place(device.ftl.lookup(Lpn(lpn)).unwrap());
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
        let newest = Stamp::unpack(device.flash.nand().data(block, page));
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
        let domain = device.domain_now(Lpn(7));
        device.ftl.write(domain, Lpn(7).into(), ANYWHERE);
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

    /// Writes completed in the buffer before the cut are gone by the flush after it.
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

    fn swap(map: &mut engine::FlatMap, one: usize, other: usize) {
        let words = [map.get(one), map.get(other)];
        map.set(one, words[1]);
        map.set(other, words[0]);
    }

    #[test]
    fn a_map_entry_that_points_elsewhere_is_seen() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| swap(saved.maps.map.to_mut(), 7, 8));
        assert_caught(|| device.check_state(), "LPN 7 maps to PPN");
        assert_caught(|| device.check_data(), "LPN 7 holds other or stale data");
        assert_caught(|| device.read_now(Lpn(7), 1), "a read of LPN 7 returned the data of LPN 8");
    }

    #[test]
    fn two_pages_exchanged_with_their_way_back_are_seen_by_their_data() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| {
            let (a, b) = (saved.maps.map.get(7) as usize, saved.maps.map.get(8) as usize);
            swap(saved.maps.map.to_mut(), 7, 8);
            swap(saved.maps.reverse.to_mut(), a, b);
        });
        device.check_state();
        assert_caught(|| device.check_data(), "LPN 7 holds other or stale data");
    }

    #[test]
    fn a_page_that_stays_valid_after_its_overwrite_is_seen() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| {
            let stale = saved.maps.reverse.range(0..64).position(|lpn| lpn == u32::MAX).unwrap();
            saved.maps.reverse.to_mut().set(stale, 7);
        });
        assert_caught(|| device.check_state(), "physical pages are valid");
    }

    #[test]
    fn a_map_entry_past_the_device_is_seen() {
        let (config, mut device) = aged("none");
        tamper(&config, &mut device, |saved| saved.maps.map.to_mut().set(7, u32::MAX - 1));
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
            let mut lpns = 0..device.has.user_pages;
            // Either the sweep sees a valid page ahead of the frontier, or the array refuses to program again.
            let found = complaint(|| device.check_state())
                + &complaint(|| lpns.by_ref().for_each(|lpn| device.write_now(Lpn(lpn), WHOLE)));
            assert!(found.contains("ahead of its frontier") || found.contains("programmed and not erased"), "{found}");
        }
    }

    #[test]
    fn a_block_erased_with_valid_pages_is_seen() {
        let (_, mut device) = aged("none");
        let unit = device.flash.geometry().unit_of(device.ftl.lookup(Lpn(7)).unwrap());
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
                    let lpn = Lpn(random.below_u32(device.has.user_pages));
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
