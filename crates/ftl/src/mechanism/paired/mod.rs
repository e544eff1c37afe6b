//! Protection of paired pages (GCMix, sections 3 and 4).
//!
//! The pages of a wordline share cells. While an upper page is programmed the lower pages of its wordline
//! are at risk: should a power cut or a failure interrupt the program, their data are gone. Every scheme here
//! comes down to one question, asked before an upper page is programmed: **is each valid lower page of its
//! wordline covered**, that is, stored in a second place that stays until the program is done?
//!
//! | scheme | what covers a lower page |
//! |---|---|
//! | `lsb-backup` | a copy in a block of which only the LSB pages are used, made just before |
//! | `parity-backup` | the exclusive-or of two LSB pages, in such a block; in `shadow` order it serves two programs |
//! | `slc-buffer` | the buffer block the page is merged from, erased only when the wordline is complete |
//! | `gcmix` | the victim that the page was copied from, whose erase is held back; else an LSB backup |
//!
//! `page-buffer` and `supercap` cost no flash operation: they decide what a fault destroys. A page that was
//! copied by garbage collection is covered by its victim under every scheme that keeps track.

mod guard;
mod lowers;
mod mixing;
mod refusals;
mod restart;
mod saved;

use std::collections::{BTreeSet, VecDeque};
use std::slice;

use base::{Cause, Choice, Domain, Geometry, Lpn, Page, Param, ParamKind, Ppn, Seam, Selection, Slot, Unit};

use super::{
    Agenda, Arrival, Combined, Keepers, NewPage, PageOrigin, Placing, Planned, Reported, Restart, RoomSource, Under,
    VictimEnd,
};
use crate::allocation::Allocation;
use crate::group::Group;
use crate::kernel::{AXES, Axis, Frontier, Kept, Kernel, Needs, Saved, Spare, Stream, Why};
use crate::ops::{DataSource, Op, Way};
use crate::scan::{Rescue, Scan, Scanned};
use crate::victim::UnitState;
use crate::{Bytes, Figures, OutOfMemory, Policies};
use lowers::{Cover, Lowers, is_by_row};
pub(crate) use refusals::{check, in_words};
pub(crate) use saved::bytes_of_state;

const LOW: Param = Param {
    name: "low",
    kind: ParamKind::Integer { default: 1, min: 0, max: 65_536 },
    doc: "Mixing begins when at most `free_blocks` + this many blocks of a plane are free (F_low − F_min).",
};
const HIGH: Param = Param {
    name: "high",
    kind: ParamKind::Integer { default: 10, min: 2, max: 65_536 },
    doc: "Mixing is suspended when this many blocks of a plane are free (F_high).",
};
const HOLD: Param = Param {
    name: "hold",
    kind: ParamKind::Flag { default: true },
    doc: "`true`: a victim is erased only when every page copied from it is out of danger; `false`: as soon as it is empty, which \
          loses data on a power cut (to show why the erase is held back).",
};

static CHOICES: &[Choice] = &[
    Choice { name: "none", doc: "No protection.", params: &[] },
    Choice {
        name: "lsb-backup",
        doc: "A lower page is copied to an LSB-only block before the upper page of its wordline is programmed (Yu and \
              Choi 2010; GCMix Figure 3a).",
        params: &[],
    },
    Choice {
        name: "parity-backup",
        doc: "One page, the exclusive-or of two LSB pages, is written before the first of their MSB pages; MLC (Lee and \
              Shin 2014). With `program_order = \"consecutive\"` it is a backup of each LSB page.",
        params: &[],
    },
    Choice {
        name: "slc-buffer",
        doc: "Host writes go to LSB-only blocks and are merged into full blocks later (Roohparvar 2008; GCMix Figure 3b).",
        params: &[Param {
            name: "blocks",
            kind: ParamKind::Integer { default: 8, min: 1, max: 65_536 },
            doc: "Full buffer blocks of a plane at which the oldest is merged.",
        }],
    },
    Choice {
        name: "page-buffer",
        doc: "The controller keeps lower pages in RAM until their wordline is complete: helps against program failures, \
              not against power cuts (Yoon et al. 2011; GCMix Figure 3c).",
        params: &[],
    },
    Choice {
        name: "supercap",
        doc: "A capacitor lets a program under way finish when the power goes: helps against power cuts, not against \
              program failures (Kwon et al. 2011).",
        params: &[],
    },
    Choice {
        name: "gcmix",
        doc: "Valid pages of a victim go to lower pages, host writes to the upper pages above them, and the victim is \
              erased afterwards (GCMix section 4); LSB backup where nothing can be paired.",
        params: &[LOW, HIGH, HOLD],
    },
    Choice {
        name: "gcmix-adaptive",
        doc: "`gcmix` while the workload's locality ω is below a threshold, LSB backup otherwise (GCMix section 4.4); \
              needs `separation.dac`.",
        params: &[
            LOW,
            HIGH,
            HOLD,
            Param {
                name: "tau",
                kind: ParamKind::Number { default: 10.0, min: 0.0, max: 1e12 },
                doc: "The threshold τ of ω, which is taken every simulated second.",
            },
        ],
    },
];

