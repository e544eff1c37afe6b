//! Twin blocks: the blocks of one offset on all planes of a die as one reclaim unit (TBM, section 5).
//!
//! Slots of such a unit run through the planes first, so an active block is the paper's "write-frontier TBU" with
//! its current page index (slot / planes) and its round robin over the planes (slot mod planes). What is
//! particular is how a collection picks pages: valid pages of one offset in several planes ("same index")
//! go to one offset again, so that they can still be read by one multi-plane command. With several pages in a flash page the valid
//! pages of a row move together, wherever the frontier stands: rows are programmed as a whole, whichever pages they are made of.

use std::ops::Range;

use base::scope::{Area, Scope, Scoped};
use base::{Domain, Geometry, Lpn, Page, Ppn, Selection, Slot, Unit};

use super::{Agenda, Picked, Placing, Planned, Reported, Restart};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{Job, Kernel, Needs, Stream};
use crate::{Bytes, OutOfMemory, Policies};

/// A victim with fewer invalid pages, in multiples of its width, is never padded: room must be gained.
const PAD_MIN_INVALID_ROWS: u32 = 4;

/// The parameters of the reclaim unit.
#[derive(Clone)]
pub(crate) struct Twin {
    /// True if a collection ends with dummy pages up to the next page offset.
    pad: bool,
    /// True if pages that are the only valid one of their offset move together.
    gathers: bool,
    /// How near its threshold, as a fraction of it, another die of the chip is collected along.
    neighbours: f64,
}

impl Twin {
    fn new(reclaim_unit: &Selection) -> Twin {
        if reclaim_unit.name == "twin" {
            Twin {
                pad: reclaim_unit.flag("pad"),
                gathers: reclaim_unit.word("lone") == "gather",
                neighbours: reclaim_unit.number("neighbours"),
            }
        } else {
            Twin { pad: false, gathers: true, neighbours: 0.0 }
        }
    }
}

impl Planned for Twin {
    fn needs(_: &Policies<'_>, geometry: &Geometry) -> Option<Needs> {
        (geometry.unit_width > 1).then_some(Needs::NONE)
    }

    fn bytes(_: &Policies<'_>, _: &Geometry, _: u64, _: bool) -> Bytes {
        Bytes::default()
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Twin>, OutOfMemory> {
        Ok((kernel.geometry().unit_width > 1).then(|| Twin::new(policies.reclaim_unit)))
    }
}

impl Placing for Twin {}

impl Agenda for Twin {
    /// Other dies of the chip (TBM section 5.2).
    fn neighbours(&self, kernel: &Kernel, domain: Domain, along: &mut Vec<Domain>) {
        if self.neighbours == 0.0 {
            return;
        }
        let dies = kernel.geometry().dies_per_chip;
        let first = domain.number() / dies * dies;
        let others = (first..first + dies).map(Domain::new).filter(|&other| other != domain);
        along.extend(others.filter(|&other| self.is_near(kernel, other)));
    }

    /// The next pages to move of a victim that has any.
    ///
    /// With the frontier at the first plane of an offset: the next offset of the victim with two or more
    /// valid pages, as it is; when none is left, lone pages, gathered up to a full offset or one at a time. With the
    /// frontier between planes: lone pages that fill the offset up; failing these, as many pages of the next offset
    /// as fit, which are then out of step. Pages of a group share a stream: that of the victim's next page.
    #[inline]
    fn pick(
        &self,
        kernel: &Kernel,
        domain: Domain,
        job: &mut Job,
        stream_of: &dyn Fn(Lpn) -> Stream,
        group: &mut Group,
    ) -> Option<Picked> {
        let pick = Pick::new(kernel, domain, job, stream_of);
        if kernel.geometry().parts > 1 {
            pick.into_row(job, group)
        } else {
            pick.into_group(self, job, group)
        }
        (!group.pages().is_empty()).then_some(Picked::Group)
    }
}

impl Restart for Twin {}

impl Reported for Twin {}

impl Twin {
    /// True if the free pages of a domain exceed its threshold by little.
    fn is_near(&self, kernel: &Kernel, domain: Domain) -> bool {
        let slots = kernel.geometry().unit_slots();
        let threshold = f64::from(kernel.budget().reserve * slots);
        let open =
            kernel.frontier(domain, Stream::FIRST).map_or(0, |frontier| kernel.geometry().slots_left(frontier.slot));
        let free_pages = f64::from(kernel.free(domain) * slots + open);
        free_pages <= threshold * (1.0 + self.neighbours)
    }
}

/// The choice of a group.
struct Pick<'a> {
    kernel: &'a Kernel,
    unit: Unit,
    /// Its first page.
    first: Ppn,
    /// The stream of the pages, and what tells it; nothing where copies have but one.
    stream: Option<(Stream, &'a dyn Fn(Lpn) -> Stream)>,
    /// The plane at which the stream's active block stands.
    lane: u32,
}

impl<'a> Pick<'a> {
    fn new(kernel: &'a Kernel, domain: Domain, job: &Job, stream_of: &'a dyn Fn(Lpn) -> Stream) -> Pick<'a> {
        let splits = kernel.streams().split_victims() && !kernel.holds_map(job.unit);
        let stream = if kernel.streams().count() == 1 {
            Stream::FIRST
        } else if kernel.holds_map(job.unit) {
            kernel.streams().of_map()
        } else if splits || kernel.streams().depend_on_victim() {
            let next = kernel.next_valid(job.unit, job.cursor).or_else(|| kernel.next_valid(job.unit, Slot::FIRST));
            let next = next.and_then(|slot| kernel.lpn_at(kernel.geometry().ppn(job.unit, slot)));
            next.map_or(Stream::FIRST, stream_of)
        } else {
            // All pages of data go to one, whichever is asked for.
            stream_of(Lpn(0))
        };
        let lane = kernel.frontier(domain, stream).map_or(0, |frontier| kernel.geometry().lane_of_slot(frontier.slot));
        let first = kernel.geometry().ppn(job.unit, Slot::FIRST);
        Pick { kernel, unit: job.unit, first, stream: splits.then_some((stream, stream_of)), lane }
    }

