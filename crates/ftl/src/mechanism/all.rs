//! All mechanisms, in the order in which a line of the agenda asks them; and none.

use std::ops::Range;
use std::slice;

use base::{Cause, Domain, Geometry, Instant, Lpn, Ppn, Slot, Unit};

use super::dftl::Dftl;
use super::disturb::Disturb;
use super::migration::Migration;
use super::paired::Paired;
use super::separation::Separation;
use super::twin::Twin;
use super::wear::WearLeveling;
use super::*;
use crate::Bytes;
use crate::kernel::{AXES, Axis, Budget, Stream, Streams, Wordlines};

/// No mechanism.
#[derive(Clone)]
pub(crate) struct Plain;

impl Mechanism for Plain {}

impl Mechanisms for Plain {
    const IS_PLAIN: bool = true;

    fn build(_: &mut Kernel, _: &Policies<'_>, _: &Allocation) -> Result<Plain, OutOfMemory> {
        Ok(Plain)
    }
}

/// Any mechanisms.
#[derive(Clone)]
pub(crate) struct All {
    separation: Separation,
    dftl: Option<Box<Dftl>>,
    paired: Option<Box<Paired>>,
    twin: Twin,
    migration: Option<Box<Migration>>,
    wear: WearLeveling,
    disturb: Option<Box<Disturb>>,
    /// Whether anybody wants to hear of every page that is placed.
    hears_of_pages: bool,
}

/// Tells every mechanism in force.
macro_rules! each {
    ($self:ident, $it:ident => $told:expr) => {{
        {
            // Regions change before anybody looks at them.
            let $it = &mut $self.separation;
            $told;
        }
        if let Some($it) = &mut $self.dftl {
            // Map entries change before what a protection makes of the page.
            $told;
        }
        if let Some($it) = &mut $self.paired {
            $told;
        }
        if let Some($it) = &mut $self.migration {
            $told;
        }
        {
            let $it = &mut $self.wear;
            $told;
        }
        if let Some($it) = &mut $self.disturb {
            $told;
        }
    }};
}

/// The first answer of a mechanism that has one.
macro_rules! first {
    ($self:ident, $it:ident => $asked:expr) => {{
        let mut answer = None;
        if let Some($it) = &mut $self.dftl {
            // What the map needs comes before what protects pages: a victim waits for both, a host page for the map first.
            answer = $asked;
        }
        if answer.is_none()
            && let Some($it) = &mut $self.paired
        {
            answer = $asked;
        }
        answer
    }};
}

impl Mechanism for All {
    #[inline]
    fn is_pending(&self, domain: Domain) -> bool {
        self.dftl.as_ref().is_some_and(|it| it.is_pending(domain))
            || self.paired.as_ref().is_some_and(|it| it.is_pending(domain))
            || self.migration.as_ref().is_some_and(|it| it.is_pending(domain))
            || self.disturb.as_ref().is_some_and(|it| it.is_pending(domain))
    }

    fn is_cramped(&self, kernel: &Kernel, domain: Domain) -> bool {
        self.paired.as_ref().is_some_and(|it| it.is_cramped(kernel, domain))
    }

    fn goes_on(&self, domain: Domain) -> bool {
        self.migration.as_ref().is_some_and(|it| it.goes_on(domain))
            || self.disturb.as_ref().is_some_and(|it| it.goes_on(domain))
    }

    fn erasable(&self, kernel: &Kernel, domain: Domain) -> Option<Unit> {
        self.paired.as_ref()?.erasable(kernel, domain)
    }

    fn erase_cause(&self, domain: Domain, unit: Unit) -> Option<Cause> {
        self.paired.as_ref()?.erase_cause(domain, unit)
    }

    fn delays_erase(&self, kernel: &Kernel, domain: Domain, unit: Unit) -> bool {
        self.dftl.as_ref().is_some_and(|it| it.delays_erase(kernel, domain, unit))
    }

