//! Programs and erases that are suspended: each time to the nanosecond, for one die and one plane.

use base::{ParamValue, Selection};

use super::*;

/// Times of a suspend, all different: nanoseconds.
const LATENCY: u64 = 20_003;
const RESUME: u64 = 7_001;
const INTERVAL: u64 = 50_021;

fn reads(choices: &'static [base::Choice], most: u32) -> Selection {
    limited(choices, "reads", most)
}

fn limited(choices: &'static [base::Choice], name: &str, most: u32) -> Selection {
    let mut choice = Selection::default_of(choices.iter().find(|choice| choice.name == name).expect("a choice"));
    let times = [("latency", LATENCY), ("resume", RESUME), ("interval", INTERVAL)];
    times.into_iter().for_each(|(name, ns)| choice.set(name, ParamValue::Time(Duration(ns))));
    choice.set("most", most.into());
    choice
}

/// A die with its first `pages` pages written, of which programs and erases are suspended up to `most` times.
fn die(cell: Cell, pages: u64, most: u32) -> (Config, Times) {
    let mut config = filled(&cells(cell, ProgramOrder::Consecutive, 1), pages);
    *config.device.features.get_mut("program_suspend") = reads(base::suspend::PROGRAM.choices, most);
    *config.device.features.get_mut("erase_suspend") = reads(base::suspend::ERASE.choices, most);
    let times = Times::of(&config);
    (config, times)
}

const PAGE: u64 = 8192;
/// Array times of an SLC page and of a block.
const READ: u64 = 50_021;
const PROGRAM: u64 = 500_009;
const ERASE: u64 = 5_000_011;

/// The figures of a run: suspends of programs and of erases, overhead in nanoseconds.
fn suspends(summary: &Value) -> (f64, f64, f64) {
    let of = |name: &str| figure(summary, &format!("flash.suspends.{name}"));
    (of("programs"), of("erases"), (of("overhead_s") * 1e9).round())
}

/// A write at 0 and a read of another page at `at`: their latencies, and the summary.
fn read_into_a_program(config: &Config, at: u64) -> (u64, u64, Value) {
    let summary = replay(config, &[(0, "Write", 40 * PAGE, PAGE), (at, "Read", 0, PAGE)]);
    (read_latency(&summary), write_latency(&summary), summary)
}

#[test]
fn a_read_that_comes_during_a_program_suspends_it() {
    let (config, times) = die(Cell::Slc, 12, 1);
    let (begins, ends) = (times.bus, times.bus + PROGRAM);
    let read = times.read(1, READ);
    for at in [100, 20_000, begins / 100 * 100, begins + INTERVAL - 81, 100_000, 200_000, 500_000] {
        // Not before the array has worked for a while, nor while the data are on their way.
        let suspended = at.max(begins + INTERVAL);
        let (found, write, summary) = read_into_a_program(&config, at / 100 * 100);
        assert_eq!(found, suspended - at / 100 * 100 + LATENCY + read, "a read at {at}");
        assert_eq!(write, ends + LATENCY + read + RESUME, "all that was left, and the overhead; a read at {at}");
        assert_eq!(suspends(&summary), (1.0, 0.0, (LATENCY + RESUME) as f64));
        // The array is not busy while it is suspended, but for the read.
        let of = |kind: &str| figure(&summary, &format!("utilisation.die.{kind}")) * write as f64;
        assert!((of("program") - (PROGRAM + LATENCY + RESUME) as f64).abs() < 1.0, "{}", of("program"));
        assert!((of("read") - READ as f64).abs() < 1.0, "{}", of("read"));
    }
}

/// In steps of a quarter of the program it stops where one, two or three of them are left.
#[test]
fn an_array_that_works_in_steps_stops_between_them() {
    const STEP: u64 = PROGRAM / 4;
    let (mut config, times) = die(Cell::Slc, 12, 1);
    config.device.features.get_mut("program_suspend").set("step", ParamValue::Time(Duration(STEP)));
    let (begins, ends) = (times.bus, times.bus + PROGRAM);
    let read = times.read(1, READ);
    for at in (0..6).map(|sixth| (begins + INTERVAL + sixth * PROGRAM / 6) / 100 * 100) {
        let (found, write, summary) = read_into_a_program(&config, at);
        let stops = (1..=3).rev().map(|left| ends - left * STEP).find(|stops| *stops >= at.max(begins + INTERVAL));
        let Some(stops) = stops else {
            // The last step is not broken off, and the read waits for the end.
            assert_eq!((found, write), (ends - at + read, ends), "a read at {at}");
            assert_eq!(suspends(&summary).0, 0.0);
            continue;
        };
        assert_eq!(found, stops - at + LATENCY + read, "a read at {at}");
        assert_eq!(write, ends + LATENCY + read + RESUME, "a read at {at}");
    }
}

