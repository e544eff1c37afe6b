//! An FTL that is driven by hand, and what an array and a host know beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{Cause, Cell, Domain, Geometry, Instant, Lpn, PageLayout, Ppn, ProgramOrder, Selection, Slot, Unit, Wear};
use engine::Chance;
use ftl::allocation::{Allocation, DieTurns};
use ftl::{ANYWHERE, AheadPhase, ArrayView, Capabilities, Ftl, Group, HostWrite, How, Op, PagePayload, Placed, Step};

/// The handles of a separation by hints whose data never share a unit, and where these are.
pub struct Handles {
    separation: base::Selection,
    /// By version: its handle.
    of_version: BTreeMap<u32, u8>,
    /// By unit: that of its data.
    of_unit: BTreeMap<Unit, u8>,
}

impl Handles {
    /// Nothing: the separation keeps no handles apart.
    pub fn of(separation: &base::Selection) -> Option<Handles> {
        ftl::separation::isolated_handle(separation, 0)?;
        Some(Handles { separation: separation.clone(), of_version: BTreeMap::new(), of_unit: BTreeMap::new() })
    }

    fn written(&mut self, version: u32, hint: u16) {
        let handle = ftl::separation::isolated_handle(&self.separation, hint).expect("it keeps them apart");
        self.of_version.insert(version, handle);
    }

    fn placed(&mut self, unit: Unit, version: u32) {
        let handle = self.of_version[&version];
        let before = *self.of_unit.entry(unit).or_insert(handle);
        assert_eq!(before, handle, "unit {unit} has data of two handles");
    }
}

/// An FTL and, beside it, what an array and a host know.
pub struct Bench {
    pub geometry: Geometry,
    pub ftl: Ftl,
    pub allocation: Allocation,
    pub turns: DieTurns,
    pub layout: PageLayout,
    /// By block: the next page that may be programmed.
    pub next_page: Vec<u32>,
    /// By physical page that was programmed: what it holds, a logical page and its version.
    pub stored: BTreeMap<u32, (u32, u32)>,
    /// By logical page: the newest version.
    pub newest: BTreeMap<u32, u32>,
    pub versions: u32,
    pub seconds: u64,
    pub judged: u32,
    /// The parts that the mapping has.
    pub has: Capabilities,
    /// Units of which only LSB pages are used.
    pub lsb_only: BTreeSet<Unit>,
    pub collections: u32,
    /// Collections ahead of need: begun, suspended, and how often they were to go on with pages to copy.
    pub begun: u32,
    pub suspended: u32,
    pub deferred: u32,
    /// What copybacks cost, where pages move by them.
    pub wear: Option<Arc<Wear>>,
    /// By block.
    pub erases: Vec<u32>,
    /// By physical page that was copied back: its error.
    pub errors: BTreeMap<u32, u32>,
    /// The highest error of a page that was read off the chip, and pages that were copied back.
    pub highest: u32,
    pub copied: u32,
    pub handles: Option<Handles>,
}

impl Bench {
    pub fn new(geometry: Geometry, allocation: &Selection, (ftl, has): (Ftl, Capabilities)) -> Bench {
        let allocation = Allocation::build(allocation, &geometry);
        let blocks = geometry.blocks() as usize;
        let (pages, parts) = (geometry.pages_per_block, geometry.parts);
        Bench {
            geometry,
            has,
            ftl,
            turns: DieTurns::new(&allocation),
            allocation,
            layout: PageLayout::new(Cell::Mlc, ProgramOrder::Shadow, pages, parts),
            next_page: vec![0; blocks],
            stored: BTreeMap::new(),
            newest: BTreeMap::new(),
            versions: 0,
            seconds: 0,
            judged: 0,
            lsb_only: BTreeSet::new(),
            collections: 0,
            begun: 0,
            suspended: 0,
            deferred: 0,
            wear: None,
            erases: vec![0; blocks],
            errors: BTreeMap::new(),
            highest: 0,
            copied: 0,
            handles: None,
        }
    }

    pub fn program(&mut self, placed: Placed, content: (u32, u32)) {
        let ppn = placed.at;
        let place = self.geometry.place(ppn);
        let unit = self.geometry.unit_of(ppn);
        if placed.way == ftl::Way::BeginsLsbOnly {
            self.lsb_only.insert(unit);
        }
        let next = &mut self.next_page[place.block.index()];
        if self.lsb_only.contains(&unit) {
            let is_lsb = self.layout.page_type(place.page.number()).0 == 0;
            assert!(is_lsb && place.page.number() >= *next, "block {} uses its LSB pages in order", place.block);
            *next = place.page.number();
        }
        assert_eq!(place.page.number(), *next, "block {} is programmed in order", place.block);
        *next += 1;
        self.stored.insert(ppn.0, content);
        if let (Some(handles), PagePayload::Data(_)) = (&mut self.handles, placed.holds)
            && content.0 < self.has.user_pages
        {
            handles.placed(unit, content.1);
        }
    }

