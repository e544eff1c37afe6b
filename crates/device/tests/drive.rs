//! Drives of real bytes: what is read is what was written, and over power cuts at any operation each sector holds what it may.

use crate::common::drives::{BUFFER, PROTECTED, config};
use crate::common::on_all_processors;
use device::drive::{Drive, DriveError};
use files::Interrupt;
use rig::broken::BrokenPromise;
use rig::sectors::{DenseCuts, SectorCuts, SectorTally, try_dense, try_sectors};

fn cut(sets: &[&str], cuts: SectorCuts) -> SectorTally {
    try_sectors(&config(sets), &cuts, &Interrupt::default()).unwrap_or_else(|error| panic!("{sets:?}: {error}"))
}

const CUTS: SectorCuts = SectorCuts {
    first_seed: 0,
    seeds: 2,
    requests: 120,
    stride: 11,
    twice: false,
    reads: 0,
    afterwards: 20,
    broken: None,
};

/// A drive whose discarded sectors read as bytes of FFh.
const ONES: &str = "ftl.deallocated_reads=\"ones\"";

/// One that tears no write of up to four pages.
const UNITS: [&str; 3] = [BUFFER, PROTECTED, "ftl.write_buffer.lru.atomic_write=\"8KiB\""];

/// Every policy and mechanism that survives restarts.
const KINDS: &[&[&str]] = &[
    &[],
    &[BUFFER],
    &["ftl.mapping=\"dftl\"", "device.user_capacity=\"256KiB\"", BUFFER],
    &["ftl.reclaim_unit=\"twin\"", BUFFER],
    &["ftl.reclaim_unit.superblock.over=\"planes\"", BUFFER],
    &["ftl.separation=\"host-gc\"", BUFFER],
    &[
        "device.cell=\"mlc\"",
        "device.pages_per_block=16",
        "device.programming=\"one-shot\"",
        "device.timing.program=\"700us\"",
        BUFFER,
    ],
    &[
        "device.cell=\"mlc\"",
        "device.pages_per_block=16",
        "device.programming=\"two-pass\"",
        "device.timing.program=\"700us\"",
        BUFFER,
    ],
    &["device.cell=\"mlc\"", "ftl.paired_page=\"lsb-backup\"", BUFFER],
    &["device.cell=\"mlc\"", "ftl.paired_page=\"parity-backup\"", BUFFER],
    &["device.cell=\"mlc\"", "ftl.paired_page=\"supercap\""],
    &[BUFFER, PROTECTED],
    &[ONES],
    &[ONES, BUFFER],
    &[ONES, BUFFER, PROTECTED],
    &UNITS,
    &[UNITS[0], UNITS[1], UNITS[2], ONES, "ftl.map_unit=\"1KiB\""],
    &[
        UNITS[0],
        UNITS[1],
        UNITS[2],
        "device.cell=\"mlc\"",
        "device.pages_per_block=16",
        "device.programming=\"one-shot\"",
        "device.timing.program=\"700us\"",
    ],
    &[ONES, "ftl.map_unit=\"1KiB\"", BUFFER],
    &["ftl.map_unit=\"1KiB\"", BUFFER, PROTECTED],
    &["ftl.reclaim_unit=\"twin\"", "ftl.allocation=\"F\"", BUFFER, PROTECTED],
    &[
        "device.cell=\"mlc\"",
        "device.pages_per_block=16",
        "device.programming=\"one-shot\"",
        "device.timing.program=\"700us\"",
        BUFFER,
        PROTECTED,
    ],
    &[
        "device.cell=\"mlc\"",
        "device.pages_per_block=16",
        "device.programming=\"two-pass\"",
        "device.timing.program=\"700us\"",
        BUFFER,
        PROTECTED,
    ],
    &["ftl.gc_schedule.paced.free_blocks=1", "ftl.write_buffer.fifo={ size = \"16KiB\", flush = \"free\" }"],
    &["ftl.map_unit=\"512B\""],
    &["ftl.map_unit=\"1KiB\"", BUFFER],
    &["ftl.map_unit=\"1KiB\"", "device.cell=\"mlc\"", "ftl.paired_page=\"supercap\"", BUFFER],
    &[
        "ftl.map_unit=\"1KiB\"",
        "device.cell=\"mlc\"",
        "device.pages_per_block=16",
        "device.programming=\"one-shot\"",
        "device.timing.program=\"700us\"",
        BUFFER,
    ],
    &[
        "device.cell=\"mlc\"",
        "ftl.map_unit=\"1KiB\"",
        "ftl.paired_page=\"supercap\"",
        "ftl.slc_cache.both={ blocks = 1, fold = \"mark\" }",
        BUFFER,
    ],
    // As full as it can be, and read as much as it can be.
    &[
        "device.blocks_per_plane=9",
        "device.user_capacity=\"430KiB\"",
        "device.wear.read_limit=[40, 100]",
        "ftl.read_disturb.refresh.margin=12",
        BUFFER,
    ],
    &[
        "device.wear.read_limit=[128, 800]",
        "ftl.read_disturb.redftl={}",
        "ftl.mapping=\"dftl\"",
        "device.blocks_per_plane=24",
        BUFFER,
    ],
    &[
        "device.blocks_per_plane=24",
        "device.wear.read_limit=[64, 400]",
        "ftl.read_disturb.read-leveling={margin=12,hot_pages=6}",
        BUFFER,
    ],
    &[
        "device.cell=\"mlc\"",
        "ftl.paired_page=\"gcmix\"",
        "ftl.migration=\"rcpb\"",
        "device.blocks_per_plane=24",
        BUFFER,
    ],
];

