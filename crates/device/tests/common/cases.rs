//! Random devices as a user would write them: each with a value of every key of a policy and of every feature of the chip, as small as
//! it can be, at the largest user space that is accepted or below.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use base::{Choice, FeatureKey, Param, ParamKind, ParamValue};
use config::Config;
use config::model::Source;
use engine::Chance;
use serde_json::{Map, Value, json};

use crate::common::*;

/// A case that takes more seconds of the processor has no answer.
pub const DEADLINE: f64 = 60.0;

/// A key with a few values.
pub struct Dimension {
    pub key: String,
    pub values: Vec<String>,
    /// The dimension and the value of it under which this key exists.
    pub under: Option<(usize, usize)>,
}

/// All keys whose values are combined.
pub struct Space {
    pub dimensions: Vec<Dimension>,
}

/// Seams whose choices are combined. Map units are so many to a flash page.
fn seams() -> impl Iterator<Item = &'static base::Seam> {
    device::seams().into_iter().filter(|seam| seam.choices.len() > 1 && seam.key != "map_unit")
}

/// By dimension the place of its value; `None` where the key does not exist.
pub type Assignment = Vec<Option<usize>>;

/// A value of a dimension.
pub type Point = (usize, usize);

/// Two values of two dimensions, the first of the earlier one.
pub type Pair = (Point, Point);

impl Space {
    pub fn new() -> Space {
        let mut space = Space { dimensions: Vec::new() };
        for seam in seams() {
            let parent = space.add(seam.key, seam.choices.iter().map(|choice| choice.name), None);
            for (place, choice) in seam.choices.iter().enumerate() {
                for param in choice.params {
                    let key = format!("{}.{}.{}", seam.key, choice.name, param.name);
                    space.add(&key, words(param).iter().map(String::as_str), Some((parent, place)));
                }
            }
        }
        for &FeatureKey { key, choices, .. } in device::features() {
            // Their parameters are numbers, which are drawn.
            space.add(&format!("device.{key}"), choices.iter().map(|choice| choice.name), None);
        }
        space.add("map_unit", ["page", "half", "quarter", "eighth"], None);
        space.add("link", ["off", "on"], None);
        space.add("cell", ["slc", "mlc", "tlc", "qlc"], None);
        space.add("program_order", ["consecutive", "shadow"], None);
        space.add("multiplane", ["off", "any", "pac", "bac"], None);
        space.add("planes_per_die", ["1", "2", "3", "4"], None);
        space.add("replay", ["open", "closed", "batch"], None);
        space.add(
            "arbitration",
            std::iter::once("one host").chain(base::ARBITRATIONS.iter().map(|choice| choice.name)),
            None,
        );
        space.add("executor", ["timed", "count"], None);
        space
    }

