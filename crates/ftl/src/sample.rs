//! Small kernels for the unit tests of mechanisms.

use base::{Cell, Domain, Duration, Geometry, Lpn, ParamValue, Ppn, ProgramOrder, Selection};

use crate::allocation::Allocation;
use crate::kernel::{Kernel, Stream};
use crate::mechanism::{All, Planned as _, SpacePlan};
use crate::{Policies, ProgramUnit};

/// The first domain of a device.
pub(crate) const FIRST: Domain = Domain::new(0);
/// The second one.
pub(crate) const SECOND: Domain = Domain::new(1);

/// A seam, its choice, and parameters of that.
pub(crate) type Chosen<'a> = (&'a str, &'a str, &'a [(&'static str, ParamValue)]);

/// The first choice of every seam, or those that are named.
pub(crate) fn policies(choices: &[Chosen<'_>], cell: Cell) -> Policies<'static> {
    let selection = |key: &str| -> &'static Selection {
        let seam = crate::seams().into_iter().find(|seam| seam.key == key).expect("a seam");
        let chosen = choices.iter().find(|(seam, _, _)| *seam == key);
        let choice = chosen.map_or(&seam.choices[0], |(_, name, _)| seam.find(name).expect("a choice"));
        let mut selection = Selection::default_of(choice);
        for (name, value) in chosen.map_or(&[][..], |(_, _, params)| params) {
            selection.set(name, *value);
        }
        Box::leak(Box::new(selection))
    };
    Policies {
        mapping: selection("mapping"),
        map_unit: selection("map_unit"),
        allocation: selection("allocation"),
        block_allocation: selection("block_allocation"),
        victim: selection("victim"),
        reclaim_unit: selection("reclaim_unit"),
        reclaim_across: selection("reclaim_across"),
        gc_schedule: selection("gc_schedule"),
        separation: selection("separation"),
        namespaces: Vec::new(),
        paired_page: selection("paired_page"),
        migration: selection("migration"),
        read_disturb: selection("read_disturb"),
        refresh: selection("refresh"),
        wear_leveling: selection("wear_leveling"),
        slc_cache: selection("slc_cache"),
        cell,
        program_order: ProgramOrder::Consecutive,
        wear: None,
        reads: None,
        spared_wear: 0,
        block_write: Duration::ZERO,
        program: ProgramUnit::PAGE,
        bad_blocks: None,
        data_age: None,
        timeless: true,
        future: &[],
    }
}

/// A kernel and its mechanisms over a pristine array, for so many pages of the host.
pub(crate) fn kernel(geometry: Geometry, user_pages: u64, policies: &Policies<'_>) -> (Kernel, All) {
    let plan = SpacePlan::new(policies, &geometry);
    let of_map = plan.map_pages(&geometry, user_pages);
    let kernel = Kernel::new(geometry, user_pages, of_map, plan.shares(&geometry), policies, 1).expect("memory");
    let allocation = Allocation::build(policies.allocation, &geometry);
    let mechanisms = All::build(&kernel, policies, &allocation).expect("memory").expect("mechanisms, if only none");
    (kernel, mechanisms)
}

/// Writes pages to a stream, and returns where they are.
pub(crate) fn write(kernel: &mut Kernel, stream: Stream, lpns: impl IntoIterator<Item = u32>) -> Vec<Ppn> {
    lpns.into_iter().map(|lpn| kernel.place_new(FIRST, stream, Lpn(lpn), true).at).collect()
}
