//! Faults of the flash and of the power, and what is there after them: a fault is armed, happens at the operation it is armed for, and
//! leaves what the device's aids leave. They are looked for only where pages have payloads.

use base::{Block, OpKind, Page, Ppn, Slot, Unit};
use nand::StoreKind;

use super::{Content, Flash, Programmed};

/// A fault, at an operation counted from 0 since it was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The program of that number, counting programs, fails.
    ProgramFailure {
        /// Programs before it.
        at: u64,
    },
    /// Programs fail from a number on, each `apart` programs behind the one before.
    ProgramFailures {
        /// Programs before the first of them.
        at: u64,
        /// From one to the next.
        apart: u64,
    },
    /// The reprogram of that number, counting programs of a page that is programmed already, ends so.
    ReprogramFailure {
        /// Reprograms before it.
        at: u64,
    },
    /// The power goes off at the operation of that number, counting page reads, page programs and erases of units.
    PowerCut {
        /// Operations before it.
        at: u64,
        /// The operation has begun, and is interrupted.
        during: bool,
    },
}

/// The power, and the fault that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply {
    /// A fault was armed: operations are counted, and have their fates, from then on.
    is_watched: bool,
    armed: Option<Fault>,
    /// Operations begun since the last fault was armed.
    operations: u64,
    /// Programs among them.
    programs: u64,
    /// Reprograms among these.
    reprograms: u64,
    is_off: bool,
    safeguard: Safeguard,
}

/// The device's protection against faults that no FTL sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safeguard {
    /// No protection.
    None,
    /// Power for the program under way.
    Supercap,
    /// Lower pages in volatile memory, until their wordline is complete.
    PageBuffer,
}

impl Safeguard {
    /// The safeguard that belongs to a protection of paired pages.
    pub(crate) fn of(paired_page: &str) -> Safeguard {
        match paired_page {
            "supercap" => Safeguard::Supercap,
            "page-buffer" => Safeguard::PageBuffer,
            _ => Safeguard::None,
        }
    }
}

/// The fate of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Completes,
    /// It begins and does not come to its end.
    Fails,
    /// It never begins.
    IsIgnored,
}

impl Supply {
    /// The power is on, and no fault is armed.
    pub(super) fn new(safeguard: Safeguard) -> Supply {
        Supply { is_watched: false, armed: None, operations: 0, programs: 0, reprograms: 0, is_off: false, safeguard }
    }

    /// Programs under way are completed when the power goes off.
    pub(super) fn has_power_for_programs(&self) -> bool {
        self.safeguard == Safeguard::Supercap
    }

    /// The fate of the next command.
    #[inline(always)] // Once per page.
    pub(super) fn next(&mut self, kind: OpKind) -> Fate {
        if self.is_watched { self.next_watched(kind, false) } else { Fate::Completes }
    }

    /// Operations are looked at from now on.
    pub(super) fn watch(&mut self) {
        self.is_watched = true;
    }

    /// Operations are looked at.
    #[inline(always)]
    pub(super) fn is_watched(&self) -> bool {
        self.is_watched
    }

    /// The fate of the next command, which fails if its block does.
    #[inline(never)]
    pub(super) fn next_watched(&mut self, kind: OpKind, fails: bool) -> Fate {
        if self.is_off {
            return Fate::IsIgnored;
        }
        let is_program = kind == OpKind::Program;
        let fate = match self.armed {
            Some(Fault::ProgramFailure { at }) if is_program && at == self.programs => {
                self.armed = None;
                Fate::Fails
            }
            Some(Fault::ProgramFailures { at, apart }) if is_program && at == self.programs => {
                self.armed = Some(Fault::ProgramFailures { at: at + apart, apart });
                Fate::Fails
            }
            Some(Fault::PowerCut { at, during }) if at == self.operations => {
                (self.armed, self.is_off) = (None, true);
                match kind {
                    _ if !during => return Fate::IsIgnored,
                    // Its energy is for the data on their way, not for an erase.
                    OpKind::Program if self.has_power_for_programs() => Fate::Completes,
                    OpKind::Program | OpKind::Erase | OpKind::Read => Fate::Fails,
                }
            }
            _ if fails => Fate::Fails,
            _ => Fate::Completes,
        };
        self.operations += 1;
        self.programs += u64::from(is_program);
        fate
    }
}

/// A page of a failed program, as the controller holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffered {
    pub(super) at: Ppn,
    pub(super) content: Content,
    /// The unit whose erase waits for it.
    pub(super) old: Option<Unit>,
}