#[test]
fn a_program_that_ends_before_the_array_would_take_reads_is_not_suspended() {
    let (mut config, times) = die(Cell::Slc, 12, 1);
    // Times that end with a tick of the trace.
    config.device.timing.program = vec![Duration(500_000 - times.bus % 100)];
    let ends = times.bus + config.device.timing.program[0].0;
    for (latency, is_suspended) in [(100, false), (99, true), (101, false)] {
        config.device.features.get_mut("program_suspend").set("latency", ParamValue::Time(Duration(latency)));
        let (found, write, summary) = read_into_a_program(&config, ends - 100);
        let (wait, overhead) = if is_suspended { (latency, latency + RESUME + times.read(1, READ)) } else { (100, 0) };
        assert_eq!(found, wait + times.read(1, READ), "a latency of {latency}");
        assert_eq!(write, ends + overhead);
        assert_eq!(suspends(&summary).0, f64::from(u8::from(is_suspended)));
    }
}

#[test]
fn an_operation_is_suspended_so_often_and_works_so_long_in_between() {
    let (config, times) = die(Cell::Slc, 12, 2);
    let read = times.read(1, READ);
    let first = 150_000;
    let resumed = first + LATENCY + read + RESUME;
    // The second one comes soon after the resume, the third one after the second, when nothing is suspended any more.
    let second = (resumed + 1_000) / 100 * 100;
    let suspended = resumed + INTERVAL;
    let third = (suspended + LATENCY + read + RESUME + INTERVAL + 1_000) / 100 * 100;
    let rows = [
        (0, "Write", 40 * PAGE, PAGE),
        (first, "Read", 0, PAGE),
        (second, "Read", PAGE, PAGE),
        (third, "Read", 2 * PAGE, PAGE),
    ];
    let summary = replay(&config, &rows);
    let ends = times.bus + PROGRAM + 2 * (LATENCY + read + RESUME);
    assert_eq!(write_latency(&summary), ends);
    assert_eq!(suspends(&summary), (2.0, 0.0, (2 * (LATENCY + RESUME)) as f64));
    let latencies = [LATENCY + read, suspended - second + LATENCY + read, ends - third + read];
    assert_eq!(ns(&summary, "host.read_latency_us.max"), latencies[2]);
    let mean = figure(&summary, "host.read_latency_us.mean") * 1e3;
    assert!((mean - latencies.iter().sum::<u64>() as f64 / 3.0).abs() < 0.5, "{mean} of {latencies:?}");
}

#[test]
fn reads_that_come_while_an_operation_is_suspended_are_done_before_it_goes_on() {
    let (config, times) = die(Cell::Slc, 12, 1);
    let read = times.read(1, READ);
    let rows = [
        (0, "Write", 40 * PAGE, PAGE),
        (200_000, "Read", 0, PAGE),
        (200_100, "Read", PAGE, PAGE),
        (250_000, "Read", 2 * PAGE, PAGE),
    ];
    let summary = replay(&config, &rows);
    assert_eq!(write_latency(&summary), times.bus + PROGRAM + LATENCY + 3 * read + RESUME);
    assert_eq!(suspends(&summary).0, 1.0);
    assert_eq!(ns(&summary, "host.read_latency_us.max"), LATENCY + 3 * read - 50_000);
}

