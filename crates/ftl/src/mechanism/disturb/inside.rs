//! Units whose pages stay: read-hot units that are reprogrammed, shadow units whose pages move on inside them.
//!
//! Reprogramming a unit takes two steps: the pages that lose their place move out, then wordline after wordline is
//! reprogrammed. Under a protection of paired pages their new wordlines are filled up in between, since the old pages cover
//! them. So nothing is lost if the power goes off in between, or in the middle of a reprogram: the top page's data are
//! elsewhere, and a cell that stays between two levels still tells its lower bits, since both levels agree in them.

use base::{Cause, Cell, Domain, Ppn, Slot, Unit};

use super::refresh::RefreshWork;
use super::{AXIS, Disturb, HOT, INSIDE, stream_inside};
use crate::group::Group;
use crate::kernel::{Frontier, Kernel, Stream};
use crate::mechanism::OwnWork;
use crate::ops::{Op, Step};

/// The refresh of a unit that stays in use.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    pub(super) unit: Unit,
    /// The class of pages that move.
    pub(super) class: usize,
    /// Slots before this one are used.
    end: Slot,
    /// Which pages move.
    moves: Moves,
    /// True if wordlines are reprogrammed then.
    pub(super) reprograms: bool,
    /// Also those in which nothing is valid.
    all_wordlines: bool,
    /// Slots before this one have moved.
    cursor: Slot,
    /// Wordlines whose top page is before this slot are done.
    line: Slot,
    /// The top page of the wordline in hand, or done last: that its program failed is heard after it was placed.
    pub(super) top: Option<Ppn>,
    /// True if a program failed: all pages move out.
    pub(super) is_broken: bool,
    /// The reads of the unit's blocks when it began, where pages move inside it.
    reads_before: Vec<u32>,
}

/// Which pages of a unit move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moves {
    /// Top pages, of which nothing is left once their wordline has guard levels, and pages of wordlines that are not complete.
    Tops,
    /// Pages of wordlines that are not complete.
    Incomplete,
    /// All that lie before its end.
    All,
}

impl Inside {
    fn new(unit: Unit, end: Slot, class: usize, moves: Moves) -> Inside {
        Inside {
            unit,
            class,
            end,
            moves,
            reprograms: moves == Moves::Tops,
            all_wordlines: false,
            cursor: Slot::FIRST,
            line: Slot::FIRST,
            top: None,
            is_broken: false,
            reads_before: Vec::new(),
        }
    }

    /// A read-hot unit becomes one of low density.
    pub(super) fn reprogramming(unit: Unit, end: Slot, class: usize, all_wordlines: bool) -> Inside {
        Inside { all_wordlines, ..Inside::new(unit, end, class, Moves::Tops) }
    }

    /// A unit with guard levels that was closed before it was full is of low density from now on.
    pub(super) fn keeping(unit: Unit, end: Slot, class: usize) -> Inside {
        Inside::new(unit, end, class, Moves::Incomplete)
    }

    /// The pages of a shadow unit move on inside it.
    pub(super) fn moving_on(unit: Unit, end: Slot, reads: Vec<u32>) -> Inside {
        Inside { reads_before: reads, ..Inside::new(unit, end, INSIDE, Moves::All) }
    }

    /// The unit is in work: its pages can move inside it.
    pub(super) fn open(&self, kernel: &mut Kernel, domain: Domain) {
        if self.class == INSIDE {
            let frontier = Frontier { unit: self.unit, slot: self.end };
            kernel.fill_in_work(domain, stream_inside(kernel), Some(frontier));
        }
    }

    fn has_to_move(&self, kernel: &Kernel, slot: Slot) -> bool {
        match self.moves {
            Moves::All => true,
            Moves::Tops => kernel.wordlines().is_top(slot) || !is_complete(kernel, slot, self.end),
            Moves::Incomplete => !is_complete(kernel, slot, self.end),
        }
    }

    /// The next page that moves, if one is left.
    pub(super) fn next_move(&self, kernel: &Kernel) -> Option<Slot> {
        self.moves_from(kernel, self.cursor).next()
    }

    /// The pages that move, from a slot on.
    fn moves_from(&self, kernel: &Kernel, from: Slot) -> impl Iterator<Item = Slot> {
        let slots = kernel.geometry().slots_from(from).take_while(|&slot| slot < self.end);
        slots.filter(|&slot| kernel.is_valid(kernel.geometry().ppn(self.unit, slot)) && self.has_to_move(kernel, slot))
    }

