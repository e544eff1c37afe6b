//! Page mapping: the kernel, the mechanisms in force, and what a page's way through both is.
//!
//! It is compiled twice: [`Plain`](crate::mechanism::Plain) without any mechanism, so that what is not in force costs
//! nothing, and with all of them ([`All`](crate::mechanism::All)).

use std::collections::{BTreeMap, BTreeSet};

use base::{Cause, Domain, Geometry, Lpn, Ppn, Slot, Unit};

use crate::allocation::Allocation;
use crate::dynamic::DomainTurn;
use crate::group::Group;
use crate::kernel::{AXES, Frontier, Job, Kernel, PageKind, Placement, Saved, Stream, Why};
use crate::mechanism::{Arrival, Combined, Keepers, Mechanisms, NewPage, PageOrigin, Product};
use crate::ops::{Erasure, HostWrite, How, Op, PagePayload, Placed, Step, Way};
use crate::paced::HostPace;
use crate::victim::UnitState;
use crate::{OutOfMemory, Policies};

/// The next step of a domain, as the agenda decided.
#[derive(Clone, Copy, Debug)]
struct Decided {
    step: Option<Step>,
    /// The stream of the pages that it programs.
    stream: Stream,
    group: Group,
}

impl Decided {
    const NOTHING: Decided = Decided { step: None, stream: Stream::FIRST, group: Group::EMPTY };
}

/// Page mapping with the mechanisms `M`.
#[derive(Clone)]
pub(crate) struct PageMap<M> {
    pub(crate) kernel: Kernel,
    pub(crate) mechanisms: M,
    pub(crate) allocation: Allocation,
    /// By die of a dynamic allocation.
    pub(crate) turns: Vec<DomainTurn>,
    /// Room is made before each host page; else a collection begins after the page that fills the active block.
    pub(crate) on_demand: bool,
    /// No mechanism hears of single pages, nor is asked about those of the host: none has anything done on demand, and none weighs the
    /// ways in which pages move.
    is_quiet: bool,
    /// Pages may have to be made safe before others are programmed.
    pub(crate) guards_pages: bool,
    /// A mechanism wants to know the time.
    pub(crate) hears_of_time: bool,
    /// By domain: the stream of a host page that waits for what has to come before it.
    pub(crate) waiting: Vec<Option<Stream>>,
    /// By domain: what comes next.
    next: Vec<Decided>,
    /// Domains whose collection began along with another's, until the executor takes note.
    pub(crate) early: Vec<Domain>,
    /// By domain: empty units whose erase is left for later.
    pub(crate) deferred: Vec<Vec<Job>>,
    /// Pages of the host whose data were lost, unless they were written since.
    pub(crate) lost: BTreeSet<Lpn>,
    /// Active blocks that were left because of what lies below their next slot, and that slot.
    pub(crate) left: BTreeMap<Unit, Slot>,
    /// Collections that keep step with the host, where the schedule is that one.
    pub(crate) pace: Option<HostPace>,
    /// The pages of what the agenda has decided last.
    pub(crate) group: Group,
}

// Set-up, and what is asked.
impl<M: Mechanisms> PageMap<M> {
    /// Bytes of what is known of domains besides kernel and mechanisms.
    pub(crate) fn bytes(geometry: &Geometry) -> u64 {
        let of_domain = (size_of::<Option<u8>>() + size_of::<Decided>() + size_of::<Vec<Job>>()) as u64;
        let domains = if M::IS_PLAIN { 0 } else { u64::from(geometry.domains()) };
        domains * of_domain + u64::from(geometry.dies()) * size_of::<DomainTurn>() as u64
    }

    /// Page mapping over a pristine array. `seed` is the run's.
    ///
    /// # Errors
    /// When the maps do not fit in memory.
    ///
    /// # Panics
    /// If the user space is larger than [`crate::largest_user_pages`], which the configuration check refuses.
    pub(crate) fn new(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        keeps_spares: bool,
    ) -> Result<PageMap<M>, OutOfMemory> {
        let mut page: PageMap<M> = PageMap::over(geometry, user_pages, policies, seed, keeps_spares)?;
        page.mechanisms.reopen(&mut page.kernel);
        Ok(page)
    }