/// What is half programmed cannot be read: neither the page itself nor the lower pages of its wordline.
#[test]
fn the_wordline_that_is_programmed_is_read_when_it_is_done() {
    let (config, times) = die(Cell::Mlc, 13, 4);
    // The thirteenth page is the LSB page of the wordline that the write completes.
    let ends = times.bus + 900_001;
    for (page, waits) in [(12, true), (40, true), (0, false), (11, false)] {
        let read = times.read(1, [50_021, 70_001][if page == 11 || page == 40 { 1 } else { 0 }]);
        let summary = replay(&config, &[(0, "Write", 40 * PAGE, PAGE), (300_000, "Read", page * PAGE, PAGE)]);
        let wait = if waits { ends - 300_000 } else { LATENCY };
        assert_eq!(read_latency(&summary), wait + read, "page {page}");
        assert_eq!(suspends(&summary).0, f64::from(u8::from(!waits)));
        assert_eq!(write_latency(&summary), ends + if waits { 0 } else { LATENCY + read + RESUME });
    }
    // One that has to wait holds up no other.
    let rows = [(0, "Write", 40 * PAGE, PAGE), (300_000, "Read", 40 * PAGE, PAGE), (300_000, "Read", 0, PAGE)];
    let summary = replay(&config, &rows);
    let ends = ends + LATENCY + times.read(1, 50_021) + RESUME;
    assert_eq!(write_latency(&summary), ends);
    assert_eq!(ns(&summary, "host.read_latency_us.max"), ends - 300_000 + times.read(1, 70_001));
}

#[test]
fn a_read_that_comes_during_an_erase_suspends_it() {
    let (mut config, times) = die(Cell::Slc, 12, 1);
    config.run.precondition = Precondition::None;
    // One page is written again and again: victims have nothing to move. The write after which the first one is erased:
    let rows = |writes: u64| (0..writes).map(|i| (i * APART, "Write", 0, PAGE)).collect::<Vec<_>>();
    let first = (1..400).find(|&writes| figure(&replay(&config, &rows(writes)), "flash.block_erases") > 0.0);
    let first = first.expect("a collection");
    let begins = (first - 1) * APART + times.bus + PROGRAM;
    let at = (begins + 1_000_000) / 100 * 100;
    let mut rows = rows(first);
    rows.extend([(at, "Read", 0, PAGE), (at + 100, "Write", 0, PAGE)]);
    let summary = replay(&config, &rows);
    let read = times.read(1, READ);
    assert_eq!(read_latency(&summary), LATENCY + read);
    // The write waits for the end of the erase.
    let ends = begins + ERASE + LATENCY + read + RESUME;
    assert_eq!(ns(&summary, "host.write_latency_us.max"), ends - (at + 100) + times.program(1, PROGRAM));
    assert_eq!(suspends(&summary), (0.0, 1.0, (LATENCY + RESUME) as f64));
}

