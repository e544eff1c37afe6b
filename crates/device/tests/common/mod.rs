//! Random devices, policies and workloads from one seed.

pub mod cases;
pub mod drives;
pub mod tenants;

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use base::{Cell, Choices, Duration, FeatureKey, Multiplane, Param, ParamKind, ParamValue, ProgramOrder, Selection};
use config::Config;
use config::model::*;
use engine::Chance;
use serde_json::Value;

/// True in `make evidence` and `make torture`, where tests take the time that they need.
pub fn is_long() -> bool {
    ["FTLAB_LONG", "FTLAB_LIVES", "FTLAB_CASES"].iter().any(|name| std::env::var_os(name).is_some())
}

/// A number of random cases, or of what happens in them: all of it in `make evidence`, otherwise a quarter.
pub fn share_of(number: u64) -> u64 {
    if is_long() { number } else { number.div_ceil(4) }
}

/// The least count that a test expects of its random cases: all of it in `make evidence`, otherwise a quarter.
pub fn least(number: u32) -> u32 {
    if is_long() { number } else { number.div_ceil(4) }
}

/// Every seam at its first choice.
pub fn default_ftl() -> Choices {
    Choices { made: device::seams().iter().map(|seam| (seam.key, Selection::default_of(&seam.choices[0]))).collect() }
}

/// Sets a seam, with parameters.
pub fn choose(ftl: &mut Choices, seam: &str, name: &str, params: &[(&str, ParamValue)]) {
    let registered = device::seams().into_iter().find(|s| s.key == seam).expect("a seam");
    let mut selection = Selection::default_of(registered.find(name).expect("a choice"));
    for (param, value) in params {
        selection.set(param, *value);
    }
    *ftl.get_mut(seam) = selection;
}

/// Sets a feature of the chip, with parameters.
pub fn equip(device: &mut Device, key: &str, name: &str, params: &[(&str, ParamValue)]) {
    let features = device::registry().features;
    let feature = features.iter().find(|feature| feature.key == key).expect("a feature");
    let choice = feature.choices.iter().find(|choice| choice.name == name).expect("a choice");
    let selection = device.features.get_mut(key);
    *selection = Selection::default_of(choice);
    params.iter().for_each(|&(param, value)| selection.set(param, value));
}

/// An age of data at which most pages have to be read again.
pub const YEAR: Duration = Duration(365 * 86_400_000_000_000);

/// Every feature of a chip by key and name, the defaults left out.
pub fn features() -> Vec<(&'static str, &'static str)> {
    let of = |feature: &&'static FeatureKey| feature.choices[1..].iter().map(|choice| (feature.key, choice.name));
    device::registry().features.iter().flat_map(of).collect()
}

/// The names that a seam offers, but for some.
pub fn names(seam: &str, except: &[&str]) -> Vec<&'static str> {
    let registered = device::seams().into_iter().find(|s| s.key == seam).expect("a seam");
    registered.choices.iter().map(|choice| choice.name).filter(|name| !except.contains(name)).collect()
}

/// The allocations that give a page to whichever die is free.
pub fn dynamic_allocations() -> Vec<&'static str> {
    names("allocation", &[]).into_iter().filter(|name| ftl::allocation::is_dynamic(name)).collect()
}

/// Whether a policy looks at time: then the executors need not agree.
pub fn looks_at_time(config: &Config) -> bool {
    let unit = config.ftl.get("reclaim_unit");
    ftl::allocation::is_dynamic(config.ftl.get("allocation").name)
        || unit.name == "twin" && unit.number("neighbours") > 0.0
        || config.ftl.get("paired_page").name == "gcmix-adaptive"
        || config.ftl.get("reclaim_across").name == "dies"
}

/// A parameter with one of its words, or with yes or no.
pub fn either(r: &mut Chance, seam: &str, choice: &str, name: &'static str) -> (&'static str, ParamValue) {
    let registered = device::seams().into_iter().find(|s| s.key == seam).and_then(|seam| seam.find(choice));
    let param = registered.and_then(|choice| choice.params.iter().find(|param| param.name == name));
    let value = match param.expect("a parameter").kind {
        ParamKind::Word(words) => (*pick::<&str>(r, words)).into(),
        ParamKind::Flag { .. } => (r.below(2) == 1).into(),
        _ => panic!("`{name}` has no words"),
    };
    (name, value)
}

/// A generator over the whole device.
pub fn generator(name: &str, request_size: u64, read_fraction: f64, footprint: u64) -> Generator {
    let choice = workload::GENERATORS.iter().find(|choice| choice.name == name).expect("a generator");
    Generator {
        pattern: Selection::default_of(choice),
        request_size,
        read_fraction,
        footprint,
        interval: Duration::ZERO,
        poisson: false,
        idle_every: 0,
        idle_for: Duration::ZERO,
    }
}

