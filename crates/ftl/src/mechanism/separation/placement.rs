//! Placement by hints: the host says with each write where it wants the page, in the numbers of one of three front ends.
//!
//! - *Streams* (NVM Express, Directives): writes of one stream identifier share units. 0 is no stream.
//! - *Flexible data placement* (FDP, NVM Express TP4146): writes of one placement identifier go to the reclaim unit that its handle
//!   refers to. Copies of *initially isolated* data share units with those of other handles; *persistently isolated* data never do.
//! - *Write lifetimes* (Linux, `F_SET_RW_HINT`): writes of one expected lifetime share units.
//!
//! The three differ in what a number means, and in where copies go.

use std::collections::BTreeSet;

use base::{Choice, Domain, Lpn, Param, ParamKind, Selection, Unit};

use super::AXIS;
use crate::Figures;
use crate::kernel::{Axis, Kernel, Stream};
use crate::mechanism::{Arrival, NewPage, PageOrigin};

/// The most streams or handles: each holds two blocks of a plane open, one of them for copies.
const MAX_HANDLES: u32 = 8;

/// The most reclaim groups.
const MAX_GROUPS: u32 = 64;

/// Lifetimes of Linux: none, and short, medium, long, extreme, which are the numbers 2 to 5 there.
const LIFETIMES: usize = 5;

pub(super) const STREAMS: Choice = Choice {
    name: "streams",
    doc: "Pages go by the stream identifier of their write, `hint`: a frontier for the writes of each stream, and one for its copies (NVM \
          Express, Directives).",
    params: &[Param {
        name: "streams",
        kind: ParamKind::Integer { default: 4, min: 1, max: MAX_HANDLES },
        doc: "Streams that can be open. Writes of identifiers above it are as if they had none, as those of 0 are.",
    }],
};

pub(super) const FDP: Choice = Choice {
    name: "fdp",
    doc: "Pages go by the placement identifier of their write, `hint`, to the reclaim unit of its handle (flexible data placement, NVM \
          Express TP4146).",
    params: &[
        Param {
            name: "handles",
            kind: ParamKind::Integer { default: 4, min: 1, max: MAX_HANDLES },
            doc: "Reclaim-unit handles. Identifiers count from 0, the default; others are invalid, and written by the default.",
        },
        Param::word(
            "isolation",
            &["initial", "persistent"],
            "Copies of the data of all handles share reclaim units; or never do.",
        ),
        Param {
            name: "reclaim_groups",
            kind: ParamKind::Integer { default: 1, min: 1, max: MAX_GROUPS },
            doc: "Equal parts of the dies, each with reclaim units and addresses of its own. A namespace says in which it lies \
                  (`reclaim_group` of `[[tenant]]`).",
        },
        Param {
            name: "update_after",
            kind: ParamKind::Size { default: 0, min: 0, max: 1 << 50 },
            doc: "The host moves a handle to new reclaim units after so many bytes that were written by it (reclaim unit handle update); 0B: \
                  never.",
        },
    ],
};

pub(super) const LIFETIME: Choice = Choice {
    name: "write-hints",
    doc: "Pages go by the expected lifetime of their write (`hint`). 0 and 1 are none, 2 short, 3 medium, 4 long, 5 extreme. The writes of each \
          have a frontier, and its copies another (Linux, `F_SET_RW_HINT`).",
    params: &[],
};

/// The handles of a front end, and how their data are kept apart; nothing: it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrontEnd {
    handles: usize,
    /// The first two numbers are the first handle.
    is_lifetime: bool,
    /// Copies of all handles share the first class; else each handle keeps its own.
    shares_copies: bool,
    /// Bytes that the host writes by a handle before it moves that to new units; 0: it never does.
    update_after: u64,
}

impl FrontEnd {
    fn of(selection: &Selection) -> Option<FrontEnd> {
        let (handles, shares_copies) = match selection.name {
            "streams" => (selection.integer("streams") as usize + 1, false),
            "fdp" => (selection.integer("handles") as usize, selection.word("isolation") == "initial"),
            "write-hints" => (LIFETIMES, false),
            _ => return None,
        };
        let update_after = if selection.name == FDP.name { selection.size("update_after") } else { 0 };
        Some(FrontEnd { handles, is_lifetime: selection.name == LIFETIME.name, shares_copies, update_after })
    }

    /// The handle of a hint; nothing if it is no handle's.
    #[inline]
    fn handle(self, hint: u16) -> Option<u8> {
        let number = if self.is_lifetime { hint.saturating_sub(1) } else { hint };
        (usize::from(number) < self.handles).then_some(number as u8)
    }

