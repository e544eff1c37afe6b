//! The array as the executors use it: commands by physical page number, with the payload.
//!
//! A command that the array refuses is a fault of the FTL, never of the user, so it ends the run. Faults of
//! the flash itself are armed, happen at the operation they are armed for, and are looked for only where pages
//! have payloads.

use std::sync::Arc;

use base::{Geometry, Lpn, Multiplane, OpKind, Ppn, ReadLimits, Slot, Unit, Wear};
use ftl::Spot;
use nand::{Cached, Nand, Shape, Violation};

/// The array and its addressing.
#[derive(Clone)]
pub(crate) struct Flash {
    geometry: Geometry,
    nand: Nand,
    block_address_constraint: bool,
    multiplane: bool,
    planes_are_independent: bool,
    supply: Supply,
    /// Lower pages that the last failed program destroyed, where the controller keeps them.
    page_buffer: Vec<((u32, u32), Content)>,
}

/// What a page stores: the payload and the spare area; all zero when payloads are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// A [`Stamp`], in place of the data.
    pub(crate) stamp: u64,
    /// What the FTL keeps beside the data.
    pub(crate) spare: u128,
}

impl Content {
    /// What is read where nothing was stored.
    pub(crate) const EMPTY: Content = Content { stamp: 0, spare: 0 };
}

impl Content {
    /// The content with the spare area of its new place: its identity stays.
    #[inline]
    pub(crate) fn tagged(self, tag: u128) -> Content {
        Content { spare: self.spare & ftl::IDENTITY | tag, ..self }
    }
}

/// The exclusive-or of two pages, which is how a parity page is made.
impl std::ops::BitXor for Content {
    type Output = Content;

    fn bitxor(self, other: Content) -> Content {
        Content { stamp: self.stamp ^ other.stamp, spare: self.spare ^ other.spare }
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Programmed {
    Done,
    /// The page counts as programmed, and it and the lower pages of its wordline are lost.
    Failed,
}

impl Programmed {
    /// For callers under which no program failure is ever armed.
    #[inline]
    pub(crate) fn expect_done(self) {
        if self == Programmed::Failed {
            unreachable!("a program failed where no failure was armed");
        }
    }
}

/// A fault, at an operation counted from 0 since it was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The program of that number, counting programs, ends as [`Programmed::Failed`].
    ProgramFailure {
        /// Programs before it.
        at: u64,
    },
    /// The power goes off at the operation of that number, counting page reads, page programs and erases of units.
    PowerCut {
        /// Operations before it.
        at: u64,
        /// Whether the operation has begun, and is interrupted.
        during: bool,
    },
}

/// The power, and the fault that waits for its turn.
#[derive(Clone, Copy, Debug)]
struct Supply {
    armed: Option<Fault>,
    /// Operations begun since the last fault was armed.
    operations: u64,
    /// Programs among them.
    programs: u64,
    is_off: bool,
    aid: Aid,
}

/// What the device has against faults that no FTL sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aid {
    /// Nothing.
    None,
    /// Power for the program under way.
    Supercap,
    /// Lower pages in volatile memory, until their wordline is complete.
    PageBuffer,
}

impl Aid {
    /// What belongs to a protection of paired pages.
    pub(crate) fn of(paired_page: &str) -> Aid {
        match paired_page {
            "supercap" => Aid::Supercap,
            "page-buffer" => Aid::PageBuffer,
            _ => Aid::None,
        }
    }
}

/// What becomes of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Completes,
    /// It begins and does not come to its end.
    Fails,
    /// It never begins.
    IsIgnored,
}

impl Supply {
    /// The fate of the next command.
    fn next(&mut self, kind: OpKind) -> Fate {
        if self.is_off {
            return Fate::IsIgnored;
        }
        let is_program = kind == OpKind::Program;
        let fate = match self.armed {
            Some(Fault::ProgramFailure { at }) if is_program && at == self.programs => {
                self.armed = None;
                Fate::Fails
            }
            Some(Fault::PowerCut { at, during }) if at == self.operations => {
                (self.armed, self.is_off) = (None, true);
                match kind {
                    _ if !during => return Fate::IsIgnored,
                    // Its energy is for the data on their way, not for an erase.
                    OpKind::Program if self.aid == Aid::Supercap => Fate::Completes,
                    OpKind::Program | OpKind::Erase | OpKind::Read => Fate::Fails,
                }
            }
            _ => Fate::Completes,
        };
        self.operations += 1;
        self.programs += u64::from(is_program);
        fate
    }
}

/// What a scan of the array finds in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing was programmed since the last erase.
    Unprogrammed,
    /// Something was, and cannot be read.
    Lost,
    /// Guard levels of its wordline.
    Guard,
    /// A page that can be read.
    Programmed {
        /// Its spare area.
        spare: u128,
    },
    /// The erase of the slot's block was interrupted.
    Torn,
}

/// What stands for a page's data: which logical page it is, and which of its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) lpn: Lpn,
    pub(crate) version: u32,
}