/// A chip without any feature.
fn defaults(features: &[&'static FeatureKey]) -> Choices {
    let default = |feature: &&'static FeatureKey| (feature.key, Selection::default_of(&feature.choices[0]));
    Choices { made: features.iter().map(default).collect() }
}

/// One small SLC device with round numbers: page read 75 µs, program 1600 µs, erase 5 ms, transfer 40.96 µs.
pub fn plain(channels: u32, chips: u32, dies: u32, planes: u32, blocks: u32, pages: u32) -> Config {
    let page_size = 8192u32;
    let raw = u64::from(channels * chips * dies * planes * blocks) * u64::from(pages);
    let user_capacity = (raw * 3 / 4) * u64::from(page_size);
    Config {
        device: Device {
            channels,
            chips_per_channel: chips,
            dies_per_chip: dies,
            planes_per_die: planes,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_size,
            cell: Cell::Slc,
            program_order: ProgramOrder::Consecutive,
            multiplane: Multiplane::Pac,
            features: defaults(&device::registry().features),
            user_capacity,
            over_provisioning: 1.0 / 3.0,
            wear: Wear {
                pe_cycles: 0,
                cycles_per_erase: 1,
                quality: Selection::default_of(&base::wear::QUALITIES[0]),
                retention: Retention::Year,
                copyback: base::CopybackTable {
                    bands: vec![400, 1000, 2000, 3000, 4000, 5000],
                    best: vec![5, 4, 4, 3, 3, 2],
                    median: vec![5, 4, 3, 3, 2, 1],
                    worst: vec![3, 2, 2, 1, 1, 0],
                },
                read_limit: None,
                reprogram_restarts: false,
                reprogram: base::ReprogramWear { rates: vec![0.0, 0.2], wear: vec![2.0, 1.2] },
            },
            timing: Timing {
                read: vec![Duration::from_us(75)],
                program: vec![Duration::from_us(1600)],
                erase: Duration::from_us(5000),
                channel_rate: 200_000_000,
                command_overhead: Duration::ZERO,
                dram_bandwidth: None,
                ecc_latency: Duration::ZERO,
                ecc_bandwidth: None,
            },
        },
        ftl: default_ftl(),
        host: Host::new(Replay::Closed, Some(1)),
        workload: Workload {
            end: End { requests: Some(1000), ..End::default() },
            ..Workload::of(Source::Generator(generator("uniform", u64::from(page_size), 0.0, user_capacity)))
        },
        run: Run {
            executor: Executor::Timed,
            seed: 1,
            checks: Checks::Full,
            payload: Payload::Stamp,
            latency_parts: false,
            per_request: false,
            precondition: Precondition::None,
            sample: None,
        },
    }
}

/// A preset with changes.
pub fn preset(name: &str, sets: &[impl AsRef<str>]) -> Config {
    let sets: Vec<String> = sets.iter().map(|set| set.as_ref().to_owned()).collect();
    let base = config::Base::Preset(name.into());
    device::load(&base, &sets, None).map_err(|problems| problems.to_string()).unwrap().config
}

/// Blocks from which any page takes a thousand copybacks, so that none is lost where nothing limits them.
pub fn forgiving() -> base::CopybackTable {
    base::CopybackTable { bands: vec![1_000_000], best: vec![1000], median: vec![1000], worst: vec![1000] }
}

/// Runs a configuration and gives its summary.
pub fn run(config: &Config) -> Value {
    device::simulate(config, &mut device::Options::default()).expect("a run").summary
}

/// A number of a summary by its path.
pub fn figure(summary: &Value, path: &str) -> f64 {
    let value = path.split('.').fold(summary, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path} is {value}"))
}

/// One of a few, each equally likely.
pub fn pick<'a, T>(random: &mut Chance, of: &'a [T]) -> &'a T {
    &of[random.below(of.len() as u64) as usize]
}

