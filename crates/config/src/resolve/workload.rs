//! `[workload]`: its source, its end, and the arrivals of its requests.

use base::Duration;

use super::device::nearest;
use crate::diagnostic::Diagnostic;
use crate::keys::{ARRIVALS, GENERATOR_ONLY, SOURCES, TRACE_ONLY};
use crate::model::{
    BackwardsTime, Discards, End, Executor, Generator, HintSelect, OutOfRange, Replay, Source, Workload,
};
use crate::reader::Reader;
use crate::units::{list, print_size};

/// `sizes`: user capacity and page size; `None` after a problem with them.
pub(crate) fn workload(reader: &mut Reader<'_>, sizes: Option<(u64, u64)>, needs_end: bool) -> Option<Workload> {
    let given: Vec<&str> = SOURCES.iter().copied().filter(|path| reader.tree.has(path)).collect();
    let source = match given[..] {
        ["workload.trace"] => trace(reader),
        ["workload.generator"] => generator(reader, sizes).map(Source::Generator),
        ["workload.job"] => job(reader),
        [] => {
            reader.problems.push(no_workload());
            None
        }
        [.., second] => {
            let label = format!("expected only one of {}", list(SOURCES));
            reader.refuse(second, "a workload is a trace, a generator or a job, not two of them", label);
            None
        }
    };
    // Without a capacity, a multiple of it has no value; units and types are still checked, with one that
    // cannot be the reason for a refusal.
    let capacity = sizes.map_or(1 << 20, |(capacity, _)| capacity);
    let (ends, volume) = (reader.problems.len(), reader.volume("workload.volume", capacity));
    let end = End { volume, requests: reader.count("workload.requests"), rounds: rounds(reader) };
    let trace_format = reader.name("workload.trace_format");
    let trace_columns = reader.text("workload.trace_columns");
    if trace_format.is_some() && trace_columns.is_some() {
        let title = "a trace has a format or columns, not both";
        reader.clash(&["workload.trace_columns", "workload.trace_format"], title, "expected only one of the two");
    }
    let address_offset = reader.size("workload.address_offset");
    let out_of_range: Option<OutOfRange> = reader.word("workload.out_of_range");
    let backwards_time: Option<BackwardsTime> = reader.word("workload.backwards_time");
    let discards: Option<Discards> = reader.word("workload.discards");
    let skip_bad = reader.flag("workload.skip_bad");
    let (hint, hint_parts) = (reader.count_or_counts("workload.hint"), reader.count32("workload.hint_parts"));
    let hint_select: Option<HintSelect> = reader.word("workload.hint_select");
    hints(reader, hint.as_deref(), hint_parts);
    let sound = reader.problems.len() == ends;
    if sound && needs_end && matches!(source, Some(Source::Generator(_))) && end == End::default() {
        let label = "expected `workload.volume`, for example \"2x\" (of the user capacity), or `workload.requests`";
        reader.refuse("workload.generator", "a generator needs an end", label);
    }
    if sound && needs_end && end == End::default() && source.as_ref().is_some_and(Source::is_endless) {
        let label = "expected `workload.volume` or `workload.requests`, or no `time_based=1`";
        reader.refuse("workload.job", "a job that goes by time needs an end", label);
    }
    reads_only(reader, &source, &end);
    let (capacity, _) = sizes?;
    let (address_offset, out_of_range) = (address_offset?, out_of_range?);
    partition(reader, source.as_ref(), address_offset, out_of_range, capacity);
    Some(Workload {
        source: source?,
        end,
        trace_format,
        trace_columns,
        address_offset,
        out_of_range,
        backwards_time: backwards_time?,
        discards: discards?,
        skip_bad: skip_bad?,
        hint: hint?.into_iter().map(|hint| hint as u16).collect(),
        hint_select: hint_select?,
        hint_parts: hint_parts? as u16,
        share: None,
    })
}

/// Several hints are taken in turns, and by nothing else.
fn hints(reader: &mut Reader<'_>, hints: Option<&[u32]>, parts: Option<u32>) {
    let [hint, select, several_parts] = ["workload.hint", "workload.hint_select", "workload.hint_parts"];
    let has_several = hints.is_some_and(|hints| hints.len() > 1);
    if has_several && parts.is_some_and(|parts| parts > 1) {
        let title = "a write has a hint by its address or in its turn, not both";
        reader.clash(&[hint, several_parts], title, "expected one `hint`, or no `hint_parts`");
    }
    if hints.is_some() && !has_several && reader.tree.get(select).is_some() {
        let title = "`workload.hint_select` chooses among several hints, and there is one";
        reader.refuse(select, title, "expected an array as `hint`, such as `[0, 1, 2]`, or no `hint_select`");
    }
}