/// The seam, for the configuration reader.
pub static SEAM: Seam = Seam { key: "paired_page", doc: "Protection of paired pages.", choices: CHOICES };

/// The axis of host pages that go to a buffer, and of copies.
const AXIS: usize = 1;

/// True if the protection of that name keeps track of lower pages, with blocks of its own.
pub fn keeps_track(name: &str) -> bool {
    Scheme::of(name).keeps_track()
}

/// True if a protection covers two lower pages of a block by each other.
pub fn shares_covers(selection: &Selection) -> bool {
    Scheme::of(selection.name) == Scheme::ParityBackup
}

/// How lower pages are kept safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    /// Not at all.
    None,
    /// Copies in an LSB-only block.
    LsbBackup,
    /// Parities in an LSB-only block.
    ParityBackup,
    /// Host writes pass through LSB-only blocks.
    SlcBuffer,
    /// Copies in volatile memory.
    PageBuffer,
    /// Programs under way are finished on the power that is left.
    Supercap,
    /// Originals in victims whose erase is held back; copies where there is none.
    Mixing,
}

impl Scheme {
    fn of(name: &str) -> Scheme {
        match name {
            "none" => Scheme::None,
            "lsb-backup" => Scheme::LsbBackup,
            "parity-backup" => Scheme::ParityBackup,
            "slc-buffer" => Scheme::SlcBuffer,
            "page-buffer" => Scheme::PageBuffer,
            "supercap" => Scheme::Supercap,
            "gcmix" | "gcmix-adaptive" => Scheme::Mixing,
            name => panic!("`{name}` is not a paired-page protection"),
        }
    }

    /// True if it keeps a block for backups.
    fn keeps_backups(self) -> bool {
        matches!(self, Scheme::LsbBackup | Scheme::ParityBackup | Scheme::Mixing)
    }

    /// True if the FTL follows which lower pages are covered.
    fn keeps_track(self) -> bool {
        self.keeps_backups() || self == Scheme::SlcBuffer
    }
}

/// When host writes are paired with the pages of a victim.
#[derive(Clone, Copy, Debug)]
struct Watermarks {
    /// Free units at which mixing begins.
    low: u32,
    /// Free units at which it is suspended.
    high: u32,
    /// True if victims are kept until nothing depends on them.
    hold: bool,
    /// The threshold of ω.
    tau: Option<f64>,
}

/// The state of a protection in a domain.
#[derive(Clone, Debug, Default)]
struct Guard {
    lowers: Lowers,
    /// The backup unit and its next slot, where backups are made.
    backup: Option<Frontier>,
    /// A block of it has failed: it is erased as soon as nothing in hand needs it.
    backup_has_failed: bool,
    is_mixing: bool,
    /// The plane's logical time at which no victim was found that gains room, if any. The host page that was asked for may be asked for
    /// again before it is placed, which must not draw another victim.
    none_gains_at: Option<u64>,
    /// Empty units whose erase is held back.
    held: Vec<Unit>,
    /// True if a held unit is to be erased before the next host page.
    erases: bool,
    /// Full buffer units, oldest first.
    buffers: VecDeque<Unit>,
    /// True if a collection for want of room began since the last host page.
    was_short: bool,
}

/// A protection that keeps track of lower pages.
#[derive(Clone)]
pub(crate) struct Paired {
    scheme: Scheme,
    watermarks: Option<Watermarks>,
    /// Full buffer units at which the oldest is merged.
    buffer_units: u32,
    /// By domain.
    guards: Vec<Guard>,
    paired_pages: u64,
    host_pages: u64,
}

