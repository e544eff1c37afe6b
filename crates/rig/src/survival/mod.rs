//! Does the data survive? Faults at every operation of many short lives of a small device.
//!
//! A write is *durable* when it was acknowledged without a volatile write buffer, when it was acknowledged
//! with FUA, and when a FLUSH after it was completed. The promise: after any single program failure, and
//! after a power cut at any operation (also a second one while the device recovers), every logical page reads
//! as its last durable version or as one that the host sent after it, never as another page's, as an older
//! one, or as nothing. The device then goes on, and is held to the same promise.

mod in_time;

pub use in_time::{Cuts, TroubleInTime, try_cuts};

use std::collections::BTreeMap;

use base::{Domain, Instant, Lpn, Request, RequestKind};
use config::Config;
use device::RunError;
use device::stamped::{Fault, StampedDevice};
use engine::Chance;
use files::Interrupt;
use ftl::schedule::{Kind, Schedule};
use serde_json::{Value, json};

/// Numbers that writes have as hints, where a separation goes by them.
const HINTS: u32 = 5;

/// A number of operations that no life reaches.
const NEVER: u64 = u64::MAX;

/// The kind of fault in a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A program fails.
    ProgramFailure,
    /// The power goes off before or during an operation.
    PowerCut,
    /// The power goes off before or during an operation, and once more at any operation of the recovery.
    SecondCut,
    /// A reprogram fails: the program of a page that is programmed already.
    ReprogramFailure,
    /// The power goes off, and any program of the recovery fails.
    FailedRecovery,
}

impl Trouble {
    /// The trouble of that name.
    pub fn named(name: &str) -> Option<Trouble> {
        Some(match name {
            "program-failure" => Trouble::ProgramFailure,
            "power-cut" => Trouble::PowerCut,
            "second-cut" => Trouble::SecondCut,
            "reprogram-failure" => Trouble::ReprogramFailure,
            "failed-recovery" => Trouble::FailedRecovery,
            _ => return None,
        })
    }
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The seed of the life.
    pub seed: u64,
    /// The operation at which the fault came.
    pub at: u64,
    /// True if the fault came during the operation, not before it.
    pub during: bool,
    /// The logical page.
    pub lpn: u32,
    /// The version that was durable.
    pub promised: u32,
    /// The version that was found; 0 for none.
    pub found: u32,
}

/// The outcome of a series of lives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LivesTally {
    /// Lives with a fault.
    pub runs: u64,
    /// Lives in which a promise was broken.
    pub losing: u64,
    /// Of these, the ones in which blocks failed so thick that no room was left for what they held.
    pub exhausted: u64,
    /// The first of them.
    pub first: Option<Loss>,
    /// Pages that recovery brought back from backups.
    pub rescued: u64,
    /// Restarts.
    pub restarts: u64,
    /// Lives in which a page took more than it can: more reads of its block than the limit, or more errors than the ECC corrects.
    pub past_limits: u64,
    /// The error of the first of them, and where its fault was.
    pub first_past: Option<String>,
    /// Operations of the lives without a fault.
    pub operations: u64,
    /// Operations for which devices went on after their faults.
    pub afterwards: u64,
    /// By seed, what was done in a life without a fault: `counters`, and what mechanisms say of themselves in `policy`.
    pub done: Vec<Value>,
}

/// The number and length of lives, and the places of their faults.
#[derive(Clone, Copy, Debug)]
pub struct Lives {
    /// Number of lives, each with a seed of its own; each is lived again for every fault.
    pub seeds: u64,
    /// Faults are so many operations apart, failures so many programs.
    pub stride: u64,
    /// Host writes after the fill, in user capacities.
    pub writes: f64,
    /// Reads between two writes, where a block takes only so many.
    pub reads: u32,
    /// Host writes after the fault was survived, in user capacities.
    pub afterwards: f64,
    /// True if each fault is reached from the beginning of its life, not from a copy of the device shortly before it.
    /// The outcome is the same, and takes far longer.
    pub from_the_beginning: bool,
}

impl Lives {
    /// Lives of the usual length.
    pub fn new(seeds: u64, stride: u64) -> Lives {
        Lives { seeds, stride, writes: 2.5, reads: 12, afterwards: 1.0, from_the_beginning: false }
    }
}

