//! The executor with time: discrete events in integer nanoseconds.
//!
//! Every die does one thing at a time, in its array or over its channel. What a die does next is decided when it is
//! free: only then is a page placed, a victim's page looked up, a read translated. The FTL and the array therefore
//! change together, in the order in which dies take commands.
//!
//! Pages flow one way. The host puts them into queues; commands are built of what is in the queues, and pass through
//! channels and arrays; and the host is told when they are done. Each of these parts keeps its own fields, and only
//! [`Timed`] sees all of them. Here they are set up; the machine that drives them is in `run`.

mod array;
mod bus;
pub(crate) mod chip;
mod choose;
mod collections;
mod command;
mod commands;
mod context;
mod cut;
mod die;
mod front;
mod gc_schedule;
mod holders;
mod host;
mod neighbours;
mod plain;
mod plan;
mod queues;
pub(crate) mod requests;
mod run;
mod timing;
mod waits;
mod windows;
mod write_buffer;

use std::collections::VecDeque;
use std::ops::Range;

use base::scope::{Area, Scope};
use base::{Geometry, Instant, Lpn, PageLayout};
use config::Config;
use config::model::{Checks, Namespace, Replay, Source, Tenant};
use ftl::schedule::Schedule;
use metrics::{Admission, SplitLatencies, TenantFigures, Timeline, WindowFigures};
use workload::Workload;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::errors::RunError;
use crate::pages::PageSize;
use crate::watch::Watch;
use crate::wear;

use commands::Commands;
use context::Context;
use die::Backend;

use front::live::Live;
pub use front::live::LiveHost;
use front::ranges::ReadRanges;
use front::tenants::Tenants;
use host::Host;
use plain::record::Bookings;
use plan::{Any, Bare, Chip, Feature, Features, PlainPlan, Plan};
use queues::Queues;
use timing::Timing;
use waits::Waits;

/// A device in time.
struct Timed<'a, 'w, P: Plan = Any> {
    workload: &'a mut Workload,
    watch: &'a mut Watch<'w>,
    context: Context<'a, P>,
    host: Host,
    commands: Commands,
    backend: Backend,
    /// True if the FTL asks how full the write buffer is.
    asks_fill: bool,
    /// How much room it was told of.
    told_room: Option<u32>,
    /// The instant at which the FTL has something to do by itself, as it was said last.
    awaited_work: Option<Instant>,
    /// When the power goes off, if it does before the end.
    cut: Option<Instant>,
    rarities: Rarities,
}

/// Rare questions of a turn, answered once when the run begins.
#[derive(Clone, Copy)]
struct Rarities {
    /// There is something to look at before an instant, or when it has come.
    any: bool,
    /// The FTL, or a window, has something to do by itself when its time has come.
    finds_due: bool,
    /// Work of a domain may wake others.
    wakes_others: bool,
}

impl Rarities {
    fn of<P: Plan>(context: &Context<'_, P>, commands: &Commands, is_cut: bool, is_live: bool) -> Rarities {
        let Device { has, has_owners, flash, .. } = &*context.device;
        let finds_due = has.judged_reads.is_some() || commands.schedule.has_windows();
        let asks_time = P::PARTS.mechanisms && (has.time.is_some() || flash.nand().may_fail_reads());
        let wakes_others = *has_owners || has.reads.is_some() || has.judged_reads.is_some();
        Rarities {
            any: finds_due || asks_time || is_cut || is_live,
            finds_due,
            wakes_others: P::PARTS.mechanisms && wakes_others,
        }
    }
}

/// Bytes of the executor: what it has for each part of the device, and for requests of so many pages.
pub(crate) fn bytes(geometry: &Geometry, config: &Config, pages: u64) -> (u64, u64) {
    let (dies, domains) = (u64::from(geometry.dies()), u64::from(geometry.domains()));
    let splits = |bytes| if config.run.splits_latencies() { bytes } else { 0 };
    let tenants = if let Source::Tenants(tenants) = &config.workload.source { tenants.len() } else { 0 };
    let of_tenants = splits(tenants * Waits::BYTES_OF_TENANT);
    let of_die = Backend::BYTES_OF_DIE
        + Bookings::BYTES_OF_DIE
        + Queues::BYTES_OF_DIE
        + Features::bytes_of_die(config)
        + splits(Waits::BYTES_OF_DIE)
        + of_tenants;
    let of_domain = Commands::BYTES_OF_DOMAIN + Queues::BYTES_OF_DOMAIN + Queues::BYTES_OF_QUEUE;
    let channels = u64::from(geometry.channels) * Backend::BYTES_OF_CHANNEL as u64;
    let of_device = dies * of_die as u64 + domains * of_domain as u64 + channels + splits(Waits::BYTES) as u64;
    let of_page = splits(Waits::BYTES_OF_PAGE) + 2 * of_tenants + front::bytes_of_page(config);
    let of_pages = Queues::bytes(pages) + pages * of_page as u64;
    // Without a limit it is not known how many there will be; the executor looks again when there are more.
    let depth = config.host.queue_depth.unwrap_or(requests::FREELY);
    (of_device, u64::from(depth) * (bytes_of_request(config) + of_pages))
}