impl Planned for Paired {
    fn needs(policies: &Policies<'_>, geometry: &Geometry) -> Option<Needs> {
        let scheme = Scheme::of(policies.paired_page.name);
        if !scheme.keeps_track() {
            return None;
        }
        let wordlines = crate::kernel::Wordlines::new(policies.cell, policies.program_order, geometry);
        let needs = Needs { on_demand: true, ..Needs::NONE };
        Some(match scheme {
            Scheme::SlcBuffer => Needs {
                aside: policies.paired_page.integer("blocks"),
                held: wordlines.most_open(),
                on_demand: true,
                ..Needs::of_axis(AXIS, Axis { classes: 2, lsb_only: Some(0), ..Axis::ONE })
            },
            _ => Needs { aside: 1, beside: scheme == Scheme::Mixing, ..needs },
        })
    }

    fn bytes(policies: &Policies<'_>, geometry: &Geometry, _: u64, _: bool) -> Bytes {
        let domains = if keeps_track(policies.paired_page.name) { u64::from(geometry.domains()) } else { 0 };
        Bytes { blocks: domains * size_of::<Guard>() as u64, ..Bytes::default() }
    }

    fn build(kernel: &Kernel, policies: &Policies<'_>, _: &Allocation) -> Result<Option<Paired>, OutOfMemory> {
        Ok(Paired::of(kernel, policies))
    }
}

impl Placing for Paired {
    /// Copies go apart from the host's pages where these go to a buffer.
    #[inline]
    fn class(&self, _: &Kernel, _: Lpn, arrival: Arrival, classes: &mut [usize; AXES]) -> Option<Stream> {
        classes[AXIS] = usize::from(self.scheme == Scheme::SlcBuffer && arrival == Arrival::Copy);
        None
    }

    #[inline]
    fn way(&self, kernel: &Kernel, at: Ppn, _: bool) -> Option<Way> {
        let (unit, slot) = kernel.geometry().unit_and_slot(at);
        let begins_lsb_only = kernel.geometry().page_of_slot(slot) == Page::FIRST && kernel.is_lsb_only(unit);
        begins_lsb_only.then_some(Way::BeginsLsbOnly)
    }

    fn placed(&mut self, kernel: &mut Kernel, page: &NewPage) {
        let cover = match page.origin {
            PageOrigin::Host { .. } | PageOrigin::Map => Cover::None,
            PageOrigin::Copy(from, _) | PageOrigin::Anew(DataSource::Page(from)) => Cover::Copy(from),
            PageOrigin::Anew(_) => Cover::None,
        };
        self.note_program(kernel, page.domain, page.at, cover);
        if let PageOrigin::Host { .. } = page.origin {
            self.host_page_placed(kernel, page.domain, page.at);
        }
    }

    fn padded(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) {
        let cover = if is_by_row(kernel) { Cover::Needless } else { Cover::None };
        self.note_program(kernel, domain, at, cover);
    }

    fn filled(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit) {
        if kernel.state_of(unit) == UnitState::Aside {
            self.guards[domain.index()].buffers.push_back(unit);
        }
    }

    fn sealed(&mut self, kernel: &Kernel, domain: Domain, unit: Unit) {
        self.guards[domain.index()].lowers.forget(kernel, unit);
    }

    fn erased(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, _: Option<Why>) -> bool {
        let is_backup = self.is_backup(domain, unit);
        if is_backup {
            self.guards[domain.index()].lowers.uncover(kernel, unit);
            (self.guards[domain.index()].backup, self.guards[domain.index()].backup_has_failed) = (None, false);
        }
        self.guards[domain.index()].lowers.forget_done(kernel, unit);
        self.set_backup_aside(kernel, domain);
        let held = &mut self.guards[domain.index()].held;
        let before = held.len();
        held.retain(|&held| held != unit);
        is_backup || held.len() < before
    }
}

impl Agenda for Paired {
    #[inline]
    fn is_pending(&self, domain: Domain) -> bool {
        self.guards[domain.index()].erases || self.guards[domain.index()].backup_has_failed
    }

