//! Cache reads and cache programs: each time to the nanosecond, for one die.

use base::{ParamValue, Selection};

use super::*;

const PAGE: u64 = 8192;
/// Array times of an SLC page.
const READ: u64 = 50_021;
const PROGRAM: u64 = 500_009;

/// Cache mode with that time between two operations of the array.
fn on(choices: &'static [base::Choice], busy: u64) -> Selection {
    let mut on = Selection::default_of(choices.iter().find(|choice| choice.name == "on").expect("a choice"));
    on.set("busy", ParamValue::Time(Duration(busy)));
    on
}

fn cached(config: &Config, busy: u64) -> Config {
    let mut config = config.clone();
    *config.device.features.get_mut("cache_read") = on(base::cache::READ.choices, busy);
    *config.device.features.get_mut("cache_program") = on(base::cache::PROGRAM.choices, busy);
    config
}

/// What followed in cache mode: reads and programs.
fn followed(summary: &Value) -> (f64, f64) {
    (figure(summary, "flash.cache_mode.reads"), figure(summary, "flash.cache_mode.programs"))
}

/// The times of a stream of `count` commands of `planes` planes: of the first one's cycles and data, and the last one's end.
fn stream_of_programs(times: Times, planes: u64, count: u64, busy: u64) -> u64 {
    let transfer = times.program(planes, 0);
    let array = PROGRAM + busy;
    if transfer <= array { transfer + PROGRAM + (count - 1) * array } else { count * transfer + array }
}

fn stream_of_reads(times: Times, planes: u64, count: u64, busy: u64) -> u64 {
    let (cycles, out) = (times.command * planes, times.out() * planes);
    cycles + READ + (count - 1) * (cycles + (busy + READ).max(out)) + out + times.ecc
}

#[test]
fn a_single_request_takes_as_long_as_ever() {
    for variant in variants() {
        let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 1);
        let times = vary(&mut config, variant);
        let config = cached(&filled(&config, 3), 3_001);
        let read = replay(&config, &[(0, "Read", 0, PAGE)]);
        assert_eq!((read_latency(&read), followed(&read)), (times.read(1, READ) + times.ecc, (0.0, 0.0)));
        let write = replay(&config, &[(0, "Write", 40 * PAGE, PAGE)]);
        assert_eq!((write_latency(&write), followed(&write)), (times.program(1, PROGRAM), (0.0, 0.0)));
    }
}

/// First transfer, then the longer of array and transfer for each, whatever the channel, the DRAM and the planes.
#[test]
fn a_stream_of_programs_hides_the_shorter_of_array_and_transfer() {
    // On the slowest channel a page takes longer than its program.
    for (rate, planes) in [(333_000_000, 1), (333_000_000, 2), (11_000_003, 1)] {
        for (busy, variant) in [0, 3_001].into_iter().flat_map(|busy| variants().into_iter().map(move |v| (busy, v))) {
            let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, planes as u32);
            vary(&mut config, variant);
            config.device.timing.channel_rate = rate;
            let times = Times::of(&config);
            for count in [2, 3, 7] {
                let write = [(0, "Write", 0, count * planes * PAGE)];
                let summary = replay(&cached(&config, busy), &write);
                let expected = stream_of_programs(times, planes, count, busy);
                let what = format!("{count} of {planes} planes, {busy} ns between them, {times:?}");
                assert_eq!(write_latency(&summary), expected, "{what}");
                assert_eq!(followed(&summary), (0.0, count as f64 - 1.0), "{what}");
                assert_eq!(write_latency(&replay(&config, &write)), count * times.program(planes, PROGRAM), "{what}");
            }
        }
    }
}

