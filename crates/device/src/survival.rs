//! Does the data survive? Faults at every operation of many short lives of a small device.
//!
//! A write is *acknowledged* when it returned with the power on. The promise: after any single program
//! failure, and after a power cut at any operation (also a second one while the device recovers), every
//! logical page reads as the version that was acknowledged last; the page whose write was under way reads as
//! that or as the new version. The device then goes on, and is held to the same promise.

use base::Lpn;
use config::Config;
use engine::Stream;
use serde_json::{Value, json};

use crate::device::Device;
use crate::flash::{Fault, Stamp};
use crate::{RunError, hybrid};

/// Host writes of a life, after the fill.
const WRITES: u64 = 160;

/// Host writes after the fault was survived.
const AFTERWARDS: u64 = 60;

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
    /// The version that was acknowledged.
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

/// One life.
struct Life<'a> {
    config: &'a Config,
    device: Device,
    random: Stream,
    /// By LPN: the version that was acknowledged last.
    promised: Vec<u32>,
    /// The write under way: page and version.
    under_way: Option<(u32, u32)>,
    versions: u32,
    rescued: u64,
    restarts: u64,
}

/// Puts a fault at every operation of a number of lives, `stride` apart.
///
/// # Errors
/// When the configuration cannot be used (it has to have stamped pages), or memory runs out.
pub fn try_everywhere(config: &Config, trouble: Trouble, seeds: u64, stride: u64) -> Result<Tally, RunError> {
    if config.run.payload != config::model::Payload::Stamp {
        return Err(RunError::Input(
            "faults need `run.payload = \"stamp\"`: there is nothing to lose otherwise".into(),
        ));
    }
    hybrid::check_faults(config)?;
    let mut tally = Tally::default();
    for seed in 0..seeds {
        let mut whole = Life::new(config, seed)?;
        whole.device.flash.arm(Fault::PowerCut { at: NEVER, during: false });
        whole.live(WRITES)?;
        let operations = whole.device.flash.operations();
        // Different lives begin at different operations, so that together they cover all.
        for at in (seed % stride..operations).step_by(stride as usize) {
            for during in [false, true] {
                if trouble == Trouble::ProgramFailure && !during {
                    continue;
                }
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

impl<'a> Life<'a> {
    fn new(config: &'a Config, seed: u64) -> Result<Life<'a>, RunError> {
        let device = Device::new(config, false).map_err(|error| RunError::Failed(error.to_string()))?;
        Ok(Life {
            config,
            random: Stream::new(seed, "life"),
            promised: vec![0; device.ftl.user_pages() as usize],
            device,
            under_way: None,
            versions: 0,
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
        self.live(WRITES)?;
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
        self.settle();
        self.device.check_state();
        self.live(AFTERWARDS)?;
        self.device.check_state();
        Ok(self.broken_promise())
    }

    fn restart(&mut self) -> Result<(), RunError> {
        let restart = self.device.restart(self.config).map_err(|error| RunError::Failed(error.to_string()))?;
        self.restarts += 1;
        self.rescued += restart.rescued;
        Ok(())
    }

    /// Writes every page once if it was never written, then some at random, most of them to a few pages.
    fn live(&mut self, writes: u64) -> Result<(), RunError> {
        let pages = self.device.ftl.user_pages();
        if self.versions == 0 {
            for lpn in 0..pages {
                self.write(lpn);
            }
        }
        for _ in 0..writes {
            let lpn = match self.random.below(4) {
                0 => self.random.below_u32(pages),
                1 => self.random.below_u32(pages.div_ceil(8)),
                _ => self.random.below_u32(pages.div_ceil(3)),
            };
            self.write(lpn);
        }
        Ok(())
    }

    fn write(&mut self, lpn: u32) {
        if self.device.flash.is_off() {
            return;
        }
        self.versions += 1;
        self.under_way = Some((lpn, self.versions));
        self.device.program_now(Lpn(lpn), self.versions, false);
        if !self.device.flash.is_off() {
            self.promised[lpn as usize] = self.versions;
            self.under_way = None;
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
            let (promised, found) = (self.promised[lpn as usize], self.version_of(lpn));
            let is_new = self.under_way == Some((lpn, found));
            let is_kept = found == promised || is_new;
            (!is_kept).then_some(Loss { seed: 0, at: 0, during: false, lpn, promised, found })
        })
    }

    /// What was under way is known by now: it was done or it was not.
    fn settle(&mut self) {
        if let Some((lpn, version)) = self.under_way.take()
            && self.version_of(lpn) == version
        {
            self.promised[lpn as usize] = version;
        }
    }
}