    fn erasable(&self, kernel: &Kernel, domain: Domain) -> Option<Unit> {
        let guard = &self.guards[domain.index()];
        if let Some(backup) = guard.backup.filter(|_| guard.backup_has_failed) {
            return Some(backup.unit);
        }
        let hold = self.watermarks.is_none_or(|watermarks| watermarks.hold);
        guard.held.iter().copied().find(|&unit| !hold || !guard.lowers.depend_on(kernel, unit))
    }

    fn end(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, group: &mut Group) -> Option<VictimEnd> {
        self.end_of_victim(kernel, domain, unit, group)
    }

    fn before_page(&mut self, kernel: &mut Kernel, domain: Domain, at: Ppn, group: &mut Group) -> Option<Op> {
        self.protect(kernel, domain, at, group)
    }

    fn under(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream, may_choose: bool) -> Option<Under> {
        self.page_under(kernel, domain, stream, may_choose)
    }

    fn room(&mut self, kernel: &mut Kernel, domain: Domain, stream: Stream, source: RoomSource) -> bool {
        match source {
            RoomSource::Early => self.merge_full_buffer(kernel, domain, stream),
            RoomSource::Kept => self.give_up_kept(kernel, domain),
            RoomSource::Forced => false,
            RoomSource::InWork => guard::empty_now(kernel, domain),
            RoomSource::Buffered => self.merge_if_short_again(kernel, domain),
            RoomSource::LastResort => self.merge_oldest_buffer(kernel, domain),
        }
    }

    fn combine(
        &mut self,
        kernel: &mut Kernel,
        domain: Domain,
        cause: Cause,
        pages: &[Ppn],
        suits: &mut dyn FnMut(Ppn) -> bool,
    ) -> Option<Combined> {
        let is_ours = cause == Cause::Backup && suits(self.next_backup_page(kernel, domain));
        is_ours.then(|| self.back_up(kernel, domain, pages))
    }
}

impl Restart for Paired {
    /// A failed backup covers nothing, and will be made again.
    fn failed(&mut self, kernel: &Kernel, domain: Domain, at: Ppn) -> bool {
        let is_backup = self.is_backup(domain, kernel.geometry().unit_of(at));
        if is_backup {
            let guard = &mut self.guards[domain.index()];
            guard.lowers.uncover_page(kernel, at);
            if is_by_row(kernel) && kernel.geometry().unit_width > 1 {
                // Its blocks do not stand at one row any more.
                guard.backup = guard.backup.map(|backup| Frontier { slot: kernel.geometry().end_slot(), ..backup });
            }
        }
        is_backup
    }

    /// No more backups go to a unit that has failed, and what it covers is backed up anew. A full buffer unit is emptied like any other; one
    /// whose erase is held back waits for that.
    fn fails(&mut self, _: &mut Kernel, domain: Domain, unit: Unit) -> bool {
        let is_backup = self.is_backup(domain, unit);
        let guard = &mut self.guards[domain.index()];
        guard.backup_has_failed |= is_backup;
        guard.buffers.retain(|&buffer| buffer != unit);
        is_backup
    }

    fn adopt_open(&mut self, kernel: &mut Kernel, domain: Domain, unit: Unit, next: Slot) -> bool {
        self.adopt_open_unit(kernel, domain, unit, next)
    }

    fn adopt_frontier(&mut self, kernel: &Kernel, domain: Domain, unit: Unit, next: Slot, found: &Scanned) {
        self.adopt_lowers(kernel, domain, unit, next, found);
    }

    /// Gives every domain a unit for backups, where the protection keeps one; finds full buffer units, where it has these.
    fn reopen(&mut self, kernel: &mut Kernel) {
        if self.scheme.keeps_backups() {
            kernel.geometry().all_domains().for_each(|domain| self.set_backup_aside(kernel, domain));
        } else {
            for unit in kernel.by_age().into_iter().filter(|&unit| kernel.state_of(unit) == UnitState::Aside) {
                self.guards[kernel.geometry().domain_of_unit(unit).index()].buffers.push_back(unit);
            }
        }
    }

    fn save(&self, kernel: &Kernel, saved: &mut Saved<'_>) {
        for domain in kernel.geometry().all_domains() {
            self.save_domain(kernel, domain, saved);
        }
    }

