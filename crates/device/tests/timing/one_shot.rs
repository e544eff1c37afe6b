//! Wordlines that are programmed in one shot: times, what waits, what is filled up, and that nothing is lost.

use base::{ParamValue, Selection};

use super::*;

/// The program of a wordline, and how long one waits that is not complete: nanoseconds.
const PROGRAM: u64 = 700_001;
const PAD_AFTER: u64 = 900_000;

fn one_shot() -> Selection {
    let mut choice = Selection::default_of(&base::programming::PROGRAMMING.choices[1]);
    choice.set("pad_after", ParamValue::Time(Duration(PAD_AFTER)));
    choice
}

/// A die of `planes` planes of TLC that programs wordlines.
fn die(planes: u32) -> (Config, Times) {
    let mut config = cells(Cell::Tlc, ProgramOrder::Consecutive, planes);
    *config.device.features.get_mut("programming") = one_shot();
    config.device.timing.program = vec![Duration(PROGRAM); 3];
    // A victim's copies take dummy pages to the end of their wordlines.
    config.device.user_capacity = config.device.user_capacity / PAGE * 9 / 10 * PAGE;
    let times = vary(&mut config, (Duration(700), None, Duration(3_001)));
    (config, times)
}

const PAGE: u64 = 8192;

#[test]
fn a_wordline_is_programmed_when_its_last_page_is_there() {
    for planes in [1, 2, 4] {
        let (config, times) = die(planes);
        let pages = 3 * u64::from(planes);
        let summary = replay(&config, &[(0, "Write", 0, pages * PAGE)]);
        assert_eq!(write_latency(&summary), times.program(pages, PROGRAM), "{planes} planes");
        assert_eq!(figure(&summary, "flash.page_programs"), pages as f64);
        assert_eq!(figure(&summary, "flash.multiplane.program_fraction"), f64::from(u8::from(planes > 1)));
        // Two wordlines, one after the other.
        let summary = replay(&config, &[(0, "Write", 0, 2 * pages * PAGE)]);
        assert_eq!(write_latency(&summary), 2 * times.program(pages, PROGRAM), "{planes} planes");
        assert_eq!(figure(&summary, "waf_units"), 1.0);
    }
}

#[test]
fn pages_wait_for_the_rest_of_their_wordline() {
    let (config, times) = die(1);
    let last = 400_000;
    let rows = [(0, "Write", 0, PAGE), (100_000, "Write", PAGE, PAGE), (last, "Write", 2 * PAGE, PAGE)];
    let summary = replay(&config, &rows);
    let took = times.program(3, PROGRAM);
    assert_eq!(ns(&summary, "host.write_latency_us.max"), last + took);
    let mean = figure(&summary, "host.write_latency_us.mean") * 1e3;
    assert!((mean - (3 * took + 2 * last - 100_000) as f64 / 3.0).abs() < 0.5, "{mean}");
    assert_eq!(figure(&summary, "flash.page_programs"), 3.0);
    // The controller has them meanwhile, and flash does when they are programmed.
    let read = |at: u64| {
        let mut rows = rows.to_vec();
        rows.push((at, "Read", PAGE, PAGE));
        rows.sort_unstable();
        let summary = replay(&config, &rows);
        (read_latency(&summary), figure(&summary, "flash.page_reads"))
    };
    assert_eq!(read(200_000), (0, 0.0));
    assert_eq!(read(APART), (times.read(1, 70_001) + times.ecc, 1.0));
}

#[test]
fn a_wordline_that_nobody_completes_is_filled_up() {
    let (config, times) = die(1);
    let took = PAD_AFTER + times.program(3, PROGRAM);
    for written in [1, 2] {
        let summary = replay(&config, &[(0, "Write", 0, written * PAGE)]);
        assert_eq!(write_latency(&summary), took, "{written} pages");
        assert_eq!(figure(&summary, "flash.by_cause.host.programs"), written as f64);
        assert_eq!(figure(&summary, "flash.by_cause.pad.programs"), (3 - written) as f64);
    }
    // The first page counts. The next one after it begins a wordline of its own.
    let rows = [(0, "Write", 0, PAGE), (800_000, "Write", PAGE, PAGE), (APART, "Write", 2 * PAGE, PAGE)];
    let summary = replay(&config, &rows);
    assert_eq!(ns(&summary, "host.write_latency_us.max"), took);
    assert_eq!(figure(&summary, "flash.by_cause.pad.programs"), 3.0);
    // A flush waits for it, and does not let it wait.
    let summary = replay(&config, &[(0, "Write", 0, PAGE), (100, "Flush", 0, 0)]);
    assert_eq!(ns(&summary, "host.flush_latency_us.max"), took - PAD_AFTER);
}

#[test]
fn a_die_writes_its_planes_wordlines_in_one_program_time() {
    for planes in [1u64, 2, 4] {
        let (mut config, times) = die(planes as u32);
        (config.device.blocks_per_plane, config.device.pages_per_block) = (64, 60);
        config.device.user_capacity = planes * 64 * 60 * 3 / 4 * PAGE;
        config.host.queue_depth = Some(64);
        let expected = rate(&config, 3 * planes, times.program(3 * planes, PROGRAM));
        within_a_percent(bandwidth(&config, "sequential", false, 2_400), expected, "a die");
        // Page by page each of the three takes that time.
        *config.device.features.get_mut("programming") =
            Selection::default_of(&base::programming::PROGRAMMING.choices[0]);
        let expected = rate(&config, planes, times.program(planes, PROGRAM));
        within_a_percent(bandwidth(&config, "sequential", false, 2_400), expected, "a die, page by page");
    }
}

