//! Does the data survive? Faults at every operation of many short lives of a small device.
//!
//! A write is *durable* when it was acknowledged without a volatile write buffer, when it was acknowledged
//! with FUA, and when a FLUSH after it was completed. The promise: after any single program failure, and
//! after a power cut at any operation (also a second one while the device recovers), every logical page reads
//! as its last durable version or as one that the host sent after it, never as another page's, as an older
//! one, or as nothing. The device then goes on, and is held to the same promise.

use base::{Instant, Lpn, Request, RequestKind};
use config::Config;
use engine::Chance;
use files::Interrupt;
use serde_json::{Value, json};

use crate::buffer::{self, Buffer};
use crate::count;
use crate::device::Device;
use crate::flash::{Fault, Stamp};
use crate::{RunError, Watch, hybrid, precondition};

/// Host writes of a life after the fill, in user capacities.
const WRITES: f64 = 2.5;

/// Host writes after the fault was survived, in user capacities.
const AFTERWARDS: f64 = 1.0;

/// Reads between two writes, where a block takes only so many.
const READS: u32 = 12;

/// A number of operations that no life reaches.
const NEVER: u64 = u64::MAX;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A program fails.
    ProgramFailure,
    /// The power goes off before or during an operation.
    PowerCut,
    /// The same, and once more during recovery.
    SecondCut,
}

