//! `run.sample`: a part of a device and of its workload, in place of the whole.
//!
//! WAF of a page-mapped device does not depend on how many blocks it has, as long as they are many: a 64th of the blocks under the
//! requests to a 64th of the places reclaims as the whole does. This file reads the keys and makes the configuration of the part;
//! `workload` leaves out the other places, `device` runs the samples.
//! Sampling by a hash of places is that of SHARDS (Waldspurger et al., FAST '15) and of its miniature simulations (ATC '17).

use base::ParamValue;
use serde_json::{Value, json};

use crate::document::Value as Given;
use crate::keys::Kind;
use crate::model::{Config, Device, Executor, Generator, PlaceShare, Precondition, Sample, Source, in_step};
use crate::reader::{Reader, expected};
use crate::units::{list, print_size};

const SAMPLE: &str = "run.sample";
const HASHES: &str = "run.sample_hashes";
const RUN: &str = "run.sample_run";

/// Blocks below which the part is no likeness of the whole. Open blocks and those held free are then more than some per cent of it, and
/// what a single block holds moves WAF.
pub const BLOCKS_MIN: u64 = 2000;

/// A sample that cannot stand for the whole.
#[derive(Debug)]
pub struct Refused {
    /// The key to point at.
    pub key: &'static str,
    /// The fault.
    pub message: String,
    /// The cure.
    pub help: String,
}

/// The keys of `[run]`; `None` after a problem with them.
pub(crate) fn read(reader: &mut Reader<'_>, page_size: Option<u64>) -> Option<Option<Sample>> {
    let one_in = part_of(reader)?;
    let hashes = reader.count(HASHES);
    let Some(one_in) = one_in else {
        for path in [HASHES, RUN] {
            if reader.tree.has(path) {
                let title = format!("`{path}` has no effect without `{SAMPLE}`");
                reader.refuse(
                    path,
                    title,
                    format!("expected `{SAMPLE}` as \"1/64\", or no `{}`", &path["run.".len()..]),
                );
            }
        }
        return Some(None);
    };
    let hashes = hashes?;
    if hashes > u64::from(one_in) && reader.tree.has(HASHES) {
        let title = format!("there are only {one_in} samples of a 1/{one_in} each");
        reader.clash(&[HASHES, SAMPLE], title, format!("expected `sample_hashes` of {one_in} at most"));
        return None;
    }
    Some(Some(Sample { one_in, hashes: (hashes as u32).min(one_in), run: run_of(reader, page_size?)? }))
}

/// One place in so many; `Some(None)` where all are simulated.
fn part_of(reader: &mut Reader<'_>) -> Option<Option<u32>> {
    let node = reader.raw(SAMPLE)?;
    let max = match reader.keys.iter().find(|key| key.is_at(SAMPLE))?.kind {
        Kind::Part { max } => max,
        _ => panic!("`{SAMPLE}` is a part"),
    };
    let Given::String(text) = &node.value else {
        reader.unexpected(SAMPLE, &node);
        return None;
    };
    if text == "off" {
        return Some(None);
    }
    let parts = text.split_once('/').map(|(one, of)| (one.trim(), of.trim().parse::<u64>()));
    match parts {
        Some(("1", Ok(of))) if (2..=max).contains(&of) => Some(Some(of as u32)),
        _ => {
            let title = format!("`{SAMPLE}` is no part of a device");
            reader.problem(
                &node.place,
                title,
                format!("found {}; expected {}", node.found(), expected(Kind::Part { max })),
            );
            None
        }
    }
}

fn run_of(reader: &mut Reader<'_>, page_size: u64) -> Option<u64> {
    if !reader.tree.has(RUN) {
        // A plane of the part gets what a plane of the whole would: neighbouring pages are on other planes.
        return Some(page_size);
    }
    let run = reader.size(RUN)?;
    if run.is_multiple_of(page_size) {
        return Some(run);
    }
    let title = format!("`{RUN}` is not a whole number of pages of {}", print_size(page_size));
    let label = format!("{run} bytes; the next is {}", print_size(run.next_multiple_of(page_size)));
    reader.clash(&[RUN, "device.page_size"], title, label);
    None
}