#[test]
fn no_sector_is_lost_to_a_cut() {
    let mut all = 0;
    for (index, kind) in KINDS.iter().enumerate() {
        let tally = cut(kind, SectorCuts { twice: index % 2 == 0, seeds: 1, ..CUTS });
        assert_eq!(tally.first, None, "{kind:?}: {tally:?}");
        assert!(tally.cuts > 2 && tally.stops > 4, "{kind:?}: {tally:?}");
        all += tally.cuts;
    }
    println!("{all} cuts");
}

/// Blocks fail until the drive takes no more. Operations on the way are cut, before them and in their middle, and at the end all that was
/// acknowledged can be read.
#[test]
fn drives_come_to_the_end_of_their_lives() {
    let wears = [
        "device.bad_blocks.weibull={ factory = 0.02, life = 8, shape = 2 }",
        "device.blocks_per_plane=16",
        "ftl.allocation=\"CWDP\"",
    ];
    let kinds: [&[&str]; 8] = [
        &[],
        &[BUFFER],
        &["ftl.mapping.dftl.cache=\"512B\"", "device.user_capacity=\"160KiB\""],
        &["ftl.mapping.dftl.cache=\"2KiB\"", "device.user_capacity=\"160KiB\"", BUFFER, PROTECTED],
        &[BUFFER, PROTECTED],
        &["ftl.reclaim_unit=\"twin\"", BUFFER, PROTECTED],
        &["ftl.map_unit=\"1KiB\"", BUFFER],
        &[
            "device.cell=\"mlc\"",
            "device.pages_per_block=16",
            "device.programming=\"one-shot\"",
            "device.timing.program=\"700us\"",
            "device.bad_blocks.weibull.life=3",
            BUFFER,
        ],
    ];
    let tallies = on_all_processors(&kinds, |kind| {
        cut(&[&wears, *kind].concat(), SectorCuts { seeds: 6, requests: 1500, stride: 97, twice: true, ..CUTS })
    });
    for (kind, tally) in kinds.iter().zip(tallies) {
        assert_eq!(tally.first, None, "{kind:?}: {tally:?}");
        assert!(tally.ends > 2 && tally.cuts > 50, "{kind:?}: {tally:?}");
    }
}