impl Trouble {
    /// The trouble of that name.
    pub fn named(name: &str) -> Option<Trouble> {
        Some(match name {
            "program-failure" => Trouble::ProgramFailure,
            "power-cut" => Trouble::PowerCut,
            "second-cut" => Trouble::SecondCut,
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
    /// Whether it came during the operation.
    pub during: bool,
    /// The logical page.
    pub lpn: u32,
    /// The version that was durable.
    pub promised: u32,
    /// The version that was found; 0 for none.
    pub found: u32,
}

/// What came of a series of lives.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Lives with a fault.
    pub runs: u64,
    /// Those in which a promise was broken.
    pub losing: u64,
    /// The first of them.
    pub first: Option<Loss>,
    /// Pages that recovery brought back from backups.
    pub rescued: u64,
    /// Restarts.
    pub restarts: u64,
}

impl Tally {
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

/// What a restart costs: a device is aged as the configuration says, loses its power, and comes back.
///
/// The result has `pages_read` (a spare area each), `erased_units`, `rescued_pages`, `restart_s` (the array reads
/// of all spare areas, planes of a die together where the chips have multi-plane commands, dies in parallel;
/// no transfers), `spare_bytes_per_page`, and `wall_s` of this program.
///
/// # Errors
/// When the configuration cannot be used (it has to have stamped pages), memory runs out, or somebody wants to stop.
pub fn restart_cost(config: &Config, interrupt: &Interrupt) -> Result<Value, RunError> {
    hybrid::check_faults(config)?;
    if config.run.payload != config::model::Payload::Stamp {
        return Err(RunError::Input("a restart needs `run.payload = \"stamp\"`: it reads spare areas".into()));
    }
    let failed = |error: ftl::OutOfMemory| RunError::Failed(error.to_string());
    let mut device = Device::new(config, false).map_err(failed)?;
    precondition::age(&mut device, config, &mut Watch::new(None, interrupt.clone()))?;
    device.flash.arm(Fault::PowerCut { at: 0, during: false });
    device.write_now(Lpn(0), device.parts.whole());
    device.flash.power_on();
    device.flash.arm(Fault::PowerCut { at: NEVER, during: false });
    let restart_s = scan_seconds(&device, config);
    let stopwatch = metrics::Stopwatch::start();
    let restart = device.restart(config).map_err(failed)?;
    Ok(json!({
        "pages_read": restart.pages_read,
        "erased_units": restart.erased,
        "rescued_pages": restart.rescued,
        "restart_s": restart_s,
        "spare_bytes_per_page": size_of::<u128>(),
        "spare_share": size_of::<u128>() as f64 / f64::from(config.device.page_size),
        "wall_s": stopwatch.usage().wall_s,
    }))
}

/// Time that the array reads of all programmed pages take.
fn scan_seconds(device: &Device, config: &Config) -> f64 {
    let geometry = device.ftl.geometry();
    let layout = base::PageLayout::new(config.device.cell, config.device.program_order, config.device.pages_per_block);
    let mut planes = vec![0u64; geometry.planes() as usize];
    for (block, state) in device.flash.nand().blocks().iter().enumerate() {
        let reads = (0..u32::from(state.next_page))
            .filter(|&page| device.flash.nand().is_programmed(block as u32, page))
            .map(|page| config.device.timing.read[usize::from(layout.page_type(page).0)].ns());
        planes[block / geometry.blocks_per_plane as usize] += reads.sum::<u64>();
    }
    let together = config.device.multiplane != base::Multiplane::Off;
    let dies = planes.chunks(geometry.planes_per_die as usize);
    let of_die = |die: &[u64]| if together { die.iter().copied().max().unwrap_or(0) } else { die.iter().sum() };
    dies.map(of_die).max().unwrap_or(0) as f64 * 1e-9
}

/// One life.
struct Life<'a> {
    config: &'a Config,
    device: Device,
    buffer: Option<Box<Buffer>>,
    random: Chance,
    /// By LPN: the last durable version.
    promised: Vec<u32>,
    is_filled: bool,
    rescued: u64,
    restarts: u64,
}

/// Puts a fault at every operation of a number of lives, `stride` apart.
///
/// # Errors
/// When the configuration cannot be used (it has to have stamped pages), memory runs out, or somebody wants to stop.
pub fn try_everywhere(
    config: &Config,
    trouble: Trouble,
    seeds: u64,
    stride: u64,
    interrupt: &Interrupt,
) -> Result<Tally, RunError> {
    if config.run.payload != config::model::Payload::Stamp {
        return Err(RunError::Input(
            "faults need `run.payload = \"stamp\"`: there is nothing to lose otherwise".into(),
        ));
    }
    hybrid::check_faults(config)?;
    if buffer::is_protected(config.ftl.get("write_buffer")) {
        return Err(RunError::Input(
            "`power_loss = \"protected\"` saves the write buffer when the power goes off, and here it is lost\nhint: set \
             `power_loss = \"volatile\"`, or `write_buffer = \"none\"`"
                .into(),
        ));
    }
    let mut tally = Tally::default();
    for seed in 0..seeds {
        let mut whole = Life::new(config, seed)?;
        whole.device.flash.arm(Fault::PowerCut { at: NEVER, during: false });
        whole.live(WRITES);
        let operations = whole.device.flash.operations();
        // Different lives begin at different operations, so that together they cover all.
        for at in (seed % stride..operations).step_by(stride as usize) {
            for during in [false, true] {
                if trouble == Trouble::ProgramFailure && !during {
                    continue;
                }
                interrupt.check().map_err(|_| RunError::Stopped)?;
                tally.runs += 1;
                let mut life = Life::new(config, seed)?;
                let loss = life.suffer(trouble, at, during)?;
                tally.rescued += life.rescued;
                tally.restarts += life.restarts;
                if let Some(loss) = loss {
                    tally.losing += 1;
                    tally.first.get_or_insert(Loss { seed, at, during, ..loss });
                }
            }
        }
    }
    Ok(tally)
}

impl Life<'_> {
    fn new(config: &Config, seed: u64) -> Result<Life<'_>, RunError> {
        let mut device = Device::new(config, false).map_err(|error| RunError::Failed(error.to_string()))?;
        Ok(Life {
            buffer: buffer::build(config, &mut device)?.map(Box::new),
            config,
            random: Chance::new(seed, "life"),
            promised: vec![0; device.ftl.user_pages() as usize],
            device,
            is_filled: false,
            rescued: 0,
            restarts: 0,
        })
    }

    /// Lives with a fault; returns the first broken promise.
    fn suffer(&mut self, trouble: Trouble, at: u64, during: bool) -> Result<Option<Loss>, RunError> {
        let fault = match trouble {
            Trouble::ProgramFailure => Fault::ProgramFailure { at },
            Trouble::PowerCut | Trouble::SecondCut => Fault::PowerCut { at, during },
        };
        self.device.flash.arm(fault);
        self.live(WRITES);
        if self.device.flash.is_off() {
            self.device.flash.power_on();
            let second = match trouble {
                // Somewhere in the first dozen operations of the recovery.
                Trouble::SecondCut => self.random.below(12),
                _ => NEVER,
            };
            let during = self.random.below(2) == 0;
            self.device.flash.arm(Fault::PowerCut { at: second, during });
            self.restart()?;
            if self.device.flash.is_off() {
                self.device.flash.power_on();
                self.restart()?;
            }
            self.device.flash.arm(Fault::PowerCut { at: NEVER, during: false });
        }
        if let Some(loss) = self.broken_promise() {
            return Ok(Some(loss));
        }
        self.device.check_state();
        if self.restarts > 0 {
            self.begin_anew()?;
        }
        self.live(AFTERWARDS);
        self.device.check_state();
        Ok(self.broken_promise())
    }

