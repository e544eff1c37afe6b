//! Saved device states: a run from one equals the run that aged the device itself, and no file, however
//! broken, does more than an error that names it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::common::*;
use base::{Cell, ParamValue, ProgramOrder};
use config::Config;
use config::model::*;
use device::{Options, RunError};
use engine::Chance;
use metrics::deterministic;

/// A path whose file is removed at the end.
struct File(PathBuf);

impl File {
    fn new() -> File {
        File(temporary("state"))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A run that saves the state it aged to.
fn saving(config: &Config, path: &Path) -> String {
    let mut options = Options { save_state: Some(path.to_path_buf()), ..Options::default() };
    fingerprint(&device::simulate(config, &mut options).expect("a run"))
}

/// The same run from a state file.
fn from_state(config: &Config, path: &Path) -> Config {
    let mut config = config.clone();
    config.run.precondition = Precondition::State { path: path.display().to_string() };
    config
}

/// A run that saves its state, one from that state, which is equal, and one that saves what it was given, which is the same file.
fn as_it_was_saved(config: &Config, case: u64) -> device::Outcome {
    let (file, again) = (File::new(), File::new());
    let aged_here = saving(config, &file.0);
    let outcome = loaded(&from_state(config, &file.0)).unwrap_or_else(|error| panic!("case {case}: {error}"));
    assert_eq!(fingerprint(&outcome), aged_here, "case {case}: {config:#?}");
    saving(&from_state(config, &file.0), &again.0);
    assert_eq!(std::fs::read(&file.0).unwrap(), std::fs::read(&again.0).unwrap(), "case {case}");
    outcome
}

/// All that has to be equal: everything but how the device was aged, and what the run cost.
fn fingerprint(outcome: &device::Outcome) -> String {
    let mut summary = deterministic(&outcome.summary);
    let object = summary.as_object_mut().expect("an object");
    object.shift_remove("precondition").expect("it is there");
    let run = object["config"]["run"].as_object_mut().expect("an object");
    run.shift_remove("precondition").expect("it is there");
    format!("{summary}\n{:?}", outcome.tables)
}

fn loaded(config: &Config) -> Result<device::Outcome, RunError> {
    device::simulate(config, &mut Options::default())
}

/// A random device that is aged one way or another.
fn aged(seed: u64) -> Config {
    let mut config = random_config(seed + 6_000_000);
    if !is_savable(&config) {
        choose(&mut config.ftl, "mapping", "page", &[]);
    }
    if seed % 4 < 2 {
        // Far from what reads come to, so that the shares tell.
        config.device.wear.read_limit = Some([1 << 20, 1 << 24]);
    }
    let page = page_size(&config);
    let volume = config.device.user_capacity / page * page;
    config.run.precondition = match seed % 9 {
        0 | 3 | 6 => Precondition::Sequential { volume },
        1 | 4 | 7 => Precondition::Random { volume: 2 * volume },
        8 => Precondition::Worn { volume: 3 * volume },
        _ => Precondition::Steady,
    };
    execute(&mut config, if seed.is_multiple_of(2) { Executor::Timed } else { Executor::Count });
    config
}

/// The same device with map units below its flash pages, if it can have them.
fn on_units(mut config: Config, seed: u64) -> Option<Config> {
    let page = config.device.page_size;
    let unit = config::print_size(u64::from(page * config.in_step().parts() / (2 << (seed % 3))));
    let seam = device::seams().into_iter().find(|seam| seam.key == "map_unit").expect("a seam");
    choose(&mut config.ftl, "map_unit", seam.find(&unit)?.name, &[]);
    config.device.blocks_per_plane += 8;
    config.device.pages_per_block += 3 * config.device.cell.bits();
    device::check(&config).is_ok().then_some(config)
}

#[test]
fn a_run_from_a_state_equals_the_run_that_aged_the_device() {
    let mut on_units_too = 0;
    let whole = (0..60).map(|seed| (seed, aged(seed)));
    let units = (100..400).filter_map(|seed| Some((seed, on_units(aged(seed), seed)?))).take(40);
    for (seed, config) in whole.chain(units) {
        on_units_too += u32::from(seed >= 100);
        let outcome = as_it_was_saved(&config, seed);
        assert_eq!(outcome.summary["precondition"]["kind"], "state");
    }
    assert_eq!(on_units_too, 40);
}

/// Blocks that a host left before they were full, since it moved their handle to new reclaim units, are as full in the file.
#[test]
fn blocks_left_by_handles_are_saved_as_full_as_they_are() {
    for executor in [Executor::Timed, Executor::Count] {
        let mut config = plain(2, 1, 1, 2, 48, 16);
        let params = [("handles", 2.into()), ("update_after", ParamValue::Size(20 * 8192))];
        choose(&mut config.ftl, "separation", "fdp", &params);
        let volume = config.device.user_capacity;
        config.run.precondition = Precondition::Sequential { volume };
        config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, volume));
        config.workload.end = End { requests: Some(500), ..End::default() };
        execute(&mut config, executor);
        let outcome = as_it_was_saved(&config, 0);
        assert!(figure(&outcome.summary, "policy.separation.unfinished_units") > 10.0);
    }
}

