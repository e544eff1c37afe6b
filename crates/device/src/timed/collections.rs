//! Pages that collections hold in the controller between a read and a program.

use base::{Cause, Die, Domain, Geometry, OpKind, Ppn, Unit};
use ftl::{DynamicAllocation, Ftl, Group, How, Op, Step};
use nand::StoreKind;

use super::plan::Plan;
use crate::device::Device;
use crate::flash::Content;

/// The collection of a domain, but for the contents of its pages. Laid out with what every step touches first.
#[derive(Clone, Copy)]
#[repr(C)]
struct Collection {
    /// The operation on the group.
    step: Step,
    /// Number of the group's pages that were read.
    read: u8,
    /// Number of the pages read that are on their way or being corrected.
    correcting: u8,
    /// Of the unit of the pages, when none of them was stale ([`Ftl::valid_mark`]); `None`: that was not looked for.
    mark: Option<u32>,
    /// The pages that move together.
    group: Group,
}

impl Collection {
    const NONE: Collection = Collection {
        step: Step { op: Op::Move(How::OffChip), cause: Cause::Gc },
        read: 0,
        correcting: 0,
        mark: None,
        group: Group::EMPTY,
    };
}

/// The contents of the pages that collections have read, by domain and place in its group. Apart from
/// [`Collection`], where room for the widest group would keep those of neighbouring domains far apart.
struct Contents {
    /// Pages of a group at most.
    width: usize,
    /// Empty where pages store nothing.
    pages: Vec<Content>,
}

impl Contents {
    /// A group has the pages of two rows, or those of a wordline.
    fn new(geometry: &Geometry, stores: StoreKind) -> Contents {
        let (domains, width) = (geometry.domains(), (2 * geometry.row_slots()).max(4 * geometry.parts) as usize);
        Contents {
            width,
            pages: vec![Content::EMPTY; if stores == StoreKind::Nothing { 0 } else { domains as usize * width }],
        }
    }

    #[inline]
    fn get(&self, domain: Domain, at: usize) -> Content {
        self.pages.get(domain.index() * self.width + at).copied().unwrap_or(Content::EMPTY)
    }

    #[inline]
    fn set(&mut self, domain: Domain, at: usize, content: Content) {
        if let Some(page) = self.pages.get_mut(domain.index() * self.width + at) {
            *page = content;
        }
    }

    /// Drops the content of a page; those behind it move up.
    fn remove(&mut self, domain: Domain, at: usize) {
        for at in at + 1..self.width {
            self.set(domain, at - 1, self.get(domain, at));
        }
    }
}

/// The next step of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextStep {
    /// Read pages of the group, of which this is the first.
    Read(Ppn),
    /// Program what the operation in hand programs.
    Program,
    /// Copy the pages of the group inside their planes, of which this is the first.
    Copy(Ppn),
    /// Erase this unit.
    Erase(Unit),
}

impl NextStep {
    pub(super) fn kind(self) -> OpKind {
        match self {
            NextStep::Read(_) => OpKind::Read,
            NextStep::Program | NextStep::Copy(_) => OpKind::Program,
            NextStep::Erase(_) => OpKind::Erase,
        }
    }
}

/// The page in hand of a collection that moves pages off the chip, one by one.
pub(super) struct InHand<'a>(&'a mut Collection);

impl InHand<'_> {
    /// The page, and whether it was read.
    #[inline(always)]
    pub(super) fn page(&self) -> Option<(Ppn, bool)> {
        self.0.group.pages().first().map(|&page| (page, self.0.read > 0))
    }

    /// The page is read.
    #[inline(always)]
    pub(super) fn take(&mut self, page: Ppn) {
        self.0.step = Step { op: Op::Move(How::OffChip), cause: Cause::Gc };
        self.0.group.clear();
        self.0.group.push(page);
        (self.0.read, self.0.mark) = (1, None);
    }

    /// The page is programmed.
    #[inline(always)]
    pub(super) fn end(&mut self) {
        self.0.group.clear();
        self.0.read = 0;
    }
}

