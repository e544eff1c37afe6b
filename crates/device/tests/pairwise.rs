//! Does every pair of choices work, or is it refused with a reason? Small random devices at the largest user space that
//! is accepted, with stamped pages and full checks.
//!
//! Each value of each key of a policy, of each feature of the chip, of the other keys of the device that policies depend
//! on, and of the executor, is combined with each value of every other one. What else a case has is drawn so that it
//! covers many pairs at once. A pair whose every draw is refused, however the rest is changed, has to stand in
//! `pairwise.txt` with the reason (`UPDATE_PAIRWISE=1` writes that table anew; read what is new in it). So no pair goes
//! missing in silence. Those that stand there are drawn a few times, and otherwise many times.
//!
//! `FTLAB_PAIRWISE_SECONDS=3600` goes on with new draws for so long, and `FTLAB_PAIRWISE_REPORT=FILE` writes down how
//! many there were. `FTLAB_PAIRWISE_OF="mapping=dftl with paired_page=gcmix, …"` draws these pairs only. A case that fails
//! prints a line that repeats it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use crate::common::cases::*;
use crate::common::*;
use config::Config;
use engine::Chance;
use serde_json::Value;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pairwise.txt");

/// Draws for a pair before it counts as refused, and changes of what was refused in each of them.
const WALKS: u32 = 24;
const STEPS: u32 = 40;

/// Of a pair that the table has, if its reason is among theirs; one outside `make evidence`.
const WALKS_OF_KNOWN: u32 = 4;

/// What the cases came to.
#[derive(Default)]
struct Tally {
    run: u64,
    /// Of them, at the largest user space.
    at_limit: u64,
    timed: u64,
    collections: u64,
    /// That came to the end of their lives before their run began.
    ended: u64,
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
            // A device whose blocks live for a cycle need not outlive its ageing.
            Err(problem) if problem.starts_with("the device comes to the end of its life while") => tally.ended += 1,
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
    /// Draws that were refused, and cases that were not.
    refused_draws: u64,
    accepted: u64,
    /// By the names of a pair that the table has, the reason; none if every pair is to be drawn as often.
    known: BTreeMap<String, String>,
}

