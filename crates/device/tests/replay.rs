//! Recorded loads over many power cuts: a drive that keeps its promises holds what it may, and one that breaks them is found.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::common::drives::{BUFFER, PROTECTED, config};
use device::drive::Drive;
use engine::Chance;
use rig::broken::BrokenPromise;
use rig::replay::{LoadCut, Replay};

/// As much as the loads write, and little spare space: a collection that is cut again and again has to find room.
const TIGHT: [&str; 2] = ["device.user_capacity=\"256KiB\"", "device.blocks_per_plane=9"];
const KINDS: &[&[&str]] = &[
    &[BUFFER],
    &["ftl.map_unit=\"1KiB\"", BUFFER],
    &[BUFFER, PROTECTED],
    &["ftl.map_unit=\"1KiB\"", BUFFER, PROTECTED],
    &["ftl.reclaim_unit=\"twin\"", BUFFER],
];

/// A log in the format of dm-log-writes, in a file of its own.
struct Log {
    bytes: Vec<u8>,
    entries: u64,
}

const FLUSH: u64 = 1;
const FUA: u64 = 2;
const DISCARD: u64 = 4;

impl Log {
    fn entry(&mut self, sector: u64, sectors: u64, flags: u64, data: &[u8]) {
        self.entries += 1;
        self.sector(&[sector, sectors, flags, 0]);
        self.bytes.extend_from_slice(data);
        self.bytes[16..24].copy_from_slice(&self.entries.to_le_bytes());
    }

    fn sector(&mut self, words: &[u64]) {
        let end = self.bytes.len() + 512;
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        self.bytes.resize(end, 0);
    }

    fn new() -> Log {
        let mut log = Log { bytes: Vec::new(), entries: 0 };
        log.sector(&[0x006a_7366_7773_6872, 1, 0, 512]);
        log
    }

    fn file(&self, name: &str) -> PathBuf {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.log", std::process::id()));
        std::fs::write(&path, &self.bytes).expect("a file");
        path
    }
}

/// Writes, discards and flushes at random, all over the drive.
fn load(seed: u64, requests: u32) -> Log {
    let (mut random, mut log) = (Chance::new(seed, "load"), Log::new());
    for number in 0..requests {
        let sectors = [1, 4, 4, 2, 8, 16][random.below(6) as usize];
        let first = random.below(512 - sectors) / sectors * sectors;
        match random.below(12) {
            0 => log.entry(0, 0, FLUSH, &[]),
            1 => log.entry(first, sectors, DISCARD, &[]),
            kind => {
                let data: Vec<u8> =
                    (0..sectors * 512).map(|at| (u64::from(number) * 31 + at / 512 * 7 + at) as u8).collect();
                log.entry(first, sectors, if kind == 2 { FUA } else { 0 }, &data);
            }
        }
    }
    log.entry(0, 0, FLUSH, &[]);
    log
}

fn replay(config: &config::Config, log: &Path) -> Replay {
    let pristine = Drive::in_memory(config).expect("a drive").into_image();
    Replay::on(config, pristine, log).unwrap_or_else(|error| panic!("{error}"))
}

/// Cuts again and again until the load ends or a promise is broken: cuts, and the problem. A third of the cuts comes with the first
/// operation after a restart, and a third within a few.
fn cut_all(replay: &mut Replay, step: u64) -> (u64, Option<String>) {
    for cuts in 1.. {
        let second = (cuts % 3 == 0).then_some(cuts % 7);
        let at = [cuts * 7 % step, 0, cuts % 5][(cuts % 3) as usize];
        let cut = LoadCut { at, during: cuts % 2 == 0, second, whole: cuts % 16 == 0 };
        match replay.cut(cut).unwrap_or_else(|error| panic!("{error}")) {
            None => return (cuts - 1, None),
            Some(found) if found.problem.is_some() => return (cuts, found.problem),
            Some(_) => {}
        }
    }
    unreachable!("a load comes to its end")
}

#[test]
fn a_drive_holds_what_it_may_over_all_cuts_of_a_load() {
    for (seed, kind) in (0..).zip(KINDS) {
        let (config, log) = (config(&[&TIGHT[..], *kind].concat()), load(seed, 400));
        let path = log.file(&format!("cuts-{seed}"));
        let mut cut = replay(&config, &path);
        let (cuts, problem) = cut_all(&mut cut, 24);
        assert_eq!(problem, None, "{kind:?}");
        assert!(cuts > 40, "{kind:?}: {cuts} cuts");
        // It comes to what the load comes to without cuts.
        let mut whole = replay(&config, &path);
        assert!(whole.go_to(u64::MAX).expect("a load") > 200, "{kind:?}");
        assert_eq!(whole.position(), log.bytes.len() as u64);
        let exported = [&cut, &whole].map(|replay| {
            let file = path.with_extension("export");
            replay.export(&file).expect("a file");
            std::fs::read(&file).expect("a file")
        });
        assert!(exported[0] == exported[1] && exported[0].len() == 256 << 10, "{kind:?}");
        assert!(exported[0].iter().any(|&byte| byte != 0));
    }
}