    fn restore(&mut self, kernel: &mut Kernel, kept: &[Kept], words: &mut slice::Iter<'_, u32>) -> Result<(), String> {
        for domain in kernel.geometry().all_domains() {
            self.adopt_kept(kernel, domain, kept).ok_or("the units that the protection of paired pages keeps")?;
            self.adopt_words(kernel, domain, words).ok_or("the protection of paired pages")?;
        }
        Ok(())
    }

    /// Forgets figures, not what is on flash.
    fn renew(&mut self, _: &mut Kernel, _: &Policies<'_>) {
        (self.paired_pages, self.host_pages) = (0, 0);
        self.guards.iter_mut().for_each(|guard| (guard.is_mixing, guard.none_gains_at) = (false, None));
    }
}

impl Reported for Paired {
    fn figures(&self, figures: &mut Figures) {
        if self.scheme == Scheme::Mixing {
            figures.count("paired_page", "paired_pages", self.paired_pages);
            figures.ratio("paired_page", "paired_fraction", self.paired_pages, self.host_pages);
        }
    }

    fn kept(&self, _: &Kernel, domain: Domain, keepers: &mut Keepers) {
        let guard = &self.guards[domain.index()];
        keepers.aside.extend(guard.buffers.iter().copied());
        keepers.aside.extend(guard.backup.map(|backup| backup.unit));
        keepers.in_work.extend(guard.held.iter().copied());
    }

    fn check(&self, kernel: &Kernel) -> Result<(), String> {
        for (domain, guard) in self.guards.iter().enumerate() {
            let held: BTreeSet<Unit> = guard.held.iter().copied().collect();
            if let Some(unit) = held.iter().find(|&&unit| kernel.state_of(unit) != UnitState::Collecting) {
                return Err(format!("domain {domain} holds unit {unit}, which is {:?}", kernel.state_of(*unit)));
            }
        }
        Ok(())
    }
}

impl Paired {
    /// The protection that was chosen, if it keeps track of lower pages.
    fn of(kernel: &Kernel, policies: &Policies<'_>) -> Option<Paired> {
        let selection = policies.paired_page;
        let scheme = Scheme::of(selection.name);
        if !scheme.keeps_track() {
            return None;
        }
        let domains = kernel.geometry().domains();
        let watermarks = (scheme == Scheme::Mixing).then(|| Watermarks {
            low: kernel.budget().reserve + selection.integer("low"),
            high: selection.integer("high"),
            hold: selection.flag("hold"),
            tau: (selection.name == "gcmix-adaptive").then(|| selection.number("tau")),
        });
        Some(Paired {
            scheme,
            watermarks,
            buffer_units: if scheme == Scheme::SlcBuffer { selection.integer("blocks") } else { 0 },
            guards: vec![Guard::default(); domains as usize],
            paired_pages: 0,
            host_pages: 0,
        })
    }

    /// Where else the data of a page are that a failed program destroyed.
    pub(crate) fn elsewhere(&self, domain: Domain, page: Ppn) -> Option<DataSource> {
        match self.guards[domain.index()].lowers.cover_of(page) {
            Cover::None | Cover::Lost | Cover::Needless => None,
            Cover::Copy(page) => Some(DataSource::Page(page)),
            Cover::Parity { parity, other } => Some(DataSource::Parity(parity, other)),
        }
    }

    /// The page that a page of backup brings back, of all that a scan found.
    pub(crate) fn rescued(&self, kernel: &Kernel, scan: &dyn Scan, at: Ppn, spare: &Spare) -> Option<Rescue> {
        restart::rescued(kernel, scan, at, spare)
    }

    /// Ends the work of a domain: no step is left to be done there.
    pub(crate) fn settled(&mut self, domain: Domain) {
        self.guards[domain.index()].erases = false;
    }

    /// Sets a unit aside for backups, where the protection keeps one and there is none. Where units have failed none may be free: then the
    /// next one that is erased becomes it.
    fn set_backup_aside(&mut self, kernel: &mut Kernel, domain: Domain) {
        let guard = &mut self.guards[domain.index()];
        if self.scheme.keeps_backups() && guard.backup.is_none() && kernel.free(domain) > 0 {
            guard.backup = Some(kernel.set_aside(domain));
        }
    }

    fn is_backup(&self, domain: Domain, unit: Unit) -> bool {
        self.guards[domain.index()].backup.is_some_and(|backup| backup.unit == unit)
    }
}