impl Sweep {
    fn new(cases: SyncSender<(Case, Config)>) -> Sweep {
        let draws_all =
            ["UPDATE_PAIRWISE", "FTLAB_PAIRWISE_SECONDS"].iter().any(|name| std::env::var_os(name).is_some());
        let space = Space::new();
        Sweep {
            uncovered: space.pairs(),
            space,
            cases: Some(cases),
            refused: BTreeMap::new(),
            implied: BTreeSet::new(),
            refused_draws: 0,
            accepted: 0,
            known: if draws_all { BTreeMap::new() } else { reasons_of(&known_table()) },
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
        let walks_of_known = if is_long() { WALKS_OF_KNOWN } else { 1 };
        for walk in 0..WALKS {
            if walk >= walks_of_known && self.known_reason(pair, &reasons).is_some() {
                break;
            }
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

    /// Has a case run; outside `make evidence` one of fifteen, and the others are accepted alone.
    fn take(&mut self, assignment: &Assignment, case: (Case, Config)) {
        let cases = self.cases.as_ref().expect("the sweep goes on");
        self.accepted += 1;
        if is_long() || self.known.is_empty() || self.accepted.is_multiple_of(15) {
            cases.send(case).expect("somebody runs cases");
        }
        for pair in self.space.pairs_of(assignment) {
            self.uncovered.remove(&pair);
        }
    }

    /// Pairs that are refused, by reason.
    fn table(&self) -> String {
        let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (&pair, reasons) in &self.refused {
            by_reason.entry(self.reason(pair, reasons)).or_default().push(self.named(pair));
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

    /// The names of a pair.
    fn named(&self, pair: Pair) -> String {
        format!("{} with {}", self.space.name(pair.0), self.space.name(pair.1))
    }

    /// Of the reasons that were given for draws with a pair, the one that is known, or that speaks of both values, or the most frequent.
    fn reason(&self, pair: Pair, reasons: &BTreeMap<String, u64>) -> String {
        let points = [pair.0, pair.1];
        if let Some(known) = self.known_reason(pair, reasons) {
            return known.clone();
        }
        let spoken = |reason: &str| points.iter().filter(|&&point| self.speaks_of(reason, point)).count();
        let (reason, _) =
            reasons.iter().max_by_key(|&(reason, count)| (spoken(reason), count, reason)).expect("a reason");
        self.hidden(pair, reason)
    }

    /// The reason that the table has for a pair, if it is among those that were given.
    fn known_reason(&self, pair: Pair, reasons: &BTreeMap<String, u64>) -> Option<&String> {
        let known = self.known.get(&self.named(pair))?;
        reasons.keys().any(|reason| self.hidden(pair, reason) == *known).then_some(known)
    }

    /// A reason without the values of a pair.
    fn hidden(&self, pair: Pair, reason: &str) -> String {
        [pair.0, pair.1].iter().fold(reason.into(), |reason: String, &(dimension, value)| {
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
        let Tally { run, at_limit, timed, collections, ended, failures, slowest } = tally;
        format!(
            "# Every pair of choices\n\n\
             {run} random devices were run to their end with stamped pages and full checks, {at_limit} of them at the \
             largest user space that is accepted, {timed} under `timed`, the others under `count`; {collections} \
             collections, each followed by the check of the whole state. {ended} came to the end of their lives before that. It took {seconds} s; the slowest took {:.1} s.\n\n\
             Of {all} pairs of values of keys, {} are refused in every draw (`crates/device/tests/pairwise.txt` has \
             the reasons), {} ran at least once, {} are missing. {refused} draws were refused on the way. {} cases failed.\n",
            slowest.as_secs_f64(),
            none,
            all - none - self.uncovered.len(),
            self.uncovered.len(),
            failures.values().map(|(_, count)| count).sum::<u64>(),
        )
    }
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
    let known = known_table();
    let differing = differences(&known, &table);
    eprint!("{differing}");
    assert!(table == known, "other pairs are refused, or for other reasons, than in {TABLE}:\n{differing}");
}

fn known_table() -> String {
    std::fs::read_to_string(TABLE).expect("the table lies beside the test").replace("\r\n", "\n")
}

/// By the names of each pair of a table, the reason.
fn reasons_of(table: &str) -> BTreeMap<String, String> {
    let (mut reason, mut found) = ("", BTreeMap::new());
    for line in table.lines().skip(1) {
        match line.strip_prefix("    ") {
            Some(pair) => drop(found.insert(pair.into(), reason.into())),
            None => reason = line,
        }
    }
    found
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
    let is_asked_for = |pair: &Pair| of.is_empty() || of.split(", ").any(|asked| asked == sweep.named(*pair));
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
    println!("{}", lived(case["keys"].clone(), trace)["gc"]);
}

/// The summary of a case that is known.
///
/// # Panics
/// If it is refused, or does not run to its end.
fn lived(keys: Value, trace: Option<(u64, u64)>) -> Value {
    let case = Case { keys, trace };
    let config = read(&case.keys).unwrap_or_else(|refused| panic!("{}", refused.text));
    attempt(&case, &config).unwrap_or_else(|problem| panic!("{problem}"))
}

/// A domain that was prepared for a write is not asked again before it takes it: it may have something else to do first by then, and an
/// erase would follow on a program in cache mode.
#[test]
fn a_follower_is_prepared_once() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{ "device": { "channels": 1, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 4,
            "blocks_per_plane": 65, "pages_per_block": 9, "page_size": 512, "cell": "tlc", "program_order":
            "consecutive", "multiplane": "off", "timing": { "read": "25695ns", "program": "1489393ns", "erase":
            "4906444ns", "ecc_latency": "0ns" }, "programming": { "page": {} }, "cache_read": { "on": { "busy":
            "0ns" } }, "cache_program": { "on": { "busy": "10us" } }, "program_suspend": { "reads": { "latency":
            "20us", "resume": "0ns", "interval": "10us", "most": 1 } }, "erase_suspend": { "reads": { "latency":
            "0ns", "resume": "10us", "interval": "250us", "most": 3 } }, "read_transfer": { "page": {} },
            "slow_die": { "one": { "die": 1, "factor": 10 } }, "wear": { "copyback_bands": [ 1000000 ],
            "copyback_best": [ 1000 ], "copyback_median": [ 1000 ], "copyback_worst": [ 1000 ], "read_limit": [
            106, 318 ] }, "user_capacity": "400896B" }, "ftl": { "mapping": { "page": {} }, "binding": {
            "dynamic": {} }, "allocation": { "F2": {} }, "block_allocation": { "first-fit": {} },
            "reclaim_unit": { "block": {} }, "victim": { "cost-benefit": { "age": "filled" } }, "gc_schedule": {
            "background": { "free_blocks": 4, "spare_blocks": 3, "idle": "1ms", "preempt": "off" } },
            "migration": { "copyback": {} }, "separation": { "dac": { "regions": 2 } }, "paired_page": {
            "gcmix-adaptive": { "low": 1, "high": 12, "hold": false, "tau": 0 } }, "read_disturb": {
            "read-leveling": { "hot_pages": 4, "shadow": 0.3, "monitor": 0.5, "full": "evict", "evicted":
            "read-hot", "average": "regular", "margin": 14, "attribution": "asker", "blocks_reads": true } },
            "wear_leveling": { "none": {} }, "write_buffer": { "lru": { "size": "512B", "order": "channel",
            "release": "transferred", "flush": "free", "power_loss": "protected" } }, "scheduler": { "paq": {
            "gc": "preemptible", "max_wait": "50us" } } }, "host": { "replay": "closed", "queue_depth": 32 },
            "workload": { "trace": "(made of its seed)", "rounds": 2 }, "run": { "executor": "timed", "seed":
            2226713773, "checks": "full", "payload": "stamp", "precondition": { "random": "1x" } } }"#,
    )
    .unwrap();
    lived(keys, Some((3343281212, 40)));
}

/// The failed program of a wordline destroys pages that nothing protects. They stay lost where the program of what is put in their place
/// fails as well.
#[test]
fn what_is_lost_stays_lost_when_the_next_program_fails() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{"device": {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 2,
            "blocks_per_plane": 49, "pages_per_block": 6, "page_size": 4096, "cell": "mlc", "program_order":
            "consecutive", "multiplane": "pac", "timing": {"read": "76239ns", "program": "926476ns", "erase":
            "718345ns"}, "read_transfer": {"sectors": {"codeword": "512B"}}, "media": {"table": {"age": "0ns",
            "temperature": 10, "energy": 0, "onset": "1s", "blocks": 0, "layers": 0, "noise": true, "codeword":
            "512B", "correctable": 3, "levels": "matched", "steps": 3, "step": 10, "floor": 0.1, "soft_gain": 1,
            "soft_reads": 0}}, "bad_blocks": {"weibull": {"factory": 0.005, "life": 1, "shape": 0.1, "erases":
            0.5}}, "user_capacity": "3710976B"}, "ftl": {"map_unit": {"512B": {"pad_after": "1ms"}},
            "allocation": {"CPWD": {}}, "block_allocation": {"least-worn": {}}, "reclaim_unit": {"twin": {"pad":
            true, "lone": "gather", "neighbours": 100}}, "victim": {"greedy": {}}, "separation": {"host-gc":
            {}}, "wear_leveling": {"static": {"threshold": 2}}, "scheduler": {"paq": {"gc": "preemptible",
            "max_wait": "50us"}}}, "host": {"replay": "open", "queue_depth": 1}, "workload": {"trace":
            "(made of its seed)", "rounds": 2}, "run": {"executor": "count", "seed": 3244776413, "checks": "full",
            "payload": "stamp", "precondition": "none"}}"#,
    )
    .unwrap();
    lived(keys, Some((2581442553, 120)));
}

/// A row of map units of a block in SLC mode has one pass where others have two. It is there once the pages of all its blocks are.
#[test]
fn a_row_of_slc_blocks_is_read_when_all_of_it_is_sent() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{"device": {"channels": 3, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2,
            "blocks_per_plane": 29, "pages_per_block": 15, "page_size": 4096, "cell": "tlc", "program_order":
            "consecutive", "multiplane": "pac", "timing": {"read": "62841ns", "program": "1595470ns", "erase":
            "352395ns", "ecc_latency": "20000ns"}, "programming": {"two-pass": {"first": 0.4, "pad_after":
            "1ns"}}, "cache_read": {"on": {"busy": "0ns"}}, "cache_program": {"off": {}}, "program_suspend":
            {"off": {}}, "erase_suspend": {"reads": {"latency": "10us", "resume": "20us", "interval": "250us",
            "step": "0ns", "most": 1}}, "read_transfer": {"sectors": {"codeword": "512B"}}, "slow_die": {"one":
            {"die": 1, "factor": 10}}, "slc_mode": {"none": {}}, "media": {"table": {"age": "0ns",
            "temperature": 30, "energy": 3, "onset": "1s", "blocks": 0.1, "layers": 0, "noise": false,
            "codeword": "512B", "correctable": 4, "levels": "default", "steps": 1, "step": 0.01, "floor": 1,
            "soft_gain": 10, "soft_reads": 2}}, "bad_blocks": {"none": {}}, "user_capacity": "1581056B"}, "ftl":
            {"map_unit": {"512B": {"pad_after": "1ms"}}, "mapping": {"page": {}}, "binding": {"static": {}},
            "allocation": {"PDCW": {}}, "block_allocation": {"first-fit": {}}, "reclaim_unit": {"twin": {"pad":
            true, "lone": "gather", "neighbours": 100}}, "victim": {"cost-benefit": {"age": "filled"}},
            "gc_schedule": {"threshold": {"free_blocks": 2}}, "migration": {"off-chip": {}}, "separation":
            {"none": {}}, "paired_page": {"supercap": {}}, "read_disturb": {"ignore": {}}, "wear_leveling":
            {"none": {}}, "slc_cache": {"both": {"blocks": 2, "share": 1, "leave": 1, "when_full":
            "fold-through", "fold": "need", "low_mark": 0}}, "write_buffer": {"fifo": {"size": "4KiB", "order":
            "channel", "release": "programmed", "flush": "free", "power_loss": "protected"}}, "scheduler":
            {"paq": {"gc": "non-preemptible", "max_wait": "50us"}}}, "host": {"replay": "closed", "queue_depth":
            7, "link": "off", "command_time": "0ns", "command_interval": "100us"}, "workload": {"trace": "(made of its seed)", "rounds": 2}, "run": {"executor": "timed", "seed": 296496276, "checks": "full",
            "payload": "stamp", "precondition": {"random": "1x"}}}"#,
    )
    .unwrap();
    let case = Case { keys, trace: Some((17623751, 120)) };
    let config = read(&case.keys).unwrap_or_else(|refused| panic!("{}", refused.text));
    attempt(&case, &config).unwrap_or_else(|problem| panic!("{problem}"));
}

/// While an erase is suspended for writes, preparing one plane's write may begin a collection of another plane, which fills its time. That
/// one takes no write then.
#[test]
fn a_suspend_for_writes_looks_anew_where_a_collection_began() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{"device": {"channels": 2,
            "chips_per_channel": 1,
            "dies_per_chip": 2,
            "planes_per_die": 3,
            "blocks_per_plane": 21,
            "pages_per_block": 15,
            "page_size": 512,
            "cell": "tlc",
            "program_order": "consecutive",
            "multiplane": "bac",
            "timing": {"read": "18626ns",
            "program": "1104413ns",
            "erase": "226704ns",
            "ecc_latency": "20000ns"},
            "programming": {"page": {}},
            "cache_read": {"off": {}},
            "cache_program": {"off": {}},
            "program_suspend": {"off": {}},
            "erase_suspend": {"reads-and-writes": {"latency": "0ns",
            "resume": "20us",
            "interval": "10us",
            "most": 2,
            "programs": 4}},
            "read_transfer": {"sectors": {"codeword": "512B"}},
            "slow_die": {"none": {}},
            "wear": {"copyback_bands": [1000000],
            "copyback_best": [1000],
            "copyback_median": [1000],
            "copyback_worst": [1000],
            "read_limit": [90, 270]},
            "user_capacity": "638976B"},
            "ftl": {"mapping": {"page": {}},
            "binding": {"static": {}},
            "allocation": {"WPCD": {}},
            "block_allocation": {"least-worn": {}},
            "reclaim_unit": {"block": {}},
            "victim": {"random": {}},
            "gc_schedule": {"cycle-filling": {"free_blocks": 2,
            "spare_blocks": 200,
            "pace": "initiator",
            "preempt": "off"}},
            "migration": {"copyback": {}},
            "separation": {"host-gc": {}},
            "paired_page": {"none": {}},
            "read_disturb": {"hot-low-density": {"low_density": 0.15,
            "monitor": 0.5,
            "full": "refuse",
            "evicted": "read-hot",
            "average": "all",
            "margin": 15,
            "attribution": "asker",
            "blocks_reads": true}},
            "wear_leveling": {"static": {"threshold": 2}},
            "write_buffer": {"none": {}},
            "scheduler": {"fifo": {"gc": "preemptible"}}},
            "host": {"replay": "open",
            "queue_depth": 7},
            "workload": {"trace": "(made of its seed)",
            "rounds": 2},
            "run": {"executor": "timed",
            "seed": 2689408437,
            "checks": "full",
            "payload": "stamp",
            "precondition": {"sequential": "1x"}}}"#,
    );
    lived(keys.expect("keys"), Some((841_557_429, 40)));
}