/// A program that failed.
#[derive(Clone, Debug)]
pub(crate) struct FailedProgram {
    /// Its page, or the last of its pages.
    pub(crate) at: Ppn,
    /// The data of that page, where it was programmed by itself.
    pub(crate) content: Content,
    /// Where it was copied from, inside its plane.
    pub(crate) copied_from: Option<Ppn>,
    /// Content that the controller has of other pages that it destroyed, and of those that were programmed with it.
    pub(super) held: Vec<Buffered>,
}

/// The finding of a scan of the array in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Not programmed since the last erase.
    Unprogrammed,
    /// A page that was programmed and cannot be read.
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

impl Flash {
    /// Arms a fault in place of the one that was armed, and counts operations anew.
    ///
    /// # Panics
    /// If pages have no payloads: there would be nothing to lose.
    pub(crate) fn arm(&mut self, fault: Fault) {
        assert!(self.nand.stores() != StoreKind::Nothing, "faults are armed only where pages have payloads");
        self.supply =
            Supply { is_watched: true, armed: Some(fault), operations: 0, programs: 0, reprograms: 0, ..self.supply };
    }

    /// Operations begun since a fault was armed: page reads, page programs, erases of units. Counted only where
    /// pages have payloads.
    pub(crate) fn operations(&self) -> u64 {
        self.supply.operations
    }

    /// Programs among these operations.
    pub(crate) fn programs(&self) -> u64 {
        self.supply.programs
    }

    /// Reprograms among these.
    pub(crate) fn reprograms(&self) -> u64 {
        self.supply.reprograms
    }

    /// True while an armed fault has not come.
    pub(crate) fn is_armed(&self) -> bool {
        self.supply.armed.is_some()
    }

    /// Switches the power off, between two operations.
    pub(crate) fn power_off(&mut self) {
        self.supply.is_watched = true;
        self.supply.is_off = true;
    }

    /// Switches the power on.
    pub(crate) fn power_on(&mut self) {
        self.supply.is_off = false;
        self.page_buffer.clear();
        self.nand.rest();
        self.lose_frames();
    }