    /// Classes of host pages, in the order of handles. Behind them comes a class of copies, or one for each handle: were the copies of a handle
    /// among its new pages, data that have survived for long would lie beside such that may die at once.
    fn classes(self) -> usize {
        self.handles + if self.shares_copies { 1 } else { self.handles }
    }

    /// The class to which pages are copied out of a class.
    fn of_copies(self, class: usize) -> usize {
        self.handles + if self.shares_copies { 0 } else { class % self.handles }
    }
}

/// True of a separation by hints of the host.
pub fn is_by_hints(selection: &Selection) -> bool {
    FrontEnd::of(selection).is_some()
}

/// Equal parts of the dies, each with logical pages of its own.
pub fn reclaim_groups(selection: &Selection) -> u32 {
    if selection.name == FDP.name { selection.integer("reclaim_groups") } else { 1 }
}

/// The handle of writes with a hint, where data of several handles never share a reclaim unit, copied or not.
pub fn isolated_handle(selection: &Selection, hint: u16) -> Option<u8> {
    let front = FrontEnd::of(selection).filter(|front| !front.shares_copies)?;
    Some(front.handle(hint).unwrap_or(0))
}

/// The axis of a separation by hints.
pub(super) fn axis(selection: &Selection) -> Option<Axis> {
    let front = FrontEnd::of(selection)?;
    // Either way the pages of a victim go to one class.
    Some(Axis { classes: front.classes(), by_victim: true, ..Axis::ONE })
}

/// Placement by hints in force.
#[derive(Clone)]
pub(crate) struct HintPlacement {
    front: FrontEnd,
    /// By domain: the unit out of which a page was copied last, since its erase.
    emptied: Vec<Option<Unit>>,
    /// Since preconditioning, by class: pages that the host wrote, and pages that were copied out of its units.
    written: Vec<u64>,
    copied: Vec<u64>,
    /// Pages that the host wrote with a number that is no handle's.
    invalid: u64,
    /// Units out of which valid pages were copied.
    reallocations: u64,
    /// Reclaim units across dies among these, by number.
    emptied_across: BTreeSet<u64>,
    updates: HandleUpdates,
}

/// Handles that the host moves to new units.
#[derive(Clone, Default)]
struct HandleUpdates {
    /// Pages of a handle from one update to the next; 0: there are none.
    after: u64,
    /// By handle: pages that the host wrote since the last one.
    since: Vec<u64>,
    /// By domain: handles, as bits, whose active block is to be closed before the host's next page.
    outdated: Vec<u8>,
    done: u64,
    /// Units that were not full, and the pages that they would still have taken.
    unfinished: u64,
    unwritten: u64,
}

impl HandleUpdates {
    /// The host wrote a page by a handle.
    fn written(&mut self, kernel: &Kernel, handle: usize) {
        if self.after == 0 || handle >= self.since.len() {
            return;
        }
        self.since[handle] += 1;
        if self.since[handle] < self.after {
            return;
        }
        self.since[handle] = 0;
        self.done += 1;
        let mut units = BTreeSet::new();
        for (domain, slots) in active_blocks(kernel, handle) {
            self.outdated[domain.index()] |= 1 << handle;
            // The blocks of all dies of a reclaim group are one.
            units.insert(kernel.across().map_or(domain, |across| across.set_of(domain)));
            self.unwritten += slots;
        }
        self.unfinished += units.len() as u64;
    }

    /// A stream of an outdated handle whose active block is open in a domain.
    fn outdated_stream(&mut self, kernel: &Kernel, domain: Domain) -> Option<Stream> {
        let outdated = self.outdated[domain.index()];
        let streams = kernel.streams();
        let is_outdated = |&stream: &Stream| {
            let class = streams.class(stream, AXIS);
            class < self.since.len() && outdated & 1 << class != 0 && kernel.is_open(domain, stream)
        };
        let found = if outdated == 0 { None } else { streams.all_of_data().find(is_outdated) };
        if found.is_none() {
            self.outdated[domain.index()] = 0;
        }
        found
    }
}

/// The active blocks of a handle's writes: their domains, and pages that they still take.
fn active_blocks(kernel: &Kernel, handle: usize) -> impl Iterator<Item = (Domain, u64)> + '_ {
    kernel.geometry().all_domains().flat_map(move |domain| {
        let streams = kernel.streams().all_of_data();
        let of_handle = streams.filter(move |&stream| kernel.streams().class(stream, AXIS) == handle);
        of_handle.filter_map(move |stream| {
            let frontier = kernel.frontier(domain, stream)?;
            Some((domain, u64::from(kernel.geometry().slots_left(frontier.slot))))
        })
    })
}