    /// Adds a key, unless it has nothing to choose from.
    pub fn add<'a>(&mut self, key: &str, values: impl IntoIterator<Item = &'a str>, under: Option<Point>) -> usize {
        let values: Vec<String> = values.into_iter().map(str::to_string).collect();
        if values.len() > 1 {
            self.dimensions.push(Dimension { key: key.to_string(), values, under });
        }
        self.dimensions.len() - 1
    }

    /// Every pair of values that one configuration can have.
    pub fn pairs(&self) -> BTreeSet<Pair> {
        let points: Vec<Point> = (0..self.dimensions.len())
            .flat_map(|dimension| (0..self.dimensions[dimension].values.len()).map(move |value| (dimension, value)))
            .collect();
        let mut pairs = BTreeSet::new();
        for (at, &first) in points.iter().enumerate() {
            for &second in points[at + 1..].iter().filter(|second| second.0 != first.0) {
                if self.is_possible(first, second) {
                    pairs.insert((first, second));
                }
            }
        }
        pairs
    }

    /// Whether two values can stand beside each other: not below two choices of one key, nor below another choice than
    /// the one it is paired with.
    pub fn is_possible(&self, first: Point, second: Point) -> bool {
        self.chain(first).all(|one| self.chain(second).all(|other| one.0 != other.0 || one.1 == other.1))
    }

    /// A value, and the choice that it is a parameter of.
    pub fn chain(&self, point: Point) -> impl Iterator<Item = Point> {
        std::iter::once(point).chain(self.dimensions[point.0].under)
    }

    /// True if a value is that of a parameter.
    pub fn is_below(&self, point: Point) -> bool {
        self.dimensions[point.0].under.is_some()
    }

    /// Gives a dimension a value, and the keys above it theirs.
    pub fn assign(&self, assignment: &mut Assignment, (dimension, value): Point) {
        if let Some(above) = self.dimensions[dimension].under {
            self.assign(assignment, above);
        }
        assignment[dimension] = Some(value);
    }

    /// Takes out keys that do not exist under what was chosen, and draws those that have come to exist.
    pub fn settle(&self, assignment: &mut Assignment, r: &mut Chance) {
        for (at, dimension) in self.dimensions.iter().enumerate() {
            let Some((above, value)) = dimension.under else { continue };
            if assignment[above] != Some(value) {
                assignment[at] = None;
            } else if assignment[at].is_none() {
                assignment[at] = Some(r.below(dimension.values.len() as u64) as usize);
            }
        }
    }

    /// The pairs of a configuration.
    pub fn pairs_of(&self, assignment: &Assignment) -> Vec<Pair> {
        let points: Vec<Point> =
            assignment.iter().enumerate().filter_map(|(at, value)| value.map(|value| (at, value))).collect();
        let mut pairs = Vec::new();
        for (at, &first) in points.iter().enumerate() {
            pairs.extend(points[at + 1..].iter().map(|&second| (first, second)));
        }
        pairs
    }

    pub fn value(&self, assignment: &Assignment, key: &str) -> &str {
        let at = self.dimensions.iter().position(|dimension| dimension.key == key).expect("a key");
        &self.dimensions[at].values[assignment[at].expect("a key that always exists")]
    }

    pub fn name(&self, (dimension, value): Point) -> String {
        let Dimension { key, values, .. } = &self.dimensions[dimension];
        format!("{key}={}", values[value])
    }
}

/// The values of a parameter that has two or a few; otherwise none, and it is drawn.
pub fn words(param: &Param) -> Vec<String> {
    match param.kind {
        ParamKind::Word(words) => words.iter().map(|word| word.to_string()).collect(),
        ParamKind::Flag { .. } => vec!["false".into(), "true".into()],
        _ => Vec::new(),
    }
}

/// A configuration as a user would write it, with a trace of its own or none.
pub struct Case {
    pub keys: Value,
    /// Seed and rows of the trace.
    pub trace: Option<(u64, u64)>,
}

impl Case {
    /// The line that repeats it.
    pub fn replay_line(&self) -> String {
        let case = json!({ "keys": self.keys, "trace": self.trace });
        format!("FTLAB_REPLAY='{case}' cargo test -p ftlab-device --test all pairwise::replay -- --nocapture")
    }
}

/// Why a configuration is refused: the key that it is laid on, if it is, and the text.
pub struct Refused {
    pub key: String,
    pub text: String,
}

/// Reads a configuration.
pub fn read(keys: &Value) -> Result<Config, Refused> {
    let object = keys.as_object().expect("a tree of keys").clone();
    let base = config::Base::Object { name: "case".into(), object };
    let loaded = config::load(&base, &[], None, &device::registry()).map_err(|problems| Refused {
        key: String::new(),
        text: first_line(&problems.to_string()).trim_start_matches("error: ").to_string(),
    })?;
    match device::check(&loaded.config) {
        Ok(()) => Ok(loaded.config),
        Err(refusal) => {
            Err(Refused { key: refusal.key.into(), text: format!("{} ({})", refusal.message, refusal.help) })
        }
    }
}