impl Stamp {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.lpn.0) << 32 | u64::from(self.version)
    }

    pub(crate) fn unpack(bits: u64) -> Stamp {
        Stamp { lpn: Lpn((bits >> 32) as u32), version: bits as u32 }
    }
}

/// What the array's rules need to know of the device.
fn shape(geometry: &Geometry, device: &config::model::Device) -> Shape {
    Shape {
        planes: geometry.planes(),
        planes_per_die: geometry.planes_per_die,
        blocks_per_plane: geometry.blocks_per_plane,
        pages_per_block: geometry.pages_per_block,
        multiplane: device.multiplane,
        cell: device.cell,
        program_order: device.program_order,
    }
}

impl Flash {
    /// Bytes of an array.
    pub(crate) fn bytes(geometry: &Geometry, device: &config::model::Device, payload: bool) -> u64 {
        Nand::bytes(&shape(geometry, device), payload)
    }

    /// Keeps the errors of pages from now on.
    pub(crate) fn keep_errors(&mut self, wear: Arc<Wear>) {
        self.nand.keep_errors(wear);
    }

    /// Keeps how far reads disturb pages from now on.
    pub(crate) fn keep_reads(&mut self, limits: ReadLimits) {
        self.nand.keep_reads(limits);
    }

    /// A pristine array. Where there is a supercap, a program that the power is cut during is still completed.
    pub(crate) fn new(geometry: Geometry, device: &config::model::Device, payload: bool, aid: Aid) -> Flash {
        let multiplane = device.multiplane;
        Flash {
            geometry,
            nand: Nand::new(shape(&geometry, device), payload),
            block_address_constraint: multiplane == Multiplane::Bac,
            multiplane: multiplane != Multiplane::Off,
            planes_are_independent: multiplane == Multiplane::Any,
            supply: Supply { armed: None, operations: 0, programs: 0, is_off: false, aid },
            page_buffer: Vec::new(),
        }
    }

    pub(crate) fn nand(&self) -> &Nand {
        &self.nand
    }

    pub(crate) fn nand_mut(&mut self) -> &mut Nand {
        &mut self.nand
    }

    /// Global block number and page offset.
    #[inline]
    fn address(&self, ppn: Ppn) -> (u32, u32) {
        if self.geometry.unit_width == 1 {
            // Units are blocks and slots are pages, so two of the three divisions fall away.
            let (unit, slot) = self.geometry.unit_and_slot(ppn);
            (unit.number(), slot.number())
        } else {
            let place = self.geometry.place(ppn);
            (place.block, place.page)
        }
    }

    /// The page offset of a page in its block.
    #[inline]
    pub(crate) fn page_offset(&self, ppn: Ppn) -> u32 {
        self.address(ppn).1
    }

    /// Reads a page. One that lost its content is empty, as all are when payloads are off.
    #[inline(always)] // Once per page of a collection.
    pub(crate) fn read(&mut self, ppn: Ppn) -> Content {
        let (block, page) = self.address(ppn);
        if self.nand.has_payload() {
            return self.read_content(block, page);
        }
        obey(self.nand.read(block, page));
        Content::EMPTY
    }

    /// Programs a page.
    #[inline(always)] // As above.
    pub(crate) fn program(&mut self, ppn: Ppn, content: Content) -> Programmed {
        let (block, page) = self.address(ppn);
        if self.nand.has_payload() {
            return self.program_content(block, page, content);
        }
        obey(self.nand.program(block, page));
        Programmed::Done
    }

    /// Reads a page where pages store nothing and units are blocks.
    #[inline(always)]
    pub(crate) fn read_spot(&mut self, spot: Spot) {
        obey(self.nand.read(spot.unit.number(), spot.slot.number()));
    }

    /// A read of a page, where pages store nothing, does not take place.
    pub(crate) fn take_back_read(&mut self, ppn: Ppn) {
        self.nand.take_back_read(self.block_of(ppn));
    }

    /// The last program of a block, where pages store nothing, does not take place.
    pub(crate) fn take_back_program(&mut self, ppn: Ppn) {
        self.nand.take_back_program(self.block_of(ppn));
    }

    /// Programs a page where pages store nothing and units are blocks.
    #[inline(always)]
    pub(crate) fn program_spot(&mut self, spot: Spot) {
        obey(self.nand.program(spot.unit.number(), spot.slot.number()));
    }

    /// Copies a page inside its plane. The controller changes only what its spare area says of the place, which goes with the
    /// command's address cycles.
    #[inline(never)]
    pub(crate) fn copyback(&mut self, from: Ppn, to: Ppn, tag: u128) -> Programmed {
        let (from, to) = (self.address(from), self.address(to));
        match self.fate_of_program() {
            Fate::Completes => {
                obey(self.nand.copyback(from, to));
                if self.nand.has_payload() && !self.nand.is_lost(to.0, to.1) {
                    let (stamp, spare) = (self.nand.stamp(to.0, to.1), self.nand.spare(to.0, to.1));
                    let content = Content { stamp, spare }.tagged(tag);
                    self.nand.store(to.0, to.1, content.stamp, content.spare);
                }
                Programmed::Done
            }
            Fate::Fails => self.fail_program(to.0, to.1),
            Fate::IsIgnored => Programmed::Done,
        }
    }