    /// Page mapping over a pristine array, before mechanisms have set units aside.
    pub(crate) fn over(
        geometry: Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        seed: u64,
        keeps_spares: bool,
    ) -> Result<PageMap<M>, OutOfMemory> {
        let most = crate::largest_user_pages(&geometry, policies);
        assert!(user_pages <= most, "user space too large for the spare space");
        let plan = crate::mechanism::SpacePlan::new(policies, &geometry);
        let of_map = plan.map_pages(&geometry, user_pages);
        let allocation = Allocation::of(policies, &geometry, user_pages);
        let mut kernel = Kernel::new(geometry, user_pages, of_map, plan.shares(&geometry), policies, seed)?;
        if keeps_spares {
            kernel.keep_spares();
        }
        let mechanisms = M::build(&kernel, policies, &allocation)?.expect("mechanisms, if only none");
        let domains = if M::IS_PLAIN { 0 } else { geometry.domains() as usize };
        Ok(PageMap {
            turns: vec![DomainTurn::FIRST; geometry.dies() as usize],
            is_quiet: !plan.on_demand() && mechanisms.parts().load.is_none(),
            kernel,
            mechanisms,
            allocation,
            on_demand: plan.on_demand(),
            guards_pages: policies.guards_pages(),
            hears_of_time: plan.hears_of_time(),
            waiting: vec![None; domains],
            next: vec![Decided::NOTHING; domains],
            early: Vec::new(),
            deferred: vec![Vec::new(); domains],
            lost: BTreeSet::new(),
            left: BTreeMap::new(),
            pace: HostPace::of(crate::mechanism::SpacePlan::paced(policies), &geometry),
            group: Group::EMPTY,
        })
    }

    /// See the field.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        M::IS_PLAIN || self.is_quiet
    }

    /// True if a domain is at work before it takes host pages: on a collection, or on a step that is pending besides.
    #[inline]
    pub(crate) fn is_busy(&self, domain: Domain) -> bool {
        self.kernel.job(domain).is_some() || !M::IS_PLAIN && self.on_demand && self.is_pending(domain)
    }

    /// True if a step is pending in a domain besides a collection.
    pub(crate) fn is_pending(&self, domain: Domain) -> bool {
        self.waiting[domain.index()].is_some() || self.mechanisms.is_pending(domain)
    }

    /// True if a dynamic allocation may give a page to a domain now.
    #[inline]
    pub(crate) fn accepts(&self, domain: Domain) -> bool {
        if self.is_busy(domain) {
            return false;
        }
        if self.is_quiet() {
            return u64::from(self.kernel.valid(domain)) < self.kernel.budget().max_valid;
        }
        let to_come = self.mechanisms.parts().map.map_or(0, |map| map.unwritten(domain));
        let valid = self.kernel.valid(domain) + to_come;
        let most = match self.mechanisms.parts().retirement {
            Some(retirement) => retirement.most_valid(domain),
            None => self.kernel.budget().max_valid,
        };
        u64::from(valid) < most
    }

    /// True if a dynamic allocation may give so many pages to a domain, and nothing has to come before one of them.
    #[inline]
    pub(crate) fn accepts_all(&self, domain: Domain, pages: u32) -> bool {
        let is_quiet = self.is_quiet() && (M::IS_PLAIN || !self.on_demand);
        is_quiet
            && !self.is_busy(domain)
            && u64::from(self.kernel.valid(domain)) + u64::from(pages) <= self.kernel.budget().max_valid
    }

    /// Says in words a domain's free blocks, its job and its next operation.
    pub(crate) fn in_words(&self, domain: Domain) -> String {
        let kernel = &self.kernel;
        let (free, all) = (kernel.free(domain), kernel.geometry().units_per_domain());
        let mut text = format!("{free} of {all} blocks are free, and {} are held free", kernel.budget().reserve);
        let mut add = |what: String| {
            text.push_str("; ");
            text.push_str(&what);
        };
        if let Some(job) = kernel.job(domain) {
            let (why, valid) = (format!("{:?}", job.why).to_lowercase(), kernel.valid_of(job.unit));
            add(format!("block {} is collected ({why}), with {valid} valid pages", job.unit));
        }
        if let Some(Step { op, cause }) = self.next.get(domain.index()).and_then(|next| next.step) {
            add(format!("the last operation in hand: {op:?}, for {}", cause.name()));
        }
        if self.waiting.get(domain.index()).is_some_and(Option::is_some) {
            add("a page of the host waits for what has to come before it".into());
        }
        text
    }

    /// The meaning of the erase of a unit: its cause, and what ends with it.
    pub(crate) fn erasure(&self, domain: Domain, unit: Unit) -> Erasure {
        let retires = self.retires(domain, unit);
        match self.kernel.job(domain) {
            Some(job) if job.unit == unit => {
                Erasure { unit, cause: job.cause, forward: job.why.is_forward(), ends: true, retires }
            }
            _ => {
                let cause = if self.is_aside(unit) { Cause::Backup } else { Cause::Gc };
                Erasure { unit, cause, forward: false, ends: true, retires }
            }
        }
    }

    /// True if a unit is set aside: it never holds pages of the host.
    pub(crate) fn is_aside(&self, unit: Unit) -> bool {
        self.kernel.state_of(unit) == UnitState::Aside
    }

    /// The stream of a page that the host is about to write.
    #[inline]
    fn host_stream(&self, domain: Domain, HostWrite { lpn, hint }: HostWrite, is_mapped: bool) -> Stream {
        if self.is_quiet() {
            return Stream::FIRST;
        }
        stream_of(&self.kernel, &self.mechanisms, lpn, Arrival::Host { domain, is_mapped, hint })
    }

    /// The stream that the data of a page are about to be copied to: that of the host page that they go under, or their
    /// own.
    #[inline]
    pub(crate) fn stream_of_copy(&self, domain: Domain, from: Ppn) -> Stream {
        if M::IS_PLAIN || self.kernel.streams().count() == 1 {
            return Stream::FIRST;
        }
        match self.waiting[domain.index()] {
            Some(stream) if self.kernel.job(domain).is_none() => stream,
            _ => self.kernel.lpn_at(from).map_or(Stream::FIRST, |lpn| copy_stream(&self.kernel, &self.mechanisms, lpn)),
        }
    }
}

