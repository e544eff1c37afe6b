//! The device: it assembles the stages from a configuration and runs them.
//!
//! Three executors drive one FTL: `count` without time, `timed` as discrete events, `device` on real bytes. Only this crate sees
//! several stages at once.

mod buffer;
mod count;
mod device;
pub mod drive;
mod end_of_life;
mod errors;
mod flash;
mod foresight;
mod gang;
mod hybrid;
mod lives;
pub mod memory;
mod pages;
mod policy;
mod precondition;
mod promises;
mod restart;
mod schedule;
mod scheduler;
pub mod stamped;
mod state;
mod timed;
mod uncorrectable;
mod watch;
mod watchdog;
mod wear;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use base::{FeatureKey, Instant, Scope, Seam};
use config::model::{Executor, Payload, Precondition, Source};
use config::{Config, Diagnostics, Loaded};
use files::{Interrupt, Output};
use metrics::{Locality, Progress, Report, Stopwatch, Table, Timeline, Wear};
use serde_json::{Value, json};
use workload::Workload;

use crate::device::Device;
use crate::drive::executor::CheckingHost;
pub use crate::errors::{Refusal, RunError};
pub use crate::timed::LiveHost;
use crate::watch::Watch;

/// A timeline to record.
#[derive(Clone, Debug)]
pub struct TimelineSpec {
    /// The file to write.
    pub path: PathBuf,
    /// The simulated time to record.
    pub window: Range<Instant>,
}

/// The options of a run besides its configuration.
#[derive(Default)]
pub struct Options<'a> {
    /// Called now and then; `false` stops the run.
    pub progress: Option<&'a mut dyn FnMut(&Progress) -> bool>,
    /// Asked now and then, also while a file is read or written.
    pub interrupt: Interrupt,
    /// Records what channels, dies and planes did (executor `timed`).
    pub timeline: Option<TimelineSpec>,
    /// Saves the device's state after preconditioning to this file.
    pub save_state: Option<PathBuf>,
    /// The image of the drive (executor `device`); without one its bytes lie in memory.
    pub image: Option<PathBuf>,
    /// Has the executor `timed` ask for everything, also for what cannot be in force: for tests, with the same results.
    #[doc(hidden)]
    pub asks_all: bool,
    /// Runs what is refused: for tests that need a device that cannot work.
    #[doc(hidden)]
    pub is_unchecked: bool,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The summary object `ftlab.summary/1`.
    pub summary: Value,
    /// `series`, `latency`, `wear`, `utilisation`.
    pub tables: Vec<Table>,
    /// Files that should have been written besides and could not be, on a full disk for example: a text for the user each.
    pub unwritten: Vec<String>,
}

/// The scopes of the device and of all its parts. The first one of an area is that of the area as a whole.
pub fn scopes() -> Vec<&'static Scope> {
    let own = [&workload::SCOPE, &buffer::SCOPE, &scheduler::SCOPE];
    let parts = nand::scopes().into_iter().chain(ftl::scopes()).chain(timed::scopes()).chain(own);
    parts.chain([&gang::SCOPE, &drive::SCOPE, &promises::SCOPE]).collect()
}

/// Every seam of the FTL, the write buffer and the scheduler, in the order of the data flow.
pub fn seams() -> Vec<&'static Seam> {
    let mut seams = ftl::seams();
    seams.push(&buffer::SEAM);
    seams.push(&scheduler::SEAM);
    seams.push(&promises::DLFEAT);
    seams
}

/// Every feature of the chips.
pub fn features() -> Vec<&'static FeatureKey> {
    use base::{cache, programming, slc, slow_die, suspend, transfer};
    vec![
        &programming::PROGRAMMING,
        &cache::READ,
        &cache::PROGRAM,
        &suspend::PROGRAM,
        &suspend::ERASE,
        &transfer::READ_TRANSFER,
        &slow_die::SLOW_DIE,
        &slc::SLC_MODE,
        &nand::media::MEDIA,
        &nand::BAD_BLOCKS,
    ]
}