    /// The fate of a program that stores no data of the controller's; without payloads there are no faults.
    fn fate_of_program(&mut self) -> Fate {
        if self.nand.has_payload() { self.supply.next(OpKind::Program) } else { Fate::Completes }
    }

    /// Erases the blocks of a reclaim unit; returns how many they are.
    pub(crate) fn erase(&mut self, unit: Unit) -> u64 {
        let fate = if self.nand.has_payload() { self.supply.next(OpKind::Erase) } else { Fate::Completes };
        for lane in 0..self.geometry.unit_width {
            let block = self.geometry.block_of(unit, lane);
            match fate {
                Fate::Completes => obey(self.nand.erase(block)),
                Fate::Fails => obey(self.nand.tear_erase(block)),
                Fate::IsIgnored => {}
            }
        }
        u64::from(self.geometry.unit_width)
    }

    #[inline(never)]
    fn read_content(&mut self, block: u32, page: u32) -> Content {
        if self.supply.next(OpKind::Read) != Fate::Completes {
            return Content::EMPTY;
        }
        obey(self.nand.read(block, page));
        Content { stamp: self.nand.stamp(block, page), spare: self.nand.spare(block, page) }
    }

    #[inline(never)]
    fn program_content(&mut self, block: u32, page: u32, content: Content) -> Programmed {
        match self.supply.next(OpKind::Program) {
            Fate::Completes => {
                obey(self.nand.program(block, page));
                self.nand.store(block, page, content.stamp, content.spare);
            }
            Fate::Fails => return self.fail_program(block, page),
            Fate::IsIgnored => {}
        }
        Programmed::Done
    }

    /// A program that does not come to its end.
    fn fail_program(&mut self, block: u32, page: u32) -> Programmed {
        self.fill_page_buffer(block, page);
        obey(self.nand.fail_program(block, page));
        self.told_of_failure()
    }

    /// What is told of a failure: nothing if it is because the power went off.
    fn told_of_failure(&self) -> Programmed {
        if self.supply.is_off { Programmed::Done } else { Programmed::Failed }
    }

    /// What a page buffer still holds of the wordline that a program is about to destroy. It keeps every lower
    /// page until its wordline is complete; here it is filled when it is needed, with the same result.
    fn fill_page_buffer(&mut self, block: u32, page: u32) {
        self.page_buffer.clear();
        if self.supply.aid == Aid::PageBuffer && !self.supply.is_off {
            for lower in (0..page).filter(|&lower| self.nand.share_wordline(lower, page)) {
                let content = Content { stamp: self.nand.stamp(block, lower), spare: self.nand.spare(block, lower) };
                self.page_buffer.push(((block, lower), content));
            }
        }
    }

    /// What the page buffer holds of a lower page that a failed program destroyed.
    pub(crate) fn buffered(&self, ppn: Ppn) -> Option<Content> {
        let address = self.address(ppn);
        self.page_buffer.iter().find(|(at, _)| *at == address).map(|(_, content)| *content)
    }

    /// Whether the power is off. Commands do nothing then and reads are empty, so that whoever sends them comes to
    /// his end as if nothing had happened; what he believes then is worth nothing.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.supply.is_off
    }

    /// Whether two pages may go into one multi-plane command, given that their planes are distinct.
    #[inline]
    pub(crate) fn may_share_command(&self, first: Ppn, second: Ppn) -> bool {
        let (first_block, first_page) = self.address(first);
        let (second_block, second_page) = self.address(second);
        let fits = first_page == second_page || self.planes_are_independent;
        self.multiplane && fits && self.same_block_offset(first_block, second_block)
    }

    /// Whether the pages of a multi-plane command may differ in their offset, hence in their type.
    #[inline]
    pub(crate) fn planes_are_independent(&self) -> bool {
        self.planes_are_independent
    }

    /// Whether two blocks may go into one multi-plane erase, given that their planes are distinct.
    pub(crate) fn may_share_erase(&self, first_unit: Unit, second_unit: Unit) -> bool {
        let blocks = (self.geometry.block_of(first_unit, 0), self.geometry.block_of(second_unit, 0));
        self.multiplane && self.same_block_offset(blocks.0, blocks.1)
    }

    #[inline]
    fn same_block_offset(&self, first: u32, second: u32) -> bool {
        let blocks = self.geometry.blocks_per_plane;
        !self.block_address_constraint || first % blocks == second % blocks
    }

    /// Has the array confirm that pages may share a command; the scheduler made sure, and the array checks.
    #[inline]
    pub(crate) fn check_shared(&self, kind: OpKind, ppns: &[Ppn]) {
        if ppns.len() > 1 {
            let mut places = [(0, 0); ftl::MAX_LANES];
            for (place, &ppn) in places.iter_mut().zip(ppns) {
                *place = self.address(ppn);
            }
            obey(self.nand.check_multiplane(kind, &places[..ppns.len()]));
        }
    }
}

