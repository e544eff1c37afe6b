//! A flash command: what a die is told to do, and for whom.

use std::ops::Range;

use base::{Cause, Die, Domain, Geometry, OpKind, Ppn};
use nand::Cached;

use super::queues::TransactionId;

/// Planes of a die at most.
pub(super) const MAX_PLANES: usize = 16;

/// Pages of a command at most: on each plane one, or those that are programmed together or come with one read.
const MAX_PAGES: usize = ftl::MAX_PAGES;

const _: () = assert!(MAX_PAGES <= u64::BITS as usize, "a page is a bit of `Command::firsts`");

/// For whom a page of a command is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Carried {
    /// A page of the host: the transaction that asked for it.
    Transaction(TransactionId),
    /// The step of a collection: the domain that is collected.
    Domain(Domain),
}

/// Which pass over its wordlines a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The only one.
    Only,
    /// The coarse one: the pages are in the controller until the second one.
    First,
    /// The fine one.
    Second,
}

/// One page (or block) of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) ppn: Ppn,
    pub(super) carried: Carried,
}

/// Places of pages in a command, as bits.
#[derive(Clone, Copy)]
pub(super) struct Places(u64);

impl Iterator for Places {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let at = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (at < u64::BITS).then_some(at as usize)
    }
}

/// A command for the planes of a die. Laid out with what a command of one page uses first.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Command {
    kind: OpKind,
    cause: Cause,
    count: u8,
    is_copyback: bool,
    /// Pages are for several causes, which are in `causes`; else all are for `cause`.
    is_mixed: bool,
    /// Of a program of whole wordlines, how many; means nothing elsewhere.
    wordlines: u8,
    /// Of a program of whole wordlines, which pass over them it is; means nothing elsewhere.
    pass: Pass,
    /// By place a bit: the page is the first of its flash page. 0: that was not looked for since a page was added.
    firsts: u64,
    items: [Item; MAX_PAGES],
    /// In the places of the items.
    causes: [Cause; MAX_PAGES],
    /// Of a copyback, where its pages are copied from, in the places of the items.
    sources: [Ppn; MAX_PAGES],
}

impl Command {
    /// Bytes of it that a command of one page uses.
    pub(super) const BYTES_OF_ONE_PAGE: usize = std::mem::offset_of!(Command, items) + size_of::<Item>();

    pub(super) const NONE: Command = Command {
        kind: OpKind::Read,
        cause: Cause::Host,
        count: 0,
        is_copyback: false,
        is_mixed: false,
        wordlines: 0,
        pass: Pass::Only,
        firsts: 0,
        causes: [Cause::Host; MAX_PAGES],
        items: [Item { ppn: Ppn(0), carried: Carried::Domain(Domain::new(0)) }; MAX_PAGES],
        sources: [Ppn(0); MAX_PAGES],
    };

    /// Begins with a new command, which has no pages yet.
    #[inline]
    pub(super) fn begin(&mut self, kind: OpKind, cause: Cause) {
        (self.kind, self.cause, self.count, self.is_copyback, self.is_mixed) = (kind, cause, 0, false, false);
        self.firsts = 0;
    }

    /// The pages from `first` on were added for another cause, or follow some that were.
    pub(super) fn note_cause(&mut self, first: usize, cause: Cause) {
        if cause != self.cause && !self.is_mixed {
            (self.is_mixed, self.causes) = (true, [self.cause; MAX_PAGES]);
        }
        self.causes[first..usize::from(self.count)].fill(cause);
    }

    /// True if its pages are for several causes.
    #[inline]
    pub(super) fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    /// Begins with a new program of whole wordlines, which has these pages, each for its cause.
    pub(super) fn begin_wordlines(&mut self, pages: impl ExactSizeIterator<Item = (Item, Cause)>) {
        self.begin(OpKind::Program, self.cause);
        (self.wordlines, self.pass, self.count) = (0, Pass::Only, pages.len() as u8);
        let mut first = None;
        for (at, (item, cause)) in pages.enumerate() {
            (self.items[at], self.causes[at]) = (item, cause);
            self.is_mixed |= cause != *first.get_or_insert(cause);
        }
        self.cause = first.unwrap_or(self.cause);
    }

