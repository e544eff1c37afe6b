//! Does acknowledged data survive a power cut at any instant, with all dies at work?

use crate::common::{is_long, preset};
use files::Interrupt;
use rig::survival::{Cuts, LivesTally, TroubleInTime, try_cuts};

/// Two channels of two dies of two planes of 16 blocks of 12 TLC pages, written one by one with power for what is under way.
const DEVICE: [&str; 15] = [
    "device.channels=2",
    "device.chips_per_channel=2",
    "device.dies_per_chip=1",
    "device.planes_per_die=2",
    "device.blocks_per_plane=20",
    "device.pages_per_block=12",
    "device.cell=\"tlc\"",
    "device.program_order=\"consecutive\"",
    "device.over_provisioning=1.2",
    "host.replay=\"closed\"",
    "host.queue_depth=16",
    "run.payload=\"stamp\"",
    "run.precondition=\"none\"",
    "run.executor=\"timed\"",
    "ftl.write_buffer=\"none\"",
];

const ONE_SHOT: [&str; 3] =
    ["device.programming=\"one-shot\"", "device.timing.program=\"700us\"", "ftl.paired_page=\"none\""];
const TWO_PASS: [&str; 4] = [
    "device.pages_per_block=24",
    "device.programming=\"two-pass\"",
    "device.timing.program=\"1400us\"",
    "ftl.paired_page=\"none\"",
];
const SUPERCAP: [&str; 1] = ["ftl.paired_page=\"supercap\""];

/// 8 cuts; `FTLAB_LIVES=n` asks for n lives with 30.
fn cut(sets: &[&str], twice: bool) -> LivesTally {
    try_often(TroubleInTime::Cut, sets, twice, 1)
}

/// So many times as many.
fn try_often(trouble: TroubleInTime, sets: &[&str], twice: bool, often: u64) -> LivesTally {
    let all: Vec<String> = DEVICE.iter().chain(sets).map(|set| (*set).to_owned()).collect();
    let times = std::env::var("FTLAB_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(1);
    let cuts =
        Cuts { seeds: times * often, cuts: if is_long() { 30 } else { 8 }, before: 1.5, requests: 250, twice, trouble };
    try_cuts(&preset("tbm-small", &all), &cuts, &Interrupt::default()).unwrap()
}

#[track_caller]
fn assert_survives(what: &str, sets: &[&str]) {
    let tally = std::panic::catch_unwind(|| cut(sets, true)).unwrap_or_else(|_| panic!("{what}"));
    assert_eq!(tally.losing, 0, "{what}: {} of {}, {:?}", tally.losing, tally.runs, tally.first);
}

/// Everything that a device can have besides, with what it calls for.
const BESIDES: &[(&str, &[&str])] = &[
    ("nothing", &[]),
    ("suspends", &["device.program_suspend=\"reads\"", "device.erase_suspend=\"reads\""]),
    WRITES_BY,
    ("cache reads", &["device.cache_read=\"on\""]),
    ("twin blocks", &["ftl.reclaim_unit=\"twin\""]),
    ("channels in step", &["ftl.reclaim_unit.superblock.over=\"channels\""]),
    ("planes in step", &["ftl.reclaim_unit.superblock.over=\"planes\"", "device.multiplane=\"pac\""]),
    ("free dies", &["ftl.allocation=\"F2\""]),
    ("free dies and twin blocks", &["ftl.allocation=\"F2\"", "ftl.reclaim_unit=\"twin\""]),
    ("two streams", &["ftl.separation=\"host-gc\""]),
    ("paced collections", &["ftl.gc_schedule=\"paced\"", "ftl.separation=\"host-gc\""]),
    ("forward collections", &["ftl.gc_schedule=\"forwarding\""]),
    (
        "deterministic windows",
        &["ftl.gc_schedule.windows={free_blocks=3,stock=1,deterministic=\"20ms\",nondeterministic=\"20ms\"}"],
    ),
    ("a write buffer", &["ftl.write_buffer.lru.size=\"128KiB\""]),
    ("refreshes", &["device.wear.read_limit=[64, 400]", "ftl.read_disturb.refresh.margin=12"]),
    (
        "shadow blocks",
        &[
            "device.over_provisioning=2.5",
            "device.wear.read_limit=[64, 400]",
            "ftl.read_disturb.read-leveling={margin=12,hot_pages=6}",
        ],
    ),
    ("refresh by age", &["ftl.refresh.age.age=\"200ms\""]),
    (
        "a patrol",
        &["device.media.table.age=\"90d\"", "ftl.refresh.patrol={period=\"200ms\",least_age=\"1ms\",retries=1}"],
    ),
    ("wear leveling", &["ftl.wear_leveling.static.threshold=4"]),
    (
        "commands and a link",
        &["host.command_time=\"8us\"", "host.link=\"2GB/s\"", "device.timing.command_overhead=\"300ns\""],
    ),
];

/// Not with two passes.
const WRITES_BY: (&str, &[&str]) = (
    "erases that let writes by",
    &["device.erase_suspend=\"reads-and-writes\"", "device.timing.erase=\"9ms\"", "ftl.allocation=\"CWDP\""],
);

/// Features that are tried beside wordlines.
fn besides_wordlines(programming: &[&str]) -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    let twice = programming == TWO_PASS;
    BESIDES.iter().filter(move |(what, _)| !(twice && *what == WRITES_BY.0))
}

