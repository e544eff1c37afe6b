//! Subsets of the features of a chip, on one small device: each is really built and run with all checks, every read is compared,
//! and each feature does its part in the presence of the others. `FTLAB_LONG=1` has every subset run, and otherwise a sixth does, in which
//! every pair of choices is.
//!
//! The features are the choices of `[device]`, so that a new one is among them. What is refused is refused for two of the features,
//! by the name of one of them; with what else each goes is in `pairs.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::*;
use base::{Cell, Duration, FeatureKey, ParamValue};
use config::Config;
use config::model::*;
use serde_json::{Value, json};

/// A choice for each feature by its key, and whether the host has a link.
#[derive(Clone, Debug)]
struct Chip {
    choices: Vec<(&'static str, &'static str)>,
    has_link: bool,
}

/// What counts the deeds of a choice.
const SIGNS: [(&str, &[&str], &str); 6] = [
    ("programming", &["two-pass"], "flash.first_passes"),
    ("cache_read", &["on"], "flash.cache_mode.reads"),
    ("cache_program", &["on"], "flash.cache_mode.programs"),
    ("program_suspend", &["reads"], "flash.suspends.programs"),
    ("erase_suspend", &["reads", "reads-and-writes"], "flash.suspends.erases"),
    ("media", &["formula", "table"], "flash.by_cause.retry.reads"),
];

impl Chip {
    fn all() -> Vec<Chip> {
        let mut all: Vec<Chip> = [false, true].map(|has_link| Chip { choices: Vec::new(), has_link }).to_vec();
        for &FeatureKey { key, choices, .. } in device::features() {
            let with = |chip: &Chip, name| Chip { choices: [&chip.choices[..], &[(key, name)]].concat(), ..*chip };
            all = all.iter().flat_map(|chip| choices.iter().map(move |choice| with(chip, choice.name))).collect();
        }
        all
    }

    fn choice(&self, key: &str) -> &'static str {
        self.choices.iter().find(|(other, _)| *other == key).expect("a feature").1
    }

    /// 2 channels of a die of 2 planes under a skewed mix of reads and writes with pauses, aged by one random overwrite.
    fn config(&self) -> Config {
        let mut config = plain(2, 1, 1, 2, 28, 16);
        config.device.page_size = 1024;
        config.device.cell = Cell::Mlc;
        config.device.timing.read = vec![Duration::from_us(50), Duration::from_us(90)];
        config.device.timing.program = vec![Duration::from_us(900); 2];
        for &(key, name) in &self.choices {
            let params: &[_] = match name {
                "sectors" => &[("codeword", ParamValue::Size(512))],
                "formula" | "table" => &[("age", ParamValue::Time(YEAR))],
                _ => &[],
            };
            equip(&mut config.device, key, name, params);
        }
        // Blocks in SLC mode are those of a cache, which does not go with blocks that fail.
        if self.choice("slc_mode") == "on" && self.choice("bad_blocks") == "none" {
            choose(&mut config.ftl, "slc_cache", "dynamic", &[]);
        }
        config.device.user_capacity = 2 * 2 * 28 * 16 * 1024 / 2;
        let mut generator = generator("zipf", 1536, 0.3, config.device.user_capacity);
        (generator.interval, generator.poisson) = (Duration::from_us(400), true);
        (generator.idle_every, generator.idle_for) = (40, Duration::from_us(200_000));
        config.workload.source = Source::Generator(generator);
        config.workload.end = End { requests: Some(600), ..End::default() };
        config.host = Host::new(Replay::Open, Some(16));
        if self.has_link {
            config.host.link = Some(20_000_000);
            config.host.command_time = Duration::from_us(8);
            config.host.command_interval = Duration::from_us(2);
        }
        choose(&mut config.ftl, "scheduler", "paq", &[]);
        choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 3.into())]);
        config.run.precondition = Precondition::Random { volume: config.device.user_capacity };
        config
    }

    /// What is wrong with a run, in words; nothing where it is refused for two features.
    fn problem(&self, of_plain: &BTreeMap<(&str, &str), Value>) -> Option<String> {
        let config = self.config();
        if let Err(refusal) = device::check(&config) {
            let is_of_feature = refusal.key.strip_prefix("device.").is_some_and(|key| self.is_equipped(key));
            return (!is_of_feature).then(|| format!("not for these features, but for this device: {refusal}"));
        }
        let tried = catch_unwind(AssertUnwindSafe(|| [false, true].map(|asks_all| outcome(&config, asks_all))));
        let [summary, asked] = match tried {
            Ok(summaries) => summaries,
            Err(panic) => return Some(panic.downcast_ref::<String>().cloned().unwrap_or("panics".into())),
        };
        if metrics::deterministic(&summary) != metrics::deterministic(&asked) {
            return Some("who asks for everything comes to other figures".into());
        }
        if figure(&summary, "flash.block_erases") == 0.0 {
            return Some("nothing was collected".into());
        }
        for (key, names, sign) in SIGNS {
            if (figure(&summary, sign) > 0.0) != names.contains(&self.choice(key)) {
                return Some(format!("`{sign}` is {}", figure(&summary, sign)));
            }
        }
        // Wordlines are filled up with dummy pages; all else is a matter of time, and the FTL does what it did.
        let is_by_page = self.choice("programming") == "page";
        let of_plain = &of_plain[&self.state()];
        (is_by_page && decisions(&summary) != *of_plain).then(|| format!("{} and not {of_plain}", decisions(&summary)))
    }

    /// The features that change what the FTL does.
    fn state(&self) -> (&'static str, &'static str) {
        (self.choice("bad_blocks"), self.choice("slc_mode"))
    }

    /// Whether it has another choice of a feature than the default.
    fn is_equipped(&self, key: &str) -> bool {
        device::features().iter().any(|feature| feature.key == key && self.choice(key) != feature.choices[0].name)
    }
}