/// The choices that there are: for the configuration reader, the listings and the reference page.
pub fn registry() -> config::Registry {
    config::Registry {
        features: features(),
        seams: seams(),
        generators: workload::GENERATORS,
        own: ftl::TAKE_OWN,
        trace_formats: workload::trace::names(),
    }
}

/// Reads a configuration, and refuses what no device can do.
///
/// # Errors
/// Every problem that was found, each with its place.
pub fn load(base: &config::Base, sets: &[String], trace: Option<&str>) -> Result<Loaded, Diagnostics> {
    let loaded = config::load(base, sets, trace, &registry())?;
    match check(&loaded.config) {
        Ok(()) => Ok(loaded),
        Err(refusal) => Err(loaded.refuse(refusal.key, refusal.message, refusal.help)),
    }
}

/// As [`load`], of a drive of real bytes whose host is somebody else: it needs no workload, and one that is there is not looked at.
///
/// # Errors
/// As [`load`].
pub fn load_drive(base: &config::Base, sets: &[String]) -> Result<Loaded, Diagnostics> {
    let loaded = load(base, sets, None).or_else(|problems| {
        let stand_in = ["workload.generator=uniform", "workload.requests=1"].map(String::from);
        let sets: Vec<String> = stand_in.into_iter().chain(sets.iter().cloned()).collect();
        // What else is wrong was found before.
        load(base, &sets, None).map_err(|_| problems)
    })?;
    match check_drive(&loaded.config) {
        Ok(()) => Ok(loaded),
        Err(refusal) => Err(loaded.refuse(refusal.key, refusal.message, refusal.help)),
    }
}

/// A preset with changes, for the tests of this crate.
#[cfg(test)]
pub(crate) fn preset(name: &str, sets: &[&str]) -> Config {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load(&config::Base::Preset(name.into()), &sets, None).map_err(|problems| problems.to_string()).unwrap().config
}

/// Refuses what no device can do, as soon as the configuration is read.
///
/// # Errors
/// When two choices do not go together, or the spare space is too small for garbage collection to make progress whatever the host
/// writes.
pub fn check(config: &Config) -> Result<(), Refusal> {
    gang::check_number(config)?;
    timed::chip::check(config)?;
    check_twin(config)?;
    check_command(config)?;
    gang::check(config)?;
    check_ftl(config)?;
    foresight::check(config)?;
    check_split(config)?;
    lives::check(config)?;
    buffer::check(config)?;
    schedule::check(config)?;
    let capacity = config.device.user_capacity;
    let largest = largest_user_capacity(config);
    if capacity <= largest {
        return check_executor(config);
    }
    let free = config.ftl.get("gc_schedule").integer("free_blocks");
    let besides = ftl::besides_in_words(&gang::geometry(config), &device::policies(config));
    if largest == 0 {
        return Err(Refusal {
            key: "ftl.gc_schedule",
            message: format!(
                "{free} blocks held free{besides} leave none of the {} of a plane",
                config.device.blocks_per_plane
            ),
            help: "hold fewer blocks free, or give a plane more blocks".into(),
        });
    }
    let raw = gang::geometry(config).raw_bytes();
    let smallest = (raw - largest) as f64 / largest as f64;
    let size = config::print_size;
    Err(Refusal {
        key: "device.user_capacity",
        message: format!(
            "a user space of {} leaves too little spare space for garbage collection to make progress",
            size(capacity)
        ),
        help: format!(
            "with {free} blocks held free{besides} in each plane of {}, `user_capacity` can be at most {}, which is \
             `over_provisioning` = {:.6} (spare ÷ user); near that limit write amplification is enormous",
            config.device.blocks_per_plane,
            size(largest),
            (smallest * 1e6).ceil() / 1e6
        ),
    })
}

/// Refuses what cannot be a drive of real bytes.
///
/// # Errors
/// As [`check`], and what only such a drive cannot be.
pub fn check_drive(config: &Config) -> Result<(), Refusal> {
    check(config)?;
    drive::open::check(config)
}

/// The most bytes that the host may address under a configuration's geometry and policies, with garbage
/// collection still able to make progress whatever is written.
pub fn largest_user_capacity(config: &Config) -> u64 {
    let largest = ftl::largest_user_pages(&gang::geometry(config), &device::policies(config));
    largest * gang::page_size(config)
}