// Host pages.
impl<M: Mechanisms> PageMap<M> {
    /// Has a domain do what has to come before a host page. Returns whether that is nothing, so that it can be written.
    #[inline]
    pub(crate) fn prepare(&mut self, domain: Domain, page: HostWrite) -> bool {
        if M::IS_PLAIN || !self.on_demand {
            return true;
        }
        let is_nothing = self.prepare_on_demand(domain, page);
        if !is_nothing {
            self.pass_turn(domain);
        }
        is_nothing
    }

    fn prepare_on_demand(&mut self, domain: Domain, page: HostWrite) -> bool {
        if self.is_read_only() || self.is_busy(domain) || !self.prepare_entry(page.lpn) {
            return false;
        }
        let stream = self.host_stream(domain, page, self.kernel.is_mapped(page.lpn));
        let separation = self.mechanisms.parts().separation;
        let is_outdated = separation.is_some_and(|it| it.is_outdated(self.kernel.streams(), domain, stream));
        if is_outdated && self.kernel.is_open(domain, stream) {
            self.waiting[domain.index()] = Some(stream);
            if self.decide(domain).is_some() {
                return false;
            }
        }
        let needs_room =
            !self.kernel.is_open(domain, stream) || self.kernel.is_cramped(domain) || self.kernel.is_low(domain);
        if needs_room && self.make_room(domain, stream) {
            return false;
        }
        if !self.guards_pages {
            return true;
        }
        self.waiting[domain.index()] = Some(stream);
        self.decide(domain).is_none()
    }

    /// Gets the map entry of a page that is to be written, if that takes no operation. Returns whether it is at hand; if
    /// not, its owner has something to do first.
    #[inline]
    pub(crate) fn prepare_entry(&mut self, lpn: Lpn) -> bool {
        self.mechanisms.parts().map.is_none_or(|map| map.holds_entry(lpn)) || self.want_entry(lpn)
    }