/// A random device under random policies, small enough for the whole-state check after every collection.
pub fn random_config(seed: u64) -> Config {
    let mut random = Chance::new(seed, "case");
    let r = &mut random;
    let (channels, chips, dies) = (*pick(r, &[1, 2, 3]), *pick(r, &[1, 2]), *pick(r, &[1, 2]));
    let planes = *pick(r, &[1, 2, 4]);
    let cell = *pick(r, &[Cell::Slc, Cell::Mlc, Cell::Tlc]);
    let blocks = 9 + r.below_u32(8);
    let pages = cell.bits() * (1 + r.below_u32(6));
    let mut config = plain(channels, chips, dies, planes, blocks, pages);
    config.device.cell = cell;
    config.device.program_order = *pick(r, &[ProgramOrder::Consecutive, ProgramOrder::Shadow]);
    config.device.multiplane = *pick(r, &[Multiplane::Off, Multiplane::Any, Multiplane::Pac, Multiplane::Bac]);
    config.device.page_size = *pick(r, &[4096, 8192]);
    random_timing(r, &mut config.device);
    random_policies(r, &mut config.ftl);
    // The qualities of blocks come from it, and with them the quotas there are.
    config.run.seed = seed;
    random_wear(seed, &mut config);
    if config.ftl.get("mapping").name == "dftl" {
        random_map_in_flash(seed, &mut config);
    }
    random_reads(seed, &mut config);
    random_steps(seed, &mut config.ftl);
    random_across(seed, &mut config.ftl);
    random_caches(seed, &mut config.device);
    random_slc_cache(seed, &mut config);
    // Twin blocks have conditions; where the device or the allocation does not meet them, plain blocks.
    let twins_fit = planes > 1 && config.device.multiplane != Multiplane::Off;
    if config.ftl.get("reclaim_unit").name == "twin" && !twins_fit {
        choose(&mut config.ftl, "reclaim_unit", "block", &[]);
    }
    meet_conditions(&mut config);
    if config.ftl.get("read_disturb").name == "ignore" {
        // Whoever ignores a limit fails at it.
        config.device.wear.read_limit = None;
    }
    random_capacity(r, &mut config);
    random_buffer(seed, &mut config);
    random_suspends(seed, &mut config.device);
    config.host.queue_depth = Some(*pick(r, &[1, 2, 7, 32]));
    let footprint = config.device.user_capacity;
    let size = *pick(r, &[512, 4096, 8192, 12_288, 40_960]);
    let name = *pick::<&str>(r, &["uniform", "sequential", "zipf", "hot-cold", "mixed"]);
    // A footprint of at least one request.
    let size = if footprint < size { 512 } else { size };
    // Small pages make many of a request.
    let size = size.min(8 * u64::from(config.device.page_size));
    let reads = *pick(r, &[0.0, 0.3, 0.7]);
    let mut generator = generator(name, size, reads, footprint);
    if config.ftl.get("paired_page").name == "gcmix-adaptive" {
        // It looks at the time, and without arrivals there is none under `count`.
        generator.interval = Duration(10_000_000 + r.below(500_000_000));
    }
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(200 + r.below(600)), ..End::default() };
    let volume = footprint / page_size(&config) * page_size(&config);
    config.run.precondition = match r.below(4) {
        0 => Precondition::Sequential { volume },
        1 => Precondition::Random { volume },
        _ => Precondition::None,
    };
    config
}

/// Bytes of a page as the FTL sees it: a superpage where channels or planes are in step.
pub fn page_size(config: &Config) -> u64 {
    u64::from(config.device.page_size) * u64::from(config.in_step().parts())
}

/// Whether a state of the device can be saved.
pub fn is_savable(config: &Config) -> bool {
    config.ftl.get("mapping").name != "fast"
}

/// Protections and regions have conditions too: a choice that is refused whatever the capacity is given up. That each
/// choice is met with each other one all the same is seen to by `pairwise.rs`.
fn meet_conditions(config: &mut Config) {
    let mut tiny = config.clone();
    let buffer = tiny.ftl.get("write_buffer").name;
    if buffer != "none" {
        // As small as the capacity; how large it is really is drawn later.
        choose(&mut tiny.ftl, "write_buffer", buffer, &[("size", ParamValue::Size(page_size(config)))]);
    }
    loop {
        tiny.device.user_capacity = page_size(&tiny);
        let Err(refusal) = device::check(&tiny) else { break };
        let mut seam = refusal.key.strip_prefix("ftl.").unwrap_or_else(|| panic!("{refusal:?}"));
        if seam == "gc_schedule" {
            // Too few blocks for what the protection keeps aside, or for an active one of each quota.
            let is_protected = ftl::paired::keeps_track(tiny.ftl.get("paired_page").name);
            seam = match () {
                () if tiny.ftl.get("slc_cache").name != "off" => "slc_cache",
                () if is_protected => "paired_page",
                () if tiny.ftl.get("migration").name != "off-chip" => "migration",
                () if tiny.ftl.get("read_disturb").name != "ignore" => "read_disturb",
                // Not with this mapping.
                () => "gc_schedule",
            };
        }
        let default = device::seams().into_iter().find(|s| s.key == seam).expect("a seam").choices[0].name;
        if seam == "gc_schedule" && tiny.ftl.get(seam).name == default {
            // The map takes the rest.
            tiny.device.blocks_per_plane += 1;
            config.device.blocks_per_plane += 1;
            continue;
        }
        assert_ne!(tiny.ftl.get(seam).name, default, "{refusal:?}");
        choose(&mut tiny.ftl, seam, default, &[]);
        choose(&mut config.ftl, seam, default, &[]);
    }
}

/// Small pages, so that a plane has several translation pages; a cache of a few entries up to one for all; and room for
/// the blocks that the map takes.
fn random_map_in_flash(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "map in flash");
    let device = &mut config.device;
    (device.chips_per_channel, device.dies_per_chip) = (1, 1 + random.below_u32(2));
    device.page_size = [512, 512, 4096][random.below(3) as usize];
    device.blocks_per_plane += 4 + random.below_u32(8);
    let planes = device.channels * device.chips_per_channel * device.dies_per_chip * device.planes_per_die;
    let most = [2, 20, 400][random.below(3) as usize];
    let entries = 2 + random.below_u32(most);
    choose(&mut config.ftl, "mapping", "dftl", &[("cache", ParamValue::Size(u64::from(planes * entries * 8)))]);
    if ftl::allocation::is_dynamic(config.ftl.get("allocation").name) {
        // Collections that wait for other planes are not suspended, and take more room.
        config.device.blocks_per_plane += 1;
        let free_blocks = config.ftl.get("gc_schedule").value("free_blocks");
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", free_blocks)]);
    }
}