    /// It programs one wordline, and once.
    pub(super) fn begin_again(&mut self) {
        (self.wordlines, self.pass) = (1, Pass::Only);
    }

    /// Says which pass over its wordlines it is.
    pub(super) fn set_pass(&mut self, pass: Pass) {
        self.pass = pass;
    }

    /// True if it is the first of two passes.
    pub(super) fn is_first_pass(&self) -> bool {
        self.kind == OpKind::Program && self.pass == Pass::First
    }

    /// Which pass over whole wordlines it is.
    pub(super) fn pass(&self) -> Pass {
        self.pass
    }

    /// Takes pages out of it: they are not done when it is.
    pub(super) fn take_out(&mut self, is_meant: impl Fn(Ppn) -> bool) -> Vec<Item> {
        let (all, mut taken) = (*self, Vec::new());
        (self.count, self.firsts) = (0, 0);
        for (at, &item) in all.items().iter().enumerate() {
            if is_meant(item.ppn) {
                taken.push(item);
            } else {
                self.causes[usize::from(self.count)] = all.causes[at];
                self.add(item.ppn, item.carried);
            }
        }
        taken
    }

    /// It programs so many wordlines.
    pub(super) fn set_wordlines(&mut self, wordlines: usize) {
        self.wordlines = wordlines as u8;
    }

    /// The number of wordlines that it programs, each on a plane of its own.
    pub(super) fn wordlines(&self) -> usize {
        usize::from(self.wordlines)
    }

    /// The cause of a page of any command.
    pub(super) fn cause_at(&self, at: usize) -> Cause {
        if self.is_mixed { self.cause_of(at) } else { self.cause }
    }

    /// The cause of a page of a mixed command.
    pub(super) fn cause_of(&self, at: usize) -> Cause {
        self.causes[at]
    }

    #[inline]
    pub(super) fn add(&mut self, ppn: Ppn, carried: Carried) {
        self.items[usize::from(self.count)] = Item { ppn, carried };
        self.count += 1;
        self.firsts = 0;
    }

    /// Adds pages.
    #[inline]
    pub(super) fn add_all(&mut self, pages: &[Ppn], carried: Carried) {
        let from = usize::from(self.count);
        for (item, &ppn) in self.items[from..from + pages.len()].iter_mut().zip(pages) {
            *item = Item { ppn, carried };
        }
        self.count += pages.len() as u8;
        self.firsts = 0;
    }

    /// Adds so many pages that follow each other.
    #[inline]
    pub(super) fn add_run(&mut self, first: Ppn, pages: u32, carried: Carried) {
        let (from, count) = (usize::from(self.count), pages as usize);
        for (item, at) in self.items[from..from + count].iter_mut().zip(first.0..) {
            *item = Item { ppn: Ppn(at), carried };
        }
        self.count += pages as u8;
        self.firsts = 0;
    }

    /// The command copies pages inside their planes: it is a program whose data are there. This is one of them.
    pub(super) fn add_copied(&mut self, from: Ppn, to: Ppn, carried: Carried) {
        self.is_copyback = true;
        self.sources[usize::from(self.count)] = from;
        self.add(to, carried);
    }

    #[inline]
    pub(super) fn kind(&self) -> OpKind {
        self.kind
    }

    /// The cause of the command; of a mixed command, the cause of its first page.
    #[inline]
    pub(super) fn cause(&self) -> Cause {
        self.cause
    }

    /// True if data are sent with it.
    #[inline]
    pub(super) fn has_data_in(&self) -> bool {
        self.kind == OpKind::Program && !self.is_copyback
    }