/// The collections of all domains.
pub(super) struct Collections {
    /// By domain.
    all: Vec<Collection>,
    contents: Contents,
    /// By die: pages of its collections that are on their way or being corrected.
    correcting: Vec<u8>,
    /// Pages that were read, and of which the FTL decides anew, with what they hold.
    kept: Vec<(Ppn, Content)>,
    dynamic: Option<DynamicAllocation>,
    geometry: Geometry,
}

impl Collections {
    /// Bytes for each domain.
    pub(super) const BYTES_OF_DOMAIN: usize = size_of::<Collection>();

    pub(super) fn new(device: &Device) -> Collections {
        let (geometry, stores) = (device.flash.geometry(), device.flash.nand().stores());
        Collections {
            all: vec![Collection::NONE; geometry.domains() as usize],
            contents: Contents::new(geometry, stores),
            correcting: vec![0; geometry.dies() as usize],
            kept: Vec::new(),
            dynamic: device.has.dynamic,
            geometry: *geometry,
        }
    }

    /// True if pages of a die's collections are on their way or being corrected.
    #[inline]
    pub(super) fn are_correcting(&self, die: Die) -> bool {
        self.correcting[die.index()] > 0
    }

    /// True if pages of a domain's collection are.
    #[inline]
    pub(super) fn is_correcting(&self, die: Die, domain: Domain) -> bool {
        self.are_correcting(die) && self.all[domain.index()].correcting > 0
    }

    /// True if nothing was read that is not programmed.
    pub(super) fn is_between_groups(&self, domain: Domain) -> bool {
        self.all[domain.index()].read == 0
    }

    /// Drops the pages that were to be read next.
    pub(super) fn forget_group(&mut self, domain: Domain) {
        self.all[domain.index()].group.clear();
    }

    /// A program has failed in a domain, and pages in hand were to go where that was. The FTL decides anew: what a page goes over has to be
    /// safe first, and at the end of a device's life no page has a place. Where blocks take only so many reads, those that were read are kept.
    #[cold]
    pub(super) fn go_elsewhere(&mut self, device: &Device, domain: Domain) {
        let Collection { step: Step { op: Op::Move(how), .. }, read, group, .. } = self.all[domain.index()] else {
            return;
        };
        if how == How::OffChip && !device.flash.nand().reads_before().is_empty() {
            let pages = group.pages()[..read.into()].iter().enumerate();
            self.kept.extend(pages.map(|(at, &page)| (page, self.contents.get(domain, at))));
        }
        self.end_group(domain);
    }

    /// Takes pages of the group that were kept for read.
    #[cold]
    fn take_kept(&mut self, domain: Domain) {
        let Collection { step, read, group, .. } = &mut self.all[domain.index()];
        while step.op == Op::Move(How::OffChip)
            && let Some(page) = group.pages().get(usize::from(*read))
            && let Some(at) = self.kept.iter().position(|(kept, _)| kept == page)
        {
            self.contents.set(domain, (*read).into(), self.kept.swap_remove(at).1);
            *read += 1;
        }
    }

    /// The pages of a unit are gone.
    #[inline]
    pub(super) fn erased(&mut self, geometry: &Geometry, unit: Unit) {
        if !self.kept.is_empty() {
            self.kept.retain(|&(page, _)| geometry.unit_of(page) != unit);
        }
    }

    /// The group in hand was programmed, or read for its own sake.
    #[inline]
    pub(super) fn end_group(&mut self, domain: Domain) {
        let collection = &mut self.all[domain.index()];
        collection.group.clear();
        (collection.read, collection.mark) = (0, None);
    }

    /// The operation that a domain has in hand.
    #[inline]
    pub(super) fn step(&self, domain: Domain) -> Step {
        self.all[domain.index()].step
    }

    /// Its pages.
    #[inline]
    pub(super) fn group(&self, domain: Domain) -> &Group {
        &self.all[domain.index()].group
    }

    /// The next of its pages to be read, with its place in the group.
    #[inline]
    pub(super) fn next_read(&mut self, domain: Domain) -> Option<(usize, Ppn)> {
        if !self.kept.is_empty() {
            self.take_kept(domain);
        }
        let at = usize::from(self.all[domain.index()].read);
        self.group(domain).pages().get(at).map(|&page| (at, page))
    }