#[test]
fn dies_that_program_wordlines_are_bound_by_their_channel() {
    let (mut config, times) = die(1);
    (config.device.chips_per_channel, config.device.blocks_per_plane, config.device.pages_per_block) = (16, 32, 60);
    config.device.user_capacity = 16 * 32 * 60 * 3 / 4 * PAGE;
    config.host.queue_depth = Some(256);
    for scheduler in names("scheduler", &[]) {
        choose(&mut config.ftl, "scheduler", scheduler, &[]);
        let carried = rate(&config, 1, times.command + times.bus);
        within_a_percent(bandwidth(&config, "sequential", false, 20_000), carried, "a channel of sixteen dies");
    }
}

/// A random device that programs wordlines, nearly full.
pub(super) fn random(seed: u64) -> Config {
    let mut config = random_config(seed);
    let device = &mut config.device;
    device.program_order = ProgramOrder::Consecutive;
    *device.features.get_mut("programming") = one_shot();
    if seed.is_multiple_of(3) {
        // Blocks are filled, collected and erased before it is over.
        device.features.get_mut("programming").set("pad_after", ParamValue::Time(Duration(300_000_000)));
    }
    device.cell = [Cell::Mlc, Cell::Tlc][seed as usize % 2];
    let bits = device.cell.bits();
    device.pages_per_block = bits * (2 + seed as u32 % 5);
    device.blocks_per_plane += 6;
    device.wear.read_limit = None;
    device.timing.program = vec![device.timing.program[0]; bits as usize];
    device.timing.read = vec![device.timing.read[0]; bits as usize];
    let only = [("mapping", "page"), ("paired_page", "none"), ("migration", "off-chip"), ("read_disturb", "ignore")];
    only.iter().for_each(|(seam, name)| choose(&mut config.ftl, seam, name, &[]));
    if config.ftl.get("reclaim_unit").name == "superblock" {
        choose(&mut config.ftl, "reclaim_unit", "block", &[]);
    }
    suspends::random(seed, &mut config.device);
    config.run.executor = Executor::Timed;
    config.workload.source = Source::Generator(generator("zipf", 4096 * (1 + seed % 5), 0.3, 0));
    config.workload.end = End { requests: Some(300), ..End::default() };
    fill(&mut config);
    config
}

/// Pages carry stamps, so every read is checked, and all data at the end.
#[test]
fn random_devices_that_program_wordlines_lose_nothing() {
    let (mut padded, mut moved) = (0.0, 0.0);
    for seed in 0..24 {
        let config = random(seed + 8_800_000);
        let path = temporary("json");
        let window = base::Instant::ZERO..base::Instant::NEVER;
        let timeline = (seed % 8 == 3).then(|| device::TimelineSpec { path: path.clone(), window });
        let is_recorded = timeline.is_some();
        let mut options = device::Options { timeline, ..device::Options::default() };
        let summary = device::simulate(&config, &mut options).unwrap_or_else(|error| panic!("case {seed}: {error}"));
        if is_recorded {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            metrics::timeline::check(&text).unwrap_or_else(|problem| panic!("case {seed}: {problem}"));
        }
        padded += figure(&summary.summary, "flash.by_cause.pad.programs");
        moved += figure(&summary.summary, "gc.moved_pages");
    }
    assert!(padded > 100.0 && moved > 100.0, "{padded} filled up, {moved} moved");
}

#[test]
fn what_one_shot_programming_cannot_be_combined_with_is_refused() {
    let refusal = |change: &dyn Fn(&mut Config)| {
        let mut config = die(2).0;
        assert!(device::check(&config).is_ok());
        change(&mut config);
        device::check(&config).expect_err("a refusal").to_string()
    };
    let chosen =
        |seam: &'static str, name: &'static str| refusal(&move |config| choose(&mut config.ftl, seam, name, &[]));
    let texts = [
        (refusal(&|config| config.device.cell = Cell::Slc), "one of SLC cells has a single page"),
        (refusal(&|config| config.device.program_order = ProgramOrder::Shadow), "`device.program_order` is `shadow`"),
        (refusal(&|config| config.device.timing.program[0] = Duration(1)), "one for each page type"),
        (
            refusal(&|config| {
                config.device.planes_per_die = 16;
                choose(&mut config.ftl, "map_unit", "4KiB", &[]);
            }),
            "would send 96 pages with one command (16 planes, 3 bits, 2 map units in a page)",
        ),
        (chosen("mapping", "fast"), "page mapping alone"),
        (chosen("mapping", "dftl"), "page mapping alone"),
        (chosen("paired_page", "lsb-backup"), "no copies of lower pages"),
        (chosen("migration", "rcpb"), "copies through the controller"),
    ];
    for (text, expected) in texts {
        assert!(text.contains("device.programming") && text.contains(expected), "{text}");
    }
}
