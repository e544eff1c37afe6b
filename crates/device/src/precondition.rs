//! Ageing the device before the run. Always without time, and never counted in the results.

use base::{Instant, Lpn, Request, RequestKind};
use config::Config;
use config::model::Precondition;
use engine::Chance;
use ftl::HostWrite;
use ftl::allocation::DieTurns;
use metrics::Counters;
use serde_json::{Value, json};
use workload::Workload;

use crate::device::Device;
use crate::errors::RunError;
use crate::lives;
use crate::pages::Span;
use crate::state;
use crate::watch::Watch;

/// Windows with erases after which an unsettled device is taken as it is, in user capacities.
const MAX_WINDOWS: usize = 60;

/// Agreement of successive windows at which a device counts as settled.
const SETTLED: f64 = 0.01;

/// Parts of a user capacity after which a device under its own workload is looked at.
const LOOKS: u64 = 16;

/// Erases of a block, on average of those that were erased at all, after which GC finds the work of the workload alone.
const TURNS: u64 = 2;

/// Pages whose map entries are asked for ahead.
const BATCH: usize = 64;

/// Ages the device as the configuration says, and tells what it reached.
pub(crate) fn age(device: &mut Device, config: &Config, watch: &mut Watch<'_>) -> Result<Value, RunError> {
    watch.phase("precondition");
    let user_pages = u64::from(device.host_pages());
    let report = match &config.run.precondition {
        Precondition::None => json!({ "kind": "none" }),
        Precondition::Sequential { volume } => {
            let pages = volume / device.page_size.bytes();
            write_pages(device, pages, watch, pages, |page| Lpn((page % user_pages) as u32))?;
            json!({ "kind": "sequential", "written_bytes": pages * device.page_size.bytes() })
        }
        Precondition::Random { volume } => {
            let pages = volume / device.page_size.bytes();
            let mut random = Chance::new(config.run.seed, "precondition");
            let all = user_pages + pages;
            write_pages(device, user_pages, watch, all, |page| Lpn(page as u32))?;
            device.recorder.counters = Counters::default();
            device.watchdog.restart();
            write_pages(device, pages, watch, all, |_| Lpn(random.below(user_pages) as u32))?;
            let [waf, waf_units] = amplification(device, &device.recorder.totals());
            json!({
                "kind": "random",
                "written_bytes": all * device.page_size.bytes(),
                "waf": waf,
                "waf_units": waf_units,
            })
        }
        Precondition::Worn { volume } => {
            let pages = volume / device.page_size.bytes();
            let mut random = Chance::new(config.run.seed, "precondition");
            write_pages(device, pages, watch, pages, |_| Lpn(random.below(user_pages) as u32))?;
            let [waf, waf_units] = amplification(device, &device.recorder.totals());
            trim_all(device, watch)?;
            json!({
                "kind": "worn",
                "written_bytes": pages * device.page_size.bytes(),
                "waf": waf,
                "waf_units": waf_units,
            })
        }
        Precondition::Steady => settle(device, config, watch)?,
        Precondition::Workload => settle_under_workload(device, config, watch)?,
        Precondition::State { path } => {
            state::load(device, config, path, &watch.interrupt)?;
            json!({ "kind": "state", "path": path })
        }
    };
    device.fill_up();
    if lives::are_limited(config) {
        device.settle();
        device.flash.shorten_lives(config.device.wear.cycles_per_erase);
    }
    device.ftl.renew_policies(&crate::device::policies(config), config.run.seed);
    device.turns = DieTurns::new(&device.allocation);
    device.flash.nand_mut().forget_highest_error();
    device.flash.nand_mut().forget_highest_share();
    if let Some(locality) = &mut device.locality {
        locality.clear();
    }
    device.recorder.reset(Instant::ZERO);
    device.watchdog.restart();
    Ok(report)
}

/// Write amplification in bytes and in pages.
fn amplification(device: &Device, counters: &Counters) -> [Option<f64>; 2] {
    let shape = device.recorder.shape();
    [counters.waf(shape.page_bytes), counters.waf_units(shape.has_wide_units)]
}

