//! Data separation: which stream a page belongs to, and so which pages share a frontier.

mod dac;
mod future;
mod midas;
mod placement;
mod refusals;
mod sepbit;

use base::{Choice, Domain, Geometry, Instant, Lpn, Param, ParamKind, Seam, Selection, Slot, Unit};

use super::{Agenda, Arrival, NewPage, OwnWork, PageOrigin, Placing, Planned, Reported, Restart, RoomSource};
use dac::Dac;
use future::Future;
pub use future::HostPage;
use midas::Midas;
use placement::HintPlacement;
pub use placement::{is_by_hints, isolated_handle, reclaim_groups};
pub(crate) use refusals::check;
use sepbit::SepBit;

use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{AXES, Axis, Kernel, Needs, Stream, Streams, Why};
use crate::scan::Scanned;
use crate::{Bytes, Figures, OutOfMemory, Policies};

/// The axis of regions, of classes by lifespan, of handles, or of host pages and copies.
const AXIS: usize = 0;

/// The most regions of data clustering.
const MAX_REGIONS: usize = 8;

/// The most classes by lifespan.
const MAX_CLASSES: usize = 8;

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "Host writes and GC copies share one frontier per plane.", params: &[] },
    Choice { name: "host-gc", doc: "Host writes and GC copies have a frontier each per plane.", params: &[] },
    Choice {
        name: "dac",
        doc: "Dynamic data clustering: a page rises a region with each overwrite and sinks one with each GC copy; a \
              frontier for each region (Chiang et al. 1999; GCMix section 2.2).",
        params: &[Param {
            name: "regions",
            kind: ParamKind::Integer { default: 4, min: 2, max: MAX_REGIONS as u32 },
            doc: "Regions, from the coldest, in which every page begins, to the hottest.",
        }],
    },
    Choice {
        name: "sepbit",
        doc: "Pages go to classes by the lifespan that is inferred for them: host pages by that of the version before, copies by \
              their age; a frontier for each class (SepBIT, Wang et al. 2022).",
        params: sepbit::PARAMS,
    },
    Choice {
        name: "midas",
        doc: "Pages that survive a collection go on to the next of a chain of groups, whose number and sizes follow a model of the \
              workload; hot pages have a group of their own (MiDAS, Oh et al. 2024).",
        params: midas::PARAMS,
    },
    Choice {
        name: "future",
        doc: "Pages go to classes by when they will be overwritten or trimmed, which is known from the workload: others are \
              measured against it, though it is no optimum (future knowledge, Wang et al. 2022).",
        params: future::PARAMS,
    },
    placement::STREAMS,
    placement::FDP,
    placement::LIFETIME,
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam { key: "separation", doc: "Which data share a frontier.", choices: CHOICES };

/// Data separation in force.
#[derive(Clone)]
pub(crate) enum Separation {
    /// Host writes are class 0, copies class 1.
    HostGc,
    /// Classes are regions.
    Dac(Dac),
    /// Classes go by inferred lifespans.
    SepBit(SepBit),
    /// Classes are groups by age.
    Midas(Midas),
    /// Classes go by lifespans that are known.
    Future(Future),
    /// Classes go by hints of the host.
    Placement(HintPlacement),
}

impl Separation {
    /// # Panics
    /// If the selection is not from this registry.
    fn of(kernel: &Kernel, policies: &Policies<'_>) -> Option<Separation> {
        match policies.separation.name {
            "none" => None,
            "host-gc" => Some(Separation::HostGc),
            "dac" => Some(Separation::Dac(Dac::new(policies.separation, kernel.user_pages() as usize))),
            "sepbit" => Some(Separation::SepBit(SepBit::new(kernel, policies))),
            "midas" => Some(Separation::Midas(Midas::new(kernel, policies))),
            "future" => Some(Separation::Future(Future::new(kernel, policies))),
            name => match HintPlacement::of(kernel, policies.separation) {
                Some(placement) => Some(Separation::Placement(placement)),
                None => panic!("`{name}` is not a data separation"),
            },
        }
    }

    /// True if it places pages by the hints of writes.
    pub(crate) fn is_by_hints(&self) -> bool {
        matches!(self, Separation::Placement(_))
    }

    /// True if an active block of a stream is to be closed before the host's next page, since the host moved its handle on.
    #[inline]
    pub(crate) fn is_outdated(&self, streams: &Streams, domain: Domain, stream: Stream) -> bool {
        matches!(self, Separation::Placement(placement) if placement.is_outdated(domain, streams.class(stream, AXIS)))
    }