/// Pages of reclaim groups lie on the dies of these, and a state fits where they do.
#[test]
fn reclaim_groups_are_saved() {
    for allocation in ["CWDP", "F"] {
        let mut config = plain(2, 1, 1, 2, 48, 16);
        choose(&mut config.ftl, "allocation", allocation, &[]);
        choose(&mut config.ftl, "separation", "fdp", &[("handles", 1.into()), ("reclaim_groups", 2.into())]);
        let volume = config.device.user_capacity;
        config.run.precondition = Precondition::Random { volume };
        config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, volume));
        config.workload.end = End { requests: Some(500), ..End::default() };
        execute(&mut config, Executor::Count);
        let outcome = as_it_was_saved(&config, 0);
        assert!(figure(&outcome.summary, "flash.block_erases") > 10.0, "{allocation}");
    }
}

/// Random devices whose blocks are refreshed again and again, while they are aged too. Where read disturb has states of blocks, these
/// and their intervals begin anew when a run begins, and a state holds the rest.
#[test]
fn refreshes_from_a_state_are_those_of_the_run_that_aged_the_device() {
    let with_states = |config: &Config| !["ignore", "refresh"].contains(&config.ftl.get("read_disturb").name);
    let mut refreshed = BTreeMap::new();
    for (number, mut config) in
        (40_000_000..).map(random_config).filter(with_states).filter(is_savable).take(60).enumerate()
    {
        let volume = config.device.user_capacity / page_size(&config) * page_size(&config);
        config.run.precondition = Precondition::Random { volume: 6 * volume };
        if let Source::Generator(generator) = &mut config.workload.source {
            generator.read_fraction = 0.9;
        }
        config.workload.end = End { requests: Some(6000), ..End::default() };
        execute(&mut config, if number % 2 == 0 { Executor::Timed } else { Executor::Count });
        let outcome = as_it_was_saved(&config, number as u64);
        let disturb = &outcome.summary["policy"]["read_disturb"];
        let done = refreshed.entry(config.ftl.get("read_disturb").name).or_insert([0; 2]);
        for (count, name) in done.iter_mut().zip(["refreshes", "monitored"]) {
            *count += disturb[name].as_u64().expect("a count");
        }
    }
    assert!(refreshed.len() == 4 && refreshed.values().all(|done| done[0] > 5), "{refreshed:?}");
    assert!(refreshed.values().map(|done| done[1]).sum::<u64>() > 50, "{refreshed:?}");
}

/// Random devices with a map in flash.
fn with_map_in_flash() -> impl Iterator<Item = Config> {
    (0..).map(aged).filter(|config| config.ftl.get("mapping").name == "dftl")
}

/// Caches are saved in their order of use: what is evicted next is the same.
#[test]
fn a_map_in_flash_is_saved_with_its_cache() {
    let mut dynamic = 0;
    let of_one_page = |config: &Config| config.device.user_capacity == u64::from(config.device.page_size);
    let cases = with_map_in_flash().take(40).chain(with_map_in_flash().filter(of_one_page).take(10));
    for (number, config) in cases.enumerate() {
        as_it_was_saved(&config, number as u64);
        dynamic += u32::from(ftl::allocation::is_dynamic(config.ftl.get("allocation").name));
    }
    assert!(dynamic > 5, "{dynamic} cases of entries elsewhere than their pages");
}

