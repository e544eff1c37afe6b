//! The hybrid mapping: against a plain map on the strict array, and against closed forms.

use std::collections::BTreeSet;

use base::{Cause, Cell, Dimensions, Domain, Geometry, Lpn, Multiplane, Ppn, ProgramOrder, Selection, Unit};
use engine::Chance;
use ftl::allocation::{self, Allocation};
use ftl::fast::{Broken, Fast, Gather, LEAST_LOG_BLOCKS, LogOptions, Merges, Start, most_log_blocks};
use ftl::{ANYWHERE, DataSource, Erasure, Group, How, Op, Placed, Rewritten};
use nand::{Nand, Shape, StoreKind};

const BROKEN: [Broken; 3] = [Broken::Fill, Broken::Merge, Broken::Waste];
/// The domain of a device that has one.
const ONLY: Domain = Domain::new(0);
const GATHER: [Gather; 2] = [Gather::All, Gather::Victim];

fn merges_of(fast: &Fast) -> Merges {
    fast.merges()
}

/// A log of `log_blocks`, and a block for merges to go to.
fn log_of(log_blocks: u32) -> LogOptions {
    LogOptions { log_blocks, reserve: 1, broken: Broken::Fill, start: Start::Always, gather: Gather::All }
}

/// The array, with what each page stores.
struct Array {
    geometry: Geometry,
    nand: Nand,
    reads: u64,
    programs: u64,
    erases: u64,
}

impl Array {
    fn new(geometry: Geometry) -> Array {
        let shape = Shape {
            planes: geometry.planes(),
            planes_per_die: geometry.planes_per_die,
            blocks_per_plane: geometry.blocks_per_plane,
            pages_per_block: geometry.pages_per_block,
            parts: 1,
            multiplane: Multiplane::Off,
            cell: Cell::Mlc,
            program_order: ProgramOrder::Shadow,
        };
        Array { geometry, nand: Nand::new(shape, StoreKind::Stamps), reads: 0, programs: 0, erases: 0 }
    }

    fn program(&mut self, ppn: Ppn, stamp: u64) {
        let place = self.geometry.place(ppn);
        self.nand.program(place.block, place.page).unwrap();
        self.nand.store(place.block, place.page, stamp, 0);
        self.programs += 1;
    }

    fn read(&mut self, ppn: Ppn) -> u64 {
        let place = self.geometry.place(ppn);
        self.nand.read(place.block, place.page).unwrap();
        self.reads += 1;
        self.nand.data(place.block, place.page)
    }
}

impl ftl::Rewriter for Array {
    fn combined(&mut self, _: Cause, pages: &[Ppn], to: Placed) -> bool {
        assert!(pages.is_empty(), "merges protect no pages, and the whole map is in DRAM");
        self.program(to.at, 0);
        true
    }

    fn rewritten(&mut self, _: Cause, _: DataSource, _: Placed) -> Rewritten {
        panic!("no program fails");
    }
}

impl ftl::Array for Array {
    fn moved(&mut self, _: Cause, how: How, from: Ppn, to: Placed) -> bool {
        assert_eq!(how, How::OffChip, "merges gather pages of several blocks");
        let stamp = self.read(from);
        self.program(to.at, stamp);
        true
    }

    fn moves_runs(&self, _: Unit) -> bool {
        false
    }

    fn moved_run(&mut self, _: Cause, _: u32, _: Ppn, _: Ppn, _: &[u32]) {
        panic!("pages hold stamps: they are moved one by one");
    }

    fn read(&mut self, _: Cause, _: Ppn) {
        panic!("the whole map is in DRAM");
    }

    fn erased(&mut self, Erasure { unit, .. }: Erasure) -> bool {
        for lane in 0..self.geometry.unit_width {
            self.nand.erase(self.geometry.block_of(unit, lane)).unwrap();
            self.erases += 1;
        }
        true
    }
}

/// The mapping over the array, and a plain map of what the host wrote.
struct Machine {
    fast: Fast,
    array: Array,
    /// By LPN: the version written last, 0 for none.
    newest: Vec<u64>,
    versions: u64,
    group: Group,
}

impl Machine {
    fn new(geometry: Geometry, user_pages: u64, options: LogOptions, order: &str, blocks: &str) -> Machine {
        let choose = |seam: &'static base::Seam, name| Selection::default_of(seam.find(name).unwrap());
        let allocation = Allocation::build(&choose(&allocation::SEAM, order), &geometry);
        let pool = choose(&ftl::pool::SEAM, blocks);
        Machine {
            fast: Fast::new(geometry, user_pages, options, allocation, &pool).unwrap(),
            array: Array::new(geometry),
            newest: vec![0; user_pages as usize],
            versions: 0,
            group: Group::EMPTY,
        }
    }