/// Cache reads and cache programs, each in one case of three.
fn random_caches(seed: u64, device: &mut Device) {
    let mut random = Chance::new(seed, "caches");
    let mut draw = |choices: &'static [base::Choice]| {
        let mut choice = Selection::default_of(&choices[usize::from(random.below(3) == 0)]);
        if choice.name == "on" && random.below(2) == 0 {
            choice.set("busy", ParamValue::Time(Duration(0)));
        }
        choice
    };
    *device.features.get_mut("cache_read") = draw(base::cache::READ.choices);
    *device.features.get_mut("cache_program") = draw(base::cache::PROGRAM.choices);
}

/// A pseudo-SLC cache in half of the cases, in half of them with times of its own.
fn random_slc_cache(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "slc cache");
    if config.device.cell == Cell::Slc || random.below(2) == 0 {
        return;
    }
    let name = *pick(&mut random, &["static", "dynamic", "both"]);
    let blocks = ("blocks", (1 + random.below_u32(2)).into());
    let share = ("share", ParamValue::Number(*pick(&mut random, &[0.5, 1.0])));
    let (when_full, fold) =
        (either(&mut random, "slc_cache", name, "when_full"), either(&mut random, "slc_cache", name, "fold"));
    let params = match name {
        "static" => vec![blocks, when_full, fold],
        "dynamic" => vec![share, when_full, fold],
        _ => vec![blocks, share, when_full, fold],
    };
    choose(&mut config.ftl, "slc_cache", name, &params);
    if config.ftl.get("slc_cache").word("fold") == "idle" {
        // It asks for collections in the background, which tests exchange for others.
        config.ftl.get_mut("slc_cache").set("fold", "mark".into());
    }
    if random.below(2) == 0 {
        equip(&mut config.device, "slc_mode", "on", &[]);
    }
}

/// The separations by lifespan.
const BY_LIFESPAN: [&str; 3] = ["sepbit", "midas", "future"];

/// In a third of the cases a separation by lifespan, with the blocks that it takes, where the device can have it.
pub fn random_lifespans(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "lifespans");
    if random.below(3) > 0 {
        return;
    }
    let mut tried = config.clone();
    let classes = 4 + random.below_u32(3);
    match *pick(&mut random, &BY_LIFESPAN) {
        name @ "midas" => {
            choose(&mut tried.ftl, "separation", name, &[("groups", classes.into()), ("epoch", 1.into())]);
            choose(&mut tried.ftl, "victim", "greedy", &[]);
        }
        name => choose(&mut tried.ftl, "separation", name, &[("classes", classes.into())]),
    }
    tried.ftl.get_mut("gc_schedule").set("free_blocks", (classes + random.below_u32(2)).into());
    tried.device.blocks_per_plane += 3 * classes;
    if device::check(&tried).is_ok() {
        *config = tried;
    }
}

/// The separations by hints of the host.
const BY_HINTS: [&str; 3] = ["streams", "fdp", "write-hints"];

/// In a third of the cases a separation by hints, with the blocks that its handles keep open, where the device can have it.
pub fn random_hints(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "hints");
    if random.below(3) > 0 {
        return;
    }
    let mut tried = config.clone();
    let name = *pick::<&str>(&mut random, &BY_HINTS);
    let few = ParamValue::from(2 + random.below_u32(3));
    let params = match name {
        "streams" => vec![("streams", few)],
        "fdp" => {
            let update_after = if seed.is_multiple_of(2) { 0 } else { 40_000 };
            let isolation = either(&mut random, "separation", "fdp", "isolation");
            let groups = 1 + random.below_u32(3);
            vec![
                ("handles", few),
                isolation,
                ("update_after", ParamValue::Size(update_after)),
                ("reclaim_groups", groups.into()),
            ]
        }
        _ => vec![],
    };
    choose(&mut tried.ftl, "separation", name, &params);
    // Some of them are no handle's.
    (tried.workload.hint, tried.workload.hint_parts) = (vec![random.below_u32(2) as u16], 6);
    tried.device.blocks_per_plane += 18;
    if name == "fdp" && device::check(&tried).is_err() {
        // Its dies cannot be divided, or not with what else there is.
        tried.ftl.get_mut("separation").set("reclaim_groups", 1.into());
    }
    if device::check(&tried).is_ok() {
        *config = tried;
    }
}

/// Blocks of any age and quality. Where nothing limits copybacks, blocks do not mind them.
fn random_wear(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "wear");
    config.device.wear.pe_cycles = random.below_u32(5500);
    let spread = &base::wear::QUALITIES[random.below(2) as usize];
    config.device.wear.quality = Selection::default_of(spread);
    match config.ftl.get("migration").name {
        "copyback" => config.device.wear.copyback = forgiving(),
        "fastgc" => choose(&mut config.ftl, "migration", "fastgc", &[("metadata", (random.below(2) == 0).into())]),
        _ => {}
    }
}