/// Blocks of the pseudo-SLC cache are folded for room, and their updates of the map open units: these are compacted before another is
/// folded.
#[test]
fn the_pseudo_slc_cache_leaves_room_for_updates_of_the_map() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{"device": {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2,
            "blocks_per_plane": 37, "pages_per_block": 4, "page_size": 4096, "cell": "qlc", "program_order":
            "shadow", "multiplane": "bac", "timing": {"read": "81252ns", "program": "543339ns", "erase":
            "1833087ns", "ecc_latency": "20000ns"}, "programming": {"page": {}}, "cache_read": {"on": {"busy":
            "3us"}}, "cache_program": {"on": {"busy": "3us"}}, "program_suspend": {"reads": {"latency": "0ns",
            "resume": "10us", "interval": "10us", "step": "0ns", "most": 4}}, "erase_suspend": {"off": {}},
            "read_transfer": {"page": {}}, "slow_die": {"none": {}}, "slc_mode": {"none": {}}, "media": {"table":
            {"age": "10us", "temperature": -40, "energy": 0, "onset": "1d", "blocks": 2, "layers": 3, "noise": true,
            "codeword": "2KiB", "correctable": 1, "levels": "matched", "steps": 2, "step": 10, "floor": 0.1,
            "soft_gain": 10, "soft_reads": 1}}, "bad_blocks": {"none": {}}, "user_capacity": "868352B"}, "ftl":
            {"mapping": {"dftl": {"cache": "32B"}}, "binding": {"static": {}}, "allocation": {"DPWC": {}},
            "block_allocation": {"first-fit": {}}, "reclaim_unit": {"block": {}}, "victim": {"fifo": {}},
            "gc_schedule": {"background": {"free_blocks": 2, "spare_blocks": 2, "idle": "50us", "preempt": "on"}},
            "migration": {"rcpb": {"quota": "page", "aware": "quality", "selector": true, "fill": 0}}, "separation":
            {"none": {}}, "paired_page": {"none": {}}, "read_disturb": {"ignore": {}}, "refresh": {"patrol":
            {"period": "1ms", "retries": 1, "least_age": "1ms"}}, "wear_leveling": {"static": {"threshold": 2}},
            "slc_cache": {"dynamic": {"share": 1, "leave": 1, "when_full": "direct", "fold": "idle", "low_mark":
            1}}, "write_buffer": {"lru": {"size": "56KiB", "order": "global", "release": "transferred", "flush":
            "full", "power_loss": "volatile"}}, "scheduler": {"fifo": {"gc": "preemptible"}}}, "host": {"replay":
            "batch", "queue_depth": 32, "link": "off", "command_time": "8us", "command_interval": "1us"},
            "workload": {"generator": "pareto", "request_size": "32768B", "read_fraction": 0.0, "requests": 53},
            "run": {"executor": "timed", "seed": 1695035412, "checks": "full", "payload": "stamp", "precondition":
            {"random": "1x"}}}"#,
    );
    lived(keys.expect("keys"), None);
}