    pub fn write(&mut self, lpn: u32) {
        // A page changes its handle with each write.
        let hint = ((lpn + self.versions) % 7) as u16;
        let page = HostWrite { lpn: Lpn(lpn), hint };
        if let Some(handles) = &mut self.handles {
            handles.written(self.versions + 1, hint);
        }
        let Bench { turns, allocation, has, ftl, .. } = self;
        let found = turns.domain_of(allocation, Lpn(lpn), |die| has.dynamic?.peek_domain_of(ftl, die));
        let domain = found.expect("a domain accepts pages");
        let mut rounds = 0;
        while !self.ftl.prepare(domain, page) {
            self.collect(domain);
            rounds += 1;
            assert!(rounds < 10_000, "a domain takes a host page in the end");
        }
        let mut announced = None;
        let refused = self.ftl.write(domain, page, Some(|at| announced.replace(at).is_some()));
        assert_eq!(refused, None, "nothing is placed where it does not suit");
        self.versions += 1;
        let placed = self.ftl.write(domain, page, ANYWHERE).expect("any place suits");
        assert_eq!(Some(placed.at), announced, "a page goes where it was announced");
        assert_eq!(placed.holds, PagePayload::Data(Lpn(lpn)));
        assert_eq!(self.geometry.domain_of_unit(self.geometry.unit_of(placed.at)), domain);
        self.program(placed, (lpn, self.versions));
        if let (Some(_), Some(pages)) = (self.has.dynamic, self.has.pages) {
            pages.programmed(&mut self.ftl, placed.at);
        }
        self.newest.insert(lpn, self.versions);
        self.check();
        self.collect(domain);
    }

    pub fn trim(&mut self, lpn: u32) {
        assert_eq!(self.ftl.trim(Lpn(lpn)), self.newest.remove(&lpn).is_some());
        self.check();
    }

    pub fn read(&mut self, lpn: u32) {
        let mut rounds = 0;
        while let Some(owner) = self.has.map.and_then(|map| map.prepare_read(&mut self.ftl, Lpn(lpn))) {
            self.collect(owner);
            rounds += 1;
            assert!(rounds < 10_000, "a domain gets an entry in the end");
        }
        if let Some(reads) = self.has.host_reads {
            reads.read(&mut self.ftl, Lpn(lpn));
        }
        if let Ok(ppn) = self.ftl.lookup(Lpn(lpn)) {
            self.note_read(ppn);
            self.judge(ppn);
        }
        let found = self.ftl.lookup(Lpn(lpn)).ok().map(|ppn| self.stored[&ppn.0]);
        assert_eq!(found, self.newest.get(&lpn).map(|&version| (lpn, version)), "LPN {lpn}");
    }

    /// Moves a page that was read; or trims it in between, so that there is nothing left to move.
    pub fn copy(&mut self, domain: Domain, step: Step, from: Ppn, trimmed: bool) {
        let content = self.stored[&from.0];
        if trimmed && content.0 < self.has.user_pages {
            self.trim(content.0);
            assert_eq!(self.ftl.place(domain, step, &[from], ANYWHERE), None, "there is nothing left to move");
            return;
        }
        let placed = self.place(domain, step, &[from]);
        assert_eq!(placed.holds, PagePayload::Data(Lpn(content.0)));
        match step.op {
            Op::Move(How::Copyback) => self.copy_back(from, placed.at),
            _ => self.note_read(from),
        }
        self.program(placed, content);
    }

    /// A page was read: every seventh took some retries.
    pub fn judge(&mut self, at: Ppn) {
        self.judged += 1;
        if let Some(judged) = self.has.judged_reads {
            judged.read(&mut self.ftl, at, if self.judged.is_multiple_of(7) { 9 } else { 0 });
        }
    }

    /// A second passes, where that is of concern, and domains do what that calls for.
    pub fn pass_time(&mut self) {
        if let (Some(time), Some(judged)) = (self.has.time, self.has.judged_reads) {
            self.seconds += 1;
            let now = Instant(self.seconds * 1_000_000_000);
            time.tell(&mut self.ftl, now, None);
            judged.find_due(&mut self.ftl, now);
            self.geometry.all_domains().for_each(|domain| self.collect(domain));
        }
    }

    /// A page is read off the chip.
    pub fn note_read(&mut self, ppn: Ppn) {
        self.highest = self.highest.max(self.errors.get(&ppn.0).copied().unwrap_or(0));
    }