// Wordlines that are programmed as a whole.
impl Flash {
    /// The block of a page.
    pub(crate) fn block_of(&self, ppn: Ppn) -> u32 {
        self.address(ppn).0
    }

    /// How often the block of a page was erased.
    pub(crate) fn erases_of(&self, ppn: Ppn) -> u32 {
        self.nand.blocks()[self.address(ppn).0 as usize].erases
    }

    /// Whether all pages of a page's wordline are placed.
    #[inline]
    pub(crate) fn is_whole(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        self.nand.is_whole(block, page)
    }

    /// Whether a page is the last one of its wordline.
    pub(crate) fn is_last_of_wordline(&self, ppn: Ppn) -> bool {
        let page = self.page_offset(ppn);
        self.nand.last_of_wordline(page) == page
    }

    /// Whether all pages of the wordline behind a page's are placed as well, if there is one.
    pub(crate) fn is_next_whole(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        let next = self.nand.last_of_wordline(page) + 1;
        next == self.geometry.pages_per_block || self.nand.is_whole(block, next)
    }

    /// The last page of the wordline of a page.
    pub(crate) fn last_of_wordline(&self, page: u32) -> u32 {
        self.nand.last_of_wordline(page)
    }

    /// The last page of the wordline before that of a last page, and its block.
    pub(crate) fn last_of_wordline_before(&self, ppn: Ppn) -> Option<(u32, u32)> {
        let (block, page) = self.address(ppn);
        let bits = self.nand.last_of_wordline(0) + 1;
        page.checked_sub(bits).map(|before| (block, before))
    }

    /// Whether a page is the last one of its block.
    pub(crate) fn is_last_of_block(&self, ppn: Ppn) -> bool {
        self.page_offset(ppn) + 1 == self.geometry.pages_per_block
    }

    /// Wordlines are programmed in two passes from now on.
    pub(crate) fn begin_passes(&mut self) {
        self.nand.begin_passes();
    }

    /// Whether a page's wordline has had its second pass, or has it now.
    #[inline]
    pub(crate) fn is_final(&self, ppn: Ppn) -> bool {
        self.is_final_at(self.address(ppn))
    }

    /// The same of a page of a block.
    #[inline]
    pub(crate) fn is_final_at(&self, (block, page): (u32, u32)) -> bool {
        self.nand.is_final(block, page)
    }

    /// Programs the wordline of a page coarsely, where there are two passes.
    pub(crate) fn first_pass(&mut self, ppn: Ppn) {
        let (block, page) = self.address(ppn);
        obey(self.nand.first_pass(block, page));
    }

    /// Programs the wordline of a page finely, likewise.
    pub(crate) fn second_pass(&mut self, ppn: Ppn) {
        let (block, page) = self.address(ppn);
        obey(self.nand.second_pass(block, page));
    }

    /// Has the array confirm that pages can be read, likewise.
    pub(crate) fn check_final(&self, ppns: &[Ppn]) {
        for (block, page) in ppns.iter().map(|&ppn| self.address(ppn)) {
            obey(self.nand.check_final(block, page));
        }
    }

    /// Has the array confirm that the wordlines of pages are complete.
    pub(crate) fn check_whole(&self, ppns: &[Ppn]) {
        for (block, page) in ppns.iter().map(|&ppn| self.address(ppn)) {
            obey(self.nand.check_whole(block, page));
        }
    }

    /// What a page holds that waits in the controller.
    pub(crate) fn waiting(&self, ppn: Ppn) -> Content {
        let (block, page) = self.address(ppn);
        Content { stamp: self.nand.stamp(block, page), spare: self.nand.spare(block, page) }
    }
}

// Suspended operations.
impl Flash {
    /// Whether a page can be read while an operation on `suspended`, of that kind, is suspended.
    pub(crate) fn may_read_while_suspended(&self, kind: OpKind, suspended: &[Ppn], ppn: Ppn) -> bool {
        self.while_suspended((kind, suspended), OpKind::Read, &[ppn]).is_ok()
    }

    /// Has the array confirm that a die takes a command while an operation is suspended.
    pub(crate) fn check_while_suspended(&self, suspended: (OpKind, &[Ppn]), kind: OpKind, ppns: &[Ppn]) {
        obey(self.while_suspended(suspended, kind, ppns));
    }

    fn while_suspended(&self, (suspended, of): (OpKind, &[Ppn]), kind: OpKind, ppns: &[Ppn]) -> Result<(), Violation> {
        let (mut halves, mut places) = ([(0, 0); ftl::MAX_LANES], [(0, 0); ftl::MAX_LANES]);
        for (place, &ppn) in halves.iter_mut().zip(of).chain(places.iter_mut().zip(ppns)) {
            *place = self.address(ppn);
        }
        self.nand.check_while_suspended((suspended, &halves[..of.len()]), kind, &places[..ppns.len()])
    }
}

