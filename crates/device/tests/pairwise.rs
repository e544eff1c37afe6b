//! Does every pair of choices work, or is it refused with a reason? Small random devices at the largest user space that
//! is accepted, with stamped pages and full checks.
//!
//! Each value of each key of a policy, of the keys of the device that policies depend on, and of the executor, is
//! combined with each value of every other one. What else a case has is drawn so that it covers many pairs at once. A
//! pair whose every draw is refused, however the rest is changed, has to stand in `pairwise.txt` with the reason
//! (`UPDATE_PAIRWISE=1` writes that table anew; read what is new in it). So no pair goes missing in silence.
//!
//! `FTLAB_PAIRWISE_SECONDS=3600` goes on with new draws for so long, and `FTLAB_PAIRWISE_REPORT=FILE` writes down how
//! many there were. `FTLAB_PAIRWISE_OF="mapping=dftl with paired_page=gcmix, …"` draws these pairs only. A case that fails
//! prints a line that repeats it.

mod common;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use base::{Choice, Param, ParamKind, ParamValue};
use common::*;
use config::Config;
use engine::Chance;
use serde_json::{Map, Value, json};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pairwise.txt");

/// A case that takes more seconds of the processor has no answer.
const DEADLINE: f64 = 60.0;

/// Draws for a pair before it counts as refused, and changes of what was refused in each of them.
const WALKS: u32 = 24;
const STEPS: u32 = 40;

/// A key with a few values.
struct Dimension {
    key: String,
    values: Vec<String>,
    /// The dimension and the value of it under which this key exists.
    under: Option<(usize, usize)>,
}

/// All keys whose values are combined.
struct Space {
    dimensions: Vec<Dimension>,
}

/// By dimension the place of its value; `None` where the key does not exist.
type Assignment = Vec<Option<usize>>;

/// A value of a dimension.
type Point = (usize, usize);

/// Two values of two dimensions, the first of the earlier one.
type Pair = (Point, Point);

impl Space {
    fn new() -> Space {
        let mut space = Space { dimensions: Vec::new() };
        for seam in device::seams().into_iter().filter(|seam| seam.choices.len() > 1) {
            let parent = space.add(seam.key, seam.choices.iter().map(|choice| choice.name), None);
            for (place, choice) in seam.choices.iter().enumerate() {
                for param in choice.params {
                    let key = format!("{}.{}.{}", seam.key, choice.name, param.name);
                    space.add(&key, words(param).iter().map(String::as_str), Some((parent, place)));
                }
            }
        }
        space.add("cell", ["slc", "mlc", "tlc", "qlc"], None);
        space.add("program_order", ["consecutive", "shadow"], None);
        space.add("multiplane", ["off", "any", "pac", "bac"], None);
        space.add("planes_per_die", ["1", "2", "3", "4"], None);
        space.add("replay", ["open", "closed", "batch"], None);
        space.add("executor", ["timed", "count"], None);
        space
    }