/// Limits so low that blocks are refreshed again and again, in half of the cases.
fn random_reads(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "reads");
    let r = &mut random;
    let scheme = config.ftl.get("read_disturb").name;
    if r.below(2) == 0 {
        choose(&mut config.ftl, "read_disturb", "ignore", &[]);
        return;
    }
    let device = &mut config.device;
    device.chips_per_channel = 1;
    device.blocks_per_plane += 6 + r.below_u32(12);
    let full = 3 * device.pages_per_block + 32 + r.below_u32(200);
    device.wear.read_limit = Some([full, full * (1 + r.below_u32(10))]);
    device.wear.reprogram_restarts = r.below(2) == 0;
    let margin = ("margin", (12 + r.below_u32(5)).into());
    let attribution = either(r, "read_disturb", "refresh", "attribution");
    let blocks_reads = either(r, "read_disturb", "refresh", "blocks_reads");
    let mut params = vec![margin, attribution, blocks_reads];
    if scheme != "refresh" && scheme != "ignore" {
        params.extend(["full", "evicted", "average"].map(|name| either(r, "read_disturb", "ipr", name)));
        params.push(("monitor", (0.05 + r.fraction() * 0.3).into()));
        let share = ("share", 0.05 + r.fraction() * 0.3);
        match scheme {
            "redftl" | "read-leveling" => {
                params.push(("shadow", share.1.into()));
                params.push(("hot_pages", (1 + r.below_u32(device.pages_per_block)).into()));
            }
            _ => params.push(("low_density", share.1.into())),
        }
        if scheme == "ipr" {
            params.push(("pool", (0.1 + r.fraction() * 0.9).into()));
            params.push(("at_once", (1 + r.below_u32(3)).into()));
        }
    }
    if scheme == "ignore" {
        device.wear.read_limit = None;
        return;
    }
    choose(&mut config.ftl, "read_disturb", scheme, &params);
}

/// The value of a parameter of a feature of the chip.
pub fn of_feature(param: &Param, page_size: u32, dies: u32, r: &mut Chance) -> ParamValue {
    match param.kind {
        // A page is a whole number of codewords.
        ParamKind::Size { .. } => ParamValue::Size((u64::from(page_size) >> r.below(4)).max(512)),
        ParamKind::Integer { .. } if param.name == "die" => r.below_u32(dies).into(),
        ParamKind::Integer { min, max, .. } => (min + r.below_u32(4)).min(max).into(),
        ParamKind::Number { default, min, max } => (*pick(r, &[min, default, max.min(10.0)])).into(),
        ParamKind::Time { default, min, max } => (*pick(r, &[min, Duration(10_000), default])).clamp(min, max).into(),
        ParamKind::Word(words) => (*pick::<&'static str>(r, words)).into(),
        ParamKind::Flag { .. } => (r.below(2) == 0).into(),
    }
}

/// Each feature of the chip in half of the cases, and the link; but none that is refused.
pub fn random_features(seed: u64, config: &mut Config) {
    let mut random = Chance::new(seed, "features");
    let r = &mut random;
    for &FeatureKey { key, choices, .. } in device::features() {
        let choice = pick(r, &choices[1..]);
        let mut with = config.clone();
        let device = &mut with.device;
        let dies = device.channels * device.chips_per_channel * device.dies_per_chip;
        let params: Vec<_> =
            choice.params.iter().map(|param| (param.name, of_feature(param, device.page_size, dies, r))).collect();
        equip(device, key, choice.name, &params);
        if key == "programming" {
            // A wordline takes one time.
            let first = device.timing.program[0];
            device.timing.program.fill(first);
        }
        if r.below(2) == 0 && device::check(&with).is_ok() {
            *config = with;
        }
    }
    if r.below(2) == 0 {
        config.host.link = Some(5_000_000 << r.below(8));
        config.host.command_time = Duration(r.below(20_000));
        config.host.command_interval = Duration(r.below(20_000));
    }
}

/// The same device with its wordlines programmed as a whole, if it can be.
pub fn with_wordlines(mut config: Config, programming: &'static str) -> Option<Config> {
    if config.device.cell == Cell::Slc {
        return None;
    }
    equip(&mut config.device, "programming", programming, &[]);
    config.device.program_order = ProgramOrder::Consecutive;
    let first = config.device.timing.program[0];
    config.device.timing.program.fill(first);
    for (seam, choice) in [("mapping", "page"), ("migration", "off-chip"), ("paired_page", "none")] {
        choose(&mut config.ftl, seam, choice, &[]);
    }
    let page = page_size(&config);
    let most = device::largest_user_capacity(&config) / page * page;
    config.device.user_capacity = config.device.user_capacity.min(most);
    if let Source::Generator(generator) = &mut config.workload.source {
        generator.footprint = generator.footprint.min(config.device.user_capacity);
    }
    (most > 0 && device::check(&config).is_ok()).then_some(config)
}

/// In half of the cases programs, erases, or both are suspended for reads.
fn random_suspends(seed: u64, device: &mut Device) {
    let mut random = Chance::new(seed, "suspends");
    let both = suspends(&mut random);
    if random.below(2) == 0 {
        let [program, erase] = both;
        *device.features.get_mut("program_suspend") = program;
        *device.features.get_mut("erase_suspend") = erase;
    }
}

/// Suspends of programs and of erases, for reads, or not.
pub fn suspends(random: &mut Chance) -> [Selection; 2] {
    let mut draw = |choices: &'static [base::Choice]| {
        let mut choice = Selection::default_of(&choices[random.below(2) as usize]);
        if choice.name == "reads" {
            for name in ["latency", "resume", "interval"] {
                let time = if random.below(4) == 0 { 0 } else { random.below(100_000) };
                choice.set(name, ParamValue::Time(Duration(time)));
            }
            choice.set("most", (1 + random.below_u32(10)).into());
        }
        choice
    };
    [draw(base::suspend::PROGRAM.choices), draw(base::suspend::ERASE.choices)]
}