#[test]
fn an_export_is_what_the_cut_left() {
    let mut log = Log::new();
    log.entry(0, 4, 0, &[1; 2048]);
    log.entry(0, 0, FLUSH, &[]);
    log.entry(0, 4, 0, &[2; 2048]);
    log.entry(4, 4, 0, &[3; 2048]);
    log.entry(0, 0, FLUSH, &[]);
    let path = log.file("export");
    let mut replay = replay(&config(&[BUFFER]), &path);
    // The first flush programs one page, and the power goes off before the second one does.
    let found = replay.cut(LoadCut { at: 1, ..LoadCut::default() }).expect("a drive").expect("a cut");
    assert_eq!((found.behind, found.problem), (2, None), "what was not flushed is not there");
    assert_eq!(found.position, 512 + 3 * (512 + 2048) + 512, "all but the last flush are acknowledged");
    let export = path.with_extension("export");
    replay.export(&export).expect("a file");
    let bytes = std::fs::read(&export).expect("a file");
    assert!(bytes[..2048].iter().all(|&byte| byte == 1) && bytes[2048..].iter().all(|&byte| byte == 0));
    assert_eq!(replay.go_to(u64::MAX).map_err(|error| error.to_string()), Ok(2));
    replay.export(&export).expect("a file");
    let bytes = std::fs::read(&export).expect("a file");
    assert!(bytes[..2048].iter().all(|&byte| byte == 2) && bytes[2048..4096].iter().all(|&byte| byte == 3));
}

#[test]
fn cuts_have_one_digest_where_they_leave_the_same() {
    for (seed, kind) in (0..).zip(KINDS) {
        let path = load(seed, 400).file(&format!("digests-{seed}"));
        let (mut replay, export) =
            (replay(&config(&[&TIGHT[..], *kind].concat()), &path), path.with_extension("export"));
        let (mut by_digest, mut contents, mut cuts) = (HashMap::new(), HashSet::new(), 0);
        // A cut before the first operation leaves what the cut before it left.
        while let Some(found) = replay.cut(LoadCut { at: [24, 0][cuts % 2], ..LoadCut::default() }).expect("a drive") {
            replay.export(&export).expect("a file");
            let content = std::fs::read(&export).expect("a file");
            contents.insert(content.clone());
            let before = by_digest.entry(found.content).or_insert_with(|| content.clone());
            assert!(*before == content, "{kind:?}: another content after cut {cuts}");
            cuts += 1;
        }
        assert_eq!(by_digest.len(), contents.len(), "{kind:?}");
        assert!(contents.len() > 20 && contents.len() < cuts, "{kind:?}: {} of {cuts}", contents.len());
    }
}

/// At each flush the drive holds what the log has up to there, nothing more and nothing less, also after a second cut.
#[test]
fn a_cut_at_a_flush_leaves_what_the_log_has() {
    for (seed, kind) in (0..).zip(KINDS) {
        let (config, log) = (config(&[&TIGHT[..], *kind].concat()), load(seed, 300));
        let path = log.file(&format!("flushes-{seed}"));
        let (mut cut, mut whole) = (replay(&config, &path), replay(&config, &path));
        let (flushes, export) = (cut.flushes(), path.with_extension("export"));
        let content = |replay: &Replay| {
            replay.export(&export).expect("a file");
            std::fs::read(&export).expect("a file")
        };
        let (mut done, mut seconds) = (0, 0);
        while let Some(found) = cut.cut_at_flush(1, (done % 2 == 0).then_some(done % 5), true).expect("a drive") {
            done += 1;
            seconds += u64::from(found.second);
            assert_eq!((found.behind, found.problem), (0, None), "{kind:?}, flush {done}");
            whole.go_to(found.position).expect("a load");
            assert!(content(&cut) == content(&whole), "{kind:?}, flush {done}");
        }
        assert!(
            done == flushes && done > 15 && seconds > 0,
            "{kind:?}: {done} of {flushes} flushes, {seconds} seconds"
        );
        assert_eq!(cut.flushes(), 0);
    }
    let mut ignores = replay(&config(&[BUFFER]), &load(7, 300).file("ignored-flushes"));
    ignores.breaks(Some(BrokenPromise::IgnoresFlush));
    let found = ignores.cut_at_flush(1, None, true).expect("a drive").expect("a flush");
    assert!(found.problem.is_some_and(|text| text.contains("a flush")), "a flush that is ignored is found at once");
}

#[test]
fn broken_promises_are_found_in_recorded_loads() {
    for broken in [
        BrokenPromise::IgnoresFlush,
        BrokenPromise::TearsPages,
        BrokenPromise::ReordersOverFlush,
        BrokenPromise::ForgetsDiscards,
    ] {
        let mut replay = replay(&config(&[BUFFER]), &load(7, 400).file(&format!("{broken:?}")));
        replay.breaks(Some(broken));
        let (cuts, problem) = cut_all(&mut replay, 40);
        println!("{broken:?}: {cuts} cuts: {problem:?}");
        assert!(problem.is_some_and(|text| text.contains("that it may hold")) && cuts <= 100, "{broken:?}: {cuts}");
    }
}

#[test]
fn what_is_no_log_is_refused() {
    let config = config(&[BUFFER]);
    let refused = |bytes: &[u8], expected: &str| {
        let log = Log { bytes: bytes.to_vec(), entries: 0 };
        let pristine = Drive::in_memory(&config).expect("a drive").into_image();
        let error = Replay::on(&config, pristine, &log.file("wrong")).map(drop).expect_err("no log").to_string();
        assert!(error.contains("is no log of writes of this drive") && error.contains(expected), "{error}");
    };
    let good = load(1, 40);
    refused(&[], "it does not begin like one");
    refused(&good.bytes[..good.bytes.len() - 600], "and ends in entry");
    let mut far = Log::new();
    far.entry(799, 2, 0, &[0; 1024]);
    refused(&far.bytes, "entry 0 has 2 sectors from 799 on, and the drive 800");
    let mut strange = Log::new();
    strange.entry(0, 1, 64, &[0; 512]);
    refused(&strange.bytes, "the flags 0x40");
}