/// Bytes for each request in the device, without its pages.
fn bytes_of_request(config: &Config) -> u64 {
    let splits = if config.run.splits_latencies() { Waits::BYTES_OF_REQUEST } else { 0 };
    Host::BYTES_OF_REQUEST + (splits + front::bytes_of_request(config)) as u64
}

/// How a run is carried out, besides what is configured.
pub(crate) struct TimedOptions {
    /// The files and figures that record it.
    pub(crate) timeline: Option<Timeline>,
    /// True if everything is asked for, also what cannot be in force.
    pub(crate) asks_all: bool,
    /// When the power goes off, if it does before the end.
    pub(crate) cut: Option<Instant>,
    /// The host, where it lives outside: its requests are those of the run.
    pub(crate) live: Option<Box<dyn LiveHost>>,
}

/// Runs a workload to its end; returns the timeline, if one was recorded.
pub(crate) fn run(
    device: &mut Device,
    workload: &mut Workload,
    config: &Config,
    watch: &mut Watch<'_>,
    options: TimedOptions,
) -> Result<Option<Timeline>, RunError> {
    let buffer = crate::buffer::build(config, device);
    let asks_all = options.asks_all || options.cut.is_some() || options.live.is_some();
    let is_bare = plan::is_bare(device, config, options.timeline.is_some()) && !asks_all;
    let pages = plain::pages_of(device, config, buffer.is_some()).filter(|_| is_bare);
    let is_dynamic = device.allocation.dynamic().is_some();
    let is_whole = plan::writes_whole_pages(config);
    let setup = Setup { device, workload, config, watch, buffer, options };
    match (pages, is_dynamic) {
        (Some(pages), false) => {
            let bookings = Bookings::new(setup.device, pages);
            setup.run(PlainPlan::<false> { pages, is_whole, bookings })
        }
        (Some(pages), true) => setup.run(PlainPlan::<true> { pages, is_whole, bookings: Bookings::OFF }),
        (None, is_dynamic) if is_bare => {
            // A write of a whole page waits for nothing but its turn: no map entry, and no collection ahead of need.
            let is_whole =
                is_whole && !setup.device.has_owners && Schedule::new(config.ftl.get("gc_schedule")).is_threshold();
            setup.run(Bare { is_dynamic, is_whole })
        }
        (None, is_dynamic) => setup.run(Any { is_dynamic }),
    }
}

/// The state that a run begins with.
struct Setup<'a, 'w> {
    device: &'a mut Device,
    workload: &'a mut Workload,
    config: &'a Config,
    watch: &'a mut Watch<'w>,
    buffer: Option<Buffer>,
    options: TimedOptions,
}