    /// The next page that moves, and the others of its flash page that do.
    pub(super) fn next_moves(&self, kernel: &Kernel) -> impl Iterator<Item = Ppn> {
        let geometry = *kernel.geometry();
        let first = self.next_move(kernel);
        let pages = first.into_iter().flat_map(|first| self.moves_from(kernel, first));
        let pages = pages.map(move |slot| geometry.ppn(self.unit, slot));
        let is_with_first = move |page: &Ppn| {
            let first = first.map(|first| geometry.ppn(self.unit, first));
            first.is_some_and(|first| geometry.flash_page_of(first) == geometry.flash_page_of(*page))
        };
        pages.take_while(is_with_first)
    }

    /// The top page of the next wordline to be reprogrammed.
    fn next_line(&self, kernel: &Kernel) -> Option<Slot> {
        if !self.reprograms {
            return None;
        }
        let slots = kernel.geometry().slots_from(self.line).take_while(|&slot| slot < self.end);
        let mut tops = slots.filter(|&slot| kernel.wordlines().is_top(slot));
        tops.find(|&top| self.all_wordlines || has_valid_lower(kernel, self.unit, top))
    }

    /// Reads of the unit's blocks that are still to come.
    pub(super) fn reads_left(&self, kernel: &Kernel, cell: Cell) -> u32 {
        let pages = kernel.geometry().pages_per_block;
        if !self.reprograms {
            return kernel.valid_of(self.unit).min(pages);
        }
        let tops = |from: Slot| {
            let slots = kernel.geometry().slots_from(from).filter(|&slot| kernel.wordlines().is_top(slot));
            slots.count() as u32 / kernel.geometry().unit_width.max(1)
        };
        // What is read of the wordline in hand is counted once more until it is done.
        tops(self.cursor) + tops(self.line) * cell.bits()
    }

    /// True if a page is the top page in hand.
    pub(super) fn is_at(&self, at: Ppn) -> bool {
        self.top == Some(at)
    }
}

/// True if a slot is in a wordline that is complete, where those before `end` are used.
fn is_complete(kernel: &Kernel, slot: Slot, end: Slot) -> bool {
    let mut tops = kernel.geometry().slots_from(slot).filter(|&top| kernel.wordlines().is_top(top));
    let top = tops.find(|&top| kernel.wordlines().share(slot, top));
    top.is_some_and(|top| kernel.geometry().last_part(top) < end)
}

/// A stream of read-hot pages whose active block has a wordline that is not complete.
fn incomplete(kernel: &Kernel, domain: Domain) -> Option<Stream> {
    let mut streams = kernel.streams().all_of_data().filter(|&stream| kernel.streams().class(stream, AXIS) == HOT);
    streams.find(|&stream| {
        let Some(Frontier { slot: next, .. }) = kernel.frontier(domain, stream) else { return false };
        let mut tops = kernel.geometry().slots_from(next).filter(|&slot| kernel.wordlines().is_top(slot));
        tops.any(|top| next.all_before().any(|lower| kernel.wordlines().share(lower, top)))
    })
}

/// True if something is valid in the wordline of a top page, besides it.
fn has_valid_lower(kernel: &Kernel, unit: Unit, top: Slot) -> bool {
    lowers(kernel, top).any(|lower| kernel.is_valid(kernel.geometry().ppn(unit, lower)))
}

/// The lower pages of the wordline of a top page.
fn lowers(kernel: &Kernel, top: Slot) -> impl Iterator<Item = Slot> + '_ {
    top.all_before().filter(move |&lower| kernel.wordlines().share(lower, top))
}

impl Disturb {
    /// True if something is valid in a wordline of a unit that is not complete: it has no guard levels.
    pub(super) fn holds_incomplete(&self, kernel: &Kernel, unit: Unit) -> bool {
        let end = self.states.of(unit).end;
        let mut valid = end.all_before().filter(|&slot| kernel.is_valid(kernel.geometry().ppn(unit, slot)));
        valid.any(|slot| !is_complete(kernel, slot, end))
    }