const OUT_OF_RANGE: &str = "workload.out_of_range";

/// A partition begins on the device, and a generator that may not leave the device fits behind its beginning.
fn partition(reader: &mut Reader<'_>, source: Option<&Source>, offset: u64, rule: OutOfRange, capacity: u64) {
    const PATH: &str = "workload.address_offset";
    const CAPACITY: [&str; 2] = ["device.user_capacity", "device.over_provisioning"];
    if offset >= capacity {
        let title = format!("`{PATH}` of {} is past the end of the device", print_size(offset));
        let label = format!("expected less than the user capacity, {}", print_size(capacity));
        reader.clash(&[PATH, CAPACITY[0], CAPACITY[1]], title, label);
        return;
    }
    let Some(Source::Generator(generator)) = source else { return };
    if offset == 0 {
        // Its footprint is inside the device.
        let title = "has no effect on a generator without `workload.address_offset`";
        foreign(reader, &[OUT_OF_RANGE], title, "`workload.address_offset` above 0");
        return;
    }
    if rule == OutOfRange::Reject && generator.footprint > capacity - offset {
        let title = format!("the footprint behind `{PATH}` reaches past the end of the device");
        let label = format!(
            "`workload.out_of_range` is \"reject\"; expected `workload.footprint` of at most {}",
            print_size((capacity - offset) / generator.request_size * generator.request_size)
        );
        reader.clash(&[PATH, "workload.footprint", OUT_OF_RANGE, CAPACITY[0]], title, label);
    }
}

fn no_workload() -> Diagnostic {
    Diagnostic::new("there is no workload").label(
        "expected `workload.trace = \"FILE\"`, or `workload.generator = \"uniform\"` with an end such as \
         `workload.volume = \"2x\"`; or a preset to start from: `preset = \"tbm-small\"`",
    )
}

fn rounds(reader: &mut Reader<'_>) -> Option<u64> {
    reader.tree.has("workload.rounds").then(|| reader.count("workload.rounds"))?
}

/// A closed loop with time does not look at when requests come. Keys that say so are refused, unless a later layer made
/// the loop a closed one: that takes their place.
pub(crate) fn drop_arrivals(reader: &mut Reader<'_>, source: &mut Source, replay: Replay, executor: Option<Executor>) {
    let Source::Generator(generator) = source else { return };
    if matches!(replay, Replay::Open | Replay::Paced) || executor != Some(Executor::Timed) {
        return;
    }
    let closed_on = reader.tree.layer("host.replay").max(reader.tree.layer("run.executor"));
    let told = [
        generator.interval > Duration::ZERO,
        generator.poisson,
        generator.idle_every > 0,
        generator.idle_for > Duration::ZERO,
    ];
    for (path, _) in ARRIVALS.iter().zip(told).filter(|(_, told)| *told) {
        if reader.tree.layer(path) >= closed_on {
            let name = path.rsplit('.').next().unwrap_or(path);
            let title = format!("`{path}` has no effect in a closed loop");
            let label = format!(
                "a closed loop sends the next request when one is done; expected `host.replay = \"open\"`, or no `{name}`"
            );
            reader.refuse(path, title, label);
        }
    }
    (generator.interval, generator.poisson) = (Duration::ZERO, false);
    (generator.idle_every, generator.idle_for) = (0, Duration::ZERO);
}

/// A volume is never reached when nothing is written.
fn reads_only(reader: &mut Reader<'_>, source: &Option<Source>, end: &End) {
    let Some(Source::Generator(generator)) = source else { return };
    if generator.read_fraction == 1.0 && end.volume.is_some() && end.requests.is_none() {
        let label = "nothing is written at `read_fraction` 1; expected `workload.requests`";
        reader.refuse("workload.volume", "the end of the workload is never reached", label);
    }
}

fn job(reader: &mut Reader<'_>) -> Option<Source> {
    let others: Vec<&str> =
        GENERATOR_ONLY.iter().chain(TRACE_ONLY).copied().chain(["workload.address_offset"]).collect();
    foreign(reader, &others, "is not for jobs, and the workload is one", "its words in `workload.job`");
    reader.text("workload.job").map(|text| Source::Job { text })
}

