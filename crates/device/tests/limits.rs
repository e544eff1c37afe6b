//! Does a device run at the very limit of what is accepted, and is one step beyond refused with a reason? Small random devices, with
//! stamped pages and full checks.
//!
//! Of each device every number is taken by turns: sizes of the device, the reads that a block takes, and the parameters of its
//! policies. It is moved up and down as far as it is accepted; there the device runs to its end, under both executors. What is one
//! step further is refused, and says why. What is accepted up to the end of its range runs there.
//!
//! `FTLAB_LIMITS_SECONDS=3600` goes on for so long, and `FTLAB_LIMITS_REPORT=FILE` writes down what was at its limit, how often and
//! why. A case that fails prints a line that repeats it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::common::cases::*;
use crate::common::*;
use base::ParamKind;
use config::Config;
use engine::Chance;
use serde_json::{Value, json};

/// Devices of the quick test.
const QUICK: u64 = 60;

/// Numbers of each device that are moved.
const NUMBERS: usize = 6;

/// Tries for a device that is not refused.
const TRIES: u32 = 300;

/// More than this is not run: it takes long, and shows nothing that less does not.
const MOST: i64 = 1 << 20;

/// A number of a configuration.
#[derive(Clone, Debug)]
struct Number {
    /// Where it stands, as a JSON pointer.
    at: String,
    now: i64,
    /// The least and the most that make sense to ask for.
    range: (i64, i64),
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Whole,
    /// In steps of so many bytes.
    Bytes(i64),
    /// In thousandths.
    Share,
}

impl Number {
    fn name(&self) -> String {
        self.at.trim_start_matches('/').replace('/', ".")
    }

    /// The configuration with another value of it.
    fn set(&self, keys: &Value, to: i64) -> Value {
        let mut keys = keys.clone();
        *keys.pointer_mut(&self.at).expect("a key that is there") = match self.kind {
            Kind::Whole => json!(to),
            Kind::Bytes(step) => json!(format!("{}B", to * step)),
            Kind::Share => json!(to as f64 / 1000.0),
        };
        keys
    }

    /// The last value that is accepted on the way from the present one to an end of its range, and why the next one is not; nothing
    /// where all are.
    fn limit(&self, keys: &Value, end: i64) -> (i64, Option<Refused>) {
        let refused = |value: i64| read(&self.set(keys, value)).err();
        let Some(mut why) = refused(end) else { return (end, None) };
        let (mut accepted, mut beyond) = (self.now, end);
        while (beyond - accepted).abs() > 1 {
            let middle = accepted + (beyond - accepted) / 2;
            match refused(middle) {
                Some(other) => (beyond, why) = (middle, other),
                None => accepted = middle,
            }
        }
        (accepted, Some(why))
    }
}

/// The numbers of a configuration.
fn numbers(keys: &Value, config: &Config) -> Vec<Number> {
    let mut numbers = Vec::new();
    let mut add = |at: String, range: (i64, i64), kind: Kind, now: i64| {
        numbers.push(Number { at, now, range, kind });
    };
    let page = page_size(config) as i64;
    for (key, most) in [("blocks_per_plane", 4000), ("pages_per_block", 400), ("planes_per_die", 16), ("channels", 16)]
    {
        let at = format!("/device/{key}");
        let now = keys.pointer(&at).and_then(Value::as_i64).expect("a number");
        add(at, (0, most), Kind::Whole, now);
    }
    let capacity = config.device.user_capacity as i64 / page;
    add("/device/user_capacity".into(), (0, 4 * capacity + 1), Kind::Bytes(page), capacity);
    if let Some([full, low]) = config.device.wear.read_limit {
        for (place, now) in [full, low].into_iter().enumerate() {
            add(format!("/device/wear/read_limit/{place}"), (0, i64::from(now)), Kind::Whole, now.into());
        }
    }
    if let Some(depth) = config.host.queue_depth {
        add("/host/queue_depth".into(), (0, MOST), Kind::Whole, depth.into());
    }
    for seam in device::seams() {
        let chosen = config.ftl.get(seam.key);
        for (param, (_, value)) in chosen.choice.params.iter().zip(&chosen.params) {
            let at = format!("/ftl/{}/{}/{}", seam.key, chosen.name, param.name);
            if keys.pointer(&at).is_none() {
                continue;
            }
            match (param.kind, *value) {
                (ParamKind::Integer { min, max, .. }, base::ParamValue::Integer(now)) => {
                    add(at, (i64::from(min) - 1, i64::from(max) + 1), Kind::Whole, now.into());
                }
                (ParamKind::Number { min, max, .. }, base::ParamValue::Number(now)) if max <= 1.0 => {
                    let thousandths = |share: f64| (share * 1000.0) as i64;
                    add(at, (thousandths(min) - 1, thousandths(max) + 1), Kind::Share, thousandths(now));
                }
                (ParamKind::Size { .. }, base::ParamValue::Size(now)) => {
                    let step = if param.name == "size" { page } else { 8 };
                    let now = now as i64 / step;
                    add(at, (0, 64 * now + 1), Kind::Bytes(step), now);
                }
                _ => {}
            }
        }
    }
    numbers
}