    fn neighbours(&self, kernel: &Kernel, domain: Domain) -> Range<u32> {
        self.twin.neighbours(kernel, domain)
    }

    fn goes_along(&self, kernel: &Kernel, domain: Domain) -> bool {
        self.twin.goes_along(kernel, domain)
    }

    #[inline]
    fn pick(
        &self,
        kernel: &Kernel,
        domain: Domain,
        job: &mut Job,
        stream_of: &dyn Fn(Lpn) -> Stream,
        group: &mut Group,
    ) {
        if let Some(it) = &self.disturb {
            it.pick(kernel, domain, job, stream_of, group);
        }
        if group.pages().is_empty() {
            self.twin.pick(kernel, domain, job, stream_of, group);
        }
    }

    #[inline]
    fn how(&self, kernel: &Kernel, domain: Domain, stream: Stream, group: &Group) -> How {
        self.migration.as_ref().map_or(How::OffChip, |it| it.how(kernel, domain, stream, group))
    }

    fn elsewhere(&self, domain: Domain, page: Ppn) -> Option<Source> {
        self.paired.as_ref()?.elsewhere(domain, page)
    }

    fn kept(&self, domain: Domain, aside: &mut Vec<Unit>, in_work: &mut Vec<Unit>) {
        self.dftl.iter().for_each(|it| it.kept(domain, aside, in_work));
        self.paired.iter().for_each(|it| it.kept(domain, aside, in_work));
    }

    fn withheld(&self, kernel: &Kernel, domain: Domain, units: &mut Vec<Unit>) {
        self.disturb.iter().for_each(|it| it.withheld(kernel, domain, units));
    }

    fn check(&self, kernel: &Kernel) -> Result<(), String> {
        self.dftl.as_ref().map_or(Ok(()), |it| it.check(kernel))?;
        self.paired.as_ref().map_or(Ok(()), |it| it.check(kernel))?;
        self.disturb.as_ref().map_or(Ok(()), |it| it.check(kernel))
    }

    fn save(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        self.dftl.iter().for_each(|it| it.save(kernel, saved));
        self.paired.iter().for_each(|it| it.save(kernel, saved));
        self.disturb.iter().for_each(|it| it.save(kernel, saved));
    }

    fn restore(&mut self, kernel: &mut Kernel, kept: &[Kept], words: &mut slice::Iter<'_, u32>) -> Result<(), String> {
        if let Some(it) = &mut self.dftl {
            it.restore(kernel, kept, words)?;
        }
        self.paired.as_mut().map_or(Ok(()), |it| it.restore(kernel, kept, words))?;
        self.disturb.as_mut().map_or(Ok(()), |it| it.restore(kernel, kept, words))
    }

    fn figures(&self, figures: &mut Figures) {
        self.separation.figures(figures);
        self.dftl.iter().for_each(|it| it.figures(figures));
        self.paired.iter().for_each(|it| it.figures(figures));
        self.migration.iter().for_each(|it| it.figures(figures));
        self.disturb.iter().for_each(|it| it.figures(figures));
    }

    #[inline]
    fn placed(&mut self, kernel: &mut Kernel, page: &Placing) {
        if self.hears_of_pages {
            self.tell_of_page(kernel, page);
        }
    }

    fn padded(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) {
        each!(self, it => it.padded(kernel, domain, at));
    }

    fn filled(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        each!(self, it => it.filled(kernel, domain, unit));
    }

    fn trimmed(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        each!(self, it => it.trimmed(kernel, lpn));
    }

    #[inline]
    fn read(&mut self, lpn: Lpn) {
        each!(self, it => it.read(lpn));
    }

