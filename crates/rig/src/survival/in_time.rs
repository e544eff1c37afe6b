//! Power cuts in time: at any instant of a run, with all dies at work.
//!
//! Where time passes, a cut does not come at one operation. It tears what every array works on, also what is suspended; it loses what
//! is on its way to a die, and what waits in the controller for the rest of its wordline. The promise is the same as without time.

use base::{Instant, Lpn, Request, RequestKind};
use config::Config;
use device::RunError;
use device::stamped::{Fault, StampedDevice};
use engine::Chance;
use files::Interrupt;

use super::{HINTS, LivesTally, Loss, NEVER, check, in_pages};

/// Programs from one that fails to the next, at least. Each closes a unit early, and collections have to come in between.
const APART: u64 = 400;

/// The number of runs, their lengths, and the places of the power cuts.
#[derive(Clone, Copy, Debug)]
pub struct Cuts {
    /// Number of devices, each with a history of its own.
    pub seeds: u64,
    /// Cuts of each, at instants drawn at random from a run.
    pub cuts: u64,
    /// Pages that the host writes before the run, in user capacities, besides the fill.
    pub before: f64,
    /// Requests of the run, and of the one after the restart.
    pub requests: u32,
    /// From each cut the device comes back twice: as it is, and with a second cut at any operation of the recovery.
    pub twice: bool,
    /// How runs go wrong.
    pub trouble: TroubleInTime,
}

/// How a run goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleInTime {
    /// The power goes off.
    Cut,
    /// Programs fail, from one at random on, and the run goes to its end.
    Failures,
    /// Programs fail, and the power goes off as well.
    Both,
}

/// Has the power go off in runs of the executor with time, restarts the device, looks for every page, and goes on.
///
/// # Errors
/// When the configuration cannot be used (it has to have stamped pages), memory runs out, or somebody wants to stop.
pub fn try_cuts(config: &Config, cuts: &Cuts, interrupt: &Interrupt) -> Result<LivesTally, RunError> {
    check(config)?;
    let mut tally = LivesTally::default();
    for seed in 0..cuts.seeds {
        let aged = Aged::new(config, cuts, seed, interrupt)?;
        for number in 0..cuts.cuts {
            interrupt.check().map_err(|_| RunError::Stopped)?;
            let mut random = Chance::new(seed << 32 | number, "cut");
            let at = Instant(aged.begins.0 + random.below(aged.ends.0 - aged.begins.0));
            let at = (cuts.trouble != TroubleInTime::Failures).then_some(at);
            aged.cut_at(at, &mut random, &mut tally)?;
        }
    }
    Ok(tally)
}

/// A device that has been written for a while, and a run of it.
struct Aged<'a> {
    config: &'a Config,
    cuts: &'a Cuts,
    interrupt: &'a Interrupt,
    seed: u64,
    device: StampedDevice<'a>,
    requests: Vec<Request>,
    begins: Instant,
    ends: Instant,
    /// Programs of that run.
    programs: u64,
}