/// Pages of a victim that went under the host's have moved, and their translation pages are updated when it is empty: a state has what waits.
#[test]
fn a_map_in_flash_is_saved_with_updates_that_wait_for_a_victim() {
    let mixing = |mut config: Config| {
        choose(&mut config.ftl, "paired_page", "gcmix", &[("low", 2.into()), ("high", 40.into())]);
        let planes = config.device.channels * config.device.dies_per_chip * config.device.planes_per_die;
        choose(&mut config.ftl, "mapping", "dftl", &[("cache", base::ParamValue::Size(u64::from(planes) * 16))]);
        (config.device.cell, config.device.pages_per_block) = (Cell::Mlc, config.device.pages_per_block * 2);
        config.device.blocks_per_plane += 16;
        device::check(&config).is_ok().then_some(config)
    };
    let mut saved = 0;
    for (number, mut config) in with_map_in_flash().take(200).filter_map(mixing).take(20).enumerate() {
        saved += 1;
        let volume = config.device.user_capacity / page_size(&config) * page_size(&config);
        config.run.precondition = Precondition::Random { volume: 4 * volume };
        as_it_was_saved(&config, number as u64);
    }
    assert_eq!(saved, 20, "devices that are saved");
}

const PROTECTIONS: [&str; 5] = ["lsb-backup", "parity-backup", "slc-buffer", "gcmix", "gcmix-adaptive"];

/// Random devices whose pages are protected in this way.
fn protected(scheme: &str) -> impl Iterator<Item = Config> + '_ {
    (0..).map(aged).filter(move |config| config.ftl.get("paired_page").name == scheme)
}

/// What a protection keeps (backups, buffers, victims whose erase is held back) and what covers open wordlines is the same.
#[test]
fn a_protected_device_is_saved_with_what_the_protection_keeps() {
    for scheme in PROTECTIONS {
        for (number, config) in protected(scheme).take(8).enumerate() {
            let (file, again) = (File::new(), File::new());
            let aged_here = saving(&config, &file.0);
            let outcome = loaded(&from_state(&config, &file.0))
                .unwrap_or_else(|error| panic!("{scheme}, case {number}: {error}: {config:#?}"));
            assert_eq!(fingerprint(&outcome), aged_here, "{scheme}, case {number}: {config:#?}");
            saving(&from_state(&config, &file.0), &again.0);
            assert_eq!(
                std::fs::read(&file.0).unwrap(),
                std::fs::read(&again.0).unwrap(),
                "{scheme}, case {number}: {config:#?}"
            );
        }
    }
}

#[test]
fn a_state_keeps_its_protection() {
    for scheme in PROTECTIONS {
        let config = protected(scheme).next().expect("a device");
        let file = File::new();
        saving(&config, &file.0);
        let mut other = from_state(&config, &file.0);
        choose(&mut other.ftl, "paired_page", "none", &[]);
        let text = refusal(&other);
        assert!(text.contains(&format!("was saved with `ftl.paired_page` = {scheme}")), "{text}");
        assert!(text.contains("has a protection without blocks of its own"), "{text}");
    }
}

#[test]
fn a_map_in_flash_keeps_the_size_of_its_cache() {
    let config = with_map_in_flash().next().expect("a device");
    let file = File::new();
    saving(&config, &file.0);
    let mut other = from_state(&config, &file.0);
    let cache = config.ftl.get("mapping").size("cache");
    choose(&mut other.ftl, "mapping", "dftl", &[("cache", base::ParamValue::Size(1 << 20))]);
    let text = refusal(&other);
    let saved = format!("`ftl.mapping` = dftl with a cache of {}", config::print_size(cache));
    assert!(text.contains(&saved) && text.contains("has dftl with a cache of 1MiB"), "{text}");
}

#[test]
fn a_state_saved_from_a_loaded_state_is_the_same_file() {
    let config = aged(1);
    let (first, second) = (File::new(), File::new());
    saving(&config, &first.0);
    saving(&from_state(&config, &first.0), &second.0);
    assert_eq!(std::fs::read(&first.0).unwrap(), std::fs::read(&second.0).unwrap());
}