    fn erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, why: Option<Why>) -> bool {
        let mut was_kept = false;
        each!(self, it => was_kept |= it.erased(kernel, domain, unit, why));
        was_kept
    }

    fn suspended(&mut self, domain: Domain, is_for_erase: bool) {
        each!(self, it => it.suspended(domain, is_for_erase));
    }

    fn settled(&mut self, domain: Domain) {
        each!(self, it => it.settled(domain));
    }

    fn committed(&mut self, kernel: &mut Kernel, domain: Domain) {
        each!(self, it => it.committed(kernel, domain));
    }

    fn renew(&mut self, kernel: &mut Kernel, policies: &Policies<'_>) {
        each!(self, it => it.renew(kernel, policies));
    }

    fn pending(&mut self, kernel: &mut Kernel, domain: Domain, has_room: bool, group: &mut Group) -> Pending {
        let disturb = &self.disturb;
        let may_read = |kernel: &Kernel, at| disturb.as_ref().is_none_or(|it| it.may_read(kernel, at));
        let of_map =
            self.dftl.as_mut().map_or(Pending::None, |it| it.next_map_op(kernel, domain, has_room, group, may_read));
        match (of_map, &mut self.migration) {
            (Pending::None, Some(it)) => it.pending(kernel, domain, has_room, group),
            _ => of_map,
        }
    }

    fn take_up(&mut self, kernel: &mut Kernel, domain: Domain) {
        each!(self, it => it.take_up(kernel, domain));
    }

    fn before_copies(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<Op> {
        first!(self, it => it.before_copies(kernel, domain, group))
    }

    fn end(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> End {
        let not_erase = |end: End| (end != End::Erase).then_some(end);
        first!(self, it => not_erase(it.end(kernel, domain, group))).unwrap_or(End::Erase)
    }

    fn before_keeping(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> End {
        self.dftl.as_mut().map_or(End::Erase, |it| it.before_keeping(kernel, domain, group))
    }

    fn keep(&mut self, kernel: &mut Kernel, domain: Domain) {
        self.disturb.iter_mut().for_each(|it| it.keep(kernel, domain));
    }

    fn before_erase(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, group: &mut Group) -> End {
        let not_erase = |end: End| (end != End::Erase).then_some(end);
        first!(self, it => not_erase(it.before_erase(kernel, domain, unit, group))).unwrap_or(End::Erase)
    }

    fn before_page(&mut self, kernel: &mut Kernel, domain: Domain, at: Ppn, group: &mut Group) -> Option<Op> {
        first!(self, it => it.before_page(kernel, domain, at, group))
    }

    fn under(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream) -> Under {
        let Some(paired) = &mut self.paired else { return Under::Nothing };
        // Blocks that are emptied under host pages are erased without a collection, so nobody asked what is due behind it.
        if paired.is_to_choose(kernel, domain, stream)
            && self.may_begin(kernel, domain, Why::Level)
            && let Some((unit, why)) = self.due(kernel, domain)
        {
            kernel.begin(domain, unit, why);
            return Under::Collection;
        }
        self.paired.as_mut().map_or(Under::Nothing, |it| it.under(kernel, domain, stream))
    }

    fn room(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream, source: Room) -> bool {
        first!(self, it => it.room(kernel, domain, stream, source).then_some(())).is_some()
            || self.disturb.as_mut().is_some_and(|it| it.room(kernel, domain, stream, source))
    }

    fn may_begin(&mut self, kernel: &Kernel, domain: Domain, why: Why) -> bool {
        first!(self, it => (!it.may_begin(kernel, domain, why)).then_some(())).is_none()
    }

    fn due(&mut self, kernel: &Kernel, domain: Domain) -> Option<(Unit, Why)> {
        self.wear.due(kernel, domain)
    }

    fn disturbed(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Disturbed {
        let begins = self.disturb.is_some() && kernel.job(domain).is_none();
        if begins && !self.may_begin(kernel, domain, Why::Refresh) {
            return Disturbed::Nothing;
        }
        self.disturb.as_mut().map_or(Disturbed::Nothing, |it| it.disturbed(kernel, domain, group))
    }

    fn failed(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) -> bool {
        self.disturb.as_mut().is_some_and(|it| it.failed(kernel, domain, at))
            || first!(self, it => it.failed(kernel, domain, at).then_some(())).is_some()
    }

    fn sealed(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        each!(self, it => it.sealed(kernel, domain, unit));
    }

    fn adopt_reads(&mut self, kernel: &Kernel, unit: Unit, found: &Scanned) {
        each!(self, it => it.adopt_reads(kernel, unit, found));
    }

    fn adopt_page(&mut self, lpn: Lpn, region: u8) {
        each!(self, it => it.adopt_page(lpn, region));
    }

    fn adopt_open(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, next: Slot) -> bool {
        first!(self, it => it.adopt_open(kernel, domain, unit, next).then_some(())).is_some()
            || self.disturb.as_mut().is_some_and(|it| it.adopt_open(kernel, domain, unit, next))
    }

    fn adopt_frontier(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, next: Slot, found: &Scanned) {
        each!(self, it => it.adopt_frontier(kernel, domain, unit, next, found));
    }

    fn adopt_aside(&mut self, domain: Domain, unit: Unit) {
        each!(self, it => it.adopt_aside(domain, unit));
    }

    fn reopen(&mut self, kernel: &mut Kernel) {
        each!(self, it => it.reopen(kernel));
    }

    fn rescued(&self, kernel: &Kernel, scan: &[Scanned], at: Ppn, spare: &Spare) -> Option<Rescue> {
        self.paired.as_ref()?.rescued(kernel, scan, at, spare)
    }

    fn may_rescue_to(&self, kernel: &Kernel, at: Ppn) -> bool {
        self.paired.as_ref().is_none_or(|it| it.may_rescue_to(kernel, at))
    }
}

impl All {
    #[inline(never)]
    fn tell_of_page(&mut self, kernel: &mut Kernel, page: &Placing) {
        each!(self, it => it.placed(kernel, page));
    }
}

impl Mechanisms for All {
    const IS_PLAIN: bool = false;

    fn build(kernel: &mut Kernel, policies: &Policies<'_>, allocation: &Allocation) -> Result<All, OutOfMemory> {
        let separation = Separation::build(policies.separation, kernel.user_pages() as usize);
        let dftl = Dftl::build(kernel, policies, allocation)?.map(Box::new);
        let paired = Paired::build(kernel, policies).map(Box::new);
        let migration = Migration::build(kernel, policies).map(Box::new);
        let disturb = Disturb::build(kernel, policies, paired.is_some()).map(Box::new);
        Ok(All {
            hears_of_pages: matches!(separation, Separation::Dac(_))
                || dftl.is_some()
                || paired.is_some()
                || migration.is_some()
                || disturb.is_some(),
            separation,
            dftl,
            paired,
            twin: Twin::new(policies.reclaim_unit),
            migration,
            wear: WearLeveling::build(policies.wear_leveling, crate::kernel::shape_of(kernel.geometry())),
            disturb,
        })
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        self.separation.prefetch(lpn);
        if let Some(dftl) = &self.dftl {
            dftl.prefetch_entry(lpn);
        }
    }

    #[inline]
    fn prefetch_read(&self, kernel: &Kernel, at: Ppn) {
        if let Some(disturb) = &self.disturb {
            disturb.prefetch(kernel, at);
        }
    }

    #[inline]
    fn host_stream(&self, kernel: &Kernel, lpn: Lpn, is_mapped: bool) -> Stream {
        let paired = self.paired.as_ref().map_or(0, |it| it.host_class(lpn, is_mapped));
        kernel.streams().at([self.separation.host_class(lpn, is_mapped), paired, 0, 0])
    }

    #[inline]
    fn copy_stream(&self, kernel: &Kernel, lpn: Lpn) -> Stream {
        if let Some(cold) = kernel.streams().of_cold()
            && kernel.is_leveled_now(lpn)
        {
            return cold;
        }
        let paired = self.paired.as_ref().map_or(0, |it| it.copy_class(lpn));
        let quota = self.migration.as_ref().map_or(0, |it| it.quota_class(kernel, lpn));
        let disturbed = self.disturb.as_ref().map_or(0, |it| it.class_of_copy(kernel, lpn));
        if disturbed == disturb::INSIDE {
            return disturb::stream_inside(kernel);
        }
        kernel.streams().at([self.separation.copy_class(lpn), paired, quota, disturbed])
    }

    #[inline]
    fn region(&self, lpn: Lpn) -> u8 {
        self.separation.region(lpn)
    }

    #[inline]
    fn guards_pages(&self) -> bool {
        self.paired.is_some()
    }

    #[inline]
    fn hears_of_reads(&self) -> bool {
        self.disturb.is_some()
    }

    #[inline]
    fn page_read(&mut self, kernel: &mut Kernel, at: Ppn) {
        if let Some(it) = &mut self.disturb {
            it.page_read(kernel, at);
        }
    }

    #[inline]
    fn host_reads(&mut self, kernel: &Kernel, first: Ppn, pages: u32) -> u32 {
        self.disturb.as_mut().map_or(pages, |it| it.host_reads(kernel, first, pages))
    }

    #[inline]
    fn may_read(&self, kernel: &Kernel, at: Ppn) -> bool {
        self.disturb.as_ref().is_none_or(|it| it.may_read(kernel, at))
    }

    fn is_guard(&self, kernel: &Kernel, at: Ppn) -> bool {
        self.disturb.as_ref().is_some_and(|it| it.is_guard(kernel, at))
    }

    fn cause_of_room(&mut self, kernel: &Kernel, domain: Domain, asked: bool) -> Option<Cause> {
        self.disturb.as_mut()?.cause_of_room(kernel, domain, asked)
    }

    #[inline]
    fn tell(&mut self, kernel: &mut Kernel, now: Instant) -> Option<f64> {
        if let Some(it) = &mut self.migration {
            it.tell(kernel, now);
        }
        let omega = self.separation.tell(now)?;
        kernel.note_locality(Some(omega));
        Some(omega)
    }

    fn hears_of_time(&self) -> bool {
        self.separation.samples_locality() || self.hears_of_buffer()
    }

    #[inline]
    fn hears_of_buffer(&self) -> bool {
        self.migration.as_ref().is_some_and(|it| it.selects())
    }

    fn tell_fill(&mut self, kernel: &mut Kernel, now: Instant, fill: f64) {
        if let Some(it) = &mut self.migration {
            it.tell_fill(kernel, now, fill);
        }
    }

    #[inline]
    fn holds_entry(&self, lpn: Lpn) -> bool {
        self.dftl.as_ref().is_none_or(|it| it.holds_entry(lpn))
    }

    #[inline]
    fn is_known(&self, kernel: &Kernel, lpn: Lpn) -> bool {
        self.dftl.as_ref().is_none_or(|it| it.is_known(kernel, lpn))
    }

    fn want_entry(&mut self, kernel: &mut Kernel, lpn: Lpn, for_write: bool) -> Domain {
        self.dftl.as_mut().expect("a map in flash").want(kernel, lpn, for_write)
    }

    #[inline]
    fn has_owners(&self) -> bool {
        self.dftl.as_ref().is_some_and(|it| it.has_owners())
    }

    #[inline]
    fn owner_of(&self, lpn: Lpn) -> Option<Domain> {
        self.dftl.as_ref().map(|it| it.owner_of(lpn))
    }

    #[inline]
    fn promised(&self, domain: Domain) -> u32 {
        self.dftl.as_ref().map_or(0, |it| it.unwritten(domain))
    }

    fn keep_contents(&mut self) {
        self.dftl.iter_mut().for_each(|it| it.keep_contents());
    }

    fn map_page_lost(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        self.dftl.iter_mut().for_each(|it| it.translation_page_lost(kernel, lpn));
    }

    fn combined_place(&mut self, kernel: &mut Kernel, domain: Domain, cause: Cause) -> Ppn {
        match (cause, &self.paired, &self.disturb) {
            (Cause::Backup, Some(paired), _) => paired.next_backup_page(kernel, domain),
            (Cause::Refresh, _, Some(disturb)) => disturb.next_guard(domain),
            _ => kernel.next_place(domain, kernel.streams().of_map()),
        }
    }

    fn combine(&mut self, kernel: &mut Kernel, domain: Domain, cause: Cause, pages: &[Ppn]) -> Combined {
        match (cause, &mut self.paired, &mut self.dftl, &mut self.disturb) {
            (Cause::Backup, Some(paired), ..) => paired.back_up(kernel, domain, pages),
            (Cause::Refresh, .., Some(disturb)) => disturb.reprogrammed(kernel, domain),
            (_, _, Some(dftl), _) => dftl.update(kernel, domain),
            _ => unreachable!("nothing is combined"),
        }
    }

    fn was_read(&mut self, kernel: &mut Kernel, domain: Domain) -> Lpn {
        self.dftl.as_mut().expect("a map in flash").fetched(kernel, domain)
    }
}

/// How the space of a domain is shared among those who need of it, under the policies that were chosen.
pub(crate) struct Plan {
    free_blocks: u32,
    axes: [Axis; AXES],
    needs: Needs,
    has_map: bool,
    /// True if cold data have a stream of their own.
    has_cold: bool,
    is_dynamic: bool,
    next_lsb: Vec<u16>,
}

impl Plan {
    pub(crate) fn new(policies: &Policies<'_>, geometry: &Geometry) -> Plan {
        let separation = Separation::needs(policies, geometry);
        let paired = Paired::needs(policies, geometry);
        let dftl = Dftl::needs(policies, geometry);
        let migration = Migration::needs(policies, geometry);
        let disturb = Disturb::needs(policies, geometry);
        let axes = [separation.axis, paired.axis, migration.axis, disturb.axis];
        let mut needs = Needs::sum(&[separation, paired, dftl, migration, disturb]);
        let of_pairs = if policies.has_map() && needs.beside { dftl::RESERVE_BESIDE } else { 0 };
        needs.reserve += of_pairs;
        let mut of_victim = crate::kernel::streams_of_victim(axes) as u32 + needs.opens;
        let of_copies = crate::kernel::streams_of_copies(axes);
        if policies.pads > 0 {
            // A victim's pages and these must fit into what it gives back, and into one unit more than they may fill; and into another
            // one where the host goes on before a collection ends.
            needs.without_data += policies.pads * crate::kernel::streams_of_victim(axes) as u32;
            let reserve = if policies.gc_schedule.name == "threshold" { 2u32 } else { 3 };
            needs.reserve += reserve.saturating_sub(policies.free_blocks() + needs.reserve);
        }
        if needs.held > 0 && of_copies > 1 {
            // A held victim gives its room back when copies go on in its stream. Before that, victims whose pages go to other
            // streams may open a unit in each of them.
            let of_all = of_copies + needs.opens;
            of_victim = of_victim.max(of_all);
            needs.reserve += of_all.saturating_sub(policies.free_blocks() + needs.reserve);
        }
        // After a unit was refreshed, a victim can be emptied.
        let of_refresh = disturb::opens(policies, geometry, axes);
        if of_refresh > 0 {
            // Pages of a map are updated for those that a refresh moves, too, and for those that went under host pages before.
            needs.for_refresh = of_victim + of_refresh + dftl.opens + of_pairs;
            needs.reserve += needs.for_refresh.saturating_sub(policies.free_blocks() + needs.reserve);
        }
        Plan {
            free_blocks: policies.free_blocks(),
            axes,
            needs,
            has_map: policies.has_map(),
            has_cold: wear::separates(policies.wear_leveling),
            is_dynamic: crate::allocation::is_dynamic(policies.allocation.name),
            next_lsb: Wordlines::new(policies.cell, policies.program_order, geometry).next_lsb_by_slot(),
        }
    }

    /// Whether page mapping can do without any mechanism.
    pub(crate) fn is_plain(policies: &Policies<'_>, geometry: &Geometry) -> bool {
        geometry.unit_width == 1
            && policies.mapping.name == "page"
            && policies.separation.name == "none"
            && policies.migration.name == "off-chip"
            && policies.wear_leveling.name == "none"
            && policies.gc_schedule.name == "threshold"
            && policies.read_disturb.name == "ignore"
            && !paired::keeps_track(policies.paired_page.name)
    }

    /// Whether room is made before each host page, instead of after an active block was filled.
    pub(crate) fn on_demand(&self) -> bool {
        self.needs.on_demand
    }

    /// Streams and budget of a domain.
    pub(crate) fn shares(&self, geometry: &Geometry) -> (Streams, Budget) {
        let streams = Streams::new(self.axes, self.has_map, self.has_cold, || self.next_lsb.clone());
        (streams, self.budget(geometry))
    }

    fn budget(&self, geometry: &Geometry) -> Budget {
        Budget::new(geometry, self.free_blocks, self.axes, &self.needs, self.has_map, self.has_cold)
    }

    /// Units that a domain holds free while collection keeps up.
    pub(crate) fn reserve(&self) -> u32 {
        self.free_blocks + self.needs.reserve
    }

    /// Units that a domain keeps for victims that are held, where their pages go to several streams.
    pub(crate) fn for_held(&self) -> u32 {
        let of_copies = crate::kernel::streams_of_copies(self.axes);
        if of_copies == 1 || self.needs.held == 0 { 0 } else { self.needs.held * of_copies + self.needs.reserve }
    }

    /// Streams that a domain would have.
    pub(crate) fn streams(&self) -> usize {
        Streams::product(self.axes) + usize::from(self.has_map) + usize::from(self.has_cold)
    }

    /// Pages of a map in flash beside so many of the host; none where the map is in DRAM.
    pub(crate) fn map_pages(&self, geometry: &Geometry, user_pages: u64) -> u64 {
        if self.has_map { dftl::translation_pages(geometry, user_pages) } else { 0 }
    }

    /// What the kernel and the mechanisms take.
    pub(crate) fn bytes(
        &self,
        geometry: &Geometry,
        user_pages: u64,
        policies: &Policies<'_>,
        keeps_spares: bool,
    ) -> Bytes {
        let logical_pages = user_pages + self.map_pages(geometry, user_pages);
        let kernel = Kernel::bytes(geometry, logical_pages, self.streams() as u64, policies);
        let wear = WearLeveling::bytes(policies.wear_leveling, crate::kernel::shape_of(geometry));
        let guards = Paired::bytes(policies, u64::from(geometry.domains()));
        let regions = Separation::bytes(policies.separation, user_pages);
        let quotas = Migration::bytes(policies, geometry, user_pages);
        let reads = Disturb::bytes(policies, geometry);
        Bytes {
            maps: kernel.maps,
            cached_map: Dftl::bytes(geometry, user_pages, policies, keeps_spares),
            blocks: kernel.blocks + guards + wear + quotas + reads,
            regions,
            renewed: kernel.renewed + wear + regions,
        }
    }

    /// The largest user space, in pages, that can be kept writable for ever.
    pub(crate) fn largest_user_pages(&self, geometry: &Geometry) -> u64 {
        let valid = self.budget(geometry).max_valid;
        let data = if self.has_map { dftl::most_data_pages(geometry, valid) } else { valid };
        let all = data * u64::from(geometry.domains());
        if self.is_dynamic {
            // Some domain always has to accept the next page, also where a formula fixes the die.
            all.saturating_sub(u64::from(geometry.dies_per_chip * geometry.planes_per_die))
        } else {
            all
        }
    }
}