pub fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

/// Numbers of a case that are drawn, besides its pairs.
pub struct Numbers {
    pub shape: [u32; 3],
    pub blocks: u32,
    pub pages: u32,
    pub page_size: u32,
    /// Bytes of a page of the FTL where nothing is in step: a flash page, or a map unit.
    pub unit: u32,
    pub free_blocks: u32,
    pub low: u32,
}

impl Numbers {
    pub fn draw(r: &mut Chance, roomier: u32) -> Numbers {
        Numbers {
            shape: [1 + r.below_u32(3), 1, 1 + r.below_u32(2)],
            blocks: 8 + r.below_u32(8) + roomier,
            pages: 0,
            page_size: *pick(r, &[512, 512, 4096]),
            unit: 0,
            free_blocks: 1 + r.below_u32(4),
            low: r.below_u32(3),
        }
    }
}

/// The value of a parameter that is a number.
pub fn number(param: &Param, numbers: &Numbers, domains: u32, page: u64, r: &mut Chance) -> ParamValue {
    match param.kind {
        ParamKind::Integer { min, max, .. } => integer(param.name, min, numbers, r).clamp(min, max).into(),
        ParamKind::Number { .. } if ["monitor", "shadow", "low_density", "pool"].contains(&param.name) => {
            // Of a few blocks a small share is none.
            (*pick(r, &[0.15, 0.3, 0.5])).into()
        }
        ParamKind::Number { default, min, max } => (*pick(r, &[min, default, max.min(100.0)])).into(),
        ParamKind::Size { min, max, .. } => {
            let drawn = match param.name {
                "cache" => {
                    let most = *pick(r, &[2, 20, 200]);
                    u64::from(domains * (2 + r.below_u32(most)) * 8)
                }
                "size" => {
                    let most = *pick(r, &[1, 3, 16]);
                    page * (1 + r.below(most))
                }
                // Each leaves a block of every plane.
                "update_after" => page * *pick(r, &[0, 40, 200]),
                _ => min + r.below(4),
            };
            ParamValue::Size(drawn.clamp(min, max))
        }
        ParamKind::Time { default, min, max } => {
            (*pick(r, &[min, base::Duration(50_000), default])).clamp(min, max).into()
        }
        ParamKind::Word(_) | ParamKind::Flag { .. } => unreachable!("words are no numbers"),
    }
}

/// The value of a parameter that is a whole number.
pub fn integer(name: &str, min: u32, numbers: &Numbers, r: &mut Chance) -> u32 {
    match name {
        "free_blocks" => numbers.free_blocks,
        "low" => numbers.low,
        // Beside those of a map in flash.
        "high" => numbers.free_blocks + numbers.low + 1 + r.below_u32(8),
        "regions" => 2 + r.below_u32(numbers.free_blocks.max(2) - 1),
        "spare_blocks" => *pick(r, &[1, 2, 3, 4, 200, 200, 200]),
        _ => min + r.below_u32(4),
    }
}

