//! The accounting of space: what mechanisms need, and what is left for the user.

use base::{Domain, Geometry};

use super::streams::{AXES, Axis, Streams};
use super::{Kernel, Stream};

/// The needs of a mechanism in every domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// How it tells pages apart, on the axis that is its own.
    pub(crate) axes: [Axis; AXES],
    /// Units that are held free besides `free_blocks`.
    pub(crate) reserve: u32,
    /// Units that never hold pages which count against the limit on valid pages.
    pub(crate) aside: u32,
    /// Empty units whose erase is held back, for each stream of copies.
    pub(crate) held: u32,
    /// Slots of each unit of data that hold something else.
    pub(crate) without_data: u32,
    /// Free units that the pages of one victim may open, besides one for each stream of data.
    pub(crate) opens: u32,
    /// Free units that must be there before a unit is refreshed, so that a victim can be emptied after it.
    pub(crate) for_refresh: u32,
    /// Free units that must be there before a page of the host is placed, whatever is free of active blocks.
    pub(crate) floor: u32,
    /// True if the next page decides what has to come before it, so that room is made before each host page.
    pub(crate) on_demand: bool,
    /// True if it empties victims beside collections, over many host pages.
    pub(crate) beside: bool,
    /// It wants to know the time.
    pub(crate) time: bool,
}

impl Needs {
    /// The needs of a mechanism that needs nothing.
    pub(crate) const NONE: Needs = Needs {
        axes: [Axis::ONE; AXES],
        reserve: 0,
        aside: 0,
        held: 0,
        without_data: 0,
        opens: 0,
        for_refresh: 0,
        floor: 0,
        on_demand: false,
        beside: false,
        time: false,
    };

    /// That pages are told apart on an axis.
    pub(crate) fn of_axis(number: usize, axis: Axis) -> Needs {
        let mut needs = Needs::NONE;
        needs.axes[number] = axis;
        needs
    }

    /// The needs of this and another mechanism together.
    ///
    /// # Panics
    /// If both tell pages apart on one axis.
    pub(crate) fn and(self, other: Needs) -> Needs {
        let mut axes = self.axes;
        for (own, axis) in axes.iter_mut().zip(other.axes).filter(|(_, axis)| *axis != Axis::ONE) {
            assert_eq!(std::mem::replace(own, axis), Axis::ONE, "each axis is one mechanism's");
        }
        Needs {
            axes,
            reserve: self.reserve + other.reserve,
            aside: self.aside + other.aside,
            held: self.held + other.held,
            without_data: self.without_data + other.without_data,
            opens: self.opens + other.opens,
            for_refresh: self.for_refresh + other.for_refresh,
            floor: self.floor + other.floor,
            on_demand: self.on_demand || other.on_demand,
            beside: self.beside || other.beside,
            time: self.time || other.time,
        }
    }
}

/// How much room a domain has to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Units kept free while collection keeps up.
    pub(crate) reserve: u32,
    /// Slots of a unit that data fill.
    pub(crate) slots: u32,
    /// The most valid pages with which room can always be made. A domain with as many takes no more from a dynamic
    /// allocation.
    pub(crate) max_valid: u64,
    /// Free units that the pages of a victim may open: they fill up an open one and, at most, another. Where copies go to
    /// several streams it may be one in each.
    pub(crate) for_a_victim: u32,
    /// Free units among these that pages of a map in flash may open.
    pub(crate) opens: u32,
    /// Free units that must be there before a unit is refreshed; no more than the reserve.
    pub(crate) for_refresh: u32,
    /// Free units that must be there before a page of the host is placed, likewise. A power cut can leave fewer: in the middle of a
    /// collection, whose victim is not empty then and whose copies are lost in part.
    pub(crate) floor: u32,
    /// Victims are emptied beside collections: after each host page there has to be room to empty any.
    empties_beside: bool,
}