    /// Adds what the active blocks of handles still take, where there are handles.
    pub(crate) fn report_available(&self, kernel: &Kernel, figures: &mut Figures) {
        if let Separation::Placement(placement) = self {
            figures.counts("separation", "available_pages", &placement.available(kernel));
        }
    }
}

/// Classes to which the pages of one victim may be copied.
fn split_classes(selection: &Selection) -> Option<usize> {
    match selection.name {
        "dac" => Some(selection.integer("regions") as usize),
        "sepbit" | "future" => Some(selection.integer("classes") as usize),
        "midas" => Some(selection.integer("groups") as usize),
        _ => None,
    }
}

impl Planned for Separation {
    fn needs(policies: &Policies<'_>, _: &Geometry) -> Option<Needs> {
        let axis = |classes, splits| Axis { classes, splits, ..Axis::ONE };
        if policies.separation.name == "host-gc" {
            return Some(Needs::of_axis(AXIS, axis(2, false)));
        }
        if let Some(axis) = placement::axis(policies.separation) {
            return Some(Needs { aside: 1, on_demand: true, ..Needs::of_axis(AXIS, axis) });
        }
        let classes = split_classes(policies.separation)?;
        // Collection goes on until one unit more than the reserve is free.
        let time = policies.separation.name == "dac";
        // Where the host's pages go to the classes of copies, it fills a block that a collection opened: no page of it comes before
        // the next victim can open one in each class again.
        let floor = if ["midas", "future"].contains(&policies.separation.name) { classes as u32 } else { 0 };
        Some(Needs { aside: 1, on_demand: true, time, floor, ..Needs::of_axis(AXIS, axis(classes, true)) })
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, user_pages: u64, _: bool) -> Bytes {
        let [regions, blocks] = match policies.separation.name {
            "dac" => [user_pages, 0],
            "sepbit" => SepBit::bytes(user_pages, u64::from(geometry.units())),
            "midas" => Midas::bytes(policies, geometry, user_pages),
            _ => [0, 0],
        };
        Bytes { regions, blocks, renewed: regions + blocks, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Separation>, OutOfMemory> {
        Ok(Separation::of(kernel, policies))
    }
}

impl Placing for Separation {
    #[inline]
    fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival, classes: &mut [usize; AXES]) -> Option<Stream> {
        classes[AXIS] = match (self, arrival) {
            (Separation::HostGc, Arrival::Host { .. }) => 0,
            (Separation::HostGc, Arrival::Copy) => 1,
            (Separation::Dac(dac), Arrival::Host { is_mapped, .. }) => dac.host_region(lpn, is_mapped),
            (Separation::Dac(dac), Arrival::Copy) => dac.copy_region(lpn),
            (Separation::SepBit(sepbit), _) => sepbit.class(kernel, lpn, arrival),
            (Separation::Midas(midas), _) => midas.class(kernel, lpn, arrival),
            (Separation::Future(future), _) => future.class(kernel, lpn, arrival),
            (Separation::Placement(placement), _) => placement.class(kernel, lpn, arrival),
        };
        None
    }

    /// Pages of the map have no region.
    #[inline]
    fn region(&self, lpn: Lpn) -> Option<u8> {
        let Separation::Dac(dac) = self else { return None };
        dac.region(lpn)
    }

    #[inline]
    fn prefetch(&self, lpn: Lpn) {
        match self {
            Separation::HostGc | Separation::Future(_) | Separation::Placement(_) => {}
            Separation::Dac(dac) => dac.prefetch(lpn),
            Separation::SepBit(sepbit) => sepbit.prefetch(lpn),
            Separation::Midas(midas) => midas.prefetch(lpn),
        }
    }

    #[inline]
    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        if page.lpn.0 >= kernel.user_pages() {
            return;
        }
        match (self, page.origin) {
            (Separation::Dac(dac), PageOrigin::Host { was_mapped, .. }) => dac.promote(page.lpn, was_mapped),
            (Separation::Dac(dac), PageOrigin::Copy(..)) => dac.move_to(page.lpn, dac.copy_region(page.lpn)),
            (Separation::SepBit(sepbit), _) => sepbit.placed(kernel, page),
            (Separation::Midas(midas), _) => midas.placed(kernel, page),
            (Separation::Placement(placement), _) => placement.placed(kernel, page),
            (Separation::Future(future), _) => {
                let unit = kernel.geometry().unit_of(page.at);
                future.placed(page, kernel.streams().class(kernel.stream_of(unit), AXIS));
            }
            _ => {}
        }
    }