/// A dummy page fills the active block that an update of the map was to go to. It opens another one only once there is room.
#[test]
fn an_update_of_the_map_finds_room_behind_dummy_pages() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{"device": {"channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 2,
            "blocks_per_plane": 35, "pages_per_block": 6, "page_size": 512, "cell": "mlc", "program_order":
            "consecutive", "multiplane": "off", "timing": {"read": "46928ns", "program": "1228027ns", "erase":
            "3147112ns", "ecc_latency": "20000ns"}, "programming": {"page": {}}, "cache_read": {"off": {}},
            "cache_program": {"off": {}}, "program_suspend": {"reads": {"latency": "20us", "resume": "0ns",
            "interval": "0ns", "step": "0ns", "most": 1}}, "erase_suspend": {"off": {}}, "read_transfer":
            {"sectors": {"codeword": "512B"}}, "slow_die": {"none": {}}, "slc_mode": {"on": {"read": "25us",
            "program": "1ns", "erase": "3500us", "wear": 1}}, "media": {"formula": {"age": "30d", "temperature": 10,
            "wear": 0.1, "wear_exponent": 0, "retention": 0.001625, "retention_exponent": 0, "disturb": 0,
            "disturb_exponent": 5, "energy": 0, "onset": "1d", "blocks": 0, "layers": 3, "noise": true, "codeword":
            "512B", "correctable": 3, "levels": "matched", "steps": 1, "step": 10, "floor": 0.1, "soft_gain": 10,
            "soft_reads": 0}}, "bad_blocks": {"none": {}}, "user_capacity": "28672B"}, "ftl": {"mapping": {"dftl":
            {"cache": "48B"}}, "binding": {"static": {}}, "allocation": {"CDPW": {}}, "block_allocation":
            {"least-worn": {}}, "reclaim_unit": {"block": {}}, "victim": {"rga": {"d": 3}}, "gc_schedule":
            {"background": {"free_blocks": 4, "spare_blocks": 200, "idle": "1ms", "preempt": "off"}}, "migration":
            {"rcpb": {"quota": "page", "aware": "quality", "selector": false, "fill": 0}}, "separation": {"streams":
            {"streams": 2}}, "paired_page": {"slc-buffer": {"blocks": 4}}, "read_disturb": {"ignore": {}},
            "refresh": {"errors": {"retries": 1, "least_age": "1d"}}, "wear_leveling": {"none": {}}, "slc_cache":
            {"off": {}}, "write_buffer": {"lru": {"size": "512B", "order": "channel", "release": "programmed",
            "flush": "full", "power_loss": "protected"}}, "scheduler": {"fifo": {"gc": "preemptible"}}}, "host":
            {"replay": "closed", "queue_depth": 1}, "workload": {"trace": "(made of its seed)", "rounds": 2}, "run":
            {"executor": "timed", "seed": 3786539130, "checks": "full", "payload": "stamp", "precondition":
            {"sequential": "1x"}}}"#,
    );
    lived(keys.expect("keys"), Some((2102564437, 40)));
}