/// The keys as they are read back.
pub(crate) fn printed(sample: Sample) -> [(&'static str, Value); 3] {
    [
        ("sample", json!(format!("1/{}", sample.one_in))),
        ("sample_hashes", json!(sample.hashes)),
        ("sample_run", json!(print_size(sample.run))),
    ]
}

/// The sample of this number of a configuration that asks for samples: a smaller device under a share of the places.
///
/// # Errors
/// Where a part cannot stand for the whole.
///
/// # Panics
/// If the configuration asks for none.
pub fn part(config: &Config, number: u32) -> Result<Config, Refused> {
    let sample = config.run.sample.expect("a configuration that asks for samples");
    check(config)?;
    let mut part = config.clone();
    let one_in = u64::from(sample.one_in);
    part.run.sample = None;
    // The first sample of a generator draws what the whole would.
    part.run.seed = config.run.seed.wrapping_add(u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    shrink(&mut part.device, &config.ftl, sample)?;
    // Whatever policies count in bytes is room for a number of pages of the whole.
    let page_size = u64::from(config.device.page_size);
    for (_, selection) in &mut part.ftl.made {
        for (_, value) in &mut selection.params {
            if let ParamValue::Size(bytes) = value {
                *bytes = (*bytes / one_in).next_multiple_of(page_size);
            }
        }
    }
    match &mut part.run.precondition {
        Precondition::Sequential { volume } | Precondition::Random { volume } | Precondition::Worn { volume } => {
            *volume = (*volume / one_in).max(1);
        }
        Precondition::None | Precondition::Steady | Precondition::Workload | Precondition::State { .. } => {}
    }
    let workload = &mut part.workload;
    let whole_end = workload.end.clone();
    workload.share = Some(PlaceShare {
        one_in: sample.one_in,
        number,
        run: sample.run,
        seed: config.run.seed,
        whole_capacity: config.device.user_capacity,
        whole_end,
    });
    if let Source::Generator(generator) = &mut workload.source {
        let room = part.device.user_capacity;
        workload.address_offset = workload.address_offset / one_in / page_size * page_size;
        of_generator(generator, one_in, room - workload.address_offset);
        let divided = |count: Option<u64>| count.map(|count| (count / one_in).max(1));
        workload.end.volume = divided(workload.end.volume);
        workload.end.requests = divided(workload.end.requests);
    }
    Ok(part)
}

/// A generator makes a part's requests by itself: in a part of the footprint, at a part of the rate.
fn of_generator(generator: &mut Generator, one_in: u64, room: u64) {
    let size = generator.request_size;
    generator.footprint = (generator.footprint / one_in).min(room) / size * size;
    generator.footprint = generator.footprint.max(size);
    generator.interval.0 = generator.interval.0.saturating_mul(one_in);
    if generator.idle_every > 0 {
        generator.idle_every = (generator.idle_every / one_in).max(1);
    }
}

/// A part of the chips, dies and channels, so that each plane stays as it is; then of the blocks. Channels stay where they are in step.
fn shrink(device: &mut Device, ftl: &base::Choices, sample: Sample) -> Result<(), Refused> {
    let steps = in_step(device, ftl);
    let whole = device.clone();
    let left = divide(device, steps.channels > 1, u64::from(sample.one_in));
    if left.is_none() || device.blocks() < BLOCKS_MIN {
        return Err(wrong_part(&whole, steps.channels > 1, sample));
    }
    let superpage = u64::from(steps.parts()) * u64::from(device.page_size);
    let runs = whole.user_capacity.div_ceil(sample.run).div_ceil(u64::from(sample.one_in));
    device.user_capacity = (runs * sample.run).next_multiple_of(superpage);
    let raw = device.blocks() * u64::from(device.pages_per_block) * u64::from(device.page_size);
    device.over_provisioning = (raw as f64 - device.user_capacity as f64) / device.user_capacity as f64;
    if device.user_capacity >= raw {
        return Err(Refused {
            key: RUN,
            message: format!(
                "rounded up to whole runs of {}, a 1/{} has no spare space",
                print_size(sample.run),
                sample.one_in
            ),
            help: format!("set `{RUN}` to less than the spare of the part"),
        });
    }
    Ok(())
}

/// Divides the device by `parts`; `None` where that leaves a fraction of something.
fn divide(device: &mut Device, keeps_channels: bool, mut parts: u64) -> Option<()> {
    let one = &mut 1;
    let channels = if keeps_channels { one } else { &mut device.channels };
    let counts = [&mut device.chips_per_channel, &mut device.dies_per_chip, channels, &mut device.blocks_per_plane];
    for count in counts {
        let common = greatest_common_divisor(u64::from(*count), parts);
        *count = (u64::from(*count) / common) as u32;
        parts /= common;
    }
    (parts == 1).then_some(())
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// A part that is too small or leaves fractions, and the nearest ones that do not.
fn wrong_part(whole: &Device, keeps_channels: bool, sample: Sample) -> Refused {
    let all = whole.blocks();
    let fits = |parts: &u64| divide(&mut whole.clone(), keeps_channels, *parts).is_some();
    let most = all / BLOCKS_MIN;
    let wanted = u64::from(sample.one_in);
    let below = (2..=most.min(wanted)).rev().find(fits);
    let above = (wanted..=most.min(wanted * 4)).find(fits);
    let near: Vec<String> = [below, above].into_iter().flatten().map(|parts| format!("\"1/{parts}\"")).collect();
    let message = match all / wanted {
        left if left < BLOCKS_MIN => format!(
            "a 1/{wanted} of {all} blocks is {left}, and a sample has {BLOCKS_MIN} or more: fewer do not reclaim as the whole does"
        ),
        _ => format!("{all} blocks on the chips of this device cannot be divided into {wanted} equal parts"),
    };
    let help = match near.is_empty() {
        true => format!("simulate the whole (`{SAMPLE} = \"off\"`), which is small enough"),
        false => format!("set `{SAMPLE}` to {}", list(near)),
    };
    Refused { key: SAMPLE, message, help }
}

/// Refuses what a part of the device cannot show.
fn check(config: &Config) -> Result<(), Refused> {
    let refuse = |key, message: String, help: &str| Err(Refused { key, message, help: help.into() });
    if config.run.executor == Executor::Timed {
        let message =
            "a sample has a part of the chips and of the requests, so its times say nothing of the whole".into();
        return refuse("run.executor", message, "set `run.executor` to \"count\", or `run.sample` to \"off\"");
    }
    if config.ftl.get("mapping").name == "fast" {
        let message = "hybrid mapping merges whole blocks of addresses, of which a sample has parts".into();
        return refuse("ftl.mapping", message, "set `ftl.mapping` to \"page\", or `run.sample` to \"off\"");
    }
    if config.ftl.get("allocation").own.is_some() {
        let message = "an allocation of your own is a table of the whole device's pages".into();
        return refuse("ftl.allocation", message, "choose a registered one, or set `run.sample` to \"off\"");
    }
    if matches!(config.run.precondition, Precondition::State { .. }) {
        let message = "the state of a whole device cannot be loaded into a sample of it".into();
        return refuse("run.precondition", message, "age the sample itself, for example with \"steady\"");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors() {
        assert_eq!(greatest_common_divisor(12, 64), 4);
        assert_eq!(greatest_common_divisor(7, 64), 1);
        assert_eq!(greatest_common_divisor(64, 64), 64);
    }
}