#[test]
fn a_stream_of_reads_hides_the_shorter_of_array_and_transfer() {
    for (rate, planes) in [(333_000_000, 1), (333_000_000, 2), (90_000_001, 2)] {
        for (busy, variant) in [0, 3_001].into_iter().flat_map(|busy| variants().into_iter().map(move |v| (busy, v))) {
            let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, planes as u32);
            vary(&mut config, variant);
            config.device.timing.channel_rate = rate;
            let (config, times) = (filled(&config, 8 * planes), Times::of(&config));
            for count in [2, 3, 7] {
                let read = [(0, "Read", 0, count * planes * PAGE)];
                let summary = replay(&cached(&config, busy), &read);
                let what = format!("{count} of {planes} planes, {busy} ns between them, {times:?}");
                assert_eq!(read_latency(&summary), stream_of_reads(times, planes, count, busy), "{what}");
                assert_eq!(followed(&summary), (count as f64 - 1.0, 0.0), "{what}");
                let plain = count * times.read(planes, READ) + times.ecc;
                assert_eq!(read_latency(&replay(&config, &read)), plain, "{what}");
            }
        }
    }
}

/// A die with its first `pages` pages written, in cache mode, and its times.
fn die(pages: u64) -> (Config, Times) {
    let config = cached(&filled(&cells(Cell::Slc, ProgramOrder::Consecutive, 1), pages), 0);
    let times = Times::of(&config);
    (config, times)
}

/// The next program is chosen when its data can just come in time: until then a read goes before it, if the scheduler lets it.
#[test]
fn what_comes_before_the_data_have_to_set_out_is_decided_as_ever() {
    let (mut config, times) = die(12);
    choose(&mut config.ftl, "scheduler", "paq", &[]);
    let (first, bus) = (times.program(1, PROGRAM), times.bus);
    let sets_out = first - bus;
    let read = times.read(1, READ);
    let last = sets_out / 100 * 100;
    for (at, is_in_time) in [(200_000, true), (last, true), (last + 100, false)] {
        let rows = [(0, "Write", 40 * PAGE, PAGE), (0, "Write", 41 * PAGE, PAGE), (at, "Read", 0, PAGE)];
        let summary = replay(&config, &rows);
        let (second, ends) =
            if is_in_time { (first + read + bus + PROGRAM, first) } else { (first + PROGRAM, first + PROGRAM) };
        assert_eq!(ns(&summary, "host.write_latency_us.max"), second, "a read at {at}");
        assert_eq!(read_latency(&summary), ends + read - at, "a read at {at}");
        assert_eq!(followed(&summary).1, f64::from(u8::from(!is_in_time)));
    }
}

/// A read that comes while the data of another one go out is read meanwhile, and goes out when these have.
#[test]
fn a_read_that_comes_late_follows_from_then_on() {
    let (config, times) = die(12);
    for late in [100, 10_000, 24_000] {
        let second = (READ + late) / 100 * 100;
        let summary = replay(&config, &[(0, "Read", 0, PAGE), (second, "Read", PAGE, PAGE)]);
        let read = (second + READ).max(READ + times.bus) + times.bus;
        assert_eq!(ns(&summary, "host.read_latency_us.max"), read - second, "{late}");
        assert_eq!(followed(&summary).0, 1.0);
    }
    // Nothing of another kind does: a write waits until the data have left.
    let summary = replay(&config, &[(0, "Read", 0, PAGE), (60_000, "Write", 40 * PAGE, PAGE)]);
    assert_eq!(write_latency(&summary), times.read(1, READ) - 60_000 + times.program(1, PROGRAM));
    assert_eq!(followed(&summary), (0.0, 0.0));
}