    /// The content of the page in that place of the group.
    #[inline]
    pub(super) fn content(&self, domain: Domain, at: usize) -> Content {
        self.contents.get(domain, at)
    }

    /// The pages of a group that were not read, where none is kept.
    #[inline]
    pub(super) fn unread(&self, domain: Domain) -> &[Ppn] {
        let Collection { group, read, .. } = &self.all[domain.index()];
        &group.pages()[usize::from(*read)..]
    }

    /// The next pages of a group leave the array, where pages store nothing.
    #[inline]
    pub(super) fn add_reads(&mut self, plan: &impl Plan, die: Die, domain: Domain, pages: u8) {
        let collection = &mut self.all[domain.index()];
        if plan.has().contents {
            collection.correcting += pages;
            self.correcting[die.index()] += pages;
        }
        collection.read += pages;
    }

    /// The next page of a group leaves the array. Where pages store nothing and are correct when they leave their die, nothing
    /// more is kept of it.
    #[inline]
    pub(super) fn add_read(&mut self, plan: &impl Plan, die: Die, domain: Domain, content: Content) {
        let collection = &mut self.all[domain.index()];
        if plan.has().contents {
            self.contents.set(domain, usize::from(collection.read), content);
            collection.correcting += 1;
            self.correcting[die.index()] += 1;
        }
        collection.read += 1;
    }

    /// True if pages of the group that a collection moves are valid: it goes on with these, and the FTL is not asked. `false` says
    /// nothing.
    #[inline]
    pub(super) fn moves_on(&self, ftl: &Ftl, domain: Domain) -> bool {
        let Collection { step, read, ref group, .. } = self.all[domain.index()];
        let is_of_one_kind = read == 0 || usize::from(read) == group.pages().len();
        let moves = is_of_one_kind && self.kept.is_empty() && matches!(step.op, Op::Move(_));
        moves && group.pages().iter().any(|&page| ftl.is_valid(page))
    }

    /// The next step of a collection, and its cause.
    #[inline]
    pub(super) fn next_step(&mut self, ftl: &mut Ftl, domain: Domain) -> Option<(NextStep, Cause)> {
        self.forget_stale_pages(ftl, domain);
        let cause = self.step(domain).cause;
        if let Some((_, from)) = self.next_read(domain) {
            let is_copyback = self.step(domain).op == Op::Move(How::Copyback);
            return Some((if is_copyback { NextStep::Copy(from) } else { NextStep::Read(from) }, cause));
        }
        if !self.is_between_groups(domain) {
            return Some((NextStep::Program, cause));
        }
        let Step { op, cause } = self.take_in_hand(ftl, domain)?;
        let next = match (op, self.next_read(domain)) {
            (Op::Erase(unit), _) => NextStep::Erase(unit),
            (Op::Pad, _) | (_, None) => NextStep::Program,
            (Op::Move(How::Copyback), Some((_, page))) => NextStep::Copy(page),
            (_, Some((_, page))) => NextStep::Read(page),
        };
        Some((next, cause))
    }

