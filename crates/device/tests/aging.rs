//! Ageing the device before the run.

use crate::common::*;
use config::Config;
use config::model::*;
use serde_json::Value;

fn precondition(sets: &[&str]) -> Value {
    run(&preset("tbm-small", sets))["precondition"].clone()
}

/// Of a device with more spare than user space, the first windows fill erased blocks: their WAF is 1 and says nothing.
#[test]
fn steady_does_not_settle_before_blocks_are_erased() {
    let steady = |op: &str| {
        precondition(&[
            "device.blocks_per_plane=8",
            &format!("device.over_provisioning={op}"),
            "workload.generator=uniform",
            "workload.requests=1",
            "run.executor=count",
            "run.precondition=steady",
        ])
    };
    let wide = steady("3.5");
    let windows = wide["windows"].as_u64().expect("windows");
    assert!(windows >= 5, "3.5 capacities of spare are written before the first erase: {wide}");
    assert_eq!(wide["settled"], true, "{wide}");
    assert_eq!(steady("0.5")["settled"], true);
}

/// Two dies of two planes, worn in by so many capacities.
fn worn(capacities: u64) -> Config {
    let mut config = plain(1, 1, 2, 2, 32, 16);
    choose(&mut config.ftl, "allocation", "D", &[]);
    choose(&mut config.ftl, "scheduler", "paq", &[]);
    config.run.precondition = Precondition::Worn { volume: capacities * config.device.user_capacity };
    config.host.queue_depth = Some(8);
    config
}

/// Every page once in order, and how many pages that is.
fn once_over(config: &mut Config, read_fraction: f64) -> u64 {
    let capacity = config.device.user_capacity;
    let pages = capacity / page_size(config);
    config.workload.source = Source::Generator(generator("sequential", page_size(config), read_fraction, capacity));
    config.workload.end = End { requests: Some(pages), ..End::default() };
    pages
}

/// Erases of every block, after a run that reads every page.
fn erases(config: &Config) -> (Value, Vec<u64>) {
    let outcome = device::simulate(config, &mut device::Options::default()).expect("a run");
    let table = outcome.tables.iter().find(|table| table.name == "wear").expect("wear");
    let Some(metrics::Column::U64(erases)) = table.column("erases") else { panic!("no erases") };
    (outcome.summary, erases.clone())
}

#[test]
fn a_worn_device_holds_nothing_and_has_erased_every_block() {
    let mut config = worn(6);
    let pages = once_over(&mut config, 1.0);
    let mut seen = Vec::new();
    for executor in [Executor::Count, Executor::Timed] {
        config.run.executor = executor;
        let (summary, erases) = erases(&config);
        assert_eq!(figure(&summary, "host.reads"), pages as f64);
        assert_eq!(figure(&summary, "host.unmapped_reads"), pages as f64, "every page was trimmed");
        assert!(erases.iter().all(|&count| count > 0), "{erases:?}");
        assert_eq!(summary["precondition"]["kind"], "worn");
        assert_eq!(figure(&summary, "precondition.written_bytes"), 6.0 * config.device.user_capacity as f64);
        // Programs fill blocks, and every block but those in hand was filled as often as it was erased, or once more.
        let programs = figure(&summary, "precondition.waf_units") * 6.0 * pages as f64;
        let filled = programs / 16.0 - erases.iter().sum::<u64>() as f64;
        assert!((0.0..=erases.len() as f64).contains(&filled), "{filled} of {}", erases.len());
        assert_eq!(figure(&summary, "flash.block_erases"), 0.0, "nothing of it counts");
        seen.push(erases);
    }
    assert_eq!(seen[0], seen[1], "no time passes, whichever executor runs");
    config.run.seed = 2;
    assert_ne!(erases(&config).1, seen[0], "another seed wears other blocks");
}

/// What was erased plane by plane is out of step, and stays so although the run moves no page; a pristine device, written
/// the same way, programs nearly everything on both planes at once.
#[test]
fn planes_of_a_worn_device_are_out_of_step() {
    let shared = |precondition: &Precondition, unit: &str| {
        let mut config = worn(6);
        once_over(&mut config, 0.0);
        choose(&mut config.ftl, "reclaim_unit", unit, &[]);
        config.run.precondition = precondition.clone();
        let summary = run(&config);
        assert_eq!(figure(&summary, "gc.moved_pages"), 0.0, "everything was invalid");
        figure(&summary, "flash.multiplane.program_fraction")
    };
    let aged = worn(6).run.precondition;
    let (pristine, worn, twin) = (shared(&Precondition::None, "block"), shared(&aged, "block"), shared(&aged, "twin"));
    assert!(pristine > 0.95 && worn < 0.2 && twin > 0.95, "pristine {pristine}, worn {worn}, twin blocks {twin}");
}