    /// The next step of a refresh whose unit stays in use; nothing if it is that of any collection.
    pub(super) fn go_on(&mut self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<OwnWork> {
        let Some(RefreshWork::Inside(work)) = &mut self.domains[domain.index()].work else { return None };
        if work.is_broken {
            return Some(self.move_out(kernel, domain));
        }
        if let Some(slot) = work.next_move(kernel) {
            work.cursor = slot;
            return Some(OwnWork::Move);
        }
        work.cursor = kernel.geometry().end_slot();
        let next = work.next_line(kernel);
        if next.is_some()
            && self.guards_pages
            && let Some(stream) = incomplete(kernel, domain)
        {
            // What moved out is covered by the page that it came from, and that is about to go.
            group.stream = stream;
            return Some(OwnWork::Act(Step::new(Op::Pad, Cause::Refresh)));
        }
        if let Some(top) = next {
            // Of several pages in a flash page the last one stands for all.
            let at = kernel.geometry().ppn(work.unit, kernel.geometry().last_part(top));
            for lower in lowers(kernel, top) {
                group.push(kernel.geometry().ppn(work.unit, lower));
            }
            group.push(at);
            (work.top, work.line) = (Some(at), top);
            return Some(OwnWork::Act(Step::new(Op::Reprogram, Cause::Refresh)));
        }
        if kernel.valid_of(work.unit) > 0 {
            return Some(OwnWork::Move);
        }
        let fills = self.fills_up_inside(kernel, domain, group).map(OwnWork::Act);
        fills.or_else(|| Some(self.move_out(kernel, domain)))
    }

    /// The dummy page that a unit still gets which is filled by its own pages, before that ends.
    pub(super) fn fills_up_inside(&self, kernel: &mut Kernel, domain: Domain, group: &mut Group) -> Option<Step> {
        let Some(RefreshWork::Inside(Inside { class: INSIDE, .. })) = &self.domain(domain).work else { return None };
        let stream = stream_inside(kernel);
        if !kernel.is_to_fill_up(domain, stream) {
            return None;
        }
        group.stream = stream;
        Some(Step::new(Op::Pad, Cause::Pad))
    }

    /// The wordline in hand has its guard levels.
    pub(super) fn line_done(&mut self, kernel: &Kernel, domain: Domain) {
        if let Some(RefreshWork::Inside(work)) = &mut self.domains[domain.index()].work
            && let Some(top) = work.top
        {
            work.line = kernel.geometry().unit_and_slot(top).1.next();
        }
    }

    /// A program failed in a unit that was to stay, or nothing is left in it: it ends as any other.
    fn move_out(&mut self, kernel: &mut Kernel, domain: Domain) -> OwnWork {
        let unit = self.close_inside(kernel, domain);
        self.discount_kept(domain, unit);
        self.domain_mut(domain).work = Some(RefreshWork::All(unit, HOT));
        OwnWork::Changed
    }

    /// Ends the filling of a unit by its own pages.
    fn close_inside(&mut self, kernel: &mut Kernel, domain: Domain) -> Unit {
        let Some(RefreshWork::Inside(work)) = &self.domain(domain).work else {
            unreachable!("a unit whose pages stay")
        };
        let (unit, class) = (work.unit, work.class);
        if class == INSIDE {
            kernel.fill_in_work(domain, stream_inside(kernel), None);
        }
        unit
    }

    /// Ends work inside a unit that is done: the unit is in use again, for more reads.
    pub(super) fn end_inside(&mut self, kernel: &mut Kernel, domain: Domain) {
        let unit = self.close_inside(kernel, domain);
        let Some(RefreshWork::Inside(work)) = self.domain_mut(domain).work.take() else { unreachable!("just closed") };
        kernel.keep_in_use(domain);
        let (clock, reads) = (self.clock, self.counters.of_unit(unit));
        let restarts = work.all_wordlines && work.end == kernel.geometry().end_slot();
        let state = self.states.of_mut(unit);
        state.is_withheld = true;
        if work.class == INSIDE {
            state.rounds += 1;
            self.counters.start_from(unit, &work.reads_before);
        } else {
            state.is_low = true;
            (state.kept_since, state.reads_then) = (clock, reads);
        }
        if work.reprograms {
            if restarts {
                let reads = self.counters.marks(unit);
                self.counters.start_from(unit, &reads);
            }
            let state = self.states.of_mut(unit);
            state.reprograms += 1;
            let cycles = kernel.erases()[unit.index()] + 1;
            let all = state.reprograms + state.reprograms_before;
            let thousandths = self.limits.wear.thousandths(all, cycles).saturating_sub(1000);
            kernel.note_wear(unit, thousandths as i32);
        }
        self.look_anew(kernel, unit);
    }
}