    /// Errors go along, and what the source's block costs is added.
    pub fn copy_back(&mut self, from: Ppn, to: Ppn) {
        let (source, target) = (self.geometry.place(from), self.geometry.place(to));
        assert_eq!(source.plane, target.plane, "a copyback stays in its plane");
        let wear = self.wear.as_ref().expect("copybacks only where they were chosen");
        let cost = wear.cost(source.block, self.erases[source.block.index()]);
        let error = self.errors.get(&from.0).copied().unwrap_or(0).saturating_add(cost);
        self.errors.insert(to.0, error);
        self.copied += 1;
    }

    /// Carries out the collections of a domain, and of those that began along with it.
    pub fn collect(&mut self, domain: Domain) {
        let mut waiting = vec![domain];
        while let Some(domain) = waiting.pop().or_else(|| self.has.elsewhere?.take_woken(&mut self.ftl)) {
            if let Some(elsewhere) = self.has.elsewhere {
                waiting.extend(elsewhere.take_along(&mut self.ftl));
            }
            self.collect_one(domain);
        }
    }

    /// Carries out a domain's collections step by step, as an executor with time does; now and then a page
    /// is trimmed between its read and its program.
    pub fn collect_one(&mut self, domain: Domain) {
        let mut steps = 0;
        let mut group = Group::EMPTY;
        while let Some(step) = self.ftl.next_step(domain, &mut group) {
            steps += 1;
            assert!(steps < 100_000, "a collection ends");
            if steps % 13 == 0
                && let Some(map) = self.has.map
            {
                // A read comes in between; its turn is after what the domain does.
                let lpn = Lpn(steps % self.has.user_pages);
                let _owner = map.prepare_read(&mut self.ftl, lpn);
            }
            self.carry_out(domain, step, &group, steps % 97 == 0);
        }
    }

    pub fn carry_out(&mut self, domain: Domain, step: Step, group: &Group, trimmed: bool) {
        match step.op {
            Op::Move(how) => {
                assert!(how == How::OffChip || group.rest == 0, "dummy pages have to be sent");
                let trimmed = trimmed && how == How::OffChip;
                for &from in group.pages() {
                    self.copy(domain, step, from, trimmed);
                }
                for _ in 0..group.rest {
                    self.fill(domain, step);
                }
            }
            Op::Combine => self.combine(domain, step, group),
            Op::Pad => self.fill(domain, step),
            Op::Reprogram => panic!("reads disturb nothing here"),
            Op::Read if step.cause == Cause::Refresh => {
                let &[page] = group.pages() else { panic!("a patrol reads one page") };
                assert!(self.stored.contains_key(&page.0), "it holds data");
                self.judge(page);
            }
            Op::Read => {
                let pages: Vec<u32> = group.pages().iter().map(|page| self.stored[&page.0].0).collect();
                assert!(pages[0] >= self.has.user_pages, "a translation page is fetched");
                assert!(pages.windows(2).all(|two| two[1] == two[0] + 1), "all its parts are: {pages:?}");
                self.has.map.expect("a map in flash").fetched(&mut self.ftl, domain);
            }
            Op::Erase(unit) => {
                let geometry = self.geometry;
                for slot in geometry.slots_from(Slot::FIRST) {
                    self.stored.remove(&geometry.ppn(unit, slot).0);
                    self.errors.remove(&geometry.ppn(unit, slot).0);
                    self.next_page[geometry.block_of(unit, geometry.lane_of_slot(slot)).index()] = 0;
                }
                for lane in 0..geometry.unit_width {
                    self.erases[geometry.block_of(unit, lane).index()] += 1;
                }
                self.lsb_only.remove(&unit);
                if let Some(handles) = &mut self.handles {
                    handles.of_unit.remove(&unit);
                }
                assert_eq!(self.ftl.erased(domain, unit, false).unit, unit);
                self.collections += 1;
            }
        }
        self.check();
    }

    /// A backup, or the next version of a translation page.
    pub fn combine(&mut self, domain: Domain, step: Step, group: &Group) {
        let placed = self.place(domain, step, group.pages());
        match placed.holds {
            PagePayload::Parity => {
                self.program(placed, (u32::MAX, 0));
                assert!(self.lsb_only.contains(&self.geometry.unit_of(placed.at)));
            }
            PagePayload::Map(lpn) => {
                assert!(lpn.0 >= self.has.user_pages);
                if let Some(old) = group.pages().first() {
                    assert_eq!(self.stored[&old.0].0, lpn.0, "the version before is read");
                }
                self.program(placed, (lpn.0, 0));
                let mut parts = 1;
                for _ in 0..group.rest {
                    let placed = self.place(domain, step, &[]);
                    let part = lpn.0 + parts;
                    assert_eq!(placed.holds, PagePayload::Map(Lpn(part)));
                    self.program(placed, (part, 0));
                    parts += 1;
                }
                let geometry = self.geometry;
                assert_eq!(
                    parts,
                    if geometry.parts == 1 { 1 } else { geometry.row_slots() },
                    "all that is programmed at once"
                );
                self.check();
                self.has.pages.expect("a map in flash").programmed(&mut self.ftl, placed.at);
            }
            holds => panic!("{holds:?} is not made of other pages"),
        }
    }