    /// One plane of blocks of `pages` pages: `blocks` logical blocks and `log` log blocks.
    fn plane(blocks: u32, pages: u32, log: u32, broken: Broken) -> Machine {
        Machine::plane_with(blocks, pages, LogOptions { broken, ..log_of(log) })
    }

    fn plane_with(blocks: u32, pages: u32, options: LogOptions) -> Machine {
        let geometry = Geometry::new(Dimensions {
            blocks_per_plane: blocks + options.log_blocks + options.reserve,
            pages_per_block: pages,
            ..Dimensions::ONE_PAGE
        });
        let user_pages = u64::from(blocks * pages);
        Machine::new(geometry, user_pages, options, "CWDP", "first-fit")
    }

    /// Writes a page, and leaves the merges that this calls for.
    fn place(&mut self, lpn: Lpn) {
        let domain = self.fast.domain_of(lpn);
        let mut announced = None;
        assert_eq!(self.fast.write_if(domain, lpn, |at| announced.replace(at).is_some()), None);
        let ppn = self.fast.write(domain, lpn).at;
        assert_eq!(Some(ppn), announced, "the place of LPN {} was announced", lpn.0);
        self.versions += 1;
        self.newest[lpn.index()] = self.versions;
        self.array.program(ppn, self.versions);
    }

    fn write(&mut self, lpn: Lpn) {
        self.place(lpn);
        self.fast.collect(self.fast.domain_of(lpn), u32::MAX, &mut self.array);
    }

    fn trim(&mut self, lpn: Lpn) {
        assert_eq!(self.fast.trim(lpn), self.newest[lpn.index()] != 0, "LPN {}", lpn.0);
        self.newest[lpn.index()] = 0;
    }

    /// One step of a domain's merges, as an executor with time does it: read, wait, program. Whatever `between` does
    /// happens in the wait.
    fn step(&mut self, domain: Domain, between: impl FnOnce(&mut Machine)) -> bool {
        self.fast.advance(domain);
        let Some(step) = self.fast.op(domain, &mut self.group) else { return false };
        match step.op {
            Op::Move(_) => {
                let from = self.group.pages()[0];
                let stamp = self.array.read(from);
                between(self);
                if !self.fast.is_valid(from) {
                    let is_over = !self.fast.is_busy(domain);
                    assert!(is_over || self.fast.place(domain, step, &[from], ANYWHERE).is_none());
                    return true;
                }
                let mut announced = None;
                assert_eq!(self.fast.place(domain, step, &[from], Some(|at| announced.replace(at).is_some())), None);
                let placed = self.fast.place(domain, step, &[from], ANYWHERE).unwrap();
                assert_eq!(Some(placed.at), announced);
                self.array.program(placed.at, stamp);
            }
            Op::Pad => {
                let placed = self.fast.place(domain, step, &[], ANYWHERE).unwrap();
                self.array.program(placed.at, 0);
            }
            Op::Combine | Op::Read | Op::Reprogram => panic!("merges do no such thing"),
            Op::Erase(unit) => {
                between(self);
                let erasure = self.fast.erased(domain, unit);
                ftl::Array::erased(&mut self.array, erasure);
            }
        }
        true
    }

    /// Every page holds what was written last, and the state is in order.
    fn check(&self) {
        self.fast.check().unwrap();
        for (lpn, &newest) in self.newest.iter().enumerate() {
            let stored = self.fast.lookup(Lpn(lpn as u32)).map(|ppn| {
                let place = self.array.geometry.place(ppn);
                assert!(self.array.nand.is_programmed(place.block, place.page));
                self.array.nand.data(place.block, place.page)
            });
            assert_eq!(stored.unwrap_or(0), newest, "LPN {lpn}");
        }
    }
}

/// The next page of a workload that mixes random pages, runs from a block's start, runs from anywhere, and rewrites.
struct Mixed {
    random: Chance,
    pages: u32,
    slots: u32,
    stripe: u32,
    at: u32,
    left: u32,
    /// Of 16: how many requests begin a run.
    runs: u32,
    hot: bool,
}

