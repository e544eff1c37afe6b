//! The floor of a drive: the least that simulates `client-tlc-small` with time, event by event.
//!
//! It has what the preset has: a write buffer whose pages are overwritten in place, rows of map units that four planes program together,
//! collections in step with the host, a frontier each for the host and for them, the least worn block next, whichever die is free for the
//! next row, a controller and a link before it all, channels that send commands before data, DRAM, error correction, reads before other
//! work for a bounded time, and programs and erases that are suspended for reads. Times and limits are those of the preset's configuration.
//! It has nothing that can be chosen. So it shows what a simulator of this drive could reach, as [`crate::floor`] does of a plain device.
//!
//! Not in it: rules of the array, hash tables, wear leveling (which does nothing here), reads that share a command (one in a thousand), and
//! answers from rows that are being programmed.
//!
//! A row is a mask of valid units, and the map's word says that a unit is in the buffer. A die has one pending event, and a suspend takes
//! the place of the end of what it suspends. What passes between host and device takes a constant time, so it is in a line. All is in one
//! tournament.

mod dies;
mod events;
mod facts;
mod host;
mod places;

use std::collections::VecDeque;

use metrics::{Latency, Stopwatch};

use crate::callgrind;
use crate::cases::Mix;
use crate::child::Measurement;
use crate::features::{DriveRun, STEP};
use crate::limit::{FlatWords, NONE};
use crate::{Failure, run};
use events::{Asking, Events};
use facts::{DriveFacts, DriveTimes};

const CHANNELS: u32 = 8;
const DIES: u32 = 32;
/// Map units of a row, and of a plane in it.
const UNITS: u32 = 16;
const UNITS_OF_PLANE: u32 = 4;
/// Rows of a superblock, which is one block of each plane of a die.
const ROWS: u32 = 576;
const SLOTS: u32 = ROWS * UNITS;
/// Requests in the device at most.
const MOST_DEPTH: usize = 64;
/// Leaves of the tournament: dies, channels, and the two lines between host and device.
const LEAVES: u32 = 64;
const COMING: u32 = DIES + CHANNELS;
const GOING: u32 = COMING + 1;
const NEVER: u64 = u64::MAX;
/// In a word of the map: the unit is in the buffer, in that place.
const IN_BUFFER: u32 = 1 << 31;
/// Added to the valid units of a superblock that is no victim: open or free.
const NOT_CLOSED: u16 = 1 << 15;
const NOBODY: u8 = u8::MAX;

/// The state of a die. Between what it asks a channel for and gets it has no event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DieState {
    /// It has nothing to do, or waits until the data of its collection are corrected.
    Idle,
    Read,
    ReadOut,
    CopyRead,
    CopyOut,
    /// A program or an erase is on its way to the array.
    Sends,
    /// The array works on it.
    Works,
    /// The array works on it, and the event is the instant from which it may be suspended.
    Awaits,
    /// It is suspended, and the array does not take reads yet.
    Stops,
}

/// The program or erase of a die.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    HostProgram,
    CopyProgram,
    Erase,
}

#[derive(Clone)]
struct DieRecord {
    state: DieState,
    operation: Operation,
    is_suspended: bool,
    suspends: u32,
    from: u64,
    until: u64,
    rest: u64,
    /// The read in hand, and those that wait: the first and the last, by request.
    reading: u8,
    first: u8,
    last: u8,
    /// Since when reads go before a collection that writes wait for; 0 if none does.
    passed: u64,
    is_collecting: bool,
    victim: u32,
    /// It goes on until no more steps than these are left.
    stop: u64,
    /// Units that are to be free at its end; 0 before it is known.
    line: u64,
    /// The next row of the victim.
    row: u32,
    /// Units of a row that were read and not placed, and when they are corrected.
    held: u16,
    held_row: u32,
    ready: u64,
    /// The next slots of the host and of copies.
    host: u32,
    copies: u32,
    free: Vec<u32>,
}

#[derive(Clone, Default)]
struct ChannelRecord {
    until: u64,
    commands: Asking,
    data: Asking,
}

#[derive(Clone, Copy)]
struct RequestRecord {
    sent: u64,
    lpn: u32,
    is_read: bool,
    /// The one that waits behind it for the same die.
    next: u8,
}

/// Counts of what was done.
#[derive(Clone, Copy, Debug, Default)]
struct DriveCounts {
    reads: u64,
    writes: u64,
    hits: u64,
    rows: u64,
    moved: u64,
    padded: u64,
    erases: u64,
    suspends: u64,
    events: u64,
}