    pub fn is_forward(&self, domain: Domain) -> bool {
        self.ftl.work(domain).is_some_and(|work| !work.is_foreground())
    }

    /// Some steps of a collection ahead of need, which then is suspended where it may be. In between it passes empty
    /// units over, and erases them later.
    pub fn go_ahead(&mut self, random: &mut Chance) {
        let domain = Domain::new(random.below_u32(self.geometry.domains()));
        let ahead = self.has.ahead.expect("a schedule that collects ahead of need");
        self.begun += u32::from(ahead.begin(&mut self.ftl, domain, 0));
        let mut group = Group::EMPTY;
        for _ in 0..random.below(12) {
            if !self.is_forward(domain) {
                break;
            }
            match random.below(4) {
                0 if ahead.rests(&self.ftl, domain).is_some() => {
                    self.deferred += u32::from(ahead.copy_next(&mut self.ftl, domain))
                }
                1 if ahead.rests(&self.ftl, domain).is_some() => {
                    let has_emptied = ahead.rests(&self.ftl, domain) == Some(AheadPhase::Erase);
                    assert_eq!(ahead.erase_next(&mut self.ftl, domain), has_emptied);
                }
                _ => {}
            }
            self.check();
            let Some(step) = self.ftl.next_step(domain, &mut group) else { break };
            self.carry_out(domain, step, &group, random.below(40) == 0);
        }
        while self.ftl.work(domain).is_some() {
            if self.is_forward(domain) && ahead.suspend(&mut self.ftl, domain) {
                self.suspended += 1;
                assert!(!self.is_forward(domain));
                self.check();
            } else if let Some(step) = self.ftl.next_step(domain, &mut group) {
                self.carry_out(domain, step, &group, false);
            }
        }
        self.check_data();
    }

    /// Places a page after a first call, which finds its place unsuitable and changes nothing.
    pub fn place(&mut self, domain: Domain, step: Step, pages: &[Ppn]) -> Placed {
        let mut announced = None;
        assert_eq!(self.ftl.place(domain, step, pages, Some(|at| announced.replace(at).is_some())), None);
        let placed = self.ftl.place(domain, step, pages, ANYWHERE).expect("there is something to place");
        assert_eq!(Some(placed.at), announced, "a page goes where it was announced");
        placed
    }

    pub fn fill(&mut self, domain: Domain, step: Step) {
        let placed = self.place(domain, step, &[]);
        assert_eq!(placed.holds, PagePayload::Nothing);
        self.program(placed, (u32::MAX, 0));
    }

    pub fn check(&self) {
        if let Err(problem) = self.ftl.check(self) {
            panic!("{problem}");
        }
    }

    /// Every logical page is where its newest version is, and nothing else is mapped.
    pub fn check_data(&self) {
        for lpn in 0..self.has.user_pages {
            let found = self.ftl.lookup(Lpn(lpn)).ok().map(|ppn| self.stored[&ppn.0]);
            assert_eq!(found, self.newest.get(&lpn).map(|&version| (lpn, version)), "LPN {lpn}");
        }
    }

    /// A fill, random overwrites, a hot spot, trims, and a sequential pass.
    pub fn drive(&mut self, seed: u64, writes: u32) {
        let mut random = Chance::new(seed, "conformance");
        let pages = self.has.user_pages;
        (0..pages).for_each(|lpn| self.write(lpn));
        self.check_data();
        for number in 0..writes {
            self.pass_time();
            match random.below(12) {
                0 => {
                    let lpn = random.below_u32(pages);
                    self.trim(lpn);
                    if self.has.map.is_some() {
                        self.geometry.all_domains().for_each(|domain| self.collect(domain));
                    }
                }
                1 => self.read(random.below_u32(pages)),
                2..=5 => self.write(random.below_u32(pages)),
                6..=10 => self.write(random.below_u32(pages.div_ceil(8))),
                _ => self.write(number % pages),
            }
        }
        self.check_data();
    }
}

/// Everything that is mapped was programmed; the data say whether it is the right page.
impl ArrayView for Bench {
    fn is_programmed(&self, _: Ppn) -> bool {
        true
    }

    fn is_lsb_only(&self, at: Ppn) -> Option<bool> {
        let geometry = &self.geometry;
        let is_used = self.next_page[geometry.place(at).block.index()] > 0;
        is_used.then(|| self.lsb_only.contains(&geometry.unit_of(at)))
    }
}