impl Mixed {
    fn next(&mut self) -> Lpn {
        if self.left == 0 {
            self.at = self.random.below_u32(if self.hot { (self.pages / 4).max(1) } else { self.pages });
            self.left = 1;
            if self.random.below_u32(16) < self.runs {
                self.left = 1 + self.random.below_u32(3 * self.slots * self.stripe);
                if self.random.below_u32(2) == 0 {
                    self.at -= self.at % (self.slots * self.stripe);
                }
            }
        }
        self.left -= 1;
        let lpn = Lpn(self.at % self.pages);
        self.at += 1;
        lpn
    }
}

/// A random machine and a workload for it, from one number.
fn random_machine(seed: u64) -> (Machine, Mixed, Chance) {
    let mut random = Chance::new(seed, "fast machine");
    let pages = [1, 2, 3, 4, 7, 8, 16][random.below(7) as usize];
    let blocks = 5 + random.below_u32(20);
    let planes = 1 + random.below_u32(2);
    let width = if random.below(4) == 0 { planes } else { 1 };
    let geometry = Geometry::new(Dimensions {
        channels: 1 + random.below_u32(2),
        dies_per_chip: 1 + random.below_u32(2),
        planes_per_die: planes,
        blocks_per_plane: blocks,
        pages_per_block: pages,
        unit_width: width,
        ..Dimensions::ONE_PAGE
    });
    let slots = u64::from(geometry.unit_slots());
    let reserve = 1 + random.below_u32(2);
    let largest = ftl::fast::largest_user_pages(&geometry, LEAST_LOG_BLOCKS, reserve);
    let user_pages = largest - random.below((largest / 2).min(2 * slots * u64::from(geometry.domains())));
    let most = most_log_blocks(&geometry, user_pages, reserve);
    let log_blocks = LEAST_LOG_BLOCKS + random.below_u32(most - LEAST_LOG_BLOCKS + 1);
    let broken = BROKEN[random.below(3) as usize];
    // A bound counts blocks that are filled up.
    let bounded = Start::Bounded(1 + random.below_u32(4));
    let starts = [Start::Always, Start::IfSpare, bounded];
    let options = LogOptions {
        log_blocks,
        reserve,
        broken,
        start: starts[random.below(if broken == Broken::Fill { 3 } else { 2 }) as usize],
        gather: GATHER[random.below(2) as usize],
    };
    let orders: Vec<_> = allocation::SEAM.choices.iter().filter(|order| !allocation::is_dynamic(order.name)).collect();
    let order = orders[random.below(orders.len() as u64) as usize].name;
    let pools = ftl::pool::SEAM.choices;
    let pool = pools[random.below(pools.len() as u64) as usize].name;
    let mixed = Mixed {
        random: Chance::new(seed, "fast workload"),
        pages: user_pages as u32,
        slots: slots as u32,
        stripe: geometry.domains(),
        at: 0,
        left: 0,
        runs: [0, 1, 4, 16][random.below(4) as usize],
        hot: random.below(3) == 0,
    };
    (Machine::new(geometry, user_pages, options, order, pool), mixed, random)
}

#[test]
fn nothing_is_lost_and_no_rule_is_broken() {
    let mut seen = Merges::default();
    for seed in 0..2_000 {
        let (mut machine, mut mixed, mut random) = random_machine(seed);
        let trims = [0, 1, 30][random.below(3) as usize];
        for operation in 0..600 {
            let lpn = mixed.next();
            if random.below(100) < trims {
                machine.trim(lpn)
            } else {
                machine.write(lpn)
            }
            if operation % 97 == 0 {
                machine.check();
            }
        }
        machine.check();
        let merges = merges_of(&machine.fast);
        assert_eq!(machine.array.programs, machine.versions + merges.copied + merges.padded, "seed {seed}");
        assert_eq!(machine.array.reads, merges.copied, "seed {seed}");
        seen.switch += merges.switch;
        seen.partial += merges.partial;
        seen.full += merges.full;
        seen.padded += merges.padded;
    }
    assert!(seen.switch > 1000 && seen.partial > 1000 && seen.full > 1000 && seen.padded > 1000, "{seen:?}");
}