/// A sequential fill, then random writes until the write amplification, in pages, holds still.
fn settle(device: &mut Device, config: &Config, watch: &mut Watch<'_>) -> Result<Value, RunError> {
    let user_pages = u64::from(device.host_pages());
    write_pages(device, user_pages, watch, 0, |page| Lpn(page as u32))?;
    let (capacity, seed) = (config.device.user_capacity, config.run.seed);
    // A generator's own writes lead to its own steady state.
    let mut writes = Workload::aging_for(&config.workload, capacity, device.page_size.bytes(), seed)?;
    let (mut windows, mut collecting) = (0u64, 0);
    // The WAF of the last window in which blocks were erased. Before the first erase it is 1, however much is written.
    let mut last: Option<f64> = None;
    let mut in_bytes = None;
    let mut settled = false;
    while !settled && collecting < MAX_WINDOWS {
        let before = device.recorder.totals();
        write_requests(device, &mut writes, user_pages, watch)?;
        let window = device.recorder.totals() - before;
        windows += 1;
        if window.block_erases() == 0 {
            continue;
        }
        collecting += 1;
        let [waf, waf_units] = amplification(device, &window);
        let now = waf_units.expect("a window writes pages");
        settled = last.is_some_and(|last| (now - last).abs() <= SETTLED * last);
        (in_bytes, last) = (waf, waf_units);
    }
    Ok(json!({
        "kind": "steady",
        "settled": settled,
        "waf": in_bytes,
        "waf_units": last,
        "windows": windows,
        "written_bytes": (windows + 1) * user_pages * device.page_size.bytes(),
    }))
}

/// A sequential fill, then the workload over and over until its write amplification holds still.
fn settle_under_workload(device: &mut Device, config: &Config, watch: &mut Watch<'_>) -> Result<Value, RunError> {
    let user_pages = u64::from(device.host_pages());
    let page_bytes = device.page_size.bytes();
    write_pages(device, user_pages, watch, 0, |page| Lpn(page as u32))?;
    let (capacity, seed) = (config.device.user_capacity, config.run.seed);
    let mut workload =
        Workload::aging_by(&config.workload, &config.host, capacity, page_bytes, seed, &watch.interrupt)?;
    let mut settling = Settling::begin(device);
    let step = (user_pages / LOOKS).max(1);
    let mut written = 0;
    while !settling.is_over && settling.looks < LOOKS * MAX_WINDOWS as u64 {
        let begun = written;
        written += write_requests(device, &mut workload, step, watch)?;
        if written == begun {
            return Err(RunError::Input(
                "`run.precondition = \"workload\"` ages the device with the writes of the workload, and it has none\nhint: age it otherwise, \
                 for example with `run.precondition.sequential = \"1x\"`"
                    .into(),
            ));
        }
        settling.look(device);
    }
    let [waf, waf_units] = settling.last.map_or([None; 2], |half| amplification(device, &half));
    Ok(json!({
        "kind": "workload",
        "settled": settling.is_over,
        "waf": waf,
        "waf_units": waf_units,
        "written_bytes": (user_pages + written) * page_bytes,
    }))
}

/// When a device under its own workload has settled. GC has to find the work of that workload: the blocks that were erased at all were
/// erased [`TURNS`] times on average, or all flash was programmed once. And the WAF of the last two quarters, since the first
/// erase, has to be the same.
struct Settling {
    /// By block, its erases before.
    erases: Vec<u32>,
    before: Counters,
    /// Since the first erase.
    points: Vec<Counters>,
    looks: u64,
    is_over: bool,
    /// The operations of the last half.
    last: Option<Counters>,
}

impl Settling {
    fn begin(device: &Device) -> Settling {
        let erases = device.flash.nand().blocks().iter().map(|block| block.erases).collect();
        Settling { erases, before: device.recorder.totals(), points: Vec::new(), looks: 0, is_over: false, last: None }
    }

    fn look(&mut self, device: &Device) {
        let now = device.recorder.totals();
        self.looks += 1;
        if (now - self.before).block_erases() == 0 {
            return;
        }
        self.points.push(now);
        let steps = self.points.len() - 1;
        if steps == 0 || !steps.is_multiple_of(4) {
            return;
        }
        let part = |from: usize, to: usize| self.points[steps * to / 4] - self.points[steps * from / 4];
        let waf = |from, to| amplification(device, &part(from, to))[1];
        let (Some(third), Some(fourth)) = (waf(2, 3), waf(3, 4)) else { return };
        self.last = Some(part(2, 4));
        self.is_over = (fourth - third).abs() <= SETTLED * third && self.has_turned(device, &now);
    }

    fn has_turned(&self, device: &Device, now: &Counters) -> bool {
        let programmed = (*now - self.before).page_programs() * device.recorder.shape().page_bytes;
        let blocks = device.flash.nand().blocks();
        let erased = self.erases.iter().zip(blocks).map(|(before, block)| u64::from(block.erases - before));
        let (erases, blocks) =
            erased.filter(|&erases| erases > 0).fold((0, 0), |(all, blocks), erases| (all + erases, blocks + 1));
        programmed >= device.flash.geometry().raw_bytes() || erases >= TURNS * blocks
    }
}