    fn want_entry(&mut self, lpn: Lpn) -> bool {
        let Some(map) = self.mechanisms.parts_mut().map else { return true };
        let owner = map.want(&mut self.kernel, lpn, true);
        self.group.clear();
        let has_step = self.pending(owner).is_some();
        match self.mechanisms.parts().map.filter(|map| map.has_owners()) {
            Some(map) => map.holds_entry(lpn),
            None => !has_step && !self.is_busy(owner),
        }
    }

    /// Places a page that the host writes, if the place that it would get suits, and makes its old version invalid.
    ///
    /// A collection may begin ([`Page::is_busy`]): it has to end before the domain takes another host page.
    ///
    /// # Panics
    /// If the domain is busy, or there is no such page.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        domain: Domain,
        page: HostWrite,
        suits: Option<impl FnOnce(Ppn) -> bool>,
    ) -> Option<Placed> {
        assert!(!self.is_busy(domain), "a domain takes no host pages while it is collected");
        let old = self.kernel.lookup(page.lpn);
        let stream = self.host_stream(domain, page, old.is_some());
        if let Some(suits) = suits
            && !suits(self.kernel.next_place(domain, stream))
        {
            return None;
        }
        self.pass_turn(domain);
        let placed = self.write_to(domain, stream, page, old);
        if let (Allocation::Dynamic(_), Some(old)) = (&self.allocation, old) {
            self.kernel.supersede(placed.at, old);
        }
        Some(placed)
    }

    #[inline(always)]
    fn write_to(&mut self, domain: Domain, stream: Stream, page: HostWrite, old: Option<Ppn>) -> Placed {
        let HostWrite { lpn, hint } = page;
        if let Some(old) = old {
            self.kernel.invalidate(old);
        }
        let place = self.kernel.place_new(domain, stream, lpn, true);
        if !M::IS_PLAIN {
            self.note_placed(domain, lpn, place, PageOrigin::Host { was_mapped: old.is_some(), hint });
        }
        if (M::IS_PLAIN || !self.on_demand) && place.filled.is_some() {
            self.collect_if_needed(domain);
        }
        let region = || self.mechanisms.region(lpn).unwrap_or(0);
        let tag = self.kernel.host_spare(lpn, region, place.at);
        self.announced(place.at, PagePayload::Data(lpn), tag)
    }

    /// Begins a collection if the host's active block is full and the domain is down to its reserve, or if it is below its floor.
    pub(crate) fn collect_if_needed(&mut self, domain: Domain) {
        if self.kernel.job(domain).is_none()
            && (!self.kernel.is_open(domain, Stream::FIRST) && self.kernel.is_short(domain)
                || self.kernel.is_low(domain))
        {
            self.collect_for_room(domain, Stream::FIRST);
        }
    }

    #[inline]
    pub(crate) fn note_placed(&mut self, domain: Domain, lpn: Lpn, place: Placement, origin: PageOrigin) {
        if let Some(unit) = place.filled {
            self.mechanisms.filled(&mut self.kernel, domain, unit);
        }
        if self.is_quiet() {
            return;
        }
        self.mechanisms.placed(&mut self.kernel, &NewPage { domain, lpn, at: place.at, origin });
    }

    /// The page to be programmed: its place, its content and the way it is programmed.
    #[inline]
    pub(crate) fn announced(&self, at: Ppn, holds: PagePayload, tag: u128) -> Placed {
        let is_dummy = holds == PagePayload::Nothing;
        let way = if self.is_quiet() { None } else { self.mechanisms.way(&self.kernel, at, is_dummy) };
        Placed { at, holds, tag, way: way.unwrap_or(Way::Plain) }
    }
}

// Operations.
impl<M: Mechanisms> PageMap<M> {
    /// Begins and ends what is due in a domain, until there is an operation to carry out. Its pages are put into `group`.
    #[inline(always)]
    pub(crate) fn next_step(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        if M::IS_PLAIN { self.next_plain_step(domain, group) } else { self.next_on_agenda(domain, group) }
    }

    /// Puts the cursor of a domain's collection on its next valid page. Returns where that is, if there is one.
    #[inline(always)]
    pub(crate) fn advance_cursor(&mut self, domain: Domain) -> Option<(Unit, Slot)> {
        let &Job { unit, cursor, .. } = self.kernel.job(domain)?;
        let slot = self.kernel.next_valid(unit, cursor)?;
        self.kernel.job_mut(domain)?.cursor = slot;
        Some((unit, slot))
    }