/// The state is whole between any two calls: writes and forward merges come and go at every point at which they may,
/// and trims at every point at all.
#[test]
fn merges_may_rest_between_two_logical_blocks() {
    let (mut rests, mut stale) = (0, 0);
    for seed in 0..200 {
        let (mut machine, mut mixed, mut random) = random_machine(seed);
        let domains = machine.array.geometry.domains();
        for _ in 0..1_200 {
            let lpn = mixed.next();
            let domain = machine.fast.domain_of(lpn);
            if random.below(8) == 0 {
                machine.fast.begin_forward(Domain::new(random.below_u32(domains)));
            }
            if machine.fast.is_busy(domain) {
                if machine.fast.may_suspend(domain) && random.below(2) == 0 {
                    machine.fast.suspend(domain);
                    assert!(!machine.fast.is_busy(domain));
                    rests += 1;
                } else {
                    let trim = (random.below(10) == 0).then_some(lpn);
                    assert!(machine.step(domain, |machine| {
                        machine.fast.check().unwrap();
                        if let Some(lpn) = trim {
                            machine.trim(lpn);
                            stale += 1;
                        }
                    }));
                }
            } else {
                machine.place(lpn);
            }
            machine.fast.check().unwrap();
        }
        machine.check();
        for domain in (0..domains).map(Domain::new) {
            while machine.step(domain, |_| {}) {}
        }
        machine.check();
    }
    assert!(rests > 1_000 && stale > 1_000, "{rests} rests, {stale} trims in between");
}

/// Writes end in the same state, step by step or at once.
#[test]
fn steps_and_whole_collections_agree() {
    for seed in 0..200 {
        let (mut at_once, mut mixed, _) = random_machine(seed);
        let (mut stepwise, ..) = random_machine(seed);
        for _ in 0..500 {
            let lpn = mixed.next();
            at_once.write(lpn);
            stepwise.place(lpn);
            while stepwise.step(stepwise.fast.domain_of(lpn), |_| {}) {}
        }
        assert_eq!(merges_of(&at_once.fast), merges_of(&stepwise.fast), "seed {seed}");
        assert_eq!(at_once.fast.erases(), stepwise.fast.erases(), "seed {seed}");
        for lpn in (0..at_once.fast.user_pages()).map(Lpn) {
            assert_eq!(at_once.fast.lookup(lpn), stepwise.fast.lookup(lpn), "seed {seed}");
        }
    }
}

/// Sequential overwrites: switch merges only, one erase a block, not a copy.
#[test]
fn sequential_overwrites_only_switch() {
    for broken in BROKEN {
        let mut machine = Machine::plane(20, 32, 3, broken);
        for lpn in (0..5 * 640).map(|at| Lpn(at % 640)) {
            machine.write(lpn);
        }
        machine.check();
        assert_eq!(merges_of(&machine.fast), Merges { switch: 100, ..Merges::default() });
        assert_eq!((machine.array.programs, machine.array.erases), (3200, 80), "the first round erases nothing");
    }
}

/// A run that starts in the middle of a block is no sequential write until it meets the next block.
#[test]
fn runs_are_sequential_from_a_blocks_start() {
    let mut machine = Machine::plane(4, 8, 4, Broken::Merge);
    (3..16).for_each(|lpn| machine.write(Lpn(lpn)));
    assert_eq!(merges_of(&machine.fast), Merges { switch: 1, ..Merges::default() });
    assert_eq!(machine.fast.spare_log_blocks(ONLY), 3, "five pages lie in one random-write log block");
}

/// What becomes of a sequential-write log block that is broken off after 3 of 8 pages.
#[test]
fn broken_sequential_log_blocks() {
    let after = |broken| {
        let mut machine = Machine::plane(8, 8, 6, broken);
        (0..64).for_each(|lpn| machine.write(Lpn(lpn)));
        (0..3).for_each(|lpn| machine.write(Lpn(lpn)));
        // The start of another block breaks it off; five random writes follow.
        (8..9).chain([20, 21, 30, 41, 50]).for_each(|lpn| machine.write(Lpn(lpn)));
        machine.check();
        let merges = merges_of(&machine.fast);
        (merges.partial, merges.copied, machine.fast.spare_log_blocks(ONLY))
    };
    assert_eq!(after(Broken::Fill), (0, 0, 4), "the random writes fill it up");
    assert_eq!(after(Broken::Merge), (1, 5, 4), "five pages are copied behind the three; a block for random writes");
    assert_eq!(after(Broken::Waste), (0, 0, 3), "it stays in the log, and the random writes open another block");
}