/// A random device that is accepted: most keys at their first value, and a few that are drawn, so that the numbers of many policies
/// are met beside each other.
fn draw(space: &Space, seed: u64) -> Option<Case> {
    for attempt in 0..TRIES {
        let mut random = Chance::new(seed << 16 | u64::from(attempt), "limits");
        let r = &mut random;
        let share = 2 + r.below(5);
        let mut assignment: Assignment = vec![None; space.dimensions.len()];
        for at in 0..assignment.len() {
            if space.dimensions[at].under.is_none() {
                let values = space.dimensions[at].values.len() as u64;
                let value = if r.below(share) == 0 { r.below(values) } else { 0 };
                space.assign(&mut assignment, (at, value as usize));
            }
        }
        // Every third one is read often; of these, half have lower pages that are backed up.
        if seed.is_multiple_of(3) {
            space.draw_of(&mut assignment, "read_disturb", r);
            if r.below(2) == 0 {
                space.draw_of(&mut assignment, "paired_page", r);
                space.draw_of(&mut assignment, "cell", r);
                space.draw_of(&mut assignment, "reclaim_unit", r);
            }
        }
        space.settle(&mut assignment, r);
        if let Ok((case, _)) = build(space, &assignment, attempt / 20, r) {
            return Some(case);
        }
    }
    None
}

impl Space {
    /// Gives a key any value but the first.
    fn draw_of(&self, assignment: &mut Assignment, key: &str, r: &mut Chance) {
        let at = self.dimensions.iter().position(|dimension| dimension.key == key).expect("a key");
        let values = self.dimensions[at].values.len() as u64;
        self.assign(assignment, (at, 1 + r.below(values - 1) as usize));
    }
}

/// Counts of the runs at the limits.
#[derive(Default)]
struct Tally {
    devices: u64,
    runs: u64,
    /// By number and why it goes no further: how often.
    limits: BTreeMap<(String, String), u64>,
    /// By what went wrong: the first line that repeats it, and how often.
    failures: BTreeMap<String, (String, u64)>,
}

impl Tally {
    fn fail(&mut self, problem: String, case: &Case) {
        eprintln!("{problem}\n{}", case.replay_line());
        self.failures.entry(problem).or_insert_with(|| (case.replay_line(), 0)).1 += 1;
    }
}

/// Moves numbers of a device to their limits, and runs it there.
fn try_limits(seed: u64, space: &Space, tally: &Mutex<Tally>) {
    let Some(case) = draw(space, seed) else { return };
    let Ok(config) = read(&case.keys) else { unreachable!("it was accepted") };
    tally.lock().expect("no panic while held").devices += 1;
    let mut random = Chance::new(seed, "which numbers");
    let mut all = numbers(&case.keys, &config);
    for _ in 0..NUMBERS.min(all.len()) {
        let number = all.swap_remove(random.below(all.len() as u64) as usize);
        for end in [number.range.0, number.range.1] {
            let found = catch_unwind(AssertUnwindSafe(|| number.limit(&case.keys, end)));
            let Ok((limit, why)) = found else {
                let problem = format!("{} up to {end}: {}", number.name(), LAST_PANIC.take());
                tally.lock().expect("no panic while held").fail(problem, &case);
                continue;
            };
            let at_limit = Case { keys: number.set(&case.keys, limit), trace: case.trace };
            let reason = why.as_ref().map_or("nothing".into(), in_short);
            let mut tallied = tally.lock().expect("no panic while held");
            *tallied.limits.entry((number.name(), reason.clone())).or_default() += 1;
            if why.is_some_and(|why| why.text.len() < 10) {
                tallied.fail(format!("{} is refused without a reason", number.name()), &at_limit);
            }
            drop(tallied);
            if limit != number.now && limit < MOST {
                run_at(&number, &at_limit, &reason, tally);
            }
        }
    }
}

