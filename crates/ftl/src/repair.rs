//! A program that failed: its page and the lower pages of its wordline are written elsewhere.
//!
//! The unit takes no more pages. Where blocks fail for good it is emptied and retired (`mechanism/retirement/`); else a failure is taken
//! as transient, and the unit is emptied like any other and used again. Where pages wait for others to be programmed with them, all that
//! wait in the unit go elsewhere. A page goes elsewhere until a program of it succeeds, as long as there is a free unit.

use base::{Cause, Domain, Lpn, OpKind, Ppn, Unit};

use crate::group::Group;
use crate::kernel::{Frontier, Keeping, Kept, Saved, Stream};
use crate::mechanism::Mechanisms;
use crate::ops::{DataSource, Op, PagePayload, Rewriter, Rewritten, Step};
use crate::page::PageMap;
use crate::victim::UnitState;

/// A page that has to be written elsewhere.
#[derive(Clone, Copy, Debug)]
struct Hurt {
    lpn: Lpn,
    /// Where the map has it.
    at: Ppn,
    /// Where its data are left.
    source: DataSource,
    /// Of a copy: where it was copied from.
    original: Option<Ppn>,
}

impl<M: Mechanisms> PageMap<M> {
    /// Deals with the failed program of a page, whose data are there.
    pub(crate) fn repair(&mut self, at: Ppn, source: DataSource, array: &mut impl Rewriter) {
        let original = if let DataSource::Page(from) = source { Some(from) } else { None };
        self.repair_copy(at, source, original, array);
    }

    /// Deals with the failed program of a page that was copied from `original`, though its data are left elsewhere by now.
    fn repair_copy(&mut self, at: Ppn, source: DataSource, original: Option<Ppn>, array: &mut impl Rewriter) {
        let unit = self.kernel.geometry().unit_of(at);
        let domain = self.kernel.geometry().domain_of_unit(unit);
        self.kernel.pass_on(at);
        if self.mechanisms.failed(&self.kernel, domain, at) {
            self.wears_out(unit, OpKind::Program);
            return self.look_for_room(domain);
        }
        let mut hurt = self.hurt_with(array.held());
        let mut below: Vec<Hurt> = self.hurt_with(array.lost_in(unit));
        below.retain(|page| hurt.iter().all(|known| known.at != page.at));
        for page in &mut below {
            page.source = self.covered(domain, page.at).unwrap_or(page.source);
        }
        // What is covered comes to lie below what is not.
        let is_by_row = self.kernel.geometry().parts > 1 && self.mechanisms.parts().covers.is_some();
        if !is_by_row {
            hurt.append(&mut below);
        }
        if hurt.is_empty() && below.is_empty() {
            hurt = self.hurt_below(domain, at);
            hurt.extend(self.kernel.lpn_at(at).map(|lpn| Hurt { lpn, at, source, original }));
        }
        self.make_map_whole(&mut hurt);
        let stream = self.kernel.stream_of(unit);
        if self.kernel.frontier(domain, stream).is_some_and(|frontier| frontier.unit == unit) {
            self.leave_block(domain, stream);
        } else {
            self.mechanisms.sealed(&self.kernel, domain, unit);
        }
        self.wears_out(unit, OpKind::Program);
        if !below.is_empty() {
            below.into_iter().for_each(|page| self.write_anew(domain, stream, page, array));
            self.end_row(domain, stream, array);
        }
        for page in hurt {
            self.write_anew(domain, stream, page, array);
        }
        self.look_for_room(domain);
    }

    fn look_for_room(&mut self, domain: Domain) {
        if let Some(retirement) = self.mechanisms.parts_mut().retirement {
            retirement.look_for_room(&self.kernel, domain);
        }
    }

    /// Fills the row up in which an active block stands, where rows are programmed as a whole.
    pub(crate) fn end_row(&mut self, domain: Domain, stream: Stream, array: &mut impl Rewriter) {
        let geometry = *self.kernel.geometry();
        let stands_in_row = |frontier: Frontier| geometry.parts > 1 && geometry.row_of_slot(frontier.slot).1 != 0;
        while self.kernel.frontier(domain, stream).is_some_and(stands_in_row) {
            let (at, tag) = self.place_pad(domain, stream);
            let dummy = self.announced(at, PagePayload::Nothing, tag);
            if !array.combined(Cause::Pad, &[], dummy) {
                self.repair(at, DataSource::Controller, array);
            }
        }
    }