/// Starts of logical blocks one after the other, each of which breaks the last one off, in a log of six blocks.
#[test]
fn starts_open_log_blocks_while_few_of_them_have_room() {
    let after = |start, starts: u32| {
        let mut machine = Machine::plane_with(20, 8, LogOptions { start, ..log_of(6) });
        (0..160).for_each(|lpn| machine.write(Lpn(lpn)));
        let before = merges_of(&machine.fast);
        assert_eq!(before.full, 0, "written in order");
        (0..starts).for_each(|block| machine.write(Lpn(8 * block)));
        machine.check();
        (6 - machine.fast.spare_log_blocks(ONLY), merges_of(&machine.fast).full)
    };
    assert_eq!(after(Start::Always, 5), (5, 0));
    assert_eq!(after(Start::Always, 7), (5, 2), "the log is full with six blocks, of one page each");
    assert_eq!(after(Start::IfSpare, 20), (6, 0), "fourteen of them are random writes");
    for most in 1..5 {
        let opened = most + 1;
        assert_eq!(after(Start::Bounded(most), opened), (opened, 0), "one that is open, and {most} with room");
        assert_eq!(after(Start::Bounded(most), 6), (opened, 0), "then they are random writes");
    }
    // Of the second logical block on, seven pages more fill a block that was broken off: another start finds fewer with room.
    assert_eq!(after(Start::Bounded(1), 2 + 7), (2, 0));
    assert_eq!(after(Start::Bounded(1), 2 + 8), (3, 0));
    assert_eq!(after(Start::Bounded(6), 7), after(Start::Always, 7), "beside one that is open there are five");
}

/// A write to the block under sequential write that is not the next one breaks it off as well (Lee et al.).
#[test]
fn leaving_the_sequence_breaks_it_off() {
    let mut machine = Machine::plane(8, 8, 6, Broken::Merge);
    (0..64).chain([0, 1, 2, 5]).for_each(|lpn| machine.write(Lpn(lpn)));
    let merges = merges_of(&machine.fast);
    assert_eq!((merges.partial, merges.copied), (1, 5));
    // Other blocks' pages do not.
    (16..18).chain([30, 44, 61]).chain(18..24).for_each(|lpn| machine.write(Lpn(lpn)));
    assert_eq!(merges_of(&machine.fast).switch, 9);
    machine.check();
}

/// A full merge gathers each logical block of the oldest log block, from all log blocks, into a fresh block, in order.
#[test]
fn a_full_merge_gathers_from_all_log_blocks() {
    let mut machine = Machine::plane(8, 4, 4, Broken::Fill);
    (0..32).for_each(|lpn| machine.write(Lpn(lpn)));
    let before = machine.array.erases;
    // Blocks 1 to 4 in the oldest log block, 1 and 2 also in the second one, 1 in the third.
    for lpn in [5, 9, 13, 17, 6, 10, 6, 6, 7, 6, 7] {
        machine.place(Lpn(lpn));
    }
    assert!(!machine.fast.is_busy(ONLY));
    machine.place(Lpn(7));
    assert!(!machine.fast.is_busy(ONLY), "three random-write log blocks of four log blocks are full");
    machine.place(Lpn(21));
    assert!(machine.fast.is_busy(ONLY), "the last log block is open");
    machine.fast.collect(ONLY, u32::MAX, &mut machine.array);
    machine.check();
    let merges = merges_of(&machine.fast);
    assert_eq!((merges.full, merges.gathered, merges.copied), (1, 4, 16));
    assert_eq!(machine.array.erases - before, 5, "four data blocks and the log block");
    assert_eq!(machine.fast.spare_log_blocks(ONLY), 1);
    // The other pages of blocks 1 and 2 came along, so these log blocks hold nothing any more.
    machine.fast.begin_forward(ONLY);
    machine.fast.collect(ONLY, u32::MAX, &mut machine.array);
    assert_eq!(merges_of(&machine.fast).copied, 16, "the second log block is erased without a copy");
    assert_eq!((merges_of(&machine.fast).full, merges_of(&machine.fast).forward), (2, 1));
}

/// A logical block with pages in two log blocks: gathered from both it is merged once, else once for each of them.
#[test]
fn a_full_merge_may_leave_pages_in_other_log_blocks() {
    for (gather, merged) in [(Gather::All, [(4, 0), (4, 0)]), (Gather::Victim, [(3, 1), (7, 1)])] {
        let mut machine = Machine::plane_with(6, 4, LogOptions { gather, ..log_of(5) });
        (0..24).for_each(|lpn| machine.write(Lpn(lpn)));
        // Pages of block 1: offset 1 in the oldest log block, 2 in the second one. The others are overwritten.
        for lpn in [5, 9, 9, 9, 6, 9, 9, 9, 9] {
            machine.place(Lpn(lpn));
        }
        let first = machine.fast.lookup(Lpn(6));
        for after in merged {
            machine.fast.begin_forward(ONLY);
            machine.fast.collect(ONLY, u32::MAX, &mut machine.array);
            machine.check();
            let merges = merges_of(&machine.fast);
            assert_eq!((merges.copied, merges.padded), after, "{gather:?}");
            if merges.full == 1 {
                assert_eq!(machine.fast.lookup(Lpn(6)) == first, gather == Gather::Victim, "offset 2 stays in the log");
            }
        }
        let merges = merges_of(&machine.fast);
        assert_eq!((merges.full, merges.gathered), (2, if gather == Gather::All { 1 } else { 2 }), "{gather:?}");
    }
}