/// The power may go off as often as it will, from one operation to the next and in restarts: the drive goes on.
/// `FTLAB_DENSE_SEEDS=100`: so many lives of each kind.
#[test]
fn dense_cuts_leave_room() {
    let seeds: u64 = std::env::var("FTLAB_DENSE_SEEDS").map_or(1, |text| text.parse().expect("a number"));
    let lives = (0..seeds).flat_map(|seed| [1, 3, 20].map(|gap| (seed, gap)));
    let runs: Vec<(&&[&str], u64, u64)> =
        lives.flat_map(|(seed, gap)| KINDS.iter().map(move |kind| (kind, gap, seed + gap))).collect();
    let problems = on_all_processors(&runs, |&(kind, gap, seed)| {
        let cuts = DenseCuts { seed, cuts: 60, gap, again: seed % 4 * 2, afterwards: 100 };
        let lived = std::panic::catch_unwind(|| try_dense(&config(kind), &cuts));
        let problem = match lived {
            Ok(Ok(tally)) => tally.first,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it broke".to_owned()),
        };
        problem.map(|problem| format!("{kind:?}, {cuts:?}: {problem}"))
    });
    let problems: Vec<String> = problems.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), runs.len(), problems.join("\n"));
}

/// Of a page that waits for its wordline the buffer may hold two versions more. A restart that merges some of them leaves the newest one
/// the newest.
#[test]
fn no_version_in_a_protected_buffer_overtakes_another() {
    let waits = |kind: &&&[&str]| kind.contains(&PROTECTED) && kind.contains(&"device.cell=\"mlc\"");
    for kind in KINDS.iter().filter(waits) {
        let tally = cut(kind, SectorCuts { seeds: 6, stride: 1, afterwards: 0, ..CUTS });
        assert!(tally.first.is_none() && tally.cuts > 500, "{kind:?}: {tally:?}");
    }
}

/// A discard of the newer one of two versions that the power left in a protected buffer does not bring back the older one.
#[test]
fn a_discard_in_a_protected_buffer_hides_older_versions() {
    let waits = |kind: &&&[&str]| kind.contains(&PROTECTED) && kind.contains(&"device.cell=\"mlc\"");
    for kind in KINDS.iter().filter(waits) {
        let config = config(kind);
        let mut drive = Drive::in_memory(&config).expect("a drive");
        // The first version leaves the buffer of eight pages, and waits for its wordline.
        drive.write(0, &[1; 2048], false).expect("a write");
        (1..8).for_each(|page| drive.write(page * 2048, &[9; 2048], false).expect("a write"));
        drive.write(0, &[2; 2048], false).expect("a write");
        drive.trim(0, 2048).expect("a discard");
        for restart in 0..3 {
            drive.cut();
            drive = Drive::over(&config, drive.into_image()).expect("a drive");
            let mut found = [7; 2048];
            drive.read(0, &mut found).expect("a read");
            assert!(found == [0; 2048] || found == [2; 2048], "{kind:?}, restart {restart}: version {}", found[0]);
        }
    }
}

/// The discard of a page lasts once it was flushed, also where nothing was written after the page.
#[test]
fn a_discard_of_the_newest_write_lasts() {
    for kind in KINDS {
        let config = config(kind);
        let mut drive = Drive::in_memory(&config).expect("a drive");
        let page = drive.page_size();
        (0..3).for_each(|at| drive.write(at * page, &vec![5; page as usize], true).expect("a write"));
        drive.trim(2 * page, page).expect("a discard");
        drive.flush().expect("a flush");
        for restart in 0..2 {
            drive.cut();
            drive = Drive::over(&config, drive.into_image()).expect("a drive");
            let mut found = vec![7; page as usize];
            drive.read(2 * page, &mut found).expect("a read");
            assert!(found.iter().all(|&byte| byte == drive.deallocated()), "{kind:?}, restart {restart}");
        }
    }
}

/// The page of what cuts at every operation found, but for its rows.
const PAGE: &str = "\
# Power cuts of small drives, at every operation

`FTLAB_SECTOR_CUTS=1000000 cargo test -p ftlab-device --test all at_any_operation` cut the power of small drives of real bytes
at every operation of the flash: before it and in its middle. After each cut and each clean stop every sector held one of
the versions that it may hold, and no write of a map unit was there in part; then the drive went on, and all sectors were
looked at once more. Every other drive had a *second* cut, at any operation of each restart. A row is what the device and
its FTL have beside the small SLC drive with page mapping.