/// Victims of all dies together, on a third of the devices that can have them.
fn random_across(seed: u64, ftl: &mut Choices) {
    if Chance::new(seed, "across").below(3) == 0 && ftl.get("mapping").name != "fast" {
        choose(ftl, "reclaim_across", "dies", &[]);
    }
}

fn random_timing(r: &mut Chance, device: &mut Device) {
    let bits = device.cell.bits() as usize;
    device.timing.read = (0..bits).map(|_| Duration(1000 + r.below(100_000))).collect();
    device.timing.program = (0..bits).map(|_| Duration(10_000 + r.below(2_000_000))).collect();
    device.timing.erase = Duration(100_000 + r.below(5_000_000));
    device.timing.channel_rate = 50_000_000 + r.below(1_000_000_000);
    device.timing.command_overhead = Duration(if r.below(2) == 0 { 0 } else { r.below(5_000) });
    device.timing.dram_bandwidth = if r.below(2) == 0 { None } else { Some(100_000_000 + r.below(2_000_000_000)) };
    device.timing.ecc_latency = Duration(if r.below(2) == 0 { 0 } else { r.below(20_000) });
}

fn random_policies(r: &mut Chance, ftl: &mut Choices) {
    // No time passes in half of the tests, and refresh by age goes by it; the others have draws of their own.
    let apart = ["map_unit", "slc_cache", "refresh", "reclaim_across"];
    for seam in device::seams().into_iter().filter(|seam| !apart.contains(&seam.key)) {
        // Those by lifespan and by hints take more blocks than these devices have: see `random_lifespans`, `random_hints`.
        let takes_more = |choice: &&base::Choice| BY_LIFESPAN.contains(&choice.name) || BY_HINTS.contains(&choice.name);
        let choices: Vec<_> = seam.choices.iter().filter(|choice| !takes_more(choice)).collect();
        let choice = pick(r, &choices);
        choose(ftl, seam.key, choice.name, &[]);
    }
    if ftl.get("mapping").name == "fast" {
        // Hybrid mapping has its own ways; half of the cases keep to them.
        if r.below(2) == 0 {
            let order = *pick::<&str>(r, &["CWDP", "PDWC", "DPCW", "WCPD"]);
            choose(ftl, "allocation", order, &[]);
            let others = [
                ("victim", "fifo"),
                ("separation", "none"),
                ("paired_page", "none"),
                ("wear_leveling", "none"),
                ("migration", "off-chip"),
            ];
            for (key, name) in others {
                choose(ftl, key, name, &[]);
            }
            let unit = *pick::<&str>(r, &["block", "block", "superblock"]);
            choose(ftl, "reclaim_unit", unit, &[]);
            random_superblock(r, ftl);
            let readings = ["broken", "start", "gather"].map(|name| either(r, "mapping", "fast", name));
            choose(ftl, "mapping", "fast", &readings);
            if ftl.get("mapping").word("start") == "bounded" {
                // It counts blocks that are filled up.
                let params = [("broken", "fill".into()), ("reused_blocks", (1 + r.below_u32(4)).into())];
                choose(ftl, "mapping", "fast", &[readings[1], readings[2], params[0], params[1]]);
            }
            let free_blocks = 1 + r.below_u32(2);
            random_schedule(r, ftl, free_blocks);
            return;
        }
        choose(ftl, "mapping", "page", &[]);
    }
    if ftl.get("mapping").name == "dftl" {
        let order = *pick(r, &[vec!["CWDP", "PDWC", "DPCW", "WCPD"], dynamic_allocations()].concat());
        choose(ftl, "allocation", order, &[]);
        let protections = names("paired_page", &["slc-buffer", "gcmix", "gcmix-adaptive"]);
        let scheme = *pick(r, &[vec!["none"], protections].concat());
        choose(ftl, "paired_page", scheme, &[]);
    } else if r.below(2) == 0 {
        // Dynamic allocations are a few among many static orders: give them half of the cases.
        let dynamic = *pick(r, &dynamic_allocations());
        choose(ftl, "allocation", dynamic, &[]);
    }
    if ftl.get("reclaim_unit").name == "twin" {
        let pad = either(r, "reclaim_unit", "twin", "pad");
        let neighbours = [0.0, 0.05, 1.0][r.below(3) as usize];
        choose(ftl, "reclaim_unit", "twin", &[pad, ("neighbours", neighbours.into())]);
    }
    random_superblock(r, ftl);
    let mut free_blocks = 1 + r.below_u32(2);
    if ftl.get("separation").name == "dac" {
        free_blocks += 1;
        choose(ftl, "separation", "dac", &[("regions", (2 + r.below_u32(free_blocks - 1)).into())]);
    }
    let scheme = ftl.get("paired_page").name;
    match scheme {
        "gcmix" => {
            let low = r.below_u32(3);
            let high = free_blocks + low + 1 + r.below_u32(3);
            choose(ftl, "paired_page", scheme, &[("low", low.into()), ("high", high.into())]);
        }
        "slc-buffer" => {
            free_blocks = free_blocks.max(2);
            choose(ftl, "paired_page", scheme, &[("blocks", (1 + r.below_u32(2)).into())]);
        }
        _ => {}
    }
    random_schedule(r, ftl, free_blocks);
    if ftl.get("victim").name == "cost-benefit" {
        let [age, growth] = ["age", "growth"].map(|name| either(r, "victim", "cost-benefit", name));
        choose(ftl, "victim", "cost-benefit", &[age, growth]);
    }
    if ftl.get("victim").name == "rga" {
        choose(ftl, "victim", "rga", &[("d", (1 + r.below_u32(6)).into())]);
    }
    let leveling = ftl.get("wear_leveling").name;
    if leveling != "none" {
        choose(ftl, "wear_leveling", leveling, &[("threshold", (1 + r.below_u32(5)).into())]);
    }
}