/// A command fails on two planes, and pages of both wait for their second pass. Each finds one place, and its write ends once.
#[test]
fn pages_of_a_command_that_fails_twice_find_one_place_each() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{"device": {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 4,
            "blocks_per_plane": 21, "pages_per_block": 9, "page_size": 4096, "cell": "tlc", "program_order":
            "consecutive", "multiplane": "any", "timing": {"read": "28197ns", "program": "340174ns", "erase":
            "655359ns", "ecc_latency": "0ns"}, "programming": {"two-pass": {"first": 0.99, "pad_after": "20ms"}},
            "cache_read": {"on": {"busy": "0ns"}}, "cache_program": {"off": {}}, "program_suspend": {"reads":
            {"latency": "0ns", "resume": "5us", "interval": "50us", "step": "0ns", "most": 4}}, "erase_suspend":
            {"off": {}}, "read_transfer": {"sectors": {"codeword": "2KiB"}}, "slow_die": {"none": {}}, "slc_mode":
            {"on": {"read": "25us", "program": "200us", "erase": "1ns", "wear": 0}}, "media": {"formula": {"age":
            "30d", "temperature": 30, "wear": 0, "wear_exponent": 1, "retention": 0, "retention_exponent": 0,
            "disturb": 0.1, "disturb_exponent": 5, "energy": 0, "onset": "1s", "blocks": 2, "layers": 0, "noise":
            false, "codeword": "1KiB", "correctable": 2, "levels": "default", "steps": 0, "step": 10, "floor": 0.1,
            "soft_gain": 10, "soft_reads": 1}}, "bad_blocks": {"weibull": {"factory": 0, "life": 1, "shape": 10,
            "erases": 0.5}}, "wear": {"read_limit": [111, 333]}, "user_capacity": "290816B"}, "ftl": {"map_unit":
            {"2KiB": {"pad_after": "1ms"}}, "mapping": {"page": {}}, "binding": {"static": {}}, "allocation":
            {"PDWC": {}}, "block_allocation": {"least-worn": {}}, "reclaim_unit": {"twin": {"pad": false, "lone":
            "gather", "neighbours": 100}}, "victim": {"stable-greedy": {"settle": 1}}, "gc_schedule":
            {"cycle-filling": {"free_blocks": 3, "spare_blocks": 4, "pace": "initiator", "preempt": "off"}},
            "migration": {"off-chip": {}}, "separation": {"none": {}}, "paired_page": {"page-buffer": {}},
            "read_disturb": {"redftl": {"hot_pages": 3, "shadow": 0.15, "monitor": 0.3, "full": "evict", "evicted":
            "read-hot", "average": "all", "margin": 15, "attribution": "debt", "blocks_reads": false}}, "refresh":
            {"none": {}}, "wear_leveling": {"none": {}}, "slc_cache": {"off": {}}, "write_buffer": {"none": {}},
            "scheduler": {"paq": {"gc": "preemptible", "max_wait": "0ns"}}}, "host": {"replay": "open",
            "queue_depth": 2, "link": "5MB/s", "command_time": "0ns", "command_interval": "1us"}, "workload":
            {"trace": "(made of its seed)", "rounds": 2}, "run": {"executor": "timed", "seed": 4277168265, "checks":
            "full", "payload": "stamp", "precondition": "none"}}"#,
    );
    lived(keys.expect("keys"), Some((768650232, 120)));
}