| settings | drives | cuts | second | clean stops | seconds of the clock |
|---|---|---|---|---|---|
";

/// `FTLAB_SECTOR_CUTS=1000000`: so many cuts, at every operation of drives of each kind. A line for each kind is the tally, and
/// `FTLAB_SECTORS_REPORT` names a file for the page.
#[test]
fn no_sector_is_lost_to_a_cut_at_any_operation() {
    let Some(wanted) = std::env::var("FTLAB_SECTOR_CUTS").ok().map(|text| text.parse::<u64>().expect("a number"))
    else {
        return;
    };
    let share = wanted.div_ceil(KINDS.len() as u64);
    let tallies = on_all_processors(KINDS, |kind| {
        let (began, mut all) = (std::time::Instant::now(), SectorTally::default());
        let mut first_seed = 0;
        loop {
            let twice = first_seed % 2 == 1;
            let tally = cut(kind, SectorCuts { first_seed, seeds: 1, stride: 1, twice, afterwards: 4, ..CUTS });
            all.cuts += tally.cuts;
            all.second_cuts += tally.second_cuts;
            all.stops += tally.stops;
            all.first = all.first.or(tally.first);
            if all.cuts >= share || all.first.is_some() {
                let (drives, seconds) = (first_seed + 1, began.elapsed().as_secs());
                let SectorTally { cuts, second_cuts, stops, .. } = all;
                let settings = if kind.is_empty() { "-".to_owned() } else { format!("`{}`", kind.join(" ")) };
                let row = format!("| {settings} | {drives} | {cuts} | {second_cuts} | {stops} | {seconds} |");
                println!("{row}");
                break (row, all.first);
            }
            first_seed += 1;
        }
    });
    tallies.iter().for_each(|(row, first)| assert_eq!(*first, None, "{row}"));
    if let Some(page) = std::env::var_os("FTLAB_SECTORS_REPORT") {
        let rows: Vec<&str> = tallies.iter().map(|(row, _)| row.as_str()).collect();
        std::fs::write(page, format!("{PAGE}{}\n", rows.join("\n"))).expect("the page can be written");
    }
}

/// A host that holds the drive to its promises finds every one that is broken, within a hundred cuts.
#[test]
fn broken_promises_are_found() {
    let whole = [
        "device.cell=\"tlc\"",
        "device.dies_per_chip=1",
        "device.blocks_per_plane=24",
        "device.pages_per_block=6",
        "device.user_capacity=\"300KiB\"",
        "device.programming=\"one-shot\"",
        "device.timing.program=\"700us\"",
    ];
    let cases = [
        (BrokenPromise::IgnoresFlush, KINDS[1]),
        (BrokenPromise::TearsPages, KINDS[1]),
        (BrokenPromise::ReordersOverFlush, KINDS[1]),
        (BrokenPromise::ForgetsDiscards, KINDS[1]),
        (BrokenPromise::TearsUnits, &UNITS),
        (BrokenPromise::ErasesEarly, &whole),
    ];
    for (broken, kind) in cases {
        let tally = cut(kind, SectorCuts { broken: Some(broken), seeds: 20, stride: 3, ..CUTS });
        println!("{broken:?}: {} cuts: {:?}", tally.until_first, tally.first);
        assert!(tally.losing > 0 && tally.until_first <= 100, "{broken:?}: {tally:?}");
    }
}

/// A drive whose programs fail early, and take the lower pages of their wordlines along.
const WORN: [&str; 6] = [
    "device.cell=\"mlc\"",
    "device.dies_per_chip=1",
    "device.blocks_per_plane=24",
    "device.pages_per_block=12",
    "device.user_capacity=\"500KiB\"",
    "device.bad_blocks.weibull={ life = 8, shape = 1 }",
];