#[test]
fn a_state_can_be_used_under_every_other_policy() {
    let mut config = aged(1);
    // Not every policy runs with a map in flash.
    choose(&mut config.ftl, "mapping", "page", &[]);
    // Regions want more free blocks than the default GC schedule holds.
    choose(&mut config.ftl, "separation", "none", &[]);
    let file = File::new();
    saving(&config, &file.0);
    for seam in ["victim", "block_allocation", "wear_leveling", "scheduler", "gc_schedule"] {
        let registered = device::seams().into_iter().find(|s| s.key == seam).expect("a seam");
        // Under `swap` cold data have active blocks of their own, so its states are of its own too.
        for choice in registered.choices.iter().filter(|choice| choice.name != "swap") {
            for executor in [Executor::Timed, Executor::Count] {
                if seam == "gc_schedule" && choice.name != "threshold" && executor == Executor::Count {
                    continue;
                }
                let mut other = from_state(&config, &file.0);
                choose(&mut other.ftl, seam, choice.name, &[]);
                if seam == "gc_schedule" {
                    let free_blocks = config.ftl.get(seam).integer("free_blocks");
                    let splits = ["dac", "sepbit", "midas", "future"].contains(&config.ftl.get("separation").name);
                    let fewer = if splits { free_blocks } else { 1 };
                    choose(&mut other.ftl, seam, choice.name, &[("free_blocks", fewer.into())]);
                }
                other.run.executor = executor;
                other.run.seed = 99;
                other.run.checks = Checks::Full;
                let outcome = loaded(&other).unwrap_or_else(|error| panic!("{seam} = {}: {error}", choice.name));
                assert!(figure(&outcome.summary, "flash.page_programs") > 0.0);
            }
        }
    }
}

/// The text of a refusal; anything else is a failure of the test.
fn refusal(config: &Config) -> String {
    match loaded(config) {
        Err(RunError::Input(text)) => text,
        Err(error) => panic!("not an error of the input: {error:?}"),
        Ok(outcome) => panic!("accepted: {}", outcome.summary["precondition"]),
    }
}

#[test]
fn a_state_that_does_not_fit_is_refused_with_the_key_and_both_values() {
    let mut config = plain(2, 2, 1, 2, 24, 24);
    config.run.precondition = Precondition::Sequential { volume: 64 * 8192 };
    config.workload.end = End { requests: Some(10), ..End::default() };
    config.workload.source = Source::Generator(generator("uniform", 8192, 0.0, 1 << 20));
    let file = File::new();
    saving(&config, &file.0);
    let fitting = from_state(&config, &file.0);
    loaded(&fitting).expect("it fits");
    let refused = |key: &str, saved: &str, wanted: &str, change: &dyn Fn(&mut Config)| {
        let mut other = fitting.clone();
        change(&mut other);
        let text = refusal(&other);
        let expected = format!("was saved with `{key}` = {saved}, and this configuration has {wanted};");
        assert!(text.contains(&expected) && text.contains(&*file.0.to_string_lossy()), "{key}: {text}");
    };
    let user = config.device.user_capacity;
    refused("device.channels", "2", "4", &|c| (c.device.channels, c.device.chips_per_channel) = (4, 1));
    refused("device.chips_per_channel", "2", "1", &|c| (c.device.chips_per_channel, c.device.dies_per_chip) = (1, 2));
    refused("device.dies_per_chip", "1", "2", &|c| (c.device.dies_per_chip, c.device.planes_per_die) = (2, 1));
    refused("device.planes_per_die", "2", "4", &|c| c.device.planes_per_die = 4);
    refused("device.blocks_per_plane", "24", "25", &|c| c.device.blocks_per_plane = 25);
    refused("device.pages_per_block", "24", "48", &|c| c.device.pages_per_block = 48);
    refused("device.page_size", "8192", "16384", &|c| c.device.page_size = 16384);
    refused("device.cell", "slc", "mlc", &|c| c.device.cell = Cell::Mlc);
    refused("device.program_order", "consecutive", "shadow", &|c| c.device.program_order = ProgramOrder::Shadow);
    refused("device.user_capacity", &user.to_string(), &(user - 8192).to_string(), &|c| c.device.user_capacity -= 8192);
    refused("ftl.allocation", "CWDP", "F2", &|c| choose(&mut c.ftl, "allocation", "F2", &[]));
    for over in ["channels", "planes", "channels-and-planes"] {
        refused("ftl.reclaim_unit", "block", &format!("superblock over {over}"), &|c| {
            choose(&mut c.ftl, "reclaim_unit", "superblock", &[("over", over.into())]);
        });
    }
    refused("ftl.separation", "none", "host-gc", &|c| choose(&mut c.ftl, "separation", "host-gc", &[]));
    refused("ftl.wear_leveling", "no active blocks for cold data", "active blocks for cold data", &|c| {
        choose(&mut c.ftl, "block_allocation", "least-worn", &[]);
        choose(&mut c.ftl, "wear_leveling", "swap", &[]);
    });
    refused("run.payload", "stamp", "none", &|c| c.run.payload = Payload::None);
}