    /// The page that a domain's collection has in hand, where pages store nothing and are correct when they leave their die.
    #[inline(always)]
    pub(super) fn in_hand(&mut self, domain: Domain) -> InHand<'_> {
        InHand(&mut self.all[domain.index()])
    }

    /// True if a domain's collection has a step to do, and does not wait for other domains.
    #[cold]
    pub(super) fn has_step(&mut self, ftl: &mut Ftl, domain: Domain) -> bool {
        self.forget_stale_pages(ftl, domain);
        !self.group(domain).pages().is_empty() || self.take_in_hand(ftl, domain).is_some()
    }

    /// Has the FTL decide what a domain does next, and takes it in hand.
    #[inline]
    fn take_in_hand(&mut self, ftl: &mut Ftl, domain: Domain) -> Option<Step> {
        let Collection { group, step, mark, .. } = &mut self.all[domain.index()];
        *mark = None;
        *step = ftl.next_step(domain, group)?;
        Some(*step)
    }

    /// Drops pages that were overwritten or trimmed since the collection chose them.
    #[inline(always)]
    fn forget_stale_pages(&mut self, ftl: &Ftl, domain: Domain) {
        let Collection { group, mark, step, .. } = &mut self.all[domain.index()];
        let Some(&first) = group.pages().first() else { return };
        // Pages that move are of one unit.
        let is_of_unit = matches!(step.op, Op::Move(_));
        let now = if is_of_unit { ftl.valid_mark(self.geometry.unit_of(first)) } else { None };
        if now.is_some() && now == *mark {
            return;
        }
        *mark = now;
        if group.pages().iter().any(|&page| !ftl.is_valid(page)) {
            self.drop_stale_pages(ftl, domain);
        }
    }

    #[cold]
    fn drop_stale_pages(&mut self, ftl: &Ftl, domain: Domain) {
        let collection = &mut self.all[domain.index()];
        if collection.step.op == Op::Reprogram || collection.group.products > 1 {
            // Cells are programmed anew by the levels that they have, and rows are covered as they are.
            return;
        }
        // A backup is worth while as long as a power cut could need the page.
        let dynamic = self.dynamic.filter(|_| collection.step.op == Op::Combine);
        let mut at = 0;
        while let Some(&page) = collection.group.pages().get(at) {
            if ftl.is_valid(page) || dynamic.is_some_and(|dynamic| dynamic.needs(ftl, page, 1)) {
                at += 1;
            } else {
                if collection.step.op == Op::Move(How::Copyback) {
                    // Those behind it would land in other planes.
                    collection.step.op = Op::Move(How::OffChip);
                }
                collection.group.remove(at);
                collection.read -= u8::from(at < usize::from(collection.read));
                self.contents.remove(domain, at);
            }
        }
    }

    /// Pages that a collection read are in the controller, corrected. Returns whether they are the last that were on their way.
    pub(super) fn pages_arrived(&mut self, die: Die, domain: Domain, pages: u8) -> bool {
        self.correcting[die.index()] -= pages;
        let correcting = &mut self.all[domain.index()].correcting;
        *correcting -= pages;
        *correcting == 0
    }

    /// If a domain has read a page for its own sake, as one of the map is, its step is over with that. Returns whether it is.
    pub(super) fn ends_read(&mut self, domain: Domain) -> bool {
        let is_over = self.step(domain).op == Op::Read;
        if is_over {
            self.end_group(domain);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_read_are_not_read_again_where_blocks_take_so_many_reads() {
        let sets = [
            "device.wear.read_limit=[1000, 9000]",
            "ftl.read_disturb=refresh",
            "device.user_capacity=1MiB",
            "run.payload=stamp",
        ];
        let base = config::Base::Preset("tbm-small".into());
        let config = crate::load(&base, &sets.map(String::from), None).expect("a device").config;
        let (device, domain) = (Device::new(&config, false).expect("memory"), Domain::new(0));
        let mut collections = Collections::new(&device);
        let [first, second] = [4, 5].map(Ppn);
        let take = |collections: &mut Collections, pages: &[Ppn], read| {
            let collection = &mut collections.all[domain.index()];
            (collection.step.op, collection.read) = (Op::Move(How::OffChip), read);
            pages.iter().for_each(|&page| collection.group.push(page));
        };
        let content = Content { data: 7, ..Content::EMPTY };
        take(&mut collections, &[first, second], 1);
        collections.contents.set(domain, 0, content);
        collections.go_elsewhere(&device, domain);
        collections.contents.set(domain, 0, Content::EMPTY);
        assert!(collections.is_between_groups(domain) && collections.group(domain).pages().is_empty());
        take(&mut collections, &[first, second], 0);
        assert_eq!(collections.next_read(domain), Some((1, second)), "the controller has the first");
        assert_eq!(collections.content(domain, 0), content, "and what it holds");
        collections.go_elsewhere(&device, domain);
        collections.erased(device.flash.geometry(), Unit::new(0));
        take(&mut collections, &[first, second], 0);
        assert_eq!(collections.next_read(domain), Some((0, first)), "another page lies there by now");
    }
}