/// A reason without its hint, numbers and units, which differ from draw to draw.
fn in_short(why: &Refused) -> String {
    let text = without_numbers(why);
    let text = text.split(" (").next().expect("a text");
    ["#B", "#KiB", "#MiB", "#GiB"].iter().fold(text.to_string(), |text, size| text.replace(size, "#"))
}

/// Runs a device at a limit, under both executors where both take it.
fn run_at(number: &Number, case: &Case, reason: &str, tally: &Mutex<Tally>) {
    for executor in ["count", "timed"] {
        let mut keys = case.keys.clone();
        keys["run"]["executor"] = json!(executor);
        let Ok(config) = read(&keys) else { continue };
        if config.device.user_capacity > 1 << 23 {
            // Many times larger than it was; the limit is none of space.
            continue;
        }
        let case = Case { keys, trace: case.trace };
        let result = attempt(&case, &config);
        let mut tallied = tally.lock().expect("no panic while held");
        if matches!(&result, Err(problem) if problem.starts_with("the device comes to the end of its life while")) {
            // Its blocks fail as they may; no number of it is at fault.
            continue;
        }
        tallied.runs += 1;
        if let Err(problem) = result {
            tallied.fail(format!("{} at its limit ({reason}): {problem}", number.name()), &case);
        }
    }
}

fn report(tally: &Tally, seconds: u64) -> String {
    let mut text = format!(
        "# Devices at their limits\n\nOf {} random \
         devices numbers were moved as far as they are accepted, and the devices run there: {} runs to their end with stamped \
         pages and full checks, in {seconds} s. {} failed.\n\n| number | goes no further because | times |\n|---|---|---|\n",
        tally.devices,
        tally.runs,
        tally.failures.values().map(|(_, count)| count).sum::<u64>(),
    );
    for ((number, reason), count) in &tally.limits {
        writeln!(text, "| `{number}` | {} | {count} |", reason.replace('|', "\\|").replace('\n', " "))
            .expect("a string");
    }
    text
}

#[test]
fn devices_run_at_their_limits_and_are_refused_beyond_with_a_reason() {
    remember_panics();
    let (begin, space, tally) = (Instant::now(), Space::new(), Mutex::<Tally>::default());
    let long = Duration::from_secs(seconds("FTLAB_LIMITS_SECONDS"));
    let first = seconds("FTLAB_LIMITS_FIRST");
    let mut next = first;
    while next < first + QUICK || begin.elapsed() < long {
        let seeds: Vec<u64> = (next..next + QUICK).collect();
        on_all_processors(&seeds, |&seed| try_limits(seed, &space, &tally));
        next += QUICK;
    }
    let tally = tally.into_inner().expect("no panic while held");
    let report = report(&tally, begin.elapsed().as_secs());
    println!("{report}");
    if let Some(path) = std::env::var_os("FTLAB_LIMITS_REPORT") {
        std::fs::write(path, &report).expect("the report can be written");
    }
    for (problem, (line, count)) in &tally.failures {
        eprintln!("{count} times: {problem}\nreplay: {line}");
    }
    assert!(tally.failures.is_empty(), "{} kinds of failures", tally.failures.len());
    // Nothing that looks for limits and finds none.
    let met = |number: &str, reason: &str| {
        let mut limits = tally.limits.keys();
        assert!(limits.any(|(name, why)| name == number && why.contains(reason)), "no limit of {number} by {reason}");
    };
    met("device.user_capacity", "leaves too little spare space");
    met("device.blocks_per_plane", "");
    met("device.wear.read_limit.0", "times to refresh it");
    met("ftl.gc_schedule.threshold.free_blocks", "leaves too little spare space");
}