impl LivesTally {
    /// As an object.
    pub fn to_json(&self) -> Value {
        json!({
            "runs": self.runs,
            "losing": self.losing,
            "restarts": self.restarts,
            "rescued": self.rescued,
            "first": self.first.as_ref().map(|loss| json!({
                "seed": loss.seed, "at": loss.at, "during": loss.during,
                "lpn": loss.lpn, "promised": loss.promised, "found": loss.found,
            })),
        })
    }
}

/// Measures the cost of a restart: ages a device as the configuration says, takes its power away, and restarts it.
///
/// The result has `pages_read` (a spare area each), `erased_units`, `rescued_pages`, `restart_s` (the array reads
/// of all spare areas, planes of a die together where the chips have multi-plane commands, dies in parallel;
/// no transfers), `spare_bytes_per_page`, and `wall_s` of this program.
///
/// # Errors
/// When the configuration cannot be used (it has to have stamped pages), memory runs out, or somebody wants to stop.
pub fn restart_cost(config: &Config, interrupt: &Interrupt) -> Result<Value, RunError> {
    if config.run.payload != config::model::Payload::Stamp {
        return Err(RunError::Input("a restart needs `run.payload = \"stamp\"`: it reads spare areas".into()));
    }
    let mut device = StampedDevice::new(config)?;
    device.age(interrupt)?;
    device.power_off();
    device.power_on();
    device.arm(Fault::PowerCut { at: NEVER, during: false });
    let began = std::time::Instant::now();
    let restart = device.restart()?;
    Ok(json!({
        "pages_read": restart.pages_read,
        "erased_units": restart.erased,
        "rescued_pages": restart.rescued,
        "restart_s": restart.array_s,
        "spare_bytes_per_page": size_of::<u128>(),
        "spare_share": size_of::<u128>() as f64 / f64::from(config.device.page_size),
        "wall_s": began.elapsed().as_secs_f64(),
    }))
}

/// One life.
#[derive(Clone)]
struct Life<'a> {
    config: &'a Config,
    lives: &'a Lives,
    device: StampedDevice<'a>,
    random: Chance,
    /// By version: the handle that its data are kept apart by, where they are.
    handles: BTreeMap<u32, u8>,
    /// By LPN: the last durable version.
    promised: Vec<u32>,
    /// Pages of the fill, which comes first, that are left, and writes after it.
    fill_left: u32,
    writes_left: u64,
    /// Reads before the next write.
    reads_left: u32,
    /// Requests that were sent.
    sent: usize,
    rescued: u64,
    restarts: u64,
}

/// Puts a fault at every operation of a number of lives of the usual length, `stride` apart.
///
/// # Errors
/// As [`try_lives`].
pub fn try_everywhere(
    config: &Config,
    trouble: Trouble,
    seeds: u64,
    stride: u64,
    interrupt: &Interrupt,
) -> Result<LivesTally, RunError> {
    try_lives(config, trouble, &Lives::new(seeds, stride), interrupt)
}

/// Puts faults at operations of lives: programs fail, or the power goes off before and during any operation.
///
/// # Errors
/// When the configuration cannot be used (it has to have stamped pages), memory runs out, or somebody wants to stop.
pub fn try_lives(
    config: &Config,
    trouble: Trouble,
    lives: &Lives,
    interrupt: &Interrupt,
) -> Result<LivesTally, RunError> {
    check(config)?;
    let mut tally = LivesTally::default();
    for seed in 0..lives.seeds {
        try_life(config, trouble, (lives, seed), interrupt, &mut tally)?;
    }
    Ok(tally)
}

/// Refuses what has no lives with faults; what has no faults at all is refused with its first device.
fn check(config: &Config) -> Result<(), RunError> {
    let buffer = config.ftl.get("write_buffer");
    if buffer.name != "none" && buffer.word("power_loss") == "protected" {
        return Err(RunError::Input(
            "`power_loss = \"protected\"` saves the write buffer when the power goes off, and here it is lost\nhint: set \
             `power_loss = \"volatile\"`, or `write_buffer = \"none\"`"
                .into(),
        ));
    }
    Ok(())
}