#[cfg(test)]
mod tests {
    use base::{Cell, Dimensions, Lpn};

    use super::*;
    use crate::sample::{self, FIRST};

    /// A kernel of one plane of MLC blocks, whose pages 0 and 1, 2 and 3 share cells, and a protection.
    fn protected(scheme: &str) -> (Kernel, Paired) {
        let policies = sample::policies(&[("paired_page", scheme, &[])], Cell::Mlc);
        let plane = Geometry::new(Dimensions { blocks_per_plane: 16, pages_per_block: 8, ..Dimensions::ONE_PAGE });
        let (mut kernel, _) = sample::kernel(plane, 8, &policies);
        let mut paired = Paired::of(&kernel, &policies).expect("a protection that keeps track");
        paired.reopen(&mut kernel);
        (kernel, paired)
    }

    /// Writes pages of the host without asking what comes before them.
    fn write(kernel: &mut Kernel, paired: &mut Paired, lpns: std::ops::Range<u32>) -> Vec<Ppn> {
        let pages = sample::write(kernel, Stream::FIRST, lpns);
        pages.iter().for_each(|&at| paired.note_program(kernel, FIRST, at, Cover::None));
        pages
    }

    /// The operation before the next page.
    fn before(kernel: &mut Kernel, paired: &mut Paired, group: &mut Group) -> Option<Op> {
        let at = kernel.next_place(FIRST, Stream::FIRST);
        group.clear();
        paired.before_page(kernel, FIRST, at, group)
    }

    #[test]
    fn a_lower_page_is_backed_up_before_its_wordline_goes_on_if_it_is_worth_it() {
        let (mut kernel, mut paired) = protected("lsb-backup");
        let mut group = Group::EMPTY;
        assert_eq!(before(&mut kernel, &mut paired, &mut group), None, "a first page puts nothing at risk");
        let lower = write(&mut kernel, &mut paired, 0..1)[0];
        assert_eq!(before(&mut kernel, &mut paired, &mut group), Some(Op::Combine));
        assert_eq!(group.pages(), [lower]);
        let backup = paired.back_up(&kernel, FIRST, &[lower]).place.at;
        assert_eq!(before(&mut kernel, &mut paired, &mut group), None, "it is covered");
        assert_eq!(paired.elsewhere(FIRST, lower), Some(DataSource::Page(backup)));
        write(&mut kernel, &mut paired, 1..3);
        kernel.forget(Lpn(2));
        assert_eq!(before(&mut kernel, &mut paired, &mut group), None, "what is stale needs no backup");
    }

    #[test]
    fn a_full_backup_block_is_erased_and_covers_nothing_then() {
        let (mut kernel, mut paired) = protected("lsb-backup");
        let lower = write(&mut kernel, &mut paired, 0..1)[0];
        let unit = kernel.geometry().unit_of(paired.back_up(&kernel, FIRST, &[lower]).place.at);
        for _ in 1..4 {
            paired.back_up(&kernel, FIRST, &[lower]);
        }
        paired.guards[0].lowers.uncover(&kernel, unit);
        let mut group = Group::EMPTY;
        assert_eq!(before(&mut kernel, &mut paired, &mut group), Some(Op::Erase(unit)));
        kernel.free_unit(FIRST, unit);
        assert!(paired.erased(&mut kernel, FIRST, unit, None), "it was this one's");
        assert_eq!(before(&mut kernel, &mut paired, &mut group), Some(Op::Combine));
    }

    #[test]
    fn a_backup_block_that_has_failed_is_erased_at_once_and_another_takes_its_place() {
        let (mut kernel, mut paired) = protected("lsb-backup");
        let lower = write(&mut kernel, &mut paired, 0..1)[0];
        let backup = paired.back_up(&kernel, FIRST, &[lower]).place.at;
        let (unit, mut group) = (kernel.geometry().unit_of(backup), Group::EMPTY);
        assert_eq!((before(&mut kernel, &mut paired, &mut group), paired.is_pending(FIRST)), (None, false));
        let of_data = kernel.geometry().unit_of(lower);
        assert!(!paired.fails(&mut kernel, FIRST, of_data), "a block of data is none of its own");
        assert!(paired.fails(&mut kernel, FIRST, unit));
        assert_eq!((paired.is_pending(FIRST), paired.erasable(&kernel, FIRST)), (true, Some(unit)));
        assert_eq!(paired.elsewhere(FIRST, lower), Some(DataSource::Page(backup)), "until then it covers");
        kernel.retire_unit(unit);
        assert!(paired.erased(&mut kernel, FIRST, unit, None));
        assert!(!paired.is_pending(FIRST) && !paired.is_backup(FIRST, unit) && paired.guards[0].backup.is_some());
        assert_eq!(
            before(&mut kernel, &mut paired, &mut group),
            Some(Op::Combine),
            "what it covered is backed up anew"
        );
    }