    /// Where the pages of a copyback are copied from, in the places of [`Command::items`]; nothing of other commands.
    #[inline]
    pub(super) fn sources(&self) -> &[Ppn] {
        &self.sources[..if self.is_copyback { usize::from(self.count) } else { 0 }]
    }

    /// Its kind as cache mode sees it.
    pub(super) fn cached(&self) -> Cached {
        Cached { kind: self.kind, copies: self.is_copyback }
    }

    /// The number of its pages.
    #[inline]
    pub(super) fn len(&self) -> usize {
        usize::from(self.count)
    }

    #[inline]
    pub(super) fn item(&self, at: usize) -> Item {
        self.items[at]
    }

    #[inline]
    pub(super) fn items(&self) -> &[Item] {
        &self.items[..usize::from(self.count)]
    }

    /// The number of pages in a row, the first of those places among them, that a domain's collection gets together: the page of a host
    /// is alone.
    #[inline]
    pub(super) fn pages_for(&self, carried: Carried, places: Range<usize>) -> usize {
        let Carried::Domain(domain) = carried else { return 1 };
        let is_other = |item: &Item| !matches!(item.carried, Carried::Domain(of) if of == domain);
        let items = &self.items[places];
        items.iter().position(is_other).unwrap_or(items.len())
    }

    /// The first page, whose address the others have to fit.
    #[inline]
    pub(super) fn lead(&self) -> Ppn {
        self.items[0].ppn
    }

    /// The addresses, in the places of [`Command::items`].
    #[inline]
    pub(super) fn ppns(&self) -> impl ExactSizeIterator<Item = Ppn> + Clone {
        self.items().iter().map(|item| item.ppn)
    }

    /// True if the host asked for it.
    #[inline]
    pub(super) fn is_of_host(&self) -> bool {
        matches!(self.cause, Cause::Host | Cause::Rmw | Cause::Pad)
    }

    /// A page of the command is of one flash page with another: that is read with it.
    #[inline]
    pub(super) fn brings(&self, geometry: &Geometry, ppn: Ppn) -> bool {
        geometry.parts > 1 && self.count > 0 && self.has_flash_page_of(geometry, ppn)
    }

    #[inline]
    fn has_flash_page_of(&self, geometry: &Geometry, ppn: Ppn) -> bool {
        let page = geometry.flash_page_around(ppn);
        // Most lie behind one another.
        self.items().iter().rev().any(|item| page.contains(&item.ppn.0))
    }

    /// The place of the first page of each flash page of the command.
    #[inline]
    pub(super) fn flash_pages(&self, geometry: &Geometry) -> Places {
        Places(if self.firsts != 0 { self.firsts } else { self.find_firsts(geometry) })
    }

    /// Has the flash pages known from now on, until a page is added.
    #[inline]
    pub(super) fn note_flash_pages(&mut self, geometry: &Geometry) {
        if self.firsts == 0 {
            self.firsts = self.find_firsts(geometry);
        }
    }

    /// By place a bit: the page is the first of its flash page. Likewise.
    #[inline]
    pub(super) fn set_firsts(&mut self, firsts: u64) {
        debug_assert!(firsts & 1 == 1 && firsts >> self.count == 0, "places of pages");
        self.firsts = firsts;
    }

    /// It programs whole flash pages.
    #[inline]
    pub(super) fn set_whole_pages(&mut self, parts: u32) {
        let (mut firsts, mut at) = (0, 0);
        while at < u32::from(self.count) {
            firsts |= 1 << at;
            at += parts;
        }
        self.firsts = firsts;
    }

    fn find_firsts(&self, geometry: &Geometry) -> u64 {
        let items = self.items();
        if items.len() == 1 {
            return 1;
        }
        // Most lie behind one another, and most flash pages behind all before.
        let (mut firsts, mut last, mut highest) = (0, 0..0, 0);
        for (at, &Item { ppn, .. }) in items.iter().enumerate() {
            if last.contains(&ppn.0) {
                continue;
            }
            last = geometry.flash_page_around(ppn);
            if last.start >= highest || !items[..at].iter().any(|item| last.contains(&item.ppn.0)) {
                firsts |= 1 << at;
            }
            highest = highest.max(last.end);
        }
        firsts
    }