    fn restart(&mut self) -> Result<(), RunError> {
        let restart = self.device.restart(self.config).map_err(|error| RunError::Failed(error.to_string()))?;
        self.restarts += 1;
        self.rescued += restart.rescued;
        Ok(())
    }

    /// Writes every page once if that was not done yet, then some at random, most of them to a few pages; with a
    /// write buffer some writes carry FUA, and now and then comes a FLUSH. Where blocks take only so many reads, pages are
    /// read in between, a few of them most of the time.
    fn live(&mut self, capacities: f64) {
        let pages = self.device.ftl.user_pages();
        if !std::mem::replace(&mut self.is_filled, true) {
            for lpn in 0..pages {
                self.send(RequestKind::Write, lpn, false);
            }
        }
        for _ in 0..(f64::from(pages) * capacities) as u64 {
            let lpn = match self.random.below(4) {
                0 => self.random.below_u32(pages),
                1 => self.random.below_u32(pages.div_ceil(8)),
                _ => self.random.below_u32(pages.div_ceil(3)),
            };
            match self.random.below(12) {
                0 if self.buffer.is_some() => self.send(RequestKind::Flush, 0, false),
                chance => self.send(RequestKind::Write, lpn, chance == 1),
            }
            if self.config.device.wear.read_limit.is_some() {
                self.read(pages);
            }
        }
    }

    fn read(&mut self, pages: u32) {
        for _ in 0..READS {
            let few = if self.random.below(3) == 0 { pages } else { pages.div_ceil(6) };
            let lpn = pages - 1 - self.random.below_u32(few);
            self.send(RequestKind::Read, lpn, false);
        }
    }

    fn send(&mut self, kind: RequestKind, lpn: u32, fua: bool) {
        if self.device.flash.is_off() {
            return;
        }
        let size = if kind == RequestKind::Flush { 0 } else { self.device.page_size };
        let request = Request { at: Instant::ZERO, offset: u64::from(lpn) * size, size, kind, fua };
        count::carry_out(&mut self.device, self.buffer.as_deref_mut(), &request);
        if self.device.flash.is_off() {
            return;
        }
        if kind == RequestKind::Flush {
            for lpn in 0..self.promised.len() as u32 {
                self.promised[lpn as usize] = self.device.newest_version(Lpn(lpn));
            }
        } else if kind == RequestKind::Write && (self.buffer.is_none() || fua) {
            self.promised[lpn as usize] = self.device.newest_version(Lpn(lpn));
        }
    }

    /// The version that a page reads as; 0 for none.
    fn version_of(&self, lpn: u32) -> u32 {
        let Some(ppn) = self.device.ftl.lookup(Lpn(lpn)) else { return 0 };
        if self.device.flash.is_lost(ppn) {
            return 0;
        }
        let place = self.device.ftl.geometry().place(ppn);
        let stamp = Stamp::unpack(self.device.flash.nand().stamp(place.block, place.page));
        if stamp.lpn == Lpn(lpn) { stamp.version } else { u32::MAX }
    }

    fn broken_promise(&self) -> Option<Loss> {
        (0..self.promised.len() as u32).find_map(|lpn| {
            let promised = self.promised[lpn as usize];
            let newest = self.device.newest_version(Lpn(lpn));
            // Pages in the write buffer are newer than what flash holds; after a cut it is empty.
            let found = self.version_of(lpn);
            let is_kept = (promised..=newest.max(promised)).contains(&found);
            (!is_kept).then_some(Loss { seed: 0, at: 0, during: false, lpn, promised, found })
        })
    }

    /// After a restart what flash holds is what there is, and all of it is durable.
    fn begin_anew(&mut self) -> Result<(), RunError> {
        self.device.trust_array();
        self.buffer = buffer::build(self.config, &mut self.device)?.map(Box::new);
        for lpn in 0..self.promised.len() as u32 {
            self.promised[lpn as usize] = self.version_of(lpn);
        }
        Ok(())
    }
}
