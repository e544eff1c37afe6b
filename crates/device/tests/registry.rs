//! What a policy reads is declared, as the type that it reads; and what is declared is read. Walks every registry.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::*;
use base::{Cell, Duration, Selection};
use config::Config;
use config::model::*;

/// A small device that every choice by itself can have.
fn small() -> Config {
    let mut config = plain(2, 1, 1, 2, 32, 16);
    config.device.cell = Cell::Mlc;
    config.device.timing.read = vec![Duration::from_us(50); 2];
    config.device.timing.program = vec![Duration::from_us(900); 2];
    config.device.user_capacity /= 2;
    let mut generator = generator("uniform", 8192, 0.2, config.device.user_capacity);
    generator.interval = Duration::from_us(100);
    config.workload.source = Source::Generator(generator);
    config.workload.end = End { requests: Some(100), ..End::default() };
    choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 6.into())]);
    config
}

/// The device with a choice, and what goes with that choice.
fn with(seam: &str, name: &str) -> Config {
    let mut config = small();
    choose(&mut config.ftl, seam, name, &[]);
    match name {
        "superblock" => config.device.user_capacity -= config.device.user_capacity % page_size(&config),
        "fast" => choose(&mut config.ftl, "victim", "fifo", &[]),
        "midas" => choose(&mut config.ftl, "gc_schedule", "threshold", &[("free_blocks", 8.into())]),
        "swap" => choose(&mut config.ftl, "block_allocation", "least-worn", &[]),
        "gcmix-adaptive" => choose(&mut config.ftl, "separation", "dac", &[]),
        // Flash pages of two units.
        _ if let Some(size) = ftl::map_unit::size(config.ftl.get("map_unit")) => {
            config.device.user_capacity = config.device.user_capacity / page_size(&config) * u64::from(2 * size);
            config.device.page_size = 2 * size;
        }
        _ if seam == "read_disturb" => config.device.wear.read_limit = Some([1000, 10_000]),
        _ if seam == "refresh" => equip(&mut config.device, "media", "formula", &[]),
        _ => {}
    }
    if let Source::Generator(generator) = &mut config.workload.source {
        generator.footprint = config.device.user_capacity;
    }
    config
}

#[test]
fn every_choice_belongs_to_a_part_that_says_what_it_leaves_out() {
    let scopes = device::scopes();
    let known = |key: &str| scopes.iter().any(|scope| scope.keys.contains(&key));
    let seams = device::seams().into_iter().map(|seam| format!("ftl.{}", seam.key));
    let features = device::features().into_iter().map(|feature| format!("device.{}", feature.key));
    for key in seams.chain(features) {
        assert!(known(&key), "no part says what `{key}` models");
    }
    let mut names: Vec<&str> = scopes.iter().map(|scope| scope.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), scopes.len(), "two parts of one name");
    for scope in scopes {
        assert!(!scope.not_modelled.is_empty(), "{} leaves nothing out", scope.name);
        for sentence in [scope.modelled].iter().chain(scope.not_modelled) {
            let words = sentence.split_whitespace().count();
            assert!(sentence.ends_with('.') && words <= 35, "{}: {sentence}", scope.name);
        }
    }
}

/// Where a choice stands in a configuration.
#[derive(Clone, Copy)]
enum Place {
    Seam(&'static str),
    Generator,
    Feature(&'static str),
}

impl Place {
    fn of(self, config: &mut Config) -> &mut Selection {
        match (self, &mut config.workload.source) {
            (Place::Seam(seam), _) => config.ftl.get_mut(seam),
            (Place::Generator, Source::Generator(generator)) => &mut generator.pattern,
            (Place::Generator, other) => panic!("{other:?} is no generator"),
            (Place::Feature(key), _) => config.device.features.get_mut(key),
        }
    }
}

/// Every choice of every seam, every generator, and every feature of a chip.
fn every_choice() -> Vec<(Place, Config)> {
    let registry = device::registry();
    let seams = registry.seams.iter().flat_map(|seam| seam.choices.iter().map(|choice| (seam.key, choice.name)));
    let mut all: Vec<_> = seams.map(|(seam, name)| (Place::Seam(seam), with(seam, name))).collect();
    for choice in registry.generators {
        let mut config = small();
        *Place::Generator.of(&mut config) = Selection::default_of(choice);
        all.push((Place::Generator, config));
    }
    for (key, name) in features() {
        let mut config = small();
        equip(&mut config.device, key, name, &[]);
        choose(&mut config.ftl, "allocation", "CWDP", &[]);
        all.push((Place::Feature(key), config));
    }
    all
}

#[test]
fn every_choice_runs_with_the_parameters_that_it_declares() {
    for (place, mut config) in every_choice() {
        let choice = place.of(&mut config).choice;
        device::check(&config).unwrap_or_else(|refusal| panic!("`{}`: {}", choice.name, refusal.message));
        catch_unwind(AssertUnwindSafe(|| run(&config))).unwrap_or_else(|_| panic!("`{}` does not run", choice.name));
    }
}

#[test]
fn every_parameter_that_is_declared_is_read() {
    let mut params = 0;
    for (place, config) in every_choice() {
        for param in place.of(&mut config.clone()).choice.params {
            let mut without = config.clone();
            place.of(&mut without).params.retain(|(name, _)| *name != param.name);
            let read = catch_unwind(AssertUnwindSafe(|| device::check(&without).map(|()| run(&without))));
            let missed = read.err().and_then(|panic| panic.downcast::<String>().ok());
            let told = format!("choice `{}` has no parameter `{}`", place.of(&mut without).name, param.name);
            assert_eq!(missed.as_deref(), Some(&told));
            params += 1;
        }
    }
    assert!(params > 30, "only {params} parameters");
}