/// Writes `pages` whole pages, the n-th at `lpn_of(n)`.
fn write_pages(
    device: &mut Device,
    pages: u64,
    watch: &mut Watch<'_>,
    of_total: u64,
    lpn_of: impl FnMut(u64) -> Lpn,
) -> Result<(), RunError> {
    let mut drawn = (0..pages).map(lpn_of);
    let mut draw = |device: &Device, batch: &mut Vec<Lpn>| {
        batch.clear();
        batch.extend(drawn.by_ref().take(BATCH).inspect(|&lpn| device.ftl.prefetch(lpn)));
    };
    let (mut batch, mut coming) = (Vec::new(), Vec::new());
    draw(device, &mut batch);
    while !batch.is_empty() {
        // Entries of the next batch come while this one is written.
        draw(device, &mut coming);
        batch.iter().for_each(|&lpn| device.ftl.prefetch_old(lpn));
        batch.iter().for_each(|&lpn| device.write_now(lpn, device.parts.whole()));
        let count = batch.len() as u64;
        device.recorder.counters.bytes_written += count * device.page_size.bytes();
        let written = device.recorder.counters.bytes_written / device.page_size.bytes();
        let fraction = (of_total > 0).then(|| (written as f64 / of_total as f64).min(1.0));
        watch.report(count, Instant::ZERO, &device.recorder.counters, || fraction)?;
        std::mem::swap(&mut batch, &mut coming);
    }
    Ok(())
}

/// Forgets every page. What was erased, and where frontiers stand, remains.
fn trim_all(device: &mut Device, watch: &mut Watch<'_>) -> Result<(), RunError> {
    let user_pages = device.host_pages();
    for first in (0..user_pages).step_by(BATCH) {
        let end = user_pages.min(first + BATCH as u32);
        device.trim_now(Span::of_pages(first..end));
        watch.report(u64::from(end - first), Instant::ZERO, &device.recorder.counters, || Some(1.0))?;
    }
    Ok(())
}

/// Carries out the writes and discards of requests until they have written `pages` pages, and returns how many they wrote. A trace
/// that wrote nothing in a whole round ends it.
fn write_requests(
    device: &mut Device,
    requests: &mut Workload,
    pages: u64,
    watch: &mut Watch<'_>,
) -> Result<u64, RunError> {
    let mut batch: Vec<Request> = Vec::with_capacity(BATCH);
    let mut done = 0;
    let first_round = requests.tally().rounds;
    while done < pages {
        batch.clear();
        requests.fill(&mut batch, BATCH)?;
        if batch.is_empty() || (done == 0 && requests.tally().rounds > first_round + 1) {
            break;
        }
        let writes = || batch.iter().filter(|request| request.kind == RequestKind::Write);
        for request in writes() {
            device.ftl.prefetch(device.page_size.page_of(request.offset));
        }
        for request in writes() {
            device.ftl.prefetch_old(device.page_size.page_of(request.offset));
        }
        for request in &batch {
            match request.kind {
                RequestKind::Write => done += write(device, request, watch)?,
                RequestKind::Trim => trim(device, request, watch)?,
                RequestKind::Read | RequestKind::Flush => {}
            }
        }
    }
    Ok(done)
}

/// Writes a request, and returns how many pages it has.
fn write(device: &mut Device, request: &Request, watch: &mut Watch<'_>) -> Result<u64, RunError> {
    let span = Span::of(request, device.page_size);
    for piece in span.pieces() {
        for (lpn, partial) in piece.pages() {
            let page = HostWrite { lpn, hint: request.hint };
            device.write_now(page, device.parts.share(lpn, partial, request.offset, request.size));
        }
        watch.report(u64::from(piece.len()), Instant::ZERO, &device.recorder.counters, || None)?;
    }
    device.recorder.counters.bytes_written += request.size;
    Ok(u64::from(span.len()))
}

/// Forgets the whole pages of a request.
fn trim(device: &mut Device, request: &Request, watch: &mut Watch<'_>) -> Result<(), RunError> {
    for piece in Span::of(request, device.page_size).whole().pieces() {
        device.trim_now(piece);
        watch.report(u64::from(piece.len()), Instant::ZERO, &device.recorder.counters, || None)?;
    }
    Ok(())
}