/// What is in step, where something is.
fn random_superblock(r: &mut Chance, ftl: &mut Choices) {
    if ftl.get("reclaim_unit").name == "superblock" {
        let over = either(r, "reclaim_unit", "superblock", "over");
        choose(ftl, "reclaim_unit", "superblock", &[over]);
    }
}

/// How twin blocks move lone pages, and whether reads wait for collections.
fn random_steps(seed: u64, ftl: &mut Choices) {
    let mut random = Chance::new(seed, "steps");
    if ftl.get("reclaim_unit").name == "twin" {
        let (name, value) = either(&mut random, "reclaim_unit", "twin", "lone");
        ftl.get_mut("reclaim_unit").set(name, value);
    }
    let scheduler = ftl.get("scheduler").name;
    let gc = either(&mut random, "scheduler", scheduler, "gc");
    let max_wait = ("max_wait", Duration([0, 1_000_000][random.below(2) as usize]).into());
    let params = [gc, max_wait];
    choose(ftl, "scheduler", scheduler, if scheduler == "paq" { &params } else { &params[..1] });
}

/// Collections ahead of need, whenever they may begin, or up to a few spare blocks.
fn random_schedule(r: &mut Chance, ftl: &mut Choices, free_blocks: u32) {
    let schedule = ftl.get("gc_schedule").name;
    let spare_blocks = [1 + r.below_u32(4), 200][r.below(2) as usize];
    let preempt = either(r, "gc_schedule", "forwarding", "preempt");
    let [trigger, scope] = ["trigger", "scope"].map(|name| either(r, "gc_schedule", "forwarding", name));
    let pace = either(r, "gc_schedule", "cycle-filling", "pace");
    let idle = ("idle", Duration([0, 50_000, 3_000_000][r.below(3) as usize]).into());
    let (free, spare) = (("free_blocks", free_blocks.into()), ("spare_blocks", spare_blocks.into()));
    match schedule {
        "forwarding" => choose(ftl, "gc_schedule", schedule, &[free, spare, trigger, scope, preempt]),
        "cycle-filling" => choose(ftl, "gc_schedule", schedule, &[free, spare, pace, preempt]),
        "background" => choose(ftl, "gc_schedule", schedule, &[free, spare, idle, preempt]),
        "paced" => choose(ftl, "gc_schedule", schedule, &[free, ("low", (1 + spare_blocks % 4).into())]),
        "windows" => {
            let length = |name, ms| (name, Duration(ms * 1_000_000).into());
            let lengths = [length("deterministic", 1 + u64::from(spare_blocks % 4)), length("nondeterministic", 4)];
            choose(ftl, "gc_schedule", schedule, &[free, ("stock", 1.into()), lengths[0], lengths[1]]);
        }
        _ => choose(ftl, "gc_schedule", schedule, &[free]),
    }
}

/// Sets the executor. Without time there is only foreground GC.
pub fn execute(config: &mut Config, executor: Executor) {
    config.run.executor = executor;
    if executor == Executor::Count {
        let free_blocks = config.ftl.get("gc_schedule").value("free_blocks");
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", free_blocks)]);
    }
}

/// Where a write buffer was drawn, one of a page up to all of the device, in either order.
fn random_buffer(seed: u64, config: &mut Config) {
    let buffer = config.ftl.get("write_buffer").name;
    if buffer == "none" {
        return;
    }
    let mut random = Chance::new(seed, "buffer");
    let page = page_size(config);
    let most = (config.device.user_capacity / page).min([1, 3, 16, 64][random.below(4) as usize]);
    let size = (1 + random.below(most)) * page;
    let [order, release, power_loss, reads] =
        ["order", "release", "power_loss", "reads"].map(|name| either(&mut random, "write_buffer", buffer, name));
    let size = ("size", ParamValue::Size(size));
    choose(&mut config.ftl, "write_buffer", buffer, &[size, order, release, power_loss, reads]);
}