/// Puts faults at operations of one life: of each request in which one is to come, there are copies of the device just before it.
fn try_life(
    config: &Config,
    trouble: Trouble,
    (lives, seed): (&Lives, u64),
    interrupt: &Interrupt,
    tally: &mut LivesTally,
) -> Result<(), RunError> {
    let mut whole = Life::new(config, lives, seed)?;
    // By request.
    let mut begun = vec![0];
    while whole.live_on() {
        begun.push(whole.begun(trouble));
    }
    tally.operations += whole.device.operations();
    tally.done.push(whole.device.done());
    let faults = whole.begun(trouble);
    // Policies of the user's own cannot be copied.
    let copies = !lives.from_the_beginning && config.ftl.get("victim").own.is_none();
    let mut next = Life::new(config, lives, seed)?;
    // Different lives begin at different operations, so that together they cover all.
    for at in (seed % lives.stride..faults).step_by(lives.stride as usize) {
        let before = begun.partition_point(|&begun| begun <= at) - 1;
        for during in [false, true] {
            if matches!(trouble, Trouble::ProgramFailure | Trouble::ReprogramFailure) && !during {
                continue;
            }
            interrupt.check().map_err(|_| RunError::Stopped)?;
            let mut life = if copies {
                next.live_until(before);
                next.clone()
            } else {
                let mut life = Life::new(config, lives, seed)?;
                life.live_until(before);
                life
            };
            let loss = life.suffer(trouble, at - begun[before], during)?;
            tally.count(&life, (at, during), loss.map(|loss| Loss { seed, at, during, ..loss }));
        }
    }
    Ok(())
}

impl LivesTally {
    /// Counts a life with a fault.
    fn count(&mut self, life: &Life<'_>, (at, during): (u64, bool), loss: Option<Loss>) {
        self.runs += 1;
        self.rescued += life.rescued;
        self.restarts += life.restarts;
        self.afterwards += life.device.operations();
        if let Some(loss) = loss {
            self.losing += 1;
            self.exhausted += u64::from(life.is_exhausted());
            self.first.get_or_insert(loss);
        }
        if let Err(error) = life.device.check_limits() {
            self.past_limits += 1;
            let when = if during { "during" } else { "before" };
            self.first_past.get_or_insert_with(|| format!("with the fault {when} operation {at}: {error}"));
        }
    }
}