    /// Writes a page elsewhere, unless that was done when another program failed.
    fn write_anew(&mut self, domain: Domain, stream: Stream, page: Hurt, array: &mut impl Rewriter) {
        let Hurt { lpn, at, source, original } = page;
        // Of several wordlines there may be guard pages between them.
        while let Some(guard) = self.place_guard(domain, stream) {
            if !array.combined(Cause::Backup, &[], guard) {
                self.repair(guard.at, DataSource::Controller, array);
            }
        }
        if self.kernel.lookup(lpn) != Some(at) {
            return;
        }
        if self.puts_at_risk(domain, stream) {
            self.leave_block(domain, stream);
        }
        let original = if let DataSource::Page(from) = source { Some(from) } else { original };
        if self.has_no_place(domain, stream) {
            return self.leave(Hurt { original, ..page }, array.original_of(at));
        }
        let placed = self.rewrite(domain, stream, lpn, source);
        match array.rewritten(Cause::Backup, source, placed) {
            Rewritten::Done => {}
            Rewritten::Lost => self.lose(lpn),
            Rewritten::Failed => self.repair_copy(placed.at, DataSource::PageBuffer(placed.at), original, array),
            Rewritten::LostAndFailed => {
                // It goes elsewhere no more, unless it is a page of the map.
                self.lose(lpn);
                self.repair(placed.at, DataSource::PageBuffer(placed.at), array);
            }
        }
    }

    /// Where blocks fail for good: the program of the next page of an active block would put others at risk that nothing covers, should it
    /// fail as well.
    fn puts_at_risk(&mut self, domain: Domain, stream: Stream) -> bool {
        if !self.guards_pages || self.mechanisms.parts().retirement.is_none() || self.kernel.free(domain) == 0 {
            return false;
        }
        let Some(Frontier { unit, slot }) = self.kernel.frontier(domain, stream) else { return false };
        let geometry = self.kernel.geometry();
        if geometry.parts > 1 && geometry.row_of_slot(slot).1 != 0 {
            // It is programmed with others of its row, which are covered.
            return false;
        }
        let (at, mut group) = (geometry.ppn(unit, slot), Group::EMPTY);
        self.mechanisms.before_page(&mut self.kernel, domain, at, &mut group).is_some()
    }

    /// Where blocks fail for good: below the next page of an active block lies what nothing covers and nothing can, so that the block is
    /// left, unless no other one is free. After a failed program a copy may have come there whose original was erased since.
    pub(crate) fn is_to_leave(&mut self, domain: Domain, next: Ppn) -> bool {
        if self.mechanisms.parts().retirement.is_none() || self.kernel.free(domain) < 2 {
            return false;
        }
        let geometry = self.kernel.geometry();
        let is_in_row = geometry.parts > 1 && geometry.row_of_slot(geometry.unit_and_slot(next).1).1 != 0;
        let mut group = Group::EMPTY;
        !is_in_row && self.mechanisms.before_page(&mut self.kernel, domain, next, &mut group) == Some(Op::Pad)
    }

    /// An active block takes no more pages, though it is not full.
    pub(crate) fn leave_block(&mut self, domain: Domain, stream: Stream) {
        if let Some(Frontier { unit, slot }) = self.kernel.frontier(domain, stream) {
            self.left.insert(unit, slot);
        }
        self.seal(domain, stream);
    }

    /// Has a device state say of blocks that were left how far they are filled.
    pub(crate) fn save_left(&self, saved: &mut Saved<'_>) {
        for (&unit, &filled) in &self.left {
            match saved.kept.iter_mut().find(|kept| kept.unit == unit) {
                Some(kept) => kept.filled = filled,
                None => saved.kept.push(Kept { unit, how: Keeping::Sealed, filled }),
            }
        }
    }