    fn next_on_agenda(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        let step = self.take_in_hand(domain, group);
        // They are read before they are placed.
        group.pages().iter().for_each(|&page| self.prefetch_copy(page));
        let next = &mut self.next[domain.index()];
        next.step = step;
        next.group.assign(group);
        step
    }

    /// Decides what a domain does next. Its pages are put into `group`.
    pub(crate) fn take_in_hand(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        if self.is_read_only() {
            return self.fetch_at_the_end(domain, group);
        }
        self.group.stream = Stream::FIRST;
        let step = if self.on_demand { self.decide(domain) } else { self.decide_job(domain) };
        group.assign(&self.group);
        self.next[domain.index()].stream = group.stream;
        if self.mechanisms.parts().retirement.is_some() && !self.has_places(domain, step, group) {
            group.clear();
            return None;
        }
        step
    }

    #[inline(always)]
    fn next_plain_step(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        group.clear();
        self.advance_cursor(domain);
        let job = self.kernel.job(domain)?;
        if self.kernel.valid_of(job.unit) == 0 {
            return Some(Step::new(Op::Erase(job.unit), job.cause));
        }
        let page = self.kernel.geometry().ppn(job.unit, job.cursor);
        self.kernel.prefetch_copy(page);
        group.push(page);
        Some(Step::new(Op::Move(How::OffChip), job.cause))
    }

    /// Moves a page that was read for a collection: its new place, or `None` if it was overwritten or trimmed since and
    /// there is nothing to move.
    #[inline(always)]
    pub(crate) fn copy(&mut self, domain: Domain, from: Ppn, how: How) -> Option<Placed> {
        let unit = self.kernel.geometry().unit_of(from);
        let placed = self.copy_from(domain, self.stream_in_hand(domain), unit, from, how)?;
        // Pages that move together lie beside each other: an active block that is to be closed is closed behind them.
        if !M::IS_PLAIN && self.on_demand && !self.is_followed(domain, from) {
            self.settle(domain);
        }
        Some(placed)
    }

    /// Places copies of some of the pages that a collection moves, in order and as many as their row takes, where mechanisms hear of no
    /// single page. Returns the place of the first one, and how many they are.
    #[inline]
    pub(crate) fn copy_run(&mut self, domain: Domain, pages: &[Ppn]) -> Option<(Ppn, u32)> {
        if !self.is_quiet() || !M::IS_PLAIN && self.on_demand {
            return None;
        }
        let run = self.kernel.place_run(domain, self.stream_in_hand(domain), pages)?;
        if let Some(unit) = run.filled {
            self.mechanisms.filled(&mut self.kernel, domain, unit);
        }
        Some((run.first, run.pages))
    }

    /// Says of a page of the group in hand if others are placed after it.
    fn is_followed(&self, domain: Domain, page: Ppn) -> bool {
        let pages = self.next[domain.index()].group.pages();
        pages.contains(&page) && pages.last() != Some(&page)
    }

    /// Moves a page of a unit.
    #[inline(always)] // Once per page of a collection: a call would pass its result through memory.
    pub(crate) fn copy_from(
        &mut self,
        domain: Domain,
        stream: Stream,
        unit: Unit,
        from: Ppn,
        how: How,
    ) -> Option<Placed> {
        let lpn = self.kernel.detach(unit, from)?;
        let place = self.kernel.place(domain, stream, lpn);
        if !M::IS_PLAIN {
            self.note_placed(domain, lpn, place, PageOrigin::Copy(from, how));
        }
        let tag = self.data_tag(lpn, place.at);
        Some(self.announced(place.at, PagePayload::Data(lpn), tag))
    }

    /// The spare area of a page of data that was placed last, but for its identity.
    #[inline]
    pub(crate) fn data_tag(&mut self, lpn: Lpn, at: Ppn) -> u128 {
        let region = || self.mechanisms.region(lpn).unwrap_or(0);
        self.kernel.tag(PageKind::Data, region, at)
    }

    /// The stream of the pages that the operation in hand programs.
    #[inline]
    fn stream_in_hand(&self, domain: Domain) -> Stream {
        if M::IS_PLAIN { Stream::FIRST } else { self.next[domain.index()].stream }
    }