/// A partial merge is for the sequential-write log block alone as well: what other log blocks hold stays there.
#[test]
fn a_partial_merge_may_leave_pages_in_other_log_blocks() {
    for (gather, merged) in [(Gather::All, (3, 0)), (Gather::Victim, (1, 1))] {
        let mut machine = Machine::plane_with(8, 8, LogOptions { broken: Broken::Merge, gather, ..log_of(6) });
        (0..64).for_each(|lpn| machine.write(Lpn(lpn)));
        // Offsets 5 and 7 lie in a random-write log block when the sequential one, of 5 pages, is broken off.
        [13, 15, 8, 9, 10, 11, 12, 16].into_iter().for_each(|lpn| machine.write(Lpn(lpn)));
        machine.check();
        let merges = merges_of(&machine.fast);
        assert_eq!(merges.partial, 1);
        assert_eq!(
            (merges.copied, merges.padded),
            merged,
            "{gather:?}: of offsets 5 to 7 only 6 lies in the data block"
        );
    }
}

/// Pages that were never written are padded up to the last one that was, and not behind it.
#[test]
fn gaps_are_padded() {
    let mut machine = Machine::plane(4, 8, 3, Broken::Fill);
    machine.write(Lpn(2));
    (0..7).for_each(|_| machine.write(Lpn(5)));
    machine.write(Lpn(17));
    machine.fast.begin_forward(ONLY);
    machine.fast.collect(ONLY, u32::MAX, &mut machine.array);
    machine.check();
    let merges = merges_of(&machine.fast);
    assert_eq!((merges.full, merges.copied, merges.padded), (1, 2, 4), "offsets 0, 1, 3, 4 of 0 to 5");
}

/// What full merges cost under uniform writes.
struct Cost {
    /// Pages copied per host write.
    copies: f64,
    /// Dummy pages per host write.
    dummies: f64,
    /// Logical blocks per full merge.
    gathered: f64,
}

/// Overwrites everything uniformly at random until the log has turned over several times, then measures. Without
/// `starts`, no first page of a logical block is written, so that no sequential-write log block is opened.
fn uniform(blocks: u32, pages: u32, options: LogOptions, starts: bool) -> Cost {
    let log = options.log_blocks;
    let mut machine = Machine::plane_with(blocks, pages, options);
    (0..blocks * pages).for_each(|lpn| machine.write(Lpn(lpn)));
    let mut random = Chance::new(5, "uniform");
    let mut draw = || {
        let first = u32::from(!starts);
        Lpn(random.below_u32(blocks) * pages + first + random.below_u32(pages - first))
    };
    for _ in 0..3 * (log + blocks) * pages {
        machine.write(draw());
    }
    let before = merges_of(&machine.fast);
    let writes = 8 * (log + blocks) * pages;
    for _ in 0..writes {
        machine.write(draw());
    }
    machine.check();
    let after = merges_of(&machine.fast);
    let per_write = |after: u64, before: u64| (after - before) as f64 / f64::from(writes);
    let cost = Cost {
        copies: per_write(after.copied, before.copied),
        dummies: per_write(after.padded, before.padded),
        gathered: (after.gathered - before.gathered) as f64 / (after.full - before.full) as f64,
    };
    assert!(options.gather == Gather::Victim || cost.dummies == 0.0, "every page was written");
    cost
}

/// Copies per host write under uniform writes, by the number of writes `log` that pass from a page's write to its
/// merge. A logical block waits `blocks` writes, on average, for a page in the log. It is gathered, with `pages`
/// copies, when that page has become the oldest, `log` writes later; unless the page was overwritten by then, which
/// it escapes with probability e^(-log / all pages), and the next one counts.
fn closed_form(blocks: u32, pages: u32, log: f64) -> f64 {
    let (blocks, pages) = (f64::from(blocks), f64::from(pages));
    pages * blocks / (blocks * (log / (pages * blocks)).exp() + log)
}