/// A program is suspended only while no other one is in the cache register; then that one can be, when it runs.
#[test]
fn a_program_with_another_one_behind_it_is_not_suspended() {
    let (mut config, times) = die(12);
    let mut suspend = Selection::default_of(&base::suspend::PROGRAM.choices[1]);
    let (latency, resume, interval) = (1_003, 7_001, 50_021);
    for (name, ns) in [("latency", latency), ("resume", resume), ("interval", interval)] {
        suspend.set(name, ParamValue::Time(Duration(ns)));
    }
    *config.device.features.get_mut("program_suspend") = suspend;
    let (first, read) = (times.program(1, PROGRAM), times.read(1, READ));
    let writes = [(0, "Write", 40 * PAGE, PAGE), (0, "Write", 41 * PAGE, PAGE)];
    let late = (first - times.bus) / 100 * 100 + 100;
    // In the array time of the first one before anything follows; when data follow; and in that of the second one.
    for (at, suspended, of_first) in
        [(200_000, 200_000, true), (late, first + interval, false), (800_000, 800_000, false)]
    {
        let summary = replay(&config, &[writes[0], writes[1], (at, "Read", 0, PAGE)]);
        assert_eq!(read_latency(&summary), suspended - at + latency + read, "a read at {at}");
        assert_eq!(figure(&summary, "flash.suspends.programs"), 1.0);
        assert_eq!(followed(&summary).1, 1.0, "the second one's data come in time all the same");
        let second = first + PROGRAM + latency + read + resume;
        assert_eq!(ns(&summary, "host.write_latency_us.max"), second, "a read at {at}");
        let mean = figure(&summary, "host.write_latency_us.mean") * 2e3;
        let both = first + second + if of_first { latency + read + resume } else { 0 };
        assert!((mean - both as f64).abs() < 1.0, "a read at {at}: {mean} of {both}");
    }
}

/// With a write buffer, a dynamic allocation and whole wordlines too.
#[test]
fn wordlines_and_shared_queues_follow_in_cache_mode() {
    for allocation in ["CWDP", "F2"] {
        for one_shot in [false, true] {
            let mut config = cells(Cell::Tlc, ProgramOrder::Consecutive, 2);
            config.device.timing.program = vec![Duration(PROGRAM)];
            choose(&mut config.ftl, "allocation", allocation, &[]);
            let wordline = if one_shot { 3 } else { 1 };
            if one_shot {
                *config.device.features.get_mut("programming") =
                    Selection::default_of(&base::programming::PROGRAMMING.choices[1]);
                config.device.user_capacity = config.device.user_capacity / PAGE * 9 / 10 * PAGE;
            }
            let (config, times) = (cached(&config, 0), Times::of(&config));
            let count = 12 / wordline;
            let summary = replay(&config, &[(0, "Write", 0, 24 * PAGE)]);
            let transfer = times.program(2 * wordline, 0);
            let what = format!("{allocation}, one-shot: {one_shot}");
            assert_eq!(write_latency(&summary), transfer + count * PROGRAM, "{what}");
            assert_eq!(followed(&summary).1, count as f64 - 1.0, "{what}");
        }
    }
}

/// Cache reads, cache programs, both or neither.
pub fn random(seed: u64, device: &mut Device) {
    let mut random = engine::Chance::new(seed, "caches of tests");
    let mut draw = |choices: &'static [base::Choice]| match random.below(2) {
        0 => Selection::default_of(&choices[0]),
        _ => on(choices, [0, 0, 3_000, 400_000][random.below(4) as usize]),
    };
    *device.features.get_mut("cache_read") = draw(base::cache::READ.choices);
    *device.features.get_mut("cache_program") = draw(base::cache::PROGRAM.choices);
}

#[test]
fn cache_mode_changes_when_things_are_done_and_nothing_else() {
    let mut all = (0.0, 0.0);
    for seed in 0..24 {
        let mut config = random_config(seed + 7_800_000);
        config.run.executor = Executor::Timed;
        let mut with = cached(&config, seed % 3 * 1_500);
        // Latencies in parts have to add up.
        with.run.per_request = seed % 3 == 0;
        if seed % 2 == 0 {
            suspends::random(seed, &mut with.device);
        }
        // Pages carry stamps: each read is checked, and at the end all data are.
        let summary = run(&with);
        for path in ["host.reads", "host.writes", "host.trims", "host.bytes_written"] {
            assert_eq!(figure(&summary, path), figure(&run(&config), path), "case {seed}: {path}");
        }
        all = (all.0 + followed(&summary).0, all.1 + followed(&summary).1);
    }
    assert!(all.0 > 500.0 && all.1 > 500.0, "{all:?} in cache mode");
}