    /// Where the next page that the operation in hand copies, or a dummy page of it, goes; opens a unit if none is open.
    #[inline]
    pub(crate) fn next_place(&mut self, domain: Domain) -> Ppn {
        self.kernel.next_place(domain, self.stream_in_hand(domain))
    }

    /// The place of a dummy page, which [`Group::rest`] or [`Op::Pad`] asked for.
    pub(crate) fn pad(&mut self, domain: Domain) -> Placed {
        self.pad_stream(domain, self.stream_in_hand(domain))
    }

    /// Places a dummy page in an active block. `None`: the unit is none.
    pub(crate) fn pad_unit(&mut self, domain: Domain, unit: Unit) -> Option<Placed> {
        let mut streams = self.kernel.streams().all();
        let stream = streams
            .find(|&stream| self.kernel.frontier(domain, stream).is_some_and(|frontier| frontier.unit == unit))?;
        let placed = self.pad_stream(domain, stream);
        if M::IS_PLAIN || !self.on_demand {
            self.collect_if_needed(domain);
        }
        Some(placed)
    }

    fn pad_stream(&mut self, domain: Domain, stream: Stream) -> Placed {
        let (at, tag) = self.place_pad(domain, stream);
        self.settle(domain);
        self.announced(at, PagePayload::Nothing, tag)
    }

    /// Places a dummy page of a stream, for which nothing ends. Returns its tag as well.
    pub(crate) fn place_pad(&mut self, domain: Domain, stream: Stream) -> (Ppn, u128) {
        let place = self.kernel.place_dummy(domain, stream);
        if let Some(unit) = place.filled {
            self.mechanisms.filled(&mut self.kernel, domain, unit);
            if !M::IS_PLAIN && self.waiting[domain.index()] == Some(stream) {
                // The host page that waits was to go there: room is made for it anew.
                self.waiting[domain.index()] = None;
            }
        }
        self.mechanisms.padded(&self.kernel, domain, place.at);
        (place.at, self.kernel.tag(PageKind::Dummy, || 0, place.at))
    }

    /// Places the guard page that comes next in an active block, if that is one.
    pub(crate) fn place_guard(&mut self, domain: Domain, stream: Stream) -> Option<Placed> {
        let Frontier { unit, slot } = self.kernel.frontier(domain, stream)?;
        let next = self.kernel.geometry().ppn(unit, slot);
        if self.mechanisms.way(&self.kernel, next, true) != Some(Way::Guard) {
            return None;
        }
        let (at, tag) = self.place_pad(domain, stream);
        Some(self.announced(at, PagePayload::Nothing, tag))
    }

    /// Places what is combined of the pages of a group, for [`Op::Combine`] or [`Op::Reprogram`] under that cause, if the place
    /// suits; or the next part of what was combined last.
    pub(crate) fn combine(
        &mut self,
        domain: Domain,
        cause: Cause,
        pages: &[Ppn],
        suits: &mut dyn FnMut(Ppn) -> bool,
    ) -> Option<Placed> {
        let has_rest = self.mechanisms.parts().map.is_some_and(|map| map.has_rest(domain));
        let combined = if has_rest {
            if !suits(self.kernel.next_place(domain, self.kernel.streams().of_map())) {
                return None;
            }
            self.mechanisms.parts_mut().map?.place_part(&mut self.kernel, domain)?
        } else {
            self.mechanisms.combine(&mut self.kernel, domain, cause, pages, suits)?
        };
        Some(self.combined(domain, combined, pages))
    }

    fn combined(&mut self, domain: Domain, Combined { place, product }: Combined, pages: &[Ppn]) -> Placed {
        let at = place.at;
        let (holds, tag) = match product {
            Product::Map(lpn) => {
                self.note_placed(domain, lpn, place, PageOrigin::Map);
                (PagePayload::Map(lpn), self.kernel.map_spare(lpn, at))
            }
            Product::Backup => (PagePayload::Parity, self.backup_tag(pages)),
            Product::Guard => return Placed { at, holds: PagePayload::Nothing, tag: 0, way: Way::Again },
        };
        if holds == PagePayload::Parity {
            self.settle(domain);
        }
        self.announced(at, holds, tag)
    }