impl Setup<'_, '_> {
    fn run<P: Plan>(self, mut plan: P) -> Result<Option<Timeline>, RunError> {
        let Setup { device, workload, config, watch, buffer, options } = self;
        let schedule = Schedule::new(config.ftl.get("gc_schedule"));
        let geometry = *device.flash.geometry();
        let (cell, order) = (config.device.cell, config.device.program_order);
        let layout = PageLayout::new(cell, order, geometry.pages_per_block, geometry.parts);
        let has_copybacks = wear::is_in_force(config);
        let mut timing = Timing::new(
            &config.device,
            P::Chip::pages_of_a_plane(config),
            &geometry,
            config.in_step(),
            &layout,
            &schedule,
            has_copybacks,
        );
        plain::set_up(&mut plan, &mut timing);
        // Where the power may go off, the end of each transfer is an event: until then the array has not begun.
        let decides_early = options.cut.is_none() && buffer.is_none() && (!plan.is_dynamic() || plan.is_whole());
        let asks_fill = device.has.time.is_some_and(|time| time.asks_fill);
        device.recorder.windows = (schedule.stock() > 0).then(|| Box::new(WindowFigures::new()));
        let commands = Commands::new(config.ftl.get("scheduler"), schedule, device);
        let are_compared = plain::keeps_keys(&plan, device, config, buffer.is_some());
        let queues = Queues::new(geometry, &device.ftl, &device.allocation, are_compared);
        let chip = P::Chip::new(config, geometry.dies(), &mut timing);
        if plan.has().assembly {
            device.flash.open_assembly(config.run.checks == Checks::Full);
        }
        let mut waits = config.run.splits_latencies().then(|| {
            let window = options.timeline.as_ref().map(Timeline::window);
            device.recorder.split = Some(Box::new(SplitLatencies::new(window, config.run.per_request)));
            Box::new(Waits::new(&geometry, &device.allocation, config.host.queue_depth.unwrap_or(0), buffer.is_some()))
        });
        let tenants = Tenants::new(config, workload);
        if let Source::Tenants(tenants) = &config.workload.source {
            let page_size = device.page_size;
            let first = |space: Namespace| page_size.page_of(space.first);
            let first: Vec<Option<Lpn>> = tenants.iter().map(|tenant| tenant.namespace.map(first)).collect();
            let own = own_pages(tenants, workload, page_size);
            let from = |tenant: &Tenant| match tenant.after.is_empty() {
                true => Instant::ZERO + tenant.start + tenant.ramp,
                // It is told when it begins.
                false => Instant::NEVER,
            };
            let counted = || tenants.iter().map(|tenant| (tenant.name.clone(), from(tenant)));
            if let (Some(waits), Some(split)) = (&mut waits, &mut device.recorder.split) {
                waits.tell_tenants(&first);
                split.tell_tenants(counted());
            }
            let label =
                |tenant: &Tenant| if tenant.label.is_empty() { tenant.name.clone() } else { tenant.label.clone() };
            let labels = tenants.iter().map(label);
            let figures = counted().zip(labels).zip(own);
            let figures = figures.map(|(((name, from), label), own)| TenantFigures::new(name, label, own, from));
            device.recorder.watch_tenants(figures.collect());
        } else if config.host.replay == Replay::Open {
            device.recorder.admission = Some(Box::new(Admission::new()));
        }
        let wanted = ReadRanges::is_configured(config).then(|| Box::new(ReadRanges::new()));
        let now = Instant::ZERO;
        let interrupt = watch.interrupt.clone();
        // A split has the parts of a latency; and some are told the time at every instant.
        let tells_time =
            device.has.time.is_some() || device.has.judged_reads.is_some() || commands.schedule.has_windows();
        let in_steps = config.run.splits_latencies() || tells_time;
        let leaving = (config.host.link.is_some() && !in_steps).then(VecDeque::new);
        let context = Context { device, queues, chip, wanted, leaving, waits, interrupt, now, draining: false, plan };
        let (cut, live) = (options.cut, options.live.map(|host| Box::new(Live::new(host))));
        // In cache mode the end of a transfer is the time of the next command.
        let is_ahead = cut.is_none() && !P::Chip::overlaps(&context);
        let decides_reads = is_ahead && buffer.is_some();
        let gives_room = buffer.as_ref().is_some_and(Buffer::releases_early);
        let decides_programs = decides_reads && !gives_room && !P::Chip::may_fail(&context);
        let decides_kind = [decides_reads, decides_programs, false];
        let backend = Backend::new(&context, timing, decides_early, decides_kind, options.timeline);
        let rarities = Rarities::of(&context, &commands, cut.is_some(), live.is_some());
        let host = Host::new(&config.host, in_steps, tenants, live, buffer, bytes_of_request(config));
        let mut timed = Timed {
            workload,
            watch,
            context,
            host,
            commands,
            backend,
            asks_fill,
            told_room: None,
            awaited_work: None,
            cut,
            rarities,
        };
        timed.run()?;
        Ok(timed.backend.into_timeline())
    }
}

/// The pages of each tenant that are nobody else's: its namespace, or what it writes where no other tenant does.
fn own_pages(tenants: &[Tenant], workload: &Workload, page_size: PageSize) -> Vec<Option<Range<Lpn>>> {
    let pages = |bytes: Range<u64>| {
        let last = bytes.end.checked_sub(1).filter(|last| *last >= bytes.start)?;
        Some(page_size.page_of(bytes.start)..Lpn(page_size.page_of(last).0 + 1))
    };
    let of_namespace = |space: Namespace| pages(space.first..space.first + space.bytes);
    if tenants.iter().any(|tenant| tenant.namespace.is_some()) {
        return tenants.iter().map(|tenant| tenant.namespace.and_then(of_namespace)).collect();
    }
    let written: Vec<_> = (0..tenants.len()).map(|tenant| workload.written_by(tenant).and_then(pages)).collect();
    let is_alone = |number: usize, own: &Range<Lpn>| {
        let mut others = written.iter().enumerate().filter(|(other, _)| *other != number).flat_map(|(_, other)| other);
        others.all(|other| other.end <= own.start || own.end <= other.start)
    };
    let own = |(number, own): (usize, &Option<Range<Lpn>>)| own.clone().filter(|own| is_alone(number, own));
    written.iter().enumerate().map(own).collect()
}

/// The scope of this part.
pub(crate) static SCOPE: Scope = Scope {
    area: Area::Time,
    name: "Course of time",
    keys: &["run.executor"],
    modelled: "The executor `timed` simulates channels, dies, planes, DRAM and ECC in integer nanoseconds; `count` has no time, and `device` stores real bytes instead.",
    not_modelled: &[
        "The processor of the controller takes a fixed time for each command: map look-ups and the choice of victims are free.",
        "Array times vary by page type alone, apart from a slow die, SLC mode and retries.",
        "Energy and heat are not simulated.",
    ],
};

/// The scopes of the executor with time and of its parts.
pub(crate) fn scopes() -> Vec<&'static Scope> {
    [&SCOPE, &front::SCOPE].into_iter().chain(chip::scopes()).collect()
}
