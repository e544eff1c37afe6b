//! Reads that disturb pages, through the whole device.

use crate::common::*;
use config::Config;
use config::model::*;
use device::{Options, Outcome, RunError};
use metrics::table::Column;

/// A device of one block's worth of data that gets so many requests, all of them reads.
fn config(executor: Executor, reads: u64) -> Config {
    let mut config = plain(1, 1, 1, 1, 16, 8);
    config.device.page_size = 1024;
    config.device.user_capacity = 8 * 1024;
    config.device.wear.read_limit = Some([500, 5000]);
    config.run.executor = executor;
    config.run.checks = Checks::Full;
    config.workload.source = Source::Generator(generator("uniform", 1024, 1.0, config.device.user_capacity));
    config.workload.end = End { requests: Some(reads), ..End::default() };
    config.run.precondition = Precondition::Sequential { volume: config.device.user_capacity };
    config
}

fn run_of(config: &Config) -> Result<Outcome, RunError> {
    device::simulate(config, &mut Options::default())
}

#[test]
fn a_run_fails_at_the_first_read_past_the_limit() {
    for executor in [Executor::Count, Executor::Timed] {
        for payload in [Payload::None, Payload::Stamp] {
            let mut met = config(executor, 500);
            met.run.payload = payload;
            let summary = run_of(&met).unwrap().summary;
            assert_eq!(summary["policy"]["read_disturb"]["max_reads_of_limit"], 1.0);
            let mut past = config(executor, 501);
            past.run.payload = payload;
            let Err(RunError::Failed(text)) = run_of(&past) else {
                panic!("{executor:?} {payload:?}: nothing was told")
            };
            assert!(text.starts_with("uncorrectable error: page "), "{text}");
            assert!(text.contains("after 501 reads of its block, and takes 500 at full density"), "{text}");
            assert!(text.contains("hint: ") && text.contains("`ftl.read_disturb`"), "{text}");
        }
    }
}

#[test]
fn without_a_limit_reads_disturb_nothing() {
    let mut config = config(Executor::Count, 2000);
    config.device.wear.read_limit = None;
    let outcome = run_of(&config).unwrap();
    assert!(outcome.summary["policy"].get("read_disturb").is_none());
    assert!(!names(&outcome).contains(&"effective_erases"));
}

fn names(outcome: &Outcome) -> Vec<&'static str> {
    let wear = outcome.tables.iter().find(|table| table.name == "wear").expect("the table");
    wear.columns.iter().map(|(name, _)| *name).collect()
}

#[test]
fn with_a_limit_effective_erases_are_told() {
    let mut config = config(Executor::Count, 2000);
    config.workload.source = Source::Generator(generator("uniform", 1024, 0.1, config.device.user_capacity));
    let outcome = run_of(&config).unwrap();
    assert!(names(&outcome).contains(&"effective_erases"));
    let wear = outcome.tables.iter().find(|table| table.name == "wear").expect("the table");
    let of = |name: &str| &wear.columns.iter().find(|(other, _)| *other == name).expect("the column").1;
    let (Column::U64(erases), Column::F64(effective)) = (of("erases"), of("effective_erases")) else { panic!("types") };
    assert!(erases.iter().sum::<u64>() > 100, "{erases:?}");
    assert!(erases.iter().zip(effective).all(|(&erases, &effective)| erases as f64 == effective));
    let of_summary = |key: &str| outcome.summary["wear"][key]["max"].as_f64().unwrap();
    assert_eq!(of_summary("effective_erases"), of_summary("erases"));
}