    #[test]
    fn without_a_free_block_the_next_one_that_is_erased_takes_backups() {
        let (mut kernel, mut paired) = protected("lsb-backup");
        let unit = paired.guards[0].backup.expect("a block for backups").unit;
        let taken: Vec<Unit> = (0..kernel.free(FIRST)).map(|_| kernel.set_aside(FIRST).unit).collect();
        assert!(paired.fails(&mut kernel, FIRST, unit));
        kernel.retire_unit(unit);
        assert!(paired.erased(&mut kernel, FIRST, unit, None));
        assert!(paired.guards[0].backup.is_none() && !paired.is_pending(FIRST));
        kernel.free_unit(FIRST, taken[0]);
        assert!(!paired.erased(&mut kernel, FIRST, taken[0], None), "it was another one's");
        assert!(paired.is_backup(FIRST, taken[0]));
    }

    #[test]
    fn a_full_buffer_block_that_has_failed_is_emptied_like_any_other() {
        let (mut kernel, mut paired) = protected("slc-buffer");
        let units: Vec<Unit> =
            write(&mut kernel, &mut paired, 0..8).iter().map(|&at| kernel.geometry().unit_of(at)).collect();
        for unit in [units[0], units[4]] {
            paired.filled(&mut kernel, FIRST, unit);
        }
        assert_eq!(paired.guards[0].buffers, [units[0], units[4]]);
        assert!(!paired.fails(&mut kernel, FIRST, units[4]));
        assert_eq!(paired.guards[0].buffers, [units[0]]);
        kernel.withhold(FIRST, units[4]);
        kernel.begin(FIRST, units[4], Why::Retire);
    }

    #[test]
    fn a_victim_is_held_while_a_page_leans_on_it() {
        let (mut kernel, mut paired) = protected("gcmix");
        let pages = write(&mut kernel, &mut paired, 0..8);
        let unit = kernel.geometry().unit_of(pages[0]);
        let job = kernel.take_victim(FIRST, unit, Why::Pairing);
        let lpn = kernel.detach(unit, pages[0]).expect("a valid page");
        let at = kernel.place(FIRST, Stream::FIRST, lpn).at;
        paired.note_program(&kernel, FIRST, at, Cover::Copy(pages[0]));
        (1..8).for_each(|lpn| assert!(kernel.forget(Lpn(lpn)).is_some()));
        kernel.set_pairing(FIRST, Some(job));
        paired.hold_victim(&mut kernel, FIRST);
        assert_eq!(paired.erasable(&kernel, FIRST), None, "the copy is a lower page, and this its only cover");
        let mut group = Group::EMPTY;
        assert_eq!(before(&mut kernel, &mut paired, &mut group), None, "so that it needs no backup");
        write(&mut kernel, &mut paired, 1..2);
        assert_eq!(paired.erasable(&kernel, FIRST), Some(unit), "its wordline is complete");
    }

    #[test]
    fn one_parity_covers_two_pages() {
        let (mut kernel, mut paired) = protected("parity-backup");
        let lower = write(&mut kernel, &mut paired, 0..1)[0];
        let other = Ppn(lower.0 + 2);
        paired.guards[0].lowers.adopt(other, Cover::None);
        let parity = paired.back_up(&kernel, FIRST, &[lower, other]).place.at;
        assert_eq!(paired.elsewhere(FIRST, lower), Some(DataSource::Parity(parity, other)));
        assert_eq!(paired.elsewhere(FIRST, other), Some(DataSource::Parity(parity, lower)));
        assert!(paired.failed(&kernel, FIRST, parity), "the program of a backup is its own affair");
        assert_eq!(paired.elsewhere(FIRST, lower), None);
    }
}