    /// Takes over what a device state says of that.
    pub(crate) fn restore_left(&mut self, saved: &Saved<'_>) {
        let end = self.kernel.geometry().end_slot();
        let is_left = |kept: &&Kept| matches!(kept.how, Keeping::Sealed | Keeping::InWork) && kept.filled < end;
        self.left = saved.kept.iter().filter(is_left).map(|kept| (kept.unit, kept.filled)).collect();
    }

    /// True if so many units have failed that there is no place for a page.
    pub(crate) fn has_no_place(&self, domain: Domain, stream: Stream) -> bool {
        self.mechanisms.parts().retirement.is_some()
            && !self.kernel.is_open(domain, stream)
            && self.kernel.free(domain) == 0
    }

    /// There is no place for a page: a copy stays where it was copied from, one that has a backup is there, and anything else is lost.
    #[cold]
    fn leave(&mut self, Hurt { lpn, at, original, .. }: Hurt, held: Option<Ppn>) {
        self.exhaust();
        let state = |from: &Ppn| self.kernel.state_of(self.kernel.geometry().unit_of(*from));
        let from = original.or(held).filter(|from| matches!(state(from), UnitState::Collecting | UnitState::Aside));
        match from {
            Some(from) if !self.kernel.is_of_map(lpn) => self.kernel.return_copy(lpn, at, from),
            _ => self.lose(lpn),
        }
    }

    #[cold]
    fn exhaust(&mut self) {
        if let Some(retirement) = self.mechanisms.parts_mut().retirement {
            retirement.exhaust();
        }
    }

    /// There is no place for a page that is brought back: it is where its backup is, and what a parity has is lost.
    #[cold]
    pub(crate) fn leave_backed_up(&mut self, lpn: Lpn, sources: &[Ppn]) {
        self.exhaust();
        if self.kernel.is_mapped(lpn) {
            self.lose(lpn);
        }
        match *sources {
            [backup] => self.kernel.adopt_page(lpn, backup),
            _ => drop(self.lost.insert(lpn)),
        }
    }

    /// The data of a page are lost. A page of the map has its place all the same: what it says is in the spare areas of the
    /// others, from which it is made.
    fn lose(&mut self, lpn: Lpn) {
        self.mechanisms.lost(&mut self.kernel, lpn);
        if !self.kernel.is_of_map(lpn) {
            self.kernel.forget(lpn);
            self.lost.insert(lpn);
        }
    }

    /// The data of a page of the host are known to be lost, though an older version of it may be mapped.
    pub(crate) fn lose_page(&mut self, lpn: Lpn, write: u64) {
        // Those to come have higher numbers.
        self.kernel.adopt_numbers(write, 0);
        if self.kernel.is_mapped(lpn) {
            self.lose(lpn);
        } else {
            self.lost.insert(lpn);
        }
    }

    /// The page at a place cannot be corrected. Returns whether data of the host are lost with it.
    pub(crate) fn lose_at(&mut self, at: Ppn) -> bool {
        let Some(lpn) = self.kernel.lpn_at(at) else { return false };
        self.lose(lpn);
        !self.kernel.is_of_map(lpn)
    }

    /// True for a page whose data were lost, and that was neither written nor trimmed since.
    pub(crate) fn is_lost(&self, lpn: Lpn) -> bool {
        self.lost.contains(&lpn) && !self.kernel.is_mapped(lpn)
    }

    /// The valid ones of pages that waited for each other. The unit takes no more pages, so none of them comes to be programmed there.
    fn hurt_with(&self, held: Vec<Ppn>) -> Vec<Hurt> {
        let hurt =
            |at| Some(Hurt { lpn: self.kernel.lpn_at(at)?, at, source: DataSource::PageBuffer(at), original: None });
        held.into_iter().filter_map(hurt).collect()
    }

    /// Pages of the map go elsewhere as a whole, also where a part of one is programmed already.
    fn make_map_whole(&self, hurt: &mut Vec<Hurt>) {
        let Some(map) = self.mechanisms.parts().map.filter(|map| map.has_parts()) else { return };
        if hurt.first().is_none_or(|page| !self.kernel.is_of_map(page.lpn)) {
            // A unit has pages of the map alone, or none.
            return;
        }
        let parts: Vec<Lpn> = hurt.iter().flat_map(|page| map.parts_with(page.lpn)).collect();
        for lpn in parts {
            if let Some(at) = self.kernel.lookup(lpn)
                && hurt.iter().all(|known| known.at != at)
            {
                hurt.push(Hurt { lpn, at, source: DataSource::Page(at), original: None });
            }
        }
        hurt.sort_by_key(|page| page.lpn);
    }