/// The configuration of an assignment, at the largest user space that it can have, or below.
pub fn build(space: &Space, assignment: &Assignment, roomier: u32, r: &mut Chance) -> Result<(Case, Config), Refused> {
    let value = |key: &str| space.value(assignment, key);
    let mut numbers = Numbers::draw(r, roomier);
    let bits = match value("cell") {
        "slc" => 1,
        "mlc" => 2,
        "tlc" => 3,
        _ => 4,
    };
    numbers.pages = bits * (1 + r.below_u32(5));
    let parts = match value("map_unit") {
        "page" => 1,
        "half" => 2,
        "quarter" => 4,
        _ => 8,
    };
    (numbers.page_size, numbers.unit) =
        (numbers.page_size.max(512 * parts), numbers.page_size.max(512 * parts) / parts);
    let planes: u32 = value("planes_per_die").parse().expect("a number");
    let domains = numbers.shape.iter().product::<u32>() * planes;
    let mut device = json!({
        "channels": numbers.shape[0], "chips_per_channel": numbers.shape[1], "dies_per_chip": numbers.shape[2],
        "planes_per_die": planes, "blocks_per_plane": numbers.blocks, "pages_per_block": numbers.pages,
        "page_size": numbers.page_size, "cell": value("cell"), "program_order": value("program_order"),
        "multiplane": value("multiplane"),
        "timing": {
            "read": format!("{}ns", 1000 + r.below(100_000)), "program": format!("{}ns", 10_000 + r.below(2_000_000)),
            "erase": format!("{}ns", 1 + r.below(5_000_000)), "ecc_latency": format!("{}ns", r.below(2) * 20_000),
        },
    });
    for &FeatureKey { key, choices, .. } in device::features() {
        let name = value(&format!("device.{key}"));
        let choice = choices.iter().find(|choice| choice.name == name).expect("a choice");
        let dies = numbers.shape.iter().product();
        let number = |param: &Param| (param.name, of_feature(param, numbers.unit, dies, r));
        let params = choice.params.iter().map(number);
        let params = params.map(|(name, value)| (name.to_string(), config::parameter(value)));
        device[key] = json!({ choice.name: Value::Object(params.collect()) });
    }
    let lanes = match space.value(assignment, "reclaim_unit") {
        "superblock" => {
            let over = value("reclaim_unit.superblock.over");
            let (channels, of_die) = (over.starts_with("channels"), over.ends_with("planes"));
            (if channels { numbers.shape[0] } else { 1 }) * (if of_die { planes } else { 1 })
        }
        _ => 1,
    };
    let page = u64::from(numbers.page_size * lanes);
    let mut ftl = Map::new();
    if parts > 1 {
        let unit = config::print_size(u64::from(numbers.unit * lanes));
        ftl.insert("map_unit".into(), json!({ unit: { "pad_after": *pick(r, &["1us", "50us", "1ms"]) } }));
    }
    for seam in seams() {
        let choice = seam.find(value(seam.key)).expect("a choice");
        ftl.insert(
            seam.key.into(),
            json!({ choice.name: params(space, assignment, seam.key, choice, |param| {
                number(param, &numbers, domains, page, r)
            })}),
        );
    }
    // A closed loop with time refuses what it would not look at.
    let is_closed = value("replay") != "open" && value("executor") == "timed";
    let mut keys = json!({
        "device": device.clone(),
        "ftl": ftl.clone(),
        "host": host(value("replay"), value("link") == "on", r),
        "workload": { "generator": "uniform", "requests": 1, "request_size": "512B",
            "interval": if is_closed { "0ns" } else { "10ms" } },
        "run": { "executor": value("executor"), "seed": r.below(1 << 32), "checks": "full", "payload": "stamp" },
    });
    if keys["ftl"]["migration"].get("copyback").is_some() {
        // Blocks that do not mind any number of copybacks: nothing limits them.
        let any = json!([1000]);
        device["wear"] = json!({
            "copyback_bands": [1_000_000], "copyback_best": any, "copyback_median": any, "copyback_worst": any,
        });
        keys["device"] = device.clone();
    }
    if keys["ftl"]["read_disturb"].get("ignore").is_none() {
        // Hardly more reads than a refresh takes itself, and room for blocks of every state.
        let is_twin = value("reclaim_unit") == "twin";
        let backups = numbers.pages * (bits - 1) * 2 * if is_twin { planes } else { 1 };
        let backups = if ftl::paired::keeps_track(value("paired_page")) { backups } else { 0 };
        let full = 2 * numbers.pages + 40 + backups + r.below_u32(60);
        device["wear"]["read_limit"] = json!([full, 3 * full]);
        device["blocks_per_plane"] = json!(numbers.blocks + 12);
        keys["device"] = device.clone();
    }
    // The limit does not depend on the write buffer, which has to fit the user space.
    device["user_capacity"] = json!(format!("{page}B"));
    keys["device"] = device.clone();
    keys["ftl"]["write_buffer"] = json!("none");
    if let Some(selector) = keys["ftl"]["migration"].pointer_mut("/rcpb/selector") {
        *selector = json!(false);
    }
    let mut beyond = read(&keys)?;
    let limit = device::largest_user_capacity(&beyond) / page * page;
    beyond.device.user_capacity = limit + page;
    assert!(device::check(&beyond).is_err(), "a page more than the limit is refused: {keys}");
    let share = if r.below(4) == 0 { 1 + r.below(limit / page) } else { limit / page };
    let capacity = share * page;
    keys["device"]["user_capacity"] = json!(format!("{capacity}B"));
    keys["ftl"] = Value::Object(ftl);
    let trace = (r.below(2) == 0).then(|| (r.below(1 << 32), if numbers.page_size < 4096 { 40 } else { 120 }));
    keys["workload"] = match trace {
        Some(_) => json!({ "trace": "(made of its seed)", "rounds": 2 }),
        None => generator_keys(capacity, page, r),
    };
    if is_closed && let Some(keys) = keys["workload"].as_object_mut() {
        keys.remove("interval");
    }
    let arbitration = value("arbitration");
    if arbitration != "one host" {
        let workload = keys.as_object_mut().expect("a tree of keys").remove("workload").expect("a workload");
        keys["tenant"] = tenants(&workload, arbitration, [capacity, page], is_closed, r);
        keys["host"]["arbitration"] = json!({ arbitration: { "burst": 1 + r.below(4) } });
        // One that goes on for as long as the others is to have requests that take time.
        keys["host"]["command_time"] = json!("8us");
    }
    keys["run"]["precondition"] = match r.below(4) {
        0 => json!("none"),
        1 => json!({ "random": "1x" }),
        _ => json!({ "sequential": "1x" }),
    };
    let config = read(&keys)?;
    Ok((Case { keys, trace }, config))
}

