//! Drives of real bytes: what is read is what was written, and over power cuts at any operation each sector holds what it may.

mod common;

use device::drive::broken::BrokenPromise;
use device::drive::sectors::{SectorCuts, SectorTally, try_sectors};
use files::Interrupt;

/// Two dies of two planes of 12 blocks of 8 pages of 2 KiB.
const SMALL: [&str; 9] = [
    "device.channels=1",
    "device.chips_per_channel=1",
    "device.dies_per_chip=2",
    "device.planes_per_die=2",
    "device.blocks_per_plane=12",
    "device.pages_per_block=8",
    "device.page_size=\"2KiB\"",
    "device.user_capacity=\"400KiB\"",
    "device.cell=\"slc\"",
];

const BUFFER: &str = "ftl.write_buffer.lru.size=\"16KiB\"";

fn config(sets: &[&str]) -> config::Config {
    let sets: Vec<String> = SMALL.iter().chain(sets).map(|set| set.to_string()).collect();
    match device::load(&config::Base::Preset("tbm-small".into()), &sets, None) {
        Ok(loaded) => loaded.config,
        Err(errors) => panic!("{}", errors),
    }
}

fn cut(sets: &[&str], cuts: SectorCuts) -> SectorTally {
    try_sectors(&config(sets), &cuts, &Interrupt::default()).unwrap_or_else(|error| panic!("{sets:?}: {error}"))
}

const CUTS: SectorCuts = SectorCuts { seeds: 2, requests: 160, stride: 11, twice: false, afterwards: 20, broken: None };

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
];

#[test]
fn no_sector_is_lost_to_a_cut() {
    let mut all = 0;
    for (index, kind) in KINDS.iter().enumerate() {
        let tally = cut(kind, SectorCuts { twice: index % 2 == 0, ..CUTS });
        assert_eq!(tally.first, None, "{kind:?}: {tally:?}");
        assert!(tally.cuts > 50, "{kind:?}: {tally:?}");
        all += tally.cuts;
    }
    println!("{all} cuts");
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
        (BrokenPromise::ErasesEarly, &whole),
    ];
    for (broken, kind) in cases {
        let tally = cut(kind, SectorCuts { broken: Some(broken), seeds: 20, stride: 3, ..CUTS });
        println!("{broken:?}: {} cuts: {:?}", tally.until_first, tally.first);
        assert!(tally.losing > 0 && tally.until_first <= 100, "{broken:?}: {tally:?}");
    }
}