// Cache mode.
impl Flash {
    /// Has the array confirm that a die takes a command for these pages in cache mode, behind one that is not done.
    pub(crate) fn check_cached(&self, running: Cached, next: Cached, ppns: &[Ppn]) {
        let mut places = [(0, 0); ftl::MAX_LANES];
        for (place, &ppn) in places.iter_mut().zip(ppns) {
            *place = self.address(ppn);
        }
        obey(self.nand.check_cached(running, next, &places[..ppns.len()]));
    }
}

// Read disturb.
impl Flash {
    /// Reprograms an MSB page in place. Its content is lost however that ends; if it fails, the other pages of its wordline keep
    /// theirs, and it may be reprogrammed again.
    pub(crate) fn reprogram(&mut self, ppn: Ppn) -> Programmed {
        let (block, page) = self.address(ppn);
        match self.fate_of_program() {
            Fate::Completes => obey(self.nand.reprogram(block, page)),
            Fate::Fails => {
                obey(self.nand.fail_reprogram(block, page));
                return self.told_of_failure();
            }
            Fate::IsIgnored => {}
        }
        Programmed::Done
    }

    /// Programs an MSB page in its turn as a guard page: it holds nothing, not even a spare area. If it fails, the lower pages of
    /// its wordline are lost.
    pub(crate) fn program_guard(&mut self, ppn: Ppn) -> Programmed {
        let (block, page) = self.address(ppn);
        match self.fate_of_program() {
            Fate::Completes => obey(self.nand.program_guard(block, page)),
            Fate::Fails => {
                self.fill_page_buffer(block, page);
                obey(self.nand.fail_program_guard(block, page));
                return self.told_of_failure();
            }
            Fate::IsIgnored => {}
        }
        Programmed::Done
    }

    /// Page reads of a block since its last erase, by its number in the device.
    pub(crate) fn reads_of(&self, block: u32) -> u32 {
        self.nand.blocks()[block as usize].reads
    }
}

// Faults, and what is there after them.
impl Flash {
    /// Arms a fault in place of the one that was armed, and counts operations anew.
    ///
    /// # Panics
    /// If pages have no payloads: there would be nothing to lose.
    pub(crate) fn arm(&mut self, fault: Fault) {
        assert!(self.nand.has_payload(), "faults are armed only where pages have payloads");
        self.supply = Supply { armed: Some(fault), operations: 0, programs: 0, ..self.supply };
    }

    /// Operations begun since a fault was armed: page reads, page programs, erases of units. Counted only where
    /// pages have payloads.
    pub(crate) fn operations(&self) -> u64 {
        self.supply.operations
    }

    /// Switches the power on.
    pub(crate) fn power_on(&mut self) {
        self.supply.is_off = false;
        self.page_buffer.clear();
        self.nand.cycle_power();
    }

    /// Whether a page was programmed since the last erase.
    pub(crate) fn is_programmed(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        self.nand.is_programmed(block, page)
    }

    /// Whether a page lost its content: its read ended in an error that cannot be corrected.
    pub(crate) fn is_lost(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        !self.supply.is_off && self.nand.is_lost(block, page)
    }

    /// Has the erased block of a page use its LSB pages only, until its next erase.
    pub(crate) fn use_lsb_only(&mut self, first: Ppn) {
        if !self.supply.is_off {
            let (block, _) = self.address(first);
            obey(self.nand.use_lsb_only(block));
        }
    }

    /// Whether the erase of a unit was interrupted: it has to be erased again before it is used.
    pub(crate) fn is_torn(&self, unit: Unit) -> bool {
        (0..self.geometry.unit_width)
            .any(|lane| self.nand.blocks()[self.geometry.block_of(unit, lane) as usize].is_torn())
    }

    /// What is in the slots of a unit, in order. Reading a spare area takes a page read, which is counted by
    /// whoever scans: nothing is counted and no fault happens here.
    pub(crate) fn scan(&self, unit: Unit) -> impl Iterator<Item = Found> {
        assert!(!self.supply.is_off, "nothing is found with the power off");
        self.geometry.slots_from(Slot::FIRST).map(move |slot| {
            let block = self.geometry.block_of(unit, self.geometry.lane_of_slot(slot));
            let page = self.geometry.page_of_slot(slot);
            if self.nand.blocks()[block as usize].is_torn() {
                Found::Torn
            } else if !self.nand.is_programmed(block, page) {
                Found::Unprogrammed
            } else if !self.nand.holds_data(block, page) {
                if self.nand.has_guard_levels(block, page) { Found::Guard } else { Found::Lost }
            } else {
                Found::Programmed { spare: self.nand.spare(block, page) }
            }
        })
    }
}