/// True for features that are tried beside units. A command has room for the units of few flash pages in step, and blocks of units for few reads.
fn units_go_with(what: &str) -> bool {
    !what.ends_with("in step") && !["refreshes", "shadow blocks"].contains(&what)
}

#[test]
fn pages_programmed_one_by_one_survive_with_a_supercap() {
    for (what, sets) in BESIDES {
        assert_survives(what, &[&SUPERCAP, *sets].concat());
    }
}

#[test]
fn pages_that_share_no_cells_survive() {
    let slc = [
        "device.cell=\"slc\"",
        "device.timing.read=\"25us\"",
        "device.timing.program=\"200us\"",
        "ftl.paired_page=\"none\"",
    ];
    for (what, sets) in BESIDES {
        assert_survives(what, &[&slc, *sets].concat());
    }
}

const PROTECTIONS: [&str; 3] =
    ["ftl.paired_page=\"lsb-backup\"", "ftl.paired_page=\"gcmix\"", "ftl.paired_page.slc-buffer.blocks=2"];

/// The room that protections need: after a second cut a plane may have three blocks in which little is written.
const ROOM: [&str; 2] = ["device.blocks_per_plane=40", "ftl.gc_schedule.threshold.free_blocks=3"];

/// Lower units of wordlines that are not complete may keep as many victims as they are.
const ROOM_OF_UNITS: [&str; 2] = ["device.blocks_per_plane=64", "ftl.gc_schedule.threshold.free_blocks=3"];

#[test]
fn backups_keep_lower_pages_where_versions_of_a_page_share_a_die() {
    for protection in PROTECTIONS {
        assert_survives(protection, &[&[protection, "ftl.allocation=\"CWDP\""], &ROOM[..]].concat());
    }
}

/// A lower page is covered until the newer version of its page is programmed, which may be on another die: one cut would tear both.
#[test]
fn backups_keep_lower_pages_where_versions_of_a_page_share_no_die() {
    for protection in PROTECTIONS {
        let sets = |allocation| [&[protection, allocation], &ROOM[..]].concat();
        assert_eq!(try_often(TroubleInTime::Cut, &sets("ftl.allocation=\"F\""), false, 8).losing, 0, "{protection}");
        assert_survives(protection, &sets("ftl.allocation=\"F2\""));
    }
}

#[test]
fn wordlines_programmed_in_one_shot_survive() {
    for (what, sets) in BESIDES {
        assert_survives(what, &[&ONE_SHOT, *sets].concat());
    }
}

#[test]
fn wordlines_programmed_in_two_passes_survive() {
    for (what, sets) in besides_wordlines(&TWO_PASS) {
        assert_survives(what, &[&TWO_PASS, *sets].concat());
    }
}

/// A capacitor and a page buffer change what a fault destroys, and wordlines that are programmed as a whole need neither.
#[test]
fn whole_wordlines_survive_beside_what_protects_single_pages() {
    for protection in [SUPERCAP, ["ftl.paired_page=\"page-buffer\""]] {
        for programming in [&ONE_SHOT[..], &TWO_PASS] {
            for (what, sets) in besides_wordlines(programming).step_by(3) {
                assert_survives(what, &[programming, sets, &protection].concat());
            }
        }
    }
}