/// The table that a plane allocation of the user's own has to fill.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Domains: planes, or what reclaim units make one of several.
    pub domains: u32,
    /// Units of a domain.
    pub units_per_domain: u32,
    /// Pages of a unit.
    pub slots: u32,
    /// Pages of a flash page: map units that are programmed together.
    pub parts: u32,
    /// Logical pages of the host.
    pub user_pages: u64,
    /// Logical pages that a domain can hold, with garbage collection still able to make progress.
    pub most_pages_of_domain: u64,
}

/// The space of a configuration's device.
pub fn space(config: &Config) -> Space {
    let geometry = gang::geometry(config);
    let most = ftl::largest_user_pages(&geometry, &device::policies(config));
    Space {
        domains: geometry.domains(),
        units_per_domain: geometry.units_per_domain(),
        slots: geometry.unit_slots(),
        parts: geometry.parts,
        user_pages: config.device.user_capacity / gang::page_size(config),
        most_pages_of_domain: most / u64::from(geometry.domains()),
    }
}

/// The choices in which the FTL has a say.
fn check_ftl(config: &Config) -> Result<(), Refusal> {
    let comes_at_once = match &config.workload.source {
        Source::Generator(generator) => generator.interval.ns() == 0 && generator.idle_for.ns() == 0,
        Source::Trace { .. } | Source::Job { .. } | Source::Tenants(_) => false,
    };
    let setup = ftl::FtlSetup {
        policies: &device::policies(config),
        geometry: &gang::geometry(config),
        user_pages: config.device.user_capacity / gang::page_size(config),
        from_state: matches!(config.run.precondition, Precondition::State { .. }),
        stands_still: config.run.timeless().is_some() && comes_at_once,
        hears_of_buffer: config.run.executor == Executor::Timed && config.ftl.get("write_buffer").name != "none",
        print_size: config::print_size,
    };
    ftl::check(&setup).map_err(|ftl::Refusal { key, message, help }| Refusal { key, message, help })
}

/// The choices in which the executor has a say.
fn check_executor(config: &Config) -> Result<(), Refusal> {
    let is_shared = matches!(config.workload.source, Source::Tenants(_) | Source::Job { .. });
    if is_shared && config.run.precondition == Precondition::Workload {
        return Err(Refusal {
            key: "run.precondition",
            message: "ageing takes no time, and without it the requests of tenants and of jobs have no order".into(),
            help: "age it with \"steady\", or with a volume such as `precondition.random = \"1x\"`".into(),
        });
    }
    if config.run.executor != Executor::Device {
        return Ok(());
    }
    if matches!(config.run.precondition, Precondition::State { .. }) {
        return Err(Refusal {
            key: "run.precondition",
            message: "a drive of real bytes has its state in its image".into(),
            help: "age it otherwise, or name an image that was aged with `--image`".into(),
        });
    }
    if config.run.sample.is_some() {
        return Err(Refusal {
            key: "run.sample",
            message: "a drive of real bytes is simulated as a whole: a host would find a part of its bytes".into(),
            help: "leave it out, or use the executor `count`".into(),
        });
    }
    if config.run.payload == Payload::Stamp {
        return Err(Refusal {
            key: "run.payload",
            message: "under the executor `device` pages store real bytes, all of which are checked".into(),
            help: "leave it out".into(),
        });
    }
    drive::open::check(config)
}

/// Without time there are no latencies to split.
fn check_split(config: &Config) -> Result<(), Refusal> {
    let Some(executor) = config.run.timeless().filter(|_| config.run.splits_latencies()) else { return Ok(()) };
    Err(Refusal {
        key: if config.run.latency_parts { "run.latency_parts" } else { "run.per_request" },
        message: format!("latencies are split by what requests waited for, and the executor `{executor}` has no time"),
        help: "set `run.executor` to \"timed\", or leave this out".into(),
    })
}