impl Life<'_> {
    fn new<'a>(config: &'a Config, lives: &'a Lives, seed: u64) -> Result<Life<'a>, RunError> {
        let mut device = StampedDevice::new(config)?;
        device.arm(Fault::PowerCut { at: NEVER, during: false });
        let pages = device.pages();
        Ok(Life {
            config,
            lives,
            random: Chance::new(seed, "life"),
            promised: vec![0; pages as usize],
            handles: BTreeMap::new(),
            device,
            fill_left: pages,
            writes_left: in_pages(lives.writes, pages),
            reads_left: 0,
            sent: 0,
            rescued: 0,
            restarts: 0,
        })
    }

    /// Operations in whose place the trouble could have come.
    fn begun(&self, trouble: Trouble) -> u64 {
        match trouble {
            Trouble::ProgramFailure => self.device.programs(),
            Trouble::ReprogramFailure => self.device.reprograms(),
            Trouble::PowerCut | Trouble::SecondCut | Trouble::FailedRecovery => self.device.operations(),
        }
    }

    /// Blocks failed so thick that no room was left for what they held.
    fn is_exhausted(&self) -> bool {
        self.device.done()["policy"]["bad_blocks"]["exhausted"] == json!(1)
    }

    /// Has the next request end in a fault, so many operations on, and lives on; returns the first broken promise.
    fn suffer(&mut self, trouble: Trouble, at: u64, during: bool) -> Result<Option<Loss>, RunError> {
        let fault = match trouble {
            Trouble::ProgramFailure => Fault::ProgramFailure { at },
            Trouble::ReprogramFailure => Fault::ReprogramFailure { at },
            Trouble::PowerCut | Trouble::SecondCut | Trouble::FailedRecovery => Fault::PowerCut { at, during },
        };
        self.device.arm(fault);
        self.live_on();
        assert!(!self.device.is_armed(), "the fault comes in the request that it was put in");
        if self.device.is_off() {
            self.device.power_on();
            let fault = self.fault_of_recovery(trouble)?;
            self.device.arm(fault);
            self.restart()?;
            if self.device.is_off() {
                self.device.power_on();
                self.restart()?;
            }
        }
        self.device.arm(Fault::PowerCut { at: NEVER, during: false });
        if let Some(loss) = self.broken_promise() {
            return Ok(Some(loss));
        }
        self.device.check_state();
        if self.restarts > 0 {
            self.begin_anew();
        }
        (self.fill_left, self.reads_left) = (0, 0);
        self.writes_left = in_pages(self.lives.afterwards, self.device.pages());
        while self.live_on() {}
        self.device.check_state();
        Ok(self.broken_promise())
    }

    /// The fault that comes while the device recovers, if it does: at any operation of a recovery that nothing interrupts. Where the
    /// device cannot be copied to try that, at one of the first dozen.
    fn fault_of_recovery(&mut self, trouble: Trouble) -> Result<Fault, RunError> {
        let never = Fault::PowerCut { at: NEVER, during: false };
        if !matches!(trouble, Trouble::SecondCut | Trouble::FailedRecovery) {
            return Ok(never);
        }
        let mut count = 12;
        if self.config.ftl.get("victim").own.is_none() {
            let mut trial = self.device.clone();
            trial.arm(never);
            trial.restart()?;
            let is_cut = trouble == Trouble::SecondCut;
            count = if is_cut { trial.operations() } else { trial.programs() };
        }
        if count == 0 {
            return Ok(never);
        }
        let (at, during) = (self.random.below(count), self.random.below(2) == 0);
        Ok(if trouble == Trouble::SecondCut { Fault::PowerCut { at, during } } else { Fault::ProgramFailure { at } })
    }

    fn restart(&mut self) -> Result<(), RunError> {
        let restart = self.device.restart()?;
        self.restarts += 1;
        self.rescued += restart.rescued;
        Ok(())
    }

    /// Sends the next request, if one is left: every page is written once, then some at random, most of them to a few pages; with
    /// a write buffer some writes carry FUA, and now and then comes a FLUSH. Where blocks take only so many reads, pages are read in
    /// between, a few of them most of the time. Where collections begin ahead of need, some of them go on for a while after a write.
    fn live_on(&mut self) -> bool {
        let pages = self.device.pages();
        if self.device.is_read_only() {
            // It has come to its end; what it holds is there still.
            return false;
        }
        if self.fill_left > 0 {
            self.fill_left -= 1;
            self.send(RequestKind::Write, pages - 1 - self.fill_left, false);
        } else if self.reads_left > 0 {
            self.reads_left -= 1;
            let few = if self.random.below(3) == 0 { pages } else { pages.div_ceil(6) };
            let lpn = pages - 1 - self.random.below_u32(few);
            self.send(RequestKind::Read, lpn, false);
        } else if self.writes_left > 0 {
            self.writes_left -= 1;
            self.write_at_random(pages);
            self.collect_ahead();
            self.reads_left = if self.config.device.wear.read_limit.is_some() { self.lives.reads } else { 0 };
        } else {
            return false;
        }
        self.sent += 1;
        true
    }

    /// Lives until so many requests were sent.
    fn live_until(&mut self, requests: usize) {
        while self.sent < requests && self.live_on() {}
    }

    fn write_at_random(&mut self, pages: u32) {
        let lpn = match self.random.below(4) {
            0 => self.random.below_u32(pages),
            1 => self.random.below_u32(pages.div_ceil(8)),
            _ => self.random.below_u32(pages.div_ceil(3)),
        };
        match self.random.below(12) {
            0 if self.has_buffer() => self.send(RequestKind::Flush, 0, false),
            chance => self.send(RequestKind::Write, lpn, chance == 1),
        }
    }

    /// No time passes here in which somebody could be idle, so chance says when a collection begins ahead of need, and when it is
    /// suspended for the host.
    fn collect_ahead(&mut self) {
        let schedule = Schedule::new(self.config.ftl.get("gc_schedule"));
        if schedule.is_threshold() || schedule.paced().is_some() || self.device.is_off() || self.random.below(3) > 0 {
            return;
        }
        let geometry = *self.device.geometry();
        let domain = Domain::new(self.random.below_u32(geometry.domains()));
        let operations = if schedule.preempts { self.random.below_u32(geometry.unit_slots()) } else { u32::MAX };
        // What fills another collection's time may leave its erases for later.
        let defers = matches!(schedule.kind, Kind::CycleFilling(_)) && self.random.below(2) == 0;
        self.device.collect_ahead(domain, operations, defers);
    }

    fn send(&mut self, kind: RequestKind, lpn: u32, fua: bool) {
        let size = if kind == RequestKind::Flush { 0 } else { self.device.page_size() };
        // A page changes its handle with each write.
        let hint = (lpn.wrapping_add(self.device.newest_version(Lpn(lpn))) % HINTS) as u16;
        let request = Request { at: Instant::ZERO, offset: u64::from(lpn) * size, size, kind, fua, hint };
        self.device.send(&request);
        if self.device.is_off() || self.device.has_refused() {
            return;
        }
        if kind == RequestKind::Write {
            let separation = self.config.ftl.get("separation");
            let version = self.device.newest_version(Lpn(lpn));
            self.handles.extend(ftl::separation::isolated_handle(separation, hint).map(|handle| (version, handle)));
        }
        if kind == RequestKind::Flush {
            for lpn in 0..self.promised.len() as u32 {
                self.promised[lpn as usize] = self.device.newest_version(Lpn(lpn));
            }
        } else if kind == RequestKind::Write && (!self.has_buffer() || fua) {
            if self.device.gathers() {
                return self.promise_programmed();
            }
            self.promised[lpn as usize] = self.device.newest_version(Lpn(lpn));
        }
    }

    /// Where pages wait for others, a write is complete when its page is programmed, which may be at the write of another page.
    fn promise_programmed(&mut self) {
        for (lpn, promised) in (0..).zip(&mut self.promised) {
            *promised = self.device.programmed_version(Lpn(lpn)).max(*promised);
        }
    }

    fn broken_promise(&self) -> Option<Loss> {
        self.check_isolation();
        (0..self.promised.len() as u32).find_map(|lpn| {
            let promised = self.promised[lpn as usize];
            let newest = self.device.newest_version(Lpn(lpn));
            // Pages in the write buffer are newer than what flash holds; after a cut it is empty.
            let found = self.device.found_version(Lpn(lpn));
            // Of a write that the device could not take any more the host was told, and that reads of the page are errors.
            let is_told = newest > promised && self.device.is_lost(Lpn(lpn));
            let is_kept = is_told || (promised..=newest.max(promised)).contains(&found);
            (!is_kept).then_some(Loss { seed: 0, at: 0, during: false, lpn, promised, found })
        })
    }

    /// Data that the host wants kept apart share no unit.
    ///
    /// # Panics
    /// If they do.
    fn check_isolation(&self) {
        let mut of_unit = BTreeMap::new();
        for lpn in 0..self.promised.len() as u32 {
            let handle = self.handles.get(&self.device.found_version(Lpn(lpn)));
            if let (Some(&handle), Some(unit)) = (handle, self.device.unit_of(Lpn(lpn))) {
                let before = *of_unit.entry(unit).or_insert(handle);
                assert_eq!(before, handle, "unit {unit} has data of two handles");
            }
        }
    }

    /// After a restart what flash holds is what there is, and all of it is durable.
    fn begin_anew(&mut self) {
        self.device.begin_anew();
        for lpn in 0..self.promised.len() as u32 {
            self.promised[lpn as usize] = self.device.found_version(Lpn(lpn));
        }
    }

    fn has_buffer(&self) -> bool {
        self.config.ftl.get("write_buffer").name != "none"
    }
}

/// The pages of so many user capacities.
fn in_pages(capacities: f64, pages: u32) -> u64 {
    (f64::from(pages) * capacities) as u64
}