#[test]
fn what_is_no_state_is_refused() {
    let config = aged(1);
    let good = File::new();
    saving(&config, &good.0);
    let bytes = std::fs::read(&good.0).unwrap();
    let missing = refusal(&from_state(&config, Path::new("/no/such/directory/aged.state")));
    assert!(missing.contains("the state file /no/such/directory/aged.state cannot be opened"), "{missing}");
    let directory = refusal(&from_state(&config, &std::env::temp_dir()));
    assert!(directory.contains("is not a device state\nhint: save one with"), "{directory}");
    let beginning = &bytes[..8];
    let cases: [(&[u8], &str); 6] = [
        (b"", "is not a device state"),
        (b"ftlab", "is not a device state"),
        (b"ftlabst0\0\0\0\0\0\0\0\0", "was saved by another version of ftlab"),
        (b"timestamp,host,disk,type,offset,size,response\n", "is not a device state"),
        (beginning, "is damaged"),
        (&[beginning, b"this is no compressed stream"].concat(), "is damaged"),
    ];
    for (content, expected) in cases {
        let file = File::new();
        std::fs::write(&file.0, content).unwrap();
        let text = refusal(&from_state(&config, &file.0));
        assert!(text.contains(expected) && text.contains(&*file.0.to_string_lossy()), "{text}");
    }
    let file = File::new();
    std::fs::write(&file.0, [&bytes[..], b"more"].concat()).unwrap();
    let text = refusal(&from_state(&config, &file.0));
    assert!(text.contains("is damaged"), "{text}");
}

#[test]
fn no_state_file_is_written_where_none_can_be() {
    let mut options =
        Options { save_state: Some(PathBuf::from("/no/such/directory/aged.state")), ..Options::default() };
    let error = device::simulate(&aged(1), &mut options).expect_err("no such directory");
    assert!(matches!(&error, RunError::Input(text) if text.contains("/no/such/directory/aged.state")), "{error}");
}

#[test]
fn truncated_and_flipped_files_are_refused() {
    let config = aged(1);
    let good = File::new();
    let undamaged = saving(&config, &good.0);
    let bytes = std::fs::read(&good.0).unwrap();
    let attempt = |damaged: &[u8], what: &str| {
        let file = File::new();
        std::fs::write(&file.0, damaged).unwrap();
        match loaded(&from_state(&config, &file.0)) {
            Err(RunError::Input(text)) => assert!(text.contains("state file"), "{what}: {text}"),
            Err(error) => panic!("{what}: {error:?}"),
            // A few bits of a compressed stream mean nothing: the content and its checksum stay the same.
            Ok(outcome) => {
                assert_eq!(fingerprint(&outcome), undamaged, "{what}: another state was accepted");
                return false;
            }
        }
        true
    };
    let mut random = Chance::new(1, "mutations");
    for cut in (0..40).chain((0..100).map(|_| random.below(bytes.len() as u64) as usize)) {
        assert!(attempt(&bytes[..cut], &format!("cut at {cut}")), "cut at {cut}: accepted");
    }
    let mut refused = 0;
    for _ in 0..400 {
        let (at, bit) = (random.below(bytes.len() as u64) as usize, random.below_u32(8));
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << bit;
        refused += u32::from(attempt(&damaged, &format!("bit {bit} of byte {at} flipped")));
    }
    assert!(refused > 380, "only {refused} of 400 flips were seen");
}

