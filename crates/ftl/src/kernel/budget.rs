//! The accounting of space: what mechanisms need, and what is left for the user.

use base::Geometry;

use super::streams::{AXES, Axis, Streams};

/// What a mechanism takes of every domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    /// How it tells pages apart.
    pub(crate) axis: Axis,
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
    /// Whether the next page decides what has to come before it, so that room is made before each host page.
    pub(crate) on_demand: bool,
    /// Whether it empties victims beside collections, over many host pages.
    pub(crate) beside: bool,
}

impl Needs {
    /// Nothing.
    pub(crate) const NONE: Needs = Needs {
        axis: Axis::ONE,
        reserve: 0,
        aside: 0,
        held: 0,
        without_data: 0,
        opens: 0,
        for_refresh: 0,
        on_demand: false,
        beside: false,
    };

    /// All that several mechanisms need, their axes apart.
    pub(crate) fn sum(all: &[Needs]) -> Needs {
        all.iter().fold(Needs::NONE, |sum, needs| Needs {
            axis: Axis::ONE,
            reserve: sum.reserve + needs.reserve,
            aside: sum.aside + needs.aside,
            held: sum.held + needs.held,
            without_data: sum.without_data + needs.without_data,
            opens: sum.opens + needs.opens,
            for_refresh: sum.for_refresh + needs.for_refresh,
            on_demand: sum.on_demand || needs.on_demand,
            beside: sum.beside || needs.beside,
        })
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
    /// Free units that must be there before a unit is refreshed; no more than the reserve.
    pub(crate) for_refresh: u32,
}

impl Budget {
    /// The budget for so many held free by choice.
    ///
    /// When collection starts, `reserve` units are free and the host's frontier is full. The frontiers of the other
    /// streams may be open. Some units may be set aside, or held. All other units are closed, and one of them has to have
    /// an invalid page.
    pub(crate) fn new(
        geometry: &Geometry,
        free_blocks: u32,
        axes: [Axis; AXES],
        needs: &Needs,
        has_map: bool,
        has_cold: bool,
    ) -> Budget {
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
            max_valid: (closed * i64::from(slots) - 1).max(0) as u64,
            for_refresh: needs.for_refresh,
            for_a_victim: if needs.on_demand { of_victim as u32 + needs.opens } else { 1 },
        }
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