    /// Adds a key, unless it has nothing to choose from.
    fn add<'a>(&mut self, key: &str, values: impl IntoIterator<Item = &'a str>, under: Option<Point>) -> usize {
        let values: Vec<String> = values.into_iter().map(str::to_string).collect();
        if values.len() > 1 {
            self.dimensions.push(Dimension { key: key.to_string(), values, under });
        }
        self.dimensions.len() - 1
    }

    /// Every pair of values that one configuration can have.
    fn pairs(&self) -> BTreeSet<Pair> {
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
    fn is_possible(&self, first: Point, second: Point) -> bool {
        self.chain(first).all(|one| self.chain(second).all(|other| one.0 != other.0 || one.1 == other.1))
    }

    /// A value, and the choice that it is a parameter of.
    fn chain(&self, point: Point) -> impl Iterator<Item = Point> {
        std::iter::once(point).chain(self.dimensions[point.0].under)
    }

    /// Whether a value is that of a parameter.
    fn is_below(&self, point: Point) -> bool {
        self.dimensions[point.0].under.is_some()
    }

    /// Gives a dimension a value, and the keys above it theirs.
    fn assign(&self, assignment: &mut Assignment, (dimension, value): Point) {
        if let Some(above) = self.dimensions[dimension].under {
            self.assign(assignment, above);
        }
        assignment[dimension] = Some(value);
    }

    /// Takes out keys that do not exist under what was chosen, and draws those that have come to exist.
    fn settle(&self, assignment: &mut Assignment, r: &mut Chance) {
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
    fn pairs_of(&self, assignment: &Assignment) -> Vec<Pair> {
        let points: Vec<Point> =
            assignment.iter().enumerate().filter_map(|(at, value)| value.map(|value| (at, value))).collect();
        let mut pairs = Vec::new();
        for (at, &first) in points.iter().enumerate() {
            pairs.extend(points[at + 1..].iter().map(|&second| (first, second)));
        }
        pairs
    }

    fn value(&self, assignment: &Assignment, key: &str) -> &str {
        let at = self.dimensions.iter().position(|dimension| dimension.key == key).expect("a key");
        &self.dimensions[at].values[assignment[at].expect("a key that always exists")]
    }

    fn name(&self, (dimension, value): Point) -> String {
        let Dimension { key, values, .. } = &self.dimensions[dimension];
        format!("{key}={}", values[value])
    }
}

/// The values of a parameter that has two or a few; otherwise none, and it is drawn.
fn words(param: &Param) -> Vec<String> {
    match param.kind {
        ParamKind::Word(words) => words.iter().map(|word| word.to_string()).collect(),
        ParamKind::Flag { .. } => vec!["false".into(), "true".into()],
        _ => Vec::new(),
    }
}

/// A configuration as a user would write it, with a trace of its own or none.
struct Case {
    keys: Value,
    /// Seed and rows of the trace.
    trace: Option<(u64, u64)>,
}

impl Case {
    fn replay_line(&self) -> String {
        let case = json!({ "keys": self.keys, "trace": self.trace });
        format!("FTLAB_REPLAY='{case}' cargo test -p ftlab-device --test pairwise replay -- --nocapture")
    }
}

/// Why a configuration is refused: the key that it is laid on, if it is, and the text.
struct Refused {
    key: String,
    text: String,
}

/// Reads a configuration.
fn read(keys: &Value) -> Result<Config, Refused> {
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

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_string()
}

/// Numbers of a case that are drawn, besides its pairs.
struct Numbers {
    shape: [u32; 3],
    blocks: u32,
    pages: u32,
    page_size: u32,
    free_blocks: u32,
    low: u32,
}

impl Numbers {
    fn draw(r: &mut Chance, roomier: u32) -> Numbers {
        Numbers {
            shape: [1 + r.below_u32(3), 1, 1 + r.below_u32(2)],
            blocks: 8 + r.below_u32(8) + roomier,
            pages: 0,
            page_size: *pick(r, &[512, 512, 4096]),
            free_blocks: 1 + r.below_u32(4),
            low: r.below_u32(3),
        }
    }
}

/// The value of a parameter that is a number.
fn number(param: &Param, numbers: &Numbers, domains: u32, page: u64, r: &mut Chance) -> ParamValue {
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
fn integer(name: &str, min: u32, numbers: &Numbers, r: &mut Chance) -> u32 {
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
fn build(space: &Space, assignment: &Assignment, roomier: u32, r: &mut Chance) -> Result<(Case, Config), Refused> {
    let value = |key: &str| space.value(assignment, key);
    let mut numbers = Numbers::draw(r, roomier);
    let bits = match value("cell") {
        "slc" => 1,
        "mlc" => 2,
        "tlc" => 3,
        _ => 4,
    };
    numbers.pages = bits * (1 + r.below_u32(5));
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
    for seam in device::seams().into_iter().filter(|seam| seam.choices.len() > 1) {
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
        "host": { "replay": value("replay"), "queue_depth": pick(r, &[1, 2, 7, 32]) },
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
        let full = 2 * numbers.pages + 40 + r.below_u32(60);
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
    let limit = device::largest_user_capacity(&read(&keys)?);
    keys["device"]["user_capacity"] = json!(format!("{}B", limit + page));
    assert!(read(&keys).is_err(), "a page more than the limit is refused: {keys}");
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
    keys["run"]["precondition"] = match r.below(4) {
        0 => json!("none"),
        1 => json!({ "random": "1x" }),
        _ => json!({ "sequential": "1x" }),
    };
    let config = read(&keys)?;
    Ok((Case { keys, trace }, config))
}

/// The parameters of a choice, by name.
fn params(
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
fn generator_keys(capacity: u64, page: u64, r: &mut Chance) -> Value {
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
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a case. An error is a fault of the engine.
fn attempt(case: &Case, config: &Config) -> Result<Value, String> {
    let mut config = config.clone();
    let file = case.trace.map(|(seed, rows)| {
        let path = temporary("csv");
        std::fs::write(&path, random_trace(seed, config.device.user_capacity, rows)).expect("a temporary file");
        path
    });
    if let Some(path) = &file {
        config.workload.source = config::model::Source::Trace { path: path.display().to_string() };
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
fn remember_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload_as_str().unwrap_or("no message");
        LAST_PANIC.set(format!("{message} ({})", info.location().map(ToString::to_string).unwrap_or_default()));
        if std::env::var_os("FTLAB_REPLAY").is_some() {
            before(info);
        }
    }));
}

/// What the cases came to.
#[derive(Default)]
struct Tally {
    run: u64,
    /// Of them, at the largest user space.
    at_limit: u64,
    timed: u64,
    collections: u64,
    /// By what went wrong: the first line that repeats it, and how often.
    failures: BTreeMap<String, (String, u64)>,
    slowest: Duration,
}

impl Tally {
    /// Runs a case and takes note of it.
    fn take(tally: &Mutex<Tally>, case: &Case, config: &Config) {
        let begin = Instant::now();
        let result = attempt(case, config);
        let took = begin.elapsed();
        let mut tally = tally.lock().expect("no panic while held");
        tally.run += 1;
        tally.at_limit += u64::from(config.device.user_capacity == device::largest_user_capacity(config));
        tally.timed += u64::from(config.run.executor == config::model::Executor::Timed);
        if took > tally.slowest {
            tally.slowest = took;
            if std::env::var_os("FTLAB_PAIRWISE_SLOW").is_some() {
                eprintln!("{took:?}: {}", case.replay_line());
            }
        }
        match result {
            Ok(summary) => tally.collections += summary["gc"]["invocations"].as_u64().unwrap_or(0),
            Err(problem) => {
                eprintln!("{problem}\n{}", case.replay_line());
                tally.failures.entry(problem).or_insert_with(|| (case.replay_line(), 0)).1 += 1;
            }
        }
    }
}

struct Sweep {
    space: Space,
    /// To those who run them, while there are more.
    cases: Option<SyncSender<(Case, Config)>>,
    uncovered: BTreeSet<Pair>,
    /// By pair of which every draw was refused: by reason, how often.
    refused: BTreeMap<Pair, BTreeMap<String, u64>>,
    /// Pairs with a parameter whose choice is refused.
    implied: BTreeSet<Pair>,
    /// Draws that were refused.
    refused_draws: u64,
}

impl Sweep {
    fn new(cases: SyncSender<(Case, Config)>) -> Sweep {
        let space = Space::new();
        Sweep {
            uncovered: space.pairs(),
            space,
            cases: Some(cases),
            refused: BTreeMap::new(),
            implied: BTreeSet::new(),
            refused_draws: 0,
        }
    }

    /// Has a case with the pair run, whatever else it has; or notes why there is none.
    fn cover(&mut self, pair: Pair, seed: u64) {
        if self.is_refused(pair.0, pair.1) {
            self.uncovered.remove(&pair);
            self.implied.insert(pair);
            return;
        }
        let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
        for walk in 0..WALKS {
            let mut random = Chance::new(seed << 8 | u64::from(walk), "pairwise");
            let mut assignment = self.draw(pair, walk, &mut random);
            let mut roomier = 0;
            for _ in 0..STEPS {
                match build(&self.space, &assignment, roomier, &mut random) {
                    Ok(case) => return self.take(&assignment, case),
                    Err(refused) => {
                        self.refused_draws += 1;
                        roomier += 1;
                        self.change(&mut assignment, pair, &refused, &mut random);
                        *reasons.entry(without_numbers(&refused)).or_default() += 1;
                    }
                }
            }
        }
        self.uncovered.remove(&pair);
        self.refused.insert(pair, reasons);
    }

    /// Whether two values are known to be refused, by themselves or by the choices that they are parameters of.
    fn is_refused(&self, first: Point, second: Point) -> bool {
        let pair = |one: Point, other: Point| (one.min(other), one.max(other));
        let ahead = |one| self.space.chain(second).any(|other| self.refused.contains_key(&pair(one, other)));
        self.space.chain(first).any(ahead)
    }

    /// Values around a pair: at first those that cover most, later any; none that are known to be refused with the pair.
    fn draw(&self, pair: Pair, walk: u32, r: &mut Chance) -> Assignment {
        let mut assignment = vec![None; self.space.dimensions.len()];
        self.space.assign(&mut assignment, pair.0);
        self.space.assign(&mut assignment, pair.1);
        for at in 0..assignment.len() {
            let Dimension { values, under, .. } = &self.space.dimensions[at];
            if assignment[at].is_some() || under.is_some_and(|(above, value)| assignment[above] != Some(value)) {
                continue;
            }
            let allowed = self.allowed(&assignment, at, values.len());
            let candidates: Vec<usize> = (0..if walk == 0 { 6 } else { 1 }).map(|_| *pick(r, &allowed)).collect();
            let new = |value: usize| {
                let point = (at, value);
                let others = assignment.iter().enumerate().filter_map(|(at, value)| value.map(|value| (at, value)));
                others.filter(|&other| self.uncovered.contains(&(other.min(point), other.max(point)))).count()
            };
            assignment[at] = candidates.into_iter().max_by_key(|&value| new(value));
        }
        assignment
    }

    /// The values of a dimension that none of the others is known to refuse; all, if there is none.
    fn allowed(&self, assignment: &Assignment, at: usize, values: usize) -> Vec<usize> {
        let others: Vec<Point> = assignment
            .iter()
            .enumerate()
            .filter_map(|(other, value)| value.filter(|_| other != at).map(|value| (other, value)))
            .collect();
        let fits = |&value: &usize| others.iter().all(|&other| !self.is_refused((at, value), other));
        let allowed: Vec<usize> = (0..values).filter(fits).collect();
        if allowed.is_empty() { (0..values).collect() } else { allowed }
    }

    /// Changes something that a refusal speaks of, but not the pair.
    fn change(&self, assignment: &mut Assignment, pair: Pair, refused: &Refused, r: &mut Chance) {
        let mut fixed = vec![None; assignment.len()];
        self.space.assign(&mut fixed, pair.0);
        self.space.assign(&mut fixed, pair.1);
        let free: Vec<usize> =
            (0..assignment.len()).filter(|&at| assignment[at].is_some() && fixed[at].is_none()).collect();
        let speaks_of = |at: usize| {
            let value = assignment[at].expect("a value");
            refused.key.ends_with(&self.space.dimensions[at].key) || self.speaks_of(&refused.text, (at, value))
        };
        let mut spoken: Vec<usize> = free.iter().copied().filter(|&at| speaks_of(at)).collect();
        if spoken.is_empty() || r.below(8) == 0 {
            spoken = free;
        }
        let Some(&at) = spoken.get(r.below(spoken.len().max(1) as u64) as usize) else { return };
        let allowed = self.allowed(assignment, at, self.space.dimensions[at].values.len());
        assignment[at] = Some(if r.below(3) == 0 { allowed[0] } else { *pick(r, &allowed) });
        self.space.settle(assignment, r);
    }

    /// Has a case run.
    fn take(&mut self, assignment: &Assignment, case: (Case, Config)) {
        let cases = self.cases.as_ref().expect("the sweep goes on");
        cases.send(case).expect("somebody runs cases");
        for pair in self.space.pairs_of(assignment) {
            self.uncovered.remove(&pair);
        }
    }

    /// Pairs that are refused, by reason.
    fn table(&self) -> String {
        let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (&pair, reasons) in &self.refused {
            let names = format!("{} with {}", self.space.name(pair.0), self.space.name(pair.1));
            by_reason.entry(self.reason(pair, reasons)).or_default().push(names);
        }
        let mut text = String::from("Pairs of values that no device can have, by the reason that is given.\n");
        for (reason, pairs) in by_reason {
            write!(text, "\n{reason}\n").expect("a string");
            for pair in pairs {
                writeln!(text, "    {pair}").expect("a string");
            }
        }
        text
    }

    /// Of the reasons that were given for draws with a pair, the one that speaks of both values, or the most frequent.
    fn reason(&self, pair: Pair, reasons: &BTreeMap<String, u64>) -> String {
        let points = [pair.0, pair.1];
        let spoken = |reason: &str| points.iter().filter(|&&point| self.speaks_of(reason, point)).count();
        let (reason, _) =
            reasons.iter().max_by_key(|&(reason, count)| (spoken(reason), count, reason)).expect("a reason");
        points.iter().fold(reason.clone(), |reason, &(dimension, value)| {
            reason.replace(&format!("`{}`", self.space.dimensions[dimension].values[value]), "`…`")
        })
    }

    /// Whether a text speaks of a key or its value.
    fn speaks_of(&self, text: &str, (dimension, value): Point) -> bool {
        let Dimension { key, values, .. } = &self.space.dimensions[dimension];
        let name = key.rsplit('.').next().expect("a name");
        text.contains(name) || text.contains(&format!("`{}`", values[value]))
    }

    fn report(&self, tally: &Tally, seconds: u64) -> String {
        let all = self.space.pairs().len();
        let none = self.refused.len() + self.implied.len();
        let refused = self.refused_draws;
        let Tally { run, at_limit, timed, collections, failures, slowest } = tally;
        format!(
            "# Every pair of choices\n\n\
             {run} random devices were run to their end with stamped pages and full checks, {at_limit} of them at the \
             largest user space that is accepted, {timed} under `timed`, the others under `count`; {collections} \
             collections, each followed by the check of the whole state. It took {seconds} s; the slowest took {:.1} s.\n\n\
             Of {all} pairs of values of policy keys, {} are refused in every draw (`crates/device/tests/pairwise.txt` has \
             the reasons), {} ran at least once, {} are missing. {refused} draws were refused on the way. {} cases failed.\n",
            slowest.as_secs_f64(),
            none,
            all - none - self.uncovered.len(),
            self.uncovered.len(),
            failures.values().map(|(_, count)| count).sum::<u64>(),
        )
    }
}

/// A reason without numbers, which differ from draw to draw.
fn without_numbers(refused: &Refused) -> String {
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

fn seconds(name: &str) -> u64 {
    std::env::var(name)
        .ok()
        .map_or(0, |text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number of seconds")))
}

#[test]
fn every_pair_of_choices_runs_or_is_refused_with_a_reason() {
    remember_panics();
    let begin = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let tally = Mutex::default();
    let (cases, waiting) = sync_channel(4 * threads);
    let waiting = Mutex::new(waiting);
    let run_cases = || {
        // The lock is held until there is a case, not while it runs.
        let next = || waiting.lock().expect("no panic while held").recv();
        while let Ok((case, config)) = next() {
            Tally::take(&tally, &case, &config);
        }
    };
    let sweep = std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(run_cases)));
        swept(Sweep::new(cases), begin)
    });
    let tally = tally.into_inner().expect("no panic while held");
    let report = sweep.report(&tally, begin.elapsed().as_secs());
    println!("{report}");
    if let Some(path) = std::env::var_os("FTLAB_PAIRWISE_REPORT") {
        std::fs::write(path, &report).expect("the report can be written");
    }
    for (problem, (line, count)) in &tally.failures {
        eprintln!("{count} times: {problem}\nreplay: {line}");
    }
    assert!(tally.failures.is_empty(), "{} kinds of failures", tally.failures.len());
    let table = sweep.table();
    if std::env::var_os("UPDATE_PAIRWISE").is_some() {
        std::fs::write(TABLE, &table).expect("the table can be written");
    }
    let known = std::fs::read_to_string(TABLE).expect("the table lies beside the test").replace("\r\n", "\n");
    assert!(
        table == known,
        "other pairs are refused, or for other reasons, than in {TABLE}:\n{}",
        differences(&known, &table)
    );
}

/// What came of drawing cases for every pair, and then for pairs that run until the time is over.
fn swept(mut sweep: Sweep, begin: Instant) -> Sweep {
    let mut seed = 0;
    // What is known of choices helps to draw their parameters.
    let space = Space::new();
    let of_choices = |pair: &Pair| !space.is_below(pair.0) && !space.is_below(pair.1);
    while let Some(pair) =
        nth(sweep.uncovered.iter().filter(|pair| of_choices(pair)), seed).or_else(|| nth(sweep.uncovered.iter(), seed))
    {
        sweep.cover(pair, seed);
        seed += 1;
    }
    let long = Duration::from_secs(seconds("FTLAB_PAIRWISE_SECONDS"));
    let runs = |pair: &Pair| !sweep.refused.contains_key(pair) && !sweep.implied.contains(pair);
    let of = std::env::var("FTLAB_PAIRWISE_OF").unwrap_or_default();
    let is_asked_for = |pair: &Pair| {
        let name = format!("{} with {}", sweep.space.name(pair.0), sweep.space.name(pair.1));
        of.is_empty() || of.split(", ").any(|asked| asked == name)
    };
    let pairs: BTreeSet<Pair> =
        sweep.space.pairs().into_iter().filter(|pair| runs(pair) && is_asked_for(pair)).collect();
    while begin.elapsed() < long {
        sweep.cover(nth(pairs.iter(), seed).expect("pairs that run"), seed);
        seed += 1;
    }
    sweep.cases = None;
    sweep
}

/// One of the pairs, not always of the first keys.
fn nth<'a>(mut pairs: impl Iterator<Item = &'a Pair> + Clone, seed: u64) -> Option<Pair> {
    let place = Chance::new(seed, "pair").below(pairs.clone().count().max(1) as u64);
    pairs.nth(place as usize).copied()
}

/// Lines of only one of two texts.
fn differences(old: &str, new: &str) -> String {
    let (old, new): (BTreeSet<&str>, BTreeSet<&str>) = (old.lines().collect(), new.lines().collect());
    let lost = old.difference(&new).map(|line| format!("- {line}\n"));
    lost.chain(new.difference(&old).map(|line| format!("+ {line}\n"))).collect()
}

/// Repeats the case that a failure printed.
#[test]
fn replay() {
    let Ok(text) = std::env::var("FTLAB_REPLAY") else { return };
    remember_panics();
    let case: Value = serde_json::from_str(&text).expect("a replay line");
    let trace = case["trace"].as_array().map(|trace| (trace[0].as_u64().unwrap(), trace[1].as_u64().unwrap()));
    let case = Case { keys: case["keys"].clone(), trace };
    let config = read(&case.keys).unwrap_or_else(|refused| panic!("{}", refused.text));
    match attempt(&case, &config) {
        Ok(summary) => println!("{}", summary["gc"]),
        Err(problem) => panic!("{problem}"),
    }
}
