//! Wordlines that are programmed in two passes: times, what waits between them, what is filled up, and that nothing is lost.

use base::{ParamValue, Selection};

use super::*;

/// The program of a wordline, its first pass and its second one, and how long one waits that nobody completes: nanoseconds.
const PROGRAM: u64 = 2_000_001;
const FIRST: u64 = 600_000;
const SECOND: u64 = PROGRAM - FIRST;
const PAD_AFTER: u64 = 9_000_000;
const BITS: u64 = 4;
const PAGE: u64 = 8192;

fn two_pass() -> Selection {
    let mut choice = Selection::default_of(&base::programming::PROGRAMMING.choices[2]);
    choice.set("first", ParamValue::Number(0.3));
    choice.set("pad_after", ParamValue::Time(Duration(PAD_AFTER)));
    choice
}

/// A die of `planes` planes of QLC, with blocks of four wordlines.
fn die(planes: u32) -> (Config, Times) {
    let mut config = cells(Cell::Qlc, ProgramOrder::Consecutive, planes);
    config.device.pages_per_block = 16;
    config.device.user_capacity = u64::from(planes * config.device.blocks_per_plane) * 16 * 2 / 5 * PAGE;
    *config.device.features.get_mut("programming") = two_pass();
    config.device.timing.program = vec![Duration(PROGRAM); 4];
    let times = vary(&mut config, (Duration(700), None, Duration(3_001)));
    (config, times)
}

/// What a block of four wordlines takes: 0c 1c 0f 2c 1f 3c 2f 3f, each with the data of its pages.
#[test]
fn a_block_is_programmed_in_the_order_of_the_passes() {
    for planes in [1, 2, 4] {
        let (config, times) = die(planes);
        let wordline = BITS * u64::from(planes);
        let (first, second) = (times.program(wordline, FIRST), times.program(wordline, SECOND));
        let summary = replay(&config, &[(0, "Write", 0, 4 * wordline * PAGE)]);
        assert_eq!(write_latency(&summary), 4 * (first + second), "{planes} planes");
        assert_eq!(figure(&summary, "flash.page_programs"), 4.0 * wordline as f64);
        assert_eq!(figure(&summary, "flash.first_passes"), 4.0 * f64::from(planes));
        assert_eq!(figure(&summary, "waf_units"), 1.0);
        // The first wordline alone is done when the second one has had its first pass.
        let rows = [(0, "Write", 0, wordline * PAGE), (100, "Write", wordline * PAGE, wordline * PAGE)];
        let summary = replay(&config, &rows);
        let mean = figure(&summary, "host.write_latency_us.mean") * 1e3;
        let of_first = 2 * first + second;
        let of_second = ns(&summary, "host.write_latency_us.max");
        assert!((mean - (of_first + of_second) as f64 / 2.0).abs() < 1.0, "{mean}, {of_first}, {of_second}");
        // The second one waits for a third, which is filled up, plane by plane.
        let of_plane = times.program(BITS, FIRST) + times.program(BITS, SECOND);
        assert_eq!(of_second, first + PAD_AFTER + u64::from(planes) * of_plane - 100, "{planes} planes");
    }
}

#[test]
fn what_is_between_its_passes_is_read_from_the_controller() {
    let (config, times) = die(1);
    let rows = [(0, "Write", 0, BITS * PAGE), (4_000_000, "Write", BITS * PAGE, BITS * PAGE)];
    let (first, second) = (times.program(BITS, FIRST), times.program(BITS, SECOND));
    let read = |at: u64, page: u64| {
        let mut rows = rows.to_vec();
        rows.push((at, "Read", page * PAGE, PAGE));
        rows.sort_unstable();
        let summary = replay(&config, &rows);
        (read_latency(&summary), figure(&summary, "flash.page_reads"))
    };
    let from_flash = times.read(1, 50_021) + times.ecc;
    let again = 4_000_000 + first;
    assert_eq!(read(2_000_000, 0), (0, 0.0), "between its passes");
    assert_eq!(read(4_000_100, 0), (0, 0.0), "while the next wordline has its first pass");
    assert_eq!(
        read(again + 100_000 - again % 100, 0),
        (second - 100_000 + again % 100 + from_flash, 1.0),
        "in its second"
    );
    assert_eq!(read(again + second + 100 - (again + second) % 100, 0), (from_flash, 1.0), "behind it");
    assert_eq!(read(again + second + 100 - (again + second) % 100, BITS), (0, 0.0), "and the next one is between them");
}