/// Of SLC, and of wordlines: two and four units to a flash page.
#[test]
fn map_units_below_the_page_survive() {
    let slc = ["device.cell=\"slc\"", "device.timing.read=\"25us\"", "device.timing.program=\"200us\"", ONE_SHOT[2]];
    for unit in ["ftl.map_unit=\"4KiB\"", "ftl.map_unit=\"2KiB\""] {
        for programming in [&slc[..], &ONE_SHOT, &TWO_PASS] {
            for (what, sets) in besides_wordlines(programming).filter(|besides| units_go_with(besides.0)) {
                assert_survives(
                    &format!("{unit} {} {what}", programming[0]),
                    &[programming, *sets, &[unit, "device.over_provisioning=1.7"][..]].concat(),
                );
            }
        }
    }
}

/// Flash pages of TLC, one by one; and wordlines, which need no protection.
#[test]
fn map_units_of_paired_pages_survive_with_a_supercap() {
    for unit in ["ftl.map_unit=\"4KiB\"", "ftl.map_unit=\"2KiB\""] {
        for (what, sets) in BESIDES.iter().filter(|besides| units_go_with(besides.0)) {
            let all = [&SUPERCAP, *sets, &[unit, "device.over_provisioning=1.7"]].concat();
            assert_survives(&format!("{unit} {what}"), &all);
        }
        let one_shot = [&ONE_SHOT[..], &SUPERCAP, &[unit, "device.over_provisioning=1.7"]].concat();
        assert_survives(&format!("{unit} in one shot"), &one_shot);
    }
}

/// Rows of lower flash pages are covered before others are programmed over them, by block and by the two blocks of a die.
#[test]
fn map_units_of_paired_pages_survive_with_backups() {
    for (unit, reclaim_unit) in [("4KiB", "block"), ("2KiB", "twin"), ("1KiB", "block"), ("1KiB", "twin")] {
        let unit = format!("ftl.map_unit=\"{unit}\"");
        let reclaim_unit = format!("ftl.reclaim_unit=\"{reclaim_unit}\"");
        for protection in PROTECTIONS {
            for allocation in ["ftl.allocation=\"CWDP\"", "ftl.allocation=\"F2\""] {
                let own = [protection, allocation, &unit, &reclaim_unit, "device.over_provisioning=2.5"];
                let sets = [&own[..], &ROOM_OF_UNITS].concat();
                assert_survives(&format!("{unit} {reclaim_unit} {protection} {allocation}"), &sets);
            }
            let own = [protection, "ftl.allocation=\"CWDP\"", &unit, &reclaim_unit, "device.over_provisioning=2.5"];
            assert_survives_failures(protection, &[&own[..], &ROOM_OF_UNITS].concat(), &ALL_WITH_FAILURES);
        }
    }
}

/// A flash page of each of the two planes: a torn one loses all of it.
#[test]
fn map_units_of_all_planes_survive() {
    // Planes in step have no media that age.
    for (what, sets) in BESIDES.iter().filter(|(what, _)| *what != "a patrol") {
        let all = [&SUPERCAP, *sets, &["ftl.map_unit=\"16KiB\"", "device.over_provisioning=1.7"]].concat();
        assert_survives(what, &all);
    }
}

#[test]
fn a_map_in_flash_survives() {
    let map = ["ftl.mapping.dftl.cache=\"2KiB\"", "device.over_provisioning=2.5", "ftl.allocation=\"CWDP\""];
    for (what, sets) in [("supercap", &SUPERCAP[..]), ("lsb-backup", &["ftl.paired_page=\"lsb-backup\""])] {
        assert_survives(what, &[sets, &map, &ROOM].concat());
    }
}

/// Map units of a half and a quarter of a page, whose translation pages are flash pages, or rows of twin blocks.
#[test]
fn a_map_in_flash_of_units_survives() {
    let map = ["ftl.mapping.dftl.cache=\"2KiB\"", "device.over_provisioning=2.5"];
    let besides = [
        ("nothing", &["ftl.allocation=\"CWDP\""][..]),
        ("twin blocks", &["ftl.allocation=\"CWDP\"", "ftl.reclaim_unit=\"twin\""]),
        ("free dies", &["ftl.allocation=\"F2\""]),
        ("two streams", &["ftl.allocation=\"CWDP\"", "ftl.separation=\"host-gc\""]),
        ("a write buffer", &["ftl.allocation=\"CWDP\"", "ftl.write_buffer.lru.size=\"128KiB\""]),
    ];
    for unit in ["ftl.map_unit=\"4KiB\"", "ftl.map_unit=\"2KiB\""] {
        for (what, sets) in besides {
            assert_survives(&format!("{unit} {what}"), &[&SUPERCAP[..], &[unit], &map, &ROOM, sets].concat());
            let failing = [&SLC[..], &[unit], &map, &ROOM, sets].concat();
            assert_survives_failures(&format!("{unit} {what}"), &failing, &ALL_WITH_FAILURES);
        }
    }
}