/// A medium loses what is written to it at once, and a backup of a lower page reads another translation page: an update was asked for by
/// each update.
#[test]
fn a_map_that_cannot_be_read_is_not_written_for_ever() {
    remember_panics();
    let keys = serde_json::from_str(
        r#"{"device": {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 2, "planes_per_die": 2,
            "blocks_per_plane": 48, "pages_per_block": 20, "page_size": 512, "cell": "qlc", "program_order":
            "consecutive", "multiplane": "bac", "timing": {"read": "53942ns", "program": "1173100ns", "erase":
            "2779662ns", "ecc_latency": "20000ns"}, "programming": {"page": {}}, "cache_read": {"off": {}},
            "cache_program": {"off": {}}, "program_suspend": {"reads": {"latency": "0ns", "resume": "10us",
            "interval": "10us", "step": "0ns", "most": 2}}, "erase_suspend": {"reads-and-writes": {"latency":
            "60us", "resume": "0ns", "interval": "250us", "step": "0ns", "most": 1, "programs": 1}},
            "read_transfer": {"page": {}}, "slow_die": {"none": {}}, "slc_mode": {"none": {}}, "media": {"formula":
            {"age": "30d", "temperature": -40, "wear": 0.00052, "wear_exponent": 0, "retention": 0,
            "retention_exponent": 5, "disturb": 0, "disturb_exponent": 0, "energy": 1.1, "onset": "1s", "blocks": 2,
            "layers": 0, "noise": false, "codeword": "512B", "correctable": 2, "levels": "matched", "steps": 1,
            "step": 10, "floor": 0, "soft_gain": 1, "soft_reads": 3}}, "bad_blocks": {"none": {}}, "user_capacity":
            "3244032B"}, "ftl": {"mapping": {"dftl": {"cache": "448B"}}, "binding": {"static": {}}, "allocation":
            {"DPWC": {}}, "block_allocation": {"least-worn": {}}, "reclaim_unit": {"block": {}}, "victim":
            {"greedy": {}}, "gc_schedule": {"cycle-filling": {"free_blocks": 2, "spare_blocks": 2, "pace":
            "initiator", "preempt": "on"}}, "migration": {"off-chip": {}}, "separation": {"none": {}},
            "paired_page": {"lsb-backup": {}}, "read_disturb": {"ignore": {}}, "refresh": {"patrol": {"period":
            "14d", "retries": 3, "least_age": "1ms"}}, "wear_leveling": {"none": {}}, "slc_cache": {"off": {}},
            "write_buffer": {"none": {}}, "scheduler": {"fifo": {"gc": "preemptible"}}, "deallocated_reads":
            {"zeros": {}}}, "host": {"replay": "open", "queue_depth": 1, "command_time": "8us"}, "run": {"executor":
            "timed", "seed": 1360336008, "checks": "full", "payload": "stamp", "precondition": {"random": "1x"}},
            "workload": {"trace": "(made of its seed)", "rounds": 2}}"#,
    );
    let summary = lived(keys.expect("keys of a device"), Some((2911181454, 40)));
    let updates = summary["policy"]["mapping"]["trim_updates"].as_u64();
    assert!(updates.is_some_and(|updates| updates < 10_000), "{updates:?}");
}