#[inline]
fn obey(result: Result<(), Violation>) {
    if let Err(violation) = result {
        refuse(violation);
    }
}

#[cold]
fn refuse(violation: Violation) -> ! {
    panic!("the flash array refused a command of the FTL: {violation}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One die of two planes of blocks of 8 pages; a unit is a pair of blocks.
    fn flash(has_supercap: bool) -> Flash {
        static PRISTINE: std::sync::OnceLock<Flash> = std::sync::OnceLock::new();
        let mut flash = PRISTINE.get_or_init(|| pristine("stamp")).clone();
        flash.supply.aid = if has_supercap { Aid::Supercap } else { Aid::None };
        flash
    }

    fn pristine(payload: &str) -> Flash {
        let sets = [
            "device.channels=1",
            "device.chips_per_channel=1",
            "device.dies_per_chip=1",
            "device.planes_per_die=2",
            "device.blocks_per_plane=16",
            "device.pages_per_block=8",
            "device.user_capacity=\"1MiB\"",
            "device.cell=\"mlc\"",
            "ftl.allocation=\"F\"",
            "ftl.reclaim_unit=\"twin\"",
            &format!("run.payload=\"{payload}\""),
        ]
        .map(str::to_string);
        let base = config::Base::Preset("tbm-small".into());
        let config = crate::load(&base, &sets, None).map_err(|problems| problems.to_string()).unwrap().config;
        let geometry = crate::gang::geometry(&config);
        assert_eq!(geometry.unit_width, 2);
        Flash::new(geometry, &config.device, payload == "stamp", Aid::None)
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Command {
        Read(Ppn),
        Program(Ppn, Content),
        Erase(Unit),
    }

    /// Carries a command out; what it returned.
    fn send(flash: &mut Flash, command: Command) -> (Option<Content>, Option<Programmed>) {
        match command {
            Command::Read(ppn) => (Some(flash.read(ppn)), None),
            Command::Program(ppn, content) => (None, Some(flash.program(ppn, content))),
            Command::Erase(unit) => {
                assert_eq!(flash.erase(unit), 2);
                (None, None)
            }
        }
    }

    /// Legal commands over three units, a failed program before any of which leaves the rest legal.
    fn script(seed: u64) -> Vec<Command> {
        let mut random = engine::Chance::new(seed, "script");
        let geometry = flash(false).geometry;
        let (mut filled, mut commands) = ([0u32; 3], Vec::new());
        for _ in 0..120 {
            let unit = Unit::new(random.below_u32(3));
            let slots = &mut filled[unit.index()];
            if *slots == geometry.unit_slots() || random.below(40) == 0 {
                *slots = 0;
                commands.push(Command::Erase(unit));
            } else if *slots > 0 && random.below(4) == 0 {
                commands.push(Command::Read(geometry.ppn(unit, Slot::new(random.below_u32(*slots)))));
            } else {
                let content = Content { stamp: random.next(), spare: u128::from(random.next()) << 50 };
                commands.push(Command::Program(geometry.ppn(unit, Slot::new(*slots)), content));
                *slots += 1;
            }
        }
        commands
    }

    fn programs(commands: &[Command]) -> usize {
        commands.iter().filter(|command| matches!(command, Command::Program(..))).count()
    }

    /// What the first commands leave, and then one that is begun and not finished.
    fn interrupted(commands: &[Command], at: usize) -> Flash {
        let mut flash = flash(false);
        for &command in &commands[..at] {
            let _ = send(&mut flash, command);
        }
        match commands[at] {
            Command::Read(_) => {}
            Command::Program(ppn, _) => {
                let (block, page) = flash.address(ppn);
                flash.nand.fail_program(block, page).unwrap();
            }
            Command::Erase(unit) => {
                for lane in 0..2 {
                    flash.nand.tear_erase(flash.geometry.block_of(unit, lane)).unwrap();
                }
            }
        }
        flash
    }

    #[test]
    fn a_power_cut_at_any_operation_leaves_what_was_done_before() {
        for seed in 0..4 {
            let commands = script(seed);
            for at in 0..commands.len() {
                for (during, has_supercap) in [(false, false), (false, true), (true, false), (true, true)] {
                    let mut flash = flash(has_supercap);
                    flash.arm(Fault::PowerCut { at: at as u64, during });
                    for (index, &command) in commands.iter().enumerate() {
                        let returned = send(&mut flash, command);
                        assert_eq!(flash.is_off(), index >= at);
                        if flash.is_off() {
                            assert!(matches!(returned, (None | Some(Content::EMPTY), None | Some(Programmed::Done))));
                        }
                    }
                    let is_program = matches!(commands[at], Command::Program(..));
                    let expected = match (during, has_supercap && is_program) {
                        (true, false) => interrupted(&commands, at),
                        (true, true) => replayed(&commands[..=at]),
                        (false, _) => replayed(&commands[..at]),
                    };
                    assert_eq!(
                        flash.nand.save(),
                        expected.nand.save(),
                        "seed {seed}, at {at}, {during}, {has_supercap}"
                    );
                    assert_eq!(flash.operations(), at as u64 + u64::from(during));
                }
            }
        }
    }

    fn replayed(commands: &[Command]) -> Flash {
        let mut flash = flash(false);
        for &command in commands {
            assert_ne!(send(&mut flash, command).1, Some(Programmed::Failed));
        }
        flash
    }

    #[test]
    fn a_program_failure_is_told_and_the_power_stays_on() {
        let commands = script(7);
        for at in 0..programs(&commands) {
            let mut flash = flash(true);
            flash.arm(Fault::ProgramFailure { at: at as u64 });
            let mut failed = Vec::new();
            for (index, &command) in commands.iter().enumerate() {
                if send(&mut flash, command).1 == Some(Programmed::Failed) {
                    failed.push(index);
                }
            }
            let [failed] = failed[..] else { panic!("{failed:?}") };
            assert_eq!(programs(&commands[..failed]), at);
            assert!(!flash.is_off());
            assert_eq!(flash.operations(), commands.len() as u64);
            let mut expected = interrupted(&commands, failed);
            for &command in &commands[failed + 1..] {
                let _ = send(&mut expected, command);
            }
            assert_eq!(flash.nand.save(), expected.nand.save());
        }
    }

    #[test]
    fn with_the_power_off_nothing_happens_and_nothing_is_refused() {
        let mut flash = flash(false);
        let [first, second] = [0, 1].map(|slot| flash.geometry.ppn(Unit::new(0), Slot::new(slot)));
        flash.program(first, Content { stamp: 5, spare: 6 }).expect_done();
        flash.arm(Fault::PowerCut { at: 0, during: false });
        flash.program(second, Content { stamp: 7, spare: 8 }).expect_done();
        let before = flash.nand.save();
        flash.program(first, Content { stamp: 9, spare: 9 }).expect_done();
        assert_eq!(flash.read(first), Content::EMPTY);
        assert_eq!(flash.read(second), Content::EMPTY);
        flash.use_lsb_only(flash.geometry.ppn(Unit::new(0), Slot::FIRST));
        flash.erase(Unit::new(0));
        assert!(!flash.is_lost(first));
        assert_eq!((flash.nand.save(), flash.operations()), (before, 0));
        flash.power_on();
        assert_eq!(flash.read(first), Content { stamp: 5, spare: 6 });
        flash.program(second, Content { stamp: 7, spare: 8 }).expect_done();
    }

    #[test]
    fn faults_come_one_after_the_other() {
        let mut flash = flash(false);
        let page = |flash: &Flash, slot| flash.geometry.ppn(Unit::new(1), Slot::new(slot));
        flash.arm(Fault::ProgramFailure { at: 3 });
        flash.arm(Fault::PowerCut { at: 0, during: true });
        flash.erase(Unit::new(1));
        assert!(flash.is_off() && flash.is_torn(Unit::new(1)) && !flash.is_torn(Unit::new(0)));
        // A cut during the recovery is armed before the power is back.
        flash.arm(Fault::PowerCut { at: 1, during: false });
        flash.power_on();
        flash.erase(Unit::new(1));
        assert!(!flash.is_torn(Unit::new(1)) && !flash.is_off());
        flash.program(page(&flash, 0), Content::EMPTY).expect_done();
        assert!(flash.is_off());
        flash.power_on();
        for slot in 0..4 {
            flash.program(page(&flash, slot), Content::EMPTY).expect_done();
        }
        assert!((0..4).all(|slot| !flash.is_lost(page(&flash, slot))), "the replaced fault never happens");
    }

    #[test]
    fn a_scan_finds_what_is_there() {
        use Found::{Lost, Programmed as Holds, Torn, Unprogrammed};
        let mut flash = flash(false);
        let page = |flash: &Flash, unit, slot| flash.geometry.ppn(Unit::new(unit), Slot::new(slot));
        let found = |flash: &Flash, unit| -> Vec<Found> { flash.scan(Unit::new(unit)).take(6).collect() };
        // Slots 0 and 1 are page 0 (LSB) of the two blocks, 2 and 3 page 1 (MSB), and so on.
        for slot in 0..2 {
            flash.program(page(&flash, 0, slot), Content { stamp: 1, spare: 10 + u128::from(slot) }).expect_done();
        }
        flash.arm(Fault::ProgramFailure { at: 0 });
        let failing = page(&flash, 0, 2);
        assert_eq!(flash.program(failing, Content { stamp: 1, spare: 12 }), Programmed::Failed);
        assert_eq!(found(&flash, 0), [Lost, Holds { spare: 11 }, Lost, Unprogrammed, Unprogrammed, Unprogrammed]);
        assert!(flash.is_lost(failing) && flash.is_lost(page(&flash, 0, 0)) && !flash.is_lost(page(&flash, 0, 1)));
        assert_eq!(flash.read(failing), Content::EMPTY);

        flash.use_lsb_only(flash.geometry.ppn(Unit::new(1), Slot::FIRST));
        for (slot, spare) in [(0, 1), (1, 2), (4, 3)] {
            flash.program(page(&flash, 1, slot), Content { stamp: 0, spare }).expect_done();
        }
        let lsb = [1, 2].map(|spare| Holds { spare });
        assert_eq!(found(&flash, 1), [lsb[0], lsb[1], Unprogrammed, Unprogrammed, Holds { spare: 3 }, Unprogrammed]);

        flash.arm(Fault::PowerCut { at: 0, during: true });
        flash.erase(Unit::new(1));
        flash.power_on();
        assert_eq!(found(&flash, 1), [Torn; 6]);
        flash.erase(Unit::new(1));
        assert_eq!(found(&flash, 1), [Unprogrammed; 6]);
        assert_eq!(flash.scan(Unit::new(1)).count(), 16);
    }

    /// Fills a block of a unit, of both planes in turn, up to an MSB page of it; that page.
    fn filled_to_msb(flash: &mut Flash, unit: u32) -> Ppn {
        // Slots 0 and 1 are page 0 (LSB) of the two blocks, 2 is page 1 (MSB) of the first.
        let page = |flash: &Flash, slot| flash.geometry.ppn(Unit::new(unit), Slot::new(slot));
        for slot in 0..2 {
            flash.program(page(flash, slot), Content { stamp: 1 + u64::from(slot), spare: 1 }).expect_done();
        }
        page(flash, 2)
    }

    fn lsb_of(flash: &Flash, msb: Ppn) -> Ppn {
        let (unit, slot) = flash.geometry.unit_and_slot(msb);
        flash.geometry.ppn(unit, Slot::new(slot.number() - 2))
    }

    #[test]
    fn a_failed_reprogram_leaves_the_lower_page() {
        let mut flash = flash(false);
        let msb = filled_to_msb(&mut flash, 0);
        flash.program(msb, Content { stamp: 5, spare: 6 }).expect_done();
        flash.arm(Fault::ProgramFailure { at: 0 });
        assert_eq!(flash.reprogram(msb), Programmed::Failed);
        let lsb = lsb_of(&flash, msb);
        assert!(flash.is_lost(msb) && !flash.is_lost(lsb));
        assert_eq!(flash.read(lsb), Content { stamp: 1, spare: 1 });
        flash.arm(Fault::PowerCut { at: 0, during: true });
        flash.reprogram(msb).expect_done();
        assert!(flash.is_off());
        flash.reprogram(msb).expect_done();
        flash.power_on();
        assert!(flash.is_lost(msb) && !flash.nand.blocks()[0].is_low_density());
        assert_eq!(flash.read(lsb), Content { stamp: 1, spare: 1 });
        flash.arm(Fault::PowerCut { at: 1, during: false });
        flash.reprogram(msb).expect_done();
        assert!(flash.nand.blocks()[0].is_low_density() && !flash.is_off());
        assert_eq!((flash.operations(), flash.reads_of(0)), (1, 2));
    }

    #[test]
    fn a_failed_guard_page_takes_the_lower_page_along() {
        for aid in [Aid::None, Aid::PageBuffer, Aid::Supercap] {
            let mut flash = flash(false);
            flash.supply.aid = aid;
            let msb = filled_to_msb(&mut flash, 0);
            let lsb = lsb_of(&flash, msb);
            flash.arm(Fault::ProgramFailure { at: 0 });
            assert_eq!(flash.program_guard(msb), Programmed::Failed);
            assert!(flash.is_lost(msb) && flash.is_lost(lsb));
            let kept = (aid == Aid::PageBuffer).then_some(Content { stamp: 1, spare: 1 });
            assert_eq!(flash.buffered(lsb), kept);

            let msb = filled_to_msb(&mut flash, 1);
            let lsb = lsb_of(&flash, msb);
            flash.arm(Fault::PowerCut { at: 0, during: true });
            flash.program_guard(msb).expect_done();
            flash.power_on();
            let completes = aid == Aid::Supercap;
            assert_eq!((flash.is_lost(msb), flash.is_lost(lsb)), (!completes, !completes));
            assert!(flash.is_programmed(msb));
        }
    }

    #[test]
    #[should_panic = "faults are armed only where pages have payloads"]
    fn without_payloads_there_are_no_faults() {
        pristine("none").arm(Fault::ProgramFailure { at: 0 });
    }

    #[test]
    #[should_panic = "the flash array refused a command of the FTL: change of block 0 to LSB pages only"]
    fn a_mode_is_chosen_before_the_first_program() {
        let mut flash = flash(false);
        let first = flash.geometry.ppn(Unit::new(0), Slot::FIRST);
        flash.program(first, Content::EMPTY).expect_done();
        flash.use_lsb_only(flash.geometry.ppn(Unit::new(0), Slot::FIRST));
    }
}