/// The drive.
struct DriveFloor {
    facts: DriveFacts,
    map: FlatWords,
    reverse: FlatWords,
    /// By row, the valid units.
    rows: Vec<u16>,
    /// By superblock, valid units, plus [`NOT_CLOSED`].
    valid: Vec<u16>,
    erases: Vec<u32>,
    dies: Vec<DieRecord>,
    /// By die, planes of the command that it sends.
    planes: [u32; DIES as usize],
    channels: Vec<ChannelRecord>,
    events: Events,
    /// Idle dies that take a row, as bits, and whose turn it is.
    idle: u32,
    turn: u32,
    /// The buffer: pages that wait, in a ring, with the places of their old versions; and how many take room.
    ring: Vec<(u32, u32)>,
    head: u32,
    tail: u32,
    fill: u32,
    /// Writes that wait for room.
    writes: VecDeque<u8>,
    requests: [RequestRecord; MOST_DEPTH],
    coming: VecDeque<(u64, u8)>,
    going: VecDeque<(u64, u8)>,
    controller: u64,
    link_out: u64,
    dram: u64,
    now: u64,
    random: u64,
    /// Reads among 2^32 requests.
    read_share: u64,
    counts: DriveCounts,
    /// Of reads and of writes.
    latencies: [Latency; 2],
}

impl DriveFloor {
    /// Filled in order, and overwritten once at random: as the preset ages its drive.
    fn aged(facts: DriveFacts) -> Result<DriveFloor, Failure> {
        let memory = |error| Failure(format!("no memory for the floor of a drive: {error}"));
        let words = |count: u32| engine::FlatArray::filled(count as usize, NONE).map(FlatWords).map_err(memory);
        let superblocks = DIES * facts.superblocks;
        let die = |die: u32| DieRecord {
            state: DieState::Idle,
            operation: Operation::HostProgram,
            is_suspended: false,
            suspends: 0,
            from: 0,
            until: 0,
            rest: 0,
            reading: NOBODY,
            first: NOBODY,
            last: NOBODY,
            passed: 0,
            is_collecting: false,
            victim: NONE,
            stop: 0,
            line: 0,
            row: 0,
            held: 0,
            held_row: 0,
            ready: 0,
            host: NONE,
            copies: NONE,
            free: (die * facts.superblocks..(die + 1) * facts.superblocks).collect(),
        };
        let mut floor = DriveFloor {
            map: words(facts.user_units)?,
            reverse: words(superblocks * SLOTS)?,
            rows: vec![0; (superblocks * ROWS) as usize],
            valid: vec![NOT_CLOSED; superblocks as usize],
            erases: vec![0; superblocks as usize],
            dies: (0..DIES).map(die).collect(),
            planes: [0; DIES as usize],
            channels: vec![ChannelRecord::default(); CHANNELS as usize],
            events: Events::NONE,
            idle: u32::MAX,
            turn: 0,
            ring: vec![(0, NONE); facts.buffer as usize],
            head: 0,
            tail: 0,
            fill: 0,
            writes: VecDeque::with_capacity(MOST_DEPTH),
            requests: [RequestRecord { sent: 0, lpn: 0, is_read: false, next: NOBODY }; MOST_DEPTH],
            coming: VecDeque::with_capacity(MOST_DEPTH),
            going: VecDeque::with_capacity(MOST_DEPTH),
            controller: 0,
            link_out: 0,
            dram: 0,
            now: 0,
            random: 1,
            read_share: 0,
            counts: DriveCounts::default(),
            latencies: [Latency::new(), Latency::new()],
            facts,
        };
        floor.age();
        Ok(floor)
    }

    fn age(&mut self) {
        let user = self.facts.user_units;
        let mut die = 0;
        for write in (0..2 * user).step_by(UNITS as usize) {
            for unit in write..write + UNITS {
                let mut lpn = unit;
                // Every unit of a row is another one.
                while lpn >= user || self.map.get(lpn) & IN_BUFFER != 0 && self.map.get(lpn) != NONE {
                    lpn = self.draw();
                }
                self.buffer(lpn);
            }
            self.place_row(die);
            self.fill -= UNITS;
            while self.dies[die as usize].is_collecting {
                self.collect_at_once(die);
            }
            die = (die + 1) % DIES;
        }
        self.counts = DriveCounts::default();
    }

    /// A step of a collection, without time.
    fn collect_at_once(&mut self, die: u32) {
        if self.may_stop(die) {
            self.dies[die as usize].is_collecting = false;
        } else if self.valid_of(self.dies[die as usize].victim) > 0 {
            self.take_row(die);
            self.place_copies(die);
        } else {
            self.fill_up(die);
            self.erased(die);
        }
    }

    /// A number below 2^32, from the high half of a linear congruential generator.
    #[inline(always)]
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random >> 32
    }

    #[inline(always)]
    fn draw(&mut self) -> u32 {
        ((self.random() * u64::from(self.facts.user_units)) >> 32) as u32
    }
}

/// Until the buffer was filled twice, as in the rows of the engine.
fn fill(floor: &mut DriveFloor) -> u64 {
    let mut requests = 0;
    while floor.counts.writes < 2 * u64::from(floor.facts.buffer) {
        floor.run(STEP);
        requests += STEP;
    }
    requests
}