/// The content of a state file, uncompressed, and back.
fn unpack(bytes: &[u8]) -> Vec<u8> {
    zstd::decode_all(&bytes[8..]).expect("a stream")
}

/// `state` is one of this version, and begins as such.
fn pack(state: &[u8], content: &[u8]) -> Vec<u8> {
    [&state[..8], &zstd::encode_all(content, 1).expect("a stream")].concat()
}

/// Damage below the checksum, as a program could write it: never a panic, and what is accepted is consistent.
#[test]
fn content_that_lies_is_refused_or_harmless() {
    let mut refused = 0;
    let configs = (0..6).map(|seed| aged(3 * seed + 1)).chain(with_map_in_flash().take(6));
    let configs = configs.chain(PROTECTIONS.into_iter().flat_map(|scheme| protected(scheme).take(2)));
    for (seed, mut config) in (0..).zip(configs) {
        config.run.checks = Checks::Full;
        let good = File::new();
        saving(&config, &good.0);
        let state = std::fs::read(&good.0).unwrap();
        let content = unpack(&state);
        std::fs::write(&good.0, pack(&state, &content)).unwrap();
        loaded(&from_state(&config, &good.0)).expect("no lie");
        let mut random = Chance::new(seed, "lies");
        for number in 0..share_of(150) {
            let mut lie = content.clone();
            for _ in 0..1 + random.below(3) {
                // Numbers are of a byte and more, and those of long arrays of four.
                let at = random.below(lie.len() as u64 - 3) as usize;
                if random.below(3) == 0 {
                    lie[at] = random.next() as u8;
                    continue;
                }
                let word = match random.below(5) {
                    0 => u32::MAX,
                    1 => 0,
                    2 => random.next() as u32,
                    3 => random.below_u32(300),
                    _ => u32::from_le_bytes(lie[at..at + 4].try_into().unwrap()).wrapping_add(1),
                };
                lie[at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
            if lie == content {
                continue;
            }
            let file = File::new();
            std::fs::write(&file.0, pack(&state, &lie)).unwrap();
            let run = std::panic::AssertUnwindSafe(|| loaded(&from_state(&config, &file.0)));
            match std::panic::catch_unwind(run) {
                Ok(Err(RunError::Input(_))) => refused += 1,
                // Blocks may have been read past the limit, by another configuration.
                Ok(Err(RunError::Failed(text))) if text.starts_with("uncorrectable error: ") => {}
                Ok(Err(error)) => panic!("seed {seed}, lie {number}: {error:?}"),
                // Read counts and the order of filling may be anything.
                Ok(Ok(_)) => {}
                Err(_) => panic!("seed {seed}, lie {number} ended in a panic"),
            }
        }
    }
    assert!(refused > least(600), "only {refused} lies were seen");
}

#[test]
fn the_header_tells_what_the_state_fits() {
    let config = aged(1);
    let good = File::new();
    saving(&config, &good.0);
    let state = std::fs::read(&good.0).unwrap();
    let content = unpack(&state);
    type Header = (String, Vec<(String, String)>);
    let ((version, fits), rest): (Header, _) = postcard::take_from_bytes(&content).expect("a header");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    assert!(fits.contains(&("device.channels".into(), config.device.channels.to_string())), "{fits:?}");
    // A header that names less than this version asks for is not taken at its word, nor one that is longer than any.
    let long = "a key".repeat(1 << 18);
    for other in [fits[..3].to_vec(), vec![fits[0].clone(); 5000], vec![(long, String::new())]] {
        let lie = [&postcard::to_extend(&(&version, other), Vec::new()).unwrap()[..], rest].concat();
        let file = File::new();
        std::fs::write(&file.0, pack(&state, &lie)).unwrap();
        let text = refusal(&from_state(&config, &file.0));
        assert!(text.contains("is damaged"), "{text}");
    }
}