/// Anything from half empty to as full as the device can be and still be writable for ever.
fn random_capacity(r: &mut Chance, config: &mut Config) {
    let page = page_size(config);
    let geometry = &config.device;
    let raw = u64::from(geometry.channels * geometry.chips_per_channel * geometry.dies_per_chip)
        * u64::from(geometry.planes_per_die * geometry.blocks_per_plane * geometry.pages_per_block)
        / u64::from(config.in_step().parts());
    let mut pages = raw.min(device::largest_user_capacity(config) / page + 1);
    config.device.user_capacity = pages * page;
    while device::check(config).is_err() && pages > 1 {
        pages -= 1;
        config.device.user_capacity = pages * page;
    }
    if r.below(3) > 0 {
        config.device.user_capacity = (pages - r.below(pages / 2 + 1)).max(1) * page;
    }
    let user = config.device.user_capacity / page;
    config.device.over_provisioning = (raw - user) as f64 / user as f64;
}

/// A random trace with every kind of request, unaligned ranges and repeated addresses.
pub fn random_trace(seed: u64, user_capacity: u64, rows: u64) -> String {
    let mut random = Chance::new(seed, "trace");
    let sectors = user_capacity / 512;
    let mut text = String::new();
    let mut at = 128_166_372_003_061_629u64;
    for _ in 0..rows {
        at += random.below(20_000);
        let sector = random.below(sectors);
        // Half of all ranges begin in a small hot area, so that requests overlap in flight.
        let sector = if random.below(2) == 0 { sector % (sectors / 16).max(1) } else { sector };
        let length = (1 + random.below(80)).min(sectors - sector);
        let (kind, flags) = match random.below(20) {
            0 => ("Flush", "-"),
            1..=3 => ("Discard", "-"),
            4..=8 => ("Read", "-"),
            9 => ("Write", "SYNC+FUA"),
            _ => ("Write", "-"),
        };
        let (offset, size) = if kind == "Flush" { (0, 0) } else { (sector * 512, length * 512) };
        writeln!(text, "{at},case,0,{kind},{offset},{size},100,{flags}").expect("a string");
    }
    text
}

/// A trace in a file of this process's own, removed at the end.
pub struct TraceFile(std::path::PathBuf);

impl TraceFile {
    /// Rows are time (ns, a multiple of 100), type as the MSR format names it or `FUA` for a write with that, offset and size in bytes.
    pub fn new(rows: &[(u64, &str, u64, u64)]) -> TraceFile {
        let mut text = String::new();
        for (at, kind, offset, size) in rows {
            assert!(at % 100 == 0, "the format counts ticks of 100 ns");
            let (kind, flags) = if *kind == "FUA" { ("Write", ",FUA") } else { (*kind, "") };
            let ticks = 128_166_372_000_000_000 + at / 100;
            writeln!(text, "{ticks},test,0,{kind},{offset},{size},0{flags}").expect("a string");
        }
        TraceFile::of(&text)
    }

    /// Rows that are drawn.
    pub fn random(seed: u64, user_capacity: u64, rows: u64) -> TraceFile {
        TraceFile::of(&random_trace(seed, user_capacity, rows))
    }

    fn of(text: &str) -> TraceFile {
        let path = temporary("csv");
        std::fs::write(&path, text).expect("a temporary file");
        TraceFile(path)
    }

    /// The trace as the source of a workload.
    pub fn source(&self) -> Source {
        Source::Trace { path: self.0.display().to_string() }
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A path that no other test uses.
pub fn temporary(extension: &str) -> std::path::PathBuf {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::env::temp_dir().join(format!("ftlab-test-{}-{number}.{extension}", std::process::id()))
}

/// Replays a trace once, at its own times.
pub fn replay(config: &Config, rows: &[(u64, &str, u64, u64)]) -> Value {
    let trace = TraceFile::new(rows);
    let mut config = config.clone();
    config.workload.source = trace.source();
    config.workload.end = End { rounds: Some(1), ..End::default() };
    config.host.replay = Replay::Open;
    config.host.queue_depth = Some(64);
    run(&config)
}

/// The results of some work, in order, found on all processors.
pub fn on_all_processors<T: Sync, R: Send>(of: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new((0..of.len()).map(|_| None).collect::<Vec<Option<R>>>());
    let one_after_another = || {
        while let Some((place, item)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, of.get(n)?))) {
            let result = work(item);
            found.lock().expect("no panic while held")[place] = Some(result);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(one_after_another))));
    let found = found.into_inner().expect("no panic while held");
    found.into_iter().map(|result| result.expect("all are done")).collect()
}

/// Makes a device nearly full.
pub fn fill(config: &mut Config) {
    let page = page_size(config);
    config.device.user_capacity = device::largest_user_capacity(config) * 9 / 10 / page * page;
    let volume = config.device.user_capacity;
    config.run.precondition = Precondition::Random { volume };
    let Source::Generator(generator) = &mut config.workload.source else { unreachable!("it is generated") };
    generator.footprint = volume;
}