    /// True while the power is off. After a power cut commands are ignored and reads are empty. The caller runs on; discard its
    /// state.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.supply.is_off
    }

    /// The fate of a program of a page that is programmed already; without payloads there are no faults.
    pub(super) fn fate_of_reprogram(&mut self) -> Fate {
        let fate = self.supply.next(OpKind::Program);
        if fate == Fate::IsIgnored {
            return fate;
        }
        let at = self.supply.reprograms;
        self.supply.reprograms += 1;
        if self.supply.armed == Some(Fault::ReprogramFailure { at }) {
            self.supply.armed = None;
            return Fate::Fails;
        }
        fate
    }

    /// The outcome told after a program that failed: `Done` where it failed because the power went off.
    pub(super) fn told_of_failure(&self) -> Programmed {
        if self.supply.is_off { Programmed::Done } else { Programmed::Failed }
    }

    /// Fills the page buffer with the content that the controller still has of a wordline, which a program is about to destroy. A page
    /// buffer keeps every lower page until its wordline is complete, and the controller has parts of the same flash page as it has the
    /// page itself. They are looked for when they are needed, with the same result.
    pub(super) fn fill_page_buffer(&mut self, block: Block, page: Page) {
        self.page_buffer.clear();
        if self.supply.is_off || self.supply.safeguard != Safeguard::PageBuffer && self.geometry.parts == 1 {
            return;
        }
        for lower in Page::all(0..page.number()) {
            let is_held = self.supply.safeguard == Safeguard::PageBuffer && self.nand.share_wordline(lower, page);
            if is_held || self.nand.are_of_one_page(lower, page) {
                let unit = self.geometry.unit_of_block(block);
                let lanes = 0..self.geometry.unit_width;
                let lane = lanes.into_iter().find(|&lane| self.geometry.block_of(unit, lane) == block).expect("a lane");
                let at = self.geometry.ppn(unit, self.geometry.slot_at(lower, lane));
                self.page_buffer.push(Buffered { at, content: self.content_at(block, lower), old: None });
            }
        }
    }

    /// Pages that the controller holds, before another program may fail.
    pub(crate) fn let_go_of_buffered(&mut self) -> Vec<Buffered> {
        std::mem::take(&mut self.page_buffer)
    }

    /// It holds them on, beside those that another failed program has put there since.
    pub(crate) fn hold_buffered(&mut self, mut held: Vec<Buffered>) {
        std::mem::swap(&mut self.page_buffer, &mut held);
        self.page_buffer.extend(held);
    }

    /// The controller holds a page whose program failed, beside those that it destroyed.
    pub(crate) fn hold_failed(&mut self, at: Ppn, content: Content, old: Option<Ppn>) {
        if self.buffered(at).is_none() {
            let old = old.map(|old| self.geometry.unit_of(old));
            self.page_buffer.push(Buffered { at, content, old });
        }
    }

    /// The content that the page buffer holds of a lower page that a failed program destroyed.
    pub(crate) fn buffered(&self, ppn: Ppn) -> Option<Content> {
        self.page_buffer.iter().find(|buffered| buffered.at == ppn).map(|buffered| buffered.content)
    }

    /// True if a page lost its content: its read ended in an error that cannot be corrected.
    pub(crate) fn is_lost(&self, ppn: Ppn) -> bool {
        let (block, page) = self.address(ppn);
        !self.supply.is_off && self.nand.is_lost(block, page)
    }

    /// True if the erase of a unit was interrupted: it has to be erased again before it is used.
    pub(crate) fn is_torn(&self, unit: Unit) -> bool {
        (0..self.geometry.unit_width)
            .any(|lane| self.nand.blocks()[self.geometry.block_of(unit, lane).index()].is_torn())
    }

    /// The findings in the slots of a unit, in order. Reading a spare area takes a page read, which is counted by
    /// whoever scans: nothing is counted and no fault happens here.
    pub(crate) fn scan(&self, unit: Unit) -> impl Iterator<Item = Found> {
        assert!(!self.supply.is_off, "nothing is found with the power off");
        self.geometry.slots_from(Slot::FIRST).map(move |slot| {
            let block = self.geometry.block_of(unit, self.geometry.lane_of_slot(slot));
            self.found(block, self.geometry.page_of_slot(slot))
        })
    }

    /// The content of a single slot.
    pub(crate) fn found_at(&self, ppn: Ppn) -> Found {
        let (block, page) = self.address(ppn);
        self.found(block, page)
    }

    fn found(&self, block: Block, page: Page) -> Found {
        if self.nand.blocks()[block.index()].is_torn() {
            Found::Torn
        } else if !self.nand.is_programmed(block, page) {
            Found::Unprogrammed
        } else if !self.nand.holds_data(block, page) {
            if self.nand.has_guard_levels(block, page) { Found::Guard } else { Found::Lost }
        } else if self.nand.reads_left(block, page) == Some(0) && self.nand.image().is_none() {
            // What was read too often cannot be read any more. A drive knows which page it was, and tells its host.
            Found::Lost
        } else {
            Found::Programmed { spare: self.nand.spare(block, page) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One die of two planes of blocks of 8 pages; a unit is a pair of blocks.
    fn flash(has_supercap: bool) -> Flash {
        thread_local!(static PRISTINE: Flash = pristine("stamp"));
        let mut flash = PRISTINE.with(Flash::clone);
        flash.supply.safeguard = if has_supercap { Safeguard::Supercap } else { Safeguard::None };
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
        ];
        let config = crate::preset("tbm-small", &sets);
        let geometry = crate::gang::geometry(&config);
        assert_eq!(geometry.unit_width, 2);
        Flash::new(
            geometry,
            &config.device,
            if payload == "stamp" { StoreKind::Stamps } else { StoreKind::Nothing },
            Safeguard::None,
        )
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
                let content = Content { data: random.next(), spare: u128::from(random.next()) << 50 };
                commands.push(Command::Program(geometry.ppn(unit, Slot::new(*slots)), content));
                *slots += 1;
            }
        }
        commands
    }

    fn programs(commands: &[Command]) -> usize {
        commands.iter().filter(|command| matches!(command, Command::Program(..))).count()
    }

    /// The flash that the first commands leave, and after them one that is begun and not finished.
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
        flash.program(first, Content { data: 5, spare: 6 }).expect_done();
        flash.arm(Fault::PowerCut { at: 0, during: false });
        flash.program(second, Content { data: 7, spare: 8 }).expect_done();
        let before = flash.nand.save();
        flash.program(first, Content { data: 9, spare: 9 }).expect_done();
        assert_eq!(flash.read(first), Content::EMPTY);
        assert_eq!(flash.read(second), Content::EMPTY);
        flash.use_lsb_only(flash.geometry.ppn(Unit::new(0), Slot::FIRST));
        flash.erase(Unit::new(0));
        assert!(!flash.is_lost(first));
        assert_eq!((flash.nand.save(), flash.operations()), (before, 0));
        flash.power_on();
        assert_eq!(flash.read(first), Content { data: 5, spare: 6 });
        flash.program(second, Content { data: 7, spare: 8 }).expect_done();
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
            flash.program(page(&flash, 0, slot), Content { data: 1, spare: 10 + u128::from(slot) }).expect_done();
        }
        flash.arm(Fault::ProgramFailure { at: 0 });
        let failing = page(&flash, 0, 2);
        assert_eq!(flash.program(failing, Content { data: 1, spare: 12 }), Programmed::Failed);
        assert_eq!(found(&flash, 0), [Lost, Holds { spare: 11 }, Lost, Unprogrammed, Unprogrammed, Unprogrammed]);
        assert!(flash.is_lost(failing) && flash.is_lost(page(&flash, 0, 0)) && !flash.is_lost(page(&flash, 0, 1)));
        assert_eq!(flash.read(failing), Content::EMPTY);

        flash.use_lsb_only(flash.geometry.ppn(Unit::new(1), Slot::FIRST));
        for (slot, spare) in [(0, 1), (1, 2), (4, 3)] {
            flash.program(page(&flash, 1, slot), Content { data: 0, spare }).expect_done();
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

    #[test]
    fn what_was_read_too_often_is_lost_to_a_scan() {
        let mut flash = flash(false);
        let wear = base::ReprogramWear { rates: vec![0.0], wear: vec![1.0] };
        flash.keep_reads(base::ReadLimits { full: 2, low: 20, restarts: false, wear });
        let [page, other] = [0, 1].map(|slot| flash.geometry.ppn(Unit::new(0), Slot::new(slot)));
        for at in [page, other] {
            flash.program(at, Content { data: 1, spare: 9 }).expect_done();
        }
        for left in [2, 1, 0] {
            let expected = if left > 0 { Found::Programmed { spare: 9 } } else { Found::Lost };
            let found: Vec<Found> = flash.scan(Unit::new(0)).take(2).collect();
            assert_eq!(found, [expected, Found::Programmed { spare: 9 }]);
            flash.read(page);
        }
    }

    /// Fills a block of a unit, of both planes in turn, up to an MSB page of it; that page.
    fn filled_to_msb(flash: &mut Flash, unit: u32) -> Ppn {
        // Slots 0 and 1 are page 0 (LSB) of the two blocks, 2 is page 1 (MSB) of the first.
        let page = |flash: &Flash, slot| flash.geometry.ppn(Unit::new(unit), Slot::new(slot));
        for slot in 0..2 {
            flash.program(page(flash, slot), Content { data: 1 + u64::from(slot), spare: 1 }).expect_done();
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
        flash.program(msb, Content { data: 5, spare: 6 }).expect_done();
        flash.arm(Fault::ProgramFailure { at: 0 });
        assert_eq!(flash.reprogram(msb), Programmed::Failed);
        let lsb = lsb_of(&flash, msb);
        assert!(flash.is_lost(msb) && !flash.is_lost(lsb));
        assert_eq!(flash.read(lsb), Content { data: 1, spare: 1 });
        flash.arm(Fault::PowerCut { at: 0, during: true });
        flash.reprogram(msb).expect_done();
        assert!(flash.is_off());
        flash.reprogram(msb).expect_done();
        flash.power_on();
        assert!(flash.is_lost(msb) && !flash.nand.blocks()[0].is_low_density());
        assert_eq!(flash.read(lsb), Content { data: 1, spare: 1 });
        flash.arm(Fault::PowerCut { at: 1, during: false });
        flash.reprogram(msb).expect_done();
        assert!(flash.nand.blocks()[0].is_low_density() && !flash.is_off());
        assert_eq!((flash.operations(), flash.reads_of(Block::new(0))), (1, 2));
    }

    #[test]
    fn a_failed_guard_page_takes_the_lower_page_along() {
        for safeguard in [Safeguard::None, Safeguard::PageBuffer, Safeguard::Supercap] {
            let mut flash = flash(false);
            flash.supply.safeguard = safeguard;
            let msb = filled_to_msb(&mut flash, 0);
            let lsb = lsb_of(&flash, msb);
            flash.arm(Fault::ProgramFailure { at: 0 });
            assert_eq!(flash.program_guard(msb), Programmed::Failed);
            assert!(flash.is_lost(msb) && flash.is_lost(lsb));
            let kept = (safeguard == Safeguard::PageBuffer).then_some(Content { data: 1, spare: 1 });
            assert_eq!(flash.buffered(lsb), kept);

            let msb = filled_to_msb(&mut flash, 1);
            let lsb = lsb_of(&flash, msb);
            flash.arm(Fault::PowerCut { at: 0, during: true });
            flash.program_guard(msb).expect_done();
            flash.power_on();
            let completes = safeguard == Safeguard::Supercap;
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