fn outcome(config: &Config, asks_all: bool) -> Value {
    device::simulate(config, &mut device::Options { asks_all, ..device::Options::default() }).expect("a run").summary
}

/// What the FTL did, whatever time it took.
fn decisions(summary: &Value) -> Value {
    let causes = &summary["flash"]["by_cause"];
    json!([causes["host"]["programs"], causes["gc"], causes["rmw"], summary["gc"], summary["wear"]["erases"]])
}

#[test]
fn subsets_of_the_features_run_and_each_does_its_part() {
    let chips = Chip::all();
    assert!(chips.len() >= 576, "{} subsets", chips.len());
    // Bad blocks leave the FTL fewer of them, and SLC mode comes with a cache; no other feature of a chip that works page by page has a say
    // in what it does.
    let states = [("none", "none"), ("none", "on"), ("weibull", "none"), ("weibull", "on")];
    let of_plain = states.map(|state| {
        let is_plain = |chip: &&Chip| {
            let others = chip.choices.iter().filter(|(key, _)| !["bad_blocks", "slc_mode"].contains(key));
            chip.state() == state && !others.into_iter().any(|(key, _)| chip.is_equipped(key))
        };
        let mut without_time = chips.iter().find(is_plain).expect("a chip without other features").config();
        without_time.run.executor = Executor::Count;
        (state, decisions(&run(&without_time)))
    });
    let of_plain = BTreeMap::from(of_plain);
    let tried = drawn(&chips);
    let problems = on_all_processors(&tried, |chip| chip.problem(&of_plain));
    let faults: Vec<String> = tried
        .iter()
        .zip(problems)
        .filter_map(|(chip, problem)| problem.map(|problem| format!("{chip:?}: {problem}")))
        .collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), tried.len(), faults.join("\n"));
}

/// All chips, or a sixth of them in which each pair of choices is that is in all.
fn drawn(chips: &[Chip]) -> Vec<Chip> {
    if std::env::var_os("FTLAB_LONG").is_some() {
        return chips.to_vec();
    }
    let mut chance = engine::Chance::new(1, "subsets");
    let drawn: Vec<Chip> = chips.iter().filter(|_| chance.below(6) == 0).cloned().collect();
    let pairs = |chips: &[Chip]| -> BTreeSet<_> {
        let pairs_of = |chip: &Chip| {
            let choices = [&chip.choices[..], &[("link", if chip.has_link { "on" } else { "off" })]].concat();
            choices
                .iter()
                .flat_map(|&one| choices.clone().into_iter().map(move |other| (one, other)))
                .collect::<Vec<_>>()
        };
        chips.iter().flat_map(pairs_of).collect()
    };
    assert_eq!(pairs(&drawn), pairs(chips), "pairs of choices that no chip drawn has");
    drawn
}

/// What the tables take for granted.
#[test]
fn the_first_choice_of_a_feature_is_the_default() {
    let base = config::Base::Object { name: "nothing".into(), object: serde_json::Map::new() };
    let sets = ["workload.generator=uniform".to_string(), "workload.requests=1".to_string()];
    let loaded = device::load(&base, &sets, None).map_err(|problems| problems.to_string()).expect("a device");
    for &FeatureKey { key, choices, .. } in device::features() {
        assert_eq!(loaded.config.device.features.get(key).name, choices[0].name, "`device.{key}`");
    }
}