impl Aged<'_> {
    fn new<'a>(config: &'a Config, cuts: &'a Cuts, seed: u64, interrupt: &'a Interrupt) -> Result<Aged<'a>, RunError> {
        let mut random = Chance::new(seed, "life in time");
        let mut device = StampedDevice::new(config)?;
        device.arm(Fault::PowerCut { at: NEVER, during: false });
        let (pages, page) = (device.pages(), device.page_size());
        let write = |lpn: u32| request(RequestKind::Write, u64::from(lpn) * page, page);
        let mut fill: Vec<Request> = (0..pages).map(write).collect();
        fill.extend((0..in_pages(cuts.before, pages)).map(|_| write(random.below_u32(pages))));
        device.run(fill, None, interrupt)?;
        device.keep_durable();
        let requests: Vec<Request> =
            (0..cuts.requests).map(|_| any_request(&mut random, config, (pages, page))).collect();
        let mut whole = device.clone();
        whole.arm(Fault::PowerCut { at: NEVER, during: false });
        let ends = whole.run(requests.clone(), None, interrupt)?;
        whole.check_state();
        whole.check_data();
        let begins = Instant::ZERO;
        assert!(ends > begins, "a run takes time");
        let programs = whole.programs();
        Ok(Aged { config, cuts, interrupt, seed, device, requests, begins, ends, programs })
    }

    /// Has programs fail, and the power go off, and comes back.
    fn cut_at(&self, at: Option<Instant>, random: &mut Chance, tally: &mut LivesTally) -> Result<(), RunError> {
        let mut device = self.device.clone();
        if self.cuts.trouble != TroubleInTime::Cut {
            let (at, apart) = (random.below(self.programs), APART + random.below(2 * APART));
            device.arm(Fault::ProgramFailures { at, apart });
        }
        device.run(self.requests.clone(), at, self.interrupt)?;
        let Some(Instant(at)) = at else {
            device.arm(Fault::PowerCut { at: NEVER, during: false });
            return self.go_on(device, NEVER, random, tally);
        };
        // With programs that fail the run may be over before.
        device.power_on();
        let mut once = device.clone();
        let operations = self.restart(&mut once, tally)?;
        self.go_on(once, at, random, tally)?;
        if !self.cuts.twice || operations == 0 {
            return Ok(());
        }
        device.arm(Fault::PowerCut { at: random.below(operations), during: random.below(2) == 0 });
        device.restart()?;
        assert!(device.is_off(), "the second cut comes in the recovery");
        tally.restarts += 1;
        device.power_on();
        self.restart(&mut device, tally)?;
        self.go_on(device, at, random, tally)
    }

    /// Restarts a device whose power stays on. Returns the operations of its recovery.
    fn restart(&self, device: &mut StampedDevice<'_>, tally: &mut LivesTally) -> Result<u64, RunError> {
        device.arm(Fault::PowerCut { at: NEVER, during: false });
        tally.restarts += 1;
        tally.rescued += device.restart()?.rescued;
        Ok(device.operations())
    }

    /// Looks for every page of a device after a fault, and goes on.
    fn go_on(
        &self,
        mut device: StampedDevice<'_>,
        at: u64,
        random: &mut Chance,
        tally: &mut LivesTally,
    ) -> Result<(), RunError> {
        tally.runs += 1;
        if let Some(loss) = broken_promise(&device) {
            tally.losing += 1;
            tally.first.get_or_insert(Loss { seed: self.seed, at, during: true, ..loss });
            return Ok(());
        }
        device.check_state();
        device.begin_anew();
        let host = (device.pages(), device.page_size());
        let requests = (0..self.cuts.requests).map(|_| any_request(random, self.config, host)).collect();
        device.run(requests, None, self.interrupt)?;
        device.check_state();
        device.check_data();
        Ok(())
    }
}

fn request(kind: RequestKind, offset: u64, size: u64) -> Request {
    let hint = (offset.wrapping_add(size) / 512 % u64::from(HINTS)) as u16;
    Request { at: Instant::ZERO, offset, size, kind, fua: false, hint }
}

/// Any request: most are writes, of one page, of several or of a part of one, most of them to a few pages. Where blocks take only so many
/// reads, most are reads of three pages.
fn any_request(random: &mut Chance, config: &Config, (pages, page): (u32, u64)) -> Request {
    if config.device.wear.read_limit.is_some() && random.below(4) > 0 {
        return request(RequestKind::Read, u64::from(random.below_u32(pages.min(3))) * page, page);
    }
    let few = match random.below(4) {
        0 => pages,
        1 => pages.div_ceil(8),
        _ => pages.div_ceil(3),
    };
    let first = u64::from(random.below_u32(few));
    let several = (1 + random.below(4)).min(u64::from(pages) - first);
    let (offset, size) = match random.below(5) {
        0 => (first * page, several * page),
        1 if page > 512 => (first * page + 512, 512 * (1 + random.below(page / 512 - 1))),
        _ => (first * page, page),
    };
    match random.below(20) {
        0 => request(RequestKind::Flush, 0, 0),
        1..=4 => request(RequestKind::Read, offset, size),
        5 => request(RequestKind::Trim, first * page, several * page),
        _ => request(RequestKind::Write, offset, size),
    }
}

/// A page must read as its last durable version or as one that was sent after it. One that was trimmed may read as any version of
/// its own: a trim need not outlive the cut.
fn broken_promise(device: &StampedDevice<'_>) -> Option<Loss> {
    (0..device.pages()).find_map(|lpn| {
        let (promised, newest) = (device.durable_version(Lpn(lpn)), device.newest_version(Lpn(lpn)));
        let newest = if newest == 0 { device.last_version() } else { newest };
        let found = device.found_version(Lpn(lpn));
        let is_kept = (promised..=newest).contains(&found);
        (!is_kept).then_some(Loss { seed: 0, at: 0, during: false, lpn, promised, found })
    })
}