impl HintPlacement {
    /// The placement that was chosen; `None` where the separation goes by no hints.
    pub(super) fn of(kernel: &Kernel, selection: &Selection) -> Option<HintPlacement> {
        let front = FrontEnd::of(selection)?;
        let classes = front.classes();
        Some(HintPlacement {
            front,
            emptied: vec![None; kernel.geometry().domains() as usize],
            written: vec![0; classes],
            copied: vec![0; classes],
            invalid: 0,
            reallocations: 0,
            emptied_across: BTreeSet::new(),
            updates: HandleUpdates {
                after: front.update_after.div_ceil(kernel.geometry().page_size.into()),
                since: vec![0; front.handles],
                outdated: vec![0; kernel.geometry().domains() as usize],
                ..HandleUpdates::default()
            },
        })
    }

    #[inline]
    pub(super) fn class(&self, kernel: &Kernel, lpn: Lpn, arrival: Arrival) -> usize {
        match arrival {
            Arrival::Host { hint, .. } => self.front.handle(hint).unwrap_or(0).into(),
            Arrival::Copy => {
                let class = kernel.lookup(lpn).map_or(0, |at| class_of_unit(kernel, kernel.geometry().unit_of(at)));
                self.front.of_copies(class)
            }
        }
    }

    #[inline]
    pub(super) fn placed(&mut self, kernel: &Kernel, page: &NewPage) {
        let unit_of = |at| kernel.geometry().unit_of(at);
        match page.origin {
            PageOrigin::Copy(from, _) => {
                let from = unit_of(from);
                self.copied[class_of_unit(kernel, from)] += 1;
                if self.emptied[page.domain.index()].replace(from) != Some(from) {
                    let across = kernel.across().and_then(|across| across.group_of(from));
                    // A part of a unit that spans dies is an event with the first part only.
                    let is_first = across.is_none_or(|number| self.emptied_across.insert(number));
                    self.reallocations += u64::from(is_first);
                }
            }
            PageOrigin::Host { hint, .. } => {
                self.invalid += u64::from(self.front.handle(hint).is_none());
                let handle = class_of_unit(kernel, unit_of(page.at));
                self.written[handle] += 1;
                self.updates.written(kernel, handle);
            }
            PageOrigin::Map | PageOrigin::Anew(_) => {}
        }
    }

    pub(super) fn erased(&mut self, domain: Domain, unit: Unit) {
        let emptied = &mut self.emptied[domain.index()];
        *emptied = emptied.filter(|&other| other != unit);
    }

    /// By handle: pages that the active blocks of its writes still take.
    pub(super) fn available(&self, kernel: &Kernel) -> Vec<u64> {
        let is_current = |domain: Domain, handle: usize| self.updates.outdated[domain.index()] & 1 << handle == 0;
        let of_handle = |handle| {
            let blocks = active_blocks(kernel, handle).filter(|&(domain, _)| is_current(domain, handle));
            blocks.map(|(_, slots)| slots).sum()
        };
        (0..self.front.handles).map(of_handle).collect()
    }

    /// True if the active block of a class is to be closed in a domain before the host's next page.
    #[inline]
    pub(super) fn is_outdated(&self, domain: Domain, class: usize) -> bool {
        u32::from(self.updates.outdated[domain.index()]) >> class & 1 != 0
    }

    /// A stream whose active block is to be closed, since the host moved its handle to new units.
    pub(super) fn outdated_stream(&mut self, kernel: &Kernel, domain: Domain) -> Option<Stream> {
        self.updates.outdated_stream(kernel, domain)
    }

    pub(super) fn figures(&self, figures: &mut Figures) {
        let handles = self.front.handles;
        figures.counts("separation", "written_pages", &self.written[..handles]);
        let mut copied = self.copied[..handles].to_vec();
        if self.front.shares_copies {
            figures.count("separation", "recopied_pages", self.copied[handles]);
        } else {
            copied.iter_mut().zip(&self.copied[handles..]).for_each(|(first, again)| *first += again);
        }
        figures.counts("separation", "copied_pages", &copied);
        figures.count("separation", "reallocations", self.reallocations);
        figures.count("separation", "invalid_hints", self.invalid);
        if self.updates.after > 0 {
            figures.count("separation", "handle_updates", self.updates.done);
            figures.count("separation", "unfinished_units", self.updates.unfinished);
            figures.count("separation", "unwritten_pages", self.updates.unwritten);
        }
    }
}

#[inline]
fn class_of_unit(kernel: &Kernel, unit: Unit) -> usize {
    kernel.streams().class(kernel.stream_of(unit), AXIS)
}