/// Uniform writes with a log that is small beside the data: nearly every page of the oldest log block belongs to a
/// logical block of its own, which is copied whole for its sake.
#[test]
fn a_small_log_costs_a_block_per_page() {
    let Cost { copies, gathered, .. } = uniform(4000, 32, log_of(4), false);
    assert!((31.0..=32.0).contains(&gathered) && (31.0..=32.0).contains(&copies), "{gathered}, {copies} of 32");
}

/// Uniform writes in general. All random-write log blocks but the one just opened are full when the oldest is merged,
/// and at once; a page is on average in the middle of its block.
#[test]
fn uniform_writes_meet_the_closed_form() {
    for (blocks, pages, log) in [(100, 64, 12), (300, 32, 40), (200, 32, 102), (640, 128, 64)] {
        let Cost { copies, .. } = uniform(blocks, pages, log_of(log), false);
        let expected = closed_form(blocks, pages, (f64::from(log) - 1.5) * f64::from(pages));
        let error = (copies / expected - 1.0).abs();
        println!("{blocks} x {pages}, log {log}: {copies:.3} copies a write, {expected:.3} expected ({error:.4})");
        assert!(error < 0.01, "{blocks} x {pages}, log {log}: {copies} copies a write, {expected} expected");
    }
}

/// Where other log blocks keep their pages, nearly every page of the oldest log block costs a logical block of its own,
/// whatever the size of the log: a page survives until then with probability e^(-log / all pages), those that do fall
/// into logical blocks at random, and the offsets whose newest version lies in another log block are padded.
#[test]
fn uniform_writes_that_gather_from_the_victim_alone() {
    for (blocks, pages, log) in [(100, 64, 12), (300, 32, 40), (640, 128, 64)] {
        let options = LogOptions { gather: Gather::Victim, ..log_of(log) };
        let Cost { copies, dummies, gathered } = uniform(blocks, pages, options, false);
        let (blocks, pages) = (f64::from(blocks), f64::from(pages));
        let survives = |blocks_written: f64| (-blocks_written * pages / (blocks * (pages - 1.0))).exp();
        let survive = survives(f64::from(log) - 1.5);
        let met = blocks * (1.0 - (1.0 - survive / blocks).powf(pages));
        // Of the offsets that the victim does not hold, those written since it was full; a first page never is. Behind
        // the last page that is merged nothing is programmed.
        let since = 1.0 - survives(f64::from(log) - 2.0);
        let elsewhere = since * (pages - 1.0 - pages * survive / met) / pages;
        let padded = met * (elsewhere - since / (1.0 - since) / pages);
        let copied = met * (1.0 - elsewhere);
        println!("{blocks} x {pages}, log {log}: {gathered:.2} blocks a merge, {met:.2} expected");
        println!("{copies:.3} copies and {dummies:.3} dummies a write, {copied:.3} and {padded:.3} expected");
        assert!((gathered / met - 1.0).abs() < 0.01, "{gathered} logical blocks a merge, {met} expected");
        assert!((copies / copied - 1.0).abs() < 0.01, "{copies} copies a write, {copied} expected");
        assert!((dummies / padded - 1.0).abs() < 0.03, "{dummies} dummies a write, {padded} expected");
    }
}

/// One uniform write in `pages` is to the first page of a logical block, and opens a sequential-write log block that
/// the next such write breaks off with one page in it. What becomes of it decides how far the log goes.
#[test]
fn random_starts_cost_by_what_becomes_of_them() {
    let (blocks, pages, log) = (640, 128, 64);
    let whole = (f64::from(log) - 2.5) * f64::from(pages);
    let copies = |broken, start| uniform(blocks, pages, LogOptions { broken, start, ..log_of(log) }, true).copies;
    // Merged at once: `pages - 1` copies every `pages` writes, on top of the full merges. In return some logical
    // blocks are gathered before a full merge meets them: of all cycles, each as long as the closed form has it, as
    // many are broken off as a Poisson process of one start in (all pages) writes breaks off.
    let cycle = 1.0 / closed_form(blocks, pages, whole);
    let (merge, expected) = (copies(Broken::Merge, Start::Always), 1.0 / (cycle.exp() - 1.0) + 1.0);
    println!("merge: {merge:.3} copies a write, {expected:.3} expected");
    assert!((merge / expected - 1.0).abs() < 0.02, "{merge} copies a write, {expected} expected");
    // Wasted: a block with one page for every block that is filled, so half the log.
    let (waste, expected) = (copies(Broken::Waste, Start::Always), closed_form(blocks, pages, whole / 2.0));
    println!("waste: {waste:.3} copies a write, {expected:.3} expected");
    assert!((waste / expected - 1.0).abs() < 0.02, "{waste} copies a write, {expected} expected");
    // Filled up: random starts bring in as much room as random writes fill, so how many blocks wait to be filled is a
    // random walk without drift between none and all of them.
    let fill = copies(Broken::Fill, Start::Always);
    println!("fill: {fill:.3} copies a write");
    assert!(fill > merge && fill < waste, "{fill} copies a write, {merge} merged at once, {waste} wasted");
    // Filled up before the log is called full: every random-write log block is full when the oldest is merged.
    let (spare, expected) =
        (copies(Broken::Fill, Start::IfSpare), closed_form(blocks, pages, whole + f64::from(pages)));
    println!("fill, if spare: {spare:.3} copies a write, {expected:.3} expected");
    assert!((spare / expected - 1.0).abs() < 0.02, "{spare} copies a write, {expected} expected");
    // The walk ends at a few blocks: with four, the log is four blocks shorter than a log that is filled to its end, on
    // average by half of what these have.
    let (few, expected) =
        (copies(Broken::Fill, Start::Bounded(4)), closed_form(blocks, pages, whole - f64::from(pages)));
    println!("fill, bounded: {few:.3} copies a write, {expected:.3} expected");
    assert!((few / expected - 1.0).abs() < 0.02, "{few} copies a write, {expected} expected");
}