#[test]
fn pages_that_share_a_wordline_are_lost_without_a_protection() {
    assert!(cut(&["ftl.paired_page=\"none\""], false).losing > 0);
    assert!(cut(&["ftl.paired_page=\"page-buffer\""], false).losing > 0);
    let units = ["ftl.map_unit=\"4KiB\"", "device.over_provisioning=1.7"];
    assert!(cut(&[&units[..], &["ftl.paired_page=\"page-buffer\""]].concat(), false).losing > 0);
}

/// Of programs that fail nothing is lost, whatever else comes.
#[track_caller]
fn assert_survives_failures(what: &str, sets: &[&str], troubles: &[TroubleInTime]) {
    for &trouble in troubles {
        let tried = std::panic::catch_unwind(|| try_often(trouble, sets, trouble == TroubleInTime::Both, 1));
        let tally = tried.unwrap_or_else(|_| panic!("{what}, {trouble:?}"));
        assert_eq!(tally.losing, 0, "{what}, {trouble:?}: {} of {}, {:?}", tally.losing, tally.runs, tally.first);
    }
}

/// Each failed program closes a unit early.
const SPARE: [&str; 2] = ["device.blocks_per_plane=32", "ftl.gc_schedule.threshold.free_blocks=3"];

const ALL_WITH_FAILURES: [TroubleInTime; 2] = [TroubleInTime::Failures, TroubleInTime::Both];

const SLC: [&str; 4] = [
    "device.cell=\"slc\"",
    "device.timing.read=\"25us\"",
    "device.timing.program=\"200us\"",
    "ftl.paired_page=\"none\"",
];

#[test]
fn pages_of_failed_programs_are_programmed_elsewhere() {
    let more = [
        ("cache programs", &["device.cache_program=\"on\"", "device.cache_read=\"on\""][..]),
        // They leave a unit less.
        ("forward collections", &["ftl.gc_schedule.forwarding.free_blocks=4"]),
    ];
    let besides = BESIDES.iter().filter(|(what, _)| *what != "forward collections");
    for (what, sets) in besides.chain(&more) {
        assert_survives_failures(what, &[&SLC[..], &SPARE, *sets].concat(), &ALL_WITH_FAILURES);
    }
}

#[test]
fn a_page_buffer_has_the_lower_pages_of_a_failed_program() {
    for (what, sets) in BESIDES {
        let sets = [&["ftl.paired_page=\"page-buffer\""][..], &SPARE, *sets].concat();
        assert_survives_failures(what, &sets, &[TroubleInTime::Failures]);
    }
}

#[test]
fn backups_have_the_lower_pages_of_a_failed_program() {
    for protection in PROTECTIONS {
        let sets = [&[protection, "ftl.allocation=\"CWDP\""], &ROOM[..]].concat();
        assert_survives_failures(protection, &sets, &ALL_WITH_FAILURES);
    }
}

#[test]
fn wordlines_whose_program_fails_are_programmed_elsewhere() {
    let one_shot = [&ONE_SHOT[..], &SPARE, &["device.cache_program=\"on\""]].concat();
    assert_survives_failures("cache programs", &one_shot, &ALL_WITH_FAILURES);
    for programming in [&ONE_SHOT[..], &TWO_PASS] {
        for (what, sets) in besides_wordlines(programming) {
            let all = [programming, &SPARE, *sets].concat();
            assert_survives_failures(&format!("{} {what}", programming[0]), &all, &ALL_WITH_FAILURES);
        }
    }
}

#[test]
fn map_units_of_failed_programs_are_programmed_elsewhere() {
    for (at, unit) in ["ftl.map_unit=\"4KiB\"", "ftl.map_unit=\"2KiB\""].into_iter().enumerate() {
        for programming in [&SLC[..], &ONE_SHOT, &TWO_PASS] {
            for (what, sets) in
                besides_wordlines(programming).filter(|(what, _)| units_go_with(what)).skip(at).step_by(2)
            {
                let all = [programming, &SPARE, *sets, &[unit, "device.over_provisioning=1.7"]].concat();
                assert_survives_failures(&format!("{unit} {} {what}", programming[0]), &all, &ALL_WITH_FAILURES);
            }
        }
    }
}