fn foreign(reader: &mut Reader<'_>, paths: &[&str], title: &str, instead: &str) {
    for path in paths {
        if reader.tree.has(path) {
            let name = path.rsplit('.').next().unwrap_or(path);
            reader.refuse(path, format!("`{path}` {title}"), format!("expected no `{name}`, or {instead}"));
        }
    }
}

fn trace(reader: &mut Reader<'_>) -> Option<Source> {
    foreign(reader, GENERATOR_ONLY, "is for generators, and the workload is a trace", "`workload.generator`");
    reader.file("workload.trace").map(|path| Source::Trace { path })
}

fn generator(reader: &mut Reader<'_>, sizes: Option<(u64, u64)>) -> Option<Generator> {
    let trace_only: Vec<&str> = TRACE_ONLY.iter().copied().filter(|path| *path != OUT_OF_RANGE).collect();
    foreign(reader, &trace_only, "is for traces, and the workload is a generator", "`workload.trace`");
    let pattern = reader.choice("workload.generator", "generator");
    let request_size = match reader.tree.has("workload.request_size") {
        true => reader.size("workload.request_size"),
        false => sizes.map(|(_, page_size)| page_size),
    };
    let read_fraction = reader.number("workload.read_fraction");
    let footprint = footprint(reader, sizes.map(|(capacity, _)| capacity), request_size);
    let interval = reader.time("workload.interval");
    let poisson = reader.flag("workload.poisson");
    let idle_every = reader.count("workload.idle_every");
    let idle_for = reader.time("workload.idle_for");
    arrivals(reader, interval, poisson, idle_every, idle_for);
    Some(Generator {
        pattern: pattern?,
        request_size: request_size?,
        read_fraction: read_fraction?,
        footprint: footprint?,
        interval: interval?,
        poisson: poisson?,
        idle_every: idle_every?,
        idle_for: idle_for?,
    })
}

fn footprint(reader: &mut Reader<'_>, capacity: Option<u64>, request_size: Option<u64>) -> Option<u64> {
    const PATH: &str = "workload.footprint";
    let (given, is_part) = reader.footprint(PATH, capacity.unwrap_or(1 << 20))?;
    let (capacity, request_size) = (capacity?, request_size?);
    if given > capacity {
        let title = format!("`{PATH}` of {} is larger than the user capacity", print_size(given));
        let label = format!("`{PATH}` can be at most the user capacity, {}", print_size(capacity));
        reader.clash(&[PATH, "device.user_capacity", "device.over_provisioning"], title, label);
        return None;
    }
    let rest = given % request_size;
    if given < request_size {
        let title = format!("`{PATH}` of {} has no room for a request", print_size(given));
        let label = format!("requests are of {}; expected at least that", print_size(request_size));
        reader.clash(&[PATH, "workload.request_size"], title, label);
        return None;
    }
    if rest != 0 && !is_part {
        let title = format!("`{PATH}` is not a whole number of requests of {}", print_size(request_size));
        let near = [given - rest, given - rest + request_size].into_iter().filter(|size| *size <= capacity);
        let label = format!("{given} bytes; {}", nearest(near));
        reader.clash(&[PATH, "workload.request_size"], title, label);
        return None;
    }
    Some(given - rest)
}

/// Keys that have an effect only together.
fn arrivals(
    reader: &mut Reader<'_>,
    interval: Option<Duration>,
    poisson: Option<bool>,
    every: Option<u64>,
    length: Option<Duration>,
) {
    if poisson == Some(true) && interval == Some(Duration::ZERO) {
        let label = "expected `workload.interval` above 0, the mean time between arrivals";
        reader.clash(&["workload.poisson", "workload.interval"], "a Poisson process needs an interval", label);
    }
    match (every, length) {
        (Some(0), Some(length)) if length > Duration::ZERO => {
            let label = "expected `workload.idle_every` above 0, the requests between gaps";
            reader.clash(
                &["workload.idle_for", "workload.idle_every"],
                "`workload.idle_for` has no effect without `workload.idle_every`",
                label,
            );
        }
        (Some(every), Some(Duration::ZERO)) if every > 0 => {
            let label = "expected `workload.idle_for` above 0, the length of a gap";
            reader.clash(
                &["workload.idle_every", "workload.idle_for"],
                "`workload.idle_every` has no effect without `workload.idle_for`",
                label,
            );
        }
        _ => {}
    }
}