/// Two or three tenants in the place of a host: the first one has its requests, and the others some of their own. They have a namespace
/// each, or share all addresses.
fn tenants(workload: &Value, arbitration: &str, [capacity, page]: [u64; 2], is_closed: bool, r: &mut Chance) -> Value {
    let count = (2 + r.below(2)).min(capacity / page);
    let are_apart = r.below(4) > 0;
    let own = if are_apart { capacity / page / count * page } else { capacity };
    let one = |number| {
        let mut tenant = if number == 0 { workload.clone() } else { generator_keys(own, page, r) };
        let keys = tenant.as_object_mut().expect("a workload");
        keys.insert("name".into(), json!(format!("t{number}")));
        if is_closed {
            keys.remove("interval");
        }
        if are_apart {
            keys.insert("namespace".into(), json!(format!("{own}B")));
            if let Some(size) = keys.get("request_size").and_then(Value::as_str).and_then(|size| size.strip_suffix('B'))
            {
                let size = size.parse::<u64>().expect("bytes").min(own) / 512 * 512;
                keys.insert("request_size".into(), json!(format!("{size}B")));
            }
        }
        let goes_on = number > 0 && r.below(4) == 0;
        if goes_on {
            keys.remove("requests");
        }
        if arbitration == "weighted" {
            let is_urgent = !goes_on && r.below(4) == 0;
            keys.insert("weight".into(), json!(1 + r.below(9)));
            keys.insert("priority".into(), json!(if is_urgent { "urgent" } else { "weighted" }));
        }
        tenant
    };
    (0..count).map(one).collect()
}

/// How requests come, with what they take on their way.
fn host(replay: &str, has_link: bool, r: &mut Chance) -> Value {
    let mut host = json!({ "replay": replay, "queue_depth": pick(r, &[1, 2, 7, 32]) });
    if has_link {
        host["link"] = json!(pick(r, &["5MB/s", "500MB/s", "off"]));
        host["command_time"] = json!(pick(r, &["0ns", "8us"]));
        host["command_interval"] = json!(pick(r, &["1us", "100us"]));
    }
    host
}

