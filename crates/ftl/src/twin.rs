//! Twin blocks: the blocks of one offset on all planes of a die as one reclaim unit (TBM, section 5).
//!
//! Slots of such a unit run through the planes first, so a frontier is the paper's "write-frontier TBU" with
//! its current page index (slot / planes) and its round robin over the planes (slot mod planes). What is
//! particular is how a collection picks pages: valid pages of one offset in several planes ("same index")
//! go to one offset again, so that they can still be read by one multi-plane command.

use base::Selection;

use crate::collection::GcStep;
use crate::group::Group;
use crate::layer::{Ftl, NONE};

/// A victim with fewer invalid pages, in multiples of its width, is never padded: room must be gained.
const PAD_MIN_INVALID_ROWS: u32 = 4;

/// The parameters of the reclaim unit.
pub(crate) struct Twin {
    /// Whether a collection ends with dummy pages up to the next page offset.
    pad: bool,
    /// How near its threshold, as a fraction of it, another die of the chip is collected along.
    pub(crate) neighbours: f64,
}

impl Twin {
    pub(crate) fn new(reclaim_unit: &Selection) -> Twin {
        if reclaim_unit.name == "twin" {
            Twin { pad: reclaim_unit.get("pad") == 1.0, neighbours: reclaim_unit.get("neighbours") }
        } else {
            Twin { pad: false, neighbours: 0.0 }
        }
    }
}

impl Ftl {
    /// The next pages to move, or the erase.
    pub(crate) fn twin_step(&mut self, domain: u32, group: &mut Group) -> Option<GcStep> {
        let unit = self.domains[domain as usize].job?.unit;
        if self.units[unit as usize].valid == 0 {
            return Some(GcStep::Erase(unit));
        }
        group.clear();
        self.take_group(domain, unit, group);
        Some(GcStep::Copy)
    }

    /// The next pages to move of a victim that has any.
    ///
    /// With the frontier at the first plane of an offset: the next offset of the victim with two or more
    /// valid pages, as it is; when none is left, lone pages, gathered up to a full offset. With the frontier
    /// between planes: lone pages that fill the offset up; failing these, as many pages of the next offset
    /// as fit, which are then out of step.
    pub(crate) fn take_group(&mut self, domain: u32, unit: u32, group: &mut Group) {
        let lane = self.copy_lane(domain, unit);
        let room = (self.geometry.unit_width - lane) as usize;
        if lane == 0 {
            self.take_offset(domain, room, group);
        }
        if group.pages().is_empty() {
            self.take_lone_pages(domain, room, group);
        }
        if group.pages().is_empty() {
            self.take_offset(domain, room, group);
        }
        if group.pages().is_empty() {
            // What is left lies behind the cursors: pages of offsets that lost a page or were split.
            self.note_cursors(domain, 0, 0);
            self.take_lone_pages(domain, room, group);
            if group.pages().is_empty() {
                self.take_offset(domain, room, group);
            }
        }
        self.add_pads(domain, unit, lane, group);
    }

    /// Whether the next page that a collection copies begins an offset.
    pub(crate) fn copies_in_step(&self, domain: u32) -> bool {
        let job = self.domains[domain as usize].job;
        job.is_none_or(|job| self.copy_lane(domain, job.unit) == 0)
    }

    /// On which plane the next page goes that is copied from a victim: translation pages have a frontier of their own.
    fn copy_lane(&self, domain: u32, unit: u32) -> u32 {
        let stream = if self.is_translation_unit(unit) { self.streams } else { self.streams - 1 };
        let frontier = self.domains[domain as usize].frontiers[stream];
        if frontier.unit == NONE { 0 } else { frontier.slot % self.geometry.unit_width }
    }

    /// Up to `room` pages of the next offset that has two or more valid ones.
    fn take_offset(&mut self, domain: u32, room: usize, group: &mut Group) {
        let Some(job) = self.domains[domain as usize].job else { return };
        for offset in job.cursor..self.geometry.pages_per_block {
            let valid = self.valid_at(job.unit, offset);
            if valid.pages().len() >= 2 {
                valid.pages().iter().take(room).for_each(|&page| group.push(page));
                self.note_cursors(domain, offset, job.lone_cursor);
                return;
            }
        }
        self.note_cursors(domain, self.geometry.pages_per_block, job.lone_cursor);
    }

    /// Up to `room` pages that are the only valid one of their offset.
    fn take_lone_pages(&mut self, domain: u32, room: usize, group: &mut Group) {
        let Some(job) = self.domains[domain as usize].job else { return };
        let mut first = None;
        for offset in job.lone_cursor..self.geometry.pages_per_block {
            let valid = self.valid_at(job.unit, offset);
            if let [page] = valid.pages() {
                group.push(*page);
                first.get_or_insert(offset);
                if group.pages().len() == room {
                    break;
                }
            }
        }
        let cursor = first.unwrap_or(self.geometry.pages_per_block);
        self.note_cursors(domain, job.cursor, cursor);
    }

    fn note_cursors(&mut self, domain: u32, cursor: u32, lone_cursor: u32) {
        if let Some(job) = &mut self.domains[domain as usize].job {
            (job.cursor, job.lone_cursor) = (cursor, lone_cursor);
        }
    }

    /// The valid pages of one offset of a unit.
    fn valid_at(&self, unit: u32, offset: u32) -> Group {
        let width = self.geometry.unit_width;
        let mut valid = Group::EMPTY;
        for lane in 0..width {
            let page = self.geometry.ppn(unit, offset * width + lane);
            if self.is_valid(page) {
                valid.push(page);
            }
        }
        valid
    }

    /// Fills the offset up behind the last pages of a victim.
    fn add_pads(&self, domain: u32, unit: u32, lane: u32, group: &mut Group) {
        let len = group.pages().len() as u32;
        let valid = u32::from(self.units[unit as usize].valid);
        let width = self.geometry.unit_width;
        let job = self.domains[domain as usize].job;
        let invalid_enough = job.is_some_and(|job| job.gain >= PAD_MIN_INVALID_ROWS * width);
        if self.twin.pad && valid == len && invalid_enough {
            group.pads = ((width - (lane + len) % width) % width) as u8;
        }
    }
}