    fn into_group(self, twin: &Twin, job: &mut Job, group: &mut Group) {
        let width = self.kernel.geometry().unit_width;
        let room = (width - self.lane) as usize;
        let room_of_lone = if twin.gathers { room } else { 1 };
        if self.lane == 0 {
            self.take_offset(job, room, group);
        }
        if group.pages().is_empty() {
            self.take_lone_pages(job, room_of_lone, group);
        }
        if group.pages().is_empty() {
            self.take_offset(job, room, group);
        }
        if group.pages().is_empty() {
            // What is left lies behind the cursors: pages of offsets that lost a page or were split.
            (job.cursor, job.lone_cursor) = (Slot::FIRST, Slot::FIRST);
            self.take_lone_pages(job, room_of_lone, group);
            if group.pages().is_empty() {
                self.take_offset(job, room, group);
            }
        }
        self.add_pads(twin.pad, job, group);
    }

    /// The pages of the next row that has any; of the first one, if those that are left lie behind the cursor.
    fn into_row(self, job: &mut Job, group: &mut Group) {
        let geometry = self.kernel.geometry();
        let Some(first) = self.next_wanted(job.cursor).or_else(|| self.next_wanted(Slot::FIRST)) else { return };
        job.cursor = first;
        let first = geometry.ppn(self.unit, first);
        let pages = first.0..geometry.row_around(first).end;
        for (page, held) in pages.clone().zip(self.kernel.lpns_from(first, pages.len() as u32)) {
            if self.is_wanted(held) {
                group.push(Ppn(page));
            }
        }
    }

    /// Up to `room` pages of the next offset that has two or more valid ones.
    fn take_offset(&self, job: &mut Job, room: usize, group: &mut Group) {
        let found = self.offsets_from(job.cursor).map(|offset| (offset, self.lanes_at(offset)));
        let Some((offset, lanes)) = found.into_iter().find(|(_, lanes)| lanes.count_ones() >= 2) else {
            job.cursor = self.kernel.geometry().end_slot();
            return;
        };
        job.cursor = self.kernel.geometry().slot_at(Page::new(offset), 0);
        let first = self.page_at(offset, 0);
        let mut left = lanes;
        while left != 0 && group.pages().len() < room {
            group.push(Ppn(first.0 + left.trailing_zeros()));
            left &= left - 1;
        }
    }

    /// Up to `room` pages that are the only valid one of their offset.
    fn take_lone_pages(&self, job: &mut Job, room: usize, group: &mut Group) {
        let mut first = None;
        for offset in self.offsets_from(job.lone_cursor) {
            let lanes = self.lanes_at(offset);
            if lanes.count_ones() == 1 {
                group.push(self.page_at(offset, lanes.trailing_zeros()));
                first.get_or_insert(offset);
                if group.pages().len() == room {
                    break;
                }
            }
        }
        let geometry = self.kernel.geometry();
        job.lone_cursor = first.map_or(geometry.end_slot(), |offset| geometry.slot_at(Page::new(offset), 0));
    }

    /// The page offsets from that of a slot on.
    fn offsets_from(&self, slot: Slot) -> Range<u32> {
        let geometry = self.kernel.geometry();
        geometry.page_of_slot(slot).number()..geometry.pages_per_block
    }

    #[inline]
    fn page_at(&self, offset: u32, lane: u32) -> Ppn {
        // Offsets are rows: units of several slots a page are picked by the row.
        Ppn(self.first.0 + offset * self.kernel.geometry().unit_width + lane)
    }

    /// The planes on which the victim has a valid page of the stream at an offset, as bits.
    #[inline]
    fn lanes_at(&self, offset: u32) -> u32 {
        let lpns = self.kernel.lpns_from(self.page_at(offset, 0), self.kernel.geometry().unit_width);
        lpns.rev().fold(0, |lanes, lpn| lanes << 1 | u32::from(self.is_wanted(lpn)))
    }