/// The parameters of a choice, by name.
pub fn params(
    space: &Space,
    assignment: &Assignment,
    seam: &str,
    choice: &Choice,
    mut number: impl FnMut(&Param) -> ParamValue,
) -> Value {
    let mut params = Map::new();
    for param in choice.params {
        let word = || space.value(assignment, &format!("{seam}.{}.{}", choice.name, param.name));
        let value = match param.kind {
            ParamKind::Word(words) => words.iter().copied().find(|other| *other == word()).expect("a word").into(),
            ParamKind::Flag { .. } => (word() == "true").into(),
            _ => number(param),
        };
        params.insert(param.name.into(), config::parameter(value));
    }
    Value::Object(params)
}

/// A workload that overwrites the device a few times, or some hundred pages of it.
pub fn generator_keys(capacity: u64, page: u64, r: &mut Chance) -> Value {
    let pattern = pick(r, workload::GENERATORS).name;
    let most = capacity.min(8 * page);
    let size = (*pick(r, &[512, page, 3 * page / 2, 4 * page, 8 * page])).min(most) / 512 * 512;
    let pages = (2 * capacity / page).clamp(50, 600);
    let interval = *pick(r, &["0ns", "100us", "20ms"]);
    json!({
        "generator": pattern, "request_size": format!("{size}B"), "interval": interval,
        "requests": (pages * page).div_ceil(size.max(page)), "read_fraction": pick(r, &[0.0, 0.0, 0.3]),
    })
}

thread_local! {
    pub static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a case. An error is a fault of the engine.
pub fn attempt(case: &Case, config: &Config) -> Result<Value, String> {
    let mut config = config.clone();
    let file = case.trace.map(|(seed, rows)| {
        let path = temporary("csv");
        std::fs::write(&path, random_trace(seed, config.device.user_capacity, rows)).expect("a temporary file");
        path
    });
    if let Some(path) = &file {
        let of_first = match &mut config.workload.source {
            Source::Tenants(tenants) => &mut tenants[0].workload.source,
            source => source,
        };
        *of_first = Source::Trace { path: path.display().to_string() };
    }
    let (begin, stopwatch) = (Instant::now(), metrics::Stopwatch::start());
    // The processor's time is asked for when it may be over: that takes longer, and a busy machine is no fault.
    let mut watch =
        |_: &metrics::Progress| begin.elapsed().as_secs_f64() < DEADLINE || stopwatch.usage().cpu_s < DEADLINE;
    let mut options = device::Options { progress: Some(&mut watch), ..device::Options::default() };
    let result = catch_unwind(AssertUnwindSafe(|| device::simulate(&config, &mut options)));
    if let Some(path) = file {
        let _ = std::fs::remove_file(path);
    }
    match result {
        Ok(Ok(outcome)) => Ok(outcome.summary),
        Ok(Err(device::RunError::Stopped)) => Err(format!("no answer in {DEADLINE} s")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(LAST_PANIC.take()),
    }
}

/// Panics of cases are told with their line, not as they come.
pub fn remember_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload_as_str().unwrap_or("no message");
        LAST_PANIC.set(format!("{message} ({})", info.location().map(ToString::to_string).unwrap_or_default()));
        if std::env::var_os("FTLAB_REPLAY").is_some() {
            before(info);
        }
    }));
}

/// A reason without numbers, which differ from draw to draw.
pub fn without_numbers(refused: &Refused) -> String {
    let mut text = if refused.key.is_empty() { String::new() } else { format!("{}: ", refused.key) };
    for character in refused.text.chars() {
        match character {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' if !text.ends_with(char::is_alphabetic) => text.push('#'),
            _ => text.push(character),
        }
    }
    text
}

pub fn seconds(name: &str) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(0, |text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number of seconds")))
}