impl Budget {
    /// The budget for so many held free by choice.
    ///
    /// When collection starts, `reserve` units are free and the host's frontier is full. The frontiers of the other
    /// streams may be open. Some units may be set aside, or held. All other units are closed, and one of them has to have
    /// an invalid page. Where map units share a flash page it has to have as many as lie in one: a stream that is closed, or waited for,
    /// is filled up with dummy units, at the cost of what a collection gained.
    pub(crate) fn new(geometry: &Geometry, free_blocks: u32, needs: &Needs, has_map: bool, has_cold: bool) -> Budget {
        let axes = needs.axes;
        let reserve = free_blocks + needs.reserve;
        let data = i64::from(streams_in_use(axes));
        let of_victim = streams_of_victim(axes);
        let others = data - 1 + i64::from(has_map) + i64::from(has_cold);
        let aside = i64::from(needs.aside + needs.held * streams_of_copies(axes));
        let closed = i64::from(geometry.units_per_domain()) - i64::from(reserve) - others - aside;
        let slots = geometry.unit_slots().saturating_sub(needs.without_data);
        Budget {
            reserve,
            slots,
            max_valid: (closed.max(0) * i64::from((slots + 1).saturating_sub(geometry.parts)) - 1).max(0) as u64,
            opens: needs.opens,
            for_refresh: needs.for_refresh,
            floor: needs.floor,
            empties_beside: needs.beside,
            for_a_victim: needs.floor.max(if needs.on_demand { of_victim as u32 + needs.opens } else { 1 }),
        }
    }
}

impl Kernel {
    /// True if there may not be room to empty the next victim after another host page, wherever that goes.
    ///
    /// Where all copies go to one stream, or a unit holds pages of one stream, they open one unit at most, and the
    /// reserve has it. Where victims split and are emptied beside collections, a victim's pages may open a unit in each stream.
    /// Emptying it fills no more slots than its erase gives back, so what counts is slots: as many as all frontiers can
    /// keep open, and those that the host page and the copies under it take.
    pub(crate) fn is_cramped(&self, domain: Domain) -> bool {
        if !self.budget.empties_beside || !self.streams.split_victims() {
            return false;
        }
        let free = self.free(domain);
        // Of each set so many units are lacking. Few frontiers have to be looked at until more slots are open than that.
        self.streams.sets().iter().any(|&set| match set.count_ones().checked_sub(free) {
            Some(lacking) => !self.has_open(domain, set, lacking * self.budget.slots + self.wordlines.most_open()),
            None => false,
        })
    }

    /// True if the frontiers of a set of streams have more than so many slots open.
    fn has_open(&self, domain: Domain, mut set: u64, most: u32) -> bool {
        let mut open = 0;
        while set != 0 {
            let stream = Stream::new(set.trailing_zeros() as usize);
            let slots =
                self.frontier(domain, stream).map_or(0, |it| self.budget.slots.saturating_sub(it.slot.number()));
            open += slots;
            if open > most {
                return true;
            }
            set &= set - 1;
        }
        false
    }
}

/// Streams to which the pages of one victim may go: where it decides, and where garbage collection copies to one class alone,
/// to one class.
pub(crate) fn streams_of_victim(axes: [Axis; AXES]) -> usize {
    Streams::product(axes.map(|axis| if axis.by_victim || axis.first_alone { Axis::ONE } else { axis }))
}

/// Streams to which pages may be copied, whatever the victim: all but those that take host pages alone.
pub(crate) fn streams_of_copies(axes: [Axis; AXES]) -> u32 {
    Streams::product(axes.map(|axis| if axis.lsb_only.is_some() { Axis::ONE } else { axis })) as u32
}

/// Streams of data that can have an active block. Where host pages have streams of their own, no victim decides on these.
fn streams_in_use(axes: [Axis; AXES]) -> u32 {
    if axes.iter().all(|axis| axis.lsb_only.is_none()) {
        return Streams::product(axes) as u32;
    }
    let of_host = axes.map(|axis| if axis.lsb_only.is_some() { Axis::ONE } else { axis });
    streams_of_copies(axes) + streams_of_victim(of_host) as u32
}

#[cfg(test)]
mod tests {
    use base::Dimensions;

    use super::*;

    /// Where too few units and too few slots come together, there is no room, and not that of two negative numbers.
    #[test]
    fn a_domain_without_closed_units_has_no_room() {
        for parts in [1, 2, 4, 8] {
            let sizes = Dimensions { blocks_per_plane: 4, pages_per_block: 2 * parts, parts, ..Dimensions::ONE_PAGE };
            let geometry = Geometry::new(sizes);
            for without_data in 0..=2 * parts {
                let needs = Needs { without_data, ..Needs::NONE };
                let room = |free_blocks| Budget::new(&geometry, free_blocks, &needs, false, false).max_valid;
                assert_eq!((room(4), room(8)), (0, 0), "{parts} units to a page, {without_data} slots without data");
                // Three closed units, one of which gains a flash page.
                let gained = u64::from((2 * parts - without_data + 1).saturating_sub(parts));
                assert_eq!(room(1), (3 * gained).saturating_sub(1), "{parts}, {without_data}");
            }
        }
    }
}