/// The figures of an executor that follow from what the FTL did.
fn figures(sets: &[&str], executor: &str) -> serde_json::Value {
    let load = [
        "workload.generator.zipf.z=0.9",
        "workload.request_size=\"6KiB\"",
        "workload.read_fraction=0.3",
        "workload.volume=\"4x\"",
        "run.precondition.random=\"1x\"",
    ];
    figures_of(&[&load, sets].concat(), executor)
}

/// Figures of a whole configuration.
fn figures_of(sets: &[&str], executor: &str) -> serde_json::Value {
    let executor = format!("run.executor={executor}");
    let config = config(&[sets, &[&*executor]].concat());
    let mut summary = device::simulate(&config, &mut device::Options::default()).expect("a run").summary;
    let object = summary.as_object_mut().expect("an object");
    for key in ["config", "run"] {
        object.remove(key);
    }
    summary
}

/// A trace with discards, of whole pages and of parts, between writes and reads: the lines, in the format of MSR Cambridge.
fn trace_with_discards() -> String {
    let mut random = engine::Chance::new(7, "discards");
    let line = |number: u64| {
        let kind = ["Write", "Write", "Write", "Read", "Read", "Discard"][random.below(6) as usize];
        let (first, sectors) = (random.below(300), 1 + random.below(24));
        format!("{},c,0,{kind},{},{},1,-\n", 128_166_372_003_061_629 + number, first * 512, sectors * 512)
    };
    (0..4000).map(line).collect()
}

/// A workload with real bytes does what it does without, and what it wrote is there.
#[test]
fn real_bytes_change_no_figure() {
    let path = std::env::temp_dir().join(format!("ftlab-discards-{}.csv", std::process::id()));
    std::fs::write(&path, trace_with_discards()).expect("a trace");
    let trace = format!("workload.trace={:?}", path.to_str().expect("a path"));
    for kind in KINDS.iter().step_by(3) {
        let [bytes, expected] =
            ["device", "count"].map(|executor| figures_of(&[kind, &[&*trace][..]].concat(), executor));
        for key in ["host", "flash", "gc", "wear"] {
            assert_eq!(bytes[key], expected[key], "{key} of {kind:?} with discards");
        }
        assert!(bytes["host"]["trims"].as_u64() > Some(500), "{}", bytes["host"]);
        assert_eq!(bytes["device"]["sectors_lost"], 0, "{kind:?}");
    }
    std::fs::remove_file(&path).expect("it is there");
    for kind in KINDS {
        let mut bytes = figures(kind, "device");
        let told = bytes.as_object_mut().and_then(|all| all.remove("device")).expect("what was checked");
        let expected = figures(kind, "count");
        for (key, expected) in expected.as_object().expect("an object") {
            if key == "policy" && kind.contains(&"ftl.mapping=\"dftl\"") {
                // The drive's own pages have map entries too.
                continue;
            }
            assert_eq!(&bytes[key], expected, "{key} of {kind:?}");
        }
        assert_eq!(bytes.as_object().map(serde_json::Map::len), expected.as_object().map(serde_json::Map::len));
        let number = |key: &str| told[key].as_u64().unwrap_or_else(|| panic!("{key} of {told}"));
        // Of those that were never written some hold the zeros of preconditioning.
        let knows_all = number("sectors_unknown") == 0 || kind.contains(&ONES);
        assert!(number("sectors_checked") > 500 && knows_all, "{kind:?}: {told}");
        assert!(number("sectors_checked_after_restart") >= 500, "{kind:?}: {told}");
        assert!(told["restart"]["pages_read"].as_u64() > Some(150), "{kind:?}: {told}");
        assert!(told["restart"]["array_s"].as_f64() > Some(0.0), "{kind:?}: {told}");
    }
}