/// The back of the envelope for Wen and Chang's Table 3: writes a second of four channels in step (read-modify-write),
/// and of four independent ones together, from what a full merge costs. A log of a tenth of the data and 128 pages a
/// block; read 166 µs, program 906 µs, erase 1.5 ms.
fn table_3_on_an_envelope(gather: Gather) -> (f64, f64, f64) {
    let Cost { copies, dummies, gathered } = uniform(640, 128, LogOptions { gather, ..log_of(65) }, false);
    let (read, program, erase) = (166e-6, 906e-6, 1.5e-3);
    let merges = copies * (read + program) + dummies * program + erase * (gathered + 1.0) / 128.0;
    let (sync, independent) = (1.0 / (read + program + merges), 4.0 / (program + merges));
    println!("{copies:.3} copies, {dummies:.3} dummies a write, SYNC {sync:.1}, CF {independent:.1} IOPS");
    (128.0 / gathered, sync, independent)
}

/// Gathered from all log blocks, a full merge of a logical block frees a dozen log pages for 128 copies, so synchronised
/// channels write some 90 pages a second, and four independent ones near 370 together.
#[test]
fn table_3_on_the_back_of_an_envelope() {
    let (per_merge, sync, independent) = table_3_on_an_envelope(Gather::All);
    assert!((12.0..14.5).contains(&per_merge), "{per_merge} log pages freed by a merge");
    assert!((85.0..95.0).contains(&sync), "{sync} IOPS");
    assert!((355.0..385.0).contains(&independent), "{independent} IOPS");
}

/// Gathered from the recycled log block alone it frees hardly more than one: a tenth of the published 76 and 194.
#[test]
fn table_3_with_pages_left_in_other_log_blocks() {
    let (per_merge, sync, independent) = table_3_on_an_envelope(Gather::Victim);
    assert!((1.1..1.3).contains(&per_merge), "{per_merge} log pages freed by a merge");
    assert!((8.0..10.0).contains(&sync), "{sync} IOPS");
    assert!((32.0..40.0).contains(&independent), "{independent} IOPS");
}

#[test]
fn sizes_add_up() {
    let geometry =
        Geometry::new(Dimensions { channels: 2, blocks_per_plane: 10, pages_per_block: 4, ..Dimensions::ONE_PAGE });
    assert_eq!(ftl::fast::largest_user_pages(&geometry, 3, 1), 2 * 6 * 4);
    assert_eq!(most_log_blocks(&geometry, 48, 1), 3);
    assert_eq!(most_log_blocks(&geometry, 49, 1), 2, "one page more takes a block of each domain");
    assert_eq!(most_log_blocks(&geometry, 80, 1), 0);
}

/// Where blocks are taken from and go: over a long run every block of the domain takes its turn.
#[test]
fn all_blocks_take_part() {
    let mut machine = Machine::plane(16, 8, 5, Broken::Merge);
    let mut random = Chance::new(1, "wear");
    (0..20_000).for_each(|_| machine.write(Lpn(random.below_u32(128))));
    let erases: BTreeSet<u32> = machine.fast.erases().iter().copied().collect();
    assert!(erases.first().is_some_and(|&least| least > 0), "{erases:?}");
}