/// Two planes; the victim of plane 0 is erased from `begins` on, and writes to plane 1 come meanwhile. Gives the summary of the trace
/// that `rows` adds to.
fn erased_beside(suspend: Selection, rows: &[(u64, &'static str, u64)]) -> (Value, u64, Times) {
    let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 2);
    *config.device.features.get_mut("erase_suspend") = suspend;
    erased_on(&config, rows)
}

/// The same on a device; pages of the rows are of a quarter of a flash page where it has units.
fn erased_on(config: &Config, rows: &[(u64, &'static str, u64)]) -> (Value, u64, Times) {
    let times = Times::of(config);
    let size = u64::from(config.device.page_size);
    let writes = |writes: u64| (0..writes).map(|i| (i * APART, "Write", 0, size)).collect::<Vec<_>>();
    let first = (1..400).find(|&count| figure(&replay(config, &writes(count)), "flash.block_erases") > 0.0);
    let first = first.expect("a collection");
    let begins = (first - 1) * APART + times.bus + PROGRAM;
    let mut all = writes(first);
    all.extend(rows.iter().map(|&(at, kind, page)| ((begins + at) / 100 * 100, kind, page * PAGE, PAGE)));
    (replay(config, &all), begins, times)
}

/// How long units wait for the rest of their flash page.
const PAD_AFTER: u64 = 500_000;

/// Four units of a flash page of plane 1 come while the victim of plane 0 is erased: the erase is suspended when they are whole, or are to
/// be filled up, and not before.
#[test]
fn units_gather_while_an_erase_goes_on() {
    let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 2);
    config.device.page_size = 4 * PAGE as u32;
    choose(&mut config.ftl, "map_unit", "8KiB", &[("pad_after", ParamValue::Time(Duration(PAD_AFTER)))]);
    let suspend = |most| limited(base::suspend::ERASE.choices, "reads-and-writes", most);
    let ms = 1_000_000;
    let four = |kind: &'static str, apart: u64| -> Vec<_> { (0..4).map(|i| (ms + i * apart, kind, 4 + i)).collect() };
    let latency = |summary: &Value| ns(summary, "host.write_latency_us.max");
    *config.device.features.get_mut("erase_suspend") = suspend(1);
    // The last one comes after the others.
    let (summary, begins, times) = erased_on(&config, &four("Write", 100_000));
    let program = times.program(1, PROGRAM);
    assert_eq!(latency(&summary), 300_000 + LATENCY + program);
    assert_eq!(suspends(&summary), (0.0, 1.0, (LATENCY + RESUME) as f64));
    // It never comes; or the host waits for the first.
    let (summary, ..) = erased_on(&config, &four("Write", 100_000)[..3]);
    assert_eq!(latency(&summary), PAD_AFTER + LATENCY + program);
    assert_eq!(figure(&summary, "flash.by_cause.pad.programs"), 0.25);
    let (summary, ..) = erased_on(&config, &[(ms, "FUA", 4)]);
    assert_eq!((latency(&summary), suspends(&summary).1), (LATENCY + program, 1.0));
    // Of two flash pages the second one waits for the end of the erase, and goes before what comes then.
    let mut rows = four("Write", 0);
    rows.extend((0..4).map(|i| (ms, "Write", 12 + i)));
    let (summary, ..) = erased_on(&config, &rows);
    let ends = begins + ERASE + LATENCY + RESUME + program;
    assert_eq!(latency(&summary), ends + program - (begins + ms) / 100 * 100);
    assert_eq!(suspends(&summary).1, 1.0);
    // Until a flash page is programmed its units are in the controller; what has gathered suspends nothing for a read.
    rows.extend([(ms + 100, "Read", 4), (ms + 100, "Read", 12), (ms + 100_000, "Read", 12)]);
    let (summary, ..) = erased_on(&config, &rows);
    assert_eq!((ns(&summary, "host.read_latency_us.max"), suspends(&summary).1), (0, 1.0));
    // Units of the plane whose victim is erased wait for that.
    let (summary, ..) = erased_on(&config, &[(ms, "FUA", 0)]);
    assert_eq!(latency(&summary), begins + ERASE + program - (begins + ms) / 100 * 100);
    assert_eq!(suspends(&summary).1, 0.0);
}

#[test]
fn a_write_to_another_plane_suspends_an_erase() {
    let at = 1_000_000;
    for (name, is_suspended) in [("reads", false), ("reads-and-writes", true)] {
        let suspend = limited(base::suspend::ERASE.choices, name, 1);
        let (summary, begins, times) = erased_beside(suspend, &[(at, "Write", 1)]);
        let at = (begins + at) / 100 * 100;
        let wait = if is_suspended { LATENCY } else { begins + ERASE - at };
        assert_eq!(ns(&summary, "host.write_latency_us.max"), wait + times.program(1, PROGRAM), "{name}");
        assert_eq!(suspends(&summary).1, f64::from(u8::from(is_suspended)));
    }
}

/// One program each time, and after the next interval another one; reads that wait go first. A write to the plane whose victim is
/// erased waits for the end.
#[test]
fn an_erase_lets_so_many_writes_by() {
    let at = 1_000_000;
    let rows = [(at, "Write", 1), (at, "Write", 3), (at, "Read", 0), (at + 100, "Write", 0)];
    let read = |times: Times| times.read(1, READ);
    for (programs, most) in [(1, 2), (2, 1)] {
        let mut suspend = limited(base::suspend::ERASE.choices, "reads-and-writes", most);
        suspend.set("programs", programs.into());
        let (summary, begins, times) = erased_beside(suspend, &rows);
        let program = times.program(1, PROGRAM);
        let overhead = u64::from(most) * (LATENCY + RESUME);
        let ends = begins + ERASE + overhead + read(times) + 2 * program;
        let last = ends + program - (begins + at + 100) / 100 * 100;
        assert_eq!(ns(&summary, "host.write_latency_us.max"), last, "{programs} programs, {most} suspends");
        assert_eq!(suspends(&summary), (0.0, f64::from(most), overhead as f64));
        assert_eq!(read_latency(&summary), LATENCY + read(times), "{programs} programs, {most} suspends");
    }
}

#[test]
fn erases_are_not_suspended_for_writes_that_wait_for_no_die() {
    let base = cells(Cell::Slc, ProgramOrder::Consecutive, 2);
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = base.clone();
        *config.device.features.get_mut("erase_suspend") = Selection::default_of(&base::suspend::ERASE.choices[2]);
        change(&mut config);
        device::check(&config).err().map(|refusal| refusal.to_string())
    };
    assert_eq!(refused(&|_| {}), None);
    for (word, change) in [
        (
            "any die that is free",
            &(|config: &mut Config| choose(&mut config.ftl, "allocation", "F", &[])) as &dyn Fn(&mut Config),
        ),
        ("collected together", &|config| choose(&mut config.ftl, "reclaim_unit", "twin", &[])),
        ("collected together", &|config| {
            let erase_suspend = config.device.features.get("erase_suspend").clone();
            config.device = cells(Cell::Slc, ProgramOrder::Consecutive, 1).device;
            *config.device.features.get_mut("erase_suspend") = erase_suspend;
        }),
        ("two passes", &|config| {
            (config.device.cell, config.device.program_order) = (Cell::Mlc, ProgramOrder::Consecutive);
            *config.device.features.get_mut("programming") =
                Selection::default_of(&base::programming::PROGRAMMING.choices[2]);
        }),
    ] {
        let found = refused(change).expect("a refusal");
        assert!(found.contains("device.erase_suspend") && found.contains(word), "{found}");
    }
}

/// GC that reads do not interrupt is not interrupted this way either.
#[test]
fn a_collection_that_holds_reads_is_not_suspended() {
    for (gc, is_suspended) in [("preemptible", true), ("non-preemptible", false)] {
        let mut config = cells(Cell::Slc, ProgramOrder::Consecutive, 1);
        choose(&mut config.ftl, "scheduler", "fifo", &[("gc", gc.into())]);
        let writes = config.device.user_capacity / PAGE;
        config = filled(&config, writes);
        *config.device.features.get_mut("erase_suspend") = reads(base::suspend::ERASE.choices, 8);
        *config.device.features.get_mut("program_suspend") = reads(base::suspend::PROGRAM.choices, 8);
        // Overwrites at random places begin collections; reads come all the time.
        let rows = (0..400u64).flat_map(|i| {
            [(i * 4_000_000, "Write", i * 7 % writes * PAGE, PAGE), (i * 4_000_000 + 3_000_000, "Read", 0, PAGE)]
        });
        let summary = replay(&config, &rows.collect::<Vec<_>>());
        assert!(figure(&summary, "flash.block_erases") > 5.0);
        assert_eq!(suspends(&summary).1 > 0.0, is_suspended, "{gc}");
    }
}

/// Programs, erases, or both are suspended, or neither.
pub fn random(seed: u64, device: &mut Device) {
    let [program, erase] = crate::common::suspends(&mut engine::Chance::new(seed, "suspends"));
    *device.features.get_mut("program_suspend") = program;
    *device.features.get_mut("erase_suspend") = erase;
}

/// Latencies of reads fall and nothing else of the data changes, whatever runs; no track does two things at once, which
/// `no_resource_does_two_things_at_once` sees to.
#[test]
fn suspends_change_when_things_are_done_and_nothing_else() {
    let (mut total, mut for_writes) = (0.0, 0);
    for seed in 0..16 {
        let mut config = random_config(seed + 7_700_000);
        config.run.executor = Executor::Timed;
        config.workload.source = match config.workload.source {
            Source::Generator(of) => Source::Generator(Generator { read_fraction: 0.5, ..of }),
            other => other,
        };
        let mut with = config.clone();
        // Latencies in parts have to add up.
        with.run.per_request = seed % 3 == 0;
        random(seed, &mut with.device);
        if seed % 2 == 0 {
            let before = with.device.features.get("erase_suspend").clone();
            *with.device.features.get_mut("erase_suspend") =
                limited(base::suspend::ERASE.choices, "reads-and-writes", 4);
            if device::check(&with).is_ok() {
                for_writes += 1;
            } else {
                *with.device.features.get_mut("erase_suspend") = before;
            }
        }
        // Pages carry stamps: each read is checked, and at the end all data are.
        let summary = run(&with);
        for path in ["host.reads", "host.writes", "host.trims", "host.bytes_written"] {
            assert_eq!(figure(&summary, path), figure(&run(&config), path), "case {seed}: {path}");
        }
        total += suspends(&summary).0 + suspends(&summary).1;
    }
    assert!(total > 200.0 && for_writes > 1, "{total} suspends, {for_writes} devices with suspends for writes");
}