fn aged(mix: Mix) -> Result<DriveFloor, Failure> {
    let mut floor = DriveFloor::aged(DriveFacts::of(&run::configuration(&DriveRun::of_floor(mix).unaged(), 1)?)?)?;
    floor.read_share = (mix.read_fraction() * 4_294_967_296.0) as u64;
    Ok(floor)
}

/// The floor under one mix: the speed and the figures of so many requests behind those that fill the buffer, and percentiles of all.
pub(crate) fn measure(mix: Mix, requests: u64) -> Result<Measurement, Failure> {
    let mut floor = aged(mix)?;
    let from = fill(&mut floor);
    let (before, began) = (floor.counts, floor.now);
    let stopwatch = Stopwatch::start();
    floor.run(requests);
    let cpu_s = stopwatch.usage().cpu_s;
    let counts = floor.counts;
    let sent = (counts.reads + counts.writes - before.reads - before.writes) as f64;
    let written = (counts.writes - before.writes) as f64;
    let units = (u64::from(UNITS) * (counts.rows - before.rows)) as f64;
    let mut figures = Measurement::default();
    figures.set("from", from as f64);
    figures.set("requests_per_s", sent / cpu_s);
    figures.set("iops", sent * 1e9 / (floor.now - began) as f64);
    figures.set("waf", units / written);
    figures.set("events_per_request", (counts.events - before.events) as f64 / sent);
    figures.set("units_per_request", units / sent);
    for (latency, kind) in floor.latencies.iter().zip(["read", "write"]) {
        for (quantile, name) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p999")] {
            if let Some(ns) = latency.quantile_ns(quantile) {
                figures.set(format!("{kind}_{name}_us"), ns as f64 / 1e3);
            }
        }
    }
    Ok(figures)
}

/// Has callgrind count the instructions of so many requests behind those that fill the buffer.
pub(crate) fn count(mix: Mix, requests: u64) -> Result<Measurement, Failure> {
    let mut floor = aged(mix)?;
    let from = fill(&mut floor);
    let before = floor.counts.reads + floor.counts.writes;
    callgrind::start()?;
    floor.run(requests);
    callgrind::stop()?;
    let mut figures = Measurement::default();
    figures.set("from", from as f64);
    figures.set("requests", (floor.counts.reads + floor.counts.writes - before) as f64);
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stay_where_the_maps_say_and_all_that_is_counted_adds_up() {
        let setup = DriveRun::of_floor(Mix::Mixed).unaged();
        let mut facts = DriveFacts::of(&run::configuration(&setup, 1).unwrap()).unwrap();
        assert_eq!((facts.user_units, facts.buffer, facts.depth), (54784 << 8, 1 << 14, 32));
        // Few superblocks, as full as those of the preset.
        (facts.superblocks, facts.user_units, facts.buffer) = (10, 3 * DIES * SLOTS, 1 << 10);
        let mut floor = DriveFloor::aged(facts).unwrap();
        floor.read_share = 1 << 30;
        floor.run(300_000);
        let (facts, counts) = (&floor.facts, floor.counts);
        assert!(counts.erases > 20 && counts.moved > 10_000 && counts.suspends > 1000, "{counts:?}");
        let share = counts.reads as f64 / (counts.reads + counts.writes) as f64;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        for lpn in 0..facts.user_units {
            let word = floor.map.get(lpn);
            let (buffered, at) = match word & IN_BUFFER {
                0 => (false, word),
                _ => (true, floor.ring[(word & !IN_BUFFER) as usize].1),
            };
            assert!(!buffered || floor.ring[(word & !IN_BUFFER) as usize].0 == lpn);
            assert_eq!(floor.reverse.get(at), lpn);
            assert!(
                floor.rows[(at / UNITS) as usize] >> (at % UNITS) & 1 == 1,
                "its old version is valid until it leaves"
            );
        }
        let valid: u32 = floor.rows.iter().map(|row| row.count_ones()).sum();
        assert_eq!(valid, facts.user_units);
        let of_superblocks: u64 = (0..DIES * facts.superblocks).map(|at| floor.valid_of(at)).sum();
        assert_eq!(of_superblocks, u64::from(valid));
        let in_device = floor.coming.len() + floor.going.len() + floor.writes.len();
        assert!(in_device <= facts.depth as usize);
        let waits = floor.tail.wrapping_sub(floor.head);
        let placed = u64::from(UNITS) * counts.rows - counts.moved - counts.padded;
        // Rows of copies that were not completed by now, or before.
        let open = u64::from(DIES * UNITS);
        assert!((counts.writes - counts.hits - u64::from(waits)).abs_diff(placed) <= open, "{counts:?}");
        assert!(floor.fill >= waits && floor.fill <= facts.buffer);
    }

    #[test]
    fn another_drive_is_refused() {
        let setup = run::BenchSetup { preset: "enterprise-tlc-small", timed: true, sets: Vec::new() };
        assert!(DriveFacts::of(&run::configuration(&setup, 1).unwrap()).is_err());
    }
}