    fn filled(&mut self, _: &mut Kernel, domain: Domain, unit: Unit) {
        if let Separation::Midas(midas) = self {
            midas.filled(domain, unit);
        }
    }

    fn sealed(&mut self, _: &Kernel, domain: Domain, unit: Unit) {
        if let Separation::Midas(midas) = self {
            midas.filled(domain, unit);
        }
    }

    fn lost(&mut self, kernel: &mut Kernel, lpn: Lpn) {
        match self {
            Separation::HostGc | Separation::SepBit(_) | Separation::Placement(_) => {}
            Separation::Midas(midas) => midas.lost(kernel, lpn),
            Separation::Dac(dac) => dac.lost(lpn),
            Separation::Future(future) => future.passed(lpn),
        }
    }

    fn erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, why: Option<Why>) -> bool {
        match self {
            Separation::SepBit(sepbit) => sepbit.erased(domain, unit, why),
            Separation::Midas(midas) => midas.erased(kernel, domain, unit, why),
            Separation::Placement(placement) => placement.erased(domain, unit),
            _ => {}
        }
        false
    }
}

impl Agenda for Separation {
    fn take_up(&mut self, kernel: &mut Kernel, domain: Domain, _: bool, _: &mut Group) -> Option<OwnWork> {
        let stream = match self {
            Separation::Midas(midas) => midas.stale_stream(kernel, domain),
            Separation::Placement(placement) => placement.outdated_stream(kernel, domain),
            _ => None,
        };
        stream.map(OwnWork::Close)
    }

    fn room(&mut self, kernel: &mut Kernel, domain: Domain, _: Stream, source: RoomSource) -> bool {
        let Separation::Midas(midas) = self else { return false };
        source == RoomSource::Forced && midas.make_room(kernel, domain)
    }

    /// The workload's locality ω (GCMix, equations 1 to 4), every simulated second, if regions are kept and pages were
    /// overwritten.
    #[inline]
    fn tell(&mut self, kernel: &mut Kernel, now: Instant) -> Option<f64> {
        let Separation::Dac(dac) = self else { return None };
        let omega = dac.tell(now)?;
        kernel.note_locality(Some(omega));
        Some(omega)
    }
}

impl Restart for Separation {
    fn adopt_page(&mut self, lpn: Lpn, region: u8, write: u64) {
        match self {
            Separation::HostGc | Separation::Midas(_) | Separation::Future(_) | Separation::Placement(_) => {}
            Separation::Dac(dac) => dac.adopt(lpn, region),
            Separation::SepBit(sepbit) => sepbit.adopt(lpn, write),
        }
    }

    fn adopt_frontier(&mut self, _: &Kernel, _: Domain, unit: Unit, _: Slot, _: &Scanned) {
        if let Separation::SepBit(sepbit) = self {
            sepbit.adopt_frontier(unit);
        }
    }

    fn reopen(&mut self, kernel: &mut Kernel) {
        match self {
            Separation::SepBit(sepbit) => sepbit.reopen(kernel.numbers().0),
            Separation::Midas(midas) => midas.look_around(kernel),
            _ => {}
        }
    }

    /// Every page begins in the coldest region; lifespans are counted from here.
    fn renew(&mut self, kernel: &mut Kernel, policies: &Policies<'_>) {
        if let Some(anew) = Separation::of(kernel, policies) {
            *self = anew;
        }
        if let Separation::Dac(dac) = self {
            for lpn in (0..kernel.user_pages()).map(Lpn).filter(|&lpn| kernel.is_mapped(lpn)) {
                dac.adopt(lpn, 0);
            }
        }
        kernel.note_locality(None);
    }
}

impl Reported for Separation {
    fn figures(&self, figures: &mut Figures) {
        match self {
            Separation::HostGc => {}
            Separation::Dac(dac) => figures.counts("separation", "valid_pages", dac.valid()),
            Separation::SepBit(sepbit) => sepbit.figures(figures),
            Separation::Midas(midas) => midas.figures(figures),
            Separation::Future(future) => future.figures(figures),
            Separation::Placement(placement) => placement.figures(figures),
        }
    }
}