    fn backup_tag(&mut self, pages: &[Ppn]) -> u128 {
        let region = |page: &Ppn| self.kernel.lpn_at(*page).and_then(|lpn| self.mechanisms.region(lpn)).unwrap_or(0);
        let regions = if self.kernel.keeps_spares() { pages.iter().fold(0, |all, page| all ^ region(page)) } else { 0 };
        self.kernel.backup_tag(pages, || regions)
    }

    /// A page of the host or of the map is in flash, or is given up. Returns the unit of the version that it superseded, if that was
    /// noted.
    #[inline]
    pub(crate) fn programmed(&mut self, at: Ppn) -> Option<Unit> {
        if let Some(map) = self.mechanisms.parts_mut().map {
            map.programmed(&mut self.kernel, at);
        }
        self.kernel.note_programmed(at)
    }

    /// A unit was erased. The next collection of the domain may begin at once.
    ///
    /// # Panics
    /// If the unit was not to be erased or still holds valid pages.
    pub(crate) fn unit_erased(&mut self, domain: Domain, unit: Unit) {
        let why = self.kernel.job(domain).filter(|job| job.unit == unit).map(|job| job.why);
        if why.is_some() {
            self.kernel.take_job(domain);
        }
        if M::IS_PLAIN {
            assert!(why.is_some(), "only units that were to be erased are erased");
            self.kernel.free_unit(domain, unit);
            self.collect_if_needed(domain);
            return;
        }
        let is_delayed = why.is_some() && self.delays_erase(domain, unit);
        assert!(!is_delayed, "what comes before an erase is done");
        // What a mechanism kept was a victim once, unless it was set aside.
        let of_kept = (!self.is_aside(unit)).then_some(Why::Pairing);
        self.free_or_retire(domain, unit);
        let was_kept = self.mechanisms.erased(&mut self.kernel, domain, unit, why.or(of_kept));
        let Some(why) = why else {
            assert!(was_kept, "only units that were to be erased are erased");
            self.settle(domain);
            return;
        };
        if let Some(pace) = &mut self.pace {
            pace.ended(domain);
        }
        if !self.on_demand {
            self.collect_if_needed(domain);
        }
        self.begin_what_is_due(domain, why);
    }

    /// An erased unit is free, or is retired if a block of it has failed.
    pub(crate) fn free_or_retire(&mut self, domain: Domain, unit: Unit) {
        self.left.remove(&unit);
        if !self.retires(domain, unit) {
            return self.kernel.free_unit(domain, unit);
        }
        self.kernel.retire_unit(unit);
        if let Some(retirement) = self.mechanisms.parts_mut().retirement {
            retirement.retired(domain, unit);
        }
    }

    /// Begins what is due between two collections, unless the last one was of that kind.
    fn begin_what_is_due(&mut self, domain: Domain, last: Why) {
        if last != Why::Level && !self.is_busy(domain) {
            self.begin_due(domain);
        }
    }

    /// Begins what is due whatever the need for room. Returns whether anything is.
    pub(crate) fn begin_due(&mut self, domain: Domain) -> bool {
        let may_level = self.mechanisms.parts_mut().map.is_none_or(|map| map.may_level(&self.kernel, domain));
        let due = if may_level { self.mechanisms.due(&self.kernel, domain) } else { None };
        if let Some((unit, why)) = due {
            self.kernel.begin(domain, unit, why);
        }
        due.is_some()
    }

    /// True if updates of the map come before the erase of an empty unit.
    pub(crate) fn delays_erase(&self, domain: Domain, unit: Unit) -> bool {
        self.mechanisms.parts().map.is_some_and(|map| map.delays_erase(&self.kernel, domain, unit))
    }

    /// The next step of a domain without work on demand: that of the job in hand.
    fn decide_job(&mut self, domain: Domain) -> Option<Step> {
        self.group.clear();
        let job = *self.kernel.job(domain)?;
        if self.kernel.valid_of(job.unit) == 0 {
            return Some(Step::new(Op::Erase(job.unit), job.cause));
        }
        self.next_move(domain, job)
    }

    /// Ends what has nothing left to do.
    pub(crate) fn settle(&mut self, domain: Domain) {
        if self.on_demand && self.kernel.job(domain).is_none() && self.is_pending(domain) {
            self.decide(domain);
        }
    }