/// Pages that failed programs took along are errors of their reads under every executor, and no end of the run.
#[test]
fn lost_sectors_are_counted_and_end_no_run() {
    for protection in ["none", "supercap"] {
        let protection = format!("ftl.paired_page=\"{protection}\"");
        let (mut failed, mut lost) = (0, 0);
        for seed in 1..=12 {
            let seed = format!("run.seed={seed}");
            let sets = [&WORN[..], &[&*protection, &*seed, "run.precondition=\"none\""]].concat();
            let [bytes, expected] = ["device", "count"].map(|executor| figures(&sets, executor));
            for key in ["host", "flash", "gc", "wear"] {
                assert_eq!(bytes[key], expected[key], "{key} with {sets:?}");
            }
            failed += bytes["host"]["failed_reads"].as_u64().expect("a count");
            lost += bytes["device"]["sectors_lost"].as_u64().expect("a count");
        }
        assert!(failed > 0 && lost > 0, "{protection}: {failed} reads failed, {lost} sectors were lost");
    }
}

/// A process that is killed while it stops, at any of its writes, leaves a drive that is opened by a scan or by the checkpoint, with all
/// that was flushed.
#[test]
fn a_stop_that_is_killed_loses_nothing() {
    let config = config(&[BUFFER]);
    let mut drive = Drive::in_memory(&config).expect("a drive");
    let bytes: Vec<u8> = (0..drive.size()).map(|at| (at / 512 * 7 + at) as u8).collect();
    drive.write(0, &bytes, false).expect("a write");
    drive.trim(4096, 8192).expect("a discard");
    drive.flush().expect("a flush");
    let (mut scans, mut checkpoints) = (0, 0);
    for writes in 0.. {
        let mut dying = drive.clone();
        dying.live_for(writes);
        let _ = dying.close();
        let mut image = dying.into_image();
        let is_over = image.writes_left() > 0;
        image.live_for(u64::MAX);
        let mut again = Drive::over(&config, image).expect("a drive");
        let mut found = vec![0xff; bytes.len()];
        again.read(0, &mut found).expect("a read");
        assert!(found[..4096] == bytes[..4096] && found[12288..] == bytes[12288..], "{writes} writes");
        assert!(found[4096..12288].iter().all(|&byte| byte == 0), "{writes} writes");
        if again.restart().from_checkpoint {
            checkpoints += 1
        } else {
            scans += 1
        }
        if is_over {
            break;
        }
    }
    assert!(scans >= 3 && checkpoints >= 1, "{scans} scans, {checkpoints} by checkpoint");
}

/// The bytes of a write that no other write has.
fn bytes_of(write: u64, length: usize) -> Vec<u8> {
    (0..length as u64).map(|at| (write * 31 + at / 512 * 7 + at) as u8).collect()
}