/// Refuses commands of more pages than one takes: the planes of a die share a command.
fn check_command(config: &Config) -> Result<(), Refusal> {
    let geometry = gang::geometry(config);
    let (planes, units) = (geometry.planes_per_die, geometry.parts);
    let is_together = config.device.multiplane != base::Multiplane::Off && config.run.executor != Executor::Count;
    if units == 1 || !is_together || planes * units <= ftl::MAX_PAGES as u32 {
        return Ok(());
    }
    Err(Refusal {
        key: "ftl.map_unit",
        message: format!(
            "the {planes} planes of a die would program {} map units with one command, and that takes at most {}",
            planes * units,
            ftl::MAX_PAGES
        ),
        help: "use larger units, `device.multiplane = \"off\"`, or the executor `count`".into(),
    })
}

/// Twin blocks need what makes twins of blocks.
fn check_twin(config: &Config) -> Result<(), Refusal> {
    let refuse = |message: String, help: &str| {
        Err(Refusal { key: "ftl.reclaim_unit", message: format!("`twin` {message}"), help: help.into() })
    };
    if config.ftl.get("reclaim_unit").name != "twin" {
        return Ok(());
    }
    if config.device.planes_per_die < 2 {
        return refuse("needs dies of two or more planes".into(), "set `device.planes_per_die`, or use `block`");
    }
    let slots = u64::from(config.device.planes_per_die) * u64::from(config.device.pages_per_block);
    if slots > u64::from(u16::MAX) {
        return refuse(
            format!("would have {slots} pages, and a reclaim unit has at most {}", u16::MAX),
            "use fewer pages per block, or `block`",
        );
    }
    if config.device.multiplane == base::Multiplane::Off {
        return refuse(
            "erases its blocks with one multi-plane command, and `multiplane` is `off`".into(),
            "set `device.multiplane` to `pac` or `bac`, or use `block`",
        );
    }
    Ok(())
}

/// Runs one simulation.
///
/// # Errors
/// [`RunError`]; its text is for the user.
///
/// # Panics
/// When the FTL breaks a rule of the flash or loses data, which is a fault of this program.
pub fn simulate(config: &Config, options: &mut Options<'_>) -> Result<Outcome, RunError> {
    if !options.is_unchecked {
        check(config).map_err(|refusal| RunError::Input(refusal.to_string()))?;
    }
    memory::check(config, options.save_state.is_some()).map_err(|refusal| RunError::Input(refusal.to_string()))?;
    if options.save_state.is_some() {
        hybrid::check_saved(config)?;
    }
    check_places(options)?;
    check_image(config, options)?;
    if config.run.executor == Executor::Device {
        return simulate_drive(config, options);
    }
    let timed = config.run.executor == Executor::Timed;
    let mut device = Device::new(config, timed).map_err(|error| RunError::Failed(error.to_string()))?;
    // Opened before anything else, so that a missing trace is not found out after minutes of preconditioning.
    let (capacity, seed, interrupt) = (config.device.user_capacity, config.run.seed, &options.interrupt);
    let mut workload = Workload::open(&config.workload, &config.host, capacity, seed, interrupt)?;
    let mut watch = Watch::new(options.progress.take(), interrupt.clone());
    let aging = Stopwatch::start();
    let aged = watchdog::caught(&mut device, |device| precondition::age(device, config, &mut watch))?;
    let aging_s = aging.usage().wall_s;
    uncorrectable::check_reads(&device)?;
    end_of_life::check_aged(&device)?;
    let mut unwritten = Vec::new();
    if let Some(path) = &options.save_state
        && let Err(error) = state::save(&device, config, path, interrupt)
    {
        unwritten.push(not_written("device state", path, &error, interrupt)?);
    }
    foresight::tell(&mut device, config, interrupt)?;
    watch.phase("run");
    let stopwatch = Stopwatch::start();
    let timeline = open_timeline(&device, timed, options.timeline.as_ref(), interrupt)?;
    match config.run.executor {
        Executor::Device => unreachable!("it has a run of its own"),
        Executor::Count => {
            watchdog::caught(&mut device, |device| count::run(device, &mut workload, config, &mut watch))?;
        }
        Executor::Timed => {
            let manner = timed::TimedOptions { timeline, asks_all: options.asks_all, cut: None, live: None };
            let timeline = timed::run(&mut device, &mut workload, config, &mut watch, manner)?;
            if let (Some(timeline), Some(spec)) = (timeline, &options.timeline)
                && let Err(error) = timeline.finish()
            {
                unwritten.push(not_written("timeline", &spec.path, &error, interrupt)?);
            }
        }
    }
    let usage = stopwatch.usage();
    uncorrectable::check_data(&device)?;
    device.check_data();
    let mut outcome = Outcome { unwritten, ..report(config, &device, &workload, aged, usage) };
    outcome.summary["run"]["precondition_wall_s"] = json!(aging_s);
    if let Some(spec) = &options.timeline {
        outcome.summary["run"]["timeline"] = json!({
            "file": spec.path.to_string_lossy(),
            "from_s": spec.window.start.seconds(),
            "to_s": (spec.window.end.ns() < u64::MAX).then(|| spec.window.end.seconds()),
        });
    }
    Ok(outcome)
}