    /// Where a protection has the data of a page.
    fn covered(&self, domain: Domain, at: Ppn) -> Option<DataSource> {
        self.mechanisms.parts().covers.and_then(|covers| covers.elsewhere(domain, at))
    }

    /// The valid lower pages of a page's wordline, and where their data are left.
    fn hurt_below(&self, domain: Domain, at: Ppn) -> Vec<Hurt> {
        let (unit, slot) = self.kernel.geometry().unit_and_slot(at);
        let below = slot.all_before().filter(|&lower| self.kernel.wordlines().share(lower, slot));
        let pages = below.map(|lower| self.kernel.geometry().ppn(unit, lower));
        pages
            .filter_map(|at| {
                let lpn = self.kernel.lpn_at(at)?;
                let source = self.covered(domain, at).unwrap_or(DataSource::PageBuffer(at));
                Some(Hurt { lpn, at, source, original: None })
            })
            .collect()
    }
}

// Blocks that fail for good.
impl<M: Mechanisms> PageMap<M> {
    /// A program or an erase of a unit has failed: where that is for good, the unit is retired with its next erase.
    pub(crate) fn wears_out(&mut self, unit: Unit, kind: OpKind) {
        let domain = self.kernel.geometry().domain_of_unit(unit);
        if self.mechanisms.parts().retirement.is_none() {
            return;
        }
        let is_kept = self.mechanisms.fails(&mut self.kernel, domain, unit);
        if let Some(retirement) = self.mechanisms.parts_mut().retirement {
            retirement.wears_out(&mut self.kernel, (domain, unit), kind, is_kept);
        }
    }

    /// There are places for what a step programs. If not, the device has come to its end: units have failed that its room was to come
    /// from.
    #[cold]
    pub(crate) fn has_places(&mut self, domain: Domain, step: Option<Step>, group: &Group) -> bool {
        let (pages, stream) = match step {
            Some(Step { op: Op::Move(_), .. }) => (group.pages().len() as u32 + u32::from(group.rest), group.stream),
            Some(Step { op: Op::Pad, .. }) => (1, group.stream),
            Some(Step { op: Op::Combine, cause: Cause::Mapping }) => {
                (1 + u32::from(group.rest), self.kernel.streams().of_map())
            }
            _ => (0, group.stream),
        };
        let geometry = self.kernel.geometry();
        let open = self.kernel.frontier(domain, stream).map_or(0, |frontier| geometry.slots_left(frontier.slot));
        // What is set aside in place of an erased unit is free before, as that may fail.
        let is_replaced = matches!(step, Some(Step { op: Op::Erase(unit), .. }) if self.is_aside(unit));
        let has_places = open + self.kernel.free(domain) * geometry.unit_slots() >= pages
            && !(is_replaced && self.kernel.free(domain) == 0);
        if !has_places {
            self.exhaust();
        }
        has_places
    }

    /// A read-only device still reads the pages of the map that the host's reads need.
    #[cold]
    pub(crate) fn fetch_at_the_end(&mut self, domain: Domain, group: &mut Group) -> Option<Step> {
        group.clear();
        self.mechanisms.parts_mut().map?.fetch_at_the_end(&mut self.kernel, domain, group)
    }

    /// True if a unit is retired with its next erase.
    #[inline]
    pub(crate) fn retires(&self, domain: Domain, unit: Unit) -> bool {
        self.mechanisms.parts().retirement.is_some_and(|retirement| retirement.retires(domain, unit))
    }

    /// True if the device takes no more pages, and does nothing by itself.
    #[inline(always)]
    pub(crate) fn is_read_only(&self) -> bool {
        self.mechanisms.parts().retirement.is_some_and(|retirement| retirement.is_read_only())
    }
}