    /// The first page of each flash page.
    #[inline]
    pub(super) fn first_parts<'a>(&'a self, geometry: &Geometry) -> impl Iterator<Item = Ppn> + Clone + use<'a> {
        self.flash_pages(geometry).map(|at| self.items[at].ppn)
    }

    /// The last page of each flash page, where the command has them as a whole.
    #[inline]
    pub(super) fn last_parts<'a>(&'a self, geometry: &Geometry) -> impl Iterator<Item = Ppn> + Clone + use<'a> {
        let geometry = *geometry;
        self.first_parts(&geometry).map(move |ppn| Ppn(geometry.flash_page_around(ppn).end - 1))
    }

    /// The last page of each row of a program that has them as a whole.
    #[inline]
    pub(super) fn last_of_rows<'a>(&'a self, geometry: &Geometry) -> impl Iterator<Item = Ppn> + Clone + use<'a> {
        let slots = geometry.row_slots() as usize;
        self.items().chunks_exact(slots).map(move |row| row[slots - 1].ppn)
    }

    /// The number of flash pages that it reads or programs, each on a plane of its own.
    pub(super) fn planes(&self, geometry: &Geometry) -> usize {
        if geometry.parts == 1 || self.count == 1 { self.len() } else { self.flash_pages(geometry).count() }
    }

    /// A page comes in its row behind all of the command's, which lie there one behind the other: it is of the last one's flash page, or
    /// on a plane that is not used yet.
    #[inline]
    pub(super) fn goes_on(&self, geometry: &Geometry, ppn: Ppn) -> bool {
        // Of a unit all pages from one on are placed: where others are of the command, it has fewer of these.
        ppn.0 == self.lead().0.wrapping_add(self.count.into()) && geometry.row_around(self.lead()).contains(&ppn.0)
    }

    /// True if a page is on the die, on a plane that the command does not use yet.
    #[inline]
    pub(super) fn is_new_plane(&self, geometry: &Geometry, die: Die, ppn: Ppn) -> bool {
        let row = geometry.row_around(ppn);
        if self.items().iter().all(|item| row.contains(&item.ppn.0)) {
            return !self.has_flash_page_of(geometry, ppn);
        }
        let plane = geometry.place(ppn).plane;
        plane / geometry.planes_per_die == die.number()
            && self.items().iter().all(|item| geometry.place(item.ppn).plane != plane)
    }
}

#[cfg(test)]
mod tests {
    use base::Dimensions;
    use engine::Chance;

    use super::*;

    /// Against each page compared with all before it, in order and in none.
    #[test]
    fn flash_pages_are_those_of_a_plain_search() {
        let geometry =
            Geometry::new(Dimensions { planes_per_die: 4, pages_per_block: 24, parts: 3, ..Dimensions::ONE_PAGE });
        let mut random = Chance::new(1, "flash pages");
        for number in 0..2_000 {
            let mut command = Command::NONE;
            command.begin(OpKind::Read, Cause::Host);
            let first = random.below_u32(90);
            for at in 0..1 + random.below_u32(16) {
                let ppn = if number % 2 == 0 { first / 2 + at } else { random.below_u32(96) };
                command.add(Ppn(ppn.min(95)), Carried::Domain(Domain::new(0)));
            }
            let of = |at: usize| geometry.flash_page_of(command.item(at).ppn);
            let plain = (0..command.len()).filter(|&at| (0..at).all(|before| of(before) != of(at)));
            assert!(command.flash_pages(&geometry).eq(plain.clone()));
            assert_eq!(command.planes(&geometry), plain.count());
        }
    }
}