/// Runs a workload with real bytes, cuts the power at its end, and looks at all that was written.
fn simulate_drive(config: &Config, options: &mut Options<'_>) -> Result<Outcome, RunError> {
    let image = options.image.clone();
    let (capacity, seed, interrupt) = (config.device.user_capacity, config.run.seed, &options.interrupt);
    let mut workload = Workload::open(&config.workload, &config.host, capacity, seed, interrupt)?;
    let mut watch = Watch::new(options.progress.take(), interrupt.clone());
    let (mut drive, is_new) = drive::executor::open(config, image.as_deref())?;
    let aging = Stopwatch::start();
    let aged = watchdog::caught(&mut drive, |drive| precondition::age(drive.as_mut(), config, &mut watch))?;
    let aging_s = aging.usage().wall_s;
    watch.phase("run");
    let stopwatch = Stopwatch::start();
    let mut host = CheckingHost::new(&drive, is_new)?;
    watchdog::caught(&mut drive, |drive| host.run(drive, &mut workload, &mut watch))?;
    let usage = stopwatch.usage();
    let mut outcome = report(config, drive.as_ref(), &workload, aged, usage);
    watch.phase("restart");
    host.end(&mut drive)?;
    let drive = drive::executor::restarted(config, drive, image.as_deref())?;
    let restart = drive.restart();
    host.look(drive, &mut watch)?;
    outcome.summary["device"] = host.told(&restart);
    // Not determined by configuration and seed.
    let run = &mut outcome.summary["run"];
    run["precondition_wall_s"] = json!(aging_s);
    run["restart_wall_s"] = json!(restart.wall_s);
    run["image"] = json!(image.as_deref().map(Path::to_string_lossy));
    Ok(outcome)
}

/// Refuses files that the executor does not write.
fn check_image(config: &Config, options: &Options<'_>) -> Result<(), RunError> {
    let is_drive = config.run.executor == Executor::Device;
    let refuse = |text: &str| Err(RunError::Input(text.into()));
    if !is_drive && options.image.is_some() {
        return refuse("an image needs `run.executor = \"device\"`: under the other executors there are no bytes");
    }
    if is_drive && options.timeline.is_some() {
        return refuse("a timeline needs `run.executor = \"timed\"`: `device` has no time");
    }
    if is_drive && options.save_state.is_some() {
        return refuse(
            "no state is saved under `run.executor = \"device\"`\nhint: the image is the state; name it with `--image`",
        );
    }
    Ok(())
}

/// Refuses, before anything is simulated, what cannot be written, and what would take the place of something else.
fn check_places(options: &Options<'_>) -> Result<(), RunError> {
    let state = options.save_state.as_deref().map(|path| (path, "device state", state::BEGINNING));
    let timeline = options.timeline.as_ref().map(|spec| (&*spec.path, "timeline", metrics::timeline::BEGINNING));
    for (path, kind, beginning) in state.into_iter().chain(timeline) {
        let cannot = |error: io::Error| {
            let remedy = files::remedy(&error);
            RunError::Input(format!("the {kind} {} cannot be written: {error}\nhint: {remedy}", path.display()))
        };
        Output::check(path).map_err(cannot)?;
        if files::is_other(path, beginning) {
            return Err(RunError::Input(format!(
                "{} is there and is no {kind}, so it is not overwritten\nhint: name another file, or move that one away",
                path.display()
            )));
        }
    }
    Ok(())
}