/// A drive that outlives the power keeps what it acknowledged when its process is killed at any of its writes.
#[test]
fn a_killed_process_keeps_a_protected_buffer() {
    let kinds = [
        (&[BUFFER, PROTECTED][..], false),
        (&["ftl.map_unit=\"1KiB\"", BUFFER, PROTECTED], false),
        (&UNITS, false),
        // The next write of a range comes when the last one is in the buffer still.
        (&UNITS, true),
    ];
    for (sets, again) in kinds {
        let config = config(sets);
        let pristine = Drive::in_memory(&config).expect("a drive");
        assert!(pristine.is_protected());
        let mut ends = 0;
        for life in 0..400 {
            let mut drive = pristine.clone();
            drive.live_for(1 + life * 3);
            let size = drive.size();
            let (mut expected, mut writes) = (vec![0u8; size as usize], Vec::new());
            while drive.image().writes_left() > 0 && writes.len() < 120 {
                let write = writes.len() as u64 + 1;
                let length = [512, 2048, 1024, 8192, 3072][(write % 5) as usize];
                let offset =
                    if again { write / 3 % 2 * 4096 } else { write * 4 * 2048 * 7 % (size - 8192) / 512 * 512 };
                let bytes = bytes_of(write, length);
                drive.write(offset, &bytes, false).expect("a write");
                writes.push((offset as usize, bytes));
            }
            let mut image = drive.into_image();
            let was_killed = image.writes_left() == 0;
            ends += u64::from(!was_killed);
            image.live_for(u64::MAX);
            let (last, acknowledged) = writes.split_last().expect("a write");
            let all = if was_killed { acknowledged } else { &writes[..] };
            for (offset, bytes) in all {
                expected[*offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            let mut found = vec![0; size as usize];
            let mut again = Drive::over(&config, image).expect("a drive");
            again.read(0, &mut found).expect("a read");
            // Of the last write each page may be there, or all of it.
            let (from, to) = (last.0, last.0 + last.1.len());
            if to - from <= again.atomic_size() as usize && sets == UNITS {
                let is_whole = found[from..to] == last.1[..] || found[from..to] == expected[from..to];
                assert!(is_whole, "{sets:?}, killed at write {}: the last write is there in part", life * 3);
            }
            for (at, (found, expected)) in (0..).zip(found.chunks(512).zip(expected.chunks(512))) {
                let at = at * 512;
                let is_in_flight = was_killed && (from..to).contains(&at) && found == &last.1[at - from..][..512];
                assert!(found == expected || is_in_flight, "{sets:?}, killed at write {}: byte {at}", life * 3);
            }
        }
        assert!(ends < 390, "lives are too short");
    }
}

/// A drive that was opened has no checkpoint: what is written from then on, one of before does not know.
#[test]
fn an_open_drive_has_no_checkpoint() {
    let config = config(&[BUFFER]);
    let mut drive = Drive::in_memory(&config).expect("a drive");
    drive.write(0, &[1; 4096], false).expect("a write");
    drive.close().expect("a clean stop");
    let image = drive.into_image();
    assert!(image.checkpoint().is_some());
    let mut drive = Drive::over(&config, image).expect("a drive");
    assert!(drive.restart().from_checkpoint && drive.image().checkpoint().is_none());
    drive.write(0, &[2; 4096], true).expect("a write");
    drive.cut();
    let mut drive = Drive::over(&config, drive.into_image()).expect("a drive");
    let mut found = [0; 4096];
    drive.read(0, &mut found).expect("a read");
    assert!(!drive.restart().from_checkpoint && found == [2; 4096]);
}

/// Random writes of pages to a drive whose programs take older pages along when they fail, until some of these cannot be read. Returns by
/// page the number of its newest write; nothing if the drive comes to its end before, for it may have refused some.
fn written_until_some_are_lost(drive: &mut Drive, seed: u64) -> Option<Vec<u64>> {
    let mut random = engine::Chance::new(seed, "lost pages");
    let page = drive.page_size() as usize;
    let mut newest = vec![0; drive.size() as usize / page];
    for write in 1..4000 {
        let at = random.below(newest.len() as u64) as usize;
        drive.write((at * page) as u64, &bytes_of(write, page), false).ok()?;
        newest[at] = write;
        if write % 64 == 0 {
            drive.flush().ok()?;
            if write > 500 && (0..newest.len()).any(|at| drive.read((at * page) as u64, &mut vec![0; page]).is_err()) {
                return Some(newest);
            }
        }
    }
    None
}

/// Data that a failed program took along are an error to read, never zeros or an older version: over cuts, restarts and a clean stop, until
/// they are written or discarded.
#[test]
fn what_a_failed_program_took_along_stays_an_error() {
    let mut lost = [0, 0];
    for (number, protection) in ["none", "supercap"].into_iter().enumerate() {
        for seed in 0..6 {
            let protection = format!("ftl.paired_page=\"{protection}\"");
            let mut sets = [&WORN[..], &[&*protection]].concat();
            if seed % 2 == 1 {
                sets.push("ftl.map_unit=\"1KiB\"");
            }
            let config = config(&sets);
            let mut drive = Drive::in_memory(&config).expect("a drive");
            let page = drive.page_size() as usize;
            let Some(newest) = written_until_some_are_lost(&mut drive, seed) else { continue };
            let check = |drive: &mut Drive, when: &str| -> Vec<usize> {
                let is_lost = |at: &usize| {
                    let mut found = vec![7; page];
                    match drive.read((at * page) as u64, &mut found) {
                        Err(DriveError::Unreadable { .. }) => true,
                        Err(error) => panic!("{error}"),
                        Ok(()) => {
                            let expected = if newest[*at] == 0 { vec![0; page] } else { bytes_of(newest[*at], page) };
                            assert!(found == expected, "{sets:?}, seed {seed}, {when}: page {at} is another one");
                            false
                        }
                    }
                };
                (0..newest.len()).filter(is_lost).collect()
            };
            let before = check(&mut drive, "before the cut");
            lost[number] += before.len();
            for when in ["after a cut", "after a second cut"] {
                drive.cut();
                drive = Drive::over(&config, drive.into_image()).expect("a drive");
                assert_eq!(check(&mut drive, when), before, "{sets:?}, seed {seed}, {when}");
            }
            if !drive.has_ended() && drive.close().is_ok() {
                drive = Drive::over(&config, drive.into_image()).expect("a drive");
                assert_eq!(check(&mut drive, "after a stop"), before, "{sets:?}, seed {seed}, after a stop");
            }
            let first = before[0];
            // A discard ends it, and lasts.
            if drive.trim((first * page) as u64, page as u64).is_ok() && drive.flush().is_ok() {
                drive.cut();
                drive = Drive::over(&config, drive.into_image()).expect("a drive");
                let mut found = vec![7; page];
                drive.read((first * page) as u64, &mut found).expect("a read");
                assert!(found.iter().all(|&byte| byte == 0), "{sets:?}, seed {seed}: page {first} after its discard");
            }
        }
    }
    assert!(lost.iter().all(|&pages| pages > 3), "{lost:?} were lost");
}

/// A bit of the records that is another one than was written, in an image that was stopped or cut: the drive is refused, or a read is
/// an error, and no data are other ones. The drive goes on to collect, and its next restart says so as well.
#[test]
fn a_flipped_bit_of_the_records_is_found() {
    let sets = [BUFFER, PROTECTED, "device.blocks_per_plane=6", "device.user_capacity=\"160KiB\""];
    let config = config(&sets);
    let mut drive = Drive::in_memory(&config).expect("a drive");
    let page = drive.page_size() as usize;
    let pages = drive.size() as usize / page;
    let mut newest = vec![0; pages];
    let mut random = engine::Chance::new(5, "flips");
    for write in 1..400 {
        let at = random.below(pages as u64) as usize;
        drive.write((at * page) as u64, &bytes_of(write, page), false).expect("a write");
        newest[at] = write;
    }
    // Those of the newest version, and zeros where there is none.
    let is_right = |at: usize, found: &[u8]| {
        if newest[at] == 0 { found.iter().all(|&byte| byte == 0) } else { found == bytes_of(newest[at], page) }
    };
    let mut cut = drive.clone();
    cut.cut();
    drive.close().expect("a clean stop");
    let (mut refused, mut errors, mut right) = (0, 0, 0);
    for image in [drive.into_image(), cut.into_image()] {
        // Each third one: all fields of a record come in turns. Few bits of a block's record make it another one that could be.
        let of_blocks = 3 + 4 * 24;
        let words = image.record_words().enumerate().step_by(3);
        let flips = words.flat_map(|(at, word)| std::iter::repeat_n(word, if at < of_blocks { 12 } else { 1 }));
        for word in flips {
            let mut flipped = image.clone();
            flipped.flip(word, random.below(64) as u32);
            let Ok(mut drive) = Drive::over(&config, flipped) else {
                refused += 1;
                continue;
            };
            for round in 0..2 {
                for at in 0..pages {
                    let mut found = vec![0; page];
                    match drive.read((at * page) as u64, &mut found) {
                        Ok(()) => {
                            right += 1;
                            assert!(is_right(at, &found), "word {word}, round {round}: page {at} is another one");
                        }
                        Err(_) => errors += 1,
                    }
                }
                // It collects blocks, with the same data.
                for at in (0..pages).step_by(3).filter(|&at| round == 0 && newest[at] > 0) {
                    let _ = drive.write((at * page) as u64, &bytes_of(newest[at], page), false);
                }
            }
        }
    }
    println!("{refused} refused, {errors} reads failed, {right} were right");
    assert!(refused > 100 && errors > 100 && right > 1000, "{refused} refused, {errors} errors, {right} right");
}