#[test]
fn a_wordline_that_nobody_completes_is_filled_up_and_the_next_one() {
    let (config, times) = die(1);
    let (first, second) = (times.program(BITS, FIRST), times.program(BITS, SECOND));
    let summary = replay(&config, &[(0, "Write", 0, PAGE)]);
    assert_eq!(write_latency(&summary), PAD_AFTER + 2 * first + second);
    assert_eq!(figure(&summary, "flash.by_cause.host.programs"), 1.0);
    assert_eq!(
        figure(&summary, "flash.by_cause.pad.programs"),
        3.0,
        "the dummy pages behind count with their second pass"
    );
    assert_eq!(figure(&summary, "flash.first_passes"), 2.0);
    // A flush waits for both, and does not let them wait.
    let summary = replay(&config, &[(0, "Write", 0, PAGE), (100, "Flush", 0, 0)]);
    assert_eq!(ns(&summary, "host.flush_latency_us.max"), 2 * first + second);
}

#[test]
fn a_die_writes_a_wordline_in_the_time_of_both_passes() {
    for planes in [1u64, 2, 4] {
        let (mut config, times) = die(planes as u32);
        (config.device.blocks_per_plane, config.device.pages_per_block) = (256, 64);
        config.device.user_capacity = planes * 256 * 64 / 2 * PAGE;
        config.host.queue_depth = Some(128);
        let wordline = BITS * planes;
        let both = times.program(wordline, FIRST) + times.program(wordline, SECOND);
        within_a_percent(
            bandwidth(&config, "sequential", false, 3_200 * planes),
            rate(&config, wordline, both),
            "a die",
        );
    }
}

/// Sixteen; `FTLAB_CASES=1000` asks for more.
fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("FTLAB_CASES").map_or(16, |cases| cases.parse().expect("FTLAB_CASES"))
}

/// Pages carry stamps, so every read is checked, and all data at the end; the array refuses passes out of their order.
#[test]
fn random_devices_that_program_in_two_passes_lose_nothing() {
    let (mut padded, mut moved, mut passes) = (0.0, 0.0, 0.0);
    for seed in seeds() {
        let mut config = one_shot::random(seed + 9_900_000);
        *config.device.features.get_mut("programming") = two_pass();
        *config.device.features.get_mut("cache_program") = Selection::default_of(&base::cache::PROGRAM.choices[0]);
        // Two wordlines of each plane may be filled up for a victim, which blocks of a few wordlines hardly have.
        config.device.pages_per_block *= 3;
        fill(&mut config);
        let pad_after = [300_000, PAD_AFTER, 300_000_000][seed as usize % 3];
        config.device.features.get_mut("programming").set("pad_after", ParamValue::Time(Duration(pad_after)));
        config.run.latency_parts = seed % 2 == 0;
        let summary = device::simulate(&config, &mut device::Options::default());
        let summary = summary.unwrap_or_else(|error| panic!("case {seed}: {error}")).summary;
        padded += figure(&summary, "flash.by_cause.pad.programs");
        moved += figure(&summary, "gc.moved_pages");
        passes += figure(&summary, "flash.first_passes");
    }
    assert!(padded > 100.0 && moved > 100.0 && passes > 1000.0, "{padded} filled up, {moved} moved, {passes} passes");
}

#[test]
fn cache_programs_are_refused() {
    let (mut config, _) = die(1);
    assert!(device::check(&config).is_ok());
    *config.device.features.get_mut("cache_program") = Selection::default_of(&base::cache::PROGRAM.choices[1]);
    let refusal = device::check(&config).expect_err("a refusal").to_string();
    assert!(refusal.contains("second pass") && refusal.contains("device.cache_program"), "{refusal}");
}