    #[inline]
    fn is_wanted(&self, held: Option<Lpn>) -> bool {
        held.is_some_and(|lpn| self.stream.is_none_or(|(stream, of)| of(lpn) == stream))
    }

    /// The first slot of the victim from one on that has a valid page of the stream.
    fn next_wanted(&self, from: Slot) -> Option<Slot> {
        let mut slot = self.kernel.next_valid(self.unit, from)?;
        while !self.is_wanted(self.kernel.lpn_at(self.kernel.geometry().ppn(self.unit, slot))) {
            slot = self.kernel.next_valid(self.unit, slot.next())?;
        }
        Some(slot)
    }

    /// Fills the offset up behind the last pages of a victim.
    fn add_pads(&self, pad: bool, job: &Job, group: &mut Group) {
        let len = group.pages().len() as u32;
        let width = self.kernel.geometry().unit_width;
        let invalid_enough = job.gain >= PAD_MIN_INVALID_ROWS * width;
        if pad && self.kernel.valid_of(self.unit) == len && invalid_enough {
            group.rest = ((width - (self.lane + len) % width) % width) as u8;
        }
    }
}

impl Scoped for Twin {
    const SCOPE: Scope = Scope {
        area: Area::Ftl,
        name: "Twin blocks",
        keys: &["ftl.reclaim_unit"],
        modelled: "The blocks of one offset on all planes of a die are filled, collected and erased together.",
        not_modelled: &["Blocks of different offsets are never twins."],
    };
}

#[cfg(test)]
mod tests {
    use base::{Cell, Dimensions, Geometry, ParamValue};

    use super::*;
    use crate::kernel::Why;
    use crate::mechanism::All;
    use crate::sample::{self, FIRST};

    fn die_of_two_planes(pages: u32) -> Geometry {
        Geometry::new(Dimensions {
            planes_per_die: 2,
            blocks_per_plane: 8,
            pages_per_block: pages,
            unit_width: 2,
            ..Dimensions::ONE_PAGE
        })
    }

    /// Slots of a victim of a die of two planes, as they move: all but some of its pages are valid. Behind each group the
    /// number of dummy pages.
    fn moved(pages: u32, invalid: &[u32], params: &[(&'static str, ParamValue)]) -> Vec<(Vec<u32>, u8)> {
        let policies = sample::policies(&[("reclaim_unit", "twin", params)], Cell::Slc);
        let (mut kernel, all): (Kernel, All) = sample::kernel(die_of_two_planes(pages), 32, &policies);
        let slots = 2 * pages;
        let first = sample::write(&mut kernel, Stream::FIRST, 0..slots)[0];
        let unit = kernel.geometry().unit_of(first);
        invalid.iter().for_each(|&lpn| assert!(kernel.forget(Lpn(lpn)).is_some()));
        let mut job = kernel.take_victim(FIRST, unit, Why::Room);
        let mut groups = Vec::new();
        while kernel.valid_of(unit) > 0 {
            let mut group = Group::EMPTY;
            all.pick(&kernel, FIRST, &mut job, &|_| Stream::FIRST, &mut group);
            for &page in group.pages() {
                let lpn = kernel.detach(unit, page).expect("a valid page");
                kernel.place(FIRST, Stream::FIRST, lpn);
            }
            groups.push((group.pages().iter().map(|page| page.0 - first.0).collect(), group.rest));
        }
        groups
    }

    #[test]
    fn pages_of_one_offset_move_together_and_lone_pages_behind_them() {
        assert_eq!(moved(4, &[], &[]), [0, 2, 4, 6].map(|slot| (vec![slot, slot + 1], 0)));
        assert_eq!(moved(4, &[3, 6], &[]), [(vec![0, 1], 0), (vec![4, 5], 0), (vec![2, 7], 0)]);
        assert_eq!(moved(4, &[1, 3, 5, 7], &[]), [(vec![0, 2], 0), (vec![4, 6], 0)], "lone pages of one plane");
    }

    #[test]
    fn lone_pages_move_one_at_a_time_where_each_has_a_destination_of_its_own() {
        let moved = |invalid: &[u32]| moved(4, invalid, &[("lone", "single".into())]);
        assert_eq!(moved(&[]), [0, 2, 4, 6].map(|slot| (vec![slot, slot + 1], 0)), "pairs as ever");
        assert_eq!(moved(&[3, 6]), [(vec![0, 1], 0), (vec![4, 5], 0), (vec![2], 0), (vec![7], 0)]);
        assert_eq!(moved(&[1, 3, 5, 7]), [0, 2, 4, 6].map(|slot| (vec![slot], 0)));
    }

    #[test]
    fn only_a_victim_that_gains_enough_is_filled_up() {
        let all_but_one: Vec<u32> = (1..16).collect();
        assert_eq!(moved(8, &all_but_one, &[]), [(vec![0], 1)]);
        assert_eq!(moved(8, &all_but_one, &[("pad", false.into())]), [(vec![0], 0)]);
        assert_eq!(moved(8, &[3], &[]).last(), Some(&(vec![2], 0)), "a dummy page would cost all that is gained");
    }
}