/// The text about a file that could not be written, once the run is over.
fn not_written(what: &str, path: &Path, error: &io::Error, interrupt: &Interrupt) -> Result<String, RunError> {
    interrupt.check().map_err(|_| RunError::Stopped)?;
    Ok(format!("the {what} {} cannot be written: {error}\nhint: {}", path.display(), files::remedy(error)))
}

fn open_timeline(
    device: &Device,
    timed: bool,
    spec: Option<&TimelineSpec>,
    interrupt: &Interrupt,
) -> Result<Option<Timeline>, RunError> {
    let Some(spec) = spec else { return Ok(None) };
    if !timed {
        return Err(RunError::Input("a timeline needs `run.executor = \"timed\"`: `count` has no time".into()));
    }
    let in_step = device.recorder.shape().in_step;
    Timeline::create(&spec.path, device.flash.geometry(), in_step, spec.window.clone(), interrupt)
        .map(Some)
        .map_err(|error| RunError::Input(format!("the timeline {} cannot be written: {error}", spec.path.display())))
}

fn report(config: &Config, device: &Device, workload: &Workload, aged: Value, usage: metrics::Usage) -> Outcome {
    let blocks = device.flash.nand().blocks();
    let erases: Vec<u32> = blocks.iter().map(|block| block.erases).collect();
    let reads: Vec<u32> = blocks.iter().map(|block| block.reads).collect();
    let nand = device.flash.nand();
    let has_wear_of_its_own = config.device.wear.read_limit.is_some() || !nand.spared().is_empty();
    let effective =
        has_wear_of_its_own.then(|| nand.all_blocks().map(|block| nand.effective(block)).collect::<Vec<f64>>());
    let effective = effective.map(|effective| gang::of_each_block(config, &effective));
    let (physical, erases) = (gang::physical(config), gang::of_each_block(config, &erases));
    // Of a superblock, reads are counted that not all of its blocks had.
    let reads = (!device.parts.are_several()).then(|| gang::of_each_block(config, &reads));
    let wear = Wear {
        geometry: &physical,
        erases: &erases,
        effective: effective.as_deref(),
        reads_since_erase: reads.as_deref(),
    };
    let mut tables = vec![
        device.recorder.series(),
        device.recorder.latency_table(),
        wear.table(),
        device.recorder.utilisation_table(),
    ];
    tables.extend(device.recorder.tenant_latency_table());
    tables.extend(device.recorder.windows.as_ref().map(|windows| windows.table()));
    tables.extend(device.locality.as_ref().map(Locality::table));
    tables.extend(device.recorder.split.iter().flat_map(|split| split.tables()));
    if let Some(buffer) = device.recorder.buffer()
        && config.run.executor == Executor::Timed
    {
        tables.push(buffer.table());
    }
    let mut summary = metrics::summary(&Report {
        version: env!("CARGO_PKG_VERSION"),
        seed: config.run.seed,
        config: config::to_json(config),
        recorder: &device.recorder,
        wear,
        policy: policy::figures(device),
        usage,
    });
    if let (Some(end), Some(object)) = (end_of_life::told(device, config), summary.as_object_mut()) {
        object.insert("end_of_life".into(), end);
    }
    if let Some(object) = summary.as_object_mut() {
        object.insert("promises".into(), promises::told(config));
        object.insert("precondition".into(), aged);
        object.insert("workload".into(), tally(workload));
    }
    Outcome { summary, tables, unwritten: Vec::new() }
}

fn tally(workload: &Workload) -> Value {
    let mut tally = serde_json::to_value(workload.tally()).unwrap_or_else(|_| json!({}));
    if let (Some(format), Some(object)) = (workload.format(), tally.as_object_mut()) {
        object.insert("format".into(), json!(format));
    }
    tally
}