    /// Makes every policy anew; see [`Ftl::renew_policies`](crate::Ftl::renew_policies).
    pub(crate) fn renew_policies(&mut self, policies: &Policies<'_>, seed: u64) {
        self.kernel.renew_policies(policies, seed);
        self.mechanisms.renew(&mut self.kernel, policies);
        self.turns.fill(DomainTurn::FIRST);
        self.pace.iter_mut().for_each(HostPace::restart);
    }

    /// The state that outlives a run.
    pub(crate) fn save(&self) -> Saved<'_> {
        let mut saved = self.kernel.save();
        self.mechanisms.save(&self.kernel, &mut saved);
        if self.mechanisms.parts().retirement.is_some() {
            saved.of_mechanisms.push(self.lost.len() as u32);
            saved.of_mechanisms.extend(self.lost.iter().map(|lpn| lpn.0));
        }
        self.save_left(&mut saved);
        saved
    }

    /// Takes over what outlived a run; see [`PageMapping::restore`](crate::PageMapping::restore).
    pub(crate) fn restore<E: From<OutOfMemory>>(
        &mut self,
        read: impl FnOnce() -> Result<Saved<'static>, E>,
        policies: &Policies<'_>,
        seed: u64,
    ) -> Result<Result<(), String>, E> {
        self.kernel.release_maps()?;
        let mut saved = read()?;
        self.kernel.restore(&mut saved)?;
        let mut words = saved.of_mechanisms.iter();
        let mut result = self.mechanisms.restore(&mut self.kernel, &saved.kept, &mut words);
        if result.is_ok() && self.mechanisms.parts().retirement.is_some() {
            let count = words.next().copied().unwrap_or(0) as usize;
            self.lost = words.by_ref().take(count).map(|&lpn| Lpn(lpn)).collect();
            if self.lost.len() != count {
                result = Err("fewer lost pages than there are".into());
            }
        }
        self.restore_left(&saved);
        if result.is_ok() && words.next().is_some() {
            result = Err("what no mechanism knows".into());
        }
        self.renew_policies(policies, seed);
        Ok(result)
    }

    /// The units of a domain that mechanisms keep.
    pub(crate) fn keepers(&self, domain: Domain) -> Keepers {
        let mut keepers = Keepers::default();
        self.mechanisms.kept(&self.kernel, domain, &mut keepers);
        keepers
    }

    /// Units that are set aside or in work are just those that somebody knows of.
    pub(crate) fn check_keepers(&self, domain: Domain) -> Result<(), String> {
        let Keepers { aside, mut in_work, withheld } = self.keepers(domain);
        in_work.extend(self.kernel.job(domain).map(|job| job.unit));
        in_work.extend(self.kernel.pairing(domain).map(|job| job.unit));
        in_work.extend(self.deferred.get(domain.index()).into_iter().flatten().map(|job| job.unit));
        let kept = [(UnitState::Aside, aside), (UnitState::Collecting, in_work), (UnitState::Withheld, withheld)];
        for (state, mut known) in kept {
            known.sort_unstable();
            let found: Vec<Unit> = self.kernel.scan(domain).in_state(state).collect();
            if found != known {
                return Err(format!("domain {domain} has units {found:?} that are {state:?} and knows of {known:?}"));
            }
        }
        Ok(())
    }
}

/// The stream of a page of data.
#[inline]
fn stream_of<M: Mechanisms>(kernel: &Kernel, mechanisms: &M, lpn: Lpn, arrival: Arrival) -> Stream {
    let mut classes = [0; AXES];
    let own = mechanisms.class(kernel, lpn, arrival, &mut classes);
    own.unwrap_or_else(|| kernel.streams().at(classes))
}

/// The stream of a logical page that is about to be copied.
#[inline]
pub(crate) fn copy_stream<M: Mechanisms>(kernel: &Kernel, mechanisms: &M, lpn: Lpn) -> Stream {
    if M::IS_PLAIN {
        Stream::FIRST
    } else if kernel.is_of_map(lpn) {
        kernel.streams().of_map()
    } else {
        stream_of(kernel, mechanisms, lpn, Arrival::Copy)
    }
}
